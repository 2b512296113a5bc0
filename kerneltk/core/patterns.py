"""Regular expressions that are compiled when they are first used: each takes a tenth of a
millisecond or more, and most processes use few of those that the package has.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Pattern:
    """Stands for a compiled pattern, whose attributes it takes over as they are asked for."""

    def __init__(self, source: Any, flags: int) -> None:
        self._compiled_from = source, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = self.__dict__[name] = getattr(re.compile(*self._compiled_from), name)
        return found


def pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what ``re.compile`` returns, compiled when one of its methods is called.

    Examples
    --------
    >>> pattern(r"[0-9]+").findall("1 22")
    ['1', '22']
    """
    return cast("re.Pattern[AnyStr]", _Pattern(source, flags))
