"""Casts: ``np.float32(x)``, ``int(x)``, ``complex(a, b)``."""

from __future__ import annotations

import builtins
import sys
from functools import partial
from typing import Any

import numpy as np

from kerneltk.core.dtypes import as_dtype, dtype_names
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Builder, CallSite, Operation, Rule, Static, Value
from kerneltk.jit.intrinsics.numbers.constants import folds
from kerneltk.jit.intrinsics.typing_rules import arguments_of, call, element_of
from kerneltk.jit.ir.types import BOOL, FLOAT32, FLOAT64, PY_COMPLEX, PY_FLOAT, PY_INT, Number


def cast_to(target: Number, low: Builder, site: CallSite, default: Any = 0) -> Value:
    """Type a call of a class of numbers, which converts as C does."""
    values = arguments_of(low, site, ("x",), {"x": default})
    value = values["x"]
    if isinstance(value, Static) and isinstance(value.value, str):
        try:
            value = Static((target.python_class if target.weak else target.dtype.type)(value.value))
        except (ValueError, TypeError, OverflowError) as error:
            raise low.fail(f"This string cannot be converted: {error}.", site.span) from None
    found = low.as_number(value, site.span_of(0), "What is converted")
    kind = ir.number_type(found)
    if kind.is_complex and not target.is_complex and target != BOOL:
        raise low.fail(f"A complex number cannot become '{target}'.", site.span, "take '.real'.")
    if target == BOOL:
        return low.truth(found, site.span)
    if isinstance(found, ir.Literal_):
        return _converted(low, found, target, site)
    return low.cast(found, target)


def _converted(low: Builder, found: ir.Literal_, target: Number, site: CallSite) -> Value:
    """Return a constant in another type; integers wrap around, as in C."""
    value = found.value
    try:
        with np.errstate(all="ignore"):
            if target.weak:
                return Static(target.python_class(value))
            return Static(np.array(value).astype(target.dtype)[()])
    except (OverflowError, ValueError) as error:
        raise low.fail(f"This number cannot be converted: {error}.", site.span) from error


_COMPLEX = Operation("complex", "{type}({0}, {1})")


def _complex_to(target: Number, low: Builder, site: CallSite) -> Value:
    if len(site.arguments) + len(site.keywords) < 2:
        return cast_to(target, low, site)
    values = arguments_of(low, site, ("real", "imag"), {"real": 0, "imag": 0})
    parts = [low.as_number(value, site.span, "A part") for value in values.values()]
    if any(ir.number_type(value).is_complex for value in parts):
        raise low.fail("The parts of a complex number must be real.", site.span)
    part = FLOAT32 if target.dtype == np.complex64 else FLOAT64
    return call(_COMPLEX, [low.cast(value, part) for value in parts], target, site)


def _bool(low: Builder, site: CallSite) -> Value:
    values = arguments_of(low, site, ("x",), {"x": False})
    return low.truth(values["x"], site.span)


def _dtype(low: Builder, site: CallSite) -> Value:
    value = arguments_of(low, site, ("dtype",))["dtype"]
    return Static(element_of(low, value, site.span_of(0)).dtype)


def _of_constants(function: Any) -> Rule:
    @folds(function)
    def rule(low: Builder, site: CallSite) -> Value:
        raise low.refuse(f"'{site.name}' takes constants in a kernel.", site.span)

    return rule


def _table() -> dict[Any, Rule]:
    table: dict[Any, Rule] = {
        np.dtype: _dtype,
        builtins.int: partial(cast_to, PY_INT),
        builtins.float: partial(cast_to, PY_FLOAT, default=0.0),
        builtins.bool: _bool,
        builtins.complex: partial(_complex_to, PY_COMPLEX),
        np.bool_: _bool,
        **{function: _of_constants(function) for function in (np.iinfo, np.finfo, builtins.ord)},
    }
    for name in dtype_names():
        if name in ("bool", "bfloat16"):
            continue
        dtype = np.dtype(name)
        target = Number(dtype)
        table[dtype.type] = partial(_complex_to if dtype.kind == "c" else cast_to, target)
    for alias in (np.longlong, np.ulonglong, np.long, np.ulong, np.intc, np.uintc):
        table.setdefault(alias, partial(cast_to, Number(np.dtype(np.dtype(alias).name))))
    return table


def rule_of_bfloat16(function: Any) -> Rule | None:
    """The rule of ml_dtypes' class; it is not in the table, since the package takes long to load,
    and is loaded where the class is used.
    """
    package = sys.modules.get("ml_dtypes")
    if package is None or function is not package.bfloat16:
        return None
    return partial(cast_to, Number(as_dtype("bfloat16")))


TABLE = _table()
