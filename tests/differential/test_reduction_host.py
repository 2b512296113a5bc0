"""What is the host's own in reductions: threads and their order, accuracy, memory of a launch."""

from __future__ import annotations

import copy
import ctypes
import itertools
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kerneltk import ReductionKernel
from kerneltk.backends.host import runtime
from kerneltk.core.artifacts import TranslationUnit
from kerneltk.launch.loops import KeptLaunches
from kerneltk.schedule import reduction_cpu
from kerneltk.schedule.reduction_cpu import HostReductionSchedule
from tests.sampling import one_in

from ..joint_units import JointCases
from ..sampling import parameters, sample
from ..unit.schedule.test_reduction import ON_HOST
from .reduction_cases import ARGMIN, CASES, SQUARES, SUM, ReductionCase
from .support import Array
from .test_reduction import check, units_of, ways

SAMPLE = 6  # of the cases of all backends, every so many

Launch = Callable[[int, int, int, int, int], int]

# Shapes and axes of every strategy, each divided into several work items.
WORK: dict[str, tuple[tuple[int, ...], int | tuple[int, ...] | None]] = {
    "all": ((1_000_003,), None),
    "long rows": ((3, 300_001), 1),
    "rows": ((5000, 97), 1),
    "short rows": ((50_000, 5), 1),
    "columns": ((1501, 1003), 0),
    "wide columns": ((130, 9001), 0),
    "narrow columns": ((200_003, 3), 0),
    "apart": ((30, 211, 41), (0, 2)),
    "between": ((7, 3001, 50), 1),
}


def numbers(shape: tuple[int, ...], dtype: str = "f4") -> Array:
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


def call_function(function: int, args: int, begin: int, end: int) -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_longlong, ctypes.c_longlong)(function)(
        args, begin, end
    )


def in_any_order(seed: int) -> Launch:
    """Return a launch that takes the work items in pieces of any length and in any order."""

    def launch(function: int, args: int, total: int, grain: int, threads: int) -> int:
        chance = random.Random(seed)
        cuts = sorted({0, total, *(chance.randrange(total + 1) for _ in range(30))})
        pieces = list(itertools.pairwise(cuts))
        chance.shuffle(pieces)
        for begin, end in pieces:
            call_function(function, args, begin, end)
        return 0

    return launch


def one_by_one(function: int, args: int, total: int, grain: int, threads: int) -> int:
    """Launch every work item by itself, in four threads."""
    share = -(-total // 4)

    def work(first: int) -> None:
        for item in range(first, min(first + share, total)):
            call_function(function, args, item, item + 1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(0, 4 * share, share)))
    return 0


def on_threads(count: int) -> Launch:
    launch = runtime.launch

    def with_threads(function: int, args: int, total: int, grain: int, threads: int) -> int:
        return launch(function, args, total, grain, count)

    return with_threads


def bits(kernel: ReductionKernel, x: Array, axis: Any) -> list[bytes]:
    """Return the outputs' bytes of a call by a kernel that has no launcher yet."""
    result = copy.copy(kernel)(x, axis=axis)
    return [y.tobytes() for y in (result if isinstance(result, tuple) else (result,))]


# -- threads and their order -----------------------------------------------------------------------


@pytest.mark.one_in(4)
@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("kernel", one_in(2, [SUM, ARGMIN]), ids=lambda kernel: kernel.name)
def test_same_bits_in_any_order(
    monkeypatch: pytest.MonkeyPatch, kernel: ReductionKernel, work: str
) -> None:
    shape, axis = WORK[work]
    x = numbers(shape)
    wanted = bits(kernel, x, axis)
    launches = [on_threads(count) for count in (1, 2, 3, 7)]
    for launch in (*launches, in_any_order(1), in_any_order(2), one_by_one):
        monkeypatch.setattr(runtime, "launch", launch)
        assert bits(kernel, x, axis) == wanted


def test_work_has_every_strategy(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, seen = reduction_cpu.plan_reduction_host, set()

    def noted(*arguments: Any) -> HostReductionSchedule:
        schedule = plan(*arguments)
        seen.add(type(schedule))
        return schedule

    monkeypatch.setattr(reduction_cpu, "plan_reduction_host", noted)
    monkeypatch.setattr(KeptLaunches, "find", lambda *call: None)  # those are scheduled already
    kernel = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "by_every_strategy")
    for shape, axis in WORK.values():
        bits(kernel, np.zeros(shape, np.float32), axis)
    assert seen == set(ON_HOST)


# -- what large arrays meet, with small ones ------------------------------------------------------


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide small work as large work is divided, and take short rows for what they are."""
    for name, value in {
        "PART": 16,
        "_SHARED_ROWS": 2,
        "_MANY_OUTPUTS": 2,
        "_SHORTEST_RUN": 2,
        "_LONG": 40,
    }.items():
        assert hasattr(reduction_cpu, name)
        monkeypatch.setattr(reduction_cpu, name, value)


def units_in_small_parts(case: ReductionCase, backend: Any) -> dict[str, TranslationUnit]:
    """Return the one unit of a case, as the schedule is while it is asked for."""
    units = units_of(replace(case, kernel=copy.copy(case.kernel)), backend)
    return {way: unit for way, unit in units.items() if way == ways(case)[0]}


SAMPLES = sample(CASES[::SAMPLE], 9)
IN_SMALL_PARTS = JointCases(SAMPLES, units_in_small_parts)


@pytest.mark.one_in(3)
@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("backend", ["host"], indirect=True)
@pytest.mark.parametrize("case", parameters(SAMPLES))
def test_case_in_small_parts(backend: Any, case: ReductionCase, once: Any) -> None:
    way = ways(case)[0]
    IN_SMALL_PARTS.prepare(case, way, "host", once)
    check(backend, replace(case, kernel=copy.copy(case.kernel)), way)


# -- the memory of a launch ------------------------------------------------------------------------


ALIGNED = """
struct alignas(64) aligned_sum {
    double total;
    explicit aligned_sum(double x) : total(x) {}
};
"""
UNCOPIED = """
struct counted {
    const long long count;
    const double total;
    counted(long long n, double x) : count(n), total(x) {}
    counted(const counted& other) : count(other.count), total(other.total) {}
    counted& operator=(const counted&) = delete;
};
"""


# -- accuracy --------------------------------------------------------------------------------------


def error(found: Array, exact: Array) -> float:
    """Return the root of the mean square of the relative errors."""
    return float(np.sqrt(np.mean(((found.astype("f8") - exact) / exact) ** 2)))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("identity", one_in(2, [True, False]))
@pytest.mark.parametrize(("map_", "reduce", "initial", "type_", "preamble"), [
    ("aligned_sum(x)", "aligned_sum(a.total + b.total)", "aligned_sum(0)", "aligned_sum", ALIGNED),
    ("counted(1, x)", "counted(a.count + b.count, a.total + b.total)", "counted(0, 0)", "counted",
     UNCOPIED),
])  # fmt: skip
def test_accumulators_of_wide_alignment_or_that_cannot_be_assigned(
    work: str, identity: bool, map_: str, reduce: str, initial: str, type_: str, preamble: str
) -> None:
    kernel = ReductionKernel("T x", "T y", map_, reduce, "y = a.total",
        initial if identity else None, type_, type_, preamble=preamble)  # fmt: skip
    shape, axis = WORK[work]
    x = (numbers(shape, "f8") * 100).round()
    np.testing.assert_array_equal(kernel(x, axis=axis), x.sum(axis), strict=True)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("shape", "axis"), [
    ((3000, 1000), 1), ((40, 100_000), 1), ((100_000, 64), 1), ((1000, 3000), 0),
    ((300_000, 4), 0), ((40, 200, 300), (0, 2)), ((40, 3000, 30), 1),
])  # fmt: skip
@pytest.mark.parametrize("kernel", one_in(2, [SUM, SQUARES]), ids=lambda kernel: kernel.name)
def test_sums_are_as_accurate_as_pairwise_ones(
    kernel: ReductionKernel, shape: tuple[int, ...], axis: Any
) -> None:
    x = np.random.default_rng(3).random(shape, dtype="f4")
    elements = x if kernel is SUM else x * x
    exact = elements.sum(axis, dtype="f8")
    # NumPy sums pairwise along an axis whose elements lie next to each other.
    axes = axis if isinstance(axis, tuple) else (axis,)
    rows = np.moveaxis(elements, axes, range(-len(axes), 0)).reshape(exact.size, -1)
    pairwise = error(np.ascontiguousarray(rows).sum(1).reshape(exact.shape), exact)
    # The result's own rounding is a part of both, and chance where outputs are few.
    assert error(kernel(x, axis=axis), exact) <= 1.5 * max(pairwise, 5e-8)


@pytest.mark.parametrize("value", one_in(3, [0.1, 1 / 3, 0.7]))
def test_equal_numbers(value: float) -> None:
    # Every addition rounds in the same direction here, so errors do not cancel.
    x = np.full(10_000_000, value, np.float32)
    exact = float(x[0]) * x.size
    pairwise = abs(float(x.sum()) - exact)
    assert abs(float(SUM(x)) - exact) <= max(2 * pairwise, 4e-6 * exact)
    np.testing.assert_allclose(SUM(x.reshape(-1, 4), axis=0), exact / 4, rtol=4e-6)
