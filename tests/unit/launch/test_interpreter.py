"""Launchers in Python: their steps, and what reaches the driver."""

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
from kerneltk.launch import compiled
from kerneltk.launch.interpreter import interpreter_of
from kerneltk.launch.launcher_spec import Argument, LauncherSpec, MultipleOf, Structure

from ..dry_gpu import CUPY, DryGpu, gpu

__all__ = ["gpu"]


def nothing(*arguments: Any) -> None:
    return None


ON_HOST = ArrayAccess(16, "flags.forc", nothing, nothing, nothing, writable="flags.writeable")


class Pair(NamedTuple):
    x: Any
    n: Any


class Kernel:
    """What launchers ask off their fast path; writes down what was asked."""

    def __init__(self, log: list[Any], form: str) -> None:
        self.log, self.pack_into = log, struct.Struct(form).pack_into
        self.size = struct.calcsize(form)
        self.shapes = SimpleNamespace(last=(object(), *[0] * 9), known={}, configure=self.configure)
        self.buffers: list[Any] = []

    def configure(self, grid: Any, block: Any, shared: Any) -> Any:
        self.log.append(("configure", grid, block, shared))
        return None if grid == 2**31 else (grid, 1, 1, block, 1, 1, shared)

    def row(self, run: Any, *numbers: int) -> tuple[Any, ...]:
        return run, 7, self.shapes, self.buffers, self.pack_into, self, *numbers

    def new_buffer(self) -> Any:
        self.log.append("new buffer")
        return bytearray(self.size), 99

    def check(self, args: Any) -> None:
        self.log.append("check")

    def refuse_number(self, args: Any) -> None:
        self.log.append("refuse")

    def note(self, address: int, arrays: Any) -> None:
        self.log.append(("note", address, len(arrays)))


def test_a_grid_with_checked_arrays() -> None:
    """Guards are asked at each launch; a dtype that was let pass is compared next."""
    log: list[Any] = []
    kernel = Kernel(log, "<IQQqdd")
    guards = ("dtype", "dense", "memory", MultipleOf("address", 8), "writable")
    spec = LauncherSpec(
        "grid",
        (
            Argument(np.ndarray, "address", guards=guards, dtype=np.dtype("f8")),
            Argument(int, "number"),
            Argument(complex, "converted", convert=lambda value: (value.real, value.imag)),
        ),
        ON_HOST,
        LaunchCall(
            lambda *values: log.append(values),
            ("function", "parameters", "blocks", BlocksOf(1024), Bound("THREADS"), BlocksOf(64)),
            nothing,
            head_format="IQ",
            head_values=("gx", Bound(5)),
        ),
        bound=kernel,  # type: ignore[arg-type]
    )
    run = interpreter_of(spec).bind(lambda *words: ("dispatched", *words))
    x = np.zeros(4)
    run(3, 128, (x, 4, 1 + 2j))
    assert log == [("configure", 3, 128, 0), "new buffer", (7, 99, 3, 8, "THREADS", 1)]
    memory = bytes(kernel.buffers[0][0])
    assert struct.unpack("<IQQqdd", memory) == (3, 5, x.ctypes.data, 4, 1, 2)
    frozen = x[:]
    frozen.flags.writeable = False
    asked = [x.astype("i8"), x.astype("i8"), x[::2].view("i8"), frozen.view("i8"), x]
    for array, is_checked in zip(asked, (True, False, True, True, True), strict=True):
        log.clear()
        run(3, 128, (array, 4, 1j))
        assert ("check" in log) is is_checked
        assert len(kernel.buffers) == 1
    log.clear()
    with pytest.raises(struct.error):
        run(3, 128, (x, 2**80, 1j))
    assert log == [("configure", 3, 128, 0), "refuse"]
    large = (2**31, 1, (x, 4, 1j), 0, None)
    assert run(*large[:3]) == ("dispatched", *large)
    for args in ((x, 4), (x, 4.0, 1j), [x, 4.0, 1j], 5):
        assert run(3, 128, args, 1, 2) == ("dispatched", 3, 128, args, 1, 2)


def test_a_loop_that_allocates() -> None:
    """Scratch memory is taken on the stream; overlaps and new keys are planned."""
    log: list[Any] = []
    made: list[Any] = []
    extents: Any = ("grid", "chunk", 1, "block", 1, 1, 0)

    def array(address: int, shape: tuple[int, ...] = (4,)) -> Array:
        return Array(SimpleNamespace(ptr=address, device_id=0), shape)

    def allocate(shape: Any, dtype: Any, memory: Any, *order: Any) -> Array:
        made.append((shape, dtype, *order))
        return Array(memory, shape)

    access = ArrayAccess(
        "ptr", "_c_contiguous", allocate, nothing, nothing, contiguous="_c_contiguous",
        memory="data", device="device_id",
        allocate_memory=lambda size: SimpleNamespace(ptr=1600 + size, device_id=0),
    )  # fmt: skip
    spec = LauncherSpec(
        "loop",
        (
            Argument(Array, "address", extents=None),
            Argument(float, "number"),
            Argument(Array, "address", written=True, is_given=False),
        ),
        access,
        LaunchCall(
            lambda *values: log.append(values),
            ("function", *extents, "stream", "parameters", 0),
            nothing,
            current_stream=lambda: SimpleNamespace(ptr=11),
            current_device=lambda: 3,
            scratch_for=lambda stream, size: 1000 * stream + size,
        ),
        packed=(0, 2, 1),
        has_scratch=True,
        returns="one",
        outputs=(2,),
    )
    plans: dict[Any, Any] = {}
    run = interpreter_of(spec).bind(
        lambda *words: ("dispatched", *words), plans, lambda *words: ("unplanned", *words)
    )
    x = array(64)
    assert run.key_of((x, 2.5), "extra") == ("dtype", (4,), True, 0, 3, "extra", False)
    assert run.key_of((array(72), 2.5)) == ("dtype", (4,), True, 0, 3, None, (8,))
    assert run(x, 2.5) == ("unplanned", (x, 2.5), None, None)
    assert run(x, 2) == ("dispatched", (x, 2), None, None)
    pack = struct.Struct("<QQQQQd").pack_into
    packed: list[Any] = []

    def row(size: int, order: str = "C") -> tuple[Any, ...]:
        return (
            7, size, 8, 9, pack, lambda *values: packed.append(values),
            lambda: (bytearray(48), 99), [], (4,), order, 16, "dtype", 32, (5, 6),
        )  # fmt: skip

    plans[run.key_of((x, 2.5))] = row(1)
    plans[run.key_of((x, 2.5), "F")] = row(1, "F")
    plans[run.key_of((x, 2.5), "none")] = row(0)
    out = run(x, 2.5)
    assert (out.data.ptr, made) == (1632, [((4,), "dtype")])
    assert log == [(7, 1, 8, 1, 9, 1, 1, 0, 11, 99, 0)]
    buffer = plans[run.key_of((x, 2.5))][7][0][0]
    assert struct.unpack("<QQQQQd", buffer) == (11016, 64, 5, 6, 1632, 2.5)
    run(x, 2.5, 22, "F")
    assert log[1][8] == 22
    assert made[1:] == [((4,), "dtype", None, "F")]
    assert isinstance(run(x, 2.5, None, "none"), Array)
    assert len(log) == 2
    assert packed == [(2.5,)]


class Array:
    """An array on a GPU."""

    dtype, strides, _c_contiguous = "dtype", (8,), True

    def __init__(self, data: Any, shape: tuple[int, ...]) -> None:
        self.data, self.shape = data, shape


def test_overlaps_are_planned() -> None:
    spec = LauncherSpec(
        "loop",
        (Argument(np.ndarray, "address"), Argument(np.ndarray, "address", written=True)),
        ON_HOST,
        LaunchCall(nothing, ("function",), nothing),
        overlaps=((0, 1),),
    )
    plans: dict[Any, Any] = {}
    run = interpreter_of(spec).bind(None, plans, lambda *words: "unplanned")
    memory = np.zeros(64)
    x, near, far = memory[:8], memory[2:10], memory[32:40]
    buffers: list[Any] = [(bytearray(16), 99)]
    pack = struct.Struct("<QQ").pack_into
    for apart, expected in ((0, None), (-64, "unplanned")):
        plans[run.key_of((x, x))] = (
            7, 1, 1, 1, pack, pack, None, buffers, (), "C", 0, -64, 64, apart,
        )  # fmt: skip
        run._last = (None, None)
        assert [run(x, y) for y in (x, near, far)] == [expected, "unplanned", None]


def test_a_grid_with_plans_and_structures() -> None:
    """A record lies where the kernel finds it, or is copied there and back."""
    log: list[Any] = []
    kernel = Kernel(log, "<QqfQ")
    array = Argument(np.ndarray, "address", True, 1, ("memory",))
    pair = Structure(Pair, (), (array, Argument(float, "float32")))
    access = ArrayAccess(
        16,
        "f",
        nothing,
        lambda value, alignment, stream: np.array(log.append(("lend", alignment, stream))),
        lambda copy, value, stream: log.append(("take back", stream)),
        writable="flags.writeable",
        record=24,
        wrote=lambda arrays: log.append(("wrote", len(arrays))),
    )
    spec = LauncherSpec(
        "grid",
        (pair, Argument(np.void, "lent", True, 1)),
        access,
        LaunchCall(
            lambda *values: log.append(values),
            ("function", "parameters"),
            nothing,
            current_device=lambda: devices[0],
            note=lambda *a: nothing,
        ),
        device=0,
    )
    devices = [0]
    plans: dict[Any, Any] = {}
    run = interpreter_of(spec).bind(lambda *words: ("dispatched", *words), plans)
    x, record = np.zeros(2), np.zeros(1, "i4,f4")[0]
    given = (Pair(x, 2.5), record)
    assert run(1, 2, given) == ("dispatched", 1, 2, given, 0, None)
    plans[run.key_of((Pair(x, 2.5), record))] = kernel.row(run, 3, 0)
    assert run(1, 2, (Pair(x, 1e300), record), 0, 4) is None
    launched = [("wrote", 1), ("note", 99, 2), (7, 99)]
    assert log == [("configure", 1, 2, 0), "new buffer", *launched]
    assert struct.unpack("<Qqf", kernel.buffers[0][0][:20]) == (x.ctypes.data, 3, np.inf)
    log.clear()
    plans[run.key_of((Pair(x, 2.5), record))] = kernel.row(run, 3, 2**60 - 1)
    run._last = (None, None)
    run(1, 2, (Pair(x, 2.5), record), 0, 4)
    assert log == [("configure", 1, 2, 0), ("lend", 2**60, 4), *launched, ("take back", 4)]
    plans[run.key_of((Pair(x, 2.5), record))] = kernel.row(lambda *words: words, 3, 0)
    run._last = (None, None)
    assert run(1, 2, given) == (1, 2, given, 0, None)
    for other in (((x, 2.5), record), (Pair(x, 2), record), (Pair(x, 2.5),)):
        assert run(1, 2, other) == ("dispatched", 1, 2, other, 0, None)
    devices[0] = 1
    assert run(1, 2, given) == ("dispatched", 1, 2, given, 0, None)


def test_a_launch_that_fails() -> None:
    failures: list[Any] = []

    def launch(code: int) -> Any:
        if code:
            raise ValueError("stop")
        return "failed"

    for code in (0, 1):
        spec = LauncherSpec(
            "loop",
            (),
            ON_HOST,
            LaunchCall(
                lambda: launch,
                (code,),
                lambda *words: failures.append(words),
                is_late=True,
                errors=(ValueError,),
            ),
        )
        pack = struct.Struct("").pack_into
        row = (7, 1, 1, 1, pack, pack, lambda: (bytearray(), 0), [], (), "C", 0)
        run = interpreter_of(spec).bind(plans={(None,): row})
        for _ in range(2):
            run()
    assert failures[:2] == [("failed", launch, (0,))] * 2
    assert [str(words[0]) for words in failures[2:]] == ["stop"] * 2


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
