"""Python's part of first calls whose code is in the disk cache, on the host.

    cd benchmarks; python cached_first_calls.py old=OLD new=.. --out results/cached-first-calls.txt

A kernel is made and called; what is measured is the CPU time of the thread that does. `first` is
the first kernel of a process, `apart` the same with the modules loaded that it loads, `later` any
further one, of another source. The checkouts take turns, each time in a new process, so that what
else the machine does meets all of them. The loader's part, of libraries, is in these times.

Of `fuse`, `first` is everything beyond `import numpy, kerneltk`: its decorator is loaded, too. Of
the others it is everything beyond their classes and decorators.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from common import describe_machine
from first_calls_between import MAKE, commit_of

KINDS = (
    "elementwise",
    "reduction",
    "RawKernel",
    "load",
    "@jit.rawkernel",
    "@jit.kernel",
    "fuse",
    "fuse, a sum",
)
KERNELS = 9  # of a process

_SOURCE = """
def raw{number}(x, a, y, n):
    i = jit.grid(1)
    if i < n:
        y[i] = a * x[i] + {number}

def element{number}(x, a):
    return a * x + {number}
"""
_FUSED = """
def plain{number}(x, a):
    return a * x + {number}

def total{number}(x, a):
    return a * x + {number} + (x - x).sum()
"""
_CUDA = (
    '#include "number.h"\n#include <vector>\n\n__global__ void first(const float* x, float a, '
    "float* y, int n) {\n    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) y[i] = plus(a * x[i], %d);\n}\n\nint main() {\n    std::vector<float> v;\n}\n"
)
_HEADER = "inline __device__ float plus(float x, int n) { return x + n; }\n"


def write_sources(work: Path, numbers: Iterable[int]) -> None:
    """Write the files that `MAKES` reads kernels of these numbers from."""
    for number in numbers:
        head = "from kerneltk import jit\n"
        (work / f"sources{number}.py").write_text(head + _SOURCE.format(number=number))
        (work / f"fused{number}.py").write_text(_FUSED.format(number=number))
        (work / f"first{number}.cu").write_text(_CUDA % number)
    (work / "number.h").write_text(_HEADER)


# Lines of a child: classes and decorators are loaded when they are first mentioned.
CLASSES = """
if kind[0] == "@":
    from kerneltk import jit
    jit.kernel, jit.rawkernel
elif kind in ("elementwise", "reduction", "RawKernel", "load"):
    classes = {"elementwise": "ElementwiseKernel", "reduction": "ReductionKernel"}
    getattr(kerneltk, classes.get(kind, "RawKernel"))
"""
MAKES = (
    """
from importlib import import_module
"""
    + MAKE
    + """    if kind == "load":
        kernel = kerneltk.load("first%d.cu" % number).first
        return lambda: kernel((4,), (256,), arguments), 2 + number
    if kind.startswith("fuse"):
        name = "%s%d" % ("total" if "sum" in kind else "plain", number)
        function = kerneltk.fuse(getattr(import_module("fused%d" % number), name))
        return lambda: function(x, np.float32(2)), 2 + number
    if kind == "vectorize":
        name = "plain%d" % number
        kernel = kerneltk.vectorize(getattr(import_module("fused%d" % number), name))
        return lambda: kernel(x, np.float32(2)), 2 + number
    sources = import_module("sources%d" % number)
    if kind == "@jit.rawkernel":
        kernel = jit.rawkernel(getattr(sources, "raw%d" % number))
        return lambda: kernel[4, 256](*arguments), 2 + number
    kernel = jit.kernel(getattr(sources, "element%d" % number))
    return lambda: kernel(x, np.float32(2)), 2 + number
"""
)

_CHILD = (
    """
import gc, importlib, json, sys, time
import numpy as np
import kerneltk
kind, modules, number_of_kernels = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
x = np.ones(1024, np.float32)
y = np.zeros(1024, np.float32)
"""
    + CLASSES
    + MAKES
    + """
for number in range(number_of_kernels):
    import_module(("sources%d" if kind[0] == "@" else "fused%d") % number)
before = set(sys.modules)
for module in modules:
    importlib.import_module(module)
gc.disable()
times = []
for number in range(number_of_kernels):
    begin = time.thread_time_ns()
    call, correct = make(number)
    found = call()
    times.append(time.thread_time_ns() - begin)
    if (y if found is None else found).ravel()[0] != correct:
        raise SystemExit("the result is wrong")
print(json.dumps((times, [name for name in sys.modules if name not in before])))
"""
)


def _sample(root: Path, kind: str, modules: list[str], work: Path) -> tuple[list[int], list[str]]:
    """Return the times (ns) of the kernels of one process, and the modules that they loaded."""
    # By `env`, since only the package's settings read the environment.
    changes = ["env", f"KERNELTK_CACHE_DIR={work}/cache", f"PYTHONPATH={root}"]
    child = [sys.executable, "child.py", kind, json.dumps(modules), str(KERNELS)]
    times, loaded = json.loads(subprocess.check_output([*changes, *child], text=True, cwd=work))
    return times, loaded


def main() -> None:
    """Measure, and print or write a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    pairs = (checkout.partition("=") for checkout in given.checkouts)
    roots = {name: Path(path).resolve() for name, _, path in pairs}
    lines = ["# cached-first-calls"]
    lines += [f"{name}: commit {commit_of(root)}" for name, root in roots.items()]
    lines += [f"{what}: {text}" for what, text in describe_machine().items()]
    lines += [
        f"{given.rounds} rounds of {KERNELS} kernels: CPU time of the calling thread, ms; the",
        "least and the median of the processes, for `later` of their medians",
        "",
    ]
    head = "".join(f"{name + ' least':>14}{'median':>9}" for name in ("first", "apart", "later"))
    lines += [f"{'kernel':16}{'checkout':12}{head}"]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as directory:
        for kind in given.kinds:
            rows = _rows(roots, kind, given.rounds, Path(directory))
            lines += rows
            print("\n".join(rows), flush=True)
    if given.out is not None:
        given.out.write_text("\n".join(lines) + "\n")


def _rows(roots: dict[str, Path], kind: str, rounds: int, directory: Path) -> list[str]:
    modules: dict[str, list[str]] = {}
    times: dict[str, list[tuple[float, float, float]]] = {name: [] for name in roots}
    for name, root in roots.items():
        work = directory / name
        work.mkdir(exist_ok=True)
        (work / "child.py").write_text(_CHILD)
        write_sources(work, range(KERNELS))
        _sample(root, kind, [], work)  # fills the cache
        modules[name] = _sample(root, kind, [], work)[1]
    for number in range(rounds):
        for name in roots if number % 2 else reversed(list(roots)):
            first, *later = _sample(roots[name], kind, [], directory / name)[0]
            apart = _sample(roots[name], kind, modules[name], directory / name)[0][0]
            times[name].append((first, apart, statistics.median(later)))
    return [
        f"{kind:16}{name:12}"
        + "".join(
            f"{min(column) / 1e6:14.2f}{statistics.median(column) / 1e6:9.2f}"
            for column in zip(*found, strict=True)
        )
        for name, found in times.items()
    ]


if __name__ == "__main__":
    main()
