"""What a call gives, told from descriptions of its arguments."""

from __future__ import annotations

from kerneltk.core.arrays import ArraySpec
from kerneltk.core.records import record


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
