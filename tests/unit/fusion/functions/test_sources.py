"""Functions of NumPy that are traced as NumPy's own code."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.unit.fusion.array_support import arrays_of, check


def test_arrangements() -> None:
    def program(x: Any, v: Any) -> Any:
        return [
            *(np.rot90(x, k) for k in range(-1, 4)), np.rot90(x[None], 1, (1, 2)),
            np.atleast_1d(x.sum()), np.atleast_2d(v, x), np.atleast_3d(v), np.atleast_3d(x),
            np.array_split(x, 4, 1), np.array_split(v, [2, 5]), np.vsplit(x, 2), np.hsplit(x, 7),
            np.hsplit(v, [1]), np.dsplit(x[None], 7)[1], np.unstack(x), np.unstack(x, axis=1)[3],
        ]  # fmt: skip

    check(program, arrays_of(float, 6, 7), arrays_of(float, 7))
