"""What a repeated call of a `@kernel` touches: comparisons, and the call of the typed kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kerneltk.backends.base import Backend
from kerneltk.launch.shortcuts import Kind, shortcut_of


def make_shortcut(
    passed_args: Sequence[Any],
    args: Sequence[Any],
    raw: Sequence[bool],
    given: int,
    index_ndim: int,
    dtypes: Sequence[np.dtype[Any]],
    backend: Backend,
    typed: Callable[..., Any],
    otherwise: Callable[..., Any],
) -> Callable[..., Any] | None:
    """``call(*arguments, *outputs)`` for arguments of these types, which calls `typed`, or
    `otherwise` with arguments of other types; None where a call has to look more closely: at other
    libraries' arrays that are more than elements to it, at shapes that depend on each other.

    `args` are `passed_args` as the backend's own. The last of them are the `given` outputs. `raw`
    tells which arguments the function takes whole, `dtypes` are those of the outputs. The index
    that the function asks for has `index_ndim` dimensions; the arrays have less than 2**31
    elements.
    """
    count = len(args) - given
    arrays = [isinstance(arg, backend.array_type) for arg in args]
    # A NumPy scalar only looks like an array.
    for arg in args:
        is_array = hasattr(arg, "dtype") and not isinstance(arg, np.generic)
        if is_array and type(arg) is not backend.array_type:
            return None
    # Of other libraries' arrays no more is asked than their types and dtypes; where launchers take
    # them as they are, that is worth while.
    foreign = [k for k, own in enumerate(args) if own is not passed_args[k]]
    observes = any(raw) or index_ndim > 1  # and may rely on short axes
    for k in foreign:
        kind = type(passed_args[k])
        if observes or not (hasattr(kind, "__dlpack_c_exchange_api__") and hasattr(kind, "dtype")):
            return None
    by_element = [k for k in range(count) if arrays[k] and not raw[k]]
    whole = [k for k in range(count) if arrays[k] and raw[k]]
    attributes: list[tuple[tuple[str, Any], ...]] = [()] * len(args)
    for k in whole:
        flags = ("flags.c_contiguous", args[k].flags.c_contiguous)
        attributes[k] = (("ndim", args[k].ndim), flags)
    if whole and not given:
        # What has no dimensions is a number beside whole arrays, and does not give the shape.
        for k in by_element:
            attributes[k] = (("ndim", args[k].ndim),)
        by_element = [k for k in by_element if args[k].ndim]
    allocates = False
    if given:
        if index_ndim > 1:
            attributes[count] = (("ndim", index_ndim),)
            if by_element:
                return None
    elif by_element:
        if index_ndim > 1:
            return None
    else:
        if not whole or not dtypes:
            return None
        if index_ndim > 1 and args[whole[0]].ndim != index_ndim:
            return None
        allocates = True
    # A tensor of the host is a number beside those on a GPU, for which another kernel is.
    on_device = [k for k in foreign if arrays[k]]
    slow_guard = _same_device(on_device) if len(on_device) > 1 else None
    kinds = [
        Kind(type(arg), arg.dtype if is_array else None, asked)
        for arg, is_array, asked in zip(passed_args, arrays, attributes, strict=True)
    ]
    passed = [k for k, arg in enumerate(args) if arg is not None]
    if allocates:
        typed = _allocating(typed, backend, passed.index(whole[0]), dtypes)
    return shortcut_of(
        kinds,
        passed,
        typed,
        otherwise,
        backend.arrays,
        _are_small([k for k, is_array in enumerate(arrays) if is_array]) if observes else None,
        slow_guard,
    )


def _are_small(arrays: Sequence[int]) -> Callable[..., bool]:
    return lambda *args: all(0 < args[k].size < 2**31 for k in arrays)


def _same_device(arrays: Sequence[int]) -> Callable[..., bool]:
    def call(*args: Any) -> bool:
        first, *others = (getattr(args[k], "device", None) for k in arrays)
        return first is not None and all(other == first for other in others)

    return call


def _allocating(
    typed: Callable[..., Any], backend: Backend, like: int, dtypes: Sequence[np.dtype[Any]]
) -> Callable[..., Any]:
    """The kernel with new outputs, of the shape of one of its arguments."""
    empty = backend.empty

    def call(*args: Any) -> Any:
        return typed(*args, *(empty(args[like].shape, dtype, "C") for dtype in dtypes))

    return call
