"""CuPy's functions in traced functions, by whatever name or object the user has them.

CuPy's ufuncs and kernels ask their operands for ``__cupy_override_elementwise_kernel__`` and
``__cupy_override_reduction_kernel__`` before they look at them: traced values have these. CuPy's
functions in Python do not ask, and those in C take nothing but CuPy's arrays. So the functions in
Python have another code while something is traced, which asks what its thread does and goes on with
the function's own code where that is nothing. Outside of traces all of CuPy is as it was.

Arrays of NumPy's have no such methods, and functions that run unfused get them. There, and for
numbers in traces of NumPy's arrays, ufuncs are reached through the state that CuPy's own `fuse` has
for each thread: ``history.call_ufunc(ufunc, …)`` of ``cupy._core._fusion_thread_local`` (CuPy 14).
"""

from __future__ import annotations

import importlib
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kerneltk.core.records import lasting_lock

_COUNTERPARTS = {  # which module has the functions of the same names
    "cupy": "numpy",
    "cupy.linalg": "numpy.linalg",
    "cupy.fft": "numpy.fft",
    "cupy.random": "numpy.random",
    "cupyx": "numpy",
    "cupyx.scipy.special": "scipy.special",
}


_GENERATOR = ("cupy.random", "RandomState")  # a class, whose numbers depend on how it is made


@dataclass(slots=True)
class Handler:
    """What a thread does with calls of CuPy's functions."""

    call: Callable[[str, str, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
    on_host: bool  # whether ufuncs of numbers and of NumPy's arrays are NumPy's
    is_used: bool = False  # whether there was such a call


class _Thread(threading.local):
    handler: Handler | None = None


class _Replaced(NamedTuple):
    """A function of CuPy's in Python."""

    function: types.FunctionType
    original: Callable[..., Any]
    own: types.CodeType
    asking: types.CodeType


_thread = _Thread()
_lock = lasting_lock()
_replaced: dict[str, _Replaced] = {}
_functions: set[types.FunctionType] = set()
_known: dict[str, Any] = {}  # modules whose functions are in the table
_ufuncs: dict[int, tuple[Any, str, str]] = {}  # by identity: itself, its module, its name
_count = 0  # of those that are within `handled_by`


def _asking(*args: Any, **kwargs: Any) -> Any:
    from kerneltk.fusion.cupy_functions import dispatched

    return dispatched("the function", args, kwargs)


def _code_of(key: str) -> types.CodeType:
    # Neither defaults nor the signature are asked for by a code that takes anything: assigning it
    # is one step, which other threads see before or after.
    code = _asking.__code__
    constants = tuple(key if item == "the function" else item for item in code.co_consts)
    return code.replace(co_consts=constants)


def _learn() -> None:
    """Fill the tables with what modules of CuPy have that are loaded by now."""
    for home in _COUNTERPARTS:
        module = sys.modules.get(home)
        if module is None or _known.get(home) is module:
            continue
        for name, value in list(vars(module).items()):
            if name.startswith("_"):
                continue
            if type(value).__name__ == "ufunc" and type(value).__module__.startswith("cupy"):
                _ufuncs.setdefault(id(value), (value, home, name))
            function = value.__init__ if (home, name) == _GENERATOR else value
            if (
                isinstance(function, types.FunctionType)
                and not function.__closure__
                and str(function.__module__).startswith("cupy")
            ):
                _learn_function(function, f"{home}:{name}")
        _known[home] = module


def _learn_function(function: types.FunctionType, key: str) -> None:
    if function in _functions:
        return  # by another name
    _functions.add(function)
    original = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )
    original.__kwdefaults__ = function.__kwdefaults__
    known = _Replaced(function, original, function.__code__, _code_of(key))
    _replaced[key] = known
    if _count:
        function.__code__ = known.asking


def learn_imported() -> None:
    """Take notice of modules of CuPy's that a traced function is about to use."""
    if "cupy" in sys.modules:
        with _lock:
            _learn()


@contextmanager
def handled_by(handler: Handler) -> Iterator[None]:
    """Have calls of CuPy's functions in this thread handled."""
    before = _thread.handler
    _begin()
    _thread.handler = handler
    try:
        with _ufuncs_asking(handler):
            yield
    finally:
        _thread.handler = before
        _end()


def called_on_host(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function with NumPy's arrays: functions of CuPy's that it calls are NumPy's."""
    if "cupy" not in sys.modules:
        return function(*args, **kwargs)
    with handled_by(Handler(lambda _, __, own, given, named: own(*given, **named), on_host=True)):
        return function(*args, **kwargs)


def _begin() -> None:
    global _count
    with _lock:
        if "cupy" in sys.modules:
            _learn()
        _count += 1
        if _count == 1:
            for function, _, _, asking in _replaced.values():
                function.__code__ = asking


def _end() -> None:
    global _count
    with _lock:
        _count -= 1
        if _count == 0:
            for function, _, own, _ in _replaced.values():
                function.__code__ = own


class _History:
    """What CuPy's ufuncs call in place of launching a kernel."""

    def call_ufunc(self, ufunc: Any, *args: Any, **kwargs: Any) -> Any:
        """The ufunc of NumPy; CuPy's own where an operand is an array of CuPy's."""
        own = counterpart(ufunc)
        if own is None or _has_cupys((*args, *kwargs.values())):
            with _as_before():
                return ufunc(*args, **kwargs)
        return own(*args, **kwargs)

    def call_reduction(self, kernel: Any, *args: Any, **kwargs: Any) -> Any:
        """CuPy's own reduction."""
        with _as_before():
            return kernel(*args, **kwargs)


_STATE = ("is_old_fusing", "is_new_fusing", "history")


def _state() -> Any:
    module = sys.modules.get("cupy._core._fusion_thread_local")
    return getattr(module, "thread_local", None)


@contextmanager
def _assigned(values: dict[str, Any]) -> Iterator[None]:
    """CuPy's state of this thread, for a while."""
    state = _state()
    if state is None:
        yield
        return
    before = {name: state.__dict__[name] for name in _STATE if name in state.__dict__}
    state.__dict__.update(values)
    try:
        yield
    finally:
        for name in _STATE:
            state.__dict__.pop(name, None)
        state.__dict__.update(before)


def _ufuncs_asking(handler: Handler) -> Any:
    if not handler.on_host:
        return _assigned({})
    return _assigned({"is_old_fusing": False, "is_new_fusing": True, "history": _History()})


@contextmanager
def _as_before() -> Iterator[None]:
    """CuPy as it is outside of traces."""
    before, _thread.handler = _thread.handler, None
    try:
        with _assigned({"is_old_fusing": False, "is_new_fusing": False}):
            yield
    finally:
        _thread.handler = before


def _has_cupys(values: tuple[Any, ...]) -> bool:
    cupy = sys.modules.get("cupy")
    return cupy is not None and any(isinstance(value, cupy.ndarray) for value in values)


def dispatched(key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of one of CuPy's functions in Python."""
    original = _replaced[key].original
    handler = _thread.handler
    if handler is None:
        return original(*args, **kwargs)
    handler.is_used = True
    module, _, name = key.partition(":")

    def plainly(*args: Any, **kwargs: Any) -> Any:
        if handler.on_host and not _has_cupys((*args, *kwargs.values())):
            own = named(module, name)
            if own is not None:
                return own(*args, **kwargs)
        with _as_before():
            return original(*args, **kwargs)

    plainly.__name__ = name
    return handler.call(module, name, plainly, args, kwargs)


def named(module: str, name: str) -> Any:
    """NumPy's or SciPy's function of the name of one of CuPy's; None where there is none."""
    if name in _OF_CUPY:
        return _OF_CUPY[name]
    try:
        return getattr(importlib.import_module(_COUNTERPARTS[module]), name, None)
    except ImportError:
        return None


def _as_host(value: Any, stream: Any = None, order: str = "C", out: Any = None, *,
             blocking: bool = True) -> Any:  # fmt: skip

    return np.asarray(value, order=order)  # type: ignore[call-overload]


_OF_CUPY: dict[str, Any] = {
    "asnumpy": _as_host,
    "get_array_module": lambda *_: np,
    "rsqrt": lambda x, **options: np.reciprocal(np.sqrt(x), **options),
}


def counterpart(ufunc: Any) -> Any:
    """NumPy's or SciPy's ufunc for one of CuPy's; None where there is none."""
    if _thread.handler is not None:
        _thread.handler.is_used = True
    known = _ufuncs.get(id(ufunc))
    if known is None:
        learn_imported()
        known = _ufuncs.get(id(ufunc))
    return None if known is None else named(known[1], known[2])
