"""Plants faults in a copy of the package, and runs the tests that have to notice them.

``python -m tests.mutations`` plants all, ``--sample 20 --seed S`` some, names those that are
named; ``--check`` only looks whether they still apply. The status is 1 where one survives or does
not apply, or where the tests fail without a fault.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from .mutants import DoesNotApplyError, Mutant, is_test, read_mutants
from .running import TOP, Outcome, Overlay, Run, all_tests


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("names", nargs="*", help="of mutants; a beginning names all that have it")
    parser.add_argument("--sample", type=int, metavar="N", help="N of them at random")
    parser.add_argument("--seed", default="0", help="of the sample")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--cache", type=Path, help="a directory for the compile cache, to use again"
    )
    parser.add_argument("--check", action="store_true", help="run nothing")
    parser.add_argument(
        "--show", action="store_true", help="print the output of those that survive"
    )
    options = parser.parse_args()
    mutants = chosen(list(read_mutants().values()), options.names)
    if options.sample is not None:
        count = min(options.sample, len(mutants))
        mutants = random.Random(options.seed).sample(mutants, count)
    gone = [problem for problem in map(why_not, mutants) if problem]
    print(*gone, sep="\n", end="\n" if gone else "")
    if options.check or gone:
        print(f"{len(mutants) - len(gone)} of {len(mutants)} mutants apply")
        return bool(gone)
    with tempfile.TemporaryDirectory(prefix="kerneltk-mutations-") as directory:
        return plant(mutants, Path(directory), options)


def chosen(mutants: list[Mutant], names: list[str]) -> list[Mutant]:
    """Return the mutants that are named. Raises SystemExit where a name is none's."""
    unknown = [name for name in names if not any(m.name.startswith(name) for m in mutants)]
    if unknown:
        raise SystemExit(f"no mutant has this name: {', '.join(unknown)}")
    return [m for m in mutants if not names or m.name.startswith(tuple(names))]


def why_not(mutant: Mutant) -> str:
    """Return why a mutant does not apply to the checkout, or an empty string."""
    path = TOP / "kerneltk" / mutant.file
    if not path.exists():
        return f"{mutant.name}: there is no file {mutant.file}: write it anew."
    try:
        mutant.applied_to(path.read_text(encoding="utf-8"))
    except (DoesNotApplyError, SyntaxError) as error:
        return str(error)
    if gone := [test for test in mutant.tests if not is_test(TOP / "tests", test)]:
        return f"{mutant.name}: there is no test {', '.join(gone)}: name others."
    return ""


def plant(mutants: list[Mutant], directory: Path, options: argparse.Namespace) -> int:
    """Run the tests without a fault, then with each; returns the status."""
    cache = options.cache or directory / "cache"
    jobs = max(1, min(options.jobs, len(mutants)))
    free = [Overlay(directory / str(number), cache) for number in range(jobs)]
    begin = time.monotonic()
    # Twice: what passes with an empty cache alone would fail with every mutant.
    for what in ("which compiles", "with a filled cache"):
        base = free[0].without_faults(all_tests(mutants))
        if base.status:
            print(base.output, f"the tests fail without a fault ({what})", sep="\n")
            return 1
        print(f"{base.seconds:6.1f} s  without a fault, {what}: the tests pass", flush=True)
    waiting, bad = mutants[::-1], []
    running: dict[Overlay, tuple[Mutant, Run]] = {}
    while waiting or running:
        while waiting and free:
            overlay, mutant = free.pop(), waiting.pop()
            running[overlay] = mutant, overlay.plant(mutant)
        for overlay, (mutant, run) in list(running.items()):
            outcome = run.poll()
            if outcome is None:
                continue
            overlay.restore(mutant)
            del running[overlay]
            free.append(overlay)
            print(
                f"{outcome.seconds:6.1f} s  {mutant.name}: {verdict(mutant, outcome)}", flush=True
            )
            if not outcome.is_failure:
                bad.append(mutant.name)
                if options.show:
                    print(outcome.output)
        time.sleep(0.02)
    print(
        f"{len(mutants) - len(bad)} of {len(mutants)} mutants killed in "
        f"{time.monotonic() - begin:.0f} s" + (f"; not: {', '.join(bad)}" if bad else "")
    )
    return bool(bad)


def verdict(mutant: Mutant, outcome: Outcome) -> str:
    """Return what became of a mutant, in words."""
    if outcome.is_failure:
        return f"killed by {outcome.failed}"
    if outcome.status == 0:
        return f"SURVIVED {', '.join(mutant.tests)}"
    return f"NOT RUN: pytest ended with {outcome.status}; name other tests"


if __name__ == "__main__":
    sys.exit(main())
