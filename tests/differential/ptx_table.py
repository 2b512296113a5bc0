"""PTX instructions and what they mean, in Python: of integers as bits, of floats by NumPy."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

LOW, ALL = 2**32 - 1, 2**64 - 1


def signed(x: int, bits: int = 32) -> int:
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def f32(x: int) -> np.float32:
    return np.float32(struct.unpack("f", struct.pack("I", x & LOW))[0])


def f64(x: int) -> np.float64:
    return np.float64(struct.unpack("d", struct.pack("Q", x & ALL))[0])


def bits32(x: Any) -> int:
    return int(np.float32(x).view(np.uint32))


def bits64(x: Any) -> int:
    return int(np.float64(x).view(np.uint64))


def clamped(x: int, bits: int, is_signed: bool = True) -> int:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    return min(max(x, low), high)


def field(x: int, position: int, length: int, bits: int, is_signed: bool) -> int:
    """What `bfe` extracts."""
    position, length = position & 255, length & 255
    if length == 0:
        return 0
    last = min(position + length - 1, bits - 1)
    fill = is_signed and x >> last & 1
    found = x >> position & ((1 << length) - 1) if position < bits else 0
    width = max(min(length, bits - position), 0)
    if fill:
        found |= ((1 << bits) - 1) & ~((1 << width) - 1)
    return found


def inserted(a: int, b: int, position: int, length: int, bits: int) -> int:
    position, length = position & 255, length & 255
    mask = ((1 << length) - 1) << position & ((1 << bits) - 1)
    return b & ~mask | a << position & mask


def found_first(x: int, bits: int, is_signed: bool) -> int:
    if is_signed and x >> bits - 1:
        x = ~x & (1 << bits) - 1
    return x.bit_length() - 1 if x else LOW


def permuted(a: int, b: int, selector: int) -> int:
    joined, result = b << 32 | a, 0
    for k in range(4):
        pick = selector >> 4 * k & 15
        byte = joined >> 8 * (pick & 7) & 255
        result |= (byte if pick < 8 else 255 * (byte >> 7)) << 8 * k
    return result


def looked_up(a: int, b: int, c: int, table: int) -> int:
    return sum((table >> (a >> k & 1) * 4 + (b >> k & 1) * 2 + (c >> k & 1) & 1) << k
               for k in range(32))  # fmt: skip


def lanes(x: int, size: int, is_signed: bool) -> list[int]:
    parts = [x >> k & (1 << size) - 1 for k in range(0, 32, size)]
    return [signed(part, size) for part in parts] if is_signed else parts


def dot(a: list[int], b: list[int], c: int) -> int:
    return c + sum(x * y for x, y in zip(a, b, strict=True))


def flushed(x: np.float32) -> np.float32:
    return np.copysign(np.float32(0), x) if abs(x) < np.finfo("f4").tiny else x


@dataclass(frozen=True)
class Row:
    """An instruction, with ``%0`` for its result and ``%1`` to ``%3`` for what it takes."""

    text: str
    constraints: str  # of its result and of its operands: ``"rrr"``
    wanted: Callable[..., int | None]  # of operands as bits; None where any NaN will do
    ulps: int = 0  # by which a float may be off


def _row(text: str, constraints: str, wanted: Callable[..., int | None], ulps: int = 0) -> Row:
    return Row(text, constraints, wanted, ulps)


def _quiet(function: Callable[..., Any]) -> Callable[..., int]:
    def call(*operands: int) -> int:
        with np.errstate(all="ignore"):
            return bits32(function(*map(f32, operands)))

    return call


ROWS = (
    _row("add.u32 %0, %1, %2;", "rrr", lambda a, b: a + b),
    _row("add.s64 %0, %1, %2;", "lll", lambda a, b: a + b),
    _row("add.sat.s32 %0, %1, %2;", "rrr", lambda a, b: clamped(signed(a) + signed(b), 32)),
    _row("sub.s32 %0, %1, -7;", "rr", lambda a: a + 7),
    _row("sub.u16 %0, %1, %2;", "hhh", lambda a, b: a - b),
    _row("mul.lo.s32 %0, %1, %2;", "rrr", lambda a, b: a * b),
    _row("mul.lo.u16 %0, %1, %2;", "hhh", lambda a, b: a * b),
    _row("mul.hi.u32 %0, %1, %2;", "rrr", lambda a, b: a * b >> 32),
    _row("mul.hi.s32 %0, %1, %2;", "rrr", lambda a, b: signed(a) * signed(b) >> 32),
    _row("mul.hi.u64 %0, %1, %2;", "lll", lambda a, b: a * b >> 64),
    _row("mul.hi.s64 %0, %1, %2;", "lll", lambda a, b: signed(a, 64) * signed(b, 64) >> 64),
    _row("mul.wide.u32 %0, %1, %2;", "lrr", lambda a, b: a * b),
    _row("mul.wide.s32 %0, %1, %2;", "lrr", lambda a, b: signed(a) * signed(b)),
    _row("mul.wide.s16 %0, %1, %2;", "rhh", lambda a, b: signed(a, 16) * signed(b, 16)),
    _row("mad.wide.u32 %0, %1, %2, %3;", "lrrl", lambda a, b, c: a * b + c),
    _row("mad.lo.u32 %0, %1, %2, %3;", "rrrr", lambda a, b, c: a * b + c),
    _row("mad.hi.u32 %0, %1, %2, %3;", "rrrr", lambda a, b, c: (a * b >> 32) + c),
    _row("mul24.lo.u32 %0, %1, %2;", "rrr", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    _row("mul24.hi.s32 %0, %1, %2;", "rrr", lambda a, b: signed(a, 24) * signed(b, 24) >> 16),
    _row("mad24.lo.u32 %0, %1, %2, %3;", "rrrr",
         lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c),
    _row("add.u32 %0, %1, (1<<4)-4*2;", "rr", lambda a: a + 8),
    _row("sad.u32 %0, %1, %2, %3;", "rrrr", lambda a, b, c: abs(a - b) + c),
    _row("div.u32 %0, %1, 7;", "rr", lambda a: a // 7),
    _row("rem.s32 %0, %1, 7;", "rr", lambda a: int(np.fmod(signed(a), 7))),
    _row("abs.s32 %0, %1;", "rr", lambda a: abs(signed(a))),
    _row("neg.s64 %0, %1;", "ll", lambda a: -a),
    _row("min.s32 %0, %1, %2;", "rrr", lambda a, b: min(signed(a), signed(b))),
    _row("max.u64 %0, %1, %2;", "lll", max),
    _row("and.b32 %0, %1, %2;", "rrr", lambda a, b: a & b),
    _row("or.b64 %0, %1, %2;", "lll", lambda a, b: a | b),
    _row("xor.b16 %0, %1, %2;", "hhh", lambda a, b: a ^ b),
    _row("not.b32 %0, %1;", "rr", lambda a: ~a),
    _row("cnot.b32 %0, %1;", "rr", lambda a: int(a == 0)),
    _row("shl.b32 %0, %1, %2;", "rrr", lambda a, b: a << b if b < 32 else 0),
    _row("shr.u32 %0, %1, %2;", "rrr", lambda a, b: a >> b if b < 32 else 0),
    _row("shr.s32 %0, %1, %2;", "rrr", lambda a, b: signed(a) >> min(b, 31)),
    _row("shr.s64 %0, %1, %2;", "llr", lambda a, b: signed(a, 64) >> min(b, 63)),
    _row("shf.l.wrap.b32 %0, %1, %2, %3;", "rrrr",
         lambda a, b, c: (b << 32 | a) << (c & 31) >> 32),
    _row("shf.r.clamp.b32 %0, %1, %2, %3;", "rrrr", lambda a, b, c: (b << 32 | a) >> min(c, 32)),
    _row("lop3.b32 %0, %1, %2, %3, 0x96;", "rrrr", lambda a, b, c: a ^ b ^ c),
    _row("lop3.b32 %0, %1, %2, %3, 0xE8;", "rrrr", lambda a, b, c: looked_up(a, b, c, 0xE8)),
    _row("lop3.b32 %0, %1, %2, %3, 0x1d;", "rrrr", lambda a, b, c: looked_up(a, b, c, 0x1D)),
    _row("bfe.u32 %0, %1, %2, %3;", "rrrr", lambda a, b, c: field(a, b, c, 32, False)),
    _row("bfe.s32 %0, %1, %2, %3;", "rrrr", lambda a, b, c: field(a, b, c, 32, True)),
    _row("bfe.u64 %0, %1, 9, 40;", "ll", lambda a: field(a, 9, 40, 64, False)),
    _row("bfi.b32 %0, %1, %2, 5, 9;", "rrr", lambda a, b: inserted(a, b, 5, 9, 32)),
    # GPUs differ in where they put what begins past the last bit.
    _row("bfi.b64 %0, %1, %2, %3, 13;", "lllr",
         lambda a, b, c: inserted(a, b, c, 13, 64) if c < 64 else None),
    _row("bfind.u32 %0, %1;", "rr", lambda a: found_first(a, 32, False)),
    _row("bfind.s32 %0, %1;", "rr", lambda a: found_first(a, 32, True)),
    _row("bfind.shiftamt.u64 %0, %1;", "rl",
         lambda a: 64 - a.bit_length() if a else LOW),
    _row("brev.b32 %0, %1;", "rr", lambda a: int(f"{a:032b}"[::-1], 2)),
    _row("brev.b64 %0, %1;", "ll", lambda a: int(f"{a:064b}"[::-1], 2)),
    _row("popc.b64 %0, %1;", "rl", lambda a: a.bit_count()),
    _row("clz.b32 %0, %1;", "rr", lambda a: 32 - a.bit_length()),
    _row("prmt.b32 %0, %1, %2, %3;", "rrrr", permuted),
    _row("prmt.b32.f4e %0, %1, %2, %3;", "rrrr",
         lambda a, b, c: (b << 32 | a) >> 8 * (c & 3)),
    _row("dp4a.s32.s32 %0, %1, %2, %3;", "rrrr",
         lambda a, b, c: dot(lanes(a, 8, True), lanes(b, 8, True), c)),
    _row("dp4a.u32.s32 %0, %1, %2, %3;", "rrrr",
         lambda a, b, c: dot(lanes(a, 8, False), lanes(b, 8, True), c)),
    _row("dp2a.hi.u32.u32 %0, %1, %2, %3;", "rrrr",
         lambda a, b, c: dot(lanes(a, 16, False), lanes(b, 8, False)[2:], c)),
    _row("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;", "rrrr",
         lambda a, b, c: c + sum(abs(x - y) for x, y in zip(
             lanes(a, 8, False), lanes(b, 8, False), strict=True))),
    # Several instructions: registers, predicates, scopes, branches, packed values, the carry.
    _row("{ .reg .pred p, q; setp.lt.s32 p|q, %1, %2; selp.b32 %0, 1, 2, p; @!q bra DONE; "
         "add.u32 %0, %0, 10; DONE: }", "rrr",
         lambda a, b: 1 if signed(a) < signed(b) else 12),
    _row("{ .reg .pred p; setp.gt.and.u32 p, %1, 5, 1; @p mov.u32 %0, %1; @!p mov.b32 %0, 0xFF; }",
         "rr", lambda a: a if a > 5 else 255),
    _row("set.ge.u32.s32 %0, %1, %2;", "rrr", lambda a, b: -int(signed(a) >= signed(b))),
    _row("slct.u32.s32 %0, %1, %2, %3;", "rrrr", lambda a, b, c: a if signed(c) >= 0 else b),
    _row("{\\n\\t.reg .b32 lo, hi;\\n\\tmov.b64 {lo, hi}, %1; // halves\\n\\t"
         "mov.b64 %0, {hi, lo};\\n\\t}", "ll", lambda a: a << 32 | a >> 32),
    _row("{ .reg .u32 r<3>; mov.b64 {r0, r1}, %1; add.cc.u32 r0, r0, %2; addc.u32 r1, r1, 0; "
         "mov.b64 %0, {r0, r1}; }", "llr", lambda a, b: a + b),
    _row("{ .reg .u32 r<4>; mov.b64 {r0, r1}, %1; mov.b64 {r2, r3}, %2; sub.cc.u32 r0, r0, r2; "
         "subc.u32 r1, r1, r3; mov.b64 %0, {r0, r1}; }", "lll", lambda a, b: a - b),
    _row("{ .reg .u32 l, h; mad.lo.cc.u32 l, %1, %2, %3; madc.hi.u32 h, %1, %2, 0; "
         "mov.b64 %0, {l, h}; }", "lrrr", lambda a, b, c: a * b + c),
    _row("{ .reg .pred p; setp.eq.u32 p, %1, 31; mov.u32 %0, 1; @p bra DONE; .reg .u32 t; "
         "add.u32 t, %1, 7; mov.u32 %0, t; DONE: }", "rr", lambda a: 1 if a == 31 else a + 7),
    _row("{ .reg .u32 t; add.u32 t, %1, 1; { .reg .u32 s, t; mov.u32 t, 5; mov.u32 s, t; "
         "add.u32 %0, s, t; } add.u32 %0, %0, t; }", "rr", lambda a: a + 11),
    _row("{ .pragma \\\"nounroll\\\"; mov.b64 {_, %0}, %1; }", "rl", lambda a: a >> 32),
    _row("{ .reg .pred p; setp.lt.u32 p, %1, 64; mov.u32 %0, 9; @p bra L%=; mov.u32 %0, 3; "
         "L%=: }", "rr",
         lambda a: 9 if a < 64 else 3),
    _row("slct.ftz.u32.f32 %0, %1, %2, %3;", "rrrf",
         lambda a, b, c: a if flushed(f32(c)) >= 0 else b),
    # Conversions.
    _row("cvt.u32.u64 %0, %1;", "rl", lambda a: a),
    _row("cvt.s64.s32 %0, %1;", "lr", lambda a: signed(a)),
    _row("cvt.u64.u32 %0, %1;", "lr", lambda a: a),
    _row("cvt.s32.s8 %0, %1;", "rr", lambda a: signed(a, 8)),
    _row("cvt.u8.u32 %0, %1;", "rr", lambda a: a & 255),
    _row("cvt.sat.s8.s32 %0, %1;", "rr", lambda a: clamped(signed(a), 8)),
    _row("cvt.sat.u8.s32 %0, %1;", "rr", lambda a: clamped(signed(a), 8, False)),
    _row("cvt.rn.f32.s32 %0, %1;", "fr", lambda a: bits32(np.float32(signed(a)))),
    _row("cvt.rn.f64.u64 %0, %1;", "dl", lambda a: bits64(float(a))),
    _row("cvt.f64.f32 %0, %1;", "df", lambda a: bits64(np.float64(f32(a)))),
    # Floats.
    _row("add.f32 %0, %1, %2;", "fff", _quiet(lambda a, b: a + b)),
    _row("mul.rn.ftz.f32 %0, %1, %2;", "fff",
         _quiet(lambda a, b: flushed(flushed(a) * flushed(b)))),
    _row("sub.ftz.f32 %0, %1, %2;", "fff",
         _quiet(lambda a, b: flushed(flushed(a) - flushed(b)))),
    _row("div.rn.f32 %0, %1, %2;", "fff", _quiet(lambda a, b: a / b)),
    _row("fma.rn.f32 %0, %1, %2, 0f3F800000;", "fff",
         _quiet(lambda a, b: np.longdouble(a) * np.longdouble(b) + 1)),
    _row("mul.f64 %0, %1, %2;", "ddd", lambda a, b: bits64(f64(a) * f64(b))),
    _row("abs.f32 %0, %1;", "ff", lambda a: a & 0x7FFFFFFF),
    _row("neg.f64 %0, %1;", "dd", lambda a: a ^ 1 << 63),
    _row("max.f32 %0, %1, %2;", "fff", _quiet(np.fmax)),
    _row("copysign.f32 %0, %1, %2;", "fff", lambda a, b: a & 1 << 31 | b & 0x7FFFFFFF),
    _row("cvt.sat.f32.f32 %0, %1;", "ff", _quiet(lambda a: np.clip(np.nan_to_num(a), 0, 1) + 0)),
    _row("cvt.rni.f32.f32 %0, %1;", "ff", _quiet(np.rint)),
    _row("cvt.rzi.s32.f32 %0, %1;", "rf",
         lambda a: 0 if np.isnan(f32(a)) else clamped(int(np.clip(f32(a), -3e9, 3e9)), 32)),
    _row("{ .reg .pred p; setp.ltu.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }", "rff",
         lambda a, b: int(not f32(a) >= f32(b))),
    _row("ex2.approx.ftz.f32 %0, %1;", "ff", _quiet(lambda a: flushed(np.exp2(flushed(a)))), 4),
    _row("rcp.approx.ftz.f32 %0, %1;", "ff", _quiet(lambda a: flushed(1 / flushed(a))), 2),
    _row("sqrt.approx.f32 %0, %1;", "ff", _quiet(np.sqrt), 4),
    _row("{ .reg .f16 h; cvt.rn.f16.f32 h, %1; mul.f16 h, h, h; cvt.f32.f16 %0, h; }", "ff",
         _quiet(lambda a: np.float32(np.float16(a) * np.float16(a)))),
    _row("{ .reg .b32 t; cvt.rn.f16x2.f32 t, %1, %2; add.f16x2 t, t, t; mov.b32 %0, t; }", "rff",
         lambda a, b: _pair(f32(a), f32(b))),
    _row("{ .reg .b16 t; .reg .b32 u; cvt.rn.satfinite.e4m3x2.f32 t, %1, %2; "
         "cvt.rn.f16x2.e4m3x2 u, t; mov.b32 %0, u; }", "rff",
         lambda a, b: _bytes(f32(a), f32(b))),
    _row("add.ftz.f16 %0, %1, %2;", "hhh", lambda a, b: _half(
        lambda x, y: small(small(x) + small(y)), a, b)),
    _row("mul.f16 %0, %1, %2;", "hhh", lambda a, b: _half(lambda x, y: x * y, a, b)),
    _row("set.lt.f16.u32 %0, %1, %2;", "hrr", lambda a, b: 0x3C00 if a < b else 0),
    _row("{ .reg .pred p; setp.ltu.f16 p, %1, %2; selp.u32 %0, 1, 0, p; }", "rhh",
         lambda a, b: int(not f16(a) >= f16(b))),
    _row("cvt.rn.f16.s32 %0, %1;", "hr", lambda a: _half(lambda: np.float64(signed(a)))),
    _row("cvt.rni.s32.f16 %0, %1;", "rh", lambda a: 0 if np.isnan(f16(a)) else clamped(
        int(np.rint(np.clip(f16(a).astype("f8"), -3e9, 3e9))), 32)),
    _row("cvt.rna.satfinite.tf32.f32 %0, %1; and.b32 %0, %0, 0xffffe000;", "rf",
         lambda a: None if np.isnan(f32(a)) else
         min((a & 0x7FFFFFFF) + 0x1000 & ~0x1FFF, 0x7F7FE000) | a & 1 << 31),
    _row("cvt.rna.tf32.f32 %0, %1; and.b32 %0, %0, 0xffffe000;", "rf",
         lambda a: None if np.isnan(f32(a)) else
         (a + 0x1000 & ~0x1FFF) if a & 0x7F800000 != 0x7F800000 else a),
)  # fmt: skip


def f16(x: int) -> np.float16:
    return np.array(x & 0xFFFF, "u2").view("f2")[()]  # type: ignore[no-any-return]


def small(x: np.float16) -> np.float16:
    """Zero of its sign for a subnormal number."""
    return np.copysign(np.float16(0), x) if abs(x) < np.finfo("f2").tiny else x


def _half(function: Callable[..., Any], *operands: int) -> int | None:
    """The bits of a function of float16; None of a NaN, whose bits are open."""
    with np.errstate(all="ignore"):
        result = np.float16(function(*map(f16, operands)))
    return None if np.isnan(result) else int(result.view("u2"))


def _pair(high: np.float32, low: np.float32) -> int | None:
    if np.isnan(high) or np.isnan(low):
        return None
    with np.errstate(all="ignore"):
        first, second = np.float16(low) * 2, np.float16(high) * 2
    return int(np.float16(first).view("u2")) | int(np.float16(second).view("u2")) << 16


def _bytes(high: np.float32, low: np.float32) -> int | None:
    """What a pair of e4m3 makes of two numbers, as float16."""
    if np.isnan(high) or np.isnan(low):
        return None
    pair = np.clip(np.array([low, high]), -448, 448).astype(ml_dtypes.float8_e4m3fn).astype("f2")
    return int(pair.view("u4")[0])


def source() -> str:
    """Return a kernel that executes every row for each thread's operands."""
    types = {"r": "unsigned int", "l": "unsigned long long", "h": "unsigned short", "f": "float",
             "d": "double"}  # fmt: skip
    lines = []
    for number, row in enumerate(ROWS):
        to = types[row.constraints[0]]
        operands = ", ".join(
            f'"{letter}"(bits_as<{types[letter]}>({name}))'
            for letter, name in zip(row.constraints[1:], "abc", strict=False)
        )
        lines.append(
            f'    {{ {to} to = 0; asm("{row.text}" : "=&{row.constraints[0]}"(to) : {operands});'
            f" out[{number} * n + i] = as_bits(to); }}"
        )
    return "\n".join(
        (
            "template <class T> __device__ T bits_as(unsigned long long x)",
            "{ T y; memcpy(&y, &x, sizeof(T)); return y; }",
            "template <class T> __device__ unsigned long long as_bits(T y)",
            "{ unsigned long long x = 0; memcpy(&x, &y, sizeof(T)); return x; }",
            'extern "C" __global__ void rows(const unsigned long long* x, '
            "const unsigned long long* y, const unsigned long long* z, unsigned long long* out, "
            "int n)",
            "{",
            "    const int i = blockIdx.x * blockDim.x + threadIdx.x;",
            "    const unsigned long long a = x[i], b = y[i], c = z[i];",
            *lines,
            "}",
            "",
        )
    )
