"""Random functions whose variables have other values, or none, on other paths.

``joins``: variables, results and choices hold Python's numbers on one path and elements of any
dtype on another, with values at the limits of dtypes. ``values``: variables that some paths leave
without a value. Plain Python is the reference. Many small functions are compiled in one kernel.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneltk import KernelToolkitError, jit
from kerneltk.errors import LaunchError

from .reference import defined

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
BATCH = 25
PARAMETERS = "x, y, n, m, c, o"
STORED = 8
FLAGS = 6


@dataclass(frozen=True)
class Path:
    """A function of two arrays, two of Python's numbers, flags, and an array for results."""

    seed: int
    text: str
    arguments: tuple[Any, ...]
    mode: str

    def given(self) -> tuple[Any, ...]:
        """Return arguments that a run may write to."""
        return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in self.arguments)

    def function(self) -> Any:
        return defined(self.text, {"np": np, "jit": jit}, f"f{self.seed}")


class _Writer:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.seed = seed
        self.lines: list[str] = []
        self.depth = 1
        self.names: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def flag(self) -> str:
        return f"c[{self.rng.randrange(FLAGS)}] > 0"

    def text(self, before: str = "") -> str:
        return f"{before}def f{self.seed}({PARAMETERS}):\n" + "\n".join(self.lines) + "\n"


class _Joins(_Writer):
    """Values are passed on and chosen, never computed with: nothing is rounded or wraps around."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        rng = self.rng
        self.of_floats = rng.random() < 0.4
        self.dtypes = self.two_dtypes()
        self.helpers = ""

    def two_dtypes(self) -> tuple[str, str]:
        rng = self.rng
        if self.of_floats:
            kinds = ("int8", "uint8", "float16", "float32", "float64")
            return rng.choice(kinds[2:]), rng.choice(kinds)
        first = rng.choice(INTEGERS)
        return first, first if rng.random() < 0.5 else rng.choice(INTEGERS)

    def limit(self) -> Any:
        """Return a number of Python's at a dtype's limit."""
        rng = self.rng
        if self.of_floats and rng.random() < 0.7:
            info = np.finfo(rng.choice(("float16", "float32", "float64")))
            found = float(rng.choice([info.max, info.min, info.tiny, info.smallest_subnormal]))
            return rng.choice([found, 0.5, 1e300, -1e39, 1e-300, 65520.0, float("inf"), 2.0**24])
        info_ = np.iinfo(rng.choice(INTEGERS[:-1]))
        found_ = int(rng.choice([info_.min, info_.max])) + rng.choice([-1, 0, 1])
        bound = 2**53 if self.of_floats else 2**63 - 1
        return rng.choice([max(min(found_, bound), -bound), rng.randint(0, 3)])

    def leaf(self) -> str:
        rng = self.rng
        array = rng.choice("xy")
        return rng.choice(
            [f"{array}[{rng.randrange(4)}]"] * 4
            + ["n", "m", f"len({array})", f"len({array}) * 100000 * 100000"]
            + [repr(self.limit()).replace("inf", "np.inf")]
            + self.names * 2
        )

    def value(self, depth: int = 2) -> str:
        choice = self.rng.random()
        if depth == 0 or choice < 0.4:
            return self.leaf()
        a, b = self.value(depth - 1), self.value(depth - 1)
        if choice < 0.6:
            return f"({a} if {self.flag()} else {b})"
        if choice < 0.75:
            return f"({a} {self.rng.choice(['and', 'or'])} {b})"
        if choice < 0.9:
            name = f"h{self.seed}_{self.helpers.count('def ')}"
            body = self.rng.choice(
                [
                    "    if q > 0:\n        return a\n    return b\n",
                    "    r = a\n    for _ in range(q):\n        r = b\n    return r\n",
                    f"    if q > 0:\n        return a\n    return {self.limit()!r}\n",
                ]
            ).replace("inf", "np.inf")
            self.helpers += f"def {name}(a, b, q):\n{body}\n\n"
            return f"{name}({a}, {b}, c[{self.rng.randrange(FLAGS)}])"
        return f"({a}, {b})[{self.rng.randrange(2)}]"

    def assign(self) -> None:
        name = self.rng.choice([*self.names, self.names[0]])
        self.line(f"{name} = {self.value()}")

    def statement(self) -> None:
        rng = self.rng
        choice = rng.random()
        if choice < 0.3 or self.depth > 3:
            self.assign()
            return
        if choice < 0.6:
            self.line(f"if {self.flag()}:")
        elif choice < 0.8:
            self.line(f"for k{self.depth} in range(c[{rng.randrange(FLAGS)}]):")
        else:
            array = rng.choice("xy")
            self.line(f"for e{self.depth} in {array}:")
            self.depth += 1
            self.line(f"if {self.flag()}: {rng.choice(self.names)} = e{self.depth - 1}")
            self.depth -= 1
        self.depth += 1
        for _ in range(rng.randint(1, 2)):
            self.statement()
        self.depth -= 1

    def path(self) -> Path:
        rng = self.rng
        for k in range(rng.randint(2, 4)):
            self.line(f"v{k} = {self.value()}")
            self.names.append(f"v{k}")
        if rng.random() < 0.3:
            self.line(f"n = {self.value()}")
        for _ in range(rng.randint(2, 4)):
            self.statement()
        for k, name in enumerate(self.names):
            self.line(f"o[{k}] = {name}")
        arrays = []
        for dtype in self.dtypes:
            info: Any = np.finfo(dtype) if dtype.startswith("f") else np.iinfo(dtype)
            values = [info.min, info.max, 0, 1, 2, 100]
            arrays.append(np.array(rng.sample(values, 4), dtype))
        flags = np.array([rng.randrange(3) for _ in range(FLAGS)])
        out = np.zeros(STORED, np.float64 if self.of_floats else np.int64)
        mode = rng.choice(["numpy", "cuda"])
        if self.of_floats and self.dtypes[0] != self.dtypes[1]:
            mode = "numpy"  # C++ has fewer bits for an integer beside a float
        arguments = (*arrays, self.limit(), self.limit(), flags, out)
        return Path(self.seed, self.text(self.helpers), arguments, mode)


class _Values(_Writer):
    """Variables of one dtype, which are assigned on some paths."""

    def statement(self) -> None:
        rng = self.rng
        choice = rng.random()
        name = f"v{rng.randrange(3)}"
        if choice < 0.4 or self.depth > 4:
            self.line(f"{name} = {rng.choice(['n', 'x[1]', '7', 'm'])}")
        elif choice < 0.5:
            self.line(f"o[{rng.randrange(STORED)}] = {name}")
        elif choice < 0.55:
            self.line(f"o[{rng.randrange(STORED)}] = {name} if {self.flag()} else 0")
        elif choice < 0.6:
            self.line(f"while {self.flag()} and {name} > 5:")
            self.line(f"    {name} = 0")
        elif choice < 0.75:
            self.line(f"if {self.flag()}:")
            self.block()
            if rng.random() < 0.5:
                self.line("else:")
                self.block(rng.random() < 0.3)
        else:
            flag = f"c[{rng.randrange(FLAGS)}]"
            if rng.random() < 0.3:
                self.line("while True:")
                self.block()
                self.depth += 1
                self.line("break")
                self.depth -= 1
                return
            times = rng.choice([flag, "2", "0"])
            self.line(f"for k{self.depth} in range({times}):")
            self.block()
            if rng.random() < 0.4:
                self.depth += 1
                self.line(f"if {self.flag()}: break")
                self.depth -= 1
                self.line("else:")
                self.block()

    def block(self, leaves: bool = False) -> None:
        self.depth += 1
        for _ in range(self.rng.randint(1, 2)):
            self.statement()
        if leaves:
            self.line("return")
        self.depth -= 1

    def path(self) -> Path:
        rng = self.rng
        for _ in range(rng.randint(3, 6)):
            self.statement()
        if rng.random() < 0.5:
            flag = self.flag()
            self.line(f"if {flag}: w = x[2]")
            self.line(f"if {flag}: o[0] = w")
        for k in range(3):
            if rng.random() < 0.6:
                self.line(f"o[{k}] = v{k}")
        self.line("if c[0] > 5:")
        self.line("    v0 = v1 = v2 = 0")  # every name is the function's own
        flags = np.array([rng.randrange(3) for _ in range(FLAGS)])
        x = np.arange(4) + 1
        return Path(self.seed, self.text(), (x, x, 5, 6, flags, np.zeros(STORED, int)), "numpy")


def path_of(what: str, seed: int) -> Path:
    """Return the function of a seed."""
    return (_Joins if what == "joins" else _Values)(seed).path()


def expected(path: Path) -> Any:
    """Return what plain Python stores; None where it reads a variable without a value."""
    arguments = path.given()
    found: list[Any] = list(arguments[-1])
    try:
        with np.errstate(all="ignore"):
            path.function()(*arguments[:-1], found)
    except UnboundLocalError:
        return None
    kind = arguments[-1].dtype
    if kind == np.int64:
        return np.array([int(v) % 2**64 for v in found], np.uint64).view(np.int64)
    return np.array(found, kind)


def is_refused(path: Path, of_elements: bool = False) -> str:
    """Return the error that a function is refused with, of threads or of elements; nothing for
    another.
    """
    try:
        kernel: Any = jit.rawkernel(mode=path.mode)(path.function())
        if of_elements:
            lines = f"def one(i, {PARAMETERS}):\n    f({PARAMETERS})\n    return i\n"
            function = defined(lines, {"f": path.function()}, "one")
            kernel = jit.kernel(mode=path.mode, raw=tuple(PARAMETERS.split(", ")))(function)
        given = (np.zeros(1), *path.given()) if of_elements else path.given()
        kernel.inspect(*given, target="cuda")
    except KernelToolkitError as error:
        return str(error)
    return ""


def batch_of(paths: list[Path]) -> tuple[Any, list[tuple[Any, ...]]]:
    """Return a kernel that calls functions one after the other, and their arguments."""
    names = ", ".join(f"a{k}" for k in range(len(paths)))
    lines = [f"def every({names}):"]
    for k, path in enumerate(paths):
        lines.append(f"    f{path.seed}({', '.join(f'a{k}[{p}]' for p in range(6))})")
    functions = {f"f{path.seed}": path.function() for path in paths}
    function = defined("\n".join(lines) + "\n", functions, "every")
    return jit.rawkernel(mode=paths[0].mode)(function), [path.given() for path in paths]


def outcomes(what: str, seeds: range, target: str = "") -> Iterator[tuple[int, str, str]]:
    """Yield each seed with what became of its function, and details.

    It is the same as in plain Python, refused, or differs. With a target it is compiled alone.
    """
    accepted: dict[str, list[Path]] = {"numpy": [], "cuda": []}
    for seed in seeds:
        path = path_of(what, seed)
        error = is_refused(path)
        if error:
            right = expected(path) is not None
            yield seed, "refused, with a value" if right else "refused", f"{error}\n{path.text}"
        else:
            accepted[path.mode].append(path)
    for paths in accepted.values():
        for first in range(0, len(paths), BATCH):
            part = paths[first : first + BATCH]
            wanted = [expected(path) for path in part]
            decided = [p for p, w in zip(part, wanted, strict=True) if w is None and not target]
            for path in decided:
                yield _checked(path)
            part = [p for p in part if p not in decided]
            if not part:
                continue
            kernel, arguments = batch_of(part)
            if target:
                kernel.inspect(*arguments, target=target)
            else:
                kernel[1, 1](*arguments)
            for path, given in zip(part, arguments, strict=True):
                its = given[-1] if target else expected(path)
                same = np.array_equal(given[-1], its, equal_nan=given[-1].dtype.kind == "f")
                detail = "" if same else f"{given[-1]}, not {its}\n{path.arguments}\n{path.text}"
                yield path.seed, "same" if same else "differs", detail


def _checked(path: Path) -> tuple[int, str, str]:
    """Run a function that reads a variable without a value: debug mode has to find it. Elements
    have no debug mode: they refuse it.
    """
    if "may have no value" not in is_refused(path, of_elements=True):
        return path.seed, "differs", f"not refused in a kernel of elements\n{path.text}"
    try:
        jit.rawkernel(mode=path.mode)(path.function())[1, 1](*path.given())
    except LaunchError as error:
        found = "has a value" in str(error)
        return path.seed, "found by debug mode" if found else "differs", str(error)
    return path.seed, "differs", f"a variable without a value is read\n{path.text}"
