"""``python -m tests.random_fused --programs 2000 --seed 0`` compares many random fused programs."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from .running import FAULTS, generate, main, outcome_of


def _counted(seeds: range) -> dict[str, int]:
    return main(seeds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print one program and its outcome")
    given = parser.parse_args()
    if given.show:
        program = generate(given.seed)
        print(program.source(), program.arguments, outcome_of(program), sep="\n")
        sys.exit()
    first, last = given.seed, given.seed + given.programs
    parts = [range(k, min(k + 25, last)) for k in range(first, last, 25)]
    total: Counter[str] = Counter()
    if given.jobs == 1:
        for part in parts:
            total.update(_counted(part))
            print(part, dict(total), file=sys.stderr, flush=True)
    else:
        with ProcessPoolExecutor(given.jobs) as pool:
            for counts in pool.map(_counted, parts):
                total.update(counts)
    print(dict(total))
    sys.exit(any(total[fault] for fault in FAULTS))
