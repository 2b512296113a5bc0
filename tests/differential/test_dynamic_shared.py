"""What a launch does wrong is an error on CPU cores: shared memory that it lacks, widths."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import LaunchError, jit
from kerneltk.jit import cuda

from ..processes import python

CODE = r"""
__device__ float* memory() {
    extern __shared__ float s[];
    return s;
}
extern "C" __global__ void back(float* x, int used) {
    extern __shared__ float s[];
    if (!used) return;
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[31 - threadIdx.x];
}
extern "C" __global__ void first(float* x, int used) {
    extern __shared__ float s[];
    if (used && s[0] == 1) x[threadIdx.x] = -1;
}
extern "C" __global__ void by_function(float* x, int used) {
    if (!used) return;
    memory()[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = memory()[31 - threadIdx.x];
}
"""


@jit.rawkernel()
def raw_back(x, used):
    s = jit.shared_memory(np.float32, None)
    t = jit.threadIdx.x
    if used:
        s[t] = x[t]
        jit.syncthreads()
        x[t] = s[31 - t]


@cuda.jit
def waiting_back(x, used):
    s = cuda.shared.array(0, np.float32)
    t = cuda.threadIdx.x
    if used:
        s[t] = x[t]
        cuda.syncthreads_count(1)
        x[t] = s[31 - t]


@jit.rawkernel()
def raw_first(x, used):
    s = jit.shared_memory(np.float32, None)
    if used and s[0] == 1:
        x[jit.threadIdx.x] = -1


MODULE = kerneltk.RawModule(code=CODE)


def launch(name: str, x: Any, used: int, size: int) -> None:
    if name.startswith("raw_"):
        (raw_back if name == "raw_back" else raw_first)((1,), (32,), (x, used), shared_mem=size)
    elif name == "waiting_back":
        waiting_back[1, 32, 0, size](x, used)
    else:
        MODULE.get_function(name)((1,), (32,), (x, used), shared_mem=size)


NAMES = ["back", "by_function", "raw_back", "waiting_back"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [*NAMES, "first", "raw_first"])
def test_memory_that_a_launch_does_not_have(name: str) -> None:
    x = np.arange(32, dtype="f4")
    for _ in range(2):
        with pytest.raises(LaunchError) as caught:
            launch(name, x.copy(), 1, 0)
        message = re.sub(r"thread \(0, 0, 0\)|one of threads \(.*?\)", "THREAD", str(caught.value))
        assert message == (
            f"In kernel '{name}', block (0, 0, 0), THREAD: it uses dynamic shared memory, of which "
            "the launch has 0 bytes.\n  Hint: launch it with as many bytes of shared memory as its "
            "arrays need: their size is 'shared_mem', or an item of 'kernel[grid, block, ...]'."
        )
        launch(name, x, 1, 128)  # which works
        launch(name, x, 1, 128)
        launch(name, x, 0, 0)  # and so does a launch that does not need it
    np.testing.assert_array_equal(x, np.arange(32))


@pytest.mark.parametrize(("options", "declaration"), [
    (("-DDYN=extern __shared__",), "DYN float s[]"),
    (("-DSH=__shared__",), "extern SH float s[]"),
    (("-DDYN(n)=EXT __shared__ float n[]", "-DEXT=extern"), "DYN(s)"),
])  # fmt: skip
def test_memory_that_options_declare(options: tuple[str, ...], declaration: str) -> None:
    body = "s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[threadIdx.x] = s[31 - threadIdx.x];"
    code = f'extern "C" __global__ void back(float* x) {{ {declaration}; {body} }}'
    back, x = kerneltk.RawKernel(code, "back", options=options), np.arange(32, dtype="f4")
    back((1,), (32,), (x,), shared_mem=128)
    np.testing.assert_array_equal(x, np.arange(32)[::-1])
    with pytest.raises(LaunchError, match="dynamic shared memory, of which the launch has 0 bytes"):
        back((1,), (32,), (x,))


@pytest.mark.exhaustive
def test_every_byte_is_guarded() -> None:
    code = (
        'extern "C" __global__ void store(int at) { extern __shared__ char s[]; s[at] = 1; }\n'
        'extern "C" __global__ void load(int at, char* x) {\n'
        "    extern __shared__ char s[];\n    *x = s[at];\n}\n"
        'extern "C" __global__ void other(float* x) { x[blockIdx.x] += 1; }'
    )
    module = kerneltk.RawModule(code=code)
    for at in (0, 4095, 4096, 100_000, 232_447):
        with pytest.raises(LaunchError, match="of which the launch has 0 bytes"):
            module.get_function("store")((1,), (1,), (np.int32(at),), backend="host")
        with pytest.raises(LaunchError, match="of which the launch has 0 bytes"):
            module.get_function("load")((3,), (1,), (np.int32(at), np.zeros(1, "i1")))
    x = np.zeros(4096, "f4")
    module.get_function("other")((4096,), (1,), (x,))  # other kernels of the source do not matter
    np.testing.assert_array_equal(x, 1)


@pytest.mark.parametrize("name", NAMES)
def test_memory_that_a_launch_has(backend: Any, name: str) -> None:
    x = backend.asarray(np.arange(32, dtype="f4"))
    launch(name, x, 1, 128)
    np.testing.assert_array_equal(backend.asnumpy(x), np.arange(32)[::-1])


def test_a_kernel_that_launches_another() -> None:
    code = CODE + (
        'extern "C" __global__ void parent(float* x) {\n'
        "    if (threadIdx.x == 0) back<<<1, 32>>>(x, 1);\n}\n"
    )
    kernel = kerneltk.RawKernel(code, "parent", options=("-rdc=true",))
    with pytest.raises(LaunchError, match=r"'back', .*: it uses dynamic shared memory"):
        kernel((1,), (1,), (np.zeros(32, "f4"),))


FORK = r"""
import ctypes, os, threading
import numpy as np
import kerneltk

code = '''
extern "C" __global__ void wait(unsigned long long* x) {
    extern __shared__ char s[];
    atomicExch(x, (unsigned long long)s);
    while (!atomicAdd(x + 1, 0)) __nanosleep(1000);
}
'''
x = np.zeros(2, np.uint64)
thread = threading.Thread(target=kerneltk.RawKernel(code, "wait"), args=((1,), (1,), (x,)))
thread.start()
while not x[0]:
    thread.join(0.01)
    assert thread.is_alive()
child = os.fork()
if child == 0:
    ctypes.memset(int(x[0]), 1, 232448)
    os._exit(0)
status = os.waitpid(child, 0)[1]
x[1] = 1
thread.join()
print(status)
"""


def test_the_child_of_a_fork_has_the_memory_of_other_threads_back() -> None:
    done = python("-W", "ignore::DeprecationWarning", "-c", FORK)
    assert (done.stdout, done.stderr) == ("0\n", "")


# -- shuffles whose width is known at run time --

RAW_FIRST = kerneltk.RawKernel(
    """extern "C" __global__ void raw_first(int* y, int width) {
    y[threadIdx.x] = __shfl_sync(~0u, threadIdx.x, 0, width);
}""",
    "raw_first",
)


@jit.rawkernel()
def python_first(y, width):
    y[jit.threadIdx.x] = jit.shfl_sync(0xFFFFFFFF, jit.threadIdx.x, 0, width)


SHUFFLES = [RAW_FIRST, python_first]


@pytest.mark.parametrize("kernel", SHUFFLES, ids=["raw", "python"])
@pytest.mark.parametrize("width", [0, -4, 3, 24, 33])
def test_other_widths(kernel: Any, width: int) -> None:
    y = np.zeros(32, np.int32)
    with pytest.raises(LaunchError, match="the width of a shuffle is no power of two from 1 to 32"):
        kernel((1,), (32,), (y, np.int32(width)))
