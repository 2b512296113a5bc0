"""Division by a run-time constant as a multiplication: the numbers behind ``divide.hpp``.

Source: T. Granlund and P. L. Montgomery, "Division by Invariant Integers using Multiplication",
PLDI 1994, figure 4.1.
"""

from __future__ import annotations

__all__ = ["multiplier_and_shift"]


def multiplier_and_shift(divisor: int, bits: int) -> tuple[int, int]:
    """Return multiplier m and shift l with n // divisor == (mulhi(m, n) + n) >> l.

    Parameters
    ----------
    divisor : int
        From 1 to 2**(bits - 1).
    bits : {32, 64}
        Width of the unsigned word; the identity holds for 0 <= n < 2**(bits - 1).

    Examples
    --------
    >>> m, l = multiplier_and_shift(7, 32)
    >>> ((m * 1000 >> 32) + 1000) >> l
    142
    """
    if not 1 <= divisor <= 1 << (bits - 1):
        raise ValueError(f"The divisor {divisor} does not fit {bits - 1} bits.")
    shift = (divisor - 1).bit_length()
    multiplier = ((1 << bits) * ((1 << shift) - divisor)) // divisor + 1
    return multiplier, shift
