"""Launchers, with a backend that only writes down what it is told."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kerneltk.backends.base import ArrayAccess, LaunchCall
from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.launch.loops import Plan, _overlap_pairs, loop_launcher
from kerneltk.signature.parameters import parse_signature


class FaultError(Exception):
    pass


def _no_record(*arguments: Any) -> None:
    raise FaultError


@dataclass
class Recorder:
    """A backend whose launches are tuples in a list."""

    launches: list[tuple[Any, ...]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    fail: bool = False
    array_type: type = np.ndarray

    arrays = ArrayAccess("ctypes.data", "flags.forc", np.zeros, _no_record, _no_record)

    @property
    def loop_call(self) -> LaunchCall:
        return LaunchCall(
            self.launch,
            ("function", "grid", "block", "parameters", "stream"),
            self.launch_failed,
            errors=(FaultError,),
            current_stream=lambda: SimpleNamespace(ptr="default"),
        )

    def launch(self, function: Any, grid: int, block: int, parameters: Any, stream: Any) -> None:
        if self.fail:
            raise FaultError
        self.launches.append((function, grid, block, bytes(parameters), stream))

    def launch_failed(self, error: Exception, launch: Any, arguments: Any) -> None:
        self.failures.append(type(error).__name__)
        self.fail = False
        launch(*arguments)


def definition(inputs: str, outputs: str = "T out", **options: bool) -> ElementwiseDefinition:
    return ElementwiseDefinition(parse_signature(inputs, outputs), "f", "", (), "", **options)  # type: ignore[arg-type]


def plan(text: str, **options: Any) -> Plan:
    packer = struct.Struct(text)
    memory = bytearray(packer.size)
    return Plan(
        "f", options.get("grid", 3), 1, 256,
        options.get("pack_into", packer.pack_into), options.get("pack_checked", packer.pack_into),
        lambda: (memory, memory), [], options.get("shape", (4,)), "C", 0,
        options.get("dtypes", (np.dtype("f4"),)), options.get("raw_geometry", ()),
        options.get("limits", ()),
    )  # fmt: skip


@dataclass
class Calls:
    unplanned: list[Any] = field(default_factory=list)
    overlapping: list[Any] = field(default_factory=list)
    dispatched: list[Any] = field(default_factory=list)


def launcher(
    kind: ElementwiseDefinition, recorder: Recorder, prepared: Plan, *types: type
) -> tuple[Callable[..., Any], Calls]:
    """A launcher, and what it noted: keys without a plan, which is made then, and arguments that
    overlap or have other types.
    """
    plans: dict[Any, Any] = {}
    calls = Calls()

    def dispatch(arguments: Any, stream: Any, extra: Any) -> str:
        calls.dispatched.append(arguments)
        return "dispatched"

    def unplanned(arguments: Any, stream: Any, extra: Any) -> Any:
        key = key_of(arguments, extra)
        if key in plans:
            calls.overlapping.append(arguments)
            return "overlapping"
        calls.unplanned.append(key)
        plans[key] = prepared.row()
        return run(*arguments, stream, extra)

    template = loop_launcher(kind, types, recorder)  # type: ignore[arg-type]
    run, key_of, _ = template.bind(dispatch, plans, unplanned)
    return run, calls


X = np.arange(4, dtype=np.float32)


def test_addresses_and_numbers_are_packed() -> None:
    recorder = Recorder()
    run, calls = launcher(definition("T x, T a"), recorder, plan("QQd"), np.ndarray, float)
    y = run(X, 2.5)
    z = run(X, 3.5)
    assert len(calls.unplanned) == 1
    assert [entry[:3] + entry[4:] for entry in recorder.launches] == [("f", 3, 256, "default")] * 2
    assert [struct.unpack("QQd", entry[3]) for entry in recorder.launches] == [
        (X.ctypes.data, y.ctypes.data, 2.5), (X.ctypes.data, z.ctypes.data, 3.5),
    ]  # fmt: skip


def test_the_key_tells_shapes_dtypes_addresses_and_options_apart() -> None:
    recorder = Recorder()
    run, calls = launcher(definition("T x"), recorder, plan("QQ"), np.ndarray)
    assert X.ctypes.data % 16 == 0
    for array in (X, X[1:], X[1:3], X.astype(np.int32), X.reshape(2, 2), X):
        run(array)
    run(X, None, (None, 64))
    run(X, 5)
    assert len(calls.unplanned) == len(set(calls.unplanned)) == 6
    assert recorder.launches[-1][-1] == 5


def test_other_types_are_passed_on() -> None:
    run, calls = launcher(definition("T x, T a"), Recorder(), plan("QQd"), np.ndarray, float)
    assert run(X, 2) == "dispatched"
    assert run([1], 2.0) == "dispatched"
    assert [arguments[1] for arguments in calls.dispatched] == [2, 2.0]


@pytest.mark.parametrize(
    ("low", "high", "apart", "delta", "overlaps"),
    [
        (-16, 16, -16, 0, True), (-16, 16, 0, 0, False), (-16, 16, 0, 4, True),
        (-16, 16, 0, 12, True), (-16, 16, 0, 16, False), (0, 0, 0, 4, False),
        (-16, 16, 8, 8, False), (-16, 16, 8, 12, True), (-16, 16, 8, 0, True),
    ],
)  # fmt: skip
def test_overlaps_are_passed_on(
    low: int, high: int, apart: int, delta: int, overlaps: bool
) -> None:
    memory = np.zeros(64, np.float32)
    prepared = plan("QQ", limits=((low, high, apart),))
    run, calls = launcher(definition("T x"), Recorder(), prepared, np.ndarray, np.ndarray)
    x, y = memory[:4], memory[delta // 4 : delta // 4 + 4]
    assert run(x, y) == "overlapping" if overlaps else run(x, y) is y
    assert len(calls.overlapping) == overlaps


def test_pairs_are_of_inputs_that_are_read_and_arrays_that_are_written() -> None:
    def pairs(inputs: str, outputs: str, arrays: str) -> tuple[tuple[int, int], ...]:
        types = tuple(np.ndarray if letter == "a" else float for letter in arrays)
        written = loop_launcher(definition(inputs, outputs), types, Recorder())  # type: ignore[arg-type]
        return written.spec.overlaps

    assert pairs("T x, T n", "T y", "ana") == ((0, 2),)
    assert pairs("raw T r, T x", "T y, T z", "aaaa") == ((1, 2), (1, 3), (2, 3))
    assert pairs("T x", "raw T y, raw T z", "aaa") == ()
    assert pairs("T x, T y", "T z", "aa") == ()
    assert pairs("_non_const T w, T x", "T z", "aaa") == ((0, 2), (1, 0), (1, 2))
    # A reduction reads elements behind those that it has written results for.
    assert _overlap_pairs((True, False), (True, False), (True, True), False) == ((0, 1),)


def test_results_have_bytes_of_their_own_dtypes() -> None:
    row = plan("QQ", shape=(3, 4), dtypes=(np.dtype("f4"), np.dtype("c16"))).row()
    assert row[-4:] == (np.dtype("f4"), 48, np.dtype("c16"), 192)


def test_an_empty_grid_launches_nothing() -> None:
    recorder = Recorder()
    run, _ = launcher(definition("T x"), recorder, plan("QQ", grid=0, shape=(0,)), np.ndarray)
    assert run(X).shape == (0,)
    assert recorder.launches == []


def test_numbers_that_struct_refuses_are_converted() -> None:
    recorder = Recorder()

    def checked(buffer: Any, offset: int, *values: Any) -> None:
        struct.pack_into("QQq", buffer, offset, *values[:2], int(values[2]))

    prepared = plan("QQq", pack_checked=checked)
    run, _ = launcher(definition("T x, T a"), recorder, prepared, np.ndarray, float)
    run(X, 2.0)
    assert struct.unpack("QQq", recorder.launches[0][3])[2] == 2


def test_raw_arrays_bring_their_geometry() -> None:
    recorder = Recorder()
    prepared = plan("QqqqQ", raw_geometry=((4, 4, 4),))
    run, _ = launcher(definition("raw T x"), recorder, prepared, np.ndarray)
    run(X)
    assert struct.unpack("QqqqQ", recorder.launches[0][3])[:4] == (X.ctypes.data, 4, 4, 4)


@pytest.mark.parametrize(("option", "kind"), [("no_return", type(None)), ("return_tuple", tuple)])
def test_results(option: str, kind: type) -> None:
    made = definition("T x", **{option: True})
    run, _ = launcher(made, Recorder(), plan("QQ"), np.ndarray)
    assert type(run(X)) is kind


def test_a_failed_launch_is_handed_to_the_backend() -> None:
    recorder = Recorder(fail=True)
    run, _ = launcher(definition("T x"), recorder, plan("QQ"), np.ndarray)
    run(X)
    assert recorder.failures == ["FaultError"]
    assert len(recorder.launches) == 1
