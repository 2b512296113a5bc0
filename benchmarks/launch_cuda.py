"""Host time of launches on a GPU, above that of a C loop of ``cuLaunchKernel`` in the same rounds.

Each table is a race: the C loop, which launches a kernel of as many arguments, has its turn in
every round, and what counts is the median over the rounds of a line's time less the loop's.
"""

from __future__ import annotations

import ctypes
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import Call, Clock, Peers, Report, Result, judge, race, scaled

import kerneltk
from kerneltk import jit

LENGTH = 1024
BLOCK = 256
# Fewer calls than the driver queues (1024): past that a call waits for the device.
CALLS, ROUNDS = 500, 31
GRAPH_LAUNCHES = 100

_LOOP = """
#include <time.h>
typedef int (*launch_type)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, void *, void **, void **);
double loop(launch_type launch, void *function, unsigned blocks, unsigned threads, void **values,
            long count) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long k = 0; k < count; ++k)
        if (launch(function, blocks, 1, 1, threads, 1, 1, 0, 0, values, 0)) return -1;
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (end.tv_sec - begin.tv_sec) + 1e-9 * (end.tv_nsec - begin.tv_nsec);
}
"""
_ADD = """
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
"""
_MANY = 16
_NAMES = [f"x{k}" for k in range(_MANY)]
_SUM = f"""
extern "C" __global__ void sum_all({", ".join(f"float* {name}" for name in _NAMES)}, int n) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x0[i] = {" + ".join(f"{name}[i]" for name in _NAMES[1:])};
}}
"""
_AXPB = ("T x, T a, T b", "T y", "y = a * x + b", "axpb")
_SQUARES = ("T x", "T y", "x * x", "a + b", "y = a", "0", "sum_of_squares")
_FLOOR = "C loop of cuLaunchKernel"

Entrants = dict[str, Callable[[], Call]]


class _Floor:
    """Launches of a kernel in a loop in C: a call of it is one launch, `run` many."""

    def __init__(self, cupy: Any, code: str, name: str, values: Sequence[Any]) -> None:
        from cuda.bindings import driver

        from kerneltk.backends.cuda import nvrtc
        from kerneltk.core.artifacts import TranslationUnit

        capability = cupy.cuda.Device().compute_capability
        unit = TranslationUnit("cuda", code, name)
        compiled = nvrtc.compile(unit, nvrtc.target_for(f"sm_{capability}"))
        result, module = driver.cuModuleLoadData(compiled.code)
        if result == driver.CUresult.CUDA_SUCCESS:
            result, function = driver.cuModuleGetFunction(module, name.encode())
        if result != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"loading the bare kernel failed: {result}")
        self.function, self._module, self._values = function, module, values
        self.types = tuple(
            ctypes.c_int if isinstance(value, int) else ctypes.c_void_p for value in values
        )
        self.plain = tuple(value if isinstance(value, int) else value.data.ptr for value in values)
        held = [kind(value) for kind, value in zip(self.types, self.plain, strict=True)]
        self._held = held
        self.pointers = (ctypes.c_void_p * len(held))(*map(ctypes.addressof, held))
        self._loop = _compiled_loop()
        self._launch = ctypes.cast(ctypes.CDLL("libcuda.so.1").cuLaunchKernel, ctypes.c_void_p)

    def run(self, count: int) -> float:
        """Launch so many times; returns seconds."""
        seconds = self._loop(
            self._launch, int(self.function), LENGTH // BLOCK, BLOCK, self.pointers, count
        )
        if seconds < 0:
            raise RuntimeError("cuLaunchKernel failed")
        return float(seconds)

    def __call__(self) -> None:
        """Launch once."""
        self.run(1)


_library: list[Any] = []


def _compiled_loop() -> Any:
    if not _library:
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise RuntimeError("the C loop needs a C compiler: cc or gcc")
        with tempfile.TemporaryDirectory() as directory:
            source, made = Path(directory, "loop.c"), Path(directory, "loop.so")
            source.write_text(_LOOP, encoding="utf-8")
            words = [compiler, "-O2", "-shared", "-fPIC", "-o", str(made), str(source)]
            subprocess.run(words, check=True, capture_output=True)
            _library.append(ctypes.CDLL(str(made)))
    loop = _library[0].loop
    loop.restype = ctypes.c_double
    loop.argtypes = (
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint, ctypes.c_void_p,
        ctypes.c_long,
    )  # fmt: skip
    return loop


def _clock(cupy: Any, calls: int = CALLS) -> Clock:
    """A clock of the host's time for one call; the device is idle when it begins."""

    def clock(call: Call) -> list[float]:
        cupy.cuda.runtime.deviceSynchronize()
        if isinstance(call, _Floor):
            times = [call.run(calls) / calls]
        else:
            begin = time.perf_counter()
            for _ in range(calls):
                call()
            times = [(time.perf_counter() - begin) / calls]
        cupy.cuda.runtime.deviceSynchronize()
        return times

    return clock


def _above(result: Result, floor: Result) -> float | None:
    """The median over the rounds of a line's time less the loop's, in µs."""
    if result.seconds is None or floor.seconds is None:
        return None
    pairs = zip(result.rounds, floor.rounds, strict=True)
    return 1e6 * statistics.median(a[0] - b[0] for a, b in pairs)


class _Arrays:
    """Arrays of CuPy, and the same memory as tensors of torch where that is installed."""

    def __init__(self, cupy: Any, torch: Any) -> None:
        self.cupy = [cupy.arange(LENGTH, dtype=np.float32) + k for k in range(_MANY)]
        self.torch = None
        if torch is not None:
            self.torch = [torch.from_dlpack(array) for array in self.cupy]


def _each_kind(arrays: _Arrays, make: Callable[[list[Any]], Entrants]) -> Entrants:
    """Our entrants with CuPy's arrays, and the same with torch's tensors."""
    entrants = make(arrays.cupy)
    if arrays.torch is not None:
        entrants |= {f"{name}, torch tensors": one for name, one in make(arrays.torch).items()}
    return entrants


# -- kernels in CUDA C++ --------------------------------------------------------------------------


def _raw(cupy: Any, peers: Peers, arrays: _Arrays, code: str, name: str, count: int) -> Entrants:
    grid, block = (LENGTH // BLOCK,), (BLOCK,)
    floor = _Floor(cupy, code, name, (*arrays.cupy[:count], LENGTH))
    n = np.int32(LENGTH)

    def ours(x: list[Any]) -> Entrants:
        checked = kerneltk.RawKernel(code, name)
        unchecked = kerneltk.RawKernel(code, name, checks=False)
        arguments = (*x[:count], n)
        return {
            "ours, checked": lambda: lambda: checked(grid, block, arguments),
            "ours, checks=False": lambda: lambda: unchecked(grid, block, arguments),
        }

    entrants: Entrants = {_FLOOR: lambda: floor, **_each_kind(arrays, ours)}
    theirs = cupy.RawKernel(code, name)
    arguments = (*arrays.cupy[:count], n)
    entrants["CuPy RawKernel"] = lambda: lambda: theirs(grid, block, arguments)
    entrants |= _bindings(floor)
    entrants |= _numba_raw(peers, arrays.cupy[:count])
    entrants |= _triton(peers, arrays, count)
    return entrants


def _bindings(floor: _Floor) -> Entrants:
    from cuda.bindings import driver

    launch, blocks, packed = (
        driver.cuLaunchKernel,
        LENGTH // BLOCK,
        ctypes.addressof(floor.pointers),
    )
    values = (floor.plain, floor.types)
    function = floor.function
    return {
        "cuda.bindings, packed before": lambda: (
            lambda: launch(function, blocks, 1, 1, BLOCK, 1, 1, 0, 0, packed, 0)
        ),
        "cuda.bindings": lambda: (
            lambda: launch(function, blocks, 1, 1, BLOCK, 1, 1, 0, 0, values, 0)
        ),
    }


def _numba_raw(peers: Peers, arrays: list[Any]) -> Entrants:
    if peers.get("numba") is None:
        return {}

    def build() -> Call:
        from numba import cuda

        names = ", ".join(_NAMES[: len(arrays)])
        total = " + ".join(f"{name}[i]" for name in _NAMES[1 : len(arrays)])
        source = f"def kernel({names}, n):\n    i = cuda.grid(1)\n    if i < n: x0[i] = {total}\n"
        namespace = {"cuda": cuda}
        exec(source, namespace)
        kernel = cuda.jit(namespace["kernel"])[LENGTH // BLOCK, BLOCK]
        device = [cuda.as_cuda_array(array) for array in arrays]
        return lambda: kernel(*device, LENGTH)

    return {"numba-cuda": build}


_TRITON = """
import triton
import triton.language as tl

@triton.jit
def kernel({names}, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    total = tl.load(x1 + i, mask=inside)
{sums}
    tl.store(x0 + i, total, mask=inside)
"""


def _triton(peers: Peers, arrays: _Arrays, count: int) -> Entrants:
    if arrays.torch is None or peers.get("triton") is None:
        return {}
    tensors = arrays.torch[:count]

    def build() -> Call:
        import importlib.util

        sums = "\n".join(
            f"    total += tl.load({name} + i, mask=inside)" for name in _NAMES[2:count]
        )
        source = _TRITON.format(names=", ".join(_NAMES[:count]), sums=sums)
        # Triton reads the source of its functions from files.
        path = Path(tempfile.mkdtemp(prefix="launch-")) / "kernel.py"
        path.write_text(source, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(f"triton_kernel_{count}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        launcher = module.kernel[(LENGTH // BLOCK,)]
        return lambda: launcher(*tensors, LENGTH, BLOCK=BLOCK)

    return {"triton": build}


# -- kernels from expressions and from Python ------------------------------------------------------


def _elementwise(cupy: Any, peers: Peers, arrays: _Arrays) -> Entrants:
    kernel, theirs = kerneltk.ElementwiseKernel(*_AXPB), cupy.ElementwiseKernel(*_AXPB)
    torch = peers.get("torch")

    def ours(x: list[Any]) -> Entrants:
        return {
            "ours, out": lambda: lambda: kernel(x[0], 2.0, 1.0, x[1]),
            "ours, allocating": lambda: lambda: kernel(x[0], 2.0, 1.0),
        }

    x, y = arrays.cupy[:2]
    entrants = _each_kind(arrays, ours)
    entrants["CuPy, out"] = lambda: lambda: theirs(x, 2.0, 1.0, y)
    entrants["CuPy, allocating"] = lambda: lambda: theirs(x, 2.0, 1.0)
    entrants["cupy.ndarray alone"] = lambda: lambda: cupy.ndarray((LENGTH,), np.float32)
    if arrays.torch is not None:
        u, v = arrays.torch[:2]
        entrants["torch.add, out"] = lambda: lambda: torch.add(u, 1.0, out=v)
        entrants["torch.add, allocating"] = lambda: lambda: torch.add(u, 1.0)
        entrants["torch.empty_like alone"] = lambda: lambda: torch.empty_like(u)
    return entrants


def _reduction(cupy: Any, peers: Peers, arrays: _Arrays) -> Entrants:
    kernel, theirs = kerneltk.ReductionKernel(*_SQUARES), cupy.ReductionKernel(*_SQUARES)

    def ours(x: list[Any]) -> Entrants:
        rows = x[0].reshape(32, -1)
        single = x[1][:1].reshape(())
        return {
            "ours, all, out": lambda: lambda: kernel(x[0], out=single),
            "ours, all, allocating": lambda: lambda: kernel(x[0]),
            "ours, axis 1, allocating": lambda: lambda: kernel(rows, axis=1),
        }

    x = arrays.cupy[0]
    rows = x.reshape(32, -1)
    entrants = _each_kind(arrays, ours)
    entrants["CuPy, all, allocating"] = lambda: lambda: theirs(x)
    entrants["CuPy, axis 1, allocating"] = lambda: lambda: theirs(rows, axis=1)
    if arrays.torch is not None:
        u = arrays.torch[0]
        entrants["torch.dot(x, x)"] = lambda: lambda: u.dot(u)
        entrants["torch.sum"] = lambda: u.sum
    return entrants


def _functions(cupy: Any, peers: Peers, arrays: _Arrays) -> Entrants:
    from cupyx import jit as cupyx_jit

    @jit.rawkernel
    def add(x, y, z, n):  # type: ignore[no-untyped-def]
        i = jit.grid(1)
        if i < n:
            z[i] = x[i] + y[i]

    @jit.kernel
    def axpb(x, y):  # type: ignore[no-untyped-def]
        return 2 * x + y

    @cupyx_jit.rawkernel()
    def theirs(x, y, z, n):  # type: ignore[no-untyped-def]
        i = cupyx_jit.grid(1)
        if i < n:
            z[i] = x[i] + y[i]

    configured = add[LENGTH // BLOCK, BLOCK]
    n = np.int32(LENGTH)

    def ours(x: list[Any]) -> Entrants:
        return {
            "ours, @rawkernel": lambda: lambda: configured(x[0], x[1], x[2], n),
            "ours, @rawkernel, [grid, block] each time": lambda: (
                lambda: add[LENGTH // BLOCK, BLOCK](x[0], x[1], x[2], n)
            ),
            "ours, @kernel, out": lambda: lambda: axpb(x[0], x[1], out=x[2]),
            "ours, @kernel, allocating": lambda: lambda: axpb(x[0], x[1]),
        }

    x = arrays.cupy
    entrants = _each_kind(arrays, ours)
    entrants["cupyx.jit.rawkernel"] = lambda: (
        lambda: theirs[LENGTH // BLOCK, BLOCK](x[0], x[1], x[2], n)
    )
    return entrants | _numba_raw(peers, x[:3])


# -- graphs ----------------------------------------------------------------------------------------


def _graphs(cupy: Any, peers: Peers, arrays: _Arrays) -> Entrants:
    kernel = kerneltk.ElementwiseKernel(*_AXPB)
    x, y = arrays.cupy[:2]

    def eager() -> None:
        for _ in range(GRAPH_LAUNCHES):
            kernel(x, 2.0, 1.0, y)

    def recorded() -> Call:
        eager()
        with kerneltk.graph() as graph:
            eager()
        launch: Call = graph.launch
        return launch

    return {"eager": lambda: eager, "kerneltk.graph": recorded}


# -- all of it -------------------------------------------------------------------------------------

_LIMITS = {
    "raw kernel, 3 arrays, int": {"ours, checked": 0.5},
    "raw kernel, 16 arrays, int": {"ours, checked": 1.2},
    "elementwise": {"ours, out": 0.8, "ours, allocating": 2.0},
    "reduction": {"ours, all, allocating": 2.2},
    "kernels in Python": {"ours, @rawkernel": 0.6, "ours, @kernel, allocating": 2.2},
}
_TENSORS = {  # how many tensors each line has
    "raw kernel, 3 arrays, int": {"ours, checked": 3},
    "raw kernel, 16 arrays, int": {"ours, checked": 16},
    "elementwise": {"ours, out": 2, "ours, allocating": 2},
    "reduction": {"ours, all, allocating": 2},
    "kernels in Python": {"ours, @rawkernel": 3, "ours, @kernel, allocating": 3},
}


def launches(report: Report, cupy: Any, peers: Peers) -> None:
    """Add the tables of launches, and how far they are above the C loop."""
    arrays = _Arrays(cupy, peers.get("torch"))
    floor: Entrants = {_FLOOR: lambda: _Floor(cupy, _ADD, "add", (*arrays.cupy[:3], LENGTH))}
    races = {
        "raw kernel, 3 arrays, int": lambda: _raw(cupy, peers, arrays, _ADD, "add", 3),
        "raw kernel, 16 arrays, int": lambda: _raw(cupy, peers, arrays, _SUM, "sum_all", _MANY),
        "elementwise": lambda: floor | _elementwise(cupy, peers, arrays),
        "reduction": lambda: floor | _reduction(cupy, peers, arrays),
        "kernels in Python": lambda: floor | _functions(cupy, peers, arrays),
    }
    all_raced: dict[str, dict[str, Result]] = {}
    for title, entrants in races.items():
        raced = all_raced[title] = race(entrants(), _clock(cupy), ROUNDS)
        _tabulate(report, f"Host time of a launch: {title}, n = {LENGTH} float32", raced)
    graphs = race(_graphs(cupy, peers, arrays), _clock(cupy, 50), ROUNDS)
    table = report.table(f"Host time of {GRAPH_LAUNCHES} launches", "call", "µs", "µs, fastest")
    for name, result in graphs.items():
        fastest = None if result.error else min(map(min, result.rounds))
        cell = result.cell if result.error else scaled(result.seconds, 1e6)
        table.add(name, cell, scaled(fastest, 1e6))
    targets = report.table("Targets", "what", "measured", "to reach", "met")
    for title, limits in _LIMITS.items():
        raced = all_raced[title]
        for name, limit in limits.items():
            above = _above(raced[name], raced[_FLOOR])
            judge(targets, f"{title}: {name}, µs above the C loop", above, limit)
    for title, counts in _TENSORS.items():
        raced = all_raced[title]
        for name, count in counts.items():
            tensors = raced.get(f"{name}, torch tensors")
            more = None if tensors is None else _above(tensors, raced[name])
            each = None if more is None else more / count
            judge(targets, f"{title}: {name}, torch tensors, µs more for each", each, 0.4)
    part = None
    eager, recorded = graphs["eager"].seconds, graphs["kerneltk.graph"].seconds
    if eager and recorded:
        part = recorded / eager
    judge(targets, f"kerneltk.graph / eager, {GRAPH_LAUNCHES} launches", part, 0.15)


def _tabulate(report: Report, title: str, raced: dict[str, Result]) -> None:
    table = report.table(
        title,
        *("call", "µs", "µs, fastest", "µs above the C loop"),
        notes=[
            f"Median and fastest of {ROUNDS} rounds of {CALLS} calls; in each round every line has "
            "its turn. Above: the median of the rounds' differences."
        ],
    )
    for name, result in raced.items():
        fastest = None if result.error else min(map(min, result.rounds))
        table.add(
            name,
            result.cell if result.error else scaled(result.seconds, 1e6),
            scaled(fastest, 1e6),
            _above(result, raced[_FLOOR]),
        )
