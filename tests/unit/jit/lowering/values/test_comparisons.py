"""Comparisons, chains of them, identity and membership."""

from __future__ import annotations

import numpy as np

from ..showing import check_table

NONE, LIMIT, TRIPLE = None, np.int8(5), (1, 2.5, np.int8(3))


def test_table() -> None:
    check_table(__file__, globals())
