"""What the demo says of the machine."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, sys
if sys.argv[1]:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(sys.argv[1])])
import numpy as np
import kerneltk
from kerneltk.backends.host import runtime
from kerneltk.demo.measure import choose_machine
label = choose_machine("host").label
kernel = kerneltk.ElementwiseKernel("T x", "T y", "y = x + 1")
assert (kernel(np.ones(1 << 24, np.int8)) == 2).all()
print(label)
print(runtime.worker_count() + 1, len(os.listdir("/proc/self/task")))
"""


@pytest.mark.parametrize(
    ("cores", "variables", "threads"),
    [
        ("", {}, len(os.sched_getaffinity(0))),
        ("1", {}, 1),
        ("", {"KERNELTK_NUM_THREADS": "1"}, 1),
        ("", {"KERNELTK_NUM_THREADS": "3"}, 3),
        ("1", {"KERNELTK_NUM_THREADS": "3"}, 3),
        # Other libraries' settings are not ours.
        ("", {"OMP_NUM_THREADS": "7", "OPENBLAS_NUM_THREADS": "1"}, len(os.sched_getaffinity(0))),
        # No number of it is lost on the way to C.
        ("", {"KERNELTK_NUM_THREADS": str((1 << 32) + 1)}, 512),
    ],
)
def test_the_number_of_threads_is_that_of_launches(
    cores: str, variables: dict[str, str], threads: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, cores],
        env={"OPENBLAS_NUM_THREADS": "1", **os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    label, counts = done.stdout.splitlines()
    used, tasks = map(int, counts.split())
    assert label == f"the CPU ({threads} thread{'s' if threads > 1 else ''})"
    assert used == threads
    assert tasks >= used
