"""C++ source of expressions: literals, types, parentheses, and what C++ would compute otherwise."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

from kerneltk import jit
from kerneltk.jit import ir
from kerneltk.jit.codegen.emit import Emitter, literal
from kerneltk.jit.ir.types import BOOL, PY_FLOAT, PY_INT, VOID, Array, Tuple, number

BFLOAT16 = number(ml_dtypes.bfloat16)


class Pair(NamedTuple):
    left: Any
    int: Any  # no name in C++


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (True, BOOL, "true"),
        (0, PY_INT, "0ll"),
        (-5, PY_INT, "-5ll"),
        (-(2**63), PY_INT, "(-9223372036854775807ll - 1)"),
        (2**64 - 1, number("uint64"), "18446744073709551615ull"),
        (-(2**31), number("int32"), "(-2147483647 - 1)"),
        (7, number("uint32"), "7u"),
        (-3, number("int8"), "(signed char)-3"),
        (0.1, PY_FLOAT, "0.1"),
        (-0.0, PY_FLOAT, "-0.0"),
        (3.0, number("float32"), "3.0f"),
        (1e300, PY_FLOAT, "1e+300"),
        (float("inf"), PY_FLOAT, "__longlong_as_double(9218868437227405312ll)"),
        (float("-inf"), number("float32"), "__int_as_float(-8388608)"),
        (1 - 2j, number("complex64"), "complex<float>(1.0f, -2.0f)"),
        (1.5, number("float16"), "float16(1.5f)"),
        (1.5, BFLOAT16, "bfloat16(1.5f)"),
    ],
)
def test_literals(value: Any, kind: Any, text: str) -> None:
    assert literal(value, kind)[0] == text


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_finite_float_is_read_back(dtype: Any) -> None:
    info = np.finfo(dtype)
    extremes = [info.max, info.min, info.tiny, info.smallest_subnormal, info.eps, dtype(1) / 3]
    bits = np.random.default_rng(1).integers(0, 256, 400 * info.bits // 8, np.uint8)
    for value in (*extremes, *bits.view(dtype)):
        if np.isfinite(value):
            text = literal(value, number(dtype))[0].removesuffix("f")
            assert dtype(text) == value
            assert re.search(r"[.e]", text)  # else it is an integer


def emitter(*functions: ir.Function) -> Emitter:
    return Emitter(ir.Program(functions))


def test_structures_have_a_declaration_each() -> None:
    made = emitter()
    pair = Tuple((PY_INT, Tuple((BOOL, VOID))), ("left", "int"), Pair)
    assert made.ctype(pair) == "_kt_Pair1"
    assert made.ctype(pair) == "_kt_Pair1"
    assert list(made.declarations) == [
        "struct _kt_tuple0 { bool item0; };",
        "struct _kt_Pair1 { long long left; _kt_tuple0 item1; };",
    ]
    assert made.item_names(pair) == ["left", "item1"]
    with pytest.raises(AssertionError):
        made.ctype(Array(PY_INT, 1, "fixed", (3,), "local"))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_quotients_of_16_bits_compile_by_nvrtc(dtype: Any) -> None:
    @jit.rawkernel()
    def kernel(x, y):
        y[0] = x[0] / y[0]

    array = np.ones(1, dtype)
    assert kernel.inspect(array, array, target="compute_75")
