"""Names of a function in restricted Python: variables and their types, what is bound to an object,
memory that is declared, functions that are defined inside.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.ir.types import PY_INT, Array, Number, Opaque, Type
from kerneltk.jit.lowering.expressions import Expressions
from kerneltk.jit.lowering.program import LocalFunction, identifier
from kerneltk.jit.lowering.references import hint_for, is_part, memory_of, record_at
from kerneltk.jit.source.scope import scope_of

if TYPE_CHECKING:
    from kerneltk.jit.lowering.program import ProgramBuilder
    from kerneltk.jit.source.function_source import FunctionSource

__all__ = ["Names", "Pending"]


class Pending(Exception):  # noqa: N818 (no error: a later pass knows more)
    """A variable's type is not known yet."""


class Names(Expressions):
    """What a function's names mean, and what passes over it have learnt of their types.

    Parameters
    ----------
    program : ProgramBuilder
    source : FunctionSource
    function : function or None
        None for one that is defined inside of another.
    around : Names or None
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
        around: Names | None,
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

    def begin(self) -> None:
        """Begin a pass: forget what the last one made, not what it learnt."""
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
        self._given: set[str] = set()  # the parameters that exist at run time
        self.is_pure = True
        self.statements = []

    # -- what subclasses know ------------------------------------------------------------------

    def block(self, nodes: Sequence[ast.stmt]) -> bool:
        """Lower statements into the current list; returns whether the last one leaves it."""
        raise NotImplementedError

    def _outlives_pass(self, name: str) -> bool:
        """Return whether what a name is in one pass of a loop that is repeated is read later."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Value, span: ir.Span) -> None:
        """Assign a value to a target of any kind."""
        raise NotImplementedError

    def captured_block(self, nodes: Sequence[ast.stmt]) -> tuple[ir.Statement, ...]:
        """Return the statements that a block becomes."""

        def make() -> Value:
            self.block(nodes)
            return Static(None)

        return self.captured(make)[1]

    def _wrong_unpacking(self, values: int, names: int, span: ir.Span) -> Exception:
        given = "1 value" if values == 1 else f"{values or 'No'} values"
        return self.fail(
            f"{given} cannot be assigned to {names} name{'' if names == 1 else 's'}.", span
        )

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

    def _lasts(self, variable: ir.Local) -> bool:
        """Return whether a variable is the same all through the function: what is given to it, or
        memory that is declared.
        """
        is_memory = isinstance(variable.type, Array) and variable.name not in self._locals
        return (is_memory or variable.name in self._given) and self.is_constant(variable.name)

    def is_own(self, name: str) -> bool:
        """Return whether a name is this function's, or one's around it."""
        if self._scope.is_local(name) or name in self._bindings:
            return True
        return self._around is not None and self._around.is_own(name)

    def lookup(self, name: str, span: ir.Span) -> Value:
        """Return what a name means here."""
        bound = self._bindings.get(name)
        if bound is not None:
            return self._read(replace(bound, span=span)) if isinstance(bound, ir.Local) else bound
        if name in self._variables and name in self._types:
            return self._read(ir.Local(self._ir_name(name), self._types[name], span))
        if self._scope.is_local(name):
            if name in self._types and name not in self._variables:
                # Assigned further down in a loop.
                self._variables.add(name)
                return self._read(ir.Local(self._ir_name(name), self._types[name], span))
            self._pending.append((name, span))
            raise Pending(name)
        if self._around is not None and self._around.is_own(name):
            return self._around.lookup(name, span)
        return self._global(name, span)

    def _read(self, variable: ir.Local) -> Value:
        """Return what a variable has: of a reference the record."""
        found: Value = record_at(variable)
        return found

    def _ir_name(self, name: str) -> str:
        if name not in self._ir_names:
            self._ir_names[name] = self.add_local(name, self._types[name])
        return self._ir_names[name]

    def _global(self, name: str, span: ir.Span) -> Static:
        """Return what a name means outside of all functions."""
        lowering: Names = self
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
                hint=hint_for(known, kind) or f"{hint}.",
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
            # A pass of a loop may leave the name as it is, and change what its place depends on.
            lasts = self._lasts if name in self._scope.in_loops else None
            is_opaque = isinstance(value.type, Opaque)
            self._bindings[name] = value if is_opaque else self._settled_place(value, lasts)
            return
        if name in self._bindings:
            self._object_conflict(name, value, span)
        found = self.kept(value, span)
        if isinstance(found.type, Array) and found.type.is_of_copy:
            raise self.refuse(
                "An array of a copy of a record cannot be kept in a variable that is assigned more "
                "than once.",
                span,
                "use a second variable, or keep the record.",
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
        return memory_of(value) is not None or is_part(value)

    def _is_fixed(self, value: ir.Expression) -> bool:
        return isinstance(value, ir.Literal_) or (
            isinstance(value, ir.Local | ir.Call) and self._is_alias(value)
        )

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


def _has_value(value: Any) -> bool:
    """Return whether a variable can hold a constant: numbers, and tuples of them."""
    if isinstance(value, tuple):
        return all(item is None or _has_value(item) for item in value)
    if value is None or isinstance(value, str | type | types.FunctionType | LocalFunction):
        return False
    return isinstance(value, bool | int | float | complex | np.generic) or hasattr(
        value, "value_rule"
    )
