"""CUDA's atomic functions with an order and a scope, on CPU cores."""

from __future__ import annotations

import numpy as np
import pytest

import kerneltk

SOURCE = r"""
__global__ void updates(int* x, float* f, unsigned long long* u) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    __nv_atomic_add(&x[0], 2, __NV_ATOMIC_RELAXED);
    __nv_atomic_fetch_max(&x[1], t, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_fetch_min(&x[2], -t, __NV_ATOMIC_SEQ_CST);
    __nv_atomic_fetch_or(&x[3], 1 << t % 31, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_SYSTEM);
    __nv_atomic_fetch_xor(&x[4], t, __NV_ATOMIC_RELAXED);
    __nv_atomic_and(&x[5], ~(1 << t % 31), __NV_ATOMIC_RELAXED);
    __nv_atomic_sub(&x[6], 1, __NV_ATOMIC_RELEASE);
    __nv_atomic_fetch_add(f, 0.5f, __NV_ATOMIC_RELAXED);
    unsigned long long seen = __nv_atomic_load_n(u, __NV_ATOMIC_ACQUIRE);
    while (!__nv_atomic_compare_exchange_n(u, &seen, seen * 3, true, __NV_ATOMIC_ACQ_REL,
                                           __NV_ATOMIC_RELAXED)) {}
}

// One thread tells the others, which wait in a loop.
__global__ void told(int* flag, int* got) {
    int value = 0;
    if (threadIdx.x == 40) {
        const int news = 7;
        __nv_atomic_store(&flag[blockIdx.x], &news, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_BLOCK);
    }
    while (value == 0) __nv_atomic_load(&flag[blockIdx.x], &value, __NV_ATOMIC_ACQUIRE);
    __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
    got[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void exchanged(long long* x, double* y, long long* old, double* was, bool* done) {
    long long expected = 2;
    done[0] = __nv_atomic_compare_exchange_n(&x[0], &expected, 3, false, 5, 0);
    old[0] = expected;
    done[1] = __nv_atomic_compare_exchange_n(&x[0], &expected, 4, false, 5, 0);
    old[1] = __nv_atomic_exchange_n(&x[1], 10, __NV_ATOMIC_RELAXED);
    __nv_atomic_store_n(&x[2], 11, __NV_ATOMIC_RELEASE);
    double before = 5;
    const double value = 9.5;
    done[2] = __nv_atomic_compare_exchange(&y[0], &before, &value, false, 5, 0);
    __nv_atomic_exchange(&y[0], &value, &was[0], __NV_ATOMIC_RELAXED);
}
"""


@pytest.mark.exhaustive
def test_updates() -> None:
    kernel = kerneltk.RawKernel(SOURCE, "updates")
    x = np.array([0, 0, 0, 0, 0, -1, 0], np.int32)
    f, u = np.zeros(1, np.float32), np.ones(1, np.uint64)
    kernel((4,), (64,), (x, f, u))
    x_or = np.array(-(2**31), np.int64)
    assert x.tolist() == [512, 255, -255, 2**31 - 1, 0, int(x_or), -256]
    assert f[0] == 128
    assert int(u[0]) == pow(3, 256, 2**64)


def test_who_loads_in_a_loop_lets_others_run() -> None:
    flag, got = np.zeros(3, np.int32), np.zeros(3 * 64, np.int32)
    kerneltk.RawKernel(SOURCE, "told")(3, 64, (flag, got))
    assert (got == 7).all()


@pytest.mark.exhaustive
def test_exchanges() -> None:
    x, old, done = np.array([1, 5, 6]), np.zeros(2, np.int64), np.zeros(3, bool)
    y, was = np.array([5.0]), np.zeros(1)
    kerneltk.RawKernel(SOURCE, "exchanged")(1, 1, (x, y, old, was, done))
    assert x.tolist() == [4, 10, 11]
    assert old.tolist() == [1, 5]
    assert done.tolist() == [False, True, True]
    assert y[0] == was[0] == 9.5


def test_nvrtc_has_the_same() -> None:
    module = kerneltk.RawModule(code=SOURCE)
    assert module.compile_for("sm_90").code
