"""Loops of restricted Python: over ``range``, arrays, and over what is known, which is repeated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.intrinsics.registry import is_range
from kerneltk.jit.ir.types import BOOL, PY_INT, Array, Tuple
from kerneltk.jit.lowering.names import Names

if TYPE_CHECKING:
    pass

__all__ = ["Loops"]

_MOST_REPEATED = 4096  # passes over constants: each is text of its own


class Loops(Names):
    """The part of the lowering that knows loops."""

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
        private = node in self._scope.private_loops

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
        items = [self._settled(item) for item in items]  # the body may change what they are made of
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

    def _settled(self, value: Any) -> Any:
        if isinstance(value, _Group):
            return _Group(tuple(map(self._settled, value.items)), value.span)
        return super()._settled(value)

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


class _Group:
    """Items of different kinds that are unpacked right away."""

    __slots__ = ("items", "span")

    def __init__(self, items: tuple[Value, ...], span: ir.Span) -> None:
        self.items = items
        self.span = span


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
