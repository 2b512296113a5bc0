"""Launches of decorated kernels, with a front-end that has a source in place of a function."""

from __future__ import annotations

import dataclasses
import functools
import threading
from typing import Any

import numpy as np
import pytest

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import capabilities_of
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, LaunchError, ScalarOverflowError
from kerneltk.interop.streams import stream_handle
from kerneltk.jit.ir.types import Array, Type
from kerneltk.jit.launch import launcher
from kerneltk.jit.launch.launcher import JitDispatcher
from kerneltk.jit.launch.marshalling import ArgumentPath
from kerneltk.launch import dispatch

from .cpp_kernel import Config, Pair, Text

HOST, CUDA = capabilities_of("host"), capabilities_of("cuda")
STRUCTURES = """
struct pair { signed char left; dense<float, 1> right; };
struct config { double scale; bool count; };
struct nested { pair first; config second; };
"""


class Kernel(JitDispatcher):
    """A dispatcher with what calls it."""

    __slots__ = ("count", "text")

    def __init__(self, text: Text) -> None:
        super().__init__(text.name, self.paths, text.compiled)
        self.text, self.count = text, 0

    def paths(self) -> list[ArgumentPath]:
        return list(map(self.text.path, range(self.count)))

    def __call__(
        self, grid: Any, block: Any, args: Any, shared: Any = 0, stream: Any = None
    ) -> None:
        handle = None if stream is None else stream_handle(stream)
        self.count = len(args)
        self.recent(grid, block, args, shared, handle)


INDEX = "const int i = blockIdx.x * blockDim.x + threadIdx.x;"


def adder() -> Kernel:
    """Return z = x + y, of any dtype, for one-dimensional arrays of either layout."""

    def parameters(types: tuple[Type, ...]) -> str:
        shown = []
        for name, kind in zip("xyz", types[:3], strict=True):
            assert isinstance(kind, Array)
            ctype = {"float32": "float", "float64": "double", "int32": "int"}[str(kind.element)]
            view = "dense" if kind.layout == "C" else "strided"
            shown.append(f"{view}<{ctype}, {kind.ndim}> {name}")
        return ", ".join([*shown, "long long n"])

    def body(types: tuple[Type, ...]) -> str:
        def at(name: str, kind: Type) -> str:
            assert isinstance(kind, Array)
            if kind.layout == "C":
                return f"{name}.data[i]"
            return f"*(decltype({name}.data))((char*){name}.data + i * {name}.stride[0])"

        x, y, z = (at(name, kind) for name, kind in zip("xyz", types[:3], strict=True))
        return f"{INDEX} if (i < n && i < x.extent[0]) {z} = {x} + {y};"

    return Kernel(Text(parameters, body, (False, False, True)))


# -- types -----------------------------------------------------------------------------------------


x32 = np.arange(10, dtype=np.float32)

# -- what arrives ----------------------------------------------------------------------------------


def test_sum_of_two(backend: Any) -> None:
    x, y = backend.xp.arange(100, dtype=np.float32), backend.xp.ones(100, np.float32)
    z = backend.xp.zeros(100, np.float32)
    add = adder()
    for n in (100, 50, 100):
        z[:] = 0
        add((2,), (64,), (x, y, z, n))
        expected = np.where(np.arange(100) < n, np.arange(100) + 1, 0)
        np.testing.assert_array_equal(backend.asnumpy(z), expected)
    assert len(add.text.asked) == 1


def test_two_threads_find_a_launcher_outdated(monkeypatch: pytest.MonkeyPatch) -> None:
    class Raced(dict[Any, Any]):
        """A table whose entries another thread removes once they are read."""

        def get(self, key: Any, default: Any = None) -> Any:
            return self.pop(key, default)

    add, z = adder(), np.zeros(10, np.float32)
    add(1, 10, (x32, x32, z, 10))
    add._launchers = Raced(add._launchers)
    add.recent = add._dispatched(None)
    monkeypatch.setattr(dispatch, "is_outdated", lambda run: True)
    add(1, 10, (x32, z, z, 10))
    np.testing.assert_array_equal(z, 3 * x32)


def test_a_kernel_without_arguments_runs_where_kernels_do() -> None:
    kernel = Kernel(Text("", ""))
    kernel(1, 1, ())
    kernel(1, 1, (None,))
    is_cached = isinstance(kernel.recent, functools.partial)
    assert is_cached or foreign_arrays.default_backend().name == "cuda"


def test_subclasses_and_other_libraries_arrays() -> None:
    class Foreign:
        def __init__(self, array: Any) -> None:
            self.__array_interface__ = array.__array_interface__
            self.kept = array

    class Sub(np.ndarray[Any, Any]):
        pass

    add = adder()
    x, y, z = (np.ones(4, np.float32) for _ in range(3))
    for given in (Foreign(z), z.view(Sub), Foreign(z)):
        z[:] = 0
        add(1, 4, (x.view(Sub), Foreign(y), given, 4))
        np.testing.assert_array_equal(z, 2)

    pairs = Kernel(Text("pair x", "x.right.data[0] = x.left;", head=STRUCTURES))
    for made in ((np.int8(3), Foreign(z)), Pair(np.int8(3), Foreign(z))):
        z[:] = 0
        pairs(1, 1, (made,))
        assert z[0] == 3
        assert isinstance(made[1], Foreign)  # the caller's own tuple is as it was

    config = Kernel(
        Text(
            "config2 x",
            "x.count.data[0] = x.scale;",
            head="struct config2 { double scale; dense<float, 1> count; };",
        )
    )
    config(1, 1, (Config(2.5, Foreign(z)),))
    assert z[0] == 2.5

    with pytest.raises(ArgumentTypeError, match="masked array"):
        add(1, 4, (np.ma.masked_array(x, x > 0), y, z, 4))


# -- grids -----------------------------------------------------------------------------------------

WHERE = "dense<int, 1> x"
COUNT = (
    "x.data[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x * blockDim.x * blockDim.y + "
    "blockIdx.x * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x] = 1;"
)


def test_a_launch_without_threads_still_checks() -> None:
    add = adder()
    z = np.zeros(4, np.float32)
    for _ in range(2):
        with pytest.raises(ScalarOverflowError):
            add(0, 4, (z, z, z, 2**63))
        add(0, 4, (z, z, z, 1))


# -- what is refused -------------------------------------------------------------------------------

z32 = np.zeros(10, np.float32)
frozen = np.zeros(10, np.float32)
frozen.flags.writeable = False
shifted = np.zeros(41, np.uint8)[1:].view(np.float32)
odd = np.lib.stride_tricks.as_strided(z32[:8], (2,), (6,))
# How each message begins; tests/diagnostics has the whole of them.
REFUSED: dict[str, tuple[tuple[Any, ...], type[Exception], str]] = {
    "an int beyond 64 bits": (
        (x32, x32, z32, 2**63),
        ScalarOverflowError,
        "Parameter 'n' of kernel 'probe' is given 9223372036854775808, which does not fit",
    ),
    "an int far beyond": (
        (x32, x32, z32, -(10**100)),
        ScalarOverflowError,
        "Parameter 'n' of kernel 'probe' is given a number of 333 bits, which does not fit",
    ),
    "a read-only array that is written": (
        (x32, x32, frozen, 10),
        ArgumentValueError,
        "The array for parameter 'z' of kernel 'probe' is read-only",
    ),
    "a misaligned array": (
        (shifted, x32, z32, 10),
        ArgumentValueError,
        "The array for parameter 'x' of kernel 'probe' begins 1 byte beyond a multiple of 4",
    ),
    "misaligned strides": (
        (x32, odd, z32, 2),
        ArgumentValueError,
        "The array for parameter 'y' of kernel 'probe' has strides of (6,) bytes",
    ),
    "a list": ((x32, [1, 2], z32, 10), ArgumentTypeError, "Parameter 'y' of kernel 'probe' cannot"),
    "objects": (
        (x32.astype(object), x32, z32, 10),
        ArgumentTypeError,
        "Parameter 'x' of kernel 'probe' cannot take the array: the dtype 'object'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("before", ["nothing", "a launch"])
def test_refusals(case: str, before: str) -> None:
    arguments, error, message = REFUSED[case]
    add = adder()
    good = (x32, x32, z32, 10)
    if before == "a launch":
        add(1, 16, good)
    for _ in range(2):
        with pytest.raises(error) as caught:
            add(1, 16, arguments)
        assert str(caught.value).startswith(message)
    z32[:] = 0
    add(1, 16, good)
    np.testing.assert_array_equal(z32, 2 * x32)


def test_read_only_arrays_may_be_read() -> None:
    add = adder()
    z = np.zeros(10, np.float32)
    given = frozen.copy()
    for writeable in (True, False, True):
        given.flags.writeable = writeable
        add(1, 16, (given, frozen, z, 10))
    owned = np.zeros(10, np.float32)
    add(1, 16, (z, z, owned, 10))
    owned.flags.writeable = False
    with pytest.raises(ArgumentValueError, match="read-only"):
        add(1, 16, (z, z, owned, 10))


def test_read_only_arrays_in_structures() -> None:
    kernel = Kernel(Text("pair x", "x.right.data[0] = x.left;", head=STRUCTURES))
    with pytest.raises(ArgumentValueError) as caught:
        kernel(1, 1, (Pair(np.int8(1), frozen),))
    assert str(caught.value).startswith(
        "The array for parameter 'x.right' of kernel 'probe' is read-only, and the kernel writes"
    )


@pytest.mark.parametrize("before", ["nothing", "a launch"])
def test_memory_that_is_gone(monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    """Arrays whose memory was freed are at address zero; NumPy cannot make one."""
    add = adder()
    z = np.zeros(10, np.float32)
    gone = np.zeros(10, np.float32)
    backend = foreign_arrays.backend_named("host")
    describe = backend.describe
    monkeypatch.setattr(
        backend,
        "describe",
        lambda array: (describe(array)[0], 0 if array is gone else describe(array)[1]),
        raising=False,
    )

    arrays = dataclasses.replace(backend.arrays, address=lambda array: backend.describe(array)[1])
    monkeypatch.setattr(backend, "arrays", arrays, raising=False)
    if before == "a launch":
        add(1, 16, (x32, x32, z, 10))
    for _ in range(2):
        with pytest.raises(ArgumentValueError) as caught:
            add(1, 16, (gone, x32, z, 10))
        assert str(caught.value) == (
            "The array for parameter 'x' of kernel 'probe' has 10 elements and no memory: it was "
            "freed.\n"
            "  probe.py: def probe(x, y, z, n): pass\n"
            "                      ^"
        )


class _Elsewhere:
    """A backend that has no arrays on this machine."""

    name = "cuda"
    capabilities = CUDA


def test_arrays_in_both_places_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    there = np.zeros(10, np.float32)
    backend_of = foreign_arrays.backend_of

    def owner(value: Any) -> Any:
        return _Elsewhere() if value is there else backend_of(value)

    monkeypatch.setattr(foreign_arrays, "backend_of", owner)
    add = adder()
    with pytest.raises(ArgumentTypeError) as caught:
        add(1, 16, (x32, (1, Config(there, 2)), x32, 10))
    assert str(caught.value) == (
        "The array for parameter 'x' of kernel 'probe' is in host memory, and the one for "
        "'y[1].scale' is in a GPU.\n"
        "  probe.py: def probe(x, y, z, n): pass\n"
        "                         ^\n"
        "  Hint: move one of them: 'cupy.asarray(x)' or 'cupy.asnumpy(x)'."
    )
    with pytest.raises(ArgumentTypeError) as caught:
        add(1, 16, (there, there, there, np.array(10)))
    assert str(caught.value) == (
        "The array for parameter 'x' of kernel 'probe' is in a GPU, and the one for 'n' is in host "
        "memory.\n"
        "  probe.py: def probe(x, y, z, n): pass\n"
        "                               ^\n"
        "  Hint: pass a number, 'x[()]' or 'x.item()', instead of an array without dimensions."
    )


# -- many of them ----------------------------------------------------------------------------------


def test_plans_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "MAX_PLANS", 3)
    monkeypatch.setattr(launcher, "_MAX_LAUNCHERS", 2)
    add = adder()
    for _ in range(2):
        for length in range(1, 9):
            x = np.arange(length, dtype=np.float32)
            z = np.zeros(length, np.float32)
            add(1, 16, (x, x, z, length))
            np.testing.assert_array_equal(z, 2 * x)
            add(1, 16, (x[::-1], x, z, length))
            np.testing.assert_array_equal(z, x + x[::-1])
            z2 = np.zeros(2 * length, np.float32)[::2]
            add(1, 16, (x, x, z2, length))
            np.testing.assert_array_equal(z2, 2 * x)
    assert len(add._launchers) <= 2
    assert all(len(one.plans) <= 3 for one in add._launchers.values())


def test_shapes_are_forgotten_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kerneltk.launch.launch_config._MAX_SHAPES", 4)
    kernel = Kernel(Text(WHERE, COUNT))
    for blocks in range(1, 9):
        x = np.zeros(64, np.int32)
        kernel(blocks, 4, (x,))
        assert x.sum() == 4 * blocks


def test_threads_launch_at_once() -> None:
    add = adder()
    dtypes = ("f4", "f8", "i4")
    failures: list[Any] = []
    ready = threading.Barrier(6)

    def work(number: int) -> None:
        try:
            dtype = np.dtype(dtypes[number % len(dtypes)])
            length = 100 + number
            x = np.full(length, number, dtype)
            y = np.arange(length, dtype=dtype)
            z = np.zeros(length, dtype)
            ready.wait()
            for k in range(100):
                z[:] = 0
                add(2, 64, (x, y, z, k))
                expected = np.where(np.arange(length) < k, x + y, 0)
                np.testing.assert_array_equal(z, expected)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_failed_launch_leaves_the_launcher_working() -> None:
    kernel = Kernel(Text("dense<int, 1> x, int y", "x.data[0] = 12 / y;"))
    x = np.zeros(1, np.int32)
    for _ in range(3):
        kernel(1, 1, (x, np.int32(4)))
        assert x[0] == 3
        with pytest.raises(LaunchError):
            kernel(1, 1, (x, np.int32(0)))
