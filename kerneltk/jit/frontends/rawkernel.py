"""``@rawkernel``: a function in restricted Python as a kernel that is launched on a grid."""

from __future__ import annotations

import abc
import contextlib
import functools
import inspect
import math
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, overload

from kerneltk.backends.base import LaunchMode, capabilities_of_target
from kerneltk.core.artifacts import checked_options
from kerneltk.core.recorders import current_recorder, recorders
from kerneltk.core.records import BoundedTable, cached_property
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    NotCompiledError,
    Snippet,
    UnsupportedError,
    render_message,
)
from kerneltk.interop.streams import stream_handle, stream_in_brackets
from kerneltk.jit.ir.types import Type, Void, referred_type, value_type
from kerneltk.jit.launch.launcher import (
    Adapt,
    Arguments,
    CompiledKernel,
    JitDispatcher,
    is_32bit_indexable,
)
from kerneltk.jit.launch.marshalling import ArgumentPath
from kerneltk.launch.called import Called, common_calls
from kerneltk.launch.dispatch import given_arguments
from kerneltk.launch.launch_config import is_size, launch_extents, plain_key

# Methods load what reads and compiles the function: decorating it takes none of that.
if TYPE_CHECKING:
    import ast

    from kerneltk.core.artifacts import Capabilities, TranslationUnit
    from kerneltk.jit import ir
    from kerneltk.jit.compile import PassContext
    from kerneltk.jit.frontends.analyses import Analyses, GridAnalysis
    from kerneltk.jit.source.lookups import Lookups
    from kerneltk.jit.source.text import FunctionSource
    from kerneltk.launch.explanation import KernelExplanation

Mode = Literal["cuda", "numpy", "numba"]  # the last: NumPy's, and integers in 64 bits


@dataclass(frozen=True)
class Definition:
    """A decorated function and how it is compiled: with launch bounds of the most threads of a
    block and, if there is a second, the fewest resident blocks. `constants` are the parameters
    whose values are known; calls pass None for them.
    """

    function: types.FunctionType
    mode: Mode = "cuda"
    options: tuple[str, ...] = ()
    launch_bounds: tuple[int, ...] = ()
    fastmath: bool = False
    constants: tuple[tuple[str, Any], ...] = ()

    @cached_property
    def source(self) -> FunctionSource:
        """Its text and syntax tree."""
        from kerneltk.jit.source.function_source import source_of

        return source_of(self.function, self.text)

    @cached_property
    def text(self) -> tuple[str, str]:
        """The path and the whole text of its file or cell."""
        from kerneltk.jit.source.function_source import text_of

        return text_of(self.function)

    @cached_property
    def signature(self) -> inspect.Signature:
        """Python's own."""
        return inspect.signature(self.function, follow_wrapped=False)

    @cached_property
    def _nodes(self) -> list[ast.arg]:
        from kerneltk.jit.source.scope import parameters_of

        return parameters_of(self.source.node)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters."""
        code = self.function.__code__
        assert self.text  # raises where there is none
        return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @cached_property
    def spans(self) -> tuple[ir.Span, ...]:
        """Where its parameters are declared."""
        return tuple(map(self.source.span, self._nodes))

    @cached_property
    def paths(self) -> tuple[ArgumentPath, ...]:
        """Its parameters, for messages."""
        name, found = self.function.__name__, enumerate(self.parameters)
        return tuple(
            ArgumentPath(name, parameter, functools.partial(self._declared, index))
            for index, parameter in found
        )

    def named(self, index: int | None) -> tuple[str, Snippet | None]:
        """The name of a parameter and where it is declared; None is an output."""
        return ("out", None) if index is None else self.paths[index].named

    def _declared(self, index: int) -> Snippet:
        return self.source.snippet(self.spans[index])

    def bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the arguments in the parameters' order, defaults filled in."""
        try:
            bound = self.signature.bind(*args, **named)
        except TypeError as error:
            snippets = [path.snippet for path in self.paths if path.snippet]
            if snippets:
                last = snippets[-1] if self.spans[-1].line == self.spans[0].line else snippets[0]
                snippets = [replace(snippets[0], end=last.end)]
            hint = ""
            if self.parameters[:1] == ("self",):
                hint = (
                    "kernels are no methods: take 'self' out, and pass what of the object the "
                    "kernel reads."
                )
            sentence = f"These arguments do not fit kernel '{self.function.__name__}': {error}."
            raise ArgumentTypeError(render_message(sentence, *snippets, hint=hint)) from None
        bound.apply_defaults()
        return tuple(bound.arguments[name] for name in self.parameters)

    def __reduce__(self) -> tuple[Any, ...]:
        """A definition is pickled as what it was made of."""
        return type(self), (
            self.function, self.mode, self.options, self.launch_bounds, self.fastmath,
            self.constants,
        )  # fmt: skip

    def lowered(
        self, kinds: Sequence[Type], *, of_elements: bool = False, lookups: Lookups | None = None
    ) -> ir.Program:
        """Return the program for arguments of these types as no pass has seen it.

        With `of_elements` it is a function of one element that returns its results. `lookups` gets
        what it depends on besides.

        Raises
        ------
        TypingError, UnsupportedError
            The function's source does not fit.
        """
        from kerneltk.jit.lowering.program import lower_program

        run_time: list[tuple[str, Type, ir.Span]] = []
        static: dict[str, Any] = {}
        constants = dict(self.constants)
        for name, kind, span in zip(self.parameters, kinds, self.spans, strict=True):
            if isinstance(kind, Void):
                static[name] = constants.get(name)
            else:
                run_time.append((name, kind if of_elements else referred_type(kind), span))
        with self._within_depth():
            return lower_program(
                self.function,
                self.source,
                run_time,
                static,
                self.mode,
                of_elements=of_elements,
                lookups=lookups,
            )

    def optimized(self, lowered: ir.Program, context: PassContext) -> ir.Program:
        """Return a program as it is emitted.

        What it does to its arguments is asked of the lowered one: passes leave out what cannot be
        reached, each target's others.
        """
        from kerneltk.jit.compile import optimized

        with self._within_depth():
            return optimized(lowered, context)

    @contextlib.contextmanager
    def _within_depth(self) -> Iterator[None]:
        """Say where the text is nested deeper than Python's own stack."""
        try:
            yield
        except RecursionError:
            raise UnsupportedError(
                render_message(
                    "This function, or what it calls, is nested too deep.",
                    self.source.snippet(self.source.span(self.source.node)),
                    hint="divide long expressions and chains of 'elif', or allow more by "
                    "'sys.setrecursionlimit'.",
                )
            ) from None

    def program(self, kinds: Sequence[Type], context: PassContext) -> ir.Program:
        """Return the program for arguments of these types as it is emitted."""
        return self.optimized(self.lowered(kinds, of_elements=context.of_elements), context)

    def all_options(self, backend: Capabilities | None = None) -> tuple[str, ...]:
        """Return the compile options for a backend, or for whichever comes."""
        fast = self.fastmath and (backend is None or backend.takes_fast_math)
        return (*self.options, "--use_fast_math") if fast else self.options

    def unit(
        self, program: ir.Program, backend: Capabilities, is_32bit: bool = False
    ) -> TranslationUnit:
        """Return the translation unit of a program that has passed all passes."""
        from kerneltk.jit.codegen.translation_unit import unit_of

        options = self.all_options(backend)
        bounds = ", ".join(map(str, self._bounds(program))) if backend.takes_launch_bounds else ""
        before = f"__launch_bounds__({bounds}) " if bounds else ""
        with self._within_depth():
            return unit_of(program, backend, options, before, is_32bit)

    def _bounds(self, program: ir.Program) -> tuple[int, ...]:
        from kerneltk.jit.passes.effects import required_block

        needed = None if self.launch_bounds else required_block(program)
        return self.launch_bounds if needed is None else (math.prod(needed),)


class Decorated(abc.ABC):
    """A function that a decorator made a kernel of: what it shows of itself.

    Attributes
    ----------
    __wrapped__ : function
        The function itself.
    """

    _definition: Definition
    _distinguished: str  # by what it is compiled apart, for messages
    _verb: str  # what one does with it

    @property
    def name(self) -> str:
        """The function's name."""
        return self._definition.function.__name__

    @property
    @abc.abstractmethod
    def cached_codes(self) -> dict[Any, str]:
        """The text of each specialization."""

    @abc.abstractmethod
    def _unit_for(self, args: Sequence[Any], target: str | None) -> tuple[TranslationUnit, str]:
        """Return the unit for arguments or what stands for them, and the target, which may be that
        of the arrays.
        """

    @abc.abstractmethod
    def _made_of(self) -> tuple[Any, ...]:
        """Return the arguments of the constructor."""

    @property
    def cached_code(self) -> str:
        """The text, if there is one specialization.

        Raises
        ------
        NotCompiledError
            There is none, or there are several: see `cached_codes`.
        """
        codes = self.cached_codes
        if len(codes) != 1:
            raise NotCompiledError(
                f"Kernel '{self.name}' is compiled for {len(codes)} combinations of "
                f"{self._distinguished}.\n  Hint: {self._verb} it first; with several, take one of "
                "'cached_codes'."
            )
        return next(iter(codes.values()))

    def inspect(self, *args: Any, target: str | None = None) -> str:
        """Return the text that such arguments compile, needing no device.

        Parameters
        ----------
        *args : array, number, ArraySpec, dtype or type
            One a parameter. An `ArraySpec` stands for an array, a dtype, a NumPy
            type, ``int``, ``float``, ``complex`` or ``bool`` for a number.
        target : str, optional
            ``"cuda"`` or ``"host"``: the C++ text, for the arrays' own backend if it is not given.
            ``"compute_90"``: PTX. ``"sm_90"``: the instructions of that architecture.

        Returns
        -------
        str

        Raises
        ------
        TypingError, UnsupportedError
            The function does not fit these arguments, at its line.
        ArgumentTypeError, ArgumentValueError
            An argument that no kernel takes; for functions of elements, arrays without elements.
        CompileError, BackendUnavailableError
            Compiling failed, or there is nothing to compile or to disassemble with.
        """
        # It is imported when it is wanted: a launch needs none of it.
        from kerneltk.jit.frontends.inspection import shown

        return shown(*self._unit_for(args, target))

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the source that was compiled last."""
        from kerneltk.jit.frontends.inspection import page_of

        return page_of(repr(self), self.cached_codes)

    def __reduce__(self) -> str | tuple[Any, ...]:
        """A kernel is pickled by its name, or as what it was made of."""
        return reduced(self, self._made_of())

    @property
    def jit_function(self) -> types.FunctionType:
        """The function that kernels call: of another kernel as a device function."""
        return self._definition.function

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class JitKernel(Decorated):
    """A function in restricted Python that runs on a grid of threads.

    Made by :func:`rawkernel`. ``kernel[grid, block](*args)`` launches it, with NumPy arrays on the
    cores of this machine, with CuPy arrays on their GPU. It is compiled for each combination of
    argument types when it is first launched with it.
    """

    _distinguished, _verb = "argument types and shapes", "launch"
    _dispatcher_type = JitDispatcher

    def __init__(self, definition: Definition, adapt: Adapt | None = None) -> None:
        self._definition = definition
        functools.update_wrapper(self, definition.function)
        self._dispatcher = self._dispatcher_type(
            self.name,
            functools.partial(getattr, definition, "paths"),
            self._specialized,
            adapt,
        )
        self._configured: BoundedTable[Any, Configured] = BoundedTable(_MOST_CONFIGURATIONS)

    # -- launching -----------------------------------------------------------------------------

    def __getitem__(self, configuration: Any) -> Configured:
        """Return a launcher for ``[grid, block]`` or ``[grid, block, shared_mem, stream]``.

        Parameters
        ----------
        configuration : tuple
            The grid (blocks) and the block (threads), each an int or a tuple of up to three; then,
            if wanted, dynamic shared memory (bytes) and a stream. As in numba, a third value that
            is a stream and a fourth that is a number are taken for what they are.
        """
        try:
            known = self._configured.get(configuration)
        except TypeError:  # a list
            known = None
        if known is not None:
            given = known.given
            # Equal is not enough: 1.0 and True are equal to 1.
            if configuration[0] is given[0] and configuration[1] is given[1] and len(given) == 2:
                return known
            if known.key is not None and known.key == plain_key(configuration):
                return known
        return self._configure(configuration)

    def _configure(self, configuration: Any) -> Configured:
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise ArgumentValueError(
                f"Kernel '{self.name}' is launched as '{self.name}[grid, block](...)'; "
                "dynamic shared memory (bytes) and a stream may follow."
            )
        grid, block, shared, stream = (*configuration, None, None)[:4]
        # numba's order: a stream, which may be 0, then shared memory.
        if is_size(stream) and (not is_size(shared) or shared == 0):
            shared, stream = stream, shared
        elif not (shared is None or is_size(shared)) and stream is None:
            shared, stream = None, shared
        shared = 0 if shared is None else shared
        stream = stream_in_brackets(stream)
        found = Configured(self, grid, block, shared, stream)
        if stream is None:
            self._keep(configuration, found)
        return found

    def _keep(self, configuration: Any, found: Configured) -> None:
        found.given, found.key = configuration, plain_key(configuration)
        with contextlib.suppress(TypeError):  # a list cannot be a key
            self._configured[configuration] = found

    def __call__(
        self,
        grid: Any,
        block: Any = None,
        args: Sequence[Any] | None = None,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Launch the kernel.

        Parameters
        ----------
        grid, block : int or tuple of int
            Blocks; threads of a block.
        args : tuple
            The arguments.
        shared_mem : int
            Dynamic shared memory of a block (bytes).
        stream : optional
            A stream of any library, or a handle; if not given, the current one of the library
            whose arrays they are.

        Raises
        ------
        TypingError, UnsupportedError
            The function does not fit these arguments, at its line.
        ArgumentTypeError, ArgumentValueError
            An argument, the grid or the block cannot be taken.
        CompileError, LaunchError
            Compiling or launching failed.
        """
        if args is None:
            raise ArgumentTypeError(
                f"Kernel '{self.name}' is launched on a grid.\n  Hint: call "
                f"'{self.name}[grid, block](...)' or '{self.name}(grid, block, (...))'."
            )
        args = self._complete(given_arguments(self.name, args), {})
        handle = None if stream is None else stream_handle(stream)
        if recorders and (recorder := current_recorder()) is not None:
            recorder.call(self._dispatcher.recordable(grid, block, args, shared_mem, {}))
            return
        self._dispatcher.recent(grid, block, args, shared_mem, handle)

    def _complete(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """Return the arguments in the parameters' order, defaults filled in."""
        if not named and len(args) == len(self._definition.parameters):
            return args
        return self._definition.bound(args, named)

    def _specialized(self, arguments: Arguments) -> CompiledKernel:
        """The kernel for such arguments on the current device."""
        from kerneltk import pipeline

        backend = arguments.backend
        found = self._analysis(arguments.types, backend.capabilities, arguments.is_32bit)
        unit = found.unit
        if unit.raw:
            module, code = pipeline.get_module(unit, backend)
            function = module.function(dict(code.symbols)[unit.exports[0][0]])
        else:
            function = pipeline.get_function(unit, backend)
        mode = LaunchMode(found.needs_grid)
        limits = backend.limits(function)
        if self._definition.launch_bounds:
            limits = replace(limits, threads=min(limits.threads, self._definition.launch_bounds[0]))
        return CompiledKernel(function, limits, found.written, found.lent, mode, found.block, unit)

    @cached_property
    def _analyses(self) -> Analyses:
        from kerneltk.jit.frontends.analyses import Analyses

        return Analyses(self._definition, "grid")

    def _analysis(
        self, types: tuple[Type, ...], capabilities: Capabilities, is_32bit: bool
    ) -> GridAnalysis:
        """Return the analysis of the function for such arguments: cached, or else lowered."""
        from kerneltk.jit.frontends.analyses import GridAnalysis, case_of

        case = case_of(types, capabilities, is_32bit)
        known = self._analyses.find(case)
        if known is not None:
            options = self._definition.all_options(capabilities)
            return GridAnalysis.of_outcome(known, capabilities.name, options)

        from kerneltk.jit.compile import PassContext
        from kerneltk.jit.passes.effects import needs_grid, required_block, written_parameters
        from kerneltk.jit.source.lookups import Lookups

        lookups = Lookups()
        lowered = self._definition.lowered(types, lookups=lookups)
        program = self._definition.optimized(lowered, PassContext(capabilities, is_32bit))
        unit = self._definition.unit(program, capabilities, is_32bit)
        left = iter(program.kernel.parameters)
        parameters = [None if isinstance(kind, Void) else next(left) for kind in types]
        stored = written_parameters(lowered)
        found = GridAnalysis(
            unit,
            tuple(p is not None and p.name in stored for p in parameters),
            tuple(p is not None and value_type(p.type) != p.type for p in parameters),
            needs_grid(lowered),
            required_block(lowered),
        )
        paths = [path for path, _ in unit.origins]
        self._analyses.keep(case, lookups, found.as_outcome(), paths)
        return found

    # -- what was made -------------------------------------------------------------------------

    def written_by(self, args: Sequence[Any]) -> frozenset[str]:
        """The parameters whose arrays a launch with such arguments may write to.

        Parameters
        ----------
        args : sequence of ArraySpec, array, number, number type or dtype
            One a parameter of the function.

        Raises
        ------
        TypingError, UnsupportedError
            The function does not fit these arguments, at its line.
        """
        # They are imported when they are wanted: a launch needs none of them.
        from kerneltk.jit.frontends.inspection import described_argument
        from kerneltk.jit.passes.effects import written_parameters

        pairs = zip(args, self._definition.paths, strict=True)
        kinds = [described_argument(value, path)[0] for value, path in pairs]
        return written_parameters(self._definition.lowered(kinds))

    @property
    def cached_codes(self) -> dict[tuple[str, tuple[Type, ...], bool], str]:
        """The text of each specialization, by backend, argument types, and whether 32 bits index
        all arrays.
        """
        return {
            (backend, types, is_32bit): kernel.unit.source
            for (backend, _, types, is_32bit), kernel in self._dispatcher.kernels.items()
            if kernel.unit is not None
        }

    def _unit_for(self, args: Sequence[Any], target: str | None) -> tuple[TranslationUnit, str]:
        # They are imported when they are wanted: a launch needs none of them.
        from kerneltk.jit.compile import PassContext
        from kerneltk.jit.frontends.inspection import described_argument
        from kerneltk.launch.explanation import backend_for

        args = self._complete(tuple(args), {})
        pairs = zip(args, self._definition.paths, strict=True)
        found = [described_argument(value, path) for value, path in pairs]
        target = target or backend_for(args).name
        backend = capabilities_of_target(target)
        kinds, values = [kind for kind, _ in found], [value for _, value in found]
        is_32bit = is_32bit_indexable(values, kinds)
        program = self._definition.program(kinds, PassContext(backend, is_32bit))
        return self._definition.unit(program, backend, is_32bit), target

    def explain(
        self, grid: Any, block: Any, args: Sequence[Any], shared_mem: int = 0,
        *, target: str | None = None,
    ) -> KernelExplanation:  # fmt: skip
        """Explain a launch, without one: see `RawKernel.explain`. Arguments may also be what
        :meth:`inspect` takes. Raises as a launch does, too.
        """
        from kerneltk import pipeline
        from kerneltk.launch.explanation import explained_grid, target_for

        args = self._complete(given_arguments(self.name, args), {})
        target = target or target_for(args)
        compiled = functools.partial(pipeline.compile_ahead, self._unit_for(args, target)[0])
        return explained_grid(self.name, args, grid, block, compiled, target, shared_mem)

    def _made_of(self) -> tuple[Any, ...]:
        return (self._definition,)


_MOST_CONFIGURATIONS = 4096


@common_calls("configured")
class Configured(Called):
    """A kernel with a grid and a block: what ``kernel[grid, block]`` is.

    Where it is remembered for the next time, `given` is what stood in the brackets, `key` its
    `plain_key`.
    """

    __slots__ = ("_kept", "_kernel", "_launch", "given", "key")

    def __init__(self, kernel: JitKernel, grid: Any, block: Any, shared: int, stream: Any) -> None:
        self._kernel = kernel
        count = len(kernel._definition.paths)
        launch_extents(grid, "grid", kernel.name)
        launch_extents(block, "block", kernel.name)
        handle = None if stream is None else stream_handle(stream)
        self._kept = stream  # the handle is gone with it
        self._launch = kernel._dispatcher, count, grid, block, shared, handle
        self.given: tuple[Any, ...] = ()
        self.key: bytes | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are made of the kernel and what stood in the brackets."""
        _, _, grid, block, shared, _ = self._launch
        return type(self), (self._kernel, grid, block, shared, self._kept)

    def __call__(self, *args: Any, **named: Any) -> None:
        """Launch the kernel with these arguments."""
        dispatcher, count, grid, block, shared, stream = self._launch
        if named or len(args) != count:
            args = self._kernel._complete(args, named)
        if recorders and (recorder := current_recorder()) is not None:
            recorder.call(dispatcher.recordable(grid, block, args, shared, {}))
            return
        dispatcher.recent(grid, block, args, shared, stream)

    def explain(self, *args: Any, target: str | None = None, **named: Any) -> KernelExplanation:
        """Explain a launch with these arguments: see `JitKernel.explain`."""
        _, _, grid, block, shared, _ = self._launch
        args = self._kernel._complete(args, named)
        return self._kernel.explain(grid, block, args, shared, target=target)


class DeviceFunction:
    """A function that only kernels call; made by ``rawkernel(device=True)``. Calls convert numbers
    to `jit_types`, of numba's signature: the parameters' dtypes and the result's, each may be None.
    """

    def __init__(self, function: types.FunctionType, jit_types: Any = None) -> None:
        functools.update_wrapper(self, function)
        self.jit_types = jit_types
        self.jit_function = self.py_func = function  # the latter is numba's name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: it has no grid."""
        raise UnsupportedError(
            f"'{self.jit_function.__name__}' can only be called inside of a kernel."
        )

    def __getitem__(self, configuration: Any) -> Any:
        """Raise: it has no grid."""
        raise UnsupportedError(
            f"'{self.jit_function.__name__}' is a device function, which has no grid.\n"
            "  Hint: call it inside of a kernel."
        )

    def __reduce__(self) -> str | tuple[Any, ...]:
        """It is pickled by its name, or with the function."""
        return reduced(self, (self.jit_function, self.jit_types))

    def __repr__(self) -> str:
        return f"<DeviceFunction {self.jit_function.__name__}>"


def reduced(decorated: Any, made_of: tuple[Any, ...]) -> str | tuple[Any, ...]:
    """What a decorated function is pickled as: its name, where it has one, else its class and what
    that makes it of; functions are pickled by their names.
    """
    function = decorated.jit_function
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return str(function.__qualname__) if found is decorated else (type(decorated), made_of)


def checked_function(function: Any, decorator: str) -> types.FunctionType:
    """Return a decorated function; raises ArgumentTypeError for anything else."""
    function = getattr(function, "jit_function", function)
    if not isinstance(function, types.FunctionType):
        from kerneltk.jit.source.function_source import words_for

        words, hint = words_for(function)
        sentence = f"'{decorator}' decorates Python functions, not {words}."
        raise ArgumentTypeError(render_message(sentence, hint=f"{hint}."))
    return function


def checked_bounds(value: Any) -> tuple[int, ...]:
    """Return launch bounds as a tuple."""
    if value is None:
        return ()
    bounds = (value,) if isinstance(value, int) else value
    if (
        not isinstance(bounds, tuple)
        or not 1 <= len(bounds) <= 2
        or not all(isinstance(bound, int) and bound > 0 for bound in bounds)
        or bounds[0] > 1024
    ):
        raise ArgumentValueError(
            "'launch_bounds' is the most threads of a block, up to 1024, or a tuple of that and "
            f"the fewest resident blocks, not {value!r}."
        )
    return bounds


@overload
def rawkernel(function: Callable[..., Any], /) -> JitKernel: ...
@overload
def rawkernel(
    *,
    mode: Mode = ...,
    device: bool = ...,
    options: Sequence[str] = ...,
    launch_bounds: int | tuple[int, int] | None = ...,
    fastmath: bool = ...,
) -> Callable[[Callable[..., Any]], Any]: ...


def rawkernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    mode: Mode = "cuda",
    device: bool = False,
    options: Sequence[str] = (),
    launch_bounds: int | tuple[int, int] | None = None,
    fastmath: bool = False,
) -> Any:
    """Make a kernel of a function in restricted Python.

    Parameters
    ----------
    mode : {"cuda", "numpy"}
        How numbers of two dtypes meet: as in CUDA C++ (int32 and float32 make float32), or as in
        NumPy (float64). Python's own numbers take the other's dtype in both.
    device : bool
        Whether it is a function that kernels call, instead of a kernel.
    options : tuple of str
        Compile options, as NVRTC takes them.
    launch_bounds : int or tuple of int, optional
        The most threads of a block; then the fewest blocks to be resident.
    fastmath : bool
        Whether GPUs may use their fast, less exact functions.

    Returns
    -------
    JitKernel
        ``kernel[grid, block](*args)`` launches it.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        A parameter cannot be taken.

    Examples
    --------
    >>> import numpy as np
    >>> from kerneltk import jit
    >>> @jit.rawkernel()
    ... def scale(x, a, y):
    ...     i = jit.grid(1)
    ...     if i < y.size:
    ...         y[i] = a * x[i]
    >>> x, y = np.arange(4, dtype=np.float32), np.empty(4, np.float32)
    >>> scale[1, 32](x, 0.5, y)
    >>> y
    array([0. , 0.5, 1. , 1.5], dtype=float32)
    """
    if mode not in ("cuda", "numpy"):
        raise ArgumentValueError(f"'mode' must be 'cuda' or 'numpy', not {mode!r}.")
    checked = checked_options(options)
    bounds = checked_bounds(launch_bounds)

    def decorate(decorated: Callable[..., Any]) -> Any:
        plain = checked_function(decorated, "rawkernel")
        if device:
            return DeviceFunction(plain)
        return JitKernel(Definition(plain, mode, checked, bounds, bool(fastmath)))

    return decorate if function is None else decorate(function)


rawkernel.makes_device_function = True  # type: ignore[attr-defined]
