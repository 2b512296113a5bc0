"""Calls of kernels do what their classes' `__call__` does, whichever way they go."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import jit
from kerneltk.core.settings import get_settings
from kerneltk.jit.frontends.kernel import ElementKernel
from kerneltk.jit.frontends.rawkernel import Configured
from kerneltk.launch import called, interpreter

needs_module = pytest.mark.skipif(
    called._module is None, reason="the extension module was not built with the package"
)
CODE = """extern "C" __global__ void plus(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] + 1; }"""
X = np.arange(12, dtype=np.float32)


@jit.rawkernel
def doubled(x, y, n):  # type: ignore[no-untyped-def]
    i = jit.grid(1)
    if i < n:
        y[i] = 2 * x[i]


@jit.kernel
def added(x, y):  # type: ignore[no-untyped-def]
    return x + y


def frames_of(call: Callable[[], Any]) -> list[str]:
    """The names of the functions in Python that a call calls, launchers' left out."""
    names: list[str] = []

    def note(frame: Any, event: str, argument: object) -> None:
        if frame.f_code.co_filename != interpreter.__file__:
            names.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names


@needs_module
def test_common_calls_have_no_frame_of_the_methods() -> None:
    kernel = kerneltk.ElementwiseKernel("T x", "T y", "y = x + 3", "frames")
    raw, x, y = kerneltk.RawKernel(CODE, "plus"), X, X.copy()
    grid: Any = doubled[1, 32]
    kinds: list[Callable[[], Any]] = [
        lambda: kernel(x), lambda: raw(1, 32, (x, y, 12)), lambda: grid(x, y, 12),
    ]  # fmt: skip
    if get_settings().launcher != "python":  # shortcuts in Python are called by the method
        kinds.append(lambda: added(x, x))
    for call in kinds:
        call(), call()
        assert "__call__" not in frames_of(call)
    with called.by_methods():
        assert "__call__" in frames_of(kinds[0])


def test_subclasses_have_their_own_calls() -> None:
    class Plain(kerneltk.ElementwiseKernel):
        pass

    class Own(kerneltk.ElementwiseKernel):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return "own", super().__call__(*args, **kwargs).tolist()

    plain = Plain("T x", "T y", "y = x + 5", "plain_subclass")
    own = Own("T x", "T y", "y = x + 5", "own_subclass")
    for _ in range(3):
        assert plain(X[:2]).tolist() == [5, 6]
        assert own(X[:2]) == ("own", [5, 6])
    Plain.__call__ = lambda self, *args: "set"  # type: ignore[method-assign,assignment]
    assert plain(X) == "set"


def test_another_method_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kerneltk.ElementwiseKernel("T x", "T y", "y = x + 5", "replaced_calls")
    grid: Any = doubled[1, 32]
    y = np.zeros_like(X)
    both: list[tuple[Any, tuple[Any, ...]]] = [(kernel, (X,)), (grid, (X, y, 12)), (added, (X, X))]
    for one, given in both:
        one(*given), one(*given)
        with monkeypatch.context() as patch:
            patch.setattr(type(one), "__call__", lambda self, *args, **words: "replaced")
            assert one(*given) == "replaced"
        result = one(*given)
        assert isinstance(result, np.ndarray) or y.tolist() == (2 * X).tolist()


def test_kernels_are_copied_and_pickled() -> None:
    kernels = [
        kerneltk.ElementwiseKernel("T x", "T y", "y = x + 7", "pickled_calls"),
        kerneltk.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "pickled_sum"),
    ]
    for kernel in kernels:
        expected = kernel(X).tolist()
        for again in (pickle.loads(pickle.dumps(kernel)), copy.copy(kernel), copy.deepcopy(kernel)):
            assert [again(X).tolist() for _ in range(2)] == [expected] * 2
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(kernel, protocol))(X).tolist() == expected
    raw = pickle.loads(pickle.dumps(kerneltk.RawKernel(CODE, "plus")))
    y = np.zeros_like(X)
    raw(1, 32, (X, y, 12))
    assert y.tolist() == (X + 1).tolist()


def test_kernels_with_a_grid_are_copied_and_pickled() -> None:
    grid: Any = doubled[1, 32]
    y = np.zeros_like(X)
    for called_before in (False, True):
        for again in (copy.copy(grid), copy.deepcopy(grid), pickle.loads(pickle.dumps(grid))):
            y[:] = 0
            again(X, y, 12)
            assert y.tolist() == (2 * X).tolist(), called_before
        grid(X, y, 12)


class Fields(kerneltk.ElementwiseKernel):
    __slots__ = ("more",)


def test_subclasses_with_attributes_of_their_own_are_copied() -> None:
    kernel = Fields("T x", "T y", "y = x + 4", "with_fields")
    kernel.more = 3
    assert kernel(X).tolist() == (X + 4).tolist()
    for again in (copy.copy(kernel), copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert again(X).tolist() == (X + 4).tolist()


@needs_module
def test_classes_that_are_called_so() -> None:
    for kind in (
        kerneltk.ElementwiseKernel, kerneltk.ReductionKernel, kerneltk.RawKernel, Configured,
        ElementKernel,
    ):  # fmt: skip
        assert issubclass(kind, called.Called)
        assert kind.__call__.__doc__
    with pytest.raises(TypeError, match="no subclass"):
        called._module.call_by_kind(int)  # type: ignore[union-attr]
    with pytest.raises(AttributeError, match="_call_kind"):
        called.Called()
