"""What once went wrong with raw kernels, or could have."""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CompileError,
    NoSuchKernelError,
    ScalarOverflowError,
    SignatureError,
)


def kernel(parameters: str, body: str = "", before: str = "", **words: Any) -> kerneltk.RawKernel:
    return kerneltk.RawKernel(f"{before}\n__global__ void f({parameters}) {{{body}}}", "f", **words)


# -- arrays ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "array"),
    [
        ("S* x", np.zeros(5, np.uint8)),
        ("S* x", np.zeros(3, "S3")),
        ("S* x", np.zeros(3, "V7")),
        ("float4* x", np.zeros(2, np.float32)),
        ("int (*x)[4]", np.zeros(2, np.int32)),
    ],
)
def test_arrays_of_no_whole_number_of_elements(parameter: str, array: Any) -> None:
    with pytest.raises((ArgumentValueError, ArgumentTypeError)):
        kernel(parameter, before="struct S { double a[4]; };")(1, 1, (array,))


def test_the_number_of_elements_is_checked_at_each_launch() -> None:
    take = kernel("float4* x")
    take(1, 1, (np.zeros(8, np.float32),))
    with pytest.raises(ArgumentValueError, match="no whole number"):
        take(1, 1, (np.zeros(6, np.float32),))


@pytest.mark.parametrize("parameter", ["void* x", "char* x", "const unsigned char* x", "int* x"])
def test_arrays_of_objects(parameter: str) -> None:
    with pytest.raises(ArgumentTypeError, match="dtype 'object'"):
        kernel(parameter)(1, 1, (np.array([None, None]),))


def test_addresses_that_are_not_aligned() -> None:
    bytes_ = np.zeros(64, np.uint8)
    with pytest.raises(ArgumentValueError, match="multiple of 8"):
        kernel("double* x")(1, 1, (bytes_[1:9].view(np.float64),))
    vectors = kernel("float4* x")
    whole = np.zeros(9, np.float32)
    start = -(whole.ctypes.data // 4) % 4
    vectors(1, 1, (whole[start : start + 4],))
    with pytest.raises(ArgumentValueError, match="multiple of 16"):
        vectors(1, 1, (whole[start + 1 : start + 5],))


def test_templates_of_a_number_take_arrays_of_it() -> None:
    before = "template <class T> struct Matrix { T value[4]; };"
    take = kernel("const Matrix<float>* x, float* y", "y[0] = x[1].value[2];", before)
    y = np.zeros(1, np.float32)
    take(1, 1, (np.arange(8, dtype=np.float32), y))
    assert y[0] == 6
    with pytest.raises(ArgumentTypeError, match="points to 'Matrix<float>'"):
        take(1, 1, (np.arange(8.0), y))


# -- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "value", "error"),
    [
        ("uchar4 v", (1, 2, 3, 263), ScalarOverflowError),
        ("uchar4 v", (1, 2, 3, -1), ScalarOverflowError),
        ("int2 v", (5, 2**40), ScalarOverflowError),
        ("int2 v", (5, 1.5), ArgumentTypeError),
        ("float2 v", (1j, 2), ArgumentTypeError),
        ("float2 v", 1.0, ArgumentTypeError),
        ("float4 v", (1, 2, 3, 1e39), ScalarOverflowError),
        ("float4 v", np.zeros(3, np.float32), ArgumentTypeError),
        ("float4 v", b"abc", ArgumentTypeError),
        ("float v", np.longdouble("1e400"), ScalarOverflowError),
        ("int v", np.longdouble("1e400"), ArgumentTypeError),
        ("unsigned long long v", 1e20, ScalarOverflowError),
        ("long v", 2.0**63, ScalarOverflowError),
        ("int v", np.float32(3e9), ScalarOverflowError),
        ("int v", np.array(2**40), ScalarOverflowError),
        ("int v", 10**400, ScalarOverflowError),
        ("float v", np.array(1e300), ScalarOverflowError),
        ("int v", np.timedelta64(3, "s"), ArgumentTypeError),
        ("float v", np.complex64(1), ArgumentTypeError),
        ("long double v", 2.5, ArgumentTypeError),
        ("__int128 v", 2, ArgumentTypeError),
        ("E v", 300, ScalarOverflowError),
    ],
)
def test_values_that_would_become_others(parameter: str, value: Any, error: Any) -> None:
    with pytest.raises(error, match="'v'"):
        kernel(parameter, before="enum class E : unsigned char { a };")(
            1, 1, (value,), backend="host"
        )


def test_values_that_are_the_same_in_another_type() -> None:
    take = kernel(
        "int a, E b, int2 c, bool d, float e, short f, double* out",
        "out[0] = a; out[1] = (int)b; out[2] = c.x + c.y; out[3] = d; out[4] = e; out[5] = f;",
        "enum class E : unsigned char { a };",
    )

    class Index:
        def __index__(self) -> int:
            return 4

    out = np.zeros(6)
    take(1, 1, (np.bool_(True), 200, (5, 1.0), np.True_, ctypes.c_float(0.5), Index(), out))
    np.testing.assert_array_equal(out, [1, 200, 6, 1, 0.5, 4])
    take(1, 1, (3.0, 200, np.array([5, 6], ">i4"), 0, np.float64(2), np.int64(7), out))
    np.testing.assert_array_equal(out, [3, 200, 11, 0, 2, 7])


# -- texts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["N", "P", "K", "B", "i", "x", "grid", "block", "lane", "real", "T"]
)
def test_macros_of_options_may_have_any_name(name: str) -> None:
    take = kernel(f"int* out{name}_", f"out{name}_[0] = {name} + 1;", options=(f"-D{name}=4",))
    out = np.zeros(1, np.int32)
    take(1, 1, (out,))
    assert out[0] == 5


@pytest.mark.parametrize("order", ["after", "before"])
@pytest.mark.parametrize("name", ["aa", "zz"])
@pytest.mark.parametrize("declared", ["__global__ void {}(int* o) {{}}", "__device__ int {};"])
def test_what_stands_under_a_false_condition(order: str, name: str, declared: str) -> None:
    good = "__global__ void f(int* o) { o[0] = 3; }\n"
    hidden = f"#ifdef NOWHERE\n{declared.format(name)}\n#endif\n"
    module = kerneltk.RawModule(code=good + hidden if order == "after" else hidden + good)
    out = np.zeros(1, np.int32)
    module.get_function("f")(1, 1, (out,))
    assert out[0] == 3
    assert dict(module.compile_for("sm_90").symbols)["f"]
    if "global" in declared:
        with pytest.raises(CompileError, match=f"no kernel '{name}'"):
            module.get_function(name)(1, 1, (out,))


def test_device_code_sees_its_compiler() -> None:
    code = "#ifdef __CUDACC__\n__global__ void f(int* o) { o[0] = __CUDA_ARCH__; }\n#endif\n"
    out = np.zeros(1, np.int32)
    kerneltk.RawKernel(code, "f")(1, 1, (out,))
    assert out[0] == 750


def test_kernels_whose_names_macros_make() -> None:
    code = """
    #define CAT(a, b) a##b
    #define NAME foo
    __global__ void CAT(add_, one)(int* o) { o[0] += 1; }
    extern "C" __global__ void NAME(int* o) { o[0] += 10; }
    """
    module = kerneltk.RawModule(code=code)
    out = np.zeros(1, np.int32)
    module.get_function("add_one")(1, 1, (out,))
    module.get_function("foo")(1, 1, (out,))
    assert out[0] == 11
    with pytest.raises(CompileError, match="no kernel 'add_two'"):
        module.get_function("add_two")(1, 1, (out,))
    module.get_function("add_one")(1, 1, (out,))


@pytest.mark.parametrize("end", ["\0", "\ud800"])
def test_code_is_text(end: str) -> None:
    code = "__global__ void f() {}"
    for make in (
        lambda: kerneltk.RawKernel(code + end, "f"),
        lambda: kerneltk.RawKernel(code, f"f{end}"),
        lambda: kerneltk.RawModule(code=code + end),
        lambda: kerneltk.RawModule(code=code, name_expressions=["f", f"f{end}"]),
    ):
        with pytest.raises(SignatureError, match=r"holds a (null character|lone surrogate)"):
            make()


def test_null_characters_in_options_and_paths() -> None:
    with pytest.raises(SignatureError, match="null character"):
        kerneltk.RawKernel("__global__ void f() {}", "f", options=("-I/a\0b",))
    for read in (kerneltk.load, lambda path: kerneltk.RawModule(path=path)):
        with pytest.raises(ArgumentValueError, match="cannot be read: embedded null"):
            read("a\0b")


def test_names_paths_and_template_arguments_of_other_types(tmp_path: Path) -> None:
    (tmp_path / "t.cu").write_text("template <class T> __global__ void t(T* x) {}")
    module = kerneltk.load(tmp_path / "t.cu")
    with pytest.raises(ArgumentTypeError, match="'name' must be a string, not 'int'"):
        module.get_function(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match=r"A template takes types and integers .* not 1\.5"):
        module.t[1.5]
    with pytest.raises(ArgumentTypeError, match="'path' must be the path of a file, not 3"):
        kerneltk.RawModule(path=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("names", ["f", 3, iter(["f"]), {"f"}, [b"f"], [None]])
def test_name_expressions_are_a_sequence(names: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="'name_expressions' must be a sequence of str"):
        kerneltk.RawModule(code="__global__ void f() {}", name_expressions=names)


def test_a_byte_order_mark(tmp_path: Path) -> None:
    code = "\ufeff__global__ void f(int* o) { o[0] = 1; }\n"
    (tmp_path / "mark.cu").write_text(code, encoding="utf-8")
    out = np.zeros(1, np.int32)
    kerneltk.RawKernel(code, "f")(1, 1, (out,))
    assert out[0] == 1
    out[0] = 0
    kerneltk.load(tmp_path / "mark.cu").f(1, 1, (out,))
    assert out[0] == 1
    kerneltk.RawKernel(code, "f").compile_for("sm_90")


def test_directories_mean_the_same_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "seven.h").write_text("#define SEVEN 7\n")
    monkeypatch.chdir(tmp_path)
    take = kernel("int* o", "o[0] = SEVEN;", '#include "seven.h"', options=("-I", "sub"))
    monkeypatch.chdir("/")
    out = np.zeros(1, np.int32)
    take(1, 1, (out,))
    assert out[0] == 7


def test_headers_beside_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shared.h").write_text(
        "extern __shared__ int dyn[];\n"
        "__device__ __noinline__ int last(int n) { return dyn[n - 1]; }\n"
    )
    monkeypatch.chdir(tmp_path)
    body = "dyn[threadIdx.x] = threadIdx.x; __syncthreads(); o[0] = last(blockDim.x);"
    take = kernel("int* o", body, '#include "shared.h"')
    out = np.zeros(1, np.int32)
    take(1, 32, (out,), shared_mem=128)
    assert out[0] == 31


@pytest.mark.parametrize(
    "header",
    [
        "#ifndef H\n#define H\nint a();\n#else\n#define SECOND 1\n#endif\n",
        "#ifndef H\n#define H\n#endif\n#ifdef H\n#define SECOND 1\n#endif\n",
    ],
)
def test_headers_that_say_more_the_second_time(tmp_path: Path, header: str) -> None:
    (tmp_path / "twice.h").write_text(header)
    (tmp_path / "main.cu").write_text(
        '#include "twice.h"\n#include "twice.h"\n__global__ void f(int* o) { o[0] = SECOND; }\n'
    )
    out = np.zeros(1, np.int32)
    kerneltk.load(tmp_path / "main.cu").f(1, 1, (out,))
    assert out[0] == 1


def test_what_cpu_cores_do_not_have_is_named() -> None:
    code = '__global__ void f(int* o) {\n    asm("mov.u32 %0, %laneid;" : "=r"(o[0]));\n}\n'
    with pytest.raises(CompileError, match="no inline PTX") as caught:
        kerneltk.RawKernel(code, "f")(1, 1, (np.zeros(1, np.int32),))
    assert 'code:2:     asm("mov.u32' in str(caught.value)


def test_lanes_that_take_no_part_give_zero() -> None:
    body = "int v = threadIdx.x + 1; if (v < 9) o[v - 1] = __shfl_down_sync(0xff, v, 4);"
    out = np.zeros(8, np.int32)
    kernel("int* o", body)(1, 32, (out,))
    np.testing.assert_array_equal(out, [5, 6, 7, 8, 0, 0, 0, 0])


# -- modules --------------------------------------------------------------------------------------

VARIABLES = """
__constant__ int coefficient;
__device__ int hits;
__constant__ const int fixed[2] = {3, 4};
template <class T> __global__ void read(T* o) { o[0] = coefficient; ++hits; }
__global__ void plain(int* o) { o[0] = coefficient; ++hits; }
"""


def test_templates_share_the_variables_of_their_file(tmp_path: Path) -> None:
    (tmp_path / "v.cu").write_text(VARIABLES)
    module = kerneltk.load(tmp_path / "v.cu")
    reads = [module.plain, module.read["int"], module.read["unsigned"]]
    module.get_array("coefficient", backend="host")[...] = 5
    for read, dtype in zip(reads, (np.int32, np.int32, np.uint32), strict=True):
        out = np.zeros(1, dtype)
        read(1, 1, (out,))
        assert out[0] == 5
    assert module.get_array("hits", backend="host") == 3
    with pytest.raises(ArgumentValueError, match="variables of its own"):
        module.read["short"]


def test_a_template_argument_that_is_none_spoils_nothing(tmp_path: Path) -> None:
    (tmp_path / "v.cu").write_text(VARIABLES)
    module = kerneltk.load(tmp_path / "v.cu")
    out = np.zeros(1, np.int32)
    with pytest.raises(CompileError, match="no kernel 'read<flo>'"):
        module.read["flo"](1, 1, (out,))
    module.plain(1, 1, (out,))


def test_constants_are_read_only_views() -> None:
    fixed = kerneltk.RawModule(code=VARIABLES).get_array("fixed", backend="host")
    np.testing.assert_array_equal(fixed, [3, 4])
    assert not fixed.flags.writeable


def test_subscripts_take_what_kernels_lists(tmp_path: Path) -> None:
    (tmp_path / "n.cu").write_text(
        "namespace a { template <class T> __global__ void t(T* o) { o[0] = 2; }"
        "__global__ void k(int* o) { o[0] = 3; } }"
    )
    module = kerneltk.load(tmp_path / "n.cu", name_expressions=["a::t<int>"])
    assert module.kernels == ("a::k", "a::t<int>")
    out = np.zeros(1, np.int32)
    for name, value in (("a::k", 3), ("a::t<int>", 2)):
        module[name](1, 1, (out,))
        assert out[0] == value
    assert module["a::k"] is module.k
    with pytest.raises(NoSuchKernelError, match=r"no kernel 'a::t<float>'"):
        module["a::t<float>"]


def test_kernels_are_made_once(tmp_path: Path) -> None:
    (tmp_path / "v.cu").write_text(VARIABLES)
    module = kerneltk.load(tmp_path / "v.cu")
    assert module.plain is module.get_function("plain")
    assert module.read["int"] is module.read["int"]
    (tmp_path / "w.cu").write_text("__global__ void options(int* o) { o[0] = 9; }")
    other = kerneltk.load(tmp_path / "w.cu")
    out = np.zeros(1, np.int32)
    other["options"](1, 1, (out,))
    assert out[0] == 9
    both = kerneltk.load(tmp_path / "w.cu", tmp_path / "v.cu")
    assert both.options == ()
    with pytest.raises(ArgumentValueError, match="several files"):
        both.compile_for("host")


# -- launches -------------------------------------------------------------------------------------


def test_checks_can_be_set_later() -> None:
    take = kernel("float* x")
    gaps = np.zeros(8, np.float32)[::2]
    with pytest.raises(ArgumentValueError, match="gaps"):
        take(1, 1, (gaps,))
    take.checks = False
    take(1, 1, (gaps,))
    take.checks = True
    with pytest.raises(ArgumentValueError, match="gaps"):
        take(1, 1, (gaps,))


def test_keywords_of_one_launch_are_its_own() -> None:
    take = kernel("float* x")
    gaps = np.zeros(8, np.float32)[::2]
    for _ in range(3):
        take(1, 1, (gaps,), checks=False)
        with pytest.raises(ArgumentValueError, match="gaps"):
            take(1, 1, (gaps,))
    with pytest.raises(ArgumentValueError, match="'backend' must be"):
        take(1, 1, (gaps,), backend="gpu")


def test_shared_memory_is_a_whole_number_of_bytes() -> None:
    take = kernel("float* x")
    take(1, 1, (np.zeros(1, np.float32),), shared_mem=0)
    take(1, 1, (np.zeros(1, np.float32),), shared_mem=np.int64(8))


def test_a_fork_while_another_thread_compiles() -> None:
    take = kernel("int* o", "o[0] = 1;")
    began = threading.Event()

    def compile_(program: Any = take._program) -> None:
        with program._lock:
            began.set()
            threading.Event().wait(0.5)

    thread = threading.Thread(target=compile_)
    thread.start()
    began.wait()
    child = os.fork()
    if child == 0:
        out = np.zeros(1, np.int32)
        take(1, 1, (out,))
        os._exit(0 if out[0] == 1 else 1)
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("path", [b"x.cu", None, 3])
def test_paths_that_are_none(path: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="path of a file"):
        kerneltk.load(path)


def test_options_that_are_none() -> None:
    with pytest.raises(ArgumentTypeError, match="sequence of str"):
        kernel("int* o", options=None)
