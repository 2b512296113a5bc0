"""The host backend."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec, CompileError, ElementwiseKernel, RawKernel
from kerneltk.backends.base import BlocksOf, Bound, LaunchMode
from kerneltk.backends.host import backend, runtime
from kerneltk.backends.host.backend import HostBackend
from kerneltk.errors import ArgumentValueError, DivisionError, LaunchError

make = ArraySpec.make
N = 20_000
X = np.where(np.arange(N) % 3 == 0, -1, np.arange(N)).astype(np.float32)


def test_hints_for_what_a_cpu_has_not_and_for_inputs() -> None:
    with pytest.raises(CompileError, match="Hint: 'threadIdx' is there on GPUs only"):
        ElementwiseKernel("T x", "T y", "y = threadIdx.x")(X)
    for body in ("x[0] = 1; y = x[i]", "y = atomicExch(&x[0], T(1))"):
        kernel = ElementwiseKernel("raw T x", "T y", body, "writes")
        for target in ("host", "sm_90"):
            with pytest.raises(CompileError, match="Hint: an input is const"):
                kernel.compile(make("float32", (4,)), make("float32", (4,)), target=target)


HOST = HostBackend()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0),
        np.arange(6.0)[2:],
        np.arange(6.0)[::-2],
        np.zeros((3, 4), np.int8)[1:, 1:].T,
        np.zeros(0),
        np.zeros(()),
        np.zeros((2, 0, 3)),
        np.frombuffer(b"abcdefgh", np.uint8)[3:],
    ],
)
def test_arrays_are_described(array: np.ndarray[Any, Any]) -> None:
    spec, address = HOST.describe(array)
    assert address == array.__array_interface__["data"][0]
    assert (spec.dtype, spec.shape, spec.strides) == (array.dtype, array.shape, array.strides)
    assert spec.offset == address % 16


def test_addresses_of_records() -> None:
    records = np.zeros(3, [("a", "i4"), ("b", "f8")])
    assert backend.record_address(records[2]) == records.ctypes.data + 2 * records.itemsize
    own = np.void((1,), [("a", "i8")])
    assert backend.record_address(own) == backend._record_address_by_buffer(own)


def test_a_fast_way_is_taken_only_if_it_agrees() -> None:
    def right(value: int) -> int:
        return value

    assert backend._choose(right, int, (1, 2)) is right
    assert backend._choose(lambda value: 1, int, (1, 2)) is int
    assert backend._choose(lambda value: 1, int, (1,)) is not int


def test_read_only_arrays_that_are_written() -> None:
    array = np.zeros(3)
    array.flags.writeable = False
    HOST.check_usable(array, "x", False)
    with pytest.raises(ArgumentValueError, match="parameter 'x' is written, but it is read-only"):
        HOST.check_usable(array, "x", True)


@pytest.mark.parametrize("alignment", [1, 4, 16, 64])
def test_records_are_lent_aligned_and_taken_back(alignment: int) -> None:
    records = np.zeros(3, [("a", "u1"), ("b", "<i4")])
    records["b"] = 1, 2, 3
    for _ in range(8):
        lent = HOST.lend(records[1], alignment, None)
        assert lent.ctypes.data % alignment == 0
        assert lent.tobytes() == records[1].tobytes()
    lent[1:] = 5, 0, 0, 0
    HOST.take_back(lent, records[1], None)
    assert records["b"].tolist() == [1, 5, 3]


def test_allocated_arrays() -> None:
    for order, strides in (("C", (24, 8)), ("F", (8, 16)), ("K", (24, 8))):
        found = HOST.empty([2, 3], np.dtype("f8"), order)
        assert (found.shape, found.strides) == ((2, 3), strides)


def test_clusters_are_refused() -> None:
    with pytest.raises(LaunchError, match=r"'k' cannot be launched in clusters of \(2, 1, 1\)"):
        HOST.grid_call(LaunchMode(cluster=(2, 1, 1)), "k")


@pytest.mark.parametrize(("mode", "flags"), [
    (LaunchMode(), 0),
    (LaunchMode(exited_arrive=True), 1),
    (LaunchMode(cooperative=True), 2),
    (LaunchMode(cooperative=True, exited_arrive=True, programmatic=True), 3),
])  # fmt: skip
def test_how_grids_are_launched(mode: LaunchMode, flags: int) -> None:
    call = HOST.grid_call(mode, "kernel")
    assert struct.calcsize("<" + call.head_format) % 16 == 0
    bound = [value.value for value in call.head_values if isinstance(value, Bound)]
    assert bound[0] == flags
    assert ctypes.string_at(bound[2]) == b"kernel"
    assert ("blocks" in call.arguments) is True
    assert any(isinstance(value, BlocksOf) for value in call.arguments) is not mode.cooperative


def test_variables_share_their_memory() -> None:
    memory = np.arange(6, dtype=np.int16)
    found = HOST.variable_array(memory.ctypes.data, np.dtype("i2"), (2, 3), None)
    found[1, 2] = 9
    assert memory.tolist() == [0, 1, 2, 3, 4, 9]
    assert HOST.variable_array(memory.ctypes.data, np.dtype("i2"), (0, 3), None).size == 0
    scalar = HOST.variable_array(memory.ctypes.data, np.dtype("i2"), (), None)
    assert (scalar.shape, scalar[()]) == ((), 0)


@pytest.mark.parametrize(("told", "debug", "hints"), [
    ("kernel 'k': a thread has left the kernel", "", ["exited_arrive=True"]),
    ("kernel 'k' did not end within 1 s", "", ["TIME_LIMIT", "KERNELTK_HOST_DEBUG=symbols"]),
    ("kernel 'k' did not end within 1 s", "symbols", ["TIME_LIMIT", "'cooperative=True'"]),
    ("kernel 'k': something else.", "", []),
])  # fmt: skip
def test_faults_of_grids_and_what_to_do(
    told: str, debug: str, hints: list[str], environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("KERNELTK_HOST_DEBUG", debug)
    environment.setattr(runtime, "last_fault", lambda: told)
    message = str(backend._grid_failure(backend._FAULT))
    sentence, *rest = message.split("\n")
    assert sentence == f"In {told.removesuffix('.')}."
    assert [hint in "\n".join(rest) for hint in hints] == [True] * len(hints)
    assert bool(rest) is bool(hints)
    assert ("=symbols" in message) is ("KERNELTK_HOST_DEBUG=symbols" in hints)


def test_divisions_and_too_many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "last_fault", lambda: "kernel 'k'")
    assert isinstance(backend._grid_failure(backend._DIVISION), DivisionError)
    assert "can have" in str(backend._grid_failure(backend._TOO_LARGE))


@pytest.mark.exhaustive
def test_a_loop_that_only_reads_stays_where_it_never_ends() -> None:
    wait = RawKernel("__global__ void wait(const int* x) { while (x[0] == 0) { } }", "wait")
    wait((1,), (1,), (np.ones(1, np.int32),))
    runtime.set_time_limit(100)
    try:
        with pytest.raises(LaunchError, match="the launch did not end within 100 ms"):
            wait((1,), (1,), (np.zeros(1, np.int32),))
    finally:
        runtime.set_time_limit(0)
