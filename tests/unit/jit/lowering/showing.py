"""What functions become in lowering, before any pass, and the messages for those that are none.

The name of a parameter says what it is given: see `GIVEN`.
"""

from __future__ import annotations

import inspect
import textwrap
from typing import Any, NamedTuple

import numpy as np
import pytest

from kerneltk.errors import KernelToolkitError
from kerneltk.jit.frontends.rawkernel import Definition, Mode
from kerneltk.jit.launch.marshalling import type_of
from tests.ir_printer import show


class Pair(NamedTuple):
    left: Any
    right: Any


RECORD = np.dtype([("a", np.int32), ("v", np.float64, 3)], align=True)
PACKED = np.dtype([("tag", np.int8), ("value", np.float32)])
GIVEN: dict[str, Any] = {
    "x": np.zeros(8, np.float32),
    "y": np.zeros(8, np.int64),
    "m": np.zeros((3, 4), np.int32),
    "s": np.zeros((4, 4), np.int32)[:, ::2],
    "h": np.zeros(2, np.float16),
    "z": np.zeros(2, np.complex64),
    "b": np.zeros(2, np.bool_),
    "u": np.zeros(2, np.uint64),
    "u1": np.zeros(2, np.uint8),
    "empty": np.zeros((), np.float32),
    "rs": np.zeros(2, RECORD),
    "r": np.zeros(2, RECORD)[0],
    "ps": np.zeros(2, PACKED),
    "i": 3,
    "j": 4,
    "f": 2.5,
    "c": 1j,
    "i4": np.int32(3),
    "f4": np.float32(2.5),
    "none": None,
    "t": (1, 2.5),
    "tt": (1, 2, np.int32(3)),
    "pair": Pair(1, 2.5),
}


def _lowered(function: Any, mode: Mode, of_elements: bool) -> str:
    kinds = [type_of(GIVEN[name], np.ndarray) for name in inspect.signature(function).parameters]
    return show(Definition(function, mode).lowered(kinds, of_elements=of_elements))


def body_of(function: Any, mode: Mode = "numpy") -> str:
    """Return a kernel's statements, behind the functions that it calls; those of a lambda in one
    line.
    """
    head, _, body = _lowered(function, mode, False).rpartition("kernel ")
    body = textwrap.dedent(body.partition("\n")[2])
    if function.__name__ == "<lambda>":
        return "; ".join(line.strip() for line in body.splitlines()).removesuffix("; return")
    return head + body


def value_of(function: Any, mode: Mode = "numpy") -> str:
    """Return what a function of one element returns, behind the statements that it needs."""
    lines = _lowered(function, mode, True).splitlines()
    first = max(k for k, line in enumerate(lines) if line and not line.startswith(" "))
    return "; ".join(line.strip() for line in lines[first + 1 :]).removeprefix("return ")


def refused(function: Any, mode: Mode = "numpy", of_elements: bool = True) -> str:
    """Return the sentence for a function that cannot be a kernel, and its hint."""
    with pytest.raises(KernelToolkitError) as caught:
        _lowered(function, mode, of_elements)
    lines = str(caught.value).splitlines()
    assert any("^" in line for line in lines)  # it shows where
    hints = [line.strip() for line in lines if line.lstrip().startswith("Hint: ")]
    return " ".join([lines[0], *hints])
