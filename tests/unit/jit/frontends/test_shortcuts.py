"""Repeated calls of a `@kernel`: which arguments take the short way, and which are looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import jit
from kerneltk.backends.base import backend_named
from kerneltk.jit.frontends.shortcuts import Specialized, make_shortcut
from kerneltk.launch.dispatch import Call
from tests.unit.launch.test_shortcuts import launcher as launcher

HOST = backend_named("host")


F4, F8 = np.dtype("f4"), np.dtype("f8")
X = np.zeros((3, 4), F4)


def shortcut(
    args: Sequence[Any],
    raw: Sequence[bool] = (),
    given: int = 0,
    index_ndim: int = 0,
    dtypes: Sequence[Any] = (F4,),
) -> Callable[..., Any] | None:
    count = len(args) - given
    call = Call(tuple(args[:count]), tuple(args[count:]), {}, lambda k: (f"{k}", None), "it")
    call.backend = HOST
    known: Any = Specialized(lambda *args: ("typed", *args), dtypes, index_ndim)  # type: ignore
    whole = raw or [False] * len(args)
    return make_shortcut(call, whole, known, lambda *args: ("otherwise", *args))


def way(call: Callable[..., Any] | None, *args: Any) -> str:
    assert call is not None
    found: str = call(*args)[0]
    return found


def test_arrays_of_the_same_type_and_dtype() -> None:
    call = shortcut([X, 2.5])
    assert way(call, np.ones(7, F4), 3.5) == "typed"
    assert way(call, np.ones((2, 2, 2), F4)[::2], 3.5) == "typed"
    assert way(call, np.ones(0, F4), 3.5) == "typed"
    assert way(call, np.ones(7, F8), 3.5) == "otherwise"
    assert way(call, np.ones(7, F4), 3) == "otherwise"
    assert way(call, np.ones(7, F4), np.float64(3)) == "otherwise"
    assert way(call, 1.5, 3.5) == "otherwise"
    assert way(call, np.ma.ones(7, F4), 3.5) == "otherwise"


def test_whole_arrays_keep_their_layout() -> None:
    call = shortcut([X, 2], [True, False])
    assert call is not None
    kind, given, number, out = call(X, 3)
    assert (kind, given is X, number) == ("typed", True, 3)
    assert (out.shape, out.dtype, out.flags.c_contiguous) == ((3, 4), F4, True)
    assert way(call, np.ones((5, 6), F4), 3) == "typed"
    assert way(call, np.ones((5, 6), F4).T, 3) == "otherwise"
    assert way(call, np.ones(5, F4), 3) == "otherwise"
    assert way(call, np.ones((0, 6), F4), 3) == "otherwise"  # the source may rely on its axes


@pytest.mark.parametrize(
    ("args", "options"),
    [
        ([X, X], {"given": 1, "index_ndim": 2}),  # an array by elements and an index of its own
        ([X], {"index_ndim": 2}),
        ([2.5], {}),  # nothing has a shape
        ([X], {"raw": [True], "dtypes": ()}),  # nothing is returned
        ([X], {"raw": [True], "index_ndim": 3}),
    ],
)
def test_calls_that_are_looked_at_each_time(args: Any, options: Any) -> None:
    assert shortcut(args, **options) is None


# -- several kinds of arguments in turn ------------------------------------------------------------


def test_kinds_of_arguments_in_turn_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    @jit.kernel
    def added(x, y):
        return x + y

    looked = []
    whole = type(added)._call

    def counted(self: Any, args: Any, out: Any, named: Any) -> Any:
        looked.append(args)
        return whole(self, args, out, named)

    monkeypatch.setattr(type(added), "_call", counted)
    rows = [np.ones(3, F4), np.ones(3, F8), np.ones((2, 3), F8), np.ones((), np.int8)]
    for turn in range(4):
        for x in rows:
            for y in (x, 2, 2.5):
                result, out = added(x, y), np.zeros(x.shape, np.result_type(x, y))
                assert added(x, y, out=out) is out
                assert result.dtype == out.dtype == (x + y).dtype
                assert (result == x + y).all()
                assert (out == x + y).all()
        if not turn:
            looked.clear()
    assert not looked


def test_shortcuts_ask_nothing_of_objects_that_have_none() -> None:
    @jit.kernel
    def added(x, y):
        return x + y

    class Odd:
        @property
        def dtype(self) -> Any:
            return []  # no key of a dictionary

    for _ in range(2):
        assert added(X, X).shape == X.shape
        with pytest.raises(kerneltk.ArgumentTypeError):
            added(X, Odd())


def test_layouts_of_whole_arrays_in_turn() -> None:
    """Shortcuts of one kind that are for other layouts are made anew, and do not call each other
    for ever.
    """

    @jit.kernel
    def first(x):
        return x[0] + jit.index(1) * 0

    rows = [np.arange(6.0), np.arange(12.0)[::2], np.arange(6.0), np.arange(0.0, 3.0)]
    for _ in range(3):
        for x in rows:
            assert first(x).tolist() == [0] * len(x)
