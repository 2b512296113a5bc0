"""What is kept of functions: whatever changes, a kernel is what it would be without the cache."""

from __future__ import annotations

import importlib.util
import linecache
import os
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kerneltk import jit, vectorize
from kerneltk.backends.base import capabilities_of
from kerneltk.cache.store import Cache
from kerneltk.errors import ArgumentTypeError, SourceError, UnsupportedError
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.ir.types import (
    VOID,
    Array,
    Record,
    Type,
    number,
)
from tests.unit.cache.stages import set_cache

FLOATS = Array(number(np.float32), 1)
HEAD = """
import builtins, dataclasses, math, types, typing
from typing import NamedTuple
import numpy as np
from kerneltk import jit
"""
TAIL = """

@jit.rawkernel
def grid(x, y):
    i = jit.grid(1)
    if i < x.size:
        y[i] = f(x[i])
"""


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> Cache:
    own = Cache(None)
    set_cache(monkeypatch, "analysis", own)
    return own


@pytest.fixture
def lowerings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions that are lowered."""
    found: list[str] = []
    original = Definition.lowered

    def lowered(self: Definition, *args: Any, **named: Any) -> Any:
        found.append(self.function.__name__)
        return original(self, *args, **named)

    monkeypatch.setattr(Definition, "lowered", lowered)
    return found


class Program:
    """A module in a file, which is loaded anew as another process loads it."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch
        self.path = directory / "program.py"
        self.writes = 0

    def write(self, text: str) -> types.ModuleType:
        self.path.write_text(text)
        self.writes += 1  # two texts of one length may be written within a tick of the clock
        os.utime(self.path, (1_000_000_000 + self.writes,) * 2)
        return self.load()

    def load(self) -> types.ModuleType:
        spec = importlib.util.spec_from_file_location("program", self.path)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        self.monkeypatch.setitem(sys.modules, "program", module)  # dataclasses ask it
        code = compile(self.path.read_text(), str(self.path), "exec")
        exec(code, module.__dict__)
        return module


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    yield Program(tmp_path, monkeypatch)
    linecache.checkcache()


def meaning(module: types.ModuleType, front_end: str, **options: Any) -> Any:
    """All that is known of a kernel, newly decorated, before it is compiled."""
    if front_end == "grid":
        kernel = jit.rawkernel(**options)(module.grid.__wrapped__)
        return kernel._analysis((FLOATS, FLOATS), capabilities_of("cuda"), False)
    typed, dtypes, ndim = jit.kernel(**options)(module.f)._specialized((np.ones(3, "f"),), ())
    return typed._definition, dtypes, ndim


def fresh_meaning(monkeypatch: pytest.MonkeyPatch, *args: Any, **options: Any) -> Any:
    """The same without anything that is kept."""
    with monkeypatch.context() as context:
        empty = Cache(None)
        set_cache(context, "analysis", empty)
        return meaning(*args, **options)


def changes() -> list[tuple[str, str, bool, str]]:
    """Return the table of changes: their names, modules, whether what a kernel was before is kept,
    and the statement that changes a module.
    """
    found = []
    for entry in Path(__file__).with_name("analyses.txt").read_text().rstrip("\n").split("\n\n"):
        name, _, rest = entry.partition("\n")
        text, sign, statement = re.split(r"(?m)^([=!])\n", rest, maxsplit=1)
        found.append((name, text, sign == "=", statement))
    return found


def test_what_changes_is_seen(
    program: Program, lowerings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record of one kernel is as that of another: every fourth change is of a grid's."""
    future = "from __future__ import annotations\n"
    for k, (name, text, is_kept, statement) in enumerate(changes()):
        set_cache(monkeypatch, "analysis", Cache(None))
        front_end = "elements" if k % 4 else "grid"
        text = f"{future * (future in text)}{HEAD}{text.replace(future, '')}{TAIL}"
        before = meaning(program.write(text), front_end)
        module = program.load()
        lowerings.clear()
        assert meaning(module, front_end) == before, name
        assert (not lowerings) == is_kept, name

        exec(statement, module.__dict__)
        lowerings.clear()
        after = meaning(module, front_end)
        assert lowerings, name
        assert after == fresh_meaning(monkeypatch, module, front_end), name
        assert after != before, name

        lowerings.clear()
        assert meaning(program.load(), front_end) == before, name  # the other record is still there
        assert (not lowerings) == is_kept, name


OTHER_TEXTS = {
    "another number in the same place": ("def f(x): return x * 2", "def f(x): return x * 3"),
    "lines that moved": ("def f(x): return x * 2", "\n\ndef f(x): return x * 2"),
    "another name of a parameter": ("def f(x): return x * 2", "def f(y): return y * 2"),
    "other columns": ("def f(x): return x * 2", "def f(x): return  x * 2"),
    "a device function": (
        "def g(x): return x * 2\ndef f(x): return g(x)",
        "def g(x): return x * 3\ndef f(x): return g(x)",
    ),
    "a lambda": ("f = lambda x: x * 2", "f = lambda x: x * 3"),
    "one of two lambdas in a line": (
        "f, g = lambda x: x * 2, lambda x: x * 3",
        "g, f = lambda x: x * 2, lambda x: x * 3",
    ),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", OTHER_TEXTS)
def test_functions_that_are_defined_anew(
    program: Program, cache: Cache, lowerings: list[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    front_end = "grid" if "lambda" in name else "elements"
    first, second = (f"{HEAD}{text}{TAIL}" for text in OTHER_TEXTS[name])
    meanings = []
    for text in (first, second):
        module = program.write(text)
        meanings.append(meaning(module, front_end))
        assert meanings[-1] == fresh_meaning(monkeypatch, module, front_end)
    lowerings.clear()
    assert meaning(program.write(first), front_end) == meanings[0]
    assert not lowerings


def test_other_types_options_and_modes_have_records_of_their_own(
    program: Program, cache: Cache, lowerings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = program.write(
        f"{HEAD}def f(x, a): return a * x\n{TAIL}".replace("(x[i])", "(x[i], y[i])")
    )
    changed: tuple[dict[str, Any], ...] = (
        {}, {"mode": "numpy"}, {"fastmath": True}, {"options": ("-DX",)}, {"launch_bounds": 128},
    )  # fmt: skip
    cases: list[tuple[dict[str, Any], tuple[Type, ...]]] = [
        (options, kinds)
        for options in changed
        for kinds in ((FLOATS, FLOATS), (FLOATS, Array(number(np.int32), 1)))
    ]
    strided = Array(number(np.float32), 1, "strided")
    cases += [({}, kinds) for kinds in ((strided, FLOATS), (FLOATS, strided))]

    def made(options: dict[str, Any], kinds: tuple[Type, ...], backend: str, small: bool) -> Any:
        kernel = jit.rawkernel(**options)(module.grid.__wrapped__)
        capabilities = capabilities_of(backend)
        return kernel._analysis(kinds, capabilities, small)

    every = [
        (*case, backend, small)
        for case in cases
        for backend in ("cuda", "host")
        for small in (False, True)
    ]
    for attempt in every:
        found = made(*attempt)
        with monkeypatch.context() as context:
            set_cache(context, "analysis", Cache(None))
            assert made(*attempt) == found


@pytest.mark.exhaustive
def test_outputs_that_are_given(cache: Cache, lowerings: list[str]) -> None:
    def doubled(x):
        return 2 * x

    x = np.arange(3, dtype=np.float32)
    for _ in range(2):
        for dtype in (np.float32, np.float64, np.complex64):
            out = np.zeros(3, dtype)
            jit.kernel(doubled)(x, out=out)
            np.testing.assert_array_equal(out, 2 * x)
        with pytest.raises(ArgumentTypeError, match="has dtype 'float32', and the array"):
            jit.kernel(doubled)(x, out=np.zeros(3, np.int32))
        with pytest.raises(ArgumentTypeError):
            jit.kernel(doubled)(x, out=np.zeros(3, ">f4"))
    assert len(lowerings) == 3 + 2 * 2  # what is refused is never kept


def test_text_without_a_file(
    cache: Cache, lowerings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(text: str) -> types.ModuleType:
        module = types.ModuleType("typed")
        lines = text.splitlines(keepends=True)
        monkeypatch.setitem(linecache.cache, "<typed>", (len(text), None, lines, "<typed>"))
        exec(compile(text, "<typed>", "exec"), module.__dict__)
        return module

    first, second = (f"{HEAD}def f(x): return x * {n}{TAIL}" for n in (2, 3))
    found = [meaning(made(text), "elements") for text in (first, second)]
    assert found[0] != found[1]
    lowerings.clear()
    assert [meaning(made(text), "elements") for text in (first, second)] == found
    assert not lowerings


def test_a_file_that_changed_after_it_was_read_is_refused_as_ever(
    program: Program, cache: Cache
) -> None:
    first, second = (f"{HEAD}def f(x): return x * {n}{TAIL}" for n in (2, 3))
    module = program.write(first)
    meaning(module, "elements")
    program.write(second)
    for front_end, error in (("elements", SourceError), ("grid", UnsupportedError)):
        with pytest.raises(error, match="is not the one"):
            meaning(module, front_end)


def test_what_becomes_of_records_is_kept(
    program: Program, cache: Cache, lowerings: list[str]
) -> None:
    module = program.write(f"""{HEAD}
def grid(x, pair, read, left_out):
    i = jit.grid(1)
    if i < x.size:
        x[i] = x[i] + pair.f0 + read.f1
    pair.f1 = 2
""")
    pair = Record(np.dtype("f4,f4"))
    kinds = (FLOATS, pair, pair, VOID)
    for backend in ("host", "cuda"):
        found = [
            jit.rawkernel(module.grid)._analysis(kinds, capabilities_of(backend), False)
            for _ in range(2)
        ]
        assert found[0] == found[1]
        assert found[0].lent == (False, True, backend == "host", False)
    assert lowerings == ["grid"] * 2


def times(factor: int) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        return x * factor

    return function


twice, thrice = times(2), times(3)


def with_another(x: Any, other: Any) -> Any:
    return twice(x) + other(x)


def test_functions_among_constants_keep_what_they_close_over(cache: Cache) -> None:
    kernel = vectorize(with_another, excluded=[1])
    found = [kernel(np.ones(1), other)[0] for other in (twice, thrice, twice)]
    assert found == [4, 5, 4]


def test_code_that_is_replaced_is_not_kept_for_the_new_one(cache: Cache) -> None:
    function: Any = times(2)

    def other(x: Any) -> Any:
        return x * factor * 10

    factor = 2
    kernel = jit.kernel(function)
    assert kernel(np.ones(1, "f4")) == 2
    function.__code__ = other.__code__
    kernel(np.ones(1, "f8"))
    assert jit.kernel(other)(np.ones(1, "f8")) == 20
