"""Which layout class is chosen for the arrays that programs mostly have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from kerneltk.core.arrays import ArraySpec, broadcast_strides
from kerneltk.core.dtypes import describe
from kerneltk.schedule.elementwise import (
    Layout,
    Operand,
    Patch,
    choose_vector_width,
    plan_cuda,
    plan_host,
)

make = ArraySpec.make


def operands(*specs: ArraySpec, shape: Sequence[int]) -> list[Operand]:
    """Return the operands of a loop whose last array is written."""
    return [
        Operand(
            spec.dtype.itemsize,
            broadcast_strides(spec.shape, spec.strides, shape),
            spec.offset,
            describe(spec.dtype).alignment,
            spec is specs[-1],
        )
        for spec in specs
    ]


def cuda(*specs: ArraySpec, **options: Any) -> Layout:
    return plan_cuda(specs[-1].shape, operands(*specs, shape=specs[-1].shape), **options)


def host(*specs: ArraySpec) -> Layout:
    return plan_host(specs[-1].shape, operands(*specs, shape=specs[-1].shape))


def shown(layout: Layout) -> str:
    """The variant and its width, what else it has, and each access with its bytes."""
    found = f"{layout.variant} {layout.width}"
    for name in ("shift", "side", "box"):
        if getattr(layout, name, None):
            found += f" {name} {getattr(layout, name)}"
    accesses = [f"{a.kind} {a.chunk}{' in words' * a.in_words}" for a in layout.accesses]
    return f"{found}: {', '.join(accesses)}"


def cut(dtype: str, shape: Sequence[int], beyond: int) -> ArraySpec:
    """Return an array of longer rows, of which so many elements are left out."""
    size = np.dtype(dtype).itemsize
    return make(dtype, shape, strides=((shape[1] + beyond) * size, size))


def turned(dtype: str, *shape: int) -> ArraySpec:
    return make(dtype, shape, order="F")


def permuted(dtype: str, shape: Sequence[int], order: Sequence[int]) -> ArraySpec:
    """Return an array whose memory has the axes in an order."""
    dense = make(dtype, [shape[axis] for axis in order])
    strides = [dense.strides[order.index(axis)] for axis in range(len(shape))]
    return make(dtype, shape, strides=strides)


def pair(first: ArraySpec) -> list[ArraySpec]:
    """Return an array, and one in C order that is written."""
    return [first, make(first.dtype, first.shape)]


W, WIDE, MANY = make("f4", (256, 512)), (256, 512), (64, 512)
ROWS, ROW = make("f4", (4096, 50)), make("f4", 50)
TALL, LONE = make("f4", (640, 1001)), make("f4", (640, 1))
VIEW = make("f4", (64, 1023), strides=(4096, 4), offset=4)
LAYOUTS: list[tuple[Sequence[ArraySpec], str]] = [
    # Addresses: at one odd place, at several, and within elements.
    ([x := make("f4", 1000, offset=4), x], "vector 4 shift 1: flat 16, flat 16"),
    ([x := make("f4", 1000, offset=12), x], "vector 4 shift 3: flat 16, flat 16"),
    ([make("f4", 1000, offset=4), make("f4", 1000)], "vector 4: flat 4, flat 16"),
    ([make("f4", 1000, offset=1), make("f4", 1000, offset=2)], "interleave 4: flat 1, flat 2"),
    # Small elements at odd addresses are put together of words; those of few rows are not.
    (pair(make("i1", MANY, strides=(512, 1), offset=1)), "vector 16: flat 1 in words, flat 16"),
    (pair(make("i1", MANY, strides=(517, 1))), "vector 16: row 1 in words, flat 16"),
    (pair(make("f2", MANY, strides=(1026, 2))), "vector 8: row 2 in words, flat 16"),
    (pair(make("f2", MANY, strides=(1028, 2))), "vector 8: row 4, flat 16"),
    (pair(make("f4", MANY, strides=(2052, 4))), "vector 4: row 4, flat 16"),
    (pair(make("i1", MANY, strides=(-517, 1))), "vector 16: row 1, flat 16"),
    (pair(make("i1", MANY, strides=(0, 1), offset=1)), "vector 16: row 1, flat 16"),
    (pair(make("i1", MANY, strides=(512, -1))), "vector 16: strided 1 in words, flat 16"),
    (pair(make("i1", MANY, strides=(1024, 2))), "vector 16: strided 1 in words, flat 16"),
    (pair(make("f2", MANY, strides=(2048, -4))), "vector 8: strided 2 in words, flat 16"),
    (pair(make("i1", 4096, strides=(-1,))), "vector 16: strided 1 in words, flat 16"),
    (pair(make("i1", (63, 512), strides=(512, -1))), "vector 8: strided 1, flat 8"),
    (pair(make("i1", MANY, strides=(1536, 3))), "vector 8: strided 1, flat 8"),
    (pair(make("f4", MANY, strides=(2048, -4))), "vector 4: strided 4, flat 16"),
    (pair(make("i1", MANY, strides=(-600, -1))), "vector 8: strided 1, flat 8"),
    (pair(make("i1", (64, 510), strides=(510, -1))), "patch 4 box (4, 512): strided 1, row 1"),
    # Broadcast rows, columns and numbers.
    ([W, make("f4", 512), W], "vector 4: flat 16, row 16, flat 16"),
    ([W, make("f4", (256, 1)), W], "vector 4: flat 16, broadcast 4, flat 16"),
    ([make("f4", ()), make("f4", (1, 1)), W], "vector 4: uniform 4, uniform 4, flat 16"),
    ([LONE, TALL, LONE, TALL], "vector 4: held 4, flat 16, held 4, flat 16"),
    ([x := make("f2", (640, 1)), y := make("f2", (640, 1001)), x, y],
     "vector 8: held 2, flat 16, held 2, flat 16"),
    ([x := make("f2", (640, 1)), y := make("f2", (640, 101)), x, y],
     "vector 4: element 2, flat 8, element 2, flat 8"),
    # Tiles, those of small elements in words, and sides that are too short for one.
    ([turned("f4", *WIDE), W, W], "tile 4 side 32: staged 4, element 4, element 4"),
    ([x := turned("f4", *WIDE), x], "vector 4: flat 16, flat 16"),
    ([turned("i1", *WIDE), make("i1", WIDE), make("i1", WIDE)],
     "word_tile 4 side 128: staged 4, element 1, row 4"),
    ([turned("?", *WIDE), make("?", WIDE), make("?", WIDE)],
     "word_tile 4 side 128: staged 4, element 1, row 4"),
    ([turned("f2", *WIDE), make("f2", WIDE), make("f2", WIDE)],
     "word_tile 2 side 64: staged 4, element 2, row 4"),
    ([turned("i1", *WIDE), W], "tile 4 side 32: staged 1, element 4"),
    (pair(turned("i1", 255, 512)), "tile 4 side 32: staged 1, element 1"),
    ([turned("i1", *WIDE), make("i1", WIDE, offset=2)], "word_tile 2 side 64: staged 2, row 2"),
    (pair(turned("i1", 250, 514)), "word_tile 2 side 64: staged 2, row 2"),
    ([turned("i1", *WIDE), make("i1", WIDE, strides=(1024, 2))],
     "tile 4 side 32: staged 1, element 1"),
    (pair(turned("i1", 32, 512)), "tile 4 side 32: staged 1, element 1"),
    (pair(turned("f4", 3, 512)), "vector 4: strided 4, flat 16"),
    (pair(turned("f4", 512, 3)), "vector 4: element 4, flat 16"),
    ([x := turned("c16", 64, 96), x, make("c16", (64, 96))],
     "tile 4 side 32: staged 16, staged 16, element 16"),
    ([x := turned("c16", 64, 96), x, x, make("c16", (64, 96))],
     "box 2 box (16, 32): staged 16, staged 16, staged 16, element 16"),
    # Boxes, and what pays for none.
    ([permuted("f4", (7, 5000), (1, 0)), *[make("f4", (7, 5000))] * 2],
     "box 7 box (7, 256): staged 4, element 4, element 4"),
    (pair(permuted("f4", (7, 900, 16), (2, 1, 0))), "box 7 box (7, 16, 16): staged 4, element 4"),
    ([permuted("f4", (10, 50, 64), (2, 1, 0)), *pair(permuted("f4", (10, 50, 64), (2, 0, 1)))],
     "box 5 box (10, 8, 16): staged 4, staged 4, element 4"),
    (pair(permuted("c16", (7, 5000), (1, 0))), "box 7 box (7, 256): staged 16, element 16"),
    (pair(permuted("i4", (70, 107, 100, 16), (3, 0, 2, 1))),
     "box 8 box (1, 32, 4, 16): staged 4, element 4"),
    (pair(permuted("f2", (40, 900, 2), (2, 0, 1))), "vector 4: element 2, flat 8"),
    (pair(make("f4", (7, 5000), strides=(32, 7 * 32))), "vector 4: strided 4, flat 16"),
    # Rows that are no whole vectors.
    (pair(cut("i1", (64, 1000), 24)), "vector 8: row 8, flat 8"),
    (pair(cut("i1", (64, 1004), 24)), "vector 4: row 4, flat 4"),
    (pair(cut("i1", (64, 603), 24)), "vector 4: element 1, flat 4"),
    (pair(cut("f2", (64, 1004), 24)), "vector 4: row 8, flat 8"),
    (pair(cut("f4", (64, 602), 24)), "vector 4: element 4, flat 16"),
    ([ROWS, ROW, ROW, ROWS], "patch 4 box (40, 50): row 4, row 4, row 4, row 4"),
    ([VIEW, VIEW, make("f4", (64, 1023))], "patch 4 box (4, 256): row 4, row 4, row 4"),
    ([VIEW, make("f4", (64, 1023))], "vector 4: element 4, flat 16"),
    ([*[make("f8", (64, 1023), strides=(8192, 8), offset=8)] * 2, make("f8", (64, 1023))],
     "patch 2 box (2, 256): row 8, row 8, row 8"),
    ([*[make("f2", (64, 1023), strides=(2048, 2), offset=2)] * 2, make("f2", (64, 1023))],
     "vector 4: element 2, element 2, flat 8"),
    ([*[make("i1", (64, 1023), strides=(1024, 1), offset=1)] * 5, make("i1", (64, 1023))],
     "vector 4: element 1, element 1, element 1, element 1, element 1, flat 4"),
]  # fmt: skip


@pytest.mark.parametrize(("specs", "wanted"), LAYOUTS)
def test_layouts(specs: Sequence[ArraySpec], wanted: str) -> None:
    assert shown(cuda(*specs)) == wanted
    if wanted.startswith(("tile", "box")):
        assert cuda(*specs, tiles=False).variant not in ("tile", "box")


def stencil(begins: Sequence[tuple[int, int]], dtype: str = "f4", inner: int = 510) -> Layout:
    """Return the loop over views of one array that begin at these rows and columns."""
    written = make(dtype, (62, inner))
    size = written.dtype.itemsize
    views = [
        Operand(size, ((inner + 2) * size, size), b * size % 16, size, False,
                (0, (a * (inner + 2) + b) * size))
        for a, b in begins
    ]  # fmt: skip
    return plan_cuda(written.shape, [*views, *operands(written, shape=written.shape)])


def test_views_of_one_array_share_the_rows_of_a_thread() -> None:
    layout = stencil([(0, 1), (2, 1), (1, 0), (1, 2), (1, 1)])
    taps = [access.tap for access in layout.accesses]
    assert (layout.variant, layout.width, layout.patch) == ("patch", 8, Patch(2, 256, 1, 1))
    assert taps == [(0, 0, 0), (0, 2, 0), (0, 1, -1), (0, 1, 1), (0, 1, 0), (5, 0, 0)]
    assert layout.accesses[0].loads[:4] == ((0, 0, 1), (0, 1, 1), (1, -1, 2), (1, 1, 2))
    assert layout.accesses[1].loads == ()
    assert layout.accesses[5].loads == tuple((k, 0, 2) for k in range(8))
    # Rows that are far apart, and views of which none is below another, are loaded as others are.
    apart = stencil([(0, 0), (9, 0), (0, 9)])
    assert [access.tap for access in apart.accesses[:3]] == [(k, 0, 0) for k in range(3)]
    assert (stencil([(0, 0), (0, 1)]).width, stencil([(0, 0), (0, 2)], "f2").patch) == (
        4, Patch(2, 256, 1, 1),
    )  # fmt: skip
    assert stencil([(0, 0), (0, 2)], "f4", 30).patch == Patch(2, 15, 16, 16)
    layout = cuda(ROWS, ROW, ROW, ROWS)  # of which a thread has one
    assert [access.loads for access in layout.accesses[1:3]] == [((0, 0, 2),)] * 2
    assert len(layout.accesses[0].loads) == 4


@pytest.mark.parametrize(
    ("shape", "strides", "wide"),
    [
        ((2**31,), None, True), ((2**30,), None, False), ((2**31 - 2**20,), None, True),
        ((1000, 1000), (2**22, 4), True),
        ((500, 1000), (2**22, 4), False), ((1000, 1000), (-(2**22), 4), True),
    ],
)  # fmt: skip
def test_index_width(shape: tuple[int, ...], strides: Any, wide: bool) -> None:
    assert cuda(make("u1", shape, strides=strides), make("u1", shape)).wide_index is wide


def test_patches_of_wide_steps_have_wide_indices() -> None:
    # What is dense is reached by bytes, too: 3 GiB of them.
    shape = (1 << 19, 1534)
    row, dense = make("f4", (1, 1534)), make("f4", shape)
    assert not cuda(dense, dense).wide_index
    layout = cuda(row, row, dense, dense)
    assert (layout.variant, layout.wide_index) == ("patch", True)
    assert cuda(cut("f4", shape, 1), dense).wide_index


@pytest.mark.parametrize("itemsizes", [(1,), (2, 4), (8,), (16,), (1, 16), (3,), (4, 12), ()])
def test_widths(itemsizes: tuple[int, ...]) -> None:
    width = choose_vector_width(itemsizes)
    assert width & (width - 1) == 0
    assert width * max(itemsizes, default=1) <= 32
    if any(size & (size - 1) for size in itemsizes):
        assert width == 1


def test_host_loops_run_along_memory() -> None:
    layout = host(x := turned("f4", 16, 8, 4), x)
    assert layout.loop.shape == (512,)
    layout = host(make("f4", (4, 1)), make("f4", ()), make("f4", (4, 5)))
    assert [access.kind for access in layout.accesses] == ["broadcast", "broadcast", "row"]
    layout = host(make("f4", 9, strides=(-4,)), make("f4", 9))
    assert [access.kind for access in layout.accesses] == ["strided", "row"]
    assert host(turned("f4", *WIDE), W).variant == "tile"


@pytest.mark.parametrize(
    ("dtype", "shape", "block", "width"),
    [
        ("f4", (64, 16382), 256, 4), ("f4", (511, 511), 256, 4), ("f4", (64, 511), 128, 4),
        ("f4", (6, 511), 256, 2),  # four rows leave a quarter of the threads idle
        ("f4", (3, 511), 256, None), ("i1", (64, 16382), 256, 4), ("f8", (64, 511), 256, 2),
        ("c16", (64, 255), 256, 1), ("f4", (64, 602), 256, 4),  # of two lines of 128 threads
        ("f4", (64, 30), 256, 4),  # eight rows of threads
    ],
)  # fmt: skip
def test_rows_that_are_no_whole_vectors_are_read_in_patches(
    dtype: str, shape: tuple[int, int], block: int, width: int | None
) -> None:
    part = cut(dtype, shape, 25)
    layout = cuda(part, part, block=block)
    assert layout.variant == ("patch" if width else "interleave")
    assert layout.width == (width or 4)


def test_a_tile_is_of_the_last_two_dimensions() -> None:
    x = make("f4", (64, 4, 62), strides=[4, 256, 1024])
    layout = cuda(x, make("f4", (64, 4, 62)))
    assert (layout.variant, layout.loop.shape) == ("tile", (4, 64, 62))
    assert layout.loop.strides[0] == (256, 4, 1024)
