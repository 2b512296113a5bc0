"""How many examples a property is tried with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings


def drawn(*strategies: Any, few: int, many: int, **options: Any) -> Callable[[Any], Any]:
    """Call a test with `few` drawn examples; with `many` among the exhaustive tests.

    Examples of these tests are compiled. `options` are Hypothesis' settings.
    """

    def decorated(check: Callable[..., None]) -> Callable[[int], None]:
        @pytest.mark.parametrize(
            "examples", [few, pytest.param(many, marks=pytest.mark.exhaustive)]
        )
        def test(examples: int) -> None:
            chosen = settings(deadline=None, max_examples=examples, **options)
            chosen(given(*strategies)(check))()

        test.__name__, test.__module__, test.__doc__ = (
            check.__name__, check.__module__, check.__doc__,
        )  # fmt: skip
        return test

    return decorated
