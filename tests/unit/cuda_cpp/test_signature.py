"""Signatures of raw kernels: where parameters lie, and how messages name them."""

from __future__ import annotations

import ctypes

import pytest

from kerneltk.cuda_cpp.signature import (
    KernelSignature,
    RawParameter,
    layout_of,
    signature_of_sizes,
)
from kerneltk.object_code.reflection import ParameterType

CHAR = ParameterType(1, 1, "int", "char")
SHORT = ParameterType(2, 2, "int", "short")
INT = ParameterType(4, 4, "int", "int")
DOUBLE = ParameterType(8, 8, "float", "double")
C_TYPES = {1: ctypes.c_int8, 2: ctypes.c_int16, 4: ctypes.c_int32, 8: ctypes.c_double}


@pytest.mark.parametrize(
    "types",
    [
        [],
        [CHAR],
        [CHAR, DOUBLE],
        [DOUBLE, CHAR],
        [CHAR, SHORT, CHAR, INT, CHAR, DOUBLE, CHAR],
        [INT] * 9,
    ],
)
def test_parameters_lie_as_members_of_a_struct(types: list[ParameterType]) -> None:
    fields = [(f"f{k}", C_TYPES[kind.size]) for k, kind in enumerate(types)]
    struct = type("S", (ctypes.Structure,), {"_fields_": fields})
    offsets, end = layout_of(types)
    assert offsets == tuple(getattr(struct, name).offset for name, _ in fields)
    # The block ends with its last parameter; a struct is filled up to its alignment.
    last = getattr(struct, fields[-1][0]) if fields else None
    assert end == (last.offset + last.size if last else 0)


def test_sizes_alone() -> None:
    found = signature_of_sizes("k", [(0, 8), (8, 4)])
    assert [(p.name, p.shown, p.type, p.offset, p.size) for p in found.parameters] == [
        ("", "'8 bytes'", None, 0, 8),
        ("", "'4 bytes'", None, 8, 4),
    ]
    assert found.size == 12
    assert str(found) == "k(8 bytes, 4 bytes)"
    assert signature_of_sizes("k", []) == KernelSignature("k", (), 0)


def test_a_parameter_without_a_name_is_shown_by_its_type() -> None:
    assert RawParameter("x", "int x", None, 0, 4).shown == "'x'"
    assert RawParameter("", "int", None, 0, 4).shown == "'int'"
