"""Cumulative sums, products and extremes along rows, by kernels in Python: a thread has a row."""

from __future__ import annotations

from typing import Any

import numpy as np

from kerneltk.jit.frontends.vectorize import vectorize


def _running(combine: np.ufunc) -> Any:
    """``combine.accumulate``; extremes are NaN from the first one on."""

    def running(x: Any, y: Any) -> None:
        total = x[0]
        y[0] = total
        for i in range(1, x.shape[0]):
            total = combine(total, x[i])
            y[i] = total

    running.__name__ = f"running_{combine.__name__}"
    return vectorize(running, signature="(n)->(n)")


RUNNING: dict[str, Any] = {
    ufunc.__name__: _running(ufunc) for ufunc in (np.add, np.multiply, np.maximum, np.minimum)
}
