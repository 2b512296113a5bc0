"""The argument block: the one struct that a generated entry point takes.

Values that change from call to call (addresses, scalars) come first, the geometry behind them,
so that a plan writes the geometry once and a call packs the rest.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kerneltk.core.records import record


class Field(NamedTuple):
    """One member.

    Parameters
    ----------
    declaration : str
        Its C declaration, without the semicolon.
    format : str
        The ``struct`` format of its values, without padding.
    alignment : int
        Bytes.
    """

    declaration: str
    format: str
    alignment: int = 8


@record
class ArgumentBlock:
    """A laid-out argument block.

    Parameters
    ----------
    declarations : tuple of str
        C member declarations, in order.
    dynamic : struct.Struct
        Packs what changes from call to call, at offset 0.
    constant : struct.Struct
        Packs the geometry, at `constant_offset` (bytes).
    size : int
        Bytes of the whole block.
    """

    declarations: tuple[str, ...]
    dynamic: struct.Struct
    constant: struct.Struct
    constant_offset: int
    size: int


def _lay_out(fields: Sequence[Field], position: int) -> tuple[str, int]:
    parts = ["<"]
    for field in fields:
        gap = -position % field.alignment
        parts.append(f"{gap}x" if gap else "")
        parts.append(field.format.replace("P", "Q"))
        position += gap + struct.calcsize("<" + field.format.replace("P", "Q"))
    return "".join(parts), position


def divisor_field(name: str, count: int, *, wide: bool) -> Field:
    """Return the member that holds so many divisors, each as `divisor_numbers` gives it."""
    kind, row = ("64", "QQQ") if wide else ("32", "III")
    return Field(f"kerneltk::fast_divisor{kind} {name}[{count}]", row * count)


def divisor_numbers(divisors: Iterable[int], *, wide: bool) -> list[int]:
    """Return each divisor with its multiplier and shift."""
    bits = 64 if wide else 32
    return [n for divisor in divisors for n in (divisor, *multiplier_and_shift(divisor, bits))]


def build_block(dynamic: Sequence[Field], constant: Sequence[Field]) -> ArgumentBlock:
    """Lay out the members as a C++ compiler does (the source states every alignment)."""
    front, end = _lay_out(dynamic, 0)
    offset = end + -end % 16
    back, total = _lay_out(constant, offset)
    declarations = [f"alignas({f.alignment}) {f.declaration}" for f in dynamic]
    declarations += [
        f"alignas({16 if index == 0 else f.alignment}) {f.declaration}"
        for index, f in enumerate(constant)
    ]
    return ArgumentBlock(
        tuple(declarations),
        struct.Struct(front),
        struct.Struct(back),
        offset,
        total + -total % 16,
    )


def multiplier_and_shift(divisor: int, bits: int) -> tuple[int, int]:
    """Return multiplier m and shift l with n // divisor == (mulhi(m, n) + n) >> l.

    These are the numbers behind ``divide.hpp``. Source: T. Granlund and P. L. Montgomery,
    "Division by Invariant Integers using Multiplication", PLDI 1994, figure 4.1.

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
