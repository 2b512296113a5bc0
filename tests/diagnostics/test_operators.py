"""The text of every message about kernels as operators that needs neither torch nor JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kerneltk import (
    ElementwiseKernel,
    KernelToolkitError,
    RawKernel,
    ReductionKernel,
)
from kerneltk.operators.gradients import gradients_of
from kerneltk.operators.operands import Operand, check_known, check_written, names_in
from kerneltk.operators.operator_of import backward_operator_of, operator_of
from kerneltk.operators.torch_calls import TorchCalls

from ..unit import fake_torch

SQUARE = ElementwiseKernel("T x", "T y", "y = x * x", "square")
TOTAL = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
RAW = RawKernel('extern "C" __global__ void f(const float* x, float* y, int n) {}', "f")


def launched(**options: Any) -> Any:
    return operator_of(RAW, **{"grid": 1, "block": 1, **options})


def calls(kernel: Any, mutates: Any = (), scalars: Any = ()) -> TorchCalls:
    return TorchCalls(fake_torch.module(), operator_of(kernel), mutates, scalars)


def matched(in_params: str, out_params: str) -> Any:
    backward: Any = operator_of(ElementwiseKernel(in_params, out_params, "", "slope"))
    forward: Any = operator_of(SQUARE)
    return gradients_of(forward.inputs, forward.outputs, [False], backward)


MESSAGES: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: operator_of("y = x"),
        "An operator is made of a kernel, not of an object of type 'str'.\n"
        "  Hint: ElementwiseKernel, ReductionKernel, RawKernel, '@jit.kernel' or '@jit.rawkernel'.",
    ),
    (
        lambda: operator_of(SQUARE, block=1),
        "Kernel 'square' takes no 'block': its results follow from its arguments.",
    ),
    (
        lambda: operator_of(RAW, block=1),
        "Kernel 'f' is launched on a grid, and 'grid' is missing.\n"
        "  Hint: give 'grid=' and 'block=', each a number, a tuple, or a function of the operator's"
        " arguments.",
    ),
    (
        lambda: launched(grid=lambda m: m),
        "'grid' names 'm', which kernel 'f' has not.\n"
        "  Hint: what it could name here: 'x', 'y', 'n'.",
    ),
    (
        lambda: launched(outputs={"n": lambda x: x}),
        "Output 'n' is no pointer in the source.\n"
        '  code: extern "C" __global__ void f(const float* x, float* y, int n) {}\n'
        "                                                               ^^^^^",
    ),
    (
        lambda: launched(outputs={"y": 3}),
        "Output 'y' of kernel 'f' needs a function that makes it, not 3.\n"
        "  Hint: for example 'lambda x: torch.empty_like(x)', where 'x' is a parameter's name.",
    ),
    (
        lambda: names_in("scalars", [1]),  # type: ignore[list-item]
        "'scalars' must hold names of parameters, not 1.",
    ),
    (
        lambda: check_known("scalars", "f", ["a"], ()),
        "'scalars' names 'a', which kernel 'f' has not.\n  Hint: what it could name here: none.",
    ),
    (
        lambda: check_written("f", ["x"], (), [Operand("x")], "do this."),
        "Kernel 'f' writes to 'x', which its operator does not declare.\n  Hint: do this.",
    ),
    (
        lambda: backward_operator_of(operator_of(SQUARE), RAW, "do this."),
        "The gradient of kernel 'square' cannot be computed by kernel 'f': one of the two is "
        "launched on a grid.\n  Hint: do this.",
    ),
    (
        lambda: gradients_of((), (), (), operator_of(TOTAL)),  # type: ignore[arg-type]
        "Backward kernel 'total' is a reduction, and must be an elementwise kernel.\n"
        "  Hint: gradients of inputs that were broadcast are summed without it; for all else give a"
        " function.",
    ),
    (
        lambda: matched("T z, T grad_y", "T grad_x"),
        "Parameter 'z' of backward kernel 'slope' is nothing that the forward kernel has.\n"
        "  in_params: T z, T grad_y\n"
        "             ^^^\n"
        "  Hint: it can be one of 'x', 'y', 'grad_y'.",
    ),
    (
        lambda: matched("T x", "T grad_x"),
        "Backward kernel 'slope' has no parameter 'grad_y': it does not take the gradient of the "
        "results.",
    ),
    (
        lambda: matched("T grad_y", "T y"),
        "Output 'y' of backward kernel 'slope' is the gradient of no array that the forward kernel "
        "takes.\n  out_params: T y\n              ^^^\n  Hint: it can be one of 'grad_x'.",
    ),
    (
        lambda: calls(ElementwiseKernel("raw T x", "", "x[0]", "f")),
        "Kernel 'f' has no outputs, so its operator would do nothing.\n"
        "  Hint: name what it writes to in 'mutates_args'.",
    ),
    (
        lambda: TorchCalls(fake_torch.module(), operator_of(
            RawKernel('extern "C" __global__ void f(const float* x) {}', "f"), 1, 1), (), ()),
        "Kernel 'f' has no outputs, so its operator would do nothing.\n"
        "  Hint: name what it writes to in 'mutates_args', or what it allocates in 'outputs'.",
    ),
    (
        lambda: calls(ElementwiseKernel("T x", "T y, T z", "y = z = x"), ["z"]),
        "'mutates_args' names output 'z' and not 'y': the outputs of a kernel are given together.\n"
        "  out_params: T y, T z\n"
        "              ^^^",
    ),
    (
        lambda: calls(SQUARE, ["x"]),
        "'mutates_args' names 'x', which kernel 'square' does not write to.\n"
        "  in_params: T x\n"
        "             ^^^",
    ),
    (
        lambda: calls(ElementwiseKernel("raw T x", "T y", "y = x[i]"), (), ["x"]),
        "'scalars' names 'x', which is an array to the kernel.\n"
        "  in_params: raw T x\n"
        "                 ^^^",
    ),
    (
        lambda: calls(SQUARE, (), ["x"]),
        "The operator of kernel 'square' takes no tensor, which would tell on which device it"
        " runs.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), MESSAGES, ids=range(len(MESSAGES)))
def test_messages(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(KernelToolkitError) as error:
        call()
    assert str(error.value) == message
