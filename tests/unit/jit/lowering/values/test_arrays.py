"""Elements, views and fields of arrays and records."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk import jit

from ..showing import body_of, refused, value_of

VALUES = [
    # Which index may be negative.
    (lambda x: x[0], "x[0]"),
    (lambda x: x[-1], "x[x.shape[0] + -1]"),
    (lambda x, i: x[i], "x[wrap i]"),
    (lambda x, u1: x[u1[0]], "x[u1[0]]"),
    (lambda m, i, j: m[i, j], "m[wrap i, wrap j]"),
    (
        lambda m, i, j: m[i][j],
        "t: int = i; return m[wrap ((t + m.shape[0]) if (t < 0) else t), wrap j]",
    ),
    (lambda m, tt: m[tt[:2]], "m[wrap tt[0], wrap tt[1]]"),
    (lambda m, t, i: m[i, *t[:1]], "m[wrap i, wrap t[0]]"),
    (lambda m, i: m[..., i, 0], "m[wrap i, 0]"),
    (lambda empty: empty[()], "empty[()]"),
    # Views.
    (lambda x: x[:][1], "x[1]"),
    (lambda x: x[2:][1], "(x[2:] -> float32[:])[1]"),
    (lambda x: x[2:].size, "(x[2:] -> float32[:]).shape[0]"),
    (lambda x: x[::2][1], "(x[::2] -> strided float32[:])[1]"),
    (
        lambda m, i: m[i].shape[0],
        "t: int = i; return (m[(t + m.shape[0]) if (t < 0) else t, :] -> int32[:]).shape[0]",
    ),
    (
        lambda m, i: m[:, i][2],
        "t: int = i; return (m[:, (t + m.shape[1]) if (t < 0) else t] -> strided int32[:])[2]",
    ),
    (lambda m, i: m[i:, 1:][0, 0], "(m[i:, 1:] -> strided int32[:, :])[0, 0]"),
    (
        lambda m, i: m[..., i][0],
        "t: int = i; return (m[:, (t + m.shape[1]) if (t < 0) else t] -> strided int32[:])[0]",
    ),
    (
        lambda m, i: m[i, ...][0],
        "t: int = i; return m[wrap ((t + m.shape[0]) if (t < 0) else t), 0]",
    ),
    (lambda s, i: s[i][1], "t: int = i; return s[wrap ((t + s.shape[0]) if (t < 0) else t), 1]"),
    (lambda x, i: x[None:i][0], "(x[:i] -> float32[:])[0]"),
    (
        lambda m, i: m[i][-1],
        "t: int = i; return m[wrap ((t + m.shape[0]) if (t < 0) else t), m.shape[1] + -1]",
    ),
    # Fields.
    (lambda rs, i: rs[i].a, "rs[wrap i].a"),
    (lambda rs, i: rs[i]["a"], "rs[wrap i].a"),
    (lambda rs, i: rs["a"][i], "field view<a>(rs)[wrap i]"),
    (lambda rs, i: rs[i].v[1], "rs[wrap i].v[1]"),
    (lambda rs, i: rs[i].v[-1], "rs[wrap i].v[2]"),
    (lambda rs, i: rs[i][0], "rs[wrap i].a"),
    (lambda rs, i: rs[i][-1][2], "rs[wrap i].v[2]"),
    (lambda r: r.v[i4_of(r)], "r.v[wrap i4_of(r)]"),
    (lambda ps, i: ps[i].value, "ps[wrap i].value"),
    (lambda ps, i: ps["value"][i], "field view<value>(ps)[wrap i]"),
]


def i4_of(r: Any) -> Any:
    return r.a


@pytest.mark.parametrize(("function", "expected"), VALUES, ids=range(len(VALUES)))
def test_elements_views_and_fields(function: Any, expected: str) -> None:
    assert value_of(function) == expected


def stores(m: Any, rs: Any, i: Any) -> None:
    row = m[i]
    row[1] = 2
    m[1:][0, 0] = 3
    rs[i].v[2] = 0.5
    rs["a"][i] = 7
    own = rs[i].copy()
    rs[0] = own


def of_known_shapes(y: Any, i: Any) -> None:
    a = jit.local_memory("int32", (3, 4))
    a[0, -1] = 1
    a[i, 2] = 2
    y[0] = a[2][3] + a.shape[1] + len(a)


BODIES = [
    (
        stores,
        """\
t: int = i
row: int32[:] = m[(t + m.shape[0]) if (t < 0) else t, :] -> int32[:]
row[1] = 2:int32
(m[1:, :] -> int32[:, :])[0, 0] = 3:int32
rs[wrap i].v[2] = 0.5:float64
field view<a>(rs)[wrap i] = 7:int32
t_2: {a: int32, v: float64[3]} = rs[wrap i]
own: {a: int32, v: float64[3]} = t_2
rs[0] = own
""",
    ),
    (
        of_known_shapes,
        """\
declare a: local int32[3, 4]
a[0, 3] = 1:int32
a[wrap i, 2] = 2:int32
y[0] = int64((a[2, 3] + 4:int32) + 3:int32)
""",
    ),
]


@pytest.mark.parametrize(("function", "expected"), BODIES, ids=["stores", "known"])
def test_stores(function: Any, expected: str) -> None:
    assert body_of(function) == expected


REFUSED = [
    (
        lambda rs: rs["v"],
        (
            "This field cannot be taken from a whole array in a kernel. Hint: index the array "
            "first: x[i]['v']."
        ),
    ),
]


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected
