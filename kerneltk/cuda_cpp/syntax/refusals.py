"""Leaves out of CUDA C++ source what a compiler for CPU cores has refused, function by function.

The compiler's errors say where. In place of a function's body stands what ends a launch that comes
there and says why; what is refused outside of functions becomes blank. Lines stay. A mistake that
has nothing to do with what CPU cores lack is none to leave out: then nothing is.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kerneltk.core.lexer import with_edits
from kerneltk.core.records import cached_property
from kerneltk.cuda_cpp.syntax.blanking import blanked
from kerneltk.cuda_cpp.syntax.declarations import CompilerErrors, Place, Refusals, Refused
from kerneltk.cuda_cpp.syntax.preprocess import Prepared, included_name, prepare
from kerneltk.cuda_cpp.syntax.tree import (
    CLASSES,
    SCOPES,
    WRAPPERS,
    Lines,
    Scope,
    SourceTree,
    declared_name,
    function_declarator,
    unwrapped,
)
from kerneltk.cuda_cpp.syntax.unsupported import unsupported_in_macro, unsupported_words

if TYPE_CHECKING:
    from tree_sitter import Node

    from kerneltk.cuda_cpp.syntax.declarations import UnsupportedKind

_NAME = re.compile(r"[^\W\d]\w*")
_COMPUTED = re.compile(r"\bconst(?:expr|eval)\b(?!\s*\()")
_DECLARATIONS = CLASSES | {
    "alias_declaration", "declaration", "enum_specifier", "expression_statement",
    "function_definition", "linkage_specification", "namespace_alias_definition",
    "template_declaration", "template_instantiation", "type_definition", "using_declaration",
}  # fmt: skip
_HEADER_ERROR = re.compile(r"#?(?:error )?\"?(<[^<>]+> cannot run on CPU cores\b.*)")
# A header of CUDA's libraries for devices that there is no stand-in for.
_LIBRARY_HEADER = re.compile(r"(?:cub|thrust|cuda|nv|nvcuda|cutlass|cute)/[\w./]+")
_NO_HEADER = re.compile(
    rf"(?:fatal error: )?'?({_LIBRARY_HEADER.pattern})'?"
    r"(?:: No such file| file not found)"
)


class _Cause(NamedTuple):
    kind: UnsupportedKind | None
    offset: int
    header: str = ""
    word: str = ""  # as `Refused` has it


def with_refusals(
    source: str,
    name: str,
    known: CompilerErrors,
    new: CompilerErrors,
    has_header: Callable[[str], bool] = lambda name: True,
) -> tuple[Refusals, CompilerErrors] | None:
    r"""Return a source without the functions in which a compiler has found errors, and the errors
    that they are left out for; None where nothing more is to be left out, or a new error is not due
    to what CPU cores lack.

    An error may come of another one. So those whose functions themselves have what CPU cores lack
    come first; only if there are none, others are taken that come of what is left out already.

    Parameters
    ----------
    name : str
        The file's name.
    known : CompilerErrors
        What a call before has returned.
    new : CompilerErrors
        What the compiler has said of the source that came with it.
    has_header : callable
        Whether CPU cores have a header of CUDA's libraries, by its name.

    Examples
    --------
    >>> source = '__global__ void f() { asm("ret;"); }\n__global__ void g() {}\n'
    >>> unlocated = CompilerErrors(has_unlocated=True)
    >>> found, _ = with_refusals(source, "k.cu", CompilerErrors(), unlocated)
    >>> [(refused.name, refused.kind) for refused in found.functions]
    [('f', 'inline PTX')]
    """
    finder = _Finder(source, name, has_header)
    if known.has_unlocated:
        finder.refuse_assembly()
    for place in known.places:
        finder.read_place(Place(*place), is_strict=False)
    before = finder.count
    if new.has_unlocated:
        finder.refuse_assembly()
    used = [place for place in new.places if finder.read_place(Place(*place), is_strict=True)]
    if finder.count == before:
        used = [place for place in new.places if finder.read_place(Place(*place), is_strict=False)]
        if len(used) < len(new.places) or finder.count == before:
            return None
    has_unlocated = known.has_unlocated or new.has_unlocated
    errors = CompilerErrors((*known.places, *used), has_unlocated)
    return Refusals(finder.edited(), tuple(finder.refused.values())), errors


class _Finder:
    """Finds what is to be left out.

    Attributes
    ----------
    refused : dict of (int, int) to Refused
        The functions, by the characters of their bodies.
    """

    def __init__(self, source: str, name: str, has_header: Callable[[str], bool]) -> None:
        self._has_header = has_header
        self.prepared = prepare(source)
        self.lines = Lines(self.prepared, name)
        self.refused: dict[tuple[int, int], Refused] = {}
        self._blank: set[tuple[int, int]] = set()
        self._missing: _Cause | None = None  # what other code may miss by now
        # Names that stand for what CPU cores lack: macros, and what is left out for that.
        self._names = dict(_macros(self.prepared))
        self._trees = [SourceTree(self.prepared, *part) for part in self.prepared.variants()]
        self._functions = {id(tree): _Functions(tree) for tree in self._trees}

    @property
    def count(self) -> int:
        """How much is left out."""
        return len(self.refused) + len(self._blank)

    def read_place(self, place: Place, is_strict: bool) -> bool:
        """Leave out what an error is due to; False for another mistake.

        Parameters
        ----------
        is_strict : bool
            Whether it counts for nothing what is left out already.
        """
        return self._read_header(place) or self._read_code(place, is_strict)

    def _read_header(self, place: Place) -> bool:
        """Leave out the line that includes a header that cannot be had."""
        lines = list(self.lines.lines_at(place.file, place.line))
        found = _HEADER_ERROR.match(place.message) or _NO_HEADER.match(place.message)
        missing = self._library_in(lines)  # in which the error is
        if found is not None and found.re is _NO_HEADER:
            missing = found[1]
        elif found is None and missing is None:
            return False
        reason = "" if found is None else found[1]
        if missing is not None:
            reason = f"<{missing}> cannot run on CPU cores: the host backend of kerneltk has none."
            # All of them: a compiler ends at the first one.
            self._blank.update((start, end) for _, start, end in self._missing_headers)
        for start, end in lines:
            self._blank.add((start, end))
            self._missing = self._missing or _Cause("header", start, reason)
        return True

    def _library_in(self, lines: list[tuple[int, int]]) -> str | None:
        """Return the header that CPU cores do not have which lines include; None for none."""
        for name, start, end in self._missing_headers:
            if any(first < end and start < last for first, last in lines):
                return name
        return None

    @cached_property
    def _missing_headers(self) -> list[tuple[str, int, int]]:
        """The headers of CUDA's libraries that are included and not there, with the characters of
        their lines.
        """
        included = ((included_name(d), d.start, d.end) for d in self.prepared.directives)
        return [
            (named[0], start, end)
            for named, start, end in included
            if named and _LIBRARY_HEADER.fullmatch(named[0]) and not self._has_header(named[0])
        ]

    def refuse_assembly(self) -> None:
        """Refuse all functions with assembly, one of which an assembler does not know."""
        for tree in self._trees:
            for function in self._functions[id(tree)].nodes:
                cause = self._cause_in(tree, function)
                if cause is not None and cause.kind == "inline PTX":
                    self._refuse(tree, function, cause, "")

    def _read_code(self, place: Place, is_strict: bool) -> bool:
        """Leave out the function or the declaration that an error is in."""
        is_known = False
        for start, end in self.lines.lines_at(place.file, place.line):
            if place.column:
                start = min(start + place.column - 1, end - 1)
                end = start + 1
            first, last = self.prepared.shown_at(start), self.prepared.shown_at(end - 1) + 1
            for tree in self._trees:
                is_known |= self._leave_out(tree, first, last, place, is_strict)
        return is_known

    def _leave_out(
        self, tree: SourceTree, first: int, last: int, place: Place, is_strict: bool
    ) -> bool:
        """Leave out what some characters belong to: of several functions those that need what CPU
        cores lack.
        """
        functions = self._functions[id(tree)].between(first, last)
        inner = [f for f in functions if not any(_is_around(f, other) for other in functions)]
        inner = [f for f in inner if self._cause_in(tree, f)] or inner
        if not inner:
            blank = len(tree.plain[first:last]) - len(tree.plain[first:last].lstrip())
            item = self._item_at(tree, min(first + blank, last - 1))
            return item is not None and self._leave_out_node(
                tree, item, item.end_byte, place, is_strict
            )
        return all(self._leave_out_node(tree, node, first, place, is_strict) for node in inner)

    @staticmethod
    def _item_at(tree: SourceTree, position: int) -> Node | None:
        """Return the declaration at namespace scope around a position."""
        for node in tree.around(position):
            if node.parent is not None and node.parent.type in SCOPES:
                return node if node.type in _DECLARATIONS else None
        return None

    def _leave_out_node(
        self, tree: SourceTree, node: Node, first: int, place: Place, is_strict: bool
    ) -> bool:
        cause = self._cause_in(tree, node)
        if cause is None and self._missing is not None and not is_strict:
            start, _ = next(self.lines.lines_at(place.file, place.line))
            missing = self._missing
            kind = missing.kind if missing.header or missing.word else None
            cause = _Cause(kind, start, missing.header, missing.word)
        if cause is None:
            return False
        body = node.child_by_field_name("body")
        is_function = node.type == "function_definition"
        if is_function and body is not None and (body.start_byte <= first or not place.column):
            self._refuse(tree, node, cause, place.message)
            return True
        return self._remove(
            tree, self._item_at(tree, node.start_byte) or node, cause, place.message
        )

    def _cause_in(self, tree: SourceTree, node: Node) -> _Cause | None:
        """Return the first thing in a declaration that CPU cores lack; None if there is none."""
        for kind, position, own in unsupported_words(tree.plain, node.start_byte, node.end_byte):
            return _Cause(kind, self.prepared.start_of(position), word=_shown(kind, own))
        for word in tree.words_between(tree.head_start(node), node.end_byte):
            if word.name == "__cluster_dims__":
                return _Cause("cluster", self.prepared.start_of(word.start))
        for use in _NAME.finditer(tree.plain, node.start_byte, node.end_byte):
            if use[0] in self._names:
                return self._names[use[0]]
        return None

    def _described(self, tree: SourceTree, node: Node, cause: _Cause, reason: str) -> Refused:
        scope, _ = tree.scope_at(node.start_byte)
        name = declared_name(function_declarator(node))
        body = node.child_by_field_name("body")
        words = tree.words_between(
            tree.head_start(node), body.start_byte if body else node.end_byte
        )
        return Refused(
            scope.qualified(tree.slice(name)) if name is not None else "",
            any(word.name == "__global__" for word in words),
            cause.kind,
            reason,
            cause.header,
            *self.lines.location_of(cause.offset),
            cause.word,
        )

    def _refuse(self, tree: SourceTree, node: Node, cause: _Cause, reason: str) -> None:
        body = node.child_by_field_name("body")
        if body is not None:
            span = tree.characters(body.start_byte, body.end_byte)
            self.refused.setdefault(span, self._described(tree, node, cause, reason))
            # What ends a launch is no constant.
            for word in _COMPUTED.finditer(tree.plain, tree.head_start(node), body.start_byte):
                self._blank.add(tree.characters(*word.span()))

    def _remove(self, tree: SourceTree, node: Node, cause: _Cause, reason: str) -> bool:
        """Leave a declaration out, with its template's head; others may miss it. False for a
        specialization, in whose place another one would be taken.
        """
        inner = unwrapped(node)
        named = inner.child_by_field_name("name") if inner.type in CLASSES else None
        if inner.type in WRAPPERS or (named is not None and named.type == "template_type"):
            return False
        declared = tuple(_declared_by(tree, inner)) if cause.word else ()
        self._names.update((name, cause) for name in declared)
        if not declared:
            self._missing = self._missing or cause
        span = tree.span(node, Scope())
        self._blank.add(span)
        function = inner if inner.type == "function_definition" else None
        name = declared_name(function_declarator(function))
        if name is not None:
            self.refused.setdefault(span, self._described(tree, inner, cause, reason))
            # Another function of the name must not be called instead.
            last = tree.last_name(name)
            for other in self._functions[id(tree)].by_name[last]:
                if other != inner:
                    self._refuse(tree, other, cause, reason)
        return True

    def edited(self) -> str:
        """Return the source without what was found."""
        source = self.prepared.source
        edits = [(start, end, blanked(source[start:end])) for start, end in self._blank]
        for (start, end), function in self.refused.items():
            if (start, end) not in self._blank:
                rest = blanked(source[start + 1 : end - 1])
                edits.append((start, end, f"{{ {_refusal(function)}{rest}}}"))
        return with_edits(source, sorted(edits))


def _refusal(function: Refused) -> str:
    """Return the statement that ends a launch."""
    said = json.dumps(f"function '{function.name}'", ensure_ascii=False)
    lacking = json.dumps(lack_of(function.kind, function.word), ensure_ascii=False)
    file = json.dumps(function.file, ensure_ascii=False)
    return f"::kerneltk::grid::refused({said}, {lacking}, {file}, {function.line});"


_PLURALS = {"launch from a kernel": "such launches from kernels", "cluster": "clusters",
            "texture": "textures", "surface": "surfaces",
            "asynchronous copy": "asynchronous copies"}  # fmt: skip


def _shown(kind: UnsupportedKind, word: str) -> str:
    return word if kind == "CUB" else ""


def lack_of(kind: UnsupportedKind | None, word: str = "") -> str:
    """Return the name of a construct that CPU cores lack, by its kind or its name in CUB."""
    if kind == "CUB":
        return f"'cub::{word}'"
    if kind is None or kind == "header":
        return "what it needs"
    return _PLURALS.get(kind, kind)


def _macros(prepared: Prepared) -> Iterator[tuple[str, _Cause]]:
    """Yield the macros that stand for what CPU cores lack, themselves or by others."""
    known: dict[str, _Cause] = {}
    replacements: dict[str, str] = {}
    for directive in prepared.directives:
        found = _NAME.match(directive.argument) if directive.name == "define" else None
        if found is not None:
            replacements[found[0]] = directive.argument[found.end() :]
            if unsupported := unsupported_in_macro(directive.argument):
                kind, word = unsupported
                known[found[0]] = _Cause(kind, directive.start, word=_shown(kind, word))
    count = -1
    while count < len(known):
        count = len(known)
        for name, replacement in replacements.items():
            inner = next((n for n in _NAME.findall(replacement) if n in known), None)
            if name not in known and inner is not None:
                known[name] = known[inner]
    return iter(known.items())


def _declared_by(tree: SourceTree, node: Node) -> Iterator[str]:
    """Yield the names that a declaration at namespace scope declares."""
    declared: Sequence[Node | None]
    if node.type == "using_declaration":
        is_one = tree.slice(node).split()[1:2] != ["namespace"]
        declared = node.named_children[-1:] if is_one else []
    elif node.type == "alias_declaration" or node.type in CLASSES:
        declared = node.children_by_field_name("name")
    else:
        declared = list(map(declared_name, node.children_by_field_name("declarator")))
    yield from filter(_NAME.fullmatch, tree.last_names(declared))


def _is_around(outer: Node, inner: Node) -> bool:
    """Return whether a function is inside of another."""
    size = outer.end_byte - outer.start_byte
    is_within = outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte
    return is_within and inner.end_byte - inner.start_byte < size


class _Functions:
    """The functions of a tree. A compiler may report hundreds of errors in a source with tens of
    thousands of functions, so the tree is walked once.
    """

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self.nodes: list[Node] = []
        stack = [tree.root]
        while stack:
            node = stack.pop()
            if node.type == "function_definition":
                self.nodes.append(node)
            stack += node.named_children
        bounds = np.array([(node.start_byte, node.end_byte) for node in self.nodes], np.int64)
        self._starts, self._ends = bounds.reshape(-1, 2).T

    @cached_property
    def by_name(self) -> defaultdict[str, list[Node]]:
        """The functions by their names, without what these are qualified with."""
        found: defaultdict[str, list[Node]] = defaultdict(list)
        for node in self.nodes:
            name = declared_name(function_declarator(node))
            if name is not None:
                found[self._tree.last_name(name)].append(node)
        return found

    def between(self, first: int, last: int) -> list[Node]:
        """Return the functions that have some of the bytes from `first` to before `last`."""
        found = np.flatnonzero((self._starts < last) & (first < self._ends))
        return [self.nodes[k] for k in found]
