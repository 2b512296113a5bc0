"""The names in CUDA C++ source that lead to volatile memory, by the function that declares them.

The compiler knows each expression's type; a name that leads elsewhere costs nothing. A thread's own
variables are left out: no other lane reads them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kerneltk.cuda_cpp.syntax.preprocess import prepare
from kerneltk.cuda_cpp.syntax.tree import (
    CLASSES,
    SourceTree,
    around,
    declared_name,
    function_declarator,
    source_of,
    within,
)

if TYPE_CHECKING:
    from tree_sitter import Node

VOLATILE = re.compile(
    r"(?<!asm )(?<!asm__ )(?<!\w)"
    r"(?:__volatile__|__volatile|volatile|add_volatile(?:_t)?|add_cv(?:_t)?)(?!\w)"
)
FUNCTIONS = frozenset(("function_definition", "lambda_expression"))
_SHARED = frozenset(("__shared__", "__device__", "__constant__", "__managed__"))
_NAMES = frozenset(("identifier", "field_identifier", "type_identifier"))
_NAME = re.compile(r"[^\W\d]\w*")
_OPEN = frozenset(("placeholder_type_specifier", "decltype"))  # the compiler alone knows them
_DECLARATIONS = frozenset(
    ("declaration", "field_declaration", "for_range_loop", "parameter_declaration",
     "optional_parameter_declaration", "variadic_parameter_declaration")
)  # fmt: skip
_INDIRECT = re.compile(r"[*&]")
_TYPE_PARAMETER = re.compile(r"\b(?:class|typename)\b[\s.]*([^\W\d]\w*)")


def has_volatile(source: str) -> bool:
    """Return whether a source mentions volatile memory outside of comments and literals."""
    if VOLATILE.search(source) is None:
        return False
    prepared = prepare(source)
    parts = (prepared.code, *(directive.argument for directive in prepared.directives))
    return any(map(VOLATILE.search, parts))


@dataclass(frozen=True, slots=True)
class Point:
    """A macro around an expression."""

    start: int  # start, end: the expression's characters in the source
    end: int
    macro: str
    # Of a call: the function; the point counts if there are points in that one.
    called: str = ""
    # Of a loop: its characters; the point counts if there are points in there.
    loop: tuple[int, int] | None = None


@dataclass(slots=True)
class Scope:
    """A function: the names in it that lead to volatile memory, and its points in their order."""

    name: str
    outer: Scope | None
    is_kernel: bool = False
    shared: set[str] = field(default_factory=set)
    points: list[Point] = field(default_factory=list)
    start: int = 0  # start, end: its body's characters in the source
    end: int = 0


class _Declared(NamedTuple):
    """A declared name, and what stands before and behind it in its declarator."""

    name: str
    before: str
    behind: str

    @property
    def is_reference(self) -> bool:
        return "&" in self.before

    @property
    def is_plain(self) -> bool:
        """Whether it is neither a pointer nor an array."""
        return "*" not in self.before and not self.behind.lstrip().startswith("[")


def _declared(node: Node) -> Iterator[_Declared]:
    """Yield the names that a declarator declares."""
    inner = node.child_by_field_name("declarator") if node.type == "init_declarator" else node
    name = declared_name(inner)
    if inner is not None and name is not None:
        source, start = source_of(inner), inner.start_byte
        before, behind = source[: name.start_byte - start], source[name.end_byte - start :]
        yield _Declared(source_of(name), before, behind)
        return
    for part in within(node):
        if part.type == "structured_binding_declarator":
            for name in part.named_children:
                yield _Declared(source_of(name), "&", "")


class Names:
    """The names of a source that lead to volatile memory.

    Parameters
    ----------
    trees : sequence of SourceTree
        The branches of the source.
    instantiated : iterable of str
        The templates that get volatile types from elsewhere.

    Attributes
    ----------
    types : set of str
        Types that are volatile or lead there.
    everywhere : set of str
        Names that lead to volatile memory in each function: members and global variables.
    qualified : set of str
        Names of what may be volatile itself, not only lead there.
    variables, bit_fields, references : set of str
        All variables and members; those that are bit-fields; members that are references.
    scopes : dict of int to Scope
        The functions, by where they begin.
    """

    def __init__(self, trees: Sequence[SourceTree], instantiated: Iterable[str] = ()) -> None:
        self.types: set[str] = set()
        self.everywhere: set[str] = set()
        self.qualified: set[str] = set()
        self.variables: set[str] = set()
        self.bit_fields: set[str] = set()
        self.references: set[str] = set()
        self.scopes: dict[int, Scope] = {}
        self._fields: set[str] = set()
        # Templates that get volatile types: what is declared by their parameters may be volatile.
        self._instantiated = set(instantiated)
        known = -1
        while known < (known := self._count()):  # what one name is may decide what another is
            for tree in trees:
                self._tree = tree
                self._read(tree.root, None, frozenset(), False)

    def _count(self) -> int:
        shared = (scope.shared for scope in self.scopes.values())
        found = (self.types, self.everywhere, self._fields, self._instantiated)
        return sum(map(len, (*found, *shared)))

    def leads(self, name: str, scope: Scope | None) -> bool:
        """Return whether a name may mean volatile memory in a function."""
        while scope is not None:
            if name in scope.shared:
                return True
            scope = scope.outer
        return name in self.everywhere

    def names_type(self, source: str) -> bool:
        """Return whether source names a type that leads to volatile memory."""
        return VOLATILE.search(source) is not None or self._names_alias(source)

    def _names_alias(self, source: str) -> bool:
        return not self.types.isdisjoint(_NAME.findall(source))

    def mentions(self, source: str, scope: Scope | None) -> bool:
        """Return whether something that source names leads to volatile memory."""
        names = _NAME.findall(source)
        return self.names_type(source) or any(self.leads(name, scope) for name in names)

    def _read(
        self, node: Node, scope: Scope | None, parameters: frozenset[str], is_meant: bool
    ) -> None:
        """Read a node.

        Parameters
        ----------
        scope : Scope or None
            The function around it.
        parameters : frozenset of str
            The type parameters of the templates around it.
        is_meant : bool
            Whether one of these templates gets volatile types.
        """
        kind = node.type
        if kind == "template_declaration":
            listed = source_of(node.child_by_field_name("parameters"))
            parameters |= frozenset(_TYPE_PARAMETER.findall(listed))
            is_meant = is_meant or VOLATILE.search(listed) is not None  # by default
        elif kind in FUNCTIONS or kind in CLASSES:
            is_meant = is_meant or not self._instantiated.isdisjoint(_names_of_template(node))
        elif kind in ("template_type", "template_function", "template_method"):
            given = source_of(node.child_by_field_name("arguments"))
            is_passed_on = is_meant and not parameters.isdisjoint(_NAME.findall(given))
            if self.names_type(given) or is_passed_on:
                self._instantiated.add(last_name(node))
        elif kind == "call_expression":
            if self.mentions(source_of(node.child_by_field_name("arguments")), scope):
                self._instantiated.add(last_name(node.child_by_field_name("function")))
        elif kind in ("type_definition", "alias_declaration") and self.names_type(source_of(node)):
            declared = node.children_by_field_name("declarator")
            for part in (*declared, *node.children_by_field_name("name")):
                self.types.update(found.name for found in _declared(part))
        meant = parameters if is_meant else frozenset()
        if kind in FUNCTIONS:
            scope = self._read_function(node, scope, meant)
        elif kind == "lambda_capture_initializer" and scope is not None:
            name = source_of(node).partition("=")[0].strip("& ")
            scope.shared.add(name)
            self.qualified.add(name)
        elif kind in _DECLARATIONS:
            self._declare(node, scope, meant)
        for child in node.children:
            self._read(child, scope, parameters, is_meant)

    def _read_function(self, node: Node, outer: Scope | None, meant: frozenset[str]) -> Scope:
        """Return the scope of a function; what it returns may lead to volatile memory."""
        # The same in each variant of the source.
        name = _function_name(node)
        scope = self.scopes.setdefault(node.start_byte, Scope(name, outer))
        declarator = node.child_by_field_name("declarator")
        if declarator is None:
            return scope
        start = self._tree.head_start(node)
        words = self._tree.words_between(start, declarator.end_byte)
        scope.is_kernel = any(word.name == "__global__" for word in words)
        own = [c for c in node.children if c.end_byte <= declarator.start_byte]
        listed = next((p for p in within(declarator) if p.type == "parameter_list"), declarator)
        behind, _, trailing = self._tree.plain[listed.end_byte : declarator.end_byte].partition(
            "->"
        )
        returned = f"{self._tree.plain[start : listed.start_byte]} {trailing}"
        is_open = node.type == "function_definition" and any(part.type in _OPEN for part in own)
        is_indirect = _INDIRECT.search(returned) is not None
        if is_open or (is_indirect and (self.names_type(returned) or _names_one(meant, returned))):
            if name and name != "operator()":
                self.everywhere.add(name)
            else:  # an object of the class stands for volatile memory
                for at in around(node):
                    if at.type in CLASSES:
                        named = source_of(at.child_by_field_name("name"))
                        self.types.update(_NAME.findall(named)[:1])
        if VOLATILE.search(behind):  # a member of volatile objects
            scope.shared |= self._fields
            self.qualified |= self._fields
        return scope

    def _declare(self, node: Node, scope: Scope | None, meant: frozenset[str]) -> None:
        """Add the names of a declaration that lead to volatile memory.

        Parameters
        ----------
        meant : frozenset of str
            The parameters of templates that may be volatile types.
        """
        is_field = node.type == "field_declaration"
        is_bits = any(child.type == "bitfield_clause" for child in node.children)
        type_ = node.child_by_field_name("type")
        given = node.type == "declaration" and self.mentions(source_of(node), scope)
        for declarator in node.children_by_field_name("declarator"):
            if given:
                # A class template whose arguments are deduced, or a pointer to a function template.
                value = declarator.child_by_field_name("value")
                self._instantiated |= {last_name(type_), last_name(value)}
            own = [c for c in node.children if c.end_byte <= declarator.start_byte]
            head = self._tree.plain[node.start_byte : declarator.start_byte]
            is_open = any(part.type in _OPEN for part in own) and not VOLATILE.search(head)
            is_parameter = _names_one(meant, head)
            for found in _declared(declarator):
                if not found.behind.startswith("("):  # else it is a function
                    self.variables.add(found.name)
                if is_bits:
                    self.bit_fields.add(found.name)
                if is_field:
                    self._fields.add(found.name)
                    if found.is_reference:
                        self.references.add(found.name)
                itself = VOLATILE.search(found.before + found.behind) is not None
                if not (is_open or is_parameter or itself or self.names_type(head)):
                    continue
                is_memory = is_field or scope is None or self._is_memory(node, found)
                is_value = found.is_plain and not is_open and (is_memory or not is_parameter)
                is_decltype = type_ is not None and type_.type == "decltype"
                if itself or is_value or is_decltype or found.is_reference:
                    self.qualified.add(found.name)
                if scope is None or is_field:
                    self.everywhere.add(found.name)
                elif is_memory or is_open or is_parameter or self._names_alias(head):
                    # A type that is not written there may be a pointer.
                    scope.shared.add(found.name)

    def _is_memory(self, node: Node, found: _Declared) -> bool:
        """Return whether what a function declares may be memory that threads share."""
        if _INDIRECT.search(found.before):
            return True
        if node.type.endswith("parameter_declaration"):
            return not found.is_plain
        if any(c.type == "storage_class_specifier" for c in node.children):
            return True
        words = self._tree.words_between(self._tree.head_start(node), node.end_byte)
        return any(word.name in _SHARED for word in words)


def _names_one(names: Collection[str], source: str) -> bool:
    return any(name in names for name in _NAME.findall(source)) if names else False


def _names_of_template(node: Node) -> list[str]:
    """Return the names by which a function or a class may be instantiated: for a member those of
    its classes too.
    """
    if node.type in CLASSES:
        return _NAME.findall(source_of(node.child_by_field_name("name")))
    if node.type == "lambda_expression":
        return [_function_name(node)]
    return _NAME.findall(source_of(node.child_by_field_name("declarator")).partition("(")[0])


def _function_name(node: Node) -> str:
    """Return a function's name; of a lambda, the variable that it initializes."""
    if node.type == "lambda_expression":
        outer = node.parent
        if outer is None or outer.type != "init_declarator":
            return ""
        return next((declared.name for declared in _declared(outer)), "")
    declared = function_declarator(node)
    return last_name(declared.child_by_field_name("declarator") if declared is not None else None)


def last_name(node: Node | None) -> str:
    """Return the last name of a qualified one, without template arguments: ``f`` of ``a::f<2>``."""
    if node is None:
        return ""
    if node.type == "qualified_identifier" or node.type.startswith("template_"):
        return last_name(node.child_by_field_name("name"))
    if node.type == "field_expression":
        return last_name(node.child_by_field_name("field"))
    if node.type == "operator_name" and "(" in source_of(node):
        return "operator()"
    return source_of(node) if node.type in _NAMES else ""
