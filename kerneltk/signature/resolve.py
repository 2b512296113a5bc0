"""Argument types, shapes, axes -> what a call computes on: dtypes, broadcast shape, outputs."""

from __future__ import annotations

import operator
from collections.abc import Collection, Sequence
from typing import Any, Literal

from kerneltk.core.arrays import (
    COMPARED,
    ArraySpec,
    broadcast_shapes,
    broadcast_strides,
    byte_extent,
    is_c_contiguous,
    is_f_contiguous,
    may_overlap_itself,
)
from kerneltk.core.capabilities import Capabilities
from kerneltk.core.dtypes import alignment_on
from kerneltk.core.records import record
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, AxisError
from kerneltk.signature.parameters import Signature
from kerneltk.signature.type_binding import Binding, bind_types


@record
class Resolved:
    """A call's types and shapes, outputs included.

    Parameters
    ----------
    binding : Binding
    shape : tuple of int
        The broadcast shape, or ``(size,)``.
    out_shape : tuple of int
        Of the outputs.
    specs : tuple of ArraySpec or None
        One a parameter; None for scalars.
    order : {"C", "F"}
        Of the outputs that are allocated.
    """

    binding: Binding
    shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    specs: tuple[ArraySpec | None, ...]
    order: Literal["C", "F"]


def resolve_elementwise(
    name: str,
    signature: Signature,
    specs: Sequence[ArraySpec | None],
    values: Sequence[Any],
    size: int | None,
) -> Resolved:
    """Bind types, broadcast, and describe the outputs that are to be allocated. Raises
    ArgumentTypeError as :func:`kerneltk.signature.type_binding.bind_types`, and ArgumentValueError
    where shapes do not go together, or a size is missing or too much.

    Parameters
    ----------
    name : str
        The kernel's.
    signature : Signature
    specs : sequence of ArraySpec or None
        One an argument that is given, inputs first; None for scalars.
    values : sequence
        The inputs.
    size : int or None
        As in a call.
    """
    given, binding = _bound(signature, specs, values)
    shape = _broadcast(name, signature, given, size)
    order = _result_order(shape, signature, given, len(signature.inputs))
    for index, parameter in enumerate(signature.outputs, len(signature.inputs)):
        if given[index] is None and parameter.raw and size is None:
            sentence = f"The size of raw output '{parameter.name}' is not known."
            hint = "pass the output as an argument, or 'size='."
            raise ArgumentValueError(signature.message(sentence, index, hint=hint))
    _describe_outputs(signature, given, binding, shape, order, "the arguments broadcast to")
    return Resolved(binding, shape, shape, tuple(given), order)


def _bound(
    signature: Signature, specs: Sequence[ArraySpec | None], values: Sequence[Any]
) -> tuple[list[ArraySpec | None], Binding]:
    """One spec a parameter, None for scalars and outputs that are not given; and the dtypes."""
    given = [*specs, *([None] * (len(signature.parameters) - len(specs)))]
    dtypes = [None if spec is None else spec.dtype for spec in given]
    return given, bind_types(signature, dtypes, values)


def _describe_outputs(
    signature: Signature,
    given: list[ArraySpec | None],
    binding: Binding,
    shape: tuple[int, ...],
    order: Literal["C", "F"],
    why: str,
) -> None:
    """Describe the outputs that are to be allocated, and check the shapes of the others. Raises
    ArgumentValueError where an output has another shape than `shape`.
    """
    for index, parameter in enumerate(signature.outputs, len(signature.inputs)):
        spec = given[index]
        if spec is None:
            given[index] = ArraySpec.dense(binding.dtypes[index], shape, order)
        elif not parameter.raw and not is_same_shape(spec.shape, shape):
            sentence = _mismatched(parameter.name, spec.shape, why, shape)
            raise ArgumentValueError(signature.message(sentence, index))


def _mismatched(name: str, own: Sequence[int], why: str, shape: tuple[int, ...]) -> str:
    return f"Out shape is mismatched. Output '{name}' has shape {own}, but {why} {shape}."


def is_same_shape(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Return whether two shapes are equal. Tuples of different lengths compare their items, too,
    and where extents are symbolic, a comparison holds for all later calls.
    """
    return len(first) == len(second) and tuple(first) == tuple(second)


def overlapping_output(
    signature: Signature,
    specs: Sequence[ArraySpec | None],
    shape: tuple[int, ...],
    only_read: Collection[str] = (),
) -> ArgumentValueError | None:
    """Return the error for an array that is written by a loop over `shape`, and whose elements
    share memory; None where there is none. `specs` are those of the arguments that are given;
    `only_read` names inputs that are not written although they may be.
    """
    for index, (parameter, spec) in enumerate(zip(signature.parameters, specs, strict=False)):
        if spec is None or parameter.raw or parameter.is_const or parameter.name in only_read:
            continue
        sentence, hint = overlap_message(f"The array for '{parameter.name}'", spec), OVERLAP_HINT
        steps = broadcast_strides(spec.shape, spec.strides, shape)
        if sentence is None and may_overlap_itself(shape, steps, spec.dtype.itemsize):
            sentence = (
                f"The array for '{parameter.name}' is written, and broadcast from shape "
                f"{spec.shape} to {shape}: several elements would write to one location."
            )
            hint = "leave '_non_const' out if it is only read, or use atomic operations."
        if sentence is not None:
            return ArgumentValueError(signature.message(sentence, index, hint=hint))
    return None


OVERLAP_HINT = "write to an array of its own, such as a copy, and assign that."
"""What to do about an array of :func:`overlap_message`."""


def overlap_message(what: str, spec: ArraySpec) -> str | None:
    """Return the sentence that refuses an output whose elements share memory; None for others."""
    if not may_overlap_itself(spec.shape, spec.strides, spec.dtype.itemsize):
        return None
    share = "share" if spec.size <= COMPARED or 0 in spec.strides else "may share"
    return (
        f"{what} is written, and its elements {share} memory: it has shape {spec.shape} and "
        f"strides {spec.strides}."
    )


def _broadcast(
    name: str, signature: Signature, specs: Sequence[ArraySpec | None], size: int | None
) -> tuple[int, ...]:
    """The shape that the arrays which are not raw broadcast to, or ``(size,)``."""
    shapes = [
        (index, spec.shape)
        for index, (spec, parameter) in enumerate(zip(specs, signature.parameters, strict=True))
        if spec is not None and not parameter.raw
    ]
    if size is not None:
        if shapes:
            first = shapes[0][0]
            wrong = signature.parameters[first].name
            sentence = (
                f"Specified 'size' can be used only if every array is raw, but '{wrong}' is not."
            )
            raise ArgumentValueError(signature.message(sentence, first))
        return (size,)
    if not shapes:
        why = "every array is raw" if any(specs) else "there is no array"
        raise ArgumentValueError(
            f"Loop size is undecided. In kernel '{name}' {why}.\n"
            "  Hint: pass 'size='; as in CuPy, -1 says that none is given."
        )
    shape: tuple[int, ...] = ()
    for index, own in shapes:
        try:
            shape = broadcast_shapes(shape, own)
        except ValueError:
            if index < len(signature.inputs):
                sentence = f"Shapes {shape} and {own} cannot be broadcast together."
                label = f"this argument has shape {own}"
            else:
                name, label = signature.parameters[index].name, ""
                sentence = _mismatched(name, own, "the arguments broadcast to", shape)
            raise ArgumentValueError(signature.message(sentence, index, label)) from None
    return shape


def _result_order(
    shape: tuple[int, ...], signature: Signature, given: Sequence[ArraySpec | None], count: int
) -> Literal["C", "F"]:
    """Fortran's where every one of `count` inputs of the full shape is dense in that order only."""
    fortran = [
        not is_c_contiguous(spec.shape, spec.strides, spec.dtype.itemsize)
        and is_f_contiguous(spec.shape, spec.strides, spec.dtype.itemsize)
        for spec, parameter in zip(given[:count], signature.inputs, strict=False)
        if spec is not None and not parameter.raw and is_same_shape(spec.shape, shape)
    ]
    return "F" if fortran and all(fortran) else "C"


def is_aligned(spec: ArraySpec, backend: Capabilities) -> bool:
    """Return whether every element lies at a multiple of what its C type needs."""
    needed = alignment_on(backend, spec.dtype)
    steps = [step for step, extent in zip(spec.strides, spec.shape, strict=True) if extent > 1]
    return not any(value % needed for value in (spec.offset, *steps))


def overlap_limits(
    source: ArraySpec | None,
    result: ArraySpec | None,
    shape: tuple[int, ...],
    in_place: bool,
) -> tuple[int, int, bool]:
    """Return between which differences of addresses (result - source, bytes, exclusive) two
    arrays overlap, and whether the same address is an overlap: it is not where both are walked
    equally, broadcast to `shape`, and every element is read before it is written (`in_place`).
    """
    assert source is not None
    assert result is not None
    low_in, high_in = byte_extent(source.shape, source.strides, source.dtype.itemsize)
    low_out, high_out = byte_extent(result.shape, result.strides, result.dtype.itemsize)
    if low_in == high_in or low_out == high_out:
        return 0, 0, False
    if not in_place:
        return low_in - high_out, high_in - low_out, True
    equal = source.dtype.itemsize == result.dtype.itemsize and broadcast_strides(
        source.shape, source.strides, shape
    ) == broadcast_strides(result.shape, result.strides, shape)
    return low_in - high_out, high_in - low_out, not equal


# -- reductions ------------------------------------------------------------------------------------


def plain_axis(axis: Any) -> int | tuple[int, ...] | None:
    """Return an axis as Python's own integers. Raises ArgumentTypeError where it is not an integer,
    nor a sequence of integers.
    """
    if axis is None:
        return None
    if isinstance(axis, tuple | list):
        return tuple(map(_integer, axis))
    return _integer(axis)


def _integer(axis: Any) -> int:
    try:
        if not isinstance(axis, bool):
            return operator.index(axis)
        raise TypeError
    except TypeError:
        raise ArgumentTypeError(
            "'axis' must be an integer, a tuple of integers or None, not "
            f"an object of type '{type(axis).__name__}'."
        ) from None


def normalize_axes(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    """Return the reduced axes in ascending order. Raises AxisError where an axis is out of range,
    and ArgumentValueError where it is there twice.

    Parameters
    ----------
    axis : int, tuple of int or None
        None reduces all of them.
    ndim : int
        Number of dimensions of the broadcast inputs.
    """
    if axis is None:
        return tuple(range(ndim))
    axes = []
    for one in axis if isinstance(axis, tuple) else (axis,):
        if not -ndim <= one < ndim:
            raise AxisError(f"Axis {one} is out of bounds for an array of dimension {ndim}.")
        axes.append(one % ndim)
    if len(set(axes)) < len(axes):
        raise ArgumentValueError(f"'axis' names an axis twice: {axis}.")
    return tuple(sorted(axes))


def resolve_reduction(
    name: str,
    signature: Signature,
    specs: Sequence[ArraySpec | None],
    values: Sequence[Any],
    axis: Any,
    keepdims: bool,
    size: int | None,
    has_identity: bool,
    mask: bool,
) -> Resolved:
    """Bind types, broadcast the inputs, and describe the outputs that are to be allocated. Raises
    ArgumentTypeError as :func:`kerneltk.signature.type_binding.bind_types` or where `axis` is no
    integer, and ArgumentValueError where shapes do not go together, `axis` does not suit them, or
    nothing is reduced.

    Parameters
    ----------
    name, signature, specs, values : see `resolve_elementwise`
    axis, keepdims, size : as in a call
    has_identity : bool
        Whether nothing can be reduced.
    mask : bool
        Whether the last input is a mask, which the others' shape must hold.
    """
    given, binding = _bound(signature, specs, values)
    nin = len(signature.inputs)
    outputs = [None] * len(signature.outputs)
    if mask:
        where = given[nin - 1]
        shape = _broadcast(name, signature, [*given[: nin - 1], None, *outputs], size)
        if where is not None and not _broadcasts_to(where.shape, shape):
            raise ArgumentValueError(
                f"'where' has shape {where.shape}, which does not broadcast to the inputs' "
                f"shape {shape}."
            )
    else:
        shape = _broadcast(name, signature, [*given[:nin], *outputs], size)
    axes = normalize_axes(axis, len(shape))
    if keepdims:
        out_shape = tuple(1 if k in axes else extent for k, extent in enumerate(shape))
    else:
        out_shape = tuple(extent for k, extent in enumerate(shape) if k not in axes)
    if not has_identity and 0 not in out_shape and any(shape[k] == 0 for k in axes):
        raise ArgumentValueError(
            f"zero-size array to reduction operation {name} which has no identity"
        )
    order = _result_order(shape, signature, given, nin - mask)
    _describe_outputs(signature, given, binding, out_shape, order, "the reduction gives")
    overlapping = overlapping_output(signature, specs, out_shape)
    if overlapping is not None:
        raise overlapping
    return Resolved(binding, shape, out_shape, tuple(given), order)


def _broadcasts_to(own: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    pairs = zip(reversed(own), reversed(shape), strict=False)
    return len(own) <= len(shape) and all(extent in (1, to) for extent, to in pairs)
