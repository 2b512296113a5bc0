"""Kernels in restricted Python beside the same in CUDA C++, the other front-ends and peers.

``python benchmarks/jit.py --output DIR`` measures NumPy arrays, with ``--backend cuda`` a GPU's,
with ``--compile`` (no GPU) what a first call is made of.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from common import Peers, Report, Table, commit, describe_machine, needed_cupy


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--backend", choices=("host", "cuda"), default="host")
    parser.add_argument("--compile", action="store_true", help="measure compile times instead")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output")
    parser.add_argument("--commit", help="the commit that is measured, where git cannot tell")
    parser.add_argument("--tables", nargs="+", help="measure these only (with --backend cuda)")
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    peers = Peers()
    cuda = arguments.backend == "cuda" and not arguments.compile
    cupy = needed_cupy(peers) if cuda else None
    machine = describe_machine(cupy)
    kind = "jit-compile" if arguments.compile else f"{arguments.backend}-jit"
    report = Report(kind, machine, commit(arguments.commit))
    targets = Table("Targets", ("what", "measured", "to reach", "met"))
    # Each half is imported where it is wanted: one needs a device, one a compiler.
    if arguments.compile:
        import jit_compile

        jit_compile.measure(report, targets)
    elif cuda:
        import jit_cuda

        tables = arguments.tables or list(jit_cuda.TABLES)
        wrong = [name for name in tables if name not in jit_cuda.TABLES]
        if wrong:
            raise SystemExit(f"no such tables: {', '.join(wrong)}; {', '.join(jit_cuda.TABLES)}")
        jit_cuda.measure(report, targets, cupy, peers, tables, arguments.output)
    else:
        import jit_host

        jit_host.measure(report, targets, peers)
    machine["peers"] = ", ".join(f"{name} {version}" for name, version in peers.versions.items())
    report.notes += peers.notes()
    report.tables.append(targets)
    report.save(arguments.output)


if __name__ == "__main__":
    main()
