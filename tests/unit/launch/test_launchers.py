"""Launchers that were bound before the extension module was there give way to it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import jit
from kerneltk.core.settings import get_settings
from kerneltk.launch import compiled, interpreter

X = np.arange(8, dtype=np.float32)


@pytest.fixture
def module_there(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """A process whose module is being compiled until the function is called."""
    monkeypatch.setenv("KERNELTK_LAUNCHER", "compiled")
    get_settings.cache_clear()
    loader = compiled._loader
    if loader.module() is None:
        pytest.skip("no compiled launchers here")
    monkeypatch.delenv("KERNELTK_LAUNCHER")
    get_settings.cache_clear()
    compiling = SimpleNamespace(is_done=False, module=lambda: None)
    monkeypatch.setattr(compiled, "_loader", compiling)
    yield lambda: monkeypatch.setattr(compiled, "_loader", loader)
    get_settings.cache_clear()


def elementwise() -> Callable[[], Any]:
    kernel = kerneltk.ElementwiseKernel("T x, T y", "T z", "z = x + y", "awaited")
    return lambda: kernel(X, X).tolist()


def raw() -> Callable[[], Any]:
    kernel = kerneltk.RawKernel(
        "__global__ void awaited(float* x, int n) { x[threadIdx.x] = n; }", "awaited"
    )

    def call() -> Any:
        out = np.zeros(4, np.float32)
        kernel(1, 4, (out, 3))
        kernel(1, 4, (out, 4), checks=False)
        return out.tolist()

    return call


def on_grid() -> Callable[[], Any]:
    @jit.rawkernel
    def scaled(x, factor):
        x[jit.threadIdx.x] *= factor

    def call() -> Any:
        out = X.copy()
        scaled[1, 8](out, 3)
        scaled((1,), (4,), (out.reshape(2, 4)[1], 2))
        return out.tolist()

    return call


def fused() -> Callable[[], Any]:
    @kerneltk.fuse
    def normalized(x):
        return x / x.sum(), x + 1

    return lambda: [part.tolist() for part in normalized(X)]


def launches_in_python(call: Callable[[], Any]) -> int:
    """How often a call enters a launcher in Python."""
    count = 0

    def note(frame: Any, event: str, argument: object) -> None:
        nonlocal count
        code = frame.f_code
        count += event == "call" and (code.co_filename, code.co_name) == (
            interpreter.__file__,
            "__call__",
        )

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("make", [elementwise, raw, on_grid, fused])
def test_launchers_are_replaced_once_the_module_is_there(
    module_there: Callable[[], None], make: Callable[[], Callable[[], Any]]
) -> None:
    call = make()
    expected = call()
    assert call() == expected
    assert launches_in_python(call) > 0
    module_there()
    assert [call() for _ in range(3)] == [expected] * 3
    assert launches_in_python(call) == 0


def test_no_launcher_is_replaced_without_a_module(
    monkeypatch: pytest.MonkeyPatch, module_there: Callable[[], None]
) -> None:
    call = elementwise()
    expected = call()
    failed = SimpleNamespace(is_done=True, module=lambda: None)
    monkeypatch.setattr(compiled, "_loader", failed)
    assert [call() for _ in range(3)] == [expected] * 3
    assert launches_in_python(call) == 1
