"""What a traced function reads from outside by names, the functions that it calls, and effects.

The code of the function, and of the Python functions of the user's that it calls, is executed over
values that are known beforehand: globals, closed-over variables, arguments that are constants, and
what is found in them without executing anything of the user's. Everything else is unknown. The
names become guards (`reads`). What lies deeper is constant. An assignment to what comes from
outside is refused at its line, before the function is executed.

Branches are executed one after the other, so a local variable is what was last assigned to it.
"""

from __future__ import annotations

import array
import builtins
import collections
import dis
import functools
import gc
import inspect
import os
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kerneltk.fusion.trace.constants import is_value
from kerneltk.fusion.trace.location import location_of
from kerneltk.fusion.trace.reads import MISSING, Reads
from kerneltk.fusion.trace.state import unsupported
from kerneltk.fusion.watching import Watch, can_watch, is_own


def is_library(module: str | None) -> bool:
    """Whether a module is one whose functions are called as they are."""
    # Classes may have anything of this name, and objects that stand for modules' attributes, too.
    root = module.partition(".")[0] if isinstance(module, str) else ""
    if root in ("numpy", "cupy", "cupyx", "scipy", "kerneltk", "torch", "jax"):
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


def attribute_of(value: Any, name: str, default: Any = None) -> Any:
    """An attribute that every object of its kind has, without executing anything of the user's."""
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return default


# -- values that are known beforehand ---------------------------------------------------------


class _Outer(NamedTuple):
    """A value from outside of the function."""

    value: Any
    argument: int | None = None  # which one it is; -1 of what the function is bound to


class _Constant(NamedTuple):
    """A number, a string, or a tuple of these."""

    value: Any


class _Made(NamedTuple):
    """An instance that the function itself makes."""

    kind: type


class _Method(NamedTuple):
    """A method that is not written in Python, or one of an unknown value."""

    receiver: _Outer
    name: str


class _Bound(NamedTuple):
    """A function of Python's with its first argument."""

    function: types.FunctionType
    owner: Any


_UNKNOWN = object()  # the value of what comes from outside all the same
_SLICE = _Constant(slice(None))
_ITEMS = 64  # of a container that are looked at
_VISITS = 2000
_CONTAINERS = (list, dict, set, collections.deque, bytearray, array.array, np.ndarray)
_CHANGES_UNKNOWN = frozenset(
    ("append", "appendleft", "extend", "extendleft", "setdefault", "popitem")
)
_CHANGES = _CHANGES_UNKNOWN | frozenset(
    ("add", "byteswap", "clear", "difference_update", "discard", "fill", "insert",
     "intersection_update", "itemset", "move_to_end", "partition", "pop", "popleft", "put",
     "remove", "resize", "reverse", "rotate", "setfield", "setflags", "sort",
     "symmetric_difference_update", "update")
)  # fmt: skip
_WRITERS = (np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask)
_VIEWS = frozenset(("T", "mT", "real", "imag", "flat"))
_IGNORED = frozenset(
    ("CACHE", "COPY_FREE_VARS", "EXTENDED_ARG", "GET_ITER", "MAKE_CELL", "NOP", "PRECALL", "RESUME")
)
_ACTIONS = {
    "LOAD_FAST_CHECK": "_load_fast", "LOAD_FAST_AND_CLEAR": "_load_fast",
    "STORE_FAST_MAYBE_NULL": "_store_fast", "LOAD_CLASSDEREF": "_load_deref",
    "LOAD_FROM_DICT_OR_DEREF": "_load_deref", "LOAD_NAME": "_load_global",
    "LOAD_METHOD": "_load_attr", "DELETE_ATTR": "_store_attr", "DELETE_GLOBAL": "_store_global",
    **dict.fromkeys(_IGNORED, "_keep"), "PRECALL": "_stay",
}  # fmt: skip
_ENDS = ("RETURN", "RAISE", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE")
_HINT = "return the new value, and assign it outside of the function."


def _outside(origin: Any) -> _Outer | None:
    """What comes from outside, of which some methods may be attributes."""
    if isinstance(origin, _Method) and origin.receiver.value is _UNKNOWN:
        return origin.receiver
    return origin if isinstance(origin, _Outer) else None


def _entry_of(kind: type, name: str) -> Any:
    """What a class has by a name."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), MISSING)


def _is_setter(entry: Any) -> bool:
    """Whether what a class has by a name is asked before an instance's own attributes."""
    return hasattr(type(entry), "__set__")


def _held(value: Any, name: str) -> tuple[Any, bool]:
    """An attribute of an instance, or what its class has by its name, and whether it is data: the
    attribute as it is.
    """
    entry = _entry_of(type(value), name)
    own = attribute_of(value, "__dict__")
    if isinstance(own, dict) and name in own and not _is_setter(entry):
        return own[name], True
    if isinstance(entry, types.MemberDescriptorType):
        try:
            return entry.__get__(value), True
        except AttributeError:
            return MISSING, False
    return entry, not hasattr(type(entry), "__get__")


def _key(origin: Any) -> Any:
    if isinstance(origin, _Outer):
        return id(origin.value), origin.argument
    return origin.kind if isinstance(origin, _Made) else None


class _Instruction(NamedTuple):
    """An instruction, and what it does to the stack: where it goes on, and where it jumps."""

    offset: int
    action: str  # the method of `_Visit` that executes it
    argument: int
    value: Any
    target: int | None
    effect: int
    jumping: int
    is_end: bool  # whether the next one is reached by jumps alone


@functools.lru_cache(maxsize=1024)
def _instructions(code: types.CodeType) -> tuple[list[_Instruction], dict[int, int]]:
    """The instructions of a function, and by the offset of each handler the depth of its stack."""
    jumps = {*dis.hasjrel, *dis.hasjabs}
    bytecode = dis.Bytecode(code)
    entries = bytecode.exception_entries  # type: ignore[attr-defined]
    handlers = {entry.target: entry.depth + 1 + entry.lasti for entry in entries}
    found = []
    for i in bytecode:
        if i.opname in _IGNORED and not i.is_jump_target and i.offset not in handlers:
            continue
        action = _ACTIONS.get(i.opname, f"_{i.opname.lower()}")
        if not hasattr(_Visit, action):
            action = "_keep" if i.opname.startswith("POP_") or i.opcode in jumps else "_compute"
        effect, jumping = (dis.stack_effect(i.opcode, i.arg, jump=k) for k in (False, True))
        target = i.argval if i.opcode in jumps else None
        is_end = i.opname.startswith(_ENDS)
        found.append(
            _Instruction(i.offset, action, i.arg or 0, i.argval, target, effect, jumping, is_end)
        )
    return found, handlers


class Outside:
    """Finds what one trace reads from outside.

    Parameters
    ----------
    reads : Reads
        Takes the guards.
    is_traced : callable
        Whether an argument is an array or a number of the trace.
    """

    def __init__(self, reads: Reads, is_traced: Callable[[Any], bool]) -> None:
        self._reads = reads
        self._is_traced = is_traced
        self.arrays: list[Any] = []  # that were found
        self._home = ""
        self._arguments: dict[int, int] = {}  # which objects are arguments
        self._watched: dict[int, tuple[Any, str | None]] = {}  # the user's, and how to read them
        self._visited: set[Any] = set()
        self._codes: dict[tuple[int, int], Any] = {}  # that were looked at, with some globals
        self._pending: list[_Visit] = []
        self._loaded: list[tuple[Any, Any]] = []
        self._called: set[Any] = set()
        self._held: list[Any] = []  # no other object may be found at their addresses

    def look(
        self, function: Callable[..., Any], args: Sequence[Any], keywords: Sequence[str]
    ) -> None:
        """Look at a function before it is executed with arguments, the last of which have keywords;
        raises UnsupportedError for an effect.
        """
        for k, value in enumerate(args):
            self._note_watched(value, f"a{k}")
        self._note_watched(function, None)
        given = [
            None if self._is_traced(value) else self.found(value, k) for k, value in enumerate(args)
        ]
        first = len(given) - len(keywords)
        called = function
        while isinstance(called, functools.partial):
            called = called.func
        module = attribute_of(attribute_of(called, "__func__", called), "__module__")
        self._home = str(module).partition(".")[0]
        named = dict(zip(keywords, given[first:], strict=True))
        self._reads.keep(attribute_of(called, "__func__", called))
        self._call(self.found(function, -1), given[:first], named)
        self._finish()

    def _note_watched(self, value: Any, read: str | None) -> None:
        """Note an argument, or what the function is bound to, whose attributes can be watched."""
        if isinstance(value, types.MethodType):
            self._note_watched(value.__self__, None if read is None else f"{read}.__self__")
        elif isinstance(value, functools.partial) and read is None:
            for given in (*value.args, *value.keywords.values(), value.func):
                self._note_watched(given, None)
        elif not (is_value(value) or is_array(value) or isinstance(value, type | types.ModuleType)):
            kind = type(value)
            if can_watch(kind) and not is_library(attribute_of(kind, "__module__")):
                self._watched.setdefault(id(value), (value, read))

    def watch(self, names: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Watch:
        """What is looked at while the function is executed; `names` are the globals of a function
        that is traced with others.
        """
        objects = [value for value, _ in self._watched.values()]
        return Watch(objects, self._read, _refuse_attribute, self._begun, names)

    def _read(self, value: Any, name: str) -> None:
        """Guard an attribute that the function has read."""
        if name == "__dict__":
            for own in list(attribute_of(value, name, ())):
                self._guard(value, self._watched[id(value)][1], own)
            return
        self._guard(value, self._watched[id(value)][1], name)
        entry, is_data = _held(value, name)
        if is_data and entry is not MISSING:
            self.follow(entry)

    def _begun(self, frame: types.FrameType, names: dict[str, Any]) -> None:
        """Look at a function that the others do not call by a name that is known."""
        code = frame.f_code
        if (id(code), id(names)) in self._codes:
            return
        self._codes[id(code), id(names)] = code
        is_function = code.co_flags & inspect.CO_OPTIMIZED
        if not is_function or not self._is_users_code(code, names) or _is_besides(frame):
            return
        free = [name for name in code.co_freevars if name != "__class__"]
        if not free:
            self._pending.append(_Visit(self, code, names, {}, {}))
        else:
            known = frame.f_locals if names is frame.f_globals else {}
            for function in gc.get_referrers(code):
                if type(function) is types.FunctionType and function.__globals__ is names:
                    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
                    if all(known.get(n, c) in (c, content_of(c)) for n, c in cells if n in free):
                        self._loaded.append((function, None))
        self._finish()

    def follow(self, function: Any) -> None:
        """Look at a function that is found while another one is executed."""
        self.found(function)
        self._finish()

    def _finish(self) -> None:
        while len(self._visited) < _VISITS:
            if self._pending:
                self._pending.pop().execute()
            elif self._loaded:  # those that are not called by these names may be called by others
                function, positional = self._loaded.pop()
                if function not in self._called:
                    self._visit(function, positional)
            else:
                break

    # -- functions -------------------------------------------------------------------------------

    def found(self, value: Any, argument: int | None = None) -> Any:
        """A value that a name stands for. Functions are looked at, as they may be called."""
        if is_value(value):
            return _Constant(value)
        if argument is None:
            argument = self._arguments.get(id(value))
        else:
            self._arguments[id(value)] = argument
        self._held.append(value)
        if isinstance(value, types.FunctionType):
            self._loaded.append((value, None))
        elif hasattr(type(value), "shape"):
            self.arrays.append(value)
        elif isinstance(value, types.MethodType):
            bound = _Bound(value.__func__, _Outer(value.__self__, argument))  # type: ignore[arg-type]
            self._loaded.append((value.__func__, [bound.owner]))
            return bound
        elif isinstance(value, types.BuiltinMethodType) and isinstance(value.__self__, _CONTAINERS):
            return _Method(_Outer(value.__self__), value.__name__)
        elif isinstance(value, functools.partial):
            self.found(value.func)
        elif not isinstance(value, type | types.ModuleType):
            wrapped = attribute_of(value, "__wrapped__")
            if isinstance(wrapped, types.FunctionType):
                return self.found(wrapped)
        return _Outer(value, argument)

    def _visit(
        self,
        function: Any,
        positional: Sequence[Any] | None = None,
        named: Mapping[str, Any] | None = None,
    ) -> None:
        """Look at a function later; without arguments where it is not known how it is called."""
        if not isinstance(function, types.FunctionType) or not self._is_users(function):
            return
        named = named or {}
        shown = () if positional is None else tuple(map(_key, positional))
        key = function, positional is None, shown, tuple((n, _key(o)) for n, o in named.items())
        if key in self._visited:
            return
        self._visited.add(key)
        self._called.add(function)
        self._reads.add_code(function)
        code = function.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        values = function.__defaults__ or ()
        last = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
        defaults = {**dict(zip(last, values, strict=True)), **(function.__kwdefaults__ or {})}
        known: dict[str, Any] = {}
        for name, value in defaults.items():
            origin = self.found(value)
            if positional is not None or not isinstance(value, _CONTAINERS):
                known[name] = origin
        known.update(zip(code.co_varnames[: code.co_argcount], positional or (), strict=False))
        known.update((n, o) for n, o in named.items() if n in code.co_varnames[:count])
        cells = {name: (function, k) for k, name in enumerate(code.co_freevars)}
        self._pending.append(_Visit(self, code, function.__globals__, known, cells))

    def _is_users(self, function: types.FunctionType) -> bool:
        """Whether a function is the user's, and of no other package that is installed."""
        return not is_library_function(function) and self._is_own(
            function.__code__, function.__globals__
        )

    def _is_users_code(self, code: types.CodeType, names: dict[str, Any]) -> bool:
        return not is_library(names.get("__name__")) and self._is_own(code, names)

    def _is_own(self, code: types.CodeType, names: dict[str, Any]) -> bool:
        path = code.co_filename
        if "site-packages" not in path and "dist-packages" not in path:
            return True
        return str(names.get("__name__")).partition(".")[0] == self._home

    def _call(self, callee: Any, positional: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """The result of a call that is no effect."""
        if isinstance(callee, _Bound):
            self._visit(callee.function, [callee.owner, *positional], named)
        if isinstance(callee, _Made):
            self._visit(_entry_of(callee.kind, "__call__"), [callee, *positional], named)
        if isinstance(callee, _Method) and callee.name in ("get", "values", "items"):
            key = positional[0] if positional else None
            item = self.item(callee.receiver, key if callee.name == "get" else None)
            return {"get": item, "values": callee.receiver}.get(callee.name)
        if not isinstance(callee, _Outer):
            return None
        value = callee.value
        if value in (getattr, hasattr) if type(value) is types.BuiltinFunctionType else False:
            owner, name = [*positional, None, None][:2]
            if isinstance(name, _Constant) and isinstance(name.value, str):
                return self.attribute(owner, name.value)
        elif isinstance(value, types.FunctionType):
            self._visit(value, positional, named)
        elif isinstance(value, functools.partial):
            own = [self.found(item) for item in value.args]
            fixed = {name: self.found(item) for name, item in value.keywords.items()}
            self._call(self.found(value.func), [*own, *positional], {**fixed, **named})
        elif isinstance(value, type):
            if not is_library(value.__module__):
                for name in ("__init__", "__post_init__"):
                    given = positional if name == "__init__" else ()
                    self._visit(_entry_of(value, name), [_Made(value), *given], named)
                return _Made(value)
        elif value is not _UNKNOWN:
            self._visit(_entry_of(type(value), "__call__"), [callee, *positional], named)
        return None

    # -- what is found in values -------------------------------------------------------------------

    def attribute(self, origin: Any, name: str) -> Any:
        """An attribute, without executing anything of the user's."""
        if isinstance(origin, _Made):
            return self._of_class(_entry_of(origin.kind, name), origin)
        outer = _outside(origin)
        if outer is None:
            return None
        value = outer.value
        if value is _UNKNOWN:
            return _Method(outer, name)
        if isinstance(value, np.ndarray):
            return outer if name in _VIEWS else _Method(outer, name)
        if isinstance(value, types.ModuleType):
            entry = vars(value).get(name, MISSING)
            return None if entry is MISSING else self.found(entry)
        if isinstance(value, type):
            return self._of_class(_entry_of(value, name), None)
        entry, is_data = _held(value, name)
        getter: Any = type(value).__getattribute__
        is_argument = outer.argument is not None and id(value) not in self._watched
        if is_argument and getter is object.__getattribute__:
            read = None if outer.argument < 0 else f"a{outer.argument}"  # type: ignore[operator]
            self._guard(value, read, name)
        if entry is MISSING:
            return _Outer(_UNKNOWN)
        return self.found(entry) if is_data else self._of_class(entry, outer)

    def _guard(self, value: Any, read: str | None, name: str) -> None:
        """Guard an attribute of an argument that is no method or property, or that it has none."""
        entry, is_data = _held(value, name)
        if entry is not MISSING and is_data:
            self._reads.add_attribute(value, read, name, entry)
        elif isinstance(attribute_of(value, "__dict__"), dict) and not _is_setter(entry):
            self._reads.add_attribute(value, read, name, MISSING)

    def _of_class(self, entry: Any, owner: Any) -> Any:
        """An entry of a class as an attribute of an instance, or of the class itself for None."""
        if isinstance(entry, staticmethod | classmethod):
            function: Any = entry.__func__
            if isinstance(entry, staticmethod):
                return self.found(function)
            return _Bound(function, None)
        if isinstance(entry, property | functools.cached_property):
            getter = entry.fget if isinstance(entry, property) else entry.func
            self._visit(getter, [owner])
            return _Outer(_UNKNOWN) if isinstance(owner, _Outer) else None
        function = attribute_of(entry, "__wrapped__", entry)  # of a fused function, too
        if isinstance(function, types.FunctionType) and owner is not None:
            return _Bound(function, owner)
        if isinstance(owner, _Outer) and hasattr(type(entry), "__get__"):
            return _Method(owner, "" if entry is MISSING else getattr(entry, "__name__", ""))
        return None if entry is MISSING else self.found(entry)

    def item(self, origin: Any, key: Any) -> Any:
        """An item of a container; `key` is None where it is not known."""
        outer = _outside(origin)
        if outer is None:
            return None
        value = outer.value
        if value is _UNKNOWN:
            return outer
        if isinstance(value, np.ndarray):
            return outer if key is _SLICE else None
        if not isinstance(value, dict | list | tuple | collections.deque):
            self._visit(_entry_of(type(value), "__getitem__"), [outer])
            return None if isinstance(value, str | bytes | range) else _Outer(_UNKNOWN)
        if isinstance(key, _Constant) and type(key.value) in (int, str):
            try:
                return self.found(value[key.value])
            except (LookupError, TypeError):
                return None
        items = list(value.values() if isinstance(value, dict) else value)[:_ITEMS]
        found = [self.found(item) for item in items]
        if all(isinstance(item, _Constant) for item in found):
            return None
        is_one_kind = len(set(map(type, items))) == 1 and isinstance(found[0], _Outer)
        return found[0] if is_one_kind else _Outer(_UNKNOWN)


class _Visit:
    """One execution of a function's code."""

    def __init__(
        self,
        outside: Outside,
        code: types.CodeType,
        names: dict[str, Any],
        known: dict[str, Any],
        cells: Mapping[str, tuple[types.FunctionType, int]],
    ) -> None:
        outside._codes[id(code), id(names)] = code
        self._outside = outside
        self._code = code
        self._globals = names
        self._known = known
        self._cells = cells
        self._stack: list[Any] = []
        self._keywords: tuple[str, ...] = ()
        self._offset = 0

    def execute(self) -> None:
        """Execute all instructions, in their order."""
        instructions, handlers = _instructions(self._code)
        saved: dict[int, list[Any]] = {}
        is_reached = True
        for instruction in instructions:
            self._offset = instruction.offset
            before = saved.get(self._offset)
            if before is None and self._offset in handlers:
                before, is_reached = [None] * handlers[self._offset], False
            if not is_reached:
                self._stack = list(before or ())
            elif before is not None and len(before) == len(self._stack):
                self._stack = [
                    b if a is None else a for a, b in zip(self._stack, before, strict=True)
                ]
            getattr(self, instruction.action)(instruction)
            if instruction.target is not None:
                depth = len(self._stack) - instruction.effect + instruction.jumping
                jumped = [*self._stack[: max(depth, 0)], *[None] * (depth - len(self._stack))]
                saved.setdefault(instruction.target, jumped)
            is_reached = not instruction.is_end

    def _pop(self, count: int = 1) -> list[Any]:
        """The uppermost values, in their order."""
        missing = max(0, count - len(self._stack))
        found = [None] * missing + self._stack[len(self._stack) - count + missing :]
        del self._stack[len(self._stack) - count + missing :]
        return found

    def _keep(self, instruction: _Instruction) -> None:
        if instruction.effect < 0:
            del self._stack[instruction.effect :]
        else:
            self._stack += [None] * instruction.effect

    def _stay(self, instruction: _Instruction) -> None:
        """Do nothing."""

    def _compute(self, instruction: _Instruction) -> None:
        self._keep(instruction)
        if self._stack:
            self._stack[-1] = None

    # -- names -----------------------------------------------------------------------------------

    def _load_fast(self, instruction: _Instruction) -> None:
        self._stack.append(self._known.get(instruction.value))

    def _load_fast_load_fast(self, instruction: _Instruction) -> None:
        self._stack += map(self._known.get, instruction.value)

    def _store_fast(self, instruction: _Instruction) -> None:
        (self._known[instruction.value],) = self._pop()

    def _store_fast_store_fast(self, instruction: _Instruction) -> None:
        for name in instruction.value:
            (self._known[name],) = self._pop()

    def _load_deref(self, instruction: _Instruction) -> None:
        if instruction.effect == 0:  # in a class, whose own names are on the stack
            self._pop()
        closed, found = self._cells.get(instruction.value), self._known.get(instruction.value)
        if closed is not None:
            function, k = closed
            cell = (function.__closure__ or ())[k]
            content = content_of(cell)
            found = None
            if content is not cell:
                self._outside._reads.add_cell(function, k)
                found = self._outside.found(content)
        self._stack.append(found)

    def _load_global(self, instruction: _Instruction) -> None:
        name = instruction.value
        if instruction.effect > 1:
            self._stack.append(None)
        self._outside._reads.add_global(self._globals, name)
        value = self._globals.get(name, vars(builtins).get(name, MISSING))
        self._stack.append(None if value is MISSING else self._outside.found(value))

    def _load_const(self, instruction: _Instruction) -> None:
        value = instruction.value
        self._stack.append(_Constant(value))
        if isinstance(value, types.CodeType):  # of a function, a comprehension or a class
            free = value.co_freevars
            known = {name: self._known.get(name) for name in free}
            cells = {name: self._cells[name] for name in free if name in self._cells}
            visit = _Visit(self._outside, value, self._globals, known, cells)
            self._outside._pending.append(visit)

    def _import_name(self, instruction: _Instruction) -> None:
        _, parts = self._pop(2)
        name = instruction.value
        if not isinstance(parts, _Constant) or not parts.value:
            name = name.partition(".")[0]
        module = sys.modules.get(name)
        self._stack.append(None if module is None else _Outer(module))

    def _import_from(self, instruction: _Instruction) -> None:
        self._stack.append(self._outside.attribute(self._stack[-1], instruction.value))

    def _store_fast_load_fast(self, instruction: _Instruction) -> None:
        stored, loaded = instruction.value
        (self._known[stored],) = self._pop()
        self._stack.append(self._known.get(loaded))

    def _store_deref(self, instruction: _Instruction) -> None:
        (self._known[instruction.value],) = self._pop()
        self._delete_deref(instruction)

    def _delete_deref(self, instruction: _Instruction) -> None:
        if instruction.value in self._cells:
            self._refuse(f"The variable '{instruction.value}' of an outer function is assigned")

    def _store_global(self, instruction: _Instruction) -> None:
        self._refuse(f"The global '{instruction.value}' is assigned")

    # -- attributes and items ----------------------------------------------------------------------

    def _load_attr(self, instruction: _Instruction) -> None:
        (owner,) = self._pop()
        self._stack.append(self._outside.attribute(owner, instruction.value))
        if instruction.effect > 0:
            self._stack.append(None)

    def _store_attr(self, instruction: _Instruction) -> None:
        owner = self._pop(-instruction.effect)[-1]
        if _outside(owner) is not None:
            self._refuse(
                f"The attribute '{instruction.value}' of an object from outside is assigned"
            )

    def _binary_subscr(self, instruction: _Instruction) -> None:
        container, key = self._pop(2)
        self._stack.append(self._outside.item(container, key))

    def _binary_slice(self, instruction: _Instruction) -> None:
        container, _, _ = self._pop(3)
        self._stack.append(self._outside.item(container, _SLICE))

    def _build_slice(self, instruction: _Instruction) -> None:
        self._pop(instruction.argument)
        self._stack.append(_SLICE)

    def _store_subscr(self, instruction: _Instruction) -> None:
        self._store_item(self._pop(3)[1])

    def _delete_subscr(self, instruction: _Instruction) -> None:
        self._store_item(self._pop(2)[0])

    def _store_slice(self, instruction: _Instruction) -> None:
        self._store_item(self._pop(4)[1])

    def _store_item(self, container: Any) -> None:
        outer = _outside(container)
        if outer is not None:
            self._refuse_change(outer, "An item of an object from outside is assigned")

    def _binary_op(self, instruction: _Instruction) -> None:
        left, _ = self._pop(2)
        outer = _outside(left)
        if outer is not None and instruction.argument >= 13 and _is_changed(outer):  # in place
            self._refuse_change(outer, "An object from outside is changed in place")
        self._stack.append(None)

    def _for_iter(self, instruction: _Instruction) -> None:
        self._stack.append(self._outside.item(self._stack[-1] if self._stack else None, None))

    def _unpack_sequence(self, instruction: _Instruction) -> None:
        (value,) = self._pop()
        self._stack += [self._outside.item(value, None)] * instruction.argument

    def _copy(self, instruction: _Instruction) -> None:
        self._stack.append(([None] * instruction.argument + self._stack)[-instruction.argument])

    def _swap(self, instruction: _Instruction) -> None:
        stack, k = self._stack, instruction.argument
        if k <= len(stack):
            stack[-1], stack[-k] = stack[-k], stack[-1]

    # -- calls -----------------------------------------------------------------------------------

    def _kw_names(self, instruction: _Instruction) -> None:
        self._keywords = self._code.co_consts[instruction.argument]

    def _call_kw(self, instruction: _Instruction) -> None:
        (names,) = self._pop()
        self._keywords = names.value if isinstance(names, _Constant) else ()
        self._call(instruction)

    def _call(self, instruction: _Instruction) -> None:
        # A function and nothing, or nothing and a function, by the version of Python.
        first, second, *given = self._pop(instruction.argument + 2)
        callee = second if first is None else first
        count = len(given) - len(self._keywords)
        named = dict(zip(self._keywords, given[count:], strict=True))
        self._keywords = ()
        self._check_call(callee, given[:count], named)
        self._stack.append(self._outside._call(callee, given[:count], named))

    def _check_call(self, callee: Any, positional: list[Any], named: dict[str, Any]) -> None:
        first = _outside(positional[0]) if positional else None
        if isinstance(callee, _Method):
            outer, name = callee.receiver, callee.name
            is_unknown = outer.value is _UNKNOWN
            is_container = isinstance(outer.value, _CONTAINERS)
            if (is_unknown and name in _CHANGES_UNKNOWN) or (is_container and name in _CHANGES):
                self._refuse_change(outer, f"'{name}' changes an object from outside")
        elif isinstance(callee, _Outer) and first is not None:
            if any(callee.value is own for own in (setattr, delattr)):
                self._refuse("An attribute of an object from outside is assigned")
            if any(callee.value is own for own in _WRITERS):
                self._refuse_change(first, "An object from outside is written to")
            if callee.value is next:
                self._refuse("'next' moves an iterator from outside")
        out = _outside(named.get("out"))
        if out is not None and isinstance(out.value, np.ndarray):
            self._refuse_change(out, "")

    def _refuse_change(self, outer: _Outer, sentence: str) -> None:
        if is_array(outer.value):
            location = location_of(self._code, self._offset, self._globals)
            raise unsupported(
                "An array from outside of the fused function is written to.",
                "pass it as an argument.", location,
            )  # fmt: skip
        self._refuse(sentence)

    def _refuse(self, sentence: str) -> None:
        location = location_of(self._code, self._offset, self._globals)
        raise unsupported(f"{sentence} in a fused function.", _HINT, location)


def _is_changed(outer: _Outer) -> bool:
    """Whether an operator in place changes a value, and makes no new one."""
    return isinstance(outer.value, _CONTAINERS)


def _refuse_attribute(name: str) -> None:
    sentence = f"The attribute '{name}' of an object from outside is assigned"
    raise unsupported(f"{sentence} in a fused function.", _HINT)


def _is_besides(frame: types.FrameType | None) -> bool:
    """Whether a module that is imported, or an object that ends, is what calls a function."""
    while frame is not None and not is_own(frame.f_code):
        if frame.f_code.co_name in ("<module>", "__del__"):
            return True
        frame = frame.f_back
    return False
