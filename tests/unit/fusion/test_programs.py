"""Programs are found by the kinds of arguments and by what their traces decided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.fusion.programs import Kinds, _Decision

X = np.arange(6.0).reshape(2, 3)


def kinds_of(fused: Any) -> list[Kinds]:
    return list(fused._programs.by_kinds.values())


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kind", [int, float, complex, np.float32])
def test_calls_within_another_function_decide_nothing_by_numbers(kind: Any) -> None:
    @kerneltk.fuse
    def scaled(x: Any, factor: Any, unused: Any = ()) -> Any:
        return x * factor + 1

    @kerneltk.fuse
    def outer(x: Any, factor: Any) -> Any:
        return scaled(scaled(x, factor * 2), factor)

    @kerneltk.fuse
    def within_tuple(x: Any, factor: Any) -> Any:
        return scaled(x, factor * 2, (factor * 2, 1))

    for value in map(kind, (2, 3, 2, 4)):
        expected = (X * (value * 2) + 1) * value + 1
        np.testing.assert_array_equal(outer(X, value), expected)
        np.testing.assert_array_equal(scaled(X, value), X * value + 1)
        np.testing.assert_array_equal(within_tuple(X, value), X * (value * 2) + 1)
    assert len(list(kinds_of(outer)[0])) == 1


def test_zeros_of_another_sign_are_other_decisions() -> None:
    fused = kerneltk.fuse(lambda x, k: x + (1 if str(k)[0] == "-" else 2))
    for k in (0.0, -0.0, 0.0, -0.0):
        np.testing.assert_array_equal(fused(X, k), X + (1 if str(k)[0] == "-" else 2))


GLOBAL: Any = "n"


def test_a_trace_that_decides_something_else_replaces_the_other(monkeypatch: Any) -> None:
    def program(x: Any, n: Any, m: Any) -> Any:
        return x * 2 if (n if GLOBAL == "n" else m) > 1 else x

    fused = kerneltk.fuse(program)
    for value in ("n", "m", "n"):
        monkeypatch.setitem(globals(), "GLOBAL", value)
        for n, m in ((1, 2), (2, 1), (1, 2)):
            np.testing.assert_array_equal(fused(X, n, m), program(X, n, m))
    (kinds,) = kinds_of(fused)
    assert isinstance(kinds._holder[None], _Decision)
    assert len(list(kinds)) == 2


def test_modes_of_an_object_keep_their_programs() -> None:
    class Model:
        training = True

        def __call__(self, x: Any) -> Any:
            return x * 2 if self.training else x

    model = Model()
    fused = kerneltk.fuse(lambda model, x: model(x))
    for training in (True, False, True, False):
        model.training = training
        np.testing.assert_array_equal(fused(model, X), model(X))
    (kinds,) = kinds_of(fused)
    assert len(list(kinds)) == 2


def test_effects_that_are_seen_when_they_have_happened_happen_once() -> None:
    """A function that may run unfused is not executed again then."""
    log: list[Any] = []

    def program(x: Any) -> Any:
        list(map(log.append, [1]))
        return x + 1

    fused = kerneltk.fuse(fallback=True)(program)
    with pytest.raises(kerneltk.UnsupportedError, match="A list from outside is changed"):
        fused(X)
    assert log == [1]
