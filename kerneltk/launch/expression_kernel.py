"""What the kernels from expressions have in common: what was given, what was made, pickling."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import numpy as np

from kerneltk import pipeline
from kerneltk.backends.registry import capabilities_of_target
from kerneltk.codegen.definition import KernelDefinition
from kerneltk.core.artifacts import BackendName, ObjectCode, TranslationUnit
from kerneltk.launch.dispatch import Dispatcher
from kerneltk.signature.parameters import Parameter

__all__ = ["ExpressionKernel"]

D = TypeVar("D", bound=KernelDefinition)


class ExpressionKernel(ABC, Generic[D]):
    """The base of the kernels from expressions.

    Attributes
    ----------
    nin, nout, nargs : int
        Number of inputs, of outputs, of both.
    """

    _definition: D
    _dispatcher: Dispatcher
    _transient: tuple[str, ...] = ("_dispatcher", "_recent")

    def _begin(self, definition: D) -> None:
        """Take the definition over, and make what launches."""
        self._definition = definition
        self.nin = len(definition.signature.inputs)
        self.nout = len(definition.signature.outputs)
        self.nargs = self.nin + self.nout
        self.__name__ = definition.name
        self._prepare()

    def _prepare(self) -> None:
        """Make what a pickle leaves out."""
        self._dispatcher = self._new_dispatcher()
        self._recent = self._dispatcher.recent

    @abstractmethod
    def _new_dispatcher(self) -> Dispatcher: ...

    def __getstate__(self) -> dict[str, Any]:
        return {name: v for name, v in self.__dict__.items() if name not in self._transient}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()

    def __repr__(self) -> str:
        signature = self._definition.signature
        kind = type(self).__name__
        return f"<{kind} {self.name}({signature.in_text}) -> ({signature.out_text})>"

    @property
    def in_params(self) -> tuple[Parameter, ...]:
        """The inputs."""
        return self._definition.signature.inputs

    @property
    def out_params(self) -> tuple[Parameter, ...]:
        """The outputs."""
        return self._definition.signature.outputs

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._definition.name

    @property
    def preamble(self) -> str:
        """The preamble's text."""
        return self._definition.preamble

    @property
    def cached_codes(self) -> dict[tuple[np.dtype[Any], ...], str]:
        """The generated texts by the dtypes of the array arguments."""
        return self._dispatcher.cached_codes

    @property
    def cached_code(self) -> str:
        """The first generated text."""
        return self._dispatcher.cached_code

    @abstractmethod
    def translation_unit(
        self, *args: Any, backend: BackendName = "cuda", **named: Any
    ) -> TranslationUnit:
        """Return the text that a call with such arguments compiles."""

    def compile(self, *args: Any, target: str, **named: Any) -> ObjectCode:
        """Compile for an architecture from descriptions of the arguments, without a GPU.

        Parameters
        ----------
        *args, **named
            As for :meth:`translation_unit`.
        target : str
            A CUDA architecture such as ``"sm_90"``, or ``"host"`` for this machine's CPU.

        Raises
        ------
        CompileError
            The compiler refused the text.
        ValueError
            `target` is not an architecture that the compiler knows.
        BackendUnavailableError
            The compiler is not installed.
        """
        backend = capabilities_of_target(target).name
        unit = self.translation_unit(*args, backend=backend, **named)
        return pipeline.compile_ahead(unit, target)
