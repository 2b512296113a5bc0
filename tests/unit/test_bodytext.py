"""What is read from a body's text."""

from __future__ import annotations

import pytest

from kerneltk.bodytext import identifiers, takes_address, uses_thread_state, without_comments


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("y = x + i", {"y", "x", "i"}),
        ("y = x; // i", {"y", "x"}),
        ("y /* i \n i */ = x", {"y", "x"}),
        ('printf("i %d", x)', {"printf", "x"}),
        (r'f("a\"i") + b', {"f", "b"}),
        (r"y = '\'' + 'i'", {"y"}),
        ("y = 1'000 + i * 2'000", {"y", "i"}),
        ("y = 0x1'ff + i - 1'0.5e3f", {"y", "i"}),
        ("y = u8'i' + a1'", {"y", "u8", "a1"}),
        ("x2y = 2x", {"x2y"}),
        ("a.b->c::d", {"a", "b", "c", "d"}),
    ],
)
def test_identifiers(text: str, names: set[str]) -> None:
    assert identifiers(text) == names


def test_comments_become_spaces() -> None:
    assert without_comments("a/**/b//c\nd") == "a b \nd"


@pytest.mark.parametrize(
    ("name", "uses"),
    [("threadIdx", True), ("atomicAdd", True), ("__shfl_sync", True), ("__syncthreads", True),
     ("warpSize", True), ("x", False), ("thread", False), ("my_atomicAdd", False)],
)  # fmt: skip
def test_thread_state(name: str, uses: bool) -> None:
    assert uses_thread_state({"y", name}) is uses


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        ("p = &x;", True), ("f(&x)", True), ("return &x;", True), ("f(a, & x)", True),
        ("y = a & x", False), ("y = a && x", False), ("y = (a) & x", False),
        ("y = a[0] & x", False),
        ("sincos(a, &x, &y)", False), ("sincosf(a, &s, &x);", False), ("modf(a, &x)", False),
        ("modf(a, &x + 1)", True), ("frexp(a, f(&x))", True), ("f(sincos(a, &x, &y), &x)", True),
        ("// &x", False), ('f("&x")', False), ("f(&z)", False), ("y = 1'0 & x; // '", False),
    ],
)  # fmt: skip
def test_addresses(text: str, takes: bool) -> None:
    assert takes_address(text, ("x", "y")) is takes
