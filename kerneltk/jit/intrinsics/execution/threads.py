"""Where a thread is, barriers, and fences: ``threadIdx``, ``grid``, ``syncthreads``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from kerneltk.errors import UnsupportedError
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import (
    Builder,
    CallSite,
    Intrinsic,
    Named,
    Operation,
    Rule,
    Static,
    Value,
)
from kerneltk.jit.intrinsics.typing_rules import arguments_of, call, emitted, integer, static_value
from kerneltk.jit.ir.types import BOOL, INT32, PY_INT, UINT32, VOID, Number, Type

_THREAD = frozenset((ir.Effect.THREAD,))


class DeviceValue(Named):
    """A value that only a thread has: ``threadIdx.x``, ``warpsize``."""

    def __init__(self, name: str, operation: Operation, kind: Type = PY_INT) -> None:
        self.__name__ = name
        self.operation = operation
        self._kind = kind

    def value_rule(self, low: Builder, span: ir.Span) -> ir.Expression:
        """Return the value as an expression."""
        return ir.Call(self.operation, (), self._kind, span)

    def __repr__(self) -> str:
        return f"<{self.__name__} of a thread>"

    def _outside(self, *_: Any) -> Any:
        raise UnsupportedError(f"'{self.__name__}' can only be used inside of a kernel.")

    __index__ = __int__ = __float__ = __bool__ = __lt__ = __le__ = __gt__ = __ge__ = _outside
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = _outside
    __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = _outside
    __lshift__ = __rshift__ = __and__ = __or__ = __xor__ = _outside


def _coordinate(
    name: Any, axis: Any, text: str, limits: tuple[int, int], effects: Iterable[ir.Effect] = ()
) -> Operation:
    """Return the operation of a coordinate along an axis, which is ``{0}`` in its source."""
    known = ir.Coordinate(name, axis)
    text = text.format(axis)
    return Operation(f"{name}.{axis}", text, frozenset(effects), range=limits, coordinate=known)


class Coordinates(Named):
    """``threadIdx``, ``blockIdx``, ``blockDim`` or ``gridDim``: three values of a thread.

    Attributes
    ----------
    x, y, z : int
        Along each axis (threads or blocks).
    """

    def __init__(
        self, name: Any, ranges: dict[Any, tuple[int, int]], effects: Iterable[ir.Effect] = ()
    ) -> None:
        self.__name__ = name
        self.instead = f"take '{name}.x', '{name}.y' or '{name}.z'."
        for axis, limits in ranges.items():
            operation = _coordinate(name, axis, f"(long long){name}.{{0}}", limits, effects)
            setattr(self, axis, DeviceValue(f"{name}.{axis}", operation))

    def __repr__(self) -> str:
        return f"<{self.__name__} of a thread>"


# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
_MOST_THREADS = {"x": 1024, "y": 1024, "z": 64}
_MOST_BLOCKS = {"x": (1 << 31) - 1, "y": 65535, "z": 65535}
_MOST_OF_GRID = _MOST_THREADS["x"] * _MOST_BLOCKS["x"]


def _indices(most: dict[str, int]) -> dict[str, tuple[int, int]]:
    return {axis: (0, count - 1) for axis, count in most.items()}


def _extents(most: dict[str, int]) -> dict[str, tuple[int, int]]:
    return {axis: (1, count) for axis, count in most.items()}


threadIdx = Coordinates("threadIdx", _indices(_MOST_THREADS), _THREAD)  # noqa: N816 (CUDA's names)
blockIdx = Coordinates("blockIdx", _indices(_MOST_BLOCKS))  # noqa: N816
blockDim = Coordinates("blockDim", _extents(_MOST_THREADS))  # noqa: N816
gridDim = Coordinates("gridDim", _extents(_MOST_BLOCKS))  # noqa: N816
_WARP_SIZE = Operation("warpsize", "32ll", range=(32, 32))
warpsize = DeviceValue("warpsize", _WARP_SIZE)
_LANE = Operation("laneid", "KERNELTK_LANE", _THREAD, ("jit_threads.hpp",), range=(0, 31))
laneid_value = DeviceValue("cuda.laneid", _LANE)


def with_warps_of(size: int, program: ir.Program) -> ir.Program:
    """Return a program for warps of `size` threads."""

    def known(node: Any) -> Any:
        is_size = isinstance(node, ir.Call) and node.operation is _WARP_SIZE
        return ir.Literal_(size, PY_INT, node.span) if is_size else node

    if size == 32:
        return program
    return ir.Program(tuple(replace(f, body=ir.rebuilt(f.body, known)) for f in program.functions))


_INDEX_TEXT = "((long long)blockIdx.{0} * blockDim.{0} + threadIdx.{0})"
_EXTENT_TEXT = "((long long)gridDim.{0} * blockDim.{0})"
_GRID = [_coordinate("grid", axis, _INDEX_TEXT, (0, _MOST_OF_GRID - 1), _THREAD) for axis in "xyz"]
_GRID_SIZE = [_coordinate("gridsize", axis, _EXTENT_TEXT, (1, _MOST_OF_GRID)) for axis in "xyz"]


def _along_axes(operations: list[Operation], low: Builder, site: CallSite) -> Value:
    value = arguments_of(low, site, ("ndim",))["ndim"]
    ndim = static_value(low, value, site.span_of(0), "The number of dimensions")
    known = isinstance(ndim, int | np.integer) and not isinstance(ndim, bool)
    if not known or not 1 <= ndim <= 3:
        shown = low.phrase(value)
        raise low.fail(f"'{site.name}' takes 1, 2 or 3, not {shown}.", site.span_of(0))
    items = [ir.Call(operation, (), PY_INT, site.span) for operation in operations[:ndim]]
    return items[0] if ndim == 1 else low.make_tuple(items, site.span)


def _index(low: Builder, site: CallSite) -> Value:
    value = arguments_of(low, site, ("ndim",), {"ndim": 1})["ndim"]
    ndim = static_value(low, value, site.span_of(0), "The number of dimensions")
    if not isinstance(ndim, int) or isinstance(ndim, bool) or not 1 <= ndim <= 32:
        raise low.fail(f"'{site.name}' takes a number from 1 to 32, not {ndim!r}.", site.span_of(0))
    items = low.index(ndim, site.span)
    return items[0] if ndim == 1 else low.make_tuple(items, site.span)


def plain(operation: Operation, kind: Type, low: Builder, site: CallSite) -> Value:
    """Type a call of an intrinsic without arguments."""
    arguments_of(low, site, ())
    found = call(operation, (), kind, site)
    if kind == VOID:
        return emitted(low, operation, (), site)
    return low.temporary(found) if ir.Effect.MEMORY in operation.effects else found


BARRIER = Operation(
    "syncthreads", "__syncthreads()", frozenset((ir.Effect.BARRIER, ir.Effect.MEMORY))
)
_WAITS = frozenset((ir.Effect.WAITS, ir.Effect.MEMORY, ir.Effect.THREAD))


def barrier(low: Builder, span: ir.Span) -> Static:
    """Add a barrier of the block."""
    low.emit(ir.Evaluate(ir.Call(BARRIER, (), VOID, span), span))
    return Static(None)


def _voting_barrier(name: str, kind: Number) -> Rule:
    text = f"__{name}({{0}})" + (" != 0" if kind == BOOL else "")
    text, count = (f"({text})", None) if kind == BOOL else (text, (0, _MOST_THREADS["x"]))
    operation = Operation(name, text, _WAITS, range=count)

    def rule(low: Builder, site: CallSite) -> Value:
        value = arguments_of(low, site, ("predicate",))["predicate"]
        truth = low.as_expression(low.truth(value, site.span_of(0)), site.span)
        found = low.temporary(call(operation, [truth], kind, site))
        return low.cast(found, PY_INT) if kind != BOOL else found

    return rule


_SYNCWARP = Operation("syncwarp", "__syncwarp({0})", _WAITS)


def _syncwarp(low: Builder, site: CallSite) -> Value:
    value = arguments_of(low, site, ("mask",), {"mask": 0xFFFFFFFF})["mask"]
    mask = as_mask(low, value, site)
    return emitted(low, _SYNCWARP, [mask], site)


def as_mask(low: Builder, value: Value, site: CallSite) -> ir.Expression:
    """Return a mask of lanes: 32 bits; -1 is all of them."""
    if isinstance(value, Static) and isinstance(value.value, int):
        return ir.Literal_(np.uint32(value.value & 0xFFFFFFFF), UINT32, site.span_of(0))
    return low.cast(integer(low, value, site.span_of(0), "A mask"), UINT32)


_SLEEP = Operation("nanosleep", "__nanosleep({0})", _WAITS)


def _nanosleep(low: Builder, site: CallSite) -> Value:
    value = arguments_of(low, site, ("ns",))["ns"]
    time = low.cast(integer(low, value, site.span_of(0), "A time"), UINT32)
    return emitted(low, _SLEEP, [time], site)


def _fence(name: str) -> Rule:
    return partial(plain, Operation(name, f"__{name}()", frozenset((ir.Effect.MEMORY,))), VOID)


_NOW = frozenset((ir.Effect.MEMORY, ir.Effect.THREAD))
_CLOCK = Operation("clock64", "clock64()", _NOW)
_CLOCK32 = Operation("clock", "(long long)clock()", _NOW)
_TIMER = Operation("globaltimer", "kerneltk::jit::global_timer()", _NOW, ("jit_threads.hpp",))

_ROWS: dict[str, tuple[Rule, str]] = {
    "index": (
        _index,
        "Return the place of the element that a ``@jit.kernel`` computes: an int, in C order, for "
        "``ndim=1``, else a tuple of ``ndim``.",
    ),
    "grid": (
        partial(_along_axes, _GRID),
        "Return the thread's index in the grid: an int for ``ndim=1``, else a tuple of ``ndim``.",
    ),
    "gridsize": (
        partial(_along_axes, _GRID_SIZE),
        "Return the number of the grid's threads along each of ``ndim`` axes.",
    ),
    "laneid": (partial(plain, _LANE, PY_INT), "Return the thread's place in its warp: 0 to 31."),
    "syncthreads": (
        partial(plain, BARRIER, VOID),
        "Wait until every thread of the block is here; what they wrote is then seen.",
    ),
    "syncthreads_count": (
        _voting_barrier("syncthreads_count", INT32),
        "As ``syncthreads``; return for how many threads ``predicate`` is true.",
    ),
    "syncthreads_and": (
        _voting_barrier("syncthreads_and", BOOL),
        "As ``syncthreads``; return whether ``predicate`` is true for all threads.",
    ),
    "syncthreads_or": (
        _voting_barrier("syncthreads_or", BOOL),
        "As ``syncthreads``; return whether ``predicate`` is true for any thread.",
    ),
    "syncwarp": (_syncwarp, "Wait for the lanes of a warp that are in ``mask``."),
    "threadfence": (
        _fence("threadfence"),
        "Let no thread of the device see later writes before earlier ones.",
    ),
    "threadfence_block": (_fence("threadfence_block"), "The same for the threads of the block."),
    "threadfence_system": (_fence("threadfence_system"), "The same for all devices and the host."),
    "nanosleep": (_nanosleep, "Pause the thread for about ``ns`` nanoseconds."),
    "clock": (
        partial(plain, _CLOCK32, PY_INT),
        "Return a counter of the multiprocessor's cycles.",
    ),
    "clock64": (partial(plain, _CLOCK, PY_INT), "Return the counter of cycles in 64 bits."),
    "globaltimer": (partial(plain, _TIMER, PY_INT), "Return the device's time (nanoseconds)."),
}

INTRINSICS: dict[str, Any] = {
    "threadIdx": threadIdx,
    "blockIdx": blockIdx,
    "blockDim": blockDim,
    "gridDim": gridDim,
    "warpsize": warpsize,
    **{name: Intrinsic(name, rule, doc) for name, (rule, doc) in _ROWS.items()},
}
