"""RawKernel, RawModule and load as their users meet them."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CompileError,
    LaunchError,
    NoSuchKernelError,
)

AXPY = r"""
/* y becomes a x + y. */
extern "C" __global__ void axpy(int n, float a, const float* __restrict__ x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""

MODULE = r"""
__constant__ float weights[2][3];
__device__ int hits;
namespace shapes {
template <class T, int N>
__global__ void scale(T* x) { x[threadIdx.x] *= N; }
__global__ void count() { atomicAdd(&hits, 1); }
}
extern "C" __global__ void weigh(float* y) {
    y[threadIdx.x] = weights[threadIdx.x / 3][threadIdx.x % 3];
}
"""


def axpy(n: int = 100) -> tuple[kerneltk.RawKernel, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return (
        kerneltk.RawKernel(AXPY, "axpy"),
        np.arange(n, dtype=np.float32),
        np.ones(n, np.float32),
    )


@pytest.mark.parametrize(
    ("grid", "block"), [(4, 32), ((4,), (32,)), ((4, 1), (32, 1, 1)), ([4], [32])]
)
def test_grids_are_ints_or_tuples(grid: Any, block: Any) -> None:
    kernel, x, y = axpy()
    kernel(grid, block, (np.int32(100), np.float32(2), x, y))
    kernel(grid, block, (100, 2.0, x, y), shared_mem=16, stream=None)
    np.testing.assert_array_equal(y, 4 * x + 1)


def test_no_threads_are_no_launch() -> None:
    kernel, x, y = axpy()
    for block in (None, 32):
        kernel.over(0, block)(100, 2.0, x, y)
        kernel.over((4, 0), block)(100, 2.0, x, y)
        np.testing.assert_array_equal(y, 1)


def test_other_ways_to_say_the_grid() -> None:
    kernel, x, y = axpy()
    kernel[4, 32](100, 2, x, y)
    kernel.over(100)(100, 2, x, y)
    kernel.over(100, 32)(100, 2, x, y)
    np.testing.assert_array_equal(y, 6 * x + 1)


ANY = r"""
#include <cuda_fp16.h>
__global__ void any(const void* a, const char* b, const unsigned char* c, const int* d,
                    const float4* e, const float2* f, const __half* g, int* out) {
    out[0] = a != b && c && d && e && f && g;
}
"""


def test_what_people_rely_on_stays_legal() -> None:
    kernel = kerneltk.RawKernel(ANY, "any")
    doubles, letters = np.zeros(4), np.zeros(4, np.int8)
    words = (np.zeros(4, np.uint32), np.zeros(4, np.int32))
    pairs = (np.zeros(4, np.complex64), np.zeros((4, 2), np.float32))
    for word in words:
        for pair in pairs:
            out = np.zeros(1, np.uint32)
            kernel(1, 1, (doubles, letters, word.view(np.uint8), word,
                          np.zeros((4, 4), np.float32, order="F"),
                          pair, np.zeros(4, np.float16), out))  # fmt: skip
            assert out[0] == 1
    kernel(1, 1, (None, None, None, None, None, None, None, out))


def test_arrays_that_do_not_fit() -> None:
    kernel, x, y = axpy()
    cases: list[tuple[tuple[Any, ...], type[Exception], str]] = [
        ((100, 1, x), ArgumentTypeError, "takes 4 arguments, and 3 were given: 'y' is missing"),
        ((100, 1, x, y, y), ArgumentTypeError, "takes 4 arguments, and 5 were given"),
        ((100, 1, x.astype(np.float64), y), ArgumentTypeError, "'x' .*points to 'float'"),
        ((100, 1, x.astype(np.int32), y), ArgumentTypeError, "dtype 'int32'"),
        ((100, 1, x.astype(">f4"), y), ArgumentTypeError, "byte order"),
        ((100, 1, x[::2], y), ArgumentValueError, "has gaps"),
        ((100, 1, x[::-1], y), ArgumentValueError, "has gaps"),
        ((x, 1, x, y), ArgumentTypeError, "'n' .*type 'ndarray' was given"),
        ((100, 1, 5, y), ArgumentTypeError, "is a pointer, and the number 5"),
        ((100, 1, 2.5, y), ArgumentTypeError, "is a pointer"),
        ((100, 1, "x", y), ArgumentTypeError, "is a pointer"),
        ((100, 1, [1.0], y), ArgumentTypeError, "is a pointer"),
    ]
    for args, error, text in cases:
        with pytest.raises(error, match=text):
            kernel(1, 32, args)
    frozen = y.copy()
    frozen.flags.writeable = False
    with pytest.raises(ArgumentValueError, match="read-only"):
        kernel(1, 32, (100, 1, x, frozen))
    kernel(1, 32, (0, 1, frozen, y))  # the pointer is const
    np.testing.assert_array_equal(y, 1)
    kernel(1, 32, (10, 1, x[::2], y), checks=False)
    np.testing.assert_array_equal(y[:10], x[:10] + 1)
    unchecked = kerneltk.RawKernel(AXPY, "axpy", checks=False)
    unchecked(1, 32, (10, 1, x[::2], y))


def test_a_module_has_kernels_and_variables() -> None:
    # Kernels with C linkage need not be named.
    module = kerneltk.RawModule(code=MODULE, name_expressions=["shapes::scale<int, 3>"])
    x = np.arange(4, dtype=np.int32)
    module.get_function("shapes::scale<int, 3>")((1,), (4,), (x,))
    np.testing.assert_array_equal(x, [0, 3, 6, 9])
    weights = module.get_array("weights", backend="host")
    assert weights.shape == (2, 3)
    assert weights.dtype == np.float32
    weights[...] = np.arange(6).reshape(2, 3)
    y = np.zeros(6, np.float32)
    module.get_function("weigh")(1, 6, (y,))
    np.testing.assert_array_equal(y, np.arange(6))
    with pytest.raises(ArgumentValueError, match=r"no variable 'nothing'.*\n.*'weights', 'hits'"):
        module.get_array("nothing", backend="host")


def test_a_module_offers_all_its_kernels() -> None:
    module = kerneltk.RawModule(code=MODULE)
    assert module.kernels == ("shapes::count", "weigh")
    module.get_function("shapes::count")(3, 7, (), backend="host")
    assert module.get_array("hits", backend="host") == 21
    with pytest.raises(ArgumentValueError, match="template of <class T, int N>"):
        module.get_function("shapes::scale")
    with pytest.raises(ArgumentValueError, match="did you mean 'weigh'"):
        module.get_function("weight")


def test_pickled_modules_work() -> None:
    module = pickle.loads(pickle.dumps(kerneltk.RawModule(code=MODULE)))
    assert "weigh" in module.kernels


def test_attributes_of_the_constructor() -> None:
    kernel = kerneltk.RawKernel(AXPY, "axpy", ("-DN=4",), "nvcc", translate_cucomplex=True)
    assert (kernel.code, kernel.name, kernel.options) == (AXPY, "axpy", ("-DN=4",))
    assert (kernel.backend, kernel.file_path) == ("nvcc", None)
    assert kernel.translate_cucomplex
    assert not kernel.enable_cooperative_groups
    assert kernel.signature == ("axpy(int n, float a, const float* __restrict__ x, float* y)")
    assert kernel.comment == "y becomes a x + y."


TRANSLATED = """
#include <cuComplex.h>
extern "C" __global__ void f(cuComplex* z, cuDoubleComplex w, cuComplex* y, double* r) {
    cuFloatComplex a = make_cuComplex(cuCrealf(z[0]), -cuCimagf(z[0]));
    y[0] = cuCadd(z[0], z[1]) * cuConjf(a) + 1.0f;
    y[1] = cuCfmaf(z[0], z[1], a);
    y[2] = cuComplexDoubleToFloat(cuCdiv(w, cuCsub(cuComplexFloatToDouble(z[1]), w)));
    y[3] = cuCmulf(make_cuFloatComplex(0, 1), z[0]);
    r[0] = cuCabs(w) + cuCreal(w) + cuCimag(w);
}
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("standard", ["c++11", "c++17"])
def test_cucomplex_by_complex_numbers_with_operators(standard: str) -> None:
    module = kerneltk.RawModule(
        code=TRANSLATED, options=(f"-std={standard}",), translate_cucomplex=True
    )
    z, w = np.array([1 + 2j, 3 - 1j], np.complex64), 2 + 1j
    y, r = np.zeros(4, np.complex64), np.zeros(1)
    module.get_function("f")((1,), (1,), (z, w, y, r))
    wanted = [(z[0] + z[1]) * z[0] + 1, z[0] * z[1] + z[0].conj(), w / (z[1] - w), 1j * z[0]]
    np.testing.assert_allclose(y, wanted, rtol=1e-6)
    np.testing.assert_allclose(r, abs(w) + 3)
    kernel = kerneltk.RawKernel(TRANSLATED, "f", (f"-std={standard}",), translate_cucomplex=True)
    assert kernel.compile_for("sm_90").code
    with pytest.raises(CompileError, match="cuComplex"):
        kerneltk.RawKernel(TRANSLATED, "f").compile_for("sm_90")


def test_quotients_of_cucomplex_are_cudas_to_the_bit() -> None:
    """``cuCdiv`` is scaled by the sum of the divisor's parts, the operator by the larger one."""
    code = """#include <cuComplex.h>
extern "C" __global__ void f(const cuComplex* x, const cuComplex* y, cuComplex* z) {
    z[threadIdx.x] = cuCdivf(x[threadIdx.x], y[threadIdx.x]);
}
"""
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((2, 1000, 2), np.float32)
    z = np.zeros(1000, np.complex64)
    own = np.zeros_like(z)
    for found, translate in ((z, True), (own, False)):
        kernel = kerneltk.RawKernel(code, "f", translate_cucomplex=translate)
        kernel((1,), (1000,), (x.view("c8")[:, 0], y.view("c8")[:, 0], found))
    np.testing.assert_array_equal(z, own)
    assert (z != x.view("c8")[:, 0] / y.view("c8")[:, 0]).any()


def test_constructors_refuse_nonsense() -> None:
    with pytest.raises(ArgumentTypeError):
        kerneltk.RawModule()
    with pytest.raises(ArgumentTypeError):
        kerneltk.RawModule(code="", path="x.cubin")
    with pytest.raises(ArgumentTypeError):
        kerneltk.RawKernel(AXPY, "axpy", "-DN=4")
    with pytest.raises(ArgumentValueError, match="nvrtc"):
        kerneltk.RawKernel(AXPY, "axpy", (), "gcc")
    with pytest.raises(ArgumentTypeError):
        kerneltk.RawModule(code=MODULE, name_expressions="weigh")


def test_the_log_is_written_whatever_the_cache_has() -> None:
    code = 'extern "C" __global__ void f(float* x) { *x = 1; }'
    for _ in range(2):
        module = kerneltk.RawModule(code=code, options=("-Xptxas=-v",))
        for made in (module, module.get_function("f")):
            stream = io.StringIO()
            made.compile(stream, backend="host")
            expected = "debug: the option '-Xptxas=-v' does nothing on CPU cores\n"
            assert stream.getvalue() == expected


def test_object_code_without_a_device() -> None:
    kernel = kerneltk.RawKernel(AXPY, "axpy")
    cubin = kernel.compile_for("sm_90")
    assert cubin.kind == "cubin"
    assert dict(cubin.symbols) == {"axpy": "axpy"}
    assert b".entry axpy" in kernel.compile_for("compute_80").code
    assert kernel.compile_for("lto_90").kind == "ltoir"
    assert kernel.compile_for("host").kind == "shared-library"
    module = kerneltk.RawModule(code=MODULE, name_expressions=["shapes::scale<float, 2>"])
    symbols = dict(module.compile_for("sm_75").symbols)
    assert symbols["shapes::scale<float, 2>"].startswith("_ZN6shapes5scale")
    assert symbols["&weights"] == "weights"


# -- files ----------------------------------------------------------------------------------------

FILE = r"""
#include <cstdio>
#include "lib/twice.cuh"
// Doubles x, in place.
__global__ void twice(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = times_two(x[i]);
}
namespace deep {
template <class T> __global__ void fill(T* x, T value) { x[threadIdx.x] = value; }
}
int main() {
    float* x; cudaMalloc(&x, 4);
    twice<<<1, 1>>>(x, 1);
    printf("done\n");
    return 0;
}
"""


@pytest.fixture
def cu_file(tmp_path: Path) -> Path:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "twice.cuh").write_text(
        "#pragma once\n__device__ inline float times_two(float x) { return 2 * x; }\n"
    )
    path = tmp_path / "twice.cu"
    path.write_text(FILE)
    return path


def test_a_file_with_host_code(cu_file: Path) -> None:
    module = kerneltk.load(cu_file)
    x = np.arange(5, dtype=np.float32)
    module.twice(1, 8, (x, 5))
    np.testing.assert_array_equal(x, 2 * np.arange(5))
    assert module.kernels == ("twice",)
    assert "twice" in dir(module)
    assert "fill" in dir(module)
    assert "Doubles x, in place." in module.twice.__doc__
    assert "twice(float* x, int n)" in module.twice.__doc__
    assert module.compile_for("sm_80").kind == "cubin"
    with pytest.raises(NoSuchKernelError, match="did you mean 'twice'"):
        _ = module.twise


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ArgumentValueError, match=r"nothing.cu' cannot be read"):
        kerneltk.load(tmp_path / "nothing.cu")
    with pytest.raises(FileNotFoundError):
        kerneltk.load(tmp_path / "nothing.cu")
    (tmp_path / "x.cubin").write_text("hello")
    with pytest.raises(ArgumentValueError, match="neither PTX nor a cubin"):
        kerneltk.RawModule(path=tmp_path / "x.cubin")


def test_a_compiled_module_needs_a_gpu(tmp_path: Path) -> None:
    path = tmp_path / "axpy.cubin"
    path.write_bytes(kerneltk.RawKernel(AXPY, "axpy").compile_for("sm_90").code)
    kernel = kerneltk.RawModule(path=path).get_function("axpy")
    with pytest.raises(kerneltk.BackendUnavailableError, match="compiled for GPUs"):
        kernel(1, 1, (1, 1.0, np.zeros(1, np.float32), np.zeros(1, np.float32)))


def test_what_fails_on_the_host_is_said() -> None:
    code = r"""
    __global__ void fail(int* x, int how) {
        if (how == 0) assert(x[0] == 1);
        if (how == 1) x[1] = x[1] / x[0];
        if (how == 2) *(volatile int*)8 = 1;
        if (how == 3) __trap();
        if (threadIdx.x < 3) __syncthreads();
    }
    """
    kernel = kerneltk.RawKernel(code, "fail")
    x = np.zeros(2, np.int32)
    for how, text in ((0, r"assert.*x\[0\] == 1"), (2, "address 0x8"), (3, "trap"), (4, "left")):
        with pytest.raises(LaunchError, match=text) as caught:
            kernel(2, 8, (x, how))
        assert "'fail'" in str(caught.value)
        assert "block (" in str(caught.value)
    with pytest.raises(ZeroDivisionError):
        kernel(1, 8, (x, 1))
    kernel(1, 8, (x, 4), exited_arrive=True)
    kerneltk.RawKernel(code, "fail", exited_threads="arrive")(1, 8, (x, 4))


def test_templates_say_how_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "t.cu").write_text(
        "// Fill x.\ntemplate <class T, int N, bool B = true>\n"
        "__global__ void fill(T* x) { *x = N; }"
    )
    template = kerneltk.load(tmp_path / "t.cu").fill
    assert "Fill x." in template.__doc__
    with pytest.raises(ArgumentTypeError, match=r"fill\['float', 4\]\(\.\.\.\)"):
        template(1, 1, ())
    (tmp_path / "u.cu").write_text(
        "template <bool B, unsigned int N, float (*F)(float)> __global__ void fill(float* x) {}"
    )
    with pytest.raises(ArgumentTypeError, match=r"fill\['true', 4, \.\.\.\]\(\.\.\.\)"):
        kerneltk.load(tmp_path / "u.cu").fill(1, 1, ())


@pytest.mark.parametrize("target", ["host", "sm_90"])
def test_a_template_s_dynamic_shared_memory_of_several_types(target: str) -> None:
    source = """template <class T> __global__ void g(T* x) {
        extern __shared__ T s[]; s[0] = x[0]; x[0] = s[0]; }"""
    module = kerneltk.RawModule(code=source, name_expressions=["g<float>", "g<double>"])
    with pytest.raises(CompileError, match=r"declare bytes and cast.*T\* s = reinterpret_cast"):
        module.compile_for(target)
