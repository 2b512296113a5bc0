"""The decorator: what it takes, what it traces, and what a repeated call touches."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.fusion.plan import steps

from ..dry_gpu import TORCH, DryGpu, gpu  # noqa: F401 (a fixture)

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@kerneltk.fuse
def axpb(x: Any, a: Any = 2, b: Any = 1) -> Any:
    """Scale and move."""
    return a * x + b


def test_with_and_without_parentheses() -> None:
    named = kerneltk.fuse(kernel_name="scaled")(axpb.__wrapped__)
    plain = kerneltk.fuse()(axpb.__wrapped__)
    for fused in (axpb, named, plain):
        np.testing.assert_array_equal(fused(X), 2 * X + 1)
    assert (axpb.name, named.name) == ("axpb", "scaled")
    assert (axpb.__name__, axpb.__doc__) == ("axpb", "Scale and move.")
    assert repr(named) == "<Fused scaled>"


def test_other_numbers_of_arguments() -> None:
    fused = kerneltk.fuse(lambda *arrays: sum(arrays))
    for count in (1, 2, 3, 1, 2):
        np.testing.assert_array_equal(fused(*[X] * count), X * count)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        axpb()
    with pytest.raises(TypeError, match="takes from 1 to 3 positional arguments"):
        axpb(X, 1, 2, 3)


def test_one_compilation_serves_all_shapes_of_a_layout(
    traces: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kerneltk.backends.host.backend import HostBackend

    compiled: list[str] = []
    own = HostBackend.compile

    def counted(self: Any, unit: Any, *args: Any, **kwargs: Any) -> Any:
        compiled.append(unit.entry)
        return own(self, unit, *args, **kwargs)

    monkeypatch.setattr(HostBackend, "compile", counted)
    name = f"fused_{uuid.uuid4().hex}"  # no cache has it

    @kerneltk.fuse(kernel_name=name)
    def program(x: Any, row: Any, k: Any) -> Any:
        return (x - row) * k

    for height, width in ((4, 6), (5, 9), (64, 48), (7, 33)):
        for k in (1.5, 2.0):
            x, row = np.ones((height, width)), np.arange(float(width))
            np.testing.assert_array_equal(program(x, row, k), (x - row) * k)
    assert len(traces) == 1
    assert compiled == [f"_kt_entry_{name}"]


def test_arguments_that_cannot_be_taken() -> None:
    with pytest.raises(kerneltk.ArgumentTypeError, match="is a list of arrays"):
        axpb([X, X])
    for value in ({"a": 1}, memoryview(bytearray(3))):
        with pytest.raises(kerneltk.ArgumentTypeError, match="cannot be hashed"):
            axpb(X, value)
    with pytest.raises(kerneltk.ArgumentTypeError, match="decorates a function"):
        kerneltk.fuse(3)
    with pytest.raises(kerneltk.SignatureError, match="not one"):
        kerneltk.fuse(kernel_name="not one")


def test_read_only_arguments_are_not_written_to() -> None:
    x = np.ones(3)
    x.flags.writeable = False

    @kerneltk.fuse
    def bump(x: Any) -> None:
        x += 1

    with pytest.raises(kerneltk.ArgumentValueError, match="read-only"):
        bump(x)
    np.testing.assert_array_equal(x, 1)


def test_fused_functions_in_fused_functions() -> None:
    outer = kerneltk.fuse(lambda x: axpb(x) * axpb(x, b=0))
    np.testing.assert_array_equal(outer(X), (2 * X + 1) * (2 * X))
    assert len(outer.explain(X).kernels) == 1


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    found = axpb(x)
    assert isinstance(found, torch.Tensor)
    assert found.tolist() == (2 * x + 1).tolist()

    @kerneltk.fuse
    def bump(x: Any) -> Any:
        x += 1
        return x, {"sum": x.sum(axis=1)}

    same, parts = bump(x)
    assert same is x
    assert x[0].tolist() == [1, 2, 3]
    assert parts["sum"].tolist() == [6, 15]


def test_tensors_that_require_a_gradient() -> None:
    torch = pytest.importorskip("torch")

    @kerneltk.fuse
    def bump(x: Any) -> None:
        x += 1

    @kerneltk.fuse(fallback=True)
    def masked(x: Any) -> None:
        x[x > 0] = 2

    x = torch.ones(3, requires_grad=True)
    assert not axpb(x).requires_grad  # read as if it were detached
    for _ in range(2):
        with pytest.raises(kerneltk.ArgumentValueError, match="it requires a gradient"):
            bump(x)
        with pytest.raises(kerneltk.ArgumentValueError, match="it requires a gradient"):
            masked(x)
    block = pytest.raises(kerneltk.ArgumentValueError, match="it requires a gradient")
    with block, kerneltk.fuse() as fused:
        v = fused(x)
        v += 1
    assert x.tolist() == [1, 1, 1]
    with torch.no_grad():
        bump(x)
    assert x.tolist() == [2, 2, 2]


def test_the_cache_is_cleared(traces: list[Any]) -> None:
    fused = kerneltk.fuse(lambda x: x * 3)
    for _ in range(2):
        fused(X)
        np.testing.assert_array_equal(fused(X), X * 3)
        fused.clear_cache()
    assert len(traces) == 2


def test_graphs_copy_what_other_arguments_overlap() -> None:
    @kerneltk.fuse
    def double(x: Any, y: Any) -> None:
        x[...] = y * 2

    x, y = np.zeros(6), np.arange(6.0)
    with kerneltk.graph(x=x, y=y) as graph:
        double(x, y)
    for at in (7, 9, 8, 7, 0):
        memory = np.arange(20.0)
        wanted = memory[at : at + 6] * 2
        graph.launch(x=memory[8:14], y=memory[at : at + 6])
        np.testing.assert_array_equal(memory[8:14], wanted)


def test_graphs_refuse_what_a_function_of_several_kernels_would_overlap() -> None:
    @kerneltk.fuse
    def double(x: Any, y: Any) -> Any:
        x[...] = y * 2
        return y.sum() + x

    x, y = np.zeros(6), np.arange(6.0)
    with kerneltk.graph(x=x, y=y) as graph:
        result = double(x, y)
    memory = np.arange(40.0)
    for at in (9, 10, 11, 15):
        with pytest.raises(kerneltk.ArgumentValueError, match="overlaps another array of a fused"):
            graph.launch(x=memory[10:16], y=memory[at : at + 6])
    with pytest.raises(kerneltk.ArgumentValueError, match="overlaps another array of a fused"):
        graph.launch(y=x)
    np.testing.assert_array_equal(memory, np.arange(40))
    graph.launch(x=memory[10:16], y=memory[16:22])
    np.testing.assert_array_equal(result, np.arange(16, 22) * 2 + 111.0)
    pairs = np.arange(24.0)
    graph.launch(x=pairs[:6], y=pairs[6:12])  # as far apart as nothing else
    np.testing.assert_array_equal(pairs[:6], np.arange(6, 12) * 2)


@pytest.mark.parametrize("case", ["tensor", "fallback", "overlap", "block"])
def test_what_graphs_do_not_record(case: str) -> None:
    torch = pytest.importorskip("torch")

    @kerneltk.fuse
    def add(x: Any, y: Any) -> None:
        x += y

    def block() -> None:
        with kerneltk.fuse() as fused:
            fused(X) + 1

    x = np.arange(6.0)
    calls = {
        "tensor": lambda: axpb(torch.ones(3)),
        "fallback": lambda: kerneltk.fuse(fallback=True)(lambda x: x[x > 0])(X),
        "overlap": lambda: add(x[1:], x[:-1]),
        "block": block,
    }
    with pytest.raises(kerneltk.UnsupportedError, match="record"), kerneltk.graph():
        calls[case]()
    np.testing.assert_array_equal(x, np.arange(6))


def test_decorating_loads_little() -> None:
    code = (
        "import sys, kerneltk\n"
        "kerneltk.fuse(lambda x: x)\n"
        "print([n for n in sys.modules if n.startswith(('kerneltk.jit', 'cupy', 'jinja2'))])\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


# -- on a GPU that runs nothing ---------------------------------------------------------------


@pytest.fixture
def dry(gpu: DryGpu) -> Iterator[DryGpu]:  # noqa: F811
    """The device; what was launched on it is not launched elsewhere."""
    steps.kernel_of.cache_clear()
    yield gpu
    steps.kernel_of.cache_clear()


def test_ranges_are_of_the_arguments_library(dry: DryGpu) -> None:
    import cupy

    row = dry.array(16)
    assert isinstance(kerneltk.fuse(lambda v: np.r_[0:3, v])(row), cupy.ndarray)


def test_tensors_are_on_torchs_stream(dry: DryGpu) -> None:
    fused = kerneltk.fuse(lambda x: x - x.mean(axis=0))
    for _ in range(2):
        dry.log.clear()
        found = fused(dry.tensor(8, 16))
        launches = [entry for entry in dry.log if entry[0] == "launch"]
        assert launches == [("launch", TORCH)] * 2
        assert isinstance(found, dry.torch.Tensor)


def test_arrays_in_two_memories(dry: DryGpu) -> None:
    with pytest.raises(kerneltk.ArgumentTypeError, match="arrays in a GPU and in host memory"):
        kerneltk.fuse(lambda x, y: x + y)(dry.array(3), np.ones(3))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kind", [np.float32, np.dtype("f4"), "f4", float, np.int8])
def test_dtypes_are_constants(kind: Any) -> None:
    fused = kerneltk.fuse(lambda x, kind: (2 * x / x.sum()).astype(kind)[1:])
    for n in (2, 2, 3):
        assert fused(np.ones(n), kind).dtype == np.dtype(kind)
    assert fused.explain(np.ones(3), kind).floor >= 24
    assert fused(np.ones(3), np.int64).dtype == np.int64


def test_constants_with_flags_are_no_arrays() -> None:
    import re

    fused = kerneltk.fuse(lambda x, pattern: x + len(pattern.pattern))
    for _ in range(2):
        assert fused(np.ones(3), re.compile("ab")).tolist() == [3, 3, 3]
    assert fused(np.ones(3), re.compile("abc")).tolist() == [4, 4, 4]
