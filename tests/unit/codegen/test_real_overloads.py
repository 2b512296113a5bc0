"""The declarations of mathematical functions that a unit needs."""

from __future__ import annotations

from kerneltk import ArraySpec, ElementwiseKernel
from kerneltk.codegen.real_overloads import EVERY, real_overloads


def test_only_what_is_named_is_declared() -> None:
    assert real_overloads({"x", "sqrtf"}) == ""
    assert real_overloads(["sqrt", "fmax"]) == (
        "KERNELTK_REAL_2(fmax) KERNELTK_REAL_2_SMALL(fmax) KERNELTK_REAL_1(double, sqrt)"
    )
    assert real_overloads({"abs"}) in EVERY


def test_units_for_gpus_declare_what_they_call() -> None:
    spec = ArraySpec.make("int32", (4,))
    for body, backend, declared in (
        ("y = sqrt(x)", "cuda", True), ("y = x", "cuda", False), ("y = sqrt(x)", "host", False),
    ):  # fmt: skip
        kernel = ElementwiseKernel("T x", "float64 y", body, "k")
        source = kernel.translation_unit(spec, backend=backend).source  # type: ignore[arg-type]
        assert ("KERNELTK_REAL_1(double, sqrt)" in source) is declared
