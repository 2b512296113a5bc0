"""A driver of graphs that runs nothing: captures and launches of executables are written down."""

from __future__ import annotations

from contextlib import nullcontext
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
    streams : set of int
        Those that were made and not destroyed.
    own_work : int
        What the next guard finds on its stream.
    refused : bool
        Whether nodes of executables take no other parameters.
    failing : str
        The call that fails.
    is_broken : bool
        Whether captures end as where a captured stream was waited for.
    """

    def __init__(self, gpu: DryGpu, patch: pytest.MonkeyPatch) -> None:
        from cuda.bindings import driver

        from kerneltk.backends.cuda import backend, graphs

        self.log: list[tuple[Any, ...]] = []
        self.captured: dict[int, list[Any]] = {}
        self.own_work, self.refused, self.is_broken = 0, False, False
        self.failing, self.streams = "", set[int]()
        self._gpu, self._next, self._ok = gpu, STREAM, driver.CUresult.CUDA_SUCCESS
        self._bad = driver.CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
        calls = {
            f"cu{name.title().replace('_', '')}": self._call(name, getattr(self, name))
            for name in vars(FakeGraphs)
            if not name.startswith("_")
        }
        types = {name: getattr(driver, name) for name in ("CUDA_KERNEL_NODE_PARAMS", "CUfunction")}
        patch.setattr(graphs, "driver", SimpleNamespace(**calls, **types))
        patch.setattr(graphs, "relaxed_capture", nullcontext)
        patch.setattr(backend, "relaxed_capture", nullcontext)
        patch.setattr(graphs, "stream_of", gpu._within)
        patch.setattr(backend, "_bind_context", lambda: None)
        patch.setattr(backend, "_cleared_memory", self._cleared)
        runtime = gpu._cupy.cuda.runtime
        patch.setattr(runtime, "streamSynchronize", lambda stream: self._note("settle", stream))
        gpu.at_launch = self._at_launch

    def _call(self, name: str, own: Any) -> Any:
        def call(*arguments: Any) -> Any:
            found = own(*arguments)
            return (self._bad, *found[1:]) if name == self.failing else found

        return call

    def _note(self, *entry: Any) -> None:
        self.log.append(entry)

    def _cleared(self, size: int) -> Any:
        self._note("scratch", size)
        return self._gpu._allocate(size)

    def _at_launch(self, arguments: tuple[Any, ...]) -> None:
        if arguments[8] in self.captured:
            self.captured[arguments[8]].append(arguments)

    def stream_create(self, flags: int) -> Any:
        self._next += 1
        self.streams.add(self._next)
        return self._ok, self._next

    def stream_destroy(self, stream: int) -> Any:
        self.streams.remove(stream)
        return (self._ok,)

    def stream_begin_capture(self, stream: int, mode: Any) -> Any:
        self.captured[stream] = []
        return (self._ok,)

    def stream_end_capture(self, stream: int) -> Any:
        if self.is_broken:
            return self._bad, None
        return self._ok, stream

    def stream_get_capture_info(self, stream: int) -> Any:
        return self._ok, None, 1, stream, [(stream, len(self.captured[stream]) - 1)], 1

    def graph_get_nodes(self, graph: int, count: int) -> Any:
        return self._ok, [], self.own_work

    def graph_instantiate(self, graph: int, flags: int) -> Any:
        self._note("instantiate", len(self.captured[graph]))
        return self._ok, ("executable", graph)

    def graph_exec_kernel_node_set_params(self, executable: Any, node: Any, parameters: Any) -> Any:
        self._note("set", node[1], parameters)
        return (self._bad if self.refused else self._ok,)

    def graph_launch(self, executable: Any, stream: int) -> Any:
        self._note("launch", stream)
        return (self._ok,)

    def graph_destroy(self, graph: Any) -> Any:
        self._note("destroy graph")
        return (self._ok,)

    def graph_exec_destroy(self, executable: Any) -> Any:
        self._note("destroy")
        return (self._ok,)

    def event_create(self, flags: int) -> Any:
        return self._ok, "event"

    def event_destroy(self, event: Any) -> Any:
        return (self._ok,)

    def event_record(self, event: Any, stream: int) -> Any:
        self._note("record", stream)
        return (self._ok,)

    def stream_wait_event(self, stream: int, event: Any, flags: int) -> Any:
        self._note("wait", stream)
        return (self._ok,)

    def event_synchronize(self, event: Any) -> Any:
        self._note("drain")
        return (self._ok,)


@pytest.fixture
def driver(gpu: DryGpu, monkeypatch: pytest.MonkeyPatch) -> FakeGraphs:
    """Return the driver, which every graph on the dry GPU asks."""
    return FakeGraphs(gpu, monkeypatch)
