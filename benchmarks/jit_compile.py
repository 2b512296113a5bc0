"""What the first call of a kernel in restricted Python is made of: Python's part, and NVRTC's."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jit_kernels as texts
import numpy as np
from common import Call, Report, Table, host_clock, judge, paired_ratio, race, scaled

from kerneltk import jit
from kerneltk.backends.base import capabilities_of
from kerneltk.backends.cuda import nvrtc
from kerneltk.core.arrays import ArraySpec
from kerneltk.core.artifacts import TranslationUnit
from kerneltk.core.dtypes import as_dtype
from kerneltk.jit.codegen.emit import emit_program
from kerneltk.jit.compile import PASSES, PassContext
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.ir.types import Array, Number, Type
from kerneltk.jit.lowering.program import lower_program
from kerneltk.jit.source.function_source import FunctionSource
from kerneltk.jit.source.scope import parameters_of

_ARCHITECTURE = "sm_90"
_ROUNDS, _PASSES = 20, 60
_BARE = """
extern "C" __global__ void copy(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
"""
_BARE_SUM = """
extern "C" __global__ void shared_sum(const float* x, float* sums, int n) {
    __shared__ float part[256];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}
"""

_FLOATS = Array(Number(np.dtype("float32")), 1, "C")
_CONTEXTS = {name: PassContext(capabilities_of(name), True) for name in ("cuda", "host")}
_INT = Number(np.dtype("int64"), weak=True)
_FLOAT = Number(np.dtype("float32"))


def _unit(kernel: Any, types: tuple[Type, ...]) -> TranslationUnit:
    definition = kernel._definition
    return definition.unit(
        definition.program(types, _CONTEXTS["cuda"]), capabilities_of("cuda"), True
    )  # type: ignore[no-any-return]


def _element_unit() -> TranslationUnit:
    x = np.zeros(4, np.float32)
    typed, _, _ = texts.copy_elements._specialized((x,), ())
    spec = ArraySpec.make(as_dtype("float32"), (1024, 1024))
    return typed.translation_unit(spec, spec, backend="cuda")  # type: ignore[no-any-return]


def _nvrtc(report: Report, targets: Table) -> None:
    target = nvrtc.target_for(_ARCHITECTURE)
    report.machine["NVRTC"] = target.compiler

    def compiled(unit: TranslationUnit) -> Callable[[], Call]:
        return lambda: lambda: nvrtc.compile(unit, target)

    copy = _unit(texts.copying(jit), (_FLOATS, _FLOATS, _INT))
    total = _unit(texts.shared_sum(jit), (_FLOATS, _FLOATS, _INT))

    def bare(unit: TranslationUnit, text: str) -> TranslationUnit:
        return replace(unit, source=text)

    pairs = {
        "copy, @rawkernel": (copy, bare(copy, _BARE)),
        "copy, @kernel": (_element_unit(), bare(copy, _BARE)),
        "block sum in shared memory, @rawkernel": (total, bare(total, _BARE_SUM)),
    }
    entrants: dict[str, Callable[[], Call]] = {}
    for name, (ours, theirs) in pairs.items():
        entrants |= {f"{name}, ours": compiled(ours), f"{name}, bare": compiled(theirs)}
    results = race(entrants, host_clock(), _ROUNDS)
    table = report.table(
        "NVRTC: kernels in restricted Python, and the same bare in CUDA C++",
        *("kernel", "ours, ms", "bare, ms", "ours / bare"),
        notes=[
            f"{_ARCHITECTURE}, the same options, one process, no cache; median of {_ROUNDS} rounds "
            "in each of which every unit has its turn."
        ],
    )
    for name in pairs:
        ours, theirs = results[f"{name}, ours"], results[f"{name}, bare"]
        table.add(name, ours.cell, theirs.cell, paired_ratio(ours, theirs))
        judge(targets, f"NVRTC, {name}: ours / bare", paired_ratio(ours, theirs), 1.5)


# -- Python ----------------------------------------------------------------------------------------

_STAGES = ("source", "lower", "passes", "emit")


def _function(which: str) -> tuple[Any, tuple[Type, ...]]:
    if which == "copy":
        return texts.copying(jit).__wrapped__, (_FLOATS, _FLOATS, _INT)
    return texts.thirty_lines, (_FLOATS, _FLOATS, _FLOATS, _FLOATS, _INT, _FLOAT)


def _whole(which: str, backend: Any) -> Call:
    function, types = _function(which)

    def call() -> None:
        definition = Definition(function)
        definition.unit(
            definition.program(types, _CONTEXTS[backend]), capabilities_of(backend), True
        )

    return call


def _processor_time(call: Call) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


def _stages(which: str, backend: str) -> dict[str, float]:
    """Return the seconds of each stage, once."""
    function, types = _function(which)
    clock = time.process_time
    marks = [clock()]
    definition = Definition(function)
    source: FunctionSource = definition.source
    marks.append(clock())
    spans = [source.span(argument) for argument in parameters_of(source.node)]
    parameters = list(zip(definition.parameters, types, spans, strict=True))
    program = lower_program(function, source, parameters, {}, "cuda")
    marks.append(clock())
    for each in PASSES:
        if each.applies(_CONTEXTS[backend]):
            program = each.run(program, _CONTEXTS[backend])
    marks.append(clock())
    emit_program(program)
    marks.append(clock())
    times = (after - before for before, after in itertools.pairwise(marks))
    return dict(zip(_STAGES, times, strict=True))


def _python(report: Report, targets: Table) -> None:
    table = report.table(
        "Python's part: text, types, C++ text, ms",
        *("function", "backend", "whole", "fastest", *_STAGES),
        notes=[
            f"Time of this process's processor, so that others on the machine do not count: "
            f"medians of {_PASSES} passes. The file's text is in Python's own cache "
            "of lines, as after an import. Stages are measured one by one, so that they need not "
            "add up; neither NVRTC nor the cache is asked."
        ],
    )
    for which in ("copy", "30 lines"):
        for backend in ("cuda", "host"):
            call = _whole(which, backend)
            call()
            times = [_processor_time(call) for _ in range(_PASSES)]
            passes = [_stages(which, backend) for _ in range(_PASSES)]
            middle = {s: statistics.median(each[s] for each in passes) for s in _STAGES}
            whole = statistics.median(times)
            table.add(
                which,
                backend,
                1e3 * whole,
                1e3 * min(times),
                *(scaled(middle[stage], 1e3) for stage in _STAGES),
            )
            if which != "copy":
                judge(targets, f"Python's part of {which}, {backend}, ms", 1e3 * whole, 3)


def measure(report: Report, targets: Table) -> None:
    """Add the tables of compiling."""
    _nvrtc(report, targets)
    _python(report, targets)
