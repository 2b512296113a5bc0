"""The order of a plan's launches where they write to what is read.

A launch that writes to a part of an array and reads another one that has elements in common with
it writes to an array of its own, which is copied, or reads a copy: whichever is smaller. What later
launches read of an array as it was before is copied as far as it is written to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

from kerneltk.fusion.plan.kernels import elementwise_definition
from kerneltk.fusion.plan.regions import have_no_element_in_common, same_elements
from kerneltk.fusion.plan.steps import (
    FusedElementwise,
    Leaf,
    LibraryCall,
    Operands,
    Step,
    Target,
    elements,
    kernel_of,
    part_of,
    whole_leaf,
)
from kerneltk.fusion.trace.graph import Broadcast, Load, Node, Shape, Steps
from kerneltk.fusion.trace.state import Trace


@dataclass(slots=True, eq=False, repr=False)
class _Reader:
    """A launch that reads an array, which may be written to before."""

    place: int
    step: Step
    key: tuple[int, int, Steps]

    @property
    def leaf(self) -> Leaf:
        """What it reads."""
        return self.step.operands.leaves[self.key]


class WriteOrder:
    """Has launches read what arrays held when the function read them."""

    def __init__(
        self,
        trace: Trace,
        name: str,
        new_array: Callable[[], int],
        made: Set[int] = frozenset(),
        versions: Sequence[int] = (),
    ) -> None:
        self._trace = trace
        self._name = name
        self._new_array = new_array
        self._found: list[Step] = []
        self._moved: set[int] = set()  # launches that come before their places
        self._made = set(made)  # new arrays that have their values
        self._versions = dict(enumerate(versions))  # of the arrays that were written to

    def ordered(self, steps: Sequence[Step]) -> list[Step]:
        """The launches, and the copies that they need, in order."""
        later = self._readers(steps)
        known: dict[int, list[_Reader]] = {array: [] for array in later}
        for place, step in enumerate(steps):
            if id(step) in self._moved:
                continue
            behind: list[Step] = []
            for target in step.targets:
                if target.is_new:
                    continue
                # An array's writes are in the order of versions: a reader of one before is looked
                # at by each write until its place.
                array, pending = target.array, later[target.array]
                readers = known[array]
                while pending and pending[-1].leaf.version <= target.version:
                    readers.append(pending.pop())
                readers = known[array] = [
                    reader
                    for reader in readers
                    if reader.place >= place
                    and reader.leaf.array == array
                    and id(reader.step) not in self._moved
                ]
                changed = [r for r in readers if self._is_changed(r, place, target)]
                self._save(changed, target, step, behind)
            self._add(step, *behind)
        return self._found

    def _add(self, *steps: Step) -> None:
        self._found += steps
        for step in steps:
            for target in step.targets:
                if target.is_new:
                    self._made.add(target.array)
                else:
                    self._versions[target.array] = target.version + 1

    def _readers(self, steps: Sequence[Step]) -> dict[int, list[_Reader]]:
        """What is read of the arrays that are written to, the last versions first."""
        found: dict[int, list[_Reader]] = {
            target.array: [] for step in steps for target in step.targets if not target.is_new
        }
        for place, step in enumerate(steps):
            for key, leaf in step.operands.leaves.items():
                if leaf.array in found:
                    found[leaf.array].append(_Reader(place, step, key))
        for readers in found.values():
            readers.sort(key=lambda reader: -reader.leaf.version)
        return found

    def _is_changed(self, reader: _Reader, place: int, target: Target) -> bool:
        """Whether a write may change what is read: behind it, or by other threads of its own."""
        leaf = reader.leaf
        if reader.place == place and same_elements(leaf.steps, target.steps):
            return False
        shape = self._trace.sources[target.array].shape
        return not have_no_element_in_common(self._trace.guards, shape, leaf.steps, target.steps)

    def _save(
        self, readers: Sequence[_Reader], target: Target, step: Step, behind: list[Step]
    ) -> None:
        """Have what is read be read before a launch writes to it, or be copied; or have the launch
        write to an array that is copied behind it.
        """
        left: list[_Reader] = []
        for reader in sorted(readers, key=lambda reader: reader.place):
            if id(reader.step) in self._moved:
                continue
            if reader.step is not step and self._is_movable(reader.step):
                self._moved.add(id(reader.step))
                self._add(reader.step)
            else:
                left.append(reader)
        if not left:
            return
        parts = {reader.leaf.steps: reader.leaf for reader in left}
        size = sum(elements(leaf.shape) for leaf in parts.values())
        own = step.nodes[step.targets.index(target)]
        if (
            all(reader.step is step for reader in left)
            and isinstance(step.kernel, FusedElementwise)
            and step.schedule is None
            and len(own.shape) == len(step.shape)
            and size >= elements(step.shape)
        ):
            behind.append(self._buffer(target, step))
            return
        array = target.array
        repeats = any(isinstance(one, Broadcast) for steps in parts for one in steps)
        if repeats or size >= elements(self._trace.sources[array].shape):
            whole = self._copy(array, ()).targets[0].array
            copies = [(whole, steps) for steps in parts]
        else:
            copies = [(self._copy(array, steps).targets[0].array, ()) for steps in parts]
        found = {
            leaf.steps: Leaf(copy, 0, steps, leaf.dtype, leaf.shape)
            for (copy, steps), leaf in zip(copies, parts.values(), strict=True)
        }
        for reader in left:
            reader.step.operands.leaves[reader.key] = found[reader.leaf.steps]

    def _is_movable(self, step: Step) -> bool:
        """Whether a launch may be the next one: it makes new arrays of what is there."""
        count = len(self._trace.sources)
        return all(target.is_new for target in step.targets) and all(
            leaf.array in self._made
            if leaf.array >= count
            else leaf.version <= self._versions.get(leaf.array, 0)
            for leaf in step.leaves()
        )

    def _buffer(self, target: Target, step: Step) -> Step:
        """Have a launch write to a new array; returns the copy of that to where it is wanted."""
        place = step.targets.index(target)
        node = step.nodes[place]
        new = Target(self._new_array())
        step.targets[place] = new
        value = Load(node.dtype, step.shape, new.array, 0)
        return self._copying(value, target, step.shape, node)

    def _copy(self, array: int, steps: Steps) -> Step:
        """A copy of a part of an array."""
        # In a loop's round, an older version would be one from before the loop.
        version = self._versions.get(array, 0)
        node = part_of(self._trace.sources[array], array, steps, version)
        copy = self._copying(node, Target(self._new_array()), node.shape, node)
        self._add(copy)
        return copy

    def _copying(self, value: Node, target: Target, shape: Shape, node: Node) -> Step:
        operands = Operands()
        definition = elementwise_definition(self._name, [value], shape, _stored, operands)
        return Step(kernel_of(definition), operands, [target], [node], shape, target.is_new)


_COPYING = LibraryCall("reshape", (("copies", True),))


def view_reshaped(steps: Sequence[Step], results: Set[int]) -> None:
    """Have reshapes copy nothing where the launches that read them come before the next write to
    their array.
    """
    for place, step in enumerate(steps):
        if step.kernel != _COPYING or step.nodes[0].options:  # type: ignore[attr-defined]
            continue
        (leaf,) = step.leaves()
        views, is_written = {step.targets[0].array}, False
        for later in steps[place + 1 :]:
            written = {target.array for target in later.targets}
            is_written = is_written or leaf.array in written
            is_read = not views.isdisjoint(own.array for own in later.leaves())
            if (is_read and is_written) or not views.isdisjoint(written):
                break
            if is_read and isinstance(later.kernel, LibraryCall):
                views |= written  # which may be a view of it
        else:
            if views.isdisjoint(results):
                step.kernel = LibraryCall("reshape", (("copies", False),))


def _stored(node: Node) -> Leaf | None:
    """The array that a value is in."""
    if isinstance(node, Load):
        return whole_leaf(node.array, node, node.version)
    return None
