"""Graphs of launches, by the driver's graphs: what is executed, and what keeps other work out."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import cupy
from cuda.bindings import driver

from kerneltk.backends.base import Executable, RecordedLaunch
from kerneltk.backends.cuda.status import check
from kerneltk.backends.cuda.streams import is_capturing, relaxed_capture, stream_of
from kerneltk.errors import LaunchError

_SUCCESS = driver.CUresult.CUDA_SUCCESS
_RELAXED = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
_NON_BLOCKING = int(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
_WITHOUT_TIMES = int(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING)
_PER_THREAD_STREAM = 2  # the handle of a stream that is another one in each thread


def _new_stream() -> Any:
    result, stream = driver.cuStreamCreate(_NON_BLOCKING)
    check(result, "Making a stream")
    return stream


# -- executables -----------------------------------------------------------------------------------


class _Order:
    """The order of a graph's launches, which several executables may have made one after another.

    Work on the stream that was CuPy's when the graph was recorded is ordered with what is allocated
    and freed there; an event tells of launches on others.
    """

    def __init__(self) -> None:
        self._home = cupy.cuda.get_current_stream()  # held, and its handle with it
        self._event: Any = None
        self._has_launched = False

    def note(self, stream: int) -> None:
        """Note a launch on a stream."""
        self._has_launched = True
        if stream == self._home.ptr and stream != _PER_THREAD_STREAM:
            return
        if self._event is None:
            result, self._event = driver.cuEventCreate(_WITHOUT_TIMES)
            check(result, "Making an event")
            weakref.finalize(self, driver.cuEventDestroy, self._event).atexit = False
        (result,) = driver.cuEventRecord(self._event, stream)
        check(result, "Recording an event")

    def wait(self, stream: int) -> None:
        """Let a stream's later work wait for all launches that were noted."""
        if not self._has_launched:
            return
        if self._event is not None:
            (result,) = driver.cuStreamWaitEvent(stream, self._event, 0)
            check(result, "Waiting for an event")
        if stream == self._home.ptr:
            return
        result, event = driver.cuEventCreate(_WITHOUT_TIMES)
        check(result, "Making an event")
        for (result,) in (
            driver.cuEventRecord(event, int(self._home.ptr)),
            driver.cuStreamWaitEvent(stream, event, 0),
            driver.cuEventDestroy(event),
        ):
            check(result, "Ordering two streams")

    def drain(self) -> None:
        """Wait for launches on other streams than memory is freed on."""
        if self._event is not None:
            with relaxed_capture():
                driver.cuEventSynchronize(self._event)


class GraphLaunches:
    """Launches in an executable graph; implements `kerneltk.backends.base.Executable`.

    Launches of one executable graph follow each other, whatever streams they are on.
    """

    def __init__(self, launches: Sequence[RecordedLaunch], before: Executable | None) -> None:
        self._launches = list(launches)
        self._order: _Order = before._order if isinstance(before, GraphLaunches) else _Order()
        self._is_first = True
        with relaxed_capture():
            self._graph, self._nodes = _captured(self._launches)
            result, self._executable = driver.cuGraphInstantiate(self._graph, 0)
            if result != _SUCCESS:
                driver.cuGraphDestroy(self._graph)
            check(result, "Making the graph executable")
        weakref.finalize(self, _destroy, self._executable, self._graph).atexit = False

    def update(self, index: int, launch: RecordedLaunch) -> bool:
        """Replace a launch; False where it is made in another way, or the driver refuses it."""
        if launch.launch is not self._launches[index].launch:
            return False
        # Every way to launch has the kernel, the grid, the block and shared memory in front.
        function, gx, gy, gz, bx, by, bz, shared = launch.values[:8]
        parameters = driver.CUDA_KERNEL_NODE_PARAMS()
        parameters.func = driver.CUfunction(function)
        parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ = gx, gy, gz
        parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ = bx, by, bz
        parameters.sharedMemBytes = shared
        parameters.kernelParams = launch.block.address
        node = self._nodes[index]
        (result,) = driver.cuGraphExecKernelNodeSetParams(self._executable, node, parameters)
        self._launches[index] = launch
        return bool(result == _SUCCESS)

    def launch(self, stream: int | None) -> None:
        """Launch the graph on a stream. While the stream is captured its launches become part of
        what is captured.
        """
        assert stream is not None  # there are streams here
        if is_capturing(stream):
            for launch in self._launches:
                _launch(launch, stream)
            return
        if self._is_first:
            self._order.wait(stream)
            self._is_first = False
        (result,) = driver.cuGraphLaunch(self._executable, stream)
        check(result, "The graph's launch")
        self._order.note(stream)

    @property
    def drain(self) -> Callable[[], None]:
        """A function that waits for all launches whose memory might be freed too early."""
        return self._order.drain


def _launch(launch: RecordedLaunch, stream: int) -> None:
    """Launch on a stream, as an eager call does."""
    call, function, values = launch.call, launch.launch, launch.values
    index = call.arguments.index("stream")
    values = (*values[:index], stream, *values[index + 1 :])
    try:
        failure = function(*values)
    except call.errors as error:
        failure = error
    if failure:
        call.launch_failed(failure, function, values)


def _captured(launches: Sequence[RecordedLaunch]) -> tuple[Any, list[Any]]:
    """A graph of launches in their order, and the node of each."""
    stream = _new_stream()
    try:
        (result,) = driver.cuStreamBeginCapture(stream, _RELAXED)
        check(result, "Beginning a graph")
        nodes = []
        try:
            for launch in launches:
                _launch(launch, int(stream))
                nodes.append(_last_node(stream))
        except BaseException:
            result, graph = driver.cuStreamEndCapture(stream)
            if result == _SUCCESS:
                driver.cuGraphDestroy(graph)
            raise
        result, graph = driver.cuStreamEndCapture(stream)
        check(result, "Ending a graph")
    finally:
        driver.cuStreamDestroy(stream)
    return graph, nodes


def _last_node(stream: Any) -> Any:
    """The node that a capture's next one depends on: that of the last launch."""
    result, _, _, _, nodes, *_ = driver.cuStreamGetCaptureInfo(stream)
    check(result, "Asking a stream for its capture")
    if len(nodes) != 1:
        raise LaunchError(f"A launch became {len(nodes)} nodes of the driver's graph, not one.")
    return nodes[0]


def _destroy(executable: Any, graph: Any) -> None:
    driver.cuGraphExecDestroy(executable)
    driver.cuGraphDestroy(graph)


# -- recordings ------------------------------------------------------------------------------------


class CaptureGuard:
    """Keeps CuPy's own work out of a recording; implements `kerneltk.backends.base.Guard`.

    CuPy's current stream is one that is captured meanwhile: what is put on it does not run, and
    waiting for it is an error.
    """

    def __init__(self) -> None:
        self._stream: Any = None
        self._outer, self._device = 0, 0
        self._current: Any = None

    def begin(self) -> None:
        """Make the captured stream CuPy's current one."""
        self._outer = int(cupy.cuda.get_current_stream().ptr)
        self._device = cupy.cuda.runtime.getDevice()
        if is_capturing(self._outer):
            raise LaunchError(
                "A graph cannot be recorded while the current stream is captured.\n"
                "  Hint: record it before; its launch can be captured."
            )
        self._stream = _new_stream()
        (result,) = driver.cuStreamBeginCapture(self._stream, _RELAXED)
        if result != _SUCCESS:
            driver.cuStreamDestroy(self._stream)
        check(result, "Beginning the recording")
        self._current = stream_of(int(self._stream))
        self._current.__enter__()

    def paused(self) -> AbstractContextManager[Any]:
        """Return a context in which CuPy's current stream is the caller's."""
        if cupy.cuda.runtime.getDevice() != self._device:  # whose streams are others
            return nullcontext()
        context: AbstractContextManager[Any] = stream_of(self._outer)
        return context

    def end(self, error: BaseException | None) -> str:
        """Make CuPy's current stream what it was; returns what was done on the other one."""
        self._current.__exit__(None, None, None)
        result, graph = driver.cuStreamEndCapture(self._stream)
        driver.cuStreamDestroy(self._stream)
        count = 0
        if result == _SUCCESS:
            _, _, count = driver.cuGraphGetNodes(graph, 0)
            driver.cuGraphDestroy(graph)
        if error is not None:
            # CuPy refuses some of it by itself, and then the capture is whole.
            is_refused = isinstance(error, RuntimeError) and "captur" in str(error)
            return _WAITED if is_refused and not isinstance(error, LaunchError) else ""
        if result != _SUCCESS:
            return _WAITED
        return "CuPy did work of its own" if count else ""


_WAITED = "A stream was waited for, or a result was read,"
