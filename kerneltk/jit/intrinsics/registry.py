"""Rules by Python object: functions of `builtins`, `math` and NumPy.

The names of ``jit`` are objects that carry their own rules (`base.Intrinsic`).
"""

from __future__ import annotations

import builtins
from typing import Any

from kerneltk.jit.intrinsics import python
from kerneltk.jit.intrinsics.base import Intrinsic, Rule
from kerneltk.jit.intrinsics.numbers import complexes, conversions, mathematics
from kerneltk.jit.intrinsics.values import as_numpys

_RULES: dict[Any, Rule] = {
    **mathematics.TABLE,
    **complexes.TABLE,
    **conversions.TABLE,
    **python.TABLE,
}


def rule_of(function: Any) -> Rule | None:
    """Return the rule of a Python object that kernels can call; None if they cannot."""
    try:
        found = _RULES.get(function) or _RULES.get(as_numpys(function))
    except TypeError:  # what cannot be hashed is no function
        return None
    return found or conversions.rule_of_bfloat16(function)


def is_range(function: Any) -> bool:
    """Return whether an object makes the numbers of a loop."""
    return function is builtins.range or (
        isinstance(function, Intrinsic) and function.__name__ == "range"
    )
