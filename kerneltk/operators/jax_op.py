"""Kernels as functions of JAX, on CPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kerneltk.core.arrays import ArraySpec
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    BackendUnavailableError,
    UnsupportedError,
)
from kerneltk.operators.gradients import Gradients, gradients_of
from kerneltk.operators.kernels import Operand, Operator, check_written, loop_shape, reduced_axes
from kerneltk.operators.launches import LaunchOperator
from kerneltk.operators.operator_of import KERNELS, backward_operator_of, operator_of
from kerneltk.signature.parameters import NO_DEFAULT
from kerneltk.signature.resolve import plain_axis

_NO_WRITES = "arrays of JAX never change; let the kernel write to outputs."


def jax_op(
    kernel: Any,
    *,
    backward: Any = None,
    grid: Any = None,
    block: Any = None,
    shared_mem: Any = 0,
    outputs: Mapping[str, Callable[..., Any]] | None = None,
) -> Callable[..., Any]:
    """Make a function of JAX of a kernel: for ``jax.jit``, ``jax.vmap`` and ``jax.grad``.

    The kernel runs on the cores of this machine, called back by the compiled program
    (``jax.pure_callback``); arrays on other devices are copied to it and back. Shapes and dtypes of
    the results come from the kernel's own rules.

    Parameters
    ----------
    kernel : ElementwiseKernel, ReductionKernel, RawKernel, ElementKernel, Vectorized or JitKernel
        The last two are what ``@jit.kernel`` and ``@jit.rawkernel`` make.
    backward : kernel, optional
        An elementwise kernel that computes gradients; its parameters say by their names what it
        takes and gives, as for `torch_op`.
    grid, block : int, tuple of int or callable
        For a kernel that is launched on a grid: blocks, and threads of a block. A function is
        called with those of the arguments that its parameters name.
    shared_mem : int or callable
        Dynamic shared memory of a block (bytes).
    outputs : mapping of str to callable
        For a kernel that is launched on a grid: what says shape and dtype of each parameter that is
        allocated (with zeros) and returned, ``{"y": lambda x: jax.ShapeDtypeStruct(x.shape,
        x.dtype)}``, called as `grid` is.

    Returns
    -------
    callable
        Its parameters are the kernel's inputs, by position or name. That of a reduction also takes
        `axis` and `keepdims`, that of an elementwise kernel whose arrays are all raw `size`; these
        are Python's own values. It returns an array, or a tuple of arrays. It raises
        ArgumentTypeError and ArgumentValueError as the kernel does, when it is traced.

    Raises
    ------
    BackendUnavailableError
        There is no JAX, or one whose ``jax.pure_callback`` has no `vmap_method` (0.4.34).
    ArgumentTypeError, ArgumentValueError
        `kernel` is no kernel, writes to an input or has no outputs, or an option does not go with
        it.
    SignatureError
        A parameter of the backward kernel has a name that means nothing here.

    Notes
    -----
    Under ``jax.vmap`` a kernel that sees elements alone is called once, with stacked arrays; one
    that observes indices, whole arrays or a grid is called for each element of the batch.

    A Python number stays one, and does not decide dtypes; so does one that is an argument of
    ``jax.jit`` (a weak type).

    Examples
    --------
    ::

        square = ElementwiseKernel("T x", "T y", "y = x * x", "square")
        slope = ElementwiseKernel("T x, T grad_y", "T grad_x", "grad_x = 2 * x * grad_y", "slope")
        op = kerneltk.jax_op(square, backward=slope)
        jax.jit(jax.grad(lambda x: op(x).sum()))(jax.numpy.arange(3.0))
    """
    jax = _jax()
    operator = operator_of(kernel, grid, block, shared_mem, outputs)
    for operand in operator.inputs:
        if operand.is_written:
            raise ArgumentTypeError(
                operand.message(
                    f"Kernel '{operator.name}' writes to its input '{operand.name}'.", _NO_WRITES
                )
            )
    if not (operator.outputs and operator.returns):
        raise ArgumentValueError(
            f"Kernel '{operator.name}' has no outputs, so its operator would do nothing."
        )
    gradient = None if backward is None else _backward_of(operator, backward)
    return _JaxOperator(jax, operator, gradient)


def _jax() -> Any:
    try:
        import jax  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise BackendUnavailableError(
            f"'jax_op' needs JAX, which cannot be imported: {error}.\n  Hint: install 'jax'."
        ) from error
    version = tuple(int(part) for part in jax.__version__.split(".")[:3] if part.isdigit())
    if version < (0, 4, 34):
        raise BackendUnavailableError(
            f"'jax_op' needs the 'vmap_method' of 'jax.pure_callback', and JAX {jax.__version__} "
            "has none.\n  Hint: install JAX 0.4.34 or newer."
        )
    return jax


def _backward_of(operator: Operator | LaunchOperator, kernel: Any) -> tuple[Operator, Gradients]:
    hint = "'jax.custom_vjp' takes functions, which may call operators."
    if not isinstance(kernel, KERNELS):
        raise ArgumentTypeError(f"'backward' must be a kernel, not {kernel!r}.\n  Hint: {hint}")
    backward = backward_operator_of(operator, kernel, hint)
    # Which arguments are numbers shows at calls: their gradients are not used.
    is_number = [False] * len(operator.inputs)
    return backward, gradients_of(operator.inputs, operator.outputs, is_number, backward)


@dataclass(frozen=True)
class _Number:
    """A number that is known when the program is traced. Equal numbers differ here: zeros have
    signs, and True is 1.
    """

    value: Any = field(compare=False)
    kind: type
    text: str


@dataclass(frozen=True)
class _HostCall:
    """What the compiled program calls; equal ones are one to its cache.

    Parameters
    ----------
    operator : Operator or LaunchOperator
    arguments : tuple
        One an input: the number of dimensions of an array without those of ``vmap``, None for a
        number that is given at run time, and one that is known.
    options : tuple of (str, object)
    results : tuple of (shape, dtype)
    """

    operator: Operator | LaunchOperator
    arguments: tuple[int | _Number | None, ...]
    options: tuple[tuple[str, Any], ...]
    results: tuple[tuple[tuple[int, ...], np.dtype[Any]], ...]

    def __call__(self, *given: Any) -> tuple[np.ndarray[Any, Any], ...]:
        left = iter(given)
        values: list[Any] = []
        lead = 0
        for kind in self.arguments:
            if isinstance(kind, _Number):
                values.append(kind.value)
            else:
                array = np.asarray(next(left))
                values.append(array.item() if kind is None else array)
                lead = max(lead, 0 if kind is None else array.ndim - kind)
        if isinstance(self.operator, LaunchOperator):
            made = tuple(np.zeros(shape, dtype) for shape, dtype in self.results)
            self.operator.launch(values, made)
            return made
        options = dict(self.options)
        if lead:
            ranks = [kind for kind in self.arguments if isinstance(kind, int)]
            values = [
                _aligned(value, kind, max(ranks)) if isinstance(kind, int) else value
                for value, kind in zip(values, self.arguments, strict=True)
            ]
            if self.operator.has_axes:
                options["axis"] = tuple(axis + lead for axis in options["axis"])
        return tuple(np.asarray(result) for result in self.operator.call(values, options))


def _aligned(stacked: Any, rank: int, most: int) -> Any:
    """A stack of arrays of `rank` dimensions, with as many dimensions each as the others."""
    lead = stacked.ndim - rank
    return stacked.reshape(*stacked.shape[:lead], *[1] * (most - rank), *stacked.shape[lead:])


class _JaxOperator:
    """A kernel as a function of JAX."""

    def __init__(self, jax: Any, operator: Operator | LaunchOperator, gradient: Any) -> None:
        self._jax = jax
        self._operator = operator
        self._gradient = gradient
        self.__name__ = self.__qualname__ = operator.name

    def __repr__(self) -> str:
        inputs = ", ".join(operand.name for operand in self._operator.inputs)
        return f"<operator of JAX: {self.__name__}({inputs})>"

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the kernel; see `jax_op`."""
        values, options = self._bound(args, named)
        is_array = [isinstance(value, self._jax.Array) for value in values]
        positions = [k for k, array in enumerate(is_array) if array]

        def call(*arrays: Any) -> tuple[Any, ...]:
            given = dict(zip(positions, arrays, strict=True))
            return self._call(
                self._operator, [given.get(k, v) for k, v in enumerate(values)], options
            )

        differentiable = self._jax.custom_vjp(call)

        def forward(*arrays: Any) -> Any:
            results = call(*arrays)
            return results, (arrays, results)

        def backward(saved: Any, gradients: Any) -> Any:
            arrays, results = saved
            given = dict(zip(positions, arrays, strict=True))
            inputs = [given.get(k, value) for k, value in enumerate(values)]
            found = self._gradients(inputs, results, gradients, options)
            return tuple(found[k] for k in positions)

        differentiable.defvjp(forward, backward)
        results = differentiable(*(values[k] for k in positions))
        return results[0] if len(results) == 1 else results

    def _bound(
        self, args: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """The inputs in order, arrays as those of JAX, and the options."""
        operator = self._operator
        options: dict[str, Any] = {}
        if operator.has_axes:
            options["keepdims"] = bool(named.pop("keepdims", False))
            options["axis"] = plain_axis(named.pop("axis", None))
        if operator.has_size and named.get("size") is not None:
            options["size"] = int(named.pop("size"))
        names = [operand.name for operand in operator.inputs]
        if len(args) > len(names):
            raise ArgumentTypeError(
                f"Kernel '{operator.name}' got {len(args)} arguments.\n"
                f"  Hint: its inputs are {', '.join(map(repr, names))}."
            )
        for name in named:
            if name not in names[len(args) :]:
                problem = "got two values for" if name in names else "has no"
                raise ArgumentTypeError(
                    f"Kernel '{operator.name}' {problem} parameter '{name}'.\n"
                    f"  Hint: its inputs are {', '.join(map(repr, names))}."
                )
        values = list(args)
        for operand in operator.inputs[len(args) :]:
            value = named.get(operand.name, operand.default)
            if value is NO_DEFAULT:
                raise ArgumentTypeError(
                    operand.message(f"Input '{operand.name}' of '{operator.name}' is missing.")
                )
            values.append(value)
        pairs = zip(operator.inputs, values, strict=True)
        return [self._taken(operand, value) for operand, value in pairs], options

    def _taken(self, operand: Operand, value: Any) -> Any:
        """An argument as a number or an array of JAX."""
        if isinstance(value, bool | int | float | complex | np.generic):
            return value
        if not isinstance(value, self._jax.Array | np.ndarray):
            raise ArgumentTypeError(
                operand.message(
                    f"The argument for '{operand.name}' is of type '{type(value).__name__}', which "
                    "is neither an array of JAX or NumPy nor a number."
                )
            )
        array = self._jax.numpy.asarray(value)
        if not isinstance(array.dtype, np.dtype):
            raise ArgumentTypeError(
                operand.message(
                    f"The argument for '{operand.name}' has dtype '{array.dtype}', which kernels "
                    "have not."
                )
            )
        return array

    def _is_number(self, operand: Operand, value: Any) -> bool:
        """Whether an array of JAX stands for a number of Python, or is one to the kernel."""
        if value.ndim and operand.is_number:
            raise ArgumentTypeError(
                operand.message(f"'{operand.name}' is a number, and was given an array.")
            )
        return not value.ndim and (operand.is_number or value.weak_type)

    def _call(
        self, operator: Operator | LaunchOperator, values: Sequence[Any], options: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Call a kernel with arrays of JAX and numbers."""
        jax = self._jax
        arguments: list[int | _Number | None] = []
        specs: list[Any] = []
        for operand, value in zip(operator.inputs, values, strict=True):
            if not isinstance(value, jax.Array):
                arguments.append(_Number(value, type(value), repr(value)))
                specs.append(value.dtype if isinstance(value, np.generic) else type(value))
            elif self._is_number(operand, value):
                arguments.append(None)
                specs.append(_NUMBERS[value.dtype.kind])
            else:
                arguments.append(value.ndim)
                specs.append(ArraySpec.dense(np.dtype(value.dtype), value.shape))
        if isinstance(operator, LaunchOperator):
            made = operator.make_outputs(values)
            shapes = tuple((tuple(one.shape), np.dtype(one.dtype)) for one in made)
            outputs = [ArraySpec.dense(dtype, shape) for shape, dtype in shapes]
            check_written(
                operator.name, operator.written(specs, outputs), (), operator.inputs, _NO_WRITES
            )
            batched = False
        else:
            described = operator.describe(specs, options)
            check_written(operator.name, described.written, (), operator.inputs, _NO_WRITES)
            shapes = tuple((spec.shape, spec.dtype) for spec in described.outputs)
            # A number of the program's becomes an array in a batch, and decides dtypes then.
            batched = described.is_batchable and None not in arguments
            if operator.has_axes and batched:
                rank = len(loop_shape(operator.inputs, specs))
                options = {**options, "axis": reduced_axes(options["axis"], rank)}
        for _, dtype in shapes:
            if jax.dtypes.canonicalize_dtype(dtype) != dtype:
                raise ArgumentTypeError(
                    f"A result of kernel '{operator.name}' has dtype '{dtype}', which JAX has only "
                    "with its option 'jax_enable_x64'.\n  Hint: declare a dtype of 32 bits, or "
                    "set the option."
                )
        host = _HostCall(operator, tuple(arguments), tuple(sorted(options.items())), shapes)
        results: tuple[Any, ...] = jax.pure_callback(
            host,
            tuple(jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes),
            *(value for value in values if isinstance(value, jax.Array)),
            vmap_method="expand_dims" if batched else "sequential",
        )
        return results

    def _gradients(
        self,
        inputs: Sequence[Any],
        results: Sequence[Any],
        gradients: Sequence[Any],
        options: dict[str, Any],
    ) -> list[Any]:
        """The gradients of the inputs; None where there is none."""
        jnp, operator = self._jax.numpy, self._operator
        if self._gradient is None or isinstance(operator, LaunchOperator):
            raise UnsupportedError(
                f"The operator of kernel '{operator.name}' has no gradient.\n"
                "  Hint: give 'jax_op' a kernel as 'backward', or wrap the operator by "
                "'jax.custom_vjp'."
            )
        backward, plan = self._gradient
        whole = loop_shape(operator.inputs, inputs, options.get("size"))
        axes: tuple[int, ...] = ()
        if operator.has_axes and not options["keepdims"]:
            axes = reduced_axes(options["axis"], len(whole))

        def spread(value: Any) -> Any:
            value = jnp.expand_dims(value, axes)
            return jnp.broadcast_to(value, whole) if operator.has_axes else value

        def gradient(k: int) -> Any:
            value = gradients[k]
            if value.dtype == self._jax.dtypes.float0:  # of integers
                value = jnp.zeros(results[k].shape, results[k].dtype)
            return spread(value)

        taken: dict[str, Callable[[int], Any]] = {
            "input": lambda k: inputs[k],
            "result": lambda k: spread(results[k]),
            "gradient": gradient,
        }
        computed = self._call(backward, [taken[kind](k) for kind, k in plan.takes], {})
        found: list[Any] = [None] * len(inputs)
        for k, value in zip(plan.gives, computed, strict=True):
            own = getattr(inputs[k], "dtype", None)
            if isinstance(inputs[k], self._jax.Array) and jnp.issubdtype(own, jnp.inexact):
                # A number of the program's has taken part with the dtype of an array.
                found[k] = _summed(value.astype(own), inputs[k].shape)
        return found


_NUMBERS = {"b": bool, "i": int, "u": int, "f": float, "V": float, "c": complex}
"""Python's type of a number, by the kind of the dtype that JAX has for it; bfloat16's is V."""


def _summed(value: Any, shape: tuple[int, ...]) -> Any:
    """A gradient, summed along the axes in which an array of that shape was broadcast."""
    lead = value.ndim - len(shape)
    pairs = zip(value.shape[lead:], shape, strict=True)
    axes = [lead + axis for axis, (extent, own) in enumerate(pairs) if extent != own]
    return value.sum((*range(lead), *axes), keepdims=True).reshape(shape)
