"""The arguments of a launch as one backend's own, and what a kernel may assume of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import Backend
from kerneltk.core.capabilities import Capabilities
from kerneltk.core.structures import field_names, named_items, rebuilt
from kerneltk.errors import ArgumentTypeError, Snippet
from kerneltk.jit.codegen.assumptions import ShapeAssumptions, fits_32bit, may_have_equal_shape
from kerneltk.jit.ir.types import Array, Type
from kerneltk.jit.launch.marshalling import (
    ArgumentPath,
    leaves_of,
    type_of,
)


class Arguments(NamedTuple):
    """The arguments of a call, with arrays as those of the backend whose they are, or of the
    default one; and what is owed to the libraries that they came from. `device` is the one that the
    call runs on.

    `paths` are the parameters for messages. A grid is one of 64 bits if it has more threads along
    an axis than 32 bits count.
    """

    backend: Backend
    device: int
    values: tuple[Any, ...]
    types: tuple[Type, ...]
    shapes: ShapeAssumptions
    paths: Sequence[ArgumentPath]
    has_arrays: bool
    is_64bit_grid: bool
    adoption: foreign_arrays.Adoption

    @property
    def key(self) -> tuple[Any, ...]:
        """All that a compiled kernel depends on."""
        return self.backend.name, self.device, self.types, self.shapes


def arguments_of(
    args: Sequence[Any], paths: Sequence[ArgumentPath], *, is_64bit_grid: bool = False
) -> Arguments:
    """Take the arguments of a call, one a parameter. Raises ArgumentTypeError for an argument that
    no kernel takes and for arrays in different locations, ArgumentValueError for arrays of several
    devices.
    """
    adoption = foreign_arrays.Adoption()
    found: list[_Found] = []

    def named(way: tuple[Any, ...]) -> tuple[str, Snippet | None]:
        path = paths[way[0]].at(*way[1:])
        return path.name, path.snippet

    def in_two_locations(first: int, second: int) -> ArgumentTypeError:
        return _in_different_locations(found[first], found[second], found, paths)

    values = tuple(_adopted(value, k, (), found, adoption, named) for k, value in enumerate(args))
    owners = {k: one.backend for k, one in enumerate(found)}
    backend = foreign_arrays.common_backend(owners, in_two_locations)
    backend = backend or foreign_arrays.default_backend()
    types = tuple(
        type_of(value, backend.array_type, path) for value, path in zip(values, paths, strict=True)
    )
    device = adoption.device
    return Arguments(
        backend,
        backend.device_key() if device is None else device,
        values,
        types,
        assumptions_of(values, types, backend.capabilities, is_64bit_grid=is_64bit_grid),
        paths,
        bool(found),
        is_64bit_grid,
        adoption,
    )


class _Found(NamedTuple):
    """An array among the arguments: whose it is, in which argument, and the way into that."""

    backend: Backend
    array: Any
    argument: int
    path: tuple[int | str, ...]


def _adopted(
    value: Any,
    argument: int,
    path: tuple[int | str, ...],
    found: list[_Found],
    adoption: foreign_arrays.Adoption,
    name_of: foreign_arrays.NameOf,
) -> Any:
    """A value with the arrays in it as a backend's own, which are listed in `found`."""
    # A subclass lies in memory as its base does.
    own, value = adoption.take(value, (argument, *path), name_of, keep_subclasses=True)
    if own is not None:
        found.append(_Found(own, value, argument, path))
        return value
    names = field_names(type(value))
    if names is None:
        return value
    items = list(named_items(value, names))
    adopted = tuple(
        _adopted(item, argument, (*path, key), found, adoption, name_of) for key, item in items
    )
    if all(new is old for new, (_, old) in zip(adopted, items, strict=True)):
        return value
    return rebuilt(value, adopted)


def _in_different_locations(
    first: _Found, second: _Found, found: Sequence[_Found], paths: Sequence[ArgumentPath]
) -> ArgumentTypeError:
    hint = foreign_arrays.MOVE_HINT
    if all(one.array.ndim == 0 for one in found if one.backend.capabilities.is_fallback):
        hint = "pass a number, 'x[()]' or 'x.item()', instead of an array without dimensions."
    left, right = (paths[one.argument].at(*one.path) for one in (first, second))
    return foreign_arrays.different_locations(
        left.kernel,
        (f"'{left.name}'", first.backend),
        (f"'{right.name}'", second.backend),
        right.snippet,
        hint,
    )


def assumptions_of(
    values: Sequence[Any],
    kinds: Sequence[Type],
    backend: Capabilities,
    *,
    is_64bit_grid: bool = False,
) -> ShapeAssumptions:
    """What is known of a launch, from its arguments, or `ArraySpec` for them, and their types."""
    is_indexable = not is_64bit_grid and fits_32bit(
        number
        for k, (value, kind) in enumerate(zip(values, kinds, strict=True))
        for leaf in leaves_of(value, kind, k)
        if isinstance(leaf.type, Array)
        for number in (math.prod(leaf.value.shape), *leaf.value.shape)
    )
    # A CPU gains nothing from equal shapes, and would compile for longer.
    has_equal_shapes = backend.short_indices and _have_equal_shapes(values, kinds)
    return ShapeAssumptions(is_indexable, has_equal_shapes)


def _have_equal_shapes(values: Sequence[Any], kinds: Sequence[Type]) -> bool:
    """Whether `ShapeAssumptions.has_equal_shapes` holds for two arrays, or more."""
    shapes: dict[int, list[tuple[int, ...]]] = {}
    for value, kind in zip(values, kinds, strict=True):
        if may_have_equal_shape(kind):
            shapes.setdefault(len(value.shape), []).append(tuple(value.shape))
    together = shapes.values()
    return any(len(found) > 1 for found in together) and all(
        found.count(found[0]) == len(found) for found in together
    )
