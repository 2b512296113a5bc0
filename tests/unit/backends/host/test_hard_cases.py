"""Kernels on CPU cores that ask for much: large frames, many threads, waiting in odd ways."""

from __future__ import annotations

import ctypes
import resource
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import LaunchError, RawKernel
from kerneltk.backends.host import runtime

from ....conftest import reread_environment
from ....processes import python
from .grid_kernels import COOPERATIVE, STACKS, Kernels


@pytest.fixture(scope="module")
def stacks() -> Kernels:
    return Kernels(STACKS, ["leaps", "local", "add", "rounds"])


@pytest.mark.parametrize("kibibytes", [700, 1300, 4000])
@pytest.mark.parametrize("who", [1, 9, 40])
def test_a_frame_cannot_leap_over_a_guard(stacks: Kernels, kibibytes: int, who: int) -> None:
    y = np.zeros(64, np.int32)
    size = np.int32(kibibytes << 10)
    assert stacks.launch("leaps", 1, 64, y, size, np.int32(who), threads=1) == 3
    assert f"thread ({who}, 0, 0): its stack is full (576 KiB)" in runtime.last_fault()
    for _ in range(2):  # the stacks are whole again
        assert stacks.launch("leaps", 1, 64, y, size, np.int32(-1), threads=1) == 0
        assert np.array_equal(y, 64 * np.arange(64))


def test_a_thread_has_512_kibibytes_of_local_memory(stacks: Kernels) -> None:
    y = np.zeros(64, np.int32)
    assert stacks.launch("local", 2, 64, y) == 0
    assert np.array_equal(y, 2 * np.arange(64))


def _maps() -> int:
    return len(Path("/proc/self/maps").read_text().splitlines())


def test_large_cooperative_launches_leave_mappings_to_others(stacks: Kernels) -> None:
    limit = int(Path("/proc/sys/vm/max_map_count").read_text())
    y = np.zeros(1, np.int32)
    before = _maps()
    for _ in range(2):
        assert stacks.launch("rounds", 256, 256, y, flags=COOPERATIVE) == 0
    assert y[0] == 2 * 256 * 256
    assert _maps() < before + limit // 4  # and stacks that nobody has are given back


UNGUARDED = """
import sys
sys.path[:0] = [{tests!r}]
import numpy as np
from grid_kernels import COOPERATIVE, STACKS, Kernels, runtime
text = STACKS + '''
__device__ __attribute__((noinline)) int deep(int n) {{
    volatile int own[64];
    own[n % 64] = n;
    return n == 0 ? 0 : deep(n - 1) + own[3];
}}
__global__ void overflows(int depth, int block) {{
    _kt_grid_barrier("", 1);  // until then no block gives its stacks to another
    if (blockIdx.x == block && threadIdx.x == 99) deep(depth);
    __syncthreads();
}}'''
k = Kernels(text, ["rounds", "overflows"])
y = np.zeros(1, np.int32)
found = 0
for block in range(0, 256, 32):  # most of them have no guards
    arguments = (np.int32(2250), np.int32(block))
    found += k.launch("overflows", 256, 128, *arguments, flags=COOPERATIVE) == 3
    assert f"block ({{block}}, 0, 0), thread (99, 0, 0): its stack is full" in runtime.last_fault()
assert k.launch("rounds", 256, 128, y, flags=COOPERATIVE) == 0
print(found, int(y[0]))
"""


@pytest.mark.exhaustive
def test_an_overflow_is_found_without_a_guard() -> None:
    tests = str(Path(__file__).parent)
    done = python("-c", UNGUARDED.format(tests=tests))
    assert done.stdout == f"8 {256 * 128}\n", done.stderr


SPINS = """
__global__ void fence(int* y) {
    __shared__ volatile int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        while (flag == 0) __threadfence_block();
        y[threadIdx.x] = 1;
    } else if (threadIdx.x == 32) {
        flag = 1;
    }
}
__global__ void two(int* y, int* flags) {
    if (threadIdx.x == 0) while (atomicAdd(&flags[0], 0) == 0 && atomicAdd(&flags[1], 0) == 0) {}
    else flags[1] = 1;
    y[threadIdx.x] = 1;
}
__global__ void stuck(int* y, volatile int* flag) {
    if (threadIdx.x == 0) while (flag[0] == 0) {}
    __syncthreads();
}
__global__ void histogram(int* y, int* bins) {
    const unsigned before = kerneltk::grid::suspensions;
    for (int k = 0; k < 200; ++k) atomicAdd(&bins[k % 7], 0);
    y[threadIdx.x] = kerneltk::grid::suspensions != before;
}
"""


@pytest.fixture(scope="module")
def spins() -> Kernels:
    return Kernels(SPINS, ["fence", "two", "stuck", "histogram"])


@pytest.fixture
def time_limit() -> Iterator[None]:
    runtime.set_time_limit(60_000)
    yield
    runtime.set_time_limit(0)


@pytest.mark.exhaustive
def test_threads_that_wait_for_one_of_two_words(spins: Kernels, time_limit: None) -> None:
    y, flags = np.zeros(64, np.int32), np.zeros(2, np.int32)
    assert spins.launch("two", 1, 64, y, flags) == 0, runtime.last_fault()
    assert y.sum() == 64


def test_a_fence_lets_others_run(spins: Kernels, time_limit: None) -> None:
    y = np.zeros(64, np.int32)
    assert spins.launch("fence", 1, 64, y) == 0, runtime.last_fault()
    assert y.sum() == 32


def test_adding_zeros_at_many_places_is_no_waiting(spins: Kernels) -> None:
    y, bins = np.zeros(64, np.int32), np.zeros(7, np.int32)
    assert spins.launch("histogram", 1, 64, y, bins) == 0
    assert not y.any()


def fault_of_stuck(kernels: Kernels, expected: str) -> str:
    """Return what ends kernel `stuck` by the time limit. On a loaded machine a short limit may pass
    before the threads are where they wait, so the limit grows until the message is the expected.
    """
    for limit in (100, 1000, 10_000):
        runtime.set_time_limit(limit)
        try:
            arguments = np.zeros(1, np.int32), np.zeros(1, np.int32)
            assert kernels.launch("stuck", 1, 64, *arguments) == 3
        finally:
            runtime.set_time_limit(0)
        fault = runtime.last_fault()
        assert f"the launch did not end within {limit} ms" in fault
        if expected in fault:
            break
    return fault


def test_the_time_limit_tells_what_others_wait_at(spins: Kernels) -> None:
    # The first thread never gets a stack of its own, so no other has begun.
    first = "block (0, 0, 0), thread (0, 0, 0): the launch did not end"
    assert first in fault_of_stuck(spins, first)
    source = SPINS[SPINS.index("__global__ void stuck") :].replace("x == 0", "x == 40", 1)
    others = "; meanwhile 40 threads"
    fault = fault_of_stuck(Kernels(source, ["stuck"]), others)
    assert others in fault
    assert "thread (40, 0, 0): the launch did not end" in fault


ODD = """
#include <kerneltk/host_device.hpp>
struct alignas(32) Wide { float v[8]; };
__global__ void wide(char c, Wide w, double d, float* y) {
    y[threadIdx.x] = c + w.v[threadIdx.x] + (float)d;
}
struct Point { int v; __device__ Point(int q) : v(q) {} };
__global__ void placed(int* y) {
    __shared__ __align__(8) char memory[32 * sizeof(Point)];
    Point* p = new (memory + threadIdx.x * sizeof(Point)) Point(threadIdx.x);
    const clock_t before = clock();
    __syncthreads();
    y[threadIdx.x] = p->v + (clock() == before) * 0;
}
__global__ void changing(int* y) {
    __shared__ volatile float s[32];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = __shfl_down_sync(~0u, s[threadIdx.x], 16)
        + __shfl_xor_sync(~0u, s[threadIdx.x], 1) + __popc(__match_any_sync(~0u, s[0]))
        + __any_sync(~0u, s[threadIdx.x] > 30);
}
__global__ void nobody(int* y) { y[threadIdx.x] = __shfl_sync(0, 1, 0); }
__global__ void calls(int* y, void (*other)()) {
    __syncthreads();
    if (threadIdx.x == 5) other();
    __syncthreads();
    y[threadIdx.x] = threadIdx.x;
}
"""


@pytest.fixture(scope="module")
def odd() -> Kernels:
    return Kernels(ODD, ["wide", "placed", "changing", "nobody", "calls"])


@pytest.mark.exhaustive
def test_parameters_that_are_aligned_beyond_the_head(odd: Kernels) -> None:
    y = np.zeros(8, np.float32)
    packed = struct.pack("<b31x8fdQ", 3, *range(8), 0.5, y.ctypes.data)
    assert odd.launch("wide", 1, 8, packed) == 0
    assert np.array_equal(y, np.arange(8) + 3.5)
    kernel = RawKernel(
        ODD[ODD.index("struct alignas") : ODD.index("struct Point")].replace(
            "__global__", 'extern "C" __global__'
        ),
        "wide",
    )
    y[:] = 0
    wide = np.arange(8, dtype=np.float32)
    kernel(1, 8, (np.int8(3), wide.view(np.dtype((np.void, 32)))[0], 0.5, y))
    assert np.array_equal(y, np.arange(8) + 3.5)


def test_placement_new_and_clock_without_headers(odd: Kernels) -> None:
    y = np.zeros(32, np.int32)
    assert odd.launch("placed", 2, 32, y) == 0
    assert np.array_equal(y, np.arange(32))
    included = Kernels("#include <new>\n#include <time.h>\n" + ODD, ["placed"])
    assert included.launch("placed", 2, 32, y) == 0


def test_volatile_operands_of_a_warp(odd: Kernels) -> None:
    y = np.zeros(32, np.int32)
    assert odd.launch("changing", 1, 32, y) == 0
    t = np.arange(32)
    assert np.array_equal(y, np.where(t < 16, t + 16, t) + (t ^ 1) + 33)


def test_a_mask_of_no_lane(odd: Kernels) -> None:
    assert odd.launch("nobody", 1, 32, np.zeros(32, np.int32)) == 3
    assert "thread (0, 0, 0): a mask names no lane at kernel.cu:" in runtime.last_fault()


def test_a_launch_from_inside_a_kernel_is_refused(odd: Kernels) -> None:
    y = np.zeros(64, np.int32)
    told = []

    def launch_again() -> None:
        told.append((odd.launch("placed", 1, 32, y), runtime.last_fault()))

    callback = ctypes.CFUNCTYPE(None)(launch_again)
    other = np.uint64(ctypes.cast(callback, ctypes.c_void_p).value or 0)
    assert odd.launch("calls", 1, 64, y, other) == 0
    assert np.array_equal(y, np.arange(64))
    ((status, text),) = told
    assert status == 3
    assert text.startswith("kernel 'placed': it was launched from inside a kernel")


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "name", ["kernel", "grid", "blocks", "visibility", "always_inline", "aligned", "kerneltk"]
)
def test_macros_of_any_name(name: str) -> None:
    text = (
        f"#define {name} 5\n"
        + """
__global__ void f(int* _y) { __align__(8) int _own = threadIdx.x; _y[_own] = _own; }"""
    )
    y = np.zeros(8, np.int32)
    assert Kernels(text, ["f"]).launch("f", 1, 8, y) == 0
    assert np.array_equal(y, np.arange(8))


SIGNALS = """
import os, signal, sys
sys.path[:0] = [{tests!r}]
import numpy as np
import kerneltk
from kerneltk.core.settings import get_settings
def told(text, limit="60"):
    os.environ["KERNELTK_HOST_TIME_LIMIT"] = limit
    get_settings.cache_clear()
    try:
        code = 'extern "C" __global__ void f(int* y) {{ ' + text + ' }}'
        kerneltk.RawKernel(code, "f")(1, 4, (y,))
    except kerneltk.LaunchError as error:
        return str(error)
y = np.zeros(4, np.int32)
assert told("y[threadIdx.x] = 1;") is None
signal.signal(signal.SIGRTMAX - 5, lambda *_: None)
assert "did not end" in told("volatile int go = 1; while (go) {{}}", "0.1")
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
assert "no memory can be" in told("*(volatile int*)16 = 1;")
assert "did not end" in told("volatile int go = 1; while (go) {{}}", "0.1")
assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == mask
print("alive")
"""


def test_signals_that_others_have_blocked_or_taken() -> None:
    tests = str(Path(__file__).parent)
    done = python("-c", SIGNALS.format(tests=tests))
    assert done.stdout == "alive\n", done.stderr


def test_hints_of_exited_threads(environment: pytest.MonkeyPatch) -> None:
    code = 'extern "C" __global__ void f(int* y) { if (threadIdx.x == 3) return; __syncthreads(); }'
    with pytest.raises(LaunchError) as caught:
        RawKernel(code, "f")(1, 8, (np.zeros(8, np.int32),))
    assert 'exited_threads="arrive"\' where it is made' in str(caught.value)
    assert "'exited_arrive=True' at a launch" in str(caught.value)
    assert "KERNELTK_HOST_EXITED_THREADS=arrive for a program." in str(caught.value)
    RawKernel(code, "f")(1, 8, (np.zeros(8, np.int32),), exited_arrive=True)
    RawKernel(code, "f", exited_threads="arrive")(1, 8, (np.zeros(8, np.int32),))
    environment.setenv("KERNELTK_HOST_EXITED_THREADS", "arrive")
    reread_environment()
    RawKernel(code, "f")(1, 8, (np.zeros(8, np.int32),))


LINKAGE = """
__device__ float first() {
    extern __shared__ float shared[];
    return shared[0];
}
extern "C" __launch_bounds__(64) __global__ void f(float* y) {
    extern __shared__ float shared[];
    shared[threadIdx.x] = threadIdx.x + 3;
    __syncthreads();
    y[threadIdx.x] = first();
}
"""


def test_shared_memory_of_kernels_with_c_linkage_and_of_functions() -> None:
    y = np.zeros(8, np.float32)
    RawKernel(LINKAGE, "f")(1, 8, (y,), shared_mem=32)
    assert np.array_equal(y, np.full(8, 3))


COLUMNS = """
__global__ void scale(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.y + threadIdx.y;
    if (i < n) y[i] = 2 * x[i] + y[i] + threadIdx.x;
}
__global__ void turned(const float* x, float* y, int n) {
    __shared__ float s[64];
    s[threadIdx.y + blockDim.y * threadIdx.z] = x[threadIdx.y + blockDim.y * threadIdx.z];
    __syncthreads();
    const int t = threadIdx.y + blockDim.y * threadIdx.z;
    if (t % 3) __syncwarp(1u << t % 32);
    y[t] = s[n - 1 - t];
}
"""


@pytest.mark.exhaustive
def test_blocks_of_one_column() -> None:
    n = 1 << 10
    x = np.random.default_rng(0).random(n, np.float32)
    for options in ((), ("-DKERNELTK_COLUMNS",)):
        kernels = Kernels(COLUMNS, ["scale", "turned"], [], *options)
        y, expected = np.ones(n, np.float32), np.ones(n, np.float32)
        assert kernels.launch("scale", n // 256, (1, 256), x, y, np.int32(n - 3), threads=1) == 0
        expected[:-3] += 2 * x[:-3]
        assert np.allclose(y, expected)
        z = np.zeros(64, np.float32)
        for shape in ((1, 64), (1, 16, 4), (1, 1, 64)):
            z[:] = 0
            assert kernels.launch("turned", 2, shape, x, z, np.int32(64)) == 0
            assert np.array_equal(z, x[:64][::-1])


LINES = """
import sys
import numpy as np
import kerneltk
code = '''extern "C" __global__ void f(volatile int* y) {
    __syncthreads();
    if (threadIdx.x == 9)
        while (y[0] == 0) {
        }
    __syncthreads();
}'''
kernel = kerneltk.RawKernel(code, "f")
for _ in range(int(sys.argv[1])):
    try:
        kernel(1, 64, (np.zeros(1, np.int32),))
    except kerneltk.LaunchError as error:
        print(error)
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("debug", ["symbols", "memory", ""])
def test_the_time_limit_tells_the_line_where_it_can(debug: str) -> None:
    # A short limit finds the thread at many locations; on a loaded machine it may pass before the
    # others wait, so it grows until a run has one message.
    for times, limit in ((25, 20), (10, 500), (2, 10_000)):
        seconds = str(limit / 1000)
        done = python(
            *("-c", LINES, str(times)), KERNELTK_HOST_TIME_LIMIT=seconds, KERNELTK_HOST_DEBUG=debug
        )
        messages = [line for line in done.stdout.splitlines() if line.startswith("In ")]
        assert len(messages) == times
        assert all("the launch did not end within " in message for message in messages)
        if len(set(messages)) == 1:
            break
    # The same wherever the thread is: a function that checks memory may have no frame yet.
    (message,) = set(messages)
    assert "thread (9, 0, 0)" in message
    assert f"the launch did not end within {limit} ms; meanwhile " in message
    assert ":6." in message  # where the others wait
    assert (":4: the launch" in message) == bool(debug)
    assert ("KERNELTK_HOST_DEBUG=symbols" in done.stdout) == (not debug)


def test_a_recursion_ends_where_the_process_sets_no_limit() -> None:
    # Compilers for GPUs take the limit of the first thread's stack away.
    code = """
import resource
import shutil
import numpy as np
import kerneltk
resource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
deep = "__device__ int deep(int n) { volatile int a = n; return n ? deep(n + 1) + a : 0; }"
kernel = kerneltk.RawKernel(deep + "__global__ void f(int* y) { y[0] = deep(1); }", "f")
try:
    kernel(1, 4, (np.zeros(4, np.int32),))
except kerneltk.LaunchError as error:
    print(error)
"""
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if hard != resource.RLIM_INFINITY:
        code = code.replace("(resource.RLIM_INFINITY, resource.RLIM_INFINITY)", f"({hard}, {hard})")
    done = python("-c", code)
    assert done.returncode == 0
    assert "its stack is full" in done.stdout


def kernel(parameters: str, body: str = "", before: str = "", **words: Any) -> kerneltk.RawKernel:
    return kerneltk.RawKernel(f"{before}\n__global__ void f({parameters}) {{{body}}}", "f", **words)


def test_lanes_that_take_no_part_give_zero() -> None:
    body = "int v = threadIdx.x + 1; if (v < 9) o[v - 1] = __shfl_down_sync(0xff, v, 4);"
    out = np.zeros(8, np.int32)
    kernel("int* o", body)(1, 32, (out,))
    np.testing.assert_array_equal(out, [5, 6, 7, 8, 0, 0, 0, 0])


_IN_A_LOCALE = """
import locale, sys
import numpy as np
import kerneltk
if sys.argv[1]:
    locale.setlocale(locale.LC_ALL, sys.argv[1])
code = r'''
#include <cstdio>
extern "C" __global__ void k(double x) {
    printf("%g %.2f|%s\\n", x, 2.5f, "ü");
    std::printf("%e\\n", x);
}
'''
kerneltk.RawKernel(code, "k")(1, 1, (1.5,), backend="host")
kerneltk.ElementwiseKernel("T x", "T y", 'printf("%g\\\\n", x); y = x', "e")(np.array([0.5]))
assert locale.format_string("%g", 1.5) == sys.argv[2]
"""


@pytest.mark.exhaustive
def test_printf_knows_no_locale(tmp_path: Path) -> None:
    """Where the locale's source is there; else in the one of C."""
    name, number = "", "1.5"
    localedef = shutil.which("localedef")
    if localedef is not None:
        command = [localedef, "-i", "de_DE", "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8")]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            name, number = "de_DE.UTF-8", "1,5"
    done = python("-c", _IN_A_LOCALE, name, number, LOCPATH=str(tmp_path))
    assert (done.stdout, done.stderr) == ("1.5 2.50|ü\n1.500000e+00\n0.5\n", "")


def test_printf_returns_the_number_of_its_arguments(capfd: pytest.CaptureFixture[str]) -> None:
    code = r"""
    extern "C" __global__ void k(int* x) {
        x[0] = printf("");
        x[1] = printf("%d %5.2f|%%|%-*s%lld\n", 1, 2.5, 4, "a", 3ll);
        x[2] = printf("no more");
        x[3] = printf(nullptr);
    }
    """
    x = np.full(4, 9, np.int32)
    RawKernel(code, "k")(1, 1, (x,))
    assert x.tolist() == [0, 5, 0, -1]
    assert capfd.readouterr().out == "1  2.50|%|a   3\nno more"
