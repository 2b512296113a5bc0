"""Plans that are stored in the compile cache are those that a planner makes, and of one program."""

from __future__ import annotations

import enum
import io
import sys
import weakref
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.backends.base import backend_named, capabilities_of
from kerneltk.cache.store import Cache
from kerneltk.fusion.plan import steps
from kerneltk.fusion.plan.planner import Planner
from kerneltk.fusion.plan.program import Program
from kerneltk.fusion.plan.steps import Description, Plan
from kerneltk.fusion.start import traced
from kerneltk.fusion.trace import rolling
from kerneltk.fusion.trace.state import Trace
from kerneltk.schedule.rows import OLDER, Device
from tests.differential.fuse_programs import FAMILIES, IN_PLACE, Family, in_place_arguments
from tests.sampling import half, one_in
from tests.unit.cache.stages import set_cache

WITH_WRITES = [*FAMILIES, Family("in_place", in_place_arguments, IN_PLACE)]
DEVICES = {"host": ("host", OLDER), "sm_80": ("cuda", OLDER), "sm_90": ("cuda", Device(8, 132))}


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> Cache:
    found = Cache(None)
    set_cache(monkeypatch, "plan", found)
    return found


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of kernels that are planned from now on."""
    found: list[str] = []
    own = Planner.plan

    def plan(self: Planner, outputs: Any) -> Plan:
        found.append(self._name)
        return own(self, outputs)

    monkeypatch.setattr(Planner, "plan", plan)
    return found


def program_of(function: Callable[..., Any], args: Sequence[Any], on: str) -> Program:
    backend, device = DEVICES[on]
    target = capabilities_of(backend)  # type: ignore[arg-type]
    return traced(function, "program", args, (), backend_named("host"), target, device)


def as_text(program: Program) -> str:
    """All of a plan, and what the planner has decided."""
    trace = program.trace
    guards = [repr(value) for value in trace.guards.conditions.values()]
    if trace not in DESCRIPTIONS:  # planned each time
        return str([[step.kernel._definition for step in program.plan.steps], guards])
    pickler = steps._Pickler(io.BytesIO(), DESCRIPTIONS[trace])

    def plain(value: Any) -> Any:  # whichever of equal values are one object
        reduced = pickler.persistent_id(value) or pickler.reducer_override(value)
        if reduced is not NotImplemented:
            return plain(reduced) if callable(reduced[0]) else reduced
        if isinstance(value, list | tuple):
            return [type(value), *map(plain, value)]
        return {k: plain(v) for k, v in value.items()} if type(value) is dict else repr(value)

    return str(plain((program.plan, guards, trace.guards.only_broadcast)))


DESCRIPTIONS: weakref.WeakKeyDictionary[Trace, Description] = weakref.WeakKeyDictionary()


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remember the descriptions of traces."""

    class Remembered(Description):
        def __init__(self, trace: Trace, *rest: Any) -> None:
            super().__init__(trace, *rest)
            DESCRIPTIONS[trace] = self

    monkeypatch.setattr(steps, "Description", Remembered)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "case", one_in(11, product(WITH_WRITES, DEVICES)), ids=lambda case: f"{case[0].name}-{case[1]}"
)
def test_plans_are_read_as_they_were_made(
    cache: Cache, plans: list[str], described: None, case: tuple[Family, str]
) -> None:
    """Also where the cache has the plans of other programs of the same arguments."""
    family, on = case
    for number, program in enumerate(family.programs):
        args = family.arguments()
        made = program_of(program, args, on)
        found = program_of(program, args, on)
        if not plans:  # it is equal to another one
            cache.clear()
            made = program_of(program, args, on)
        assert plans == ["program"], number
        assert as_text(made) == as_text(found)
        assert made.written == found.written
        plans.clear()


def test_plans_in_the_order_of_memory(cache: Cache, plans: list[str], described: None) -> None:
    def centred(x: Any, y: Any) -> Any:
        t = x * 2 - y
        return t - t.mean(1, keepdims=True), t.max(1)

    x, y = np.empty((1 << 15, 128), "f4"), np.empty((128, 1 << 15), "f4").T
    for given in ([x, y], [y, y], [x, np.empty((128, 1 << 15), "i1").T]):
        made, found = (program_of(centred, given, "sm_90") for _ in range(2))
        assert plans == ["program"]
        assert as_text(made) == as_text(found)
        for one, other in zip(made.plan.steps, found.plan.steps, strict=True):
            assert one.sides == other.sides
            assert [t.order for t in one.targets] == [t.order for t in other.targets]
        plans.clear()


def test_decisions_by_functions_of_modules_that_are_not_loaded(
    cache: Cache, plans: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def program(x: Any, n: Any) -> None:
        x[n] += x[0]

    args = np.ones((4, 3)), 2
    program_of(program, args, "host")
    monkeypatch.delitem(sys.modules, "kerneltk.fusion.plan.regions")
    program_of(program, args, "host")
    assert plans == ["program"]


class Whole(int):
    """An integer that could be anything."""


class Two(enum.IntEnum):
    IT = 2


N = float("nan")
X = np.arange(1, 25, dtype=np.float32).reshape(4, 6)
K = X.astype(np.int32)

# Programs that a careless description takes for one another: each has its own arguments.
CONFUSABLE: list[tuple[Callable[..., Any], Sequence[Any]]] = [
    *(
        (lambda x, c=c: x * c, [x])
        for c in (
            2, True, 2.0, np.int64(2), np.int8(2), np.float32(2), np.float64(2), np.bool_(True),
            2 + 0j, complex(2, -0.0), 0.0, -0.0, N, -N, np.float64(-0.0), np.float32(0), 0, False,
            Whole(2), Two.IT, np.longlong(2), np.float16(2), 2.0000000000000004,
        )
        for x in (X, K)
    ),
    *((lambda x, c=c: np.minimum(x, c), [X]) for c in (2, 3, np.inf, -np.inf)),
    *(
        (lambda x, s=s: x[s] * 2, [X])
        for s in (
            slice(1, None), slice(None, 1), slice(None, None, 2), slice(None, None, -1), 0, 1, -1,
            None, slice(0, 3), slice(0, 4), (slice(None), 0), (slice(None), None), (Ellipsis,
            slice(1, None)), (0, slice(1, None)),
        )
    ),
    *(
        (lambda x, y: x + y, pair)
        for pair in (
            [X, X[:1]], [X[:1], X], [X, X[:, :1]], [X[:, :1], X[:1]], [X, X[0]],
            [X, np.float32(1)], [X, 1.0], [X, 1], [X, X.T.copy().T], [X.T.copy().T, X.T.copy().T],
            [X, X[::-1]], [X, np.array(1, "f4")], [X, np.array(1, "f8")], [X[:1], X[:1]],
            [X[:0], X[:0]], [X, X.astype("f8")], [X, K], [K, X], [K, K.astype("i8")], [K, K > 2],
        )
    ),
    *((lambda x, o=o: x.copy(order=o), [X]) for o in "CFAK"),
    *((lambda x, o=o: x.T.copy(order=o), [X]) for o in "CFAK"),
    *((lambda x, t=t: x.astype(t), [X]) for t in ("f8", "f2", "i4", "i8", "u4", "?", "c8")),
    *(
        (lambda x, n: x * n, [X, n])
        for n in (2, 2.0, np.float32(2), np.int8(2), 2j, np.bool_(True))
    ),
    *(
        (lambda x, n: np.copysign(x, n * 0.0) + np.copysign(x + 1, n * -0.0), [X, n])
        for n in (2.0, np.float32(3))
    ),
    *((lambda x, n: x + np.arange(n), [X[0], n]) for n in (6, 1)),
    (lambda x, n: x * (n + 1) * (n + True), [X, 2]),
    (lambda x, n: x * (n + 1) * (n + 1.0), [X, 2]),
]  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("on", half(["host", "sm_90"]))
def test_programs_that_are_not_one_another(cache: Cache, described: None, on: str) -> None:
    """Whatever plans are kept already, each program has its own."""
    first = [as_text(program_of(*pair, on)) for pair in CONFUSABLE]
    again = [as_text(program_of(*pair, on)) for pair in reversed(CONFUSABLE)][::-1]
    alone = []
    for pair in CONFUSABLE:
        cache.clear()
        alone.append(as_text(program_of(*pair, on)))
    assert first == alone
    assert again == alone


@pytest.mark.exhaustive
def test_names_backends_and_devices_have_plans_of_their_own(cache: Cache, plans: list[str]) -> None:
    def normed(x: Any) -> Any:
        return x / x.sum(axis=-1, keepdims=True)

    x = np.ones((256, 32768), np.float32)
    host = backend_named("host")
    cuda = capabilities_of("cuda")
    cases: list[tuple[Any, ...]] = [
        ("one", host.capabilities, OLDER), ("other", host.capabilities, OLDER),
        ("one", cuda, OLDER),
        ("one", cuda, Device(8, 0)), ("one", cuda, Device(8, 132)), ("one", cuda, Device(4, 0)),
    ]  # fmt: skip
    for _ in range(2):
        for name, target, device in cases:
            program = traced(normed, name, (x,), (), host, target, device)
            assert {step.kernel.name for step in program.plan.steps} == {name}
    assert plans == [case[0] for case in cases]


def test_what_is_decided_by_extents_is_decided_again(cache: Cache, plans: list[str]) -> None:
    def softmax(x: Any) -> Any:
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    kinds = {}
    shapes = [(9, 16), (9, 100), (9, 1000), (2, 64), (2, 1 << 16), (9, 1 << 18), (9, 8), (9, 17)]
    for shape in shapes * 2:
        program = program_of(softmax, [np.broadcast_to(np.float32(1), shape)], "host")
        steps = program.plan.steps
        found = [(step.kind, step.schedule) for step in steps]
        assert kinds.setdefault(shape, found) == found
    assert len(plans) == len({str(found) for found in kinds.values()})


def test_functions_of_numpy_that_were_replaced_keep_no_plans(
    cache: Cache, plans: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def program(x: Any) -> Any:
        return np.exp(x)

    exp, sin = np.exp, np.sin
    monkeypatch.setattr(np, "exp", sin)
    replaced = program_of(program, [X], "host")
    np.testing.assert_allclose(replaced.run(X), sin(X), rtol=1e-6)
    assert not cache.entries()
    monkeypatch.undo()
    np.testing.assert_allclose(program_of(program, [X], "host").run(X), exp(X), rtol=1e-6)
    monkeypatch.setattr(np, "exp", sin)
    np.testing.assert_allclose(program_of(program, [X], "host").run(X), sin(X), rtol=1e-6)


def test_errors_are_found_each_time(cache: Cache) -> None:
    def refused(x: Any) -> Any:
        return np.unique(x * 2)

    def branched(x: Any) -> Any:
        y = x * 2 + 1
        return y if y > 0 else x

    for function in (refused, branched):
        messages = []
        for _ in range(2):
            with pytest.raises(kerneltk.UnsupportedError) as caught:
                program_of(function, [X], "host")
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
        assert not cache.entries()


def test_explanations_show_the_lines_of_their_own_function(cache: Cache, plans: list[str]) -> None:
    @kerneltk.fuse
    def first(x: Any) -> Any:
        return x - x.mean(axis=0)

    @kerneltk.fuse(kernel_name="first")
    def second(values: Any) -> Any:
        return values - values.mean(axis=0)

    x = np.ones((64, 256), np.float32)
    shown = [str(function.explain(x)) for function in (first, second, first)]
    assert plans == ["first"]
    assert "x.mean(axis=0)" in shown[0]
    assert "values.mean(axis=0)" in shown[1]
    assert shown[2] == shown[0]
    assert shown[0].split("\n")[:3] == shown[1].split("\n")[:3]


def test_blocks_take_plans(cache: Cache, plans: list[str]) -> None:
    for _ in range(2):
        with kerneltk.fuse() as fused:
            a = fused(X)
            b = a * 2 + 1
        np.testing.assert_array_equal(b, X * 2 + 1)
    assert plans == ["fused"]


def rolled(x: Any, y: Any, total: float) -> Any:
    for i in range(1, x.shape[0]):
        made = np.zeros(i % 3 + 2)
        made[:] = x[i, : i % 3 + 2] * i
        for j in range(x.shape[1]):
            y[i, j] += x[i - 1, :j] @ y[:j, j] + made[0] * total
        x[i] = (y[i, ::-1] - y[: i + 1].max(axis=0)) * 0.01
    return x * 0.5


@pytest.mark.exhaustive
def test_plans_with_loops(
    cache: Cache, plans: list[str], described: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rolling, "_LEAST_OPERATIONS", -1)

    def arguments(rows: int) -> list[Any]:
        x = np.arange(rows * 14.0).reshape(rows, 14) % 7 * 0.01
        return [x, x[::-1] * 0.5, 2.5]

    for rows in (20, 20, 23):
        found = program_of(rolled, arguments(rows), "host")
        again = program_of(rolled, arguments(rows), "host")
        assert as_text(found) == as_text(again)
        given, wanted = arguments(rows), arguments(rows)
        np.testing.assert_allclose(again.run(*given), rolled(*wanted))
        np.testing.assert_allclose(given[1], wanted[1])
    assert len(plans) == 2  # of each number of rounds
