"""The argument block: the one struct that a generated entry point takes.

Values that change from call to call (addresses, scalars) come first, the geometry behind them,
so that a plan writes the geometry once and a call packs the rest.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["ArgumentBlock", "Field", "build_block"]


@dataclass(frozen=True, slots=True)
class Field:
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


@dataclass(frozen=True, slots=True)
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


def build_block(dynamic: Sequence[Field], constant: Sequence[Field]) -> ArgumentBlock:
    """Lay out the members as a C++ compiler does (every alignment is stated in the text)."""
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
