"""Leaves out code of the host in which a compiler for device code has found errors.

What names the host's libraries is found by reading; what only uses what is behind those names is
not. A compiler's errors say where the rest is. nvcc gives a function without an annotation to the
host, and so no kernel needs it: its body becomes ``= delete``, an error for a call in device code.
Types and variables of the host go as a whole. Errors in functions for devices are the user's.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kerneltk.core.lexer import with_edits
from kerneltk.cuda_cpp.syntax.blanking import blanked
from kerneltk.cuda_cpp.syntax.declarations import CompilerErrors, Place
from kerneltk.cuda_cpp.syntax.host_code import (
    ASKS,
    CONSTEXPR,
    HOST_ONLY,
    asked_about,
    has_unknown_macro,
)
from kerneltk.cuda_cpp.syntax.preprocess import prepare
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
    within,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_ITEMS = CLASSES | {
    "alias_declaration", "concept_definition", "declaration", "enum_specifier",
    "expression_statement", "namespace_alias_definition", "template_instantiation",
    "type_definition", "using_declaration",
}  # fmt: skip
_AROUND = WRAPPERS | {"namespace_definition", "declaration"}
_VIRTUAL = re.compile(r"\b(?:virtual|override|final)\b")
# What is declared twice, where to leave one of the two out would choose the other, and what users
# assert.
_MEANT = re.compile(
    r"already been (?:defined|declared)|redefinition|conflicting|redeclar|ambiguous"
    r"|assert(?:ion)? failed"
)
# A class that is named with its keyword and not defined: declared ahead, as a friend, or used so.
_BARE = re.compile(r"\b(?:struct|class|union)\s+(\w+)\b(?!\s*(?:final\s*)?(?:::|[{:<,>=]|\.\.\.))")
_ASKS_OF_CLASSES = re.compile(r"\bis_\w*(?:constructible|convertible)")
_DEDUCED = re.compile(r"\bauto\b(?!.*->)", re.DOTALL)
_MEMORY = frozenset(("__device__", "__constant__", "__shared__", "__managed__"))


def without_refused_host_code(source: str, name: str, errors: CompilerErrors) -> str | None:
    r"""Return a source without the code of the host that a compiler has found errors in; None where
    no error is in such code.

    Parameters
    ----------
    source : str
        The source with the user's headers, which ``#line`` lines name.
    name : str
        The file of its first lines.
    errors : CompilerErrors
        What the compiler has said of it.

    Examples
    --------
    >>> source = "int f() { return g(); }\n__global__ void k() {}\n"
    >>> errors = CompilerErrors((("k.cu", 1, 18, "identifier \"g\" is undefined"),))
    >>> without_refused_host_code(source, "k.cu", errors)
    'int f() = delete;     \n__global__ void k() {}\n'
    """
    finder = _Finder(source, name)
    for place in errors.places:
        finder.read(Place(*place))
    return finder.edited() if finder.edits else None


class _Finder:
    """Finds what is to be left out.

    Attributes
    ----------
    edits : dict of (int, int) to str
        What stands in the place of some characters.
    """

    def __init__(self, source: str, name: str) -> None:
        self.prepared = prepare(source)
        self.edits: dict[tuple[int, int], str] = {}
        self._lines = Lines(self.prepared, name)
        self._trees = [SourceTree(self.prepared, *part) for part in self.prepared.variants()]
        self._bare_classes: dict[SourceTree, defaultdict[str, list[int]]] = {}

    def read(self, place: Place) -> None:
        """Leave out the code of the host that an error is in."""
        for start, end in self._lines.lines_at(place.file, place.line):
            blank = len(self.prepared.source[start:end]) - len(
                self.prepared.source[start:end].lstrip()
            )
            at = min(start + (place.column - 1 if place.column else blank), end - 1)
            position = self.prepared.shown_at(max(at, start))
            for tree in self._trees:
                if not tree.plain[position : position + 1].isspace():  # is in this branch
                    self._leave_out(tree, position, place)

    def _leave_out(self, tree: SourceTree, position: int, place: Place) -> None:
        around = [node for node in tree.around(position) if node.type != "translation_unit"]
        functions = [found for found in around if found.type == "function_definition"]
        if functions:
            self._leave_out_function(tree, functions[-1], position)
            return
        inner = around[: next((n for n, a in enumerate(around) if a.type in SCOPES), len(around))]
        item = next((found for found in reversed(inner) if found.type in _ITEMS), None)
        if item is not None and not _MEANT.search(place.message):
            self._leave_out_item(tree, item, inner, position)

    def _leave_out_function(self, tree: SourceTree, node: Node, position: int) -> None:
        """Delete a function of the host, or leave it out."""
        declarator = function_declarator(node)
        named = declared_name(declarator)
        direct = node.child_by_field_name("declarator")
        if direct is not None and direct.type == "operator_cast":
            declarator = named = direct
        body = node.child_by_field_name("body")
        start = tree.head_start(node)
        head_end = body.start_byte if body is not None else node.end_byte
        if declarator is None or named is None or tree.words_between(start, head_end):
            return
        head = tree.plain[start : named.start_byte]
        spelled = tree.slice(named)
        is_member = named.type == "qualified_identifier" or named.type == "destructor_name"
        untyped = node.child_by_field_name("type") is None
        if CONSTEXPR.search(head) or (has_unknown_macro(head) and not untyped):
            return
        behind = tree.plain[declarator.end_byte : head_end]
        begin = declarator.end_byte
        if re.match(r"\s*:(?!:)", behind) is None and body is not None:
            begin = body.start_byte
        is_inside = body is not None and position >= begin
        if not is_inside or is_member or spelled.startswith("~"):
            self._remove(tree, node)
            return
        whole = tree.characters(begin, node.end_byte)
        if _VIRTUAL.search(head) or _VIRTUAL.search(behind):
            instead = "{ __trap(); }"
        elif _DEDUCED.search(head + behind) is None and _is_asked_about(tree, spelled, untyped):
            instead = f"{HOST_ONLY};"
        else:
            instead = "= delete;"
        self.edits[whole] = instead

    def _leave_out_item(
        self, tree: SourceTree, item: Node, inner: list[Node], position: int
    ) -> None:
        """Leave out a declaration of the host, or the member of a class that an error is in.

        Device code that names it must not find another one of the name, further out or in a library
        that a ``using`` directive opens. So an empty namespace takes it: each use is an error.
        """
        words = {word.name for word in tree.words_between(tree.head_start(item), item.end_byte)}
        if item.type in CLASSES:
            member = next((m for m in inner if m.type == "field_declaration"), None)
            if member is not None and self._leave_out_member(tree, item, member):
                return
            named = item.child_by_field_name("name")
            if words or named is None:
                return  # its members are where they are
            if named.type == "type_identifier":
                self._leave_out_class(tree, item, named)
            elif named.start_byte <= position < named.end_byte:
                self._remove(tree, item)
            else:
                self._leave_out_template(tree, item, named)
        elif words.isdisjoint(_MEMORY) and "__global__" not in words:
            names = _names_of(tree, item)
            if names is not None:  # another one would be taken in its place
                self._remove(tree, item, _reserved(names))

    def _leave_out_member(self, tree: SourceTree, item: Node, member: Node) -> bool:
        """Delete a member function that a class declares; False for no such function, and where
        that would choose another one.
        """
        declarator = function_declarator(member)
        if declarator is None:
            return False
        named = declared_name(declarator)
        if tree.words_between(tree.head_start(member), member.end_byte) or named is None:
            return True  # the user's
        if named.type != "field_identifier":
            return False
        name = tree.slice(named)
        if _is_asked_about(tree, name, False):
            return True  # the answer would be another one
        body = item.child_by_field_name("body")
        others = body.named_children if body is not None else []
        for other in others:
            other_name = declared_name(function_declarator(unwrapped(other)))
            if other != member and other_name is not None and tree.slice(other_name) == name:
                return False  # a call of this one would be one of that
        instead = f"void {name}(...) = delete;"
        if _VIRTUAL.search(tree.plain, member.start_byte, member.end_byte):
            instead += f" virtual void _kt_host_{member.start_byte}() {{}}"
        self._remove(tree, member, instead)
        return True

    def _leave_out_class(self, tree: SourceTree, item: Node, named: Node) -> None:
        """Leave out a class, or its members alone where it is declared once more."""
        body = item.child_by_field_name("body")
        bare = self._bare(tree).get(tree.slice(named), [])
        if all(item.start_byte <= position < item.end_byte for position in bare):
            self._remove(tree, item, _reserved((tree.slice(named),)))
        elif body is not None and not any(c.type == "base_class_clause" for c in item.children):
            # With a base class it would be converted to another type than before.
            self.edits[tree.characters(named.end_byte, body.end_byte)] = ""

    def _leave_out_template(self, tree: SourceTree, item: Node, named: Node) -> None:
        """Leave out a template of a class with what specializes it: without one of those another
        one would be taken in its place.
        """
        first = named.child_by_field_name("name")
        if first is None or first.type != "type_identifier":
            return
        name, scope = tree.slice(first), tree.scope_at(item.start_byte)[0].names
        found = [
            node
            for node in _classes(tree.root)
            if _own_name(tree, node) == name and tree.scope_at(node.start_byte)[0].names == scope
        ]
        if any(tree.words_between(tree.head_start(node), node.end_byte) for node in found):
            return
        for number, node in enumerate(found):
            self._remove(tree, node, "" if number else _reserved((name,)))

    def _bare(self, tree: SourceTree) -> dict[str, list[int]]:
        """Return where classes are named with their keyword and not defined, by their names."""
        if tree not in self._bare_classes:
            found = self._bare_classes[tree] = defaultdict(list)
            for use in _BARE.finditer(tree.plain):
                found[use[1]].append(use.start())
        return self._bare_classes[tree]

    def _remove(self, tree: SourceTree, node: Node, instead: str = "") -> None:
        """Leave out a declaration with its template's head; something stands in its place."""
        outer = node
        while outer.parent is not None and outer.parent.type in WRAPPERS:
            outer = outer.parent
        start, end = tree.span(node, Scope(start=tree.head_start(outer)))
        self.edits[start, end] = instead

    def edited(self) -> str:
        """Return the source without what was found."""
        source = self.prepared.source
        edits: list[tuple[int, int, str]] = []
        # Of two that begin together the longer one is around the other.
        for (start, end), instead in sorted(self.edits.items(), key=lambda e: (e[0][0], -e[0][1])):
            rest = blanked(source[start:end])
            same = rest[: len(instead)]
            if "\n" not in same and not same.strip():
                rest = rest[len(instead) :]
            edits.append((start, end, instead + rest))
        return with_edits(source, edits)


def _is_asked_about(tree: SourceTree, name: str, is_untyped: bool) -> bool:
    """Return whether templates may ask whether a function can be called; `is_untyped` for
    constructors and conversions.
    """
    if is_untyped and _ASKS_OF_CLASSES.search(tree.plain):
        return True
    if name.isidentifier():
        return name in asked_about(tree.plain)
    return ASKS.search(tree.plain) is not None


def _classes(root: Node) -> Iterator[Node]:
    """Yield the classes at namespace scope, and where they are declared."""
    nodes = within(root, lambda node: node.type in SCOPES or node.type in _AROUND)
    yield from (node for node in nodes if node.type in CLASSES)


def _own_name(tree: SourceTree, node: Node) -> str:
    """Return the name of a class without template arguments; empty for one of another scope."""
    named = node.child_by_field_name("name")
    if named is not None and named.type == "template_type":
        named = named.child_by_field_name("name")
    return tree.slice(named) if named is not None and named.type == "type_identifier" else ""


def _reserved(names: Iterable[str]) -> str:
    """Return declarations that take names, so that nothing else is found by them."""
    return " ".join(f"namespace {name} {{}}" for name in dict.fromkeys(names))


def _names_of(tree: SourceTree, item: Node) -> list[str] | None:
    """Return the names of types and variables that a declaration declares; None for one that
    specializes a template or declares operators.
    """
    if item.type == "using_declaration":
        used = tree.slice(item).partition("using")[2]
        if re.search(r"\boperator\b", used):
            return None
        return [re.findall(r"\w+", name)[-1] for name in used.split(",")]
    found = [item.child_by_field_name("name"), *item.children_by_field_name("declarator")]
    for child in (item, *item.named_children):
        inner = child.child_by_field_name("declarator")
        if inner is not None and inner.type == "structured_binding_declarator":
            found += inner.named_children
        if child.type in CLASSES or child.type == "enum_specifier":
            found.append(child.child_by_field_name("name"))
            body = child.child_by_field_name("body")
            is_scoped = any(word.type in ("class", "struct") for word in child.children)
            if child.type == "enum_specifier" and body is not None and not is_scoped:
                found += [inner.child_by_field_name("name") for inner in body.named_children]
    names = [declared_name(node) or node for node in found if node is not None]
    if any(name.type == "template_function" for name in names):
        return None
    return [
        tree.slice(name)
        for name in names
        if name.type in ("identifier", "type_identifier", "namespace_identifier")
        and not (
            item.type == "declaration"  # of a function, of which there may be others
            and name.parent is not None
            and name.parent.type == "function_declarator"
        )
    ]
