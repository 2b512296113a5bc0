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

from kerneltk import jit, pipeline
from kerneltk.backends.registry import capabilities_of
from kerneltk.jit import ir
from kerneltk.jit.codegen import translation_unit
from kerneltk.jit.frontends import kernel, rawkernel
from kerneltk.jit.ir.printer import show
from kerneltk.jit.ir.types import BOOL, PY_INT, Array, Number, number
from kerneltk.jit.ir.verifier import IrError, verify
from kerneltk.jit.launch.marshalling import type_of
from kerneltk.jit.passes.barrier_fission import NotSplit, split_program

from .jit_kernels import TABLE

# -- what is kept ---------------------------------------------------------------------------------


def lowered(name: str, *, on_gpu: bool = False) -> ir.Program:
    definition, arguments = TABLE[name]
    kinds = [type_of(argument, np.ndarray) for argument in arguments]
    return definition.program(kinds, on_gpu=on_gpu)


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
    made = lowered(name, on_gpu=backend == "cuda")
    unit = TABLE[name][0].unit(made, capabilities_of(backend))
    golden(f"jit/{name}.{ending}", placeless(unit.source, made))
    for target in ("sm_75", "sm_90") if backend == "cuda" else ("host",):
        assert pipeline.compile_ahead(unit, target).code


def test_every_golden_file_is_one_of_these() -> None:
    texts = Path(__file__).parent / "texts" / "jit"
    known = {f"{name}.{ending}" for name in TABLE for ending in ("txt", "cu", "cpp")}
    assert {path.name for path in texts.iterdir()} == known


def test_a_barrier_splits_a_kernel() -> None:
    split = [n for n in TABLE if not isinstance(split_program(lowered(n)), NotSplit)]
    assert {"transpose", "block_sum"} <= set(split)
    for name in split:
        found = split_program(lowered(name))
        assert isinstance(found, ir.Program)
        verify(found)
        assert "threads:" in show(found)


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
    for name in node.__slots__:
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


# -- faults of the passes -------------------------------------------------------------------------

PASSES = [
    ("lower_program", rawkernel), ("narrow_parameters", rawkernel), ("narrow", rawkernel),
    ("shorten", translation_unit), ("split_program", translation_unit),
]  # fmt: skip


def with_a_fault(made: Any) -> Any:
    """Return a pass's result, a function or a program, with its first operation broken."""
    if isinstance(made, NotSplit):
        return made
    if isinstance(made, ir.Function):
        found = next((broken for _, broken in broken_functions(made)), None)
        return made if found is None else found
    functions = tuple(map(with_a_fault, made.functions))
    return ir.Program(functions)


@pytest.mark.parametrize(("name", "module"), PASSES)
@pytest.mark.parametrize("program", ["block_sum", "saxpy"])
def test_a_fault_of_any_pass_is_found(
    monkeypatch: pytest.MonkeyPatch, program: str, name: str, module: Any
) -> None:
    definition, arguments = TABLE[program]
    kinds = [type_of(argument, np.ndarray) for argument in arguments]
    backend: Any = "host" if name == "split_program" else "cuda"
    # Without what verifies each pass in the tests: the last look alone has to find it.
    own = getattr(module, name)
    own = getattr(own, "__wrapped__", own)
    for each, place in PASSES:
        plain = getattr(place, each)
        monkeypatch.setattr(place, each, getattr(plain, "__wrapped__", plain))
    monkeypatch.setattr(
        translation_unit,
        "for_gpus",
        getattr(translation_unit.for_gpus, "__wrapped__", translation_unit.for_gpus),
    )
    monkeypatch.setattr(module, name, lambda *args, **named: with_a_fault(own(*args, **named)))
    with pytest.raises(IrError):
        definition.unit(definition.program(kinds), capabilities_of(backend))


@pytest.mark.parametrize("name", ["lower_program", "for_gpus"])
def test_a_fault_is_found_in_a_kernel_of_elements(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    module: Any = kernel if name == "for_gpus" else rawkernel
    own = getattr(module, name)
    own = getattr(own, "__wrapped__", own)
    narrow_parameters = rawkernel.narrow_parameters
    plain = getattr(narrow_parameters, "__wrapped__", narrow_parameters)
    monkeypatch.setattr(rawkernel, "narrow_parameters", plain)
    monkeypatch.setattr(module, name, lambda *args, **named: with_a_fault(own(*args, **named)))
    horner_kernel = jit.kernel(horner)
    with pytest.raises(IrError):
        horner_kernel._specialized((np.ones(3),), (), on_gpu=True)


def horner(x):  # type: ignore[no-untyped-def]
    return (x * 0.5 + 1) * x + 2
