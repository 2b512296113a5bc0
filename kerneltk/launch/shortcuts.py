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

from kerneltk.backends.base import ArrayAccess
from kerneltk.launch import compiled, launchers

_MOST_ARGUMENTS = 64
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
    """

    type: type
    dtype: Any = None
    attributes: tuple[tuple[str, Any], ...] = ()
    constant: Any = MISSING


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
    typed : callable or list of callable
        A list has what is called by the number of arguments.
    otherwise : callable
    access : ArrayAccess
    guard : callable, optional
        Takes all arguments, of these kinds; tells whether they are for `typed`.
    names : sequence of (object, str, object)
        An owner and a name, which stand for an object still: see `named`.
    apart : sequence of Distance
    returns_none : bool
        Whether calls of `typed` return None, whatever it returns.
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
        returns_none: bool = False,
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
        self._passed, self._typed, self._otherwise = passed, typed, otherwise
        self._passes_all = list(passed) == list(range(len(kinds)))
        self._guard, self._names, self._is_interim = guard, names, is_interim
        self._apart = apart
        if apart:
            from kerneltk.launch.interpreter import address_of  # other shortcuts need none

            self._address_of = address_of(access)
        self._returns_none = returns_none

    @property
    def is_outdated(self) -> bool:
        """Whether another one is to be made in place of this one: it calls `otherwise`."""
        return self._is_interim and launchers.launcher_class() is not None

    def __call__(self, *args: Any) -> Any:
        """Call one of the two."""
        if not self._fits(args):
            return self._otherwise(*args)
        typed = self._typed
        given = args if self._passes_all else tuple([args[k] for k in self._passed])
        result = (typed[len(given)] if type(typed) is list else typed)(*given)
        return None if self._returns_none else result

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
    slow_guard: Callable[..., Any] | None = None,
    names: Sequence[tuple[Any, str, Any]] = (),
    apart: Sequence[Distance] = (),
    returns_none: bool = False,
) -> Callable[..., Any]:
    """A shortcut; the parameters are those of `Shortcut`.

    Parameters
    ----------
    slow_guard : callable, optional
        As `guard`, of what the extension module asks by itself: whether the arrays of another
        library are in one kind of memory.
    """
    is_awaited = compiled.is_awaited()  # asked first: the module may be there behind that
    if launchers.launcher_class() is None or len(kinds) > _MOST_ARGUMENTS:
        is_interim = is_awaited and len(kinds) <= _MOST_ARGUMENTS
        return Shortcut(
            kinds, passed, typed, otherwise, access, slow_guard or guard, names, apart,
            returns_none, is_interim,
        )  # fmt: skip
    module = compiled.extension_module()
    offsets: dict[type, int] = {np.ndarray: module.NUMPY_DTYPE}
    layout = None if access.layout is None else access.layout()
    if layout is not None:
        offsets[layout.kind] = layout.dtype
    described = tuple(
        (
            kind.type,
            kind.dtype,
            offsets.get(kind.type, 0),
            tuple((compiled.path_of(name), value) for name, value in kind.attributes),
            () if kind.constant is MISSING else (kind.constant,),
        )
        for kind in kinds
    )
    made: Callable[..., Any] = module.Shortcut(
        described,
        tuple(passed),
        typed,
        otherwise,
        guard,
        tuple((owner, name, () if value is MISSING else (value,)) for owner, name, value in names),
        returns_none,
        compiled.path_of(access.memory),
        compiled.access_of(access),
        tuple(map(tuple, apart)),
    )
    return made
