"""Attributes and items: of objects that are known, of records and tuples, of numbers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..showing import check_table

CONFIG = SimpleNamespace(size=7, inner=SimpleNamespace(factor=2.5))
TABLE, NESTED = {"a": 1, 2: 3}, ((1, 2), (3, 4))
SCALAR = np.float32(2)


class Raises:
    @property
    def value(self) -> int:
        raise RuntimeError("no value today.")


RAISES = Raises()


EQUAL = (
    "dtypes that are equal differ in it, and share the kernel. Hint: read it outside of the "
    "kernel, and use its value."
)


def test_table() -> None:
    check_table(__file__, globals())
