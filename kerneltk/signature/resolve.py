"""Argument types, shapes, axes -> what a call computes on: dtypes, broadcast shape, outputs."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Sequence
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

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
from kerneltk.core.artifacts import Capabilities
from kerneltk.core.dtypes import alignment_on, describe, type_category
from kerneltk.core.records import record
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    AxisError,
    KernelToolkitError,
    ScalarOverflowError,
    Snippet,
    render_message,
)
from kerneltk.interop.texture_objects import ObjectHandle
from kerneltk.signature.parameters import Signature, satisfies


@record
class Binding:
    """The dtypes of a call.

    Parameters
    ----------
    dtypes : tuple of np.dtype
        One a parameter, inputs first.
    variables : tuple of (str, np.dtype)
        What each type variable is bound to, sorted by name.
    """

    dtypes: tuple[np.dtype[Any], ...]
    variables: tuple[tuple[str, np.dtype[Any]], ...]


def scalar_default(value: object) -> np.dtype[Any] | None:
    """Return the dtype that a scalar has by itself, or None if it is not a number.

    Python numbers have NumPy's default dtypes (NEP 50); a type object stands for its values.
    """
    if isinstance(value, np.generic | np.dtype):
        own = value if isinstance(value, np.dtype) else value.dtype
        return None if type_category(own) == "structured" else own
    kind = value if isinstance(value, type) else type(value)
    for python, dtype in ((bool, "bool"), (int, "int64"), (float, "float64"), (complex, "c16")):
        if issubclass(kind, python):
            return np.dtype(dtype)
    return None


def bind_types(
    signature: Signature,
    array_dtypes: Sequence[np.dtype[Any] | None],
    values: Sequence[object] = (),
) -> Binding:
    """Bind a signature's type variables.

    Outputs that are given bind first, then input arrays in order; scalars never bind a variable
    that an array binds. A variable that only scalars use takes the dtype they promote to.

    Parameters
    ----------
    signature : Signature
    array_dtypes : sequence of np.dtype or None
        One a parameter, inputs first; None for a scalar and for an output that is not given.
    values : sequence of object
        The inputs' values (or type objects), used where `array_dtypes` is None.

    Raises
    ------
    ArgumentTypeError
        Two arrays bind a variable differently, an array has not the declared dtype, a constraint
        is not met, or a variable stays unbound. The message shows the parameter.
    """
    bound: dict[str, np.dtype[Any]] = {}
    parameters = signature.parameters
    for index, value in enumerate(values):
        if isinstance(value, ObjectHandle):
            _check_handle(signature, index, value, values)
    nin = len(signature.inputs)
    for index in (*range(nin, len(parameters)), *range(nin)):
        dtype = array_dtypes[index]
        if dtype is None:
            continue
        parameter = parameters[index]
        _check_usable(signature, index, dtype)
        if parameter.dtype is not None:
            if parameter.dtype != dtype:
                sentence = (
                    f"Parameter '{parameter.name}' is declared '{parameter.dtype}', "
                    f"but its argument has dtype '{dtype}'."
                )
                hint = f"convert the argument with 'astype', or declare '{dtype}'."
                raise ArgumentTypeError(signature.message(sentence, index, hint=hint))
            continue
        variable = parameter.ctype
        assert variable is not None
        known = bound.setdefault(variable, dtype)
        if known != dtype:
            sentence = f"Type variable '{variable}' is bound to both '{known}' and '{dtype}'."
            label = f"this argument has dtype '{dtype}'"
            hint = "cast one argument with 'astype', or use a second type variable."
            raise ArgumentTypeError(signature.message(sentence, index, label, hint))
    _bind_by_scalars(signature, array_dtypes, values, bound)
    for index, parameter in enumerate(parameters):
        variable = parameter.type_variable
        if variable is not None and variable not in bound:
            sentence = f"Type variable '{variable}' cannot be inferred from the arguments."
            hint = "give this output as an argument, or declare its dtype."
            raise ArgumentTypeError(signature.message(sentence, index, hint=hint))
    for variable, constraint in signature.constraints:
        if variable in bound and not satisfies(bound[variable], constraint):
            index = next(k for k, p in enumerate(parameters) if p.type_variable == variable)
            sentence = (
                f"Type variable '{variable}' must be {constraint}, "
                f"but it is bound to '{bound[variable]}'."
            )
            raise ArgumentTypeError(signature.message(sentence, index))
    dtypes = tuple(bound[p.ctype or ""] if p.dtype is None else p.dtype for p in parameters)
    return Binding(dtypes, tuple(sorted(bound.items())))


def _check_handle(
    signature: Signature, index: int, handle: ObjectHandle, values: Sequence[object]
) -> None:
    """Raise where a parameter does not take the handle of a texture or a surface: it does if its
    type is uint64, or a type variable of such objects alone.
    """
    parameter = signature.inputs[index]
    variable, hint = parameter.type_variable, ""
    if parameter.raw:
        problem = "is raw"
        hint = "declare it without 'raw': its body names the object."
    elif variable is None:
        if parameter.dtype == np.uint64:
            return
        problem = f"is declared '{parameter.dtype}'"
        hint = f"give it a type variable of its own, as in 'U {parameter.name}'."
    else:
        others = (
            other.name
            for k, other in enumerate(signature.parameters)
            if other.type_variable == variable
            and not (k < len(values) and isinstance(values[k], ObjectHandle))
        )
        other = next(others, None)
        if other is None:
            return
        problem = f"has the type of '{other}'"
        hint = f"give it a type variable of its own, as in 'U {parameter.name}'."
    sentence = f"Parameter '{parameter.name}' {problem}, and a {handle.what} object was given."
    raise ArgumentTypeError(signature.message(sentence, index, hint=hint))


def _check_usable(signature: Signature, index: int, dtype: np.dtype[Any]) -> None:
    try:
        describe(dtype)
    except ArgumentTypeError as error:
        sentence, _, rest = str(error.args[0]).partition("\n  Hint: ")
        raise ArgumentTypeError(signature.message(sentence, index, hint=rest)) from None


def _bind_by_scalars(
    signature: Signature,
    array_dtypes: Sequence[np.dtype[Any] | None],
    values: Sequence[object],
    bound: dict[str, np.dtype[Any]],
) -> None:
    by_variable: dict[str, list[np.dtype[Any]]] = {}
    last: dict[str, int] = {}
    for index, value in enumerate(values):
        parameter = signature.inputs[index]
        variable = parameter.type_variable
        if array_dtypes[index] is not None or variable is None or variable in bound:
            continue
        dtype = scalar_default(value)
        if dtype is not None:
            by_variable.setdefault(variable, []).append(dtype)
            last[variable] = index
    for variable, dtypes in by_variable.items():
        try:
            bound[variable] = np.result_type(*dtypes)
        except TypeError:  # NumPy has no common dtype for bfloat16 and float16, for example
            names = " and ".join(f"'{dtype}'" for dtype in dict.fromkeys(dtypes))
            sentence = f"Type variable '{variable}' has no dtype in common for {names}."
            hint = "convert one of the numbers, or use a second type variable."
            raise ArgumentTypeError(
                signature.message(sentence, last[variable], hint=hint)
            ) from None
        _check_usable(signature, last[variable], bound[variable])


def _overflow(value: object, dtype: np.dtype[Any]) -> ScalarOverflowError:
    try:
        shown = str(value)
    except ValueError:  # Python prints no integer of more than some thousand digits
        shown = f"of {value.bit_length()} bits"  # type: ignore[attr-defined]
    return ScalarOverflowError(f"The value {shown} is out of range for dtype '{dtype}'.")


def convert_scalar(
    value: object, dtype: np.dtype[Any], location: Snippet | None = None
) -> tuple[object, ...]:
    """Return a scalar argument as the values that its ``struct`` format packs. Raises
    ScalarOverflowError where an integer does not fit `dtype`, and ArgumentTypeError for a complex
    number for a real parameter, or no number at all.

    Parameters
    ----------
    value : Python or NumPy number
    dtype : np.dtype
        The parameter's dtype.
    location : Snippet, optional
        The parameter's location, for messages.
    """
    try:
        return _convert(value, dtype)
    except KernelToolkitError as error:
        if location is None:
            raise
        raise type(error)(render_message(str(error.args[0]), location)) from None


def _convert(value: object, dtype: np.dtype[Any]) -> tuple[object, ...]:
    source = scalar_default(value)
    if source is None or isinstance(value, type | np.dtype):
        raise ArgumentTypeError(
            f"An argument of type '{type(value).__name__}' is neither an array nor a number."
        )
    plain: Any = value.item() if isinstance(value, np.generic) else value
    if source.name == "bfloat16":
        plain = float(value)  # type: ignore[arg-type]
    if isinstance(plain, complex | np.complexfloating) and dtype.kind != "c":
        raise ArgumentTypeError(f"The complex value {value} cannot become dtype '{dtype}'.")
    if dtype.kind == "b":
        return (bool(plain),)
    if dtype.kind in "iu":
        if isinstance(plain, float | np.floating):
            if not math.isfinite(plain):
                raise _overflow(value, dtype)
            plain = int(plain)  # towards zero, as C and CuPy convert
        limits = np.iinfo(dtype)
        if not int(limits.min) <= plain <= int(limits.max):
            raise _overflow(value, dtype)
        return (int(plain),)
    try:
        if dtype.kind == "c":
            number = complex(plain)
        else:
            real = float(plain)
    except OverflowError:
        raise _overflow(value, dtype) from None
    # struct refuses what rounds to infinity; NumPy gives infinity.
    with np.errstate(over="ignore", invalid="ignore"):
        if describe(dtype).as_bits:
            return (int(np.array(real).astype(dtype).view(f"u{dtype.itemsize}")),)
        if dtype.kind == "c":
            rounded = np.array(number).astype(dtype)
            return float(rounded.real), float(rounded.imag)
        return (float(np.array(real).astype(dtype)),)


# -- shapes and axes -------------------------------------------------------------------------------


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
    ArgumentTypeError as :func:`bind_types`, and ArgumentValueError
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
) -> tuple[int, int, int]:
    """Return between which differences of addresses (result - source, bytes, exclusive) two
    arrays overlap, and one difference that is none: zero where both are walked equally, broadcast
    to `shape`, and every element is read before it is written (`in_place`).
    """
    assert source is not None
    assert result is not None
    low_in, high_in = byte_extent(source.shape, source.strides, source.dtype.itemsize)
    low_out, high_out = byte_extent(result.shape, result.strides, result.dtype.itemsize)
    if low_in == high_in or low_out == high_out:
        return 0, 0, 0
    low, high = low_in - high_out, high_in - low_out
    if not in_place:
        return low, high, low
    equal = source.dtype.itemsize == result.dtype.itemsize and broadcast_strides(
        source.shape, source.strides, shape
    ) == broadcast_strides(result.shape, result.strides, shape)
    return low, high, 0 if equal else low


def share_memory(first: ArraySpec, second: ArraySpec, distance: int) -> bool:
    """Return whether two arrays, the second `distance` bytes behind the first, have a byte in
    common. NumPy decides it, which solves for the indices; what takes long counts as shared.
    """
    views = [
        SimpleNamespace(
            __array_interface__={
                "data": (_SOMEWHERE + offset, True),
                "shape": spec.shape,
                "strides": spec.strides,
                "typestr": f"|V{spec.dtype.itemsize}",
                "version": 3,
            }
        )
        for spec, offset in ((first, 0), (second, distance))
    ]
    decide: Any = np.shares_memory
    try:
        return bool(decide(*map(np.asarray, views), max_work=10**4))
    except np.exceptions.TooHardError:
        return True


_SOMEWHERE = 1 << 60  # an address that is not read


def shared_outputs(signature: Signature, first: int, second: int) -> ArgumentValueError:
    """Return the error for two arrays that are written and share memory, by their parameters."""
    names = [f"'{signature.parameters[index].name}'" for index in (first, second)]
    sentence = f"The arrays for {' and '.join(names)} are written, and share memory."
    return ArgumentValueError(signature.message(sentence, second, hint=SHARED_HINT))


SHARED_HINT = "give an array for each output."


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
    ArgumentTypeError as :func:`bind_types` or where `axis` is no
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
