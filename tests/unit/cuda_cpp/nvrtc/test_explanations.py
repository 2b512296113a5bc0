"""What errors of compilers mean for who wrote the source."""

from __future__ import annotations

from pathlib import Path

import pytest

import kerneltk
from kerneltk.errors import CompileError


def message_of(path: Path, code: str, target: str = "sm_90") -> str:
    path.write_text(code)
    with pytest.raises(CompileError) as error:
        kerneltk.load(path).compile_for(target)
    return str(error.value)


ABSENT = '#include "absent.h"\n__global__ void f(int* x) {}\n'
NO_ABSENT = (
    "'e.cu' includes 'absent.h': cannot open source file.\n"
    '  e.cu:1: #include "absent.h"\n'
    "          ^^^^^^^^^^^^^^^^^^^\n"
    "  Hint: name the directory that has it: options=('-I...',). If only the host's part of "
    'the file needs it, backend="nvcc" compiles that part as well.'
)
MUCH_SHARED = (
    "__global__ void f(float* x) {\n    __shared__ float s[16384];\n"
    "    s[threadIdx.x] = x[0]; __syncthreads(); x[1] = s[3];\n}\n"
)


@pytest.mark.parametrize(("code", "target", "said"), [
    ("texture<float, 1, cudaReadModeElementType> image;\n"
     "__global__ void f(float* x) { x[0] = tex1Dfetch(image, 0); }\n", "sm_90", [
        "'e.cu' does not compile: CUDA 12 removed texture references.\n"
        "  e.cu:1: texture<float, 1, cudaReadModeElementType> image;\n"
        "          ^^^^^^^\n"
        "  Hint: declare a parameter 'cudaTextureObject_t tex' instead, and read it by a function "
        "with the type of its elements: 'tex1Dfetch<float>(tex, i)'."]),
    ("#define DOWN(x) __shfl_down(x, 1)\n__global__ void f(int* x) { x[0] = DOWN(x[1]); }\n",
     "sm_90", ["GPUs since Volta have no '__shfl_down'.\n  e.cu:1: #define DOWN(x) __shfl",
               "Hint: write '__shfl_down_sync', with the mask of the lanes that take part"]),
    # Other errors of such a source stay.
    ("void g() { __shfl(1, 2); cudaFree(0); }\n__global__ void f(int* x) { x[0] = y; }\n", "sm_90",
     ['identifier "y" is undefined']),
    (ABSENT, "sm_90", [NO_ABSENT]), (ABSENT, "host", [NO_ABSENT]),
    ("#include <cub/absent.cuh>\n__global__ void f(cub::X* x) {}\n", "sm_90",
     ["install 'nvidia-cuda-cccl' for your version of CUDA"]),
    ("#include <thrust/device_ptr.h>\n"
     "__global__ void f(int* x) { thrust::device_ptr<int> p(x); p[0] = 1; }\n", "sm_90",
     ["Hint: NVRTC compiles", 'backend="nvcc" compiles']),
    (MUCH_SHARED, "sm_90", ["65536 bytes", "Hint: declare it 'extern __shared__'"]),
    (MUCH_SHARED, "host", ["49152", "Hint: declare it 'extern __shared__'"]),
])  # fmt: skip
def test_errors_with_a_known_cause(tmp_path: Path, code: str, target: str, said: list[str]) -> None:
    message = message_of(tmp_path / "e.cu", code, target)
    assert [part for part in said if part not in message] == []


def test_kernels_that_launch_kernels() -> None:
    code = "__global__ void g() {}\n__global__ void f(float* x) { g<<<1, 1>>>(); }\n"
    with pytest.raises(CompileError, match=r"Hint: kernels that launch .*\('-rdc=true',\)\.\Z"):
        kerneltk.RawKernel(code, "f").compile_for("sm_90")
    assert kerneltk.RawKernel(code, "f", ("-rdc=true",)).compile_for("sm_90").code


def test_an_unknown_type_in_a_template_that_nvrtc_compiles() -> None:
    code = "template <class T> __global__ void k(Flaot* x, T y) {}\n"
    # NVRTC takes it for a variable, and crashes where such a variable is asked for by its name.
    module = kerneltk.RawModule(code=code, name_expressions=["k<int>"])
    with pytest.raises(CompileError, match='"Flaot" is undefined'):
        module.compile_for("sm_90")
    code = "template <class T> __global__ void k(T* x);"
    with pytest.raises(CompileError, match="'k<int>' has no definition"):
        kerneltk.RawModule(code=code, name_expressions=["k<int>"]).compile_for("sm_90")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", ["host", pytest.param("sm_90", id="nvrtc")])
@pytest.mark.parametrize(("body", "expected"), [
    ("if (x) {", "this '{' is not closed.\n  e.cu:2: __global__ void k(int* x) {"),
    ("float* d; cudaMalloc(&d, 4);", "Hint: 'cudaMalloc' is a function of CUDA's libraries"),
    ("if (*x) throw 1;", "Hint: device code has no exceptions: return a value that says so"),
])  # fmt: skip
def test_mistakes_before_code_of_the_host(
    tmp_path: Path, target: str, body: str, expected: str
) -> None:
    code = (
        f"#include <vector>\n__global__ void k(int* x) {{\n{body}\n}}\n"
        "int main() { std::vector<int> v(3); k<<<1, 1>>>(v.data()); }\n"
    )
    assert expected in message_of(tmp_path / "e.cu", code, target)
