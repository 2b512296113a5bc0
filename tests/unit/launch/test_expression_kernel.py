"""What the kernels from expressions have in common."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from kerneltk import ArgumentTypeError, ArraySpec, CompileError, ElementwiseKernel, ReductionKernel
from kerneltk.errors import NotCompiledError

N = 20_000
X = np.where(np.arange(N) % 3 == 0, -1, np.arange(N)).astype(np.float32)


def test_attributes_are_read_only() -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x", "still")
    for name in ("operation", "name", "in_params", "preamble", "reduce_dims"):
        with pytest.raises(AttributeError):
            setattr(kernel, name, "other")
    assert not hasattr(kernel, "cached_code")


def test_compile_errors_travel_between_processes() -> None:
    with pytest.raises(CompileError) as caught:
        ElementwiseKernel("T x", "T y", "y = foo", "bad")(X)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_kernels_tell_what_they_are() -> None:
    kernel = ElementwiseKernel("T x, raw T w", "T y", "y = x", "k", preamble="int a;")
    assert (kernel.nin, kernel.nout, kernel.nargs) == (2, 1, 3)
    assert (kernel.name, kernel.__name__, kernel.preamble) == ("k", "k", "int a;")
    assert [parameter.name for parameter in kernel.in_params] == ["x", "w"]
    assert [parameter.name for parameter in kernel.out_params] == ["y"]
    assert repr(kernel) == "<ElementwiseKernel k(T x, raw T w) -> (T y)>"
    total = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    assert repr(total) == "<ReductionKernel total(T x) -> (T y)>"


@pytest.mark.exhaustive
def test_sources_of_calls_are_kept() -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x", "kept")
    with pytest.warns(UserWarning, match="No codes are cached"):
        assert kernel.cached_codes == {}
    with pytest.raises(NotCompiledError, match="Kernel 'kept' has not been called"):
        _ = kernel.cached_code
    assert isinstance(kernel.cached_codes if kernel(X).size else None, dict)
    assert kernel.cached_code == kernel.cached_codes[np.dtype("f4"), np.dtype("f4")]
    codes = kernel.cached_codes
    codes.clear()
    assert kernel.cached_codes
    kernel(X.astype("f8"))
    with pytest.warns(UserWarning, match="Several sources are cached"):
        _ = kernel.cached_code


def test_copies_know_nothing_of_calls() -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x + 1", "copied")
    kernel(X)
    for made in (pickle.loads(pickle.dumps(kernel)), copy.copy(kernel), copy.deepcopy(kernel)):
        assert repr(made) == repr(kernel)
        with pytest.raises(NotCompiledError):
            _ = made.cached_code
        np.testing.assert_array_equal(made(X[:3]), X[:3] + 1)
    assert kernel.cached_code


def test_compiling_ahead_describes_its_arguments() -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x", "ahead")
    with pytest.raises(ArgumentTypeError, match="describes no argument"):
        kernel.translation_unit("float32")
    with pytest.raises(ValueError, match="'nowhere'"):
        kernel.compile(ArraySpec.make("f4", 3), target="nowhere")
    unit = kernel.translation_unit(ArraySpec.make("f4", 3), backend="host")
    assert unit.entry == "_kt_entry_ahead"
