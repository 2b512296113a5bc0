"""Counts the operations that a thread of a kernel executes, from its PTX, by the unit that does
them.

PTX says all that a multiprocessor executes but what `_EXPANDED` has. The path that is counted is
the one that moves most bytes by fewest accesses, and of such paths the longest, as a warp takes
both sides of a branch that divides it. Slow paths are not on it: of CUDA's functions (a sine's of
large numbers), and those that round single precision by FP64. The first loop that reads or writes
most of global memory is as long as the bytes require that the caller knows; others count once.
ptxas joins some instructions, such as a shift and a sum: counts of issued instructions were .74 to
1.5 times those of the hardware (H200, 11 kernels).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

FP32, FP64, SPECIAL, ALU, CACHE, ISSUE = (
    "FP32", "FP64", "special functions", "integers and comparisons", "first-level cache",
    "instruction issue",
)  # fmt: skip
"""Units of a multiprocessor. The cache's operations are words of four bytes."""
_UNITS = (FP32, FP64, SPECIAL, ALU, CACHE, ISSUE)

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
         "bra", "nanosleep", "prefetch")  # fmt: skip
_MEMORY = ("ld", "st", "atom", "red")
_ENDS = ("ret", "exit", "trap")
_NOTHING = (0.0,) * 8
_LONG = 64  # rounds of the main loop, for the choice of the path
# Up to the next function or variable: assembler of users may have "}" at the begin of a line.
_BODY = r"\.entry %s\([^{]*\{(.*?)(?:^\.(?:visible|weak|entry|func|extern|global|section)|\Z)"
_LABEL = re.compile(r"[{}\s]*([\w$]+):(?!:)")
_LINE = re.compile(r"(?:@(!?%?\w+)\s+)?([a-z][\w.:]*)\s*(.*)")


class _Block(NamedTuple):
    """Instructions without branches: the operations of each unit in the order of `_UNITS`, memory
    accesses, bytes of global memory; where it is left to; whether it is a slow path, and its FP64
    operations if they round single precision.
    """

    counts: tuple[float, ...]
    targets: list[int]
    slow: tuple[float, float]


def operations_of(ptx: str, entry: str, moved: float) -> dict[str, float] | None:
    """Count the operations of a thread of a kernel by the units that do them; None where there is
    no such kernel. `moved` has the bytes of global memory that a thread reads and writes, which
    decide how long its main loop is.
    """
    body = re.search(_BODY % re.escape(entry), ptx, re.S | re.M)
    if body is None:
        return None
    blocks = _blocks(body[1])
    loops = {t: range(t, k + 1) for k, b in enumerate(blocks) for t in b.targets if t <= k}
    bytes_of = {head: sum(blocks[k].counts[-1] for k in loops[head]) for head in loops}
    # What follows the first long loop puts results of blocks together.
    most = max(bytes_of.values(), default=0)
    long = [head for head in sorted(loops) if most and 2 * bytes_of[head] >= most]
    main = loops[long[0]] if long else range(0)
    path = _path(blocks, loops, main)
    inner, outer = (
        sum(blocks[k].counts[-1] for k in path if (k in main) == is_in) for is_in in (True, False)
    )
    rounds = max(1.0, (moved - outer) / inner) if inner else 1.0
    return {
        unit: sum(blocks[k].counts[n] * (rounds if k in main else 1) for k in path)
        for n, unit in enumerate(_UNITS)
    }


def _blocks(body: str) -> list[_Block]:
    """The blocks of a kernel, in the order of its text."""
    groups: list[list[tuple[str, str, str]]] = [[]]
    labels: dict[str, int] = {}
    for line in body.split("\n"):
        text = line.split("//")[0].strip()
        *statements, last = text.split(";")
        for statement in [*statements, last if _LABEL.match(last) else ""]:
            while (label := _LABEL.match(statement)) is not None:
                groups.append([])
                labels[label[1]] = len(groups) - 1
                statement = statement[label.end() :]
            found = _LINE.match(statement.strip(" {}\t"))
            if found is None:
                continue
            guard, name, operands = found.groups()
            groups[-1].append((guard or "", name, operands))
            if name.split(".")[0] in ("bra", *_ENDS):
                groups.append([])
    blocks = []
    is_sine = "__cudart_i2opi" in body  # what reduces large numbers has local memory
    is_narrow = re.search(r"(ld|st)\.global[\w.:]*64\b", body) is None  # rounds some by FP64
    for at, lines in enumerate(groups):
        guard, name, operands = lines[-1] if lines else ("", "", "")
        targets = [labels[operands.strip()]] if name.startswith("bra") else []
        if (guard or not (targets or name.split(".")[0] in _ENDS)) and at + 1 < len(groups):
            targets.append(at + 1)
        costs = [_NOTHING, *(_cost(name, operands) for _, name, operands in lines)]
        is_slow = any(
            name.startswith("trap") or "slowpath" in operands or (".local" in name and is_sine)
            for _, name, operands in lines
        )
        counts = tuple(map(sum, zip(*costs, strict=True)))
        blocks.append(_Block(counts, targets, (is_slow, counts[1] * is_narrow)))
    return blocks


def _cost(name: str, operands: str) -> tuple[float, ...]:
    """What an instruction adds to the counts of its block."""
    first, *more = name.split(".")
    kind = more[-1] if more else ""
    if first in _MEMORY or name.startswith("cp.async"):
        if "param" in more or "const" in more:
            return _NOTHING
        wide = next((int(part[1:]) for part in more if re.fullmatch(r"v\d", part)), 1)
        size = re.search(r"\d+$", kind)
        bits = int(size[0]) * wide if size else 32
        if first == "cp":
            sizes = re.findall(r", (\d+)", operands)
            bits = 8 * int(sizes[0]) if sizes else 0
        is_inside = any(part.startswith(("shared", "local")) for part in more) and first != "cp"
        return 0, 0, 0, 0, bits and max(1, bits / 32), 1, bool(bits), 0 if is_inside else bits / 8
    parts = [part for part in more if part not in ("ftz", "sat")]
    known = _EXPANDED.get(".".join([first, *parts]))
    if known is not None and "ftz" not in more:
        return *known, 0, sum(known), 0, 0
    constants = 2 * ("0d" in operands)  # of 64 bits: moved by two instructions
    if first in _NONE:
        return 0, 0, 0, 0, 0, constants + (first == "bra"), 0, 0
    units = [0.0] * 4
    if first == "cvt":
        source, target = more[-1], more[-2]
        from_float, to_float = source[0] in "fb", target[0] in "fb"
        is_long = "64" in source + target
        if is_long and not (from_float or to_float):  # the upper half, of signed numbers
            return 0, 0, 0, target == "s64", 0, target == "s64", 0, 0
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
    return *units, first == "shfl", sum(units) + constants, 0, 0


def _path(blocks: Sequence[_Block], loops: Mapping[int, range], main: range) -> list[int]:
    """The blocks of the path that most threads take: see above."""
    best: dict[int, tuple[tuple[float, ...], list[int]]] = {}
    for k in reversed(range(len(blocks))):
        after = {target for target in blocks[k].targets if target > k}
        for head in blocks[k].targets:  # at a loop's end: to where it is left to
            if head <= k:
                after |= {t for j in loops[head] for t in blocks[j].targets if t > loops[head][-1]}
        *_, issued, accesses, moved = blocks[k].counts
        rounds = _LONG if k in main else 1
        is_slow, rounding = blocks[k].slow
        own = (-is_slow, moved * rounds, -accesses * rounds, -rounding, issued)
        rest, path = max((best[t] for t in after), default=((0.0,) * 5, []))
        best[k] = tuple(a + b for a, b in zip(own, rest, strict=True)), [k, *path]
    return best[0][1]
