"""Random programs on a GPU: fused functions, and elementwise kernels and reductions, of random
shapes, dtypes and layouts, against the time of their bytes and torch.compile.

``python benchmarks/random_programs.py --seed 1 --programs 200 --output DIR`` prints the quantiles
and the worst, and writes them as text and JSON. A program's floor is the time of a copy in the same
loop, of the bytes that must move: each operand once, a strided one by the sectors that it touches.
So the floor of few bytes has a launch: 16 MiB take 4 µs at an H200's bandwidth, and a copy of them
takes 6. Both are times of the device, whose queue is full; `call` is the time of a call on the
host, which bounds a loop of calls where it is more.
"""

from __future__ import annotations

import argparse
import math
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import Peers, Report, commit, describe_machine, event_clock, first_line, needed_cupy

import kerneltk
from kerneltk.launch.explanation import moved_bytes

_EXTENTS = (2, 3, 5, 7, 10, 12, 16, 31, 32, 50, 64, 100, 107, 128, 200, 256, 333, 512, 777, 1000,
            1024, 2048, 4096, 4099, 10000, 65536, 131072)  # fmt: skip
_DTYPES = {"f": "float32", "e": "float16", "d": "float64", "b": "int8", "B": "uint8", "h": "int16",
           "i": "int32", "F": "complex64", "D": "complex128"}  # fmt: skip
_LAYOUTS = ("C", "C", "C", "T", "step", "cut", "odd", "rev", "row", "col")
_KINDS = ("map", "norm", "centre", "layernorm", "softmax", "reduce", "reduce2", "slices")
_REDUCTIONS = {"sum": ("x", "a + b", "y = a", "0"), "max": ("x", "max(a, b)", "y = a", None),
               "sq": ("x * x", "a + b", "y = a", "0")}  # fmt: skip
_LOOPS = ("y = a", "y = 2 * a + 1", "y = a * b", "y = a + b * c")
_CALLS, _LAUNCHES = 5, 7


@dataclass(frozen=True)
class Operand:
    """An argument: its dtype's character and its layout, of the program's shape."""

    dtype: str
    layout: str
    axes: tuple[int, ...]  # of the memory, where it is transposed

    def make(self, xp: Any, shape: tuple[int, ...], seed: int) -> Any:
        """Return the array."""
        whole = list(shape)
        if self.layout == "T":
            whole = [shape[axis] for axis in self.axes]
        elif self.layout == "row":
            whole = [1] * (len(shape) - 1) + [shape[-1]]
        elif self.layout == "col":
            whole = [*shape[:-1], 1]
        elif self.layout == "step":
            whole[-1] *= 2
        elif self.layout == "cut":
            whole[-1] += 5
        count = math.prod(whole) + (self.layout == "odd")
        found = xp.random.default_rng(seed).random(count, dtype=np.float32)
        kind = np.dtype(_DTYPES[self.dtype])
        found = (found * 100 if kind.kind in "iu" else found - 0.4).astype(kind)
        found = found[self.layout == "odd" :].reshape(whole)
        if self.layout == "T":
            return found.transpose([self.axes.index(axis) for axis in range(len(shape))])
        own = {"step": np.s_[..., ::2], "cut": np.s_[..., 2:-3], "rev": np.s_[..., ::-1]}
        return xp.broadcast_to(found[own.get(self.layout, ...)], shape)


@dataclass(frozen=True)
class Program:
    """A program: what it is in words, its operands, and the call of some arrays."""

    text: str
    shape: tuple[int, ...]
    operands: tuple[Operand, ...]
    build: Callable[[], Callable[..., Any]]  # by kerneltk
    body: str = ""  # of a fused function, whose parameters are a0, a1 …

    def __str__(self) -> str:
        return (
            f"{self.text} {self.shape} {' '.join(o.dtype + ':' + o.layout for o in self.operands)}"
        )


def _shape(dice: random.Random) -> tuple[int, ...]:
    """Return a shape of 2^24 to 2^26 elements."""
    shape = [dice.choice(_EXTENTS) for _ in range(dice.choice((1, 2, 3)))]
    at = dice.randrange(len(shape) + 1)
    size = 1 << dice.choice((24, 25, 26))
    while math.prod(shape) > size:
        shape[shape.index(max(shape))] //= 2
    return (*shape[:at], max(1, size // math.prod(shape)), *shape[at:])


def _operands(
    dice: random.Random, shape: tuple[int, ...], dtypes: str, count: int
) -> tuple[Operand, ...]:
    """Return some operands, the first of which is not repeated."""
    found = []
    for k in range(count):
        axes = dice.sample(range(len(shape)), len(shape))
        layout = dice.choice(_LAYOUTS if k else _LAYOUTS[:-2])
        found.append(Operand(dice.choice(dtypes), layout, tuple(axes)))
    return tuple(found)


def _mixed(dice: random.Random, values: list[str]) -> tuple[list[str], str]:
    """Return some statements of a chain over named values, and the last one's name."""
    lines: list[str] = []
    last = values[0]
    for k, other in enumerate(values[1:]):
        how = dice.choice(("{0} - 0.5 * {1}", "np.where({0} > {1}, {0}, {1} * 2)", "{0} * {1}"))
        lines.append(f"t{k} = {how.format(last, other)}")
        last = f"t{k}"
    for k in range(dice.randrange(3)):
        how = dice.choice(("abs({0})", "{0} * 0.5 + 1.25", "np.exp(-abs({0}))", "{0} * {0}"))
        lines.append(f"u{k} = {how.format(last)}")
        last = f"u{k}"
    return lines, last


def fused_program(dice: random.Random) -> Program:
    """Return a fused function."""
    shape = _shape(dice)
    operands = _operands(dice, shape, "ffffeedbBi", dice.choice((1, 1, 2, 3)))
    names = [f"a{k}" for k in range(len(operands))]
    lines = [
        f"{name} = {name}.astype('float32')"
        for name, operand in zip(names, operands, strict=True)
        if operand.dtype in "bBi"
    ]
    made, t = _mixed(dice, names)
    kind, axis = dice.choice(_KINDS[: 8 if shape[-1] > 2 else 7]), dice.randrange(len(shape))
    keep = f"({axis}, keepdims=True)"
    ends = {
        "map": f"return {t}",
        "norm": f"return {t} / (1 + np.sqrt(({t} * {t}).sum{keep}))",
        "centre": f"q = ({t}).mean{keep}; return {t} - q, q",
        "layernorm": f"d = {t} - ({t}).mean{keep}; return d / np.sqrt((d * d).mean{keep} + 1e-3)",
        "softmax": f"e = np.exp({t} - ({t}).max{keep}); return e / e.sum{keep}",
        "reduce": f"return ({t}).sum({axis})",
        "reduce2": f"return ({t}).sum({axis}), ({t} * 2).max({axis})",
        "slices": f"return {t}[..., 2:] - 2 * {t}[..., 1:-1] + {t}[..., :-2]",
    }
    body = "; ".join([*lines, *made, ends[kind]])
    function = defined(body, len(names))
    return Program(f"{kind} `{body}`", shape, operands, lambda: kerneltk.fuse(function), body)


def defined(body: str, count: int, module: Any = np) -> Callable[..., Any]:
    """Return a function of a body and so many parameters, in whose words `np` is a module."""
    known: dict[str, Any] = {"np": module}
    exec(f"def program({', '.join(f'a{k}' for k in range(count))}): {body}", known)
    found: Callable[..., Any] = known["program"]
    return found


def kernel_program(dice: random.Random) -> Program:
    """Return an elementwise kernel."""
    shape, body = _shape(dice), dice.choice(_LOOPS)
    count = 1 + ("b" in body) + ("c" in body)
    operands = _operands(dice, shape, "ffeedbBhiF", count)
    if len({np.dtype(_DTYPES[o.dtype]).kind for o in operands}) > 1:  # C has no such promotions
        operands = tuple(Operand("f", o.layout, o.axes) for o in operands)
    result = np.result_type(*(_DTYPES[o.dtype] for o in operands)).name
    given = ", ".join(f"{_DTYPES[o.dtype]} {n}" for o, n in zip(operands, "abc", strict=False))
    kernel = partial(kerneltk.ElementwiseKernel, given, f"{result} y", body, "loop")
    return Program(f"`{body}`", shape, operands, kernel)


def reduction_program(dice: random.Random) -> Program:
    """Return a reduction kernel."""
    shape, name = _shape(dice), dice.choice(sorted(_REDUCTIONS))
    (operand,) = _operands(dice, shape, "fffeedbBhi", 1)
    axes = tuple(sorted(dice.sample(range(len(shape)), dice.choice((1, 1, 2)))))
    dtype = _DTYPES[operand.dtype]
    kernel = kerneltk.ReductionKernel(f"{dtype} x", f"{dtype} y", *_REDUCTIONS[name], name)
    return Program(f"{name} axis {axes}", shape, (operand,), lambda: partial(kernel, axis=axes))


class Measured(NamedTuple):
    """A program's fractions of the floor, of kerneltk and of torch.compile; what went wrong; the
    floor, and the time of a call on the host (µs).
    """

    ours: float | None
    theirs: float | None
    problem: str
    floor: float | None = None
    call: float | None = None

    @property
    def is_slower(self) -> bool:
        """Whether torch.compile is faster by more than a tenth."""
        return bool(self.ours and self.theirs and self.ours < 0.9 * self.theirs)


class Bench:
    """Measures programs by the time of a copy."""

    def __init__(self, cupy: Any, torch: Any | None) -> None:
        self._cupy, self._torch = cupy, torch
        self._clock = event_clock(cupy, _LAUNCHES, _CALLS, held=True)
        self._source = cupy.empty(1 << 30, np.uint8)
        self._target = cupy.empty_like(self._source)

    def _floor(self, count: int) -> float:
        """Return the time of a copy that moves so many bytes."""
        half = min(count // 2, self._source.size)
        target, source = self._target[:half], self._source[:half]
        return self._time(lambda: self._cupy.copyto(target, source)) * count / (2 * half)

    def _time(self, call: Callable[[], Any]) -> float:
        call()
        return sorted(self._clock(call))[_LAUNCHES // 2]

    def run(self, program: Program, seed: int) -> Measured:
        """Measure a program of kerneltk, and of torch."""
        cupy = self._cupy
        arrays = [o.make(cupy, program.shape, seed + k) for k, o in enumerate(program.operands)]
        try:
            function = program.build()
            found = function(*arrays)
            results = found if isinstance(found, tuple) else (found,)
            count = sum(map(moved_bytes, arrays)) + sum(r.nbytes for r in results)
            problem = self._compared(program, arrays, results)
            del found, results
            floor = self._floor(count)
            ours = floor / self._time(lambda: function(*arrays))
            begin = time.perf_counter()
            for _ in range(_CALLS):
                function(*arrays)
            call = (time.perf_counter() - begin) / _CALLS
        except Exception as error:  # the table says which program it was
            return Measured(None, None, f"{type(error).__name__}: {first_line(error)}")
        theirs = None
        if self._torch is not None and program.body:
            try:
                theirs = floor / self._time(self._by_torch(program.body, arrays))
            except Exception as error:
                problem = problem or f"torch: {first_line(error)}"
        cupy.get_default_memory_pool().free_all_blocks()
        return Measured(ours, theirs, problem, floor * 1e6, call * 1e6)

    def _by_torch(self, body: str, arrays: list[Any]) -> Callable[[], Any]:
        """Return a call of a function as torch.compile makes it of the same memory."""
        torch: Any = self._torch
        if any(stride < 0 for array in arrays for stride in array.strides):
            # Its from_dlpack takes them as unsigned, and ends the process (2.11).
            raise ValueError("a torch tensor has no negative strides")
        torch._dynamo.reset()
        body = body.replace(".astype('float32')", ".float()").replace(".max(", ".amax(")
        compiled = torch.compile(defined(body, len(arrays), torch), dynamic=False)
        return partial(compiled, *map(torch.from_dlpack, arrays))

    def _compared(self, program: Program, arrays: list[Any], results: tuple[Any, ...]) -> str:
        """Return how results differ from plain CuPy's, of what has few elements in a row."""
        if not program.body:
            return ""
        wanted = defined(program.body, len(arrays))(*arrays)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        tolerance = 5e-2 if "e" in {o.dtype for o in program.operands} else 2e-3
        for one, other in zip(results, wanted, strict=True):
            if (one.dtype, one.shape) != (other.dtype, other.shape):
                return "another dtype or shape"
            if one.dtype == np.bool_:
                one, other = one.view(np.uint8), other.view(np.uint8)
            is_same = (one == other) | ((one != one) & (other != other))  # infinities, no numbers
            apart = np.where(is_same, 0, abs(one - other))
            scale = np.where(np.isfinite(other), abs(other), 0)
            if not float(apart.max()) <= tolerance * float(scale.max()):
                return "values differ"
        return ""


def programs(kind: str, count: int, seed: int) -> list[Program]:
    """Return the programs of a table."""
    dice = random.Random(f"{kind} {seed}")
    makers = {"fused": (fused_program,), "kernels": (kernel_program, reduction_program)}[kind]
    return [makers[k % len(makers)](dice) for k in range(count)]


def main() -> None:
    """Measure both tables; ``--warm K N`` only compiles every N-th program, from the K-th on."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile beforehand")
    parser.add_argument("--torch", action="store_true", help="compare with torch.compile")
    parser.add_argument("--warm", type=int, nargs=2)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output")
    parser.add_argument("--commit", help="the commit that is measured, where git cannot tell")
    given = parser.parse_args()
    peers = Peers()
    cupy = needed_cupy(peers)
    if given.jobs > 1:
        base = [sys.executable, __file__, f"--seed={given.seed}", f"--programs={given.programs}"]
        jobs = [[*base, "--warm", str(k), str(given.jobs)] for k in range(given.jobs)]
        for process in list(map(subprocess.Popen, jobs)):
            process.wait()
    bench = Bench(cupy, peers.get("torch") if given.torch else None)
    report = Report("random-programs", describe_machine(cupy), commit(given.commit))
    for kind in ("fused", "kernels"):
        chosen = list(enumerate(programs(kind, given.programs, given.seed)))
        if given.warm is not None:
            for number, program in chosen[given.warm[0] :: given.warm[1]]:
                bench.run(program, number)
            continue
        found = [(program, bench.run(program, number)) for number, program in chosen]
        ours = sorted(row.ours for _, row in found if row.ours is not None)
        slower = sum(row.is_slower for _, row in found)
        title = f"{kind}: {len(ours)} programs, seed {given.seed}"
        table = report.table(title, "least", "a tenth below", "median", "slower than .9 of torch")
        table.add(*(ours[int(part * len(ours))] for part in (0.0, 0.1, 0.5)), slower)
        worst = report.table(f"{kind}: the worst, and what went wrong", "program", "kerneltk",
                             "torch.compile", "floor, µs", "call, µs", "problem")  # fmt: skip
        ranked = sorted(found, key=lambda row: row[1].ours or 0.0)
        for k, (program, row) in enumerate(ranked):
            if k < max(12, given.programs // 8) or row.problem or row.is_slower:
                worst.add(str(program), row.ours, row.theirs, row.floor, row.call, row.problem)
    if given.warm is None:
        report.save(given.output)


if __name__ == "__main__":
    main()
