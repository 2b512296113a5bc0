"""What an intrinsic is: a row that says how its calls are typed and what text they become."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from kerneltk.core.records import record
from kerneltk.errors import UnsupportedError
from kerneltk.jit import ir
from kerneltk.jit.ir.operations import Operation as Operation

if TYPE_CHECKING:
    from kerneltk.jit.ir.types import Type
    from kerneltk.jit.lowering.builder import FunctionBuilder


@record(eq=False)
class Static:
    """A Python object that is known when the kernel is compiled."""

    value: Any


_NONE = Static(None)
Value: TypeAlias = "ir.Expression | Static"


def is_object(value: Value) -> TypeGuard[Static]:
    """Return whether a value is a plain Python object, not one that only a thread has."""
    return isinstance(value, Static) and not hasattr(type(value.value), "value_rule")


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


Builder: TypeAlias = "FunctionBuilder"  # of the lowering, which stands above the rules
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


# -- values that only intrinsics know what to do with, and their methods ---------------------------


class Methods(dict[str, "Rule"]):
    """The methods of an opaque value by their names; part of its type, and so equal to itself alone
    and a key.
    """

    __eq__, __hash__ = object.__eq__, object.__hash__  # type: ignore[assignment]


def method(rule: Callable[[Any, ir.Expression, CallSite], Value]) -> Rule:
    """Return the rule of a method, whose first argument is its owner, from one that is given the
    owner apart from the arguments in the user's text.
    """

    def bound(low: Any, site: CallSite) -> Value:
        owner, *arguments = site.arguments
        assert isinstance(owner, ir.Expression)
        return rule(low, owner, replace(site, arguments=tuple(arguments), spans=site.spans[1:]))

    return bound
