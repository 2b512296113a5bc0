"""First calls of each front-end on the host, between checkouts of the package, side by side.

    cd benchmarks; python first_calls_between.py old=OLD new=.. --out results/first-calls.txt

Each call is the first one of a new process. The checkouts take turns, so that what else the machine
does meets all of them. CPU time is that of the whole process with its children, compilers among
them, less what it had used before the kernel was made.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from common import describe_machine

KINDS = ("elementwise", "reduction", "RawKernel", "@jit.rawkernel", "@jit.kernel")
CACHES = {
    "empty": "nothing was compiled on this machine before",
    "other kernels": "the cache holds what every kernel needs (headers precompiled too), not it",
    "this kernel": "a hit in the disk cache",
}

# The begin of a function of a child. It returns a kernel's first call, and what y[0] is then.
MAKE = """
def make(number):
    arguments = x, np.float32(2), y, np.int32(1024)
    if kind == "elementwise":
        kernel = kerneltk.ElementwiseKernel("T x, T a", "T y", "y = a * x + %d" % number, "first")
        return lambda: kernel(x, 2.0, y), 2 + number
    if kind == "reduction":
        strings = "T x", "T y", "x + %d" % number, "a + b", "y = a / 1024", "0"
        kernel = kerneltk.ReductionKernel(*strings)
        return lambda: kernel(x, y[:1].reshape(())), 1 + number
    if kind == "RawKernel":
        kernel = kerneltk.RawKernel(
            'extern "C" __global__ void first(const float* x, float a, float* y, int n) {'
            "const int i = blockIdx.x * blockDim.x + threadIdx.x;"
            "if (i < n) y[i] = a * x[i] + %d; }" % number, "first")
        return lambda: kernel((4,), (256,), arguments), 2 + number
"""

_CHILD = (
    """
import json, os, resource, sys, time
import numpy as np
import kerneltk
kind, numbers = sys.argv[1], [int(part) for part in sys.argv[2].split(",")]
x = np.ones(1024, np.float32)
y = np.zeros(1024, np.float32)

"""
    + MAKE
    + """    if kind == "@jit.rawkernel":
        def first(x, a, y, n):
            i = jit.grid(1)
            if i < n:
                y[i] = a * x[i] + number
        kernel = jit.rawkernel(first)
        return lambda: kernel[4, 256](*arguments), 2 + number
    def first(x, a):
        return a * x + number
    kernel = jit.kernel(first)
    return lambda: y.__setitem__(slice(None), kernel(x, np.float32(2))), 2 + number

jit = None
if kind.startswith("@"):
    from kerneltk import jit

def spent():
    return sum(sum(resource.getrusage(who)[:2]) for who in
               (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))

before = spent()
for position, number in enumerate(numbers):
    if position and position == len(numbers) - 1:
        time.sleep(4)  # headers are precompiled by then, and the last kernel takes them
    begin = time.perf_counter()
    call, correct = make(number)
    call()
    took = time.perf_counter() - begin
    if y[0] != correct:
        raise SystemExit("the result is wrong")
print(json.dumps((before, took)))
"""
)


def _sample(root: Path, kind: str, numbers: list[int], cache: str) -> tuple[float, float]:
    """Return wall and CPU time (s) of the last first call, of some in one process."""
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryFile() as output:
        script = Path(directory) / "child.py"  # kernels in Python are read from files
        script.write_text(_CHILD)
        # By `env`, since only the package's settings read the environment.
        changes = ["env", f"KERNELTK_CACHE_DIR={cache}", f"PYTHONPATH={root}"]
        child = [sys.executable, str(script), kind, ",".join(map(str, numbers))]
        process = subprocess.Popen([*changes, *child], stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{root}: {kind}: the process ended with {process.returncode}")
        output.seek(0)
        before, took = json.loads(output.read())
    return took, usage.ru_utime + usage.ru_stime - before


def commit_of(root: Path) -> str:
    """The commit of a checkout, as git describes it."""
    asked = subprocess.run(
        ["git", "-C", str(root), "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=True,
    )
    return asked.stdout.strip()


def main() -> None:
    """Measure, and print or write a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--caches", nargs="+", choices=CACHES, default=list(CACHES))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    pairs = (checkout.partition("=") for checkout in given.checkouts)
    roots = {name: Path(path).resolve() for name, _, path in pairs}
    lines = ["# first-calls"]
    lines += [f"{name}: commit {commit_of(root)}" for name, root in roots.items()]
    lines += [f"{what}: {text}" for what, text in describe_machine().items()]
    lines += [
        f"{given.rounds} rounds: the least and the median, ms; ratio of the least to the first's"
    ]
    lines += [f"cache {name}: {why}" for name, why in CACHES.items() if name in given.caches]
    head = f"{'kernel':16}{'cache':15}{'checkout':12}{'CPU least':>11}{'median':>9}{'ratio':>8}"
    lines += ["", head + f"{'wall least':>12}{'median':>9}{'ratio':>8}"]
    print("\n".join(lines), flush=True)
    for kind in given.kinds:
        for cache in given.caches:
            lines += _row(roots, kind, cache, given.rounds)
            print("\n".join(lines[-len(roots) :]), flush=True)
            if given.out is not None:
                given.out.write_text("\n".join(lines) + "\n")


def _row(roots: dict[str, Path], kind: str, cache: str, rounds: int) -> list[str]:
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in roots}
    with tempfile.TemporaryDirectory() as directory:
        kept = {name: f"{directory}/{name}" for name in roots}
        for name, root in roots.items():
            if cache != "empty":
                _sample(root, kind, [90, 91, 92, 93, 94], kept[name])
        for number in range(1, rounds + 1):
            names = list(roots)
            for name in names if number % 2 else reversed(names):
                if cache == "empty":
                    with tempfile.TemporaryDirectory() as new:
                        times[name].append(_sample(roots[name], kind, [number], new))
                else:
                    which = number if cache == "other kernels" else 94
                    times[name].append(_sample(roots[name], kind, [which], kept[name]))
    columns = {
        name: [
            figure
            for which in (1, 0)
            for figure in (min(t[which] for t in found), statistics.median(t[which] for t in found))
        ]
        for name, found in times.items()
    }
    first = next(iter(columns.values()))
    return [
        f"{kind:16}{cache:15}{name:12}"
        f"{1e3 * cpu:11.1f}{1e3 * cpu_median:9.1f}{cpu / first[0]:8.3f}"
        f"{1e3 * wall:12.1f}{1e3 * wall_median:9.1f}{wall / first[2]:8.3f}"
        for name, (cpu, cpu_median, wall, wall_median) in columns.items()
    ]


if __name__ == "__main__":
    main()
