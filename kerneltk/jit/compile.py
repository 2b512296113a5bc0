"""The way of a lowered program to its translation unit: all passes, in order.

`jit.lowering` makes a program of a function's source. The passes make of it what the target wants,
and `jit.codegen` emits what comes out of the last one. The tests verify after each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kerneltk.core.artifacts import Capabilities
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.execution.threads import with_warps_of
from kerneltk.jit.lowering.record_parameters import pass_by_value
from kerneltk.jit.passes.lasting_memory import with_lasting_memory
from kerneltk.jit.passes.narrowing import with_low_bits
from kerneltk.jit.passes.value_range import shorten, simplify


class PassContext(NamedTuple):
    """What a program is compiled for; `of_elements` says that its last function is no kernel, but
    one of elements.
    """

    capabilities: Capabilities
    is_32bit_indexable: bool = False  # see `simplify`
    of_elements: bool = False


def everywhere(context: PassContext) -> bool:
    """Whether a pass is for a target: for each."""
    return True


class Pass(NamedTuple):
    """A rewrite of programs, and which of them it is for."""

    name: str
    run: Callable[[ir.Program, PassContext], ir.Program]
    applies: Callable[[PassContext], bool] = everywhere


def _of_functions(
    change: Callable[[ir.Function, PassContext], ir.Function],
) -> Callable[[ir.Program, PassContext], ir.Program]:
    """Return a pass over programs that rewrites each function by itself."""

    def run(program: ir.Program, context: PassContext) -> ir.Program:
        return ir.Program(tuple(change(function, context) for function in program.functions))

    return run


def _fission(program: ir.Program) -> ir.Program:
    # Only kernels on a grid are divided: others need not load what does it.
    from kerneltk.jit.passes.barrier_fission import fission_program

    return fission_program(program)


PASSES: tuple[Pass, ...] = (
    Pass(
        "memory that outlives its block",
        _of_functions(lambda function, _: with_lasting_memory(function)),
    ),
    Pass(
        "size of warps",
        lambda program, to: with_warps_of(to.capabilities.warp_size, program),
    ),
    Pass(
        "value ranges",
        _of_functions(lambda function, to: simplify(function, to.is_32bit_indexable)),
    ),
    Pass("low bits", _of_functions(lambda function, _: with_low_bits(function))),
    Pass(  # a GPU cannot reach the caller's records
        "records by value",
        lambda program, _: pass_by_value(program),
        lambda to: not (to.capabilities.in_host_memory or to.of_elements),
    ),
    Pass(  # that GPUs have instructions for; a CPU's compiler follows an index better without
        "32-bit arithmetic",
        _of_functions(lambda function, to: shorten(function, to.is_32bit_indexable)),
        lambda to: to.capabilities.short_indices,
    ),
    Pass(
        "barrier fission",
        lambda program, _: _fission(program),
        lambda to: to.capabilities.emulates_cuda and not to.of_elements,
    ),
)


def optimized(program: ir.Program, context: PassContext) -> ir.Program:
    """What the passes make of a lowered program."""
    for each in PASSES:
        if each.applies(context):
            program = each.run(program, context)
    return program
