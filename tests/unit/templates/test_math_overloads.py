"""C++'s overloads of mathematical functions: every function of every pair of dtypes, for GPUs, and
its values on CPU cores compared with NumPy.
"""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kerneltk import ArraySpec, ElementwiseKernel, RawKernel
from kerneltk.backends.cuda import nvrtc
from kerneltk.codegen.real_overloads import EVERY
from kerneltk.core.artifacts import TranslationUnit

TYPES = {
    "bool": "bool", "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "uint16": "uint16_t",
    "int32": "int", "uint32": "unsigned", "int64": "long long", "uint64": "unsigned long long",
    "float16": "float16", "bfloat16": "bfloat16", "float32": "float", "float64": "double",
}  # fmt: skip
ONE = [
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
    "atanh", "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt",
    "cbrt", "rcbrt", "fabs", "floor", "ceil", "trunc", "round", "rint", "nearbyint", "logb",
    "tgamma", "lgamma", "erf", "erfc", "erfinv", "erfcinv", "erfcx", "normcdf", "normcdfinv",
    "sinpi", "cospi",
]  # fmt: skip
BESSEL = ["j0", "j1", "y0", "y1", "cyl_bessel_i0", "cyl_bessel_i1"]
TO_INTEGER = ["ilogb", "lrint", "lround", "llrint", "llround"]
TESTS = ["isnan", "isinf", "isfinite", "signbit"]
TWO = [
    "pow", "atan2", "hypot", "fmod", "fmin", "fmax", "fdim", "copysign", "nextafter",
    "remainder",
]  # fmt: skip
# Of two equal 16-bit floats these are one again.
SMALL = ("fmin", "fmax", "copysign", "nextafter")


def is_single(dtype: str) -> bool:
    return dtype in ("float16", "bfloat16", "float32")


def wanted_type(name: str, dtypes: tuple[str, ...]) -> str:
    """Return the C type of a function's result."""
    if name in SMALL and len(set(dtypes)) == 1 and dtypes[0].endswith("float16"):
        return dtypes[0]
    if all(map(is_single, dtypes)) or (
        name == "pow" and is_single(dtypes[0]) and dtypes[1] == "int32"
    ):
        return "float"
    return "double"


def checks() -> str:
    """Return a source that asserts the type of every result."""
    lines = [
        "template <class A, class B> struct is_same_ { static constexpr bool value = false; };",
        "template <class A> struct is_same_<A, A> { static constexpr bool value = true; };",
    ]

    def check(name: str, dtypes: tuple[str, ...], ctype: str) -> None:
        values = ", ".join(f"static_cast<{TYPES[dtype]}>(1)" for dtype in dtypes)
        call = f"{name}({values})"
        lines.append(f'static_assert(is_same_<decltype({call}), {ctype}>::value, "{call}");')

    for dtype in TYPES:
        for name in (*ONE, *BESSEL):
            # The Bessel functions of a float are CUDA's of a double, and the others'.
            if name not in BESSEL or not is_single(dtype):
                check(name, (dtype,), wanted_type(name, (dtype,)))
        for name in (*TO_INTEGER, *TESTS, "abs"):
            value = f"static_cast<{TYPES[dtype]}>(1)"
            lines.append(f"static_assert(sizeof({name}({value})) > 0, {name!r});".replace("'", '"'))
    for name, pair in itertools.product(TWO, itertools.product(TYPES, repeat=2)):
        check(name, pair, wanted_type(name, pair))
    for triple in itertools.product(TYPES, repeat=3):
        check("fma", triple, wanted_type("fma", triple))
    return "\n".join(lines)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "architecture", ["compute_75", pytest.param("compute_90", marks=pytest.mark.exhaustive)]
)
def test_types_for_gpus(architecture: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    headers = ("core", "float16", "bfloat16", "real_overloads")
    source = "".join(f"#include <kerneltk/{name}.hpp>\n" for name in headers)
    source += EVERY + "\n" + checks() + '\nextern "C" __global__ void f(double* x) { *x = 1; }\n'
    nvrtc.compile(TranslationUnit("cuda", source, "f"), nvrtc.target_for(architecture))


def dtype_of(name: str) -> Any:
    return np.dtype(getattr(ml_dtypes, name) if name == "bfloat16" else name)


FUNCTIONS: dict[str, Any] = {
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "floor": np.floor, "round": np.rint,
    "sin": np.sin, "cbrt": np.cbrt, "fabs": np.fabs, "exp2": np.exp2, "log1p": np.log1p,
    "atan": np.arctan, "tanh": np.tanh, "isnan": np.isnan, "signbit": np.signbit,
    "pow": np.power, "fmax": np.fmax, "fmin": np.fmin, "hypot": np.hypot, "atan2": np.arctan2,
    "fmod": np.fmod, "copysign": np.copysign,
}  # fmt: skip


def check_values(pairs: list[tuple[str, str]], backend: Any) -> None:
    """Compare all functions of pairs of dtypes, a kernel for each pair."""
    names = list(FUNCTIONS)
    calls = [f"{n}(a, b)" if n in TWO else f"{n}(a)" for n in names]
    body = " ".join(f"y[{{i, {k}}}] = {call};" for k, call in enumerate(calls))
    ternary = len(names)
    kernel = ElementwiseKernel(
        "A a, B b", "raw float64 y", f"{body} y[{{i, {ternary}}}] = a > b ? a : b;", "math"
    )
    for pair in pairs:
        a, b = (np.array([1, 2, 3, 1]).astype(dtype_of(pair[0])),
                np.array([2, 1, 3, 5]).astype(dtype_of(pair[1])))  # fmt: skip
        y = backend.asarray(np.zeros((4, ternary + 1)))
        kernel(backend.asarray(a), backend.asarray(b), y)
        found = backend.asnumpy(y)
        wide = a.astype(np.float64), b.astype(np.float64)
        for k, name in enumerate(names):
            operands = wide if name in TWO else wide[:1]
            single = wanted_type(name, pair if name in TWO else pair[:1]) != "double"
            np.testing.assert_allclose(
                found[:, k], FUNCTIONS[name](*operands), rtol=1e-6 if single else 1e-14,
                err_msg=f"{name} of {pair}",
            )  # fmt: skip
        np.testing.assert_array_equal(found[:, ternary], np.maximum(*wide), str(pair))


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", TYPES)
def test_values_of_all_pairs(first: str, backend: Any) -> None:
    check_values([(first, second) for second in TYPES], backend)


def test_conditional_expressions_of_small_floats() -> None:
    kernel = ElementwiseKernel("T a, U b, bool c", "float64 y", "y = c ? a : b * 2", "choose")
    for pair in (("float16", "float32"), ("int32", "bfloat16"), ("float16", "bfloat16")):
        specs = [ArraySpec.make(dtype_of(dtype), (4,)) for dtype in (*pair, "bool")]
        kernel.compile(*specs, target="sm_75")


@pytest.mark.exhaustive
def test_raw_kernels() -> None:
    body = "x[0] = sqrt(k) + fmax(z, x[0]) + pow(k, 0.5f) + isnan(k) + abs(3u);"
    for head, names in (("", ""), ("#include <cmath>\n", "using namespace std; ")):
        source = (
            f'{head}extern "C" __global__ void f(double* x, int k, float z) {{ {names}{body} }}'
        )
        kernel = RawKernel(source.replace("abs(3u)", "3"), "f")
        x = np.ones(1)
        kernel((1,), (1,), (x, 4, np.float32(2)))
        assert x[0] == 9
        kernel.compile_for("sm_75")


def test_a_kernel_may_have_its_own_abs_of_unsigned_integers() -> None:
    own = "template <class T> __device__ T abs(T x) { return x + 5; }"
    kernel = ElementwiseKernel("T x", "T y", "y = abs(x)", "own", preamble=own)
    assert kernel(np.ones(2, np.uint32)).tolist() == [6, 6]
    kernel.compile(ArraySpec.make("uint32", 2), target="sm_90")
