"""Loops as one kernel: they compute what NumPy does, and what is no part of one remains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.backends.base import backend_named
from kerneltk.fusion.loops.kernel import (
    LoopKernel,
    loop_kernel,
)
from kerneltk.fusion.plan.program import Program, _Execution
from kerneltk.fusion.plan.steps import Rounds
from kerneltk.fusion.start import traced
from kerneltk.fusion.trace import rolling

_N = 22


@pytest.fixture(autouse=True)
def _rolled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolling, "_LEAST_OPERATIONS", -1)
    monkeypatch.setattr(rolling, "_LEAST_CARRIED", 12)


def _arguments(dtype: str = "f8") -> list[Any]:
    x = (np.arange(_N * _N).reshape(_N, _N) * 7 % 11 - 4).astype(dtype)
    return [x, np.ascontiguousarray(x[::-1, ::-1]), x[3] * 1]


def triangular(x: Any, y: Any, z: Any) -> None:
    for i in range(_N):
        z[i] = (z[i] - x[i, :i] @ z[:i] * 0.01) / (y[i, i] * y[i, i] + 1)


def nested(x: Any, y: Any, z: Any) -> None:
    for i in range(_N - 1):
        for j in range(_N):
            x[i, j] += x[i + 1 :, i] @ y[i + 1 :, j] * 0.01
        y[i] = x[i] * 0.5 + y[i, ::-1]


def numbers(x: Any, y: Any, z: Any) -> None:
    for i in range(_N):
        x[i] = x[i] * (1 / (i + 1.5)) + 2**i % 7 + i
        y[-1 - i] -= x[i] > i


def reduced(x: Any, y: Any, z: Any) -> None:
    for i in range(1, _N):
        x[0] += y[: i + 1].max(axis=0) + y[:, i].sum()
        x[i] = (x[: i + 1] * y[: i + 1]).sum(axis=0) % 5
        z[i] = x[:i].argmin() + (y[:i] > 0).all()


def carried(x: Any, y: Any, z: Any) -> Any:
    a = z[0] * 1
    b = 1.0
    for i in range(1, _N):
        b *= 1 - a * a * 0.001
        a = (z[i] + np.flip(z[:i]) @ x[i, :i] * 0.01) / (b * b + 1)
        z[:i] += a * np.flip(z[:i])
    return a, b


def new_arrays(x: Any, y: Any, z: Any) -> None:
    for i in range(_N - 2):
        made = np.empty((2, i + 1))
        made[0] = x[i, : i + 1]
        made[1] = y[: i + 1, i]
        x[i + 1, : i + 1] += made[0] * made[1] % 3
        y[i, :] = made.T[0, 0] + (x * 0.5)[i]


def slices(x: Any, y: Any, z: Any) -> None:
    for i in range(_N):
        x[i, i::-1] = y[i - 5 : -1 - i : 2, 0].sum()
        x[:i:3, i - 4 :] += y[i : i + 100, 2 - i :][:1, :1]
        z[i : i - 3 : -1] += x[-i:, None, i // 2].T[0, -1:]


def matrices(x: Any, y: Any, z: Any) -> None:
    for i in range(2, _N - 6):
        x[i, i : i + 3] = x[i : i + 3, :i] @ z[:i] % 5
        y[:2, :3] += (x[i : i + 2, :4] @ y[i : i + 4, :3]) % 3 + z[:3] @ x[:3, i : i + 3] % 2


def dependent(x: Any, y: Any, z: Any) -> Any:
    last = z[0] * 1
    for i in range(_N):
        total = 0.0
        for j in range(i):
            x[i, j] -= x[i, :j] @ x[:j, j] * 0.01
            total += x[i, j] * z[j]
            for k in range(j + 1, i):
                y[k, j] = y[k, j] * 0.5 + 1 / (i + k + 1) - 0.5 * j
        for j in range(_N - 1, i - 1, -2):
            last = last * 0.5 + y[j, i]
            z[j] += (i * j) % 3
        z[i] += total * 0.01
        for j in range(i - 1, i + 1):
            x[j, i] += j
    return last, total


_FUNCTIONS = [
    triangular,
    dependent,
    nested,
    numbers,
    reduced,
    carried,
    new_arrays,
    slices,
    matrices,
]


def _kernels(program: Program) -> list[LoopKernel | None]:
    """The kernel of each loop of a program, if it is one."""
    execution = _Execution(program, np.empty)
    found = []
    for step in program.plan.steps:
        execution.steps_of(step)
        if isinstance(step.kernel, Rounds):
            found.append(loop_kernel(step.kernel, execution._shapes, execution._is_made))
    return found


def _compare(function: Callable[..., Any], make: Callable[[], list[Any]] = _arguments) -> None:
    fused = kerneltk.fuse(function)
    for _ in range(3):
        wanted_args, args = make(), make()
        wanted, found = function(*wanted_args), fused(*args)
        for a, b in zip([*wanted_args, wanted], [*args, found], strict=True):
            if a is not None:
                np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("function", _FUNCTIONS)
def test_loops_of_small_launches_are_one_kernel(function: Callable[..., Any]) -> None:
    _compare(function)
    program = traced(function, "program", _arguments(), (), backend_named("host"))
    kernels = _kernels(program)
    assert kernels
    assert all(kernels)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("dtype", ["f4", "i4", "c16", "?"])
def test_dtypes(dtype: str) -> None:
    def function(x: Any, y: Any, z: Any) -> None:
        for i in range(1, _N):
            x[i] = x[i - 1] + y[i, ::-1]
            z[i] = x[i, :i].sum() if dtype != "?" else x[i, :i].any()
            if dtype != "?":
                z[0] = x[i, :3] @ y[:3, i]

    _compare(function, lambda: _arguments(dtype))


def test_unaligned_arrays() -> None:
    def make() -> list[Any]:
        found = []
        for x in _arguments():
            memory = np.zeros(x.nbytes + 1, np.uint8)[1:]
            unaligned = memory.view(x.dtype).reshape(x.shape)
            unaligned[...] = x
            found.append(unaligned)
        return found

    _compare(triangular, make)


def test_what_is_no_part_of_a_kernel_remains() -> None:
    def function(x: Any, y: Any) -> None:
        for i in range(14):
            x[i] = np.cumsum(y[i])

    args = [np.ones((14, 5)), np.ones((14, 5))]
    assert _kernels(traced(function, "program", args, (), backend_named("host"))) == [None]
    wanted = [x.copy() for x in args]
    function(*wanted)
    kerneltk.fuse(function)(*args)
    assert (wanted[0] == args[0]).all()


def test_loops_that_differ_in_numbers_share_a_kernel() -> None:
    def function(x: Any, y: Any, z: Any) -> None:
        for i in range(4, 16):
            x[3, i] += x[3, :i] @ y[:i, 3]
        for i in range(5, 20):
            x[4, i] += x[4, :i] @ y[:i, 4]

    program = traced(function, "program", _arguments(), (), backend_named("host"))
    kernels = []
    for found in _kernels(program):
        assert found is not None
        kernels.append(found.kernel)
    assert len(kernels) == 2
    assert len(set(kernels)) == 1
