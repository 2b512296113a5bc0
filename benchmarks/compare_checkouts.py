"""Two checkouts of the package, front-end by front-end: launches, first calls, compiles, imports.

    cd benchmarks; python compare_checkouts.py OLD .. --out results/compare.txt
    python compare_checkouts.py OLD NEW --backend cuda

Every figure is of new processes, in which the checkouts take turns:

``launch, µs``
    A repeated call on 1024 elements, without waiting for the device; the least of a process's
    batches.
``first call, ms``
    A kernel is made and called for the first time; the disk cache knows it. The calling thread's
    CPU time, as of the import: what else runs on the machine counts less.
``compile, ms``
    The same of a kernel that no cache knows, where it knows what all kernels need (the runtime,
    headers): the CPU time of the process and its compilers.
``import, ms``
    ``import kerneltk`` and the front-end's class or decorator, beyond NumPy's own import.
``modules``
    Of the package, as they are loaded after the first call.

A ratio is the median of the rounds' ratios, the second checkout's by the first's. Compare a
checkout with itself to see what differs by chance.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cached_first_calls import CLASSES, MAKES, write_sources
from common import describe_machine
from first_calls_between import commit_of

KINDS = (
    *("elementwise", "reduction", "RawKernel", "load"),
    *("@jit.rawkernel", "@jit.kernel", "vectorize", "fuse"),
)
FIGURES = {
    "launch": ("launch, µs", 1e6),
    "first": ("first call, ms", 1e3),
    "compile": ("compile, ms", 1e3),
    "import": ("import, ms", 1e3),
    "modules": ("modules", 1.0),
}
KNOWN, NEW = 0, 100  # numbers of kernels: that of the filled cache, and the first of others

_CHILD = (
    """
import json, resource, sys, time
import numpy as np
clock, own_time = time.perf_counter, time.thread_time
kind, backend, number, batches, pause = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
begin = own_time()
import kerneltk
"""
    + CLASSES
    + """
else:
    getattr(kerneltk, kind)
imported = own_time() - begin
xp, wait = np, lambda: None
if backend == "cuda":
    import cupy as xp
    wait = xp.cuda.runtime.deviceSynchronize
x = xp.ones(1024, np.float32)
y = xp.zeros(1024, np.float32)
wait()
"""
    + MAKES
    + """
def spent():
    return sum(sum(resource.getrusage(who)[:2]) for who in
               (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))

before, begin = spent(), own_time()
call, correct = make(number)
found = call()
wait()
times = {"first": own_time() - begin, "compile": spent() - before, "import": imported}
times["modules"] = sum(name.partition(".")[0] == "kerneltk" for name in sys.modules)
if (y if found is None else found).ravel()[0] != correct:
    raise SystemExit("the result is wrong")
times["launch"] = float("inf")
for _ in range(batches):
    begin = clock()
    for _ in range(1000):
        call()
    times["launch"] = min(times["launch"], (clock() - begin) / 1000)
    wait()
time.sleep(pause)  # headers are precompiled in the background
print(json.dumps(times))
"""
)


class Checkout:
    """A checkout with a compile cache of its own."""

    def __init__(self, root: Path, work: Path, backend: str) -> None:
        self._root, self._work, self._backend = root, work, backend
        work.mkdir()
        (work / "child.py").write_text(_CHILD)
        write_sources(work, (KNOWN,))
        self._next = NEW

    def fill(self, kind: str) -> None:
        """Have the cache know a kernel, and what others need."""
        self._run(kind, KNOWN, 0, 4 if self._backend == "host" else 0)

    def sample(self, kind: str) -> dict[str, float]:
        """The figures of new processes."""
        self._next += 1
        write_sources(self._work, (self._next,))
        compiled = self._run(kind, self._next, 0, 0)["compile"]
        return {**self._run(kind, KNOWN, 7, 0), "compile": compiled}

    def _run(self, kind: str, number: int, batches: int, pause: int) -> dict[str, float]:
        # By `env`, since only the package's settings read the environment.
        changes = ["env", f"KERNELTK_CACHE_DIR={self._work}/cache", f"PYTHONPATH={self._root}"]
        numbers = map(str, (number, batches, pause))
        child = [sys.executable, "child.py", kind, self._backend, *numbers]
        done = subprocess.check_output([*changes, *child], text=True, cwd=self._work)
        times: dict[str, float] = json.loads(done)
        return times


def main() -> None:
    """Measure, and print or write a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs=2, type=Path, metavar="CHECKOUT")
    parser.add_argument("--backend", choices=("host", "cuda"), default="host")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS, metavar="KIND")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    cupy = None
    if given.backend == "cuda":
        import cupy
    lines = ["# compare-checkouts"]
    lines += [f"{k}: commit {commit_of(root)}" for k, root in enumerate(given.checkouts, 1)]
    lines += [f"{what}: {said}" for what, said in describe_machine(cupy).items()]
    lines += [f"{given.rounds} rounds, {given.backend}: medians, and the rounds' median ratio", ""]
    lines += [f"{'figure':16}{'front-end':16}{'1':>10}{'2':>10}{'2 / 1':>8}"]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as directory:
        checkouts = [
            Checkout(root.resolve(), Path(directory) / str(k), given.backend)
            for k, root in enumerate(given.checkouts)
        ]
        for kind in given.kinds:
            rows = list(_rows(checkouts, kind, given.rounds))
            lines += rows
            print("\n".join(rows), flush=True)
    if given.out is not None:
        given.out.write_text("\n".join(lines) + "\n")


def _rows(checkouts: list[Checkout], kind: str, rounds: int) -> Iterator[str]:
    for checkout in checkouts:
        checkout.fill(kind)
    samples: list[list[dict[str, float]]] = [[] for _ in checkouts]
    for number in range(rounds):
        order = (0, 1) if number % 2 else (1, 0)
        for k in order:
            samples[k].append(checkouts[k].sample(kind))
    for figure, (title, factor) in FIGURES.items():
        first, second = ([sample[figure] for sample in found] for found in samples)
        ratio = statistics.median(b / a for a, b in zip(first, second, strict=True))
        middles = (factor * statistics.median(column) for column in (first, second))
        yield f"{title:16}{kind:16}" + "".join(f"{m:10.2f}" for m in middles) + f"{ratio:8.3f}"


if __name__ == "__main__":
    main()
