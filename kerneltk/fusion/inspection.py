"""The sources that a call compiles, without a launch and without a device."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kerneltk.backends.registry import backend_named, capabilities_of
from kerneltk.core.artifacts import BackendName, TranslationUnit
from kerneltk.fusion.plan.body import Leaf, same_extents
from kerneltk.fusion.plan.program import Program
from kerneltk.fusion.plan.reductions import FusedReduction
from kerneltk.fusion.plan.steps import Step
from kerneltk.fusion.start import traced
from kerneltk.fusion.trace.graph import viewed
from kerneltk.fusion.trace.layout import dense_strides
from kerneltk.fusion.trace.symbols import Environment, evaluated
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
    reader = _Reader(program, own)
    return tuple(reader.unit(step, backend) for step in program.plan.steps)


class _Reader:
    """Describes what launches are given: arrays without memory."""

    def __init__(self, program: Program, own: Sequence[Any]) -> None:
        trace = program.trace
        self._arrays: dict[int, Any] = {
            number: _stand_in(array.dtype, array.shape, array.strides)
            for number, array in program.array_arguments(own).items()
        }
        shapes = [self._arrays[n].shape if n in self._arrays else () for n in range(
            len(trace.sources))]  # fmt: skip
        self._environment = Environment(own, shapes)
        self._layouts = trace.layouts

    def _shape(self, symbols: Sequence[Any]) -> tuple[int, ...]:
        return tuple(evaluated(s.expression, self._environment) for s in symbols)

    def _leaf(self, leaf: Leaf) -> Any:
        return viewed(self._arrays[leaf.array], leaf.steps, self._shape)

    def unit(self, step: Step, backend: BackendName) -> TranslationUnit:
        """The unit of a launch; the arrays that it makes are known from then on."""
        arguments = [self._leaf(leaf) for leaf in step.leaves()]
        arguments += [
            evaluated(symbol.expression, self._environment)
            for symbol in step.operands.scalars.values()
        ]
        loop = self._shape(step.shape)
        outputs = []
        for target, node in zip(step.targets, step.nodes, strict=True):
            shape = loop
            is_full = step.schedule is not None and same_extents(node.shape, step.shape)
            if step.axes is not None and not is_full:
                shape = tuple(n for k, n in enumerate(loop) if k not in step.axes)
            if target.array not in self._arrays:
                reduced = step.axes or () if len(node.shape) != len(shape) else ()
                order = self._layouts.order(node, reduced)
                strides = dense_strides(shape, order, node.dtype.itemsize)
                self._arrays[target.array] = _stand_in(node.dtype, shape, strides)
            outputs.append(viewed(self._arrays[target.array], target.steps, self._shape))
        kernel = step.kernel
        if isinstance(kernel, FusedReduction):
            return kernel.translation_unit(*arguments, axis=step.axes, backend=backend)
        if step.schedule is not None:
            schedule, inner = step.schedule, {step.axis}
            if schedule.width:
                inner.add(len(loop) - 1)
            rows = math.prod(extent for d, extent in enumerate(loop) if d not in inner)
            size = schedule.size(rows, loop[step.axis], loop[-1])
            return kernel.translation_unit(
                *arguments, *outputs, backend=backend, size=size, block_size=schedule.block
            )
        if step.allocates:
            return kernel.translation_unit(*arguments, backend=backend)
        return kernel.translation_unit(*arguments, *outputs, backend=backend)


def _stand_in(dtype: np.dtype[Any], shape: Sequence[int], strides: Sequence[int]) -> Any:
    """An array of some layout that nobody reads."""
    return np.lib.stride_tricks.as_strided(np.zeros(1, dtype), shape, strides)
