"""Caches of one stage, for tests that count its entries."""

from __future__ import annotations

import pytest

from kerneltk.cache import derived
from kerneltk.cache.store import Cache


def set_cache(monkeypatch: pytest.MonkeyPatch, stage: derived.Stage, cache: Cache) -> None:
    """Have the results of a stage, and no others, in this cache."""
    others = derived._cache_of

    def cache_of(asked: derived.Stage, is_shared: bool) -> Cache:
        return cache if asked == stage else others(asked, is_shared)

    monkeypatch.setattr(derived, "_cache_of", cache_of)
