"""The names in CUDA C++ source that lead to volatile memory, by the function that declares them.

The compiler knows each expression's type; a name that leads elsewhere costs nothing. A thread's own
variables are left out: no other lane reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kerneltk.cuda_cpp.syntax.preprocess import prepare
from kerneltk.cuda_cpp.syntax.tree import (
    CLASSES,
    SourceTree,
    function_declarator,
    inner_declarator,
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
_OPEN = frozenset(("placeholder_type_specifier", "decltype"))  # the compiler alone knows them
_DECLARATIONS = frozenset(
    ("declaration", "field_declaration", "for_range_loop", "parameter_declaration",
     "optional_parameter_declaration", "variadic_parameter_declaration")
)  # fmt: skip
_REFERENCES = frozenset(("reference_declarator", "structured_binding_declarator"))
_POINTERS = frozenset(("pointer_declarator", "abstract_pointer_declarator"))
_INDIRECT = _POINTERS | {"reference_declarator", "abstract_reference_declarator"}


def has_volatile(source: str) -> bool:
    """Return whether a source mentions volatile memory outside of comments and literals."""
    if VOLATILE.search(source) is None:
        return False
    prepared = prepare(source)
    parts = (prepared.code, *(directive.argument for directive in prepared.directives))
    return any(map(VOLATILE.search, parts))


@dataclass(slots=True)
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


def is_volatile(node: Node) -> bool:
    """Return whether a node's source has the word."""
    return VOLATILE.search(source_of(node)) is not None


def names_in(node: Node) -> Iterator[str]:
    """Yield the names in a node."""
    return (source_of(inner) for inner in within(node) if inner.type in _NAMES)


def declarators(node: Node) -> Iterator[Node]:
    """Yield the declarators of a declaration."""
    yield from node.children_by_field_name("declarator")


def _declared(node: Node) -> tuple[str, frozenset[str]]:
    """Return the name that a declarator declares, and the kinds of declarators around it."""
    kinds = set()
    current: Node | None = node
    while current is not None:
        kinds.add(current.type)
        if current.type in _NAMES:
            return source_of(current), frozenset(kinds)
        current = inner_declarator(current)
    return "", frozenset(kinds)


def all_declared(node: Node) -> Iterator[tuple[Node, str, frozenset[str]]]:
    """Yield the declarators of a declaration with each name, and the kinds around it."""
    for declarator in declarators(node):
        name, kinds = _declared(declarator)
        if "structured_binding_declarator" not in kinds:
            yield declarator, name, kinds
            continue
        for inner in within(declarator):
            if inner.parent is not None and inner.parent.type == "structured_binding_declarator":
                yield declarator, source_of(inner), kinds


def _classes_around(node: Node) -> Iterator[str]:
    """Yield the names of the classes that a node is in."""
    at: Node | None = node
    while at is not None:
        if at.type in CLASSES and (name := at.child_by_field_name("name")) is not None:
            yield next(names_in(name), "")
        at = at.parent


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

    def names_type(self, node: Node) -> bool:
        """Return whether a node names a type that leads to volatile memory."""
        return is_volatile(node) or self._names_alias(node)

    def _names_alias(self, node: Node) -> bool:
        return not self.types.isdisjoint(names_in(node))

    def mentions(self, node: Node, scope: Scope | None) -> bool:
        """Return whether something that a node names leads to volatile memory."""
        return self.names_type(node) or any(self.leads(name, scope) for name in names_in(node))

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
            listed = node.child_by_field_name("parameters")
            parameters |= _type_parameters(listed)
            is_meant = is_meant or (listed is not None and is_volatile(listed))  # by default
        elif kind in FUNCTIONS or kind in CLASSES:
            is_meant = is_meant or not self._instantiated.isdisjoint(_names_of_template(node))
        elif kind in ("template_type", "template_function", "template_method"):
            given = node.child_by_field_name("arguments")
            if given is not None and (
                self.names_type(given) or (is_meant and not parameters.isdisjoint(names_in(given)))
            ):
                self._instantiated.add(last_name(node))
        elif kind == "call_expression":
            given = node.child_by_field_name("arguments")
            if given is not None and self.mentions(given, scope):
                self._instantiated.add(last_name(node.child_by_field_name("function")))
        elif kind in ("type_definition", "alias_declaration") and self.names_type(node):
            named = (*declarators(node), *node.children_by_field_name("name"))
            self.types.update(_declared(each)[0] for each in named)
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
        if self._returns_volatile(node, declarator, meant):
            if name and name != "operator()":
                self.everywhere.add(name)
            else:  # an object of the class stands for volatile memory
                self.types.update(_classes_around(node))
        if any(
            inner.type == "type_qualifier" and is_volatile(inner)
            for part in within(declarator)
            if part.type == "function_declarator"
            for inner in part.children
        ):  # a member of volatile objects
            scope.shared |= self._fields
            self.qualified |= self._fields
        return scope

    def _returns_volatile(self, node: Node, declarator: Node, meant: frozenset[str]) -> bool:
        """Return whether a function's result may be a reference or a pointer to such memory."""
        parts = [c for c in node.children if c.end_byte <= declarator.start_byte]
        is_open = node.type == "function_definition" and any(p.type in _OPEN for p in parts)
        _, kinds = _declared(declarator)
        behind = [part for part in within(declarator) if part.type == "trailing_return_type"]
        for part in (*behind, *(declarator.children if declarator.type == "operator_cast" else ())):
            parts.append(part)
            kinds |= {inner.type for inner in within(part)}
        return is_open or (
            bool(kinds & _INDIRECT)
            and any(self.names_type(p) or not meant.isdisjoint(names_in(p)) for p in parts)
        )

    def _declare(self, node: Node, scope: Scope | None, meant: frozenset[str]) -> None:
        """Add the names of a declaration that lead to volatile memory.

        Parameters
        ----------
        meant : frozenset of str
            The parameters of templates that may be volatile types.
        """
        is_field = node.type == "field_declaration"
        is_bits = any(child.type == "bitfield_clause" for child in node.children)
        head = node.child_by_field_name("type")
        given = self.mentions(node, scope)
        for declarator, name, kinds in all_declared(node):
            # A pointer to a function is one in parentheses.
            if "function_declarator" not in kinds or "parenthesized_declarator" in kinds:
                self.variables.add(name)
            if is_bits:
                self.bit_fields.add(name)
            if is_field:
                self._fields.add(name)
                if "reference_declarator" in kinds:
                    self.references.add(name)
            if node.type == "declaration" and given:
                # A class template whose arguments are deduced, or a pointer to a function template.
                value = declarator.child_by_field_name("value")
                self._instantiated |= {last_name(head), last_name(value)}
            own = [c for c in node.children if c.end_byte <= declarator.start_byte]
            is_open = any(part.type in _OPEN for part in own) and not any(map(is_volatile, own))
            is_parameter = any(not meant.isdisjoint(names_in(part)) for part in own)
            itself = VOLATILE.search(source_of(declarator).partition("=")[0]) is not None
            if not name or not (
                is_open or is_parameter or itself or any(map(self.names_type, own))
            ):
                continue
            is_memory = is_field or scope is None or self._is_memory(node, kinds)
            is_plain = not kinds & (_POINTERS | {"array_declarator"})
            is_value = is_plain and not is_open and (is_memory or not is_parameter)
            is_decltype = head is not None and head.type == "decltype"
            if itself or is_value or is_decltype or kinds & _REFERENCES:
                self.qualified.add(name)
            if scope is None or is_field:
                self.everywhere.add(name)
            elif is_memory or is_open or is_parameter or any(map(self._names_alias, own)):
                # A type that is not written there may be a pointer.
                scope.shared.add(name)

    def _is_memory(self, node: Node, kinds: frozenset[str]) -> bool:
        """Return whether what a function declares may be memory that threads share."""
        if kinds & _INDIRECT:
            return True
        if node.type.endswith("parameter_declaration"):
            return "array_declarator" in kinds
        if any(c.type == "storage_class_specifier" for c in node.children):
            return True
        words = self._tree.words_between(self._tree.head_start(node), node.end_byte)
        return any(word.name in _SHARED for word in words)


def _type_parameters(listed: Node | None) -> set[str]:
    """Return the names of a template's parameters that are types."""
    found = set()
    for parameter in listed.named_children if listed is not None else ():
        name = next((c for c in parameter.named_children if c.type == "type_identifier"), None)
        if name is not None and "type_parameter_declaration" in parameter.type:
            found.add(source_of(name))
    return found


def _names_of_template(node: Node) -> Iterator[str]:
    """Yield the names by which a function or a class may be instantiated: for a member those of
    its classes too.
    """
    if node.type in CLASSES:
        name = node.child_by_field_name("name")
        yield from names_in(name) if name is not None else ()
        return
    yield _function_name(node)
    declared = node.child_by_field_name("declarator")
    for inner in within(declared) if declared is not None else ():
        if inner.type == "template_type":
            name = inner.child_by_field_name("name")
            yield source_of(name) if name is not None else ""


def _function_name(node: Node) -> str:
    """Return a function's name; of a lambda, the variable that it initializes."""
    if node.type == "lambda_expression":
        around = node.parent
        declared = around.child_by_field_name("declarator") if around is not None else None
        is_named = around is not None and around.type == "init_declarator" and declared is not None
        return _declared(declared)[0] if is_named and declared is not None else ""
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
