"""What a raw kernel's launch does where its checks find something: raise, warn, or nothing."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, Protocol

from kerneltk.core.settings import get_settings
from kerneltk.errors import ArgumentValueError

Checks = Literal["error", "warn", "off"]


class Forgets(Protocol):
    """What has launchers that were made for one of these."""

    def forget(self) -> None:
        """Choose a launcher anew at the next call."""


class _State:
    """What context managers say, the innermost last."""

    def __init__(self) -> None:
        self.chosen: list[Checks] = []
        self.number = 0  # of changes
        self.dispatchers: weakref.WeakSet[Forgets] = weakref.WeakSet()

    def change(self) -> None:
        self.number += 1
        for dispatcher in list(self.dispatchers):
            dispatcher.forget()


state = _State()


def current_checks() -> Checks:
    """Return what kernels do that say nothing else."""
    return state.chosen[-1] if state.chosen else get_settings().raw_checks


@contextmanager
def raw_checks(checks: Literal["error", "warn", "off"]) -> Iterator[None]:
    """Choose what launches of raw kernels do with arguments that do not fit, in a ``with`` block.

    It decides for kernels that were made without ``checks=`` and for launches without it, in all
    threads. The environment variable ``KERNELTK_RAW_CHECKS`` chooses for a whole program.

    Parameters
    ----------
    checks : {"error", "warn", "off"}
        Raise an error; warn (`RuntimeWarning`) and launch; or launch.

    Raises
    ------
    ArgumentValueError
        `checks` is none of these.

    Examples
    --------
    >>> import numpy as np
    >>> import kerneltk
    >>> bits = kerneltk.RawKernel(
    ...     '__global__ void bits(const unsigned* x, unsigned* y) { *y = *x >> 23; }', "bits")
    >>> y = np.zeros(1, np.uint32)
    >>> with kerneltk.raw_checks("off"):
    ...     bits(1, 1, (np.ones(1, np.float32), y))
    >>> y
    array([127], dtype=uint32)
    """
    if checks not in ("error", "warn", "off"):
        raise ArgumentValueError(f"'raw_checks' takes 'error', 'warn' or 'off', not {checks!r}.")
    state.chosen.append(checks)
    state.change()
    try:
        yield
    finally:
        state.chosen.remove(checks)
        state.change()
