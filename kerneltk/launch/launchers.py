"""Launchers by their specs: compiled ones where there is the extension module, or in Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from kerneltk.launch.launcher_spec import LauncherSpec

if TYPE_CHECKING:
    from kerneltk.launch.launcher_writer import WrittenLauncher


def launcher_class() -> Any:
    """The class of compiled launchers; None where launchers are to be in Python."""
    from kerneltk.launch import compiled  # no import of the package needs it

    return compiled.launcher_class()


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
    def _written(self) -> WrittenLauncher:
        from kerneltk.launch.launcher_writer import write_launcher

        return write_launcher(self.spec)

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
        """Bind a launcher to a kernel; the parameters are those of `WrittenLauncher.bind`."""
        compiled = launcher_class()
        if compiled is None or self._description is None:
            return BoundLauncher(*self._written.bind(dispatch, plans, unplanned), _nothing)

        def in_python() -> tuple[Callable[..., Any], Any]:
            return self._written.bind(dispatch, plans, unplanned, launcher)

        bound = self.spec.bound
        launcher = compiled(
            *self._description,
            None if bound is None else bound.row(None),
            plans,
            dispatch,
            unplanned,
            in_python,
        )
        return BoundLauncher(launcher, launcher.key_of, launcher.forget)


def _nothing() -> None:
    """Forget nothing: the table of plans is all that there is."""
