"""The case table of ReductionKernel: arguments, and what NumPy makes of them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from kerneltk import ReductionKernel

from .cases import ALIGNED, F32, F64, I32, I64, PACKED, records
from .support import (
    BFLOAT16,
    COMPLEX,
    DTYPES,
    LAYOUTS,
    TOLERANCE,
    Array,
    backwards,
    c_order,
    f_order,
    grid,
    misaligned,
    place,
    values,
)

Axis = int | tuple[int, ...] | None

F16, U8, I8, BOOL = (np.dtype(name) for name in ("f2", "u1", "i1", "?"))
SIXTEEN_BITS = (F16, BFLOAT16)

ALL_MODES = ("new", "c", "f", "stepped")


@dataclass(frozen=True)
class ReductionCase:
    """One reduction and what NumPy makes of it.

    `make` returns the inputs, or the inputs and the outputs; without outputs the case runs once for
    each of `modes`: outputs allocated, or given in that layout. `expected` gets copies of the
    arguments, and `axis`, `keepdims` and, where there is a mask, `where` as NumPy's ufuncs do.
    """

    name: str
    kernel: ReductionKernel
    make: Callable[[], tuple[Any, ...]]
    expected: Callable[..., Any]
    axis: Any = None
    keepdims: bool = False
    mask: Callable[[], Any] | None = None
    named: dict[str, Any] = field(default_factory=dict)
    tolerance: float = 0.0  # exact
    modes: tuple[str, ...] = ALL_MODES


def numbers(dtype: Any, shape: int | Sequence[int], seed: int = 0) -> Array:
    """Return random numbers whose sums, and sums of squares, are exact in the dtype that they are
    summed in, and are seldom the same for two parts.
    """
    kind = np.dtype(dtype)
    random = np.random.default_rng(seed + 1000 * math.prod(np.atleast_1d(shape)))
    if kind.kind == "b":
        return random.random(shape) < 0.5
    if kind.kind == "c":
        return (random.integers(-9, 14, shape) + 1j * random.integers(-9, 14, shape)).astype(kind)
    low, high = -9, 14
    if kind.kind in "iu":
        info = np.iinfo(kind)
        low, high = max(info.min, -999), min(info.max, 999) + 1
        if kind.itemsize == 2:  # may wrap, as one byte does
            low, high = info.min, info.max + 1
    return random.integers(low, high, shape).astype(kind)


def rare(dtype: Any, shape: int | Sequence[int], seed: int = 0) -> Array:
    """Return numbers most of which are zero."""
    random = np.random.default_rng(seed)
    return (random.random(shape) < 0.02).astype(dtype)


# -- what NumPy makes of it ---------------------------------------------------------------------


def total(x: Array, **how: Any) -> Array:
    """As SUM: in the array's dtype, but 16-bit floats in float32."""
    if x.dtype in SIXTEEN_BITS:
        return np.asarray(np.add.reduce(x.astype(F32), **how)).astype(x.dtype)
    return np.asarray(np.add.reduce(x, dtype=x.dtype, **how))


def squares(x: Array, **how: Any) -> Array:
    return total(x * x, **how)


def least(x: Array, **how: Any) -> Array:
    return np.asarray(np.minimum.reduce(x, **how))


def greatest(x: Array, **how: Any) -> Array:
    with np.errstate(invalid="ignore"):  # bfloat16's comparison with NaN warns
        return np.asarray(np.maximum.reduce(x, **how))


def dot(x: Array, w: Array, **how: Any) -> Array:
    return total(np.asarray(x * w, x.dtype), **how)


def any_of(x: Array, **how: Any) -> Array:
    return np.asarray(np.logical_or.reduce(x != 0, **how))


def all_of(x: Array, **how: Any) -> Array:
    return np.asarray(np.logical_and.reduce(x != 0, **how))


def by_rows(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return an `expected` from one that reduces the last axis of the broadcast inputs.

    The last axis has the elements of one reduction, in C order of the reduced axes.
    """

    def expected(*arguments: Any, axis: Axis, keepdims: bool, where: Any = True) -> Any:
        *arrays, mask = np.broadcast_arrays(*arguments, where)
        ndim = mask.ndim
        given = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = sorted(k % ndim for k in given)
        kept = [k for k in range(ndim) if k not in axes]
        shape = [mask.shape[k] for k in kept]
        count = math.prod(mask.shape[k] for k in axes)
        rows = [a.transpose(*kept, *axes).reshape(*shape, count) for a in (*arrays, mask)]
        found = function(*rows[:-1], rows[-1]) if where is not True else function(*rows[:-1])
        found = found if isinstance(found, tuple) else (found,)
        results = [np.expand_dims(r, tuple(axes)) if keepdims else np.asarray(r) for r in found]
        return tuple(results) if len(results) > 1 else results[0]

    return expected


# -- kernels ------------------------------------------------------------------------------------

SUM = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
SQUARES = ReductionKernel("T x", "T y", "x * x", "a + b", "y = a", "0", "squares")
LEAST = ReductionKernel("T x", "T y", "x", "a < b ? a : b", "y = a", None, "least")
GREATEST = ReductionKernel("T x", "T y", "x", "a > b ? a : b", "y = a", None, "greatest")
ANY = ReductionKernel("T x", "bool y", "x != T(0)", "a || b", "y = a", "false", "any_of")
ALL = ReductionKernel("T x", "bool y", "x != T(0)", "a && b", "y = a", "true", "all_of")
DOT = ReductionKernel("T x, T w", "T y", "x * w", "a + b", "y = a", "0", "dot")
ADD_TO = ReductionKernel("T x", "T y", "x", "a + b", "y += a", "0", "add_to")
EARLIER = "a.value < b.value || (a.value == b.value && a.index < b.index) ? a : b"
ARGMIN = ReductionKernel(
    "T x", "T y, int64 k", "{x, _J}", EARLIER, "y = a.value; k = a.index", None, "argmin",
    reduce_type="T value, int64 index",
)  # fmt: skip
POSITIONS = ReductionKernel(
    "int64 x", "int64 u, int64 v, int64 w, int64 count, int64 number",
    "{x * _J, x * _j, x * _i}", "{a.u + b.u, a.v + b.v, a.w + b.w}",
    "u = a.u; v = a.v; w = a.w; count = _out_ind.size(); number = _i", "{0, 0, 0}", "positions",
    reduce_type="int64 u, int64 v, int64 w",
)  # fmt: skip


def accumulation_cases() -> Iterator[ReductionCase]:
    """What a total is held in."""
    for spelling in ("int8", "signed char"):
        yield ReductionCase(f"float32-in-{spelling}",
            ReductionKernel(
                "T x", "T y", "x", "a + b", "y = a", "0", "in_one_byte", reduce_type=spelling
            ),
            lambda: (values(F32, (3, 50)) % 3,), total, 1, modes=("new",))  # fmt: skip

    def large_first() -> tuple[Array]:
        x = np.ones((4, 301), F32)
        x[:, 0] = 2**26  # in float32, adding one does not change it
        x[:, 150] = np.arange(4) * 8
        return (x,)

    for spelling in ("double", "float64", "long long", "unsigned long long", "int64"):
        yield ReductionCase(f"large-terms-in-{spelling}",
            ReductionKernel(
                "T x", "T y", "(_type_reduce)x", "a + b", "y = a", 0,
                f"in_{spelling.replace(' ', '_')}", reduce_type=spelling,
            ), large_first,
            lambda x, **how: np.add.reduce(x, dtype=np.float64, **how).astype(F32), 1,
            modes=("new",))  # fmt: skip
    yield ReductionCase("wide-output",
        ReductionKernel("int8 x", "int64 y", "x", "a + b", "y = a", "0", "wide"),
        lambda: (numbers(I8, (50, 60)),),
        lambda x, **how: np.add.reduce(x, dtype=np.int64, **how), 0)  # fmt: skip
    by_output = ReductionKernel("T x", "U y", "x", "a + b", "y = a", "0", "by_output")
    for axis in (0, 1):
        yield ReductionCase(f"given-output-decides-{axis}", by_output,
            lambda a=axis: (numbers(I8, (300, 300)), c_order(numbers(F64, 300))),
            lambda x, y, **how: np.add.reduce(x, dtype=np.float64, **how), axis)  # fmt: skip
    yield ReductionCase("type-variable-of-an-output",
        ReductionKernel("T x", "U y", "x", "a + b", "y = a", "0", "by_variable", reduce_type="U"),
        lambda: (numbers(I8, (30, 300)), c_order(numbers(I32, 30))),
        lambda x, y, **how: np.add.reduce(x, dtype=np.int32, **how), 1)  # fmt: skip


def empty_cases() -> Iterator[ReductionCase]:
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 3), (0, 0)):
        for axis in (None, *range(len(shape)), *((0, k) for k in range(1, len(shape))), ()):
            yield ReductionCase(f"empty-{shape}-{axis}", SUM,
                lambda s=shape: (numbers(I32, s),), total, axis, axis != 0)  # fmt: skip
    for shape, axis in (((0, 3), 1), ((3, 0, 2), 2), ((3, 0, 2), (0, 2)), ((0,), ())):
        yield ReductionCase(f"empty-without-identity-{shape}-{axis}", LEAST,
            lambda s=shape: (numbers(I32, s),), least, axis)  # fmt: skip
    yield ReductionCase("empty-all", ALL, lambda: (numbers(F32, (3, 0)),), all_of, 1)  # not zero
    yield ReductionCase("empty-adds-to", ADD_TO,
        lambda: (numbers(F32, (3, 0)), c_order(numbers(F32, 3))),
        lambda x, y, **how: y, 1)  # fmt: skip


def layout_cases() -> Iterator[ReductionCase]:
    """Addresses, and elements that are one in memory."""
    for axis in (0, 1):
        yield ReductionCase(f"misaligned-one-of-two-{axis}", DOT,
            lambda: (c_order(numbers(F32, (40, 48))), misaligned(numbers(F32, (40, 48), 1), 6)),
            dot, axis)  # fmt: skip
        yield ReductionCase(f"zero-strides-{axis}", SUM,
            lambda a=axis: (
                np.broadcast_to(c_order(numbers(F32, (1, 50) if a == 0 else (40, 1))), (40, 50)),
            ), total, axis)  # fmt: skip
    yield ReductionCase("zero-strides-everywhere", SUM,
        lambda: (place(np.full((40, 50), 3, F32), [0, 0]),), total, 1)  # fmt: skip


@by_rows
def argmin(x: Array) -> tuple[Array, Array]:
    return x.min(-1), np.asarray(x.argmin(-1), np.int64)


@by_rows
def numbered(x: Array) -> tuple[Array, ...]:
    """As POSITIONS: sums of x * _J, x * _j and x * _i, the outputs' count, and their numbers."""
    outputs = math.prod(x.shape[:-1])
    number = np.arange(outputs).reshape(x.shape[:-1])
    within = np.arange(x.shape[-1])
    weights = within, within * outputs + number[..., None], number[..., None] + within * 0
    sums = ((x * weight).sum(-1) for weight in weights)
    return (*sums, np.full_like(number, outputs), number)


REAL = tuple(dtype for dtype in DTYPES if dtype.kind != "c")


# At random: kernels, what NumPy makes of them, and their dtypes.
RANDOM: tuple[tuple[ReductionKernel, Callable[..., Any], Sequence[Any]], ...] = (
    (SUM, total, DTYPES), (SUM, total, (U8, F32)),
    (SQUARES, squares, (BOOL, U8, BFLOAT16, F32, *COMPLEX)),
    (LEAST, least, REAL), (GREATEST, greatest, REAL), (ANY, any_of, DTYPES), (ALL, all_of, DTYPES),
    (DOT, dot, (U8, I32, F32, F64, *COMPLEX)), (ADD_TO, total, (U8, F32)),
    (ARGMIN, argmin, (U8, I8, F32)), (POSITIONS, numbered, (I64,)),
)  # fmt: skip


def random_case(name: str, pick: random.Random) -> ReductionCase:
    """Return a case with any shape, axes, layouts, broadcast operands and masks."""
    kernel, expected, dtypes = pick.choice(RANDOM)
    dtype = pick.choice(dtypes)
    ndim = pick.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 6, 8))
    shape = [pick.choice((1, 2, 3, 5, 8, 17, 33, 64)) for _ in range(ndim)]
    if ndim and pick.random() < 0.3:
        shape[pick.randrange(ndim)] = pick.choice((300, 1003, 5000, 70_001))
    while math.prod(shape) > (3000 if dtype in SIXTEEN_BITS else 80_000):
        shape[shape.index(max(shape))] //= 2
    axis: Any = pick.choice((None, tuple(pick.sample(range(ndim), pick.randint(0, ndim)))))
    if ndim and pick.random() < 0.4:
        axis = pick.randrange(-ndim, ndim)
    keepdims = pick.random() < 0.3

    def operand(dtype: Any, extents: Sequence[int], seed: int) -> Callable[[], Array]:
        layout = pick.choice([*LAYOUTS.values(), partial(misaligned, offset=pick.randint(1, 15))])
        if kernel in (ANY, ALL):
            return lambda: layout(((rare(dtype, extents) == 0) == (kernel is ALL)).astype(dtype))
        return lambda: layout(numbers(dtype, extents, seed))

    def broadcast() -> list[int]:
        return [n if pick.random() < 0.7 else 1 for n in shape][pick.randint(0, ndim) :]

    made = [operand(dtype, shape, 0)]
    mask = None
    if kernel is DOT:
        made.append(operand(dtype, broadcast(), 1))
    if kernel in (SUM, DOT) and pick.random() < 0.4:
        mask = operand(BOOL, broadcast(), 2)
    if kernel is ADD_TO:
        result = np.add.reduce(np.zeros(shape), axis=axis, keepdims=keepdims)
        made.append(operand(dtype, result.shape, 1))
        expected = lambda x, y, **how: np.asarray(total(x, **how) + y, y.dtype)  # noqa: E731
    return ReductionCase(name, kernel, lambda: tuple(make() for make in made), expected, axis,
        keepdims, mask, modes=(pick.choice(ALL_MODES),))  # fmt: skip


def random_cases() -> Iterator[ReductionCase]:
    for seed in range(600):
        yield random_case(f"random-{seed}", random.Random(seed))


def broadcast_cases() -> Iterator[ReductionCase]:
    scaled = ReductionKernel(
        "T x, T c, T d", "T y", "c * x + d", "a + b", "y = a * d", "0", "scaled"
    )
    for dtype, c, d in (
        (F32, 2, 3), (F32, 0.5, True), (F32, np.float64(2.5), np.int8(3)), (U8, 3, 5), (I64, 2, -7),
        (F16, 0.5, 2), (COMPLEX[0], 1j, 2), (BFLOAT16, 2, 1.0),
    ):  # fmt: skip

        def expected(x: Array, c: Any, d: Any, **how: Any) -> Array:
            c, d = (np.asarray(v).astype(x.dtype) for v in (c, d))
            return np.asarray(total(c * x + d, **how) * d).astype(x.dtype)

        yield ReductionCase(f"scalars-{dtype}-{c}-{d}", scaled,
            lambda t=dtype, c=c, d=d: (values(t, (6, 30)), c, d), expected, 1, modes=("new",)
        )  # fmt: skip
    yield ReductionCase("scalars-by-default",
        ReductionKernel(
            "T x, T c = 2, float64 d = 0.5", "float64 y", "c * x + d", "a + b", "y = a", "0",
            "defaults",
        ),
        lambda: (values(F32, (6, 30)),),
        lambda x, **how: total(2.0 * x.astype(np.float64) + 0.5, **how), 0)  # fmt: skip


def raw_cases() -> Iterator[ReductionCase]:
    first = ReductionKernel("raw T w, T x", "T y", "x * w[_J]", "a + b", "y = a", "0", "raw_first")
    middle = ReductionKernel(
        "T x, raw T w, int32 k", "T y", "x * w[k]", "a + b", "y = a", "0", "raw_middle"
    )
    last = ReductionKernel(
        "T x, raw T w, raw T v", "T y", "x + w[_i]", "a + b", "y = a + v[_i] * w.size()", "0",
        "raw_last",
    )  # fmt: skip
    index = (np.arange(6 * 40, dtype=np.int32).reshape(6, 40) * 7) % 60
    for layout in LAYOUTS:
        yield ReductionCase(f"raw-first-{layout}", first,
            lambda a=layout: (LAYOUTS[a](numbers(F32, 40)), numbers(F32, (6, 40), 1)),
            lambda w, x, **how: total(x * w, **how), 1, modes=("new",))  # fmt: skip
        yield ReductionCase(f"raw-middle-{layout}", middle,
            lambda a=layout: (numbers(F32, (6, 40)), LAYOUTS[a](numbers(F32, (3, 4, 5), 1)),
                              c_order(index)),
            lambda x, w, k, **how: total(x * w.reshape(-1)[k], **how), 0, modes=("new",)
        )  # fmt: skip
    for axis, count, extents in ((0, 40, (1, 40)), (1, 6, (6, 1))):

        def outer(x: Array, w: Array, v: Array, e: Any = extents, **how: Any) -> Array:
            sums = total(x + w.reshape(e), **how)
            return sums + v.reshape(sums.shape) * v.dtype.type(v.size)

        yield ReductionCase(f"raw-last-{axis}", last,
            lambda n=count: (numbers(I32, (6, 40)), numbers(I32, n, 1), numbers(I32, n, 2)), outer,
            axis)  # fmt: skip
    yield ReductionCase("raw-only",
        ReductionKernel(
            "raw T x", "T y", "x[_j] * x[_j]", "a + b", "y = a * x.shape()[0]", "0", "raw_only"
        ),
        lambda: (numbers(I64, 5000),),
        lambda x, **how: squares(x, **how) * 5000, named={"size": 5000})  # fmt: skip
    yield ReductionCase("raw-rows",
        ReductionKernel(
            "T x, raw T w", "T y", "x * w[{_i, _J}]", "a + b", "y = a", "0", "raw_rows"
        ),
        lambda: (numbers(F32, (6, 40)), f_order(numbers(F32, (6, 40), 1))), dot, 1)  # fmt: skip


def index_cases() -> Iterator[ReductionCase]:
    yield ReductionCase("positions-of-many", POSITIONS,
        lambda: (numbers(I64, 300_000),), numbered, 0, modes=("new",))  # fmt: skip
    in_code = "_in_ind.get()[0] * 100 + _in_ind.get()[1] * 10 + _in_ind.get()[2]"
    coordinates = ReductionKernel(
        "int64 x", "int64 y", f"x * ({in_code})", "a + b",
        "y = a; for (int d = 0; d < _out_ind.ndim; ++d) y = y * 10 + _out_ind.get()[d]", "0",
        "coordinates", reduce_dims=False,
    )  # fmt: skip

    def coded(x: Array, axis: Any, keepdims: bool) -> Array:
        axes = sorted({0, 1, 2} if axis is None else set(np.atleast_1d(axis).tolist()))
        kept = [k for k in range(3) if k not in axes]
        places = np.indices(x.shape)
        code = sum(places[k] * 10 ** (2 - position) for position, k in enumerate([*axes, *kept]))
        found = np.add.reduce(x * code, axis=tuple(axes))
        for k in range(len(kept)):
            found = found * 10 + np.indices(found.shape)[k]
        return np.asarray(np.expand_dims(found, tuple(axes)) if keepdims else found)

    for layout in ("c", "f", "rotated", "backwards"):
        for axis in (None, 0, 1, 2, (0, 1), (0, 2), (1, 2)):
            yield ReductionCase(f"coordinates-{layout}-{axis}", coordinates,
                lambda a=layout: (LAYOUTS[a](numbers(I64, (4, 6, 5))),), coded, axis,
                keepdims=layout == "f", modes=("new",))  # fmt: skip
    merged = ReductionKernel(
        "int64 x", "int64 y",
        "x * (_in_ind.get()[0] * 10 + _in_ind.get()[_in_ind.ndim - 1] + _in_ind.ndim * 1000)",
        "a + b", "y = a", "0", "merged", reduce_dims=True,
    )  # fmt: skip
    for axis in (None, 0):  # reduced and kept axes are neighbours in memory, in this order
        yield ReductionCase(f"merged-{axis}", merged,
            lambda: (c_order(numbers(I64, (20, 30))),),
            lambda x, axis, keepdims: (x * (np.arange(600).reshape(20, 30) * 11 + 1000)).sum(axis),
            axis)  # fmt: skip
    itself = ReductionKernel(
        "T x, T w", "T y", "x * _raw_x[_in_ind.get()] + w * _raw_w[_j]", "a + b", "y = a", "0",
        "itself",
    )  # fmt: skip
    for layout, axis in grid(("c", "pitched", "backwards"), (0, 1)):
        yield ReductionCase(f"raw-view-{layout}-{axis}", itself,
            lambda a=layout: (LAYOUTS[a](numbers(F32, (6, 35))), c_order(numbers(F32, 35, 1))),
            lambda x, w, **how: squares(x, **how) + squares(np.broadcast_to(w, (6, 35)), **how),
            axis, modes=("new",))  # fmt: skip


# -- totals with several parts -----------------------------------------------------------------


@by_rows
def argmax(x: Array) -> tuple[Array, Array]:
    return x.max(-1), np.asarray(x.argmax(-1), np.int64)


@by_rows
def moments(x: Array) -> tuple[Array, ...]:
    wide = x.astype(np.float64)
    return wide.mean(-1), wide.var(-1), np.full(x.shape[:-1], x.shape[-1])


@by_rows
def two_greatest(x: Array) -> tuple[Array, Array]:
    ordered = np.sort(x, -1)
    return ordered[..., -1], ordered[..., -2]


BEST = """
struct Best { T value; long long index; };
__device__ Best best(T value, long long index) { Best r = {value, index}; return r; }
__device__ Best better(const Best& a, const Best& b) {
    if (a.value != b.value) return a.value > b.value ? a : b;
    return a.index < b.index ? a : b;
}
"""
STRUCTURE_SHAPES: tuple[tuple[tuple[int, ...], Axis], ...] = (
    ((300,), None), ((40, 50), 0), ((5, 900), 1), ((6, 7, 9), (0, 2)), ((5, 70_001), 1),
)  # fmt: skip


def structure_cases() -> Iterator[ReductionCase]:
    own_type = ReductionKernel(
        "T x", "T y, int64 k", "best(x, _J)", "better(a, b)", "y = a.value; k = a.index", None,
        "argmax", reduce_type="Best", preamble=BEST,
    )  # fmt: skip
    welford = ReductionKernel(
        "T x", "float64 mean, float64 variance, int64 count",
        "{1, (double)x, 0}",
        """{
            a.n + b.n,
            a.n + b.n ? a.mean + (b.mean - a.mean) * b.n / (a.n + b.n) : 0,
            a.m2 + b.m2 + (a.n + b.n ? (b.mean - a.mean) * (b.mean - a.mean) * a.n * b.n
                                     / (a.n + b.n) : 0)
        }""",
        "mean = a.mean; variance = a.m2 / a.n; count = a.n;",
        "{0, 0, 0}", "welford", reduce_type="int64 n, float64 mean, float64 m2",
    )  # fmt: skip
    top = ReductionKernel(
        "T x, T lowest", "T y, T z", "{x, lowest}",
        "{max(a.first, b.first), max(min(a.first, b.first), max(a.second, b.second))}",
        "y = a.first; z = a.second", "{lowest, lowest}", "top", reduce_type="T first, T second",
    )  # fmt: skip
    for shape, axis in STRUCTURE_SHAPES:
        yield ReductionCase(f"argmax-ties-{shape}-{axis}", own_type,
            lambda s=shape: (values(F32, s) // 4,), argmax, axis, modes=("new",))  # fmt: skip
        yield ReductionCase(f"welford-{shape}-{axis}", welford,
            lambda s=shape: (numbers(F32, s) + F32.type(1000),), moments, axis, tolerance=1e-12,
            modes=("new",))  # fmt: skip
        yield ReductionCase(f"top-{shape}-{axis}", top,
            lambda s=shape: (numbers(F64, s), -np.inf),
            lambda x, lowest, **how: two_greatest(x, **how), axis, modes=("new",))  # fmt: skip
    yield ReductionCase("fields-of-many-sizes",
        ReductionKernel(
            "int16 x", "int8 p, float64 q, int16 r, uint8 s",
            "{(signed char)x, (double)x, x, x > 0}",
            "{(signed char)(a.p + b.p), a.q + b.q, a.r > b.r ? a.r : b.r, a.s || b.s}",
            "p = a.p; q = a.q; r = a.r; s = a.s", "{0, 0, -32768, false}", "many_sizes",
            reduce_type="int8 p, float64 q, int16 r, bool s",
        ),
        lambda: (numbers("i2", (50, 60)),),
        lambda x, **how: (np.add.reduce(x.astype(np.int8), dtype=np.int8, **how),
                          np.add.reduce(x, dtype=np.float64, **how), greatest(x, **how),
                          any_of(x > 0, **how).astype(np.uint8)), 0)  # fmt: skip


def result_cases() -> Iterator[ReductionCase]:
    """Outputs: several, given, in which order."""
    three = ReductionKernel(
        "T x", "T low, float64 mean, int32 number", "{x, (double)x}",
        "{a.low < b.low ? a.low : b.low, a.sum + b.sum}",
        """
        low = a.low;
        const double sum = a.sum;
        mean = sum / 8;
        number = (int)_i;
        """,
        None, "three", reduce_type="T low, float64 sum",
    )  # fmt: skip

    def expected(x: Array, **how: Any) -> tuple[Array, ...]:
        low = least(x, **how)
        return (
            low,
            np.asarray(np.add.reduce(x, dtype=np.float64, **how)) / 8,
            np.arange(low.size, dtype=np.int32).reshape(low.shape),
        )

    for axis, keepdims in grid((0, 1, (0, 2), None), (False, True)):
        yield ReductionCase(f"three-outputs-{axis}-{keepdims}", three,
            lambda: (numbers(F32, (6, 5, 8)),), expected, axis, keepdims)  # fmt: skip
    yield ReductionCase("outputs-of-several-layouts", three,
        lambda: (numbers(F32, (6, 5, 8)), f_order(numbers(F32, (6, 8))),
                 backwards(numbers(F64, (6, 8))), misaligned(numbers(I32, (6, 8)))),
        lambda x, low, mean, number, **how: expected(x, **how), 1)  # fmt: skip
    for layout in LAYOUTS:
        for axis in (0, 1, 2):
            yield ReductionCase(f"adds-to-{layout}-{axis}", ADD_TO,
                lambda a=layout, k=axis: (numbers(F32, (5, 6, 33)),
                                          LAYOUTS[a](numbers(F32, np.delete((5, 6, 33), k), 1))),
                lambda x, y, **how: total(x, **how) + y, axis)  # fmt: skip
    yield ReductionCase("adds-to-one", ADD_TO,
        lambda: (numbers(F32, 5000), c_order(np.array(5, F32))),
        lambda x, y, **how: total(x, **how) + y, None)  # fmt: skip


def identity_cases() -> Iterator[ReductionCase]:
    positive = numbers(F32, (20, 30)) + F32.type(100)
    for axis in (None, 0, 1):
        yield ReductionCase(f"least-of-positive-{axis}", LEAST,
            lambda: (positive,), least, axis, modes=("new",))  # fmt: skip
        yield ReductionCase(f"greatest-of-negative-{axis}", GREATEST,
            lambda: (-positive,), greatest, axis, modes=("new",))  # fmt: skip
    for name, identity in (("infinity", np.inf), ("numpy-number", np.float64(1e30))):
        yield ReductionCase(f"identity-{name}",
            ReductionKernel("T x", "T y", "x", "min(a, b)", "y = a", identity, "least_or"),
            lambda: (np.zeros((3, 0), F64),),
            lambda x, v=identity, **how: np.full(3, v), 1, modes=("new",))  # fmt: skip
    at_least = ReductionKernel(
        "T x, T low", "T y", "x", "a > b ? a : b", "y = a", "low", "at_least"
    )
    for shape in ((7, 30), (7, 0)):
        yield ReductionCase(f"identity-of-a-scalar-{shape}", at_least,
            lambda s=shape: (numbers(F32, s), -100),
            lambda x, low, **how: np.maximum.reduce(x, initial=low, **how), 1)  # fmt: skip


def special_cases() -> Iterator[ReductionCase]:
    """NaN, infinities and zeros with signs: as the expression says."""

    def special(dtype: Any) -> Array:
        x = numbers(dtype, (40, 50))
        places = np.random.default_rng(3)
        for value in (np.nan, np.inf, -np.inf):
            x[places.integers(0, 40, 8), places.integers(0, 50, 8)] = value
        x[3], x[:, 4] = np.nan, np.nan
        return x

    propagates = ReductionKernel(
        "T x", "T y", "x", "a != a || a > b ? a : b", "y = a", None, "propagates"
    )
    ignores = ReductionKernel(
        "T x", "T y", "x", "b != b || a > b ? a : b", "y = a", None, "ignores"
    )  # fmt: skip
    summed = np.errstate(invalid="ignore")(total)
    for kernel, expected, dtypes in (
        (propagates, greatest, (F16, F32, F64, BFLOAT16)),
        (ignores, lambda x, **how: np.asarray(np.fmax.reduce(x, **how)), (F32, BFLOAT16)),
        (SUM, summed, (F32,)),
    ):
        for dtype, axis in grid(dtypes, (0, 1)):
            yield ReductionCase(f"special-{kernel.name}-{dtype}-{axis}", kernel,
                lambda d=dtype: (special(d),), expected, axis, modes=("new",))  # fmt: skip


def mask_cases() -> Iterator[ReductionCase]:
    """What random masks are not: numbers, rare, without elements."""
    shape = (20, 33)
    rarely = lambda: rare(BOOL, shape)  # noqa: E731
    masks: dict[str, Callable[[], Any]] = {
        "0-d": lambda: np.array(True), "0-d-false": lambda: np.array(False),
        "true": lambda: True, "false": lambda: False, "numpy-true": lambda: np.True_,
        "rare": rarely,
        "zero-stride": lambda: np.broadcast_to(c_order(numbers(BOOL, (20, 1), 9)), shape),
    }  # fmt: skip
    for number, (name, axis) in enumerate(grid(masks, (None, 0, 1))):
        yield ReductionCase(f"where-{name}-{axis}", SUM,
            lambda: (numbers(F32, shape),), total, axis, keepdims=number % 2 == 0,
            mask=masks[name], modes=("new",))  # fmt: skip
    first = ReductionKernel(
        "T x", "int64 k", "_J", "a < b ? a : b", "k = a", 1 << 40, "first_place"
    )
    count = ReductionKernel(
        "T x", "float64 y", "{(double)x, 1}", "{a.sum + b.sum, a.n + b.n}",
        "y = a.n ? a.sum / a.n : -1", "{0, 0}", "masked_mean", reduce_type="float64 sum, int64 n",
    )  # fmt: skip

    @by_rows
    def mean(x: Array, mask: Array) -> Array:
        n = mask.sum(-1)
        return np.where(n > 0, np.where(mask, x, 0).sum(-1) / np.maximum(n, 1), -1.0)

    for axis in (0, 1):
        yield ReductionCase(f"where-all-{axis}", ALL,
            lambda: (numbers(F32, shape) > 0,), all_of, axis,
            mask=lambda: numbers(BOOL, 33, 9), modes=("new",))  # fmt: skip
        yield ReductionCase(f"where-places-{axis}", first,
            lambda: (numbers(F32, shape),),
            by_rows(lambda x, mask: np.where(mask.any(-1), mask.argmax(-1), 1 << 40)), axis,
            mask=rarely)  # fmt: skip
        yield ReductionCase(f"where-mean-{axis}", count,
            lambda: (numbers(F64, shape),), mean, axis, mask=rarely, tolerance=16 * TOLERANCE[F64]
        )  # fmt: skip

    # A value that is left out is not looked at: NaN there does no harm.
    def holed() -> tuple[Array]:
        x = numbers(F32, shape)
        x[::2] = np.nan
        return (x,)

    yield ReductionCase("where-nan", SUM, holed, total, None,
        mask=lambda: (np.arange(20) % 2 == 1)[:, None])  # fmt: skip
    yield ReductionCase("where-empty", SUM,
        lambda: (numbers(F32, (3, 0)),), total, 1,
        mask=lambda: np.ones((3, 1), bool))  # fmt: skip


def overlap_cases() -> Iterator[ReductionCase]:
    """An output that shares memory with inputs: as if every input had been read before."""
    views: dict[str, tuple[Axis, Callable[[Array], Array]]] = {
        "first-row": (0, lambda x: x[0]),
        "last-row": (0, lambda x: x[-1]),
        "row-backwards": (0, lambda x: x[3, ::-1]),
        "first-column": (1, lambda x: x[:, 0]),
        "column-backwards": (1, lambda x: x[::-1, 2]),
        "diagonal": (1, lambda x: x.reshape(-1)[:: x.shape[1] + 1][: len(x)]),
        "one": (None, lambda x: x[2, 3, ...]),
        "itself": ((), lambda x: x),
        "turned": ((), lambda x: x[::-1, ::-1]),
    }
    for shape in ((40, 50), (300, 700)):
        for name, (axis, view) in views.items():

            def make(s: tuple[int, int] = shape, v: Any = view) -> tuple[Array, Array]:
                x = c_order(numbers(F32, s))
                return x, v(x)

            yield ReductionCase(f"overlap-{name}-{shape}", SUM, make,
                lambda x, y, **how: total(x, **how), axis)  # fmt: skip
            yield ReductionCase(f"overlap-adds-{name}-{shape}", ADD_TO, make,
                lambda x, y, **how: total(x, **how) + y, axis)  # fmt: skip

    def three() -> tuple[Array, ...]:
        x = c_order(numbers(F32, (40, 50)))
        return x, x[::-1], x[7]

    yield ReductionCase("overlap-dot", DOT, three, lambda x, w, y, **how: dot(x, w, **how), 0)


def record_cases() -> Iterator[ReductionCase]:
    weights = ReductionKernel(
        "P p", "float64 y", "p.weight + (double)p.id", "a + b", "y = a", "0", "weights"
    )
    raw = ReductionKernel(
        "T x, raw P p", "float64 y", "(double)x * p[_J].weight", "a + b", "y = a", "0", "by_records"
    )
    heaviest = ReductionKernel(
        "P p", "P q", "p", "a.weight > b.weight || (a.weight == b.weight && a.id <= b.id) ? a : b",
        "q = a", None, "heaviest",
    )  # fmt: skip
    assign = ReductionKernel(
        "P p", "P q", "p.weight", "a + b", "q.weight = a; q.id += 1", "0", "assign",
        reduce_type="float64",
    )  # fmt: skip

    def assigned(p: Array, q: Array, **how: Any) -> Array:
        result = q.copy()
        result["weight"] = np.add.reduce(p["weight"], dtype=np.float64, **how)
        result["id"] += 1
        return result

    def pick(p: Array, axis: Any, keepdims: bool) -> Array:
        # A copy of a record copies its fields: bytes between them are nobody's.
        order = np.lexsort((p["id"], -p["weight"]), axis=axis)
        return np.take_along_axis(p, np.take(order, [0], axis), axis).squeeze(axis)

    def table(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
        found = records(dtype, math.prod(shape)).reshape(shape)
        found["weight"] = np.random.default_rng(7).permutation(found.size).reshape(shape)
        return found

    for name, dtype in {"aligned": ALIGNED, "packed": PACKED}.items():
        for axis in (0, 1):
            yield ReductionCase(f"record-{name}-{axis}", weights,
                lambda d=dtype: (table(d, (21, 34)),),
                lambda p, **how: total(p["weight"] + p["id"].astype(np.float64), **how), axis,
                modes=("new",))  # fmt: skip
            yield ReductionCase(f"record-heaviest-{name}-{axis}", heaviest,
                lambda d=dtype: (table(d, (21, 34)),), pick, axis, modes=("new", "stepped")
            )  # fmt: skip
        yield ReductionCase(f"record-raw-{name}", raw,
            lambda d=dtype: (numbers(F32, (6, 40)), records(d, 40)),
            lambda x, p, **how: total(x.astype(np.float64) * p["weight"], **how), 1, modes=("new",)
        )  # fmt: skip
        for layout in ("c", "stepped", "misaligned"):
            yield ReductionCase(f"record-{name}-to-{layout}", assign,
                lambda d=dtype, a=layout: (table(d, (30, 37)), LAYOUTS[a](records(d, 37))),
                assigned, 0)  # fmt: skip


MIXED_DOT = ReductionKernel("T x, U w", "U y", "x * w", "a + b", "y = a", "0", "mixed_dot")


def cut(array: Array) -> Array:
    """As x[..., 2:-3]."""
    whole = np.empty((*array.shape[:-1], array.shape[-1] + 5), array.dtype)
    return place(array, whole.strides, 2 * array.itemsize)


def vector_cases() -> Iterator[ReductionCase]:
    """Vectors that begin anywhere: small elements, opposite orders, several rows in one."""
    for dtype, make in ((U8, misaligned), (U8, cut), (F16, cut), (U8, LAYOUTS["stepped"])):
        for shape, axis in (((40, 90), 0), ((5, 17, 6, 41), (0, 2)), ((9, 3, 7, 101), (0, 3))):
            yield ReductionCase(f"vectors-{make.__name__}-{dtype}-{axis}", SUM,
                lambda d=dtype, s=shape, m=make: (m(numbers(d, s)),), total, axis,
                modes=("new", "f"))  # fmt: skip
    for shape, axis in (((33, 57), 0), ((9, 3, 7, 101), (0, 3)), ((5001, 7), 0)):
        yield ReductionCase(f"vectors-without-identity-{axis}-{shape}", LEAST,
            lambda s=shape: (misaligned(numbers(I8, s)),), least, axis, modes=("new",))  # fmt: skip
        yield ReductionCase(f"vectors-masked-{axis}-{shape}", SUM,
            lambda s=shape: (misaligned(numbers(U8, s)),), total, axis,
            mask=lambda s=shape: cut(numbers(BOOL, s, 1)), modes=("new",))  # fmt: skip
    for length, first, second in ((21, misaligned, misaligned), (21, misaligned, c_order),
                                  (6007, c_order, c_order)):  # fmt: skip
        yield ReductionCase(f"vectors-added-to-{length}-{second.__name__}", ADD_TO,
            lambda n=length, a=first, b=second: (a(numbers(U8, (n, 83))), b(numbers(U8, 83, 1))),
            lambda x, y, **how: np.asarray(y + total(x, **how), y.dtype), 0)  # fmt: skip
    for wide in (F32, F64):  # rows' last vectors lack elements
        yield ReductionCase(f"vectors-beside-{wide}", MIXED_DOT,
            lambda w=wide: (cut(numbers(U8, (9, 3, 7, 101))),
                            numbers(w, (9, 3, 7, 202), 1)[..., ::2]),
            lambda x, w, **how: total(x * w, **how), (0, 3), modes=("new",))  # fmt: skip
    for dtype, make, axis in grid((U8, F16, F32, F64), (c_order, cut), (0, 1)):
        yield ReductionCase(f"opposite-{dtype}-{make.__name__}-{axis}", DOT,
            lambda d=dtype, m=make: (f_order(numbers(d, (67, 45))), m(numbers(d, (67, 45), 1))),
            dot, axis, modes=("new",))  # fmt: skip
    yield ReductionCase("opposite-split", DOT,
        lambda: (f_order(numbers(F32, (9003, 40))), c_order(numbers(F32, (9003, 40), 1))), dot, 0,
        modes=("new",))  # fmt: skip
    # Short rows of results, several of which are one of the loop's in whole vectors: of one block
    # and of many, which end with a row of the loop's and within one.
    for dtype in (U8, F16):
        for shape, axis in (((4099, 7), 0), ((9000, 50), 0), ((3, 4096, 12), 1), ((20, 1300, 6), 1),
                            ((9001, 45), 0)):  # fmt: skip
            yield ReductionCase(f"folded-{dtype}-{shape}", SUM,
                lambda d=dtype, s=shape: (numbers(d, s),), total, axis, modes=("new", "f")
            )  # fmt: skip
    yield ReductionCase("folded-beside-one", MIXED_DOT,
        lambda: (numbers(U8, (6007, 7)), np.array([[3.0]], F32)),
        lambda x, w, **how: total(x * w, **how), 0, modes=("new",))  # fmt: skip


CASES: tuple[ReductionCase, ...] = tuple(
    case
    for group in (
        accumulation_cases, empty_cases, layout_cases, random_cases,
        broadcast_cases, raw_cases, index_cases, structure_cases, result_cases, identity_cases,
        special_cases, mask_cases, overlap_cases, record_cases, vector_cases,
    )
    for case in group()
)  # fmt: skip


# -- lengths and counts -------------------------------------------------------------------------

LENGTHS = (1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 63, 64, 100, 255, 256, 257, 1000, 4096, 70_001)
COUNTS = (1, 2, 3, 4, 7, 31, 32, 33, 1000, 5000)
MOST = 500_000
GRID = tuple((length, count) for length, count in grid(LENGTHS, COUNTS) if length * count <= MOST)
GRID_DTYPES = tuple(np.dtype(name) for name in ("u1", "i2", "f4", "f8", "c16"))
