"""The sources that a call compiles, without a launch and without a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kerneltk.backends.base import backend_named, capabilities_of
from kerneltk.core.artifacts import BackendName, TranslationUnit
from kerneltk.fusion.plan.described import in_order, without_memory
from kerneltk.fusion.start import traced
from kerneltk.schedule.rows import OLDER, Device


def translation_units(
    function: Callable[..., Any],
    name: str,
    own: Sequence[Any],
    keywords: Sequence[str],
    backend: BackendName,
    device: Device = OLDER,
) -> tuple[TranslationUnit, ...]:
    """One unit a launch, in their order, for such a device."""
    target = capabilities_of(backend)
    program = traced(function, name, own, keywords, backend_named("host"), target, device)
    units: list[TranslationUnit] = []

    def noted(kernel: Any) -> Callable[..., None]:
        return lambda *args, **options: units.append(
            kernel.translation_unit(*args, backend=backend, **options)
        )

    program.shown(in_order, noted)(*map(without_memory, own))
    return tuple(units)
