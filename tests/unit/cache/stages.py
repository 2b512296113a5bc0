"""Caches of one stage, for tests that count its entries."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from kerneltk.cache import derived
from kerneltk.cache.store import Cache


def set_cache(monkeypatch: pytest.MonkeyPatch, stage: derived.Stage, cache: Cache) -> None:
    """Have the results of a stage, and no others, in this cache."""
    others: Any = vars(derived.Entry)["_cache"].fget

    def cache_of(entry: derived.Entry) -> Cache:
        return cache if entry._stage == stage else others(entry)

    monkeypatch.setattr(derived.Entry, "_cache", property(cache_of))


def record_of(data: bytes | None) -> Any:
    """Return the record of an entry's bytes."""
    assert data is not None
    return json.loads(data[32:])


def sealed(key: str, record: bytes) -> bytes:
    """Return the bytes of an entry that has a record, whatever that is."""
    return hashlib.sha256(key.encode() + record).digest() + record
