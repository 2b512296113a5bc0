"""Launch plans of loops over elements: what a repeated call touches, and nothing else.

There is a launcher for each combination of argument types. It finds the plan by the arrays' dtypes,
shapes, strides and addresses modulo 16, and refuses outputs that overlap an input in another way
than exactly. Everything else is in the plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, cast

from kerneltk.backends.base import ArrayAccess, Backend, DeviceBackend, LaunchCall
from kerneltk.codegen.definition import KernelDefinition
from kerneltk.codegen.elementwise import WaitingDefinition
from kerneltk.interop.texture_objects import class_of, handle_of
from kerneltk.launch.launcher_spec import Argument, LauncherSpec
from kerneltk.launch.launchers import LauncherTemplate


class Plan(NamedTuple):
    """Everything that one specialization and one set of shapes need at a launch.

    Parameters
    ----------
    function : object
        The backend's handle.
    grid, chunk, block : int
        See `LaunchGeometry`; a grid of 0 launches nothing. The chunk size is negative where a chunk
        may take long, and has `kerneltk.backends.base.QUIET` added where no signal is raised.
    pack_into, pack_checked : callable
        Pack the dynamic part of the argument block: by ``struct`` alone, and after converting the
        scalars, which raises for those that do not fit.
    new_buffer : callable
        Makes an argument buffer with the constant part filled in.
    buffers : list
        Argument buffers that no launch uses; empty at first.
    shape : tuple of int
        Of the outputs that are allocated.
    order : {"C", "F"}
    scratch : int
        Bytes that a launch needs for itself; they lie behind the argument block, or where the
        backend's call says.
    dtypes : tuple of np.dtype
        One an output.
    raw_geometry : tuple of tuple of int
    limits : tuple of tuple
        For each pair of an input and an output, the difference of addresses between which they
        overlap, and whether they do at the same address.
    """

    function: Any
    grid: int
    chunk: int
    block: int
    pack_into: Callable[..., object]
    pack_checked: Callable[..., object]
    new_buffer: Callable[[], Any]
    buffers: list[Any]
    shape: tuple[int, ...]
    order: str
    scratch: int
    dtypes: tuple[Any, ...]
    raw_geometry: tuple[tuple[int, ...], ...]
    limits: tuple[tuple[int, int, bool], ...]

    def row(self) -> tuple[Any, ...]:
        """The values that a launcher unpacks, in its order."""
        *head, dtypes, raw_geometry, limits = self
        elements = math.prod(self.shape)
        sizes = (part for dtype in dtypes for part in (dtype, elements * dtype.itemsize))
        return (*head, *sizes, *raw_geometry, *(number for limit in limits for number in limit))


def _overlap_pairs(
    is_raw: Sequence[bool],
    is_const: Sequence[bool],
    is_array: Sequence[bool],
    nin: int,
    in_place: bool,
) -> tuple[tuple[int, int], ...]:
    """The pairs (input, output) of given arrays whose overlap is checked.

    An input that the body may write counts as an output too. Where elements are read before they
    are written, raw arrays are the body's affair.
    """
    given = [k for k, own in enumerate(is_array) if own and not (is_raw[k] and in_place)]
    return tuple(
        (k, j)
        for k in given
        for j in given
        if k != j and k < nin and is_const[k] and not is_const[j]
    )


def loop_launcher(
    definition: KernelDefinition, types: tuple[type, ...], backend: Backend
) -> LauncherTemplate:
    """The launcher of a definition for arguments of these types: inputs, or inputs and outputs."""
    parameters = definition.signature.parameters
    call = backend.loop_call
    if isinstance(definition, WaitingDefinition):
        call = cast(DeviceBackend, backend).waiting_call(definition.shared)
    return _loop_launcher(
        tuple(parameter.raw for parameter in parameters),
        tuple(parameter.is_const for parameter in parameters),
        len(definition.signature.inputs),
        definition.in_place,
        definition.has_scratch,
        definition.returns,
        types,
        backend.array_type,
        backend.arrays,
        call,
    )


@lru_cache
def _loop_launcher(
    is_raw: tuple[bool, ...],
    is_const: tuple[bool, ...],
    nin: int,
    in_place: bool,
    has_scratch: bool,
    returns: Literal["none", "one", "tuple"],
    types: tuple[type, ...],
    array_type: type,
    access: ArrayAccess,
    call: LaunchCall,
) -> LauncherTemplate:
    """All that a launcher of loops depends on; it is bound to the plans of one kernel."""
    is_array = [issubclass(kind, array_type) for kind in types]
    is_array += [True] * (len(is_raw) - len(types))
    is_object = [class_of(kind) is not None for kind in types]
    is_object += [False] * (len(is_raw) - len(types))
    arguments = tuple(
        Argument(
            types[k] if k < len(types) else array_type,
            "address" if is_array[k] else "converted" if is_object[k] else "number",
            written=not is_const[k],
            extents=None if raw and is_array[k] else 0,
            is_given=k < len(types),
            convert=handle_of if is_object[k] else None,
        )
        for k, raw in enumerate(is_raw)
    )
    raws = [k for k, argument in enumerate(arguments) if argument.extents is None]
    arrays = [k for k, argument in enumerate(arguments) if is_array[k] and argument.extents == 0]
    return LauncherTemplate(
        LauncherSpec(
            "loop",
            arguments,
            access,
            call,
            packed=(*raws, *arrays, *(k for k in range(nin) if not is_array[k])),
            overlaps=_overlap_pairs(is_raw, is_const, is_array[: len(types)], nin, in_place),
            has_scratch=has_scratch,
            returns=returns,
            outputs=tuple(range(nin, len(is_raw))),
        )
    )
