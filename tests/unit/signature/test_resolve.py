"""A reduction's axes, shapes and types, before anything is compiled."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kerneltk.backends.base import capabilities_of
from kerneltk.core.arrays import ArraySpec
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, AxisError, ScalarOverflowError
from kerneltk.signature.parameters import parse_signature
from kerneltk.signature.resolve import (
    Resolved,
    bind_types,
    convert_scalar,
    is_aligned,
    is_same_shape,
    normalize_axes,
    overlap_limits,
    plain_axis,
    resolve_reduction,
    scalar_default,
    share_memory,
)

make = ArraySpec.make


def resolved(
    *arguments: Any,
    axis: Any = None,
    keepdims: bool = False,
    in_params: str = "T x",
    out_params: str = "T y",
    size: int | None = None,
    has_identity: bool = True,
    mask: bool = False,
) -> Resolved:
    """Resolve arguments: specs of arrays, and numbers; a mask is the last input."""
    signature = parse_signature(in_params, out_params)
    specs = [argument if isinstance(argument, ArraySpec) else None for argument in arguments]
    return resolve_reduction(
        "k", signature, specs, arguments[: len(signature.inputs)], axis, keepdims, size,
        has_identity, mask,
    )  # fmt: skip


COMPARED: list[Any] = []


class Symbolic(int):
    """An extent of a traced program: each comparison restricts the calls of the program."""

    def __eq__(self, other: object) -> bool:
        COMPARED.append(other)
        return int(self) == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = int.__hash__


def test_shapes_of_different_lengths_compare_no_extents() -> None:
    shape = Symbolic(3), 4
    assert not is_same_shape((4,), shape)
    assert COMPARED == []
    assert is_same_shape((3, 4), shape)


# -- axes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "plain"),
    [(None, None), (0, 0), (-3, -3), (10**30, 10**30), (np.int8(-1), -1), (np.uint64(2), 2),
     (np.array(1), 1), ((), ()), ([], ()), ((0, np.int64(2)), (0, 2)), ([1, -1], (1, -1))],
)  # fmt: skip
def test_plain_axes(given: Any, plain: Any) -> None:
    found = plain_axis(given)
    assert found == plain
    assert type(found) is type(plain)
    if isinstance(found, tuple):
        assert {type(one) for one in found} <= {int}


@pytest.mark.parametrize(
    ("given", "kind"),
    [(1.0, "float"), ("0", "str"), (b"0", "bytes"), (np.float64(0), "float64"), ({0}, "set"),
     (range(2), "range"), (np.array([0, 1]), "ndarray"), (np.array([True]), "ndarray"),
     (np.array(1.0), "ndarray"), ((0, "1"), "str"), ([0.0], "float"), (((0,),), "tuple"),
     (slice(None), "slice"), (Ellipsis, "ellipsis"), (True, "bool"), ((0, True), "bool")],
)  # fmt: skip
def test_what_is_no_axis(given: Any, kind: str) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        plain_axis(given)
    assert str(caught.value) == (
        f"'axis' must be an integer, a tuple of integers or None, not an object of type '{kind}'."
    )


@pytest.mark.parametrize("ndim", range(5))
def test_every_axis_is_one_of_the_dimensions(ndim: int) -> None:
    assert normalize_axes(None, ndim) == tuple(range(ndim))
    assert normalize_axes((), ndim) == ()
    for axis in range(-ndim, ndim):
        assert normalize_axes(axis, ndim) == normalize_axes((axis,), ndim) == (axis % ndim,)
    for axis in (-ndim - 1, ndim, 10**30, -(10**30)):
        for given in (axis, (axis,), (*range(ndim), axis)):
            with pytest.raises(AxisError) as caught:
                normalize_axes(given, ndim)
            assert str(caught.value) == (
                f"Axis {axis} is out of bounds for an array of dimension {ndim}."
            )


def test_axes_are_sorted_and_different() -> None:
    assert normalize_axes((2, -4, 1), 4) == (0, 1, 2)
    for axes in ((0, 0), (1, -2), (0, 1, 2, -3)):
        with pytest.raises(ArgumentValueError, match=r"^'axis' names an axis twice: \(.*\)\.$"):
            normalize_axes(axes, 3)


# -- shapes ----------------------------------------------------------------------------------------


def test_numbers_and_raw_arrays_take_no_part_in_broadcasting() -> None:
    found = resolved(
        make("f4", (5, 6)), 2, make("i4", (9, 9, 9)), axis=0, in_params="T x, T c, raw S w"
    )
    assert (found.shape, found.out_shape) == ((5, 6), (6,))
    assert found.specs[1] is None
    assert dict(found.binding.variables) == {"S": np.dtype("i4"), "T": np.dtype("f4")}


@pytest.mark.parametrize(
    ("axis", "keepdims", "shape"),
    [(None, False, ()), (0, False, (3,)), (1, True, (2, 1)), ((), False, (2, 3))],
)
def test_given_outputs(axis: Any, keepdims: bool, shape: tuple[int, ...]) -> None:
    out = make("f8", shape, strides=tuple(range(16, 16 + 8 * len(shape), 8)), offset=4)
    found = resolved(
        make("f4", (2, 3)), out, axis=axis, keepdims=keepdims, out_params="U y"
    )  # fmt: skip
    assert found.specs[1] is out
    for wrong in {(), (1,), (3,), (2,), (1, 1), (2, 1), (3, 2)} - {shape}:
        with pytest.raises(ArgumentValueError) as caught:
            resolved(make("f4", (2, 3)), make("f4", wrong), axis=axis, keepdims=keepdims)
        assert str(caught.value) == (
            f"Out shape is mismatched. Output 'y' has shape {wrong}, but the reduction gives "
            f"{shape}.\n"
            "  out_params: T y\n"
            "              ^^^"
        )


@pytest.mark.parametrize(
    ("inputs", "axis", "order"),
    [
        ([make("f4", (4, 5, 6), order="F")], 0, "F"), ([make("f4", (4, 5, 6))], 0, "C"),
        ([make("f4", (4, 5, 6), order="F"), make("f4", (4, 5, 6))], 1, "C"),
        ([make("f4", (4, 5, 6), order="F"), make("f4", 6)], 1, "F"),
        ([make("f4", (4, 5, 6), strides=(120, 24, 8))], 2, "C"),
        ([make("f4", (4, 1, 1), order="F")], 2, "C"),
    ],
)  # fmt: skip
def test_order_of_results(inputs: list[ArraySpec], axis: int, order: Any) -> None:
    names = ", ".join(f"T x{k}" for k in range(len(inputs)))
    found = resolved(*inputs, axis=axis, in_params=names)
    assert found.order == order
    assert found.specs[-1] == make("f4", found.out_shape, order=order)


# -- sizes -----------------------------------------------------------------------------------------


def test_sizes_of_raw_arrays() -> None:
    raw: dict[str, Any] = {"in_params": "raw T x"}
    assert resolved(make("f4", (2, 3)), size=50, **raw).shape == (50,)
    assert resolved(make("f4", (2, 3)), size=50, axis=0, keepdims=True, **raw).out_shape == (1,)
    assert resolved(make("f4", 3), size=0, **raw).out_shape == ()
    with pytest.raises(ArgumentValueError, match=r"Loop size is undecided\..*every array is raw"):
        resolved(make("f4", 3), **raw)
    with pytest.raises(ArgumentValueError, match=r"undecided\..*there is no array"):
        resolved(1.0)
    with pytest.raises(ArgumentValueError, match="only if every array is raw, but 'x' is not"):
        resolved(make("f4", 3), size=3)
    with pytest.raises(AxisError):
        resolved(make("f4", (2, 3)), size=50, axis=1, **raw)


# -- nothing to reduce -----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (0, 0), (2, 0, 3)], ids=str)
def test_nothing_to_reduce_needs_an_identity(shape: tuple[int, ...]) -> None:
    axes = [None, (), *range(len(shape)), tuple(range(len(shape)))]
    for axis in axes:
        spec = make("f4", shape)
        out_shape = resolved(spec, axis=axis).out_shape
        reduced = [shape[k] for k in normalize_axes(axis, len(shape))]
        if 0 not in reduced or 0 in out_shape:
            assert resolved(spec, axis=axis, has_identity=False).out_shape == out_shape
            continue
        with pytest.raises(ArgumentValueError) as caught:
            resolved(spec, axis=axis, has_identity=False)
        # NumPy's own words.
        assert str(caught.value) == "zero-size array to reduction operation k which has no identity"
        with pytest.raises(ValueError, match="zero-size array to reduction operation maximum"):
            np.max(np.empty(shape), axis)


# -- masks -----------------------------------------------------------------------------------------

MASKED: dict[str, Any] = {"in_params": "T x, bool m", "mask": True}


@pytest.mark.parametrize("shape", [(2,), (3, 2), (1, 2, 3), (5, 2, 3), (2, 4), (0,)], ids=str)
def test_masks_do_not_widen_the_inputs(shape: tuple[int, ...]) -> None:
    with pytest.raises(ArgumentValueError) as caught:
        resolved(make("f4", (2, 3)), make("?", shape), **MASKED)
    assert str(caught.value) == (
        f"'where' has shape {shape}, which does not broadcast to the inputs' shape (2, 3)."
    )
    with pytest.raises(ArgumentValueError):
        resolved(make("f4", ()), make("?", (1,)), **MASKED)


def test_a_mask_of_raw_arrays() -> None:
    how: dict[str, Any] = {"in_params": "raw T x, bool m", "mask": True, "size": 6}
    assert resolved(make("f4", (2, 3)), make("?", 6), **how).shape == (6,)
    with pytest.raises(ArgumentValueError, match=r"does not broadcast to the inputs' shape \(6,\)"):
        resolved(make("f4", (2, 3)), make("?", (2, 3)), **how)


def test_a_mask_has_no_say_in_the_order_of_results() -> None:
    masked = make("f4", (3, 4, 5), order="F"), make("?", (3, 4, 5))
    assert resolved(*masked, axis=0, **MASKED).order == "F"


@pytest.mark.parametrize(
    ("strides", "offset", "expected"),
    [(4, 0, True), (6, 0, False), (8, 4, True), (4, 2, False), (-4, 0, True)],
)
def test_every_element_has_to_be_aligned(strides: int, offset: int, expected: bool) -> None:
    spec = make("f4", 3, strides=[strides], offset=offset)
    assert is_aligned(spec, capabilities_of("host")) is expected
    assert is_aligned(make("f4", 1, strides=[6]), capabilities_of("host"))


def test_between_which_addresses_arrays_overlap() -> None:
    short, long = make("f4", 2), make("f4", 4)
    assert overlap_limits(short, long, (4,), False) == (-16, 8, -16)
    assert overlap_limits(long, short, (4,), False) == (-8, 16, -8)
    assert overlap_limits(long, long, (4,), True) == (-16, 16, 0)
    assert overlap_limits(long, make("f4", 4, strides=[-4]), (4,), True) == (-4, 28, -4)
    assert overlap_limits(make("f8", 4), long, (4,), True) == (-16, 32, -16)
    assert overlap_limits(make("f4", 0), long, (4,), True) == (0, 0, 0)


@pytest.mark.parametrize(
    ("first", "second", "distance", "expected"),
    [
        (make("f4", 4), make("f4", 4), 0, True),
        (make("f4", 4), make("f4", 4), -16, False),
        (make("f4", 4), make("f8", 1), -5, True),
        (make("f4", 4, strides=[8]), make("f4", 4, strides=[8]), 4, False),
        (make("f4", 4, strides=[8]), make("f4", 4, strides=[-8]), 28, False),
        (make("f4", 4, strides=[8]), make("f4", 4, strides=[-8]), 24, True),
        (make("f4", (5, 3), strides=[24, 4]), make("f4", (5, 3), strides=[24, 4]), 12, False),
        (make("f4", (5, 3), strides=[24, 4]), make("f4", (5, 3), strides=[24, 4]), -12, False),
        (make("f4", (5, 3), strides=[24, 4]), make("f4", (5, 3), strides=[24, 4]), 8, True),
        (make("f4", 0), make("f4", 4), 0, False),
    ],
)
def test_whether_two_arrays_share_memory(
    first: ArraySpec, second: ArraySpec, distance: int, expected: bool
) -> None:
    assert share_memory(first, second, distance) is expected


def test_what_takes_long_to_decide_counts_as_shared() -> None:
    steps = [random.Random(k).randrange(10**8, 10**9) for k in range(8)]
    many = make("u1", (90,) * 8, strides=steps)
    assert share_memory(many, many, 7)


def bound(
    in_params: str, out_params: str, dtypes: Sequence[str | None], values: Sequence[Any] = ()
) -> dict[str, str]:
    binding = bind_types(
        parse_signature(in_params, out_params),
        [None if name is None else np.dtype(name) for name in dtypes],
        values,
    )
    return {name: str(dtype) for name, dtype in binding.variables}


def test_arrays_bind() -> None:
    assert bound("T x, U y", "T z", ["f4", "i8", None]) == {"T": "float32", "U": "int64"}


def test_given_outputs_bind_first() -> None:
    with pytest.raises(ArgumentTypeError, match="both 'float64' and 'float32'"):
        bound("T x", "T y", ["f4", "f8"])


@pytest.mark.parametrize("value", [1, 2.5, True, np.float64(1), np.int64(2), 1j])
def test_numbers_do_not_bind_what_an_array_binds(value: object) -> None:
    assert bound("T x, T a", "T y", ["f2", None, None], [None, value]) == {"T": "float16"}
    assert bound("T a, T x", "T y", [None, "f2", None], [value, None]) == {"T": "float16"}


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1], "int64"), ([True], "bool"), ([1.5], "float64"), ([1j], "complex128"),
        ([np.float32(1)], "float32"), ([1, 2.5], "float64"), ([np.int8(1), np.int16(1)], "int16"),
        ([True, np.float16(1)], "float16"), ([float], "float64"), ([np.dtype("i2")], "int16"),
        ([ml_dtypes.bfloat16(1)], "bfloat16"),
    ],
)  # fmt: skip
def test_numbers_bind_what_no_array_binds(values: list[Any], dtype: str) -> None:
    inputs = ", ".join(f"U a{k}" for k in range(len(values)))
    found = bound(f"T x, {inputs}", "U y", ["f4", *[None] * (len(values) + 1)], [None, *values])
    assert found == {"T": "float32", "U": dtype}


def test_fixed_dtypes_come_back_in_order() -> None:
    binding = bind_types(
        parse_signature("int8 a, T x", "float64 y, T z"), [None, np.dtype("u2"), None, None], [1]
    )
    assert list(map(str, binding.dtypes)) == ["int8", "uint16", "float64", "uint16"]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(True, "bool"), (1, "int64"), (1.0, "float64"), (1j, "complex128"), (np.int8(1), "int8"),
     (int, "int64"), (bool, "bool"), (np.float32, "float32"), (np.dtype("c8"), "complex64")],
    ids=str,
)  # fmt: skip
def test_dtypes_of_numbers(value: object, dtype: str) -> None:
    if value is np.float32:  # a NumPy type stands for its values as Python's do, through a dtype
        value = np.dtype(np.float32)
    assert scalar_default(value) == np.dtype(dtype)


@pytest.mark.parametrize(
    "value", [None, "1", b"1", [1], np.str_("1"), np.datetime64(0, "s"), np.zeros(1, "i4,i4")[0],
              np.dtype("U3"), np.dtype("i4,i4"), str, object],
    ids=str,
)  # fmt: skip
def test_what_is_no_number_has_no_dtype(value: object) -> None:
    assert scalar_default(value) is None


@pytest.mark.parametrize(
    ("value", "dtype", "packed"),
    [
        (2.9, "i4", (2,)), (-2.9, "i4", (-2,)), (np.longdouble(2.5), "i8", (2,)),
        (True, "i1", (1,)),
        (0.1, "f4", (float(np.float32(0.1)),)), (1e300, "f4", (float("inf"),)),
        (1 + 2j, "c8", (1.0, 2.0)), (3, "c16", (3.0, 0.0)), (0, "?", (False,)), (0.5, "?", (True,)),
    ],
)  # fmt: skip
def test_conversions(value: object, dtype: str, packed: tuple[object, ...]) -> None:
    assert convert_scalar(value, np.dtype(dtype)) == packed


@pytest.mark.parametrize("dtype", ["i1", "u1", "i8", "u8"])
def test_numbers_at_the_ends_of_their_range(dtype: str) -> None:
    limits = np.iinfo(dtype)
    for value in (limits.min, limits.max):
        assert convert_scalar(value, np.dtype(dtype)) == (value,)
    for value in (limits.min - 1, limits.max + 1):
        with pytest.raises(ScalarOverflowError):
            convert_scalar(value, np.dtype(dtype))


def test_dtypes_of_one_size_are_two_dtypes() -> None:
    with pytest.raises(ArgumentTypeError, match="both 'float32' and 'int32'"):
        bound("T x, T y", "T z", ["f4", "i4", None])
