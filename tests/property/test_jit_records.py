"""Random programs about records against the same functions on NumPy's structured arrays.

An example is a batch of programs, one a thread of one kernel. A program reads and writes fields,
arrays in fields and nested records, by names that are bound again, by branches, loops, conditional
expressions, tuples and functions that take and return records. It is made by a generator of random
numbers: a failure shows the programs that are wrong.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerneltk import jit

from ..random_programs.reference import defined

PROGRAMS = 12  # of a batch
EACH = 4  # records that each has to itself


def nested(align: bool) -> np.dtype[Any]:
    """Return a dtype of records with numbers, arrays, a record and an array of records."""
    part = np.dtype([("c", "i1"), ("w", "f4", 3), ("n", "i4")], align=align)
    return np.dtype(
        [("t", "i1"), ("h", "f8"), ("m", "i4"), ("g", "f8", 2), ("p", part), ("q", part, 2)],
        align=align,
    )


HELPERS = """
def touched(r, by):
    r.h += by
    r.q[1].n = by
    return r

def higher(a, b):
    return a if a.h > b.h else b

def chosen(x, i, c):
    if c:
        return x[i]
    return x[i // 2]

def part_of(r, k):
    return r.q[k]

def both(r):
    return r.p, r.g
"""


class Maker:
    """Writes one program.

    `names` are those that have a value where the next statement stands: of records (``r``), of
    records in them (``p``), of arrays (``v``), and of copies (``k``).
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.names: dict[str, list[str]] = {"r": [], "p": [], "v": [], "k": []}
        self.counters: list[str] = []
        self.count = self.level = 0
        self.lines: list[str] = []

    def one(self, *choices: Any) -> Any:
        """One of several; of a function, what it returns."""
        chosen = self.rng.choice(choices)
        return chosen() if callable(chosen) else chosen

    def nested(self, plain: list[Any], others: list[Any]) -> str:
        """One of plain expressions, or of those that have others in them, up to some depth."""
        self.level += 1
        try:
            return str(self.one(*plain, *(others if self.level <= 3 else [])))
        finally:
            self.level -= 1

    def index(self) -> str:
        """An index of the records, known or not."""
        return str(self.one(self.rng.randrange(-EACH, EACH), "c[0]", "c[1]", *self.counters))

    def record(self) -> str:
        """An expression of a record."""
        return self.nested(
            [lambda: f"x[{self.index()}]"] * 2 + self.names["r"] * 2,
            [
                lambda: f"({self.record()} if {self.condition()} else {self.record()})",
                lambda: f"higher({self.record()}, {self.record()})",
                lambda: f"chosen(x, {self.index()}, {self.condition()})",
                lambda: f"touched({self.record()}, {self.whole()})",
                lambda: f"({self.record()}, {self.record()})[{self.one(0, 1)}]",
            ],
        )

    def part(self) -> str:
        """An expression of a record in a record."""
        k = self.one("0", "1", "-1", "c[2]")
        return self.nested(
            [lambda: f"x[{self.index()}].p", *self.names["p"] * 2],
            [
                lambda: f'{self.record()}["p"]',
                lambda: f"{self.record()}.q[{k}]",
                lambda: f"part_of({self.record()}, {k})",
                lambda: f"both({self.record()})[0]",
                lambda: f"({self.part()} if {self.condition()} else {self.part()})",
            ],
        )

    def view(self) -> str:
        """An expression of an array of two float64 numbers."""
        return self.nested(
            [lambda: f"x[{self.index()}].g", *self.names["v"] * 2],
            [
                lambda: f'{self.record()}["g"]',
                lambda: f"both({self.record()})[1]",
                lambda: f"({self.view()} if {self.condition()} else {self.view()})",
            ],
        )

    def whole(self) -> str:
        """An expression of an integer."""
        return self.nested(
            [str(self.rng.randrange(9)), "c[3]"],
            [lambda: f"{self.part()}.n", lambda: f"{self.record()}.m"],
        )

    def number(self) -> str:
        """An expression of a number."""
        copies = [f"{k}.{self.one('h', 'g[1]', 'p.n', 'q[0].w[2]')}" for k in self.names["k"]]
        return self.nested(
            [self.whole, *copies * 3],
            [
                lambda: f"{self.record()}.h",
                lambda: f"{self.view()}[{self.one(0, 1, -1)}]",
                lambda: f"{self.part()}.w[1]",
            ],
        )

    def condition(self) -> str:
        plain = ["c[0] > 1", "c[3]", "not c[2]"]
        return self.nested(plain, [lambda: f"{self.record()}.h > 4"])

    def fresh(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def block(self, depth: int, statements: int) -> None:
        """Write statements, whose new names end with them."""
        before = {kind: list(names) for kind, names in self.names.items()}
        for _ in range(statements):
            self.statement(depth)
        self.names = before

    def statement(self, depth: int) -> None:
        if depth < 3 and self.rng.random() < 0.25:
            self.rng.choice([self.branch, self.loop, self.first_pass])(depth)
        else:
            choices = [*[self.store] * 3, *[self.bind] * 3, self.copy, self.exchange]
            self.rng.choice(choices)(depth)

    def value(self, kind: str) -> str:
        """An expression of what a kind of name is bound to."""
        return {"r": self.record, "p": self.part, "v": self.view}[kind]()

    def store(self, depth: int) -> None:
        op, i = self.one("=", "+=", "-="), self.one(0, 1, -1)
        self.put(
            depth,
            self.one(
                lambda: f"{self.record()}.h {op} {self.number()}",
                lambda: f'{self.record()}["m"] {op} {self.whole()}',
                lambda: f"{self.record()}.g[{i}] {op} {self.number()}",
                lambda: f"{self.view()}[{i}] {op} {self.number()}",
                lambda: f"{self.part()}.n {op} {self.whole()}",
                lambda: f'{self.part()}["w"][{i}] = {self.number()}',
                lambda: f"{self.record()}.g = {self.number()}",
                lambda: f"{self.record()}.g = {self.record()}.g",
                lambda: f"x[{self.index()}] = {self.record()}",
                lambda: f"{self.record()}.p = {self.part()}",
                lambda: f"touched({self.record()}, {self.whole()})",
            ),
        )

    def bind(self, depth: int) -> None:
        kind = self.one("r", "r", "p", "v")
        value = self.value(kind)
        known = self.names[kind]
        name = self.one(*known) if known and self.rng.random() < 0.5 else self.fresh(kind)
        self.put(depth, f"{name} = {value}")
        self.names[kind].append(name)

    def copy(self, depth: int) -> None:
        name = self.fresh("k")
        self.put(depth, f"{name} = {self.record()}.copy()")
        self.names["k"].append(name)

    def exchange(self, depth: int) -> None:
        a, b = self.index(), self.index()
        self.put(
            depth,
            self.one(
                f"x[{a}], x[{b}] = x[{b}], x[{a}]",
                f"x[{a}].h, x[{b}].h = x[{b}].h, x[{a}].h",
            ),
        )

    def branch(self, depth: int) -> None:
        self.put(depth, f"if {self.condition()}:")
        self.block(depth + 1, 2)
        if self.rng.random() < 0.5:
            self.put(depth, "else:")
            self.block(depth + 1, 2)

    def loop(self, depth: int) -> None:
        if self.rng.random() < 0.4:
            name = self.fresh("r")
            self.put(depth, f"for {name} in x:")
            self.names["r"].append(name)
            self.block(depth + 1, 2)
            self.names["r"].remove(name)  # there may be no record
            return
        name = self.fresh("i")
        self.put(depth, f"for {name} in range({self.one(2, 3, 'c[3]')}):")
        self.counters.append(name)
        self.block(depth + 1, 3)
        self.counters.remove(name)

    def first_pass(self, depth: int) -> None:
        """A loop that binds a name again in its first pass only."""
        name, kind = self.fresh("i"), self.one("r", "p", "v")
        bound = self.fresh(kind)
        self.put(depth, f"{bound} = {self.value(kind)}")
        self.put(depth, f"for {name} in range(3):")
        self.counters.append(name)
        self.put(depth + 1, f"if {name} == 0:")
        self.put(depth + 2, f"{bound} = {self.value(kind)}")
        self.names[kind].append(bound)
        self.block(depth + 1, 2)
        self.names[kind].remove(bound)
        self.counters.remove(name)


def batch(rng: random.Random) -> list[str]:
    """Return programs, each a function ``program_0(x, c)`` and so on."""
    texts = []
    for number in range(PROGRAMS):
        maker = Maker(rng)
        maker.put(0, f"def program_{number}(x, c):")
        maker.block(1, 7)
        texts.append("\n".join(maker.lines))
    return texts


def values(dtype: np.dtype[Any], rng: random.Random) -> np.ndarray[Any, Any]:
    """Return records of small whole numbers."""
    result = np.zeros((PROGRAMS, EACH), dtype)

    def fill(array: np.ndarray[Any, Any]) -> None:
        for name in array.dtype.names or ():
            field = array[name]
            if field.dtype.names is None:
                numbers = [rng.randrange(9) for _ in range(field.size)]
                field[...] = np.reshape(numbers, field.shape)
            else:
                fill(field)

    fill(result)
    return result


def leaves(array: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    if array.dtype.names is None:
        return [array]
    return [leaf for name in array.dtype.names for leaf in leaves(array[name])]


@pytest.mark.parametrize("align", [True, False], ids=["aligned", "packed"])
@given(st.integers(0, 2**32 - 1))
@settings(max_examples=2, deadline=None)
def test_records_are_what_they_are_in_numpy(align: bool, seed: int) -> None:
    rng = random.Random(seed)
    programs = batch(rng)
    calls = "\n".join(
        f"    {'el' if k else ''}if t == {k}:\n        program_{k}(rows[t], c[t])"
        for k in range(PROGRAMS)
    )
    text = "\n\n".join(
        [HELPERS, *programs, f"def kernel(rows, c):\n    t = jit.threadIdx.x\n{calls}"]
    )
    names: dict[str, Any] = {"jit": jit}
    function = defined(text + "\n", names, "kernel")

    rows = values(nested(align), rng)
    c = np.array(
        [
            [rng.randrange(EACH), rng.randrange(EACH), k % 2, rng.randrange(3)]
            for k in range(PROGRAMS)
        ]
    )
    wanted = rows.copy().view(np.recarray)
    for number in range(PROGRAMS):
        names[f"program_{number}"](wanted[number], c[number].tolist())
    jit.rawkernel(mode="numpy", options=("--fmad=false",))(function)[1, PROGRAMS](rows, c)

    wrong = {
        number
        for found, expected in zip(leaves(rows), leaves(np.asarray(wanted)), strict=True)
        for number in range(PROGRAMS)
        if not np.array_equal(found[number], expected[number])
    }
    assert not wrong, "\n\n".join(programs[number] for number in sorted(wrong))
