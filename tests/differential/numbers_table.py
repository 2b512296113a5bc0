"""The table of numbers: every function of numbers that kernels take, at special values.

The functions are read from the intrinsics' own tables, so that one that is added there is tested
here. Those of one dtype and one number of operands are compiled together.
"""

from __future__ import annotations

import builtins
import cmath
import inspect
import itertools
import linecache
import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from kerneltk import jit
from kerneltk.errors import KernelToolkitError
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.intrinsics import python
from kerneltk.jit.intrinsics.numbers import mathematics
from kerneltk.jit.launch.marshalling import type_of

Array = np.ndarray[Any, Any]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
HALVES = ("float16", "bfloat16")
FLOATS = (*HALVES, "float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTEGERS, *FLOATS, *COMPLEX)


def dtype_of(name: str) -> np.dtype[Any]:
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


# -- functions ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Function:
    """What is tested: `text` computes it of `x`, `y` and `z`; `results` is how many it has.

    `seconds` is the dtype of the second operand where it is not that of the first.
    """

    name: str
    text: str
    object: Callable[..., Any]
    arity: int
    results: int = 1
    seconds: str = ""


# What neither NumPy nor Python says of itself.
_ARITY: dict[Any, int] = {
    math.log: 1, math.hypot: 2,
    builtins.abs: 1, builtins.min: 2, builtins.max: 2, builtins.round: 1, builtins.pow: 2,
    np.clip: 3, np.where: 3, np.round: 1, np.sinc: 1, np.fix: 1,
    np.real: 1, np.imag: 1, np.angle: 1,
}  # fmt: skip
_PAIRS = (math.frexp, math.modf, builtins.divmod)
_SECONDS = {np.ldexp: "int32", math.ldexp: "int64"}
# No functions of numbers.
_OTHERS = (builtins.len, builtins.tuple, builtins.range, builtins.sum)
# Of these the result leaves 64 bits early, or is computed in a loop.
_COUNTED = (math.factorial, math.comb, math.perm)
_DIVISIONS = (
    operator.floordiv, operator.mod, np.floor_divide, np.remainder, np.fmod, np.divmod, divmod,
)  # fmt: skip
_INFIX = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/",
    operator.floordiv: "//", operator.mod: "%", operator.pow: "**", operator.and_: "&",
    operator.or_: "|", operator.xor: "^", operator.lshift: "<<", operator.rshift: ">>",
    operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "==",
    operator.ne: "!=",
}  # fmt: skip
_PREFIX = {operator.neg: "-", operator.pos: "+", operator.invert: "~", np.logical_not: "not "}


def _arity(function: Any) -> int:
    if isinstance(function, np.ufunc):
        return function.nin
    if function in _ARITY:
        return _ARITY[function]
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):  # gcd, lcm
        return 2
    return sum(p.default is p.empty for p in parameters)


@cache
def functions() -> tuple[Function, ...]:
    """Return every function and operator, but those of `cmath`, which has a table of its own."""
    found = []
    for function in {**mathematics.TABLE, **python.TABLE}:
        module = getattr(function, "__module__", None) or "numpy"
        if module in ("cmath", "_operator") or function in _OTHERS:
            continue  # functions of `operator` are operators, which are there
        prefix = {"math": "math.", "builtins": "", "numpy": "np."}[module]
        arity = _arity(function)
        results = getattr(function, "nout", 2 if function in _PAIRS else 1)
        name = prefix + function.__name__
        text = f"{name}({', '.join('xyz'[:arity])})"
        found.append(Function(name, text, function, arity, results, _SECONDS.get(function, "")))
    found.append(Function("math.log", "math.log(x, y)", math.log, 2))
    found += [Function(op, f"x {op} y", function, 2) for function, op in _INFIX.items()]
    found += [
        Function(f"{op.strip()} x", f"{op}x", function, 1) for function, op in _PREFIX.items()
    ]
    return tuple(found)


# -- operands -------------------------------------------------------------------------------------


def _integers(dtype: np.dtype[Any], most: int) -> list[Any]:
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    found = [0, 1, 2, 3, high, high - 1, high // 2, high // 2 + 1, 7, 10, 33, 100]
    if low < 0:
        found += [-1, -2, -3, low, low + 1, low // 2, -7, -10, -100]
    found += [n for n in (255, 65535, 2**31 - 1, 2**31, 2**53 + 1, 10**15) if n < high]
    return found[:most] if most < len(found) else found


def _reals(dtype: np.dtype[Any], most: int) -> list[Any]:
    info: Any = ml_dtypes.finfo(dtype)
    tiny, least, largest = (
        float(info.tiny), float(info.smallest_subnormal), float(info.max)
    )  # fmt: skip
    eps = float(info.eps)
    sizes = [
        0.0, 1.0, math.inf, 0.5, 2.0, largest, tiny, least, 1.5, 2.5, 3.0, 0.3, 1 + eps,
        1 - eps / 2, tiny - least, 7.25, 1e-3, 10.0, 170.5, 3.5, 0.75, 1e4, 0.1, 100.0, 88.0,
        math.pi, math.pi / 2, 0.25, 1e-5, 12.0, 20.0, 4.5, 1023.0,
    ]  # fmt: skip
    if dtype.itemsize >= 4:
        sizes += [2.0**23 - 0.5, 2.0**24 + 2, 1e10, 1e22, 1e-10, 1e-30, 2.0**31, 2.0**63]
    if dtype.itemsize == 8:
        sizes += [2.0**52 - 0.5, 2.0**53 + 2, 1e-300, 1e300, 709.0, 745.0]
    found = [sign * size for size in sizes for sign in (1, -1)]
    return [math.nan, *found][:most]


_FEW = (math.nan, 0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, 0.5, -2.5, 3.0)


def special(name: str, most: int = 1000) -> Array:
    """Return values at which functions change, at most so many of them, all different."""
    dtype = dtype_of(name)
    if name == "bool":
        return np.array([False, True])
    with np.errstate(all="ignore"):
        if name in INTEGERS:
            found = np.array(_integers(dtype, most), dtype)
        elif name in FLOATS:
            found = np.array(_reals(dtype, most), np.float64).astype(dtype)
        else:
            part = np.dtype(f"float{4 * dtype.itemsize}")
            count = math.isqrt(most)
            parts = np.array(_FEW[:count] if count <= len(_FEW) else _reals(part, count), part)
            found = np.array([complex(a, b) for a in parts for b in parts]).astype(dtype)
    bits = found.view(f"V{dtype.itemsize}")
    return found[np.sort(np.unique(bits, return_index=True)[1])]


_MOST = {1: 1000, 2: 45, 3: 11}


@cache
def operands(name: str, arity: int, seconds: str = "", kind: str = "") -> tuple[Array, ...]:
    """Return the operands of functions: of several, each value with each.

    No integer is divided by zero, which is an error on the CPU and undefined on a GPU.
    """
    most = _MOST[arity]
    if name in COMPLEX:
        most = {1: 26**2, 2: 100, 3: 16}[arity]
    columns = [special(name, most)] * arity
    if seconds:
        columns[1] = np.array(
            [0, 1, -1, 2, -2, 10, -10, 24, -24, 100, -140, 127, -149, 1000, -1074, 1023, 2047,
             -2200, 5000, -5000, 2**31 - 1, -(2**31)], seconds,
        )  # fmt: skip
    if kind == "counted":
        small = np.array([*range(22), 30, 33, 34, 40, 60, 61, 62, 63, 64, 66, 67, 70, -1, -5])
        small = small if name in SIGNED else small[small >= 0]
        columns = [small.astype(name)] * arity
    if kind == "divides":
        columns[1] = columns[1][columns[1] != 0]
    grids = np.meshgrid(*(np.arange(column.size) for column in columns), indexing="ij")
    return tuple(column[grid.ravel()] for column, grid in zip(columns, grids, strict=True))


# -- what kernels compute -------------------------------------------------------------------------


def _made(text: str) -> Any:
    path = f"<table {hash(text)}>"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    names: dict[str, Any] = {"jit": jit, "np": np, "math": math}
    exec(compile(text, path, "exec"), names)
    return names["kernel"]


def _results(k: int, function: Function) -> list[str]:
    return [f"r{k}_{part}" for part in range(function.results)]


def types_of(function: Function, name: str) -> tuple[np.dtype[Any], ...] | None:
    """Return the dtypes of the results for operands of a dtype; None where kernels refuse."""
    names = "xyz"[: function.arity]
    lines = [f"def kernel({', '.join(f'{x}_' for x in names)}):"]
    lines += [f"    {x} = {x}_[0]" for x in names]
    lines += [f"    {', '.join(_results(0, function))} = {function.text}"]
    arguments = [np.zeros(1, dtype_of(name)) for _ in names]
    if function.seconds:
        arguments[1] = np.zeros(1, function.seconds)
    kinds = [type_of(argument, np.ndarray) for argument in arguments]
    try:
        program = Definition(_made("\n".join([*lines, ""])), "numpy").lowered(kinds)
    except KernelToolkitError:
        return None
    found = dict(program.kernel.locals)
    return tuple(found[result].dtype for result in _results(0, function))  # type: ignore[union-attr]


@dataclass
class Group:
    """Functions of the same operands, with the dtypes of their results."""

    inputs: tuple[Array, ...]
    members: list[tuple[Function, tuple[np.dtype[Any], ...]]]


class Batch:
    """All functions that take a dtype, in one kernel."""

    def __init__(self, name: str, groups: Sequence[Group]) -> None:
        self.name = name
        self.groups = groups
        parameters, lines = [], ["    i = jit.grid(1)"]
        number = itertools.count()
        for k, group in enumerate(groups):
            names = "xyz"[: len(group.inputs)]
            parameters += [f"{x}{k}" for x in names]
            lines += [f"    if i < x{k}.size:"]
            lines += [f"        {x}{k}_ = {x}{k}[i]" for x in names]
            for function, _ in group.members:
                results = _results(next(number), function)
                parameters += [f"out_{result}" for result in results]
                text = re.sub(r"\b([xyz])\b", rf"\g<1>{k}_", function.text)
                lines.append(f"        {', '.join(results)} = {text}")
                lines += [f"        out_{result}[i] = {result}" for result in results]
        self.source = "\n".join([f"def kernel({', '.join(parameters)}):", *lines, ""])

    def arguments(self) -> list[Array]:
        found: list[Array] = []
        for group in self.groups:
            dtypes = [dtype for _, dtypes in group.members for dtype in dtypes]
            found += [*group.inputs, *(np.zeros(group.inputs[0].size, d) for d in dtypes)]
        return found

    @property
    def kinds(self) -> list[Any]:
        """The types of the kernel's arguments."""
        return [type_of(argument, np.ndarray) for argument in self.arguments()]

    @property
    def definition(self) -> Definition:
        return Definition(_made(self.source), "numpy", OPTIONS)

    def run(
        self, backend: Any
    ) -> Iterator[tuple[Function, tuple[Array, ...], tuple[np.dtype[Any], ...], list[Array]]]:
        """Yield each function with its operands, and with the dtypes and values of its results."""
        kernel = jit.rawkernel(mode="numpy", options=OPTIONS)(_made(self.source))
        arguments = [backend.asarray(argument) for argument in self.arguments()]
        size = max(group.inputs[0].size for group in self.groups)
        kernel[-(-size // 128), 128](*arguments)
        left = iter(arguments)
        for group in self.groups:
            for _ in group.inputs:
                next(left)
            for function, dtypes in group.members:
                yield function, group.inputs, dtypes, [backend.asnumpy(next(left)) for _ in dtypes]


OPTIONS = ("--fmad=false",)


def is_tested(function: Function, name: str) -> bool:
    """Return whether a function is in the table of a dtype.

    Complex functions that `cmath` has too are the same, and in a table with those; the names of
    `math` mean NumPy's functions there.
    """
    if name not in COMPLEX:
        return True
    return not function.name.startswith("math.") and function.object not in _OF_CMATH


_OF_CMATH = tuple(
    function
    for function in mathematics.TABLE
    if isinstance(function, np.ufunc) and hasattr(cmath, function.__name__.replace("arc", "a"))
)


@cache
def batch(name: str) -> Batch:
    """Return the kernel that computes every function that takes a dtype."""
    groups: dict[tuple[int, str, str], Group] = {}
    for function in functions():
        dtypes = types_of(function, name) if is_tested(function, name) else None
        if dtypes is not None:
            kind = ""
            if name in INTEGERS and function.object in _COUNTED:
                kind = "counted"
            elif name in ("bool", *INTEGERS) and function.object in _DIVISIONS:
                kind = "divides"
            key = function.arity, function.seconds, kind
            if key not in groups:
                groups[key] = Group(operands(name, *key), [])
            groups[key].members.append((function, dtypes))
    return Batch(name, list(groups.values()))


# -- what NumPy and Python compute ----------------------------------------------------------------


def _ulp(x: Array) -> Array:
    """Return the unit in the last place, as `math.ulp` does, in the operand's own type."""
    size = np.abs(x)
    up, down = (np.nextafter(size, np.array(to, x.dtype)) for to in (np.inf, 0))
    found = np.where(np.isinf(up), size - down, up - size).astype(x.dtype)
    return np.where(np.isfinite(x), found, size).astype(x.dtype)


# Of a smaller type these are functions of it, not of the float64 that Python makes of it.
_OF_OWN_TYPE: dict[Any, Callable[..., Any]] = {math.ulp: _ulp, math.nextafter: np.nextafter}


def _by_element(
    function: Function, inputs: Sequence[Array], dtypes: Sequence[np.dtype[Any]], plain: bool
) -> tuple[list[Array], Array]:
    """Return Python's result for each element, and where it raises."""
    size = inputs[0].size
    results = [np.zeros(size, dtype) for dtype in dtypes]
    raised = np.zeros(size, bool)
    for k in range(size):
        values = [x[k].item() if plain else x[k] for x in inputs]
        try:
            found = function.object(*values)
        except (ValueError, OverflowError, ZeroDivisionError):
            raised[k] = True
            continue
        for result, value in zip(results, found if len(results) > 1 else (found,), strict=True):
            try:
                result[k] = value
            except OverflowError:  # an integer of more than 64 bits, or a float32's infinity
                raised[k] = True
    return results, raised


def wanted(
    function: Function, inputs: Sequence[Array], dtypes: Sequence[np.dtype[Any]]
) -> tuple[list[Array], Array]:
    """Return the results of NumPy, or of Python's own functions, and where those raise."""
    with np.errstate(all="ignore"):
        is_small = inputs[0].dtype in (np.float16, np.float32, BFLOAT16)
        if is_small and function.object in _OF_OWN_TYPE:
            own = _OF_OWN_TYPE[function.object]
            return _by_numpy(replace(function, object=own), list(inputs), dtypes)
        if function.name.startswith("math."):
            return _by_element(function, inputs, dtypes, True)
        if function.object in (min, max, round):
            return _by_element(function, inputs, dtypes, inputs[0].dtype in (np.bool_, BFLOAT16))
        return _by_numpy(function, list(inputs), dtypes)


def _by_numpy(
    function: Function, values: list[Array], dtypes: Sequence[np.dtype[Any]]
) -> tuple[list[Array], Array]:
    # Kernels compute in float64 what NumPy may compute in a smaller type, and bools are ints.
    for k, value in enumerate(values):
        is_second = k == 1 and function.seconds
        if value.dtype.kind in "iub" and dtypes[0].kind == "f" and not is_second:
            values[k] = value.astype(np.float64)
        elif value.dtype == np.bool_ and dtypes[0] != np.bool_:
            values[k] = value.astype(np.int64)
    call = function.object
    if function.object is np.where:
        values[0] = values[0].astype(bool)
    inverse = np.zeros(values[0].size, bool)
    if function.name in ("**", "np.power", "pow") and values[0].dtype.kind == "i":
        # NumPy raises. What is left of a fraction is 0, or the base where that is 1 or -1.
        inverse = values[1] < 0
        bases, ones = values[0], np.where(values[1] % 2 == 0, 1, values[0])
        values[1] = np.where(inverse, 1, values[1]).astype(values[1].dtype)
    if function.object is np.sinc and values[0].dtype == np.float16:
        # NumPy's is a program of float16: each of its steps is rounded to that.
        found = call(values[0].astype(np.float32))
    elif values[0].dtype == BFLOAT16:
        try:
            found = call(*values)
        except TypeError:
            found = None
        kinds = [x.dtype for x in (found if isinstance(found, tuple) else (found,))
                 if isinstance(x, np.ndarray)]  # fmt: skip
        if found is None or not all(kind == BFLOAT16 or kind.kind in "biu" for kind in kinds):
            found = call(*(x.astype(np.float32) if x.dtype == BFLOAT16 else x for x in values))
    else:
        found = call(*values)
    if inverse.any():
        found = np.where(inverse, np.where(np.abs(bases) == 1, ones, 0), found)
    results = list(found) if len(dtypes) > 1 else [found]
    converted = [np.asarray(r).astype(d) for r, d in zip(results, dtypes, strict=True)]
    return converted, np.zeros(inverse.size, bool)


# -- comparing ------------------------------------------------------------------------------------


def ulps(function: Function, name: str) -> float:
    """Return how many units in the last place a result may be off; 0 stands for equal bits."""
    for names, allowed in _ULPS:
        if function.name.removeprefix("np.").removeprefix("math.") in names.split():
            if name in COMPLEX and allowed == _POWERS:
                return 2 * allowed  # of both parts' logarithms
            return min(allowed, 1) if name in HALVES else allowed
    if name in COMPLEX and function.name in _COMPLEX_ROUNDED.split():
        return 4
    return 0


# The larger of what the C library's functions for vectors and CUDA's promise, with what NumPy's own
# are off. All others are exact. The 16-bit types are computed in float32, and rounded.
_POWERS = 16
_ULPS = (
    ("sin cos tan arcsin arccos arctan asin acos atan sinh cosh tanh arcsinh arccosh arctanh", 4),
    ("asinh acosh atanh exp exp2 expm1 log log2 log10 log1p cbrt erf hypot arctan2 atan2", 4),
    ("angle degrees rad2deg radians deg2rad sinc erfc", 6),
    ("logaddexp logaddexp2 gamma lgamma", 12),
    ("power float_power pow **", _POWERS),
    ("i0", 32),
)
_COMPLEX_ROUNDED = "np.multiply np.divide np.reciprocal np.sign np.absolute abs np.square * /"


def _ordered(x: Array) -> Array:
    """Return floats as integers that count them."""
    bits = x.view(f"i{x.dtype.itemsize}").astype(object)
    least = -(2 ** (8 * x.dtype.itemsize - 1))
    return np.where(bits < 0, least - bits, bits)


def distance(found: Array, expected: Array) -> Array:
    """Return how many units in the last place lie between; inf where it is no matter of those."""
    if found.dtype.kind in "biu":
        return np.where(found == expected, 0.0, np.inf)
    if found.dtype.kind == "c":
        return _complex_distance(found, expected)
    wide_found, wide_expected = (
        x.astype(np.float64) if x.dtype.itemsize < 8 else x for x in (found, expected)
    )
    is_nan = np.isnan(wide_found) & np.isnan(wide_expected)
    finite = np.isfinite(wide_found) & np.isfinite(wide_expected)
    zeros = (wide_found == 0) & (wide_expected == 0)
    same = (wide_found == wide_expected) & (np.signbit(wide_found) == np.signbit(wide_expected))
    result = np.where(is_nan | same, 0.0, np.inf)
    rest = finite & ~zeros & ~same
    if rest.any():
        apart = np.abs(_ordered(found[rest]) - _ordered(expected[rest]))
        result[rest] = apart.astype(np.float64)
    return result


def _complex_distance(found: Array, expected: Array) -> Array:
    """Return the same of complex numbers: units of the larger part."""
    result = np.zeros(found.shape)
    sizes = np.maximum(np.abs(expected.real), np.abs(expected.imag))
    with np.errstate(all="ignore"):
        unit = np.spacing(np.where(np.isfinite(sizes), sizes, 1))
    for ours, theirs in ((found.real, expected.real), (found.imag, expected.imag)):
        ours, theirs = np.ascontiguousarray(ours), np.ascontiguousarray(theirs)
        finite = np.isfinite(ours) & np.isfinite(theirs)
        both = (np.isnan(ours) & np.isnan(theirs)) | (ours == theirs)
        signs = np.signbit(ours) == np.signbit(theirs)
        exact = both & (signs | np.isnan(ours))
        with np.errstate(all="ignore"):
            apart = np.where(finite, np.abs(ours - theirs) / unit, np.inf)
        apart = np.where(exact, 0.0, np.where(finite & ~both, apart, np.inf))
        result = np.maximum(result, apart)
    return result
