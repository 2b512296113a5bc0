"""The messages of graphs: what cannot be recorded, and graphs that are used wrongly."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ElementwiseKernel, KernelToolkitError, RawKernel, jit
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DivisionError,
    LaunchError,
    UnsupportedError,
)

SCALE = ElementwiseKernel("T x, T a", "T y", "y = a * x", "scale")
COPY = RawKernel(
    'extern "C" __global__ void copy(float* p, const float* q, int n) { p[0] = q[n]; }', "copy"
)
X = np.arange(8, dtype=np.float32)
RECORD = np.zeros((), [("x", np.float32)])


@jit.rawkernel
def first(pair, z):
    z[0] = pair[0][0] + pair[1]


@jit.rawkernel
def field(record, z):
    z[0] = record["x"]


def recorded(**declared: Any) -> kerneltk.Graph:
    with kerneltk.graph(**declared) as g:
        y = SCALE(X, 2.0)
        SCALE(X, 2.0, y)
        COPY(1, 1, (y, X, 3))
    return g


def launched(*, declared: tuple[str, ...] = (), **arguments: Any) -> None:
    recorded(**dict.fromkeys(declared, X)).launch(**arguments)


def empty() -> None:
    with kerneltk.graph():
        pass


def nested() -> None:
    with kerneltk.graph(), kerneltk.graph():
        pass


def twice() -> None:
    g = recorded()
    with g:
        pass


def in_a_recording() -> None:
    g = recorded()
    with kerneltk.graph():
        g.launch()


def failed() -> None:
    g = kerneltk.graph()
    with pytest.raises(ZeroDivisionError), g:
        SCALE(X, 1 // 0)
    g.launch()


def several(**arguments: Any) -> None:
    with kerneltk.graph() as g:
        SCALE(SCALE(X, 2.0), 3.0)
    g.launch(**arguments)


def with_a_view(**arguments: Any) -> None:
    with kerneltk.graph(x=X) as g:
        SCALE(X, 2.0)
        SCALE(X[1:], 2.0)
    g.launch(**arguments)


def unused(array: Any) -> None:
    with kerneltk.graph(w=array):
        SCALE(X[1:], 2.0)


def with_a_structure(**arguments: Any) -> None:
    with kerneltk.graph(x=X) as g:
        SCALE(X, 2.0)
        first[1, 1]((X, 2.0), np.zeros(1, np.float32))
    g.launch(**arguments)


def from_another_thread() -> None:
    g = kerneltk.graph()
    g.__enter__()
    errors: list[BaseException] = []

    def leave() -> None:
        try:
            g.__exit__(None, None, None)
        except KernelToolkitError as error:
            errors.append(error)

    thread = threading.Thread(target=leave)
    thread.start()
    thread.join()
    with pytest.raises(LaunchError, match="empty"):
        g.__exit__(None, None, None)
    raise errors[0]


def while_another_thread_records() -> None:
    g = kerneltk.graph()
    errors: list[BaseException] = []

    def launch() -> None:
        try:
            g.launch()
        except KernelToolkitError as error:
            errors.append(error)

    with g:
        SCALE(X, 2.0)
        thread = threading.Thread(target=launch)
        thread.start()
        thread.join()
    raise errors[0]


class Renewed:
    """An array that is computed whenever it is asked for."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        made = X.copy()
        return {**made.__array_interface__, "data": memoryview(made).cast("B")}


def call(*arguments: Any) -> None:
    with kerneltk.graph():
        SCALE(*arguments)


def call_with(pair: Any) -> None:
    with kerneltk.graph():
        first[1, 1](pair, np.zeros(1, np.float32))


def with_a_record() -> None:
    with kerneltk.graph():
        field[1, 1](RECORD[()], np.zeros(1, np.float32))


def division() -> None:
    divide = ElementwiseKernel("T x, T d", "T y", "y = x / d", "divide")
    ints = np.arange(4)
    with kerneltk.graph() as g:
        y = divide(ints, 2)
    with pytest.raises(DivisionError):
        g.launch(d=0)
    g.launch()  # is not as that was
    np.testing.assert_array_equal(y, ints // 2)
    g.launch(d=0)


MISUSES: list[tuple[Callable[[], object], type[Exception], str]] = [
    (empty, LaunchError, "The graph is empty: no kernel was called in its 'with' block, by this "
     "thread."),
    (nested, LaunchError, "This thread records a graph already.\n  Hint: graphs do not nest."),
    (twice, LaunchError, "A graph is recorded once.\n  Hint: make another one."),
    (in_a_recording, LaunchError, "A graph cannot be launched while this thread records one.\n"
     "  Hint: call the kernels themselves; they are recorded again."),
    (lambda: kerneltk.graph().launch(), LaunchError, "The graph cannot be launched: nothing was "
     "recorded: use it in a 'with' block."),
    (failed, LaunchError, "The graph cannot be launched: its recording failed."),
    (while_another_thread_records, LaunchError, "The graph cannot be launched: another thread is "
     "recording it."),
    (from_another_thread, LaunchError, "A graph's recording ends in the thread in which it began."),
    (lambda: kerneltk.graph(a=2.0), ArgumentTypeError, "'a' must be an array, not an object of type"
     " 'float'.\n  Hint: numbers are replaced by the names of their parameters."),
    (lambda: kerneltk.graph(x=X, w=X[:]), ArgumentValueError, "'x' and 'w' name the same array."),
    (lambda: kerneltk.graph(stream=X), ArgumentValueError, "'stream' cannot be the name of an "
     "array: 'launch' takes a stream by it."),
    (lambda: unused(X.copy()), ArgumentValueError, "No recorded launch has the array 'w'."),
    (lambda: unused(X), ArgumentValueError, "No recorded launch has the array 'w', but the "
     "argument for 'x' of kernel 'scale' is another view of its memory.\n"
     "  Hint: declare that view."),
    (lambda: launched(w=X), ArgumentTypeError, "The graph has no argument 'w'.\n"
     "  Hint: its names are 'a', 'n', 'p', 'q', 'x', 'y'."),
    (lambda: several(x=X), ArgumentValueError, "'x' stands for several arrays: 2 recorded launches"
     " have a parameter of that name.\n"
     "  Hint: name the one that is meant: 'kerneltk.graph(x=...)'."),
    (lambda: several(a=1.0), ArgumentValueError, "'a' stands for several values: 2 recorded "
     "launches have a parameter of that name.\n"
     "  Hint: give the parameters of the kernels different names."),
    (lambda: launched(x=X, q=X), ArgumentValueError, "'x' and 'q' name the same array of the "
     "graph."),
    (lambda: launched(x=2.0), ArgumentTypeError, "'x' was recorded as an array, and an object of "
     "type 'float' was given."),
    (lambda: launched(n=X), ArgumentTypeError, "'n' was recorded as a number, and an object of "
     "type 'ndarray' was given."),
    (lambda: launched(x=X.astype(int)), ArgumentTypeError, "'x' was recorded with dtype 'float32',"
     " and the array that was given has 'int64'."),
    (lambda: launched(x=X[:4]), ArgumentValueError, "'x' was recorded with shape (8,), and the "
     "array that was given has (4,)."),
    (lambda: launched(x=X[::-1]), ArgumentValueError, "'x' was recorded with strides (4,), and the"
     " array that was given has (-4,).\n  Hint: copy it into the recorded order."),
    (lambda: launched(stream="s"), ArgumentTypeError, "'stream' must be a stream, not an object of"
     " type 'str'.\n  Hint: pass a stream of CuPy, torch, numba or cuda.core, an object with "
     "'__cuda_stream__', or a stream's handle."),
    (lambda: with_a_view(x=X.copy()), ArgumentValueError, "'x' cannot be replaced: the argument for"
     " 'x' of kernel 'scale' is another view of its memory, which would stay.\n"
     "  Hint: declare the view, and replace both."),
    (lambda: with_a_structure(x=X.copy()), ArgumentValueError, "'x' cannot be replaced: the "
     "argument for 'pair' of kernel 'first' is another view of its memory, which would stay.\n"
     "  Hint: declare the view, and replace both."),
    (lambda: with_a_structure(pair=(X, 1.0)), ArgumentTypeError, "'pair' is a structure, which "
     "cannot be replaced.\n"
     "  Hint: declare the arrays in it as arguments of their own."),
    (lambda: call(Renewed(), 2.0), UnsupportedError, "The argument for 'x' of kernel 'scale' is of "
     "type 'Renewed' and has its numbers in new memory each time: a graph would launch with old "
     "ones.\n  Hint: pass a copy."),
    (lambda: call_with((Renewed(), 2.0)), UnsupportedError, "The argument for 'pair' of kernel "
     "'first' is of type 'Renewed' and has its numbers in new memory each time: a graph would "
     "launch with old ones.\n  Hint: pass a copy."),
    (lambda: launched(x=Renewed()), UnsupportedError, "The argument 'x' is of type 'Renewed' and "
     "has its numbers in new memory each time: a graph would launch with old ones.\n"
     "  Hint: pass a copy."),
    (with_a_record, UnsupportedError, "A record whose address a kernel takes cannot be recorded: "
     "the kernel has a copy of it.\n  Hint: pass an array of one, 'x[:1]'."),
    (lambda: launched(n=2**40), kerneltk.ScalarOverflowError, "Parameter 'n' of kernel 'copy' is"),
    (division, DivisionError, "The kernel divided an integer by zero"),
]  # fmt: skip


@pytest.mark.parametrize(("misuse", "kind", "message"), MISUSES, ids=map(str, range(len(MISUSES))))
def test_misuse(misuse: Callable[[], object], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        misuse()
    if message.endswith((".", "'")):
        assert str(caught.value) == message
    else:
        assert str(caught.value).startswith(message)
    call_after = SCALE(X, 2.0)  # nothing is recorded any more
    np.testing.assert_array_equal(call_after, 2 * X)


def test_views_are_replaced_together() -> None:
    with kerneltk.graph(x=X, rest=X[1:]) as g:
        y, z = SCALE(X, 2.0), SCALE(X[1:], 3.0)
    other = X + 5
    g.launch(x=other, rest=other[1:])
    np.testing.assert_array_equal(y, 2 * other)
    np.testing.assert_array_equal(z, 3 * other[1:])


def test_jax_arrays() -> None:
    jax = pytest.importorskip("jax")
    x = jax.numpy.arange(4.0)
    with pytest.raises(UnsupportedError, match=r"'x' of kernel 'scale' is JAX's, whose arrays"):
        call(x, 2.0)
    with pytest.raises(UnsupportedError, match=r"\AThe argument 'x' is JAX's, whose arrays"):
        launched(x=x)
