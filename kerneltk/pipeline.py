"""Unit -> cache or compile -> load -> function. Every front-end's only way to object code."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TypeVar

from kerneltk.backends import registry
from kerneltk.backends.base import Backend, Compiler, Function, Module
from kerneltk.cache.fingerprint import fingerprint
from kerneltk.cache.store import get_cache
from kerneltk.core.artifacts import ObjectCode, Target, TranslationUnit

T = TypeVar("T")

_functions: dict[tuple[str, int], Function] = {}
_modules: dict[tuple[str, int], tuple[Module, ObjectCode]] = {}
# A unit is compiled once, whichever thread asks: its key chooses one of these.
_locks = [threading.Lock() for _ in range(64)]


def _after_fork() -> None:
    """Renew the locks: the threads that hold them are not in the child."""
    _locks[:] = [threading.Lock() for _ in _locks]


os.register_at_fork(after_in_child=_after_fork)


def _lock_of(key: str) -> threading.Lock:
    return _locks[int(key[:2], 16) % len(_locks)]


def key_of(unit: TranslationUnit, backend: Compiler, target: Target) -> str:
    """The key of a unit's object code in the cache."""
    return fingerprint(
        unit,
        target,
        include_directories=backend.include_directories(unit),
        backend_options=backend.backend_options(unit),
    )


def _build(unit: TranslationUnit, backend: Compiler, target: Target, key: str) -> ObjectCode:
    store = get_cache()
    data = store.get(key)
    if data is not None:
        try:
            return ObjectCode.from_bytes(data)
        except ValueError:
            pass  # written by another version under the same key: compile and replace it
    code = backend.compile(unit, target)
    store.put(key, code.to_bytes())
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
    return build(unit, *registry.compiler_for(unit, target))


def _loaded(
    known: dict[tuple[str, int], T],
    unit: TranslationUnit,
    backend: Backend,
    target: Target,
    load: Callable[[ObjectCode], T],
) -> T:
    """A unit as it is loaded on the current device, built and loaded once."""
    key = key_of(unit, backend, target)
    slot = (key, backend.device_key())
    found = known.get(slot)
    if found is None:
        with _lock_of(key):
            found = known.get(slot)
            if found is None:
                found = known[slot] = load(_build(unit, backend, target, key))
    return found


def get_module(unit: TranslationUnit, backend: Backend) -> tuple[Module, ObjectCode]:
    """The module of a user's own source, loaded on the current device, and its object code. Raises
    as :func:`build`.
    """

    def load(code: ObjectCode) -> tuple[Module, ObjectCode]:
        return backend.load_module(code), code

    return _loaded(_modules, unit, backend, backend.target(unit), load)


def get_function(unit: TranslationUnit, backend: Backend) -> Function:
    """A unit's function, loaded on the current device. Raises as :func:`build`."""
    return _loaded(_functions, unit, backend, backend.target(), backend.load)
