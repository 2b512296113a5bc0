"""Functions that a function calls, lowered for the types of the arguments."""

from __future__ import annotations

import ast
import dataclasses
import types
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kerneltk.errors import KernelToolkitError, Snippet, TypingError, UnsupportedError
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import CallSite, Signature, Static, Value
from kerneltk.jit.ir.types import VOID
from kerneltk.jit.lowering.context import Context, LocalFunction, Pending
from kerneltk.jit.lowering.function import annotated_type, lower_function
from kerneltk.jit.lowering.names import lookup
from kerneltk.jit.lowering.values.conversion import Group, as_item, make_tuple
from kerneltk.jit.lowering.values.joins import use_of
from kerneltk.jit.source.function_source import source_of
from kerneltk.jit.source.scope import parameters_of, scope_of
from kerneltk.jit.source.syntax import own_nodes
from kerneltk.jit.source.text import FunctionNode, FunctionSource

_MOST_OF_ONE = 16  # calls of one function within each other, each with other types


class Callee(NamedTuple):
    """A Python function that is called: `LocalFunction`, or one with an object."""

    source: FunctionSource
    function: types.FunctionType | None
    defaults: dict[str, Value]
    around: Context | None


def callee_of(low: Context, function: Any, site: CallSite) -> Callee | None:
    """Return a Python function that kernels can call; None for another object."""
    function = getattr(function, "jit_function", function)
    if type(function).__module__.startswith("numba."):  # of numba's @njit: what it compiles
        function = getattr(function, "py_func", function)
    if isinstance(function, LocalFunction):
        return Callee(function.source, None, function.defaults, function.around)
    if not isinstance(function, types.FunctionType):
        return None
    try:
        source = source_of(function)
    except KernelToolkitError as error:
        sentence, _, hint = str(error.args[0]).partition("\n  Hint: ")
        raise low.refuse(
            f"'{site.name}' cannot be called: {sentence[:1].lower()}{sentence[1:]}", site.span, hint
        ) from None
    given = function.__defaults__ or ()
    positional = [*source.node.args.posonlyargs, *source.node.args.args]
    names = [argument.arg for argument in positional[len(positional) - len(given) :]]
    known = {**dict(zip(names, given, strict=True)), **(function.__kwdefaults__ or {})}
    return Callee(source, function, {name: Static(value) for name, value in known.items()}, None)


def lowered(
    low: Context, function: Any, arguments: tuple[Value, ...], site: CallSite
) -> tuple[Signature, tuple[ir.Expression, ...]] | None:
    """Lower a Python function for these arguments; return it with the arguments of a call of it,
    captured variables included. None for another object.
    """
    site = dataclasses.replace(site, arguments=arguments, keywords={})
    callee = callee_of(low, function, site)
    return None if callee is None else lowered_for(low, callee, site)


def lowered_for(
    low: Context, callee: Callee, site: CallSite
) -> tuple[Signature, tuple[ir.Expression, ...]]:
    """Return a function that is lowered for these types, and the arguments of a call.

    Arguments that are known numbers are constants of a function that returns one of its own: they
    are all that the returned one can use of a call that is over. So are those whose values a
    function asks for, as the shape of an array: that is found while it is lowered.
    """
    source, function, defaults, around = callee
    node = source.node
    if isinstance(node, ast.FunctionDef) and node.args.kwarg is not None:
        raise low.refuse(
            f"'{site.name}' takes '**{node.args.kwarg.arg}', which kernels cannot pass.",
            site.span,
            "name the keywords.",
        )
    names = [argument.arg for argument in parameters_of(node)]
    values = bind_arguments(low, names, defaults, site, node)
    if around is not None and around is not low:
        _check_defaults(low, source, values, defaults, site)
    captured = _captured_variables(low, source, around, site)
    identity = id(function) if function is not None else (id(node), id(around))
    asked = low.program.constants.setdefault(identity, set())
    run_time: list[tuple[str, ir.Expression]] = []
    static: dict[str, Static] = {}
    constant = values.keys() - scope_of(node).assigned if _returns_function(node) else set()
    if around is not low and low.around is not around:  # it is called when that call is over
        constant |= captured.keys()
    constant |= asked
    given = {**values, **captured}
    for name, value in given.items():
        if isinstance(value, Static) and (name in constant or not _is_run_time(value.value)):
            static[name] = value
            continue
        run_time.append((name, as_item(low, value, site.span)))
    uses = {name: use_of(low, argument) for name, argument in run_time}
    fixed = tuple((name, _identity(value.value)) for name, value in static.items())
    key = (identity, tuple(uses.items()), fixed)
    # Of a function that joins no parameter it does not matter which of them are constants.
    of_all = (identity, tuple((name, argument.type) for name, argument in run_time), fixed, True)
    signature = low.program.signatures.get(key) or low.program.signatures.get(of_all)
    if signature is None:
        active = [context for context in low.program.stack if context.key[0] == identity]
        called = next((context for context in active if context.key == key), None)
        if called is not None:
            return _recursive(low, called, site.span), tuple(value for _, value in run_time)
        if len(active) >= _MOST_OF_ONE:
            raise _endless(low, source.name, site)
        low.program.kept.append((function, node, around, static))
        inner = type(low)(
            low.program, source, function, around, tuple(run_time), static, uses=uses, key=key
        )
        signature = _lower(low, inner, given, site)
        if signature is None:
            asked |= inner.unknown
            return lowered_for(low, callee, site)
        low.program.signatures[key if inner.minds_constants else of_all] = signature
    if not low.program.widening and signature.name in low.program.cut:
        low.is_cut = True
    return signature, tuple(argument for _, argument in run_time)


def _lower(
    low: Context, inner: Context, given: dict[str, Value], site: CallSite
) -> Signature | None:
    """Lower a function that is called; return None where it asks for the values of parameters that
    are `given` constants.
    """
    before = low.program.state()
    low.program.stack.append(inner)
    try:
        return lower_function(inner)
    except (TypingError, UnsupportedError) as error:
        unknown = [given[name] for name in inner.unknown & given.keys()]
        if unknown and all(isinstance(value, Static) for value in unknown):
            low.program.restore(before)
            return None
        low.unknown.update(*map(low.parameters_in, unknown))
        raise _called_from(error, low.source.snippet(site.span)) from error.__cause__
    finally:
        low.program.stack.pop()


def _check_defaults(
    low: Context,
    source: FunctionSource,
    values: dict[str, Value],
    defaults: dict[str, Value],
    site: CallSite,
) -> None:
    """Refuse a default that was computed in another function, which has its variables."""
    for name, default in defaults.items():
        if values[name] is not default or isinstance(default, Static):
            continue
        if isinstance(default, Group) or any(isinstance(n, ir.Local) for n in ir.walk(default)):
            raise low.refuse(
                f"The default of '{name}' of '{source.name}' is computed in the function that it "
                "is defined in, and it is called outside of that.",
                site.span,
                f"pass '{name}' as an argument.",
            )


def _captured_variables(
    low: Context, source: FunctionSource, around: Context | None, site: CallSite
) -> dict[str, Value]:
    """Return the variables of the function around that a nested one reads."""
    if around is None:
        return {}
    found: dict[str, Value] = {}
    for name in sorted(scope_of(source.node).free):
        if not around.is_own(name):
            continue
        # A function beside it, or itself, that uses the variable was given it, too.
        is_given = low.around is around and name in low.scope.free and name in dict(low.arguments)
        value = lookup(low if is_given else around, name, site.span)
        if isinstance(value, Static) and isinstance(value.value, LocalFunction):
            continue
        if not (isinstance(value, Static) or is_given or around is low):
            raise low.refuse(
                f"'{source.name}' uses the variable '{name}' of the function that it is "
                "defined in, and is called outside of that.",
                site.span,
                f"pass '{name}' as an argument.",
            )
        found[name] = value
    return found


def _recursive(low: Context, called: Context, span: ir.Span) -> Signature:
    """Return a function that is being lowered, with its result as far as it is known; raises
    Pending where it is not.

    Results are a fixed point: the returns without such calls come first, and a pass in which the
    result changed is repeated.
    """
    program = low.program
    program.is_recursive = True
    between = program.stack[program.stack.index(called) + 1 :]
    if called.result is None and isinstance(called.source.node, ast.FunctionDef):
        node = called.source.node
        called.result = annotated_type(called, node.returns) or (
            None if _has_result(node) else VOID
        )
    if called.result is None:
        called.asked = called.asked or (low, span)
        for function in between:
            function.waits = True
        raise Pending(called.source.name)
    for function in between:
        function.may_write = True
    called.name = called.name or program.unique(called.source.name)
    returned = (called.returned or called.returned_before)[:1]
    return Signature(called.name, called.result, False, *returned)


def _has_result(node: ast.FunctionDef) -> bool:
    """Return whether a function returns a value anywhere."""
    return any(
        isinstance(part, ast.Return) and getattr(part.value, "value", part.value) is not None
        for part in own_nodes(node)
    )


def _returns_function(node: FunctionNode) -> bool:
    """Return whether a function returns one that it defines, as far as its text shows it."""
    if isinstance(node, ast.Lambda):
        return isinstance(node.body, ast.Lambda)
    parts = list(own_nodes(node))
    names = {part.name for part in parts if isinstance(part, ast.FunctionDef)}
    for part in parts:
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Lambda):
            names |= {target.id for target in part.targets if isinstance(target, ast.Name)}
    return any(
        isinstance(part, ast.Return)
        and (isinstance(part.value, ast.Lambda) or getattr(part.value, "id", None) in names)
        for part in parts
    )


def _endless(low: Context, name: str, site: CallSite) -> TypingError:
    return low.fail(
        f"'{name}' calls itself with arguments of other types each time, {_MOST_OF_ONE} deep.",
        site.span,
        "convert the arguments, so that their types are those of the call before.",
    )


def _is_run_time(value: Any) -> bool:
    """Return whether a constant is passed to a function as a value: numbers, and tuples of them."""
    if isinstance(value, tuple):
        return bool(value) and all(map(_is_run_time, value))
    if isinstance(value, bool | np.bool_):
        return True
    if hasattr(type(value), "value_rule"):
        return True
    return isinstance(value, int | float | complex | np.number)


def _identity(value: Any) -> Any:
    """Return a key of a static argument."""
    if isinstance(value, float | complex | np.number):
        return (type(value), repr(value))  # 0.0 == -0.0
    if value is None or isinstance(value, bool | int | str):
        return (type(value), value)
    if isinstance(value, tuple):
        return (type(value), *map(_identity, value))
    return id(value)


def _called_from(
    error: TypingError | UnsupportedError, snippet: Snippet
) -> TypingError | UnsupportedError:
    """Return the error in a function's source with the location of a call that led there."""
    message, separator, hint = str(error.args[0]).partition("\n  Hint: ")
    called = dataclasses.replace(snippet, label="called here").render()
    if called not in message:  # a recursive call is shown once
        message = f"{message}\n{called}"
    return type(error)(f"{message}{separator}{hint}")


def bind_arguments(
    low: Context,
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
            f"'{site.name}' takes {len(positional) or 'no'} "
            f"argument{'' if len(positional) == 1 else 's'}, and {len(site.arguments)} "
            f"{'was' if len(site.arguments) == 1 else 'were'} given.",
            site.span_of(len(positional)),
        )
    for key, value in site.keywords.items():
        span = site.keyword_spans.get(key, site.span)
        if key in positional_only:
            raise low.fail(f"'{site.name}' takes '{key}' by its position only.", span)
        if key not in names:
            known = f"its parameters are {', '.join(names) or 'none'}."
            raise low.fail(f"'{site.name}' has no parameter '{key}'.", span, known)
        if key in values:
            raise low.fail(f"'{site.name}' got two values for '{key}'.", span)
        values[key] = value
    for name in names:
        if name not in values:
            if name not in defaults:
                raise low.fail(f"'{site.name}' needs a value for '{name}'.", site.span)
            values[name] = defaults[name]
    found = {name: values[name] for name in names}
    if rest is not None:
        found[rest] = make_tuple(low, surplus, site.span)
    return found
