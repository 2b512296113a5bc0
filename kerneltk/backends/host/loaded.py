"""Loaded libraries whose variables are no other module's.

A library is never unloaded. One whose module is gone is given to the next module of the same object
code, with the values that its variables had at first.
"""

from __future__ import annotations

import ctypes
import weakref

from kerneltk.backends.host import runtime
from kerneltk.core.artifacts import ObjectCode
from kerneltk.core.settings import get_settings
from kerneltk.object_code import elf

_PIECE = 64 << 10
_ZEROS = bytes(_PIECE)

# By their object code. Modules are collected at any point of any thread, which may hold any lock:
# lists change by single operations only.
_free: dict[bytes, list[_Reusable]] = {}


class _Reusable:
    """A library, and what its writable memory has in it when it is loaded."""

    def __init__(self, code: ObjectCode) -> None:
        self.library = runtime.load_library(code)
        self._pieces: list[tuple[int, bytes]] = []
        # The first member of a loader's handle is where the library lies, of glibc's and musl's.
        base = ctypes.c_size_t.from_address(self.library.handle).value
        for begin, end in elf.writable(code.code):
            for start in range(begin, end, _PIECE):
                content = ctypes.string_at(base + start, min(_PIECE, end - start))
                if content == _ZEROS:
                    content = _ZEROS
                self._pieces.append((base + start, content))

    def reset(self) -> None:
        """Give all variables their first values."""
        for address, content in self._pieces:
            # What was not written to takes no memory, and is to take none.
            if ctypes.string_at(address, len(content)) != content:
                ctypes.memmove(address, content, len(content))


def load(code: ObjectCode, owner: object) -> runtime.HostLibrary:
    """Return a library that is the owner's alone, as long as that lives. Raises as
    `runtime.load_library`.
    """
    settings = get_settings()
    # By a path that others have, too, or with checks of its memory: sanitizers have zones in it.
    if settings.host_debug or settings.host_sanitizers:
        return runtime.load_library(code)
    free = _free.setdefault(code.code, [])
    try:
        found = free.pop()
    except IndexError:
        found = _Reusable(code)
    else:
        found.reset()
    weakref.finalize(owner, free.append, found).atexit = False
    return found.library
