"""Values that are computed again in each loop of threads, and those that are kept."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk.jit import ir
from kerneltk.jit.passes.rematerialization import rematerialized

from .writing import AT, a, b, for_, i, if_, let, local, n, out, tx, x

OWN = {"a", "b", "c"}


def threads(*body: Any) -> ir.ThreadLoop:
    return ir.ThreadLoop(body, AT)


def is_kept(*body: Any) -> bool:
    return rematerialized(body, OWN) is body or rematerialized(body, OWN) == body


READ = threads(let(out[a], 1))


@pytest.mark.parametrize(
    "body",
    [
        (threads(let(a, x[tx])), READ),  # memory may have changed
        (threads(let(a, tx // n)), READ),  # costs too much
        (threads(let(a, tx)), threads(let(a, 2)), READ),  # assigned twice
        (threads(if_(tx < 3, let(a, tx))), READ),  # not by all threads
        (threads(let(a, i + tx)), let(i, n), READ),  # its operand changes
        (threads(let(a, b + 1), let(b, tx)), READ),  # also in the loop itself
        (READ, threads(let(a, tx))),  # read before
        (for_(i, n, READ, threads(let(a, tx + i))),),  # the last round's
        (threads(let(out[a], 1), let(a, tx)), READ),  # read before in its own loop
        (threads(let(local("d"), tx)), threads(let(out[local("d")], 1))),  # is the block's
    ],
    ids=range(10),
)
def test_what_is_kept(body: Any) -> None:
    assert is_kept(*body)
