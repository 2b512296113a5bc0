"""The texts of units are read back instead of rendered, and only for what they were made."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kerneltk import ArraySpec, ElementwiseKernel, ReductionKernel
from kerneltk.cache.store import Cache
from kerneltk.codegen import render
from kerneltk.codegen.reduction import ReductionSpecialization
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
REDUCTION = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "k")


@pytest.mark.parametrize("record", [None, [], {"text": ""}, 3])
def test_a_record_of_another_kind_is_no_source(record: object) -> None:
    with pytest.raises(TypeError):
        render._source(record)
