"""Errors of a trace that are found when its function has ended; others are raised where they occur.

Traced values that outlive their trace, because the function has put them somewhere. And exceptions
of Python and of libraries that traced values cause, as errors at the user's line: a function in C
that takes an `int` or a `float` does not take what stands for one, and a library may look at an
object's real type. Plain code would not have got these exceptions.
"""

from __future__ import annotations

import dis
import functools
import gc
import inspect
import opcode
import weakref
from collections.abc import Sequence
from types import CodeType, FrameType, FunctionType, MemberDescriptorType, TracebackType
from typing import Any

from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    KernelToolkitError,
    UnsupportedError,
    render_message,
)
from kerneltk.fusion.trace.lazy import Lazy
from kerneltk.fusion.trace.users import attribute_of, is_library, location_of


def check_escaped(values: Sequence[weakref.ref[Any]], function: Any) -> None:
    """Refuse a function that has put a traced value somewhere, now that nothing else has any."""
    gc.collect()  # such as a function that refers to itself
    value = next((one for one in (ref() for ref in values) if one is not None), None)
    if value is None:
        return
    cached = _cached_function(value)
    if cached is not None:
        cached.cache_clear()  # a traced value in it would be an error of later calls
        raise UnsupportedError(
            f"The function '{cached.__name__}' keeps a traced value in its cache.\n"
            f"  Hint: give it a number by value, such as '{cached.__name__}(int(n))', and "
            "nothing that is computed of arrays."
        )
    where, name = _holder(value)
    snippet = None
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    # Lists and dicts that are results are taken apart: one that holds a value is elsewhere.
    if isinstance(code, CodeType) and where not in ("a list", "a dict", "a tuple"):
        snippet = _assignment(code, name, getattr(function, "__globals__", {}))
    raise UnsupportedError(
        render_message(
            f"The function keeps a traced value in {where}.",
            *([snippet] if snippet else []),
            hint="return arrays, numbers, and tuples, lists and dicts of them; make other "
            "objects of the results.",
        )
    )


def _cached_function(value: Any) -> Any:
    """The function of `functools.lru_cache` that has a value among its arguments or results."""
    holders: list[Any] = [value]
    for _ in range(4):  # a tuple, an entry, a dict, the function
        found = gc.get_referrers(*holders)
        for holder in found:
            if type(holder) is functools._lru_cache_wrapper:
                return holder
        holders = [h for h in found if type(h).__name__ in ("tuple", "dict", "_lru_list_elem")]
        if not holders:
            break
    return None


def _holder(value: Any) -> tuple[str, str | None]:
    """What refers to a value, and the name that it has there."""
    for holder in gc.get_referrers(value):
        if isinstance(holder, FrameType) or type(holder) is weakref.ref:
            continue
        if type(holder).__name__ == "cell":
            return "a variable of an inner function", None
        owner = _owner(holder) if type(holder) is dict else holder
        name = _name_of(value, owner)
        if name is not None:
            return f"the attribute '{name}' of an object of type '{type(owner).__name__}'", name
        kind = type(holder).__name__
        is_plain = kind in ("list", "tuple", "set", "dict")
        return f"a {kind}" if is_plain else f"an object of type '{kind}'", None
    return "an object", None


# No inner function may close over the value that is looked for: it would be found there.


def _owner(names: dict[str, Any]) -> Any:
    """The object whose attributes a dict has; the dict itself where it is no such one."""
    for owner in gc.get_referrers(names):
        if attribute_of(owner, "__dict__") is names and not isinstance(owner, FunctionType):
            return owner
    return names


def _name_of(value: Any, owner: Any) -> str | None:
    """The attribute of an object that a value is."""
    for name, item in (attribute_of(owner, "__dict__") or {}).items():
        if item is value:
            return str(name)
    for name, slot in inspect.getmembers_static(type(owner)):
        if isinstance(slot, MemberDescriptorType) and attribute_of(owner, name) is value:
            return name
    return None


def _assignment(code: CodeType, name: str | None, names: dict[str, Any]) -> Any:
    """The line that assigns an attribute of a name; that of the only 'return' where none does."""
    steps = list(dis.get_instructions(code))
    found = [s for s in steps if name and s.opname == "STORE_ATTR" and s.argval == name]
    found = found or [s for s in steps if s.opname == "RETURN_VALUE"]
    if len(found) != 1:
        return None
    return location_of(code, found[0].offset, names).snippet()


# -- exceptions of libraries -----------------------------------------------------------------------


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
    frame, code = users.tb_frame, users.tb_frame.f_code
    if inner:
        if isinstance(error, _PLAIN) or not any(map(_is_concerned, inner)):
            return None
    elif not isinstance(error, TypeError) or code.co_code[users.tb_lasti] in _RAISE:
        return None  # the user's own 'raise'
    kind: type[KernelToolkitError] = UnsupportedError
    for own, other in ((TypeError, ArgumentTypeError), (ValueError, ArgumentValueError)):
        kind = other if isinstance(error, own) else kind
    snippet = location_of(code, users.tb_lasti, frame.f_globals).snippet()
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
