"""Programs for `kerneltk.fuse`, against the same programs in plain NumPy.

A family has arguments, and programs that are functions of them. All programs of a family are one
fused function that returns a list: they share kernels, and what the compiler is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.special

Program = Callable[..., Any]


class Family(NamedTuple):
    """Programs of the same arguments."""

    name: str
    arguments: Callable[[], Sequence[Any]]
    programs: Sequence[Program]


def _random(*shape: int, dtype: Any = np.float32, low: float = -2.0, high: float = 2.0) -> Any:
    generator = np.random.default_rng(7)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return generator.random(shape) > 0.5
    if kind in "iu":
        least = 0 if kind == "u" else -9
        return generator.integers(least, 10, shape).astype(dtype)
    values = generator.uniform(low, high, shape)
    if kind == "c":
        return (values + 1j * generator.uniform(low, high, shape)).astype(dtype)
    return values.astype(dtype)


def _two(dtype: Any, other: Any | None = None) -> Callable[[], Sequence[Any]]:
    return lambda: (
        _random(5, 7, dtype=dtype),
        _random(5, 7, dtype=other or dtype, low=0.25, high=1.5)[::-1].copy() + (
            np.dtype(other or dtype).type(0)
        ),
    )  # fmt: skip


ARITHMETIC: list[Program] = [
    lambda x, y: x + y,
    lambda x, y: x - 2 * y,
    lambda x, y: x * y + x,
    lambda x, y: -x,
    lambda x, y: abs(x),
    lambda x, y: x == y,
    lambda x, y: x != y,
    lambda x, y: 2 * x + 3 * y - x * y,
    lambda x, y: np.square(x) - y,
    lambda x, y: x.sum(),
    lambda x, y: (x * y).sum(axis=0),
    lambda x, y: np.where(x == y, x, 1),
    lambda x, y: x.prod(axis=1),
    lambda x, y: x.astype(np.float32) + 1,
    lambda x, y: x.any(axis=0),
    lambda x, y: np.all(x),
    lambda x, y: np.count_nonzero(x, axis=1),
]
ORDERED: list[Program] = [
    lambda x, y: x < y,
    lambda x, y: (x >= y) | (x <= 0),
    lambda x, y: np.maximum(x, y),
    lambda x, y: np.minimum(x, 1),
    lambda x, y: x.max(),
    lambda x, y: x.min(axis=1),
    lambda x, y: x.argmax(axis=0),
    lambda x, y: x.argmin(),
    lambda x, y: x.argmax(axis=1, keepdims=True),
    lambda x, y: x.clip(1, 3),
    lambda x, y: np.clip(x, None, y),
    lambda x, y: np.ptp(x, axis=0),
    lambda x, y: x.mean(axis=1),
    lambda x, y: x.mean(),
    lambda x, y: x // 3,
    lambda x, y: x % 3,
    lambda x, y: x / 3,
    lambda x, y: x > 1.5,
]
FLOATING: list[Program] = [
    lambda x, y: [
        f(x)
        for f in (
            np.exp, np.exp2, np.sin, np.tanh, np.sinh, np.cosh, np.cbrt, np.arctan, np.degrees,
            np.radians, np.floor, np.ceil, np.trunc, np.sign, np.signbit, np.sinc, np.i0,
            scipy.special.erf, scipy.special.expit,
        )
    ],
    lambda x, y: [
        f(y)
        for f in (
            np.cos, np.expm1, np.log, np.log1p, np.log2, np.log10, np.sqrt, np.reciprocal,
            scipy.special.erfc,
        )
    ],
    lambda x, y: [
        f(x, y) for f in (np.arctan2, np.hypot, np.fmod, np.logaddexp, np.isclose, np.divmod)
    ],
    lambda x, y: np.tan(x * 0.3) + np.arcsin(y / 2) + np.arccos(y / 2),
    lambda x, y: np.rint(x * 3) + x.round(),
    lambda x, y: np.copysign(y, x) + np.heaviside(x, 0.5),
    lambda x, y: (y**3, y**0.5, y**x, 2**x, x**2),
    lambda x, y: np.isfinite(x / (x - x)) | np.isnan(np.log(x)),
    lambda x, y: np.nan_to_num(np.log(x)),
    lambda x, y: (np.modf(x)[1], np.frexp(x)[1]),
    lambda x, y: (x.var(), x.std(axis=1), x.var(axis=0, ddof=1, keepdims=True)),
    lambda x, y: np.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1),
    lambda x, y: x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6),
    lambda x, y: (x - x.mean(0)) / (x.std(0) + 1e-5),
    lambda x, y: np.sqrt(np.sum((x - y) ** 2)),
    lambda x, y: np.nansum(np.where(x > 0, x, np.nan)),
    lambda x, y: scipy.special.xlogy(y, y) + scipy.special.gammaln(y + 1),
]  # fmt: skip
INTEGER: list[Program] = [
    lambda x, y: x & y,
    lambda x, y: x | 1,
    lambda x, y: np.divmod(x ^ np.iinfo(x.dtype).min, 10),
    lambda x, y: x ^ y,
    lambda x, y: ~x,
    lambda x, y: np.gcd(x, 12),
    lambda x, y: x**2,
    lambda x, y: x.sum(axis=1),
    lambda x, y: np.sqrt(abs(x)),
    lambda x, y: np.exp(x),
    lambda x, y: x + 0.5,
    lambda x, y: x * np.float32(1.5),
    lambda x, y: x + np.int64(3),
    lambda x, y: x < 10**6,
    lambda x, y: x > -(10**6),
    lambda x, y: x == 10**9,
    lambda x, y: x.var(axis=1),
    lambda x, y: np.bitwise_count(x),
    lambda x, y: np.invert(x) >> 1,
    lambda x, y: (x & 7) << 2,
]
BOOLEAN: list[Program] = [
    lambda x, y: x + y,
    lambda x, y: x * y,
    lambda x, y: x & y | ~x,
    lambda x, y: x ^ y,
    lambda x, y: x.sum(axis=0),
    lambda x, y: x.mean(),
    lambda x, y: x + 1,
    lambda x, y: x * 2.5,
    lambda x, y: x / y.max(),
    lambda x, y: np.where(x, 3, y),
    lambda x, y: np.logical_xor(x, y),
    lambda x, y: x.any(),
    lambda x, y: x.all(axis=1),
    lambda x, y: x.max(axis=1),
    lambda x, y: x.argmax(axis=1),
    lambda x, y: np.maximum(x, y),
    lambda x, y: np.sqrt(x),
    lambda x, y: x < y,
]
COMPLEX: list[Program] = [
    lambda x, y: x.real + x.imag,
    lambda x, y: x.conj() * y,
    lambda x, y: abs(x),
    lambda x, y: np.exp(x),
    lambda x, y: np.sqrt(y),
    lambda x, y: np.angle(x),
    lambda x, y: x * 1j + 2,
    lambda x, y: x / y,
    lambda x, y: x.mean(axis=0),
    lambda x, y: x.var(axis=1),
    lambda x, y: np.abs(x) ** 2,
    lambda x, y: (x * x.conj()).real.sum(),
    lambda x, y: ((x < y) + 2 * (x >= y.real), np.maximum(x, y), np.clip(x, -1, y)),
    lambda x, y: (x.max(), y.min(axis=0), x.argmax(axis=1), np.argmin(y)),
    lambda x, y: x - x.max(axis=1, keepdims=True),
    lambda x, y: np.expm1(x) + np.exp2(y) + np.log2(x) + np.log1p(y),
]


# -- shapes ---------------------------------------------------------------------------------------


def _shaped() -> Sequence[Any]:
    return (
        _random(4, 6),
        _random(6),
        _random(4, 1),
        _random(3, 4, 6),
        np.float32(1.25),
        3,
    )


SHAPES: list[Program] = [
    lambda x, r, c, z, s, k: x + r,
    lambda x, r, c, z, s, k: c * r,
    lambda x, r, c, z, s, k: z + x,
    lambda x, r, c, z, s, k: z * c + r,
    lambda x, r, c, z, s, k: x.T,
    lambda x, r, c, z, s, k: x.T + 1,
    lambda x, r, c, z, s, k: z.transpose(1, 0, 2) + x[:, None],
    lambda x, r, c, z, s, k: z.swapaxes(0, 2) * 2,
    lambda x, r, c, z, s, k: x[::-1],
    lambda x, r, c, z, s, k: x[::-1] + x,
    lambda x, r, c, z, s, k: x[:, ::2] * 2,
    lambda x, r, c, z, s, k: x[1:, 1:] - x[:-1, :-1],
    lambda x, r, c, z, s, k: (x * 2)[..., 1:],
    lambda x, r, c, z, s, k: np.exp(x)[1] + np.exp(x)[:, 2:3],
    lambda x, r, c, z, s, k: z[..., None] + r,
    lambda x, r, c, z, s, k: x[0],
    lambda x, r, c, z, s, k: x[-1, 2:] + 1,
    lambda x, r, c, z, s, k: z[1, ..., 0],
    lambda x, r, c, z, s, k: x[2, 3] * r,
    lambda x, r, c, z, s, k: np.broadcast_to(r, (4, 6)) + 0,
    lambda x, r, c, z, s, k: np.broadcast_to(r, (4, 6)).sum(axis=0),
    lambda x, r, c, z, s, k: np.zeros_like(x),
    lambda x, r, c, z, s, k: np.ones_like(x) * r,
    lambda x, r, c, z, s, k: np.full_like(x, 3, dtype=np.int32),
    lambda x, r, c, z, s, k: np.ones_like(x).sum(),
    lambda x, r, c, z, s, k: np.arange(6) + x,
    lambda x, r, c, z, s, k: np.arange(x.shape[0])[:, None] * r,
    lambda x, r, c, z, s, k: np.arange(1, 20, 5, dtype=np.float32) * x.T,
    lambda x, r, c, z, s, k: np.arange(0.5, 3.5, 0.5) + r,
    lambda x, r, c, z, s, k: np.arange(12)[::-2] * r,
    lambda x, r, c, z, s, k: (np.arange(6) * x).sum(axis=1),
    lambda x, r, c, z, s, k: np.arange(4)[:, None] + np.arange(6),
    lambda x, r, c, z, s, k: np.arange(6).sum() + x.size,
    lambda x, r, c, z, s, k: x / x.shape[1],
    lambda x, r, c, z, s, k: x * k,
    lambda x, r, c, z, s, k: x * (k + 1) ** 2 - s,
    lambda x, r, c, z, s, k: x * np.sqrt(k),
    lambda x, r, c, z, s, k: s * k,
    lambda x, r, c, z, s, k: x.sum(axis=k - 2),
    lambda x, r, c, z, s, k: r.sum(keepdims=True),
    lambda x, r, c, z, s, k: z.sum(axis=(0, 2)),
    lambda x, r, c, z, s, k: z.mean(axis=(0, 1), keepdims=True),
    lambda x, r, c, z, s, k: z - z.max(axis=(1, 2), keepdims=True),
    lambda x, r, c, z, s, k: z.sum(axis=1).max(axis=0),
    lambda x, r, c, z, s, k: (x.sum(axis=1) / x.shape[1])[:, None] + x,
    lambda x, r, c, z, s, k: x - x.mean(axis=0),
    lambda x, r, c, z, s, k: (x - x.mean(axis=1, keepdims=True)).T.sum(axis=1),
    lambda x, r, c, z, s, k: x.T.max(axis=0),
    lambda x, r, c, z, s, k: x[::-1, ::2].sum(axis=0),
    lambda x, r, c, z, s, k: x.argmax(axis=1)[:, None] + x,
    lambda x, r, c, z, s, k: np.flip(x, 1) + x,
    lambda x, r, c, z, s, k: np.moveaxis(z, 0, -1) * 2,
    lambda x, r, c, z, s, k: np.expand_dims(x, 1) + z.transpose(1, 0, 2),
    lambda x, r, c, z, s, k: np.squeeze(c) + 1,
    lambda x, r, c, z, s, k: c.squeeze(1)[:, None] + r[None],
    lambda x, r, c, z, s, k: (x, r + 1, {"c": c * 2, "none": None}),
    lambda x, r, c, z, s, k: [x.sum(), (x.max(), 3)],
    lambda x, r, c, z, s, k: x.sum() * x,
    lambda x, r, c, z, s, k: x.sum() + r.sum() * k,
    lambda x, r, c, z, s, k: x.astype(np.int32),
    lambda x, r, c, z, s, k: (x * 3).astype(np.uint8, casting="unsafe") if k < 0 else x.copy(),
    lambda x, r, c, z, s, k: np.where(x > 0, x, r).sum(axis=0, dtype=np.float64),
    lambda x, r, c, z, s, k: x.sum(axis=1, where=x > 0),
    lambda x, r, c, z, s, k: x.max(axis=1, initial=1.5),
    lambda x, r, c, z, s, k: np.add.reduce(x, axis=1),
    lambda x, r, c, z, s, k: (abs(x).max(), abs(x).mean(), (x * x).mean()),
    lambda x, r, c, z, s, k: sum([x * i for i in range(k)]),
    lambda x, r, c, z, s, k: x if k > 5 else r * 2,
    lambda x, r, c, z, s, k: np.multiply(x, r, dtype=np.float64),
    lambda x, r, c, z, s, k: np.round(x, 2),
    lambda x, r, c, z, s, k: np.mean(x, dtype=np.float64),
    lambda x, r, c, z, s, k: np.exp(x) / np.exp(x).sum(axis=0),
    lambda x, r, c, z, s, k: np.log(np.exp(z - z.max(-1, keepdims=True)).sum(-1)),
]


# -- empty arrays and arrays without dimensions ----------------------------------------------

EMPTY: list[Program] = [
    lambda x, y, z: x + 1,
    lambda x, y, z: x.sum(),
    lambda x, y, z: x.sum(axis=0),
    lambda x, y, z: x.prod(axis=1),
    lambda x, y, z: x.max(axis=0),
    lambda x, y, z: y * 2,
    lambda x, y, z: y + x,
    lambda x, y, z: y.sum(),
    lambda x, y, z: np.sqrt(y) + z,
    lambda x, y, z: z.max(),
    lambda x, y, z: z.argmax(),
    lambda x, y, z: (y, y + z),
    lambda x, y, z: y[None] + z,
    lambda x, y, z: x.any(axis=1),
    lambda x, y, z: z[1:1] + 1,
]


def _empty() -> Sequence[Any]:
    return np.zeros((4, 0), np.float32), np.array(4.0, np.float32), _random(3)


# -- in place --------------------------------------------------------------------------------


def _add(x: Any, y: Any, r: Any) -> Any:
    x += y


def _scaled(x: Any, y: Any, r: Any) -> Any:
    x *= 2
    return x + y


def _swap(x: Any, y: Any, r: Any) -> Any:
    t = x * 1
    x[...] = y
    y[...] = t
    return t


def _rotated(x: Any, y: Any, r: Any) -> Any:
    a = 0.6 * x - 0.8 * y
    b = 0.8 * x + 0.6 * y
    x[...] = a
    y[...] = b


def _rows(x: Any, y: Any, r: Any) -> Any:
    x[0] = r
    x[1:] += y[1:]
    return x.sum(axis=0)


def _shifted(x: Any, y: Any, r: Any) -> Any:
    x[1:] = x[:-1]
    return x


def _twice(x: Any, y: Any, r: Any) -> Any:
    x += 1
    x *= 2
    x -= y
    return x, x.max()


def _part_of_value(x: Any, y: Any, r: Any) -> Any:
    t = x + y
    t[1:-1] = 0
    t[:, 0] += 5
    return t, t[::-1]


def _out(x: Any, y: Any, r: Any) -> Any:
    np.add(x, y, out=x)
    np.multiply(x, r, out=y)
    return np.exp(y, out=y)


def _aliased(x: Any, y: Any, r: Any) -> Any:
    v = x[::2]
    v *= 3
    w = x
    w += 1
    return v + 0, x * 1


def _of_value(x: Any, y: Any, r: Any) -> Any:
    t = x * 2
    u = t
    u += 1
    return t, u


def _softmax_in_place(x: Any, y: Any, r: Any) -> Any:
    x -= x.max(axis=1, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=1, keepdims=True)


def _smoothed(x: Any, y: Any, r: Any) -> Any:
    x[1:-1, 1:-1] = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) / 4
    y[1:-1] += x[1:-1]


def _to_integers(x: Any, y: Any, r: Any) -> Any:
    k = np.zeros_like(x, dtype=np.int32)
    k[...] = x * 10
    return k


def _masked(x: Any, y: Any, r: Any) -> Any:
    np.multiply(x, 10, out=x, where=y > 1)
    return None


def _row_of_sums(x: Any, y: Any, r: Any) -> Any:
    r[...] = x.sum(axis=0)
    r += 1
    return r


def _old_and_new(x: Any, y: Any, r: Any) -> Any:
    old = x.sum(axis=0)
    before = x * 1
    x[...] = 0
    return old, before, x + 1


def _transposed_write(x: Any, y: Any, r: Any) -> Any:
    x.T[...] = y.T * 2
    return x.T


def _diagonal_blocks(x: Any, y: Any, r: Any) -> Any:
    x[:2, :3] = y[2:4, 3:6]
    y[2:4, 3:6] = x[:2, :3] * 2
    return x.mean(), y.mean()


def _put_rows(x: Any, y: Any, z: Any) -> Any:
    before, order = x.sum(axis=0), y[:, 0].argsort()
    x[order[:2]] += z
    x[2][z.argsort()] = z
    x[order, order] = y[:, 1]
    return before, x.sum(axis=1)


IN_PLACE: list[Program] = [
    _add, _scaled, _swap, _rotated, _rows, _shifted, _twice, _part_of_value, _out, _aliased,
    _of_value, _softmax_in_place, _smoothed, _to_integers, _masked, _row_of_sums, _old_and_new,
    _transposed_write, _diagonal_blocks, _put_rows,
]  # fmt: skip


def in_place_arguments() -> Sequence[Any]:
    """The arguments of the programs in `IN_PLACE`, which are called one by one."""
    return _random(5, 7), _random(5, 7, low=0.25, high=1.5), _random(7)


# -- rows and columns that are long enough for kernels that keep rows on chip ---------------------


def _softmax(x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _logsumexp(x: Any, axis: int) -> Any:
    top = x.max(axis, keepdims=True)
    return np.log(np.exp(x - top).sum(axis, keepdims=True)) + top


def _layernorm(x: Any, w: Any, axis: int) -> Any:
    apart = x - x.mean(axis, keepdims=True)
    return apart / np.sqrt(x.var(axis, keepdims=True) + 1e-5) * w


# One program a family: each is a kernel of its own.
LONG: dict[str, Program] = {
    "softmax_rows": lambda x, w: _softmax(x, 1),
    "softmax_columns": lambda x, w: _softmax(x, 0),
    "logsumexp_rows": lambda x, w: _logsumexp(x, 1)[:, 0],
    "logsumexp_columns": lambda x, w: _logsumexp(x, 0),
    "layernorm_rows": lambda x, w: (_layernorm(x, w, 1), x.max(1)),
    "layernorm_columns": lambda x, w: _layernorm(x, w, 0),
    "rmsnorm_rows": lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w,
    "masked_rows": lambda x, w: np.where((x > 1).any(1, keepdims=True), x, w),
    "strided_rows": lambda x, w: _softmax(x[::-1, ::-1], 1),
    "indexed_rows": lambda x, w: (x * np.arange(x.shape[1])).sum(1, keepdims=True) + x,
}


def _long(shape: tuple[int, int], dtype: Any) -> Callable[[], Sequence[Any]]:
    return lambda: (_random(*shape, dtype=dtype), _random(shape[1], dtype=dtype))


def _masked(x: Any, y: Any) -> Any:
    x = 2 * x
    x[y > 1] = 0
    x[y < 1] += y[y < 1]
    x[x > 2] = np.sqrt(x[x > 2])
    return x, x[y > 0.5].sum(), x[x > 0].mean()


def _put(x: Any, y: Any) -> Any:
    x, row = 2 * x, y[:, 0].argmax()
    x[[0, row]] = x[[row, 0]]
    x[1:, 2:][y[1:, 0].argsort(), -1] = y[1:, 3]
    x[[3, 1], :2] += x[3, 1:3]
    x[y[:, 1] > 1, 4] = x[y[:, 1] > 1, 0] + 1
    x[:, y[0] > 1] = 0
    total = 0 * x[0, :3]
    np.add.at(total, np.arange(7) % 3, y[2])
    np.fill_diagonal(y := y.copy(), row)
    np.put_along_axis(y, x.argmax(axis=1, keepdims=True), x[:, :1], axis=1)
    return x, y, total, np.choose(y.argsort(axis=0) % 2, (x, 3))


def _put_own(x: Any, y: Any) -> Any:
    order = y[:, 0].argsort()
    x, before = x.copy(), x[order] + 1
    x[order] = x
    x[order[:2]] = x[2:4]
    x[order[::-1], :] = x.reshape(5, 7)
    return x, before


ARRANGED: list[Program] = [
    lambda x, y: x.reshape(-1),
    lambda x, y: (x + 1).reshape(7, 5) * y.T,
    lambda x, y: x.T.reshape(5, -1),
    lambda x, y: np.concatenate([x, y[:2], x], axis=0),
    lambda x, y: np.stack([x, y], axis=1),
    lambda x, y: np.pad(x, ((1, 2), (0, 1)), constant_values=2),
    lambda x, y: np.pad(x, 2, mode="reflect"),
    lambda x, y: np.roll(x, (1, -2), axis=(0, 1)),
    lambda x, y: np.tile(x, (1, 2)) + np.repeat(y, 2, axis=1),
    lambda x, y: np.triu(x, 1) + np.tril(y) + np.eye(5, 7, dtype=x.dtype),
    lambda x, y: np.mgrid[0:5, 0:7][1] * x,
    lambda x, y: np.diff(x, axis=0) * np.diagonal(y)[1:, None],
    lambda x, y: np.add.outer(x[0], y[:, 0]),
    lambda x, y: np.lib.stride_tricks.sliding_window_view(x * 2, 3, axis=1).mean(-1) + y[:, 2:],
    lambda x, y: np.lib.stride_tricks.sliding_window_view(x, (2, 3)).sum((1, 2)),
    lambda x, y: np.lib.stride_tricks.sliding_window_view(x, (2, 3), axis=(1, 0)) * y[0, 0],
    lambda x, y: np.lib.stride_tricks.sliding_window_view(y, (3, 2), axis=(-1, 0)).max(-1),
    lambda x, y: (x > y).argsort(axis=1, kind="stable") + np.argsort(x > 1, stable=True),
    _masked,
    _put,
    _put_own,
]
PRODUCTS: list[Program] = [
    lambda x, y: np.maximum(x @ y.T + 1, 0) @ x,
    lambda x, y: x @ y[0],
    lambda x, y: np.einsum("ij,kj->ik", x, y),
    lambda x, y: np.dot(x[0], y[0]) + np.inner(x, y),
    lambda x, y: x / np.linalg.norm(x, axis=1, keepdims=True),
    lambda x, y: np.average(x, axis=0, weights=y[:, 0]),
    lambda x, y: np.linalg.solve(x[:, :5] + 9 * np.eye(5, dtype=x.dtype), y),
    lambda x, y: np.cumsum(x, axis=0) + np.cumprod(y, axis=1),
    lambda x, y: np.maximum.accumulate(x, axis=1) + np.minimum.accumulate(y, axis=0),
    lambda x, y: np.sort(x, axis=0) + y[:, [0, 2, 4, 6, 1, 3, 5]],
    lambda x, y: x[y[:, 0].argmax()] + y[[3, 0], [1, -2]][:, None] * x[1:, 2, None][:2],
    lambda x, y: np.take(x, [4, 0], axis=0) @ np.tensordot(y, y, axes=([0], [0])),
]
STENCILS: list[Program] = [
    lambda x, y: sum(x[a : a - 2 or None, b : b - 2 or None] for a in range(3) for b in range(3)),
    lambda x, y: x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1],
    lambda x, y: x[8:, 1:] - x[:-8, 1:] * x[4:-4, :-1] + x[3:-5, 1:],
    lambda x, y: x[..., 2:] - 2 * x[..., 1:-1] + x[..., :-2],
    lambda x, y: (x[1:] - x[:-1])[:, 1:] * y[1:, 1:] + y[:-1, :-1],
    lambda x, y: x.T[2:] - x.T[:-2] + y.T[1:-1],
    lambda x, y: x[::-1][2:, 1:] - x[::-1][:-2, :-1],
    lambda x, y: x[:1] + x[1:2] + y[1:],
]
FAMILIES: list[Family] = [
    *(
        Family(f"arithmetic_{np.dtype(dtype).name}", _two(dtype), ARITHMETIC)
        for dtype in (
            np.int8,
            np.uint16,
            np.int64,
            np.float16,
            np.float32,
            np.float64,
            np.complex64,
        )
    ),
    Family("arithmetic_mixed", _two(np.int32, np.float32), ARITHMETIC),
    Family("arithmetic_signs", _two(np.int64, np.uint64), ARITHMETIC[:9]),
    *(
        Family(f"ordered_{np.dtype(dtype).name}", _two(dtype), ORDERED)
        for dtype in (np.uint8, np.int32, np.float16, np.float32, np.float64)
    ),
    *(
        Family(f"floating_{np.dtype(dtype).name}", _two(dtype), FLOATING)
        for dtype in (np.float16, np.float32, np.float64)
    ),
    *(
        Family(f"integer_{np.dtype(dtype).name}", _two(dtype), INTEGER)
        for dtype in (np.int8, np.uint32, np.int64)
    ),
    Family("boolean", _two(np.bool_), BOOLEAN),
    *(
        Family(f"complex_{np.dtype(dtype).name}", _two(dtype), COMPLEX)
        for dtype in (np.complex64, np.complex128)
    ),
    *(Family(name, _long((160, 1028), np.float32), [program]) for name, program in LONG.items()),
    Family("rows_float16", _long((130, 4100), np.float16), [LONG["rmsnorm_rows"]]),
    Family("rows_float64", _long((130, 301), np.float64), [LONG["softmax_rows"]]),
    Family("rows_complex64", _long((130, 512), np.complex64), [LONG["rmsnorm_rows"]]),
    Family("shapes", _shaped, SHAPES),
    Family("empty", _empty, EMPTY),
    *(
        Family(
            f"stencils_{np.dtype(dtype).name}",
            lambda dtype=dtype: (_random(37, 517, dtype=dtype), _random(37, 517, dtype=dtype)),
            STENCILS,
        )
        for dtype in (np.int8, np.float16, np.float32)
    ),
    Family("arranged", _two(np.float32), ARRANGED),
    Family("products", _two(np.float64), PRODUCTS),
]
