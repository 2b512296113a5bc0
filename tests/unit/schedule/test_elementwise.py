"""Which layout class is chosen for the arrays that programs mostly have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from kerneltk.core.arrays import ArraySpec, broadcast_strides, c_strides
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


def operands(*specs: ArraySpec, shape: Sequence[int], index: bool = False) -> list[Operand]:
    """Return the operands of a loop whose last array is written."""
    found = [
        Operand(
            spec.dtype.itemsize,
            broadcast_strides(spec.shape, spec.strides, shape),
            spec.offset,
            describe(spec.dtype).alignment,
            spec is specs[-1],
        )
        for spec in specs
    ]
    return found + [Operand(1, c_strides(shape, 1), 0, 0)] * index


def cuda(*specs: ArraySpec, index: bool = False, **options: Any) -> Layout:
    shape = specs[-1].shape
    return plan_cuda(shape, operands(*specs, shape=shape, index=index), **options)


def host(*specs: ArraySpec) -> Layout:
    return plan_host(specs[-1].shape, operands(*specs, shape=specs[-1].shape))


def kinds(layout: Layout) -> list[str]:
    return [access.kind for access in layout.accesses]


@pytest.mark.parametrize("elements", [1, 2, 3])
def test_arrays_that_begin_at_one_odd_place_are_shifted(elements: int) -> None:
    spec = make("f4", 1000, offset=4 * elements)
    layout = cuda(spec, spec)
    assert (layout.variant, layout.shift) == ("vector", elements)
    assert [access.chunk for access in layout.accesses] == [16, 16]


def test_arrays_that_begin_at_different_places() -> None:
    layout = cuda(make("f4", 1000, offset=4), make("f4", 1000))
    assert (layout.variant, layout.shift) == ("vector", 0)
    assert [access.chunk for access in layout.accesses] == [4, 16]


def test_elements_at_odd_addresses_are_moved_in_pieces() -> None:
    layout = cuda(make("f4", 1000, offset=1), make("f4", 1000, offset=2))
    assert [access.chunk for access in layout.accesses] == [1, 2]


@pytest.mark.parametrize(
    ("dtype", "strides", "offset", "in_words"),
    [
        ("i1", (512, 1), 1, True), ("i1", (517, 1), 0, True), ("f2", (1026, 2), 0, True),
        ("f2", (1028, 2), 0, False),  # whole words
        ("f4", (2052, 4), 0, False), ("i1", (-517, 1), 0, False), ("i1", (0, 1), 1, False),
    ],
)  # fmt: skip
def test_small_elements_at_odd_addresses_are_put_together_of_words(
    dtype: str, strides: tuple[int, int], offset: int, in_words: bool
) -> None:
    shape = (64, 512)
    odd = make(dtype, shape, strides=strides, offset=offset)
    layout = cuda(odd, make(dtype, shape))
    assert (layout.variant, layout.width) == ("vector", 16 // np.dtype(dtype).itemsize)
    assert [access.in_words for access in layout.accesses] == [in_words, False]


@pytest.mark.parametrize(
    ("dtype", "shape", "strides", "in_words"),
    [
        ("i1", (64, 512), (512, -1), True), ("i1", (64, 512), (1024, 2), True),
        ("f2", (64, 512), (2048, -4), True), ("i1", (4096,), (-1,), True),
        ("i1", (63, 512), (512, -1), False),  # few rows beside the first and the last one
        ("i1", (64, 512), (1536, 3), False), ("f4", (64, 512), (2048, -4), False),
        ("i1", (64, 512), (-600, -1), False), ("i1", (64, 510), (510, -1), False),
    ],
)  # fmt: skip
def test_small_elements_of_reversed_and_halved_rows_are_picked_from_words(
    dtype: str, shape: tuple[int, ...], strides: tuple[int, ...], in_words: bool
) -> None:
    layout = cuda(make(dtype, shape, strides=strides), make(dtype, shape))
    assert layout.accesses[0].in_words is in_words


def test_broadcast_rows_and_columns_keep_wide_stores() -> None:
    whole = make("f4", (256, 512))
    row = cuda(whole, make("f4", 512), whole)
    column = cuda(whole, make("f4", (256, 1)), whole)
    assert kinds(row) == ["flat", "row", "flat"]
    assert kinds(column) == ["flat", "broadcast", "flat"]
    assert {row.variant, column.variant} == {"vector"}
    assert row.accesses[2].chunk == column.accesses[2].chunk == 16


def test_numbers_as_arrays_are_loaded_once() -> None:
    whole = make("f4", (256, 512))
    assert kinds(cuda(make("f4", ()), make("f4", (1, 1)), whole)) == ["uniform", "uniform", "flat"]


def test_transposed_inputs_go_through_a_tile() -> None:
    whole = make("f4", (256, 512))
    turned = make("f4", (256, 512), order="F")
    layout = cuda(turned, whole, whole)
    assert (layout.variant, kinds(layout)[0]) == ("tile", "staged")
    assert cuda(turned, whole, whole, tiles=False).variant != "tile"
    assert cuda(turned, turned).variant == "vector"
    assert host(turned, whole).variant == "tile"


def test_tiles_of_small_elements_are_moved_in_words() -> None:
    for dtype, width in (("i1", 4), ("?", 4), ("f2", 2)):
        turned, whole = make(dtype, (256, 512), order="F"), make(dtype, (256, 512))
        layout = cuda(turned, make(dtype, (256, 512)), whole)
        assert (layout.variant, layout.width, layout.side) == ("word_tile", width, 32 * width)
        assert kinds(layout) == ["staged", "element", "row"]
        assert [access.chunk for access in layout.accesses][::2] == [4, 4]
    turned = make("i1", (256, 512), order="F")
    assert cuda(turned, make("f4", (256, 512))).variant == "tile"  # results are words themselves
    assert cuda(make("i1", (255, 512), order="F"), make("i1", (255, 512))).variant == "tile"
    for pairs in ((256, 512), 2), ((250, 514), 0):
        layout = cuda(make("i1", pairs[0], order="F"), make("i1", pairs[0], offset=pairs[1]))
        assert (layout.variant, layout.width, layout.side) == ("word_tile", 2, 64)
    apart = make("i1", (256, 512), strides=(1024, 2))
    assert cuda(turned, apart).variant == "tile"
    narrow = make("i1", (32, 512), order="F"), make("i1", (32, 512))
    assert cuda(*narrow).variant == "tile"


def test_short_sides_do_not_pay_for_a_tile() -> None:
    for shape in ((3, 512), (512, 3)):
        assert cuda(make("f4", shape, order="F"), make("f4", shape)).variant != "tile"


def permuted(dtype: str, shape: Sequence[int], order: Sequence[int]) -> ArraySpec:
    """Return an array whose memory has the axes in an order."""
    dense = make(dtype, [shape[axis] for axis in order])
    strides = [dense.strides[order.index(axis)] for axis in range(len(shape))]
    return make(dtype, shape, strides=strides)


@pytest.mark.parametrize(
    ("inputs", "result", "box"),
    [
        ([permuted("f4", (7, 5000), (1, 0)), make("f4", (7, 5000))], "f4", (7, 256)),
        ([permuted("f4", (7, 900, 16), (2, 1, 0))], "f4", (7, 16, 16)),
        # Two orders beside that of the result.
        ([permuted("f4", (10, 50, 64), (2, 1, 0)), permuted("f4", (10, 50, 64), (2, 0, 1))],
         "f4", (10, 8, 16)),
        ([permuted("c16", (7, 5000), (1, 0))], "c16", (7, 256)),
    ],
)  # fmt: skip
def test_inputs_along_short_or_several_dimensions_go_through_a_box(
    inputs: list[ArraySpec], result: str, box: tuple[int, ...]
) -> None:
    written = make(result, inputs[0].shape)
    layout = cuda(*inputs, written)
    assert (layout.variant, layout.box) == ("box", box)
    assert kinds(layout)[0] == "staged"
    assert kinds(layout)[-1] == "element"
    assert cuda(*inputs, written, tiles=False).variant != "box"


def test_tiles_that_are_half_empty_are_boxes() -> None:
    x, y = permuted("i4", (70, 107, 100, 16), (3, 0, 2, 1)), make("i4", (70, 107, 100, 16))
    assert cuda(x, y).box == (1, 32, 4, 16)


def test_short_rows_of_results_pay_for_no_box() -> None:
    assert cuda(permuted("f2", (40, 900, 2), (2, 0, 1)), make("f2", (40, 900, 2))).box == ()


def test_sectors_that_one_element_fills_pay_for_no_box() -> None:
    apart = make("f4", (7, 5000), strides=(32, 7 * 32))
    assert cuda(apart, make("f4", (7, 5000))).variant != "box"


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


@pytest.mark.parametrize("itemsizes", [(1,), (2, 4), (8,), (16,), (1, 16), (3,), (4, 12), ()])
def test_widths(itemsizes: tuple[int, ...]) -> None:
    width = choose_vector_width(itemsizes)
    assert width & (width - 1) == 0
    assert width * max(itemsizes, default=1) <= 32
    if any(size & (size - 1) for size in itemsizes):
        assert width == 1


def test_host_loops_run_along_memory() -> None:
    turned = make("f4", (16, 8, 4), order="F")
    assert host(turned, turned).loop.shape == (512,)
    layout = host(make("f4", (4, 1)), make("f4", ()), make("f4", (4, 5)))
    assert kinds(layout) == ["broadcast", "broadcast", "row"]
    assert kinds(host(make("f4", 9, strides=(-4,)), make("f4", 9))) == ["strided", "row"]


@pytest.mark.parametrize(
    ("dtype", "inner", "width", "kind"),
    [
        ("i1", 1000, 8, "row"),  # whole vectors of eight bytes
        ("i1", 1004, 4, "row"),
        ("i1", 603, 4, "element"),
        ("f2", 1004, 4, "row"),
        ("f4", 602, 4, "element"),  # addresses one by one: vectors of two are slower
    ],
)
def test_rows_that_are_no_whole_vectors(dtype: str, inner: int, width: int, kind: str) -> None:
    size = np.dtype(dtype).itemsize
    part = make(dtype, (64, inner), strides=((inner + 24) * size, size))
    layout = cuda(part, make(dtype, (64, inner)))
    assert (layout.variant, layout.width, kinds(layout)[0]) == ("vector", width, kind)


@pytest.mark.parametrize(
    ("dtype", "inner", "width", "kind"),
    [("f2", 1001, 8, "held"), ("f4", 1001, 4, "held"), ("f2", 101, 4, "element")],
)
def test_rows_of_one_value_are_vectors_that_cross_their_ends(
    dtype: str, inner: int, width: int, kind: str
) -> None:
    rows, one = make(dtype, (640, inner)), make(dtype, (640, 1))
    layout = cuda(one, rows, one, rows)
    assert (layout.variant, layout.width) == ("vector", width)
    assert kinds(layout) == [kind, "flat", kind, "flat"]


@pytest.mark.parametrize(
    ("dtype", "shape", "block", "width"),
    [
        ("f4", (64, 16382), 256, 4),
        ("f4", (511, 511), 256, 4),
        ("f4", (6, 511), 256, 2),  # four rows leave a quarter of the threads idle
        ("f4", (3, 511), 256, None),
        ("f4", (64, 511), 128, 4),
        ("i1", (64, 16382), 256, 4),
        ("f8", (64, 511), 256, 2),
        ("c16", (64, 255), 256, 1),
        ("f4", (64, 602), 256, 4),  # of two lines of 128 threads
        ("f4", (64, 30), 256, 4),  # eight rows of threads
    ],
)
def test_rows_that_are_no_whole_vectors_are_read_in_patches(
    dtype: str, shape: tuple[int, int], block: int, width: int | None
) -> None:
    size = np.dtype(dtype).itemsize
    part = make(dtype, shape, strides=((shape[1] + 25) * size, size))
    layout = cuda(part, part, block=block)
    assert layout.variant == ("patch" if width else "interleave")
    assert layout.width == (width or 4)


@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_rows_of_a_patch_share_what_they_have_in_common(dtype: str) -> None:
    rows, row = make(dtype, (4096, 50)), make(dtype, 50)
    layout = cuda(rows, row, row, rows)
    assert (layout.variant, layout.width, layout.box) == ("patch", 4, (40, 50))
    assert [access.loads for access in layout.accesses[1:3]] == [((0, 0, 2),)] * 2
    assert len(layout.accesses[0].loads) == 4


def test_patches_of_wide_steps_have_wide_indices() -> None:
    # What is dense is reached by bytes, too: 3 GiB of them.
    shape = (1 << 19, 1534)
    view = make("f4", shape, strides=(1535 * 4, 4))
    row = make("f4", (1, 1534))
    assert not cuda(make("f4", shape), make("f4", shape)).wide_index
    layout = cuda(row, row, make("f4", shape), make("f4", shape))
    assert (layout.variant, layout.wide_index) == ("patch", True)
    assert cuda(view, make("f4", shape)).wide_index


def test_vectors_of_results_stay_with_one_view_and_with_small_elements() -> None:
    def views(count: int, dtype: str) -> Layout:
        size, shape = np.dtype(dtype).itemsize, (64, 1023)
        view = make(dtype, shape, strides=(1024 * size, size), offset=size)
        return cuda(*[view] * count, make(dtype, shape))

    assert views(2, "f4").variant == views(2, "f8").variant == "patch"
    assert views(1, "f4").variant == views(2, "f2").variant == views(5, "i1").variant == "vector"


def test_tiles_fit_shared_memory() -> None:
    transposed, result = make("c16", (64, 96), order="F"), make("c16", (64, 96))
    assert cuda(transposed, transposed, result).variant == "tile"
    assert cuda(transposed, transposed, transposed, result).variant != "tile"


def test_a_tile_is_of_the_last_two_dimensions() -> None:
    x = make("f4", (64, 4, 62), strides=[4, 256, 1024])
    layout = cuda(x, make("f4", (64, 4, 62)))
    assert (layout.variant, layout.loop.shape) == ("tile", (4, 64, 62))
    assert layout.loop.strides[0] == (256, 4, 1024)
