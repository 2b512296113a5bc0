"""Operators on numbers and tuples: what they are computed in, and what is computed at once."""

from __future__ import annotations

import numpy as np

from ..showing import check_table

ONE, BIG = np.float32(1), 2**63
INT8, UINT8 = np.int8(100), np.uint8(200)


def test_table() -> None:
    check_table(__file__, globals())
