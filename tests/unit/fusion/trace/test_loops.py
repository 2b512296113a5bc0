"""What NumPy computes an operation in, and what kernels can compute."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import scipy.special

from kerneltk.fusion.trace.loops import function_key, problem_of, resolved_loop

F4, F8, I1, C8 = map(np.dtype, ("f4", "f8", "i1", "c8"))


@pytest.mark.parametrize(
    ("ufunc", "operands"),
    [
        (np.add, (F4, float)),
        (np.add, (I1, int)),
        (np.add, (I1, float)),
        (np.true_divide, (I1, I1)),
        (np.sin, (I1,)),
        (np.less, (F4, int)),
        (np.power, (F8, int)),
        (np.multiply, (F4, complex)),
        (np.divmod, (F4, F4)),
        (np.frexp, (F4,)),
        (np.add, (np.dtype(ml_dtypes.bfloat16), int)),
        (np.add, (np.dtype(ml_dtypes.bfloat16), float)),
        (np.logical_and, (np.dtype(bool), F4)),
    ],
)
def test_results_have_numpys_dtypes(ufunc: np.ufunc, operands: tuple[object, ...]) -> None:
    values = [o(1) if isinstance(o, type) else np.ones(2, o) for o in operands]
    found = ufunc(*values)
    found = found if isinstance(found, tuple) else (found,)
    assert resolved_loop(ufunc, operands, None, "same_kind")[1] == tuple(f.dtype for f in found)


def test_a_dtype_may_be_asked_for() -> None:
    assert resolved_loop(np.add, (F4, F4), F8, "same_kind") == ((F8, F8), (F8,))


@pytest.mark.parametrize("name", sorted(name for name in dir(np) if isinstance(
    getattr(np, name), np.ufunc)))  # fmt: skip
def test_kernels_have_numpys_ufuncs(name: str) -> None:
    products = {"matmul", "matvec", "vecdot", "vecmat", "isnat"}
    assert (function_key(getattr(np, name)) is None) == (name in products)


def test_functions_of_scipy() -> None:
    assert function_key(scipy.special.erf) is not None
    assert function_key(scipy.special.jv) is None


def test_what_kernels_cannot_compute() -> None:
    assert problem_of(np.less, (F4, F4)) is None
    assert problem_of(np.less, (C8, C8)) is None
    assert problem_of(np.floor_divide, (C8, C8)) is not None
