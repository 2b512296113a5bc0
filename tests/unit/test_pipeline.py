"""From a unit to its function: what is compiled, what is read, what is remembered."""

from __future__ import annotations

import pytest

from kerneltk import pipeline
from kerneltk.backends.base import Function
from kerneltk.backends.host.backend import HostBackend
from kerneltk.cache.store import Cache
from kerneltk.core.artifacts import ObjectCode, Target, TranslationUnit
from kerneltk.errors import CompileError

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
    monkeypatch.setattr(pipeline, "get_cache", lambda: cache)
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


@pytest.mark.parametrize(
    "other",
    [
        TranslationUnit("host", "int two;", "k"),
        TranslationUnit("host", "int one;", "k2"),
        TranslationUnit("host", "int one;", "k", ("-DX",)),
    ],
)
def test_another_unit_is_compiled(store: Cache, other: TranslationUnit) -> None:
    backend = Counting()
    pipeline.get_function(UNIT, backend)
    pipeline.get_function(other, backend)
    assert backend.compiled == 2


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
