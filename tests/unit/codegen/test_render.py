"""The texts of units are read back instead of rendered, and only for what they were made."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec, ElementwiseKernel, ReductionKernel, jit
from kerneltk.cache.store import Cache
from kerneltk.codegen import render
from kerneltk.codegen.body_facts import BodyFacts
from kerneltk.codegen.definition import KernelDefinition
from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.codegen.reduction import ReductionSpecialization
from kerneltk.codegen.template_input import TemplateInput, template_input
from kerneltk.launch import expression_kernel
from tests.unit.cache.stages import set_cache

X = ArraySpec.make("f4", 1000)


@pytest.fixture
def renders(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    cache = Cache(None)
    set_cache(monkeypatch, "source", cache)
    calls: list[Any] = []
    original = render.render

    def counting(specialization: Any) -> Any:
        calls.append(specialization)
        return original(specialization)

    monkeypatch.setattr(render, "render", counting)
    return calls


def kernel(operation: str = "y = x", **options: Any) -> ElementwiseKernel:
    return ElementwiseKernel("T x", "T y", operation, **{"name": "k", **options})


def test_a_text_is_rendered_once(renders: list[Any]) -> None:
    first = kernel().translation_unit(X)
    second = kernel().translation_unit(X)
    assert first == second
    assert len(renders) == 1


@pytest.mark.parametrize(
    "other",
    [
        lambda: kernel("y = x + 1").translation_unit(X),
        lambda: kernel(name="k2").translation_unit(X),
        lambda: kernel(preamble="int a;").translation_unit(X),
        lambda: kernel(loop_prep="int a;").translation_unit(X),
        lambda: kernel(after_loop="int a;").translation_unit(X),
        lambda: kernel().translation_unit(ArraySpec.make("i4", 1000)),
        lambda: kernel().translation_unit(ArraySpec.make("f4", 1000, offset=4)),
        lambda: kernel().translation_unit(X, backend="host"),
        lambda: kernel().translation_unit(X, block_size=64),
        lambda: kernel().translation_unit(X, ArraySpec.make("f4", 1000, strides=(8,))),
        lambda: ElementwiseKernel("T w", "T y", "y = x", "k").translation_unit(X),
        lambda: ElementwiseKernel("_non_const T x", "T y", "y = x", "k").translation_unit(X),
        lambda: ElementwiseKernel("U x", "U y", "y = x", "k").translation_unit(X),
        lambda: ElementwiseKernel("float32 x", "T y", "y = x", "k").translation_unit(X, X),
        lambda: ElementwiseKernel("raw T x", "T y", "y = x", "k").translation_unit(X, size=9),
    ],
)
def test_another_specialization_is_rendered(renders: list[Any], other: Any) -> None:
    text = kernel().translation_unit(X).source
    assert other().source != text
    assert len(renders) == 2


def test_options_may_decide_the_text(renders: list[Any]) -> None:
    kernel().translation_unit(X)
    assert kernel(options=("-DX",)).translation_unit(X).options == ("-DX",)
    assert len(renders) == 2


def test_any_text_survives(renders: list[Any]) -> None:
    operation = 'y = x; // "é \U0001f600" {{ }} {% %} #line @'
    first = kernel(operation).translation_unit(X)
    assert operation in first.source
    assert kernel(operation).translation_unit(X) == first
    assert len(renders) == 1


def test_a_header_without_a_position_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReductionSpecialization, "headers", lambda _: {"memory.hpp", "new.hpp"})
    with pytest.raises(KeyError, match=r"new\.hpp"):
        copy.copy(REDUCTION).translation_unit(X)


# -- the key is of everything that templates are given ---------------------------------------------

ELEMENTWISE = ElementwiseKernel(
    "T x, raw T w", "T y", "y = x + w[i]", "k", preamble="#define N 4", loop_prep="int a = 0;"
)
PLAIN = ElementwiseKernel("T x", "T y", "y = x", "k")
REDUCTION = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "k")
NUMBERED = ReductionKernel("T x", "T y", "x + _j + _i", "a + b", "y = a", "0", "k")
KERNELS = (ELEMENTWISE, PLAIN, REDUCTION, NUMBERED)


def other_facts(definition: KernelDefinition) -> dict[str, BodyFacts]:
    """Return the facts of a definition with another value for each in turn."""
    found = {}
    for field in fields(BodyFacts):
        value = getattr(definition.facts, field.name)
        names = {"float16", "min", "i", "_ind", "_J", "_i", "_in_ind", "_out_ind", "y", "k"}
        other = value ^ names if isinstance(value, frozenset) else not value
        found[field.name] = replace(definition.facts, **{field.name: other})
    return found


def noting(seen: list[Any]) -> Callable[[Any], Any]:
    """Return a function that notes the specializations that it is given."""

    def note(specialization: Any) -> Any:
        seen.append(specialization)
        return specialization

    return note


def inputs_of(kernel: Any, definition: KernelDefinition) -> Iterator[TemplateInput]:
    """Yield what is rendered of a definition for some layouts on both backends."""
    square, transposed = ArraySpec.make("f4", (96, 40)), ArraySpec.make("f4", (96, 40), order="F")
    other = copy.copy(kernel)
    other._definition = definition
    other._prepare()
    seen: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expression_kernel, "translation_unit_of", noting(seen))
        for backend, spec in itertools.product(("cuda", "host"), (square, transposed)):
            for given in ((spec,), (spec, square)) if kernel in (PLAIN,) else ((spec,),):
                further = (square,) if kernel is ELEMENTWISE else ()
                other.translation_unit(*given, *further, backend=backend)
    yield from map(template_input, seen)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("number", range(len(KERNELS)))
def test_every_fact_that_decides_the_text_decides_the_key(number: int) -> None:
    kernel = KERNELS[number]
    own = kernel._definition
    before = [(given.digest(), render.render(given)) for given in inputs_of(kernel, own)]
    deciding = set()
    for flag, facts in other_facts(own).items():
        flipped = replace(own, known_facts=facts)
        after = [(given.digest(), render.render(given)) for given in inputs_of(kernel, flipped)]
        for (key, text), (other_key, other_text) in zip(before, after, strict=True):
            if text != other_text:
                deciding.add(flag)
                assert key != other_key, flag
    assert deciding >= {"observed", "names", "opaque", "preamble_names"}
    if isinstance(own, ElementwiseDefinition):
        assert deciding >= {"by_reference", "exits_early"}
    else:
        assert deciding >= {"overwritten"}


@jit.kernel
def doubled(x):  # type: ignore[no-untyped-def]
    return x + x


@pytest.mark.parametrize("jit_first", [False, True])
def test_kernels_of_equal_texts_and_different_kinds(renders: list[Any], jit_first: bool) -> None:
    typed = doubled._specialized((np.ones(3, np.float32),), ())[0]
    definition = typed._definition
    same = ElementwiseKernel(
        definition.signature.in_text,
        definition.signature.out_text,
        definition.operation,
        definition.name,
        reduce_dims=False,
        preamble=definition.preamble,
        options=definition.options,
    )
    assert same._definition.expressions == definition.expressions
    pair = [typed, same] if jit_first else [same, typed]
    texts = {kernel: kernel.translation_unit(X, X).source for kernel in pair}
    for kernel in pair:
        seen: list[Any] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(expression_kernel, "translation_unit_of", noting(seen))
            kernel.translation_unit(X, X)
        assert texts[kernel] == render.render(template_input(seen[0]))
    assert len(set(texts.values())) == 2


@pytest.mark.parametrize("record", [None, [], {"text": ""}, 3])
def test_a_record_of_another_kind_is_no_source(record: object) -> None:
    with pytest.raises(TypeError):
        render._source(record)
