"""Guards of what a trace has read from outside: each call asks whether it would read the same.

Names are globals and closed-over variables of the function and of the Python functions that it
calls, and attributes of its arguments. They are compared by identity; numbers, strings and tuples
of these by type and value.
"""

from __future__ import annotations

import gc
import operator
import types
import weakref
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from kerneltk.fusion.trace.symbols import OutsideNumber, Symbol
from kerneltk.fusion.trace.users import is_same, is_value
from kerneltk.launch.shortcuts import MISSING as MISSING
from kerneltk.launch.shortcuts import named

_Read = Callable[[Sequence[Any]], Any]  # of a call's arguments
_Holds = Callable[[Sequence[Any]], bool]


def entry_of(kind: type, name: str) -> Any:
    """What a class has by a name."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), MISSING)


class Name(NamedTuple):
    """A name from outside.

    Attributes
    ----------
    key : object
        What it is among the names of a trace.
    value : object
        What it stands for; `MISSING` for nothing.
    read : callable
        Reads it again, of a call's arguments.
    entry : (object, str), optional
        How `kerneltk.launch.shortcuts.named` reads it, if its value may live as long as the trace.
    owner : object, optional
        Whose attribute it is; no guard keeps this object alive.
    asks_argument : bool
        Whether it is read of an argument.
    """

    key: Any
    value: Any
    read: _Read
    entry: tuple[Any, str] | None = None
    owner: Any = None
    asks_argument: bool = False


def of_global(names: dict[str, Any], name: str) -> Name:
    """A global, also one that is not there."""
    # Globals and modules live as long as the functions whose names they are.
    value = names.get(name, MISSING)
    return Name(("global", id(names), name), value, lambda _: named(names, name), (names, name))


def of_attribute(owner: Any, read: str | None, name: str, value: Any) -> Name:
    """An attribute of an argument, also one that is not there, which is read as ``a0.attribute`` of
    the first one, or of an object that the function holds.
    """
    of, key = _of(owner, read), ("attribute", name, read or id(owner))
    default = (MISSING,) if value is MISSING else ()
    return Name(key, value, lambda a: getattr(of(a), name, *default), None, owner, read is not None)


class Reads:
    """What one trace has read from outside.

    Attributes
    ----------
    tests : set
        What was read, and is guarded.
    names : list of (object, str, object)
        What is to be the same object: see `kerneltk.launch.shortcuts.named`.

    Parameters
    ----------
    varying : set
        Keys of numbers that had other values in another call: the function gets a number of each
        call in their place, where its names can be replaced, and their type is guarded.
    """

    def __init__(self, varying: Set[Any] = frozenset()) -> None:
        self._varying = varying
        self._given: dict[Any, tuple[OutsideNumber, Any]] = {}  # in the place of numbers
        self._numbers: dict[Any, tuple[_Read, Any]] = {}  # that are constants
        self.tests: set[Any] = set()
        self.names: list[tuple[Any, str, Any]] = []
        self._of_call: list[_Holds] = []  # all else
        self._of_all: list[_Holds] = []  # what asks no argument
        self._arrays: set[int] = set()
        self._kept: set[int] = set()  # what is not to be referred to weakly

    def is_named(self, array: Any) -> bool:
        """Whether a guard says which array it is, or is a view of; kernels read its elements at
        each call.
        """
        return id(_owner(array)) in self._arrays

    def keep(self, value: Any) -> None:
        """Note an object that lives as long as the trace, whatever refers to it."""
        self._kept.add(id(value))

    def of_cell(self, function: types.FunctionType, index: int) -> Name:
        """A closed-over variable that has a value."""
        cell = (function.__closure__ or ())[index]
        value = cell.cell_contents
        if id(function) in self._kept:
            read: _Read = lambda _: cell.cell_contents  # noqa: E731
            return Name(("cell", id(cell)), value, read, (cell, "cell_contents"))
        known: Any = weakref.ref(function)
        key = "cell", id(function), index
        return Name(key, value, lambda _: known().__closure__[index].cell_contents)

    def number(self, name: Name) -> Symbol | None:
        """What a function gets in place of a name that is a number of each call."""
        key = name.key
        if key not in self._varying or not _is_number(name.value):
            return None
        if key not in self._given:
            self._given[key] = OutsideNumber(key, name.read, len(self._given)), name.value
        number, value = self._given[key]
        return Symbol(("outside", number), value)

    def changed_numbers(self, arguments: Sequence[Any]) -> set[Any]:
        """The keys of constants that are other numbers of the same types now."""
        found = set()
        for key, (read, value) in self._numbers.items():
            with suppress(AttributeError, ValueError, IndexError):
                now = read(arguments)
                if type(now) is type(value) and not is_same(now, value):
                    found.add(key)
        return found

    def add(self, name: Name, *, is_replaced: bool = False) -> None:
        """Guard a name; `is_replaced` says that the function that reads it gets what stands for it
        in the trace. An object does not live on by it, but by its `entry`.
        """
        key, value, read = name.key, name.value, name.read
        if name.entry is not None:
            self.keep(value)
        if is_value(value):
            if is_replaced and key in self._given:
                kind = type(value)
                self.test(key, lambda a: type(read(a)) is kind, name.asks_argument)
                return
            if _is_number(value):
                self._numbers[key] = read, value
            # A function whose names are not replaced reads it, too.
            self.test(("value", key), lambda a: is_same(read(a), value), name.asks_argument)
        elif value is MISSING and name.entry is None:
            self.test(key, lambda a: read(a) is MISSING, name.asks_argument)
        elif name.entry is not None:
            if key not in self.tests:
                self.tests.add(key)
                self.names.append((*name.entry, value))
                self.note_layout(value)
        else:
            holds: _Holds
            try:
                known = weakref.ref(value)
                holds = lambda a: (found := read(a)) is not None and found is known()  # noqa: E731
            except TypeError:
                if _leads_to(value, name.owner):
                    return
                holds = lambda a: read(a) is value  # noqa: E731
            self.test(key, holds, name.asks_argument)
            self._note_array(value)

    def add_code(self, function: types.FunctionType) -> None:
        """Guard a function's code, which tools replace that load changed modules again."""
        owner = function if id(function) in self._kept else weakref.ref(function)
        key, code = ("code", id(function)), function.__code__
        self.add(Name(key, code, lambda _: named(owner, "__code__"), (owner, "__code__")))

    def add_absent(self, owner: Any, read: str | None, name: str, slot: Any = None) -> None:
        """Guard that an argument has no attribute of a name of its own, in its slot if it has, nor
        from its class where that has none.
        """
        of, key = _of(owner, read), ("absent", name, read or id(owner))
        if slot is None:
            is_in_class = entry_of(type(owner), name) is not MISSING
            self.test(
                key,
                lambda a: (
                    name not in (own := of(a)).__dict__
                    and (is_in_class or entry_of(type(own), name) is MISSING)
                ),
                read is not None,
            )
        else:
            self.test(key, lambda a: _is_unset(slot, of(a)), read is not None)

    def add_names(self, owner: Any, read: str | None) -> None:
        """Guard which attributes an object has in its dict."""
        of, names = _of(owner, read), tuple(owner.__dict__)
        key = "names", read or id(owner)
        self.test(key, lambda a: tuple(of(a).__dict__) == names, read is not None)

    def test(self, key: Any, holds: _Holds, asks_argument: bool = False) -> None:
        """Guard by a function of the arguments; of each key once."""
        if key not in self.tests:
            self.tests.add(key)
            self._of_call.append(holds)
            if not asks_argument:
                self._of_all.append(holds)

    def note_layout(self, value: Any) -> None:
        """Guard the shape and the strides of what may be an array: it may be resized."""
        self._note_array(value)
        if _is_array(value):
            layout = _layout(value)
            self.test(("layout", id(value)), lambda _: _layout(value) == layout)

    def _note_array(self, value: Any) -> None:
        if _is_array(value):
            self._arrays.add(id(_owner(value)))

    def hold(self, arguments: Sequence[Any] | None = None) -> bool:
        """Whether a call with such arguments would read the same; without them, whether any call
        could.
        """
        for owner, name, value in self.names:
            if named(owner, name) is not value:
                return False
        return self.others_hold(arguments)

    @property
    def has_others(self) -> bool:
        """Whether more is guarded than `names`."""
        return bool(self._of_call)

    def others_hold(self, arguments: Sequence[Any] | None = None) -> bool:
        """As `hold`, of all but `names`."""
        try:  # a variable or an attribute may have no value
            for holds in self._of_all if arguments is None else self._of_call:
                if not holds(arguments or ()):
                    return False
        except (AttributeError, ValueError):
            return False
        return True


def _is_number(value: Any) -> bool:
    return type(value) in (int, float, complex) or isinstance(value, np.number)


def _layout(array: Any) -> tuple[Any, ...]:
    return array.shape, array.dtype, getattr(array, "strides", None)


def _of(owner: Any, read: str | None) -> _Read:
    """What reads an object: an argument, or an attribute of one; else it is always the same."""
    if read is None:
        return lambda _: owner
    argument, _, names = read.partition(".")
    index = int(argument[1:])
    if not names:
        return operator.itemgetter(index)
    attribute = operator.attrgetter(names)
    return lambda arguments: attribute(arguments[index])


def _is_unset(slot: Any, owner: Any) -> bool:
    try:
        slot.__get__(owner)
    except AttributeError:
        return True
    return False


def _is_array(value: Any) -> bool:
    return hasattr(type(value), "shape") and hasattr(type(value), "dtype") and not is_value(value)


def _owner(array: Any) -> Any:
    """The array whose memory a view shows."""
    while True:
        base = getattr(array, "base", None)
        base = getattr(array, "_base", None) if base is None else base  # torch's
        if base is None or not _is_array(base):
            return array
        array = base


def _leads_to(value: Any, owner: Any) -> bool:
    """Whether an object keeps another one alive, or too many to tell."""
    known: set[int] = set()
    pending = [value]
    while pending and owner is not None:
        item = pending.pop()
        if item is owner or len(known) > _MOST_OBJECTS:
            return True
        if id(item) in known or isinstance(item, type | types.ModuleType):
            continue
        known.add(id(item))
        function = isinstance(item, types.FunctionType)
        inner = item.__closure__ or () if function else gc.get_referents(item)
        pending += filter(gc.is_tracked, inner)
    return False


_MOST_OBJECTS = 1000
