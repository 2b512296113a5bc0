"""What NVRTC refuses of host code in strings, CPU cores refuse, and take what it takes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from kerneltk import CompileError, RawKernel
from kerneltk.cuda_cpp.source import RawSource

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
