"""The outcome of compiling a source, in the compile cache.

The unit of a source takes longer to put together than all else that a first launch does (a quarter
of a short string's first call, most of a large file's), and its key is a hash of it. So the key is
cached, under another one that is made without a unit: of the source, its headers and all else that
the unit is put together from. Headers that a compiler reads itself are no part of the unit: they
are looked for again, as `cache.fingerprint` does.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import astuple
from types import ModuleType
from typing import Generic, NamedTuple, TypeVar

from kerneltk import pipeline
from kerneltk.backends.base import Compiler
from kerneltk.cache import derived
from kerneltk.cache.fingerprint import Trace, file_stamp
from kerneltk.core.artifacts import Capabilities, Target, TranslationUnit
from kerneltk.core.settings import get_settings
from kerneltk.cuda_cpp.source import RawSource
from kerneltk.cuda_cpp.syntax.declarations import Refused
from kerneltk.errors import BackendUnavailableError

T = TypeVar("T")


def _code_of(compiler: Compiler) -> str | None:
    """What tells the code of a compiler, which may be none of ours, from any other; None where it
    is in no file.
    """
    is_module = isinstance(compiler, ModuleType)
    module = compiler if is_module else sys.modules.get(type(compiler).__module__)
    path = getattr(module, "__file__", None)
    try:
        return None if path is None else repr(file_stamp(path))
    except OSError:
        return None


class Outcome(NamedTuple):
    """What a compilation has made of what is asked of a source, beside its object code."""

    # What the compiler does not find, and what it says of that.
    left_out: tuple[tuple[str, str], ...]
    refused: tuple[Refused, ...]  # functions, on CPU cores
    warnings: tuple[str, ...]  # reported to the user


class Entry(Generic[T]):
    """Where the cache has what becomes of a source.

    Parameters
    ----------
    source : RawSource
    requested : str
        What is asked of it.
    backend, making
        What it is compiled for.
    """

    def __init__(
        self,
        source: RawSource,
        requested: str,
        backend: Capabilities,
        making: pipeline.Making[T],
    ) -> None:
        self._source = source
        self._requested = requested
        self._backend = backend
        self._making = making
        by_nvcc = source.compiler == "nvcc" and not backend.emulates_cuda
        # All of a unit that chooses its compiler.
        self._bare = TranslationUnit(
            backend.name,
            "",
            "",
            raw=True,
            compiler="nvcc" if by_nvcc else "nvrtc",
            links=source.links,
        )
        self._compiler: Compiler | None = None
        self._target: Target | None = None
        self._entry = self._find_entry()

    def _find_entry(self) -> derived.Entry | None:
        """Return the entry; None where there is none."""
        settings = get_settings()
        if "symbols" in settings.host_debug:
            return None  # units name files that are written for a debugger
        try:
            self._compiler, self._target = self._making.compiler(self._bare)
        except (BackendUnavailableError, ValueError):
            return None  # a unit meets it as well, behind its own errors
        code = _code_of(self._compiler)
        if code is None:
            return None
        environment = (
            *(settings.host_debug, settings.host_sanitizers, settings.cxx, settings.cuda_include),
            *(settings.cuda_home, settings.nvcc_environment),
        )
        return derived.Entry(
            "CUDA C++ source",
            *("outcome", code, self._requested),
            *map(repr, (astuple(self._backend), astuple(self._target), environment)),
            *self._source.inputs(),
        )

    def recall(self) -> tuple[T, Outcome] | None:
        """Return the outcome for the source; None where that is not known, or would be another."""
        read = derived.reader_of(tuple[tuple[pipeline.Provenance, ...], Outcome])
        found = None if self._entry is None else self._entry.read(read)
        if found is None or self._entry is None or self._compiler is None:
            return None
        known, outcome = found
        current = []
        for each in known:
            provenance = each.current(self._bare, self._compiler)
            if provenance is None:
                return None
            current.append(provenance)
        made = self._making.recall(current[-1].trace.key) if current else None
        if made is None:
            return None
        if tuple(current) != known:
            self._entry.write((current, outcome))
        return made, outcome

    def keep(self, units: Sequence[tuple[TranslationUnit, Trace]], outcome: Outcome) -> None:
        """Keep what became of the source: the last of these units. What was left out of it depends
        on the others, and on what these include.
        """
        if self._compiler is None or self._entry is None:
            return
        known: list[pipeline.Provenance] = []
        for unit, found in units:
            if self._making.compiler(unit) != (self._compiler, self._target):
                return
            provenance = pipeline.Provenance.of(unit, self._compiler, found)
            if provenance is None:
                return
            known = [other for other in known if not other.has_same_headers(provenance)]
            known.append(provenance)
        current = self._find_entry()
        if current is not None and current.key == self._entry.key:  # else a file has changed
            current.write((known, outcome))
