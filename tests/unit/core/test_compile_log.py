"""Where compilers' logs go."""

from __future__ import annotations

from io import StringIO
from threading import Thread

import pytest

from kerneltk.core.compile_log import report, written_to
from kerneltk.errors import CompileError


def test_the_innermost_stream_gets_the_log() -> None:
    outer, inner = StringIO(), StringIO()
    report("lost")
    with written_to(outer):
        report("\n1 warning\0\n")
        with written_to(inner):
            report("note")
        with written_to(None):
            report("lost")
        report("\n")
        report("2")
    report("lost")
    assert outer.getvalue() == "1 warning\n2\n"
    assert inner.getvalue() == "note\n"


def test_the_log_of_a_refused_unit() -> None:
    stream = StringIO()
    with pytest.raises(CompileError), written_to(stream):
        raise CompileError("It does not compile.", "source", "error: 1\n")
    assert stream.getvalue() == "error: 1\n"
    with pytest.raises(CompileError), written_to(None):
        raise CompileError("It does not compile.", "source", "error: 1\n")


def test_other_threads_logs_stay_out() -> None:
    stream = StringIO()
    with written_to(stream):
        thread = Thread(target=report, args=("another's",))
        thread.start()
        thread.join()
    assert stream.getvalue() == ""
