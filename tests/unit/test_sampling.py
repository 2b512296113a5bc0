"""Parts of a suite are all of it, and each has some of every long table."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import pytest_itemcollected
from tests.sampling import part_of

NAMES = [
    *(f"a.py::test_long[{number}]" for number in range(50)),
    *(f"a.py::test_short[{number}]" for number in range(2)),
    *(f"b.py::test_{number}" for number in range(30)),
]


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_each_test_is_in_one_part(parts: int) -> None:
    found = [part_of(NAMES, number + 1, parts) for number in range(parts)]
    assert sorted(name for part in found for name in part) == sorted(NAMES)
    for part in found:
        long = [number for number, name in enumerate(NAMES[:50]) if name in part]
        assert long == list(range(long[0], long[-1] + 1))  # neighbours
        assert 50 // parts <= len(long) <= 50 // parts + 1
        assert any(name.startswith("b.py") for name in part)


def test_cases_between_those_of_the_suite_are_exhaustive() -> None:
    marks: dict[str, Any] = {}
    for case in ("host-a", "cuda-a", "host-b", "cuda-b", "host-c"):
        item: Any = SimpleNamespace(
            nodeid=f"a.py::test_sampled[{case}]",
            get_closest_marker={"one_in": pytest.mark.one_in(2).mark}.get,
            add_marker=lambda name, case=case: marks.update({case: name}),
        )
        pytest_itemcollected(item)
    assert marks == {"host-b": "exhaustive", "cuda-b": "exhaustive"}
