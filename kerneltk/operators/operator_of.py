"""The operator of a kernel of any kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kerneltk.elementwise import ElementwiseKernel
from kerneltk.errors import ArgumentTypeError
from kerneltk.jit.frontends.kernel import ElementKernel
from kerneltk.jit.frontends.rawkernel import JitKernel
from kerneltk.jit.frontends.vectorize import Vectorized
from kerneltk.operators.kernels import ElementOperator, ExpressionOperator, Operator
from kerneltk.operators.launches import LaunchOperator
from kerneltk.raw import RawKernel
from kerneltk.reduction import ReductionKernel

LAUNCHED = (RawKernel, JitKernel)
"""The kernels that are launched on a grid."""

KERNELS = (*LAUNCHED, ElementwiseKernel, ReductionKernel, ElementKernel, Vectorized)
"""The kernels that operators are made of."""


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
    operator: Operator
    if isinstance(kernel, Vectorized):
        kernel = kernel.element_kernel()
    if isinstance(kernel, LAUNCHED):
        return LaunchOperator(kernel, grid, block, shared_mem, outputs or {})
    if isinstance(kernel, ElementwiseKernel | ReductionKernel):
        operator = ExpressionOperator(kernel)
    elif isinstance(kernel, ElementKernel):
        operator = ElementOperator(kernel)
    else:
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


def backward_operator_of(operator: Operator | LaunchOperator, kernel: Any, hint: str) -> Operator:
    """Return the operator of a kernel that computes another's gradients; raises ArgumentTypeError
    where one of the two is launched on a grid, with `hint`.
    """
    if isinstance(operator, LaunchOperator) or isinstance(kernel, LAUNCHED):
        raise ArgumentTypeError(
            f"The gradient of kernel '{operator.name}' cannot be computed by kernel "
            f"'{kernel.name}': one of the two is launched on a grid.\n  Hint: {hint}"
        )
    backward = operator_of(kernel)
    assert not isinstance(backward, LaunchOperator)
    return backward
