"""From a call to its plan."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from kerneltk import ArgumentValueError, ElementwiseKernel, ReductionKernel, ScalarOverflowError
from kerneltk.backends.base import LaunchCall, backend_named
from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.core.settings import get_settings
from kerneltk.launch import compiled, loops
from kerneltk.launch.loops import (
    LoopDispatcher,
    Plan,
    _overlap_pairs,
    copy_array,
    loop_launcher,
)
from kerneltk.signature.parameters import parse_signature


def test_numbers_are_checked_for_empty_arrays_too() -> None:
    kernel = ElementwiseKernel("int8 x, int8 a", "int8 y", "y = a")
    for _ in range(2):
        with pytest.raises(ScalarOverflowError):
            kernel(np.zeros(0, np.int8), 1000)
    assert kernel(np.zeros(0, np.int8), 100).shape == (0,)


def test_huge_numbers_are_out_of_range() -> None:
    with pytest.raises(ScalarOverflowError, match="bits is out of range"):
        ElementwiseKernel("int8 x, int8 a", "int8 y", "y = a")(np.zeros(2, np.int8), 10**5000)


def dispatcher(operation: str = "y = x + a", **params: str) -> LoopDispatcher:
    signature = parse_signature(params.get("inputs", "T x, T a"), params.get("outputs", "T y"))
    return LoopDispatcher(ElementwiseDefinition(signature, "dispatched", "", (), operation))


def call(made: LoopDispatcher, *args: Any) -> Any:
    return made.inline_cache[len(args)](*args)


def plans_of(made: LoopDispatcher) -> list[int]:
    return [len(launcher.plans) for launcher in made._launchers.values()]


def test_plans_are_forgotten_where_they_hold_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "held")
    made = kernel._dispatcher
    x = np.ones(1 << 20, np.float32)
    assert call(made, x) == x.size
    assert made._held > 0
    monkeypatch.setattr(loops, "_MOST_HELD", made._held)
    assert call(made, x[1:]) == x.size - 1
    assert plans_of(made) == [1]
    assert made._held == 0


def test_inputs_that_an_output_overlaps_are_copied() -> None:
    made = dispatcher()
    whole, first, last = slice(None), slice(0, -1), slice(1, None)
    backward = slice(None, None, -1)
    for into, out_of in ((last, first), (first, last), (backward, whole), (whole, whole)):
        for _ in range(2):
            x = np.arange(50_000.0)
            expected = x[out_of] + 1
            call(made, x[out_of], 1.0, x[into])
            np.testing.assert_array_equal(x[into], expected)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.s_[:, :6], np.s_[:, 6:]), (np.s_[:, ::2], np.s_[:, 1::2]),
        (np.s_[:, ::2], np.s_[:, ::-2]), (np.s_[:, 6:], np.s_[:, 5::-1]),
    ],
)  # fmt: skip
def test_outputs_may_lie_in_each_others_gaps(first: Any, second: Any) -> None:
    made = dispatcher("y = x; z = -x", inputs="T x", outputs="T y, T z")
    x = np.arange(30.0).reshape(5, 6)
    for _ in range(3):
        memory = np.zeros((5, 12))
        call(made, x, memory[first], memory[second])
        np.testing.assert_array_equal(memory[first], x)
        np.testing.assert_array_equal(memory[second], -x)
    memory = np.zeros((5, 13))
    for other in (memory[:, :6], memory[::-1, :6], memory[:, 5:11]):
        with pytest.raises(ArgumentValueError, match="for 'y' and 'z' are written, and share"):
            call(made, x, memory[:, :6], other)
    assert not memory.any()


@pytest.mark.parametrize("launcher", ["python", "compiled"])
def test_gaps_are_found_at_each_distance(monkeypatch: pytest.MonkeyPatch, launcher: str) -> None:
    monkeypatch.setenv("KERNELTK_LAUNCHER", launcher)
    get_settings.cache_clear()
    made = dispatcher("y = x; z = -x", inputs="T x", outputs="T y, T z")
    x = np.arange(4.0)
    for start in (33, 1, 1, 3, 1, 5, 33):
        memory = np.zeros(48)
        call(made, x, memory[:8:2], memory[start : start + 8 : 2])
        np.testing.assert_array_equal(memory[:8:2], x)
        np.testing.assert_array_equal(memory[start : start + 8 : 2], -x)
    monkeypatch.undo()
    get_settings.cache_clear()


def test_atomic_operations_may_share_an_output() -> None:
    made = dispatcher("atomicAdd(&y, x); atomicAdd(&z, x)", inputs="T x", outputs="T y, T z")
    x, y = np.arange(5.0), np.zeros(5)
    call(made, x, y, y)
    np.testing.assert_array_equal(y, 2 * x)


def test_raw_inputs_that_are_not_aligned_are_copied() -> None:
    made = dispatcher("y = x[i] + a", inputs="raw T x, T a", outputs="T y")
    memory = np.zeros(41, np.uint8)
    x = memory[1:].view(np.float64)
    x[:] = np.arange(5)
    y = np.zeros(5)
    call(made, x, 1.0, y)
    np.testing.assert_array_equal(y, np.arange(5) + 1.0)
    written = dispatcher("x[i] = a", inputs="T a", outputs="raw T x")
    with pytest.raises(ArgumentValueError, match="written by references, but its elements are not"):
        written.dispatch((np.zeros(5), x), None, None)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3).T, np.arange(6)[::-2], np.zeros(0), np.zeros(()),
        np.frombuffer(bytes(range(41)), np.uint8)[1:].view(np.int64),
        np.array([(1, 2.0), (3, 4.0)], "i4,f8"),
    ],
)  # fmt: skip
def test_copies_of_arrays(array: Any) -> None:
    made = copy_array(array)
    assert not np.shares_memory(made, array)
    assert made.dtype == array.dtype
    np.testing.assert_array_equal(made, array)


@pytest.mark.parametrize(
    ("kind", "dtype", "equal"),
    [
        (int, "i4", True), (float, "f4", True), (np.float64, "f4", True), (complex, "f4", False),
        (np.complex64, "f8", False), (complex, "c8", False), (int, "c16", False),
        (bool, "?", True),
    ],
)  # fmt: skip
def test_numbers_that_are_packed_as_they_are(kind: type, dtype: str, equal: bool) -> None:
    assert loops._packs_equal(kind, np.dtype(dtype)) is equal


# -- plans -----------------------------------------------------------------------------------------


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
