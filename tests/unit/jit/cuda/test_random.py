"""numba's random numbers: their states, computed by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk.jit.cuda import random
from kerneltk.jit.numba import host_arrays

DTYPE = random.xoroshiro128p_dtype
# What numba-cuda 0.30.4 makes of seed 7.
SEED_7 = [
    (0x63CBE1E459320DD7, 0x63CBE1E459320DD7),
    (0x081EF7A3B2B2C321, 0x10891EB18B0BA67C),
    (0xDFEBDF22D32720EB, 0x18B031B2E4DADD36),
]


@pytest.fixture(autouse=True)
def _device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_arrays, "library", host_arrays.HostLibrary)


def test_states_are_those_of_numba() -> None:
    found = random.create_xoroshiro128p_states(3, seed=7)
    assert type(found) is host_arrays.HostArray
    states: Any = np.zeros(3, DTYPE)
    random.init_xoroshiro128p_states(states, 7)
    for each in (found, states):
        np.testing.assert_array_equal(each, np.array(SEED_7, DTYPE))
    for count in (0, 1):
        assert random.create_xoroshiro128p_states(count, 1).shape == (count,)


def test_each_state_is_a_jump_after_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "_CHUNK", 8)  # several chunks, the last one not full
    found = random.create_xoroshiro128p_states(21, 2**63 + 5)
    np.testing.assert_array_equal(random._jumped(found[:-1]), found[1:])
    later = random.create_xoroshiro128p_states(5, 2**63 + 5, subsequence_start=13)
    np.testing.assert_array_equal(later, found[13:18])
