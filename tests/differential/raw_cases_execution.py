"""Raw kernels that exercise the execution model: grids, barriers, warps, atomics, groups."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from .raw_support import Array, RawCase, blank, filled, floats, ints


def _warps(x: Array, lanes: int = 32) -> Array:
    return x.reshape(-1, lanes)


def grid_cases() -> Iterator[RawCase]:
    file = "grid_stride.cu"
    for n, grid, block in ((10007, 4, 128), (1, 1, 1), (255, 3, 96), (5000, 7, 33)):
        yield RawCase(f"saxpy-{n}", file, "saxpy", grid, block,
            lambda n=n: (n, 2.5, ints(n, -99, 99, "f4"), ints(n, -99, 99, "f4", 2)),
            lambda n, a, x, y: {3: np.float32(a) * x + y})  # fmt: skip
    yield RawCase("add-64-bit", file, "add_64bit", 5, 100,
        lambda: (ints(1234, -(2**60), 2**60, "i8"), ints(1234, -(2**60), 2**60, "i8", 2),
                 blank(1300, "i8"), 1234),
        lambda x, y, z, n: {2: filled(z, x + y)})  # fmt: skip
    for grid, block in (((2, 3, 4), (5, 2, 3)), ((7,), (32,)), ((1, 1, 9), (1, 1, 64)), (3, 1024)):

        def shapes(out: Array, grid: Any = grid, block: Any = block) -> dict[int, Array]:
            g, b = (((x,) if isinstance(x, int) else x) for x in (grid, block))
            g, b = (*g, 1, 1)[:3], (*b, 1, 1)[:3]
            places = itertools.product(*(range(size) for size in g[::-1]))
            return {0: np.array([[*g, *b, *place[::-1], 32] for place in places])}

        yield RawCase(f"launch-shape-{grid}-{block}", file, "launch_shape", grid, block,
            lambda g=grid: (blank((int(np.prod(g)), 10), "u4"),), shapes)  # fmt: skip
    yield RawCase("thread-ranks", file, "thread_ranks", 2, (7, 5, 3),
        lambda: (blank((2, 105), "i4"),),
        lambda out: {0: np.tile(np.arange(105) // 32 * 1000 + np.arange(105) % 32, (2, 1))}
    )  # fmt: skip


def matrix_cases() -> Iterator[RawCase]:
    file = "transpose.cu"
    for dtype, expression in (("f4", "float"), ("i2", "short"), ("f8", "double")):
        yield RawCase(f"transpose-{expression}", file, f"transpose<{expression}>", (3, 2), (32, 8),
            lambda d=dtype: (ints((45, 70), -99, 99, d), blank((70, 45), d), 45, 70),
            lambda x, y, rows, columns: {1: x.T})  # fmt: skip
    file = "matmul.cu"

    def product(a: Array, b: Array, c: Array, *sizes: int) -> dict[int, Array]:
        return {2: a @ b}

    for kind, dtype, tile in (("float", "f4", 16), ("double", "f8", 8), ("int", "i4", 32)):
        yield RawCase(f"matmul-{kind}-{tile}", file, f"matmul_tiled<{kind}, {tile}>",
            (-(-37 // tile), -(-45 // tile)), (tile, tile),
            lambda d=dtype: (ints((45, 29), -9, 9, d), ints((29, 37), -9, 9, d, 2),
                             blank((45, 37), d), 45, 37, 29), product)  # fmt: skip


def reduction_cases() -> Iterator[RawCase]:
    file = "reduce.cu"

    def by_blocks(x: Array, grid: int, block: int) -> Array:
        rows = -(-x.size // (grid * block))
        padded = np.zeros(rows * grid * block, x.dtype)
        padded[: x.size] = x
        return padded.reshape(rows, grid, block)

    for kind, dtype in (("int", "i4"), ("float", "f4"), ("double", "f8"), ("long long", "i8")):
        yield RawCase(f"sum-sequential-{kind}", file, f"sum_sequential<{kind}>", 5, 128,
            lambda d=dtype: (ints(4001, -500, 500, d), blank(6, d), 4001),
            lambda x, out, n: {1: filled(out, by_blocks(x, 5, 128).sum((0, 2)))})  # fmt: skip
    for block in (64, 128, 512):
        grid = -(-3000 // (2 * block))
        yield RawCase(f"sum-unrolled-{block}", file, f"sum_unrolled<{block}>", grid, block,
            lambda g=grid: (ints(3000, -500, 500), blank(g, "i4"), 3000),
            lambda x, out, n, g=grid, b=block: {1: by_blocks(x, g, 2 * b).sum((0, 2))})  # fmt: skip
    yield RawCase("argmin-rows", file, "argmin_rows", 9, 128,
        lambda: (ints((9, 333), 0, 50, "f4"), blank(9, "i4"), 333),
        lambda x, out, columns: {1: x.argmin(1)})  # fmt: skip
    yield RawCase("sum-last-block", file, "sum_last_block", 7, 64,
        lambda: (ints(3001, -500, 500), blank(7, "i4"), blank(1, "i4"), 3001),
        lambda x, partial, total, n: {1: by_blocks(x, 7, 64).sum((0, 2)), 2: [x.sum()]},
        steps=({}, {}))  # fmt: skip

    file = "histogram.cu"
    yield RawCase("histogram-shared", file, "histogram_shared", 4, 96,
        lambda: (ints(5001, 0, 256, "u1"), np.ones(256, "u4"), 5001),
        lambda x, bins, n: {1: bins + np.bincount(x, minlength=256)})  # fmt: skip


def warp_cases() -> Iterator[RawCase]:
    file = "warp.cu"
    for kind, dtype in (
        ("int", "i4"), ("float", "f4"), ("double", "f8"), ("unsigned long long", "u8"),
    ):  # fmt: skip
        yield RawCase(f"warp-sums-{kind}", file, f"warp_sums<{kind}>", 2, 128,
            lambda d=dtype: (ints((7, 32), 0, 999, d), blank(8, d), blank((8, 32), d), 7),
            lambda x, down, xor, warps: {
                1: filled(down, x.sum(1)), 2: filled(xor, np.repeat(x.sum(1), 32))
            })  # fmt: skip
    for width in (8, 16, 32):
        yield RawCase(f"group-sums-{width}", file, f"group_sums<{width}>", 2, 96,
            lambda w=width: (ints(192, -99, 99), blank(192 // w, "i4")),
            lambda x, out, w=width: {1: _warps(x, w).sum(1)})  # fmt: skip

    yield RawCase("gather-in-warp", file, "gather_in_warp", 2, 64,
        lambda: (floats(128, -1, 1, "f8"), ints(128, -40, 80), blank(128, "f8")),
        lambda x, lanes, out: {2: x[np.arange(128) // 32 * 32 + lanes % 32]})  # fmt: skip

    yield RawCase("active-lanes", file, "active_lanes", 2, 64,
        lambda: (blank(128, "u4"),),
        lambda out: {0: np.full(128, 2**32 - 1)})  # fmt: skip
    yield RawCase("active-lanes-of-part-of-a-warp", file, "active_lanes", 1, 43,
        lambda: (blank(43, "u4"),),
        lambda out: {0: np.where(np.arange(43) < 32, 2**32 - 1, 2**11 - 1)})  # fmt: skip
    yield RawCase("half-warps", file, "half_warps", 1, 32,
        lambda: (ints(32, -99, 99), blank(32, "i4")),
        lambda x, out: {1: np.repeat([x[:16].sum(), x[16:].max()], 16)})  # fmt: skip
    file = "block_votes.cu"

    def barrier_votes(x: Array, counts: Array, ands: Array, ors: Array, n: int) -> dict[int, Array]:
        odd = np.pad(x & 1, (0, 400 - n)).reshape(5, 80)
        return {1: odd.sum(1), 2: odd.all(1) * 1, 3: odd.any(1) * 1}

    yield RawCase("barrier-votes", file, "barrier_votes", 5, 80,
        lambda: (np.concatenate([ints(80, 0, 9), np.ones(80), np.zeros(80), ints(130, 0, 9)])
                 .astype("i4"), blank(5, "i4"), blank(5, "i4"), blank(5, "i4"), 370), barrier_votes
    )  # fmt: skip

    def halved(x: Array, rounds: Array) -> dict[int, Array]:
        lowest = np.where(x == 0, 1, x & -x)
        twos = np.log2(lowest).astype(int)
        return {0: x // lowest, 1: twos.max(1)}

    yield RawCase("halve-until-done", file, "halve_until_done", 6, 50,
        lambda: (ints((6, 50), 0, 200) << ints((6, 1), 0, 9, seed=2), blank(6, "i4")), halved
    )  # fmt: skip


def _wrap(value: int, bits: int) -> int:
    return value % (1 << bits)


def atomic_cases() -> Iterator[RawCase]:
    file = "atomics.cu"

    def unsigned_ops(x: Array, out: Array, n: int) -> dict[int, Array]:
        total = int(x.sum(dtype=np.uint64))
        return {
            1: np.array([_wrap(int(out[0]) + total, 32), _wrap(int(out[1]) - total, 32),
                         min(out[2], x.min()), max(out[3], x.max()),
                         out[4] & np.bitwise_and.reduce(x), out[5] | np.bitwise_or.reduce(x),
                         out[6] ^ np.bitwise_xor.reduce(x), n % 10, (0 - n) % 7], np.int64),
        }  # fmt: skip

    yield RawCase("atomic-unsigned", file, "atomic_unsigned", 2, 96,
        lambda: (ints(501, 0, 2**32, "u4") | np.uint32(64),
                 np.array([1, 2, 2**32 - 1, 0, 2**32 - 1, 0, 3, 0, 0], "u4"), 501), unsigned_ops
    )  # fmt: skip

    def wide_ops(x: Array, out: Array, signed: Array, n: int) -> dict[int, Any]:
        return {
            1: np.array([_wrap(int(x.sum(dtype=object)), 64), x.min(), x.max(),
                         np.bitwise_and.reduce(x), np.bitwise_or.reduce(x),
                         np.bitwise_xor.reduce(x)], np.uint64),
            2: np.array([x.view(np.int64).min(), x.view(np.int64).max()]),
        }  # fmt: skip

    yield RawCase("atomic-64-bit", file, "atomic_64bit", 3, 128,
        lambda: (ints(333, 0, 2**64, "u8") | np.uint64(1 << 40),
                 np.array([0, 2**64 - 1, 0, 2**64 - 1, 0, 0], "u8"),
                 np.array([2**62, -(2**62)], "i8"), 333), wide_ops)  # fmt: skip
    for kind, dtype in (
        ("int", "i4"), ("unsigned int", "u4"), ("unsigned long long", "u8"), ("float", "f4"),
        ("double", "f8"),
    ):  # fmt: skip
        yield RawCase(f"atomic-sum-{kind}", file, f"atomic_sum<{kind}>", 4, 96,
            lambda d=dtype: (ints(1003, 0, 99, d), np.zeros(5, d), 5, 1003),
            lambda x, sums, slots, n: {1: [x[k::5].sum() for k in range(5)]})  # fmt: skip
    yield RawCase("atomic-tickets", file, "tickets", 5, 48,
        lambda: (np.array([7], "i4"), blank(240, "i4")),
        lambda counter, mine: {0: [247], 1: np.arange(7, 247)}, unordered=(1,))  # fmt: skip
    yield RawCase("compare-and-swap", file, "compare_and_swap", 2, 128,
        lambda: (floats(200, 1, 99), np.zeros(1, "f4"),
                 ints(200, 0, 2**31, "u8") * np.uint64(2) + np.uint64(1), np.ones(1, "u8"), 200),
        lambda x, largest, factors, product, n: {1: [x.max()], 3: [np.multiply.reduce(factors)]}
    )  # fmt: skip

    def distinct(x: Array, bitmap: Array, count: Array, n: int) -> dict[int, Array]:
        seen = np.zeros(2048, bool)
        seen[x] = True
        bits = (seen.reshape(64, 32).astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(1)
        return {1: bits, 2: np.array([np.count_nonzero(seen)])}

    yield RawCase("count-distinct", file, "count_distinct", 8, 128,
        lambda: (ints(1000, 0, 2048, "u2"), np.zeros(64, "u4"), np.zeros(1, "i4"), 1000), distinct
    )  # fmt: skip

    def scoped(x: Array, block: Array, system: Array, n: int) -> dict[int, Array]:
        parts = [x[s : s + 64] for s in range(0, n, 64)]
        return {
            1: np.array([[p.sum(), max(p.max(), 0)] for p in parts]),
            2: np.array([x.sum(), np.bitwise_xor.reduce(x)]),
        }

    yield RawCase("atomic-scopes", file, "scoped", 5, 64,
        lambda: (ints(300, -99, 99), np.zeros((5, 2), "i4"), np.zeros(2, "i4"), 300), scoped
    )  # fmt: skip

    def shared(x: Array, sums: Array, counts: Array, doubles: Array, n: int) -> dict[int, Array]:
        kept = np.pad(np.maximum(x, 0), (0, 384 - n)).reshape(4, 96)
        return {1: kept.sum(1), 2: (kept > 0).sum(1), 3: kept.sum(1) * 0.5}

    yield RawCase("atomic-shared", file, "shared_counters", 4, 96,
        lambda: (ints(350, -9, 9, "f4"), blank(4, "f4"), blank(4, "i4"), blank(4, "f8"), 350),
        shared)  # fmt: skip
    yield RawCase("atomic-half2", file, "atomic_half2", 2, 64,
        lambda: (ints((100, 2), 0, 9, "f2"), np.zeros(2, "f2"), np.zeros(1, "f2"), 100),
        lambda x, total, first, n: {1: x.sum(0), 2: [x[:, 0].sum()]})  # fmt: skip
    yield RawCase("lock-of-blocks", file, "locked_update", 20, 32,
        lambda: (np.zeros(1, "i4"), np.zeros(1, "i4"), np.zeros(1, "i4")),
        lambda lock, total, turns: {0: [0], 1: [190], 2: [20]})  # fmt: skip


def shared_memory_cases() -> Iterator[RawCase]:
    file = "shared_memory.cu"
    yield RawCase("aligned-tiles", file, "aligned_tiles<64>", 1, 64,
        lambda: (ints(64, 0, 999, "f4"), blank(64, "f4")),
        lambda x, out: {1: x[::-1] + x[5]})  # fmt: skip
    yield RawCase("carved-buffer", file, "carved", 1, 64,
        lambda: (floats(51, -1, 1, "f8"), ints(51, 0, 51), ints(51, 0, 256, "u1"), blank(51, "f8"),
                 51),
        lambda x, k, b, out, n: {3: x[k] + b[::-1]}, shared_mem=51 * 13)  # fmt: skip
    for kind, dtype in (
        ("unsigned char", "u1"),
        ("float", "f4"),
        ("double", "f8"),
        ("short", "i2"),
    ):
        yield RawCase(f"reverse-blocks-{kind}", file, f"reverse_blocks<{kind}>", 4, 48,
            lambda d=dtype: (ints((4, 48), 0, 99, d), blank((4, 48), d)),
            lambda x, out: {1: x[:, ::-1]}, shared_mem=48 * np.dtype(dtype).itemsize)  # fmt: skip

    def buckets(x: Array, counts: Array, sums: Array, n: int) -> dict[int, Array]:
        which = (x & 1) * 4 + (x >> 1 & 3)
        return {
            1: np.append(np.bincount(which, minlength=8), np.bitwise_or.reduce(1 << (x & 7))),
            2: np.bincount(which, x, minlength=8).astype(int),
        }

    yield RawCase("buckets", file, "buckets", 1, 64,
        lambda: ((np.arange(45) * 5 % 101).astype("i2")[:40], blank(9, "i4"), blank(8, "i4"), 40),
        buckets)  # fmt: skip


def variable_cases() -> Iterator[RawCase]:
    file = "constants.cu"
    coefficients = np.array([3, -1, 0.5, 2, 77, 77, 77, 77], "f4")
    yield RawCase("polynomial", file, "polynomial", 4, 64,
        lambda: (ints(250, -9, 9, "f4"), blank(250, "f4"), 250),
        lambda x, y, n: {1: 3 - x + x**2 / 2 + 2 * x**3},
        variables={"coefficients": coefficients, "degree": np.int32(3)},
        variables_after={"coefficients": coefficients, "primes": np.array([2, 3, 5, 7, 11, 13])}
    )  # fmt: skip

    values = ints(203, -50, 50, "f8")
    yield RawCase("device-variables", file, "accumulate", 2, 128,
        lambda: (values.copy(), 203),
        lambda x, n: {},
        variables={"totals": np.arange(4.0), "launches_seen": np.int32(0),
         "settings::scale": np.float64(0.5)},
        variables_after={
"totals": np.arange(4.0) + 2 * 0.5 * np.array([values[k::4].sum() for k in range(4)]),
"launches_seen": np.int32(2),
}, steps=({}, {}))  # fmt: skip
    yield RawCase("device-table", file, "test_bits", 2, 64,
        lambda: (ints(12, 0, 256, "u1"), np.zeros(96, bool), 96),
        lambda x, bits, n: {1: np.unpackbits(x, bitorder="little").astype(bool)})  # fmt: skip
    offsets = np.array([[1, 2, 3], [-40, -50, -60]], "i2")
    yield RawCase("device-array-2d", file, "shift_by_offsets", 1, 40,
        lambda: (ints(100, -99, 99, "i2"), blank(100, "i2"), 100),
        lambda x, out, n: {1: x + offsets[np.arange(100) % 2, np.arange(100) % 3]},
        variables={"settings::offsets": offsets})  # fmt: skip
    kernel = np.arange(25, dtype="f4").reshape(5, 5) - 7

    def convolved(image: Array, out: Array, height: int, width: int) -> dict[int, Array]:
        padded = np.pad(image, 2)
        parts = (
            kernel[j, i] * padded[j : j + height, i : i + width] for j in range(5) for i in range(5)
        )
        return {1: sum(parts)}

    yield RawCase("convolution", file, "convolve_5x5", (3, 4), (16, 8),
        lambda: (ints((29, 41), -20, 20, "f4"), blank((29, 41), "f4"), 29, 41), convolved,
        variables={"filter": kernel})  # fmt: skip


def cooperative_cases() -> Iterator[RawCase]:
    file = "cooperative.cu"

    yield RawCase("coalesced-groups", file, "filter_positive", 4, 96,
        lambda: (ints(350, -99, 99), blank(350, "i4"), np.zeros(1, "i4"), 350),
        lambda x, out, count, n: {1: filled(out, x[x > 0]), 2: [np.count_nonzero(x > 0)]},
        unordered=(1,))  # fmt: skip
    for steps in (4, 5):

        def ring(even: Array, odd: Array, n: int, steps: int) -> dict[int, Array]:
            pair = [even, odd]
            for step in range(steps):
                x = pair[step % 2]
                pair[1 - step % 2] = np.roll(x, 1) + np.roll(x, -1) - x
            return dict(enumerate(pair))

        yield RawCase(f"grid-sync-{steps}", file, "ring_average", 4, 64,
            lambda s=steps: (ints(501, -9, 9), blank(501, "i4"), 501, s), ring, cooperative=True
        )  # fmt: skip


# -- a file that has a host's part as programs have it --

FILE = "program.cu"
ELEMENT = np.dtype([("key", "i4"), ("weight", "f4")], align=True)
QUEUE = np.dtype([("first", "i4"), ("waiting", "u8"), ("last", "i4")], align=True)
PITCHED = np.dtype([("ptr", "u8"), ("pitch", "u8"), ("xsize", "u8"), ("ysize", "u8")])


def program_cases() -> Iterator[RawCase]:
    elements = np.zeros(70, ELEMENT)
    elements["key"], elements["weight"] = ints(70, -3, 3), ints(70, -9, 9)
    weights = np.array([(2, 0.5)], [("near", "f4"), ("far", "f4")])
    scaled = elements.copy()
    scaled["weight"] *= np.where(elements["key"] > 0, 2, 0.5)
    yield RawCase("program-base-class", FILE, "scale_elements", 2, 64,
        lambda: (elements.copy(), weights[0], 70),
        lambda e, w, n: {0: scaled})  # fmt: skip
    queue = np.zeros(1, QUEUE)
    queue["first"], queue["last"] = 3, 40
    yield RawCase("program-member-of-the-host", FILE, "queue_lengths", 1, 32,
        lambda: (ints(32, 0, 9), queue[0]),
        lambda x, q: {0: x + 37})  # fmt: skip
    lifting = np.float32(-1.586134342)
    yield RawCase("program-computed-constants", FILE, "lift", 1, 40,
        lambda: (ints(40, -9, 9, "f4"),),
        lambda x: {0: x * -lifting + lifting}, rtol=1e-6,
        why="one rounding of a fused multiply-add")  # fmt: skip
    yield RawCase("program-64-bit-types", FILE, "count_up", 1, 40,
        lambda: (ints(33, 0, 9, "u8"), 33),
        lambda x, n: {0: np.maximum(x, 5)})  # fmt: skip
    yield RawCase("program-statement-expressions", FILE, "largest", 1, 32,
        lambda: (ints(33, -9, 9), np.zeros(32, "i4")),
        lambda x, y: {1: np.maximum(np.maximum(x[:-1], x[1:]), 3) + 2})  # fmt: skip
    yield RawCase("program-types-of-libraries", FILE, "conjugate", 1, 16,
        lambda: (ints(16, -9, 9, "f4") + 1j * ints(16, -9, 9, "f4"), ints(16, -9, 9, "f2"),
                 ints(16, -9, 9, "f8") + 1j * ints(16, -9, 9, "f8")),
        lambda x, h, z: {0: x.conj(), 1: 2 * h, 2: z.conj()})  # fmt: skip
    pitched = np.zeros(1, PITCHED)
    pitched["pitch"], pitched["xsize"], pitched["ysize"] = 512, 3, 20
    yield RawCase("program-pitched-memory", FILE, "offsets_of_rows", 1, 32,
        lambda: (pitched[0], np.zeros(32, "u8")),
        lambda p, x: {1: np.where(np.arange(32) < 20, 512 * np.arange(32) + 3, 0)})  # fmt: skip
    yield RawCase("program-std-size", FILE, "add_size<7>", 1, 16,
        lambda: (ints(16, -9, 9),),
        lambda x: {0: x + 7})  # fmt: skip
    yield RawCase("program-functor-of-the-host", FILE, "apply<Squares>", 1, 16,
        lambda: (np.void(b"\0"), ints(16, -9, 9)),
        lambda f, x: {1: x * x})  # fmt: skip


def cases() -> Iterator[RawCase]:
    for part in (
        grid_cases, matrix_cases, reduction_cases,
        warp_cases, atomic_cases, shared_memory_cases, variable_cases, cooperative_cases,
        program_cases,
    ):  # fmt: skip
        yield from part()
