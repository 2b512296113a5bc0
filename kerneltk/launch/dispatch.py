"""From a call's arguments to a launch: the dispatchers of all kernels.

A call enters at the launcher in the inline cache. What that does not know is dispatched, in five
steps, of which a front-end supplies the first three:

1. *Describe*: `Adoption` imports the arrays. They choose backend, device and stream, and with the
   other arguments' types they are the key of what follows.
2. *Specialize* the kernel for that key: lowered, compiled and loaded, or known. Then it is known
   what it writes to: arrays that their libraries protect are refused.
3. *Plan*: find or make the launcher for the Python types, and for its table a row of numbers for
   these shapes, strides and addresses.
4. Put the launcher into the inline cache, unless the next equal call may go elsewhere.
5. Launch on the arrays' device and stream, or into the thread's recording; give results back.

Loops over elements have the grid in the plan and copy inputs that an output overlaps
(`kerneltk.launch.loops`). On a grid, which the caller says, overlap is the caller's affair.
Functions of arrays are specialized as kernels of loops, and have shortcuts for launchers.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import Backend, capabilities_of
from kerneltk.core.arrays import ArraySpec
from kerneltk.core.artifacts import BackendName
from kerneltk.core.recorders import Recordable, recorders
from kerneltk.core.records import MAX_PLANS, BoundedTable, cached_property, record
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, Snippet, render_message
from kerneltk.interop.streams import stream_handle
from kerneltk.interop.texture_objects import ObjectClass, class_of
from kerneltk.launch.compiled import is_outdated
from kerneltk.launch.launch_config import is_size, unchanging
from kerneltk.signature.parameters import NO_DEFAULT, Signature
from kerneltk.signature.resolve import scalar_default

Run = Callable[..., Any]
_MOST_SHORTCUTS = 64  # of a function, by types; and of these, by what else tells arguments apart


def launched(
    adoption: foreign_arrays.Adoption,
    stream: int | None,
    run: Callable[[int | None], Any],
    mapped: Callable[[Any, Callable[[Any], Any]], Any] | None = None,
) -> Any:
    """Launch by ``run(handle)`` on the device and the stream of a call's arrays, or on the stream
    that it names; its results are given back as the caller's kind of arrays, those in structures by
    ``mapped(result, give_back)``.
    """
    with adoption.launching(stream) as handle:
        result = run(handle)
        return adoption.give_back(result) if mapped is None else mapped(result, adoption.give_back)


class _OtherArraysError(Exception):
    """Imported arrays are others than a shortcut is for; nothing has been launched."""


def refuse_others(*args: Any) -> Any:
    """What a shortcut in an `ImportedCall` calls with arguments that it is not for."""
    raise _OtherArraysError


class ImportedCall:
    """The shortcut of a call whose arrays Python imports: one of the imported arrays, and around it
    what their libraries are owed.

    Parameters
    ----------
    given : sequence
        Arguments of the types that it is for.
    shortcut : callable
        Takes the imported arguments; calls `refuse_others` with others.
    written : container of int
        The arguments that are written to.
    otherwise : callable
        Takes all other calls, and those with an array that cannot be taken.
    mapped : callable, optional
        As in `launched`.
    """

    __slots__ = ("_mapped", "_otherwise", "_shortcut", "_types", "_written")

    def __init__(
        self,
        given: Sequence[Any],
        shortcut: Run,
        written: Container[int],
        otherwise: Run,
        mapped: Callable[[Any, Callable[[Any], Any]], Any] | None = None,
    ) -> None:
        self._types = [*map(type, given)]
        self._shortcut, self._written, self._otherwise = shortcut, written, otherwise
        self._mapped = mapped

    def __call__(self, *given: Any) -> Any:
        """Call the shortcut, or `otherwise`."""
        if not recorders and [*map(type, given)] == self._types:
            found = foreign_arrays.adopted(given, self._written.__contains__)
            if found is not None:
                (own, adoption), shortcut = found, self._shortcut
                with suppress(_OtherArraysError):
                    return launched(adoption, None, lambda handle: shortcut(*own), self._mapped)
        return self._otherwise(*given)


class Dispatcher:
    """The launchers of one kernel.

    Parameters
    ----------
    *parts : object
        What the class takes.
    records : bool
        Whether its launches go to the thread's recorder, and not to the device.

    Attributes
    ----------
    kernels : dict
        What it has specialized, by all that this depends on. Raw kernels are their program's.
    """

    def __init__(self, *parts: Any, records: bool) -> None:
        self._parts, self._records = parts, records
        self._launchers: dict[Any, Any] = {}
        self.kernels: BoundedTable[Any, Any] = BoundedTable(MAX_PLANS)

    @cached_property
    def recording(self) -> Any:
        """A dispatcher of the same kernel for calls that are recorded."""
        made = type(self)(*self._parts, records=True)
        made.kernels = self.kernels
        return made

    def _launching(self, own: Backend) -> Backend:
        """The backend that launchers are made for, of the one whose arrays they launch with."""
        if not self._records:
            return own
        from kerneltk.launch.recording import recording_backend  # who records nothing needs none

        return recording_backend(own)

    def _launcher(self, key: Any, make: Callable[[Any], Any]) -> Any:
        """The launcher for a key, with its `run`; `make` makes it, and takes an outdated one."""
        known = self._launchers.get(key)
        if known is None or is_outdated(known.run):
            known = self._launchers[key] = make(known)
        return known


class Call:
    """A call, described. Raises ArgumentTypeError for an output that is no array, and
    ArgumentValueError for one that must not be written to.

    Attributes
    ----------
    args, outputs : tuple
        As they are given, with numbers for torch's of the host.
    own, own_outputs : tuple
        They as the backends' own: other libraries' arrays have dtypes and shapes of their own
        kinds, or none.
    backend : Backend or None
        That of the first array.
    adoption : Adoption
    options : dict
        What the call says beside, but for the stream.
    key : hashable
        All that its kernel depends on; the front-end sets it.
    facts : object
        What else the front-end has found.
    """

    __slots__ = (
        "adoption", "args", "backend", "facts", "key", "options", "outputs", "own", "own_outputs"
    )  # fmt: skip

    def __init__(
        self,
        args: tuple[Any, ...],
        outputs: tuple[Any, ...],
        options: dict[str, Any],
        named: foreign_arrays.NameOf,
        called: str,
    ) -> None:
        adoption = self.adoption = foreign_arrays.Adoption()
        self.args = args = foreign_arrays.host_scalars_as_numbers(args)
        self.outputs, self.options = outputs, options
        self.own = tuple([adoption.take(arg, k, named)[1] for k, arg in enumerate(args)])
        self.own_outputs = tuple([adoption.take(out, None, named)[1] for out in outputs])
        for value in self.own_outputs:
            if foreign_arrays.backend_of(value) is None:
                raise ArgumentTypeError(
                    f"'out' of {called} must be an array or a tuple of arrays, and has an object "
                    f"of type '{type(value).__name__}'."
                )
        owners = map(foreign_arrays.backend_of, (*self.own, *self.own_outputs))
        self.backend: Backend | None = next((own for own in owners if own is not None), None)
        adoption.check_writes(lambda index: index is None)
        self.key: Any = None
        self.facts: Any = None


class ArrayFunction(Dispatcher, ABC):
    """A function of arrays, which calls kernels that are made for its arguments' types.

    Its launchers are shortcuts: by the arguments' types, then by what else tells them apart.

    Attributes
    ----------
    _shortcut, _shortcut_out : callable
        The inline caches: of calls without outputs, and with one behind the arguments.
    _key_of : callable
        What tells two arguments of one type apart, which an argument with a shortcut had.
    """

    _shortcut: Callable[..., Any]
    _shortcut_out: Callable[..., Any]
    _key_of: Callable[[Any], Any]

    def __init__(self) -> None:
        super().__init__(records=False)
        self._launchers = BoundedTable(_MOST_SHORTCUTS)
        self._other = functools.partial(self._by_kind, "_shortcut")
        self._other_out = functools.partial(self._by_kind, "_shortcut_out")
        self._shortcut, self._shortcut_out = self._other, self._other_out

    # -- what a front-end supplies -------------------------------------------------------------

    @abstractmethod
    def _described(
        self, args: tuple[Any, ...], outputs: tuple[Any, ...], options: dict[str, Any]
    ) -> Call:
        """A described call."""

    @abstractmethod
    def _made(self, call: Call) -> Any:
        """The kernel for a call, as its attribute `kernel`, with what belongs to it."""

    @abstractmethod
    def _planned(self, call: Call, known: Any) -> Callable[[int | None], Any]:
        """What launches a call, given the stream's handle; raises where shapes do not fit."""

    @abstractmethod
    def _shortcut_for(
        self, call: Call, known: Any, otherwise: Callable[..., Any]
    ) -> Callable[..., Any] | None:
        """The shortcut for the next equal call; None where that has to be described."""

    # -- a call, step by step ------------------------------------------------------------------

    def _by_kind(self, last: str, *given: Any) -> Any:
        """Call what the last shortcut is not for: by that of its kind, which is the last then."""
        # Of objects whose types are not known here nothing is asked.
        of_types = self._launchers.get((last, *map(type, given)))
        known = None if of_types is None else of_types.get(tuple(map(self._key_of, given)))
        if known is None or known is getattr(self, last):  # which has asked more, and is not for it
            if last == "_shortcut":
                return self._dispatch(given, (), {})
            return self._dispatch(given[:-1], given[-1:], {})
        setattr(self, last, known)
        return known(*given)

    def _dispatch(
        self, args: tuple[Any, ...], outputs: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """Call with arguments of any kinds, and make the shortcut for the next equal call."""
        stream = options.pop("stream", None)
        is_plain = not options and stream is None and len(outputs) < 2
        call = self._described(args, outputs, options)
        known = self.kernels.get(call.key)
        if known is None:
            known = self.kernels[call.key] = self._made(call)
        written = written_arguments(known.kernel, call.own)
        call.adoption.check_writes(written.__contains__)
        run = self._planned(call, known)
        handle = None if stream is None else stream_handle(stream)
        arrays = launched(call.adoption, handle, run)
        result = known.kernel.made(arrays)
        if is_plain and call.backend is not None and all(map(is_, args, call.args)):
            last = "_shortcut_out" if outputs else "_shortcut"
            otherwise = self._other_out if outputs else self._other
            shortcut = self._shortcut_for(call, known, otherwise)
            if shortcut is None and result is arrays:
                written |= {len(args) + k for k in range(len(outputs))}
                shortcut = self._imported(call, known, written, otherwise)
            if shortcut is not None:
                self._keep(last, (*args, *outputs), shortcut)
        return result

    def _imported(
        self, call: Call, known: Any, written: Container[int], otherwise: Callable[..., Any]
    ) -> Callable[..., Any] | None:
        """The shortcut around one of the imported arrays; None where there is none, or no array is
        imported.
        """
        given = (*call.args, *call.outputs)
        call.args, call.outputs = call.own, call.own_outputs
        if all(map(is_, given, (*call.args, *call.outputs))):
            return None
        shortcut = self._shortcut_for(call, known, refuse_others)
        return shortcut and ImportedCall(given, shortcut, written, otherwise)

    def _keep(self, last: str, given: tuple[Any, ...], shortcut: Callable[..., Any]) -> None:
        types = last, *map(type, given)
        of_types = self._launchers.get(types)
        if of_types is None:
            of_types = self._launchers[types] = BoundedTable(_MOST_SHORTCUTS)
        of_types[tuple(map(self._key_of, given))] = shortcut
        setattr(self, last, shortcut)


class GridDispatcher(Dispatcher, ABC):
    """The launchers of a kernel that is launched on a caller's grid.

    Attributes
    ----------
    name : str
        The kernel's, in messages.
    recent : callable
        The inline cache: ``run(grid, block, args, shared=0, stream=None)``, with a stream's handle.
    """

    __slots__ = ("recent",)  # which calls read

    name: str
    recent: Run

    @abstractmethod
    def _described(self, way: Any, args: tuple[Any, ...], grid: Any, block: Any) -> Any:
        """A call's arguments: `backend`, `values` and `adoption`. Launches of one `way` have the
        same keywords.
        """

    @abstractmethod
    def _specialized(self, call: Any) -> Any:
        """The kernel for a described call on the current device, loaded; raises where it writes to
        an array and must not.
        """

    @abstractmethod
    def _planned(self, call: Any, kernel: Any) -> Run:
        """The launcher for a call, with a plan; raises for arguments that cannot be passed."""

    @abstractmethod
    def _keep(self, call: Any, run: Run) -> None:
        """Put a launcher into the inline cache, if the next equal call is for it."""

    @abstractmethod
    def parameter_names(self, count: int) -> tuple[str, ...]:
        """The names of `count` parameters; empty where they are not known."""

    def variant(self, words: dict[str, Any]) -> Run:
        """What calls with these keywords are launched by, first."""
        return self.recent

    def by_value(self, args: tuple[Any, ...], words: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments, with numbers in place of NumPy's arrays that stand for numbers."""
        return args

    def recordable(
        self, grid: Any, block: Any, args: Any, shared: Any, words: dict[str, Any]
    ) -> Recordable:
        """A launch that can be made again."""
        grid, block = unchanging(grid), unchanging(block)
        recording = self.recording

        def run(values: tuple[Any, ...]) -> None:
            recording.variant(words)(grid, block, values, shared, None)

        args = given_arguments(self.name, args)
        as_numbers = functools.partial(recording.by_value, words=words)
        names = self.parameter_names(len(args))
        return Recordable(self.name, names, args, len(args), run, as_numbers)

    def _dispatched(self, way: Any) -> Run:
        """What stands in the inline cache before there is a launcher, and what a launcher calls
        that launches nothing: for other arguments, on another device, or a grid for another kernel.
        """
        return functools.partial(self._dispatch, way)

    def _dispatch(
        self, way: Any, grid: Any, block: Any, args: Any, shared: Any = 0, stream: Any = None
    ) -> None:
        args = given_arguments(self.name, args)
        call = self._described(way, args, grid, block)
        with call.adoption.on_device():
            run = self._planned(call, self._specialized(call))
            self._keep(call, run)
            launched(
                call.adoption,
                stream,
                lambda handle: run(grid, block, call.values, shared, handle),
            )


def written_arguments(kernel: Any, args: Sequence[Any]) -> frozenset[int]:
    """The arguments of a function that its kernel writes to; those that are None are not its."""
    left = iter(kernel.in_params)
    return frozenset(k for k, arg in enumerate(args) if arg is not None and not next(left).is_const)


def given_arguments(kernel: str, args: Any) -> tuple[Any, ...]:
    """Return the arguments of a launch, a tuple or a list. An array is the only argument, as with
    CuPy, for which it is the sequence of its rows, of which a kernel reads the first one's address.
    Raises ArgumentTypeError for anything else.
    """
    if getattr(args, "shape", ()):
        return (args,)
    if not isinstance(args, tuple | list):
        raise ArgumentTypeError(
            f"The arguments of kernel '{kernel}' must be a tuple, not an object of type "
            f"'{type(args).__name__}'.\n  Hint: a tuple of one is written '(x,)'."
        )
    return tuple(args)


# -- a call's arguments: in the parameters' order, and as one backend's arrays ---------------------

_MAX_BLOCK = 1024
_MOST_ELEMENTS = 2**63 - 1


@record
class CallDescription:
    """A call's results and effects.

    Parameters
    ----------
    outputs : tuple of ArraySpec
        Those that are given, and those that the call allocates.
    written : frozenset of str
        The inputs that the body may write to.
    is_batchable : bool
        Whether a call with stacked arguments gives the stacked results.
    """

    outputs: tuple[ArraySpec, ...]
    written: frozenset[str]
    is_batchable: bool


class CallOptions(NamedTuple):
    """What a call says beside its arguments: the number of elements, the stream's handle, the
    threads of a block, and where a call without any array runs. None is what it does not say.
    """

    size: int | None
    stream: int | None
    block_size: int | None
    backend: BackendName | None

    @property
    def plan_key(self) -> tuple[int | None, int | None] | None:
        """What a plan depends on: size and block size; None where neither is given."""
        if self.size is None and self.block_size is None:
            return None
        return self.size, self.block_size


def read_options(named: dict[str, Any]) -> CallOptions:
    """Take the options out of a call's keyword arguments, in place; raises ArgumentValueError for a
    value that an option cannot have, and for the stream as `stream_handle`.
    """
    size = named.pop("size", None)
    if size is not None:
        if not is_size(size) or size < -1:
            raise ArgumentValueError(f"'size' must be a non-negative integer, not {size!r}.")
        if size > _MOST_ELEMENTS:
            raise ArgumentValueError(f"'size' must be less than 2**63, not {size}.")
        size = None if size == -1 else int(size)  # as CuPy: -1 says that none is given
    block_size = named.pop("block_size", None)
    if block_size is not None:
        if not is_size(block_size) or block_size <= 0:
            raise ArgumentValueError("'block_size' must be greater than zero.")
        if block_size > _MAX_BLOCK:
            raise ArgumentValueError(
                f"'block_size' must be at most {_MAX_BLOCK}, not {block_size}."
            )
        block_size = int(block_size)
    backend = named.pop("backend", None)
    if backend is not None:
        capabilities_of(backend)
    stream = named.pop("stream", None)
    handle = None if stream is None else stream_handle(stream)
    return CallOptions(size, handle, block_size, backend)


def wrong_number(name: str, signature: Signature, given: int, missing: str = "") -> Exception:
    """The error for a wrong number of arguments."""
    nin, nout = len(signature.inputs), len(signature.outputs)
    what = f" Parameter '{missing}' is missing." if missing else ""
    return ArgumentTypeError(
        f"Wrong number of arguments for '{name}'. It must be either {nin} or {nin + nout} "
        f"(with outputs), but given {given}.{what}"
    )


def arrange(
    name: str,
    signature: Signature,
    args: tuple[Any, ...],
    named: dict[str, Any],
    options: Sequence[str] = ("size", "stream", "block_size", "backend"),
) -> tuple[Any, ...]:
    """The arguments in the parameters' order: inputs, or inputs and outputs. `options` is what a
    call takes beside, for messages.

    Raises ArgumentTypeError for too many or too few arguments, an unknown name, and two values for
    one parameter.
    """
    parameters = signature.parameters
    nin = len(signature.inputs)
    if not named and len(args) in (nin, len(parameters)):
        return args
    if len(args) > len(parameters):
        raise wrong_number(name, signature, len(args))
    known = [parameter.name for parameter in parameters]
    for key in named:
        if key not in known:
            raise ArgumentTypeError(
                f"Kernel '{name}' has no parameter '{key}'.\n"
                f"  Hint: its parameters are {', '.join(sorted(known)) or 'none'}; a call also "
                f"takes {', '.join(map(repr, options[:-1]))} and {options[-1]!r}."
            )
        if known.index(key) < len(args):
            raise ArgumentTypeError(f"Kernel '{name}' got two values for parameter '{key}'.")
    outputs_named = any(parameter.name in named for parameter in signature.outputs)
    values = list(args)
    for index in range(len(args), len(parameters)):
        parameter = parameters[index]
        if parameter.name in named:
            values.append(named[parameter.name])
        elif index < nin and parameter.default is not NO_DEFAULT:
            values.append(parameter.default)
        elif index >= nin and not outputs_named and len(args) <= nin:
            break
        else:
            raise wrong_number(name, signature, len(args), parameter.name)
    return tuple(values)


def override_of(args: Sequence[Any], name: str) -> Callable[..., Any] | None:
    """The method of that name of the first argument that has one: it takes the call over. An empty
    name is no method's.
    """
    if not name:
        return None
    methods = (getattr(argument, name, None) for argument in args)
    return next((method for method in methods if method is not None), None)


def _check_number(signature: Signature, index: int, value: Any) -> None:
    """Raise for an argument that is neither an array nor, where one may be, a scalar."""
    parameter = signature.parameters[index]
    kind, hint = type(value).__name__, ""
    if index >= len(signature.inputs):
        sentence = f"Output '{parameter.name}' must be an array, not an object of type '{kind}'."
    elif scalar_default(value) is None or isinstance(value, type | np.dtype):
        sentence = (
            f"The argument for '{parameter.name}' is of type '{kind}', which is neither an array "
            "nor a number."
        )
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            hint = "pass 'np.asarray(x)'."
    else:
        return
    raise ArgumentTypeError(signature.message(sentence, index, hint=hint))


def import_arrays(
    signature: Signature, args: Sequence[Any], backend: BackendName | None
) -> tuple[tuple[Any, ...], Backend, foreign_arrays.Adoption]:
    """The arguments with every array as one of a backend's own, without a copy; that backend; and
    what orders the launch and gives results back.

    A call without arrays runs on `backend`, or where `backends.default_backend` says.

    Raises ArgumentTypeError for an argument that is neither an array nor a number and for arrays in
    different locations, and ArgumentValueError for another library's array that must not be
    written to.
    """
    values: list[Any] = []
    adoption = foreign_arrays.Adoption()
    parameters = signature.parameters
    owners: dict[int, Backend] = {}
    objects: dict[int, ObjectClass] = {}

    def named(index: int) -> tuple[str, Snippet | None]:
        name = parameters[index].name
        if name.startswith("_kt_"):  # a mask's, which is the call's word
            return name.removeprefix("_kt_"), None
        return name, signature.snippet(index)

    def in_two_locations(first: int, second: int) -> ArgumentTypeError:
        name, snippet = named(second)
        return ArgumentTypeError(
            render_message(
                f"'{named(first)[0]}' is in {owners[first].capabilities.location}, "
                f"but '{name}' is in {owners[second].capabilities.location}.",
                *([snippet] if snippet else []),
                hint=foreign_arrays.MOVE_HINT,
            )
        )

    inputs = len(signature.inputs)
    args = (*foreign_arrays.host_scalars_as_numbers(args[:inputs]), *args[inputs:])
    for index, argument in enumerate(args):
        own, value = adoption.take(argument, index, named)
        if own is not None:
            owners[index] = own
        elif index < inputs and (handled := class_of(type(value))) is not None:
            objects[index] = handled
        else:
            _check_number(signature, index, value)
        values.append(value)
    chosen = foreign_arrays.common_backend(owners, in_two_locations)
    first = next(iter(owners), 0)
    for index, found in objects.items():
        if chosen is None:
            chosen, first = foreign_arrays.backend_named(found.backend), index
        elif chosen.name != found.backend:
            other = parameters[first].name
            place = capabilities_of(found.backend).location
            sentence = (
                f"'{parameters[index].name}' is a {found.what} in {place}, but '{other}' is in "
                f"{chosen.capabilities.location}."
            )
            hint = f"make the {found.what} of an array that is there, too."
            raise ArgumentTypeError(signature.message(sentence, index, hint=hint))
    adoption.check_writes(lambda index: not parameters[index].is_const)
    if chosen is None:
        chosen = foreign_arrays.backend_named(backend)
    return tuple(values), chosen, adoption


def spec_of(argument: Any) -> ArraySpec | None:
    """The layout of an array, None of a scalar; raises ArgumentTypeError for what is neither."""
    if isinstance(argument, ArraySpec):
        return argument
    backend, array = foreign_arrays.own_array(argument)
    if backend is not None:
        return backend.describe(array)[0]
    if scalar_default(argument) is None:
        raise ArgumentTypeError(
            f"'{argument!r}' describes no argument.\n"
            "  Hint: use 'ArraySpec.make(dtype, shape)' for an array, a dtype for a scalar."
        )
    return None
