"""The generated text of each strategy of reductions, as it is read and as it compiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kerneltk import ArraySpec, ReductionKernel
from kerneltk.codegen.reduction import ReductionSpecialization

from ..unit.schedule.test_reduction import ON_CUDA, ON_HOST

make = ArraySpec.make

SUM = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
ADD_TO = ReductionKernel("T x", "T y", "x", "a + b", "y += a", "0", "add_to")
SCALED_SUM = ReductionKernel(
    "T x, float32 c", "T y", "x * c", "a + b", "y += a; // on top\\", "0 * c // none",
    "scaled_total",
)  # fmt: skip
ARGMAX = ReductionKernel(
    "T x", "T y, int64 k",
    "{x, _J}",
    "a.value > b.value || (a.value == b.value && a.index < b.index) ? a : b",
    "y = a.value;\nk = a.index",
    None, "argmax", "T value, int64 index",
)  # fmt: skip
WELFORD = ReductionKernel(
    "T x", "T m, T s",
    "{(float)x, 0, 1}", "merged(a, b)", "m = a.mean; s = sqrt(a.squares / a.count);",
    None, "welford", "moments",
    preamble=(
        "struct moments { float mean, squares, count; };\n"
        "__device__ moments merged(const moments& p, const moments& q) {\n"
        "    const float n = p.count + q.count, d = q.mean - p.mean;\n"
        "    return {p.mean + d * q.count / n,\n"
        "            p.squares + q.squares + d * d * p.count * q.count / n, n};\n"
        "}"
    ),
)  # fmt: skip
INDICES = ReductionKernel(
    "T x, raw T w", "float64 y, int64 n",
    "_raw_x[_in_ind.get()] * w[_in_ind.get()[1]] - x * _j",
    "a + b", "y = a * _out_ind.get()[0]; n += _i",
    "0", "indices", "double", False,
)  # fmt: skip


@dataclass(frozen=True)
class Text:
    """A specialization whose text is kept.

    `larger` are arguments of other extents that have the same text.
    """

    kernel: ReductionKernel
    arguments: tuple[Any, ...]
    says: tuple[str, ...]  # parts of the text that tell the strategy
    options: dict[str, Any] = field(default_factory=dict)
    larger: tuple[Any, ...] | None = None


CUDA = {
    "whole_sum": Text(
        SUM, (make("f4", 10**7),), ("reduce_lanes<32>", "is_last_block"), {},
        (make("f4", 10**7 + 4096),),
    ),
    "rows_short": Text(
        SUM, (make("f4", (10**6, 3)),), ("_kt_z_y", "16, sizeof(_kt_x_x)"), {"axis": 1},
        (make("f4", (10**6 + 400, 3)),),
    ),
    "rows_middle": Text(
        SUM, (make("f2", (10**5, 64)),), ("typedef float _type_reduce", "reduce_lanes<"),
        {"axis": 1}, (make("f2", (10**5 + 400, 64)),),
    ),
    "rows_long": Text(
        SUM, (make("f4", (64, 128, 8192)),), ("reduce_lanes<32>", "__syncthreads"), {"axis": -1},
        (make("f4", (64, 160, 8192)),),
    ),
    "rows_odd": Text(
        SUM, (make("f4", (4096, 8191)),), ("_kt_head",), {"axis": 1}, (make("f4", (4128, 8193)),),
    ),
    "rows_brought": Text(
        SUM, (make("f2", (10**5, 7)),), ("_kt_count", "__syncthreads"), {"axis": 1},
        (make("f2", (10**5 + 400, 7)),),
    ),
    "rows_staged": Text(
        SUM, (make("f4", (10**5, 33)),), ("_kt_s_x", "uint4"), {"axis": 1},
        (make("f4", (10**5 + 32, 33)),),
    ),
    "columns": Text(
        SUM, (make("f4", (64, 10**6)),), ("_kt_x_x", "16"), {"axis": 0},
        (make("f4", (64, 10**6 + 1024)),),
    ),
    "columns_split": Text(
        SUM, (make("f4", (10**6, 64)),), ("is_last_block",), {"axis": 0, "keepdims": True},
        (make("f4", (10**6 + 32, 64)),),
    ),
    "columns_of_bytes": Text(
        SUM, (make("i1", (31, 12, 333, 4099)),), ("fetch_shifted", "_kt_first_own"),
        {"axis": (0, 1)}, (make("i1", (31, 12, 333, 4101)),),
    ),
    "columns_folded": Text(
        SUM, (make("u1", (9000, 50)),), ("_kt_flat",), {"axis": 0}, (make("u1", (9024, 50)),),
    ),
    "columns_added_to": Text(
        ADD_TO, (make("u1", (21, 83), offset=1), make("u1", 83, offset=3)),
        ("if (_kt_v >= _kt_first_own)",), {"axis": 0},
    ),
    "rows_of_bytes": Text(
        SUM, (make("i1", (100, 12, 31, 333)),), ("fetch_shifted", "_kt_left"), {"axis": (0, 3)},
        (make("i1", (100, 12, 31, 335)),),
    ),
    "opposite_orders": Text(
        SCALED_SUM, (make("f4", (500, 4096)), 2.0, make("f4", 4096)), ("_kt_x__kt_where[4][8]",),
        {"axis": 0, "where": make("?", (500, 4096), order="F")},
    ),
    "two_loops": Text(
        SUM, (make("c8", (50, 60, 70)),), ("complex.hpp", "fast_divisor32"), {"axis": (0, 2)},
        (make("c8", (50, 62, 70)),),
    ),
    "wide_index": Text(
        SUM, (make("u1", 2**31),), ("using _kt_index = long long",), {},
        (make("u1", 2**31 + 4096),),
    ),
    "masked": Text(
        SCALED_SUM, (make("f4", (4096, 8192)), 2.0, make("f4", 4096)),
        ("if (kerneltk::get(&_kt_x__kt_where",),
        {"axis": 1, "where": make("?", (4096, 8192))},
    ),
    "fields": Text(
        ARGMAX, (make("f4", (64, 10**6)),), ("long long index;", "_type_reduce("), {"axis": 1},
    ),
    "welford": Text(
        WELFORD, (make("f4", (10**6, 64)),), ("moments", "merged", "kerneltk::total<"), {"axis": 0}
    ),
    "indices": Text(
        INDICES,
        (make("f4", (40, 50, 60), order="F"), make("f4", 60), make("f8", 50), make("i8", 50)),
        ("_in_ind.set(_j)", "_out_ind.set(_i)", "_raw_x{"),
        {"axis": (0, 2)},
    ),
}  # fmt: skip
HOST = {
    "whole_sum": Text(
        SUM, (make("f4", 10**7),), ("row_totals", "shared_totals"), {},
        (make("f4", 10**7 + 4096),),
    ),
    "columns": Text(
        SCALED_SUM, (make("f4", (10**4, 1000)), 2.0, make("f4", 1000)), ("column_totals",),
        {"axis": 0, "where": make("?", (10**4, 1))},
    ),
    "short": Text(
        SUM, (make("f4", (10**5, 4)),), ("_kt_r < 4",), {"axis": 1}, (make("f4", (10**5 + 64, 4)),),
    ),
    "row_blocked": Text(SUM, (make("f4", (10**6, 3)),), ("end_blocked",), {"axis": 0}),
    "apart_shared": Text(
        SUM, (make("f4", (37, 200, 41, 50)),), ("_kt_rest % _kt_a._kt_reduction[1]",),
        {"axis": (0, 1, 3)},
    ),
    "fields": Text(
        ARGMAX, (make("f4", (1000, 1000)),), ("totals_of<_type_reduce", "row_totals"),
        {"axis": 1},
    ),
    "indices": Text(
        INDICES, (make("f4", (40, 50, 60)), make("f4", 60)),
        ("_in_ind.set(_j)", "_raw_x{"), {"axis": (0, 2)},
    ),
}  # fmt: skip
ALL = [
    *(("cuda", name, text) for name, text in CUDA.items()),
    *(("host", name, text) for name, text in HOST.items()),
]


@pytest.mark.parametrize(("backend", "name", "text"), ALL, ids=lambda value: str(value)[:24])
def test_text(backend: Any, name: str, text: Text, golden: Callable[[str, str], None]) -> None:
    unit = text.kernel.translation_unit(*text.arguments, backend=backend, **text.options)
    assert [part for part in text.says if part not in unit.source] == []
    golden(f"reduction/{backend}_{name}.{'cu' if backend == 'cuda' else 'cpp'}", unit.source)
    target = "sm_90" if backend == "cuda" else "host"
    assert text.kernel.compile(*text.arguments, target=target, **text.options).code


@pytest.mark.one_in(4)
@pytest.mark.parametrize("architecture", ["sm_75", "sm_100"])
@pytest.mark.parametrize("name", CUDA)
def test_text_compiles_for_other_architectures(architecture: str, name: str) -> None:
    text = CUDA[name]
    assert text.kernel.compile(*text.arguments, target=architecture, **text.options).code


def test_every_golden_file_is_one_of_these() -> None:
    known = {f"{b}_{name}.{'cu' if b == 'cuda' else 'cpp'}" for b, name, _ in ALL}
    sources = Path(__file__).parent / "sources" / "reduction"
    assert {path.name for path in sources.iterdir()} == known


def test_each_strategy_has_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()
    context = ReductionSpecialization.context

    def noted(specialization: ReductionSpecialization) -> dict[str, Any]:
        seen.add(type(specialization.schedule))
        return context(specialization)

    monkeypatch.setattr(ReductionSpecialization, "context", noted)
    for backend, _, text in ALL:
        text.kernel.translation_unit(*text.arguments, backend=backend, **text.options)
    assert seen == {*ON_CUDA, *ON_HOST}


@pytest.mark.parametrize(
    ("backend", "name"), [(backend, name) for backend, name, text in ALL if text.larger]
)
def test_numbers_are_no_part_of_the_text(backend: Any, name: str) -> None:
    """Other extents of the same strategy have the same text."""
    text = (CUDA if backend == "cuda" else HOST)[name]
    assert text.larger is not None
    units = [
        text.kernel.translation_unit(*arguments, backend=backend, **text.options)
        for arguments in (text.arguments, text.larger)
    ]
    assert units[0].source == units[1].source
