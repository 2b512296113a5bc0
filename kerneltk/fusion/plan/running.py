"""Cumulative sums, products and extremes along rows, by kernels in Python: a thread has a row."""

from __future__ import annotations

from typing import Any

from kerneltk.jit.frontends.vectorize import vectorize


def running_sum(x: Any, y: Any) -> None:
    """Sums of the elements up to each."""
    total = x[0]
    y[0] = total
    for i in range(1, x.shape[0]):
        total += x[i]
        y[i] = total


def running_product(x: Any, y: Any) -> None:
    """Products of the elements up to each."""
    total = x[0]
    y[0] = total
    for i in range(1, x.shape[0]):
        total *= x[i]
        y[i] = total


def running_maximum(x: Any, y: Any) -> None:
    """The largest of the elements up to each; NaN from the first one on."""
    total = x[0]
    y[0] = total
    for i in range(1, x.shape[0]):
        value = x[i]
        if value > total or value != value:
            total = value
        y[i] = total


def running_minimum(x: Any, y: Any) -> None:
    """The smallest of the elements up to each; NaN from the first one on."""
    total = x[0]
    y[0] = total
    for i in range(1, x.shape[0]):
        value = x[i]
        if value < total or value != value:
            total = value
        y[i] = total


RUNNING = {
    name: vectorize(function, signature="(n)->(n)")
    for name, function in (
        ("add", running_sum),
        ("multiply", running_product),
        ("maximum", running_maximum),
        ("minimum", running_minimum),
    )
}
