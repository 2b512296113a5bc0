"""Random fused functions that read arrays from outside, change them, and catch exceptions.

A program reads arrays by globals, closures, objects and dicts, makes arrays of its own and writes
to them after they were used, writes to its arguments, catches what numbers and shapes raise, and
some have effects. It is called several times, with other shapes and numbers, and what it reads is
changed between the calls where docs/fuse.md says that it is read again. Values are small multiples
of a quarter, so results are compared bit by bit.
"""

from __future__ import annotations

import contextlib
import random
from dataclasses import dataclass
from typing import Any

import numpy as np

import kerneltk

from .generator import Undefined
from .running import FAULTS, Outcome, attempted, by_exceptions, executed_module

_HEAD = """\
W = np.array([1.0, -2.0, 0.5, 3.0])
table = {"a": np.array([2.0, 1.0, 4.0, -1.0]), "k": 2}
LOG = []
COUNT = 0

class Thing:
    def __init__(self):
        self.table, self.rate, self.items = np.array([0.5, 0.25, 1.0, 2.0]), 2.0, [1.0, 2.0]

    def scaled(self, v):
        return v * self.rate + self.table

    def add(self, value):
        self.items.append(value)
        return value

thing = Thing()

def push(items, value):
    items.append(value)

def shifted(v):
    return v + W

def outer():
    c, k, d = np.array([3.0, 1.0, 2.0, 0.0]), 3, [1.0]

    def program(x, y, n):
        v = x * 1
"""
_TAIL = """
    return program, c

program, c = outer()
"""
# Those of arrays that no call varies are NumPy's own, and have all its methods.
_CONSTANT = (
    "np.array([1.0, 3.0, 2.0, 0.5])", "table['a'] * 2", "thing.table + 1",
    "np.sort(thing.table)", "np.cumsum(table['a'])", "np.asarray([k, 1.0, 2.0, k])",
)  # fmt: skip
_MADE = (
    *_CONSTANT, "np.arange(4.0)", "np.ones(4)", "W.copy()", "np.copy(c)", "np.array(W)", "c + W",
    "W[::-1].copy()", "np.full(4, 0.5)", "np.zeros_like(x[..., :4])", "y.copy()", "np.flip(c) + 0",
)  # fmt: skip
_READ = (
    "W", "c", "table['a']", "thing.table", "W[::-1]", "c[1]", "thing.rate", "table['k']", "k", "n",
    "y", "W[1:2]", "thing.items[0]", "sum(thing.items)", "d[0]", "W.sum()", "W.max() * c", "len(d)",
)  # fmt: skip
_CHANGED = (
    "{0} *= 2", "{0} += k", "np.add({0}, 1, out={0})", "{0}[1:] = 7", "{0}[::2] -= 1",
    "np.copyto({0}, 3)", "{0}[...] = {0}[::-1].copy()", "{0} = {0} * 0.5", "{0}.T[...] = 1",
    "np.negative({0}[1:], {0}[1:])", "{0}[0], {0}[1] = 5, 6", "{0} -= {0}[0]",
)  # fmt: skip
_CHANGED_BY_METHODS = (
    "{0}.sort()", "{0}.fill(2)", "{0}.partition(2)", "{0}.resize(4)", "{0}.put(1, 9)",
    "{0}.flat[0] = 4", "{0}[{0} > 1] = 2", "{0}[[0, 2]] += 1",
)  # fmt: skip
_WRITTEN = (
    "x += 1", "x *= {0}", "x[..., 1:] = 0", "np.subtract(x, W, out=x)", "y[...] = y + {0}",
    "y -= c", "x[..., 0] = n", "y[1:] = y[:-1]", "np.copyto(y, {0})", "v += {0}", "v[...] = 2",
    "x -= x[..., :1]", "v = x.T", "y[::-1] *= 2",
)  # fmt: skip
_EFFECTS = (
    "LOG.append(n)", "thing.rate = 3.0", "thing.rate += 1", "table['b'] = n", "W[0] = 5",
    "thing.table *= 2", "c[0] = 1", "thing.add(n)", "push(LOG, n)", "globals()['COUNT'] = n",
    "setattr(thing, 'rate', n)", "LOG.extend([1])", "c.sort()", "np.add(c, 1, out=c)",
    "thing.items.append(1)", "table['a'].sort()", "d.append(n)", "thing.items[0] = 4.0",
    "table.update(k=5)", "thing.last = v", "np.copyto(W, 0)", "d += [1]", "thing.table.fill(1)",
    "vars(thing)['rate'] = 4.0", "thing.items.sort(reverse=True)", "W.put(0, 1)", "del table['k']",
    "w = W; w *= 2", "[LOG.append(j) for j in range(2)]", "table.setdefault('l', []).append(1)",
)  # fmt: skip
_CAUGHT = (
    ("v = v + 1 / n", "ZeroDivisionError"), ("v = v + y[:3]", "ValueError"),
    ("v = v + x[5]", "IndexError"), ("v = v * {{0: 1.0, 2: 0.5}}[n]", "KeyError"),
    ("assert n > 0", "AssertionError"), ("v = v + W[n]", "(IndexError, TypeError)"),
    ("v = v * float('a' * int(n > 1) + '1')", "ValueError"), ("v += {0}[:n]", "Exception"),
    ("v = np.broadcast_to(v, (2, 4)) + 1", "ValueError"), ("x[..., :3] += W", "ValueError"),
    ("v = v + int(1e308 * 10**n)", "OverflowError"), ("v = v.sum(axis=n)", "Exception"),
    ("v = v - range(4)[n]", "(IndexError, TypeError)"), ("v = v + x[n]", "(IndexError, TypeError)"),
    ("v = v + divmod(7, n)[0]", "ArithmeticError"), ("v = v + c.transpose(n)[0]", "ValueError"),
    ("v = v + y[n:].max()", "ValueError"), ("v = v + y[n, 0]", "IndexError"),
    ("y += 1j", "TypeError"), ("v = v.squeeze(0)", "ValueError"), ("v = v + x[1.5]", "IndexError"),
    ("a, b = x.shape; v = v + a - b", "ValueError"), ("v = v + len(x.sum())", "TypeError"),
    ("v = v + y.astype(np.int8) * (100 * int(n))", "OverflowError"), ("v = v | 1", "TypeError"),
)  # fmt: skip


@dataclass(slots=True)
class Program:
    """A module with the function, and how it is called."""

    seed: int
    lines: list[str]
    numbers: tuple[Any, ...]
    shapes: tuple[tuple[int, ...], ...]

    def source(self) -> str:
        """The module as Python."""
        return _HEAD + "".join(f"        {line}\n" for line in self.lines) + _TAIL


def generate(seed: int) -> Program:
    """The program of a seed."""
    dice = random.Random(f"captured {seed}")
    one = dice.choice
    made, lines = ["w0"], [f"w0 = {one(_MADE)}"]
    constant = {"w0"} if lines[0][5:] in _CONSTANT else set()
    effect_at = dice.randrange(2, 6) if dice.random() < 0.25 else -1

    def operand() -> str:
        return one(made) if dice.random() < 0.6 else one(_READ)

    for k in range(dice.randint(4, 9)):
        kind = dice.choices(range(7), (4, 4, 3, 3, 1, 1, 1))[0]
        if k == effect_at:
            lines.append(one(_EFFECTS))
        elif kind == 0:
            lines.append(f"v = v {one('+-*')} {operand()}")
        elif kind == 1:
            name = one(made)
            ways = _CHANGED
            if name in constant or dice.random() < 0.02:
                ways += _CHANGED_BY_METHODS
            lines.append(one(ways).format(name))
        elif kind == 2:
            lines.append(one(_WRITTEN).format(operand()))
        elif kind == 3:
            line, error = one(_CAUGHT)
            line = line.format(operand())
            if dice.random() < 0.3:
                lines += [f"with contextlib.suppress({error.strip('()')}):", f"    {line}"]
            else:
                lines += ["try:", f"    {line}", f"except {error}:", f"    v = v - {operand()}"]
        elif kind == 4:
            made.append(f"w{len(made)}")
            lines.append(f"{made[-1]} = {one(_MADE)}")
            if lines[-1].partition(" = ")[2] in _CONSTANT:
                constant.add(made[-1])
        elif kind == 5:
            lines += [f"for j in range({one(('2', 'n', 'len(d)'))}):", f"    v = v + {operand()}"]
        else:
            lines.append(one(("v = thing.scaled(v)", "v = shifted(v)", "v = table['k'] * v")))
    lines.append(
        f"return {one(('v, {0}', '[v, {0}, n]', '(v, {0} * 2, x)', 'v, y, x[1:]'))}".format(
            one(made)
        )
    )
    numbers: tuple[Any, ...] = (2, 2, *(one((0, 1, 3, -1, 5)) for _ in range(3)))
    if dice.random() < 0.3:
        numbers = tuple(n + 0.5 * (n > 2) for n in map(float, numbers))
    return Program(
        seed, lines, numbers,
        tuple(one(((4,), (4,), (2, 4), (3, 4), (5,), (1, 4))) for _ in range(5)),
    )  # fmt: skip


def _module(program: Program) -> dict[str, Any]:
    return executed_module(program, {"np": np, "contextlib": contextlib, "__name__": "__main__"})


def _shown(value: Any) -> Any:
    """Values that can be compared: dtypes, shapes and elements of arrays."""
    if isinstance(value, np.ndarray | np.generic):
        return str(value.dtype), np.shape(value), np.asarray(value).tobytes()
    if isinstance(value, list | tuple):
        return type(value), [_shown(item) for item in value]
    if isinstance(value, dict):
        return {name: _shown(item) for name, item in value.items()}
    return _shown(vars(value)) if type(value).__name__ == "Thing" else (type(value), repr(value))


def _state(names: dict[str, Any]) -> Any:
    cells = names["program"].__closure__ or ()
    held = [_shown(cell.cell_contents) for cell in cells if not callable(cell.cell_contents)]
    return [_shown(names[name]) for name in ("W", "table", "LOG", "COUNT", "thing", "c")], held


def _changed_by_the_caller(dice: random.Random, names: dict[str, Any], result: Any) -> None:
    """What a caller may change: arrays by names, and the results, which are its own."""
    way = dice.randrange(4)
    if way == 0:
        names["W"][dice.randrange(4)] += 1
    elif way == 1:
        names["W"] = np.array([0.5, 1.0, 2.0, float(dice.randrange(9))])
    elif way == 2:
        names["c"][...] = names["c"][::-1].copy()
    shared = names["W"], names["c"], names["thing"].table, names["table"].get("a")
    for item in result if isinstance(result, list | tuple) else ():
        if isinstance(item, np.ndarray) and not any(np.shares_memory(item, s) for s in shared):
            item[...] = -5


def outcome_of(program: Program, calls: int = 5, xp: Any = np) -> Outcome:
    """Compare the calls of a program with NumPy's; arrays from outside are NumPy's alone."""
    assert xp is np
    plain, other = _module(program), _module(program)
    fused = kerneltk.fuse(other["program"])
    for k in range(calls):
        where = f"call {k}, shape {program.shapes[k]}, n = {program.numbers[k]}"
        before = _state(other)
        wanted_args, args = _arguments(program, k), _arguments(program, k)
        wanted, raised = attempted(plain["program"], wanted_args)
        if isinstance(wanted, Undefined):
            return Outcome("undefined")
        found, problem = attempted(fused, args)
        outcome = by_exceptions(raised, problem, where)
        if outcome is not None:
            if outcome.status in FAULTS:
                return outcome
            if _state(other) != before:
                return Outcome("different", f"an effect of a call that was refused: {problem}")
            if outcome.status == "refused" or _state(plain) != before:  # NumPy, behind an effect
                return Outcome("refused", str(problem))
            continue
        for what, a, b in (
            ("the result", _shown(wanted), _shown(found)),
            ("an argument", _shown(wanted_args), _shown(args)),
            ("what is outside", _state(plain), _state(other)),
        ):
            if a != b:
                return Outcome("different", f"{what}: {found!r}, NumPy: {wanted!r} ({where})")
        for names, result in ((plain, wanted), (other, found)):
            _changed_by_the_caller(random.Random(f"{program.seed} {k}"), names, result)
    return Outcome("same")


def _arguments(program: Program, call: int) -> list[Any]:
    shape = program.shapes[call]
    x = np.asarray(np.arange(np.prod(shape)).reshape(shape) % 7 / 4 - 0.5)
    return [x, np.array([1.0, 0.5, -1.0, 2.0]), program.numbers[call]]
