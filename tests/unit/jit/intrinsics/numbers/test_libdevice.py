"""numba-cuda's `cuda.libdevice`: each group of types has a function here."""

from __future__ import annotations

import numpy as np
import pytest

from kerneltk.errors import KernelToolkitError
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


def test_values() -> None:
    y = np.zeros(20)
    functions[1, 1](y)
    expected = [
        2, 0x05010304, 12, 31 + 6300, 4 + 4100, 3, 0x40080000, 0x3F800000, 6, -1, -94, 203,
        -35, 1, 64, 1.5, 2.0**-23, 0, 3, 2**25,
    ]  # fmt: skip
    np.testing.assert_array_equal(y, expected)


def test_results_by_reference_are_refused() -> None:
    @cuda.jit
    def kernel(x):
        x[0], x[1] = cuda.libdevice.frexp(x[0])

    with pytest.raises(KernelToolkitError, match="frexp"):
        kernel[1, 1](np.zeros(2))
