"""Fused programs give what plain NumPy gives: values, dtypes, shapes, and what arguments hold."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import kerneltk
from tests.differential.fuse_programs import (
    FAMILIES,
    IN_PLACE,
    Family,
    in_place_arguments,
)

# Every second family is exhaustive; those of their own kind are not.
FEWER = [
    pytest.param(
        family,
        marks=pytest.mark.exhaustive
        if number % 2 and family.name not in ("shapes", "empty", "boolean")
        else (),
    )
    for number, family in enumerate(FAMILIES)
]

# Families whose programs make arrays by NumPy's names.
OWN_ARRAYS = ("shapes", "indexed_rows", "arranged", "products")

# Units of the last place, relative: sums of a few dozen elements, and functions of some of them.
_TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 4e-6, "float64": 1e-13,
              "complex64": 1e-5, "complex128": 1e-13}  # fmt: skip


def same(found: Any, wanted: Any, backend: Any, where: str) -> None:
    """Compare a result with NumPy's, and what it is made of."""
    if isinstance(wanted, tuple | list | dict):
        assert type(found) is type(wanted), where
        assert len(found) == len(wanted), where
        keys = wanted if isinstance(wanted, dict) else range(len(wanted))
        for key in keys:
            same(found[key], wanted[key], backend, where)
        return
    if wanted is None:
        assert found is None, where
        return
    is_own = hasattr(found, "strides") and not isinstance(found, np.ndarray | np.generic)
    plain = backend.asnumpy(found) if is_own else np.asarray(found)
    expected = np.asarray(wanted)
    assert plain.dtype == expected.dtype, f"{where}: {plain.dtype}, not {expected.dtype}"
    assert plain.shape == expected.shape, f"{where}: {plain.shape}, not {expected.shape}"
    tolerance = _TOLERANCE.get(expected.dtype.name, 0)
    if expected.dtype == np.float16:
        plain, expected = plain.astype(np.float32), expected.astype(np.float32)
    # Of a sum that cancels, the error is one of what was added.
    size = float(np.max(np.abs(expected), initial=0, where=np.isfinite(expected)))
    np.testing.assert_allclose(
        plain, expected, rtol=tolerance, atol=tolerance * max(1.0, size * (size > 100)),
        equal_nan=True, err_msg=where,
    )  # fmt: skip


def source(function: Any) -> str:
    """A program's source, for messages."""
    return inspect.getsource(function).strip()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("family", FEWER, ids=lambda family: family.name)
def test_program(backend: Any, family: Family) -> None:
    def every(*args: Any) -> list[Any]:
        return [program(*args) for program in family.programs]

    arguments = family.arguments()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        wanted = every(*arguments)
    given = [backend.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
    fused = kerneltk.fuse(every)
    if backend.name == "cuda" and family.name in OWN_ARRAYS:
        # A function's own calls of 'np.arange' make arrays of its arguments' kind, others NumPy's.
        each = [kerneltk.fuse(program) for program in family.programs]

        def fused(*args: Any) -> list[Any]:
            return [program(*args) for program in each]

    for _ in range(2):  # the first call traces, the second one does not
        found = fused(*given)
        for program, one, other in zip(family.programs, found, wanted, strict=True):
            same(one, other, backend, source(program))


@pytest.mark.one_in(12)
@pytest.mark.parametrize("program", IN_PLACE, ids=[program.__name__ for program in IN_PLACE])
def test_in_place(backend: Any, program: Any) -> None:
    fused = kerneltk.fuse(program)
    for _ in range(2):
        arguments = in_place_arguments()
        given = [backend.asarray(a) for a in arguments]
        found = fused(*given)
        wanted = program(*arguments)
        same(found, wanted, backend, source(program))
        for one, other in zip(given, arguments, strict=True):
            same(one, other, backend, source(program))


def _views(kind: str) -> Sequence[np.ndarray]:
    whole = np.random.default_rng(1).random((12, 16)).astype(np.float32)
    return {
        "rows": (whole[:6], whole[6:]),
        "shifted": (whole[:-1], whole[1:]),
        "reversed": (whole, whole[::-1]),
        "same": (whole, whole),
        "strided": (whole[::2], whole[1::2]),
    }[kind]


@pytest.mark.parametrize("kind", ["rows", "shifted", "reversed", "same", "strided"])
def test_arguments_that_overlap(backend: Any, kind: str) -> None:
    def program(x: Any, y: Any) -> Any:
        x += 1
        y *= 2
        return x + y

    fused = kerneltk.fuse(program)
    arguments = _views(kind)
    given = backend.asarrays(*arguments)
    found = fused(*given)
    wanted = program(*arguments)
    same(found, wanted, backend, kind)
    for one, other in zip(given, arguments, strict=True):
        same(one, other, backend, kind)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4"])
def test_nested_extremes_of_numbers_and_nan(backend: Any, dtype: str) -> None:
    values = [1, -1, 0, -0.0, 7, np.nan, np.inf, -np.inf] if dtype[0] == "f" else [1, -1, 0, 7]
    x, y, z = (axis.ravel().astype(dtype) for axis in np.meshgrid(values, values, values))

    def program(x: Any, y: Any, z: Any) -> Any:
        low, high = np.minimum(np.minimum(x, y), z), np.maximum(np.maximum(x, y), z)
        return low, high, np.clip(x, y, z), np.maximum(np.minimum(high, x + y), low)

    found = kerneltk.fuse(program)(*map(backend.asarray, (x, y, z)))
    with np.errstate(all="ignore"):
        same(found, program(x, y, z), backend, dtype)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dtype", ["f2", "i4", "f4", "u1", "f8"])
def test_places_of_extremes_among_ties_and_nan(backend: Any, dtype: str) -> None:
    def program(x: Any) -> Any:
        return x.argmax(), x.argmin(axis=0), x.argmax(axis=1), x.argmin(axis=1)

    fused = kerneltk.fuse(program)
    across = kerneltk.fuse(lambda x: x.T.argmax())  # not in the order of memory
    rng = np.random.default_rng(0)
    for columns in (1, 7, 64, 65, 300, 9001):
        x = rng.integers(0, 5, (9, columns)).astype(dtype)
        chosen = rng.random(x.shape)
        if x.dtype.kind == "f":
            x[1:][chosen[1:] > 0.97] = np.nan
            x[chosen < 0.2] *= -1  # of zeros, too
            x[2], x[3] = np.nan, -np.inf
        x[4], x[5] = np.sort(x[4]), np.sort(x[5])[::-1]
        x[6] = 0
        same(fused(backend.asarray(x)), program(x), backend, (dtype, columns))
        same(across(backend.asarray(x)), x.T.argmax(), backend, (dtype, columns))


def test_quotients_of_all_sizes_are_rounded_once(backend: Any) -> None:
    special = [0, 1, 0x7FFFFF, 0x800000, 0x21800000, 0x5D800000, 0x3F7FFFFF, 0x3F800000, 0x3F800001,
               0x7F7FFFFF, 0x7F800000, 0x7FC00000]  # fmt: skip
    bits = np.array([*special, *(0x80000000 | one for one in special)], np.uint32)
    dice = np.random.default_rng(11)
    some, others = dice.integers(0, 1 << 32, (2, 1 << 16), dtype=np.uint32)
    some[::3], others[::3] = (part[::3] & 0x83FFFFFF | 0x3C000000 for part in (some, others))
    x = np.concatenate([np.repeat(bits, len(bits)), some]).view(np.float32)
    y = np.concatenate([np.tile(bits, len(bits)), others]).view(np.float32)
    halves = dice.integers(1, 2000, 1 << 14, dtype=np.uint32)  # halfway between two subnormals
    odd = dice.integers(0, 200, 1 << 14, dtype=np.uint32) * 2 + 1
    x = np.concatenate([x, (odd * halves).view(np.float32)])
    y = np.concatenate([y, 2 * halves.astype(np.float32)])

    def divided(x: Any, y: Any) -> Any:
        return x / y

    found = backend.asnumpy(kerneltk.fuse(divided)(backend.asarray(x), backend.asarray(y)))
    with np.errstate(all="ignore"):
        wanted = x / y
    is_number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found), ~is_number)
    np.testing.assert_array_equal(
        found[is_number].view(np.uint32), wanted[is_number].view(np.uint32)
    )


@pytest.mark.gpu
def test_more_than_2_31_elements(large_arrays: None) -> None:
    import cupy

    @kerneltk.fuse
    def program(x: Any) -> Any:
        return x + x, x.sum(axis=1, dtype=np.int32), x.sum(dtype=np.int64)

    rows, columns = 2**20, 2**11 + 3
    x = cupy.ones((rows, columns), np.int8)
    x[-1] = 2
    double, per_row, total = program(x)
    assert x.size > 2**31
    assert int(total) == x.size + columns
    assert (int(per_row[0]), int(per_row[-1])) == (columns, 2 * columns)
    assert bool((per_row[:-1] == columns).all())
    assert bool((double[:-1] == 2).all())
    assert bool((double[-1] == 4).all())
    totals = kerneltk.fuse(lambda x: np.cumsum(x, dtype=np.int8))(x.ravel())
    assert int(totals[-1] - totals[-columns]) == 2 * (columns - 1) % 256
