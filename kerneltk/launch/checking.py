"""What a raw kernel's launch does where its checks find something: raise, warn, or nothing."""

from __future__ import annotations

import os
import threading
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
        # With an object of each block's own: those of several threads do not end in order.
        self.chosen: list[tuple[object, Checks]] = []
        self.number = 0  # of changes
        self._dispatchers: weakref.WeakSet[Forgets] = weakref.WeakSet()
        # Reentrant: the garbage collector may make or drop kernels while it is held.
        self._lock = threading.RLock()

    def add(self, dispatcher: Forgets) -> None:
        """Register what forgets its launchers at each change."""
        with self._lock:
            self._dispatchers.add(dispatcher)

    def enter(self, choice: tuple[object, Checks]) -> None:
        """Begin a block."""
        with self._lock:
            self.chosen.append(choice)
        self._change()

    def leave(self, choice: tuple[object, Checks]) -> None:
        """End a block."""
        with self._lock:
            self.chosen.remove(choice)
        self._change()

    def _change(self) -> None:
        with self._lock:
            self.number += 1
            dispatchers = list(self._dispatchers)
        for dispatcher in dispatchers:
            dispatcher.forget()

    def after_fork(self) -> None:
        """Replace the lock, which another thread of the parent may have held."""
        self._lock = threading.RLock()


state = _State()
os.register_at_fork(after_in_child=state.after_fork)


def current_checks() -> Checks:
    """Return the default mode of the checks."""
    # One read of the list: another thread may end its block at any time.
    chosen = state.chosen[-1:]
    return chosen[0][1] if chosen else get_settings().raw_checks


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
    choice = object(), checks
    state.enter(choice)
    try:
        yield
    finally:
        state.leave(choice)
