"""The sources that a call compiles, without a launch and without a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kerneltk.backends.registry import backend_named, capabilities_of
from kerneltk.core.artifacts import BackendName, TranslationUnit
from kerneltk.fusion.start import traced
from kerneltk.fusion.trace.kinds import is_array
from kerneltk.fusion.trace.layout import dense_strides
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

    given = [_stand_in(v.dtype, v.shape, v.strides) if is_array(v) else v for v in own]
    program.shown(_new, noted)(*given)
    return tuple(units)


def _new(shape: Sequence[int], dtype: np.dtype[Any], order: str) -> Any:
    axes = range(len(shape))
    strides = dense_strides(shape, tuple(axes if order == "C" else reversed(axes)), dtype.itemsize)
    return _stand_in(dtype, shape, strides)


def _stand_in(dtype: np.dtype[Any], shape: Sequence[int], strides: Sequence[int]) -> Any:
    """An array of some layout that is never read."""
    return np.lib.stride_tricks.as_strided(np.zeros(1, dtype), shape, strides)
