"""What ``@cuda.jit`` is given: signatures as text, and numba's options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk.errors import ArgumentTypeError, SignatureError
from kerneltk.jit.numba.options import checked_options, parse_signature, signatures_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("void()", []),
        ("()", []),
        ("none(int32)", [("int32", 0)]),
        ("(f4[:], i8)", [("float32", 1), ("int64", 0)]),
        ("void(float32[:, ::1], boolean)", [("float32", 2), ("bool", 0)]),
        ("int32(complex64[:,:,:])", [("complex64", 3)]),
        ("  void ( uint8 [ : ] , c16 ) ", [("uint8", 1), ("complex128", 0)]),
        ("void(intp, size_t, double, float16)", None),
    ],
)
def test_signatures(text: str, expected: Any) -> None:
    found = [(str(one.dtype), one.ndim) for one in parse_signature(text)]
    if expected is None:
        expected = [(name, 0) for name in ("int64", "uint64", "float64", "float16")]
    assert found == expected


def test_signatures_of_numbas_types() -> None:
    numba = pytest.importorskip("numba")
    types, i4, f4 = numba.types, numba.int32, numba.float32
    for given, texts in (
        (numba.void(f4[:, ::1], i4), ("(float32[:, :], int32)",)),
        ((f4[:], numba.boolean), ("(float32[:], bool)",)),
        ((numba.from_dtype(np.dtype("i4,f4"))[:],), ("(record[:])",)),
        (numba.void(), ("()",)),
        (i4(types.UniTuple(i4, 1), types.Tuple((i4, f4[:]))),
         ("(Tuple((int32, )), Tuple((int32, float32[:], )))",)),
        ([numba.void(i4), (i4, i4), "void(f8)"], ("(int32)", "(int32, int32)", "void(f8)")),
        (f4, None),
    ):  # fmt: skip
        assert signatures_of(given) == texts
        for text in texts or ():
            parse_signature(text)
    with pytest.raises(ArgumentTypeError, match="made of numba's types"):
        signatures_of((i4, 3))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "its brackets and commas do not fit together"),
        ("void", "the types of its parameters are not in parentheses"),
        ("void(", "its brackets and commas do not fit together"),
        ("void(int32", "its brackets and commas do not fit together"),
        ("void(int32 int32)", "its brackets and commas do not fit together"),
        ("void(word)", "'word' is no type"),
        ("void(int32) x", "its brackets and commas do not fit together"),
        ("void(int32*)", "its brackets and commas do not fit together"),
        ("void(float32[3])", "'float32[3]' is no type"),
        ("void(float32[1])", "'float32[1]' is no type"),
        ("void(x=int32)", "the types of its parameters are not in parentheses"),
        ("f4[:], int32", "the types of its parameters are not in parentheses"),
        ("void(UniTuple(int32, n))", "'UniTuple(int32, n)' is no type"),
        ("void(Tuple(int32))", "'Tuple(int32)' is no type"),
        ("word(int32)", "'word' is no type"),
    ],
)
def test_signatures_that_cannot_be_read(text: str, why: str) -> None:
    with pytest.raises(SignatureError) as caught:
        parse_signature(text)
    assert f"The signature {text!r} cannot be read: {why}." in str(caught.value)


def refuse(text: str) -> ArgumentTypeError:
    return ArgumentTypeError(f"is no {text}")


def adapted(text: str, value: Any) -> Any:
    (parsed,) = parse_signature(f"({text})")
    return parsed.adapted(value, refuse)


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("int32", 7, np.int32(7)),
        ("int32", 2.9, np.int32(2)),
        ("int8", 300, np.int8(44)),
        ("uint8", -1, np.uint8(255)),
        ("uint64", 2**64 - 1, np.uint64(2**64 - 1)),
        ("boolean", 2, np.True_),
        ("float32", True, np.float32(1)),
        ("float32", np.float64(0.1), np.float32(0.1)),
        ("float16", 1e9, np.float16(np.inf)),
        ("complex64", 1, np.complex64(1)),
    ],
)
def test_numbers_become_the_signatures(text: str, value: Any, expected: Any) -> None:
    found = adapted(text, value)
    assert type(found) is type(expected)
    assert found == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("int32", 1j),
        ("int32", "1"),
        ("int32", None),
        ("int32", np.zeros(3, np.int32)),
        ("float32[:]", np.zeros((2, 3), np.float32)),
        ("float32[:]", np.zeros(3)),
        ("float32[:]", np.float32(1)),
        ("UniTuple(int32, 2)", (1, 2, 3)),
        ("UniTuple(int32, 2)", 1),
        ("Tuple((int32, float32[:]))", (1, np.float32(1))),
        ("record[:]", np.zeros(3)),
        ("record[:]", np.zeros((3, 1), "i4,f4")),
        ("record", np.zeros(3, "i4,f4")),
        ("record", 1.0),
        ("int32", np.zeros(1, "i4,f4")[0]),
    ],
)
def test_what_does_not_fit_and_records_that_do(text: str, value: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="is no "):
        adapted(text, value)
    records = np.zeros(3, "i4,f4")
    assert adapted("record[:]", records) is records
    assert adapted("record", records[0]) == records[0]


def test_options() -> None:
    assert checked_options({}) == (False, False, (), None)
    given = {"device": 1, "fastmath": True, "max_registers": 32, "lineinfo": True, "cache": True}
    compiled = ("--maxrregcount=32", "--generate-line-info")
    assert checked_options(given) == (True, True, compiled, None)
    assert checked_options({"debug": True, "lineinfo": True}).compile == ("--device-debug",)
    found = checked_options({"launch_bounds": (64, 2), "max_registers": None})
    assert found.launch_bounds == (64, 2)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("link", "RawModule"),
        ("boundscheck", "KERNELTK_HOST_DEBUG"),
        ("fast", "fastmath"),
        ("any", "known are"),
    ],
)
def test_options_that_are_refused(name: str, hint: str) -> None:
    with pytest.raises(
        ArgumentTypeError, match=f"'cuda.jit' has no option '{name}'.\n  Hint: .*{hint}"
    ):
        checked_options({name: True})
