"""How many examples a property is tried with."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings


def drawn(*strategies: Any, few: int, many: int, **options: Any) -> Callable[[Any], Any]:
    """Call a test with `few` drawn examples, the same in each run, so that what they notice does
    not change; with `many` others among the exhaustive tests.

    Parameters before the drawn ones are the test's own. `options` are Hypothesis' settings.
    """

    def decorated(check: Callable[..., None]) -> Callable[..., None]:
        names = list(inspect.signature(check).parameters)
        count = len(names) - len(strategies)

        @pytest.mark.parametrize(
            "examples", [few, pytest.param(many, marks=pytest.mark.exhaustive)]
        )
        def test(examples: int, **own: Any) -> None:
            is_same = examples == few

            @settings(deadline=None, max_examples=examples, derandomize=is_same, **options)
            @given(**dict(zip(names[count:], strategies, strict=True)))
            def bound(**values: Any) -> None:
                check(**own, **values)

            bound()

        test.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
                for name in (*names[:count], "examples")
            ]
        )
        test.__name__, test.__module__, test.__doc__ = (
            check.__name__, check.__module__, check.__doc__,
        )  # fmt: skip
        return test

    return decorated
