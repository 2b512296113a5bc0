"""Which kernels a function becomes, and what these read and write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import pipeline
from kerneltk.fusion.plan.planner import Planner
from tests.sampling import half
from tests.unit.fusion.array_support import check

X = np.random.default_rng(0).random((6, 5))
LONG = np.ones((64, 2048), np.float32)


def kinds(function: Callable[..., Any], *args: Any) -> list[str]:
    return [kernel.kind for kernel in kerneltk.fuse(function).explain(*args).kernels]


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


PLANS: list[tuple[Callable[..., Any], list[str]]] = [
    (lambda x: 2 * np.exp(x) + x[0] - np.where(x > 0.5, x, 0), ["elementwise"]),
    (lambda x: (x + 1, x * 2, np.sqrt(x)), ["elementwise"]),
    (lambda x: (x[1:] - x[:-1], x + 1), ["elementwise", "elementwise"]),
    (lambda x: np.sqrt((x * x).sum(axis=1) + 1), ["reduction"]),
    (lambda x: (abs(x).max(), abs(x).mean(), (x * x).mean(), x.argmin()), ["reduction"]),
    (lambda x: x.sum(axis=0) > 0.5, ["reduction"]),
    (lambda x: x.max() - x.min(), ["reduction"]),
    (lambda x: (x.sum(axis=0), x.sum(axis=1)), ["reduction", "reduction"]),
    (lambda x: x - x.mean(axis=0), ["reduction", "elementwise"]),
    (lambda x: x.var(axis=0), ["reduction", "reduction"]),
    (lambda x: x[1:], []),
    (lambda x: (x, x.T), []),
    (lambda x: np.ones_like(x).sum(), ["elementwise", "reduction"]),
]


@pytest.mark.parametrize(("function", "wanted"), PLANS)
def test_plan(function: Callable[..., Any], wanted: list[str]) -> None:
    assert kinds(function, X) == wanted


ROWS: list[tuple[Callable[..., Any], list[str]]] = [
    (softmax, ["rows"]),
    (lambda x: (x - x.mean(1)[:, None]) / np.sqrt(x.var(1, keepdims=True) + 1e-5), ["rows"]),
    (lambda x: x.var(axis=1), ["rows"]),
    (lambda x: (x.mean(-1), x - x.mean(-1, keepdims=True)), ["rows"]),
    (lambda x: x.max(axis=1), ["reduction"]),
    (lambda x: (softmax(x), x.mean(axis=0)), ["rows", "reduction"]),
    (lambda x: x - x.max(axis=0), ["reduction", "elementwise"]),
    (lambda x: (x - x.mean(1, keepdims=True)).T.sum(1), ["reduction", "reduction"]),
    (lambda x: x.argmax(1)[:, None] + x, ["reduction", "elementwise"]),
]  # fmt: skip


@pytest.mark.parametrize(("function", "wanted"), ROWS)
def test_rows(function: Callable[..., Any], wanted: list[str]) -> None:
    assert kinds(function, LONG) == wanted


def test_rows_that_do_not_fit_and_few_of_them() -> None:
    staged = ["reduction", "reduction", "elementwise"]
    assert kinds(softmax, np.ones((64, 1 << 18), np.float32)) == staged
    assert kinds(softmax, LONG[:3]) == staged


def test_square_totals_go_along_rows() -> None:
    x = np.random.default_rng(1).random((64, 64))
    check(lambda x: x - x.mean(1), x)
    check(lambda x: x - x.mean(1, keepdims=True).T, x)
    check(lambda x: x - x.mean(1)[:, None], x)


def column_softmax(x: Any) -> Any:
    e = np.exp(x - x.max(0, keepdims=True))
    return e / e.sum(0, keepdims=True)


def log_of_sums(x: Any) -> Any:
    top = x.max(0)
    return np.log(np.exp(x - top).sum(0)) + top


ONLINE: list[tuple[Callable[..., Any], list[str]]] = [
    (column_softmax, ["reduction", "elementwise"]),
    (log_of_sums, ["reduction"]),
    (lambda x: np.exp(x - x.max()).sum(), ["reduction"]),
    (lambda x: np.exp(x - x.max(0)).sum(0) + x.sum(0), ["reduction"]),
    (lambda x: np.exp(x - x.max(0)).sum(), ["reduction", "reduction"]),
    (lambda x: np.exp(x - x.min(0)).sum(0), ["reduction", "reduction"]),
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("function", "wanted"), ONLINE)
@pytest.mark.parametrize("dtype", half([np.float32, np.float64]))
def test_sums_of_exponentials_in_one_read(
    function: Callable[..., Any], wanted: list[str], dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Planner, "is_online", True)  # as on a GPU
    x = (np.random.default_rng(5).normal(size=(300, 9)) * 3).astype(dtype)
    assert kinds(function, x) == wanted
    x[:, 1], x[:, 2], x[7, 3], x[8, 4], x[:9, 5] = -np.inf, np.inf, np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        expected = function(x)
    np.testing.assert_allclose(
        kerneltk.fuse(function)(x), expected, rtol=1e-4 if dtype == np.float32 else 1e-12
    )


def test_means_beside_squares_about_them_in_one_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x: Any) -> Any:
        mean = x.mean(0)
        return mean, np.square(x - mean).sum(0)

    monkeypatch.setattr(Planner, "is_online", True)  # as on a GPU
    x = np.random.default_rng(5).random((300, 9))
    assert kinds(program, x) == ["reduction"]
    x[0, :4], x[7, 4:7], x[:, 7] = [np.inf, 1e305, 1e200, np.nan], [np.inf, 1e200, 1e9], -np.inf
    x[1:, 1] = 0
    with np.errstate(all="ignore"):
        mean, squares = program(x)
        found = kerneltk.fuse(program)(x)
    np.testing.assert_allclose(found[0], mean, rtol=1e-12)
    np.testing.assert_allclose(np.delete(found[1], 1), np.delete(squares, 1), rtol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 2e-3), ("float32", 1e-5)])
def test_squares_of_small_floats_about_their_mean(
    dtype: str, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of squares that float16 holds just and not, of equal elements, and about large means."""

    def program(x: Any) -> Any:
        mean = x.mean(0)
        apart = x - mean
        return mean, (apart * apart).mean(0)

    monkeypatch.setattr(Planner, "is_online", True)  # as on a GPU
    x = np.random.default_rng(5).normal(size=(300, 9)).astype(dtype)
    assert kinds(program, x) == kinds(lambda x: (x.var(0), x.mean(0)), x) == ["reduction"]
    x[:, 0], x[:, 1], x[:, 2], x[:, 3:5] = 3, x[:, 1] * 4e-4, x[:, 2] + 1000, 0
    x[5, 3:] = [255.75, 257, 300, -300, np.nan, np.inf]
    with np.errstate(all="ignore"):
        wanted = program(x)
        found = kerneltk.fuse(program)(x)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == dtype
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=1e-7)


def test_traffic_is_at_the_floor() -> None:
    shown = kerneltk.fuse(softmax).explain(LONG)
    assert shown.bytes == shown.floor == 2 * LONG.nbytes
    shown = kerneltk.fuse(lambda x, y: 2 * x + 3 * y - x * y).explain(X, X + 1)
    assert shown.bytes == shown.floor == 3 * X.nbytes


def test_what_would_grow_without_limit_is_kept() -> None:
    def smoothed(x: Any) -> Any:
        for _ in range(24):  # computed anew it would be read through millions of views
            x = (x[1:] + x[:-1]) / 2
        return x

    def deflated(x: Any) -> Any:
        for _ in range(40):
            x = x - 0.01 * x.mean(axis=0)
        return x

    x = np.random.default_rng(6).random((40, 5))
    for function, most in ((smoothed, 8), (deflated, 60)):
        np.testing.assert_allclose(kerneltk.fuse(function)(x), function(x), rtol=1e-12)
        assert len(kinds(function, x)) <= most


def sources(function: Callable[..., Any], *args: Any) -> list[str]:
    units = kerneltk.fuse(function).translation_units(*args, backend="host")
    return [unit.source for unit in units]


def scalars(x: Any) -> Any:
    total = 0.0
    for i in range(x.shape[0]):
        total += np.tanh(x[i, i])
    return x + total


def totals(x: Any) -> None:
    total = x[0, 0] * 1
    for i in range(x.shape[0]):
        total = total + x[i, 0]
        x[i] = total * 0.5


def rounds(x: Any) -> Any:
    for _ in range(600):
        x = x * 0.5 + 1.0
    return x


def all_pairs(x: Any) -> None:
    for i in range(1, x.shape[0]):
        x[i] = 0.5 * x[i - 1] + x[i]


@pytest.mark.exhaustive
def test_small_operands_are_computed_once_where_that_is_less_work() -> None:
    row, column, number = np.ones(512), np.ones((512, 1)), np.ones(())
    x = np.ones((512, 512))
    for function, args, count in (
        (lambda x, row: x * np.tanh(row), (x, row), 2),
        (lambda x, row: x * np.tanh(row), (x[:4, :4], row[:4]), 1),
        (lambda x, row: x * (2 * row + 1), (x, row), 1),
        (lambda x, column: x * np.exp(column), (x, column), 2),
        (lambda x, row, column: x * np.exp(column) * np.exp(row), (x, row, column), 3),
        (lambda x, number: x / np.exp(number), (x, number), 2),
        (lambda row: np.exp(row)[:, None] * np.exp(row), (row,), 3),
        (lambda x: (x * np.tanh(x[0])).sum(axis=0), (x,), 2),
        (lambda x: x - np.exp(x)[0], (x,), 2),
    ):
        assert len(kinds(function, *args)) == count
        check(function, *args)


@pytest.mark.exhaustive
def test_what_rounds_of_loops_have_in_common() -> None:
    x = np.random.default_rng(7).random((200, 200))
    for function, kernels, texts in ((scalars, 6, 5), (rounds, 3, 2), (all_pairs, 199, 1)):
        found = sources(function, x)
        assert (len(found), len(set(found))) <= (kernels, texts), function
        assert len(set(found)) <= texts, function
        assert max(map(len, found)) < 60_000
    check(scalars, x[:30, :30], tolerance=1e-13)
    check(totals, x[:30, :30], tolerance=1e-13)


def test_views_of_views_are_no_more_than_their_parts() -> None:
    def smoothed(x: Any) -> Any:
        for _ in range(5):
            x = 0.5 * (x[1:] + x[:-1])
        return x

    (kernel,) = kerneltk.fuse(smoothed).explain(np.ones(100)).kernels
    assert kernel.kind == "elementwise"
    (text,) = sources(smoothed, np.ones(100))
    assert text.count(" + ") < 45


def rings(x: Any, n: int) -> Any:
    found = np.zeros(n)
    for k in range(n):
        found[k] = np.where((x >= k * 0.1) & (x < x.max() * (k + 1) / n), x, 0).sum()
    return found


@pytest.mark.exhaustive
def test_numbers_of_rounds_are_parameters_of_one_kernel() -> None:
    x = np.random.default_rng(6).random(50)
    assert len(set(sources(rings, x, 11))) > 11  # few are constants of their kernels
    found = sources(rings, x, 40)
    assert len(set(found)) < 7  # of the first round, of the last one, and of all others
    units = kerneltk.fuse(rings).translation_units(x, 40, backend="cuda")
    for unit in {unit.source: unit for unit in units}.values():
        assert len(pipeline.compile_ahead(unit, "sm_90").code) > 1000
    check(rings, x, 40)


def powers(x: Any) -> Any:
    for k in range(200):
        x = x * 0.5 + k
    return x


def test_one_kernel_has_few_numbers_of_rounds() -> None:
    x = np.arange(5.0)
    assert max(text.count("double s") for text in sources(powers, x)) < 200
    check(powers, x)
