"""What `kerneltk.vectorize` refuses, with the whole message."""

from __future__ import annotations

import linecache
import sys
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import jit
from tests.diagnostics.tables import messages

REFUSED = messages("vectorize")
X = np.arange(6.0).reshape(2, 3)
SOURCE = """\
def add(x, y):
    return x + y


def item(table, index):
    return table[index]


def nothing(x):
    y = x + 1


def centred(x):
    return x - x.mean()


def dot(x, y):
    total = 0.0
    for k in range(x.size):
        total += x[k] * y[k]
    return total


def both(x, result):
    result[0] = x[0]
    return x[0]


def spoiled(x, result):
    x[0] = 1
    result[0] = 2


def fill(result):
    result[0] = 1


def by_helper(x, result):
    fill(result)


def pair(x):
    return x[0], 2 * x[0]


def two(x):
    return x, 2 * x


def whole(x):
    return x


def text(x):
    return "a"


def many(*values):
    return values[0]


def endless(x):
    return endless(x - 1)


def listed(x):
    return [x, x]


def arrays(x):
    return np.array([x, 2 * x])


def turned(x):
    return x * 1j


def placed(x):
    i, j = jit.index(2)
    return x[0] + i + j


def idle(x, result):
    pass


def sometimes(x, result):
    if x[0] > 0:
        result[0] = 1


def first(x, table):
    for j in range(len(table)):
        if table[j] == x:
            found = j
    return found
"""


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
