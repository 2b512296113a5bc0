"""Memory that a kernel declares: shared, local, constant."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kerneltk.core.dtypes import describe
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Builder, CallSite, Intrinsic, Rule, Static, Value
from kerneltk.jit.intrinsics.typing_rules import arguments_of, element_of, shape_of, static_value
from kerneltk.jit.ir.types import Number, Record

_MOST_ALIGNMENT = 1024  # bytes
_MOST_LOCAL = 1 << 19  # bytes: what CUDA gives a thread
MOST_SHARED = 48 << 10
"""Bytes of shared memory whose size is known when a kernel is compiled: more is dynamic in CUDA."""

SHARED_HINT = "use smaller tiles; or None, with a size (bytes) that each launch gives."


def _alignment(low: Builder, value: Value, span: ir.Span, dtype: np.dtype[Any]) -> int:
    """Return an alignment (bytes); 0 for less than elements have anyhow."""
    found = static_value(low, value, span, "An alignment")
    if found is None:
        return 0
    if not isinstance(found, int | np.integer) or found < 1 or found & (found - 1):
        raise low.fail(f"An alignment is a power of two (bytes), not {found!r}.", span)
    if found > _MOST_ALIGNMENT:
        raise low.fail(f"An alignment is at most {_MOST_ALIGNMENT} bytes, not {found}.", span)
    return 0 if found < describe(dtype).alignment else int(found)


def too_much_shared(size: int) -> str:
    """The sentence for more shared memory than a kernel can declare."""
    return f"{size} bytes of shared memory are more than a kernel can declare ({MOST_SHARED})."


def _declared(low: Builder, site: CallSite, values: dict[str, Value], space: str) -> Value:
    """Declare memory."""
    dtype, extents_name = values["dtype"], "size" if "size" in values else "shape"
    shape = values[extents_name]
    places = site.places(tuple(values))
    shape_span = places[extents_name]
    if isinstance(dtype, Static) and hasattr(dtype.value, "storage_rule"):  # a collective's
        return dtype.value.storage_rule(low, site, shape, space)  # type: ignore[no-any-return]
    element = element_of(low, dtype, places["dtype"])
    alignment = _alignment(low, values["alignment"], places["alignment"], element.dtype)
    known = shape.value if isinstance(shape, Static) else shape
    is_dynamic = known is None or (isinstance(known, int | tuple) and known in (0, (0,)))
    if is_dynamic:
        if space != "shared":
            raise low.fail("Local memory needs a shape.", shape_span)
        return low.declare(element, None, space, site.span, alignment)
    if space == "shared" and not isinstance(shape, Static):
        raise low.fail_unknown(
            shape,
            "The size of shared memory must be known when the kernel is compiled.",
            shape_span,
            "use a literal or a global; or None, with a size (bytes) that each launch gives.",
        )
    extents = shape_of(low, shape, shape_span)
    size = math.prod(extents) * element.dtype.itemsize
    if space == "local" and size > _MOST_LOCAL:
        raise low.fail(
            f"{size} bytes of local memory are more than a thread can have ({_MOST_LOCAL}).",
            shape_span,
            "use an array argument with a part for each thread.",
        )
    if space == "shared" and size > MOST_SHARED:
        raise low.fail(too_much_shared(size), shape_span, SHARED_HINT)
    return low.declare(element, extents, space, site.span, alignment)


def _memory(space: str, *names: str, **defaults: Any) -> Rule:
    """Return the rule of a function that declares memory; CuPy's and numba's orders differ."""

    def rule(low: Builder, site: CallSite) -> Value:
        values = arguments_of(low, site, names, {"alignment": None, **defaults})
        return _declared(low, site, values, space)

    return rule


def _array_like(low: Builder, site: CallSite) -> Value:
    """``const.array_like(x)``: a copy of an array from outside, in constant memory."""
    values = arguments_of(low, site, ("ary",))
    found = static_value(low, values["ary"], site.span_of(0), "The array")
    if not isinstance(found, np.ndarray | tuple | list):
        raise low.fail(f"{low.describe(values['ary'])} is no NumPy array.", site.span_of(0))
    try:
        array = np.ascontiguousarray(found)
    except ValueError:  # rows of different lengths
        raise low.fail("This is no array of numbers.", site.span_of(0)) from None
    element = constant_element(low, array, site.span_of(0))
    return low.declare(element, array.shape, "constant", site.span, 0, array.tobytes())


def constant_element(low: Builder, array: np.ndarray[Any, Any], span: ir.Span) -> Number | Record:
    """Return the type of the elements of an array that is copied into constant memory; raises for
    one that cannot be.
    """
    element = element_of(low, Static(array.dtype), span)
    if array.ndim == 0:
        raise low.fail("An array without dimensions cannot be copied.", span)
    if array.nbytes > 65536:
        raise low.fail(
            f"The array has {array.nbytes} bytes; constant memory has 65536.",
            span,
            "pass it as an argument.",
        )
    return element


shared_array = Intrinsic(
    "cuda.shared.array",
    _memory("shared", "shape", "dtype", "alignment", dtype=np.float64),
    "Return shared memory of a shape and a dtype.",
)
local_array = Intrinsic(
    "cuda.local.array",
    _memory("local", "shape", "dtype", "alignment", dtype=np.float64),
    "Return memory of the thread's own, of a shape and a dtype.",
)
array_like = Intrinsic(
    "cuda.const.array_like", _array_like, "Return a NumPy array from outside as constant memory."
)

INTRINSICS: dict[str, Any] = {
    "shared_memory": Intrinsic(
        "shared_memory",
        _memory("shared", "dtype", "size", "alignment"),
        "Return memory that the threads of a block share.\n\n"
        "Parameters\n----------\ndtype : dtype\nsize : int, tuple of int or None\n"
        "    Its shape (elements); None is the block's dynamic shared memory, whose size the "
        "launch gives.\nalignment : int, optional\n    Bytes.",
    ),
    "local_memory": Intrinsic(
        "local_memory",
        _memory("local", "dtype", "shape", "alignment"),
        "Return memory of the thread's own: dtype and shape.",
    ),
}
