"""The messages of graphs: what cannot be recorded, and graphs that are used wrongly."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ElementwiseKernel, RawKernel, jit
from kerneltk.errors import DivisionError, LaunchError, UnsupportedError

from .tables import check_message, messages

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


def in_another_thread(action: Callable[[], object]) -> BaseException:
    """What an action raises in another thread."""
    with ThreadPoolExecutor(1) as pool:
        error = pool.submit(action).exception()
    assert error is not None
    return error


def from_another_thread() -> None:
    g = kerneltk.graph()
    g.__enter__()
    error = in_another_thread(lambda: g.__exit__(None, None, None))
    with pytest.raises(LaunchError, match="empty"):
        g.__exit__(None, None, None)
    raise error


def while_another_thread_records() -> None:
    g = kerneltk.graph()
    with g:
        SCALE(X, 2.0)
        error = in_another_thread(g.launch)
    raise error


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


@pytest.mark.parametrize(("call", "kind", "message"), messages("graphs"))
def test_misuse(call: str, kind: str, message: str) -> None:
    check_message(lambda: eval(call, globals()), kind, message)
    np.testing.assert_array_equal(SCALE(X, 2.0), 2 * X)  # nothing is recorded any more


def test_launches_that_fail() -> None:
    with pytest.raises(kerneltk.ScalarOverflowError, match=r"^Parameter 'n' of kernel 'copy' is"):
        launched(n=2**40)
    with pytest.raises(DivisionError, match=r"^The kernel divided an integer by zero"):
        division()


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
