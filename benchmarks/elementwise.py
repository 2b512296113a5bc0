"""Bandwidth of elementwise kernels against CuPy and torch, or NumPy, numexpr and numba.

``python benchmarks/elementwise.py --backend cuda --output DIR`` (or ``--backend host``) prints
tables, and writes them as text, JSON and a chart.
"""

from __future__ import annotations

import common
import elementwise_cuda
import elementwise_host


def main() -> None:
    arguments = common.parse_arguments(__doc__.splitlines()[0], ("host", "cuda"))
    peers = common.Peers()
    run = elementwise_cuda.run if arguments.backend == "cuda" else elementwise_host.run
    run(arguments.output, common.commit(arguments.commit), peers)


if __name__ == "__main__":
    main()
