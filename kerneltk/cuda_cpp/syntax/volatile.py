"""A pass over CUDA C++ source that puts meeting points before its accesses to volatile memory.

GPUs before Volta run the lanes of a warp in step, and programs for them exchange values through
volatile memory without a barrier. On CPU cores lanes run one after the other. So a macro of
``kerneltk/host_volatile.hpp`` stands before each access and lets the lanes of a warp wait for each
other.

The pass finds expressions by the names in them, those that are declared with ``volatile``, and by
casts. It may find too many: the compiler knows each one's type, and drops what is not volatile.
A thread's own variables stay as they are: no other lane reads them.

A point in each loop keeps lanes in the same round of it. Macros are expanded before, so that each
access has a point of its own.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kerneltk.core.lexer import with_edits
from kerneltk.cuda_cpp.syntax.declarations import Meetings, Unmarked
from kerneltk.cuda_cpp.syntax.preprocess import Prepared, prepare
from kerneltk.cuda_cpp.syntax.preprocessor.macros import with_expanded_macros
from kerneltk.cuda_cpp.syntax.tree import LOOPS, Lines, SourceTree, source_of, within
from kerneltk.cuda_cpp.syntax.volatile_names import (
    FUNCTIONS,
    VOLATILE,
    Names,
    Point,
    Scope,
    has_volatile,
    last_name,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

_NAME = re.compile(r"[^\W\d]\w*")
_ELEMENT = re.compile(r"\[|->|(?:\A|[=(,;{&|!+/%<>?:-])\s*\*|[^=!<>]=(?!=)|\+\+|--")
_TYPEOF = re.compile(r"(?<!\w)(?:__typeof__|__typeof)(?=\s*\()")
_PATHS = frozenset(
    ("identifier", "qualified_identifier", "subscript_expression", "field_expression",
     "pointer_expression")
)  # fmt: skip
# Nothing in these is evaluated, or nothing may be put there.
_PASSED_OVER = frozenset(
    ("sizeof_expression", "alignof_expression", "decltype", "gnu_asm_expression",
     "template_argument_list", "static_assert_declaration", "noexcept", "type_descriptor",
     "attribute_declaration", "attribute_specifier", "case_statement_value", "alignas_qualifier",
     "template_parameter_list", "requires_clause", "preproc_call")
)  # fmt: skip
# Those that read and write in one step, and those of a warp that name no lanes.
_ATOMIC = re.compile(r"atomic[A-Z]\w*")
_WHOEVER = re.compile(r"__(?:any|all|ballot|activemask|shfl(?:_up|_down|_xor)?)")


def with_meetings(
    source: str, directives: Sequence[str] = (), instantiated: Iterable[str] = ()
) -> Meetings:
    """Return a source with meeting points before its accesses to volatile memory.

    Parameters
    ----------
    directives : sequence of str
        Lines that the compiler reads before it, such as macros that options define.
    instantiated : iterable of str
        The templates that are instantiated with volatile types from elsewhere.

    Examples
    --------
    >>> print(with_meetings("__global__ void f(volatile int* x) { x[0] = 1; }").source)
    __global__ void f(volatile int* x) { _KT_KERNEL(1) _KT_TARGET(0, x[0]) = 1; }
    """
    head = "".join(f"{line}\n" for line in (*directives, "#line 1")) if directives else ""
    instantiated = tuple(instantiated)
    if not instantiated and not has_volatile(head + source):
        return Meetings(source)
    expanded = with_expanded_macros(head + source)
    prepared = prepare(expanded.source)
    # The standard's word for a compiler's own one.
    trees = [
        SourceTree(prepared, _TYPEOF.sub(lambda m: "decltype".ljust(len(m[0])), plain), words)
        for plain, words in prepared.variants()
    ]
    names = Names(trees, instantiated)
    finder = _Finder(prepared, names, expanded.left)
    for tree in trees:
        finder.read(tree.root)
    edited = _with_points(prepared.source, list(names.scopes.values()), names.variables)
    lines = Lines(prepared)
    unmarked = {
        Unmarked(*lines.location_of(offset), reason): None
        for offset, reason in sorted(finder.unmarked)
    }
    is_same = edited == expanded.source
    return Meetings(
        source if is_same else edited.split("\n", head.count("\n"))[-1], tuple(unmarked)
    )


class _Finder:
    """Finds accesses.

    Parameters
    ----------
    macros : mapping of str to str
        What the macros stand for that are left in the source.

    Attributes
    ----------
    unmarked : list of (int, str)
        Where in the source an access cannot have a point, and why.
    """

    def __init__(self, prepared: Prepared, names: Names, macros: Mapping[str, str]) -> None:
        self.prepared, self.names, self.macros = prepared, names, macros
        self.unmarked: list[tuple[int, str]] = []
        self.directives = [directive.start for directive in prepared.directives]

    def read(self, node: Node) -> None:
        """Find the accesses in the functions of a source."""
        for child in node.children:
            if child.type in FUNCTIONS:
                self.read_function(child)
                continue
            value = child.child_by_field_name("default_value")
            if child.type == "field_declaration" and value is not None:
                self._probe(None).report(value, "in a member's initializer")
            self.read(child)

    def read_function(self, node: Node) -> None:
        """Find the accesses in a function or a lambda."""
        scope, body = self.names.scopes[node.start_byte], node.child_by_field_name("body")
        if body is None:
            return
        scope.start = self.prepared.start_of(body.start_byte)
        scope.end = self.prepared.end_of(body.end_byte)
        probe = self._probe(scope)
        for part in node.children:
            if part.type == "field_initializer_list":
                probe.report_initializers(part)
            for inner in within(part) if part != body else ():
                if inner.type == "optional_parameter_declaration":
                    probe.report(inner, "in a default argument")
        reader = _Reader(self, scope)
        reader.visit(body)
        _merge(scope.points, reader.points)
        is_access = any(not point.called and not point.loop for point in reader.points)
        if is_access and not scope.name and node.type != "lambda_expression":
            self.unmarked.append((scope.start, "in a destructor or an operator"))

    def _probe(self, scope: Scope | None) -> _Reader:
        return _Reader(self, Scope("", scope))


def _merge(known: list[Point], found: list[Point]) -> None:
    """Add the points of a function in another branch of the source to those that are known, behind
    those that they come behind.
    """
    places = {point: number for number, point in enumerate(known)}
    merged: list[Point] = []
    position = 0
    for point in dict.fromkeys(found):
        if point in places:
            merged += known[position : places[point] + 1]
            position = max(position, places[point] + 1)
        else:
            merged.append(point)
    known[:] = [*merged, *known[position:]]


class _Reader:
    """Finds the accesses of one function, in the order in which they are executed."""

    def __init__(self, finder: _Finder, scope: Scope) -> None:
        self.points: list[Point] = []
        self._finder, self._scope = finder, scope
        self._prepared, self._names = finder.prepared, finder.names

    # -- what cannot have a point ----------------------------------------------------------------

    def _refuse(self, node: Node, reason: str) -> None:
        self._finder.unmarked.append((self._prepared.start_of(node.start_byte), reason))

    def report(self, node: Node, reason: str, is_read: bool = True) -> None:
        """Report a node, of which nothing can be marked, if there is an access in it."""
        probe = _Reader(self._finder, self._scope)
        probe.visit(node, is_read)
        if any(not point.called for point in probe.points):
            self._refuse(node, reason)

    def report_initializers(self, node: Node) -> None:
        """Report the accesses of a constructor's initializers: what a reference is bound to is not
        read there.
        """
        for initializer in node.named_children:
            is_bound = last_name(initializer.named_child(0)) in self._names.references
            for part in initializer.named_children[1:]:
                for given in part.named_children:
                    self.report(given, "in a constructor's initializers", not is_bound)

    def _report_macro(self, node: Node, name: str) -> None:
        """Report the use of a macro that is left, if it may access volatile memory."""
        replacement = self._finder.macros.get(name, "")
        if _ELEMENT.search(replacement) and (
            VOLATILE.search(replacement)
            or self._mentions(node)
            or any(self._leads(used) for used in _NAME.findall(replacement))
        ):
            self._refuse(
                node, "by a macro that is pushed, makes strings or is defined under a condition"
            )

    # -- points ----------------------------------------------------------------------------------

    def _span(self, node: Node) -> tuple[int, int] | None:
        """Return a node's characters in the source; None if they are not all its own."""
        first = self._prepared.start_of(node.start_byte)
        last = self._prepared.end_of(node.end_byte)
        is_own = last - first == node.end_byte - node.start_byte
        return (first, last) if is_own and not self._has_directive(first, last) else None

    def _has_directive(self, first: int, last: int) -> bool:
        starts = self._finder.directives
        return bisect_right(starts, first) < bisect_left(starts, last)

    def _add(self, node: Node, macro: str, called: str = "") -> None:
        span = self._span(node)
        if span is not None:
            self.points.append(Point(*span, macro, called))
        elif not called and macro != "_KT_MEET":
            self._refuse(node, "around a line of the preprocessor")

    def _add_round(self, loop: Node) -> None:
        """Add the point before each round of a loop. Lanes that begin a round wait there for those
        that are in the one before: its number is behind those of the body.
        """
        body, prepared = loop.child_by_field_name("body"), self._prepared
        if body is not None:
            whole = prepared.start_of(loop.start_byte), prepared.end_of(loop.end_byte)
            start, end = prepared.start_of(body.start_byte), prepared.end_of(body.end_byte)
            self.points.append(Point(start, end, "_KT_ROUND", loop=whole))

    def visit(self, node: Node | None, is_read: bool = True) -> None:
        """Find the accesses of a statement or an expression.

        Parameters
        ----------
        is_read : bool
            Whether the expression's value is wanted, instead of its address or an lvalue.
        """
        if node is None:
            return
        kind = node.type
        if kind in _PASSED_OVER:
            for operand in within(node) if kind == "gnu_asm_expression" else ():
                if operand.type in ("gnu_asm_output_operand", "gnu_asm_input_operand"):
                    self.report(operand, "of an asm statement")
        elif kind == "lambda_expression":
            self._visit_lambda(node)
        elif kind == "for_range_loop":
            self._visit_range(node)
        elif kind in LOOPS:
            self._visit_loop(node)
        elif kind == "assignment_expression":
            self.visit(node.child_by_field_name("right"))
            self._visit_target(node.child_by_field_name("left"))
        elif kind == "update_expression":
            self._visit_target(node.child_by_field_name("argument"))
        elif kind == "call_expression":
            self._visit_call(node, is_read)
        elif kind == "pointer_expression" and source_of(node).startswith("&"):
            self._visit_all(node.named_children, False)
        elif kind in _PATHS:
            if is_read and self._is_access(node):
                self._add(node, "_KT_LOAD")
            self._visit_path(node)
        elif kind == "parenthesized_expression":
            self._visit_all(node.named_children, is_read)
        elif kind == "declaration":
            self._visit_declaration(node)
        else:
            if kind == "ERROR" and _ELEMENT.search(source_of(node)) and self._mentions(node):
                self._refuse(node, "where the parser is lost")
            self._visit_all(node.named_children)

    def _visit_all(self, nodes: Iterable[Node], is_read: bool = True) -> None:
        for node in nodes:
            self.visit(node, is_read)

    def _visit_lambda(self, node: Node) -> None:
        for inner in within(node.child_by_field_name("captures") or node):
            if inner.type == "lambda_capture_initializer":
                self.visit(inner.child_by_field_name("right"))
        self._finder.read_function(node)

    def _visit_declaration(self, node: Node) -> None:
        for declarator in node.children_by_field_name("declarator"):
            self.visit(declarator.child_by_field_name("value"))
            if declarator.type == "function_declarator":
                self._visit_initializer(declarator)
        self.visit(node.child_by_field_name("value"))  # of a variable in a condition
        # Before a declaration in a block a statement can stand that says where a constructor is
        # called.
        name = last_name(node.child_by_field_name("type"))
        if name and node.parent is not None and node.parent.type == "compound_statement":
            self._add(node, "_KT_CONSTRUCT", name)

    def _visit_initializer(self, node: Node) -> None:
        """Find the access of ``int v(s[i]);``, which the parser takes for a function's prototype
        with an array of type ``s``.
        """
        parameters = node.child_by_field_name("parameters")
        for parameter in parameters.named_children if parameters is not None else ():
            name = parameter.child_by_field_name("type")
            if name is not None and name.type == "type_identifier":
                is_element = parameter.child_by_field_name("declarator") is not None
                is_known = is_element or source_of(name) in self._names.qualified
                if is_known and self._leads(source_of(name)):
                    self._add(parameter, "_KT_LOAD")

    def _visit_path(self, node: Node) -> None:
        """Find the accesses that lead to a variable."""
        argument = node.child_by_field_name("argument")
        if node.type in ("subscript_expression", "pointer_expression"):
            for child in node.named_children:
                # What only names an array, or a pointer that is no volatile one, is no access.
                self.visit(child, child.type != "identifier" or child != argument)
        elif node.type == "field_expression" and argument is not None:
            is_arrow = source_of(node)[argument.end_byte - node.start_byte :].lstrip()[:2] == "->"
            self.visit(argument, is_arrow and argument.type != "identifier")
        elif node.type == "identifier":
            self._report_macro(node, source_of(node))

    def _visit_target(self, node: Node | None) -> None:
        inner = node
        while inner is not None and inner.type == "parenthesized_expression":
            inner = inner.named_child(0)
        if node is None or inner is None:
            return
        if inner.type in _PATHS:
            self._visit_path(inner)
            if self._is_access(inner):
                # No reference can be bound to a bit-field.
                member = last_name(inner.child_by_field_name("field"))
                is_bits = member in self._names.bit_fields
                self._add(node, "_KT_LOAD" if is_bits else "_KT_TARGET")
        else:
            self.visit(node, False)
            if inner.type == "call_expression" and self._is_access(inner):
                self._add(node, "_KT_TARGET")

    def _visit_call(self, node: Node, is_read: bool) -> None:
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        if function is None or arguments is None:
            return
        self._visit_all(arguments.named_children)
        if function.type == "field_expression":
            self._visit_path(function)
        elif function.type not in ("identifier", "qualified_identifier", "template_function"):
            self.visit(function)
        if is_read and self._is_access(node):  # it returns a reference
            self._add(node, "_KT_LOAD")
        name = last_name(function)
        self._report_macro(node, name)
        if _WHOEVER.fullmatch(name) or (_ATOMIC.fullmatch(name) and self._mentions(arguments)):
            self._add(node, "_KT_MEET")
        elif name:
            self._add(node, "_KT_CALL", name)

    def _visit_loop(self, node: Node) -> None:
        """Find the accesses of a loop; its condition and what is behind it come after its body."""
        late = node.child_by_field_name("update"), node.child_by_field_name("condition")
        self._visit_all(child for child in node.named_children if child not in late)
        self.visit(late[0])
        self._add_round(node)
        self.visit(late[1])

    def _visit_range(self, node: Node) -> None:
        """Find the accesses of a range-based loop. Where it copies elements, none can be marked."""
        declared, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        values = node.child_by_field_name("right")
        if values is not None:
            self.visit(values, False)
            is_copied = declared is not None and declared.type != "reference_declarator"
            if is_copied and self._mentions(values):
                self._refuse(node, "that a range-based loop copies")
        self.visit(body)
        self._add_round(node)

    # -- which expressions may be volatile -------------------------------------------------------

    def _leads(self, name: str) -> bool:
        return self._names.leads(name, self._scope)

    def _mentions(self, node: Node) -> bool:
        return self._names.mentions(source_of(node), self._scope)

    def _is_access(self, node: Node) -> bool:
        """Return whether an expression may read or write volatile memory, and can be asked."""
        if node.type in ("identifier", "qualified_identifier"):
            return last_name(node) in self._names.qualified and self._leads(last_name(node))
        if not self._is_candidate(node):
            return False
        if any(inner.type == "lambda_expression" for inner in within(node)):
            self._refuse(node, "with a lambda in it")  # `decltype` takes none
            return False
        return True

    def _is_candidate(self, node: Node | None) -> bool:
        """Return whether an expression may be volatile, from the names that lead to it."""
        if node is None:
            return False
        if node.type in ("identifier", "qualified_identifier"):
            return self._leads(last_name(node))
        if node.type in ("subscript_expression", "field_expression"):
            indices = node.child_by_field_name("indices")
            return (
                last_name(node.child_by_field_name("field")) in self._names.everywhere
                or self._is_candidate(node.child_by_field_name("argument"))
                or (indices is not None and any(map(self._is_pointer, indices.named_children)))
            )
        if node.type == "call_expression":
            function = node.child_by_field_name("function")
            if function is None or function.type == "lambda_expression":
                return False
            return self._names.names_type(source_of(function)) or self._leads(last_name(function))
        return self._mentions(node)

    def _is_pointer(self, node: Node) -> bool:
        """Return whether an index may be the pointer: ``1[s]``, ``1[s + i]``."""
        if node.type == "identifier":
            return self._leads(source_of(node))
        return node.type in ("parenthesized_expression", "binary_expression") and any(
            map(self._is_pointer, node.named_children)
        )


# -- numbers of points -----------------------------------------------------------------------------
#
# A number says how far in its function a point is. Numbers follow the order of execution: what is
# assigned comes before where it goes, a loop's condition behind its body.


def _with_points(source: str, scopes: Sequence[Scope], variables: Collection[str]) -> str:
    """Return a source with the points of its functions.

    Parameters
    ----------
    variables : collection of str
        The names of variables: what a call of one leads to is not known.
    """
    unknown = set(variables).difference(scope.name for scope in scopes)
    meeting: set[str] = set()  # the functions with points, and those that call them
    count = -1
    while count < (count := len(meeting)):
        meeting |= {scope.name for scope in scopes if _counted(scope, meeting)}
        meeting |= unknown if meeting else set()
    # What stands at a position: of what begins there the widest first, behind what ends there.
    texts: list[tuple[int, int, str]] = []
    for scope in scopes:
        points = _counted(scope, meeting)
        numbers: dict[Point, int] = {}
        following = 0
        for point in points:
            numbers[point] = following
            following += 2 if point.macro == "_KT_TARGET" else 1  # it loads, then it stores
        outer_calls = dict(_outer_calls(points))
        for point, number in numbers.items():
            outer = outer_calls.get(point)
            begin = f"{point.macro}({number}, "
            if outer is not None and point.macro == "_KT_CALL":
                begin = f"_KT_ARGUMENT({number}, {numbers[outer]}, "
            if point.macro in ("_KT_CONSTRUCT", "_KT_ROUND"):
                begin += "true) "
            else:
                texts.append((point.end, -len(source) - 1, ")"))
            texts.append((point.start, -point.end, begin))
        if points and source[scope.start] == "{":
            macro = "_KT_KERNEL" if scope.is_kernel else "_KT_FUNCTION"
            begin = f" {macro}({max(following - 1, 1).bit_length()})"
            texts.append((scope.start + 1, -len(source), begin))
    texts.sort(key=lambda text: text[:2])
    return with_edits(source, ((at, at, text) for at, _, text in texts))


def _counted(scope: Scope, meeting: Collection[str]) -> list[Point]:
    """Return the points of a function that count, where these functions have points."""
    inner = [p for p in scope.points if not p.loop and (not p.called or p.called in meeting)]
    known = set(inner)
    known.update(p for p in scope.points if p.loop and any(_is_within(q, *p.loop) for q in inner))
    return [point for point in scope.points if point in known]


def _is_within(point: Point, start: int, end: int) -> bool:
    return start <= point.start and point.end <= end


def _outer_calls(points: Iterable[Point]) -> Iterator[tuple[Point, Point]]:
    """Yield each call that is in another one, and the innermost one around it."""
    around: list[Point] = []
    for call in sorted((p for p in points if p.called), key=lambda p: (p.start, -p.end)):
        while around and not _is_within(call, around[-1].start, around[-1].end):
            around.pop()
        if around:
            yield call, around[-1]
        around.append(call)
