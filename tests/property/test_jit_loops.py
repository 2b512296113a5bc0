"""Small programs with loops, branches and assignments on the host against plain Python.

An example is a batch of functions that one kernel calls, as in `test_jit_expressions`.
"""

from __future__ import annotations

import random

import numpy as np
from hypothesis import strategies as st

from kerneltk import jit

from ..random_programs.reference import defined
from .examples import drawn

THREADS = 16
# What numbers a variable holds, by its first letter. All of a letter have one type.
KINDS = {"i": "int32", "u": "uint32", "d": "float64", "m": "int"}
PARAMETERS = ("i0", "u0", "d0", "m0")
# What a function returns, so that no assignment is for nothing.
_SMALL = "m0 + m1 * 3 + m2 * 7"
RESULTS = {
    "i": f"(i0 * 3) ^ i1 ^ np.int32(u0) ^ np.int32(u1 >> 1) ^ np.int32({_SMALL})",
    "u": f"(u0 * 3) ^ u1 ^ np.uint32(i0) ^ np.uint32(i1 >> 1) ^ np.uint32(({_SMALL}) % 9)",
    "d": f"d0 + d1 * 3 + np.float64(i0 + i1) + np.float64(u0 - u1) + ({_SMALL})",
    "m": _SMALL,
}


class Generator:
    """Makes a function; every variable keeps its type, and every loop ends."""

    def __init__(self, rng: random.Random, name: str) -> None:
        self.rng = rng
        self.lines = [f"def {name}({', '.join(PARAMETERS)}):"]
        self.depth = 1
        self.counters = 0
        self.result = rng.choice("iudm")
        for letter, dtype in KINDS.items():
            start = rng.randint(0, 9)
            value = str(start) if dtype == "int" else f"np.{dtype}({start})"
            self.line(f"{letter}1 = {value}")
        self.line("m2 = m0")
        self.block(rng.randint(2, 5), (), 3)
        self.line(f"return {RESULTS[self.result]}")

    @property
    def text(self) -> str:
        return "\n".join([*self.lines, ""])

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    # -- expressions -------------------------------------------------------------------------------

    def variable(self, letter: str) -> str:
        return f"{letter}{self.rng.randint(0, 2 if letter == 'm' else 1)}"

    def value(self, letter: str, ints: tuple[str, ...], depth: int = 2) -> str:
        """Return an expression of a type. Python's integers are kept small, as others wrap."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.25:
            if rng.random() < 0.35:
                return str(rng.choice([0.5, 2.0, 3]) if letter == "d" else rng.randint(0, 9))
            small = [*ints] if letter in "im" and rng.random() < 0.5 else []
            return rng.choice([self.variable(letter), *small])
        left, right = (self.value(letter, ints, depth - 1) for _ in range(2))
        if letter != "m" and (left[0].isdigit() or left.startswith("k")):
            left = self.variable(letter)  # one of two numbers has the type
        if letter == "m":
            return rng.choice(
                [f"(({left} + {right}) % 1009)", f"(({left} * 5 - {right}) % 97)",
                 f"({left} // {rng.choice([2, 3, -4])})", f"min({left}, {right})", f"-({left})"]
            )  # fmt: skip
        if letter == "d":
            return f"({left} {rng.choice('+-*')} {right})"
        return rng.choice(
            [f"({left} {rng.choice('+-*&|^')} {right})", f"({left} // 3)", f"({left} % 7)",
             f"({left} >> 1)", f"({left} << 2)", f"max({left}, {self.variable(letter)})"]
        )  # fmt: skip

    def condition(self, ints: tuple[str, ...], depth: int = 1) -> str:
        rng = self.rng
        if depth and rng.random() < 0.25:
            word = rng.choice(["and", "or"])
            return f"({self.condition(ints, 0)} {word} {self.condition(ints, 0)})"
        letter = rng.choice("iudm")
        op = rng.choice(["<", "<=", ">", ">=", "==", "!="])
        left = self.variable(letter)
        if rng.random() < 0.3 and letter != "d":
            return f"{left} % {rng.randint(2, 4)} == {rng.randint(0, 2)}"
        return f"{left} {op} {self.value(letter, ints, 1)}"

    # -- statements --------------------------------------------------------------------------------

    def block(self, size: int, loops: tuple[str, ...], nesting: int) -> None:
        """Add statements; `loops` are what the loops around count with, the innermost last."""
        for _ in range(size):
            self.statement(loops, nesting)

    def inside(self, size: int, loops: tuple[str, ...], nesting: int) -> None:
        self.depth += 1
        self.block(size, loops, nesting - 1)
        self.depth -= 1

    def statement(self, loops: tuple[str, ...], nesting: int) -> None:
        rng = self.rng
        ints = tuple(name for name in loops if name.startswith("k"))
        choice = rng.random()
        letter = rng.choice("iudm")
        name = self.variable(letter)
        if nesting > 0 and choice < 0.2:
            self.branch(loops, nesting)
        elif nesting > 0 and choice < 0.4:
            self.for_loop(loops, nesting)
        elif nesting > 0 and choice < 0.5:
            self.while_loop(loops, nesting)
        elif choice < 0.58:
            first, second = f"{letter}0", f"{letter}1"
            self.line(f"{first}, {second} = {second}, {self.assigned(letter, ints)}")
        elif choice < 0.64 and loops:
            self.line(f"if {self.condition(ints)}:")
            self.line(f"    {rng.choice(['break', 'break', 'continue'])}")
        elif choice < 0.67:
            self.line(f"if {self.condition(ints)}:")
            self.line(f"    return {self.value(self.result, ints) if self.result != 'm' else 'm1'}"
                      f" + {self.result}0")  # fmt: skip
        elif choice < 0.85 and letter != "m":
            op = rng.choice("+-*" if letter == "d" else "+-*&|^")
            self.line(f"{name} {op}= {self.value(letter, ints)}")
        else:
            self.line(f"{name} = {self.assigned(letter, ints)}")

    def assigned(self, letter: str, ints: tuple[str, ...]) -> str:
        """Return a value of exactly a type."""
        value = self.value(letter, ints)
        is_plain = value[0].isdigit() or value.startswith("k")
        return f"np.{KINDS[letter]}({value})" if is_plain and letter != "m" else value

    def branch(self, loops: tuple[str, ...], nesting: int) -> None:
        ints = tuple(name for name in loops if name.startswith("k"))
        self.line(f"if {self.condition(ints)}:")
        self.inside(self.rng.randint(1, 2), loops, nesting)
        if self.rng.random() < 0.3:
            self.line(f"elif {self.condition(ints)}:")
            self.inside(1, loops, nesting)
        if self.rng.random() < 0.5:
            self.line("else:")
            self.inside(self.rng.randint(1, 2), loops, nesting)

    def orelse(self, loops: tuple[str, ...], nesting: int) -> None:
        if self.rng.random() < 0.3:
            self.line("else:")
            self.inside(1, loops, nesting)

    def for_loop(self, loops: tuple[str, ...], nesting: int) -> None:
        self.counters += 1
        name = f"k{self.counters}"
        low, high = self.rng.randint(-2, 2), self.rng.randint(0, 5)
        bounds = self.rng.choice(
            [f"{high}", f"{low}, {high}", f"{high}, {low}, -1", f"{low}, {high}, 2",
             "m0 % 5", f"{low}, m1 % 4, m0 % 2 * 2 - 1"]
        )  # fmt: skip
        self.line(f"for {name} in range({bounds}):")
        self.inside(self.rng.randint(1, 3), (*loops, name), nesting)
        self.orelse(loops, nesting)

    def while_loop(self, loops: tuple[str, ...], nesting: int) -> None:
        self.counters += 1
        name = f"w{self.counters}"
        ints = tuple(name for name in loops if name.startswith("k"))
        self.line(f"{name} = 0")
        self.line(f"while {name} < {self.rng.randint(1, 5)} and {self.condition(ints)}:")
        self.line(f"    {name} += 1")
        self.inside(self.rng.randint(1, 3), (*loops, name), nesting)
        self.orelse(loops, nesting)


def batch(rng: random.Random, functions: int) -> tuple[str, list[str]]:
    """Return the text of functions and of a kernel that calls them, and what each returns."""
    parts, results, calls = [], [], []
    for k in range(functions):
        generator = Generator(rng, f"p{k}")
        parts.append(generator.text)
        kind = KINDS[generator.result]
        results.append("int64" if kind == "int" else kind)
        calls.append(f"    y{k}[t] = p{k}(x_i[t], x_u[t], x_d[t], m + t)")
    outputs = ", ".join(f"y{k}" for k in range(functions))
    head = [f"def kernel(x_i, x_u, x_d, m, {outputs}):", "    t = jit.grid(1)"]
    return "\n".join([*parts, *head, *calls, ""]), results


@drawn(st.integers(0, 2**32 - 1), few=5, many=8)
def test_loops_do_what_python_does(seed: int) -> None:
    rng = random.Random(seed)
    text, dtypes = batch(rng, 16)
    names = {"np": np, "jit": jit}
    kernel = jit.rawkernel(mode="numpy", options=("--fmad=false",))(defined(text, names, "kernel"))
    inputs = (
        np.array([rng.randint(-(2**31), 2**31 - 1) >> rng.choice([0, 24]) for _ in range(THREADS)]),
        np.array([rng.randint(0, 2**32 - 1) >> rng.choice([0, 26]) for _ in range(THREADS)]),
        np.array([rng.uniform(-8, 8) for _ in range(THREADS)]),
    )
    x_i, x_u, x_d = (x.astype(dtype) for x, dtype in zip(inputs, KINDS.values(), strict=False))
    outputs = [np.zeros(THREADS, dtype) for dtype in dtypes]
    kernel[1, THREADS](x_i, x_u, x_d, 3, *outputs)

    complaints = []
    for k, found in enumerate(outputs):
        with np.errstate(all="ignore"):
            results = [names[f"p{k}"](x_i[t], x_u[t], x_d[t], 3 + t) for t in range(THREADS)]
        wanted = np.array(results).astype(found.dtype)
        wrong = ~((found == wanted) | ((found != found) & (wanted != wanted)))
        if wrong.any():
            t = int(np.flatnonzero(wrong)[0])
            function = text[text.index(f"def p{k}(") :].partition("\ndef ")[0]
            arguments = f"({x_i[t]!r}, {x_u[t]!r}, {x_d[t]!r}, {3 + t})"
            complaints.append(f"{function}\np{k}{arguments} is {wanted[t]!r}, not {found[t]!r}")
    assert not complaints, "\n".join(complaints)
