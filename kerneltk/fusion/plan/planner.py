"""Roots of a trace -> kernels: what is computed together, and what is kept in memory between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kerneltk.core.capabilities import Capabilities
from kerneltk.fusion.plan import tiles
from kerneltk.fusion.plan.body import WHOLE, restores, shape_after, squeezes
from kerneltk.fusion.plan.kernels import (
    elementwise_definition,
    has_index_key,
    largest_of,
    reduction_definition,
    spread_of,
    total_size,
)
from kerneltk.fusion.plan.reductions import reduction_kernel
from kerneltk.fusion.plan.rows import RowWork, is_reducible, keeping_of, row_definition
from kerneltk.fusion.plan.steps import (
    Leaf,
    Operands,
    Plan,
    Step,
    Steps,
    Target,
    elementwise_kernel,
    same_extents,
    without_axes,
)
from kerneltk.fusion.trace.graph import (
    Apply,
    Cast,
    Index,
    Load,
    Node,
    Reduce,
    Scalar,
    Shape,
    View,
    operands_of,
    reachable,
)
from kerneltk.fusion.trace.state import Trace
from kerneltk.fusion.trace.symbols import applied, constant, product
from kerneltk.schedule.rows import OLDER, Device, OnChipSchedule, RowPlanner


@dataclass(slots=True, eq=False, repr=False)
class Root:
    """A value that the function returns or writes."""

    node: Node
    target: Target


_MOST_BYTES = 128  # of an accumulator
_MOST_WORK = 2048  # operations of a program that may compute values again
_SHARED_WORK = 64  # operations of a value that is not computed again then


class Planner:
    """Makes the plan of one trace."""

    def __init__(
        self, trace: Trace, name: str, backend: Capabilities, device: Device = OLDER
    ) -> None:
        self._trace = trace
        self._name = name
        self._backend = backend
        self._device = device
        self._arrays = len(trace.sources)
        self._kept: dict[int, Leaf] = {}  # values that are in memory, by identity
        self._nodes: list[Node] = []
        self._steps: list[Step] = []
        self._aliases: dict[int, Leaf] = {}  # results that a reduction has already

    @property
    def is_online(self) -> bool:
        """Whether computing more is cheaper than another read. On CPU cores it is not."""
        return not self._backend.walks_chunks

    def _reads(self, node: Reduce) -> Node | None:
        """What a reduction reads instead of its operand, where it is made together with the one
        that its operand needs.
        """
        if not self.is_online:
            return None
        largest, spread = largest_of(node), spread_of(node)
        if largest is not None:
            return largest.operand
        return None if spread is None else spread.value

    def _read(self, node: Reduce) -> Node:
        found = self._reads(node)
        return node.operand if found is None else found

    def new_array(self) -> int:
        """An array of the plan's own."""
        self._arrays += 1
        return self._arrays - 1

    def kept(self, node: Node) -> Leaf | None:
        """The array that holds a value already."""
        if isinstance(node, Load):
            return Leaf(node.array, node.version, (), node.dtype, node.shape)
        return self._kept.get(id(node))

    def _keep(self, node: Node, leaf: Leaf) -> None:
        self._kept[id(node)] = leaf
        self._nodes.append(node)

    def plan(self, outputs: Sequence[Node]) -> Plan:
        """The plan of all effects, in their order, and of the values that are returned."""
        roots = [
            Root(effect.value, Target(effect.array, effect.steps, effect.version))
            for effect in self._trace.effects
        ]
        results: list[Leaf | None] = []
        computed: dict[int, Leaf] = {}
        for node in outputs:
            leaf = self._plain_leaf(node)
            if leaf is None:
                leaf = computed.get(id(node))
            if leaf is None:
                target = Target(self.new_array())
                leaf = computed[id(node)] = Leaf(target.array, 0, (), node.dtype, node.shape)
                roots.append(Root(node, target))
            results.append(leaf)
        for segment in self._segments(roots):
            self._segment(segment)
        self._order_writes()
        found = [self._aliases.get(leaf.array, leaf) for leaf in results if leaf is not None]
        return Plan(self._steps, self._arrays, found)

    def _plain_leaf(self, node: Node) -> Leaf | None:
        """The array that a returned value is, or is a view of; None for one to compute."""
        steps: Steps = ()
        while isinstance(node, View):
            steps = (node.step, *steps)
            node = node.operand
        if not isinstance(node, Load) or (node.version != self._trace.sources[node.array].version):
            return None
        shape = node.shape
        for step in steps:
            shape = shape_after(shape, step)
        return Leaf(node.array, node.version, steps, node.dtype, shape)

    # -- segments: what can be computed before something is written -----------------------------

    def _segments(self, roots: Sequence[Root]) -> Iterator[list[Root]]:
        segment: list[Root] = []
        written: set[int] = set()
        for root in roots:
            loads = {n.array for n in reachable([root.node]) if isinstance(n, Load)
                     and n.version > self._version_before(segment, n.array)}  # fmt: skip
            target = root.target
            if loads or (not target.is_new and target.array in written):
                yield segment
                segment, written = [], set()
            segment.append(root)
            if not target.is_new:
                written.add(target.array)
        if segment:
            yield segment

    def _version_before(self, segment: Sequence[Root], array: int) -> float:
        """The last version of an array that a segment may read."""
        versions = [
            root.target.version
            for root in segment
            if root.target.array == array and not root.target.is_new
        ]
        return min(versions, default=float("inf"))

    # -- values that are computed once, because computing them again would take too much -------

    def _bound(self, nodes: Sequence[Node]) -> None:
        """Keep values in memory where kernels would grow without limit: what is seen through many
        views, and what many reductions in turn compute again.
        """
        if self._work(nodes, _MOST_WORK) < _MOST_WORK:
            return
        order = self._needed(nodes)
        viewed = {id(node.operand) for node in order if isinstance(node, View | Reduce)}
        for node in order:
            is_shared = id(node) in viewed and isinstance(node, Apply | Cast) and bool(node.shape)
            if is_shared and self._work([node], _SHARED_WORK) >= _SHARED_WORK:
                self._reductions([node])
                if self.kept(node) is not None:
                    continue
                array = self.new_array()
                self._elementwise([Root(node, Target(array))])
                self._keep(node, Leaf(array, 0, (), node.dtype, node.shape))

    def _work(self, nodes: Sequence[Node], most: int) -> int:
        """How many operations a kernel of some values and of what they reduce would have: those of
        each view count, and those of each reduction; at most so many.
        """
        seen: set[tuple[int, Steps]] = set()
        stack: list[tuple[Node, Steps]] = [(node, ()) for node in nodes]
        again: list[Node] = []
        count = 0
        while (stack or again) and count < most:
            if not stack:  # what is reduced is computed for the reduction alone
                seen = set()
                stack.append((again.pop(), ()))
            node, steps = stack.pop()
            if (id(node), steps) in seen or self.kept(node) is not None:
                continue
            seen.add((id(node), steps))
            if isinstance(node, Reduce):
                again.append(node.operand)
                continue
            count += isinstance(node, Apply | Cast)
            if isinstance(node, View):
                stack.append((node.operand, (node.step, *steps)))
            else:
                stack += [(operand, steps) for operand in operands_of(node)]
        return count

    def _segment(self, roots: list[Root]) -> None:
        self._bound([root.node for root in roots])
        if self._rows(roots):
            return
        if all(root.target.is_new for root in roots):
            # Those that rows are enough for, before the others.
            alone = [root for root in roots if self._row_work([root]) is not None]
            if 0 < len(alone) < len(roots) and self._rows(alone):
                roots = [root for root in roots if not any(root is other for other in alone)]
        self._reductions([root.node for root in roots])
        groups: list[list[Root]] = []
        for root in roots:
            shape = self._target_shape(root)
            for group in groups:
                if same_extents(self._target_shape(group[0]), shape):
                    group.append(root)
                    break
            else:
                groups.append([root])
        groups.sort(key=lambda group: any(not root.target.is_new for root in group))
        for group in groups:
            self._elementwise(group)

    def _target_shape(self, root: Root) -> Shape:
        target = root.target
        if target.is_new:
            return root.node.shape
        shape = self._trace.sources[target.array].shape
        for step in target.steps:
            shape = shape_after(shape, step)
        return self._canonical(shape)

    def _canonical(self, shape: Shape) -> Shape:
        return tuple(map(self._trace.guards.canonical, shape))

    # -- rows ------------------------------------------------------------------------------------

    def _rows(self, roots: list[Root]) -> bool:
        """Plan one kernel that reads rows once, if that is all that is wanted."""
        work = self._row_work(roots)
        if work is None:
            return False
        shape, guards = work.shape, self._trace.guards
        definition, operands, sizes = row_definition(
            self._name, work, OnChipSchedule(1, 1, 1, 1), self.kept
        )
        for root in roots:
            target = root.target
            for leaf in operands.leaves.values():
                is_same = leaf.steps == target.steps and len(leaf.shape) == len(shape)
                if not target.is_new and leaf.array == target.array and not is_same:
                    return False
        if not sizes.early:
            return False
        outer = [shape[d] for d in work.outer]
        rows = applied(product, *outer) if outer else constant(1)
        reduces = [node for node in work.order if isinstance(node, Reduce)]
        is_once = all(self._is_first(node) or self._reads(node) is not None for node in reduces)
        # What a reduction totals in one read needs no cluster.
        clusters = 1 if is_once and not work.full else self._device.clusters
        several = len(reduces) > 1
        first = [node for node in reduces if self._is_first(node)]
        is_joint = self.is_online and bool(work.full) and tiles.is_joint(reduces, first)
        planner: Any = RowPlanner(  # mypy takes no named tuple for a function
            self._backend.walks_chunks, clusters, sizes, several,
            self._device.multiprocessors if is_joint else 0, len(first) < len(reduces),
        )  # fmt: skip
        across = (shape[-1],) if work.is_across else ()
        schedule: OnChipSchedule | None = guards.decide(planner, rows, shape[work.axis], *across)
        if schedule is None:
            return False
        by_node = {id(root.node): root.target for root in roots}
        if schedule.waiting:
            definition, operands = tiles.tile_definition(self._name, work, schedule, self.kept)
        else:
            keeping = None
            if self._backend.walks_chunks:
                used = [leaf.array for leaf in operands.leaves.values()]
                used += [target.array for target in by_node.values()]
                is_free = [used.count(by_node[id(node)].array) == 1 for node in work.full]
                keeping = keeping_of(work, is_free)
            definition, operands, _ = row_definition(self._name, work, schedule, self.kept, keeping)
        restored = Index(tuple(None if d == work.axis else WHOLE for d in range(len(shape))))
        for node in work.totals:
            target = by_node[id(node)]
            leaf = Leaf(target.array, 0, (), node.dtype, without_axes(shape, (work.axis,)))
            if len(node.shape) == len(shape):
                leaf = Leaf(target.array, 0, (restored,), node.dtype, node.shape)
                self._alias(target.array, leaf)
            self._keep(node, leaf)
        nodes = [*work.full, *work.totals]
        self._steps.append(
            Step(
                elementwise_kernel(definition), operands,
                [by_node[id(node)] for node in nodes], nodes,
                shape, False, (work.axis,), reduces, schedule,
            )
        )  # fmt: skip
        return True

    def _is_first(self, node: Reduce) -> bool:
        """Whether a reduction needs no other one."""
        return not any(isinstance(below, Reduce) for below in self._needed([node.operand]))

    def _row_work(self, roots: list[Root]) -> RowWork | None:
        order = self._needed([root.node for root in roots])
        reduces = [node for node in order if isinstance(node, Reduce)]
        if not reduces or not all(map(is_reducible, reduces)):
            return None
        shape = reduces[0].operand.shape
        if not all(same_extents(node.operand.shape, shape) for node in reduces):
            return None
        (axis,) = reduces[0].axes
        if any(node.axes != (axis,) for node in reduces):
            return None
        is_across = axis != len(shape) - 1
        if len({id(root.node) for root in roots}) != len(roots):
            return None
        closed: dict[int, tuple[Any, str]] = {}
        self._close(order, "rows", reduces, closed)
        full: list[Node] = []
        totals: list[Node] = []
        for root in roots:
            if id(root.node) in closed and root.target.is_new:
                totals.append(root.node)
            elif same_extents(root.node.shape, shape) and same_extents(
                self._target_shape(root), shape
            ):
                full.append(root.node)
            else:
                return None
        # A row's results are written one after the other, and a cache holds what was written: what
        # is written in place comes last, and nothing behind it may read it.
        targets = {id(root.node): root.target for root in roots}
        full.sort(key=lambda node: not targets[id(node)].is_new)
        written: set[int] = set()
        for node in full:
            if any(isinstance(n, Load) and n.array in written for n in reachable([node])):
                return None
            if not targets[id(node)].is_new:
                written.add(targets[id(node)].array)
        frontier = {id(node) for node in totals}
        holding: set[int] = {id(node) for node in reduces}  # what depends on a reduction
        depth = 1
        for node in order:
            below = [o for o in operands_of(node) if id(o) in holding or id(o) in closed]
            if not below:
                continue
            holding.add(id(node))
            if id(node) in closed and not isinstance(node, Reduce):
                continue
            if isinstance(node, View):
                return None  # a total would have to move with it
            if isinstance(node, Reduce):
                depth = 2
            for operand in below:
                if id(operand) in closed:
                    # Without the first dimension it is broadcast as with it.
                    if closed[id(operand)][1] != "kept" and axis != 0:
                        return None  # it is broadcast along rows, not down them
                    frontier.add(id(operand))
        if not full and (depth == 1 or is_across):
            return None  # a reduction does it in one read
        steps = [n for n in order if isinstance(n, Reduce) or id(n) in frontier]
        return RowWork(shape, axis, steps, full, totals)

    # -- elementwise -----------------------------------------------------------------------------

    def _elementwise(self, roots: list[Root]) -> None:
        left = []
        for root in roots:
            leaf = self._kept.get(id(root.node))
            if leaf is not None and root.target.is_new:  # a reduction has it already
                self._alias(root.target.array, leaf)
            else:
                left.append(root)
        if not left:
            return
        shape = self._target_shape(left[0])
        operands = Operands()
        definition = elementwise_definition(
            self._name, [root.node for root in left], shape, self.kept, operands
        )
        new = all(root.target.is_new for root in left)
        covered = self._is_covered(shape, operands)
        self._steps.append(
            Step(
                elementwise_kernel(definition),
                operands,
                [root.target for root in left],
                [root.node for root in left],
                shape,
                new
                and covered
                and self._trace.layouts.are_plain(
                    [root.node for root in left], operands.leaves.values()
                ),
            )
        )

    def _alias(self, array: int, leaf: Leaf) -> None:
        self._aliases[array] = leaf

    # -- reductions ------------------------------------------------------------------------------

    def _reductions(self, nodes: Sequence[Node]) -> None:
        """Plan the reductions that some values need, by levels, those of one read together."""
        order = self._needed(nodes)
        levels: dict[int, int] = {}
        groups: dict[Any, list[Reduce]] = {}
        for node in order:
            level = max((levels[id(o)] for o in operands_of(node) if id(o) in levels), default=0)
            if isinstance(node, Reduce):
                level += 1
                if self._reads(node) is not None:
                    level -= 1  # in one read with the largest value, or with the mean
                shape = tuple(extent.expression for extent in node.operand.shape)
                groups.setdefault((level, shape, node.axes), []).append(node)
            levels[id(node)] = level
        ranked = sorted(groups.items(), key=lambda item: item[0][0])
        closed: dict[int, tuple[Any, str]] = {}
        for key, group in ranked:
            self._close(order, key, group, closed)
        wanted = self._frontier(nodes, closed)
        for key, group in ranked:
            self._reduction(group, [node for node in wanted if closed[id(node)][0] == key])

    def _needed(self, nodes: Sequence[Node]) -> list[Node]:
        """What is to be computed for some values: all but what is in memory."""
        seen: set[int] = set()
        found: list[Node] = []
        stack: list[tuple[Node, bool]] = [(node, False) for node in reversed(nodes)]
        while stack:
            node, is_done = stack.pop()
            if is_done:
                found.append(node)
                continue
            if id(node) in seen or self.kept(node) is not None:
                continue
            seen.add(id(node))
            stack.append((node, True))
            stack += [(operand, False) for operand in reversed(operands_of(node))]
        return found

    def _close(
        self, order: Sequence[Node], key: Any, group: list[Reduce], closed: dict[int, Any]
    ) -> None:
        """Mark what is computed from the totals of one group and from numbers alone."""
        for reduce in group:
            closed[id(reduce)] = key, "kept"
        axes = group[0].axes
        for node in order:
            if id(node) in closed:
                continue
            if isinstance(node, View):
                found = closed.get(id(node.operand))
                if found == (key, "kept") and squeezes(node, axes):
                    closed[id(node)] = key, "squeezed"
                elif found == (key, "squeezed") and restores(node, axes):
                    closed[id(node)] = key, "kept"
            elif isinstance(node, Apply | Cast):
                forms = set()
                for operand in operands_of(node):
                    if isinstance(operand, Scalar):
                        continue
                    found = closed.get(id(operand))
                    forms.add(found[1] if found is not None and found[0] == key else None)
                if len(forms) == 1 and None not in forms:
                    closed[id(node)] = key, forms.pop()

    def _frontier(self, nodes: Sequence[Node], closed: dict[int, Any]) -> list[Node]:
        """The values of totals that something else needs."""
        seen: set[int] = set()
        found: list[Node] = []
        stack = list(nodes)
        while stack:
            node = stack.pop()
            if id(node) in seen or self.kept(node) is not None:
                continue
            seen.add(id(node))
            if id(node) in closed:
                found.append(node)
                stack += self._maps(node, closed)
            else:
                stack += operands_of(node)
        return found

    def _maps(self, node: Node, closed: dict[int, Any]) -> list[Node]:
        """What the reductions behind a value of totals reduce."""
        found: list[Node] = []
        stack = [node]
        while stack:
            inner = stack.pop()
            if isinstance(inner, Reduce):
                found.append(self._read(inner))
            else:
                stack += [o for o in operands_of(inner) if id(o) in closed]
        return found

    def _reduction(self, group: list[Reduce], results: list[Node]) -> None:
        used = self._totals_of(results)
        group = [node for node in group if id(node) in used]
        if not group:
            return
        for part in self._parts(group, results):
            self._one_reduction(*part)

    def _totals_of(self, results: Sequence[Node]) -> dict[int, Reduce]:
        """The reductions that some values of totals need in one read, by identity."""
        found: dict[int, Reduce] = {}
        stack = list(results)
        while stack:
            node = stack.pop()
            if not isinstance(node, Reduce):
                stack += operands_of(node)
            elif id(node) not in found:
                found[id(node)] = node
                largest = largest_of(node) if self.is_online else None
                stack += [largest] if largest is not None else []
        return found

    def _parts(
        self, group: list[Reduce], results: list[Node]
    ) -> Iterator[tuple[list[Reduce], list[Node]]]:
        """Reductions of one read, as many as an accumulator holds, by the bytes of each."""

        def size(nodes: Iterable[Reduce]) -> int:
            return sum(total_size(node, self.is_online) for node in nodes)

        if size(group) <= _MOST_BYTES:
            yield group, results
            return
        found: dict[int, Node] = {}
        for node in results:
            own = self._totals_of([node])
            # What needs more totals is computed of them when they are in memory.
            found |= {id(node): node} if size(own.values()) <= _MOST_BYTES else own
        left = list(found.values())
        while left:
            part: list[Node] = []
            needed: dict[int, Reduce] = {}
            for node in list(left):
                own = self._totals_of([node])
                if part and size((needed | own).values()) > _MOST_BYTES:
                    continue
                needed |= own
                part.append(node)
                left.remove(node)
            yield [node for node in group if id(node) in needed], part

    def _one_reduction(self, group: list[Reduce], results: list[Node]) -> None:
        shape = group[0].operand.shape
        axes = group[0].axes
        short = False
        if self.is_online and any(map(has_index_key, group)):
            count = applied(product, *(shape[axis] for axis in axes))
            short = self._trace.guards.decide(_is_short, count)
        operands = Operands()
        definition = reduction_definition(
            self._name, group, results, self.kept, operands, self.is_online, short
        )
        if not self._is_covered(shape, operands):
            for node in {id(read): read for read in map(self._read, group)}.values():
                array = self.new_array()
                self._elementwise([Root(node, Target(array))])
                self._keep(node, Leaf(array, 0, (), node.dtype, node.shape))
            operands = Operands()
            definition = reduction_definition(
                self._name, group, results, self.kept, operands, self.is_online, short
            )
        targets = []
        outer = without_axes(shape, axes)
        restored = Index(tuple(None if k in axes else WHOLE for k in range(len(shape))))
        for node in results:
            array = self.new_array()
            targets.append(Target(array))
            leaf = Leaf(array, 0, (), node.dtype, outer)
            if len(node.shape) != len(outer):
                leaf = Leaf(array, 0, (restored,), node.dtype, node.shape)
            self._keep(node, leaf)
        self._steps.append(
            Step(
                reduction_kernel(definition),
                operands,
                targets,
                list(results),
                shape,
                True,
                axes,
                group,
            )
        )

    def _is_covered(self, shape: Shape, operands: Operands) -> bool:
        """Whether the arrays of a kernel, broadcast, have its shape."""
        shapes = [self._canonical(leaf.shape) for leaf in operands.leaves.values()]
        for back, extent in enumerate(reversed(shape), 1):
            for own in shapes:
                if len(own) >= back and own[-back].expression == extent.expression:
                    break
            else:
                return False
        return bool(shapes)

    # -- order of writes -------------------------------------------------------------------------

    def _order_writes(self) -> None:
        """Copy what a later step reads of an array as it was before it is written to."""
        place = 0
        while place < len(self._steps):
            step = self._steps[place]
            for target in step.targets:
                if target.is_new:
                    continue
                key = target.array, target.version
                if key not in step.replaced and any(
                    (leaf.array, leaf.version) == key and leaf.steps != target.steps
                    for leaf in step.leaves()
                ):  # one copy, instead of one of each view that the result overlaps
                    copy = self._copy_step(*key)
                    self._steps.insert(place, copy)
                    place += 1
                    step.replaced[key] = copy.targets[0].array
                late = [
                    (later, key)
                    for later in self._steps[place + 1 :]
                    for key in {(leaf.array, leaf.version) for leaf in later.leaves()}
                    if key[0] == target.array and key[1] <= target.version
                ]
                if late:
                    copy = self._copy_step(late[0][1][0], late[0][1][1])
                    self._steps.insert(place, copy)
                    place += 1
                    for later, key in late:
                        later.replaced[key] = copy.targets[0].array
            place += 1

    def _copy_step(self, array: int, version: int) -> Step:
        source = self._trace.sources[array]
        node = Load(source.dtype, source.shape, array, version)
        operands = Operands()
        definition = elementwise_definition(self._name, [node], source.shape, self.kept, operands)
        target = Target(self.new_array())
        return Step(elementwise_kernel(definition), operands, [target], [node], source.shape)


def _is_short(count: int) -> bool:
    return count < 2**32
