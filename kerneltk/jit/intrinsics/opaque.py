"""Values that only intrinsics know what to do with, and their methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kerneltk.jit import ir

if TYPE_CHECKING:
    from kerneltk.jit.intrinsics.base import CallSite, Rule, Value


class Methods(Mapping[str, "Rule"]):
    """The methods of an opaque value by their names; part of its type, which can be a key."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self._rules = dict(rules)

    def __getitem__(self, name: str) -> Rule:
        return self._rules[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def method(rule: Callable[[Any, ir.Expression, CallSite], Value]) -> Rule:
    """Return the rule of a method, whose first argument is its owner, from one that is given the
    owner apart from the arguments in the user's text.
    """

    def bound(low: Any, site: CallSite) -> Value:
        owner, *arguments = site.arguments
        assert isinstance(owner, ir.Expression)
        return rule(low, owner, replace(site, arguments=tuple(arguments), spans=site.spans[1:]))

    return bound
