"""Exceptions of Python and of libraries that traced values cause, as errors at the user's line.

A function in C that takes an `int` or a `float` does not take what stands for one, and a library
may look at an object's real type. Plain code would not have got these exceptions.
"""

from __future__ import annotations

import opcode
from types import CodeType, FrameType, TracebackType

from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    KernelToolkitError,
    UnsupportedError,
    render_message,
)
from kerneltk.fusion.trace.kinds import is_library
from kerneltk.fusion.trace.lazy import Lazy
from kerneltk.fusion.trace.location import location_of

_RAISE = (opcode.opmap["RAISE_VARARGS"], opcode.opmap["RERAISE"])
_PLAIN = (ArithmeticError, LookupError, AssertionError, OSError, StopIteration, ImportError)
"""What plain code would have got as well, from a number's value."""


def explained(error: Exception) -> KernelToolkitError | None:
    """The error of kerneltk's for one of a library, where a traced value was no operand of its
    function.
    """
    if isinstance(error, KernelToolkitError):
        return None
    entries = _entries(error.__traceback__)
    if not entries:
        return None
    last = max((k for k, entry in enumerate(entries) if _is_users(entry.tb_frame)), default=None)
    if last is None:
        return None
    users, inner = entries[last], [entry.tb_frame for entry in entries[last + 1 :]]
    if inner:
        if isinstance(error, _PLAIN) or not any(map(_is_concerned, inner)):
            return None
    elif not isinstance(error, TypeError) or _raises(users.tb_frame.f_code, users.tb_lasti):
        return None
    kind: type[KernelToolkitError] = UnsupportedError
    for own, other in ((TypeError, ArgumentTypeError), (ValueError, ArgumentValueError)):
        kind = other if isinstance(error, own) else kind
    frame = users.tb_frame
    snippet = location_of(frame.f_code, users.tb_lasti, frame.f_globals).snippet()
    message = f"{type(error).__name__}: {str(error).rstrip('.')}."
    return kind(
        render_message(
            message,
            *([snippet] if snippet else []),
            hint="traced values have no values yet: compute this outside of the function, and pass "
            "the result.",
        )
    )


def _entries(traceback: TracebackType | None) -> list[TracebackType]:
    found = []
    while traceback is not None:
        found.append(traceback)
        traceback = traceback.tb_next
    return found


def _is_users(frame: FrameType) -> bool:
    home = frame.f_globals.get("__name__")
    return home == "__main__" or not (is_library(home) or _is_cython(frame))


def _is_cython(frame: FrameType) -> bool:
    return frame.f_code.co_filename.endswith(".pyx")


def _is_concerned(frame: FrameType) -> bool:
    """Whether a library's function was given a traced value; those in Cython show no variables."""
    home = str(frame.f_globals.get("__name__")).partition(".")[0]
    if home == "kerneltk":
        return False
    return _is_cython(frame) or any(
        isinstance(item, Lazy)
        for value in frame.f_locals.values()
        for item in (value if isinstance(value, list | tuple) else (value,))
    )


def _raises(code: CodeType, instruction: int) -> bool:
    """Whether an instruction is the user's own 'raise'."""
    return code.co_code[instruction] in _RAISE
