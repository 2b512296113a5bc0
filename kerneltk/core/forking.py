"""Locks that a forked process can take, whichever thread of its parent held them."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

T = TypeVar("T")


class cached_property(functools.cached_property[T]):  # noqa: N801  (as functools calls it)
    """`functools.cached_property` without the lock of Python 3.11.

    That lock is one for all objects of a class, which later versions have not: a thread that
    analyses one kernel would make the others wait that analyse theirs, and where it is held while
    another thread forks, the child would wait for ever.
    """

    def __init__(self, func: Callable[[Any], T]) -> None:
        super().__init__(func)
        self.lock = nullcontext()


def module_lock() -> threading.Lock:
    """Make a lock that is free in a forked child; for variables of modules, as it lasts."""
    lock = threading.Lock()
    os.register_at_fork(after_in_child=lock._at_fork_reinit)  # type: ignore[attr-defined]
    return lock
