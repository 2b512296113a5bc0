"""What a restricted Python function means: plain Python and NumPy, thread by thread.

`run` calls the undecorated function once for each thread of a grid. The names of `kerneltk.jit` are
replaced by the ones below. Threads run one after the other. Where a function waits for other
threads, each thread is a Python thread; still one runs at a time, and the next one begins when it
waits, so that every run is the same.
"""

from __future__ import annotations

import builtins
import itertools
import math
import sys
import threading
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

WARP = 32
ALL = 0xFFFF_FFFF
DIRT = 0xAB  # the bytes of memory that nobody has written to

# A function that uses one of these names needs all threads of its block at once.
WAITING = frozenset(
    {"syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or", "syncwarp"}
    | {"shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync"}
    | {"all_sync", "any_sync", "eq_sync", "ballot_sync", "activemask"}
    | {"match_any_sync", "match_all_sync", "sync", "wait", "wait_prior"}
    | {"shfl", "shfl_up", "shfl_down", "shfl_xor", "any", "all", "ballot"}
    | {"Sum", "Reduce", "SumAll", "ReduceAll", "Broadcast", "Sort"}
    | {"InclusiveSum", "ExclusiveSum", "InclusiveScan", "ExclusiveScan"}
)


class Cancelled(BaseException):
    """Ends the threads of a run that failed."""


def run(
    function: Callable[..., None],
    grid: int | tuple[int, ...],
    block: int | tuple[int, ...],
    arguments: tuple[Any, ...],
    shared: int = 0,
) -> None:
    """Call a function for each thread of a grid; results are in the arrays among the arguments.

    Parameters
    ----------
    function : function
        Undecorated.
    grid, block : int or tuple of int
    arguments : tuple
    shared : int
        Of the dynamic shared memory (bytes).
    """
    machine = Machine(three(grid), three(block), shared)
    rebinder = Rebinder(machine)
    kernel = rebinder.copy(function)
    given = tuple(records(argument) for argument in arguments)
    if rebinder.names & WAITING:
        machine.run_together(lambda: kernel(*given))
    else:
        machine.run_in_turn(lambda: kernel(*given))


def three(dim: int | tuple[int, ...]) -> tuple[int, int, int]:
    """Return a dimension of a grid or a block as (x, y, z)."""
    x, y, z = (*((dim,) if isinstance(dim, int) else dim), 1, 1)[:3]
    return x, y, z


def records(value: Any) -> Any:
    """Return an array of records, or a record, that has its fields as attributes."""
    if isinstance(value, np.ndarray | np.void) and value.dtype.names is not None:
        return value.view(np.dtype((np.record, value.dtype)))
    return value


# -- the function ---------------------------------------------------------------------------------


class Rebinder:
    """Copies functions, with what they call, so that names of the JIT mean those of a machine.

    `names` are all names that the copied functions use.
    """

    def __init__(self, machine: Machine) -> None:
        self.names: set[str] = set()
        self._spaces = {
            "jit": Names(machine),
            "cuda": NumbaNames(machine),
            "cub": Cub(machine),
            "cg": Groups(machine),
        }
        self._copies: dict[int, types.FunctionType] = {}

    def copy(self, function: Any) -> types.FunctionType:
        if id(function) in self._copies:
            return self._copies[id(function)]
        names: dict[str, Any] = {"__builtins__": builtins, "print": lambda *_, **__: None}
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        copy = types.FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, cells
        )
        copy.__kwdefaults__ = function.__kwdefaults__
        self._copies[id(function)] = copy
        free = zip(function.__code__.co_freevars, cells, function.__closure__ or (), strict=True)
        for name, cell, original in free:
            cell.cell_contents = self._replacement(name, original.cell_contents)
        used = set(names_of(function.__code__))
        self.names |= used
        for name in used & function.__globals__.keys():
            names[name] = self._replacement(name, function.__globals__[name])
        return copy

    def _replacement(self, name: str, value: Any) -> Any:
        if name in self._spaces:
            return self._spaces[name]
        if getattr(type(value), "__module__", "").startswith("kerneltk.jit"):
            value = getattr(value, "__wrapped__", value)  # a decorated function
            if hasattr(value, "template"):  # a collective for a dtype
                return getattr(self._spaces["cub"], value.template.__name__)[
                    value.item, *value.threads
                ]
            if not isinstance(value, types.FunctionType):
                return getattr(self._spaces["jit"], name)
        if isinstance(value, types.FunctionType):
            return self.copy(value)
        return value


def names_of(code: types.CodeType) -> Iterator[str]:
    """Yield the global names and the attributes of a function and of those inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_of(constant)


# -- threads --------------------------------------------------------------------------------------


@dataclass(eq=False)
class Event:
    """What a thread waits for: that all of `scope` have come to an event of the same `key`."""

    key: tuple[Any, ...]
    scope: str
    mask: int
    value: Any
    decide: Callable[[dict[int, Any]], dict[int, Any]]


@dataclass(eq=False)
class Thread:
    """One thread of a grid; `rank` is its number in its block."""

    block_index: tuple[int, int, int]
    index: tuple[int, int, int]
    rank: int
    event: Event | None = None
    answer: Any = None
    done: bool = False
    error: BaseException | None = None
    go: threading.Lock = field(default_factory=threading.Lock)

    @property
    def lane(self) -> int:
        return self.rank % WARP

    @property
    def warp(self) -> int:
        return self.rank // WARP


class Machine:
    """A grid, the thread of it that runs, and the blocks' shared memory."""

    current: Thread

    def __init__(
        self, grid: tuple[int, int, int], block: tuple[int, int, int], shared: int
    ) -> None:
        self.grid = grid
        self.block = block
        self._shared = shared
        self._memory: dict[Any, Any] = {}
        self._back = threading.Lock()
        self._back.acquire()
        self._cancelled = False
        self._together = False

    def threads(self) -> Iterator[Thread]:
        for z, y, x in itertools.product(*map(range, reversed(self.grid))):
            ranks = itertools.count()
            for w, v, u in itertools.product(*map(range, reversed(self.block))):
                yield Thread((x, y, z), (u, v, w), next(ranks))

    def run_in_turn(self, call: Callable[[], None]) -> None:
        with np.errstate(all="ignore"):
            for thread in self.threads():
                self.current = thread
                call()

    def run_together(self, call: Callable[[], None]) -> None:
        self._together = True
        threads = list(self.threads())
        runners = []
        for thread in threads:
            thread.go.acquire()
            runners.append(threading.Thread(target=self._body, args=(thread, call), daemon=True))
            runners[-1].start()
        try:
            ready = threads
            while ready:
                for thread in ready:
                    self._resume(thread)
                    if thread.error is not None:
                        raise thread.error
                ready = resolve([thread for thread in threads if not thread.done])
        finally:
            self._cancelled = True
            for thread in threads:
                if not thread.done:
                    self._resume(thread)
            for runner in runners:
                runner.join()

    def _resume(self, thread: Thread) -> None:
        self.current = thread
        thread.go.release()
        self._back.acquire()

    def _body(self, thread: Thread, call: Callable[[], None]) -> None:
        thread.go.acquire()
        try:
            if not self._cancelled:
                with np.errstate(all="ignore"):
                    call()
        except Cancelled:
            pass
        except BaseException as error:
            thread.error = error
        thread.done = True
        self._back.release()

    def wait(
        self,
        name: str,
        scope: str,
        value: Any = None,
        decide: Callable[[dict[int, Any]], dict[int, Any]] = dict,
        mask: int = ALL,
    ) -> Any:
        """Wait for the other threads of the scope, and return what `decide` gives this one.

        `decide` is given the values by rank (scope "block"), by lane ("warp") or none ("grid").
        """
        assert self._together, f"{name} is missing among the names of functions that wait"
        me = self.current
        me.event = Event((name, mask), scope, int(mask) & ALL, value, decide)
        self._back.release()
        me.go.acquire()
        if self._cancelled:
            raise Cancelled
        return me.answer

    def memory(self, place: Any, dtype: Any, shape: Any) -> Any:
        """Return the block's shared memory that is declared at a place of the text."""
        block = self.current.block_index
        if shape is None:
            if (block, None) not in self._memory:
                self._memory[block, None] = np.full(self._shared, DIRT, np.uint8)
            memory = self._memory[block, None]
            step = np.dtype(dtype).itemsize
            return memory[: len(memory) // step * step].view(dtype)
        if (block, place) not in self._memory:
            self._memory[block, place] = fresh(dtype, shape)
        return self._memory[block, place]


def fresh(dtype: Any, shape: Any) -> Any:
    """Return memory that nobody has written to."""
    if dtype is Storage:
        return [Storage()]
    array = np.empty(shape, dtype)
    array.view(np.uint8).reshape(-1)[:] = DIRT
    return records(array)


def resolve(waiting: list[Thread]) -> list[Thread]:
    """Answer the threads whose event has all that take part, and return them."""
    groups: dict[tuple[Any, ...], list[Thread]] = {}
    for thread in waiting:
        assert thread.event is not None
        place = place_of(thread, thread.event.scope)
        groups.setdefault((place, *thread.event.key), []).append(thread)
    found: list[Thread] = []
    for members in groups.values():
        event = members[0].event
        assert event is not None
        if event.key[0] != "activemask" and len(members) == len(expected(members[0], waiting)):
            found += answer(members)
    if not found:
        for members in groups.values():
            if members[0].event is not None and members[0].event.key[0] == "activemask":
                found += answer(members)
    if waiting and not found:
        names = sorted({str(key[1]) for key in groups})
        raise RuntimeError(f"threads wait for ever, at {', '.join(names)}")
    order = {id(thread): k for k, thread in enumerate(waiting)}
    return sorted(found, key=lambda thread: order[id(thread)])


def place_of(thread: Thread, scope: str) -> tuple[Any, ...]:
    if scope == "grid":
        return ("grid",)
    return (thread.block_index, thread.warp if scope == "warp" else None)


def expected(one: Thread, waiting: list[Thread]) -> list[Thread]:
    """Return the threads that have not ended and take part in the event of one of them."""
    assert one.event is not None
    scope, mask = one.event.scope, one.event.mask
    assert scope != "warp" or mask >> one.lane & 1, "a lane is not in its own mask"
    return [
        thread
        for thread in waiting
        if place_of(thread, scope) == place_of(one, scope)
        and (scope != "warp" or mask >> thread.lane & 1)
    ]


def answer(members: list[Thread]) -> list[Thread]:
    event = members[0].event
    assert event is not None
    ranks = [thread.lane if event.scope == "warp" else thread.rank for thread in members]
    if event.scope == "grid":
        answers: dict[int, Any] = {}
    else:
        values = [thread.event.value for thread in members if thread.event is not None]
        answers = event.decide(dict(zip(ranks, values, strict=True)))
    for rank, thread in zip(ranks, members, strict=True):
        thread.answer = answers.get(rank)
        thread.event = None
    return members


# -- the names ------------------------------------------------------------------------------------


class Triple:
    """A coordinate or an extent: x, y and z."""

    def __init__(self, read: Callable[[], tuple[int, int, int]]) -> None:
        self._read = read

    @property
    def x(self) -> int:
        return self._read()[0]

    @property
    def y(self) -> int:
        return self._read()[1]

    @property
    def z(self) -> int:
        return self._read()[2]


def same(value: Any) -> Callable[[dict[int, Any]], dict[int, Any]]:
    """Return a function that gives every thread the same value, computed from all values."""
    return lambda values: dict.fromkeys(values, value(values))


def mask_of(lanes: Any) -> int:
    return sum(1 << lane for lane in lanes)


class Common:
    """What has the same name and the same meaning in `jit` and in `jit.cuda`."""

    warpsize = WARP

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.threadIdx = Triple(lambda: machine.current.index)
        self.blockIdx = Triple(lambda: machine.current.block_index)
        self.blockDim = Triple(lambda: machine.block)
        self.gridDim = Triple(lambda: machine.grid)

    def grid(self, ndim: int) -> Any:
        at = self._machine.current
        place = [
            b * n + t for b, n, t in zip(at.block_index, self._machine.block, at.index, strict=True)
        ]
        return place[0] if ndim == 1 else tuple(place[:ndim])

    def gridsize(self, ndim: int) -> Any:
        size = [g * b for g, b in zip(self._machine.grid, self._machine.block, strict=True)]
        return size[0] if ndim == 1 else tuple(size[:ndim])

    # Barriers.

    def syncthreads(self) -> None:
        self._machine.wait("syncthreads", "block")

    def syncthreads_count(self, predicate: Any) -> int:
        count = same(lambda values: sum(map(bool, values.values())))
        return self._machine.wait("syncthreads_count", "block", predicate, count)

    def syncthreads_and(self, predicate: Any) -> Any:
        every = same(lambda values: all(values.values()))
        return self._machine.wait("syncthreads_and", "block", predicate, every)

    def syncthreads_or(self, predicate: Any) -> Any:
        some = same(lambda values: any(values.values()))
        return self._machine.wait("syncthreads_or", "block", predicate, some)

    def syncwarp(self, mask: int = ALL) -> None:
        self._machine.wait("syncwarp", "warp", mask=mask)

    def threadfence(self) -> None:
        pass

    threadfence_block = threadfence_system = threadfence

    def nanosleep(self, ns: int) -> None:
        pass

    # Warps.

    def _shuffle(
        self, name: str, mask: int, value: Any, source: Callable[[int], int], width: int
    ) -> Any:
        assert width in (2, 4, 8, 16, 32)

        def decide(values: dict[int, Any]) -> dict[int, Any]:
            return {lane: values[at][0] for lane, (_, at) in values.items()}

        at = source(self._machine.current.lane)
        return self._machine.wait(name, "warp", (value, at), decide, mask)

    def shfl_sync(self, mask: int, value: Any, source: int, width: int = WARP) -> Any:
        return self._shuffle(
            "shfl_sync", mask, value, lambda lane: lane // width * width + source % width, width
        )

    def shfl_up_sync(self, mask: int, value: Any, delta: int, width: int = WARP) -> Any:
        return self._shuffle(
            "shfl_up_sync",
            mask,
            value,
            lambda lane: lane - delta if lane % width >= delta else lane,
            width,
        )

    def shfl_down_sync(self, mask: int, value: Any, delta: int, width: int = WARP) -> Any:
        return self._shuffle(
            "shfl_down_sync",
            mask,
            value,
            lambda lane: lane + delta if lane % width + delta < width else lane,
            width,
        )

    def shfl_xor_sync(self, mask: int, value: Any, bits: int, width: int = WARP) -> Any:
        return self._shuffle(
            "shfl_xor_sync",
            mask,
            value,
            lambda lane: lane ^ bits if (lane ^ bits) // width <= lane // width else lane,
            width,
        )

    def _vote(self, name: str, mask: int, value: Any, count: Callable[[Any], Any]) -> Any:
        return self._machine.wait(name, "warp", value, same(count), mask)

    def all_sync(self, mask: int, predicate: Any) -> Any:
        return self._vote("all_sync", mask, predicate, lambda values: all(values.values()))

    def any_sync(self, mask: int, predicate: Any) -> Any:
        return self._vote("any_sync", mask, predicate, lambda values: any(values.values()))

    def eq_sync(self, mask: int, predicate: Any) -> Any:
        return self._vote(
            "eq_sync", mask, predicate, lambda values: len(set(map(bool, values.values()))) == 1
        )

    def ballot_sync(self, mask: int, predicate: Any) -> int:
        return self._vote(
            "ballot_sync",
            mask,
            predicate,
            lambda values: mask_of(lane for lane, value in values.items() if value),
        )

    def match_any_sync(self, mask: int, value: Any) -> int:
        def decide(values: dict[int, Any]) -> dict[int, Any]:
            return {
                lane: mask_of(other for other, its in values.items() if its == value)
                for lane, value in values.items()
            }

        return self._machine.wait("match_any_sync", "warp", value, decide, mask)

    def match_all_sync(self, mask: int, value: Any) -> tuple[int, bool]:
        def equal(values: dict[int, Any]) -> tuple[int, bool]:
            first, *others = values.values()
            alike = all(other == first for other in others)
            return (mask_of(values) if alike else 0), alike

        return self._vote("match_all_sync", mask, value, equal)

    def activemask(self) -> int:
        """Return all lanes that are here before any other goes on."""
        return self._vote("activemask", ALL, None, mask_of)

    def lanemask_lt(self) -> int:
        return (1 << self._machine.current.lane) - 1

    # Numbers.

    def popc(self, value: Any) -> int:
        return bits(value).bit_count()

    def clz(self, value: Any) -> int:
        return width(value) - bits(value).bit_length()

    def brev(self, value: Any) -> Any:
        mirrored = int(f"{bits(value):0{width(value)}b}"[::-1], 2)
        if isinstance(value, np.integer):
            return np.uint64(mirrored).astype(value.dtype)
        return mirrored

    def ffs(self, value: Any) -> int:
        return (bits(value) & -bits(value)).bit_length()

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        kind = np.result_type(a, b, c).type
        return kind(float(Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))))


def width(value: Any) -> int:
    """Return the bits of an integer; Python's own have 64."""
    return value.itemsize * 8 if isinstance(value, np.integer) else 64


def bits(value: Any) -> int:
    return int(value) & ((1 << width(value)) - 1)


def call_place() -> tuple[Any, int]:
    """Return the place in a kernel's text that the caller of this function was called from."""
    frame = sys._getframe(2)
    return frame.f_code, frame.f_lasti


class Names(Common):
    """The names of `kerneltk.jit`."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.cub = Cub(machine)
        self.cg = Groups(machine)
        self.cuda = NumbaNames(machine)

    def laneid(self) -> int:
        return self._machine.current.lane

    def range(self, *bounds: int, unroll: Any = None) -> range:
        return builtins.range(*bounds)

    def shared_memory(self, dtype: Any, size: Any, alignment: int | None = None) -> Any:
        return self._machine.memory(call_place(), dtype, size)

    def local_memory(self, dtype: Any, shape: Any) -> Any:
        return fresh(dtype, shape)

    def __getattr__(self, name: str) -> Any:
        """An atomic operation."""
        return atomic(name.removeprefix("atomic_"))


# What atomic operations store, of what was there and their operands; they return the former.
ATOMICS: dict[str, Callable[..., Any]] = {
    "add": lambda old, value: old + value,
    "sub": lambda old, value: old - value,
    "exch": lambda _, value: value,
    "min": lambda old, value: min(old, value),
    "max": lambda old, value: max(old, value),
    "nanmin": np.fmin,
    "nanmax": np.fmax,
    "inc": lambda old, value: 0 if old >= value else old + 1,
    "dec": lambda old, value: value if old == 0 or old > value else old - 1,
    "cas": lambda old, expected, value: value if old == expected else old,
    "and": lambda old, value: old & value,
    "or": lambda old, value: old | value,
    "xor": lambda old, value: old ^ value,
}


def atomic(name: str) -> Callable[..., Any]:
    change = ATOMICS[name]
    return lambda array, index, *operands: exchange(
        array, index, lambda old: change(old, *operands)
    )


def exchange(array: Any, index: Any, change: Callable[[Any], Any]) -> Any:
    old = array[index]
    array[index] = change(old)
    return old


# -- the names of numba-cuda ----------------------------------------------------------------------


class NumbaNames(Common):
    """The names of `kerneltk.jit.cuda`."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.shared = types.SimpleNamespace(
            array=lambda shape, dtype: machine.memory(call_place(), dtype, shape or None)
        )
        self.local = types.SimpleNamespace(array=lambda shape, dtype: fresh(dtype, shape))
        self.const = types.SimpleNamespace(array_like=lambda array: array)
        self.atomic = NumbaAtomics()
        self.cg = Groups(machine)


class NumbaAtomics:
    def compare_and_swap(self, array: Any, expected: Any, value: Any) -> Any:
        return exchange(array, 0, lambda old: value if old == expected else old)


# -- cooperative groups ---------------------------------------------------------------------------


class Groups:
    """The names of `kerneltk.jit.cg`."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def this_grid(self) -> GridGroup:
        return GridGroup(self._machine)

    def this_thread_block(self) -> BlockGroup:
        return BlockGroup(self._machine)

    def tiled_partition(self, group: BlockGroup, size: int) -> TileGroup:
        return TileGroup(self._machine, size)

    def sync(self, group: Any) -> None:
        group.sync()

    def memcpy_async(
        self,
        group: Any,
        dst: Any,
        dst_idx: int,
        src: Any,
        src_idx: int,
        size: int,
        *,
        aligned_size: int | None = None,
    ) -> None:
        count = size // dst.dtype.itemsize
        dst[dst_idx : dst_idx + count] = src[src_idx : src_idx + count]

    def wait(self, group: Any) -> None:
        group.sync()

    def wait_prior(self, group: Any, step: int = 0) -> None:
        group.sync()


class GridGroup:
    def __init__(self, machine: Machine) -> None:
        x, y, z = machine.current.block_index
        block = x + machine.grid[0] * (y + machine.grid[1] * z)
        threads, blocks = math.prod(machine.block), math.prod(machine.grid)
        rank = block * threads + machine.current.rank
        self.sync = lambda: machine.wait("sync of the grid", "grid")
        self.is_valid = lambda: True
        self.thread_rank, self.block_rank = lambda: rank, lambda: block
        self.num_blocks = lambda: blocks
        self.size = self.num_threads = lambda: threads * blocks
        self.dim_blocks = self.group_dim = lambda: Triple(lambda: machine.grid)
        self.block_index = Triple(lambda: machine.current.block_index)


class BlockGroup:
    def __init__(self, machine: Machine) -> None:
        self.sync = lambda: machine.wait("sync of the block", "block")
        self.thread_rank = lambda: machine.current.rank
        self.group_index = lambda: Triple(lambda: machine.current.block_index)
        self.thread_index = lambda: Triple(lambda: machine.current.index)
        self.dim_threads = self.group_dim = lambda: Triple(lambda: machine.block)
        self.size = self.num_threads = lambda: math.prod(machine.block)


class TileGroup:
    """Neighbouring threads of a warp, which know each other by their ranks."""

    def __init__(self, machine: Machine, width: int) -> None:
        self._machine, self._warp, self._width = machine, Common(machine), width

    @property
    def _mask(self) -> int:
        first = self._machine.current.lane // self._width * self._width
        return ((1 << self._width) - 1) << first

    def sync(self) -> None:
        self._warp.syncwarp(self._mask)

    def thread_rank(self) -> int:
        return self._machine.current.rank % self._width

    def num_threads(self) -> int:
        return self._width

    size = num_threads

    def meta_group_rank(self) -> int:
        return self._machine.current.rank // self._width

    def meta_group_size(self) -> int:
        return -(-math.prod(self._machine.block) // self._width)

    def __getattr__(self, name: str) -> Any:
        """A shuffle or a vote of the warp, for these of its lanes."""
        of_warp = getattr(self._warp, f"{name}_sync")
        width = {"width": self._width} if name.startswith("shfl") else {}
        return lambda *operands: of_warp(self._mask, *operands, **width)

    def ballot(self, predicate: Any) -> int:
        first = self._machine.current.lane // self._width * self._width
        return self._warp.ballot_sync(self._mask, predicate) >> first


# -- collectives of CUB ---------------------------------------------------------------------------


class Storage:
    """The temporary memory of a collective."""


class Functor:
    """An operation of two values."""

    def __init__(self, combine: Callable[[Any, Any], Any]) -> None:
        self.combine = combine

    def __call__(self) -> Functor:
        return self


def combination(operation: Any) -> Callable[[Any, Any], Any]:
    return operation.combine if isinstance(operation, Functor) else operation


def add(a: Any, b: Any) -> Any:
    return a + b


class Cub:
    """The names of `kerneltk.jit.cub`."""

    def __init__(self, machine: Machine) -> None:
        self.Sum = Functor(add)
        self.Product = Functor(lambda a, b: a * b)
        self.Max = Functor(lambda a, b: b if b > a else a)
        self.Min = Functor(lambda a, b: b if b < a else a)
        self.ArgMax = Functor(lambda a, b: min(a, b, key=lambda pair: (-pair[1], pair[0])))
        self.ArgMin = Functor(lambda a, b: min(a, b, key=lambda pair: (pair[1], pair[0])))
        for name in ("BlockReduce", "BlockScan", "BlockBroadcast", "BlockSort"):
            setattr(self, name, Template(machine, "block"))
        for name in ("WarpReduce", "WarpScan"):
            setattr(self, name, Template(machine, "warp"))


class Template:
    """A class template of CUB: its arguments in brackets make a class."""

    def __init__(self, machine: Machine, scope: str) -> None:
        self._machine, self._scope = machine, scope

    def __getitem__(self, arguments: Any) -> CollectiveClass:
        _, *numbers = arguments if isinstance(arguments, tuple) else (arguments,)
        lanes = numbers[0] if self._scope == "warp" and numbers else WARP
        return CollectiveClass(self._machine, self._scope, lanes)


@dataclass
class CollectiveClass:
    machine: Machine
    scope: str
    lanes: int
    TempStorage: type = Storage

    def __call__(self, storage: Storage | None = None) -> Collective:
        return Collective(self.machine, self.scope, self.lanes)


class Collective:
    """An object of a collective; a reduction's result is every thread's here, not the first's."""

    def __init__(self, machine: Machine, scope: str, lanes: int) -> None:
        self._machine, self._scope, self._lanes = machine, scope, lanes

    def _parts(self, name: str, value: Any, compute: Callable[[list[Any]], list[Any]]) -> Any:
        """Return this thread's of what is computed for a block, or for each `lanes` lanes."""

        def decide(values: dict[int, Any]) -> dict[int, Any]:
            lanes = self._lanes if self._scope == "warp" else len(values)
            order = sorted(values)
            answers: dict[int, Any] = {}
            for start in range(0, len(order), lanes):
                part = order[start : start + lanes]
                results = compute([values[rank] for rank in part])
                answers |= dict(zip(part, results, strict=True))
            return answers

        return self._machine.wait(name, self._scope, value, decide)

    def Reduce(self, value: Any, operation: Any, valid: int | None = None) -> Any:  # noqa: N802
        combine = combination(operation)
        return self._parts(
            "Reduce", value, lambda values: [reduce(combine, values[:valid])] * len(values)
        )

    def Sum(self, value: Any, valid: int | None = None) -> Any:  # noqa: N802
        return self.Reduce(value, add, valid)

    ReduceAll = Reduce
    SumAll = Sum

    def _scan(self, name: str, value: Any, combine: Any, first: list[Any], total: bool) -> Any:
        def compute(values: list[Any]) -> list[Any]:
            whole = reduce(combine, values)
            chain = list(itertools.accumulate(first + values, combine))[: len(values)]
            return [(item, whole) for item in chain] if total else chain

        return self._parts(name, value, compute)

    def InclusiveSum(self, value: Any, total: bool = False) -> Any:  # noqa: N802
        return self._scan("InclusiveSum", value, add, [], total)

    def ExclusiveSum(self, value: Any, total: bool = False) -> Any:  # noqa: N802
        return self._scan("ExclusiveSum", value, add, [type(value)(0)], total)

    def InclusiveScan(self, value: Any, operation: Any, total: bool = False) -> Any:  # noqa: N802
        return self._scan("InclusiveScan", value, combination(operation), [], total)

    def ExclusiveScan(  # noqa: N802
        self, value: Any, initial: Any, operation: Any, total: bool = False
    ) -> Any:
        return self._scan("ExclusiveScan", value, combination(operation), [initial], total)

    def Broadcast(self, value: Any, source: int = 0) -> Any:  # noqa: N802
        return self._parts("Broadcast", value, lambda values: [values[source]] * len(values))

    def Sort(  # noqa: N802
        self, keys: Any, values: Any = None, *, descending: bool = False
    ) -> Any:
        """Sort keys with what belongs to them; those of arrays in place, else return them."""
        in_place = isinstance(keys, np.ndarray)
        pairs = (
            list(zip(keys, keys if values is None else values, strict=True))
            if in_place
            else [(keys, values)]
        )

        def compute(parts: list[list[Any]]) -> list[Any]:
            whole = sorted(itertools.chain(*parts), key=lambda p: p[0], reverse=descending)
            return [whole[k : k + len(pairs)] for k in range(0, len(whole), len(pairs))]

        result = self._parts("Sort", pairs, compute)
        if not in_place:
            return result[0][0] if values is None else result[0]
        for k, (key, value) in enumerate(result):
            keys[k] = key
            if values is not None:
                values[k] = value
        return None
