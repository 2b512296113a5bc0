"""Programs that once went wrong: bodies that mislead a reading of their text, odd layouts, and
what can happen to a process in the middle of things.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kerneltk import (
    ArgumentTypeError,
    ArgumentValueError,
    ArraySpec,
    CompileError,
    ElementwiseKernel,
    LaunchError,
    ScalarOverflowError,
    SignatureError,
)
from kerneltk.codegen import elementwise

make = ArraySpec.make
N = 20_000
X = np.where(np.arange(N) % 3 == 0, -1, np.arange(N)).astype(np.float32)


def assembled(kernel: ElementwiseKernel, *args: Any) -> str:
    kernel.compile(*args, target="sm_90")
    return kernel.translation_unit(*args).source


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"operation": "SKIP; y = x", "preamble": "# define SKIP if (x < 0) return"}, "kept"),
        ({"operation": "SKIP; y = x", "loop_prep": "#define SKIP if (x < 0) return"}, "kept"),
        ({"operation": "SKIP; y = x", "preamble": "%:define SKIP if (x < 0) return"}, "kept"),
        ({"operation": "SKIP; y = x", "options": ("-DSKIP=if (x < 0) return",)}, "kept"),
        ({"operation": "y = OLD + x", "options": ("-DOLD=y",)}, "added"),
        ({"operation": "// keep \\\n y = 0;\n y += x;"}, "added"),
        ({"operation": 'auto s = R"(")"; float o = y; auto t = ""; y = x + o'}, "added"),
        ({"operation": "y = ({ if (x < 0) return; x; });"}, "kept"),
    ],
)
def test_results_keep_what_the_body_leaves(
    texts: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elementwise, "STREAM_BYTES", 0)
    y = np.full(N, 7, np.float32)
    ElementwiseKernel("T x", "T y", name="misread", **texts)(X, y)
    np.testing.assert_array_equal(y, X + 7 if expected == "added" else np.where(X < 0, 7, X))


def test_state_between_elements_is_kept_in_order() -> None:
    x = np.arange(N, dtype=np.float32)
    ring = ElementwiseKernel(
        "T x", "T y", "w[i & 7] = x; y = w[static_cast<int>(x) & 7]", loop_prep="T w[8];"
    )
    np.testing.assert_array_equal(ring(x), x)


def test_a_tile_of_more_than_two_gigabytes_is_indexed_by_64_bits() -> None:
    kernel = ElementwiseKernel("int8 x", "float64 y", "y = x", "widen")
    flipped = make("int8", (20000, 20000), order="F")
    text = assembled(kernel, flipped, make("float64", (20000, 20000)))
    assert "_kt_tile_x" in text
    assert "using _kt_index = long long;" in text


def test_a_macro_may_hide_a_return() -> None:
    kernel = ElementwiseKernel(
        "T x", "T y", "SKIP(x < 0); y = x", options=("-DSKIP(c)=if(c)return",)
    )
    assert "_kt_operation = [&]" in assembled(kernel, make("float32", (4096,)))


@pytest.mark.parametrize(
    "body",
    [
        "y = i + 1 < n ? (&(x))[1] : x",
        "y = i + 1 < n ? ((const T*)&x)[1] : x",
        "y = i + 1 < n ? __builtin_addressof(x)[1] : x",
        "auto& r = x; y = i + 1 < n ? (&r)[1] : x",
        "y = i + 1 < n ? *(const T*)((size_t)&x + sizeof(T)) : x",
        "const T* p = bitand x; y = i + 1 < n ? p[1] : x",
    ],
)
def test_an_address_reaches_the_array(body: str) -> None:
    kernel = ElementwiseKernel("T x", "T y", body)
    np.testing.assert_array_equal(kernel(X), np.append(X[1:], X[-1]))


def test_a_function_may_take_an_address() -> None:
    kernel = ElementwiseKernel(
        "T x",
        "T y",
        "y = i + 1 < n ? next(x) : x",
        preamble="T next(const T& a) { return (&a)[1]; }",
    )
    np.testing.assert_array_equal(kernel(X), np.append(X[1:], X[-1]))


@pytest.mark.parametrize(
    ("dtype", "offset", "chunk"),
    [([("a", "f4"), ("b", "f4")], 4, 4), ([("a", "u1", (16,))], 1, 1)],
)
def test_records_in_a_tile_are_moved_by_words_that_fit(
    dtype: list[Any], offset: int, chunk: int
) -> None:
    record = np.dtype(dtype)
    kernel = ElementwiseKernel("T x", "T y", "y = x", "turn")
    text = assembled(
        kernel, make(record, (64, 64), order="F", offset=offset), make(record, (64, 64))
    )
    assert f"kerneltk::copy<{chunk}, sizeof(T)>(&_kt_tile_x" in text


def test_large_records_are_copied() -> None:
    records = np.zeros(3000, [("a", "f4", (4096,))])
    records["a"] = np.arange(3000)[:, None]
    np.testing.assert_array_equal(ElementwiseKernel("T x", "T y", "y = x")(records), records)


def test_misaligned_inputs_meet_a_result_that_lies_on_itself() -> None:
    x = np.frombuffer(bytearray(41), np.uint8)[1:].view(np.float32)
    x[:] = 3
    y = np.zeros(1, np.float32)
    ElementwiseKernel("T x", "T y", "y = x")(x, np.lib.stride_tricks.as_strided(y, (10,), (0,)))
    assert y[0] == 3


def test_a_raw_parameter_takes_a_number() -> None:
    kernel = ElementwiseKernel("raw T a, raw int32 m", "T y", "y = a[i] + m", "offset")
    np.testing.assert_array_equal(kernel(X, 6, size=N), X + 6)
    kernel.compile(make("float32", (N,)), 6, target="sm_90", size=N)


ATOMICS = {
    "atomicAdd": ("int64", "uint64", "float16", "bfloat16", "float32", "float64"),
    "atomicSub": ("int64", "uint64", "float16", "float32", "float64"),
    "atomicMax": ("int64", "float16", "float32", "float64"),
    "atomicMin": ("int64", "bfloat16", "float32", "float64"),
    "atomicExch": ("int64", "float16", "float32", "float64"),
}


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n, ds in ATOMICS.items() for d in ds])
def test_atomics_take_the_types_that_cupy_adds(name: str, dtype: str) -> None:
    kernel = ElementwiseKernel("T x", "raw T y", f"{name}(&y[0], x)", "update")
    kernel.compile(make(dtype, (N,)), make(dtype, (1,)), target="sm_90")


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_compare_and_swap(dtype: str) -> None:
    kernel = ElementwiseKernel("T x", "raw T y", "atomicCAS(&y[0], T(0), x)", "swap")
    kernel.compile(make(dtype, (N,)), make(dtype, (1,)), target="sm_90")


def test_a_kernel_may_define_its_own_atomics() -> None:
    kernel = ElementwiseKernel(
        "T x",
        "raw T y",
        "atomicMax(&y[0], x)",
        "own",
        preamble="__device__ float atomicMax(float* p, float v) { return *p = v; }",
    )
    kernel.compile(make("float32", (N,)), make("float32", (1,)), target="sm_90")


@pytest.mark.parametrize(
    "header",
    ["carray.cuh", "complex.cuh", "float16.cuh", "bfloat16.cuh", "atomics.cuh", "math_constants.h",
     "cuda_workaround.h"],
)  # fmt: skip
def test_headers_of_cupy_are_found(header: str) -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x", preamble=f"#include <cupy/{header}>")
    kernel.compile(make("float32", (N,)), target="sm_90")
    np.testing.assert_array_equal(kernel(X), X)


@pytest.mark.parametrize(
    ("options", "words"), [(("-dlto",), "machine code"), (("-arch=sm_80",), "another architecture")]
)
def test_options_that_defeat_the_target(options: tuple[str, ...], words: str) -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x", "opted", options=options)
    with pytest.raises(CompileError, match=words):
        kernel.compile(make("float32", (N,)), target="sm_90")


@pytest.mark.parametrize("name", ["in_params", "out_params", "operation", "name", "preamble"])
def test_texts_must_be_strings(name: str) -> None:
    texts: dict[str, Any] = {"in_params": "T x", "out_params": "T y", "operation": "y = x"}
    for wrong in (None, 3, b"T x", ["T x"]):
        with pytest.raises(ArgumentTypeError, match=f"'{name}' must be a string"):
            ElementwiseKernel(**{**texts, name: wrong})


@pytest.mark.parametrize("operation", ["y = x; // \0", "y = x; // \ud800"])
def test_texts_must_be_text(operation: str) -> None:
    with pytest.raises(SignatureError):
        ElementwiseKernel("T x", "T y", operation)


@pytest.mark.parametrize("options", [None, 5, (3,)])
def test_options_must_be_strings(options: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="'options'"):
        ElementwiseKernel("T x", "T y", "y = x", options=options)


@pytest.mark.parametrize(
    "named",
    [{"size": 2**63}, {"size": 1.5}, {"size": True}, {"block_size": 0}, {"block_size": 1.5},
     {"backend": "hip"}],
)  # fmt: skip
def test_call_options_are_checked_everywhere(named: dict[str, Any]) -> None:
    kernel = ElementwiseKernel("", "float32 y", "y = i", "count")
    with pytest.raises(ArgumentValueError):
        kernel(**named)
    with pytest.raises(ArgumentValueError):
        kernel.translation_unit(**{"size": 4, **named})


def test_arrays_of_many_dimensions() -> None:
    kernel = ElementwiseKernel("T x, T w", "T y", "y = x + w")
    x = np.arange(4, dtype=np.float32).reshape((2,) + (1,) * 62 + (2,))
    np.testing.assert_array_equal(kernel(x, x), x + x)


def test_numbers_are_checked_for_empty_arrays_too() -> None:
    kernel = ElementwiseKernel("int8 x, int8 a", "int8 y", "y = a")
    for _ in range(2):
        with pytest.raises(ScalarOverflowError):
            kernel(np.zeros(0, np.int8), 1000)
    assert kernel(np.zeros(0, np.int8), 100).shape == (0,)


def test_huge_numbers_are_out_of_range() -> None:
    with pytest.raises(ScalarOverflowError, match="bits is out of range"):
        ElementwiseKernel("int8 x, int8 a", "int8 y", "y = a")(np.zeros(2, np.int8), 10**5000)


def test_attributes_are_read_only() -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x", "still")
    for name in ("operation", "name", "in_params", "preamble", "reduce_dims"):
        with pytest.raises(AttributeError):
            setattr(kernel, name, "other")
    assert not hasattr(kernel, "cached_code")


def test_a_trap_is_an_error_and_the_process_lives() -> None:
    kernel = ElementwiseKernel("T x", "T y", "if (x < 0) __builtin_trap(); y = x", "trap")
    for size in (6, N):
        with pytest.raises(LaunchError, match="trapped"):
            kernel(X[:size])
    np.testing.assert_array_equal(kernel(np.abs(X)), np.abs(X))


SIGNALS = """
import faulthandler, signal, numpy as np
from kerneltk import DivisionError, ElementwiseKernel
divide = ElementwiseKernel("T x, T z", "T y", "y = x / z")
ones, zeros = np.ones(9, "i4"), np.zeros(9, "i4")
divide(ones, ones)
faulthandler.enable()
for handler in (None, lambda number, frame: None, signal.SIG_IGN):
    if handler is not None:
        signal.signal(signal.SIGFPE, handler)
    try:
        divide(ones, zeros)
    except DivisionError:
        print("caught")
"""


def test_others_may_handle_the_same_signals() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SIGNALS], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "caught\n" * 3, "")


FORK = """
import os, threading, time, numpy as np
from kerneltk import ElementwiseKernel
# Compile once before: modules that are imported in the middle of a fork are not what is tested.
ElementwiseKernel("T x", "T y", "y = x - %d", "first")(np.ones(3, "f4"))
kernel = ElementwiseKernel("T x", "T y", "y = x + %d", "forked")
thread = threading.Thread(target=kernel, args=(np.ones(3, "f4"),))
thread.start()
time.sleep(0.02)  # now it compiles
child = os.fork()
if child == 0:
    assert kernel(np.ones(3, "f4")).shape == (3,)
    os._exit(0)
thread.join()
assert os.waitpid(child, 0)[1] == 0
"""


def test_a_fork_during_a_compile() -> None:
    for attempt in range(3):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", FORK % ((os.getpid() + attempt,) * 2)],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")


def test_words_behind_the_compiler_are_part_of_the_key(tmp_path: Path) -> None:
    text = (
        "import numpy as np; from kerneltk import ElementwiseKernel as K\n"
        "print(K('T x', 'T y', '''\n#ifndef FOO\n#define FOO 1\n#endif\ny = x * FOO''')"
        "(np.ones(1, 'f4'))[0])"
    )
    shown = []
    for command in ("g++ -DFOO=42", "g++"):
        env = {**os.environ, "KERNELTK_CACHE_DIR": str(tmp_path), "KERNELTK_CXX": command}
        done = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, env=env, check=False
        )
        shown.append(done.stdout.strip() or done.stderr)
    if "No C++ compiler" not in shown[0]:
        assert shown == ["42.0", "1.0"]


def test_an_interrupt_ends_the_compiler(tmp_path: Path) -> None:
    text = (
        "import os, signal, threading, numpy as np\n"
        "from kerneltk import ElementwiseKernel\n"
        "import kerneltk.backends.host.toolchain as t\n"
        "t.find_compiler()\n"
        # Where the tests run in the background, the signal is ignored from the start.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "body = ' '.join(f'y += sin(x * {k});' for k in range(3000))\n"
        "try:\n    ElementwiseKernel('T x', 'T y', body)(np.ones(3, 'f4'))\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
    )
    env = {**os.environ, "KERNELTK_CACHE_DIR": "", "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, env=env, timeout=100,
        check=False,
    )  # fmt: skip
    assert (done.stdout, list(tmp_path.iterdir())) == ("interrupted\n", []), done.stderr
    assert done.returncode in (0, -signal.SIGINT)


def test_compile_errors_travel_between_processes() -> None:
    with pytest.raises(CompileError) as caught:
        ElementwiseKernel("T x", "T y", "y = foo", "bad")(X)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "exp",
        "abs",
        "min",
        "norm",
        "main",
        "memset",
        "printf",
        "T",
        "round",
        "complex",
        "rcbrt",
        "norm3d",
        "llround",
        "dim3",
        "NULL",
        "assert",
        "M_PI",
        "sqrtf",
        "threadIdx",
    ],
)
def test_a_kernel_may_have_any_name(name: str) -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = 2 * x", name)
    assert kernel.name == name
    np.testing.assert_array_equal(kernel(X), 2 * X)
    assert kernel.compile(make("complex64", (4,)), target="sm_90").entry == f"{name}_kernel"


def test_hints_for_what_a_cpu_has_not_and_for_inputs() -> None:
    with pytest.raises(CompileError, match="Hint: 'threadIdx' is there on GPUs only"):
        ElementwiseKernel("T x", "T y", "y = threadIdx.x")(X)
    kernel = ElementwiseKernel("T x", "T y", "x = 1; y = x", "writes")
    for call in (lambda: kernel(X), lambda: kernel.compile(make("float32", (4,)), target="sm_90")):
        with pytest.raises(CompileError, match="Hint: an input is const"):
            call()


def test_an_option_may_take_an_address() -> None:
    kernel = ElementwiseKernel(
        "T x", "T y", "y = i + 1 < n ? NEXT(x) : x", options=("-DNEXT(v)=(&(v))[1]",)
    )
    np.testing.assert_array_equal(kernel(X), np.append(X[1:], X[-1]))


def test_a_header_of_the_users_may_do_anything(tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text(
        "#define NEXT(v) (i + 1 < n ? (&(v))[1] : (v))\n#define LEAVE(c) if (c) return\n"
    )
    kernel = ElementwiseKernel(
        "T x", "T y", "LEAVE(x < 0); y = NEXT(x)", "own",
        preamble='/* mine */ #include "own.h"', options=(f"-I{tmp_path}",),
    )  # fmt: skip
    y = np.full(N, 7, np.float32)
    kernel(X, y)
    np.testing.assert_array_equal(y, np.where(X < 0, 7, np.append(X[1:], X[-1])))
    kernel.compile(make("float32", (N,)), target="sm_90")


@pytest.mark.parametrize(
    "texts",
    [
        {"preamble": "/* c */ #define IDX i"},
        {"preamble": "#define IDX i \\"},
        {"loop_prep": "#define IDX i"},
        {"options": ("-DIDX=i",)},
        {"preamble": "#define IDX i", "operation": "y = IDX // c:\\"},
    ],
)
def test_macros_may_name_the_index(texts: dict[str, Any]) -> None:
    kernel = ElementwiseKernel("T x", "T y", **{"operation": "y = IDX", "name": "count", **texts})
    np.testing.assert_array_equal(kernel(X), np.arange(N))
    kernel.compile(make("float32", (N,)), target="sm_90")


def test_a_macro_may_be_called_arch() -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = arch", options=("-D", "arch=3"))
    np.testing.assert_array_equal(kernel(X[:3]), [3, 3, 3])
    kernel.compile(make("float32", (4,)), target="sm_90")


CHAIN = """
import faulthandler, os, signal, numpy as np
from kerneltk import ElementwiseKernel
kernel = ElementwiseKernel("T x", "T y", "y = x")
kernel(np.ones(3, "f4"))
faulthandler.enable()
kernel(np.ones(3, "f4"))
os.kill(os.getpid(), signal.SIGFPE)
"""


def test_a_signal_from_outside_reaches_who_handled_it_before() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHAIN], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == -signal.SIGFPE
    assert done.stderr.count("Fatal Python error") == 1
