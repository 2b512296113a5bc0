"""What `kerneltk.fuse` refuses, with the whole message at the user's line."""

from __future__ import annotations

import numpy as np
import pytest

import kerneltk
from tests.diagnostics.fuse_refused_support import ARRAY, arguments, function_of, refused
from tests.diagnostics.tables import check_message

REFUSED = refused()


@pytest.mark.parametrize(("body", "kind", "message"), REFUSED, ids=[body for body, _, _ in REFUSED])
def test_message(body: str, kind: str, message: str) -> None:
    before = ARRAY.copy()
    given = arguments()
    copies = [np.copy(value) for value in given]
    check_message(lambda: kerneltk.fuse(function_of(body))(*given), kind, message, of_python=True)
    np.testing.assert_array_equal(ARRAY, before)
    for value, copy in zip(given, copies, strict=True):  # nothing was half done
        np.testing.assert_array_equal(value, copy)


def test_many_are_pinned() -> None:
    assert len(REFUSED) >= 60


def test_fallback_runs_what_is_refused() -> None:
    function = function_of("return x[x > 2].max() + k")
    x, *others = arguments()
    lenient = kerneltk.fuse(fallback=True)(function)
    for _ in range(2):
        assert lenient(x, *others) == function(x, *others)
    shown = str(lenient.explain(x, *others))
    assert "Nothing is fused. How many elements a mask chooses depends on values." in shown
    assert "program.py:2:" in shown


def test_block_around_plain_arrays() -> None:
    with (
        pytest.raises(kerneltk.UnsupportedError, match="Nothing was recorded") as caught,
        kerneltk.fuse(),
    ):
        np.ones(3) + 1
    assert "'x, y = fused(x, y)'" in str(caught.value)
