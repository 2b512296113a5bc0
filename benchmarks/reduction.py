"""Reductions against CuPy and torch, or NumPy, numexpr and numba: bandwidth, time, accuracy.

``python benchmarks/reduction.py --backend cuda --output DIR`` (or ``--backend host``) prints
tables, and writes them as text, JSON and charts.
"""

from __future__ import annotations

import common
import reduction_cuda
import reduction_host


def main() -> None:
    arguments = common.parse_arguments(
        __doc__.splitlines()[0], ("host", "cuda"), reduction_cuda.TABLES
    )
    peers = common.Peers()
    commit = common.commit(arguments.commit)
    if arguments.backend == "cuda":
        reduction_cuda.run(arguments.output, commit, peers, arguments.tables)
    else:
        reduction_host.run(arguments.output, commit, peers)


if __name__ == "__main__":
    main()
