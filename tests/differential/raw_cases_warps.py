"""Raw kernels whose lanes exchange values: reductions, scans, sorts, compaction, groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .raw_support import Array, RawCase, blank, filled, floats, ints

N = 512  # threads, in four blocks or as many as a case says


def rows(x: Array, size: int = 32) -> Array:
    """Return an array's values, those of `size` neighbouring threads in a row."""
    return x.reshape(-1, size)


def each(x: Array, size: int, values: Any) -> Array:
    """Return a value of each row for all threads of it."""
    return np.repeat(np.asarray(values), size).reshape(x.shape)


def running(function: Callable[..., Any], size: int = 32) -> Callable[..., Array]:
    return lambda x: function(rows(x, size), axis=1).reshape(x.shape)


def before(x: Array, size: int, first: int = 0) -> Array:
    """Return each thread's left neighbour's value in its row."""
    shifted = np.roll(rows(x, size), 1, axis=1)
    shifted[:, 0] = first
    return shifted.reshape(x.shape)


def mapped(
    name: str, file: str, x: Callable[[], Array], reference: Callable[[Array], Any],
    outputs: int = 1, block: int = 128, size: int = 1, dtypes: str = "i4",
) -> RawCase:  # fmt: skip
    """Return a case of a kernel with one input; outputs have an element for `size` threads."""
    kinds = dtypes.split(",") * (outputs if "," not in dtypes else 1)

    def expected(x: Array, *out: Array) -> dict[int, Array]:
        found = reference(x)
        found = found if isinstance(found, tuple) else (found,)
        return {k + 1: filled(out[k], values) for k, values in enumerate(found)}

    return RawCase(
        name.replace("_", "-"), file, name, x().size // block, block,
        lambda: (x(), *(blank(-(-x().size // size), kind) for kind in kinds)), expected,
    )  # fmt: skip


def reductions() -> Iterator[RawCase]:
    file = "warp_reductions.cu"
    numbers = lambda: ints(N, -999, 999)  # noqa: E731
    for size in (32, 64, 256):
        yield RawCase(f"volatile-sums-{size}", file, f"volatile_sums<{size}u>", 4, size,
            lambda size=size: (ints(4 * size, -999, 999), blank(4, "i4")),
            lambda x, y: {1: x.reshape(4, -1).sum(axis=1)})  # fmt: skip
    yield mapped(
        "volatile_argmax", file, lambda: floats(N, -1, 1),
        lambda x: rows(x).argmax(axis=1) + np.arange(0, N, 32), size=32,
    )  # fmt: skip
    scan = running(np.cumsum)
    for name in ("volatile_scan", "sklansky"):
        yield mapped(name, file, numbers, scan)
    for name in ("volatile_block_scan", "hillis_steele"):
        yield mapped(name, file, numbers, running(np.cumsum, 128))
    yield mapped(
        "kogge_stone", file, lambda: ints(N, 0, 2**63, "u8"), lambda x: scan(x), dtypes="u8"
    )
    yield mapped("shuffle_sums_of_8", file, numbers, lambda x: rows(x, 8).sum(axis=1), size=8)
    yield mapped(
        "shuffle_range", file, lambda: floats(N, -1, 1, "f8"),
        lambda x: (each(x, 32, rows(x).min(axis=1)), each(x, 32, rows(x).max(axis=1))),
        outputs=2, dtypes="f8",
    )  # fmt: skip
    yield mapped(
        "scan_maxima_of_16", file, lambda: ints(N, 0, 999),
        lambda x: before(running(np.maximum.accumulate, 16)(x), 16, -1),
    )  # fmt: skip
    for block in (32, 96, 256):
        yield RawCase(f"block-total-{block}", file, "block_total", 2, block,
            lambda block=block: (ints(2 * block, -999, 999), blank(2 * block, "i4")),
            lambda x, y, block=block: {1: each(x, block, rows(x, block).sum(axis=1))})  # fmt: skip

    def segments(x: Array, heads: Array, out: Array) -> dict[int, Array]:
        total, found = 0, []
        for k, (value, head) in enumerate(zip(x.tolist(), heads.tolist(), strict=True)):
            total = value if head or k % 32 == 0 else total + value
            found.append(total)
        return {2: np.array(found)}

    yield RawCase("segmented-scan", file, "segmented_scan", 4, 128,
        lambda: (ints(N, -99, 99), (ints(N, 0, 5, seed=2) == 0).astype("i4"), blank(N, "i4")),
        segments)  # fmt: skip

    def products(x: Array, out: Array) -> dict[int, Array]:
        z = rows(x.view("c8")[:, 0]).astype("c16").prod(axis=1)
        return {1: np.stack([z.real, z.imag], axis=1)}

    def rotations() -> Array:
        turns = floats(N, 0, 6, "f8")
        return np.stack([np.cos(turns), np.sin(turns)], axis=1).astype("f4")

    yield RawCase("pair-products", file, "pair_products", 4, 128,
        lambda: (rotations(), blank((N // 32, 2), "f4")), products, rtol=1e-4, atol=1e-5,
        why="31 products of complex numbers in float32")  # fmt: skip
    yield mapped("syncwarp_sums", file, numbers, lambda x: rows(x).sum(axis=1), size=32)

    def halves(x: Array) -> Array:
        held = rows(x)[:, :16] * rows(x)[:, 16:]
        return held - held[:, ::-1]

    yield mapped("syncwarp_halves", file, numbers, halves, block=32, size=2)
    yield RawCase("blelloch", file, "blelloch", 2, 128,
        lambda: (numbers(), blank(N, "i4")),
        lambda x, y: {1: (rows(x, 256).cumsum(axis=1) - rows(x, 256)).reshape(-1)})  # fmt: skip
    yield RawCase("last-block", file, "last_block_total", 40, 64,
        lambda: (ints(40 * 256, 0, 99), blank(40, "i4"), np.zeros(1, "u4"), blank(1, "i4")),
        lambda x, sums, done, total: {1: (x & 1).reshape(40, -1).sum(axis=1), 3: [(x & 1).sum()]},
        steps=({}, {}))  # fmt: skip
    yield RawCase("look-back", file, "look_back_scan", 60, 128,
        lambda: (ints(60 * 128, 0, 2**16, "u4"), blank(60 * 128, "u4"), np.zeros(60, "u8"),
                 np.zeros(1, "u4")),
        lambda x, y, state, tickets: {
            1: x.cumsum(dtype="u4"), 2: x.cumsum(dtype="u8")[127::128] | 2 << 32, 3: [60],
        })  # fmt: skip


def votes() -> Iterator[RawCase]:
    file = "warp_votes.cu"
    numbers = lambda: ints(N, -99, 99)  # noqa: E731

    def compacted(x: Array, out: Array, sizes: Array, n: int) -> dict[int, Any]:
        found, counts = out.copy(), []
        for k in range(4):
            row = x[: int(n)][k * 128 : k * 128 + 128]
            kept = row[row % 3 == 0]
            found[k * 128 : k * 128 + kept.size] = kept
            counts.append(kept.size)
        return {1: found, 2: np.array(counts)}

    for n in (N, 300):
        yield RawCase(f"compact-in-order-{n}", file, "compact_in_order", 4, 128,
            lambda n=n: (numbers(), blank(N, "i4"), blank(4, "i4"), n), compacted)  # fmt: skip
    yield mapped(
        "partition_signs", file, numbers,
        lambda x: np.take_along_axis(rows(x), np.argsort(rows(x) >= 0, axis=1, kind="stable"), 1),
    )  # fmt: skip
    for name, case in (("aggregated_filter", file), ("coalesced_filter", "warp_groups.cu")):
        keep = (lambda x: x > 50) if name == "aggregated_filter" else (lambda x: x % 5 == 0)
        yield RawCase(name.replace("_", "-"), case, name, 4, 128,
            lambda: (numbers(), blank(N, "i4"), np.zeros(1, "i4")),
            lambda x, y, count, keep=keep: {1: filled(y, x[keep(x)]), 2: [keep(x).sum()]},
            unordered=(1,))  # fmt: skip

    def runs(x: Array, out: Array, counts: Array) -> dict[int, Any]:
        found, sizes = out.copy(), []
        for k, row in enumerate(rows(x)):
            starts = np.flatnonzero(np.r_[True, row[1:] != row[:-1]])
            lengths = np.diff(np.r_[starts, 32])
            found[k * 32 : k * 32 + starts.size] = np.stack([row[starts], lengths], axis=1)
            sizes.append(starts.size)
        return {1: found, 2: np.array(sizes)}

    yield RawCase("run-lengths", file, "run_lengths", 4, 128,
        lambda: (ints(N, 0, 3) * (np.arange(N) > 64), blank((N, 2), "i4"), blank(N // 32, "i4")),
        runs)  # fmt: skip
    in_rows = lambda size: lambda x: np.sort(rows(x, size), axis=1)  # noqa: E731
    yield mapped("bitonic_warp", file, numbers, in_rows(32))
    yield RawCase("bitonic-volatile", file, "bitonic_volatile", N // 64, 32,
        lambda: (floats(N, -1, 1), blank(N, "f4")),
        lambda x, y: {1: in_rows(64)(x).reshape(-1)})  # fmt: skip

    def odd_even(x: Array) -> tuple[Array, Array]:
        rounds = []
        for row in rows(x).astype("i4"):
            quiet = turn = 0
            while quiet < 2:
                pairs = row[turn & 1 : 32 - (turn & 1)].reshape(-1, 2)
                ordered = np.sort(pairs, axis=1)
                quiet = quiet + 1 if np.array_equal(pairs, ordered) else 0
                pairs[...] = ordered
                turn += 1
            rounds.append(turn)
        return in_rows(32)(x), np.array(rounds)

    yield RawCase("odd-even", file, "odd_even_warp", 4, 128,
        lambda: (ints(N, -99, 99, "i2"), blank(N, "i2"), blank(N // 32, "i4")),
        lambda x, y, z: {1: odd_even(x)[0].reshape(-1), 2: odd_even(x)[1]})  # fmt: skip
    yield mapped("radix_warp", file, lambda: ints(N, 0, 256, "u1"), in_rows(32), dtypes="u1")
    for shift in (0, 28):
        yield RawCase(f"radix-step-{shift}", file, "radix_step", 4, 128,
            lambda shift=shift: (ints(N, 0, 2**32, "u4"), blank(N, "u4"), shift),
            lambda x, y, shift: {
                1: np.take_along_axis(
                    rows(x, 128),
                    np.argsort(rows(x, 128) >> np.uint32(shift) & 15, axis=1, kind="stable"), 1,
                ).reshape(-1)
            })  # fmt: skip
    yield RawCase("warp-histograms", file, "warp_histograms", 3, 128,
        lambda: (ints(5000, 0, 256, "u1"), np.ones(64, "u4"), 5000),
        lambda x, bins, n: {1: bins + np.bincount(x & 63, minlength=64)})  # fmt: skip

    def ranks(x: Array) -> tuple[Array, Array]:
        same = rows(x)[:, :, None] == rows(x)[:, None, :]
        behind = np.triu(np.ones((32, 32), bool), 1)
        return (same & behind.T).sum(axis=2), ~(same & behind).any(axis=2)

    yield mapped("match_ranks", file, lambda: ints(N, 0, 6, "i8") << 40, ranks, outputs=2)

    def by_key(keys: Array, values: Array) -> Array:
        same = rows(keys)[:, :, None] == rows(keys)[:, None, :]
        return (same * rows(values)[:, None, :]).sum(axis=2).reshape(-1)

    yield RawCase("sums-by-key", file, "sums_by_key", 4, 128,
        lambda: (ints(N, 0, 5), ints(N, -99, 99, seed=2), blank(N, "i4")),
        lambda keys, values, y: {2: by_key(keys, values)})  # fmt: skip

    def agreed(x: Array) -> tuple[Array, Array]:
        all_same = (rows(x) == rows(x)[:, :1]).all(axis=1)
        masks = np.where(all_same, 2**32 - 1, 0)
        return np.where(each(x, 32, all_same), x, -1), each(x, 32, masks)

    yield mapped(
        "agreements", file, lambda: ints(N, 5, 7) * (np.arange(N) > 200), agreed, outputs=2,
        dtypes="i4,u4",
    )  # fmt: skip

    def collatz(x: Array) -> tuple[Array, Array]:
        steps = np.zeros_like(x)
        while (x > 1).any():
            steps += x > 1
            x = np.where(x > 1, np.where(x % 2, 3 * x + 1, x // 2), x)
        return steps, each(x, 32, rows(steps).max(axis=1))

    yield mapped("collatz_until_all", file, lambda: ints(N, 1, 99), collatz, outputs=2)
    yield mapped(
        "gcd_of_warp", file, lambda: ints(N, 1, 99) * np.repeat(ints(N // 32, 1, 9, seed=2), 32),
        lambda x: each(x, 32, np.gcd.reduce(rows(x), axis=1)),
    )  # fmt: skip
    yield RawCase("transpose-8", file, "transpose_8_by_8", 2, 64,
        lambda: (ints(8 * 128, -999, 999), blank(8 * 128, "i4")),
        lambda x, y: {1: x.reshape(-1, 8, 8).transpose(0, 2, 1).reshape(-1)})  # fmt: skip
    yield RawCase("first-above", file, "first_above", 4, 128,
        lambda: (numbers(), 95, blank(N, "i4")),
        lambda x, limit, y: {
            2: each(x, 32, [next((v for v in row if v > limit), -1) for row in rows(x).tolist()])
        })  # fmt: skip


def groups() -> Iterator[RawCase]:
    file = "warp_groups.cu"
    numbers = lambda: ints(N, -99, 99)  # noqa: E731
    for width in (128, 64, 32, 16, 8, 4):

        def reduced(x: Array, width: int = width) -> tuple[Array, ...]:
            bits = np.bitwise_xor.reduce(rows(x, width).view("u4"), axis=1)
            parts = (rows(x, width).sum(axis=1), rows(x, width).min(axis=1), bits)
            return tuple(each(x, width, part) for part in parts)

        def scanned(x: Array, width: int = width) -> tuple[Array, ...]:
            sums = running(np.cumsum, width)(x)
            return sums, sums - x, running(np.maximum.accumulate, width)(x)

        yield mapped(
            f"tile_reductions<{width}>", file, numbers, reduced, outputs=3, dtypes="i4,i4,u4"
        )
        yield mapped(f"tile_scans<{width}>", file, numbers, scanned, outputs=3)

    def of_warps(x: Array) -> tuple[Array, Array]:
        i = np.arange(N) % 128
        first, others = rows(x, 128)[:, :64], rows(x, 128)[:, 64:]
        votes = (first == 5).any(axis=1) + 2 * (first > -99).all(axis=1)
        sums = first[:, :3].sum(axis=1) + 3000 * votes
        left = sums[:, None] + 3 * (np.arange(64) // 16)
        right = np.repeat(others[:, 40:41], 64, axis=1)
        both = np.concatenate([left, right], axis=1)
        return 200 + i // 64 * 1000 + i % 64, both.reshape(-1)

    yield mapped("tiles_of_warps", file, numbers, of_warps, outputs=2)

    def nested(x: Array, y: Array) -> dict[int, Array]:
        of_tile = each(x, 4, rows(x, 4).sum(axis=1)) * 100 + np.arange(N) % 32 // 4
        return {1: np.stack([of_tile, each(x, 32, rows(x).sum(axis=1))], axis=1).reshape(-1)}

    yield RawCase("tiles-of-tiles", file, "tiles_of_tiles", 4, 128,
        lambda: (numbers(), blank(2 * N, "i4")), nested)  # fmt: skip
    yield mapped(
        "maxima_of_groups", file, numbers,
        lambda x: tuple(each(x, size, rows(x, size).max(axis=1)) for size in (16, 128)), outputs=2,
    )  # fmt: skip

    def matches(x: Array) -> tuple[Array, ...]:
        same = rows(x, 8)[:, :, None] == rows(x, 8)[:, None, :]
        last = each(x, 8, rows(x, 8)[:, -1])
        return (same << np.arange(8)).sum(axis=2), each(x, 8, same.all(axis=(1, 2))), last

    yield mapped(
        "tile_matches", file, lambda: ints(N, 0, 3) * (np.arange(N) % 40 > 8), matches, outputs=3,
        dtypes="u4,i4,i4",
    )  # fmt: skip

    def parity(x: Array) -> tuple[Array, Array]:
        same = (rows(x)[:, :, None] & 1) == (rows(x)[:, None, :] & 1)
        sums = (same * rows(x)[:, None, :]).sum(axis=2)
        return sums, (same & np.tri(32, 32, -1, bool)).sum(axis=2)

    yield mapped("sums_by_parity", file, numbers, parity, outputs=2)

    def labels(x: Array, values: Array, *out: Array) -> dict[int, Array]:
        same = rows(x, 16)[:, :, None] == rows(x, 16)[:, None, :]
        sums = (same * rows(values, 16)[:, None, :]).sum(axis=2)
        return {2: sums.reshape(-1), 3: same.sum(axis=2).reshape(-1)}

    yield RawCase("sums-by-label", file, "sums_by_label", 4, 128,
        lambda: (ints(N, 0, 4), numbers(), blank(N, "i4"), blank(N, "i4")), labels)  # fmt: skip

    def thirds(x: Array) -> tuple[Array, Array]:
        ballots, after = np.zeros(N, "u4"), np.full(N, -1)
        for block in range(0, N, 128):
            for warp in range(block, block + 128, 32):
                here = [k for k in range(warp, warp + 32) if (k - block) % 3 == 1]
                ballots[here] = sum(1 << k for k, i in enumerate(here) if x[i] > 0)
                after[here] = [*x[here[1:]], x[here[-1]]]
        return ballots, after

    yield mapped("coalesced_votes", file, numbers, thirds, outputs=2, dtypes="u4,i4")
    yield RawCase("norms-of-rows", file, "norms_of_rows", 3, (16, 4),
        lambda: (ints((12, 37), -99, 99, "f4"), blank(12, "f4"), 37),
        lambda m, y, columns: {1: np.abs(m).sum(axis=1)})  # fmt: skip


def cases() -> Iterator[RawCase]:
    yield from reductions()
    yield from votes()
    yield from groups()
