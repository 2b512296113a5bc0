"""CuPy's functions in fused functions: by any way that a function has them, with no GPU."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.fusion import cupy_functions

cupy = pytest.importorskip("cupy")

X = np.linspace(0.5, 2, 6).reshape(2, 3)


class Model:
    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def __call__(self, x: Any) -> Any:
        xp = self.xp
        e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
        return e / xp.sum(e, axis=-1, keepdims=True)


class Functions:
    exp = cupy.exp
    where = staticmethod(cupy.where)


def imported(x: Any) -> Any:
    import cupy as c
    import cupyx.scipy.special as s

    return c.exp(x) + s.erf(x) * 0


def given(x: Any, total: Any = cupy.sum) -> Any:
    return total(x, axis=0)


exp, clip, ops = cupy.exp, cupy.clip, {"exp": cupy.exp, "expand_dims": cupy.expand_dims}
first = functools.partial(cupy.mean, axis=0)

WAYS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "global": (lambda x: clip(exp(x), 1, 3), lambda x: np.clip(np.exp(x), 1, 3)),
    "module": (lambda x: cupy.log1p(x), np.log1p),
    "attribute": (Model(cupy), Model(np)),
    "table": (lambda x: ops["expand_dims"](ops["exp"](x), 0), lambda x: np.exp(x)[None]),
    "partial": (lambda x: first(x), lambda x: x.mean(axis=0)),
    "class": (lambda x: Functions.where(x > 1, Functions.exp(x), 0),
              lambda x: np.where(x > 1, np.exp(x), 0)),
    "default": (given, lambda x: x.sum(axis=0)),
    "import": (imported, np.exp),
    "reduce": (lambda x: cupy.add.reduce(x, axis=1), lambda x: x.sum(axis=1)),
    "new": (lambda x: x + cupy.zeros(x.shape, x.dtype) + cupy.arange(x.shape[1]),
            lambda x: x + np.arange(x.shape[1])),
    "numbers": (lambda x: x * cupy.sqrt(2.0) * cupy.float32(2), lambda x: x * np.sqrt(2.0) * 2),
    "library": (lambda x: cupy.get_array_module(x).exp(x), np.exp),
    "array": (lambda x: cupy.asarray(x) + cupy.array(x), lambda x: x + x),
}  # fmt: skip


@pytest.mark.one_in(9)
@pytest.mark.parametrize("way", WAYS)
def test_ways_to_a_function(way: str) -> None:
    if way == "import":
        pytest.importorskip("scipy")  # whose functions these are in a traced function
    function, wanted = WAYS[way]
    fused = kerneltk.fuse(function)
    for _ in range(2):
        np.testing.assert_allclose(fused(X), wanted(X))


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


def test_empty_arrays_that_are_written() -> None:
    @kerneltk.fuse
    def grow(x: Any) -> None:
        x *= cupy.exp(x)

    for shape in ((0, 4), (4, 0), (0,), (2, 0, 3)):
        x = np.zeros(shape)
        grow(x)
        assert x.shape == shape


def test_nothing_is_done_for_functions_that_call_none() -> None:
    fused = kerneltk.fuse(lambda x, y: x.__iadd__(y))
    a = np.ones(4)
    fused(a[1:], a[:-1])
    programs = [p for several in fused._programs.by_kinds.values() for p in several]
    assert [p.trace.uses_cupy for p in programs] == [False]
    assert cupy_functions.counterpart(cupy.exp) is np.exp
    assert cupy_functions.counterpart(object()) is None


def test_blocks_take_ufuncs() -> None:
    with kerneltk.fuse() as fused:
        y = cupy.exp(fused(X))
    np.testing.assert_allclose(y, np.exp(X))
