"""Parameters, signatures and constraints as data."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from kerneltk.core.dtypes import as_dtype, dtype_names
from kerneltk.signature.parameters import (
    CONSTRAINTS,
    NO_DEFAULT,
    Parameter,
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


def test_snippets_name_the_string_and_the_parameter() -> None:
    signature = parse_signature("T x, int32 w", "T y")
    assert [p.name for p in signature.parameters] == ["x", "w", "y"]
    for index, origin, word in ((0, "in_params", "T x"), (1, "in_params", "int32 w"),
                                (2, "out_params", "T y")):  # fmt: skip
        found = signature.snippet(index, "here")
        assert (found.origin, found.label) == (origin, "here")
        assert found.text[found.start : found.end] == word


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
