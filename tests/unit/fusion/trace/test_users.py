"""Constants are known by what they are; what a call has read is kept alive by nothing."""

from __future__ import annotations

import datetime
import decimal
import enum
import gc
import types
import weakref
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.fusion.trace.users import computes_otherwise, constant_kind, is_same, is_value

X = np.arange(1, 5, dtype=np.float32)


class Letter(enum.Enum):
    A = 1
    B = 2


class Named(str):
    """A string of the user's."""


def later(hours: int) -> datetime.datetime:
    """One instant, by clocks of several zones."""
    zone = datetime.timezone(datetime.timedelta(hours=hours))
    return datetime.datetime(2020, 1, 1, hours, tzinfo=zone)


EQUAL_OR_ALIKE: list[list[Any]] = [
    [1, 1.0, True, np.int64(1), np.float32(1), np.True_, 1 + 0j, decimal.Decimal(1)],
    [0.0, -0.0, np.float64(-0.0), (0.0,), (-0.0,), complex(0, -0.0), complex(0, 0.0)],
    [decimal.Decimal("1.0"), decimal.Decimal("1.00"), (decimal.Decimal("1.0"),)],
    [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, fold=1)],
    [later(1), later(2)],
    [frozenset({1}), frozenset({1.0}), frozenset({True})],
    [range(0, 5, 2), range(0, 6, 2)],
    ["a", Named("a"), np.str_("a"), b"a"],
    [np.datetime64("2020"), np.datetime64("2020-01-01")],
    [Letter.A, Letter.B],
    [X.sum, X.mean],
]


@pytest.mark.parametrize("values", EQUAL_OR_ALIKE, ids=lambda values: repr(values[0])[:20])
def test_other_constants_have_other_kinds(values: list[Any]) -> None:
    kinds = [constant_kind(value) for value in values]
    assert all(kind == again for kind, again in zip(kinds, map(constant_kind, values), strict=True))
    assert len(set(kinds)) == len(values)


def test_values_are_the_same_by_type_and_value() -> None:
    nan = float("nan")
    for value in (1.5, (1, "a"), nan, float("-nan"), -0.0, None, np.float32(2), b"x", (nan,)):
        assert is_value(value)
        assert is_same(value, type(value)(value) if value is not None else None)
    for found, value in ((1, 1.0), (0.0, -0.0), ((1,), (1.0,)), ("a", b"a"), (True, 1)):
        assert not is_same(found, value)
    for value in ([1], {}, ([1],), Named("a"), np.zeros(2), np.void(b"a")):
        assert not is_value(value)


class Part:
    rate = 2.0

    def __init__(self, owner: Any) -> None:
        self.owner = owner


class Model:
    """All that a model has leads back to it."""

    def __init__(self, gain: float) -> None:
        self.gain = gain
        self.weights = np.full(4, gain, np.float32)
        self.parts = [Part(self)]
        self.named = {"a": Part(self)}
        self.act = lambda x: x * self.gain
        self.options = types.SimpleNamespace(owner=self, rate=3.0)
        self.bound = self.helper

    def helper(self, x: Any) -> Any:
        return x * self.gain

    @kerneltk.fuse
    def scaled(self, x: Any) -> Any:
        return x * self.gain

    @kerneltk.fuse
    def total(self, x: Any) -> Any:
        return (x * self.gain).sum()

    @kerneltk.fuse
    def weighted(self, x: Any) -> Any:
        return x * self.weights

    @kerneltk.fuse
    def deep(self, x: Any) -> Any:
        for part in self.parts:
            x = x * part.rate * part.owner.gain
        return self.helper(x) * self.named["a"].owner.gain + self.options.rate

    @kerneltk.fuse
    def called(self, x: Any) -> Any:
        return self.act(x) + self.bound(x)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["scaled", "total", "weighted", "deep", "called"])
def test_fused_methods_keep_no_object_alive(name: str) -> None:
    method: kerneltk.Fused = vars(Model)[name]
    models = [Model(2.0), Model(3.0)]
    for _ in range(3):
        for model in models:
            np.testing.assert_array_equal(method(model, X), method.__wrapped__(model, X))
    last = weakref.ref(models.pop())
    del model
    gc.collect()
    assert last() is None
    assert len(method._programs.by_kinds) == 1
    assert len(method._programs.by_shape) == 1
    np.testing.assert_array_equal(method(models[0], X), method.__wrapped__(models[0], X))


def test_globals_of_a_trace_end() -> None:
    """Such as a large array that only the module had."""
    names: dict[str, Any] = {"np": np, "__name__": "program", "large": np.ones(4)}
    exec("def f(x): return (x + 1).sum()", names)
    fused = kerneltk.fuse(names["f"])
    fused(X)
    end = weakref.ref(names.pop("large"))
    assert end() is None


@pytest.mark.exhaustive
def test_kinds_of_arguments_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kerneltk.fusion.programs._MOST_KINDS", 3)
    fused = kerneltk.fuse(lambda x, name: x * len(name))
    for length in (1, 2, 3, 4, 5, 1, 2):
        np.testing.assert_array_equal(fused(X, "a" * length), X * length)
    assert len(fused._programs.by_kinds) == 3


class Plain(np.ndarray):
    def __array_finalize__(self, other: Any) -> None:
        self.info = getattr(other, "info", None)

    def __repr__(self) -> str:
        return "Plain"


class Adds(np.ndarray):
    def __add__(self, other: Any) -> Any:
        return np.ndarray.__add__(self, other) * 100


class Sums(Plain):
    def sum(self, *args: Any, **kwargs: Any) -> Any:
        return 7


class Shaped(np.ndarray):
    @property
    def T(self) -> Any:  # noqa: N802 (NumPy's name)
        return self


class Mapped(np.memmap):
    def __getitem__(self, key: Any) -> Any:
        return 1


@pytest.mark.parametrize("kind", [Adds, Sums, Shaped, Mapped, np.matrix])
def test_classes_with_a_meaning_of_their_own(kind: Any) -> None:
    assert computes_otherwise(kind)


@pytest.mark.parametrize("kind", [np.ndarray, Plain, np.memmap, np.recarray, np.float64, int])
def test_classes_that_compute_as_numpy(kind: Any) -> None:
    assert not computes_otherwise(kind)


def test_arguments_and_arrays_from_outside() -> None:
    x = np.ones(3)
    with pytest.raises(kerneltk.ArgumentTypeError, match=r"numpy\.asarray"):
        kerneltk.fuse(lambda a: a + 1)(x.view(Adds))
    table = [x.view(Sums)]
    with pytest.raises(kerneltk.ArgumentTypeError, match="computes otherwise"):
        kerneltk.fuse(lambda a: np.add(a, table[0]))(x)
    np.testing.assert_array_equal(kerneltk.fuse(lambda a: a + 1)(x.view(Plain)), x + 1)
