"""Runs many random programs: ``python -m tests.random_programs --programs 10000 --jobs 16``.

Every batch is a process of its own, so that one that is killed costs no other programs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

BATCH = 100
SECONDS_FOR_A_BATCH = 600


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.random_programs", description=__doc__)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument(
        "--backend",
        choices=["host", "cuda", "ptx"],
        default="host",
        help="ptx: compile them for a GPU, which need not be there",
    )
    parser.add_argument(
        "--paths",
        choices=["joins", "values"],
        help="functions of `paths`: run 'values' with KERNELTK_HOST_DEBUG=memory",
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, help="a file for programs that differ")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ["KERNELTK_CACHE_DIR"] = ""  # set before the package reads it
    if options.paths:
        sys.exit(run_paths(options))
    elif options.worker:
        work(options)
    else:
        sys.exit(lead(options))


def run_paths(options: argparse.Namespace) -> int:
    """Run the functions of `paths`, and report; returns 1 where any differs in silence."""
    from .paths import outcomes
    from .running import backend_of

    backend = backend_of(options.backend)
    target = "" if backend else "compute_90"
    counts: Counter[str] = Counter()
    report = options.out.open("w") if options.out else sys.stdout
    last = options.seed + options.programs
    for first in range(options.seed, last, BATCH):
        seeds = range(first, min(first + BATCH, last))
        for seed, status, detail in outcomes(options.paths, seeds, target, backend and backend.xp):
            counts[status] += 1
            if status == "differs":
                report.write(f"# seed {seed}\n{detail}\n")
                report.flush()
        print(dict(counts), file=sys.stderr, flush=True)
    print(f"{sum(counts.values())} functions of '{options.paths}': {dict(counts)}")
    return int(counts["differs"] > 0)


def work(options: argparse.Namespace) -> None:
    """Run programs, and write a line for each."""
    from kerneltk.jit import compile as middle
    from tests.ir_verifier import verifying

    from .running import backend_of, defined_program, outcome_of

    middle.PASSES = tuple(map(verifying, middle.PASSES))
    backend = backend_of(options.backend)
    for seed in range(options.seed, options.seed + options.programs):
        try:
            program, wanted = defined_program(seed)
        except Exception:  # of the generator, or of the reference
            say({"seed": seed, "status": "invalid", "detail": traceback.format_exc(limit=-2)})
            continue
        outcome = outcome_of(program, wanted, backend)
        line: dict[str, Any] = {"seed": seed, "status": outcome.status, "detail": outcome.detail}
        if outcome.status != "same":
            line.update(script=program.script())
        say(line)


def say(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)


def lead(options: argparse.Namespace) -> int:
    """Run batches in processes, and report; returns 1 where any program is not the same."""
    first, last = options.seed, options.seed + options.programs
    batches = [(k, min(k + BATCH, last)) for k in range(first, last, BATCH)]
    counts: Counter[str] = Counter()
    report = options.out.open("w") if options.out else sys.stdout
    with ThreadPoolExecutor(options.jobs) as pool:
        tasks = [pool.submit(lambda b: list(batch(b, options)), b) for b in batches]
        for task in as_completed(tasks):
            for line in task.result():
                counts[line["status"]] += 1
                if line["status"] != "same":
                    report.write(described(line))
                    report.flush()
            print(dict(counts), file=sys.stderr, flush=True)
    print(f"{sum(counts.values())} programs on {options.backend}: {dict(counts)}")
    return int(set(counts) != {"same"})


def batch(seeds: tuple[int, int], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the outcomes of programs; where the process ends early, another goes on behind."""
    seed, last = seeds
    while seed < last:
        command = [sys.executable, "-m", "tests.random_programs", "--worker"]
        command += ["--seed", str(seed), "--programs", str(last - seed)]
        command += ["--backend", options.backend]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS_FOR_A_BATCH
            )
            output, errors, end = done.stdout, done.stderr, f"ended with {done.returncode}"
        except subprocess.TimeoutExpired as error:
            output, errors, end = (error.stdout or b"").decode(), "", "took too long"
        for text in output.splitlines():
            line = json.loads(text)
            yield line
            seed = line["seed"] + 1
        if seed < last:
            yield {"seed": seed, "status": "crashed", "detail": f"{end}\n{errors[-3000:]}"}
            seed += 1


def described(line: dict[str, Any]) -> str:
    rule = "# " + 76 * "="
    comment = "\n".join(f"# {part}" for part in line["detail"].splitlines())
    head = f"{rule}\n# seed {line['seed']}: {line['status']}\n{comment}\n\n"
    return head + line.get("script", "") + "\n"


if __name__ == "__main__":
    main()
