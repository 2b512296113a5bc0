"""The names in CUDA C++ source that lead to volatile memory, by the function that declares them.

The compiler knows each expression's type; a name that leads elsewhere costs nothing. A thread's own
variables are left out: no other lane reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kerneltk.cuda_cpp.syntax.preprocess import Word, prepare
from kerneltk.cuda_cpp.syntax.tree import (
    CLASSES,
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
_KERNEL = frozenset(("__global__",))
_SHARED = frozenset(("__shared__", "__device__", "__constant__", "__managed__"))
FUNCTIONS = frozenset(("function_definition", "lambda_expression"))

_NAMES = frozenset(("identifier", "field_identifier", "type_identifier"))

_DECLARATIONS = frozenset(
    ("declaration", "field_declaration", "for_range_loop", "parameter_declaration",
     "optional_parameter_declaration", "variadic_parameter_declaration")
)  # fmt: skip
_INDIRECT = frozenset(
    ("pointer_declarator", "reference_declarator", "abstract_pointer_declarator",
     "abstract_reference_declarator")
)  # fmt: skip

Key = tuple[float, ...]


def has_volatile(source: str) -> bool:
    """Return whether a source mentions volatile memory outside of comments and literals."""
    if VOLATILE.search(source) is None:
        return False
    prepared = prepare(source)
    parts = (prepared.code, *(directive.argument for directive in prepared.directives))
    return any(map(VOLATILE.search, parts))


@dataclass(slots=True)
class Edit:
    """A macro around an expression."""

    # start, end: the expression's characters.
    start: int
    end: int
    macro: str
    key: Key  # orders the points of a function


@dataclass(slots=True)
class Scope:
    """The names that a function declares, and the points in it."""

    name: str
    outer: Scope | None
    shared: set[str] = field(default_factory=set)
    private: set[str] = field(default_factory=set)
    edits: list[Edit] = field(default_factory=list)
    calls: list[tuple[str, Edit]] = field(default_factory=list)
    loops: list[tuple[int, int, Edit]] = field(default_factory=list)
    start: int = 0  # its characters in the source
    end: int = 0
    is_macro: bool = False
    is_kernel: bool = False


def is_volatile(node: Node) -> bool:
    """Return whether a node's source has the word."""
    return VOLATILE.search(source_of(node)) is not None


def names_in(node: Node) -> Iterator[str]:
    """Yield the names in a node."""
    for inner in within(node):
        if inner.type in _NAMES:
            yield source_of(inner)


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


def _is_open(node: Node) -> bool:
    """Return whether a type is known to the compiler alone: ``auto``, ``decltype(…)``."""
    return node.type in ("placeholder_type_specifier", "decltype")


def _is_volatile_member(declarator: Node) -> bool:
    """Return whether a function is a member of volatile objects."""
    return any(
        inner.type == "type_qualifier" and is_volatile(inner)
        for part in within(declarator)
        if part.type == "function_declarator"
        for inner in part.children
    )


def _classes_around(node: Node) -> Iterator[str]:
    """Yield the names of the classes that a node is in."""
    at: Node | None = node
    while at is not None:
        if at.type in CLASSES and (name := at.child_by_field_name("name")) is not None:
            yield next(names_in(name), "")
        at = at.parent


class Names:
    """The names that are declared with ``volatile``, by the function that declares them."""

    def __init__(self, instantiated: Iterable[str] = ()) -> None:
        self.types: set[str] = set()
        self.pointer_types: set[str] = set()
        # Templates that get volatile types: what is declared by their parameters may be volatile.
        self.instantiated = set(instantiated)
        self._templates: set[str] = set()
        self._calls: list[tuple[str, Node, Scope | None]] = []
        self.everywhere: set[str] = set()
        self.bit_fields: set[str] = set()
        self.fields: set[str] = set()
        self.references: set[str] = set()  # fields that are references
        self.variables: set[str] = set()  # all of them, and members
        self.qualified: set[str] = set()  # volatile themselves, not only leading there
        self.leading: set[str] = set()  # which are pointers or arrays
        self.scopes: dict[int, Scope] = {}

    @property
    def all(self) -> set[str]:
        """The names that lead to volatile memory in some function."""
        return self.everywhere.union(*(scope.shared for scope in self.scopes.values()))

    def scope(self, node: Node, outer: Scope | None, name: str) -> Scope:
        """Return a function's scope; the same in each variant of the source."""
        found = self.scopes.get(node.start_byte)
        if found is None:
            found = self.scopes[node.start_byte] = Scope(name, outer)
        return found

    def read_all(self, roots: Sequence[tuple[Node, Sequence[Word]]]) -> None:
        """Read the declarations of a source's branches, each with CUDA's attributes in it."""
        known = -1
        while known < len(self.instantiated):  # one template may be called with another's types
            known = len(self.instantiated)
            for root, words in roots:
                self._read_root(root, words)
            for name, arguments, scope in self._calls:
                if name in self._templates and (
                    is_volatile(arguments)
                    or any(
                        _is_shared(inner, scope) or inner in self.everywhere
                        for inner in names_in(arguments)
                    )
                ):
                    self.instantiated.add(name)
            self._calls.clear()

    def _read_root(self, root: Node, words: Sequence[Word]) -> None:
        self._words = words
        for node in within(root):
            if node.type == "field_declaration":
                self.fields |= {name for _, name, _ in all_declared(node)}
                self.references |= {
                    name for _, name, kinds in all_declared(node) if "reference_declarator" in kinds
                }
            if node.type in ("type_definition", "alias_declaration") and self._mentions(node):
                head = node.child_by_field_name("type")
                for declared in (*declarators(node), *node.children_by_field_name("name")):
                    name, kinds = _declared(declared)
                    self.types.add(name)
                    if "pointer_declarator" in kinds or self._is_pointer(head):
                        self.pointer_types.add(name)
        self._read(root, None, frozenset(), False)

    def _is_pointer(self, head: Node | None) -> bool:
        """Return whether a type is a pointer, or names one."""
        if head is None or head.type in ("type_identifier", "template_type"):
            return head is not None and last_name(head) in self.pointer_types
        declarator = head.child_by_field_name("declarator")
        is_pointer = declarator is not None and declarator.type == "abstract_pointer_declarator"
        return head.type == "type_descriptor" and (
            is_pointer or self._is_pointer(head.child_by_field_name("type"))
        )

    def _mentions(self, node: Node) -> bool:
        return is_volatile(node) or any(name in self.types for name in names_in(node))

    def _read(
        self, node: Node, scope: Scope | None, template: frozenset[str], is_meant: bool
    ) -> None:
        """Read a node.

        Parameters
        ----------
        scope : Scope or None
            The function around it.
        template : frozenset of str
            The type parameters of the templates around it, and ``auto`` in a parameter list.
        is_meant : bool
            Whether one of these templates gets volatile types.
        """
        if node.type == "template_declaration":
            template |= _type_parameters(node)
            parameters = node.child_by_field_name("parameters")
            is_meant = is_meant or (parameters is not None and is_volatile(parameters))
        elif node.type in FUNCTIONS or node.type in CLASSES:
            names = set(_names_of_template(node))
            if template or _has_auto(node):
                self._templates |= names
            is_meant = is_meant or not self.instantiated.isdisjoint(names)
        elif node.type in ("template_type", "template_function", "template_method"):
            named, given = node.child_by_field_name("name"), node.child_by_field_name("arguments")
            if named is not None and given is not None:
                inner = set(names_in(given))
                if is_volatile(given) or inner & self.types or (is_meant and inner & template):
                    self.instantiated.add(source_of(named))
        elif node.type == "call_expression":
            function = node.child_by_field_name("function")
            given = node.child_by_field_name("arguments")
            if function is not None and given is not None:
                self._calls.append((last_name(function), given, scope))
        elif node.type == "declaration":
            # A class template whose arguments are deduced, or a pointer to a function template.
            head = node.child_by_field_name("type")
            values = (d.child_by_field_name("value") for d in declarators(node))
            self._calls += ((last_name(n), node, scope) for n in (head, *values) if n is not None)
        self._parameters = template | {"auto"} if is_meant else frozenset()
        if node.type in FUNCTIONS:
            scope = self.scope(node, scope, _function_name(node))
            body = node.child_by_field_name("body")
            end = body.start_byte if body is not None else node.end_byte
            scope.is_kernel = self._has_words(node, end, _KERNEL)
            returned = node.child_by_field_name("declarator")
            if returned is not None and self._leads_to_volatile(node, returned):
                name = _function_name(node)
                if name and name != "operator()":
                    self.everywhere.add(name)
                else:  # an object of the class stands for volatile memory
                    self.types |= (classes := set(_classes_around(node)))
                    self.pointer_types |= classes
            if returned is not None and _is_volatile_member(returned):
                scope.shared |= self.fields
                self.qualified |= self.fields
        elif node.type == "lambda_capture_initializer":
            left = node.child_by_field_name("left")
            if left is not None and scope is not None:
                scope.shared.add(source_of(left))
                self.leading.add(source_of(left))
                self.qualified.add(source_of(left))
        elif node.type in _DECLARATIONS:
            self._declare(node, scope)
        for child in node.children:
            self._read(child, scope, template, is_meant)

    def _leads_to_volatile(self, function: Node, declarator: Node) -> bool:
        """Return whether a function's result is a reference or a pointer to volatile memory, or may
        be one.
        """
        own = [c for c in function.children if c.end_byte <= declarator.start_byte]
        if any(map(_is_open, own)) and "lambda" not in function.type:
            return True
        _, kinds = _declared(declarator)
        for inner in declarator.children if declarator.type == "operator_cast" else ():
            own.append(inner)
            kinds |= {inner.type}
        for inner in within(declarator):
            if inner.type == "trailing_return_type":
                own.append(inner)
                kinds |= {part.type for part in within(inner)}
        return bool(kinds & _INDIRECT) and any(
            self._mentions(c) or self._names_parameter(c) for c in own
        )

    def _qualified(self, node: Node, declarator: Node) -> bool:
        """Return whether a declaration's own type, or one of its declarators, is volatile."""
        own = [c for c in node.children if c.end_byte <= declarator.start_byte]
        if any(_is_open(c) or self._names_parameter(c) for c in own):
            return True
        value = declarator.child_by_field_name("value")
        end = value.start_byte - declarator.start_byte if value else None
        return any(map(self._mentions, own)) or bool(VOLATILE.search(source_of(declarator)[:end]))

    def _names_parameter(self, node: Node) -> bool:
        """Return whether a type is named by a parameter of a template that gets volatile types."""
        return bool(self._parameters) and not self._parameters.isdisjoint(
            map(source_of, within(node))
        )

    def _declare(self, node: Node, scope: Scope | None) -> None:
        head = node.child_by_field_name("type")
        for declarator, name, kinds in all_declared(node):
            # A pointer to a function is one in parentheses.
            if "function_declarator" not in kinds or "parenthesized_declarator" in kinds:
                self.variables.add(name)
            if any(child.type == "bitfield_clause" for child in node.children):
                self.bit_fields.add(name)
            known = scope is not None and (name in scope.shared)
            if not name or not self._qualified(node, declarator):
                continue
            is_reference = bool(kinds & {"reference_declarator", "structured_binding_declarator"})
            if head is not None and _is_open(head):
                is_reference = is_reference or head.type == "decltype"
                if not any(is_volatile(c) for c in node.children if c.type == "type_qualifier"):
                    kinds |= {"pointer_declarator"}  # whatever it is: it may lead there
            if self._is_pointer(head):
                kinds |= {"pointer_declarator"}
            if head is not None and self._names_parameter(head):
                # Whatever the parameter is: it may be a pointer, and it may be volatile itself.
                is_memory = node.type == "field_declaration" or self._is_memory(node, kinds)
                if is_memory and not kinds & {"pointer_declarator", "array_declarator"}:
                    self.qualified.add(name)
                kinds |= {"pointer_declarator"}
            leads = kinds & {"pointer_declarator", "array_declarator"}
            if leads:
                self.leading.add(name)
            if is_reference or not leads or VOLATILE.search(source_of(declarator)):
                self.qualified.add(name)
            if scope is None or node.type == "field_declaration":
                self.everywhere.add(name)
            elif known or self._is_memory(node, kinds):
                scope.shared.add(name)
                scope.private.discard(name)
            else:
                scope.private.add(name)

    def _is_memory(self, node: Node, kinds: frozenset[str]) -> bool:
        """Return whether what a function declares may be memory that threads share."""
        if kinds & {"pointer_declarator", "reference_declarator"}:
            return True
        if node.type.endswith("parameter_declaration"):
            return "array_declarator" in kinds
        if any(c.type == "storage_class_specifier" for c in node.children):
            return True
        return self._has_words(node, node.end_byte, _SHARED)

    def _has_words(self, node: Node, end: int, words: frozenset[str]) -> bool:
        """Return whether an attribute of a declaration is among some words: there are blanks in it
        or before it.
        """
        at: Node | None = node
        while at is not None and at.prev_sibling is None and at.start_byte == node.start_byte:
            at = at.parent
        before = at.prev_sibling if at is not None else None
        begin = before.end_byte if before is not None else 0
        return any(begin <= word.start < end and word.name in words for word in self._words)

    def is_candidate(self, name: str, scope: Scope) -> bool:
        """Return whether a name may mean volatile memory in a function."""
        at: Scope | None = scope
        while at is not None:
            if name in at.shared:
                return True
            if name in at.private:
                return False
            at = at.outer
        return name in self.everywhere


def _is_shared(name: str, scope: Scope | None) -> bool:
    at = scope
    while at is not None:
        if name in at.shared:
            return True
        at = at.outer
    return False


def _type_parameters(node: Node) -> set[str]:
    """Return the names of a template's parameters that are types."""
    parameters = node.child_by_field_name("parameters")
    found = set()
    for parameter in parameters.named_children if parameters is not None else ():
        name = next((c for c in parameter.named_children if c.type == "type_identifier"), None)
        if name is not None and "type_parameter_declaration" in parameter.type:
            found.add(source_of(name))
    return found


def _has_auto(node: Node) -> bool:
    """Return whether a function's parameters have the type ``auto``: it is a template."""
    declared = node.child_by_field_name("declarator")
    return declared is not None and re.search(r"\bauto\b", source_of(declared)) is not None


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
    inner = declared.child_by_field_name("declarator") if declared is not None else None
    return last_name(inner) if inner is not None else ""


def last_name(node: Node) -> str:
    """Return the last name of a qualified one, without template arguments: ``f`` of ``a::f<2>``."""
    if node.type == "qualified_identifier" or node.type.startswith("template_"):
        inner = node.child_by_field_name("name")
        return last_name(inner) if inner is not None else ""
    if node.type == "field_expression":
        inner = node.child_by_field_name("field")
        return last_name(inner) if inner is not None else ""
    if node.type == "operator_name" and "(" in source_of(node):
        return "operator()"
    return source_of(node) if node.type in _NAMES else ""
