"""NumPy's functions that are written in Python, by NumPy's own code.

Such code computes by functions that are traced, makes its arrays by names that stand for traced
ones here, and decides by shapes, which guards note.
"""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from kerneltk.errors import AxisError, KernelToolkitError, UnsupportedError
from kerneltk.fusion.trace.creation import CREATION
from kerneltk.fusion.trace.functions import no_scalar
from kerneltk.fusion.trace.lazy import Lazy, LazyArray, LazyNumber
from kerneltk.fusion.trace.operations import has_lazy, trace_of
from kerneltk.fusion.trace.state import Trace, at_line, unsupported, wrong_type, wrong_value


class _Globals(dict[str, Any]):
    """The globals of some of NumPy's functions, in a trace."""

    def __init__(self, names: dict[str, Any], trace: Trace) -> None:
        super().__init__(__name__=names["__name__"], __builtins__=builtins)
        self._names, self._trace = names, trace

    def __missing__(self, name: str) -> Any:
        # np.block's other way asks for the arrays' flags
        own = "_block_concatenate" if name == "_block_slicing" else name
        found = self[name] = _seen(self._names[own], name, self._trace)
        return found


class _Module:
    """A module of NumPy's in a trace."""

    def __init__(self, module: types.ModuleType, trace: Trace) -> None:
        self._module, self._trace = module, trace

    def __getattr__(self, name: str) -> Any:
        return _seen(getattr(self._module, name), name, self._trace)


def _seen(found: Any, name: str, trace: Trace) -> Any:
    """What NumPy's code sees in place of what it has by a name."""
    if isinstance(found, types.ModuleType):
        return _Module(found, trace)
    if name in ("array", "asarray", "asanyarray"):
        return functools.partial(_array, trace, found)
    if name == "_concatenate":  # NumPy's, below its dispatch
        return np.concatenate
    if name == "_array_converter":
        array = functools.partial(_array, trace, np.asarray)
        return lambda *values: _Converter(map(array, values))
    if name in CREATION and callable(found):
        return functools.partial(_made, trace, found, name)
    if type(found) is types.FunctionType:  # of NumPy's own use, which dispatches nothing
        return _in_trace(found, trace)
    return found


class _Converter(tuple[Any, ...]):
    """NumPy's converter of arguments, which keeps the classes of arrays: here there is one."""

    __slots__ = ()

    def as_arrays(self, **options: Any) -> tuple[Any, ...]:
        return self

    def wrap(self, array: Any, **options: Any) -> Any:
        return array


def _array(trace: Trace, own: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
    if not isinstance(value, Lazy) and all(map(_is_integer, _lazy([value]))):
        return own(value, *args, **kwargs)  # of numbers, which calls share
    least = kwargs.pop("ndmin", 0)
    kwargs.pop("subok", None)
    if kwargs.get("copy", True) is None:
        kwargs["copy"] = False
    array: LazyArray = no_scalar(CREATION[own.__name__](trace, own, (value, *args), kwargs))
    return array[(*[None] * (least - array.ndim), ...)] if array.ndim < least else array


def _is_integer(value: Any) -> bool:
    """Whether a traced value is an integer that each call knows."""
    return type(value) is LazyNumber and isinstance(value.symbol.value, int | np.integer)


def _made(trace: Trace, own: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    if name == "arange" and not has_lazy(args):
        return own(*args, **kwargs)  # of axes, and of no extents
    return CREATION[name](trace, own, args, kwargs)


def _in_trace(function: types.FunctionType, trace: Trace) -> Callable[..., Any]:
    made = types.FunctionType(
        function.__code__, _Globals(function.__globals__, trace), function.__name__,
        function.__defaults__, function.__closure__,
    )  # fmt: skip
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _lazy(values: Iterable[Any]) -> Iterator[Any]:
    """The traced values among some, also in lists."""
    for value in values:
        if isinstance(value, Lazy):
            yield value
        elif isinstance(value, tuple | list):
            yield from _lazy(value)


def _by_own_code(
    name: str, own: types.FunctionType | None = None, known: Trace | None = None
) -> Callable[..., Any]:
    numpys = own or _numpys(name).__wrapped__

    def call(*args: Any, **kwargs: Any) -> Any:
        trace = known or trace_of(*_lazy((*args, *kwargs.values())))
        function = _in_trace(numpys, trace)
        try:
            return function(*args, **kwargs)
        except UnsupportedError as error:  # of a name that the user's line may not have
            error.args = (f"'{name}': {error}",)
            raise
        except KernelToolkitError:
            raise
        except (TypeError, ValueError) as error:  # of NumPy's own, for such arguments
            sentence = f"'{name}': {str(error).rstrip('.')}."
            if isinstance(error, np.exceptions.AxisError):
                raise at_line(AxisError, sentence) from error
            raise (wrong_type if isinstance(error, TypeError) else wrong_value)(sentence) from error

    return call


class Joining:
    """``np.r_`` or ``np.c_``."""

    def __init__(self, own: Any, name: str, trace: Trace) -> None:
        self._own, self._trace = own, trace
        self._join = _by_own_code(name, type(own).__getitem__, trace)

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        return self._join(self._own, tuple(map(self._item, items)))

    def _item(self, item: Any) -> Any:
        """A range of integers goes with the arguments, whose library NumPy's code does not know."""
        if not isinstance(item, slice) or isinstance(item.step, complex):
            return item
        start = 0 if item.start is None else item.start
        places = (start, item.stop, 1 if item.step is None else item.step)
        return CREATION["arange"](self._trace, np.arange, places, {})


def _numpys(name: str) -> Any:
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


OWN_CODE: dict[str, Callable[..., Any]] = {
    name: _by_own_code(name)
    for name in (
        "append", "apply_over_axes", "array_split", "atleast_1d", "atleast_2d", "atleast_3d",
        "block", "column_stack", "corrcoef", "cumulative_prod", "cumulative_sum", "delete",
        "diff", "dsplit", "dstack", "ediff1d", "flip", "fliplr", "flipud", "gradient",
        "hsplit", "hstack", "insert", "iscomplex", "isreal", "kron", "linalg.matrix_power",
        "linalg.multi_dot", "moveaxis", "nan_to_num", "nancumprod", "nancumsum", "outer", "pad",
        "polyder", "polyval", "ptp", "put_along_axis", "resize", "roll", "rollaxis", "rot90",
        "select", "split", "stack", "tensordot", "trapezoid", "trapz", "tril", "triu", "unstack",
        "unwrap", "vander", "vsplit", "vstack",
    )
    if hasattr(_numpys(name), "__wrapped__")  # not in each NumPy
}  # fmt: skip


def _pad(own: Any, array: Any, pad_width: Any, *args: Any, **kwargs: Any) -> Any:
    known = int(pad_width) if _is_integer(pad_width) else pad_width  # which NumPy's code compares
    return own(array, known, *args, **kwargs)


def _at_one_place(own: Any, name: str, arr: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
    if isinstance(obj, slice) or np.size(obj) != 1:
        raise unsupported(f"'{name}' is fused for one place.",
                          "take what stays by 'x[indices]', and join parts by 'np.concatenate'.",
                          )  # fmt: skip
    return own(arr, obj, *args, **kwargs)


OWN_CODE["pad"] = functools.partial(_pad, OWN_CODE["pad"])
OWN_CODE.update({n: functools.partial(_at_one_place, OWN_CODE[n], n) for n in ("delete", "insert")})
