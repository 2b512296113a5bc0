"""Unit -> cache or compile -> load -> function. Every front-end's only way to object code."""

from __future__ import annotations

import os
import threading

from kerneltk import interop
from kerneltk.backends.base import Backend, Compiler, Function, Module
from kerneltk.cache import get_cache
from kerneltk.fingerprint import fingerprint
from kerneltk.units import ObjectCode, Target, TranslationUnit

__all__ = ["build", "compile_ahead", "get_function", "get_module"]

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


def _key_of(unit: TranslationUnit, backend: Compiler, target: Target) -> str:
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
    """Return a unit's object code, from the cache or from the compiler.

    Raises
    ------
    CompileError
        The compiler refused the text.
    BackendUnavailableError
        There is no compiler.
    """
    key = _key_of(unit, backend, target)
    with _lock_of(key):
        return _build(unit, backend, target, key)


def compile_ahead(unit: TranslationUnit, target: str) -> ObjectCode:
    """Return a unit's object code for an architecture, needing no device.

    Parameters
    ----------
    unit : TranslationUnit
    target : str
        A CUDA architecture such as ``"sm_90"``, or ``"host"``.

    Raises
    ------
    ValueError
        `target` is not an architecture that the compiler knows.
    CompileError
        The compiler refused the text.
    BackendUnavailableError
        The compiler is not installed.
    """
    if unit.backend == "host":
        return build(unit, interop.host_backend(), interop.host_backend().target())
    from kerneltk.backends import compilers  # a call on arrays never needs it by itself

    return build(unit, compilers, compilers.target_for(target, unit))


def get_module(unit: TranslationUnit, backend: Backend) -> tuple[Module, ObjectCode]:
    """Return the module of a user's own text, loaded on the current device, and its object code.

    Raises as :func:`build`.
    """
    target = backend.target(unit)
    key = _key_of(unit, backend, target)
    place = (key, backend.device_key())
    loaded = _modules.get(place)
    if loaded is None:
        with _lock_of(key):
            loaded = _modules.get(place)
            if loaded is None:
                code = _build(unit, backend, target, key)
                loaded = _modules[place] = backend.load_module(code), code
    return loaded


def get_function(unit: TranslationUnit, backend: Backend) -> Function:
    """Return a unit's function, loaded on the current device. Raises as :func:`build`."""
    target = backend.target()
    key = _key_of(unit, backend, target)
    place = (key, backend.device_key())
    function = _functions.get(place)
    if function is None:
        with _lock_of(key):
            function = _functions.get(place)
            if function is None:
                function = backend.load(_build(unit, backend, target, key))
                _functions[place] = function
    return function
