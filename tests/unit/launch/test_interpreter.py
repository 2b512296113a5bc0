"""Launchers in Python: their steps, and what reaches the driver."""

from __future__ import annotations

import ctypes
import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import jit
from kerneltk.backends.base import ArrayAccess
from kerneltk.launch import compiled

from ..dry_gpu import CUPY, DryGpu, gpu

__all__ = ["gpu"]


def nothing(*arguments: Any) -> None:
    return None


ON_HOST = ArrayAccess(16, "flags.forc", nothing, nothing, nothing, writable="flags.writeable")


# -- what reaches the driver -----------------------------------------------------------------------


@pytest.fixture(autouse=True, params=["python", ""])
def launcher(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python" and "gpu" in request.fixturenames:
        monkeypatch.setattr(compiled, "launcher_class", lambda: None)


ADD = """
extern "C" __global__ void add(const float* x, float* y, float a) { y[threadIdx.x] = a * x[0]; }
"""


def parameters(launch: tuple[Any, ...], layout: str) -> list[tuple[Any, ...]]:
    """Return the values behind the addresses of a launch's parameters."""
    addresses = (ctypes.c_void_p * len(layout)).from_address(launch[9])
    return [
        struct.unpack(form, ctypes.string_at(address or 0, struct.calcsize(form)))[0]
        for form, address in zip(layout, addresses, strict=True)
    ]


def first(launch: tuple[Any, ...], size: int) -> bytes:
    """Return bytes of a launch's parameters, from the first on."""
    return ctypes.string_at(ctypes.c_void_p.from_address(launch[9]).value or 0, size)


@pytest.mark.parametrize("checks", [True, False])
def test_a_raw_launch(gpu: DryGpu, checks: bool) -> None:
    x, y = gpu.array(8), gpu.array(8)
    kernel = kerneltk.RawKernel(ADD, "add", checks=checks)
    memory = ctypes.create_string_buffer(8)  # a stream's handle is an address
    named = ctypes.addressof(memory)
    given: list[Any] = []
    gpu.at_launch = lambda launch: given.append(parameters(launch, "QQf"))
    for stream, expected in ((None, CUPY), (SimpleNamespace(ptr=named), named)):
        kernel((2, 3), (4, 5, 6), (x, y, 2.5), shared_mem=64, stream=stream)
        assert gpu.launches[-1][1:9] == (2, 3, 1, 4, 5, 6, 64, expected)
        assert given.pop() == [x.data.ptr, y.data.ptr, 2.5]


def test_a_launch_of_a_decorated_kernel(gpu: DryGpu) -> None:
    @jit.rawkernel()
    def scale(x, y, a):  # type: ignore[no-untyped-def]
        y[jit.threadIdx.x] = x[0] * a

    x, y = gpu.array(8), gpu.array(8)
    given: list[Any] = []
    gpu.at_launch = lambda launch: given.append((*parameters(launch, "QQf"), first(launch, 16)))
    for _ in range(2):
        scale[(2, 3), (4, 5, 6)](x, y, np.float32(2.5))
        scale((2, 3), (4, 5, 6), (x, y, np.float32(2.5)))
    assert [launch[1:9] for launch in gpu.launches] == [(2, 3, 1, 4, 5, 6, 0, CUPY)] * 4
    assert given == [(x.data.ptr, y.data.ptr, 2.5, struct.pack("Qq", x.data.ptr, 8))] * 4


def test_a_loop_over_elements(gpu: DryGpu) -> None:
    kernel = kerneltk.ElementwiseKernel("T x, float32 a", "T y", "y = a * x", "scaled")
    x, y = gpu.array(1000), gpu.array(1000)
    blocks: list[bytes] = []
    gpu.at_launch = lambda launch: blocks.append(first(launch, 64))
    kernel(x, 2.5, y, block_size=64)
    made = kernel(x, 2.5)
    given, _ = gpu.launches
    assert given[3:9] == (1, 64, 1, 1, 0, CUPY)
    for block, out in zip(blocks, (y, made), strict=True):
        assert struct.pack("QQf", x.data.ptr, out.data.ptr, 2.5) in block
