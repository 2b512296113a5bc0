"""Kernels that launch kernels, on CPU cores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import CompileError, LaunchError

CODE = Path(__file__).with_name("child_launches.cu").read_text()


@pytest.fixture(scope="module")
def module() -> Any:
    return kerneltk.RawModule(code=CODE)


@pytest.mark.exhaustive
def test_launches_run_in_order_behind_the_kernel(module: Any) -> None:
    x = np.zeros(300, np.int32)
    module.get_function("in_order")(3, 4, (x, 300))
    assert x[0] == 1
    assert (x[1:] == 8).all()


def test_shared_memory_and_shapes(module: Any) -> None:
    x, sums = np.arange(256, dtype=np.float32), np.zeros(4, np.float32)
    module.get_function("totals")(2, 8, (x, sums, 4, 64))
    np.testing.assert_array_equal(sums, x.reshape(4, -1).sum(axis=1))
    module.get_function("totals_behind_grid")(2, 4, (x, sums, np.zeros(1, "i4")), cooperative=True)
    np.testing.assert_array_equal(sums, x[:128].reshape(4, -1).sum(axis=1))


@pytest.mark.parametrize(("blocks", "block", "what"), [
    (1, 1025, "blocks of more than 1024 threads"),
    (1, 0, "no threads"),
    (0, 32, "no threads"),
])  # fmt: skip
def test_shapes_that_nobody_can_launch(module: Any, blocks: int, block: int, what: str) -> None:
    x, sums = np.zeros(4, np.float32), np.zeros(4, np.float32)
    with pytest.raises(LaunchError, match=f"thread .0, 0, 0.: it launches 'total' with {what}"):
        module.get_function("totals")(1, 1, (x, sums, blocks, block))


def test_faults_of_launches(module: Any) -> None:
    x = np.zeros(2, np.int32)
    with pytest.raises(LaunchError, match=r"kernel 'checked', .*: assertion 'x\[0\] < 0' failed"):
        module.get_function("failing")(1, 1, (x,))
    with pytest.raises(LaunchError, match="kernel 'trapped'"):
        module.get_function("trapped")(1, 1, (x,))
    assert x[0] == 0  # nothing runs behind a fault
    with pytest.raises(LaunchError, match="24 launches from kernels around it"):
        module.get_function("endless")(1, 1, (x,))
    assert x[0] == 25


@pytest.mark.exhaustive
def test_what_such_a_launch_cannot_be() -> None:
    code = """template <class T> __global__ void fill(T* x, T value) { x[0] = value; }
extern "C" __global__ void f(int* x) { fill<<<1, 1>>>(x, 5); }
extern "C" __global__ void g(int* x) { x[0] = 3; }"""
    module, x = kerneltk.RawModule(code=code), np.zeros(1, np.int32)
    module.get_function("g")(1, 1, (x,))
    assert x[0] == 3
    with pytest.raises(CompileError, match="have no such launches from kernels") as caught:
        module.get_function("f")(1, 1, (x,))
    assert "code:2:" in str(caught.value)
    assert "template's arguments" in str(caught.value)


def test_streams_of_its_own() -> None:
    x = np.random.default_rng(3).integers(0, 5000, 300).astype(np.uint32)
    expected = np.sort(x)
    kerneltk.RawModule(code=CODE).get_function("sort")(1, 1, (x, 0, 299))
    np.testing.assert_array_equal(x, expected)
