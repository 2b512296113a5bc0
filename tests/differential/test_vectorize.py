"""Vectorized functions give what `numpy.vectorize` gives: values, dtypes and shapes."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import jit
from tests.differential.vectorize_programs import CORES, NUMBERS, I, M, Program, X
from tests.sampling import half

_TOLERANCE = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-14, "complex64": 2e-6,
              "complex128": 1e-14}  # fmt: skip


def given(backend: Any, value: Any) -> Any:
    """An argument as it is for a backend: arrays with their strides; lists stay lists."""
    return backend.asarray(value) if isinstance(value, np.ndarray) else value


def same(backend: Any, found: Any, wanted: Any, where: str) -> None:
    """Compare a result with NumPy's."""
    if isinstance(wanted, tuple):
        assert isinstance(found, tuple), where
        assert len(found) == len(wanted), where
        for one, other in zip(found, wanted, strict=True):
            same(backend, one, other, where)
        return
    # Calls of numbers alone run on the GPU where there is one.
    plain = found.get() if hasattr(found, "get") else found
    assert plain.dtype == wanted.dtype, f"{where}: {plain.dtype}, not {wanted.dtype}"
    assert plain.shape == wanted.shape, f"{where}: {plain.shape}, not {wanted.shape}"
    tolerance = _TOLERANCE.get(wanted.dtype.name, 0)
    np.testing.assert_allclose(plain, wanted, tolerance, 4 * tolerance, err_msg=where)


def wanted_of(program: Program, args: Any, named: Any) -> Any:
    """NumPy's result. Of no elements it asks for `otypes`: those of one element."""
    options = dict(program.options)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
        if "otypes" not in options and any(array.size == 0 for array in arrays):
            ones = [
                np.ones(tuple(max(1, n) for n in arg.shape), arg.dtype)
                if isinstance(arg, np.ndarray)
                else arg
                for arg in args
            ]
            first = np.vectorize(program.function, **options)(*ones, **named)
            first = first if isinstance(first, tuple) else (first,)
            options["otypes"] = "".join(result.dtype.char for result in first)
        return np.vectorize(program.function, **options)(*args, **named)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("program", half([*NUMBERS, *CORES]), ids=lambda program: program.name)
def test_program(backend: Any, program: Program) -> None:
    vectorized = kerneltk.vectorize(program.function, **program.options)
    for args, named in program.calls:
        wanted = wanted_of(program, args, named)
        where = f"{program.name}{args}{named}"
        own = [given(backend, arg) for arg in args]
        words = {key: given(backend, value) for key, value in named.items()}
        for _ in range(2):  # by the slow path, and by a shortcut
            same(backend, vectorized(*own, **words), wanted, where)


# -- functions that write to their outputs ---------------------------------------------------------


@kerneltk.vectorize(signature="(n)->(n)")
def running(x, result):
    total = 0
    for k in range(len(x)):
        total += x[k]
        result[k] = total


@kerneltk.vectorize(signature="(m,n),(n)->(m)")
def product(a, x, y):
    for i in range(a.shape[0]):
        total = 0 * x[0]
        for j in range(a.shape[1]):
            total += a[i, j] * x[j]
        y[i] = total


@kerneltk.vectorize(signature="(n)->(),()")
def moments(x, mean, square):
    mean[0] = 0
    square[0] = 0
    for value in x:
        mean[0] += value / len(x)
        square[0] += value * value


@kerneltk.vectorize(signature="(n),(),()->(n)")
def line(x, slope, start, y):
    for k in range(x.size):
        y[k] = slope * x[k] + start


@pytest.mark.one_in(12)
@pytest.mark.parametrize("array", [X, X[::2, ::-1], X.T, X[0], X[:, :0], X[:0], I, M])
def test_running_sums(backend, array):
    found = running(backend.asarray(array))
    same(backend, found, np.cumsum(array, -1, dtype=array.dtype), "running")


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("a", "x"), [
    (M, M[0, 0]),
    (M[0], M[1]),
    (M.swapaxes(1, 2), M[:, 0, :4]),
    (M[:, None, :, ::2], M[0, :, :3]),
])  # fmt: skip
def test_products(backend, a, x):
    same(backend, product(backend.asarray(a), backend.asarray(x)), np.matvec(a, x), "product")


@pytest.mark.exhaustive
def test_dtypes_of_outputs_are_the_widest_that_is_stored(backend):
    mean, square = moments(backend.asarray(I))
    same(backend, mean, I.mean(-1), "mean")  # of int32, which '0' alone would be
    same(backend, square, np.sum(I * I, -1, dtype=np.int32), "square")
    mean, square = moments(backend.asarray(X.astype(np.float32)))
    assert (mean.dtype, square.dtype) == (np.float32, np.float32)
    same(backend, line(backend.asarray(I), 0.5, 1), I * 0.5 + 1, "line")

    @kerneltk.vectorize(signature="(n)->()")
    def half(x, result):
        result[0] = 1.5  # a literal that integers do not hold

    assert half(backend.asarray(I)).dtype == np.float64


@kerneltk.vectorize(signature="(n)->(),(),()")
def counts(x, positive, some, first):
    found = 0
    for value in x:
        if value > 0:
            found += 1
    positive[0] = found
    some[0] = found > 0
    first[0] = x[0]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.float16, np.float32])
def test_counts_are_not_of_the_inputs_dtype(backend, dtype):
    x = np.ones((2, 300), dtype)
    positive, some, first = map(backend.asnumpy, counts(backend.asarray(x)))
    assert positive.tolist() == [300, 300]
    assert some.tolist() == [1, 1]
    assert first.dtype == dtype
    if np.dtype(dtype).kind in "bi":
        assert positive.dtype == np.int64


def test_outputs_may_be_given(backend):
    x = backend.asarray(X)
    for layout in (np.zeros(X.shape), np.zeros(X.shape, np.float32), np.zeros((6, 4)).T):
        out = backend.asarray(layout)
        assert running(x, out=out) is out
        np.testing.assert_allclose(backend.asnumpy(out), np.cumsum(X, -1), rtol=1e-6)
        other = backend.asarray(layout)
        assert running(x, other) is other  # behind the inputs, as numba's
        np.testing.assert_allclose(backend.asnumpy(other), np.cumsum(X, -1), rtol=1e-6)
    mean, square = backend.asarray(np.zeros(4)), backend.asarray(np.zeros(4))
    found = moments(x, out=(mean, square))
    assert found[0] is mean
    assert found[1] is square
    same(backend, mean, X.mean(-1), "mean")


@kerneltk.vectorize(signature="(3),(3)->(3)")
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kerneltk.vectorize(signature="(),()->(2,2),(k)")
def rotation(angle, scale):
    c, s = scale * np.cos(angle), scale * np.sin(angle)
    return ((c, -s), (s, c)), (c, s, 0)


def test_tuples_are_cores(backend):
    a, b = M[..., :3], M[::-1, :, 1:4]
    for x, y in (
        (a, b),
        (a, b[0, 0]),
        (a.astype(np.int16), b.astype(np.int16)),
        (a[:, 0], b[0, 0]),
    ):
        found = cross(backend.asarray(x), backend.asarray(y))
        same(backend, found, np.cross(x, y), "cross")
    matrix, row = rotation(backend.asarray(X), 2.0)
    c, s = 2 * np.cos(X), 2 * np.sin(X)
    same(backend, matrix, np.moveaxis(np.array([[c, -s], [s, c]]), (0, 1), (-2, -1)), "matrix")
    same(backend, row, np.stack([c, s, 0 * c], -1), "row")


def test_a_strided_output_gets_a_tuple(backend):
    a, b = backend.asarray(M[..., :3]), backend.asarray(M[::-1, :, 1:4])
    out = backend.asarray(np.full((3, 4, 6), 7.0))
    found = out[..., ::-2]
    cross(a, b, out=found)
    np.testing.assert_array_equal(backend.asnumpy(found), np.cross(M[..., :3], M[::-1, :, 1:4]))
    np.testing.assert_array_equal(backend.asnumpy(out)[..., ::2], 7)


# -- memory ----------------------------------------------------------------------------------------


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kind", ["same", "shifted", "reversed", "interleaved", "transposed"])
def test_outputs_that_overlap_inputs(backend, kind):
    whole = np.random.default_rng(1).random((8, 8))
    x, out = {
        "same": (whole, whole),
        "shifted": (whole[:-1], whole[1:]),
        "reversed": (whole, whole[:, ::-1]),
        "interleaved": (whole[:, :4], whole[:, 4:]),
        "transposed": (whole, whole.T),
    }[kind]
    wanted = np.cumsum(x, -1)
    given_x, given_out = backend.asarrays(x, out)
    running(given_x, out=given_out)
    np.testing.assert_allclose(backend.asnumpy(given_out), wanted, rtol=1e-14)
    doubled = kerneltk.vectorize(lambda x: 2 * x)
    wanted = 2 * x
    given_x, given_out = backend.asarrays(x, out)
    doubled(given_x, out=given_out)
    np.testing.assert_array_equal(backend.asnumpy(given_out), wanted)


def test_outputs_that_overlap_whole_arrays(backend):
    back = kerneltk.vectorize(lambda table, k: table[len(table) - 1 - k], excluded={0})
    values = np.arange(20000.0)
    for _ in range(2):
        table = backend.asarray(values)
        back(table, backend.asarray(np.arange(20000)), out=table)
        np.testing.assert_array_equal(backend.asnumpy(table), values[::-1])


# -- compiling, calls ------------------------------------------------------------------------------


def test_new_shapes_compile_nothing(backend):
    vectorized = kerneltk.vectorize(lambda x, y: x * y)
    dot = kerneltk.vectorize(CORES[0].function, signature="(n),(n)->()")
    for rows, columns in ((3, 8), (5, 16), (64, 32), (2, 24)):
        x = backend.asarray(np.ones((rows, columns)))
        vectorized(x, x)
        dot(x, x)
    assert len(vectorized.cached_codes) == 1
    assert len(dot.cached_codes) == 1


@pytest.mark.exhaustive
def test_calls_between_kinds(backend):
    """The shortcut of one kind is not taken for another one."""
    f = kerneltk.vectorize(lambda x, y: x if y is None else x + y)
    x = backend.asarray(X)
    for _ in range(2):
        same(backend, f(x, None), X, "None")
        same(backend, f(x, x), X + X, "array")
        same(backend, f(x, 2), X + 2, "int")
        same(backend, f(x, 2.5), X + 2.5, "float")
        same(backend, f(x, True), X + 1, "bool")
        same(backend, f(x, [1.0] * 6), X + 1, "list")
        same(backend, f(x, y=x), X + X, "keyword")
        same(backend, f(backend.asarray(I), x), I + X, "int32")


def test_decorators():
    @kerneltk.vectorize
    def plain(x):
        """Twice."""
        return 2 * x

    @kerneltk.vectorize()
    def called(x):
        return 2 * x

    @kerneltk.vectorize(otypes="f", doc="Documented.", cache=True)
    def named(x):
        return 2 * x

    assert (plain.__name__, plain.__doc__, plain.pyfunc(3)) == ("plain", "Twice.", 6)
    assert named.__doc__ == "Documented."
    assert repr(named) == "<Vectorized named>"
    for f in (plain, called, named):
        np.testing.assert_array_equal(f(X), 2 * X.astype(f(X).dtype))

    @jit.kernel
    def outer(x):
        return called(x) + 1

    np.testing.assert_array_equal(outer(X), 2 * X + 1)


def test_arguments_of_graphs_are_replaced():
    x, y = X.copy(), X[::-1].copy()
    with kerneltk.graph() as g:
        found = running(x)
    assert "result" not in g.names  # the output is called 'out'
    for array in (x, y, y + 1):
        g.launch(x=array)
        np.testing.assert_allclose(found, np.cumsum(array, -1))


def test_source_compiles_without_a_device():
    spec = kerneltk.ArraySpec.make
    f = kerneltk.vectorize(NUMBERS[0].function)
    assert ".target sm_" in f.inspect(spec("f4", 100), spec("f4", 100), target="compute_90")
    for function, args in (
        (product, (spec("f4", (7, 5, 6)), spec("f4", 6))),
        (cross, (spec("f4", (7, 3)), spec("f2", (7, 3), strides=(2, 14)))),
        (moments, (spec("c8", (7, 3)),)),
    ):
        assert ".target sm_" in function.inspect(*args, target="compute_90")
        assert "kerneltk" in function.inspect(*args, target="host")
