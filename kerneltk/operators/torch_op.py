"""Kernels as operators of torch."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kerneltk.errors import ArgumentTypeError, ArgumentValueError, BackendUnavailableError
from kerneltk.operators.gradients import gradients_of
from kerneltk.operators.kernels import names_in
from kerneltk.operators.operator_of import KERNELS, backward_operator_of, operator_of
from kerneltk.operators.torch_calls import TorchCalls
from kerneltk.operators.torch_rules import (
    GUARDS,
    backward_functions,
    refuse_gradients,
    vmap_rule,
)


def torch_op(
    kernel: Any,
    name: str,
    *,
    mutates_args: str | Iterable[str] = (),
    scalars: str | Iterable[str] = (),
    backward: Any = None,
    setup_context: Callable[..., None] | None = None,
    grid: Any = None,
    block: Any = None,
    shared_mem: Any = 0,
    outputs: Mapping[str, Callable[..., Any]] | None = None,
) -> Any:
    """Make a custom operator of torch of a kernel.

    ``torch.compile`` calls the operator without a graph break, also with dynamic shapes: shapes and
    dtypes of its results come from the kernel's own rules. Autograd and ``torch.func.vmap`` know
    it. Tensors in host memory run on all cores, tensors on a GPU on that.

    Parameters
    ----------
    kernel : ElementwiseKernel, ReductionKernel, RawKernel, ElementKernel, Vectorized or JitKernel
        The last two are what ``@jit.kernel`` and ``@jit.rawkernel`` make.
    name : str
        ``"namespace::name"``, as for ``torch.library.custom_op``. An operator of that name is
        replaced.
    mutates_args : str or iterable of str
        The parameters that the caller gives and the kernel writes to. The outputs of a kernel, all
        or none: the operator then takes them behind the inputs and returns nothing. Inputs that
        functions in Python write to. Inputs that a signature or CUDA C++ declares as written need
        not be named.
    scalars : str or iterable of str
        The inputs that are numbers. All others are tensors, but for those with a default and what
        CUDA C++ declares by value.
    backward : kernel or callable, optional
        What computes gradients. The parameters of an elementwise kernel say by their names what it
        takes: ``x`` and ``y`` are an input and a result of `kernel`, ``grad_y`` is the gradient of
        the result; its output ``grad_x`` is the gradient of ``x``. The results of a ``@jit.kernel``
        are the gradients of all tensors, in order. Where `kernel` reduced, results and their
        gradients are broadcast along the axes; where it broadcast an input, the gradient is summed.
        A function is called as ``backward(ctx, *grads)``, as torch calls it.
    setup_context : callable, optional
        Beside a function: saves for it, as ``setup_context(ctx, inputs, output)``.
    grid, block : int, tuple of int or callable
        For a kernel that is launched on a grid: blocks, and threads of a block. A function is
        called with those of the operator's arguments that its parameters name.
    shared_mem : int or callable
        Dynamic shared memory of a block (bytes).
    outputs : mapping of str to callable
        For a kernel that is launched on a grid: what makes each array that the operator allocates
        and returns, ``{"y": lambda x: torch.empty_like(x)}``, called as `grid` is.

    Returns
    -------
    torch.library.CustomOpDef
        Its arguments are the kernel's parameters, by position or name. That of a reduction also
        takes `axis` and `keepdims`, that of an elementwise kernel whose inputs are all raw `size`.

    Raises
    ------
    BackendUnavailableError
        There is no torch, or one without ``torch.library.register_vmap`` (2.5).
    ArgumentTypeError
        `kernel` is no kernel, or another parameter is of a type or a kind that does not go with it;
        a declared dtype that torch has not.
    ArgumentValueError
        A name is not of that form, or a parameter is named that the kernel has not; an operator
        that neither returns nor writes anything.
    SignatureError
        A parameter of the backward kernel has a name that means nothing here.

    Examples
    --------
    ::

        square = ElementwiseKernel("T x", "T y", "y = x * x", "square")
        slope = ElementwiseKernel("T x, T grad_y", "T grad_x", "grad_x = 2 * x * grad_y", "slope")
        op = kerneltk.torch_op(square, "mylib::square", backward=slope)

        @torch.compile(fullgraph=True)
        def loss(x):
            return op(x).sum()
    """
    torch = _torch()
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*::[A-Za-z_]\w*", name):
        raise ArgumentValueError(
            f"An operator's name is 'namespace::name', not {name!r}.\n"
            "  Hint: the namespace is your package's name."
        )
    operator = operator_of(kernel, grid, block, shared_mem, outputs)
    calls = TorchCalls(
        torch, operator, names_in("mutates_args", mutates_args), names_in("scalars", scalars)
    )
    functions = _gradient(calls, name, backward, setup_context)
    GUARDS.pop(name, None)
    made = torch.library.custom_op(
        name,
        calls.run,
        mutates_args=sorted(calls.mutated),
        schema=calls.schema,
        **_tags(torch),
    )
    made.register_fake(calls.fake)
    made.register_vmap(vmap_rule(calls, made))
    if functions is not None:
        made.register_autograd(functions[0], setup_context=functions[1])
    if calls.mutated:
        refuse_gradients(calls, name, made)
    return made


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise BackendUnavailableError(
            f"'torch_op' needs torch, which cannot be imported: {error}.\n  Hint: install 'torch'."
        ) from error
    if not hasattr(getattr(torch, "library", None), "register_vmap"):
        raise BackendUnavailableError(
            "'torch_op' needs the custom operators of 'torch.library', and those of torch "
            f"{torch.__version__} lack 'register_vmap'.\n  Hint: install torch 2.5 or newer."
        )
    return torch


def _tags(torch: Any) -> dict[str, Any]:
    """Properties that torch's compilers can use: the strides of the results depend on
    those of the inputs.
    """
    tag = getattr(torch.Tag, "needs_exact_strides", None)
    takes_tags = "tags" in inspect.signature(torch.library.custom_op).parameters
    return {"tags": (tag,)} if takes_tags and tag is not None else {}


def _gradient(
    calls: TorchCalls, name: str, backward: Any, setup_context: Callable[..., None] | None
) -> tuple[Callable[..., Any], Callable[..., None] | None] | None:
    """What computes the operator's gradients, and what saves for it; None if nothing does."""
    is_kernel = isinstance(backward, KERNELS)
    if not (backward is None or is_kernel or callable(backward)):
        raise ArgumentTypeError(f"'backward' must be a kernel or a function, not {backward!r}.")
    if setup_context is not None and (is_kernel or backward is None):
        raise ArgumentTypeError("'setup_context' goes with a function as 'backward'.")
    if backward is None:
        return None
    operator = calls.operator
    if calls.mutated:
        names = ", ".join(f"'{name}'" for name in sorted(calls.mutated))
        raise ArgumentValueError(
            f"The operator of kernel '{operator.name}' writes to {names}, and torch computes no "
            "gradients of operators that write to their arguments.\n"
            "  Hint: leave out 'backward', or let the operator allocate its outputs."
        )
    if not is_kernel:
        return backward, setup_context
    other = backward_operator_of(
        operator, backward, "give a function as 'backward', and 'setup_context'."
    )
    plan = gradients_of(operator.inputs, operator.outputs, calls.is_number, other)
    scalars = [
        operand.name
        for operand, (kind, k) in zip(other.inputs, plan.takes, strict=True)
        if kind == "input" and calls.is_number[k]
    ]
    return backward_functions(calls, plan, torch_op(backward, f"{name}_backward", scalars=scalars))
