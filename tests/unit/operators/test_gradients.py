"""Which values a backward kernel takes, and whose gradients it gives."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk import ArgumentTypeError, ElementwiseKernel, KernelToolkitError, jit
from kerneltk.operators.gradients import Gradients, gradients_of
from kerneltk.operators.operator_of import operator_of

from . import samples


def matched(forward: Any, backward: Any, numbers: tuple[str, ...] = ()) -> Gradients:
    operator, other = operator_of(forward), operator_of(backward)
    is_number = [operand.name in numbers for operand in operator.inputs]
    return gradients_of(operator.inputs, operator.outputs, is_number, other)  # type: ignore[arg-type]


def test_names_say_what_is_what() -> None:
    found = matched(samples.NORM, samples.NORM_SLOPE)
    assert found.takes == (("input", 0), ("result", 0), ("gradient", 0))
    assert found.gives == (0,)
    assert (found.saved_inputs, found.saved_results) == ((0,), (0,))
    found = matched(samples.AXPB, samples.AXPB_SLOPES)
    assert found.takes == (("input", 0), ("input", 1), ("gradient", 0))
    assert found.gives == (0, 1)
    assert (found.saved_inputs, found.saved_results) == ((0, 1), ())


def test_functions_give_the_gradients_of_all_arrays() -> None:
    @jit.kernel
    def slopes(x, a, grad_out):
        return a * grad_out, x * grad_out

    @jit.kernel
    def slope(a, grad_out):
        return a * grad_out

    assert matched(samples.axpb, slopes, ("b",)).gives == (0, 1)
    assert matched(samples.axpb, slope, ("a", "b")).takes == (("input", 1), ("gradient", 0))
    with pytest.raises(ArgumentTypeError, match="not one gradient for each of 'x', 'a', in this"):
        matched(samples.axpb, slope, ("b",))


@pytest.mark.parametrize(
    ("backward", "message"),
    [
        (samples.TOTAL, "Backward kernel 'total' is a reduction"),
        (
            ElementwiseKernel("T z, T grad_y", "T grad_x", "grad_x = z", "f"),
            "Parameter 'z' of backward kernel 'f' is nothing that the forward kernel has.\n"
            "  in_params: T z, T grad_y\n"
            "             ^^^\n"
            "  Hint: it can be one of 'x', 'a', 'b', 'y', 'grad_y'.",
        ),
        (
            ElementwiseKernel("T grad_y", "T x", "x = grad_y", "f"),
            "Output 'x' of backward kernel 'f' is the gradient of no array",
        ),
        (
            ElementwiseKernel("T grad_y", "T grad_b", "grad_b = grad_y", "f"),
            "Hint: it can be one of 'grad_x', 'grad_a'.",
        ),
        (ElementwiseKernel("T x", "T grad_x", "grad_x = x", "f"), "has no parameter 'grad_y'"),
        (
            ElementwiseKernel("_non_const T grad_y", "T grad_x", "grad_x = 1", "f"),
            "Backward kernel 'f' writes to 'grad_y'",
        ),
    ],
)
def test_backward_kernels_that_do_not_fit(backward: Any, message: str) -> None:
    with pytest.raises(KernelToolkitError) as error:
        matched(samples.AXPB, backward, ("b",))
    assert message in str(error.value)
