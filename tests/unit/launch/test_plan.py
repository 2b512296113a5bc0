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
from kerneltk.launch.launcher_spec import SlowPaths
from kerneltk.launch.plan import Pattern, Plan, make_launcher, overlap_pairs


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


def pattern(arrays: str, nin: int, nout: int, **options: Any) -> Pattern:
    """Return a pattern by letters: a an array, n a number, r a raw array."""
    return Pattern(
        tuple(letter != "n" for letter in arrays),
        tuple(letter == "r" for letter in arrays) + (False,) * (nin + nout - len(arrays)),
        options.get("written", (False,) * nin + (True,) * nout),
        nin,
        nout,
        len(arrays) == nin + nout and nout > 0,
        options.get("returns", "one"),
    )


def plan(text: str, **options: Any) -> Plan:
    packer = struct.Struct(text)
    memory = bytearray(packer.size)
    return Plan(
        "f", options.get("grid", 3), 1, 256,
        options.get("pack_into", packer.pack_into), options.get("pack_checked", packer.pack_into),
        lambda: (memory, memory), options.get("shape", (4,)),
        options.get("dtypes", (np.dtype("f4"),)), "C", options.get("raw_geometry", ()),
        options.get("limits", ()),
    )  # fmt: skip


@dataclass
class Calls:
    missed: list[Any] = field(default_factory=list)
    overlapped: list[Any] = field(default_factory=list)
    mistyped: list[Any] = field(default_factory=list)


def launcher(
    kind: Pattern, recorder: Recorder, prepared: Plan, types: tuple[type, ...]
) -> tuple[Callable[..., Any], Calls]:
    plans: dict[Any, Any] = {}
    calls = Calls()

    def missed(run: Any, arguments: Any, stream: Any, extra: Any, key: Any) -> Any:
        calls.missed.append(key)
        plans[key] = prepared.row()
        return run(*arguments, stream, extra)

    def overlapped(run: Any, arguments: Any, stream: Any, extra: Any) -> str:
        calls.overlapped.append(arguments)
        return "overlapped"

    def mistyped(arguments: Any, stream: Any, extra: Any) -> str:
        calls.mistyped.append(arguments)
        return "mistyped"

    slow = SlowPaths(mistyped, missed, overlapped)
    run = make_launcher(kind, recorder, plans, types, slow)  # type: ignore[arg-type]
    return run, calls


X = np.arange(4, dtype=np.float32)


def test_addresses_and_numbers_are_packed() -> None:
    recorder = Recorder()
    run, calls = launcher(pattern("an", 2, 1), recorder, plan("QQd"), (np.ndarray, float))
    y = run(X, 2.5)
    z = run(X, 3.5)
    assert len(calls.missed) == 1
    assert [entry[:3] + entry[4:] for entry in recorder.launches] == [("f", 3, 256, "default")] * 2
    assert [struct.unpack("QQd", entry[3]) for entry in recorder.launches] == [
        (X.ctypes.data, y.ctypes.data, 2.5), (X.ctypes.data, z.ctypes.data, 3.5),
    ]  # fmt: skip


def test_the_key_tells_shapes_dtypes_addresses_and_options_apart() -> None:
    recorder = Recorder()
    run, calls = launcher(pattern("a", 1, 1), recorder, plan("QQ"), (np.ndarray,))
    assert X.ctypes.data % 16 == 0
    for array in (X, X[1:], X[1:3], X.astype(np.int32), X.reshape(2, 2), X):
        run(array)
    run(X, extra=(None, 64))
    run(X, stream=5)
    assert len(calls.missed) == len(set(calls.missed)) == 6
    assert recorder.launches[-1][-1] == 5


def test_other_types_are_passed_on() -> None:
    run, calls = launcher(pattern("an", 2, 1), Recorder(), plan("QQd"), (np.ndarray, float))
    assert run(X, 2) == "mistyped"
    assert run([1], 2.0) == "mistyped"
    assert [arguments[1] for arguments in calls.mistyped] == [2, 2.0]


@pytest.mark.parametrize(
    ("low", "high", "same", "delta", "overlaps"),
    [
        (-16, 16, True, 0, True), (-16, 16, False, 0, False), (-16, 16, False, 4, True),
        (-16, 16, False, 12, True), (-16, 16, False, 16, False), (0, 0, False, 4, False),
    ],
)  # fmt: skip
def test_overlaps_are_passed_on(
    low: int, high: int, same: bool, delta: int, overlaps: bool
) -> None:
    memory = np.zeros(64, np.float32)
    prepared = plan("QQ", limits=((low, high, same),))
    run, calls = launcher(pattern("aa", 1, 1), Recorder(), prepared, (np.ndarray,) * 2)
    x, y = memory[:4], memory[delta // 4 : delta // 4 + 4]
    assert run(x, y) == "overlapped" if overlaps else run(x, y) is y
    assert len(calls.overlapped) == overlaps


def test_pairs_are_of_inputs_that_are_read_and_arrays_that_are_written() -> None:
    assert overlap_pairs(pattern("ana", 2, 1)) == [(0, 2)]
    assert overlap_pairs(pattern("raaa", 2, 2)) == [(1, 2), (1, 3)]
    assert overlap_pairs(pattern("aa", 2, 1)) == []
    assert overlap_pairs(pattern("aaa", 2, 1, written=(True, False, True))) == [(1, 0), (1, 2)]


def test_an_empty_grid_launches_nothing() -> None:
    recorder = Recorder()
    run, _ = launcher(pattern("a", 1, 1), recorder, plan("QQ", grid=0, shape=(0,)), (np.ndarray,))
    assert run(X).shape == (0,)
    assert recorder.launches == []


def test_numbers_that_struct_refuses_are_converted() -> None:
    recorder = Recorder()

    def checked(buffer: Any, offset: int, *values: Any) -> None:
        struct.pack_into("QQq", buffer, offset, *values[:2], int(values[2]))

    prepared = plan("QQq", pack_checked=checked)
    run, _ = launcher(pattern("an", 2, 1), recorder, prepared, (np.ndarray, float))
    run(X, 2.0)
    assert struct.unpack("QQq", recorder.launches[0][3])[2] == 2


def test_raw_arrays_bring_their_geometry() -> None:
    recorder = Recorder()
    prepared = plan("QqqqQ", raw_geometry=((4, 4, 4),))
    run, _ = launcher(pattern("r", 1, 1), recorder, prepared, (np.ndarray,))
    run(X)
    assert struct.unpack("QqqqQ", recorder.launches[0][3])[:4] == (X.ctypes.data, 4, 4, 4)


@pytest.mark.parametrize(("returns", "kind"), [("none", type(None)), ("tuple", tuple)])
def test_results(returns: str, kind: type) -> None:
    run, _ = launcher(pattern("a", 1, 1, returns=returns), Recorder(), plan("QQ"), (np.ndarray,))
    assert type(run(X)) is kind


def test_a_failed_launch_is_handed_to_the_backend() -> None:
    recorder = Recorder(fail=True)
    run, _ = launcher(pattern("a", 1, 1), recorder, plan("QQ"), (np.ndarray,))
    run(X)
    assert recorder.failures == ["FaultError"]
    assert len(recorder.launches) == 1
