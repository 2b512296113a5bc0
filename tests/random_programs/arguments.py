"""Arguments of random programs: numbers with the special ones among them, arrays of any layout."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from kerneltk.core.dtypes import is_supported

from .numbers import COMPLEXES, FLOATS, INTEGERS
from .tree import Parameter

__all__ = ["KINDS", "array", "random_record", "scalar", "special", "values"]

KINDS = ("bool", *INTEGERS, *FLOATS, *COMPLEXES)


def special(kind: str, rng: random.Random) -> Any:
    """Return a number of a kind at which functions change."""
    if kind == "bool":
        return rng.random() < 0.5
    if kind in INTEGERS:
        limits = np.iinfo(kind)
        edges = [limits.min, limits.max, limits.min + 1, limits.max - 1, 0, 1, 2, limits.max // 2]
        return rng.choice([*edges, max(limits.min, -1)])
    if kind in FLOATS:
        limit = np.finfo(kind)
        edges = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -1.5, math.inf, -math.inf, math.nan]
        edges += [float(limit.max), float(limit.min), float(limit.smallest_subnormal)]
        edges += [float(limit.eps), -float(limit.smallest_subnormal) * 3, 1 + float(limit.eps)]
        return rng.choice(edges)
    part = "float32" if kind == "complex64" else "float64"
    return complex(number(part, rng), number(part, rng))


def number(kind: str, rng: random.Random) -> Any:
    """Return a number of a kind: special, small, or any."""
    choice = rng.random()
    if choice < 0.3 or kind == "bool":
        return special(kind, rng)
    if kind in INTEGERS:
        limits = np.iinfo(kind)
        if choice < 0.8:
            return rng.randint(max(-20, limits.min), 20)
        return rng.randint(limits.min, limits.max)
    if kind in FLOATS:
        if choice < 0.6:
            return float(rng.randint(-9, 9)) / rng.choice([1, 2, 4])
        return (
            rng.uniform(-8, 8) if choice < 0.9 else rng.uniform(-1, 1) * 10.0 ** rng.randint(-9, 9)
        )
    part = "float32" if kind == "complex64" else "float64"
    return complex(number(part, rng), number(part, rng))


def values(dtype: np.dtype[Any], count: int, rng: random.Random) -> np.ndarray[Any, Any]:
    """Return `count` numbers, or records, of a dtype."""
    found = np.zeros(count, dtype)
    if dtype.names is not None:
        for name in dtype.names:
            part = dtype[name]
            inner = math.prod(part.shape) if part.shape else 1
            found[name] = values(part.base, count * inner, rng).reshape((count, *part.shape))
        return found
    with np.errstate(all="ignore"):
        for k in range(count):
            found[k] = np.array(number(dtype.name, rng)).astype(dtype)
    if dtype.kind == "b":  # any byte but zero is true
        found.view(np.uint8)[:] *= np.resize([1, 2, 128, 255], count).astype(np.uint8)
    return found


def random_record(rng: random.Random, depth: int = 0) -> np.dtype[Any]:
    """Return a structured dtype that kernels take: packed or aligned, with arrays and records."""
    while not is_supported(found := any_record(rng, depth)):
        pass
    return found


def any_record(rng: random.Random, depth: int) -> np.dtype[Any]:
    fields: list[Any] = []
    for k in range(rng.randint(1, 4)):
        name = f"f{k}" if depth == 0 else f"g{k}"
        choice = rng.random()
        if choice < 0.2 and depth == 0:
            fields.append((name, any_record(rng, 1)))
        elif choice < 0.4:
            fields.append((name, rng.choice(KINDS), rng.choice([(2,), (3,), (2, 2)])))
        else:
            fields.append((name, rng.choice(KINDS)))
    return np.dtype(fields, align=rng.random() < 0.5)


def script_of(dtype: np.dtype[Any]) -> str:
    """Return Python text for a dtype."""
    if dtype.names is None:
        return repr(dtype.name)
    fields = []
    for name in dtype.names:
        part = dtype[name]
        shape = f", {part.shape!r}" if part.shape else ""
        fields.append(f"({name!r}, {script_of(part.base)}{shape})")
    return f"np.dtype([{', '.join(fields)}], align={dtype.isalignedstruct})"


# Each has the number of elements that the base needs for an axis of n, and the subscript.
LAYOUTS = (
    (lambda n: n, ":"),
    (lambda n: n, ":"),
    (lambda n: n, "::-1"),
    (lambda n: 2 * n, "::2"),
    (lambda n: n + 3, "3:"),
    (lambda n: 3 * n, "1::3"),
    (lambda n: 2 * n, "::-2"),
)


def array(
    name: str, dtype: np.dtype[Any], shape: tuple[int, ...], rng: random.Random, *, is_output: bool
) -> Parameter:
    """Return an array parameter of some layout."""
    base, view = [], []
    for extent in shape:
        longer, subscript = rng.choice(LAYOUTS)
        base.append(longer(extent))
        view.append(subscript)
    choice = rng.random()
    order = "C"
    ending = ""
    if choice < 0.35:  # dense
        base, view = list(shape), [":"] * len(shape)
    elif choice < 0.45 and len(shape) == 2:
        order = "F"
        base, view = list(shape), [":"] * len(shape)
    elif choice < 0.55 and len(shape) == 1:  # a column
        base, view = [shape[0], 3], [":", "1"]
    elif choice < 0.65 and not is_output:
        ending = f", {shape!r})"
        base, view = [1] * len(shape), [":"] * len(shape)
    raw = values(dtype, math.prod(base), rng).tobytes()
    subscript = ", ".join(view)

    text = f"np.frombuffer(bytes.fromhex({raw.hex()!r}), {script_of(dtype)})"
    text += f".reshape({tuple(base)!r}).copy({order!r})"
    if set(view) != {":"}:
        text += f"[{subscript}]"
    if ending:
        text = f"np.broadcast_to({text}{ending}"
    return Parameter(name, text, is_output)


def scalar(name: str, kind: str, rng: random.Random) -> Parameter:
    """Return a parameter that is one of Python's numbers, or a scalar of NumPy."""
    value: Any
    if kind == "int":
        value = rng.choice([0, 1, 3, -2, 7, 100, -100, 200, -300, 70000, 2**31, 2**40, -(2**40)])
    elif kind == "float":
        value = rng.choice([0.0, 1.0, -0.5, 2.5, 0.1, 1e30, -0.0, math.inf, math.nan])
    elif kind == "complex":
        value = rng.choice([1j, 0.5 + 2j, -1.0 - 1j])
    else:
        value = values(np.dtype(kind), 1, rng)[0]
        if kind == "bool":
            value = bool(value)
    if kind in ("int", "bool", "complex"):
        text = repr(value)
    elif kind == "float":
        text = f"float({str(value)!r})"
    else:
        text = f"np.frombuffer(bytes.fromhex({value.tobytes().hex()!r}), {kind!r})[0]"
    return Parameter(name, text)
