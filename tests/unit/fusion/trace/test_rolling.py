"""Loops of fused functions: which are rolled, and that all compute what NumPy does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.backends.base import backend_named
from kerneltk.fusion.plan.steps import Rounds, Step
from kerneltk.fusion.start import traced
from kerneltk.fusion.trace import rolling
from tests.unit.fusion.array_support import check_calls

ROWS, COLUMNS = 20, 16


@pytest.fixture(autouse=True)
def _few_operations_are_rolled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolling, "_LEAST_OPERATIONS", -1)
    monkeypatch.setattr(rolling, "_LEAST_CARRYING", 30)


def _arguments() -> list[Any]:
    x = np.arange(ROWS * COLUMNS, dtype="f8").reshape(ROWS, COLUMNS) * 7 % 11 - 4
    return [x, x[::-1] * 0.5]


def rows(x: Any, y: Any) -> None:
    for i in range(1, x.shape[0] - 1):
        y[i] = 0.5 * y[i - 1] + x[i + 1] * i


def time_steps(x: Any, y: Any) -> Any:
    for _ in range(30):
        x[1:-1] = 0.25 * (x[:-2] + x[2:]) + y[1:-1]
    return x + 1


def carried_and_an_element(x: Any, y: Any) -> Any:
    first, second = x[0] * 1, y[1] * 1
    for i in range(x.shape[0]):  # an element, which is copied before both are written
        second = second * 0.5 + x[i] * first[i % 3]
        first = first * 0.9 + second * 0.01
    return first


def read_before(x: Any, y: Any) -> Any:
    old, half = x.copy(), x * 0.5
    for i in range(1, x.shape[0]):
        x[i] += old[i - 1] + half[i - 1]
    return half


def selected(x: Any, y: Any) -> None:
    for i in range(x.shape[0]):
        chosen = y[(y > i * 0.5 - 4) & (y < i)]
        x[i] += chosen.sum()


def selected_before(x: Any, y: Any) -> None:
    mask = x > 1
    chosen = y[mask]
    for i in range(x.shape[0]):
        y[mask] = chosen * 0.5 + i
        chosen = y[mask] + x[mask]
        x[i] += y[0]


def carried_array_and_time(x: Any, y: Any) -> Any:
    step, time = x.shape[0] * 0.25, 0.0
    both = np.concatenate((x[0], y[0]))
    for _ in range(30):
        x[1] += both[:COLUMNS] * 0.5 - step
        both = np.concatenate((x[1], x[2] * 0.5))
        time += step
    return both


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "function",
    [
        carried_array_and_time,
        rows,
        time_steps,
        carried_and_an_element,
        read_before,
        selected,
    ],
)
def test_equal_rounds_are_planned_once(function: Callable[..., Any]) -> None:
    _compare(function)
    steps = traced(function, "program", _arguments(), (), backend_named("host")).plan.steps
    assert any(isinstance(step.kernel, Rounds) for step in steps)
    assert _count(steps) < 150


def _count(steps: list[Step]) -> int:
    return sum(
        _count(list(step.kernel.steps)) if isinstance(step.kernel, Rounds) else 1 for step in steps
    )


def _compare(function: Callable[..., Any]) -> None:
    check_calls(function, _arguments(), _arguments(), tolerance=1e-12)


def two_parities(x: Any, y: Any) -> None:
    for i in range(x.shape[0]):
        if i % 2:
            x[i] += 1


def appended(x: Any, y: Any) -> Any:
    found = []
    for i in range(x.shape[0]):
        found.append(x[i] * 2)
    return found[3] + found[-1]


def one_view(x: Any, y: Any) -> Any:
    row = x[0]
    for i in range(x.shape[0]):
        y[i] = row + 1
        row = x[i]
        row += 1
    return row * 1


def through_a_name(x: Any, y: Any) -> Any:
    values = range(14)
    assert isinstance(values, range)
    assert len(values) == 14
    for i in values:
        x[i] += i
    return x[0]


def state_of_defaults(x: Any, y: Any) -> None:
    def step(v: Any, seen: list[int] = [0], *, more: list[int] = [0]) -> Any:  # noqa: B006
        seen[0] += 1
        more[0] += 2
        return v + seen[0] * more[0]

    for i in range(x.shape[0]):
        x[i] = step(x[i])


def state_of_a_function(x: Any, y: Any) -> None:
    def step(v: Any) -> Any:
        step.count += 1  # type: ignore[attr-defined]
        return v + step.count  # type: ignore[attr-defined]

    step.count = 0  # type: ignore[attr-defined]
    for i in range(x.shape[0]):
        x[i] = step(x[i])


def state_of_a_class(x: Any, y: Any) -> None:
    class Seen:
        count = 0

    for i in range(x.shape[0]):
        Seen.count += 1
        x[i] += Seen.count


def order_of_a_dict(x: Any, y: Any) -> None:
    table = {0: 1.0, 1: 2.0, 2: 5.0}

    def rotated() -> float:
        key = next(iter(table))
        table[key] = table.pop(key)
        return table[key]

    for i in range(x.shape[0]):
        x[i] += rotated()


def caught(x: Any, y: Any) -> Any:
    try:
        for i in range(x.shape[0]):
            if i % 2:
                x[i] += 1
    except BaseException:
        x[:] = 0
    return x * 1


def returned_from_finally(x: Any, y: Any) -> Any:
    try:
        for i in range(x.shape[0]):
            if i % 2:
                x[i] += 1
    finally:
        return x * 1  # noqa: B012


def left_by_a_dependent_range(x: Any, y: Any) -> Any:
    k = 0
    for i in range(1, COLUMNS):
        for j in range(i):
            x[i, j] += k
            last = x[j, i] * 2
            if j == 9:
                break
        k = j
        y[i] += last
    return last


def grown_by_an_inner_loop(x: Any, y: Any) -> None:
    j = 0
    for i in range(ROWS):
        x[i] += j
        for j in (j + 1, j + 2):  # noqa: B020
            y[0] += 1 + 0 * j


def time_is_used_behind(x: Any, y: Any) -> Any:
    step, time = x.shape[0] * 0.25, 0.0
    for i in range(ROWS):
        x[i] += step
        time += step
    return x + time


def time_decides(x: Any, y: Any) -> Any:
    step, time = x.shape[0] * 0.25, 0.0
    for i in range(ROWS):
        x[i] += step
        time += step
        if time > 60:
            break


def divided_behind_a_dependent_range(x: Any, y: Any) -> Any:
    caught = 0
    for i in range(1, COLUMNS):
        for j in range(i, -1, -1):
            x[i, j] += 1
        try:
            7 // j
        except ZeroDivisionError:
            caught += 1
    return x[0] + caught


def returned_by_a_dependent_range(x: Any, y: Any) -> Any:
    for i in range(COLUMNS):
        for j in range(i):
            x[i, j] += x[j, i] * 0.5
            if i * j == 30:
                return x[i] * 1
    return y


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "function",
    [
        time_is_used_behind, left_by_a_dependent_range, divided_behind_a_dependent_range,
        time_decides, returned_by_a_dependent_range, two_parities, grown_by_an_inner_loop,
        one_view, appended, through_a_name, state_of_defaults, selected_before, state_of_a_function,
        state_of_a_class, order_of_a_dict, caught, returned_from_finally,
    ],
)  # fmt: skip
def test_other_rounds_are_what_the_function_does(function: Callable[..., Any]) -> None:
    _compare(function)


def test_sums_of_floats_decide_as_they_are_rounded() -> None:
    def decided(x: Any, h: float) -> None:
        for i in range(x.shape[0]):
            for j in range(i, x.shape[0]):
                x[i, j] = 1 if (j - i) * h + i * h >= j * h else -1

    check_calls(decided, (np.zeros((25, 25)), 0.1))


def test_explanation_has_the_launches_of_all_rounds() -> None:
    x, y = _arguments()
    assert len(kerneltk.fuse(rows).explain(x, y).kernels) == ROWS - 2


def _beyond(x: Any, y: Any) -> None:
    for i in range(x.shape[0]):
        x[i] = x[i + 1]


def _failing(x: Any, y: Any) -> None:
    for i in range(x.shape[0]):
        x[i] += 1
    raise ValueError("mine")


def _failing_behind_both(x: Any, y: Any) -> None:
    two_parities(x, y)
    _failing(x, y)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (_beyond, IndexError, "out of bounds"),
        (_failing, ValueError, "mine"),
        (_failing_behind_both, ValueError, "mine"),
    ],
)
def test_errors_in_and_behind_loops(
    function: Callable[..., Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        kerneltk.fuse(function)(*_arguments())


def test_loops_of_few_operations_are_unrolled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolling, "_LEAST_OPERATIONS", 100)
    host = backend_named("host")
    for rounds, is_rolled in ((20, False), (60, True)):
        given = [np.ones((rounds, 4)), np.ones((rounds, 4))]
        steps = traced(rows, "program", given, (), host).plan.steps
        assert any(isinstance(step.kernel, Rounds) for step in steps) == is_rolled


def test_rounds_that_grow_are_rolled_where_all_of_them_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def grown(a: Any, b: Any) -> Any:
        for i in range(60):
            for j in range(i):
                a = a[::-1] * 0.5 + b
                b = b * 0.5 - a
                a[j] = b[i]
        return a, b

    monkeypatch.setattr(rolling, "_LEAST_OPERATIONS", 512)
    monkeypatch.setattr(rolling, "_LEAST_CARRYING", 2048)
    given = [np.linspace(0, 1, 60), np.linspace(1, 3, 60)]
    steps = traced(grown, "program", given, (), backend_named("host")).plan.steps
    assert _count(steps) < 50
    for found, wanted in zip(kerneltk.fuse(grown)(*given), grown(*given), strict=True):
        np.testing.assert_array_equal(found, wanted)
