"""Fields of structs compared with those of structured dtypes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.cuda_cpp.structs.layout import difference, layouts_of
from kerneltk.cuda_cpp.structs.reader import read_structs
from kerneltk.errors import ArgumentTypeError

SOURCE = """
typedef float real;
namespace n { struct Inner { char tag; double at; }; }
struct S { int a; real b[2]; n::Inner in; float3 v; unsigned* p; cuFloatComplex z; };
"""
INNER = np.dtype([("tag", "i1"), ("at", "f8")], align=True)
GOOD = np.dtype(
    [("a", "i4"), ("b", "f4", 2), ("in", INNER), ("v", "f4", 3), ("p", "u8"), ("z", "c8")],
    align=True,
)


def test_the_layout_of_c() -> None:
    layouts = pickle.loads(pickle.dumps(layouts_of(*read_structs(SOURCE))))  # as with a kernel
    layout = layouts("S", 64, 8)
    assert layout is not None
    assert [field.offset for field in layout.fields] == [0, 4, 16, 32, 48, 56]
    assert difference(layout, GOOD) == ""
    assert layouts("S", 60, 4) is None  # as where it is packed


@pytest.mark.parametrize("source", [
    "struct S : T { int a; };", "struct S { virtual int f(); int a; };",
    "struct S { int a : 3; };", "template <class T> struct S { T a; };",
    "struct S { Unknown a; };", "struct S { int a[N]; };", "#pragma pack(1)\nstruct S { int a; };",
])  # fmt: skip
def test_layouts_that_are_not_known(source: str) -> None:
    assert layouts_of(*read_structs(source))("S", 4, 4) is None


def fields(*pairs: Any) -> np.dtype[Any]:
    return np.dtype(list(pairs), align=True)


PAIR = "struct S { int a; float b; };"
KERNELS = {
    "by value": f"{PAIR} __global__ void k(S s, float* o) {{ o[0] = s.a; o[1] = s.b; }}",
    "behind a pointer": f"{PAIR} __global__ void k(const S* s, float* o)"
    " { o[0] = s->a; o[1] = s->b; }",
}


@pytest.mark.parametrize("way", KERNELS)
def test_fields_of_another_order_name_or_type_are_refused(way: str) -> None:
    kernel = kerneltk.RawKernel(KERNELS[way], "k")
    o = np.zeros(2, np.float32)

    def launch(dtype: np.dtype[Any], **words: Any) -> None:
        value = np.zeros(1, dtype)
        if len(dtype) == 2:
            value[0] = (3, 2.5)
        kernel(1, 1, (value[0] if way == "by value" else value, o), **words)

    for wrong in (
        fields(("b", "f4"), ("a", "i4")),
        fields(("a", "f4"), ("b", "f4")),
        fields(("a", "i4"), ("c", "f4")),
        fields(("a", "i4"), ("b", "i4")),
        fields(("a", "i2"), ("x", "i2"), ("b", "f4")),
    ):
        with pytest.raises(ArgumentTypeError, match="field"):
            launch(wrong)
    launch(fields(("b", "f4"), ("a", "i4")), checks=False)
    for right in (
        fields(("a", "i4"), ("b", "f4")),
        fields(("a", "u4"), ("b", "f4")),
        fields(("f0", "i4"), ("f1", "f4")),
    ):
        launch(right)
        assert o.tolist() == [3, 2.5]


INNER_SOURCE = """
struct V { float x, y, z; };
struct S { %s double b; };
"""


SAME = [
    ("float m[4][4];", 72, ("m", "f4", 16)),
    ("float m[4][4];", 72, ("m", "f4", (2, 8))),
    ("float a[1];", 16, ("a", "f4")),
    ("V p;", 24, ("p", "f4", 3)),
    ("V p[2];", 32, ("p", "f4", (2, 3))),
    ("V p[2];", 32, ("p", "f4", 6)),
    ("V p[2][2];", 56, ("p", [("x", "f4"), ("y", "f4"), ("z", "f4")], 4)),
    ("float4 q;", 32, ("q", [("r", "f4"), ("g", "f4"), ("b", "f4"), ("a", "f4")])),
    ("float2 z[2];", 24, ("z", "c8", 2)),
    ("float z[2][2];", 24, ("z", "c8", 2)),
]
OTHER = [
    ("float m[4][4];", 72, ("m", "i4", 16)),
    ("float m[4][4];", 72, ("m", ">f4", 16)),
    ("int m[4][4];", 72, ("m", ">i4", 16)),
    ("float m[4][4];", 72, ("m", "f4", 15)),
    ("float m[4][4];", 72, ("m", "f8", 8)),
    ("V p;", 24, ("p", "f4", 4)),
    ("V p;", 24, ("p", [("y", "f4"), ("x", "f4"), ("z", "f4")])),
    ("V p[2][2];", 56, ("p", [("y", "f4"), ("x", "f4"), ("z", "f4")], 4)),
    ("V p;", 24, ("p", "V12")),
    ("float4 q;", 32, ("q", [("w", "f4"), ("z", "f4"), ("y", "f4"), ("x", "f4")])),
    ("float2 z[2];", 24, ("z", ">c8", 2)),
]


@pytest.mark.parametrize(("declared", "size", "first"), [*SAME, *OTHER])
def test_fields_of_the_same_and_of_other_memory(declared: str, size: int, first: Any) -> None:
    alignment = 16 if "float4" in declared else 8
    layout = layouts_of(*read_structs(INNER_SOURCE % declared))("S", size, alignment)
    assert layout is not None
    found = difference(layout, fields(first, ("b", "f8")))
    assert (found == "") == ((declared, size, first) in SAME)
    assert not found or "field" in found


def test_fields_in_the_padding() -> None:
    layout = layouts_of(*read_structs("struct S { char a; int b; double c; int n; };"))("S", 24, 8)
    assert layout is not None
    padded = [("a", "i1"), ("pad", "V3"), ("b", "i4"), ("c", "f8"), ("n", "i4"), ("_pad", "i4")]
    assert difference(layout, np.dtype(padded)) == ""
    assert difference(layout, np.dtype([("", own) for _, own in padded])) == ""
    for wrong in (
        [("a", "i1"), ("n", "V3"), ("b", "i4"), ("c", "f8"), ("m", "i4"), ("_pad", "i4")],
        [("a", "i1"), ("pad", "V3"), ("b", "i4"), ("c", "f8"), ("_pad", "i4"), ("n", "i4")],
        [("a", "i1"), ("pad", "V7"), ("c", "f8"), ("n", "i4"), ("_pad", "i4")],
    ):
        assert "field" in difference(layout, np.dtype(wrong))


def test_the_message() -> None:
    kernel = kerneltk.RawKernel(KERNELS["by value"], "k")
    value = np.array([(2.5, 3)], [("b", "f4"), ("a", "i4")])[0]
    with pytest.raises(ArgumentTypeError) as caught:
        kernel(1, 1, (value, np.zeros(2, np.float32)))
    assert str(caught.value) == (
        "Parameter 's' of kernel 'k' is 'S', which has 'int' field 'a' at byte 0, and the dtype "
        "has 'float32' field 'b' at byte 0.\n"
        "  code: struct S { int a; float b; }; __global__ void k(S s, float* o) { o[0] = s.a; "
        "o[1] = s.b; }\n"
        "                                                        ^^^\n"
        "  Hint: give the dtype the struct's fields, in its order; or pass 'checks=False'."
    )
