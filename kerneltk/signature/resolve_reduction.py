"""A reduction's arguments and axes -> dtypes, the broadcast shape, the outputs' shape."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from kerneltk.core.arrays import ArraySpec, broadcast_shapes
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, AxisError, render_message
from kerneltk.signature.parameters import Signature
from kerneltk.signature.resolve import Resolved, broadcast_arguments, result_order
from kerneltk.signature.type_binding import bind_types

__all__ = ["normalize_axes", "plain_axis", "resolve_reduction"]


def plain_axis(axis: Any) -> int | tuple[int, ...] | None:
    """Return an axis as Python's own integers.

    Raises
    ------
    ArgumentTypeError
        It is not an integer, nor a sequence of integers.
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
    """Return the reduced axes in ascending order.

    Parameters
    ----------
    axis : int, tuple of int or None
        None reduces all of them.
    ndim : int
        Number of dimensions of the broadcast inputs.

    Raises
    ------
    AxisError
        An axis is out of range.
    ArgumentValueError
        It is there twice.

    Examples
    --------
    >>> normalize_axes((-1, 0), 3)
    (0, 2)
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
    """Bind types, broadcast the inputs, and describe the outputs that are to be allocated.

    Parameters
    ----------
    name : str
        The kernel's.
    signature : Signature
    specs : sequence of ArraySpec or None
        One an argument that is given, inputs first; None for scalars.
    values : sequence
        The inputs.
    axis, keepdims, size : as in a call
    has_identity : bool
        Whether nothing can be reduced.
    mask : bool
        Whether the last input is a mask, which the others' shape must hold.

    Raises
    ------
    ArgumentTypeError
        As :func:`kerneltk.signature.type_binding.bind_types`, or `axis` is no integer.
    ArgumentValueError
        Shapes do not go together, `axis` does not suit them, or nothing is reduced.
    """
    parameters = signature.parameters
    nin = len(signature.inputs)
    given = [*specs, *([None] * (len(parameters) - len(specs)))]
    binding = bind_types(
        signature, [None if spec is None else spec.dtype for spec in given], values
    )
    outputs = [None] * len(signature.outputs)
    if mask:
        where = given[nin - 1]
        shape = broadcast_arguments(name, signature, [*given[: nin - 1], None, *outputs], size)
        if where is not None and _together(shape, where.shape) != shape:
            raise ArgumentValueError(
                f"'where' has shape {where.shape}, which does not broadcast to the inputs' "
                f"shape {shape}."
            )
    else:
        shape = broadcast_arguments(name, signature, [*given[:nin], *outputs], size)
    axes = normalize_axes(axis, len(shape))
    if keepdims:
        out_shape = tuple(1 if k in axes else extent for k, extent in enumerate(shape))
    else:
        out_shape = tuple(extent for k, extent in enumerate(shape) if k not in axes)
    if not has_identity and 0 not in out_shape and any(shape[k] == 0 for k in axes):
        raise ArgumentValueError(
            f"zero-size array to reduction operation {name} which has no identity"
        )
    arrays = [
        spec
        for spec, parameter in zip(given[: nin - mask], signature.inputs, strict=False)
        if spec is not None and not parameter.raw
    ]
    order = result_order(shape, arrays)
    for index in range(nin, len(parameters)):
        parameter, spec = parameters[index], given[index]
        if spec is None:
            given[index] = ArraySpec.make(binding.dtypes[index], out_shape, order=order)
        elif spec.shape != out_shape:
            raise ArgumentValueError(
                render_message(
                    f"Output '{parameter.name}' has shape {spec.shape}, but the reduction gives "
                    f"{out_shape}.",
                    signature.snippet(index),
                )
            )
    return Resolved(binding, shape, out_shape, tuple(given), order)


def _together(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return broadcast_shapes(left, right)
    except ValueError:
        return None
