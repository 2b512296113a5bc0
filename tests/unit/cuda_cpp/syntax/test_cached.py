"""What is kept of sources: nothing is read twice, and nothing that was found in another source."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kerneltk.cache import derived
from kerneltk.cache.store import Cache
from kerneltk.cuda_cpp.rewrites import passes
from kerneltk.cuda_cpp.syntax import cached, reader, volatile_names
from kerneltk.cuda_cpp.syntax.declarations import RewriteTarget
from tests.sampling import one_in

TESTS = Path(__file__).parents[3]
SOURCES = sorted([*(TESTS / "kernels").glob("*.cu*"), *Path(__file__).parent.glob("sources/*")])
KERNEL = "__global__ void f(int* out) { out[0] = 1; }"
MEETING = "__global__ void f(volatile int* x) { x[0] = 1; }"
HOST, NVRTC = RewriteTarget(is_host=True), RewriteTarget(is_host=False)


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> Cache:
    own = Cache(None)
    monkeypatch.setattr(derived, "get_cache", lambda: own)
    return own


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch, cache: Cache) -> list[str]:
    """The sources that are read, and not found in the cache."""
    calls: list[str] = []

    def count(module: Any, name: str) -> None:
        original = getattr(module, name)

        def counting(source: str, *rest: Any) -> Any:
            calls.append(source)
            return original(source, *rest)

        monkeypatch.setattr(module, name, counting)

    count(reader, "read_source")
    count(reader, "read_directives")
    count(passes, "rewritten")
    return calls


def test_a_source_is_rewritten_once(reads: list[str]) -> None:
    source = '__global__ void f(int* x) { asm("mov.u32 %0, 1;" : "=r"(x[0])); }'
    first = passes.device_source(source, HOST)
    assert first.headers == ("host_ptx.hpp",)
    assert passes.device_source(source, HOST) == first
    assert passes.device_source(KERNEL, HOST) == passes.DeviceSource(KERNEL)
    assert passes.device_source(source, NVRTC) == passes.DeviceSource(source)
    assert reads == [source]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("path", one_in(6, SOURCES), ids=lambda path: path.name)
def test_what_is_kept_is_what_was_found(cache: Cache, path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    summary, directives = reader.read_source(source), reader.read_directives(source)
    targets = [HOST, NVRTC, HOST._replace(has_host_code=True), NVRTC._replace(has_host_code=True)]
    rewritten = [passes.rewritten(source, target) for target in targets]
    for _ in range(2):
        assert cached.read_source(source) == summary
        assert hash(cached.read_source(source)) == hash(summary)  # no list is in it
        assert cached.read_directives(source) == directives
        assert [passes.device_source(source, target) for target in targets] == rewritten


def test_meetings_depend_on_directives_and_instances(cache: Cache) -> None:
    source = "template <class T> __device__ void g(T* x) { x[0] = N; }\n" + MEETING
    calls = [
        ((), ()),
        ((), ("g<volatile int>",)),
        (("#define N 1",), ()),
        (("#define N 1",), ("g<volatile int>",)),
        (("#define N 1", "g"), ()),
        (("g",), ("#define N 1",)),
        (("#define N volatile int()",), ()),
    ]
    targets = [HOST._replace(directives=first, instantiated=second) for first, second in calls]
    expected = [passes.rewritten(source, target) for target in targets]
    for _ in range(2):
        assert [passes.device_source(source, target) for target in targets] == expected


def test_the_words_are_in_all_that_mentions_volatile_memory() -> None:
    words = re.findall(r"[a-z_]{6,}", volatile_names.VOLATILE.pattern.partition("(?:")[2])
    assert len(words) == 5
    for word in words:
        assert any(part in word for part in cached._DIRECTIVE_WORDS)
        assert any(part in word for part in passes.VOLATILE_WORDS)
