"""What an intrinsic is: a row that says how its calls are typed and what text they become."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from kerneltk.core.records import record
from kerneltk.errors import UnsupportedError
from kerneltk.jit import ir
from kerneltk.jit.ir.operations import Operation as Operation

if TYPE_CHECKING:
    import ast

    from kerneltk.jit.ir.types import Number, Type


@record(eq=False)
class Static:
    """A Python object that is known when the kernel is compiled."""

    value: Any


_NONE = Static(None)
Value: TypeAlias = "ir.Expression | Static"


@record
class CallSite:
    """A call in the user's text."""

    name: str  # the callee as the user spells it
    arguments: tuple[Value, ...]
    keywords: dict[str, Value]
    span: ir.Span  # of the whole call
    spans: tuple[ir.Span, ...]  # of the positional arguments
    keyword_spans: dict[str, ir.Span] = field(default_factory=dict)

    def span_of(self, index: int) -> ir.Span:
        """Return the place of an argument."""
        return self.spans[index] if index < len(self.spans) else self.span

    def places(self, names: Sequence[str]) -> dict[str, ir.Span]:
        """Return the places of the arguments by the names of the parameters."""
        given = dict(zip(names, self.spans, strict=False))
        return {name: given.get(name) or self.keyword_spans.get(name, self.span) for name in names}


@record
class Signature:
    """A function that was lowered."""

    name: str  # in the IR
    result: Type
    is_pure: bool  # a call neither writes to memory nor waits
    static: Static = _NONE  # what a call is that has no result at run time


class Builder(Protocol):
    """What the lowering offers to the rules of intrinsics."""

    @property
    def mode(self) -> str:
        """``"cuda"`` or ``"numpy"``."""

    def fail(self, sentence: str, span: ir.Span, hint: str = "", label: str = "") -> Exception:
        """Return the error for types that do not fit."""

    def refuse(self, sentence: str, span: ir.Span, hint: str = "", label: str = "") -> Exception:
        """Return the error for what restricted Python does not have."""

    def as_expression(self, value: Value, span: ir.Span) -> ir.Expression:
        """Return a value as an expression; raises for what has no value at run time."""

    def as_number(self, value: Value, span: ir.Span, what: str = "") -> ir.Expression:
        """Return a value as a number; raises for anything else."""

    def cast(self, value: ir.Expression, target: Number) -> ir.Expression:
        """Return a number as one of another type."""

    def fitted(self, value: ir.Expression, target: Number) -> ir.Expression:
        """Return a number as one of another type; raises for a finite constant that it would make
        infinite.
        """

    def joined_values(self, values: Sequence[ir.Expression], spans: Sequence[ir.Span]) -> Type:
        """Return the type of an expression that is one of several values; raises if they have
        none.
        """

    def convert(self, value: Value, target: Type, span: ir.Span, what: str) -> ir.Expression:
        """Return a value as one of a type that it can be stored to; raises where it cannot."""

    def exchanged(self, value: Value, span: ir.Span) -> ir.Expression:
        """Return a value as other threads can be given it: records themselves, no references."""

    def truth(self, value: Value, span: ir.Span) -> ir.Expression | Static:
        """Return whether a value is true."""

    def declare(
        self,
        element: Any,
        shape: tuple[int, ...] | None,
        space: str,
        span: ir.Span,
        alignment: int = 0,
        data: bytes = b"",
    ) -> ir.Expression:
        """Declare memory where the call stands, and return it; a shape of None is the block's
        dynamic shared memory.
        """

    def declare_opaque(self, kind: Type, span: ir.Span, stem: str, shared: bool) -> ir.Expression:
        """Declare a variable of a type that only intrinsics know."""

    def temporary(self, value: ir.Expression) -> ir.Expression:
        """Return an expression that can be used several times and is evaluated once, now."""

    def element(self, array: Value, index: Value, span: ir.Span) -> ir.Element:
        """Return an element of an array."""

    def emit(self, statement: ir.Statement) -> None:
        """Add a statement before the one that is being lowered."""

    def binary(
        self, op: str, left: Value, right: Value, span: ir.Span, spans: Any = None, *,
        in_place: bool = False,
    ) -> Value:  # fmt: skip
        """Return an operation with Python's meaning."""

    def compare(self, op: ast.cmpop, left: Value, right: Value, span: ir.Span) -> Value:
        """Return a comparison with Python's meaning."""

    def make_tuple(self, values: Sequence[Value], span: ir.Span) -> Value:
        """Return a tuple of values."""

    def items_of(self, value: Value, span: ir.Span) -> list[Value]:
        """Return the items of a tuple; raises for anything else."""

    def index(self, ndim: int, span: ir.Span) -> tuple[ir.Local, ...]:
        """Return the index of the element that the function computes."""

    def lowered(
        self, function: Any, arguments: tuple[Value, ...], site: CallSite
    ) -> tuple[Signature, tuple[ir.Expression, ...]] | None:
        """Lower a Python function for these arguments; return it with the arguments of a call of
        it, captured variables included. None for another object.
        """

    def describe(self, value: Value) -> str:
        """Return the words for a value at the beginning of a sentence."""

    def phrase(self, value: Value) -> str:
        """Return the words for a value within a sentence."""

    def not_computed(
        self,
        error: Exception,
        operands: Sequence[Any],
        span: ir.Span,
        spans: Sequence[ir.Span] | None = None,
    ) -> Exception:
        """Return the error for constants that Python itself cannot compute with."""


Rule: TypeAlias = "Callable[[Builder, CallSite], Value]"


class Named:
    """What a public name stands for. It is pickled as that name, which `__name__` is behind
    ``jit.``, and is its own copy, as functions of modules are.
    """

    __name__: str

    def __reduce__(self) -> str | tuple[Any, ...]:
        import pkgutil  # only who pickles needs it

        return pkgutil.resolve_name, (f"kerneltk.jit:{self.__name__}",)


class Intrinsic(Named):
    """A function that only kernels can call, by its name behind ``jit.``; its rule types a call and
    returns its value.
    """

    def __init__(self, name: str, rule: Rule, doc: str = "") -> None:
        self.__name__ = self.__qualname__ = name
        self.rule = rule
        self.__doc__ = doc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: there is no thread here."""
        raise UnsupportedError(f"'{self.__name__}' can only be called inside of a kernel.")

    def __repr__(self) -> str:
        return f"<intrinsic {self.__name__}>"


@record(eq=False)
class BoundMethod:
    """A method of a value that exists at run time."""

    value: ir.Expression
    rule: Rule
    name: str

    @property
    def __name__(self) -> str:
        """What messages call it."""
        return self.name
