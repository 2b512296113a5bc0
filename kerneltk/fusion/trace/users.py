"""What is the user's and what a library's: constants, arrays, classes, and locations in code."""

from __future__ import annotations

import contextlib
import dis
import functools
import itertools
import linecache
import os
import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np

from kerneltk.errors import Snippet

PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic)


def is_plain(value: Any) -> bool:
    """Whether there is nothing to be read of a value, as there may be of a subclass's."""
    kind = type(value)
    return kind in PLAIN or (isinstance(value, np.generic) and kind is not np.void)


def constant_kind(value: Any) -> Any:
    """What a constant is known by. ``(1,) == (1.0,)``, ``0.0 == -0.0`` and ``Decimal("1.0") ==
    Decimal("1.00")``, but they are other constants. Objects that are equal to themselves alone are
    not kept alive by it.
    """
    kind = type(value)
    if isinstance(value, tuple):
        return kind, tuple(map(constant_kind, value))
    if isinstance(value, frozenset):
        return kind, frozenset(map(constant_kind, value))
    if issubclass(kind, float):  # a traced number says that it is one, and has no value
        return kind, float.__repr__(value)
    if issubclass(kind, complex):
        return kind, complex.__repr__(value)
    if issubclass(kind, np.generic):
        return kind, value.dtype, repr(value)
    if kind is range:
        return kind, value.start, value.stop, value.step
    if kind is MethodType:
        return kind, constant_kind(value.__func__), constant_kind(value.__self__)
    for base in kind.__mro__:
        if base.__module__ in _REPRESENTED:
            represented: Any = base.__repr__
            return kind, value, represented(value)
    if all(getattr(kind, name) is getattr(object, name) for name in ("__hash__", "__eq__")):
        with contextlib.suppress(TypeError):  # some have no weak references
            return kind, weakref.ref(value)
    return kind, value


def objects_in(key: Any) -> Iterator[Any]:
    """The objects whose end is that of a key of constants."""
    if isinstance(key, tuple | frozenset):
        for item in key:
            yield from objects_in(item)
    elif type(key) is weakref.ref:
        yield key()


_REPRESENTED = ("decimal", "datetime")  # equal ones of these may have other digits or zones


def is_same(found: Any, value: Any) -> bool:
    """Whether two numbers, strings or tuples of these are the same constant."""
    return found is value or (
        type(found) is type(value) and bool(constant_kind(found) == constant_kind(value))
    )


def is_value(value: Any) -> bool:
    """Whether a constant is compared by its type and value, and not by which object it is."""
    return is_plain(value) or (type(value) is tuple and all(map(is_value, value)))


# -- arrays and libraries ------------------------------------------------------------------------

_ABSENT = object()


def attribute_of(value: Any, name: str, default: Any = None) -> Any:
    """An attribute that every object of its kind has, without executing anything of the user's."""
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return default


def is_library(module: str | None) -> bool:
    """Whether a module is one whose functions are called as they are."""
    # Classes may have anything of this name, and objects that stand for modules' attributes, too.
    root = module.partition(".")[0] if isinstance(module, str) else ""
    if root in ("numpy", "cupy", "cupyx", "scipy", "kerneltk", "torch", "jax", "numba"):
        return True
    return root in sys.stdlib_module_names and not _is_shadowed(root)


@functools.cache
def _is_shadowed(root: str) -> bool:
    """Whether a module of the user's has the name of one of the standard library."""
    path = getattr(sys.modules.get(root), "__file__", None)
    folder = _STANDARD if path is None else os.path.dirname(os.path.abspath(path))
    return not folder.startswith(_STANDARD) or "site-packages" in folder


_STANDARD = os.path.dirname(os.path.abspath(os.__file__))


def is_library_function(function: FunctionType) -> bool:
    """Whether a function is one of a library's, which one that was wrapped by its names is not."""
    home = function.__globals__.get("__name__")
    return is_library(home) and is_library(function.__module__)


_NO_ARRAYS = (np.generic, type, int, float, complex, str)


def is_array(value: Any) -> bool:
    """Whether a value from outside of the trace is an array."""
    return isinstance(value, np.ndarray) or (
        not isinstance(value, _NO_ARRAYS)
        and all(
            attribute_of(value, name, _ABSENT) is not _ABSENT
            for name in ("dtype", "strides", "shape")
        )
    )


_LIBRARIES = ("numpy", "cupy", "torch")
_AS_ARRAYS = (np.ndarray, np.memmap, np.recarray, np.ma.MaskedArray)  # of NumPy's own classes
# What says how an object is made, shown, kept and found, and nothing of its elements.
_HARMLESS = frozenset(
    (
        "__array_finalize__", "__class_getitem__", "__del__", "__dict__", "__doc__",
        "__format__", "__init__", "__init_subclass__", "__module__", "__new__", "__reduce__",
        "__reduce_ex__", "__repr__", "__setstate__", "__sizeof__", "__slots__", "__str__",
        "__weakref__", "__annotations__", "__firstlineno__", "__static_attributes__",
    )
)  # fmt: skip


def computes_otherwise(kind: type) -> bool:
    """Whether a class of arrays has operators, methods or attributes of its own in place of those
    of the library's arrays: what is traced are the library's.
    """
    library = next((base for base in kind.__mro__ if _root(base) in _LIBRARIES), None)
    if library is None:
        return False
    if issubclass(library, np.ndarray) and library not in _AS_ARRAYS:
        return True  # such as np.matrix
    for base in kind.__mro__[: kind.__mro__.index(library)]:
        if any(hasattr(library, name) for name in vars(base).keys() - _HARMLESS):
            return True
    return False


def kind_of_results(kind: type | None) -> type | None:
    """The class of what is computed of arrays of a class; None for NumPy's own classes."""
    if kind is None or issubclass(kind, np.ndarray):
        return None
    torch = sys.modules.get("torch")
    return torch.Tensor if torch is not None and issubclass(kind, torch.Tensor) else kind


def _root(kind: type) -> str:
    return kind.__module__.partition(".")[0]


# -- locations in code -----------------------------------------------------------------------------


_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_OWN = (_HERE, "<__array_function__")
_PACKAGE = os.path.dirname(os.path.dirname(_HERE)) + os.sep
_START = f"{_HERE}start.py"
_NUMPY = f"{os.sep}numpy{os.sep}"


class Location(NamedTuple):
    """An instruction of the user's; most are never shown, and so their source is read late."""

    code: CodeType
    instruction: int  # its place in the code (bytes)
    line: int
    names: dict[str, Any]  # the globals by which the source is found

    @property
    def is_while(self) -> bool:
        """Whether it is the condition of a loop."""
        line = linecache.getline(self.code.co_filename, self.line, self.names)
        return line.lstrip().startswith("while ")

    def snippet(self, label: str = "") -> Snippet | None:
        """The expression; None where it has no source."""
        code = self.code
        lines = linecache.getlines(code.co_filename, self.names)
        if not 1 <= self.line <= len(lines):
            return None
        text = "".join(lines)
        origin = os.path.basename(code.co_filename)
        positions = list(code.co_positions())
        line, end_line, column, end_column = positions[self.instruction // 2]
        if line is None or column is None or end_column is None or not 1 <= line <= len(lines):
            return Snippet.at_line(origin, text, self.line, None, label)
        content = lines[line - 1]
        begin = len(content.encode()[:column].decode(errors="ignore"))
        if end_line == line:
            end = len(content.encode()[:end_column].decode(errors="ignore"))
        else:
            end = len(content.rstrip())
        start = sum(map(len, lines[: line - 1]))
        return Snippet(origin, text, start + begin, start + end, label)


def user_location() -> Location | None:
    """Where the user's function is that is being traced."""
    frame: FrameType | None = sys._getframe(1)
    found: FrameType | None = None
    while frame is not None:
        path = frame.f_code.co_filename
        if path == _START and frame.f_code.co_name == "_traced":
            break
        if not path.startswith(_OWN) and _NUMPY not in path:
            found = found or frame
            if not is_library(frame.f_globals.get("__name__")) and path != "<string>":  # of 'exec'
                found = frame
                break
        frame = frame.f_back
    return found and location_of(found.f_code, found.f_lasti, found.f_globals)


def is_asked_inside(depth: int) -> bool:
    """Whether NumPy or kerneltk is what asks, so many frames above the caller."""
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None and frame.f_code.co_filename == "<frozen abc>":
        frame = frame.f_back
    path = "" if frame is None else frame.f_code.co_filename
    return path.startswith((_PACKAGE, "<__array_function__")) or _NUMPY in path


def is_own(code: CodeType) -> bool:
    """Whether code is kerneltk's."""
    return code.co_filename.startswith(_PACKAGE)


def is_called(frame: FrameType) -> bool:
    """Whether the attribute that a frame reads is called at once: ``np.ndarray(shape)``, and not
    ``type(x) is np.ndarray``.
    """
    return _is_called(frame.f_code, frame.f_lasti // 2)


@functools.lru_cache(maxsize=4096)
def _is_called(code: CodeType, instruction: int) -> bool:
    line, end_line, column, end_column = list(code.co_positions())[instruction]
    if line is None or end_line is None or end_column is None:
        return False  # compiled without positions
    larger: dict[tuple[int, int], bool] = {}  # the expressions that begin there, by their ends
    for one in dis.get_instructions(code):
        place = one.positions
        if place is None or (place.lineno, place.col_offset) != (line, column):
            continue
        end = place.end_lineno or 0, place.end_col_offset or 0
        if end > (end_line, end_column):
            larger[end] = larger.get(end, False) or one.opname.startswith("CALL")
    return bool(larger) and larger[min(larger)]


def location_of(code: CodeType, instruction: int, names: dict[str, Any]) -> Location:
    """An instruction of a function with some globals."""
    found = {name: names.get(name) for name in ("__name__", "__loader__")}
    return Location(code, instruction, _line_of(code, instruction), found)


@functools.lru_cache(maxsize=4096)
def _line_of(code: CodeType, instruction: int) -> int:
    return next(itertools.islice(code.co_positions(), instruction // 2, None))[0] or 0


def in_try() -> bool:
    """Whether an exception may be caught by the traced function, or by one that it has called."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_filename == _START and code.co_name == "_traced":
            return False
        is_own = code.co_filename.startswith(_OWN) or _NUMPY in code.co_filename
        if not is_own and any(begin <= frame.f_lasti < end for begin, end in _protected(code)):
            return True
        frame = frame.f_back
    return False


@functools.lru_cache(maxsize=1024)
def _protected(code: CodeType) -> tuple[tuple[int, int], ...]:
    """Where exceptions have handlers: within 'try' and 'with'."""
    entries = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    return tuple((entry.start, entry.end) for entry in entries)


def user_snippet(label: str = "") -> Snippet | None:
    """The expression of the user's that is being traced; None where it has no source."""
    found = user_location()
    return None if found is None else found.snippet(label)


# -- what a function may return: arrays and numbers, and tuples, lists and dicts of them -----------


def is_named_tuple(kind: type) -> bool:
    """Whether a class is one of named tuples."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields") and hasattr(kind, "_make")


def with_parts(value: Any, change: Callable[[Any], Any]) -> Any:
    """A result whose arrays, numbers and other objects are changed. What derives from `tuple`,
    `list` or `dict` is an object like any other: its class may compute its items.
    """
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([with_parts(item, change) for item in value])
    if kind is dict or kind is OrderedDict:
        return kind([(change(key), with_parts(item, change)) for key, item in value.items()])
    if is_named_tuple(kind):
        return kind._make([with_parts(item, change) for item in value])
    return change(value)
