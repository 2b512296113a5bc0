"""Fused functions against CuPy's fuse, torch.compile and numexpr: bandwidth, and what a call costs.

``python benchmarks/fusion.py --backend cuda --output DIR`` (or ``--backend host``) prints tables,
and writes them as text and JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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

import kerneltk

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class _Work:
    """A program, as array code of NumPy's names and as torch's, and numexpr's text if it has one.

    Parameters
    ----------
    inputs : int
        Matrices that it takes.
    """

    name: str
    function: Function
    torch: Callable[[Any], Function]
    inputs: int = 1
    numexpr: str = ""


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def _softmax(axis: int) -> Function:
    def softmax(x: Any) -> Any:
        e = np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)

    return softmax


def _rmsnorm(x: Any) -> Any:
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-6)


def _layernorm(axis: int) -> Function:
    def layernorm(x: Any) -> Any:
        apart = x - x.mean(axis, keepdims=True)
        return apart / np.sqrt(x.var(axis, keepdims=True) + 1e-5)

    return layernorm


def _logsumexp(x: Any) -> Any:
    top = x.max(axis=1, keepdims=True)
    return np.log(np.exp(x - top).sum(axis=1, keepdims=True)) + top


WORKS = (
    _Work("2*x + 3*y - x*y", lambda x, y: 2 * x + 3 * y - x * y,
          lambda torch: lambda x, y: 2 * x + 3 * y - x * y, 2, "2*x + 3*y - x*y"),
    _Work("gelu (tanh)", _gelu,
          lambda torch: lambda x: 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3))),
          1, "0.5*x*(1 + tanh(0.7978845608*(x + 0.044715*x**3)))"),
    _Work("x/(1+exp(-x))*y", lambda x, y: x / (1 + np.exp(-x)) * y,
          lambda torch: lambda x, y: x / (1 + torch.exp(-x)) * y, 2, "x/(1+exp(-x))*y"),
    _Work("softmax, axis 1", _softmax(1), lambda torch: lambda x: torch.softmax(x, 1)),
    _Work("softmax, axis 0", _softmax(0), lambda torch: lambda x: torch.softmax(x, 0)),
    _Work("rmsnorm, axis 1", _rmsnorm,
          lambda torch: lambda x: x / torch.sqrt((x * x).mean(1, keepdim=True) + 1e-6)),
    _Work("layernorm, axis 1", _layernorm(1),
          lambda torch: lambda x: torch.nn.functional.layer_norm(x, x.shape[1:])),
    _Work("layernorm, axis 0", _layernorm(0),
          lambda torch: lambda x: (x - x.mean(0, keepdim=True)) / torch.sqrt(
              x.var(0, keepdim=True, correction=0) + 1e-5)),
    _Work("logsumexp, axis 1", _logsumexp,
          lambda torch: lambda x: torch.logsumexp(x, 1, keepdim=True)),
    _Work("sum((x-y)*(x-y)), all", lambda x, y: ((x - y) * (x - y)).sum(),
          lambda torch: lambda x, y: ((x - y) * (x - y)).sum(), 2, "sum((x-y)*(x-y))"),
    _Work("max|x|, mean|x|, mean(x*x)", lambda x: (abs(x).max(), abs(x).mean(), (x * x).mean()),
          lambda torch: lambda x: (x.abs().max(), x.abs().mean(), (x * x).mean())),
    _Work("sqrt(mean(x*x, 0))", lambda x: np.sqrt((x * x).mean(axis=0)),
          lambda torch: lambda x: torch.sqrt((x * x).mean(0))),
)  # fmt: skip


def _entrants(work: _Work, arrays: list[Any], torch: Any, other: Any) -> dict[str, Any]:
    """What is raced: each builds its call. `other` is CuPy, or numexpr."""
    tensors = [torch.from_dlpack(array) for array in arrays] if torch is not None else []
    fused = kerneltk.fuse(work.function)
    found: dict[str, Any] = {"kerneltk": lambda: lambda: fused(*arrays)}
    if torch is not None:
        compiled = torch.compile(work.torch(torch), dynamic=False)
        found["torch.compile"] = lambda: lambda: compiled(*tensors)
    if hasattr(other, "fuse"):
        theirs = other.fuse(work.function)
        found["cupy.fuse"] = lambda: lambda: theirs(*arrays)
    elif other is not None and work.numexpr:
        names = dict(zip("xy", arrays, strict=False))
        found["numexpr"] = lambda: lambda: other.evaluate(work.numexpr, names)
    return found


def _bandwidth(
    report: Report,
    make: Callable[[tuple[int, int]], Any],
    copy: Callable[[Any], Callable[[], Any]],
    clock: Clock,
    peers: tuple[Any, Any],
    shapes: tuple[tuple[int, int], ...],
) -> None:
    names = ("kerneltk", "torch.compile", "cupy.fuse" if hasattr(peers[1], "fuse") else "numexpr")
    for shape in shapes:
        table = report.table(
            f"Arrays {shape} float32: fraction of a copy's bandwidth, by the bytes that must move",
            "program", *names, "kerneltk / torch.compile (time)", "moved / floor",
            notes=["Medians of rounds in which all have their turn, the copy too."],
        )  # fmt: skip
        arrays = [make(shape) for _ in range(2)]
        size = arrays[0].nbytes
        for work in WORKS:
            given = arrays[: work.inputs]
            entrants = _entrants(work, given, *peers)
            entrants["copy"] = partial(copy, arrays[0])
            results = race(entrants, clock, 7)
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
            against = (
                paired_ratio(results["kerneltk"], results["torch.compile"])
                if "torch.compile" in results
                else None
            )
            table.add(work.name, *cells, against, shown.bytes / shown.floor)


def _calls(report: Report, make: Callable[[tuple[int, int]], Any]) -> None:
    table = report.table("Host time of a repeated call, small arrays", "call", "µs")
    x, y = make((4, 4)), make((4, 4))
    kernel = kerneltk.ElementwiseKernel(
        "float32 x, float32 y", "float32 z", "z = 2 * x + 3 * y - x * y", "linear"
    )
    fused = kerneltk.fuse(WORKS[0].function)
    soft = kerneltk.fuse(_softmax(0))
    for name, call in (
        ("ElementwiseKernel", lambda: kernel(x, y)),
        ("fused, one kernel", lambda: fused(x, y)),
        ("fused, several kernels", lambda: soft(x)),
    ):
        results = race({name: lambda call=call: call}, host_clock(5_000), 9)  # type: ignore[misc]
        table.add(name, scaled(results[name].seconds, 1e6))


def main() -> None:
    arguments = parse_arguments(__doc__.splitlines()[0], ("host", "cuda"))
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

        shapes = ((131072, 1024), (32768, 4096), (8192, 16384))  # 512 MiB each
        _bandwidth(report, make, copy, event_clock(cupy, 8), (torch, cupy), shapes)
    else:
        report = Report("host-fusion", describe_machine(), commit(arguments.commit))

        def make(shape: tuple[int, int]) -> Any:
            return generator.random(shape, dtype=np.float32)

        def copy(array: Any) -> Callable[[], Any]:
            sink = np.empty_like(array)
            return lambda: np.copyto(sink, array)

        shapes = ((10_000, 1000), (2500, 4000))
        _bandwidth(report, make, copy, host_clock(), (torch, peers.get("numexpr")), shapes)
    _calls(report, make)
    report.notes += peers.notes()
    report.save(arguments.output)


if __name__ == "__main__":
    main()
