"""One trace of a function: its arrays, what it decided, and the values and effects that it has."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from kerneltk.core.records import record
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    KernelToolkitError,
    ScalarOverflowError,
    UnsupportedError,
    render_message,
)
from kerneltk.fusion.trace.graph import (
    Apply,
    Broadcast,
    Cast,
    Effect,
    Index,
    Layouts,
    Load,
    Loop,
    Node,
    Scalar,
    Shape,
    Slice,
    View,
    ViewStep,
    c_layout,
    layout_of,
    shape_after,
)
from kerneltk.fusion.trace.reads import Reads
from kerneltk.fusion.trace.symbols import (
    Environment,
    Expression,
    Guards,
    NumberFunction,
    Symbol,
    applied,
    as_symbol,
    broadcast_shapes,
    canonical_shape,
    constant,
    equal,
    has_index,
    is_one,
)
from kerneltk.fusion.trace.users import Location, in_try, user_location, user_snippet

if TYPE_CHECKING:  # functions without loops do not load it
    from kerneltk.fusion.trace.domains import Obligation


class _Refusals(threading.local):
    """The errors of the trace that a thread is in: the function may not go another way for them."""

    def __init__(self) -> None:
        self.found: list[UnsupportedError] | None = None


_refusals = _Refusals()


@contextmanager
def refusals_are_final() -> Iterator[None]:
    """Raise what was refused within also where the function has caught it."""
    before, _refusals.found = _refusals.found, []
    try:
        yield
        if _refusals.found:
            raise _refusals.found[0]
    except Exception:
        if _refusals.found:  # C's functions raise their own where a conversion is refused
            raise _refusals.found[0] from None
        raise
    finally:
        _refusals.found = before


def unsupported(sentence: str, hint: str = "", at: Location | None = None) -> UnsupportedError:
    """The error for what cannot be traced, at the user's line."""
    error = UnsupportedError(_rendered(sentence, hint, at))
    if _refusals.found is not None:
        _refusals.found.append(error)
    return error


def wrong_type(sentence: str, hint: str = "") -> ArgumentTypeError:
    """The error for operands of wrong types, at the user's line."""
    return ArgumentTypeError(_rendered(sentence, hint))


def wrong_value(sentence: str, hint: str = "") -> ArgumentValueError:
    """The error for shapes and values that do not fit, at the user's line."""
    return ArgumentValueError(_rendered(sentence, hint))


def at_line(error: KernelToolkitError | type, sentence: str, hint: str = "") -> Any:
    """An error of a class of errors, at the user's line."""
    return error(_rendered(sentence, hint))  # type: ignore[operator]


def _rendered(sentence: str, hint: str, at: Location | None = None) -> str:
    snippet = user_snippet() if at is None else at.snippet()
    return render_message(sentence, *([snippet] if snippet else []), hint=hint)


@record(eq=False)
class Captured:
    """An array that is no argument, and its elements when it was first used."""

    given: Any  # which had the array; no other object may be found at its address
    array: Any
    copy: Any
    source: int
    is_named: bool

    def is_unchanged(self) -> bool:
        """Whether the function has not written to it by what is not traced."""
        own, copy = self.array, self.copy
        return copy is None or (
            own.shape == copy.shape and own.dtype == copy.dtype and own.tobytes() == copy.tobytes()
        )


@dataclass(slots=True, eq=False, repr=False)
class ArraySource:
    """An array that the function reads or writes: an argument, one from outside of it, or one that
    a value is stored in because parts of it are written to.
    """

    dtype: np.dtype[Any]
    shape: Shape
    name: str
    argument: int | None = None  # its index among the arguments, if it is one
    captured: Any = None  # the array itself, if it is from outside
    is_local: bool = False
    version: int = 0  # how often it was written to


class Storage:
    """A value that several names may share, and that in-place operations replace."""

    __slots__ = ("array", "is_scalar", "is_taken", "node", "writes")

    def __init__(self, node: Node, array: int | None = None) -> None:
        self.node = node
        self.array = array
        self.is_taken = False  # whether its full value is to be written when the trace ends
        # Whether NumPy has a scalar here, which in-place operations replace instead of change.
        self.is_scalar = array is None and not node.shape
        self.writes = 0

    @property
    def is_part(self) -> bool:
        """Whether it is what another storage holds, seen otherwise."""
        return False

    def check_writable(self) -> None:
        """Raise at the user's line where it is another storage's elements."""


class Handlers(NamedTuple):
    """What lazy values do when NumPy calls them: functions that stand above them are reached
    through this table alone.
    """

    ufunc: Callable[[np.ufunc, str, tuple[Any, ...], dict[str, Any]], Any]
    function: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    method: Callable[[Any, str], Any]
    assign: Callable[[Any, Any], None]
    chosen: Callable[[Any, Any], Any]  # x[masks or indices]
    choose: Callable[[Any, Any, Any], None]  # x[masks or indices] = value


# -- loops, which `rolling` describes --------------------------------------------------------------


_MOST_LEAST = 12  # rounds of a dependent range that are executed where it has no more
MOST_FIRST = 3  # rounds of one that are executed before one stands for the others


class Way(NamedTuple):
    """How a loop is rolled whose range depends on a loop around it, or whose rounds may take values
    from those before.
    """

    first: int = 0  # how many rounds are executed before the one that stands for all others
    carried: frozenset[Any] = frozenset()  # the variables that are in memory between rounds
    least: int = 0  # how many rounds it has where it is rolled


class NotRolledError(BaseException):
    """A loop is to be unrolled, or to be rolled in a `way`: no error of the function's, which may
    catch any of these.
    """

    def __init__(self, key: Any, way: Way | None = None) -> None:
        self.key, self.way = key, way


class ManyOperationsError(BaseException):
    """A function with loops has so many operations that they are to be rolled."""


@dataclass(slots=True, eq=False, repr=False)
class Rolling:
    """The loops of one trace."""

    unrolled: set[Any]  # the keys of loops that are not to be rolled
    environment: Environment  # that of the traced call
    # Whether a frame is one of a traced function's; None for the frame that has called it.
    is_traced: Callable[[FrameType], bool | None]
    is_counting: bool  # whether loops are unrolled until there are many operations
    ways: dict[Any, Way]
    families: int = 0
    # Why the function is to be traced again, also where it has caught that.
    refused: NotRolledError | ManyOperationsError | None = None
    loops: list[Loop] = field(default_factory=list)
    # The indices of rounds that are executed, each that stands for others with its loop's key.
    begun: dict[Expression, Any] = field(default_factory=dict)
    ended: set[Expression] = field(default_factory=set)  # of rounds that stood for others
    # Numbers that rounds change and do not use, with the loop's key: nothing else may.
    totals: dict[Expression, Any] = field(default_factory=dict)
    obligations: list[Obligation] = field(default_factory=list)  # on loops that have not ended

    def end(self, index: Expression | None = None) -> None:
        """End a round, or all, and those inner ones that have not come to their ends."""
        inner = [*self.begun]
        for one in inner if index is None else inner[inner.index(index) :]:
            key = self.begun.pop(one)
            if key is not None and one != index:
                raise NotRolledError(key)

    def later(self, obligation: Obligation) -> Way | None:
        """The way in which more first rounds are executed, if that is enough."""
        way = obligation.way
        for first in range(1, MOST_FIRST + 1 - way.first if way else 0):
            later = obligation.later(first)
            if later.own_rounds > 1 and later.holds(self.environment):
                return Way(way.first + first, way.carried, way.least)
        return None

    def close(self, begun: int = 0) -> None:
        """Have what inner loops depend on hold in the executed rounds alone."""
        left = [one for one in self.obligations[begun:] if one.depends_on(self.begun.keys())]
        for one in self.obligations[begun:]:
            if one not in left and not one.holds(self.environment):
                way = self.later(one)
                if way is None and one.way is not None:
                    count = one.way.first + one.own_rounds
                    way = one.way._replace(least=count + 1) if count < _MOST_LEAST else None
                raise NotRolledError(one.key, way)
        self.obligations[begun:] = left


class StandIn(type):
    """Makes what stands for a class of Python's in a trace: they are the same to `isinstance`."""

    own: type

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls.own)

    def __subclasscheck__(cls, value: Any) -> bool:
        return issubclass(value, cls.own)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.own

    def __hash__(cls) -> int:
        return hash(cls.own)


# -- the trace -------------------------------------------------------------------------------------


class Trace:
    """The state of one trace.

    Attributes
    ----------
    guards : Guards
    sources : list of ArraySource
    effects : list of Effect
        Writes to parts of arrays, in the order of the program.
    """

    def __init__(
        self, handlers: Handlers, block: Any = None, array_type: type = np.ndarray,
        varying: Set[Any] = frozenset(),
    ) -> None:  # fmt: skip
        self.handlers = handlers
        self.array_type = array_type  # of the arrays that lazy ones stand for
        # Classes of arguments where some are other libraries' arrays; of results for None.
        self.library_kinds: dict[int | None, type | None] = {}
        self.block = block  # that records, if it is no function
        self.guards = Guards()
        # What this trace sees in place of objects, by their identity: with the objects.
        self.seen: dict[int, tuple[Any, Any]] = {}
        self.layouts = Layouts()
        self.sources: list[ArraySource] = []
        self.storages: dict[int, Storage] = {}
        self.effects: list[Effect | Loop] = []
        self.rolling: Rolling | None = None  # the loops of a function
        self.applied: list[tuple[Apply, Location | None]] = []  # functions, by the user's lines
        self.captured: dict[int, list[Captured]] = {}
        self.is_over = False
        self.reads = Reads(varying)
        self.operations = 0
        self.uses_cupy = True  # whether the function may call functions of CuPy's
        self.values: list[weakref.ref[Any]] = []  # traced ones, which end with the trace
        # A function as this trace executes it; blocks execute functions as they are.
        self.rebuilt: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What ``x.trace()`` of a lazy array calls: NumPy's method of that name."""
        raise unsupported("'trace' of an array is not fused.", "write 'np.trace(x)'.")

    def is_current(self, arguments: Sequence[Any] | None = None) -> bool:
        """Whether what the function reads from outside is still what was traced."""
        return self.reads.hold(arguments)

    # -- arrays --------------------------------------------------------------------------------

    def add_source(self, source: ArraySource, array: Any = None) -> Storage:
        """The storage of an array that the function knows from now on; `array` shows its order."""
        index = len(self.sources)
        layout = None if array is None else layout_of(array)
        if layout is not None:
            self.layouts.sources[index] = layout
        self.sources.append(source)
        storage = Storage(Load(source.dtype, source.shape, index, 0), index)
        self.storages[index] = storage
        return storage

    def add_argument(self, array: Any, name: str, index: int) -> Storage:
        """The storage of an array that is an argument."""
        number = len(self.sources)
        shape = tuple(Symbol(("extent", number, k), int(n)) for k, n in enumerate(array.shape))
        return self.add_source(ArraySource(array.dtype, shape, name, index), array)

    def capture(self, array: Any, given: Any = None, *, is_hidden: bool = False) -> Storage:
        """The storage of an array that is no argument; `given` is the object that it was had by,
        `is_hidden` says that the function itself has a traced array in its place.

        Kernels read the elements of one that has a name at each call. Any other is a constant: its
        elements as they are now. The function may write to it afterwards, by what is not traced.
        """
        given = array if given is None else given
        is_named = self.reads.is_named(given)
        found = self.captured.setdefault(id(given), [])
        for known in found:
            if is_named or known.is_unchanged():
                return self.storages[known.source]
        is_asked = isinstance(array, np.ndarray) and not is_hidden
        copy = array.copy("K") if is_asked or not is_named else None
        held = array if is_named else copy
        if is_named:
            self.reads.note_layout(array)
        found.append(Captured(given, array, copy, len(self.sources), is_named))
        shape = tuple(constant(int(extent)) for extent in array.shape)
        source = ArraySource(array.dtype, shape, "an array from outside", captured=held)
        return self.add_source(source, held)

    # -- values --------------------------------------------------------------------------------

    def broadcast(self, *shapes: Shape) -> Shape:
        """The shape that several meet in; raises at the user's line."""
        found = broadcast_shapes(self.guards, *shapes)
        if self.guards.only_broadcast and self.block is None and in_try():
            self.guards.only_broadcast = False  # a kernel's error would not be caught
        if found is None:
            shown = " ".join(str(tuple(extent.value for extent in shape)) for shape in shapes)
            raise wrong_value(f"Operands could not be broadcast together with shapes {shown}.")
        return found

    def same_shape(self, left: Shape, right: Shape) -> bool:
        """Whether two shapes are equal, in this call and in others that share the trace."""
        if len(left) != len(right):
            return False
        for a, b in zip(left, right, strict=True):
            if a.expression == b.expression:
                continue
            if not self.guards.decide(equal, a, b):
                return False
            self.guards.note_equal(a, b)
        return True

    def is_one(self, extent: Symbol) -> bool:
        """Whether an axis has one element, in this call and in others that share the trace."""
        return bool(self.guards.decide(is_one, extent))

    def cast(self, node: Node, dtype: np.dtype[Any]) -> Node:
        """A value as one of another dtype."""
        if node.dtype == dtype:
            return node
        if isinstance(node, Scalar):
            symbol = node.symbol
            if np.asarray(symbol.value).dtype != node.dtype:
                symbol = applied(_Converted(node.dtype), symbol)
            return self.scalar(symbol, dtype, node.dtype)
        if node.dtype.kind == "c" and dtype.kind != "c":
            if dtype.kind == "b":
                zero = self.scalar(constant(0), node.dtype)
                return self.apply(np.not_equal, [node, zero], dtype)
            part = np.zeros((), node.dtype).real.dtype
            return self.cast(self.apply(np.real, [node], part), dtype)
        return Cast(dtype, node.shape, node)

    def scalar(
        self, symbol: Symbol, dtype: np.dtype[Any], given: np.dtype[Any] | None = None
    ) -> Node:
        """A number as a value of a dtype."""
        value = symbol.value
        if type(value) is int and dtype.kind in "iu":
            fits = _Fits(dtype)
            is_caught = self.block is None and in_try()  # launches refuse what does not fit
            if is_caught or not fits(value):
                self.guards.decide(fits, symbol)
            if not fits(value):
                raise at_line(
                    ScalarOverflowError,
                    f"Python integer {value} is out of bounds for {dtype}.",
                )
        if dtype.kind == "b" and type(value) in (int, float, complex):
            symbol = applied(bool, symbol)
        elif given is not None and not np.can_cast(given, dtype, "safe"):
            symbol = applied(_Converted(dtype), applied(_Converted(given), symbol))
        return Scalar(dtype, (), symbol)

    def element(self, symbol: Symbol, dtype: np.dtype[Any], *, is_assigned: bool = True) -> Node:
        """A number as an array's element of a dtype: assigned to one, or made an array of. Each
        call refuses what the dtype does not hold, as NumPy.
        """
        try:
            found = applied(Element(dtype, is_assigned), symbol)
        except (OverflowError, ValueError) as error:
            raise at_line(ScalarOverflowError, f"{error}.") from None
        except TypeError as error:
            raise wrong_type(f"{error}.") from None
        return Scalar(dtype, (), found)

    def apply(
        self, function: Any, operands: list[Node], dtype: np.dtype[Any], part: int = 0
    ) -> Node:
        """A function of elements. Whether kernels have it for these dtypes is found where a plan is
        made: a plan in the cache shows that they do.
        """
        shape = self.broadcast(*(operand.shape for operand in operands))
        self.count()
        node = Apply(dtype, shape, function, tuple(operands), part)
        self.applied.append((node, user_location()))
        return node

    def count(self) -> None:
        """Count an operation; raises at the user's line where a loop has too many rounds."""
        self.operations += 1
        if self.operations > MOST_OPERATIONS:
            self.trace_again()

    def trace_again(self) -> NoReturn:
        """Have more loops be rolled; raises at the user's line if all are that can be."""
        rolling = self.rolling
        if rolling is not None and rolling.families:
            rolling.refused = ManyOperationsError()
            if rolling.is_counting or not rolling.unrolled <= rolling.ways.keys():
                raise rolling.refused
        raise unsupported(
            f"A fused function has at most {MOST_OPERATIONS:,} operations: Python executes its "
            "loops while it is traced, and each round adds to them.",
            "write the loop in a kernel ('kerneltk.vectorize', 'jit.kernel'); or fuse what one "
            "round does, and call that in the loop.",
        )

    # -- views ---------------------------------------------------------------------------------

    def indexed_shape(self, shape: Shape, index: Index) -> Shape:
        """The shape of an indexed value; raises for an index out of bounds."""
        items = [item for item in index.items if item is not None]
        for axis, item in enumerate(items):
            if isinstance(item, Slice):
                continue
            extent = shape[axis]
            number = as_symbol(item)
            if not self.guards.decide(has_index, extent, number):
                raise at_line(
                    InvalidIndexError,
                    f"Index {number.value} is out of bounds for axis {axis} with size "
                    f"{extent.value}.",
                )
        return shape_after(shape, index)

    def step_shape(self, shape: Shape, step: ViewStep) -> Shape:
        """The shape of a view."""
        if isinstance(step, Index):
            return self.indexed_shape(shape, step)
        return shape_after(shape, step)

    # -- effects -------------------------------------------------------------------------------

    def flush(self, storage: Storage) -> int:
        """Have the array of a storage hold its value; returns the array."""
        index = storage.array
        if index is None:
            node = storage.node
            source = ArraySource(node.dtype, node.shape, "a value", is_local=True)
            index = storage.array = len(self.sources)
            layout = self.layouts.of(node)
            if layout != c_layout(len(layout)):
                self.layouts.sources[index] = layout
            self.sources.append(source)
            self.storages[index] = storage
            self.store(index, (), node)
        elif not self._holds(index, storage.node):
            self.store(index, (), storage.node)
        source = self.sources[index]
        storage.node = Load(source.dtype, source.shape, index, source.version)
        storage.is_taken = False
        return index

    def _holds(self, index: int, node: Node) -> bool:
        """Whether an array holds a value already."""
        version = self.sources[index].version
        return isinstance(node, Load) and (node.array, node.version) == (index, version)

    def store(self, index: int, steps: tuple[ViewStep, ...], value: Node) -> None:
        """Write a value to some elements of an array."""
        source = self.sources[index]
        self.count()
        self.effects.append(Effect(index, steps, value, source.version, user_location()))
        source.version += 1

    def settle(self) -> None:
        """Have all arrays hold what their names stand for."""
        for index, storage in list(self.storages.items()):
            if storage.array is not None and not self._holds(index, storage.node):
                self.flush(storage)

    def store_part(self, storage: Storage, steps: tuple[ViewStep, ...], value: Node) -> None:
        """Write a value to some of a storage's elements."""
        index = self.flush(storage)
        self.store(index, steps, value)
        source = self.sources[index]
        storage.node = Load(source.dtype, source.shape, index, source.version)

    def name_equals(self, nodes: Sequence[Node]) -> None:
        """Have equal extents be the same symbols, within `Guards.planning`."""
        for node in nodes:
            object.__setattr__(node, "shape", canonical_shape(node.shape))
            if isinstance(node, View) and isinstance(node.step, Broadcast):
                object.__setattr__(node, "step", Broadcast(canonical_shape(node.step.shape)))
        for source in self.sources:
            source.shape = canonical_shape(source.shape)

    def finish(self) -> None:
        """Write what arguments hold by now."""
        self.is_over = True
        for index, storage in list(self.storages.items()):
            if storage.is_taken and not self.sources[index].is_local:
                self.flush(storage)


MOST_OPERATIONS = 10_000  # each takes up to half a millisecond to trace and to plan


class InvalidIndexError(ArgumentValueError, IndexError):
    """An index that an array does not have."""


class _Fits(NumberFunction):
    """Whether a dtype holds an integer."""

    __slots__ = ()

    def __call__(self, value: int) -> bool:
        limits = np.iinfo(self.parts[0])
        return bool(limits.min <= value <= limits.max)


class _Converted(NumberFunction):
    """A number as a dtype holds it, by a cast as of arrays: launches refuse what does not fit."""

    __slots__ = ()

    def __call__(self, value: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(value).astype(self.parts[0])[()]


class Element(NumberFunction):
    """A number as an array holds it, by NumPy's own conversion."""

    __slots__ = ()

    def __call__(self, value: Any) -> Any:
        """The number; raises what NumPy raises."""
        dtype, is_assigned = self.parts
        with np.errstate(all="ignore"):
            if not is_assigned:
                return np.asarray(value, dtype)[()]
            element = np.zeros((), dtype)
            element[()] = value
            return element[()]
