"""The multiplier of a division: every divisor that is small, and the edges of the range."""

from __future__ import annotations

import pytest

from kerneltk.codegen.divisors import multiplier_and_shift


@pytest.mark.parametrize("bits", [32, 64])
def test_small_divisors_and_edges(bits: int) -> None:
    top = (1 << (bits - 1)) - 1
    divisors = [*range(1, 600), top, top - 1, top // 2, top // 2 + 1, top // 3, 1 << (bits - 1)]
    for divisor in divisors:
        multiplier, shift = multiplier_and_shift(divisor, bits)
        assert 0 < multiplier < 1 << bits
        assert 0 <= shift < bits
        last = top // divisor * divisor
        for n in (0, 1, divisor - 1, divisor, divisor + 1, last - 1, last, top - 1, top):
            if 0 <= n <= top:
                assert ((multiplier * n >> bits) + n) >> shift == n // divisor


@pytest.mark.parametrize("divisor", [0, -1, (1 << 31) + 1])
def test_divisors_out_of_range(divisor: int) -> None:
    with pytest.raises(ValueError, match="does not fit 31 bits"):
        multiplier_and_shift(divisor, 32)
