"""Plans of launches: what they are told apart by, and what they hold."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from kerneltk import ElementwiseKernel
from kerneltk.backends.base import LaunchCall, backend_named
from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.launch import compiled
from kerneltk.launch.loops import Plan, _overlap_pairs, loop_launcher
from kerneltk.signature.parameters import parse_signature


def test_the_key_tells_shapes_dtypes_addresses_and_options_apart() -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x", "keyed")
    x = np.arange(4, dtype=np.float32)
    assert x.ctypes.data % 16 == 0
    for array in (x, x[1:], x[1:3], x.astype(np.int32), x.reshape(2, 2), x):
        kernel(array)
    kernel(x, block_size=64)
    (launcher,) = kernel._dispatcher._launchers.values()
    assert len(launcher.plans) == 6


def test_pairs_are_of_inputs_that_are_read_and_arrays_that_are_written() -> None:
    def pairs(inputs: str, outputs: str, arrays: str) -> tuple[tuple[int, int], ...]:
        definition = ElementwiseDefinition(parse_signature(inputs, outputs), "f", "", (), "")
        types = tuple(np.ndarray if letter == "a" else float for letter in arrays)
        return loop_launcher(definition, types, backend_named("host")).spec.overlaps

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
    pack = struct.Struct("QQ").pack_into
    plan = Plan(
        "f", 3, 1, 256, pack, pack, lambda: (bytearray(16),) * 2, [], (3, 4), "C", 0,
        (np.dtype("f4"), np.dtype("c16")), (), (),
    )  # fmt: skip
    assert plan.row()[-4:] == (np.dtype("f4"), 48, np.dtype("c16"), 192)


def test_a_failed_launch_is_handed_to_the_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    class FaultError(Exception):
        pass

    def fault(*given: Any) -> None:
        raise FaultError

    def note(error: Exception, launch: Any, given: Any) -> None:
        failures.append(type(error))

    failures: list[Any] = []
    call = LaunchCall(fault, ("function", "grid", "parameters"), note, errors=(FaultError,))
    monkeypatch.setitem(vars(backend_named("host")), "loop_call", call)
    monkeypatch.setattr(compiled, "launcher_class", lambda: None)
    kernel = ElementwiseKernel("T x", "T y", "y = x", "faulty")
    for _ in range(2):
        kernel(np.ones(3))
    assert failures == [FaultError] * 2
