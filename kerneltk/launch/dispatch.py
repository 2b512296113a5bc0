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
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import Backend
from kerneltk.core.recorders import Recordable
from kerneltk.errors import ArgumentTypeError
from kerneltk.launch.launch_config import unchanging
from kerneltk.launch.launchers import is_outdated

Run = Callable[..., Any]


def launched(
    adoption: foreign_arrays.Adoption, stream: int | None, run: Callable[[int | None], Any]
) -> Any:
    """Launch by ``run(handle)`` on the device and the stream of a call's arrays, or on the stream
    that it names; its results are given back as the caller's kind of arrays.
    """
    with adoption.launching(stream) as handle:
        return adoption.give_back(run(handle))


class Dispatcher:
    """The launchers of one kernel.

    Parameters
    ----------
    *made_of : object
        What the class takes.
    records : bool
        Whether its launches go to the thread's recorder, and not to the device.
    """

    def __init__(self, *made_of: Any, records: bool) -> None:
        self._made_of, self._records = made_of, records
        self._launchers: dict[Any, Any] = {}

    @functools.cached_property
    def recording(self) -> Any:
        """A dispatcher of the same kernel for calls that are recorded."""
        return type(self)(*self._made_of, records=True)

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

        if not isinstance(args, tuple | list):
            return Recordable(self.name, (), args, 0, run)  # is refused
        as_numbers = functools.partial(recording.by_value, words=words)
        names = self.parameter_names(len(args))
        return Recordable(self.name, names, tuple(args), len(args), run, as_numbers)

    def _dispatched(self, way: Any) -> Run:
        """What stands in the inline cache before there is a launcher, and what a launcher calls
        that launches nothing: for other arguments, on another device, or a grid for another kernel.
        """
        return functools.partial(self._dispatch, way)

    def _dispatch(
        self, way: Any, grid: Any, block: Any, args: Any, shared: Any = 0, stream: Any = None
    ) -> None:
        call = self._described(way, given_arguments(self.name, args), grid, block)
        with call.adoption.on_device():
            run = self._planned(call, self._specialized(call))
            self._keep(call, run)
            launched(
                call.adoption,
                stream,
                lambda handle: run(grid, block, call.values, shared, handle),
            )


def given_arguments(kernel: str, args: Any) -> tuple[Any, ...]:
    """The arguments of a launch, which are a tuple or a list; raises ArgumentTypeError."""
    if not isinstance(args, tuple | list):
        raise ArgumentTypeError(
            f"The arguments of kernel '{kernel}' must be a tuple, not an object of type "
            f"'{type(args).__name__}'.\n  Hint: a tuple of one is written '(x,)'."
        )
    return tuple(args)
