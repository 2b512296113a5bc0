"""What a traced function reads from outside: globals, variables of outer functions, attributes of
objects, and items of containers. All of that is constant while the function is traced; a call that
finds something else there is another trace.

Attributes are looked for by the names in the code of the functions, and of the methods that these
names stand for.
"""

from __future__ import annotations

import collections
import functools
import operator
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

MISSING = object()
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic)
_CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)
_BY_ANY_NAME = frozenset(("getattr", "vars", "__dict__", "asdict", "attrgetter"))
_EARLY = frozenset(("__init__", "__new__", "__post_init__", "__repr__", "__setstate__"))
# Elements that the function itself reads, and not its kernels, are constants of the trace.
_MOST_BYTES = 1 << 16

Reader = Callable[[Any], Any]


def is_library(module: str | None) -> bool:
    """Whether a module is one whose functions are called as they are."""
    root = (module or "").partition(".")[0]
    return root in ("numpy", "cupy", "cupyx", "scipy", "kerneltk") or root in (
        sys.stdlib_module_names
    )


def is_array(value: Any) -> bool:
    """Whether a value from outside of the trace is an array."""
    return isinstance(value, np.ndarray) or (
        hasattr(value, "dtype")
        and hasattr(value, "strides")
        and hasattr(value, "shape")
        and not isinstance(value, np.generic | type)
    )


def names_of(code: types.CodeType) -> set[str]:
    """The names that a function, and those within it, may read: globals and attributes."""
    found = set(code.co_names)
    for item in code.co_consts:
        if isinstance(item, types.CodeType):
            found |= names_of(item)
    return found


def content_of(cell: types.CellType) -> Any:
    """What a closure's variable stands for; the cell itself while it is not assigned."""
    try:
        return cell.cell_contents
    except ValueError:
        return cell


def constant_kind(value: Any) -> Any:
    """What a constant is known by. ``(1,) == (1.0,)``, and ``0.0 == -0.0``, but they are other
    constants.
    """
    if isinstance(value, tuple):
        return type(value), tuple(map(constant_kind, value))
    if isinstance(value, float | complex | np.inexact):
        return type(value), repr(value)
    return type(value), value


class _Seen:
    """A value as the trace has seen it: itself, and what was read of it."""

    __slots__ = ("parts", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.parts: list[tuple[Reader, _Seen]] = []

    def holds(self, found: Any) -> bool:
        """Whether the trace would see the same in another value."""
        return _is_same(found, self.value) and self.parts_hold(found)

    def parts_hold(self, found: Any) -> bool:
        """Whether the trace would see the same in what it has read of a value."""
        return all(part.holds(read(found)) for read, part in self.parts)


class _Items(_Seen):
    """The items of a container, in their order."""

    __slots__ = ()

    def holds(self, found: Any) -> bool:
        """Whether all items are the same."""
        if len(found) != len(self.value):
            return False
        if not all(map(operator.is_, found, self.value)) and not all(
            map(_is_same, found, self.value)
        ):
            return False
        return self.parts_hold(found)


class _Equal(_Seen):
    """What is compared by ``==``."""

    __slots__ = ()

    def holds(self, found: Any) -> bool:
        """Whether it is equal."""
        return bool(found == self.value)


def _is_same(found: Any, value: Any) -> bool:
    """Whether two values mean the same, but for what is within them."""
    if found is value:
        return True
    if type(found) is not type(value) or not isinstance(found, _PLAIN):
        return False
    return bool(constant_kind(found) == constant_kind(value))


class Outside:
    """What one trace sees from outside.

    Parameters
    ----------
    array_type : type
        Of the arrays that kernels read; a name that stands for one is no constant.
    """

    def __init__(self, array_type: type) -> None:
        self._array_type = array_type
        self._names: set[str] = set()
        self._functions: dict[int, types.FunctionType] = {}
        self._roots: dict[Any, tuple[Callable[[], Any], Any, bool]] = {}
        self._arguments: dict[int, Any] = {}
        self._seen: dict[int, _Seen] = {}
        self._found: list[tuple[Callable[[], Any], _Seen]] = []
        self._of_arguments: list[tuple[int, _Seen]] = []

    def __bool__(self) -> bool:
        return bool(self._found or self._of_arguments)

    def add_argument(self, index: int, value: Any) -> None:
        """Note an argument that is a constant. An equal one may have other attributes."""
        if not isinstance(value, _PLAIN):
            self._arguments[index] = value

    def add_object(self, value: Any) -> None:
        """Note an object that the function belongs to."""
        self._add(id(value), lambda: value, value, False)

    def add_function(self, function: types.FunctionType, *, is_traced: bool) -> None:
        """Note what a function may read by global names, from closures, and from its defaults;
        `is_traced` says that it sees arrays as values of the trace.
        """
        if id(function) in self._functions or is_library(function.__module__):
            return
        self._functions[id(function)] = function
        code, names = function.__code__, function.__globals__
        own = names_of(code)
        self._names |= own
        for name in sorted(own & names.keys()):
            read = functools.partial(names.get, name, MISSING)
            self._add((id(names), name), read, names[name], is_traced)
        for cell in function.__closure__ or ():
            value = content_of(cell)
            if value is not cell:
                self._add(id(cell), functools.partial(content_of, cell), value, is_traced)
        for name in ("__defaults__", "__kwdefaults__"):
            value = getattr(function, name)
            if value:
                read = functools.partial(getattr, function, name)
                self._add((id(function), name), read, value, False)

    def _add(self, key: Any, read: Callable[[], Any], value: Any, is_traced: bool) -> None:
        if not (isinstance(value, types.ModuleType) and is_library(value.__name__)):
            is_read_by_kernels = is_traced and type(value) is self._array_type
            self._roots.setdefault(key, (read, value, is_read_by_kernels))

    def look(self) -> None:
        """Look at everything that was noted, as it is before the function is executed."""
        size = -1
        while size != len(self._names) + len(self._roots):
            size = len(self._names) + len(self._roots)
            self._seen = {}
            self._found = [
                (read, _shaped(value) if by_kernels else self._look(value))
                for read, value, by_kernels in list(self._roots.values())
            ]
            looked = [(index, self._look(value)) for index, value in self._arguments.items()]
            self._of_arguments = [(index, seen) for index, seen in looked if seen.parts]

    def _look(self, value: Any) -> _Seen:
        if isinstance(value, _PLAIN):
            return _Seen(value)
        known = self._seen.get(id(value))
        if known is not None:
            return known
        found = self._seen[id(value)] = _Seen(value)
        if is_array(value):
            found.parts += _shaped(value).parts
            if (
                isinstance(value, np.ndarray)
                and value.nbytes <= _MOST_BYTES
                and not value.dtype.hasobject
            ):
                found.parts.append((np.ndarray.tobytes, _Equal(value.tobytes())))
            return found
        if isinstance(value, _CONTAINERS):
            found.parts.append((tuple, self._items(tuple(value))))
        if isinstance(value, dict):
            found.parts.append((_values, self._items(_values(value))))
        for function in _functions_in(value):
            self.add_function(function, is_traced=False)
        if isinstance(value, functools.partial):
            for name in ("func", "args", "keywords"):
                read = operator.attrgetter(name)
                found.parts.append((read, self._look(read(value))))
        elif not isinstance(value, types.FunctionType):
            found.parts += self._attributes(value)
        return found

    def _items(self, items: tuple[Any, ...]) -> _Seen:
        found = _Items(items)
        found.parts += [
            (operator.itemgetter(k), self._look(item))
            for k, item in enumerate(items)
            if not isinstance(item, _PLAIN)
        ]
        return found

    def _attributes(self, value: Any) -> Iterator[tuple[Reader, _Seen]]:
        """What the names in the code stand for as attributes of a value."""
        if isinstance(value, types.ModuleType) and is_library(value.__name__):
            return
        for kind in _kinds_of(value):
            for name, item in list(vars(kind).items()):
                is_called = name.startswith("__") and (
                    isinstance(value, type) or name not in _EARLY
                )
                if is_called and isinstance(item, types.FunctionType):
                    self.add_function(item, is_traced=False)  # by operators
        names = {name for name in self._names if not name.startswith("__")}
        own = getattr(value, "__dict__", None)
        if isinstance(own, dict) and _BY_ANY_NAME & self._names:
            names |= {name for name in own if isinstance(name, str)}
        for name in sorted(names):
            read = _Attribute(name)
            item = read(value)
            if item is not MISSING:
                yield read, self._look(item)

    @property
    def plain_globals(self) -> list[tuple[dict[str, Any], str, Any]] | None:
        """The globals that were read, if comparing them is all there is to do; else None."""
        if self._of_arguments or any(seen.parts for _, seen in self._found):
            return None
        found = []
        for read, seen in self._found:
            if not isinstance(read, functools.partial) or len(read.args) != 2:
                return None
            found.append((read.func.__self__, read.args[0], seen.value))  # type: ignore[attr-defined]
        return found

    def is_same(self, arguments: Sequence[Any] | None = None) -> bool:
        """Whether a call with such arguments would see the same; without them, whether any call
        could.
        """
        for read, seen in self._found:
            if not seen.holds(read()):
                return False
        return arguments is None or all(
            seen.parts_hold(arguments[index]) for index, seen in self._of_arguments
        )


class _Attribute:
    """Reads an attribute without executing anything."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, value: Any) -> Any:
        name = self._name
        own = getattr(value, "__dict__", None)
        if own is not None and name in own:
            return own[name]
        for kind in _kinds_of(value):
            found = vars(kind).get(name, MISSING)
            if isinstance(found, types.MemberDescriptorType):  # of '__slots__'
                try:
                    return found.__get__(value)
                except AttributeError:
                    return MISSING
            if found is not MISSING:
                return found
        return MISSING


def _kinds_of(value: Any) -> list[type]:
    """The classes of the user's that a value has its attributes from."""
    kinds = value.__mro__ if isinstance(value, type) else type(value).__mro__
    return [kind for kind in kinds if not is_library(kind.__module__)]


def _functions_in(value: Any) -> Iterator[types.FunctionType]:
    """The functions that reading or calling a value executes."""
    candidates = [value, getattr(value, "__func__", None), getattr(value, "__wrapped__", None)]
    if isinstance(value, property):
        candidates.append(value.fget)
    if isinstance(value, functools.cached_property | functools.partial):
        candidates.append(value.func)
    for candidate in candidates:
        if isinstance(candidate, types.FunctionType):
            yield candidate


def _shaped(array: Any) -> _Seen:
    """An array whose elements are read at each call."""
    found = _Seen(array)
    found.parts.append((_shape_of, _Equal(_shape_of(array))))
    return found


def _shape_of(array: Any) -> Any:
    return tuple(array.shape), str(array.dtype)


def _values(value: dict[Any, Any]) -> tuple[Any, ...]:
    return tuple(value.values())
