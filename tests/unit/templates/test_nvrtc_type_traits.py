"""<type_traits> and <concepts> for NVRTC say what the C++ library says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import kerneltk

TRAITS = re.findall(
    r"\w+",
    """
    is_trivially_default_constructible is_trivially_copy_constructible
    is_trivially_move_constructible is_trivially_copy_assignable is_trivially_move_assignable
    is_nothrow_default_constructible is_nothrow_copy_constructible is_nothrow_move_constructible
    is_nothrow_copy_assignable is_nothrow_move_assignable is_copy_assignable is_move_assignable
    is_default_constructible is_copy_constructible is_move_constructible is_destructible
    is_nothrow_destructible is_trivially_destructible has_virtual_destructor is_aggregate
    is_compound is_member_pointer is_member_function_pointer is_member_object_pointer is_union
    is_class is_fundamental is_scalar is_object is_volatile is_trivial is_trivially_copyable
    is_standard_layout is_pod is_empty is_polymorphic is_abstract is_final is_signed is_unsigned
    is_function is_array is_pointer is_reference is_enum is_void is_integral is_floating_point
    is_arithmetic is_const is_null_pointer
    """,
)
TYPES = """
int;float*;Plain;Noisy;Virtual;Quiet;Gone;Either;E;int&;const int;int[3];int Plain::*;
int (Plain::* const)(int);volatile Plain;void*;int(int);int&&;decltype(nullptr);long double;
unsigned long long;int (Plain::*)() const;void;const Plain[2];signed char;bool;Abstract
""".replace("\n", "").split(";")
NUMBERS = (
    "std::extent_v<int[3][4], 1> * 100 + std::extent_v<int[][7]> * 10 + std::extent_v<int>",
    "std::extent_v<int[][7], 1>",
    "sizeof(std::aligned_storage_t<24, 8>) * 100 + alignof(std::aligned_storage_t<24, 8>)",
    "std::is_invocable_r_v<long, int (*)(float), int> + 2 * std::is_invocable_r_v<Plain, int (*)()>"
    " + 4 * std::is_invocable_r_v<void, int (*)(float), int> + 8 * std::is_invocable_r_v<int, int>",
    "std::is_trivially_constructible_v<Plain, const Plain&>",
    "std::is_trivially_constructible_v<int, float>",
    "std::is_nothrow_constructible_v<Noisy, int>",
    "std::is_trivially_assignable_v<int&, float> + 2 * std::is_nothrow_assignable_v<Plain&, Plain>",
    "std::is_assignable_v<int, int>",
    "std::has_unique_object_representations_v<Plain>",
    "std::has_unique_object_representations_v<int> + "
    "2 * std::has_unique_object_representations_v<E>",
)
HEAD = """
#include <type_traits>
struct Plain { int x; float y; };
struct Noisy { Noisy(int); Noisy(const Noisy&); ~Noisy(); int x; };
struct Virtual { virtual ~Virtual(); };
struct Quiet {
    Quiet() noexcept;
    Quiet& operator=(const Quiet&) noexcept;
    ~Quiet() noexcept(false);
};
struct Gone { ~Gone() = delete; };
struct Abstract { virtual void f() = 0; };
union Either { int a; float b; };
enum class E : short { a };
"""


def _expressions() -> list[str]:
    return [
        " + ".join(f"({1 << n}ull * std::{trait}_v<{of}>)" for n, trait in enumerate(TRAITS))
        for of in TYPES
    ] + list(NUMBERS)


def test_traits(tmp_path: Path) -> None:
    expressions = _expressions()
    path = tmp_path / "traits.cu"
    lines = [f"    out[{n}] = {e};" for n, e in enumerate(expressions)]
    path.write_text(
        f"{HEAD}__global__ void k(unsigned long long* out) {{\n" + "\n".join(lines) + "\n}\n"
    )
    out = np.zeros(len(expressions), np.uint64)
    kerneltk.load(path).k((1,), (1,), (out,))
    asserts = [f"static_assert({e} == {v}ull);" for e, v in zip(expressions, out, strict=True)]
    path.write_text(HEAD + "\n".join(asserts) + "\n__global__ void k() {}\n")
    assert kerneltk.load(path).compile_for("sm_90").code


@pytest.mark.exhaustive
def test_concepts(tmp_path: Path) -> None:
    path = tmp_path / "concepts.cu"
    path.write_text("""
#include <compare>
#include <concepts>
struct V { int x, y; __device__ auto operator<=>(const V&) const = default; };
struct F { float x; __device__ constexpr auto operator<=>(const F&) const = default; };
static_assert((F{1} <=> F{2}) == std::partial_ordering::less && !(F{NAN} >= F{1}));
static_assert(std::is_lteq(1 <=> 2) && 0 < std::weak_ordering(std::strong_ordering::greater));
template <std::integral T> __device__ int kind(T) { return 1; }
template <std::floating_point T> __device__ int kind(T) { return 2; }
struct B {};
struct D : B {};
struct N { N(const N&) = delete; N(int); };
static_assert(std::same_as<int, int> && !std::same_as<int, long>);
static_assert(std::derived_from<D, B> && !std::derived_from<B, D>);
static_assert(std::convertible_to<int, float> && !std::convertible_to<B, int>);
static_assert(std::unsigned_integral<unsigned> && !std::unsigned_integral<int>);
static_assert(std::signed_integral<long> && !std::signed_integral<float>);
static_assert(!std::copy_constructible<N> && std::copy_constructible<B>);
static_assert(std::constructible_from<N, int> && std::move_constructible<B>);
static_assert(!std::default_initializable<N> && std::default_initializable<B>);
static_assert(std::invocable<int (*)(int), float> && !std::invocable<int, float>);
__global__ void k(int* x) { x[0] = kind(3) * 10 + kind(2.f) * (V{1, 2} < V{1, x[0]}); }
""")
    module = kerneltk.load(path, options=("--std=c++20",))
    assert module.compile_for("sm_90").code
    x = np.full(1, 3, np.int32)
    module.k((1,), (1,), (x,))
    assert x[0] == 12
