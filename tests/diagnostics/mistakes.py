"""What tests of compilers' messages expect."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from kerneltk.backends.host import toolchain


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


def check(mistake: Mistake, message: str, where: str) -> None:
    """Check the sentence, the place and the hint of a message of NVRTC or of the host."""
    lines = message.split("\n")
    origin = mistake.origin.partition(":")[0]
    start = f"The {origin} of kernel 'k' does not compile: "
    if where == "nvrtc":
        assert lines[0] == f"{start}{mistake.nvrtc}."
    else:
        assert lines[0].startswith(start)
        if toolchain.find_compiler().family == "gcc":
            assert lines[0] == f"{start}{mistake.gcc}."
    shown = f"  {mistake.origin}: {mistake.line}"
    assert lines[1] == shown
    carets = [
        (" " * found.start() + "^" * len(part) + f" {mistake.label}").rstrip()
        for part in mistake.parts
        for found in re.finditer(re.escape(part), shown)
        if found.start() >= len(shown) - len(mistake.line)
    ]
    assert lines[2].removesuffix(" this was never opened") in carets
    if mistake.hint:
        assert f"  Hint: {mistake.hint}" in lines
