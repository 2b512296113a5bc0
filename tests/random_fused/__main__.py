"""``python -m tests.random_fused --programs 2000 --seed 0`` compares many random fused programs;
those of `--kinds captured` read and change arrays from outside, and catch exceptions, those of
`--kinds partial` write to parts of arrays, and those of `--kinds loops` have loops.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

from . import captured, loops, partial, running
from .running import FAULTS, main

KINDS = {"expressions": running, "captured": captured, "partial": partial, "loops": loops}
ARRAYS = {"host": "numpy", "cuda": "cupy"}


def _counted(seeds: range, kinds: str, backend: str) -> dict[str, int]:
    return main(seeds, KINDS[kinds], xp=importlib.import_module(ARRAYS[backend]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kinds", choices=KINDS, default="expressions")
    parser.add_argument("--backend", choices=ARRAYS, default="host")
    parser.add_argument("--show", action="store_true", help="print one program and its outcome")
    given = parser.parse_args()
    if given.show:
        program = KINDS[given.kinds].generate(given.seed)
        print(program.source(), program, KINDS[given.kinds].outcome_of(program), sep="\n")
        sys.exit()
    first, last = given.seed, given.seed + given.programs
    parts = [range(k, min(k + 25, last)) for k in range(first, last, 25)]
    total: Counter[str] = Counter()
    if given.jobs == 1:
        for part in parts:
            total.update(_counted(part, given.kinds, given.backend))
            print(part, dict(total), file=sys.stderr, flush=True)
    else:
        with ProcessPoolExecutor(given.jobs) as pool:
            for counts in pool.map(_counted, parts, repeat(given.kinds), repeat(given.backend)):
                total.update(counts)
    print(dict(total))
    sys.exit(any(total[fault] for fault in FAULTS))
