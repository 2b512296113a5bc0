"""First calls of a copy kernel in restricted Python, in new processes."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from common import Report, first_line

_PROCESSES = 5
_NAMES = {"ours": "ours", "cupyx": "cupyx.jit"}


def _child(whose: str, backend: str, cache: str) -> dict[str, float]:
    root = Path(__file__).resolve().parent
    # By `env`, since only the package's settings read the environment.
    command = ["env", f"KERNELTK_CACHE_DIR={cache}/ours", f"CUPY_CACHE_DIR={cache}/cupy"]
    command += [sys.executable, str(root / "jit_first.py"), whose, backend]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root.parent)
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or "no message").splitlines()[-1])
    times: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return times


def first_calls(report: Report, backend: str, who: tuple[str, ...]) -> dict[tuple[str, str], float]:
    """Add a table of first calls; returns the medians (s) by who and cache."""
    table = report.table(
        f"A copy kernel: decorated and called first in a new process, {backend}, ms "
        f"(median of {_PROCESSES})",
        *("who", "cache", "first call", "slowest", "second call"),
        notes=[
            "Another kernel was compiled and launched by the same library before, so the compiler, "
            "the driver and the library are loaded. filled: another process has compiled "
            "the kernel."
        ],
    )
    medians: dict[tuple[str, str], float] = {}
    for whose in who:
        runs: dict[str, list[dict[str, float]]] = {"empty": [], "filled": []}
        try:
            for _ in range(_PROCESSES):
                with tempfile.TemporaryDirectory() as cache:
                    runs["empty"].append(_child(whose, backend, cache))
                    runs["filled"].append(_child(whose, backend, cache))
        except Exception as error:  # reported in the table
            text = f"error: {type(error).__name__}: {first_line(error)}"
            table.add(_NAMES[whose], text, None, None, None)
            continue
        for kind, times in runs.items():
            middle = statistics.median(run["first"] for run in times)
            medians[whose, kind] = middle
            table.add(
                _NAMES[whose],
                kind,
                1e3 * middle,
                1e3 * max(run["first"] for run in times),
                1e3 * statistics.median(run["second"] for run in times),
            )
    return medians
