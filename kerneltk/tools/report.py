"""What a call takes, and what bounds it: measured times, and the operations in its code."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kerneltk.core.artifacts import WARP
from kerneltk.core.records import record
from kerneltk.elementwise import ElementwiseKernel
from kerneltk.errors import ArgumentTypeError
from kerneltk.fusion.explain import Explanation
from kerneltk.launch.explanation import backend_for
from kerneltk.object_code.operations import ALU, CACHE, FP32, FP64, ISSUE, SPECIAL

MEMORY = "memory"
_LEAST = 0.6  # of the time, that what bounds it takes by itself
_CACHED = 1.15  # of a copy's bandwidth
_COPIED = 1 << 28  # bytes on a GPU; a quarter of them on a host
# Results of a multiprocessor in a clock: CUDA C++ Programming Guide, throughput of arithmetic
# instructions. Four warps begin an instruction, the first-level cache has 32 words.
_OF_ALL = {FP32: 128, FP64: 64, SPECIAL: 16, ALU: 64, CACHE: 32, ISSUE: 4 * WARP}
_RATES = {"sm_70": {FP32: 64, FP64: 32}, "sm_75": {FP32: 64, FP64: 2},
          "sm_80": {FP32: 64, FP64: 32},
          **{f"sm_{number}": {FP64: 2} for number in (86, 87, 89, 103, 120, 121)}}  # fmt: skip


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
    alone : dict of float
        By ``"memory"`` and units of a GPU: the time (s) that the call's bytes, or the operations in
        its code, take there by themselves; the latter are estimates.
    """

    explanation: Any
    seconds: float
    on_host: float
    copy: float
    alone: Mapping[str, float]

    @property
    def share(self) -> float:
        """The call's part of the copy's bandwidth, by the bytes that must move."""
        return self.alone[MEMORY] / self.seconds

    @property
    def bound(self) -> str:
        """What bounds the call: the unit that needs most of its time; ``"launch"`` where that is
        less than 0.6 and the host takes as long as the device; else ``"latency"``. Arrays that
        are read faster than memory allows are in ``"caches"``.
        """
        unit, *others = sorted(self.alone, key=lambda unit: -self.alone[unit])
        if (
            unit == ISSUE
            and others[0] != MEMORY
            and self.alone[others[0]] > 0.9 * self.alone[ISSUE]
        ):
            unit = others[0]  # whose instructions they are
        if unit == MEMORY and self.share > _CACHED:
            return "caches"
        if self.alone[unit] >= _LEAST * self.seconds:
            return unit
        if len(self.alone) == 1:
            return "instructions or launch"  # of a CPU nothing is counted
        return "launch" if self.on_host > _LEAST * self.seconds else "latency"

    def __str__(self) -> str:
        alone = ", ".join(
            f"{unit} {seconds * 1e6:.3g}" for unit, seconds in self.alone.items() if seconds
        )
        return (
            f"{self.explanation}\n"
            f"  {self.seconds * 1e6:.4g} µs, {self.share:.2f} of a copy's bandwidth "
            f"({self.copy / 1e9:.4g} GB/s); bound by {self.bound}\n"
            f"  each by itself (µs): {alone}"
        )


def report(kernel: Any, *args: Any, **options: Any) -> Report:
    """Measure a call: it is made up to 50 times (on a GPU 500), and what it launches is explained.

    Parameters
    ----------
    kernel : kernel
        What has ``explain``: a kernel from expressions, a `RawKernel`, a kernel in Python or
        ``kernel[grid, block]`` of it, a vectorized or a fused function.
    *args, **options
        As in a call; both the kernel and its ``explain`` are given them, which takes no stream:
        calls are measured on the current one. What the call writes to is written to each time, so
        that a kernel that adds to an array adds as often: give it a copy.

    Returns
    -------
    Report
        Its ``str`` has it all.

    Raises
    ------
    ArgumentTypeError
        The object has no ``explain``; else as the call and ``explain`` raise.

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
    backend = backend_for((*args, *options.values()))
    explanation = kernel.explain(*args, **options)
    seconds, on_host = timed(backend.array_library, lambda: kernel(*args, **options))
    copy = copy_bandwidth(backend.array_library, backend.device_key())
    moved, launches = explanation.bytes, [explanation]
    if isinstance(explanation, Explanation):
        moved, launches = explanation.floor, [kernel.launch for kernel in explanation.kernels]
    alone = {MEMORY: moved / copy}
    for launch in launches:  # of a library's call nothing is known
        if launch is not None and (found := launch.operations()) is not None:
            clock = backend.array_library.cuda.Device().attributes["ClockRate"] * 1e3
            threads = launch.grid * launch.block / (clock * backend.multiprocessors())
            rates = {**_OF_ALL, **_RATES.get(launch.target.rstrip("af"), {})}
            for unit, count in found.items():
                alone[unit] = alone.get(unit, 0.0) + count * threads / rates[unit]
    return Report(explanation, seconds, on_host, copy, alone)


def timed(library: Any, call: Callable[[], object]) -> tuple[float, float]:
    """Return the median time (s) of a call, and until it returns. Of arrays of NumPy by a clock; of
    CuPy's, whose work is on the current stream, by events around ten calls. The first, which may
    compile, is not counted.
    """
    on_device = library is not np
    call()
    found: list[tuple[float, float]] = []
    begin = time.perf_counter()
    while len(found) < 3 or (time.perf_counter() - begin < 0.2 and len(found) < 50):
        events = [library.cuda.Event() for _ in range(2 * on_device)]
        if on_device:
            events[0].record()
        start = time.perf_counter()
        for _ in range(10 if on_device else 1):
            call()
        spent = host = time.perf_counter() - start
        if on_device:
            events[1].record()
            events[1].synchronize()
            spent, host = library.cuda.get_elapsed_time(*events) / 1e4, host / 10
        found.append((float(spent), host))
    seconds, hosts = zip(*found, strict=True)
    return statistics.median(seconds), statistics.median(hosts)


_COPY = ElementwiseKernel("T x", "T y", "y = x", "copy")


@functools.cache
def copy_bandwidth(library: Any, device: int) -> float:
    """The bandwidth of a copy (bytes/s) on a device, which is the current one."""
    size = _COPIED if library is not np else _COPIED // 4
    source = library.ones(size // 4, np.float32)
    target = library.empty_like(source)
    return 2 * size / timed(library, lambda: _COPY(source, target))[0]
