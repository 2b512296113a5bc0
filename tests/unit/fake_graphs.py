"""A driver of graphs that runs nothing: captures, executables and their launches are written down."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from .dry_gpu import DryGpu

STREAM = 100  # the first that is made


class FakeGraphs:
    """What was asked of the driver; `gpu` is what the launches go to.

    Attributes
    ----------
    log : list of tuple
        ``("launch", stream)``, ``("set", node, parameters)``, ``("record", stream)`` and so on.
    captured : dict of list
        The launches of each capture, by its stream.
    own_work : int
        What the next guard finds on its stream.
    refused : bool
        Whether nodes of executables take no other parameters.
    """

    def __init__(self, gpu: DryGpu, patch: pytest.MonkeyPatch) -> None:
        from cuda.bindings import driver

        from kerneltk.backends.cuda import backend, graphs

        self.log: list[tuple[Any, ...]] = []
        self.captured: dict[int, list[Any]] = {}
        self.own_work, self.refused, self.is_broken = 0, False, False
        self.nodes = 0
        self._gpu, self._next, self._ok = gpu, STREAM, driver.CUresult.CUDA_SUCCESS
        self._bad = driver.CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
        own = {name: getattr(self, name) for name in dir(self) if name.startswith("cu")}
        rest = {
            name: getattr(driver, name)
            for name in ("CUresult", "CUDA_KERNEL_NODE_PARAMS", "CUfunction")
        }
        patch.setattr(graphs, "driver", SimpleNamespace(**own, **rest))
        patch.setattr(graphs, "relaxed_capture", __import__("contextlib").nullcontext)
        patch.setattr(graphs, "stream_of", gpu._within)
        patch.setattr(backend, "_bind_context", lambda: None)
        patch.setattr(backend, "_cleared_memory", self._cleared)
        runtime = gpu._cupy.cuda.runtime
        patch.setattr(runtime, "streamSynchronize", lambda stream: self._note("settle", stream))
        gpu.at_launch = self._at_launch

    def _note(self, *entry: Any) -> None:
        self.log.append(entry)

    def _cleared(self, size: int) -> Any:
        self._note("scratch", size)
        return self._gpu._allocate(size)

    def _at_launch(self, arguments: tuple[Any, ...]) -> None:
        if arguments[8] in self.captured:
            self.captured[arguments[8]].append(arguments)

    def cuStreamCreate(self, flags: int) -> Any:
        self._next += 1
        return self._ok, self._next

    def cuStreamDestroy(self, stream: int) -> Any:
        return (self._ok,)

    def cuStreamBeginCapture(self, stream: int, mode: Any) -> Any:
        self.captured[stream] = []
        return (self._ok,)

    def cuStreamEndCapture(self, stream: int) -> Any:
        if self.is_broken:
            return self._bad, None
        return self._ok, stream

    def cuStreamGetCaptureInfo(self, stream: int) -> Any:
        return self._ok, None, 1, stream, [(stream, len(self.captured[stream]) - 1)], 1

    def cuGraphGetNodes(self, graph: int, count: int) -> Any:
        return self._ok, [], self.own_work

    def cuGraphInstantiate(self, graph: int, flags: int) -> Any:
        self._note("instantiate", len(self.captured[graph]))
        return self._ok, ("executable", graph)

    def cuGraphExecKernelNodeSetParams(self, executable: Any, node: Any, parameters: Any) -> Any:
        self._note("set", node[1], parameters)
        return (self._bad if self.refused else self._ok,)

    def cuGraphLaunch(self, executable: Any, stream: int) -> Any:
        self._note("launch", stream)
        return (self._ok,)

    def cuGraphDestroy(self, graph: Any) -> Any:
        return (self._ok,)

    def cuGraphExecDestroy(self, executable: Any) -> Any:
        self._note("destroy")
        return (self._ok,)

    def cuEventCreate(self, flags: int) -> Any:
        return self._ok, "event"

    def cuEventDestroy(self, event: Any) -> Any:
        return (self._ok,)

    def cuEventRecord(self, event: Any, stream: int) -> Any:
        self._note("record", stream)
        return (self._ok,)

    def cuStreamWaitEvent(self, stream: int, event: Any, flags: int) -> Any:
        self._note("wait", stream)
        return (self._ok,)

    def cuEventSynchronize(self, event: Any) -> Any:
        self._note("drain")
        return (self._ok,)
