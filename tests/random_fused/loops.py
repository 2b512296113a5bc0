"""Random fused functions with loops over rows, time and elements, some of which may be rolled.

The bodies use the index in all ways: as an index and a slice's end, in arithmetic, in conditions,
in lists, dicts and inner functions; they carry values and numbers from one round to the next, swap
names, break, append, and read behind the loop what a round has left. Operations are exact or
rounded once, so results are compared bit by bit.
"""

from __future__ import annotations

import random
from typing import Any
from unittest import mock

import numpy as np

from kerneltk.fusion.trace import rolling

from . import partial
from .partial import Program
from .running import Outcome

_HEADS = (
    "for i in range(m):", "for i in range(m):", "for i in range(1, m):",
    "for i in range(1, m - 1):",
    "for i in range(m - 2, -1, -1):", "for i in range(0, m, 1):", "for i in range(1, m - 1):",
)  # fmt: skip
_INNER = (
    "for j in range(n):", "for j in range(1, n):", "for j in range(i):", "for j in range(i, n):",
    "for j in range(3):", "for j in range(n - 1, 0, -1):", "for j in range(min(i + 1, n)):",
    "for j in range(i):", "for j in range(i + 1, n):", "for j in range(i - 1, -1, -1):",
    "for j in range(n - i):", "for j in range(i % 5, i, 2):", "for j in range(i // 2, i + 1):",
)  # fmt: skip
_ROWS = (
    "{a}[i]", "{a}[i]", "{a}[i - 1]", "{a}[-1 - i]", "{a}[0]", "{a}[i, ::-1]", "{a}[m - 1 - i]",
    "v", "carried", "late", "{a}[i // 2]", "{a}[i:][0]", "old[i]", "made", "{a}[:, 0][i]",
    "{a}[i, i % n]",
    "i", "i * 0.5", "number", "k", "acc", "{a}[:i + 1].sum(axis=0)", "{a}[i - 1:i + 1].max(axis=0)",
)  # fmt: skip
_CELLS = (
    "{a}[i, j]", "{a}[i, j - 1]", "{a}[j % m, 0]", "v[j]", "i * j", "acc", "{a}[i - 1, j]", "k",
    "j", "{a}[i, :j].max(initial=0)", "{a}[:i, j].min(initial=0)", "temp",
    "{a}[j % m, i % n]", "total",
)  # fmt: skip
_IN_INNER = (
    "{a}[i, j] = {cell}", "{a}[i, j] += {cell}", "{a}[i, j] -= {cell}",
    "{a}[j % m, i % n] = {cell}",
    "acc = acc * 0.5 + {cell}", "total += {cell}", "total = total + {a}[i, j]", "temp = {cell}",
    "v[j] = {cell}", "k = j", "number = j + i", "if j == 4: break", "if j < i: {a}[i, j] = 0",
    "{a}[i, j:] -= {a}[i, j]", "{a}[i, :j] = {a}[i, j] + {cell}", "hold = {a}[i, j]",
)  # fmt: skip
_WAYS = (
    "{} + {}", "{} - {}", "0.5 * {} + {}", "np.maximum({}, {})", "np.where({0} > {1}, {0}, {1})",
)  # fmt: skip
_STATEMENTS = (
    "{a}[i] = {row}", "{a}[i] = {row}", "{a}[i] += {row}", "{a}[i, 1:] = {a}[i, :-1]",
    "{a}[1:-1] = {a}[2:] * 0.5", "{a}[i:] -= {a}[i - 1] * 0.5", "{a}[:, i % n] += {b}[:, 0]",
    "{a}[:i + 1] += 1", "v[:i] -= 1", "v[i % n] = {a}[i, 0]", "carried = carried + {a}[i]",
    "carried = {row} * np.ones(n)", "late = {row}", "acc = acc * 0.5 + {a}[i, 0]", "acc += 1",
    "made += {a}[i]", "made[0] = {a}[i, 0]", "number = number + 1", "number = i", "temp = {row}",
    "{a}, {b} = {b}, {a}", "made, carried = carried * 1, made * 1", "hold = {a}[i]; hold += 1",
    "if i > 5: {a}[i] += 1", "if i == 7: {a}[0] = 3", "if i % 2: {a}[i] -= 1",
    "if i == m - 3: break",
    "if i < 3: continue", "items.append(i)", "items[i % 2] = {a}[i] * 1", "{a}[i] = items[i % 2]",
    "{a}[i] = table[i % 3]", "table[i % 3] = i", "{a}[i] += step({a}[i])", "{a}[i] *= weights[i]",
    "{a}[:] = {a} * 0.5 + {b}", "{a}[i] = float(i)", "{a}[int(i)] -= 2", "{b} = {a} * 1",
    "{a}[i] = np.zeros(n) + i", "old = {a}.copy()", "{a}[i] = np.minimum({a}[i], i)",
    "w = np.empty((2, n)); w[0] = {a}[i]; w[1] = 1; {a}[i] = w[0] - w[1]",
    "{a}[i] = (lambda q: q + i)({a}[i - 1])", "{a}[i] = [{a}[i], {b}[i]][i % 2]",
    "bump(); {a}[i] += count",
    "{a}[i, 0] = {a}[i].sum()", "{a}[i] = -{a}[i] if i < 4 else {a}[i] + 1", "pairs[i] = {a}[i, 0]",
)  # fmt: skip


class _Writer:
    def __init__(self, seed: int) -> None:
        self.dice = random.Random(f"loops {seed}")
        self.one = self.dice.choice

    def names(self) -> dict[str, str]:
        a, b = self.one((("x", "y"), ("y", "x")))
        return {"a": a, "b": b}

    def value(self, of: tuple[str, ...]) -> str:
        found = self.one(of).format(**self.names())
        for _ in range(self.dice.randrange(3)):
            found = self.one(_WAYS).format(f"({found})", self.one(of).format(**self.names()))
        return found

    def body(self, depth: int) -> list[str]:
        lines = []
        for _ in range(self.dice.randint(1, 3)):
            if depth and self.dice.random() < 0.4:
                lines += self.dice.choices((["total = 0.0"], []), (1, 3))[0]
                lines.append(self.one(_INNER))
                for _ in range(self.dice.choice((1, 1, 2, 3))):
                    cell = self.value(_CELLS)
                    statement = self.one(_IN_INNER).format(cell=cell, **self.names())
                    lines.append(f"    {statement}")
            else:
                lines.append(self.one(_STATEMENTS).format(row=self.value(_ROWS), **self.names()))
        return lines

    def loop(self) -> list[str]:
        lines = [f"    {line}" for line in self.body(1)]
        if self.dice.random() < 0.45:
            return [
                "for t in range(13):",
                f"    {self.one(_HEADS)}",
                *(f"    {line}" for line in lines),
            ]
        return [self.one(_HEADS), *lines]


_BEFORE = (
    "carried = v * 1", "late = v", "made = np.zeros(n)", "acc = v[0]", "number = 0",
    "items = [v, v]",
    "table = {0: 1, 1: 2, 2: 3}", "old = x.copy()", "weights = np.arange(float(m))", "count = 0",
    "pairs = [0] * 99", "temp = hold = w = k = total = 0",
)  # fmt: skip
_INSIDE = (
    "def step(q): return q * 0.5", "def bump():", "    nonlocal count", "    count += 1",
)  # fmt: skip


def generate(seed: int) -> Program:
    """The program of a seed."""
    writer = _Writer(seed)
    dice = writer.dice
    lines = ["m, n = x.shape", *_BEFORE, *_INSIDE]
    for _ in range(dice.randint(1, 2)):
        lines += writer.loop()
    results = dice.sample(
        ("carried", "made", "acc", "late", "x", "y + 1", "temp", "number", "hold", "total", "k"), 3
    )
    lines.append(f"return {', '.join(results)}")
    one, other = dice.choice((((17, 15), (21, 15)), ((15, 17), (19, 20))))
    calls = [(one, "f8", "apart"), (one, "f8", "apart"), (other, "f8", "apart")]
    if dice.random() < 0.3:
        calls.append((one, "f4", "apart"))
    return Program(seed, lines, calls)


def outcome_of(program: Program, *, xp: Any = np) -> Outcome:
    """Whether the fused function does what the function does, in each of the calls."""
    few = {"_LEAST_OPERATIONS": -1, "_LEAST_CARRYING": 40}
    with mock.patch.multiple(rolling, **few):
        return partial.outcome_of(program, len(program.calls), xp)
