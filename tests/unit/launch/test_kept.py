"""Launches that the compile cache keeps are those that would be made, and nobody else's."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kerneltk import ElementwiseKernel, pipeline
from kerneltk.backends.base import backend_named, capabilities_of
from kerneltk.cache.store import Cache
from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.codegen.reduction import ReductionDefinition
from kerneltk.codegen.render import translation_unit_of
from kerneltk.core.artifacts import Target
from kerneltk.launch import loops
from kerneltk.launch.loops import KeptLaunches, Launch
from tests.unit.cache.stages import set_cache

X = np.arange(1, 25, dtype=np.float32).reshape(4, 6)
_names = (f"kept{number}" for number in itertools.count())


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> Cache:
    found = Cache(None)
    set_cache(monkeypatch, "launch", found)
    monkeypatch.setattr(pipeline, "_functions", {})
    return found


@pytest.fixture
def scheduled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of kernels whose loops are scheduled from now on."""
    found: list[str] = []
    for kind in (ElementwiseDefinition, ReductionDefinition):
        own = kind.schedule

        def schedule(self: Any, *args: Any, own: Callable[..., Any] = own) -> Any:
            found.append(self.name)
            return own(self, *args)

        monkeypatch.setattr(kind, "schedule", schedule)
    return found


def plus(name: str, operation: str = "y = x + 1", **options: Any) -> ElementwiseKernel:
    return ElementwiseKernel("T x", "T y", operation, name, **options)


def test_the_source_is_made_when_it_is_asked_for(cache: Cache, scheduled: list[str]) -> None:
    name = next(_names)
    first, second = plus(name), plus(name)
    first(X)
    second(X)
    assert scheduled == [name]
    assert second.cached_code == first.cached_code
    assert second.cached_codes == first.cached_codes
    assert name in second.cached_code


# Calls whose launches a careless key takes for one another.
_SHIFTED = np.zeros(100, np.uint8)[4:].view(np.float32)
_WIDE = np.arange(96, dtype=np.float32).reshape(4, 24)
INPUTS: list[Any] = [
    X, X[:2], X[:, :3], X[::-1], X[:, ::-1], X[:, ::2], X.T, X.T.copy(), X.T.copy().T, X[0], X[:1],
    X[:, :1], np.float32(3), np.array(3, "f4"), X[:0], X.ravel(), X.reshape(2, 2, 6),
    X.reshape(4, 1, 6), _WIDE[:, :6],
    _WIDE[:, 1:7], _WIDE[:, 4:10], _SHIFTED, _SHIFTED[1:], _SHIFTED[:-1], X.astype("f8"),
    X.astype("i4"), X.astype("u4"), X.astype("c8"), X.astype("f2"), X > 3,
    np.broadcast_to(X[0], (4, 6)), np.broadcast_to(X[:, :1], (4, 6)),
]  # fmt: skip


def _key_of(launches: KeptLaunches, resolved: Any, device: Any) -> str:
    return launches._records(resolved, device)._entry.key


def _differ(kernel: Any, calls: Sequence[tuple[tuple[Any, ...], Any]], on: str) -> None:
    """Calls of one key and one case have one launch of one unit."""
    host, device = backend_named("host"), _device(capabilities=capabilities_of(on))
    own, made = kernel._definition, {}
    launches = KeptLaunches(own)
    for args, options in calls:
        specs = [host.describe(x)[0] if isinstance(x, np.ndarray) else None for x in args]
        try:
            resolved = own.resolve(specs, args[: kernel.nin], options)
        except (TypeError, ValueError):  # shapes that do not go together
            continue
        geometry = own.schedule(resolved, device.capabilities, 132, options)
        if geometry is None:
            continue
        found = Launch.of(geometry), translation_unit_of(geometry.specialization)
        key = _key_of(launches, resolved, device), loops._case_of(resolved, options)
        assert made.setdefault(key, found) == found
    assert len({*made.values()}) > 8


@pytest.mark.parametrize("on", ["host", "cuda"])
def test_elementwise_launches_are_not_confused(on: str) -> None:
    kernel = ElementwiseKernel("T x, U a", "T y", "y = T(x + T(a))", "confusable")
    others = [2, 2.0, np.float32(2), np.float64(2), np.int8(2), X[0], X[:, :1], X[::-1]]
    outputs = [(), (np.empty((4, 6), "f4"),), (np.empty((6, 4), "f4").T,)]
    blocks = [None, (None, 64), (None, 128)]
    _differ(
        kernel,
        [((x, a, *y), o) for x in INPUTS for a in others for y in outputs for o in blocks],
        on,
    )


def _resolved(kernel: ElementwiseKernel, *arrays: Any) -> Any:
    host = backend_named("host")
    return kernel._definition.resolve([host.describe(x)[0] for x in arrays], arrays, None)


def _device(**changes: Any) -> Any:
    given = {
        "target": Target("cuda", "sm_90", "nvrtc 12.9"),
        "multiprocessors": 132,
        "capabilities": capabilities_of("cuda"),
        **changes,
    }
    return SimpleNamespace(
        target=lambda: given["target"],
        multiprocessors=lambda: given["multiprocessors"],
        capabilities=given["capabilities"],
    )


def test_other_devices_have_other_entries() -> None:
    kernel = plus(next(_names))
    launches, resolved = KeptLaunches(kernel._definition), _resolved(kernel, X)
    target = Target("cuda", "sm_90", "nvrtc 12.9")
    devices = [
        _device(),
        _device(multiprocessors=114),
        _device(target=replace(target, architecture="sm_80")),
        _device(target=replace(target, compiler="nvrtc 13.0")),
        _device(target=replace(target, backend="host")),
        _device(capabilities=replace(capabilities_of("cuda"), warp_size=64)),
        _device(capabilities=capabilities_of("host")),
    ]
    keys = [_key_of(launches, resolved, device) for device in devices]
    assert len({*keys}) == len(keys)
    assert _key_of(launches, resolved, _device()) == keys[0]


def test_dtypes_are_told_apart_to_the_last_field() -> None:
    kernel = plus(next(_names))
    launches = KeptLaunches(kernel._definition)
    dtypes: list[Any] = [
        "f4", "f8", "i4", "q", "l", "u8",
        [("a", "i4"), ("b", "f4")], [("a", "f4"), ("b", "i4")], [("b", "i4"), ("a", "f4")],
        [("a", "i4"), ("b", "f4"), ("c", "i4")], [("a", "i1"), ("b", "f4")],
        np.dtype([("a", "i1"), ("b", "f4")], align=True), [("a", "S4")], [("a", "f4", (2,))],
        {"names": ["a"], "formats": ["f4"], "itemsize": 12},
        {"names": ["a"], "formats": ["f4"], "offsets": [4], "itemsize": 12},
    ]  # fmt: skip
    keys = {_key_of(launches, _resolved(kernel, np.zeros(3, t)), _device()) for t in dtypes}
    same = np.dtype("q") == np.dtype("l")  # of one meaning on this machine, if not of one letter
    assert len(keys) in (len(dtypes), len(dtypes) - same)


def test_headers_that_have_changed(cache: Cache, scheduled: list[str], tmp_path: Path) -> None:
    name, header = next(_names), tmp_path / "number.h"

    def call() -> float:
        options = {"preamble": '#include "number.h"', "options": (f"-I{tmp_path}",)}
        return float(plus(name, "y = x + NUMBER", **options)(X)[0, 0])

    header.write_text("#define NUMBER 1\n")
    assert call() == 2
    assert call() == 2
    assert scheduled == [name]
    header.write_text("#define NUMBER 7\n")
    assert call() == 8
    assert scheduled == [name, name]
    os.utime(header, (1, 1))
    assert call() == 8
    assert call() == 8
    assert scheduled == [name, name]


def test_a_process_keeps_one_launch_of_a_unit(
    cache: Cache, scheduled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else programs whose shapes change would write files without end."""
    name, puts = next(_names), []
    kernel = plus(name)
    monkeypatch.setattr(cache, "put", lambda key, data: puts.append(key))
    for count in range(1, 20):
        kernel(np.zeros(4 * count))
    assert len(puts) <= 2  # vectors with a remainder and without one
    assert len(scheduled) == 19
