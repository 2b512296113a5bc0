"""What collectives combine two values by: functors, or functions of the program."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import CallSite, Intrinsic, Static, Value
from kerneltk.jit.intrinsics.typing_rules import arguments_of
from kerneltk.jit.intrinsics.values import as_numpys, fits
from kerneltk.jit.ir.types import BOOL, Number, Tuple, Type

OPS = "kerneltk::jit::ops::"


class Functor(Intrinsic):
    """An operation that collectives combine two values by: a class in ``kerneltk::jit::ops``.

    It takes values of ``"numbers"``, ``"bits"``, ``"pairs"`` or ``"any"``.
    """

    def __init__(self, name: str, ctype: str, takes: str, doc: str) -> None:
        super().__init__(f"cub.{name}", self._called, doc)
        self.ctype = ctype
        self.takes = takes

    def _called(self, low: Any, site: CallSite) -> Value:
        arguments_of(low, site, ())
        return Static(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return it: ``cub.Max()`` and ``cub.Max`` are the same."""
        return super().__call__(*args, **kwargs) if args or kwargs else self

    def fits(self, kind: Type) -> bool:
        """Return whether it can be computed for values of a type."""
        if self.takes == "pairs":
            if not isinstance(kind, Tuple) or len(kind.items) != 2:
                return False
            index, value = kind.items
            is_index = isinstance(index, Number) and index.is_integer
            return is_index and isinstance(value, Number) and not value.is_complex
        if not isinstance(kind, Number):
            return False
        return self.takes != "bits" or kind.is_integer or kind == BOOL

    @property
    def text(self) -> str:
        """A value of its class."""
        name = f"{OPS}{self.ctype}"
        return f"{OPS}of_pairs<{name}>()" if self.takes == "pairs" else f"{name}()"


FUNCTORS: dict[str, Functor] = {
    name: Functor(name, *row)
    for name, row in {
        "Sum": ("plus", "numbers", "The sum; of integers it wraps around."),
        "Product": ("multiply", "numbers", "The product; of integers it wraps around."),
        "Max": ("py_max", "numbers", "The second value if it is greater, else the first."),
        "Min": ("py_min", "numbers", "The second value if it is less, else the first."),
        "ArgMax": (
            "argmax",
            "pairs",
            "Of two tuples ``(index, value)`` that of the greater value; of equal ones that of the "
            "lower index. A NaN is greater than every number.",
        ),
        "ArgMin": (
            "argmin",
            "pairs",
            "Of two tuples ``(index, value)`` that of the lesser value; of equal ones that of the "
            "lower index. A NaN is less than every number.",
        ),
    }.items()
}


def _function(ctype: str, takes: str) -> Functor:
    return Functor(ctype, ctype, takes, "")


# What the functions that Python and NumPy have themselves mean for two values.
_KNOWN: dict[Any, Functor] = {
    max: FUNCTORS["Max"],
    min: FUNCTORS["Min"],
    operator.add: FUNCTORS["Sum"],
    np.add: FUNCTORS["Sum"],
    operator.mul: FUNCTORS["Product"],
    np.multiply: FUNCTORS["Product"],
    np.maximum: _function("maximum", "numbers"),
    np.minimum: _function("minimum", "numbers"),
    np.fmax: _function("fmax", "numbers"),
    np.fmin: _function("fmin", "numbers"),
    operator.and_: _function("bit_and", "bits"),
    np.bitwise_and: _function("bit_and", "bits"),
    operator.or_: _function("bit_or", "bits"),
    np.bitwise_or: _function("bit_or", "bits"),
    operator.xor: _function("bit_xor", "bits"),
    np.bitwise_xor: _function("bit_xor", "bits"),
    np.logical_and: _function("logical_and", "any"),
    np.logical_or: _function("logical_or", "any"),
    np.logical_xor: _function("logical_xor", "any"),
}


@dataclass(frozen=True, slots=True)
class Combination:
    """How two values are combined."""

    text: str  # a function object of C++; empty for a function of the program
    function: str = ""  # that function's name
    converted: bool = False  # its result has another type than the values


def combination_of(
    low: Any, site: CallSite, value: Value, kind: Type, span: ir.Span
) -> tuple[Combination, tuple[ir.Expression, ...]]:
    """Return an operation, and the variables of the kernel that it uses beside its arguments."""
    found = value.value if isinstance(value, Static) else None
    functor = found if isinstance(found, Functor) else None
    if functor is None and callable(found):
        functor = _known(found)
    if functor is not None:
        if not functor.fits(kind):
            hint = "give a Python function of two values."
            if functor.takes == "pairs":
                hint = "it takes tuples of an index and a number, which is not complex."
            raise low.fail(f"'{functor.__name__}' cannot be computed for '{kind}'.", span, hint)
        return Combination(functor.text), ()
    places = [ir.Local(name, kind, span) for name in ("a", "b")]
    lowered = low.lowered(found, tuple(places), site)
    if lowered is None:
        raise low.fail(
            f"{low.describe(value)} is no operation of two values.",
            span,
            "for example 'cub.Max()', 'np.maximum', or a Python function of two values.",
        )
    signature, arguments = lowered
    if not signature.is_pure:
        raise low.fail("An operation may neither write to memory nor wait for other threads.", span)
    result = signature.result
    is_number = isinstance(kind, Number) and isinstance(result, Number)
    if result != kind and not (is_number and fits(result, kind)):
        raise low.fail(
            f"The operation's result is of the type '{result}', and its arguments of '{kind}'.",
            span,
            "convert the result.",
        )
    return Combination("", signature.name, result != kind), arguments[2:]


def _known(function: Any) -> Functor | None:
    try:
        return _KNOWN.get(as_numpys(function))
    except TypeError:  # what cannot be hashed
        return None


def combination_text(
    emitter: Any, kind: Type, combination: Combination, captured: list[str]
) -> str:
    """Return an operation as a function object of C++; `captured` are what it uses beside."""
    if not combination.function:
        return combination.text
    ctype = emitter.ctype(kind)
    result = f"{combination.function}({', '.join(['_kt_a', '_kt_b', *captured])})"
    if combination.converted:
        result = f"kerneltk::jit::convert<{ctype}>({result})"
    capture = "&" if captured else ""
    parameters = f"const {ctype}& _kt_a, const {ctype}& _kt_b"
    return f"[{capture}]({parameters}) -> {ctype} {{ return {result}; }}"
