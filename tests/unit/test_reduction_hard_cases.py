"""Reductions that once went wrong, found by reading, fuzzing and trying hard."""

from __future__ import annotations

import numpy as np
import pytest

from kerneltk import ArraySpec, CompileError, ReductionKernel
from kerneltk.errors import DivisionError, LaunchError


def made(*texts: str, identity: object = "0", **options: object) -> ReductionKernel:
    return ReductionKernel(*texts, identity, "hard", **options)  # type: ignore[arg-type]


SUM = ("T x", "T y", "x", "a + b", "y = a")


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


def test_division_by_zero() -> None:
    kernel = ReductionKernel("T x, T w", "T y", "x / w", "a + b", "y = a", "0", "quotients")
    x, w = np.arange(500_000), np.ones(500_000, np.int64)
    wanted = x.sum()
    assert kernel(x, w) == wanted
    for place in (0, 250_000, 499_999):
        w[place] = 0
        with pytest.raises(DivisionError):
            kernel(x, w)
        w[place] = 1
        assert kernel(x, w) == wanted


def test_assertion() -> None:
    kernel = ReductionKernel(
        "T x", "T y", "(assert(x >= 0), x)", "a + b", "y = a", "0", "asserted"
    )  # fmt: skip
    x = np.arange(500_000)
    assert kernel(x) == x.sum()
    x[400_000] = -1
    with pytest.raises(LaunchError, match="trapped"):
        kernel(x)
    x[400_000] = 400_000
    assert kernel(x) == x.sum()
