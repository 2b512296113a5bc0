"""Recorders, and the backend whose launches go to them."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from kerneltk import ElementwiseKernel
from kerneltk.backends.base import backend_named
from kerneltk.core.recorders import current_recorder, recorders
from kerneltk.errors import LaunchError
from kerneltk.launch.recording import RecordedCall, Recorder, recording_backend

X = np.arange(64, dtype=np.float32)
SCALE = ElementwiseKernel("T x, T a", "T y", "y = a * x", "scale")


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
