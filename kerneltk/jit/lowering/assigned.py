"""Variables that are read before they have a value: an error, or a check of debug mode."""

from __future__ import annotations

from kerneltk.errors import TypingError, render_message
from kerneltk.jit import ir
from kerneltk.jit.ir.types import BOOL
from kerneltk.jit.lowering.context import Context
from kerneltk.jit.lowering.definite_assignment import Read, unassigned_reads, with_checks
from kerneltk.jit.passes.liveness import live_in


def check_assigned(low: Context) -> None:
    """Check the statements of a function: raise for a variable that may be read before it has a
    value, and add the checks of debug mode where that cannot be decided. Functions of elements have
    no such checks.
    """
    names = {name: variable for variable, name in low.ir_names.items()}
    names |= {local.name: variable for variable, local in low.bound.items()}
    body = tuple(low.statements)
    tracked = live_in(body) & (names.keys() - low.given)
    reads = unassigned_reads(body, tracked) if tracked else []
    for read in reads:
        if read.is_certain or not read.is_checkable or low.program.of_elements:
            raise _unassigned(low, names[read.local.name], read)
    if reads:
        flags = {
            name: ir.Local(low.add_local(f"{names[name]}_has_value", BOOL), BOOL, read.local.span)
            for name, read in {read.local.name: read for read in reads}.items()
        }
        messages = {name: f"'{names[name]}' has a value" for name in flags}
        body = with_checks(body, reads, flags, messages)
    if low.bound:
        bound = {local.name for local in low.bound.values()}
        _, body = ir.taken_out(body, lambda node: _is_of(node, bound))
    low.statements = list(body)


def _is_of(node: ir.Statement, bound: set[str]) -> bool:
    """Return whether a statement only notes that a name is bound, or that it is read."""
    local = node.value if isinstance(node, ir.Evaluate) else getattr(node, "target", None)
    return isinstance(local, ir.Local) and local.name in bound


def _unassigned(low: Context, name: str, read: Read) -> TypingError:
    """Return the error for a variable without a value, which names the path."""
    span = read.local.span
    if read.way is None:
        sentence = f"'{name}' is used before a value is assigned to it."
        return low.fail(sentence, span, "assign a value on every way that leads here.")
    snippets = low.source.snippet(span), low.source.snippet(read.way.span, read.way.what)
    return TypingError(
        render_message(
            f"'{name}' may have no value here.",
            *snippets,
            hint="give it a value before, or on every way that leads here.",
        )
    )
