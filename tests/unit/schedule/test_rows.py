"""Rows and columns that stay on chip: which they are, and how they are divided."""

from __future__ import annotations

import pytest

from kerneltk.schedule.rows import (
    OnChipSchedule,
    RowPlanner,
    Sizes,
    is_better_joined,
    is_wide,
    is_worth_order,
    wastes_sectors,
)

# Powers of two, what lies halfway between them, and their neighbours.
LENGTHS = sorted(
    {n + d for k in range(18) for n in (2**k, 3 * 2**k // 2) for d in (-1, 0, 1)} - {0}
)
# Columns: the threads and the width of tiles from each length on; 0 and 0 are those of
# one thread, or of groups of blocks.
COLUMNS = {
    (RowPlanner(False, 8, Sizes((4,), (), 8, 8), True, 132), 3, 16384, 4): {
        1: None, 2: (128, 128), 5: (256, 128), 33: (256, 64), 129: (256, 32), 257: (512, 32),
        513: (512, 16), 2049: (0, 0), 33793: None,
    },
    (RowPlanner(False, 8, Sizes((2,), (), 8, 8), True, 132), 1, 50000, 8): {
        1: None, 2: (256, 128), 65: (512, 128), 129: (512, 64), 513: (512, 32),
        2049: (0, 0), 49151: None,
    },
    (RowPlanner(False, 8, Sizes((2,), (), 8, 8), True, 132), 3000, 83, 1): {
        1: None, 2: (0, 0), 65: (128, 32), 129: (256, 32), 257: (512, 32), 2049: None,
    },
}  # fmt: skip


LANES = {
    1: None, 2: (256, 2, 2, 1, 0, 0, 1, 0, 1, True, 1),
    3: (256, 3, 1, 1, 0, 0, 1, 0, 1, False, 3), 7: (256, 7, 1, 1, 0, 0, 1, 0, 1, False, 7),
    12: (256, 8, 4, 1, 0, 0, 1, 0, 2, True, 1),
    33: (256, 17, 1, 1, 0, 0, 1, 0, 2, False, 16),
    50: (256, 14, 2, 1, 0, 0, 1, 0, 4, False, 6),
    63: (256, 16, 1, 1, 0, 0, 1, 0, 4, False, 15),
    64: (256, 16, 4, 1, 0, 0, 1, 0, 4, True, 4),
    200: (256, 16, 4, 1, 0, 0, 1, 0, 16, True, 3),
    257: (256, 17, 1, 1, 0, 0, 1, 0, 16, False, 16),
    512: (256, 16, 4, 1, 0, 0, 1, 0, 32, True, 4),
    1000: (64, 16, 4, 1, 0, 0, 1, 0, 0, True, 3),
    1023: (192, 8, 4, 1, 0, 0, 1, 0, 0, False, 1),
    1024: (64, 16, 4, 1, 0, 0, 1, 0, 0, True, 4),
    4001: (256, 16, 4, 1, 0, 0, 1, 0, 0, False, 3),
    4096: (256, 16, 4, 1, 0, 0, 1, 0, 0, True, 4),
    10000: (320, 32, 4, 1, 2, 0, 1, 0, 0, True, 7),
    16384: (512, 32, 4, 1, 2, 0, 1, 0, 0, True, 8),
    20000: (320, 32, 4, 1, 2, 0, 2, 0, 0, True, 7),
    65536: (512, 32, 4, 1, 2, 0, 4, 0, 0, True, 8),
    131072: (512, 32, 4, 1, 2, 0, 8, 0, 0, True, 8), 131073: None,
}  # fmt: skip


def test_rows() -> None:
    for length, wanted in LANES.items():
        expected = None if wanted is None else OnChipSchedule(*wanted)
        found = RowPlanner(False, 8, Sizes((4,), (), 8, 8, 4))(4096, length)
        assert found == expected, length


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_rows_have_every_element(size: int) -> None:
    for length in range(2, 3000, 7):
        schedule = RowPlanner(False, 8, Sizes((size,), (), 8, 8, size))(4096, length)
        if schedule is None:
            assert (size, length < 256) == (16, True)
            continue
        turns = schedule.items // schedule.vector
        turn = schedule.threads * schedule.vector
        assert turns * turn >= length
        assert schedule.full * turn <= length < (schedule.full + 1) * turn
        assert schedule.whole == (length % schedule.vector == 0) or schedule.lanes
        assert schedule.vector * size <= 16
        # A warp's rows, as its part of shared memory holds them.
        assert not schedule.lanes or schedule.block * schedule.items * size <= 24 << 10
        assert schedule.lane_threads(5) % 32 == 0


@pytest.mark.parametrize(("case", "wanted"), COLUMNS.items())
def test_tiles(
    case: tuple[RowPlanner, int, int, int], wanted: dict[int, tuple[int, int] | None]
) -> None:
    planner, rows, across, vector = case
    for length in LENGTHS:
        expected = wanted[max(first for first in wanted if first <= length)]
        found = planner(rows, length, across)
        if expected is None or found is None:
            assert found is expected, length
            continue
        if found.waiting or found.lanes:
            assert expected == (0, 0), length
            continue
        lines = found.block // (found.width // vector)
        assert (found.block, found.width, found.vector) == (*expected, vector), length
        assert (found.full, found.items) == (length // lines, -(-length // lines) * vector)


def test_tiles_have_whole_sectors_of_every_array() -> None:
    """Of a narrow one beside a wide one groups of blocks have wider tiles, or several reads."""
    sizes = Sizes((1, 8), (), 8, 8, 8)
    planner = RowPlanner(False, 8, sizes, True, 132)
    assert planner(128, 1024, 256) == OnChipSchedule(256, 56, 2, 1, 2, 32, 1, 264)
    assert RowPlanner(False, 8, sizes._replace(results=32), True, 132)(128, 1024, 256) is None
    assert RowPlanner(False, 8, sizes)(128, 1024, 256) is None
    assert planner(1, 2049, 107 * 128 + 1) is None  # a group's, too
    # Narrow stacks of columns are a thread's if few sectors are read in turns.
    assert RowPlanner(False, 8, Sizes((4,)))(100_000, 16, 7) is not None
    assert RowPlanner(False, 8, Sizes((4,)))(100_000, 17, 7) is None


def test_a_block_has_all_of_a_few_columns() -> None:
    sizes = Sizes((4,), (), 4, 4, 4)
    for length, across, wanted in (
        (682, 3, OnChipSchedule(128, 18, 3, 1, 0, 3, full=5)),
        (1000, 7, OnChipSchedule(256, 28, 7, 1, 0, 7, full=3)),
        (4096, 4, OnChipSchedule(512, 32, 4, 1, 2, 4, full=8)),
        (4097, 4, None), (63, 3, None),
    ):  # fmt: skip
        assert RowPlanner(False, 8, sizes)(1000, length, across) == wanted
    assert RowPlanner(False, 8, sizes)(100, 682, 3) is None


@pytest.mark.parametrize(
    ("run", "step", "row", "wanted"),
    [
        (4, 4096, 0, True), (32, 4096, 0, False), (4, 64, 0, False), (4, 96, 0, True),
        (4, 128, 512, False), (4, 4096, 512, True), (4, 4096, 64, False),
    ],
)  # fmt: skip
def test_what_wastes_sectors(run: int, step: int, row: int, wanted: bool) -> None:
    assert wastes_sectors(run, step, row) == wanted


def test_values_are_joined_where_few_bytes_more_are_moved() -> None:
    assert is_better_joined(4, [4], [4, 4], [4])
    assert is_better_joined(4, [1], [1, 4, 2], [4])
    assert not is_better_joined(4, [1], [1, 2], [4])
    assert not is_better_joined(4, [2], [1, 4, 2], [])  # a reduction reads several as fast
    assert is_better_joined(4, [8], [8, 4], [])
    assert is_wide(256)
    assert not is_wide(255 + 3)
    assert not is_worth_order(1 << 21)


def test_clusters_where_the_device_has_them() -> None:
    assert RowPlanner(False, 1, Sizes((4,)))(4096, 16384) is not None
    assert RowPlanner(False, 1, Sizes((4,)))(4096, 16385) is None


def test_blocks_have_every_element_and_few_registers() -> None:
    for sizes in ((1,), (2,), (4,), (8,), (16,), (2, 4), (4, 4), (8, 8)):
        for length in (256, 1000, 1024, 2048, 4096, 8192, 16384, 60000):
            for across in (0, 40000):
                schedule = RowPlanner(False, 8, Sizes(sizes))(512, length, across)
                if schedule is None:
                    continue
                held = schedule.threads * schedule.items
                assert held >= length * max(1, schedule.width)
                assert schedule.items % schedule.vector == 0
                assert schedule.items * sum(sizes) <= 256
                assert schedule.vector * max(sizes) <= 16 or schedule.vector == 1
                assert schedule.width % schedule.vector == 0
                assert schedule.width // schedule.vector <= 32
    # Weights are loaded when totals are known.
    assert RowPlanner(False, 8, Sizes((4,), (4, 4)))(512, 16384) is not None
    assert RowPlanner(False, 8, Sizes((4, 4)))(512, 16384)[:4] == (512, 32, 4, 1)
    assert RowPlanner(False, 8, Sizes((4, 4, 4)))(512, 16384) is None
    assert RowPlanner(False, 8, Sizes((4,)))(100, 4096) is None  # too few blocks
    assert RowPlanner(False, 8, Sizes((4,)))(1, 2048, 400) is None
    assert RowPlanner(False, 8, Sizes((4,)))(1000, 3, 3) is None  # no tile is that narrow
    assert RowPlanner(True, 1, Sizes((4,)))(64, 1 << 18) is None  # beyond a core's cache
    assert RowPlanner(True, 1, Sizes((4,)))(64, 3000) == OnChipSchedule(1, 1, 1, 4096)
    assert RowPlanner(True, 1, Sizes((4,)))(64, 3000, 16) is None


def planner(sizes: Sizes, multiprocessors: int = 132) -> RowPlanner:
    return RowPlanner(False, 8, sizes, True, multiprocessors)


FLOATS = Sizes((4,), (), 8, 8)
TILES = OnChipSchedule(256, 128, 4, 1, 2, 64, 1, 264)


@pytest.mark.parametrize(
    ("length", "across", "wanted"),
    [
        (2048, 16384, OnChipSchedule(512, 64, 4, 1, 0, 16, full=16)),  # by one block
        (2049, 16384, TILES),
        (8192, 16384, TILES),
        (33792, 768, TILES),  # four groups of 66 blocks
        (33793, 768, None),
        (8192, 3072, TILES),  # three tiles a group
        (8192, 2048, None),
        (8192, 3140, None),  # idle blocks at the end
    ],
)
def test_lengths_of_groups(length: int, across: int, wanted: OnChipSchedule | None) -> None:
    assert planner(FLOATS)(1, length, across) == wanted
    if wanted == TILES:
        assert planner(FLOATS, 0)(1, length, across) is None


def test_groups_have_every_element() -> None:
    for sizes in ((1,), (2,), (4,), (8,), (16,), (2, 4), (4, 4), (8, 8), (4, 4, 4)):
        for length in (2049, 5000, 8192, 8193, 20000):
            schedule = planner(Sizes(sizes, (), 8, 8))(3, length, 50_000)
            if schedule is None:
                continue
            blocks = schedule.group(length)
            lines = schedule.block * schedule.vector // schedule.width
            vectors = schedule.items // schedule.vector
            assert (blocks - 1) * lines * vectors < length <= blocks * lines * vectors
            assert vectors % 4 == 0
            assert schedule.vector * max(sizes) <= 16
            assert 3 * schedule.items * sum(sizes) // 4 * schedule.block <= 96 << 10
            threads = schedule.waiting_threads(3, length, 50_000)
            assert threads % (blocks * schedule.block) == 0
            assert threads <= schedule.waiting * schedule.block


def test_few_tiles_have_few_groups() -> None:
    assert TILES.waiting_threads(1, 8192, 16384) == 16 * 16 * 256
    assert TILES.waiting_threads(1, 8192, 130) == 3 * 16 * 256
    assert TILES.waiting_threads(2, 8192, 130) == 6 * 16 * 256


def test_accumulators_fit_in_shared_memory() -> None:
    widest = 10 * 17 * 1024  # of a block of 16 warps whose tile has four columns
    assert RowPlanner(False, 8, Sizes((4,), (), widest))(4, 2048, 16384) is None
    assert planner(Sizes((4,), (), 40, 32))(1, 8192, 16384) == TILES
    assert planner(Sizes((4,), (), 40, 40))(1, 8192, 16384) is None
