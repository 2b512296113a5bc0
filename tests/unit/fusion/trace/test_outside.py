"""What changes outside of a traced function between its calls is seen by the next call."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.fusion import start

X = np.arange(4.0)

ITEMS: Any = [2.0, 3.0]
TABLE: Any = {"a": 2.0, "b": {"c": [1.0]}}
ARRAY: Any = np.array([1.0, 2.0])
CONFIG: Any = types.SimpleNamespace(rate=2.0, inner=types.SimpleNamespace(rate=3.0))
ACTIVATION: Any = np.tanh
OPERATIONS: Any = {"scale": lambda x: x * ITEMS[0]}
MODULE = types.ModuleType("settings")
exec("rate = 2.0\ndef scale(x):\n    return x * rate if type(x) is kind else x\n", MODULE.__dict__)
MODULE.__dict__["kind"] = np.ndarray


class Settings:
    rate = 2.0


class Mode(enum.IntEnum):
    DOUBLE = 1
    SQUARE = 2


MODE = Mode.DOUBLE


def helper(x: Any) -> Any:
    return x * TABLE["b"]["c"][0] + 1


def scaled(x: Any, weights: Any = [1.0]) -> Any:  # noqa: B006 (it changes)
    return x * weights[0]


class Model:
    def __init__(self) -> None:
        self.hidden = 2.0
        self.weights = np.ones(4)
        self.layers = [types.SimpleNamespace(rate=1.0)]
        self.calls = 0

    @property
    def rate(self) -> float:
        return self.hidden

    def scale(self, x: Any) -> Any:
        return x * self.hidden * ITEMS[0]

    def __getitem__(self, k: int) -> float:
        return self.hidden + k

    def __call__(self, x: Any) -> Any:
        total = sum(layer.rate for layer in self.layers)
        return self.scale(x) * self.rate + self[1] + self.weights[0] + total


MODEL = Model()
FUSED = kerneltk.fuse(lambda x: x * TABLE["a"])


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions that were traced."""
    found: list[Any] = []
    own = start.traced

    def traced(function: Any, *args: Any, **kwargs: Any) -> Any:
        found.append(function)
        return own(function, *args, **kwargs)

    monkeypatch.setattr(start, "traced", traced)
    return found


def put(name: str, value: Any) -> Callable[[], object]:
    """Have a global stand for something else."""
    return lambda: globals().__setitem__(name, value)


def with_closure() -> tuple[Callable[[Any], Any], list[float]]:
    items = [1.0]
    return lambda x: x * items[0], items


CLOSED, CLOSED_ITEMS = with_closure()
CASES: dict[str, tuple[Any, list[Callable[[], object]]]] = {
    "list": (
        lambda x: x * ITEMS[0],
        [lambda: ITEMS.__setitem__(0, 5.0), lambda: ITEMS.insert(0, 7.0)],
    ),
    "dict": (lambda x: x * TABLE["a"], [lambda: TABLE.__setitem__("a", 5.0)]),
    "nested": (helper, [lambda: TABLE["b"]["c"].__setitem__(0, 5.0)]),
    "a helper": (lambda x: helper(x), [put("helper", lambda x: x - 1)]),
    "item of an array": (lambda x: x * ARRAY[0], [lambda: ARRAY.__setitem__(0, 5.0)]),
    "expression of an array": (
        lambda x: x + (ARRAY * 2).sum(),
        [lambda: ARRAY.__setitem__(0, 7.0), put("ARRAY", np.ones(3))],
    ),
    "attribute": (lambda x: x * CONFIG.rate, [lambda: setattr(CONFIG, "rate", 5.0)]),
    "attribute of one": (
        lambda x: x * CONFIG.inner.rate,
        [lambda: setattr(CONFIG.inner, "rate", 5.0)],
    ),
    "getattr": (lambda x: x * getattr(CONFIG, "rate"), [lambda: setattr(CONFIG, "rate", 6.0)]),  # noqa: B009
    "class": (lambda x: x * Settings.rate, [lambda: setattr(Settings, "rate", 5.0)]),
    "enumeration": (lambda x: x * 2 if MODE is Mode.DOUBLE else x * x, [put("MODE", Mode.SQUARE)]),
    "a ufunc": (lambda x: ACTIVATION(x), [put("ACTIVATION", np.exp)]),
    "a function in a dict": (
        lambda x: OPERATIONS["scale"](x),
        [lambda: ITEMS.__setitem__(0, 9.0), lambda: OPERATIONS.__setitem__("scale", lambda x: -x)],
    ),
    "module": (lambda x: x * MODULE.rate, [lambda: setattr(MODULE, "rate", 5.0)]),
    "function of a module": (lambda x: MODULE.scale(x), [lambda: setattr(MODULE, "rate", 6.0)]),
    "default": (scaled, [lambda: scaled.__defaults__[0].__setitem__(0, 5.0)]),  # type: ignore[index]
    "closure": (CLOSED, [lambda: CLOSED_ITEMS.__setitem__(0, 5.0)]),
    "partial": (
        functools.partial(lambda x, w: x * w[0], w=ITEMS),
        [lambda: ITEMS.__setitem__(0, 8.0)],
    ),
    "fused": (lambda x: FUSED(x) + 1, [lambda: TABLE.__setitem__("a", 7.0)]),
    "an object that is called": (
        MODEL,
        [
            lambda: setattr(MODEL, "hidden", 3.0),
            lambda: ITEMS.__setitem__(0, 11.0),
            lambda: MODEL.weights.__setitem__(0, 4.0),
            lambda: setattr(MODEL.layers[0], "rate", 5.0),
            lambda: MODEL.layers.append(types.SimpleNamespace(rate=6.0)),
        ],
    ),
    "bound method": (MODEL.scale, [lambda: setattr(MODEL, "hidden", 4.0)]),
}


@pytest.mark.parametrize("name", CASES)
def test_changes_are_seen(name: str, traces: list[Any]) -> None:
    function, changes = CASES[name]
    fused = kerneltk.fuse(function)
    for change in [lambda: None, *changes]:
        change()
        for _ in range(2):
            np.testing.assert_allclose(fused(X), function(X), rtol=1e-15)
    own = [traced for traced in traces if traced is function]
    assert len(own) <= 1 + len(changes)  # what has not changed is not traced again


def test_what_the_function_does_not_read_may_change(traces: list[Any]) -> None:
    fused = kerneltk.fuse(lambda x: x * MODEL.hidden + helper(x))
    for _ in range(3):
        MODEL.calls += 1
        CONFIG.rate += 1
        fused(X)
    assert len(traces) == 1


def test_equal_objects_with_other_attributes() -> None:
    @dataclasses.dataclass(frozen=True)
    class Parameters:
        rate: float = dataclasses.field(compare=False)

    fused = kerneltk.fuse(lambda x, p: x * p.rate)
    for rate in (1.0, 2.0, 1.0, 3.0):
        np.testing.assert_array_equal(fused(X, Parameters(rate)), X * rate)


def test_functions_as_arguments_are_traced() -> None:
    fused = kerneltk.fuse(lambda x, f: f(x) + 1)
    functions: list[Any] = [np.exp, lambda v: v * np.arange(v.shape[0]), np.cos]
    for function in functions:
        np.testing.assert_allclose(fused(X, function), function(X) + 1, rtol=1e-15)


KINDS: list[Any] = [
    lambda x, k: x * k if type(k) is float else x - k,
    lambda x, k: {float: x * 2, int: x * 3, bool: x * 4}.get(type(k), x),
    lambda x, k: x * 2 if k.__class__ is float else x,
    lambda x, k: x * 2 if type(x) is np.ndarray and isinstance(type(k), type) else x,
    lambda x, k: x * 2 if isinstance(x.sum(), np.floating) else x,
    lambda x, k: x * 2 if isinstance(x[0], np.ndarray) else x,
    lambda x, k: x * 2 if k is True else x,
    lambda x, k: x * 2 if k is Mode.SQUARE else x,
    lambda x, k: x * 2 if hasattr(k, "dtype") else x,
    lambda x, k: x * 2 if hasattr(x, "get") else x,
    lambda x, k: x * int(k),
    lambda x, k: x + len(repr(k)),
]
VALUES: list[Any] = [2.0, 2, 3.5, True, False, np.float32(2), Mode.SQUARE, 2.0]


@pytest.mark.parametrize("number", range(len(KINDS)))
def test_types_are_those_of_plain_values(number: int) -> None:
    function = KINDS[number]
    fused = kerneltk.fuse(function)
    for value in VALUES:
        found, wanted = fused(X, value), function(X, value)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted, err_msg=repr(value))


def test_methods_of_numbers() -> None:
    functions: list[Any] = [
        lambda x, k: x * 2 if k.is_integer() else x,
        lambda x, k: x * k.hex().count("0"),
    ]
    for function in functions:
        fused = kerneltk.fuse(function)
        for k in (2.0, 2.5, 3.0):
            np.testing.assert_array_equal(fused(X, k), function(X, k))
    fused = kerneltk.fuse(lambda x, k: x * k.item())
    small = X.astype(np.float32)
    assert fused(small, np.float64(2)).dtype == np.float32


def test_random_numbers_are_refused() -> None:
    generator = np.random.default_rng(0)
    functions: list[Any] = [
        lambda x: x + np.random.random(),
        lambda x: x + np.random.default_rng().random(),
        lambda x: x + generator.random(),
    ]
    for function in functions:
        with pytest.raises(kerneltk.UnsupportedError, match="drawn once"):
            kerneltk.fuse(function)(X)

    def seeded(x: Any) -> Any:
        return x + np.random.default_rng(3).random()

    np.testing.assert_array_equal(kerneltk.fuse(seeded)(X), seeded(X))


def test_a_refusal_that_is_caught_is_an_error() -> None:
    def lenient(x: Any) -> Any:
        try:
            return x[x > 0]
        except Exception:
            return x

    with pytest.raises(kerneltk.UnsupportedError, match="Indexing by an array"):
        kerneltk.fuse(lenient)(X)
    np.testing.assert_array_equal(kerneltk.fuse(fallback=True)(lenient)(X), X[X > 0])

    def in_bounds(x: Any) -> Any:
        try:
            return x[10]
        except IndexError:
            return x + 1

    np.testing.assert_array_equal(kerneltk.fuse(in_bounds)(X), X + 1)


def test_floating_point_errors_are_refused_or_ignored() -> None:
    def ignored(x: Any) -> Any:
        with np.errstate(divide="ignore"):
            return 1 / x

    np.testing.assert_array_equal(kerneltk.fuse(ignored)(X), ignored(X))

    def raised(x: Any) -> Any:
        with np.errstate(divide="raise"):
            return 1 / (x + 1)

    def everywhere(x: Any) -> Any:
        np.seterr(all="raise")
        return x + 1

    for function in (raised, everywhere):
        with pytest.raises(kerneltk.UnsupportedError, match="='raise'' has no effect"):
            kerneltk.fuse(function)(X)


class Slotted:
    """A class whose attributes have slots."""

    __slots__ = ("rate",)


def test_slots_are_read_of_instances_and_found_in_classes() -> None:
    one = Slotted()
    one.rate = 2.0
    fused = kerneltk.fuse(lambda x: x * one.rate + (Slotted.rate is Slotted.__dict__["rate"]))
    assert fused(np.ones(2)).tolist() == [3, 3]
    one.rate = 4.0
    assert fused(np.ones(2)).tolist() == [5, 5]


def test_more_than_calls_can_ask_for(traces: list[Any]) -> None:
    """Such as all that a large package consists of: each call traces the function anew."""
    package = [pytest]
    settings = {"a": {"b": [1]}}
    many = [[k] for k in range(100_000)]

    @kerneltk.fuse
    def packaged(x: Any) -> Any:
        return x + settings["a"]["b"][0] if package else x[pytest.raises]

    @kerneltk.fuse
    def counted(x: Any) -> Any:
        return x + len(many) + many[-1][0]

    x = np.arange(3.0)
    for k in (1, 2, 2, 5):
        settings["a"]["b"][0] = many[-1][0] = k
        np.testing.assert_array_equal(packaged(x), x + k)
        np.testing.assert_array_equal(counted(x), x + 100_000 + k)
    assert len(traces) == 8

    deep: Any = 1
    for _ in range(5000):
        deep = [deep]

    @kerneltk.fuse
    def nested(x: Any) -> Any:
        return x * len(deep)

    for k in (1, 2):
        np.testing.assert_array_equal(nested(x), x * k)
        deep.append(0)


class _Options:
    pass


class _Named(str):
    gain = 1


def test_names_that_are_absent_at_first() -> None:
    options, module, methods = _Options(), types.ModuleType("settings"), types.SimpleNamespace()
    method: Callable[[], Any] = types.MethodType(lambda self: getattr(self, "gain", 1), methods)
    table = {"gain": 1}
    get = table.get

    def gained(x: Any) -> Any:
        gain = options.gain if hasattr(options, "gain") else 1
        gain = gain + getattr(module, "gain", 1)
        try:
            gain += absent_at_first  # type: ignore[name-defined]
        except NameError:
            gain += 1
        return x * (gain + method() + get("gain"))

    x = np.arange(4.0)
    fused = kerneltk.fuse(gained)

    def check() -> None:
        np.testing.assert_array_equal(fused(x), gained(x))

    check()
    options.gain = 5
    check()
    module.gain = 7  # type: ignore[attr-defined]
    check()
    methods.gain = 11
    check()
    table["gain"] = 13
    check()
    del options.gain
    _Options.gain = 17  # type: ignore[attr-defined]
    check()
    del _Options.gain  # type: ignore[attr-defined]
    check()
    globals()["absent_at_first"] = 19
    check()
    del globals()["absent_at_first"]
    check()


def test_attributes_of_strings_of_the_users() -> None:
    """In a list, and as an argument."""
    names = [_Named("a")]
    item = kerneltk.fuse(lambda x: x * names[0].gain)
    argument = kerneltk.fuse(lambda x, name: x * name.gain)
    x = np.arange(4.0)
    for gain in (2, 3):
        names[0].gain = gain
        np.testing.assert_array_equal(item(x), x * gain)
        np.testing.assert_array_equal(argument(x, names[0]), x * gain)


def test_weak_proxies() -> None:
    options = _Options()
    proxy = weakref.proxy(options)
    fused = kerneltk.fuse(lambda x: x * proxy.gain)
    x = np.arange(4.0)
    for gain in (2, 3):
        options.gain = gain  # type: ignore[attr-defined]
        np.testing.assert_array_equal(fused(x), x * gain)
