"""``cuda.vectorize`` and ``cuda.guvectorize``: which signature a call takes, and its results."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk.errors import ArgumentTypeError, ArgumentValueError, SignatureError
from kerneltk.jit import cuda
from kerneltk.jit.numba import host_arrays
from kerneltk.jit.numba.host_arrays import HostArray, HostLibrary


@cuda.vectorize(["int32(int32, int32)", "float32(float32, float32)", "f8(f8, f8)"], target="cuda")
def add(a, b):
    return a + b


@pytest.mark.parametrize(
    ("dtype", "other", "result"),
    [
        ("int32", 1, "int32"),
        ("int16", 1, "int32"),
        ("float32", 2.5, "float32"),
        ("float32", np.float64(2.5), "float64"),
        ("int64", 1, "float64"),
        ("int32", 0.5, "float64"),
    ],
)
def test_the_first_signature_that_loses_nothing(dtype: str, other: Any, result: str) -> None:
    x = np.arange(3, dtype=dtype)
    found = add(x, other)
    assert found.dtype == result
    np.testing.assert_array_equal(found, x + other)


def test_numbers_and_lists() -> None:
    assert add(1.5, 2) == 3.5
    assert type(add(np.int32(1), np.int32(2))) is np.int32
    np.testing.assert_array_equal(add([1, 2], [[3], [4]]), [[4, 5], [5, 6]])


def test_no_signature_takes_them() -> None:
    with pytest.raises(
        ArgumentTypeError, match=r"'add' takes complex128, int64[^$]*\(int32, int32"
    ):
        add(np.zeros(2, complex), 1)
    with pytest.raises(ArgumentTypeError, match="'add' takes float64, object"):
        add(np.zeros(2), None)


def test_outputs_and_streams() -> None:
    out = np.zeros(3, np.float32)
    assert add(np.arange(3, dtype=np.float32), 1, out=out, stream=cuda.stream()) is out
    assert out.tolist() == [1, 2, 3]
    assert add(out, out, out=out)[2] == 6
    with pytest.raises(ArgumentValueError, match="broadcast"):
        add(np.arange(3.0), 1, out=np.zeros(2))
    with pytest.raises(ArgumentTypeError, match=r"have dtype 'float64', and an output has 'int32'"):
        add(np.arange(3.0), 0.5, out=np.zeros(3, np.int32))


def test_the_signature_of_the_arrays_dtypes_comes_first() -> None:
    wide = cuda.vectorize(["f8(f8, f8)", "f4(f4, f4)"])(add.py_func)
    x = np.arange(3, dtype=np.float32)
    assert wide(x, x).dtype == wide(x, 2).dtype == np.float32
    assert wide(x, x.astype(np.float64)).dtype == np.float64


def test_integers_that_a_signature_cannot_hold() -> None:
    sums = cuda.vectorize(["i1(i1, i1)", "i8(i8, i8)"])(add.py_func)
    x = np.arange(3, dtype=np.int8)
    assert sums(x, 100).dtype == np.int8
    assert sums(x, 300).tolist() == [300, 301, 302]


def test_results_of_device_arrays_are_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_arrays, "library", HostLibrary)
    x = np.arange(3.0).view(HostArray)
    assert type(add(x, x)) is HostArray
    assert type(add(np.asarray(x), 1)) is np.ndarray


def test_reductions() -> None:
    assert add.reduce(np.arange(1000, dtype=np.int32)) == 499_500
    with pytest.raises(ArgumentTypeError, match="without elements"):
        add.reduce(np.zeros(0))


def test_without_a_signature() -> None:
    @cuda.vectorize
    def scaled(a, b):
        return a * b

    assert scaled(np.arange(3), 0.5).tolist() == [0, 0.5, 1]
    # An int that stands alone is an int64, as for numba.
    assert cuda.vectorize()(scaled.py_func)(np.arange(3, dtype=np.int8), 2).dtype == np.int64


def test_signatures_of_numba() -> None:
    numba = pytest.importorskip("numba", exc_type=ImportError)  # may refuse a new NumPy
    made = cuda.vectorize([numba.float32(numba.float32)])(doubled)
    assert made(np.arange(3, dtype=np.float16)).dtype == np.float32


def doubled(a):
    return 2 * a


def test_decorators_that_are_refused() -> None:
    with pytest.raises(SignatureError, match=r"'void\(f4\)' has no result"):
        cuda.vectorize("void(f4)")(doubled)
    with pytest.raises(ArgumentTypeError, match=r"'cuda\.vectorize' has no option 'any'"):
        cuda.vectorize(any=1)
    with pytest.raises(
        ArgumentTypeError, match=r"target of 'cuda\.guvectorize' is 'cuda', not 'cpu'"
    ):
        cuda.guvectorize("(n)->(n)", target="cpu")
    with pytest.raises(ArgumentTypeError, match=r"'cuda\.vectorize' decorates Python functions"):
        cuda.vectorize(np.sin)


@cuda.guvectorize(["void(f8[:,:], f8[:,:], f8[:,:])"], "(m,n),(n,p)->(m,p)", target="cuda")
def multiply(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            total = 0.0
            for k in range(b.shape[0]):
                total += a[i, k] * b[k, j]
            c[i, j] = total


def test_matrices() -> None:
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(multiply(a, b), a @ b)
    out = np.zeros((2, 3, 2))
    assert multiply(a, b, out) is out
    np.testing.assert_array_equal(out, a @ b)
    assert multiply(a.astype(np.int32), b, out=np.zeros_like(out)).tolist() == (a @ b).tolist()


def test_outputs_that_are_numbers() -> None:
    @cuda.guvectorize(["(int64[:], int64, int64[:])"], "(n),()->()")
    def dot(x, factor, out):
        out[0] = 0
        for k in range(x.size):
            out[0] += x[k] * factor

    assert dot(np.arange(6).reshape(2, 3), [1, 10]).tolist() == [3, 120]


def test_numbers_that_are_arrays_of_one() -> None:
    @cuda.guvectorize(["void(f8[:], i8[:], f8, f8[:])"], "(n),(),()->(n)")
    def shifted(x, by, factor, out):
        for k in range(x.size):
            out[k] = factor * x[(k + by[0]) % x.size]

    x = np.arange(4.0)
    assert shifted(x, 1, 2.0).tolist() == [2, 4, 6, 0]
    assert shifted(x, np.array([0, 3]), 1.0).tolist() == [[0, 1, 2, 3], [3, 0, 1, 2]]


def test_outputs_of_which_a_part_is_written() -> None:
    @cuda.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)")
    def first(x, out):
        out[0] += x[0]

    out = np.full((2, 3), 7.0)
    assert first(np.arange(6.0).reshape(2, 3), out) is out
    assert out.tolist() == [[7, 7, 7], [10, 7, 7]]
