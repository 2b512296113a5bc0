"""What the kernels from expressions have in common: what was given, what was made, pickling."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from kerneltk import pipeline
from kerneltk.backends.base import capabilities_of_target
from kerneltk.codegen.definition import KernelDefinition, check_subscripts
from kerneltk.codegen.render import translation_unit_of
from kerneltk.codegen.specialization import LaunchGeometry
from kerneltk.core.artifacts import BackendName, Capabilities, ObjectCode, TranslationUnit
from kerneltk.errors import NotCompiledError
from kerneltk.launch import dispatch
from kerneltk.launch.called import Called
from kerneltk.launch.dispatch import CallDescription
from kerneltk.launch.loops import LoopDispatcher
from kerneltk.signature.parameters import Parameter
from kerneltk.signature.resolve import Resolved

if TYPE_CHECKING:
    from kerneltk.launch.explanation import KernelExplanation

D = TypeVar("D", bound=KernelDefinition)


def given(path: str, doc: str) -> Any:
    """A property: an attribute of the kernel's definition."""
    return property(attrgetter(f"_definition.{path}"), doc=doc)


class ExpressionKernel(Called, ABC, Generic[D]):
    """The base of the kernels from expressions.

    Attributes
    ----------
    nin, nout, nargs : int
        Number of inputs, of outputs, of both.
    copies_overlapping : bool
        Whether launches copy inputs that an output overlaps.
    """

    in_params: tuple[Parameter, ...] = given("signature.inputs", "The inputs.")
    out_params: tuple[Parameter, ...] = given("signature.outputs", "The outputs.")
    name: str = given("name", "The kernel's name.")
    preamble: str = given("preamble", "The preamble's source.")

    __slots__ = ("__dict__", "__weakref__", "_inline_cache")  # calls read the last one's slot

    copies_overlapping: ClassVar[bool] = True
    _definition: D
    _dispatcher: LoopDispatcher
    _transient: tuple[str, ...] = ("_dispatcher", "_inline_cache")

    @classmethod
    def of(cls, definition: D) -> Self:
        """The kernel of a definition that is known to be right."""
        made = cls.__new__(cls)
        made._begin(definition)
        return made

    def _begin(self, definition: D) -> None:
        """Keep the definition, and make what launches. Raises SignatureError where a source has a
        comma operator in a subscript.
        """
        if definition.known_facts is None:
            check_subscripts(definition.origins)
        self._definition = definition
        self.nin = len(definition.signature.inputs)
        self.nout = len(definition.signature.outputs)
        self.nargs = self.nin + self.nout
        self.__name__ = definition.name
        self._prepare()

    def _prepare(self) -> None:
        """Make what a pickle leaves out."""
        self._dispatcher = LoopDispatcher(self._definition, self)
        self._inline_cache = self._dispatcher.inline_cache

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
    def cached_codes(self) -> dict[tuple[np.dtype[Any], ...], str]:
        """The generated sources by the dtypes of the array arguments."""
        codes = self._dispatcher.codes
        if not codes:
            warnings.warn(
                "No codes are cached because nothing is compiled before the first call.",
                stacklevel=2,
            )
        return {dtypes: source() for dtypes, source in codes.items()}

    @property
    def cached_code(self) -> str:
        """The first generated source."""
        codes = self._dispatcher.codes
        if not codes:
            raise NotCompiledError(
                f"Kernel '{self.name}' has not been called.\n"
                "  Hint: 'translation_unit(...)' renders the source without a call."
            )
        if len(codes) > 1:
            warnings.warn("Several sources are cached; 'cached_codes' has them all.", stacklevel=2)
        return next(iter(codes.values()))()

    def _described(
        self, definition: D, args: Sequence[Any], backend: Capabilities, options: Any
    ) -> tuple[Resolved, LaunchGeometry | None]:
        """Resolve and schedule a call with such arguments, inputs first; its geometry is None where
        nothing is to be computed.
        """
        resolved = _resolved(definition, args, options)
        return resolved, definition.schedule(resolved, backend, None, options)

    @abstractmethod
    def _geometry(
        self, *args: Any, backend: BackendName = "cuda", **named: Any
    ) -> tuple[Resolved, LaunchGeometry]:
        """The types and the launch geometry of a call, for `translation_unit`."""

    def _unit(self, *args: Any, **named: Any) -> TranslationUnit:
        return translation_unit_of(self._geometry(*args, **named)[1].specialization)

    def explain(self, *args: Any, target: str | None = None, **named: Any) -> KernelExplanation:
        """Explain a call with such arguments, without a launch: the bytes that must move, the
        strategy, and of a GPU the registers and how many threads of a multiprocessor are resident.

        Parameters
        ----------
        *args, **named
            As for :meth:`translation_unit`.
        target : str, optional
            As for :meth:`compile`; by default where the call runs, and ``"sm_90"`` for
            descriptions of arrays.

        Raises
        ------
        CompileError, ValueError, BackendUnavailableError
            As `compile` does.

        Examples
        --------
        >>> from kerneltk import ArraySpec, ElementwiseKernel
        >>> double = ElementwiseKernel("T x", "T y", "y = 2 * x", "double_it")
        >>> x = ArraySpec.make("float32", (1024, 1024))
        >>> print(double.explain(x, target="host"))
        double_it: 8,388,608 bytes must move; vector, 1 a thread, x row, y row
        """
        from kerneltk.launch.explanation import explained, moved_bytes, target_for

        target = target or target_for((*args, *named.values()))
        backend = capabilities_of_target(target)
        resolved, geometry = self._geometry(*args, backend=backend.name, **named)
        own = geometry.specialization
        grid = geometry.grid * (geometry.chunk_size if backend.has_architectures else 1)
        moved = [moved_bytes(spec) for spec in resolved.specs if spec is not None]
        compiled = partial(pipeline.compile_ahead, translation_unit_of(own))
        return explained(
            own.definition.name, moved, own.strategy, grid, own.block, compiled, target
        )

    def describe_call(self, args: Sequence[Any], options: Any = None) -> CallDescription:
        """Describe the results of a call, without any memory.

        Parameters
        ----------
        args : sequence of ArraySpec, array, number, number type or dtype
            One an input, or one an input and an output. Extents and strides of an `ArraySpec` may
            be numbers that stand for integers; those of the results then are.
        options : tuple, optional
            As `KernelDefinition.resolve` takes them.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            As a call does, where types and shapes tell.
        """
        definition = self._definition
        resolved = _resolved(definition, args, options)
        outputs = tuple(spec for spec in resolved.specs[self.nin :] if spec is not None)
        written = frozenset(p.name for p in definition.signature.inputs if not p.is_const)
        return CallDescription(outputs, written, definition.is_batchable)

    @abstractmethod
    def translation_unit(
        self, *args: Any, backend: BackendName = "cuda", **named: Any
    ) -> TranslationUnit:
        """The source that a call with such arguments compiles."""

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
            The compiler refused the source.
        ValueError
            `target` is not an architecture that the compiler knows.
        BackendUnavailableError
            The compiler is not installed.
        """
        backend = capabilities_of_target(target).name
        unit = self.translation_unit(*args, backend=backend, **named)
        return pipeline.compile_ahead(unit, target)


def _resolved(definition: KernelDefinition, args: Sequence[Any], options: Any) -> Resolved:
    """Resolve a call with such arguments, inputs first."""
    specs = [dispatch.spec_of(argument) for argument in args]
    return definition.resolve(specs, args[: len(definition.signature.inputs)], options)
