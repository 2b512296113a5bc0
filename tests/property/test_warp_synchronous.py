"""Programs that rely on the lanes of a warp running in step, against a model that runs them so.

A program is drawn as a tree, which is written as CUDA C++ and run by a model: one statement after
the other, each for all lanes that are in it, first every load and then every store. Branches join
where they end, as on GPUs before Volta.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st

import kerneltk

from .examples import drawn

LANES, VARIABLES, PROGRAMS = 32, 3, 12
# How memory of a warp is reached.
MEMORIES = {
    "s[{}]": "__shared__ volatile unsigned m[64]; volatile unsigned* s = m + t / 32 * 32;",
    "(*(s + ({})))": "__shared__ unsigned m[64]; volatile unsigned* s = m + t / 32 * 32;",
    "w.a[{}]": "__shared__ Warp m[2]; Warp& w = m[t / 32]; volatile unsigned* s = w.a;",
    "((volatile unsigned*)s)[{}]": "unsigned* s = x + t / 32 * 32;",
    "v(s, {})": "volatile unsigned* s = x + t / 32 * 32;",
}
HEAD = """
struct Warp { volatile unsigned a[32]; };
__device__ volatile unsigned& v(volatile unsigned* s, unsigned i) { return s[i]; }
__device__ void fold(volatile unsigned* s, unsigned l) {
    s[l] += s[(l + 16) & 31]; s[l] += s[(l + 8) & 31];
}
template <class T> __device__ T swap(volatile T* s, T l) {
    T before = s[l];
    if (l < 20) s[l ^ 1] = before + l;
    else return before ^ 3;
    return s[(l + 1) & 31];
}
struct Box {
    volatile unsigned* s;
    __device__ unsigned uneven(unsigned l, unsigned n) const {
        if (l < n) { s[l] += 1; s[l] += s[l ^ 1]; s[l] += 3; }
        return s[(l + n) & 31];
    }
};
__device__ void deep(volatile unsigned* s, unsigned l, int n) {
    if (n == 0) return;
    s[l] += s[(l + n) & 31];
    if ((l + n) & 1) s[l] += 7;
    deep(s, l, n - 1);
    s[l] ^= s[(l + 3) & 31];
}
template <class F> __device__ void twice(F f) { f(1); f(2); }
__device__ void captured(volatile unsigned* s, unsigned l, unsigned n) {
    auto f = [s, &l, n](unsigned d) {
        s[l] += s[(l + d) & 31];
        if (l < n) s[l] += d;
    };
    if (l & 1) f(n);
    else s[l] += 5;
    twice(f);
}
#define STEP(s, n) if (l < n) s[l] = s[l] * 3u + s[l + n];
"""

Vector = np.ndarray[Any, np.dtype[np.uint32]]


@dataclass
class Warp:
    """What a program has: memory, each lane's variables, and where lanes have left to."""

    memory: Vector
    own: list[Vector]
    left: Vector  # lanes that have left the innermost loop, and this round of it
    skipped: Vector
    lane: Vector = field(default_factory=lambda: np.arange(LANES, dtype=np.uint32))

    def store(self, active: Vector, index: Vector, value: Vector) -> None:
        for lane in np.flatnonzero(active):
            self.memory[index[lane]] = value[lane]


Expression = tuple[str, Callable[[Warp], Vector]]  # what is written; what each lane gets
Statement = tuple[str, Callable[[Warp, Vector], None]]
Draw = Any


def index(draw: Draw, access: str, depth: int = 0) -> Expression:
    offset = draw(st.integers(0, 31))
    kind = draw(st.integers(0, 4))
    if kind == 0:
        return f"(l + {offset}) & 31", lambda w: (w.lane + np.uint32(offset)) & 31
    if kind == 1:
        return f"l ^ {offset}", lambda w: w.lane ^ np.uint32(offset)
    if kind == 2:
        return "l >> 1", lambda w: w.lane >> 1
    if kind == 3:
        k = draw(st.integers(0, VARIABLES - 1))
        return f"v{k} & 31", lambda w: w.own[k] & 31
    if depth > 1:
        return f"{offset}", lambda w: np.full(LANES, offset, np.uint32)
    text, get = load(draw, access, depth + 1)
    return f"{text} & 31", lambda w: get(w) & 31


def load(draw: Draw, access: str, depth: int = 0) -> Expression:
    text, get = index(draw, access, depth)
    return access.format(text), lambda w: w.memory[get(w)]


def value(draw: Draw, access: str, depth: int = 0) -> Expression:
    kind = draw(st.integers(0, 6 if depth < 2 else 3))
    if kind == 0:
        number = draw(st.integers(0, 99))
        return f"{number}u", lambda w: np.full(LANES, number, np.uint32)
    if kind == 1:
        k = draw(st.integers(0, VARIABLES - 1))
        return f"v{k}", lambda w: w.own[k].copy()
    if kind <= 3:
        return load(draw, access)
    one, get_one = value(draw, access, depth + 1)
    other, get_other = value(draw, access, depth + 1)
    if kind == 4:
        return f"({one} + {other})", lambda w: get_one(w) + get_other(w)
    if kind == 5:
        return f"({one} ^ {other} * 5u)", lambda w: get_one(w) ^ get_other(w) * np.uint32(5)
    question, holds = condition(draw, access)
    return (
        f"({question} ? {one} : {other})",
        lambda w: np.where(holds(w), get_one(w), get_other(w)),
    )


def condition(draw: Draw, access: str) -> Expression:
    bound = draw(st.integers(1, 31))
    kind = draw(st.integers(0, 2))
    if kind == 0:
        return f"l < {bound}u", lambda w: w.lane < bound
    if kind == 1:
        return f"(l & {bound}u)", lambda w: (w.lane & np.uint32(bound)) != 0
    text, get = load(draw, access)
    return f"({text} & {bound}u)", lambda w: (get(w) & np.uint32(bound)) != 0


def assignment(draw: Draw, access: str) -> Statement:
    right, get = value(draw, access)
    kind = draw(st.integers(0, 6))
    k = draw(st.integers(0, VARIABLES - 1))

    def keep(w: Warp, active: Vector, new: Vector) -> None:
        w.own[k] = np.where(active, new, w.own[k])

    if kind == 0:
        return f"v{k} = {right};", lambda w, active: keep(w, active, get(w))
    text, place = index(draw, access)
    target = access.format(text)

    def plain(w: Warp, active: Vector) -> None:
        new = get(w)
        w.store(active, place(w), new)

    def update(w: Warp, active: Vector) -> None:
        by = get(w)
        at = place(w)
        w.store(active, at, w.memory[at] + by)

    def chain(w: Warp, active: Vector) -> None:
        new = get(w)
        keep(w, active, new)
        w.store(active, place(w), new)

    def increment(w: Warp, active: Vector) -> None:
        at = place(w)
        before = w.memory[at]
        w.store(active, at, before + np.uint32(1))
        keep(w, active, before)

    if kind <= 2:
        return f"{target} = {right};", plain
    if kind <= 4:
        return f"{target} += {right};", update
    if kind == 5:
        return f"{target} = v{k} = {right};", chain
    return f"v{k} = {target}++;", increment


def fold(w: Warp, active: Vector) -> None:
    for distance in (16, 8):
        by = w.memory[(w.lane + np.uint32(distance)) & 31]
        w.store(active, w.lane, w.memory[w.lane] + by)


def swap(w: Warp, active: Vector) -> Vector:
    before = w.memory[w.lane]
    low = w.lane < 20
    w.store(active & low, w.lane ^ 1, before + w.lane)
    return np.where(low, w.memory[(w.lane + 1) & 31], before ^ 3)


def uneven(w: Warp, active: Vector, n: int) -> Vector:
    low = active & (w.lane < n)
    w.store(low, w.lane, w.memory[w.lane] + np.uint32(1))
    w.store(low, w.lane, w.memory[w.lane] + w.memory[w.lane ^ 1])
    w.store(low, w.lane, w.memory[w.lane] + np.uint32(3))
    return w.memory[(w.lane + np.uint32(n)) & 31]


def deep(w: Warp, active: Vector, n: int) -> None:
    if n == 0:
        return
    w.store(active, w.lane, w.memory[w.lane] + w.memory[(w.lane + np.uint32(n)) & 31])
    odd = active & ((w.lane + np.uint32(n)) % 2 == 1)
    w.store(odd, w.lane, w.memory[w.lane] + np.uint32(7))
    deep(w, active, n - 1)
    w.store(active, w.lane, w.memory[w.lane] ^ w.memory[(w.lane + np.uint32(3)) & 31])


def captured(w: Warp, active: Vector, n: int) -> None:
    def add(active: Vector, d: int) -> None:
        w.store(active, w.lane, w.memory[w.lane] + w.memory[(w.lane + np.uint32(d)) & 31])
        w.store(active & (w.lane < n), w.lane, w.memory[w.lane] + np.uint32(d))

    odd = w.lane % 2 == 1
    add(active & odd, n)
    w.store(active & ~odd, w.lane, w.memory[w.lane] + np.uint32(5))
    add(active, 1)
    add(active, 2)


def statement(draw: Draw, access: str, depth: int, in_loop: bool) -> Statement:
    kind = draw(st.integers(0, 12))
    if kind >= 10:
        k, n = draw(st.integers(0, VARIABLES - 1)), draw(st.integers(1, 9))

        def nested(w: Warp, active: Vector) -> None:
            by = swap(w, active) & 31
            first = uneven(w, active, n)
            w.own[k] = np.where(active, first + by, w.own[k])

        return [
            (f"deep(s, l, {n});", lambda w, active: deep(w, active, n)),
            (f"captured(s, l, {n});", lambda w, active: captured(w, active, n)),
            (f"v{k} = Box{{s}}.uneven(l, {n} + 0 * (v{k} = swap(s, l) & 31)) + v{k};", nested),
        ][kind - 10]
    if kind == 5:
        return "fold(s, l);", fold
    if kind == 6:
        k = draw(st.integers(0, VARIABLES - 1))

        def call(w: Warp, active: Vector) -> None:
            w.own[k] = np.where(active, swap(w, active), w.own[k])

        return f"v{k} = swap(s, l);", call
    if kind == 7:
        n = draw(st.sampled_from([4, 8, 16]))

        def step(w: Warp, active: Vector) -> None:
            active = active & (w.lane < n)
            new = w.memory[w.lane] * np.uint32(3) + w.memory[(w.lane + np.uint32(n)) % LANES]
            w.store(active, w.lane, new)

        # Uses of macros on one line are one place.
        return f"\n    STEP(((volatile unsigned*)s), {n});\n   ", step
    if kind <= 4 or depth > 2:
        return assignment(draw, access)
    if kind == 8 and in_loop:
        question, holds = condition(draw, access)
        word = draw(st.sampled_from(["break", "continue"]))

        def jump(w: Warp, active: Vector) -> None:
            gone = active & holds(w)
            w.skipped = w.skipped | gone
            if word == "break":
                w.left = w.left | gone

        return f"if ({question}) {word};", jump
    if kind == 9:
        return loop(draw, access, depth)
    question, holds = condition(draw, access)
    then, run_then = block(draw, access, depth + 1, in_loop)
    if draw(st.booleans()):
        other, run_other = block(draw, access, depth + 1, in_loop)
    else:
        other, run_other = "", lambda w, active: None

    def branch(w: Warp, active: Vector) -> None:
        taken = holds(w)
        run_then(w, active & taken)
        run_other(w, active & ~taken)

    return f"if ({question}) {{ {then} }} else {{ {other} }}", branch


def loop(draw: Draw, access: str, depth: int) -> Statement:
    most = draw(st.integers(1, 4))
    name = f"k{depth}"
    inside, run = block(draw, access, depth + 1, True)

    def rounds(w: Warp, active: Vector) -> None:
        outer = w.left, w.skipped
        w.left = ~active
        for k in range(most):
            inner = ~w.left & (k < (w.lane & 3) + 1)
            w.skipped = ~inner
            if inner.any():
                run(w, inner)
        w.left, w.skipped = outer

    form = draw(st.integers(0, 2))
    bound = f"{name} < {most} && {name} < (l & 3) + 1"
    if form == 0:
        text = f"for (unsigned {name} = 0; {bound}; ++{name}) {{ {inside} }}"
    elif form == 1:
        text = f"unsigned {name} = 0; while ({bound}) {{ ++{name}; {inside} }}"
    else:
        text = f"for (unsigned {name} = 0;; ++{name}) {{ if (!({bound})) break; {inside} }}"
    return f"{{ {text} }}", rounds


def block(draw: Draw, access: str, depth: int, in_loop: bool) -> Statement:
    parts = [statement(draw, access, depth, in_loop) for _ in range(draw(st.integers(1, 3)))]

    def run(w: Warp, active: Vector) -> None:
        for _, each in parts:
            now = active & ~w.skipped if in_loop else active
            if now.any():
                each(w, now)

    return " ".join(text for text, _ in parts), run


def exchange(draw: Draw, access: str) -> Statement:
    """Something that all lanes come to."""
    k, distance = draw(st.integers(0, VARIABLES - 1)), draw(st.integers(1, 31))

    def shuffle(w: Warp, active: Vector) -> None:
        w.own[k] = w.own[k][w.lane ^ distance]

    def vote(w: Warp, active: Vector) -> None:
        bits = sum(1 << lane for lane in range(LANES) if w.own[k][lane] & 1)
        w.own[k] = np.full(LANES, bits, np.uint32)

    choice = draw(st.integers(0, 3))
    if choice == 0:
        return f"v{k} = __shfl_xor_sync(~0u, v{k}, {distance});", shuffle
    if choice == 1:
        return f"v{k} = __ballot_sync(~0u, v{k} & 1);", vote
    if choice == 2:
        return "__syncthreads();", lambda w, active: None
    return f"v{k} = __shfl_xor(v{k}, {distance});", shuffle


@st.composite
def programs(draw: Draw) -> list[tuple[str, Callable[[Warp], None]]]:
    """Return kernels, and what runs one for a warp in the model."""
    found = []
    for number in range(PROGRAMS):
        access = draw(st.sampled_from(sorted(MEMORIES)))
        parts: list[Statement] = []
        for _ in range(draw(st.integers(1, 4))):
            parts.append(block(draw, access, 0, False))
            parts.append(exchange(draw, access))
        inside = "\n    ".join(text for text, _ in parts)
        text = f"""
__global__ void f{number}(unsigned* x, unsigned* y) {{
    const unsigned t = threadIdx.x, l = t % 32;
    {MEMORIES[access]}
    unsigned v0 = l, v1 = l * 7u, v2 = 3u;
    s[l] = x[t];
    {inside}
    y[t] = v0 + v1 * 3u + v2 * 5u;
    x[t] = s[l];
}}"""

        def run(w: Warp, parts: list[Statement] = parts) -> None:
            for _, each in parts:
                each(w, np.ones(LANES, bool))

        found.append((text, run))
    return found


def warps(x: Vector) -> Iterator[Warp]:
    for first in (0, LANES):
        lane = np.arange(LANES, dtype=np.uint32)
        nobody = np.zeros(LANES, bool)
        own = [lane.copy(), lane * np.uint32(7), np.full(LANES, 3, np.uint32)]
        yield Warp(x[first : first + LANES].copy(), own, nobody, nobody.copy())


@pytest.mark.exhaustive
@drawn(
    programs(),
    few=2,
    many=4,
    suppress_health_check=[*HealthCheck],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a smaller example costs a compilation
)
def test_lanes_run_in_step(found: list[tuple[str, Callable[[Warp], None]]]) -> None:
    code = HEAD + "".join(text for text, _ in found)
    names = [f"f{number}" for number in range(len(found))]
    module = kerneltk.RawModule(code=code, name_expressions=names)
    for name, (text, run) in zip(names, found, strict=True):
        x = (np.arange(2 * LANES) * 2654435761 % 1000).astype(np.uint32)
        expected = list(warps(x))
        for warp in expected:
            run(warp)
        y = np.zeros_like(x)
        module.get_function(name)(1, 2 * LANES, (x, y))
        model = np.concatenate([w.memory for w in expected])
        sums = [w.own[0] + w.own[1] * np.uint32(3) + w.own[2] * np.uint32(5) for w in expected]
        assert np.array_equal(x, model), text
        assert np.array_equal(y, np.concatenate(sums)), text
