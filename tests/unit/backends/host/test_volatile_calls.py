"""Functions know from where they were called: kernels against models whose lanes run in step."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import kerneltk
from tests.sampling import one_in

from ....conftest import reread_environment

COMPILERS = ["", *(["zig"] if importlib.util.find_spec("ziglang") else [])]
HEAD = r"""
struct Box {
    volatile unsigned* s;
    __device__ void step(unsigned l, unsigned d) { s[l] += s[(l + d) & 31]; }
    __device__ unsigned uneven(unsigned l) const {
        if (l < 16) { s[l] += 1; s[l] += 2; s[l] += 3; }
        return l;
    }
    static __device__ void one_step(volatile unsigned* s, unsigned l, unsigned d) {
        s[l] += s[(l + d) & 31];
    }
    __device__ void operator()(unsigned l) const { s[l] += s[(l + 5) & 31]; }
};
struct Folded {
    volatile unsigned* s;
    unsigned l;
    __device__ Folded(volatile unsigned* s_, unsigned l_) : s(s_), l(l_) {
        s[l] += s[(l + 8) & 31];
        if (l < 9) s[l] += 2;
    }
};
__device__ void step(volatile unsigned* s, unsigned l, unsigned d) { s[l] += s[(l + d) & 31]; }
__device__ unsigned uneven(volatile unsigned* s, unsigned l) {
    s[l] += s[l ^ 1];
    if (l < 16) { s[l] += 1;
        s[l] += 2;
        s[l] += 3; }
    return l;
}
__device__ unsigned first(volatile unsigned* s, unsigned l) { s[l] += s[(l + 16) & 31]; return l; }
__device__ void recursive(volatile unsigned* s, unsigned l, int n) {
    if (n == 0) return;
    s[l] += s[(l + n) & 31];
    if ((l + n) & 1) s[l] += 7;
    recursive(s, l, n - 1);
    s[l] ^= s[(l + 3) & 31];
}
template <class F> __device__ void apply(F f, unsigned l) { f(l); }
template <int N> __device__ void halved(volatile unsigned* s, unsigned l) {
    s[l] += s[(l + N) & 31];
    if (l & N) s[l] += 1;
    halved<N / 2>(s, l);
}
template <> __device__ void halved<0>(volatile unsigned* s, unsigned l) {}
__host__ __device__ constexpr unsigned picked(const volatile unsigned* s, unsigned l) {
    return s ? s[l] : 5u;
}
constexpr unsigned five = picked(nullptr, 0);
__device__ void captured(volatile unsigned* s, unsigned l) {
    auto f = [s, &l](unsigned d) { s[l] += s[(l + d) & 31]; if (l < 7)
        s[l] += 1; };
    f(1); f(2);
    s[l] += s[(l + 16) & 31];
}
"""
L = np.arange(32, dtype=np.uint32)
Vector = np.ndarray[Any, np.dtype[np.uint32]]


def step(s: Vector, distance: int, active: Any = True) -> Vector:
    return np.where(active, s + s[(L + distance) & 31], s)


def plus(s: Vector, number: int, active: Any) -> Vector:
    return np.where(active, s + np.uint32(number), s)


def uneven(s: Vector, active: Any = True) -> Vector:
    return plus(np.where(active, s + s[L ^ 1], s), 6, active & (L < 16))


def recursive(s: Vector, n: int) -> Vector:
    if n == 0:
        return s
    s = recursive(plus(step(s, n), 7, ((L + n) & 1) == 1), n - 1)
    return s ^ s[(L + 3) & 31]


def halved(s: Vector) -> Vector:
    for n in (16, 8, 4, 2, 1):
        s = plus(step(s, n), 1, (L & n) != 0)
    return s


def captured(s: Vector) -> Vector:
    return step(plus(step(plus(step(s, 1), 1, L < 7), 2), 1, L < 7), 16)


def members(s: Vector) -> Vector:
    s = step(step(step(s, 1, L % 2 == 1), 2, L % 2 == 0), 3, L % 2 == 0)
    return step(step(plus(s, 6, L < 16), 16), 2)


def functor(s: Vector) -> Vector:
    return step(plus(step(s, 5, L % 2 == 1), 3, L % 2 == 0), 5)


def applied(s: Vector) -> Vector:
    s = plus(step(s, 1, L < 20), 2, L < 9)
    return step(plus(step(plus(s, 5, L >= 20), 1), 2, L < 9), 16)


def evaluated(s: Vector) -> Vector:
    s = s[(L + 1) & 31] + s[(L + 2) & 31] + np.uint32(5)
    return s + s[L ^ 1]


def pointed(s: Vector) -> Vector:
    return step(step(step(s, 1, L % 2 == 1), 2, L % 2 == 1), 16)


def chosen(s: Vector) -> Vector:
    s = step(uneven(s, L < 8), 16, L >= 8)
    return s + s[L ^ 3]


def looped(s: Vector) -> Vector:
    for k in range(4):
        s = step(s, 1, k <= L % 4)
        if k != 1:
            s = step(s, 4, k <= L % 4)
    return step(s, 16)


def constructed(s: Vector) -> Vector:
    s = plus(step(step(s, 1, L % 2 == 1), 8), 2, L < 9)
    return step(plus(step(uneven(s), 8), 2, L < 9), 16)


KERNELS: dict[str, tuple[str, Callable[[Vector], Vector]]] = {
    "in_arguments": ("first(s, uneven(s, l));", lambda s: step(uneven(s), 16)),
    "in_arguments_of_arguments": (
        "step(s, first(s, uneven(s, l)), 3);",
        lambda s: step(step(uneven(s), 16), 3),
    ),
    "recursion": ("recursive(s, l, 12);", lambda s: recursive(s, 12)),
    "templates": ("halved<16>(s, l);", halved),
    "lambdas": ("captured(s, l);", captured),
    "generic_lambdas": (  # which NVRTC takes with -default-device alone
        "auto f = [](auto s, unsigned l, unsigned d) { s[l] += s[(l + d) & 31]; if (l < 7)\n"
        "s[l] += 1; }; f(s, l, 1); f(s, l, 2);\n s[l] += s[(l + 16) & 31];",
        captured,
    ),
    "members": (
        "Box b{s}; if (l & 1) b.step(l, 1); else { b.step(l, 2); Box::one_step(s, l, 3); }"
        "b.step(b.uneven(l), 16); Box* p = &b; p->step(l, 2);",
        members,
    ),
    "functors": ("Box b{s}; if (l & 1) b(l); else { s[l] += 3; } b(l);", functor),
    "passed_on": (
        "auto f = [s](unsigned k) { s[k] += s[(k + 1) & 31]; if (k < 9) s[k] += 2; };\n"
        "if (l < 20) apply(f, l);\n else s[l] += 5;\n apply(f, l);\n s[l] += s[(l + 16) & 31];",
        applied,
    ),
    "constant_functions": (
        "unsigned v = picked(s, (l + 1) & 31); const unsigned w = picked(s, (l + 2) & 31);"
        "s[l] = v + w + five; s[l] += picked(s, l ^ 1);",
        evaluated,
    ),
    "pointers_to_functions": (
        "void (*f)(volatile unsigned*, unsigned, unsigned) = step;"
        "if (l & 1) { f(s, l, 1); f(s, l, 2); } f(s, l, 16);",
        pointed,
    ),
    "conditions": ("unsigned v = l < 8 ? uneven(s, l) : first(s, l); s[l] += s[v ^ 3];", chosen),
    "loops": (
        "for (unsigned k = 0; k <= (l & 3); ++k) { step(s, l, 1); if (k == 1) continue;"
        "step(s, l, 4); }\n step(s, l, 16);",
        looped,
    ),
    "constructors": (
        "if (l & 1) step(s, l, 1); Folded a(s, l); Folded b(s, uneven(s, l)); step(s, l, 16);",
        constructed,
    ),
}


@pytest.fixture(scope="module", params=COMPILERS, ids=lambda compiler: compiler or "default")
def module(request: pytest.FixtureRequest) -> Iterator[Any]:
    code = HEAD + "".join(
        f'extern "C" __global__ void {name}(unsigned* x) {{'
        "__shared__ volatile unsigned m[32]; volatile unsigned* s = m;"
        f"const unsigned l = threadIdx.x; s[l] = x[l];\n{body}\nx[l] = s[l]; }}\n"
        for name, (body, _) in KERNELS.items()
    )
    with pytest.MonkeyPatch.context() as patch:
        if request.param:
            patch.setenv("KERNELTK_CXX", request.param)
            reread_environment()
        yield kerneltk.RawModule(code=code, options=("-std=c++17", "-default-device"))
    reread_environment()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", one_in(3, KERNELS))
def test_lanes_of_called_functions_run_in_step(module: Any, name: str) -> None:
    x = (np.arange(32) * 2654435761 % 1000).astype(np.uint32)
    expected = KERNELS[name][1](x.copy())
    module.get_function(name)(1, 32, (x,))
    assert np.array_equal(x, expected)
