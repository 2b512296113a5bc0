"""What functions become in lowering, before any pass, and the messages for those that are none.

The name of a parameter says what it is given: see `GIVEN`.
"""

from __future__ import annotations

import cmath
import inspect
import operator
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from kerneltk.errors import KernelToolkitError
from kerneltk.jit import cuda
from kerneltk.jit.frontends.rawkernel import Definition, Mode
from kerneltk.jit.launch.marshalling import type_of
from tests.diagnostics.jit_refused_programs_support import made
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


def entries(file: str) -> list[tuple[str, Mode, str, str]]:
    """Return the table beside a file of tests: functions, their modes, signs, what is expected.

    An entry is a function, behind a line with its mode where that is not NumPy's, and a line that
    begins with a sign.
    """
    path = Path(file)
    text = path.with_name(f"{path.stem.removeprefix('test_')}.txt").read_text()
    found: list[tuple[str, Mode, str, str]] = []
    for entry in re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).rstrip("\n").split("\n\n"):
        function, sign, expected = re.split(
            r"^([=?]|!?>|!)\s", entry, maxsplit=1, flags=re.MULTILINE
        )
        mode, is_cuda, rest = function.rpartition("cuda\n")
        found.append(
            (rest.rstrip("\n"), "cuda" if is_cuda and not mode else "numpy", sign, expected)
        )
    return found


NAMES = {"cmath": cmath, "cuda": cuda, "operator": operator, "replace": replace, "PACKED": PACKED}


def function_of(text: str, path: str, names: Mapping[str, Any]) -> Any:
    """Return the function of an entry."""
    name = re.match(r"def (\w+)", text)
    if name is None:
        return made(f"function = {text}\n", "function", path, {**NAMES, **names})
    return made(f"{text}\n", name[1], path, {**NAMES, **names})


SHOWN: dict[str, Callable[[Any, Mode], str]] = {
    "=": value_of,
    ">": body_of,
    "!": refused,
    "!>": lambda function, mode: refused(function, mode, of_elements=False),
}


def check_table(file: str, names: Mapping[str, Any]) -> None:
    """Check the table beside a file of tests: of functions of an element what they return (``=``),
    or the message (``!``), of kernels the statements (``>``), or the message (``!>``).
    """
    wrong = []
    for number, (text, mode, sign, expected) in enumerate(entries(file)):
        found = SHOWN[sign](function_of(text, f"<{Path(file).stem} {number}>", names), mode)
        found = re.sub(r"\n+", "\n", found).rstrip("\n")
        if found != expected:
            wrong.append(f"{text}\n{sign} {found}\nnot {expected}")
    assert not wrong, "\n\n".join(wrong)
