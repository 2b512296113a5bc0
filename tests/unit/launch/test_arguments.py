"""A call's arguments and options; `tests/diagnostics` has the messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import ArgumentTypeError, ArgumentValueError, ElementwiseKernel
from kerneltk.launch.dispatch import import_arrays
from kerneltk.signature.parameters import parse_signature


@pytest.mark.parametrize(
    "named",
    [
        {"size": -2}, {"size": "3"}, {"size": 2**63}, {"size": 1.5}, {"size": True},
        {"block_size": 0}, {"block_size": -1}, {"block_size": 1.5}, {"backend": "hip"},
    ],
)  # fmt: skip
def test_call_options_are_checked_everywhere(named: dict[str, Any]) -> None:
    kernel = ElementwiseKernel("", "float32 y", "y = i", "count")
    with pytest.raises(ArgumentValueError):
        kernel(**named)
    with pytest.raises(ArgumentValueError):
        kernel.translation_unit(**{"size": 4, **named})


def test_arrays_and_numbers() -> None:
    """Arrays of the backend's own stay themselves; numbers alone run where they are told to."""
    x, y = np.arange(3.0), np.zeros(3)
    values, backend, _ = import_arrays(parse_signature("T x, T a", "T y"), (x, 2, y), None)
    assert values[0] is x
    assert values[1:] == (2, y)
    assert backend.name == "host"
    values, backend, _ = import_arrays(parse_signature("float32 a", ""), (2.5,), "host")
    assert (values, backend.name) == ((2.5,), "host")


@pytest.mark.parametrize("value", [None, 1.0, np.float32(1)])
def test_outputs_are_arrays(value: Any) -> None:
    signature = parse_signature("T x", "T y")
    with pytest.raises(ArgumentTypeError, match="Output 'y' must be an array, not an object"):
        import_arrays(signature, (np.zeros(3), value), None)
