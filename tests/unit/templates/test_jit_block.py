"""Collectives of warps and blocks, on every backend, against the same order of combination in
NumPy; on the host also by the algorithm that GPUs run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import kerneltk

from ...sampling import half

Array = npt.NDArray[Any]
Operation = Callable[[Any, Any], Any]

TYPES = {
    "i1": "signed char",
    "u8": "unsigned long long",
    "f2": "float16",
    "f4": "float",
    "c8": "complex<float>",
}
SIZES = (1, 33, 1000)
SHAPES = ((8, 4, 3),)

CODE = r"""
#include <kerneltk/float16.hpp>
#include <kerneltk/bfloat16.hpp>
#include <kerneltk/complex.hpp>
#include <kerneltk/jit_sort.hpp>
using namespace kerneltk::jit;

// Products of matrices depend on the order; 32 bytes.
struct matrix {
    unsigned long long a, b, c, d;
};
struct product {
    __device__ matrix operator()(const matrix& x, const matrix& y) const {
        return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d,
                x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
    }
};

template <class T>
__device__ bool same_bytes(const T& x, const T& y) {
    const unsigned char* const a = reinterpret_cast<const unsigned char*>(&x);
    const unsigned char* const b = reinterpret_cast<const unsigned char*>(&y);
    for (int k = 0; k < static_cast<int>(sizeof(T)); ++k)
        if (a[k] != b[k]) return false;
    return true;
}

// One row of each array a block. The storage is used again for each of two results.
template <class T, class Op, int X, int Y = 1, int Z = 1>
__global__ void reduce(const T* x, T* first, T* all, int valid) {
    constexpr int N = X * Y * Z;
    __shared__ block_reduce_storage<T, N> storage;
    const int i = blockIdx.x * N + rank_in_block<X, Y, Z>();
    const T total = block_reduce<T, X, Y, Z>(storage, x[i], Op());
    if (rank_in_block<X, Y, Z>() == 0) first[blockIdx.x] = total;
    __syncthreads();
    all[i] = block_reduce_all<T, X, Y, Z>(storage, x[i], Op(), valid);
}

template <class T, class Op, int X, int Y = 1, int Z = 1>
__global__ void __launch_bounds__(X * Y * Z)
    scan(const T* x, T* inclusive, T* exclusive, T* totals) {
    constexpr int N = X * Y * Z;
    __shared__ block_scan_storage<T, N> storage;
    const int i = blockIdx.x * N + rank_in_block<X, Y, Z>();
    inclusive[i] = block_inclusive_scan<T, X, Y, Z>(storage, x[i], Op());
    __syncthreads();
    T total;
    const T again = block_inclusive_scan_total<T, X, Y, Z>(storage, x[i], Op(), total);
    totals[i] = total;
    __syncthreads();
    exclusive[i] = block_exclusive_scan<T, X, Y, Z>(storage, x[i], Op(), x[0]);
    __syncthreads();
    T other;
    const T twice = block_exclusive_scan_total<T, X, Y, Z>(storage, x[i], Op(), x[0], other);
    assert(same_bytes(again, inclusive[i]));
    assert(same_bytes(twice, exclusive[i]));
    assert(same_bytes(total, other));
}

template <class T, class Op, int WIDTH>
__global__ void warp(const T* x, T* first, T* all, T* inclusive, T* exclusive, T* totals,
                     int valid) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const T total = warp_reduce<T, WIDTH>(x[i], Op());
    const T some = warp_reduce_valid<T, WIDTH>(x[i], Op(), valid);
    if (i % WIDTH == 0) first[2 * (i / WIDTH)] = total, first[2 * (i / WIDTH) + 1] = some;
    all[i] = warp_reduce_all<T, WIDTH>(x[i], Op(), valid);
    inclusive[i] = warp_inclusive_scan<T, WIDTH>(x[i], Op());
    exclusive[i] = warp_exclusive_scan<T, WIDTH>(x[i], Op(), x[0]);
    T sum;
    warp_exclusive_scan_total<T, WIDTH>(x[i], Op(), x[0], sum);
    totals[i] = sum;
    warp_inclusive_scan_total<T, WIDTH>(x[i], Op(), sum);
    const T last = warp_broadcast<T, WIDTH>(inclusive[i], WIDTH - 1);
    assert(same_bytes(sum, last));
}

template <class T, class Less, int ITEMS, int X, int Y = 1, int Z = 1>
__global__ void sort(const T* x, T* sorted, T* with_places, short* places, int valid) {
    constexpr int N = X * Y * Z;
    __shared__ block_sort_storage<T, N, ITEMS> storage;
    __shared__ block_sort_pairs_storage<T, short, N, ITEMS> pair_storage;
    const int first = rank_in_block<X, Y, Z>() * ITEMS, base = blockIdx.x * N * ITEMS + first;
    T keys[ITEMS], pair_keys[ITEMS];
    short values[ITEMS];
    for (int k = 0; k < ITEMS; ++k) {
        keys[k] = pair_keys[k] = x[base + k];
        values[k] = static_cast<short>(first + k);
    }
    block_sort<T, ITEMS, X, Y, Z>(storage, keys, Less(), valid);
    block_sort_pairs<T, short, ITEMS, X, Y, Z>(pair_storage, pair_keys, values, Less(), valid);
    for (int k = 0; k < ITEMS; ++k) {
        sorted[base + k] = keys[k];
        with_places[base + k] = pair_keys[k];
        places[base + k] = values[k];
    }
}
"""
BLOCKS = 3


# ---- the same orders in NumPy; an operation takes arrays of values along the last axis ----


def tree(x: Array, op: Operation) -> Any:
    """Reduce the last axis: pairs, then pairs of those, and so on."""
    while x.shape[-1] > 1:
        count = x.shape[-1] // 2 * 2
        joined = op(x[..., 0:count:2], x[..., 1:count:2])
        x = np.concatenate([joined, x[..., count:]], -1)
    return x[..., 0]


def warp_scan(x: Array, op: Operation) -> Array:
    d = 1
    while d < x.shape[-1]:
        x = np.concatenate([x[..., :d], op(x[..., :-d], x[..., d:])], -1)
        d *= 2
    return x


def block_scan(x: Array, op: Operation, initial: Any = None) -> tuple[Array, Array]:
    """Return the scan, exclusive where there is an initial value, and the total."""
    parts = []
    running = None
    for start in range(0, x.shape[-1], 32):
        own = warp_scan(x[..., start : start + 32], op)
        last = own[..., -1:]
        if initial is not None:
            first = np.broadcast_to(np.asarray(initial, x.dtype), last.shape)
            begin = first if running is None else op(first, running)
            own = np.concatenate([begin, op(begin, own[..., :-1])], -1)
        elif running is not None:
            own = op(running, own)
        parts.append(own)
        running = last if running is None else op(running, last)
    assert running is not None
    return np.concatenate(parts, -1), np.broadcast_to(running, x.shape)


OPERATIONS: dict[str, Operation] = {"plus": np.add, "maximum": np.maximum}


def values(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(1).normal(size=shape).astype(dtype)


def same(got: Array, expected: Array) -> None:
    np.testing.assert_array_equal(got, expected)


# ---- launches ----


@cache
def module_of(parallel: bool, *expressions: str) -> Any:
    define = "#define KERNELTK_JIT_IN_PARALLEL 1\n" if parallel else ""
    # A sum after a product would become one operation, which NumPy does not have.
    return kerneltk.RawModule(
        code=define + CODE, name_expressions=expressions, options=("--fmad=false",)
    )


class Runner:
    def __init__(self, backend: Any, parallel: bool) -> None:
        self.backend, self.parallel = backend, parallel

    def __call__(
        self, expression: str, group: tuple[str, ...], block: Any, *arguments: Any
    ) -> list[Array]:
        """Launch an expression of `group`, which is compiled together; return the arrays."""
        kernel = module_of(self.parallel, *group).get_function(expression)
        arrays = [a for a in arguments if isinstance(a, np.ndarray)]
        copies = iter(self.backend.asarrays(*arrays))
        given = [next(copies) if isinstance(a, np.ndarray) else np.int32(a) for a in arguments]
        kernel(BLOCKS, block, tuple(map(_as_bytes, given)))
        return [self.backend.asnumpy(a) for a in given if not isinstance(a, np.integer)]


def _as_bytes(argument: Any) -> Any:
    """Return an array of the package's own types as what raw kernels take for them."""
    is_small = argument.dtype == np.float16
    return argument.view("V2") if is_small else argument


@pytest.fixture(
    params=[False, pytest.param(True, marks=pytest.mark.exhaustive)], ids=["", "parallel"]
)
def run(request: pytest.FixtureRequest, backend: Any) -> Runner:
    if request.param and backend.name == "cuda":
        pytest.skip("GPUs always do")
    return Runner(backend, request.param)


BLOCK_SHAPES = (*((n, 1, 1) for n in SIZES), *SHAPES)


WARPS = {"matrix, product": (1, 8, 32), "float, ops::plus": (2, 32), "float16, ops::maximum": (8,)}


def groups() -> dict[str, tuple[str, ...]]:
    """Return the expressions that are compiled together."""
    found: dict[str, tuple[str, ...]] = {}
    for shape in BLOCK_SHAPES:
        tail = "{}, {}, {}".format(*shape)
        found[f"{shape}"] = (
            f"reduce<float, ops::plus, {tail}>",
            f"scan<float, ops::plus, {tail}>",
            f"reduce<matrix, product, {tail}>",
            f"scan<matrix, product, {tail}>",
        )
    found["warp"] = tuple(
        f"warp<{kind}, {width}>" for kind, widths in WARPS.items() for width in widths
    )
    for items, n in ((1, 1), (1, 33), (5, 100)):
        types = {name: TYPES[name] for name in (TYPES if n == 33 else ("f4",))}
        found[f"sort {items} {n}"] = tuple(
            f"sort<{ctype}, ops::{order}, {items}, {n}, 1, 1>"
            for ctype in types.values()
            for order in ("ascending", "descending")
            if order == "ascending" or ctype == "float"
        )
    return found


GROUPS = groups()


def check_reduce(
    run: Runner, group: str, ctype: str, op: str, x: Array, reference: Operation, shape: Any
) -> None:
    n = int(np.prod(shape))
    valid = (n + 1) // 2
    first, every = np.zeros(BLOCKS, x.dtype), np.zeros_like(x)
    tail = "{}, {}, {}".format(*shape)
    name = f"reduce<{ctype}, {op}, {tail}>"
    _, first, every = run(name, GROUPS[group], shape, x, first, every, valid)
    same(first, tree(x, reference))
    same(every, np.broadcast_to(tree(x[..., :valid], reference)[..., None], x.shape))


def check_scan(
    run: Runner, group: str, name: str, x: Array, reference: Operation, shape: Any
) -> None:
    blank = np.zeros_like(x)
    _, inclusive, exclusive, totals = run(
        name, GROUPS[group], shape, x, blank, blank.copy(), blank.copy()
    )
    wanted, total = block_scan(x, reference)
    same(inclusive, wanted)
    same(totals, total)
    same(exclusive, block_scan(x, reference, x.flat[0])[0])


@pytest.mark.one_in(4)
@pytest.mark.parametrize("shape", half(BLOCK_SHAPES), ids=str)
def test_blocks_of_any_size(run: Runner, shape: tuple[int, int, int]) -> None:
    n = int(np.prod(shape))
    x = values(np.dtype("f4"), (BLOCKS, n))
    tail = "{}, {}, {}".format(*shape)
    with np.errstate(all="ignore"):
        check_reduce(run, str(shape), "float", "ops::plus", x, np.add, shape)
        check_scan(run, str(shape), f"scan<float, ops::plus, {tail}>", x, np.add, shape)


def matrices(shape: tuple[int, ...]) -> Array:
    fields = [(field, "u8") for field in "abcd"]
    x = np.random.default_rng(3).integers(0, 1000, (*shape, 4), np.uint64)
    return x.view(fields)[..., 0]


def product(x: Array, y: Array) -> Array:
    left = np.ascontiguousarray(x).view("u8").reshape(*x.shape, 2, 2)
    right = np.ascontiguousarray(y).view("u8").reshape(*y.shape, 2, 2)
    both = np.ascontiguousarray(left @ right)
    return both.reshape(*both.shape[:-2], 4).view(x.dtype)[..., 0]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("shape", BLOCK_SHAPES, ids=str)
def test_structures_and_operations_that_do_not_commute(
    run: Runner, shape: tuple[int, int, int]
) -> None:
    x = matrices((BLOCKS, int(np.prod(shape))))
    check_reduce(run, str(shape), "matrix", "product", x, product, shape)
    tail = "{}, {}, {}".format(*shape)
    check_scan(run, str(shape), f"scan<matrix, product, {tail}>", x, product, shape)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("kind", "width"), [(kind, w) for kind in WARPS for w in WARPS[kind]])
def test_warps_and_their_parts(run: Runner, kind: str, width: int) -> None:
    threads = 96
    shape = (BLOCKS, threads // width, width)
    if kind.startswith("matrix"):
        x, op = matrices(shape), product
    else:
        dtype = np.dtype("f4" if kind.startswith("float,") else "f2")
        x, op = values(dtype, shape), OPERATIONS[kind.partition("::")[2]]
    valid = max(1, width - 3)
    first = np.zeros((*shape[:2], 2), x.dtype)
    blank = np.zeros_like(x)
    name = f"warp<{kind}, {width}>"
    _, first, every, inclusive, exclusive, totals = run(
        name, GROUPS["warp"], threads, x, first, *(blank.copy() for _ in range(4)), valid
    )
    some = tree(x[..., :valid], op)
    same(first[..., 0], tree(x, op))
    same(first[..., 1], some)
    same(every, np.broadcast_to(some[..., None], shape))
    wanted = warp_scan(x, op)
    same(inclusive, wanted)
    same(totals, np.broadcast_to(wanted[..., -1:], shape))
    start = np.broadcast_to(x.flat[0], (*shape[:2], 1))
    same(exclusive, np.concatenate([start, op(start, wanted[..., :-1])], -1))


def sorting_values(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Return values with many ties, and the special ones of floats."""
    rng = np.random.default_rng(5)
    if dtype.kind in "iu":
        x = rng.integers(0, 50, shape).astype(dtype)
        x.flat[:: x.size // 3 + 1] = np.iinfo(dtype).min
        return x
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, *np.arange(-9, 9.0)])
    x = rng.choice(special, shape)
    if dtype.kind == "c":
        both = np.empty(shape, dtype)
        both.real, both.imag = x, rng.choice(special, shape)
        return both
    return x.astype(dtype)


def order_of(x: Array, descending: bool) -> Array:
    if not descending:
        return np.argsort(x, axis=-1, kind="stable")
    n = x.shape[-1]
    return (n - 1 - np.argsort(x[..., ::-1], axis=-1, kind="stable"))[..., ::-1]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("group", [name for name in GROUPS if name.startswith("sort")])
@pytest.mark.parametrize("order", ["ascending", "descending"])
def test_sorts(run: Runner, group: str, order: str) -> None:
    items, n = map(int, group.split()[1:])
    count = items * n
    for name, ctype in TYPES.items():
        expression = f"sort<{ctype}, ops::{order}, {items}, {n}, 1, 1>"
        if expression not in GROUPS[group]:
            continue
        x = sorting_values(np.dtype(name), (BLOCKS, count))
        for valid in sorted({count, max(1, count - 2), (count + 1) // 2}):
            _, alone, keys, places = run(
                expression, GROUPS[group], n, x, np.zeros_like(x), np.zeros_like(x),
                np.zeros(x.shape, "i2"), valid,
            )  # fmt: skip
            wanted = np.broadcast_to(np.arange(count), x.shape).copy()
            wanted[:, :valid] = order_of(x[:, :valid], order == "descending")
            same(places, wanted)
            # To the last bit: zeros keep their signs and NaNs their other parts.
            bits = f"V{x.dtype.itemsize}"
            by_order = np.ascontiguousarray(np.take_along_axis(x, wanted, -1))
            assert keys.view(bits).tobytes() == by_order.view(bits).tobytes()
            assert alone.tobytes() == by_order.tobytes()


TARGETS = [(group, "sm_90") for group in GROUPS] + [
    pytest.param(group, "sm_75", marks=pytest.mark.exhaustive) for group in ("warp", "sort 5 100")
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("group", "target"), TARGETS)
def test_compiles_for_cuda(group: str, target: str) -> None:
    assert module_of(False, *GROUPS[group]).compile_for(target).kind == "cubin"
