"""Loops over ``range``, arrays, and over what is known, which is repeated."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.intrinsics.registry import is_range
from kerneltk.jit.ir.types import BOOL, PY_INT, Array, Tuple
from kerneltk.jit.lowering.builder import FunctionBuilder
from kerneltk.jit.lowering.expressions.conditions import condition_of
from kerneltk.jit.lowering.function import block, captured_block
from kerneltk.jit.lowering.names import assign_name, outlives_pass
from kerneltk.jit.lowering.statements.assignments import assign, wrong_unpacking
from kerneltk.jit.lowering.values.arrays import index_array
from kerneltk.jit.lowering.values.conversion import as_index, make_pair, static_int
from kerneltk.jit.lowering.values.evaluation import (
    evaluate,
    in_order,
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
        if isinstance(function, Static):
            if is_range(function.value):
                _range_loop(low, node, iterable)
                return
            if any(function.value is known for known in (enumerate, zip, reversed)):
                _static_loop(low, node, _static_items(low, iterable, function.value))
                return
    value = evaluate(low, iterable)
    if isinstance(value, ir.Expression) and isinstance(value.type, Array):
        _array_loop(low, node, value)
    elif isinstance(value, Static) and isinstance(value.value, range):
        numbers = value.value
        bounds = [Static(numbers.start), Static(numbers.stop), Static(numbers.step)]
        _counted_loop(low, node, bounds, None)
    else:
        _static_loop(low, node, _repeated_items(low, value, low.span(iterable)))


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


def _static_items(low: FunctionBuilder, node: ast.Call, function: Any) -> list[Value]:
    span = low.span(node)
    values = in_order(low, node.args)
    start = 0
    if function is enumerate:
        starts = [evaluate(low, keyword.value) for keyword in node.keywords] + values[1:]
        if len(starts) > 1 or any(keyword.arg != "start" for keyword in node.keywords):
            raise low.fail("'enumerate' takes a tuple and a start.", span)
        for found in starts:
            start = static_int(low, found, span, "The start of 'enumerate'")
        values = values[:1]
    strict = False
    for keyword in node.keywords if function is not enumerate else ():
        found = evaluate(low, keyword.value)
        if function is not zip or keyword.arg != "strict" or not isinstance(found, Static):
            raise low.refuse(
                f"'{function.__name__}' takes no keyword '{keyword.arg}' in a kernel.",
                low.span(keyword.value),
            )
        strict = bool(found.value)
    lists = []
    for argument, value in zip(node.args, values, strict=False):
        if isinstance(value, ir.Expression) and isinstance(value.type, Array):
            name = function.__name__
            raise low.refuse(
                f"'{name}' over an array cannot be used in a kernel.",
                low.span(argument),
                "loop over 'range(len(x))' and index.",
            )
        lists.append(_repeated_items(low, value, low.span(argument)))
    if function is not zip and len(lists) != 1:
        raise low.fail(f"'{function.__name__}' takes one tuple.", span)
    if function is reversed:
        return list(reversed(lists[0]))
    if function is zip:
        if strict and len({len(items) for items in lists}) > 1:
            raise low.fail("The arguments of 'zip' have different lengths.", span)
        return [make_pair(items, span) for items in zip(*lists, strict=False)]
    return [make_pair((Static(start + k), item), span) for k, item in enumerate(lists[0])]


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


def _array_loop(low: FunctionBuilder, node: ast.For, array: ir.Expression) -> None:
    """Loop over the elements, or the rows, of an array."""
    span = low.span(node.iter)
    if not isinstance(array, ir.Local):
        if isinstance(array.type, Array) and array.type.layout == "fixed":  # of a record
            view = replace(array.type, layout="C", shape=())
            array = low.convert(array, view, span, "the array")
        array = low.temporary(array)
    kind = ir.array_type(array)
    if kind.ndim == 0:
        raise low.fail("An array without dimensions cannot be looped over.", span)
    counter = ir.Local(low.fresh("k"), PY_INT, span)
    with _with_else(low, node) as flag:
        with _body(low, flag) as body:
            item = index_array(low, array, [(counter, span)], span)
            if isinstance(item, ir.Element):
                item = replace(item, wrap=(False,))
            assign(low, node.target, item, span)
            block(low, node.body)
        zero, one = ir.Literal_(0, PY_INT, span), ir.Literal_(1, PY_INT, span)
        stop = extent_of(array, 0, span)
        low.emit(ir.For(counter, zero, stop, one, True, True, None, tuple(body), span))


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
