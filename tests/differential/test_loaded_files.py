"""Files whose device code means what it means to nvcc, whatever the host's code around it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import RawKernel
from kerneltk.cuda_cpp.source import RawSource
from kerneltk.errors import CompileError
from tests.sampling import half, one_in


def _read_cases() -> Iterator[tuple[str, dict[str, str], int]]:
    """Yield of each case its name, its files by name, and what kernel `k` of "main.cu" stores."""
    text = Path(__file__).with_name("loaded_files.txt").read_text()
    for block in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        head, _, rest = block.partition("\n")
        name, _, expected = head.rpartition(" = ")
        main, *headers = re.split(r"^-- (.*)\n", rest, flags=re.MULTILINE)
        files = dict(zip(headers[::2], headers[1::2], strict=True))
        yield name, {"main.cu": main, **files}, int(expected)
    yield f"{name}, in lines of Windows", {"main.cu": main.replace("\n", "\r\n")}, int(expected)
    kernel = '#include "a.h"\n__global__ void k(int* x) { x[0] = A; }\n'
    marked = {"main.cu": "\ufeff" + kernel, "a.h": "\ufeff#define A 3\n"}
    yield "byte order marks", marked, 3
    cut = {"main.cu": kernel.replace("A;", "A * 100 + __LINE__;"), "a.h": "#define A 1\n// end \\"}
    yield "a header that ends with a backslash", cut, 102


_FILES = list(_read_cases())


def _loaded(directory: Path, files: dict[str, str]) -> Any:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    options = (f"-I{directory}/first", f"-I{directory}/second", "-DPOLICY=Fast")
    return kerneltk.load(directory / "main.cu", options=options)


# NVRTC compiles all of them, in a fifth of the time.
@pytest.mark.one_in(9)
@pytest.mark.parametrize("case", one_in(4, _FILES), ids=lambda case: case[0])
def test_device_code_means_the_same(
    backend: Any, tmp_path: Path, case: tuple[str, dict[str, str], int]
) -> None:
    _, files, expected = case
    module = _loaded(tmp_path, files)
    x = backend.asarray(np.zeros(1, np.int32))
    module["k"](1, 1, (x,))
    assert backend.asnumpy(x)[0] == expected


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", half(_FILES), ids=lambda case: case[0])
def test_device_code_compiles(tmp_path: Path, case: tuple[str, dict[str, str], int]) -> None:
    assert _loaded(tmp_path, case[1])["k"].compile_for("sm_90").kind == "cubin"


def _with_an_overload(directory: Path, head: str) -> Any:
    (directory / "m.cu").write_text(
        f"{head}char pick(int) {{ return 0; }}\n"
        "__device__ long pick(const void*) { return 1; }\n"
        "__global__ void k(int* x) { x[0] = pick(0); }\n"
    )
    return kerneltk.load(directory / "m.cu")


HEADS = pytest.mark.parametrize("head", ["", "static __host__ ", "__host__ inline "])


@HEADS
def test_a_call_of_the_hosts_overload_is_an_error(tmp_path: Path, head: str) -> None:
    with pytest.raises(CompileError, match=r"it runs on the host only[^\n]*\n  m.cu:3"):
        _with_an_overload(tmp_path, head).k(1, 1, (np.zeros(1, np.int32),))


@HEADS
def test_a_call_of_the_hosts_overload_is_an_error_of_nvrtc(tmp_path: Path, head: str) -> None:
    with pytest.raises(
        CompileError, match=r"'pick' is declared, and has no definition|was referenced but not"
    ):
        _with_an_overload(tmp_path, head).k.compile_for("sm_90")


@pytest.mark.parametrize("target", ["host", pytest.param("sm_90", id="nvrtc")])
@pytest.mark.parametrize(("declared", "use", "what"), [
    (
        "static inline int f(int a) { return 1; }",
        "f(3)",
        "a function of the host: write '__device__'",
    ),
    ("int f[2] = {1, 2};", "f[1]", "a variable of the host: write '__device__' or '__constant__'"),
])  # fmt: skip
def test_what_is_the_hosts_is_named_as_such(
    tmp_path: Path, target: str, declared: str, use: str, what: str
) -> None:
    (tmp_path / "m.cu").write_text(f"{declared}\n__global__ void k(int* x) {{ x[0] = {use}; }}\n")
    with pytest.raises(CompileError) as error:
        kerneltk.load(tmp_path / "m.cu").k.compile_for(target)
    *_, shown, caret, hint = str(error.value).split("\n")
    assert shown == f"  m.cu:2: __global__ void k(int* x) {{ x[0] = {use}; }}"
    assert caret == " " * 45 + "^"
    assert hint == f"  Hint: 'f' is {what} before it."


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["host", "sm_90"])
@pytest.mark.parametrize("declared", [
    "std::vector<int> make(int n);",
    "namespace { int make(int n, const std::vector<int>& v = {}) { return n; } }",
    "inline std::vector<int> make(int n) { return std::vector<int>(n); }",
])  # fmt: skip
def test_what_is_asked_of_a_function_with_types_of_the_host_compiles_not(
    tmp_path: Path, declared: str, target: str
) -> None:
    """nvcc says that it can be called, and without a declaration nothing could."""
    (tmp_path / "m.cu").write_text(
        f"#include <vector>\n{declared}\n"
        "template <class T> __device__ auto has(int) -> decltype(make(T()), 1) { return 1; }\n"
        "template <class T> __device__ int has(...) { return 0; }\n"
        "__global__ void k(int* x) { x[0] = ASKED; }\n"
    )
    assert kerneltk.load(tmp_path / "m.cu", options=("-DASKED=1",)).compile_for(target).code
    with pytest.raises(CompileError) as error:
        kerneltk.load(tmp_path / "m.cu", options=("-DASKED=has<int>(0)",)).compile_for(target)
    told = str(error.value)
    assert "'make' is a function of the host with types that device code does not have" in told
    assert "m.cu:2: " in told


# -- changes --------------------------------------------------------------------------------------


def test_a_link_to_a_header_is_the_same_header(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text("#pragma once\nstatic const int A = 3;\n")
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "m.cu").write_text(
        '#include "a.h"\n#include "link/a.h"\n__global__ void k(int* x) { x[0] = A; }\n'
    )
    x = np.zeros(1, np.int32)
    kerneltk.load(tmp_path / "m.cu").k(1, 1, (x,))
    assert x[0] == 3


# -- memory that is volatile ----------------------------------------------------------------------

_REDUCTION = """__device__ void sum(volatile int* s, int t) {
    if (t < 16) {
        s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1];
    }
}
"""
_SUM = """__global__ void k(int* x) {
    __shared__ int s[32];
    const int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    sum(s, t);
    if (t == 0) x[0] = s[0];
}
"""


@pytest.mark.one_in(4)
@pytest.mark.parametrize("head", ["#include <a.h>\n", '#define H "a.h"\n#include H\n'])
def test_lanes_run_in_step_in_a_header(backend: Any, tmp_path: Path, head: str) -> None:
    (tmp_path / "a.h").write_text(_REDUCTION)
    (tmp_path / "m.cu").write_text(head + _SUM)
    x = backend.asarray(np.arange(32, dtype=np.int32))
    kerneltk.load(tmp_path / "m.cu").k(1, 32, (x,))
    assert backend.asnumpy(x)[0] == 496


@pytest.mark.parametrize(("head", "options", "where", "hint"), [
    ("#define S_(x) #x\n#define S(x) S_(x)\n#include S(a.h)\n", (), "'m.cu', line 3",
     "write its name in the line that includes it, in quotes"),
    ("#include H\n", ('-DH="a.h"',), "'m.cu', line 1",
     "write its name in the line that includes it, in quotes"),
    ("", ("-include", "{}/a.h"), "compile options", "include it in the source, in quotes"),
])  # fmt: skip
def test_a_header_that_is_not_read_is_told(
    tmp_path: Path, head: str, options: tuple[str, ...], where: str, hint: str
) -> None:
    (tmp_path / "a.h").write_text(_REDUCTION)
    (tmp_path / "m.cu").write_text(head + _SUM)
    options = tuple(option.format(tmp_path) for option in options)
    with pytest.warns(RuntimeWarning) as told:
        kerneltk.load(tmp_path / "m.cu", options=options).k(1, 32, (np.zeros(32, np.int32),))
    first, second = str(told[0].message).split("\n")
    assert first.startswith(f"{where}: lanes of a warp do not meet before accesses to volatile")
    assert "a.h' or by its names" in first
    assert second == f"  Hint: {hint}."


# -- host code in strings: what NVRTC refuses of it, CPU cores refuse --

# By name: whether NVRTC takes it, and the source of kernel `k`.
PROGRAMS = {
    name: (kind == "taken", source[:-1])
    for kind, name, source in re.findall(
        r"^== (taken|refused): (.*)\n((?:(?!== ).*\n)*)",
        Path(__file__).with_name("host_code_programs.txt").read_text(),
        re.MULTILINE,
    )
}
# Whether the compiler sees or takes these is known when they are compiled.
CONDITIONAL = (
    "ifndef CUDACC", "ifdef CUDACC", "arch only", "variable length", "variable length by an alias",
    "128 bits where the compiler has them",
)  # fmt: skip
NAMES = sorted(PROGRAMS)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("part", range(8))
def test_nvrtc_and_cpu_cores_agree(part: int) -> None:
    for name in NAMES[part::8]:
        is_taken, source = PROGRAMS[name]
        try:
            RawKernel(source, "k").compile_for("compute_90")
        except CompileError:
            assert not is_taken, name
        else:
            assert is_taken, name
        parts = RawSource(source, "code").host_parts
        if name not in (*CONDITIONAL, "name device"):
            assert bool(parts) == (not is_taken), (name, parts)


@pytest.mark.parametrize("name", [*CONDITIONAL, "name device"])
def test_what_compiling_decides(name: str) -> None:
    is_taken, source = PROGRAMS[name]
    kernel = RawKernel(source, "k")
    if is_taken:
        kernel.compile(backend="host")
        return
    with pytest.raises(CompileError):
        kernel.compile(backend="host")


@pytest.mark.exhaustive
@pytest.mark.parametrize("option", ["-default-device", "--device-as-default-execution-space"])
def test_the_option_makes_functions_and_variables_the_device_s_also_by_nvrtc(option: str) -> None:
    source = (
        "float shift = 1; struct S { float v; float get() { return v; } };\n"
        "float twice(float x) { auto f = [](auto v) { return 2 * v; }; return f(x); }\n"
        "__global__ void k(float* x) { S s{x[0]}; x[0] = twice(s.get()) + shift; }\n"
    )
    with pytest.raises(CompileError, match="'shift' is a variable of the host"):
        RawKernel(source, "k").compile(backend="host")
    kernel = RawKernel(source, "k", (option,))
    x = np.full(1, 3, np.float32)
    kernel(1, 1, (x,))
    assert x[0] == 7
    kernel.compile_for("sm_90")


@pytest.mark.exhaustive
@pytest.mark.parametrize(("declared", "option"), [
    ("__int128 a = 5; x[0] = int(a)", "--device-int128"),
    ("struct { int v; } s = {.v = 5}; x[0] = s.v", "--std=c++20"),
])  # fmt: skip
def test_options_for_extensions_also_by_nvrtc(declared: str, option: str) -> None:
    kernel = RawKernel(f"__global__ void k(float* x) {{ {declared}; }}", "k", (option,))
    x = np.zeros(1, np.float32)
    kernel(1, 1, (x,))
    assert x[0] == 5
    kernel.compile_for("sm_90")
