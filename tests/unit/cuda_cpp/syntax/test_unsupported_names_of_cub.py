"""Names of CUB's that CPU cores have, and what is told of the others."""

from __future__ import annotations

import re

import pytest

from kerneltk.core.artifacts import INCLUDE_DIRECTORY
from kerneltk.cuda_cpp.syntax.unsupported import (
    CUB_HAD,
    CUB_INSTEAD,
    cub_lacking,
    instead_of_cub,
)

_DECLARED = re.compile(
    r"^(?:class|struct|enum)\s+(\w+)"  # at the begin of a line: in the namespace itself
    r"|^inline [\w ]+ (\w+)\("
    r"|^KERNELTK_CUB_OPERATOR\((?!name)(\w+)",
    re.MULTILINE,
)
_ENUMERATORS = re.compile(r"^enum \w+ \{([^}]*)\}", re.MULTILINE)
_MOVES = re.compile(r"^KERNELTK_CUB_MOVES\((?!Where)(\w+)", re.MULTILINE)


def test_the_names_are_those_of_the_headers() -> None:
    found: set[str] = set()
    for header in (INCLUDE_DIRECTORY / "kerneltk").glob("host_cub*.hpp"):
        text = header.read_text().partition("namespace cub {")[2]
        text = re.sub(r"namespace kerneltk_details \{.*?\n\}  //", "", text, flags=re.DOTALL)
        for names in _DECLARED.findall(text):
            found.update(filter(None, names))
        for names in _ENUMERATORS.findall(text):
            found.update(re.findall(r"\w+", names))
        for where in _MOVES.findall(text):
            found |= {f"LoadDirect{where}", f"StoreDirect{where}"}
    assert found == CUB_HAD


def test_nothing_is_had_and_lacking() -> None:
    assert not CUB_HAD & set(CUB_INSTEAD)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("cub::BlockReduce<int, 32> a;", []),
        ("cub::BlockRadixRank<32, 4, false> a;", ["BlockRadixRank"]),
        ("::cub :: detail::  f<int>();", ["detail::f"]),
        ("cub::DeviceReduce::Sum(p, n, x, y, 4);", ["DeviceReduce::Sum"]),
        ("using cub::ThreadLoad; ThreadLoad<1>(x);", ["ThreadLoad", "ThreadLoad"]),
        ("using namespace cub; ThreadReduce(items, f); Scan(x);", ["ThreadReduce"]),
        ("using namespace cub; int GridQueue = 1;", []),
        ("ThreadLoad<1>(x);", []),  # without a word of CUB it is the user's own
        ("incub::Other x; cubic::Other y;", []),
    ],
)
def test_lacking(code: str, names: list[str]) -> None:
    assert [name for _, name in cub_lacking(code, 0, len(code))] == names


def test_only_a_part_is_looked_at() -> None:
    code = "using namespace cub; ThreadLoad<1>(x); cub::A a; cub::B b;"
    start, end = code.index("cub::A"), code.index("cub::B")
    assert list(cub_lacking(code, start, end)) == [(start + 5, "A")]
    (found,) = cub_lacking(code, 21, start)
    assert found == (21, "ThreadLoad")


@pytest.mark.parametrize(("name", "part"), [
    ("GridQueue", "'atomicAdd'"),
    ("detail::ThreadReduce", "the loop"),
    ("DeviceScan::ExclusiveSum", "from Python"),
    ("Log2", ""),
])  # fmt: skip
def test_what_to_write_instead(name: str, part: str) -> None:
    found = instead_of_cub(name)
    assert part in found
    assert bool(part) == bool(found)
