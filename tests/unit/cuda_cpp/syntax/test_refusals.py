"""What a compiler for CPU cores refuses is left out, function by function."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.declarations import CompilerErrors, Refusals
from kerneltk.cuda_cpp.syntax.refusals import with_refusals

SOURCE = """#include <other.h>
using other::Tile;
#define ALL(x) asm("all %0;" : "=r"(x))
#define BOTH(x) { ALL(x); ALL(x); }
namespace ns {
struct S { __device__ void member(int* x) { BOTH(x[0]); } };
__global__ void tiled(Tile* t) {
    t->run();
}
template <class T> __device__ T plain(T* x) { return *x; }
}
extern "C" __global__ void launches(int* x) { ns::tiled<<<1, 2>>>(0); }
__global__ void last(int* x) { x[0] = 1; }
"""
NO_HEADER = "#error <other.h> cannot run on CPU cores: there is none. Use another."


def refused(*places: tuple[int, int, str], unlocated: bool = False) -> Refusals | None:
    errors = tuple(("k.cu", *place) for place in places)
    return left(SOURCE, CompilerErrors(errors, unlocated))


def left(source: str, *tries: CompilerErrors) -> Refusals | None:
    found, known = None, CompilerErrors()
    for new in tries:
        both = with_refusals(source, "k.cu", known, new)
        if both is None:
            return None
        found, known = both
    return found


def names(found: Refusals | None) -> list[str]:
    assert found is not None
    lines, before = found.source.split("\n"), SOURCE.split("\n")
    assert len(lines) == len(before)
    return [function.name for function in found.functions]


def test_assembly_that_no_line_is_told_of() -> None:
    found = refused(unlocated=True)
    assert found is not None
    assert names(found) == ["ns::member"]
    assert found.functions[0][1:] == (False, "inline PTX", "", "", "k.cu", 3, "")
    assert found.source.split("\n")[5] == (
        "struct S { __device__ void member(int* x) { ::kerneltk::grid::refused("
        '"function \'ns::member\'", "inline PTX", "k.cu", 3);             } };'
    )


@pytest.mark.parametrize("column", [0, 60])
def test_the_function_of_an_error(column: int) -> None:
    found = refused((12, column, "expected expression"))
    assert found is not None
    (function,) = found.functions
    assert function == (
        "launches",
        True,
        "launch from a kernel",
        "expected expression",
        "",
        "k.cu",
        12,
        "",
    )


def test_a_header_and_what_needs_it() -> None:
    header, first, second = (
        CompilerErrors((("k.cu", *place),))
        for place in ((1, 0, NO_HEADER), (2, 7, "no namespace other"), (7, 23, "no Tile"))
    )
    found = left(SOURCE, header, first, second)
    assert found is not None
    assert names(found) == ["ns::tiled"]
    assert found.functions[0].header == NO_HEADER.removeprefix("#error ")
    lines = found.source.split("\n")
    assert not any(line.strip() for line in (*lines[:2], *lines[6:9]))
    assert lines[12] == SOURCE.split("\n")[12]


@pytest.mark.parametrize("places", [((13, 0, "a mistake"),), ((40, 0, "a mistake"),), ()])
def test_another_mistake(places: tuple[tuple[int, int, str], ...]) -> None:
    assert refused(*places) is None


def test_an_error_that_may_come_of_another_waits() -> None:
    first = CompilerErrors((("k.cu", 12, 0, "expected"), ("k.cu", 13, 39, "a mistake")))
    found = left(SOURCE, first)
    assert names(found) == ["launches"]
    assert left(SOURCE, first, CompilerErrors((("k.cu", 13, 39, "a mistake"),))) is None


def test_a_specialization_is_not_left_out_for_the_template_itself() -> None:
    source = """#include <other.h>
template <class T> struct Width { static const int value = 1; };
template <> struct Width<float> { static const int value = other::width; };
"""
    header = ("k.cu", 1, 0, NO_HEADER)
    error = ("k.cu", 3, 60, "no namespace other")
    assert left(source, CompilerErrors((header,)), CompilerErrors((error,))) is None


def test_functions_of_the_same_name_are_not_called_instead() -> None:
    source = """#include <other.h>
__device__ int f(other::T x) { return 1; }
__device__ int f(int x) { return 2; }
"""
    header = CompilerErrors((("k.cu", 1, 0, NO_HEADER), ("k.cu", 3, 0, "'f' is no function")))
    found = left(source, header, CompilerErrors((("k.cu", 2, 18, "no namespace other"),)))
    assert found is not None
    assert [function.name for function in found.functions] == ["f", "f"]
    assert "return" not in found.source


@pytest.mark.parametrize("has_header", [True, False])
def test_errors_inside_a_library_that_cpu_cores_lack_are_of_its_headers(has_header: bool) -> None:
    source = """#include "cutlass/array.h"
#include <cute/tensor.hpp>
__global__ void uses(int* x) { cutlass::Array<int, 2> a; x[0] = a[0]; }
__global__ void other(int* x) { x[0] = 1; }
"""
    inside = CompilerErrors((("k.cu", 1, 0, "stray '#' in program"),))
    found = with_refusals(source, "k.cu", CompilerErrors(), inside, lambda name: has_header)
    if has_header:
        assert found is None
        return
    assert found is not None
    assert "cutlass/" not in found[0].source
    assert "cute/" not in found[0].source
    missing = CompilerErrors((("k.cu", 3, 32, "no namespace cutlass"),))
    again = with_refusals(source, "k.cu", found[1], missing, lambda name: False)
    assert again is not None
    assert [(f.name, f.kind) for f in again[0].functions] == [("uses", "header")]
    assert again[0].functions[0].header.startswith("<cutlass/array.h> cannot run on CPU cores")


def test_functions_that_are_refused_are_no_constants() -> None:
    source = """#include <other.h>
inline constexpr int f(int x) { if constexpr (sizeof(x) > 1) return other::f(x); return 1; }
__global__ void k(int* x) { x[0] = 1; }
"""
    header = CompilerErrors((("k.cu", 1, 0, NO_HEADER),))
    found = left(source, header, CompilerErrors((("k.cu", 2, 72, "no namespace other"),)))
    assert found is not None
    assert found.source.split("\n")[1].startswith(
        "inline           int f(int x) { ::kerneltk::grid"
    )
    assert "constexpr" not in found.source
