"""Programs of the kinds that numba-cuda's documentation shows, with ``cuda`` from kerneltk.jit.

Nothing but that import tells them from programs for numba.
"""

from __future__ import annotations

import collections
import math
from typing import Any

import numpy as np
import pytest

from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    LaunchError,
    SignatureError,
    TypingError,
    UnsupportedError,
)
from kerneltk.jit import cuda
from kerneltk.jit.numba import host_arrays
from kerneltk.jit.numba.options import parse_signature

TPB = 16
FULL = 0xFFFFFFFF


@pytest.fixture(autouse=True)
def _device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``to_device`` and its kin be the backend's, on machines with a GPU too."""
    if "backend" in request.fixturenames and request.getfixturevalue("backend").name == "host":
        monkeypatch.setattr(host_arrays, "library", host_arrays.HostLibrary)


def rng() -> np.random.Generator:
    return np.random.default_rng(20240229)


# -- writing kernels -----------------------------------------------------------------------------


@cuda.jit
def increase(values):
    tx = cuda.threadIdx.x
    ty = cuda.blockIdx.x
    bw = cuda.blockDim.x
    pos = tx + ty * bw
    if pos < values.size:
        values[pos] += 1


def test_increase_by_coordinates(backend: Any) -> None:
    x = cuda.to_device(np.arange(100, dtype=np.int32))
    threads = 32
    increase[math.ceil(x.size / threads), threads](x)
    np.testing.assert_array_equal(x.copy_to_host(), np.arange(1, 101))


@cuda.jit
def increase_plane(values):
    x, y = cuda.grid(2)
    if x < values.shape[0] and y < values.shape[1]:
        values[x, y] += 1


def test_increase_in_two_dimensions(backend: Any) -> None:
    start = rng().random((37, 21))
    x = backend.asarray(start.copy())
    threads = (16, 16)
    blocks = (math.ceil(x.shape[0] / threads[0]), math.ceil(x.shape[1] / threads[1]))
    increase_plane[blocks, threads](x)
    np.testing.assert_array_equal(backend.asnumpy(x), start + 1)


@cuda.jit
def axpy(r, a, x, y):
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, x.shape[0], stride):
        r[i] = a * x[i] + y[i]


def test_loop_with_the_grid_as_its_step(backend: Any) -> None:
    x, y = rng().random((2, 1000))
    r, dx, dy = backend.asarrays(np.zeros(1000), x, y)
    axpy[3, 64](r, 2.5, dx, dy)
    np.testing.assert_allclose(backend.asnumpy(r), 2.5 * x + y, rtol=1e-15)


def test_one_thread_a_task(backend: Any) -> None:
    for n in (0, 1, 255, 256, 1000):
        x = backend.asarray(np.zeros(n, np.int64))
        increase.forall(n)(x)
        np.testing.assert_array_equal(backend.asnumpy(x), np.ones(n))
    x = backend.asarray(np.zeros(70, np.int64))
    increase.forall(70, tpb=32)(x)
    np.testing.assert_array_equal(backend.asnumpy(x), np.ones(70))
    with pytest.raises(ArgumentValueError, match="-1 tasks"):
        increase.forall(-1)


@cuda.jit
def shape_of_the_grid(out):
    i, j, k = cuda.grid(3)
    w, h, d = cuda.gridsize(3)
    out[i, j, k] = (
        cuda.gridDim.x * 100 + cuda.blockDim.y * 10 + cuda.blockIdx.z + (w + h + d) * 1000
    )


def test_three_dimensions(backend: Any) -> None:
    out = backend.asarray(np.zeros((4, 6, 2), np.int64))
    shape_of_the_grid[(2, 3, 2), (2, 2, 1)](out)
    expected = np.broadcast_to(2 * 100 + 20 + np.arange(2) + 12000, (4, 6, 2))
    np.testing.assert_array_equal(backend.asnumpy(out), expected)


# -- vector addition, with copies ----------------------------------------------------------------


@cuda.jit
def add_vectors(a, b, c):
    tid = cuda.grid(1)
    size = len(c)
    if tid < size:
        c[tid] = a[tid] + b[tid]


def test_vector_addition_with_copies(backend: Any) -> None:
    n = 10000
    first, second = rng().random((2, n))
    a, b = cuda.to_device(first), cuda.to_device(second)
    c = cuda.device_array_like(a)
    add_vectors.forall(len(a))(a, b, c)
    np.testing.assert_array_equal(c.copy_to_host(), first + second)
    kept = np.empty(n)
    assert c.copy_to_host(kept) is kept
    np.testing.assert_array_equal(kept, first + second)


def test_numpy_arrays_are_taken_as_they_are(backend: Any) -> None:
    c = np.zeros(100)
    add_vectors[4, 32](np.ones(100), np.arange(100.0), c)
    np.testing.assert_array_equal(c, np.arange(100) + 1)


# -- matrix products -----------------------------------------------------------------------------


@cuda.jit
def matmul(A, B, C):  # noqa: N803
    i, j = cuda.grid(2)
    if i < C.shape[0] and j < C.shape[1]:
        total = 0.0
        for k in range(A.shape[1]):
            total += A[i, k] * B[k, j]
        C[i, j] = total


@cuda.jit
def fast_matmul(A, B, C):  # noqa: N803
    left = cuda.shared.array(shape=(TPB, TPB), dtype=np.float32)
    right = cuda.shared.array(shape=(TPB, TPB), dtype=np.float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    total = np.float32(0.0)
    for part in range((A.shape[1] + TPB - 1) // TPB):
        left[ty, tx] = 0
        right[ty, tx] = 0
        if y < A.shape[0] and tx + part * TPB < A.shape[1]:
            left[ty, tx] = A[y, tx + part * TPB]
        if x < B.shape[1] and ty + part * TPB < B.shape[0]:
            right[ty, tx] = B[ty + part * TPB, x]
        cuda.syncthreads()
        for k in range(TPB):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = total


@pytest.mark.parametrize("kernel", [matmul, fast_matmul], ids=["plain", "tiles"])
def test_matrix_product(backend: Any, kernel: Any) -> None:
    a = rng().random((23, 44), np.float32)
    b = rng().random((44, 31), np.float32)
    da, db, dc = backend.asarrays(a, b, np.zeros((23, 31), np.float32))
    kernel[(2, 2), (TPB, TPB)](da, db, dc)
    np.testing.assert_allclose(backend.asnumpy(dc), a @ b, rtol=1e-5)


TILE = 32
ROWS = 8


@cuda.jit
def transpose(source, target):
    tile = cuda.shared.array((TILE, TILE + 1), np.float32)
    x = cuda.blockIdx.x * TILE + cuda.threadIdx.x
    y = cuda.blockIdx.y * TILE + cuda.threadIdx.y
    for j in range(0, TILE, ROWS):
        if x < source.shape[1] and y + j < source.shape[0]:
            tile[cuda.threadIdx.y + j, cuda.threadIdx.x] = source[y + j, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * TILE + cuda.threadIdx.x
    y = cuda.blockIdx.x * TILE + cuda.threadIdx.y
    for j in range(0, TILE, ROWS):
        if x < target.shape[1] and y + j < target.shape[0]:
            target[y + j, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y + j]


def test_transpose_by_padded_tiles(backend: Any) -> None:
    x = rng().random((50, 70), np.float32)
    source, target = backend.asarrays(x, np.zeros((70, 50), np.float32))
    transpose[(3, 2), (TILE, ROWS)](source, target)
    np.testing.assert_array_equal(backend.asnumpy(target), x.T)


# -- reductions ----------------------------------------------------------------------------------


THREADS = 64


@cuda.jit
def block_total(data):
    tid = cuda.threadIdx.x
    size = len(data)
    if tid < size:
        i = cuda.grid(1)
        shr = cuda.shared.array(THREADS, np.int32)
        shr[tid] = data[i]
        cuda.syncthreads()
        s = 1
        while s < cuda.blockDim.x:
            if tid % (2 * s) == 0:
                shr[tid] += shr[tid + s]
            s *= 2
            cuda.syncthreads()
        if tid == 0:
            data[cuda.blockIdx.x] = shr[tid]


def test_reduction_in_shared_memory(backend: Any) -> None:
    x = backend.asarray(np.arange(THREADS, dtype=np.int32))
    block_total[1, THREADS](x)
    assert backend.asnumpy(x)[0] == THREADS * (THREADS - 1) // 2


@cuda.jit
def total_by_atomics(x, out):
    kept = cuda.shared.array(1, np.float64)
    if cuda.threadIdx.x == 0:
        kept[0] = 0
    cuda.syncthreads()
    part = 0.0
    for i in range(cuda.grid(1), len(x), cuda.gridsize(1)):
        part += x[i]
    cuda.atomic.add(kept, 0, part)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(out, 0, kept[0])


def test_reduction_by_atomics(backend: Any) -> None:
    data = rng().random(5000)
    x, out = backend.asarrays(data, np.zeros(1))
    total_by_atomics[4, 96](x, out)
    np.testing.assert_allclose(backend.asnumpy(out)[0], data.sum(), rtol=1e-12)


@cuda.jit(device=True)
def warp_total(value):
    offset = 16
    while offset > 0:
        value += cuda.shfl_down_sync(FULL, value, offset)
        offset //= 2
    return value


@cuda.jit
def total_by_shuffles(x, out):
    parts = cuda.shared.array(32, np.float32)
    i = cuda.grid(1)
    lane = cuda.threadIdx.x % cuda.warpsize
    warp = cuda.threadIdx.x // cuda.warpsize
    value = warp_total(x[i] if i < x.size else np.float32(0))
    if lane == 0:
        parts[warp] = value
    cuda.syncthreads()
    if warp == 0:
        value = parts[lane] if lane < cuda.blockDim.x // cuda.warpsize else np.float32(0)
        value = warp_total(value)
        if lane == 0:
            cuda.atomic.add(out, 0, value)


def test_reduction_by_shuffles(backend: Any) -> None:
    data = rng().random(1000, np.float32)
    x, out = backend.asarrays(data, np.zeros(1, np.float32))
    total_by_shuffles[8, 128](x, out)
    np.testing.assert_allclose(backend.asnumpy(out)[0], data.sum(), rtol=1e-5)


# -- Monte-Carlo ---------------------------------------------------------------------------------


@cuda.jit(device=True)
def random_number(seed):
    """Return a number in [0, 1) that a hash makes of an index."""
    h = np.uint32(seed)
    h = (h ^ np.uint32(61)) ^ (h >> np.uint32(16))
    h *= np.uint32(9)
    h ^= h >> np.uint32(4)
    h *= np.uint32(0x27D4EB2D)
    h ^= h >> np.uint32(15)
    return np.float64(h) / 4294967296.0


@cuda.jit
def estimate_pi(count, inside):
    i = cuda.grid(1)
    hits = 0
    for k in range(count):
        seed = 2 * (i * count + k)
        x, y = random_number(seed), random_number(seed + 1)
        if x * x + y * y <= 1.0:
            hits += 1
    cuda.atomic.add(inside, 0, hits)


def test_monte_carlo_estimate_of_pi(backend: Any) -> None:
    inside = backend.asarray(np.zeros(1, np.int64))
    estimate_pi[4, 64](200, inside)
    assert backend.asnumpy(inside)[0] * 4 / (256 * 200) == pytest.approx(math.pi, abs=0.05)


@cuda.jit(device=True)
def integrand(x):
    return 1.0 / x


@cuda.jit
def integrate(low, width, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = integrand(low + random_number(i) * width)


def test_monte_carlo_integral(backend: Any) -> None:
    samples = 10000
    out = backend.asarray(np.zeros(samples, np.float32))
    integrate.forall(samples)(1.0, 1.0, out)
    assert backend.asnumpy(out).mean() == pytest.approx(math.log(2), abs=0.01)


# -- device functions ----------------------------------------------------------------------------


@cuda.jit(device=True, inline=True)
def mandel(x, y, iterations):
    c = complex(x, y)
    z = 0.0j
    for i in range(iterations):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag >= 4:
            return i
    return iterations


@cuda.jit
def mandel_image(min_x, max_x, min_y, max_y, image, iterations):
    height = image.shape[0]
    width = image.shape[1]
    start_x, start_y = cuda.grid(2)
    step_x = (max_x - min_x) / width
    step_y = (max_y - min_y) / height
    for x in range(start_x, width, cuda.gridDim.x * cuda.blockDim.x):
        for y in range(start_y, height, cuda.gridDim.y * cuda.blockDim.y):
            image[y, x] = mandel(min_x + x * step_x, min_y + y * step_y, iterations)


def test_mandelbrot_set(backend: Any) -> None:
    image = backend.asarray(np.zeros((24, 36), np.uint8))
    mandel_image[(2, 2), (8, 4)](-2.0, 1.0, -1.0, 1.0, image, 20)
    expected = np.zeros((24, 36), np.uint8)
    for y in range(24):
        for x in range(36):
            expected[y, x] = mandel.__wrapped__(-2 + x * 3 / 36, -1 + y * 2 / 24, 20)
    found = backend.asnumpy(image)
    assert np.count_nonzero(found != expected) <= 3  # at the set's border one rounding counts


@cuda.jit(device=True)
def normal_distribution(d):
    k = 1.0 / (1.0 + 0.2316419 * math.fabs(d))
    series = k * (
        0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
    )
    found = 0.3989422804014327 * math.exp(-0.5 * d * d) * series
    return 1.0 - found if d > 0 else found


@cuda.jit("void(float64[:], float64[:], float64[:], float64, float64, float64[:], float64[:])")
def black_scholes(stock, strike, years, riskless, volatility, call, put):
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    if i >= stock.shape[0]:
        return
    root = math.sqrt(years[i])
    d1 = (math.log(stock[i] / strike[i]) + (riskless + 0.5 * volatility**2) * years[i]) / (
        volatility * root
    )
    d2 = d1 - volatility * root
    cnd1, cnd2 = normal_distribution(d1), normal_distribution(d2)
    discounted = strike[i] * math.exp(-riskless * years[i])
    call[i] = stock[i] * cnd1 - discounted * cnd2
    put[i] = discounted * (1.0 - cnd2) - stock[i] * (1.0 - cnd1)


def test_black_scholes(backend: Any) -> None:
    generator = rng()
    stock, strike = generator.uniform(5, 30, 200), generator.uniform(1, 100, 200)
    years = generator.uniform(0.25, 10, 200)
    made = backend.asarrays(stock, strike, years)
    call, put = backend.asarrays(np.zeros(200), np.zeros(200))
    black_scholes[7, 32](*made, 0.02, 0.3, call, put)
    # Calls and puts are tied by what their difference is worth.
    parity = stock - strike * np.exp(-0.02 * years)
    np.testing.assert_allclose(
        backend.asnumpy(call) - backend.asnumpy(put), parity, rtol=1e-9, atol=1e-9
    )
    assert backend.asnumpy(call).min() > -1e-4


@cuda.jit(device=True)
def smaller_and_larger(a, b):
    if a < b:
        return a, b
    return b, a


@cuda.jit(device=True)
def largest_of_row(row):
    found = row[0]
    for k in range(1, row.shape[0]):
        found = max(found, row[k])
    return found


@cuda.jit
def rows(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        low, high = smaller_and_larger(x[i, 0], x[i, -1])
        out[i, 0] = low
        out[i, 1] = high
        out[i, 2] = largest_of_row(x[i, 1:])


def test_device_functions_take_views_and_return_tuples(backend: Any) -> None:
    data = rng().integers(0, 1000, (40, 7))
    x, out = backend.asarrays(data, np.zeros((40, 3), np.int64))
    rows[2, 32](x, out)
    ends = np.sort(data[:, [0, -1]], axis=1)
    expected = np.column_stack([ends, data[:, 1:].max(axis=1)])
    np.testing.assert_array_equal(backend.asnumpy(out), expected)


@cuda.jit
def both(x):
    add_one_at(x, cuda.grid(1))


@cuda.jit
def add_one_at(x, i):
    if i < x.size:
        x[i] += 1


def test_kernels_are_device_functions_too(backend: Any) -> None:
    x = backend.asarray(np.zeros(10, np.int32))
    both[1, 32](x)
    add_one_at[1, 1](x, 3)
    expected = np.ones(10)
    expected[3] = 2
    np.testing.assert_array_equal(backend.asnumpy(x), expected)


@cuda.jit
def sines(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = np.sin(x[i]) + np.arctan2(x[i], np.float32(2)) + math.erf(x[i])


def test_functions_of_numpy_and_math(backend: Any) -> None:
    data = rng().uniform(-3, 3, 100).astype(np.float32)
    x, out = backend.asarrays(data, np.zeros(100, np.float32))
    sines[4, 32](x, out)
    expected = np.sin(data) + np.arctan2(data, 2) + np.vectorize(math.erf)(data)
    np.testing.assert_allclose(backend.asnumpy(out), expected, rtol=1e-5, atol=1e-6)


# -- memory --------------------------------------------------------------------------------------


WEIGHTS = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]], np.float32) / 16


@cuda.jit
def blur(image, out):
    weights = cuda.const.array_like(WEIGHTS)
    x, y = cuda.grid(2)
    h, w = image.shape
    if x < w and y < h:
        total = np.float32(0)
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                r = min(max(y + dy, 0), h - 1)
                c = min(max(x + dx, 0), w - 1)
                total += weights[dy + 1, dx + 1] * image[r, c]
        out[y, x] = total


def test_convolution_with_constant_weights(backend: Any) -> None:
    data = rng().random((30, 45), np.float32)
    image, out = backend.asarrays(data, np.zeros_like(data))
    blur[(3, 2), (16, 16)](image, out)
    padded = np.pad(data, 1, mode="edge")
    expected = sum(
        WEIGHTS[i, j] * padded[i : i + 30, j : j + 45] for i in range(3) for j in range(3)
    )
    np.testing.assert_allclose(backend.asnumpy(out), expected, rtol=1e-5)


@cuda.jit
def medians(x, out):
    i = cuda.grid(1)
    if i < out.size:
        kept = cuda.local.array(5, dtype=np.float64)
        for k in range(5):
            kept[k] = x[i, k]
        for k in range(1, 5):
            j = k
            while j > 0 and kept[j - 1] > kept[j]:
                kept[j - 1], kept[j] = kept[j], kept[j - 1]
                j -= 1
        out[i] = kept[2]


def test_local_array(backend: Any) -> None:
    data = rng().random((50, 5))
    x, out = backend.asarrays(data, np.zeros(50))
    medians[2, 32](x, out)
    np.testing.assert_array_equal(backend.asnumpy(out), np.median(data, axis=1))


@cuda.jit
def two_dynamic_arrays(out_ints, out_floats, n):
    i = cuda.threadIdx.x
    ints = cuda.shared.array(0, dtype=np.int32)[:n]
    floats = cuda.shared.array(0, dtype=np.float32)[n : 2 * n]
    ints[i] = i
    floats[i] = i + 0.5
    cuda.syncthreads()
    out_ints[i] = ints[n - 1 - i]
    out_floats[i] = floats[n - 1 - i]


def test_dynamic_shared_memory_of_two_dtypes(backend: Any) -> None:
    ints, floats = backend.asarrays(np.zeros(16, np.int32), np.zeros(16, np.float32))
    two_dynamic_arrays[1, 16, 0, 16 * 8](ints, floats, 16)
    np.testing.assert_array_equal(backend.asnumpy(ints), np.arange(16)[::-1])
    np.testing.assert_array_equal(backend.asnumpy(floats), np.arange(16)[::-1] + 0.5)


@cuda.jit
def same_dynamic_array(out):
    first = cuda.shared.array(0, dtype=np.int32)
    again = cuda.shared.array(0, dtype=np.uint16)
    first[cuda.threadIdx.x] = cuda.threadIdx.x * 65536 + 7
    cuda.syncthreads()
    out[cuda.threadIdx.x] = again[2 * cuda.threadIdx.x + 1]


def test_dynamic_arrays_lie_at_the_same_place(backend: Any) -> None:
    out = backend.asarray(np.zeros(8, np.int32))
    same_dynamic_array[1, 8, cuda.stream(), 32](out)
    np.testing.assert_array_equal(backend.asnumpy(out), np.arange(8))


# -- atomics -------------------------------------------------------------------------------------


@cuda.jit
def largest(result, values):
    tid = cuda.threadIdx.x
    bid = cuda.blockIdx.x
    i = bid * cuda.blockDim.x + tid
    cuda.atomic.max(result, 0, values[i])
    cuda.atomic.min(result, 1, values[i])


def test_extremes(backend: Any) -> None:
    data = rng().random(256)
    result, values = backend.asarrays(np.array([-1.0, 2.0]), data)
    largest[4, 64](result, values)
    np.testing.assert_array_equal(backend.asnumpy(result), [data.max(), data.min()])


@cuda.jit
def largest_with_indices(result, values):
    i, j, k = cuda.grid(3)
    cuda.atomic.max(result, (0, 1, 2), values[i, j, k])


def test_atomic_with_several_indices(backend: Any) -> None:
    data = rng().random((8, 4, 2))
    result, values = backend.asarrays(np.zeros((3, 3, 3)), data)
    largest_with_indices[(2, 2, 1), (4, 2, 2)](result, values)
    found = backend.asnumpy(result)
    assert found[0, 1, 2] == data.max()
    assert np.count_nonzero(found) == 1


@cuda.jit
def histogram(x, low, high, counts):
    bins = counts.shape[0]
    width = (high - low) / bins
    start, stride = cuda.grid(1), cuda.gridsize(1)
    for i in range(start, x.shape[0], stride):
        place = int((x[i] - low) / width)
        if 0 <= place < bins:
            cuda.atomic.add(counts, place, 1)


def test_histogram(backend: Any) -> None:
    data = rng().normal(size=4000).astype(np.float32)
    x, counts = backend.asarrays(data, np.zeros(16, np.int32))
    histogram[4, 64](x, np.float32(-4), np.float32(4), counts)
    expected = np.histogram(data, 16, (-4, 4))[0]
    found = backend.asnumpy(counts)
    assert found.sum() == expected.sum()
    assert np.abs(found - expected).max() <= 1


@cuda.jit
def guarded_sum(lock, out):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        out[0] += cuda.blockIdx.x
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


def test_lock_by_compare_and_swap(backend: Any) -> None:
    lock, out = backend.asarrays(np.zeros(1, np.int32), np.zeros(1, np.int32))
    guarded_sum[20, 32](lock, out)
    assert backend.asnumpy(out)[0] == 190


@cuda.jit
def first_comer(slot, won):
    i = cuda.grid(1)
    won[i] = cuda.atomic.compare_and_swap(slot, -1, i) == -1


def test_compare_and_swap(backend: Any) -> None:
    slot, won = backend.asarrays(np.full(1, -1, np.int32), np.zeros(64, np.bool_))
    first_comer[2, 32](slot, won)
    np.testing.assert_array_equal(np.flatnonzero(backend.asnumpy(won)), backend.asnumpy(slot))


# -- warps ---------------------------------------------------------------------------------------


@cuda.jit
def compact(x, out, count):
    """Keep what is positive, one place for each lane that votes for it."""
    i = cuda.grid(1)
    keep = x[i] > 0
    votes = cuda.ballot_sync(FULL, keep)
    start = 0
    if cuda.laneid == 0:
        start = cuda.atomic.add(count, 0, cuda.popc(votes))
    start = cuda.shfl_sync(FULL, start, 0)
    if keep:
        out[start + cuda.popc(votes & cuda.lanemask_lt())] = x[i]


def test_compaction_by_votes(backend: Any) -> None:
    data = rng().integers(-50, 50, 128).astype(np.int32)
    x, out, count = backend.asarrays(data, np.zeros(128, np.int32), np.zeros(1, np.int32))
    compact[2, 64](x, out, count)
    n = backend.asnumpy(count)[0]
    assert n == np.count_nonzero(data > 0)
    np.testing.assert_array_equal(np.sort(backend.asnumpy(out)[:n]), np.sort(data[data > 0]))


@cuda.jit
def warp_scan(x):
    i = cuda.grid(1)
    value = x[i]
    step = 1
    while step < 32:
        below = cuda.shfl_up_sync(FULL, value, step)
        if cuda.laneid >= step:
            value += below
        step *= 2
    x[i] = value


def test_scan_of_warps(backend: Any) -> None:
    data = rng().integers(0, 9, (3, 32))
    x = backend.asarray(data.ravel().copy())
    warp_scan[1, 96](x)
    np.testing.assert_array_equal(backend.asnumpy(x), data.cumsum(axis=1).ravel())


@cuda.jit
def agreement(x, out):
    i = cuda.grid(1)
    out[0, i] = cuda.match_any_sync(FULL, x[i])
    mask, same = cuda.match_all_sync(FULL, x[i] >= 0)
    out[1, i] = mask if same else 0
    out[2, i] = cuda.all_sync(FULL, x[i] < 3)
    out[3, i] = cuda.any_sync(FULL, x[i] == 5)
    cuda.syncwarp()
    out[4, i] = cuda.shfl_xor_sync(FULL, x[i], 1)
    out[5, i] = cuda.activemask()


def test_votes_and_matches(backend: Any) -> None:
    data = rng().integers(0, 3, 32).astype(np.int32)
    x, out = backend.asarrays(data, np.zeros((6, 32), np.int64))
    agreement[1, 32](x, out)
    found = backend.asnumpy(out)
    equal = (data[:, None] == data).astype(np.int64) @ (1 << np.arange(32))
    np.testing.assert_array_equal(found[0], equal)
    np.testing.assert_array_equal(found[1], FULL)
    np.testing.assert_array_equal(found[2:4], [[1] * 32, [0] * 32])
    np.testing.assert_array_equal(found[4], data[np.arange(32) ^ 1])
    np.testing.assert_array_equal(found[5], FULL)


@cuda.jit
def barriers_that_count(x, out):
    i = cuda.threadIdx.x
    n = cuda.syncthreads_count(x[i] > 0)
    every = cuda.syncthreads_and(x[i] > -100)
    some = cuda.syncthreads_or(x[i] > 100)
    out[i] = n * 10 + (2 if every else 0) + (1 if some else 0)


def test_barriers_that_vote(backend: Any) -> None:
    data = rng().integers(-50, 50, 48).astype(np.int32)
    x, out = backend.asarrays(data, np.zeros(48, np.int32))
    barriers_that_count[1, 48](x, out)
    np.testing.assert_array_equal(backend.asnumpy(out), np.count_nonzero(data > 0) * 10 + 2)


# -- single instructions -------------------------------------------------------------------------


@cuda.jit
def instructions(x, ints, floats):
    i = cuda.grid(1)
    ints[0, i] = cuda.popc(x[i])
    ints[1, i] = cuda.clz(x[i])
    ints[2, i] = cuda.ffs(x[i])
    ints[3, i] = cuda.brev(cuda.brev(x[i]))
    ints[4, i] = cuda.selp(x[i] % 2 == 0, 1, -1)
    value = np.float32(x[i])
    floats[0, i] = cuda.fma(value, value, np.float32(1))
    floats[1, i] = cuda.cbrt(value)
    floats[2, i] = cuda.rsqrt(value)
    cuda.nanosleep(10)
    cuda.threadfence_block()
    cuda.threadfence_system()


def test_single_instructions(backend: Any) -> None:
    data = rng().integers(1, 4000, 32).astype(np.uint32)
    x, ints, floats = backend.asarrays(
        data, np.zeros((5, 32), np.int32), np.zeros((3, 32), np.float32)
    )
    instructions[1, 32](x, ints, floats)
    bits = [f"{value:032b}" for value in data]
    expected = [
        [text.count("1") for text in bits],
        [text.index("1") for text in bits],
        [32 - text.rindex("1") for text in bits],
        data,
        np.where(data % 2, -1, 1),
    ]
    np.testing.assert_array_equal(backend.asnumpy(ints), expected)
    wide = data.astype(np.float64)
    np.testing.assert_allclose(
        backend.asnumpy(floats), [wide**2 + 1, np.cbrt(wide), wide**-0.5], rtol=1e-6
    )


# -- records, tuples, complex numbers, booleans --------------------------------------------------


PARTICLE = np.dtype([("x", "f8"), ("y", "f8"), ("mass", "f4"), ("id", "i4")])


@cuda.jit
def move(particles, dx, dy):
    i = cuda.grid(1)
    if i < particles.size:
        particles[i].x += dx
        particles[i]["y"] += dy * particles[i].mass
        one = particles[i]
        particles[i].id = one.id + 100


def test_records(backend: Any) -> None:
    data = np.zeros(10, PARTICLE)
    data["mass"], data["id"] = np.arange(10), np.arange(10)
    particles = backend.asarray(data.copy())
    move[1, 32](particles, 1.0, 0.5)
    found = backend.asnumpy(particles)
    np.testing.assert_array_equal(found["x"], 1)
    np.testing.assert_array_equal(found["y"], 0.5 * np.arange(10))
    np.testing.assert_array_equal(found["id"], np.arange(100, 110))


@cuda.jit
def weighted_sum(arrays, weights, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = arrays[0][i] * weights[0] + arrays[1][i] * weights[1] + len(arrays)


def test_tuples_of_arrays(backend: Any) -> None:
    a, b = rng().random((2, 40))
    da, db, out = backend.asarrays(a, b, np.zeros(40))
    weighted_sum[2, 32]((da, db), (2.0, 3.0), out)
    np.testing.assert_allclose(backend.asnumpy(out), 2 * a + 3 * b + 2, rtol=1e-15)


Box = collections.namedtuple("Box", "low high")


@cuda.jit
def inside(points, box, out):
    i = cuda.grid(1)
    if i < out.size:
        good = True
        for axis in range(2):
            good = good and box.low[axis] <= points[i, axis] < box.high[axis]
        out[i] = good


def test_named_tuples_and_booleans(backend: Any) -> None:
    data = rng().random((60, 2))
    points, out = backend.asarrays(data, np.zeros(60, np.bool_))
    inside[2, 32](points, Box((0.2, 0.1), (0.7, 0.9)), out)
    expected = ((data >= (0.2, 0.1)) & (data < (0.7, 0.9))).all(axis=1)
    np.testing.assert_array_equal(backend.asnumpy(out), expected)


@cuda.jit
def fourier(x, out):
    k = cuda.grid(1)
    n = x.size
    if k < n:
        total = 0j
        for j in range(n):
            angle = -2 * math.pi * j * k / n
            total += x[j] * complex(math.cos(angle), math.sin(angle))
        out[k] = total


def test_complex_numbers(backend: Any) -> None:
    data = rng().random(24) + 1j * rng().random(24)
    x, out = backend.asarrays(data, np.zeros(24, np.complex128))
    fourier[1, 32](x, out)
    np.testing.assert_allclose(backend.asnumpy(out), np.fft.fft(data), atol=1e-12)


NESTED = np.dtype([("place", "f4", (3,)), ("more", [("index", "i4"), ("value", "f8")])])


@cuda.jit
def fill_nested(records):
    i = cuda.threadIdx.x
    for k in range(3):
        records[i].place[k] += k
    records[i]["more"]["index"] = i
    records[i].more.value = records.size


def test_records_in_records_and_arrays_in_records(backend: Any) -> None:
    records = backend.asarray(np.ones(5, NESTED))
    fill_nested[1, 5](records)
    found = backend.asnumpy(records)
    np.testing.assert_array_equal(found["place"], np.tile([1, 2, 3], (5, 1)))
    np.testing.assert_array_equal(found["more"]["index"], np.arange(5))
    np.testing.assert_array_equal(found["more"]["value"], 5)


@cuda.jit
def maybe_masked(x, mask):
    i = cuda.grid(1)
    if mask is not None and not mask[i]:
        return
    x[i] = 1


def test_none_as_an_argument(backend: Any) -> None:
    x, y, mask = backend.asarrays(np.zeros(8), np.zeros(8), np.arange(8) % 3 == 0)
    maybe_masked[1, 8](x, mask)
    maybe_masked[1, 8](y, None)
    np.testing.assert_array_equal(backend.asnumpy(x), np.arange(8) % 3 == 0)
    np.testing.assert_array_equal(backend.asnumpy(y), 1)


@cuda.jit
def take_turns(a, b, steps):
    i = cuda.threadIdx.x
    for _ in range(steps):
        b[i] = a[i] + a[i - 1]
        cuda.syncthreads()
        a, b = b, a


def test_arrays_take_turns(backend: Any) -> None:
    data = rng().integers(0, 9, 16)
    a, b = backend.asarrays(data, np.zeros_like(data))
    take_turns[1, 16](a, b, 3)
    for _ in range(3):
        data = data + np.roll(data, 1)
    np.testing.assert_array_equal(backend.asnumpy(b), data)


# -- stencils ------------------------------------------------------------------------------------


@cuda.jit
def life(cells, out):
    i, j = cuda.grid(2)
    n, m = cells.shape
    if i < n and j < m:
        neighbours = 0
        for di in (-1, 0, 1):
            for dj in (-1, 0, 1):
                if di != 0 or dj != 0:
                    neighbours += cells[(i + di) % n, (j + dj) % m]
        out[i, j] = neighbours == 3 or (neighbours == 2 and cells[i, j])


def test_game_of_life(backend: Any) -> None:
    data = rng().integers(0, 2, (20, 30)).astype(np.uint8)
    cells, out = backend.asarrays(data, np.zeros_like(data))
    life[(2, 2), (16, 16)](cells, out)
    around = sum(np.roll(data, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
    np.testing.assert_array_equal(
        backend.asnumpy(out), (around == 3) | ((around == 2) & (data == 1))
    )


SM = 18


@cuda.jit("void(float64[:,:], float64[:,:], float64[:,:])")
def jacobi(grid, new, error):
    err = cuda.shared.array((16, 16), dtype=np.float64)
    ty = cuda.threadIdx.x
    tx = cuda.threadIdx.y
    i, j = cuda.grid(2)
    n, m = grid.shape
    err[ty, tx] = 0.0
    if 1 <= i < n - 1 and 1 <= j < m - 1:
        new[i, j] = 0.25 * (grid[i, j + 1] + grid[i, j - 1] + grid[i - 1, j] + grid[i + 1, j])
        err[ty, tx] = new[i, j] - grid[i, j]
    cuda.syncthreads()
    t = 16 // 2
    while t > 0:
        if ty < t:
            err[ty, tx] = max(abs(err[ty, tx]), abs(err[ty + t, tx]))
        cuda.syncthreads()
        t //= 2
    t = 16 // 2
    while t > 0:
        if tx < t and ty == 0:
            err[ty, tx] = max(abs(err[ty, tx]), abs(err[ty, tx + t]))
        cuda.syncthreads()
        t //= 2
    if tx == 0 and ty == 0:
        error[cuda.blockIdx.x, cuda.blockIdx.y] = err[0, 0]


def test_jacobi_iterations(backend: Any) -> None:
    start = np.zeros((40, 40))
    start[:, 0] = 1.0
    stream = cuda.stream()
    grid, new = cuda.to_device(start, stream), cuda.to_device(start, stream)
    error = cuda.device_array((3, 3), stream=stream)
    errors = []
    for _ in range(20):
        jacobi[(3, 3), (16, 16), stream](grid, new, error)
        found = error.copy_to_host(stream=stream)
        stream.synchronize()
        errors.append(np.abs(found).max())
        grid, new = new, grid
    expected = start.copy()
    for _ in range(20):
        before = expected.copy()
        expected[1:-1, 1:-1] = 0.25 * (
            before[1:-1, 2:] + before[1:-1, :-2] + before[:-2, 1:-1] + before[2:, 1:-1]
        )
    np.testing.assert_allclose(grid.copy_to_host(), expected, rtol=1e-14)
    assert errors == sorted(errors, reverse=True)


# -- the whole grid waits ------------------------------------------------------------------------


@cuda.jit
def heat(first, second, steps, share):
    """Diffuse heat along a rod whose ends keep theirs; the arrays take turns."""
    i = cuda.grid(1)
    grid = cuda.cg.this_grid()
    for step in range(steps):
        if step % 2 == 0:
            now, then = first, second
        else:
            now, then = second, first
        if i < now.size:
            if 0 < i < now.size - 1:
                then[i] = now[i] + share * (now[i - 1] - 2 * now[i] + now[i + 1])
            else:
                then[i] = now[i]
        grid.sync()


def test_heat_equation(backend: Any) -> None:
    rod = np.zeros(200)
    rod[90:110] = 100
    first, second = backend.asarrays(rod, np.zeros(200))
    heat[4, 64](first, second, 50, 0.25)
    for _ in range(50):
        rod[1:-1] += 0.25 * (rod[:-2] - 2 * rod[1:-1] + rod[2:])
    np.testing.assert_allclose(backend.asnumpy(first), rod, rtol=1e-12, atol=1e-300)


HOUR = np.int64(3600)


@cuda.jit
def sessions(users, times, begins, out):
    """Give each click the index of the click that its session begins with."""
    i = cuda.grid(1)
    n = len(users)
    if i < n:
        begins[i] = i == 0 or users[i] != users[i - 1] or times[i] - times[i - 1] > HOUR
    cuda.cg.this_grid().sync()
    if i < n and begins[i]:
        k = i
        out[k] = i
        while k + 1 < n and not begins[k + 1]:
            k += 1
            out[k] = i


def test_clicks_into_sessions(backend: Any) -> None:
    generator = rng()
    count = 300
    who = np.sort(generator.integers(0, 12, count))
    when = np.concatenate(
        [np.sort(generator.integers(0, 200_000, np.count_nonzero(who == u))) for u in range(12)]
    )
    users, times, begins, out = backend.asarrays(
        who, when, np.zeros(count, np.bool_), np.zeros(count, np.int64)
    )
    sessions[5, 64](users, times, begins, out)
    new = np.r_[True, (who[1:] != who[:-1]) | (np.diff(when) > HOUR)]
    expected = np.maximum.accumulate(np.where(new, np.arange(count), 0))
    np.testing.assert_array_equal(backend.asnumpy(out), expected)


# -- streams, events, devices --------------------------------------------------------------------


def test_streams_and_events(backend: Any) -> None:
    x = cuda.to_device(np.zeros(1000, np.int32))
    stream = cuda.stream()
    start, end = cuda.event(), cuda.event(timing=True)
    cuda.synchronize()
    start.record(stream)
    with stream.auto_synchronize():
        for _ in range(3):
            increase[4, 256, stream](x)
    end.record(stream)
    end.synchronize()
    assert end.query()
    assert cuda.event_elapsed_time(start, end) >= 0
    end.wait(stream)
    np.testing.assert_array_equal(x.copy_to_host(stream=stream), 3)


def test_arrays_of_the_device(backend: Any) -> None:
    x = cuda.device_array((3, 4))
    assert (x.shape, x.dtype, x.is_c_contiguous()) == ((3, 4), np.float64, True)
    y = cuda.device_array((3, 4), np.int16, order="F")
    assert y.is_f_contiguous()
    assert not y.is_c_contiguous()
    z = cuda.device_array_like(y)
    assert (z.dtype, z.is_f_contiguous()) == (np.int16, True)
    turned = cuda.device_array((2, 3, 4), np.float32).transpose(1, 2, 0)
    like = cuda.device_array_like(turned)
    assert (like.shape, like.strides) == (turned.shape, turned.strides)
    assert cuda.device_array_like(turned[:, ::2]).strides == (8, 4, 24)
    z.copy_to_device(np.arange(12, dtype=np.int16).reshape(3, 4))
    np.testing.assert_array_equal(z.copy_to_host(), np.arange(12).reshape(3, 4))
    with pytest.raises(ArgumentTypeError, match="cannot be copied"):
        z.copy_to_device(np.zeros((3, 4)))
    with pytest.raises(ArgumentTypeError, match="cannot be copied"):
        z.copy_to_host(np.zeros(12, np.int16))
    w = cuda.to_device(np.ones((3, 4), np.int16), to=z)
    assert w is z
    assert z.copy_to_host().sum() == 12
    wide = cuda.device_array(4, np.float32, strides=(16,))
    assert wide.strides == (16,)
    increase.forall(4)(wide)


def test_arrays_of_other_libraries(backend: Any) -> None:
    x = cuda.to_device(np.arange(5))
    assert cuda.is_cuda_array(x)
    assert not cuda.is_cuda_array(np.arange(5))
    again = cuda.as_cuda_array(x)
    increase[1, 32](again)
    np.testing.assert_array_equal(x.copy_to_host(), np.arange(1, 6))
    with pytest.raises(ArgumentTypeError, match=r"'list' is no array on the device[^$]*to_device"):
        cuda.as_cuda_array([1, 2])


def test_devices(backend: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert cuda.is_available() == (backend.name == "cuda")
    device = cuda.get_current_device()
    assert device.id == 0
    assert device.WARP_SIZE == 32
    assert device.MULTIPROCESSOR_COUNT >= 1
    assert device.MAX_THREADS_PER_BLOCK == 1024
    assert len(device.compute_capability) == 2
    assert cuda.select_device(0).name == device.name
    assert cuda.detect() == cuda.is_available()
    assert device.name in capsys.readouterr().out
    if backend.name == "host":
        with pytest.raises(ArgumentValueError, match="no device 3"):
            cuda.select_device(3)


# -- the decorator -------------------------------------------------------------------------------


@cuda.jit("(float32[:], int32, UniTuple(float64, 2), Tuple((boolean, i8)))")
def typed(x, n, pair, mixed):
    x[0] = n // 2
    x[1] = pair[0] + pair[1]
    x[2] = 1 if mixed[0] else 0
    x[3] = mixed[1]


def test_signature_converts_numbers(backend: Any) -> None:
    x = backend.asarray(np.zeros(4, np.float32))
    typed[1, 1](x, 7.9, (1, 2), (1, 5.5))
    np.testing.assert_array_equal(backend.asnumpy(x), [3, 3, 1, 5])
    for _, types, _ in typed.cached_codes:
        assert [str(kind) for kind in types][1] == "int32"


def test_signature_refuses_other_arrays(backend: Any) -> None:
    (x,) = backend.asarrays(np.zeros(4))
    with pytest.raises(ArgumentTypeError, match=r"'x'.*is 'float32\[:\]'.*dtype 'float64'"):
        typed[1, 1](x, 1, (1.0, 2.0), (True, 1))
    good = x.astype(np.float32)
    with pytest.raises(ArgumentTypeError, match=r"'pair'.*'UniTuple\(float64, 2\)'"):
        typed[1, 1](good, 1, (1.0, 2.0, 3.0), (True, 1))
    with pytest.raises(ArgumentTypeError, match=r"'n'.*'int32'.*'complex'"):
        typed[1, 1](good, 1j, (1.0, 2.0), (True, 1))


def test_several_signatures_are_left_to_the_arguments(backend: Any) -> None:
    @cuda.jit(["void(float32[:])", "void(float64[:])"])
    def halve(x):
        x[cuda.grid(1)] /= 2

    for dtype in (np.float32, np.float64, np.complex64):
        x = backend.asarray(np.ones(8, dtype))
        halve[1, 8](x)
        np.testing.assert_array_equal(backend.asnumpy(x), 0.5)
    assert len(halve.cached_codes) == 3


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("void(float33)", "'float33' is no type"),
        ("void(float32", "it ends too early"),
        ("void float32", r"'\(' is missing before 'float32'"),
        ("void(float32[:]) x", "'x' follows its end"),
        ("void(UniTuple(int32, n))", "number of its items"),
        ("void(float32[3])", r"'\[3\]\)' is no part of a type"),
        ("", "it ends too early"),
    ],
)
def test_signatures_that_cannot_be_read(text: str, why: str) -> None:
    with pytest.raises(SignatureError, match=why):
        parse_signature(text)


def test_types_that_are_no_text() -> None:
    with pytest.raises(ArgumentTypeError, match="written as text"):
        cuda.jit((np.float32, np.int32))
    with pytest.raises(ArgumentTypeError, match="has 2 parameters, and the function has 1"):
        cuda.jit("void(int32, int32)")(increase)


@pytest.mark.parametrize(
    ("option", "hint"),
    [("link", "RawModule"), ("boundscheck", "KERNELTK_HOST_DEBUG"), ("fast", "fastmath")],
)
def test_unknown_options_are_refused_by_name(option: str, hint: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"no option '{option}'[^$]*{hint}"):
        cuda.jit(**{option: True})


def test_options(backend: Any) -> None:
    @cuda.jit(
        fastmath=True,
        max_registers=40,
        launch_bounds=(128, 2),
        lineinfo=True,
        opt=True,
        cache=True,
        inline="always",
    )
    def root(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = math.sqrt(x[i])

    x = backend.asarray(np.full(300, 4, np.float32))
    root.forall(300)(x)
    np.testing.assert_allclose(backend.asnumpy(x), 2, rtol=1e-6)
    with pytest.raises(ArgumentValueError, match="max_registers"):
        cuda.jit(max_registers=0)


def test_debug(backend: Any) -> None:
    x = backend.asarray(np.zeros(8, np.int32))
    cuda.jit(debug=True, opt=False)(increase)[1, 8](x)
    np.testing.assert_array_equal(backend.asnumpy(x), 1)


def test_launches_that_are_none(backend: Any) -> None:
    x = backend.asarray(np.zeros(8, np.int32))
    with pytest.raises(ArgumentValueError, match=r"without a grid[^$]*increase\[blocks, threads\]"):
        increase(x)
    with pytest.raises(ArgumentValueError, match=r"increase\[griddim, blockdim\]"):
        increase[4]
    with pytest.raises(ArgumentTypeError, match=r"order is\s+increase\[griddim, blockdim, stream"):
        increase[1, 8, 0, "a"]


def test_types_of_numba(backend: Any) -> None:
    numba = pytest.importorskip("numba", exc_type=ImportError)  # may refuse a new NumPy

    @cuda.jit
    def kernel(x, out):
        kept = cuda.shared.array(8, dtype=numba.int32)
        t = cuda.threadIdx.x
        kept[t] = numba.uint8(x[t])
        cuda.syncthreads()
        out[t] = numba.float32(kept[7 - t]) / 2

    x, out = backend.asarrays(np.arange(8) + 256, np.zeros(8, np.float32))
    kernel[1, 8](x, out)
    np.testing.assert_array_equal(backend.asnumpy(out), np.arange(8)[::-1] / 2)


# -- what is not there ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("vectorize", r"jit\.kernel"),
        ("reduce", "ReductionKernel"),
        ("declare_device", "RawKernel"),
        ("mapped_array", "to_device"),
        ("pinned_array", "cupyx.empty_pinned"),
        ("random", "hash"),
        ("libdevice", "'math'"),
        ("types", "np.float32"),
    ],
)
def test_names_that_are_not_there_say_what_is(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=rf"'cuda\.{name}' is not available[^$]*{hint}"):
        getattr(cuda, name)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        cuda.nonsense  # noqa: B018


def test_such_a_name_in_a_kernel(backend: Any) -> None:
    @cuda.jit
    def kernel(x):
        x[0] = cuda.libdevice.sqrt(x[0])

    with pytest.raises(UnsupportedError, match=r"cuda.libdevice[^$]*x\[0\] = [^$]*'math'"):
        kernel[1, 1](backend.asarray(np.zeros(1)))


def test_whole_arrays_are_no_operands(backend: Any) -> None:
    @cuda.jit
    def kernel(x, out):
        np.sin(x, out)

    x, out = backend.asarrays(np.zeros(4), np.zeros(4))
    with pytest.raises(TypingError, match=r"np.sin\(x, out\)"):
        kernel[1, 1](x, out)


def test_recursion(backend: Any) -> None:
    x = backend.asarray(np.zeros(8, np.int64))
    factorials[1, 8](x)
    assert backend.asnumpy(x).tolist() == [1, 1, 2, 6, 24, 120, 720, 5040]


def test_print_and_assert(backend: Any, capfd: pytest.CaptureFixture[str]) -> None:
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        print("thread", i, f"{x[i]:.2f}")
        assert x[i] < 10, "too large"

    kernel[1, 1](backend.asarray(np.full(1, 1.5)))
    cuda.synchronize()
    assert "thread 0 1.50" in capfd.readouterr().out
    if backend.name == "host":  # on a GPU an assertion that fails ends the process's context
        with pytest.raises(LaunchError, match="'too large' failed"):
            kernel[1, 1](np.full(1, 15.0))


@cuda.jit(device=True)
def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)


@cuda.jit
def factorials(x):
    i = cuda.grid(1)
    x[i] = factorial(i)


def test_device_functions_are_not_called_here() -> None:
    with pytest.raises(RuntimeError, match="only be called inside of a kernel"):
        factorial(3)
    with pytest.raises(RuntimeError, match="only be called inside of a kernel"):
        cuda.grid(1)
