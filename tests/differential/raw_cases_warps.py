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
    yield mapped("volatile_scan", file, numbers, scan)
    yield mapped(
        "kogge_stone", file, lambda: ints(N, 0, 2**63, "u8"), lambda x: scan(x), dtypes="u8"
    )
    yield mapped("shuffle_sums_of_8", file, numbers, lambda x: rows(x, 8).sum(axis=1), size=8)
    yield mapped("syncwarp_sums", file, numbers, lambda x: rows(x).sum(axis=1), size=32)

    yield RawCase("blelloch", file, "blelloch", 2, 128,
        lambda: (numbers(), blank(N, "i4")),
        lambda x, y: {1: (rows(x, 256).cumsum(axis=1) - rows(x, 256)).reshape(-1)})  # fmt: skip
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
    for name, case in (("aggregated_filter", file), ("coalesced_filter", "warp_groups.cu")):
        keep = (lambda x: x > 50) if name == "aggregated_filter" else (lambda x: x % 5 == 0)
        yield RawCase(name.replace("_", "-"), case, name, 4, 128,
            lambda: (numbers(), blank(N, "i4"), np.zeros(1, "i4")),
            lambda x, y, count, keep=keep: {1: filled(y, x[keep(x)]), 2: [keep(x).sum()]},
            unordered=(1,))  # fmt: skip

    in_rows = lambda size: lambda x: np.sort(rows(x, size), axis=1)  # noqa: E731
    yield mapped("bitonic_warp", file, numbers, in_rows(32))
    yield RawCase("bitonic-volatile", file, "bitonic_volatile", N // 64, 32,
        lambda: (floats(N, -1, 1), blank(N, "f4")),
        lambda x, y: {1: in_rows(64)(x).reshape(-1)})  # fmt: skip

    for shift in (0, 28):
        yield RawCase(f"radix-step-{shift}", file, "radix_step", 4, 128,
            lambda shift=shift: (ints(N, 0, 2**32, "u4"), blank(N, "u4"), shift),
            lambda x, y, shift: {
                1: np.take_along_axis(
                    rows(x, 128),
                    np.argsort(rows(x, 128) >> np.uint32(shift) & 15, axis=1, kind="stable"), 1,
                ).reshape(-1)
            })  # fmt: skip

    def ranks(x: Array) -> tuple[Array, Array]:
        same = rows(x)[:, :, None] == rows(x)[:, None, :]
        behind = np.triu(np.ones((32, 32), bool), 1)
        return (same & behind.T).sum(axis=2), ~(same & behind).any(axis=2)

    yield mapped("match_ranks", file, lambda: ints(N, 0, 6, "i8") << 40, ranks, outputs=2)

    def agreed(x: Array) -> tuple[Array, Array]:
        all_same = (rows(x) == rows(x)[:, :1]).all(axis=1)
        masks = np.where(all_same, 2**32 - 1, 0)
        return np.where(each(x, 32, all_same), x, -1), each(x, 32, masks)

    yield mapped(
        "agreements", file, lambda: ints(N, 5, 7) * (np.arange(N) > 200), agreed, outputs=2,
        dtypes="i4,u4",
    )  # fmt: skip

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
