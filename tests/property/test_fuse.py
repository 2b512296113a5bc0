"""Random programs, fused, against the same programs in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from tests.property.fuse_expressions import Program, arguments
from tests.sampling import but_for, half

# Rows of 40 elements and 16 of them are read once on the host; columns never are.
SHAPES = ((16, 40), (3, 5))


@pytest.mark.parametrize("seed", [*half(range(12)), *but_for(range(12, 60), *map(str, range(60)))])
def test_random_programs(backend: Any, seed: int) -> None:
    program = Program(seed)
    fused = kerneltk.fuse(program)
    for rows, columns in SHAPES:
        plain = arguments(seed, rows, columns)
        given = [backend.asarray(a) if isinstance(a, np.ndarray) else a for a in plain]
        found = fused(*given)
        wanted = program(*plain)
        pairs = [*zip(found, wanted, strict=True), *zip(given[:4], plain[:4], strict=True)]
        for one, other in pairs:
            one = backend.asnumpy(one)
            assert one.shape == np.shape(other)
            assert one.dtype == np.asarray(other).dtype
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
