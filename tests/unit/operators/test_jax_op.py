"""Functions of JAX, where it is installed; what their programs call back needs no JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import (
    ArgumentTypeError,
    ArgumentValueError,
    BackendUnavailableError,
    ElementwiseKernel,
    KernelToolkitError,
    ReductionKernel,
    UnsupportedError,
    jax_op,
)
from kerneltk.operators.jax_op import _HostCall, _Number
from kerneltk.operators.operator_of import operator_of

from . import samples

pytestmark = pytest.mark.filterwarnings("ignore")

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
F32 = np.dtype("float32")


# -- what is called back ---------------------------------------------------------------------------


def number(value: Any) -> _Number:
    return _Number(value, type(value), repr(value))


def test_a_call_on_stacked_arrays_aligns_them() -> None:
    axpb = operator_of(samples.AXPB)
    a = np.arange(2, dtype=np.float32)
    call = _HostCall(axpb, (2, 0, number(1)), (), (((3, 4), F32),))
    np.testing.assert_array_equal(call(X[0], np.float32(2))[0], 2 * X[0] + 1)
    np.testing.assert_array_equal(call(X, a)[0], a[:, None, None] * X + 1)
    np.testing.assert_array_equal(call(X[:1], a)[0], a[:, None, None] * X[:1] + 1)
    np.testing.assert_array_equal(call(X[None], a[:, None])[0], a[:, None, None, None] * X + 1)


def test_axes_of_stacked_arrays() -> None:
    options = (("axis", (1,)), ("keepdims", False))
    call = _HostCall(operator_of(samples.TOTAL), (2,), options, (((3,), F32),))
    np.testing.assert_array_equal(call(X[0])[0], X[0].sum(1))
    np.testing.assert_array_equal(call(X)[0], X.sum(2))


def test_numbers_of_a_program() -> None:
    call = _HostCall(operator_of(samples.AXPB), (1, None, number(1)), (), (((4,), F32),))
    np.testing.assert_array_equal(call(X[0, 0], np.array(2, np.float32))[0], 2 * X[0, 0] + 1)


def test_equal_numbers_are_not_one() -> None:
    operator = operator_of(samples.AXPB)
    numbers = (1, 1.0, True, np.float32(1), 0.0, -0.0)
    calls = {_HostCall(operator, (1, number(value), None), (), ()) for value in numbers}
    assert len(calls) == len(numbers)
    nan = float("nan")
    assert number(nan) == number(float("nan"))


def test_a_launch_allocates_zeros() -> None:
    operator = operator_of(samples.SQUARES, 1, 8, 0, {"y": lambda x: x})
    call = _HostCall(operator, (number(2), 1), (), (((4,), F32),))
    np.testing.assert_array_equal(call(X[0, 0])[0], [0, 1, 0, 0])


# -- under JAX -------------------------------------------------------------------------------------


def test_jit(jax: Any) -> None:
    square = jax.jit(jax_op(samples.SQUARE))
    for x in (X, X[0], X[:0]):
        result = square(x)
        assert isinstance(result, jax.Array)
        np.testing.assert_array_equal(result, x * x)
    pair = jax.jit(jax_op(samples.sum_and_difference))(X, X[0])
    np.testing.assert_array_equal(pair[0], X + X[0])
    np.testing.assert_array_equal(pair[1], X - X[0])
    np.testing.assert_array_equal(jax_op(samples.smooth)(X[0, 0]), samples.smooth(X[0, 0]))


@pytest.mark.parametrize(
    "options", [{}, {"axis": 1}, {"axis": (0, -1), "keepdims": True}, {"axis": ()}]
)
def test_reductions(options: Any, jax: Any) -> None:
    norm2 = jax_op(samples.NORM2)
    result = jax.jit(lambda x: norm2(x, **options))(X)
    np.testing.assert_array_equal(result, (X * X).sum(**options))


@pytest.mark.parametrize("name", ["bool", "uint8", "int32", "float16", "bfloat16", "complex64"])
def test_dtypes(name: str, jax: Any) -> None:
    x = jax.numpy.ones(4, name)
    op = jax.jit(jax_op(samples.AXPB))
    assert op(x, 1).dtype == x.dtype
    if name not in ("bool", "uint8", "int32"):
        assert op(x, 2.5).dtype == op(x, b=2.0, a=x).dtype == x.dtype
    with pytest.raises(ArgumentTypeError, match="bound to both"):
        op(x, jax.numpy.ones(4))


def test_numbers_keep_type_and_sign(jax: Any) -> None:
    op = jax_op(ElementwiseKernel("float32 x, float32 a", "float32 y", "y = copysign(x, a)"))
    x = np.ones(1, np.float32)
    for wrapped in (lambda call: call, jax.jit):
        results = [wrapped(lambda x, a=a: op(x, a))(x) for a in (0.0, -0.0, 0.0)]
        assert [result.tolist() for result in results] == [[1], [-1], [1]]


def test_whole_arrays_alone_need_a_size(jax: Any) -> None:
    op = jax_op(ElementwiseKernel("raw T x, T a", "T y", "y = x[i] * a"))
    np.testing.assert_array_equal(jax.jit(lambda x: op(x, 2, size=3))(X[0, 0]), [0, 2, 4])
    with pytest.raises(ArgumentValueError, match="pass 'size='"):
        op(X[0, 0], 2)


def test_launches(jax: Any) -> None:
    def like(x: Any) -> Any:
        return jax.ShapeDtypeStruct(x.shape, x.dtype)

    options: dict[str, Any] = {"grid": lambda n: -(-n // 2), "block": 2, "outputs": {"y": like}}
    for kernel, args, expected in (
        (samples.SQUARES, (4, X[0, 0]), X[0, 0] ** 2),
        (samples.add_one, (X[0, 0], 4), X[0, 0] + 1),
    ):
        op = jax_op(kernel, **options)
        np.testing.assert_array_equal(op(*args), expected)
        np.testing.assert_array_equal(jax.jit(op)(*args), expected)
    rows = jax.vmap(lambda x: op(x, 4))(X[0])
    np.testing.assert_array_equal(rows, X[0] + 1)
    with pytest.raises(ArgumentTypeError, match="'n' is a number, and was given an array"):
        jax_op(samples.SQUARES, **options)(X[0, 0], X[0, 0])


def test_batches(jax: Any) -> None:
    square, axpb, vmap = jax_op(samples.SQUARE), jax_op(samples.AXPB), jax.vmap
    a = np.arange(2, dtype=np.float32)
    wanted = a[:, None, None] * X + 1
    np.testing.assert_array_equal(vmap(square, in_axes=-1, out_axes=-1)(X), X * X)
    np.testing.assert_array_equal(vmap(axpb)(X, a), wanted)
    np.testing.assert_array_equal(jax.jit(vmap(axpb))(X, a), wanted)
    np.testing.assert_array_equal(
        vmap(axpb, in_axes=(None, 0))(X[0], a), a[:, None, None] * X[0] + 1
    )
    both = vmap(vmap(axpb, in_axes=(0, None)), in_axes=(None, 0))(X, a)
    np.testing.assert_array_equal(both, a[:, None, None, None] * X + 1)
    np.testing.assert_array_equal(vmap(jax.jit(axpb), in_axes=(0, None))(X, 2.0), 2 * X + 1)
    np.testing.assert_array_equal(vmap(jax.jit(axpb))(X, jax.numpy.asarray(a)), wanted)
    np.testing.assert_array_equal(
        vmap(lambda k: jax.jit(axpb)(X[0], k * 1.0))(a), wanted * 0 + a[:, None, None] * X[0] + 1
    )
    smooth = jax_op(samples.smooth)
    np.testing.assert_array_equal(vmap(smooth)(X[0]), [samples.smooth(row) for row in X[0]])


def test_a_kernel_that_sees_elements_alone_is_called_once(jax: Any) -> None:
    for kernel, count in ((samples.SQUARE, 1), (samples.smooth, 3)):
        program = str(jax.make_jaxpr(jax.vmap(jax_op(kernel)))(X[0]))
        assert ("sequential" in program) == (count > 1)


def test_gradients(jax: Any) -> None:
    grad = jax.grad
    square = jax_op(samples.SQUARE, backward=samples.SLOPE)
    np.testing.assert_array_equal(jax.jit(grad(lambda x: square(x).sum()))(X), 2 * X)
    axpb = jax_op(samples.AXPB, backward=samples.AXPB_SLOPES)
    for a in (X, X[0], X[0, :, :1], X[0, 0, 0], 2.0):
        of = grad(lambda x, a: (axpb(x, a) * x).sum(), (0, 1))
        wanted = grad(lambda x, a: ((a * x + 1) * x).sum(), (0, 1))(X, a)
        for found, expected in zip(of(X, a), wanted, strict=True):
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose(found, expected, rtol=1e-6)
    rows = jax.vmap(grad(lambda x: square(x).sum()))(X)
    np.testing.assert_array_equal(rows, 2 * X)


@pytest.mark.parametrize(
    "options", [{}, {"axis": 1}, {"axis": (0, -1), "keepdims": True}, {"axis": ()}]
)
def test_gradients_of_reductions(options: Any, jax: Any) -> None:
    jnp = jax.numpy
    x = X + 1
    for kernel, backward, plain in (
        (samples.NORM, samples.NORM_SLOPE, lambda x: jnp.sqrt((x * x).sum(**options))),
        (samples.TOTAL, samples.TOTAL_SLOPE, lambda x: x.sum(**options)),
    ):
        op = jax_op(kernel, backward=backward)
        found = jax.grad(lambda x, op=op: (op(x, **options) ** 2).sum())(x)
        wanted = jax.grad(lambda x, plain=plain: (plain(x) ** 2).sum())(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_whole_arrays_do_not_decide_the_shape(jax: Any) -> None:
    slope = ElementwiseKernel("raw T w, T grad_y", "T grad_x", "grad_x = w[0] * grad_y")
    kernel = ReductionKernel("T x, raw T w", "T y", "x * w[0]", "a + b", "y = a", "0")
    op, w = jax_op(kernel, backward=slope), np.full((2, 2, 2, 2), 3, np.float32)
    for options in ({}, {"axis": -1}):
        np.testing.assert_array_equal(op(X, w, **options), 3 * X.sum(**options))
        found = jax.grad(lambda x, o=options: op(x, w, **o).sum())(X)
        np.testing.assert_array_equal(found, np.full_like(X, 3))


def test_gradients_keep_types(jax: Any) -> None:
    axpb = jax_op(samples.AXPB, backward=samples.AXPB_SLOPES)
    half = X.astype(np.float16)
    found = jax.jit(jax.grad(lambda x, a: axpb(x, a).sum(), (0, 1)))(half, 2.0)
    assert [(one.dtype, one.shape) for one in found] == [(half.dtype, X.shape), (np.float32, ())]
    np.testing.assert_array_equal(found[0], np.full_like(half, 2))
    assert found[1] == X.sum()
    whole = jax.grad(lambda x: axpb(x * 1.0, np.arange(4, dtype=np.float32)).sum())(X)
    np.testing.assert_array_equal(whole, np.arange(4) + 0 * X)
    kernel = ElementwiseKernel("int32 k, T x", "T y", "y = k * x")
    slope = ElementwiseKernel(
        "int32 k, T x, T grad_y", "int32 grad_k, T grad_x", "grad_x = k * grad_y; grad_k = 0"
    )
    op = jax_op(kernel, backward=slope)
    k = np.arange(4, dtype=np.int32)
    np.testing.assert_array_equal(jax.grad(lambda x: op(k, x).sum())(X), k + 0 * X)


def test_without_a_backward_kernel(jax: Any) -> None:
    op = jax_op(samples.SQUARE)
    with pytest.raises(UnsupportedError, match="The operator of kernel 'square' has no gradient"):
        jax.grad(lambda x: op(x).sum())(X)


def test_x64(jax: Any) -> None:
    op = jax_op(ElementwiseKernel("T x", "float64 y", "y = x"))
    with pytest.raises(ArgumentTypeError, match="has dtype 'float64', which JAX has only with its"):
        op(X)
    with jax.enable_x64(True):
        assert op(X).dtype == jax_op(samples.SQUARE)(X.astype("float64")).dtype == np.float64


def test_arguments_that_do_not_fit(jax: Any) -> None:
    op, norm2 = jax_op(samples.AXPB), jax_op(samples.NORM2)
    messages = {
        "Input 'a' of 'axpb' is missing": lambda: op(X),
        "Kernel 'axpb' got 4 arguments": lambda: op(X, X, X, X),
        "Kernel 'axpb' has no parameter 'c'": lambda: op(X, X, c=1),
        "Kernel 'axpb' has no parameter 'axis'": lambda: op(X, X, axis=1),
        "got two values for parameter 'x'": lambda: op(X, X, x=X),
        "neither an array of JAX or NumPy nor a number": lambda: op("x", X),
        "has dtype 'key<fry>', which kernels have not": lambda: op(jax.random.key(0), 1),
        "cannot be broadcast together": lambda: jax.jit(op)(X, X[0, :2]),
        "Axis 3 is out of bounds": lambda: norm2(X, axis=3),
    }
    for message, call in messages.items():
        with pytest.raises(KernelToolkitError, match=message):
            call()


def test_kernels_that_make_no_operator(jax: Any) -> None:
    grid: dict[str, Any] = {"grid": 1, "block": 1}
    messages = {
        "(?s)writes to its input 'y'.*arrays of JAX never change": lambda: jax_op(
            samples.SQUARES, **grid
        ),
        "(?s)writes to its input 'x'.*arrays of JAX never change": lambda: jax_op(samples.SCALE),
        "has no outputs": lambda: jax_op(samples.store),
        "'backward' must be a kernel, not": lambda: jax_op(samples.SQUARE, backward=np.sin),
        "launched on a grid": lambda: jax_op(samples.SQUARE, backward=samples.SQUARES),
        "writes to 'y', which its operator does not declare": lambda: jax_op(
            samples.add_one, outputs={"x": lambda y: y}, **grid
        )(X[0, 0], 1),
    }
    for message, make in messages.items():
        with pytest.raises(KernelToolkitError, match=message):
            make()


def test_an_old_jax(jax: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "__version__", "0.4.33")
    with pytest.raises(BackendUnavailableError, match=r"install JAX 0\.4\.34 or newer"):
        kerneltk.jax_op(samples.SQUARE)
