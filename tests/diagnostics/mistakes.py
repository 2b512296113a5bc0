"""What tests of compilers' messages expect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mistake:
    """A kernel's sources, and where each compiler says that they are wrong.

    A location is the source's name, its line's number if there are several, the line, and the part
    under the caret; compilers differ in the part, so there may be several. The sentences are
    NVRTC's and g++'s.
    """

    texts: dict[str, Any]
    origin: str
    line: str
    parts: tuple[str, ...]
    nvrtc: str
    gcc: str
    hint: str = ""
    label: str = ""
