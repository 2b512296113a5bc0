"""What the kinds of specializations have in common, and the launch geometry of one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kerneltk.codegen.argument_block import ArgumentBlock, Field
from kerneltk.codegen.definition import KernelDefinition
from kerneltk.core.arrays import ArraySpec, is_c_contiguous
from kerneltk.core.capabilities import Capabilities
from kerneltk.core.dtypes import describe
from kerneltk.signature.parameters import Parameter
from kerneltk.signature.type_binding import Binding

__all__ = [
    "LaunchGeometry",
    "RawView",
    "Specialization",
    "dynamic_fields",
    "may_last",
    "raw_views",
    "visited",
]

# Without loops in its body, a launch over so many elements takes some milliseconds at most. To be
# interrupted costs others a few system calls.
_SHORT_LAUNCH = 1 << 16


class Specialization(Protocol):
    """Everything that the source of one translation unit depends on."""

    @property
    def definition(self) -> KernelDefinition:
        """What the user wrote."""

    @property
    def backend(self) -> Capabilities:
        """What it may rely on there."""

    @property
    def binding(self) -> Binding:
        """The dtypes."""

    @property
    def is_array(self) -> tuple[bool, ...]:
        """One a parameter: whether its argument is an array."""

    @property
    def block(self) -> int:
        """Threads of a block; 1 on the host."""

    @property
    def arguments(self) -> ArgumentBlock:
        """The argument block of the entry point."""

    @property
    def template(self) -> str:
        """The stem of the template's name."""

    @property
    def fast_compile(self) -> bool:
        """Whether the compiler may leave out what costs it most time: the source is plain."""

    def headers(self) -> set[str]:
        """Return the package's headers that the kind of loop needs."""

    def context(self) -> dict[str, Any]:
        """Return what the templates of this kind use beyond what all templates do."""


@dataclass(frozen=True, slots=True)
class RawView:
    """What the source depends on of an array that the body indexes itself."""

    ndim: int
    c_contiguous: bool
    wide_index: bool

    def field(self, ctype: str, name: str) -> Field:
        """Return the member of the argument block: address, size, shape, strides (bytes)."""
        index = "long long" if self.wide_index else "int"
        flag = "true" if self.c_contiguous else "false"
        return Field(
            f"kerneltk::array_view<{ctype}, {self.ndim}, {flag}, {index}> {name}",
            "Pq" + "q" * (2 * self.ndim),
        )

    @classmethod
    def of(cls, array: ArraySpec) -> RawView:
        """Return the view of an array."""
        itemsize = array.dtype.itemsize
        return cls(
            array.ndim,
            is_c_contiguous(array.shape, array.strides, itemsize),
            array.size * max(itemsize, 1) > 2**31 - 1
            or any(
                abs(step) * extent > 2**31 - 1
                for step, extent in zip(array.strides, array.shape, strict=True)
            ),
        )


@dataclass(frozen=True, slots=True)
class LaunchGeometry:
    """A specialization and the numbers that go with one set of shapes.

    Parameters
    ----------
    specialization : Specialization
    constants : bytes
        The constant part of the argument block.
    raw_geometry : tuple of tuple of int
        For each raw argument its size, shape and strides.
    grid : int
        Blocks on a GPU; work items on the host.
    chunk_size : int
        Work items that one host thread takes at a time; on a GPU, blocks along the grid's second
        dimension.
    scratch : int
        Bytes that the launch needs for itself.
    may_last : bool
        Whether a launch on the host may take long, and so has to be one that can be interrupted.
    """

    specialization: Specialization
    constants: bytes
    raw_geometry: tuple[tuple[int, ...], ...]
    grid: int
    chunk_size: int = 1
    scratch: int = 0
    may_last: bool = False


def raw_views(
    parameters: Sequence[Parameter], arrays: Sequence[ArraySpec | None]
) -> tuple[tuple[RawView | None, ...], tuple[tuple[int, ...], ...]]:
    """Return the views of the raw arguments, one a parameter, and the geometry of each."""
    views: list[RawView | None] = []
    geometry: list[tuple[int, ...]] = []
    for parameter, array in zip(parameters, arrays, strict=True):
        if array is None or not parameter.raw:
            views.append(None)
            continue
        views.append(RawView.of(array))
        geometry.append((array.size, *array.shape, *array.strides))
    return tuple(views), tuple(geometry)


def may_last(elements: int, definition: KernelDefinition) -> bool:
    """Return `LaunchGeometry.may_last` of a launch that visits so many elements on the host."""
    return elements > _SHORT_LAUNCH or definition.facts.loops


def visited(parameters: Sequence[Parameter], is_array: Sequence[bool]) -> tuple[Parameter, ...]:
    """Return the parameters whose elements the loop visits, in order."""
    return tuple(
        parameter
        for parameter, array in zip(parameters, is_array, strict=True)
        if array and not parameter.raw
    )


def dynamic_fields(
    parameters: Sequence[Parameter],
    is_array: Sequence[bool],
    raw: Sequence[RawView | None],
    binding: Binding,
) -> list[Field]:
    """Return what changes from call to call, in the order in which launchers pack it: raw views,
    the other arrays' addresses, numbers.
    """
    fields = [
        view.field(parameter.c_type(), parameter.name)
        for parameter, view in zip(parameters, raw, strict=True)
        if view is not None
    ]
    fields += [
        Field(f"{parameter.c_type()}* _kt_p_{parameter.name}", "P")
        for parameter in visited(parameters, is_array)
    ]
    for parameter, array, dtype in zip(parameters, is_array, binding.dtypes, strict=True):
        if not array:
            alignment = 16 if dtype.itemsize > 8 else 8
            fields.append(
                Field(f"{parameter.c_type()} {parameter.name}", describe(dtype).format, alignment)
            )
    return fields
