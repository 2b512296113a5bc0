"""Frozen dataclasses that cost little at import: for the modules that first calls load. With
``dataclass(frozen=True, slots=True)`` in their place, which compiles seven methods for each, the
first elementwise call of a process, its code cached, took 83 ms instead of 54, and a fused one 187
instead of 141 (least of 15 processes on two busy cores). Other modules have dataclasses.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from types import MemberDescriptorType
from typing import Any, NoReturn, TypeVar, dataclass_transform, overload

T = TypeVar("T")


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
    """Write a record's constructor, as `dataclass` does."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_missing": MISSING}
    by_place: list[str] = ["self"]
    by_name: list[str] = []
    lines: list[str] = []
    for each in own:
        name = value = parameter = each.name
        if each.default_factory is not MISSING:
            names[f"_make_{name}"] = each.default_factory
            parameter = f"{name}=_missing"
            value = f"_make_{name}() if {name} is _missing else {name}"
        elif each.default is not MISSING:
            names[f"_default_{name}"] = each.default
            parameter = f"{name}=_default_{name}"
        (by_name if each.kw_only else by_place).append(parameter)
        slot = getattr(made, name, None) if slots else None
        if isinstance(slot, MemberDescriptorType):  # which takes half the time
            names[f"_set_{name}"] = slot.__set__
            lines.append(f" _set_{name}(self, {value})")
        else:
            lines.append(f" _set(self, {name!r}, {value})")
    if hasattr(made, "__post_init__"):
        lines.append(" self.__post_init__()")
    parameters = ", ".join([*by_place, *(["*", *by_name] if by_name else [])])
    source = "\n".join([f"def __init__({parameters}):", *(lines or [" pass"])])
    exec(compile(source, "<record>", "exec"), names)
    found: Callable[..., None] = names["__init__"]
    found.__qualname__ = f"{made.__qualname__}.__init__"
    return found


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
