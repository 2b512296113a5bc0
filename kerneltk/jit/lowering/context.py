"""The state of lowering: of a program, and of each of its functions.

Every variable has one type in a function: what all values join to that are assigned to it. A
function is lowered again, with what was learnt, until no type changes.
"""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from kerneltk.core.identifiers import CXX_KEYWORDS, is_library_name, stem_of
from kerneltk.core.records import record
from kerneltk.errors import TypingError, UnsupportedError, render_message
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import CallSite, Signature, Static, Value
from kerneltk.jit.ir.types import Array, Number, Type
from kerneltk.jit.source.lookups import Lookups
from kerneltk.jit.source.scope import scope_of
from kerneltk.jit.source.text import FunctionSource

_KNOWN = "use a literal, a global, or a variable that is assigned once, to a constant."


class Pending(Exception):  # noqa: N818 (no error: a later pass knows more)
    """A variable's type is not known yet."""


class NotImplementedResult(Exception):  # noqa: N818 (no error: the other operand is asked)
    """A function returns NotImplemented for these types."""


@record(eq=False)
class LocalFunction:
    """A function that is defined inside of one that is being lowered."""

    source: FunctionSource
    around: Context  # where its free names are looked up
    defaults: dict[str, Value]

    def __repr__(self) -> str:
        return f"<function {self.source.name}>"

    @property
    def __name__(self) -> str:
        """Its name."""
        return self.source.name


def _calls_nothing(low: Any, function: Any, site: CallSite) -> Value:
    raise AssertionError("nothing is called here")


@record
class Handlers:
    """What lowers a syntax node, by its class. Functions that stand below the handlers reach them
    through these tables alone.
    """

    expressions: Mapping[type[ast.AST], Callable[[Any, Any], Value]]
    # These emit; true if control leaves the block.
    statements: Mapping[type[ast.AST], Callable[[Any, Any], bool | None]]
    call: Callable[[Any, Any, CallSite], Value] = _calls_nothing  # of a Python object


@dataclass(slots=True, eq=False)
class Program:
    """A kernel and the functions that it calls, as far as they are lowered."""

    mode: str
    handlers: Handlers
    functions: list[ir.Function] = field(default_factory=list)
    signatures: dict[Any, Signature] = field(default_factory=dict)
    stack: list[Context] = field(default_factory=list)  # of functions that are being lowered
    names: set[str] = field(default_factory=set)
    # Keys hold the identities of objects: these must live as long.
    kept: list[Any] = field(default_factory=list)
    lookups: Lookups = field(default_factory=Lookups)
    widening: bool = True  # types hold all that joins to them: else Python's numbers give way
    of_elements: bool = False  # it is no kernel of threads
    versions: bool = False  # each value of a variable has its own type: `source.versions`
    is_recursive: bool = False  # a function calls itself, or a caller
    # Parameters that are constants of the functions that ask for their values, by function.
    constants: dict[Any, set[str]] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)  # functions with types that do not hold a value
    impure: set[str] = field(default_factory=set)  # functions that write to memory, or wait

    def state(self) -> tuple[int, set[str], dict[Any, Signature]]:
        """Return what `restore` goes back to."""
        return len(self.functions), set(self.names), dict(self.signatures)

    def restore(self, state: tuple[int, set[str], dict[Any, Signature]]) -> None:
        """Forget the functions that were lowered since."""
        count, names, signatures = state
        del self.functions[count:]
        # Those of functions that are being lowered, which calls of themselves have.
        self.names = names | {active.name for active in self.stack[:-1]}
        self.signatures = dict(signatures)

    def unique(self, name: str) -> str:
        """Return a name for a function of the program."""
        found = identifier(name.strip("<>"), self.names.__contains__)  # of "<lambda>"
        self.names.add(found)
        return found


@dataclass(eq=False)
class Context:
    """The state of lowering one function for one combination of argument types."""

    program: Program
    source: FunctionSource
    python_function: types.FunctionType | None  # None for one that is defined inside of another
    around: Context | None  # of the function that it is defined in
    arguments: tuple[tuple[str, ir.Expression], ...]  # at run time; only their types matter
    static: dict[str, Static]  # parameters that are known
    is_kernel: bool = False
    is_of_elements: bool = False  # of one element, whose index it may ask for
    uses: Mapping[str, Type] = field(default_factory=dict)  # arguments as `joins.use_of` has them
    key: tuple[Any, ...] = ()  # of the function that is called, with the types of this call

    def __post_init__(self) -> None:
        if self.program.versions:
            from kerneltk.jit.source.versions import with_versions  # only where types clash

            self.source = replace(self.source, node=with_versions(self.source.node))
        self.scope = scope_of(self.source.node)
        # What passes learn.
        self.types: dict[str, Type] = {}
        self.joined: dict[str, Type] = {}  # with what they are joined from
        self.joined_result: Type | None = None
        self.minds_constants = False  # a parameter that may be given a constant is joined
        self.origins: dict[str, ir.Span] = {}
        self.joins: dict[tuple[str, Type], ir.Span] = {}  # of the first number of each type
        self.result: Type | None = None
        self.result_span: ir.Span | None = None
        self.annotated: dict[str, Number] = {}
        self.declared_as = ""  # the name that the value of an assignment is for
        self.returned: list[Static] = []  # results that are no values: None and functions
        self.begin()

    def begin(self) -> None:
        """Begin a pass: forget what the last one made, not what it learnt."""
        self.changed = False
        self.unknown: set[str] = set()  # parameters whose values have to be known, and are not
        self.is_cut = False  # a type does not hold a value that is assigned
        self.constants: dict[str, Type] = {}  # parameters that are given constants
        self.pending: list[tuple[str, ir.Span]] = []  # names that nothing is known of
        self.bindings: dict[str, Value] = {}
        # Of names that are bound in a block and read outside: assigned and read with them.
        self.bound: dict[str, ir.Local] = {}
        self.locals: dict[str, Type] = {}
        self.ir_names: dict[str, str] = {}
        self.taken: set[str] = set()
        self.numbers: dict[str, int] = {}  # of names that are taken for good
        self.counters: set[str] = set()
        self.variables: set[str] = set()
        self.loops: list[tuple[str, str]] = []
        self.repeated: list[ast.For] = []
        self.constant_arrays: dict[int, ir.Local] = {}  # from outside, by identity
        self.element_index: tuple[ir.Local, ...] = ()
        self.given: set[str] = set()  # the parameters that exist at run time
        # A recursive call without a result: none is known yet, the statement is left out.
        self.asked: tuple[Context, ir.Span] | None = None  # of this function, and where
        self.waits = False  # of a function that called this one
        self.may_write = False  # by way of such a function
        self.name = ""  # in the IR, where it had to be known before the end of the pass
        self.returned_before, self.returned = self.returned, []
        self.statements: list[ir.Statement] = []
        self._first = self.statements

    # -- messages ------------------------------------------------------------------------------

    @property
    def mode(self) -> str:
        """``"cuda"``, ``"numpy"`` or ``"numba"``: how numbers of two dtypes meet."""
        return self.program.mode

    def span(self, node: ast.AST) -> ir.Span:
        """Return the location of a syntax node."""
        return self.source.span(node)

    def fail(self, sentence: str, span: ir.Span, hint: str = "") -> TypingError:
        """Return the error for types that do not fit."""
        return TypingError(render_message(sentence, self.source.snippet(span), hint=hint))

    def refuse(self, sentence: str, span: ir.Span, hint: str = "") -> UnsupportedError:
        """Return the error for what restricted Python does not have."""
        return UnsupportedError(render_message(sentence, self.source.snippet(span), hint=hint))

    def fail_unknown(
        self, value: Value, sentence: str, span: ir.Span, hint: str = _KNOWN
    ) -> TypingError:
        """Return the error for a value that is not known when the kernel is compiled. Callers that
        pass constants for the parameters in it lower the function again with these.
        """
        self.unknown |= self.parameters_in(value)
        return self.fail(sentence, span, hint)

    def clash(self, sentence: str, *uses: tuple[ir.Span, str], hint: str) -> TypingError:
        """Return the error for uses of one thing that do not go together."""
        snippets = [self.source.snippet(span, f"here it is {shown}") for span, shown in uses]
        return TypingError(render_message(sentence, *snippets, hint=hint))

    # -- statements ----------------------------------------------------------------------------

    def emit(self, statement: ir.Statement) -> None:
        """Add a statement before the one that is being lowered."""
        self.statements.append(statement)

    def declare_first(self, statement: ir.Declare) -> None:
        """Add a declaration where the function begins."""
        self._first.insert(0, statement)

    @property
    def is_certain(self) -> bool:
        """Whether each call of the function comes to what is being lowered."""
        leaves = any(isinstance(node, ir.Return) for node in ir.walk(*self.statements))
        return self.statements is self._first and not leaves

    def copied(self, value: ir.Expression) -> ir.Local:
        """Return a value as it is now, in a variable of its own."""
        name = self.add_local("t", value.type)
        local = ir.Local(name, value.type, value.span)
        self.emit(ir.Store(local, value, value.span))
        return local

    @contextmanager
    def captured(self) -> Iterator[list[ir.Statement]]:
        """Take away the statements that are added in a ``with`` block, as a list."""
        outer, self.statements = self.statements, []
        try:
            yield self.statements
        finally:
            self.statements = outer

    # -- variables -----------------------------------------------------------------------------

    def fresh(self, stem: str) -> str:
        """Return a name that no variable has."""
        name = identifier(stem, self.taken.__contains__)
        self.taken.add(name)
        return name

    def add_local(self, stem: str, kind: Type) -> str:
        """Return the name of a new variable."""
        # Loops share the names of their counters; a variable of the whole function cannot.
        if self.counters:
            name = identifier(stem, (self.taken | self.counters).__contains__)
        else:
            name = identifier(stem, self.taken.__contains__, self.numbers)
        self.taken.add(name)
        self.locals[name] = kind
        return name

    def is_constant(self, name: str) -> bool:
        """Return whether a variable never changes once it is read."""
        changing = {self.ir_names.get(variable) for variable in self.variables}
        return name not in changing

    def lasts(self, variable: ir.Local) -> bool:
        """Return whether a variable is the same all through the function: what is given to it, or
        memory that is declared.
        """
        is_memory = isinstance(variable.type, Array) and variable.name not in self.locals
        return (is_memory or variable.name in self.given) and self.is_constant(variable.name)

    def parameters_in(self, value: Value) -> set[str]:
        """Return the parameters that an expression reads and that are never assigned to."""
        if isinstance(value, Static):
            return set()
        read = {node.name for node in ir.walk(value) if isinstance(node, ir.Local)} & self.given
        return {name for name, bound in self.bindings.items() if getattr(bound, "name", "") in read}

    def is_own(self, name: str) -> bool:
        """Return whether a name is this function's, or one's around it."""
        if self.scope.is_local(name) or name in self.bindings:
            return True
        return self.around is not None and self.around.is_own(name)


# -- names of the IR and of generated sources ------------------------------------------------------


def identifier(
    name: str, taken: Callable[[str], bool], numbers: dict[str, int] | None = None
) -> str:
    """Return a C++ name like a Python one that is not taken. `numbers` has the last number of each
    name, where names stay taken: those below need not be tried.
    """
    plain = (
        name
        if name.isascii()
        else "".join(part if part.isascii() else f"u{ord(part):x}" for part in name)
    )
    if plain.startswith("_"):
        plain = "v" + plain
    found = plain
    # No underscore at its end: with the one before the number it would be two, which are reserved.
    stem = stem_of(re.sub("_+", "_", plain).rstrip("_"))
    number = 1 if numbers is None else numbers.get(plain, 1)
    if number > 1:
        found = f"{stem}_{number}"
    while (
        found in CXX_KEYWORDS
        or is_library_name(found)
        or "__" in found
        or found in _USED_BY_SOURCE
        or taken(found)
    ):
        number += 1
        found = f"{stem}_{number}"
    if numbers is not None:
        numbers[plain] = number
    return found


# Names that generated source itself mentions.
_USED_BY_SOURCE = frozenset(
    (
        *("array", "fixed", "strided", "tuple", "warp", "block", "grid", "lane", "thread", "rank"),
        *("assert", "isnan", "isinf", "signbit", "atomicAdd", "conj", "real", "imag", "popcount"),
        *("NULL", "EOF", "errno", "linux", "unix"),
    )
)
