"""Memory that a kernel declares: shared, local and constant."""

from __future__ import annotations

import numpy as np

from ...lowering.showing import check_table

ROWS = np.arange(4, dtype=np.int16).reshape(2, 2).T
LARGE = np.zeros(8193)


def test_table() -> None:
    check_table(__file__, globals())
