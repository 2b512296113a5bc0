"""Shortcuts: what a repeated call of a function of arrays compares before it launches.

They are objects of the extension module's where it is there (``launcher_shortcuts.h``), else in
Python, with the same results.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from operator import attrgetter, is_
from typing import Any, NamedTuple

import numpy as np

from kerneltk.backends.base import ArrayAccess, ArrayLayout
from kerneltk.interop import exchange
from kerneltk.launch import compiled

_MOST_ARGUMENTS = 64  # of the extension module
_MOST_OPERANDS = 1024  # of a program's call there
_MOST_VALUES = 1 << 16  # in tuples of all values, of a large program
MISSING = object()


def named(owner: Any, name: str) -> Any:
    """An item of a dictionary, or an attribute of an object that may be referred to weakly;
    `MISSING` where there is none.
    """
    if type(owner) is dict:
        return owner.get(name, MISSING)
    try:
        return getattr(owner() if type(owner) is weakref.ref else owner, name, MISSING)
    except ValueError:  # of a variable that has no value
        return MISSING


class Kind(NamedTuple):
    """What a shortcut asks of an argument.

    Parameters
    ----------
    type : type
    dtype : object, optional
        That of an array: the same object.
    attributes : tuple of (str, object)
        Attributes of an array, with dots between those of attributes, and what they are equal to.
    constant : object, optional
        The argument itself.
    foreign : tuple, optional
        Of another library's array, which the extension module alone reads: DLPack's numbers of its
        memory, whether it is written to, the number of dimensions or -1, the shape or None, and
        the strides (elements), True for the order of C, or None.
    """

    type: type
    dtype: Any = None
    attributes: tuple[tuple[str, Any], ...] = ()
    constant: Any = MISSING
    foreign: tuple[Any, ...] = ()


class New(NamedTuple):
    """A new array of a program: `make` takes the shape, the dtype and the order."""

    slot: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: str
    make: Callable[..., Any]


class Call(NamedTuple):
    """A call of a program: of a function, or of one in a list by the number of operands, with
    values by their indices, or a tuple of all values if that is None; with a stream of None and
    options behind them, if there are any. Its results are stored as values.
    """

    run: Any
    operands: tuple[int, ...] | None
    options: tuple[Any, ...]
    slots: tuple[int, ...]


class Viewing(NamedTuple):
    """What a call of a program makes a view by, where arrays lie alike: launchers of the extension
    module read views without an array of the library's.

    Parameters
    ----------
    make : callable
        Returns the view of an array, as the library's.
    offset : int
        Bytes.
    is_in_order : bool
        Whether the elements are in the order of C, without gaps.
    whole_shape, whole_strides, shape, strides : tuple of int
        Of the arrays and of the view; strides in bytes.
    """

    make: Callable[[Any], Any]
    offset: int
    is_in_order: bool
    whole_shape: tuple[int, ...]
    whole_strides: tuple[int, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Steps(NamedTuple):
    """A program that a shortcut executes.

    Parameters
    ----------
    run : callable
        Executes it in Python.
    size : int
        Of its values: arguments, constants, new arrays and results of calls.
    constants : tuple of (int, object)
    new : tuple of New
    calls : tuple of Call
    result : int
        The value that it returns; negative for None.
    keeps : bool
        Whether NumPy's arrays that it makes are of memory that is kept for later calls.
    """

    run: Callable[..., Any]
    size: int
    constants: tuple[tuple[int, Any], ...]
    new: tuple[New, ...]
    calls: tuple[Call, ...]
    result: int
    keeps: bool = False

    @property
    def fits(self) -> bool:
        """Whether the extension module has capacity for it."""
        most = max((len(call.operands or ()) for call in self.calls), default=0)
        tuples = sum(call.operands is None for call in self.calls)
        return most <= _MOST_OPERANDS and (self.size <= 256 or tuples * self.size <= _MOST_VALUES)


class Distance(NamedTuple):
    """What a shortcut asks of an array that is written to and of another one: the distance of their
    addresses is not between two numbers of bytes, where they would overlap.

    Parameters
    ----------
    written : int
        The index of the argument.
    other : int or array
        The index of the argument, or what is no argument.
    low, high : int
    """

    written: int
    other: Any
    low: int
    high: int


class Shortcut:
    """Calls `typed` with arguments of some kinds, and `otherwise` with all others.

    Parameters
    ----------
    kinds : sequence of Kind
        One an argument.
    passed : sequence of int
        The arguments that `typed` takes, by their indices.
    typed : callable, list of callable, or Steps
        A list has what is called by the number of arguments.
    otherwise : callable
    access : ArrayAccess
    guard : callable, optional
        Takes all arguments, of these kinds; tells whether they are for `typed`.
    names : sequence of (object, str, object)
        An owner and a name, which stand for an object still: see `named`.
    apart : sequence of Distance
    is_interim : bool
        Whether the extension module may be there later.
    """

    def __init__(
        self,
        kinds: Sequence[Kind],
        passed: Sequence[int],
        typed: Any,
        otherwise: Callable[..., Any],
        access: ArrayAccess,
        guard: Callable[..., Any] | None = None,
        names: Sequence[tuple[Any, str, Any]] = (),
        apart: Sequence[Distance] = (),
        is_interim: bool = False,
    ) -> None:
        self._types = [kind.type for kind in kinds]
        self._dtypes = [(k, kind.dtype) for k, kind in enumerate(kinds) if kind.dtype is not None]
        self._constants = [
            (k, kind.constant) for k, kind in enumerate(kinds) if kind.constant is not MISSING
        ]
        self._attributes = [
            (k, attrgetter(name), value)
            for k, kind in enumerate(kinds)
            for name, value in kind.attributes
        ]
        self._typed = typed.run if isinstance(typed, Steps) else typed
        self._passed, self._otherwise = passed, otherwise
        self._passes_all = list(passed) == list(range(len(kinds)))
        self._guard, self._names, self._is_interim = guard, names, is_interim
        self._apart = apart
        if apart:
            from kerneltk.launch.interpreter import address_of  # other shortcuts need none

            self._address_of = address_of(access)

    @property
    def is_outdated(self) -> bool:
        """Whether another one is to be made in place of this one: it calls `otherwise`."""
        return self._is_interim and compiled.launcher_class() is not None

    def __call__(self, *args: Any) -> Any:
        """Call one of the two."""
        if not self._fits(args):
            return self._otherwise(*args)
        typed = self._typed
        given = args if self._passes_all else tuple([args[k] for k in self._passed])
        return (typed[len(given)] if type(typed) is list else typed)(*given)

    def _fits(self, args: tuple[Any, ...]) -> bool:
        if len(args) != len(self._types) or not all(map(is_, map(type, args), self._types)):
            return False
        for k, dtype in self._dtypes:
            if args[k].dtype is not dtype:
                return False
        for k, constant in self._constants:
            if args[k] is not constant:
                return False
        for k, read, value in self._attributes:
            if read(args[k]) != value:
                return False
        for owner, name, value in self._names:
            if named(owner, name) is not value:
                return False
        for written, other, low, high in self._apart:
            near = args[other] if type(other) is int else other
            if low < self._address_of(args[written]) - self._address_of(near) < high:
                return False
        if self._guard is not None and not self._guard(*args):
            return False
        return not (self._is_interim and self.is_outdated)


def shortcut_of(
    kinds: Sequence[Kind],
    passed: Sequence[int],
    typed: Any,
    otherwise: Callable[..., Any],
    access: ArrayAccess,
    guard: Callable[..., Any] | None = None,
    names: Sequence[tuple[Any, str, Any]] = (),
    apart: Sequence[Distance] = (),
) -> Callable[..., Any]:
    """A shortcut; the parameters are those of `Shortcut`. Kinds of other libraries' arrays are for
    the extension module.
    """
    fits = len(kinds) <= _MOST_ARGUMENTS
    if isinstance(typed, Steps) and not typed.fits:
        typed = typed.run
    is_awaited = compiled.is_awaited()  # asked first: the module may be there behind that
    if compiled.launcher_class() is None or not fits:
        return Shortcut(
            kinds, passed, typed, otherwise, access, guard, names, apart, is_awaited and fits
        )
    module = compiled.extension_module()
    layout = None if access.layout is None else access.layout()
    described = [_asked(kind, access, layout) for kind in kinds]
    if None in described:
        return Shortcut(kinds, passed, typed, otherwise, access, guard, names, apart)
    if isinstance(typed, Steps):
        foreign = next((kind for kind in kinds if kind.foreign), None)
        described_new = tuple(_new(array, foreign) for array in typed.new)
        kind = np.ndarray if layout is None else layout.kind
        calls = tuple(
            call._replace(run=module.Viewing(*_viewing(call.run, kind, layout)))
            if isinstance(call.run, Viewing)
            else call
            for call in typed.calls
        )
        typed = typed.size, typed.constants, described_new, calls, typed.result, typed.keeps
    made: Callable[..., Any] = module.Shortcut(
        tuple(described),
        *compiled.counted(passed),
        typed,
        otherwise,
        guard,
        tuple((owner, name, () if value is MISSING else (value,)) for owner, name, value in names),
        tuple(_distance(*one) for one in apart),
        layout,
        0 if layout is None or access.new_array_function is None else access.new_array_function(),
    )
    return made


def _asked(kind: Kind, access: ArrayAccess, layout: ArrayLayout | None) -> tuple[Any, ...] | None:
    """What the extension module asks of an argument; None where it does not read such arrays."""
    constant = () if kind.constant is MISSING else (kind.constant,)
    if kind.foreign:
        device_type, device, is_written, ndim, *layout_asked = kind.foreign
        asked = map(_numbers, layout_asked)
        return kind.type, constant, kind.dtype, is_written, ndim, *asked, True, device_type, device
    array_type = np.ndarray if access.layout is None else layout and layout.kind
    known: dict[str, Any] = {"ndim": -1, "shape": None, "strides": None}
    known[access.writable or "writable"] = False
    for name, value in kind.attributes:
        is_order = name in ("flags.c_contiguous", access.contiguous)
        known["strides" if is_order else name] = value
    if (kind.dtype is not None and kind.type is not array_type) or len(known) > 4:
        return None
    ndim, shape, strides, is_written = known.values()
    asked = map(_numbers, (shape, strides))
    return kind.type, constant, kind.dtype, is_written, ndim, *asked, False, 0, 0


def _numbers(asked: Any) -> Any:
    return compiled.as_bytes(asked) if isinstance(asked, tuple) else asked


def _distance(written: int, other: Any, low: int, high: int) -> tuple[Any, ...]:
    where = (other, None) if type(other) is int else (0, other)
    return written, *where, low, high


def _viewing(of: Viewing, kind: type, layout: ArrayLayout | None) -> tuple[Any, ...]:
    make, offset, is_in_order, *lies = of
    numbers = compiled.as_bytes([number for each in lies for number in each])
    return make, kind, layout, offset, is_in_order, len(lies[0]), len(lies[2]), numbers


def _new(array: New, foreign: Kind | None) -> tuple[Any, ...]:
    """A new array as the extension module makes it: by a library's `Maker`, or by the backend."""
    slot, shape, dtype, order, make = array
    library = None if foreign is None else exchange.library_of(foreign.type)
    if library is None or foreign is None:
        return slot, shape, dtype, exchange.Maker(make, (shape, dtype, order), {}), order == "C"
    kind, device = foreign.foreign[:2]
    where = device if kind in exchange.GPUS else None
    return slot, shape, dtype, library.maker(shape, dtype, order, where), False
