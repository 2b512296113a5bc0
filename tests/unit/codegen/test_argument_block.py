"""The argument block lies in memory as the compilers lay it out."""

from __future__ import annotations

import itertools

import pytest

from kerneltk.backends.cuda import nvrtc
from kerneltk.backends.host import toolchain
from kerneltk.codegen.argument_block import (
    ArgumentBlock,
    Field,
    build_block,
    multiplier_and_shift,
)
from kerneltk.core.artifacts import TranslationUnit

FIELDS = (
    Field("char {name}", "b"), Field("float {name}", "f"), Field("void* {name}", "P"),
    Field("double {name}[2]", "dd", 16), Field("short {name}", "h"),
    Field("long long {name}[3]", "qqq"), Field("int {name}[3]", "iii"),
)  # fmt: skip


def fields(*chosen: int, start: int = 0) -> list[Field]:
    return [
        Field(FIELDS[k].declaration.format(name=f"m{n}"), FIELDS[k].format, FIELDS[k].alignment)
        for n, k in enumerate(chosen, start)
    ]


def blocks() -> list[ArgumentBlock]:
    found = [build_block([], fields(5)), build_block([], fields(0))]
    for pair in itertools.product(range(len(FIELDS)), repeat=2):
        found.append(build_block(fields(*pair, 0), fields(*pair, 1, start=3)))
    return found


def offsets(block: ArgumentBlock) -> list[int]:
    """Return where each value lies, by packing a number of its own into it."""
    found = []
    for part, start in ((block.dynamic, 0), (block.constant, block.constant_offset)):
        count = len(part.unpack(bytes(part.size)))
        for k in range(count):
            values = [0] * count
            values[k] = 1
            data = part.pack(*values)
            first = next(n for n, byte in enumerate(data) if byte)
            found.append(start + first)
    return found


@pytest.mark.parametrize("backend", ["host", "cuda"])
def test_compilers_agree(backend: str) -> None:
    checked = []
    for number, block in enumerate(blocks()):
        members = " ".join(f"{declaration};" for declaration in block.declarations)
        checked.append(f"struct b{number} {{ {members} }};")
        checked.append(f'static_assert(sizeof(b{number}) == {block.size}, "size");')
        for name, place in member_offsets(block).items():
            checked.append(f'static_assert(PLACE(b{number}, {name}) == {place}, "{name}");')
    # The front-end of NVRTC has its own word for it.
    host, cuda = "__builtin_offsetof(T, m)", "__INTADDR__(&((T*)0)->m)"
    text = "\n".join([f"#define PLACE(T, m) {host if backend == 'host' else cuda}", *checked])
    if backend == "host":
        body = '\nextern "C" void k(const void*, long long, long long) {}'
        assert toolchain.compile_unit(TranslationUnit("host", text + body, "k")).code
    else:
        body = '\nextern "C" __global__ void k() {}'
        unit = TranslationUnit("cuda", text + body, "k")
        assert nvrtc.compile(unit, nvrtc.target_for("sm_90")).code


def member_offsets(block: ArgumentBlock) -> dict[str, int]:
    """Return where the packed bytes put the first value of each member."""
    found: dict[str, int] = {}
    names = [
        next(word for word in d.replace("*", " ").replace("[", " ").split() if word[0] == "m")
        for d in block.declarations
    ]
    counts = [3 if "[3]" in d else 2 if "[2]" in d else 1 for d in block.declarations]
    values = offsets(block)
    position = 0
    for name, count in zip(names, counts, strict=True):
        found[name] = _start(values[position], block.declarations[len(found)])
        position += count
    assert position == len(values)
    return found


def _start(first_byte_of_one: int, declaration: str) -> int:
    """A one in floating point has its first non-zero byte behind the value's start."""
    behind = {"float": 2, "double": 6}.get(declaration.split(") ")[1].split()[0], 0)
    return first_byte_of_one - behind


def test_values_that_change_come_first() -> None:
    block = build_block(fields(2, 1), fields(5))
    assert block.dynamic.size <= block.constant_offset
    assert block.constant_offset % 16 == 0
    assert block.size % 16 == 0
    assert block.dynamic.pack(1, 2.0)


# -- divisors: every one that is small, and the edges of the range ---------------------------------


@pytest.mark.parametrize("bits", [32, 64])
def test_small_divisors_and_edges(bits: int) -> None:
    top = (1 << (bits - 1)) - 1
    divisors = [*range(1, 600), top, top - 1, top // 2, top // 2 + 1, top // 3, 1 << (bits - 1)]
    for divisor in divisors:
        multiplier, shift = multiplier_and_shift(divisor, bits)
        assert 0 < multiplier < 1 << bits
        assert 0 <= shift < bits
        last = top // divisor * divisor
        for n in (0, 1, divisor - 1, divisor, divisor + 1, last - 1, last, top - 1, top):
            if 0 <= n <= top:
                assert ((multiplier * n >> bits) + n) >> shift == n // divisor


@pytest.mark.parametrize("divisor", [0, -1, (1 << 31) + 1])
def test_divisors_out_of_range(divisor: int) -> None:
    with pytest.raises(ValueError, match="does not fit 31 bits"):
        multiplier_and_shift(divisor, 32)
