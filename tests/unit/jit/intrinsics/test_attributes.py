"""Attributes of arrays."""

from __future__ import annotations

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.errors import LaunchError

from ..lowering.showing import check_table


def test_table() -> None:
    check_table(__file__, globals())


@jit.rawkernel
def reshaped(x, out, n):  # type: ignore[no-untyped-def]
    rows, all_of_them = x.reshape(-1, n), x.reshape(-1)
    out[0], out[1], out[2] = rows.shape[0], rows[1, 0], all_of_them.size


def test_extents_of_a_reshape() -> None:
    x, out = np.arange(6), np.zeros(3, np.int64)
    reshaped[1, 1](x, out, 3)
    assert out.tolist() == [2, 3, 6]
    for n, wrong in [(-3, "not negative"), (0, "that are not 0"), (4, "as many elements")]:
        with pytest.raises(LaunchError, match=wrong):
            reshaped[1, 1](x, out, n)
