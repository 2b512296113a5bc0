"""What a repeated call of a `@kernel` touches: a few comparisons, and the call of the typed kernel.

A shortcut is for one combination of argument types, and Python source, as launchers are, or an
object of the extension module's. Where the arguments are of other types it calls what finds out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from kerneltk.backends.base import Backend
from kerneltk.launch.compiled import shortcut_of


@lru_cache(maxsize=512)
def _compiled(source: str) -> CodeType:
    return compile(source, "<shortcut>", "exec")


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
    foreign = [type(arg) for own, arg in zip(args, passed_args, strict=True) if own is not arg]
    if foreign and (any(raw) or index_ndim > 1):
        return None
    for kind in foreign:
        if not (hasattr(kind, "__dlpack_c_exchange_api__") and hasattr(kind, "dtype")):
            return None
    by_element = [k for k in range(count) if arrays[k] and not raw[k]]
    whole = [k for k in range(count) if arrays[k] and raw[k]]
    tests = [f"type(a{k}) is type{k}" for k in range(len(args))]
    for k, is_array in enumerate(arrays):
        if not is_array:
            continue
        tests.append(f"a{k}.dtype is dtype{k}")
        if any(raw) or index_ndim > 1:  # the source may rely on short axes
            tests.append(f"0 < a{k}.size < {2**31}")
        if k < count and raw[k]:
            tests += [f"a{k}.ndim == {args[k].ndim}", f"a{k}.flags.c_contiguous is contiguous{k}"]
    if whole and not given:
        # What has no dimensions is a number beside whole arrays, and does not give the shape.
        tests += [f"a{k}.ndim == {args[k].ndim}" for k in by_element]
        by_element = [k for k in by_element if args[k].ndim]
    passed = [f"a{k}" for k in range(len(args)) if args[k] is not None]
    head: list[str] = []
    if given:
        if index_ndim > 1:
            tests.append(f"a{count}.ndim == {index_ndim}")
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
        for j in range(len(dtypes)):
            head.append(f"    out{j} = empty(a{whole[0]}.shape, out_dtype{j}, 'C')")
            passed.append(f"out{j}")
    if not any(raw) and index_ndim <= 1:  # nothing but types and dtypes is compared
        layout = None if backend.arrays.layout is None else backend.arrays.layout()
        kinds = [
            (type(given), given.dtype if is_array else None, given is not None)
            for given, is_array in zip(passed_args, arrays, strict=True)
        ]
        compiled = shortcut_of(kinds, layout, typed, otherwise)
        if compiled is not None:
            return compiled
    # A tensor of the host is a number beside those on a GPU, for which another kernel is.
    others = [k for k, own in enumerate(args) if arrays[k] and own is not passed_args[k]]
    if len(others) > 1:
        if not all(hasattr(kind, "device") for kind in foreign):
            return None
        tests += [f"a{k}.device == a{others[0]}.device" for k in others[1:]]
    names = ", ".join(f"a{k}" for k in range(len(args)))
    source = "\n".join(
        [
            f"def call({names}):",
            f"    if not ({' and '.join(tests)}):",
            f"        return otherwise({names})",
            *head,
            f"    return typed({', '.join(passed)})",
        ]
    )
    names_: dict[str, Any] = {
        "otherwise": otherwise,
        "typed": typed,
        "empty": backend.empty,
        **{f"type{k}": type(arg) for k, arg in enumerate(passed_args)},
        **{f"dtype{k}": passed_args[k].dtype for k, is_array in enumerate(arrays) if is_array},
        **{
            f"contiguous{k}": args[k].flags.c_contiguous
            for k, is_array in enumerate(arrays)
            if is_array
        },
        **{f"out_dtype{j}": dtype for j, dtype in enumerate(dtypes)},
    }
    exec(_compiled(source), names_)
    made: Callable[..., Any] = names_["call"]
    return made
