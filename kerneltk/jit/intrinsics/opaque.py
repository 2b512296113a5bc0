"""Values that only intrinsics know what to do with, and their methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kerneltk.jit import ir

if TYPE_CHECKING:
    from kerneltk.jit.intrinsics.base import CallSite, Rule, Value


class Methods(dict[str, "Rule"]):
    """The methods of an opaque value by their names; part of its type, and so equal to itself alone
    and a key.
    """

    __eq__, __hash__ = object.__eq__, object.__hash__  # type: ignore[assignment]


def method(rule: Callable[[Any, ir.Expression, CallSite], Value]) -> Rule:
    """Return the rule of a method, whose first argument is its owner, from one that is given the
    owner apart from the arguments in the user's text.
    """

    def bound(low: Any, site: CallSite) -> Value:
        owner, *arguments = site.arguments
        assert isinstance(owner, ir.Expression)
        return rule(low, owner, replace(site, arguments=tuple(arguments), spans=site.spans[1:]))

    return bound
