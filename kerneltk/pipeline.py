"""Unit -> cache or compile -> load -> function. Every front-end's only way to object code."""

from __future__ import annotations

import threading

from kerneltk import interop
from kerneltk.backends.base import Backend, Compiler, Function
from kerneltk.cache import get_cache
from kerneltk.fingerprint import fingerprint
from kerneltk.units import ObjectCode, Target, TranslationUnit

__all__ = ["build", "compile_ahead", "get_function"]

_functions: dict[tuple[str, int], Function] = {}
_locks: dict[str, threading.Lock] = {}
_locks_guard = threading.Lock()


def _lock_of(key: str) -> threading.Lock:
    with _locks_guard:
        return _locks.setdefault(key, threading.Lock())


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
    key = fingerprint(unit, target, backend_options=backend.backend_options())
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
    from kerneltk.backends import nvrtc  # a call on arrays never needs it by itself

    return build(unit, nvrtc, nvrtc.target_for(target))


def get_function(unit: TranslationUnit, backend: Backend) -> Function:
    """Return a unit's function, loaded on the current device. Raises as :func:`build`."""
    target = backend.target()
    key = fingerprint(unit, target, backend_options=backend.backend_options())
    place = (key, backend.device_key())
    function = _functions.get(place)
    if function is None:
        with _lock_of(key):
            function = _functions.get(place)
            if function is None:
                function = backend.load(_build(unit, backend, target, key))
                _functions[place] = function
    return function
