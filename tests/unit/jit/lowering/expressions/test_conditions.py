"""``and`` and ``or``, and values that are chosen by a condition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import jit

from ..showing import check_table


@jit.rawkernel(device=True)
def noted(calls, k, answer):
    calls[k] += 1
    return answer > 0


@jit.rawkernel(device=True)
def noted_pair(calls, k):
    calls[k] += 1
    return k, k


@jit.rawkernel()
def joined_calls(given, calls):
    if given[0] > 0 and noted(calls, 0, given[1]) and noted(calls, 1, given[2]):
        calls[2] += 100
    if given[1] > 0 or noted(calls, 3, given[0]) or noted(calls, 4, given[2]):
        calls[5] += 100
    if given[0] > 0 and noted_pair(calls, 6):  # a tuple that is true by its type
        calls[7] += 100
    if not (given[1] > 0 and noted_pair(calls, 8)):
        calls[9] += 100


@pytest.mark.exhaustive
def test_a_call_that_decides_keeps_later_ones_from_being_made(backend: Any) -> None:
    given, calls = backend.asarrays(np.array([1, 0, 1]), np.zeros(10, np.int64))
    joined_calls[1, 1](given, calls)
    assert list(backend.asnumpy(calls)) == [1, 0, 0, 1, 0, 100, 1, 100, 0, 100]


def test_table() -> None:
    check_table(__file__, globals())
