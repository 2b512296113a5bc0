"""Programs about threads: coordinates, shared memory, barriers, warps, atomics, groups."""

# ruff: noqa: N806
from __future__ import annotations

from typing import Any

import numpy as np

from kerneltk import jit

from .jit_programs_support import N, Table, floats, ints, out, zeros

TABLE = Table()
ALL = 0xFFFF_FFFF


# -- coordinates --------------------------------------------------------------------------------


@TABLE.program(out((7, 24), "i4"), grid=3, block=8)
def coordinates_of_one_dimension(y):
    i = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
    y[0, i] = jit.threadIdx.x
    y[1, i] = jit.blockIdx.x
    y[2, i] = jit.blockDim.x
    y[3, i] = jit.gridDim.x
    y[4, i] = jit.threadIdx.y + jit.blockIdx.z
    y[5, i] = jit.blockDim.z + jit.gridDim.y
    y[6, i] = jit.grid(1)


@TABLE.program(out((4, 6, 4), "i4"), grid=(2, 2, 2), block=(2, 3, 2))
def coordinates_of_three_dimensions(y):
    i, j, k = jit.grid(3)
    y[k, j, i] = (
        jit.threadIdx.z * 100 + jit.blockIdx.z * 1000 + jit.gridDim.z * jit.blockDim.z + i * j
    )


@TABLE.program(out(3, "i4"), grid=(2, 3, 2), block=(4, 2, 1))
def sizes_of_the_grid(y):
    i, j, k = jit.grid(3)
    if i == 0 and j == 0 and k == 0:
        y[0] = jit.gridsize(1)
        a, b = jit.gridsize(2)
        y[1] = a * 100 + b
        c, d, e = jit.gridsize(3)
        y[2] = c * 10000 + d * 100 + e


@TABLE.program(out((2, 80), "i4"), grid=2, block=40)
def lane_and_warp_size(y):
    i = jit.grid(1)
    y[0, i] = jit.laneid()
    y[1, i] = jit.warpsize


# -- shared memory and barriers -----------------------------------------------------------------


@TABLE.program(ints(32), out(32, "i4"), grid=2, block=16)
def block_scan_in_shared_memory(x, y):
    i = jit.grid(1)
    t = jit.threadIdx.x
    kept = jit.shared_memory("i4", (2, 16))
    kept[0, t] = x[i]
    jit.syncthreads()
    now = 0
    for k in range(4):
        step = 1 << k
        kept[1 - now, t] = kept[now, t] + (kept[now, t - step] if t >= step else 0)
        now = 1 - now
        jit.syncthreads()
    y[i] = kept[now, t]


@TABLE.program(ints((8, 8)), out((8, 8), "i4"), grid=(2, 2), block=(4, 4))
def transposition_by_tiles(x, y):
    tile = jit.shared_memory(np.int32, (4, 5))
    bx, by = jit.blockIdx.x, jit.blockIdx.y
    tx, ty = jit.threadIdx.x, jit.threadIdx.y
    tile[ty, tx] = x[by * 4 + ty, bx * 4 + tx]
    jit.syncthreads()
    y[bx * 4 + ty, by * 4 + tx] = tile[tx, ty]


@TABLE.program(floats(), out(N), grid=2, block=16)
def two_shared_arrays_of_two_dtypes(x, y):
    i = jit.grid(1)
    t = jit.threadIdx.x
    flags = jit.shared_memory(np.bool_, 16)
    values = jit.shared_memory(dtype=np.float64, size=16, alignment=16)
    flags[t] = x[i] > 0
    values[t] = x[i] * 2
    jit.syncthreads()
    other = (t + 3) % 16
    y[i] = values[other] if flags[other] else -1


def shared_neighbour(x, i, t):
    kept = jit.shared_memory(np.int32, 16)
    kept[t] = x[i]
    jit.syncthreads()
    value = kept[(t + 1) % 16]
    jit.syncthreads()
    return value


@TABLE.program(ints(), out(N, "i4"))
def barrier_in_a_function(x, y):
    i = jit.grid(1)
    y[i] = shared_neighbour(x, i, jit.threadIdx.x) * 10
    y[i] += shared_neighbour(y, i, jit.threadIdx.x)


@TABLE.program(ints(), out((3, N), "i4"))
def barriers_that_vote(x, y):
    i = jit.grid(1)
    y[0, i] = jit.syncthreads_count(x[i] > 0)
    y[1, i] = 1 if jit.syncthreads_and(x[i] > -20) else 0
    y[2, i] = 1 if jit.syncthreads_or(x[i] > 20) else 0


@TABLE.program(ints(), out(N, "i4"))
def variables_across_barriers(x, y):
    i = jit.grid(1)
    t = jit.threadIdx.x
    kept = jit.shared_memory(np.int32, 16)
    first = x[i]
    pair = (first * 2, t)
    row = x[i:]
    flag = first > 0
    kept[t] = first
    jit.syncthreads()
    near = kept[(t + 1) % 16]
    if flag:
        near += pair[0]
    jit.syncthreads()
    kept[t] = near
    jit.syncthreads()
    a, b = pair
    y[i] = kept[15 - t] + a * b + row[0] + first


@TABLE.program(ints(), 3, out(N, "i4"))
def barriers_and_a_uniform_break(x, n, y):
    i = jit.grid(1)
    t = jit.threadIdx.x
    kept = jit.shared_memory(np.int32, 16)
    value = x[i]
    count = 0
    while True:
        kept[t] = value
        jit.syncthreads()
        value = kept[t ^ 1] + kept[t] * 2
        jit.syncthreads()
        count += 1
        if count == n:
            break
    else:
        value = -1
    y[i] = value


@TABLE.program(ints(N - 5), out(N, "i4"))
def threads_that_return_before_a_barrier(x, y):
    i = jit.grid(1)
    t = jit.threadIdx.x
    kept = jit.shared_memory(np.int32, 16)
    kept[t] = -7
    jit.syncthreads()
    if i >= x.size:
        return
    kept[t] = x[i]
    jit.syncthreads()
    y[i] = kept[t // 2]


@TABLE.program(ints(), ints((N, 3)), out((3, N), "i4"))
def threads_that_return_in_a_loop(x, rows, y):
    i = jit.grid(1)
    t = jit.threadIdx.x
    kept = jit.shared_memory(np.int32, 16)
    kept[t] = x[i]
    for k in range(3):
        if rows[i, k] > 3:
            return
        jit.syncthreads()
        y[k, i] = kept[15 - t] + k


@TABLE.program(floats(), floats(), out((2, N)), tolerance=1e-6)
def values_of_several_types_across_barriers(x, z, y):
    i = jit.grid(1)
    t = jit.threadIdx.x
    kept = jit.shared_memory(np.float32, 16)
    c = complex(x[i], z[i])
    h = np.float16(x[i])
    n = t * 3
    kept[t] = x[i]
    jit.syncthreads()
    c += kept[(t + 1) % 16]
    n += t
    jit.syncthreads()
    y[0, i] = c.real * c.imag + h
    y[1, i] = n


@TABLE.program(ints(), out(N, "i4"))
def thread_that_ends_before_a_warp_barrier(x, y):
    i = jit.grid(1)
    jit.syncwarp(0xFFFF)
    jit.threadfence()
    jit.threadfence_block()
    jit.threadfence_system()
    jit.nanosleep(10)
    y[i] = x[i]


# -- warps --------------------------------------------------------------------------------------


def shuffles(x, y):
    t = jit.threadIdx.x
    y[0, t] = jit.shfl_sync(ALL, x[t], 5)
    y[1, t] = jit.shfl_sync(ALL, x[t], (t * 7) % 32)
    y[2, t] = jit.shfl_up_sync(ALL, x[t], 3)
    y[3, t] = jit.shfl_down_sync(ALL, x[t], 4)
    y[4, t] = jit.shfl_xor_sync(ALL, x[t], 9)
    y[5, t] = jit.shfl_down_sync(ALL, x[t], 1, 4 << (t // 32))


for _dtype in ("i4", "u4", "i8", "u8", "f4", "f8"):
    _info = "int" if _dtype[0] == "i" else "uint" if _dtype[0] == "u" else "float"
    TABLE.program(
        floats(64, -1, 1, _dtype)
        if _info == "float"
        else ints(64, 0, 2 ** (8 * int(_dtype[1]) - 1), _dtype),
        out((6, 64), _dtype),
        name=f"shuffles_of_{_info}{8 * int(_dtype[1])}",
        grid=1,
        block=64,
    )(shuffles)


@TABLE.program(ints(32), out((5, 32), "i4"), grid=1, block=32)
def shuffles_of_a_width(x, y):
    t = jit.threadIdx.x
    y[0, t] = jit.shfl_sync(ALL, x[t], 2, width=8)
    y[1, t] = jit.shfl_sync(ALL, x[t], t + 3, 4)
    y[2, t] = jit.shfl_up_sync(ALL, x[t], 2, width=8)
    y[3, t] = jit.shfl_down_sync(ALL, x[t], 3, width=16)
    y[4, t] = jit.shfl_xor_sync(ALL, x[t], 1, width=2)


@TABLE.program(ints(64), out((6, 64), "i8"), grid=1, block=64)
def votes(x, y):
    t = jit.threadIdx.x
    y[0, t] = 1 if jit.all_sync(ALL, x[t] > -20) else 0
    y[1, t] = 1 if jit.all_sync(ALL, x[t] > 0) else 0
    y[2, t] = 1 if jit.any_sync(ALL, x[t] > 8) else 0
    y[3, t] = 1 if jit.any_sync(ALL, x[t] > 20) else 0
    y[4, t] = jit.ballot_sync(ALL, x[t] > 0)
    y[5, t] = jit.popc(jit.ballot_sync(ALL, x[t] > 0) & jit.lanemask_lt())


@TABLE.program(ints(64), out((2, 64), "i4"), grid=2, block=32)
def votes_on_whether_all_agree(x, y):
    i = jit.grid(1)
    y[0, i] = 1 if jit.eq_sync(ALL, x[i] > 0) else 0
    y[1, i] = 1 if jit.eq_sync(ALL, jit.blockIdx.x) else 0


@TABLE.program(
    np.array([np.nan, 3.0, -2.0, np.nan, 7.5, -8.0, 1.0, 0.0] * 4),
    np.full(4, np.nan),
    zeros(4, "f8"),
)
def atomic_extremes_without_nan(x, low, high):
    i = jit.grid(1)
    jit.atomic_nanmin(low, i % 4, x[i])
    jit.atomic_nanmax(high, i % 4, x[i])


@TABLE.program(ints(64, 0, 5), out((2, 64), "u4"), grid=2, block=32)
def lanes_with_the_same_value(x, y):
    i = jit.grid(1)
    y[0, i] = jit.match_any_sync(ALL, x[i])
    y[1, i] = jit.match_any_sync(ALL, np.int64(x[i]) << 40)


@TABLE.program(ints(64, 0, 5), out((3, 64), "i8"), grid=2, block=32)
def warps_with_one_value(x, y):
    i = jit.grid(1)
    mask, alike = jit.match_all_sync(ALL, x[i])
    y[0, i] = mask
    mask, alike = jit.match_all_sync(ALL, jit.blockIdx.x)
    y[1, i] = mask
    y[2, i] = 1 if alike else 0


@TABLE.program(out((2, 48), "u4"), grid=1, block=48)
def active_lanes(y):
    t = jit.threadIdx.x
    y[0, t] = jit.activemask()
    y[1, t] = jit.lanemask_lt()


# -- atomics ------------------------------------------------------------------------------------


def atomic_sums(x, total, before):
    i = jit.grid(1)
    jit.atomic_add(total, i % 4, x[i])
    before[i] = jit.atomic_add(x, i, 2)


for _dtype in ("int32", "uint32", "int64", "uint64", "float16", "float32", "float64"):
    TABLE.program(
        ints(N, 0, 50, _dtype), zeros(4, _dtype), out(N, _dtype), name=f"atomic_add_of_{_dtype}"
    )(atomic_sums)


def atomic_extremes(x, low, high, before):
    i = jit.grid(1)
    jit.atomic_min(low, i % 4, x[i])
    jit.atomic_max(high, i % 4, x[i])
    before[0, i] = jit.atomic_min(x, i, 3)
    before[1, i] = jit.atomic_max(x, i, 5)


for _dtype in ("int32", "uint32", "int64", "uint64", "float32", "float64"):
    TABLE.program(
        ints(N, 0, 50, _dtype),
        lambda _, dtype=_dtype: np.full(4, 20, dtype),
        zeros(4, _dtype),
        out((2, N), _dtype),
        name=f"atomic_min_and_max_of_{_dtype}",
    )(atomic_extremes)


def atomic_bits(x, every, some, odd, before):
    i = jit.grid(1)
    jit.atomic_and(every, i % 4, x[i])
    jit.atomic_or(some, i % 4, x[i])
    jit.atomic_xor(odd, i % 4, x[i])
    before[0, i] = jit.atomic_and(x, i, 12)
    before[1, i] = jit.atomic_or(x, i, 3)
    before[2, i] = jit.atomic_xor(x, i, 5)


for _dtype in ("int32", "uint32", "int64", "uint64"):
    TABLE.program(
        ints(N, 0, 999, _dtype),
        lambda _, dtype=_dtype: np.full(4, 1023, dtype),
        zeros(4, _dtype),
        zeros(4, _dtype),
        out((3, N), _dtype),
        name=f"atomic_bits_of_{_dtype}",
    )(atomic_bits)


@TABLE.program(ints(N, 0, 9, "u4"), ints(N, 0, 9, "u4"), out((3, N), "u4"))
def atomic_inc_and_dec(x, z, before):
    i = jit.grid(1)
    before[0, i] = jit.atomic_inc(x, i, 5)
    before[1, i] = jit.atomic_dec(z, i, 6)
    before[2, i] = jit.atomic_dec(z, i, 6)


@TABLE.program(ints(N, 0, 4), floats(), ints(N, 0, 9, "u8"), out((3, N), "f8"))
def atomic_exchange(x, z, w, before):
    i = jit.grid(1)
    before[0, i] = jit.atomic_exch(x, i, i)
    before[1, i] = jit.atomic_exch(z, i, 0.5)
    before[2, i] = jit.atomic_exch(w, i, 7)


def atomic_swap_if(x, before):
    i = jit.grid(1)
    before[0, i] = jit.atomic_cas(x, i, 2, 100)
    before[1, i] = jit.atomic_cas(x, i, 1, i)


for _dtype in ("int32", "uint32", "int64", "uint64"):
    TABLE.program(ints(N, 0, 4, _dtype), out((2, N), _dtype), name=f"atomic_cas_of_{_dtype}")(
        atomic_swap_if
    )


@TABLE.program(ints(N, 0, 3), ints(N, 0, 3), zeros((3, 4), "i4"))
def atomics_of_two_dimensions(a, b, y):
    i = jit.grid(1)
    jit.atomic_add(y, (a[i], b[i]), 1)
    at = 2, -1
    jit.atomic_max(y, at, i)


@TABLE.program(ints(N, 0, 50), zeros((3, 8), "i4"), lambda _: np.zeros(9, "i4"))
def atomics_of_views(x, y, z):
    i = jit.grid(1)
    jit.atomic_add(y[1], i % 8, x[i])
    jit.atomic_add(z[::-2], i % 5, 1)


# -- numbers ------------------------------------------------------------------------------------


def counted_bits(x, y):
    i = jit.grid(1)
    y[0, i] = jit.popc(x[i])
    y[1, i] = jit.clz(x[i])
    y[2, i] = jit.ffs(x[i])
    y[3, i] = jit.brev(x[i])


def spread(dtype: Any) -> Any:
    """Return integers of every length in bits, and zero."""

    def make(rng: Any) -> Any:
        bits = np.dtype(dtype).itemsize * 8
        values = [int(rng.integers(2**62)) >> int(rng.integers(63)) for _ in range(N)]
        values[0], values[1] = 0, (1 << bits) - 1
        unsigned = np.array([v % (1 << bits) for v in values], f"u{bits // 8}")
        return unsigned.view(dtype)

    return make


for _dtype in ("int32", "uint32", "int64", "uint64"):
    TABLE.program(spread(_dtype), out((4, N), _dtype), name=f"bits_counted_of_{_dtype}")(
        counted_bits
    )


def fused(x, y):
    i = jit.grid(1)
    y[0, i] = jit.fma(x[i], x[i], -1)
    y[1, i] = jit.fma(x[i], 2, x[i])


TABLE.program((1 + np.arange(N) / 2**13).astype("f4"), out((2, N), "f4"), name="fma_of_float32")(
    fused
)


# -- groups and collectives ---------------------------------------------------------------------


@TABLE.program(ints(), out((4, N), "i4"))
def group_of_a_block(x, y):
    i = jit.grid(1)
    block = jit.cg.this_thread_block()
    kept = jit.shared_memory(np.int32, 16)
    kept[block.thread_rank()] = x[i]
    block.sync()
    y[0, i] = kept[15 - jit.threadIdx.x]
    y[1, i] = block.size()
    y[2, i] = block.group_index().x * 100 + block.thread_index().x
    y[3, i] = block.group_dim().x
    jit.cg.sync(block)


@TABLE.program(ints(), out(N, "i4"), zeros(N, "i4"))
def barrier_of_the_grid(x, y, kept):
    i = jit.grid(1)
    grid = jit.cg.this_grid()
    kept[i] = x[i] * 2
    grid.sync()
    y[i] = kept[N - 1 - i]
    jit.cg.sync(grid)


@TABLE.program(ints(64), out((4, 64), "i4"), grid=2, block=32)
def tiles_of_a_warp(x, y):
    i = jit.grid(1)
    tile = jit.cg.tiled_partition(jit.cg.this_thread_block(), 8)
    y[0, i] = tile.thread_rank() * 100 + tile.size()
    y[1, i] = tile.meta_group_rank() * 100 + tile.meta_group_size()
    value = x[i]
    step = tile.num_threads() // 2
    while step > 0:
        value += tile.shfl_down(value, step)
        step //= 2
    y[2, i] = tile.shfl(value, 0)
    tile.sync()
    y[3, i] = tile.shfl_xor(x[i], 1) * 10 + tile.shfl_up(x[i], 2)


@TABLE.program(ints(64), out((3, 64), "i4"), grid=1, block=64)
def votes_of_tiles(x, y):
    i = jit.grid(1)
    tile = jit.cg.tiled_partition(jit.cg.this_thread_block(), 4)
    y[0, i] = tile.ballot(x[i] > 0)
    y[1, i] = 1 if tile.any(x[i] > 4) else 0
    y[2, i] = 1 if tile.all(x[i] > -5) else 0


@TABLE.program(floats(64), out(64), grid=2, block=32)
def copies_of_a_group(x, y):
    block = jit.cg.this_thread_block()
    t = jit.threadIdx.x
    kept = jit.shared_memory(np.float32, 32)
    jit.cg.memcpy_async(block, kept, 0, x, jit.blockIdx.x * 32, 64)
    jit.cg.memcpy_async(block, kept, 16, x, jit.blockIdx.x * 32 + 16, 64, aligned_size=4)
    jit.cg.wait_prior(block, 1)
    jit.cg.wait(block)
    y[jit.grid(1)] = kept[31 - t]


@TABLE.program(out((4, 24), "i4"), grid=(2, 2), block=(3, 2))
def extents_of_groups(y):
    block, grid = jit.cg.this_thread_block(), jit.cg.this_grid()
    rank = grid.thread_rank()
    y[0, rank] = grid.num_blocks() * 100 + grid.block_rank()
    y[1, rank] = grid.dim_blocks().y * 10 + grid.group_dim().x
    y[2, rank] = block.dim_threads().y * 100 + block.num_threads() + grid.num_threads()
    y[3, rank] = block.thread_index().y * 10 + block.group_index().y


@TABLE.program(ints(64), out((3, 2), "i4"), grid=2, block=32)
def block_reduce(x, y):
    t, b = jit.threadIdx.x, jit.blockIdx.x
    BlockReduce = jit.cub.BlockReduce[np.int32, 32]
    temp = jit.shared_memory(dtype=BlockReduce.TempStorage, size=1)
    value = x[jit.grid(1)]
    total = BlockReduce(temp[0]).Sum(value)
    jit.syncthreads()
    high = BlockReduce(temp[0]).Reduce(value, jit.cub.Max())
    jit.syncthreads()
    low = BlockReduce(temp[0]).Reduce(value, jit.cub.Min())
    if t == 0:
        y[0, b] = total
        y[1, b] = high
        y[2, b] = low


Totals = jit.cub.BlockReduce[np.int32, 32]


@TABLE.program(ints(64), out((4, 64), "i4"), grid=2, block=32)
def collectives_with_storage_of_their_own(x, y):
    i = jit.grid(1)
    y[0, i] = Totals().SumAll(x[i])
    y[1, i] = Totals().ReduceAll(x[i], np.maximum)
    y[2, i] = Totals().SumAll(x[i] * 2)
    y[3, i] = jit.cub.BlockBroadcast[np.int32, 32]().Broadcast(x[i], 5)


@TABLE.program(ints(64, 1, 4), out((4, 2), "i8"), 20, grid=2, block=32)
def block_reduce_of_the_first_threads(x, y, n):
    value = np.int64(x[jit.grid(1)])
    Reduce = jit.cub.BlockReduce[np.int64, 32]
    total = Reduce().Sum(value, n)
    product = Reduce().Reduce(value, jit.cub.Product(), 12)
    least = Reduce().Reduce(value, jit.cub.Min, valid=n)
    bits = Reduce().Reduce(value, np.bitwise_or)
    if jit.threadIdx.x == 0:
        y[0, jit.blockIdx.x] = total
        y[1, jit.blockIdx.x] = product
        y[2, jit.blockIdx.x] = least
        y[3, jit.blockIdx.x] = bits


def longer(a, b):
    return a if abs(a) >= abs(b) else b


@TABLE.program(ints(64), 7, out((3, 64), "i4"), grid=2, block=32)
def collectives_of_python_functions(x, modulus, y):
    i = jit.grid(1)
    y[0, i] = Totals().ReduceAll(x[i], longer)
    y[1, i] = Totals().ReduceAll(x[i], lambda a, b: (a + b) % modulus)
    y[2, i] = jit.cub.BlockScan[np.int32, 32]().InclusiveScan(x[i], longer)


@TABLE.program(ints(64), out((2, 2), "i4"), out((2, 2)), floats(64), grid=2, block=32)
def place_of_the_largest_in_a_block(x, where, largest, z):
    i = jit.grid(1)
    Best = jit.cub.BlockReduce[(np.int32, np.float32), 32]
    at, value = Best().Reduce((np.int32(i), z[i]), jit.cub.ArgMax())
    at_least, least = Best().Reduce((np.int32(i), z[i]), jit.cub.ArgMin())
    if jit.threadIdx.x == 0:
        where[0, jit.blockIdx.x] = at
        where[1, jit.blockIdx.x] = at_least
        largest[0, jit.blockIdx.x] = value
        largest[1, jit.blockIdx.x] = least


@TABLE.program(ints(64), out((6, 64), "i4"), grid=2, block=32)
def block_scans_of_operations(x, y):
    i = jit.grid(1)
    Scan = jit.cub.BlockScan[np.int32, 32]
    y[0, i] = Scan().InclusiveScan(x[i], jit.cub.Max())
    y[1, i] = Scan().ExclusiveScan(x[i], -5, jit.cub.Max())
    before, total = Scan().ExclusiveSum(x[i], total=True)
    y[2, i] = before
    y[3, i] = total
    upto, least = Scan().InclusiveScan(x[i], jit.cub.Min(), total=True)
    y[4, i] = upto
    y[5, i] = least


@TABLE.program(ints(64), out((5, 64), "i4"), grid=1, block=64)
def warp_collectives_of_a_width(x, y):
    i = jit.grid(1)
    y[0, i] = jit.cub.WarpReduce[np.int32, 8]().SumAll(x[i])
    y[1, i] = jit.cub.WarpScan[np.int32, 16]().InclusiveSum(x[i])
    y[2, i] = jit.cub.WarpScan[np.int32, 4]().ExclusiveScan(x[i], 9, jit.cub.Min())
    y[3, i] = jit.cub.WarpReduce[np.int32]().ReduceAll(x[i], longer)
    total = jit.cub.WarpReduce[np.int32, 16]().Sum(x[i])
    y[4, i] = total if i % 16 == 0 else 0


@TABLE.program(ints(64, -99, 99), floats(64), out((2, 64), "i4"), out(64), grid=2, block=32)
def block_sort(x, z, y, w):
    i = jit.grid(1)
    Sort = jit.cub.BlockSort[np.int32, 32]
    temp = jit.shared_memory(Sort.TempStorage, 1)
    y[0, i] = Sort(temp[0]).Sort(x[i])
    jit.syncthreads()
    y[1, i] = Sort(temp[0]).Sort(x[i], descending=True)
    w[i] = jit.cub.BlockSort[np.float32, 32]().Sort(z[i])


@TABLE.program(
    lambda rng: rng.permutation(64).astype("i4"), ints(64), out((2, 64), "i4"), grid=2, block=32
)
def block_sort_of_pairs(keys, values, y):
    i = jit.grid(1)
    Sort = jit.cub.BlockSort[np.int32, 32, 1, np.int32]
    key, value = Sort().Sort(keys[i], values[i])
    y[0, i] = key
    y[1, i] = value


@TABLE.program(ints(96, -99, 99), out(96, "i4"), grid=1, block=32)
def block_sort_of_several_keys(x, y):
    t = jit.threadIdx.x
    keys = jit.local_memory(np.int32, 3)
    for k in range(3):
        keys[k] = x[t * 3 + k]
    jit.cub.BlockSort[np.int32, 32, 3]().Sort(keys)
    for k in range(3):
        y[t * 3 + k] = keys[k]
