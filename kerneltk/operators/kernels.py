"""Kernels whose results follow from their arguments, as operators, and what operators take: a
kernel's parameters in one form for every front-end.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneltk.core.arrays import broadcast_shapes
from kerneltk.core.structures import is_structure, items_of
from kerneltk.elementwise import ElementwiseKernel
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, Snippet, render_message
from kerneltk.jit.frontends.kernel import ElementKernel
from kerneltk.jit.source.syntax import own_nodes
from kerneltk.launch.dispatch import CallDescription
from kerneltk.reduction import ReductionKernel
from kerneltk.signature.parameters import NO_DEFAULT, Signature
from kerneltk.signature.resolve import normalize_axes, plain_axis


@dataclass(frozen=True, slots=True)
class Operand:
    """A parameter of an operator.

    Parameters
    ----------
    name : str
    dtype : np.dtype or None
        As it is declared; None where the argument decides.
    default : object
        The value of an argument that is not given, or ``NO_DEFAULT``.
    is_raw : bool
        Whether it is a whole array to the kernel.
    is_number : bool
        Whether it takes numbers only.
    is_written : bool
        Whether the kernel may write to it. What a function in Python writes to shows at its calls.
    snippet : Snippet, optional
        Where it is declared.
    """

    name: str
    dtype: np.dtype[Any] | None = None
    default: object = NO_DEFAULT
    is_raw: bool = False
    is_number: bool = False
    is_written: bool = False
    snippet: Snippet | None = None

    def message(self, sentence: str, hint: str = "") -> str:
        """A sentence about the operand, shown where it is declared."""
        return render_message(sentence, *([self.snippet] if self.snippet else []), hint=hint)


def names_in(option: str, given: str | Iterable[str]) -> tuple[str, ...]:
    """The names that an option lists; one name stands for itself. Raises ArgumentTypeError for what
    is not a name.
    """
    if isinstance(given, str):
        return (given,)
    try:
        names = tuple(given)
    except TypeError:
        names = (given,)  # type: ignore[assignment]
    for name in names:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"'{option}' must hold names of parameters, not {name!r}.")
    return names


def check_known(option: str, kernel: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise ArgumentValueError for a name in an option that the kernel has not."""
    for name in given:
        if name not in known:
            shown = ", ".join(map(repr, known)) or "none"
            raise ArgumentValueError(
                f"'{option}' names '{name}', which kernel '{kernel}' has not.\n"
                f"  Hint: what it could name here: {shown}."
            )


def check_written(
    kernel: str,
    written: Iterable[str],
    declared: Collection[str],
    operands: Sequence[Operand],
    hint: str,
) -> None:
    """Raise ArgumentValueError for an input that a kernel writes to, unless it is declared."""
    by_name: Mapping[str, Operand] = {operand.name: operand for operand in operands}
    for name in sorted(written):
        if name not in declared:
            raise ArgumentValueError(
                by_name[name].message(
                    f"Kernel '{kernel}' writes to '{name}', which its operator does not declare.",
                    hint,
                )
            )


class ExpressionOperator:
    """A kernel from expressions as an operator.

    Attributes
    ----------
    inputs, outputs : tuple of Operand
        Outputs may be given after the inputs.
    has_axes, has_size : bool
        Whether a call takes `axis` and `keepdims`; whether it takes `size` where all arrays are
        raw.
    has_known_effects : bool
        Whether the operands say which inputs are written to.
    returns : bool
        Whether a call returns the outputs that it allocates.
    """

    has_size = has_known_effects = True

    def __init__(self, kernel: ElementwiseKernel | ReductionKernel) -> None:
        self._kernel = kernel
        self.name = kernel.name
        signature: Signature = kernel._definition.signature
        operands = tuple(
            Operand(
                parameter.name,
                parameter.dtype,
                parameter.default,
                parameter.raw,
                is_written=not parameter.is_const,
                snippet=signature.snippet(index),
            )
            for index, parameter in enumerate(signature.parameters)
        )
        self.inputs, self.outputs = operands[: kernel.nin], operands[kernel.nin :]
        self.returns = kernel._definition.returns != "none"
        self.has_axes = isinstance(kernel, ReductionKernel)

    def describe(self, args: Sequence[Any], options: dict[str, Any]) -> CallDescription:
        """Describe a call; `args` are of `ArraySpec` and types of numbers."""
        size = options.get("size")
        if self.has_axes:
            axis = plain_axis(options.get("axis"))
            return self._kernel.describe_call(args, (axis, options.get("keepdims", False), size))
        return self._kernel.describe_call(args, None if size is None else (size, None))

    def call(self, args: Sequence[Any], options: dict[str, Any]) -> tuple[Any, ...]:
        """Call the kernel, and return its results."""
        return _arrays_of(self._kernel(*args, **options))


def operands_of(definition: Any, raw: Collection[str] = ()) -> tuple[Operand, ...]:
    """The parameters of a function in Python, of which some take whole arrays. Raises
    ArgumentTypeError for a default that is no number.
    """
    found = []
    for path in definition.paths:
        default = definition.signature.parameters[path.name].default
        if default is definition.signature.empty:
            default = NO_DEFAULT
        elif not isinstance(default, bool | int | float | complex):
            raise ArgumentTypeError(
                path.message(
                    f"The default of parameter '{path.name}' is no number, and an operator takes "
                    "arrays and numbers.",
                    "call a function of the parameters that the operator has.",
                )
            )
        is_raw = path.name in raw
        found.append(Operand(path.name, None, default, is_raw, snippet=path.snippet))
    return tuple(found)


class ElementOperator:
    """A function of one element as an operator. Its results are called ``out``, or if there are
    several ``out0``, ``out1`` and so on.
    """

    has_axes = has_size = has_known_effects = False
    returns = True

    def __init__(self, kernel: ElementKernel) -> None:
        self._kernel = kernel
        self.name = kernel.name
        definition = kernel._definition
        self.inputs = operands_of(definition, kernel.raw)
        self._count = _returned(definition.source.node)
        names = ["out"] if self._count == 1 else [f"out{k}" for k in range(self._count)]
        self.outputs = tuple(Operand(name, is_written=True) for name in names)

    def describe(self, args: Sequence[Any], options: dict[str, Any]) -> CallDescription:
        """Describe a call."""
        count = len(self.inputs)
        found = self._kernel.describe_call(args[:count], args[count:])
        self._check_count(len(found.outputs))
        return found

    def call(self, args: Sequence[Any], options: dict[str, Any]) -> tuple[Any, ...]:
        """Call the kernel, and return its results."""
        count = len(self.inputs)
        outputs = tuple(args[count:])
        results = _arrays_of(self._kernel(*args[:count], out=outputs or None))
        self._check_count(len(results))
        return results

    def _check_count(self, found: int) -> None:
        if found != self._count:
            raise ArgumentValueError(
                f"Kernel '{self.name}' returns {found} values, and its 'return' statements show "
                f"{self._count}.\n  Hint: return the values one by one: 'return a, b'."
            )


Operator = ExpressionOperator | ElementOperator
"""A kernel whose results follow from its arguments."""


def _arrays_of(result: Any) -> tuple[Any, ...]:
    """The arrays of a call's result: of none, one, a tuple or a dataclass."""
    if result is None:
        return ()
    return items_of(result) if is_structure(result) else (result,)


def _returned(function: ast.AST) -> int:
    """The number of values that a function's own 'return' statements show."""
    values: list[ast.expr | None] = [function.body] if isinstance(function, ast.Lambda) else []
    values += (node.value for node in own_nodes(function) if isinstance(node, ast.Return))
    shown = (value for value in values if value is not None)
    return max((len(v.elts) if isinstance(v, ast.Tuple) else 1 for v in shown), default=0)


def loop_shape(
    operands: Sequence[Operand], values: Sequence[Any], size: Any = None
) -> tuple[Any, ...]:
    """The shape that a call's loop has: the arrays that are not raw are broadcast, and numbers have
    no shape. Raises ValueError where they do not go together.
    """
    pairs = zip(operands, values, strict=False)
    shapes = [value.shape for o, value in pairs if not o.is_raw and hasattr(value, "shape")]
    if not shapes and size is not None:
        return (size,)
    return functools.reduce(broadcast_shapes, shapes, ())


def reduced_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that a call reduces, in ascending order, of a loop of `ndim` dimensions."""
    return normalize_axes(plain_axis(axis), ndim)
