"""The syntax tree of CUDA C++ source, and where its nodes are in the user's source.

The source is parsed by tree-sitter's CUDA grammar, after
:mod:`kerneltk.cuda_cpp.syntax.preprocess` has taken away what belongs to the preprocessor.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from kerneltk.cuda_cpp.syntax.preprocess import Prepared, Word, closing_of

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_IDENTIFIERS = frozenset(
    ("identifier", "field_identifier", "type_identifier", "operator_name", "destructor_name")
)
_NAMES = _IDENTIFIERS | {"qualified_identifier", "template_function"}
_BODIES = frozenset(("function_definition", "field_declaration_list", "compound_statement"))
_LINE = re.compile(r"(\d+)(?:\s+\"(.*)\")?")
CLASSES = frozenset(("class_specifier", "struct_specifier", "union_specifier"))
SCOPES = frozenset(("translation_unit", "declaration_list"))
WRAPPERS = frozenset(("template_declaration", "linkage_specification", "friend_declaration"))
LOOPS = frozenset(("while_statement", "for_statement", "do_statement"))


@cache
def _parser() -> Parser:
    # Only who has a kernel in CUDA C++ needs it.
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cuda.language()))


@lru_cache(maxsize=8)  # as for `prepare`: each branch of a source once
def parse(plain: str) -> Node:
    """Return the syntax tree of C++ that is all ASCII, so that its bytes are its characters."""
    return _parser().parse(plain.encode("ascii")).root_node


def source_of(node: Node | None) -> str:
    """Return a node's source; nothing for none."""
    return (node.text or b"").decode("ascii") if node is not None else ""


def within(node: Node, enters: Callable[[Node], bool] = lambda _: True) -> Iterator[Node]:
    """Yield a node and what is in it, but for what is in those that it does not enter."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending += reversed(node.children) if enters(node) else ()


def around(node: Node | None) -> Iterator[Node]:
    """Yield a node and those that it is in, the innermost first."""
    while node is not None:
        yield node
        node = node.parent


def unwrapped(node: Node) -> Node:
    """Return the declaration inside of a template's, a linkage's or a friend's."""
    while node.type in WRAPPERS and node.named_children:
        node = node.named_children[-1]
    return node


class Lines:
    """The lines of a source as compilers count them.

    Parameters
    ----------
    name : str
        The file of the lines before the first ``#line`` that names one.
    """

    def __init__(self, prepared: Prepared, name: str = "") -> None:
        self._prepared = prepared
        # Lines that `#line` numbers anew: where it stands, what it adds, and the file's name.
        self._renumbered = [(0, 0, name)]
        for directive in prepared.directives:
            if directive.name == "line" and (found := _LINE.match(directive.argument)):
                shift = int(found[1]) - prepared.line_of(directive.start) - 1
                file = found[2] or self._renumbered[-1][2]
                self._renumbered.append((directive.start, shift, file))

    def location_of(self, offset: int) -> tuple[str, int]:
        """Return the file and the line of a character."""
        index = max(bisect_right(self._renumbered, offset, key=lambda part: part[0]) - 1, 0)
        _, shift, file = self._renumbered[index]
        return file, self._prepared.line_of(offset) + shift

    def lines_at(self, file: str, line: int) -> Iterator[tuple[int, int]]:
        """Yield the characters of each line that compilers call this one."""
        source = self._prepared.source
        ends = [start for start, _, _ in self._renumbered[1:]] + [len(source)]
        for (start, shift, name), end in zip(self._renumbered, ends, strict=True):
            number = line - shift
            first = self._prepared.line_of(start) + bool(start)  # behind its own line
            if name == file and first <= number <= self._prepared.line_of(end):
                begin = self._prepared.start_of_line(number)
                stop = source.find("\n", begin)
                yield begin, len(source) if stop < 0 else stop


@dataclass(slots=True)
class Scope:
    """What is around a declaration."""

    names: tuple[str, ...] = ()
    is_extern_c: bool = False
    template: tuple[str, ...] | None = None
    start: int = -1
    is_broken: bool = False  # whether the grammar made no sense of what is around it

    def qualified(self, name: str) -> str:
        """Return a name with its namespaces."""
        return "::".join((*filter(None, self.names), name))


class SourceTree:
    """The syntax tree of a source with one branch of each conditional.

    Parameters
    ----------
    words : list of Word
        As :meth:`Prepared.variants` yields them.
    """

    def __init__(self, prepared: Prepared, plain: str, words: list[Word]) -> None:
        self.prepared = prepared
        self.plain = plain
        self.words = words
        self.word_starts = [word.start for word in words]
        self.root = parse(plain)

    def slice(self, node: Node) -> str:
        """Return the source of a node, attributes included."""
        return self.prepared.shown[node.start_byte : node.end_byte]

    def last_name(self, node: Node | None) -> str:
        """Return what a name is without what it is in; empty for none."""
        return "" if node is None else last_name(self.slice(node))

    def last_names(self, nodes: Iterable[Node | None]) -> frozenset[str]:
        """Return the same of several names, but for those that are none."""
        return frozenset(self.last_name(node) for node in nodes if node is not None)

    def head_start(self, node: Node) -> int:
        """Return where a declaration begins: at the attributes right before it, if any."""
        start = node.start_byte
        index = bisect_left(self.word_starts, start)
        while index > 0:
            word = self.words[index - 1]
            if self.plain[word.start : start].strip():
                break
            start = word.start
            index -= 1
        return start

    def words_between(self, start: int, end: int) -> list[Word]:
        """Return the attributes that begin between two positions."""
        low = bisect_left(self.word_starts, start)
        return self.words[low : bisect_left(self.word_starts, end)]

    def namespace_names(self, node: Node) -> list[str]:
        """Return the names of a namespace definition; an empty one where it is anonymous."""
        name = node.child_by_field_name("name")
        if name is None:
            return [""]
        return [part.strip() for part in re.split(r"::(?:\s*inline\b)?", self.slice(name))]

    def around(self, position: int) -> Iterator[Node]:
        """Yield the nodes that a position is in, the innermost first."""
        return around(self.root.descendant_for_byte_range(position, position + 1))

    def characters(self, start: int, end: int) -> tuple[int, int]:
        """Return the characters in the source between two positions."""
        return self.prepared.start_of(start), self.prepared.end_of(end)

    def scope_at(self, position: int) -> tuple[Scope, list[Node]]:
        """Return the scope at a position, and the functions around it, the innermost first."""
        names: list[str] = []
        is_extern_c = is_decided = False
        functions: list[Node] = []
        for node in self.around(position):
            if node.type == "namespace_definition":
                names[:0] = self.namespace_names(node)
            elif node.type == "linkage_specification" and not is_decided:
                value = node.child_by_field_name("value")
                is_extern_c = value is not None and self.slice(value) == '"C"'
                is_decided = True
            elif node.type == "function_definition":
                functions.append(node)
        return Scope(tuple(names), is_extern_c), functions

    def is_outside(self, position: int) -> bool:
        """Return whether a position is in no function and no class."""
        return not any(node.type in _BODIES for node in self.around(position))

    def span(self, node: Node, scope: Scope) -> tuple[int, int]:
        """Return the characters in the source of a declaration, with what belongs to it."""
        begin = scope.start if scope.start >= 0 else self.head_start(node)
        end = node.end_byte
        behind = re.compile(r"\s*;").match(self.plain, end)
        if (node.type in CLASSES or node.type == "enum_specifier") and behind is not None:
            end = behind.end()
        return self.characters(begin, end)


def closing_parenthesis(source: str, opening: int) -> int:
    """Return the position behind the parenthesis that closes the one at `opening` in the same
    statement, or -1.
    """
    return closing_of(source, opening, ends=";{}") + 1 or -1


def closing_brace(source: str, before: int) -> int:
    """Return the position behind the body that begins after `before`, with blanks at most between
    the two; -1 if there is none.
    """
    if before < 0 or re.compile(r"\s*\{").match(source, before) is None:
        return -1
    return closing_of(source, before, "{}") + 1 or -1


def inner_declarator(node: Node) -> Node | None:
    """Return the declarator in a declarator: the array in a pointer to it, the name in an array."""
    inner = node.child_by_field_name("declarator")
    if inner is not None:
        return inner
    if node.type in (
        "reference_declarator",
        "parenthesized_declarator",
        "variadic_declarator",
        "attributed_declarator",
        "pointer_declarator",
    ):
        declarators = [
            c for c in node.named_children if "declarator" in c.type or c.type in _IDENTIFIERS
        ]
        return declarators[-1] if declarators else None
    return None


def function_declarator(node: Node | None) -> Node | None:
    """Return the part of a declaration that names a function and its parameters."""
    declarator = node.child_by_field_name("declarator") if node is not None else None
    while declarator is not None and declarator.type != "function_declarator":
        declarator = inner_declarator(declarator)
    return declarator


def declared_name(node: Node | None) -> Node | None:
    """Return the name that a declarator declares."""
    while node is not None and node.type not in _NAMES:
        node = inner_declarator(node)
    return node


def type_source(source: str) -> str:
    """Return a type as messages spell it."""
    source = collapse(re.sub(r"\b(?:register|typename)\b", " ", source))
    source = re.sub(r"\s*([*&])\s*", r"\1", source)
    source = re.sub(r"([*&])(?=\w)", r"\1 ", source)
    source = re.sub(r"(?<=[\w>])\(", " (", source)
    return re.sub(r"\s*(\[|\]|\)|,)", r"\1", source).strip()


def collapse(source: str) -> str:
    """Return a source on one line, with single blanks."""
    return " ".join(source.split())


def last_name(spelled: str) -> str:
    """Return a name without what it is in, and without template arguments."""
    return spelled.partition("<")[0].rpartition("::")[2].strip() or (
        re.sub(r"<[^<>]*>", "", spelled).rpartition("::")[2].strip()
    )
