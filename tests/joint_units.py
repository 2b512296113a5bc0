"""Generated kernels compiled many by one call of a compiler, for tests of tables of kernels.

A call of g++ takes 80 ms beside its kernel, which takes as long; one of NVRTC 25 ms or, with large
headers, 200.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kerneltk import pipeline
from kerneltk.backends import base
from kerneltk.backends.base import Compiler
from kerneltk.backends.host import precompiled, toolchain
from kerneltk.cache.derived import Entry
from kerneltk.core.artifacts import INCLUDE_DIRECTORY, ObjectCode, Target, TranslationUnit
from kerneltk.errors import CompileError

if TYPE_CHECKING:
    from .conftest import Once

_INCLUDES = re.compile(r"(?:\s*#include <[^>\n]+>\n)*")
_DEFINITION = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
# A header that is included behind the first line of code; and, of a short text, the host's compiler
# makes a second loop for such a kernel.
_COMPILED_ALONE = re.compile(r"^[ \t]*#[ \t]*include|\bthreadIdx\s*\.\s*y\b", re.MULTILINE)
# What a generated text adds to a template of the package has to stand outside of namespaces.
_OF_THE_PACKAGE = re.compile(r"^template <[^>]+>\nclass kerneltk::totals_of<.*;\n", re.MULTILINE)
# Overloads of the mathematical functions: in a namespace they would hide CUDA's own.
_OVERLOADS = re.compile(r"^KERNELTK_REAL_.*\n", re.MULTILINE)
_OVERLOAD = re.compile(r"KERNELTK_REAL_\w+(?:\([^()]*\))?")
_LONGEST = 64 << 10  # characters; g++ compiles very long texts with other options


class JointUnits:
    """Units of one backend, in groups that one call compiles; the texts of a group include the same
    headers, so none profits from what another one includes.

    Parameters
    ----------
    units : iterable of TranslationUnit
        Generated ones.
    target : str
        An architecture, or ``"host"``.
    most : int
        The largest group.
    """

    def __init__(self, units: Iterable[TranslationUnit], target: str, most: int = 40) -> None:
        self._target = target
        self._group_of: dict[str, list[TranslationUnit]] = {}
        like: defaultdict[object, list[TranslationUnit]] = defaultdict(list)
        for unit in units:
            head = _head(unit)
            if unit.source in self._group_of or _COMPILED_ALONE.search(unit.source, len(head)):
                continue
            # What the backend adds depends on the text, too.
            options = base.compiler_for(unit, target)[0].backend_options(unit)
            alike = replace(unit, source=head, entry="", exports=(), origins=(), name="")
            kind = alike, options
            group = like[kind]
            length = sum(len(other.source) for other in group) + len(unit.source)
            if len(group) == most or length > _LONGEST:
                group = like[kind] = []
            group.append(unit)
            self._group_of[unit.source] = group

    def prepare(self, unit: TranslationUnit, once: Once) -> None:
        """Leave the object code of a unit's group in the compile cache, where compiling finds it.

        Nothing is left of a group of which some unit does not compile: the test of each then
        compiles it alone, and the message names it.
        """
        group = self._group_of.get(unit.source, ())
        if len(group) > 1:
            sources = [member.source for member in group]
            once(("joint units", self._target, sources), lambda: self._compile(group))

    def _compile(self, group: Sequence[TranslationUnit]) -> bytes:
        whole = _joined(group)
        compiler, target = base.compiler_for(whole, self._target)
        try:
            code = _object_code(whole, group, compiler, target)
        except CompileError:
            if all(_compiles(unit, self._target) for unit in group):
                raise  # together alone: the way they are joined is wrong
            return b""
        for number, unit in enumerate(group):
            key = pipeline.key_of(unit, compiler, target)
            renamed = _renamed(unit, number)
            named = (
                (name, its[1]) for (name, _), its in zip(unit.exports, renamed.exports, strict=True)
            )
            own = replace(code, entry=renamed.entry, symbols=tuple(named))
            Entry("object code", key).put(own.to_bytes())
        return b""


_TOGETHER = 192  # cases whose units are made when the first of them is asked for


class JointCases:
    """The units of a table of cases, compiled in groups of neighbours.

    Parameters
    ----------
    samples : sequence of sequences
        Cases, each with a `name` of its own; those of different samples are compiled apart.
    units_of : callable
        Returns the units of a case for a backend, by any names.
    most : mapping
        The largest group, by backend.
    """

    def __init__(
        self,
        samples: Sequence[Sequence[Any]],
        units_of: Callable[[Any, str], Mapping[str, TranslationUnit]],
        most: Mapping[str, int] = MappingProxyType({"cuda": 16, "host": 8}),
    ) -> None:
        self._most = most
        self._units_of = units_of
        self._neighbours = {
            case.name: cases[first : first + _TOGETHER]
            for cases in samples
            for first in range(0, len(cases), _TOGETHER)
            for case in cases[first : first + _TOGETHER]
        }
        self._parts: dict[tuple[str, str], tuple[JointUnits, dict[str, Mapping[str, Any]]]] = {}

    def prepare(self, case: Any, which: str, backend: str, once: Once) -> None:
        """Leave the object code of one of a case's units in the compile cache, if there is one."""
        members = self._neighbours[case.name]
        key = members[0].name, backend
        if key not in self._parts:
            made = {member.name: self._units_of(member, backend) for member in members}
            units = (unit for own in made.values() for unit in own.values())
            target = "sm_90" if backend == "cuda" else "host"
            self._parts[key] = JointUnits(units, target, self._most[backend]), made
        joint, made = self._parts[key]
        if which in made[case.name]:
            joint.prepare(made[case.name][which], once)


def _object_code(
    whole: TranslationUnit, group: Sequence[TranslationUnit], compiler: Compiler, target: Target
) -> ObjectCode:
    if whole.backend != "host" or whole.raw:
        return compiler.compile(whole, target)
    # As the host backend compiles a generated loop, but for the number of its entry points.
    library, log = toolchain.build(
        "unit.cpp",
        whole.source,
        (
            *compiler.backend_options(whole),
            *toolchain.host_options(whole.options),
            f"-I{INCLUDE_DIRECTORY}",
        ),
        exported=[_renamed(unit, number).entry for number, unit in enumerate(group)],
        prelude=precompiled.prelude_of(whole.source),
    )
    if library is None:
        raise CompileError(log, whole.source, log)
    return ObjectCode(target, "shared-library", library, whole.entry)


def _head(unit: TranslationUnit) -> str:
    found = _INCLUDES.match(unit.source)
    assert found is not None
    return found[0]


def _compiles(unit: TranslationUnit, architecture: str) -> bool:
    compiler, target = base.compiler_for(unit, architecture)
    try:
        compiler.compile(unit, target)
    except CompileError:
        return False
    return True


def _renamed(unit: TranslationUnit, number: int) -> TranslationUnit:
    """Return a unit with other names of what has C linkage."""
    end = f"_case{number}"
    source = unit.source
    for name in {unit.entry, *chain.from_iterable(unit.exports)} - {""}:
        source = re.sub(rf"(?<![\w:]){name}\b", name + end, source)
    exports = tuple((name + end, symbol + end) for name, symbol in unit.exports)
    return replace(unit, source=source, entry=unit.entry and unit.entry + end, exports=exports)


def _joined(group: Sequence[TranslationUnit]) -> TranslationUnit:
    """Return one unit of several, each in a namespace of its own."""
    units = [_renamed(unit, number) for number, unit in enumerate(group)]
    head = _head(units[0])
    declared = (line for unit in units for line in _OVERLOADS.findall(unit.source))
    overloads = dict.fromkeys(chain.from_iterable(map(_OVERLOAD.findall, declared)))
    parts = [head, *(f"{overload}\n" for overload in overloads)]
    for number, unit in enumerate(units):
        body = _OVERLOADS.sub("", unit.source.removeprefix(head))
        for lists in _OF_THE_PACKAGE.findall(body):
            own = re.sub(r"(?<!::)\b(_type_reduce|_kt_lists)\b", rf"case{number}::\1", lists)
            body = body.replace(lists, f"}}\n{own}namespace case{number} {{\n")
        undefined = "".join(f"#undef {name}\n" for name in _DEFINITION.findall(body))
        parts.append(f"namespace case{number} {{\n{body}\n}}\n{undefined}")
    exports = tuple(export for unit in units for export in unit.exports)
    return replace(units[0], source="".join(parts), exports=exports)
