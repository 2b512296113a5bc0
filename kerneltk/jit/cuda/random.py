"""numba-cuda's random numbers: ``cuda.random``, the generator xoroshiro128+ for each thread.

D. Blackman and S. Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM TOMS 47 (2021);
the state of a seed is made by their splitmix64. The numbers are numba's, to the bit where they are
uniform.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels that call these look their annotations up: they have none.
from __future__ import annotations

import math
from typing import Any

import numpy as np

from kerneltk.jit.numba import host_arrays

__all__ = [
    "create_xoroshiro128p_states",
    "init_xoroshiro128p_states",
    "xoroshiro128p_dtype",
    "xoroshiro128p_next",
    "xoroshiro128p_normal_float32",
    "xoroshiro128p_normal_float64",
    "xoroshiro128p_uniform_float32",
    "xoroshiro128p_uniform_float64",
]

xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)

_JUMP = 0xD86B048B86AA9922_BEAC0467EBA5FACB  # the steps whose sum is 2**64 steps
_CHUNK = 1 << 16  # states that are computed together


# -- in kernels ------------------------------------------------------------------------------------


def xoroshiro128p_next(states, index):
    """Return the next random uint64, and advance ``states[index]``."""
    s0, s1 = states[index].s0, states[index].s1
    result = s0 + s1
    s1 ^= s0
    states[index].s0 = ((s0 << 55) | (s0 >> 9)) ^ s1 ^ (s1 << 14)
    states[index].s1 = (s1 << 36) | (s1 >> 28)
    return result


def xoroshiro128p_uniform_float32(states, index):
    """Return a float32 from 0 to 1, and advance ``states[index]``."""
    return np.float32(xoroshiro128p_uniform_float64(states, index))


def xoroshiro128p_uniform_float64(states, index):
    """Return a float64 from 0 to less than 1, and advance ``states[index]``."""
    return np.float64(xoroshiro128p_next(states, index) >> 11) * np.float64(2.0**-53)


def xoroshiro128p_normal_float32(states, index):
    """Return a normally distributed float32 (mean 0, deviation 1), and advance ``states[index]`` by
    two steps.
    """
    # Box and Muller's method; its second number is dropped, as by numba.
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(-2.0 * math.log(u1)) * math.cos(np.float32(2 * math.pi) * u2)


def xoroshiro128p_normal_float64(states, index):
    """Return a normally distributed float64 (mean 0, deviation 1), and advance ``states[index]`` by
    two steps. It is made of two float32, as numba's.
    """
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return np.float64(math.sqrt(-2.0 * np.float64(math.log(u1)))) * math.cos(
        np.float64(2 * math.pi) * u2
    )


# -- their states ----------------------------------------------------------------------------------


def create_xoroshiro128p_states(
    n: int, seed: int, subsequence_start: int = 0, stream: Any = 0
) -> Any:
    """Return an array on the device of `n` generators' states, which are 2**64 steps apart.

    Parameters
    ----------
    n : int
    seed : int
        64 bits.
    subsequence_start : int
        How many times 2**64 steps the first one is away from the seed's.
    stream : optional

    Returns
    -------
    device array
        Of ``xoroshiro128p_dtype``.
    """
    return host_arrays.to_device(_states(int(n), int(seed), int(subsequence_start)), stream)


def init_xoroshiro128p_states(
    states: Any, seed: int, subsequence_start: int = 0, stream: Any = 0
) -> None:
    """Set an array on the device as `create_xoroshiro128p_states` does."""
    host_arrays.to_device(
        _states(len(states), int(seed), int(subsequence_start)), stream, to=states
    )


def _states(count: int, seed: int, start: int) -> np.ndarray[Any, Any]:
    """Compute states. A jump is linear in a state's bits, as each step is, and so a product with a
    matrix of zeros and ones; its squares jump twice as far.
    """
    jump = _bits_of(_jumped(_states_of(np.eye(128, dtype=np.uint8))))
    found = _states_of(_bits_of(_seeded(seed)) @ _power(jump, start))
    while len(found) < min(count, _CHUNK):
        found = np.concatenate((found, _states_of(_bits_of(found) @ jump)))
        jump = jump @ jump % 2
    chunks = [found]
    while sum(map(len, chunks)) < count:
        chunks.append(_states_of(_bits_of(chunks[-1]) @ jump))
    return np.concatenate(chunks)[:count]


def _power(jump: Any, exponent: int) -> Any:
    found = np.eye(128, dtype=np.float32)
    while exponent:
        if exponent & 1:
            found = found @ jump % 2
        jump, exponent = jump @ jump % 2, exponent >> 1
    return found


def _seeded(seed: int) -> np.ndarray[Any, Any]:
    """Return the state of a seed, by splitmix64."""
    mask = 2**64 - 1
    z = seed + 0x9E3779B97F4A7C15 & mask
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    z ^= z >> 31
    return np.array([(z, z)], xoroshiro128p_dtype)


def _jumped(states: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return states 2**64 steps later."""
    found, states = np.zeros_like(states), states.copy()
    for bit in range(128):
        if _JUMP >> bit & 1:
            found["s0"] ^= states["s0"]
            found["s1"] ^= states["s1"]
        s0, s1 = states["s0"], states["s1"] ^ states["s0"]
        states["s0"], states["s1"] = (
            ((s0 << np.uint64(55)) | (s0 >> np.uint64(9))) ^ s1 ^ (s1 << np.uint64(14)),
            (s1 << np.uint64(36)) | (s1 >> np.uint64(28)),
        )
    return found


def _bits_of(states: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the bits of states, a row each."""
    return np.unpackbits(states.view(np.uint8).reshape(-1, 16), axis=1).astype(np.float32)


def _states_of(bits: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the states that have these bits, modulo 2."""
    return np.packbits(bits.astype(np.uint8) & 1, axis=1).view(xoroshiro128p_dtype).ravel()
