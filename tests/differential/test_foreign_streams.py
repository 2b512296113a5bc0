"""Launches on arrays of torch, numba, JAX and others: their streams, their graphs, their memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np
import pytest

from kerneltk import ArgumentValueError, ElementwiseKernel, pipeline

from ..unit.front_ends import each_front_end, size_of_output
from .interop_cases import STREAMS, VALUES, imported, results

pytestmark = pytest.mark.gpu

CYCLES = 100_000_000  # some 50 ms of a GPU: work that comes too early is seen
each_result = pytest.mark.parametrize("name", ["elementwise", "reduction", "elements", "indices"])


@contextmanager
def busy(torch: Any, stream: Any) -> Iterator[Any]:
    """Return a context in which torch's current stream is this one, with work to do."""
    with torch.cuda.stream(stream):
        torch.cuda._sleep(CYCLES)
        yield stream


# -- torch's graphs ------------------------------------------------------------------------------


def forget_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let first calls load their kernels, whatever was loaded before."""
    for known in ("_functions", "_modules"):
        monkeypatch.setattr(pipeline, known, {})


@each_result
@pytest.mark.parametrize("warm", [False, True], ids=["first call", "later call"])
def test_results_in_a_graph(
    name: str, warm: bool, torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = results()[name]
    x = torch.arange(1, (1 << 16) + 1, device="cuda", dtype=torch.float64)
    y = torch.zeros_like(results()[name](x))
    forget_loaded(monkeypatch)
    if warm:
        call(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y.copy_(call(x))
    others = [torch.full_like(x, -1) for _ in range(8)]  # what the graph's memory is not for
    others += [call(x) for _ in range(8)]
    kept = [other.clone() for other in others]
    for _ in range(3):
        x += 1
        y.zero_()
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(y, call(x))
    assert all(torch.equal(other, copy) for other, copy in zip(others, kept, strict=True))


# -- several libraries ---------------------------------------------------------------------------


class Exporter:
    """An array with a stream of its own."""

    def __init__(self, array: Any, **words: Any) -> None:
        self._array = array
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.data.ptr, False),
            **words,
        }


# -- each library, each front-end, each kind of stream -------------------------------------------
#
# Arrays are written by work that a stream has yet to do. A launch that goes to any other stream, or
# is not ordered with this one, reads them before that.

SPIN = r"""
extern "C" __global__ void spin(long long cycles) {
    const long long begin = clock64();
    while (clock64() - begin < cycles) {}
}
"""


class Late:
    """Arrays whose elements a stream writes after a long while.

    Parameters
    ----------
    stream : cupy.cuda.Stream
        One that does not wait for the default stream.
    """

    def __init__(self, cupy: Any, stream: Any) -> None:
        self._cupy, self.stream = cupy, stream
        self._spin = cupy.RawKernel(SPIN, "spin")
        self._spin((1,), (1,), (np.int64(1),))  # it is compiled before anything is raced
        self._values = cupy.asarray(VALUES)
        self._done = cupy.cuda.Event(disable_timing=True)
        cupy.cuda.Device().synchronize()

    def write(self, *aliases: Any) -> None:
        """Let the stream write the values, after some 50 ms."""
        with self.stream:
            self._spin((1,), (1,), (np.int64(CYCLES),))
        for alias in aliases:
            self._cupy.cuda.runtime.memcpyAsync(
                alias.data.ptr, self._values.data.ptr, alias.nbytes, 3, self.stream.ptr
            )  # from device to device
        self._done.record(self.stream)

    def is_pending(self) -> bool:
        """Whether the arrays are still to be written."""
        return not self._done.done


class Foreign(NamedTuple):
    """A library's way to make an array, and to say where its work is queued.

    `make` returns an array of zeros and CuPy's in the same memory. `given` returns the array as it
    is passed after work on a stream; `on` a context in which the library's current stream is that.
    """

    make: Callable[[int], tuple[Any, Any]]
    given: Callable[[Any, Any], Any]
    on: Callable[[Any], Any]


class ExporterOfDlpack:
    """Has DLPack, and orders its work on a stream before the consumer's."""

    def __init__(self, alias: Any, stream: Any) -> None:
        self._alias, self._stream = alias, stream

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        with self._stream:
            return self._alias.__dlpack__(stream=stream, **options)

    def __dlpack_device__(self) -> Any:
        return self._alias.__dlpack_device__()


def foreign(name: str, cupy: Any) -> Foreign:
    """Return a library by its name; skips where it is missing."""

    def of_cupy(size: int) -> tuple[Any, Any]:
        made = cupy.zeros(size, "f")
        return made, made

    if name == "cupy":
        return Foreign(of_cupy, lambda array, stream: array, lambda stream: stream)
    if name == "interface":
        return Foreign(
            of_cupy,
            lambda array, stream: Exporter(array, stream=stream.ptr),
            lambda stream: nullcontext(),
        )
    if name == "dlpack":
        return Foreign(of_cupy, ExporterOfDlpack, lambda stream: nullcontext())
    if name == "torch":
        torch = imported("torch")

        def of_torch(size: int) -> tuple[Any, Any]:
            made = torch.zeros(size, device="cuda")
            return made, cupy.asarray(made)

        return Foreign(
            of_torch,
            lambda array, stream: array,
            lambda stream: torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr)),
        )
    numba = imported("numba.cuda")

    def of_numba(size: int) -> tuple[Any, Any]:
        made = numba.to_device(np.zeros(size, np.float32))
        return made, cupy.asarray(made)

    return Foreign(
        of_numba,
        lambda array, stream: array.bind(numba.external_stream(stream.ptr)),
        lambda stream: nullcontext(),
    )


LIBRARIES = ("cupy", "torch", "numba", "interface", "dlpack")
each_library = pytest.mark.parametrize("library", LIBRARIES)


def reference(make: Any, cupy: Any) -> Any:
    """Return what a launch writes, for NumPy's arrays."""
    want = np.zeros(size_of_output(make), np.float32)
    make()(VALUES, want)
    assert want.any()
    return want


@pytest.mark.filterwarnings("ignore")
@each_front_end
@each_library
def test_a_launch_goes_where_the_librarys_work_goes(library: str, make: Any, cupy: Any) -> None:
    launch, want, size = make(), reference(make, cupy), size_of_output(make)
    own = foreign(library, cupy)
    late = Late(cupy, cupy.cuda.Stream(non_blocking=True))
    for is_raced in (False, True):  # everything is loaded before it is raced
        x, x_alias = own.make(4)
        y, y_alias = own.make(size)
        cupy.cuda.Device().synchronize()
        if is_raced:
            late.write(x_alias)
        with own.on(late.stream):
            launch(own.given(x, late.stream), own.given(y, late.stream))
        if is_raced:
            assert late.is_pending()  # the launch waited for nothing
        cupy.cuda.Device().synchronize()
    np.testing.assert_array_equal(y_alias.get(), want)


OWNERS = {"torch": "torch", "numba": "numba"}  # of results; all others' are CuPy's


@pytest.mark.filterwarnings("ignore")
@each_result
@each_library
def test_results_are_of_the_librarys_kind(library: str, name: str, cupy: Any) -> None:
    own, stream = foreign(library, cupy), cupy.cuda.Stream(non_blocking=True)
    late = Late(cupy, stream)
    call = results()[name]
    want = call(cupy.asarray(VALUES)).get()
    y: Any = None
    for is_raced in (False, True):
        y = None  # its memory is the next one's
        x, alias = own.make(4)
        cupy.cuda.Device().synchronize()
        if is_raced:
            late.write(alias)
        with own.on(stream):
            y = call(own.given(x, stream))
        if is_raced:
            assert late.is_pending()
        cupy.cuda.Device().synchronize()
    assert type(y).__module__.partition(".")[0] == OWNERS.get(library, "cupy")
    np.testing.assert_array_equal(cupy.asarray(y).get(), want)


@pytest.mark.filterwarnings("ignore")
@each_front_end
@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_of_each_kind(kind: str, make: Any, cupy: Any) -> None:
    launch, want, size = make(), reference(make, cupy), size_of_output(make)
    late = Late(cupy, cupy.cuda.Stream(non_blocking=True))
    given = STREAMS[kind](late.stream)
    for library in ("cupy", "torch") if kind in ("CuPy's", "torch's", "`int`") else ("cupy",):
        own = foreign(library, cupy)
        for is_raced in (False, True):
            x, x_alias = own.make(4)
            y, y_alias = own.make(size)
            cupy.cuda.Device().synchronize()
            if is_raced:
                late.write(x_alias)
            launch(x, y, stream=given)
            if is_raced:
                assert late.is_pending()
            cupy.cuda.Device().synchronize()
        np.testing.assert_array_equal(y_alias.get(), want)


PAIRS = [(a, b) for a in LIBRARIES for b in LIBRARIES if a != b]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_mixed_libraries_wait_for_each_other(first: str, second: str, cupy: Any) -> None:
    """Of two arrays each is written late by its own library; the output is read by either."""
    kernel = ElementwiseKernel("T x, T w", "T y, T z", "y = x + w; z = x + 2 * w", "both")
    own, other = foreign(first, cupy), foreign(second, cupy)
    left, right = (Late(cupy, cupy.cuda.Stream(non_blocking=True)) for _ in range(2))
    copies = [cupy.zeros(4, "f") for _ in range(2)]
    for is_raced in (False, True):
        (x, x_alias), (y, y_alias) = own.make(4), own.make(4)
        (w, w_alias), (z, z_alias) = other.make(4), other.make(4)
        cupy.cuda.Device().synchronize()
        if is_raced:
            left.write(x_alias)
            right.write(w_alias)
        with own.on(left.stream), other.on(right.stream):
            kernel(
                own.given(x, left.stream),
                other.given(w, right.stream),
                own.given(y, left.stream),
                other.given(z, right.stream),
            )
        # What each library does next comes after the launch: it reads one output each, and writes
        # to its input.
        for late, output, copy, given in (
            (left, y_alias, copies[0], x_alias), (right, z_alias, copies[1], w_alias),
        ):  # fmt: skip
            move = cupy.cuda.runtime.memcpyAsync
            if "dlpack" not in (first, second):  # which orders earlier work alone
                move(copy.data.ptr, output.data.ptr, copy.nbytes, 3, late.stream.ptr)
                cupy.cuda.runtime.memsetAsync(given.data.ptr, 0, given.nbytes, late.stream.ptr)
        cupy.cuda.Device().synchronize()
    np.testing.assert_array_equal(y_alias.get(), 2 * VALUES)
    np.testing.assert_array_equal(z_alias.get(), 3 * VALUES)
    if "dlpack" not in (first, second):
        np.testing.assert_array_equal(copies[0].get(), 2 * VALUES)
        np.testing.assert_array_equal(copies[1].get(), 3 * VALUES)


# -- JAX's own -----------------------------------------------------------------------------------


@pytest.fixture
def jax(monkeypatch: pytest.MonkeyPatch, cupy: Any) -> Any:
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    found = imported("jax")
    if found.default_backend() != "gpu":
        pytest.skip("JAX has no GPU here")
    return found


def counted(jax: Any, x: Any) -> Any:
    """Add one 3,000 times, which takes a while and gives an exact result."""
    return jax.lax.fori_loop(0, 3000, lambda i, v: v + 1, x)


@pytest.mark.filterwarnings("ignore")
@each_front_end
def test_pending_arrays_of_jax(make: Any, jax: Any, cupy: Any) -> None:
    launch, size = make(), size_of_output(make)
    start = jax.numpy.asarray(VALUES - 3000)
    compute = jax.jit(lambda x: counted(jax, x))
    want = reference(make, cupy)
    for _ in range(2):
        y = cupy.zeros(size, "f")
        cupy.cuda.Device().synchronize()
        with cupy.cuda.Stream(non_blocking=True) as stream:
            launch(compute(start), y)
            stream.synchronize()
        np.testing.assert_array_equal(y.get(), want)


@pytest.mark.filterwarnings("ignore")
@each_front_end
def test_jaxs_ffi(make: Any, jax: Any, cupy: Any) -> None:
    ffi = pytest.importorskip("jax.experimental.buffer_callback")
    launch, size = make(), size_of_output(make)
    want, said = reference(make, cupy), []
    launch(cupy.zeros(4, "f"), cupy.zeros(size, "f"))

    def callback(context: Any, y: Any, x: Any) -> None:
        try:
            launch(x, y)
        except ArgumentValueError as error:
            said.append(str(error))
        launch(x, y, stream=context.stream)

    call = ffi.buffer_callback(callback, jax.ShapeDtypeStruct((size,), np.float32))
    program = jax.jit(lambda x: call(counted(jax, x)) + 1)
    for _ in range(2):
        found = program(jax.numpy.asarray(VALUES - 3000))
        np.testing.assert_array_equal(np.asarray(found), want + 1)
    assert len(said) == 2
    assert "pass 'stream=ctx.stream'" in said[0]
