"""What NumPy computes an operation in, and whether kernels can.

The dtypes are NumPy's own answer. The operation itself is the rule that kernels in Python have for
the same function (`jit.intrinsics`); a function that has none cannot be fused.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from kerneltk.errors import KernelToolkitError
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import CallSite, Rule
from kerneltk.jit.intrinsics.registry import rule_of
from kerneltk.jit.ir.types import Number
from kerneltk.jit.lowering.builder import FunctionBuilder
from kerneltk.jit.lowering.context import Handlers, Program
from kerneltk.jit.source.text import FunctionSource

SPAN = ir.Span(1, 0, 1, 1)
_TEXT = "def fused(): pass\n"
_NODE = ast.parse(_TEXT).body[0]
assert isinstance(_NODE, ast.FunctionDef)
SOURCE = FunctionSource("fused", "fused", "<fused>", _TEXT, _NODE)

# Functions of scipy.special that C has, by their names there.
_SPECIAL = {
    "erf": math.erf,
    "erfc": math.erfc,
    "gamma": math.gamma,
    "gammaln": math.lgamma,
    "loggamma": math.lgamma,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "cbrt": np.cbrt,
    "sinc": np.sinc,
    "i0": np.i0,
}


@cache
def function_key(function: Any) -> Any:
    """The function that kernels call for one of NumPy's or SciPy's; None if they have none."""
    if rule_of(function) is not None:
        return function
    if isinstance(function, np.ufunc) and is_special(function, function.__name__):
        return _SPECIAL.get(function.__name__)
    return None


def is_special(function: Any, name: str) -> bool:
    """Whether a function is the one of scipy.special that has this name."""
    return any(
        getattr(sys.modules.get(module), name, None) is function
        for module in ("scipy.special", "cupyx.scipy.special")
    )


def rule_for(function: Any) -> Rule:
    """The rule of a function that has one."""
    rule = rule_of(function)
    assert rule is not None
    return rule


def new_builder() -> FunctionBuilder:
    """A function of one element that nothing has been added to."""
    program = Program("numpy", Handlers({}, {}))
    low = FunctionBuilder(program, SOURCE, None, None, (), {}, is_of_elements=True)
    low.begin()
    return low


def number(dtype: np.dtype[Any]) -> Number:
    """The type of values of a dtype."""
    return Number(dtype)


def call_rule(
    low: FunctionBuilder, function: Any, operands: Sequence[ir.Expression], part: int
) -> ir.Expression:
    """An operation on values that have the dtypes it is computed in."""
    site = CallSite(
        getattr(function, "__name__", "function"),
        tuple(operands),
        {},
        SPAN,
        tuple(SPAN for _ in operands),
    )
    value = rule_for(function)(low, site)
    found = low.as_expression(value, SPAN)
    if isinstance(found, ir.Construct):
        return low.as_number(found.items[part], SPAN)
    return found


@lru_cache(maxsize=4096)
def problem_of(function: Any, dtypes: tuple[np.dtype[Any], ...], part: int = 0) -> str | None:
    """Why kernels cannot compute a function of these dtypes; None if they can."""
    low = new_builder()
    operands = [ir.Local(f"x{k}", number(dtype), SPAN) for k, dtype in enumerate(dtypes)]
    try:
        call_rule(low, function, operands, part)
    except KernelToolkitError as error:
        return str(error).split("\n", 1)[0]
    return None


def _is_bfloat16(kind: np.dtype[Any] | type) -> bool:
    """Whether this is the dtype; names take long to ask NumPy for, and its own have others."""
    return isinstance(kind, np.dtype) and kind.isbuiltin == 2 and kind.name == "bfloat16"


def resolved_loop(
    ufunc: np.ufunc,
    operands: Sequence[np.dtype[Any] | type],
    dtype: np.dtype[Any] | None,
    casting: str,
) -> tuple[tuple[np.dtype[Any], ...], tuple[np.dtype[Any], ...]]:
    """The dtypes that a ufunc is computed in, and those of its results. Raises TypeError as NumPy.

    `operands` are dtypes, or Python's number types.
    """
    outputs = (None,) * ufunc.nout
    options: dict[str, Any] = {"casting": casting}
    if dtype is not None:
        options["signature"] = (*(None for _ in range(ufunc.nin)), *(dtype for _ in outputs))
    small = next((o for o in operands if _is_bfloat16(o)), None)
    if small is not None and ufunc is not np.ldexp:
        # Beside NumPy's dtypes alone, it does not ask for weak promotion.
        operands = [small if o is int else o for o in operands]
    found = ufunc.resolve_dtypes((*operands, *outputs), **options)
    return tuple(found[: ufunc.nin]), tuple(found[ufunc.nin :])
