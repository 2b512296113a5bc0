"""Kernels with their grids, without torch and JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import ArgumentTypeError, ArgumentValueError, ArraySpec, RawKernel, RawModule
from kerneltk.operators.launches import LaunchOperator

from . import samples

X = np.arange(5, dtype=np.float32)
LIKE = {"y": lambda x: np.zeros_like(x)}


def names(operands: Any) -> list[str]:
    return [operand.name for operand in operands]


@pytest.mark.parametrize("grid", [3, (3,), lambda n: (n + 1) // 2, lambda **all_: all_["n"]])
@pytest.mark.parametrize("block", [2, lambda x: (x.size // 2, 1, 1)])
def test_grid_and_block_may_be_functions(grid: Any, block: Any) -> None:
    operator = LaunchOperator(samples.SQUARES, grid, block, 0, LIKE)
    assert names(operator.inputs) == ["n", "x"]
    assert names(operator.outputs) == ["y"]
    (y,) = operator.make_outputs([5, X])
    operator.launch([5, X], [y])
    assert y.tolist() == [0, 1, 4, 9, 16]


def test_a_function_in_python() -> None:
    operator = LaunchOperator(samples.add_one, 1, 8, 0, LIKE)
    assert names(operator.inputs) == ["x", "n"]
    (y,) = operator.make_outputs([X, 5])
    operator.launch([X, 5], [y])
    assert y.tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("declared", "is_number", "is_written"),
    [
        ("const float* x", False, False),
        ("float const *x", False, False),
        ("const float* __restrict__ x", False, False),
        ("float* x", False, True),
        ("float* const x", False, True),
        ("float x[]", False, True),
        ("const float x[4]", False, False),
        ("int x", True, False),
        ("const double x", True, False),
    ],
)
def test_declarations_tell_what_is_an_array_and_written(
    declared: str, is_number: bool, is_written: bool
) -> None:
    kernel = RawKernel(f'extern "C" __global__ void f({declared}, float* y) {{}}', "f")
    (x, y) = LaunchOperator(kernel, 1, 1, 0, {}).inputs
    assert (x.is_number, x.is_written) == (is_number, is_written)
    assert y.is_written


def test_what_a_launch_writes_to() -> None:
    spec = ArraySpec.make("float32", 5)
    raw = LaunchOperator(samples.SQUARES, 1, 1, 0, {})
    assert raw.written([int, spec, spec], []) == {"y"}
    python = LaunchOperator(samples.add_one, 1, 1, 0, {})
    assert python.written([spec, spec, int], []) == {"y"}
    assert LaunchOperator(samples.add_one, 1, 1, 0, LIKE).written([spec, int], [spec]) == set()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": None}, "'grid' is missing"),
        ({"block": None}, "'block' is missing"),
        ({"grid": lambda m: m}, "'grid' names 'm', which kernel 'squares' has not"),
        ({"shared_mem": lambda y: 0}, "'shared_mem' names 'y', which"),
        ({"outputs": {"z": LIKE["y"]}}, "'outputs' names 'z', which"),
        ({"outputs": {"n": LIKE["y"]}}, "Output 'n' is no pointer in the source"),
        ({"outputs": {"y": "x"}}, "Output 'y' of kernel 'squares' needs a function that makes it"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"grid": 1, "block": 1, "shared_mem": 0, "outputs": LIKE, **options}
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=message):
        LaunchOperator(samples.SQUARES, **given)


def test_parameters_need_names(tmp_path: Any) -> None:
    unnamed = RawKernel('extern "C" __global__ void f(float*) {}', "f")
    path = tmp_path / "module.ptx"
    path.write_text(".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry f() { ret; }")
    for kernel in (unnamed, RawModule(path=path).get_function("f")):
        with pytest.raises(ArgumentTypeError, match="have no names that its source shows"):
            LaunchOperator(kernel, 1, 1, 0, {})
