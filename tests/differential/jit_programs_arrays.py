"""Programs about arrays: layouts, indices, slices, records, local memory."""

from __future__ import annotations

import numpy as np

from kerneltk import jit

from .jit_programs_support import BFLOAT16, N, Table, floats, ints, out, view, zeros

TABLE = Table()


# -- layouts ------------------------------------------------------------------------------------


@TABLE.program(ints((2, 2, 2, 4)), out((2, 2, 2, 4), "i4"))
def array_of_four_dimensions(x, y):
    i = jit.grid(1)
    a, b, c, d = i // 16, i // 8 % 2, i // 4 % 2, i % 4
    y[a, b, c, d] = x[a, b, c, 3 - d] + x[1 - a, b, c, d]


def transposed_copy(x, y):
    i = jit.grid(1)
    _, columns = x.shape
    r, c = i // columns, i % columns
    y[c, r] = x[r, c]


def fortran(make):
    return lambda rng: np.asfortranarray(make(rng))


def transposed(make):
    return lambda rng: make(rng).T


TABLE.program(fortran(ints((4, 8))), fortran(out((8, 4), "i4")), name="fortran_order")(
    transposed_copy
)
TABLE.program(transposed(ints((8, 4))), out((8, 4), "i4"), name="transposed_view")(transposed_copy)
TABLE.program(
    view(ints((8, 24)), np.s_[::2, 1::3]),
    view(out((16, 8), "i4"), np.s_[::2, ::2]),
    name="steps_along_both_axes",
)(transposed_copy)
TABLE.program(
    view(ints((4, 8)), np.s_[::-1, ::-1]),
    view(out((8, 4), "i4"), np.s_[::-1]),
    name="negative_steps",
)(transposed_copy)
TABLE.program(
    lambda rng: np.broadcast_to(ints((1, 8))(rng), (4, 8)),
    out((8, 4), "i4"),
    name="broadcast_input",
    outputs=(1,),
)(transposed_copy)


def doubled(x, y):
    i = jit.grid(1)
    y[i] = x[i] * 2


TABLE.program(view(floats(2 * N), np.s_[::2]), out(), name="step_of_two")(doubled)
TABLE.program(view(floats(), np.s_[::-1]), view(out(3 * N), np.s_[1::3]), name="step_of_minus_one")(
    doubled
)
TABLE.program(view(floats((N, 5)), np.s_[:, 2]), view(out((N, 3)), np.s_[:, 1]), name="columns")(
    doubled
)
TABLE.program(view(ints((N, 2), dtype="i2"), np.s_[:, 1]), out(N, "i2"), name="column_of_int16")(
    doubled
)


@TABLE.program(lambda _: np.array(7.5, "f4"), out(N), lambda _: np.array(0, "i4"))
def array_of_no_dimensions(x, y, z):
    i = jit.grid(1)
    y[i] = x[()] * i
    if i == 5:
        z[()] = 42


@TABLE.program(ints((3, 4, 5)), floats(7), lambda _: np.array(1.0), out((8, N), "i8"))
def shape_and_size(x, z, w, y):
    i = jit.grid(1)
    y[0, i] = x.shape[0]
    y[1, i] = x.shape[1] * 10 + x.shape[-1]
    y[2, i] = x.ndim * 10 + w.ndim
    y[3, i] = x.size
    y[4, i] = z.size
    y[5, i] = len(x) * 100 + len(z)
    y[6, i] = len(x.shape)
    a, b, c = x.shape
    y[7, i] = a + 10 * b + 100 * c


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


@TABLE.program(
    ints(),
    ints(N, 0, N, "u1"),
    ints(N, 0, N, "i8"),
    ints(N, 0, N, "u8"),
    ints(N, -N, N, "i2"),
    out((4, N), "i4"),
)
def gather_by_several_dtypes(x, a, b, c, d, y):
    i = jit.grid(1)
    y[0, i] = x[a[i]]
    y[1, i] = x[b[i]]
    y[2, i] = x[c[i]]
    y[3, i] = x[d[i]]


# -- slices -------------------------------------------------------------------------------------


def total_of(values):
    total = 0
    for k in range(len(values)):
        total = total * 3 + values[k]
    return total


def fill(values, start):
    for k in range(values.size):
        values[k] = start + k


@TABLE.program(ints((N, 6), 0, 5), out((7, N), "i8"))
def slices_of_an_axis(x, y):
    i = jit.grid(1)
    row = x[i]
    y[0, i] = total_of(row)
    y[1, i] = total_of(row[1:])
    y[2, i] = total_of(row[:3])
    y[3, i] = total_of(row[2:5])
    y[4, i] = total_of(row[::2])
    y[5, i] = total_of(row[::-1])
    y[6, i] = total_of(row[4:0:-2])


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


@TABLE.program(ints((N, 8), 0, 5), out((2, N), "i8"))
def slices_with_bounds_of_the_thread(x, y):
    i = jit.grid(1)
    start = i % 4
    y[0, i] = total_of(x[i, start : start + 3])
    y[1, i] = total_of(x[i][start:][:2])


@TABLE.program(ints((5, N), 0, 5), out((2, N), "i8"))
def slices_that_are_columns(x, y):
    i = jit.grid(1)
    column = x[:, i]
    y[0, i] = total_of(column)
    y[1, i] = total_of(x[1:4, i]) + column[-1]


@TABLE.program(zeros((N, 6), "i4"))
def slices_are_written_through(y):
    i = jit.grid(1)
    fill(y[i, 1:3], i)
    fill(y[i][4:], 100)
    row = y[i]
    row[3] = -1


@TABLE.program(zeros((6, N), "i4"))
def slices_of_columns_are_written_through(y):
    i = jit.grid(1)
    fill(y[::2, i], i * 10)
    y[1:][0, i] = 5
    y[::-1][0, i] += 1


@TABLE.program(ints((4, 8)), out((4, 8), "i4"))
def slices_of_two_dimensions(x, y):
    i = jit.grid(1)
    part = x[1:3, 2:]
    r, c = i // 8, i % 8
    if r < part.shape[0] and c < part.shape[1]:
        y[r, c] = part[r, c]


@TABLE.program(view(ints((8, 16)), np.s_[::2, ::-1]), out((2, N), "i8"))
def slices_of_a_strided_view(x, y):
    i = jit.grid(1)
    y[0, i] = total_of(x[i % 4, 10::3])
    y[1, i] = total_of(x[:, i % 16])


@TABLE.program(ints((N, 2, 3)), out((N, 3), "i4"))
def view_of_two_dimensions_of_three(x, y):
    i = jit.grid(1)
    table = x[i]
    for k in range(table.shape[1]):
        y[i, k] = table[0, k] - table[1, k]


@TABLE.program(ints((4, N)), out(N, "i4"))
def ellipsis_in_an_index(x, y):
    i = jit.grid(1)
    y[i] = x[..., i][2] + x[1, ...][i]


# -- records ------------------------------------------------------------------------------------

POINT = np.dtype([("x", "f4"), ("y", "f4")])
PACKED = np.dtype([("tag", "i1"), ("value", "f8"), ("count", "u2")])
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


TABLE.program(recs(PACKED), name="written_fields_of_packed_records")(change_fields)
TABLE.program(recs(ALIGNED), name="written_fields_of_aligned_records")(change_fields)
TABLE.program(view(recs(PACKED, 2 * N), np.s_[::-2]), name="written_fields_of_strided_records")(
    change_fields
)


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
TABLE.program(
    view(recs(ANYWHERE, 2 * N), np.s_[::-2]), out((6, N)), recs(ALIGNED), 1,
    name="views_of_fields_of_strided_records",
)(views_of_fields)  # fmt: skip


BYTES = np.dtype([("r", "u1"), ("g", "u1"), ("b", "u1")])


@TABLE.program(recs(BYTES), view(ints(2 * N, dtype="u1"), np.s_[::2]), out(N, "i4"))
def views_of_bytes_are_as_other_views(p, x, y):
    i = jit.grid(1)
    v = p["r"] if i % 2 else x
    y[i] = v[i]


@TABLE.program(recs(ANYWHERE), out((4, N)))
def records_in_records_are_views(p, y):
    i = jit.grid(1)
    inner = p[i]["at"]
    p[i]["at"]["value"] = 3.5
    y[0, i] = inner["value"]
    inner["count"] = 7
    y[1, i] = p[i]["at"]["count"]
    k = 0
    other = p[i]["box"][k]
    k = 1
    p[i]["box"][0]["x"] = 8
    y[2, i] = other["x"] + k


@TABLE.program(ints(), out((2, N)))
def views_are_indexed_by_their_extents(x, y):
    i = jit.grid(1)
    y[0, i] = x[1:][-1] + x[len(x[1:3])]
    for part in (x[1:], x[:2]):
        y[1, i] += part[-1]


# -- memory of a thread -------------------------------------------------------------------------


@TABLE.program(ints((N, 4), 0, 5), out((2, N), "i8"))
def local_array_passed_on(x, y):
    i = jit.grid(1)
    kept = jit.local_memory("i4", 4)
    fill(kept, i)
    kept[0] = x[i, 0]
    y[0, i] = total_of(kept)
    y[1, i] = total_of(kept[1:]) + kept.size * 10000 + len(kept[::2])


@TABLE.program(floats(N, -4, 4, BFLOAT16), out())
def local_array_of_bfloat16(x, y):
    i = jit.grid(1)
    kept = jit.local_memory(x.dtype, 2)
    kept[0] = x[i]
    kept[1] = kept[0] * kept[0]
    y[i] = kept[1]
