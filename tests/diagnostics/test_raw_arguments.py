"""What the launch of a raw kernel says of arguments that do not fit: the whole text."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CompileError,
    LaunchError,
    ScalarOverflowError,
)

AXPY = r"""
/* y becomes a x + y. */
extern "C" __global__ void axpy(int n, float a, const float* __restrict__ x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
MOVE = r"""
struct point { int id; double at[2]; };
__global__ void move(point by, float2 pair, const point* from, float4* q, bool b) {}
#define USED  // a macro may name a parameter
"""
axpy = kerneltk.RawKernel(AXPY, "axpy")
move = kerneltk.RawKernel(MOVE, "move")
x = np.arange(100, dtype=np.float32)
y = np.ones(100, np.float32)
frozen = y.copy()
frozen.flags.writeable = False
points = np.zeros(3, np.dtype([("id", np.int32), ("at", np.float64, 2)], align=True))


CASES: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "an argument is missing": (
        lambda: axpy(1, 1, (100, 1, x)),
        ArgumentTypeError,
        """\
Kernel 'axpy' takes 4 arguments, and 3 were given: 'y' is missing.
  code:3: extern "C" __global__ void axpy(int n, float a, const float* __restrict__ x, float* y) {
                                                                                       ^^^^^^^^""",
    ),
    "an argument too many": (
        lambda: axpy(1, 1, (100, 1, x, y, y)),
        ArgumentTypeError,
        """\
Kernel 'axpy' takes 4 arguments, and 5 were given.
  code:3: extern "C" __global__ void axpy(int n, float a, const float* __restrict__ x, float* y) {
                                                                                       ^^^^^^^^
  Hint: this is the last parameter.""",
    ),
    "another dtype": (
        lambda: axpy(1, 1, (100, 1, x.astype(np.float64), y)),
        ArgumentTypeError,
        """\
Parameter 'x' of kernel 'axpy' points to 'float', and the array has dtype 'float64'.
  code:3: extern "C" __global__ void axpy(int n, float a, const float* __restrict__ x, float* y) {
                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  Hint: pass an array of float32, as by 'astype' or 'view'; or pass 'checks=False' to launch without these checks.""",
    ),
    "an array with gaps": (
        lambda: axpy(1, 1, (100, 1, x[::2], y)),
        ArgumentValueError,
        """\
The array for parameter 'x' of kernel 'axpy' has gaps: its shape is (50,) and its strides are (8,) bytes, and a pointer says nothing of them.
  code:3: extern "C" __global__ void axpy(int n, float a, const float* __restrict__ x, float* y) {
                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  Hint: pass 'xp.ascontiguousarray(x)', or its strides, in elements or bytes, for parameters named so, as 'stride', 'pitch' or 'ldx'; or pass 'checks=False' to launch without these checks.""",
    ),
    "a read-only array": (
        lambda: axpy(1, 1, (100, 1, x, frozen)),
        ArgumentValueError,
        """\
The array for parameter 'y' of kernel 'axpy' is read-only, and the pointer is not const.
  code:3: extern "C" __global__ void axpy(int n, float a, const float* __restrict__ x, float* y) {
                                                                                       ^^^^^^^^
  Hint: pass a copy, or declare the pointer const if the kernel only reads; or pass 'checks=False' to launch without these checks.""",
    ),
    "an int out of range": (
        lambda: axpy(1, 1, (1 << 40, 1, x, y)),
        ScalarOverflowError,
        """\
Parameter 'n' of kernel 'axpy' is 'int', and 1099511627776 does not fit: it holds -2147483648 to 2147483647.
  code:3: extern "C" __global__ void axpy(int n, float a, const float* __restrict__ x, float* y) {
                                          ^^^^^""",
    ),
    "a fraction for an int": (
        lambda: axpy(1, 1, (1.5, 1, x, y)),
        ArgumentTypeError,
        """\
Parameter 'n' of kernel 'axpy' is 'int', and 1.5 is not an integer.
  code:3: extern "C" __global__ void axpy(int n, float a, const float* __restrict__ x, float* y) {
                                          ^^^^^
  Hint: convert it with 'int(x)'.""",
    ),
    "a float out of range": (
        lambda: axpy(1, 1, (1, 1e300, x, y)),
        ScalarOverflowError,
        """\
Parameter 'a' of kernel 'axpy' is 'float', and 1e+300 is beyond its range.
  code:3: extern "C" __global__ void axpy(int n, float a, const float* __restrict__ x, float* y) {
                                                 ^^^^^^^""",
    ),
    "a str for a number": (
        lambda: axpy(1, 1, (1, "a", x, y)),
        ArgumentTypeError,
        """\
Parameter 'a' of kernel 'axpy' is 'float', and an object of type 'str' was given.
  code:3: extern "C" __global__ void axpy(int n, float a, const float* __restrict__ x, float* y) {
                                                 ^^^^^^^""",
    ),
    "an array for a number": (
        lambda: axpy(1, 1, (x, 1, x, y)),
        ArgumentTypeError,
        """\
Parameter 'n' of kernel 'axpy' is 'int', and an object of type 'ndarray' was given.
  code:3: extern "C" __global__ void axpy(int n, float a, const float* __restrict__ x, float* y) {
                                          ^^^^^
  Hint: pass a number.""",
    ),
    "a number for a pointer": (
        lambda: axpy(1, 1, (1, 1, 7, y)),
        ArgumentTypeError,
        """\
Parameter 'x' of kernel 'axpy' is a pointer, and the number 7 was given: what lies at an address of host memory is unknown.
  code:3: extern "C" __global__ void axpy(int n, float a, const float* __restrict__ x, float* y) {
                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  Hint: pass an array, or None for a null pointer; or pass 'checks=False' to launch without these checks.""",
    ),
    "a float for a pointer": (
        lambda: axpy(1, 1, (1, 1, 2.5, y)),
        ArgumentTypeError,
        """\
Parameter 'x' of kernel 'axpy' is a pointer, and an object of type 'float' was given.
  code:3: extern "C" __global__ void axpy(int n, float a, const float* __restrict__ x, float* y) {
                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  Hint: pass an array, or None for a null pointer.""",
    ),
    "too many threads": (
        lambda: axpy(1, 2000, (1, 1, x, y)),
        ArgumentValueError,
        """\
A block of kernel 'axpy' can have 1024 threads, and (2000, 1, 1) is 2000.
  Hint: use a smaller block and a larger grid.""",
    ),
    "too many blocks": (
        lambda: axpy((1, 70000), 1, (1, 1, x, y)),
        ArgumentValueError,
        """\
The grid of kernel 'axpy' can have 65535 along y, not 70000.""",
    ),
    "too much shared memory": (
        lambda: axpy(1, 1, (1, 1, x, y), shared_mem=10**6),
        ArgumentValueError,
        """\
Kernel 'axpy' can have 232448 bytes of dynamic shared memory, and 1000000 were asked for.""",
    ),
    "arguments that are no tuple": (
        lambda: axpy(1, 1, x),
        ArgumentTypeError,
        """\
The arguments of kernel 'axpy' must be a tuple, not an object of type 'ndarray'.
  Hint: a tuple of one is written '(x,)'.""",
    ),
    "an unknown keyword": (
        lambda: axpy(1, 1, (1, 1, x, y), size=2),
        ArgumentTypeError,
        """\
A launch of kernel 'axpy' takes no keyword 'size'.
  Hint: it takes shared_mem, stream, cooperative, cluster, programmatic, exited_arrive, checks, backend.""",
    ),
    "clusters": (
        lambda: axpy(1, 1, (1, 1, x, y), cluster=2),
        LaunchError,
        """\
Kernel 'axpy' cannot be launched in clusters of (2, 1, 1) on the host: only GPUs since Hopper have them.""",
    ),
    "an array for a struct": (
        lambda: move(1, 1, (points, 1j, points, x, True)),
        ArgumentTypeError,
        """\
Parameter 'by' of kernel 'move' is 'point' of 24 bytes, and the value has 72.
  code:3: __global__ void move(point by, float2 pair, const point* from, float4* q, bool b) {}
                               ^^^^^^^^
  Hint: give the structured dtype 'align=True', or offsets and an itemsize as in C.""",
    ),
    "a struct of another size": (
        lambda: move(1, 1, (b"123", 1j, points, x, True)),
        ArgumentTypeError,
        """\
Parameter 'by' of kernel 'move' is 'point' of 24 bytes, and the value has 3.
  code:3: __global__ void move(point by, float2 pair, const point* from, float4* q, bool b) {}
                               ^^^^^^^^
  Hint: give the structured dtype 'align=True', or offsets and an itemsize as in C.""",
    ),
    "a vector of another length": (
        lambda: move(1, 1, (points[0], (1, 2, 3), points, x, True)),
        ArgumentTypeError,
        """\
Parameter 'pair' of kernel 'move' is 'float2', which has 2 components, and 3 were given.
  code:3: __global__ void move(point by, float2 pair, const point* from, float4* q, bool b) {}
                                         ^^^^^^^^^^^""",
    ),
    "floats for a struct pointer": (
        lambda: move(1, 1, (points[0], 1j, x, x, True)),
        ArgumentTypeError,
        """\
Parameter 'from' of kernel 'move' points to 'point', and the array has dtype 'float32'.
  code:3: __global__ void move(point by, float2 pair, const point* from, float4* q, bool b) {}
                                                      ^^^^^^^^^^^^^^^^^
  Hint: pass an array of a structured dtype or bytes of itemsize 24, as by 'astype' or 'view'; or pass 'checks=False' to launch without these checks.""",
    ),
    "ints for a vector pointer": (
        lambda: move(1, 1, (points[0], 1j, points, y.astype(np.int64), True)),
        ArgumentTypeError,
        """\
Parameter 'q' of kernel 'move' points to 'float4', and the array has dtype 'int64'.
  code:3: __global__ void move(point by, float2 pair, const point* from, float4* q, bool b) {}
                                                                         ^^^^^^^^^
  Hint: pass an array of float32, as by 'astype' or 'view'; or pass 'checks=False' to launch without these checks.""",
    ),
    "seven for a bool": (
        lambda: move(1, 1, (points[0], 1j, points, y, 7)),
        ArgumentTypeError,
        """\
Parameter 'b' of kernel 'move' is 'bool', and 7 is neither true nor false.
  code:3: __global__ void move(point by, float2 pair, const point* from, float4* q, bool b) {}
                                                                                    ^^^^^^""",
    ),
    "an unknown kernel": (
        lambda: kerneltk.RawKernel(AXPY, "axpi")(1, 1, (x,)),
        CompileError,
        """\
'code' offers no kernel 'axpi': 'axpi' was not declared in this scope.
  Hint: did you mean 'axpy'?""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_whole_text(name: str) -> None:
    call, error, text = CASES[name]
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value).__name__ == error.__name__
    assert str(caught.value) == text
    np.testing.assert_array_equal(y, 1)
