"""What a ``reduce_type`` is read as, and how large its totals are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk.codegen.accumulator import Accumulator, HeldTotal, held_total, parse_accumulator
from kerneltk.errors import SignatureError
from kerneltk.signature.parameters import parse_signature
from kerneltk.signature.resolve import Binding


def parsed(text: str | None, out_params: str = "T y", in_params: str = "T x") -> Accumulator:
    return parse_accumulator(text, parse_signature(in_params, out_params))


def bound(**variables: Any) -> Binding:
    pairs = tuple(sorted((name, np.dtype(dtype)) for name, dtype in variables.items()))
    return Binding(tuple(dtype for _, dtype in pairs), pairs)


@pytest.mark.parametrize(
    ("out_params", "ctype"),
    [("T y", "T"), ("float32 y, T z", "float"), ("c16 y", "complex<double>"),
     ("int64 y", "long long"), ("float16 y", "float16")],
)  # fmt: skip
def test_the_default_is_the_first_output_s_type(out_params: str, ctype: str) -> None:
    assert parsed(None, out_params) == Accumulator("", ctype)


@pytest.mark.parametrize(
    ("text", "ctype"),
    [
        # A dtype's name, also where C knows the word; C's own words; a type variable; others.
        ("float32", "float"), ("float64", "double"), ("int64", "long long"), ("bool", "bool"),
        ("uint8", "unsigned char"), ("complex64", "complex<float>"), ("float16", "float16"),
        ("bfloat16", "bfloat16"),
        ("float", "float"), ("double", "double"), ("int", "int"), ("long", "long"),
        ("unsigned int", "unsigned int"), ("long long", "long long"), ("size_t", "size_t"),
        ("complex<float>", "complex<float>"), ("T", "T"), ("  T ", "T"), (" double\n", "double"),
        # NumPy's other names of dtypes may be those of structs, or CUDA's.
        ("f8", "f8"), ("d", "d"), ("half", "half"), ("moments", "moments"),
        ("ns::moments<float, 2>", "ns::moments<float, 2>"),
        ("pair<int, float>", "pair<int, float>"), ("decltype(f(1, 2))", "decltype(f(1, 2))"),
    ],
)  # fmt: skip
def test_one_type(text: str, ctype: str) -> None:
    assert parsed(text) == Accumulator(text, ctype)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("T value, int64 index", (("T", "value"), ("long long", "index"))),
        ("float32 m,float64 s , int n", (("float", "m"), ("double", "s"), ("int", "n"))),
        ("\n  T   v,\n  unsigned int k\n", (("T", "v"), ("unsigned int", "k"))),
        ("array<float, 3> v, int64 k", (("array<float, 3>", "v"), ("long long", "k"))),
        ("moments m, bool any", (("moments", "m"), ("bool", "any"))),
        ("complex64 z, bfloat16 w", (("complex<float>", "z"), ("bfloat16", "w"))),
        ("T a, T b", (("T", "a"), ("T", "b"))),
        ("T* begin, const char* name", (("T*", "begin"), ("const char*", "name"))),
        ("d v, f4 k", (("d", "v"), ("f4", "k"))),
    ],
)  # fmt: skip
def test_fields(text: str, fields: tuple[tuple[str, str], ...]) -> None:
    assert parsed(text) == Accumulator(text, "", fields)


def test_type_variables_of_every_parameter_are_known() -> None:
    fields = parsed("Real v, S k", "float32 y", "Real:floating x, raw S w").fields
    assert fields == (("Real", "v"), ("S", "k"))


@pytest.mark.parametrize(
    ("text", "start", "place"),
    [
        ("T value, int64", "A field needs a type and a name.", "int64"),
        ("T, int64 k", "A field needs a type and a name.", "T"),
        ("T v, , int64 k", "A field needs a type and a name.", None),
        ("T v, int64 v", "The field 'v' is there twice.", "int64 v"),
        ("T v, int64 if", "The field 'if' is a C++ keyword.", "int64 if"),
        ("T __v, int64 k", "The field '__v' is reserved for generated code.", "T __v"),
        ("T v[2], int64 k", "The field 'v[2]' is not a C identifier.", "T v[2]"),
        ("T v, flaot64 k", "Unknown dtype 'flaot64'.", "flaot64 k"),
        ("T v, 64 k", "'64' is no type.", "64 k"),
    ],
)  # fmt: skip
def test_what_is_no_type(text: str, start: str, place: str | None) -> None:
    with pytest.raises(SignatureError) as caught:
        parsed(text)
    lines = str(caught.value).split("\n")
    assert lines[0].startswith(start)
    assert lines[1] == f"  reduce_type: {text}"
    if place is not None:
        assert lines[2] == " " * lines[1].rindex(place) + "^" * len(place)


@pytest.mark.parametrize("out_params", ["float16 y", "bfloat16 y"])
def test_a_declared_16_bit_output_is_widened_too(out_params: str) -> None:
    assert parsed(None, out_params).declared(bound(T="f4")) == "float"


@pytest.mark.parametrize(
    "text",
    ["T v, int64 k", "int8 v, int64 k, int8 l", "complex128 z, bool k", "T a, T b, T c",
     "double v, int k", "uint16_t v, short k, T w", "float16 v, bfloat16 k, float w"],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["i1", "f2", "f4", "f8"])
def test_sizes_are_no_less_than_a_compiler_s(text: str, dtype: str) -> None:
    """Room is reserved by them."""
    widths = {"T": np.dtype(dtype).itemsize, "int64": 8, "int8": 1, "complex128": 16, "bool": 1,
              "double": 8, "int": 4, "uint16_t": 2, "short": 2, "float16": 2, "bfloat16": 2,
              "float": 4}  # fmt: skip
    end = alignment = 1
    end = 0
    for field in text.split(", "):
        width = widths[field.split()[0]]
        end = -(-end // width) * width + width
        alignment = max(alignment, width)
    assert parsed(text).size(bound(T=dtype)) >= -(-end // alignment) * alignment


NO_NUMBER = "__int_as_float(0x7fffffff)"


@pytest.mark.parametrize(
    ("reduce_type", "dtype", "expression", "held"),
    [
        (None, "i1", "a + b", HeldTotal("unsigned int", "0", True)),
        ("T", "u2", " a&b", HeldTotal("unsigned int", "-1", True)),
        ("int16", "u2", "a*b", HeldTotal("unsigned int", "1", True)),
        (None, "i1", "max(a, b)", HeldTotal("int", "static_cast<signed char>(-128LL)")),
        (None, "u4", "min(a,b)", HeldTotal("", "static_cast<unsigned int>(4294967295ULL)")),
        (None, "f4", "max(a, b)", HeldTotal("", NO_NUMBER)),
        (None, "f2", "max(a, b)", HeldTotal("", NO_NUMBER)),
        (None, "i1", "kerneltk::lesser(a, b)", HeldTotal("int", "static_cast<signed char>(127LL)")),
        (None, "f4", "a + b", HeldTotal("", "-0.0")),
        # Other expressions, types and fields are not known.
        (None, "f4", "a & b", HeldTotal()),
        (None, "i1", "a - b", HeldTotal()),
        (None, "?", "a + b", HeldTotal()),
        ("T value, int64 index", "i1", "a + b", HeldTotal()),
        ("moments", "i1", "a + b", HeldTotal()),
    ],
)  # fmt: skip
def test_known_reductions_hold_words_and_begin_with_what_changes_nothing(
    reduce_type: str | None, dtype: str, expression: str, held: HeldTotal
) -> None:
    assert held_total(parsed(reduce_type), bound(T=dtype), expression, False) == held


def test_a_preamble_s_own_max_is_not_known() -> None:
    assert held_total(parsed(None), bound(T="i1"), "max(a, b)", True) == HeldTotal()
    assert held_total(parsed(None), bound(T="i1"), "a + b", True).ctype == "unsigned int"
