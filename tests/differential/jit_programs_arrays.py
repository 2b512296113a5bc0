"""Programs about arrays: layouts, indices, slices, records, local memory."""

from __future__ import annotations

import numpy as np

from kerneltk import jit

from .jit_programs_support import BFLOAT16, N, Table, floats, ints, out, view, zeros

TABLE = Table()


# -- layouts ------------------------------------------------------------------------------------


def transposed_copy(x, y):
    i = jit.grid(1)
    _, columns = x.shape
    r, c = i // columns, i % columns
    y[c, r] = x[r, c]


def fortran(make):
    return lambda rng: np.asfortranarray(make(rng))


TABLE.program(fortran(ints((4, 8))), fortran(out((8, 4), "i4")), name="fortran_order")(
    transposed_copy
)


@TABLE.program(lambda _: np.array(7.5, "f4"), out(N), lambda _: np.array(0, "i4"))
def array_of_no_dimensions(x, y, z):
    i = jit.grid(1)
    y[i] = x[()] * i
    if i == 5:
        z[()] = 42


@TABLE.program(view(ints((4, 16), dtype="i2"), np.s_[:, ::2]), floats(7), out((4, N), "i8"))
def bytes_of_arrays(x, z, y):
    i = jit.grid(1)
    y[0, i] = x.strides[0] * 1000 + x.strides[1]
    y[1, i] = z.strides[0]
    y[2, i] = x.itemsize * 10 + z.itemsize
    y[3, i] = x.nbytes + z.nbytes


@TABLE.program(zeros(0), out(N, "i4"), zeros((0, 3)))
def arrays_without_elements(x, y, z):
    i = jit.grid(1)
    y[i] = x.size + len(x) + z.shape[1]
    for k in range(len(z)):
        y[k] = -1


# -- indices ------------------------------------------------------------------------------------


@TABLE.program(ints(), out(N, "i4"))
def negative_variable_indices(x, y):
    i = jit.grid(1)
    y[-i - 1] = x[i - 5]


@TABLE.program(ints((4, 8)), out((4, 8), "i4"))
def tuple_as_an_index(x, y):
    i = jit.grid(1)
    at = i // 8, i % 8
    y[at] = x[at] + 1


# -- slices -------------------------------------------------------------------------------------


def total_of(values):
    total = 0
    for k in range(len(values)):
        total = total * 3 + values[k]
    return total


def fill(values, start):
    for k in range(values.size):
        values[k] = start + k


@TABLE.program(ints((N, 6), 0, 5), out((4, N), "i8"))
def slices_with_negative_bounds(x, y):
    i = jit.grid(1)
    y[0, i] = total_of(x[i, -3:])
    y[1, i] = total_of(x[i, :-2])
    y[2, i] = total_of(x[i, -5:-1])
    y[3, i] = total_of(x[-i - 1, 1:-1])


@TABLE.program(ints((N, 6), 0, 5), out((4, N), "i8"))
def slices_beyond_the_ends(x, y):
    i = jit.grid(1)
    y[0, i] = total_of(x[i, 2:100])
    y[1, i] = total_of(x[i, -100:4])
    y[2, i] = len(x[i, 5:2])
    y[3, i] = len(x[i, 7:]) * 10 + len(x[10:])


@TABLE.program(zeros((6, N), "i4"))
def slices_of_columns_are_written_through(y):
    i = jit.grid(1)
    fill(y[::2, i], i * 10)
    y[1:][0, i] = 5
    y[::-1][0, i] += 1


@TABLE.program(ints((4, N)), out(N, "i4"))
def ellipsis_in_an_index(x, y):
    i = jit.grid(1)
    y[i] = x[..., i][2] + x[1, ...][i]


# -- records ------------------------------------------------------------------------------------

POINT = np.dtype([("x", "f4"), ("y", "f4")])
ALIGNED = np.dtype([("tag", "i1"), ("value", "f8"), ("count", "u2")], align=True)


def recs(dtype, shape=N):
    """Return records of small whole numbers."""

    def make(rng):
        def put(array):
            if array.dtype.names is None:
                array[...] = rng.integers(0, 50, array.shape)
                return
            for name in array.dtype.names:
                put(array[name])

        result = np.zeros(shape, dtype)
        put(result)
        return result

    return make


def change_fields(p):
    i = jit.grid(1)
    p[i].tag = i
    p[i].value += 0.1
    p[i]["count"] = p[i].count * 2 + 1


TABLE.program(recs(ALIGNED), name="written_fields_of_aligned_records")(change_fields)


ANYWHERE = np.dtype(
    [("tag", "i1"), ("v", "f8", 3), ("m", "i4", (2, 2)), ("at", ALIGNED), ("box", POINT, 2)]
)


def summed(values):
    total = 0.0
    for value in values:
        total += value
    return total


def views_of_fields(p, y, counts, k):
    i = jit.grid(1)
    v = p[i].v
    tail = p[i].v[1:]
    row = p[i].m[1]
    box = p[i].box
    y[0, i] = v[k] + tail[k]
    y[1, i] = summed(p[i].v) + summed(tail) + summed(v[::-2])
    y[2, i] = row[0] * 100 + p[i].m[:, 1][0]
    y[3, i] = box[k]["y"] + summed(p[i].box[1:]["x"]) + p["at"]["value"][i]
    tags, values = p["tag"], p["at"]["value"]
    y[4, i] = tags[i] + values[i] + p["at"][i]["value"] + len(values)
    for part in p[i].m:
        y[4, i] += part[1]
    values[i] += 0.5
    tail[0] = values[i]
    v[k] *= 2
    row[1] -= 7
    counts[i] = p[i].at
    jit.syncthreads()
    y[5, i] = summed(p["at"]["count"][jit.threadIdx.x : jit.threadIdx.x + 1])


TABLE.program(recs(ANYWHERE), out((6, N)), recs(ALIGNED), 1, name="views_of_fields_at_any_byte")(
    views_of_fields
)


BYTES = np.dtype([("r", "u1"), ("g", "u1"), ("b", "u1")])


@TABLE.program(recs(BYTES), view(ints(2 * N, dtype="u1"), np.s_[::2]), out(N, "i4"))
def views_of_bytes_are_as_other_views(p, x, y):
    i = jit.grid(1)
    v = p["r"] if i % 2 else x
    y[i] = v[i]


# -- memory of a thread -------------------------------------------------------------------------


@TABLE.program(floats(N, -4, 4, BFLOAT16), out())
def local_array_of_bfloat16(x, y):
    i = jit.grid(1)
    kept = jit.local_memory(x.dtype, 2)
    kept[0] = x[i]
    kept[1] = kept[0] * kept[0]
    y[i] = kept[1]
