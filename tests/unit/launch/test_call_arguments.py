"""A call's arguments and options."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk import ArgumentValueError, ElementwiseKernel


@pytest.mark.parametrize(
    "named",
    [{"size": 2**63}, {"size": 1.5}, {"size": True}, {"block_size": 0}, {"block_size": 1.5},
     {"backend": "hip"}],
)  # fmt: skip
def test_call_options_are_checked_everywhere(named: dict[str, Any]) -> None:
    kernel = ElementwiseKernel("", "float32 y", "y = i", "count")
    with pytest.raises(ArgumentValueError):
        kernel(**named)
    with pytest.raises(ArgumentValueError):
        kernel.translation_unit(**{"size": 4, **named})
