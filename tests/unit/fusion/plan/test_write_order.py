"""What is copied, and when, where a function writes to what it reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.backends.base import backend_named
from kerneltk.fusion.plan.steps import LibraryCall, library_function
from kerneltk.fusion.start import traced


def row(p: Any) -> None:
    p[0] = p[1]


def rows(p: Any) -> None:
    for i in range(1, p.shape[0]):
        p[i] = 0.5 * p[i - 1] + p[i]


def borders(p: Any) -> None:
    p[0] = p[1]
    p[-1] = p[-2]
    p[:, 0] = p[:, 1]
    p[:, -1] = p[:, -2]


def less_first(p: Any) -> None:
    p -= p[0]


def moved(p: Any) -> None:
    p[1:] = p[:-1]


def stencil(p: Any) -> None:
    p[1:-1, 1:-1] = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]


def before_in_a_row(p: Any) -> Any:
    old = p[3]
    new = old + 1
    p[:] = 0
    p[3] = new
    return p


def of_two(p: Any) -> None:
    q = p.copy()
    p[1:-1] = q[2:] + q[:-2]
    p[:, 1:-1] = q[:, 2:] - q[:, :-2]


# Of a call with 8 x 6 elements: the kernels, and the most elements that they write.
PLANS: list[tuple[Callable[[Any], Any], int, int]] = [
    (row, 1, 6), (rows, 7, 42), (borders, 4, 28), (less_first, 2, 54), (moved, 2, 84),
    (stencil, 2, 48), (before_in_a_row, 3, 60), (of_two, 3, 116),
]  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("function", "kernels", "elements"), PLANS)
def test_copies(function: Callable[[Any], Any], kernels: int, elements: int) -> None:
    x = np.random.default_rng(0).random((8, 6))
    y = x.copy()
    fused = kerneltk.fuse(function)
    found, wanted = fused(x), function(y)
    np.testing.assert_allclose(x, y, rtol=1e-15)
    if wanted is not None:
        np.testing.assert_allclose(found, wanted, rtol=1e-15)
    shown = fused.explain(x)
    written = sum(size for kernel in shown.kernels for _, size in kernel.writes) // 8
    assert (len(shown.kernels), written) == (kernels, elements)


def test_other_shapes_decide_again_whether_parts_are_apart() -> None:
    @kerneltk.fuse
    def ends(p: Any) -> None:
        p[0] = p[-1] + p[-1]

    for n in (4, 1, 3, 1):
        x = np.arange(1.0, n + 1)
        y = x.copy()
        ends(x)
        y[0] = y[-1] * 2
        np.testing.assert_array_equal(x, y)


def reshaped_before(p: Any) -> Any:
    sums = p.reshape(6, 8).sum(axis=1)
    p[:] = p @ np.eye(6) * 2
    return sums @ np.ones((6, 2))


def reshaped_with(p: Any) -> None:
    p[:] = p.reshape(6, 8).T + 1


@pytest.mark.parametrize(("function", "copies"), [(reshaped_before, False), (reshaped_with, True)])
def test_reshaped_arrays_are_copied_where_they_are_written_to(
    function: Callable[[Any], Any], copies: bool
) -> None:
    x = np.random.default_rng(0).random((8, 6))
    y = x.copy()
    found, wanted = kerneltk.fuse(function)(x), function(y)
    np.testing.assert_allclose(x, y, rtol=1e-15)
    if wanted is not None:
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    plan = traced(function, "program", [x], (), backend_named("host")).plan
    options = [
        dict(step.kernel.options)
        for step in plan.steps
        if isinstance(step.kernel, LibraryCall) and step.kernel.function == "reshape"
    ]
    assert {"copies": copies} in options


def _called(name: str, shape: Any, *arrays: Any, **options: Any) -> Any:
    dtype = np.dtype(np.float64)
    return library_function(LibraryCall(name, tuple(options.items())), np, dtype)(shape, *arrays)


def test_reshapes_are_views_unless_the_array_is_written_to_later() -> None:
    x = np.zeros(6)
    assert np.shares_memory(_called("reshape", (2, 3), x, copies=False), x)
    assert not np.shares_memory(_called("reshape", (2, 3), x, copies=True), x)
