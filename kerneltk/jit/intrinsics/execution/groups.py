"""Groups of threads: the grid, a block, tiles of a warp; barriers and copies of groups."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.attributes import product
from kerneltk.jit.intrinsics.base import (
    Builder,
    CallSite,
    Intrinsic,
    Methods,
    Operation,
    Rule,
    Static,
    Value,
    method,
)
from kerneltk.jit.intrinsics.execution import warp
from kerneltk.jit.intrinsics.execution.threads import (
    Coordinates,
    barrier,
    blockDim,
    blockIdx,
    gridDim,
    plain,
    threadIdx,
)
from kerneltk.jit.intrinsics.typing_rules import arguments_of, call, emitted, integer, static_value
from kerneltk.jit.ir.types import BOOL, PY_INT, UINT32, UINT64, Array, Opaque, Tuple

_HEADERS = ("jit_groups.hpp",)
_GRID_HEADERS = ("jit_grid.hpp",)


class Dim3(NamedTuple):
    """Extents or an index along three axes.

    Attributes
    ----------
    x, y, z : int
    """

    x: int
    y: int
    z: int


# -- numbers --------------------------------------------------------------------------------------


def _axis(low: Builder, values: Coordinates, axis: str, span: ir.Span) -> ir.Expression:
    return low.as_expression(Static(getattr(values, axis)), span)


def _items(values: Coordinates, low: Builder, span: ir.Span) -> Value:
    parts = tuple(_axis(low, values, axis, span) for axis in "xyz")
    return ir.Construct(parts, Tuple((PY_INT,) * 3, Dim3._fields, Dim3), span)


def _rank(index: Coordinates, extents: Coordinates, low: Builder, span: ir.Span) -> Value:
    """Return an index along three axes as one number: x counts fastest."""
    found: Value = _axis(low, index, "z", span)
    for axis in "yx":
        found = low.binary("*", found, _axis(low, extents, axis, span), span)
        found = low.binary("+", found, _axis(low, index, axis, span), span)
    return found


def _size(extents: Coordinates, low: Builder, span: ir.Span) -> Value:
    return product(low, [_axis(low, extents, axis, span) for axis in "xyz"], span)


_Number: TypeAlias = Callable[[Builder, ir.Span], Value]
_block_rank, _block_size = partial(_rank, threadIdx, blockDim), partial(_size, blockDim)
_rank_of_block, _blocks = partial(_rank, blockIdx, gridDim), partial(_size, gridDim)


def _grid_rank(low: Builder, span: ir.Span) -> Value:
    before = low.binary("*", _rank_of_block(low, span), _block_size(low, span), span)
    return low.binary("+", before, _block_rank(low, span), span)


def _grid_size(low: Builder, span: ir.Span) -> Value:
    return low.binary("*", _blocks(low, span), _block_size(low, span), span)


def _plain(rule: Callable[[Any, ir.Expression, CallSite], Value]) -> Rule:
    """Return the rule of a method without arguments."""

    def checked(low: Builder, owner: ir.Expression, site: CallSite) -> Value:
        arguments_of(low, site, ())
        return rule(low, owner, site)

    return method(checked)


def _number(make: _Number) -> Rule:
    return _plain(lambda low, owner, site: make(low, site.span))


def _triple(values: Coordinates) -> Rule:
    return _number(partial(_items, values))


# -- barriers -------------------------------------------------------------------------------------

_MOVES = frozenset((ir.Effect.MEMORY, ir.Effect.THREAD))
_WAITS = _MOVES | {ir.Effect.WAITS}
_GRID_BARRIER = Operation(
    "sync of the grid", "kerneltk::jit::grid_barrier()", _WAITS | {ir.Effect.GRID}, _GRID_HEADERS
)
# A kernel that asks is launched so that its blocks can wait for each other.
_IS_VALID = Operation(
    "is_valid", "kerneltk::jit::grid_can_wait()", frozenset((ir.Effect.GRID,)), _GRID_HEADERS
)


# -- tiles ----------------------------------------------------------------------------------------

_THREAD = frozenset((ir.Effect.THREAD,))
_LANE_HEADERS = ("jit_threads.hpp",)
_LANE = Operation("lane of tile", "(KERNELTK_LANE & {static0})", _THREAD, _LANE_HEADERS)
_TILE_MASK = Operation(
    "lanes of tile", "({static0} << (KERNELTK_LANE & {static1}))", _THREAD, _LANE_HEADERS
)


def _width_of(owner: ir.Expression) -> int:
    assert isinstance(owner.type, Opaque)
    width: int = dict(owner.type.details)["width"]
    return width


def _lanes(owner: ir.Expression, span: ir.Span) -> Value:
    """Return the lanes of a tile as the mask of a warp."""
    width = _width_of(owner)
    if width == 32:
        return Static(0xFFFFFFFF)
    facts = (f"{(1 << width) - 1:#x}u", 32 - width)
    return ir.Call(_TILE_MASK, (), UINT32, span, facts)


def _tile_in_block(low: Builder, owner: ir.Expression, site: CallSite) -> Value:
    return low.binary("//", _block_rank(low, site.span), Static(_width_of(owner)), site.span)


def _tiles_of_block(low: Builder, owner: ir.Expression, site: CallSite) -> Value:
    width = _width_of(owner)
    more = low.binary("+", _block_size(low, site.span), Static(width - 1), site.span)
    return low.binary("//", more, Static(width), site.span)


def _of_warp(
    name: str, parameters: tuple[str, ...], low: Builder, owner: ir.Expression, site: CallSite
) -> Value:
    """Type a collective of a warp for the lanes of a tile."""
    given = (_lanes(owner, site.span), *arguments_of(low, site, parameters).values())
    if name.startswith("shfl"):
        given += (Static(_width_of(owner)),)
    spans = (site.span, *site.spans)
    of_warp = dataclasses.replace(site, arguments=given, keywords={}, spans=spans)
    found: Value = warp.INTRINSICS[name].rule(low, of_warp)
    return found


_SYNC_TILE = Operation("sync of a tile", "__syncwarp({0})", _WAITS)


def _sync_tile(low: Builder, owner: ir.Expression, site: CallSite) -> Value:
    mask = low.cast(low.as_expression(_lanes(owner, site.span), site.span), UINT32)
    return emitted(low, _SYNC_TILE, [mask], site)


def _ballot(low: Builder, owner: ir.Expression, site: CallSite) -> Value:
    """A bit of each lane of the tile, the tile's own first lane the lowest."""
    bits, width = _of_warp("ballot_sync", ("predicate",), low, owner, site), _width_of(owner)
    if width == 32:
        return bits
    moved = low.binary(">>", bits, call(_LANE, (), PY_INT, site, 32 - width), site.span)
    return low.binary("&", moved, Static((1 << width) - 1), site.span)


# -- the groups -----------------------------------------------------------------------------------

_GRID_METHODS = Methods(
    {
        "is_valid": _plain(lambda low, owner, site: call(_IS_VALID, (), BOOL, site)),
        "sync": _plain(lambda low, owner, site: emitted(low, _GRID_BARRIER, (), site)),
        "thread_rank": _number(_grid_rank),
        "block_rank": _number(_rank_of_block),
        "num_threads": _number(_grid_size),
        "num_blocks": _number(_blocks),
        "dim_blocks": _triple(gridDim),
        "block_index": _triple(blockIdx),
        "size": _number(_grid_size),
        "group_dim": _triple(gridDim),
    }
)
_BLOCK_METHODS = Methods(
    {
        "sync": _number(barrier),
        "thread_rank": _number(_block_rank),
        "group_index": _triple(blockIdx),
        "thread_index": _triple(threadIdx),
        "dim_threads": _triple(blockDim),
        "num_threads": _number(_block_size),
        "size": _number(_block_size),
        "group_dim": _triple(blockDim),
    }
)
_TILE_METHODS = Methods(
    {
        "sync": _plain(_sync_tile),
        "thread_rank": _plain(
            lambda low, owner, site: call(_LANE, (), PY_INT, site, _width_of(owner) - 1)
        ),
        "num_threads": _plain(lambda low, owner, site: Static(_width_of(owner))),
        "size": _plain(lambda low, owner, site: Static(_width_of(owner))),
        "meta_group_rank": _plain(_tile_in_block),
        "meta_group_size": _plain(_tiles_of_block),
        "shfl": method(partial(_of_warp, "shfl_sync", ("var", "src_rank"))),
        "shfl_up": method(partial(_of_warp, "shfl_up_sync", ("var", "delta"))),
        "shfl_down": method(partial(_of_warp, "shfl_down_sync", ("var", "delta"))),
        "shfl_xor": method(partial(_of_warp, "shfl_xor_sync", ("var", "lane_mask"))),
        "any": method(partial(_of_warp, "any_sync", ("predicate",))),
        "all": method(partial(_of_warp, "all_sync", ("predicate",))),
        "ballot": method(_ballot),
    }
)


def _group(name: str, methods: Methods, **facts: Any) -> Opaque:
    details = (("headers", _HEADERS), ("methods", methods), *facts.items())
    return Opaque(name, "kerneltk::jit::thread_group", details)


_GRID_GROUP = _group("grid group", _GRID_METHODS)
_BLOCK_GROUP = _group("thread block", _BLOCK_METHODS)
_GROUP = Operation("group", "kerneltk::jit::thread_group()", headers=_HEADERS)


def _tiled_partition(low: Builder, site: CallSite) -> Value:
    values = arguments_of(low, site, ("group", "size"))
    _group_of(low, site, values["group"], _BLOCK_GROUP)
    width = static_value(low, values["size"], site.span_of(1), "The size of a tile")
    if width not in (1, 2, 4, 8, 16, 32) or isinstance(width, bool):
        raise low.fail(
            f"The size of a tile is a power of two up to 32, not {width!r}.", site.span_of(1)
        )
    kind = _group(f"tile of {width} threads", _TILE_METHODS, width=int(width))
    return call(_GROUP, (), kind, site)


def _group_of(
    low: Builder, site: CallSite, value: Value, wanted: Opaque | None = None
) -> ir.Expression:
    """Return an argument that is a group of threads."""
    kind = None if isinstance(value, Static) else value.type
    methods = dict(kind.details).get("methods", {}) if isinstance(kind, Opaque) else {}
    if "sync" not in methods or (wanted is not None and kind != wanted):
        needed = "a group of threads" if wanted is None else f"a {wanted}"
        raise low.fail(
            f"'{site.name}' needs {needed}, not {low.phrase(value)}.",
            site.span_of(0),
            "for example 'cg.this_thread_block()'.",
        )
    assert isinstance(value, ir.Call | ir.Local)
    return value


def _asked(low: Builder, site: CallSite, group: ir.Expression, name: str) -> Value:
    """Call a method of a group without arguments."""
    assert isinstance(group.type, Opaque)
    rule = dict(group.type.details)["methods"][name]
    inner = CallSite(f"{site.name}.{name}", (group,), {}, site.span, (site.span,))
    return rule(low, inner)  # type: ignore[no-any-return]


def _sync(low: Builder, site: CallSite) -> Value:
    group = _group_of(low, site, arguments_of(low, site, ("group",))["group"])
    return _asked(low, site, group, "sync")


def _wait_prior(low: Builder, site: CallSite) -> Value:
    values = arguments_of(low, site, ("group", "step"))
    group = _group_of(low, site, values["group"])
    step = static_value(low, values["step"], site.span_of(1), "The number of steps")
    if not isinstance(step, int | np.integer) or isinstance(step, bool) or step < 0:
        raise low.fail(
            f"The number of steps is an int from zero on, not {step!r}.", site.span_of(1)
        )
    return _asked(low, site, group, "sync")


_COPY_TEXT = "kerneltk::jit::copy_part<{static0}>({0}, {1}, {2}, {3}, {4})"
_COPY = Operation("memcpy_async", _COPY_TEXT, _MOVES, _HEADERS, (0, 1), (0,))


def _memcpy_async(low: Builder, site: CallSite) -> Value:
    names = ("group", "dst", "dst_idx", "src", "src_idx", "size", "aligned_size")
    values = arguments_of(low, site, names, {"aligned_size": None})
    if len(site.arguments) > 6:
        raise low.fail("'aligned_size' is given by its name.", site.span_of(6))
    group = _group_of(low, site, values["group"])
    alignment = static_value(low, values["aligned_size"], site.span, "'aligned_size'")
    alignment = 1 if alignment is None else alignment
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise low.fail(f"'aligned_size' is a power of two (bytes), not {alignment!r}.", site.span)
    places = []
    for index, name in ((1, "dst"), (3, "src")):
        array = low.as_expression(values[name], site.span_of(index))
        kind = array.type
        if not isinstance(kind, Array) or kind.layout == "strided":
            raise low.fail(
                f"'{name}' must be an array whose elements lie one after the other, not "
                f"{low.phrase(array)}.",
                site.span_of(index),
            )
        if name == "dst" and not kind.writable:
            raise low.fail("Constant memory cannot be assigned to.", site.span_of(index))
        place = low.element(array, values[f"{name}_idx"], site.span_of(index + 1))
        places.append(place)
    size = low.cast(integer(low, values["size"], site.span_of(5), "The size"), UINT64)
    rank, threads = (
        low.cast(low.as_expression(_asked(low, site, group, name), site.span), UINT64)
        for name in ("thread_rank", "num_threads")
    )
    return emitted(low, _COPY, [*places, size, rank, threads], site, alignment)


_ROWS: dict[str, tuple[Rule, str]] = {
    "this_grid": (
        partial(plain, _GROUP, _GRID_GROUP),
        "Return the group of all threads of the grid.\n\n"
        "Its methods: ``is_valid``, ``sync``, ``thread_rank``, ``block_rank``, ``num_threads``, "
        "``num_blocks``, ``dim_blocks``, ``block_index``; ``size`` and ``group_dim`` are the older "
        "names of ``num_threads`` and ``dim_blocks``. A kernel that calls ``sync`` is launched so "
        "that all of its blocks run at the same time.",
    ),
    "this_thread_block": (
        partial(plain, _GROUP, _BLOCK_GROUP),
        "Return the group of the threads of the block.\n\n"
        "Its methods: ``sync``, ``thread_rank``, ``group_index``, ``thread_index``, "
        "``dim_threads``, ``num_threads``; ``size`` and ``group_dim`` are the older names "
        "of the last two.",
    ),
    "tiled_partition": (
        _tiled_partition,
        "Return the thread's group among those of ``size`` neighbouring threads of a block.\n\n"
        "Its methods: ``sync``, ``thread_rank``, ``num_threads``, ``size``, ``meta_group_rank``, "
        "``meta_group_size``, ``shfl``, ``shfl_up``, ``shfl_down``, ``shfl_xor``, ``any``, "
        "``all``, ``ballot``.",
    ),
    "sync": (_sync, "Wait until every thread of ``group`` is here; what they wrote is then seen."),
    "memcpy_async": (
        _memcpy_async,
        "Copy ``size`` bytes from the element ``src[src_idx]`` on to ``dst[dst_idx]`` on.\n\n"
        "Every thread of ``group`` calls it and copies a part. The copy is seen after "
        "``wait(group)``. It is made at once, through registers: what the name promises of other "
        "work meanwhile is up to the device.\n\n"
        "Parameters\n----------\ngroup : group of threads\ndst : array\ndst_idx : int or tuple\n"
        "src : array\nsrc_idx : int or tuple\nsize : int\n    Bytes.\n"
        "aligned_size : int, optional\n    Both places and the size are multiples of it (bytes).",
    ),
    "wait": (_sync, "Wait for the copies of ``group``, in all of its threads."),
    "wait_prior": (
        _wait_prior,
        "Wait for all copies of ``group`` but the last ``step``, in all of its threads.",
    ),
}

INTRINSICS: dict[str, Intrinsic] = {
    name: Intrinsic(f"cg.{name}", rule, doc) for name, (rule, doc) in _ROWS.items()
}
