"""Random fused functions that write to parts of arrays: rows, columns, slices with steps of both
signs, views of views, rows by their indices; that read what they have written, and what was there
before; in loops, too.

A program has two arrays of two dimensions, one of one dimension and a number. It is called several
times, with other shapes, dtypes and orders of axes, and with arguments that overlap each other. Its
operations are exact or rounded once, so results are compared bit by bit; and a result shares memory
with an argument where NumPy's does.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import kerneltk

from .captured import _shown
from .generator import Undefined
from .running import FAULTS, Outcome, attempted, by_exceptions, executed_module, on_host

# Parts of arrays of (m, n) elements that have the same shapes; of some only where m or n is even.
_PARTS: dict[str, tuple[str, ...]] = {
    "whole": ("", "[...]", "[::-1]", "[:, ::-1]", "[::-1, ::-1]", "[::-1][::-1]"),
    "inner rows": (
        "[1:-1]", "[2:]", "[:-2]", "[1:][:-1]", "[:-1][1:]", "[::-1][1:-1]", "[-2:0:-1]",
        "[:0:-1][1:]", "[1:, ::-1][1:]",
    ),
    "inner columns": ("[:, 1:-1]", "[:, 2:]", "[:, :-2]", "[:, 1:][:, :-1]", "[:, -2:0:-1]"),
    "interior": (
        "[1:-1, 1:-1]", "[2:, 1:-1]", "[:-2, 1:-1]", "[1:-1, 2:]", "[1:-1, :-2]", "[2:, 2:]",
        "[1:-1][:, 1:-1]", "[:-2, :-2]",
    ),
    "row": ("[0]", "[1]", "[-1]", "[-2]", "[1:][0]", "[::-1][0]", "[1, ::-1]", "[:2][-1]",
            "[v.argmin()]", "[[1, 0]][0]"),
    "column": ("[:, 0]", "[:, 1]", "[:, -1]", "[..., -2]", "[:, 1:][..., 0]", "[::-1, 0]"),
    "two rows": (
        "[:2]", "[2:4]", "[-2:]", "[::-1][:2]", "[1:3]", "[0:3:2]", "[1::2][:2]",
        "[[0, -1]]", "[[1, 0]]", "[[-1, 0]][::-1]", "[::-1][np.argsort(v[:2])]", "[[1, 0], ::-1]",
    ),
    "even rows": ("[::2]", "[1::2]", "[::-2]", "[::2][::-1]", "[-2::-2]"),
    "even columns": ("[:, ::2]", "[:, 1::2]", "[:, ::-2]"),
    "element": ("[0, 0]", "[-1, 1]", "[1, 1]", "[1][-1]", "[1:][0, 0]", "[[0, 1], [1, 0]][0]"),
    "kept row": ("[:1]", "[-1:]", "[1:2]", "[None, 0]", "[0][None]"),
}  # fmt: skip
_SMALLER: dict[str, tuple[str, ...]] = {  # what is broadcast to parts
    "whole": ("row", "kept row", "element"), "row": ("element",), "column": ("element",),
    "two rows": ("row", "element"), "inner rows": ("row", "kept row"),
}  # fmt: skip
_LOOPS = (
    ("for i in range(1, {a}.shape[0]):", "{a}[i] = 0.5 * {a}[i - 1] + {b}[i]"),
    ("for i in range({a}.shape[0] - 2, -1, -1):", "{a}[i] += {a}[i + 1] - {b}[i]"),
    ("for j in range(1, {a}.shape[1]):", "{a}[:, j] -= {a}[:, j - 1] * 0.25"),
    ("for t in range(3):", "{a}[1:-1] = 0.25 * ({a}[:-2] + {a}[2:]) + {b}[1:-1]"),
    ("for i in range({a}.shape[0]):", "{a}[i] = np.maximum({a}[-1 - i], {b}[i])"),
    ("for i in range(2):", "{a}[i], {a}[i + 1] = {a}[i + 1], {a}[i]"),
    ("for i in range({a}.shape[0]):", "{a}[i, 0] = {b}[i, -1] + {a}[0, 0]"),
    ("for i in range(1, {a}.shape[0]):", "{a}[i:] -= {a}[i - 1] * 0.5"),
    ("for i in range({a}.shape[0]):", "total = total + {a}[i, 0]; {b}[i] = total"),
    ("for t in range(2):", "{a}[0] = {a}[1]; {a}[-1] = {a}[-2]; {b}[1:] += {a}[:-1]"),
)
_WAYS = (
    "{} + {}", "{} - {}", "0.5 * {} + {}", "np.maximum({}, {})", "np.where({0} > {1}, {0}, {1})",
    "np.minimum({1}, abs({0}))",
)  # fmt: skip
_NUMBERS = ("k", "0.5", "2", "total")


@dataclass(slots=True)
class Program:
    """A function, and how it is called: the shape, the dtype, and which arguments overlap."""

    seed: int
    lines: list[str]
    calls: list[tuple[tuple[int, int], str, str]]

    def source(self) -> str:
        """The function as Python."""
        return "def program(x, y, v, k):\n    total = 0\n" + "".join(
            f"    {line}\n" for line in self.lines
        )


class _Writer:
    def __init__(self, seed: int) -> None:
        self._dice = random.Random(f"partial {seed}")
        self.one = self._dice.choice
        self.arrays = ["x", "y"]  # of the whole shape, which may be written to
        self.values: list[str] = []  # of the whole shape, which are read alone
        self.named: dict[str, list[str]] = {}  # values of parts' shapes

    def part(self, kind: str, of: str | None = None) -> str:
        return f"{of or self.one(self.arrays)}{self.one(_PARTS[kind])}"

    def operand(self, kind: str, near: str) -> str:
        """A value that an array of such a shape is computed from, often of the same array."""
        dice = self._dice.random()
        if dice < 0.12:
            return self.one(_NUMBERS)
        if dice < 0.22 and kind in _SMALLER:
            return self.operand(self.one(_SMALLER[kind]), near)
        if dice < 0.3 and self.named.get(kind):
            return self.one(self.named[kind])
        if dice < 0.38 and kind == "row":
            return "v"
        if dice < 0.42:
            return f"{near}.max()"
        if dice < 0.5 and self.values:
            return self.part(kind, self.one(self.values))
        return self.part(kind, near if dice < 0.85 else None)

    def expression(self, kind: str, near: str) -> str:
        found = self.operand(kind, near)
        for _ in range(self._dice.randrange(3)):
            other = self.operand(kind, near)
            found = self.one(_WAYS).format(f"({found})", other)
        return found

    def statement(self) -> list[str]:
        dice, kind = self._dice.random(), self.one([*_PARTS])
        target = self.one(self.arrays)
        part = self.part(kind, target)
        if dice < 0.14:
            head, body = self.one(_LOOPS)
            names = {"a": target, "b": self.one(self.arrays)}
            return [head.format(**names), "    " + body.format(**names)]
        if dice < 0.22:
            name = f"s{sum(map(len, self.named.values()))}"
            copied = self.one(("{}", "{}.copy()", "{} * 1", "{} + k"))
            self.named.setdefault(kind, []).append(name)
            return [f"{name} = {copied.format(self.part(kind, target))}"]
        if dice < 0.3:
            if self._dice.random() < 0.5:
                name = f"w{len(self.arrays)}"
                made = self.one(("np.zeros_like({})", "{}.copy()", "{} * 1", "np.empty_like({})",
                                 "{}[::-1]", "{}[:, ::-1]", "{}[...]"))  # fmt: skip
                self.arrays.append(name)
                more = [f"{name}[...] = 2"] if "empty" in made else []
                return [f"{name} = {made.format(target)}", *more]
            self.values.append(f"u{len(self.values)}")
            return [f"{self.values[-1]} = {self.expression('whole', target)} + 0 * {target}"]
        if dice < 0.36:
            other = self.part(kind, target)
            return [f"{part}, {other} = {other}, {part}"] if part[1:] else [f"{part} *= 2"]
        if dice < 0.42 and kind != "element":
            return [f"np.add({part}, {self.operand(kind, target)}, out={part})"]
        value = self.expression(kind, target)
        if not part.endswith("]"):
            return [f"{part} {self.one('+-')}= {value}"]
        return [f"{part} {self.one(('=', '=', '=', '+=', '-='))} {value}"]


def generate(seed: int) -> Program:
    """The program of a seed."""
    writer = _Writer(seed)
    dice, one = writer._dice, writer.one
    lines = [line for _ in range(dice.randint(2, 6)) for line in writer.statement()]
    names = [*writer.arrays, *writer.values, *(n for own in writer.named.values() for n in own)]
    results = [one((name, f"{name} + 1", f"{name}[1:]")) for name in dice.sample(names, 2)]
    scalars = writer.named.get("element", ())
    results = [r if (name := r.partition("[")[0]) not in scalars else name for r in results]
    lines.append(f"return {', '.join(results)}" if dice.random() < 0.7 else "return None")
    shapes = ((4, 4), (4, 4), (4, 6), (5, 3), (6, 4), (3, 3), (2, 2), (8, 6))
    calls = [
        (shape, one(("f8", "f8", "f8", "f4", "i8")), one(("apart",) * 6 + tuple(_OVERLAPS)))
        for shape in (shapes[0], *dice.choices(shapes, k=3))
    ]
    return Program(seed, lines, calls)


_OVERLAPS: dict[str, Callable[[Any, Any], Any]] = {
    "apart": lambda x, base: base[1:].copy(),
    "columns first": lambda x, base: base[1:].copy(order="F"),
    "same": lambda x, base: x,
    "turned": lambda x, base: x[::-1],
    "moved": lambda x, base: base[:-1],
}


def _arguments(program: Program, call: int, xp: Any = np) -> list[Any]:
    (m, n), dtype, overlap = program.calls[call]
    base = (xp.arange((m + 1) * n).reshape(m + 1, n) * 7 % 11 - 4).astype(dtype)
    x = base[1:]
    return [x, _OVERLAPS[overlap](x, base), xp.arange(n).astype(dtype), 3]


def _shared(result: Any, args: list[Any], xp: Any = np) -> list[bool]:
    items = result if isinstance(result, tuple) else (result,)
    arrays = [item for item in items if isinstance(item, xp.ndarray) and item.size]
    return [any(xp.shares_memory(item, own) for own in args[:3]) for item in arrays if item.ndim]


def outcome_of(program: Program, calls: int = 4, xp: Any = np) -> Outcome:
    """Compare the calls of a program, on arrays of `xp` (CuPy or NumPy), with NumPy's."""
    plain, own = (
        executed_module(program, {"np": np, "__name__": "__main__"})["program"] for _ in range(2)
    )
    fused = kerneltk.fuse(own)
    refused: Outcome | None = None
    for k in range(calls):
        where = f"call {k}: {program.calls[k]}"
        if xp is not np and program.calls[k][2] in ("same", "turned", "moved"):
            continue  # what runs unfused has CuPy's elements, which are views
        wanted_args, args = _arguments(program, k), _arguments(program, k, xp)
        wanted, raised = attempted(plain, wanted_args)
        if isinstance(wanted, Undefined):
            continue
        found, problem = attempted(fused, args)
        outcome = by_exceptions(raised, problem, where)
        if outcome is not None:
            if outcome.status in FAULTS:
                return outcome
            refused = refused or (outcome if outcome.status == "refused" else None)
            continue
        for what, a, b in (
            ("the result", _shown(_plain(wanted)), _shown(_plain(on_host(found)))),
            ("an argument", _shown(wanted_args), _shown(on_host(args))),
            ("what results share", _shared(wanted, wanted_args), _shared(found, args, xp)),
        ):
            if a != b:
                shown = f"{what}: {found!r} {args!r}, NumPy: {wanted!r} {wanted_args!r} ({where})"
                return Outcome("different", shown)
    return refused or Outcome("same")


def _plain(result: Any) -> Any:
    """A result whose numbers are arrays, as NumPy's scalars are where they are fused."""
    items = result if isinstance(result, tuple) else (result,)
    return tuple(item if item is None else np.asarray(item) for item in items)
