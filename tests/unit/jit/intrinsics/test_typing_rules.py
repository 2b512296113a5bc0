"""How arguments of intrinsics are checked: counts, keywords, dtypes, shapes."""

from __future__ import annotations

import numpy as np

from ..lowering.showing import check_table

RECORD = np.dtype([("a", np.int8), ("b", np.float64)])


def test_table() -> None:
    check_table(__file__, globals())
