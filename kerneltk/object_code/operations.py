"""Counts the operations that a thread of a kernel executes, from its PTX, by the unit that does
them.

PTX says all that a multiprocessor executes but what `_EXPANDED` has. The path that is counted is
the one that moves most bytes by fewest accesses, and of such paths the longest, as a warp takes
both sides of a branch that divides it. The slow paths of CUDA's functions (a sine's of large
numbers) are not on it. A loop whose length is not in the code, and that reads or writes global
memory, is as long as the bytes require that the caller knows; others count once, and `is_least`
then says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kerneltk.core.records import record

FP32, FP64, SPECIAL, ALU, CACHE, ISSUE = (
    "FP32", "FP64", "special functions", "integers and comparisons", "first-level cache",
    "instruction issue",
)  # fmt: skip
"""Units of a multiprocessor. The cache's operations are words of four bytes."""

# Of one instruction the FP32, FP64, special and ALU instructions that ptxas 12.9 makes for sm_90,
# without the paths of denormal and infinite values.
_EXPANDED = {
    "rcp.rn.f32": (2, 0, 1, 2), "div.rn.f32": (6, 0, 1, 1), "sqrt.rn.f32": (5, 0, 1, 2),
    "div.full.f32": (3, 0, 1, 1), "div.approx.f32": (1, 0, 1, 1), "rsqrt.approx.f32": (2, 0, 1, 1),
    "ex2.approx.f32": (2, 0, 1, 1), "lg2.approx.f32": (2, 0, 1, 1), "sin.approx.f32": (1, 0, 1, 0),
    "cos.approx.f32": (1, 0, 1, 0), "sqrt.approx.f32": (3, 0, 1, 1),
    "rcp.rn.f64": (0, 6, 1, 2), "div.rn.f64": (0, 8, 1, 3), "sqrt.rn.f64": (0, 8, 1, 3),
    **{f"{name}.{kind}32": (0, 0, 3, 14) for name in ("div", "rem") for kind in "su"},
    **{f"{name}.{kind}64": (0, 0, 3, 70) for name in ("div", "rem") for kind in "su"},
}  # fmt: skip
_SPECIAL = ("ex2", "lg2", "sin", "cos", "tanh", "rcp", "rsqrt", "sqrt", "popc", "clz", "bfind")
_FLOATS = ("add", "sub", "mul", "fma", "mad")
_NONE = ("mov", "cvta", "ret", "exit", "bar", "barrier", "abs", "neg", "call", "fence", "membar",
         "ld", "st", "bra", "nanosleep", "prefetch")  # fmt: skip
_MEMORY = ("ld", "st", "atom", "red")
_LONG = 64  # rounds of a loop of unknown length, for the choice of the path
_KINDS = (FP32, FP64, SPECIAL, ALU)
_LINE = re.compile(r"(?:@(!?%\w+)\s+)?([a-z][\w.:]*)\s*(.*)")


class _Block(NamedTuple):
    """Instructions without branches: operations of each unit, bytes of global memory, where it is
    left to, whether it is a slow path, and its lines.
    """

    counts: tuple[float, ...]
    moved: int
    targets: list[int]
    is_slow: bool
    lines: list[tuple[str, str]]


@record
class Operations:
    """The operations of a thread.

    Parameters
    ----------
    by_unit : dict of float
        How many each unit executes.
    is_least : bool
        Whether there may be more: a loop of unknown length counts once.
    """

    by_unit: Mapping[str, float]
    is_least: bool = False


def operations_of(ptx: str, entry: str, moved: float) -> Operations | None:
    """Count a kernel's operations.

    Parameters
    ----------
    ptx : str
    entry : str
        The kernel's symbol.
    moved : float
        Bytes of global memory that a thread reads and writes, which decide how long its loops are.

    Returns
    -------
    Operations or None
        None where there is no such kernel.
    """
    body = re.search(rf"\.entry {re.escape(entry)}\([^{{]*\{{(.*?)^\}}", ptx, re.S | re.M)
    if body is None:
        return None
    blocks = _blocks(body[1])
    loops = _loops(blocks)
    rounds = {head: _rounds(blocks, head, inside) for head, inside in loops.items()}
    bytes_of = {head: sum(blocks[k].moved for k in loops[head]) for head in loops}
    # What follows the first long loop puts results of blocks together.
    most = max((bytes_of[head] for head in loops if rounds[head] is None), default=0)
    long = [h for h in sorted(loops) if rounds[h] is None and most and 2 * bytes_of[h] >= most][:1]
    main = set().union(*(loops[head] for head in long))
    trips = [1.0] * len(blocks)
    for head, inside in loops.items():
        for k in inside:
            trips[k] *= rounds[head] or 1
    path = _path(blocks, loops, [n * (_LONG if k in main else 1) for k, n in enumerate(trips)])
    inner = sum(blocks[k].moved * trips[k] for k in path if k in main)
    outer = sum(blocks[k].moved * trips[k] for k in path if k not in main)
    turns = max(1.0, (moved - outer) / inner) if inner else 1.0
    times = {k: trips[k] * (turns if k in main else 1) for k in path}
    by_unit = {
        unit: sum(blocks[k].counts[n] * many for k, many in times.items())
        for n, unit in enumerate((*_KINDS, CACHE, ISSUE))
    }
    is_least = any(rounds[h] is None and not bytes_of[h] and h in times for h in loops)
    return Operations(by_unit, is_least)


def _blocks(body: str) -> list[_Block]:
    """The blocks of a kernel, in the order of its text."""
    groups: list[list[tuple[str, str, str]]] = [[]]
    labels: dict[str, int] = {}
    for line in body.split("\n"):
        text = line.split("//")[0].strip()
        if text.endswith(":") and not text.startswith("."):
            groups.append([])
            labels[text[:-1]] = len(groups) - 1
        for statement in text.split(";")[:-1]:
            found = _LINE.match(statement.strip(" {}\t"))
            if found is None:
                continue
            guard, name, operands = found.groups()
            groups[-1].append((guard or "", name, operands))
            if name.split(".")[0] in ("bra", "ret", "exit", "trap"):
                groups.append([])
    blocks = []
    is_sine = "__cudart_i2opi" in body  # what reduces large numbers has local memory
    for at, lines in enumerate(groups):
        guard, name, operands = lines[-1] if lines else ("", "", "")
        ends = name.split(".")[0] in ("ret", "exit", "trap")
        targets = [labels[operands.strip()]] if name.startswith("bra") else []
        if (guard or not (ends or targets)) and at + 1 < len(groups):
            targets.append(at + 1)
        costs = [_cost(name, operands) for _, name, operands in lines]
        counts = tuple(map(sum, zip(*costs, strict=True))) if costs else (0.0,) * 7
        slow = any(
            name.startswith("trap") or "slowpath" in operands or (".local" in name and is_sine)
            for _, name, operands in lines
        )
        plain = [(name, operands) for _, name, operands in lines]
        blocks.append(_Block(counts[:-1], int(counts[-1]), targets, slow, plain))
    return blocks


def _cost(name: str, operands: str) -> tuple[float, ...]:
    """The operations of each unit, and the bytes of global memory, of one instruction."""
    first, *more = name.split(".")
    kind = more[-1] if more else ""
    if first in _MEMORY or name.startswith("cp.async"):
        if "param" in more or "const" in more:
            return (0.0,) * 7
        wide = next((int(part[1:]) for part in more if re.fullmatch(r"v\d", part)), 1)
        size = re.search(r"\d+$", kind)
        bits = int(size[0]) * wide if size else 32
        if first == "cp":
            last = re.findall(r"\d+", operands)
            bits = 8 * int(last[-1]) if last and more[1:2] != ["bulk"] else 0
            if not bits or "group" in name:
                return 0, 0, 0, 0, 0, 1, 0
        outside = not {"shared", "local"} & {part.split("::")[0] for part in more} or first == "cp"
        return 0, 0, 0, 0, max(1, bits / 32), 1, bits / 8 if outside else 0
    parts = [part for part in more if part not in ("ftz", "sat", "wide", "lo", "hi", "uni")]
    known = _EXPANDED.get(".".join([first, *parts]))
    if known is not None and "ftz" not in more:
        return *known, 0, sum(known), 0
    if first in _NONE:
        return 0, 0, 0, 0, 0, float(first == "bra"), 0
    units = [0.0] * 4
    if first == "cvt":
        source, target = more[-1], more[-2]
        from_float, to_float = source[0] in "fb", target[0] in "fb"
        is_long = "64" in source + target
        if is_long and not (from_float or to_float):
            return (0.0,) * 7
        from_narrow = to_float and not from_float and source[1:] != "32"
        is_special = is_long or from_narrow or (from_float and not to_float)
        units[2 if is_special else 0 if source in ("f16", "bf16") else 3] = 1
    elif first in _SPECIAL:
        units[2] = 1
    elif kind == "f64":
        units[1] = 1
    elif kind[:1] in ("f", "b") and first in _FLOATS and kind[1:2] in "123f":
        units[0] = 1
    else:
        units[3] = 2 if kind.endswith("64") and "wide" not in more else 1
    return *units, float(first in ("shfl",)), sum(units), 0


def _loops(blocks: Sequence[_Block]) -> dict[int, set[int]]:
    """The blocks of each loop, by the block that it begins with."""
    found: dict[int, set[int]] = {}
    state = [0] * len(blocks)
    before: list[list[int]] = [[] for _ in blocks]
    for k, block in enumerate(blocks):
        for target in block.targets:
            before[target].append(k)
    stack: list[tuple[int, Iterator[int]]] = [(0, iter(blocks[0].targets))]
    state[0] = 1
    while stack:
        at, left = stack[-1]
        target = next(left, -1)
        if target < 0:
            state[at] = 2
            stack.pop()
        elif state[target] == 0:
            state[target] = 1
            stack.append((target, iter(blocks[target].targets)))
        elif state[target] == 1:  # an edge back
            inside, more = found.setdefault(target, {target}), [at]
            while more:
                k = more.pop()
                if k not in inside:
                    inside.add(k)
                    more += before[k]
    return found


def _rounds(blocks: Sequence[_Block], head: int, inside: set[int]) -> float | None:
    """How often a loop is executed, where its counter's begin, step and end are in the code."""
    lines = [line for k in sorted(inside) for line in blocks[k].lines]
    for name, operands in lines:
        test = re.match(r"(%p\d+), (%r\w+), (-?\d+)$", operands)
        if not name.startswith("setp.") or test is None:
            continue
        added = [
            re.match(r"(%r\w+), (%r\w+), (-?\d+)$", o) for n, o in lines if n.startswith("add.s")
        ]
        steps = [m for m in added if m is not None and test[2] in (m[1], m[2])]
        names = {name for m in steps for name in (m[1], m[2])}
        begins = [
            re.match(r"(%r\w+), (-?\d+)$", o)
            for k, block in enumerate(blocks) if k not in inside
            for n, o in block.lines if n.startswith("mov")
        ]  # fmt: skip
        found = [int(m[2]) for m in begins if m is not None and m[1] in names]
        if len(steps) == 1 and found and int(steps[0][3]):
            return max(1.0, (int(test[3]) - found[-1]) / int(steps[0][3]))
    return None


def _path(
    blocks: Sequence[_Block], loops: Mapping[int, set[int]], trips: Sequence[float]
) -> list[int]:
    """The blocks of the path that most threads take."""
    best: dict[int, tuple[tuple[float, ...], list[int]]] = {}

    def after(k: int) -> Iterator[int]:
        for target in blocks[k].targets:
            if k in loops.get(target, ()):  # an edge back: to where the loop ends
                for j in loops[target]:
                    yield from (t for t in blocks[j].targets if t not in loops[target])
            else:
                yield target

    pending = [0]
    while pending:
        k = pending[-1]
        ahead = [t for t in after(k) if t not in best and t not in pending]
        if ahead and k not in best:
            pending.append(ahead[0])
            continue
        pending.pop()
        block = blocks[k]
        accesses = sum(name.split(".")[0] in _MEMORY for name, _ in block.lines)
        own = (-block.is_slow, block.moved * trips[k], -accesses * trips[k], block.counts[-1])
        rest = max((best[t] for t in after(k) if t in best), default=((0.0,) * 4, []))
        best[k] = tuple(a + b for a, b in zip(own, rest[0], strict=True)), [k, *rest[1]]
    return best[0][1]
