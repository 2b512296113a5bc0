"""``jit.range``: Python's ``range`` with ``unroll``."""

from __future__ import annotations

from kerneltk.jit.intrinsics.base import Builder, CallSite, Intrinsic, Value


def _outside_of_for(low: Builder, site: CallSite) -> Value:
    raise low.refuse("'range' can only be looped over.", site.span, "for i in range(n): ...")


RANGE = Intrinsic(
    "range",
    _outside_of_for,
    "The numbers of a loop, as Python's ``range``.\n\n"
    "Parameters\n----------\nstart, stop, step : int\n"
    "unroll : int or bool, optional\n"
    "    How often the compiler repeats the body: that many times, as often as the loop runs, or "
    "not at all.",
)
