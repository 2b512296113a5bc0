"""What a traced function reads from outside: names are guarded, what lies deeper is constant."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import itertools
import queue
import re
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk
from tests.unit.fusion.array_support import check_calls
from tests.unit.jit.lowering.showing import entries, function_of

X = np.arange(4.0)

RATE: Any = 2.0
PAIR: Any = (1.0, "a")
ARRAY: Any = np.array([1.0, 2.0, 3.0, 4.0])
ACTIVATION: Any = np.tanh
TABLE: Any = {"rate": 2.0, "scale": lambda x: x * RATE}
CONFIG: Any = types.SimpleNamespace(rate=2.0)
MODULE = types.ModuleType("settings")
exec("rate = 2.0\ndef scale(x):\n    return x * rate if type(x) is kind else x\n", MODULE.__dict__)
MODULE.__dict__["kind"] = np.ndarray


class Mode(enum.IntEnum):
    DOUBLE = 1
    SQUARE = 2


MODE = Mode.DOUBLE


def helper(x: Any, factor: Any = 1.0) -> Any:
    return x * RATE * factor + 1


def passed(x: Any, function: Any) -> Any:
    return function(x)


class Base:
    rate = 2.0

    def inherited(self, x: Any) -> Any:
        return x + RATE


class Model(Base):
    def __init__(self) -> None:
        self.hidden = 2.0
        self.weights = np.ones(4)

    @property
    def doubled(self) -> Any:
        return self.hidden * RATE

    def scale(self, x: Any) -> Any:
        return self.inherited(x) * self.hidden

    def __call__(self, x: Any) -> Any:
        return self.scale(x) + 1


class Scaling:
    def __init__(self) -> None:
        self.rate = RATE

    def apply(self, x: Any) -> Any:
        return helper(x) * self.rate


MODEL = Model()
FUSED = kerneltk.fuse(lambda x: x * RATE)


def put(name: str, value: Any) -> Callable[[], object]:
    """Have a global stand for something else."""
    return lambda: globals().__setitem__(name, value)


def with_closure() -> tuple[Callable[[Any], Any], Callable[[float], None]]:
    rate = 1.0

    def change(value: float) -> None:
        nonlocal rate
        rate = value

    return lambda x: x * rate + sum(rate for _ in range(2)), change


CLOSED, CHANGE_CLOSED = with_closure()
RATES = [put("RATE", 3.0), put("RATE", 3), put("RATE", np.float64(3))]
NAMED: dict[str, tuple[Any, list[Callable[[], object]]]] = {
    "number": (lambda x: x * RATE, RATES),
    "tuple": (lambda x: x * PAIR[0], [put("PAIR", (2.0, "a")), put("PAIR", (2, "a"))]),
    "another array": (lambda x: x * ARRAY, [put("ARRAY", X * 5), put("ARRAY", np.ones((2, 4)))]),
    "elements of an array": (lambda x: x * ARRAY[0], [lambda: ARRAY.fill(5.0)]),
    "expression of an array": (lambda x: x + (ARRAY * 2).sum(), [lambda: ARRAY.fill(7.0)]),
    "a helper": (lambda x: helper(x), [*RATES, put("helper", lambda x: x - 1)]),
    "a ufunc": (lambda x: ACTIVATION(x), [put("ACTIVATION", np.exp)]),
    "enumeration": (lambda x: x * 2 if MODE is Mode.DOUBLE else x * x, [put("MODE", Mode.SQUARE)]),
    "function of a dict": (lambda x: TABLE["scale"](x), RATES),
    "functions of a dict": (lambda x: sum(f(x) for f in [*TABLE.values()][1:]), RATES),
    "function that is passed": (lambda x: passed(x, helper), RATES),
    "lambda": (lambda x: (lambda y: y * RATE)(x), RATES),
    "helper of an expression in a string": (lambda x: eval("helper(x)"), RATES),
    "comprehension": (lambda x: sum([x * RATE for _ in range(2)]), RATES),
    "function of a module": (lambda x: MODULE.scale(x), [lambda: setattr(MODULE, "rate", 6.0)]),
    "default": (lambda x, f=helper: f(x), RATES),
    "closure": (CLOSED, [lambda: CHANGE_CLOSED(5.0), lambda: CHANGE_CLOSED(5)]),
    "partial": (functools.partial(helper, factor=2.0), RATES),
    "fused": (lambda x: FUSED(x) + 1, RATES),
    "an object that is called": (MODEL, [*RATES, lambda: setattr(MODEL, "hidden", 5.0)]),
    "an object by its name": (lambda x: MODEL(x), RATES),
    "bound method": (MODEL.scale, [lambda: setattr(MODEL, "hidden", 4.0), *RATES]),
    "getter": (lambda x: x * MODEL.doubled, RATES),
    "an object of the function": (lambda x: Scaling().apply(x), RATES),
    "a built-in function": (
        lambda x: x * abs(-2),
        [put("abs", lambda v: 7), lambda: globals().pop("abs")],
    ),
}


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", NAMED)
def test_names_are_guarded(name: str, traces: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("RATE", "PAIR", "helper", "ACTIVATION", "MODE"):
        monkeypatch.setitem(globals(), variable, globals()[variable])
    monkeypatch.setitem(globals(), "ARRAY", ARRAY.copy())
    monkeypatch.setattr(MODEL, "hidden", 2.0)
    function, changes = NAMED[name]
    fused = kerneltk.fuse(function)
    for change in [lambda: None, *changes]:
        change()
        for _ in range(2):
            found, wanted = fused(X), function(X)
            np.testing.assert_allclose(found, wanted, rtol=1e-15)
            assert found.dtype == wanted.dtype
    own = [traced for traced in traces if traced is function]
    assert len(own) <= 1 + len(changes)  # what has not changed is not traced again


DEEPER: dict[str, tuple[Any, Callable[[], object]]] = {
    "item of a dict": (lambda x: x * TABLE["rate"], lambda: TABLE.update(rate=9.0)),
    "attribute": (lambda x: x * CONFIG.rate, lambda: setattr(CONFIG, "rate", 9.0)),
    "attribute of a module": (lambda x: x * MODULE.rate, lambda: setattr(MODULE, "rate", 9.0)),
    "class": (lambda x: x * Base.rate, lambda: setattr(Base, "rate", 9.0)),
    "array of an object": (lambda x: x * MODEL.weights, lambda: MODEL.weights.fill(9.0)),
}


@pytest.mark.parametrize("name", DEEPER)
def test_what_lies_deeper_is_constant(name: str, traces: list[Any]) -> None:
    function, change = DEEPER[name]
    fused = kerneltk.fuse(function)
    before = function(X)
    np.testing.assert_array_equal(fused(X), before)
    change()
    np.testing.assert_array_equal(fused(X), before)
    assert len(traces) == 1
    fused.clear_cache()
    np.testing.assert_array_equal(fused(X), function(X))


class Layer:
    rate: Any = 2.0

    def __init__(self) -> None:
        self.weights = np.ones(4)
        self.act: Any = np.tanh
        self.items = [1.0]

    @kerneltk.fuse
    def forward(self, x: Any) -> Any:
        bias = getattr(self, "bias", 0.0)
        y = self.act(x * self.rate) * self.weights + bias + self.scaled(x)
        return y * self.weights[::-1]

    def scaled(self, x: Any) -> Any:
        return x * self.gain if hasattr(self, "gain") else x


def test_attributes_of_arguments_are_guarded(traces: list[Any]) -> None:
    layer = Layer()
    changes: list[Callable[[], object]] = [
        lambda: None,
        lambda: setattr(layer, "rate", 3.0),
        lambda: setattr(layer, "rate", 3),
        lambda: layer.weights.fill(4.0),
        lambda: setattr(layer, "weights", X.copy()),
        lambda: setattr(layer, "act", np.exp),
        lambda: setattr(layer, "bias", 1.0),
        lambda: setattr(layer, "gain", 2.0),
        lambda: delattr(layer, "gain"),
        lambda: setattr(layer, "scaled", lambda x: x * 7),
        lambda: delattr(layer, "rate"),
        lambda: setattr(Layer, "rate", 4.0),
    ]
    plain: Any = Layer.forward.__wrapped__
    for change in changes:
        change()
        for _ in range(2):
            np.testing.assert_allclose(layer.forward(X), plain(layer, X), rtol=1e-15)
    assert len(traces) <= len(changes)
    layer.items.append(2.0)  # which the function does not read
    count = len(traces)
    layer.forward(X)
    assert len(traces) == count


class Slotted:
    __slots__ = ("gain", "rate")


class OfThread(threading.local):
    pass


class Cached:
    @functools.cached_property
    def rate(self) -> Any:
        return 2.0


class Settings:
    @classmethod
    def scaled(cls, x: Any) -> Any:
        return x * cls.rate  # type: ignore[attr-defined]


class Part:
    n = 1


class Late:
    pass


class FailureError(Exception):
    rate: Any


def with_rate(value: Any) -> Any:
    value.rate = 2.0
    return value


def of_rate(x: Any, a: Any) -> Any:
    return x * (a.rate if hasattr(a, "rate") else 1)


def setting(name: str, *values: Any, delete: bool = False) -> list[Callable[[Any], object]]:
    """Return what sets an attribute to each value, and deletes it at the end."""
    set_each: list[Callable[[Any], object]] = [lambda a, v=v: setattr(a, name, v) for v in values]
    return [*set_each, *([lambda a: delattr(a, name)] * delete)]


OTHER_RATES = setting("rate", 2.0, 3.0, 3)
LATE_RATES = setting("rate", 2.0, 3.0, delete=True)
# What is given, a function, and what changes between its calls.
ATTRIBUTES: dict[str, tuple[Any, Any, list[Callable[[Any], object]]]] = {
    "none yet": (
        Part(), lambda x, a: x * vars(a).get("unknown", 5), setting("unknown", 3.0),
    ),
    "in C": (FailureError(1, 2), lambda x, a: x * len(a.args), setting("args", (1,))),
    "of a slot": (Slotted(), of_rate, [*OTHER_RATES, *setting("rate", 2.0, delete=True)]),
    "of a thread": (threading.local(), of_rate, OTHER_RATES),
    "of a thread, of a class": (OfThread(), of_rate, OTHER_RATES),
    "of a class": (Settings, lambda x, a: a.scaled(of_rate(x, a)), OTHER_RATES[1:]),
    "of a module": (with_rate(types.ModuleType("given")), of_rate, OTHER_RATES),
    "of a module, later": (types.ModuleType("later"), of_rate, LATE_RATES),
    "of a class, later": (Late, of_rate, LATE_RATES),
    "of an object's class, later": (
        Late(), of_rate, [lambda a, c=c: c(type(a)) for c in LATE_RATES],  # type: ignore[misc]
    ),
    "of a class, asked for alone": (
        type("Asked", (), {}), lambda x, a: x * (2 if hasattr(a, "rate") else 1), LATE_RATES,
    ),
    "of a function, asked for alone": (
        lambda x: x, lambda x, a: x * (2 if hasattr(a, "rate") else 1), LATE_RATES,
    ),
    "of a cached property": (Cached(), of_rate, setting("rate", 5.0, delete=True)),
    "of a function": (with_rate(lambda x: x), lambda x, a: a(x) * a.rate, OTHER_RATES),
    "of a partial": (with_rate(functools.partial(helper)), of_rate, OTHER_RATES),
    "of a class by its name": (
        with_rate(FailureError), lambda x, a, n="rate": x * getattr(a, n), OTHER_RATES,
    ),
}  # fmt: skip
with_rate(Settings)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_other_attributes_of_arguments_are_guarded(name: str) -> None:
    given, function, changes = ATTRIBUTES[name]
    fused = kerneltk.fuse(function)
    for change in [lambda a: None, *changes]:
        change(given)
        for _ in range(2):
            np.testing.assert_array_equal(fused(X, given), function(X, given))


def test_a_method_of_a_class_and_an_attribute_that_is_gone() -> None:
    bound = kerneltk.fuse(Settings.scaled)
    for rate in (2.0, 3.0, 3):
        with_rate(Settings).rate = rate
        np.testing.assert_array_equal(bound(X), X * rate)
    one = with_rate(Slotted())
    fused = kerneltk.fuse(lambda one, x: x * one.rate)
    np.testing.assert_array_equal(fused(one, X), X * 2)
    del one.rate
    with pytest.raises(AttributeError):
        fused(one, X)


def test_modules_that_import_others_when_they_are_asked_for(traces: list[Any]) -> None:
    """No attribute is asked for that the function does not ask for."""
    names: dict[str, Any] = {}
    asked: list[str] = []
    module = types.ModuleType("lazily")
    module.__dict__["__getattr__"] = asked.append
    names["module"] = module
    exec("def f(x): return x * 2 if x is not module else x.part", names)
    fused = kerneltk.fuse(names["f"])
    for _ in range(3):
        fused(X)
    assert len(traces) == 1
    assert asked == []


# -- arrays ------------------------------------------------------------------------------------


def written_afterwards(x: Any) -> Any:
    w = np.array([1.0, 2.0, 3.0, 4.0])
    y = x * w
    w *= 2
    z = x * w
    w[::2].fill(7)
    np.add(w, 1, out=w)
    w.sort()
    return y, z, x + w, w


def test_arrays_of_the_function_are_captured_by_value() -> None:
    fused = kerneltk.fuse(written_afterwards)
    for _ in range(3):
        found, wanted = fused(X), written_afterwards(X)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b)
        found[3].fill(0)  # a result is the caller's


def test_results_that_are_constants_are_not_shared() -> None:
    fused = kerneltk.fuse(lambda x: (x + 1, [np.hanning(5)[1:-1]], {1, 2}, bytearray(b"ab")))
    for _ in range(3):
        _, (window,), numbers, content = fused(X)
        np.testing.assert_allclose(window, [0.5, 1, 0.5])
        assert (numbers, content) == ({1, 2}, bytearray(b"ab"))
        window[:] = 0
        numbers.clear()
        content.clear()


def test_a_named_array_that_is_returned_is_itself() -> None:
    fused = kerneltk.fuse(lambda x: (x * 2, ARRAY))
    assert fused(X)[1] is ARRAY
    assert fused(X)[1] is ARRAY


def test_an_array_that_is_read_by_an_object_and_written_as_an_argument() -> None:
    thing = types.SimpleNamespace(table=np.arange(4.0))

    def eager(x: Any) -> Any:
        x += 1
        return thing.table * 2

    def lazily(x: Any, y: Any) -> Any:
        x += 1
        return thing.table * y

    for call in (
        lambda: kerneltk.fuse(eager)(thing.table),
        lambda: kerneltk.fuse(lazily)(thing.table[1:], np.ones(4)),
    ):
        with pytest.raises(kerneltk.UnsupportedError, match="written to as an argument"):
            call()
    np.testing.assert_array_equal(thing.table, np.arange(4.0))
    np.testing.assert_array_equal(kerneltk.fuse(lazily)(np.ones(4), X), thing.table * X)


def test_an_array_of_an_object_that_the_function_writes_to_unseen() -> None:
    @kerneltk.fuse
    def step(layer: Any, x: Any) -> Any:
        y = x * layer.weights[::-1]
        for write in (np.copyto,):
            write(layer.weights, 3.0)
        return y

    layer = Layer()
    with pytest.raises(kerneltk.UnsupportedError, match="from outside of the fused function"):
        step(layer, X)
    assert layer.weights.tolist() == [1, 1, 1, 1]


# -- effects -----------------------------------------------------------------------------------

LISTS: list[Any] = [[], []]
THING: Any = types.SimpleNamespace(w=np.ones(4))


class Counting:
    def __init__(self) -> None:
        self.n = 0
        self.parts = [types.SimpleNamespace(n=0)]
        self.items: list[Any] = []

    def count(self) -> None:
        self.n += 1

    def counted(self, x: Any) -> Any:
        self.count()
        return x

    def loop(self, x: Any) -> Any:
        for part in self.parts:
            part.n = 1
        return x

    def adds(self, x: Any) -> Any:
        self.items += [1]
        return x


def push(items: Any, value: Any) -> None:
    items.append(value)


def with_nonlocal() -> Callable[[Any], Any]:
    n = 0

    def next_count(x: Any) -> Any:
        nonlocal n
        n += 1
        return x

    return next_count


PART = Part()


def same(value: Any) -> Any:
    return value


def bump_all(*parts: Any) -> Any:
    for part in parts:
        part.n = 2


def scope() -> dict[str, Any]:
    """Names that effects are on."""
    thing = types.SimpleNamespace(n=0, items=[], table={"a": [1]}, w=np.ones(4))
    return {
        "COUNT": 0, "LOG": [0], "LISTS": [[], []], "ITERATOR": iter([1]), "THING": thing,
        "PART": PART, "NESTED": [[PART], (PART,)], "LISTS_OF_LISTS": [[[1]], ([2],)],
        "MAKING": collections.defaultdict(list), "USER_LIST": collections.UserList(),
        "QUEUE": queue.Queue(), "COUNTING": Counting(), "next_count": with_nonlocal(),
        "push": push, "same": same, "bump_all": bump_all, "itertools": itertools,
    }  # fmt: skip


EFFECTS = [(text, *expected.partition(" |")[::2]) for text, _, _, expected in entries(__file__)]


@pytest.mark.parametrize(("text", "message", "line"), EFFECTS, ids=[e[0] for e in EFFECTS])
def test_effects_are_refused_at_their_lines(text: str, message: str, line: str) -> None:
    names = scope()
    before = repr((names, names["QUEUE"].queue, vars(PART)))
    function = function_of(text, "<effect>", names)
    with pytest.raises(kerneltk.UnsupportedError, match=re.escape(message)) as caught:
        kerneltk.fuse(function)(X)
    assert line.strip() in str(caught.value)
    if line:  # where the code shows it, it has not happened
        assert repr((names, names["QUEUE"].queue, vars(PART))) == before


def test_what_runs_unfused_has_its_effects_once() -> None:
    counting = Counting()

    def counted(x: Any) -> Any:
        counting.n += 1
        return x[x > 0]

    fused = kerneltk.fuse(fallback=True)(counted)
    for k in range(1, 4):
        assert fused(X).tolist() == [1, 2, 3]
        assert counting.n == k


class Accumulator:
    def __init__(self) -> None:
        self.items: list[Any] = []
        self.count = 0

    def add(self, value: Any) -> None:
        self.items.append(value)
        self.count += 1


def local_effects(x: Any) -> Any:
    items = [x]
    items.append(2 * x)
    table: dict[str, Any] = {}
    table["a"] = items
    table.setdefault("b", []).append(x)
    own = dict(TABLE)
    own["rate"] = 3.0
    made = Accumulator()
    made.add(x)
    made.count += 1
    push(items, own["rate"] * x)
    part = Part()
    bump_all(part, Part())
    made.count += part.n
    w = np.ones(4)
    w[1:] = 2
    _, *rest = LISTS
    rest.append(2 * x)
    unknown = getattr(THING, "unknown", [])
    unknown.append(rest)

    class Named:
        LOG: Any = []  # noqa: RUF012
        LOG.append(x)

    items += Named.LOG
    copied = THING.w.copy()
    copied *= 2
    total = 0

    def more() -> None:
        nonlocal total
        total += 1
        items.append(x)

    more()
    return sum(items) + made.items[0] * made.count + table["b"][0] * w + total * copied


def generator(x: Any) -> Any:
    def counted(*given: Any, **named: Any) -> Any:
        count, given, named = len(given), 0 * given[0].sum(), len(named)  # type: ignore[assignment]
        for k in range(count):
            yield k + given + named

    return sum(x * k for k in counted(x, x, x, key=x))


@pytest.mark.exhaustive
def test_effects_on_objects_of_the_function_are_none() -> None:
    for program in (local_effects, generator):
        fused = kerneltk.fuse(program)
        for _ in range(2):
            np.testing.assert_array_equal(fused(X), program(X))


# -- values --------------------------------------------------------------------------------------


def test_equal_objects_with_other_attributes() -> None:
    @dataclasses.dataclass(frozen=True)
    class Parameters:
        rate: float = dataclasses.field(compare=False)

    fused = kerneltk.fuse(lambda x, p: x * p.rate)
    for rate in (1.0, 2.0, 1.0, 3.0):
        np.testing.assert_array_equal(fused(X, Parameters(rate)), X * rate)


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


@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", range(len(KINDS)))
def test_types_are_those_of_plain_values(number: int) -> None:
    check_calls(KINDS[number], *((X, value) for value in VALUES))


def test_methods_of_numbers() -> None:
    calls = [(X, k) for k in (2.0, 2.5, 3.0)]
    check_calls(lambda x, k: x * 2 if k.is_integer() else x, *calls)
    check_calls(lambda x, k: x * k.hex().count("0"), *calls)
    check_calls(lambda x, k: x * k.item(), (X.astype(np.float32), np.float64(2)))


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
    check_calls(lambda x: x + np.random.default_rng(3).random(), (X,))


def test_a_refusal_that_is_caught_is_an_error() -> None:
    def lenient(x: Any) -> Any:
        try:
            return x[x > 0]
        except Exception:
            return x

    with pytest.raises(kerneltk.UnsupportedError, match="How many elements a mask"):
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
