"""What a function's meaning depends on besides its own text: the values that it finds in closures,
modules and classes.

While a function is lowered, `Lookups` records each of them by the path that leads there. A record
is recorded as a description, which a later process compares with what it finds at the same path. A
description has all that lowering can see of a value; what has none, such as an instance of a user's
class, makes the record unfit for the cache. Modules and classes are looked through and not
described: what counts is the attribute at the end of the path.
"""

from __future__ import annotations

import ast
import builtins
import functools
import hashlib
import marshal
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneltk.core import dtypes
from kerneltk.errors import SourceError

Fact = tuple[int, tuple[str, ...], str]
"""A function by its number, a path of names from it, the description of what is found there."""

MOST_BYTES = 1 << 20
"""Of an array that is described."""

_MOST_DEPTH = 16
_MOST_ITEMS = 4096


# -- values ----------------------------------------------------------------------------------------


# Attributes by which lowering takes a function for another one, or for more than a function.
_MEANINGFUL = frozenset(("jit_function", "makes_device_function", "value_rule", "instead"))
_NATIVE = (types.BuiltinFunctionType, np.ufunc, type(np.sum))  # the last is NumPy's dispatcher


class Descriptions:
    """Describes values, and numbers the functions among them in the order in which they come."""

    def __init__(self, root: types.FunctionType) -> None:
        self.functions: list[types.FunctionType] = []
        self.texts: dict[str, str] = {}  # of the functions, by path
        self.root = self._of_function(root, has_defaults=False)

    def of(self, value: object, depth: int = 0) -> str:
        """Describe a value; raises UndescribedError for one whose meaning is not plain."""
        kind = type(value)
        plain = dtypes.PLAIN.get(kind)
        if plain is not None:
            return plain(value)
        if isinstance(value, types.FunctionType):
            return self._of_function(value)
        if depth > _MOST_DEPTH:
            raise dtypes.UndescribedError(value)
        if isinstance(value, tuple | list | dict) and kind in (tuple, list, dict):
            return self._of_items(value, depth)
        if kind is np.ndarray or (isinstance(value, np.generic) and kind is value.dtype.type):
            return _of_array(value)
        if isinstance(value, np.dtype):
            return f"d{dtypes.described_dtype(value)}"
        if isinstance(value, type):
            return dtypes.known_object(value, value.__module__)
        if kind.__module__.startswith(f"{dtypes.JIT}."):
            inner = getattr(value, "jit_function", None)
            if isinstance(inner, types.FunctionType):
                types_of_calls = self.of(getattr(value, "jit_types", None))
                described = f"{self._of_function(inner)},{types_of_calls}"
                return f"{kind.__module__}.{kind.__name__}({described})"
            return dtypes.known_object(value, dtypes.JIT)
        if isinstance(value, _NATIVE):
            return dtypes.known_object(value, getattr(value, "__module__", None) or "numpy")
        raise dtypes.UndescribedError(value)

    def _of_items(self, value: Any, depth: int) -> str:
        if len(value) > _MOST_ITEMS:
            raise dtypes.UndescribedError(value)
        if isinstance(value, dict):
            value = [item for pair in value.items() for item in pair]
            return f"{{{','.join([self.of(item, depth + 1) for item in value])}}}"
        items = ",".join([self.of(item, depth + 1) for item in value])
        return f"({items})" if isinstance(value, tuple) else f"[{items}]"

    def _of_function(self, function: types.FunctionType, *, has_defaults: bool = True) -> str:
        for number, known in enumerate(self.functions):
            if known is function:
                return f"F{number}"
        self.functions.append(function)
        if function.__dict__ and not _MEANINGFUL.isdisjoint(function.__dict__):
            raise dtypes.UndescribedError(function)
        from kerneltk.jit.source.function_source import text_of  # who lowers nothing needs none

        try:
            path, text = text_of(function)
            code = marshal.dumps(function.__code__, 2)  # of which equal code makes equal bytes
        except (SourceError, ValueError):
            raise dtypes.UndescribedError(function) from None
        self.texts[path] = text
        digest = hashlib.sha256(code)
        digest.update(_digest_of(text))
        digest.update(dtypes.of_string(path).encode("utf-8", "surrogatepass"))
        digest.update(function.__name__.encode("utf-8", "surrogatepass"))
        found = f"F{len(self.functions) - 1}:{digest.hexdigest()}"
        if has_defaults and (function.__defaults__ or function.__kwdefaults__):
            found += self.of((function.__defaults__, function.__kwdefaults__))
        return found


@functools.lru_cache(maxsize=64)
def _digest_of(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _of_array(value: Any) -> str:
    dtype = value.dtype
    if value.nbytes > MOST_BYTES or dtype.hasobject or dtype.kind not in "biufcV":
        raise dtypes.UndescribedError(value)
    digest = hashlib.sha256(value.tobytes()).hexdigest()
    layout = (value.shape, value.strides, value.flags.writeable, type(value) is np.ndarray)
    return f"a{dtypes.described_dtype(dtype)}{layout}{digest}"


# -- what is found while a function is lowered -----------------------------------------------------


class _Lookup:
    """What was found at a path of names from a function; `uses` counts those of the value itself,
    and not of an attribute.
    """

    __slots__ = ("owner", "path", "uses", "value")

    def __init__(self, owner: types.FunctionType, path: tuple[str, ...], value: object) -> None:
        self.owner, self.path, self.value, self.uses = owner, path, value, 0


class Lookups:
    """Records what lowering finds outside of functions, in the order in which it asks."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, tuple[str, ...]], _Lookup] = {}
        self._before: dict[tuple[int, tuple[str, ...]], str] = {}
        self._last: _Lookup | None = None
        self._is_plain = True

    def note_attribute(self, node: ast.Attribute, whose: object, value: object) -> None:
        """Note what an object has for an attribute. A base that was only looked through for it
        counts no more.
        """
        base = self._last
        if isinstance(node.value, ast.Name | ast.Attribute) and base and base.value is whose:
            base.uses -= 1
            self.note(base.owner, (*base.path, node.attr), value)
            return
        self._last = None
        if not _has_fixed_attributes(whose):
            self.give_up()

    def begin(self) -> None:
        """Begin to evaluate what an attribute is asked of."""
        self._last = None

    def give_up(self) -> None:
        """Note that something was found whose meaning may be another one in another process."""
        self._is_plain = False

    def note_compared(self, *values: object) -> None:
        """Note that objects were compared: those that Python compares by identity, or tells by it
        before it compares, may be others in another process.
        """
        if not all(map(_is_compared_by_value, values)):
            self.give_up()

    def note(self, owner: types.FunctionType, path: tuple[str, ...], value: object) -> None:
        """Note what is found at a path of names from a function."""
        key = id(owner), path
        known = self._found.get(key)
        if known is None:
            known = self._found[key] = _Lookup(owner, path, value)
        elif known.value is not value and not _are_equal(known.value, value):
            self.give_up()  # another thread changes it meanwhile
        known.uses += 1
        self._last = known
        if isinstance(value, list | dict | np.ndarray) and key not in self._before:
            try:
                self._before[key] = Descriptions(owner).of(value)
            except dtypes.UndescribedError:
                self.give_up()

    def facts(self, root: types.FunctionType) -> tuple[list[Fact], Descriptions] | None:
        """Return facts about what the lowered functions depend on; None where it is unknown."""
        if not self._is_plain:
            return None
        facts: list[Fact] = []
        try:
            described = Descriptions(root)
            for key, found in self._found.items():
                if found.uses <= 0:
                    continue
                # By identity: functions are equal to nothing else.
                owner = next(
                    (k for k, f in enumerate(described.functions) if f is found.owner), None
                )
                if owner is None:
                    return None
                description = described.of(found.value)
                before = self._before.get(key)
                if before is not None and before != Descriptions(found.owner).of(found.value):
                    return None
                facts.append((owner, found.path, description))
        except dtypes.UndescribedError:
            return None
        return facts, described


def _are_equal(first: object, second: object) -> bool:
    """Whether two values that were found one after the other are numbers or strings of one value:
    properties make a new object each time.
    """
    plain = dtypes.PLAIN.get(type(first))
    return plain is not None and type(first) is type(second) and plain(first) == plain(second)


def _is_compared_by_value(value: object, depth: int = 0) -> bool:
    if isinstance(value, tuple | list | dict) and type(value) in (tuple, list, dict):
        items = [*value, *value.values()] if isinstance(value, dict) else value
        return depth <= _MOST_DEPTH and all(
            _is_compared_by_value(item, depth + 1) for item in items
        )
    if isinstance(value, np.generic):
        value = value.item()
    return type(value) in dtypes.PLAIN and (depth == 0 or value == value)


def _has_fixed_attributes(value: object) -> bool:
    """Whether what an object has for an attribute follows from its description, or from lowering
    itself.
    """
    if isinstance(value, types.FunctionType | types.ModuleType) or hasattr(value, "jit_function"):
        return False
    if isinstance(value, np.ndarray):
        return False  # where its memory is, and whose, does not
    kind = value if isinstance(value, type) else type(value)
    return kind.__module__ in dtypes.LIBRARIES or kind.__module__.startswith(f"{dtypes.JIT}.")


# -- what is found later ---------------------------------------------------------------------------


def are_current(facts: Sequence[Fact], described: Descriptions) -> bool:
    """Whether each path leads to what it led to. `described` has the root function and no other."""
    try:
        for owner, path, description in facts:
            if owner >= len(described.functions):
                return False
            value = global_of(described.functions[owner], path[0])
            value = functools.reduce(getattr, path[1:], value)
            if described.of(value) != description:
                return False
    except Exception:  # of a property, anything: lowering says what is wrong, if anything is
        return False
    return True


def global_of(function: types.FunctionType, name: str) -> Any:
    """What a name that is not a function's own means in it. Raises LookupError where it means
    nothing, and ValueError for a variable of a closure that has no value yet.
    """
    free = function.__code__.co_freevars
    if name in free:
        return (function.__closure__ or ())[free.index(name)].cell_contents
    scope = function.__globals__
    return scope[name] if name in scope else vars(builtins)[name]
