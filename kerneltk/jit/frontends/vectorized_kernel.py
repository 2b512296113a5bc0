"""A function of one element, called as NumPy's `vectorize` calls it: arguments are elements by
their dtypes, and those that are passed whole are numbers, whole arrays or known values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import Backend, array_library
from kerneltk.core.arrays import byte_extent
from kerneltk.core.dtypes import describe
from kerneltk.core.recorders import current_recorder, recorders
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    TypingError,
    UnsupportedError,
    render_message,
)
from kerneltk.interop.streams import stream_handle
from kerneltk.jit.frontends.kernel import ElementKernel, array_parameters
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.frontends.shortcuts import Specialized
from kerneltk.jit.ir.types import Number, Type
from kerneltk.jit.launch.marshalling import is_array
from kerneltk.launch.dispatch import Call
from kerneltk.launch.loops import copy_for_launch

DTypes = tuple[np.dtype[Any], ...]


def own_lists(
    args: tuple[Any, ...], outputs: Sequence[Any], elements: Sequence[bool]
) -> tuple[Any, ...]:
    """The arguments with arrays in place of the lists and tuples that are taken by element: on the
    device of the other arrays, NumPy's where there are none.
    """
    if not any(isinstance(arg, list | tuple) for arg in args):
        return args
    found, adoption = list(args), foreign_arrays.Adoption()
    owners = [adoption.take(value, k)[0] for k, value in enumerate((*args, *outputs))]
    owner = next((owner for owner in owners if owner is not None), None)
    for index, (arg, is_element) in enumerate(zip(args, elements, strict=True)):
        if is_element and isinstance(arg, list | tuple):
            library = np if owner is None else array_library(owner.capabilities.name)
            try:
                with adoption.on_device():
                    found[index] = library.asarray(arg)
            except (ValueError, TypeError, OverflowError) as error:
                raise ArgumentValueError(
                    f"Argument {index + 1} is a {type(arg).__name__} that is no array of numbers."
                    "\n  Hint: its rows must have equal lengths, and its items be numbers."
                ) from error
    return tuple(found)


def apart(
    args: Sequence[Any], asked: Sequence[bool], outputs: Sequence[Any], stream: int | None
) -> list[Any]:
    """The arguments of a launch, with copies of the arrays among those that are `asked` for that
    an output overlaps.
    """
    records = bool(recorders) and current_recorder() is not None
    found = list(args)
    for index, (value, is_asked) in enumerate(zip(args, asked, strict=True)):
        backend = foreign_arrays.backend_of(value) if is_asked else None
        if backend is None:
            continue
        low, high = _bytes_of(backend, value)
        for out in outputs:
            begin, end = _bytes_of(backend, out)
            if low < end and begin < high:
                found[index] = copy_for_launch(backend, value, stream, records=records)
                break
    return found


def _bytes_of(backend: Backend, array: Any) -> tuple[int, int]:
    spec, address = backend.describe(array)
    low, high = byte_extent(spec.shape, spec.strides, spec.dtype.itemsize)
    return address + low, address + high


def strong(kind: Type) -> Type:
    """The type of an element: NumPy makes an array of a Python number first."""
    return Number(kind.dtype) if isinstance(kind, Number) else kind


def check_casts(name: str, found: Sequence[Number], wanted: DTypes) -> None:
    """Raise where results cannot be of the dtypes that `otypes` names."""
    if len(found) != len(wanted):
        values = f"{len(found)} value{'s' * (len(found) != 1)}"
        raise ArgumentValueError(f"'{name}' returns {values}, and 'otypes' names {len(wanted)}.")
    for index, (kind, dtype) in enumerate(zip(found, wanted, strict=True)):
        if kind.is_complex and dtype.kind != "c":
            raise ArgumentTypeError(
                f"Result {index + 1} of '{name}' is complex, and 'otypes' names '{dtype}' for it."
                "\n  Hint: return its '.real', or name a complex dtype."
            )


def check_result_dtypes(name: str, outputs: Sequence[Any], wanted: DTypes) -> None:
    """Raise where arrays that are given for results are not of the dtypes of `otypes`."""
    for index, (array, dtype) in enumerate(zip(outputs, wanted, strict=False)):
        if array.dtype != dtype:
            raise ArgumentTypeError(
                f"The array that is given for result {index + 1} of '{name}' has dtype "
                f"'{array.dtype}', and 'otypes' names '{dtype}'.\n"
                "  Hint: leave one of the two out."
            )


def explained(
    error: TypingError | UnsupportedError, definition: Definition, elements: Sequence[str]
) -> TypingError | UnsupportedError:
    """The error with a hint, where the function may want whole arrays that it does not get."""
    text = str(error)
    used = array_parameters(definition.source.node, elements)
    if not used or "\n  Hint: " in text:
        return error
    name = next(name for name in definition.parameters if name in used)
    position = definition.parameters.index(name)
    hint = (
        f"'{name}' is one element; 'excluded={{{position}, {name!r}}}' passes it whole, as a "
        "positional argument and as a keyword."
    )
    return type(error)(f"{text}\n  Hint: {hint}")


class VectorizedKernel(ElementKernel):
    """A vectorized function whose arguments are of certain roles.

    Parameters
    ----------
    definition : Definition
    elements : sequence of bool
        Which parameters are elements of their arguments.
    whole : sequence of str
        Those that are whole arrays.
    otypes : tuple of np.dtype or None
        Of the results, if not those of the values.
    """

    def __init__(
        self,
        definition: Definition,
        elements: Sequence[bool],
        whole: Sequence[str],
        otypes: DTypes | None,
    ) -> None:
        super().__init__(definition, tuple(whole))
        self._elements = tuple(elements)
        self._otypes = otypes

    def is_plain(self, count: int) -> bool:
        """Whether its parameters are so many elements."""
        return self._elements == (True,) * count

    def _made_of(self) -> tuple[Any, ...]:
        return self._definition, self._elements, self._given_raw, self._otypes

    def _described(
        self, args: tuple[Any, ...], outputs: tuple[Any, ...], options: dict[str, Any]
    ) -> Call:
        return super()._described(own_lists(args, outputs, self._elements), outputs, options)

    def _type_of(self, value: Any, index: int) -> Type:
        kind = super()._type_of(value, index)
        return strong(kind) if self._elements[index] else kind

    def _described_kinds(self, args: Sequence[Any]) -> list[Type]:
        kinds = zip(super()._described_kinds(args), self._elements, strict=True)
        return [strong(kind) if is_element else kind for kind, is_element in kinds]

    def _by_element(self, args: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
        pairs = zip(args, self._is_raw, strict=True)
        return [arg for arg, raw in pairs if not raw and is_array(arg)]

    def _free_shape(self, args: Sequence[Any], options: dict[str, Any]) -> tuple[int, ...]:
        return ()  # of numbers alone; no whole array gives its shape

    def _run(
        self,
        known: Specialized,
        args: tuple[Any, ...],
        outputs: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        if self.raw and outputs:  # whole arrays are read as they were before
            stream = options.get("stream")
            handle = None if stream is None else stream_handle(stream)
            args = tuple(apart(args, self._is_raw, outputs, handle))
        return super()._run(known, args, outputs, options)

    def _shortcut_for(
        self, call: Call, known: Specialized, otherwise: Callable[..., Any]
    ) -> Callable[..., Any] | None:
        # Shortcuts would give results the shape of a whole array where no other has dimensions, and
        # do not ask whether one overlaps an output.
        is_of_numbers = not any(array.ndim for array in self._by_element(call.own, ()))
        if self.raw and (call.outputs or is_of_numbers):
            return None
        return super()._shortcut_for(call, known, otherwise)

    def _stored(self, results: Sequence[Number]) -> DTypes:
        if self._otypes is None:
            return super()._stored(results)
        check_casts(self.name, results, self._otypes)
        return self._otypes

    def _specialized(
        self, args: tuple[Any, ...], outputs: tuple[Any, ...], *given: Any, **named: Any
    ) -> Specialized:
        if self._otypes is not None:
            check_result_dtypes(self.name, outputs, self._otypes)
        try:
            found = super()._specialized(args, outputs, *given, **named)
        except (TypingError, UnsupportedError) as error:
            names = self._definition.parameters
            elements = [n for n, taken in zip(names, self._elements, strict=True) if taken]
            raise explained(error, self._definition, elements) from None
        if not found.dtypes:
            raise no_result(self._definition)
        return found


def no_result(definition: Definition) -> UnsupportedError:
    """The error for a function that returns nothing."""
    source = definition.source
    return UnsupportedError(
        render_message(
            f"'{definition.function.__name__}' returns nothing.",
            source.snippet(source.span(source.node)),
            hint="return a number, or several; '@jit.kernel' takes functions that only write.",
        )
    )


def result_dtypes(otypes: Any) -> DTypes | None:
    """The dtypes that `otypes` names: a str of type codes, or a sequence of dtypes."""
    if otypes is None:
        return None
    if isinstance(otypes, str):
        names: list[Any] = list(otypes)
    elif isinstance(otypes, Sequence):
        names = list(otypes)
    else:
        raise ArgumentTypeError(
            f"'otypes' must be a str of type codes or a list of dtypes, not {otypes!r}."
        )
    found = []
    for name in names:
        try:
            dtype = np.dtype(name)
        except (TypeError, ValueError):
            raise ArgumentTypeError(
                f"'otypes' names {name!r}, which is no dtype.\n"
                "  Hint: a str has one letter a result, as 'dd'; a list has dtypes, as [float]."
            ) from None
        if name is None:
            raise ArgumentTypeError("'otypes' names None, which is no dtype.")
        if dtype.names is not None or (dtype.kind in "OSUMmV" and dtype.name != "bfloat16"):
            raise ArgumentTypeError(f"'otypes' names '{dtype}', and results are numbers.")
        describe(dtype)
        found.append(dtype)
    if not found:
        raise ArgumentValueError("'otypes' names no dtype.")
    return tuple(found)
