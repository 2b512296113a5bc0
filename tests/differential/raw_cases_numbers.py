"""Raw kernels that exercise types, functions and the language."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from .raw_support import BFLOAT16, UNWRITTEN, Array, RawCase, blank, filled, floats, ints

U32, U64 = 1 << 32, 1 << 64


def each(function: Callable[..., Any], *arrays: Array, dtype: Any = np.float64) -> Array:
    """Return a Python function of Python numbers, element by element."""
    return np.array(
        [function(*row) for row in zip(*(a.tolist() for a in arrays), strict=True)], dtype
    )


def fused(a: Array, b: Array, c: Array | float) -> Array:
    """Return a * b + c, rounded once."""
    if a.dtype == np.float32:  # the product is exact in float64; so is the sum, for these inputs
        return (a.astype("f8") * b + c).astype("f4")
    return each(
        lambda x, y, z: float(Fraction(x) * Fraction(y) + Fraction(z)),
        a, b, np.broadcast_to(c, a.shape),
    )  # fmt: skip


def vector_cases() -> Iterator[RawCase]:
    file = "vectors.cu"
    for n in (400, 403, 2):
        yield RawCase(f"negate-wide-{n}", file, "negate_wide", 2, 64,
            lambda n=n: (ints(n, -99, 99), blank(n, "i4"), n),
            lambda x, out, n: {1: -x})  # fmt: skip

    def blend(front: Array, back: Array, out: Array, n: int) -> dict[int, Array]:
        alpha = front[:, 3:].astype(int)
        mixed = (front.astype(int) * alpha + back * (255 - alpha)) // 255
        mixed[:, 3] = 255
        return {2: mixed}

    yield RawCase("blend-rgba", file, "blend_rgba", 4, 64,
        lambda: (ints((201, 4), 0, 256, "u1"), ints((201, 4), 0, 256, "u1", 2),
                 blank((201, 4), "u1"), 201), blend)  # fmt: skip
    yield RawCase("normals-float3", file, "normals", 2, 32,
        lambda: (ints((57, 3, 3), -20, 20, "f4"), blank((57, 3), "f4"), 57),
        lambda x, out, n: {1: np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])})  # fmt: skip
    sizes = [3, 1, 4, 4, 4, 4, 6, 2, 12, 4, 16, 16, 16, 16, 8, 8, 12, 4, 16, 16, 16, 16, 12, 4]
    yield RawCase(
        "layouts", file, "layouts", 1, 16, lambda: (blank(24, "i4"),), lambda out: {0: sizes}
    )

    def unpack(p: Array, pairs: Array, nibbles: Array, signs: Array, n: int) -> dict[int, Array]:
        return {
            1: p.view("i2").reshape(-1, 2),
            2: p[:, None] >> np.arange(0, 16, 4) & 15,
            3: np.where(p[:, None] & [1, 2, 4], 1, -1),
        }

    yield RawCase("unpack", file, "unpack", 2, 48,
        lambda: (ints(95, 0, U32, "u4"), blank((95, 2), "i2"), blank((95, 4), "u2"),
                 blank((95, 3), "i1"), 95), unpack)  # fmt: skip
    yield RawCase("shapes", file, "shapes", 3, (4, 2, 5),
        lambda: (blank((3, 8), "u4"),),
        lambda out: {0: [[511, 671, b, 0, 4, 10, 3, 0] for b in range(3)]})  # fmt: skip
    yield RawCase("gather-readonly", file, "gather_readonly", 2, 64,
        lambda: (ints(60, -99, 99, "f4"), ints(120, 0, 60), ints((4, 4), -9, 9, "f4"),
                 blank(120, "f4"), 120),
        lambda x, k, rows, out, n: {3: x[k] + rows[k % 4, 0] + rows[k % 4, 3]})  # fmt: skip


HALF_INPUTS = 200


def _halves(seed: int = 1) -> Array:
    """Return halves of moderate size; their products and sums are exact in float32."""
    return floats(HALF_INPUTS, -8, 8, "f2", seed)


def half_cases() -> Iterator[RawCase]:
    file = "half.cu"
    n = HALF_INPUTS

    def one_rounding(a: Array, b: Array, c: Array) -> Array:
        return (a.astype("f8") * b.astype("f8") + c.astype("f8")).astype("f2")

    yield RawCase("half-axpy", file, "half_axpy", 4, 64,
        lambda: (np.float16(0.7), _halves(), _halves(2), n),
        lambda a, x, y, n: {2: one_rounding(np.asarray(a), x, y)})  # fmt: skip
    yield RawCase("half2-axpy", file, "half2_axpy", 2, 32,
        lambda: (0.3, _halves().reshape(-1, 2), _halves(2).reshape(-1, 2), n // 2),
        lambda a, x, y, n: {2: one_rounding(np.float16(a), x, y)})  # fmt: skip
    yield RawCase("half-arithmetic", file, "half_arithmetic", 4, 64,
        lambda: (_halves(), _halves(2), blank((7, n), "f2"), n),
        lambda x, y, out, n: {
            2: np.array([x + y, x - y, x * y, x / y, -x, np.maximum(x, y), np.clip(x + y, 0, 1)])
        })  # fmt: skip

    def compare(x: Array, y: Array, out: Array, n: int) -> dict[int, Array]:
        tests = (x < y, x == y, x >= y, (x != y) & ~np.isnan(x) & ~np.isnan(y), np.isnan(x),
                 np.isinf(y))  # fmt: skip
        return {2: sum(flag * (1 << bit) for bit, flag in enumerate(tests))}

    special = np.array([0, -0.0, 1, np.nan, np.inf, -np.inf, 1, 6e-8], "f2")
    yield RawCase("half-compare", file, "half_compare", 1, 64,
        lambda: (np.repeat(special, 8), np.tile(special, 8), blank(64, "u1"), 64), compare
    )  # fmt: skip

    def directed(x: Array) -> tuple[Array, Array, Array]:
        nearest = x.astype("f2")
        wide = nearest.astype("f4")
        lower = np.where(wide > x, np.nextafter(nearest, np.float16(-np.inf)), nearest)
        upper = np.where(wide < x, np.nextafter(nearest, np.float16(np.inf)), nearest)
        return np.where(x < 0, upper, lower), upper, lower

    def convert(x: Array, nearest: Array, *rest: Any) -> dict[int, Array]:
        half = x.astype("f2")
        to_zero, up, down = directed(x)
        return {1: half, 2: to_zero, 3: up, 4: down, 5: half.view("u2"), 6: half.astype("f4")}

    def tricky() -> Array:
        ties = 1 + np.arange(16, dtype="f4") / 2048
        tiny = np.array([1e-7, -3e-8, 5.9e-8, 2.98e-8, 6e-5, -6.1e-5, 1e-4], "f4")
        return np.concatenate([floats(100, -99, 99), ties, -ties, tiny, tiny * 3])

    size = tricky().size
    yield RawCase("half-convert", file, "half_convert", 3, 64,
        lambda: (tricky(), *(blank(size, "f2") for _ in range(4)), blank(size, "u2"),
                 blank(size, "f4"), size), convert)  # fmt: skip

    def pairs(x: Array, y: Array, out: Array, wide: Array, n: int) -> dict[int, Array]:
        joined = np.stack([x[:, 1], y[:, 0]], 1)
        scaled = np.stack([x[:, 0] * np.float16(2), y[:, 1] * np.float16(0.5)], 1)
        return {2: np.stack([x + y, x * y, x[:, ::-1], joined, scaled], 1), 3: x.astype("f4")}

    yield RawCase("half2-pairs", file, "half2_pairs", 2, 64,
        lambda: (_halves().reshape(-1, 2), _halves(2).reshape(-1, 2), blank((n // 2, 5, 2), "f2"),
                 blank((n // 2, 2), "f4"), n // 2), pairs)  # fmt: skip

    file = "bfloat16.cu"

    def bfloats(seed: int = 1) -> Array:
        return floats(n, -8, 8, "f4", seed).astype(BFLOAT16)

    yield RawCase("bf16-scale", file, "bf16_scale", 2, 128,
        lambda: (bfloats(), blank(n, BFLOAT16), 1.5, n),
        lambda x, y, factor, n: {1: (x.astype("f4") * np.float32(1.5)).astype(BFLOAT16)}
    )  # fmt: skip

    def bf16_arithmetic(x: Array, y: Array, out: Array, n: int) -> dict[int, Array]:
        a, b = x.astype("f4"), y.astype("f4")
        return {2: np.array([a + b, a - b, a * b, np.maximum(a, b), -b]).astype(BFLOAT16)}

    yield RawCase("bf16-arithmetic", file, "bf16_arithmetic", 2, 128,
        lambda: (bfloats(), bfloats(2), blank((5, n), BFLOAT16), n), bf16_arithmetic)  # fmt: skip

    yield RawCase("bf16-dot-rows", file, "bf16_dot_rows", 2, (32, 4),
        lambda: (ints((8, 90), -9, 9, "f4").astype(BFLOAT16),
                 ints((8, 90), -9, 9, "f4", 2).astype(BFLOAT16), blank(8, "f4"), 90),
        lambda a, b, out, columns: {2: (a.astype("f4") * b.astype("f4")).sum(1)})  # fmt: skip


def float_cases() -> Iterator[RawCase]:
    file = "float_functions.cu"

    def fast(x: Array, out: Array, n: int) -> dict[int, Array]:
        v = x.astype("f8")
        rows = [np.exp(v), 10**v, np.log(v), np.log2(v), np.log10(v), np.sin(v), np.cos(v),
                v**1.5, 1 / v, v**-0.5, np.sin(v), np.cos(v)]  # fmt: skip
        return {1: np.array(rows)}

    yield RawCase("fast-functions", file, "fast_functions", 4, 64,
        lambda: (floats(250, 0.1, 3), blank((12, 250), "f4"), 250), fast, rtol=1e-5, atol=2e-6,
        why="the intrinsics are approximate by definition")  # fmt: skip

    def exact(x: Array, y: Array, out: Array, n: int) -> dict[int, Array]:
        one = np.float32(1)
        rows = [
            fused(x, y, 1.0), fused(x, y, -1.0), x * y + x, x * x - y * y, x / y, one / y,
            np.sqrt(abs(x)), np.sqrt(abs(y)), np.floor(x), np.ceil(x), np.trunc(x), np.rint(x),
            np.copysign(np.floor(abs(x) + 0.5), x), np.rint(y), abs(x), np.minimum(x, y),
            np.maximum(x, y), np.copysign(x, y), np.maximum(x - y, 0), np.fmod(x, y),
            each(math.remainder, x, y), np.ldexp(x, 3), np.ldexp(y, -2), np.clip(x, 0, 1),
            np.nextafter(x, y), np.minimum(x, y) + np.maximum(x, y),
        ]  # fmt: skip
        return {2: np.array([row.astype("f4") for row in rows])}

    def halves_and_others(dtype: Any) -> Array:
        return np.concatenate([np.arange(-40, 40) / 2, floats(220, -9, 9, dtype)]).astype(dtype)

    yield RawCase("exact-functions", file, "exact_functions", 5, 64,
        lambda: (halves_and_others("f4"), floats(300, 0.1, 5, seed=2), blank((26, 300), "f4"), 300),
        exact)  # fmt: skip

    def exact_double(x: Array, y: Array, out: Array, n: int) -> dict[int, Array]:
        rows = [x * y + x, fused(x, y, x), fused(x, y, -x), x / y, np.sqrt(abs(x)),
                np.floor(x) + np.ceil(y), np.minimum(x, y), np.maximum(x, y), np.trunc(x),
                np.rint(y), np.fmod(x, y), np.copysign(x, y), np.ldexp(x, 5)]  # fmt: skip
        return {2: np.array(rows)}

    yield RawCase("exact-double", file, "exact_double", 5, 64,
        lambda: (halves_and_others("f8"), floats(300, 0.1, 5, "f8", 2), blank((13, 300), "f8"),
                 300), exact_double)  # fmt: skip

    def library(x: Array, out: Array, n: int) -> dict[int, Array]:
        v = x.astype("f8")
        rows = [
            np.exp(v), np.exp2(v), np.expm1(v), np.log(v), np.log2(v), np.log10(v), np.log1p(v),
            np.sin(v), np.cos(v), np.tan(v), np.arcsin(v / 8), np.arccos(v / 8), np.arctan(v),
            np.arctan2(v, 2), np.sinh(v), np.cosh(v), np.tanh(v), np.arcsinh(v), np.arccosh(v + 1),
            np.arctanh(v / 8), v**1.25, np.cbrt(v), np.hypot(v, 3), each(math.erf, v),
            each(math.erfc, v), each(math.gamma, v), each(math.lgamma, v + 3),
        ]  # fmt: skip
        return {1: np.array(rows)}

    for kind, dtype, tolerance in (("float", "f4", 2e-6), ("double", "f8", 4e-15)):
        yield RawCase(f"library-functions-{kind}", file, f"library_functions<{kind}>", 3, 64,
            lambda d=dtype: (floats(150, 0.1, 5, d), blank((27, 150), d), 150), library,
            rtol=tolerance, atol=tolerance,
            why="each library is correct to its own few units in the last place")  # fmt: skip

    def cuda_only(x: Array, out: Array, n: int) -> dict[int, Array]:
        v = x.astype("f8")
        sine, cosine = np.sin(np.pi * v), np.cos(np.pi * v)
        rows = [sine, cosine, 10**v, 1 / np.hypot(v, 4), 1 / np.cbrt(v), np.sqrt(v * v + 13),
                each(lambda u: math.erfc((2 - u) / math.sqrt(2)) / 2, v), np.sin(v), np.cos(v),
                sine + cosine, v / 3, v**-0.5]  # fmt: skip
        return {1: np.array(rows)}

    yield RawCase("cuda-functions", file, "cuda_functions", 3, 64,
        lambda: (floats(150, 0.1, 5), blank((12, 150), "f4"), 150), cuda_only, rtol=2e-6, atol=2e-6,
        why="each library is correct to its own few units in the last place")  # fmt: skip

    def parts(x: Array, *rest: Any) -> dict[int, Array]:
        fraction, whole = np.modf(x)
        mantissa, exponent = np.frexp(x)
        return {1: fraction, 2: whole, 3: mantissa, 4: exponent, 5: exponent - 1}

    yield RawCase("parts", file, "parts", 2, 96,
        lambda: (floats(190, -999, 999), *(blank(190, "f4") for _ in range(3)), blank(190, "i4"),
                 blank(190, "i4"), 190), parts)  # fmt: skip

    def classes(x: Array, flags: Array, n: int) -> dict[int, Array]:
        tests = (np.isnan(x), np.isinf(x), np.isfinite(x), np.signbit(x), np.isnan(x),
                 np.isinf(x) | (abs(x) > 1e39))  # fmt: skip
        return {1: sum(flag * (1 << bit) for bit, flag in enumerate(tests))}

    yield RawCase("classify-floats", file, "classify", 1, 32,
        lambda: (np.array([0.0, -0.0, 1, -1, np.nan, np.inf, -np.inf, 1e300, -1e300, 5e-324]),
                 blank(10, "i4"), 10), classes)  # fmt: skip

    def saturated(values: Array, dtype: Any) -> Array:
        limits = np.iinfo(dtype)
        known = np.where(np.isnan(values), 0, values)
        return np.array([int(min(max(v, limits.min), limits.max)) for v in known.tolist()], dtype)

    def casts(x: Array, out: Array, unsigned_out: Array, n: int) -> dict[int, Array]:
        v = x.astype("f8")
        signed = [np.rint(v), np.trunc(v), np.ceil(v), np.floor(v), np.rint(v * 0.5)]
        unsigned = [np.rint(v), np.trunc(v), np.floor(v)]
        return {
            1: np.array([saturated(row, "i4") for row in signed]),
            2: np.array([saturated(row, "u4") for row in unsigned]),
        }

    def hard_to_cast() -> Array:
        edges = np.array([0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e20, -1e20, np.inf, -np.inf,
                          2**31, -(2**31), 2**32, 2147483520, 4294967040, -1, 3e9])  # fmt: skip
        return np.concatenate([edges, floats(80, -99, 99, "f8")]).astype("f4")

    yield RawCase("saturating-casts", file, "saturating_casts", 2, 64,
        lambda: (hard_to_cast(), blank((5, 98), "i4"), blank((3, 98), "u4"), 98), casts
    )  # fmt: skip
    yield RawCase("saturating-cast-of-nan", file, "saturating_casts", 1, 1,
        lambda: (np.array([np.nan], "f4"), blank((5, 1), "i4"), blank((3, 1), "u4"), 1),
        lambda x, out, unsigned_out, n: {1: [[0]] * 4 + [[-(2**31)]], 2: [[0]] * 2 + [[2**31]]}
    )  # fmt: skip

    def reinterpreted(x: Array, y: Array, *rest: Any) -> dict[int, Array]:
        bits = x.view("u4")
        low_cleared = (y.view("u8") & np.uint64(U64 - 256)).view("f8")
        wide = x.astype("f8")
        return {
            2: (bits ^ bits >> 16).view("i4"),
            3: y.view("i8"),
            4: (bits + np.uint32(1)).view("f4") + np.float32(1),
            5: low_cleared + 1,
            6: np.rint(wide) + np.trunc(y) + np.floor(wide),
        }

    yield RawCase("reinterpretations", file, "reinterpretations", 2, 64,
        lambda: (floats(100, -999, 999), floats(100, -1e6, 1e6, "f8"), blank(100, "i4"),
                 blank(100, "i8"), blank(100, "f4"), blank(100, "f8"), blank(100, "i8"), 100),
        reinterpreted)  # fmt: skip

    def from_integers(x: Array, y: Array, *rest: Any) -> dict[int, Array]:
        nearest = x.astype("f4")
        beyond = abs(nearest.astype("f8")) > abs(x.astype("f8"))
        to_zero = np.where(beyond, np.nextafter(nearest, np.float32(0)), nearest)
        return {
            2: np.array([nearest, to_zero, x.view("u4").astype("f4"), y.astype("f4")]),
            3: np.array([y.astype("f8"), x.astype("f8")]),
        }

    yield RawCase("from-integers", file, "from_integers", 2, 64,
        lambda: (ints(100, -(2**31), 2**31), ints(100, -(2**63), 2**63, "i8"),
                 blank((4, 100), "f4"), blank((2, 100), "f8"), 100), from_integers)  # fmt: skip

    def rounded(x: Array, out: Array, wide: Array, n: int) -> dict[int, Array]:
        away = np.copysign(np.floor(abs(x) + 0.5), x)
        scaled = x.astype("f8") * 1.5
        return {1: np.rint(x) * 3 + away,
                2: np.rint(x) - np.copysign(np.floor(abs(scaled) + 0.5), scaled)}  # fmt: skip

    yield RawCase("integer-rounding", file, "integer_rounding", 2, 64,
        lambda: (np.arange(-50, 50, dtype="f4") / 4, blank(100, "i4"), blank(100, "i8"), 100),
        rounded)  # fmt: skip


def signed(value: int) -> int:
    """Return the int whose 32 bits are the lowest of `value`."""
    return (value + 2**31) % U32 - 2**31


def int_cases() -> Iterator[RawCase]:
    file = "int_functions.cu"

    def reverse(value: int, bits: int) -> int:
        return int(f"{value:0{bits}b}"[::-1], 2)

    def permute(x: int, y: int, selector: int) -> int:
        both = (y << 32 | x).to_bytes(8, "little")
        return int.from_bytes(bytes(both[selector >> 4 * k & 7] for k in range(4)), "little")

    def funnel(low: int, high: int) -> int:
        return high << 32 | low

    def bits(x: Array, out: Array, n: int) -> dict[int, Array]:
        def row(v: int) -> list[int]:
            w = v << 20 | 0x80
            both = funnel(v, 0xDEADBEEF)
            return [
                v.bit_count(), 32 - v.bit_length(), (v & -v).bit_length(), reverse(v, 32),
                w.bit_count(), 64 - w.bit_length(), (w & -w).bit_length(), reverse(w, 64) >> 24,
                permute(v, 0x01020304, 0x6510), permute(v, ~v % U32, v & 0x7777),
                both << 13 >> 32, both >> (v & 31), v, funnel(v, 1) >> 7,
            ]  # fmt: skip

        return {1: np.array([[signed(f) for f in row(v)] for v in x.tolist()]).T}

    yield RawCase("bit-functions", file, "bit_functions", 2, 64,
        lambda: (np.concatenate([ints(90, 1, U32, "u4"), ints(20, 1, 99, "u4"),
                                 np.array([0, 1, 2**31, U32 - 1], "u4")]),
                 blank((14, 114), "i4"), 114), bits)  # fmt: skip

    def wide(x: Array, y: Array, *rest: Any) -> dict[int, Array]:
        pairs = list(zip(x.tolist(), y.tolist(), strict=True))
        rows = [
            [(a * 1000003) * (b * 998244353) >> 64 for a, b in pairs],
            [(a * 1000003 % U64) * (b * 998244353 % U64) >> 64 for a, b in pairs],
            [int(math.fmod(a, 5000)) * int(math.fmod(b, 3000)) for a, b in pairs],
            [(a & 0xFFFF) * (b & 0xFF) for a, b in pairs],
        ]
        return {
            2: np.array([a * b >> 32 for a, b in pairs]),
            3: np.array([(a % U32) * (b % U32) >> 32 for a, b in pairs]),
            4: np.array([[(v + 2**63) % U64 - 2**63 for v in row] for row in rows]),
        }

    def operands(seed: int) -> Array:
        return np.append(ints(96, -(2**31), 2**31, seed=seed), np.array([1, -1, 7, -9], "i4"))

    yield RawCase("high-products", file, "high_products", 2, 64,
        lambda: (operands(1), operands(2), blank(100, "i4"), blank(100, "u4"),
                 blank((4, 100), "i8"), 100), wide)  # fmt: skip

    def dot_bytes(a: int, b: int, is_signed: bool) -> int:
        x, y = ((v % U32).to_bytes(4, "little") for v in (a, b))
        bias = 128 if is_signed else 0
        products = (((p ^ bias) - bias) * ((q ^ bias) - bias) for p, q in zip(x, y, strict=True))
        return 100 + sum(products)

    def small(x: Array, y: Array, out: Array, n: int) -> dict[int, Array]:
        def row(a: int, b: int) -> list[int]:
            u, v = a % U32, b % U32
            return [
                a + b >> 1, a + b + 1 >> 1, u + v >> 1, u + v + 1 >> 1,
                abs(int(a / 4) - int(b / 4)) + 7, abs(u - v) + 5, dot_bytes(a, b, True),
                dot_bytes(a, b, False), abs(int(a / 2)), min(a, b), max(a, b), min(u, v),
                max(a, 5), abs(b) // 2,
            ]  # fmt: skip

        pairs = zip(x.tolist(), y.tolist(), strict=True)
        return {2: np.array([[signed(f) for f in row(a, b)] for a, b in pairs]).T}

    yield RawCase("small-arithmetic", file, "small_arithmetic", 2, 64,
        lambda: (operands(1), operands(2), blank((14, 100), "i4"), 100), small)  # fmt: skip

    def divided(x: Array, y: Array, out: Array, n: int) -> dict[int, Array]:
        remainder = np.fmod(x, y)
        rows = [(x - remainder) // y, remainder, x >> 3, (x.view("u4") >> 3).view("i4"),
                x.astype("i1"), x.astype("u2")]  # fmt: skip
        return {2: np.array([row.astype("i4") for row in rows])}

    yield RawCase("divisions", file, "divisions", 2, 64,
        lambda: (ints(100, -(2**30), 2**30), operands(2) | 1, blank((6, 100), "i4"), 100), divided
    )  # fmt: skip

    def narrow(a: Array, b: Array, c: int, d: int, *rest: Any) -> dict[int, Array]:
        return {
            4: (a.astype(int) + c).astype("i1"),
            5: (b.astype(int) * d).astype("u2"),
            6: a.astype(int) * b * c * d,
        }

    yield RawCase("narrow-types", file, "narrow_types", 3, 64,
        lambda: (ints(190, -128, 128, "i1"), ints(190, 0, 65536, "u2"), -300, 201,
                 blank(190, "i1"), blank(190, "u2"), blank(190, "i8"), 190), narrow)  # fmt: skip


def template_cases() -> Iterator[RawCase]:
    file = "templates.cu"
    for kind, dtype, value in (
        ("unsigned char", "u1", 200), ("long long", "i8", -(2**40)), ("bool", "?", True),
    ):  # fmt: skip
        yield RawCase(f"fill-{kind}", file, f"fill<{kind}>", 2, 64,
            lambda d=dtype, v=value: (np.zeros(110, d), v, 101),
            lambda out, value, n: {0: filled(out, np.full(101, value))})  # fmt: skip
    for expression, dtype, step in (
        ("filters::difference<float>", "f4", 2), ("filters::difference<int, 5>", "i4", 5),
    ):  # fmt: skip
        yield RawCase(f"{expression}", file, expression, 2, 64,
            lambda d=dtype: (ints(111, -99, 99, d), blank(111, d), 111),
            lambda x, out, n, s=step: {1: filled(out, x[s:] - x[:-s])})  # fmt: skip
    yield RawCase("nested-namespace", file, "filters::detail::negate", 2, 64,
        lambda: (ints(111, -99, 99), blank(111, "i4"), 111),
        lambda x, out, n: {1: -x})  # fmt: skip
    for expression, dtype, function in (
        ("transform<ops::Square, float>", "f4", lambda x: x * x),
        ("transform<ops::Times<-3>, double>", "f8", lambda x: -3 * x),
    ):
        yield RawCase(expression, file, expression, 2, 64,
            lambda d=dtype: (ints(111, -99, 99, d), blank(111, d), 111),
            lambda x, out, n, f=function: {1: f(x)})  # fmt: skip
    for mode, saturate in (("down", "true"), ("up", "false")):

        def halved(
            x: Array, out: Array, n: int, up: int = mode == "up", top: bool = saturate == "true"
        ) -> dict[int, Array]:
            half = (x + up) // 2
            return {1: (np.minimum(half, 255) if top else half).astype("u1")}

        expression = f"halve<ops::Rounding::{mode}, {saturate}>"
        yield RawCase(expression, file, expression, 2, 64,
            lambda: (ints(111, 0, 999), blank(111, "u1"), 111), halved)  # fmt: skip
    yield RawCase("variadic", file, "combine<5, -2, 3>", 2, 64,
        lambda: (ints(111, -99, 99), blank(111, "i4"), 111),
        lambda x, out, n: {1: 5 - 2 * x + 3 * x * x + np.arange(111) + 3})  # fmt: skip

    def reflected(points: Array, out: Array, shift: Any, n: int) -> dict[int, Array]:
        moved = shift - points
        return {1: np.column_stack([moved, (moved * points).sum(1)])}

    for kind, dtype, size in (("float", "f4", 3), ("int", "i4", 2)):
        yield RawCase(f"class-{kind}-{size}", file, f"reflect<{kind}, {size}>", 2, 48,
            lambda d=dtype, s=size: (ints((77, s), -20, 20, d), blank((77, s + 1), d), 5, 77),
            reflected)  # fmt: skip

    def folded(matrix: Array, out: Array, columns: int, modulus: int) -> dict[int, Array]:
        rows = []
        for row in matrix.tolist():
            value = 7
            for item in row:
                value = (value * 31 + item % modulus) % modulus
            rows.append([sum(row), value, max(0, *row)])
        return {1: np.array(rows)}

    yield RawCase("lambdas", file, "fold_rows", 2, 16,
        lambda: (ints((32, 40), 0, 5000), blank((32, 3), "i4"), 40, 1009), folded)  # fmt: skip
    for kind, dtype, top in (("short", "i2", 32767), ("unsigned char", "u1", 255)):
        yield RawCase(f"specialisation-{kind}", file, f"invert<{kind}>", 1, 64,
            lambda d=dtype: (ints(60, 0, 99, d), blank(60, d), 60),
            lambda x, out, n, t=top: {1: t - x})  # fmt: skip
    yield RawCase("names-of-a-runtime", file, "k", 1, 12,
        lambda: (ints(50, -99, 99), blank(50, "i4"), 50, 3, 4, 5, 6),
        lambda x, y, n, begin, end, block, args: {1: x * 3 + 4 - 30})  # fmt: skip


BOX = np.dtype([("low", "f4", 3), ("high", "f4", 3), ("id", "i4")])
SETTINGS = np.dtype(
    [("scale", "f8"), ("first", "i4"), ("flag", "i1"), ("steps", "i2", 3)], align=True
)
PARTICLE = np.dtype([("position", "f4", 3), ("mass", "f4"), ("velocity", "f4", 3), ("alive", "i4")])


def _particles() -> Array:
    particles = np.zeros(90, PARTICLE)
    particles["position"] = ints((90, 3), -4, 20, "f4")
    particles["velocity"] = ints((90, 3), -20, 20, "f4", 2)
    particles["mass"] = ints(90, 1, 9, "f4")
    particles["alive"] = ints(90, 0, 4) > 0
    return particles


def language_cases() -> Iterator[RawCase]:
    file = "language.cu"

    def boxed(box: Any, settings: Any, points: Array, out: Array, n: int) -> dict[int, Array]:
        inside = ((points >= box["low"]) & (points < box["high"])).all(1)
        steps = settings["steps"].astype("f8")[np.arange(n) % 3]
        return {3: -np.where(inside, 5 * 0.5 + 7, steps)}

    yield RawCase("structs-by-value", file, "by_value", 2, 64,
        lambda: (np.array(([0, 0, 0], [5, 6, 7], 5), BOX)[()],
                 np.array((0.5, 7, ord("n"), [1, -2, 3]), SETTINGS)[()],
                 ints((100, 3), -2, 9, "f4"), blank(100, "f8"), 100), boxed)  # fmt: skip

    def moved(particles: Array, dt: float, n: int) -> dict[int, Array]:
        alive = particles["alive"] != 0
        particles["position"][alive] += particles["velocity"][alive] * np.float32(dt)
        lost = alive & (particles["position"][:, 2] < 0)
        particles["alive"][lost] = 0
        particles["mass"][lost] = 0
        return {0: particles}

    yield RawCase("struct-pointers", file, "move_particles", 2, 64,
        lambda: (_particles(), 0.5, 90), moved)  # fmt: skip
    for invert in (False, True):

        def logic(a: Array, b: Array, out: Array, n: int, invert: bool) -> dict[int, Array]:
            rows = [a & b, a | b, a ^ b, a ^ invert, np.ones_like(a)]
            return {2: np.array(rows)}

        yield RawCase(f"bool-{invert}", file, "logic", 2, 32,
            lambda v=invert: (ints(50, 0, 2, "?"), ints(50, 0, 2, "?", 2), np.zeros((5, 50), "?"),
                              50, v), logic)  # fmt: skip
    for mask in (None, ints(70, 0, 2, "u1")):
        yield RawCase("null-pointer" if mask is None else "not-a-null-pointer", file, "masked_add",
            2, 40,
            lambda m=mask: (ints(70, 0, 9, "f4"), ints(70, 0, 9, "f4", 2), m, blank(70, "f4"), 70),
            lambda x, y, mask, out, n: {3: x + (y if mask is None else y * mask)})  # fmt: skip
    numbers = (-100, 200, -30000, 60000, -(2**31), 2**32 - 1, -(2**53), 2**53, 0.5, 1e-300, True,
               65, 2**40)  # fmt: skip
    yield RawCase("scalars", file, "scalars", 1, 1,
        lambda: (*numbers, blank(14, "f8")),
        lambda *args: {13: [*map(float, numbers), UNWRITTEN]})  # fmt: skip
    typed = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "?", "i1", "u8")
    yield RawCase("numpy-scalars", file, "scalars", 1, 1,
        lambda: (*(np.dtype(d).type(v) for d, v in zip(typed, numbers, strict=True)),
                 blank(14, "f8")),
        lambda *args: {13: [*map(float, numbers), UNWRITTEN]})  # fmt: skip
    yield RawCase("recursion", file, "recursion", 2, 40,
        lambda: (ints(75, 1, 9999), ints(75, 1, 9999, seed=2), blank(75, "i4"), blank(75, "u4"),
                 75),
        lambda a, b, out, values, n: {2: np.gcd(a, b), 3: 2 * (np.arange(75) % 6) + 3})  # fmt: skip
    yield RawCase("virtual-functions", file, "areas", 2, 32,
        lambda: (ints(50, 1, 20), blank(50, "i4"), 50),
        lambda x, out, n: {1: np.where(np.arange(50) % 2, x * np.arange(50) * 10 + 4, 30 * x * x)}
    )  # fmt: skip

    yield RawCase("wide-offsets", file, "wide_offsets", 3, 64,
        lambda: (ints(251, 0, 256, "u1"), 251, blank(190, "u1"), 190),
        lambda data, period, out, n: {2: data[(np.arange(190) * 3000000019 + 2**40) % 251]}
    )  # fmt: skip


def complex_cases() -> Iterator[RawCase]:
    file = "complex.cu"

    def numbers(n: int, dtype: Any, seed: int) -> Array:
        return (ints(n, -20, 20, "f8", seed) + 1j * ints(n, -20, 20, "f8", seed + 9)).astype(dtype)

    yield RawCase("complex-multiply-add", file, "multiply_add", 2, 64,
        lambda: (numbers(99, "c8", 1), numbers(99, "c8", 2), np.complex64(3 - 2j), blank(99, "c8"),
                 99),
        lambda x, y, factor, out, n: {3: factor * x + y})  # fmt: skip
    yield RawCase("complex-polar", file, "polar", 2, 64,
        lambda: (numbers(99, "c16", 1), blank(99, "f8"), blank(99, "f8"), blank(99, "c16"), 99),
        lambda x, magnitude, angle, conjugate, n: {1: abs(x), 2: np.angle(x), 3: x.conj()},
        rtol=4e-15, atol=1e-15, why="a square root of a scaled sum of squares, and atan2"
    )  # fmt: skip
    yield RawCase("complex-quotients", file, "quotients", 2, 64,
        lambda: (numbers(99, "c16", 1), numbers(99, "c16", 2) + 0.5, blank(99, "c16"), 99),
        lambda x, y, out, n: {2: x / y - 1}, rtol=1e-13, atol=1e-13, why="several roundings"
    )  # fmt: skip

    def julia(z: Array, real: float, imag: float, out: Array, steps: int, n: int) -> dict[int, Any]:
        w = z.astype("c16")
        for _ in range(steps):
            w = w * w + complex(real, imag)
        return {3: w}

    yield RawCase("complex-julia", file, "julia", 2, 64,
        lambda: ((numbers(99, "c16", 1) / 32).astype("c8"), 0.25, -0.125, blank(99, "c8"), 4, 99),
        julia, rtol=2e-5, atol=2e-5, why="four steps, each of several roundings")  # fmt: skip


def cases() -> Iterator[RawCase]:
    for part in (
        vector_cases, half_cases, float_cases, int_cases, template_cases, language_cases,
        complex_cases,
    ):  # fmt: skip
        yield from part()
