"""Leaves out code of the host in which a compiler for device code has found errors.

What names the host's libraries is found by reading; what only uses what is behind those names is
not. A compiler's errors say where the rest is. nvcc gives a function without an annotation to the
host, and so no kernel needs it: its body becomes ``= delete``, an error for a call in device code.
Types and variables of the host go as a whole. Errors in functions for devices are the user's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kerneltk.cuda_cpp.syntax.blanking import blanked
from kerneltk.cuda_cpp.syntax.declarations import CompilerErrors, Place
from kerneltk.cuda_cpp.syntax.host_code import CONSTEXPR, has_unknown_macro
from kerneltk.cuda_cpp.syntax.preprocess import prepare
from kerneltk.cuda_cpp.syntax.tree import (
    CLASSES,
    Lines,
    Scope,
    SourceTree,
    declared_name,
    function_declarator,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_SCOPES = frozenset(("translation_unit", "declaration_list"))
_HEADS = frozenset(("template_declaration", "linkage_specification", "friend_declaration"))
_ITEMS = CLASSES | {
    "alias_declaration", "declaration", "enum_specifier", "expression_statement",
    "namespace_alias_definition", "template_instantiation", "type_definition",
}  # fmt: skip
_VIRTUAL = re.compile(r"\b(?:virtual|override|final)\b")
# What is declared twice, where to leave one of the two out would choose the other, and what users
# assert.
_MEANT = re.compile(
    r"already been (?:defined|declared)|redefinition|conflicting|redeclar|ambiguous"
    r"|assert(?:ion)? failed"
)
# What device code may name: without it another one of the name, further out, would be found. So may
# using declarations, and what asserts is the user's check.
_TYPE = r"\b(?:struct|class|union|enum|using|typename|typedef\b[^;{}]*)\s+"
_COMPUTED = re.compile(r"\b(?:constexpr|constinit)\b")
_CONSTANT = re.compile(r"\bconst\b")
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
        around: list[Node] = []
        node = tree.root.descendant_for_byte_range(position, position + 1)
        while node is not None and node.type != "translation_unit":
            around.append(node)
            node = node.parent
        functions = [found for found in around if found.type == "function_definition"]
        if functions:
            self._leave_out_function(tree, functions[-1], position)
            return
        inner = around[: next((n for n, a in enumerate(around) if a.type in _SCOPES), len(around))]
        item = next((found for found in reversed(inner) if found.type in _ITEMS), None)
        if item is not None and not _MEANT.search(place.message):
            self._leave_out_item(tree, item, inner, position)

    def _leave_out_function(self, tree: SourceTree, node: Node, position: int) -> None:
        """Delete a function of the host, or leave it out."""
        declarator = function_declarator(node)
        named = declared_name(declarator) if declarator is not None else None
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
        whole = tree.prepared.start_of(begin), tree.prepared.end_of(node.end_byte)
        is_virtual = _VIRTUAL.search(head) or _VIRTUAL.search(behind)
        self.edits[whole] = "{ __trap(); }" if is_virtual else "= delete;"

    def _leave_out_item(
        self, tree: SourceTree, item: Node, inner: list[Node], position: int
    ) -> None:
        """Leave out a declaration of the host, or the member of a class that an error is in."""
        words = {word.name for word in tree.words_between(tree.head_start(item), item.end_byte)}
        is_class = item.type in CLASSES
        if is_class:
            member = next((m for m in inner if m.type == "field_declaration"), None)
            declarator = function_declarator(member) if member is not None else None
            if member is not None and declarator is not None:
                own = tree.words_between(tree.head_start(member), member.end_byte)
                if not own and not self._has_others(tree, member, declared_name(declarator)):
                    self._remove(tree, member)
                return
            named = item.child_by_field_name("name")
            if words or named is None:
                return  # its members are where they are
            is_special = named.type != "type_identifier"
            if is_special and not named.start_byte <= position < named.end_byte:
                return  # another one would be taken in its place
            if is_special or not self._has_others(tree, item, named, _TYPE):
                self._remove(tree, item)
        elif words.isdisjoint(_MEMORY) and "__global__" not in words:
            source = tree.slice(item)
            found: Node | None = item
            while found is not None and found.type not in ("identifier", "type_identifier"):
                found = found.child_by_field_name("name") or found.child_by_field_name("declarator")
            if item.type == "declaration" and _COMPUTED.search(source):
                return
            if item.type == "declaration" and _CONSTANT.search(source):
                if not self._has_others(tree, item, found):
                    self._remove(tree, item)
                return
            is_type = item.type in ("alias_declaration", "enum_specifier", "type_definition")
            if not is_type or not self._has_others(tree, item, found, _TYPE):
                self._remove(tree, item)

    @staticmethod
    def _has_others(tree: SourceTree, node: Node, named: Node | None, before: str = "") -> bool:
        """Return whether a name is elsewhere, too, behind what this pattern says."""
        names = re.findall(r"\w+", tree.slice(named)) if named is not None else []
        if not names:
            return True
        word = re.compile(rf"{before}\b{names[-1]}\b")
        return any(
            not node.start_byte <= found.end() - 1 < node.end_byte
            for found in word.finditer(tree.plain)
        )

    def _remove(self, tree: SourceTree, node: Node) -> None:
        """Leave out a declaration with its template's head."""
        outer = node
        while outer.parent is not None and outer.parent.type in _HEADS:
            outer = outer.parent
        start, end = tree.span(node, Scope(start=tree.head_start(outer)))
        self.edits[start, end] = ""

    def edited(self) -> str:
        """Return the source without what was found."""
        source = self.prepared.source
        parts: list[str] = []
        position = 0
        # Of two that begin together the longer one is around the other.
        for (start, end), instead in sorted(self.edits.items(), key=lambda e: (e[0][0], -e[0][1])):
            if start >= position:
                rest = blanked(source[start:end])
                same = rest[: len(instead)]
                if "\n" not in same and not same.strip():
                    rest = rest[len(instead) :]
                parts += source[position:start], instead, rest
                position = end
        return "".join((*parts, source[position:]))
