"""What code relies on where a kernel runs: properties of a backend, without the backend itself.

Schedules, templates and front-ends read these; none of them compares a backend's name.
"""

from __future__ import annotations

import functools
from dataclasses import astuple

from kerneltk.core.artifacts import BackendName
from kerneltk.core.records import record

COUNTERS = 16384
"""Arrival counters (32 bits each) in front of a launch's scratch memory: one for each output, or
group of them, that several blocks share. They are zero before and after each launch, so that
launches on one stream share them.
"""

WARP = 32
"""Threads of a warp."""

VECTOR_BYTES = 16
"""The widest access of one thread (bytes)."""

SHARED_BYTES = 48 << 10
"""Shared memory (bytes) that a block of every GPU has without asking for more."""


@record
class Capabilities:
    """The properties of one backend.

    Parameters
    ----------
    name : str
        The backend's, in translation units, cache keys and calls.
    location : str
        What messages call the memory of its arrays.
    template_suffix : str
        Which templates it takes: those that end in ``.{template_suffix}.j2``.
    warp_size : int
        Threads of a warp.
    is_fallback : bool
        Whether kernels without arrays run there until the library of another backend is imported.
        Its arrays are NumPy's, which may also stand for structures that are passed by value.
    in_host_memory : bool
        Whether kernels reach this process's own memory, and Python reaches that of kernels.
    emulates_cuda : bool
        Whether its compiler knows plain C++ alone: threads, barriers and CUDA's functions are
        headers of this package, and symbols share one namespace with the process's libraries.
    walks_chunks : bool
        Whether a launch hands chunks of the loop to a few cores, which walk them in nested loops.
        Otherwise each thread computes its indices from its number.
    short_indices : bool
        Whether 32-bit index arithmetic, and shapes that are known to be equal, pay for
        specializations of their own.
    aligns_complex_whole : bool
        Whether a complex number is moved by one access and aligned for that; otherwise as each of
        its parts is.
    streaming_stores : bool
        Whether results that no cache would hold can bypass the caches.
    is_interruptible : bool
        Whether a long launch has to be one that can be interrupted: the caller waits for it.
    takes_launch_bounds : bool
        Whether ``__launch_bounds__`` means something to its compiler.
    takes_fast_math : bool
        Whether ``fastmath`` of decorated kernels is asked of its compiler.
    loads_binaries : bool
        Whether it runs PTX and cubins that were compiled elsewhere.
    has_architectures : bool
        Whether it is compiled for by the name of an architecture, such as ``"sm_90"``, instead of
        its own.
    """

    name: BackendName
    location: str
    template_suffix: str
    warp_size: int
    is_fallback: bool
    in_host_memory: bool
    emulates_cuda: bool
    walks_chunks: bool
    short_indices: bool
    aligns_complex_whole: bool
    streaming_stores: bool
    is_interruptible: bool
    takes_launch_bounds: bool
    takes_fast_math: bool
    loads_binaries: bool
    has_architectures: bool


@functools.lru_cache(maxsize=16)
def described_backend(backend: Capabilities) -> str:
    """Describe what a backend can do, for keys of the cache."""
    return repr(astuple(backend))
