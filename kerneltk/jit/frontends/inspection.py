"""What a decorated function shows of itself: descriptions of arguments, notebooks, pickles."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import numpy as np

from kerneltk import pipeline
from kerneltk.backends import base, foreign_arrays
from kerneltk.backends.disassembly import disassemble
from kerneltk.core.arrays import ArraySpec, c_strides
from kerneltk.core.artifacts import TranslationUnit
from kerneltk.jit.ir.types import OF_PYTHON, Type
from kerneltk.jit.launch.marshalling import ArgumentPath, array_of, element_of, type_of


def described(value: Any) -> Type | None:
    """The type that a description of an argument stands for; None for an argument itself."""
    if isinstance(value, ArraySpec):
        dense = c_strides(value.shape, value.dtype.itemsize) == value.strides
        return array_of(value.dtype, len(value.shape), dense)
    if isinstance(value, np.dtype):
        return element_of(value)
    if isinstance(value, type) and issubclass(value, np.generic):
        return element_of(np.dtype(value))
    return OF_PYTHON.get(value) if isinstance(value, type) else None


def described_argument(value: Any, path: ArgumentPath) -> tuple[Type, Any]:
    """The type of an argument or of what stands for one; the argument, with the backend's array."""
    kind = described(value)
    if kind is not None:
        return kind, value
    owner, own = foreign_arrays.own_array(value)
    return type_of(own, np.ndarray if owner is None else owner.array_type, path), own


def shown(unit: TranslationUnit, target: str) -> str:
    """Return a unit as text: in C++, or compiled.

    Parameters
    ----------
    unit : TranslationUnit
    target : str
        ``"cuda"`` and ``"host"`` for the C++ text, ``"compute_90"`` for PTX, ``"sm_90"`` for the
        instructions of that architecture.

    Raises
    ------
    CompileError, BackendUnavailableError, ValueError
        As `pipeline.compile_ahead` and `disassemble` do.
    """
    if target in base.names():
        return unit.source
    return disassemble(pipeline.compile_ahead(unit, target))


def page_of(title: str, codes: Mapping[Any, str]) -> str:
    """Return a notebook's HTML for a kernel: the source that was generated last."""
    if not codes:
        return f"<pre>{html.escape(title)}: nothing is compiled yet</pre>"
    count = len(codes)
    number = "1 combination" if count == 1 else f"{count} combinations"
    last = list(codes.values())[-1]
    return (
        f"<details open><summary>{html.escape(title)}: compiled for {number} of argument types"
        f"{', the last' if count > 1 else ''}</summary><pre>{html.escape(last)}</pre></details>"
    )
