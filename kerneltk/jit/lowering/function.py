"""Functions in restricted Python -> typed IR.

Every variable has one type in a function: what all values join to that are assigned to it. A
function is lowered again, with what was learnt, until no type changes. No text is written here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.ir.types import VOID, Array, Number, Record, Reference, Tuple, Type
from kerneltk.jit.lowering.array_fields import store_array
from kerneltk.jit.lowering.loops import Loops
from kerneltk.jit.lowering.names import Pending
from kerneltk.jit.lowering.operators import BINARY
from kerneltk.jit.lowering.printing import print_parts
from kerneltk.jit.lowering.references import hint_for
from kerneltk.jit.lowering.values import type_of_annotation
from kerneltk.jit.passes.lasting_memory import with_lasting_memory
from kerneltk.jit.source.scope import parameters_of

if TYPE_CHECKING:
    pass

__all__ = ["FunctionLowering"]


class FunctionLowering(Loops):
    """Lowers one function for one combination of argument types.

    Parameters
    ----------
    program : ProgramBuilder
    source : FunctionSource
    function : function or None
        None for one that is defined inside of another.
    around : FunctionLowering or None
        The function that it is defined in.
    arguments : tuple of (str, Expression)
        Names and values that exist at run time; only the types matter.
    static : dict of str to Static
        Parameters that are known.
    is_kernel : bool
    is_of_elements : bool
        Whether it is a function of one element, which may ask for its place.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._statement_handlers: dict[type[ast.stmt], Callable[[Any], bool | None]] = {
            ast.Expr: self._expression,
            ast.Assign: self._assign,
            ast.AnnAssign: self._annotated_assign,
            ast.AugAssign: self._augmented_assign,
            ast.If: self._if,
            ast.While: self._while,
            ast.For: self._for,
            ast.Break: self._break,
            ast.Continue: self._continue,
            ast.Return: self._return,
            ast.Pass: lambda node: None,
            ast.Assert: self._assert,
            ast.FunctionDef: self._function_definition,
            ast.Match: self._match,
        }

    # -- passes --------------------------------------------------------------------------------

    def lower(self) -> bool:
        """Lower the function once; return whether all types were known from the start."""
        self.begin()
        self._check_definition()
        parameters = self._bind_parameters()
        self._given = {parameter.name for parameter in parameters}
        node = self.source.node
        if isinstance(node, ast.Lambda):
            self._give_back(self.value(node.body), self.span(node.body))
        else:
            self.block(node.body)
        if self._changed:
            return False
        for name, span in self._pending:
            raise self.fail(
                f"'{name}' is used before a value is assigned to it.",
                span,
                "assign a value on every way that leads here, before the loop or the branch.",
            )
        result = self._result or VOID
        if result != VOID and _may_end(self.statements):
            assert self._result_span is not None
            raise self.fail(
                f"'{self.source.name}' may end without a value, and returns one here.",
                self._result_span,
                "return a value on every way.",
            )
        self.is_pure = not any(map(_has_effect, self.statements))
        places: tuple[ir.Local, ...] = self._element_place
        parameters += tuple(ir.Parameter(p.name, p.type, p.span) for p in places)
        self.function = ir.Function(
            self.program.unique(self.source.name if self.source.name != "<lambda>" else "lambda"),
            parameters,
            result,
            with_lasting_memory(tuple(self.statements)),
            tuple(self._locals.items()),
            self.source,
            self._is_kernel,
            index_ndim=len(self._element_place),
        )
        return True

    def _check_definition(self) -> None:
        node = self.source.node
        if isinstance(node, ast.AsyncFunctionDef):
            self.refuse_node(node)
        if not (self._is_kernel or self._is_of_elements):
            return
        for what, argument in (("*", node.args.vararg), ("**", node.args.kwarg)):
            if argument is not None:
                raise self.refuse(
                    f"A kernel cannot take '{what}{argument.arg}'.",
                    self.span(argument),
                    "name the parameters; a tuple can be one argument.",
                )

    def _bind_parameters(self) -> tuple[ir.Parameter, ...]:
        """Bind the parameters' names; return those that exist at run time."""
        self._bindings.update(self._static)
        annotations = {
            argument.arg: argument.annotation for argument in parameters_of(self.source.node)
        }
        spans = {a.arg: self.span(a) for a in parameters_of(self.source.node)}
        whole = self.span(self.source.node)
        parameters = []
        for name, argument in self._arguments:
            kind = argument.type
            span = spans.get(name, ir.Span(whole.line, whole.column, whole.line, whole.column + 1))
            wanted = self._annotation(annotations.get(name))
            assigned = name in self._scope.assigned and name in self._scope.parameters
            if wanted is not None and isinstance(kind, Number) and wanted != kind:
                self._annotated[name] = wanted
                self._types[name] = wanted
            elif assigned:
                self._learn(name, kind, span)
            given = self.fresh(name)
            local = ir.Local(given, kind, span)
            parameters.append(ir.Parameter(given, kind, span))
            known = self._types.get(name, kind)
            if known == kind:
                if assigned:
                    self._ir_names[name] = given
                    self._variables.add(name)
                else:
                    self._bindings[name] = local
                continue
            self._variables.add(name)
            self._ir_names[name] = self.add_local(name, known)
            target = ir.Local(self._ir_names[name], known, span)
            self.emit(ir.Store(target, self.convert(local, known, span, f"'{name}'"), span))
        return tuple(parameters)

    def _annotation(self, node: ast.expr | None) -> Number | None:
        """Return the type that an annotation names; None if it names none."""
        if node is None:
            return None
        try:
            found = self.value(node)
        except Exception:  # an annotation may be anything, and mean nothing here
            return None
        return type_of_annotation(found.value) if isinstance(found, Static) else None

    # -- statements ----------------------------------------------------------------------------

    def block(self, nodes: Sequence[ast.stmt]) -> bool:
        """Lower statements into the current list; returns whether the last one leaves it.

        What follows a branch that is known and leaves is not lowered: it is for other types.
        """
        for node in nodes:
            handler = self._statement_handlers.get(type(node))
            if handler is None:
                self.refuse_node(node)
            try:
                if handler(node):
                    return True
            except Pending:
                # Another pass knows the variable; if none comes, it is an error.
                continue
        return bool(nodes) and isinstance(nodes[-1], ast.Return | ast.Break | ast.Continue)

    def _expression(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring, or '...'
        value = self.value(node.value)
        if isinstance(value, ir.Call | ir.Invoke):
            self.emit(ir.Evaluate(value, self.span(node)))

    def _assign(self, node: ast.Assign) -> None:
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        self._declared_as = names[0] if names else ""
        try:
            value = self.value(node.value)
        finally:
            self._declared_as = ""
        if len(node.targets) > 1 and not isinstance(value, Static):
            value = self._settled(value)
        for target in node.targets:
            self.assign(target, value, self.span(node.value))

    def assign(self, target: ast.expr, value: Value, span: ir.Span) -> None:
        """Assign a value to a target of any kind."""
        if isinstance(target, ast.Name):
            self.assign_name(target.id, value, span)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target, value, span)
        elif isinstance(target, ast.Starred):
            self.refuse_node(target)
        else:
            place, late = self.captured(lambda: self._target(target))
            if late:
                value = self._settled(value)
                self.statements += late
            self._store(place, value, self.span(target), span)

    def _target(self, target: ast.expr) -> Value:
        """Return what an element or a field is that is assigned to."""
        place = self.value(target)
        is_item = isinstance(place, Static) and isinstance(target, ast.Subscript)
        if is_item and self._is_tuple(self.value(target.value)):  # type: ignore[attr-defined]
            raise self._tuple_assigned(self.span(target))
        return place

    def _tuple_assigned(self, span: ir.Span, maker: type | None = None) -> Exception:
        if maker is not None:
            name = maker.__name__
            sentence = f"A field of '{name}' cannot be assigned to in a kernel."
            return self.refuse(sentence, span, f"make a new '{name}'.")
        return self.refuse("An item of a tuple cannot be assigned to.", span, "make a new tuple.")

    def _unpack(self, target: ast.Tuple | ast.List, value: Value, span: ir.Span) -> None:
        for part in target.elts:
            if isinstance(part, ast.Starred):
                self.refuse_node(part)
        if isinstance(value, ir.Expression) and isinstance(value.type, Array):
            items = self._rows(value, len(target.elts), span)
        else:
            items = self.items_of(value, span)
        if len(items) != len(target.elts):
            raise self._wrong_unpacking(len(items), len(target.elts), span)
        if not isinstance(value, Static):
            items = [self._settled(item) for item in items]  # as in 'a, b = b, a'
        for part, item in zip(target.elts, items, strict=True):
            self.assign(part, item, span)

    def _rows(self, value: ir.Expression, count: int, span: ir.Span) -> list[Value]:
        """Return the elements of an array that is unpacked, of which there must be `count`."""
        kind = value.type
        assert isinstance(kind, Array)
        if kind.layout == "fixed" and kind.shape[0] != count:
            raise self._wrong_unpacking(kind.shape[0], count, span)
        return [self._index_array(value, [(Static(k), span)], span) for k in range(count)]

    def _store(self, place: Value, value: Value, place_span: ir.Span, span: ir.Span) -> None:
        """Store a value to an element or a field."""
        if isinstance(place, ir.Section):
            raise self.refuse(
                "A part of an array cannot be assigned to in a kernel, only an element.",
                place_span,
                "assign its elements in a loop, or one element a thread.",
            )
        if not isinstance(place, ir.Element | ir.Field):
            raise self.fail("This cannot be assigned to.", place_span)
        if isinstance(place, ir.Element) and isinstance(place.array.type, Reference):
            raise self._tuple_assigned(place_span)  # only an item of a tuple is a whole reference
        self._check_writable(place, place_span)
        if isinstance(place, ir.Field) and isinstance(place.type, Array):
            store_array(self, self._settled_place(place), value, span)
            return
        what = "an element" if isinstance(place, ir.Element) else f"the field '{place.key}'"
        kind = None if isinstance(value, Static) else value.type
        if isinstance(place.type, Record) and isinstance(kind, Tuple):
            self._store_fields(place, value, span)
            return
        found = self.convert(value, place.type, span, what)
        self.emit(ir.Store(place, found, ir.Span(*place_span[:2], *span[2:])))

    def _store_fields(self, place: ir.Element | ir.Field, value: Value, span: ir.Span) -> None:
        kind = place.type
        assert isinstance(kind, Record)
        names = kind.dtype.names or ()
        items = self.items_of(value, span)
        if len(items) != len(names):
            raise self.fail(
                f"{len(items)} values cannot be stored to a record of {len(names)} fields.", span
            )
        items = [self._settled(item) for item in items]
        place = self._settled_place(place)
        for name, item in zip(names, items, strict=True):
            self._store(self.record_field(place, name, span), item, span, span)

    def _check_writable(self, place: ir.Expression, span: ir.Span) -> None:
        root: Any = place
        while isinstance(root, ir.Field):
            if isinstance(root.value.type, Tuple):
                raise self._tuple_assigned(span, root.value.type.maker)
            root = root.value
        array = root.array.type if isinstance(root, ir.Element) else None
        if isinstance(array, Array) and array.space == "constant":
            raise self.fail("Constant memory cannot be assigned to.", span)
        of_copy = isinstance(array, Array) and array.is_of_copy
        if not of_copy and not (array is None and isinstance(root.type, Record)):
            return
        while of_copy and not isinstance(root, ir.Local) and root is not None:
            root = next(iter(ir.children(root)), None)
        if self._is_of_elements and isinstance(root, ir.Local) and root.name in self._given:
            raise self.fail(
                f"'{root.name}' is an element of an input, which cannot be assigned to.",
                span,
                "return what is to be stored, or index the array: 'x[i].field = value'.",
            )
        raise self.fail(
            "This is a copy of a record, which cannot be assigned to.",
            span,
            "index the array where it is written: 'x[i].field = value'.",
        )

    def _annotated_assign(self, node: ast.AnnAssign) -> None:
        wanted = self._annotation(node.annotation)
        if isinstance(node.target, ast.Name) and wanted is not None:
            name = node.target.id
            known = self._types.get(name)
            if known is not None and known != wanted:
                if name in self._annotated:
                    raise self._conflict(name, known, wanted, self.span(node.annotation))
                self._changed = True
            self._types[name] = self._annotated[name] = wanted
            self._origins.setdefault(name, self.span(node.annotation))
        if node.value is not None:
            self.assign(node.target, self.value(node.value), self.span(node.value))

    def _augmented_assign(self, node: ast.AugAssign) -> None:
        row = BINARY.get(type(node.op))
        span = self.span(node)
        if row is None:
            from kerneltk.jit.lowering.unsupported import refusal_of

            words, hint = refusal_of(node.op) or ("This operator", "")
            raise self.refuse(f"{words} cannot be used in a kernel.", span, hint)
        places = (self.span(node.target), self.span(node.value))
        if isinstance(node.target, ast.Name):
            left = self.lookup(node.target.id, self.span(node.target))
            before = len(self.statements)
            value = self.value(node.value)
            if len(self.statements) > before and not isinstance(left, Static):
                late = self.statements[before:]
                del self.statements[before:]
                left = self._settled(left)
                self.statements += late
            self.assign_name(node.target.id, self.binary(row[0], left, value, span, places), span)
            return
        place = self._target(node.target)
        if not isinstance(place, ir.Element | ir.Field):
            self._store(place, place, self.span(node.target), span)
            return
        self._check_writable(place, self.span(node.target))
        if isinstance(place.type, Array):
            raise self.refuse(
                "An array cannot be computed with as a whole.",
                self.span(node.target),
                "compute its elements in a loop.",
            )
        value, added = self.captured(lambda: self.value(node.value))
        if added:  # what they do to the element, or to its index, comes after it is read
            place = self._settled_place(place)
            left = self.temporary(place)
            self.statements += added
            result = self.binary(row[0], left, value, span, places)
            self._store(place, result, self.span(node.target), span)
            return
        name = self.fresh("place")
        local = ir.Local(name, place.type, self.span(node.target))
        result = self.binary(row[0], local, value, span, places)
        what = "an element" if isinstance(place, ir.Element) else f"the field '{place.key}'"
        self.emit(ir.Update(place, name, self.convert(result, place.type, span, what), span))

    def _if(self, node: ast.If) -> bool:
        condition = self.condition(node.test)
        if isinstance(condition, Static):
            return self.block(node.body if condition.value else node.orelse)
        body = self.captured_block(node.body)
        orelse = self.captured_block(node.orelse)
        self.emit(ir.If(condition, body, orelse, self.span(node.test)))
        return False

    # -- the rest ------------------------------------------------------------------------------

    def _return(self, node: ast.Return) -> None:
        span = self.span(node)
        if node.value is None:
            self._give_back(Static(None), span)
            return
        self._give_back(self.value(node.value), self.span(node.value))

    def _give_back(self, value: Value, span: ir.Span) -> None:
        if isinstance(value, Static) and value.value is None:
            if self._result not in (None, VOID):
                raise self._mixed_results(VOID, span)
            self._result = VOID
            self._result_span = self._result_span or span
            self.emit(ir.Return(None, span))
            return
        if self._is_kernel:
            raise self.refuse(
                "A kernel returns nothing.", span, "store the value into an array argument."
            )
        found = self.kept(value, span)
        if self._is_own_memory(found):
            hint = "declare it where it is used, and pass it as an argument."
            if isinstance(found.type, Reference):
                hint = "return a copy of the record: 'record.copy()'."
            raise self.refuse("Memory of a function cannot be returned from it.", span, hint)
        if self._result is None:
            self._result, self._result_span = found.type, span
        elif self._result == VOID:
            raise self._mixed_results(found.type, span)
        else:
            joined = self.program.join(self._result, found.type)
            if joined is None:
                from kerneltk.errors import TypingError, render_message

                assert self._result_span is not None
                raise TypingError(
                    render_message(
                        f"'{self.source.name}' returns values whose types do not go together.",
                        self.source.snippet(self._result_span, f"here it is '{self._result}'"),
                        self.source.snippet(span, f"here it is '{found.type}'"),
                        hint=hint_for(self._result, found.type),
                    )
                )
            if joined != self._result:
                self._result, self._changed = joined, True
        if not self._changed:
            found = self.convert(found, self._result, span, "the result")
        self.emit(ir.Return(found, span))

    def _mixed_results(self, kind: Type, span: ir.Span) -> Exception:
        from kerneltk.errors import TypingError, render_message

        places = [(self._result_span, self._result), (span, kind)]
        labels = ["nothing" if found == VOID else f"'{found}'" for _, found in places]
        return TypingError(
            render_message(
                f"'{self.source.name}' returns a value in one place and nothing in another.",
                *(
                    self.source.snippet(place, f"here it is {label}")
                    for (place, _), label in zip(places, labels, strict=True)
                    if place is not None
                ),
                hint="return a value on every way, or on none.",
            )
        )

    def _is_own_memory(self, value: Any) -> bool:
        """Return whether a value refers to memory that ends with the function."""
        kind = getattr(value, "type", None)
        if isinstance(kind, Number):
            return False
        if isinstance(kind, Array) and kind.is_of_copy:
            return True
        if isinstance(value, ir.Invoke) and not _may_be_local(kind):
            return False
        if not isinstance(value, ir.Local):
            return any(map(self._is_own_memory, ir.children(value)))
        if value.name in self._given and self.is_constant(value.name):
            return False
        is_declared = isinstance(kind, Array) and value.name not in self._locals
        return is_declared or _may_be_local(kind)

    def _assert(self, node: ast.Assert) -> None:
        condition = self.condition(node.test)
        message = ""
        if node.msg is not None:
            found = self.value(node.msg)
            if not isinstance(found, Static):
                raise self.refuse(
                    "The message of 'assert' must be a constant.", self.span(node.msg)
                )
            message = str(found.value)
        span = self.span(node)
        shown = message or ast.unparse(node.test)
        if isinstance(condition, Static):
            if not condition.value:
                raise self.fail(f"This assertion never holds: {shown}.", span)
            return
        self.emit(ir.Assert(condition, shown, span))

    def _function_definition(self, node: ast.FunctionDef) -> None:
        for decorator in node.decorator_list:
            function = decorator.func if isinstance(decorator, ast.Call) else decorator
            found = self.value(function)
            if not (isinstance(found, Static) and hasattr(found.value, "makes_device_function")):
                raise self.refuse(
                    "A decorator cannot be used on a function inside of a kernel.",
                    self.span(decorator),
                    "leave it out, or define the function outside.",
                )
        made = self.local_function(node)
        known = self._bindings.get(node.name)
        place = self.span(node)
        if isinstance(known, Static) and getattr(known.value, "source", None) != made.value.source:
            raise self._object_error(node.name, self.phrase(known), made, place)
        if known is None and node.name in self._types:
            raise self._object_error(node.name, f"'{self._types[node.name]}'", made, place)
        self._bindings[node.name] = made
        self._origins.setdefault(node.name, place)

    def _print(self, node: ast.Call, span: ir.Span) -> Value:
        self.emit(ir.Print(print_parts(self, node), span))
        return Static(None)

    def _match(self, node: ast.Match) -> None:
        subject = self.value(node.subject)
        if not isinstance(subject, Static):
            subject = self.temporary(self.as_expression(subject, self.span(node.subject)))
        self._match_cases(subject, node.cases)

    def _match_cases(self, subject: Value, cases: Sequence[ast.match_case]) -> None:
        if not cases:
            return
        case, rest = cases[0], cases[1:]
        span = self.span(case.pattern)
        test = self._pattern(subject, case.pattern)
        if isinstance(test, Static) and not test.value:
            self._match_cases(subject, rest)
            return

        def guarded() -> Value:
            if case.guard is None:
                return test
            guard = self.condition(case.guard)
            if isinstance(test, Static):
                return guard
            both = (test, self.as_expression(guard, span))
            return ir.Logical("and", both, span)

        condition = guarded()
        if isinstance(condition, Static):
            if condition.value:
                self.block(case.body)
            else:
                self._match_cases(subject, rest)
            return
        body = self.captured_block(case.body)

        def others() -> Value:
            self._match_cases(subject, rest)
            return Static(None)

        self.emit(ir.If(condition, body, self.captured(others)[1], span))

    def _pattern(self, subject: Value, pattern: ast.pattern) -> ir.Expression | Static:
        """Return whether a value matches a pattern."""
        span = self.span(pattern)
        if isinstance(pattern, ast.MatchAs):
            if pattern.name is not None and pattern.pattern is None:
                self.assign_name(pattern.name, subject, span)
            if pattern.pattern is None:
                return Static(True)
        if isinstance(pattern, ast.MatchValue):
            found = self.compare(ast.Eq(), subject, self.value(pattern.value), span)
            return found if isinstance(found, Static) else self.as_expression(found, span)
        if isinstance(pattern, ast.MatchSingleton):
            wanted = Static(pattern.value)
            op: ast.cmpop = ast.Is() if pattern.value is None else ast.Eq()
            return self.compare(op, subject, wanted, span)
        if isinstance(pattern, ast.MatchOr):
            operands: list[ir.Expression] = []
            for part in pattern.patterns:
                test = self._pattern(subject, part)
                if isinstance(test, Static):
                    if test.value:
                        return test
                else:
                    operands.append(test)
            if not operands:
                return Static(False)
            return operands[0] if len(operands) == 1 else ir.Logical("or", tuple(operands), span)
        raise self.refuse(
            "This pattern cannot be used in a kernel.",
            span,
            "patterns are constants, 'a | b', names and '_'.",
        )


def _may_end(statements: Sequence[ir.Statement]) -> bool:
    """Return whether control can reach the end of a block."""
    if not statements:
        return True
    last = statements[-1]
    if isinstance(last, ir.Return):
        return False
    if isinstance(last, ir.If):
        return _may_end(last.body) or _may_end(last.orelse)
    if isinstance(last, ir.While):
        endless = isinstance(last.condition, ir.Literal_) and bool(last.condition.value)
        return not endless or _has_break(last.body)
    return True


def _may_be_local(kind: Any) -> bool:
    """Return whether values of a type may refer to a thread's own memory."""
    if isinstance(kind, Tuple):
        return any(map(_may_be_local, kind.items))
    return isinstance(kind, Array) and kind.space == "local"


def _has_break(statements: Sequence[ir.Statement]) -> bool:
    for statement in statements:
        if isinstance(statement, ir.Break):
            return True
        if isinstance(statement, ir.If) and (
            _has_break(statement.body) or _has_break(statement.orelse)
        ):
            return True
    return False


def _has_effect(statement: Any) -> bool:
    """Return whether a statement, or anything in it, does more than assign local variables."""
    for node in ir.walk(statement):
        if isinstance(node, ir.Update | ir.Assert | ir.Print):
            return True
        if isinstance(node, ir.Store):
            root: Any = node.target
            while isinstance(root, ir.Field):
                root = root.value
            if isinstance(root, ir.Element):
                return True
        if isinstance(node, ir.Call) and not node.operation.is_repeatable:
            return True
        if isinstance(node, ir.Evaluate):
            return True
    return False
