"""CuPy's functions in fused functions: by any way that a function has them, with no GPU."""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy as np
import pytest

import kerneltk

cupy = pytest.importorskip("cupy")

X = np.linspace(0.5, 2, 6).reshape(2, 3)


class Functions:
    exp = cupy.exp
    where = staticmethod(cupy.where)


def given(x: Any, total: Any = cupy.sum) -> Any:
    return total(x, axis=0)


exp, ops = cupy.exp, {"exp": cupy.exp, "expand_dims": cupy.expand_dims}
first = functools.partial(cupy.mean, axis=0)


def test_ways_to_a_function() -> None:
    special = pytest.importorskip("scipy").special  # whose functions are in place of cupyx's

    @kerneltk.fuse
    def by_cupy(x: Any, xp: Any) -> Any:
        import cupy as c
        import cupyx.scipy.special as s

        return [
            exp(x), cupy.log1p(x), xp.exp(x), ops["expand_dims"](ops["exp"](x), 0), first(x),
            given(x),
            Functions.where(x > 1, Functions.exp(x), 0), c.exp(x) + s.erf(x), xp.add.reduce(x, 1),
            x + c.zeros(x.shape, x.dtype) + c.arange(x.shape[1]), x * c.sqrt(2.0) * c.float32(2),
            c.get_array_module(x).exp(x), c.asarray(x) + c.array(x),
        ]  # fmt: skip

    e = np.exp(X)
    wanted = [
        e, np.log1p(X), e, e[None], X.mean(0), X.sum(0), np.where(X > 1, e, 0), e + special.erf(X),
        X.sum(1), X + np.arange(3), X * np.sqrt(2.0) * 2, e, X + X,
    ]  # fmt: skip
    for _ in range(2):
        for found, own in zip(by_cupy(X, cupy), wanted, strict=True):
            np.testing.assert_allclose(found, own)


def test_a_function_as_an_argument() -> None:
    fused = kerneltk.fuse(lambda f, x: f(x))
    np.testing.assert_allclose(fused(cupy.exp, X), np.exp(X))
    np.testing.assert_allclose(fused(cupy.sum, X), X.sum())
    np.testing.assert_allclose(fused(np.exp, X), np.exp(X))
    moved = kerneltk.fuse(lambda x: x + 1 if cupy.get_array_module(x) is np else x * 7)
    np.testing.assert_array_equal(moved(X), X + 1)


def test_every_function_has_its_own_code_again() -> None:
    before = cupy.sum.__code__

    def fails(x: Any) -> Any:
        assert cupy.sum.__code__ is not before
        cupy.sum(x)
        raise LookupError

    with pytest.raises(LookupError):
        kerneltk.fuse(fails)(X)
    state = cupy._core._fusion_thread_local.thread_local
    assert cupy.sum.__code__ is before
    assert not getattr(state, "is_new_fusing", False)


def test_other_threads_call_cupys_own() -> None:
    found: list[Any] = []
    is_traced, has_called = threading.Event(), threading.Event()

    def other() -> None:
        is_traced.wait()
        try:
            found.append(cupy.ndim(np.ones((2, 2))))
            cupy.count_nonzero("text")  # CuPy's own function refuses that in its own words
        except Exception as error:
            found.append(type(error))
        has_called.set()

    def traced(x: Any) -> Any:
        is_traced.set()
        has_called.wait()
        return cupy.sum(x)

    thread = threading.Thread(target=other)
    thread.start()
    try:
        assert kerneltk.fuse(traced)(X) == pytest.approx(X.sum())
    finally:
        is_traced.set()
        thread.join()
    assert found[0] == 2
    assert not issubclass(found[1], kerneltk.KernelToolkitError)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: cupy.unique(x),
        lambda x: cupy.ElementwiseKernel("T x", "T y", "y = x")(x),
        lambda x: cupy.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0")(x),
        lambda x: cupy.random.rand(3) + x,
        lambda x: cupy.random.RandomState().rand(3) + x,
        lambda x: cupy.asnumpy(x),
    ],
)
def test_what_is_refused(function: Any) -> None:
    with pytest.raises(kerneltk.UnsupportedError):
        kerneltk.fuse(function)(X)


def test_what_runs_unfused_has_numpys_functions() -> None:
    @kerneltk.fuse
    def add(x: Any, y: Any) -> None:
        x += cupy.exp(y) + ops["exp"](cupy.sum(y, keepdims=True)) * 0

    a = np.ones(9)
    wanted = a.copy()
    wanted[1:] += np.exp(wanted[:-1])
    add(a[1:], a[:-1])
    np.testing.assert_allclose(a, wanted)

    masked = kerneltk.fuse(fallback=True)(lambda x: cupy.exp(x)[x > 1] + cupy.zeros(1))
    np.testing.assert_allclose(masked(X), np.exp(X)[X > 1])
