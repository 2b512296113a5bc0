"""Random programs of array expressions: graphs with several uses of a value, views, reductions with
and without kept axes, several results, and writes in place.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

Values = list[Any]


def arguments(seed: int, rows: int, columns: int) -> tuple[Any, ...]:
    """Two matrices, a row, a column, and a number."""
    generator = np.random.default_rng(seed)
    x, y = generator.uniform(-2, 2, (2, rows, columns))
    return x, y, generator.uniform(0.5, 2, columns), generator.uniform(0.5, 2, (rows, 1)), 1.25


_UNARY: list[Callable[[Any], Any]] = [
    np.tanh, np.abs, np.negative, np.sin, np.cos, lambda v: np.sqrt(np.abs(v) + 1),
    lambda v: np.exp(-np.abs(v)), lambda v: v * 0.5, lambda v: np.where(v > 0.1, v, 0.25),
    lambda v: v.clip(-1, 1), lambda v: v.astype(np.float64) + 1, lambda v: np.log1p(np.abs(v)),
]  # fmt: skip
_BINARY: list[Callable[[Any, Any], Any]] = [
    np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.arctan2, np.hypot,
    lambda a, b: a / (np.abs(b) + 1), lambda a, b: np.where(a > b, a, b * 0.5),
]  # fmt: skip
_REDUCTIONS = ("sum", "mean", "max", "min", "var", "std", "any", "argmax", "prod")


class Program:
    """A program by its seed: the same steps for NumPy's arrays and for traced ones."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.__name__ = f"program_{seed}"

    def __call__(self, x: Any, y: Any, row: Any, column: Any, k: Any) -> Any:
        choose = random.Random(self._seed)
        matrices: Values = [x, y]
        others: Values = [row, column]
        reductions = choose.randint(0, 4)
        steps = choose.randint(3, 8) + reductions
        at = set(choose.sample(range(steps), reductions))
        for step in range(steps):
            if step in at:
                others.append(self._reduced(choose, choose.choice(matrices)))
                continue
            kind = choose.random()
            if kind < 0.3:
                found = choose.choice(_UNARY)(choose.choice(matrices))
            elif kind < 0.6:
                found = choose.choice(_BINARY)(*choose.choices(matrices, k=2))
            elif kind < 0.8:
                found = choose.choice(_BINARY)(choose.choice(matrices), choose.choice(others))
            elif kind < 0.9:
                found = choose.choice(matrices) * k + step
            else:
                found = self._view(choose, choose.choice(matrices))
            matrices.append(found)
        if choose.random() < 0.3:
            x += matrices[-1]
        if choose.random() < 0.2:
            y[1:] = matrices[-1][:-1]
        return [*choose.sample(matrices[2:], 1), matrices[-1], *others[2:]]

    def _reduced(self, choose: random.Random, value: Any) -> Any:
        """A value that is broadcast to a matrix: of columns, of rows, or of all elements."""
        name = choose.choice(_REDUCTIONS)
        way = choose.randrange(4)
        if name == "prod":
            value = np.tanh(value)
        options: dict[str, Any] = [
            {"axis": 0}, {"axis": 1, "keepdims": True}, {"axis": None},
            {"axis": 0, "keepdims": True},
        ][way]  # fmt: skip
        found = getattr(value > 0 if name == "any" else value, name)(**options)
        return found * 1.0

    def _view(self, choose: random.Random, value: Any) -> Any:
        way = choose.randrange(3)
        if way == 0:
            return value[::-1]
        return value[:, ::-1] if way == 1 else value[::-1, ::-1] * 1
