"""Calls of C functions in libraries that tests compile."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy.typing as npt


def call(function: Any, *arguments: npt.NDArray[Any] | int) -> None:
    """Call a C function with the arrays' addresses and with 64-bit integers."""
    function.restype = None
    function(
        *(
            ctypes.c_longlong(value)
            if isinstance(value, int)
            else ctypes.c_void_p(value.ctypes.data)
            for value in arguments
        )
    )
