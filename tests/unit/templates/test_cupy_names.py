"""Every name that the headers of CuPy 14 declare for kernels, in all front-ends that take C++."""

from __future__ import annotations

import re

import numpy as np
import pytest

from kerneltk import ArraySpec, ElementwiseKernel, RawKernel, ReductionKernel
from kerneltk.core.artifacts import cupy_include_directory
from tests.sampling import but_for

from ...processes import python

STD = re.findall(
    r"\S+",
    """add_const<int> add_cv<int> add_lvalue_reference<int> add_volatile<int> alignment_of<int>
conditional<true,int,float> enable_if<true> false_type integral_constant<int,3> is_array<int>
is_base_of<std::true_type,int> is_convertible<int,float> is_enum<int> is_floating_point<T>
is_function<int> is_integral<int> is_lvalue_reference<int> is_same<int,T> is_signed<int>
is_pointer<int> is_unsigned<int> is_volatile<int> make_signed<int> make_unsigned<int> remove_cv<int>
remove_reference<int> remove_pointer<int> result_of<T(*())()> true_type numeric_limits<T>
index_sequence<1> integer_sequence<int,1> make_index_sequence<3> make_integer_sequence<int,3>
pair<int,float> tuple<int,float>""",
)

# Statements by the name that brings what they use: none stands beside another group's. They read
# x of the type T, float, and write y.
GROUPS = {
    "": """
        y = M_PI + INFINITY + NAN; y = pow(2, 3) + pow(x, 3) + pow(2u, 3u) + sqrt(3);
        y = _floor_divide(3, 2) + _floor_divide(3u, 2u) + _floor_divide(3ll, 2ll);
        y = _floor_divide(3ull, 2ull) + _floor_divide(x, x) + _floor_divide(2.0, 1.0);
    """,
    "float_limits": """
        y = FLT_MIN + FLT_MAX + FLT_EPSILON + FLT_MAX_EXP + FLT_MANT_DIG;
        y = DBL_MIN + DBL_MAX + DBL_EPSILON + DBL_MAX_EXP + DBL_MANT_DIG;
    """,
    "CUDART_": "y = CUDART_INF_F; y = CUDART_INF; y = CUDART_NAN_F; y = CUDART_NAN;",
    "initializer_list": "std::initializer_list<int> l = {1, 2}; y = *l.begin() + l.size();",
    "vectors": "float2 f = make_float2(x, 2); y = f.x; dim3 d(1, 2); y = d.x; uchar4 u = {1, 2};",
    "cupy": """
        typename cupy::type_traits::conditional<true, T, double>::type a = x;
        typename cupy::type_traits::enable_if<true, T>::type b = x;
        static_assert(!cupy::type_traits::is_same<T, int>::value, "");
    """,
    "CArrayIterator": """
        T v[4]; CArrayIterator<T, int> it(v, 1); *it = x; ++it; it++; --it; it--; it += 1; it -= 1;
        it = it + 1; it = it - 1; ptrdiff_t d = it - it; it[0] = x; y = *it.operator->();
        bool e = it == it || it != it || it < it || it > it || it <= it || it >= it;
    """,
    "CArray": """
        T v[4]; ptrdiff_t s[2] = {2, 2}, t[2] = {8, 4}; int k[2] = {0, 1}, m = 1;
        CArray<T, 2> a(v, {2, 2}, {8, 4}); a[3] = x; a[{m, 1ll}] = x; y = a[k]; y = a[s];
        CArray<T, 2, true> b(v, k); CArray<T, 2, true> c(v, s); CArray<T, 2> d(v, s, t);
        CArray<T, 1, true, true> e(v, {4}); CArray<T, 2> f; CArray<T, 0, true> z(v), w(v, s, t), q;
        y = a.size() + a.shape()[0] + a.strides()[1] + a.ndim + a.c_contiguous + z[{}] + z[0];
        CArray<T, 1, true>::iterator it = nullptr; CArray<T, 1>::index_t j = 0; const auto g = a;
        CArray<T, 1>::iterator* p = nullptr; y = g[{1, 1}];
        CIndexer<2> h({2, 2}); CIndexer<2> r = {2, 2}; CIndexer<2> l(s); CIndexer<2> n2(s, s);
        h.set(1); y = h.get()[1] + h.size();
        CIndexer<3> o({1, 2, 3}, {0, 1, 1}); CIndexer<0> i0, i1(1), i2({}), i3({}, {}); i0.set(0);
    """,
    "atomics": """
        {double d = 1; atomicAdd(&d, 1.0); atomicMax(&d, 1.0); atomicMin(&d, 1.0);}
        {float d = 1; atomicAdd(&d, 1.f); atomicMax(&d, 1.f); atomicMin(&d, 1.f);}
        {long long d = 1; atomicAdd(&d, 1ll);}
    """,
    "float16": """
        float16 h, a(x), b(2), c(2.0), d(true), e(3u), f(3ll), g(3ull); h = x; h = 2; h = 3ull;
        h += x; h -= 1; h *= h; h /= h; y = h + h; y = h; bool l = h < h || h == h; h = -h;
        h = float16::from_bits(h.to_bits()); unsigned short u = float16::nan; atomicAdd(&h, a);
        y = h.iszero() + h.isnan() + h.isinf() + h.isfinite() + h.signbit();
        y = iszero(h) + isnan(h) + isinf(h) + isfinite(h) + signbit(h); h = copysign(h, h);
        h = nextafter(h, h); h = min(h, h); h = max(h, h); h = fmin(h, h); h = fmax(h, h);
    """,
    "half": """
        half h = half(1.5f); float16 f(h); y = float(h); __half_raw r = h; float16 g(r);
    """,
    "bfloat16": """
        bfloat16 h, a(x), b(2), c(2.0), d(true), e(3u), f(3ll), g(3ull); h = x; h = 2; h = 3ull;
        h = bfloat16::from_bits(h.to_bits()); y = h.iszero() + h.isnan() + h.isinf() + h.isfinite();
        y = iszero(h) + isnan(h) + isinf(h) + isfinite(h) + signbit(h); h = nextafter(h, h);
        h = min(h, h); h = max(h, h); h = fmin(h, h); h = fmax(h, h); h = _floor_divide(h, h);
    """,
    "__nv_bfloat16": "__nv_bfloat16 n = __float2bfloat16(x); bfloat16 h(n); y = float(h);",
    "complex": """
        complex<T> z(x, 2), v, e(x); thrust::complex<double> w(1, x); w = z; z = w; z = x;
        complex<T>::value_type a = z.real() + z.imag(); z.real(a); z.imag(a); z = +z; z = -z;
        z += z; z -= x; z *= z; z /= z; z = z + z * x - x / z; z = z + 2 * x; z = x + z - z * z / z;
        bool l = z == z || z != z || z == x || x == z || z != x || x != z;
        y = abs(z) + arg(z) + norm(z) + real(z) + imag(z); z = conj(z); z = proj(z);
        z = thrust::polar(x, x); z = thrust::polar(x); z = thrust::proj(x); z = rint(z);
        z = exp(z); z = log(z); z = log10(z); z = sqrt(z); z = log1p(z); z = log2(z); z = expm1(z);
        z = pow(z, z); z = pow(z, x); z = pow(x, z); w = pow(z, w); w = pow(w, z); w = pow(z, 2.0);
        w = pow(2.0, z); z = pow(z, 2); z = sin(z); z = cos(z); z = tan(z); z = sinh(z);
        z = cosh(z); z = tanh(z); z = asin(z); z = acos(z); z = atan(z); z = asinh(z); z = acosh(z);
        z = atanh(z); l = isnan(z) || isinf(z) || isfinite(z); z = min(z, z); z = max(z, z);
        y = thrust::abs(z) + thrust::norm(z); z = thrust::exp(thrust::sqrt(thrust::pow(z, x)));
        z = thrust::sin(thrust::acosh(thrust::log10(thrust::conj(z))));
    """,
    "#cuda_workaround.h": "".join(f"{{using A = std::{name};}}\n" for name in STD)
    + "using B = decltype(std::declval<int>()); auto p = std::make_pair(1, x);"
    + "auto t = std::make_tuple(1, x); y = std::get<1>(p) + std::get<1>(t);",
    "#structview.cuh": """
        using S = cupy::StructView<cupy::raw_structview_storage<8, 4>, cupy::Field<float, 0>,
                                   cupy::Field<int, 4>>;
        S s; s.at<0>() = x; s.at<1>() = 2; S t(s); t = s; y = t.at<0>(); s = 3; bool b = s != t;
        static_assert(cupy::is_struct_view<S>::value && !cupy::is_struct_view<T>::value, "");
    """,
    "#unstructured_void.cuh": """
        cupy::UnstructuredVoid<4> u, v(x); u = x; bool b = u == v || u != v; y = u.data[0];
    """,
}  # fmt: skip
# In shared memory of GPUs.
VOLATILE = "volatile complex<T> o; o.real(x); o.imag(x); y = o.real() + o.imag();"
# Of the grid's threads, which expressions have on a GPU only.
THREADS = "CUPY_FOR(k, 3) { y = k; }"
HEADERS = (
    "carray.cuh", "complex.cuh", "float16.cuh", "bfloat16.cuh", "atomics.cuh", "math_constants.h",
    "cuda_workaround.h", "structview.cuh", "unstructured_void.cuh",
)  # fmt: skip
SPEC = ArraySpec.make("float32", (4,))
TARGETS = ("host", pytest.param("sm_75", marks=pytest.mark.exhaustive), "sm_90")


def quick(target: str) -> tuple[str, ...]:
    """The options that leave one long function of all names unoptimized."""
    return () if target == "host" else ("--Ofast-compile=max",)


def preamble(group: str) -> str:
    return f"#include <cupy/{group[1:]}>" if group.startswith("#") else ""


# On CPU cores all of them run in one raw kernel, and are compiled in one reduction.
@pytest.mark.one_in(4)
@pytest.mark.parametrize("target", but_for(("sm_90", "host", "sm_75"), "host", "sm_75"))
@pytest.mark.parametrize("group", GROUPS)
def test_in_elementwise_kernels(group: str, target: str) -> None:
    body = GROUPS[group] + VOLATILE * (group == "complex" and target != "host") + "\ny = x;"
    kernel = ElementwiseKernel(
        "T x", "T y", body, "named", preamble=preamble(group), options=quick(target)
    )
    kernel.compile(SPEC, target=target)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", TARGETS)
def test_in_reduction_kernels(target: str) -> None:
    body = "const T x = a;" + "".join(f"{{{body}}}\n" for body in GROUPS.values())
    included = "\n".join(map(preamble, GROUPS))
    kernel = ReductionKernel(
        "T v", "T y", "v", "a + b", body, "0", "named", preamble=included, options=quick(target)
    )
    kernel.compile(SPEC, target=target)


@pytest.mark.exhaustive
def test_in_raw_kernels() -> None:
    parts = [*GROUPS.values(), THREADS]
    functions = "".join(
        f"__device__ void part{i}(const float x, float& y) {{ {body} }}\n"
        for i, body in enumerate(parts)
    )
    calls = "".join(f"part{i}(x, *y);" for i in range(len(parts)))
    source = "".join(f"#include <cupy/{header}>\n" for header in HEADERS) + (
        f"typedef float T;\n{functions}"
        f'extern "C" __global__ void f(float x, float* y) {{ {calls} }}'
    )
    RawKernel(source, "f", options=quick("sm_75")).compile_for("sm_75")
    result = np.zeros(1, np.float32)
    RawKernel(source, "f")((1,), (1,), (np.float32(3), result))
    assert result == 2


def test_threads_in_expressions_on_gpus() -> None:
    ElementwiseKernel("T x", "T y", THREADS, "threads").compile(SPEC, target="sm_90")


@pytest.mark.exhaustive
@pytest.mark.skipif(not cupy_include_directory(), reason="CuPy is not installed")
def test_kernels_of_cupyx_compile() -> None:
    """Those that its modules make at their import, with kerneltk's classes in place of CuPy's."""
    done = python("-m", "tests.unit.cupyx_kernels")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 90


# A macro for CuPy's own build; what CUPY_JIT_MODE and HIP have; members and parts of other names.
OTHERS = re.findall(
    r"\w+",
    """STD Dim as_tuple as_tuple_impl ChildClass Indexed IndexedTuple FieldAtImpl type_at_index
eq_nonan StructView FieldAt OTHER index_t _set _log2 compare_eq compare_eq_impl assign assign_impl
assign_broadcast assign_broadcast_impl get_shape get_strides _indexing _slicing begin end begin_ptr
end_ptr type call reference pointer iterator_category difference_type half alignas F""",
)
DECLARED = re.compile(
    r"(?:\bclass|\bstruct(?: __align__\(sizeof\(T\)\*2\))?|\busing [\w:]*::) ?(\w+)"
    r"|__device__ [\w:<>&* ]*?(\w+)\s*\("
)

MACROS = re.compile(r"^#\s*define ((?:CUPY_F|CUDART|M_|FLT_|DBL_)\w+)", re.MULTILINE)


@pytest.mark.skipif(not cupy_include_directory(), reason="CuPy is not installed")
def test_no_name_is_missing() -> None:
    """The groups have every name that CuPy's own headers declare."""
    words = set(re.findall(r"\w+", "".join([*GROUPS.values(), THREADS])))
    (directory,) = cupy_include_directory()
    missing = set()
    for header in (*HEADERS, "complex/complex.h", "complex/math_private.h"):
        source = (directory / "cupy" / header).read_text()
        source = re.sub(r"//.*|/\*[\s\S]*?\*/", "", source)
        declared = () if "private" in header else DECLARED.findall(source)
        names = {name for found in declared for name in found if name}
        names |= set(MACROS.findall(source))
        missing |= names - words - set(OTHERS)
    assert not {name for name in missing if not name.startswith("_select")}
