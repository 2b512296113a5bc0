"""Tables drop their oldest entries."""

from __future__ import annotations

from kerneltk.core.tables import BoundedTable


def test_the_oldest_entries_are_dropped() -> None:
    table: BoundedTable[int, int] = BoundedTable(16)
    for n in range(100):
        table[n] = -n
        assert table[n] == -n
        assert len(table) <= 16
    assert list(table) == list(range(99 - len(table) + 1, 100))
    assert len(table) > 16 - 16 // 8


def test_an_entry_that_is_there_is_replaced() -> None:
    table: BoundedTable[str, int] = BoundedTable(2)
    table["a"], table["b"], table["a"] = 1, 2, 3
    assert table == {"a": 3, "b": 2}
    table["c"] = 4
    assert table == {"b": 2, "c": 4}
