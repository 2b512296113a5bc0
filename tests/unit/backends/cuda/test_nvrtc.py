"""The compiler NVRTC: what it is told, what it answers, and how its failures are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kerneltk import ArraySpec, CompileError, ElementwiseKernel
from kerneltk.backends.cuda import nvrtc
from kerneltk.core.artifacts import TranslationUnit, cupy_include_directory

make = ArraySpec.make
N = 20_000


@pytest.mark.parametrize(
    ("options", "words"), [(("-dlto",), "machine code"), (("-arch=sm_80",), "another architecture")]
)
def test_options_that_defeat_the_target(options: tuple[str, ...], words: str) -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x", "opted", options=options)
    with pytest.raises(CompileError, match=words):
        kernel.compile(make("float32", (N,)), target="sm_90")


# -- what it is told -------------------------------------------------------------------------------


def unit(source: str = "", entry: str = "", **words: Any) -> TranslationUnit:
    return TranslationUnit("cuda", source, entry, words.pop("options", ()), **words)


@pytest.mark.parametrize(
    ("source", "numbers", "minimal"),
    [
        ("int x;", (12, 4), True),
        ("constexpr int x = 1;", (12, 4), True),
        ("int x;", (13, 0), True),
        ("int x;", (12, 3), False),
        ("#include <kerneltk/core.hpp>\n", (12, 4), True),
        ("#include <cuda_fp16.h>\n", (12, 4), False),
        ("k<<<1, 1>>>();", (12, 4), False),
        ("cudaTextureObject_t t;", (12, 4), False),
    ],
)
def test_declarations_that_are_left_out(
    source: str, numbers: tuple[int, int], minimal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvrtc, "_version_numbers", lambda: numbers)
    assert ("--minimal" in nvrtc.backend_options(unit(source))) is minimal
    assert "--minimal" not in nvrtc.backend_options(unit(source, options=("-include", "x.h")))


def test_fast_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    for numbers, wanted in (((12, 8), False), ((12, 9), True), ((13, 0), True)):
        monkeypatch.setattr(nvrtc, "_version_numbers", lambda numbers=numbers: numbers)
        options = nvrtc.backend_options(unit("int x;", fast_compile=True))
        assert ("--Ofast-compile=min" in options) is wanted
        assert "--Ofast-compile=min" not in nvrtc.backend_options(unit("int x;"))


@pytest.mark.skipif(not cupy_include_directory(), reason="CuPy is not installed")
def test_cupys_own_headers_are_looked_for_where_they_may_be_meant() -> None:
    for include, is_there in (
        ("<cupy/float16.cuh>", False),
        ("<cupy/complex.cuh>", False),
        ("<type_traits>", False),
        ("<cupy/xsf/cephes/unity.h>", True),
        ('"helpers"', True),  # which may include any
    ):
        directories = nvrtc.include_directories(unit(f"#include {include}\n"))
        assert (cupy_include_directory()[0] in directories) == is_there


def test_options_of_a_users_own_source() -> None:
    assert nvrtc.backend_options(unit("int x;", raw=True)) == ("--std=c++17",)
    groups = unit("#include <cooperative_groups.h>\n", raw=True)
    assert nvrtc.backend_options(groups) == ("--std=c++17", "-D_CG_LIMIT_INCLUDED_DEPENDENCIES")


def test_where_headers_are_looked_for(
    monkeypatch: pytest.MonkeyPatch, environment: pytest.MonkeyPatch
) -> None:
    nvrtc.cuda_include_directories.cache_clear()
    environment.setenv("KERNELTK_CUDA_INCLUDE", "/one:/two")
    foreign = "#include <cuda_fp16.h>\n"
    assert nvrtc.include_directories(unit("#include <kerneltk/core.hpp>\n")) == ()
    for raw in (False, True):
        cupy, own, *others, fallback = nvrtc.include_directories(unit(foreign, raw=raw))
        assert cupy.name.startswith("cupy-")
        assert own.name.startswith("nvrtc-")
        assert fallback.name.startswith("nvrtc_fallback-")
        assert others[:2] == [Path("/one"), Path("/two")]
    nvrtc.cuda_include_directories.cache_clear()


@pytest.mark.parametrize(
    ("chosen", "own", "kept"),
    [((), (), True), (("-w",), ("-w",), True), (("--std=c++20",), ("--std=c++20",), False),
     (("--std", "c++20"), ("--std=c++20",), False), (("-DN=std",), ("-DN=std",), True),
     (("-D", "std=1"), ("-D", "std=1"), True),
     (("-std=c++14", "-w"), ("-w", "-Dregister="), True),
     (("--std", "c++11"), ("-Dregister=",), True)],
)  # fmt: skip
def test_a_standard_of_the_users_replaces_the_default(
    chosen: tuple[str, ...], own: tuple[str, ...], kept: bool
) -> None:
    defaults = ["--std=c++17", "--minimal"]
    assert nvrtc.without_defaults(chosen, defaults) == list(own)
    assert defaults == (["--std=c++17"] if kept else []) + ["--minimal"]


# -- what it answers -------------------------------------------------------------------------------

CODE = """
template <class T> __global__ void twice(T* x) { *x *= 2; }
extern "C" __global__ void plain(int* x) { *x += 1; }
__constant__ int number;
"""
EXPORTS = (("twice<float>", ""), ("&number", ""), ("known", "plain"))


@pytest.mark.parametrize(
    ("architecture", "kind", "magic"),
    [("sm_90", "cubin", b"\x7fELF"), ("compute_80", "ptx", b"\n//"), ("lto_90", "ltoir", b"")],
)
def test_kinds_of_object_code(architecture: str, kind: str, magic: bytes) -> None:
    target = nvrtc.target_for(architecture)
    code = nvrtc.compile(unit(CODE, exports=EXPORTS, raw=True), target)
    assert (code.kind, code.target) == (kind, target)
    assert code.code.lstrip(b"\n").startswith(magic.lstrip(b"\n"))
    assert code.symbols == (("twice<float>", "_Z5twiceIfEvPT_"), ("&number", "number"),
                            ("known", "plain"))  # fmt: skip


def test_unknown_names() -> None:
    target = nvrtc.target_for("sm_90")
    with pytest.raises(CompileError) as caught:
        nvrtc.compile(unit(CODE, exports=(("thrice<float>", ""),), raw=True), target)
    assert "thrice" in str(caught.value)


def test_options_that_it_does_not_know() -> None:
    target = nvrtc.target_for("sm_90")
    with pytest.raises(CompileError, match=r"does not take one of the options \['--sideways'\]"):
        nvrtc.compile(unit(CODE, "plain", options=("--sideways",)), target)


def test_sources_of_any_bytes() -> None:
    target = nvrtc.target_for("sm_90")
    source = CODE + "// \udcff\udc80 é \U0001f600\n"
    assert nvrtc.compile(unit(source, "plain"), target).code


def test_targets() -> None:
    assert nvrtc.target_for("sm_90").architecture == "sm_90"
    assert nvrtc.target_for("sm_990").architecture.startswith("compute_")
    assert nvrtc.target_for("sm_90").compiler.startswith("nvrtc 1")
    with pytest.raises(ValueError, match="does not compile for 'sm_30'"):
        nvrtc.target_for("sm_30")
