"""Signature + argument types -> dtypes: the rules that bind type variables and convert scalars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneltk.core.dtypes import describe, type_category
from kerneltk.core.records import record
from kerneltk.errors import (
    ArgumentTypeError,
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
