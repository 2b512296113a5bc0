"""Programs of the kinds that numba-cuda's documentation shows, with ``cuda`` from kerneltk.jit.

Nothing but that import tells them from programs for numba.
"""

from __future__ import annotations

import enum
import math
import operator
from typing import Any

import numpy as np
import pytest

from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    LaunchError,
    TypingError,
    UnsupportedError,
)
from kerneltk.jit import cuda
from kerneltk.jit.numba import host_arrays


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


@pytest.mark.gpu
def test_numpy_arrays_beside_those_on_a_gpu_are_copied_there_and_back() -> None:
    a, b, c = cuda.to_device(np.ones(100)), np.arange(100.0), np.zeros(200)[::2]
    for stream in (0, cuda.stream()):
        c[:] = 0
        add_vectors[4, 32, stream](a, b, c)
        np.testing.assert_array_equal(c, np.arange(100) + 1)
    b.flags.writeable = False
    for arguments in ((a, b, c), (a, c, c), (a, c[:50], c[49:])):
        with pytest.raises(ArgumentTypeError, match="is in host memory"):
            add_vectors[4, 32](*arguments)


# -- device functions ----------------------------------------------------------------------------


# -- memory --------------------------------------------------------------------------------------


@cuda.jit
def dynamic_arrays(out_ints, out_floats, n):
    i = cuda.threadIdx.x
    ints = cuda.shared.array(0, dtype=np.int32)[:n]
    halves = cuda.shared.array(0, dtype=np.uint16)  # of the same memory
    floats = cuda.shared.array(0, dtype=np.float32)[n : 2 * n]
    ints[i] = i * 65536 + 7
    floats[i] = i + 0.5
    cuda.syncthreads()
    out_ints[i] = halves[2 * (n - 1 - i) + 1]
    out_floats[i] = floats[n - 1 - i]


@pytest.mark.exhaustive
def test_dynamic_shared_memory_of_several_dtypes(backend: Any) -> None:
    ints, floats = backend.asarrays(np.zeros(16, np.int32), np.zeros(16, np.float32))
    dynamic_arrays[1, 16, cuda.stream(), 16 * 8](ints, floats, 16)
    np.testing.assert_array_equal(backend.asnumpy(ints), np.arange(16)[::-1])
    np.testing.assert_array_equal(backend.asnumpy(floats), np.arange(16)[::-1] + 0.5)


# -- atomics -------------------------------------------------------------------------------------


@cuda.jit
def guarded_sum(lock, out):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        out[0] += cuda.blockIdx.x
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


@pytest.mark.exhaustive
def test_lock_by_compare_and_swap(backend: Any) -> None:
    lock, out = backend.asarrays(np.zeros(1, np.int32), np.zeros(1, np.int32))
    guarded_sum[20, 32](lock, out)
    assert backend.asnumpy(out)[0] == 190


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
    cuda.jit(debug=True, opt=False)(increase)[1, 8](x)
    np.testing.assert_allclose(backend.asnumpy(x)[:9], [3] * 8 + [2], rtol=1e-6)


@pytest.mark.exhaustive
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


# -- functions that the package brings -------------------------------------------------------------


@cuda.jit
def random_numbers(states, uniform, normal):
    i = cuda.grid(1)
    for k in range(uniform.shape[1]):
        uniform[i, k] = cuda.random.xoroshiro128p_uniform_float32(states, i)
        normal[i, k] = cuda.random.xoroshiro128p_normal_float64(states, i)


def test_random_numbers(backend: Any) -> None:
    states = cuda.random.create_xoroshiro128p_states(64, seed=3)
    uniform, normal = backend.asarrays(np.zeros((64, 256), np.float32), np.zeros((64, 256)))
    random_numbers[2, 32](states, uniform, normal)
    uniform, normal = backend.asnumpy(uniform), backend.asnumpy(normal)
    assert (uniform.min() >= 0, uniform.max() <= 1, abs(uniform.mean() - 0.5) < 0.01) == (True,) * 3
    assert abs(normal.mean()) < 0.05
    assert abs(normal.std() - 1) < 0.05
    assert np.unique(uniform).size > 16_000
    # What numba makes of the first state of seed 3.
    np.testing.assert_array_equal(uniform[0, :2], np.float32([0.22690068, 0.744894]))
    np.testing.assert_allclose(normal[0, :2], [-0.168335852, -1.605604284], rtol=1e-6)


@cuda.jit
def halves(x, out):
    fp16 = cuda.fp16
    a, b = x[0], x[1]
    out[0] = fp16.hfma(a, b, fp16.hneg(x[2]))
    out[1] = fp16.hmax(a, x[3])
    out[2] = fp16.hne(a, x[3])
    out[3] = fp16.hdiv(fp16.hadd(a, b), fp16.hsub(a, fp16.hmul(b, b)))
    out[4] = fp16.hrsqrt(fp16.habs(fp16.hneg(b)))
    out[5] = fp16.hexp10(fp16.hlog10(b))
    out[6] = fp16.hrint(fp16.hrcp(b))


def test_float16(backend: Any) -> None:
    # The product is 1 + 2**-9 + 2**-20: rounded before the subtraction, it loses its last bit.
    x = np.array([1 + 2**-10, 1 + 2**-10, 1, np.nan], np.float16)
    x, out = backend.asarrays(x, np.zeros(7, np.float16))
    halves[1, 1](x, out)
    a = np.float16(1 + 2**-10)
    quotient = (a + a) / (a - a * a)
    expected = [np.float16(2**-9 + 2**-20), a, 0, quotient, 1 / np.sqrt(a), a, 1]
    found = backend.asnumpy(out)
    np.testing.assert_allclose(found, np.array(expected, np.float16), rtol=2e-3)
    assert found[0] == expected[0]


@pytest.mark.parametrize("size", [0, 1, 127, 129, 20_000])
def test_reduce(backend: Any, size: int) -> None:
    total = cuda.reduce(lambda a, b: a + b)
    values = np.arange(size, dtype=np.int32) % 100
    x, res = backend.asarrays(values, np.zeros(2, np.int32))
    assert total(x) == values.sum()
    assert type(total(x)) is np.int32
    assert total(x[::2], init=5) == values[::2].sum() + 5
    assert total(x, size=size // 2, res=res) is None
    assert backend.asnumpy(res).tolist() == [values[: size // 2].sum(), 0]


SMALL = np.uint8(200)


class Level(enum.IntEnum):
    HIGH = 100


@cuda.jit
def integers(a, b, h, y, f):
    i = cuda.grid(1)
    y[0, i] = a[i] + a[i]
    y[1, i] = (a[i] << 16) | (a[i] << 8) | a[i]
    y[2, i] = a[i] + 1000 - SMALL - SMALL
    y[3, i] = b[i] * b[i] + 1
    y[4, i] = -b[i]
    y[5, i] = h[i] * h[i] >> 33
    y[6, i] = h[i] + b[i]
    y[7, i] = sum((a[i], a[i])) + operator.mul(a[i], a[i]) + (~a[i] & 255)
    total = a[i]
    for _ in range(3):
        total *= 7
    y[8, i] = min(total, 10**6)
    best = -1
    if a[i] + a[i] > best:
        best = a[i] + a[i]
    y[9, i] = best + (a[i] + Level.HIGH)
    y[10, i] = (a[i] - SMALL) // 2 + a[i] % 1000
    left = np.uint64(a[i])
    while left >= 0:  # a float64, as in numba: it becomes -1.0
        left -= 1
    y[11, i] = left + ((a[i] > 3) << a[i] % 16) + (np.uint64(i) - 3) + (cuda.brev(b[i]) >> 31 & 2)
    a[i] += 100
    a[i : i + 1] -= 1
    f[0, i] = (a[i] + a[i]) / 2
    f[1, i] = round(np.float32(0.3425), i + 1)  # scaled in float64


def test_integers_meet_in_64_bits(backend: Any) -> None:
    a, b, h = (
        np.array([200, 3, 255]),
        np.array([2**31 - 1, -(2**31), 7]),
        np.array([2**32 - 1, 5, 0]),
    )
    added, squares = (a + 99) % 256, h.astype("u8") ** 2
    expected = [
        2 * a, a * 0x10101, a + 600, b * b + 1, -b.astype("i4"), (squares >> 33).astype("i8"),
        h + b, 2 * a + a * a + (255 - a), a * 343, 3 * a + 100, (a - 200) // 2 + a,
        [252, -3, 2**15 - 2],
    ]  # fmt: skip
    arrays = (
        a.astype("u1"),
        b.astype("i4"),
        h.astype("u4"),
        np.zeros((12, 3), "i8"),
        np.zeros((2, 3), "f4"),
    )
    given = [backend.asarray(x) for x in arrays]
    integers[1, 3](*given)
    np.testing.assert_array_equal(backend.asnumpy(given[3]), expected)
    rounded = np.float32([0.3, 0.34, 0.343])
    np.testing.assert_array_equal(backend.asnumpy(given[4]), [added, rounded])

    @cuda.vectorize(["uint8(uint8, uint8)"])
    def mean(x, y):
        return (x + y) // 2

    mean_of = mean(backend.asarray(arrays[0]), backend.asarray(arrays[0][::-1].copy()))
    np.testing.assert_array_equal(backend.asnumpy(mean_of), (a + a[::-1]) // 2)


@cuda.jit
def as_shape(x, shape, flag, y):
    whole = x.reshape(shape)
    if flag is True:
        y[0] = whole.shape[0] * 10 + whole.shape[1]
    if flag is not False:
        y[1] = whole[1, 1]


@pytest.mark.parametrize(("shape", "found"), [((-1, 2), 32), ((2, -1), 23), ((3, 2), 32)])
def test_extents_of_a_view_at_run_time(backend: Any, shape: Any, found: int) -> None:
    x, y = backend.asarrays(np.arange(6.0), np.zeros(2))
    as_shape[1, 1](x, shape, True, y)
    assert backend.asnumpy(y).tolist() == [found, np.arange(6).reshape(shape)[1, 1]]
    if backend.name == "host":
        for wrong in ((-1, -1), (4, -1), (0, -1)):
            with pytest.raises(LaunchError, match="reshape"):
                as_shape[1, 1](x, wrong, True, y)


@cuda.jit("uint32(uint32)", device=True)
def shuffled(h):
    h ^= h << 13
    return h ^ (h >> 17)


@cuda.jit("(float64, int64)", device=True)
def scratch(x, /, size):
    own = cuda.local.array(size, np.float32)
    own[size - 1] = x * 0.1
    return own[size - 1], x * 0.1


@cuda.jit
def typed_calls(h, x, y):
    i = cuda.grid(1)
    y[0, i] = shuffled(h[i]) / 2
    single, y[1, i] = scratch(x[i], size=3)
    y[2, i] = single


def test_signatures_of_device_functions(backend: Any) -> None:
    h, x = np.array([1, 2**31, 2**32 - 1], "u4"), np.array([1, 0.1, -3], "f4")
    given = [backend.asarray(value) for value in (h, x, np.zeros((3, 3)))]
    typed_calls[1, 3](*given)
    found, wide = backend.asnumpy(given[2]), x.astype("f8") * 0.1
    mixed = h.astype("i8") ^ (h.astype("i8") << 13)
    assert found[0].tolist() == ((mixed ^ (mixed >> 17)).astype("u4") / 2).tolist()
    assert found[1].tolist() == wide.tolist()
    assert found[2].tolist() == wide.astype("f4").tolist()


@cuda.jit
def kinds_in_turn(x, index, y):
    t = k = cuda.grid(1)
    t = index[t]
    t = x[t]
    assert t < 90
    for j in range(3):
        u = index[j]
        for _ in range(2):
            u += 1
        if u > 3:
            u = -u - 1
            u = u + 1
        u = x[u] * 0.5
        t += u
    for j in range(4):
        w = index[j]
        if w != 2:
            continue
        w = x[w] * 0.25
        t += w
    v = k / 2
    x = x.reshape((2, 4))
    x, v = x[1], k
    y[k] = t + x[v]


def test_a_variable_has_values_of_different_kinds_in_turn(backend: Any) -> None:
    x, index, y = backend.asarrays(np.arange(8.0) ** 2, np.array([3, 1, 2, 0]), np.zeros(4))
    kinds_in_turn[1, 4](x, index, y)
    halves = 0.5 * (3**2 + 4**2 + 3**2)  # of x[-5], x[3] and x[-4]
    assert (backend.asnumpy(y) == np.array([9 + 16, 1 + 25, 4 + 36, 49]) + halves + 1).all()
    if backend.name == "host":
        with pytest.raises(LaunchError, match="'t < 90' failed"):
            kinds_in_turn[1, 4](x * 100, index, y)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Planet(enum.Enum):
    VENUS = 4.0, 2
    EARTH = 9.0, 3

    @property
    def gravity(self):
        return self.value[0] / self.value[1] ** 2


@cuda.jit
def members(a, planet, y):
    other = Colour.BLUE
    for _ in range(3):
        other = Colour.RED if other is Colour.BLUE else a
    match other:
        case Colour.RED:
            y[0] = a.value
    y[1] = a == Colour.BLUE and a != other and a is not planet and a in (other, a)
    y[2] = (other == 1) + (planet is Planet.VENUS) + isinstance(a, Colour) * 10 + planet.gravity


def test_members_of_enumerations(backend: Any) -> None:
    y = backend.asarray(np.zeros(3))
    members[1, 1](Colour.BLUE, Planet.EARTH, y)
    assert backend.asnumpy(y).tolist() == [2, 1, 11]


@cuda.jit
def vectors(x):
    short = cuda.short2(10, 11.75)
    mixed = cuda.float32x4(cuda.float2(1, x[0]), short.x, x[1])
    x[0] = mixed.x + mixed.y + mixed.z + mixed.w
    x[1] = short.y
    x[2] = cuda.uint8x3(cuda.uchar1(255), 1, 2)[0] + Colour["BLUE"].value
    for vector in (cuda.double2(1, 2), cuda.double2(3, 4)):
        x[3] = x[3] * 10 + vector.y


def test_vector_types(backend: Any) -> None:
    x = backend.asarray(np.array([0.5, 2, 0, 0]))
    vectors[1, 1](x)
    assert backend.asnumpy(x).tolist() == [13.5, 11, 257, 24]


def test_wrong_vectors() -> None:
    @cuda.jit
    def kernel(x):
        x[0] = cuda.float32x3(cuda.float32x2(1, 2)).x

    with pytest.raises(TypingError, match=r"'cuda\.float32x3' takes 3 numbers"):
        kernel[1, 1](np.zeros(1))


def test_functions_of_numbas_own_jit(backend: Any) -> None:
    numba = pytest.importorskip("numba", exc_type=ImportError)  # may refuse a new NumPy
    doubled = numba.njit(lambda a: a * 2)

    @cuda.jit
    def kernel(x):
        x[0] = doubled(x[1])

    x = backend.asarray(np.array([0.0, 3.0]))
    kernel[1, 1](x)
    assert backend.asnumpy(x)[0] == 6


def test_fields_of_recarrays(backend: Any) -> None:
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        x.a[i] += x.shape[0] + x.b[i] + x["size"][i] - 1

    x = backend.asarray(np.ones(3, [("a", "i4"), ("b", "i4"), ("size", "i4")]))
    kernel[1, 3](x)
    assert backend.asnumpy(x)["a"].tolist() == [5, 5, 5]


# -- what is not there ---------------------------------------------------------------------------


@cuda.jit
def with_a_grid_group(x):
    x[0] = cuda.grid_group()


@pytest.mark.parametrize(("name", "hint"), [
    ("declare_device", "RawKernel"),
    ("grid_group", "this_grid"),
    ("bf16", "operators"),
    ("types", "np.float32"),
    ("float32", "np.float32"),
])  # fmt: skip
def test_names_that_are_not_there_say_what_is(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=rf"'cuda\.{name}' is not available[^$]*{hint}"):
        getattr(cuda, name)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        cuda.nonsense  # noqa: B018
    with pytest.raises(UnsupportedError, match=r"cuda.grid_group[^$]*x\[0\] = [^$]*this_grid"):
        with_a_grid_group[1, 1](np.zeros(1))


def test_print_and_assert(backend: Any, capfd: pytest.CaptureFixture[str]) -> None:
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        print("thread", i, f"{x[i]:.2f}")
        print(cuda.threadIdx, f"{cuda.blockDim}")
        assert x[i] < 10, f'it\'s {x[i]}, "{{10}}"'
        if x[i] < 0:
            raise ValueError(f"{x[i]} is negative")

    kernel[1, 1](backend.asarray(np.full(1, 1.5)))
    cuda.synchronize()
    printed = capfd.readouterr().out
    assert "thread 0 1.50" in printed
    assert "(0, 0, 0) (1, 1, 1)" in printed
    assert "it's" not in printed
    if backend.name == "host":  # on a GPU an assertion that fails ends the process's context
        with pytest.raises(LaunchError, match=r"'it's {x\[i\]}, \"\{10\}\"' failed"):
            kernel[1, 1](np.full(1, 15.0))
        with pytest.raises(LaunchError, match=r"'ValueError: {x\[i\]} is negative' failed"):
            kernel[1, 1](np.full(1, -1.0))
        assert 'it\'s 15, "{10}"\n' in capfd.readouterr().out
