"""What a launcher does, as data: one description for every kind of kernel, whoever writes it.

All launchers take the same steps, and leave out those that their kernels do not need:

1. Take the arguments apart, down to arrays, numbers, records and None.
2. Compare their types and the current device; read the arrays' addresses.
3. Find the plan by a key of dtypes, shapes, strides and alignment; or check the arrays each time.
4. Look the grid, the block and the shared memory up; or take those of the plan.
5. Refuse overlaps, allocate outputs, bring records to where the kernel reads them.
6. Marshal addresses, extents and numbers into a block of parameters that no other launch uses.
7. Choose the stream, launch, give the block back, return the outputs.

What does not fit is dispatched: checked, compiled for or copied, and launched then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kerneltk.backends.base import ArrayAccess, LaunchCall
from kerneltk.core.records import record

if TYPE_CHECKING:
    from kerneltk.launch.launch_config import GridLaunches


GRID_COLUMNS, LOOP_COLUMNS = 6, 11
"""Items of a plan's row, before those of outputs and extents."""


class MultipleOf(NamedTuple):
    """A guard: an array's address, or its bytes together, are a multiple of a number."""

    what: Literal["address", "nbytes"]
    number: int


Guard = Literal["dtype", "dense", "memory", "device", "writable"] | MultipleOf
"""What is asked of an array at each launch: the dtype that was checked last, no gaps, memory at
all, the launcher's device, memory that can be written.
"""

Marshal = Literal["address", "number", "converted", "float32", "bytes", "lent", "nothing"]
"""How an argument gets into the block of parameters: as an array's address, as it is, by a
converter, rounded to a float32, as a record's bytes, as the address of a record; None does not.
"""


@record
class Argument:
    """An array, a number, a record or None, in an argument or by itself.

    Parameters
    ----------
    type : type
        The Python type that it has.
    marshal : Marshal
    written : bool
        Whether the kernel writes to the array or the record.
    extents : int or None
        How many numbers of the plan follow the address; None if that varies with the plan.
    guards : tuple of Guard
    dtype : object, optional
        The dtype of an array that was checked before the first launch.
    is_given : bool
        Whether callers give it; the launcher allocates the others.
    convert : callable, optional
        Turns the argument into a tuple of values.
    """

    type: type
    marshal: Marshal
    written: bool = False
    extents: int | None = 0
    guards: tuple[Guard, ...] = ()
    dtype: Any = None
    is_given: bool = True
    convert: Callable[[Any], tuple[Any, ...]] | None = None


class Structure(NamedTuple):
    """A tuple, a named tuple or an instance of a dataclass.

    Parameters
    ----------
    type : type
    fields : tuple of str
        The items' attributes; empty for tuples, whose items have positions.
    items : tuple of (Argument or Structure)
    """

    type: type
    fields: tuple[str, ...]
    items: tuple[Any, ...]


@record(eq=False)
class LauncherSpec:
    """A launcher.

    Parameters
    ----------
    entry : {"grid", "loop"}
        How it is called: ``run(grid, block, args, shared=0, stream=None)``, or
        ``run(*args, stream=None, extra=None)`` where the plan has the grid; `extra` is part of the
        key.
    arguments : tuple of (Argument or Structure)
    arrays : ArrayAccess
    call : LaunchCall
    bound : GridLaunches or None
        Has the one row that it launches by; None if it has a table of plans.
    device : int or None
        The device that it is for; None if the key tells.
    packed : tuple of int
        The arguments by their order in the block of parameters; empty for their own order.
    overlaps : tuple of (int, int)
        Pairs of an array and an output whose overlap is refused; the plan has their limits.
    has_scratch : bool
        Whether launches may need memory of their own.
    returns : {"none", "one", "tuple"}
    outputs : tuple of int
        The arguments that it returns.
    """

    entry: Literal["grid", "loop"]
    arguments: tuple[Argument | Structure, ...]
    arrays: ArrayAccess
    call: LaunchCall
    bound: GridLaunches | None = None
    device: int | None = None
    packed: tuple[int, ...] = ()
    overlaps: tuple[tuple[int, int], ...] = ()
    has_scratch: bool = False
    returns: Literal["none", "one", "tuple"] = "none"
    outputs: tuple[int, ...] = ()
