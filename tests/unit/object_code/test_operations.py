"""How operations of PTX are counted."""

from __future__ import annotations

import pytest

from kerneltk import ArraySpec, ElementwiseKernel
from kerneltk.object_code.operations import (
    ALU,
    CACHE,
    FP32,
    FP64,
    ISSUE,
    SPECIAL,
    operations_of,
)

COPY = "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];"


def counted(body: str, moved: float = 0) -> dict[str, float]:
    found = operations_of(
        f".visible .entry k(\n.param .u64 p\n)\n{{\n{body}\nret;\n}}\n", "k", moved
    )
    assert found is not None
    return found


def test_assembler_of_users() -> None:
    lines = "{ .reg .pred p; A: mov.u32 %r1, 1; @p bra B; bra A; B: }", "{\n.reg .u32 i;\nC:\n}"
    assert counted("\n".join([*lines, "fma.rn.f32 %f1, %f1, %f2, %f3;"]))[FP32] == 1


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fma.rn.f32 %f1, %f1, %f2, %f3;", {FP32: 1, ISSUE: 1}),
        ("@%p1 add.f64 %fd1, %fd1, %fd2;", {FP64: 1, ISSUE: 1}),
        ("fma.rn.f16x2 %r1, %r1, %r2, %r3;", {FP32: 1, ISSUE: 1}),
        ("ex2.approx.ftz.f32 %f1, %f2;", {SPECIAL: 1, ISSUE: 1}),
        ("ex2.approx.f32 %f1, %f2;", {FP32: 2, SPECIAL: 1, ALU: 1, ISSUE: 4}),
        ("div.rn.f64 %fd1, %fd1, %fd2;", {FP64: 8, SPECIAL: 1, ALU: 3, ISSUE: 12}),
        ("setp.lt.f32 %p1, %f1, %f2;", {ALU: 1, ISSUE: 1}),
        ("add.s64 %rd1, %rd1, 4;", {ALU: 2, ISSUE: 2}),
        ("cvt.rn.f32.s32 %f1, %r1;", {ALU: 1, ISSUE: 1}),
        ("cvt.rn.f32.s8 %f1, %r1;", {SPECIAL: 1, ISSUE: 1}),
        ("cvt.rzi.s32.f32 %r1, %f1;", {SPECIAL: 1, ISSUE: 1}),
        ("cvt.f32.f16 %f1, %h1;", {FP32: 1, ISSUE: 1}),
        ("cvt.u64.u32 %rd1, %r1;", {}),
        ("mov.u32 %r1, %r2; abs.f32 %f1, %f1;", {}),
        (COPY, {CACHE: 4, ISSUE: 1}),
        ("ld.param.u64 %rd1, [p];", {}),
        ("st.shared.u8 [%r1], %r2;", {CACHE: 1, ISSUE: 1}),
        ("cp.async.cg.shared.global [%r1], [%rd1], 16; cp.async.commit_group;",
         {CACHE: 4, ISSUE: 2}),
    ],
)  # fmt: skip
def test_instructions(line: str, expected: dict[str, float]) -> None:
    assert {unit: n for unit, n in counted(line).items() if n} == expected


LOOP = "$L_1:\n{}\nsetp.lt.s32 %p1, %r5, %r9;\n@%p1 bra $L_1;"


@pytest.mark.parametrize(
    ("body", "moved", "fp32"),
    [
        (LOOP.format("add.f32 %f1, %f1, %f1;"), 0, 1),
        (LOOP.format(COPY + "add.f32 %f1, %f1, %f1;"), 160, 10),
        # the first long loop has the bytes; another one puts results together
        (LOOP.format(COPY + "add.f32 %f1, %f1, %f1;") + "\nmul.f32 %f1, %f1, %f1;\n"
         + LOOP.replace("L_1", "L_2").format("ld.global.f32 %f2, [%rd1];"), 164, 11),
        # the body of a loop that is tested at its head is executed
        ("$L_1:\n@%p1 bra $L_2;\n" + COPY + "add.f32 %f1, %f1, %f1;\nbra.uni $L_1;\n$L_2:\n"
         "mul.f32 %f1, %f1, %f1;", 64, 5),
    ],
)  # fmt: skip
def test_loops(body: str, moved: float, fp32: float) -> None:
    assert counted(body, moved)[FP32] == fp32


def test_the_path_has_vectors_and_no_slow_function() -> None:
    singles = "ld.global.u32 %r1, [%rd1];mul.f32 %f1, %f1, %f1;" * 4
    tail = f"@%p1 bra $L_1;\n{COPY}\nadd.f32 %f1, %f1, %f1;\nbra.uni $L_2;\n$L_1:\n{singles}\n$L_2:"
    assert counted(tail)[FP32] == 1
    slow = "@%p1 bra $L_1;\nmul.f32 %f1, %f1, %f1;\ncall __internal_slowpath, (%f1);\n$L_1:"
    assert counted(slow)[FP32] == 0
    exact = "@%p1 bra $L_1;\nmul.f64 %fd1, %fd1, %fd1;\nmul.f64 %fd1, %fd1, %fd1;\n$L_1:\n"
    assert counted(exact)[FP64] == 0
    assert counted(exact + "st.global.f64 [%rd1], %fd1;")[FP64] == 2


def test_no_such_kernel() -> None:
    assert operations_of(".visible .entry k(\n)\n{\nret;\n}\n", "other", 0) is None


@pytest.mark.parametrize(("dtype", "unit"), [("f4", FP32), ("f8", FP64)])
def test_counts_of_what_nvrtc_compiles(dtype: str, unit: str) -> None:
    x = ArraySpec.make(dtype, 1 << 24)
    found = ElementwiseKernel("T x", "T y", "y = x * x", "square").explain(x).operations()
    assert found is not None
    assert [name for name in (FP32, FP64, SPECIAL) if found[name]] == [unit]
