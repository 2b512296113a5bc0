"""Barriers of kernels in Python that only some threads of a block reach: an error on the CPU.

Threads that have left by ``return`` count as arrived, as on a GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import LaunchError, jit
from kerneltk.jit import cuda


@jit.rawkernel()
def under_a_condition(y, n):
    if jit.threadIdx.x < 4:
        jit.syncthreads()
    y[jit.threadIdx.x] = 1


@jit.rawkernel()
def returned_and_missed(y, n):
    t = jit.threadIdx.x
    if t >= n:
        return
    if t < 4:
        jit.syncthreads()
    y[t] = 1


@cuda.jit
def as_often_as_its_index(y, n):
    t = cuda.threadIdx.x
    for _ in range(t):
        cuda.syncthreads()
    y[t] = 1


@cuda.jit(device=True)
def waits(y):
    cuda.syncthreads()


@cuda.jit
def in_a_function(y, n):
    t = cuda.threadIdx.x
    if t % 2:
        waits(y)
    y[t] = 1


@cuda.jit
def behind_a_break(y, n):
    t = cuda.threadIdx.x
    for k in range(n):
        if k == t:
            break
        cuda.syncthreads()
    y[t] = 1


MISSED = [
    (under_a_condition, 4, 4),
    (returned_and_missed, 4, 4),
    (as_often_as_its_index, 0, 7),
    (in_a_function, 0, 4),
    (behind_a_break, 0, 7),
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("kernel", "thread", "count"), MISSED)
def test_a_barrier_that_threads_miss_is_reported(kernel: Any, thread: int, count: int) -> None:
    wanted = (
        rf"thread \({thread}, 0, 0\) has left the kernel, while {count} threads wait at .*\.py:\d+"
    )
    for _ in range(2):  # the kernel is as it was
        with pytest.raises(LaunchError, match=wanted):
            kernel[2, 8](np.zeros(8), 6)


@jit.rawkernel()
def left_before(y, n):
    t = jit.threadIdx.x
    if t >= n:
        return
    y[t] += jit.shfl_xor_sync(0xFFFFFFFF, y[t], 1)
    jit.syncthreads()
    total = y[n - 1 - t]
    jit.syncthreads()
    y[t] = total
    if t >= 2:
        return
    jit.syncthreads()
    y[t] += 1


@cuda.jit
def left_and_counted(y, n):
    t = cuda.threadIdx.x
    if t >= n:
        return
    y[t] = cuda.syncthreads_count(t % 2 == 0)


@cuda.jit
def one_in_each_branch(y, n):
    t = cuda.threadIdx.x
    part = cuda.shared.array(64, np.float64)
    part[t] = t
    if t % 2:
        cuda.syncthreads()
        y[t] = part[63 - t]
    else:
        cuda.syncthreads()
        y[t] = part[t]


@pytest.mark.exhaustive
def test_threads_that_returned_count_as_arrived(backend: Any) -> None:
    x = np.arange(64.0)
    y = backend.asarray(x)
    left_before[1, 64](y, 32)
    pairs = x[:32].reshape(16, 2).sum(1).repeat(2)[::-1]
    wanted = np.concatenate([pairs, x[32:]])
    wanted[:2] += 1
    np.testing.assert_array_equal(backend.asnumpy(y), wanted)
    y = backend.asarray(np.zeros(64))
    left_and_counted[1, 64](y, 33)
    np.testing.assert_array_equal(backend.asnumpy(y), np.where(x < 33, 17, 0))


def test_a_barrier_in_each_branch(backend: Any) -> None:
    y = backend.asarray(np.zeros(64))
    one_in_each_branch[1, 64](y, 0)
    t = np.arange(64)
    np.testing.assert_array_equal(backend.asnumpy(y), np.where(t % 2, 63 - t, t))
