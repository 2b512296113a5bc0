"""The operator of a kernel of any kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kerneltk.errors import ArgumentTypeError
from kerneltk.launch.expression_kernel import ExpressionKernel
from kerneltk.operators.kernels import ElementOperator, ExpressionOperator, Operator
from kerneltk.operators.launches import LaunchOperator
from kerneltk.raw import RawKernel


def operator_of(
    kernel: Any,
    grid: Any = None,
    block: Any = None,
    shared_mem: Any = 0,
    outputs: Mapping[str, Callable[..., Any]] | None = None,
) -> Operator | LaunchOperator:
    """Return the operator of a kernel.

    Raises
    ------
    ArgumentTypeError
        `kernel` is no kernel, or of a kind that the other options do not go with.
    ArgumentValueError
        As `LaunchOperator`.
    """
    if isinstance(kernel, RawKernel):
        return LaunchOperator(kernel, grid, block, shared_mem, outputs or {})
    operator: Operator | None = None
    if isinstance(kernel, ExpressionKernel):
        operator = ExpressionOperator(kernel)
    else:  # who has kernels in CUDA C++ or of expressions alone loads nothing of the others
        from kerneltk.jit.frontends.kernel import ElementKernel
        from kerneltk.jit.frontends.rawkernel import JitKernel

        if isinstance(kernel, JitKernel):
            return LaunchOperator(kernel, grid, block, shared_mem, outputs or {})
        if isinstance(kernel, ElementKernel):
            operator = ElementOperator(kernel)
    if operator is None:
        raise ArgumentTypeError(
            f"An operator is made of a kernel, not of an object of type '{type(kernel).__name__}'."
            "\n  Hint: ElementwiseKernel, ReductionKernel, RawKernel, '@jit.kernel' or "
            "'@jit.rawkernel'."
        )
    given = {"grid": grid, "block": block, "shared_mem": shared_mem or None, "outputs": outputs}
    for option, value in given.items():
        if value is not None:
            raise ArgumentTypeError(
                f"Kernel '{operator.name}' takes no '{option}': its results follow from its "
                "arguments."
            )
    return operator
