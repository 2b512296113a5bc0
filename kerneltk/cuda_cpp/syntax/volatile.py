"""A pass over CUDA C++ source that puts meeting points before its accesses to volatile memory.

GPUs before Volta run the lanes of a warp in step, and programs for them exchange values through
volatile memory without a barrier. On CPU cores lanes run one after the other. So a macro of
``kerneltk/host_volatile.hpp`` stands before each access and lets the lanes of a warp wait for each
other.

The pass finds expressions by the names in them, those that are declared with ``volatile``, and by
casts. It may find too many: the compiler knows each one's type, and drops what is not volatile.
A thread's own variables stay as they are: no other lane reads them.

Each point has a number, which says how far in its function it is: the line, and which point of the
line. Numbers follow the order of execution: what is assigned comes before where it goes, a loop's
condition behind its body. A point in each loop keeps lanes in the same round of it. Where macros
have points, their numbers are computed where they are used; two uses on one line are one place.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kerneltk.cuda_cpp.syntax.preprocess import Prepared, Word, closing_of, prepare
from kerneltk.cuda_cpp.syntax.tree import parse

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["has_volatile", "with_meetings"]

_VOLATILE = re.compile(r"(?<!asm )(?<!asm__ )(?<!\w)(?:__volatile__|__volatile|volatile)(?!\w)")
_NAME = re.compile(r"[^\W\d]\w*")
_DEFINED = re.compile(
    r"[ \t]*#[ \t]*define[ \t]+(?P<name>[^\W\d]\w*)(?:\((?P<parameters>[^()]*)\))?"
    r"(?P<replacement>.*)",
    re.DOTALL,
)
_CONTINUED = re.compile(r"\\\r?\n|//[^\n]*|/\*.*?\*/|(?<=\")(?:\\.|[^\"\\\n])*(?=\")", re.DOTALL)
_BEFORE = "void f() {"
_KERNEL = frozenset(("__global__",))
_SHARED = frozenset(("__shared__", "__device__", "__constant__", "__managed__"))
_PATHS = frozenset(
    ("identifier", "qualified_identifier", "subscript_expression", "field_expression")
)
# Nothing in these is evaluated, or nothing may be put there.
_PASSED_OVER = frozenset(
    ("sizeof_expression", "alignof_expression", "decltype", "gnu_asm_expression",
     "template_argument_list", "static_assert_declaration", "noexcept", "type_descriptor",
     "attribute_declaration", "attribute_specifier", "case_statement_value", "alignas_qualifier",
     "template_parameter_list", "requires_clause", "preproc_call")
)  # fmt: skip
_LOOPS = frozenset(("while_statement", "for_statement", "do_statement"))
_FUNCTIONS = frozenset(("function_definition", "lambda_expression"))
# Those that read and write in one step, and those of a warp that name no lanes.
_ATOMIC = re.compile(r"atomic[A-Z]\w*")
_WHOEVER = re.compile(r"__(?:any|all|ballot|activemask|shfl(?:_up|_down|_xor)?)")

# A number is a line's, from the first of the function on, and which point of the line it is: one
# before the first use of a macro that has points, one of the macro's, or one behind it.
_POINTS = 256
_MOST_LINES = 4095
_BEFORE_MACRO, _OF_MACRO, _BEHIND_MACRO = range(0, 94), range(96, 190), range(192, 254)

_Key = tuple[float, ...]


def has_volatile(text: str) -> bool:
    """Return whether a source mentions volatile memory, in whatever way."""
    return _VOLATILE.search(text) is not None


@dataclass(slots=True)
class _Edit:
    """A macro around an expression.

    Parameters
    ----------
    start, end : int
        The expression's characters.
    macro : str
    key : tuple of float
        Orders the points of a function.
    """

    start: int
    end: int
    macro: str
    key: _Key


@dataclass(slots=True)
class _Scope:
    """The names that a function declares, and the points in it."""

    name: str
    outer: _Scope | None
    shared: set[str] = field(default_factory=set)
    private: set[str] = field(default_factory=set)
    edits: list[_Edit] = field(default_factory=list)
    calls: list[tuple[str, int, int, _Key]] = field(default_factory=list)
    loops: list[tuple[int, int, _Edit]] = field(default_factory=list)
    start: int = 0  # its characters in the source
    end: int = 0
    is_macro: bool = False
    is_kernel: bool = False


def with_meetings(text: str) -> str:
    """Return a source with meeting points before its accesses to volatile memory, line by line as
    it was; the source itself where there are none.

    Examples
    --------
    >>> print(with_meetings("__global__ void f(volatile int* x) { x[0] = 1; }"))
    __global__ void f(volatile int* x) { _KT_KERNEL(1) _KT_TARGET(0, x[0]) = 1; }
    """
    if not has_volatile(text):
        return text
    prepared = prepare(text)
    names = _Names()
    statements = _statement_macros(prepared)
    roots = [
        (parse(_with_semicolons(plain, statements)), words) for plain, words in prepared.variants()
    ]
    for root, words in roots:
        names.read(root, words)
    finder = _Finder(prepared, names)
    for root, _ in roots:
        finder.read(root)
    finder.read_macros()
    return finder.edited()


def _statement_macros(prepared: Prepared) -> re.Pattern[str] | None:
    """Return what finds uses of macros that stand for statements, semicolon included."""
    names = []
    for directive in prepared.directives:
        found = _DEFINED.match(prepared.text, directive.start, directive.end)
        if found is not None and found["replacement"].rstrip().endswith((";", "}")):
            names.append(found["name"])
    return re.compile(rf"(?<!\w)(?:{'|'.join(names)})(?!\w)") if names else None


def _with_semicolons(plain: str, statements: re.Pattern[str] | None) -> str:
    """Return a source with a semicolon behind each statement that is a macro, where there is a
    blank: without one the parser takes what follows for a part of it.
    """
    ends = []
    for use in statements.finditer(plain) if statements else ():
        arguments = re.compile(r"\s*\(").match(plain, use.end())
        end = closing_of(plain, arguments.end() - 1) + 1 if arguments else use.end()
        if end > 0 and plain[end : end + 1].isspace() and re.match(r"\s*[\w{*(]", plain[end:]):
            ends.append(end)
    for end in ends:
        plain = f"{plain[:end]};{plain[end + 1 :]}"
    return plain


def _text(node: Node) -> str:
    return (node.text or b"").decode("ascii")


def _is_volatile(node: Node) -> bool:
    return _VOLATILE.search(_text(node)) is not None


def _within(node: Node) -> Iterator[Node]:
    """Yield a node and what is in it."""
    yield node
    for child in node.children:
        yield from _within(child)


def _names_in(node: Node) -> Iterator[str]:
    for inner in _within(node):
        if inner.type in ("identifier", "field_identifier", "type_identifier"):
            yield _text(inner)


def _declarators(node: Node) -> Iterator[Node]:
    yield from node.children_by_field_name("declarator")


def _declared(node: Node) -> tuple[str, frozenset[str]]:
    """Return the name that a declarator declares, and the kinds of declarators around it."""
    kinds = set()
    current: Node | None = node
    while current is not None:
        kinds.add(current.type)
        if current.type in ("identifier", "field_identifier", "type_identifier"):
            return _text(current), frozenset(kinds)
        inner = current.child_by_field_name("declarator")
        if inner is None:
            kept = [
                c
                for c in current.named_children
                if "declarator" in c.type or c.type.endswith("identifier")
            ]
            inner = kept[-1] if kept and current.type.endswith("declarator") else None
        current = inner
    return "", frozenset(kinds)


class _Names:
    """The names that are declared with ``volatile``, by the function that declares them."""

    def __init__(self) -> None:
        self.types: set[str] = set()
        self.everywhere: set[str] = set()
        self.bit_fields: set[str] = set()
        self.direct: set[str] = set()  # which are volatile themselves, and do not only lead there
        self.scopes: dict[int, _Scope] = {}

    @property
    def all(self) -> set[str]:
        return self.everywhere.union(*(scope.shared for scope in self.scopes.values()))

    def scope(self, node: Node, outer: _Scope | None, name: str) -> _Scope:
        """Return a function's scope; the same in each variant of the source."""
        found = self.scopes.get(node.start_byte)
        if found is None:
            found = self.scopes[node.start_byte] = _Scope(name, outer)
        return found

    def read(self, root: Node, words: Sequence[Word]) -> None:
        """Read the declarations of a source, in which CUDA's attributes were."""
        self._words = words
        for node in _within(root):
            if node.type in ("type_definition", "alias_declaration") and self._mentions(node):
                declared = node.child_by_field_name("declarator") or node.child_by_field_name(
                    "name"
                )
                if declared is not None:
                    self.types.add(_declared(declared)[0])
        self._read(root, None)

    def _mentions(self, node: Node) -> bool:
        return _is_volatile(node) or any(name in self.types for name in _names_in(node))

    def _read(self, node: Node, scope: _Scope | None) -> None:
        if node.type in _FUNCTIONS:
            scope = self.scope(node, scope, _function_name(node))
            body = node.child_by_field_name("body")
            end = body.start_byte if body is not None else node.end_byte
            scope.is_kernel = self._has_words(node, end, _KERNEL)
            head = node.child_by_field_name("type")
            returned = node.child_by_field_name("declarator")
            if head is not None and returned is not None and self._qualified(node, returned):
                name, kinds = _declared(returned)
                if kinds & {"pointer_declarator", "reference_declarator"}:
                    self.everywhere.add(name)
        elif node.type in ("declaration", "field_declaration") or node.type.endswith(
            "parameter_declaration"
        ):
            self._declare(node, scope)
        for child in node.children:
            self._read(child, scope)

    def _qualified(self, node: Node, declarator: Node) -> bool:
        """Return whether a declaration's own type, or one of its declarators, is volatile."""
        own = [c for c in node.children if c.end_byte <= declarator.start_byte]
        value = declarator.child_by_field_name("value")
        return (
            any(map(self._mentions, own))
            or _VOLATILE.search(
                _text(declarator)[: value.start_byte - declarator.start_byte if value else None]
            )
            is not None
        )

    def _declare(self, node: Node, scope: _Scope | None) -> None:
        for declarator in _declarators(node):
            name, kinds = _declared(declarator)
            if any(child.type == "bitfield_clause" for child in node.children):
                self.bit_fields.add(name)
            value = declarator.child_by_field_name("value")
            is_auto = value is not None and _text(node).lstrip().startswith(("auto", "const auto"))
            known = scope is not None and (name in scope.shared)
            if is_auto and value is not None:
                found = _is_volatile(value) or any(
                    inner in self.everywhere or (scope is not None and _is_shared(inner, scope))
                    for inner in _names_in(value)
                )
                kinds |= {"pointer_declarator"}  # whatever it is: it may lead there
            else:
                found = self._qualified(node, declarator)
            if not name or not found:
                continue
            leads = kinds & {"pointer_declarator", "array_declarator"}
            if "reference_declarator" in kinds or not leads or _VOLATILE.search(_text(declarator)):
                self.direct.add(name)
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

    def is_candidate(self, name: str, scope: _Scope) -> bool:
        """Return whether a name may mean volatile memory in a function."""
        at: _Scope | None = scope
        while at is not None:
            if name in at.shared:
                return True
            if name in at.private:
                return False
            at = at.outer
        return name in self.everywhere


def _is_shared(name: str, scope: _Scope) -> bool:
    at: _Scope | None = scope
    while at is not None:
        if name in at.shared:
            return True
        at = at.outer
    return False


def _function_name(node: Node) -> str:
    """Return what a function is called by: of a lambda, the variable that it initialises."""
    if node.type == "lambda_expression":
        around = node.parent
        declared = around.child_by_field_name("declarator") if around is not None else None
        is_named = around is not None and around.type == "init_declarator" and declared is not None
        return _declared(declared)[0] if is_named and declared is not None else ""
    declared = node.child_by_field_name("declarator")
    while declared is not None and declared.type != "function_declarator":
        declared = declared.child_by_field_name("declarator") or next(
            (c for c in declared.named_children if "declarator" in c.type), None
        )
    inner = declared.child_by_field_name("declarator") if declared is not None else None
    return _last_name(inner) if inner is not None else ""


def _last_name(node: Node) -> str:
    """Return the last name of a qualified one, without template arguments: ``f`` of ``a::f<2>``."""
    if node.type in ("template_function", "qualified_identifier", "template_method"):
        inner = node.child_by_field_name("name")
        return _last_name(inner) if inner is not None else ""
    if node.type == "field_expression":
        inner = node.child_by_field_name("field")
        return _last_name(inner) if inner is not None else ""
    return _text(node) if node.type in ("identifier", "field_identifier") else ""


def _counted(points: list[_Edit], places: range) -> Iterator[int]:
    """Yield a number for each of some points of a line."""
    place = places.start
    for point in points:
        yield min(place, places.stop)
        place += 2 if point.macro == "_KT_TARGET" else 1  # it loads, then it stores


class _Finder:
    """Finds accesses, and writes meeting points before them."""

    def __init__(self, prepared: Prepared, names: _Names) -> None:
        self.prepared, self.names = prepared, names
        self.macros: list[_Scope] = []
        self._parameters: frozenset[str] = frozenset()  # of the macro that is read
        self._offset: int | None = None  # of a macro's replacement, from what is parsed for it
        # Lines that `#line` numbers anew: where it stands, and what it adds.
        self._renumbered = [
            (d.start, int(found[0]) - prepared.line_of(d.start) - 1)
            for d in prepared.directives
            if d.name == "line" and (found := re.match(r"\d+", d.argument))
        ]

    # -- what is where ---------------------------------------------------------------------------

    def read(self, node: Node) -> None:
        """Find the accesses in the functions of a source."""
        for child in node.children:
            body = child.child_by_field_name("body") if child.type in _FUNCTIONS else None
            if body is None:
                self.read(child)
                continue
            scope = self.names.scopes[child.start_byte]
            scope.start, scope.end = self._span(body) or (0, 0)
            self.visit(body, scope, ())

    def read_macros(self) -> None:
        """Find the accesses in the replacements of macros, of which parameters may be anything."""
        known = self.names.all
        for directive in self.prepared.directives:
            found = _DEFINED.match(self.prepared.text, directive.start, directive.end)
            if directive.name != "define" or found is None or "#" in found["replacement"]:
                continue
            names = set(_NAME.findall(found["replacement"]))
            is_meant = names & known or _VOLATILE.search(found["replacement"])
            if not is_meant and not self._is_given(found["name"], known):
                continue
            parameters = frozenset(_NAME.findall(found["parameters"] or ""))
            replacement = _CONTINUED.sub(lambda m: " " * len(m[0]), found["replacement"])
            replacement = re.sub(r"[^\x00-\x7f]", "u", replacement)
            root = parse(f"{_BEFORE}{replacement};}}")
            if root.has_error:
                continue
            function = root.children[0]
            scope = _Scope(found["name"], None, shared=known | parameters, is_macro=True)
            self._parameters, self._offset = parameters, found.start("replacement") - len(_BEFORE)
            body = function.child_by_field_name("body")
            if body is not None:
                self.visit(body, scope, ())
            self._parameters, self._offset = frozenset(), None
            self.macros.append(scope)

    def _is_given(self, macro: str, known: set[str]) -> bool:
        """Return whether a macro is used with arguments that mention volatile memory."""
        for use in re.finditer(rf"(?<!\w){macro}\s*\(([^;{{}}]*)", self.prepared.plain):
            if _VOLATILE.search(use[1]) or known & set(_NAME.findall(use[1])):
                return True
        return False

    def _span(self, node: Node) -> tuple[int, int] | None:
        """Return a node's characters in the source; None if they are not all its own."""
        start, end = node.start_byte, node.end_byte
        if self._offset is not None:
            return start + self._offset, end + self._offset
        first, last = self.prepared.start_of(start), self.prepared.end_of(end)
        is_own = last - first == end - start
        directives = self.prepared.directives
        return (
            (first, last)
            if is_own and not any(first < d.start < last for d in directives)
            else None
        )

    def _add(self, node: Node, macro: str, scope: _Scope, key: _Key) -> None:
        if span := self._span(node):
            scope.edits.append(_Edit(*span, macro, key))

    def _at(self, position: int) -> float:
        return float(
            position + self._offset
            if self._offset is not None
            else self.prepared.start_of(position)
        )

    def _key(self, node: Node, around: _Key) -> _Key:
        return (*around, self._at(node.start_byte))

    def _late_key(self, node: Node, around: _Key) -> _Key:
        """Return the key of what happens when all in an expression has been computed."""
        return (*around, self._at(node.end_byte), -self._at(node.start_byte))

    def visit(self, node: Node, scope: _Scope, around: _Key, is_read: bool = True) -> None:
        """Find the accesses of a statement or an expression.

        Parameters
        ----------
        node : Node
        scope : _Scope
        around : tuple of float
            What the keys of points in here begin with.
        is_read : bool
            Whether the expression's value is wanted, instead of its address or its place.
        """
        kind = node.type
        if kind in _PASSED_OVER:
            return
        if kind == "lambda_expression":
            body = node.child_by_field_name("body")
            if body is not None:
                self.visit(body, self.names.scopes.get(node.start_byte, scope), ())
        elif kind in _LOOPS:
            self._visit_loop(node, scope, around)
        elif kind == "assignment_expression":
            self._visit_assignment(node, scope, around)
        elif kind == "update_expression":
            argument = node.child_by_field_name("argument")
            if argument is not None:
                self._visit_target(argument, scope, around, self._late_key(node, around))
        elif kind == "call_expression":
            if is_read and self._is_access(node, scope):  # it returns a reference
                self._add(node, "_KT_LOAD", scope, self._late_key(node, around))
            self._visit_call(node, scope, around)
        elif kind == "pointer_expression" and _text(node).startswith("&"):
            for child in node.named_children:
                self.visit(child, scope, around, False)
        elif kind in _PATHS or kind == "pointer_expression":
            if is_read and self._is_access(node, scope):
                self._add(node, "_KT_LOAD", scope, self._key(node, around))
            self._visit_path(node, scope, around)
        elif kind == "parenthesized_expression":
            for child in node.named_children:
                self.visit(child, scope, around, is_read)
        elif kind == "declaration":
            for declarator in _declarators(node):
                value = declarator.child_by_field_name("value")
                if value is not None:
                    self.visit(value, scope, around)
                elif declarator.type == "function_declarator":
                    self._visit_initialiser(declarator, scope, around)
            condition = node.child_by_field_name("value")  # of a variable in a condition
            if condition is not None:
                self.visit(condition, scope, around)
        else:
            for child in node.named_children:
                self.visit(child, scope, around)

    def _visit_initialiser(self, node: Node, scope: _Scope, around: _Key) -> None:
        """Find the access of ``int v(s[i]);``, which the parser takes for a function's prototype
        with an array of type ``s``.
        """
        parameters = node.child_by_field_name("parameters")
        for parameter in parameters.named_children if parameters is not None else ():
            name = parameter.child_by_field_name("type")
            if name is not None and name.type == "type_identifier":
                is_element = parameter.child_by_field_name("declarator") is not None
                is_known = is_element or _text(name) in self.names.direct
                if is_known and self._may_be(_text(name), scope):
                    self._add(parameter, "_KT_LOAD", scope, self._key(parameter, around))

    def _visit_path(self, node: Node, scope: _Scope, around: _Key) -> None:
        """Find the accesses that lead to a variable."""
        if node.type == "subscript_expression" or node.type == "pointer_expression":
            for child in node.named_children:
                # What only names an array, or a pointer that is no volatile one, is no access.
                plain = child.type == "identifier" and child == node.child_by_field_name("argument")
                self.visit(child, scope, around, not plain)
        elif node.type == "field_expression":
            argument = node.child_by_field_name("argument")
            operator = node.child_by_field_name("operator")
            if argument is not None:
                arrow = operator is not None and _text(operator) == "->"
                self.visit(argument, scope, around, arrow and argument.type != "identifier")

    def _visit_assignment(self, node: Node, scope: _Scope, around: _Key) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if right is not None:
            self.visit(right, scope, around)
        if left is not None:
            self._visit_target(left, scope, around, self._late_key(node, around))

    def _visit_target(self, node: Node, scope: _Scope, around: _Key, key: _Key) -> None:
        inner = node
        while inner.type == "parenthesized_expression" and inner.named_child_count == 1:
            inner = inner.named_children[0]
        if inner.type in _PATHS or inner.type == "pointer_expression":
            bare = inner.type == "identifier" and _text(inner) in self._parameters
            if bare or self._is_access(inner, scope):
                # No reference can be bound to a bit-field.
                member = inner.child_by_field_name("field")
                is_bits = member is not None and _text(member) in self.names.bit_fields
                self._add(node, "_KT_LOAD" if is_bits else "_KT_TARGET", scope, key)
            self._visit_path(inner, scope, around)
        else:
            if inner.type == "call_expression" and self._is_access(inner, scope):
                self._add(node, "_KT_TARGET", scope, key)
            self.visit(node, scope, around, False)

    def _visit_call(self, node: Node, scope: _Scope, around: _Key) -> None:
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        if arguments is not None:
            for child in arguments.named_children:
                self.visit(child, scope, around)
        if function is None:
            return
        if function.type == "field_expression":
            self._visit_path(function, scope, around)
        elif function.type not in ("identifier", "qualified_identifier", "template_function"):
            self.visit(function, scope, around)
        name = _last_name(function)
        key = self._late_key(node, around)
        meets = _WHOEVER.fullmatch(name) is not None
        if not meets and _ATOMIC.fullmatch(name) and arguments is not None:
            meets = _is_volatile(arguments) or self._mentions(arguments, scope)
        if meets:
            self._add(node, "_KT_MEET", scope, key)
        elif name and (span := self._span(node)):
            scope.calls.append((name, *span, key))

    def _visit_loop(self, node: Node, scope: _Scope, around: _Key) -> None:
        """Find the accesses of a loop; its condition and what is behind it come after its body."""
        condition = node.child_by_field_name("condition")
        update = node.child_by_field_name("update")
        late = (*around, self._at(node.end_byte) - 0.5)
        for child in node.named_children:
            if child == condition:
                continue
            self.visit(child, scope, (*late, 0.0) if child == update else around)
        value = condition
        if condition is not None and condition.type in (
            "condition_clause",
            "parenthesized_expression",
        ):
            value = condition.child_by_field_name("value") or next(
                iter(condition.named_children), None
            )
        if value is not None and value.type.endswith("declaration"):
            self.visit(value, scope, (*late, 2.0))
            return
        if value is not None:
            self.visit(value, scope, (*late, 2.0))
            at = self._span(value)
        else:  # for (;;)
            body = node.child_by_field_name("body")
            marks = [
                c for c in node.children if c.type == ";" and body and c.end_byte <= body.start_byte
            ]
            at = self._span(marks[-1]) if marks else None
            at = (at[0], at[0]) if at else None
        whole = self._span(node)
        if at and whole:
            scope.loops.append((*whole, _Edit(*at, "_KT_MEET", (*late, 1.0))))

    def _is_access(self, node: Node, scope: _Scope) -> bool:
        """Return whether an expression may read or write volatile memory, and can be asked."""
        if node.type in ("identifier", "qualified_identifier"):
            name = _last_name(node)
            return name in self.names.direct and self._may_be(name, scope)
        if any(inner.type == "lambda_expression" for inner in _within(node)):
            return False  # `decltype` takes none
        return self._is_candidate(node, scope)

    def _is_candidate(self, node: Node, scope: _Scope) -> bool:
        """Return whether an expression may be volatile, from the names that lead to it."""
        if node.type in ("identifier", "qualified_identifier"):
            return self._may_be(_last_name(node), scope)
        if node.type in ("subscript_expression", "field_expression"):
            argument, name = node.child_by_field_name("argument"), node.child_by_field_name("field")
            if name is not None and _text(name) in self.names.everywhere:
                return True
            return argument is not None and self._is_candidate(argument, scope)
        if node.type == "call_expression":
            function = node.child_by_field_name("function")
            if function is None:
                return False
            return _is_volatile(function) or self._may_be(_last_name(function), scope)
        return _is_volatile(node) or self._mentions(node, scope)

    def _may_be(self, name: str, scope: _Scope) -> bool:
        """Return whether a name may lead to volatile memory."""
        return self.names.is_candidate(name, scope)

    def _mentions(self, node: Node, scope: _Scope) -> bool:
        return any(self._may_be(n, scope) or n in self.names.types for n in _names_in(node))

    # -- what is written -------------------------------------------------------------------------

    def edited(self) -> str:
        """Return the source with its meeting points."""
        scopes = [*self.names.scopes.values(), *self.macros]
        meeting = {scope.name for scope in scopes if scope.edits}
        while more := self._callers(scopes, meeting) - meeting:
            meeting |= more
        opened: dict[int, list[tuple[int, str]]] = {}
        closed: dict[int, int] = {}
        text = self.prepared.text
        for scope in scopes:
            for edit, number in self._numbered(scope, meeting):
                begin = f"{edit.macro}({number}, "
                if edit.start == edit.end:
                    begin += "true)"
                else:
                    closed[edit.end] = closed.get(edit.end, 0) + 1
                opened.setdefault(edit.start, []).append((edit.end, begin))
        uses, offsets = self._uses(meeting), sorted(opened)
        for scope in scopes:
            index = bisect_right(offsets, scope.start)
            has_points = index < len(offsets) and offsets[index] < scope.end
            if has_points or (uses and uses.search(text, scope.start, scope.end)):
                macro = "_KT_KERNEL" if scope.is_kernel else "_KT_FUNCTION"
                begin = f" {macro}({self._line_of(scope.start)})"
                opened.setdefault(scope.start + 1, []).append((len(text), begin))
        parts: list[str] = []
        position = 0
        for offset in sorted({*opened, *closed}):
            parts += text[position:offset], ")" * closed.get(offset, 0)
            # Of those that begin here the widest is around the others.
            parts += [
                begin for _, begin in sorted(opened.get(offset, ()), key=lambda pair: -pair[0])
            ]
            position = offset
        return "".join((*parts, text[position:]))

    def _callers(self, scopes: list[_Scope], meeting: set[str]) -> set[str]:
        """Return the functions and macros that call others with meeting points."""
        found = {scope.name for scope in scopes if any(call[0] in meeting for call in scope.calls)}
        pattern = self._uses(meeting)
        if pattern:
            found |= {s.name for s in scopes if pattern.search(self.prepared.text, s.start, s.end)}
        return found - {""}

    def _uses(self, meeting: set[str]) -> re.Pattern[str] | None:
        """Return what finds uses of macros with meeting points."""
        names = [scope.name for scope in self.macros if scope.name in meeting]
        return re.compile(rf"(?<!\w)(?:{'|'.join(names)})(?!\w)") if names else None

    def _numbered(self, scope: _Scope, meeting: set[str]) -> list[tuple[_Edit, str]]:
        """Return the points of a function with their numbers, each once."""
        edits = {(e.start, e.end, e.macro): e for e in scope.edits}
        uses = self._uses(meeting)
        for name, start, end, key in scope.calls:
            if name in meeting and not (uses and uses.fullmatch(name)):
                edits.setdefault((start, end, "_KT_CALL"), _Edit(start, end, "_KT_CALL", key))
        for start, end, point in scope.loops:
            if any(start <= e.start and e.end <= end for e in edits.values()) or (
                uses and uses.search(self.prepared.text, start, end)
            ):
                edits[point.start, point.end, "loop"] = point
        points = sorted(edits.values(), key=lambda e: e.key)
        if scope.is_macro:
            return [
                (point, f"(__LINE__ - _kt_first_line) * {_POINTS} + {place}")
                for point, place in zip(points, _counted(points, _OF_MACRO), strict=True)
            ]
        expanded = uses.finditer(self.prepared.text, scope.start, scope.end) if uses else ()
        macros = [(float(use.start()),) for use in expanded]
        first = self._line_of(scope.start)
        lines: dict[int, tuple[list[_Edit], list[_Edit]]] = {}
        last = 0
        for point in points:
            last = max(last, self._line_of(int(point.key[0])) - first)
            before, behind = lines.setdefault(last, ([], []))
            here = [use for use in macros if self._line_of(int(use[0])) - first == last]
            (behind if any(use < point.key for use in here) else before).append(point)
        return [
            (point, str(min(line, _MOST_LINES) * _POINTS + place))
            for line, (before, behind) in lines.items()
            for some, places in ((before, _BEFORE_MACRO), (behind, _BEHIND_MACRO))
            for point, place in zip(some, _counted(some, places), strict=True)
        ]

    def _line_of(self, offset: int) -> int:
        """Return the line of a character as the compiler counts it."""
        line = self.prepared.line_of(offset)
        index = bisect_right(self._renumbered, (offset, 0)) - 1
        return line + (self._renumbered[index][1] if index >= 0 else 0)
