"""Shortcuts compare types, dtypes, attributes and constants, in C and in Python."""

from __future__ import annotations

import dataclasses
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from kerneltk.core.settings import get_settings
from kerneltk.launch.shortcuts import Call, Distance, Kind, New, Steps, Viewing, shortcut_of

from .test_interpreter import ON_HOST

F4, F8 = np.dtype("f4"), np.dtype("f8")
X = np.zeros((2, 3), F4)


@pytest.fixture(autouse=True, params=["python", "compiled"])
def launcher(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("KERNELTK_LAUNCHER", request.param)
    get_settings.cache_clear()
    yield request.param
    monkeypatch.undo()
    get_settings.cache_clear()


def otherwise(*args: Any) -> Any:
    return ("otherwise", *args)


def typed(*args: Any) -> Any:
    return ("typed", *args)


def way(call: Callable[..., Any], *args: Any) -> str:
    found: str = call(*args)[0]
    return found


def test_arguments_are_compared_and_passed() -> None:
    layout = ("ndim", 2), ("shape", (2, 3)), ("flags.c_contiguous", True)
    kinds = [Kind(int), Kind(np.ndarray, F4, layout), Kind(bool, constant=True)]
    call = shortcut_of(kinds, (1, 0, 1), typed, otherwise, ON_HOST)
    for _ in range(2):
        assert call(2, X, True) == ("typed", X, 2, X)
    others: list[tuple[Any, ...]] = [
        (2.0, X, True), (2, X, False), (2, X.T, True), (2, X[:1], True), (2, X.astype(F8), True),
        (2, X[0], True), (2, np.asfortranarray(X), True), (2, X), (2, X, True, 1), (2, None, True),
    ]  # fmt: skip
    for args in others:
        found = call(*args)
        assert found[0] == "otherwise"
        assert all(a is b for a, b in zip(found[1:], args, strict=True))


def test_what_is_called_may_be_in_a_list() -> None:
    runs: list[Any] = [None, typed]
    call = shortcut_of([Kind(int), Kind(float)], (1,), runs, otherwise, ON_HOST)
    assert call(1, 2.0) == ("typed", 2.0)
    runs[1] = lambda value: ("other", value)
    assert call(1, 2.0) == ("other", 2.0)


def test_guards_are_asked_of_arguments_of_these_kinds() -> None:
    asked: list[Any] = []

    def guard(*args: Any) -> bool:
        asked.append(args)
        return args[0] > 1

    call = shortcut_of([Kind(int)], (0,), typed, otherwise, ON_HOST, guard=guard)
    assert [way(call, 2), way(call, 1), way(call, 2.5)] == ["typed", "otherwise", "otherwise"]
    assert asked == [(2,), (1,)]


@pytest.mark.parametrize("access", ["offset", "path", "function"])
def test_distances_of_addresses(access: str) -> None:
    """An argument, and an array that is none, lie below and above what is written."""
    address: Any = {"offset": object.__basicsize__, "path": "data"}.get(
        access, lambda a: a.ctypes.data
    )
    arrays = dataclasses.replace(
        ON_HOST, address=address, memory="ctypes" if access == "path" else ""
    )
    whole = np.zeros(64, "u1")
    distances = [Distance(1, 0, -4, 8), Distance(1, whole[32:], -8, 16)]
    kinds = [Kind(np.ndarray, whole.dtype)] * 2
    call = shortcut_of(kinds, (1,), typed, otherwise, arrays, apart=distances)
    for at, is_apart in ((0, True), (3, True), (4, True), (5, False), (15, False), (16, True)):
        for _ in range(2):
            assert (way(call, whole[8:], whole[at:]) == "typed") is is_apart, at
    assert way(call, whole, whole[24:]) == "typed"
    assert call(whole, whole[25:])[0] == call(whole, whole[47:])[0] == "otherwise"
    assert way(call, whole, whole[48:]) == "typed"


def test_programs_are_executed() -> None:
    made: list[Any] = []

    def empty(shape: Any, dtype: Any, order: str) -> Any:
        made.append((shape, dtype, order))
        return np.zeros(shape, dtype, order=order)  # type: ignore[call-overload]

    def add(x: Any, table: Any, out: Any, stream: Any, options: Any) -> None:
        out[...] = x + table + options

    def both(out: Any) -> Any:
        return out * 2, out.sum()

    def gathered(values: Any) -> Any:
        return [values[0], *values[3:]]

    def in_python(x: Any) -> Any:
        out = empty((2, 3), F4, "F")
        add(x, 10, out, None, 5)
        return [x, out, *both(out)]

    steps = Steps(
        in_python, 7, ((1, 10), (2, "unused")), (New(3, (2, 3), F4, "F", empty),),
        (
            Call([None, None, None, add], (0, 1, 3), (5,), ()),
            Call(both, (3,), (), (4, 5)),
            Call(gathered, None, (), (6,)),
        ),
        6,
    )  # fmt: skip
    x = X + 1
    call = shortcut_of([Kind(np.ndarray, F4)], (0,), steps, otherwise, ON_HOST)
    for _ in range(2):
        found = call(x)
        assert found[0] is x
        assert found[1].tolist() == (x + 15).tolist()
        assert found[2].tolist() == (2 * x + 30).tolist()
        assert found[3] == (x + 15).sum()
    assert made == [((2, 3), F4, "F")] * 2
    assert way(call, X.astype(F8)) == "otherwise"
    nothing = steps._replace(run=lambda x: None, calls=(), result=-1)
    assert shortcut_of([Kind(np.ndarray, F4)], (0,), nothing, otherwise, ON_HOST)(x) is None


def test_views_of_programs_are_the_librarys_where_no_launcher_takes_them() -> None:
    """Of arrays that lie otherwise than those that are known, too, and of views."""
    rows = Viewing(lambda a: a[1:], 12, True, (2, 3), (12, 4), (1, 3), (12, 4))
    turned = Viewing(lambda a: a.T, 0, False, (1, 3), (12, 4), (3, 1), (4, 12))
    steps = Steps(
        lambda x: [x, x[1:], x[1:].T], 4, (), (),
        (Call(rows, (0,), (), (1,)), Call(turned, (1,), (), (2,)),
         Call(lambda values: [*values[:3]], None, (), (3,))),
        3,
    )  # fmt: skip
    plain = np.arange(6, dtype=F4).reshape(2, 3)
    for result in (3, 2):
        own = steps if result == 3 else steps._replace(run=lambda x: x[1:].T, result=2)
        call = shortcut_of([Kind(np.ndarray, F4)], (0,), own, otherwise, ON_HOST)
        for x in (plain, plain[::-1], np.tile(plain, (2, 2))):
            found = call(x)[2] if result == 3 else call(x)
            assert type(found) is np.ndarray
            assert np.shares_memory(found, x)
            np.testing.assert_array_equal(found, x[1:].T)


def test_large_programs_are_executed() -> None:
    """Of more values than the extension module has on its stack."""
    count = 400
    calls = [Call(operator.add, (k, 1), (), (k + 1,)) for k in range(1, count)]
    calls[0] = Call(operator.neg, (0,), (), (2,))
    steps = Steps(lambda x: -x + 398 * 3, count + 1, ((1, 3),), (), tuple(calls), count)
    assert steps.fits
    x = X + 1
    assert shortcut_of([Kind(np.ndarray, F4)], (0,), steps, otherwise, ON_HOST)(x).tolist() == (
        (398 * 3 - x).tolist()
    )
    whole = Call(list, None, (), ())
    assert not steps._replace(size=1 << 16, calls=(*calls, whole, whole)).fits


def test_what_programs_raise_is_raised(launcher: str) -> None:
    def fails(*values: Any) -> Any:
        raise KeyError("of the program")

    steps = Steps(fails, 2, (), (), (Call(fails, (0,), (), (1,)),), 1)
    call = shortcut_of([Kind(int)], (0,), steps, otherwise, ON_HOST)
    before = sys.getrefcount(fails)
    for _ in range(100):
        with pytest.raises(KeyError, match="of the program"):
            call(1)
    assert sys.getrefcount(fails) - before < 50
    if launcher == "compiled":
        one = steps._replace(calls=(Call(lambda x: x, (0,), (), (1, 1)),))
        with pytest.raises(TypeError, match="no result for each slot"):
            shortcut_of([Kind(int)], (0,), one, otherwise, ON_HOST)(1)


def test_dtypes_that_are_asked_for() -> None:
    class Array:
        def __init__(self, dtype: Any) -> None:
            self.given = dtype

        @property
        def dtype(self) -> Any:
            if self.given is None:
                raise KeyError("no dtype")
            return self.given

    call = shortcut_of([Kind(Array, F4), Kind(int)], (0,), typed, otherwise, ON_HOST)
    array = Array(F4)
    assert call(array, 1) == ("typed", array)
    assert way(call, Array(F8), 1) == way(call, array, 1.0) == "otherwise"
    with pytest.raises(KeyError, match="no dtype"):
        call(Array(None), 1)


def test_many_arguments_are_compared_in_python() -> None:
    call = shortcut_of([Kind(int)] * 65, range(65), typed, otherwise, ON_HOST)
    assert way(call, *range(65)) == "typed"
    assert way(call, *range(64)) == "otherwise"
