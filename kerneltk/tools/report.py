"""What a call takes, and what bounds it: measured times, and the operations in its code."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import Backend
from kerneltk.core.artifacts import WARP
from kerneltk.core.records import record
from kerneltk.elementwise import ElementwiseKernel
from kerneltk.errors import ArgumentTypeError
from kerneltk.fusion.explain import Explanation
from kerneltk.launch.explanation import arrays_of
from kerneltk.object_code.operations import ALU, CACHE, FP32, FP64, ISSUE, SPECIAL

MEMORY = "memory"
_LEAST = 0.6  # of the time, that what bounds it takes by itself
_CACHED = 1.15  # of a copy's bandwidth
_COPIED = 1 << 28  # bytes on a GPU; a quarter of them on a host
# Results of a multiprocessor in a clock: CUDA C++ Programming Guide, throughput of arithmetic
# instructions. Of all: four warps begin an instruction, the first-level cache has 32 words.
_RATES = {"sm_70": (64, 32), "sm_75": (64, 2), "sm_80": (64, 32), "sm_86": (128, 2),
          "sm_87": (128, 2), "sm_89": (128, 2), "sm_120": (128, 2), "sm_121": (128, 2)}  # fmt: skip
_RECENT = (128, 64)
_OF_ALL = {SPECIAL: 16, ALU: 64, CACHE: 32, ISSUE: 4 * WARP}


@record
class Report:
    """A call that was measured.

    Parameters
    ----------
    explanation : KernelExplanation or Explanation
        What it launches.
    seconds : float
        The median time of a call (s), by CUDA's events around some calls on a GPU.
    on_host : float
        Of that, the time until the call returns (s).
    copy : float
        The bandwidth of a copy on this device (bytes/s, read and written).
    least : dict of float
        By ``"memory"`` and units of a GPU: the time (s) that the call's bytes, or the operations in
        its code, take there by themselves.
    is_least : bool
        Whether loops whose length is not in the code count once.
    """

    explanation: Any
    seconds: float
    on_host: float
    copy: float
    least: Mapping[str, float]
    is_least: bool = False

    @property
    def share(self) -> float:
        """The call's part of the copy's bandwidth, by the bytes that must move."""
        return self.least[MEMORY] / self.seconds

    @property
    def bound(self) -> str:
        """What bounds the call: the unit that needs most of its time; ``"launch"`` where that is
        less than 0.6 and the host takes as long as the device; else ``"latency"``. Arrays that
        are read faster than memory allows are in ``"caches"``.
        """
        unit = max(self.least, key=self.least.__getitem__)
        if unit == MEMORY and self.share > _CACHED:
            return "caches"
        if self.least[unit] >= _LEAST * self.seconds:
            return unit
        if len(self.least) == 1:
            return "instructions or launch"  # of a CPU nothing is counted
        return "launch" if self.on_host > _LEAST * self.seconds else "latency"

    def __str__(self) -> str:
        least = ", ".join(
            f"{unit} {seconds * 1e6:.3g}" for unit, seconds in self.least.items() if seconds
        )
        return (
            f"{self.explanation}\n"
            f"  {self.seconds * 1e6:.4g} µs, {self.share:.2f} of a copy's bandwidth "
            f"({self.copy / 1e9:.4g} GB/s); bound by {self.bound}\n"
            f"  at least (µs): {least}"
        )


def report(kernel: Any, *args: Any, **options: Any) -> Report:
    """Measure a call: it is made some dozens of times, and what it launches is explained.

    Parameters
    ----------
    kernel : kernel
        What has ``explain``: a kernel from expressions, a `RawKernel`, a kernel in Python or
        ``kernel[grid, block]`` of it, a vectorized or a fused function.
    *args, **options
        As in a call; both the kernel and its ``explain`` are given them. What the call writes to
        is written to each time.

    Returns
    -------
    Report
        Its ``str`` has the explanation, the time, the share of a copy's bandwidth and what bounds
        the call.

    Raises
    ------
    ArgumentTypeError
        The object has no ``explain``.
    KernelToolkitError
        As the call and ``explain`` raise.

    Examples
    --------
    >>> import numpy as np
    >>> from kerneltk import ElementwiseKernel
    >>> double = ElementwiseKernel("T x", "T y", "y = 2 * x", "double_it")
    >>> found = report(double, np.ones(1 << 16, np.float32))
    >>> found.explanation.bytes, 0 < found.seconds < 1
    (524288, True)
    """
    if not hasattr(kernel, "explain"):
        raise ArgumentTypeError(
            f"Nothing explains an object of type '{type(kernel).__name__}'.\n"
            "  Hint: give a kernel, or kernel[grid, block] of one in Python, and its arguments."
        )
    backend = arrays_of(args)[1] or foreign_arrays.default_backend()
    explanation = kernel.explain(*args, **options)
    seconds, on_host = timed(backend.array_library, lambda: kernel(*args, **options))
    copy = _copy_bandwidth(backend.array_library, backend.device_key())
    moved, launches = explanation.bytes, [explanation]
    if isinstance(explanation, Explanation):
        moved, launches = explanation.floor, [kernel.launch for kernel in explanation.kernels]
    least, is_least = {MEMORY: moved / copy}, False
    for launch in launches:  # of a library's call nothing is known
        if launch is not None and (found := launch.operations()) is not None:
            is_least |= found.is_least
            for unit, count in found.by_unit.items():
                spent = count * launch.grid * launch.block / _rate(backend, launch.target, unit)
                least[unit] = least.get(unit, 0.0) + spent
    return Report(explanation, seconds, on_host, copy, least, is_least)


def timed(library: Any, call: Callable[[], object]) -> tuple[float, float]:
    """Return the median time (s) of a call, and until it returns. Of arrays of NumPy by a clock; of
    CuPy's, whose work is on the current stream, by events around ten calls. The first, which may
    compile, is not counted.
    """
    on_device = library is not np
    count = 10 if on_device else 1
    call()
    found: list[tuple[float, float]] = []
    begin = time.perf_counter()
    while len(found) < 3 or (time.perf_counter() - begin < 0.2 and len(found) < 50):
        events = [library.cuda.Event() for _ in range(2 * on_device)]
        for event in events[:1]:
            event.record()
        start = time.perf_counter()
        for _ in range(count):
            call()
        spent = host = (time.perf_counter() - start) / count
        for event in events[1:]:
            event.record()
            event.synchronize()
            spent = float(library.cuda.get_elapsed_time(*events)) / 1e3 / count
        found.append((spent, host))
    seconds, hosts = zip(*found, strict=True)
    return statistics.median(seconds), statistics.median(hosts)


_COPY = ElementwiseKernel("T x", "T y", "y = x", "copy")


@functools.cache
def _copy_bandwidth(library: Any, device: int) -> float:
    """The bandwidth of a copy (bytes/s) on a device, which is the current one."""
    size = _COPIED if library is not np else _COPIED // 4
    source = library.ones(size // 4, np.float32)
    target = library.empty_like(source)
    return 2 * size / timed(library, lambda: _COPY(source, target))[0]


def _rate(backend: Backend, target: str, unit: str) -> float:
    """How many operations a unit of all multiprocessors does in a second."""
    fp32, fp64 = _RATES.get(target.rstrip("af"), _RECENT)
    rates = {FP32: fp32, FP64: fp64, **_OF_ALL}
    clock = backend.array_library.cuda.Device().attributes["ClockRate"] * 1e3
    return float(rates[unit] * backend.multiprocessors() * clock)
