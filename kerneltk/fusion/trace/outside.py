"""What a traced function reads from outside by names, and its effects.

Each function of the user's that begins while a function is traced (`watching`) is looked at before
it is executed: the names in its code become guards (`reads`), and its code is gone through once
with the values from outside that are known: globals, closed-over variables, defaults, arguments
that are from outside, their attributes and items. An assignment to such a value is refused at its
line. Results of calls are unknown; containers are compared when the trace ends, and attributes of
the user's objects are watched. What lies deeper than the names is constant.

Branches are gone through one after the other, so a local variable is what was last assigned to it.
"""

from __future__ import annotations

import array
import bisect
import builtins
import collections
import collections.abc
import dis
import functools
import gc
import heapq
import inspect
import operator
import sys
import threading
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType, FunctionType, WrapperDescriptorType
from typing import Any, NamedTuple

import numpy as np

from kerneltk.core.records import lasting_lock
from kerneltk.errors import UnsupportedError
from kerneltk.fusion.trace.reads import MISSING, Name, Reads, entry_of, of_attribute, of_global
from kerneltk.fusion.trace.state import unsupported
from kerneltk.fusion.trace.symbols import Symbol
from kerneltk.fusion.trace.users import (
    attribute_of,
    is_array,
    is_library,
    is_own,
    is_value,
    location_of,
)


def content_of(cell: types.CellType) -> Any:
    """What a closure's variable stands for; the cell itself while it is not assigned."""
    try:
        return cell.cell_contents
    except ValueError:
        return cell


def _own_attributes(value: Any) -> Any:
    """An instance's attributes; those of this thread, where each has others."""
    return vars(value) if isinstance(value, threading.local) else attribute_of(value, "__dict__")


def _held(value: Any, name: str) -> tuple[Any, bool]:
    """An attribute of an instance, or what its class has by its name, and whether it is data: the
    attribute as it is.
    """
    entry = entry_of(type(value), name)
    own = _own_attributes(value)
    if isinstance(own, dict) and name in own and not hasattr(type(entry), "__set__"):
        return own[name], True
    if isinstance(entry, types.MemberDescriptorType):
        try:
            return entry.__get__(value), True
        except AttributeError:
            return MISSING, False
    return entry, entry is not MISSING and not hasattr(type(entry), "__get__")


_UNKNOWN = object()  # the value of what comes from outside all the same


class _Outer(NamedTuple):
    """A value from outside of the function, or a constant, as an attribute of another one."""

    value: Any = _UNKNOWN
    owner: Any = None
    name: str = ""


class _Items(NamedTuple):
    """A new object with items from outside."""

    item: Any


class Outside:
    """Finds what one trace reads from outside.

    Parameters
    ----------
    reads : Reads
        Takes the guards.
    is_traced : callable
        Whether an argument is an array or a number of the trace.
    as_number : callable
        Makes what stands for a number that each call reads.
    """

    def __init__(
        self,
        reads: Reads,
        is_traced: Callable[[Any], bool],
        as_number: Callable[[Symbol], Any],
    ) -> None:
        self._reads = reads
        self._is_traced = is_traced
        self._as_number = as_number
        self._is_replaced = False  # whether the function that is looked at has the trace's names
        self.arrays: list[Any] = []  # that were found
        self._home = ""
        self._arguments: dict[int, tuple[Any, str | None]] = {}  # objects, and how to read them
        self._found: dict[int, Any] = {}  # objects from outside
        self.watch = Watch(self.read_attribute, self._begun, {}, set())
        self._containers: list[tuple[Any, list[Any]]] = []  # with their items before
        self.originals: dict[int, Any] = {}  # by addresses of what stands for them in the trace
        self._is_executed = False
        self._functions: dict[types.CodeType, list[types.FunctionType]] = {}
        self._inner: dict[types.CodeType, tuple[set[str], dict[str, Any]]] = {}
        self._scanned: dict[Any, Any] = {}  # with what their keys are addresses of

    def look(self, function: Callable[..., Any], args: Sequence[Any]) -> None:
        """Take notice of a function and of the arguments of its call."""
        for k, value in enumerate(args):
            if not self._is_traced(value):
                self._note_argument(value, f"a{k}")
        self._note_argument(function, None)
        called: Any = function
        while isinstance(called, functools.partial):
            called = called.func
        called = attribute_of(called, "__func__", called)
        self._home = str(attribute_of(called, "__module__")).partition(".")[0]
        self._reads.keep(called)

    def _note_argument(self, value: Any, read: str | None) -> None:
        """Note an argument, or what the function is bound to, whose attributes are guarded."""
        self.follow(value)
        if isinstance(value, types.MethodType):
            self._note_argument(value.__self__, None if read is None else f"{read}.__self__")
        elif isinstance(value, functools.partial) and read is None:
            for given in (*value.args, *value.keywords.values(), value.func):
                self._note_argument(given, None)
        elif not (is_value(value) or is_array(value)):
            self._arguments.setdefault(id(value), (value, read))
            if _is_watched(value):
                self._watch(value)

    def _watch(self, value: Any) -> None:
        if self._is_executed:
            watch_also(value)
        self.watch.objects[id(value)] = value

    def changed(self) -> list[Any]:
        """The containers that have other items than when they were found."""
        found = []
        for value, before in self._containers:
            items = _all_items(value)
            if len(items) != len(before) or not all(map(operator.is_, items, before)):
                found.append(value)
        return found

    def read_attribute(self, value: Any, name: str, found: Any = None) -> Any:
        """Guard an attribute of an argument that the function has read; returns what it gets."""
        if id(value) not in self._arguments:
            return found
        if name == "__dict__":
            self._reads.add_names(value, self._arguments[id(value)][1])
        for own in list(attribute_of(value, name, ())) if name == "__dict__" else [name]:
            self._guard(value, own, is_replaced=name != "__dict__")
        entry, is_data = _held(value, name)
        if not is_data:
            return found
        self.follow(entry)
        number = self._number_of(self._attribute(value, name, entry)) if found is entry else None
        return found if number is None else self._as_number(number)

    def _attribute(self, value: Any, name: str, entry: Any) -> Name:
        return of_attribute(value, self._arguments[id(value)][1], name, entry)

    def _number_of(self, attribute: Name) -> Symbol | None:
        return self._reads.number(attribute) if _is_watched(attribute.owner) else None

    def _guard(self, value: Any, name: str, is_replaced: bool = True) -> None:
        """Guard an attribute of an argument that is no method or property, or that it has none."""
        read = self._arguments[id(value)][1]
        entry, is_data = _held(value, name)
        slot = entry_of(type(value), name)
        if is_data:
            attribute = self._attribute(value, name, entry)
            is_replaced = is_replaced and self._number_of(attribute) is not None
            self._reads.add(attribute, is_replaced=is_replaced)
        elif isinstance(slot, types.MemberDescriptorType):
            self._reads.add_absent(value, read, name, slot)
        elif isinstance(slot, types.GetSetDescriptorType) and name != "__class__":
            found = attribute_of(value, name)
            if is_value(found):  # others may be new ones each time
                self._reads.add(self._attribute(value, name, found))
        elif isinstance(_own_attributes(value), dict) and not hasattr(type(entry), "__set__"):
            self._reads.add_absent(value, read, name)

    def _guard_static(self, value: Any, name: str, entry: Any) -> None:
        """Guard an attribute of an argument that is a class or a module, but bound methods."""
        if id(value) in self._arguments and (
            isinstance(entry, types.FunctionType) or not hasattr(type(entry), "__get__")
        ):
            self._reads.add(self._attribute(value, name, entry))

    # -- functions -------------------------------------------------------------------------------

    def follow(self, value: Any) -> _Outer:
        """Take notice of an object from outside, and of what it holds without being asked."""
        pending = [value]
        for found in pending:
            if not (is_value(found) or id(found) in self._found):
                self._found[id(found)] = found
                parts = self._parts_of(found)
                if len(pending) < _MOST_FOLLOWED:
                    pending += parts
        return _Outer(value)

    def _parts_of(self, value: Any) -> Iterable[Any]:
        """Watch or record an object; what else is from outside then."""
        if _is_watched(value) and not _is_installed(_file_of(type(value))):
            self._watch(value)
        if isinstance(value, types.FunctionType):
            self._functions.setdefault(value.__code__, []).append(value)
            return *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()
        if isinstance(value, types.MethodType):
            return value.__func__, value.__self__
        if isinstance(value, functools.partial):
            return value.func, *value.args, *value.keywords.values()
        if hasattr(type(value), "shape"):
            self.arrays.append(value)
        elif isinstance(value, dict | list | tuple | set | collections.deque):
            items = _all_items(value)
            if not isinstance(value, tuple):
                self._containers.append((value, items))
            return [item for item in items[-_ITEMS:] if not hasattr(type(item), "shape")]
        elif not isinstance(value, type | types.ModuleType):
            own = attribute_of(value, "__wrapped__"), entry_of(type(value), "__call__")
            functions = [one for one in own if isinstance(one, types.FunctionType)]
            if _is_standard(value):  # a `UserList`, a `Queue`
                return *functions, attribute_of(value, "data"), attribute_of(value, "queue")
            return functions
        return ()

    def _note_namespace(self, names: Any) -> _Outer:
        """Take notice of a dict of names, which others change, too."""
        self._found[id(names)] = names
        return _Outer(names)

    def _begun(self, frame: types.FrameType) -> None:
        """Look at a function that begins."""
        self._is_executed = True
        names = getattr(frame.f_globals, "original", frame.f_globals)
        code = frame.f_code
        inner = self._inner.get(code)
        if inner is None and not self._is_users(frame, names):
            return
        given: dict[str, Any] = {}
        items: dict[str, Any] = {}
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            value = frame.f_locals.get(name)
            value = self.originals.get(id(value), value)
            if id(value) in self._found or type(value) is str:
                given[name] = value
        for name in filter(None, inspect.getargs(code)[1:]):
            values = frame.f_locals.get(name)  # a generator that goes on may have assigned another
            values = [*values.values()] if isinstance(values, dict) else values
            for value in values if isinstance(values, list | tuple) else ():
                if id(value) in self._found:
                    items[name] = value  # which stands for all
        known: dict[str, Any] = {name: _Outer(value) for name, value in given.items()}
        known |= {name: _Items(_Outer(value)) for name, value in items.items()}
        free = [frame.f_locals.get(name) for name in code.co_freevars]
        origins = ((name, id(value)) for name, value in {**given, **items}.items())
        key = code, id(names), *origins, *map(id, free)
        if key in self._scanned:
            return
        self._scanned[key] = free
        self._is_replaced = names is not frame.f_globals
        outer: set[str] = set()
        for function in self._functions_of(frame, names, inner is None):
            self._reads.add_code(function)
            for k, (name, cell) in enumerate(_cells(function)):
                content = content_of(cell)
                if content is not cell and name != "__class__":
                    self._reads.add(self._reads.of_cell(function, k), is_replaced=self._is_replaced)
                    known[name] = self.follow(content)
                outer.add(name)
            inner = None
        if inner is not None:
            outer = {*inner[0]}
            known = {**inner[1], **known}
        if frame.f_locals is frame.f_globals:  # of `exec`
            outer.update(code.co_names)
        _Scan(self, code, names, known, outer).execute()

    def _functions_of(
        self, frame: types.FrameType, names: dict[str, Any], is_searched: bool
    ) -> list[types.FunctionType]:
        """The functions that a frame may execute, with their variables."""
        code = frame.f_code
        known = frame.f_locals if names is frame.f_globals else {}

        def executed(functions: Iterable[Any]) -> list[types.FunctionType]:
            return [
                f
                for f in functions
                if type(f) is types.FunctionType
                and f.__globals__ is names
                and all(known.get(n, c) is c or known[n] is content_of(c) for n, c in _cells(f))
            ]

        found = executed(self._functions.get(code, ()))
        if not found and is_searched and any(name != "__class__" for name in code.co_freevars):
            found = executed(gc.get_referrers(code))
        return found

    def _is_users(self, frame: types.FrameType, names: dict[str, Any]) -> bool:
        """Whether a function is the user's, and of no other package that is installed."""
        code, home = frame.f_code, names.get("__name__")
        if is_library(home) or _is_besides(frame):
            return False
        if code.co_name == "<module>":
            return names is not frame.f_globals  # of `exec`
        if _is_installed(code.co_filename):
            return str(home).partition(".")[0] == self._home
        return bool(code.co_flags & inspect.CO_OPTIMIZED)

    # -- what is found in values -------------------------------------------------------------------

    def attribute(self, origin: Any, name: str) -> Any:
        """An attribute, without executing anything of the user's."""
        if not isinstance(origin, _Outer) or is_value(origin.value):
            return None
        value = origin.value
        unknown = _Outer(_UNKNOWN, value, name)
        if value is _UNKNOWN:
            return unknown
        if is_array(value):
            return origin if name in _VIEWS else unknown
        if name == "__class__":
            return self.follow(type(value))
        if name == "__dict__":
            return self._note_namespace(attribute_of(value, name))
        if isinstance(value, types.ModuleType):
            entry = vars(value).get(name, MISSING)
            if entry is sys.modules:
                return self._note_namespace(entry)
            self._guard_static(value, name, entry)
            return None if entry is MISSING else self.follow(entry)
        if isinstance(value, type):
            entry = entry_of(value, name)
            self._guard_static(value, name, entry)
            entry = getattr(entry, "__func__", entry)
            return None if entry is MISSING else self.follow(entry)
        entry, is_data = _held(value, name)
        is_plain = isinstance(type(value).__getattribute__, types.WrapperDescriptorType)
        if id(value) in self._arguments and is_plain:
            self._guard(value, name)
        if is_data:
            return self.follow(entry)
        if isinstance(entry, classmethod):
            self.follow(type(value))
        if isinstance(entry, types.FunctionType | staticmethod | classmethod):
            return _Outer(self.follow(getattr(entry, "__func__", entry)).value, value, name)
        return unknown

    def item(self, origin: Any, key: Any = None) -> Any:
        """An item of a container; `key` is None where it is not known."""
        if type(origin) is tuple:
            return next((item for item in origin if item is not None), None)
        if isinstance(origin, _Items):
            return origin.item
        if not isinstance(origin, _Outer):
            return None
        value = origin.value
        if is_array(value):
            return origin if key is _SLICE else None
        if key is _SLICE:
            return _Items(self.item(origin))
        if isinstance(value, str | bytes | range) or is_value(value):
            return None
        if not isinstance(value, dict | list | tuple | collections.deque):
            return _Outer()
        if isinstance(key, _Outer) and type(key.value) in (int, str):
            if isinstance(value, dict):
                return self.follow(dict.get(value, key.value, _UNKNOWN))
            try:
                return self.follow(_base(value).__getitem__(value, key.value))
            except (LookupError, TypeError):
                return None
        found = dict.values(value) if isinstance(value, dict) else _all_items(value)
        items = [*found][:_ITEMS]
        if all(map(is_value, items)):
            return None
        return self.follow(items[0]) if len(set(map(type, items))) == 1 else _Outer()


def _base(value: Any) -> Any:
    """The built-in class of a container, whose methods execute nothing of the user's."""
    return next(b for b in (dict, list, tuple, set, collections.deque) if isinstance(value, b))


def _all_items(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*dict.keys(value), *dict.values(value)]
    return [*_base(value).__iter__(value)]


def changed_error(value: Any) -> UnsupportedError:
    """The error for a change that the code does not show, as by `map(items.append, values)`."""
    sentence = f"A {type(value).__name__} from outside is changed in a fused function."
    error = unsupported(sentence, _HINT)
    error.has_effects = True
    return error


def _is_installed(path: str) -> bool:
    return "site-packages" in path or "dist-packages" in path


def _file_of(kind: type) -> str:
    return str(attribute_of(sys.modules.get(str(kind.__module__)), "__file__"))


def _is_watched(value: Any) -> bool:
    kind = type(value)
    if isinstance(value, type | types.ModuleType) or is_library(attribute_of(kind, "__module__")):
        return False
    return can_watch(kind)


def _is_container(value: Any) -> bool:
    """Whether methods and operators in place change a value."""
    return isinstance(value, _CONTAINERS) or is_array(value)


def _can_change(origin: Any) -> bool:
    """Whether something comes from outside, and is no constant of the function's code. On another
    way the variable of such a constant may have a value of the function's.
    """
    return isinstance(origin, _Outer) and type(origin.value) not in _CONSTANTS


def _is_standard(value: Any) -> bool:
    """Whether an object of the standard library's classes has a state that methods change."""
    root = str(attribute_of(type(value), "__module__")).partition(".")[0]
    is_plain = isinstance(value, type | types.ModuleType) or root in ("builtins", "decimal")
    return root in sys.stdlib_module_names and is_library(root) and not is_plain


def _cells(function: types.FunctionType) -> list[tuple[str, types.CellType]]:
    return list(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))


# -- effects -----------------------------------------------------------------------------------

_ITEMS = 64  # of a container that are looked at
_MOST_FOLLOWED = 256  # objects within one; a table of data may have millions
_CONTAINERS = (list, dict, set, collections.deque, bytearray, array.array)
_CONSTANTS = (
    types.NoneType, types.EllipsisType, bool, int, float, complex, str, bytes, tuple, frozenset,
)  # fmt: skip
_CHANGES_UNKNOWN = frozenset(
    ("append", "appendleft", "extend", "extendleft", "setdefault", "popitem")
)
_CHANGES = _CHANGES_UNKNOWN | frozenset(
    ("add", "byteswap", "clear", "difference_update", "discard", "fill", "insert",
     "intersection_update", "itemset", "move_to_end", "partition", "pop", "popleft", "put",
     "remove", "resize", "reverse", "rotate", "setfield", "setflags", "sort",
     "symmetric_difference_update", "update", "__setitem__", "__delitem__", "__iadd__",
     "get_nowait", "put_nowait")
)  # fmt: skip
_ASSIGNERS = (
    setattr, delattr, object.__setattr__, object.__delattr__, type.__setattr__, type.__delattr__,
)  # fmt: skip
_WRITERS = (
    np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask, operator.setitem,
    operator.delitem, operator.iadd, operator.iconcat, heapq.heappush, heapq.heappop, heapq.heapify,
    bisect.insort, bisect.insort_left,
)  # fmt: skip
_ITERATING = (list, tuple, set, dict, sorted, sum, any, all, min, max, enumerate, zip)
_VIEWS = frozenset(("T", "mT", "real", "imag", "flat"))
_HINT = "return the new value, and assign it outside of the function."


@functools.lru_cache(maxsize=1024)
def _instructions(code: types.CodeType) -> tuple[list[dis.Instruction], dict[int, int]]:
    """The instructions of a function, and by the offset of each handler the depth of its stack."""
    bytecode = dis.Bytecode(code)
    entries = bytecode.exception_entries  # type: ignore[attr-defined]
    return list(bytecode), {entry.target: entry.depth + 1 + entry.lasti for entry in entries}


_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
_ENDS = ("RETURN", "RAISE", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE")
_KEPT = ("CACHE", "COPY_FREE_VARS", "EXTENDED_ARG", "MAKE_CELL", "NOP", "RESUME", "POP_", "<")


class _Scan:
    """Goes through a function's code once.

    Parameters
    ----------
    known : dict
        Variables of which something is known, by their names.
    outer : set of str
        The variables that are assigned outside: closed-over ones, and globals of `exec`.
    """

    def __init__(
        self,
        outside: Outside,
        code: types.CodeType,
        names: dict[str, Any],
        known: dict[str, Any],
        outer: set[str],
    ) -> None:
        self._outside = outside
        self._code = code
        self._globals = names
        self._known = known
        self._outer = outer
        self._stack: list[Any] = []
        self._keywords: tuple[str, ...] = ()
        self._inner: types.CodeType | None = None  # the last one within this one
        self._offset = 0

    def execute(self) -> None:
        """Go through all instructions, in their order."""
        instructions, handlers = _instructions(self._code)
        saved: dict[int, list[Any]] = {}
        is_reached = True
        for i in instructions:
            self._offset = i.offset
            before = saved.get(i.offset)
            if before is None and i.offset in handlers:
                before, is_reached = [None] * handlers[i.offset], False
            if not is_reached:
                self._stack = list(before or ())
            elif before is not None and len(before) == len(self._stack):
                pairs = zip(self._stack, before, strict=True)
                self._stack = [b if a is None else a for a, b in pairs]
            effect, jumping = (dis.stack_effect(i.opcode, i.arg, jump=k) for k in (False, True))
            self._step(i, effect)
            if i.opcode in _JUMPS:
                depth = len(self._stack) - effect + jumping
                jumped = [*self._stack[: max(depth, 0)], *[None] * (depth - len(self._stack))]
                saved.setdefault(i.argval, jumped)
            is_reached = not i.opname.startswith(_ENDS)

    def _pop(self, count: int = 1) -> list[Any]:
        """The uppermost values, in their order."""
        missing = max(0, count - len(self._stack))
        found = [None] * missing + self._stack[len(self._stack) - count + missing :]
        del self._stack[len(self._stack) - count + missing :]
        return found

    def _step(self, i: dis.Instruction, effect: int) -> None:
        """What an instruction does to the stack; raises for an effect."""
        argument, value = i.arg or 0, i.argval
        stack, known, outside = self._stack, self._known, self._outside
        match i.opname:
            case "PRECALL":
                pass
            case "GET_ITER":
                self._check_moved(stack[-1] if stack else None)
                if stack and self._inner is not None:  # a comprehension, whose argument this is
                    outside._inner[self._inner][1][".0"] = stack[-1]
            case "LOAD_FAST_LOAD_FAST" | "LOAD_FAST_BORROW_LOAD_FAST_BORROW":
                stack += map(known.get, value)
            case "STORE_FAST_STORE_FAST":
                for name in value:
                    known[name] = self._pop()[0]
            case "STORE_FAST_LOAD_FAST":
                known[value[0]] = self._pop()[0]
                stack.append(known.get(value[1]))
            case "STORE_DEREF" | "DELETE_DEREF" if value in self._outer:
                self._refuse(f"The variable '{value}' of an outer function is assigned")
            case "STORE_NAME" | "DELETE_NAME" if value in self._outer:
                self._refuse(f"The global '{value}' is assigned")
            case "STORE_FAST" | "STORE_FAST_MAYBE_NULL" | "STORE_DEREF" | "STORE_NAME":
                known[value] = self._pop()[0]
            case "SETUP_ANNOTATIONS":
                known["__annotations__"] = None
            case "LOAD_NAME" if value in known:  # of a class
                stack.append(known[value])
            case "LOAD_GLOBAL" | "LOAD_NAME":
                is_replaced = outside._is_replaced
                outside._reads.add(of_global(self._globals, value), is_replaced=is_replaced)
                found = self._globals.get(value, vars(builtins).get(value, MISSING))
                stack += [None] * (effect - 1)
                stack.append(None if found is MISSING else outside.follow(found))
            case "STORE_GLOBAL" | "DELETE_GLOBAL":
                self._refuse(f"The global '{value}' is assigned")
            case "LOAD_CONST":
                stack.append(_Outer(value))
                if isinstance(value, types.CodeType):  # of a function, comprehension or class
                    free = {name: known.get(name) for name in value.co_freevars}
                    outside._inner[value] = free.keys() & self._outer, free
                    self._inner = value
            case "IMPORT_NAME":
                parts = self._pop(2)[1]
                is_whole = not isinstance(parts, _Outer) or not parts.value
                module = sys.modules.get(value.partition(".")[0] if is_whole else value)
                stack.append(None if module is None else outside.follow(module))
            case "IMPORT_FROM":
                stack.append(outside.attribute(stack[-1], value))
            case "LOAD_ATTR" | "LOAD_METHOD":
                stack.append(outside.attribute(self._pop()[0], value))
                stack += [None] * effect
            case "STORE_ATTR" | "DELETE_ATTR":
                if _can_change(self._pop(-effect)[-1]):
                    self._refuse(f"The attribute '{value}' of an object from outside is assigned")
            case "BINARY_SUBSCR":
                stack.append(outside.item(*self._pop(2)))
            case "BINARY_SLICE":
                stack.append(outside.item(self._pop(3)[0], _SLICE))
            case "BUILD_SLICE":
                self._pop(argument)
                stack.append(_SLICE)
            case "BUILD_TUPLE" | "BUILD_LIST":
                stack.append(tuple(self._pop(argument)))
            case "LIST_APPEND":
                self._pop()
            case "LIST_EXTEND" | "DICT_UPDATE":
                item = outside.item(self._pop()[0])
                if item is not None and argument <= len(stack):
                    stack[-argument] = _Items(item)
            case "STORE_SUBSCR" | "DELETE_SUBSCR" | "STORE_SLICE":
                container = self._pop(-effect)[0 if i.opname == "DELETE_SUBSCR" else 1]
                if _can_change(container):
                    sentence = "An item of an object from outside is assigned"
                    self._refuse_change(container.value, sentence)
            case "BINARY_OP":
                left, right = self._pop(2)
                is_changed = isinstance(left, _Outer) and _is_container(left.value)
                if 13 <= argument < _SUBSCRIPT and is_changed:
                    self._refuse_change(left.value, "An object from outside is changed in place")
                stack.append(outside.item(left, right) if argument == _SUBSCRIPT else None)
            case "FOR_ITER":
                stack.append(outside.item(stack[-1] if stack else None))
            case "UNPACK_SEQUENCE":
                (found,) = self._pop()
                is_known = type(found) is tuple and len(found) == argument
                stack += reversed(found if is_known else [outside.item(found)] * argument)
            case "UNPACK_EX":
                item = outside.item(self._pop()[0])
                stack += [item] * (argument >> 8) + [_Items(item)] + [item] * (argument & 0xFF)
            case "COPY":
                stack.append(([None] * argument + stack)[-argument])
            case "SWAP":
                if argument <= len(stack):
                    stack[-1], stack[-argument] = stack[-argument], stack[-1]
            case "KW_NAMES":
                self._keywords = self._code.co_consts[argument]
            case "CALL" | "CALL_KW":
                if i.opname == "CALL_KW":
                    self._keywords = self._pop()[0].value
                # A function and nothing, or nothing and a function, by the version of Python.
                first, second, *given = self._pop(argument + 2)
                count, names = len(given) - len(self._keywords), self._keywords
                self._keywords = ()
                named = dict(zip(names, given[count:], strict=True))
                self._check_call(callee := second if first is None else first, given[:count], named)
                stack.append(self._result(callee, given[:count]))
            case name if name.startswith(("LOAD_FAST", "LOAD_DEREF")):
                stack.append(known.get(value))
            case name:
                del stack[len(stack) + min(effect, 0) :]
                stack += [None] * effect
                if stack and i.opcode not in _JUMPS and not name.startswith(_KEPT):
                    stack[-1] = None

    def _check_call(self, callee: Any, given: list[Any], named: dict[str, Any]) -> None:
        function, owner, name = callee if isinstance(callee, _Outer) else (None, None, "")
        is_first = bool(given) and isinstance(given[0], _Outer)
        first = given[0].value if is_first else None
        if isinstance(function, types.BuiltinMethodType):
            owner, name = function.__self__, function.__name__
        elif isinstance(function, types.MethodDescriptorType) and is_first:
            owner, name = first, function.__name__
        changes = _CHANGES_UNKNOWN if owner is _UNKNOWN else _CHANGES
        if name in changes and (owner is _UNKNOWN or _is_container(owner) or _is_standard(owner)):
            self._refuse_change(owner, f"'{name}' changes an object from outside")
        if is_first and any(function is own for own in _ASSIGNERS):
            self._refuse("An attribute of an object from outside is assigned")
        if is_first and any(function is own for own in _WRITERS):
            self._refuse_change(first, "An object from outside is written to")
        if is_first and any(function is own for own in (next, *_ITERATING)):
            self._check_moved(given[0])
        written = [named.get("out")]
        if isinstance(function, np.ufunc):
            written += given[function.nin :]
        for out in written:
            if isinstance(out, _Outer) and is_array(out.value):
                self._refuse_change(out.value, "")

    def _check_moved(self, origin: Any) -> None:
        if isinstance(origin, _Outer) and isinstance(origin.value, collections.abc.Iterator):
            self._refuse("An iterator from outside is moved")

    def _result(self, callee: Any, given: list[Any]) -> Any:
        """The result of a call that has something from outside."""
        if not isinstance(callee, _Outer):
            return None
        outside, (function, owner, name) = self._outside, callee
        first = given[0] if given else None
        item = outside.item(first)
        if isinstance(owner, dict | list | collections.deque):
            item = outside.item(_Outer(owner), first if name == "get" else None)
            if name == "get":
                return item
            if name in ("copy", "values", "items"):
                return _Items((None, item) if name == "items" else item)
        if function is globals:
            return outside._note_namespace(self._globals)
        if function is vars:
            return outside.attribute(first, "__dict__")
        if function is getattr and len(given) > 1 and isinstance(given[1], _Outer):
            found = outside.attribute(first, str(given[1].value))
            is_missing = len(given) > 2 and isinstance(found, _Outer) and found.value is _UNKNOWN
            return given[2] if is_missing else found
        if function is type:
            return outside.attribute(first, "__class__")
        if any(function is own for own in (list, tuple, dict, iter, reversed, sorted)):
            return _Items(item)
        if function is enumerate:
            return _Items((None, item))
        return _Items(tuple(map(outside.item, given))) if function is zip else None

    def _refuse_change(self, value: Any, sentence: str) -> None:
        if is_array(value):
            location = location_of(self._code, self._offset, self._globals)
            raise unsupported(
                "An array from outside of the fused function is written to.",
                "pass it as an argument.", location,
            )  # fmt: skip
        self._refuse(sentence)

    def _refuse(self, sentence: str) -> None:
        location = location_of(self._code, self._offset, self._globals)
        raise unsupported(f"{sentence} in a fused function.", _HINT, location)


_SLICE = _Outer(slice(None))
_SUBSCRIPT = 26  # the operator `BINARY_OP` of Python 3.14


def _is_besides(frame: types.FrameType | None) -> bool:
    """Whether a module that is imported, or an object that ends, is what calls a function."""
    while frame is not None and not is_own(frame.f_code):
        code = frame.f_code
        if code.co_filename.startswith("<frozen importlib") or code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


# -- what a thread does with objects from outside --------------------------------------------------
#
# The classes of these objects have methods for a while that report which attributes are read, and
# refuse that one is assigned. Only the thread that traces is looked at, and only these objects.


_NAMES = ("__getattribute__", "__setattr__", "__delattr__")
_IS_HEAP_TYPE, _IS_IMMUTABLE = 1 << 9, 1 << 8


class Watch(NamedTuple):
    """What is done with what is seen in one trace.

    Attributes
    ----------
    read : callable
        Takes an object that is watched, the name of an attribute that the function has read, and
        what it is; returns what the function gets.
    call : callable
        Takes the frame of a function in Python that begins.
    objects : dict
        The objects that are watched (`watch_also`), by their addresses.
    kinds : set
        Their classes.
    """

    read: Callable[[Any, str, Any], Any]
    call: Callable[[FrameType], None]
    objects: dict[int, Any]
    kinds: set[type]


class _State(threading.local):
    """The traces of a thread, the innermost one last."""

    def __init__(self) -> None:
        self.watches: list[Watch] = []
        self.is_busy = False  # whether what was seen is being looked at
        self.install: Callable[[], None] = lambda: None  # has calls reported


_state = _State()
_lock = lasting_lock()
_counts: Counter[type] = Counter()  # of the traces that watch a class
_before: dict[type, dict[str, Any]] = {}  # the methods of its own


def can_watch(kind: type) -> bool:
    """Whether a class takes other methods for a while."""
    if not kind.__flags__ & _IS_HEAP_TYPE or kind.__flags__ & _IS_IMMUTABLE:
        return False
    return all(isinstance(getattr(kind, n), FunctionType | WrapperDescriptorType) for n in _NAMES)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Report what this thread does within."""
    objects = [*watch.objects.values()]
    _state.watches.append(watch)
    try:
        for value in objects:
            watch_also(value)
        with _calls_reported():
            yield
    finally:
        _state.watches.pop()
        for kind in watch.kinds:
            _restore(kind)


def watch_also(value: Any) -> None:
    """Look at the attributes of another object, in the innermost trace; it stays alive."""
    watch = _state.watches[-1]
    watch.objects[id(value)] = value
    kind = type(value)
    if kind not in watch.kinds:
        watch.kinds.add(kind)
        with _lock:
            _counts[kind] += 1
            if _counts[kind] == 1:
                _before[kind] = {name: vars(kind)[name] for name in _NAMES if name in vars(kind)}
                for name, method in _methods(*(getattr(kind, name) for name in _NAMES)).items():
                    type.__setattr__(kind, name, method)


def _restore(kind: type) -> None:
    with _lock:
        _counts[kind] -= 1
        if not _counts[kind]:
            del _counts[kind]
            for name in _NAMES:
                type.__delattr__(kind, name)
            for name, value in _before.pop(kind).items():
                type.__setattr__(kind, name, value)


def _methods(
    read: Callable[..., Any], store: Callable[..., Any], delete: Callable[..., Any]
) -> dict[str, Callable[..., Any]]:
    """Methods in place of a class's own ones."""

    def reading(self: Any, name: str) -> Any:
        if not _state.watches or _state.is_busy or is_own(sys._getframe(1).f_code):
            return read(self, name)
        found: Any = None
        try:
            found = read(self, name)
        finally:  # a cached property has its value by now
            for watch in _watches_of(self):
                found = _undisturbed(watch.read, self, name, found)
        return found

    def storing(self: Any, name: str, value: Any) -> None:
        _refuse(self, name)
        store(self, name, value)

    def deleting(self: Any, name: str) -> None:
        _refuse(self, name)
        delete(self, name)

    return dict(zip(_NAMES, (reading, storing, deleting), strict=True))


def _refuse(value: Any, name: str) -> None:
    """Refuse that an attribute of a watched object is assigned."""
    if _watches_of(value):
        raise _undisturbed(
            unsupported,
            f"The attribute '{name}' of an object from outside is assigned in a fused function.",
            "return the new value, and assign it outside of the function.",
        )


def _watches_of(value: Any) -> list[Watch]:
    return [watch for watch in _state.watches if id(value) in watch.objects]


def _undisturbed(report: Callable[..., Any], *seen: Any) -> Any:
    """Report what was seen; what that does itself is not."""
    before, _state.is_busy = _state.is_busy, True
    try:
        return report(*seen)
    finally:
        _state.is_busy = before


# -- calls -----------------------------------------------------------------------------------------


@contextmanager
def _calls_reported() -> Iterator[None]:
    """Report calls of functions in Python, by what a debugger or a profiler does not use, or
    together with the debugger.
    """
    if len(_state.watches) > 1:
        try:
            yield
        finally:  # an error that is raised in a hook ends it
            _state.install()
        return
    is_profile = sys.gettrace() is not None and sys.getprofile() is None
    get: Callable[[], Any] = sys.getprofile if is_profile else sys.gettrace
    put: Callable[[Any], None] = sys.setprofile if is_profile else sys.settrace
    before = get()

    def with_debugger(frame: FrameType, event: Any, argument: Any) -> Any:
        _on_call(frame, event, argument)
        return before(frame, event, argument)

    hook = _on_call if before is None else with_debugger
    _state.install = functools.partial(put, hook)
    _state.install()
    try:
        yield
        if get() is not hook:
            raise unsupported(
                "A debugger or a profiler has ended what follows the calls of a fused function.",
                "trace it without one of them.",
            )
    finally:
        put(before)


def _on_call(frame: FrameType, event: str, _: Any) -> None:
    if event != "call" or _state.is_busy or is_own(frame.f_code):
        return
    if frame.f_globals.get("__name__", "").startswith("namedtuple_"):
        return  # the constructor of a named tuple's class
    for watch in list(_state.watches):
        _undisturbed(watch.call, frame)
