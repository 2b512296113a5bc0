"""Records in entries of the cache: JSON without fractions and numbers without an end."""

from __future__ import annotations

import json
from typing import Any


def read_fields(data: bytes) -> Any:
    """Return what an entry says. Raises ValueError where it says nothing, or has numbers that are
    not whole: another version wrote it, or something else.

    Examples
    --------
    >>> read_fields(b'["a", 3]')
    ['a', 3]
    """
    try:
        return json.loads(data, parse_float=_refused, parse_constant=_refused)
    except RecursionError as error:
        raise ValueError("Lists within lists are nested too deeply.") from error


def _refused(number: str) -> Any:
    raise ValueError(f"{number} is not whole.")
