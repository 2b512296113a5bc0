"""One first call of a copy kernel in restricted Python, timed in a process of its own.

``python jit_first.py ours|cupyx host|cuda``: prints the seconds as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

_WARM = 'extern "C" __global__ void warm(float* x) { x[0] = 1; }'


def _timed(jit: Any, xp: Any, warm: Any) -> dict[str, float]:
    from jit_kernels import copying

    def wait() -> None:
        if xp is not np:
            xp.cuda.runtime.deviceSynchronize()

    x, y = xp.ones(1024, np.float32), xp.zeros(1024, np.float32)
    if warm is not None:  # the compiler and the driver are loaded, another kernel was compiled
        warm((1,), (1,), (y,))
    wait()
    begin = time.perf_counter()
    kernel = copying(jit)
    kernel[4, 256](x, y, 1024)
    wait()
    first = time.perf_counter() - begin
    begin = time.perf_counter()
    kernel[4, 256](x, y, 1024)
    wait()
    second = time.perf_counter() - begin
    if not bool((x == y).all()):
        raise SystemExit("the first call's result is wrong")
    return {"first": first, "second": second}


def main() -> None:
    whose, backend = sys.argv[1:]
    if backend == "cuda":
        import cupy as xp
    else:
        xp = np
    warm = None
    if whose == "ours":
        import kerneltk
        from kerneltk import jit

        warm = kerneltk.RawKernel(_WARM, "warm")
    else:
        from cupyx import jit

        warm = xp.RawKernel(_WARM, "warm")
    print(json.dumps(_timed(jit, xp, warm)))


if __name__ == "__main__":
    main()
