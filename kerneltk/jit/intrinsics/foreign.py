"""Other libraries' names that stand for NumPy's: CuPy's functions, numba's types."""

from __future__ import annotations

from typing import Any

import numpy as np

_NUMBA_SCALARS = "numba.core.types.scalars"


def as_numpys(value: Any) -> Any:
    """Return NumPy's object for one of CuPy's functions or numba's scalar types (`numba.float32`).

    Anything else is returned as it is. Neither library is imported.
    """
    kind = type(value).__module__
    if kind == _NUMBA_SCALARS:
        return getattr(np, str(value), value)
    places = (kind, getattr(value, "__module__", None))
    if any(isinstance(place, str) and place.startswith("cupy.") for place in places):
        name = str(getattr(value, "__name__", "")).removeprefix("cupy_")
        return getattr(np, name, value)
    return value
