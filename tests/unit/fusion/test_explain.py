"""What `explain` says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ArraySpec, pipeline
from tests.differential.fuse_programs import FAMILIES, Family

X = np.zeros((64, 256), np.float32)


@kerneltk.fuse
def centred(x: Any, w: Any) -> Any:
    mean = x.mean(axis=0)
    return (x - mean) * w


def test_table() -> None:
    shown = centred.explain(X, X[0])
    lines = str(shown).split("\n")
    assert lines[:3] == [
        "centred: 2 kernels, 199,680 bytes; the floor is 132,096 bytes",
        "  1. reduction over 64 x 256: reads argument 1 65,536; writes value 2 1,024; row_blocked",
        "  2. elementwise over 64 x 256: reads argument 1 65,536, value 2 1,024, argument 2 1,024; "
        "writes value 1 65,536; vector, 1 a thread, x0 row, x1 row, x2 row, y0 row",
    ]
    assert lines[3] == "  Kernel 1 ends here: what follows needs the whole 'sum'."
    assert lines[4].strip().endswith("mean = x.mean(axis=0)")
    assert lines[5].strip() == "^" * len("x.mean(axis=0)")
    assert len(lines) == 6


def test_numbers() -> None:
    shown = centred.explain(X, X[0])
    assert (shown.bytes, shown.floor) == (199_680, 132_096)
    assert [kernel.kind for kernel in shown.kernels] == ["reduction", "elementwise"]
    assert [kernel.loop for kernel in shown.kernels] == [(64, 256)] * 2
    assert shown.kernels[0].reads == (("argument 1", X.nbytes),)


def test_nothing_is_launched() -> None:
    x = X.copy()

    @kerneltk.fuse
    def bump(x: Any) -> None:
        x += 1

    assert bump.explain(x).bytes == 2 * x.nbytes
    assert not x.any()


def test_writes_to_parts() -> None:
    def program(x: Any) -> Any:
        x[0] = 1
        x[1:] += x[:-1]
        return x

    shown = kerneltk.fuse(program).explain(X)
    (note,) = shown.notes
    assert str(note).split("\n")[0] == (
        "A part of argument 1 is written, which what follows may read."
    )
    assert "x[0] = 1" in str(note)


def test_strategies() -> None:
    def softmax(x: Any) -> Any:
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    (rows,) = kerneltk.fuse(softmax).explain(X).kernels
    assert rows.strategy.startswith("rows read once by ")
    ordered = kerneltk.fuse(lambda x: np.sort(x, axis=0) + 1).explain(X)
    assert [kernel.strategy.split(",")[0] for kernel in ordered.kernels] == ["", "vector"]
    empty = kerneltk.fuse(lambda x: x + x.sum(0)).explain(X[:, :0])
    assert [kernel.strategy for kernel in empty.kernels] == ["", ""]


@pytest.mark.parametrize("backend", ["host", "cuda"])
def test_one_unit_a_launch(backend: Any) -> None:
    @kerneltk.fuse
    def program(x: Any) -> Any:
        return x - x.mean(axis=0), x.T[1:] + 1

    spec = ArraySpec.make("float64", (40, 30))
    units = program.translation_units(spec, backend=backend)
    kinds = [kernel.kind for kernel in program.explain(np.zeros((40, 30))).kernels]
    assert kinds == ["reduction", "elementwise", "elementwise"]
    assert len(units) == 3
    assert ["__global__" in unit.source for unit in units] == [backend == "cuda"] * 3
    assert all("--fmad=false" in unit.options for unit in units)


# What runs in `tests/differential` on a GPU compiles for one.
COMPILED = [family for family in FAMILIES if family.name in (
    "ordered_float16", "complex_complex64", "boolean")]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("family", COMPILED, ids=[family.name for family in COMPILED])
def test_programs_compile_for_a_gpu(family: Family) -> None:
    def every(*args: Any) -> list[Any]:
        return [program(*args) for program in family.programs]

    for unit in kerneltk.fuse(every).translation_units(*family.arguments()):
        assert pipeline.compile_ahead(unit, "sm_90").code
