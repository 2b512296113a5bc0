"""Unit -> cache or compile -> load -> function. Every front-end's only way to object code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from kerneltk.backends import base
from kerneltk.backends.base import Backend, Compiler, Function, Module
from kerneltk.cache.derived import NOT_READ, Entry
from kerneltk.cache.fingerprint import Trace, searched_directories, trace
from kerneltk.core.artifacts import ObjectCode, Target, TranslationUnit
from kerneltk.core.records import lasting_lock
from kerneltk.errors import KernelToolkitError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_functions: dict[tuple[str, int], Function] = {}
_modules: dict[tuple[str, int], tuple[Module, ObjectCode]] = {}
# A unit is compiled once, whichever thread asks: its key chooses one of these.
_locks = [lasting_lock() for _ in range(64)]


def _lock_of(key: str) -> Any:
    return _locks[int(key[:2], 16) % len(_locks)]


def key_of(unit: TranslationUnit, backend: Compiler, target: Target) -> str:
    """The key of a unit's object code in the cache."""
    return trace_of(unit, backend, target).key


def _kept(key: str) -> ObjectCode | None:
    """The object code that the cache has; None for nothing, or what another version wrote."""
    data = Entry("object code", key).get()
    try:
        return None if data is None else ObjectCode.from_bytes(data)
    except NOT_READ:  # written by another version under the same key: compile and replace it
        return None


def _build(unit: TranslationUnit, backend: Compiler, target: Target, key: str) -> ObjectCode:
    code = _kept(key)
    if code is None:
        code = backend.compile(unit, target)
        if key_of(unit, backend, target) == key:  # else the compiler may have read other headers
            Entry("object code", key).put(code.to_bytes())
    return code


def build(unit: TranslationUnit, backend: Compiler, target: Target) -> ObjectCode:
    """A unit's object code, from the cache or from the compiler.

    Raises CompileError where the compiler refuses the source, and BackendUnavailableError where
    there is none.
    """
    key = key_of(unit, backend, target)
    with _lock_of(key):
        return _build(unit, backend, target, key)


def compile_ahead(unit: TranslationUnit, target: str) -> ObjectCode:
    """A unit's object code for an architecture such as ``"sm_90"``, or for ``"host"``; needs no
    device.

    Raises as :func:`build`, and ValueError for an architecture that the compiler does not know.
    """
    return build(unit, *base.compiler_for(unit, target))


def _loaded(
    known: dict[tuple[str, int], T],
    key: str,
    backend: Backend,
    make: Callable[[], ObjectCode | None],
    load: Callable[[ObjectCode], T],
) -> T | None:
    """What is loaded on the current device by a key: made and loaded once; None where nothing is
    made.
    """
    slot = (key, backend.device_key())
    found = known.get(slot)
    if found is None:
        with _lock_of(key):
            found = known.get(slot)
            if found is None:
                code = make()
                if code is not None:
                    found = known[slot] = load(code)
    return found


def _module_of(
    key: str, backend: Backend, make: Callable[[], ObjectCode | None]
) -> tuple[Module, ObjectCode] | None:
    def load(code: ObjectCode) -> tuple[Module, ObjectCode]:
        return backend.load_module(code, is_private=False), code

    return _loaded(_modules, key, backend, make, load)


def get_module(unit: TranslationUnit, backend: Backend) -> tuple[Module, ObjectCode]:
    """The module of a user's own source, loaded on the current device, and its object code. Raises
    as :func:`build`.
    """
    return OnDevice(backend).make(unit, key_of(unit, backend, backend.target(unit)))


def get_function(unit: TranslationUnit, backend: Backend) -> Function:
    """A unit's function, loaded on the current device. Raises as :func:`build`."""
    return traced_function(unit, backend)[0]


def traced_function(unit: TranslationUnit, backend: Backend) -> tuple[Function, Trace | None]:
    """A unit's function, loaded on the current device; and its trace, if that was done now. Raises
    as :func:`build`.
    """
    target = backend.target()
    traced = trace_of(unit, backend, target)
    is_loaded = (traced.key, backend.device_key()) in _functions
    make = partial(_build, unit, backend, target, traced.key)
    found = _loaded(_functions, traced.key, backend, make, backend.load)
    assert found is not None
    return found, None if is_loaded else traced


def kept_function(key: str, backend: Backend) -> Function | None:
    """The function of a unit of this key, loaded on the current device; None where the cache does
    not have its object code.
    """
    return _loaded(_functions, key, backend, partial(_kept, key), backend.load)


# -- units that need not be there ------------------------------------------------------------------


class Making(Protocol[T_co]):
    """What units are made into."""

    def compiler(self, unit: TranslationUnit) -> tuple[Compiler, Target]:
        """Return the compiler of a unit, and its target. Raises as :func:`compile_ahead`."""

    def make(self, unit: TranslationUnit, key: str) -> T_co:
        """Return the compiled unit of this key. Raises as :func:`build`."""

    def recall(self, key: str) -> T_co | None:
        """Return it without the unit; None where the cache does not have its object code."""

    def own_error(self, error: KernelToolkitError) -> KernelToolkitError:
        """Return an error as :meth:`Backend.own_error` does."""


class Ahead:
    """Object code for a target, which needs no device."""

    def __init__(self, target: str) -> None:
        self._target = target

    def compiler(self, unit: TranslationUnit) -> tuple[Compiler, Target]:
        """Return the compiler of a unit, and its target. Raises as :func:`compile_ahead`."""
        return base.compiler_for(unit, self._target)

    def make(self, unit: TranslationUnit, key: str) -> ObjectCode:
        """Return the object code of a unit of this key. Raises as :func:`build`."""
        with _lock_of(key):
            return _build(unit, *self.compiler(unit), key)

    def recall(self, key: str) -> ObjectCode | None:
        """Return the object code of this key; None where the cache does not have it."""
        return _kept(key)

    def own_error(self, error: KernelToolkitError) -> KernelToolkitError:
        """Return the error: no backend is asked."""
        return error


class OnDevice:
    """A module that is loaded on the current device, with its object code.

    Parameters
    ----------
    is_private : bool
        Whether it is loaded anew, so that its variables are no other module's.
    """

    def __init__(self, backend: Backend, is_private: bool = False) -> None:
        self._backend = backend
        self._is_private = is_private

    def _load(
        self, key: str, make: Callable[[], ObjectCode | None]
    ) -> tuple[Module, ObjectCode] | None:
        if not self._is_private:
            return _module_of(key, self._backend, make)
        with _lock_of(key):
            code = make()
        return None if code is None else (self._backend.load_module(code), code)

    def compiler(self, unit: TranslationUnit) -> tuple[Compiler, Target]:
        """Return the backend's compiler of a unit, and the target."""
        return self._backend, self._backend.target(unit)

    def make(self, unit: TranslationUnit, key: str) -> tuple[Module, ObjectCode]:
        """Return the module of a unit of this key. Raises as :func:`build`."""
        backend = self._backend
        found = self._load(key, partial(_build, unit, backend, backend.target(unit), key))
        assert found is not None
        return found

    def recall(self, key: str) -> tuple[Module, ObjectCode] | None:
        """Return the module of this key; None where the cache does not have its object code."""
        return self._load(key, partial(_kept, key))

    def own_error(self, error: KernelToolkitError) -> KernelToolkitError:
        """Return an error as :meth:`Backend.own_error` does."""
        return self._backend.own_error(error)


class Provenance(NamedTuple):
    """What a unit's key was found by, in the place of the unit: what tells that it would have the
    same key again, if its source was the same.

    Parameters
    ----------
    trace : Trace
    outline : str
        Of the source, the lines that options and directories of compilers depend on.
    options, backend_options : tuple of str
        The unit's own, and those that the compiler adds.
    """

    trace: Trace
    outline: str
    options: tuple[str, ...]
    backend_options: tuple[str, ...]

    @classmethod
    def of(cls, unit: TranslationUnit, compiler: Compiler, found: Trace) -> Provenance | None:
        """Return that of a unit, whose trace was found before; None where it would have another key
        each time.
        """
        if not found.is_lasting:
            return None
        lines = unit.source.split("\n")
        outline = "\n".join(line for line in lines if any(word in line for word in _OUTLINED))
        made = cls(found, outline, unit.options, tuple(compiler.backend_options(unit)))
        # In an outline compilers must see what they see in the unit.
        return made if made._is_of(unit, compiler) else None

    def has_same_headers(self, other: Provenance) -> bool:
        """Whether this tells nothing that another one does not tell, but for the unit's key."""
        return self[1:] == other[1:] and self.trace[2:] == other.trace[2:]

    def current(self, unit: TranslationUnit, compiler: Compiler) -> Provenance | None:
        """Return it where a unit of such a source would still have this key; None where not.

        `unit` has all that chooses its compiler; its source and its options do not count.
        """
        if not self._is_of(unit, compiler):
            return None
        found = self.trace.current()
        if found is None or found is self.trace:
            return None if found is None else self
        return self._replace(trace=found)

    def _is_of(self, unit: TranslationUnit, compiler: Compiler) -> bool:
        """Whether the compiler adds the same to the outline as to the unit."""
        outline = unit
        if (unit.source, unit.options) != (self.outline, self.options):
            outline = replace(unit, source=self.outline, options=self.options)
        search = searched_directories(self.options, compiler.include_directories(outline))
        return (
            tuple(search) == self.trace.search
            and tuple(compiler.backend_options(outline)) == self.backend_options
        )


# NVRTC is asked for short output where cooperative groups are named.
_OUTLINED = ("include", "cooperative_groups")


def trace_of(unit: TranslationUnit, compiler: Compiler, target: Target) -> Trace:
    """The key of a unit's object code, with what headers were looked for."""
    return trace(
        unit,
        target,
        include_directories=compiler.include_directories(unit),
        backend_options=compiler.backend_options(unit),
    )
