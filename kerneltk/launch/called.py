"""The base of kernels' classes, by which their common calls go to a launcher without a detour.

It is the extension module's where that was built with the package. Else calls are Python's own,
with the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import index
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, SupportsIndex, TypeVar

from kerneltk.core.records import lasting_lock
from kerneltk.launch import launcher_sources

CallKind = Literal["by count", "reduces", "on grid", "configured", "shortcut"]
"""How a common call finds what launches: in a list by the number of arguments; the same, with one
output as the keyword `out`; as the dispatcher's last launcher, for a grid, a block and a tuple of
arguments; as the launcher's, with the grid and block that the object has; as the last shortcut.
"""

_KINDS = ("by count", "reduces", "on grid", "configured", "shortcut")  # the order of C's


def _built() -> ModuleType | None:
    """The module that was built from the sources as they are, and not from others before them."""
    try:
        from kerneltk.launch import _launcher  # type: ignore[attr-defined]
    except ImportError:
        return None
    module: ModuleType = _launcher
    try:
        is_current = getattr(module, "SOURCES", None) == launcher_sources.digest()
    except OSError:  # the sources are not there, so that it is unknown
        return None
    return module if is_current else None


_module = _built()


def built_module() -> ModuleType | None:
    """The extension module that was built with the package, if there is one of its sources."""
    return _module


if TYPE_CHECKING or _module is None:

    class Called:
        """The base of kernels' classes."""

        __slots__ = ("_shortcut", "_shortcut_out")
        _call_kind: ClassVar[int]

else:

    class Called(_module.Called):
        """The base of kernels' classes."""

        __slots__ = ("_shortcut", "_shortcut_out")  # calls read them
        _call_kind: ClassVar[int]

        def __getstate__(self) -> object:
            """The attributes, as of any object: the default refuses bases in C that have state."""
            return object.__getstate__(self)

        def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
            """As for protocols from 2 on: older ones give the object to its first base in C."""
            return object.__reduce_ex__(self, max(index(protocol), 2))


C = TypeVar("C", bound=type[Any])


def common_calls(kind: CallKind) -> Callable[[C], C]:
    """Decorate a subclass of `Called` whose method ``__call__`` does what the kind says."""

    def decorate(decorated: C) -> C:
        decorated._call_kind = _KINDS.index(kind)
        decorated._common_call = decorated.__call__  # another may be set later
        if _module is not None:
            _module.call_by_kind(decorated)
        return decorated

    return decorate


_users = 0
_counting = lasting_lock()


@contextmanager
def by_methods() -> Iterator[None]:
    """A context in which the calls of all threads are those of the classes' methods."""
    _count(1)
    try:
        yield
    finally:
        _count(-1)


def _count(more: int) -> None:
    global _users
    with _counting:
        _users += more
        if _module is not None:
            _module.call_methods(_users > 0)
