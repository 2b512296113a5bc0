"""How arguments reach a kernel: their types, and their bytes in the block of parameters.

Bytes lie where a C struct would have them. An array is passed as its address, its extents and,
where it has steps of its own, its strides (bytes); a tuple, a named tuple or a dataclass as a
struct of its items. What has no bytes, None and an empty tuple, is no member of anything.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from kerneltk.core.artifacts import Capabilities
from kerneltk.core.dtypes import alignment_on, describe
from kerneltk.core.structures import field_names, named_items
from kerneltk.errors import ArgumentTypeError, ScalarOverflowError, Snippet, render_message
from kerneltk.jit.ir.types import (
    BOOL,
    PY_COMPLEX,
    PY_FLOAT,
    PY_INT,
    VOID,
    Array,
    Number,
    Record,
    Tuple,
    Type,
    Void,
    alignment_of,
)
from kerneltk.launch.launcher_spec import Marshal, Structure


class ArgumentPath(NamedTuple):
    """Where an argument goes, for messages: the kernel, the parameter with the path into a tuple or
    a dataclass (``"pair[0]"``, ``"config.n"``), and where that is declared, or what finds it.
    """

    kernel: str
    name: str
    declared: Snippet | Callable[[], Snippet] | None = None

    @property
    def snippet(self) -> Snippet | None:
        """Where the parameter is declared."""
        return self.declared() if callable(self.declared) else self.declared

    @property
    def named(self) -> tuple[str, Snippet | None]:
        """Its name, and where it is declared."""
        return self.name, self.snippet

    def __str__(self) -> str:
        return f"parameter '{self.name}' of kernel '{self.kernel}'"

    @property
    def subject(self) -> str:
        """What a sentence begins with."""
        return f"Parameter '{self.name}' of kernel '{self.kernel}'"

    def refused(self, what: str, hint: str = "") -> ArgumentTypeError:
        """Return the error for an argument that a parameter does not take."""
        return ArgumentTypeError(self.message(f"{self.subject} was given {what}.", hint))

    def at(self, *path: int | str) -> ArgumentPath:
        """Return a path inside: indices and names of fields lead to it."""
        steps = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
        return self._replace(name=self.name + "".join(steps))

    def message(self, sentence: str, hint: str = "") -> str:
        """Return a message with the parameter's declaration."""
        return render_message(sentence, *([self.snippet] if self.snippet else []), hint=hint)


# -- structures ------------------------------------------------------------------------------------


Form = type | Structure
"""The Python type of an argument, and of the items of a structure: what a launcher checks."""


def form_of(value: Any) -> Form:
    """Return the form of an argument."""
    kind = type(value)
    names = field_names(kind)
    if names is None:
        return kind
    items = tuple(form_of(item) for _, item in named_items(value, names))
    return Structure(kind, () if issubclass(kind, tuple) else names, items)


class Leaf(NamedTuple):
    """An array, a number or None: an argument by its index, or an item on a path into one."""

    value: Any
    type: Type
    argument: int
    path: tuple[int | str, ...]


def leaves_of(
    value: Any, type_: Type, argument: int, path: tuple[int | str, ...] = ()
) -> Iterator[Leaf]:
    """Yield the leaves of an argument, in the order in which they are packed."""
    if not isinstance(type_, Tuple):
        yield Leaf(value, type_, argument, path)
        return
    items = named_items(value, field_names(type(value)) or ())
    for (key, item), kind in zip(items, type_.items, strict=True):
        yield from leaves_of(item, kind, argument, (*path, key))


# -- types -----------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def array_of(dtype: np.dtype[Any], ndim: int, dense: bool) -> Array:
    """Return the type of an array; raises ArgumentTypeError for dtypes that have no C type."""
    return Array(element_of(dtype), ndim, "C" if dense else "strided")


@lru_cache(maxsize=4096)
def element_of(dtype: np.dtype[Any]) -> Number | Record:
    """Return the type of a value; raises as :func:`array_of`."""
    describe(dtype)  # raises for those that have no C type
    return Record(dtype) if dtype.names is not None else Number(dtype)


def type_of(value: Any, array_type: type, path: ArgumentPath | None = None) -> Type:
    """The type of an argument; `array_type` is the backend's class of arrays. Raises
    ArgumentTypeError where kernels take no such argument, or no array of its dtype.
    """
    if isinstance(value, array_type):
        array: Any = value
        return _known(
            path, "the array", array_of, array.dtype, array.ndim, bool(array.flags.c_contiguous)
        )
    if isinstance(value, np.generic):
        return _known(path, "the value", element_of, value.dtype)
    if value is None:
        return VOID
    if isinstance(value, bool):
        return BOOL
    for kind, weak in ((int, PY_INT), (float, PY_FLOAT), (complex, PY_COMPLEX)):
        if isinstance(value, kind):
            return weak
    names = field_names(type(value))
    if names is None:
        raise _refused(value, path)
    items = tuple(
        type_of(item, array_type, path and path.at(key)) for key, item in named_items(value, names)
    )
    is_plain = isinstance(value, tuple) and not names
    return Tuple(items, names, None if is_plain else type(value))


def is_array(value: Any) -> bool:
    """Return whether an argument is an array, of any library."""
    if isinstance(value, np.generic | type):  # a number, or what stands for one
        return False
    return hasattr(value, "strides") or hasattr(value, "__dlpack__")


def _known(
    path: ArgumentPath | None, what: str, make: Callable[..., Type], *arguments: Any
) -> Type:
    """Return the type that `make` makes of a dtype; errors name the parameter."""
    try:
        return make(*arguments)
    except ArgumentTypeError as error:
        if path is None:
            raise
        reason, _, hint = str(error).partition("\n  Hint: ")
        shown = f"{reason[0].lower()}{reason[1:]}"
        sentence = f"{path.subject} cannot take {what}: {shown}"
        raise ArgumentTypeError(path.message(sentence, hint)) from None


_ANYTHING = (
    "pass an array, a number, None, or a tuple, a named tuple or a dataclass instance of them."
)
_HINTS: tuple[tuple[Any, str], ...] = (
    (list, "pass an array, or a tuple: its length and its types are compiled into the kernel."),
    (str | bytes | bytearray, "pass its characters as an array: 'np.frombuffer(text, np.uint8)'."),
    (Mapping, "pass a named tuple or a dataclass instance, whose fields have names, too."),
    (Set | range, "pass an array of its elements."),
    (Sequence, "pass 'np.asarray(x)'."),
    (type | np.dtype, "name it in the kernel itself, as 'np.float32' or a global variable."),
    (types.ModuleType, "name it in the kernel itself."),
    (enum.Flag, "pass the member's '.value', or make the class an 'enum.IntFlag'."),
    (
        types.FunctionType | types.BuiltinFunctionType | types.MethodType,
        "call it by its name in the kernel: a global function, or one of an enclosing function.",
    ),
)


def _refused(value: Any, path: ArgumentPath | None) -> ArgumentTypeError:
    """Return the error for what no parameter takes."""
    hint = next((hint for kind, hint in _HINTS if isinstance(value, kind)), _ANYTHING)
    name = type(value).__name__
    if isinstance(value, type):
        name, subject = value.__name__, "the class"
    else:
        subject = "an object of type"
    if path is None:
        return ArgumentTypeError(f"Kernels cannot take {subject} '{name}'.\n  Hint: {hint}")
    return ArgumentTypeError(path.message(f"{path.subject} cannot take {subject} '{name}'.", hint))


# -- bytes -----------------------------------------------------------------------------------------


class Layout(NamedTuple):
    """The bytes of a value in the block of parameters: a format of ``struct`` with its padding and
    without alignment of its own (``"<"``), size and alignment. Without bytes nothing is passed.
    """

    format: str
    size: int
    alignment: int


@lru_cache(maxsize=4096)
def layout_of(type_: Type, backend: Capabilities) -> Layout:
    """Return the layout of a value. Raises ValueError where values of this type are not passed:
    groups of threads, shared memory.
    """
    if isinstance(type_, Number):
        dtype = type_.dtype
        return Layout(describe(dtype).format, dtype.itemsize, alignment_on(backend, dtype))
    if isinstance(type_, Record):
        size = type_.dtype.itemsize
        return Layout(f"{size}s", size, alignment_of(type_.dtype, backend))
    if isinstance(type_, Void):
        return Layout("", 0, 1)
    if isinstance(type_, Array) and type_.space == "global" and type_.layout != "fixed":
        count = type_.ndim * (2 if type_.layout == "strided" else 1)
        return Layout("Q" + "q" * count, 8 + 8 * count, 8)
    if isinstance(type_, Tuple):
        return members_of(type_.items, backend)[1]
    raise ValueError(f"No argument is a {type_}.")


def members_of(
    items: tuple[Type, ...], backend: Capabilities
) -> tuple[tuple[int | None, ...], Layout]:
    """Return the offset of each member of a struct (bytes; None for what has none), and the
    struct's own layout, padding at its end included.
    """
    offsets: list[int | None] = []
    text, end, alignment = "", 0, 1
    for item in items:
        own = layout_of(item, backend)
        if not own.size:
            offsets.append(None)
            continue
        gap = -end % own.alignment
        text += (f"{gap}x" if gap else "") + own.format
        end += gap
        offsets.append(end)
        end += own.size
        alignment = max(alignment, own.alignment)
    rest = -end % alignment
    return tuple(offsets), Layout(text + (f"{rest}x" if rest else ""), end + rest, alignment)


def marshal_as(
    kind: type, dtype: np.dtype[Any] | None
) -> tuple[Marshal, Callable[[Any], tuple[Any, ...]] | None]:
    """Return how a leaf of a Python type, which is no array, is packed as a number of a dtype, and
    what converts it. None leaves it what it is.
    """
    if kind is type(None):
        return "nothing", None
    if dtype is None or issubclass(kind, dtype.type) or (kind, dtype.kind) == (bool, "b"):
        if issubclass(kind, complex | np.complexfloating):
            return "converted", attrgetter("real", "imag")
        if issubclass(kind, np.generic) and kind.__name__ == "bfloat16":
            return "converted", _bits
        return ("bytes" if issubclass(kind, np.void) else "number"), None
    if issubclass(kind, float) and dtype.char in "fd":
        return ("float32" if dtype.char == "f" else "number"), None
    if kind is int and dtype.kind in "iu":
        return "converted", partial(_wrapped, 8 * dtype.itemsize, dtype.kind == "i")
    return "converted", partial(_parts, dtype)


def _bits(value: Any) -> tuple[int]:
    return (value.view("u2"),)


def _wrapped(bits: int, is_signed: bool, value: int) -> tuple[int]:
    least = 1 << bits - 1 if is_signed else 0
    return ((_within_64bits(value) + least & (1 << bits) - 1) - least,)


def _parts(dtype: np.dtype[Any], value: Any) -> tuple[Any, ...]:
    number = number_as(value, dtype).item()
    return (number.real, number.imag) if dtype.kind == "c" else (number,)


def number_as(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number as a scalar of a dtype, as C++ converts it. Raises ScalarOverflowError for one of
    more than 64 bits.
    """
    if isinstance(value, int):
        _within_64bits(value)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(value).astype(dtype)[()]


def _within_64bits(value: int) -> int:
    if not -(2**63) <= value < 2**64:
        raise ScalarOverflowError(
            f"{value} has more than 64 bits, which no number of a kernel has."
        )
    return value


def refuse_number(type_: Type, value: Any, path: ArgumentPath) -> None:
    """Raise ScalarOverflowError for a Python int that kernels have no room for."""
    if type_ == PY_INT and not -(2**63) <= int(value) < 2**63:
        number = int(value)
        many = number.bit_length() > 200
        shown = f"a number of {number.bit_length()} bits" if many else str(number)
        hint = f"pass 'np.uint64({number})'." if 0 < number < 2**64 else ""
        raise ScalarOverflowError(
            path.message(
                f"{path.subject} is given {shown}, which does not fit: a Python int has 64 bits "
                f"in a kernel, {-(2**63)} to {2**63 - 1}.",
                hint,
            )
        )
