"""Arrays whose class computes otherwise than the library's are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.fusion.subclasses import computes_otherwise


class Plain(np.ndarray):
    def __array_finalize__(self, other: Any) -> None:
        self.info = getattr(other, "info", None)

    def __repr__(self) -> str:
        return "Plain"


class Adds(np.ndarray):
    def __add__(self, other: Any) -> Any:
        return np.ndarray.__add__(self, other) * 100


class Sums(Plain):
    def sum(self, *args: Any, **kwargs: Any) -> Any:
        return 7


class Shaped(np.ndarray):
    @property
    def T(self) -> Any:  # noqa: N802 (NumPy's name)
        return self


class Mapped(np.memmap):
    def __getitem__(self, key: Any) -> Any:
        return 1


@pytest.mark.parametrize("kind", [Adds, Sums, Shaped, Mapped, np.matrix])
def test_classes_with_a_meaning_of_their_own(kind: Any) -> None:
    assert computes_otherwise(kind)


@pytest.mark.parametrize("kind", [np.ndarray, Plain, np.memmap, np.recarray, np.float64, int])
def test_classes_that_compute_as_numpy(kind: Any) -> None:
    assert not computes_otherwise(kind)


def test_arguments_and_arrays_from_outside() -> None:
    x = np.ones(3)
    with pytest.raises(kerneltk.ArgumentTypeError, match=r"numpy\.asarray"):
        kerneltk.fuse(lambda a: a + 1)(x.view(Adds))
    table = [x.view(Sums)]
    with pytest.raises(kerneltk.ArgumentTypeError, match="computes otherwise"):
        kerneltk.fuse(lambda a: np.add(a, table[0]))(x)
    np.testing.assert_array_equal(kerneltk.fuse(lambda a: a + 1)(x.view(Plain)), x + 1)
