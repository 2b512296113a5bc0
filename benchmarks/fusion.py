"""Fused functions against CuPy's fuse, torch.compile, numexpr, numba and JAX: bandwidth, and calls.

``python benchmarks/fusion.py --backend cuda --output DIR`` (or ``--backend host``) prints tables,
and writes them as text and JSON.
"""

from __future__ import annotations

import statistics
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from common import (
    Clock,
    Peers,
    Report,
    commit,
    describe_machine,
    event_clock,
    host_clock,
    needed_cupy,
    paired_ratio,
    parse_arguments,
    race,
    ratio,
    scaled,
)
from fusion_programs import BY_NAME, NARROW, OF_ROWS, ON_HOST, PROGRAMS, Program

import kerneltk

_ROUNDS = 31
# A fused function may launch several kernels, and the driver queues 1024 launches: past that a call
# waits for the device.
_QUEUED_CALLS = 100


def _of_module(function: Any, module: Any) -> Any:
    """A program with another module in NumPy's place."""
    names = {**function.__globals__, "np": module}
    return types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )


def _by_jax(jax: Any, function: Callable[..., Any], arrays: Sequence[Any]) -> Callable[[], Any]:
    """A call of a program, compiled by JAX, whose functions stand for NumPy's in it."""
    compiled = jax.jit(_of_module(function, jax.numpy))
    device = jax.devices("cpu")[0]
    given = [jax.device_put(array, device) for array in arrays]
    return lambda: jax.block_until_ready(compiled(*given))


def _by_numba(numba: Any, function: Callable[..., Any], arrays: Sequence[Any]) -> Callable[[], Any]:
    """A call of a program, compiled by numba for all cores; it lacks reductions along axes."""
    compiled = numba.njit(parallel=True)(function)
    compiled(*arrays)
    return lambda: compiled(*arrays)


def _entrants(
    work: Program, arrays: list[Any], torch: Any, other: Any, more: Mapping[str, Any]
) -> dict[str, Any]:
    """What is raced: each builds its call. `other` is CuPy, or numexpr; `more` are modules that
    take part on the host alone.
    """
    tensors = [torch.from_dlpack(array) for array in arrays] if torch is not None else []
    fused = kerneltk.fuse(work.function)
    found: dict[str, Any] = {"kerneltk": lambda: lambda: fused(*arrays)}
    if torch is not None:
        torch._dynamo.reset()  # it compiles a function only so many times
        compiled = torch.compile(work.torch(torch), dynamic=False)
        found["torch.compile"] = lambda: lambda: compiled(*tensors)
    if hasattr(other, "fuse"):
        theirs = other.fuse(kernel_name="program")(_of_module(work.function, other))
        found["cupy.fuse"] = lambda: lambda: theirs(*arrays)
    elif other is not None and work.numexpr:
        names = dict(zip("xy", arrays, strict=False))
        found["numexpr"] = lambda: lambda: other.evaluate(work.numexpr, names)
    if "numba" in more:
        found["numba"] = partial(_by_numba, more["numba"], work.function, arrays)
    if "jax" in more:
        found["JAX"] = partial(_by_jax, more["jax"], work.function, arrays)
    return found


def _bandwidth(
    report: Report,
    make: Callable[[tuple[int, int]], Any],
    copy: Callable[[Any], Callable[[], Any]],
    clock: Clock,
    peers: tuple[Any, Any],
    shapes: Mapping[tuple[int, int], Sequence[Program]],
    slow: tuple[Clock, float] | None = None,
    more: Mapping[str, Any] | None = None,
) -> None:
    names = ["kerneltk", "torch.compile", "cupy.fuse" if hasattr(peers[1], "fuse") else "numexpr"]
    names += [{"jax": "JAX"}.get(name, name) for name in more or {}]
    for shape, programs in shapes.items():
        table = report.table(
            f"Arrays {shape} float32: fraction of a copy's bandwidth, by the bytes that must move",
            "program", *names, *(f"time: {name} / kerneltk" for name in names[1:]), "kernels",
            "moved / floor",
            notes=["Medians of rounds in which all have their turn, the copy too."],
        )  # fmt: skip
        arrays = [make(shape) for _ in range(2)]
        size = arrays[0].nbytes
        for work in programs:
            given = arrays[: work.inputs] + ([arrays[0][0]] if work.row else [])
            entrants = _entrants(work, given, *peers, more or {})
            entrants["copy"] = partial(copy, arrays[0])
            results = race(entrants, clock, 7, slow=slow)
            shown = kerneltk.fuse(work.function).explain(*given)
            needed = scaled(results["copy"].seconds, shown.floor / (2 * size))
            cells = [
                None
                if name not in results
                else results[name].cell
                if results[name].error
                else ratio(needed, results[name].seconds)
                for name in names
            ]
            others = [
                paired_ratio(results[name], results["kerneltk"]) if name in results else None
                for name in names[1:]
            ]
            row = (work.name, *cells, *others, len(shown.kernels), shown.bytes / shown.floor)
            print(shape, *row, file=sys.stderr, flush=True)
            table.add(*row)


def _idle_clock(cupy: Any, calls: int) -> Clock:
    """A clock of the host's time for one call; the device is idle when it begins."""
    clock, wait = host_clock(calls), cupy.cuda.runtime.deviceSynchronize

    def of_idle(call: Callable[[], object]) -> list[float]:
        wait()
        times = clock(call)
        wait()
        return times

    return of_idle


def _calls(report: Report, make: Callable[[tuple[int, int]], Any], clock: Clock) -> None:
    table = report.table(
        "Host time of a repeated call, small arrays",
        *("call", "µs", "µs above the ElementwiseKernel"),
        notes=[f"Medians of {_ROUNDS} rounds in which all have their turn."],
    )
    x, y = make((4, 4)), make((4, 4))
    kernel = kerneltk.ElementwiseKernel(
        "float32 x, float32 y", "float32 z", "z = 2 * x + 3 * y - x * y", "linear"
    )
    fused = kerneltk.fuse(PROGRAMS[0].function)
    soft = kerneltk.fuse(BY_NAME["softmax, axis 0"].function)
    calls: dict[str, Callable[[], Any]] = {
        "ElementwiseKernel": lambda: kernel(x, y),
        "fused, one kernel": lambda: fused(x, y),
        "fused, several kernels": lambda: soft(x),
    }
    results = race({name: lambda call=call: call for name, call in calls.items()}, clock, _ROUNDS)  # type: ignore[misc]
    floor = results["ElementwiseKernel"].rounds
    for name, result in results.items():
        more = [
            one - other
            for one, other in zip(map(min, result.rounds), map(min, floor), strict=False)
        ]
        table.add(
            name,
            result.cell if result.error else scaled(result.seconds, 1e6),
            scaled(statistics.median(more), 1e6) if more else None,
        )


def main() -> None:
    arguments = parse_arguments(__doc__.splitlines()[0], ("host", "cuda"), ("bandwidth", "calls"))
    peers = Peers()
    torch = peers.get("torch")
    generator = np.random.default_rng(0)
    if arguments.backend == "cuda":
        cupy = needed_cupy(peers)
        report = Report("cuda-fusion", describe_machine(cupy), commit(arguments.commit))

        def make(shape: tuple[int, int]) -> Any:
            return cupy.random.default_rng(1).random(shape, dtype=np.float32)

        def copy(array: Any) -> Callable[[], Any]:
            sink = cupy.empty_like(array)
            return lambda: sink.data.copy_from_device_async(array.data, array.nbytes)

        shapes: dict[tuple[int, int], Sequence[Program]] = {  # 512 MiB each, but for the last
            (8192, 16384): PROGRAMS,
            (131072, 1024): OF_ROWS,
            (32768, 4096): OF_ROWS,
            (2048, 65536): OF_ROWS,
            (128, 1048576): OF_ROWS,
            (357899, 2): NARROW,
        }
        slow = event_clock(cupy, 1), 0.05
        if "bandwidth" in arguments.tables:
            _bandwidth(report, make, copy, event_clock(cupy, 8), (torch, cupy), shapes, slow)
        clock = _idle_clock(cupy, _QUEUED_CALLS)
    else:
        report = Report("host-fusion", describe_machine(), commit(arguments.commit))

        def make(shape: tuple[int, int]) -> Any:
            return generator.random(shape, dtype=np.float32)

        def copy(array: Any) -> Callable[[], Any]:
            sink = np.empty_like(array)
            return lambda: np.copyto(sink, array)

        shapes = dict.fromkeys(((10_000, 1000), (2500, 4000)), ON_HOST)
        more = {name: module for name in ("numba", "jax") if (module := peers.get(name))}
        numexpr = peers.get("numexpr")
        _bandwidth(report, make, copy, host_clock(), (torch, numexpr), shapes, more=more)
        clock = host_clock(5_000)
    if arguments.backend == "host" or "calls" in arguments.tables:
        _calls(report, make, clock)
    report.notes += peers.notes()
    report.save(arguments.output)


if __name__ == "__main__":
    main()
