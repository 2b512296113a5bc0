"""Raw kernels on the host: beside plain loops, NumPy, numexpr, numba and numba's CUDA simulator.

``python benchmarks/raw_host.py --output DIR``
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from common import (
    Call,
    Cell,
    Peers,
    Report,
    Result,
    Table,
    commit,
    describe_machine,
    host_clock,
    judge,
    paired_ratio,
    parse_arguments,
    race,
    ratio,
    scaled,
    settled_clock,
)
from first_calls import first_calls

import kerneltk
from kerneltk.backends.base import capabilities_of
from kerneltk.backends.host import toolchain
from kerneltk.cuda_cpp.program import RawProgram
from kerneltk.cuda_cpp.source import RawSource, read_file

_LENGTH, _SIDE, _EDGE, _BLOCKS = 10_000_000, 512, 200, 64
_A, _B = np.float32(1.5), np.float32(-0.25)
_ROUNDS, _CALLS, _COMPILES = 7, 3, 7
_PAUSE = 0.06  # seconds before an entrant's turn
_PLAIN = 2048  # threads of the plain loops that cut an array into parts
_PEERS = ("plain loops", "own class", "NumPy", "numexpr", "numba")
_FILE = Path(__file__).with_suffix(".cu")

Array = Any
Entrants = dict[str, Callable[[], Call]]


@dataclass(frozen=True, slots=True)
class _Work:
    """One computation, told to every entrant in its own way.

    Parameters
    ----------
    name : str
    simulated : str
        The simulator's name for it.
    entrants : mapping
        The raw kernel is "ours".
    output, expected : ndarray
        What each call writes, and what it has to be.
    """

    name: str
    simulated: str
    entrants: Entrants
    output: Array
    expected: Array
    tolerance: float = 1e-5
    notes: dict[str, str] = field(default_factory=dict)


Modules = Mapping[str, Any]


def _compiled(numba: Any, loop: Callable[..., None]) -> Callable[..., None]:
    compiled: Callable[..., None] = numba.njit(parallel=True)(loop)
    return compiled


def _saxpy(module: Any, modules: Modules, generator: np.random.Generator) -> _Work:
    x, y = generator.random((2, _LENGTH), np.float32)
    z = np.empty_like(x)
    kernel = module.saxpy
    own = kerneltk.ElementwiseKernel("T a, T x, T y", "T z", "z = a * x + y", "saxpy_elements")
    grid = (-(-_LENGTH // 256),)

    def numpy() -> None:
        np.multiply(x, _A, out=z)
        np.add(z, y, out=z)

    entrants: Entrants = {
        "ours": lambda: lambda: kernel(grid, (256,), (_LENGTH, _A, x, y, z)),
        "own class": lambda: lambda: own(1.5, x, y, z),
        "NumPy": lambda: numpy,
    }
    if "numexpr" in modules:
        names = {"a": _A, "x": x, "y": y}
        evaluate = modules["numexpr"].evaluate
        entrants["numexpr"] = lambda: lambda: evaluate("a*x + y", local_dict=names, out=z)
    if "numba" in modules:
        numba = modules["numba"]

        def loop(a: Any, x: Array, y: Array, z: Array) -> None:
            for k in numba.prange(x.size):
                z[k] = a * x[k] + y[k]

        compiled = _compiled(numba, loop)
        entrants["numba"] = lambda: lambda: compiled(_A, x, y, z)
    return _Work("a*x + y", "saxpy", entrants, z, _A * x + y)


def _sine(module: Any, modules: Modules, generator: np.random.Generator) -> _Work:
    x = generator.uniform(-2, 2, _LENGTH).astype(np.float32)
    z = np.empty_like(x)
    kernel = module.sine
    own = kerneltk.ElementwiseKernel(
        "T a, T b, T x", "T z", "z = a * x * x + b * sin(x)", "sine_elements"
    )
    grid = (-(-_LENGTH // 256),)

    def numpy() -> None:
        np.multiply(x, x, out=z)
        np.multiply(z, _A, out=z)
        np.add(z, _B * np.sin(x), out=z)

    entrants: Entrants = {
        "ours": lambda: lambda: kernel(grid, (256,), (_LENGTH, _A, _B, x, z)),
        "own class": lambda: lambda: own(1.5, -0.25, x, z),
        "NumPy": lambda: numpy,
    }
    if "numexpr" in modules:
        names = {"a": _A, "b": _B, "x": x}
        evaluate = modules["numexpr"].evaluate
        entrants["numexpr"] = lambda: lambda: evaluate("a*x*x + b*sin(x)", local_dict=names, out=z)
    if "numba" in modules:
        numba = modules["numba"]

        def loop(a: Any, b: Any, x: Array, z: Array) -> None:
            for k in numba.prange(x.size):
                z[k] = a * x[k] * x[k] + b * np.sin(x[k])

        compiled = _compiled(numba, loop)
        entrants["numba"] = lambda: lambda: compiled(_A, _B, x, z)
    return _Work("a*x*x + b*sin(x)", "sine", entrants, z, _A * x * x + _B * np.sin(x))


def _matmul(module: Any, modules: Modules, generator: np.random.Generator) -> _Work:
    a, b = generator.random((2, _SIDE, _SIDE), np.float32)
    c = np.empty_like(a)
    tiled, plain = module.matmul, module.plain_matmul
    blocks = _SIDE // 16
    entrants: Entrants = {
        "ours": lambda: lambda: tiled((blocks, blocks), (16, 16), (_SIDE, a, b, c)),
        "plain loops": lambda: lambda: plain((_SIDE,), (4,), (_SIDE, a, b, c)),
        "NumPy": lambda: lambda: np.matmul(a, b, out=c),
    }
    if "numba" in modules:
        numba = modules["numba"]

        def loop(a: Array, b: Array, c: Array) -> None:
            for i in numba.prange(a.shape[0]):
                for j in range(b.shape[1]):
                    total = np.float32(0)
                    for k in range(a.shape[1]):
                        total += a[i, k] * b[k, j]
                    c[i, j] = total

        compiled = _compiled(numba, loop)
        entrants["numba"] = lambda: lambda: compiled(a, b, c)
    return _Work(f"matmul {_SIDE}³, tiles of 16²", "matmul", entrants, c, a @ b)


def _block_sum(module: Any, modules: Modules, generator: np.random.Generator) -> _Work:
    x = generator.random(_LENGTH, np.float32)
    total = np.empty((), np.float32)
    sums, parts = np.empty(_BLOCKS, np.float32), np.empty(_PLAIN, np.float32)
    blocks, plain = module.block_sum, module.plain_sum
    own = kerneltk.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")

    def in_blocks() -> None:
        blocks((_BLOCKS,), (256,), (_LENGTH, x, sums))
        np.sum(sums, out=total)

    def in_parts() -> None:
        plain((_PLAIN // 32,), (32,), (_LENGTH, x, parts))
        np.sum(parts, out=total)

    entrants: Entrants = {
        "ours": lambda: in_blocks,
        "plain loops": lambda: in_parts,
        "own class": lambda: lambda: own(x, out=total),
        "NumPy": lambda: lambda: np.sum(x, out=total),
    }
    if "numexpr" in modules:
        evaluate = modules["numexpr"].evaluate

        def evaluated() -> None:
            total[()] = evaluate("sum(x)", local_dict={"x": x})

        entrants["numexpr"] = lambda: evaluated
    if "numba" in modules:
        numba = modules["numba"]

        def loop(x: Array, total: Array) -> None:
            result = np.float32(0)
            for k in numba.prange(x.size):
                result += x[k]
            total[()] = result

        compiled = _compiled(numba, loop)
        entrants["numba"] = lambda: lambda: compiled(x, total)
    expected = np.sum(x, dtype=np.float64).astype(np.float32)
    # numexpr and numba may add one element after another.
    name = f"block sum, {_BLOCKS} × 256 threads"
    return _Work(name, "block sum", entrants, total, expected, 1e-2)


def _histogram(module: Any, modules: Modules, generator: np.random.Generator) -> _Work:
    x = generator.integers(0, 256, _LENGTH, np.uint8)
    counts = np.empty(256, np.uint32)
    shared, plain = module.histogram, module.plain_histogram

    def in_blocks() -> None:
        counts.fill(0)
        shared((_BLOCKS,), (256,), (_LENGTH, x, counts))

    def in_parts() -> None:
        counts.fill(0)
        plain((_PLAIN // 32,), (32,), (_LENGTH, x, counts))

    def numpy() -> None:
        counts[...] = np.bincount(x, minlength=256)

    entrants: Entrants = {
        "ours": lambda: in_blocks,
        "plain loops": lambda: in_parts,
        "NumPy": lambda: numpy,
    }
    if "numba" in modules:
        numba = modules["numba"]

        def loop(x: Array, counts: Array) -> None:
            parts = numba.get_num_threads()
            own = np.zeros((parts, 256), np.uint32)
            for part in numba.prange(parts):
                bins = own[part]
                for k in range(x.size * part // parts, x.size * (part + 1) // parts):
                    bins[x[k]] += 1
            counts[:] = own.sum(axis=0)

        compiled = _compiled(numba, loop)
        entrants["numba"] = lambda: lambda: compiled(x, counts)
    expected = np.bincount(x, minlength=256)
    name = f"histogram, 256 bins, {_BLOCKS} × 256 threads"
    return _Work(name, "histogram", entrants, counts, expected, 0)


def _stencil(module: Any, modules: Modules, generator: np.random.Generator, shared: bool) -> _Work:
    n = _EDGE
    x = generator.random((n, n, n), np.float32)
    y, expected, spare = np.empty_like(x), np.zeros_like(x), np.empty((n - 2,) * 3, np.float32)
    inside = (slice(1, -1),) * 3
    kernel, walking, plain = module.stencil, module.shared_stencil, module.plain_stencil
    grid = (-(-n // 32), -(-n // 8))

    def numpy(y: Array = y) -> None:
        np.add(x[1:-1, 1:-1, :-2], x[1:-1, 1:-1, 2:], out=spare)
        for part in (x[1:-1, :-2, 1:-1], x[1:-1, 2:, 1:-1], x[:-2, 1:-1, 1:-1], x[2:, 1:-1, 1:-1]):
            np.add(spare, part, out=spare)
        np.multiply(spare, np.float32(0.1), out=spare)
        np.multiply(x[inside], np.float32(0.4), out=y[inside])
        np.add(y[inside], spare, out=y[inside])

    def direct() -> Call:
        return lambda: kernel((*grid, n), (32, 8), (n, x, y))

    def by_planes() -> Call:
        return lambda: walking((*grid, 4), (32, 8), (n, n // 4, x, y))

    numpy(expected)
    entrants: Entrants = {
        "ours": by_planes if shared else direct,
        "plain loops": lambda: lambda: plain((n - 2,), (16,), (n, x, y)),
        "NumPy": lambda: numpy,
    }
    if "numba" in modules:
        numba = modules["numba"]

        def loop(x: Array, y: Array) -> None:
            for k in numba.prange(1, x.shape[0] - 1):
                for j in range(1, x.shape[1] - 1):
                    for i in range(1, x.shape[2] - 1):
                        around = x[k, j, i - 1] + x[k, j, i + 1] + x[k, j - 1, i]
                        around += x[k, j + 1, i] + x[k - 1, j, i] + x[k + 1, j, i]
                        y[k, j, i] = np.float32(0.4) * x[k, j, i] + np.float32(0.1) * around

        compiled = _compiled(numba, loop)
        entrants["numba"] = lambda: lambda: compiled(x, y)
    name = f"stencil {n}³{', planes in shared memory' if shared else ''}"
    return _Work(name, "stencil", entrants, y[inside], expected[inside])


def _simulated(peers: Peers) -> dict[str, float]:
    """Return the seconds that numba's CUDA simulator would take; empty where it is not there."""
    root = Path(__file__).resolve().parent
    sizes = map(str, (_LENGTH, _SIDE, _EDGE, _BLOCKS))
    command = ["env", "NUMBA_ENABLE_CUDASIM=1", sys.executable, str(root / "raw_simulated.py")]
    done = subprocess.run([*command, *sizes], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        peers.missing["numba's CUDA simulator"] = lines[-1]
        return {}
    seconds: dict[str, float] = json.loads(done.stdout)
    return seconds


def _raced(work: _Work) -> dict[str, Result]:
    def poison() -> None:
        work.output[...] = 0

    def check(name: str) -> str:
        close = np.allclose(work.output, work.expected, rtol=work.tolerance, atol=work.tolerance)
        return "" if close else "the result is wrong"

    clock = settled_clock(_PAUSE, _CALLS)
    return race(work.entrants, clock, _ROUNDS, before=poison, check=check)


def _row(work: _Work, results: Mapping[str, Result], simulated: float | None) -> tuple[Cell, ...]:
    ours = results["ours"]
    plain, own = results.get("plain loops"), results.get("own class")
    times = {
        name: seconds
        for name in ("NumPy", "numexpr", "numba")
        if name in results and (seconds := results[name].seconds) is not None
    }
    best = min(times, key=lambda name: times[name]) if times else None
    return (
        work.name,
        ours.cell,
        *(results[name].cell if name in results else None for name in _PEERS),
        None if plain is None else paired_ratio(ours, plain),
        None if own is None else paired_ratio(ours, own),
        best,
        None if best is None else paired_ratio(results[best], ours),
        simulated,
        ratio(simulated, ours.seconds),
    )


def _times(report: Report, targets: Table, peers: Peers, modules: Modules) -> None:
    table = report.table(
        "Raw kernels on the host, float32, ms",
        *("work", "ours", *_PEERS, "ours / plain", "ours / class", "best peer", "best / ours"),
        *("simulator, s", "simulator / ours"),
        notes=[
            f"10⁷ elements where no size is given. Medians of {_ROUNDS} rounds, in each of which "
            f"every entrant has its turn: a pause of {1e3 * _PAUSE:.0f} ms, so that the threads of "
            f"the one before are asleep, a call that does not count, and {_CALLS} that do.",
            "ours: the kernels of raw_host.cu, as they would be written for a GPU. plain loops: "
            "the same work as a raw kernel without shared memory and barriers, whose threads have "
            "a row or a part each: what the same compiler makes of a loop nest on the same cores. "
            "For the product that is ijk order, one thread a quarter of a row.",
            "own class: ElementwiseKernel or ReductionKernel with the same expression. NumPy's "
            "product is its BLAS. numba: njit, parallel, without fastmath, compiled beforehand; "
            "its product is in ijk order too. All cores for all but NumPy's other functions and "
            "numexpr's sum.",
            "best / ours: how many times faster than the fastest of NumPy, numexpr and numba; the "
            "median of the rounds' quotients, as all quotients.",
            "simulator: numba's CUDA simulator running the same kernel, in another process, once, "
            "on less: 1024 elements, 64³, 20³, scaled by the work; for the sum and the histogram "
            "4 blocks on 4096 and 262144 elements, from which follow the time of a block and that "
            "of an element. The stencil in shared memory is compared with the plain one's.",
            "Every result was compared with NumPy's before it was timed.",
        ],
    )
    simulated = _simulated(peers)
    module = kerneltk.load(_FILE)
    generator = np.random.default_rng(1)
    works = [
        _saxpy(module, modules, generator),
        _sine(module, modules, generator),
        _matmul(module, modules, generator),
        _block_sum(module, modules, generator),
        _histogram(module, modules, generator),
        _stencil(module, modules, generator, False),
        _stencil(module, modules, generator, True),
    ]
    for work in works:
        results = _raced(work)
        table.add(*_row(work, results, simulated.get(work.simulated)))
        ours = results["ours"]
        if work.simulated in ("saxpy", "sine"):
            part = paired_ratio(ours, results["own class"])
            judge(targets, f"{work.name}: ours / ElementwiseKernel", part, 1.1)
        if work.simulated == "matmul":
            judge(targets, "matmul: ours / plain", paired_ratio(ours, results["plain loops"]), 2.5)
            part = ratio(ours.seconds, simulated.get("matmul"))
            judge(targets, "matmul: ours / simulator", part, 1e-3)


_TEXTS = {
    "bare": "__global__ void bare(float* x) { x[threadIdx.x] = 1; }",
    "half": "#include <cuda_fp16.h>\n__global__ void h(__half* x) { x[threadIdx.x] += x[0]; }",
    "cooperative groups": (
        "#include <cooperative_groups.h>\n"
        "__global__ void g(float* x) { cooperative_groups::this_thread_block().sync(); x[0] = 1; }"
    ),
    "<cmath>": "#include <cmath>\n__global__ void m(float* x) { x[0] = std::sin(x[1]); }",
}


def _compiles(report: Report, targets: Table) -> None:
    sources = {name: RawSource(text, "code") for name, text in _TEXTS.items()}
    sources["raw_host.cu (11 kernels)"] = read_file(_FILE)

    def build(source: RawSource) -> Callable[[], Call]:
        unit = RawProgram(source, None).unit(capabilities_of("host"))
        return lambda: lambda: toolchain.compile_unit(unit)

    results = race(
        {name: build(source) for name, source in sources.items()}, host_clock(), _COMPILES
    )
    table = report.table(
        f"The host's compiler on raw kernels, {report.machine['host compiler']}, ms",
        *("text", "compile"),
        notes=["Preprocessor, compiler, assembler and linker, without loading; no cache."],
    )
    for name, result in results.items():
        table.add(name, result.cell)
    bare = scaled(results["bare"].seconds, 1e3)
    judge(targets, "compiling a bare kernel, ms", bare, 400)


def main() -> None:
    arguments = parse_arguments(__doc__.splitlines()[0], ("host",))
    cores = len(os.sched_getaffinity(0))
    peers = Peers()
    modules = {name: module for name in ("numexpr", "numba") if (module := peers.get(name))}
    if "numexpr" in modules:
        modules["numexpr"].set_num_threads(cores)
    if "numba" in modules:
        modules["numba"].set_num_threads(min(cores, modules["numba"].config.NUMBA_NUM_THREADS))
    machine = describe_machine()
    compiler = toolchain.find_compiler()
    machine["host compiler"] = f"{compiler.family} {compiler.version}"
    machine["peers"] = ", ".join(f"{name} {version}" for name, version in peers.versions.items())
    report = Report("host-raw", machine, commit(arguments.commit))
    targets = Table("Targets", ("what", "measured", "to reach", "met"))
    _times(report, targets, peers, modules)
    report.write(arguments.output)
    _compiles(report, targets)
    first_calls(report, targets, "host", "RawKernel")
    report.notes += peers.notes()
    report.tables.append(targets)
    report.save(arguments.output)


if __name__ == "__main__":
    main()
