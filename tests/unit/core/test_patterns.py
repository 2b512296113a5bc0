"""Patterns that are compiled when they are used."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

from kerneltk.core.records import pattern


def test_methods_are_those_of_the_compiled_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    original = re.compile

    def counting(source: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(source)
        return original(source, flags)

    monkeypatch.setattr(re, "compile", counting)
    words = pattern(r"^(\w)(\w*)$", re.MULTILINE | re.IGNORECASE)
    assert compiled == []
    assert words.sub(r"\2\1", "ab\ncd") == "ba\ndc"
    assert words.groups == 2
    found = words.search("xy")
    assert found is not None
    assert found[2] == "y"
    count = len(compiled)
    assert words.sub("", "ab") == ""
    assert len(compiled) == count
    assert pattern(rb"a+").findall(b"aab") == [b"aa"]


def test_errors_and_copies() -> None:
    with pytest.raises(re.error):
        pattern("(").match("x")
    with pytest.raises(AttributeError):
        _ = pattern("a").no_such_method  # type: ignore[attr-defined]
    for other in (copy.copy(pattern("a")), pickle.loads(pickle.dumps(pattern("a")))):
        assert other.fullmatch("a")
