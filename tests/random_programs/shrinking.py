"""Makes a program that differs smaller, as long as it differs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..conftest import Backend
from .numbers import Semantics, UndefinedError
from .reference import expected
from .running import Outcome, outcome_of
from .tree import Clause, Expr, Program, Statement

__all__ = ["shrunk"]

Body = tuple[Statement, ...]


def shrunk(
    program: Program, outcome: Outcome, backend: Backend | None, most: int = 300
) -> tuple[Program, Outcome]:
    """Return a smaller program with an outcome of the same status, and that outcome."""
    join = Semantics(program.mode).join
    tried = 0
    progress = True
    seen: set[str] = set()
    while progress and tried < most:
        progress = False
        for candidate in smaller(program):
            text = candidate.source()
            if text in seen or not candidate.is_consistent(join):
                continue
            seen.add(text)
            tried += 1
            found = tested(candidate, backend)
            if found is not None and is_alike(found, outcome):
                program, outcome, progress = candidate, found, True
                break
            if tried >= most:
                break
    return program, outcome


def is_alike(found: Outcome, outcome: Outcome) -> bool:
    if found.status != outcome.status:
        return False
    if found.status == "differs":
        return True
    first, second = (o.detail.strip().splitlines() for o in (found, outcome))
    if found.status == "refused":
        return first[0] == second[0]
    return first[-1][:40] == second[-1][:40]


def tested(program: Program, backend: Backend | None) -> Outcome | None:
    """Return the outcome of a program; None where it is none, or undefined."""
    try:
        wanted = expected(program)
    except (Exception, UndefinedError):
        return None
    return outcome_of(program, wanted, backend)


def smaller(program: Program) -> Iterator[Program]:
    """Yield programs with one thing less, those with the most less first."""
    for body in smaller_bodies(program.body):
        yield program.with_body(body)
    for k, function in enumerate(program.functions):
        before, after = program.functions[:k], program.functions[k + 1 :]
        yield replace(program, functions=before + after)
        for body in smaller_bodies(function.body):
            changed = replace(function, body=body)
            yield replace(program, functions=(*before, changed, *after))
    for k, parameter in enumerate(program.parameters):
        if not parameter.is_output or program.kind == "rawkernel":
            left = program.parameters[:k] + program.parameters[k + 1 :]
            raw = tuple(name for name in program.raw if name != parameter.name)
            yield replace(program, parameters=left, raw=raw)


def smaller_bodies(body: Body) -> Iterator[Body]:
    for size in (8, 4, 2, 1):
        for k in range(len(body) - 1, -1, -size):
            low = max(0, k - size + 1)
            yield body[:low] + body[k + 1 :]
    for k, statement in enumerate(body):
        for clause in statement.clauses:
            if clause.body is not None:
                yield body[:k] + clause.body + body[k + 1 :]
        for changed in smaller_statements(statement):
            yield (*body[:k], changed, *body[k + 1 :])


def smaller_statements(statement: Statement) -> Iterator[Statement]:
    clauses = statement.clauses
    if len(clauses) > 1:
        for k in range(len(clauses) - 1, 0, -1):
            yield Statement(clauses[:k] + clauses[k + 1 :])
    for k, clause in enumerate(clauses):
        for changed in smaller_clauses(clause):
            yield Statement((*clauses[:k], changed, *clauses[k + 1 :]))


def smaller_clauses(clause: Clause) -> Iterator[Clause]:
    for k, part in enumerate(clause.parts):
        for changed in smaller_expressions(part):
            parts = (*clause.parts[:k], changed, *clause.parts[k + 1 :])
            assigned = clause.assigned
            if len(clause.parts) == 1 and changed.is_known != part.is_known:
                assigned = tuple((name, kind, changed.is_known) for name, kind, _ in assigned)
            yield replace(clause, parts=parts, assigned=assigned)
    if clause.body is not None:
        for body in smaller_bodies(clause.body):
            yield replace(clause, body=body)


def smaller_expressions(whole: Expr) -> Iterator[Expr]:
    """Yield expressions of the same kind with less in them."""
    for part in whole.all():
        if part is not whole and part.kind == whole.kind and not part.is_known:
            yield part
    for k, part in enumerate(whole.parts):
        for changed in smaller_expressions(part):
            yield replace(whole, parts=(*whole.parts[:k], changed, *whole.parts[k + 1 :]))
