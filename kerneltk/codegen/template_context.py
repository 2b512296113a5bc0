"""What templates are given: finished strings and numbers, and nothing to compute types from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kerneltk.codegen.specialization import Specialization
from kerneltk.schedule.elementwise import Access
from kerneltk.signature.parameters import Parameter

__all__ = ["Array", "Scalar", "array_of", "arrays_of", "ended", "names_of"]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number, or an array that the body indexes itself."""

    name: str
    ctype: str
    is_const: bool


@dataclass(frozen=True, slots=True)
class Array:
    """An array whose elements the loop visits, and how it does."""

    name: str
    ctype: str
    is_const: bool
    kind: str
    chunk: int
    typed: bool
    unit: int
    storage: str


def array_of(parameter: Parameter, access: Access, itemsize: int) -> Array:
    """Return what a template is given of one array."""
    return Array(
        parameter.name,
        parameter.c_type(),
        parameter.is_const,
        access.kind,
        access.chunk,
        access.chunk >= itemsize or itemsize % access.chunk != 0,
        itemsize,
        f"kerneltk::chunk<{itemsize}>::type",
    )


def ended(source: str) -> str:
    """Return a source that does not continue on the line behind it."""
    return source + "\n" if source.endswith("\\") else source


def arrays_of(
    specialization: Specialization, loop_arrays: Sequence[Parameter], accesses: Sequence[Access]
) -> list[Array]:
    """Return the arrays that the loop visits."""
    dtypes = {
        parameter.name: dtype
        for parameter, dtype in zip(
            specialization.definition.signature.parameters,
            specialization.binding.dtypes,
            strict=True,
        )
    }
    return [
        array_of(parameter, access, dtypes[parameter.name].itemsize)
        for parameter, access in zip(loop_arrays, accesses, strict=False)
    ]


def names_of(specialization: Specialization, *, scalars: bool) -> list[Scalar]:
    """Return the scalars, or the raw arrays."""
    return [
        Scalar(parameter.name, parameter.c_type(), parameter.is_const)
        for parameter, is_array in zip(
            specialization.definition.signature.parameters, specialization.is_array, strict=True
        )
        if (not is_array if scalars else is_array and parameter.raw)
    ]
