"""Guards of what a trace has read from outside: each call asks whether it would read the same.

Names are globals and closed-over variables of the function and of the Python functions that it
calls, and attributes of its arguments. They are compared by identity; numbers, strings and tuples
of these by type and value.
"""

from __future__ import annotations

import functools
import gc
import types
import weakref
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from kerneltk.fusion.trace.constants import is_same, is_value

MISSING = object()


@functools.lru_cache(maxsize=512)
def _compiled(source: str) -> CodeType:
    return compile(source, "<guards of a trace>", "exec")


class Reads:
    """What one trace has read from outside.

    Attributes
    ----------
    tests : dict
        Expressions that are true where a call would read the same, each with whether it asks an
        argument; ``a0`` is the first one. They may raise `ERRORS`, which is false.
    names : dict
        What the names in the tests stand for.
    """

    ERRORS = (AttributeError, ValueError)  # of an attribute and a variable without value

    def __init__(self) -> None:
        self.tests: dict[str, bool] = {}
        self.names: dict[str, Any] = {"unset": MISSING, "same": is_same, "is_unset": _is_unset}
        self._arrays: set[int] = set()
        self._kept: set[int] = set()  # what is not to be referred to weakly
        self._known: dict[Any, str] = {}
        self._holds: dict[bool, Callable[[Sequence[Any]], bool]] = {}

    def is_named(self, array: Any) -> bool:
        """Whether a guard says which array it is, or is a view of; kernels read its elements at
        each call.
        """
        return id(_owner(array)) in self._arrays

    def add_global(self, names: dict[str, Any], name: str) -> None:
        """Guard a global, also one that is not there."""
        # Globals and modules live as long as the functions whose names they are.
        read = f"{self._name('g', id(names), names.get)}({name!r}, unset)"
        value = names.get(name, MISSING)
        self.keep(value)
        self._add(read, value)

    def keep(self, value: Any) -> None:
        """Note an object that lives as long as the trace, whatever refers to it."""
        self._kept.add(id(value))

    def _function(self, function: types.FunctionType) -> str:
        if id(function) in self._kept:
            return self._name("f", id(function), function)
        return f"{self._name('f', id(function), weakref.ref(function))}()"

    def add_cell(self, function: types.FunctionType, index: int) -> None:
        """Guard a closed-over variable that has a value."""
        cell = (function.__closure__ or ())[index]
        if id(function) in self._kept:
            self.keep(cell.cell_contents)
            self._add(f"{self._name('c', id(cell), cell)}.cell_contents", cell.cell_contents)
            return
        read = f"{self._function(function)}.__closure__[{index}].cell_contents"
        self._add_weakly(read, cell.cell_contents, None)

    def add_code(self, function: types.FunctionType) -> None:
        """Guard a function's code, which tools replace that load changed modules again."""
        self._add(f"{self._function(function)}.__code__", function.__code__)

    def add_attribute(
        self, owner: Any, read: str | None, name: str, value: Any, slot: Any = None
    ) -> None:
        """Guard an attribute of an argument, which is read by an expression, or of an object that
        the function holds, but one that would keep this object alive. One that is not there may
        have a slot.
        """
        asks_argument = read is not None
        if read is None:
            read = self._name("o", id(owner), owner)
        if value is MISSING and slot is not None:
            self._add_test(f"is_unset({self._name('d', slot, slot)}, {read})", asks_argument)
        elif value is MISSING:
            self._add_test(f"{name!r} not in {read}.__dict__", asks_argument)
        else:
            self._add_weakly(f"{read}.{name}", value, owner, asks_argument)

    def add_names(self, owner: Any, read: str | None) -> None:
        """Guard which attributes an object has in its dict."""
        asks_argument = read is not None
        if read is None:
            read = self._name("o", id(owner), owner)
        names = self._name("n", id(owner), tuple(owner.__dict__))
        self._add_test(f"tuple({read}.__dict__) == {names}", asks_argument)

    def _add_weakly(self, read: str, value: Any, owner: Any, asks_argument: bool = False) -> None:
        if is_value(value):
            self._add(read, value, asks_argument)
            return
        try:
            known: Any = weakref.ref(value)
        except TypeError:
            if _leads_to(value, owner):
                return
            known = functools.partial(_itself, value)
        name = self._name("w", read, known)
        # An object that is no more is none that is read: `None is None` says nothing.
        self._add_test(
            f"({name}_now := {name}()) is not None and {read} is {name}_now", asks_argument
        )
        self._note_array(value)

    def _name(self, stem: str, key: Any, value: Any) -> str:
        found = self._known.get((stem, key))
        if found is None:
            found = self._known[stem, key] = f"{stem}_{len(self._known)}"
            self.names[found] = value
        return found

    def _add(self, read: str, value: Any, asks_argument: bool = False) -> None:
        if read in self._known:
            return
        self._known[read] = read
        key = self._name("v", read, value)
        test = f"{read} is {key}"
        if is_value(value):
            test = f"({test} or same({read}, {key}))"
        self._add_test(test, asks_argument)
        self._note_array(value)
        if _is_array(value):  # which may be resized
            shape = self._name("s", read, (value.shape, value.dtype))
            self._add_test(f"({key}.shape, {key}.dtype) == {shape}", False)

    def _add_test(self, test: str, asks_argument: bool) -> None:
        self.tests[test] = asks_argument
        self._holds.clear()

    def _note_array(self, value: Any) -> None:
        if _is_array(value):
            self._arrays.add(id(_owner(value)))

    def hold(self, arguments: Sequence[Any] | None = None) -> bool:
        """Whether a call with such arguments would read the same; without them, whether any call
        could.
        """
        if not self.tests:
            return True
        is_call = arguments is not None
        holds = self._holds.get(is_call)
        if holds is None:
            tests = [test for test, asks in self.tests.items() if is_call or not asks] or ["True"]
            indices = range(len(arguments or ()))
            source = "\n".join(
                ["def holds(arguments):", *(f"    a{k} = arguments[{k}]" for k in indices),
                 "    try:", f"        return {' and '.join(tests)}",
                 "    except ERRORS:", "        return False"]
            )  # fmt: skip
            names = {**self.names, "ERRORS": self.ERRORS}
            exec(_compiled(source), names)
            holds = self._holds[is_call] = names["holds"]
        return holds(arguments or ())


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


def _itself(value: Any) -> Any:
    return value


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
