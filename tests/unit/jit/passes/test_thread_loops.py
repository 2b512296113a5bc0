"""What stands in the thread loops of a split kernel, and what outside of them."""

from __future__ import annotations

from kerneltk.jit import ir
from kerneltk.jit.ir.types import PY_INT
from kerneltk.jit.passes.barrier_fission import fission
from kerneltk.jit.passes.thread_loops import block_variables, loop_variables

from .writing import a, b, c, i, kernel, let, n, out, sync, tx, x


def test_which_variables_are_declared_where() -> None:
    result = fission(
        kernel(let(a, n * 2), let(b, x[tx]), let(c, b + a), sync, let(i, b), let(out[i], a)), {}
    )
    assert isinstance(result, ir.Function)
    assert block_variables(result) == {"a"}
    assert result.per_thread == {"b"}
    loops = [node for node in result.body if isinstance(node, ir.ThreadLoop)]
    assert [loop_variables(result, loop) for loop in loops] == [(("c", PY_INT),), (("i", PY_INT),)]
