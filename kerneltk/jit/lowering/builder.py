"""The context as rules of intrinsics know it: `intrinsics.base.Builder`."""

from __future__ import annotations

from typing import Any

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import CallSite, Signature, Value
from kerneltk.jit.lowering.context import Context
from kerneltk.jit.lowering.names import declare, declare_opaque, element_index
from kerneltk.jit.lowering.values.arrays import element_at
from kerneltk.jit.lowering.values.comparisons import compare
from kerneltk.jit.lowering.values.conversion import (
    as_expression,
    as_number,
    convert,
    exchanged,
    items_of,
    make_tuple,
    not_computed,
    truth_of,
)
from kerneltk.jit.lowering.values.description import description_of, phrase_of
from kerneltk.jit.lowering.values.joins import joined_values
from kerneltk.jit.lowering.values.numbers import cast, fitted
from kerneltk.jit.lowering.values.operators import binary, operate, unary
from kerneltk.jit.lowering.values.references import temporary


class FunctionBuilder(Context):
    """A context for rules of intrinsics, which call these functions as its methods."""

    as_expression = as_expression
    as_number = as_number
    binary = binary
    cast = cast
    compare = compare
    convert = convert
    declare = declare
    declare_opaque = declare_opaque
    describe = staticmethod(description_of)
    element = element_at
    exchanged = exchanged
    fitted = fitted
    index = element_index
    items_of = items_of
    joined_values = joined_values
    make_tuple = make_tuple
    not_computed = not_computed
    operate = operate
    phrase = staticmethod(phrase_of)
    temporary = temporary
    truth = truth_of
    unary = unary

    def lowered(
        self, function: Any, arguments: tuple[Value, ...], site: CallSite
    ) -> tuple[Signature, tuple[ir.Expression, ...]] | None:
        """Lower a Python function for these arguments, as `invocation.lowered` does."""
        # Rules of numbers call no functions, and who has such alone needs not load it.
        from kerneltk.jit.lowering.invocation import lowered

        return lowered(self, function, arguments, site)
