"""What a traced function reads from outside: globals, variables of outer functions, attributes of
objects, and items of containers. All of that is constant while the function is traced; a call that
finds something else there is another trace.

Attributes are looked for by the names in the code of the functions, and of the methods that these
names stand for. Of the modules of NumPy, CuPy and the standard library, what these names stand for
in them is known by its identity.
"""

from __future__ import annotations

import abc
import array
import builtins
import collections
import contextlib
import contextvars
import ctypes
import decimal
import functools
import io
import itertools
import mmap
import operator
import os
import queue
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kerneltk.fusion.trace.code import imported, loaded_globals, names_of
from kerneltk.fusion.trace.watched import (
    MISSING,
    Asked,
    Class,
    Classes,
    Equal,
    Function,
    Items,
    Names,
    Never,
    Plain,
    PlainItems,
    Reader,
    Seen,
    is_plain,
    is_special,
)

_NAMESPACES = ("numpy", "random", "numpy.random")  # which stand for themselves in a trace
# What has no part in what an instance does, but where others are made by its class.
_EARLY = frozenset(("__init__", "__new__", "__post_init__", "__setstate__"))
_OF_INSTANCE = frozenset(("type", "__class__"))
_SHOWING = frozenset(("ascii", "format", "print", "repr", "str"))
# Elements that the function itself reads, and not its kernels, are constants of the trace.
_MOST_BYTES = 1 << 16


def is_library(module: str | None) -> bool:
    """Whether a module is one whose functions are called as they are."""
    # Classes may have anything of this name, and objects that stand for modules' attributes, too.
    root = module.partition(".")[0] if isinstance(module, str) else ""
    if root in ("numpy", "cupy", "cupyx", "scipy", "kerneltk"):
        return True
    return root in sys.stdlib_module_names and not _is_shadowed(root)


def _is_shadowed(root: str) -> bool:
    """Whether a module of the user's has the name of one of the standard library."""
    known = _SHADOWED.get(root)
    if known is None:
        path = getattr(sys.modules.get(root), "__file__", None)
        if path is None:
            return False
        folder = os.path.dirname(os.path.abspath(path))
        own = not folder.startswith(_STANDARD) or "site-packages" in folder
        known = _SHADOWED[root] = own
    return known


_SHADOWED: dict[str, bool] = {}
_STANDARD = os.path.dirname(os.path.abspath(os.__file__))


def is_library_function(function: types.FunctionType) -> bool:
    """Whether a function is one of a library's, which one that was wrapped by its names is not."""
    home = function.__globals__.get("__name__")
    return is_library(home) and is_library(function.__module__)


def is_array(value: Any) -> bool:
    """Whether a value from outside of the trace is an array."""
    return isinstance(value, np.ndarray) or (
        not isinstance(value, np.generic | type)
        and all(
            attribute_of(value, name, MISSING) is not MISSING
            for name in ("dtype", "strides", "shape")
        )
    )


def content_of(cell: types.CellType) -> Any:
    """What a closure's variable stands for; the cell itself while it is not assigned."""
    try:
        return cell.cell_contents
    except ValueError:
        return cell


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


_MOST_READS = 5_000  # of values and attributes: a trace takes no longer than to ask for as many
_ITEMS_A_READ = 16  # numbers that are compared in the time of an attribute
_BYTES_A_READ = 1 << 12
_NOT_WATCHED: weakref.WeakSet[types.FunctionType] = weakref.WeakSet()  # they read too much


def watch_again(function: Any) -> None:
    """Look again at what a function reads, also if that was too much before."""
    function = getattr(function, "__func__", function)
    if isinstance(function, types.FunctionType):
        _NOT_WATCHED.discard(function)


class Outside:
    """What one trace sees from outside.

    Parameters
    ----------
    array_type : type
        Of the arrays that kernels read; a name that stands for one is no constant.
    """

    def __init__(self, array_type: type) -> None:
        self._array_type = array_type
        self._names: set[str] = set(_ALWAYS)
        self._untraced: set[str] = set()  # of functions that see NumPy as it is
        self._is_by_any_name = False  # whether attributes are read whose names are no constants
        self._functions: dict[int, types.FunctionType] = {}
        self._traced: set[int] = set()  # functions that see arrays as values of the trace
        self._classes: set[int] = set()  # that are found as such, and may be called
        self._roots: dict[Any, tuple[Callable[[], Any], bool]] = {}
        self._arguments: dict[int, Any] = {}
        self._seen: dict[Any, Seen] = {}
        self._held: list[Any] = []
        self._found: list[tuple[Callable[[], Any], Seen]] = []
        self._of_arguments: list[tuple[int, Seen]] = []
        self._count = 0  # of values and attributes that were read
        self._is_too_much = False

    def __bool__(self) -> bool:
        return bool(self._is_too_much or self._found or self._of_arguments)

    def add_argument(self, index: int, value: Any) -> None:
        """Note an argument that is a constant. An equal one may have other attributes."""
        if not is_plain(value):
            self._arguments[index] = value

    def add_object(self, value: Any) -> None:
        """Note an object that the function belongs to."""
        self._roots.setdefault(id(value), (lambda: value, False))

    def add_function(self, function: types.FunctionType, *, is_traced: bool) -> None:
        """Note what a function may read by global names; `is_traced` says that it sees arrays as
        values of the trace.
        """
        if is_traced:
            self._traced.add(id(function))
        if id(function) in self._functions or is_library_function(function):
            return
        self._functions[id(function)] = function
        code, names = function.__code__, function.__globals__
        own = names_of(code)
        self._names |= own
        if not is_traced:
            self._untraced |= own
        known = {name: names[name] for name in own & names.keys()}
        if own & _BY_CALLER:
            self._roots.setdefault((id(function), "caller"), (_never, False))
        if own & _ANY_GLOBAL or any(value in _READ_GLOBALS for value in _callables(known)):
            known = {name: names[name] for name in names if name != "__builtins__"}
        for name in sorted(known):
            self._add_entry(names, name, is_traced)
        loaded = loaded_globals(code) - names.keys()
        for name in sorted(loaded):
            self._add_entry(names, name, False)
        for name in sorted(loaded & _BUILTINS.keys()):
            self._add_entry(_BUILTINS, name, False)
        for name in sorted(_modules_of(function)):
            self._add_entry(sys.modules, name, False)

    def _add_entry(self, names: Mapping[str, Any], name: str, is_traced: bool) -> None:
        self._roots.setdefault((id(names), name), (Entry(names, name), is_traced))

    def look(self) -> None:
        """Look at everything that was noted, as it is before the function is executed.

        Where that is too much, such as all that a large package consists of, nothing is watched,
        and no other call sees the same.
        """
        first = next(iter(self._functions.values()), None)
        # What the function itself has changed by now was something else before.
        if self._is_too_much or first in _NOT_WATCHED or not self.is_same():
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
            if isinstance(error, _TooMuchError):  # and not by where it was called
                _NOT_WATCHED.update(list(self._functions.values())[:1])
            self.close()

    def close(self) -> None:
        """Forget what is needed while the function is traced alone."""
        self._roots, self._arguments, self._functions = {}, {}, {}
        self._seen, self._held = {}, []
        if self._is_too_much:
            self._found, self._of_arguments = [], []

    def _look_at_roots(self) -> None:
        size: Any = None
        while size != (size := self._size()):
            self._seen, self._held, self._count = {}, [], 0
            self._found = [
                (read, self._read(read(), is_traced))
                for read, is_traced in list(self._roots.values())
            ]
            looked = [(index, self._look(value)) for index, value in self._arguments.items()]
            self._of_arguments = [(index, seen) for index, seen in looked if not seen.is_whole]
            for number in self._traced - self._seen.keys():  # which no name stands for
                function = self._functions.get(number)
                if function is not None:
                    self._roots.setdefault(number, (functools.partial(_itself, function), False))

    def _size(self) -> Any:
        return len(self._names), len(self._roots), len(self._classes), self._is_by_any_name

    def _read(self, value: Any, is_traced: bool) -> Seen:
        """A variable of a function; kernels read its elements, if it is an array of theirs."""
        if is_traced and type(value) is self._array_type:
            found = Seen(value)
            found.parts.append(_shape_seen(value))
            return found
        return self._look(value)

    def add_entry(self, module: types.ModuleType, name: str) -> None:
        """Note what the function has asked a module for."""
        names = vars(module)
        key = id(names), name
        if key not in self._roots and name in names:
            self._add_entry(names, name, False)
            if not self._is_too_much:
                with self._giving_up():
                    self._found.append((self._roots[key][0], self._look(names[name])))

    def _count_more(self, count: int) -> None:
        self._count += count
        if self._count > _MOST_READS:
            raise _TooMuchError

    def _add_module(self, module: types.ModuleType) -> None:
        """Note what the names in the code stand for in a library's module."""
        names = vars(module)
        home = module.__name__
        is_seen = home in _NAMESPACES or home.startswith("cupy")  # as `add_entry` notes it
        for name in sorted((self._untraced if is_seen else self._names) & names.keys()):
            if not name.startswith("__"):
                self._add_entry(names, name, False)

    # -- values --------------------------------------------------------------------------------

    def _look(self, value: Any) -> Seen:
        if is_plain(value):
            return Plain(value)
        known = self._seen.get(id(value))
        if known is not None:
            return known
        self._count_more(1)
        kind = type(value)
        if value is MISSING or _is_opaque(value):
            if kind is types.BuiltinFunctionType and value in _READ_ANY:
                self._is_by_any_name = True
            return Seen(value)
        if _is_changing(value):
            return Never()
        self._held.append(value)  # no other object may be found at its address
        if isinstance(value, types.FunctionType):
            return self._look_at_function(value)
        known_kinds = [_CONTENTS[base] for base in kind.__mro__ if base in _CONTENTS]
        found = self._seen[id(value)] = Seen(value, is_kept=not known_kinds)
        if is_array(value):
            found.parts.append(_shape_seen(value))
            if (
                isinstance(value, np.ndarray)
                and value.nbytes <= _MOST_BYTES
                and not value.dtype.hasobject
            ):
                self._add_bytes(found, np.ndarray.tobytes, value)
            return found
        if isinstance(value, types.ModuleType) and is_library(value.__name__):
            self._add_module(value)
            return found
        if value is decimal.Decimal:
            _add_state(self, found, _context, value)
        for content in itertools.chain(*known_kinds):
            content.add(self, found, content.read, value)
        self._add_attributes(found, value)
        return found

    def _add_content(self, found: Seen, read: Reader, value: Any) -> None:
        found.parts.append((read, self._look(read(value))))

    def _add_items(self, found: Seen, read: Reader, value: Any) -> None:
        found.parts.append((read, self._items(read(value))))

    def _add_bytes(self, found: Seen, read: Reader, value: Any) -> None:
        content = read(value)
        if len(content) <= _MOST_BYTES:
            self._count_more(len(content) // _BYTES_A_READ)
            found.parts.append((read, Equal(content)))

    def _items(self, items: tuple[Any, ...]) -> Seen:
        if all(map(is_plain, items)):
            self._count_more(len(items) // _ITEMS_A_READ)
            return PlainItems(items)
        self._count_more(len(items))
        return Items([self._look(item) for item in items])

    def _look_at_function(self, value: types.FunctionType) -> Seen:
        self.add_function(value, is_traced=False)
        found = self._seen[id(value)] = Function(value)
        if value is os.getenv:
            self._add_content(found, _environment, value)
        is_traced = id(value) in self._traced
        for k, cell in enumerate(value.__closure__ or ()):
            content = content_of(cell)
            seen = Seen(cell) if content is cell else self._read(content, is_traced)
            found.parts.append((functools.partial(_closed, k), seen))
        if is_library_function(value):
            return found  # but for what it was made with, such as functions of the user's
        if value.__defaults__:
            self._add_items(found, operator.attrgetter("__defaults__"), value)
        if value.__kwdefaults__:
            self._add_items(found, _keyword_defaults, value)
        for name in sorted(_FUNCTIONS_OWN & self._names):
            read = operator.attrgetter(name)
            seen = Never() if name == "__globals__" else self._look(read(value))
            found.parts.append((read, seen))
        if value.__dict__ or self._is_any:
            found.parts.append((_own_names, self._own(value)))
        return found

    def _add_attributes(self, found: Seen, value: Any) -> None:
        """What the names in the code stand for as attributes of a value."""
        kind = type(value)
        is_class = issubclass(kind, type)
        if is_class and _kinds_of(value):
            self._classes.update(map(id, _kinds_of(value)))
            found.parts.append((_itself, self._class_and_bases(value)))
            for name in sorted(_CLASSES_OWN & self._names):
                read = type.__dict__[name].__get__
                found.parts.append((read, self._look(read(value))))
        if _kinds_of(kind):
            found.parts.append((type, self._class_and_bases(kind)))
        if is_class:
            return
        own = _own_names(value)
        if isinstance(own, dict):
            found.parts.append((_own_names, self._own(value)))
        is_any = self._is_any or _is_read_by_libraries(value)
        for base in kind.__mro__:
            for name, slot in list(vars(base).items()):
                if not is_any and name not in self._names:
                    continue
                is_slot = isinstance(slot, types.MemberDescriptorType)
                if is_slot or (isinstance(slot, types.GetSetDescriptorType) and _is_c(base)):
                    read = functools.partial(_slot, slot)
                    inner = read(value)
                    if is_plain(inner) or inner is read(value):  # and not made each time
                        found.parts.append((read, self._look(inner)))

    @property
    def _is_any(self) -> bool:
        """Whether attributes are read whose names no code has as such."""
        return self._is_by_any_name or not _BY_ANY_NAME.isdisjoint(self._names)

    def _own(self, value: Any) -> Names:
        """What an object itself has by the names in the code."""
        own = _own_names(value)
        names = self._names
        is_any = self._is_any or _is_read_by_libraries(value)
        known = [name for name in own if isinstance(name, str) and (is_any or name in names)]
        self._count_more(len(known) + len(names) // _ITEMS_A_READ)
        parts = {name: self._look(own[name]) for name in sorted(known)}
        return Names(parts, names - own.keys(), tuple(own) if is_any else None)

    def _class_and_bases(self, kind: type) -> Seen:
        key = kind, "bases"
        known = self._seen.get(key)
        if known is None:
            classes = [(base, self._class(base)) for base in _kinds_of(kind)]
            known = self._seen[key] = Classes(kind, classes)
        return known

    def _class(self, kind: type) -> Class:
        key = kind, "class"
        known = self._seen.get(key)
        if isinstance(known, Class):
            return known
        found = self._seen[key] = Class(kind)
        own = dict(vars(kind))
        is_made = id(kind) in self._classes or not _OF_INSTANCE.isdisjoint(self._names)
        is_shown = not _SHOWING.isdisjoint(self._names)
        is_any = self._is_any
        parts: dict[str, Seen] = {}
        for name, item in own.items():
            if is_special(name, item):
                is_read = is_shown if name == "__repr__" else is_made or name not in _EARLY
                if name in self._names or is_read:
                    parts[name] = self._look(item)
            elif name in self._names or (is_any and not name.startswith("__")):
                parts[name] = self._look(item)
        self._count_more(len(parts))
        found.set_entries(Names(parts, self._names - own.keys(), tuple(own) if is_any else None))
        return found

    # -- calls ---------------------------------------------------------------------------------

    @property
    def plain_tests(self) -> list[tuple[Entry | CodeOf, Any]] | None:
        """What was read, and the value of each, if asking for identities is all there is to do;
        else None.
        """
        if self._is_too_much or self._of_arguments:
            return None
        found: list[tuple[Entry | CodeOf, Any]] = []
        for read, seen in self._found:
            value = seen.value
            code = seen.only_code if isinstance(seen, Function) else None
            if code is not None and value is not None:
                found.append((CodeOf(value), code))
            elif not seen.is_whole or not isinstance(read, Entry):
                return None
            if isinstance(read, Entry):
                found.append((read, value))
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
            if (id(found) != seen.identity or seen.parts) and not seen.holds(found, asked):
                return False
        return arguments is None or all(
            seen.parts_hold(arguments[index], asked) for index, seen in self._of_arguments
        )


def _shape_seen(value: Any) -> tuple[Reader, Seen]:
    """An array whose elements are read at each call."""
    return _shape_of, Equal(_shape_of(value))


def _shape_of(array: Any) -> Any:
    return tuple(array.shape), array.dtype


def _itself(value: Any, *_: Any) -> Any:
    return value


def _never() -> Any:
    return object()


def _closed(k: int, function: types.FunctionType) -> Any:
    cells = function.__closure__
    assert cells is not None
    return content_of(cells[k])


def _slot(slot: Any, value: Any) -> Any:
    """An attribute that C keeps; what has no value now is missing."""
    try:
        return slot.__get__(value)
    except (AttributeError, ValueError):
        return MISSING


def _is_c(kind: type) -> bool:
    """Whether a class is the standard library's, whose attributes execute nothing of the user's."""
    root = kind.__module__.partition(".")[0] if isinstance(kind.__module__, str) else ""
    return root in sys.stdlib_module_names and kind is not object


def _callables(known: dict[str, Any]) -> Iterator[Any]:
    return (value for value in known.values() if isinstance(value, types.BuiltinFunctionType))


def _modules_of(function: types.FunctionType) -> set[str]:
    """The modules that a function may import, also by names that are relative to its package."""
    names = imported(function.__code__)
    if not names:
        return set()
    found = set(names)
    for name in names:
        parts = name.split(".")
        found.update(".".join(parts[:k]) for k in range(1, len(parts)))
    package = function.__globals__.get("__package__")
    while isinstance(package, str) and package:
        found.update(n for n in (package, *(f"{package}.{n}" for n in names)) if n in sys.modules)
        package = package.rpartition(".")[0]
    return found


def _is_read_by_libraries(value: Any) -> bool:
    """Whether methods that are executed as they are read what an object has: containers in Python,
    members of enumerations, the environment.
    """
    return not isinstance(value, type | types.ModuleType | types.FunctionType) and any(
        kind.__module__ in _READERS or str(kind.__module__).startswith(("numpy.", "scipy."))
        for kind in type(value).__mro__
    )


_READERS = ("argparse", "collections", "collections.abc", "configparser", "enum", "fractions",
            "numpy", "os", "queue", "string")  # fmt: skip


def attribute_of(value: Any, name: str, default: Any = None) -> Any:
    """An attribute that every object of its kind has, without executing anything of the user's."""
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return default


def _own_names(value: Any) -> Any:
    """An object's own attributes; None for one that has no names for them."""
    return attribute_of(value, "__dict__")


def _kinds_of(kind: type) -> list[type]:
    """The classes of the user's that a class has its attributes from."""
    return [base for base in kind.__mro__ if not is_library(base.__module__)]


# -- kinds of objects ------------------------------------------------------------------------


def _values(value: Mapping[Any, Any]) -> tuple[Any, ...]:
    return tuple(value.values())


def _keyword_defaults(function: types.FunctionType) -> tuple[Any, ...]:
    keywords: dict[str, Any] = function.__kwdefaults__ or {}
    return (*keywords, *keywords.values())


def _entries(view: Any) -> tuple[Any, ...]:
    """What a view of a dictionary may show."""
    return (*view.mapping, *view.mapping.values())


def _referent(proxy: Any) -> Any:
    """What a weak proxy stands for, by a method that every object has."""
    try:
        return proxy.__repr__.__self__
    except ReferenceError:
        return MISSING


def _is_opaque(value: Any) -> bool:
    """Whether nothing is asked of an object but which it is: code, NumPy's functions, and
    functions of C's that belong to no object.
    """
    kind = type(value)
    if kind is np.ufunc:
        return not _is_of_objects(value)
    if kind is types.BuiltinFunctionType:
        return isinstance(value.__self__, types.ModuleType | types.NoneType)
    return kind in (type(np.sum), types.CodeType)


def _is_of_objects(ufunc: np.ufunc) -> bool:
    """Whether a ufunc calls a function of Python's, which nobody tells."""
    return all(kind.strip("O") == "->" for kind in ufunc.types)


def _is_changing(value: Any) -> bool:
    """Whether an object is another thing after it was read, or tells nobody what it is."""
    kind = type(value)
    if kind is np.ufunc:
        return _is_of_objects(value)
    if kind.__module__ in _OF_C or issubclass(kind, io.StringIO | io.BytesIO | ctypes._Pointer):
        return True
    is_iterator = issubclass(kind, _ITERATORS) and not issubclass(kind, io.IOBase)
    return is_iterator and not _kinds_of(kind)


def _environment(_: Any) -> Any:
    return os.environ


def _registrations(_: Any) -> Any:
    """How often classes were registered as others' subclasses."""
    return abc.get_cache_token()


def _context(_: Any) -> Any:
    """What Python's decimal numbers are computed by."""
    own = decimal.getcontext()
    return own.prec, own.rounding, own.Emin, own.Emax, own.capitals, own.clamp


def _made_of(getter: Any) -> tuple[Any, ...]:
    """What an object of `operator` was made of: names, keys and arguments."""
    maker, parts = getter.__reduce__()
    if isinstance(maker, functools.partial):  # with keywords
        return (*maker.args, *maker.keywords, *maker.keywords.values(), *parts)
    return tuple(parts)


class _Content(NamedTuple):
    """What is read of the objects of a kind."""

    add: Callable[[Outside, Seen, Reader, Any], None]
    read: Reader


def _add_names(outside: Outside, found: Seen, read: Reader, value: Any) -> None:
    """Note what an object of `operator` asks others for."""
    for part in read(value):
        if isinstance(part, str):
            outside._names.update(part.split("."))
    outside._add_items(found, read, value)


def _add_state(outside: Outside, found: Seen, read: Reader, value: Any) -> None:
    found.parts.append((read, Equal(read(value))))


_BUILTINS = vars(builtins)
# What reads attributes, or globals, whose names are no constants of the code.
_BY_ANY_NAME = frozenset(("getattr", "vars", "__dict__", "asdict", "attrgetter"))
_READ_ANY = frozenset((getattr, hasattr, vars, dir))
_ANY_GLOBAL = frozenset(("globals", "eval", "exec"))
_READ_GLOBALS = frozenset((globals, eval, exec))
_BY_CALLER = frozenset(("_getframe", "currentframe", "f_globals", "import_module", "__import__"))
_ALWAYS = ("__wrapped__", "__getattr__")  # without being named
_FUNCTIONS_OWN = frozenset(
    ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__", "__globals__")
)
_CLASSES_OWN = frozenset(("__name__", "__qualname__"))
# Iterators move on as they are read, but files; nobody tells where they are.
_ITERATORS = (collections.abc.Iterator, queue.SimpleQueue)
_OF_C = ("xml.etree.ElementTree", "_hashlib")  # objects of these tell nobody what they hold

_items = (_Content(Outside._add_items, tuple),)
_mapping = (*_items, _Content(Outside._add_items, _values))
_view = (_Content(Outside._add_items, _entries),)
_buffer = (_Content(Outside._add_bytes, bytes),)
_getter = (_Content(_add_names, _made_of),)
_decimal = (_Content(_add_state, _context),)


def _content(*readers: Reader) -> tuple[_Content, ...]:
    return tuple(_Content(Outside._add_content, read) for read in readers)


def _attributes(*names: str) -> tuple[_Content, ...]:
    return _content(*map(operator.attrgetter, names))


# What the kinds of objects consist of whose attributes do not tell it.
_CONTENTS: dict[type, tuple[_Content, ...]] = {
    list: _items, tuple: _items, set: _items, frozenset: _items, collections.deque: _items,
    dict: _mapping, types.MappingProxyType: _mapping,
    **dict.fromkeys(map(type, ({}.keys(), {}.values(), {}.items())), _view),
    **dict.fromkeys(
        (bytearray, array.array, memoryview, mmap.mmap, ctypes._SimpleCData, ctypes.Structure,
         ctypes.Union, ctypes.Array), _buffer),
    np.void: (_Content(Outside._add_bytes, np.void.tobytes),),
    operator.attrgetter: _getter, operator.itemgetter: _getter, operator.methodcaller: _getter,
    functools.partial: _attributes("func", "args", "keywords"),
    functools.partialmethod: _attributes("func", "args", "keywords"),
    functools.cached_property: _attributes("func"),
    property: _attributes("fget"),
    staticmethod: _attributes("__func__"), classmethod: _attributes("__func__"),
    types.MethodType: _attributes("__func__", "__self__"),
    types.BuiltinMethodType: _attributes("__self__"),
    types.CellType: _content(content_of),
    types.SimpleNamespace: (),
    decimal.Decimal: _decimal,
    abc.ABCMeta: (_Content(_add_state, _registrations),),
    weakref.ref: _content(lambda value: value()),
    contextvars.ContextVar: _content(lambda value: value.get(MISSING)),
    threading.local: _content(lambda value: value.__dict__),
    weakref.ProxyType: _content(_referent),
    weakref.CallableProxyType: _content(_referent),
}  # fmt: skip
