"""The planted faults, and how one is put into a copy of the package.

Each file of `planted` has blocks like this one. The lines behind ``-`` are looked for inside of
the function (``-`` instead of a name: in the whole file), so that a mutant survives edits around
it. A single line may be a part of one; several are whole lines. The lines behind ``+`` take their
indentation.

::

    [parser-default-of-raw] signature/parameters.py _parse_one: dropped guard
    - if raw or not is_const:
    + if not is_const:
    = unit/signature/test_parameters.py::test_defaults
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent

PLANTED = Path(__file__).parent / "planted"
_HEAD = re.compile(r"\[([\w-]+)\] (\S+) (.+): ([^:]+)")


class DoesNotApplyError(Exception):
    """The line of a mutant is gone, or is there more than once."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: `file` is below the package, `tests` are pytest's arguments, below `tests`."""

    name: str
    file: str
    function: str
    kind: str
    original: tuple[str, ...]
    replacement: tuple[str, ...]
    tests: tuple[str, ...]

    def applied_to(self, source: str) -> str:
        """Return a file's source with the fault. Raises DoesNotApplyError."""
        lines = source.split("\n")
        found = [
            (first, count, begin, end)
            for begin, end in _spans(self.file, source, self.function)
            for first, count in self._matches(lines, begin, end)
        ]
        if len(found) != 1:
            number = "is not there" if not found else f"is there {len(found)} times"
            raise DoesNotApplyError(
                f"{self.name}: its line {number} in {self.function} of {self.file}: "
                f"write it anew.\n  {self.original[0]}"
            )
        first, count, begin, end = found[0]
        added = self._replaced(lines[first])
        lines[first : first + count] = added
        if self.file.endswith(".py"):
            ast.parse(dedent("\n".join(lines[begin : end + len(added) - count])))
        changed = "\n".join(lines)
        return changed

    def _matches(self, lines: list[str], begin: int, end: int) -> Iterator[tuple[int, int]]:
        if len(self.original) == 1:
            for number in range(begin, end):
                for _ in range(lines[number].count(self.original[0])):
                    yield number, 1
            return
        count = len(self.original)
        wanted = [line.strip() for line in self.original]
        for number in range(begin, end - count + 1):
            if [line.strip() for line in lines[number : number + count]] == wanted:
                yield number, count

    def _replaced(self, first: str) -> list[str]:
        if len(self.original) == 1 and len(self.replacement) == 1:
            return [first.replace(self.original[0], self.replacement[0])]
        indentation = first[: len(first) - len(first.lstrip())]
        return [indentation + line for line in self.replacement]


def _spans(file: str, source: str, function: str) -> Iterator[tuple[int, int]]:
    """Yield the lines (first, behind the last) of a function: in Python by its qualified name, in
    other files from the line that has these words to the closing brace of its indentation.
    """
    lines = source.split("\n")
    if function == "-":
        yield 0, len(lines)
    elif file.endswith(".py"):
        yield from _functions(_parsed(source), function.split("."))
    else:
        for begin, line in enumerate(lines):
            if function in line:
                depth = len(line) - len(line.lstrip())
                closing = (
                    number
                    for number in range(begin + 1, len(lines))
                    if lines[number].startswith("}", depth) and not lines[number][:depth].strip()
                )
                yield begin, next(closing, len(lines) - 1) + 1


def _functions(tree: ast.AST, names: list[str]) -> Iterator[tuple[int, int]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name != names[0]:
                continue
            if len(names) > 1:
                yield from _functions(node, names[1:])
            else:
                assert node.end_lineno is not None
                yield node.lineno - 1, node.end_lineno
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _functions(node, names)


def is_test(directory: Path, name: str) -> bool:
    """Whether there is a test of pytest's name below a directory: a file, or what it defines."""
    file, *names = name.partition("[")[0].split("::")
    path = directory / file
    if not path.exists() or not names:
        return path.exists()
    tree = _parsed(path.read_text(encoding="utf-8"))
    assigned = (node for node in tree.body if isinstance(node, ast.Assign))  # a TestCase
    targets = {ast.unparse(target) for node in assigned for target in node.targets}
    return names[0] in targets or any(_functions(tree, names))


@cache
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def read_mutants(directory: Path = PLANTED) -> dict[str, Mutant]:
    """Return all mutants by name. Raises ValueError where a block is not one."""
    found: dict[str, Mutant] = {}
    for path in sorted(directory.glob("*.txt")):
        for block in re.split(r"\n\s*\n", path.read_text(encoding="utf-8").strip()):
            mutant = _read(block)
            if mutant.name in found:
                raise ValueError(f"{path.name}: two mutants are named '{mutant.name}'")
            found[mutant.name] = mutant
    return found


def _read(block: str) -> Mutant:
    head, *lines = block.split("\n")
    match = _HEAD.fullmatch(head)
    groups = {
        mark: tuple(line[2:] for line in lines if line[:1] == mark and line[1:2] in (" ", ""))
        for mark in "-+="
    }
    if (
        match is None
        or not groups["-"]
        or not groups["="]
        or sum(map(len, groups.values())) < len(lines)
    ):
        raise ValueError(f"not a mutant:\n{block}")
    tests = tuple(" ".join(groups["="]).split())
    return Mutant(*match.groups(), groups["-"], groups["+"], tests)
