"""Values: constants as expressions, conversions, truth, indices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ..showing import check_table


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass(frozen=True)
class Box:
    low: Any
    high: Any


POINT, BOX = Point(1, 2.5), Box(np.int8(3), (4, 5))
LARGE, SMALLEST, HUGE = 2**63, -(2**63), 2**64
HALF, BRAIN, ZERO_D = np.float16(1.5), ml_dtypes.bfloat16(2), np.array(7, np.int16)
OUTSIDE, LIST, NONE, TRUE = np.zeros(3), [1, 2], None, np.True_
STRUCTURED, DATE = np.zeros(1, [("a", "i4")])[0], np.datetime64("2020-01-01")


def test_table() -> None:
    check_table(__file__, globals())
