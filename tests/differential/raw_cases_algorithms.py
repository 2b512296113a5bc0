"""Raw kernels that do whole jobs: simulations, random numbers, rows, images."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from .raw_support import Array, RawCase, blank, floats, ints, text

MASK32, MASK64 = 2**32 - 1, 2**64 - 1


def simulation_cases() -> Iterator[RawCase]:
    file = "simulation.cu"

    def mandelbrot(
        steps: Array, width: int, height: int, left: float, top: float, pixel: float, limit: int
    ) -> dict[int, Array]:
        c = left + np.arange(width) * pixel + 1j * (top - np.arange(height)[:, None] * pixel)
        z, count = np.zeros_like(c), np.zeros(c.shape, int)
        for _ in range(limit):
            inside = z.real**2 + z.imag**2 <= 4
            count += inside
            z = np.where(inside, z * z + c, z)
        return {0: count}

    yield RawCase(
        "mandelbrot", file, "mandelbrot", (3, 5), (16, 8),
        lambda: (blank((37, 45), "i4"), 45, 37, -2.0, 1.125, 0.0625, 30), mandelbrot,
    )  # fmt: skip

    def n_body(bodies: Array, out: Array, n: int, softening: float) -> dict[int, Array]:
        position, mass = bodies[:, :3].astype("f8"), bodies[:, 3].astype("f8")
        d = position[None] - position[:, None]
        strength = mass * ((d**2).sum(2) + softening) ** -1.5
        return {1: (d * strength[:, :, None]).sum(1)}

    yield RawCase(
        "n-body", file, "n_body", 3, 64,
        lambda: (floats((150, 4), 0.1, 2), blank((150, 3), "f4"), 150, 0.5), n_body,
        shared_mem=64 * 16, rtol=1e-4, atol=1e-3,
        why="a sum of 150 single-precision terms whose signs differ",
    )  # fmt: skip

    def life(cells: Array, out: Array, width: int, height: int) -> dict[int, Array]:
        turns = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if (y, x) != (0, 0)]
        neighbours = sum(np.roll(cells, turn, (0, 1)) for turn in turns)
        return {1: (neighbours == 3) | (cells & (neighbours == 2))}

    yield RawCase(
        "life", file, "life", (3, 6), (16, 4),
        lambda: (ints((23, 41), 0, 2, "u1"), blank((23, 41), "u1"), 41, 23), life,
    )  # fmt: skip

    def sparse() -> tuple[Any, ...]:
        matrix = ints((61, 90), -9, 9, "f4") * (ints((61, 90), 0, 4, seed=2) == 0)
        matrix[7] = 0
        rows, columns = np.nonzero(matrix)
        starts = np.searchsorted(rows, np.arange(62)).astype("i4")
        return (
            starts, columns.astype("i4"), matrix[rows, columns], ints(90, -9, 9, "f4", 3),
            blank(61, "f4"), 61,
        )  # fmt: skip

    def multiplied(
        starts: Array, columns: Array, values: Array, x: Array, y: Array, rows: int
    ) -> dict[int, Array]:
        products = np.append(values * x[columns], np.float32(0))
        sums = [products[a:b].sum() for a, b in pairwise(starts)]
        return {4: np.array(sums)}

    yield RawCase("spmv-csr", file, "spmv_csr", 16, 128, sparse, multiplied)

    def assigned(
        points: Array, centres: Array, nearest: Array, sums: Array, counts: Array, n: int, k: int
    ) -> dict[int, Array]:
        where = ((points[:, None] - centres) ** 2).sum(2).argmin(1)
        totals = [points[where == c].sum(0) for c in range(k)]
        return {2: where, 3: np.array(totals), 4: np.bincount(where, minlength=k)}

    yield RawCase(
        "k-means", file, "k_means_assign", 4, 80,
        lambda: (ints((300, 2), 0, 100, "f4"), ints((7, 2), 0, 100, "f4", 2), blank(300, "i4"),
                 np.zeros((7, 2), "f4"), np.zeros(7, "i4"), 300, 7),
        assigned, shared_mem=7 * 8,
    )  # fmt: skip

    def distances() -> Array:
        links = np.where(ints((30, 30), 0, 4, seed=2) == 0, ints((30, 30), 1, 99), 100000)
        np.fill_diagonal(links, 0)
        return links.astype("i4")

    def shortest(links: Array, n: int, via: int) -> dict[int, Array]:
        for k in range(n):
            links = np.minimum(links, links[:, k, None] + links[k])
        return {0: links}

    yield RawCase(
        "floyd-warshall", file, "floyd_warshall", (2, 4), (16, 8),
        lambda: (distances(), 30, 0), shortest, steps=tuple({2: k} for k in range(30)),
    )  # fmt: skip

    def graph() -> tuple[Any, ...]:
        linked = ints((200, 200), 0, 60) == 0
        rows, columns = np.nonzero(linked)
        levels = np.full(200, -1, "i4")
        levels[3] = 0
        starts = np.searchsorted(rows, np.arange(201)).astype("i4")
        return starts, columns.astype("i4"), levels, 0, 200, np.zeros(1, "i4")

    def searched(
        starts: Array, edges: Array, levels: Array, level: int, n: int, changed: Array
    ) -> dict[int, Array]:
        front, reached = {3}, {3}
        for depth in range(1, 13):
            front = {int(w) for v in front for w in edges[starts[v] : starts[v + 1]]} - reached
            levels[list(front)] = depth
            reached |= front
        return {2: levels, 5: np.array([len(reached) - 1])}

    yield RawCase(
        "breadth-first-search", file, "bfs_level", 4, 64, graph, searched,
        steps=tuple({3: level} for level in range(12)),
    )  # fmt: skip

    def system() -> Array:
        return ints((40, 40), -9, 9, "f8") + np.diag(np.full(40, 512.0))

    yield RawCase(
        "jacobi", file, "jacobi", 2, 32,
        lambda: (system(), ints(40, -99, 99, "f8"), ints(40, -9, 9, "f8", 2), blank(40, "f8"), 40),
        lambda a, b, x, out, n: {3: (b - (a @ x - a.diagonal() * x)) / a.diagonal()},
    )  # fmt: skip

    def decomposed(matrices: Array, n: int) -> dict[int, Array]:
        for m in matrices:
            for k in range(n - 1):
                m[k + 1 :, k] /= m[k, k]
                m[k + 1 :, k + 1 :] -= np.outer(m[k + 1 :, k], m[k, k + 1 :])
        return {0: matrices}

    yield RawCase(
        "lu-blocks", file, "lu_blocks", 3, 64,
        lambda: (np.stack([system()[:19, :19] + k for k in range(3)]), 19), decomposed,
        shared_mem=19 * 19 * 8, rtol=1e-12, atol=1e-12,
        why="a product and a difference may be contracted to one rounding",
    )  # fmt: skip

    def traced(
        spheres: Array, count: int, depth: Array, which: Array, width: int, height: int
    ) -> dict[int, Array]:
        y, x = np.indices((height, width), np.float32)
        inside = (spheres[:, 3] ** 2)[:, None, None] - (
            (x - spheres[:, 0, None, None]) ** 2 + (y - spheres[:, 1, None, None]) ** 2
        )
        hit = inside >= 0
        z = np.where(hit, spheres[:, 2, None, None] - np.sqrt(np.where(hit, inside, 0)), np.inf)
        return {2: z.min(0), 3: np.where(hit.any(0), z.argmin(0), -1)}

    yield RawCase(
        "ray-sphere", file, "ray_sphere", (4, 5), (16, 8),
        lambda: (np.column_stack([ints((9, 2), 0, 60, "f4"), ints(9, 20, 50, "f4", 2),
                                  ints(9, 4, 15, "f4", 3)]),
                 9, blank((40, 61), "f4"), blank((40, 61), "i4"), 61, 40),
        traced,
    )  # fmt: skip

    def longest(a: Array, b: Array, out: Array, n: int) -> dict[int, Array]:
        table = np.zeros((n + 1, n + 1), int)
        for i in range(n):
            for j in range(n):
                same = table[i, j] + 1 if a[i] == b[j] else 0
                table[i + 1, j + 1] = max(same, table[i, j + 1], table[i + 1, j])
        return {2: table[-1, -1:]}

    yield RawCase(
        "common-subsequence", file, "common_subsequence", 1, 61,
        lambda: (ints(60, 97, 102, "i1"), ints(60, 97, 102, "i1", 2), blank(1, "i4"), 60), longest,
        shared_mem=3 * 61 * 4,
    )  # fmt: skip


def _xorshift(state: Array) -> Array:
    state = state ^ state << 13
    state = state ^ state >> 17
    return state ^ state << 5


def random_cases() -> Iterator[RawCase]:
    file = "random.cu"

    def xorshift(seeds: Array, out: Array, steps: int, n: int) -> dict[int, Array]:
        rows = []
        for _ in range(steps):
            seeds = _xorshift(seeds)
            rows.append(seeds)
        return {1: np.array(rows)}

    yield RawCase(
        "xorshift", file, "xorshift", 3, 50,
        lambda: (ints(130, 1, 2**32, "u4"), blank((9, 130), "u4"), 9, 130), xorshift,
    )  # fmt: skip

    def pcg(seed: int, out: Array, uniforms: Array, draws: int) -> dict[int, Array]:
        rows = []
        for stream in range(len(uniforms)):
            increment = stream << 1 | 1
            state = increment  # one step from zero
            state = (state + seed) * 6364136223846793005 + increment & MASK64
            row = []
            for _ in range(draws + 1):
                shifted = (state >> 18 ^ state) >> 27 & MASK32
                turn = state >> 59
                row.append((shifted >> turn | shifted << (32 - turn & 31)) & MASK32)
                state = state * 6364136223846793005 + increment & MASK64
            rows.append(row)
        drawn = np.array(rows)
        return {1: drawn[:, :draws], 2: (drawn[:, draws] >> 8) / 2.0**24}

    yield RawCase(
        "pcg", file, "pcg", 2, 40,
        lambda: (2**63 + 12345, blank((80, 6), "u4"), blank(80, "f4"), 6), pcg,
    )  # fmt: skip

    def philox(key: Any, out: Array, n: int) -> dict[int, Array]:
        zero = np.zeros(n, np.uint64)
        x, y, z, w = np.arange(n, dtype=np.uint64), zero + 7, zero, zero + MASK32
        low, high = int(key["x"]), int(key["y"])
        for _ in range(10):
            a, b = x * np.uint64(0xD2511F53), z * np.uint64(0xCD9E8D57)
            x, y, z, w = (
                b >> 32 ^ y ^ np.uint64(low), b & MASK32, a >> 32 ^ w ^ np.uint64(high), a & MASK32
            )  # fmt: skip
            low, high = low + 0x9E3779B9 & MASK32, high + 0xBB67AE85 & MASK32
        return {1: np.stack([x, y, z, w], 1)}

    key = np.array((0xA4093822, 0x299F31D0), [("x", "u4"), ("y", "u4")])[()]
    yield RawCase(
        "philox", file, "philox", 2, 64, lambda: (key, blank((100, 4), "u4"), 100), philox
    )

    def hits(seeds: Array, out: Array, points: int) -> dict[int, Array]:
        total = 0
        for _ in range(points):
            seeds = _xorshift(seeds)
            x, y = (seeds & 0xFFF).astype(int), (seeds >> 12 & 0xFFF).astype(int)
            total += np.count_nonzero(x * x + y * y < 4096**2)
        return {1: np.array([total])}

    yield RawCase(
        "count-in-circle", file, "count_in_circle", 3, 96,
        lambda: (ints(288, 1, 2**32, "u4"), np.zeros(1, "u8"), 50), hits,
    )  # fmt: skip
    table = np.arange(256, dtype="u4")
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ 0xEDB88320, table >> 1).astype("u4")
    yield RawCase(
        "crc-table", file, "crc_make_table", 1, 256, lambda: (blank(256, "u4"),),
        lambda out: {0: table},
    )  # fmt: skip
    yield RawCase(
        "crc-rows", file, "crc_rows", 2, 32,
        lambda: (ints((50, 37), 0, 256, "u1"), 37, blank(50, "u4"), 50),
        lambda rows, length, sums, n: {2: [zlib.crc32(row.tobytes()) for row in rows]},
        variables={"crc_table": table},
    )  # fmt: skip

    def fnv(letters: Array, starts: Array, out: Array, count: int) -> dict[int, Array]:
        hashes = []
        for begin, end in pairwise(starts.tolist()):
            value = 0xCBF29CE484222325
            for byte in letters[begin:end].view("u1").tolist():
                value = (value ^ byte) * 0x100000001B3 & MASK64
            hashes.append(value)
        return {2: np.array(hashes, "u8")}

    yield RawCase(
        "fnv-strings", file, "fnv_strings", 2, 16,
        lambda: (ints(300, -128, 128, "i1"),
                 np.sort(np.append(ints(23, 0, 300), [0, 300])).astype("i4"), blank(24, "u8"), 24),
        fnv,
    )  # fmt: skip

    def mixed(h: Array, n: int) -> dict[int, Array]:
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
            h = (h ^ h >> shift) * np.uint32(factor)
        return {0: h}

    yield RawCase(
        "mix-bits", file, "mix_bits", 2, 64, lambda: (ints(999, 0, 2**32, "u4"), 999), mixed
    )


def row_cases() -> Iterator[RawCase]:
    file = "rows.cu"
    sums = "sums of single-precision terms, and the exponential function's own error"

    def softmax(x: Array, out: Array, columns: int) -> dict[int, Array]:
        e = np.exp(x.astype("f8") - x.max(1, keepdims=True))
        return {1: e / e.sum(1, keepdims=True)}

    for columns, block in ((300, 128), (5, 32), (33, 64)):
        yield RawCase(
            f"softmax-{columns}", file, "softmax_rows", 6, block,
            lambda c=columns: (floats((6, c), -9, 9), blank((6, c), "f4"), c), softmax,
            rtol=1e-5, atol=1e-7, why=sums,
        )  # fmt: skip
    yield RawCase(
        "log-sum-exp", file, "log_sum_exp", 3, (32, 4),
        lambda: (floats((11, 77), -9, 9), blank(11, "f4"), 11, 77),
        lambda x, out, *sizes: {1: np.log(np.exp(x.astype("f8")).sum(1))},
        rtol=1e-5, atol=1e-6, why=sums,
    )  # fmt: skip

    def normalised(
        x: Array, gain: Array, bias: Array, out: Array, columns: int, epsilon: float
    ) -> dict[int, Array]:
        v = x.astype("f8")
        scaled = (v - v.mean(1, keepdims=True)) / np.sqrt(v.var(1, keepdims=True) + epsilon)
        return {3: scaled * gain + bias}

    yield RawCase(
        "layer-norm", file, "layer_norm", 5, 96,
        lambda: (floats((5, 250), -3, 5), floats(250, 0.5, 2, seed=2), floats(250, -1, 1, seed=3),
                 blank((5, 250), "f4"), 250, 1e-5),
        normalised, rtol=1e-5, atol=1e-5, why=sums,
    )  # fmt: skip
    yield RawCase(
        "column-statistics", file, "column_statistics", 2, 32,
        lambda: (floats((70, 45), -3, 5, "f8"), blank(45, "f8"), blank(45, "f8"), 70, 45),
        lambda x, mean, variance, *sizes: {1: x.mean(0), 2: x.var(0)},
        rtol=1e-12, atol=1e-13, why="another order of summation",
    )  # fmt: skip
    for size in (64, 256, 1024):
        yield RawCase(
            f"fft-{size}", file, f"fft_rows<{size}>", 3, size // 2,
            lambda n=size: (floats((3, n, 2), -1, 1), blank((3, n, 2), "f4")),
            lambda x, out: {
                1: np.fft.fft(x.astype("f8").view("c16")[..., 0]).view("f8").reshape(out.shape)
            },
            rtol=1e-5, atol=5e-5, why="ten layers of sums in single precision",
        )  # fmt: skip
    verse = "the rain in spain stays mainly in the plain; " * 7

    def found(letters: Array, n: int, pattern: Array, m: int, begins: Array) -> dict[int, Array]:
        return {4: np.array([verse.startswith("ain", k) for k in range(n)])}

    yield RawCase(
        "find-pattern", file, "find_pattern", 5, 64,
        lambda: (text(verse), len(verse), text("ain"), 3, np.zeros(len(verse), "?")), found,
    )  # fmt: skip
    yield RawCase(
        "upper-case", file, "upper_case", 5, 80,
        lambda: (text(verse), blank(len(verse), "i1"), len(verse), np.zeros(1, "u4")),
        lambda letters, upper, n, words: {1: text(verse.upper()), 3: [len(verse.split())]},
    )  # fmt: skip


def image_cases() -> Iterator[RawCase]:
    file = "image.cu"

    def picture(*shape: int, dtype: Any = "u1", high: int = 256) -> Array:
        return ints(shape, 0, high, dtype)

    yield RawCase(
        "rgba-to-grey", file, "rgba_to_grey", 3, 64,
        lambda: (picture(500, 4), blank(500, "u1"), 500),
        lambda rgba, grey, n: {1: rgba[:, :3].astype(int) @ [77, 150, 29] >> 8},
    )  # fmt: skip

    def resized(
        x: Array, in_height: int, in_width: int, out: Array, out_height: int, out_width: int
    ) -> dict[int, Array]:
        def weights(size: int, new: int) -> Array:
            place = np.clip((np.arange(new) + 0.5) * (size / new) - 0.5, 0, size - 1)
            low = place.astype(int)
            matrix = np.zeros((new, size))
            np.add.at(matrix, (np.arange(new), low), 1 - (place - low))
            np.add.at(matrix, (np.arange(new), np.minimum(low + 1, size - 1)), place - low)
            return matrix

        return {3: weights(in_height, out_height) @ x @ weights(in_width, out_width).T}

    for height, width in ((50, 61), (9, 14)):
        yield RawCase(
            f"resize-{height}x{width}", file, "resize_bilinear", (4, 13), (16, 4),
            lambda h=height, w=width: (floats((23, 31), 0, 1), 23, 31, blank((h, w), "f4"), h, w),
            resized, rtol=1e-5, atol=1e-5, why="the coordinates are in single precision",
        )  # fmt: skip

    def sobel(x: Array, out: Array, width: int, height: int) -> dict[int, Array]:
        v = x.astype(int)
        across = v[:-2] + 2 * v[1:-1] + v[2:]
        down = v[:, :-2] + 2 * v[:, 1:-1] + v[:, 2:]
        edges = abs(across[:, 2:] - across[:, :-2]) + abs(down[2:] - down[:-2])
        return {1: np.pad(np.minimum(edges, 255), 1)}

    yield RawCase(
        "sobel", file, "sobel", (3, 5), (16, 8),
        lambda: (picture(37, 45, high=90), blank((37, 45), "u1"), 45, 37), sobel,
    )  # fmt: skip
    yield RawCase(
        "median", file, "median_3x3", (2, 4), (16, 8),
        lambda: (picture(27, 31, dtype="u2", high=60000), blank((27, 31), "u2"), 31, 27),
        lambda x, out, *sizes: {
            1: np.median(
                np.lib.stride_tricks.sliding_window_view(np.pad(x, 1, "edge"), (3, 3)), (2, 3)
            )
        },
    )  # fmt: skip
    for kind, dtype, radius in (("int", "i4", 3), ("double", "f8", 1)):

        def blurred(x: Array, out: Array, *sizes: int, radius: int = radius) -> dict[int, Array]:
            padded = np.pad(x, ((0, 0), (radius, radius)), "edge")
            windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * radius + 1, 1)
            return {1: windows.sum(2)}

        yield RawCase(
            f"blur-rows-{kind}-{radius}", file, f"blur_rows<{kind}, {radius}>", (3, 13), 32,
            lambda d=dtype: (ints((13, 75), 0, 99, d), blank((13, 75), d), 75, 13), blurred,
            shared_mem=(32 + 2 * radius) * np.dtype(dtype).itemsize,
        )  # fmt: skip
    yield RawCase(
        "integral-rows", file, "integral_rows", 1, 32,
        lambda: (picture(29, 50), blank((29, 50), "u4"), 50, 29),
        lambda x, out, *sizes: {1: np.cumsum(x, axis=1)},
    )  # fmt: skip
    yield RawCase(
        "rotate-rgb", file, "rotate_rgb", (3, 4), (16, 8),
        lambda: (picture(29, 41, 3), blank((41, 29, 3), "u1"), 41, 29),
        lambda x, out, *sizes: {1: np.rot90(x, -1)},
    )  # fmt: skip


def cases() -> Iterator[RawCase]:
    for part in (simulation_cases, random_cases, row_cases, image_cases):
        yield from part()
