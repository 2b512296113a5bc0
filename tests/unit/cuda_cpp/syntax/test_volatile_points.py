"""The meeting points that are written into a source, and their numbers."""

from __future__ import annotations

from kerneltk.cuda_cpp.syntax.volatile import with_meetings

from .test_volatile import inside


def test_calls_tell_where_they_are() -> None:
    head = "__device__ void g(volatile int* x) { x[0] = 1; } __device__ void h(int* y) { g(y); } "
    assert inside("h(y);", head) == "_KT_CALL(0, h(y));"
    assert (
        "h(int* y) { _KT_FUNCTION(1) _KT_CALL(0, g(y)); }"
        in with_meetings(f"{head} __global__ void f(int* y) {{ h(y); }}").source
    )


def test_each_use_of_a_macro_has_points() -> None:
    text = """#define STEP(s, n) s##1[t] += \\
    s##1[t + n];  // and so on
#define BOTH(s) STEP(s, 2) STEP(s, 1)
__global__ void f(volatile int* x1) {
    int t = threadIdx.x;
    if (t < 2) { BOTH(
        x) }
    x1[0] = 1;
}"""
    found = with_meetings(text)
    assert not found.unmarked
    assert found.source.split("\n")[3:] == [
        "__global__ void f(volatile int* x1) { _KT_KERNEL(3)",
        "    int t = threadIdx.x;",
        "    if (t < 2) { _KT_TARGET(1, x1[t]) += _KT_LOAD(0, x1[t + 2]); "
        "_KT_TARGET(4, x1[t]) += _KT_LOAD(3, x1[t + 1]);",
        " }",
        "    _KT_TARGET(6, x1[0]) = 1;",
        "}",
    ]


def test_macros_are_those_that_are_in_force() -> None:
    text = """#define PUT(s) s[0] = 1;
__device__ void f(volatile int* x) { PUT(x) }
#undef PUT
#define PUT(s) s[1] = 2;
#ifdef A
#define BOTH(s) PUT(s) PUT(s)
__device__ void g(volatile int* x) { BOTH(x) }
#undef BOTH
#endif
__device__ void BOTH(int* x) {}
"""
    found = with_meetings(text)
    assert not found.unmarked
    assert "f(volatile int* x) { _KT_FUNCTION(1) _KT_TARGET(0, x[0]) = 1; }" in found.source
    assert "_KT_TARGET(0, x[1]) = 2; _KT_TARGET(2, x[1]) = 2; }" in found.source
    assert "__device__ void BOTH(int* x) {}" in found.source


def test_loops_have_points_whatever_stands_in_them() -> None:
    text = """#define EMPTY
__global__ void f(volatile int* x) {
    while (x[0]) { EMPTY x[1] = 1; }
    while (x[2]) {
#pragma unroll
        for (int i = 0; i < 3; ++i) x[i] = 1;
    }
}"""
    found = with_meetings(text).source
    assert "{ _KT_KERNEL(4)\n" in found
    assert found.count("_KT_ROUND(") == 3
