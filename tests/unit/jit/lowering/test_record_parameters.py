"""Which records a kernel takes by value: those that it does not write to, on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from kerneltk.backends.base import capabilities_of
from kerneltk.jit.compile import PASSES, PassContext, everywhere
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.launch.marshalling import type_of
from tests.ir_printer import show

T = np.dtype([("g", "f8", 2), ("h", "f8")], align=True)
RECORD, VECTOR = np.zeros(1, T)[0], np.zeros(3)
SHOWN = "{g: float64[2], h: float64}"


def shown(function: Any, *arguments: Any, on_gpu: bool = True) -> str:
    """Return a kernel's IR for arguments."""
    kinds = [type_of(argument, np.ndarray) for argument in arguments]
    program, context = (
        Definition(function, "numpy").lowered(kinds),
        PassContext(capabilities_of("cuda" if on_gpu else "host")),
    )
    for each in PASSES:
        if each.applies is everywhere or (each.name == "records by value" and on_gpu):
            program = each.run(program, context)
    return show(program).rstrip("\n")


def reads(f: Any, y: Any) -> None:
    y[0] = f.h + f.g[1]


def test_a_record_that_is_read_is_passed_by_value() -> None:
    body = "    y[0] = f.h + f.g[1]"
    assert shown(reads, RECORD, VECTOR) == f"kernel reads(f: {SHOWN}, y: float64[:])\n{body}"
    on_host = shown(reads, RECORD, VECTOR, on_gpu=False)  # it may be an element of an array there
    assert on_host.startswith(f"kernel reads(f: &{SHOWN}, y: float64[:])")


def writes(f: Any, y: Any) -> None:
    v = f.g
    v[1] = y[0]


def test_a_record_that_is_written_is_passed_as_a_reference() -> None:
    assert shown(writes, RECORD, VECTOR).startswith(f"kernel writes(f: &{SHOWN}, y: float64[:])")


def is_kept(f: Any, y: Any) -> None:
    for k in range(2):
        r = f
        if k:
            r = f
        y[k] = r.h + f.h


def test_a_record_that_is_kept_has_an_address() -> None:
    assert shown(is_kept, RECORD, VECTOR) == (
        f"kernel is_kept(f: {SHOWN}, y: float64[:])\n"
        f"    f_at: &{SHOWN} = address(f)\n"
        "    for k: int in range(0, 2, 1):\n"
        f"        r: &{SHOWN} = f_at\n"
        "        if k != 0:\n"
        f"            r: &{SHOWN} = f_at\n"
        "        y[k] = r[()].h + f.h"
    )


def of_a_tuple(t: Any, y: Any) -> None:
    y[0] = t[0].h + t[1] + t[0].g[0]


def test_records_in_tuples() -> None:
    assert shown(of_a_tuple, (RECORD, 2), VECTOR) == (
        f"kernel of_a_tuple(t: ({SHOWN}, int), y: float64[:])\n"
        "    y[0] = (t[0].h + float64(t[1])) + t[0].g[0]"
    )


def is_another_record(f: Any, other: Any, y: Any) -> None:
    f = other
    y[0] = f.h
    f.h = 3


def test_a_parameter_that_is_bound_again() -> None:
    """Which of two records is written is not followed."""
    text = shown(is_another_record, RECORD, RECORD, VECTOR)
    assert text.startswith(f"kernel is_another_record(f: &{SHOWN}, other: &{SHOWN}, y: float64[:])")
