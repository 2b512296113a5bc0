"""Written launchers: their whole source, and what reaches the driver."""

from __future__ import annotations

import ctypes
import struct
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import kerneltk
from kerneltk import jit
from kerneltk.backends.base import ArrayAccess, BlocksOf, Bound, LaunchCall
from kerneltk.launch import launcher_writer
from kerneltk.launch.launcher_spec import (
    Argument,
    LauncherSpec,
    MultipleOf,
    Structure,
)
from kerneltk.launch.launcher_writer import write_launcher

from ..dry_gpu import CUPY, DryGpu, gpu

__all__ = ["gpu"]


def nothing(*arguments: Any) -> None:
    return None


ON_HOST = ArrayAccess(16, "flags.forc", nothing, nothing, nothing, writable="flags.writeable")
ON_GPU = ArrayAccess(
    "ptr",
    "_c_contiguous",
    nothing,
    nothing,
    nothing,
    contiguous="_c_contiguous",
    memory="data",
    device="device_id",
    allocate_memory=nothing,
)


def address_of(array: Any) -> int:
    return 0


class Pair(NamedTuple):
    x: Any
    n: Any


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of the sources that are written."""
    written: list[str] = []
    compiled = launcher_writer.compiled

    def note(source: str) -> Any:
        written.append(source)
        return compiled(source)

    monkeypatch.setattr(launcher_writer, "compiled", note)
    return written


RAW = """\
def run(grid, block, args, shared=0, stream=None):
    global dtype_a0
    try:
        (a0, a1, a2, ) = args
    except (ValueError, TypeError, AttributeError):
        return dispatch(grid, block, args, shared, stream)
    if type(a0) is not type_a0 or type(a1) is not type_a1 or type(a2) is not type_a2:
        return dispatch(grid, block, args, shared, stream)
    pa0 = pointer_at(id(a0) + 16).value or 0
    if a0.dtype is not dtype_a0 or not a0.flags.forc or not pa0 or pa0 & 7 or not a0.flags.writeable:
        loaded.check((a0, a1, a2, ))
        dtype_a0 = a0.dtype
    last_grid, last_block, last_shared, gx, gy, gz, bx, by, bz, size = shapes.last
    if grid is not last_grid or block is not last_block or shared is not last_shared:
        try:
            gx, gy, gz, bx, by, bz, size = shapes.known[dumps((grid, block, shared), 2)]
        except (KeyError, ValueError):
            checked = shapes.configure(grid, block, shared)
            if checked is None:
                return "large grid"
            gx, gy, gz, bx, by, bz, size = checked
    shared = size
    try:
        buffer = buffers.pop()
    except IndexError:
        buffer = loaded.new_buffer()
    try:
        pack_into(buffer[0], 0, gx, HEAD, pa0, a1, *convert_a2(a2))
    except PackErrors:
        loaded.refuse_number((a0, a1, a2, ))
        raise
    try:
        failure = launch(function, buffer[1], gx * gy * gz, 1024 // (bx * by * bz) or 1, THREADS)
    except errors as error:
        failure = error
    if failure:
        launch_failed(failure, launch, (function, buffer[1], gx * gy * gz, 1024 // (bx * by * bz) or 1, THREADS))
    buffers.append(buffer)
    return None
"""  # noqa: E501


def named(source: str, names: dict[str, Any]) -> str:
    """Return a source with the names of bound objects as a reader would say them."""
    for name, value in names.items():
        if name[5:].isdigit():
            source = source.replace(name, getattr(value, "__name__", value))
    return source


def test_a_grid_with_checked_arrays(sources: list[str]) -> None:
    guards = ("dtype", "dense", "memory", MultipleOf("address", 8), "writable")
    spec = LauncherSpec(
        "grid",
        (
            Argument(np.ndarray, "address", guards=guards),
            Argument(int, "number"),
            Argument(complex, "converted", convert=lambda value: (value.real, value.imag)),
        ),
        ON_HOST,
        LaunchCall(
            nothing,
            ("function", "parameters", "blocks", BlocksOf(1024), Bound("THREADS")),
            nothing,
            head_format="IQ",
            head_values=("gx", Bound("HEAD")),
        ),
        bound=SimpleNamespace(row=lambda run: (run, 1, None, [], nothing, None)),  # type: ignore[arg-type]
    )
    run, _ = write_launcher(spec).bind()
    assert named(sources[0], run.__globals__) == RAW


LOOP = """\
def run(a0, a1, stream=None, extra=None):
    global last
    if type(a0) is not type_a0 or type(a1) is not type_a1:
        return dispatch((a0, a1, ), stream, extra)
    ma0 = a0.data; pa0 = ma0.ptr
    key = (a0.dtype, a0.shape, a0._c_contiguous or a0.strides, ma0.device_id, current_device(), extra, (pa0) & 15 and (pa0 & 15, ), )
    last_key, plan = last
    if key != last_key:
        plan = plans.get(key)
        if plan is None:
            return unplanned((a0, a1, ), stream, extra)
        last = (key, plan)
    function, grid, chunk, block, pack_into, pack_checked, new_buffer, buffers, shape, order, scratch, dtype_a2, size_a2, ea0 = plan
    ma2 = allocate_memory(size_a2)
    pa2 = ma2.ptr
    a2 = allocate(shape, dtype_a2, ma2) if order == 'C' else allocate(shape, dtype_a2, ma2, None, order)
    if not grid:
        pack_checked(a1)
        return a2
    if stream is None:
        stream = current_stream().ptr
    own_scratch = scratch_for(stream, scratch) if scratch else 0
    try:
        buffer = buffers.pop()
    except IndexError:
        buffer = new_buffer()
    try:
        pack_into(buffer[0], 0, own_scratch, pa0, *ea0, pa2, a1)
    except PackErrors:
        pack_checked(buffer[0], 0, own_scratch, pa0, *ea0, pa2, a1)
    try:
        failure = launch(function, grid, chunk, 1, block, 1, 1, 0, stream, buffer[1], 0)
    except errors as error:
        failure = error
    if failure:
        launch_failed(failure, launch, (function, grid, chunk, 1, block, 1, 1, 0, stream, buffer[1], 0))
    buffers.append(buffer)
    return a2
def key_of(args, extra=None):
    (a0, a1, ) = args
    ma0 = a0.data; pa0 = ma0.ptr
    key = (a0.dtype, a0.shape, a0._c_contiguous or a0.strides, ma0.device_id, current_device(), extra, (pa0) & 15 and (pa0 & 15, ), )
    return key
"""  # noqa: E501


def test_a_loop_that_allocates(sources: list[str]) -> None:
    extents: Any = ("grid", "chunk", 1, "block", 1, 1, 0)
    spec = LauncherSpec(
        "loop",
        (
            Argument(np.ndarray, "address", extents=None),
            Argument(float, "number"),
            Argument(np.ndarray, "address", written=True, is_given=False),
        ),
        ON_GPU,
        LaunchCall(
            nothing,
            ("function", *extents, "stream", "parameters", 0),
            nothing,
            current_stream=nothing,
            current_device=lambda: 0,
            scratch_for=lambda stream, size: 0,
        ),
        packed=(0, 2, 1),
        has_scratch=True,
        returns="one",
        outputs=(2,),
    )
    run, _ = write_launcher(spec).bind()
    assert named(sources[0], run.__globals__) == LOOP


KEYED = """\
def run(grid, block, args, shared=0, stream=None):
    global last
    try:
        (a0, a1, ) = args
        (a0_0, a0_1, ) = a0
    except (ValueError, TypeError, AttributeError):
        return "arguments"
    if type(a0) is not type_a0 or type(a0_0) is not type_a0_0 or type(a0_1) is not type_a0_1 or type(a1) is not type_a1 or current_device() != device:
        return "arguments"
    pa0_0 = address_of(a0_0)
    key = (a0_0.dtype, a0_0.shape, a0_0.strides, a0_0.flags.writeable, a1.dtype, (pa0_0) & 15 and (pa0_0 & 15, ), )
    last_key, plan = last
    if key != last_key:
        plan = plans.get(key)
        if plan is None:
            return "arguments"
        if plan[0] is not owner:
            return plan[0](grid, block, args, shared, stream)
        last = (key, plan)
    _, function, shapes, buffers, pack_into, loaded, ea0_0_0, ea1_0 = plan
    if not pa0_0:
        loaded.check((a0, a1, ))
    last_grid, last_block, last_shared, gx, gy, gz, bx, by, bz, size = shapes.last
    if grid is not last_grid or block is not last_block or shared is not last_shared:
        try:
            gx, gy, gz, bx, by, bz, size = shapes.known[dumps((grid, block, shared), 2)]
        except (KeyError, ValueError):
            checked = shapes.configure(grid, block, shared)
            if checked is None:
                return "large grid"
            gx, gy, gz, bx, by, bz, size = checked
    shared = size
    if not a1.flags.writeable:
        loaded.check((a0, a1, ))
    ra1 = None
    pa1 = pointer_at(id(a1) + 24).value or 0
    if pa1 & ea1_0:
        ra1 = lend(a1, ea1_0 + 1, stream)
        pa1 = address_of(ra1)
    try:
        buffer = buffers.pop()
    except IndexError:
        buffer = loaded.new_buffer()
    try:
        pack_into(buffer[0], 0, pa0_0, ea0_0_0, a0_1 if -largest < a0_1 < largest else rounded(a0_1), pa1)
    except PackErrors:
        loaded.refuse_number((a0, a1, ))
        raise
    loaded.note(buffer[1], [a0_0, record_bytes(a1) if ra1 is None else ra1])
    try:
        failure = launch(function, buffer[1])
    except errors as error:
        failure = error
    if failure:
        launch_failed(failure, launch, (function, buffer[1]))
    buffers.append(buffer)
    if ra1 is not None: take_back(ra1, a1, stream)
    return None
def key_of(args):
    (a0, a1, ) = args
    (a0_0, a0_1, ) = a0
    pa0_0 = address_of(a0_0)
    key = (a0_0.dtype, a0_0.shape, a0_0.strides, a0_0.flags.writeable, a1.dtype, (pa0_0) & 15 and (pa0_0 & 15, ), )
    return key
"""  # noqa: E501


def test_a_grid_with_plans_and_structures(sources: list[str]) -> None:
    array = Argument(np.ndarray, "address", True, 1, ("memory",))
    pair = Structure(Pair, (), (array, Argument(float, "float32")))
    access = ArrayAccess(
        address_of, "f", nothing, nothing, nothing, writable="flags.writeable", record=24
    )
    spec = LauncherSpec(
        "grid",
        (pair, Argument(np.void, "lent", True, 1)),
        access,
        LaunchCall(
            nothing,
            ("function", "parameters"),
            nothing,
            current_device=int,
            note=lambda *a: nothing,
        ),
        device=0,
    )
    run, _ = write_launcher(spec).bind()
    assert named(sources[0], run.__globals__) == KEYED


# -- what reaches the driver -----------------------------------------------------------------------

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
