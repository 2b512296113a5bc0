"""Barriers compiled away: which values are uniform, what loops become of a kernel, the header."""

from __future__ import annotations

import ctypes
import operator
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.backends.host import runtime, toolchain
from kerneltk.core.artifacts import INCLUDE_DIRECTORY, TranslationUnit
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Operation
from kerneltk.jit.ir.types import BOOL, PY_INT, VOID, Array, Type, number
from kerneltk.jit.passes.barrier_fission import NotSplit, block_variables, loop_variables, split
from kerneltk.jit.passes.loop_bounds import guard_of
from kerneltk.jit.passes.uniformity import Uniformity

_AT = ir.Span(1, 0, 1, 1)
_F32 = number(np.float32)
_BARRIER = Operation("syncthreads", "__syncthreads()", frozenset({ir.Effect.BARRIER}))
_SHUFFLE = Operation("shfl_sync", "", frozenset({ir.Effect.WAITS}))
_COORDINATES = {
    f"{found.variable}.x": Operation(f"{found.variable}.x", "", effects, coordinate=found)
    for found, effects in (
        (ir.Coordinate("threadIdx", "x"), frozenset({ir.Effect.THREAD})),
        (ir.Coordinate("blockIdx", "x"), frozenset[ir.Effect]()),
        (ir.Coordinate("blockDim", "x"), frozenset[ir.Effect]()),
    )
}
_ATOMIC = frozenset({ir.Effect.ATOMIC, ir.Effect.MEMORY, ir.Effect.THREAD})
_ADD = Operation("atomic_add", "", _ATOMIC, by_reference=(0,), writes=(0,))
_SINE = Operation("sin", "")
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv,
    "%": operator.mod, "<": operator.lt, "<=": operator.le, "==": operator.eq, ">": operator.gt,
    ">=": operator.ge, "!=": operator.ne, ">>": operator.rshift, "|": operator.or_,
}  # fmt: skip


# -- a short way to write IR ----------------------------------------------------------------------


@dataclass(frozen=True)
class E:
    """An expression with operators."""

    node: Any

    def _binary(self, op: str, other: Any, swapped: bool = False) -> E:
        left, right = (_node(other), self.node) if swapped else (self.node, _node(other))
        if op in ("<", "<=", "==", ">", ">=", "!="):
            return E(ir.Compare(op, left, right, _AT))
        return E(ir.Binary(op, left, right, PY_INT, _AT))

    def __add__(self, other: Any) -> E:
        return self._binary("+", other)

    def __mul__(self, other: Any) -> E:
        return self._binary("*", other)

    def __sub__(self, other: Any) -> E:
        return self._binary("-", other)

    def __floordiv__(self, other: Any) -> E:
        return self._binary("//", other)

    def __rmod__(self, other: Any) -> E:
        return self._binary("%", other, True)

    def __mod__(self, other: Any) -> E:
        return self._binary("%", other)

    def __lt__(self, other: Any) -> E:
        return self._binary("<", other)

    def __ge__(self, other: Any) -> E:
        return self._binary(">=", other)

    def __gt__(self, other: Any) -> E:
        return self._binary(">", other)

    def eq(self, other: Any) -> E:
        return self._binary("==", other)

    def __getitem__(self, index: Any) -> E:
        indices = index if isinstance(index, tuple) else (index,)
        array = self.node.type
        return E(
            ir.Element(
                self.node, tuple(map(_node, indices)), (False,) * len(indices), array.element, _AT
            )
        )


def _node(value: Any) -> Any:
    if isinstance(value, E):
        return value.node
    if isinstance(value, bool):
        return ir.Literal_(value, BOOL, _AT)
    return ir.Literal_(value, PY_INT, _AT) if isinstance(value, int) else value


def call(operation: Operation, *arguments: Any, kind: Type = PY_INT) -> E:
    return E(ir.Call(operation, tuple(map(_node, arguments)), kind, _AT))


tx, bx, width = (call(operation) for operation in _COORDINATES.values())


def local(name: str, kind: Type = PY_INT) -> E:
    return E(ir.Local(name, kind, _AT))


def array(name: str, space: Any = "global", shape: tuple[int, ...] = ()) -> E:
    layout: Any = "fixed" if shape else "C"
    return local(name, Array(PY_INT, max(1, len(shape)), layout, shape, space))


def let(target: E, value: Any) -> ir.Store:
    return ir.Store(target.node, _node(value), _AT)


def if_(condition: E, *body: Any, orelse: tuple[Any, ...] = ()) -> ir.If:
    return ir.If(condition.node, body, orelse, _AT)


def while_(condition: Any, *body: Any) -> ir.While:
    return ir.While(_node(condition), body, _AT)


def for_(variable: E, stop: Any, *body: Any, start: Any = 0, private: bool = True) -> ir.For:
    one = ir.Literal_(1, PY_INT, _AT)
    start, stop = _node(start), _node(stop)
    return ir.For(variable.node, start, stop, one, True, private, None, body, _AT)


sync = ir.Evaluate(call(_BARRIER, kind=VOID).node, _AT)
leave, stop, again = ir.Return(None, _AT), ir.Break(_AT), ir.Continue(_AT)
shared = ir.Declare("s", Array(PY_INT, 1, "fixed", (8,), "shared"), _AT)
s = array("s", "shared", (8,))
x, out, n = array("x"), array("out"), local("n")
PARAMETERS = ("x", "out", "n")


def kernel(*body: Any) -> ir.Function:
    """Make a kernel of x, out and n; its locals are those that are assigned."""
    found: dict[str, Type] = {}
    private = {
        node.variable.name for node in ir.walk(*body) if isinstance(node, ir.For) and node.private
    }
    for node in ir.walk(*body):
        target = node.variable if isinstance(node, ir.For) else getattr(node, "target", None)
        if isinstance(target, ir.Local) and target.name not in private | set(PARAMETERS):
            found.setdefault(target.name, target.type)
    parameters = tuple(ir.Parameter(e.node.name, e.node.type, _AT) for e in (x, out, n))
    source: Any = None
    return ir.Function("k", parameters, VOID, body, tuple(found.items()), source, True)


# -- how results are shown ------------------------------------------------------------------------


def text(node: Any) -> str:
    """Show an expression."""
    match node:
        case ir.Literal_(value=value):
            return str(value)
        case ir.Local(name=name):
            return name
        case ir.Binary(op=op, left=left, right=right) | ir.Compare(op=op, left=left, right=right):
            parts = [f"({text(p)})" if isinstance(p, ir.Binary) else text(p) for p in (left, right)]
            return f"{parts[0]} {op} {parts[1]}"
        case ir.Not(operand=operand):
            return f"not {text(operand)}"
        case ir.Cast(operand=operand):
            return text(operand)
        case ir.Element(array=base, indices=indices):
            return f"{text(base)}[{', '.join(map(text, indices))}]"
        case ir.Call(operation=operation, arguments=arguments):
            if operation.name in _COORDINATES:
                return operation.name
            return f"{operation.name}({', '.join(map(text, arguments))})"
    raise AssertionError(node)


def lines(body: Any, depth: int = 0) -> Iterator[str]:
    """Show statements."""
    pad = "  " * depth
    for node in body:
        match node:
            case ir.Store(target=target, value=value):
                yield f"{pad}{text(target)} = {text(value)}"
            case ir.If(condition=condition, body=inner, orelse=orelse):
                yield f"{pad}if {text(condition)}:"
                yield from lines(inner, depth + 1)
                if orelse:
                    yield f"{pad}else:"
                    yield from lines(orelse, depth + 1)
            case ir.While(condition=condition, body=inner):
                yield f"{pad}while {text(condition)}:"
                yield from lines(inner, depth + 1)
            case ir.For(variable=variable, start=start, stop=end, body=inner):
                yield f"{pad}for {text(variable)} in {text(start)}..{text(end)}:"
                yield from lines(inner, depth + 1)
            case ir.ThreadLoop(body=inner):
                yield f"{pad}threads:"
                yield from lines(inner, depth + 1)
            case ir.Declare(name=name):
                yield f"{pad}memory {name}"
            case ir.Evaluate(value=value):
                yield f"{pad}{text(value)}"
            case _:
                yield f"{pad}{type(node).__name__.lower()}"


def shown(function: ir.Function | NotSplit) -> str:
    assert isinstance(function, ir.Function), function
    kept = f"each: {', '.join(sorted(function.per_thread))}\n" if function.per_thread else ""
    return kept + "\n".join(lines(function.body)) + "\n"


def split_text(*body: Any) -> str:
    return "\n" + shown(split(kernel(*body), {}))


def reason(*body: Any) -> str:
    result = split(kernel(*body), {})
    assert isinstance(result, NotSplit), shown(result)
    return result.reason


# -- what kernels mean ----------------------------------------------------------------------------


class _Left(Exception):  # noqa: N818
    pass


class _Broken(_Left):
    pass


class _Continued(_Left):
    pass


class _Returned(_Left):
    pass


@dataclass
class Machine:
    """Runs a kernel for one block, either thread by thread up to each barrier or as it was split.

    Variables that were never assigned are missing, so that reading one is an error.
    """

    threads: int
    memory: dict[str, list[int]]
    block: dict[str, int] = field(default_factory=dict)
    thread: int = 0

    def value(self, node: Any, env: dict[str, Any]) -> Any:
        match node:
            case ir.Literal_(value=value):
                return value
            case ir.Local(name=name):
                return env[name]
            case ir.Binary(op=op, left=a, right=b) | ir.Compare(op=op, left=a, right=b):
                return _OPERATORS[op](self.value(a, env), self.value(b, env))
            case ir.Not(operand=operand):
                return not self.value(operand, env)
            case ir.Cast(operand=operand):
                return int(self.value(operand, env))
            case ir.Element(array=base, indices=(index,)):
                cells = self.memory[base.name]
                return cells[self.value(index, env) % len(cells)]
            case ir.Call(operation=operation):
                return {"threadIdx.x": self.thread, "blockIdx.x": 3, "blockDim.x": self.threads}[
                    operation.name
                ]
        raise AssertionError(node)

    def run(self, body: Any, env: Any) -> Iterator[None]:
        """Run statements; yields at each barrier."""
        for node in body:
            match node:
                case ir.Store(target=ir.Local(name=name), value=value):
                    env[name] = self.value(value, env)
                case ir.Store(target=ir.Element(array=base, indices=(index,)), value=value):
                    cells = self.memory[base.name]
                    cells[self.value(index, env) % len(cells)] = self.value(value, env)
                case ir.If(condition=condition, body=inner, orelse=orelse):
                    yield from self.run(inner if self.value(condition, env) else orelse, env)
                case ir.While(condition=condition, body=inner):
                    for _ in range(100):
                        if not self.value(condition, env):
                            break
                        try:
                            yield from self.run(inner, env)
                        except _Continued:
                            continue
                        except _Broken:
                            break
                case ir.For(variable=variable, start=start, stop=end, body=inner):
                    for k in range(self.value(start, env), self.value(end, env)):
                        env[variable.name] = k
                        try:
                            yield from self.run(inner, env)
                        except _Continued:
                            continue
                        except _Broken:
                            break
                case ir.Break():
                    raise _Broken
                case ir.Continue():
                    raise _Continued
                case ir.Return():
                    raise _Returned
                case ir.ThreadLoop(body=inner):
                    self.thread_loop(inner, env)
                case ir.Evaluate():
                    yield
                case ir.Declare():
                    pass
                case _:
                    raise AssertionError(node)

    def run_apart(self, function: ir.Function, numbers: dict[str, int]) -> None:
        """Run it as a GPU does; raises where threads come to different barriers."""

        def life(env: dict[str, int]) -> Iterator[None]:
            try:
                yield from self.run(function.body, env)
            except _Returned:
                return

        lives = {k: life(dict(numbers)) for k in range(self.threads)}
        while lives:
            for self.thread in sorted(lives):
                if next(lives[self.thread], "ended") == "ended":
                    del lives[self.thread]

    def run_split(self, function: ir.Function, numbers: dict[str, int]) -> None:
        self.per_thread = function.per_thread
        self.own: list[dict[str, Any]] = [{} for _ in range(self.threads)]
        self.function = function
        self.block_names = block_variables(function)
        try:
            for _ in self.run(function.body, dict(numbers)):
                raise AssertionError("a barrier is left")
        except _Returned:
            pass

    def guarded(self, loop: ir.ThreadLoop, env: dict[str, Any]) -> list[int]:
        """Return the threads that a loop runs for; `inside` is then what they do."""
        guard = guard_of(self.function, loop)
        self.inside = loop.body if guard is None else guard.body
        if guard is None:
            return list(range(self.threads))
        met: dict[str, list[bool]] = {"first": [], "last": []}
        for thread in range(self.threads):
            self.thread = thread
            for side, conditions in (("first", guard.first), ("last", guard.last)):
                met[side].append(all(self.value(part, env) for part in conditions))
        assert met["first"] == sorted(met["first"])
        assert met["last"] == sorted(met["last"], reverse=True)
        return [k for k in range(self.threads) if met["first"][k] and met["last"][k]]

    def thread_loop(self, body: Any, env: dict[str, Any]) -> None:
        loop = ir.ThreadLoop(body, _AT)
        inner = {name for name, _ in loop_variables(self.function, loop)}
        assert not inner & (self.block_names | self.per_thread)
        for thread in self.guarded(loop, env):
            self.thread = thread
            mine = {k: v for k, v in env.items() if k not in inner} | self.own[self.thread]
            try:
                for _ in self.run(self.inside, mine):
                    raise AssertionError("a barrier is left")
            except _Returned:
                pass
            self.own[self.thread] = {k: v for k, v in mine.items() if k in self.per_thread}
            env |= {k: v for k, v in mine.items() if k in self.block_names}


def agree(function: ir.Function, threads: int, numbers: dict[str, int]) -> bool:
    """Check that a kernel and what it is split into do the same; False if it is not split."""
    result = split(function, {})
    if isinstance(result, NotSplit):
        return False
    memories = []
    for run in ("run_apart", "run_split"):
        generator = random.Random(1)
        memory = {name: [generator.randrange(10) for _ in range(64)] for name in ("x", "out", "s")}
        machine = Machine(threads, memory)
        target = function if run == "run_apart" else result
        getattr(machine, run)(target, {**numbers})
        memories.append(memory)
    assert memories[0] == memories[1], "\n".join(lines(function.body)) + "\n=>\n" + shown(result)
    return True


# -- uniform values -------------------------------------------------------------------------------


def varying(*body: Any) -> set[str]:
    return Uniformity(kernel(*body), {}).varying - {"s"}


a, b, c, i, j, k = (local(name) for name in "abcijk")


def test_uniform_values_come_from_parameters_and_coordinates_of_the_block() -> None:
    assert varying(let(a, n * 2 + bx), let(b, a * width), let(c, b + tx)) == {"c"}
    assert varying(for_(i, n, let(a, i)), let(b, x[0])) == set()


def test_a_value_assigned_under_a_condition_of_the_thread_varies() -> None:
    assert varying(let(a, 1), if_(tx < 3, let(a, 2)), let(b, a)) == {"a", "b"}
    assert varying(let(a, 1), if_(n < 3, let(a, 2)), let(b, a)) == set()
    assert varying(for_(i, tx, let(a, 1))) == {"a", "i"}


def test_a_loop_that_single_threads_leave_makes_what_it_assigns_vary() -> None:
    assert varying(for_(i, n, if_(tx < i, stop), let(a, i))) == {"a", "i"}
    assert varying(for_(i, n, if_(n < i, stop), let(a, i))) == set()
    # Threads that have returned have no say.
    assert varying(for_(i, n, if_(tx < i, leave), let(a, i))) == set()


def test_what_is_read_from_memory_varies_unless_nobody_can_write_it() -> None:
    assert varying(let(a, x[n])) == set()
    assert varying(let(a, x[tx])) == {"a"}
    assert varying(shared, let(a, s[0])) == {"a"}
    assert varying(let(a, x[0]), let(x[tx], 1)) == {"a"}
    assert varying(let(a, x[0]), let(out[tx], 1)) == set()
    # Through another name it might be any array.
    other = array("other")
    assert varying(let(a, x[0]), let(other, x), let(other[tx], 1)) == {"a"}
    atomic = ir.Evaluate(call(_ADD, x[0], 1).node, _AT)
    assert varying(let(a, x[0]), atomic) == {"a"}


def test_calls_are_uniform_if_they_have_no_effects() -> None:
    assert varying(let(a, call(_SINE, n)), let(b, call(_SINE, tx))) == {"b"}
    assert varying(let(a, call(_ADD, out[0], 1))) == {"a"}


# -- structures -----------------------------------------------------------------------------------


def test_a_kernel_without_barriers_is_one_loop() -> None:
    assert (
        split_text(let(i, bx * width + tx), if_(i < n, let(out[i], x[i])))
        == """
threads:
  i = (blockIdx.x * blockDim.x) + threadIdx.x
  if i < n:
    out[i] = x[i]
"""
    )


def test_what_is_cheap_is_computed_again() -> None:
    assert (
        split_text(
            shared,
            let(i, bx * width + tx),
            let(s[tx], x[i]),
            sync,
            let(out[i], s[width - 1 - tx]),
        )
        == """
memory s
threads:
  i = (blockIdx.x * blockDim.x) + threadIdx.x
  s[threadIdx.x] = x[i]
threads:
  i = (blockIdx.x * blockDim.x) + threadIdx.x
  out[i] = s[(blockDim.x - 1) - threadIdx.x]
"""
    )


def test_what_comes_from_memory_is_kept_for_each_thread() -> None:
    assert (
        split_text(shared, let(a, x[tx]), let(s[tx], a), sync, let(out[tx], a + s[0]))
        == """
each: a
memory s
threads:
  a = x[threadIdx.x]
  s[threadIdx.x] = a
threads:
  out[threadIdx.x] = a + s[0]
"""
    )


def test_a_tiled_product() -> None:
    row, column, total, t = local("row"), local("column"), local("total"), local("t")
    assert (
        split_text(
            shared,
            let(row, bx * 4 + tx % 4),
            let(column, row * n),
            let(total, 0),
            for_(
                t,
                n // 4,
                let(s[tx], x[column + t * 4]),
                sync,
                for_(k, 4, let(total, total + s[k])),
                sync,
            ),
            let(out[column], total),
        )
        == """
each: total
memory s
threads:
  total = 0
for t in 0..n // 4:
  threads:
    row = (blockIdx.x * 4) + (threadIdx.x % 4)
    column = row * n
    s[threadIdx.x] = x[column + (t * 4)]
  threads:
    for k in 0..4:
      total = total + s[k]
threads:
  row = (blockIdx.x * 4) + (threadIdx.x % 4)
  column = row * n
  out[column] = total
"""
    )


def test_a_reduction_in_halves() -> None:
    assert (
        split_text(
            shared,
            let(s[tx], x[tx]),
            sync,
            let(a, width // 2),
            while_(a > 0, if_(tx < a, let(s[tx], s[tx] + s[tx + a])), sync, let(a, a // 2)),
            if_(tx.eq(0), let(out[bx], s[0])),
        )
        == """
memory s
threads:
  s[threadIdx.x] = x[threadIdx.x]
a = blockDim.x // 2
while a > 0:
  threads:
    if threadIdx.x < a:
      s[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + a]
  a = a // 2
threads:
  if threadIdx.x == 0:
    out[blockIdx.x] = s[0]
"""
    )


def test_threads_that_return_early_take_no_part_any_more() -> None:
    assert (
        split_text(
            shared,
            let(i, bx * width + tx),
            if_(i >= n, leave),
            let(s[tx], x[i]),
            sync,
            let(out[i], s[0]),
        )
        == """
memory s
_kt_alive = 0
threads:
  i = (blockIdx.x * blockDim.x) + threadIdx.x
  _kt_gone = i >= n
  _kt_alive = _kt_alive | not _kt_gone
if _kt_alive == 0:
  return
threads:
  i = (blockIdx.x * blockDim.x) + threadIdx.x
  _kt_gone = i >= n
  if _kt_gone:
    return
  s[threadIdx.x] = x[i]
threads:
  i = (blockIdx.x * blockDim.x) + threadIdx.x
  _kt_gone = i >= n
  if _kt_gone:
    return
  out[i] = s[0]
"""
    )


def test_a_return_inside_of_a_loop_sets_a_flag() -> None:
    assert (
        split_text(
            for_(i, n, let(out[tx], i), if_(x[tx + i].eq(1), leave), sync, let(out[tx], 5)),
        )
        == """
each: _kt_gone
threads:
  _kt_gone = False
for i in 0..n:
  _kt_alive = 0
  threads:
    if _kt_gone:
      return
    out[threadIdx.x] = i
    if x[threadIdx.x + i] == 1:
      _kt_gone = True
      return
    _kt_alive = 1
  if _kt_alive == 0:
    return
  threads:
    if _kt_gone:
      return
    out[threadIdx.x] = 5
"""
    )


def test_a_block_without_threads_evaluates_nothing() -> None:
    function = kernel(
        if_(tx >= n, leave), let(a, 7 % n), for_(i, a, sync, let(out[tx], i)), let(out[tx], 9)
    )
    assert agree(function, 4, {"n": 0})
    assert agree(function, 4, {"n": 3})


def test_a_return_of_all_threads_is_the_blocks() -> None:
    assert (
        split_text(if_(n < 1, leave), let(out[tx], 1), sync, let(out[tx], 2))
        == """
if n < 1:
  return
threads:
  out[threadIdx.x] = 1
threads:
  out[threadIdx.x] = 2
"""
    )


def test_a_return_behind_the_last_barrier_is_left_alone() -> None:
    assert (
        split_text(sync, if_(tx >= n, leave), let(out[tx], 1), leave)
        == """
threads:
  if threadIdx.x >= n:
    return
  out[threadIdx.x] = 1
"""
    )


def test_jumps_under_uniform_conditions_are_the_blocks() -> None:
    assert (
        split_text(
            for_(i, n, if_((i * i).eq(9), stop), let(out[tx], i), sync, let(out[tx], 1)),
        )
        == """
for i in 0..n:
  if (i * i) == 9:
    break
  threads:
    out[threadIdx.x] = i
  threads:
    out[threadIdx.x] = 1
"""
    )


def test_a_loop_that_decides_how_often_a_barrier_comes_is_the_blocks() -> None:
    assert (
        split_text(
            let(a, 1),
            for_(i, n, let(a, a * 2), let(out[tx], i)),
            for_(j, a, sync, let(out[tx], j)),
        )
        == """
a = 1
for i in 0..n:
  a = a * 2
  threads:
    out[threadIdx.x] = i
for j in 0..a:
  threads:
    out[threadIdx.x] = j
"""
    )


def test_a_uniform_loop_without_barriers_stays_the_threads() -> None:
    assert (
        split_text(let(a, 0), sync, for_(i, n, let(a, a + x[i])), sync, let(out[tx], a))
        == """
each: a
threads:
  a = 0
threads:
  for i in 0..n:
    a = a + x[i]
threads:
  out[threadIdx.x] = a
"""
    )


def test_a_uniform_variable_assigned_anew_between_its_uses() -> None:
    assert split_text(
        let(a, n), let(out[tx], a), sync, let(out[tx], a + 1), let(a, a * 2), let(out[0], a), sync,
        let(out[1], a),
    ) == """
a = n
threads:
  out[threadIdx.x] = a
threads:
  out[threadIdx.x] = a + 1
a = a * 2
threads:
  out[0] = a
threads:
  out[1] = a
"""  # fmt: skip


def test_a_parameter_that_threads_assign_to_becomes_their_own() -> None:
    assert (
        split_text(let(n, n - tx), sync, let(out[tx], n))
        == """
each: own_n
threads:
  own_n = n
  own_n = own_n - threadIdx.x
threads:
  out[threadIdx.x] = own_n
"""
    )


def test_a_loop_variable_that_a_thread_assigns_to() -> None:
    assert (
        split_text(
            for_(i, n, let(out[tx], i), sync, let(i, i + tx), let(out[tx], i), private=False)
        )
        == """
each: i
for _kt_count in 0..n:
  threads:
    i = _kt_count
    out[threadIdx.x] = i
  threads:
    i = i + threadIdx.x
    out[threadIdx.x] = i
"""
    )


def test_memory_of_each_thread() -> None:
    mine = ir.Declare("mine", Array(PY_INT, 1, "fixed", (4,), "local"), _AT)
    m = array("mine", "local", (4,))
    assert (
        split_text(mine, let(m[0], tx), sync, let(out[tx], m[0]))
        == """
each: mine
memory mine
threads:
  mine[0] = threadIdx.x
threads:
  out[threadIdx.x] = mine[0]
"""
    )
    assert (
        split_text(sync, mine, let(m[0], tx), let(out[tx], m[0]))
        == """
threads:
  memory mine
  mine[0] = threadIdx.x
  out[threadIdx.x] = mine[0]
"""
    )


def test_threads_that_would_keep_too_much() -> None:
    mine = ir.Declare("mine", Array(PY_INT, 1, "fixed", (1025,), "local"), _AT)
    m = array("mine", "local", (1025,))
    assert "remember too much" in reason(mine, let(m[0], tx), sync, let(out[tx], m[0]))


def test_which_variables_are_declared_where() -> None:
    result = split(
        kernel(let(a, n * 2), let(b, x[tx]), let(c, b + a), sync, let(i, b), let(out[i], a)), {}
    )
    assert isinstance(result, ir.Function)
    assert block_variables(result) == {"a"}
    assert result.per_thread == {"b"}
    loops = [node for node in result.body if isinstance(node, ir.ThreadLoop)]
    assert [loop_variables(result, loop) for loop in loops] == [(), (("i", PY_INT),)]


def test_what_is_computed_again_must_not_have_changed() -> None:
    # `u` is another one when `a` is read; and the last round's `b` is not the next one's.
    u = local("u")
    before, after = let(out[tx], a), let(out[tx + 8], a)
    function = kernel(let(u, 1), let(a, tx + u), before, sync, let(u, 5), sync, after)
    assert "each: a\n" in shown(split(function, {}))
    assert agree(function, 4, {"n": 4})
    function = kernel(
        let(b, 0), for_(i, n, let(out[tx], b), sync, let(b, tx + i), sync), let(out[tx + 8], b)
    )
    assert "each: b\n" in shown(split(function, {}))
    assert agree(function, 4, {"n": 4})
    function = kernel(let(a, 1), for_(i, n, let(a, tx + i), sync), let(out[tx], a))
    assert "each: a\n" in shown(split(function, {}))
    assert agree(function, 4, {"n": 4})


# -- what is not split ----------------------------------------------------------------------------


def test_barriers_where_only_some_threads_come() -> None:
    assert reason(if_(tx < 3, sync)) == "a barrier stands where only some threads may come"
    assert reason(for_(i, tx, sync)) == "a barrier stands where only some threads may come"
    assert reason(shared, while_(s[0] > 0, sync)).startswith("a barrier stands")
    assert reason(for_(i, n, if_(tx < 3, stop), sync)).startswith("only some threads may leave")


@jit.rawkernel()
def halves(y):  # type: ignore[no-untyped-def]
    s = jit.shared_memory(np.int32, 64)
    t = jit.threadIdx.x
    s[t] = t
    if t % 2 == 0:
        jit.syncthreads()
        y[t] = s[t ^ 1]
    else:
        jit.syncthreads()
        y[t] = s[63 - t]


def test_each_branch_may_have_its_barrier() -> None:
    y, t = np.zeros(64, np.int32), np.arange(64)
    halves[1, 64](y)
    assert np.array_equal(y, np.where(t % 2, 63 - t, t ^ 1))


def test_whatever_else_waits() -> None:
    assert reason(let(a, call(_SHUFFLE, tx))) == "'shfl_sync' waits for other threads"
    assert reason(let(a, call(_BARRIER))) == "a barrier is part of an expression"
    helper = ir.Function("helper", (), VOID, (sync,), (), None)  # type: ignore[arg-type]
    invoked = ir.Evaluate(ir.Invoke("helper", (), VOID, _AT), _AT)
    result = split(kernel(invoked), {"helper": helper})
    assert isinstance(result, NotSplit)
    assert result.reason == "'helper' waits for other threads"


def test_loops_that_may_wait_for_another_thread() -> None:
    taken = call(Operation("atomic_cas", "", _ATOMIC), x[0], 0, 1)
    assert reason(while_(taken.eq(1))) == "a loop may wait for what another thread writes"
    assert "may wait" in reason(while_(True, let(a, taken), if_(a.eq(0), stop)))
    # That ends whatever others do.
    count = ir.Evaluate(call(_ADD, out[x[i]], 1).node, _AT)
    assert "atomic_add" in split_text(let(i, tx), while_(i < n, count, let(i, i + width)))


# -- conditions as bounds -------------------------------------------------------------------------


def guard_text(*body: Any) -> str:
    """Show the bounds of a kernel that is one loop, and what is left in it."""
    function = split(kernel(*body), {})
    assert isinstance(function, ir.Function)
    loop = function.body[-1]
    assert isinstance(loop, ir.ThreadLoop)
    guard = guard_of(function, loop)
    if guard is None:
        return "none"
    bounds = (" and ".join(map(text, part)) or "all" for part in (guard.first, guard.last))
    return " | ".join([*bounds, ", ".join(lines(guard.body))])


def test_a_limit_of_an_index_becomes_a_bound() -> None:
    write = let(out[i], 1)
    index = "(blockIdx.x * blockDim.x) + threadIdx.x"
    rest = f"i = {index}, out[i] = 1"
    assert guard_text(let(i, bx * width + tx), if_(i < n, write)) == f"all | ({index}) < n | {rest}"
    assert guard_text(let(i, bx * width + tx), if_(i >= n, leave), write) == (
        f"all | ({index}) < n | {rest}"
    )
    assert guard_text(if_(tx > n, write)) == "threadIdx.x > n | all | out[i] = 1"
    assert guard_text(if_(n - tx > 3, write)) == "all | (n - threadIdx.x) > 3 | out[i] = 1"
    assert guard_text(if_(n < 3, write)) == "all | n < 3 | out[i] = 1"
    both = ir.Logical("and", ((tx > 0).node, (tx < n).node), _AT)
    assert guard_text(if_(E(both), write)) == "threadIdx.x > 0 | threadIdx.x < n | out[i] = 1"
    either = ir.Logical("or", ((tx < 1).node, (tx >= n).node), _AT)
    assert guard_text(if_(E(either), leave), write) == (
        "threadIdx.x >= 1 | threadIdx.x < n | out[i] = 1"
    )


def test_conditions_that_are_no_bounds() -> None:
    write = let(out[tx], 1)
    assert guard_text(if_((tx % 2).eq(0), write)) == "none"
    assert guard_text(if_(tx.eq(0), write)) == "none"
    assert guard_text(if_(tx * n < 5, write)) == "none"  # n may be negative
    assert guard_text(if_(x[tx] < n, write)) == "none"
    assert guard_text(if_(tx < n, write), write) == "none"
    assert guard_text(if_(tx < n, write, orelse=(write,))) == "none"
    assert guard_text(write, if_(tx < n, write)) == "none"
    either = ir.Logical("or", ((tx < 1).node, (tx >= n).node), _AT)
    assert guard_text(if_(E(either), write)) == "none"


# -- programs made at random ----------------------------------------------------------------------


class Author:
    """Writes kernels without races: threads write to cells of their own, and read those of others
    behind a barrier.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = [local(name) for name in ("a", "b", "c", "d")]
        self.uniform = [local(name) for name in ("u", "v")]
        self.count = 0

    def number(self, uniform: bool, depth: int = 2) -> Any:
        pick = self.random.randrange(8 if depth else 4)
        if pick < 4:
            if not uniform and len(self.names) > 4 and self.random.random() < 0.5:
                return self.random.choice(self.names[4:])
            leaves = [n, width, bx, x[n], self.random.randrange(4), *self.uniform]
            return self.random.choice(leaves if uniform else [tx, x[tx], out[tx], *self.names])
        left, right = (self.number(uniform, depth - 1) for _ in range(2))
        left = left if isinstance(left, E) else E(_node(left))
        if pick == 7:
            return left % self.random.randrange(2, 9)
        return left - right if pick == 6 else left + right

    def condition(self, uniform: bool) -> E:
        if not uniform and self.random.random() < 0.4:
            left = tx * self.random.randrange(1, 3) + self.number(True, 1)
            right = E(_node(self.number(True, 1))) - tx * self.random.randrange(2)
            pair = (left, right) if self.random.random() < 0.5 else (right, left)
            return pair[0] < pair[1] if self.random.random() < 0.5 else pair[0] >= pair[1]
        value = self.number(uniform)
        value = value if isinstance(value, E) else E(_node(value))
        return (value % 3).eq(self.random.randrange(3))

    def statements(self, depth: int, uniform: bool, in_loop: bool) -> tuple[Any, ...]:
        known = len(self.names)
        parts = [
            self.statement(depth, uniform, in_loop) for _ in range(self.random.randrange(1, 6))
        ]
        del self.names[known:]
        return tuple(item for part in parts for item in part)

    def fresh(self) -> tuple[Any, ...]:
        """Assign to a variable that is assigned only here."""
        self.count += 1
        name, others = local(f"t{self.count}"), self.names[4:]
        value = self.random.choice([tx, *others]) + self.random.choice([n, *self.uniform, *others])
        self.names.append(name)
        return (let(name, value),)

    def statement(self, depth: int, uniform: bool, in_loop: bool) -> tuple[Any, ...]:
        """`uniform`: all threads that are left come here together."""
        pick = self.random.randrange(14 if depth else 8)
        if self.random.random() < 0.2:
            return self.fresh()
        if pick < 2:
            return (
                let(self.random.choice(self.names[:4]), self.number(self.random.random() < 0.4)),
            )
        if pick < 4 and uniform:
            return (let(self.random.choice(self.uniform), self.number(True)),)
        if pick < 6:
            return (let(out[tx], self.number(False)),)
        if pick < 8:
            if not uniform:
                return (let(out[tx], self.number(True)),)
            other = let(self.random.choice(self.names[:4]), s[tx + self.random.randrange(3)])
            return (let(s[tx], self.number(False)), sync, other, sync)
        alike = uniform and self.random.random() < 0.6
        if pick == 8:
            jump = self.random.choice([leave, stop, again] if in_loop else [leave])
            alike = alike or (jump is not leave and self.random.random() < 0.7)
            return (if_(self.condition(alike), jump),)
        body = self.statements(depth - 1, alike, in_loop)
        if pick < 11:
            other_ = self.statements(depth - 1, alike, in_loop) if pick == 9 else ()
            return (if_(self.condition(alike), *body, orelse=other_),)
        self.count += 1
        counter = local(f"i{self.count}")
        bound = E(_node(self.number(alike))) % 4
        body = self.statements(depth - 1, alike, True)
        if pick == 11:
            shown_ = let(out[tx], counter + tx)
            return (for_(counter, bound, shown_, *body),)
        if pick == 12:
            return (for_(counter, bound, *body, let(out[tx], counter), private=False),)
        # Continued, the loop would not count.
        body = self.statements(depth - 1, alike, False)
        step = let(counter, counter + 1)
        return (let(counter, 0), while_(counter < bound, *body, step))


@pytest.mark.parametrize("seed", range(0, 1600, 400))
def test_split_kernels_do_the_same(seed: int) -> None:
    done = 0
    for number_ in range(seed, seed + 400):
        author = Author(number_)
        first = tuple(let(name, 0) for name in (*author.names, *author.uniform))
        function = kernel(*first, *author.statements(3, True, False), let(out[tx], a + b + c))
        done += agree(function, 5, {"n": 7, "x": 0, "out": 0})
    assert done > 150


# -- the header -----------------------------------------------------------------------------------

_TEXT = """
#define FUNCTION static inline __attribute__((always_inline)) void
__device__ __attribute__((noinline)) int asks() { return threadIdx.x + 100 * threadIdx.y; }
FUNCTION coordinates(int* out) {
    KERNELTK_BLOCK_BEGIN
    const long long block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const long long size = blockDim.x * blockDim.y * blockDim.z;
    KERNELTK_THREADS_BEGIN
        const long long here = 100 * threadIdx.z + 10 * threadIdx.y + threadIdx.x;
        out[block * size + _kt_rank] = int(here + 1000 * block);
    KERNELTK_THREADS_END
}
FUNCTION saxpy(float a, const float* x, float* y, long long n) {
    KERNELTK_BLOCK_BEGIN
    KERNELTK_THREADS_BEGIN
        const long long i = (long long)blockIdx.x * (long long)blockDim.x + (long long)threadIdx.x;
        if (i >= n) {
            goto _kt_done;
        }
        y[i] = a * x[i] + y[i];
    KERNELTK_THREADS_END
}
FUNCTION interior(const float* x, float* y, long long h, long long w) {
    KERNELTK_BLOCK_BEGIN
    KERNELTK_SOME_THREADS_BEGIN(
        ((long long)blockIdx.x * (long long)blockDim.x + (long long)threadIdx.x > 0),
        ((long long)blockIdx.x * (long long)blockDim.x + (long long)threadIdx.x < w - 1
         && (long long)blockIdx.y * (long long)blockDim.y + (long long)threadIdx.y > 0
         && (long long)blockIdx.y * (long long)blockDim.y + (long long)threadIdx.y < h - 1))
        const long long j = (long long)blockIdx.x * (long long)blockDim.x + (long long)threadIdx.x;
        const long long i = (long long)blockIdx.y * (long long)blockDim.y + (long long)threadIdx.y;
        y[i * w + j] = x[(i - 1) * w + j] + x[(i + 1) * w + j] + x[i * w + j - 1]
                       + x[i * w + j + 1];
    KERNELTK_THREADS_END
}
FUNCTION between(int* out, long long from, long long to) {
    KERNELTK_BLOCK_BEGIN
    KERNELTK_CALLING_SOME_THREADS_BEGIN((threadIdx.x >= from), (threadIdx.x < to))
        out[_kt_rank] = 1 + asks();
    KERNELTK_THREADS_END
}
FUNCTION stencil(const float* x, float* y, long long h, long long w) {
    KERNELTK_BLOCK_BEGIN
    KERNELTK_THREADS_BEGIN
        const long long j = (long long)blockIdx.x * (long long)blockDim.x + (long long)threadIdx.x;
        const long long i = (long long)blockIdx.y * (long long)blockDim.y + (long long)threadIdx.y;
        if (i > 0 && i < h - 1 && j > 0 && j < w - 1) {
            y[i * w + j] = x[(i - 1) * w + j] + x[(i + 1) * w + j] + x[i * w + j - 1]
                           + x[i * w + j + 1];
        }
    KERNELTK_THREADS_END
}
FUNCTION block_sum(const double* x, double* out) {
    KERNELTK_BLOCK_BEGIN
    static thread_local double s[256];
    KERNELTK_THREADS_BEGIN
        s[threadIdx.x] = x[(long long)blockIdx.x * (long long)blockDim.x + (long long)threadIdx.x];
    KERNELTK_THREADS_END
    long long step = blockDim.x / 2;
    while (step > 0) {
        KERNELTK_THREADS_BEGIN
            if ((long long)threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
        KERNELTK_THREADS_END
        step >>= 1;
    }
    KERNELTK_THREADS_BEGIN
        if ((long long)threadIdx.x == 0) out[blockIdx.x] = s[0];
    KERNELTK_THREADS_END
}
template <int T>
FUNCTION product(const float* a, const float* b, float* c, long long n) {
    KERNELTK_BLOCK_BEGIN
    KERNELTK_PER_THREAD(sum, float)
    static thread_local float sa[T][T], sb[T][T];
    KERNELTK_THREADS_BEGIN
        sum[_kt_rank] = 0.0f;
    KERNELTK_THREADS_END
    for (long long t = 0; t < n / T; ++t) {
        KERNELTK_THREADS_BEGIN
            const long long x = threadIdx.x, y = threadIdx.y;
            sa[y][x] = a[(blockIdx.y * T + y) * n + t * T + x];
            sb[y][x] = b[(t * T + y) * n + blockIdx.x * T + x];
        KERNELTK_THREADS_END
        KERNELTK_THREADS_BEGIN
            KERNELTK_UNROLLED
            for (long long k = 0; k < T; ++k) {
                sum[_kt_rank] += sa[threadIdx.y][k] * sb[k][threadIdx.x];
            }
        KERNELTK_THREADS_END
    }
    KERNELTK_THREADS_BEGIN
        c[(blockIdx.y * T + threadIdx.y) * n + blockIdx.x * T + threadIdx.x] = sum[_kt_rank];
    KERNELTK_THREADS_END
}
FUNCTION histogram(const unsigned char* x, int* out, long long n) {
    KERNELTK_BLOCK_BEGIN
    static thread_local int s[256];
    KERNELTK_THREADS_BEGIN
        s[threadIdx.x] = 0;
    KERNELTK_THREADS_END
    KERNELTK_THREADS_BEGIN
        long long i = (long long)blockIdx.x * (long long)blockDim.x + (long long)threadIdx.x;
        while (i < n) {
            atomicAdd(&s[x[i]], 1);
            i += (long long)blockDim.x * (long long)gridDim.x;
        }
    KERNELTK_THREADS_END
    KERNELTK_THREADS_BEGIN
        atomicAdd(&out[threadIdx.x], s[threadIdx.x]);
    KERNELTK_THREADS_END
}
template <class A, class B>
struct pair {
    A a;
    B b;
};
FUNCTION own_memory(double* out) {
    KERNELTK_BLOCK_BEGIN
    KERNELTK_PER_THREAD(p, pair<int, double>)
    KERNELTK_PER_THREAD(m, ::kerneltk::grid::row<double, 2, 3>::type)
    KERNELTK_THREADS_BEGIN
        p[_kt_rank].b = _kt_rank;
        for (int k = 0; k < 6; ++k) m[_kt_rank][k / 3][k % 3] = k;
    KERNELTK_THREADS_END
    KERNELTK_THREADS_BEGIN
        out[_kt_rank] = 10 * p[_kt_rank].b + m[_kt_rank][1][_kt_rank % 3];
    KERNELTK_THREADS_END
}
FUNCTION calling(int* out) {
    KERNELTK_BLOCK_BEGIN
    KERNELTK_CALLING_THREADS_BEGIN
        out[_kt_rank] = asks();
    KERNELTK_THREADS_END
}
FUNCTION unchanging(int* out) {
    KERNELTK_BLOCK_BEGIN
    KERNELTK_THREADS_BEGIN
        for (int k = 0; k < 100; ++k) atomicMax(out, -1);
        __nanosleep(1);
        atomicAdd(out + 1, 1);
    KERNELTK_THREADS_END
}
FUNCTION asserts(const int* x) {
    KERNELTK_BLOCK_BEGIN
    if (x[0] == 2) assert(false);
    KERNELTK_THREADS_BEGIN
        if (x[_kt_rank] == 1) assert(false);
    KERNELTK_THREADS_END
}
FUNCTION endless(volatile int* x) {
    KERNELTK_BLOCK_BEGIN
    while (true) {
        KERNELTK_THREADS_BEGIN
            x[_kt_rank] = 1;
        KERNELTK_THREADS_END
    }
}
"""
_FUNCTIONS = (
    "coordinates", "saxpy", "stencil", "block_sum", "product<4>", "product<32>", "histogram",
    "interior", "between", "own_memory", "calling", "unchanging", "asserts", "endless",
)  # fmt: skip


class Blocks:
    """The block functions above, in compiled form."""

    def __init__(self, *options: str) -> None:
        headers = ("host_block.hpp", "host_device.hpp", "atomics.hpp")
        source = [f"#include <kerneltk/{header}>" for header in headers]
        source += ['#line 1 "block.cu"', _TEXT]
        source += [f"KERNELTK_BLOCK_ENTRY(f{k}, ({f}))" for k, f in enumerate(_FUNCTIONS)]
        unit = TranslationUnit("host", _TEXT, "", raw=True)
        every = (*toolchain.backend_options(unit), f"-I{INCLUDE_DIRECTORY}", *options)
        code, log = toolchain.build("unit.cpp", "\n".join(source) + "\n", every)
        assert code is not None, log
        handle = runtime._open_library(code)
        self._entries = {f: runtime._symbol(handle, f"f{k}") for k, f in enumerate(_FUNCTIONS)}

    def launch(self, name: str, grid: Any, block: Any, *arguments: Any) -> int:
        """Launch; arrays go by address, NumPy scalars by value."""
        extents = [
            (*(size if isinstance(size, tuple) else (size,)), 1, 1)[:3] for size in (grid, block)
        ]
        packed = struct.pack("<8I2Q", *extents[0], *extents[1], 0, 0, runtime.grid_table(), 0)
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                argument = np.uint64(argument.ctypes.data)
            value = argument.tobytes()
            packed += b"\0" * (-len(packed) % len(value)) + value
        memory = ctypes.create_string_buffer(len(packed) + 16)
        address = (ctypes.addressof(memory) + 15) // 16 * 16
        ctypes.memmove(address, packed, len(packed))
        total = int(np.prod(extents[0]))
        return runtime.launch_grid(self._entries[name], address, total, 1, 2)


@pytest.fixture(scope="module", params=[(), ("-DKERNELTK_EXACT_THREADS",)], ids=["fast", "exact"])
def blocks(request: pytest.FixtureRequest) -> Blocks:
    return Blocks(*request.param)


def test_coordinates_of_threads(blocks: Blocks) -> None:
    found = np.zeros((2, 2, 3, 2, 3, 5), np.int32)
    assert blocks.launch("coordinates", (3, 2, 2), (5, 3, 2), found) == 0
    block = np.arange(12).reshape(2, 2, 3)[..., None, None, None]
    z, y, x_ = np.ogrid[:2, :3, :5]
    assert (found == 1000 * block + 100 * z + 10 * y + x_).all()


def test_loops_of_threads(blocks: Blocks) -> None:
    generator = np.random.default_rng(1)
    v, w = generator.random((2, 1000), np.float32)
    wanted = np.where(np.arange(1000) < 901, np.float32(0.5) * v + w, w)
    assert blocks.launch("saxpy", 8, 128, np.float32(0.5), v, w, np.int64(901)) == 0
    np.testing.assert_allclose(w, wanted, rtol=1e-6)
    m = generator.random((37, 70), np.float32)
    for name in ("stencil", "interior"):
        found = np.zeros_like(m)
        assert blocks.launch(name, (3, 5), (32, 8), m, found, np.int64(37), np.int64(70)) == 0
        wanted = m[:-2, 1:-1] + m[2:, 1:-1] + m[1:-1, :-2] + m[1:-1, 2:]
        np.testing.assert_allclose(found[1:-1, 1:-1], wanted, rtol=1e-6)
        found[1:-1, 1:-1] = 0
        assert not found.any()


def test_bounds_of_a_row(blocks: Blocks) -> None:
    for begin in range(-1, 7):
        for end in range(-1, 7):
            found = np.zeros((2, 5), np.int32)
            assert blocks.launch("between", 1, (5, 2), found, np.int64(begin), np.int64(end)) == 0
            x_ = np.arange(5)
            inside = (x_ >= begin) & (x_ < end)
            assert (found == np.where(inside, 1 + x_ + [[0], [100]], 0)).all()


def test_shared_memory_between_loops(blocks: Blocks) -> None:
    generator = np.random.default_rng(2)
    values, sums = generator.random((9, 256)), np.zeros(9)
    assert blocks.launch("block_sum", 9, 256, values, sums) == 0
    np.testing.assert_allclose(sums, values.sum(1))
    for size in (4, 32):
        p, q = generator.random((2, 64, 64), np.float32)
        found = np.zeros_like(p)
        grid = (64 // size, 64 // size)
        assert blocks.launch(f"product<{size}>", grid, (size, size), p, q, found, np.int64(64)) == 0
        np.testing.assert_allclose(found, p @ q, rtol=1e-5)
    numbers = generator.integers(0, 256, 10000, np.uint8)
    counts = np.zeros(256, np.int32)
    assert blocks.launch("histogram", 7, 256, numbers, counts, np.int64(10000)) == 0
    assert (counts == np.bincount(numbers, minlength=256)).all()


def test_memory_of_each_thread_between_loops(blocks: Blocks) -> None:
    found = np.zeros(1024)
    assert blocks.launch("own_memory", 1, (32, 32), found) == 0
    assert (found == 10 * np.arange(1024) + 3 + np.arange(1024) % 3).all()


def test_functions_that_ask_for_their_coordinates(blocks: Blocks) -> None:
    found = np.zeros((3, 5), np.int32)
    assert blocks.launch("calling", 1, (5, 3), found) == 0
    assert (found == np.arange(5) + 100 * np.arange(3)[:, None]).all()


def test_nobody_is_suspended(blocks: Blocks) -> None:
    found = np.zeros(2, np.int32)
    assert blocks.launch("unchanging", 2, 64, found) == 0
    assert found.tolist() == [0, 128]


def test_faults_say_where(blocks: Blocks, request: pytest.FixtureRequest) -> None:
    is_exact = "exact" in request.node.name
    values = np.zeros(40, np.int32)
    assert blocks.launch("asserts", 1, (5, 8), values) == 0
    values[23] = 1
    assert blocks.launch("asserts", 1, (5, 8), values) != 0
    told = runtime.last_fault()
    assert "assertion 'false' failed at block.cu:" in told
    where = "thread (3, 4, 0)" if is_exact else "one of threads (0 to 4, 4, 0)"
    assert f"block (0, 0, 0), {where}: " in told
    # What all threads would come to is said of the first.
    values[0] = 2
    assert blocks.launch("asserts", 1, (5, 8), values) != 0
    assert "block (0, 0, 0), thread (0, 0, 0): " in runtime.last_fault()
    assert blocks.launch("saxpy", 1, 5, np.float32(1), np.uint64(8), np.uint64(8), np.int64(5)) != 0
    assert "no memory can be read or written" in runtime.last_fault()


def test_blocks_that_do_not_end(blocks: Blocks) -> None:
    runtime.set_time_limit(100)
    try:
        assert blocks.launch("endless", 3, 16, np.zeros(16, np.int32)) != 0
        assert "the launch did not end within 100 ms" in runtime.last_fault()
    finally:
        runtime.set_time_limit(0)
