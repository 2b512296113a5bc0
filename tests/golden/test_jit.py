"""Kernels in restricted Python as typed IR, as text for GPUs and as text for CPU cores."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kerneltk import pipeline
from kerneltk.backends.base import capabilities_of
from kerneltk.jit import compile as middle
from kerneltk.jit import ir
from kerneltk.jit.compile import PassContext  # without what verifies each in the tests
from kerneltk.jit.ir.types import BOOL, PY_INT, Array, Number, number
from kerneltk.jit.launch.marshalling import type_of
from tests.ir_printer import show
from tests.ir_verifier import IrError, verify

from .jit_kernels import TABLE

# -- what is kept ---------------------------------------------------------------------------------


def program_of(name: str, backend: str) -> ir.Program:
    definition, arguments = TABLE[name]
    kinds = [type_of(argument, np.ndarray) for argument in arguments]
    return definition.program(kinds, PassContext(capabilities_of(backend)))


def lowered(name: str) -> ir.Program:
    """The program behind the passes that are for every target."""
    definition, arguments = TABLE[name]
    program = definition.lowered([type_of(argument, np.ndarray) for argument in arguments])
    for each in middle.PASSES:
        if each.applies is middle.everywhere:
            program = each.run(program, PassContext(capabilities_of("host")))
    return program


def placeless(text: str, made: ir.Program) -> str:
    """Return a text whose lines count from the program's first line, and name no directory."""
    first = min(function.source.node.lineno for function in made.functions)
    path = re.escape(made.kernel.source.path)
    return re.sub(
        rf'#line (\d+) "{path}"',
        lambda found: f'#line {int(found[1]) - first + 1} "kernel.py"',
        text,
    )


@pytest.mark.parametrize("name", TABLE)
def test_ir(name: str, golden: Callable[[str, str], None]) -> None:
    made = lowered(name)
    golden(f"jit/{name}.txt", show(made))
    assert show(made) == show(lowered(name))


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize(("backend", "ending"), [("cuda", "cu"), ("host", "cpp")])
def test_text(name: str, backend: Any, ending: str, golden: Callable[[str, str], None]) -> None:
    made = program_of(name, backend)
    unit = TABLE[name][0].unit(made, capabilities_of(backend))
    golden(f"jit/{name}.{ending}", placeless(unit.source, made))
    for target in ("sm_75", "sm_90") if backend == "cuda" else ("host",):
        assert pipeline.compile_ahead(unit, target).code


def test_every_golden_file_is_one_of_these() -> None:
    sources = Path(__file__).parent / "sources" / "jit"
    known = {f"{name}.{ending}" for name in TABLE for ending in ("txt", "cu", "cpp")}
    assert {path.name for path in sources.iterdir()} == known


def test_a_barrier_splits_a_kernel() -> None:
    made = {name: program_of(name, "host") for name in TABLE}
    split = {name for name, program in made.items() if program.kernel.is_split}
    assert {"transpose", "block_sum"} <= split
    assert all("threads:" in show(made[name]) for name in split)


# -- planted faults -------------------------------------------------------------------------------


OTHER = number("uint8")  # no program computes in it


def other(value: Any) -> ir.Cast:
    return ir.Cast(value, OTHER, value.span)


def is_real(value: Any) -> bool:
    return isinstance(value.type, Number)


def faults(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield ways to break a node: what is wrong, and what to put into its place."""
    replace = dataclasses.replace
    if isinstance(node, ir.Binary) and node.op not in ("<<", ">>"):
        yield "the left operand has another type", replace(node, left=other(node.left))
        yield "the right operand has another type", replace(node, right=other(node.right))
        yield "the result has another type", replace(node, type=OTHER)
        yield "an operator that is none", replace(node, op="@")
    if isinstance(node, ir.Compare):
        yield "two types are compared", replace(node, right=other(node.right))
    if isinstance(node, ir.Unary):
        yield "a sign of another type", replace(node, operand=other(node.operand))
    if isinstance(node, ir.Logical):
        first = ir.Literal_(1, PY_INT, node.span)
        yield "an int for a bool", replace(node, operands=(first, *node.operands[1:]))
    if isinstance(node, ir.Select):
        yield "a choice by an int", replace(node, condition=ir.Literal_(1, PY_INT, node.span))
        if is_real(node.then):
            yield "a choice of two types", replace(node, orelse=other(node.orelse))
    if isinstance(node, ir.If | ir.While):
        yield "a condition of an int", replace(node, condition=ir.Literal_(1, PY_INT, node.span))
    if isinstance(node, ir.Local):
        yield "a variable that is not there", replace(node, name="nowhere")
        yield "a variable of another type", replace(node, type=Array(OTHER, 3))
    if isinstance(node, ir.Element):
        if node.indices:  # a reference has none
            yield "an index too few", replace(node, indices=node.indices[1:], wrap=node.wrap[1:])
            yield "a flag too few", replace(node, wrap=())
        yield (
            "an index of a bool",
            replace(node, indices=(ir.Literal_(True, BOOL, node.span), *node.indices[1:])),
        )
        yield "an element of another type", replace(node, type=OTHER)
    if isinstance(node, ir.Section):
        yield "a part too few", replace(node, parts=node.parts[1:])
    if isinstance(node, ir.Extent):
        yield "an axis too many", replace(node, axis=9)
    if isinstance(node, ir.Field):
        yield (
            "a field that is not there",
            replace(node, key=99 if isinstance(node.key, int) else "nowhere"),
        )
    if isinstance(node, ir.Store) and is_real(node.value):
        yield "a value of another type", replace(node, value=other(node.value))
    if isinstance(node, ir.Update):
        yield "an update of another type", replace(node, value=other(node.value))
    if isinstance(node, ir.For):
        yield "bounds of another type", replace(node, stop=other(node.stop))
        if isinstance(node.step, ir.Literal_):
            yield "the wrong way", replace(node, ascending=not node.ascending)
    if isinstance(node, ir.Return) and node.value is not None and is_real(node.value):
        yield "a result of another type", replace(node, value=other(node.value))
        yield "no result", replace(node, value=None)
    if isinstance(node, ir.Invoke):
        yield "a function that is not there", replace(node, function="nowhere")
        yield "an argument too few", replace(node, arguments=node.arguments[1:])
        yield "a result that the function has not", replace(node, type=Array(OTHER, 3))
    if isinstance(node, ir.Assert):
        yield "an assertion of an int", replace(node, condition=ir.Literal_(1, PY_INT, node.span))


def planted(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield copies of a tree with one fault each."""
    yield from faults(node)
    for name in node.__match_args__:
        value = getattr(node, name)
        if isinstance(value, tuple) and not isinstance(value, ir.Span):
            for k, item in enumerate(value):
                if hasattr(item, "span"):
                    for fault, found in planted(item):
                        changed = (*value[:k], found, *value[k + 1 :])
                        yield fault, dataclasses.replace(node, **{name: changed})
        elif hasattr(value, "span"):
            for fault, found in planted(value):
                yield fault, dataclasses.replace(node, **{name: found})


def broken_functions(function: ir.Function) -> Iterator[tuple[str, ir.Function]]:
    """Yield copies of a function with one fault each."""
    for k, statement in enumerate(function.body):
        for fault, found in planted(statement):
            body = (*function.body[:k], found, *function.body[k + 1 :])
            yield fault, dataclasses.replace(function, body=body)
    for fault, leave in (("a loop is left", ir.Break), ("a loop goes on", ir.Continue)):
        body = (leave(function.body[0].span), *function.body)
        yield f"{fault} outside of loops", dataclasses.replace(function, body=body)


def test_planted_faults_are_found() -> None:
    """Every node of every program is broken in every way that its kind can be."""
    planted_faults: Counter[str] = Counter()
    missed = []
    for name in TABLE:
        functions = lowered(name).functions
        for k, function in enumerate(functions):
            for fault, broken in broken_functions(function):
                planted_faults[fault] += 1
                try:
                    verify(ir.Program((*functions[:k], broken, *functions[k + 1 :])))
                except IrError:
                    continue
                missed.append(f"{name}: {fault}\n{show(ir.Program((broken,)))}")
    assert not missed, f"{len(missed)} of {planted_faults.total()}:\n" + "\n".join(missed[:3])
    assert len(planted_faults) >= 28
    assert planted_faults.total() > 1000
