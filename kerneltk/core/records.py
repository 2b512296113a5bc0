"""Frozen dataclasses that cost little at import: for the modules that first calls load. With
``dataclass(frozen=True, slots=True)`` in their place, which compiles seven methods for each, the
first elementwise call of a process, its code cached, took 83 ms instead of 54, and a fused one 187
instead of 141 (least of 15 processes on two busy cores). Other modules have dataclasses.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import partial
from types import MemberDescriptorType
from typing import Any, NoReturn, TypeVar, dataclass_transform, overload

T = TypeVar("T")
_NONE: Any = object()  # of a default


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
    """A record's constructor."""
    own = sorted(own, key=operator.attrgetter("kw_only"))  # a base's may stand between others
    names, count = [each.name for each in own], len(own)
    setters: list[Callable[[Any, Any], None]] = []
    if slots:  # a slot's own descriptor takes half the time of `object.__setattr__`
        setters = [
            slot.__set__
            if isinstance(slot := getattr(made, name, None), MemberDescriptorType)
            else partial(_set, name)
            for name in names
        ]
    most = sum(not each.kw_only for each in own)  # by position
    index = {name: k for k, name in enumerate(names)}
    defaults = [_NONE if each.default is MISSING else each.default for each in own]
    asked = [k for k, default in enumerate(defaults) if default is _NONE]
    is_checked = hasattr(made, "__post_init__")

    def __init__(self: Any, *args: Any, **words: Any) -> None:  # noqa: N807
        given = len(args)
        if words or given != count or given > most:
            if given > most:
                raise TypeError(f"{where} takes {most} positional arguments, not {given}")
            values = [*args, *defaults[given:]]
            for name, value in words.items():
                k = index.get(name, -1)
                if k < given:
                    known = "multiple values for" if k >= 0 else "an unexpected keyword"
                    raise TypeError(f"{where} got {known} argument '{name}'")
                values[k] = value
            for k in asked:
                if values[k] is _NONE:
                    make: Any = own[k].default_factory
                    if make is MISSING:
                        raise TypeError(f"{where} missing required argument: '{names[k]}'")
                    values[k] = make()
            args = tuple(values)
        if slots:
            for set_field, value in zip(setters, args):  # noqa: B905
                set_field(self, value)
        else:
            self.__dict__.update(zip(names, args, strict=True))
        if is_checked:
            self.__post_init__()

    where = f"{made.__qualname__}.__init__()"
    __init__.__qualname__ = where[:-2]
    made.__signature__ = _Signature()
    return __init__


def _set(name: str, instance: Any, value: Any) -> None:
    object.__setattr__(instance, name, value)


class _Signature:
    """A record's signature, made where it is asked for."""

    def __get__(self, instance: object, owner: Any) -> Any:
        import inspect  # no import of the package needs it

        by_name = inspect.Parameter.KEYWORD_ONLY
        by_position = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = []
        for each in sorted(fields(owner), key=operator.attrgetter("kw_only")):
            default: Any = each.default_factory if each.default is MISSING else each.default
            parameters.append(
                inspect.Parameter(
                    each.name,
                    by_name if each.kw_only else by_position,
                    default=inspect.Parameter.empty if default is MISSING else default,
                )
            )
        return inspect.Signature(parameters)


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
