"""The text of every message about a reduction's arguments, and about what it is made from."""

# ruff: noqa: F401
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kerneltk import (
    ArgumentTypeError,
    ArgumentValueError,
    ArraySpec,
    AxisError,
    KernelToolkitError,
    ReductionKernel,
    ScalarOverflowError,
    SignatureError,
)
from kerneltk.backends.base import capabilities_of

from .tables import check_message, messages

X = np.arange(12, dtype=np.float32).reshape(3, 4)
READ_ONLY = np.zeros(3, np.float32)
READ_ONLY.flags.writeable = False
TEXTS: dict[str, Any] = {
    "in_params": "T x", "out_params": "T y", "map_expr": "x", "reduce_expr": "a + b",
    "post_map_expr": "y = a", "identity": "0", "name": "k",
}  # fmt: skip


def made(**texts: Any) -> ReductionKernel:
    return ReductionKernel(**{**TEXTS, **texts})


def empty(*shape: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return np.empty(shape, dtype)


SUM = made(name="total")
LARGEST = made(reduce_expr="max(a, b)", identity=None, name="largest")
DOT = made(in_params="T x, T w", map_expr="x * w", name="dot")
TWO = made(out_params="T y, T z", post_map_expr="y = a; z = a", name="two")
RAW = made(in_params="raw T x, float32 c", map_expr="x[_J] * c", name="r")
SCALED = made(in_params="T x, int8 c = 2", out_params="float64 y", map_expr="x * c", name="scaled")


CALLS = messages("reduction_arguments")


def message_of(call: Callable[[], object], error: type[Exception]) -> str:
    with pytest.raises(KernelToolkitError) as caught:
        call()
    assert type(caught.value) is error
    return str(caught.value)


@pytest.mark.parametrize(("call", "error", "message"), CALLS, ids=[call for call, *_ in CALLS])
def test_call(call: str, error: str, message: str) -> None:
    check_message(lambda: eval(call), error, message)


@pytest.mark.parametrize("kind", [ArgumentValueError, np.exceptions.AxisError, IndexError,
                                  ValueError])  # fmt: skip
def test_an_axis_out_of_range_is_what_a_numpy_user_catches(kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"Axis 2 is out of bounds for an array of dimension 2\."):
        SUM(X, axis=2)


def test_the_shape_is_right_where_there_is_nothing_to_reduce_to() -> None:
    """No output, so no identity is asked for."""
    assert LARGEST(X[:0], axis=1).shape == (0,)
    assert LARGEST(empty(0, 0), axis=0, keepdims=True).shape == (1, 0)


@pytest.mark.parametrize(
    ("dtype", "reduce_type", "identity", "error", "said"),
    [
        ("i1", None, -1000, ScalarOverflowError,
         "The value -1000 is out of range for dtype 'int8'."),
        ("u1", None, -1, ScalarOverflowError, "The value -1 is out of range for dtype 'uint8'."),
        ("f4", "int16", 1 << 15, ScalarOverflowError,
         "The value 32768 is out of range for dtype 'int16'."),
        ("i4", "T", -np.inf, ScalarOverflowError,
         "The value -inf is out of range for dtype 'int32'."),
        ("i4", None, 0.5, ArgumentTypeError, "The value 0.5 cannot become dtype 'int32'."),
        ("f8", None, 1j, ArgumentTypeError, "The complex value 1j cannot become dtype 'float64'."),
    ],
)  # fmt: skip
def test_identities_that_the_total_does_not_hold(
    dtype: str, reduce_type: str | None, identity: Any, error: type[Exception], said: str
) -> None:
    kernel = ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", identity, "top", reduce_type)
    first, shown, _ = message_of(lambda: kernel(np.ones(3, dtype)), error).split("\n")
    assert first == said
    assert shown == f"  identity: {identity}"


# -- the constructor -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["in_params", "out_params", "map_expr", "reduce_expr", "post_map_expr", "identity", "name",
     "reduce_type", "preamble"],
)  # fmt: skip
def test_texts_must_be_text(name: str) -> None:
    for text, what in (
        ("x\0", "a null character, which would end the text there"),
        ("x // \ud800", "a lone surrogate, which is no character"),
    ):
        with pytest.raises(SignatureError) as caught:
            made(**{name: text})
        assert str(caught.value) == f"'{name}' holds {what}."
    others: list[Any] = [b"x", 3j if name == "in_params" else ["x"], object()]
    others += [] if name in ("identity", "reduce_type") else [None]
    wanted = "a string, a number or None" if name == "identity" else "a string"
    for wrong in others:
        with pytest.raises(ArgumentTypeError) as caught_too:
            made(**{name: wrong})
        assert str(caught_too.value) == f"'{name}' must be {wanted}, not '{type(wrong).__name__}'."


@pytest.mark.parametrize("name", ["_i", "_j", "_J", "_in_ind", "_out_ind", "_type_reduce"])
@pytest.mark.parametrize("which", ["in_params", "out_params"])
def test_names_of_a_reduction_s_own_are_no_parameters(which: str, name: str) -> None:
    with pytest.raises(SignatureError) as caught:
        made(**{which: f"T {name}"})
    lines = str(caught.value).split("\n")
    assert lines[0].startswith(f"Cannot use '{name}' as a parameter name: it is ")
    assert lines[1:] == [f"  {which}: T {name}", " " * (len(which) + 6) + "^" * len(name)]


@pytest.mark.parametrize("name", ["i", "n", "w"])
def test_names_of_an_elementwise_kernel_are_parameters(name: str) -> None:
    kernel = made(in_params=f"T {name}", map_expr=name)
    assert [parameter.name for parameter in kernel.in_params] == [name]


@pytest.mark.parametrize("name", ["a", "b"])
def test_totals_are_no_type_variables(name: str) -> None:
    with pytest.raises(SignatureError) as caught:
        made(in_params=f"{name} x", out_params=f"{name} y")
    assert str(caught.value).startswith(f"Cannot use '{name}' as a type variable: it is ")
    assert str(caught.value).endswith(f"\n  in_params: {name} x\n             ^")
