"""Programs and shapes that no other benchmark has, on a GPU: against the time of a copy of the
bytes that must move, beside torch.compile, with what bounds each by the operations in its code.

``python benchmarks/unlisted.py --jobs 12 --output DIR`` compiles in that many processes, and
measures in one after the other. ``--profile`` calls each program once between the profiler's marks.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import Peers, Report, commit, describe_machine, first_line, needed_cupy
from random_programs import Bench, Operand, Program, defined

import kerneltk

_SOFTMAX = "e = np.exp(a0 - a0.max({0}, keepdims=True)); return e / e.sum({0}, keepdims=True)"
_LAYERNORM = (
    "d = a0 - a0.mean({0}, keepdims=True); "
    "return d / np.sqrt((d * d).mean({0}, keepdims=True) + 1e-3)"
)
_BOX = "return (" + " + ".join(
    f"a0[{i}:{i - 2 or None}, {j}:{j - 2 or None}]" for i in range(3) for j in range(3)
) + ") / 9"  # fmt: skip
_LAPLACE = "return a0[:-2, 1:-1] + a0[2:, 1:-1] + a0[1:-1, :-2] + a0[1:-1, 2:] - 4 * a0[1:-1, 1:-1]"
_COLOURS = np.dtype([("r", "u1"), ("g", "u1"), ("b", "u1")])
_HEAVY = "y = erf(a) * exp(-a * a) + log1p(fabs(a))"

# What it is, dtype, shape, a fused function's body or an operation, the aim (part of a copy).
_FUSED = (
    ("softmax rows", "f", (1 << 21, 50), _SOFTMAX.format(1), 0.90),
    ("softmax rows", "f", (1 << 24, 7), _SOFTMAX.format(1), 0.90),
    ("softmax rows", "f", (30000, 4001), _SOFTMAX.format(1), 0.85),
    ("softmax rows", "e", (16384, 4096), _SOFTMAX.format(1), 0.85),
    ("softmax rows", "f", (16, 1 << 23), _SOFTMAX.format(1), 0.66),
    ("softmax middle axis", "f", (512, 256, 1000), _SOFTMAX.format(1), 0.90),
    ("x / sum of two axes", "f", (4096, 32, 1024), "return a0 / a0.sum((1, 2), keepdims=True)",
     0.95),
    ("x / norm axis 0", "f", (65536, 2048), "return a0 / np.sqrt((a0 * a0).sum(0, keepdims=True))",
     0.66),
    ("layernorm axis 0", "f", (65536, 2048), _LAYERNORM.format(0), 0.66),
    ("softmax axis 0", "f", (65536, 2048), _SOFTMAX.format(0), 0.66),
    ("softmax axis 0", "f", (2048, 32768), _SOFTMAX.format(0), 0.90),
    ("batch norm statistics", "f", (64, 256, 56, 56),
     "m = a0.mean((0, 2, 3)); return m, (a0 * a0).mean((0, 2, 3)) - m * m", 0.95),
    ("3 x 3 box", "f", (11000, 12000), _BOX, 0.90),
    ("five-point Laplace", "f", (11000, 12000), _LAPLACE, 0.95),
    ("min, max, mean, std", "f", (1 << 27,), "return a0.min(), a0.max(), a0.mean(), a0.std()",
     0.95),
    ("rows of two float16", "e", (1 << 25, 2), "return a0 / (1 + a0.sum(1, keepdims=True))", 0.95),
    ("bool outputs", "ff", (1 << 27,), "return a0 > a1", 0.95),
    ("complex64", "FF", (1 << 26,), "return a0 * a1 + a0", 0.95),
    ("exp", "f", (1 << 27,), "return np.exp(a0)", None),
    ("sin", "f", (1 << 27,), "return np.sin(a0)", None),
    ("x ** 2.5", "f", (1 << 27,), "return abs(a0) ** 2.5", None),
)  # fmt: skip
_LOOPS = (
    ("transposed", "b:T", (16384, 16384), "y = a", 0.85),
    ("transposed", "e:T", (16384, 16384), "y = a", 0.85),
    ("records of 3 bytes", "colours", (1 << 27,), "y = a", 0.95),
    ("erf * exp + log1p", "f", (1 << 27,), _HEAVY, None),
    ("erf * exp + log1p", "d", (1 << 26,), _HEAVY, None),
)


class _Colours(Operand):
    """Records of three bytes."""

    def make(self, xp: Any, shape: tuple[int, ...], seed: int) -> Any:
        return xp.zeros(3 * shape[0], np.uint8).view(_COLOURS)


def _programs() -> list[tuple[Program, float | None]]:
    found = []
    for text, dtypes, shape, body, aim in _FUSED:
        operands = tuple(Operand(kind, "C", tuple(range(len(shape)))) for kind in dtypes)
        build = partial(kerneltk.fuse, defined(body, len(operands)))
        found.append((Program(text, shape, operands, build, body), aim))
    for text, dtypes, shape, body, aim in _LOOPS:
        kind, _, layout = dtypes.partition(":")
        make = _Colours if kind == "colours" else Operand
        operand = make(kind, layout or "C", tuple(range(len(shape)))[::-1])
        build = partial(kerneltk.ElementwiseKernel, "T a", "T y", body, "program")
        found.append((Program(text, shape, (operand,), build), aim))
    return found


class _Compiled(Bench):
    """Compiles for torch once, and compares values until `is_warm`."""

    def __init__(self, cupy: Any, torch: Any) -> None:
        super().__init__(cupy, torch)
        self.is_warm = False
        self._compiled: dict[str, Any] = {}
        if torch is not None:  # which compiles eight functions of one line by default, and no more
            torch._dynamo.config.recompile_limit = 100

    def _by_torch(self, body: str, arrays: list[Any]) -> Callable[[], Any]:
        torch: Any = self._torch
        if body not in self._compiled:
            function = defined(body.replace(".max(", ".amax("), len(arrays), torch)
            self._compiled[body] = torch.compile(function, dynamic=False)
        return partial(self._compiled[body], *map(torch.from_dlpack, arrays))

    def _compared(self, program: Program, arrays: list[Any], results: tuple[Any, ...]) -> str:
        return "" if self.is_warm else super()._compared(program, arrays, results)


def _rows(cupy: Any, torch: Any, folder: Path, part: int, parts: int) -> list[list[Any]]:
    bench, chosen = _Compiled(cupy, torch), [*enumerate(_programs())][part::parts]
    problems = [bench.run(program, k).problem for k, (program, _) in chosen]
    bench.is_warm = True
    (folder / f"{part}.warm").touch()
    while len([*folder.glob("*.warm")]) < parts:
        time.sleep(0.1)
    rows = []
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for (k, (program, aim)), problem in zip(chosen, problems, strict=True):
            measured = bench.run(program, k)
            row = [k, str(program), measured.ours, aim, measured.theirs, measured.floor]
            try:
                arrays = [operand.make(cupy, program.shape, k) for operand in program.operands]
                found = kerneltk.report(program.build(), *arrays)
                row += [found.bound, max(found.alone.values()) / found.seconds]
            except Exception as error:  # the table says so
                row += [f"{type(error).__name__}: {first_line(error)}", None]
            rows.append([*row, problem or measured.problem])
            arrays = []
            cupy.get_default_memory_pool().free_all_blocks()
    return rows


def main() -> None:
    """Measure the table, or call each program once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--part", type=int, help="measure every jobs-th program, as JSON")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output")
    parser.add_argument("--commit", help="the commit that is measured, where git cannot tell")
    given = parser.parse_args()
    peers = Peers()
    cupy = needed_cupy(peers)
    if given.profile:
        for k, (program, _) in enumerate(_programs()):
            arrays = [operand.make(cupy, program.shape, k) for operand in program.operands]
            kernel = program.build()
            kernel(*arrays)
            cupy.cuda.profiler.start()
            kernel(*arrays)
            cupy.cuda.Device().synchronize()
            cupy.cuda.profiler.stop()
            print(k, program, flush=True)
            del arrays
            cupy.get_default_memory_pool().free_all_blocks()
        return
    if given.part is not None:
        rows = _rows(cupy, peers.get("torch"), given.output, given.part, given.jobs)
        (given.output / f"{given.part}.json").write_text(json.dumps(rows))
        return
    with tempfile.TemporaryDirectory() as folder:
        base = [sys.executable, __file__, f"--jobs={given.jobs}", f"--output={folder}"]
        jobs = [subprocess.Popen([*base, f"--part={k}"]) for k in range(given.jobs)]
        for job in jobs:
            job.wait()
        found = [
            row for path in Path(folder).glob("*.json") for row in json.loads(path.read_text())
        ]
    peers.get("torch")
    report = Report("unlisted", describe_machine(cupy) | peers.versions, commit(given.commit))
    table = report.table(
        "Fractions of a copy of the bytes that must move", "program", "kerneltk", "aim",
        "torch.compile", "floor, µs", "bound by", "by the code, of the time", "problem",
        notes=["bound by, and how much of the time the unit that is needed most takes by itself:"
               " kerneltk.report. No aim: arithmetic."],
    )  # fmt: skip
    for row in sorted(found):
        table.add(*row[1:])
    report.save(given.output)


if __name__ == "__main__":
    main()
