"""What torch's transformations make of an operator: batches and gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kerneltk.errors import ArgumentValueError, UnsupportedError
from kerneltk.operators.gradients import Gradients
from kerneltk.operators.kernels import loop_shape, reduced_axes
from kerneltk.operators.launches import LaunchOperator
from kerneltk.operators.torch_calls import TorchCalls

Function = Callable[..., Any]


def vmap_rule(calls: TorchCalls, op: Function) -> Function:
    """Return the operator's rule for ``torch.func.vmap``: one launch on stacked arguments.

    The rule raises UnsupportedError where stacked arguments do not give stacked results.
    """
    operator = calls.operator

    def refusal(why: str) -> UnsupportedError:
        return UnsupportedError(
            f"Kernel '{operator.name}' cannot be mapped by 'torch.func.vmap': {why}.\n"
            "  Hint: give the operator's 'register_vmap' a rule of your own."
        )

    def rule(info: Any, in_dims: Sequence[Any], *args: Any) -> Any:
        values, options = calls.complete(args)
        if isinstance(operator, LaunchOperator):
            raise refusal("it is launched on a grid of its own")
        if calls.mutated:
            raise refusal("it writes to its arguments")
        dims = [*in_dims, *([None] * len(values))][: len(values)]
        pairs = list(zip(values, dims, strict=True))
        # Shapes of one element, also of a batch that has none.
        plain = [v if dim is None else v.new_empty(_without(v.shape, dim)) for v, dim in pairs]
        if not calls.describe(plain, options).is_batchable:
            raise refusal("it observes the indices or the number of the elements")
        rank = len(loop_shape(operator.inputs, plain))
        stacked = [v if dim is None else _aligned(v.movedim(dim, 0), rank) for v, dim in pairs]
        if operator.has_axes:
            axes = reduced_axes(options.get("axis"), rank)
            options = {**options, "axis": tuple(axis + 1 for axis in axes)}
        results = op(*stacked, *calls.listed(options))
        return results, 0 if calls.results == 1 else (0,) * calls.results

    return rule


def _without(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    axis %= len(shape)
    return (*shape[:axis], *shape[axis + 1 :])


def _aligned(stacked: Any, rank: int) -> Any:
    """A stack of tensors with as many dimensions each as the others, so that they broadcast."""
    lead = rank - (stacked.ndim - 1)
    return stacked[(slice(None), *([None] * lead))]


def backward_functions(
    calls: TorchCalls, plan: Gradients, op: Function
) -> tuple[Function, Function]:
    """Return the functions for ``register_autograd``: what computes the gradients by a backward
    kernel's operator, and what saves for that.
    """
    operator, is_number = calls.operator, calls.is_number
    saved_tensors = [k for k in plan.saved_inputs if not is_number[k]]

    def save(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        values, options = calls.complete(inputs)
        results = output if isinstance(output, tuple | list) else (output,)
        ctx.save_for_backward(
            *(values[k] for k in saved_tensors), *(results[k] for k in plan.saved_results)
        )
        ctx.numbers = {k: values[k] for k in plan.saved_inputs if is_number[k]}
        ctx.shapes = [values[k].shape for k in plan.gives]
        ctx.axes, ctx.whole, ctx.count = (), None, len(inputs)
        if operator.has_axes:
            ctx.whole = loop_shape(operator.inputs, values, options.get("size"))
            if not options["keepdims"]:
                ctx.axes = reduced_axes(options.get("axis"), len(ctx.whole))

    def spread(ctx: Any, value: Any) -> Any:
        """A result, or its gradient, along the axes that were reduced."""
        for axis in ctx.axes:
            value = value.unsqueeze(axis)
        return value if ctx.whole is None else value.expand(ctx.whole)

    def compute(ctx: Any, *grads: Any) -> Any:
        saved = iter(ctx.saved_tensors)
        values = {("input", k): next(saved) for k in saved_tensors}
        values |= {("result", k): spread(ctx, next(saved)) for k in plan.saved_results}
        values |= {("input", k): number for k, number in ctx.numbers.items()}
        values |= {("gradient", k): spread(ctx, grad) for k, grad in enumerate(grads)}
        computed = op(*(values[source] for source in plan.takes))
        gradients = computed if isinstance(computed, tuple | list) else (computed,)
        found: list[Any] = [None] * ctx.count
        for k, shape, gradient in zip(plan.gives, ctx.shapes, gradients, strict=True):
            found[k] = gradient.sum_to_size(shape)
        return tuple(found)

    return compute, save


GUARDS: dict[str, Any] = {}
"""What refuses gradients, by the operator's name; a registration ends with its library."""


def refuse_gradients(calls: TorchCalls, name: str, op: Function) -> None:
    """Make the operator refuse, as torch's own ``out=`` does, tensors that require a gradient: what
    it writes would be missing there.
    """
    torch, kernel = calls.torch, calls.operator.name

    def checked(keyset: Any, *args: Any) -> Any:
        if torch.is_grad_enabled() and any(
            isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args
        ):
            raise ArgumentValueError(
                f"Operator '{name}' writes to its arguments, which no gradient shows, and one of "
                "them requires a gradient.\n  Hint: pass 'x.detach()', or call it under "
                f"'torch.no_grad()'; an operator of kernel '{kernel}' that allocates its outputs "
                "can have a gradient."
            )
        with torch._C._AutoDispatchBelowAutograd():
            return op(*args)

    namespace, _, short = name.partition("::")
    library = GUARDS[name] = torch.library.Library(namespace, "FRAGMENT")
    for key in ("AutogradCPU", "AutogradCUDA"):
        library.impl(short, checked, key, with_keyset=True)
