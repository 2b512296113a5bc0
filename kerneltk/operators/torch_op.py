"""Kernels as operators of torch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kerneltk.core.arrays import ArraySpec
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    BackendUnavailableError,
    UnsupportedError,
)
from kerneltk.interop import torch_tensors
from kerneltk.launch.call_description import CallDescription
from kerneltk.operators.gradients import gradients_of
from kerneltk.operators.kernels import Operator, reduced_axes
from kerneltk.operators.launches import LaunchOperator
from kerneltk.operators.operands import Operand, check_known, check_written, names_in
from kerneltk.operators.operator_of import operator_of
from kerneltk.operators.torch_schema import AXES, SIZE, TorchArgument, arguments_of, schema_of
from kerneltk.signature.parameters import NO_DEFAULT

if TYPE_CHECKING:
    from torch.library import CustomOpDef


_DECLARE = "name it in 'mutates_args'."


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
) -> CustomOpDef:
    """Make a custom operator of torch of a kernel.

    ``torch.compile`` calls the operator without a graph break, also with dynamic shapes: shapes and
    dtypes of its results come from the kernel's own rules. Autograd and ``torch.func.vmap`` know
    it. Tensors in host memory run on all cores, tensors on a GPU on that.

    Parameters
    ----------
    kernel : ElementwiseKernel, ReductionKernel, RawKernel, or of ``@jit.kernel``, ``@jit.rawkernel``
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
        There is no torch, or one without ``torch.library.custom_op`` (2.4).
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
    made = _TorchOperator(
        torch,
        operator,
        len(outputs or ()),
        names_in("mutates_args", mutates_args),
        names_in("scalars", scalars),
    )
    made.check_backward(backward, setup_context)
    return made.register(name, backward, setup_context)


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise BackendUnavailableError(
            f"'torch_op' needs torch, which cannot be imported: {error}.\n  Hint: install 'torch'."
        ) from error
    if not hasattr(getattr(torch, "library", None), "custom_op"):
        raise BackendUnavailableError(
            f"'torch_op' needs 'torch.library.custom_op', and torch {torch.__version__} has none.\n"
            "  Hint: install torch 2.4 or newer."
        )
    return torch


class _TorchOperator:
    """An operator, with what torch asks of one."""

    def __init__(
        self,
        torch: Any,
        operator: Operator | LaunchOperator,
        allocated: int,
        mutates: Sequence[str],
        scalars: Sequence[str],
    ) -> None:
        self._torch = torch
        self._operator = operator
        inputs = operator.inputs
        outputs: tuple[Operand, ...] = ()
        if not isinstance(operator, LaunchOperator):
            outputs = operator.outputs
            allocated = 0 if self._gives(outputs, mutates) else len(outputs)
        self._results = allocated
        given = () if allocated else outputs
        self._operands = (*inputs, *given)
        written = [operand.name for operand in (*inputs, *given) if operand.is_written]
        self._mutated = frozenset((*written, *mutates))
        check_known("mutates_args", operator.name, mutates, [o.name for o in (*inputs, *outputs)])
        self._check_dtypes((*inputs, *outputs))
        self._numbers = self._numbers_of(scalars)
        self._arguments: tuple[TorchArgument, ...] = arguments_of(
            self._operands, self._numbers, self._mutated
        )
        if not isinstance(operator, LaunchOperator):
            self._arguments += AXES * operator.has_axes
            tensors = [o for o in self._operands if o.name not in self._numbers]
            self._arguments += (SIZE,) * (operator.has_size and all(o.is_raw for o in tensors))
        if not self._results and not self._mutated:
            raise ArgumentValueError(
                f"Kernel '{operator.name}' has no outputs, so its operator would do nothing.\n"
                "  Hint: name what it writes to in 'mutates_args'"
                + (
                    ", or what it allocates in 'outputs'."
                    if isinstance(operator, LaunchOperator)
                    else "."
                )
            )
        if all(operand.name in self._numbers for operand in self._operands):
            raise ArgumentValueError(
                f"The operator of kernel '{operator.name}' takes no tensor, which would tell on "
                "which device it runs."
            )
        self._checked: set[Any] = set()

    def _gives(self, outputs: Sequence[Operand], mutates: Sequence[str]) -> bool:
        """Whether the caller gives the outputs."""
        named = [operand.name for operand in outputs if operand.name in mutates]
        if named and len(named) < len(outputs):
            left = next(operand for operand in outputs if operand.name not in named)
            raise ArgumentValueError(
                left.message(
                    f"'mutates_args' names output '{named[0]}' and not '{left.name}': the outputs "
                    "of a kernel are given together."
                )
            )
        return bool(named)

    def _check_dtypes(self, operands: Sequence[Operand]) -> None:
        for operand in operands:
            if (
                operand.dtype is not None
                and torch_tensors.torch_dtype_or_none(self._torch, operand.dtype) is None
            ):
                raise ArgumentTypeError(
                    operand.message(
                        f"Parameter '{operand.name}' is declared '{operand.dtype}', and torch has "
                        "no such dtype."
                    )
                )

    def _numbers_of(self, scalars: Sequence[str]) -> frozenset[str]:
        operands = {operand.name: operand for operand in self._operator.inputs}
        check_known("scalars", self._operator.name, scalars, operands)
        for name in scalars:
            if operands[name].is_raw and not operands[name].is_number:
                raise ArgumentValueError(
                    operands[name].message(
                        f"'scalars' names '{name}', which is a whole array to the kernel."
                    )
                )
            if name in self._mutated:
                raise ArgumentValueError(f"'{name}' is named by 'scalars' and is written to.")
        return frozenset((
            *scalars,
            *(
                name
                for name, o in operands.items()
                if o.is_number or (o.default is not NO_DEFAULT and name not in self._mutated)
            ),
        ))  # fmt: skip

    # -- registration --------------------------------------------------------------------------

    def check_backward(self, backward: Any, setup_context: Any) -> None:
        """Raise for what cannot compute the operator's gradients."""
        kernel = self._operator.name
        if setup_context is not None and (backward is None or not _is_function(backward)):
            raise ArgumentTypeError("'setup_context' goes with a function as 'backward'.")
        if backward is not None and self._mutated:
            names = ", ".join(f"'{name}'" for name in sorted(self._mutated))
            raise ArgumentValueError(
                f"The operator of kernel '{kernel}' writes to {names}, and torch computes no "
                "gradients of operators that write to their arguments.\n"
                "  Hint: leave out 'backward', or let the operator allocate its outputs."
            )

    def register(self, name: str, backward: Any, setup_context: Any) -> CustomOpDef:
        """Register the operator."""
        torch = self._torch
        tag = getattr(torch.Tag, "needs_exact_strides", None)
        gradients = None
        if backward is not None and not _is_function(backward):
            gradients = self._backward_of(name, backward)
        _GUARDS.pop(name, None)
        made: CustomOpDef = torch.library.custom_op(
            name,
            self.run,
            mutates_args=sorted(self._mutated),
            schema=schema_of(self._arguments, self._results),
            # Which order results have depends on the order of the inputs.
            **({} if tag is None else {"tags": (tag,)}),
        )
        made.register_fake(self.fake)
        made.register_vmap(self._vmap_of(made))
        if gradients is not None:
            made.register_autograd(gradients[0], setup_context=gradients[1])
        elif backward is not None:
            made.register_autograd(backward, setup_context=setup_context)
        if self._mutated:
            self._refuse_gradients(name, made)
        return made

    def _refuse_gradients(self, name: str, made: Any) -> None:
        """Refuse, as torch's own ``out=`` does, what would be missing in a gradient."""
        torch, kernel = self._torch, self._operator.name

        def checked(keyset: Any, *args: Any) -> Any:
            if torch.is_grad_enabled() and any(
                isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args
            ):
                raise ArgumentValueError(
                    f"Operator '{name}' writes to its arguments, which no gradient shows, and one "
                    "of them requires a gradient.\n  Hint: pass 'x.detach()', or call it under "
                    f"'torch.no_grad()'; an operator of kernel '{kernel}' that allocates its "
                    "outputs can have a gradient."
                )
            with torch._C._AutoDispatchBelowAutograd():
                return made(*args)

        namespace, _, short = name.partition("::")
        library = _GUARDS[name] = torch.library.Library(namespace, "FRAGMENT")
        for key in ("AutogradCPU", "AutogradCUDA"):
            library.impl(short, checked, key, with_keyset=True)

    # -- calls ---------------------------------------------------------------------------------

    def _complete(self, args: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the kernel's arguments and options: torch leaves out what is equal to a default."""
        values = [
            argument.value if value is None else value
            for argument, value in zip(self._arguments, args, strict=False)
        ]
        values += [argument.value for argument in self._arguments[len(args) :]]
        count = len(self._operands)
        named = zip(self._arguments[count:], values[count:], strict=True)
        options = {argument.name: value for argument, value in named if value is not None}
        if "axis" in options:
            options["axis"] = tuple(options["axis"])
        return values[:count], options

    def run(self, *args: Any) -> Any:
        """Run the kernel."""
        values, options = self._complete(args)
        operator = self._operator
        if isinstance(operator, LaunchOperator):
            results = self._made(operator, values)
            self._check_written(values, results)
            operator.launch(values, results)
        else:
            if not operator.has_known_effects:
                self._check_written(values, ())
            results = operator.call(values, options)
        return self._returned(results)

    def fake(self, *args: Any) -> Any:
        """Return results of the right shape, dtype and device without memory."""
        values, options = self._complete(args)
        operator = self._operator
        if isinstance(operator, LaunchOperator):
            return self._returned(self._made(operator, values))
        device = self._device_of(values)
        described = self._described(operator, values, options)
        return self._returned([self._empty(spec, device) for spec in described.outputs])

    def _returned(self, results: Sequence[Any]) -> Any:
        if not self._results:
            return None
        return results[0] if self._results == 1 else tuple(results)

    def _empty(self, spec: ArraySpec, device: Any) -> Any:
        dtype = torch_tensors.torch_dtype(self._torch, spec.dtype)
        strides = tuple(step // spec.dtype.itemsize for step in spec.strides)
        return self._torch.empty_strided(spec.shape, strides, dtype=dtype, device=device)

    def _device_of(self, values: Sequence[Any]) -> Any:
        """The device of all tensors; raises ArgumentTypeError where they are on several."""
        first: tuple[str, Any] | None = None
        for operand, value in zip(self._operands, values, strict=True):
            if operand.name in self._numbers:
                continue
            if first is None:
                first = operand.name, value.device
            elif value.device != first[1]:
                raise ArgumentTypeError(
                    operand.message(
                        f"'{first[0]}' is on device '{first[1]}', but '{operand.name}' is on "
                        f"'{value.device}'."
                    )
                )
        assert first is not None
        return first[1]

    def _described(
        self, operator: Operator, values: Sequence[Any], options: dict[str, Any]
    ) -> CallDescription:
        described = operator.describe(self._specs(values), options)
        check_written(operator.name, described.written, self._mutated, operator.inputs, _DECLARE)
        return described

    def _specs(self, values: Sequence[Any]) -> list[Any]:
        """The arguments without memory: tensors as `ArraySpec`, numbers as their types."""
        return [
            self._number_type(value) if operand.name in self._numbers else _spec_of(value)
            for operand, value in zip(self._operands, values, strict=True)
        ]

    def _number_type(self, value: Any) -> type:
        torch = self._torch
        symbolic = ((torch.SymBool, bool), (torch.SymInt, int), (torch.SymFloat, float))
        return next((plain for kind, plain in symbolic if isinstance(value, kind)), type(value))

    def _made(self, operator: LaunchOperator, values: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs that the user's functions make."""
        results = operator.make_outputs(values)
        for result in results:
            if not isinstance(result, self._torch.Tensor):
                raise ArgumentTypeError(
                    f"A function in 'outputs' of kernel '{operator.name}' must return a tensor, "
                    f"and returned an object of type '{type(result).__name__}'."
                )
        return results

    def _check_written(self, values: Sequence[Any], results: Sequence[Any]) -> None:
        """Raise where a function in Python writes to what the schema does not declare; which
        arguments it writes to depends on their types alone.
        """
        key = tuple(
            (value.dtype, value.ndim) if isinstance(value, self._torch.Tensor) else type(value)
            for value in (*values, *results)
        )
        if key in self._checked:
            return
        operator = self._operator
        if isinstance(operator, LaunchOperator):
            written = operator.written(self._specs(values), [_spec_of(r) for r in results])
            check_written(operator.name, written, self._mutated, operator.inputs, _DECLARE)
        else:
            self._described(operator, values, {})
        self._checked.add(key)

    # -- transformations -----------------------------------------------------------------------

    def _vmap_of(self, made: Any) -> Callable[..., Any]:
        """The operator on stacked arguments, in one launch."""

        def refuse(why: str) -> UnsupportedError:
            return UnsupportedError(
                f"Kernel '{self._operator.name}' cannot be mapped by 'torch.func.vmap': {why}.\n"
                "  Hint: give the operator's 'register_vmap' a rule of your own."
            )

        def vmap(info: Any, in_dims: Sequence[Any], *args: Any) -> Any:
            values, options = self._complete(args)
            operator = self._operator
            if isinstance(operator, LaunchOperator):
                raise refuse("it is launched on a grid of its own")
            if self._mutated:
                raise refuse("it writes to its arguments")
            dims = [*in_dims, *([None] * len(values))]
            plain = [
                value if dim is None else value.select(dim, 0)
                for value, dim in zip(values, dims, strict=False)
            ]
            specs = self._specs(plain)
            if not operator.describe(specs, options).is_batchable:
                raise refuse("it observes the indices or the number of the elements")
            arrays = [spec for spec in specs if isinstance(spec, ArraySpec)]
            rank = max(len(spec.shape) for spec in arrays)
            stacked = [
                value if dim is None else _aligned(value.movedim(dim, 0), rank)
                for value, dim in zip(values, dims, strict=False)
            ]
            if operator.has_axes:
                axes = reduced_axes(arrays, options.get("axis"))
                options = {**options, "axis": tuple(axis + 1 for axis in axes)}
            named = self._arguments[len(values) :]
            results = made(*stacked, *(options.get(argument.name) for argument in named))
            return results, 0 if self._results == 1 else (0,) * self._results

        return vmap

    def _backward_of(self, name: str, kernel: Any) -> tuple[Callable[..., Any], ...]:
        """The functions that save for a backward kernel, and that call it as an operator."""
        torch, operator, backward = self._torch, self._operator, operator_of(kernel)
        if isinstance(operator, LaunchOperator) or isinstance(backward, LaunchOperator):
            raise ArgumentTypeError(
                f"The gradient of kernel '{operator.name}' cannot be computed by a kernel: one of "
                "the two is launched on a grid.\n  Hint: give a function as 'backward', and "
                "'setup_context'."
            )
        is_number = [operand.name in self._numbers for operand in operator.inputs]
        plan = gradients_of(operator.inputs, operator.outputs, is_number, backward)
        scalars = [
            operand.name
            for operand, (kind, k) in zip(backward.inputs, plan.takes, strict=True)
            if kind == "input" and is_number[k]
        ]
        call = torch_op(kernel, f"{name}_backward", scalars=scalars)
        tensors = [k for k in plan.saved_inputs if not is_number[k]]

        def save(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
            values, options = self._complete(inputs)
            results = output if isinstance(output, tuple) else (output,)
            ctx.save_for_backward(
                *(values[k] for k in tensors), *(results[k] for k in plan.saved_results)
            )
            ctx.numbers = {k: values[k] for k in plan.saved_inputs if is_number[k]}
            ctx.shapes = {k: values[k].shape for k in plan.gives}
            ctx.axes, ctx.whole = (), None
            if operator.has_axes:
                arrays = [value for value, n in zip(values, is_number, strict=True) if not n]
                ctx.whole = torch.broadcast_shapes(*(array.shape for array in arrays))
                if not options["keepdims"]:
                    ctx.axes = reduced_axes(arrays, options.get("axis"))

        def spread(ctx: Any, value: Any) -> Any:
            for axis in ctx.axes:
                value = value.unsqueeze(axis)
            return value if ctx.whole is None else value.expand(ctx.whole)

        def compute(ctx: Any, *grads: Any) -> Any:
            saved = iter(ctx.saved_tensors)
            inputs = {k: next(saved) for k in tensors} | ctx.numbers
            results = {k: spread(ctx, next(saved)) for k in plan.saved_results}
            values = {
                "input": inputs,
                "result": results,
                "gradient": {k: spread(ctx, grad) for k, grad in enumerate(grads)},
            }
            given = call(*(values[kind][k] for kind, k in plan.takes))
            found: list[Any] = [None] * len(self._arguments)
            given = given if isinstance(given, tuple | list) else (given,)
            for k, grad in zip(plan.gives, given, strict=True):
                found[k] = grad.sum_to_size(ctx.shapes[k])
            return tuple(found)

        return compute, save


_GUARDS: dict[str, Any] = {}
"""What refuses gradients, by the operator's name: a registration ends with its library."""


def _is_function(backward: Any) -> bool:
    from kerneltk.jit.frontends.rawkernel import Decorated
    from kerneltk.launch.expression_kernel import ExpressionKernel
    from kerneltk.raw import RawKernel

    return callable(backward) and not isinstance(backward, ExpressionKernel | RawKernel | Decorated)


def _spec_of(tensor: Any) -> ArraySpec:
    """A tensor without its memory; extents and strides may be torch's symbolic integers."""
    dtype = torch_tensors.dtype_of(tensor)
    strides = tuple(step * dtype.itemsize for step in tensor.stride())
    return ArraySpec(dtype, tuple(tensor.shape), strides)


def _aligned(stacked: Any, rank: int) -> Any:
    """A stack of tensors with as many dimensions each as the others, so that they broadcast."""
    lead = rank - (stacked.ndim - 1)
    return stacked[(slice(None), *([None] * lead))]
