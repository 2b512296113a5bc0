"""The ways of a call that docs/architecture.md lists, against traces of calls on the host."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import kerneltk
from kerneltk import jit
from kerneltk.launch import called, compiled
from kerneltk.signature.parameters import parse_signature
from tests.call_traces import ROOT, Call, Entry, calls_of

from .test_architecture import imports

PAGE = (ROOT.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
SECTION = re.search(r"^## The way of one call\n(.*?)^## ", PAGE, re.M | re.S)
SEED = uuid.uuid4().int % 1_000_000_000  # so that no cache has what these kernels compile


def documented(heading: str) -> list[list[tuple[bool, set[Entry]]]]:
    """The lists below a heading: of each item, whether it steps back, and its functions."""
    assert SECTION
    _, _, rest = SECTION[1].partition(f"### {heading}\n")
    lists: list[list[tuple[bool, set[Entry]]]] = []
    for number, back, item in re.findall(
        r"^(\d+)\. (\*Back\*: )?(.*)", rest.partition("\n### ")[0], re.M
    ):
        if number == "1":
            lists.append([])
        lists[-1].append((bool(back), set(re.findall(r"`([\w.]+)` `([\w.]+)`", item))))
    return lists


@cache
def below(name: str) -> frozenset[str]:
    """The modules that a module imports, and those that they import."""
    own = {other.removeprefix("kerneltk.") for other in imports()[f"kerneltk.{name}"]}
    return frozenset(own).union(*map(below, own))


def is_back(call: Call) -> bool:
    """Whether it is a step back; that a table hashes its key is none."""
    if call.entry[1].endswith(".__hash__"):
        return False
    return bool(call.caller) and (call.is_waiting or call.caller in below(call.entry[0]))


def package(module: str) -> str:
    parts = module.split(".")
    return ".".join(parts[: 2 if parts[0] == "jit" else 1])


def is_listed(caller: str, entry: Entry) -> bool:
    """Whether a step back has to be an item: not where the page excepts it."""
    module, function = entry
    both = (package(caller), package(module))
    return (
        "<genexpr>" not in function
        and both
        not in (
            ("jit.lowering", "jit.lowering"),
            ("jit.ir", "jit.passes"),
            ("jit.passes", "jit.ir"),
            ("backends", "backends"),
        )
        # They compute and read by functions that they are given.
        and caller not in ("cache.derived", "core.records")
        and module != "core.records"
        and "launch.dispatch" not in (caller, module)  # which front-ends supply steps to
    )


X = np.ones(1000, np.float32)


def elementwise() -> Callable[[], object]:
    kernel = kerneltk.ElementwiseKernel("T x, T y", "T z", f"z = x + y + {SEED}", "add")
    return lambda: kernel(X, X)


def reduction() -> Callable[[], object]:
    kernel = kerneltk.ReductionKernel("T x", "T y", f"x + {SEED}", "a + b", "y = a", "0", "total")
    return lambda: kernel(X)


def raw() -> Callable[[], object]:
    kernel = kerneltk.RawKernel(
        f'extern "C" __global__ void fill(float* x) {{ x[threadIdx.x] = {SEED}; }}', "fill"
    )
    out = np.empty(32, np.float32)
    return lambda: kernel((1,), (32,), (out,))


def on_grid() -> Callable[[], object]:
    @jit.rawkernel
    def fill(x):
        x[jit.threadIdx.x] = SEED

    out = np.empty(32, np.float32)
    return lambda: fill[1, 32](out)


def element_kernel() -> Callable[[], object]:
    @jit.kernel
    def add(x, y):
        return x + y + SEED

    return lambda: add(X, X)


@pytest.fixture(autouse=True)
def launchers_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """No launcher is compiled, nor will be."""
    monkeypatch.setattr(compiled, "launcher_class", lambda: None)
    monkeypatch.setattr(compiled, "is_awaited", lambda: False)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("make", "heading", "unseen"),
    [
        (elementwise, "ElementwiseKernel and ReductionKernel", "reduction"),
        (reduction, "ElementwiseKernel and ReductionKernel", "elementwise"),
        (raw, "RawKernel", "-"),
        (on_grid, "@jit.rawkernel", "-"),
        (element_kernel, "@jit.kernel", "-"),
    ],
)
def test_calls_go_the_documented_way(
    make: Callable[[], Callable[[], object]], heading: str, unseen: str
) -> None:
    listed_first, listed_repeated = documented(heading)
    parse_signature.cache_clear()  # other tests may have read the same parameters
    call = make()
    with called.by_methods():
        first, repeated = calls_of(call), calls_of(call)

    rest = iter([step.entry for step in first])
    for number, (_, functions) in enumerate(listed_first, 1):
        assert any(entry in functions for entry in rest), (number, functions)

    back = {step.entry for step in first if is_back(step) and is_listed(step.caller, step.entry)}
    marked = {entry for is_back, entries in listed_first if is_back for entry in entries}
    assert back == {(m, f) for m, f in marked if m.rpartition(".")[2] != unseen}

    entered = {package(step.entry[0]) for step in first}
    modules = {module for _, entries in listed_first for module, _ in entries}
    if heading.startswith("@jit"):  # their lists have parts of others
        for other in ("ElementwiseKernel and ReductionKernel", "@jit.kernel"):
            (rest_listed, _) = documented(other)
            modules |= {module for _, entries in rest_listed for module, _ in entries}
    named = set(map(package, modules))
    unlisted = entered - named - {"core", "errors", "interop"}
    assert unlisted <= {"jit.intrinsics", "jit.source", "jit.ir", "jit.passes", "signature"}

    assert len(repeated) == len(listed_repeated)
    for step, (_, entries) in zip(repeated, listed_repeated, strict=True):
        assert step.entry in entries
