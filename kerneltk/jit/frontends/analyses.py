"""What functions were found to mean, in the compile cache, so that a process whose kernels are
known lowers none of them.

An entry is for a function by its text and code, and for what its decorator was given. It has a few
records, each for arguments of some types: what lowering found outside of the function
(`source.lookups`), and what became of it. A record counts where all that it names is what it was.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kerneltk.cache.derived import Records
from kerneltk.core.artifacts import Capabilities, TranslationUnit, described_backend
from kerneltk.core.dtypes import UndescribedError, described_dtype
from kerneltk.jit.ir.types import Array, Number, Record, Type, Void
from kerneltk.jit.source.lookups import Descriptions, Lookups, are_current

if TYPE_CHECKING:
    from kerneltk.jit.frontends.rawkernel import Definition


def _described_type(kind: Type) -> str:
    """Describe the type of an argument; raises UndescribedError for classes of the user's."""
    if isinstance(kind, Number):
        return f"{'weak ' if kind.weak else ''}{described_dtype(kind.dtype)}"
    if isinstance(kind, Record):
        return f"record {described_dtype(kind.dtype)}"
    if isinstance(kind, Void):
        return "void"
    if type(kind) is Array:
        layout = (kind.ndim, kind.layout, kind.shape, kind.space, kind.writable, kind.packed)
        return f"array {layout} {_described_type(kind.element)}"
    raise UndescribedError(kind)


def case_of(
    kinds: Sequence[Type],
    backend: Capabilities,
    is_32bit: bool,
    results: Sequence[Sequence[np.dtype[Any]] | None] = (),
    more: str = "",
) -> str | None:
    """What tells one of a function's records from the others: the types of arguments, for what
    backend, the dtypes of results that are given, and whatever else decides the outcome. None where
    a type has no description.
    """
    try:
        found = [_described_type(kind) for kind in kinds]
        stored = [None if given is None else [*map(described_dtype, given)] for given in results]
    except UndescribedError:
        return None
    return json.dumps((found, described_backend(backend), is_32bit, stored, more))


class Known(NamedTuple):
    """What a record has, and the texts of the functions that it is of, by their paths."""

    outcome: Any
    texts: dict[str, str]

    def origins(self, paths: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Paths with their texts."""
        return tuple((path, self.texts[path]) for path in paths)


class Analyses:
    """The records of a definition; `fields` are what its front-end was given besides."""

    def __init__(self, definition: Definition, *fields: str) -> None:
        self._definition = definition
        self._code = definition.function.__code__  # what the definition's source is of
        self._fields = fields
        self._facts: dict[str, Any] = {}
        self._inputs: tuple[str, ...] = ()
        self._records: Records | None = None

    def fact(self, name: str) -> Any:
        """Return the cached facts about the function for any arguments; None if there are none."""
        return self._facts.get(name) if self._open() is not None else None

    def note_fact(self, name: str, value: Any) -> None:
        """Keep it with the next record."""
        self._facts[name] = value

    def find(self, case: str | None) -> Known | None:
        """Return the cached facts for arguments of some types."""
        described = None if case is None else self._open()
        if described is None or self._records is None:
            return None
        for known_case, facts, outcome, _ in self._records.found:
            if known_case == case:
                del described.functions[1:]  # but the root
                if are_current(facts, described):
                    return Known(outcome, described.texts)
        return None

    def keep(self, case: str | None, lookups: Lookups, outcome: Any, paths: Sequence[str]) -> None:
        """Keep an outcome that has sources from these paths in it, if what it depends on can be
        told.
        """
        if case is None or outcome is None or self._open() is None or self._records is None:
            return
        found = lookups.facts(self._definition.function)
        if found is None:
            return
        facts, described = found
        if any(path not in described.texts for path in paths) or not self._is_same(described):
            return
        self._records.add((case, facts, outcome, self._facts), 2)

    def _is_same(self, described: Descriptions) -> bool:
        """Whether the function's text is the one that the definition was made of."""
        path, text = self._definition.text
        return described.texts.get(path) == text

    def _open(self) -> Descriptions | None:
        """Describe the function as it is now, and read its entry."""
        definition = self._definition
        try:
            described = Descriptions(definition.function)
            constants = ""
            if definition.constants:
                of_constants = Descriptions(definition.function)
                constants = of_constants.of(definition.constants)
                if len(of_constants.functions) > 1:
                    return None  # what they find outside of themselves is followed by no path
        except UndescribedError:
            return None
        if not self._is_same(described) or definition.function.__code__ is not self._code:
            return None
        inputs = (
            described.root,
            definition.mode,
            repr((definition.options, definition.launch_bounds, definition.fastmath)),
            constants,
            *self._fields,
        )
        if inputs != self._inputs:
            self._inputs, self._records = inputs, Records("analysis", 4, *inputs)
            found = self._records.found
            self._facts = found[0][3] if found else {}
        return described


# -- kernels on a grid -----------------------------------------------------------------------------


class GridAnalysis(NamedTuple):
    """What a kernel on a grid was found to be, for arguments of some types.

    `written` says of each argument whether it is written to, `lent` whether its records are passed
    by their addresses. `needs_grid` and `block` are as `passes.effects` has them.
    """

    unit: TranslationUnit
    written: tuple[bool, ...]
    lent: tuple[bool, ...]
    needs_grid: bool
    block: tuple[int, int, int] | None

    def as_outcome(self) -> Any:
        """Return it as a record has it."""
        unit = self.unit
        paths = [path for path, _ in unit.origins]
        head = unit.source, unit.entry, unit.name, unit.exports, unit.raw, paths
        return *head, self.written, self.lent, self.needs_grid, self.block

    @classmethod
    def of_outcome(cls, known: Known, backend: str, options: tuple[str, ...]) -> GridAnalysis:
        """Read what `as_outcome` returned."""
        source, entry, name, exports, raw, paths, written, lent, needs_grid, block = known.outcome
        unit = TranslationUnit(
            backend,
            source,
            entry,
            options,
            known.origins(paths),
            name,
            exports=tuple((expression, symbol) for expression, symbol in exports),
            raw=raw,
        )
        return cls(unit, tuple(written), tuple(lent), needs_grid, tuple(block) if block else None)
