"""The device-side headers: compiled by NVRTC, run through a host compiler, compared with NumPy."""

from __future__ import annotations

import ctypes
import importlib.util
import math
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from cuda.bindings import nvrtc

from kerneltk.backends.host import toolchain
from kerneltk.cache.stand_ins import has_header
from kerneltk.core.artifacts import INCLUDE_DIRECTORY

from .c_calls import call

Array = npt.NDArray[Any]

OLDEST_AND_OTHERS = (
    "sm_75", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("sm_80", "sm_90"))
)  # fmt: skip
X86 = platform.machine() == "x86_64"
HOST_FLAGS = (
    *("-std=c++17", "-O3", "-fPIC", "-fno-math-errno", "-fno-trapping-math"),
    *("-Wall", "-Wextra", "-Werror", f"-I{INCLUDE_DIRECTORY}"),
    *(("-march=native",) if X86 else ()),
)


def compile_cuda(source: str, architecture: str = "sm_90") -> tuple[bool, str]:
    """Compile `source` with NVRTC; return whether that worked, and the log."""
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"unit.cu", 0, [], [])
    arguments = [f"--gpu-architecture={architecture}", "--std=c++17", f"-I{INCLUDE_DIRECTORY}"]
    encoded = [argument.encode() for argument in arguments]
    (result,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = b" " * max(size, 2)  # CPython shares bytes of length one
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(program)
    return result == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode().strip("\0 \n")


GXX = shutil.which("g++")


def host_compilers() -> list[list[str]]:
    """Return the command of every C++ compiler that is here."""
    found = [[path] for path in (GXX, shutil.which("clang++")) if path]
    if importlib.util.find_spec("ziglang"):
        found.append([sys.executable, "-m", "ziglang", "c++"])
    return found


def host_library(directory: Path, source: str) -> bytes:
    """Compile `source`, with g++ where it is here, warnings being errors then."""
    text, library = directory / "unit.cpp", directory / "unit.so"
    if GXX is None:
        options = (*toolchain.backend_options(), "-fvisibility=default", f"-I{INCLUDE_DIRECTORY}")
        code, log = toolchain.build(text.name, source, options)
        assert code is not None, log
        return code
    text.write_text(source)
    libraries = ("-lmvec", "-lm") if X86 else ("-lm",)
    command = [GXX, *HOST_FLAGS, "-shared", "-o", str(library), str(text), *libraries]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library.read_bytes()


def build_host(directory: Path, source: str) -> ctypes.CDLL:
    (directory / "unit.so").write_bytes(host_library(directory, source))
    return ctypes.CDLL(str(directory / "unit.so"))


def ulps(got: Array, expected: Array) -> Array:
    """Return the distance in units in the last place of `got`'s type; complex ones normwise."""
    real = np.dtype(got.real.dtype)
    assert np.array_equal(np.isnan(got), np.isnan(expected))
    finite = np.isfinite(expected) & (np.abs(expected) < np.finfo(real).max)
    assert np.array_equal(got[~finite], expected[~finite].astype(got.dtype), equal_nan=True)
    size = np.maximum(np.abs(expected[finite]), np.finfo(real).tiny)
    step = np.spacing(size.astype(real)).astype(size.dtype)
    return np.asarray(np.abs(got[finite].astype(expected.dtype) - expected[finite]) / step)


# ---- every unit compiles everywhere ----

CORE_UNIT = """
#include <kerneltk/core.hpp>
extern "C" __global__ void core_unit(float* x, double* d, int* n, int64_t* l, uint8_t* u) {
    const int i = n[0];
    const long k = l[0];
    x[0] = max(x[0], 0) + min(i, x[1]) + max(1, 2.5) + sin(x[2]) + pow(x[3], 2) + M_PI;
    d[0] = sin(d[1]) + pow(d[2], d[3]) + rsqrt(d[4]) + erfinv(d[5]) + INFINITY + NAN;
    l[1] = min(k, 3) + max(l[2], i) + _floor_divide(i, 3) + _floor_divide(k, k) + abs(k);
    x[4] = __expf(x[5]) + __fdividef(x[6], x[7]) + __int_as_float(i) + _floor_divide(x[0], x[1]);
    n[1] = __popc(7u) + __clz(i) + __float2int_rn(x[8]) + __mulhi(i, i) + isnan(x[9]) + u[0];
    atomicAdd(n, 1);
    atomicAdd(x, 1.0f);
    assert(i < 3);
}
"""
SMALL_UNIT = """
#include <kerneltk/NAME.hpp>
extern "C" __global__ void small_unit(NAME* y, const NAME* x, int i, short s, double d, bool b) {
    NAME z = 1;
    z = 2.0;
    z = i;
    z = 3u;
    z = 4LL;
    z = s;
    z = b;
    z += x[0];
    z -= 1;
    z *= 2.0f;
    z /= d;
    z = -x[1] + x[0] * x[2] / i;
    z = b ? x[0] : z;
    if (x[0] < x[1] || x[1] == 1 || !x[2]) z = min(x[0], x[1]);
    z = max(z, 0) + min(1.5f, z) + fmax(x[0], x[1]) + fmin(x[0], x[1]);
    z = nextafter(z, x[0]) + copysign(z, x[1]) + sin(z) + pow(z, 2) + fabs(z) + sqrt(x[3]);
    z = static_cast<float>(z) + static_cast<int>(z) + static_cast<NAME>(d);
    z = NAME(isnan(z) + isinf(z) + isfinite(z) + signbit(z) + iszero(z) + z.isnan());
    y[0] = NAME::from_bits(z.to_bits());
    y[1] = _floor_divide(x[0], x[1]);
}
"""
BOTH_UNIT = """
#include <kerneltk/float16.hpp>
#include <kerneltk/bfloat16.hpp>
#include <kerneltk/complex_circular.hpp>
extern "C" __global__ void both_unit(float16* h, bfloat16* b, complex<float>* c) {
    h[0] = b[0];
    b[1] = h[1];
    b[2] = max(h[2], b[2]) + float16(b[0]) + bfloat16(h[0]);
    c[0] = c[1] * h[0] + b[0];
}
"""
COMPLEX_UNIT = """
#include <kerneltk/complex_circular.hpp>
template <class T>
__device__ void complex_unit(complex<T>* z, const thrust::complex<T>* w, T t, int i) {
    complex<float> f = 1;
    complex<double> d(1, 2);
    complex<T> a = w[0];
    a += 1;
    a -= w[1];
    a *= 2.0;
    a /= f;
    a = 1;
    a = d;
    a.real(t);
    a.imag(2 * a.real() + a.imag());
    a = a + d - f * i / a + 2 * a - a / 2 + (1.5 - f);
    a = pow(a, d) + pow(a, 2) + pow(2.0f, a) + thrust::exp(a) + polar(t, t) + polar(t) + proj(a);
    a = -a + conj(a) + min(a, w[1]) + max(a, w[1]) + rint(a) + log2(a) + log1p(a) + expm1(a);
    z[0] = a;
    z[1] = abs(a) + arg(a) + norm(a) + real(a) + imag(a) + isnan(a) + isinf(a) + isfinite(a);
    z[2] = (a == w[0]) + (a != 1) + (2.0 == a) + (a < w[1]) + (a <= 1) + (1 > a) + (a >= d);
}
extern "C" __global__ void complex_float(complex<float>* z, float t) { complex_unit(z, z, t, 1); }
extern "C" __global__ void complex_double(complex<double>* z, double t) {
    complex_unit(z, z, t, 1);
}
"""
VIEW_UNIT = """
#include <kerneltk/array_view.hpp>
#include <kerneltk/divide.hpp>
struct arguments {
    kerneltk::array_view<const float, 2, false, int> x;
    kerneltk::array_view<float, 2, true, ptrdiff_t> y;
    kerneltk::array_view<float, 0, true, int> z;
    kerneltk::index_space<2, int> space;
    kerneltk::fast_divisor32 divisor;
    kerneltk::fast_divisor64 wide;
};
extern "C" __global__ void view_unit(const __grid_constant__ arguments p) {
    auto y = p.y;
    auto z = p.z;
    auto _ind = p.space;
    _ind.set(1);
    const int index[2] = {0, 1};
    const ptrdiff_t* pointer = _ind.get();
    y[index] = p.x[_ind.get()] + p.x[pointer] + p.x[{1, 0}] + p.x[0];
    z[0] = y[3u] + y.shape()[0] + y.strides()[1] + y.size() + _ind.size() + *y.begin_ptr();
    z[0] = p.divisor.quotient(7) + p.wide.quotient(7) + p.z[3] + decltype(y)::ndim;
}
"""
UNITS = {
    "core": CORE_UNIT,
    "float16": SMALL_UNIT.replace("NAME", "float16"),
    "bfloat16": SMALL_UNIT.replace("NAME", "bfloat16"),
    "both": BOTH_UNIT,
    "complex": COMPLEX_UNIT,
    "view": VIEW_UNIT,
}


@pytest.mark.parametrize("architecture", OLDEST_AND_OTHERS)
@pytest.mark.parametrize("name", UNITS)
def test_nvrtc_compiles_without_a_warning(name: str, architecture: str) -> None:
    assert compile_cuda(UNITS[name], architecture) == (True, "")


@pytest.mark.parametrize("command", host_compilers(), ids=lambda command: Path(command[-1]).name)
def test_host_compilers_compile_without_a_warning(command: list[str], tmp_path: Path) -> None:
    path = tmp_path / "unit.cpp"
    path.write_text(
        "".join(text.replace("small_unit", f"use_{name}") for name, text in UNITS.items())
    )
    output = str(tmp_path / "unit.o")
    done = subprocess.run(
        [*command, *HOST_FLAGS, "-c", "-o", output, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("library", ["cmath", "math.h"])
@pytest.mark.parametrize("first", [False, True], ids=["after", "before"])
def test_standard_headers_may_be_included_too(library: str, first: bool, tmp_path: Path) -> None:
    names = [library, "cstdlib", "cstdint", "cstdio", "cstring", "cassert", "algorithm"]
    includes = "".join(f"#include <{name}>\n" for name in names)
    body = """
    extern "C" double use(float x, int i, long l, double d, short s) {
        static_assert(sizeof(sin(x)) == sizeof(float) && sizeof(sin(d)) == sizeof(double), "");
        return sin(x) + sin(i) + pow(x, i) + pow(d, i) + pow(i, x) + atan2(x, d) + fmin(x, i) +
               abs(i) + abs(l) + abs(x) + abs(d) + abs(s) + isnan(x) + isinf(d) + signbit(x) +
               min(x, i) + max(l, i) + fma(x, x, x) + ldexp(x, i) + frexp(x, &i) + __expf(x) +
               rsqrt(x) + erfinv(d) + exp10(x) + sinpi(x) + nextafter(x, d) + hypot(x, i) +
               lround(x) + __float2int_rn(x) + cbrt(l) + std::min(i, 3) + std::sin(x);
    }
    """
    core = "#include <kerneltk/core.hpp>\n"
    build_host(tmp_path, (includes + core if first else core + includes) + body)


def test_cuda_half_types_convert_on_either_side_of_their_header() -> None:
    definition = """
    struct __align__(2) TYPE {
        unsigned short bits;
        __device__ TYPE(float);
        __device__ operator float() const;
        __device__ operator int() const;
    };
    """
    for name, cuda_name in (("float16", "__half"), ("bfloat16", "__nv_bfloat16")):
        theirs = definition.replace("TYPE", cuda_name)
        ours = f"#include <kerneltk/{name}.hpp>\n"
        use = f"__device__ {name} f({name} x, {cuda_name} h) {{\n"
        use += f"x = h; {cuda_name} back(x); return {name}(back); }}\n"
        for source in (theirs + ours, ours + theirs):
            assert compile_cuda(source + use) == (True, "")


# ---- what they cost ----


def read_for(name: str, known: set[str]) -> int:
    """The length of a header, and of those that it includes for GPUs (characters)."""
    path = INCLUDE_DIRECTORY / name
    if name in known or not path.is_file() or path.name.startswith("host"):
        return 0
    known.add(name)
    text = path.read_text()
    return len(text) + sum(read_for(n, known) for n in re.findall(r"#include <([^>]+)>", text))


def test_including_the_headers_is_cheap() -> None:
    """NVRTC reads them for each kernel."""
    for name in ("core", "float16", "bfloat16", "array_view", "divide", "jit_numbers"):
        assert 1_000 < read_for(f"kerneltk/{name}.hpp", set()) < 32_000, name


def test_headers_include_no_other_header() -> None:
    # The stand-ins for vendors' and standard headers include what those do, and headers for CPU
    # cores may include the stand-ins.
    for path in INCLUDE_DIRECTORY.glob("kerneltk/*"):
        for line in path.read_text().splitlines():
            if line.lstrip().startswith("#include"):
                name = line.split("<")[1].split(">")[0]
                if path.name.startswith("host_") and has_header(name, "host"):
                    continue
                assert name.startswith("kerneltk/"), (path.name, line)


if GXX is not None:

    def test_vector_functions_are_called(tmp_path: Path) -> None:
        source = "#include <kerneltk/core.hpp>\n"
        names = ("sin", "cos", "exp", "log")
        for name in names:
            for real in ("float", "double"):
                source += f"""
                extern "C" void {name}_{real}(const {real}* __restrict__ x, {real}* __restrict__ y,
                                              long long n) {{
                    for (long long i = 0; i < n; ++i) y[i] = {name}(x[i]);
                }}"""
        path = tmp_path / "unit.cpp"
        path.write_text(source)
        command = [GXX, *HOST_FLAGS, "-S", "-o", "-", str(path)]
        assembly = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for name in names:
            for suffix in ("", "f"):
                assert (f"v_{name}{suffix}" in assembly) == X86


# ---- the C++ and CUDA mathematical functions on the host ----


def test_cuda_only_functions(tmp_path: Path) -> None:
    names = [
        *("rsqrt", "rcbrt", "exp10", "sinpi", "cospi", "erfinv", "erfcinv", "erfcx"),
        *("normcdf", "normcdfinv", "cyl_bessel_i0", "cyl_bessel_i1"),
    ]
    source = "#include <kerneltk/core.hpp>\n"
    for name in names:
        source += f"""
        extern "C" void {name}_all(const double* x, double* y, float* z, long long n) {{
            for (long long i = 0; i < n; ++i) {{
                y[i] = {name}(x[i]);
                z[i] = {name}f(static_cast<float>(x[i]));
            }}
        }}"""
    library = build_host(tmp_path, source)

    def run(name: str, x: Array) -> Array:
        y, z = np.empty_like(x), np.empty_like(x, np.float32)
        call(getattr(library, f"{name}_all"), x, y, z, x.size)
        exact = x == x.astype(np.float32)
        assert np.allclose(z[exact], y[exact].astype(np.float32), rtol=1e-6, atol=0)
        return y

    x = np.linspace(0.125, 9, 500)
    wide = x.astype(np.longdouble)
    assert ulps(run("rsqrt", x), 1 / np.sqrt(wide)).max() <= 1.5
    assert ulps(run("rcbrt", x), 1 / np.cbrt(wide)).max() <= 5
    assert ulps(run("exp10", x), np.longdouble(10) ** wide).max() <= 4
    turns = np.linspace(-7, 7, 57)
    pi = 4 * np.arctan(np.longdouble(1))
    angle = pi * turns.astype(np.longdouble)
    assert np.abs(run("sinpi", turns) - np.sin(angle)).max() <= 4e-16
    assert np.abs(run("cospi", turns) - np.cos(angle)).max() <= 4e-16
    assert np.array_equal(run("sinpi", np.arange(-4.0, 5.0)), np.zeros(9))
    wholes = np.array([-2.0, -1.0, -0.0, 0.0, 1.0, 2.0])
    assert np.signbit(run("sinpi", wholes)).tolist() == [True] * 3 + [False] * 3
    assert np.array_equal(run("cospi", np.arange(-4.0, 5.0) + 0.5), np.zeros(9))

    def erf_of(function: Any, values: Array) -> Array:
        return np.array([function(value) for value in values])

    for name, inverse, x in (
        ("erfinv", math.erf, np.linspace(-0.999, 0.999, 1001)),
        ("erfcinv", math.erfc, np.concatenate([np.geomspace(1e-300, 1, 500), [1.5, 1.9]])),
    ):
        y = run(name, x)
        # The inverse is as good as its own last bit allows.
        slope = 2 / math.sqrt(math.pi) * np.exp(-(y**2))
        error = np.abs(erf_of(inverse, y) - x)
        assert np.all(error <= 4 * (slope * np.spacing(np.abs(y)) + np.spacing(np.abs(x))))
    assert np.array_equal(run("erfinv", np.array([-1.0, 0.0, 1.0])), [-np.inf, 0, np.inf])
    assert np.allclose(
        run("erfinv", np.array([1e-20, 1e-5])) * 2 / math.sqrt(math.pi), [1e-20, 1e-5]
    )
    assert np.array_equal(run("erfcinv", np.array([0.0, 2.0])), [np.inf, -np.inf])
    p = np.array([1e-10, 0.025, 0.5, 0.975])
    assert np.allclose(run("normcdf", run("normcdfinv", p)), p, rtol=1e-13)
    x = np.array([0.5, 3.0, 20.0])
    expected = [math.exp(v * v) * math.erfc(v) for v in x]
    assert np.allclose(run("erfcx", x), expected, rtol=1e-13)
    # erfcx is continuous where its formula changes, and follows 1 / (x sqrt(pi)) far out.
    below, above = run("erfcx", np.array([np.nextafter(25, 0), 25.0]))
    assert abs(below / above - 1) < 1e-14
    assert np.allclose(run("erfcx", np.array([1e10])) * 1e10 * math.sqrt(math.pi), 1, rtol=1e-14)
    x = np.array([-2.0, 0.0, 0.5, 30.0])
    assert np.allclose(run("cyl_bessel_i0", x), np.i0(x), rtol=1e-14)
    # I1 is the derivative of I0.
    step = 1e-5
    slope = (np.i0(x + step) - np.i0(x - step)) / (2 * step)
    assert np.allclose(run("cyl_bessel_i1", x), slope, rtol=1e-8, atol=1e-10)


# ---- float16 and bfloat16 ----

SMALL_LIBRARY = """
#include <kerneltk/NAME.hpp>
extern "C" {
void to_float(const NAME* x, float* y, long long n) {
    for (long long i = 0; i < n; ++i) y[i] = x[i];
}
void from_double(const double* x, NAME* y, long long n) {
    for (long long i = 0; i < n; ++i) y[i] = x[i];
}
void after(const NAME* x, const NAME* y, NAME* z, long long n) {
    for (long long i = 0; i < n; ++i) z[i] = nextafter(x[i], y[i]);
}
void classes(const NAME* x, unsigned char* y, long long n) {
    for (long long i = 0; i < n; ++i)
        y[i] = isnan(x[i]) | isinf(x[i]) << 1 | isfinite(x[i]) << 2 | signbit(x[i]) << 3 |
               iszero(x[i]) << 4;
}
}
"""
# ml_dtypes sets floating-point flags in operations that NumPy's own types do quietly.
QUIET = np.errstate(over="ignore", invalid="ignore")
SMALL_TYPES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


@pytest.fixture(scope="module", params=list(SMALL_TYPES))
def small(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, once: Any
) -> tuple[ctypes.CDLL, np.dtype[Any]]:
    name: str = request.param
    source = SMALL_LIBRARY.replace("NAME", name)
    library = once.file(source, lambda: host_library(tmp_path_factory.mktemp(name), source))
    return ctypes.CDLL(str(library)), SMALL_TYPES[name]


Small = tuple[ctypes.CDLL, "np.dtype[Any]"]


def every_value(dtype: np.dtype[Any]) -> Array:
    return np.arange(65536, dtype=np.uint16).view(dtype)


def same(x: Array, y: Array) -> bool:
    """Return whether bits are equal, except that any NaN equals any other."""
    nan = np.isnan(x)
    bits = np.uint32 if x.dtype.itemsize == 4 else np.uint16
    return np.array_equal(nan, np.isnan(y)) and np.array_equal(
        x[~nan].view(bits), y[~nan].view(bits)
    )


@QUIET
def test_every_small_float_as_float(small: Small) -> None:
    library, dtype = small
    x = every_value(dtype)
    y = np.empty(x.shape, np.float32)
    call(library.to_float, x, y, x.size)
    assert same(y, x.astype(np.float32))
    classes = np.empty(x.shape, np.uint8)
    call(library.classes, x, classes, x.size)
    sign = x.view(np.uint16) >> 15
    expected = np.isnan(x) | np.isinf(x) << 1 | np.isfinite(x) << 2 | sign << 3 | (x == 0) << 4
    assert np.array_equal(classes, expected)


@QUIET
def test_small_float_rounds_once_and_ties_to_even(small: Small) -> None:
    library, dtype = small
    values = every_value(dtype)[:32768].astype(np.float64)
    largest = int(np.flatnonzero(np.isinf(values))[0])
    # Rounding knows no end of the exponents: infinity stands where the next number would be.
    values[largest] = 2 * values[largest - 1] - values[largest - 2]
    low = np.arange(largest, dtype=np.uint16)
    middle = (values[:largest] + values[1 : largest + 1]) / 2
    for x, expected in (
        (middle, low + low % 2),
        (np.nextafter(middle, 0), low),
        (np.nextafter(middle, np.inf), low + 1),
    ):
        for sign, bit in ((1, 0), (-1, 0x8000)):
            y = np.empty(x.shape, dtype)
            call(library.from_double, sign * x, y, x.size)
            assert np.array_equal(y.view(np.uint16), expected | bit)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-300, -1e-300, 1e300])
    y = np.empty(special.shape, dtype)
    call(library.from_double, special, y, special.size)
    assert np.isnan(y[0])
    assert same(y[1:], special[1:].astype(np.float32).astype(dtype))


@QUIET
def test_small_float_nextafter(small: Small) -> None:
    library, dtype = small
    x = every_value(dtype)
    for target in (np.inf, -np.inf, 0.0, np.nan):
        y = np.full(x.shape, target, dtype)
        z = np.empty_like(x)
        call(library.after, x, y, z, x.size)
        assert np.array_equal(z, np.nextafter(x, y), equal_nan=True)


# ---- complex ----


@pytest.fixture(scope="module")
def complex_library(tmp_path_factory: pytest.TempPathFactory, once: Any) -> ctypes.CDLL:
    source = "#include <kerneltk/complex_circular.hpp>\n"
    for real in ("float", "double"):
        value = f"complex<{real}>"
        for name, expression in (
            *(("multiply", "x[i] * y[i]"), ("divide", "x[i] / y[i]"), ("power", "pow(x[i], y[i])")),
            *(("square", "pow(x[i], 2)"), ("mixed", "2 * x[i] - y[i].real() + x[i] / 4")),
            *(("size", "abs(x[i])"), ("angle", "arg(x[i])"), ("less", "x[i] < y[i]")),
        ):
            source += f"""
            extern "C" void {name}_{real}(const {value}* x, const {value}* y, {value}* z,
                                          long long n) {{
                for (long long i = 0; i < n; ++i) z[i] = {expression};
                static_cast<void>(y);
            }}"""
    library = once.file(source, lambda: host_library(tmp_path_factory.mktemp("complex"), source))
    return ctypes.CDLL(str(library))


COMPLEX_TYPES = [
    pytest.param(np.complex64, "float", id="complex64"),
    pytest.param(np.complex128, "double", id="complex128"),
]


def random_complex(dtype: Any, seed: int, count: int = 20_000) -> Array:
    rng = np.random.default_rng(seed)
    size = rng.choice([0.05, 1.0, 8.0], (2, count))
    x, y = rng.normal(size=(2, count)) * size
    return np.asarray((x + 1j * y).astype(dtype))


@pytest.mark.parametrize(("dtype", "real"), COMPLEX_TYPES)
def test_complex_arithmetic(complex_library: ctypes.CDLL, dtype: Any, real: str) -> None:
    x, y = random_complex(dtype, 5), random_complex(dtype, 6)
    a, b = x.astype(np.clongdouble), y.astype(np.clongdouble)
    for name, expected, bound in (
        ("multiply", a * b, 2),
        ("divide", a / b, 4),
        ("square", a * a, 2),
        ("size", np.abs(a) + 0j, 2),
        ("angle", np.angle(a) + 0j, 4),
        ("less", (x < y) + 0j, 0),
    ):
        z = np.empty_like(x)
        call(getattr(complex_library, f"{name}_{real}"), x, y, z, x.size)
        assert ulps(z, expected.astype(np.clongdouble)).max() <= bound, name
    z = np.empty_like(x)
    call(getattr(complex_library, f"mixed_{real}"), x, y, z, x.size)
    scale = np.abs(x) * 2.25 + np.abs(y)
    assert np.all(np.abs(z - (2 * a - b.real + a / 4)) <= 4 * np.finfo(dtype).eps * scale)
    call(getattr(complex_library, f"power_{real}"), x, y, z, x.size)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = a**b
    # The error of log(x) is multiplied by y.
    usable = np.isfinite(z) & (np.abs(expected) > np.finfo(dtype).tiny)
    bound = np.finfo(dtype).eps * np.abs(expected) * (8 + 8 * np.abs(b * np.log(a)))
    assert usable.mean() > 0.9
    assert np.all(np.abs(z - expected)[usable] <= bound[usable])


# ---- array_view and index_space ----

VIEW_LIBRARY = """
#include <kerneltk/array_view.hpp>
#define GATHER(NAME, NDIM, CONTIGUOUS, INDEX)                                               \\
    extern "C" void flat_##NAME(const void* p, double* y) {                                 \\
        using view = kerneltk::array_view<const double, NDIM, CONTIGUOUS, INDEX>;           \\
        const view x = *static_cast<const view*>(p);                                        \\
        for (ptrdiff_t i = 0; i < x.size(); ++i) y[i] = x[i];                               \\
    }                                                                                       \\
    extern "C" void indexed_##NAME(const void* p, const void* s, double* y) {               \\
        using view = kerneltk::array_view<double, NDIM, CONTIGUOUS, INDEX>;                 \\
        view x = *static_cast<const view*>(p);                                              \\
        auto space = *static_cast<const kerneltk::index_space<NDIM, INDEX>*>(s);            \\
        for (int i = 0; i < space.size(); ++i) {                                            \\
            space.set(i);                                                                   \\
            x[space.get()] += 1;                                                            \\
            const ptrdiff_t* index = space.get();                                           \\
            y[i] = x[index];                                                                \\
        }                                                                                   \\
    }
GATHER(scalar, 0, true, int)
GATHER(line, 1, false, int)
GATHER(narrow, 3, false, int)
GATHER(wide, 3, false, ptrdiff_t)
GATHER(dense, 3, true, ptrdiff_t)
extern "C" void made(double* p, ptrdiff_t* steps, double* y) {
    CArray<double, 3, true> x(p, {7, 6, 10});
    for (int d = 0; d < 3; ++d) steps[d] = x.strides()[d];
    y[0] = x[{1, 2, 3}];
}
static_assert(sizeof(CArray<float, 2>) == 48 && sizeof(CArray<float, 0, true>) == 16, "");
static_assert(__is_trivially_copyable(CArray<float, 2>), "");
"""


def packed(x: Array) -> Array:
    """Return the bytes of the array view of `x`."""
    return np.array([x.ctypes.data, x.size, *x.shape, *x.strides], np.int64)


def test_array_views(tmp_path: Path) -> None:
    library = build_host(tmp_path, VIEW_LIBRARY)
    base = np.arange(7 * 6 * 10.0).reshape(7, 6, 10)
    general = [base, base[::2, ::-1, 1:9:3], base.transpose(2, 0, 1), base[::-1, 2:3, ::-2]]
    cases: list[tuple[str, Array]] = [("scalar", np.array(3.0)), ("line", np.arange(9.0)[::-2])]
    cases += [(name, x) for name in ("narrow", "wide") for x in general]
    cases += [("dense", base), ("line", np.empty(0))]
    for name, x in cases:
        y = np.zeros(max(x.size, 1))
        call(getattr(library, f"flat_{name}"), packed(x), y)
        assert np.array_equal(y[: x.size], x.ravel())
        space = np.array([x.size, *x.shape, *([0] * x.ndim)], np.int64)
        before = x.copy()
        call(getattr(library, f"indexed_{name}"), packed(x), space, y)
        assert np.array_equal(x, before + 1)
        assert np.array_equal(y[: x.size], x.ravel())
    steps, y = np.zeros(3, np.int64), np.zeros(1)
    call(library.made, base, steps, y)
    assert (*steps, y[0]) == (*base.strides, base[1, 2, 3])
    repeated = np.lib.stride_tricks.as_strided(np.arange(4.0), (3, 4, 2), (0, 8, 0))
    y = np.zeros(repeated.size)
    call(library.flat_narrow, packed(repeated), y)
    assert np.array_equal(y, repeated.ravel())


@pytest.mark.parametrize(("index", "message"), [
    ("i", "The index must have one integer for each dimension."),
    ("{k}", "The index must have one integer for each dimension."),
    ("{k, 1u, 2ll}", "The index must have one integer for each dimension."),
    ("{k, 1.5}", "The indices must be integers."),
    ("{1.5f, 0.5f}", "The indices must be integers."),
])  # fmt: skip
def test_a_wrong_index_is_refused(index: str, message: str) -> None:
    source = "#include <kerneltk/array_view.hpp>\n"
    source += "__device__ float f(CArray<float, 2>& x, int k) {\n"
    source += f"    int i[3] = {{}}; (void)i; return x[{index}];\n}}\n"
    worked, log = compile_cuda(source)
    assert not worked
    assert message in log


# ---- division ----


@pytest.mark.parametrize(("bits", "unsigned"), [(32, np.uint32), (64, np.uint64)])
def test_fast_division(bits: int, unsigned: Any, tmp_path: Path) -> None:
    number = "unsigned int" if bits == 32 else "unsigned long long"
    source = f"""
    #include <kerneltk/divide.hpp>
    static_assert(sizeof(kerneltk::fast_divisor{bits}) == {12 if bits == 32 else 24}, "");
    extern "C" void divide({number} d, {number} m, {number} s, const {number}* n, {number}* q,
                           {number}* r, long long count) {{
        kerneltk::fast_divisor{bits} by{{}};
        by.divisor = d, by.multiplier = m, by.shift = static_cast<unsigned>(s);
        for (long long i = 0; i < count; ++i) {{
            r[i] = n[i];
            q[i] = by.divmod(r[i]);
        }}
    }}
    """
    library = build_host(tmp_path, source)
    top = 2 ** (bits - 1)
    powers = [2**k for k in range(bits - 1)]
    divisors = {*range(1, 300), *powers, *(p + 1 for p in powers), *(p - 1 for p in powers)}
    rng = np.random.default_rng(7)
    divisors |= set(rng.integers(1, top, 200).tolist())
    random = rng.integers(0, top, 200).tolist()
    for d in sorted(divisors - {0}):
        if d >= top:
            continue
        shift = (d - 1).bit_length()
        multiplier = (2**bits * (2**shift - d)) // d + 1
        edges = {k * d + o for k in (0, 1, 2, 3, top // d - 1, top // d) for o in (-1, 0, 1)}
        edges |= {top - 1, top - 2, *random}
        n = np.array(sorted(v for v in edges if 0 <= v < top), unsigned)
        q, r = np.empty_like(n), np.empty_like(n)
        call(library.divide, d, multiplier - (multiplier >> 63 << 64), shift, n, q, r, n.size)
        assert np.array_equal(q, n // unsigned(d))
        assert np.array_equal(r, n % unsigned(d))
