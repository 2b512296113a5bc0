"""cuRAND's device API on every backend, against the generators as their authors describe them."""

from __future__ import annotations

from math import erfc, sqrt
from typing import Any

import numpy as np
import pytest

from .random_references import Mrg, Philox, Xorwow, philox, sobol
from .raw_support import launch, library

DRAWS = 8
GENERATORS = {
    "curandStateXORWOW": (Xorwow, 48),
    "curandStatePhilox4_32_10": (Philox, 64),
    "curandStateMRG32k3a": (Mrg, 48),
}
# Seeds, subsequences and offsets: next to each other, as threads have them, and far apart.
STARTS = [
    *((42, k, 0) for k in range(6)),
    *((42, k, 5 * k) for k in (3, 2, 2, 40, 2**20 - 1, 2**40 + 5)),
    (0, 0, 0), (0, 1, 2**20 + 1), (1, 0, 255), (1, 0, 256), (2**32, 7, 2**33 + 3),
    (2**64 - 1, 2**45, 2**62 + 1), (0x0123456789ABCDEF, 12345, 3), (42, 1, 1),
]  # fmt: skip


def module() -> Any:
    names = [f"{kernel}<{s}>" for s in GENERATORS for kernel in ("draw", "skip", "poisson")]
    return library("curand", tuple(names))


def kept_pairs(generator: Xorwow) -> tuple[list[float], list[float]]:
    """Return what the kernel `draw` makes of normal numbers."""
    first, second, third, fourth = (generator.pair() for _ in range(4))
    logs = np.exp(0.5 + 0.25 * np.array(third))
    normals = [first[0], *second, first[1], *logs, *fourth]
    first, second, third, fourth = (generator.pair_double() for _ in range(4))
    logs = np.exp(0.5 + 0.25 * np.array([*third, *fourth]))
    return normals, [first[0], *second, first[1], *logs]


@pytest.mark.exhaustive
@pytest.mark.parametrize("state", GENERATORS)
def test_numbers_are_those_of_the_generator(backend: Any, state: str) -> None:
    generator, size = GENERATORS[state]
    n = len(STARTS)
    starts = [np.array(column, "u8") for column in zip(*STARTS, strict=True)]
    states = np.zeros((n, size), "u1")
    words, uniforms, doubles = (np.zeros((n, DRAWS), t) for t in ("u4", "f4", "f8"))
    normals, wide = np.zeros((n, DRAWS), "f4"), np.zeros((n, DRAWS), "f8")
    launch(
        backend,
        module(),
        f"draw<{state}>",
        1,
        n,
        *starts,
        states,
        words,
        uniforms,
        doubles,
        normals,
        wide,
    )
    for i, start in enumerate(STARTS):
        wanted = generator(*start)
        assert words[i].tolist() == [wanted.word() for _ in range(DRAWS)], start
        assert uniforms[i].tolist() == [wanted.uniform() for _ in range(DRAWS)], start
        assert doubles[i].tolist() == [wanted.uniform_double() for _ in range(DRAWS)], start
        single, double = kept_pairs(wanted)
        # A GPU's fast sine and cosine are off by 2^-21 and more, times at most 6.7.
        np.testing.assert_allclose(normals[i], single, rtol=2e-6, atol=1e-5)
        np.testing.assert_allclose(wide[i], double, rtol=1e-13, atol=1e-14)
    assert states.any(1).all()


@pytest.mark.parametrize("state", GENERATORS)
def test_jumps_arrive_where_steps_do(backend: Any, state: str) -> None:
    counts = np.array([0, 1, 2, 3, 4, 255, 256, 1000, 2**31 + 7, 2**62 + 9], "u8")
    words = np.zeros((len(counts), 2), "u4")
    launch(backend, module(), f"skip<{state}>", 1, len(counts), 7, counts, words)
    for i, count in enumerate(counts.tolist()):
        wanted = GENERATORS[state][0](7, 0, 3)
        wanted.skip(count)
        assert words[i, 0] == wanted.word()
        wanted.skip_subsequences(i)
        assert words[i, 1] == wanted.word()


VENDOR = {  # of cuRAND 10.3.9, seed 42, subsequence 3, offset 5
    "xorwow": [1165878552, 1403541011, 2705435696, 1428035014],
    "philox": [496087451, 2846961708, 1068123878, 1378468243],
    "mrg": [2682861173, 167331011, 4042846070, 3658798723],
}


def test_numbers_of_the_vendor() -> None:
    """The references themselves: what NVIDIA's library and the generators' authors give."""
    generator = Xorwow(42, 3, 5)
    assert [generator.word() for _ in range(4)] == VENDOR["xorwow"]
    other = Philox(42, 3, 5)
    assert [other.word() for _ in range(4)] == VENDOR["philox"]
    third = Mrg(42, 3, 5)
    assert [third.word() for _ in range(4)] == VENDOR["mrg"]
    # RngStreams begins with these.
    stream = Mrg(0)
    assert [round(stream.uniform_double(), 6) for _ in range(3)] == [0.127011, 0.318528, 0.309186]


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
    for counter, key, words in KNOWN:
        assert philox(sum(x << 32 * k for k, x in enumerate(counter)), key) == words
    words = np.zeros_like(wanted)
    launch(backend, module(), "philox_known", 1, len(KNOWN), counters, keys, words)
    np.testing.assert_array_equal(words, wanted)


def test_four_numbers_of_philox_at_once(backend: Any) -> None:
    n = 9
    words, floats, doubles = (np.zeros((n, 2, 4), t) for t in ("u4", "f4", "f8"))
    launch(backend, module(), "philox_fours", 1, n, words, floats, doubles)
    for i in range(n):
        wanted = Philox(42, 7, i)
        assert words[i, 0].tolist() == [wanted.word() for _ in range(4)]
        assert floats[i, 0].tolist() == [wanted.uniform() for _ in range(4)]
        normals = [*wanted.pair(), *wanted.pair()]
        np.testing.assert_allclose(floats[i, 1], normals, rtol=2e-6, atol=1e-5)
        assert doubles[i, 0].tolist() == [wanted.wide(), wanted.wide(), 0, 0]
        wide = [*wanted.pair_double(), *wanted.pair_double()]
        np.testing.assert_allclose(doubles[i, 1], wide, rtol=1e-13, atol=1e-14)
        counts = []
        for _ in range(4):
            count, product = 0, np.float32(np.exp(2.5))
            while (product := product * np.float32(wanted.uniform())) > 1:
                count += 1
            counts.append(count)
        assert words[i, 1].tolist() == counts


def test_points_of_sobol(backend: Any) -> None:
    n, scramble = 7, 0x12345678
    random = np.random.default_rng(3)
    narrow = random.integers(0, 2**32, 32, "u4")
    wide = random.integers(0, 2**64, 64, "u8")
    words, longs = np.zeros((n, 2, DRAWS), "u4"), np.zeros((n, 2, DRAWS), "u8")
    normals = np.zeros((n, 2), "f4")
    launch(backend, module(), "sobol", 1, n, narrow, scramble, wide, words, longs, normals)
    for i in range(n):
        for k in range(DRAWS):
            index = i * 7919 + k
            assert words[i, :, k].tolist() == [sobol(narrow, s, index) for s in (0, scramble)]
            assert longs[i, :, k].tolist() == [sobol(wide, s, index) for s in (0, scramble)]
        last = sobol(wide, 0, i * 7919 + DRAWS) >> 32
        assert normals[i, 1] == np.float32(last) * np.float32(2.0**-32) + np.float32(2.0**-33)
        # The distribution function of a normal number gives the uniform one back.
        uniform = (sobol(narrow, 0, i * 7919 + DRAWS) + 0.5) * 2.0**-32
        assert distribution(normals[i, 0]) == pytest.approx(uniform, rel=1e-5)


def distribution(x: float) -> float:
    return erfc(-float(x) / sqrt(2)) / 2


@pytest.mark.parametrize("state", GENERATORS)
def test_poisson_numbers_have_their_mean_and_variance(backend: Any, state: str) -> None:
    means, draws = np.array([0.5, 20.0, 63.5, 64.0, 900.0, 3999.0, 4001.0, 1e6]), 4000
    counts = np.zeros((len(means), draws), "u4")
    launch(backend, module(), f"poisson<{state}>", 1, len(means), means, counts, draws)
    # Five standard deviations of the mean and of the variance of so many numbers.
    assert (abs(counts.mean(1) - means) < 5 * np.sqrt(means / draws)).all()
    variance = means * np.sqrt((2 + 1 / means) / draws)
    assert (abs(counts.var(1) - means) < 5 * variance).all()
