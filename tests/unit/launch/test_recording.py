"""Recorders, and the backend whose launches go to them."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from kerneltk import ElementwiseKernel, RawKernel, ReductionKernel, jit
from kerneltk.backends.base import backend_named
from kerneltk.core.recorders import current_recorder, recorders
from kerneltk.errors import LaunchError
from kerneltk.launch.recording import RecordedCall, Recorder, recording_backend

X = np.arange(64, dtype=np.float32)
SCALE = ElementwiseKernel("T x, T a", "T y", "y = a * x", "scale")
TOTAL = ReductionKernel("T v", "T s", "v", "a + b", "s = a", "0", "total")
SET = RawKernel('extern "C" __global__ void set(float* p, float v) { p[0] = v; }', "set")


def accept(call: RecordedCall) -> None:
    """Take every call."""


def test_calls_go_to_the_threads_own_recorder() -> None:
    recorder, found = Recorder(accept), []
    assert current_recorder() is None
    with recorder.recording():
        assert current_recorder() is recorder
        assert SCALE(X, 2.0) is recorder.calls[0].recorded.values[2]
        thread = threading.Thread(target=lambda: found.append((current_recorder(), SCALE(X, 2.0))))
        thread.start()
        thread.join()
        with pytest.raises(LaunchError, match="graphs do not nest"), recorder.recording():
            pass
        assert current_recorder() is recorder
    assert not recorders
    assert found[0][0] is None
    np.testing.assert_array_equal(found[0][1], 2 * X)
    assert len(recorder.calls) == 1


def test_what_a_call_is_recorded_as() -> None:
    recorder = Recorder(accept)
    with recorder.recording():
        y = SCALE(X, a=2.0)
        SET(1, 1, (y, 3.0))
        TOTAL(y.reshape(8, 8), axis=1, where=y.reshape(8, 8) > 0)
    scale, raw, total = recorder.calls
    assert [scale.name_of(k) for k in range(3)] == ["x", "a", "y"]
    assert scale.recorded.values[:2] == (X, 2.0) or scale.recorded.values[1] == 2.0
    assert [raw.name_of(k) for k in range(2)] == ["p", "v"]
    assert [total.name_of(k) for k in range(3)] == ["v", "where", "s"]
    assert [len(call.recorded.launches) for call in recorder.calls] == [1, 1, 1]
    assert recorder.backend is backend_named("host")


def test_every_launch_has_a_block_of_its_own() -> None:
    recorder, y = Recorder(accept), np.empty_like(X)
    with recorder.recording():
        for a in (2.0, 3.0, 2.0):
            SCALE(X, a, y)
            SET(1, 1, (y, a))
    launches = [launch for call in recorder.calls for launch in call.recorded.launches]
    addresses = {launch.block.address for launch in launches}
    assert len(addresses) == len(launches) == 6
    for launch in launches:
        assert launch.block.address in launch.values
    contents = [bytes(launch.block.memory) for launch in launches]
    assert contents[0] == contents[4] != contents[2]
    SCALE(X, 9.0, y)  # eager calls have others
    assert [bytes(launch.block.memory) for launch in launches] == contents


def test_a_kernel_of_kernels_is_one_call() -> None:
    @jit.kernel
    def halved(u):
        return u / 2

    recorder = Recorder(accept)
    with recorder.recording():
        for _ in range(3):  # the third one would take a shortcut
            halved(X)
    assert [call.recordable.kernel for call in recorder.calls] == ["halved"] * 3
    assert [len(call.recorded.launches) for call in recorder.calls] == [1, 1, 1]
    np.testing.assert_array_equal(halved(X), X / 2)  # and takes it now


def test_temporaries_are_used_again() -> None:
    memory = np.arange(65, dtype=np.float32)
    recorder = Recorder(accept)
    with recorder.recording():
        SCALE(memory[:-1], 2.0, memory[1:])
    (call,) = recorder.calls
    assert len(call.recorded.launches) == 2  # the copy is one of them
    (before,) = [array for _, array in call.memory]
    binding = recorder.bind(call, call.recorded.values)
    assert not recorder.has_allocated
    (after,) = [array for _, array in call.memory]
    assert after is before
    assert len(binding.launches) == 2
    assert not recorders


def test_a_call_that_raises_leaves_nothing() -> None:
    recorder = Recorder(accept)
    with recorder.recording():
        with pytest.raises(TypeError):
            SCALE(X)
        with pytest.raises(ValueError, match="shape"):
            SCALE(X, 2.0, np.empty(3, np.float32))
    assert recorder.calls == []
    assert recorder.backend is None

    def refuse(call: RecordedCall) -> None:
        raise KeyError

    recorder = Recorder(refuse)
    with pytest.raises(KeyError), recorder.recording():
        SCALE(X, 2.0)
    assert recorder.calls == []


def test_results_have_no_values_yet() -> None:
    recorder = Recorder(accept)
    with recorder.recording():
        assert np.isnan(SCALE(X, 2.0)).all()
        assert np.isnan(TOTAL(X))
        assert SCALE(np.arange(3), 2).dtype == int


def test_the_backend_that_records() -> None:
    host = backend_named("host")
    recording: Any = recording_backend(host)
    assert recording_backend(host) is recording
    assert recording.loop_call is recording.loop_call
    assert recording.array_type is np.ndarray
    assert recording.loop_call.native is None  # launchers in Python ask the recorder
    block = recording.make_buffer(32, 0, b"ab")
    finished = block.address.finished()
    assert bytes(finished.memory) == bytes(block.memory)
    finished.memory[0] = 1
    assert bytes(block.memory)[:2] == b"ab"


def test_memory_that_is_checked(environment: pytest.MonkeyPatch) -> None:
    """What the runtime is told of arrays before a launch is told before each launch."""
    import subprocess
    import sys

    program = """
import numpy as np, kerneltk
code = 'extern "C" __global__ void put(float* p, int n) { p[n] = 1; }'
put, x = kerneltk.RawKernel(code, "put"), np.zeros(4, np.float32)
with kerneltk.graph() as g:
    put(1, 1, (x, 2))
g.launch()
assert x.tolist() == [0, 0, 1, 0]
y = np.zeros(4, np.float32)
g.launch(p=y, n=3)
assert y.tolist() == [0, 0, 0, 1]
try:
    g.launch(n=4)
except kerneltk.LaunchError as error:
    assert "beyond" in str(error), error
    print("caught")
g.launch()
"""
    environment.setenv("KERNELTK_HOST_DEBUG", "memory")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "caught\n", done.stderr
