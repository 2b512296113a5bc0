"""dtypes and their C types, and that both compilers give them NumPy's sizes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kerneltk import ArraySpec, ElementwiseKernel
from kerneltk.core.dtypes import as_dtype, describe, dtype_names, is_supported, type_category
from kerneltk.errors import ArgumentTypeError

STRUCTURES = [
    np.dtype([("a", "i1"), ("b", "f8")], align=True),
    np.dtype([("a", "i1"), ("b", "f8")]),
    np.dtype([("a", "i1", (3,)), ("b", "u2", (2, 2)), ("c", "?")]),
    np.dtype({"names": ["b", "a"], "formats": ["f4", "i2"], "offsets": [8, 2], "itemsize": 20}),
    np.dtype([("inner", [("x", "f4"), ("y", "i1")], (2,)), ("z", "i8")]),
    np.dtype(
        [("inner", np.dtype([("x", "i1"), ("y", "f8")], align=True)), ("z", "i1")], align=True
    ),
    np.dtype([("text", "S5"), ("n", "i4")]),
    np.dtype([("z", "c8"), ("w", "c8")], align=True),
    np.dtype([("a", "f8"), ("b", "i4")]),
    np.dtype({"names": ["a"], "formats": ["i2"], "itemsize": 3}),
    np.dtype([("t", "S3"), ("x", "c8"), ("i", "i1"), ("y", "c16", (2,))]),
    np.dtype({"names": ["h", "z"], "formats": ["f2", "c16"], "offsets": [0, 16], "itemsize": 32}),
]


@pytest.mark.parametrize("name", dtype_names())
def test_every_name_is_a_dtype(name: str) -> None:
    dtype = as_dtype(name)
    assert dtype.name == name
    assert is_supported(dtype)
    assert describe(dtype).alignment == dtype.itemsize


@pytest.mark.parametrize("dtype", STRUCTURES, ids=range(len(STRUCTURES)))
@pytest.mark.parametrize("target", ["host", "sm_90"])
def test_structures_lie_as_in_numpy(dtype: np.dtype[Any], target: str) -> None:
    assert dtype.names is not None
    assert dtype.fields is not None
    checks = ["#include <cstddef>", f'static_assert(sizeof(P) == {dtype.itemsize}, "size");']
    for name in dtype.names:
        field = dtype.fields[name][0]
        checks.append(f'static_assert(sizeof(((P*)0)->{name}) == {field.itemsize}, "{name}");')
    place = "offsetof(P, {})" if target == "host" else "__INTADDR__(&((P*)0)->{})"
    checks += [
        f'static_assert({place.format(name)} == {dtype.fields[name][1]}, "place of {name}");'
        for name in dtype.names
    ]
    kernel = ElementwiseKernel("P p", "P q", "q = p", "record", preamble="\n".join(checks))
    assert kernel.compile(ArraySpec.make(dtype, 10), target=target).code


def test_equal_structures_are_declared_once() -> None:
    inner = np.dtype([("x", "f4")])
    outer = describe(np.dtype([("a", inner), ("b", inner, (2,))])).declaration
    assert outer.count("struct ") == 2
    assert describe(inner).declaration in outer


@pytest.mark.parametrize(
    "dtype",
    ["U3", "S3", "O", "M8[s]", "m8[s]", "V4", "g", "G", ">i4", ">c8", [("a", ">f4")], [("a", "O")],
     [("a b", "f4")], [("int", "f4")], [("a", "f4", (0,))], [("t", "S3"), ("x", [("c", "c8")])],
     [("h", "f2"), ("i", "i1")], [("i", "i1"), ("h", ml_dtypes.bfloat16)]],
    ids=str,
)  # fmt: skip
def test_dtypes_that_kernels_do_not_take(dtype: Any) -> None:
    assert not is_supported(np.dtype(dtype))
    with pytest.raises(ArgumentTypeError):
        describe(np.dtype(dtype))


def test_categories() -> None:
    assert type_category(as_dtype("bfloat16")) == "floating"
    assert type_category(np.dtype("i4,i4")) == "structured"
    assert type_category(np.dtype("M8[s]")) == "structured"
    assert type_category(np.dtype("?")) == "bool"
    assert type_category(np.dtype("u8")) == "unsignedinteger"
