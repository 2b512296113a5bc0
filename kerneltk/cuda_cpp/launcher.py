"""Launchers of raw kernels: arrays are checked at each launch, by guards that tell when to look
closer.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kerneltk.backends.base import Backend, Function, GridLimits, LaunchCall, LaunchMode
from kerneltk.core.records import record
from kerneltk.cuda_cpp.arguments import Passing, check_array, check_values, guards_of, passing_of
from kerneltk.cuda_cpp.by_value import report
from kerneltk.cuda_cpp.signature import KernelSignature
from kerneltk.errors import ArgumentTypeError, ArgumentValueError
from kerneltk.launch.checking import Checks
from kerneltk.launch.launch_config import GridLaunches, GridShapes
from kerneltk.launch.launcher_spec import Argument, LauncherSpec
from kerneltk.launch.launchers import LauncherTemplate


@record
class LoadedKernel:
    """A raw kernel on one device."""

    backend: Backend
    device: int
    function: Function
    signature: KernelSignature
    limits: GridLimits


class _RawLaunches(GridLaunches):
    """Launches of a raw kernel with arguments of some types."""

    def __init__(
        self,
        loaded: LoadedKernel,
        passings: Sequence[Passing],
        call: LaunchCall,
        written: Sequence[bool],
        checks: Checks,
    ) -> None:
        self._checks = checks
        signature = self._signature = loaded.signature
        self._passings = tuple(passings)
        layout, end = "", 0
        for parameter, passing in zip(signature.parameters, passings, strict=True):
            layout += f"{parameter.offset - end}x{passing.format}"
            end = parameter.offset + struct.calcsize("<" + passing.format)
        offsets = [parameter.offset for parameter in signature.parameters]
        shapes = GridShapes(signature.kernel, loaded.backend, loaded.function, loaded.limits)
        super().__init__(shapes, call, layout, signature.size, offsets)
        if call.note is not None:
            named = [
                (parameter.name or f"#{k + 1}", written[k])
                for k, parameter in enumerate(signature.parameters)
                if passings[k].is_array
            ]
            self.note = call.note(self.size, named)

    def check(self, args: Sequence[Any]) -> None:
        """Raise for an array that cannot be passed."""
        signature, backend = self._signature, self.backend
        triples = zip(signature.parameters, self._passings, args, strict=True)
        for k, (parameter, passing, array) in enumerate(triples):
            if not passing.is_array or not parameter.is_used:
                continue
            with warned_of(self._checks):
                check_array(signature, parameter, array, backend.describe(array)[1], args)
                backend.check_usable(array, parameter.name or f"#{k + 1}", False)

    def refuse_number(self, args: Sequence[Any]) -> None:
        """Raise for the first number that is not packed."""
        check_values(self._signature, self._passings, tuple(args))


@contextmanager
def warned_of(checks: Checks) -> Iterator[None]:
    """Warn of an argument that does not fit where checks say so, instead of the error."""
    try:
        yield
    except (ArgumentTypeError, ArgumentValueError) as error:
        report(error, checks)


def make_launcher(
    loaded: LoadedKernel,
    values: Sequence[Any],
    mode: LaunchMode,
    checks: Checks,
    mistyped: Callable[..., Any],
) -> Callable[..., None]:
    """Return ``run(grid, block, args, shared=0, stream=None)`` for arguments of some types.

    Parameters
    ----------
    values : sequence
        The arguments of the first launch, one a parameter; they are checked here.
    checks : {"error", "warn", "off"}
        What is done with arguments that do not fit.
    mistyped : callable
        Called with the launcher's arguments where their number, a type or the device differs.
    """
    signature, backend = loaded.signature, loaded.backend
    passings = [
        passing_of(signature, parameter, type(value), backend, checks)
        for parameter, value in zip(signature.parameters, values, strict=True)
    ]
    call = backend.grid_call(mode, signature.kernel)
    kinds = [parameter.type for parameter in signature.parameters]
    written = [
        kind is not None and kind.kind == "pointer" and not kind.pointee_const for kind in kinds
    ]
    launches = _RawLaunches(loaded, passings, call, written, checks)
    is_checked = checks != "off"
    if is_checked:
        launches.check(values)
    arguments = []
    for k, (parameter, passing) in enumerate(zip(signature.parameters, passings, strict=True)):
        kind, value = type(values[k]), values[k]
        if passing.is_array:
            guards = guards_of(parameter, written[k], backend.arrays) if is_checked else ()
            dtype = value.dtype if is_checked else None
            is_written = is_checked and written[k]
            argument = Argument(kind, "address", is_written, guards=guards, dtype=dtype)
        elif passing.convert is None:
            argument = Argument(kind, "number")
        else:
            argument = Argument(kind, "converted", convert=passing.convert)
        arguments.append(argument)
    spec = LauncherSpec(
        "grid",
        tuple(arguments),
        backend.arrays,
        call,
        bound=launches,
        device=loaded.device,
    )
    return LauncherTemplate(spec).bind(mistyped).run
