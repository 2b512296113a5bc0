"""Frozen dataclasses that cost little at import: for the modules that first calls load. With
``dataclass(frozen=True, slots=True)`` in their place, which compiles seven methods for each, the
first elementwise call of a process, its code cached, took 83 ms instead of 54, and a fused one 187
instead of 141 (least of 15 processes on two busy cores). Other modules have dataclasses.

Regular expressions that are compiled at their first use. Tables with a limit, for what can be made
again.

Beside them lazy properties, and locks that a forked process can take, whichever thread of its
parent held them.
"""

from __future__ import annotations

import functools
import operator
import os
import re
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from types import FunctionType, MemberDescriptorType
from typing import Any, AnyStr, NoReturn, TypeVar, cast, dataclass_transform, overload

T = TypeVar("T")
Value = TypeVar("Value")
_Setter = Callable[[Any, Any], Any]  # returns None


@overload
def record(kind: type[T], /) -> type[T]: ...
@overload
def record(
    *, slots: bool = ..., eq: bool = ..., kw_only: bool = ...
) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(
    kind: type[T] | None = None, /, *, slots: bool = True, eq: bool = True, kw_only: bool = False
) -> Any:
    """Make a class what ``dataclass(frozen=True, slots=True)`` makes of it. All methods but the
    constructor are those of every record.

    Parameters
    ----------
    slots : bool
        Whether instances have the fields alone, and no dictionary.
    eq : bool
        Whether instances with equal fields are equal, and else only an instance and itself.
    kw_only : bool
        Whether fields are given by name alone.

    Examples
    --------
    >>> @record
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1) == Point(1, 0), Point(2)
    (True, Point(x=2, y=0))
    """

    def make(given: type[T]) -> type[T]:
        options = {"slots": slots, "kw_only": kw_only}
        made: Any = dataclass(init=False, repr=False, eq=False, **options)(given)
        own, written = fields(made), vars(made)
        made.__init__ = _initializer(made, own, slots)
        made.__setattr__, made.__delattr__ = _refuse_assigning, _refuse_deleting
        if slots:  # what copies and pickles of others ask the instance's dictionary for
            made._record_fields = tuple(each.name for each in own)
            made.__getstate__, made.__setstate__ = _state, _set_state
        if "__repr__" not in written:
            made._record_shown = tuple(each.name for each in own if each.repr)
            made.__repr__ = _shown
        if eq and "__eq__" not in written:
            names = [each.name for each in own if each.compare]
            made._record_content = staticmethod(operator.attrgetter(*names) if names else _nothing)
            made.__eq__, made.__hash__ = _is_equal, _hash
        return made  # type: ignore[no-any-return]

    return make if kind is None else make(kind)


def _initializer(made: Any, own: Sequence[Field[Any]], slots: bool) -> Callable[..., None]:
    """A record's constructor: `_set_fields` with the fields for parameters. Python binds the
    arguments, which takes a third of the time of doing it here.
    """
    own = sorted(own, key=operator.attrgetter("kw_only"))  # a base's may stand between others
    setters = [_setter(made, each, slots) for each in own]
    code = _set_fields.__code__
    if len(own) >= code.co_nlocals:
        raise TypeError(f"'{made.__qualname__}' has more than {code.co_nlocals - 1} fields")
    by_place = [each for each in own if not each.kw_only]
    names = ("self", *(each.name for each in own))
    code = code.replace(
        co_argcount=1 + len(by_place),
        co_kwonlyargcount=len(own) - len(by_place),
        co_varnames=names + code.co_varnames[len(names) :],
    )
    known = {
        "__name__": made.__module__,
        "_setters": tuple(setters),
        "_count": len(own),
        "_is_checked": hasattr(made, "__post_init__"),
    }
    defaults = {
        each.name: _MADE if each.default is MISSING else each.default
        for each in own
        if each.default is not MISSING or each.default_factory is not MISSING
    }
    last = [each.name for each in by_place if each.name in defaults]
    if last != [each.name for each in by_place[len(by_place) - len(last) :]]:
        raise TypeError(f"'{made.__qualname__}' has a field without a default behind one with it")
    found = FunctionType(code, known, "__init__", tuple([defaults.pop(name) for name in last]))
    found.__kwdefaults__ = defaults
    found.__qualname__ = f"{made.__qualname__}.__init__"
    return found


def _setter(made: Any, own: Field[Any], slots: bool) -> _Setter:
    """What sets a field of a new record."""
    name, make = own.name, own.default_factory
    slot = getattr(made, name, None) if slots else None

    def set_by_name(instance: Any, value: Any) -> None:
        object.__setattr__(instance, name, value)

    # A slot's own descriptor takes half the time.
    set_field = slot.__set__ if isinstance(slot, MemberDescriptorType) else set_by_name
    if make is MISSING:
        return set_field
    return lambda instance, value: set_field(instance, make() if value is _MADE else value)


class _Made:
    """The default of a field that a function makes."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE = _Made()
# The globals of a record's `_set_fields`.
_setters: Sequence[_Setter] = ()
_count = 0
_is_checked = False


def _set_fields(  # type: ignore[no-untyped-def]
    self, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, v16, v17, v18, v19
):  # fmt: skip
    """Set the fields of a new record; parameters behind the last field have no values."""
    (
        _count > 0
        and (_setters[0](self, v0) or _count > 1)
        and (_setters[1](self, v1) or _count > 2)
        and (_setters[2](self, v2) or _count > 3)
        and (_setters[3](self, v3) or _count > 4)
        and (_setters[4](self, v4) or _count > 5)
        and (_setters[5](self, v5) or _count > 6)
        and (_setters[6](self, v6) or _count > 7)
        and (_setters[7](self, v7) or _count > 8)
        and (_setters[8](self, v8) or _count > 9)
        and (_setters[9](self, v9) or _count > 10)
        and (_setters[10](self, v10) or _count > 11)
        and (_setters[11](self, v11) or _count > 12)
        and (_setters[12](self, v12) or _count > 13)
        and (_setters[13](self, v13) or _count > 14)
        and (_setters[14](self, v14) or _count > 15)
        and (_setters[15](self, v15) or _count > 16)
        and (_setters[16](self, v16) or _count > 17)
        and (_setters[17](self, v17) or _count > 18)
        and (_setters[18](self, v18) or _count > 19)
        and (_setters[19](self, v19) or _count > 20)
    )
    if _is_checked:
        self.__post_init__()


# -- the methods of all records --------------------------------------------------------------------


def _nothing(_: object) -> tuple[()]:
    return ()


def _is_equal(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self._record_content(self) == self._record_content(other)


def _hash(self: Any) -> int:
    return hash(self._record_content(self))


def _shown(self: Any) -> str:
    shown = ", ".join([f"{name}={getattr(self, name)!r}" for name in self._record_shown])
    return f"{type(self).__qualname__}({shown})"


def _refuse_assigning(self: Any, name: str, value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deleting(self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self._record_fields]


def _set_state(self: Any, state: Sequence[Any]) -> None:
    for name, value in zip(self._record_fields, state, strict=True):
        object.__setattr__(self, name, value)


# -- tables for what can be made again -------------------------------------------------------------

K = TypeVar("K")
V = TypeVar("V")

MAX_PLANS = 16384
"""Of one kernel, for so many shapes: about 3.5 KB each."""


class BoundedTable(dict[K, V]):
    """A dictionary that drops its oldest entries where a new one would exceed its limit: an eighth
    of all, at least one. Only ``table[key] = value`` adds entries.

    Parameters
    ----------
    most : int
        Entries at most.

    Examples
    --------
    >>> table = BoundedTable(3)
    >>> for n in range(5):
    ...     table[n] = n * n
    >>> table
    {2: 4, 3: 9, 4: 16}
    """

    __slots__ = ("most",)

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= self.most and key not in self:
            for old in list(self)[: max(self.most // 8, 1)]:
                self.pop(old, None)  # another thread may have dropped it
        super().__setitem__(key, value)


class cached_property(functools.cached_property[Value]):  # noqa: N801  (as functools calls it)
    """`functools.cached_property` without the lock of Python 3.11.

    That lock is one for all objects of a class, which later versions have not: a thread that
    analyses one kernel would make the others wait that analyse theirs, and where it is held while
    another thread forks, the child would wait for ever.
    """

    def __init__(self, func: Callable[[Any], Value]) -> None:
        super().__init__(func)
        self.lock = nullcontext()


_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def lasting_lock(lock: Any = None) -> Any:
    """Return a lock, by default a new ``threading.Lock``, which is free in a forked child: the
    threads of the parent that may have held it are not there.
    """
    lock = threading.Lock() if lock is None else lock
    _locks.add(lock)
    return lock


def _free_locks() -> None:
    for lock in list(_locks):
        lock._at_fork_reinit()


os.register_at_fork(after_in_child=_free_locks)


class Memo:
    """Results by their keys, each made once: other threads that ask for one wait until it is there.
    What makes a result may ask for others. A copy, also by pickle, begins empty.
    """

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}
        self.lock = lasting_lock(threading.RLock())

    def of(self, key: Any, make: Callable[[], Any]) -> Any:
        """The result for a key; `make` returns it where it is not known."""
        found = self._known.get(key)
        if found is None:
            with self.lock:
                found = self._known.get(key)
                if found is None:
                    found = self._known[key] = make()
        return found

    def __contains__(self, key: Any) -> bool:
        return key in self._known

    def __reduce__(self) -> tuple[type[Memo], tuple[()]]:
        return Memo, ()


# -- patterns that are compiled when they are first used -------------------------------------------

# Most processes use few of them. Compiled at import, those that first calls load took 5 ms of an
# elementwise one, its code cached, and 19 ms of a fused one (54 and 141 ms, least of 15 processes
# on two busy cores).


class _Pattern:
    """Stands for a compiled pattern, whose attributes it takes over as they are asked for."""

    def __init__(self, source: Any, flags: int) -> None:
        self._compiled_from = source, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = self.__dict__[name] = getattr(re.compile(*self._compiled_from), name)
        return found


def pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern as of ``re.compile``, compiled when one of its methods is called.

    Examples
    --------
    >>> pattern(r"[0-9]+").findall("1 22")
    ['1', '22']
    """
    return cast("re.Pattern[AnyStr]", _Pattern(source, flags))
