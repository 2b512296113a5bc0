"""Loops of more than 2^31 elements: run on a GPU, and compiled without one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec, ElementwiseKernel

BEYOND = 2**31 + 5
ROWS, COLUMNS = 65_537, 32_771  # more than 2^31 elements, in rows of odd length

TRIPLE = ElementwiseKernel("T x", "T y", "y = 3 * x", "triple")
HIGH_INDEX = ElementwiseKernel("T x", "T y", "y = x + (i >> 24)", "high_index")
DIFFERENCE = ElementwiseKernel("T x, T w", "T y", "y = x - w", "difference")
RAW = ElementwiseKernel("raw T x", "T y", "y = x[n - 1 - i]", "backwards")


@pytest.fixture
def cupy(large_arrays: None) -> Any:
    import cupy

    return cupy


def pattern(cupy: Any, size: int) -> Any:
    return cupy.arange(size, dtype=cupy.uint32).astype(cupy.uint8)


@pytest.mark.gpu
def test_flat(cupy: Any) -> None:
    x = pattern(cupy, BEYOND)
    y = TRIPLE(x)
    assert bool((y[-1000:] == 3 * x[-1000:]).all())
    assert bool((y == 3 * x).all())


@pytest.mark.gpu
def test_index(cupy: Any) -> None:
    x = cupy.zeros(BEYOND, cupy.uint8)
    y = HIGH_INDEX(x)
    for block in range(129):
        part = y[block << 24 : (block + 1) << 24]
        assert bool((part == block).all()), block


@pytest.mark.gpu
@pytest.mark.parametrize("other", ["row", "column", "transposed"])
def test_rows(cupy: Any, other: str) -> None:
    x = pattern(cupy, ROWS * COLUMNS).reshape(ROWS, COLUMNS)
    w = {
        "row": lambda: pattern(cupy, COLUMNS),
        "column": lambda: pattern(cupy, ROWS)[:, None],
        "transposed": lambda: pattern(cupy, ROWS * COLUMNS).reshape(COLUMNS, ROWS).T,
    }[other]()
    y = DIFFERENCE(x, w)
    for rows in (slice(0, 2), slice(ROWS // 2, ROWS // 2 + 2), slice(-2, None)):
        part = w if other == "row" else w[rows]
        assert bool((y[rows] == x[rows] - part).all()), rows
    assert int(cupy.count_nonzero(y + w != x)) == 0


@pytest.mark.gpu
def test_raw(cupy: Any) -> None:
    x = pattern(cupy, BEYOND)
    assert bool((RAW(x, size=BEYOND) == x[::-1]).all())


@pytest.mark.parametrize(
    ("kernel", "arguments"),
    [
        (TRIPLE, [ArraySpec.make("uint8", BEYOND)]),
        (TRIPLE, [ArraySpec.make("uint8", BEYOND, offset=3)]),
        (HIGH_INDEX, [ArraySpec.make("uint8", BEYOND)]),
        (DIFFERENCE, [ArraySpec.make("uint8", (ROWS, COLUMNS)), ArraySpec.make("uint8", COLUMNS)]),
        (
            DIFFERENCE,
            [
                ArraySpec.make("uint8", (ROWS, COLUMNS)),
                ArraySpec.make("uint8", (ROWS, COLUMNS), order="F"),
            ],
        ),
    ],
    ids=["flat", "odd-address", "index", "row", "transposed"],
)
def test_compiles(kernel: ElementwiseKernel, arguments: list[ArraySpec]) -> None:
    text = kernel.translation_unit(*arguments).source
    assert "using _kt_index = long long" in text
    assert kernel.compile(*arguments, target="sm_90").code


def test_few_elements_far_apart_need_wide_offsets() -> None:
    far = ArraySpec.make(np.float32, (1000, 1000), strides=(2**23, 4))
    assert "using _kt_index = long long" in TRIPLE.translation_unit(far).source
    near = ArraySpec.make(np.float32, (1000, 1000), strides=(2**20, 4))
    assert "using _kt_index = int" in TRIPLE.translation_unit(near).source
