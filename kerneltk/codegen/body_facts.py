"""What a body observes of the kernel around it, as one record.

The facts of C++ expressions are lexed once. Where source alone does not tell, they err
to the safe side: a body that is wrongly taken for one that takes addresses only runs slower. A
front-end that knows its bodies gives the record itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from kerneltk.codegen.body_addresses import defined_macros, has_local_memory, takes_address
from kerneltk.codegen.scope_variables import changeable, declared_variables
from kerneltk.core.lexer import (
    Lexed,
    always_assigns,
    changed_names,
    has_loops,
    included_headers,
    includes_by_option,
    is_library_header,
    lex,
    may_trap,
    uses_thread_state,
)
from kerneltk.core.records import record
from kerneltk.signature.parameters import Signature

# Options by which the preprocessor changes what a source means.
_EXPANDING = ("D", "define-macro", "include", "pre-include")


@record
class BodyFacts:
    """What a body observes.

    Parameters
    ----------
    observed : frozenset of str
        Identifiers that the body may mention, among them the kernel's own: its index, its
        coordinates, its arrays.
    names : frozenset of str
        Identifiers in the body, the preamble and the options: they decide which headers are
        included.
    preamble_names : frozenset of str
        Those that the preamble may declare.
    overwritten : frozenset of str
        Arrays that the body assigns whatever happens, and does not read before.
    by_reference : bool
        Whether the body must work on the arrays themselves, one thread an element: it may take
        addresses, has atomic operations, or depends on the thread that runs it.
    exits_early : bool
        Whether the body may leave the scope that it stands in.
    loops : bool
        Whether one element may take any time.
    traps : bool
        Whether a CPU may raise a signal in the body: it may divide integers, or trap.
    opaque : bool
        Whether the preprocessor may turn the body into what it does not show.
    changed : frozenset of str
        Names of variables that the expression which assigns the outputs may change.
    local_memory : bool
        Whether the body may have variables that lie in memory: arrays, what a pointer points to.
        Elements share it, and no loop over them may be called one of independent rounds.
    """

    observed: frozenset[str]
    names: frozenset[str] = frozenset()
    preamble_names: frozenset[str] = frozenset()
    overwritten: frozenset[str] = frozenset()
    by_reference: bool = False
    exits_early: bool = False
    loops: bool = False
    traps: bool = True
    opaque: bool = False
    changed: frozenset[str] = frozenset()
    local_memory: bool = False

    @property
    def description(self) -> str:
        """All of it, as a string: the same in every process."""
        sets = self.observed, self.names, self.preamble_names, self.overwritten, self.changed
        flags = self.by_reference, self.exits_early, self.loops, self.traps, self.opaque
        return repr((*map(sorted, sets), flags, self.local_memory))


@lru_cache
def lex_facts(
    signature: Signature,
    expressions: tuple[str, ...],
    preamble: str,
    options: tuple[str, ...],
    *,
    assigning: int,
    implicit: tuple[str, ...],
    addressable: bool,
) -> BodyFacts:
    """Return the facts of C++ expressions.

    Parameters
    ----------
    signature : Signature
    expressions : tuple of str
        The body's C++ sources.
    preamble : str
    options : tuple of str
        Compile options.
    assigning : int
        Which expression assigns the outputs.
    implicit : tuple of str
        Names of the kernel's own that headers of the user's may mention.
    addressable : bool
        Whether the arguments' addresses can be taken in that expression.
    """
    bodies = [lex(source) for source in expressions]
    head, given = lex(preamble), [lex(option) for option in options]
    body_names = frozenset().union(*(body.names for body in bodies))
    names = body_names.union(head.names, *(option.names for option in given))
    opaque = any(lexed.has_directives for lexed in (*bodies, head)) or any(
        option.lstrip("-").startswith(_EXPANDING) for option in options
    )
    headers = included_headers(*expressions, preamble)
    # What the headers of the user's do is not seen here.
    unseen = not all(map(is_library_header, headers)) or includes_by_option(options)
    observed = names if opaque else body_names  # a macro may mention any
    main, parameters = bodies[assigning], signature.parameters
    by_reference = addressable and (unseen or uses_thread_state(names))
    if addressable and not by_reference:
        seen = defined_macros((main.source, preamble), options)
        types = {p.type_variable for p in parameters if p.type_variable is not None}
        by_reference = takes_address(main, {p.name for p in parameters}, types, seen) or any(
            takes_address(lexed, types=types, macros=seen) for lexed in (head, *given)
        )
    macros = defined_macros((*(body.source for body in bodies), preamble), options)
    is_hidden = opaque or unseen or bool(preamble.strip())
    return BodyFacts(
        observed.union(implicit) if unseen else observed,
        names,
        head.names,
        frozenset(
            parameter.name
            for parameter in parameters
            if not (parameter.raw or parameter.is_const or opaque)
            and always_assigns(main, parameter.name)
        ),
        by_reference,
        opaque or not names.isdisjoint(("return", "goto")),
        is_hidden or has_loops(observed),
        is_hidden or any(map(may_trap, bodies)),
        opaque,
        _changed(main, [body for body in bodies if body is not main], head).union(
            *(
                _changed_scope(main, body, head, signature, macros)
                for body in bodies
                if body is not main
            )
        ),
        unseen or _has_local_memory(signature, bodies, [head, *given]),
    )


def _has_local_memory(
    signature: Signature, bodies: Sequence[Lexed], others: Sequence[Lexed]
) -> bool:
    """Return whether a body, or a function that it may call, has variables that lie in memory."""
    subscripted = {p.name for p in signature.parameters if p.raw}
    subscripted |= {f"_raw_{p.name}" for p in signature.parameters}
    return any(has_local_memory(body, subscripted) for body in bodies) or any(
        has_local_memory(other) for other in others
    )


def _changed(main: Lexed, others: Sequence[Lexed], head: Lexed) -> frozenset[str]:
    """Return the names that the main expression may change: by itself, by macros of the preamble,
    or by functions that the other expressions declare.
    """
    by_reference = head.names if "&" in head.plain else frozenset()
    functions = by_reference.union(("swap", "exchange"))
    sources = [main, head] if head.has_directives else [main]
    found = [changed_names(source.tokens, functions) for source in sources]
    found += [other.names for other in others if _has_closure(other.tokens)]
    return frozenset().union(*found)


def _changed_scope(
    main: Lexed, other: Lexed, head: Lexed, signature: Signature, macros: frozenset[str]
) -> frozenset[str]:
    """Return the variables of another expression, and the inputs that are not const, that the main
    one may change; all of them where macros hide what it does.
    """
    inputs = {p.name: True for p in signature.inputs if not (p.raw or p.is_const)}
    if not macros.isdisjoint(main.names):
        return other.names.union(inputs)
    types = {p.type_variable for p in signature.parameters if p.type_variable is not None}
    hidden = {} if macros.isdisjoint(other.names) else dict.fromkeys(other.names - macros, False)
    declared = {**hidden, **declared_variables(other, types), **inputs}
    return changeable(main, declared, types, head.names)


def _has_closure(tokens: Sequence[str]) -> bool:
    """Return whether a lambda expression may change variables of its scope, or of its own."""
    return "mutable" in tokens or ("[", "&") in pairwise(tokens)
