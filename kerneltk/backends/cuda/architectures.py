"""CUDA architectures: which one a compiler makes code for when another is asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kerneltk.core.artifacts import Target, TranslationUnit
from kerneltk.errors import CompileError

_ARCHITECTURE = re.compile(r"(sm|compute|lto)_(\d+)([af]?)\Z")
# Older ones cannot pass a struct to a kernel without copying it.
_OLDEST = 70
_FIRST_WITH_CLUSTERS = 90


def has_clusters(architecture: str) -> bool:
    """Whether the blocks of an architecture (``"sm_90"``) are launched in clusters."""
    match = _ARCHITECTURE.match(architecture)
    return match is not None and int(match[2]) >= _FIRST_WITH_CLUSTERS


def choose_target(architecture: str, known: Sequence[int], compiler: str) -> Target:
    """The target of an architecture (``"sm_90"``, ``"compute_80"``, ``"lto_90"``) for a compiler,
    named with its version, that knows some of them.

    An architecture that is newer than the compiler gets PTX of the newest one that it knows. Raises
    ValueError for what is no architecture, or one that the compiler no longer knows.
    """
    match = _ARCHITECTURE.match(architecture) if isinstance(architecture, str) else None
    if match is None:
        raise ValueError(f"'{architecture}' is not a CUDA architecture such as 'sm_90'.")
    usable = tuple(number for number in known if number >= _OLDEST)
    number = int(match[2])
    if number < min(usable):
        raise ValueError(
            f"{compiler} does not compile for '{architecture}': the oldest is 'sm_{min(usable)}'."
        )
    if number not in usable and match[1] != "lto":
        newest = max(value for value in usable if value <= number)
        architecture = f"compute_{newest}"
    return Target("cuda", architecture, compiler)


def check_options(unit: TranslationUnit, target: Target) -> None:
    """Raise CompileError for an option that names an architecture."""
    for option in unit.options:
        if option.startswith("-") and option.lstrip("-").startswith(
            ("arch", "gpu-architecture", "gpu-code", "gencode", "generate-code")
        ):
            raise CompileError(
                f"The option '{option}' would name another architecture than the target's, "
                f"'{target.architecture}'.\n  Hint: choose the architecture by the target.",
                unit.source,
            )
