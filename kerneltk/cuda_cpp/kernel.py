"""From a call of a raw kernel to the launcher for its types."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from marshal import dumps
from typing import Any

import numpy as np

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import Backend, LaunchMode
from kerneltk.backends.registry import capabilities_of
from kerneltk.core.artifacts import BackendName
from kerneltk.cuda_cpp.arguments import wrong_count
from kerneltk.cuda_cpp.binary import BinaryProgram
from kerneltk.cuda_cpp.launcher import make_launcher, warned_of
from kerneltk.cuda_cpp.program import RawProgram
from kerneltk.cuda_cpp.signature import RawParameter
from kerneltk.errors import ArgumentTypeError, Snippet
from kerneltk.interop.texture_objects import class_of
from kerneltk.launch.checking import Checks, current_checks, state
from kerneltk.launch.launch_config import as_extents
from kerneltk.launch.launchers import is_outdated
from kerneltk.launch.recording import recording_backend


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
    """Return what checks do where a kernel or a launch says so, or nothing."""
    return current_checks() if given is None else "error" if given else "off"


class KernelDispatcher:
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

    Attributes
    ----------
    recent : callable
        The last launcher of calls without keywords: ``run(grid, block, args, shared, stream)``.
    """

    __slots__ = ("__dict__", "__weakref__", "recent")  # calls read the last one's slot

    def __init__(
        self,
        program: RawProgram | BinaryProgram,
        name: str,
        mode: LaunchMode,
        checks: bool | None,
        records: bool = False,
    ) -> None:
        self.name = name
        self._records = records
        self.mode = mode
        self.checks = None if checks is None else _checked_flag(name, "checks", checks)
        self._program = program
        self._launchers: dict[Any, Callable[..., None]] = {}
        self._variants: dict[Any, Callable[..., None]] = {}
        self.recent: Callable[..., None]
        self.forget()
        state.add(self)

    def forget(self) -> None:
        """Choose a launcher anew at the next call: what checks do has changed."""
        self.recent = functools.partial(self._dispatch, _NO_WORDS, self.mode, self.checks, None)
        self._variants.clear()

    @functools.cached_property
    def recording(self) -> KernelDispatcher:
        """A dispatcher of the same kernel for launches that are recorded."""
        return KernelDispatcher(self._program, self.name, self.mode, self.checks, records=True)

    def parameter_names(self, count: int) -> tuple[str, ...]:
        """The names of `count` parameters; empty where no source shows them."""
        declared = self._program.declared_parameters(self.name)
        names = [parameter.name for parameter in declared[:count]]
        return (*names, *[""] * (count - len(names)))

    def by_value(self, args: tuple[Any, ...], wanted: BackendName | None) -> tuple[Any, ...]:
        """Return the arguments, with numbers in place of NumPy's arrays that stand for numbers."""
        if not any(isinstance(value, np.ndarray) and value.size <= _MOST_NUMBERS for value in args):
            return args
        chosen, _, adoption = self._adopt(args, wanted)
        with adoption.on_device():
            parameters = self._program.kernel(chosen, self.name).signature.parameters
        if len(parameters) != len(args):
            return args  # is refused
        kinds = [None if found.type is None else found.type.kind for found in parameters]
        return tuple(
            _numbers(value) if kind not in (None, "pointer") else value
            for kind, value in zip(kinds, args, strict=True)
        )

    def variant(self, words: dict[str, Any]) -> Callable[..., None]:
        """Return the last launcher of calls with these keywords, or a function that finds one."""
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
        kept = slot if all(map(_is_plain, words.values())) else None
        return functools.partial(self._dispatch, kept, replace(self.mode, **mode), checks, backend)

    def _dispatch(
        self,
        slot: bytes | None,
        mode: LaunchMode,
        given_checks: bool | None,
        backend: BackendName | None,
        grid: Any,
        block: Any,
        args: Any,
        shared: int = 0,
        stream: int | None = None,
    ) -> None:
        """Launch by the launcher for these types, which is made if there is none."""
        if not isinstance(args, tuple | list):
            raise ArgumentTypeError(
                f"The arguments of kernel '{self.name}' must be a tuple, not an object of type "
                f"'{type(args).__name__}'.\n  Hint: a tuple of one is written '(x,)'."
            )
        chosen, values, adoption = self._adopt(args, backend)
        with adoption.on_device():
            run = self._launcher(slot, mode, given_checks, backend, chosen, values, adoption)
            with adoption.launching(stream) as handle:
                run(grid, block, values, shared, handle)

    def _launcher(
        self,
        slot: bytes | None,
        mode: LaunchMode,
        given_checks: bool | None,
        backend: BackendName | None,
        chosen: Backend,
        values: tuple[Any, ...],
        adoption: foreign_arrays.Adoption,
    ) -> Callable[..., None]:
        """The launcher for these types on the current device, which is made if there is none."""
        changes = state.number  # read first, so that a change behind it shows
        checks = _checks_of(given_checks)
        types = tuple(map(type, values))
        key = (types, mode, checks, backend, chosen.name, chosen.device_key())
        run = self._launchers.get(key)
        if is_outdated(run):
            run = None
        if run is None:
            signature = self._program.kernel(chosen, self.name).signature
            if len(types) != len(signature.parameters):
                raise wrong_count(signature, len(types))
        if checks != "off":
            with warned_of(checks):
                self._check_writes(adoption, chosen)
        if run is None:
            loaded = self._program.kernel(chosen, self.name)
            if self._records:
                loaded = replace(loaded, backend=recording_backend(chosen))
            mistyped = functools.partial(self._dispatch, slot, mode, given_checks, backend)
            run = make_launcher(loaded, values, mode, checks, mistyped)
            self._launchers[key] = run
        # Where nothing but the default says that it is the host, a later launch may go elsewhere.
        is_lasting = backend or not chosen.capabilities.is_fallback
        if changes == state.number and (is_lasting or any(map(_tells_backend, values))):
            if slot == _NO_WORDS:
                self.recent = run
            elif slot is not None and len(self._variants) < _MOST_VARIANTS:
                self._variants[slot] = run
            if changes != state.number:  # another thread changed them since the question above
                self.forget()
        return run

    def _check_writes(self, adoption: foreign_arrays.Adoption, backend: Backend) -> None:
        """Raise for another library's array that the kernel may write to and must not."""

        def parameter(index: int) -> RawParameter:
            return self._program.kernel(backend, self.name).signature.parameters[index]

        def is_written(index: int) -> bool:
            kind = parameter(index).type
            return kind is not None and kind.kind == "pointer" and not kind.pointee_const

        adoption.check_writes(
            is_written,
            lambda index: (parameter(index).name or f"#{index + 1}", parameter(index).snippet),
        )

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
            if (found := class_of(type(argument))) is not None:
                objects = objects or found.backend
                values.append(argument)
                continue
            own, value = adoption.take(argument, index, self._declared_name)
            is_scalar = isinstance(argument, np.ndarray) and argument.ndim == 0
            if own is not None and not is_scalar:
                owners[index] = own
            values.append(value)
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
        return (declared[0].name, declared[0].snippet) if declared else (f"#{index + 1}", None)

    def _is_by_value(self, index: int) -> bool:
        """Return whether the source shows that a parameter is neither a pointer nor an array."""
        declared = self._program.declared_parameters(self.name)[index : index + 1]
        return bool(declared) and not set("*&[") & set(declared[0].declared)

    def _backend_of(self, owners: dict[int, Backend]) -> Backend | None:
        """Return the backend of the arrays among the arguments, by their indices in the call.

        A NumPy array that is a struct's or a vector's value may go to another backend as well.
        """
        backends = {own.name: own for own in owners.values()}
        if len(backends) < 2:
            return next(iter(backends.values()), None)
        declared = self._program.declared_parameters(self.name)
        device = next(k for k, own in owners.items() if not own.capabilities.is_fallback)
        for index, own in owners.items():
            is_value = own.capabilities.is_fallback and self._is_by_value(index)
            if own is not owners[device] and not is_value:
                pair = sorted((index, device))
                shown = [declared[k].shown if k < len(declared) else f"#{k + 1}" for k in pair]
                first, second = zip(shown, map(owners.__getitem__, pair), strict=True)
                snippet = declared[pair[1]].snippet if pair[1] < len(declared) else None
                raise foreign_arrays.different_locations(self.name, first, second, snippet)
        return owners[device]

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
