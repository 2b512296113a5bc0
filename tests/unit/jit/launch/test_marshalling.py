"""Types of arguments, and how their values lie in memory: as compilers lay them out."""

from __future__ import annotations

import struct

import ml_dtypes
import numpy as np
import pytest

from kerneltk import pipeline
from kerneltk.backends.base import capabilities_of, capabilities_of_target
from kerneltk.core.artifacts import TranslationUnit
from kerneltk.errors import ArgumentTypeError
from kerneltk.jit.ir.types import (
    BOOL,
    PY_COMPLEX,
    PY_FLOAT,
    PY_INT,
    VOID,
    Array,
    Number,
    Opaque,
    Record,
    Tuple,
    Type,
)
from kerneltk.jit.launch.marshalling import Layout, alignment_of, layout_of, members_of, type_of

HOST, CUDA = capabilities_of("host"), capabilities_of("cuda")
PARTICLE = np.dtype([("id", np.int8), ("mass", np.float64), ("at", np.float32, 3)], align=True)
PACKED = np.dtype([("tag", np.int8), ("value", np.float32)])
WAVE = np.dtype({"names": ["z", "k"], "formats": [np.complex128, np.int32], "itemsize": 32})
STRUCTURES = """
#include <kerneltk/complex.hpp>
#include <kerneltk/float16.hpp>
#include <kerneltk/bfloat16.hpp>
template <class T, int N> struct dense { T* data; long long extent[N]; };
template <class T> struct dense<T, 0> { T* data; };
template <class T, int N> struct strided { T* data; long long extent[N]; long long stride[N]; };
struct particle { signed char id; double mass; float at[3]; };
struct __attribute__((packed)) packed { signed char tag; float value; };
struct wave { complex<double> z; int k; unsigned char rest[12]; };
template <class T> struct tail { T rest; };
struct pair { signed char left; dense<float, 1> right; };
struct config { double scale; bool count; };
struct nested { pair first; config second; };
"""


def test_without_a_place() -> None:
    with pytest.raises(ArgumentTypeError, match=r"^Kernels cannot take an object of type 'list'\."):
        type_of([], np.ndarray)
    with pytest.raises(ArgumentTypeError, match=r"^The dtype 'object' has no C type"):
        type_of(np.zeros(1, object), np.ndarray)


@pytest.mark.parametrize(
    ("kind", "format_", "on_host", "on_cuda"),
    [
        (BOOL, "?", (1, 1), (1, 1)),
        (PY_INT, "q", (8, 8), (8, 8)),
        (PY_FLOAT, "d", (8, 8), (8, 8)),
        (PY_COMPLEX, "dd", (16, 8), (16, 16)),
        (Number(np.dtype("c8")), "ff", (8, 4), (8, 8)),
        (Number(np.dtype("f2")), "e", (2, 2), (2, 2)),
        (Number(np.dtype(ml_dtypes.bfloat16)), "H", (2, 2), (2, 2)),
        (VOID, "", (0, 1), (0, 1)),
        (Tuple(()), "", (0, 1), (0, 1)),
        (Tuple((VOID, Tuple(()))), "", (0, 1), (0, 1)),
        (Array(Number(np.dtype("f4")), 0), "Q", (8, 8), (8, 8)),
        (Array(Number(np.dtype("f4")), 2), "Qqq", (24, 8), (24, 8)),
        (Array(Number(np.dtype("f4")), 2, "strided"), "Qqqqq", (40, 8), (40, 8)),
        (Record(PARTICLE), "32s", (32, 8), (32, 8)),
        (Record(PACKED), "5s", (5, 1), (5, 1)),
        (Record(WAVE), "32s", (32, 8), (32, 16)),
        (Tuple((BOOL, PY_INT, BOOL)), "?7xq?7x", (24, 8), (24, 8)),
        (Tuple((BOOL, VOID, Number(np.dtype("i2")))), "?1xh", (4, 2), (4, 2)),
    ],
)
def test_layouts(
    kind: Type, format_: str, on_host: tuple[int, int], on_cuda: tuple[int, int]
) -> None:
    assert layout_of(kind, HOST) == Layout(format_, *on_host)
    assert layout_of(kind, CUDA) == Layout(format_, *on_cuda)
    assert struct.calcsize("<" + format_) == on_host[0]


def test_complex_members_are_aligned_otherwise_on_gpus() -> None:
    kinds = (BOOL, PY_COMPLEX, VOID, BOOL)
    assert members_of(kinds, HOST)[0] == (0, 8, None, 24)
    assert members_of(kinds, CUDA)[0] == (0, 16, None, 32)
    assert layout_of(Tuple(kinds), HOST).format == "?7xdd?7x"
    assert layout_of(Tuple(kinds), CUDA).format == "?15xdd?15x"


def test_alignment_of_records() -> None:
    outer = np.dtype({"names": ["wave", "name"], "formats": [WAVE, "S3"], "itemsize": 48})
    assert alignment_of(outer, HOST) == 8
    assert alignment_of(outer, CUDA) == 16
    unnatural = np.dtype([("a", np.int8), ("b", PACKED)])
    assert alignment_of(unnatural, CUDA) == 1


CTYPES: dict[str, Type] = {
    "bool": BOOL,
    "long long": PY_INT,
    "double": PY_FLOAT,
    "complex<double>": PY_COMPLEX,
    "complex<float>": Number(np.dtype("c8")),
    "short": Number(np.dtype("i2")),
    "float16": Number(np.dtype("f2")),
    "bfloat16": Number(np.dtype(ml_dtypes.bfloat16)),
    "dense<float, 0>": Array(Number(np.dtype("f4")), 0),
    "dense<float, 3>": Array(Number(np.dtype("f4")), 3),
    "strided<float, 3>": Array(Number(np.dtype("f4")), 3, "strided"),
    "particle": Record(PARTICLE),
    "packed": Record(PACKED),
    "wave": Record(WAVE),
    "pair": Tuple((Number(np.dtype("i1")), Array(Number(np.dtype("f4")), 1))),
    "nested": Tuple(
        (Tuple((Number(np.dtype("i1")), Array(Number(np.dtype("f4")), 1))), Tuple((PY_FLOAT, BOOL)))
    ),
    "tail<wave>": Tuple((Record(WAVE),)),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["host", "sm_90"])
def test_layouts_are_the_compilers(target: str) -> None:
    """Each type behind a byte and before one, as members of a struct."""
    backend = capabilities_of_target(target)
    lines = []
    for number, (ctype, kind) in enumerate(CTYPES.items()):
        name = f"probe{number}"
        items = (Number(np.dtype("i1")), kind, Number(np.dtype("i1")))
        layout, front = (members_of(found, backend)[1] for found in (items, items[:2]))
        own = layout_of(kind, backend)
        lines += [
            f"struct {name} {{ signed char a; {ctype} b; signed char c; }};",
            f"static_assert(sizeof({ctype}) == {own.size} && alignof({ctype}) == {own.alignment});",
            f"static_assert(sizeof({name}) == {layout.size});",
            f"static_assert(alignof({name}) == {layout.alignment});",
            f"struct {name}_front {{ signed char a; {ctype} b; }};",
            f"static_assert(sizeof({name}_front) == {front.size});",
        ]
        assert struct.calcsize("<" + layout.format) == layout.size
    text = "\n".join([STRUCTURES, *lines, 'extern "C" __global__ void probe(int x) {}\n'])
    symbol = "probe"
    if target == "host":
        symbol = "_kt_entry_0"
        headers = "#include <kerneltk/host_grid.hpp>\n#include <kerneltk/host_device.hpp>\n"
        text = f"{headers}{text}KERNELTK_ENTRY({symbol}, (probe))\n"
    exports = (("probe", symbol),)
    unit = TranslationUnit(backend.name, text, "", name="probe", exports=exports, raw=True)
    assert pipeline.compile_ahead(unit, target).code


def test_groups_are_not_passed() -> None:
    with pytest.raises(ValueError, match="No argument is a grid"):
        layout_of(Opaque("grid", "grid_group"), HOST)
    with pytest.raises(ValueError, match="No argument is a shared 1-d array"):
        layout_of(Array(PY_INT, 1, space="shared"), HOST)
