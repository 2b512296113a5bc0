"""Threads that return early: what they note, and which loops ask."""

from __future__ import annotations

from typing import Any

from kerneltk.jit import ir
from kerneltk.jit.ir.types import Type
from kerneltk.jit.passes.early_returns import with_marked_returns, without_returns

from .writing import AT, a, for_, i, if_, kernel, leave, let, lines, n, out, tx


class Variables:
    """Makes variables as a function does that has none of these names."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def __call__(self, stem: str, kind: Type) -> str:
        count = sum(name.rstrip("23456789") == stem for name in self.made)
        self.made.append(stem if not count else f"{stem}{count + 1}")
        return self.made[-1]


def loop(*body: Any) -> ir.ThreadLoop:
    return ir.ThreadLoop(body, AT)


def result(*body: Any) -> str:
    return "\n" + "\n".join(lines(without_returns(body, Variables()))) + "\n"


def test_a_plain_condition_is_noted() -> None:
    assert (
        result(loop(if_(tx < n, leave), let(a, 1)), loop(let(out[tx], a)))
        == """
_kt_alive = 0
threads:
  _kt_gone = threadIdx.x < n
  _kt_alive = _kt_alive | not _kt_gone
if _kt_alive == 0:
  return
threads:
  if _kt_gone:
    return
  a = 1
threads:
  if _kt_gone:
    return
  out[threadIdx.x] = a
"""
    )


def test_a_kernel_that_is_not_split_reports_early_returns() -> None:
    body = (let(a, 1), if_(tx < n, leave), for_(i, n, if_(tx < a, let(a, 2), leave)), leave)
    marked = with_marked_returns(kernel(*body))
    assert (
        "\n" + "\n".join(lines(marked.body)) + "\n"
        == """
a = 1
if threadIdx.x < n:
  early return()
  return
for i in 0..n:
  if threadIdx.x < a:
    a = 2
    early return()
    return
return
"""
    )
    assert with_marked_returns(kernel(let(a, 1))).body == (let(a, 1),)
