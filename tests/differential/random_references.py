"""cuRAND's generators in Python, each as its author describes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
LOW = 2**32 - 1


class Xorwow:
    """Marsaglia's XORWOW. Jumps are powers of a matrix of bits."""

    def __init__(self, seed: int, subsequence: int = 0, offset: int = 0) -> None:
        low = 1099087573 * ((seed & LOW) ^ 0xAAD26B49) & LOW
        high = 2591861531 * ((seed >> 32) ^ 0xF7DCEFDD) & LOW
        self.d = 6615241 + high + low & LOW
        self.v = [
            123456789 + low & LOW, 362436069 ^ low, 521288629 + high & LOW, 88675123 ^ high,
            5783321 + low & LOW,
        ]  # fmt: skip
        self.skip(subsequence << 67)
        self.skip(offset)

    @staticmethod
    def _after(v: list[int]) -> list[int]:
        t = v[0] ^ v[0] >> 2
        return [*v[1:], (v[4] ^ v[4] << 4 ^ t ^ t << 1) & LOW]

    _powers: list[Array] = []  # noqa: RUF012, the matrices of 2^k steps, made once

    @classmethod
    def _power(cls, k: int) -> Array:
        def bits(v: list[int]) -> list[int]:
            return [v[j // 32] >> j % 32 & 1 for j in range(160)]

        if not cls._powers:
            unit = [[1 << j % 32 if j // 32 == i else 0 for i in range(5)] for j in range(160)]
            cls._powers.append(np.array([bits(cls._after(v)) for v in unit], "f4"))
        while len(cls._powers) <= k:
            cls._powers.append(cls._powers[-1] @ cls._powers[-1] % 2)
        return cls._powers[k]

    def skip(self, count: int) -> None:
        row = np.array([self.v[j // 32] >> j % 32 & 1 for j in range(160)], "f4")
        for k in range(count.bit_length()):
            if count >> k & 1:
                row = row @ self._power(k) % 2
        self.v = [sum(int(row[32 * i + j]) << j for j in range(32)) for i in range(5)]
        self.d = self.d + 362437 * count & LOW

    def skip_subsequences(self, count: int) -> None:
        self.skip(count << 67)

    def word(self) -> int:
        self.v = self._after(self.v)
        self.d = self.d + 362437 & LOW
        return self.v[4] + self.d & LOW

    def uniform(self) -> float:
        return float(np.float32(self.word()) * np.float32(2.0**-32) + np.float32(2.0**-33))

    def uniform_double(self) -> float:
        x, y = self.word(), self.word()
        return (x ^ y << 21) * 2.0**-53 + 2.0**-54

    def pair(self) -> tuple[float, float]:
        u = self.uniform()
        return on_circle(u, (self.word() + 0.5) * 2.0**-32 * 2 * np.pi)

    def pair_double(self) -> tuple[float, float]:
        u = self.uniform_double()
        return on_circle(u, self.uniform_double() * 2 * np.pi)


class Philox(Xorwow):
    """Salmon's Philox4x32 of ten rounds."""

    def __init__(self, seed: int, subsequence: int = 0, offset: int = 0) -> None:
        self.key = seed & LOW, seed >> 32
        self.position = (subsequence << 66) + offset  # in numbers

    def skip(self, count: int) -> None:
        self.position += count

    def skip_subsequences(self, count: int) -> None:
        self.position += count << 66

    def _at(self, position: int) -> int:
        return philox(position >> 2 & 2**128 - 1, self.key)[position & 3]

    def word(self) -> int:
        self.position += 1
        return self._at(self.position - 1)

    def uniform_double(self) -> float:
        return self.word() * 2.0**-32 + 2.0**-32

    def wide(self) -> float:
        x, y = self.word(), self.word()
        return (x ^ y << 21) * 2.0**-53 + 2.0**-54

    def pair_double(self) -> tuple[float, float]:
        u = self.wide()
        return on_circle(u, self.wide() * 2 * np.pi)


class Mrg(Xorwow):
    """L'Ecuyer's MRG32k3a. Jumps are powers of matrices modulo its two primes."""

    primes = 2**32 - 209, 2**32 - 22853

    def __init__(self, seed: int, subsequence: int = 0, offset: int = 0) -> None:
        x, y = (seed & LOW) ^ 0x55555555, (seed >> 32) ^ 0xAAAAAAAA
        if seed == 0:
            x = y = 1
        factors = (x, y, x), (y, x, y)
        self.s = [
            [factor * 12345 % prime for factor in row]
            for row, prime in zip(factors, self.primes, strict=True)
        ]
        self.skip((subsequence << 76) + offset)

    def skip(self, count: int) -> None:
        rows = (-810728, 1403580, 0), (-1370589, 0, 527612)
        for which, (row, prime) in enumerate(zip(rows, self.primes, strict=True)):
            matrix = np.array([(0, 1, 0), (0, 0, 1), row], object)
            for k in range(count.bit_length()):
                if count >> k & 1:
                    self.s[which] = list(matrix @ np.array(self.s[which], object) % prime)
                matrix = matrix @ matrix % prime

    def skip_subsequences(self, count: int) -> None:
        self.skip(count << 127)

    def _next(self) -> int:
        (a, b), (p, q) = self.s, self.primes
        x = (1403580 * a[1] - 810728 * a[0]) % p
        y = (527612 * b[2] - 1370589 * b[0]) % q
        self.s = [[*a[1:], x], [*b[1:], y]]
        return int((x - y) % p or p)

    def word(self) -> int:
        return int(self._next() * 1.000000048662)

    def uniform(self) -> float:
        return float(np.float32(self.uniform_double()))

    def uniform_double(self) -> float:
        return self._next() * 2.3283065498378288e-10

    def pair(self) -> tuple[float, float]:
        u = self.uniform()
        return on_circle(u, self.uniform() * 2 * np.pi)


def on_circle(u: float, angle: float) -> tuple[float, float]:
    """Return two normal numbers of a uniform one and an angle (Box and Muller)."""
    radius = np.sqrt(-2 * np.log(u))
    return float(radius * np.sin(angle)), float(radius * np.cos(angle))


def philox(counter: int, key: tuple[int, int]) -> tuple[int, ...]:
    x = [counter >> 32 * k & LOW for k in range(4)]
    for _ in range(10):
        first, second = x[0] * 0xD2511F53, x[2] * 0xCD9E8D57
        x = [second >> 32 ^ x[1] ^ key[0], second & LOW, first >> 32 ^ x[3] ^ key[1], first & LOW]
        key = key[0] + 0x9E3779B9 & LOW, key[1] + 0xBB67AE85 & LOW
    return tuple(x)


def sobol(vectors: Array, scramble: int, index: int) -> int:
    """Return one dimension's point of an index: the vectors of its Gray code's bits."""
    point, gray = scramble, index ^ index >> 1
    for k, vector in enumerate(vectors.tolist()):
        point ^= vector if gray >> k & 1 else 0
    return point
