"""Parameters, signatures and constraints as data."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

from kerneltk.core.dtypes import as_dtype, dtype_names
from kerneltk.errors import SignatureError
from kerneltk.signature.parameters import (
    CONSTRAINTS,
    NO_DEFAULT,
    Parameter,
    UnknownDtypeError,
    parse_signature,
    satisfies,
)


def test_there_is_one_missing_default() -> None:
    assert copy.deepcopy(NO_DEFAULT) is NO_DEFAULT
    assert pickle.loads(pickle.dumps(NO_DEFAULT)) is NO_DEFAULT
    assert repr(NO_DEFAULT) == "NO_DEFAULT"


def test_type_variables() -> None:
    assert Parameter("x", None, "T").type_variable == "T"
    assert Parameter("x", np.dtype("i4"), "int").type_variable is None


# NumPy's abstract types; it has no names for the others.
ABSTRACT = {
    "complexfloating": np.complexfloating, "floating": np.floating, "inexact": np.inexact,
    "integer": np.integer, "number": np.number, "signedinteger": np.signedinteger,
    "unsignedinteger": np.unsignedinteger, "bool": np.bool_,
}  # fmt: skip


@pytest.mark.parametrize("name", dtype_names())
def test_constraints_are_numpys_abstract_types(name: str) -> None:
    dtype = as_dtype(name)
    assert satisfies(dtype, "any")
    assert satisfies(dtype, "integral") == satisfies(dtype, "integer")
    assert satisfies(dtype, "real") == (dtype.kind != "c")
    if name != "bfloat16":  # to NumPy it is no number
        for constraint, abstract in ABSTRACT.items():
            assert satisfies(dtype, constraint) == issubclass(dtype.type, abstract)
    assert satisfies(as_dtype("bfloat16"), "floating")


def test_records_satisfy_no_constraint_of_numbers() -> None:
    record = np.dtype([("a", "i4")])
    assert [name for name in CONSTRAINTS if satisfies(record, name)] == ["any"]


def one(text: str) -> Parameter:
    (parameter,) = parse_signature(text, "").inputs
    return parameter


@pytest.mark.parametrize(
    ("text", "dtype", "ctype"),
    [
        ("T x", None, "T"), ("float32 x", "f4", "float"), ("f4 x", "f4", "float"),
        ("double x", "f8", "double"), ("int x", "i8", "long long"), ("bool x", "?", "bool"),
        ("longlong x", "i8", "long long"), ("uint8 x", "u1", "unsigned char"),
        ("complex64 x", "c8", "complex<float>"), ("c16 x", "c16", "complex<double>"),
        ("half x", "f2", "float16"), ("bool_ x", "?", "bool"), ("<f4 x", "f4", "float"),
        ("Real:floating x", None, "Real"), ("T:any x", None, "T"),
    ],
)  # fmt: skip
def test_types(text: str, dtype: str | None, ctype: str) -> None:
    parameter = one(text)
    assert parameter.dtype == (None if dtype is None else np.dtype(dtype))
    assert parameter.ctype == ctype
    assert parameter.type_variable == (ctype if dtype is None else None)
    assert parameter.c_type() == ctype


def test_a_byte_order_is_no_bracket() -> None:
    parameters = parse_signature("<f4 x, <i4 w, <i2 v", "").inputs
    assert [parameter.ctype for parameter in parameters] == ["float", "int", "short"]


def test_bfloat16_is_that_of_ml_dtypes() -> None:
    dtype = one("bfloat16 x").dtype
    assert dtype is not None
    assert (dtype.name, dtype.itemsize) == ("bfloat16", 2)


@pytest.mark.parametrize(
    ("text", "raw", "const"),
    [("T x", False, True), ("raw T x", True, True), ("_non_const T x", False, False),
     ("raw _non_const T x", True, False), ("_non_const raw T x", True, False)],
)  # fmt: skip
def test_qualifiers(text: str, raw: bool, const: bool) -> None:
    assert (one(text).raw, one(text).is_const) == (raw, const)
    (output,) = parse_signature("", text).outputs
    assert (output.raw, output.is_const) == (raw, False)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("-0.5", -0.5), ("1e3", 1000.0), ("True", True), ("1+2j", 1 + 2j), ("inf", math.inf),
     ("-inf", -math.inf), ("0x10", 16), ("1_000", 1000)],
)  # fmt: skip
def test_defaults(text: str, value: object) -> None:
    default = one(f"float32 a={text}").default
    assert default == value
    assert type(default) is type(value)


def test_a_default_may_be_no_number() -> None:
    default = one("float32 a = nan").default
    assert isinstance(default, float)
    assert math.isnan(default)


def test_a_long_type_variable_is_declared_once() -> None:
    signature = parse_signature("Real x, raw Real y", "Real:floating z")
    assert [p.type_variable for p in signature.parameters] == ["Real"] * 3
    assert signature.constraints == (("Real", "floating"),)


def test_spans_and_texts() -> None:
    signature = parse_signature(" T  x ,_non_const float32\ty = 2", "T z")
    assert [signature.in_text[slice(*p.span)] for p in signature.inputs] == ["T  x", "float32\ty"]
    assert signature.snippet(2).origin == "out_params"
    assert (signature.snippet(1, "here").label, signature.snippet(1).text) == (
        "here", " T  x ,_non_const float32\ty = 2",
    )  # fmt: skip


def test_empty_strings_have_no_parameters() -> None:
    assert parse_signature("", "  \n").parameters == ()


def test_errors_are_what_numpy_users_catch() -> None:
    with pytest.raises(ValueError, match="is missing"):
        parse_signature("T x,", "")
    with pytest.raises(TypeError, match="Unknown dtype"):
        parse_signature("floaty x", "")
    assert issubclass(UnknownDtypeError, SignatureError)


def test_bodies_have_names_of_their_own() -> None:
    with pytest.raises(SignatureError, match="is the number of an element in the body"):
        parse_signature("T _j", "T y", "reduction")
    with pytest.raises(SignatureError, match="is the element's index in the body"):
        parse_signature("T i", "T y")
    assert parse_signature("T i", "T y", "reduction").inputs[0].name == "i"
