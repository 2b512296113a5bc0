"""Memory that a kernel declares: shared, local and constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.jit import cuda

from ...lowering.showing import refused, value_of

ROWS = np.arange(4, dtype=np.int16).reshape(2, 2).T
LARGE = np.zeros(8193)

VALUES = [
    (
        lambda x: jit.shared_memory("float32", 8)[0],
        "declare shared: shared float32[8]; return shared[0]",
    ),
    (
        lambda x: jit.shared_memory(np.int8, (2, 3), 16)[0, 0],
        "declare shared: shared int8[2, 3], aligned to 16; return shared[0, 0]",
    ),
    (
        lambda x: jit.shared_memory("float64", 2, 4)[0],
        "declare shared: shared float64[2]; return shared[0]",
    ),
    (
        lambda x: jit.shared_memory("float32", None)[0],
        "declare shared: shared float32[:], dynamic; return shared[0]",
    ),
    (
        lambda x: jit.shared_memory("float32", (0,))[0],
        "declare shared: shared float32[:], dynamic; return shared[0]",
    ),
    (
        lambda x: jit.shared_memory("float64", 6144)[0],
        "declare shared: shared float64[6144]; return shared[0]",
    ),
    (
        lambda x: cuda.shared.array((2, 2), "int32")[0, 0],
        "declare shared: shared int32[2, 2]; return shared[0, 0]",
    ),
    (
        lambda x: cuda.shared.array(0, np.uint8)[0],
        "declare shared: shared uint8[:], dynamic; return shared[0]",
    ),
    (lambda x: jit.local_memory("int16", 3)[0], "declare local: local int16[3]; return local[0]"),
    (
        lambda x: jit.local_memory("float64", 65536)[0],
        "declare local: local float64[65536]; return local[0]",
    ),
    (lambda x: cuda.local.array(2)[0], "declare local: local float64[2]; return local[0]"),
    (
        lambda x: cuda.const.array_like((1, 2))[0],
        "declare constant: constant int64[2] = [1, 2]; return constant[0]",
    ),
    (
        lambda x: cuda.const.array_like(ROWS)[0, 1],
        "declare constant: constant int16[2, 2] = [0, 2, 1, 3]; return constant[0, 1]",
    ),
]


@pytest.mark.parametrize("case", VALUES, ids=range(len(VALUES)))
def test_what_is_computed(case: Any) -> None:
    *given, expected = case
    assert value_of(*given) == expected


REFUSED = [
    (
        lambda: jit.shared_memory("float64", 6145)[0],
        (
            "49160 bytes of shared memory are more than a kernel can declare (49152). Hint: use "
            "smaller tiles; or None, with a size (bytes) that each launch gives."
        ),
    ),
    (lambda: cuda.const.array_like(())[0], "An array without elements cannot be copied."),
]


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected
