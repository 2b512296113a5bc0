"""What `kerneltk.vectorize` refuses, with the whole message."""

from __future__ import annotations

import linecache
import sys
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import jit
from tests.diagnostics.vectorize_refused_programs import REFUSED, SOURCE

X = np.arange(6.0).reshape(2, 3)


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
    with pytest.raises(kerneltk.KernelToolkitError) as caught:
        eval(call, names)
    assert type(caught.value).__name__ == kind
    assert _without_carets(str(caught.value)) == _without_carets(message)
    if sys.version_info[:2] == (3, 11):  # others know other positions of some expressions
        assert str(caught.value) == message
    np.testing.assert_array_equal(names["X"], X)  # nothing was half done


def _without_carets(message: str) -> list[str]:
    return [line for line in message.split("\n") if line.strip("^ ")]


def test_many_are_pinned() -> None:
    assert len(REFUSED) >= 50
