"""Launches of kernels on grids: what each call is checked for, and what is forgotten."""

from __future__ import annotations

import dataclasses
import functools
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import capabilities_of
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DivisionError,
    ScalarOverflowError,
)
from kerneltk.jit.launch import launcher

from .test_hard_cases import Foreign


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclasses.dataclass(frozen=True)
class Config:
    scale: Any
    count: Any


def adder() -> Any:
    """Return z = x + y, of any dtype, for one-dimensional arrays of either layout."""

    @jit.rawkernel
    def add(x, y, z, n):
        i = jit.grid(1)
        if i < n and i < x.size:
            z[i] = x[i] + y[i]

    return add


def stored() -> Any:
    """Return what stores the first item of a structure to its second."""

    @jit.rawkernel
    def store(x):
        left, right = x
        right[0] = left

    return store


x32 = np.arange(10, dtype=np.float32)


def test_sum_of_two(backend: Any) -> None:
    x, y = backend.xp.arange(100, dtype=np.float32), backend.xp.ones(100, np.float32)
    z = backend.xp.zeros(100, np.float32)
    add = adder()
    for n in (100, 50, 100):
        z[:] = 0
        add[2, 64](x, y, z, n)
        expected = np.where(np.arange(100) < n, np.arange(100) + 1, 0)
        np.testing.assert_array_equal(backend.asnumpy(z), expected)
    assert len(add.cached_codes) == 1


def test_a_kernel_without_arguments_runs_where_kernels_do() -> None:
    @jit.rawkernel
    def nothing(x=None):
        pass

    nothing[1, 1]()
    nothing[1, 1](None)
    is_cached = isinstance(nothing._dispatcher.recent, functools.partial)
    assert is_cached or foreign_arrays.default_backend().name == "cuda"


def test_subclasses_and_other_libraries_arrays() -> None:
    class Sub(np.ndarray[Any, Any]):
        pass

    add = adder()
    x, y, z = (np.ones(4, np.float32) for _ in range(3))
    for given in (Foreign(z), z.view(Sub), Foreign(z)):
        z[:] = 0
        add[1, 4](x.view(Sub), Foreign(y), given, 4)
        np.testing.assert_array_equal(z, 2)

    store = stored()
    for made in ((np.int8(3), Foreign(z)), Pair(np.int8(3), Foreign(z))):
        z[:] = 0
        store[1, 1](made)
        assert z[0] == 3
        assert isinstance(made[1], Foreign)  # the caller's own tuple is as it was

    @jit.rawkernel
    def store_scale(x):
        x.count[0] = x.scale

    store_scale[1, 1](Config(2.5, Foreign(z)))
    assert z[0] == 2.5


def test_a_launch_without_threads_still_checks() -> None:
    add = adder()
    z = np.zeros(4, np.float32)
    for _ in range(2):
        with pytest.raises(ScalarOverflowError):
            add[0, 4](z, z, z, 2**63)
        add[0, 4](z, z, z, 1)


# -- what is refused -------------------------------------------------------------------------------

z32 = np.zeros(10, np.float32)
frozen = np.zeros(10, np.float32)
frozen.flags.writeable = False
shifted = np.zeros(41, np.uint8)[1:].view(np.float32)
odd = np.lib.stride_tricks.as_strided(z32[:8], (2,), (6,))
# The words of most messages are in tests/diagnostics.
REFUSED: dict[str, tuple[tuple[Any, ...], type[Exception], str]] = {
    "an int beyond 64 bits": ((x32, x32, z32, 2**63), ScalarOverflowError, "'n' .* does not fit"),
    "an int far beyond": (
        (x32, x32, z32, -(10**100)), ScalarOverflowError, "a number of 333 bits, which does not",
    ),
    "a read-only array that is written": (
        (x32, x32, frozen, 10), ArgumentValueError, "'z' .* is read-only",
    ),
    "a misaligned array": (
        (shifted, x32, z32, 10), ArgumentValueError, "'x' .* 1 byte beyond a multiple of 4",
    ),
    "misaligned strides": (
        (x32, odd, z32, 2), ArgumentValueError, r"'y' .* has strides of \(6,\) bytes",
    ),
    "a list": ((x32, [1, 2], z32, 10), ArgumentTypeError, "'y' .* cannot"),
    "objects": ((x32.astype(object), x32, z32, 10), ArgumentTypeError, "'x' .* dtype 'object'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("before", ["nothing", "a launch"])
def test_refusals(case: str, before: str) -> None:
    arguments, error, message = REFUSED[case]
    add = adder()
    good = (x32, x32, z32, 10)
    if before == "a launch":
        add[1, 16](*good)
    for _ in range(2):
        with pytest.raises(error, match=message):
            add[1, 16](*arguments)
    z32[:] = 0
    add[1, 16](*good)
    np.testing.assert_array_equal(z32, 2 * x32)


def test_read_only_arrays_may_be_read() -> None:
    add = adder()
    z = np.zeros(10, np.float32)
    given = frozen.copy()
    for writeable in (True, False, True):
        given.flags.writeable = writeable
        add[1, 16](given, frozen, z, 10)
    owned = np.zeros(10, np.float32)
    add[1, 16](z, z, owned, 10)
    owned.flags.writeable = False
    with pytest.raises(ArgumentValueError, match="read-only"):
        add[1, 16](z, z, owned, 10)
    with pytest.raises(ArgumentValueError, match=r"parameter 'x.right' .* is read-only, and the"):
        stored()[1, 1](Pair(np.int8(1), frozen))


@pytest.mark.parametrize("before", ["nothing", "a launch"])
def test_memory_that_is_gone(monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    """Arrays whose memory was freed are at address zero; NumPy cannot make one."""
    add = adder()
    z = np.zeros(10, np.float32)
    gone = np.zeros(10, np.float32)
    backend = foreign_arrays.backend_named("host")
    describe = backend.describe

    def described(array: Any) -> Any:
        kind, address = describe(array)
        return kind, 0 if array is gone else address

    monkeypatch.setattr(backend, "describe", described, raising=False)
    arrays = dataclasses.replace(backend.arrays, address=lambda array: described(array)[1])
    monkeypatch.setattr(backend, "arrays", arrays, raising=False)
    if before == "a launch":
        add[1, 16](x32, x32, z, 10)
    message = "'x' of kernel 'add' has 10 elements and no memory: it was freed"
    for _ in range(2):
        with pytest.raises(ArgumentValueError, match=message):
            add[1, 16](gone, x32, z, 10)


class _Elsewhere:
    """A backend that has no arrays on this machine."""

    name = "cuda"
    capabilities = capabilities_of("cuda")


def test_arrays_in_both_places_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    there = np.zeros(10, np.float32)
    backend_of = foreign_arrays.backend_of

    def owner(value: Any) -> Any:
        return _Elsewhere() if value is there else backend_of(value)

    monkeypatch.setattr(foreign_arrays, "backend_of", owner)
    cases: list[tuple[tuple[Any, ...], str, str]] = [
        (
            (x32, (1, Config(there, 2)), x32, 10),
            "'x' of kernel 'add' is in host memory, and the one for 'y[1].scale' is in a GPU.",
            "move one of them: 'cupy.asarray(x)' or 'cupy.asnumpy(x)'.",
        ),
        (
            (there, there, there, np.array(10)),
            "'x' of kernel 'add' is in a GPU, and the one for 'n' is in host memory.",
            "pass a number, 'x[()]' or 'x.item()', instead of an array without dimensions.",
        ),
    ]
    for arguments, sentence, hint in cases:
        with pytest.raises(ArgumentTypeError) as caught:
            adder()[1, 16](*arguments)
        first, *_, carets, last = str(caught.value).split("\n")
        assert first == f"The array for parameter {sentence}"
        assert carets.strip() == "^"
        assert last == f"  Hint: {hint}"


# -- many of them ----------------------------------------------------------------------------------


def test_plans_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "MAX_PLANS", 3)
    monkeypatch.setattr(launcher, "_MAX_LAUNCHERS", 2)
    add = adder()
    for _ in range(2):
        for length in range(1, 9):
            x = np.arange(length, dtype=np.float32)
            z = np.zeros(length, np.float32)
            add[1, 16](x, x, z, length)
            np.testing.assert_array_equal(z, 2 * x)
            add[1, 16](x[::-1], x, z, length)
            np.testing.assert_array_equal(z, x + x[::-1])
            z2 = np.zeros(2 * length, np.float32)[::2]
            add[1, 16](x, x, z2, length)
            np.testing.assert_array_equal(z2, 2 * x)
    made = add._dispatcher
    assert len(made._launchers) <= 2
    assert all(len(one.plans) <= 3 for one in made._launchers.values())


def test_threads_launch_at_once() -> None:
    add = adder()
    failures: list[Any] = []
    ready = threading.Barrier(6)

    def work(number: int) -> None:
        try:
            length, dtype = 100 + number, ("f4", "f8", "i4")[number % 3]
            x, y = np.full(length, number, dtype), np.arange(length, dtype=dtype)
            z = np.zeros(length, dtype)
            ready.wait()
            for k in range(100):
                z[:] = 0
                add[2, 64](x, y, z, k)
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
    @jit.rawkernel
    def divide(x, y):
        x[0] = 12 // y

    x = np.zeros(1, np.int32)
    for _ in range(3):
        divide[1, 1](x, np.int32(4))
        assert x[0] == 3
        with pytest.raises(DivisionError):
            divide[1, 1](x, np.int32(0))
