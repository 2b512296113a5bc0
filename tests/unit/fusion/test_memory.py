"""Which arguments overlap."""

from __future__ import annotations

import numpy as np

from kerneltk.fusion.memory import _overlaps_itself


def test_an_array_with_no_elements_overlaps_nothing() -> None:
    assert not _overlaps_itself(np.zeros((0, 4)))
    assert not _overlaps_itself(np.broadcast_to(np.zeros(4), (0, 4)))
    assert _overlaps_itself(np.broadcast_to(np.zeros(4), (2, 4)))
