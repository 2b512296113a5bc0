"""Variables under other names: private loop variables, parameters that are assigned to."""

from __future__ import annotations

from kerneltk.jit import ir
from kerneltk.jit.ir.types import PY_INT
from kerneltk.jit.passes.renaming import with_unique_names

from .writing import for_, i, kernel, let, lines, n, out


def shown(function: ir.Function) -> str:
    return "\n" + "\n".join(lines(function.body)) + "\n"


def test_each_private_loop_variable_has_its_own_name() -> None:
    inner = for_(i, n, let(out[i], 1))
    function = kernel(for_(i, n, let(out[i], i)), for_(i, n, inner))
    assert (
        shown(with_unique_names(function))
        == """
for i in 0..n:
  out[i] = i
for i3 in 0..n:
  for i2 in 0..n:
    out[i2] = 1
"""
    )


def test_a_parameter_that_is_assigned_to_is_copied() -> None:
    function = with_unique_names(kernel(let(n, n + 1), let(out[0], n)))
    assert (
        shown(function)
        == """
own_n = n
own_n = own_n + 1
out[0] = own_n
"""
    )
    assert function.locals == (("own_n", PY_INT),)
