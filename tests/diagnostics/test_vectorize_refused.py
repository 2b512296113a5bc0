"""What `kerneltk.vectorize` refuses, with the whole message."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import jit
from tests.diagnostics.tables import check_message, messages

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
    check_message(lambda: eval(call, names), kind, message, of_python=True)
    np.testing.assert_array_equal(names["X"], X)  # nothing was half done


def test_many_are_pinned() -> None:
    assert len(REFUSED) >= 50
