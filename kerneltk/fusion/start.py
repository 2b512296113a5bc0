"""From a function and the arguments of a call to a program."""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kerneltk.backends.base import Backend
from kerneltk.core.capabilities import Capabilities
from kerneltk.fusion.plan.planner import Planner, reachable
from kerneltk.fusion.plan.program import Program, Result
from kerneltk.fusion.trace.functions import (
    arange,
    call_any_ufunc,
    call_function,
    filled,
    method_of,
    shape_from,
)
from kerneltk.fusion.trace.lazy import Lazy, LazyArray, LazyNumber
from kerneltk.fusion.trace.operations import assign, is_array
from kerneltk.fusion.trace.state import ArraySource, Handlers, Trace, unsupported
from kerneltk.fusion.trace.symbols import Symbol

HANDLERS = Handlers(call_any_ufunc, call_function, method_of, assign)
NUMBERS = (bool, int, float, complex, np.generic)


def traced(
    function: Callable[..., Any],
    name: str,
    args: Sequence[Any],
    keywords: Sequence[str],
    backend: Backend,
    target: Capabilities | None = None,
    most_clusters: int = 1,
) -> Program:
    """The program of a function for such arguments, the last of which have keywords; planned for
    another backend than that of the arrays, if `target` is given, with clusters of so many blocks.
    """
    trace = Trace(HANDLERS, array_type=backend.array_type)
    given: list[Any] = []
    arrays: dict[int, int] = {}
    for index, value in enumerate(args):
        if is_array(value):
            number = len(trace.sources)
            arrays[number] = index
            shape = tuple(
                Symbol(("extent", number, axis), int(extent))
                for axis, extent in enumerate(value.shape)
            )
            source = ArraySource(value.dtype, shape, f"argument {index + 1}")
            given.append(LazyArray(trace, trace.add_source(source)))
        elif isinstance(value, NUMBERS):
            given.append(LazyNumber(trace, Symbol(("argument", index), value)))
        else:
            given.append(value)
            _watch_attributes(trace, value)
    first = len(given) - len(keywords)
    named = dict(zip(keywords, given[first:], strict=True))
    rebuilding = _Rebuilding(trace)
    result = rebuilding.function(function)(*given[:first], **named)
    rebuilding.give_back()
    trace.finish()
    return finished(trace, name, result, arrays, len(args), backend, target, most_clusters)


def finished(
    trace: Trace,
    name: str,
    result: Any,
    arrays: dict[int, int],
    count: int,
    backend: Backend,
    target: Capabilities | None = None,
    most_clusters: int = 1,
) -> Program:
    """The program of a trace that has ended."""
    outputs: list[LazyArray] = []

    def collect(value: Any) -> Any:
        if isinstance(value, LazyArray):
            outputs.append(value)
            return _Output(len(outputs) - 1)
        if isinstance(value, LazyNumber):
            return Result(None, value.symbol.expression)
        if isinstance(value, tuple):
            items = [collect(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if isinstance(value, list):
            return [collect(item) for item in value]
        if isinstance(value, dict):
            return {key: collect(item) for key, item in value.items()}
        return value

    shape = collect(result)
    nodes = [output.node for output in outputs]
    trace.name_equals(reachable([*nodes, *(effect.value for effect in trace.effects)]))
    clusters = backend.largest_cluster() if target is None else most_clusters
    plan = Planner(trace, name, target or backend.capabilities, clusters).plan(nodes)

    def placed(value: Any) -> Any:
        if isinstance(value, _Output):
            return Result(plan.results[value.index])
        if isinstance(value, tuple):
            items = [placed(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if isinstance(value, list):
            return [placed(item) for item in value]
        if isinstance(value, dict):
            return {key: placed(item) for key, item in value.items()}
        return value

    return Program(trace, plan, _by_source(trace, arrays), count, backend, placed(shape))


def _by_source(trace: Trace, arrays: dict[int, int]) -> list[int]:
    return [arrays.get(number, -1) for number in range(len(trace.sources))]


class _Output:
    def __init__(self, index: int) -> None:
        self.index = index


# -- the names that the function sees --------------------------------------------------------


class Namespace:
    """NumPy or CuPy in a traced function: what makes arrays of numbers makes traced ones, and
    CuPy's functions are NumPy's.
    """

    def __init__(self, module: Any, trace: Trace) -> None:
        self._module = module
        self._trace = trace

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return replacement(found, name, self._trace, self._module.__name__)


def replacement(found: Any, name: str, trace: Trace, module: str) -> Any:
    """What a traced function sees in place of an object of NumPy or CuPy."""
    if name in _CREATION:
        return lambda *args, **kwargs: _CREATION[name](trace, found, args, kwargs)
    if module.partition(".")[0] not in ("cupy", "cupyx") or isinstance(found, type):
        return found
    if isinstance(found, types.ModuleType):
        return Namespace(found, trace)
    if not callable(found):
        return found
    return _AsNumpys(found, name, module)


class _AsNumpys:
    """A function of CuPy's that is NumPy's, or SciPy's, for traced values."""

    def __init__(self, function: Any, name: str, module: str) -> None:
        self._function, self._name, self._module = function, name, module

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = [*args, *kwargs.values()]
        if not any(isinstance(value, LazyArray | LazyNumber) for value in values):
            return self._function(*args, **kwargs)
        own = _counterpart(self._module, self._name)
        if own is None:
            raise unsupported(
                f"'{self._module}.{self._name}' is not fused.",
                "compute it outside of the function, and pass the result.",
            )
        return own(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


def _counterpart(module: str, name: str) -> Any:
    if module == "cupyx.scipy.special":
        import scipy.special  # type: ignore[import-untyped]

        return getattr(scipy.special, name, None)
    return getattr(np, name, None) if module == "cupy" else None


def _make_arange(trace: Trace, own: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    options = dict(kwargs)
    dtype = options.pop("dtype", args[3] if len(args) == 4 else None)
    places = args[:3]
    if "stop" in options and not places:
        places = (options.pop("start", 0), options.pop("stop"), options.pop("step", 1))
    if options or not places:
        raise unsupported("These arguments of 'arange' are not fused.", "give numbers alone.")
    return arange(trace, *places, dtype=dtype)


def _make_full(value: Any) -> Callable[..., Any]:
    def make(trace: Trace, own: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        options = dict(kwargs)
        given = list(args)
        shape = given.pop(0) if given else options.pop("shape")
        fill = value
        if value is None:
            fill = given.pop(0) if given else options.pop("fill_value")
        dtype = given.pop(0) if given else options.pop("dtype", None)
        options.pop("order", None)
        if given or options:
            raise unsupported(f"These arguments of '{own.__name__}' are not fused.")
        if dtype is None and value is not None:
            dtype = np.float64
        return filled(trace, shape_from(shape), fill, dtype)

    return make


_CREATION: dict[str, Callable[..., Any]] = {
    "arange": _make_arange, "zeros": _make_full(0), "ones": _make_full(1),
    "empty": _make_full(0), "full": _make_full(None),
}  # fmt: skip


class _Rebuilding:
    """Functions as they are traced, each made once: NumPy and CuPy are namespaces of the trace to
    a function, and to those that it calls by their names.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._made: dict[int, Any] = {}
        self._globals: dict[int, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {}
        self._cells: list[tuple[types.CellType, types.CellType, Any]] = []

    def function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function as it is traced."""
        if not isinstance(function, types.FunctionType) or _is_library(function.__module__):
            return function
        known = self._made.get(id(function))
        if known is not None:
            return known  # type: ignore[no-any-return]
        cells = function.__closure__
        empty = None if cells is None else tuple(types.CellType() for _ in cells)
        made = types.FunctionType(
            function.__code__,
            self._names(function.__globals__),
            function.__name__,
            function.__defaults__,
            empty,
        )
        self._made[id(function)] = made
        self._watch(function)
        made.__kwdefaults__ = function.__kwdefaults__
        for new, old in zip(empty or (), cells or (), strict=True):
            try:
                value = old.cell_contents
            except ValueError:  # assigned later
                continue
            new.cell_contents = self._seen(value)
            self._cells.append((old, new, new.cell_contents))
        return made

    def give_back(self) -> None:
        """Assign the globals and closures' variables that the function has assigned."""
        changed: list[tuple[str, Any, Callable[[], object]]] = []
        for names, known, first in self._globals.values():
            for name, value in known.items():
                if name != "__builtins__" and (name not in first or first[name] is not value):
                    assign: Callable[[], object] = functools.partial(names.__setitem__, name, value)
                    changed.append((f"the global '{name}'", value, assign))
        for old, new, before in self._cells:
            value = _content(new)
            if value is not before:
                assign = functools.partial(setattr, old, "cell_contents", value)
                changed.append(("a variable of an outer function", value, assign))
        for name, value, _ in changed:
            if isinstance(value, Lazy):
                raise unsupported(
                    f"The function keeps a traced value in {name}.",
                    "return it from the function.",
                )
        for _, _, assign in changed:
            assign()

    def _watch(self, function: types.FunctionType) -> None:
        """Note the values, such as arrays and numbers, that a function reads by global names and
        from closures: others are another trace.
        """
        names, missing = function.__globals__, self
        for name in _names_of(function.__code__):
            value = names.get(name, missing)
            if value is not missing and _is_value(value):
                self._trace.watched.append((functools.partial(names.get, name), value))
                _watch_attributes(self._trace, value)
        for cell in function.__closure__ or ():
            value = _content(cell)
            if value is not cell and _is_value(value):
                self._trace.watched.append((functools.partial(_content, cell), value))
                _watch_attributes(self._trace, value)

    def _names(self, names: dict[str, Any]) -> dict[str, Any]:
        known = self._globals.get(id(names))
        if known is None:
            seen: dict[str, Any] = {"__builtins__": builtins}
            known = self._globals[id(names)] = names, seen, {}
            for name, value in list(names.items()):
                seen[name] = self._seen(value)
            known[2].update(seen)
        return known[1]

    def _seen(self, value: Any) -> Any:
        if isinstance(value, types.FunctionType):
            return self.function(value)
        return _seen(value, self._trace)


def _names_of(code: types.CodeType) -> set[str]:
    """The names that a function, and those within it, may read from its module."""
    found = set(code.co_names)
    for item in code.co_consts:
        if isinstance(item, types.CodeType):
            found |= _names_of(item)
    return found


def _content(cell: types.CellType) -> Any:
    """What a closure's variable stands for; the cell itself while it is not assigned."""
    try:
        return cell.cell_contents
    except ValueError:
        return cell


def _watch_attributes(trace: Trace, value: Any) -> None:
    """Note the attributes of an object, such as ``self``: others are another trace."""
    own = getattr(value, "__dict__", None)
    if isinstance(own, dict) and not is_array(value):
        trace.watched += [
            (functools.partial(own.get, name), item)
            for name, item in own.items()
            if _is_value(item)
        ]


def _is_value(value: Any) -> bool:
    return not callable(value) and not isinstance(value, types.ModuleType)


def _is_library(module: str | None) -> bool:
    """Whether a module is one whose functions are called as they are."""
    root = (module or "").partition(".")[0]
    return root in ("numpy", "cupy", "cupyx", "scipy", "kerneltk") or root in (
        sys.stdlib_module_names
    )


def _seen(value: Any, trace: Trace) -> Any:
    if isinstance(value, types.ModuleType):
        root = value.__name__.partition(".")[0]
        if value.__name__ == "numpy" or root in ("cupy", "cupyx"):
            return Namespace(value, trace)
        return value
    module = getattr(value, "__module__", None)
    if isinstance(module, str) and callable(value) and not isinstance(value, type):
        root = module.partition(".")[0]
        name = getattr(value, "__name__", "")
        if root in ("cupy", "cupyx", "numpy") and name:
            if root == "cupyx":
                module = "cupyx.scipy.special"
            return replacement(value, name.removeprefix("cupy_"), trace, module if (
                root == "cupyx") else root)  # fmt: skip
    return value
