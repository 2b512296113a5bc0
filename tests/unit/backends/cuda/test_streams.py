"""Which stream is launched on and which are ordered with it; a GPU's own are in differential."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import cupy
import numpy as np
import pytest
from cuda.bindings import driver

from kerneltk.backends.cuda import streams
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, LaunchError
from kerneltk.interop.streams import Home

from ...dry_gpu import CUPY, TORCH, DryGpu, gpu  # noqa: F401 (a fixture)


class Library:
    """Another library, whose current stream is `current`."""

    def __init__(self, current: int) -> None:
        self.current = current

    def current_stream(self, device: int) -> int:
        return self.current


@pytest.fixture
def capturing(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The streams that are being captured."""
    found: set[int] = set()
    runtime = SimpleNamespace(streamIsCapturing=lambda stream: stream in found)
    monkeypatch.setattr(streams, "_runtime", runtime)
    return found


def chosen(*homes: Home, stream: int | None = None) -> tuple[int, list[int]]:
    found, others = streams._chosen(homes, stream, 0)
    return found, [other.stream for other in others]


TORCHS: Any = Library(50)


def test_streams_of_other_devices_are_waited_for(
    capturing: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "current_stream", lambda device: 70 + device)
    assert chosen(Home(20, 1, TORCHS)) == (50, [20])
    assert chosen(Home(20, 1)) == (70, [20])
    # The same handle of two devices is two streams.
    assert chosen(Home(0, 0), Home(0, 1)) == (0, [0])


def test_a_copy_that_no_graph_holds_is_not_captured(capturing: set[int]) -> None:
    copied = Home(20, 0, TORCHS, asked=True, copied=True)
    assert chosen(copied, stream=7) == (7, [20])
    assert chosen(copied, Home(30, 0)) == (20, [30])
    capturing.add(20)  # torch's own graph has the copy
    assert chosen(copied) == (20, [])
    capturing.clear()
    capturing.update((7, 30))
    for call in (lambda: chosen(copied, stream=7), lambda: chosen(copied, Home(30, 0))):
        with pytest.raises(LaunchError, match="lazy view of other numbers cannot be captured"):
            call()


def test_a_stream_that_nobody_knows_has_to_be_named(capturing: set[int]) -> None:
    home = Home(20, 0, unknown="The stream is not known.")
    assert chosen(home, stream=7) == (7, [])
    for homes in ([home], [Home(30, 0, TORCHS), home]):
        with pytest.raises(ArgumentValueError, match="not known"):
            chosen(*homes)


def driver_with(device: int | None) -> Any:
    """A driver whose streams are all of one device; None knows no stream."""
    done = driver.CUresult.CUDA_SUCCESS
    failed = driver.CUresult.CUDA_ERROR_INVALID_HANDLE
    return SimpleNamespace(
        CUresult=driver.CUresult,
        cuStreamGetCtx=lambda stream: (failed, None) if device is None else (done, "context"),
        cuCtxPushCurrent=lambda context: (done,),
        cuCtxGetDevice=lambda: (done, driver.CUdevice(device)),
        cuCtxPopCurrent=lambda: (done, None),
    )


def test_a_streams_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "driver", driver_with(3))
    assert streams.device_of(4096) == 3
    assert [streams.device_of(stream) for stream in (0, 1, 2)] == [None] * 3
    monkeypatch.setattr(streams, "driver", driver_with(None))
    assert streams.device_of(4096) is None


def test_a_launch_joins_a_capture(capturing: set[int]) -> None:
    homes = Home(20, 0, TORCHS), Home(30, 0, TORCHS), Home(40, 0)
    capturing.update((30, 40))
    assert chosen(*homes) == (30, [40])
    capturing.remove(30)
    assert chosen(*homes) == (40, [])


def test_the_default_stream_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(stream: int) -> bool:
        raise AssertionError(stream)

    monkeypatch.setattr(streams, "_runtime", SimpleNamespace(streamIsCapturing=refused))
    assert not streams.is_capturing(0)
    assert not streams.is_capturing(1)


@pytest.mark.parametrize(("handle", "wanted"), [(0, 0), (1, 0), (2, 2), (4096, 4096)])
def test_cupys_name_of_the_default_stream(
    handle: int, wanted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = SimpleNamespace(ptr=handle)
    monkeypatch.setattr(cupy.cuda, "get_current_stream", lambda device: found)
    assert streams.current_stream(0) == wanted


def test_what_is_given_as_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    current = SimpleNamespace(ptr=0)
    monkeypatch.setattr(cupy.cuda, "get_current_stream", lambda: current)
    assert streams.own_stream(None) is current
    assert streams.own_stream(0) is current
    for handle, wanted in ((1, 0), (2, 2), (np.int64(2), 2)):
        assert streams.own_stream(handle).ptr == wanted
    with pytest.raises(ArgumentTypeError, match="must be a stream"):
        streams.own_stream("s")
    with pytest.raises(ArgumentValueError, match="none has the handle"):
        streams.own_stream(12345)


def test_errors_of_cupy_become_errors_of_launches() -> None:
    with (
        pytest.raises(LaunchError, match="could not be ordered: it is gone") as caught,
        streams._as_launch_errors(),
    ):
        raise RuntimeError("it is gone")
    assert isinstance(caught.value.__cause__, RuntimeError)
    own = LaunchError("own")
    with pytest.raises(LaunchError) as caught, streams._as_launch_errors():
        raise own
    assert caught.value is own
