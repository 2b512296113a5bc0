"""Columns that groups of blocks have: which they are, what is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec
from kerneltk.codegen.elementwise import WaitingDefinition
from kerneltk.core.artifacts import COUNTERS
from kerneltk.fusion.inspection import translation_units
from kerneltk.schedule.rows import Device
from kerneltk.signature.parameters import parse_signature

Function = Callable[..., Any]
HOPPER = Device(8, 132)


def _units(function: Function, *shapes: tuple[int, ...], dtype: str = "f4") -> list[str]:
    arrays = [ArraySpec.make(dtype, shape) for shape in shapes]
    found = translation_units(function, "columns", arrays, (), "cuda", HOPPER)
    return [unit.source for unit in found]


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


def _centred(x: Any) -> Any:
    return x - x.mean(axis=0) + x.sum(axis=0)


SHAPE = (8192, 16384)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "function",
    [
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
        # Totals of elements that another total is part of.
        _softmax,
        lambda x: (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5),
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
    assert len(translation_units(_centred, "columns", arrays, (), "cuda")) == 2
    assert len(translation_units(_centred, "columns", arrays, (), "host", HOPPER)) >= 2


def test_equal_totals_are_one() -> None:
    (source,) = _units(_centred, SHAPE)
    fields = source.split("struct _kt_totals {")[1].split("}")[0].split(";")
    assert [own.strip() for own in fields if own.strip()] == ["float t0"]


def test_few_bytes_are_read_again() -> None:
    found = _units(lambda x: x.astype("f4") - x.max(axis=0), SHAPE, dtype="i1")
    assert all("fused_tiles" not in source for source in found)


def test_scratch_memory() -> None:
    definition = WaitingDefinition(
        parse_signature("", "raw float32 y"), "waiting", "", (), "", published=96
    )
    assert definition.has_scratch
    assert definition.scratch(10) == 4 * COUNTERS + 960
