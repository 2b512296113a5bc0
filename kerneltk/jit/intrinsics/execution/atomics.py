"""Atomic operations on elements of arrays in global and shared memory."""

from __future__ import annotations

import keyword
from functools import partial
from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import (
    Builder,
    CallSite,
    Intrinsic,
    Operation,
    Static,
    Value,
)
from kerneltk.jit.intrinsics.typing_rules import arguments_of
from kerneltk.jit.ir.types import Array, Number

_EFFECTS = frozenset((ir.Effect.ATOMIC, ir.Effect.MEMORY, ir.Effect.THREAD))
_HEADERS = ("jit_atomics.hpp",)

# What GPUs have instructions for, or loops of compare-and-swap.
_INTEGERS = ("int32", "uint32", "int64", "uint64")
_COUNTERS = ("uint32", "uint64", "int32", "int64")
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_ROWS: dict[str, tuple[tuple[str, ...], str]] = {
    "add": ((*_INTEGERS, *_FLOATS), "Add ``value``"),
    "sub": ((*_INTEGERS, *_FLOATS), "Subtract ``value``"),
    "exch": ((*_INTEGERS, "float32", "float64"), "Store ``value``"),
    "min": ((*_INTEGERS, *_FLOATS), "Store the smaller of it and ``value``; a NaN changes nothing"),
    "max": ((*_INTEGERS, *_FLOATS), "Store the larger of it and ``value``; a NaN changes nothing"),
    "inc": (_COUNTERS, "Add one, from ``value`` on begin again at zero"),
    "dec": (_COUNTERS, "Subtract one, from zero on go on at ``value``"),
    "and": (_INTEGERS, "Keep the bits that ``value`` has, too"),
    "or": (_INTEGERS, "Set the bits of ``value``"),
    "xor": (_INTEGERS, "Turn over the bits of ``value``"),
    "nanmin": ((*_INTEGERS, *_FLOATS), "As min; a NaN gives way to a number"),
    "nanmax": ((*_INTEGERS, *_FLOATS), "As max; a NaN gives way to a number"),
}


def _place(low: Builder, site: CallSite, array: Value, index: Value) -> ir.Element:
    base = low.as_expression(array, site.span_of(0))
    if not isinstance(base.type, Array):
        raise low.fail(
            f"{low.describe(base)} was given, and '{site.name}' needs an array.",
            site.span_of(0),
            f"give the array and the index: {site.name}(x, i, ...).",
        )
    found = low.element(base, index, site.span_of(1))
    if base.type.space == "local":
        raise low.fail(
            "Local memory is the thread's own: nothing there needs to be atomic.",
            site.span_of(0),
            "use 'x[i] += value'.",
        )
    if base.type.packed:
        raise low.fail(
            "This field of the records is not aligned, as atomic operations need it.",
            site.span_of(0),
            "give the dtype 'align=True'.",
        )
    if not base.type.writable:
        raise low.fail("Constant memory cannot be assigned to.", site.span_of(0))
    return found


def _checked(low: Builder, site: CallSite, kind: Any, dtypes: tuple[str, ...]) -> Number:
    if not isinstance(kind, Number) or kind.dtype.name not in dtypes:
        raise low.fail(
            f"'{site.name}' cannot be computed for '{kind}'.",
            site.span_of(0),
            f"it takes {', '.join(dtypes)}.",
        )
    return kind


def _operand(
    low: Builder, site: CallSite, value: Value, kind: Number, span: ir.Span
) -> ir.Expression:
    """Return a value that an element is updated by. As in NumPy's ``ufunc.at``, an integer takes no
    float: it would be cut.
    """
    given = low.as_number(value, span).type
    constant = value.value if isinstance(value, Static) else None
    is_whole = isinstance(constant, float | np.floating) and float(constant).is_integer()
    if kind.is_integer and isinstance(given, Number) and given.is_floating and not is_whole:
        raise low.fail(
            f"'{site.name}' cannot update an element of '{kind}' by '{given}'.",
            span,
            f"use an array of floats, or convert the value with 'np.{kind}(x)', which cuts it.",
        )
    return low.convert(value, kind, span, "an element")


def _operation(name: str, values: str) -> Operation:
    """Return the operation on an element, with values beside it as its source has them."""
    text = f"kerneltk::jit::atomic_{name}({{0}}, {values})"
    return Operation(f"atomic_{name}", text, _EFFECTS, _HEADERS, (0,), (0,))


def _atomic(operation: Operation, dtypes: tuple[str, ...], low: Builder, site: CallSite) -> Value:
    values = arguments_of(low, site, ("array", "index", "value"))
    place = _place(low, site, values["array"], values["index"])
    kind = _checked(low, site, place.type, dtypes)
    value = _operand(low, site, values["value"], kind, site.span_of(2))
    return low.temporary(ir.Call(operation, (place, value), kind, site.span))


_CAS = _operation("cas", "{1}, {2}")
_CAS_DTYPES = ("int16", "uint16", *_INTEGERS, "float32", "float64")


def _compare_and_swap(names: tuple[str, ...], low: Builder, site: CallSite) -> Value:
    values = arguments_of(low, site, names)
    index = values["index"] if "index" in names else Static(0)  # the first element
    place = _place(low, site, values["array"], index)
    kind = _checked(low, site, place.type, _CAS_DTYPES)
    old, new = (_operand(low, site, values[n], kind, site.span) for n in ("old", "value"))
    return low.temporary(ir.Call(_CAS, (place, old, new), kind, site.span))


_CAS_DOC = "Store ``value`` where the element equals ``old``. Return the element's value before."

INTRINSICS: dict[str, Any] = {
    **{
        f"atomic_{name}": Intrinsic(
            f"atomic_{name}",
            partial(_atomic, _operation(name, "{1}"), dtypes),
            f"{text}, as one step. Return the element's value before.\n\n"
            f"Parameters\n----------\narray : array of {', '.join(dtypes)}\n"
            "index : int or tuple of int\nvalue : number",
        )
        for name, (dtypes, text) in _ROWS.items()
    },
    "atomic_cas": Intrinsic(
        "atomic_cas", partial(_compare_and_swap, ("array", "index", "old", "value")), _CAS_DOC
    ),
}


NUMBA_ATOMICS: dict[str, Any] = {
    **{
        f"{name}_" if keyword.iskeyword(name) else name: INTRINSICS[f"atomic_{name}"]
        for name in _ROWS
    },
    "cas": Intrinsic("cuda.atomic.cas", INTRINSICS["atomic_cas"].rule, _CAS_DOC),
    "compare_and_swap": Intrinsic(
        "cuda.atomic.compare_and_swap",
        partial(_compare_and_swap, ("array", "old", "value")),
        _CAS_DOC,
    ),
}
