"""Barriers compiled away: what loops become of a kernel, and that they do the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Operation
from kerneltk.jit.ir.types import PY_INT, VOID, Array
from kerneltk.jit.passes.barrier_fission import NotSplit, fission
from kerneltk.jit.passes.loop_bounds import tightened
from kerneltk.jit.passes.thread_loops import block_variables, loop_variables
from tests.sampling import half

from .writing import (
    ADD,
    AT,
    ATOMIC,
    BARRIER,
    OPERATORS,
    SHUFFLE,
    E,
    a,
    again,
    array,
    b,
    bx,
    c,
    call,
    for_,
    i,
    if_,
    j,
    kernel,
    leave,
    let,
    lines,
    local,
    n,
    node_of,
    out,
    s,
    shared,
    shown,
    stop,
    sync,
    tx,
    while_,
    width,
    x,
)


def split_text(*body: Any) -> str:
    return "\n" + shown(fission(kernel(*body), {}))


def reason(*body: Any) -> str:
    result = fission(kernel(*body), {})
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
                return OPERATORS[op](self.value(a, env), self.value(b, env))
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
                pass  # a barrier between two loops
        except _Returned:
            pass

    def guarded(self, loop: ir.ThreadLoop, env: dict[str, Any]) -> list[int]:
        """Return the threads that a loop runs for; `inside` is then what they do."""
        bounds = tightened(self.function, loop)
        self.inside = loop.body if bounds is None else bounds.body
        if bounds is None:
            return list(range(self.threads))
        met: dict[str, list[bool]] = {"first": [], "last": []}
        for thread in range(self.threads):
            self.thread = thread
            for side, conditions in (("first", bounds.first), ("last", bounds.last)):
                met[side].append(all(self.value(part, env) for part in conditions))
        assert met["first"] == sorted(met["first"])
        assert met["last"] == sorted(met["last"], reverse=True)
        return [k for k in range(self.threads) if met["first"][k] and met["last"][k]]

    def thread_loop(self, body: Any, env: dict[str, Any]) -> None:
        loop = ir.ThreadLoop(body, AT)
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
    result = fission(function, {})
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
syncthreads()
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
syncthreads()
threads:
  out[threadIdx.x] = a + s[0]
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
syncthreads()
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
  syncthreads()
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
syncthreads()
threads:
  out[threadIdx.x] = 2
"""
    )


def test_a_return_behind_the_last_barrier_is_left_alone() -> None:
    assert (
        split_text(sync, if_(tx >= n, leave), let(out[tx], 1), leave)
        == """
syncthreads()
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
  syncthreads()
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
  syncthreads()
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
syncthreads()
threads:
  for i in 0..n:
    a = a + x[i]
syncthreads()
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
syncthreads()
threads:
  out[threadIdx.x] = a + 1
a = a * 2
threads:
  out[0] = a
syncthreads()
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
syncthreads()
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
  syncthreads()
  threads:
    i = i + threadIdx.x
    out[threadIdx.x] = i
"""
    )


def test_memory_of_each_thread() -> None:
    mine = ir.Declare("mine", Array(PY_INT, 1, "fixed", (4,), "local"), AT)
    m = array("mine", "local", (4,))
    assert (
        split_text(mine, let(m[0], tx), sync, let(out[tx], m[0]))
        == """
each: mine
memory mine
threads:
  mine[0] = threadIdx.x
syncthreads()
threads:
  out[threadIdx.x] = mine[0]
"""
    )
    assert (
        split_text(sync, mine, let(m[0], tx), let(out[tx], m[0]))
        == """
syncthreads()
threads:
  memory mine
  mine[0] = threadIdx.x
  out[threadIdx.x] = mine[0]
"""
    )


def test_threads_that_would_keep_too_much() -> None:
    mine = ir.Declare("mine", Array(PY_INT, 1, "fixed", (1025,), "local"), AT)
    m = array("mine", "local", (1025,))
    assert "remember too much" in reason(mine, let(m[0], tx), sync, let(out[tx], m[0]))


def test_what_is_computed_again_must_not_have_changed() -> None:
    # `u` is another one when `a` is read; and the last round's `b` is not the next one's.
    u = local("u")
    before, after = let(out[tx], a), let(out[tx + 8], a)
    function = kernel(let(u, 1), let(a, tx + u), before, sync, let(u, 5), sync, after)
    assert "each: a\n" in shown(fission(function, {}))
    assert agree(function, 4, {"n": 4})
    function = kernel(
        let(b, 0), for_(i, n, let(out[tx], b), sync, let(b, tx + i), sync), let(out[tx + 8], b)
    )
    assert "each: b\n" in shown(fission(function, {}))
    assert agree(function, 4, {"n": 4})
    function = kernel(let(a, 1), for_(i, n, let(a, tx + i), sync), let(out[tx], a))
    assert "each: a\n" in shown(fission(function, {}))
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
    assert reason(let(a, call(SHUFFLE, tx))) == "'shfl_sync' waits for other threads"
    assert reason(let(a, call(BARRIER))) == "a barrier is part of an expression"
    helper = ir.Function("helper", (), VOID, (sync,), (), None)  # type: ignore[arg-type]
    invoked = ir.Evaluate(ir.Invoke("helper", (), VOID, AT), AT)
    result = fission(kernel(invoked), {"helper": helper})
    assert isinstance(result, NotSplit)
    assert result.reason == "'helper' waits for other threads"


def test_loops_that_may_wait_for_another_thread() -> None:
    taken = call(Operation("atomic_cas", "", ATOMIC), x[0], 0, 1)
    assert reason(while_(taken.eq(1))) == "a loop may wait for what another thread writes"
    assert "may wait" in reason(while_(True, let(a, taken), if_(a.eq(0), stop)))
    # That ends whatever others do.
    count = ir.Evaluate(call(ADD, out[x[i]], 1).node, AT)
    assert "atomic_add" in split_text(let(i, tx), while_(i < n, count, let(i, i + width)))


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
        left = left if isinstance(left, E) else E(node_of(left))
        if pick == 7:
            return left % self.random.randrange(2, 9)
        return left - right if pick == 6 else left + right

    def condition(self, uniform: bool) -> E:
        if not uniform and self.random.random() < 0.4:
            left = tx * self.random.randrange(1, 3) + self.number(True, 1)
            right = E(node_of(self.number(True, 1))) - tx * self.random.randrange(2)
            pair = (left, right) if self.random.random() < 0.5 else (right, left)
            return pair[0] < pair[1] if self.random.random() < 0.5 else pair[0] >= pair[1]
        value = self.number(uniform)
        value = value if isinstance(value, E) else E(node_of(value))
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
        bound = E(node_of(self.number(alike))) % 4
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


@pytest.mark.parametrize("seed", half(range(0, 1600, 400)))
def test_split_kernels_do_the_same(seed: int) -> None:
    done = 0
    for number_ in range(seed, seed + 400):
        author = Author(number_)
        first = tuple(let(name, 0) for name in (*author.names, *author.uniform))
        function = kernel(*first, *author.statements(3, True, False), let(out[tx], a + b + c))
        done += agree(function, 5, {"n": 7, "x": 0, "out": 0})
    assert done > 150
