"""Columns that groups of blocks have: which they are, how they are divided, what is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec
from kerneltk.codegen.elementwise import WaitingDefinition
from kerneltk.core.capabilities import COUNTERS
from kerneltk.fusion.inspection import translation_units
from kerneltk.fusion.plan.rows import Choice, Device, Shaping, Sizes

Function = Callable[..., Any]
HOPPER = Device(8, 132)


def _choice(sizes: Sizes, waiting: int = 264, twice: bool = False) -> Choice:
    return Choice(False, 8, sizes, True, waiting, twice)


FLOATS = Sizes((4,), (), 8, 8)
TILES = Shaping(256, 128, 4, 1, 2, 64, 1, 264)


@pytest.mark.parametrize(
    ("length", "across", "wanted"),
    [
        (2048, 16384, Shaping(512, 64, 4, 1, 0, 16)),  # by one block
        (2049, 16384, TILES),
        (8192, 16384, TILES),
        (33792, 768, TILES),  # four groups of 66 blocks
        (33793, 768, None),
        (8192, 3072, TILES),  # three tiles a group
        (8192, 2048, None),
        (8192, 3140, None),  # idle blocks at the end
    ],
)
def test_lengths(length: int, across: int, wanted: Shaping | None) -> None:
    assert _choice(FLOATS)(1, length, across) == wanted
    if wanted == TILES:
        assert _choice(FLOATS, 0)(1, length, across) is None


def test_threads_that_compute_more_have_more_groups() -> None:
    assert _choice(FLOATS, 264, True)(1, 8192, 16384) == TILES  # 16 groups
    assert _choice(FLOATS, 264, True)(1, 8193, 16384) is None
    assert _choice(FLOATS)(1, 8193, 16320) == TILES


def test_blocks_have_every_element() -> None:
    for sizes in ((1,), (2,), (4,), (8,), (16,), (2, 4), (4, 4), (8, 8), (4, 4, 4)):
        for length in (2049, 5000, 8192, 8193, 20000):
            shaping = _choice(Sizes(sizes, (), 8, 8))(3, length, 50_000)
            if shaping is None:
                continue
            blocks, lines = shaping.group(length), shaping.block * shaping.vector // shaping.width
            vectors = shaping.items // shaping.vector
            assert (blocks - 1) * lines * vectors < length <= blocks * lines * vectors
            assert vectors % 4 == 0
            assert shaping.vector * max(sizes) <= 16
            assert 3 * shaping.items * sum(sizes) // 4 * shaping.block <= 96 << 10
            threads = shaping.waiting_threads(3, length, 50_000)
            assert threads % (blocks * shaping.block) == 0
            assert threads <= shaping.waiting * shaping.block


def test_few_tiles_have_few_groups() -> None:
    assert TILES.waiting_threads(1, 8192, 16384) == 16 * 16 * 256
    assert TILES.waiting_threads(1, 8192, 130) == 3 * 16 * 256
    assert TILES.waiting_threads(2, 8192, 130) == 6 * 16 * 256


def test_totals_have_room() -> None:
    assert _choice(Sizes((4,), (), 40, 32))(1, 8192, 16384) == TILES
    assert _choice(Sizes((4,), (), 40, 40))(1, 8192, 16384) is None


def _units(function: Function, *shapes: tuple[int, ...], dtype: str = "f4") -> list[str]:
    arrays = [ArraySpec.make(dtype, shape) for shape in shapes]
    found = translation_units(function, "columns", arrays, (), "cuda", HOPPER)
    return [unit.source for unit in found]


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


SHAPE = (8192, 16384)


@pytest.mark.parametrize(
    "function",
    [
        _softmax,
        lambda x: (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5),
        lambda x: x / np.sqrt((x * x).mean(axis=0)),
        lambda x: (x - x.min(axis=0)) / (x.max(axis=0) - x.min(axis=0)),
        lambda x: (x - x.mean(axis=0), x.sum(axis=0)),
    ],
)
def test_one_kernel(function: Function) -> None:
    (source,) = _units(function, SHAPE)
    assert "kerneltk::fused_tiles<256, 24, 8, 4, 16>" in source
    # Blocks wait for each other once a tile.
    assert source.count("_kt_row.together(") == 1


@pytest.mark.parametrize(
    "function",
    [
        # A total of elements that another total is part of, other than the largest and the mean.
        lambda x: x - np.abs(x - x.max(axis=0)).sum(axis=0),
        lambda x: x - x.argmax(axis=0),
        lambda x: x.var(axis=0),  # nothing but totals
        lambda x: np.exp(x - x.max(axis=0)).sum(axis=0),
        lambda x: x - x.sum(axis=0) - x.sum(axis=1)[:, None],
    ],
)
def test_other_plans(function: Function) -> None:
    assert all("fused_tiles" not in source for source in _units(function, SHAPE))


def test_other_devices() -> None:
    arrays = [ArraySpec.make("f4", SHAPE)]
    assert len(translation_units(_softmax, "columns", arrays, (), "cuda")) == 2
    assert len(translation_units(_softmax, "columns", arrays, (), "host", HOPPER)) >= 2


def test_equal_totals_are_one() -> None:
    def layernorm(x: Any) -> Any:
        return (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5) + x.mean(axis=0)

    (source,) = _units(layernorm, SHAPE)
    fields = source.split("struct _kt_totals {")[1].split("}")[0].split(";")
    assert [own.strip() for own in fields if own.strip()] == [
        "float t0", "double t2", "double t2_sum",
    ]  # fmt: skip
    # The squares about a part's own mean become squares about zero.
    assert source.count("_kt_own[_kt_v].t2_sum = _kt_own[_kt_v].t0;") == 1
    assert source.count("_kt_own[_kt_v].t2 = _kt_row.count == 0 ? 0.0 :") == 1
    (source,) = _units(layernorm, SHAPE, dtype="f8")
    assert source.count("_kt_own[_kt_v].t2_count = _kt_row.count;") == 1
    fields = source.split("struct _kt_totals {")[1].split("}")[0].split(";")
    assert len([own for own in fields if own.strip()]) == 3


def test_scratch_memory() -> None:
    from kerneltk.signature.parser import parse_signature

    definition = WaitingDefinition(
        parse_signature("", "raw float32 y"), "waiting", "", (), "", published=96
    )
    assert definition.has_scratch
    assert definition.scratch(10) == 4 * COUNTERS + 960
