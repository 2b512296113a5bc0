"""Attributes of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import jit

from ..lowering.showing import value_of

VALUES = [
    (lambda m: m.shape, "(m.shape[0], m.shape[1])"),
    (lambda m: m.ndim, "2"),
    (lambda m: m.dtype == np.int32, "True"),
    (lambda m: m.itemsize, "4"),
    (lambda m: m.size, "m.shape[0] * m.shape[1]"),
    (lambda m: m.nbytes, "(m.shape[0] * m.shape[1]) * 4"),
    (lambda m: m.strides, "(stride<0>(m), stride<1>(m))"),
    (lambda s: s.strides[1], "stride<1>(s)"),
    (lambda empty: empty.shape, "()"),
    (lambda empty: empty.strides, "()"),
    (lambda empty: empty.nbytes, "4"),
    (lambda rs: rs.itemsize, "32"),
    (lambda rs: rs[0].v.strides, "(8,)"),
    # Of a known shape.
    (
        lambda: jit.local_memory("int32", (2, 3, 5)).strides,
        "declare local: local int32[2, 3, 5]; return (60, 20, 4)",
    ),
    (
        lambda: jit.local_memory("int32", (2, 3, 5)).shape,
        "declare local: local int32[2, 3, 5]; return (2, 3, 5)",
    ),
    (
        lambda: jit.local_memory("int16", (2, 3)).nbytes,
        "declare local: local int16[2, 3]; return 12",
    ),
    (lambda: jit.local_memory("int16", 7).strides, "declare local: local int16[7]; return (2,)"),
    (
        lambda: jit.shared_memory("int16", None).size,
        "declare shared: shared int16[:], dynamic; return shared.shape[0]",
    ),
]


@pytest.mark.parametrize("case", VALUES, ids=range(len(VALUES)))
def test_what_is_computed(case: Any) -> None:
    *given, expected = case
    assert value_of(*given) == expected
