"""Loops over ``range``, arrays, and over what is known, which is repeated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.intrinsics.registry import is_range
from kerneltk.jit.ir.types import BOOL, PY_INT, Array, Tuple
from kerneltk.jit.lowering.context import Context
from kerneltk.jit.lowering.expressions.conditions import condition_of
from kerneltk.jit.lowering.function import block, captured_block
from kerneltk.jit.lowering.names import assign_name, leaves_early, outlives_pass, stored_names
from kerneltk.jit.lowering.statements.assignments import assign, wrong_unpacking
from kerneltk.jit.lowering.values.arrays import index_array
from kerneltk.jit.lowering.values.conversion import (
    as_expression,
    as_index,
    as_number,
    convert,
    items_of,
    make_pair,
    static_int,
)
from kerneltk.jit.lowering.values.description import description_of, phrase_of
from kerneltk.jit.lowering.values.evaluation import (
    evaluate,
    in_order,
    refuse_node,
    settled,
    starred_values,
)
from kerneltk.jit.lowering.values.numbers import cast
from kerneltk.jit.lowering.values.references import extent_of, temporary

__all__ = ["break_statement", "continue_statement", "for_statement", "while_statement"]


_MOST_REPEATED = 4096  # passes over constants: each is text of its own


def _with_else(
    low: Context, node: ast.For | ast.While, make: Callable[[ir.Local | None], None]
) -> None:
    """Lower a loop by `make`, and what runs where it was not left by 'break'."""
    if not node.orelse:
        make(None)
        return
    span = low.span(node)
    flag = ir.Local(low.add_local("ended", BOOL), BOOL, span)
    low.emit(ir.Store(flag, ir.Literal_(True, BOOL, span), span))
    make(flag)
    low.emit(ir.If(flag, captured_block(low, node.orelse), (), span))


def _loop_body(low: Context, nodes: Sequence[ast.stmt], flag: ir.Local | None) -> Any:
    low.loops.append(("real", flag.name if flag else ""))
    try:
        return captured_block(low, nodes)
    finally:
        low.loops.pop()


def while_statement(low: Context, node: ast.While) -> None:
    """Lower a ``while`` loop."""
    span = low.span(node.test)

    def make(flag: ir.Local | None) -> None:
        condition, added = low.captured(lambda: condition_of(low, node.test))
        if isinstance(condition, Static) and not condition.value:
            return
        test = as_expression(low, condition, span)
        body = _loop_body(low, node.body, flag)
        if added:
            leave = ir.If(ir.Not(test, span), (ir.Break(span),), (), span)
            body = (*added, leave, *body)
            test = ir.Literal_(True, BOOL, span)
        low.emit(ir.While(test, body, span))

    _with_else(low, node, make)


def break_statement(low: Context, node: ast.Break) -> None:
    """Lower ``break``."""
    span = low.span(node)
    kind, flag = low.loops[-1]
    if flag:
        value = ir.Literal_(kind == "static", BOOL, span)
        low.emit(ir.Store(ir.Local(flag, BOOL, span), value, span))
    low.emit(ir.Break(span))


def continue_statement(low: Context, node: ast.Continue) -> None:
    """Lower ``continue``."""
    span = low.span(node)
    # A pass of a static loop is a loop of its own that runs once.
    low.emit(ir.Break(span) if low.loops[-1][0] == "static" else ir.Continue(span))


def for_statement(low: Context, node: ast.For) -> None:
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
        _counted_loop(
            low,
            node,
            [Static(value.value.start), Static(value.value.stop), Static(value.value.step)],
            None,
        )
    else:
        _static_loop(low, node, _repeated_items(low, value, low.span(iterable)))


def _repeated_items(low: Context, value: Value, span: ir.Span) -> list[Value]:
    if isinstance(value, Static) and isinstance(value.value, tuple | list | str | dict | range):
        if len(value.value) > _MOST_REPEATED:
            raise low.refuse(
                f"A loop over {len(value.value)} constants cannot be used in a kernel.",
                span,
                "loop over 'range', or over an array.",
            )
        return [Static(item) for item in value.value]
    if isinstance(value, ir.Expression) and isinstance(value.type, Tuple):
        return items_of(low, value, span)
    raise low.fail(
        f"{description_of(value)} cannot be looped over.",
        span,
        "loop over 'range', an array, or a tuple.",
    )


def _static_items(low: Context, node: ast.Call, function: Any) -> list[Value]:
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
    if function is not enumerate:
        for keyword in node.keywords:
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


def _range_loop(low: Context, node: ast.For, call: ast.Call) -> None:
    unroll: Any = None
    for keyword in call.keywords:
        found = evaluate(low, keyword.value)
        place = low.span(keyword.value)
        if keyword.arg != "unroll":
            raise low.fail("'range' takes no keyword but 'unroll'.", place)
        unroll = found.value if isinstance(found, Static) else found
        times = isinstance(unroll, int | np.integer) and 1 <= unroll < 2**31
        if not (times or unroll is None or isinstance(unroll, bool)):
            shown = phrase_of(found) if isinstance(found, Static) else "a variable"
            raise low.fail(
                f"'unroll' must be a constant number of passes, True or False, not {shown}.",
                place,
            )
    values: list[Value] = []
    for argument, value in zip(call.args, starred_values(low, call.args), strict=True):
        place = low.span(argument)
        items = items_of(low, value, place) if isinstance(argument, ast.Starred) else [value]
        values += [as_index(low, item, place, "An argument of 'range'") for item in items]
    if not 1 <= len(values) <= 3:
        raise low.fail(
            f"'range' takes one to three arguments, and {len(values) or 'none'} "
            f"{'were' if values else 'was'} given.",
            low.span(call),
        )
    bounds = [Static(0), *values] if len(values) == 1 else list(values)
    bounds += [Static(1)] * (3 - len(bounds))
    _counted_loop(low, node, bounds, unroll)


def _counted_loop(low: Context, node: ast.For, bounds: Sequence[Value], unroll: Any) -> None:
    span = low.span(node.iter)
    start, stop, step = (cast(low, as_number(low, v, span), PY_INT) for v in bounds)
    if isinstance(step, ir.Literal_) and step.value == 0:
        raise low.fail("The step of 'range' cannot be zero.", span)
    if not isinstance(node.target, ast.Name):
        raise low.fail("The numbers of 'range' are assigned to one name.", low.span(node.target))
    ascending = None
    if isinstance(step, ir.Literal_):
        ascending = bool(step.value > 0)
    else:
        step = temporary(low, step)
    if not isinstance(stop, ir.Literal_) and not _is_stable(low, stop):
        stop = temporary(low, stop)
    name = node.target.id
    target_span = low.span(node.target)
    private = node in low.scope.private_loops

    def make(flag: ir.Local | None) -> None:
        if private:
            variable = ir.Local(_loop_variable(low, name), PY_INT, target_span)
            before = low.bindings.get(name)
            low.bindings[name] = variable
            try:
                body = _loop_body(low, node.body, flag)
            finally:
                if before is None:
                    del low.bindings[name]
                else:
                    low.bindings[name] = before
            low.taken.discard(variable.name)
        else:
            counter = ir.Local(low.fresh(f"{name}_next"), PY_INT, target_span)
            variable = counter

            def inner() -> Value:
                assign_name(low, name, counter, target_span)
                block(low, node.body)
                return Static(None)

            low.loops.append(("real", flag.name if flag else ""))
            try:
                body = low.captured(inner)[1]
            finally:
                low.loops.pop()
        times = unroll if unroll is None or isinstance(unroll, bool) else int(unroll)
        low.emit(ir.For(variable, start, stop, step, ascending, True, times, body, span))

    _with_else(low, node, make)


def _loop_variable(low: Context, name: str) -> str:
    found = low.fresh(name)
    low.counters.add(found)
    return found


def _is_stable(low: Context, value: ir.Expression) -> bool:
    """Return whether an expression has the same value all through a loop."""
    if isinstance(value, ir.Extent):
        return isinstance(value.array, ir.Local) and low.is_constant(value.array.name)
    if isinstance(value, ir.Local):
        return low.is_constant(value.name)
    return False


def _array_loop(low: Context, node: ast.For, array: ir.Expression) -> None:
    """Loop over the elements, or the rows, of an array."""
    span = low.span(node.iter)
    if not isinstance(array, ir.Local):
        if isinstance(array.type, Array) and array.type.layout == "fixed":  # of a record
            view = replace(array.type, layout="C", shape=())
            array = convert(low, array, view, span, "the array")
        array = temporary(low, array)
    kind = array.type
    assert isinstance(kind, Array)
    if kind.ndim == 0:
        raise low.fail("An array without dimensions cannot be looped over.", span)
    counter = ir.Local(low.fresh("k"), PY_INT, span)

    def make(flag: ir.Local | None) -> None:
        def inner() -> Value:
            item = index_array(low, array, [(counter, span)], span)
            if isinstance(item, ir.Element):
                item = replace(item, wrap=(False,))
            assign(low, node.target, item, span)
            block(low, node.body)
            return Static(None)

        low.loops.append(("real", flag.name if flag else ""))
        try:
            body = low.captured(inner)[1]
        finally:
            low.loops.pop()
        zero, one = ir.Literal_(0, PY_INT, span), ir.Literal_(1, PY_INT, span)
        stop = extent_of(array, 0, span)
        low.emit(ir.For(counter, zero, stop, one, True, True, None, body, span))

    _with_else(low, node, make)


def _static_loop(low: Context, node: ast.For, items: Sequence[Value]) -> None:
    """Loop over what is known: the body is repeated."""
    span = low.span(node.iter)
    items = [settled(low, item) for item in items]  # the body may change what they are made of
    leaves = leaves_early(node.body)
    flag: ir.Local | None = None
    if leaves or node.orelse:
        flag = ir.Local(low.add_local("left", BOOL), BOOL, span)
        low.emit(ir.Store(flag, ir.Literal_(False, BOOL, span), span))
    is_repeated = len(items) > 1
    if is_repeated:
        low.repeated.append(node)
    for item in items:
        if flag is None or not leaves:
            _static_pass(low, node, item, span)
            continue

        def once(item: Value = item) -> Value:
            low.loops.append(("static", flag.name))
            try:
                _static_pass(low, node, item, span)
            finally:
                low.loops.pop()
            return Static(None)

        body = low.captured(once)[1]
        counter = ir.Local(low.fresh("once"), PY_INT, span)
        zero, one = ir.Literal_(0, PY_INT, span), ir.Literal_(1, PY_INT, span)
        loop = ir.For(counter, zero, one, one, True, True, None, body, span)
        low.emit(ir.If(ir.Not(flag, span), (loop,), (), span))
    if is_repeated:
        low.repeated.pop()
    if node.orelse:
        assert flag is not None
        low.emit(ir.If(ir.Not(flag, span), captured_block(low, node.orelse), (), span))


def _static_pass(low: Context, node: ast.For, item: Value, span: ir.Span) -> None:
    for name in stored_names(node.target):
        low.bindings.pop(name, None)
    if isinstance(node.target, ast.Name):
        targets: list[tuple[ast.expr, Value]] = [(node.target, item)]
    elif isinstance(node.target, ast.Tuple):
        for part in node.target.elts:
            if isinstance(part, ast.Starred):
                refuse_node(low, part)
        parts = items_of(low, item, span)
        if len(parts) != len(node.target.elts):
            place = low.span(node.target)
            raise wrong_unpacking(low, len(parts), len(node.target.elts), place)
        targets = list(zip(node.target.elts, parts, strict=True))
    else:
        targets = [(node.target, item)]
    for target, value in targets:
        if (
            isinstance(target, ast.Name)
            and low.scope.is_assigned_once(target.id)
            and not outlives_pass(low, target.id)
        ):
            if isinstance(value, Static | ir.Literal_) or _is_stable(low, value):
                low.bindings[target.id] = value
            else:
                low.bindings[target.id] = (
                    value if isinstance(value.type, Array) else temporary(low, value)
                )
        else:
            assign(low, target, value, span)
    block(low, node.body)
