"""What a function reads of its arguments, and calls, is seen while it is traced."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.fusion.trace.outside import Watch, can_watch, watching

X = np.arange(4.0)
RATE: Any = 2.0


class Base:
    def inherited(self, x: Any) -> Any:
        return x * self.k * RATE  # type: ignore[attr-defined]

    def counted(self, x: Any) -> Any:
        self.n += 1  # type: ignore[attr-defined]
        return x


class Thing(Base):
    def __init__(self) -> None:
        self.k: Any = 2.0
        self.n = 0

    def by_super(self, x: Any) -> Any:
        return super().inherited(x)

    def counted_by_super(self, x: Any) -> Any:
        return super().counted(x)

    def plain(self, x: Any) -> Any:
        return x * self.k

    def me(self) -> Any:
        return self

    def __mul__(self, x: Any) -> Any:
        return x * RATE * self.k

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        return function(*args) * RATE

    return call


ALSO = wrapped(lambda one, x: x * one.k)


def of_two(one: Any, x: Any) -> Any:
    with one as same:
        return [x * each.k for each in (one, same)][1] * RATE


def of_default(one: Any, x: Any) -> Any:
    if one is None:
        one = Thing()
    return x * one.k * RATE


READ: list[Callable[[Any, Any], Any]] = [
    lambda one, x: one.by_super(x),
    lambda one, x: one * x,
    lambda one, x: one.plain(*[x]) * RATE,
    lambda one, x: x * one.me().k * RATE,
    lambda one, x: x * vars(one)["k"] * RATE,
    lambda one, x: x * [getattr(one, name) for name in ("n", "k")][1] * RATE,
    lambda one, x: functools.reduce(lambda y, _: one.plain(y), range(2), x) * RATE,
    lambda *args: ALSO(*args),
    of_two,
    of_default,
]


@pytest.mark.one_in(9)
@pytest.mark.parametrize("number", range(len(READ)))
def test_what_is_read_is_guarded(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    function, one = READ[number], Thing()
    fused = kerneltk.fuse(function)
    for rate, k in ((2.0, 2.0), (3.0, 2.0), (3.0, 5.0), (3.0, 5)):
        monkeypatch.setitem(globals(), "RATE", rate)
        one.k = k
        for _ in range(2):
            np.testing.assert_array_equal(fused(one, X), function(one, X))


def test_effects_are_refused_before_they_happen() -> None:
    def of_each(x: Any, *things: Any) -> Any:
        for thing in things:
            del thing.k
        return x

    one = Thing()
    functions: list[tuple[Callable[[], Any], str]] = [
        (lambda: kerneltk.fuse(Thing.counted_by_super)(one, X), "self.n += 1"),
        (lambda: kerneltk.fuse(of_each)(X, one), "del thing.k"),
    ]
    for call, line in functions:
        with pytest.raises(kerneltk.UnsupportedError, match="object from outside is assigned") as e:
            call()
        assert line in str(e.value)
    assert vars(one) == {"k": 2.0, "n": 0}


def test_classes_and_the_interpreter_are_as_before() -> None:
    before = dict(vars(Thing)), sys.gettrace(), sys.getprofile()
    one, read, called = Thing(), [], []
    watch = Watch(
        lambda _, name, found: read.append(name) or found,
        lambda frame: called.append(frame.f_code.co_name), {id(one): one}, set(),
    )  # fmt: skip
    with watching(watch), watching(watch):
        one.plain(Thing().k)
        thread = threading.Thread(target=lambda: one.n)
        thread.start()
        thread.join()
    assert set(read) == {"plain", "k"}  # of this object, by this thread
    assert {"plain"} <= set(called)
    assert (dict(vars(Thing)), sys.gettrace(), sys.getprofile()) == before
    assert can_watch(Thing)
    assert not can_watch(int)
