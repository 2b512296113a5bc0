"""Which variables statements may read before they have assigned them."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk.jit import ir
from kerneltk.jit.passes.liveness import live_in

from .writing import AT, a, again, b, c, for_, i, if_, leave, let, n, out, shared, stop, while_


def update(target: Any, value: Any) -> ir.Update:
    return ir.Update(target.node, "place", value.node, AT)


PLACE = ir.Local("place", a.node.type, AT)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ((), ""),
        ((let(a, b), let(c, a)), "b"),
        ((let(a, a + 1),), "a"),
        ((let(out[a], b),), "a b out"),
        ((shared, let(a, 1)), ""),
        # What one branch assigns, the other may read.
        ((if_(n < 3, let(a, 1)), let(b, a)), "a n"),
        ((if_(n < 3, let(a, 1), orelse=(let(a, 2),)), let(b, a)), "n"),
        ((if_(n < 3, leave, orelse=(let(a, 2),)), let(b, a)), "n"),
        ((if_(n < 3, let(a, 1), orelse=(leave,)), let(b, a)), "n"),
        # A loop may be left out, and reads what it assigns further down.
        ((for_(i, n, let(a, i)), let(b, a)), "a n"),
        ((for_(i, n, let(b, a), let(a, 1)),), "a n"),
        ((for_(i, n, let(a, 1), let(b, a)),), "n"),
        ((while_(a < 3, let(a, 1)),), "a"),
        ((let(a, 0), while_(a < 3, let(a, a + 1))), ""),
        # Nothing behind a jump is reached.
        ((leave, let(b, a)), ""),
        ((for_(i, n, stop, let(b, a)),), "n"),
        ((for_(i, n, if_(n < 3, again), let(a, 1), let(b, a)),), "n"),
        ((if_(n < 3, leave, orelse=(leave,)), let(b, a)), "n"),
        # In an update the place's own value is assigned.
        ((update(out[i], c),), "c i out"),
        ((ir.Update(out[i].node, "place", PLACE, AT),), "i out"),
        ((ir.ThreadLoop((let(b, a),), AT),), "a b"),
    ],
    ids=range(21),
)
def test_what_is_read_before(body: Any, expected: str) -> None:
    assert " ".join(sorted(live_in(body))) == expected
