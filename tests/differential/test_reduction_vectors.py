"""Reductions whose vectors begin anywhere: of small elements, of operands in opposite orders; and
those of several rows in whole vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from kerneltk import ReductionKernel

from ..joint_units import JointCases
from .reduction_cases import (
    ADD_TO,
    ARGMIN,
    DOT,
    F16,
    F32,
    F64,
    I8,
    LEAST,
    SUM,
    U8,
    ReductionCase,
    argmin,
    dot,
    least,
    numbers,
    total,
)
from .support import Array, c_order, f_order, misaligned, place, stepped
from .test_reduction import assert_compiled_for_cuda, calls_of, check, units_of, ways

MIXED_DOT = ReductionKernel("T x, U w", "U y", "x * w", "a + b", "y = a", "0", "mixed_dot")


def cut(array: Array) -> Array:
    """As x[..., 2:-3]."""
    whole = np.empty((*array.shape[:-1], array.shape[-1] + 5), array.dtype)
    return place(array, whole.strides, 2 * array.itemsize)


def reversed_rows(array: Array) -> Array:
    """As x[..., ::-1]."""
    return place(array, [*array.strides[:-1], -array.itemsize], 3 * array.itemsize)


def vector_cases() -> Iterator[ReductionCase]:
    layouts: tuple[Callable[[Array], Array], ...] = (misaligned, cut, reversed_rows, stepped)
    for dtype in (U8, F16):
        for make in layouts:
            if dtype == F16 and make is misaligned:
                continue  # at odd addresses elements are no elements
            for shape, axis in (((40, 90), 0), ((5, 17, 6, 41), (0, 2)), ((9, 3, 7, 101), (0, 3))):
                yield ReductionCase(f"{make.__name__}-{dtype}-{axis}", SUM,
                    lambda d=dtype, s=shape, m=make: (m(numbers(d, s)),), total, axis,
                    modes=("new", "f"))  # fmt: skip
    for shape, axis in (((33, 57), 0), ((9, 3, 7, 101), (0, 3)), ((4, 3, 7, 101), (0, 2))):
        yield ReductionCase(f"without-identity-{axis}", LEAST,
            lambda s=shape: (misaligned(numbers(I8, s)),), least, axis, modes=("new",))  # fmt: skip
        yield ReductionCase(f"masked-{axis}", SUM,
            lambda s=shape: (misaligned(numbers(U8, s)),), total, axis,
            mask=lambda s=shape: cut(numbers("?", s, 1)), modes=("new",))  # fmt: skip
    yield ReductionCase("numbered", ARGMIN,
        lambda: (cut(numbers(U8, (9, 3, 7, 101)) // 8),), argmin, (0, 3), modes=("new",)
    )  # fmt: skip
    yield ReductionCase("added-to", ADD_TO,
        lambda: (misaligned(numbers(U8, (21, 83))), misaligned(numbers(U8, 83, 1), 3)),
        lambda x, y, **how: np.asarray(y + total(x, **how), y.dtype), 0)  # fmt: skip
    yield ReductionCase(  # the last vector of results begins within the one before
        "added-to-aligned", ADD_TO,
        lambda: (misaligned(numbers(U8, (21, 83))), numbers(U8, 83, 1)),
        lambda x, y, **how: np.asarray(y + total(x, **how), y.dtype), 0,
    )  # fmt: skip
    for wide in (F32, F64):  # rows' last vectors lack elements
        yield ReductionCase(f"beside-{wide}", MIXED_DOT,
            lambda w=wide: (cut(numbers(U8, (9, 3, 7, 101))),
                            numbers(w, (9, 3, 7, 202), 1)[..., ::2]),
            lambda x, w, **how: total(x * w, **how), (0, 3), modes=("new",))  # fmt: skip
    yield ReductionCase("split", SUM,
        lambda: (misaligned(numbers(U8, (9001, 45))),), total, 0, modes=("new",))  # fmt: skip
    for first, second in ((U8, U8), (F16, F16), (F32, F32), (F64, F64)):
        for axis in (0, 1):
            for make in (c_order, cut):
                yield ReductionCase(f"opposite-{first}-{make.__name__}-{axis}", DOT,
                    lambda a=first, b=second, m=make: (f_order(numbers(a, (67, 45))),
                                                       m(numbers(b, (67, 45), 1))), dot, axis,
                    modes=("new",))  # fmt: skip
    yield ReductionCase("opposite-split", DOT,
        lambda: (f_order(numbers(F32, (9003, 40))), c_order(numbers(F32, (9003, 40), 1))), dot, 0,
        modes=("new",))  # fmt: skip


def folded_cases() -> Iterator[ReductionCase]:
    """Short rows of results, several of which are one of the loop's in whole vectors."""
    for dtype in (U8, F16):
        # Of one block and of many, which end with a row of the loop's and within one.
        for shape, axis in (((4099, 7), 0), ((9000, 50), 0), ((3, 4096, 12), 1)):
            yield ReductionCase(f"{dtype}-{shape}", SUM,
                lambda d=dtype, s=shape: (numbers(d, s),), total, axis, modes=("new", "f")
            )  # fmt: skip
    yield ReductionCase(  # few rows, of several rows of outputs
        "batch", SUM, lambda: (numbers(F16, (20, 1300, 6)),), total, 1, modes=("new",)
    )
    yield ReductionCase("without-identity", LEAST,
        lambda: (numbers(I8, (5001, 7)),), least, 0, modes=("new",))  # fmt: skip
    yield ReductionCase("masked", SUM,
        lambda: (numbers(U8, (9001, 7)),), total, 0,
        mask=lambda: numbers("?", (9001, 7), 1), modes=("new",))  # fmt: skip
    yield ReductionCase(  # one array has one element for all
        "beside-one", MIXED_DOT, lambda: (numbers(U8, (6007, 7)), np.array([[3.0]], F32)),
        lambda x, w, **how: total(x * w, **how), 0, modes=("new",),
    )  # fmt: skip
    yield ReductionCase("added-to", ADD_TO,
        lambda: (numbers(U8, (6007, 7)), numbers(U8, 7, 1)),
        lambda x, y, **how: np.asarray(y + total(x, **how), y.dtype), 0)  # fmt: skip


CASES, FOLDED = tuple(vector_cases()), tuple(folded_cases())


JOINT = JointCases((CASES[::2], FOLDED), units_of)


@pytest.mark.parametrize("backend", [pytest.param("cuda", marks=pytest.mark.gpu)], indirect=True)
@pytest.mark.parametrize("case", CASES + FOLDED, ids=lambda case: case.name)
def test_case(backend: Any, case: ReductionCase) -> None:
    for mode in ways(case):
        check(backend, case, mode)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", CASES[::2] + FOLDED, ids=lambda case: case.name)
def test_case_compiles_for_cuda(case: ReductionCase, once: Any) -> None:
    for way, unit in units_of(case, "cuda").items():
        assert ("_kt_flat" if case in FOLDED else "fetch_shifted") in unit.source
        JOINT.prepare(case, way, "cuda", once)
    for _, arguments, how in calls_of(case):
        assert_compiled_for_cuda(case.kernel, *arguments, **how)
