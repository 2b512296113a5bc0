"""What a raw kernel declares: names from its source, types from its compiler, driver's sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kerneltk.backends.base import Backend, Function, GridLimits
from kerneltk.core.records import record
from kerneltk.cuda_cpp.structs.layout import Layout
from kerneltk.errors import ArgumentTypeError, Snippet, render_message
from kerneltk.object_code.reflection import ParameterType

if TYPE_CHECKING:
    from kerneltk.cuda_cpp.syntax.declarations import DeclaredKernel


@record
class RawParameter:
    """One parameter of a kernel."""

    # As declared; empty where no source is known.
    name: str
    # Its type and name as the source spells them; the compiler's type where there is no source.
    declared: str
    # As the compiler sees it, typedefs, macros and template arguments resolved; None where only
    # the driver's sizes are known.
    type: ParameterType | None
    # offset, size: where it lies in the block of parameters (bytes).
    offset: int
    size: int
    snippet: Snippet | None = None  # where it is declared
    # The fields of the struct that it is or points to; None where they are not known.
    layout: Layout | None = None
    is_used: bool = True  # whether the kernel's source names it again

    @property
    def shown(self) -> str:
        """How messages name it."""
        return f"'{self.name}'" if self.name else f"'{self.declared}'"

    @property
    def is_written(self) -> bool:
        """Whether the kernel may write to an array that is passed for it."""
        kind = self.type
        return kind is not None and kind.kind == "pointer" and not kind.pointee_const


@record
class KernelSignature:
    """The parameters of a kernel."""

    kernel: str  # its name in messages
    parameters: tuple[RawParameter, ...]
    size: int  # bytes of all parameters together

    def __str__(self) -> str:
        return f"{self.kernel}({', '.join(parameter.declared for parameter in self.parameters)})"


@record
class Slot:
    """A parameter of a kernel, for which an argument is passed."""

    signature: KernelSignature
    parameter: RawParameter

    @property
    def shown(self) -> str:
        """How sentences of messages begin."""
        return f"Parameter {self._place}"

    def argument(self, what: str) -> str:
        """How sentences about the argument begin; `what` is it, such as ``"array"``."""
        return f"The {what} for parameter {self._place}"

    @property
    def _place(self) -> str:
        return f"{self.parameter.shown} of kernel '{self.signature.kernel}'"

    def message(self, sentence: str, hint: str = "") -> str:
        """Return a message about it, at its declaration where that is known."""
        snippet = self.parameter.snippet
        if snippet is None:
            return render_message(f"{sentence}\n  The kernel: {self.signature}", hint=hint)
        return render_message(sentence, snippet, hint=hint)

    def refused(self, rest: str, hint: str = "") -> ArgumentTypeError:
        """Return the error for an argument that it does not take; `rest` is behind `shown`."""
        return ArgumentTypeError(self.message(f"{self.shown} {rest}", hint))

    def mismatch(self, kind: type, hint: str = "") -> ArgumentTypeError:
        """Return the error for an argument of a type that it does not take."""
        wanted = self.parameter.type
        name = f"'{wanted.name}'" if wanted else f"of {self.parameter.size} bytes"
        by = "a pointer" if wanted and wanted.kind == "pointer" else name
        return self.refused(f"is {by}, and an object of type '{kind.__name__}' was given.", hint)


@record
class LoadedKernel:
    """A raw kernel on one device."""

    backend: Backend
    device: int
    function: Function
    signature: KernelSignature
    limits: GridLimits
    log: str = ""
    """The compiler's messages about its module."""

    def is_written(self, index: int) -> bool:
        """Whether it may write to an array that is passed for a parameter."""
        return self.signature.parameters[index].is_written


def layout_of(types: Sequence[ParameterType]) -> tuple[tuple[int, ...], int]:
    """Return the offset of each parameter and the size of all (bytes), as members of a C struct.

    That is CUDA's own rule for kernel parameters (CUDA driver API, ``cuLaunchKernel``).
    """
    offsets = []
    end = 0
    for kind in types:
        end += -end % kind.alignment
        offsets.append(end)
        end += kind.size
    return tuple(offsets), end


def signature_of_sizes(
    kernel: str,
    layout: Sequence[tuple[int, int]],
    declared: DeclaredKernel | None = None,
    types: Sequence[str] = (),
) -> KernelSignature:
    """Return a signature from the driver's offsets and sizes (bytes) alone.

    Parameters
    ----------
    declared : DeclaredKernel, optional
        Names the parameters if it has as many.
    types : sequence of str
        The parameters' types for messages, if they are known.
    """
    names = [f"{p.type} {p.name}" for p in declared.parameters] if declared else list(types)
    parameters = []
    for k, (offset, size) in enumerate(layout):
        shown = names[k] if len(names) == len(layout) else f"{size} bytes"
        name = declared.parameters[k].name if declared and len(names) == len(layout) else ""
        parameters.append(RawParameter(name, shown, None, offset, size))
    end = max((offset + size for offset, size in layout), default=0)
    return KernelSignature(kernel, tuple(parameters), end)
