"""Argument types and shapes -> what a call computes on: dtypes, the broadcast shape, outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kerneltk.core.arrays import (
    ArraySpec,
    broadcast_shapes,
    broadcast_strides,
    byte_extent,
    is_c_contiguous,
    is_f_contiguous,
)
from kerneltk.core.capabilities import Capabilities
from kerneltk.core.dtypes import alignment_on
from kerneltk.errors import ArgumentValueError, render_message
from kerneltk.signature.parameters import Signature
from kerneltk.signature.type_binding import Binding, bind_types

__all__ = [
    "Resolved",
    "broadcast_arguments",
    "is_aligned",
    "overlap_limits",
    "resolve_elementwise",
    "result_order",
]


@dataclass(frozen=True, slots=True)
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
    """Bind types, broadcast, and describe the outputs that are to be allocated.

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

    Raises
    ------
    ArgumentTypeError
        As :func:`kerneltk.signature.type_binding.bind_types`.
    ArgumentValueError
        Shapes do not go together, or a size is missing or too much.
    """
    parameters = signature.parameters
    nin = len(signature.inputs)
    given = [*specs, *([None] * (len(parameters) - len(specs)))]
    binding = bind_types(
        signature, [None if spec is None else spec.dtype for spec in given], values
    )
    shape = broadcast_arguments(name, signature, given, size)
    order = result_order(
        shape,
        [
            spec
            for spec, parameter in zip(given[:nin], signature.inputs, strict=True)
            if spec is not None and not parameter.raw
        ],
    )
    for index in range(nin, len(parameters)):
        parameter, spec = parameters[index], given[index]
        if spec is None:
            if parameter.raw and size is None:
                raise ArgumentValueError(
                    render_message(
                        f"The size of raw output '{parameter.name}' is not known.",
                        signature.snippet(index),
                        hint="pass the output as an argument, or 'size='.",
                    )
                )
            given[index] = ArraySpec.make(binding.dtypes[index], shape, order=order)
        elif not parameter.raw and spec.shape != shape:
            raise ArgumentValueError(
                render_message(
                    f"Output '{parameter.name}' has shape {spec.shape}, but the arguments "
                    f"broadcast to {shape}.",
                    signature.snippet(index),
                )
            )
    return Resolved(binding, shape, shape, tuple(given), order)


def broadcast_arguments(
    name: str, signature: Signature, specs: Sequence[ArraySpec | None], size: int | None
) -> tuple[int, ...]:
    """Return the shape that the arrays which are not raw broadcast to, or ``(size,)``.

    Raises
    ------
    ArgumentValueError
        Shapes do not go together, or a size is missing or too much.
    """
    shapes = [
        (index, spec.shape)
        for index, (spec, parameter) in enumerate(zip(specs, signature.parameters, strict=True))
        if spec is not None and not parameter.raw
    ]
    if size is not None:
        if shapes:
            first = shapes[0][0]
            raise ArgumentValueError(
                render_message(
                    "'size' can be given only if every array is raw, but "
                    f"'{signature.parameters[first].name}' is not.",
                    signature.snippet(first),
                )
            )
        return (size,)
    if not shapes:
        why = "every array is raw" if any(specs) else "there is no array"
        raise ArgumentValueError(
            f"The loop size of kernel '{name}' is undecided: {why}.\n  Hint: pass 'size='."
        )
    shape: tuple[int, ...] = ()
    for index, own in shapes:
        try:
            shape = broadcast_shapes(shape, own)
        except ValueError:
            nin = len(signature.inputs)
            sentence = (
                f"Shapes {shape} and {own} cannot be broadcast together."
                if index < nin
                else f"Output '{signature.parameters[index].name}' has shape {own}, but the "
                f"arguments broadcast to {shape}."
            )
            raise ArgumentValueError(
                render_message(
                    sentence,
                    signature.snippet(
                        index, f"this argument has shape {own}" if index < nin else ""
                    ),
                )
            ) from None
    return shape


def result_order(shape: tuple[int, ...], specs: Sequence[ArraySpec]) -> Literal["C", "F"]:
    """Return "F" where every input of the full shape is dense in Fortran order only."""
    fortran = [
        is_f_contiguous(spec.shape, spec.strides, spec.dtype.itemsize)
        and not is_c_contiguous(spec.shape, spec.strides, spec.dtype.itemsize)
        for spec in specs
        if spec.shape == shape
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
    alike, `shape` being broadcast to, and every element is read before it is written (`in_place`).
    """
    assert source is not None
    assert result is not None
    low_in, high_in = byte_extent(source.shape, source.strides, source.dtype.itemsize)
    low_out, high_out = byte_extent(result.shape, result.strides, result.dtype.itemsize)
    if low_in == high_in or low_out == high_out:
        return 0, 0, False
    if not in_place:
        return low_in - high_out, high_in - low_out, True
    alike = source.dtype.itemsize == result.dtype.itemsize and broadcast_strides(
        source.shape, source.strides, shape
    ) == broadcast_strides(result.shape, result.strides, shape)
    return low_in - high_out, high_in - low_out, not alike
