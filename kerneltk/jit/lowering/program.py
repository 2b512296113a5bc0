"""A kernel and the functions that it calls, lowered for one combination of argument types."""

from __future__ import annotations

import ast
import dataclasses
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kerneltk.core.identifiers import CXX_KEYWORDS, is_library_name, stem_of
from kerneltk.errors import KernelToolkitError, Snippet, TypingError, UnsupportedError
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import CallSite, Intrinsic, Signature, Static, Value
from kerneltk.jit.intrinsics.registry import rule_of
from kerneltk.jit.ir.promotion import join_numbers
from kerneltk.jit.ir.types import VOID, Array, Number, Reference, Tuple, Type
from kerneltk.jit.lowering.references import joined_references, record_at
from kerneltk.jit.source.function_source import FunctionSource, source_of
from kerneltk.jit.source.scope import parameters_of, scope_of

if TYPE_CHECKING:
    from kerneltk.jit.lowering.expressions import Expressions
    from kerneltk.jit.lowering.function import FunctionLowering
    from kerneltk.jit.lowering.names import Names

__all__ = ["LocalFunction", "ProgramBuilder", "identifier", "lower_program"]

_MOST_PASSES = 16  # over one function's types; each pass widens at least one of them


@dataclass(frozen=True, slots=True, eq=False)
class LocalFunction:
    """A function that is defined inside of one that is being lowered.

    Parameters
    ----------
    source : FunctionSource
    around : Names
        Where its free names are looked up.
    defaults : dict of str to Value
    """

    source: FunctionSource
    around: Names
    defaults: dict[str, Value]

    def __repr__(self) -> str:
        return f"<function {self.source.name}>"

    @property
    def __name__(self) -> str:
        """Its name."""
        return self.source.name


def identifier(name: str, taken: Callable[[str], bool]) -> str:
    """Return a C++ name like a Python one that is not taken."""
    plain = (
        name
        if name.isascii()
        else "".join(part if part.isascii() else f"u{ord(part):x}" for part in name)
    )
    if plain.startswith("_"):
        plain = "v" + plain
    found = plain
    stem = stem_of(plain.replace("__", "_"))
    number = 1
    while (
        found in CXX_KEYWORDS
        or is_library_name(found)
        or "__" in found
        or found in _USED_BY_TEXT
        or taken(found)
    ):
        number += 1
        found = f"{stem}_{number}"
    return found


# What generated text itself mentions.
_USED_BY_TEXT = frozenset(
    (
        *("array", "fixed", "strided", "tuple", "warp", "block", "grid", "lane", "thread", "rank"),
        *("assert", "isnan", "isinf", "signbit", "atomicAdd", "conj", "real", "imag", "popcount"),
        *("NULL", "EOF", "errno", "linux", "unix"),
    )
)


class ProgramBuilder:
    """Lowers a kernel and what it calls.

    Parameters
    ----------
    mode : {"cuda", "numpy"}
    """

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.functions: list[ir.Function] = []
        self._signatures: dict[Any, Signature] = {}
        self._stack: list[tuple[Any, str]] = []
        self._names: set[str] = set()
        # Keys hold the identities of objects: these must live as long.
        self._kept: list[Any] = []

    def join(self, first: Type, second: Type) -> Type | None:
        """Return the type of a variable that values of both types are assigned to."""
        if first == second:
            return first
        if isinstance(first, Number) and isinstance(second, Number):
            return join_numbers(first, second, self.mode)
        if isinstance(first, Tuple) and isinstance(second, Tuple):
            if len(first.items) != len(second.items) or first.maker is not second.maker:
                return None
            items = [self.join(a, b) for a, b in zip(first.items, second.items, strict=True)]
            if None in items:
                return None
            return Tuple(tuple(items), first.names, first.maker)  # type: ignore[arg-type]
        if isinstance(first, Reference) or isinstance(second, Reference):
            return joined_references(first, second)
        if isinstance(first, Array) and isinstance(second, Array):
            general: Literal["C", "strided"] = (
                "strided" if "strided" in (first.layout, second.layout) else "C"
            )
            found = [
                dataclasses.replace(kind, layout=general, shape=()) for kind in (first, second)
            ]
            return found[0] if found[0] == found[1] else None
        return None

    def unique(self, name: str) -> str:
        """Return a name for a function of the program."""
        found = identifier(name, self._names.__contains__)
        self._names.add(found)
        return found

    # -- calls ---------------------------------------------------------------------------------

    def call(self, low: Expressions, function: Any, site: CallSite) -> Value | None:
        """Return the value of a call; None if kernels cannot call `function`."""
        if isinstance(function, Intrinsic):
            return function.rule(low, site)
        rule = rule_of(function)
        if rule is not None:
            return rule(low, site)
        function = getattr(function, "jit_function", function)
        if isinstance(function, LocalFunction):
            return self._call_local(low, function, site)
        if isinstance(function, types.FunctionType):
            return self._call_function(low, function, site)
        if isinstance(function, type):
            return self._construct(low, function, site)
        return None

    def _construct(self, low: Expressions, kind: type, site: CallSite) -> Value | None:
        """Return a named tuple or a dataclass."""
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            names = tuple(kind._fields)
            defaults: dict[str, Value] = {
                key: Static(value) for key, value in getattr(kind, "_field_defaults", {}).items()
            }
        elif dataclasses.is_dataclass(kind):
            names = tuple(field.name for field in dataclasses.fields(kind) if field.init)
            defaults = {
                field.name: Static(field.default)
                for field in dataclasses.fields(kind)
                if field.default is not dataclasses.MISSING
            }
        else:
            return None
        values = bind_arguments(low, names, defaults, site)
        items = tuple(low.as_item(values[name], site.span) for name in names)
        types_ = tuple(item.type for item in items)
        return ir.Construct(items, Tuple(types_, names, kind), site.span)

    def _call_function(
        self, low: Expressions, function: types.FunctionType, site: CallSite
    ) -> Value:
        return self._invoke(low, *self._parts_of(low, function, site), None, site)

    def _parts_of(
        self, low: Expressions, function: types.FunctionType, site: CallSite
    ) -> tuple[FunctionSource, types.FunctionType, dict[str, Value]]:
        try:
            source = source_of(function)
        except KernelToolkitError as error:
            sentence, _, hint = str(error.args[0]).partition("\n  Hint: ")
            raise low.refuse(
                f"'{site.name}' cannot be called: {sentence[:1].lower()}{sentence[1:]}",
                site.span,
                hint,
            ) from None
        node = source.node
        positional = [*node.args.posonlyargs, *node.args.args]
        given = function.__defaults__ or ()
        defaults: dict[str, Value] = {
            argument.arg: Static(value)
            for argument, value in zip(
                positional[len(positional) - len(given) :], given, strict=True
            )
        }
        defaults.update((k, Static(v)) for k, v in (function.__kwdefaults__ or {}).items())
        return source, function, defaults

    def _call_local(self, low: Expressions, function: LocalFunction, site: CallSite) -> Value:
        return self._invoke(low, function.source, None, function.defaults, function.around, site)

    def lowered(
        self, low: Expressions, function: Any, arguments: tuple[Value, ...], site: CallSite
    ) -> tuple[Signature, tuple[ir.Expression, ...]] | None:
        """Return a Python function as it is lowered for these arguments, and what a call of it
        passes: the arguments, and variables that it has from the function around. None for another
        object.
        """
        site = dataclasses.replace(site, arguments=arguments, keywords={})
        function = getattr(function, "jit_function", function)
        if isinstance(function, LocalFunction):
            parts = (function.source, None, function.defaults, function.around)
            return self._lowered(low, *parts, site)
        if isinstance(function, types.FunctionType):
            return self._lowered(low, *self._parts_of(low, function, site), None, site)
        return None

    def _invoke(
        self,
        low: Expressions,
        source: FunctionSource,
        function: types.FunctionType | None,
        defaults: dict[str, Value],
        around: Names | None,
        site: CallSite,
    ) -> Value:
        """Call a function, which is lowered for these types if it was not yet."""
        signature, arguments = self._lowered(low, source, function, defaults, around, site)
        if signature.result == VOID:
            low.emit(ir.Evaluate(ir.Invoke(signature.name, arguments, VOID, site.span), site.span))
            return Static(None)
        call = ir.Invoke(signature.name, arguments, signature.result, site.span)
        found: Value = record_at(call if signature.is_pure else low.temporary(call))
        return found

    def _lowered(
        self,
        low: Expressions,
        source: FunctionSource,
        function: types.FunctionType | None,
        defaults: dict[str, Value],
        around: Names | None,
        site: CallSite,
    ) -> tuple[Signature, tuple[ir.Expression, ...]]:
        """Return a function that is lowered for these types, and the arguments of a call."""
        from kerneltk.jit.lowering.function import FunctionLowering  # it calls back

        node = source.node
        if isinstance(node, ast.FunctionDef) and node.args.kwarg is not None:
            raise low.refuse(
                f"'{site.name}' takes '**{node.args.kwarg.arg}', which kernels cannot pass.",
                site.span,
                "name the keywords.",
            )
        names = [argument.arg for argument in parameters_of(node)]
        values = bind_arguments(low, names, defaults, site, node)
        captured = self._captured(low, source, around, site)
        run_time: list[tuple[str, ir.Expression]] = []
        static: dict[str, Static] = {}
        for name, value in [*values.items(), *captured.items()]:
            if isinstance(value, Static) and not _is_run_time(value.value):
                static[name] = value
                continue
            run_time.append((name, low.as_item(value, site.span)))
        key = (
            id(function) if function is not None else (id(node), id(around)),
            tuple((name, argument.type) for name, argument in run_time),
            tuple((name, _identity(value.value)) for name, value in static.items()),
        )
        signature = self._signatures.get(key)
        if signature is None:
            if any(key[0] == active[0] for active, _ in self._stack):
                raise self._recursion(low, source.name, site)
            self._kept.append((function, node, around, static))
            self._stack.append((key, source.name))
            try:
                signature = self._lower(
                    lambda: FunctionLowering(
                        self, source, function, around, tuple(run_time), static, False
                    )
                )
            except (TypingError, UnsupportedError) as error:
                raise _called_from(error, low.source.snippet(site.span)) from error.__cause__
            finally:
                self._stack.pop()
            self._signatures[key] = signature
        return signature, tuple(argument for _, argument in run_time)

    def _captured(
        self,
        low: Expressions,
        source: FunctionSource,
        around: Names | None,
        site: CallSite,
    ) -> dict[str, Value]:
        """Return the variables of the function around that a nested one reads."""
        if around is None:
            return {}
        found: dict[str, Value] = {}
        for name in sorted(scope_of(source.node).free):
            if not around.is_own(name):
                continue
            value = around.lookup(name, site.span)
            if isinstance(value, Static) and isinstance(value.value, LocalFunction):
                continue
            if not isinstance(value, Static) and around is not low:
                raise low.refuse(
                    f"'{source.name}' uses the variable '{name}' of the function that it is "
                    "defined in, and is called outside of that.",
                    site.span,
                    f"pass '{name}' as an argument.",
                )
            found[name] = value
        return found

    def _recursion(self, low: Expressions, name: str, site: CallSite) -> UnsupportedError:
        chain = " -> ".join(f"'{active}'" for _, active in [*self._stack, (None, name)])
        return low.refuse(
            f"'{name}' calls itself ({chain}), which kernels cannot do.",
            site.span,
            "write a loop, with an array of local memory for what is pending.",
        )

    def _lower(self, make: Callable[[], FunctionLowering]) -> Signature:
        """Lower a function until its types are settled."""
        functions, names = len(self.functions), set(self._names)
        signatures = dict(self._signatures)
        lowering = make()
        for _ in range(_MOST_PASSES):
            if lowering.lower():
                function = lowering.function
                self.functions.append(function)
                return Signature(function.name, function.result, lowering.is_pure)
            # What was lowered for types that are not final is lowered again.
            del self.functions[functions:]
            self._names = set(names)
            self._signatures = dict(signatures)
        raise AssertionError("types do not settle")

    def lower_kernel(
        self,
        function: types.FunctionType,
        source: FunctionSource,
        parameters: Sequence[tuple[str, Type, ir.Span]],
        static: dict[str, Static],
        of_elements: bool = False,
    ) -> ir.Program:
        """Lower a kernel for the types of its arguments."""
        from kerneltk.jit.lowering.function import FunctionLowering

        key = (id(function), (), ())
        self._stack.append((key, source.name))
        arguments = tuple((name, ir.Local(name, kind, span)) for name, kind, span in parameters)
        self._lower(
            lambda: FunctionLowering(
                self,
                source,
                function,
                None,
                arguments,
                static,
                not of_elements,
                is_of_elements=of_elements,
            )
        )
        return ir.Program(tuple(self.functions))


def _is_run_time(value: Any) -> bool:
    """Return whether a constant is passed to a function as a value: numbers, and tuples of them."""
    if isinstance(value, tuple):
        return bool(value) and all(map(_is_run_time, value))
    if isinstance(value, bool | np.bool_):
        return True
    if hasattr(value, "value_rule"):
        return True
    return isinstance(value, int | float | complex | np.number)


def _identity(value: Any) -> Any:
    """Return what tells a static argument from another one."""
    if value is None or isinstance(value, bool | int | float | str):
        return (type(value), value)
    return id(value)


def _called_from(
    error: TypingError | UnsupportedError, snippet: Snippet
) -> TypingError | UnsupportedError:
    """Return the error of a function's text with the place of a call that led there."""
    message, separator, hint = str(error.args[0]).partition("\n  Hint: ")
    called = dataclasses.replace(snippet, label="called here")
    return type(error)(f"{message}\n{called.render()}{separator}{hint}")


def bind_arguments(
    low: Expressions,
    names: Sequence[str],
    defaults: dict[str, Value],
    site: CallSite,
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None = None,
) -> dict[str, Value]:
    """Return a call's values by the names of the parameters."""
    keyword_only = {argument.arg for argument in node.args.kwonlyargs} if node else set()
    positional_only = {argument.arg for argument in node.args.posonlyargs} if node else set()
    positional = [name for name in names if name not in keyword_only]
    rest = node.args.vararg.arg if node and node.args.vararg else None
    values: dict[str, Value] = dict(zip(positional, site.arguments, strict=False))
    surplus = list(site.arguments[len(positional) :])
    if surplus and rest is None:
        raise low.fail(
            f"'{site.name}' takes {_arguments(len(positional))}, and {len(site.arguments)} "
            f"{'was' if len(site.arguments) == 1 else 'were'} given.",
            site.span_of(len(positional)),
        )
    for key, value in site.keywords.items():
        if key in positional_only:
            raise low.fail(
                f"'{site.name}' takes '{key}' by its position only.",
                site.keyword_spans.get(key, site.span),
            )
        if key not in names:
            raise low.fail(
                f"'{site.name}' has no parameter '{key}'.",
                site.keyword_spans.get(key, site.span),
                f"its parameters are {', '.join(names) or 'none'}.",
            )
        if key in values:
            raise low.fail(
                f"'{site.name}' got two values for '{key}'.",
                site.keyword_spans.get(key, site.span),
            )
        values[key] = value
    for name in names:
        if name not in values:
            if name not in defaults:
                raise low.fail(f"'{site.name}' needs a value for '{name}'.", site.span)
            values[name] = defaults[name]
    found = {name: values[name] for name in names}
    if rest is not None:
        found[rest] = low.make_tuple(surplus, site.span)
    return found


def _arguments(count: int) -> str:
    return f"{count or 'no'} argument{'' if count == 1 else 's'}"


def lower_program(
    function: types.FunctionType,
    source: FunctionSource,
    parameters: Sequence[tuple[str, Type, ir.Span]],
    static: dict[str, Any],
    mode: str,
    *,
    of_elements: bool = False,
) -> ir.Program:
    """Return a kernel's program for the types of its arguments.

    Parameters
    ----------
    function : function
    source : FunctionSource
    parameters : sequence of (str, Type, Span)
        Those that exist at run time.
    static : dict of str to object
        The others, which are known.
    mode : {"cuda", "numpy"}
    of_elements : bool
        Whether it is a function of one element, which returns its results.

    Raises
    ------
    TypingError, UnsupportedError
        At the user's line.
    """
    known = {name: Static(value) for name, value in static.items()}
    return ProgramBuilder(mode).lower_kernel(function, source, parameters, known, of_elements)
