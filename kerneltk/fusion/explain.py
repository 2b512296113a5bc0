"""What a fused call launches, and the memory traffic of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

from kerneltk.errors import Snippet
from kerneltk.fusion.plan.described import in_order, without_memory
from kerneltk.fusion.plan.program import Program
from kerneltk.fusion.plan.steps import Leaf, LibraryCall, Step, all_launches, elements
from kerneltk.fusion.trace.graph import all_effects
from kerneltk.fusion.trace.state import ArraySource
from kerneltk.fusion.trace.users import is_array
from kerneltk.launch.explanation import KernelExplanation, target_of


@dataclass(frozen=True, slots=True)
class KernelTraffic:
    """One launch, or one call of a library.

    Parameters
    ----------
    kind : str
        ``"elementwise"``, ``"reduction"`` or ``"rows"``; ``"library"`` for a call of NumPy's or
        CuPy's.
    loop : tuple of int
        The shape of its loop (elements).
    reads, writes : tuple of (str, int)
        Arrays, and how many bytes of each.
    launch : KernelExplanation or None
        The launch itself; None of calls of a library, and where a loop has no elements.
    """

    kind: str
    loop: tuple[int, ...]
    reads: tuple[tuple[str, int], ...]
    writes: tuple[tuple[str, int], ...]
    launch: KernelExplanation | None = None

    @property
    def strategy(self) -> str:
        """How the loop is divided; empty where nothing is launched."""
        return self.launch.strategy if self.launch is not None else ""

    @property
    def bytes(self) -> int:
        """What is read and written (bytes)."""
        return sum(size for _, size in (*self.reads, *self.writes))

    def __str__(self) -> str:
        def shown(pairs: Sequence[tuple[str, int]]) -> str:
            return ", ".join(f"{name} {size:,}" for name, size in pairs) or "nothing"

        shape = " x ".join(map(str, self.loop)) or "one element"
        moved = f"reads {shown(self.reads)}; writes {shown(self.writes)}"
        return f"{self.kind} over {shape}: {moved}{f'; {self.strategy}' if self.strategy else ''}"


@dataclass(frozen=True, slots=True)
class Note:
    """Why something was not fused, and where."""

    sentence: str
    where: Snippet | None = None

    def __str__(self) -> str:
        if self.where is None:
            return self.sentence
        return f"{self.sentence}\n{self.where.render()}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a call launches.

    Parameters
    ----------
    name : str
    kernels : tuple of KernelTraffic
        In the order of the launches.
    floor : int
        What any program must move: each input once, each output once (bytes).
    notes : tuple of Note
        For what was not fused, why.
    """

    name: str
    kernels: tuple[KernelTraffic, ...]
    floor: int
    notes: tuple[Note, ...]

    @property
    def bytes(self) -> int:
        """What all launches read and write (bytes)."""
        return sum(kernel.bytes for kernel in self.kernels)

    def __str__(self) -> str:
        count = len(self.kernels)
        lines = [f"{self.name}: {count} kernel{'s' * (count != 1)}, {self.bytes:,} bytes; "
                 f"the floor is {self.floor:,} bytes"]  # fmt: skip
        for k, kernel in enumerate(self.kernels):
            lines += [f"  {k + 1}. {kernel}", *(kernel.launch.details() if kernel.launch else ())]
        for note in self.notes:
            lines += [f"  {line}" for line in str(note).split("\n")]
        return "\n".join(lines)


def explanation(
    name: str, program: Program | None, own: Sequence[Any], refused: str = ""
) -> Explanation:
    """Describe a program; None stands for a function that runs as it is, because it was refused."""
    if program is None:
        floor = sum(value.nbytes for value in own if is_array(value))
        return Explanation(name, (), floor, (Note(f"Nothing is fused. {refused}"),))
    steps = [step for step in all_launches(program.plan.steps) if not _is_allocation(step)]
    kernels = tuple(map(_traffic, repeat(program), steps, _launches(program, steps, own)))
    return Explanation(name, kernels, _floor(program), tuple(_notes(program, steps)))


def _is_allocation(step: Step) -> bool:
    return isinstance(step.kernel, LibraryCall) and step.kernel.is_allocation


def _name(program: Program, array: int) -> str:
    sources = program.trace.sources
    return sources[array].name if array < len(sources) else f"value {array - len(sources) + 1}"


def _size(array: Leaf | ArraySource) -> int:
    return elements(array.shape) * array.dtype.itemsize


def _read(program: Program, step: Step) -> dict[int, int]:
    """How many bytes of each array a launch reads: each once, as caches serve what overlaps."""
    sources, found = program.trace.sources, dict[int, int]()
    for leaf in step.leaves():
        size = found.get(leaf.array, 0) + _size(leaf)
        is_whole = leaf.array >= len(sources)
        found[leaf.array] = size if is_whole else min(size, _size(sources[leaf.array]))
    return found


def _written(step: Step) -> Iterator[tuple[int, int]]:
    """The arrays that a launch writes to, and how many bytes of each."""
    for target, node in zip(step.targets, step.nodes, strict=True):
        shape = node.shape if target.is_new else step.shape
        yield target.array, elements(shape) * node.dtype.itemsize


def _launches(
    program: Program, steps: Sequence[Step], own: Sequence[Any]
) -> Iterator[KernelExplanation | None]:
    """Each step's launch; None of calls of a library, and where a loop has no elements."""
    found: list[KernelExplanation] = []
    target = target_of(program.backend)

    def noted(kernel: Any) -> Callable[..., None]:
        return lambda *args, **options: found.append(
            kernel.explain(*args, target=target, **options)
        )

    if all(extent.value for step in steps for extent in step.shape):
        program.shown(in_order, noted)(*map(without_memory, own))
    launches = iter(found)
    for step in steps:
        known = None if step.kind == "library" else next(launches, None)
        if known is not None and step.schedule is not None:
            known = replace(known, strategy=step.schedule.strategy)
        yield known


def _traffic(program: Program, step: Step, launch: KernelExplanation | None) -> KernelTraffic:
    return KernelTraffic(
        step.kind,
        tuple(extent.value for extent in step.shape),
        tuple((_name(program, array), size) for array, size in _read(program, step).items()),
        tuple((_name(program, array), size) for array, size in _written(step)),
        launch,
    )


def _floor(program: Program) -> int:
    """Each input once, each output once."""
    count = len(program.trace.sources)
    reads: dict[int, int] = {}
    writes: dict[int, int] = {}
    returned = {leaf.array for leaf in program.plan.results}
    for step in all_launches(program.plan.steps):
        for array, size in _read(program, step).items():
            is_input = array < count and not program.trace.sources[array].is_local
            if is_input and array not in writes:
                reads[array] = max(reads.get(array, 0), size)
        for array, size in _written(step):
            if array in returned or (array < count and not program.trace.sources[array].is_local):
                writes[array] = max(writes.get(array, 0), size)
    return sum(reads.values()) + sum(writes.values())


def _notes(program: Program, steps: Sequence[Step]) -> Iterator[Note]:
    for number, step in enumerate(steps[:-1], 1):
        if step.kind == "reduction":
            for node in step.reduces:
                yield Note(
                    f"Kernel {number} ends here: what follows needs the whole '{node.kind}'.",
                    node.where and node.where.snippet(),
                )
    for effect in [*all_effects(program.trace.effects)][:-1]:
        name = program.trace.sources[effect.array].name
        if effect.steps:
            where = effect.where and effect.where.snippet()
            yield Note(f"A part of {name} is written, which what follows may read.", where)
