"""The backends that there are: whose arrays they take, and how each is loaded when it is needed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any, NamedTuple

from kerneltk.backends.base import Backend, Compiler
from kerneltk.core.artifacts import BackendName, Capabilities, Target, TranslationUnit
from kerneltk.errors import ArgumentValueError, BackendUnavailableError


class Registration(NamedTuple):
    """A backend that can be loaded.

    Parameters
    ----------
    capabilities : Capabilities
    library, array_type : str
        The module of its arrays, and their class in it. There are none before it is imported.
    load : callable
        Makes the backend; raises BackendUnavailableError.
    compiler : callable
        ``compiler(unit, target)`` returns what compiles a unit and the `Target`, needing no
        device; raises ValueError for a target that it does not know.
    array_library : callable
        Returns the module whose functions make its arrays; raises BackendUnavailableError where
        this machine cannot run it.
    """

    capabilities: Capabilities
    library: str
    array_type: str
    load: Callable[[], Backend]
    compiler: Callable[[TranslationUnit, str], tuple[Compiler, Target]]
    array_library: Callable[[], ModuleType]

    def owns(self, value: object) -> bool:
        """Return whether a value is one of its arrays."""
        # A library that another thread is importing, or a stub of it, may lack the class.
        kind = getattr(sys.modules.get(self.library), self.array_type, None)
        return isinstance(kind, type) and isinstance(value, kind)


_registered: list[Registration] = []  # in the order in which they are asked
_loaded: dict[BackendName, Backend] = {}


def register(registration: Registration) -> None:
    """Add a backend. Of two that take an array, the one that was registered later gets it; the
    fallback comes last.
    """
    _registered[:] = sorted([registration, *_registered], key=lambda r: r.capabilities.is_fallback)


def names() -> tuple[BackendName, ...]:
    """Return the backends' names, the fallback's first."""
    return tuple(one.capabilities.name for one in reversed(_registered))


def _registration(name: BackendName) -> Registration:
    for one in _registered:
        if one.capabilities.name == name:
            return one
    *others, last = map(repr, names())
    raise ArgumentValueError(f"'backend' must be {', '.join(others)} or {last}, not {name!r}.")


def capabilities_of(name: BackendName) -> Capabilities:
    """Return a backend's capabilities; raises ArgumentValueError for a name that none has."""
    return _registration(name).capabilities


def capabilities_of_target(target: str) -> Capabilities:
    """Return the capabilities of the backend that a target is one of: a backend's name, or an
    architecture such as ``"sm_90"``.
    """
    known = [one.capabilities for one in _registered]
    own = (c for c in known if c.name == target)
    return next(own, None) or next(c for c in known if c.has_architectures)


def compiler_for(unit: TranslationUnit, target: str) -> tuple[Compiler, Target]:
    """The compiler of a unit, which needs no device, and the target in full. Raises ValueError for
    a target that it does not know, and BackendUnavailableError if it is not installed.
    """
    return _registration(unit.backend).compiler(unit, target)


def array_library(name: BackendName) -> ModuleType:
    """Return the library whose arrays a backend takes: NumPy for the host, CuPy for CUDA. Raises
    BackendUnavailableError where the library, its driver or a device is missing.
    """
    return _registration(name).array_library()


def backend_named(name: BackendName | None) -> Backend:
    """The backend of a name, loaded once, or :func:`default_backend`. Raises
    BackendUnavailableError if what it needs is not installed.
    """
    if name is None:
        return default_backend()
    found = _loaded.get(name)
    return found if found is not None else _loaded.setdefault(name, _registration(name).load())


def default_backend() -> Backend:
    """Return where a kernel without any array argument runs.

    That is the GPU in a program that has imported CuPy and has one, as CuPy's own kernels would,
    and the host elsewhere.
    """
    for one in _registered:
        if one.library in sys.modules and not one.capabilities.is_fallback:
            with suppress(BackendUnavailableError):
                return backend_named(one.capabilities.name)
    return backend_named(names()[0])


def backend_of(value: Any) -> Backend | None:
    """Return the backend whose own arrays `value` is one of, or None."""
    for one in _registered:
        if one.owns(value):
            return backend_named(one.capabilities.name)
    return None
