"""Launchers, with a backend that only writes down what it is told."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

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
    raw_output = _overlap_pairs((False, False, True), (True, False, False), (True,) * 3, False)
    assert raw_output == ((0, 1), (0, 2))


def test_results_have_bytes_of_their_own_dtypes() -> None:
    row = plan("QQ", shape=(3, 4), dtypes=(np.dtype("f4"), np.dtype("c16"))).row()
    assert row[-4:] == (np.dtype("f4"), 48, np.dtype("c16"), 192)


def test_a_failed_launch_is_handed_to_the_backend() -> None:
    recorder = Recorder(fail=True)
    run, _ = launcher(definition("T x"), recorder, plan("QQ"), np.ndarray)
    run(X)
    assert recorder.failures == ["FaultError"]
    assert len(recorder.launches) == 1
