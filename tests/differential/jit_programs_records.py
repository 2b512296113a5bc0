"""Programs about records as references: what is written to one is written to the array."""

# ruff: noqa: SIM108

from __future__ import annotations

import numpy as np

from kerneltk import jit

from .jit_programs_arrays import recs
from .jit_programs_support import Table, out

TABLE = Table()

ROWS, EACH = 4, 6  # threads of one block, and the records that each has to itself


def nested(align):
    part = np.dtype([("c", "i1"), ("w", "f4", 3), ("n", "i2")], align=align)
    fields = [("t", "i1"), ("h", "f8"), ("g", "f8", (2,)), ("m", "i4", (2, 3))]
    return np.dtype([*fields, ("p", part), ("q", part, (2,))], align=align)


PACKED, ALIGNED = nested(False), nested(True)
LAUNCH = {"grid": 1, "block": ROWS}


def program(*dtypes, extra=()):
    """Add a program for records of each dtype."""

    def add(function):
        for dtype in dtypes:
            name = f"{function.__name__}{'_packed' if dtype is PACKED else ''}"
            arguments = recs(dtype, (ROWS, EACH)), out((ROWS, 4)), *extra
            TABLE.program(*arguments, name=name, **LAUNCH)(function)
        return function

    return add


@program(ALIGNED, PACKED)
def record_is_written_through_every_name(rows, y):
    k = jit.threadIdx.x
    x = rows[k]
    r = x[0]
    r.h = 2
    r["t"] = 3
    r[1] += 1
    r.g[0] = 1
    v = r.g
    v[1] += 2
    x[1]["g"][0] = 1
    r.p.n = 4
    r.p.w[1] = 5
    r["q"][1]["c"] = 6
    w = r.q
    w[0].n = 7
    u = w[1].w
    u[0] = 8
    r.m[1, 2] = 9
    row = r.m[1]
    row[0] -= 1
    x[0].h += 5
    y[k, 0] = r.h
    s = x[-1]
    s.h = 11
    i = 2
    s = x[i]
    i = 0
    s.h = 12
    s.p.w[i] = 1.5
    y[k, 1] = s.h + i
    if (n := x[y.shape[1]]).h > 0:
        n.h = -7


@program(ALIGNED)
def record_is_bound_again(rows, y):
    k = jit.threadIdx.x
    x = rows[k]
    for i in range(4):
        if i % 2:
            p = x[i]
        else:
            p = x[i + 1]
        p.h += i + 1
        p.g[0] = i
        q = p if i > 1 else x[5]
        q.p.w[0] += 1
    p.t = 9
    best = x[0]
    for i in range(1, EACH):
        if x[i].h > best.h:
            best = x[i]
    best.t = 7
    y[k, 0] = best.h
    before = x[0]
    for e in x:
        e.m[0, 1] = before.t
        before = e
    before.p.n = 77
    first = x[0]
    view = first.g
    for i in range(3):
        if i == 1:
            first = x[i]
            view = first.g
        first.m[1, 1] = i
        view[1] += i
    y[k, 1] = first.g[1]
    for i in range(EACH):
        last = x[i]
    last.t = 1
    a = x
    r = a[1]
    a = x[2:]
    r.h = a[0].h - 3


def bump(r, by):
    r.h += by
    r.g[1] = by
    r.p.n += 1
    r.q[1].w[2] -= by
    return r


def pick(x, i, c):
    return x[i] if c else x[i + 1]


def higher(a, b):
    if a.h > b.h:
        return a
    return b


def part_of(r):
    return r.p


def last_and_height(r):
    return r.q[-1], r.h


@program(ALIGNED, PACKED, extra=(0,))
def record_is_passed_and_returned(rows, y, c):
    k = jit.threadIdx.x
    x = rows[k]
    bump(x[0], 2.0)
    r = bump(x[1], 3.0)
    r.t = 1
    pick(x, 2, c).h = 4
    p = pick(x, 2, not c)
    p.h += 5
    p.g[0] = 4.0
    v = p.g
    v[1] = 3.0
    higher(x[4], x[5]).h = -1
    part_of(x[3]).n = 12
    w = part_of(x[3]).w
    w[2] = 2
    q, h = last_and_height(x[2])
    q.n = 3
    y[k, 0] = h

    def change(r):
        r.h = 100 + c
        x[5].t = 4
        v[0] -= 1

    change(x[5])
    part = lambda r: r.p  # noqa: E731
    part(x[4]).w[1] = 1


@program(ALIGNED, PACKED, extra=(2,))
def record_is_chosen(rows, y, c):
    k = jit.threadIdx.x
    x = rows[k]
    (x[0] if c > 3 else x[1]).g[0] = 5
    p = x[1] if c > 3 else x[2] if c > 1 else x[3]
    p.g[1] += 4
    v = x[1].g if c > 3 else x[2].g
    v[0] = 2
    part = x[0].p if c > 1 else x[1].q[0]
    part.w[1] = 6
    i = 0
    three = (x[i], x[(i := i + 1)], x[i + 1])
    three[0].t = 1
    three[1].t = 2
    three[2].t = 3
    t = (x[1], 2)
    t[0].h += t[1]
    a, b = x[0], x[1]
    a.h, b.h = b.h, a.h
    for r in (x[4], x[5]):
        r.h += 1
    for a, b in ((x[0], x[1]), (x[2], x[3])):
        b.m[1, 1] = a.t
        a.p.c = 4
    y[k, 0] = p.g[1] + i


@program(ALIGNED)
def record_is_copied_where_it_is_stored(rows, y):
    k = jit.threadIdx.x
    x = rows[k]
    x[0] = x[1]
    r = x[2]
    x[3] = r
    x[3].h = 8
    r.h = 9
    x[4], x[5] = x[5], x[4]  # both are what the fifth was: no copies are exchanged
    t = x[0]
    x[0] = x[2]
    x[2] = t
    x[1].p = x[3].p
    x[1].q[0] = x[2].p
    p = x[1].p
    p.n = 55
    c = x[1].copy()
    x[1].h = -3
    y[k, 0] = c.h
    v = c.g
    y[k, 1] = v[0] + len(v) + c.g[1]
    part = c.q[1]
    y[k, 2] = part.w[0] + c.p.n
    for e in c.q:
        y[k, 3] += e.c


@program(ALIGNED, PACKED)
def arrays_are_assigned_to_fields(rows, y):
    k = jit.threadIdx.x
    x = rows[k]
    x[0]["m"] = x[1].m
    x[0].g = 5
    x[1].g = x[0].m[1, :2]
    x[2].m = x[2].m[:1]
    x[3].m = x[3].m[::-1]
    r = x[4]
    r.g = (1, x[0].t)
    r.q = x[5].q
    r.q[0].n = 4
    x[5].p.w = rows[0, 0].m[0]
    y[k, 0] = r.g[1]


MIXED = np.dtype([("t", "i1"), ("c", "c8"), ("h", "f4"), ("g", "c16", (3,))])


@TABLE.program(recs(MIXED, (ROWS, 2)), out((ROWS, 2), "c16"), **LAUNCH)
def complex_fields_at_any_byte(rows, y):
    k = jit.threadIdx.x
    p = rows[k, 0]
    p.c = k + 2j
    p.h = p.h + 1.5
    p.h += 1
    p.g[1] = p.c + p.g[0].imag
    p.g[2:] = p.c
    y[k, 0] = p.g[1] + p.c.real * p.h
    rows["c"].imag[k, 0] += 1
    rows["c"][k, 1] = 0
    for value in p.g:
        rows[k, 1]["c"] += value
    if k > 1:
        rows[k, 1] = p
    y[k, 1] = rows[k, 1].c


@TABLE.program(recs(ALIGNED, (2, 16)), out((2, 16)), grid=2, block=16)
def records_of_shared_and_local_memory(rows, y):
    t, b = jit.threadIdx.x, jit.blockIdx.x
    shared = jit.shared_memory(ALIGNED, 16)
    own = jit.local_memory(ALIGNED, 2)
    shared[t] = rows[b, t]
    own[0] = rows[b, t]
    own[1] = rows[b, 15 - t]
    mine, other = shared[t], shared[15 - t]
    kept = own[0] if t % 2 else own[1]
    mine.h = t
    jit.syncthreads()
    mine.g[0] = other.h
    bump(kept, 4.0)
    jit.syncthreads()
    for i in range(2):
        p = mine if i else kept
        jit.syncthreads()
        p.h += 1
        jit.syncthreads()
        y[b, t] = other.g[0] + p.h
    either = mine if t > 3 else rows[b, t]
    either.t = 5
    rows[b, t].g[1] = own[0].h + own[1].g[1] + mine.h
