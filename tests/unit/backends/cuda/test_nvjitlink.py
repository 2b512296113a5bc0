"""Source that is linked with other object code."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.backends.cuda import nvjitlink, toolkit
from kerneltk.core.artifacts import ObjectCode
from kerneltk.errors import BackendUnavailableError, CompileError
from kerneltk.object_code.reflection import decode

MAIN = r"""
extern "C" __device__ float twice(float);
__constant__ float table[3];
static __device__ int calls;
template <class T> __global__ void apply(T* x) { *x = twice(*x) + table[0]; ++calls; }
"""


LIBRARY = r"""
__device__ int uses;
extern "C" __device__ float twice(float x) { ++uses; return 2 * x; }
__global__ void other(int* x) { *x = uses; }
"""


def library(target: str, *options: str, code: str = LIBRARY) -> ObjectCode:
    return kerneltk.RawModule(code=code, options=options).compile_for(target)


def linked(link: Any, options: tuple[str, ...] = ()) -> kerneltk.RawModule:
    return kerneltk.RawModule(
        code=MAIN, name_expressions=["apply<float>"], link=link, options=options
    )


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("target", "options"),
    [("lto_90", ()), ("lto_80", ()), ("sm_90", ("-rdc=true",)), ("compute_80", ("-rdc=true",))],
)
def test_kinds_of_object_code(tmp_path: Path, target: str, options: tuple[str, ...]) -> None:
    other = library(target, *options)
    path = tmp_path / "library.bin"
    path.write_bytes(other.code)
    for link in (other, other.code, path, str(path)):
        code = linked([link]).compile_for("sm_90")
        assert code.kind == "cubin"
        symbols = dict(code.symbols)
        assert symbols["apply<float>"] == "_Z5applyIfEvPT_"
        assert symbols["&table"] == "table"
        (kind,) = decode(dict(code.reflection)["apply<float>"])
        assert kind.name == "float*"
        assert "nvjitlink" in code.target.compiler


def test_ptx_comes_from_ltoir_alone() -> None:
    code = linked([library("lto_90")]).compile_for("compute_90")
    assert code.kind == "ptx"
    assert b".entry _Z5applyIfEvPT_" in code.code
    assert b"uses" in code.code
    assert "apply<float>" in dict(code.reflection)
    with pytest.raises(CompileError, match=r"requires that all inputs(.|\n)*link for 'sm_XX'"):
        linked([library("sm_90", "-rdc=true")]).compile_for("compute_90")


def test_ltoir_is_linked_later() -> None:
    main = linked([library("lto_90")]).compile_for("lto_90")
    assert main.kind == "ltoir"
    empty = kerneltk.RawModule(code="", link=[main, library("lto_90")])
    assert b"_Z5applyIfEvPT_" in empty.compile_for("sm_90").code


def test_options_count_when_machine_code_is_made() -> None:
    divide = r"""
    extern "C" __device__ float twice(float);
    __global__ void apply(float* x) { *x = twice(*x) / x[1]; }
    """
    link = [library("lto_90")]

    def ptx(*options: str) -> bytes:
        module = kerneltk.RawModule(code=divide, link=link, options=options)
        return module.compile_for("compute_90").code

    assert b"div.rn.f32" in ptx()
    assert b"div.approx.ftz.f32" in ptx("--use_fast_math")
    assert b"div.full.ftz.f32" in ptx("--ftz=true", "--prec-div=false")
    options = ("-DN=1", "--maxrregcount=32", "-G", "-Xptxas=-v", "--fmad=false")
    assert nvjitlink._options(options) == ["-maxrregcount=32", "-g", "-Xptxas=-v", "-fma=0"]
    module = kerneltk.RawModule(code=divide, link=link, options=("--maxrregcount=32", "-lineinfo"))
    assert module.compile_for("sm_90").kind == "cubin"


def test_what_cannot_be_linked() -> None:
    with pytest.raises(CompileError, match=r"'twice'(.|\n)*defines 'twice'.*-rdc=true"):
        linked([library("sm_90")]).compile_for("sm_90")
    with pytest.raises(CompileError, match=r"'twice'(.|\n)*defines 'twice'"):
        linked(
            [library("lto_90", code="__device__ float twice(float x) { return x; }")]
        ).compile_for("sm_90")
    with pytest.raises(CompileError, match=r"cannot be linked: .*multipl"):
        linked([library("lto_90"), library("lto_90")]).compile_for("sm_90")
    damaged = library("lto_90").code[:200]
    with pytest.raises(CompileError, match="cannot be linked"):
        linked([damaged]).compile_for("sm_90")


def test_links_count_in_the_key() -> None:
    four = LIBRARY.replace("2 * x", "4 * x")
    first = linked([library("lto_90")]).compile_for("sm_90")
    second = linked([library("lto_90", code=four)]).compile_for("sm_90")
    assert first.code != second.code
    assert linked([library("lto_90")]).compile_for("sm_90").code == first.code


def test_files_are_linked(tmp_path: Path) -> None:
    path = tmp_path / "main.cu"
    path.write_text(MAIN + "__global__ void plain(float* x) { *x = twice(*x); } int main() {}\n")
    module = kerneltk.load(path, link=[library("lto_90")])
    assert dict(module.compile_for("sm_90").symbols)["plain"] == "_Z5plainPf"
    again = pickle.loads(pickle.dumps(module.plain))
    assert again.compile_for("sm_90").symbols == module.plain.compile_for("sm_90").symbols


def test_gpu_code_does_not_run_on_the_host() -> None:
    kernel = linked([library("lto_90")]).get_function("apply<float>")
    with pytest.raises(BackendUnavailableError, match="linked with object code for GPUs"):
        kernel(1, 1, (np.zeros(1, np.float32),))


def test_no_linker(monkeypatch: pytest.MonkeyPatch) -> None:
    from cuda.bindings import nvjitlink as library_of_cuda

    def fail() -> None:
        raise RuntimeError("libnvJitLink.so.12 is not here")

    toolkit.load_library.cache_clear()
    nvjitlink.version.cache_clear()
    monkeypatch.setattr(library_of_cuda, "version", fail)
    with pytest.raises(BackendUnavailableError, match=r"is not here\.\n.*kerneltk\[cuda12\]"):
        linked([library("lto_90")]).compile_for("sm_90")
    monkeypatch.undo()
    toolkit.load_library.cache_clear()
