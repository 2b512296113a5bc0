"""First calls of a kernel in new processes, with an empty and a filled cache."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from common import Report, Table, first_line, judge

_PROCESSES = 9
FRONT_ENDS = ("ElementwiseKernel", "ReductionKernel", "RawKernel")

# Run in processes of their own. Everything but the calls to be timed comes before them.
_CHILD = '''
import json, sys, time
clock = time.perf_counter
begin = clock()
import numpy as np
numpy_done = clock()
import kerneltk
kerneltk_done = clock()
backend, front_end, number = sys.argv[1:]
Kernel = getattr(kerneltk, front_end)  # imported when it is first asked for
times = {
    "numpy": numpy_done - begin,
    "kerneltk": kerneltk_done - numpy_done,
    "class": clock() - kerneltk_done,
}
if backend == "cuda":
    import cupy as xp
    wait = xp.cuda.runtime.deviceSynchronize
else:
    xp, wait = np, lambda: None
x = xp.ones(1024, np.float32)
part = int(number) / 1024
if front_end == "ElementwiseKernel":
    texts = ("T x, T a", "T y", "y = a * x + %sf" % (1 + part), "first")
    y, scalars, correct = xp.empty_like(x), (2.0,), 3 + part
elif front_end == "RawKernel":
    texts = (
        """
        extern "C" __global__ void first(const float* x, float a, float* y, int n) {
            const int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) y[i] = a * x[i] + %sf;
        }
        """
        % (1 + part),
        "first",
    )
    y, correct = xp.empty_like(x), 3 + part
else:
    texts = ("T x", "T y", "x * %sf" % (1 + part), "a + b", "y = a", "0", "first")
    y, scalars, correct = xp.empty((), np.float32), (), 1024 + int(number)
if front_end == "RawKernel":
    grid, block, arguments = (4,), (256,), (x, 2.0, y, 1024)
    call = lambda: kernel(grid, block, arguments)
    build = lambda target: kernel.compile_for(target)
else:
    call = lambda: kernel(x, *scalars, y)
    build = lambda target: kernel.compile(x, *scalars, y, target=target)
wait()
if backend == "cuda":
    from cuda.bindings import driver
    from kerneltk.backends import nvrtc
    from kerneltk.core.artifacts import TranslationUnit
    target = nvrtc.target_for("sm_" + xp.cuda.Device().compute_capability)
    warm = TranslationUnit("cuda", 'extern "C" __global__ void warm() {}', "warm")
    driver.cuModuleLoadData(nvrtc.compile(warm, target).code)
begin = clock()
kernel = Kernel(*texts)
call()
wait()
times["first"] = clock() - begin
begin = clock()
call()
wait()
times["second"] = clock() - begin
if not bool((abs(y - correct) <= 1e-5 * correct).all()):
    raise SystemExit("the first call's result is wrong")
calls = 1000
for _ in range(2):
    begin = clock()
    for _ in range(calls):
        call()
    times["further"] = (clock() - begin) / calls
    wait()
if backend == "cuda":
    code = build(target.architecture)
    loads = []
    for _ in range(9):
        begin = clock()
        driver.cuModuleLoadData(code.code)
        loads.append(clock() - begin)
    times["load"] = sorted(loads)[4]
print(json.dumps(times))
'''


def _child(backend: str, front_end: str, number: int, cache: str) -> dict[str, float]:
    """Return the times (s) of one process that makes kernel `number`, with a cache directory."""
    root = Path(__file__).resolve().parent.parent
    # By `env`, since only the package's settings read the environment.
    command = ["env", f"KERNELTK_CACHE_DIR={cache}", sys.executable, "-c", _CHILD]
    done = subprocess.run(
        [*command, backend, front_end, str(number)],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or "no message").splitlines()[-1])
    times: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return times


def first_calls(report: Report, targets: Table, backend: str, front_end: str) -> None:
    """Add a table of first calls, and what it says to the targets.

    Parameters
    ----------
    report : Report
    targets : Table
    backend : {"host", "cuda"}
    front_end : {"ElementwiseKernel", "ReductionKernel", "RawKernel"}
    """
    table = report.table(
        f"{front_end}: first calls in new processes, {backend}, ms (median of {_PROCESSES})",
        *("cache", "import numpy", "import kerneltk", "the class", "first call", "slowest"),
        *("second call", "module load", "first call - load", "further calls, µs"),
        notes=[
            "import kerneltk: beyond NumPy's; the class: what its first mention imports. Neither "
            "counts into the first call.",
            "empty: nothing compiled on this machine before. other kernels: the cache holds "
            "what every kernel needs, not this one. this kernel: a hit in the disk cache.",
            "module load: cuModuleLoadData of the same object code by itself, once the context "
            "and another module are there.",
            "further calls: the mean of 1000 calls on 1024 elements, without waiting for a device.",
        ],
    )

    def child(number: int, cache: str) -> dict[str, float]:
        return _child(backend, front_end, number, cache)

    def empty() -> Iterator[dict[str, float]]:
        for number in range(_PROCESSES):
            with tempfile.TemporaryDirectory() as cache:
                yield child(number, cache)

    kinds: dict[str, list[dict[str, float]]] = {}
    try:
        kinds["empty"] = list(empty())
        with tempfile.TemporaryDirectory() as cache:
            child(0, cache)
            kinds["other kernels"] = [child(k + 1, cache) for k in range(_PROCESSES)]
            kinds["this kernel"] = [child(k + 1, cache) for k in range(_PROCESSES)]
    except Exception as error:  # reported in the table
        cells = [None] * (len(table.columns) - 2)
        table.add("error", f"error: {type(error).__name__}: {first_line(error)}", *cells)
    for kind, runs in kinds.items():

        def middle(name: str, runs: list[dict[str, float]] = runs) -> float | None:
            values = [times[name] for times in runs if name in times]
            return 1e3 * statistics.median(values) if values else None

        beyond = [times["first"] - times["load"] for times in runs if "load" in times]
        table.add(
            kind,
            middle("numpy"),
            middle("kerneltk"),
            middle("class"),
            middle("first"),
            1e3 * max(times["first"] for times in runs),
            middle("second"),
            middle("load"),
            1e3 * statistics.median(beyond) if beyond else None,
            1e6 * statistics.median(times["further"] for times in runs),
        )
    _judge_all(targets, table, backend, front_end)


def _judge_all(targets: Table, table: Table, backend: str, front_end: str) -> None:
    rows = {str(row[0]): row for row in table.rows}

    def cell(kind: str, column: str) -> float | None:
        value = rows[kind][table.columns.index(column)] if kind in rows else None
        return value if isinstance(value, float) else None

    who = f"{backend}, {front_end}"
    judge(
        targets, f"{who}: first call of a new kernel, ms", cell("other kernels", "first call"), 300
    )
    cuda = backend == "cuda"
    judge(
        targets,
        f"{who}: first call from the disk cache{', beyond the module load' if cuda else ''}, ms",
        cell("this kernel", "first call - load" if cuda else "first call"),
        1 if cuda else 10,
    )
    imports = [
        cell("this kernel", name) for name in ("import numpy", "import kerneltk", "the class")
    ]
    numpy, package, front = (value or 0.0 for value in imports)
    if None not in imports:
        judge(targets, f"{who}: import kerneltk / import numpy", (numpy + package) / numpy, 1.3)
        whole = (numpy + package + front) / numpy
        judge(targets, f"{who}: the same with the class", whole, 1.3)
