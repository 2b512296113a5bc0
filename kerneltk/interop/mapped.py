"""Whether memory of this process lies at an address: what is not mapped ends the process."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TOP = 1 << 8 * ctypes.sizeof(ctypes.c_void_p)


@cache
def _mincore() -> Any:
    function = ctypes.CDLL(None).mincore
    function.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
    return function


def is_mapped(address: int, size: int) -> bool:
    """Return whether the first and the last of `size` bytes (at least one) lie in pages that this
    process has; those between them are not looked at.
    """
    last = address + size - 1
    if address < 0 or last >= _TOP:
        return False
    resident = ctypes.c_ubyte()
    pages = {address - address % _PAGE, last - last % _PAGE}
    return all(_mincore()(page, _PAGE, ctypes.byref(resident)) == 0 for page in pages)
