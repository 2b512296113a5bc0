"""Reductions that once went wrong, found by reading, fuzzing and trying hard."""

from __future__ import annotations

import numpy as np
import pytest

from kerneltk import ArraySpec, CompileError, ReductionKernel
from kerneltk.launch import loops


def made(*texts: str, identity: object = "0", **options: object) -> ReductionKernel:
    return ReductionKernel(*texts, identity, "hard", **options)  # type: ignore[arg-type]


SUM = ("T x", "T y", "x", "a + b", "y = a")


@pytest.mark.exhaustive
def test_an_output_that_is_a_raw_input() -> None:
    kernel = made("T x, raw T w", "T y", "x * w[_out_ind.size() - 1 - _i]", "a + b", "y = a")
    w = np.array([1.0, 2.0, 3.0])
    assert kernel(np.ones((3, 1000)), w, axis=1, out=w) is w
    np.testing.assert_array_equal(w, [3000, 2000, 1000])


def test_coordinates_of_more_elements_than_32_bits_count() -> None:
    kernel = made(
        "T x", "int64 y", "_in_ind.get()[0]", "max(a, b)", "y = a", identity="-1",
        reduce_dims=False,
    )  # fmt: skip
    few = kernel.translation_unit(ArraySpec.make("u1", (2**10, 2**10)), axis=1)
    many = kernel.translation_unit(ArraySpec.make("u1", (2**17, 2**17)), axis=1)
    assert "index_space<2, int> _kt_in" in few.source
    assert "index_space<2, long long> _kt_in" in many.source


@pytest.mark.parametrize("name", ["add", "merge", "get"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_macros_of_common_names_compile_for_cuda(name: str, axis: int | None) -> None:
    kernel = made(
        "T x", "T y", "x", f"{name}(a, b)", "y = a", preamble=f"#define {name}(p, q) ((p) + (q))"
    )
    for shape in ((3000, 4000), (4_000_000, 3), (100_000, 33)):
        assert kernel.compile(ArraySpec.make("f4", shape), axis=axis, target="sm_90").code


def test_vector_types_as_fields_compile_for_cuda() -> None:
    kernel = made(
        "T x", "T y", "{make_float2(x, x), 1}",
        "{make_float2(a.v.x + b.v.x, a.v.y), a.n + b.n}", "y = a.v.x / a.n",
        identity="{make_float2(0, 0), 0}", reduce_type="float2 v, int n",
    )  # fmt: skip
    assert kernel.compile(ArraySpec.make("f4", 1000), target="sm_90").code


@pytest.mark.exhaustive
def test_totals_that_a_gpu_cannot_move() -> None:
    kernel = made(
        "T x", "T y", "W(x)", "W(a.v + b.v)", "y = a.v", identity="W(0)", reduce_type="W",
        preamble="struct W { float v; __device__ W(float x) : v(x) {} __device__ ~W() {} };",
    )  # fmt: skip
    with pytest.raises(CompileError, match="on a GPU the totals must be trivially copyable"):
        kernel.compile(ArraySpec.make("f4", 1000), target="sm_90")
    assert kernel(np.ones(9, "f4")) == 9


def test_a_digit_separator_is_no_bracket() -> None:
    kernel = made("T x", "T y", "min(x, T(1'000)) + zz", "a + b", "y = a")
    with pytest.raises(CompileError) as caught:
        kernel(np.ones(3, "f4"))
    line = str(caught.value).split("\n")[2]
    assert line == " " * len("  map_expr: min(x, T(1'000)) + ") + "^^"


def test_branches_of_the_preprocessor_are_no_pairs() -> None:
    kernel = made(
        *SUM,
        preamble="#if 1\n__device__ double f(double x) {\n#else\n__device__ float f(float x) {\n"
        "#endif\nreturn zz; }",
    )
    with pytest.raises(CompileError) as caught:
        kernel(np.ones(3, "f4"))
    assert "return zz; }" in str(caught.value)
    assert "never" not in str(caught.value)


def test_one_field_of_a_c_type() -> None:
    kernel = made(
        "T x", "T y", "{x}", "{a.v + b.v}", "y = a.v", identity="{0}", reduce_type="double v"
    )
    assert kernel(np.ones(9, "f4")) == 9


def test_a_mask_of_one_for_all() -> None:
    smallest = made("T x", "T y", "x", "min(a, b)", "y = a", identity=None)
    x = np.arange(3, 9, dtype="f4")
    assert smallest(x, where=np.True_) == smallest(x, where=True) == 3
    unit = made(*SUM).translation_unit(x, where=bool)
    assert "_kt_where" in unit.source


@pytest.mark.exhaustive
def test_scratch_memory_of_many_shapes_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "_MOST_HELD", 1 << 20)
    total = made(*SUM)
    base, out = np.ones((500, 2000), "f4"), np.empty(2000, "f4")
    held = []
    for rows in range(450, 500):
        total(base[:rows], out=out, axis=0)
        held.append(total._dispatcher._held)
        assert (out == rows).all()
    assert max(held) <= 1 << 20
    assert held != sorted(held)
