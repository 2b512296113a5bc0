"""Compile options that a user gives."""

from __future__ import annotations

from typing import Any

import pytest

import kerneltk
from kerneltk.errors import ArgumentTypeError


def kernel(parameters: str, body: str = "", before: str = "", **words: Any) -> kerneltk.RawKernel:
    return kerneltk.RawKernel(f"{before}\n__global__ void f({parameters}) {{{body}}}", "f", **words)


def test_options_that_are_none() -> None:
    with pytest.raises(ArgumentTypeError, match="sequence of str"):
        kernel("int* o", options=None)
