"""numba-cuda's spellings: ``from kerneltk.jit import cuda`` in place of ``from numba import cuda``.

In kernels: ``grid``, ``gridsize``, ``threadIdx``, ``blockIdx``, ``blockDim``, ``gridDim``,
``laneid``, ``warpsize``; barriers, fences, shuffles, votes and matches; ``shared.array``,
``local.array``, ``const.array_like``; ``atomic.add`` and its kin; ``popc``, ``clz``, ``brev``,
``ffs``, ``fma``, ``cbrt``, ``rsqrt``, ``selp``; ``float32x4`` and its kin; ``cg``, ``fp16``,
``random``.

Around them: :func:`jit`, :func:`vectorize`, :func:`guvectorize`, :func:`Reduce`,
:func:`to_device`, :func:`device_array`, :func:`device_array_like`, :func:`pinned_array`,
:func:`mapped_array`, :func:`as_cuda_array`, :func:`is_cuda_array`, :func:`In`, :func:`InOut`,
:func:`stream`, :func:`event`, :func:`event_elapsed_time`, :func:`synchronize`,
:func:`is_available`, :func:`get_current_device`, :func:`select_device`. Without a GPU the device
is this machine's cores.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

from kerneltk.jit.intrinsics import vectors
from kerneltk.jit.intrinsics.base import Named
from kerneltk.jit.intrinsics.execution import atomics, memory, threads, warp
from kerneltk.jit.intrinsics.numbers import bits
from kerneltk.jit.intrinsics.numbers.libdevice import FUNCTIONS
from kerneltk.jit.numba.host_arrays import (
    INSTEAD,
    In,
    InOut,
    as_cuda_array,
    close,
    current_context,
    default_stream,
    defer_cleanup,
    detect,
    device_array,
    device_array_like,
    event,
    event_elapsed_time,
    external_stream,
    get_current_device,
    gpus,
    is_available,
    is_cuda_array,
    legacy_default_stream,
    list_devices,
    mapped_array,
    mapped_array_like,
    per_thread_default_stream,
    pinned,
    pinned_array,
    pinned_array_like,
    profile_start,
    profile_stop,
    profiling,
    select_device,
    stream,
    synchronize,
    to_device,
)
from kerneltk.jit.numba.kernel import CudaKernel, jit
from kerneltk.jit.numba.reduction import Reduce
from kerneltk.jit.numba.ufuncs import guvectorize, vectorize
from kerneltk.jit.source import exec_sources

exec_sources.record()

_TABLES: tuple[dict[str, Any], ...] = (
    threads.INTRINSICS,
    warp.INTRINSICS,
    bits.INTRINSICS,
    vectors.INTRINSICS,
)
for _table in _TABLES:
    globals().update(_table)
Out = InOut
managed_array = mapped_array
reduce = Reduce
laneid = threads.laneid_value  # a value, as in numba


class _Namespace(Named, SimpleNamespace):
    """Functions behind a name of this module."""


shared = _Namespace(__name__="cuda.shared", array=memory.shared_array)
local = _Namespace(__name__="cuda.local", array=memory.local_array)
const = _Namespace(__name__="cuda.const", array_like=memory.array_like)
libdevice = _Namespace(__name__="cuda.libdevice", **FUNCTIONS)
atomic = _Namespace(__name__="cuda.atomic", **atomics.NUMBA_ATOMICS)

__all__ = [
    "CudaKernel",
    "In",
    "InOut",
    "Out",
    "Reduce",
    "as_cuda_array",
    "atomic",
    "close",
    "const",
    "current_context",
    "default_stream",
    "defer_cleanup",
    "detect",
    "device_array",
    "device_array_like",
    "event",
    "event_elapsed_time",
    "external_stream",
    "get_current_device",
    "gpus",
    "guvectorize",
    "is_available",
    "is_cuda_array",
    "jit",
    "laneid",
    "legacy_default_stream",
    "libdevice",
    "list_devices",
    "local",
    "managed_array",
    "mapped_array",
    "mapped_array_like",
    "per_thread_default_stream",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "profile_start",
    "profile_stop",
    "profiling",
    "reduce",
    "select_device",
    "shared",
    "stream",
    "synchronize",
    "to_device",
    "vectorize",
]
__all__ += [name for table in _TABLES for name in table]

_MODULES = {
    "cg": "kerneltk.jit.cg",
    "fp16": "kerneltk.jit.cuda.fp16",
    "random": "kerneltk.jit.cuda.random",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    instead = INSTEAD.get(name)
    if instead is not None:
        raise AttributeError(f"'cuda.{name}' is not available.\n  Hint: {instead}")
    raise AttributeError(f"module 'kerneltk.jit.cuda' has no attribute '{name}'")
