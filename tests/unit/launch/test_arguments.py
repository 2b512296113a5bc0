"""A call's arguments and options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import ArgumentTypeError, ArgumentValueError, ElementwiseKernel
from kerneltk.launch.dispatch import arrange, import_arrays, override_of, read_options
from kerneltk.signature.parameters import parse_signature


@pytest.mark.parametrize(
    "named",
    [{"size": 2**63}, {"size": 1.5}, {"size": True}, {"block_size": 0}, {"block_size": 1.5},
     {"backend": "hip"}],
)  # fmt: skip
def test_call_options_are_checked_everywhere(named: dict[str, Any]) -> None:
    kernel = ElementwiseKernel("", "float32 y", "y = i", "count")
    with pytest.raises(ArgumentValueError):
        kernel(**named)
    with pytest.raises(ArgumentValueError):
        kernel.translation_unit(**{"size": 4, **named})


# -- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"size": -2}, "'size' must be a non-negative integer, not -2"),
        ({"size": 1.0}, "'size' must be a non-negative integer"),
        ({"size": True}, "'size' must be a non-negative integer"),
        ({"size": "3"}, "'size' must be a non-negative integer"),
        ({"size": 2**63}, r"less than 2\*\*63"),
        ({"block_size": 0}, "greater than zero"),
        ({"block_size": -1}, "greater than zero"),
        ({"block_size": 2.0}, "greater than zero"),
        ({"block_size": 1025}, "at most 1024, not 1025"),
        ({"backend": "gpu"}, "'backend' must be"),
    ],
)
def test_values_that_options_cannot_have(named: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentValueError, match=message):
        read_options(named)


# -- order ----------------------------------------------------------------------------------------

SIGNATURE = parse_signature("T x, T a = 2, int32 k = 3", "T y, T z")


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((), {}, "either 3 or 5 .with outputs., but given 0. Parameter 'x' is missing"),
        ((1, 2, 3, 4), {}, "but given 4. Parameter 'z' is missing"),
        ((1, 2, 3, 4, 5, 6), {}, r"but given 6\.\Z"),
        ((1,), {"y": 7}, "Parameter 'z' is missing"),
        ((1,), {"x": 1}, "two values for parameter 'x'"),
        ((1,), {"w": 1}, "no parameter 'w'.\n  Hint: its parameters are a, k, x, y, z; .*'size'"),
        ((1, 2, 3, 4, 5), {"z": 5}, "two values for parameter 'z'"),
    ],
)
def test_arguments_that_cannot_be_arranged(
    args: tuple[Any, ...], named: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentTypeError, match=message):
        arrange("k", SIGNATURE, args, named)


def test_the_first_argument_that_takes_over() -> None:
    class Lazy:
        def __init__(self, result: str) -> None:
            self.result = result

        def take_over(self, *args: Any) -> str:
            return self.result

    found = override_of((1, Lazy("first"), Lazy("second")), "take_over")
    assert found is not None
    assert found() == "first"
    assert override_of((1, Lazy("first")), "other") is None
    assert override_of((1, Lazy("first")), "") is None
    assert override_of((), "take_over") is None


# -- arrays ---------------------------------------------------------------------------------------


def test_arrays_of_the_backends_own_stay_themselves() -> None:
    x, y = np.arange(3.0), np.zeros(3)
    signature = parse_signature("T x, T a", "T y")
    values, backend, _ = import_arrays(signature, (x, 2, y), None)
    assert values[0] is x
    assert values[1:] == (2, y)
    assert backend.name == "host"


def test_numbers_alone_run_where_they_are_told_to() -> None:
    signature = parse_signature("float32 a", "")
    values, backend, _ = import_arrays(signature, (2.5,), "host")
    assert (values, backend.name) == ((2.5,), "host")


@pytest.mark.parametrize("value", [None, "x", float, np.dtype("f4"), object(), [1.0], b"x"])
def test_what_is_neither_an_array_nor_a_number(value: Any) -> None:
    signature = parse_signature("T x, T a", "T y")
    with pytest.raises(ArgumentTypeError, match=r"'a' is of type .* neither an array\s.*nor"):
        import_arrays(signature, (np.zeros(3), value), None)


@pytest.mark.parametrize("value", [None, 1.0, np.float32(1)])
def test_outputs_are_arrays(value: Any) -> None:
    signature = parse_signature("T x", "T y")
    with pytest.raises(ArgumentTypeError, match="Output 'y' must be an array, not an object"):
        import_arrays(signature, (np.zeros(3), value), None)
