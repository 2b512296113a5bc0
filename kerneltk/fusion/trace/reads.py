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
from collections.abc import Callable, Sequence
from typing import Any

from kerneltk.fusion.trace.kinds import is_same, is_value
from kerneltk.launch.shortcuts import MISSING as MISSING
from kerneltk.launch.shortcuts import named

_Read = Callable[[Sequence[Any]], Any]  # of a call's arguments
_Holds = Callable[[Sequence[Any]], bool]


class Reads:
    """What one trace has read from outside.

    Attributes
    ----------
    tests : set
        What was read, and is guarded.
    names : list of (object, str, object)
        What is to be the same object: see `kerneltk.launch.shortcuts.named`.
    """

    def __init__(self) -> None:
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

    def add_global(self, names: dict[str, Any], name: str) -> None:
        """Guard a global, also one that is not there."""
        # Globals and modules live as long as the functions whose names they are.
        value = names.get(name, MISSING)
        self.keep(value)
        self._add_named(("global", id(names), name), names, name, value)

    def keep(self, value: Any) -> None:
        """Note an object that lives as long as the trace, whatever refers to it."""
        self._kept.add(id(value))

    def add_cell(self, function: types.FunctionType, index: int) -> None:
        """Guard a closed-over variable that has a value."""
        cell = (function.__closure__ or ())[index]
        value = cell.cell_contents
        if id(function) in self._kept:
            self.keep(value)
            self._add_named(("cell", id(cell)), cell, "cell_contents", value)
            return
        known: Any = weakref.ref(function)
        key = "cell", id(function), index
        self._add_read(key, lambda _: known().__closure__[index].cell_contents, value)

    def add_code(self, function: types.FunctionType) -> None:
        """Guard a function's code, which tools replace that load changed modules again."""
        owner = function if id(function) in self._kept else weakref.ref(function)
        self._add_named(("code", id(function)), owner, "__code__", function.__code__)

    def add_attribute(
        self, owner: Any, read: str | None, name: str, value: Any, slot: Any = None
    ) -> None:
        """Guard an attribute of an argument, which is read as ``a0.attribute`` of the first one, or
        of an object that the function holds, but one that would keep this object alive. One that
        is not there may have a slot.
        """
        of, key = _of(owner, read), (name, read or id(owner))
        if value is not MISSING:
            self._add_read(
                ("attribute", *key), lambda a: getattr(of(a), name), value, owner, bool(read)
            )
        elif slot is not None:
            self._add(("unset", *key), lambda a: _is_unset(slot, of(a)), bool(read))
        else:
            self._add(("missing", *key), lambda a: name not in of(a).__dict__, bool(read))

    def add_names(self, owner: Any, read: str | None) -> None:
        """Guard which attributes an object has in its dict."""
        of, names = _of(owner, read), tuple(owner.__dict__)
        key = "names", read or id(owner)
        self._add(key, lambda a: tuple(of(a).__dict__) == names, bool(read))

    def _add_named(self, key: Any, owner: Any, name: str, value: Any) -> None:
        if is_value(value):
            self._add(key, lambda _: is_same(named(owner, name), value))
        elif key not in self.tests:
            self.tests.add(key)
            self.names.append((owner, name, value))
            self.note_layout(value)

    def _add_read(
        self, key: Any, read: _Read, value: Any, owner: Any = None, asks_argument: bool = False
    ) -> None:
        """Guard a value; an object is not kept alive by it."""
        holds: _Holds
        if is_value(value):
            holds = lambda a: is_same(read(a), value)  # noqa: E731
        else:
            try:
                known = weakref.ref(value)
                holds = lambda a: (found := read(a)) is not None and found is known()  # noqa: E731
            except TypeError:
                if _leads_to(value, owner):
                    return
                holds = lambda a: read(a) is value  # noqa: E731
        self._add(key, holds, asks_argument)
        self._note_array(value)

    def _add(self, key: Any, holds: _Holds, asks_argument: bool = False) -> None:
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
            self._add(("layout", id(value)), lambda _: _layout(value) == layout)

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
