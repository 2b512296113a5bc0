"""The texts of units are read back instead of rendered, and only for what they were made."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk import ArraySpec, ElementwiseKernel, render, rendered
from kerneltk.cache import Cache

X = ArraySpec.make("f4", 1000)


@pytest.fixture
def renders(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    cache = Cache(None)
    monkeypatch.setattr(rendered, "get_cache", lambda: cache)
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


def test_what_renders_is_part_of_the_key(
    renders: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel().translation_unit(X)
    monkeypatch.setattr(rendered, "_renderer_digest", lambda: b"another version")
    kernel().translation_unit(X)
    assert len(renders) == 2


@pytest.mark.parametrize("name", rendered._RENDERERS)
def test_the_renderers_exist(name: str) -> None:
    assert (rendered._PACKAGE / name).is_file()
