"""What a traced function reads from outside: globals, variables of outer functions, attributes of
objects, and items of containers. All of that is constant while the function is traced; a call that
finds something else there is another trace.

Attributes are looked for by the names in the code of the functions, and of the methods that these
names stand for. Of the modules of NumPy, CuPy and the standard library, what these names stand for
in them is known by its identity.
"""

from __future__ import annotations

import array
import builtins
import collections
import contextlib
import contextvars
import ctypes
import functools
import itertools
import opcode
import operator
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

MISSING = object()
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic)
_CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque, types.MappingProxyType)
# Objects of which nothing is asked but what they are; the last two are NumPy's functions.
_WHOLE = (np.generic, types.BuiltinFunctionType, np.ufunc, type(np.sum))
_NAMESPACES = ("numpy", "cupy", "cupyx", "random")  # which stand for themselves in a trace
_BUFFERS = (bytearray, array.array, memoryview, ctypes._SimpleCData, ctypes.Structure, ctypes.Array)
_BY_ANY_NAME = frozenset(("getattr", "vars", "__dict__", "asdict", "attrgetter"))
_ANY_GLOBAL = frozenset(("globals", "eval", "exec", "locals"))
_IMPORT = opcode.opmap["IMPORT_NAME"]
_EARLY = frozenset(("__init__", "__new__", "__post_init__", "__repr__", "__setstate__"))
# Elements that the function itself reads, and not its kernels, are constants of the trace.
_MOST_BYTES = 1 << 16

Reader = Callable[[Any], Any]
Asked: TypeAlias = set[tuple[int, int]]
"""Which objects were compared with what a trace has seen, by identity: some lead to themselves."""


def is_library(module: str | None) -> bool:
    """Whether a module is one whose functions are called as they are."""
    # Classes may have anything of this name, and objects that stand for modules' attributes, too.
    root = module.partition(".")[0] if isinstance(module, str) else ""
    return root in ("numpy", "cupy", "cupyx", "scipy", "kerneltk") or root in (
        sys.stdlib_module_names
    )


def is_array(value: Any) -> bool:
    """Whether a value from outside of the trace is an array."""
    return isinstance(value, np.ndarray) or (
        not isinstance(value, np.generic | type)
        and all(
            attribute_of(value, name, MISSING) is not MISSING
            for name in ("dtype", "strides", "shape")
        )
    )


def names_of(code: types.CodeType) -> set[str]:
    """The names that a function, and those within it, may read: globals and attributes."""
    found = set(code.co_names)
    for item in code.co_consts:
        if isinstance(item, types.CodeType):
            found |= names_of(item)
    return found


def loaded_globals(code: types.CodeType) -> set[str]:
    """The names that a function, and those within it, read as globals or built-in functions."""
    found: set[str] = set()
    for item in code.co_consts:
        if isinstance(item, types.CodeType):
            found |= loaded_globals(item)
    instructions, names = code.co_code, code.co_names
    argument = 0
    for kind, low in zip(instructions[::2], instructions[1::2], strict=True):
        argument = argument << 8 | low
        if kind == _EXTENDED:
            continue
        shift = _LOADS.get(kind)
        if shift is not None:
            found.add(names[argument >> shift])
        argument = 0
    return found


_EXTENDED = opcode.opmap["EXTENDED_ARG"]
# Instructions that read globals, and how far above the lowest bits they have the name's number.
_LOADS = {
    opcode.opmap[name]: shift
    for name, shift in (("LOAD_GLOBAL", 1), ("LOAD_NAME", 0), ("LOAD_FROM_DICT_OR_GLOBALS", 0))
    if name in opcode.opmap
}


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

    def holds(self, found: Any, asked: Asked) -> bool:
        """Whether the trace would see the same in another value."""
        return _is_same(found, self.value) and self.parts_hold(found, asked)

    def parts_hold(self, found: Any, asked: Asked) -> bool:
        """Whether the trace would see the same in what it has read of a value."""
        if not self.parts:
            return True
        key = id(self), id(found)
        if key in asked:
            return True
        asked.add(key)
        for read, part in self.parts:
            inner = read(found)
            # Most are the same objects, and nothing was read of them.
            if (inner is not part.value or part.parts) and not part.holds(inner, asked):
                return False
        return True


class _Items(_Seen):
    """The items of a container, in their order."""

    __slots__ = ()

    def holds(self, found: Any, asked: Asked) -> bool:
        """Whether all items are the same."""
        if len(found) != len(self.value):
            return False
        if not all(map(operator.is_, found, self.value)) and not all(
            map(_is_same, found, self.value)
        ):
            return False
        # Not by `parts_hold`: the items' tuple is made for this question alone.
        return all(part.holds(read(found), asked) for read, part in self.parts)


class _Equal(_Seen):
    """What is compared by ``==``."""

    __slots__ = ()

    def holds(self, found: Any, asked: Asked) -> bool:
        """Whether it is equal."""
        return bool(found == self.value)


class _Absent(_Seen):
    """The names that an object has not, which a function may have asked for."""

    __slots__ = ()

    def holds(self, found: Any, asked: Asked) -> bool:
        """Whether it still has none of them."""
        own = _own_names(found)
        return (own is None or own.keys().isdisjoint(self.value)) and all(
            vars(kind).keys().isdisjoint(self.value) for kind in _kinds_of(found)
        )


class _Methods(_Seen):
    """A class by its special methods, which operators call without naming them."""

    __slots__ = ("content",)

    def __init__(self, kind: type) -> None:
        super().__init__(_special_methods(kind))
        self.content = tuple(vars(kind).values())  # which is asked for sooner

    def holds(self, found: Any, asked: Asked) -> bool:
        """Whether it has the same ones."""
        content = tuple(vars(found).values())
        if len(content) == len(self.content) and all(map(operator.is_, content, self.content)):
            return True
        special = _special_methods(found)
        if len(special) != len(self.value) or not all(map(operator.is_, special, self.value)):
            return False
        self.content = content
        return True


def _is_plain(value: Any) -> bool:
    """Whether there is nothing to be read of a value, as there may be of a subclass's."""
    return type(value) in _PLAIN or isinstance(value, np.generic)


def _is_same(found: Any, value: Any) -> bool:
    """Whether two values mean the same, but for what is within them."""
    if found is value:
        return True
    if type(found) is not type(value) or not isinstance(found, _PLAIN):
        return False
    if isinstance(value, str | bytes):
        return bool(found == value)
    # No number is equal to itself: by which object it is, containers tell it.
    return bool(constant_kind(found) == constant_kind(value)) and bool(value == value)


class Entry:
    """Reads an entry of a namespace: a global, or an attribute of a module."""

    __slots__ = ("name", "names")

    def __init__(self, names: Mapping[str, Any], name: str) -> None:
        self.names, self.name = names, name

    def __call__(self) -> Any:
        """What the name stands for."""
        return self.names.get(self.name, MISSING)


class CodeOf:
    """Reads a function's code, which tools replace that load changed modules again."""

    __slots__ = ("function",)

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function

    def __call__(self) -> Any:
        """The code."""
        return self.function.__code__


class _TooMuchError(Exception):
    """More values are read from outside than calls can ask for."""


_MOST_READS = 20_000  # of values and attributes: a trace takes no longer than to ask for as many
_NOT_WATCHED: weakref.WeakSet[types.FunctionType] = weakref.WeakSet()  # they read too much


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
        self._untraced: set[str] = set()  # of functions that see NumPy as it is
        self._functions: dict[int, types.FunctionType] = {}
        self._roots: dict[Any, tuple[Callable[[], Any], Any, bool]] = {}
        self._arguments: dict[int, Any] = {}
        self._seen: dict[int, _Seen] = {}
        self._found: list[tuple[Callable[[], Any], _Seen]] = []
        self._of_arguments: list[tuple[int, _Seen]] = []
        self._count = 0  # of values and attributes that were read
        self._is_too_much = False

    def __bool__(self) -> bool:
        return bool(self._is_too_much or self._found or self._of_arguments)

    def add_argument(self, index: int, value: Any) -> None:
        """Note an argument that is a constant. An equal one may have other attributes."""
        if not _is_plain(value):
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
        if not is_traced:
            self._untraced |= own
        self._add((id(function), "__code__"), CodeOf(function), code, False)
        # Of the function, and not of all that other packages may execute.
        is_any = is_traced and bool(_ANY_GLOBAL & own)
        found = names.keys() if is_any else own & names.keys()
        for name in sorted(found):
            self._add((id(names), name), Entry(names, name), names[name], is_traced)
        for name in sorted((loaded_globals(code) & _BUILTINS.keys()) - names.keys()):
            self._add((id(names), name), Entry(names, name), MISSING, False)
            self._add((id(_BUILTINS), name), Entry(_BUILTINS, name), _BUILTINS[name], False)
        for name in sorted(loaded_globals(code) - _BUILTINS.keys() - names.keys()):
            self._add((id(names), name), Entry(names, name), MISSING, False)
        for name in _imported(code) if is_traced else ():
            module = sys.modules.get(name, MISSING)
            self._add((id(sys.modules), name), Entry(sys.modules, name), module, False)
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
        is_read_by_kernels = is_traced and type(value) is self._array_type
        self._roots.setdefault(key, (read, value, is_read_by_kernels))

    def look(self) -> None:
        """Look at everything that was noted, as it is before the function is executed.

        Where that is too much, such as all that a large package consists of, nothing is watched,
        and no other call sees the same.
        """
        first = next(iter(self._functions.values()), None)
        if self._is_too_much or first in _NOT_WATCHED:
            self._is_too_much = True
            return
        with self._giving_up():
            self._look_at_roots()

    @contextlib.contextmanager
    def _giving_up(self) -> Iterator[None]:
        """Watch nothing where what is looked at is too much."""
        try:
            yield
        except (_TooMuchError, RecursionError) as error:
            self._is_too_much = True
            self._roots, self._seen, self._found, self._of_arguments = {}, {}, [], []
            if isinstance(error, _TooMuchError):  # and not by where it was called
                _NOT_WATCHED.update(itertools.islice(self._functions.values(), 1))

    def _look_at_roots(self) -> None:
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

    def add_entry(self, module: types.ModuleType, name: str) -> None:
        """Note what the function has asked a module for."""
        names = vars(module)
        key = id(names), name
        if key not in self._roots and name in names:
            value, read = names[name], Entry(names, name)
            self._add(key, read, value, False)
            if not self._is_too_much:
                with self._giving_up():
                    self._found.append((read, self._look(value)))

    def _count_more(self, count: int) -> None:
        self._count += count
        if self._count > _MOST_READS:
            raise _TooMuchError

    def _add_module(self, module: types.ModuleType) -> None:
        """Note what the names in the code stand for in a library's module."""
        names = vars(module)
        is_seen = module.__name__.partition(".")[0] in _NAMESPACES  # as `add_entry` notes it
        for name in sorted((self._untraced if is_seen else self._names) & names.keys()):
            if not name.startswith("__"):
                self._add((id(names), name), Entry(names, name), names[name], False)

    def _look(self, value: Any) -> _Seen:
        is_bound = isinstance(value, types.MethodType | types.BuiltinMethodType) and not isinstance(
            value.__self__, types.ModuleType | types.NoneType
        )
        if _is_plain(value) or (isinstance(value, _WHOLE) and not is_bound):
            return _Seen(value)
        known = self._seen.get(id(value))
        if known is not None:
            return known
        self._count_more(1)
        found = self._seen[id(value)] = _Seen(value)
        if is_bound:
            read = operator.attrgetter("__self__")
            found.parts.append((read, self._look(value.__self__)))
        if is_array(value):
            found.parts += _shaped(value).parts
            if (
                isinstance(value, np.ndarray)
                and value.nbytes <= _MOST_BYTES
                and not value.dtype.hasobject
            ):
                found.parts.append((np.ndarray.tobytes, _Equal(value.tobytes())))
            return found
        if isinstance(value, types.ModuleType) and is_library(value.__name__):
            self._add_module(value)
            return found
        if isinstance(value, _CONTAINERS):
            found.parts.append((tuple, self._items(tuple(value))))
        if isinstance(value, dict | types.MappingProxyType):
            found.parts.append((_values, self._items(_values(value))))
        if isinstance(value, _BUFFERS) and memoryview(value).nbytes <= _MOST_BYTES:
            found.parts.append((bytes, _Equal(bytes(value))))
        for function in _functions_in(value):
            self.add_function(function, is_traced=False)
        for content in map(_CONTENTS.get, type(value).__mro__):
            if content is None:
                continue
            found.parts.append((content, self._look(content(value))))
        if isinstance(value, functools.partial):
            for name in ("func", "args", "keywords"):
                read = operator.attrgetter(name)
                found.parts.append((read, self._look(read(value))))
        else:
            found.parts += self._attributes(value)
        return found

    def _items(self, items: tuple[Any, ...]) -> _Seen:
        found = _Items(items)
        found.parts += [
            (operator.itemgetter(k), self._look(item))
            for k, item in enumerate(items)
            if not _is_plain(item)
        ]
        return found

    def _attributes(self, value: Any) -> Iterator[tuple[Reader, _Seen]]:
        """What the names in the code stand for as attributes of a value."""
        kinds = _kinds_of(value)
        if kinds and not isinstance(value, type | types.ModuleType | types.FunctionType):
            yield type, _Seen(type(value))
        for kind in kinds:
            for name, item in list(vars(kind).items()):
                is_called = name.startswith("__") and (
                    isinstance(value, type) or name not in _EARLY
                )
                if is_called and isinstance(item, types.FunctionType):
                    self.add_function(item, is_traced=False)  # by operators
            yield functools.partial(_first, kind), _Methods(kind)
        names = {name for name in self._names if not name.startswith("__")}
        own = _own_names(value)
        is_any = bool(_BY_ANY_NAME & self._names) or _is_read_by_libraries(value)
        if isinstance(own, dict) and is_any:
            names |= {name for name in own if isinstance(name, str)}
        if _BY_ANY_NAME & self._names:
            names |= {n for kind in kinds for n in vars(kind) if not n.startswith("__")}
        self._count_more(len(names))
        absent = set()
        for name in sorted(names):
            read = _Attribute(name)
            item = read(value)
            if item is MISSING:
                absent.add(name)
            else:
                yield read, self._look(item)
        can_change = kinds or isinstance(own, dict)
        if absent and can_change and not isinstance(value, types.FunctionType):
            yield _itself, _Absent(absent)
        if "super" in self._names:  # by which a class has what it hides
            for kind in kinds:
                for name in sorted(names & vars(kind).keys()):
                    inherited = _Inherited(kind, name)
                    yield inherited, self._look(inherited(value))

    @property
    def plain_tests(self) -> list[tuple[Entry | CodeOf, Any]] | None:
        """What was read, and the value of each, if asking for identities is all there is to do;
        else None.
        """
        if self._is_too_much or self._of_arguments or any(s.parts for _, s in self._found):
            return None
        found = []
        for read, seen in self._found:
            if not isinstance(read, Entry | CodeOf):
                return None
            found.append((read, seen.value))
        return found

    def is_same(self, arguments: Sequence[Any] | None = None) -> bool:
        """Whether a call with such arguments would see the same; without them, whether any call
        could.
        """
        if self._is_too_much:
            return False
        asked: Asked = set()
        for read, seen in self._found:
            found = read()
            if (found is not seen.value or seen.parts) and not seen.holds(found, asked):
                return False
        return arguments is None or all(
            seen.parts_hold(arguments[index], asked) for index, seen in self._of_arguments
        )


class _Attribute:
    """Reads an attribute without executing anything."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, value: Any) -> Any:
        name = self._name
        own = _own_names(value)
        if own is not None and name in own:
            return own[name]
        for kind in _kinds_of(value):
            found = vars(kind).get(name, MISSING)
            is_slot = isinstance(found, types.MemberDescriptorType)
            if is_slot and kind in type(value).__mro__:  # of '__slots__'
                try:
                    return found.__get__(value)
                except AttributeError:
                    return MISSING
            if found is not MISSING:
                return found
        return MISSING


class _Inherited:
    """Reads what one of a value's classes has, whatever others have of that name."""

    def __init__(self, kind: type, name: str) -> None:
        self._kind, self._name = kind, name

    def __call__(self, value: Any) -> Any:
        return vars(self._kind).get(self._name, MISSING)


def _first(value: Any, _: Any) -> Any:
    return value


def _itself(value: Any) -> Any:
    return value


def _special_methods(kind: type) -> tuple[Any, ...]:
    """The special methods that a class defines, with their names."""
    pairs = list(vars(kind).items())
    return tuple(x for pair in pairs if _is_special(*pair) for x in pair)


def _is_special(name: str, item: Any) -> bool:
    return name.startswith("__") and (callable(item) or hasattr(item, "__get__"))


def _is_read_by_libraries(value: Any) -> bool:
    """Whether methods that are executed as they are read what an object has: containers in Python,
    members of enumerations, the environment.
    """
    return not isinstance(value, type | types.ModuleType | types.FunctionType) and any(
        kind.__module__ in _READERS for kind in type(value).__mro__
    )


_READERS = ("collections", "enum", "os")


def attribute_of(value: Any, name: str, default: Any = None) -> Any:
    """An attribute that every object of its kind has, without executing anything of the user's."""
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return default


def _own_names(value: Any) -> Any:
    """An object's own attributes; None for one that has no names for them."""
    return attribute_of(value, "__dict__")


def _kinds_of(value: Any) -> list[type]:
    """The classes of the user's that a value has its attributes from."""
    kinds: tuple[type, ...] = type(value).__mro__
    if isinstance(value, type):
        kinds = (*value.__mro__, *kinds)
    return [kind for kind in kinds if not is_library(kind.__module__)]


def _imported(code: types.CodeType) -> list[str]:
    """The modules that a function may import, by their whole names."""
    inner = [item for item in code.co_consts if isinstance(item, types.CodeType)]
    found = [name for item in inner for name in _imported(item)]
    return [*found, *code.co_names] if _IMPORT in code.co_code[::2] else found


def _referent(proxy: Any) -> Any:
    """What a weak proxy stands for, by a method that every object has."""
    try:
        return proxy.__repr__.__self__
    except ReferenceError:
        return MISSING


_BUILTINS = vars(builtins)
# What some objects of the standard library stand for, which none of their attributes tells.
_CONTENTS: dict[type, Reader] = {
    weakref.ref: lambda value: value(),
    contextvars.ContextVar: lambda value: value.get(MISSING),
    threading.local: lambda value: value.__dict__,
    weakref.ProxyType: _referent,
    weakref.CallableProxyType: _referent,
}


def _functions_in(value: Any) -> Iterator[types.FunctionType]:
    """The functions that reading or calling a value executes."""
    candidates = [value]
    if isinstance(value, types.MethodType | staticmethod | classmethod):
        candidates.append(value.__func__)
    own = _own_names(value)
    if isinstance(own, dict):
        candidates.append(own.get("__wrapped__"))
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


def _values(value: Mapping[Any, Any]) -> tuple[Any, ...]:
    return tuple(value.values())
