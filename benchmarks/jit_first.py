"""One first call of a copy kernel in restricted Python, timed in a process of its own.

``python jit_first.py ours|cupyx host|cuda``: prints the seconds as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np


def _timed(jit: Any, xp: Any) -> dict[str, float]:
    from jit_kernels import adding, copying

    def wait() -> None:
        if xp is not np:
            xp.cuda.runtime.deviceSynchronize()

    x, y = xp.ones(1024, np.float32), xp.zeros(1024, np.float32)
    adding(jit)[4, 256](x, y, y, 1024)  # the compiler, the driver and the library are loaded
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
    # Only one of them is loaded.
    if whose == "ours":
        from kerneltk import jit
    else:
        from cupyx import jit
    print(json.dumps(_timed(jit, xp)))


if __name__ == "__main__":
    main()
