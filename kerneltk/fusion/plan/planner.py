"""Roots of a trace -> kernels: what is computed together, and what is stored in memory between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from typing import Any

from kerneltk.core.artifacts import Capabilities
from kerneltk.fusion.plan import tiles
from kerneltk.fusion.plan.body import WHOLE, restores, squeezes
from kerneltk.fusion.plan.costs import (
    apart,
    by_shape,
    cost_of,
    is_covered,
    is_int,
    is_short,
    is_worth,
    size_of,
    unseen,
    work_of,
)
from kerneltk.fusion.plan.kernels import (
    elementwise_definition,
    has_index_key,
    largest_of,
    reduction_definition,
    spread_of,
    total_size,
)
from kerneltk.fusion.plan.orders import (
    Dims,
    dims_of,
    joined_at,
    lies_apart,
    most_bytes,
    sides_of,
    whole_operands,
)
from kerneltk.fusion.plan.regions import have_no_element_in_common, same_elements
from kerneltk.fusion.plan.rows import (
    RowWork,
    are_even,
    is_reducible,
    keeping_of,
    row_definition,
)
from kerneltk.fusion.plan.steps import (
    Leaf,
    LibraryCall,
    Operands,
    Plan,
    Rounds,
    Step,
    Target,
    elements,
    kernel_of,
    part_of,
    same_extents,
    whole_leaf,
    without_axes,
)
from kerneltk.fusion.plan.write_order import WriteOrder, view_reshaped
from kerneltk.fusion.trace.graph import (
    VIEWS,
    Apply,
    Call,
    Cast,
    Effect,
    Index,
    Layout,
    Load,
    Loop,
    Node,
    Reduce,
    Scalar,
    Shape,
    Steps,
    View,
    all_joined,
    c_layout,
    operands_of,
    ranked,
    reachable,
    shape_after,
    walked,
    without_views,
)
from kerneltk.fusion.trace.rolling import check_round
from kerneltk.fusion.trace.state import Trace
from kerneltk.fusion.trace.symbols import Expression, applied, constant, is_one, product
from kerneltk.schedule.rows import (
    OLDER,
    Device,
    OnChipSchedule,
    RowPlanner,
    is_better_joined,
    is_worth_order,
)


@dataclass(slots=True, eq=False, repr=False)
class Root:
    """A value that the function returns or writes."""

    node: Node
    target: Target


_MOST_BYTES = 128  # of an accumulator
_MOST_WORK = 2048  # operations of a program that may compute values again
_SHARED_WORK = 32  # operations of a value that is not computed again then
_MOST_AGAIN = 4  # how often an operation is computed for views, of programs with many
_LATER_WORK = 32  # operations of a value that is not computed again behind a write
_MOST_SIZE = 1024  # of one kernel: operations, and eight for each view of an array
_PART_SIZE = 512  # of the parts of a larger one
# Work that is worth a kernel: of an operand of few elements, for each element, and of all.
_WORTH_ON_CORES, _WORTH_ON_GPUS = (16, 1 << 17), (512, 1 << 24)


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
        self._stored: dict[int, Leaf] = {}  # values that are in memory, by identity
        self._nodes: list[Node] = []
        self._steps: list[Step] = []
        self._again: set[int] = set()  # values that several segments compute, by identity
        self._aliases: dict[int, Leaf] = {}  # results that a reduction has already
        # Arrays in another order than NumPy's results have, and the layouts of their values.
        self._turned: set[int] = set()
        self._layouts: dict[int, Layout] = {}
        self._part_layouts: dict[tuple[int, Steps], Layout] = {}
        self._totalled: set[int] = set()  # arrays that kernels of reductions read
        self._around: tuple[Expression, ...] = ()  # indices of loops, one round of which it plans

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

    def in_memory(self, node: Node) -> Leaf | None:
        """The array that holds a value already."""
        leaf = self._stored.get(id(node))
        if leaf is None and isinstance(node, Load):
            return whole_leaf(node.array, node, node.version)
        return leaf

    def _keep(self, node: Node, leaf: Leaf) -> None:
        self._stored[id(node)] = leaf
        self._nodes.append(node)

    def _keep_roots(self, roots: Sequence[Root]) -> None:
        """Have values be those of their new arrays."""
        for root in roots:
            self._keep(root.node, whole_leaf(root.target.array, root.node))

    def _new_roots(self, nodes: Iterable[Node]) -> list[Root]:
        return [Root(node, Target(self.new_array())) for node in nodes]

    def plan(self, outputs: Sequence[Node]) -> Plan:
        """The plan of all effects, in their order, and of the values that are returned."""
        roots = self._effects(self._trace.effects)
        results: list[Leaf | None] = []
        computed: dict[int, Leaf] = {}
        for node in outputs:
            leaf = self._plain_leaf(node)
            if leaf is None:
                leaf = computed.get(id(node))
            if leaf is None:
                target = Target(self.new_array())
                leaf = computed[id(node)] = whole_leaf(target.array, node)
                roots.append(Root(node, target))
            results.append(leaf)
        self._launches(roots)
        self._steps = WriteOrder(self._trace, self._name, self.new_array).ordered(self._steps)
        found = [self._aliases.get(leaf.array, leaf) for leaf in results if leaf is not None]
        view_reshaped(self._steps, {leaf.array for leaf in found})
        return Plan(self._steps, self._arrays, found)

    def _effects(self, effects: Sequence[Effect | Loop]) -> list[Root]:
        """Plan effects up to the last loop; returns those behind it."""
        roots: list[Root] = []
        for effect in effects:
            if isinstance(effect, Loop):
                self._launches(roots)
                roots = []
                self._loop(effect)
            else:
                target = Target(effect.array, all_joined(effect.steps), effect.version)
                roots.append(Root(effect.value, target))
        return roots

    def _launches(self, roots: Sequence[Root]) -> None:
        for segment, later in self._segments(roots):
            puts = [root for root in segment if _is_call(root, "put")]
            nodes = [root.node for root in segment if not _is_call(root, "empty")]
            self._calls(nodes, later, {id(root.node) for root in puts})
            self._keep_for_later(segment, later)
            self._segment([root for root in segment if not _is_call(root, "put")])
            for root in puts:
                self._put(root)

    def _loop(self, loop: Loop) -> None:
        """Plan one round of a loop, whose launches are those of all rounds."""
        trace = self._trace
        missing = [node for node in loop.outside if self._in_memory(node) is None]
        self._calls(missing, set())
        missing = [node for node in missing if self._in_memory(node) is None]
        if missing:
            self._stored_by(self._new_roots(missing))
        rolling = trace.rolling
        assert rolling is not None
        first, known = self._arrays, len(trace.guards.conditions)
        begun = len(rolling.obligations)
        inner = Planner(trace, self._name, self._backend, self._device)
        inner._arrays, inner._around = first, (*self._around, loop.index)
        inner._stored, inner._nodes = dict(self._stored), list(self._nodes)
        inner._launches(inner._effects(loop.effects))
        made = set(range(len(trace.sources), first))
        order = WriteOrder(trace, self._name, inner.new_array, made, loop.versions)
        steps = order.ordered(inner._steps)
        self._arrays = inner._arrays
        decided = dict(islice(trace.guards.conditions.items(), known, None))
        check_round(trace, loop, decided, {*self._around}, begun)
        operands = Operands()
        targets: dict[int, Target] = {}
        for step in steps:
            for leaf in step.leaves():
                whole = Leaf(leaf.array, leaf.version, (), leaf.dtype, leaf.shape)
                is_old = leaf.array < first and leaf.array not in loop.arrays
                if is_old and leaf.array not in targets:
                    operands.leaf(whole)
            for target in step.targets:
                if not target.is_new and target.array not in loop.arrays:
                    last = max(target.version, getattr(targets.get(target.array), "version", 0))
                    targets[target.array] = Target(target.array, (), last)
        nodes: list[Node] = [
            Load(trace.sources[array].dtype, trace.sources[array].shape, array, target.version)
            for array, target in targets.items()
        ]
        rounds = Rounds(loop.index, loop.values, steps)
        self._steps.append(Step(rounds, operands, [*targets.values()], nodes, ()))

    def _plain_leaf(self, node: Node) -> Leaf | None:
        """The array that a returned value is, or is a view of; None for one to compute."""
        steps: Steps = ()
        while isinstance(node, View):
            steps = (node.step, *steps)
            node = node.operand
        if not isinstance(node, Load) or (node.version != self._trace.sources[node.array].version):
            return None
        shape = shape_after(node.shape, *steps)
        return Leaf(node.array, node.version, steps, node.dtype, shape)

    # -- segments: what can be computed before something is written -----------------------------

    def _segments(self, roots: Sequence[Root]) -> list[tuple[list[Root], set[int]]]:
        """The segments, and which values of each are needed by later ones, too, by identity."""
        found: list[tuple[list[Root], set[int]]] = [([], set())]
        homes: dict[int, int] = {}  # in which segment a value is needed first
        written: dict[int, int] = {}  # arrays, and the versions that the segment replaces
        for root in roots:
            new, known = unseen(root.node, homes)
            target = root.target
            is_behind = any(
                isinstance(node, Load) and node.version > written.get(node.array, node.version)
                for node in new
            )
            if is_behind or (not target.is_new and target.array in written):
                found.append(([], set()))
                written = {}
            number = len(found) - 1
            homes |= {id(node): number for node in new}
            for node in known:
                if homes[id(node)] < number:
                    found[homes[id(node)]][1].add(id(node))
            found[-1][0].append(root)
            if not target.is_new:
                written[target.array] = target.version
        return found

    # -- calls of the arrays' library ------------------------------------------------------------

    def _calls(self, nodes: Sequence[Node], later: set[int], puts: Set[int] = frozenset()) -> None:
        """Plan the calls that some values need, and before them what they read; `later` are values
        that are needed behind them all. Of `puts`, plan what they read.
        """
        order = self._needed(nodes)
        calls = [node for node in order if isinstance(node, Call)]
        depth: dict[int, int] = {}
        for one in order if calls else ():
            below = max((depth.get(id(o), 0) for o in operands_of(one)), default=0)
            depth[id(one)] = below + isinstance(one, Call)
        uses = Counter(id(without_views(operand)) for node in calls for operand in node.operands)
        users: dict[int, list[Node]] = {}
        for one in order if calls else ():
            for operand in operands_of(one):
                users.setdefault(id(operand), []).append(one)
        for level in range(1, max(depth.values(), default=0) + 1):
            together = [node for node in calls if depth[id(node)] == level]
            groups = [together] if self.is_online else apart(together, self.in_memory)
            for ready in groups:
                self._called(ready, uses, users, later)
                for call in ready:
                    if id(call) not in puts:
                        self._call(call)

    def _called(
        self, calls: Sequence[Call], uses: Counter[int], users: dict[int, list[Node]],
        later: set[int],
    ) -> None:  # fmt: skip
        """Compute what some calls read; `uses` and `users` are of all calls and values."""
        missing: dict[int, Node] = {}
        for operand in (o for node in calls for o in node.operands):
            if self._in_memory(operand) is None:
                whole = without_views(operand)
                is_part = 2 * elements(operand.shape) < elements(whole.shape)
                node = operand if is_part and uses[id(whole)] == 1 else whole
                missing[id(node)] = node
        roots = self._new_roots(missing.values())
        if roots:
            # What later levels need, too: rounds of a loop would compute all earlier ones.
            own = {id(node) for node in self._needed([root.node for root in roots])}
            again = {
                number
                for number in own.difference(missing)
                for one in users.get(number, ())
                if id(one) not in own and self.in_memory(one) is None
            }
            self._keep_for_later(roots, again | later)
            self._stored_by(roots)

    def _stored_by(self, roots: list[Root]) -> None:
        """Have values be in new arrays."""
        self._segment(roots)
        for root in roots:
            array, node = root.target.array, root.node
            leaf = self._aliases.get(array, whole_leaf(array, node))
            if self.in_memory(node) is None:
                self._keep(node, leaf)

    def _in_memory(self, node: Node) -> Leaf | None:
        """The array, or the part of one, that a value is already; None for one to compute."""
        steps: Steps = ()
        whole = node
        while isinstance(node, View) and self.in_memory(node) is None:
            steps = (node.step, *steps)
            node = node.operand
        leaf = self.in_memory(node)
        if leaf is None:
            return None
        return Leaf(leaf.array, leaf.version, (*leaf.steps, *steps), leaf.dtype, whole.shape)

    def _operands(self, node: Call) -> Operands:
        operands = Operands()
        for number, operand in enumerate(node.operands):
            leaf = self._in_memory(operand)
            assert leaf is not None
            operands.leaves[number, 0, ()] = leaf
        return operands

    def _call(self, node: Call) -> None:
        operands, options = self._operands(node), node.options
        if node.function in VIEWS and ("copies", True) not in options:
            options += (("copies", self._is_written_later(operands.leaves[0, 0, ()])),)
        target = Target(self.new_array())
        kernel = LibraryCall(node.function, options)
        self._steps.append(Step(kernel, operands, [target], [node], node.shape))
        self._keep(node, whole_leaf(target.array, node))

    def _put(self, root: Root) -> None:
        """Plan a write by indices: to the array itself, unless an operand is in it, too, which
        NumPy copies and CuPy does not.
        """
        node: Any = root.node
        operands, target = self._operands(node), root.target
        first, *others = operands.leaves.values()
        is_own = first.array == target.array and same_elements(first.steps, target.steps)
        if is_own and all(leaf.array != target.array for leaf in others):
            kernel = LibraryCall("put", (*node.options, ("copies", False)))
            self._steps.append(Step(kernel, operands, [target], [node], node.shape))
        else:
            self._call(node)
            self._segment([root])

    def _is_written_later(self, leaf: Leaf) -> bool:
        sources = self._trace.sources
        return leaf.array < len(sources) and sources[leaf.array].version > leaf.version

    # -- values that are computed once, because computing them again would take too much -------

    def _keep_for_later(self, roots: Sequence[Root], later: set[int]) -> None:
        """Compute once what a segment and later ones need: what takes long, and what is computed
        from such a value that is not in memory. Rounds of a loop would begin with the first one.
        """
        for node in self._needed([root.node for root in roots]) if later else ():
            if id(node) not in later:
                continue
            if work_of([node], _LATER_WORK, self.in_memory) >= _LATER_WORK or any(
                id(one) in self._again for one in self._needed(operands_of(node))
            ):
                self._compute([node])
            else:
                self._again.add(id(node))

    def _compute(self, nodes: Sequence[Node]) -> None:
        """Have values be in memory."""
        self._reductions(nodes)
        missing = [node for node in nodes if self.in_memory(node) is None]
        for group in by_shape(missing, lambda node: node.shape):
            roots = self._new_roots(group)
            self._elementwise(roots)
            self._keep_roots(roots)

    def _bound(self, nodes: Sequence[Node]) -> None:
        """Keep values in memory where kernels would grow without limit: what is seen through many
        views, what many reductions in turn compute again, and what is left of long chains.
        """
        order = self._needed(nodes)
        operations = sum(isinstance(node, Apply | Cast) for node in order)
        again = max(4 * _SHARED_WORK, _MOST_AGAIN * operations)
        if (
            operations < work_of(nodes, _MOST_WORK, self.in_memory, 0) >= _MOST_WORK
            or work_of(nodes, again, self.in_memory, 0, each_total=False) >= again
        ):
            viewed = {id(node.operand) for node in order if isinstance(node, View | Reduce)}
            for node in order:
                is_shared = id(node) in viewed and isinstance(node, Apply | Cast)
                if (
                    is_shared
                    and node.shape
                    and work_of([node], _SHARED_WORK, self.in_memory) >= _SHARED_WORK
                ):
                    self._compute([node])
            order = self._needed(nodes)
        if sum(map(size_of, order)) > _MOST_SIZE:
            self._divide(order, {id(node) for node in nodes})

    def _divide(self, order: Sequence[Node], wanted: set[int]) -> None:
        """Compute a large program by parts: each is cut where the fewest values are left of it."""
        last = {id(operand): at for at, node in enumerate(order) for operand in operands_of(node)}
        size = 0
        alive: dict[int, Node] = {}
        best: list[Node] | None = None
        for at, node in enumerate(order):
            size += size_of(node)
            if not self._is_at_hand(node) and (id(node) in last or id(node) in wanted):
                alive[id(node)] = node
            for operand in operands_of(node):
                if last[id(operand)] == at and id(operand) not in wanted:
                    alive.pop(id(operand), None)
            if size >= _PART_SIZE // 2 and (best is None or len(alive) <= len(best)):
                best = [*alive.values()]
            if size >= _PART_SIZE and best is not None:
                self._compute([one for one in best if self.in_memory(one) is None])
                size, best = 0, None
                alive = {
                    number: one for number, one in alive.items() if self.in_memory(one) is None
                }

    def _is_at_hand(self, node: Node) -> bool:
        """Whether a value is a number, an index or a view of what is in memory."""
        node = without_views(node)
        return not isinstance(node, Apply | Cast | Reduce) or self.in_memory(node) is not None

    def _keep_small(self, nodes: Sequence[Node], shape: Shape) -> None:
        """Compute operands of fewer elements than a kernel by kernels of their own, where to
        compute them again for each of its elements takes longer.
        """
        count = elements(shape)
        each, whole = _WORTH_ON_GPUS if self.is_online else _WORTH_ON_CORES
        seen: set[int] = set()
        small: list[Node] = []
        stack = list(reversed(nodes))
        while stack:
            node = stack.pop()
            if id(node) in seen or self.in_memory(node) is not None:
                continue
            seen.add(id(node))
            if not isinstance(node, Apply | Cast | View):
                continue
            own = elements(node.shape)
            if own < count or (own == count and len(node.shape) < len(shape)):
                small.append(node)
            else:
                stack += reversed(operands_of(node))
        for group in by_shape(small, lambda node: node.shape):
            work = sum(cost_of(node, self.in_memory) for node in group)
            if work < each:
                continue
            sizes = [applied(product, *s) for s in (shape, group[0].shape)]
            if self._trace.guards.decide(is_worth, *sizes, constant(work), constant(whole)):
                self._compute([node for node in group if cost_of(node, self.in_memory) > 1])

    def _segment(self, roots: list[Root]) -> None:
        for root in roots:
            if _is_call(root, "empty"):
                self._steps.append(Step(LibraryCall("empty"), Operands(), [root.target],
                                        [root.node], root.node.shape))  # fmt: skip
        roots = [root for root in roots if not _is_call(root, "empty")]
        self._bound([root.node for root in roots])
        self._unite(roots)
        if self._rows(roots):
            return
        if all(root.target.is_new for root in roots):
            # Those that rows are enough for, before the others.
            alone = [root for root in roots if self._row_work([root]) is not None]
            if 0 < len(alone) < len(roots) and self._rows(alone):
                roots = [root for root in roots if not any(root is other for other in alone)]
        self._reductions([root.node for root in roots])
        groups = by_shape(roots, self._target_shape)
        groups.sort(key=lambda group: any(not root.target.is_new for root in group))
        for group in groups:
            self._elementwise(group)

    def _target_shape(self, root: Root) -> Shape:
        target = root.target
        if target.is_new:
            return root.node.shape
        source = self._trace.sources[target.array]
        return shape_after(source.shape, *target.steps)

    def _are_apart(self, leaf: Leaf, target: Target) -> bool:
        shape = self._trace.sources[target.array].shape
        return have_no_element_in_common(self._trace.guards, shape, leaf.steps, target.steps)

    # -- rows ------------------------------------------------------------------------------------

    def _rows(self, roots: list[Root]) -> bool:
        """Plan one kernel that reads rows once, if that is all that is wanted."""
        work = self._row_work(roots)
        if work is None:
            return False
        shape, guards = work.shape, self._trace.guards
        definition, operands, sizes = row_definition(
            self._name, work, OnChipSchedule(1, 1, 1, 1), self.in_memory
        )
        for root in roots:
            target = root.target
            for leaf in operands.leaves.values():
                if target.is_new or leaf.array != target.array:
                    continue
                is_same = same_elements(leaf.steps, target.steps)
                if not (is_same and len(leaf.shape) == len(shape)) and not self._are_apart(
                    leaf, target
                ):
                    return False
        if not sizes.early or not are_even(operands, work):
            return False
        reduces = [node for node in work.order if isinstance(node, Reduce)]
        is_once = all(self._is_first(node) or self._reads(node) is not None for node in reduces)
        # What a reduction totals in one read needs no cluster.
        clusters = 1 if is_once and not work.full else self._device.clusters
        several = len(reduces) > 1
        is_joint = self.is_online and bool(work.full) and all(map(self._is_first, reduces))
        planner: Any = RowPlanner(  # mypy takes no named tuple for a function
            self._backend.walks_chunks, clusters, sizes, several,
            self._device.multiprocessors if is_joint else 0, len(work.axes),
        )  # fmt: skip
        schedule: OnChipSchedule | None = None
        below = work.sides
        for sides in (below, below[-1:])[: len(below) or 1]:
            work.sides = sides
            numbers = [
                applied(product, *(shape[d] for d in dims))
                for dims in (work.outer, work.axes, *([sides] if sides else ()))
            ]
            schedule = guards.decide(planner, *numbers)
            if schedule is not None and schedule.has_lines and sides != below:
                schedule = None  # their lines are apart
            if schedule is not None and not (schedule.waiting and len(sides) > 1):
                break  # the groups of blocks go along one dimension
        if schedule is None:
            return False
        if schedule.width and not below:
            work.sides = tuple(work.outer)  # a thread has several rows
        by_node = {id(root.node): root.target for root in roots}
        if schedule.waiting:
            definition, operands = tiles.tile_definition(self._name, work, schedule, self.in_memory)
        else:
            keeping = None
            if self._backend.walks_chunks:
                used = [leaf.array for leaf in operands.leaves.values()]
                used += [target.array for target in by_node.values()]
                is_free = [used.count(by_node[id(node)].array) == 1 for node in work.full]
                keeping = keeping_of(work, is_free)
            definition, operands, _ = row_definition(
                self._name, work, schedule, self.in_memory, keeping
            )
        for node in work.totals:
            target = by_node[id(node)]
            leaf = _total_leaf(target.array, node, shape, work.axes)
            if leaf.steps:
                self._aliases[target.array] = leaf
            self._keep(node, leaf)
        nodes = [*work.full, *work.totals]
        self._steps.append(
            Step(
                kernel_of(definition), operands,
                [by_node[id(node)] for node in nodes], nodes,
                shape, False, work.axes, reduces, schedule, work.sides,
            )
        )  # fmt: skip
        return True

    def _is_first(self, node: Reduce) -> bool:
        """Whether a reduction needs no other one."""
        return not any(isinstance(below, Reduce) for below in self._needed([node.operand]))

    def _row_work(self, roots: list[Root]) -> RowWork | None:
        order = self._needed([root.node for root in roots])
        reduces = [node for node in order if isinstance(node, Reduce)]
        # Rows of the host go along one axis.
        most = len(reduces[0].operand.shape) if reduces and self.is_online else 1
        if not reduces or not all(is_reducible(node, most) for node in reduces):
            return None
        shape = reduces[0].operand.shape
        if not all(same_extents(node.operand.shape, shape) for node in reduces):
            return None
        axes: Dims = reduces[0].axes
        if any(node.axes != axes for node in reduces):
            return None
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
                    if closed[id(operand)][1] != "settled" and axes != (0,):
                        return None  # it is broadcast along rows, not down them
                    frontier.add(id(operand))
        steps = [n for n in order if isinstance(n, Reduce) or id(n) in frontier]
        dims, _ = self._orders(order, roots, shape)
        if dims[-1] not in axes and self._backend.walks_chunks:
            return None  # cores have no columns
        if dims[-1] not in axes and len(axes) > 1:
            dims = tuple(range(len(shape)))
        across = dims[dims.index(axes[0]) + 1 :] if dims[-1] not in axes else ()
        if not full and (depth == 1 or across):
            return None  # a reduction does it in one read
        axes = tuple(sorted(axes, key=dims.index))
        sides = sides_of(self._trace.guards, shape, across)
        return RowWork(shape, axes, dims, sides, steps, full, totals, self._layout)

    def _layout(self, leaf: Leaf) -> Layout:
        """The layout of an array; of one of the plan's own, any without repeated elements."""
        sources = self._trace.sources
        if leaf.array >= len(sources):
            return c_layout(len(leaf.shape))
        found = self._part_layouts.get((leaf.array, leaf.steps))
        if found is None:
            part = part_of(sources[leaf.array], leaf.array, leaf.steps)
            found = self._part_layouts[leaf.array, leaf.steps] = self._trace.layouts.of(part)
        return found

    # -- orders of memory ------------------------------------------------------------------------

    def _orders(
        self, order: Sequence[Node], roots: Sequence[Root], shape: Shape
    ) -> tuple[Dims, list[tuple[Dims, Node]]]:
        """The order in which a loop moves most bytes, and those of the operands."""
        trace = self._trace
        ones = [trace.guards.decide(is_one, extent) for extent in shape]
        results = [
            node
            if target.is_new
            else part_of(trace.sources[target.array], target.array, target.steps)
            for node, target in ((root.node, root.target) for root in roots)
            if same_extents(node.shape, shape)
        ]
        whole = whole_operands(order, shape, lambda node: self.in_memory(node) is not None)
        found = []
        for node in (*results, *whole):
            layout = self._layouts.get(id(node))
            layout = trace.layouts.of(node) if layout is None else layout
            if all(step or one for step, one in zip(layout, ones, strict=True)):  # none is repeated
                found.append((dims_of(layout, ones), node))
        read = [pair for pair in found if any(pair[1] is node for node in whole)]
        return most_bytes(found, len(shape)), read

    def _unite(self, roots: list[Root]) -> None:
        """Have what reductions read be in one order, if that is worth a kernel."""
        nodes = [root.node for root in roots]
        order = self._needed(nodes)
        reduces = [node for node in order if isinstance(node, Reduce)]
        if not reduces or not self.is_online:
            return
        shape = reduces[0].operand.shape
        if not shape or not all(same_extents(node.operand.shape, shape) for node in reduces):
            return
        dims, read = self._orders(order, roots, shape)
        guards = self._trace.guards
        is_rows = dims[-1] in reduces[0].axes
        apart = [n for own, n in read if lies_apart(guards, own, dims, n, is_rows)]
        if not apart or not guards.decide(is_worth_order, applied(product, *shape)):
            return
        value = joined_at(order, nodes, shape, apart)
        if value is not None and is_better_joined(
            value.dtype.itemsize,
            [node.dtype.itemsize for node in apart],
            [node.dtype.itemsize for _, node in read],
            [node.dtype.itemsize for node in nodes if same_extents(node.shape, shape)],
        ):
            apart = [value]
        copies = [Root(node, Target(self.new_array(), order=dims)) for node in apart]
        self._elementwise(copies, backwards=True)
        self._keep_roots(copies)
        for root in copies:
            self._layouts[id(root.node)] = ranked(dims)
            if self._trace.layouts.order(root.node) != dims:
                self._turned.add(root.target.array)

    # -- elementwise -----------------------------------------------------------------------------

    def _elementwise(self, roots: list[Root], backwards: bool = False) -> None:
        left = []
        for root in roots:
            leaf = self._stored.get(id(root.node))
            # A reduction has it already, in the order that the result has.
            if leaf is not None and leaf.array not in self._turned and root.target.is_new:
                self._aliases[root.target.array] = leaf
            else:
                left.append(root)
        if not left:
            return
        shape, nodes = self._target_shape(left[0]), [root.node for root in left]
        self._keep_small(nodes, shape)
        operands = Operands()
        definition = elementwise_definition(
            self._name, nodes, shape, self.in_memory, operands,
            backwards or self._are_read_again(nodes),
        )  # fmt: skip
        allocates = (
            all(root.target.is_new and root.target.order is None for root in left)
            and is_covered(shape, operands)
            and not self._has_turned(operands)
            and self._trace.layouts.are_plain(nodes, operands.leaves.values())
        )
        targets = [root.target for root in left]
        self._steps.append(Step(kernel_of(definition), operands, targets, nodes, shape, allocates))

    def _are_read_again(self, nodes: Sequence[Node]) -> bool:
        """Whether values need what a reduction has read, whose last part is in the cache."""
        leaves = (self.in_memory(o) for n in self._needed(nodes) for o in operands_of(n))
        known = self._totalled
        return self.is_online and any(leaf is not None and leaf.array in known for leaf in leaves)

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
        return reachable(nodes, lambda node: self.in_memory(node) is not None)

    def _close(
        self, order: Sequence[Node], key: Any, group: list[Reduce], closed: dict[int, Any]
    ) -> None:
        """Mark what is computed from the totals of one group and from numbers alone."""
        for reduce in group:
            closed[id(reduce)] = key, "settled"
        axes = group[0].axes
        for node in order:
            if id(node) in closed:
                continue
            if isinstance(node, View):
                found = closed.get(id(node.operand))
                if found == (key, "settled") and squeezes(node, axes):
                    closed[id(node)] = key, "squeezed"
                elif found == (key, "squeezed") and restores(node, axes):
                    closed[id(node)] = key, "settled"
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

        def below(node: Node) -> Sequence[Node]:
            return self._maps(node, closed) if id(node) in closed else operands_of(node)

        found = walked(nodes, below, lambda node: self.in_memory(node) is not None)
        return [node for node in found if id(node) in closed]

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

        def below(node: Node) -> Sequence[Node]:
            if not isinstance(node, Reduce):
                return operands_of(node)
            largest = largest_of(node) if self.is_online else None
            return [] if largest is None else [largest]

        return {id(node): node for node in walked(results, below) if isinstance(node, Reduce)}

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
        shape, axes, short = group[0].operand.shape, group[0].axes, False
        if any(map(has_index_key, group)):
            count = applied(product, *(shape[axis] for axis in axes))
            short = self._trace.guards.decide(is_short if self.is_online else is_int, count)
        self._keep_small([self._read(node) for node in group], shape)
        while True:
            operands = Operands()
            definition = reduction_definition(
                self._name, group, results, self.in_memory, operands, self.is_online, short
            )
            reads = {id(read): read for read in map(self._read, group)}
            if is_covered(shape, operands) or all(map(self.in_memory, reads.values())):
                break
            for read in reads.values():
                roots = self._new_roots([read])
                self._elementwise(roots)
                self._keep_roots(roots)
        self._totalled |= {leaf.array for leaf in operands.leaves.values()}
        targets = [Target(self.new_array()) for _ in results]
        for node, target in zip(results, targets, strict=True):
            self._keep(node, _total_leaf(target.array, node, shape, axes))
        allocates = not self._has_turned(operands)
        self._steps.append(Step(kernel_of(definition), operands, targets, list(results), shape,
                                allocates, axes, group))  # fmt: skip

    def _has_turned(self, operands: Operands) -> bool:
        return any(leaf.array in self._turned for leaf in operands.leaves.values())


def _total_leaf(array: int, node: Node, shape: Shape, axes: Sequence[int]) -> Leaf:
    """The array of a value of totals, which may have reduction axes still: of one element."""
    outer = without_axes(shape, axes)
    if len(node.shape) == len(outer):
        return Leaf(array, 0, (), node.dtype, outer)
    restored = Index(tuple(None if axis in axes else WHOLE for axis in range(len(shape))))
    return Leaf(array, 0, (restored,), node.dtype, node.shape)


def _is_call(root: Root, function: str) -> bool:
    """Whether a root is a call that makes nothing: ``empty``, where parts of an array are written
    later, or ``put``, which writes to an array that is there.
    """
    node = root.node
    return isinstance(node, Call) and node.function == function and not root.target.is_new
