"""Calls of constants, computed at once in the type that they would have at run time."""

from __future__ import annotations

import numpy as np

from ...lowering.showing import check_table

F4, I1, NAN = np.float32(1.5), np.int8(100), float("nan")


def test_table() -> None:
    check_table(__file__, globals())
