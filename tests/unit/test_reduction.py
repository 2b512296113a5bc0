"""ReductionKernel as an object: attributes, plans, threads, pickling, texts, ways to call it."""

from __future__ import annotations

import copy
import pickle
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kerneltk import ArgumentTypeError, ArraySpec, AxisError, ReductionKernel
from kerneltk.backends.host.backend import HostBackend
from kerneltk.codegen import reduction as definitions
from kerneltk.launch import loops

from .backends.test_foreign_arrays import ByDlpack, ByInterface
from .backends.test_foreign_arrays import torch as torch
from .fake_torch import Tensor
from .test_elementwise import counted

Array = npt.NDArray[Any]
make = ArraySpec.make

X = np.arange(12, dtype=np.float32).reshape(3, 4)
MASK = X % 3 == 0
SUM = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
TWO = ReductionKernel(
    "T x, T c = 3", "T y, float64 z", "x * c", "a + b", "y = a; z = 2 * a", "0", "two"
)
RAW = ReductionKernel(
    "raw T x, float32 c = 2", "float32 y", "x[_J] * c", "a + b", "y = a", "0", "of_raw"
)


@pytest.fixture
def kernel() -> ReductionKernel:
    return ReductionKernel("T x, T c", "T y", "c * x", "a + b", "y = a", "0", "scaled")


def same(found: Any, wanted: Any) -> None:
    """Check a result: an array of its own, with the values and the dtype."""
    wanted = np.asarray(wanted)
    assert type(found) is np.ndarray
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)


# -- attributes ------------------------------------------------------------------------------------


def test_attributes_are_those_of_the_constructor() -> None:
    kernel = ReductionKernel(
        "T x, raw float32 w, int32 k", "T y, int64 z", "x", "a + b", "y = a; z = 1", "k", "name_",
        "double", False, "// text", ["-DX=1"],
    )  # fmt: skip
    assert (kernel.nin, kernel.nout, kernel.nargs) == (3, 2, 5)
    assert (kernel.map_expr, kernel.reduce_expr, kernel.post_map_expr) == (
        "x", "a + b", "y = a; z = 1",
    )  # fmt: skip
    assert (kernel.identity, kernel.reduce_type, kernel.reduce_dims) == ("k", "double", False)
    assert (kernel.name, kernel.__name__, kernel.preamble) == ("name_", "name_", "// text")
    assert kernel.options == ("-DX=1",)
    assert [p.name for p in kernel.in_params] == ["x", "w", "k"]
    assert [p.name for p in kernel.out_params] == ["y", "z"]
    assert [p.name for p in kernel.params] == ["x", "w", "k", "y", "z", "_in_ind", "_out_ind"]
    assert [(p.raw, p.is_const) for p in kernel.params] == [
        (False, True), (True, True), (False, True), (False, False), (False, False),
        (False, False), (False, False),
    ]  # fmt: skip
    assert repr(kernel) == (
        "<ReductionKernel name_(T x, raw float32 w, int32 k) -> (T y, int64 z)>"
    )


# -- identity --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("identity", "text"),
    [
        (None, ""), ("", ""), ("0", "0"), (0, "0"), (-3, "-3"), (True, "true"), (False, "false"),
        (0.1, "0.1"), (-0.0, "-0.0"), (1e300, "1e+300"), (np.inf, "INFINITY"),
        (-np.inf, "-INFINITY"), (np.nan, "NAN"), (np.float32(-np.inf), "-INFINITY"),
        (np.float16(0.5), "0.5"), (np.int8(-1), "-1"), (np.uint64(2**64 - 1), f"{2**64 - 1}ull"),
        (2**63 - 1, f"{2**63 - 1}"), (2**63, f"{2**63}ull"),
        (np.bool_(True), "true"), (np.str_("c"), "c"), ("{0, 0}", "{0, 0}"),
    ],
)  # fmt: skip
def test_identities_as_text(identity: Any, text: str) -> None:
    kernel = ReductionKernel("T x", "T y", "x", "a + b", "y = a", identity)
    assert kernel.identity == text
    assert type(kernel.identity) in (str, np.str_)


@pytest.mark.parametrize(
    ("dtype", "identity"),
    [
        ("f4", 1e30), ("f4", 10**30), ("f8", 2**70), ("f8", 0.1), ("f8", np.inf), ("f4", -np.inf),
        ("f8", np.nan), ("i8", -(2**63)), ("u8", 2**64 - 1), ("i4", True), ("f2", np.float16(0.5)),
        ("?", True), ("c8", 0), ("c16", 0j), ("c8", 1 - 2j),
    ],
    ids=str,
)  # fmt: skip
def test_identities_are_what_nothing_reduces_to(dtype: str, identity: Any) -> None:
    kernel = ReductionKernel("T x", "T y", "x", "b", "y = a", identity, "nothing")
    same(kernel(np.empty((2, 0), dtype), axis=1), np.full(2, identity, dtype))
    assert kernel.compile(make(dtype, (2, 8)), axis=1, target="sm_90").code


# -- ways to call ----------------------------------------------------------------------------------


def test_defaults_and_inputs_by_name() -> None:
    same(TWO(x=X)[0], 3 * X.sum())
    same(TWO(X, 2)[0], 2 * X.sum())
    same(TWO(X, c=2)[0], 2 * X.sum())
    same(TWO(c=np.float32(2), x=X, axis=0, keepdims=True)[0], 2 * X.sum(0, keepdims=True))


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), (-1, 0), (), [1], np.int64(1),
                                  np.array(0), (np.int8(0),)], ids=repr)  # fmt: skip
@pytest.mark.parametrize("keepdims", [False, True, np.bool_(True)])
def test_axes(axis: Any, keepdims: Any) -> None:
    plain = tuple(map(int, axis)) if isinstance(axis, tuple | list) else axis
    plain = int(plain) if isinstance(plain, np.generic | np.ndarray) else plain
    wanted = X.sum(plain, keepdims=bool(keepdims))
    for _ in range(2):
        same(SUM(X, axis=axis, keepdims=keepdims), wanted)
    same(SUM(X, axis=axis, keepdims=keepdims, where=MASK), np.sum(
        X, plain, keepdims=bool(keepdims), where=MASK
    ))  # fmt: skip
    same(SUM(X, axis=axis, keepdims=keepdims, out=np.empty_like(wanted)), wanted)


def test_single_elements() -> None:
    one = np.array(3, np.float32)
    same(SUM(one), one)
    same(SUM(one, axis=()), one)
    same(SUM(one, keepdims=True), one)
    same(SUM(one, where=False), np.float32(0))
    assert SUM(one) is not one
    with pytest.raises(AxisError):
        SUM(one, axis=0)


def test_an_empty_result_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = counted(monkeypatch, HostBackend, "compile")
    fresh = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "compiles_nothing")
    assert fresh(np.ones((0, 3), np.uint16), axis=1).shape == (0,)
    assert fresh(np.ones((3, 0), np.uint16), axis=0, where=True).shape == (0,)
    assert compiled == []


def test_subclasses_become_plain_arrays() -> None:
    class Named(np.ndarray):
        pass

    x = X.view(Named)
    same(SUM(x, axis=0), X.sum(0))
    same(SUM(x, where=MASK.view(Named)), X.sum(where=MASK))
    y = np.empty(4, np.float32).view(Named)
    assert SUM(X, axis=0, out=y) is y
    np.testing.assert_array_equal(y, X.sum(0))


def test_texts_may_end_and_begin_with_comments() -> None:
    kernel = ReductionKernel(
        "T x", "T y, int64 k",
        "{x,   // the value\n _J}  // and where it is",
        "/* the larger */ a.v > b.v ? a : b // or the last",
        "y = a.v; // done\\", "{-INFINITY, -1} // none", "commented", "T v, int64 k",
    )  # fmt: skip
    same(kernel(X)[0], X.max())


# -- plans -----------------------------------------------------------------------------------------


def test_a_second_call_touches_only_its_plan(
    kernel: ReductionKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    y = np.empty(4, np.float32)
    whole = X.astype(np.int64)

    def calls(factor: float) -> None:
        same(kernel(X, factor), np.float32(factor * X.sum()))
        same(kernel(X, factor, axis=1), np.float32(factor) * X.sum(1))
        same(kernel(X, factor, axis=(0,), keepdims=True), factor * X.sum(0, keepdims=True))
        same(kernel(X, factor, where=MASK), np.float32(factor * X.sum(where=MASK)))
        assert kernel(X, factor, y, axis=0) is y
        assert kernel(X, factor, axis=0, out=y) is y
        assert kernel(X, factor, axis=0, out=(y,), where=MASK) is y
        same(kernel(whole, 3), 3 * whole.sum())

    calls(2.0)
    calls(2.0)
    counts = [
        counted(monkeypatch, owner, name)
        for owner, name in (
            (definitions, "resolve_reduction"),
            (definitions.ReductionDefinition, "schedule"),
            (loops, "translation_unit_of"),
            (loops, "loop_launcher"),
        )
    ]
    counts += [
        counted(monkeypatch, HostBackend, name)
        for name in ("compile", "load", "describe", "make_buffer", "check_usable")
    ]
    for factor in (2.0, 5.0):
        calls(factor)
    assert counts == [[]] * len(counts)


def test_an_axis_error_can_be_pickled_and_copied() -> None:
    with pytest.raises(AxisError) as caught:
        SUM(X, axis=7)
    for twin in (pickle.loads(pickle.dumps(caught.value)), copy.deepcopy(caught.value)):
        assert type(twin) is AxisError
        assert str(twin) == str(caught.value)


# -- generated texts -------------------------------------------------------------------------------


def test_a_size_ahead_of_time() -> None:
    unit = RAW.translation_unit(make("f4", 100), size=50, backend="host")
    assert unit == RAW.translation_unit(X.ravel(), size=12, c=2.5, backend="host")
    assert RAW.compile(make("f4", 100), size=50, target="sm_90").code


@pytest.mark.one_in(4)
@pytest.mark.parametrize("names", [("a", "b"), ("b", "a"), ("where", "axis"), ("n", "out")])
def test_inputs_may_have_the_names_of_totals_and_of_options(names: tuple[str, str]) -> None:
    x, c = names
    own = ReductionKernel(f"T {x}, T {c}", "T y", f"{x} * {c}", "a + b", "y = a", "0", "named")
    same(own(X, 2), 2 * X.sum())
    same(own(X, 2, axis=0, where=MASK), 2 * X.sum(0, where=MASK))
    assert own.compile(make("f4", X.shape), 2, target="sm_90").code


# -- arrays of other libraries ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ByInterface, ByDlpack, Tensor])
def test_masks_of_other_libraries(torch: ModuleType, kind: Any) -> None:
    same(SUM(X, where=kind(MASK), out=np.empty((), np.float32)), X.sum(where=MASK))
    with pytest.raises(ArgumentTypeError, match="'where' must be an array of dtype 'bool'"):
        SUM(X, where=kind(X), out=np.empty((), np.float32))
