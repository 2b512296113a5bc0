"""What one launch of a raw kernel is given beside its arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import ArgumentValueError


def kernel(parameters: str, body: str = "", before: str = "", **words: Any) -> kerneltk.RawKernel:
    return kerneltk.RawKernel(f"{before}\n__global__ void f({parameters}) {{{body}}}", "f", **words)


def test_checks_can_be_set_later() -> None:
    take = kernel("float* x")
    gaps = np.zeros(8, np.float32)[::2]
    with pytest.raises(ArgumentValueError, match="gaps"):
        take(1, 1, (gaps,))
    take.checks = False
    take(1, 1, (gaps,))
    take.checks = True
    with pytest.raises(ArgumentValueError, match="gaps"):
        take(1, 1, (gaps,))


def test_keywords_of_one_launch_are_its_own() -> None:
    take = kernel("float* x")
    gaps = np.zeros(8, np.float32)[::2]
    for _ in range(3):
        take(1, 1, (gaps,), checks=False)
        with pytest.raises(ArgumentValueError, match="gaps"):
            take(1, 1, (gaps,))
    with pytest.raises(ArgumentValueError, match="'backend' must be"):
        take(1, 1, (gaps,), backend="gpu")


def test_shared_memory_is_a_whole_number_of_bytes() -> None:
    take = kernel("float* x")
    take(1, 1, (np.zeros(1, np.float32),), shared_mem=0)
    take(1, 1, (np.zeros(1, np.float32),), shared_mem=np.int64(8))
