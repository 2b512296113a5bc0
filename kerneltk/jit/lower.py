"""Functions in restricted Python -> typed IR.

Every variable has one type in a function: what all values join to that are assigned to it. A
function is lowered again, with what was learnt, until no type changes. No text is written here.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.expressions import Expressions, type_of_annotation
from kerneltk.jit.intrinsics import is_range
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.printing import print_parts
from kerneltk.jit.program import LocalFunction, identifier
from kerneltk.jit.scope import parameters_of, scope_of
from kerneltk.jit.types import BOOL, PY_INT, VOID, Array, Number, Opaque, Record, Tuple, Type

if TYPE_CHECKING:
    from kerneltk.jit.program import ProgramBuilder
    from kerneltk.jit.source import FunctionSource

__all__ = ["FunctionLowering"]

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^",
}  # fmt: skip


_MOST_REPEATED = 4096  # passes over constants: each is text of its own


class _Pending(Exception):  # noqa: N818 (no error: a later pass knows more)
    """A variable's type is not known yet."""


class FunctionLowering(Expressions):
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

    def __init__(
        self,
        program: ProgramBuilder,
        source: FunctionSource,
        function: types.FunctionType | None,
        around: FunctionLowering | None,
        arguments: tuple[tuple[str, ir.Expression], ...],
        static: dict[str, Static],
        is_kernel: bool,
        *,
        is_of_elements: bool = False,
    ) -> None:
        super().__init__(program, source)
        self._function = function
        self._around = around
        self._arguments = arguments
        self._static = static
        self._is_kernel = is_kernel
        self._is_of_elements = is_of_elements
        self._scope = scope_of(source.node)
        self._private = _private_loops(source.node)
        self._closure: dict[str, Any] = {}
        if function is not None and function.__closure__ is not None:
            self._closure = dict(
                zip(function.__code__.co_freevars, function.__closure__, strict=True)
            )
        # What passes learn.
        self._types: dict[str, Type] = {}
        self._origins: dict[str, ir.Span] = {}
        self._result: Type | None = None
        self._result_span: ir.Span | None = None
        self._annotated: dict[str, Number] = {}
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
        self._changed = False
        self._pending: list[tuple[str, ir.Span]] = []  # names that nothing is known of
        self._bindings: dict[str, Value] = {}
        self._locals: dict[str, Type] = {}
        self._ir_names: dict[str, str] = {}
        self._taken: set[str] = set()
        self._counters: set[str] = set()
        self._variables: set[str] = set()
        self._loops: list[tuple[str, str]] = []
        self._repeated: list[ast.For] = []
        self._element_place: tuple[ir.Local, ...] = ()
        self.is_pure = True
        self.statements = []
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
            tuple(self.statements),
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
        if not self._is_kernel:
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

    # -- names ---------------------------------------------------------------------------------

    def fresh(self, stem: str) -> str:
        """Return a name that no variable has."""
        name = identifier(stem, self._taken.__contains__)
        self._taken.add(name)
        return name

    def add_local(self, stem: str, kind: Type) -> str:
        """Return the name of a new variable."""
        # Loops share the names of their counters; a variable of the whole function cannot.
        name = identifier(stem, (self._taken | self._counters).__contains__)
        self._taken.add(name)
        self._locals[name] = kind
        return name

    def is_constant(self, name: str) -> bool:
        """Return whether a variable never changes once it is read."""
        changing = {self._ir_names.get(variable) for variable in self._variables}
        return name not in changing

    def is_own(self, name: str) -> bool:
        """Return whether a name is this function's, or one's around it."""
        if self._scope.is_local(name) or name in self._bindings:
            return True
        return self._around is not None and self._around.is_own(name)

    def lookup(self, name: str, span: ir.Span) -> Value:
        """Return what a name means here."""
        bound = self._bindings.get(name)
        if bound is not None:
            return replace(bound, span=span) if isinstance(bound, ir.Local) else bound
        if name in self._variables and name in self._types:
            return ir.Local(self._ir_name(name), self._types[name], span)
        if self._scope.is_local(name):
            if name in self._types and name not in self._variables:
                # Assigned further down in a loop.
                self._variables.add(name)
                return ir.Local(self._ir_name(name), self._types[name], span)
            self._pending.append((name, span))
            raise _Pending(name)
        if self._around is not None and self._around.is_own(name):
            return self._around.lookup(name, span)
        return self._global(name, span)

    def _ir_name(self, name: str) -> str:
        if name not in self._ir_names:
            self._ir_names[name] = self.add_local(name, self._types[name])
        return self._ir_names[name]

    def _global(self, name: str, span: ir.Span) -> Static:
        """Return what a name means outside of all functions."""
        lowering: FunctionLowering = self
        while True:
            if name in lowering._closure:
                try:
                    return Static(lowering._closure[name].cell_contents)
                except ValueError:
                    raise self.fail(
                        f"'{name}' has no value yet where the kernel is first called.", span
                    ) from None
            if lowering._around is None:
                break
            lowering = lowering._around
        assert lowering._function is not None
        namespace = lowering._function.__globals__
        if name in namespace:
            return Static(namespace[name])
        if hasattr(builtins, name):
            return Static(getattr(builtins, name))
        import difflib  # only who has an error needs it

        known = {*self._types, *self._bindings, *namespace, *self._closure}
        close = difflib.get_close_matches(name, sorted(known), n=1)
        hint = f"did you mean '{close[0]}'?" if close else ""
        raise self.fail(f"The name '{name}' is not defined.", span, hint)

    def _learn(self, name: str, kind: Type, span: ir.Span) -> Type:
        """Return the type of a variable that a value is assigned to."""
        known = self._types.get(name)
        if known is None:
            self._types[name] = kind
            self._origins[name] = span
            return kind
        joined = self.program.join(known, kind)
        if joined is None:
            raise self._conflict(name, known, kind, span)
        if joined != known:
            self._types[name] = joined
            self._changed = True
        return joined

    def _conflict(self, name: str, known: Type, kind: Type, span: ir.Span) -> Exception:
        from kerneltk.errors import TypingError, render_message

        hint = "use a second variable"
        if isinstance(known, Number) and isinstance(kind, Number):
            hint += ", or convert one of the values, for example with 'np.float32(x)'"
        snippets = [self.source.snippet(span, f"here it is '{kind}'")]
        if name in self._origins:
            snippets.insert(0, self.source.snippet(self._origins[name], f"here it is '{known}'"))
        return TypingError(
            render_message(
                f"'{name}' is assigned values whose types do not go together.",
                *snippets,
                hint=f"{hint}.",
            )
        )

    def assign_name(self, name: str, value: Value, span: ir.Span) -> None:
        """Bind a name to a value."""
        once = (
            self._scope.is_assigned_once(name)
            and name not in self._annotated
            and not self._outlives_pass(name)
        )
        if isinstance(value, Static):
            if once:
                self._bindings[name] = value
                return
            if not _has_value(value.value):
                self._bind_object(name, value, span)
                return
        elif once and self._is_alias(value):
            self._bindings[name] = self._aliased(value)
            return
        if name in self._bindings:
            self._object_conflict(name, value, span)
        found = self.as_expression(value, span)
        if isinstance(found.type, Array) and found.type.layout == "fixed":
            found = self.convert(
                found,
                Array(found.type.element, found.type.ndim, "C", (), found.type.space),
                span,
                f"'{name}'",
            )
        wanted = self._annotated.get(name)
        kind = wanted if wanted is not None else self._learn(name, found.type, span)
        self._variables.add(name)
        target = ir.Local(self._ir_name(name), kind, span)
        if self._locals.get(target.name, kind) != kind:
            return  # types have changed: this pass is lost
        if not self._changed or isinstance(kind, Number):
            self.emit(ir.Store(target, self.convert(found, kind, span, f"'{name}'"), span))

    def _is_alias(self, value: ir.Expression) -> bool:
        """Return whether a name for a value needs no variable: it cannot change."""
        if isinstance(value, ir.Local):
            return isinstance(value.type, Array | Opaque) and self.is_constant(value.name)
        if isinstance(value, ir.Call) and isinstance(value.type, Opaque):
            # A group of threads, a place: what its own arguments are.
            return not value.operation.effects and all(map(self._is_fixed, value.arguments))
        return isinstance(value, ir.Element) and isinstance(value.type, Record)

    def _is_fixed(self, value: ir.Expression) -> bool:
        return isinstance(value, ir.Literal_) or (
            self._is_alias(value) and not isinstance(value.type, Record)
        )

    def _aliased(self, value: ir.Expression) -> ir.Expression:
        if isinstance(value, ir.Element):
            indices = tuple(
                index
                if isinstance(index, ir.Literal_)
                or (isinstance(index, ir.Local) and self.is_constant(index.name))
                else self.temporary(index)
                for index in value.indices
            )
            return replace(value, indices=indices)
        return value

    def _bind_object(self, name: str, value: Static, span: ir.Span) -> None:
        """Bind a name that is assigned several times to an object that has no run-time value."""
        known = self._bindings.get(name)
        if name in self._types:
            raise self._object_error(name, f"'{self._types[name]}'", value, span)
        if known is not None and (not isinstance(known, Static) or known.value is not value.value):
            raise self._object_error(name, self.phrase(known), value, span)
        self._bindings[name] = value
        self._origins.setdefault(name, span)

    def _object_conflict(self, name: str, value: Value, span: ir.Span) -> None:
        bound = self._bindings[name]
        if name in self._loop_names():
            return
        if isinstance(bound, Static):
            raise self._object_error(name, self.phrase(bound), value, span)

    def _loop_names(self) -> set[str]:
        return {name for _, name in self._loops if name}

    def _object_error(self, name: str, known: str, value: Value, span: ir.Span) -> Exception:
        """Return the error for a variable that is an object without a value and something else."""
        from kerneltk.errors import TypingError, render_message

        shown = self.phrase(value) if isinstance(value, Static) else f"'{value.type}'"
        snippets = [self.source.snippet(span, f"here it is {shown}")]
        if self._origins.get(name) == span:  # in two passes over one text
            snippets = [self.source.snippet(span, f"here it is {known}, and then {shown}")]
        if name in self._origins and self._origins[name] != span:
            first = self.source.snippet(self._origins[name], f"here it is {known}")
            snippets.insert(0, first)
        return TypingError(
            render_message(
                f"'{name}' is assigned values that do not go together.",
                *snippets,
                hint="begin with a number instead of None, or use a second variable."
                if "None" in (known, shown)
                else "use a second variable.",
            )
        )

    def index(self, ndim: int, span: ir.Span) -> tuple[ir.Local, ...]:
        """Return the place of the element that the function computes."""
        if not self._is_of_elements:
            raise self.refuse(
                "'jit.index' asks for the place of an element, and belongs into a '@jit.kernel'.",
                span,
                "use 'jit.grid(ndim)', and pass the place to functions that are called.",
            )
        if self._element_place and len(self._element_place) != ndim:
            raise self.fail(
                f"'jit.index' was asked for {len(self._element_place)} dimensions before, and for "
                f"{ndim} here.",
                span,
            )
        if not self._element_place:
            self._element_place = tuple(
                ir.Local(self.fresh("index" if ndim == 1 else f"index_{axis}"), PY_INT, span)
                for axis in range(ndim)
            )
        return self._element_place

    # -- memory --------------------------------------------------------------------------------

    def declare(
        self,
        element: Any,
        shape: tuple[int, ...] | None,
        space: Any,
        span: ir.Span,
        alignment: int = 0,
        data: bytes = b"",
    ) -> ir.Expression:
        """Declare memory where the call stands, and return it."""
        stem = self._declared_as or space
        name = self.fresh(stem)
        if shape is None:
            kind = Array(element, 1, "C", (), space)
        else:
            kind = Array(element, len(shape), "fixed", shape, space, space != "constant")
        self.emit(ir.Declare(name, kind, span, alignment, shape is None, data))
        return ir.Local(name, kind, span)

    def declare_opaque(self, kind: Type, span: ir.Span, stem: str, shared: bool) -> ir.Expression:
        """Declare a variable of a type that only intrinsics know."""
        name = self.fresh(self._declared_as or stem)
        self.emit(ir.Declare(name, kind, span, dynamic=False, data=b"shared" if shared else b""))
        return ir.Local(name, kind, span)

    _declared_as = ""

    def local_function(self, node: ast.FunctionDef | ast.Lambda) -> Static:
        """Return a function that is defined inside of this one."""
        defaults: dict[str, Value] = {}
        positional = [*node.args.posonlyargs, *node.args.args]
        given = node.args.defaults
        pairs = list(zip(positional[len(positional) - len(given) :], given, strict=True))
        pairs += [
            (argument, default)
            for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if default is not None
        ]
        for argument, default in pairs:
            defaults[argument.arg] = self._settled(self.value(default))
        return Static(LocalFunction(self.source.at(node), self, defaults))

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
            except _Pending:
                # Another pass knows the variable; if none comes, it is an error.
                continue
        return bool(nodes) and isinstance(nodes[-1], ast.Return | ast.Break | ast.Continue)

    def captured_block(self, nodes: Sequence[ast.stmt]) -> tuple[ir.Statement, ...]:
        """Return the statements that a block becomes."""

        def make() -> Value:
            self.block(nodes)
            return Static(None)

        return self.captured(make)[1]

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
            self._store(self._target(target), value, self.span(target), span)

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

    def _wrong_unpacking(self, values: int, names: int, span: ir.Span) -> Exception:
        given = "1 value" if values == 1 else f"{values or 'No'} values"
        return self.fail(
            f"{given} cannot be assigned to {names} name{'' if names == 1 else 's'}.", span
        )

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
        self._check_writable(place, place_span)
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
        if isinstance(place, ir.Element):
            place = replace(place, indices=tuple(self.temporary(i) for i in place.indices))
        for name, item in zip(names, items, strict=True):
            self._store(self.record_field(place, name, span), item, span, span)

    def _check_writable(self, place: ir.Expression, span: ir.Span) -> None:
        root: Any = place
        while isinstance(root, ir.Field):
            if isinstance(root.value.type, Tuple):
                raise self._tuple_assigned(span, root.value.type.maker)
            root = root.value
        array = root.array.type if isinstance(root, ir.Element) else None
        if isinstance(array, Array) and not array.writable:
            raise self.fail("Constant memory cannot be assigned to.", span)

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
        spelling = _OPERATORS.get(type(node.op))
        span = self.span(node)
        if spelling is None:
            from kerneltk.jit.refusals import refusal_of

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
            self.assign_name(node.target.id, self.binary(spelling, left, value, span, places), span)
            return
        place = self._target(node.target)
        if not isinstance(place, ir.Element | ir.Field):
            self._store(place, place, self.span(node.target), span)
            return
        self._check_writable(place, self.span(node.target))
        value = self.value(node.value)
        name = self.fresh("place")
        local = ir.Local(name, place.type, self.span(node.target))
        result = self.binary(spelling, local, value, span, places)
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

    # -- loops ---------------------------------------------------------------------------------

    def _with_else(
        self, node: ast.For | ast.While, make: Callable[[ir.Local | None], None]
    ) -> None:
        """Lower a loop by `make`, and what runs where it was not left by 'break'."""
        if not node.orelse:
            make(None)
            return
        span = self.span(node)
        flag = ir.Local(self.add_local("ended", BOOL), BOOL, span)
        self.emit(ir.Store(flag, ir.Literal_(True, BOOL, span), span))
        make(flag)
        self.emit(ir.If(flag, self.captured_block(node.orelse), (), span))

    def _loop_body(self, nodes: Sequence[ast.stmt], flag: ir.Local | None) -> Any:
        self._loops.append(("real", flag.name if flag else ""))
        try:
            return self.captured_block(nodes)
        finally:
            self._loops.pop()

    def _while(self, node: ast.While) -> None:
        span = self.span(node.test)

        def make(flag: ir.Local | None) -> None:
            condition, added = self.captured(lambda: self.condition(node.test))
            if isinstance(condition, Static) and not condition.value:
                return
            test = self.as_expression(condition, span)
            body = self._loop_body(node.body, flag)
            if added:
                leave = ir.If(ir.Not(test, span), (ir.Break(span),), (), span)
                body = (*added, leave, *body)
                test = ir.Literal_(True, BOOL, span)
            self.emit(ir.While(test, body, span))

        self._with_else(node, make)

    def _break(self, node: ast.Break) -> None:
        span = self.span(node)
        kind, flag = self._loops[-1]
        if flag:
            value = ir.Literal_(kind == "static", BOOL, span)
            self.emit(ir.Store(ir.Local(flag, BOOL, span), value, span))
        self.emit(ir.Break(span))

    def _continue(self, node: ast.Continue) -> None:
        span = self.span(node)
        # A pass of a static loop is a loop of its own that runs once.
        self.emit(ir.Break(span) if self._loops[-1][0] == "static" else ir.Continue(span))

    def _for(self, node: ast.For) -> None:
        iterable = node.iter
        if isinstance(iterable, ast.Call):
            function = self.value(iterable.func)
            if isinstance(function, Static):
                if is_range(function.value):
                    self._range_loop(node, iterable)
                    return
                if any(function.value is known for known in (enumerate, zip, reversed)):
                    self._static_loop(node, self._static_items(iterable, function.value))
                    return
        value = self.value(iterable)
        if isinstance(value, ir.Expression) and isinstance(value.type, Array):
            self._array_loop(node, value)
        elif isinstance(value, Static) and isinstance(value.value, range):
            self._counted_loop(
                node,
                [Static(value.value.start), Static(value.value.stop), Static(value.value.step)],
                None,
            )
        else:
            self._static_loop(node, self._iterated(value, self.span(iterable)))

    def _iterated(self, value: Value, span: ir.Span) -> list[Value]:
        if isinstance(value, Static) and isinstance(value.value, tuple | list | str | dict | range):
            if len(value.value) > _MOST_REPEATED:
                raise self.refuse(
                    f"A loop over {len(value.value)} constants cannot be used in a kernel.",
                    span,
                    "loop over 'range', or over an array.",
                )
            return [Static(item) for item in value.value]
        if isinstance(value, ir.Expression) and isinstance(value.type, Tuple):
            return self.items_of(value, span)
        raise self.fail(
            f"{self.describe(value)} cannot be looped over.",
            span,
            "loop over 'range', an array, or a tuple.",
        )

    def _static_items(self, node: ast.Call, function: Any) -> list[Value]:
        span = self.span(node)
        values = self.in_order(node.args)
        start = 0
        if function is enumerate:
            starts = [self.value(keyword.value) for keyword in node.keywords] + values[1:]
            if len(starts) > 1 or any(keyword.arg != "start" for keyword in node.keywords):
                raise self.fail("'enumerate' takes a tuple and a start.", span)
            for found in starts:
                start = self.static_int(found, span, "The start of 'enumerate'")
            values = values[:1]
        strict = False
        if function is not enumerate:
            for keyword in node.keywords:
                found = self.value(keyword.value)
                if function is not zip or keyword.arg != "strict" or not isinstance(found, Static):
                    raise self.refuse(
                        f"'{function.__name__}' takes no keyword '{keyword.arg}' in a kernel.",
                        self.span(keyword.value),
                    )
                strict = bool(found.value)
        lists = []
        for argument, value in zip(node.args, values, strict=False):
            if isinstance(value, ir.Expression) and isinstance(value.type, Array):
                name = function.__name__
                raise self.refuse(
                    f"'{name}' over an array cannot be used in a kernel.",
                    self.span(argument),
                    "loop over 'range(len(x))' and index.",
                )
            lists.append(self._iterated(value, self.span(argument)))
        if function is not zip and len(lists) != 1:
            raise self.fail(f"'{function.__name__}' takes one tuple.", span)
        if function is reversed:
            return list(reversed(lists[0]))
        if function is zip:
            if strict and len({len(items) for items in lists}) > 1:
                raise self.fail("The arguments of 'zip' have different lengths.", span)
            return [self.make_pair(items, span) for items in zip(*lists, strict=False)]
        return [self.make_pair((Static(start + k), item), span) for k, item in enumerate(lists[0])]

    def make_pair(self, items: Sequence[Value], span: ir.Span) -> Value:
        """Return items that are unpacked right away, whatever they are."""
        if all(isinstance(item, Static) for item in items):
            return Static(tuple(item.value for item in items))  # type: ignore[union-attr]
        return _Group(tuple(items), span)  # type: ignore[return-value]

    def items_of(self, value: Any, span: ir.Span) -> list[Value]:
        """Return the items of a tuple."""
        if isinstance(value, _Group):
            return list(value.items)
        return super().items_of(value, span)

    def _range_loop(self, node: ast.For, call: ast.Call) -> None:
        unroll: Any = None
        for keyword in call.keywords:
            found = self.value(keyword.value)
            place = self.span(keyword.value)
            if keyword.arg != "unroll":
                raise self.fail("'range' takes no keyword but 'unroll'.", place)
            unroll = found.value if isinstance(found, Static) else found
            times = isinstance(unroll, int | np.integer) and 1 <= unroll < 2**31
            if not (times or unroll is None or isinstance(unroll, bool)):
                shown = self.phrase(found) if isinstance(found, Static) else "a variable"
                raise self.fail(
                    f"'unroll' must be a constant number of passes, True or False, not {shown}.",
                    place,
                )
        values: list[Value] = []
        for argument, value in zip(call.args, self._starred_values(call.args), strict=True):
            place = self.span(argument)
            items = self.items_of(value, place) if isinstance(argument, ast.Starred) else [value]
            values += [self._index(item, place, "An argument of 'range'") for item in items]
        if not 1 <= len(values) <= 3:
            raise self.fail(
                f"'range' takes one to three arguments, and {len(values) or 'none'} "
                f"{'were' if values else 'was'} given.",
                self.span(call),
            )
        bounds = [Static(0), *values] if len(values) == 1 else list(values)
        bounds += [Static(1)] * (3 - len(bounds))
        self._counted_loop(node, bounds, unroll)

    def _counted_loop(self, node: ast.For, bounds: Sequence[Value], unroll: Any) -> None:
        span = self.span(node.iter)
        start, stop, step = (self.cast(self.as_number(v, span), PY_INT) for v in bounds)
        if isinstance(step, ir.Literal_) and step.value == 0:
            raise self.fail("The step of 'range' cannot be zero.", span)
        if not isinstance(node.target, ast.Name):
            raise self.fail(
                "The numbers of 'range' are assigned to one name.", self.span(node.target)
            )
        ascending = None
        if isinstance(step, ir.Literal_):
            ascending = bool(step.value > 0)
        else:
            step = self.temporary(step)
        if not isinstance(stop, ir.Literal_) and not self._is_stable(stop):
            stop = self.temporary(stop)
        name = node.target.id
        target_span = self.span(node.target)
        private = self._private.get(id(node), False)

        def make(flag: ir.Local | None) -> None:
            if private:
                variable = ir.Local(self._loop_variable(name), PY_INT, target_span)
                before = self._bindings.get(name)
                self._bindings[name] = variable
                try:
                    body = self._loop_body(node.body, flag)
                finally:
                    if before is None:
                        del self._bindings[name]
                    else:
                        self._bindings[name] = before
                self._taken.discard(variable.name)
            else:
                counter = ir.Local(self.fresh(f"{name}_next"), PY_INT, target_span)
                variable = counter

                def inner() -> Value:
                    self.assign_name(name, counter, target_span)
                    self.block(node.body)
                    return Static(None)

                self._loops.append(("real", flag.name if flag else ""))
                try:
                    body = self.captured(inner)[1]
                finally:
                    self._loops.pop()
            times = unroll if unroll is None or isinstance(unroll, bool) else int(unroll)
            self.emit(ir.For(variable, start, stop, step, ascending, True, times, body, span))

        self._with_else(node, make)

    def _loop_variable(self, name: str) -> str:
        found = self.fresh(name)
        self._counters.add(found)
        return found

    def _is_stable(self, value: ir.Expression) -> bool:
        """Return whether an expression has the same value all through a loop."""
        if isinstance(value, ir.Extent):
            return isinstance(value.array, ir.Local) and self.is_constant(value.array.name)
        if isinstance(value, ir.Local):
            return self.is_constant(value.name)
        return False

    def _array_loop(self, node: ast.For, array: ir.Expression) -> None:
        """Loop over the elements, or the rows, of an array."""
        span = self.span(node.iter)
        if not isinstance(array, ir.Local):
            if isinstance(array.type, Array) and array.type.layout == "fixed":  # of a record
                view = replace(array.type, layout="C", shape=())
                array = self.convert(array, view, span, "the array")
            array = self.temporary(array)
        kind = array.type
        assert isinstance(kind, Array)
        if kind.ndim == 0:
            raise self.fail("An array without dimensions cannot be looped over.", span)
        counter = ir.Local(self.fresh("k"), PY_INT, span)

        def make(flag: ir.Local | None) -> None:
            def inner() -> Value:
                item = self._index_array(array, [(counter, span)], span)
                if isinstance(item, ir.Element):
                    item = replace(item, wrap=(False,))
                self.assign(node.target, item, span)
                self.block(node.body)
                return Static(None)

            self._loops.append(("real", flag.name if flag else ""))
            try:
                body = self.captured(inner)[1]
            finally:
                self._loops.pop()
            zero, one = ir.Literal_(0, PY_INT, span), ir.Literal_(1, PY_INT, span)
            stop = self._extent(array, 0, span)
            self.emit(ir.For(counter, zero, stop, one, True, True, None, body, span))

        self._with_else(node, make)

    def _static_loop(self, node: ast.For, items: Sequence[Value]) -> None:
        """Loop over what is known: the body is repeated."""
        span = self.span(node.iter)
        leaves = _leaves_early(node.body)
        flag: ir.Local | None = None
        if leaves or node.orelse:
            flag = ir.Local(self.add_local("left", BOOL), BOOL, span)
            self.emit(ir.Store(flag, ir.Literal_(False, BOOL, span), span))
        is_repeated = len(items) > 1
        if is_repeated:
            self._repeated.append(node)
        for item in items:
            if flag is None or not leaves:
                self._static_pass(node, item, span)
                continue

            def once(item: Value = item) -> Value:
                self._loops.append(("static", flag.name))
                try:
                    self._static_pass(node, item, span)
                finally:
                    self._loops.pop()
                return Static(None)

            body = self.captured(once)[1]
            counter = ir.Local(self.fresh("once"), PY_INT, span)
            zero, one = ir.Literal_(0, PY_INT, span), ir.Literal_(1, PY_INT, span)
            loop = ir.For(counter, zero, one, one, True, True, None, body, span)
            self.emit(ir.If(ir.Not(flag, span), (loop,), (), span))
        if is_repeated:
            self._repeated.pop()
        if node.orelse:
            assert flag is not None
            self.emit(ir.If(ir.Not(flag, span), self.captured_block(node.orelse), (), span))

    def _outlives_pass(self, name: str) -> bool:
        """Return whether a name that a repeated body assigns may be read where the last pass is
        not the one that has assigned it: then it has to be a variable.
        """
        if not self._repeated:
            return False
        loop = self._repeated[-1]
        if name in _stored_names(loop.target):
            return _leaves_early(loop.body) and _is_read_outside(self.source.node, name, loop.body)
        for index, statement in enumerate(loop.body):
            if isinstance(statement, ast.Assign) and any(
                name in _stored_names(target) for target in statement.targets
            ):
                return _is_read_outside(self.source.node, name, loop.body[index + 1 :])
        return True  # under a condition

    def _static_pass(self, node: ast.For, item: Value, span: ir.Span) -> None:
        for name in _stored_names(node.target):
            self._bindings.pop(name, None)
        if isinstance(node.target, ast.Name):
            targets: list[tuple[ast.expr, Value]] = [(node.target, item)]
        elif isinstance(node.target, ast.Tuple):
            for part in node.target.elts:
                if isinstance(part, ast.Starred):
                    self.refuse_node(part)
            parts = self.items_of(item, span)
            if len(parts) != len(node.target.elts):
                place = self.span(node.target)
                raise self._wrong_unpacking(len(parts), len(node.target.elts), place)
            targets = list(zip(node.target.elts, parts, strict=True))
        else:
            targets = [(node.target, item)]
        for target, value in targets:
            if (
                isinstance(target, ast.Name)
                and self._scope.is_assigned_once(target.id)
                and not self._outlives_pass(target.id)
            ):
                if isinstance(value, Static | ir.Literal_) or self._is_stable(value):
                    self._bindings[target.id] = value
                else:
                    self._bindings[target.id] = (
                        value if isinstance(value.type, Array) else self.temporary(value)
                    )
            else:
                self.assign(target, value, span)
        self.block(node.body)

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
        found = self.as_expression(value, span)
        if self._is_own_memory(found):
            raise self.refuse(
                "Memory of a function cannot be returned from it.",
                span,
                "declare it where it is used, and pass it as an argument.",
            )
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
        if isinstance(value, ir.Construct):
            return any(map(self._is_own_memory, value.items))
        while isinstance(value, ir.Section):
            value = value.array
        if not isinstance(value.type, Array):
            return False
        is_given = isinstance(value, ir.Local) and value.name in self._given
        return value.type.layout == "fixed" or (value.type.space == "local" and not is_given)

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


class _Group:
    """Items of different kinds that are unpacked right away."""

    __slots__ = ("items", "span")

    def __init__(self, items: tuple[Value, ...], span: ir.Span) -> None:
        self.items = items
        self.span = span


def _has_value(value: Any) -> bool:
    """Return whether a variable can hold a constant: numbers, and tuples of them."""
    if isinstance(value, tuple):
        return all(item is None or _has_value(item) for item in value)
    if value is None or isinstance(value, str | type | types.FunctionType | LocalFunction):
        return False
    return isinstance(value, bool | int | float | complex | np.generic) or hasattr(
        value, "value_rule"
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
        if isinstance(node, ir.Call) and node.operation.effects - {"thread"}:
            return True
        if isinstance(node, ir.Evaluate):
            return True
    return False


def _stored_names(target: ast.expr) -> list[str]:
    """Return the names that a target assigns."""
    names = [node for node in ast.walk(target) if isinstance(node, ast.Name)]
    return [name.id for name in names if isinstance(name.ctx, ast.Store)]


def _is_read_outside(function: ast.AST, name: str, part: Sequence[ast.stmt]) -> bool:
    """Return whether a function reads a name anywhere but in a part of it."""

    def reads(node: ast.AST) -> set[int]:
        names = (item for item in ast.walk(node) if isinstance(item, ast.Name) and item.id == name)
        return {id(item) for item in names if isinstance(item.ctx, ast.Load)}

    return not reads(function) <= set().union(*map(reads, part))


def _leaves_early(nodes: Sequence[ast.stmt]) -> bool:
    """Return whether a loop's body has a 'break' or 'continue' of its own."""
    for node in nodes:
        if isinstance(node, ast.Break | ast.Continue):
            return True
        if isinstance(node, ast.For | ast.While | ast.FunctionDef):
            if isinstance(node, ast.For | ast.While) and _leaves_early(node.orelse):
                return True
            continue
        parts = [getattr(node, name, []) for name in ("body", "orelse")]
        parts += [case.body for case in getattr(node, "cases", [])]
        if any(_leaves_early(part) for part in parts if isinstance(part, list)):
            return True
    return False


def _private_loops(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> dict[int, bool]:
    """Return for each loop over one name whether nothing else assigns or reads that name.

    Reads inside of another loop over the same name are that loop's.
    """
    private: dict[int, bool] = {}
    loops: dict[str, list[ast.For]] = {}
    spoilt: set[str] = set()

    def visit(item: ast.AST, inside: tuple[str, ...]) -> None:
        if isinstance(item, ast.For) and isinstance(item.target, ast.Name):
            name = item.target.id
            loops.setdefault(name, []).append(item)
            if name in inside:
                spoilt.add(name)
            visit(item.iter, inside)
            for part in item.body:
                visit(part, (*inside, name))
            for part in item.orelse:
                visit(part, inside)
            return
        if isinstance(item, ast.Name):
            stored = not isinstance(item.ctx, ast.Load)
            if stored or item.id not in inside:
                spoilt.add(item.id)
        for child in ast.iter_child_nodes(item):
            visit(child, inside)

    body = node.body if isinstance(node.body, list) else [node.body]
    for statement in body:
        visit(statement, ())
    names = {argument.arg for argument in parameters_of(node)}
    for name, found in loops.items():
        for loop in found:
            private[id(loop)] = name not in spoilt and name not in names
    return private
