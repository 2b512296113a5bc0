"""Bits of integers, and single instructions: ``popc``, ``clz``, ``fma``, ``rsqrt``."""

from __future__ import annotations

from functools import partial
from typing import Any

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Builder, CallSite, Intrinsic, Operation, Rule, Value
from kerneltk.jit.intrinsics.typing_rules import arguments_of, call, call_in_floats, integer
from kerneltk.jit.ir.types import INT32, PY_INT, UINT32, UINT64

_HEADERS = ("jit_bits.hpp",)


def _bits(name: str, *, same_type: bool = False) -> Rule:
    count = None if same_type else (0, 64)
    operation = Operation(name, f"kerneltk::jit::{name}({{0}})", headers=_HEADERS, range=count)

    def rule(low: Builder, site: CallSite) -> Value:
        value = integer(low, arguments_of(low, site, ("x",))["x"], site.span_of(0), "The argument")
        if same_type and low.mode == "numba":  # its only signatures
            value = low.cast(value, UINT64 if value.type.dtype.itemsize == 8 else UINT32)  # type: ignore[union-attr]
        if same_type:
            return call(operation, [value], ir.number_type(value), site)
        found = call(operation, [value], INT32, site)
        return low.cast(found, PY_INT)

    return rule


_FMA = Operation("fma", "::fma({0}, {1}, {2})")
_RSQRT = Operation("rsqrt", "::rsqrt({0})")
_CBRT = Operation("cbrt", "::cbrt({0})")


def _select(low: Builder, site: CallSite) -> Value:
    from kerneltk.jit.intrinsics.numbers.mathematics import choose

    return choose(low, site, ("condition", "a", "b"))


_ROWS: dict[str, tuple[Rule, str]] = {
    "popc": (_bits("popc"), "Return how many bits of an integer are set, in its own width."),
    "clz": (_bits("clz"), "Return how many bits are zero above the highest that is set."),
    "ffs": (_bits("ffs"), "Return the place of the lowest bit that is set, from 1; 0 if none is."),
    "brev": (_bits("brev", same_type=True), "Return an integer with its bits in reverse order."),
    "fma": (partial(call_in_floats, _FMA, ("a", "b", "c")), "Return ``a * b + c``, rounded once."),
    "rsqrt": (partial(call_in_floats, _RSQRT, ("x",)), "Return ``1 / sqrt(x)``."),
    "cbrt": (partial(call_in_floats, _CBRT, ("x",)), "Return the cube root."),
    "selp": (_select, "Return ``a`` if ``condition`` is true, else ``b``; both are evaluated."),
}

INTRINSICS: dict[str, Any] = {
    name: Intrinsic(name, rule, doc) for name, (rule, doc) in _ROWS.items()
}
