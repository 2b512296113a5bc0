"""The generated text of each layout class, on both targets, as it is read and as it compiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec, ElementwiseKernel

make = ArraySpec.make

AXPB = ElementwiseKernel("T x, T a, T b", "T y", "y = a * x + b", "axpb")
SUM = ElementwiseKernel("T x, T w", "T y", "y = x + w", "sum")
INDEXED = ElementwiseKernel("T x", "int64 y", "y = x + i", "indexed")
GATHER = ElementwiseKernel("raw T x, int32 k", "T y", "y = x[k] + _ind.get()[0]", "gather")
COUNT = ElementwiseKernel("int32 k", "raw int32 y", "atomicAdd(&y[k], 1);", "count")
RECORD = ElementwiseKernel("raw P p, float32 a", "float32 y", "y = a * p[i].weight", "record")
WRAPPED = ElementwiseKernel(
    "T x, int32 k = 2", "T y, bool z", "y = box(x) + scale;\nz = y > k",
    "wrapped", preamble="__device__ T box(T v) {\n    return v * 3;\n}",
    loop_prep="const T scale = k;", after_loop="(void)scale;",
)  # fmt: skip

PARTICLE = np.dtype([("charge", "i1"), ("weight", "f4")])


@dataclass(frozen=True)
class Text:
    """A specialization whose text is kept."""

    kernel: ElementwiseKernel
    arguments: tuple[Any, ...]
    says: str  # part of the text that tells the layout class
    options: dict[str, Any] = field(default_factory=dict)


CUDA = {
    "flat_float32": Text(AXPB, (make("f4", 10**6), float, float), "copy<16"),
    "flat_int8": Text(AXPB, (make("i1", 10**6), 1, 2), "_kt_v_x[16]"),
    "flat_float16": Text(AXPB, (make("f2", 10**6), float, float), "float16.hpp"),
    "flat_peeled": Text(SUM, tuple(make("f4", 10**6, offset=4) for _ in range(3)), "_kt_shift"),
    "flat_half_aligned": Text(
        SUM, (make("f4", 10**6, offset=8), make("f4", 10**6), make("f4", 10**6)), "copy<8"
    ),
    "complex_scalar": Text(AXPB, (make("c8", 1000), complex, 2), "complex.hpp"),
    "row_broadcast": Text(SUM, (make("f4", (512, 1024)), make("f4", 1024)), "_kt_r_w"),
    "column_broadcast": Text(SUM, (make("f4", (512, 1024)), make("f4", (512, 1))), "_kt_r_w"),
    "one_a_row": Text(SUM, (make("f4", (511, 301)), make("f4", (511, 1))), "_kt_divisors"),
    "odd_rows": Text(SUM, (make("f4", (511, 301)), make("f4", 301)), "_kt_divisors"),
    "long_odd_rows": Text(
        SUM, (make("f4", (511, 8191), strides=(32900, 4)), make("f4", 8191)), "_kt_left"
    ),
    "whole_patches": Text(
        INDEXED,
        (make("i4", (64, 1024), strides=(9600, 8)), make("i8", (64, 1024), strides=(19200, 16))),
        "_kt_column",
        {"block_size": 16},
    ),
    "strided_output": Text(
        SUM,
        (make("f4", 1000), make("f4", 1000), make("f4", 1000, strides=(8,))),
        "_kt_r_y[4]",
    ),
    "tile": Text(SUM, (make("f4", (512, 1024), order="F"), make("f4", (512, 1024))), "_kt_tile_x"),
    "tile_of_words": Text(
        SUM, (make("i1", (544, 1056), order="F"), make("i1", (544, 1056))), "_kt_word"
    ),
    "box": Text(
        SUM,
        (make("f2", (7, 400, 16), strides=(2, 14, 5600)), make("f2", (7, 400, 16))),
        "_kt_tile_x",
    ),
    "odd_rows_of_words": Text(
        SUM, (make("i1", (64, 512), strides=(517, 1)), make("i1", (64, 512))), "copy_in_words"
    ),
    "box_of_lines": Text(
        SUM,
        (
            make("i1", (41, 16, 33), offset=1),
            make("i1", (16, 33)),
            make("i1", (41, 16, 33), strides=(2112, 132, 4)),
        ),
        "(_kt_thread - _kt_line * ",
    ),
    "wide_index": Text(SUM, (make("u1", 2**31), make("u1", ())), "using _kt_index = long long"),
    "index": Text(INDEXED, (make("i4", (64, 96), order="F"), make("i8", (64, 96))), "ptrdiff_t i"),
    "raw": Text(GATHER, (make("f4", (8, 9), order="F"), make("i4", (4, 6))), "array_view<T, 2"),
    "atomic": Text(COUNT, (make("i4", 1000), make("i4", 10)), "threadIdx"),
    "record": Text(RECORD, (make(PARTICLE, 100), 0.5), "packed", {"size": 100}),
    "zero_dimensions": Text(SUM, (make("f8", ()), make("f8", ())), "_kt_p_y"),
    "own_sources": Text(WRAPPED, (make("i4", 1000), 2), '#line 1 "preamble"'),
}
HOST = {
    "flat": Text(AXPB, (make("f4", 10**6), float, float), "kerneltk::get(_kt_r_x + _kt_k)"),
    "rows": Text(SUM, (make("f4", (512, 1024)), make("f4", (512, 1))), "_kt_width"),
    "tile": Text(SUM, (make("f4", (512, 1024), order="F"), make("f4", (512, 1024))), "_kt_across"),
    "index_tile": Text(
        INDEXED, (make("i4", (64, 96), order="F"), make("i8", (64, 96))), "_kt_i = _kt_across * "
    ),
    "misaligned": Text(SUM, tuple(make("f4", 1000, offset=k) for k in (1, 0, 2)), "memcpy"),
    "index_space": Text(GATHER, (make("f4", (8, 9)), make("i4", (4, 6))), "_ind.set(i)"),
    "own_sources": Text(WRAPPED, (make("i4", 1000), 2), '#line 1 "loop_prep"'),
}
ALL = [
    *(("cuda", name, text) for name, text in CUDA.items()),
    *(("host", name, text) for name, text in HOST.items()),
]


@pytest.mark.parametrize(("backend", "name", "text"), ALL, ids=lambda value: str(value)[:24])
def test_text(backend: Any, name: str, text: Text, golden: Callable[[str, str], None]) -> None:
    unit = text.kernel.translation_unit(*text.arguments, backend=backend, **text.options)
    assert text.says in unit.source
    golden(f"{backend}_{name}.{'cu' if backend == 'cuda' else 'cpp'}", unit.source)
    target = "sm_90" if backend == "cuda" else "host"
    assert text.kernel.compile(*text.arguments, target=target, **text.options).code


@pytest.mark.one_in(12)
@pytest.mark.parametrize("architecture", ["sm_75", "sm_100"])
@pytest.mark.parametrize("name", CUDA)
def test_text_compiles_for_other_architectures(architecture: str, name: str) -> None:
    text = CUDA[name]
    assert text.kernel.compile(*text.arguments, target=architecture, **text.options).code


def test_every_golden_file_is_one_of_these() -> None:
    known = {f"{b}_{name}.{'cu' if b == 'cuda' else 'cpp'}" for b, name, _ in ALL}
    sources = Path(__file__).parent / "sources"
    found = {path.name for path in sources.iterdir() if path.is_file()}
    assert {name for name in found if not name.startswith("first-call-")} == known


def _larger(spec: ArraySpec) -> ArraySpec:
    """Return an array of the same kind whose extents are 32 more."""
    shape = tuple(extent if extent == 1 else extent + 32 for extent in spec.shape)
    for order in ("C", "F"):
        if spec.strides == make(spec.dtype, spec.shape, order=order).strides:
            return make(spec.dtype, shape, order=order, offset=spec.offset)
    return make(spec.dtype, shape, strides=spec.strides, offset=spec.offset)


@pytest.mark.parametrize("name", CUDA)
def test_numbers_are_no_part_of_the_text(name: str) -> None:
    """Other extents of the same layout class have the same text."""
    text = CUDA[name]
    if any(isinstance(a, ArraySpec) and a.size > 2**30 for a in text.arguments):
        return
    if name.startswith("box"):  # short extents are part of it
        return
    larger = [_larger(a) if isinstance(a, ArraySpec) else a for a in text.arguments]
    assert (
        text.kernel.translation_unit(*larger, **text.options).source
        == text.kernel.translation_unit(*text.arguments, **text.options).source
    )
