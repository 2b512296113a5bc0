"""``print``: which formats of printf Python's become, and which have none."""

from __future__ import annotations

import numpy as np

from ..showing import check_table

NAME = "a'b"
EMPTY = ""
COUNT = np.int64(1234)


def test_table() -> None:
    check_table(__file__, globals())
