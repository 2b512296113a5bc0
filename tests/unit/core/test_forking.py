"""Locks and lazy properties in forked processes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from kerneltk.core.forking import cached_property, module_lock


def forked_while(hold: Callable[[threading.Event, threading.Event], None]) -> int:
    """Fork while a thread is inside `hold`, which waits there for the second event; in the child
    return 0, in the parent the child's process number.
    """
    began, is_over = threading.Event(), threading.Event()
    thread = threading.Thread(target=hold, args=(began, is_over))
    thread.start()
    began.wait()
    child = os.fork()
    if child:
        is_over.set()
        thread.join()
    return child


@pytest.mark.filterwarnings("ignore:.*fork")  # of Python, and of libraries that are imported
def test_a_property_is_computed_in_a_child_while_the_parent_computes_another() -> None:
    class Thing:
        def __init__(self, wait: Callable[[], object]) -> None:
            self.wait = wait

        @cached_property
        def number(self) -> int:
            self.wait()
            return 3

    def hold(began: threading.Event, is_over: threading.Event) -> None:
        def wait() -> None:
            began.set()
            is_over.wait()

        assert Thing(wait).number == 3

    child = forked_while(hold)
    if child == 0:
        os._exit(0 if Thing(int).number == 3 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_lock_that_another_thread_holds_is_free_in_a_child() -> None:
    lock = module_lock()

    def hold(began: threading.Event, is_over: threading.Event) -> None:
        with lock:
            began.set()
            is_over.wait()

    child = forked_while(hold)
    if child == 0:
        os._exit(0 if lock.acquire(blocking=False) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert lock.acquire(blocking=False)
