"""Records as arguments of kernels, records in kernels of elements, copies that threads exchange."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.errors import ArgumentValueError
from kerneltk.jit import cuda

from . import jit_reference

INNER = np.dtype([("n", "i4"), ("w", "f4", 3)], align=True)
T = np.dtype([("g", "f8", (2,)), ("h", "f8"), ("i", INNER), ("q", INNER, 2)], align=True)


@cuda.jit
def write(f: Any, y: Any) -> None:
    f.g[0] = 45.0
    f["h"] += 1
    f.i.n = 7
    v = f.q[1].w
    v[2] -= 2


def written(record: Any) -> bool:
    found = (record["g"][0], record["h"], record["i"]["n"], record["q"]["w"][1, 2])
    return found == (45, 2, 7, -4)


def test_a_record_is_written_where_it_is(backend: Any) -> None:
    """It is a view of an array, or has memory of its own."""
    a = np.zeros(3, T)
    packed = np.zeros(2, np.dtype([("tag", "i1"), ("t", T)]))
    records = [
        a[1], a[2:][0], np.zeros((), T)[()], np.zeros(2, T).view(np.recarray)[1], a[0].copy(),
        pickle.loads(pickle.dumps(a[0])), packed[1]["t"],
    ]  # fmt: skip
    y = backend.asarray(np.zeros(1))  # it runs where that is
    for record in records:
        write[1, 1](record, y)
        write[1, 1](record, y)
        assert written(record)
    assert [written(record) for record in a] == [False, True, True]
    assert [written(record) for record in packed["t"]] == [False, True]


def test_records_that_are_read_only() -> None:
    a = np.zeros(1, T)
    a.flags.writeable = False
    refused = r"The record for parameter 'f' of kernel 'write' is read-only"
    with pytest.raises(ArgumentValueError, match=refused):
        write[1, 1](a[0], np.zeros(1))
    with pytest.raises(ArgumentValueError, match=r"The record for parameter 't\[0\]' of kernel"):
        tuple_of_records[1, 1]((a[0], 2), np.zeros(2))
    assert a[0]["h"] == 0
    y = np.zeros(2)
    read[1, 1](a[0], y)
    assert y.tolist() == [0, 1]


@cuda.jit
def read(f: Any, y: Any) -> None:
    p = f
    for k in range(2):
        y[k] = p.h + p.g[k] + f.i.w[k] + k


@cuda.jit
def tuple_of_records(t: Any, y: Any) -> None:
    t[0].h = t[1]
    r, n = t
    r.g[1] = n + y[0]


def test_records_in_tuples(backend: Any) -> None:
    a = np.zeros(2, T)
    tuple_of_records[1, 1]((a[1], 4), backend.asarray(np.ones(2)))
    assert a["h"].tolist() == [0, 4]
    assert a["g"].tolist() == [[0, 0], [0, 5]]


@cuda.jit
def read_tuple(t: Any, y: Any) -> None:
    s = t
    y[0] = t[0].h + t[1] + t[2].h
    y[1] = s[0].i.n + s[2].g[1]


def test_records_in_tuples_that_are_read(backend: Any) -> None:
    a = np.zeros(2, T)
    a["h"], a["i"]["n"], a["g"] = [1, 2], [3, 4], [[5, 6], [7, 8]]
    y = backend.asarray(np.zeros(2))
    read_tuple[1, 1]((a[0], 10, a[1]), y)
    assert backend.asnumpy(y).tolist() == [13, 11]


def sees_other_names(f: Any, x: Any, h: Any, y: Any) -> None:
    x[0].h = 3
    y[0] = f.h
    h[0] += 1
    y[1] = f.h
    p = f if y[0] > 2 else x[1]
    p.g[0] = 9
    p = x[1]
    p.h = x[0].g[0]


def test_a_record_and_its_array_are_the_same_memory() -> None:
    a, y = np.zeros(2, T), np.zeros(2)
    b, z = a.copy(), y.copy()
    cuda.jit(sees_other_names)[1, 1](a[0], a, a["h"], y)
    jit_reference.run(sees_other_names, 1, 1, (b[0], b, b["h"], z))
    assert y.tolist() == z.tolist() == [3, 4]
    assert a.tobytes() == b.tobytes()


def blocks_of_a_record(f: Any, y: Any) -> None:
    t = jit.threadIdx.x
    part = jit.shared_memory(np.float64, 8)
    for k in range(f.i.n):
        part[t] = y[t] + f.g[k]
        jit.syncthreads()
        y[t] = part[7 - t]
        jit.syncthreads()


def test_a_record_is_the_same_in_all_threads(backend: Any) -> None:
    """Barriers in a loop that a field bounds."""
    record = np.zeros(1, T)[0]
    record["i"]["n"], record["g"] = 2, (1, 2)
    y = np.arange(8.0)
    z = backend.asarray(y)
    jit.rawkernel(blocks_of_a_record)[1, 8](record, z)
    jit_reference.run(blocks_of_a_record, 1, 8, (record, y))
    assert backend.asnumpy(z).tolist() == y.tolist()


def exchanged(x: Any, y: Any) -> None:
    t = jit.threadIdx.x
    best = x[t].copy()
    k = 16
    while k > 0:
        other = jit.shfl_xor_sync(0xFFFFFFFF, best, k)
        best = other if other.h > best.h else best
        k //= 2
    pair = jit.shfl_sync(0xFFFFFFFF, (x[t], t), 3)
    row = best.q[1]
    y[0, t] = best.h + best.g[1]
    y[1, t] = row.w[2] + len(best.i.w)
    y[2, t] = pair[0].h + pair[1]
    if t == 0:
        x[5] = best


@pytest.mark.exhaustive
def test_copies_are_exchanged(backend: Any) -> None:
    x, y = np.zeros(32, T), np.zeros((3, 32))
    x["h"] = np.arange(32) * 5 % 32
    x["g"], x["q"]["w"] = x["h"][:, None], x["h"][:, None, None] * 2
    u, v = backend.asarrays(x, y)
    jit.rawkernel(exchanged)[1, 32](u, v)
    jit_reference.run(exchanged, 1, 32, (x, y))
    np.testing.assert_array_equal(backend.asnumpy(v), y)
    np.testing.assert_array_equal(backend.asnumpy(u)["h"], x["h"])


def test_elements_that_are_records(backend: Any) -> None:
    """Their arrays and the records in them are read; which of two is decided for each element."""

    @jit.kernel
    def chosen(p: Any, q: Any) -> Any:
        r = p if p.h > q.h else q
        total = 0.0
        for value in r.i.w:
            total += value
        v = r.g
        return total + v[1] + r.q[1].n

    x = np.zeros(5, T)
    x["h"], x["i"]["w"], x["g"] = np.arange(5), 1, 2
    x["q"]["n"] = np.arange(10).reshape(5, 2)
    found = backend.asnumpy(chosen(backend.asarray(x), backend.asarray(x[::-1].copy())))
    assert found.tolist() == [14, 12, 10, 12, 14]


@cuda.jit
def adds_atomically(x: Any) -> None:
    r = x[1]
    cuda.atomic.add(r.g, 1, 1.0)
    cuda.atomic.add(x[0].i.w, 2, 2.0)


@pytest.mark.exhaustive
def test_atomic_operations_on_arrays_of_records(backend: Any) -> None:
    x = backend.asarray(np.zeros(2, T))
    adds_atomically[2, 32](x)
    found = backend.asnumpy(x)
    assert found["g"].tolist() == [[0, 0], [0, 64]]
    assert found["i"]["w"][0].tolist() == [0, 0, 128]


@cuda.jit
def memory_of_inner_blocks(y: Any) -> None:
    i = cuda.threadIdx.x
    record = cuda.local.array(1, INNER)[0]
    record.n = i
    for k in range(3):
        kept = cuda.local.array(2, np.float64)
        each = cuda.local.array(1, INNER)
        kept[0], kept[1] = i, k
        each[0].n = record.n + 1
        record = each[0]
        last = each[0]
        cuda.syncthreads()
    if i < 2:
        few = cuda.local.array(4, np.float64)
        few[0] = 5
        view = few
    else:
        more = cuda.local.array(8, np.float64)
        more[0] = 7
        view = more[:4]
    others = cuda.local.array(8, np.float64)
    for k in range(8):
        others[k] = -k
    cuda.syncthreads()
    y[i, 0], y[i, 1], y[i, 2] = kept[0] + kept[1], record.n, last.n
    y[i, 3], y[i, 4] = view[0], others[i]


def test_memory_lasts_beyond_the_block_that_declares_it(backend: Any) -> None:
    y = backend.asarray(np.zeros((4, 5)))
    memory_of_inner_blocks[1, 4](y)
    expected = [[i + 2, i + 3, i + 3, 5 if i < 2 else 7, -i] for i in range(4)]
    assert backend.asnumpy(y).tolist() == expected
