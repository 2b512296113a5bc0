"""What a trace has seen outside, and whether it would see the same again.

Objects are known by their identity, without keeping them alive: what a trace has seen of an
argument may lead back to it. Where one has ended, nothing else is it. Containers whose end nobody
tells are known by their address and by what they hold.
"""

from __future__ import annotations

import contextlib
import operator
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

MISSING = object()
PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic)

Reader = Callable[[Any], Any]
Asked: TypeAlias = set[tuple[int, int]]
"""Which objects were compared with what a trace has seen, by identity: some lead to themselves."""


def is_plain(value: Any) -> bool:
    """Whether there is nothing to be read of a value, as there may be of a subclass's."""
    kind = type(value)
    return kind in PLAIN or (isinstance(value, np.generic) and kind is not np.void)


def constant_kind(value: Any) -> Any:
    """What a constant is known by. ``(1,) == (1.0,)``, ``0.0 == -0.0`` and ``Decimal("1.0") ==
    Decimal("1.00")``, but they are other constants. Objects that are equal to themselves alone are
    not kept alive by it.
    """
    kind = type(value)
    if isinstance(value, tuple):
        return kind, tuple(map(constant_kind, value))
    if isinstance(value, frozenset):
        return kind, frozenset(map(constant_kind, value))
    if isinstance(value, float):
        return kind, float.__repr__(value)
    if isinstance(value, complex):
        return kind, complex.__repr__(value)
    if isinstance(value, np.generic):
        return kind, value.dtype, repr(value)
    if kind is range:
        return kind, value.start, value.stop, value.step
    if kind is types.MethodType:
        return kind, constant_kind(value.__func__), constant_kind(value.__self__)
    for base in kind.__mro__:
        if base.__module__ in _REPRESENTED:
            represented: Any = base.__repr__
            return kind, value, represented(value)
    if all(getattr(kind, name) is getattr(object, name) for name in ("__hash__", "__eq__")):
        with contextlib.suppress(TypeError):  # some have no weak references
            return kind, weakref.ref(value)
    return kind, value


def objects_in(key: Any) -> Iterator[Any]:
    """The objects whose end is that of a key of constants."""
    if isinstance(key, tuple | frozenset):
        for item in key:
            yield from objects_in(item)
    elif type(key) is weakref.ref:
        yield key()


_REPRESENTED = ("decimal", "datetime")  # equal ones of these may have other digits or zones


def is_same(found: Any, value: Any) -> bool:
    """Whether two values mean the same, but for what is within them."""
    if found is value:
        return True
    if type(found) is not type(value) or not isinstance(found, PLAIN):
        return False
    if isinstance(value, str | bytes):
        return bool(found == value)
    # No number is equal to itself: by which object it is, containers tell it.
    return bool(constant_kind(found) == constant_kind(value)) and bool(value == value)


class Seen:
    """A value as the trace has seen it: which one it is, and what was read of it.

    Attributes
    ----------
    identity : int
        Its address; 0 where another one may be the same, and is to be asked for.
    parts : list of (reader, Seen)
    """

    __slots__ = ("_kept", "identity", "parts")

    def __init__(self, value: Any, *, is_kept: bool = True) -> None:
        self.identity = id(value)
        self.parts: list[tuple[Reader, Seen]] = []
        try:
            self._kept: Any = weakref.ref(value, self._end)
        except TypeError:
            self._kept = (value,) if is_kept else None

    def _end(self, _: Any) -> None:
        self.identity = 0

    @property
    def value(self) -> Any:
        """The value, while it is there."""
        kept = self._kept
        if kept is None:
            return MISSING
        return kept[0] if type(kept) is tuple else kept()

    @property
    def is_whole(self) -> bool:
        """Whether asking which one it is is all there is to do."""
        return not self.parts and self.identity != 0 and self._kept is not None

    def holds(self, found: Any, asked: Asked) -> bool:
        """Whether the trace would see the same in another value."""
        return id(found) == self.identity and self.parts_hold(found, asked)

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
            if (id(inner) != part.identity or part.parts) and not part.holds(inner, asked):
                return False
        return True


class Plain(Seen):
    """A number, a string, or the like: another object may be the same."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self.identity = id(value)
        self.parts = []
        self._value = value

    @property
    def value(self) -> Any:
        """The value."""
        return self._value

    @property
    def is_whole(self) -> bool:
        """Whether asking which one it is is all there is to do."""
        return True

    def holds(self, found: Any, asked: Asked) -> bool:
        """Whether it is the same."""
        return is_same(found, self._value)


class Fresh(Seen):
    """What is compared by what it is made of, and not by which object it is."""

    __slots__ = ()

    def __init__(self) -> None:
        self.identity = 0
        self.parts = []
        self._kept = None

    def parts_hold(self, found: Any, asked: Asked) -> bool:
        """Whether the trace would see the same in what it has read of a value."""
        return self.holds(found, asked)


class Never(Fresh):
    """What is another thing at each call, such as where an iterator stands."""

    __slots__ = ()

    def holds(self, found: Any, asked: Asked) -> bool:
        """No call sees the same."""
        return False


class Equal(Fresh):
    """What is compared by ``==``."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        super().__init__()
        self._value = value

    def holds(self, found: Any, asked: Asked) -> bool:
        """Whether it is equal."""
        return bool(found == self._value)


class PlainItems(Fresh):
    """Numbers and strings, in their order."""

    __slots__ = ("_items",)

    def __init__(self, items: tuple[Any, ...]) -> None:
        super().__init__()
        self._items = items

    def holds(self, found: Sequence[Any], asked: Asked) -> bool:
        """Whether all are the same."""
        own = self._items
        return len(found) == len(own) and (
            all(map(operator.is_, found, own)) or all(map(is_same, found, own))
        )


class Items(Fresh):
    """The items of a container, in their order."""

    __slots__ = ("_items",)

    def __init__(self, items: Sequence[Seen]) -> None:
        super().__init__()
        self._items = items

    def holds(self, found: Sequence[Any], asked: Asked) -> bool:
        """Whether all are the same."""
        if len(found) != len(self._items):
            return False
        for inner, part in zip(found, self._items, strict=True):
            if (id(inner) != part.identity or part.parts) and not part.holds(inner, asked):
                return False
        return True


class Names(Fresh):
    """Entries of a namespace by their names, and the names that it has not.

    Parameters
    ----------
    parts : dict
    absent : collection of str
    keys : tuple of str, optional
        All names that it has, where others matter, too.
    """

    __slots__ = ("_absent", "_keys", "_parts")

    def __init__(
        self, parts: dict[str, Seen], absent: Iterable[str], keys: tuple[str, ...] | None = None
    ) -> None:
        super().__init__()
        self._parts = list(parts.items())
        self._absent = frozenset(absent)
        self._keys = keys

    def holds(self, found: Any, asked: Asked) -> bool:
        """Whether it has the same entries."""
        if found is None or (self._absent and not found.keys().isdisjoint(self._absent)):
            return False
        if self._keys is not None and tuple(found) != self._keys:
            return False
        for name, part in self._parts:
            inner = found.get(name, MISSING)
            if (id(inner) != part.identity or part.parts) and not part.holds(inner, asked):
                return False
        return True


class Whole(Seen):
    """What is always asked for more than which object it is."""

    __slots__ = ("_address",)

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.identity, self._address = 0, self.identity

    def _end(self, _: Any) -> None:
        self._address = 0

    @property
    def is_whole(self) -> bool:
        """Whether asking which one it is is all there is to do."""
        return False

    def holds(self, found: Any, asked: Asked) -> bool:
        """Whether the trace would see the same in another value."""
        return id(found) == self._address and self.parts_hold(found, asked)


class Function(Whole):
    """A function of Python's: its code and its defaults, beside what was read of it."""

    __slots__ = ("_code", "_defaults", "_keywords")

    def __init__(self, function: types.FunctionType) -> None:
        super().__init__(function)
        self._code = function.__code__
        self._defaults = function.__defaults__
        self._keywords = function.__kwdefaults__

    @property
    def only_code(self) -> types.CodeType | None:
        """Its code, if asking which one it is, and for that, is all there is to do."""
        is_all = not self.parts and self._defaults is None and self._keywords is None
        return self._code if is_all else None

    def parts_hold(self, found: Any, asked: Asked) -> bool:
        """Whether the trace would see the same in what it has read of a function."""
        return (
            found.__code__ is self._code
            and found.__defaults__ is self._defaults
            and found.__kwdefaults__ is self._keywords
            and (not self.parts or super().parts_hold(found, asked))
        )


class Class(Whole):
    """A class of the user's by its own entries: those that are named, and special methods, which
    operators call without naming them.
    """

    __slots__ = ("_entries", "_names", "_special")

    def __init__(self, kind: type) -> None:
        super().__init__(kind)
        self._names = tuple(vars(kind))
        self._special = special_names(kind)
        self._entries: Names = Names({}, ())

    def set_entries(self, entries: Names) -> None:
        """Say what is asked for; a class leads to itself, and is made before that is known."""
        self._entries = entries

    def parts_hold(self, found: Any, asked: Asked) -> bool:
        """Whether it has the same entries."""
        key = id(self), id(found)
        if key in asked:
            return True
        asked.add(key)
        own = vars(found)
        names = tuple(own)
        if names != self._names:
            if special_names(found) != self._special:
                return False
            self._names = names
        return self._entries.holds(own, asked)


class Classes(Fresh):
    """A class with all that it has its attributes from."""

    __slots__ = ("_classes", "_order")

    def __init__(self, kind: type, classes: Sequence[tuple[type, Class]]) -> None:
        super().__init__()
        self._order = kind.__mro__
        self._classes = classes

    def holds(self, found: Any, asked: Asked) -> bool:
        """Whether it is the same class, of the same classes, and these have the same entries."""
        return found.__mro__ is self._order and all(
            part.holds(kind, asked) for kind, part in self._classes
        )


def special_names(kind: type) -> list[str]:
    """The names of the special methods that a class defines."""
    return [name for name, item in list(vars(kind).items()) if is_special(name, item)]


def is_special(name: str, item: Any) -> bool:
    """Whether an entry of a class may be called without being named."""
    return (
        name.startswith("__")
        and name not in ("__dict__", "__weakref__")
        and (callable(item) or hasattr(item, "__get__") or name == "__match_args__")
    )
