"""Arithmetic of kernels translated from Python: on the host against NumPy, by NVRTC as text."""

from __future__ import annotations

import ctypes
import importlib.util
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from kerneltk.core.artifacts import INCLUDE_DIRECTORY

from ...sampling import half

Array = npt.NDArray[Any]
Reference = Callable[..., Any]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
SIGNED = {"i1": "signed char", "i2": "short", "i4": "int", "i8": "long long"}
UNSIGNED = {
    "u1": "unsigned char",
    "u2": "unsigned short",
    "u4": "unsigned int",
    "u8": "unsigned long long",
}
INTEGERS = {**SIGNED, **UNSIGNED}
REALS = {"f2": "float16", "bf16": "bfloat16", "f4": "float", "f8": "double"}
COMPLEX = {"c8": "complex<float>", "c16": "complex<double>"}
TYPES = {"bool": "bool", **INTEGERS, **REALS, **COMPLEX}

HEADERS = "".join(
    f"#include <kerneltk/{name}.hpp>\n"
    for name in (
        *("float16", "bfloat16", "complex_powers"),
        *("jit_numbers", "jit_numbers_more", "jit_numbers_complex"),
    )
)
X86 = platform.machine() == "x86_64"
HOST_FLAGS = (
    *("-std=c++17", "-O1", "-fPIC", "-fno-math-errno", "-fno-trapping-math"),
    *("-fno-strict-aliasing", "-ffp-contract=fast", "-Wall", "-Wextra", "-Werror"),
    *(f"-I{INCLUDE_DIRECTORY}", *(("-march=native",) if X86 else ())),
)


def host_compilers() -> list[Any]:
    """Return the commands of the compilers that are here, of which one is enough every time."""
    found = [[path] for path in (shutil.which("g++"), shutil.which("clang++")) if path]
    if importlib.util.find_spec("ziglang"):
        # The C++ library is not needed, and Zig compiles it first: 70 s where no cache has it.
        found.append([sys.executable, "-m", "ziglang", "c++", "-nostdlib++"])
    others = (pytest.param(command, marks=pytest.mark.exhaustive) for command in found[1:])
    return [*found[:1], *others]


def name_of(command: list[str]) -> str:
    return next(Path(word).name for word in reversed(command) if not word.startswith("-"))


def dtype_of(name: str) -> np.dtype[Any]:
    return BFLOAT16 if name == "bf16" else np.dtype(name)


# ---- what is tested: C++ expressions of x and y (of type T), and NumPy's function ----


class Case:
    """A function of one or two operands of type T, what it returns and how NumPy computes it.

    `ulps` is the distance allowed from NumPy's result; floats of 16 bits are rounded from floats,
    so that one of theirs covers any of those.
    """

    def __init__(
        self,
        expression: str,
        reference: Reference,
        types: dict[str, str],
        returns: str = "T",
        ulps: int = 0,
        signed_zeros: bool = True,
        operands: Callable[..., tuple[Array, ...]] | None = None,
    ) -> None:
        self.expression, self.reference, self.types = expression, reference, types
        self.returns, self.ulps, self.signed_zeros = returns, ulps, signed_zeros
        self.operands = operands

    @property
    def is_binary(self) -> bool:
        return "y" in self.expression.replace("py_", "").split("(", 1)[1]


def powers(x: Array, y: Array) -> Array:
    """Integer powers modulo 2**bits; 0 for negative exponents, but of 1 and -1."""
    bits = 8 * x.dtype.itemsize
    values = []
    for base, exponent in zip(x.tolist(), y.tolist(), strict=True):
        if exponent < 0:
            values.append({1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0))
        else:
            values.append(pow(base, exponent, 2**bits))
    wide = np.array([value % 2**bits for value in values], np.uint64)
    return wide.astype(f"u{bits // 8}").view(x.dtype)


def wrapped_power(n: int) -> Reference:
    def reference(x: Array) -> Array:
        if x.dtype.kind in "iu":
            return powers(x, np.full(x.shape, n, np.int64))
        return x**n

    return reference


def no_zero_divisors(x: Array, y: Array) -> tuple[Array, ...]:
    return x, np.where(y == 0, y.dtype.type(1), y)


def moderate(x: Array, *more: Array) -> tuple[Array, ...]:
    """Keep sizes where float's and double's last bits can be compared."""
    keep = [np.where(np.abs(a) < 100, a, a.dtype.type(3)) for a in (x, *more)]
    return tuple(keep)


def small_powers(x: Array, y: Array) -> tuple[Array, ...]:
    """Keep exponents small: an error of the logarithm is multiplied by them."""
    return moderate(x, np.where(np.abs(y) < 8, y, y.dtype.type(2.5)))


def round_reference(digits: int) -> Reference:
    def reference(x: Array) -> Array:
        if x.dtype.kind in "iu":
            unit = 10 ** max(-digits, 0)
            bits = 8 * x.dtype.itemsize
            exact = [_half_even(value, unit) % 2**bits for value in x.tolist()]
            return np.array(exact, np.uint64).astype(f"u{bits // 8}").view(x.dtype)
        if x.dtype == BFLOAT16:
            scale = np.array(10.0 ** abs(digits), BFLOAT16)
            scaled = x * scale if digits > 0 else x / scale
            whole = np.rint(scaled)
            return np.asarray(whole / scale if digits > 0 else whole * scale)
        return np.round(x, digits)

    return reference


def _half_even(value: int, unit: int) -> int:
    whole, rest = divmod(abs(value), unit)
    whole += 2 * rest > unit or (2 * rest == unit and whole % 2 == 1)
    return whole * unit if value >= 0 else -whole * unit


def py_min(x: Array, y: Array) -> Array:
    return np.where(y < x, y, x)


def py_max(x: Array, y: Array) -> Array:
    return np.where(y > x, y, x)


NUMBERS = {**INTEGERS, **REALS}
ALL = {**TYPES}


def cases() -> Iterator[Case]:
    yield Case("floor_divide(x, y)", np.floor_divide, INTEGERS, operands=no_zero_divisors)
    yield Case("modulo(x, y)", np.remainder, INTEGERS, operands=no_zero_divisors)
    yield Case("floor_divide(x, y)", np.floor_divide, REALS)
    yield Case("modulo(x, y)", np.remainder, REALS)
    yield Case("divmod(x, y).quotient", np.floor_divide, REALS)
    yield Case("divmod(x, y).rest", np.remainder, REALS)
    yield Case("power(x, y)", powers, INTEGERS)
    yield Case("power(x, y)", np.power, REALS, ulps=1)
    yield Case("power(x, y)", np.power, COMPLEX, ulps=100, operands=small_powers)
    for n in (-1, 0, 1, 2, 3, 4):
        yield Case(f"power_constant<{n}>(x)", wrapped_power(n), INTEGERS)
        yield Case(f"power_constant<{n}>(x)", wrapped_power(n), REALS, ulps=2 if n > 2 else 0)
    yield Case("power_constant<3>(x)", lambda x: x**3, COMPLEX, ulps=4, operands=moderate)
    yield Case("power_half(x)", np.sqrt, REALS)
    yield Case("square(x)", np.square, NUMBERS)
    yield Case("reciprocal(x)", np.reciprocal, REALS)
    yield Case("square(x)", np.square, COMPLEX, ulps=2, operands=moderate)
    yield Case("shift_left(x, y)", np.left_shift, INTEGERS)
    yield Case("shift_right(x, y)", np.right_shift, INTEGERS)
    for name in ("minimum", "maximum", "fmin", "fmax"):
        zeros = {"signed_zeros": False}
        yield Case(f"{name}(x, y)", getattr(np, name), ALL, **zeros)  # type: ignore[arg-type]
    yield Case("py_min(x, y)", py_min, ALL)
    yield Case("py_max(x, y)", py_max, ALL)
    yield Case(
        "clip(x, T(1), T(5))",
        lambda x: np.clip(x, x.dtype.type(1), x.dtype.type(5)),
        {**NUMBERS, **COMPLEX},
    )
    yield Case("absolute(x)", np.absolute, {"bool": "bool", **NUMBERS})
    yield Case("absolute(x)", np.absolute, COMPLEX, "typename T::value_type", ulps=2)
    yield Case("sign(x)", np.sign, NUMBERS)
    yield Case("sign(x)", np.sign, COMPLEX, ulps=1)
    yield Case("positive(x)", np.positive, {**NUMBERS, **COMPLEX})
    yield Case("kerneltk::jit::conj(x)", np.conjugate, {**NUMBERS, **COMPLEX})
    yield Case("kerneltk::jit::real(x)", np.real, NUMBERS)
    yield Case("kerneltk::jit::imag(x)", np.imag, NUMBERS)
    yield Case("kerneltk::jit::real(x)", np.real, COMPLEX, "typename T::value_type")
    yield Case("kerneltk::jit::imag(x)", np.imag, COMPLEX, "typename T::value_type")
    for name in ("floor", "ceil", "trunc"):
        yield Case(f"kerneltk::jit::{name}(x)", getattr(np, name), {"bool": "bool", **NUMBERS})
    yield Case("kerneltk::jit::rint(x)", np.rint, {**REALS, **COMPLEX})
    for digits in (-2, -1, 0, 1, 2):
        yield Case(f"round_even(x, {digits})", round_reference(digits), {**NUMBERS, **COMPLEX})
    for name in ("isnan", "isinf", "isfinite"):
        yield Case(f"kerneltk::jit::{name}(x)", getattr(np, name), ALL, "bool")
    yield Case("kerneltk::jit::signbit(x)", lambda x: x.astype("f8") < 0, INTEGERS, "bool")
    yield Case("kerneltk::jit::signbit(x)", np.signbit, REALS, "bool")
    yield Case("kerneltk::jit::copysign(x, y)", np.copysign, REALS)
    yield Case("kerneltk::jit::ldexp(x, 3)", lambda x: np.ldexp(wide(x), 3), REALS)
    yield Case("kerneltk::jit::ldexp(x, -70ll)", lambda x: np.ldexp(wide(x), -70), REALS)
    yield Case("kerneltk::jit::frexp(x).fraction", lambda x: np.frexp(wide(x))[0], REALS)
    yield Case("kerneltk::jit::frexp(x).exponent", lambda x: np.frexp(wide(x))[1], REALS, "int")
    yield Case("kerneltk::jit::modf(x).fraction", lambda x: np.modf(wide(x))[0], REALS)
    yield Case("kerneltk::jit::modf(x).whole", lambda x: np.modf(wide(x))[1], REALS)
    yield Case("kerneltk::jit::gcd(x, y)", np.gcd, INTEGERS)
    yield Case("lcm(x, y)", np.lcm, INTEGERS, operands=moderate)
    yield Case("degrees(x)", np.degrees, REALS, ulps=1)
    yield Case("radians(x)", np.radians, REALS, ulps=1)
    yield Case("kerneltk::jit::hypot(x, y)", np.hypot, REALS, ulps=1)
    yield Case("arctan2(x, y)", np.arctan2, REALS, ulps=3)
    yield Case("sinc(x)", lambda x: np.sinc(wide(x)), REALS, ulps=4, operands=moderate)
    yield Case("heaviside(x, y)", np.heaviside, REALS)
    yield Case("logaddexp(x, y)", np.logaddexp, REALS, ulps=64)
    yield Case("logaddexp2(x, y)", np.logaddexp2, REALS, ulps=64)


CASES = tuple(cases())


def wide(x: Array) -> Array:
    """Return `x` in the type that its functions are computed in."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x


# ---- operands ----


def special(dtype: np.dtype[Any]) -> Array:
    if dtype == np.bool_:
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        near = [-64, -25, -9, -7, -3, -2, -1, 0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 25, 32, 63, 64, 100]
        inside = [value for value in near if value >= info.min]
        return np.array([*inside, info.min, info.min + 1, info.max, info.max - 1], dtype)
    if dtype.kind == "c":
        parts = np.array([0, -0.0, 1, -1, 0.5, 2.5, -3, np.inf, -np.inf, np.nan])
        both = np.empty((10, 10), dtype)
        both.real, both.imag = parts[:, None], parts
        return both.ravel()
    info = ml_dtypes.finfo(dtype)
    numbers = [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 7, 9.75, 15, 25, 0.1, 0.3, 2.675, 99.5, 1e-3]
    limits = [float(info.max), float(info.tiny), float(info.smallest_subnormal), np.inf, np.nan]
    both = np.array([*numbers, *limits])
    return np.concatenate([both, -both]).astype(dtype)


def random(dtype: np.dtype[Any], count: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    if dtype == np.bool_:
        return rng.integers(0, 2, count).astype(bool)
    if dtype.kind in "iu":
        shifts = rng.integers(0, 8 * dtype.itemsize, count)
        bits = rng.integers(0, 2**64, count, np.uint64, endpoint=False)
        return bits.astype(f"u{dtype.itemsize}").view(dtype) >> shifts.astype(dtype)
    values = rng.normal(size=count) * 10 ** rng.uniform(-3, 3, count)
    if dtype.kind == "c":
        values = values + 1j * rng.normal(size=count)
    return values.astype(dtype)


def operands(dtype: np.dtype[Any], binary: bool) -> tuple[Array, ...]:
    grid = special(dtype)
    x = random(dtype, 1500, 1)
    if not binary:
        return (np.concatenate([grid, x]),)
    left, right = (part.ravel() for part in np.meshgrid(grid, grid))
    return np.concatenate([left, x]), np.concatenate([right, random(dtype, 1500, 2)])


# ---- on the host ----


@pytest.fixture(scope="module", params=host_compilers(), ids=name_of)
def library(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, once: Any
) -> Any:
    """Every case, compiled for every type that it takes."""
    source = HEADERS + "using namespace kerneltk::jit;\n"
    for number, case in enumerate(CASES):
        parameters = "const T* px, const T* py" if case.is_binary else "const T* px"
        second = "const T y = py[i];" if case.is_binary else ""
        arguments = "x, y" if case.is_binary else "x"
        source += f"""
        template <class T> using R{number} = {case.returns};
        template <class T> void run{number}({parameters}, R{number}<T>* r, long long n) {{
            for (long long i = 0; i < n; ++i) {{
                const T x = px[i]; {second}
                r[i] = {case.expression};
            }}
        }}"""
        for name, ctype in case.types.items():
            pointers = ", ".join(f"const {ctype}* {word}" for word in arguments.split(", "))
            source += f"""
            extern "C" void f{number}_{name}({pointers}, void* r, long long n) {{
                run{number}<{ctype}>({arguments}, static_cast<R{number}<{ctype}>*>(r), n);
            }}"""
    source += conversions()

    def make() -> bytes:
        directory = tmp_path_factory.mktemp("numbers")
        text, output = directory / "unit.cpp", directory / "unit.so"
        text.write_text(source)
        command = [*request.param, *HOST_FLAGS, "-shared", "-o", str(output), str(text), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:4000]
        return output.read_bytes()

    return ctypes.CDLL(str(once.file((request.param, source), make)))


def conversions() -> str:
    return "".join(
        f"""
        extern "C" void convert_{a}_{b}(const {TYPES[a]}* x, {TYPES[b]}* r, long long n) {{
            for (long long i = 0; i < n; ++i) r[i] = convert<{TYPES[b]}>(x[i]);
        }}"""
        for a in TYPES
        for b in TYPES
    )


def call(function: Any, *arrays: Array) -> None:
    function.restype = None
    function(*(ctypes.c_void_p(a.ctypes.data) for a in arrays), ctypes.c_longlong(arrays[0].size))


def distance(got: Array, expected: Array) -> Array:
    """Return how many representable numbers lie between two arrays of floats."""
    bits = f"i{got.dtype.itemsize}"
    least = np.iinfo(bits).min

    def place(x: Array) -> list[int]:
        whole = np.ascontiguousarray(x).view(bits)
        return np.where(whole < 0, least - whole, whole).astype(object)  # type: ignore[return-value]

    return np.asarray(np.abs(np.asarray(place(got)) - np.asarray(place(expected))))


def compare(got: Array, expected: Array, case: Case, xs: tuple[Array, ...]) -> None:
    if got.dtype.kind == "c":
        same = np.ones(got.shape, bool)
        for g, e in ((got.real, expected.real), (got.imag, expected.imag)):
            same &= (g == e) | (np.isnan(g) & np.isnan(e))
        if case.ulps:
            step = np.spacing(np.abs(expected).astype(got.real.dtype))
            same |= np.abs(got - expected) <= case.ulps * step
            same |= np.isnan(got) & np.isnan(expected)
    elif got.dtype.kind in "biu":
        same = got == expected
    else:
        nan = np.isnan(expected)
        assert np.array_equal(np.isnan(got), nan), where(np.isnan(got) == nan, got, expected, xs)
        apart = np.zeros(got.shape, object)
        apart[~nan] = distance(got[~nan], expected[~nan])
        same = (apart <= case.ulps) | (got == expected)
        if case.signed_zeros:
            same &= nan | (np.signbit(got) == np.signbit(expected))
    assert same.all(), where(same, got, expected, xs)


def where(same: Array, got: Array, expected: Array, xs: tuple[Array, ...]) -> str:
    wrong = np.flatnonzero(~same)[:8]
    rows = [(*(x[i] for x in xs), "->", got[i], "not", expected[i]) for i in wrong]
    return "\n".join(" ".join(map(str, row)) for row in rows)


@pytest.mark.parametrize("number", half(range(len(CASES))), ids=lambda k: CASES[k].expression)
def test_results_are_numpys(library: Any, number: int) -> None:
    case = CASES[number]
    for name in case.types:
        dtype = dtype_of(name)
        xs = operands(dtype, case.is_binary)
        if case.operands is not None:
            with np.errstate(all="ignore"):
                xs = case.operands(*xs)
        result = {
            "T": dtype,
            "int": np.dtype("i4"),
            "bool": np.dtype("bool"),
        }.get(case.returns) or np.dtype(f"f{dtype.itemsize // 2}")
        got = np.empty(xs[0].shape, result)
        call(getattr(library, f"f{number}_{name}"), *map(np.ascontiguousarray, xs), got)
        with np.errstate(all="ignore"):
            given = xs if name != "bf16" or "round" in case.expression else tuple(map(wide, xs))
            expected = np.asarray(case.reference(*given)).astype(result)
        try:
            with np.errstate(all="ignore"):
                compare(got, expected, case, xs)
        except AssertionError as error:
            raise AssertionError(f"{case.expression} of {TYPES[name]}:\n{error}") from None


def test_conversions_are_c_casts(library: Any) -> None:
    for a in TYPES:
        from_type = dtype_of(a)
        (x,) = operands(from_type, False)
        if from_type.kind in "fVc":  # what an integer cannot hold is undefined
            fits = np.array([0, -0.0, 0.5, 1, 1.5, 2.75, 99.5, 100]).astype(from_type)
        for b in TYPES:
            to = dtype_of(b)
            given = fits if from_type.kind in "fVc" and to.kind in "iu" else x
            got = np.empty(given.shape, to)
            call(getattr(library, f"convert_{a}_{b}"), given, got)
            real = given.real if from_type.kind == "c" and to.kind not in "bc" else given
            with np.errstate(all="ignore"):
                expected = real.astype(to)
            same = np.asarray(got == expected)
            if to.kind in "fVc":
                same |= np.isnan(got) & np.isnan(expected)
            assert same.all(), (a, b, where(same, got, expected, (given,)))


# ---- on a GPU ----


def compile_cuda(source: str, architecture: str) -> tuple[bool, str]:
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"unit.cu", 0, [], [])
    options = [f"--gpu-architecture={architecture}", "--std=c++17", f"-I{INCLUDE_DIRECTORY}"]
    encoded = [option.encode() for option in options]
    (result,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = b" " * max(size, 2)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(program)
    return result == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode().strip("\0 \n")


@pytest.mark.parametrize(
    "architecture", ["sm_75", pytest.param("sm_90", marks=pytest.mark.exhaustive)]
)
@pytest.mark.parametrize("kinds", [INTEGERS, REALS, {**COMPLEX, "bool": "bool"}], ids="-".join)
def test_nvrtc_compiles_every_case(kinds: dict[str, str], architecture: str) -> None:
    source = HEADERS + "using namespace kerneltk::jit;\n"
    for name, ctype in kinds.items():
        lines = [
            f"{{ using R = {case.returns}; static_cast<R*>(out)[i] = {case.expression}; }}"
            for case in CASES
            if name in case.types
        ]
        lines += [f"static_cast<{to}*>(out)[i] = convert<{to}>(x);" for to in TYPES.values()]
        source += f"""
        template <class T> __device__ void run_{name}(const T* p, void* out, int i) {{
            const T x = p[i], y = p[i + 1];
            {" ".join(lines)}
        }}
        extern "C" __global__ void f_{name}(const {ctype}* p, void* out) {{
            run_{name}(p, out, threadIdx.x);
        }}"""
    compiled, log = compile_cuda(source, architecture)
    assert compiled, log[:4000]
    assert architecture == "sm_75" or log == ""
