"""Named tuples and dataclasses whose classes say what operators, attributes and builtins mean.

Python asks the class of an operand, and so do kernels: a method that is written in Python is
lowered as a function of the instance. What only the class's C code knows is refused by its name.
"""

from __future__ import annotations

import collections
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneltk.core.records import record
from kerneltk.core.structures import field_names
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import CallSite, Static, Value
from kerneltk.jit.ir.types import Number, Tuple
from kerneltk.jit.lowering.context import Context, NotImplementedResult


@record(eq=False)
class Method:
    """A method of a named tuple or a dataclass, with its instance."""

    function: types.FunctionType
    owner: Value

    @property
    def __name__(self) -> str:
        """What messages call it."""
        return self.function.__name__


@record
class Own:
    """What a class has under the name of a method, other than a function of the user's.

    `kind` is ``"tuple"`` or ``"object"`` for Python's own, ``"dataclass"`` for what a decorator
    made of the fields of `owner`.
    """

    kind: str
    owner: type


def class_of(value: Value) -> type | None:
    """Return the class of a named tuple or a dataclass; None for any other value."""
    if isinstance(value, Static):
        kind = type(value.value)
        return kind if field_names(kind) is not None and kind is not tuple else None
    return value.type.maker if isinstance(value.type, Tuple) else None


def is_tuple_class(kind: type) -> bool:
    """Return whether instances of a class are tuples; those of dataclasses are none."""
    return issubclass(kind, tuple)


def found_in(kind: type, name: str) -> tuple[type, Any] | None:
    """Return a class's attribute, its own or a base's, and the class that has it."""
    for owner in kind.__mro__:
        if name in vars(owner):
            return owner, vars(owner)[name]
    return None


def is_generated(owner: type, attribute: Any) -> bool:
    """Return whether a method was made by `dataclass` or `namedtuple`."""
    function = getattr(attribute, "__wrapped__", attribute)
    code = getattr(function, "__code__", None)
    if "__dataclass_params__" in vars(owner):
        return code is not None and code.co_filename == "<string>"
    made = getattr(attribute, "__func__", attribute)
    is_ours = getattr(made, "__globals__", None) is vars(collections)
    return "_fields" in vars(owner) and (is_ours or code is None)


def method_of(
    low: Context, kind: type, name: str, span: ir.Span
) -> types.FunctionType | Own | None:
    """Return a class's special method: a function of the user's, Python's own, or
    nothing. Raises for what kernels cannot run.
    """
    found = found_in(kind, name)
    if found is None:
        return None
    owner, attribute = found
    if owner is object:
        return Own("object", owner)
    if owner is tuple:
        return Own("tuple", owner)
    if is_generated(owner, attribute):
        return Own("dataclass" if "__dataclass_params__" in vars(owner) else "tuple", owner)
    low.program.lookups.give_up()  # classes have no description
    if isinstance(attribute, types.FunctionType):
        return attribute
    raise own_method(low, kind, name, span)


def own_method(low: Context, kind: type, name: str, span: ir.Span, hint: str = "") -> Exception:
    """Return the error for what a class has under a name, and kernels do not run."""
    return low.refuse(
        f"'{kind.__name__}' has '{name}' of its own, which kernels do not run.",
        span,
        hint or "write a plain function of its fields.",
    )


_OF_NUMBERS = (vars(int).keys() | vars(float).keys()) - vars(object).keys()
_OF_NUMBERS |= {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}


def check_number(low: Context, kind: type, span: ir.Span) -> None:
    """Raise for a number of a class with operators of its own: kernels compute with plain ones."""
    for owner in kind.__mro__:
        if owner.__module__ in ("builtins", "numpy", "ml_dtypes"):
            return
        for name in sorted(vars(owner).keys() & _OF_NUMBERS):
            if getattr(vars(owner)[name], "__module__", "") != "enum":  # flags are ints
                raise own_method(low, kind, name, span, "make it a plain number before.")


def no_tuple(low: Context, kind: type, what: str, span: ir.Span) -> Exception:
    """Return the error for a dataclass that is used as a tuple."""
    known = ", ".join(f"'.{name}'" for name in field_names(kind) or ())
    hint = f"use its fields: {known}." if known else ""
    return low.fail(f"'{kind.__name__}' is no tuple, and {what}.", span, hint)


def called(
    low: Context, function: types.FunctionType, arguments: Sequence[Value], span: ir.Span
) -> Value | None:
    """Return the result of a method; None where it returns NotImplemented."""
    site = CallSite(function.__qualname__, tuple(arguments), {}, span, (span,) * len(arguments))
    try:
        return low.program.handlers.call(low, function, site)
    except NotImplementedResult:
        return None


def operated(
    low: Context, name: str, left: Value, right: Value, span: ir.Span, *, in_place: bool = False
) -> Value | None:
    """Return an operation by the operands' classes, as Python tries them; None if neither has it.

    `name` is that of the method without its underscores: ``"add"``.
    """
    first, second = class_of(left), class_of(right)
    forward, backward = f"__{name}__", f"__r{name}__"
    attempts: list[tuple[type, str, tuple[Value, Value]]] = []
    if first is not None:
        if in_place:
            attempts.append((first, f"__i{name}__", (left, right)))
        attempts.append((first, forward, (left, right)))
    if second is not None and second is not first:
        reflected = (second, backward, (right, left))
        is_first = first is not None and issubclass(second, first)
        if is_first and found_in(second, backward) != found_in(first, backward):  # type: ignore[arg-type]
            attempts.insert(len(attempts) - 1, reflected)
        else:
            attempts.append(reflected)
    for kind, method, arguments in attempts:
        if kind is second and first is None:
            check_not_array(low, left, right, span)
        function = method_of(low, kind, method, span)
        if isinstance(function, types.FunctionType):
            found = called(low, function, arguments, span)
            if found is not None:
                return found
        elif function is not None and method == forward:
            reverse = method_of(low, kind, backward, span)
            if isinstance(reverse, types.FunctionType):
                # The tuple's operator comes before any reflected one, and raises.
                raise own_method(low, kind, backward, span)
    return None


def check_not_array(low: Context, left: Value, right: Value, span: ir.Span) -> None:
    """Raise for a number of NumPy's and a named tuple, of which NumPy makes an array."""
    kind = class_of(right)
    is_tuple = kind is not None and is_tuple_class(kind)
    if isinstance(left, Static):
        is_strong = isinstance(left.value, np.generic)
    else:
        is_strong = isinstance(left.type, Number) and not left.type.weak
    if is_tuple and is_strong:
        assert kind is not None
        raise low.refuse(
            f"NumPy makes an array of '{kind.__name__}' where a number of its own comes first.",
            span,
            f"begin with the '{kind.__name__}', or with 'float(x)'.",
        )


def special(
    low: Context, value: Value, name: str, span: ir.Span, *arguments: Value
) -> Value | None:
    """Return the result of a special method that a value's class has in Python; None if it has
    none, or Python's own.
    """
    kind = class_of(value)
    function = None if kind is None else method_of(low, kind, name, span)
    if not isinstance(function, types.FunctionType):
        return None
    return called(low, function, (value, *arguments), span)
