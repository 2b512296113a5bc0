"""Executable graphs of the driver's: what is asked of the driver, and what it refuses."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from kerneltk import LaunchError
from kerneltk.backends.base import LaunchCall, RecordedLaunch, make_block
from kerneltk.backends.cuda.backend import CudaLaunchError

from ...dry_gpu import CUPY, DryGpu
from ...dry_gpu import gpu as gpu
from ...fake_graphs import FakeGraphs
from ...fake_graphs import driver as driver

ARGUMENTS: Any = (
    "function", "gx", "gy", "gz", "bx", "by", "bz", "shared", "stream", "parameters",
)  # fmt: skip


def raising(failure: Any, launch: Any, arguments: Any) -> None:
    raise failure


def launch_of(gpu: DryGpu, function: Any = None, number: int = 1) -> RecordedLaunch:
    import cupy

    launch = function or cupy.cuda.driver.launchKernel
    block = make_block(8, 0, b"")
    values = (number, 2, 3, 4, 32, 1, 1, 64, None, block.address)
    return RecordedLaunch(
        LaunchCall(launch, ARGUMENTS, raising, errors=(ValueError,)), launch, values, block, None
    )


def executable(launches: list[RecordedLaunch], before: Any = None) -> Any:
    from kerneltk.backends.cuda.graphs import GraphLaunches

    return GraphLaunches(launches, before)


def test_launches_are_captured_in_their_order(gpu: DryGpu, driver: FakeGraphs) -> None:
    executable([launch_of(gpu, number=k) for k in range(1, 4)])
    ((stream, launches),) = driver.captured.items()
    assert [launch[0] for launch in launches] == [1, 2, 3]
    assert {launch[8] for launch in launches} == {stream}
    assert driver.streams == set()


def test_an_executable_and_its_graph_are_destroyed(gpu: DryGpu, driver: FakeGraphs) -> None:
    made = executable([launch_of(gpu)])
    del made
    gc.collect()
    assert driver.log[-2:] == [("destroy",), ("destroy graph",)]


def test_a_launch_that_fails(gpu: DryGpu, driver: FakeGraphs) -> None:
    def failing(*values: Any) -> None:
        raise ValueError("no such thing")

    with pytest.raises(ValueError, match="no such thing"):
        executable([launch_of(gpu), launch_of(gpu, failing)])
    assert driver.log == [("destroy graph",)]
    assert driver.streams == set()


@pytest.mark.parametrize(("failing", "what"), [
    ("stream_create", "Making a stream"),
    ("stream_begin_capture", "Beginning a graph"),
    ("stream_get_capture_info", "Asking a stream for its capture"),
    ("stream_end_capture", "Ending a graph"),
    ("graph_instantiate", "Making the graph executable"),
])  # fmt: skip
def test_what_the_driver_refuses(
    failing: str, what: str, gpu: DryGpu, driver: FakeGraphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kerneltk.backends.cuda import status

    monkeypatch.setattr(status.driver, "cuGetErrorName", lambda result: (0, b"NAME"))
    monkeypatch.setattr(status.driver, "cuGetErrorString", lambda result: (0, b"reason"))
    driver.failing = failing
    with pytest.raises(CudaLaunchError, match=rf"\A{what} failed: NAME, reason\.\Z"):
        executable([launch_of(gpu)])
    assert driver.streams <= {101} if failing == "stream_create" else driver.streams == set()


def test_a_launch_of_several_nodes(
    gpu: DryGpu, driver: FakeGraphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kerneltk.backends.cuda import graphs

    info = (driver._ok, None, 1, 1, ["one", "two"], 2)
    monkeypatch.setattr(graphs.driver, "cuStreamGetCaptureInfo", lambda stream: info)
    with pytest.raises(LaunchError, match="A launch became 2 nodes of the driver's graph"):
        executable([launch_of(gpu)])


def test_a_node_is_given_other_parameters(gpu: DryGpu, driver: FakeGraphs) -> None:
    made = executable([launch_of(gpu), launch_of(gpu)])
    other = launch_of(gpu, number=9)
    assert made.update(1, other)
    kind, node, parameters = driver.log[-1]
    assert (kind, node) == ("set", 1)
    assert int(parameters.func) == 9
    assert (parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ) == (2, 3, 4)
    assert (parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ) == (32, 1, 1)
    assert parameters.sharedMemBytes == 64
    assert parameters.kernelParams == other.block.address
    driver.refused = True
    assert not made.update(0, other)


def test_a_launch_of_another_kind_takes_another_graph(gpu: DryGpu, driver: FakeGraphs) -> None:
    made = executable([launch_of(gpu)])
    assert not made.update(0, launch_of(gpu, lambda *values: None))
    assert "set" not in [entry[0] for entry in driver.log]


def test_the_next_executable_waits_for_the_last(gpu: DryGpu, driver: FakeGraphs) -> None:
    first = executable([launch_of(gpu)])
    driver.log.clear()
    first.launch(CUPY)
    first.launch(55)
    second = executable([launch_of(gpu)], first)
    driver.log.clear()
    second.launch(66)
    second.launch(66)
    assert driver.log == [
        ("wait", 66), ("record", CUPY), ("wait", 66),
        ("launch", 66), ("record", 66), ("launch", 66), ("record", 66),
    ]  # fmt: skip


def test_the_stream_of_a_thread_is_no_home(gpu: DryGpu, driver: FakeGraphs) -> None:
    gpu.current["cupy"] = 2
    made = executable([launch_of(gpu)])
    made.launch(2)
    assert driver.log[-1] == ("record", 2)


def test_in_a_capture_launches_are_made_one_by_one(gpu: DryGpu, driver: FakeGraphs) -> None:
    made = executable([launch_of(gpu), launch_of(gpu)])
    gpu.launches.clear()
    driver.log.clear()
    gpu.capturing.add(55)
    made.launch(55)
    assert [launch[8] for launch in gpu.launches] == [55, 55]
    assert driver.log == []


def test_a_guard_that_cannot_begin(
    gpu: DryGpu, driver: FakeGraphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kerneltk.backends.cuda import status
    from kerneltk.backends.cuda.graphs import CaptureGuard

    monkeypatch.setattr(status.driver, "cuGetErrorName", lambda result: (0, b"NAME"))
    monkeypatch.setattr(status.driver, "cuGetErrorString", lambda result: (0, b"reason"))
    driver.failing = "stream_begin_capture"
    with pytest.raises(LaunchError, match="Beginning the recording failed"):
        CaptureGuard().begin()
    assert driver.streams == set()
    assert gpu.current["cupy"] == CUPY
