"""Thrust's algorithms in kernels, against NumPy on random ranges of each row."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.errors import TypingError
from tests.sampling import half

thrust, seq = jit.thrust, jit.thrust.seq
ROWS, LENGTH, MOST = 7, 45, 6  # of an array; and numbers are below the last


def ranges(backend: Any, order: str, *results: str) -> tuple[Any, ...]:
    """Return rows, sorted rows and others, and empty results."""
    rng = np.random.default_rng(5)
    x = rng.integers(0, MOST, (3, ROWS, LENGTH)).astype(np.int32)
    x[1:].sort(axis=-1)
    given = [np.asarray(part, order=order) for part in x]  # type: ignore[call-overload]
    empty = [np.full((ROWS, 2 * LENGTH), -1, dtype) for dtype in results]
    return tuple(backend.asarrays(*given, *empty))


def check(backend: Any, found: Any, expected: list[Any]) -> None:
    """Compare rows, as far as what is expected goes."""
    for row, wanted in zip(backend.asnumpy(found), expected, strict=True):
        np.testing.assert_array_equal(row[: len(wanted)], wanted)
        assert (row[len(wanted) :] == -1).all()


@jit.rawkernel()
def searches(x, low, high, out):
    i = jit.threadIdx.x
    row, ordered, values = x[i], low[i], high[i]
    first, last = ordered.begin(), ordered.end()
    out[i, 0] = thrust.count(thrust.device, row.begin(), row.end(), 3)
    out[i, 1] = thrust.find(seq, row.begin(), row.end(), 4) - row.begin()
    out[i, 2] = thrust.find(seq, row.begin(), row.end(), 99) == row.end()
    out[i, 3] = thrust.equal(seq, first, last, values.begin())
    out[i, 4] = thrust.equal(seq, first, last, first, lambda a, b: a == b)
    pair = thrust.mismatch(seq, row.begin(), row.end(), first)
    out[i, 5] = pair[0] - row.begin()
    out[i, 6] = pair[1] - first
    out[i, 7] = thrust.is_sorted(seq, first, last)
    out[i, 8] = thrust.is_sorted_until(seq, row.begin(), row.end()) - row.begin()
    out[i, 9] = thrust.lower_bound(seq, first, last, 3) - first
    out[i, 10] = thrust.upper_bound(seq, first, last, 3) - first
    out[i, 11] = thrust.binary_search(seq, first, last, 3)
    start, end = thrust.equal_range(seq, first, last, 3)
    out[i, 12] = end - start
    place = out[i, 13 : 13 + 3]
    thrust.upper_bound(seq, first, last, values.begin(), values.begin() + 3, place.begin())


def first_where(mask: np.ndarray) -> int:
    return int(mask.argmax()) if mask.any() else len(mask)


@pytest.mark.exhaustive
@pytest.mark.parametrize("order", half(["F", "C"]))
def test_searches(backend: Any, order: str) -> None:
    x, low, high, out = ranges(backend, order, "i4")
    searches[1, ROWS](x, low, high, out)
    expected = []
    for row, ordered, values in zip(*map(backend.asnumpy, (x, low, high)), strict=True):
        bounds = [np.searchsorted(ordered, 3, side) for side in ("left", "right")]
        differs = first_where(row != ordered)
        expected.append([
            (row == 3).sum(), first_where(row == 4), True, (ordered == values).all(), True,
            differs, differs, True, first_where(np.r_[False, np.diff(row) < 0]), *bounds,
            3 in ordered, (ordered == 3).sum(), *np.searchsorted(ordered, values[:3], "right"),
        ])  # fmt: skip
    check(backend, out, expected)


@jit.rawkernel()
def copies(x, low, high, out):
    i = jit.threadIdx.x
    row, to = x[i], out[i].begin()
    thrust.sequence(seq, to, to + 4)
    thrust.sequence(seq, to + 4, to + 8, 5, 3)
    thrust.fill(seq, to + 8, to + 9, 7)
    to = thrust.gather(seq, row.begin(), row.begin() + 5, low[i].begin(), to + 9)
    thrust.scatter(seq, low[i].begin(), low[i].begin() + 1, row.begin(), to)
    to = thrust.reverse_copy(seq, row.begin(), row.begin() + 6, to + 6)
    to = thrust.replace_copy(seq, row.begin(), row.begin() + 6, to, 2, 40)
    to = thrust.remove_copy(seq, row.begin(), row.begin() + 6, to, 2)
    to = thrust.copy(thrust.device, row.begin(), row.begin() + 3, to)
    thrust.swap_ranges(seq, high[i].begin(), high[i].begin() + 9, low[i].begin())
    thrust.reverse(seq, low[i].begin(), low[i].end())
    thrust.replace(seq, high[i].begin(), high[i].end(), 2, 40)
    end = thrust.remove(seq, row.begin(), row.end(), 1)
    thrust.fill(seq, end, row.end(), 50)


@pytest.mark.exhaustive
@pytest.mark.parametrize("order", half(["F", "C"]))
def test_copies(backend: Any, order: str) -> None:
    x, low, high, out = ranges(backend, order, "i4")
    before = [backend.asnumpy(part).copy() for part in (x, low, high)]
    copies[1, ROWS](x, low, high, out)
    expected = []
    for row, ordered, _ in zip(*before, strict=True):
        scattered = np.full(6, -1)
        scattered[row[0]] = ordered[0]
        head = row[:6]
        expected.append(np.r_[
            np.arange(4), 5 + 3 * np.arange(4), 7, ordered[row[:5]], scattered, head[::-1],
            np.where(head == 2, 40, head), head[head != 2], row[:3],
        ])  # fmt: skip
    check(backend, out, expected)
    rows, lows, highs = before
    rest = [np.r_[row[row != 1], np.full((row == 1).sum(), 50)] for row in rows]
    np.testing.assert_array_equal(backend.asnumpy(x), rest)
    swapped = np.c_[highs[:, :9], lows[:, 9:]][:, ::-1]
    np.testing.assert_array_equal(backend.asnumpy(low), swapped)
    other = np.c_[lows[:, :9], highs[:, 9:]]
    np.testing.assert_array_equal(backend.asnumpy(high), np.where(other == 2, 40, other))


@jit.rawkernel()
def sums(x, low, high, out):
    i = jit.threadIdx.x
    row, keys, k = x[i], low[i], 8
    first, last, to = row.begin(), row.begin() + k, out[i].begin()
    out[i, 0] = thrust.reduce(seq, first, row.end())
    out[i, 1] = thrust.reduce(seq, first, row.end(), 10)
    out[i, 2] = thrust.reduce(seq, first, row.end(), row[0], lambda a, b: max(a, b))
    out[i, 3] = thrust.inner_product(seq, first, row.end(), keys.begin(), 5)
    out[i, 4] = thrust.inner_product(
        seq, first, last, keys.begin(), 0, lambda a, b: a + b, lambda a, b: a - b
    )
    out[i, 5] = thrust.reduce(seq, first, first)
    to = thrust.adjacent_difference(seq, first, last, to + 6)
    to = thrust.inclusive_scan(seq, first, last, to)
    to = thrust.exclusive_scan(seq, first, last, to)
    to = thrust.exclusive_scan(seq, first, last, to, 10, lambda a, b: max(a, b))
    to = thrust.inclusive_scan_by_key(seq, keys.begin(), keys.begin() + k, first, to)
    to = thrust.exclusive_scan_by_key(seq, keys.begin(), keys.begin() + k, first, to, 5)
    ends = thrust.reduce_by_key(seq, keys.begin(), keys.end(), first, to, to + 8)
    out[i, 80] = ends[0] - to
    out[i, 81] = ends[1] - (to + 8)
    thrust.exclusive_scan(seq, high[i].begin(), high[i].end(), high[i].begin())


def runs(keys: np.ndarray, values: np.ndarray) -> list[tuple[int, np.ndarray]]:
    pairs = zip(keys, values, strict=True)
    groups = itertools.groupby(pairs, key=lambda pair: pair[0])
    return [(key, np.array([value for _, value in group])) for key, group in groups]


@pytest.mark.exhaustive
@pytest.mark.parametrize("order", half(["F", "C"]))
def test_sums(backend: Any, order: str) -> None:
    x, low, high, out = ranges(backend, order, "i4")
    totals = backend.asnumpy(high).cumsum(1)
    sums[1, ROWS](x, low, high, out)
    found = backend.asnumpy(out)
    for line, row, keys in zip(found, backend.asnumpy(x), backend.asnumpy(low), strict=True):
        head = row[:8]
        parts = runs(keys[:8], head)
        begins = [np.r_[5, 5 + values.cumsum()[:-1]] for _, values in parts]
        wanted = [
            row.sum(), row.sum() + 10, row.max(), (row * keys).sum() + 5,
            (head - keys[:8]).sum(), 0, head[0], *np.diff(head), *head.cumsum(),
            *(head.cumsum() - head), *np.maximum.accumulate(np.r_[10, head[:-1]]),
            *np.concatenate([values.cumsum() for _, values in parts]), *np.concatenate(begins),
        ]  # fmt: skip
        np.testing.assert_array_equal(line[: len(wanted)], wanted)
        whole, at = runs(keys, row), len(wanted)
        assert line[at : at + len(whole)].tolist() == [key for key, _ in whole]
        assert line[at + 8 : at + 8 + len(whole)].tolist() == [v.sum() for _, v in whole]
        assert line[80:82].tolist() == [len(whole)] * 2
    np.testing.assert_array_equal(backend.asnumpy(high)[:, 1:], totals[:, :-1])


def is_after(a: Any, b: Any) -> bool:
    return a > b


@jit.rawkernel()
def sorts(x, values, y, z):
    i = jit.threadIdx.x
    thrust.stable_sort_by_key(seq, x[i].begin(), x[i].end(), values[i].begin())
    thrust.sort(thrust.device, y[i].begin(), y[i].end(), is_after)
    end = thrust.unique_by_key(seq, y[i].begin(), y[i].end(), z[i].begin())
    thrust.fill(seq, end[0], y[i].end(), -1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("length", [0, 1, 2, 17, 400])
def test_sorting(backend: Any, length: int) -> None:
    rng = np.random.default_rng(length)
    given = rng.integers(0, 30, (ROWS, length)).astype(np.int16)
    places = np.tile(np.arange(length, dtype=np.float32), (ROWS, 1))
    x, values, y, z = backend.asarrays(given.copy(), places, given[:, ::-1].copy(), places.copy())
    sorts[1, ROWS](x, values, y, z)
    order = np.argsort(given, axis=1, kind="stable")
    np.testing.assert_array_equal(backend.asnumpy(values), order)
    np.testing.assert_array_equal(backend.asnumpy(x), np.sort(given, axis=1))
    check(backend, y, [np.unique(row)[::-1] for row in given])


@jit.rawkernel()
def sets(first, second, counts, out):
    i = jit.threadIdx.x
    a, b, c, d = first[i].begin(), first[i].end(), second[i].begin(), second[i].end()
    counts[i, 0] = thrust.set_union(seq, a, b, c, d, out[0, i].begin()) - out[0, i].begin()
    end = thrust.set_intersection(seq, a, b, c, d, out[1, i].begin())
    counts[i, 1] = end - out[1, i].begin()
    end = thrust.set_difference(seq, a, b, c, d, out[2, i].begin())
    counts[i, 2] = end - out[2, i].begin()
    end = thrust.set_symmetric_difference(seq, a, b, c, d, out[3, i].begin())
    counts[i, 3] = end - out[3, i].begin()


@jit.rawkernel()
def keyed_sets(first, second, values, out, of_values):
    i = jit.threadIdx.x
    a, b, c, d = first[i].begin(), first[i].end(), second[i].begin(), second[i].end()
    of_first, of_second = values[0, i].begin(), values[1, i].begin()
    thrust.set_union_by_key(
        seq, a, b, c, d, of_first, of_second, out[0, i].begin(), of_values[0, i].begin()
    )
    thrust.set_intersection_by_key(
        seq, a, b, c, d, of_first, out[1, i].begin(), of_values[1, i].begin()
    )
    thrust.set_difference_by_key(
        seq, a, b, c, d, of_first, of_second, out[2, i].begin(), of_values[2, i].begin()
    )
    ends = thrust.set_symmetric_difference_by_key(
        seq, a, b, c, d, of_first, of_second, out[3, i].begin(), of_values[3, i].begin()
    )
    out[3, i, 2 * first.shape[1] - 1] = ends[1] - of_values[3, i].begin()


def counted(row: np.ndarray) -> np.ndarray:
    return np.bincount(row, minlength=MOST)


SETS: list[Callable[[Any, Any], Any]] = [
    np.maximum, np.minimum, lambda a, b: np.maximum(a - b, 0), lambda a, b: abs(a - b),
]  # fmt: skip


@pytest.mark.exhaustive
def test_sets(backend: Any) -> None:
    _, first, second = ranges(backend, "C")
    rows = [backend.asnumpy(part)[:, ::2] for part in (first, second)]
    n = rows[0].shape[1]
    a, b, counts, out = backend.asarrays(
        *(row.copy() for row in rows), np.zeros((ROWS, 4), "i4"), np.full((4, ROWS, 2 * n), -1)
    )
    sets[1, ROWS](a, b, counts, out)
    values = np.stack([np.arange(ROWS * n).reshape(ROWS, n) + 1000 * k for k in range(2)])
    numbers, keys, of_values = backend.asarrays(
        values, *(np.full((4, ROWS, 2 * n), -1) for _ in range(2))
    )
    keyed_sets[1, ROWS](a, b, numbers, keys, of_values)
    taken = backend.asnumpy(counts)
    for i, (x, y) in enumerate(zip(*rows, strict=True)):
        for k, combine in enumerate(SETS):
            wanted = np.repeat(np.arange(MOST), combine(counted(x), counted(y)))
            assert taken[i, k] == len(wanted)
            np.testing.assert_array_equal(backend.asnumpy(out)[k, i, : len(wanted)], wanted)
            np.testing.assert_array_equal(backend.asnumpy(keys)[k, i, : len(wanted)], wanted)
            found = backend.asnumpy(of_values)[k, i, : len(wanted)]
            table = {int(v): int(key) for v, key in zip(values[0, i], x, strict=True)}
            table |= {int(v): int(key) for v, key in zip(values[1, i], y, strict=True)}
            assert [table[int(value)] for value in found] == wanted.tolist()
            assert k == 3 or (found[: (wanted == 0).sum()][: counted(x)[0]] < 1000).all()
        assert backend.asnumpy(keys)[3, i, 2 * n - 1] == taken[i, 3]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kernel", [searches, copies, sums, sorts, sets, keyed_sets])
def test_they_compile_for_gpus_by_nvrtc(kernel: Any) -> None:
    arrays = {searches: 4, copies: 4, sums: 4, sorts: 4}
    given: list[Any] = [np.zeros((2, 3), np.int32)] * arrays.get(kernel, 2)
    if kernel is sets:
        given += [np.zeros((2, 4), np.int32), np.zeros((4, 2, 6), np.int32)]
    if kernel is keyed_sets:
        given += [np.zeros((2, 2, 3), np.int32), *[np.zeros((4, 2, 6), np.int32)] * 2]
    assert kernel.inspect(*given, target="compute_90")


@jit.rawkernel()
def made(x, y):
    i = jit.threadIdx.x
    constant = thrust.make_constant_iterator(i * i)
    counting = thrust.make_counting_iterator(i)
    x[i] = constant[i]
    y[i] = counting[3] + thrust.reduce(seq, counting, counting + 3)
    y[i] += thrust.reduce(seq, constant, constant + 2)


def test_iterators_that_make_their_values(backend: Any) -> None:
    x, y = backend.asarrays(np.zeros(8, np.int32), np.zeros(8, np.int32))
    made[1, 8](x, y)
    i = np.arange(8)
    assert backend.asnumpy(x).tolist() == (i**2).tolist()
    assert backend.asnumpy(y).tolist() == (i + 3 + 3 * i + 3 + 2 * i**2).tolist()


@jit.rawkernel()
def shared(x, y):
    tid = jit.threadIdx.x
    memory = jit.shared_memory(np.int32, 32)
    memory[tid] = x[tid]
    jit.syncthreads()
    y[tid] = thrust.count(thrust.device, memory, memory + 32, tid)


def test_arrays_in_shared_memory(backend: Any) -> None:
    x, y = backend.asarrays(np.arange(32, dtype=np.int32) // 2, np.zeros(32, np.int32))
    shared[1, 32](x, y)
    assert backend.asnumpy(y).tolist() == [2] * 16 + [0] * 16


def misuse(call: Callable[[Any, Any], Any]) -> str:
    @jit.rawkernel()
    def kernel(x, y):
        call(x, y)

    with pytest.raises(TypingError) as caught:
        kernel[1, 1](np.zeros(4), np.zeros((4, 4)))
    return str(caught.value)


def test_misuse() -> None:
    calls = {
        lambda x, y: thrust.sort(x.begin(), x.end()): "needs a value for 'last'",
        lambda x, y: thrust.sort(seq, y.begin(), y.end()): "takes an array of one dimension",
        lambda x, y: thrust.copy(seq, x.begin(), 5, x.begin()): "has no attribute 'begin'",
    }
    for call, message in calls.items():
        assert message in misuse(call)


def test_all_names_of_cupyx() -> None:
    cupyx = pytest.importorskip("cupyx.jit.thrust")
    names = {n for n in vars(cupyx) if not n.startswith("_")} - {"annotations", "host"}
    assert names <= set(vars(thrust))


def test_policies() -> None:
    assert [repr(p) for p in (thrust.device, seq)] == [
        "kerneltk.jit.thrust.device", "kerneltk.jit.thrust.seq",
    ]  # fmt: skip
