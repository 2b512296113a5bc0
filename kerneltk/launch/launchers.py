"""Launchers by their specs: those of the extension module where it is there, or in Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from kerneltk.launch.launcher_spec import LauncherSpec

if TYPE_CHECKING:
    from kerneltk.launch.interpreter import Interpreter


def launcher_class() -> Any:
    """The class of compiled launchers; None where launchers are to be in Python."""
    from kerneltk.launch import compiled  # no import of the package needs it

    return compiled.launcher_class()


def is_outdated(run: object) -> bool:
    """Whether a launcher was bound before the extension module was there, and it is now: another
    one is to be bound in its place. All calls of this one are dispatched.
    """
    return getattr(run, "is_outdated", False)


class BoundLauncher(NamedTuple):
    """A launcher of one kernel.

    Parameters
    ----------
    run : callable
        Called as its spec's entry says.
    key_of : callable
        Takes a tuple of arguments of the spec's types, and for a loop `extra`; returns the key of
        their plan. None if there are no plans.
    forget : callable
        Called when the table of plans was cleared.
    """

    run: Callable[..., Any]
    key_of: Any
    forget: Callable[[], object]


class LauncherTemplate:
    """All launchers of one spec, each of which is bound to a kernel.

    Parameters
    ----------
    spec : LauncherSpec
    """

    def __init__(self, spec: LauncherSpec) -> None:
        self.spec = spec

    @cached_property
    def _interpreter(self) -> Interpreter:
        from kerneltk.launch.interpreter import interpreter_of

        return interpreter_of(self.spec)

    @cached_property
    def _description(self) -> tuple[Any, ...] | None:
        from kerneltk.launch import compiled

        return compiled.description_of(self.spec)

    def bind(
        self,
        dispatch: Callable[..., Any] | None = None,
        plans: dict[Any, tuple[Any, ...]] | None = None,
        unplanned: Callable[..., Any] | None = None,
    ) -> BoundLauncher:
        """Bind a launcher to a kernel; the parameters are those of `Interpreter.bind`."""
        from kerneltk.launch import compiled

        is_awaited = compiled.is_awaited()  # asked first: the module may be there behind that
        kind = launcher_class()
        if kind is None or self._description is None:
            later = _has_class if is_awaited and self._description is not None else None
            run: Any = self._interpreter.bind(dispatch, plans, unplanned, is_outdated=later)
            return BoundLauncher(run, run.key_of if self.spec.bound is None else None, _nothing)

        def in_python() -> tuple[Callable[..., Any], Any]:
            run: Any = self._interpreter.bind(dispatch, plans, unplanned, launcher)
            return run, run.key_of

        bound = self.spec.bound
        launcher = kind(
            *self._description,
            None if bound is None else bound.row(None),
            plans,
            dispatch,
            unplanned,
            in_python,
        )
        return BoundLauncher(launcher, launcher.key_of, launcher.forget)


def _has_class() -> bool:
    return launcher_class() is not None


def _nothing() -> None:
    """Forget nothing: the table of plans is all that there is."""
