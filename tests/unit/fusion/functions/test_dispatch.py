"""Which of our functions calls of NumPy's are, and what the refused ones say."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import kerneltk


def test_hints_say_what_to_write_in_the_function() -> None:
    for program, hint in (
        (lambda x: np.unique(x), "reduce with 'where=mask'"),
        (lambda x: np.nanquantile(x, 0.5), "fuse what comes before and behind, and call"),
        (lambda x: np.bincount(x), "np.add.at(counts, x, 1)"),
        (lambda x: np.delete(x, [0, 1], 0), "'delete' is fused for one place"),
        (lambda x: x.trace(), "write 'np.trace(x)'"),
    ):
        with pytest.raises(kerneltk.UnsupportedError) as caught:
            kerneltk.fuse(program)(np.ones((2, 2)))
        assert hint in str(caught.value)
        assert "outside of the function" not in str(caught.value)


@kerneltk.fuse
def pickled(x: Any) -> Any:
    return 2 * x + 1


def test_fused_functions_are_pickled_by_their_names() -> None:
    x = np.arange(3.0)
    for other in (pickle.loads(pickle.dumps(pickled)), copy.copy(pickled), copy.deepcopy(pickled)):
        assert isinstance(other, kerneltk.fusion.decorator.Fused)
        np.testing.assert_array_equal(other(x), 2 * x + 1)
