"""Loads and first launches of large `.cu` files on the host, by new processes.

    cd benchmarks; python large_files.py FILES.json old=OLD new=.. --out results/large-files.txt

FILES.json has a list of files, each of `path`, `options` as for `load`, `names`, which are name
expressions, and `kernel`: what is launched, one block of 32 threads with arrays of zeros.

Times are processor time in milliseconds. `cold` and `compile` are `load` and `compile_for("host")`
with an empty cache, with the compiler's processes, once. `load` and `launch` are a `load` of the
known file and the first launch behind it, `sm_90` a `compile_for("sm_90")` that is in the cache,
without what `NVRTC` takes to be loaded and asked for its version: the least of the processes.
`wall` is the least elapsed time of `load` with the launch. The checkouts take turns.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import describe_machine, first_line
from first_calls_between import commit_of

_CHILD = """
import json, resource, sys, time
begin = time.process_time()
import numpy as np
numpy_done = time.process_time()
import kerneltk
kerneltk.load  # loaded when it is first mentioned
times = {"numpy": numpy_done - begin, "kerneltk": time.process_time() - numpy_done}
file, stage, kinds = map(json.loads, sys.argv[1:])

def clock():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime

def argument(kind, size):
    if kind == "pointer":
        return np.zeros(1 << 17, np.uint64)
    numbers = {"bool": False, "int": 1, "uint": 1, "enum": 1, "float": 0.0, "half": 0.0}
    return numbers.get(kind, bytes(size))

if stage == "sm_90":
    before = clock()
    from kerneltk.backends.cuda import nvrtc
    nvrtc.target_for("sm_90")
    times["NVRTC"] = clock() - before
values = tuple(argument(*kind) for kind in kinds)
begin, started = clock(), time.perf_counter()
module = kerneltk.load(file["path"], options=file["options"], name_expressions=file["names"])
module.kernels
times["load"] = clock() - begin
begin = clock()
if stage == "launch":
    module.get_function(file["kernel"])((1,), (32,), values, backend="host", checks=False)
    times["wall"] = time.perf_counter() - started
elif stage == "kinds":
    program = module._programs.owner(file["kernel"])
    from kerneltk.backends.base import backend_named
    found = program.kernel(backend_named("host"), file["kernel"]).signature.parameters
    times["kinds"] = [(each.type.kind, each.size) for each in found]
else:
    module.compile_for(stage)
times["stage"] = clock() - begin
print(json.dumps(times))
"""


class _Checkout:
    def __init__(self, name: str, root: Path, work: Path) -> None:
        self.name, self.root = name, root
        self._work = work
        work.mkdir()
        (work / "child.py").write_text(_CHILD)

    def sample(
        self, number: int, file: dict[str, Any], stage: str, kinds: Any = ()
    ) -> dict[str, Any]:
        """Return the times of a process."""
        # By `env`, since only the package's settings read the environment.
        changes = ["env", f"KERNELTK_CACHE_DIR={self._work}/{number}", f"PYTHONPATH={self.root}"]
        given = map(json.dumps, (file, stage, kinds))
        child = [*changes, sys.executable, "child.py", *given]
        made = subprocess.run(child, text=True, cwd=self._work, capture_output=True, check=False)
        if made.returncode:
            return {"error": first_line(RuntimeError(made.stderr.strip().rsplit("\n", 1)[-1]))}
        times: dict[str, Any] = json.loads(made.stdout)
        return times


def _least(samples: list[dict[str, Any]], name: str) -> str:
    found = [sample[name] for sample in samples if name in sample]
    return f"{min(found) * 1e3:9.1f}" if found else f"{'-':>9}"


def _rows(number: int, file: dict[str, Any], checkouts: list[_Checkout], rounds: int) -> list[str]:
    path = Path(file["path"])
    lines = [f"{path.name}, {path.stat().st_size / 1024:.0f} KiB"]
    kinds: dict[str, Any] = {}
    first: dict[str, tuple[dict[str, Any], ...]] = {}
    samples: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in checkouts:
        cold = one.sample(number, file, "host")
        known = one.sample(number, file, "kinds")
        device = one.sample(number, file, "sm_90")
        first[one.name] = cold, known, device
        kinds[one.name] = known.get("kinds")
    for turn in range(rounds):
        for one in checkouts if turn % 2 else reversed(checkouts):
            for stage in ("launch", "sm_90"):
                if (stage == "launch" and kinds[one.name] is None) or (
                    stage == "sm_90" and "error" in first[one.name][2]
                ):
                    continue
                sample = one.sample(number, file, stage, kinds[one.name])
                samples.setdefault((one.name, stage), []).append(sample)
    for one in checkouts:
        cold, known, device = first[one.name]
        launched = samples.get((one.name, "launch"), [])
        compiled = samples.get((one.name, "sm_90"), [])
        line = f"  {one.name:10}{_least([cold], 'load')}{_least([cold], 'stage')}"
        line += "".join(_least(launched, name) for name in ("load", "stage", "wall"))
        line += "".join(_least(compiled, name) for name in ("stage", "NVRTC"))
        line += "".join(_least(launched, name) for name in ("numpy", "kerneltk"))
        lines.append(line)
        lines += [f"    {each['error']}" for each in (cold, known, device) if "error" in each]
    return lines


def main() -> None:
    """Measure, and print or write a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, metavar="FILES.json")
    parser.add_argument("checkouts", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    pairs = (checkout.partition("=") for checkout in given.checkouts)
    roots = {name: Path(path).resolve() for name, _, path in pairs}
    lines = ["# large-files"]
    lines += [f"{name}: commit {commit_of(root)}" for name, root in roots.items()]
    lines += [f"{what}: {text}" for what, text in describe_machine().items()]
    lines += [f"{given.rounds} rounds; processor time, ms, the least; wall: elapsed time, ms", ""]
    names = ("cold", "compile", "load", "launch", "wall", "sm_90", "NVRTC", "numpy", "kerneltk")
    lines += [" " * 12 + "".join(f"{name:>9}" for name in names)]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as directory:
        checkouts = [_Checkout(n, root, Path(directory, n)) for n, root in roots.items()]
        for number, file in enumerate(json.loads(given.files.read_text())):
            rows = _rows(number, file, checkouts, given.rounds)
            lines += rows
            print("\n".join(rows), flush=True)
    if given.out is not None:
        given.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
