"""Tables with a limit, for what can be made again."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

MAX_PLANS = 16384
"""Of one kernel, for so many shapes: about 3.5 KB each."""


class BoundedTable(dict[K, V]):
    """A dictionary that drops its oldest entries where a new one would exceed its limit: an eighth
    of all, at least one. Only ``table[key] = value`` adds entries.

    Parameters
    ----------
    most : int
        Entries at most.

    Examples
    --------
    >>> table = BoundedTable(3)
    >>> for n in range(5):
    ...     table[n] = n * n
    >>> table
    {2: 4, 3: 9, 4: 16}
    """

    __slots__ = ("most",)

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= self.most and key not in self:
            for old in list(self)[: max(self.most // 8, 1)]:
                self.pop(old, None)  # another thread may have dropped it
        super().__setitem__(key, value)
