"""What `kerneltk.vectorize` refuses, with the whole message."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import jit
from tests.diagnostics.tables import check_message, messages

REFUSED = messages("vectorize")
X = np.arange(6.0).reshape(2, 3)
SOURCE = (Path(__file__).parent / "refused" / "vectorize_functions.txt").read_text()


def namespace() -> dict[str, Any]:
    """The functions, and what the calls name."""
    lines = SOURCE.splitlines(keepends=True)
    linecache.cache["program.py"] = (len(SOURCE), None, lines, "program.py")
    names: dict[str, Any] = {"np": np, "jit": jit, "vectorize": kerneltk.vectorize, "X": X.copy()}
    exec(compile(SOURCE, "program.py", "exec"), names)
    return names


@pytest.mark.parametrize(("call", "kind", "message"), REFUSED, ids=[call for call, _, _ in REFUSED])
def test_message(call: str, kind: str, message: str) -> None:
    names = namespace()
    check_message(lambda: eval(call, names), kind, message, of_python=True)
    np.testing.assert_array_equal(names["X"], X)  # nothing was half done


def test_many_are_pinned() -> None:
    assert len(REFUSED) >= 50
