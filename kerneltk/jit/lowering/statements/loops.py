"""Loops over ``range``, arrays, and over what is known, which is repeated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.intrinsics.python import MIN
from kerneltk.jit.intrinsics.registry import is_range
from kerneltk.jit.ir.types import BOOL, PY_INT, Array, Tuple
from kerneltk.jit.lowering.builder import FunctionBuilder
from kerneltk.jit.lowering.expressions.conditions import condition_of
from kerneltk.jit.lowering.function import block, captured_block
from kerneltk.jit.lowering.names import assign_name, outlives_pass
from kerneltk.jit.lowering.statements.assignments import assign, wrong_unpacking
from kerneltk.jit.lowering.values.arrays import index_array
from kerneltk.jit.lowering.values.conversion import Group, as_index, make_pair, static_int
from kerneltk.jit.lowering.values.evaluation import (
    evaluate,
    refuse_node,
    settled,
    starred_values,
)
from kerneltk.jit.lowering.values.references import extent_of
from kerneltk.jit.source.syntax import has_break, leaves_early, stored_names

_MOST_REPEATED = 4096  # passes over constants: each is source of its own


@contextmanager
def _with_else(low: FunctionBuilder, node: ast.For | ast.While) -> Iterator[ir.Local | None]:
    """Lower a loop in a ``with`` block, and what runs where it was not left by 'break' after it."""
    if not has_break(node.body):  # what is behind 'else' always runs
        yield None
        block(low, node.orelse)
        return
    if not node.orelse:
        yield None
        return
    span = low.span(node)
    flag = ir.Local(low.add_local("ended", BOOL), BOOL, span)
    low.emit(ir.Store(flag, ir.Literal_(True, BOOL, span), span))
    yield flag
    low.emit(ir.If(flag, captured_block(low, node.orelse), (), span))


@contextmanager
def _body(
    low: FunctionBuilder, flag: ir.Local | None, kind: str = "real"
) -> Iterator[list[ir.Statement]]:
    """Capture a loop's body; `flag` is the variable that 'break' stores to."""
    low.loops.append((kind, flag.name if flag else ""))
    try:
        with low.captured() as body:
            yield body
    finally:
        low.loops.pop()


def while_statement(low: FunctionBuilder, node: ast.While) -> None:
    """Lower a ``while`` loop."""
    span = low.span(node.test)
    with _with_else(low, node) as flag:
        with low.captured() as added:
            condition = condition_of(low, node.test)
        if isinstance(condition, Static) and not condition.value:
            return
        test = low.as_expression(condition, span)
        with _body(low, flag) as body:
            block(low, node.body)
        if added:
            leave = ir.If(ir.Not(test, span), (ir.Break(span),), (), span)
            body = [*added, leave, *body]
            test = ir.Literal_(True, BOOL, span)
        low.emit(ir.While(test, tuple(body), span))


def break_statement(low: FunctionBuilder, node: ast.Break) -> None:
    """Lower ``break``."""
    span = low.span(node)
    kind, flag = low.loops[-1]
    if flag:
        value = ir.Literal_(kind == "static", BOOL, span)
        low.emit(ir.Store(ir.Local(flag, BOOL, span), value, span))
    low.emit(ir.Break(span))


def continue_statement(low: FunctionBuilder, node: ast.Continue) -> None:
    """Lower ``continue``."""
    span = low.span(node)
    # A pass of a static loop is a loop of its own that runs once.
    low.emit(ir.Break(span) if low.loops[-1][0] == "static" else ir.Continue(span))


def for_statement(low: FunctionBuilder, node: ast.For) -> None:
    """Lower a ``for`` loop."""
    iterable = node.iter
    if isinstance(iterable, ast.Call):
        function = evaluate(low, iterable.func)
        if isinstance(function, Static) and is_range(function.value):
            _range_loop(low, node, iterable)
            return
    found = _iterated(low, iterable)
    if isinstance(found, range):
        bounds = [Static(found.start), Static(found.stop), Static(found.step)]
        _counted_loop(low, node, bounds, None)
    elif isinstance(found, _Indexed):
        _indexed_loop(low, node, found)
    else:
        _static_loop(low, node, found)


class _Indexed(NamedTuple):
    """What a loop at run time goes over: how many passes it has, and the item of one."""

    passes: ir.Expression
    item: Callable[[ir.Expression], Value]


def _iterated(low: FunctionBuilder, node: ast.expr) -> list[Value] | range | _Indexed:
    """Return what is looped over: items that are known, or what is indexed at run time."""
    if isinstance(node, ast.Call):
        function = evaluate(low, node.func)
        if isinstance(function, Static) and any(
            function.value is known for known in (enumerate, zip, reversed)
        ):
            return _combined(low, node, function.value)
    value, span = evaluate(low, node), low.span(node)
    if isinstance(value, Static) and isinstance(value.value, np.ndarray):
        value = low.as_expression(value, span)
    if isinstance(value, ir.Expression) and isinstance(value.type, Array):
        return _indexed(low, value, span)
    if isinstance(value, Static) and isinstance(value.value, range):
        return value.value
    return _repeated_items(low, value, span)


def _repeated_items(low: FunctionBuilder, value: Value, span: ir.Span) -> list[Value]:
    if isinstance(value, Static) and isinstance(value.value, tuple | list | str | dict | range):
        if len(value.value) > _MOST_REPEATED:
            raise low.refuse(
                f"A loop over {len(value.value)} constants cannot be used in a kernel.",
                span,
                "loop over 'range', or over an array.",
            )
        return [Static(item) for item in value.value]
    if isinstance(value, ir.Expression) and isinstance(value.type, Tuple):
        return low.items_of(value, span)
    hint = "loop over 'range', an array, or a tuple."
    raise low.fail(f"{low.describe(value)} cannot be looped over.", span, hint)


def _combined(low: FunctionBuilder, node: ast.Call, function: Any) -> list[Value] | _Indexed:
    """Return what ``enumerate``, ``zip`` or ``reversed`` goes over."""
    span, name = low.span(node), function.__name__
    given = {keyword.arg: evaluate(low, keyword.value) for keyword in node.keywords}
    known = {"enumerate": "start", "zip": "strict"}.get(name)
    for keyword in node.keywords:
        if keyword.arg != known or (name == "zip" and not isinstance(given["strict"], Static)):
            raise low.refuse(
                f"'{name}' takes no keyword '{keyword.arg}' in a kernel.", low.span(keyword.value)
            )
    nodes = node.args
    start: Value = given.get("start", Static(0))
    if function is enumerate and len(nodes) == 2 and not given:
        nodes, start = nodes[:1], evaluate(low, nodes[1])
    if function is not zip and len(nodes) != 1:
        what = "an array or a tuple" + (" and a start" if function is enumerate else "")
        raise low.fail(f"'{name}' takes {what}.", span)
    parts = _parts_of(low, nodes)
    if function is enumerate:
        return _enumerated(low, parts[0], start, span)
    if function is reversed:
        (only,) = parts
        return _backwards(low, only, span) if isinstance(only, _Indexed) else only[::-1]
    strict = "strict" in given and bool(given["strict"].value)  # type: ignore[union-attr]
    return _zipped(low, parts, strict, span)


def _parts_of(low: FunctionBuilder, nodes: Sequence[ast.expr]) -> list[list[Value] | _Indexed]:
    """Return what each of some arguments goes over, evaluated in their order."""
    parts: list[list[Value] | _Indexed] = []
    for argument in nodes:
        with low.captured() as added:
            found = _iterated(low, argument)
            if isinstance(found, range):
                found = _repeated_items(low, Static(found), low.span(argument))
        if added:
            for part in parts:
                if not isinstance(part, _Indexed):
                    part[:] = [settled(low, item) for item in part]
            low.statements += added
        parts.append(found)
    return parts


def _enumerated(
    low: FunctionBuilder, part: list[Value] | _Indexed, start: Value, span: ir.Span
) -> list[Value] | _Indexed:
    what = "The start of 'enumerate'"
    if not isinstance(part, _Indexed):
        number = static_int(low, start, span, what)
        return [make_pair((Static(number + k), item), span) for k, item in enumerate(part)]
    index = as_index(low, start, span, what)
    first = settled(low, low.cast(index, PY_INT))  # a small one would wrap around
    is_zero = isinstance(first, Static) and first.value == 0

    def pair(k: ir.Expression) -> Value:
        return make_pair((k if is_zero else low.binary("+", first, k, span), part.item(k)), span)

    return _Indexed(part.passes, pair)


def _zipped(
    low: FunctionBuilder, parts: Sequence[list[Value] | _Indexed], strict: bool, span: ir.Span
) -> list[Value] | _Indexed:
    indexed = [part for part in parts if isinstance(part, _Indexed)]
    lists = [part for part in parts if isinstance(part, list)]
    if indexed and lists:
        raise low.refuse(
            "'zip' of arrays and tuples cannot be used in a kernel.",
            span,
            "loop over 'range(len(x))' and index.",
        )
    if not indexed:
        if strict and len({len(items) for items in lists}) > 1:
            raise low.fail("The arguments of 'zip' have different lengths.", span)
        return [make_pair(items, span) for items in zip(*lists, strict=False)]
    if strict:
        raise low.refuse(
            "'zip' of arrays cannot be strict in a kernel.", span, "'assert len(x) == len(y)'."
        )
    count = indexed[0].passes
    for part in indexed[1:]:
        count = ir.Call(MIN, (count, part.passes), PY_INT, span)
    if len(indexed) > 1:
        count = low.temporary(count)
    return _Indexed(count, lambda k: make_pair([part.item(k) for part in indexed], span))


def _backwards(low: FunctionBuilder, forwards: _Indexed, span: ir.Span) -> _Indexed:
    last = low.binary("-", forwards.passes, Static(1), span)
    return _Indexed(
        forwards.passes,
        lambda k: forwards.item(low.as_number(low.binary("-", last, k, span), span)),
    )


def _range_loop(low: FunctionBuilder, node: ast.For, call: ast.Call) -> None:
    unroll: Any = None
    for keyword in call.keywords:
        found = evaluate(low, keyword.value)
        location = low.span(keyword.value)
        if keyword.arg != "unroll":
            raise low.fail("'range' takes no keyword but 'unroll'.", location)
        unroll = found.value if isinstance(found, Static) else found
        times = isinstance(unroll, int | np.integer) and 1 <= unroll < 2**31
        if not (times or unroll is None or isinstance(unroll, bool)):
            shown = low.phrase(found) if isinstance(found, Static) else "a variable"
            raise low.fail(
                f"'unroll' must be a constant number of passes, True or False, not {shown}.",
                location,
            )
    values: list[Value] = []
    for argument, value in zip(call.args, starred_values(low, call.args), strict=True):
        location = low.span(argument)
        items = low.items_of(value, location) if isinstance(argument, ast.Starred) else [value]
        values += [as_index(low, item, location, "An argument of 'range'") for item in items]
    if not 1 <= len(values) <= 3:
        raise low.fail(
            f"'range' takes one to three arguments, and {len(values) or 'none'} "
            f"{'were' if values else 'was'} given.",
            low.span(call),
        )
    bounds = [Static(0), *values] if len(values) == 1 else list(values)
    bounds += [Static(1)] * (3 - len(bounds))
    _counted_loop(low, node, bounds, unroll)


def _counted_loop(
    low: FunctionBuilder, node: ast.For, bounds: Sequence[Value], unroll: Any
) -> None:
    span = low.span(node.iter)
    start, stop, step = (low.cast(low.as_number(v, span), PY_INT) for v in bounds)
    if isinstance(step, ir.Literal_) and step.value == 0:
        raise low.fail("The step of 'range' cannot be zero.", span)
    if not isinstance(node.target, ast.Name):
        raise low.fail("The numbers of 'range' are assigned to one name.", low.span(node.target))
    ascending = bool(step.value > 0) if isinstance(step, ir.Literal_) else None
    if ascending is None:
        step = low.temporary(step)
    if not isinstance(stop, ir.Literal_) and not _is_stable(low, stop):
        stop = low.temporary(stop)
    name = node.target.id
    target_span = low.span(node.target)
    with _with_else(low, node) as flag:
        if node in low.scope.private_loops:
            variable = ir.Local(low.fresh(name), PY_INT, target_span)
            low.counters.add(variable.name)
            before = low.bindings.get(name)
            low.bindings[name] = variable
            try:
                with _body(low, flag) as body:
                    block(low, node.body)
            finally:
                if before is None:
                    del low.bindings[name]
                else:
                    low.bindings[name] = before
            low.taken.discard(variable.name)
        else:
            variable = ir.Local(low.fresh(f"{name}_next"), PY_INT, target_span)
            with _body(low, flag) as body:
                assign_name(low, name, variable, target_span)
                block(low, node.body)
        times = unroll if unroll is None or isinstance(unroll, bool) else int(unroll)
        low.emit(ir.For(variable, start, stop, step, ascending, True, times, tuple(body), span))


def _is_stable(low: FunctionBuilder, value: ir.Expression) -> bool:
    """Return whether an expression has the same value all through a loop."""
    if isinstance(value, ir.Extent):
        return isinstance(value.array, ir.Local) and low.is_constant(value.array.name)
    if isinstance(value, ir.Local):
        return low.is_constant(value.name)
    return False


def _indexed(low: FunctionBuilder, array: ir.Expression, span: ir.Span) -> _Indexed:
    """Return the elements, or the rows, of an array."""
    if not isinstance(array, ir.Local):
        if isinstance(array.type, Array) and array.type.layout == "fixed":  # of a record
            view = replace(array.type, layout="C", shape=())
            array = low.convert(array, view, span, "the array")
        array = low.temporary(array)
    elif not low.is_constant(array.name):  # the body may assign to it
        array = low.temporary(array)
    if ir.array_type(array).ndim == 0:
        raise low.fail("An array without dimensions cannot be looped over.", span)

    def item(k: ir.Expression) -> Value:
        found = index_array(low, array, [(k, span)], span)
        return replace(found, wrap=(False,)) if isinstance(found, ir.Element) else found

    return _Indexed(extent_of(array, 0, span), item)


def _indexed_loop(low: FunctionBuilder, node: ast.For, items: _Indexed) -> None:
    """Loop over what is indexed at run time."""
    span = low.span(node.iter)
    counter = ir.Local(low.fresh("k"), PY_INT, span)
    with _with_else(low, node) as flag:
        with _body(low, flag) as body:
            item = items.item(counter)
            if isinstance(item, Group) and isinstance(node.target, ast.Name):
                item = low.make_tuple(item.items, span)
            assign(low, node.target, item, span)
            block(low, node.body)
        zero, one = ir.Literal_(0, PY_INT, span), ir.Literal_(1, PY_INT, span)
        low.emit(ir.For(counter, zero, items.passes, one, True, True, None, tuple(body), span))


def _static_loop(low: FunctionBuilder, node: ast.For, items: Sequence[Value]) -> None:
    """Loop over what is known: the body is repeated."""
    span = low.span(node.iter)
    items = [settled(low, item) for item in items]  # the body may change what they are made of
    leaves = leaves_early(node.body)
    flag: ir.Local | None = None
    if leaves:
        flag = ir.Local(low.add_local("left", BOOL), BOOL, span)
        low.emit(ir.Store(flag, ir.Literal_(False, BOOL, span), span))
    is_repeated = len(items) > 1
    if is_repeated:
        low.repeated.append(node)
    for item in items:
        if flag is None or not leaves:
            _static_pass(low, node, item, span)
            continue
        with _body(low, flag, "static") as body:
            _static_pass(low, node, item, span)
        counter = ir.Local(low.fresh("once"), PY_INT, span)
        zero, one = ir.Literal_(0, PY_INT, span), ir.Literal_(1, PY_INT, span)
        loop = ir.For(counter, zero, one, one, True, True, None, tuple(body), span)
        low.emit(ir.If(ir.Not(flag, span), (loop,), (), span))
    if is_repeated:
        low.repeated.pop()
    if not has_break(node.body):
        block(low, node.orelse)
    elif node.orelse:
        assert flag is not None
        low.emit(ir.If(ir.Not(flag, span), captured_block(low, node.orelse), (), span))


def _static_pass(low: FunctionBuilder, node: ast.For, item: Value, span: ir.Span) -> None:
    for name in stored_names(node.target):
        low.bindings.pop(name, None)
    targets: list[tuple[ast.expr, Value]] = [(node.target, item)]
    if isinstance(node.target, ast.Tuple):
        for part in node.target.elts:
            if isinstance(part, ast.Starred):
                refuse_node(low, part)
        parts = low.items_of(item, span)
        if len(parts) != len(node.target.elts):
            location = low.span(node.target)
            raise wrong_unpacking(low, len(parts), len(node.target.elts), location)
        targets = list(zip(node.target.elts, parts, strict=True))
    for target, value in targets:
        if (
            isinstance(target, ast.Name)
            and low.scope.is_assigned_once(target.id)
            and not outlives_pass(low, target.id)
        ):
            lasts = isinstance(value, Static | ir.Literal_) or _is_stable(low, value)
            if not lasts and not isinstance(value.type, Array):  # type: ignore[union-attr]
                value = low.temporary(value)  # type: ignore[arg-type]
            low.bindings[target.id] = value
        else:
            assign(low, target, value, span)
    block(low, node.body)
