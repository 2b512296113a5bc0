"""First calls of kernels that are made anew from a source that the process knows, on the host.

    cd benchmarks; python fresh_kernels.py old=OLD new=.. --out results/fresh-kernels.txt

What is left is Python's part of a first call: no compiler, no disk, no import. The checkouts take
turns, each time in a new process. Least CPU times of the process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from common import describe_machine
from first_calls_between import commit_of

_CHILD = """
import gc, json, sys, time
import numpy as np
import kerneltk

x = np.ones(1024, np.float32)
table = np.ones((32, 33), np.float32)[:, :32]
y, total = np.zeros_like(x), np.zeros((), np.float32)
ROWS = {
    "elementwise": (kerneltk.ElementwiseKernel,
        ("T x, T a", "T y", "y = a * x + 2", "first"), (x, 2.0, y)),
    "elementwise, raw and strided": (kerneltk.ElementwiseKernel,
        ("T x, raw T w", "T y", "y = x + w[i]; if (y > 3) y = 0", "second"), (table, x)),
    "reduction": (kerneltk.ReductionKernel,
        ("T x", "T y", "x + 1", "a + b", "y = a / 1024", "0"), (x, total)),
    "reduction, strided": (kerneltk.ReductionKernel,
        ("T x, T y", "T z", "x * y", "a + b", "z = sqrt(a)", "0", "norm"), (table, table)),
}
gc.disable()
least = {}
for name, (make, texts, arguments) in ROWS.items():
    for _ in range(int(sys.argv[1])):
        times = [time.process_time_ns()]
        kernel = make(*texts)
        times.append(time.process_time_ns())
        for _ in range(2):
            kernel(*arguments)
            times.append(time.process_time_ns())
        for part, begin, end in zip(("made", "first call", "second call"), times, times[1:]):
            row = f"{name}: {part}"
            least[row] = min(least.get(row, end), end - begin)
    gc.collect()
print(json.dumps(least))
"""


def main() -> None:
    """Measure, and print or write a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    pairs = (checkout.partition("=") for checkout in given.checkouts)
    roots = {name: Path(path).resolve() for name, _, path in pairs}
    least: dict[str, dict[str, int]] = {}
    with tempfile.TemporaryDirectory() as directory:
        for number in range(given.rounds):
            for name in roots if number % 2 else reversed(list(roots)):
                # By `env`, since only the package's settings read the environment.
                cache = f"KERNELTK_CACHE_DIR={directory}/{name}"
                child = ["env", cache, f"PYTHONPATH={roots[name]}", sys.executable, "-c", _CHILD]
                told = subprocess.check_output([*child, str(given.calls)], text=True)
                for row, time in json.loads(told).items():
                    known = least.setdefault(row, {})
                    known[name] = min(known.get(name, time), time)
    lines = ["# fresh-kernels"]
    lines += [f"{name}: commit {commit_of(root)}" for name, root in roots.items()]
    lines += [f"{what}: {text}" for what, text in describe_machine().items()]
    lines += [f"least of {given.rounds} processes of {given.calls} kernels each: CPU, us; ratio to"]
    lines += ["the first checkout's", "", f"{'':44}" + "".join(f"{name:>16}" for name in roots)]
    for row, times in least.items():
        first = next(times[name] for name in roots)
        columns = (f"{times[name] / 1e3:9.1f}{times[name] / first:7.3f}" for name in roots)
        lines.append(f"{row:44}" + "".join(columns))
    print("\n".join(lines))
    if given.out is not None:
        given.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
