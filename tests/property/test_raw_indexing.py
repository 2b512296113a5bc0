"""Raw arrays indexed by random expressions, compared with NumPy.

Many expressions are one kernel: a compile takes longer than all of them together.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec, ElementwiseKernel, ReductionKernel

SIZE = 7
INTEGERS = {
    "int": "{0}", "long": "{0}l", "unsigned": "{0}u", "int8": "(signed char){0}",
    "uint64": "(unsigned long long){0}", "bool": "(bool)({0})",
}  # fmt: skip


def array(rng: random.Random, ndim: int) -> np.ndarray[Any, Any]:
    """Return an array with its axes in any order, reversed or stepped over."""
    shape = [rng.randint(1, 4) for _ in range(ndim)]
    whole = np.arange(2 * int(np.prod(shape)) + 3, dtype=rng.choice(["f4", "i4", "f8"]))
    order = rng.sample(range(ndim), ndim)
    dense = whole[1 : 1 + int(np.prod(shape))].reshape([shape[k] for k in order])
    found = np.transpose(dense, np.argsort(order))
    if rng.random() < 0.4:
        axis = rng.randrange(ndim)
        found = np.flip(found, axis)
    if rng.random() < 0.3:
        return np.ascontiguousarray(found)
    return found[tuple(slice(None, None, rng.choice([1, 1, 2])) for _ in range(ndim))]


def indexed(rng: random.Random, name: str, x: np.ndarray[Any, Any]) -> tuple[str, Any]:
    """Return an expression that reads an array, and its values for each ``i``."""
    i = np.arange(SIZE)
    if rng.random() < 0.3:
        factor, shift = rng.randint(1, 5), rng.randint(0, 9)
        return f"{name}[(i * {factor} + {shift}) % {x.size}]", x.ravel()[
            (i * factor + shift) % x.size
        ]
    texts, values = [], []
    for extent in x.shape:
        kind = rng.choice([*INTEGERS, "i", "i"])
        constant = rng.randrange(min(extent, 2) if kind == "bool" else extent)
        if kind == "i":
            texts.append(f"(i + {constant}) % {extent}")
            values.append((i + constant) % extent)
        else:
            texts.append(INTEGERS[kind].format(constant))
            values.append(np.full(SIZE, constant))
    inside = ", ".join(texts)
    if rng.random() < 0.2:
        return f"[&] {{ const long long k[] = {{{inside}}}; return {name}[k]; }}()", x[
            tuple(values)
        ]
    return f"{name}[{{{inside}}}]", x[tuple(values)]


def programs(seed: int, count: int) -> tuple[list[Any], list[str], list[Any]]:
    """Return four raw arrays, expressions of them, and their values."""
    rng = random.Random(seed)
    arrays = [array(rng, ndim) for ndim in (1, 2, 3, 4)]
    found = []
    for _ in range(count):
        k = rng.randrange(4)
        found.append(indexed(rng, f"x{k}", arrays[k]))
    return arrays, [text for text, _ in found], [values for _, values in found]


PARAMETERS = "raw A x0, raw B x1, raw C x2, raw D x3"


def check(seed: int, count: int, backend: Any = None) -> None:
    """Compare an elementwise kernel, or compile it and a reduction for GPUs."""
    arrays, texts, values = programs(seed, count)
    stores = " ".join(f"y[{{i, {k}}}] = {text};" for k, text in enumerate(texts))
    kernel = ElementwiseKernel(PARAMETERS, "raw float64 y", stores, "indexed")
    terms = " ".join(f"if (_j == {k}) total = {text};" for k, text in enumerate(texts))
    body = f"[&] {{ const long long i = 3; double total = 0; {terms} return total; }}()"
    sums = ReductionKernel(PARAMETERS, "float64 y", body, "a + b", "y = a", "0", "sums")
    out = np.zeros((SIZE, count))
    if backend is None:
        specs = [ArraySpec.make(x.dtype, x.shape, strides=x.strides) for x in arrays]
        kernel.compile(*specs, ArraySpec.make("f8", out.shape), target="sm_75", size=SIZE)
        sums.compile(*specs, target="sm_90", size=count)
        return
    given = [backend.asarray(x) for x in arrays]
    result = backend.asarray(out)
    kernel(*given, result, size=SIZE)
    wanted = np.stack(values, axis=1).astype(float)
    np.testing.assert_array_equal(backend.asnumpy(result), wanted)
    total = float(backend.asnumpy(sums(*given, size=count)))
    assert total == wanted[3].sum()


@pytest.mark.parametrize("seed", [0])
def test_random_indices(seed: int, backend: Any) -> None:
    check(seed, 50, backend)


@pytest.mark.exhaustive
def test_random_indices_compile_for_gpus() -> None:
    check(1, 50)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(2, 12))
def test_more_random_indices(seed: int, backend: Any) -> None:
    check(seed, 50, backend)
