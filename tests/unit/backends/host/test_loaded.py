"""Libraries that are used again when their modules are gone."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.backends.host import runtime
from kerneltk.core.settings import get_settings

CODE = r"""
__constant__ float scale[3] = {1, 2, 3};
__device__ int zeros[50000];
template <class T> __device__ T count = 7;
extern "C" __global__ void f(float* x) {
    static int calls = 5;
    x[0] = scale[1];
    x[1] = ++count<int>;
    x[2] = ++calls;
    x[3] = ++zeros[40000];
}
"""
FIRST = [2, 8, 6, 1]


def launched(kernel: kerneltk.RawKernel) -> list[float]:
    x = np.zeros(4, "f4")
    kernel((1,), (1,), (x,))
    return [float(value) for value in x]


def mappings() -> int:
    return len(Path("/proc/self/maps").read_text().splitlines())


def changed_and_dropped(code: str) -> None:
    module = kerneltk.RawModule(code=code)
    module.get_array("scale", backend="host")[1] = 5
    assert launched(module.get_function("f")) == [5, *FIRST[1:]]


@pytest.mark.exhaustive
def test_many_modules_take_bounded_memory() -> None:
    for _ in range(3):
        changed_and_dropped(CODE)
    gc.collect()
    before = mappings()
    for _ in range(300):
        changed_and_dropped(CODE)
    assert mappings() < before + 200  # 300 libraries have 1200


def test_modules_that_live_have_variables_of_their_own() -> None:
    modules = [kerneltk.RawModule(code=CODE) for _ in range(3)]
    for number, module in enumerate(modules):
        module.get_array("scale", backend="host")[1] = number
    for number, module in enumerate(modules):
        assert launched(module.get_function("f")) == [number, *FIRST[1:]]
    templates = (
        "template <class T> __device__ T n; __global__ void f(float* x) { x[0] = ++n<int>; }"
    )
    for kernel in [kerneltk.RawKernel(templates, "f") for _ in range(3)]:
        assert launched(kernel)[0] == 1


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kind", ["array", "function", "configured", "graph"])
def test_what_keeps_the_variables(kind: str) -> None:
    code = f"// {kind}\n{CODE}"
    module = kerneltk.RawModule(code=code)
    scale = module.get_array("scale", backend="host")
    scale[1] = 9
    x = np.zeros(4, "f4")
    if kind == "array":
        kept = scale[1:].view("i4").view("f4")
    elif kind == "function":
        kept = module.get_function("f")
    elif kind == "configured":
        kept = module.get_function("f")[1, 1]
    else:
        with kerneltk.graph() as kept:
            module.get_function("f")((1,), (1,), (x,))
    del module, scale
    for _ in range(2):
        gc.collect()
        changed_and_dropped(code)
    if kind == "array":
        assert kept[0] == 9
    elif kind == "function":
        assert launched(kept)[0] == 9
    else:
        kept(x) if kind == "configured" else kept.launch()
        assert x[0] == 9


def test_first_values_also_after_an_error() -> None:
    code = CODE.replace("x[0] = scale[1];", "x[0] = scale[1]; if (x[3] > 0) __trap();")
    kernel = kerneltk.RawKernel(code, "f")
    assert launched(kernel) == FIRST
    with pytest.raises(kerneltk.LaunchError):
        kernel((1,), (1,), (np.ones(4, "f4"),))
    del kernel
    gc.collect()
    assert launched(kerneltk.RawKernel(code, "f")) == FIRST


def test_libraries_that_a_debugger_reads_are_not_used_again(monkeypatch: Any) -> None:
    class Owner:
        pass

    code = kerneltk.RawModule(code=CODE).compile_for("host")
    library = runtime.load_library(code)
    settings = replace(get_settings(), host_debug=("symbols",))
    monkeypatch.setattr(runtime, "get_settings", lambda: settings)
    monkeypatch.setattr(runtime, "load_library", lambda code: library)
    monkeypatch.setattr(runtime, "_free", {})
    owner = Owner()
    assert runtime.load_private(code, owner) is library
    del owner
    gc.collect()
    assert not runtime._free
