"""cuRAND's device API on every backend, against numbers of its generators as their authors describe
them.

`curand_values.json` has what the algorithms in those papers gave, written in Python; seed 42,
subsequence 3 and offset 5 are also what NVIDIA's cuRAND 10.3.9 gives.
"""

from __future__ import annotations

import json
from math import erfc, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .raw_support import Array, launch, library

VALUES = json.loads(Path(__file__).with_name("curand_values.json").read_text())
STATES = {"curandStateXORWOW": 48, "curandStatePhilox4_32_10": 64, "curandStateMRG32k3a": 48}
NORMAL = 2e-6, 1e-5  # a GPU's fast sine and cosine are off by 2^-21 and more, times at most 6.7
WIDE = 1e-13, 1e-14


def module() -> Any:
    names = [f"{kernel}<{s}>" for s in STATES for kernel in ("draw", "skip", "poisson")]
    return library("curand", tuple(names))


def check(found: Array, wanted: Any, limit: tuple[float, float] = (0, 0)) -> None:
    np.testing.assert_allclose(found.tolist(), wanted, *limit)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("state", STATES)
def test_numbers_are_those_of_the_generator(backend: Any, state: str) -> None:
    starts = [np.array(column, "u8") for column in zip(*VALUES["starts"], strict=True)]
    n, wanted = len(starts[0]), VALUES[state]
    states, found = np.zeros((n, STATES[state]), "u1"), {}
    for name, dtype in zip(("words", "uniforms", "doubles", "normals", "wide"),
                           ("u4", "f4", "f8", "f4", "f8"), strict=True):  # fmt: skip
        found[name] = np.zeros((n, 8), dtype)
    launch(backend, module(), f"draw<{state}>", 1, n, *starts, states, *found.values())
    for name, array in found.items():
        check(array, wanted[name], {"normals": NORMAL, "wide": WIDE}.get(name, (0, 0)))
    assert states.any(1).all()


@pytest.mark.parametrize("state", STATES)
def test_jumps_arrive_where_steps_do(backend: Any, state: str) -> None:
    counts = np.array(VALUES["counts"], "u8")
    words = np.zeros((len(counts), 2), "u4")
    launch(backend, module(), f"skip<{state}>", 1, len(counts), 7, counts, words)
    check(words, VALUES[state]["skipped"])


# Random123's known answers for philox4x32-10.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((2**32 - 1,) * 4, (2**32 - 1,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]  # fmt: skip


def test_known_answers_of_philox(backend: Any) -> None:
    counters, keys, wanted = (np.array(column, "u4") for column in zip(*KNOWN, strict=True))
    words = np.zeros_like(wanted)
    launch(backend, module(), "philox_known", 1, len(KNOWN), counters, keys, words)
    np.testing.assert_array_equal(words, wanted)


def test_four_numbers_of_philox_at_once(backend: Any) -> None:
    n, wanted = 9, VALUES["fours"]
    words, floats, doubles = (np.zeros((n, 2, 4), t) for t in ("u4", "f4", "f8"))
    launch(backend, module(), "philox_fours", 1, n, words, floats, doubles)
    check(words, wanted["words"])
    check(floats, wanted["floats"], NORMAL)
    check(doubles, wanted["doubles"], WIDE)


def test_points_of_sobol(backend: Any) -> None:
    n, wanted = 7, VALUES["sobol"]
    narrow, wide = (np.array(x, t) for x, t in zip(wanted["vectors"], ("u4", "u8"), strict=True))
    words, longs = np.zeros((n, 2, 8), "u4"), np.zeros((n, 2, 8), "u8")
    normals = np.zeros((n, 2), "f4")
    launch(backend, module(), "sobol", 1, n, narrow, 0x12345678, wide, words, longs, normals)
    assert (words.tolist(), longs.tolist()) == (wanted["words"], wanted["longs"])
    assert normals[:, 1].tolist() == wanted["last"]
    # The distribution function of a normal number gives the uniform one back.
    found = [erfc(-float(x) / sqrt(2)) / 2 for x in normals[:, 0]]
    np.testing.assert_allclose(found, wanted["uniform_of_normal"], 1e-5)


@pytest.mark.parametrize("state", STATES)
def test_poisson_numbers_have_their_mean_and_variance(backend: Any, state: str) -> None:
    means, draws = np.array([0.5, 20.0, 63.5, 64.0, 900.0, 3999.0, 4001.0, 1e6]), 4000
    counts = np.zeros((len(means), draws), "u4")
    launch(backend, module(), f"poisson<{state}>", 1, len(means), means, counts, draws)
    # Five standard deviations of the mean and of the variance of so many numbers.
    assert (abs(counts.mean(1) - means) < 5 * np.sqrt(means / draws)).all()
    variance = means * np.sqrt((2 + 1 / means) / draws)
    assert (abs(counts.var(1) - means) < 5 * variance).all()
