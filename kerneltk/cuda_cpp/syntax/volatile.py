"""A pass over CUDA C++ source that puts meeting points before its accesses to volatile memory.

GPUs before Volta run the lanes of a warp in step, and programs for them exchange values through
volatile memory without a barrier. On CPU cores lanes run one after the other. So a macro of
``kerneltk/host_volatile.hpp`` stands before each access and lets the lanes of a warp wait for each
other.

The pass finds expressions by the names in them, those that are declared with ``volatile``, and by
casts. It may find too many: the compiler knows each one's type, and drops what is not volatile.
A thread's own variables stay as they are: no other lane reads them.

A point in each loop keeps lanes in the same round of it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kerneltk.core.lexer import COMMENT
from kerneltk.cuda_cpp.syntax.declarations import Meetings, Unmarked
from kerneltk.cuda_cpp.syntax.preprocess import (
    Directive,
    Prepared,
    behind_parentheses,
    closing_of,
    prepare,
    split_arguments,
)
from kerneltk.cuda_cpp.syntax.tree import LOOPS, parse, source_of, within
from kerneltk.cuda_cpp.syntax.volatile_names import (
    FUNCTIONS,
    VOLATILE,
    Edit,
    Key,
    Names,
    Scope,
    all_declared,
    declarators,
    has_volatile,
    is_volatile,
    last_name,
    names_in,
)
from kerneltk.cuda_cpp.syntax.volatile_points import PointWriter

if TYPE_CHECKING:
    from tree_sitter import Node

_NAME = re.compile(r"[^\W\d]\w*")
_DEFINED = re.compile(
    r"[ \t]*#[ \t]*define[ \t]+(?P<name>[^\W\d]\w*)(?:\((?P<parameters>[^()]*)\))?"
    r"(?P<replacement>.*)",
    re.DOTALL,
)
_CONTINUED = re.compile(rf"\\\r?\n|{COMMENT}|(?<=\")(?:\\.|[^\"\\\n])*(?=\")", re.DOTALL)
_LAST_USE = re.compile(r"([^\W\d]\w*)\s*(?:\([^()]*\))?\Z")
_PASTED = re.compile(r"(?<=\w)\s*##\s*(?=\w)")
_STRINGIZED = re.compile(r"#\s*\w+|##")
_ELEMENT = re.compile(r"([^\W\d]\w*)\s*(?:\[|->)|(?:\A|[=(,;{&|!+/%<>?:-])\s*\*\s*([^\W\d]\w*)")
_CAST = re.compile(
    r"\(\s*(?:const\s+)?volatile\b[^();]*\*\s*\)|<\s*(?:const\s+)?volatile\b[^<>;]*\*\s*>"
)
_BEFORE = "void f() {"
_TYPEOF = re.compile(r"(?<!\w)(?:__typeof__|__typeof)(?=\s*\()")
_PATHS = frozenset(
    ("identifier", "qualified_identifier", "subscript_expression", "field_expression")
)
_LVALUES = _PATHS | {
    "pointer_expression", "call_expression", "cast_expression", "conditional_expression",
}  # fmt: skip
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
    __global__ void f(volatile int* x) { _KT_KERNEL(1, 1) _KT_TARGET(0, x[0]) = 1; }
    """
    head = "".join(f"{line}\n" for line in (*directives, "#line 1")) if directives else ""
    instantiated = tuple(instantiated)
    if not instantiated and not has_volatile(head + source):
        return Meetings(source, tuple(directives))
    prepared = prepare(head + source, types=VOLATILE)
    names = Names(instantiated)
    macros = list(_macros(prepared))
    statements = _statement_macros(macros)
    roots = [
        (parse(_with_semicolons(_with_decltype(plain), statements)), words)
        for plain, words in prepared.variants()
    ]
    _read_declaring_macros(prepared, macros, names)
    names.read_all(roots)
    _read_leading_macros(macros, names)
    finder = _Finder(prepared, names, statements)
    for root, _ in roots:
        finder.read(root)
    finder.read_macros(macros)
    writer = PointWriter(prepared, list(names.scopes.values()), finder.macros, names.variables)
    *before, edited = writer.edited().split("\n", head.count("\n"))
    unmarked: dict[Unmarked, None] = {}
    for offset, reason in sorted(finder.unmarked):
        file, line = writer.location_of(offset)
        if offset < len(head):
            file = "compile options"
        unmarked[Unmarked(file, line, reason)] = None
    return Meetings(edited, tuple(before[:-1]), tuple(unmarked))


@dataclass(frozen=True, slots=True)
class _Macro:
    """A macro: its directive, its name and parameters, and its replacement.

    `plain` is the replacement, character for character, without what no parser takes; it begins at
    `start` in the source. `pasted` are names in there that are put together.
    """

    directive: Directive
    name: str
    parameters: tuple[str, ...]
    start: int
    end: int
    plain: str
    pasted: frozenset[str]


def _macros(prepared: Prepared) -> Iterator[_Macro]:
    for directive in prepared.directives:
        found = _DEFINED.match(prepared.source, directive.start, directive.end)
        if directive.name != "define" or found is None:
            continue
        replacement = _CONTINUED.sub(lambda m: " " * len(m[0]), found["replacement"])
        replacement = re.sub(r"[^\x00-\x7f]", "u", replacement)
        plain = _PASTED.sub(lambda m: "_" * len(m[0]), replacement)
        plain = _with_decltype(_STRINGIZED.sub(lambda m: "0" + " " * (len(m[0]) - 1), plain))
        names, parameters = set(_NAME.findall(plain)), _NAME.findall(found["parameters"] or "")
        pasted = names - set(_NAME.findall(_with_decltype(replacement)))
        start, end = found.span("replacement")
        yield _Macro(
            directive, found["name"], tuple(parameters), start, end, plain, frozenset(pasted)
        )


def _with_decltype(plain: str) -> str:
    """Return a source with the standard's word for a compiler's own one."""
    return _TYPEOF.sub(lambda m: "decltype".ljust(len(m[0])), plain)


def _read_declaring_macros(prepared: Prepared, macros: list[_Macro], names: Names) -> None:
    """Add the names that macros declare with ``volatile``: their own, or what they are given."""
    for macro in macros:
        if not VOLATILE.search(macro.plain):
            continue
        for node in within(parse(f"{_BEFORE}{macro.plain};}}")):
            if node.type != "declaration" or not is_volatile(node):
                continue
            declared = {name for _, name, _ in all_declared(node)}
            names.everywhere |= declared.difference(macro.parameters)
            places = [k for k, name in enumerate(macro.parameters) if name in declared]
            for given in _uses_of(macro.name, prepared.code) if places else ():
                names.everywhere.update(
                    name for k in places if k < len(given) for name in _NAME.findall(given[k])
                )


def _uses_of(macro: str, plain: str) -> Iterator[list[str]]:
    """Yield the arguments of each use of a macro."""
    for use in re.finditer(rf"(?<!\w){macro}\s*\(", plain):
        yield split_arguments(plain[use.end() : closing_of(plain, use.end() - 1)])


def _read_leading_macros(macros: list[_Macro], names: Names) -> None:
    """Add the macros that stand for volatile memory or for a pointer to it."""
    leading = set(names.all)
    count = -1
    while count < len(leading):
        count = len(leading)
        for macro in macros:
            is_meant = macro.pasted or VOLATILE.search(macro.plain)
            if is_meant or not leading.isdisjoint(_NAME.findall(macro.plain)):
                root = parse(f"{_BEFORE}({macro.plain});}}")
                statement = root.descendant_for_byte_range(len(_BEFORE), len(_BEFORE) + 1)
                expression = statement.parent if statement is not None else None
                while expression is not None and expression.type == "parenthesized_expression":
                    expression = next(iter(expression.named_children), None)
                if not root.has_error and expression is not None and expression.type in _LVALUES:
                    leading.add(macro.name)
    added = leading - names.all
    names.everywhere |= added
    names.qualified |= added


def _statement_macros(macros: list[_Macro]) -> re.Pattern[str] | None:
    """Return a pattern of the uses of macros that stand for statements, semicolon included."""
    replacements = {macro.name: macro.plain.rstrip() for macro in macros}
    names = {name for name, code in replacements.items() if code.endswith((";", "}"))}
    while True:
        more = {
            name
            for name, code in replacements.items()
            if (last := _LAST_USE.search(code)) and last[1] in names
        }
        if more <= names:
            break
        names |= more
    return re.compile(rf"(?<!\w)(?:{'|'.join(sorted(names))})(?!\w)") if names else None


def _with_semicolons(plain: str, statements: re.Pattern[str] | None) -> str:
    """Return a source with a semicolon behind each statement that is a macro, where there is a
    blank: without one the parser takes what follows for a part of it.
    """
    ends = []
    for use in statements.finditer(plain) if statements else ():
        end = max(use.end(), behind_parentheses(plain, use.end()))
        if plain[end : end + 1].isspace() and re.match(r"\s*[\w{*(}]", plain[end:]):
            ends.append(end)
    for end in ends:
        plain = f"{plain[:end]};{plain[end + 1 :]}"
    return plain


class _Finder:
    """Finds accesses.

    Parameters
    ----------
    statements : re.Pattern or None
        Finds uses of macros that stand for statements.

    Attributes
    ----------
    macros : list of Scope
        The macros with points.
    unmarked : list of (int, str)
        Where in the source an access cannot have a point, and why.
    """

    def __init__(
        self, prepared: Prepared, names: Names, statements: re.Pattern[str] | None
    ) -> None:
        self.prepared, self.names, self.statements = prepared, names, statements
        self.macros: list[Scope] = []
        self.unmarked: list[tuple[int, str]] = []
        self._parameters: frozenset[str] = frozenset()  # of the macro that is read
        # Where in the source a node begins and ends, by its bytes in what is parsed.
        self._start_of, self._end_of = prepared.start_of, prepared.end_of

    # -- what is where ---------------------------------------------------------------------------

    def read(self, node: Node) -> None:
        """Find the accesses in the functions of a source."""
        for child in node.children:
            if child.type in FUNCTIONS:
                self._read_function(child)
            else:
                if child.type == "field_declaration":
                    for part in child.children:
                        if part == child.child_by_field_name("default_value"):
                            self._report(part, None, "in a member's initializer")
                self.read(child)

    def _read_function(self, node: Node) -> None:
        """Find the accesses in a function or a lambda."""
        scope, body = self.names.scopes[node.start_byte], node.child_by_field_name("body")
        if body is None:
            return
        scope.start = self.prepared.start_of(body.start_byte)
        scope.end = self.prepared.end_of(body.end_byte)
        kinds = set()
        for part in node.children:
            if part.type == "field_initializer_list":
                self._report_initializers(part, scope)
            elif part != body:
                for inner in within(part):
                    kinds.add(inner.type)
                    if inner.type == "optional_parameter_declaration":
                        self._report(inner, scope, "in a default argument")
        known = len(scope.edits)
        self.visit(body, scope, ())
        if len(scope.edits) > known and not scope.name and node.type != "lambda_expression":
            if "destructor_name" in kinds:
                self.unmarked.append((scope.start, "in a destructor"))
            elif kinds & {"operator_name", "operator_cast"}:
                self.unmarked.append((scope.start, "in an operator"))

    def read_macros(self, macros: Sequence[_Macro]) -> None:
        """Find the accesses in the replacements of macros, of which parameters may be anything."""
        known = self.names.all
        given = self._given(macros, known)
        for macro in macros:
            plain = macro.plain
            own = known.difference(macro.parameters) | macro.pasted | given[macro]
            if own.isdisjoint(_NAME.findall(plain)) and not VOLATILE.search(plain):
                continue
            parameters = macro.pasted.union(macro.parameters)
            root = parse(f"{_BEFORE}{_with_semicolons(plain, self.statements)};}}")
            if root.has_error:
                if self._may_access(plain, own):
                    self.unmarked.append((macro.directive.start, "in a macro that is no statement"))
                continue
            scope = Scope(macro.name, None, shared=known | parameters, is_macro=True)
            scope.start, scope.end = macro.start, macro.end
            self._parameters = parameters
            self._start_of = self._end_of = partial(operator.add, macro.start - len(_BEFORE))
            body = root.children[0].child_by_field_name("body")
            if body is not None:
                self.visit(body, scope, ())
            self.macros.append(scope)

    def _given(self, macros: Sequence[_Macro], known: set[str]) -> dict[_Macro, set[str]]:
        """Return which parameters of each macro are given what mentions volatile memory, by code or
        by another macro.
        """
        given: dict[_Macro, set[str]] = {macro: set() for macro in macros}
        count = -1
        while count < sum(map(len, given.values())):
            count = sum(map(len, given.values()))
            sources = [(self.prepared.code, known)]
            sources += [
                (outer.plain, known.difference(outer.parameters) | found)
                for outer, found in given.items()
            ]
            for macro in macros:
                for plain, leading in sources if macro.parameters else ():
                    for arguments in _uses_of(macro.name, plain):
                        given[macro].update(
                            parameter
                            for parameter, argument in zip(
                                macro.parameters, arguments, strict=False
                            )
                            if VOLATILE.search(argument)
                            or not leading.isdisjoint(_NAME.findall(argument))
                        )
        return given

    def _may_access(self, plain: str, known: set[str]) -> bool:
        """Return whether source that is not parsed seems to access volatile memory."""
        names = {name for found in _ELEMENT.finditer(plain) for name in found.groups()}
        return not names.isdisjoint(known) or _CAST.search(plain) is not None

    def _report(self, node: Node, scope: Scope | None, reason: str, is_read: bool = True) -> None:
        """Report a node, of which nothing can be marked, if there is an access in it."""
        probe = Scope("", scope, is_macro=scope is not None and scope.is_macro)
        self.visit(node, probe, (), is_read)
        if probe.edits:
            self.unmarked.append((self._start_of(node.start_byte), reason))

    def _report_initializers(self, node: Node, scope: Scope) -> None:
        """Report the accesses of a constructor's initializers: what a reference is bound to is not
        read there.
        """
        for initializer in node.named_children:
            name = next(iter(initializer.named_children), None)
            is_bound = name is not None and source_of(name) in self.names.references
            for part in initializer.named_children[1:]:
                for given in part.named_children:
                    self._report(given, scope, "in a constructor's initializers", not is_bound)

    def _span(self, node: Node) -> tuple[int, int] | None:
        """Return a node's characters in the source; None if they are not all its own."""
        start, end = node.start_byte, node.end_byte
        first, last = self._start_of(start), self._end_of(end)
        if last - first != end - start or self._has_directive(first, last):
            return None
        return first, last

    def _has_directive(self, first: int, last: int) -> bool:
        return any(first < d.start < last for d in self.prepared.directives)

    def _add(self, node: Node, macro: str, scope: Scope, key: Key) -> None:
        if span := self._span(node):
            scope.edits.append(Edit(*span, macro, key))
        elif macro != "_KT_MEET" and self._has_directive(
            first := self._start_of(node.start_byte), self._end_of(node.end_byte)
        ):
            # What a macro stands for is read where that is defined.
            self.unmarked.append((first, "around a line of the preprocessor"))

    def _at(self, position: int) -> float:
        return float(self._start_of(position))

    def _key(self, node: Node, around: Key) -> Key:
        return (*around, self._at(node.start_byte))

    def _late_key(self, node: Node, around: Key) -> Key:
        """Return the key of what happens when all in an expression has been computed."""
        return (*around, self._at(node.end_byte), -self._at(node.start_byte))

    def visit(self, node: Node, scope: Scope, around: Key, is_read: bool = True) -> None:
        """Find the accesses of a statement or an expression.

        Parameters
        ----------
        around : tuple of float
            What the keys of points in here begin with.
        is_read : bool
            Whether the expression's value is wanted, instead of its address or an lvalue.
        """
        kind = node.type
        if kind in _PASSED_OVER:
            for operand in within(node) if kind == "gnu_asm_expression" else ():
                if operand.type in ("gnu_asm_output_operand", "gnu_asm_input_operand"):
                    self._report(operand, scope, "of an asm statement")
            return
        if kind == "ERROR" and self._may_access(source_of(node), self.names.all):
            self.unmarked.append((self._start_of(node.start_byte), "where the parser is lost"))
        if kind == "lambda_expression":
            body = node.child_by_field_name("body")
            for inner in within(node.child_by_field_name("captures") or node):
                if inner.type == "lambda_capture_initializer":
                    value = inner.child_by_field_name("right")
                    if value is not None:
                        self.visit(value, scope, around)
            if not scope.is_macro:
                self._read_function(node)
            elif body is not None:
                self.visit(body, scope, ())
        elif kind == "for_range_loop":
            self._visit_range(node, scope, around)
        elif kind in LOOPS:
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
        elif kind == "pointer_expression" and source_of(node).startswith("&"):
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
            self._visit_constructor(node, scope, around)
            for declarator in declarators(node):
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

    def _visit_constructor(self, node: Node, scope: Scope, around: Key) -> None:
        """Note the call of a constructor by a declaration, before which a statement can stand."""
        head = node.child_by_field_name("type")
        name = last_name(head) if head is not None else ""
        is_alone = node.parent is not None and node.parent.type == "compound_statement"
        if name and is_alone and (span := self._span(node)):
            call = Edit(*span, "_KT_CONSTRUCT", self._late_key(node, around))
            scope.calls.append((name, call))

    def _visit_initialiser(self, node: Node, scope: Scope, around: Key) -> None:
        """Find the access of ``int v(s[i]);``, which the parser takes for a function's prototype
        with an array of type ``s``.
        """
        parameters = node.child_by_field_name("parameters")
        for parameter in parameters.named_children if parameters is not None else ():
            name = parameter.child_by_field_name("type")
            if name is not None and name.type == "type_identifier":
                is_element = parameter.child_by_field_name("declarator") is not None
                is_known = is_element or source_of(name) in self.names.qualified
                if is_known and self._may_be(source_of(name), scope):
                    self._add(parameter, "_KT_LOAD", scope, self._key(parameter, around))

    def _visit_path(self, node: Node, scope: Scope, around: Key) -> None:
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
                arrow = operator is not None and source_of(operator) == "->"
                self.visit(argument, scope, around, arrow and argument.type != "identifier")

    def _visit_assignment(self, node: Node, scope: Scope, around: Key) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if right is not None:
            self.visit(right, scope, around)
        if left is not None:
            self._visit_target(left, scope, around, self._late_key(node, around))

    def _visit_target(self, node: Node, scope: Scope, around: Key, key: Key) -> None:
        inner = node
        while inner.type == "parenthesized_expression" and inner.named_child_count == 1:
            inner = inner.named_children[0]
        if inner.type in _PATHS or inner.type == "pointer_expression":
            bare = inner.type == "identifier" and source_of(inner) in self._parameters
            if bare or self._is_access(inner, scope):
                # No reference can be bound to a bit-field.
                member = inner.child_by_field_name("field")
                is_bits = member is not None and source_of(member) in self.names.bit_fields
                self._add(node, "_KT_LOAD" if is_bits else "_KT_TARGET", scope, key)
            self._visit_path(inner, scope, around)
        else:
            if inner.type == "call_expression" and self._is_access(inner, scope):
                self._add(node, "_KT_TARGET", scope, key)
            self.visit(node, scope, around, False)

    def _visit_call(self, node: Node, scope: Scope, around: Key) -> None:
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
        name = last_name(function)
        key = self._late_key(node, around)
        meets = _WHOEVER.fullmatch(name) is not None
        if not meets and _ATOMIC.fullmatch(name) and arguments is not None:
            meets = is_volatile(arguments) or self._mentions(arguments, scope)
        if meets:
            self._add(node, "_KT_MEET", scope, key)
        elif name and (span := self._span(node)):
            scope.calls.append((name, Edit(*span, "_KT_CALL", key)))

    def _visit_loop(self, node: Node, scope: Scope, around: Key) -> None:
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
        if at:
            whole = (self._start_of(node.start_byte), self._end_of(node.end_byte))
            scope.loops.append((*whole, Edit(*at, "_KT_MEET", (*late, 1.0))))

    def _visit_range(self, node: Node, scope: Scope, around: Key) -> None:
        """Find the accesses of a range-based loop. Where it copies elements, none can be marked."""
        declared, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        values = node.child_by_field_name("right")
        if values is not None:
            self.visit(values, scope, around, False)
            is_copied = declared is not None and declared.type != "reference_declarator"
            if is_copied and self._mentions(values, scope):
                start = self._start_of(node.start_byte)
                self.unmarked.append((start, "that a range-based loop copies"))
        if body is not None:
            self.visit(body, scope, around)
            if at := self._span(body):
                whole = (self._start_of(node.start_byte), self._end_of(node.end_byte))
                late = (*around, self._at(node.end_byte) - 0.5)
                scope.loops.append((*whole, Edit(*at, "_KT_ROUND", late)))

    def _is_access(self, node: Node, scope: Scope) -> bool:
        """Return whether an expression may read or write volatile memory, and can be asked."""
        if node.type in ("identifier", "qualified_identifier"):
            name = last_name(node)
            return name in self.names.qualified and self._may_be(name, scope)
        if not self._is_candidate(node, scope):
            return False
        if any(inner.type == "lambda_expression" for inner in within(node)):
            # `decltype` takes none.
            self.unmarked.append((self._start_of(node.start_byte), "with a lambda in it"))
            return False
        return True

    def _is_candidate(self, node: Node, scope: Scope) -> bool:
        """Return whether an expression may be volatile, from the names that lead to it."""
        if node.type in ("identifier", "qualified_identifier"):
            return self._may_be(last_name(node), scope)
        if node.type in ("subscript_expression", "field_expression"):
            argument, name = node.child_by_field_name("argument"), node.child_by_field_name("field")
            if name is not None and source_of(name) in self.names.everywhere:
                return True
            if argument is not None and self._is_candidate(argument, scope):
                return True
            indices = node.child_by_field_name("indices")
            return indices is not None and any(
                self._is_pointer(index, scope) for index in indices.named_children
            )
        if node.type == "call_expression":
            function = node.child_by_field_name("function")
            if function is None or function.type == "lambda_expression":
                return False
            called = last_name(function)
            is_type = called in self.names.types
            return is_type or is_volatile(function) or self._may_be(called, scope)
        return is_volatile(node) or self._mentions(node, scope)

    def _is_pointer(self, node: Node, scope: Scope) -> bool:
        """Return whether an index may be the pointer: ``1[s]``, ``1[s + i]``."""
        if node.type == "identifier":
            name = source_of(node)
            return name in self.names.leading and self._may_be(name, scope)
        return node.type in ("parenthesized_expression", "binary_expression") and any(
            self._is_pointer(inner, scope) for inner in node.named_children
        )

    def _may_be(self, name: str, scope: Scope) -> bool:
        """Return whether a name may lead to volatile memory."""
        return self.names.is_candidate(name, scope)

    def _mentions(self, node: Node, scope: Scope) -> bool:
        return any(self._may_be(n, scope) or n in self.names.types for n in names_in(node))
