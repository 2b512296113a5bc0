"""What a repeated call of a `@kernel` touches: comparisons, and the call of the typed kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kerneltk.backends.base import Backend
from kerneltk.jit.frontends.typed_kernel import TypedKernel
from kerneltk.launch.compiled import dlpack_device
from kerneltk.launch.dispatch import Call, written_arguments
from kerneltk.launch.shortcuts import Kind, shortcut_of


class Specialized(NamedTuple):
    """The kernel for arguments of some types, the dtypes of its outputs, and of how many dimensions
    the index is that the function asks for.
    """

    kernel: TypedKernel
    dtypes: tuple[np.dtype[Any], ...]
    index_ndim: int


def make_shortcut(
    call: Call, raw: Sequence[bool], known: Specialized, otherwise: Callable[..., Any]
) -> Callable[..., Any] | None:
    """``run(*arguments, *outputs)`` for arguments of a call's types, which calls its typed kernel,
    or `otherwise` with arguments of other types; None where a call has to look more closely: at
    other libraries' arrays that are more than elements to it, at shapes that depend on each other.

    `raw` tells which arguments the function takes whole. The arrays have less than 2**31 elements.
    """
    backend, typed, (_, dtypes, index_ndim) = call.backend, known.kernel, known
    assert backend is not None
    passed_args, args = (*call.args, *call.outputs), (*call.own, *call.own_outputs)
    given = len(call.outputs)
    count = len(args) - given
    arrays = [isinstance(arg, backend.array_type) for arg in args]
    # A NumPy scalar only looks like an array.
    for arg in args:
        is_array = hasattr(arg, "dtype") and not isinstance(arg, np.generic)
        if is_array and type(arg) is not backend.array_type:
            return None
    # Of other libraries' arrays no more is asked than their memory and dtypes.
    observes = any(raw) or index_ndim > 1  # and may rely on short axes
    foreign: dict[int, tuple[int, int]] = {}
    for k, own in enumerate(args):
        if own is not passed_args[k]:
            given_one, is_whole = passed_args[k], observes or not arrays[k]
            memory = None if is_whole else dlpack_device(given_one, backend.array_type)
            if memory is None:
                return None
            foreign[k] = memory
    is_plain = type(typed) is TypedKernel
    libraries = {type(passed_args[k]) for k in foreign}
    # Results become arrays of one other library, one by one.
    if (0, 0) in foreign.values() and (not is_plain or len(libraries) > 1):
        return None
    written = {*range(count, len(args)), *(written_arguments(typed, call.own) if foreign else ())}
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
    kinds = [
        Kind(
            type(passed_args[k]),
            arg.dtype if arrays[k] else None,
            attributes[k],
            foreign=(*foreign[k], k in written, -1, None, None) if k in foreign else (),
        )
        for k, arg in enumerate(args)
    ]
    passed = [k for k, arg in enumerate(args) if arg is not None]
    sized = [k for k, is_array in enumerate(arrays) if is_array]
    run: Any = typed._inline_cache if is_plain else typed
    if allocates:
        run = _allocating(typed, backend, passed.index(whole[0]), dtypes)
    return shortcut_of(
        kinds,
        passed,
        run,
        otherwise,
        backend.arrays,
        (lambda *args: all(0 < args[k].size < 2**31 for k in sized)) if observes else None,
    )


def _allocating(
    typed: Callable[..., Any], backend: Backend, like: int, dtypes: Sequence[np.dtype[Any]]
) -> Callable[..., Any]:
    """The kernel with new outputs, of the shape of one of its arguments."""
    empty = backend.empty

    def call(*args: Any) -> Any:
        return typed(*args, *(empty(args[like].shape, dtype, "C") for dtype in dtypes))

    return call
