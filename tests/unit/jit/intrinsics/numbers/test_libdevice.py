"""numba-cuda's `cuda.libdevice`: each group of types has a function here."""

from __future__ import annotations

from typing import Any

import numpy as np

from kerneltk.jit import cuda


@cuda.jit
def functions(y):
    lib = cuda.libdevice
    y[0] = lib.umulhi(2**31, 4)
    y[1] = lib.byte_perm(0x01020304, 0x05060708, 0x7310)
    y[2] = lib.sad(-3, 4, 5)
    y[3] = lib.clz(1) + lib.clzll(1) * 100
    y[4] = lib.ffs(8) + lib.ffsll(2**40) * 100
    y[5] = lib.hiloint2double(0x40080000, 0)
    y[6] = lib.double2hiint(3.0)
    y[7] = lib.float_as_int(1)
    y[8] = lib.ldexp(0.75, 3)
    y[9] = lib.mulhi(-(2**31), 2)
    y[10] = lib.rhadd(-7, 4) * 100 + lib.urhadd(7, 4)
    y[11] = lib.llrint(2.5) * 100 + lib.llround(2.5)
    y[12] = lib.mul24(-5, 7)
    y[13] = lib.longlong_as_double(4607182418800017408)
    y[14] = lib.popcll(-1)
    y[15] = lib.fast_fdividef(3, 2)
    y[16] = lib.double2float_ru(1 + 2.0**-30) - 1
    y[17] = lib.dadd_rd(1, 2.0**-60) + lib.dadd_ru(-1, -(2.0**-60))
    y[18] = lib.umul64hi(2**63, 6)
    y[19] = lib.ll2float_rz(2**25 + 3)
    y[20], y[21] = lib.frexp(-12)
    y[22], y[23] = lib.modff(-2.75)
    y[24], y[25] = lib.remquo(17, 4)
    y[26], y[27] = lib.remquof(-7.5, 2)
    y[28] = lib.half2float(0x3E00) + lib.float2half_rn(-2.0)
    y[29], y[30] = lib.sincos(0.0)


def test_values(backend: Any) -> None:
    y = backend.asarray(np.zeros(31))
    functions[1, 1](y)
    expected = [
        2, 0x05010304, 12, 31 + 6300, 4 + 4100, 3, 0x40080000, 0x3F800000, 6, -1, -94, 203,
        -35, 1, 64, 1.5, 2.0**-23, 0, 3, 2**25, -0.75, 4, -0.75, -2, 1, 4, 0.5, -4,
        1.5 - 2**14, 0, 1,
    ]  # fmt: skip
    np.testing.assert_array_equal(backend.asnumpy(y), expected)


def test_nvrtc_compiles_functions() -> None:
    assert ".visible .entry functions" in functions.inspect(np.zeros(31), target="compute_90")
