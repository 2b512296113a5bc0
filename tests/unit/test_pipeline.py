"""From a unit to its function: what is compiled, what is read, what is remembered."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kerneltk import pipeline
from kerneltk.backends.base import Function
from kerneltk.backends.host.backend import HostBackend
from kerneltk.cache.derived import reader_of
from kerneltk.cache.store import Cache
from kerneltk.core.artifacts import ObjectCode, Target, TranslationUnit
from kerneltk.core.lexer import foreign_headers
from kerneltk.errors import CompileError
from tests.unit.cache.stages import set_cache

UNIT = TranslationUnit("host", "int one;", "k")


class Counting(HostBackend):
    """A backend that compiles nothing, and counts."""

    def __init__(self) -> None:
        self.compiled = 0
        self.loaded: list[ObjectCode] = []
        self.device = 0
        self.fails = False

    def target(self) -> Target:
        return Target("host", "none", "counting 1")

    def backend_options(self, unit: TranslationUnit) -> tuple[str, ...]:
        return ()

    def compile(self, unit: TranslationUnit, target: Target) -> ObjectCode:
        self.compiled += 1
        if self.fails:
            raise CompileError("no")
        return ObjectCode(target, "shared-library", unit.source.encode(), unit.entry)

    def load(self, code: ObjectCode) -> Function:
        self.loaded.append(code)
        return Function(len(self.loaded))

    def device_key(self) -> int:
        return self.device


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Cache:
    cache = Cache(None)
    set_cache(monkeypatch, "object code", cache)
    monkeypatch.setattr(pipeline, "_functions", {})
    return cache


def test_a_function_is_compiled_and_loaded_once(store: Cache) -> None:
    backend = Counting()
    first = pipeline.get_function(UNIT, backend)
    assert pipeline.get_function(UNIT, backend) is first
    assert (backend.compiled, len(backend.loaded)) == (1, 1)


def test_each_device_loads_the_same_object_code(store: Cache) -> None:
    backend = Counting()
    pipeline.get_function(UNIT, backend)
    backend.device = 1
    pipeline.get_function(UNIT, backend)
    assert backend.compiled == 1
    assert backend.loaded[0] == backend.loaded[1]


def test_origins_are_for_messages_only(store: Cache) -> None:
    backend = Counting()
    pipeline.get_function(UNIT, backend)
    pipeline.get_function(TranslationUnit("host", "int one;", "k", (), (("a", "b"),)), backend)
    assert backend.compiled == 1


@pytest.mark.parametrize("damage", [b"", b"\0\0\0\0", b"abc", b"\x02\0\0\0{}"])
def test_what_is_no_object_code_is_compiled_anew(store: Cache, damage: bytes) -> None:
    backend = Counting()
    code = pipeline.build(UNIT, backend, backend.target())
    (key,) = store._memory if hasattr(store, "_memory") else ("",)
    store.put(key, damage)
    assert store.get(key) == damage
    assert pipeline.build(UNIT, backend, backend.target()) == code
    assert backend.compiled == 2


def test_a_function_has_a_trace_where_it_was_loaded(store: Cache) -> None:
    backend = Counting()
    function, trace = pipeline.traced_function(UNIT, backend)
    assert trace is not None
    assert trace.key == pipeline.key_of(UNIT, backend, backend.target())
    assert pipeline.traced_function(UNIT, backend) == (function, None)


def test_a_failure_is_not_remembered(store: Cache) -> None:
    backend = Counting()
    backend.fails = True
    for _ in range(2):
        with pytest.raises(CompileError):
            pipeline.get_function(UNIT, backend)
    backend.fails = False
    assert pipeline.get_function(UNIT, backend).handle == 1
    assert backend.compiled == 3


def test_object_code_survives_its_bytes() -> None:
    code = ObjectCode(Target("cuda", "sm_90", "nvrtc 12.9"), "cubin", b"\0\x7fELF", "kernel")
    assert ObjectCode.from_bytes(code.to_bytes()) == code


# -- units that need not be there ------------------------------------------------------------------


class Looking(Counting):
    """A backend whose options and directories depend on what a unit says."""

    def __init__(self, words: str = "cooperative_groups", *directories: Path) -> None:
        super().__init__()
        self.words = words
        self.directories = directories
        self.option = "-DX"

    def backend_options(self, unit: TranslationUnit) -> tuple[str, ...]:
        return (self.option,) * (self.words in unit.source)

    def include_directories(self, unit: TranslationUnit) -> tuple[Path, ...]:
        return self.directories * bool(foreign_headers(unit.source))


BARE = TranslationUnit("host", "", "", raw=True)
WHOLE = replace(
    BARE,
    source='int a;\n#include <x.h>\n#include "y.h"\n// cooperative_groups\nint one;',
    options=("-DY",),
)


def provenance(backend: Looking, unit: TranslationUnit = WHOLE) -> pipeline.Provenance | None:
    found = pipeline.trace_of(unit, backend, backend.target())
    assert found.key == pipeline.key_of(unit, backend, backend.target())
    made = pipeline.Provenance.of(unit, backend, found)
    if made is None:
        return None
    assert "int" not in made.outline
    read: pipeline.Provenance = reader_of(pipeline.Provenance)(json.loads(json.dumps(made)))
    assert read == made
    return read


def test_a_key_is_known_without_its_unit(tmp_path: Path) -> None:
    backend = Looking("cooperative_groups", tmp_path)
    known = provenance(backend)
    assert known is not None
    assert known.current(BARE, backend) == known
    (tmp_path / "x.h").write_text("int x;\n")
    assert known.current(BARE, backend) is None


@pytest.mark.parametrize(
    "other",
    [
        lambda path: Looking("nothing", path),
        lambda path: Looking("x.h", path / "other"),
        lambda path: Looking("x.h"),
        lambda path: Looking("x.h", path, path / "other"),
    ],
)
def test_what_compilers_add_is_asked_again(tmp_path: Path, other: Any) -> None:
    backend = Looking("cooperative_groups", tmp_path)
    known = provenance(backend)
    assert known is not None
    assert known.current(BARE, Looking("x.h", tmp_path)) == known
    assert known.current(BARE, other(tmp_path)) is None
    backend.option = "-DZ"
    assert known.current(BARE, backend) is None


def test_what_an_outline_does_not_show() -> None:
    assert provenance(Looking("int one")) is None
    unit, backend = replace(WHOLE, source="#include MACRO"), Looking()  # has a new key each time
    found = pipeline.trace_of(unit, backend, backend.target())
    assert pipeline.Provenance.of(unit, backend, found) is None
