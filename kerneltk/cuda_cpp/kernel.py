"""Raw kernels: from a call to the launcher for its types, and what its checks do."""

from __future__ import annotations

import struct
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from marshal import dumps
from typing import Any, NamedTuple

import numpy as np

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import Backend, LaunchCall, LaunchMode, capabilities_of
from kerneltk.core.artifacts import BackendName
from kerneltk.core.records import BoundedTable, lasting_lock
from kerneltk.core.settings import get_settings
from kerneltk.cuda_cpp.arguments import (
    Passing,
    check_array,
    check_values,
    guards_of,
    passing_of,
    wrong_count,
)
from kerneltk.cuda_cpp.by_value import Checks, report
from kerneltk.cuda_cpp.module import BinaryProgram
from kerneltk.cuda_cpp.program import RawProgram
from kerneltk.cuda_cpp.signature import LoadedKernel, Slot
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, Snippet
from kerneltk.interop.texture_objects import class_of
from kerneltk.launch.compiled import BoundLauncher, LauncherTemplate
from kerneltk.launch.dispatch import GridDispatcher, Run
from kerneltk.launch.launch_config import GridLaunches, GridShapes, as_extents
from kerneltk.launch.launcher_spec import Argument, LauncherSpec


def _tells_backend(value: Any) -> bool:
    """Return whether a value's type decides where a kernel runs."""
    return (hasattr(value, "strides") and value.ndim > 0) or class_of(type(value)) is not None


def _is_plain(value: Any) -> bool:
    """Return whether no other value is written as the same bytes."""
    return value is None or type(value) in (bool, str, int)


_NO_WORDS = b""
_MOST_VARIANTS = 64


def _checked_cluster(kernel: str, cluster: Any) -> tuple[int, ...]:
    """Return a cluster's extents; empty for a cluster of one block."""
    if cluster is None or cluster == ():
        return ()
    extents = as_extents(cluster, "cluster", kernel)
    return () if extents == (1, 1, 1) else extents


def _checked_flag(kernel: str, word: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ArgumentTypeError(
            f"'{word}' of kernel '{kernel}' must be True or False, not {value!r}."
        )
    return bool(value)


_FLAGS = ("cooperative", "programmatic", "exited_arrive", "checks")
_MODE_WORDS = ("cooperative", "cluster", "programmatic", "exited_arrive", "checks", "backend")


def _checks_of(given: bool | None) -> Checks:
    """Return the mode of the checks, as a kernel or a launch asks for it."""
    return current_checks() if given is None else "error" if given else "off"


class _Way(NamedTuple):
    """How a launch is made, by the keywords of its call: `slot` is their bytes, by which the next
    equal ones are known, None where there are none.
    """

    slot: bytes | None
    mode: LaunchMode
    checks: bool | None
    backend: BackendName | None


class _Call(NamedTuple):
    """A call, described: `checks` are those of now, and `changes` counts how often they were
    changed before.
    """

    backend: Backend
    values: tuple[Any, ...]
    adoption: foreign_arrays.Adoption
    way: _Way
    checks: Checks
    changes: int


class RawDispatcher(GridDispatcher):
    """Finds the launcher for the arguments of a call, and makes it where there is none.

    Parameters
    ----------
    name : str
        The kernel's name expression.
    mode : LaunchMode
        How it is launched where a call says nothing else.
    checks : bool, optional
        Whether launches check their arguments; None leaves it to `current_checks`.
    records : bool
        Whether launches go to the thread's recorder, and not to the device.
    """

    __slots__ = ()

    def __init__(
        self,
        program: RawProgram | BinaryProgram,
        name: str,
        mode: LaunchMode,
        checks: bool | None,
        records: bool = False,
    ) -> None:
        super().__init__(program, name, mode, checks, records=records)
        self.name, self.mode = name, mode
        self.checks = None if checks is None else _checked_flag(name, "checks", checks)
        self._program = program
        self._variants: BoundedTable[Any, Run] = BoundedTable(_MOST_VARIANTS)
        self.forget()
        state.add(self)

    def forget(self) -> None:
        """Choose a launcher anew at the next call: what checks do has changed."""
        self.recent = self._dispatched(_Way(_NO_WORDS, self.mode, self.checks, None))
        self._variants.clear()

    def parameter_names(self, count: int) -> tuple[str, ...]:
        """The names of `count` parameters; empty where no source shows them."""
        declared = self._program.declared_parameters(self.name)
        names = [parameter.name for parameter in declared[:count]]
        return (*names, *[""] * (count - len(names)))

    def by_value(self, args: tuple[Any, ...], words: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments, with numbers in place of NumPy's arrays that stand for numbers."""
        if not any(isinstance(value, np.ndarray) and value.size <= _MOST_NUMBERS for value in args):
            return args
        chosen, _, adoption = self._adopt(args, words.get("backend"))
        with adoption.on_device():
            parameters = self._program.kernel(chosen, self.name).signature.parameters
        if len(parameters) != len(args):
            return args  # is refused
        kinds = [None if found.type is None else found.type.kind for found in parameters]
        return tuple(
            _numbers(value) if kind not in (None, "pointer") else value
            for kind, value in zip(kinds, args, strict=True)
        )

    def variant(self, words: dict[str, Any]) -> Run:
        """The last launcher of calls with these keywords, or what finds one."""
        if not words:
            return self.recent
        try:
            slot = dumps(words, 2)  # 1 and True, which are equal, differ there
            known = self._variants.get(slot)
        except ValueError:  # objects of other kinds
            slot, known = None, None
        if known is not None:
            return known
        for word in words:
            if word not in _MODE_WORDS:
                raise ArgumentTypeError(
                    f"A launch of kernel '{self.name}' takes no keyword '{word}'.\n"
                    f"  Hint: it takes shared_mem, stream, {', '.join(_MODE_WORDS)}."
                )
        backend = words.get("backend")
        if backend is not None:
            capabilities_of(backend)
        mode: dict[str, Any] = {
            word: _checked_flag(self.name, word, words[word]) for word in _FLAGS if word in words
        }
        checks = mode.pop("checks", self.checks)
        if "cluster" in words:
            mode["cluster"] = _checked_cluster(self.name, words["cluster"])
        remembered = slot if all(map(_is_plain, words.values())) else None
        return self._dispatched(_Way(remembered, replace(self.mode, **mode), checks, backend))

    # -- a call, step by step ------------------------------------------------------------------

    def _described(self, way: _Way, args: tuple[Any, ...], grid: Any, block: Any) -> _Call:
        changes = state.number  # read first, so that a change behind it shows
        return _Call(*self._adopt(args, way.backend), way, _checks_of(way.checks), changes)

    def _specialized(self, call: _Call) -> LoadedKernel:
        loaded = self._program.kernel(call.backend, self.name)
        if len(call.values) != len(loaded.signature.parameters):
            raise wrong_count(loaded.signature, len(call.values))
        if call.checks != "off":
            with warned_of(call.checks):
                call.adoption.check_writes(loaded.is_written)
        return loaded

    def _planned(self, call: _Call, kernel: LoadedKernel) -> Run:
        """The launcher for these types on the current device."""
        way, types = call.way, tuple(map(type, call.values))
        key = types, way.mode, call.checks, way.backend, call.backend.name, kernel.device

        def make(_: Any) -> BoundLauncher:
            loaded = replace(kernel, backend=self._launching(call.backend))
            return make_launcher(loaded, call.values, way.mode, call.checks, self._dispatched(way))

        run: Run = self._launcher(key, make).run
        return run

    def _keep(self, call: _Call, run: Run) -> None:
        # Where nothing but the default says that it is the host, a later launch may go elsewhere.
        is_lasting = call.way.backend or not call.backend.capabilities.is_fallback
        if call.changes != state.number or not (
            is_lasting or any(map(_tells_backend, call.values))
        ):
            return
        if call.way.slot == _NO_WORDS:
            self.recent = run
        elif call.way.slot is not None:
            self._variants[call.way.slot] = run
        if call.changes != state.number:  # another thread changed them since the question above
            self.forget()

    def _adopt(
        self, args: Sequence[Any], wanted: BackendName | None
    ) -> tuple[Backend, tuple[Any, ...], foreign_arrays.Adoption]:
        """Return the backend whose arrays the arguments are, the arguments as its own, and what
        orders a launch with them.
        """
        values: list[Any] = []
        owners: dict[int, Backend] = {}
        objects: BackendName | None = None
        adoption = foreign_arrays.Adoption()
        for index, argument in enumerate(args):
            own, value = adoption.take(argument, index, self._declared_name)
            values.append(value)
            if own is None:
                found = class_of(type(argument))
                objects = objects or (found and found.backend)
            elif not (isinstance(argument, np.ndarray) and argument.ndim == 0):
                owners[index] = own
        # That textures are where the arrays are is seen when they are passed.
        by_value = objects is not None and all(map(self._is_by_value, owners))
        chosen = foreign_arrays.backend_named(objects) if by_value else self._backend_of(owners)
        if chosen is None:
            chosen = foreign_arrays.backend_named(wanted)
        elif wanted not in (None, chosen.name):
            raise ArgumentTypeError(
                f"Kernel '{self.name}' was to run on '{wanted}', and its arrays are in "
                f"{chosen.capabilities.location}."
            )
        return chosen, tuple(values), adoption

    def _declared_name(self, index: int) -> tuple[str, Snippet | None]:
        """The name of a parameter, or its number where the source does not show it."""
        declared = self._program.declared_parameters(self.name)[index : index + 1]
        name = declared[0].name if declared else ""
        return name or f"#{index + 1}", declared[0].snippet if declared else None

    def _is_by_value(self, index: int) -> bool:
        """Return whether the source shows that a parameter is neither a pointer nor an array."""
        declared = self._program.declared_parameters(self.name)[index : index + 1]
        return bool(declared) and not set("*&[") & set(declared[0].declared)

    def _backend_of(self, owners: dict[int, Backend]) -> Backend | None:
        """Return the backend of the arrays among the arguments, by their indices in the call.

        A NumPy array that is a struct's or a vector's value may go to another backend as well.
        """
        if len({own.name for own in owners.values()}) > 1:
            owners = {
                index: own
                for index, own in owners.items()
                if not (own.capabilities.is_fallback and self._is_by_value(index))
            }

        def refused(*pair: int) -> ArgumentTypeError:
            declared = self._program.declared_parameters(self.name)
            shown = [declared[k].shown if k < len(declared) else f"#{k + 1}" for k in pair]
            first, second = zip(shown, map(owners.__getitem__, pair), strict=True)
            snippet = self._declared_name(pair[1])[1]
            return foreign_arrays.different_locations(self.name, first, second, snippet)

        return foreign_arrays.common_backend(owners, refused)

    def suggest_block(self, args: Sequence[Any], shared: int, backend: BackendName | None) -> int:
        """Return the threads a block that the occupancy calculator suggests for such arguments."""
        chosen = self._adopt(args, backend)[0]
        loaded = self._program.kernel(chosen, self.name)
        return chosen.suggest_block(loaded.function, shared)


_MOST_NUMBERS = 4  # of a vector


def _numbers(value: Any) -> Any:
    """The numbers of one of NumPy's arrays; all else as it is."""
    if not isinstance(value, np.ndarray) or value.size > _MOST_NUMBERS:
        return value
    return tuple(value) if value.ndim == 1 and value.dtype.kind != "V" else value.copy()[()]


# -- what launches do where their checks find something --------------------------------------------


class _ChosenChecks:
    """What context managers say, the innermost last."""

    def __init__(self) -> None:
        # With an object of each block's own: those of several threads do not end in order.
        self.chosen: list[tuple[object, Checks]] = []
        self.number = 0  # of changes
        self._dispatchers: weakref.WeakSet[RawDispatcher] = weakref.WeakSet()
        # Reentrant: the garbage collector may make or drop kernels while it is held.
        self._lock = lasting_lock(threading.RLock())

    def add(self, dispatcher: RawDispatcher) -> None:
        """Register what forgets its launchers at each change."""
        with self._lock:
            self._dispatchers.add(dispatcher)

    def enter(self, choice: tuple[object, Checks]) -> None:
        """Begin a block."""
        with self._lock:
            self.chosen.append(choice)
        self._change()

    def leave(self, choice: tuple[object, Checks]) -> None:
        """End a block."""
        with self._lock:
            self.chosen.remove(choice)
        self._change()

    def _change(self) -> None:
        with self._lock:
            self.number += 1
            dispatchers = list(self._dispatchers)
        for dispatcher in dispatchers:
            dispatcher.forget()


state = _ChosenChecks()


def current_checks() -> Checks:
    """Return the default mode of the checks."""
    # One read of the list: another thread may end its block at any time.
    chosen = state.chosen[-1:]
    return chosen[0][1] if chosen else get_settings().raw_checks


@contextmanager
def raw_checks(checks: Checks) -> Iterator[None]:
    """Choose what launches of raw kernels do with arguments that do not fit, in a ``with`` block.

    It decides for kernels that were made without ``checks=`` and for launches without it, in all
    threads. The environment variable ``KERNELTK_RAW_CHECKS`` chooses for a whole program.

    Parameters
    ----------
    checks : {"error", "warn", "off"}
        Raise an error; warn (`RuntimeWarning`) and launch; or launch.

    Raises
    ------
    ArgumentValueError
        `checks` is none of these.

    Examples
    --------
    >>> import numpy as np
    >>> import kerneltk
    >>> bits = kerneltk.RawKernel(
    ...     '__global__ void bits(const unsigned* x, unsigned* y) { *y = *x >> 23; }', "bits")
    >>> y = np.zeros(1, np.uint32)
    >>> with kerneltk.raw_checks("off"):
    ...     bits(1, 1, (np.ones(1, np.float32), y))
    >>> y
    array([127], dtype=uint32)
    """
    if checks not in ("error", "warn", "off"):
        raise ArgumentValueError(f"'raw_checks' takes 'error', 'warn' or 'off', not {checks!r}.")
    choice = object(), checks
    state.enter(choice)
    try:
        yield
    finally:
        state.leave(choice)


# -- launchers -------------------------------------------------------------------------------------


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
                check_array(Slot(signature, parameter), array, backend.describe(array)[1], args)
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
    mistyped: Run,
) -> BoundLauncher:
    """The launcher for arguments of some types.

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
        passing_of(Slot(signature, parameter), type(value), backend, checks)
        for parameter, value in zip(signature.parameters, values, strict=True)
    ]
    call = backend.grid_call(mode, signature.kernel)
    written = [parameter.is_written for parameter in signature.parameters]
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
    return LauncherTemplate(spec).bind(mistyped)
