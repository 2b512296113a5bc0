"""Arrays of bools whose bytes may be any, against NumPy.

A batch is one kernel of several random expressions. Kernels in Python have such arrays in
`tests/random_programs`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk

BYTES = (0, 0, 0, 1, 1, 2, 3, 127, 128, 254, 255)
RESULTS = {"bool": np.bool_, "int64": np.int64, "float64": np.float64}

# -- arrays ----------------------------------------------------------------------------------------


def bools(rng: random.Random, size: int) -> np.ndarray[Any, Any]:
    """Return an array of bools with any bytes, of any step."""
    step = rng.choice((1, 1, 1, 2, 3, -1))
    memory = np.array([rng.choice(BYTES) for _ in range(size * abs(step) + 3)], np.uint8)
    return memory.view(bool)[rng.randrange(3) :][:: abs(step)][:size][:: -1 if step < 0 else 1]


def meant(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the bools that bytes mean."""
    return np.ascontiguousarray(array).view(np.uint8) != 0


# -- expressions -----------------------------------------------------------------------------------

_CPP = {
    "not": "!({0})", "and": "({0} && {1})", "or": "({0} || {1})", "xor": "(({0}) ^ ({1}))",
    "eq": "({0} == {1})", "ne": "({0} != {1})", "lt": "({0} < {1})", "ge": "({0} >= {1})",
    "bitand": "({0} & {1})", "bitor": "({0} | {1})", "if": "({0} ? {1} : {2})",
    "sum": "((long long){0} + (long long){1})", "times": "((long long){0} * 3 - (long long){1})",
    "scaled": "({0} * 2.5 + {1})", "above": "(c > {0})", "chosen": "({0} ? c : 7)",
    "shift": "((long long){0} << 3)", "int": "(long long)({0})",
}  # fmt: skip
_NUMPY = {
    "not": "(~{0})", "and": "np.logical_and({0}, {1})", "or": "np.logical_or({0}, {1})",
    "xor": "({0} ^ {1})", "eq": "({0} == {1})", "ne": "({0} != {1})", "lt": "({0} < {1})",
    "ge": "({0} >= {1})", "bitand": "({0} & {1})", "bitor": "({0} | {1})",
    "if": "np.where({0}, {1}, {2})", "sum": "({0}.astype(np.int64) + {1}.astype(np.int64))",
    "times": "({0}.astype(np.int64) * 3 - {1}.astype(np.int64))", "scaled": "({0} * 2.5 + {1})",
    "above": "(c > {0})", "chosen": "np.where({0}, c, 7)", "shift": "({0}.astype(np.int64) << 3)",
    "int": "{0}.astype(np.int64)",
}  # fmt: skip
_OF_BOOLS = {
    "not": 1, "and": 2, "or": 2, "xor": 2, "eq": 2, "ne": 2, "lt": 2, "ge": 2, "bitand": 2,
    "bitor": 2, "if": 3, "above": 1,
}  # fmt: skip
_OF_NUMBERS = {"sum": 2, "times": 2, "chosen": 1, "shift": 1, "int": 1}
Tree = tuple[Any, ...]


def tree(rng: random.Random, depth: int) -> Tree:
    """Return an expression that is a bool."""
    if depth == 0 or rng.random() < 0.3:
        return (rng.choice("ab"),)
    name = rng.choice(list(_OF_BOOLS))
    return (name, *(tree(rng, depth - 1) for _ in range(_OF_BOOLS[name])))


def result(rng: random.Random) -> tuple[str, Tree]:
    """Return an expression, and the dtype that its result is stored to."""
    kind = rng.choice(list(RESULTS))
    depth = rng.randrange(3)
    if kind == "bool" or rng.random() < 0.4:
        return kind, tree(rng, depth)
    if kind == "float64" and rng.random() < 0.5:
        return kind, ("scaled", tree(rng, depth), tree(rng, depth))
    name = rng.choice(list(_OF_NUMBERS))
    return kind, (name, *(tree(rng, depth) for _ in range(_OF_NUMBERS[name])))


def written(node: Tree, table: dict[str, str], names: dict[str, str]) -> str:
    """Return an expression as source."""
    if len(node) == 1:
        return names.get(node[0], node[0])
    return table[node[0]].format(*(written(part, table, names) for part in node[1:]))


def expected(node: Tree, a: Any, b: Any, c: Any) -> Any:
    """Return an expression's values; the bools are NumPy's of 0 and 1."""
    return eval(written(node, _NUMPY, {}), {"np": np, "a": a, "b": b, "c": c})


def check(found: Any, wanted: Any, source: str) -> None:
    """Compare a result with what NumPy makes, and the bytes of bools with 0 and 1."""
    found = np.asarray(found)
    if found.dtype == bool:
        bytes_ = np.ascontiguousarray(found).view(np.uint8)
        assert (bytes_ <= 1).all(), f"{source}\nbytes {bytes_.tolist()}"
    wanted = np.broadcast_to(wanted, found.shape)
    same = found.astype(float) == np.asarray(wanted).astype(float)
    assert same.all(), f"{source}\n{found.tolist()}\n{wanted.tolist()}"


# -- front-ends ------------------------------------------------------------------------------------

Batch = list[tuple[str, Tree]]
Run = Callable[[random.Random, Batch], None]


def _operands(rng: random.Random) -> tuple[Any, Any, Any]:
    size = rng.choice((1, 7, 33, 64, 200))
    c = np.array([rng.randrange(-1, 4) for _ in range(size)], np.int32)
    return bools(rng, size), bools(rng, size), c


def elementwise(rng: random.Random, batch: Batch) -> None:
    """Run expressions of an ElementwiseKernel; operands may be raw, or taken by reference."""
    a, b, c = _operands(rng)
    if rng.random() < 0.2:
        a = a[:1]
    by_reference = rng.random() < 0.3
    raw = {name for name in "ab" if rng.random() < 0.4 and len(a) > 1}
    inputs = [f"{'raw ' * (name in raw)}{rng.choice(('bool', 'T'))} {name}" for name in "ab"]
    counts = np.zeros(1, np.int32)
    names = {name: f"{name}[i]" for name in raw}
    body = "".join(f"o{k} = {written(node, _CPP, names)}; " for k, (_, node) in enumerate(batch))
    if by_reference:
        body += f"atomicAdd(&counts[0], {written(('a',), _CPP, names)});"
    outputs = [f"{kind} o{k}" for k, (kind, _) in enumerate(batch)]
    source = f"{inputs} {outputs}: {body}"
    kernel = kerneltk.ElementwiseKernel(
        f"{', '.join(inputs)}, int32 c, raw _non_const int32 counts", ", ".join(outputs), body, "k"
    )
    found = kernel(a, b, c, counts)
    found = found if isinstance(found, tuple) else (found,)
    values = np.broadcast_to(meant(a), c.shape), meant(b), c
    for (kind, node), one in zip(batch, found, strict=True):
        check(one, expected(node, *values).astype(RESULTS[kind]), source)
    if by_reference:
        check(counts, values[0].sum(), source)


def in_place(rng: random.Random, batch: Batch) -> None:
    """Run expressions that update an output, itself an array of any bytes; it may be raw."""
    a, b, c = _operands(rng)
    is_raw = rng.random() < 0.5
    node = tree(rng, 2)
    op = rng.choice(("|=", "&=", "^="))
    keeps = rng.random() < 0.3
    b = b.copy()
    before = meant(b)
    name = "b[i]" if is_raw else "b"
    shown = written(node, _CPP, {"b": name})
    body = f"if (a) {name} {op} {shown};" if keeps else f"{name} {op} {shown};"
    kernel = kerneltk.ElementwiseKernel("bool a, int32 c", f"{'raw ' * is_raw}bool b", body, "k")
    kernel(a, c, b)
    updated = {"|=": np.bitwise_or, "&=": np.bitwise_and, "^=": np.bitwise_xor}[op](
        before, expected(node, meant(a), before, c)
    )
    wanted = np.where(meant(a), updated, before) if keeps else updated
    if keeps:
        b = meant(b)
    check(b, wanted, body)


def reduction(rng: random.Random, batch: Batch) -> None:
    """Run a reduction, by its arguments or by raw views of them."""
    a, b, c = _operands(rng)
    kind, node = batch[0]
    names = rng.choice(
        ({}, {"a": "_raw_a[_J]"}, {"a": "a[_J]"}, {"a": "_raw_a[_J]", "b": "_raw_b[_J]"})
    )
    shown = written(node, _CPP, names)
    reduce_, identity, function = rng.choice(
        (("a + b", "0", np.sum), ("max(a, b)", "-100", np.max), ("a + b", "0", np.sum))
    )
    raw = "raw " if names.get("a") == "a[_J]" else ""
    out = "bool" if kind == "bool" and identity == "0" else "int64"
    source = f"{raw} {shown} {reduce_}"
    kernel = kerneltk.ReductionKernel(
        f"{raw}bool a, bool b, int32 c", f"{out} y", f"(long long)({shown})", reduce_, "y = a",
        identity, "k", reduce_type="long long",
    )  # fmt: skip
    values = expected(node, meant(a), meant(b), c).astype(np.int64)
    check(kernel(a, b, c), function(values).astype(RESULTS[out]), source)


def fused(rng: random.Random, batch: Batch) -> None:
    """Run a function of arrays, by `fuse`."""
    a, b, c = _operands(rng)
    lines, results = [], []
    for k, (_, node) in enumerate(batch):
        # An argument that is returned is itself, with its bytes.
        shown = written(("bitor", node, node) if len(node) == 1 else node, _NUMPY, {})
        end = rng.choice(("", "", ".sum()", ".any()", ".max()", ".astype(np.int64).prod()"))
        lines.append(f"    o{k} = ({shown}){end}\n")
        results.append((shown, end))
    names = ", ".join(f"o{k}" for k in range(len(batch)))
    source = f"def f(a, b, c):\n{''.join(lines)}    return {names},\n"
    scope: dict[str, Any] = {"np": np, "a": meant(a), "b": meant(b), "c": c}
    exec(source, scope)
    found = kerneltk.fuse(scope["f"])(a, b, c)
    for one, (shown, end) in zip(found, results, strict=True):
        check(one, eval(f"({shown}){end}", scope), source)


FRONT_ENDS: dict[str, Run] = {
    "elementwise": elementwise, "in_place": in_place, "reduction": reduction, "fused": fused,
}  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_batches(front_end: str) -> None:
    for seed in range(2):
        rng = random.Random(seed)
        batch = [result(rng) for _ in range(rng.randint(1, 5))]
        FRONT_ENDS[front_end](rng, batch)


@pytest.mark.parametrize("size", [1, 64])
def test_units_compile_for_gpus(size: int) -> None:
    def spec(dtype: str, *shape: int) -> kerneltk.ArraySpec:
        return kerneltk.ArraySpec.make(dtype, shape or (size,))

    kernels = (
        ("T a, bool b", "int64 y", "y = a + b"),
        ("bool a, raw bool b", "bool y", "if (b[i]) y = a; y |= b[0];"),
        ("bool a", "raw bool y", "y[i] ^= a; bool* place = &y[0]; y[0] = y[i];"),
        ("bool a", "raw int32 n", "atomicAdd(&n[0], a)"),
    )
    for inputs, outputs, body in kernels:
        kernel = kerneltk.ElementwiseKernel(inputs, outputs, body, "k")
        given = [spec("bool") for _ in inputs.split(",")]
        raw = [spec(outputs.split()[1])] if outputs.startswith("raw") else []
        kernel.compile(*given, *raw, target="sm_90")
    for shape in ((size,), (size, 40), (500, size)):
        for axis in (None, 0):
            reduction = kerneltk.ReductionKernel(
                "bool a", "bool y", "a", "a || b", "y |= a", "false", "k", reduce_type="bool"
            )
            reduction.compile(spec("bool", *shape), axis=axis, target="sm_90")
    kerneltk.ReductionKernel("bool a", "int64 y", "_raw_a[_J]", "a + b", "y = a", "0").compile(
        spec("bool"), target="sm_90"
    )


WRITTEN_ELEMENTS = [
    ("auto old = m[i]; m[i] = !m[i]; z = old", [0, 1, 1, 1]),
    ("bool& place = m[i]; z = place + 1; place = false", [1, 2, 2, 2]),
    ("flip(m[i]); z = m[i]", [1, 0, 0, 0]),
    ("z = taken(m[i])", [0, 1, 1, 1]),
    ("bool both[] = {m[i], !m[i]}; z = both[0] * 10 + both[1]", [1, 10, 10, 10]),
    ("auto* at = &m[i]; z = *at; *at = true", [0, 1, 1, 1]),
    ("m[i] |= true; z = m[i] ? 5 : 6", [5, 5, 5, 5]),
]


def kernel_of_flags(body: str) -> kerneltk.ElementwiseKernel:
    preamble = """
    __device__ void flip(bool& b) { b = !b; }
    template <class T> __device__ int taken(T) = delete;
    template <> __device__ int taken<bool>(bool b) { return b; }
    """
    return kerneltk.ElementwiseKernel(
        "int32 x", "raw bool m, int32 z", body, "flags", preamble=preamble
    )


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("body", "expected"), WRITTEN_ELEMENTS)
def test_raw_elements_that_are_written_are_bools(body: str, expected: list[int]) -> None:
    kernel = kernel_of_flags(body)
    memory = np.array([0, 1, 2, 255], np.uint8)
    result = np.empty(4, np.int32)
    kernel(np.arange(4, dtype=np.int32), memory.view(bool), result)
    assert result.tolist() == expected
    assert memory.max() <= 1


@pytest.mark.exhaustive
def test_raw_elements_that_are_written_compile_for_gpus() -> None:
    spec = kerneltk.ArraySpec.make
    for body, _ in WRITTEN_ELEMENTS:
        given = spec("int32", 4), spec("bool", 4), spec("int32", 4)
        kernel_of_flags(body).compile(*given, target="sm_90")


def test_raw_elements_that_are_only_read_stay_as_they_are() -> None:
    kernel = kerneltk.ElementwiseKernel("raw bool m", "int32 z", "auto b = m[i]; z = b", "flags")
    memory = np.array([0, 1, 2, 255], np.uint8)
    assert kernel(memory.view(bool), np.empty(4, np.int32)).tolist() == [0, 1, 1, 1]
    assert memory.tolist() == [0, 1, 2, 255]
