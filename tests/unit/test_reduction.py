"""ReductionKernel as an object: attributes, plans, threads, pickling, texts, ways to call it."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kerneltk import (
    ArgumentTypeError,
    ArraySpec,
    AxisError,
    KernelToolkitError,
    ReductionKernel,
)
from kerneltk.backends.host.backend import HostBackend
from kerneltk.codegen import reduction as definitions
from kerneltk.launch import loops
from kerneltk.signature.parameters import NO_DEFAULT

from . import fake_torch
from .fake_torch import Tensor

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
LARGEST = ReductionKernel("T x", "T y", "x", "a > b ? a : b", "y = a", None, "largest")


@pytest.fixture
def kernel() -> ReductionKernel:
    return ReductionKernel("T x, T c", "T y", "c * x", "a + b", "y = a", "0", "scaled")


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[int]:
    """Count the calls of a function from now on."""
    calls: list[int] = []
    original = getattr(owner, name)

    def count(*args: Any, **kwargs: Any) -> Any:
        calls.append(threading.get_ident())
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, count)
    return calls


def plans_of(kernel: ReductionKernel) -> Iterator[dict[Any, Any]]:
    for launcher in kernel._dispatcher._launchers.values():
        yield launcher.plans


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


def test_attributes_by_default() -> None:
    kernel = ReductionKernel("T x", "float32 y, T z", "x", "a + b", "y = a", None)
    assert (kernel.name, kernel.identity, kernel.reduce_type) == ("reduce_kernel", "", "float")
    assert (kernel.reduce_dims, kernel.preamble, kernel.options) == (True, "", ())


def test_all_of_the_constructor_s_arguments_have_names() -> None:
    kernel = ReductionKernel(
        in_params="T x", out_params="T y", map_expr="x", reduce_expr="a + b",
        post_map_expr="y = a", identity="0", name="k", reduce_type="T", reduce_dims=True,
        preamble="", options=(),
    )  # fmt: skip
    assert kernel.reduce_type == "T"


def test_attributes_are_read_only() -> None:
    for name in ("in_params", "map_expr", "reduce_expr", "identity", "name", "reduce_type"):
        with pytest.raises(AttributeError):
            setattr(SUM, name, "other")


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


def test_the_identity_may_be_a_parameter() -> None:
    kernel = ReductionKernel("T x, T least", "T y", "x", "max(a, b)", "y = a", "least", "at_least")
    same(kernel(X, 5, axis=1), np.array([5, 7, 11], np.float32))
    same(kernel(X[:0], 5), np.float32(5))


# -- ways to call ----------------------------------------------------------------------------------


def test_outputs_in_all_ways() -> None:
    for how in ("out", "tuple", "position", "name"):
        y = np.full(4, np.nan, np.float32)
        result = {
            "out": lambda y=y: SUM(X, axis=0, out=y),
            "tuple": lambda y=y: SUM(X, axis=0, out=(y,)),
            "position": lambda y=y: SUM(X, y, axis=0),
            "name": lambda y=y: SUM(X, axis=0, y=y),
        }[how]()
        assert result is y
        same(y, X.sum(0))


def test_a_list_of_outputs_is_the_same_on_every_way() -> None:
    y = np.empty((), np.float32)
    assert SUM(X, out=[y], where=True) is y
    assert SUM(X, out=[y]) is y


def test_several_outputs() -> None:
    y, z = TWO(X, axis=1)
    same(y, 3 * X.sum(1))
    same(z, 6 * X.sum(1, dtype="f8"))
    u, v = np.empty(3, np.float32), np.empty(3)
    calls: list[Callable[[], Any]] = [
        lambda: TWO(X, out=(u, v), axis=1), lambda: TWO(X, 3, u, v, axis=1),
        lambda: TWO(X, axis=1, z=v, y=u),
    ]  # fmt: skip
    for call in calls:
        u[...] = v[...] = np.nan
        result = call()
        assert isinstance(result, tuple)
        assert [a is b for a, b in zip(result, (u, v), strict=True)] == [True, True]
        same(u, y)
        same(v, z)


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


def test_results_are_new_arrays() -> None:
    first, second = SUM(X, axis=0), SUM(X, axis=0)
    assert not np.shares_memory(first, second)
    assert first.flags.owndata
    assert first.flags.writeable
    first[:] = -1
    same(second, X.sum(0))
    copied = SUM(X, axis=())
    assert not np.shares_memory(copied, X)
    same(copied, X)


def test_masks_in_all_ways() -> None:
    wanted = X.sum(where=MASK)
    same(SUM(X, where=MASK), wanted)
    same(SUM(x=X, where=MASK), wanted)
    same(SUM(X, where=MASK[:1]), X.sum(where=MASK[:1]))
    same(SUM(X, where=MASK[:, 2:3], axis=1), X.sum(1, where=MASK[:, 2:3]))
    for where, of_all in ((True, True), (np.True_, True), (np.array(True), True), (False, False),
                          (np.False_, False), (np.array(False), False)):  # fmt: skip
        same(SUM(X, where=where), X.sum() if of_all else np.float32(0))
    y = np.full((), 7, np.float32)
    for result in (SUM(X, y, where=MASK), SUM(X, where=MASK, out=y), SUM(X, where=MASK, y=y)):
        assert result is y
        same(y, wanted)


def test_an_all_true_mask_is_no_mask() -> None:
    same(LARGEST(X, where=True), X.max())


def test_an_empty_result_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = counted(monkeypatch, HostBackend, "compile")
    fresh = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "compiles_nothing")
    assert fresh(np.ones((0, 3), np.uint16), axis=1).shape == (0,)
    assert fresh(np.ones((3, 0), np.uint16), axis=0, where=True).shape == (0,)
    assert compiled == []


def test_raw_arrays_and_sizes() -> None:
    flat = X.ravel()
    same(RAW(X, size=12), 2 * flat.sum())
    same(RAW(X, 3, size=5), 3 * flat[:5].sum())
    same(RAW(x=X, size=np.int32(4), c=1), flat[:4].sum())
    same(RAW(X, size=0), np.float32(0))
    same(RAW(X, size=12, where=MASK.ravel()), 2 * flat.sum(where=MASK.ravel()))
    same(RAW(X, size=12, axis=0, keepdims=True), 2 * flat.sum(keepdims=True))


def test_a_call_without_arrays_runs_where_it_is_told_to() -> None:
    count = ReductionKernel("float32 c", "float32 y", "c * _J", "a + b", "y = a", "0", "count")
    same(count(2, size=4, backend="host"), np.float32(12))


def test_the_host_takes_and_ignores_a_stream() -> None:
    class Stream:
        ptr = 1

    for stream in (Stream(), 0, None):
        same(SUM(X, stream=stream), X.sum())
        same(SUM(X, stream=stream, where=MASK, axis=0), X.sum(0, where=MASK))


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


def test_other_extents_compile_nothing(
    kernel: ReductionKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel(np.ones((20, 30), np.float32), 2, axis=1)
    compiled = counted(monkeypatch, HostBackend, "compile")
    for shape in ((2, 40), (300, 100), (7, 999)):
        same(kernel(np.ones(shape, np.float32), 2, axis=1), np.full(shape[0], 2 * shape[1], "f4"))
    assert compiled == []


def test_calls_of_changing_kinds(kernel: ReductionKernel) -> None:
    """The launcher of the last call must not serve the next one of other types or axes."""
    calls: list[tuple[Array, Any, dict[str, Any]]] = [
        (X, 2, {}), (X, 2, {"axis": 0}), (X, 2, {"axis": 1}), (X, 2.5, {}),
        (X.astype(np.int32), 2, {}), (X.astype(np.int32), 2, {"axis": 0}), (X, X, {"axis": 1}),
        (X, X[0], {}), (X.T, 2, {"axis": 0}), (X[:, ::2], 2, {"axis": 1}), (X[:, :0], 2, {}),
        (X, 2, {"axis": 0, "keepdims": True}), (X, 2, {"axis": -1, "keepdims": True}),
        (X, 2, {"where": MASK}), (X, 2, {"where": MASK, "axis": 1}), (X, np.float32(3), {}),
    ]  # fmt: skip
    for _ in range(2):
        for x, c, how in (*calls, *reversed(calls)):
            same(kernel(x, c, **how), np.sum((x * c).astype(x.dtype), dtype=x.dtype, **how))


def test_the_number_of_plans_is_bounded(
    kernel: ReductionKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "MAX_PLANS", 8)
    for size in (*range(1, 31), *range(1, 31)):
        same(kernel(np.ones(size), 2), np.float64(2 * size))
    (plans,) = plans_of(kernel)
    assert 0 < len(plans) <= 8


def test_a_refused_call_leaves_the_plan_usable() -> None:
    kernel = ReductionKernel("T x, int8 c", "T y", "x + c", "a + b", "y = a", "0", "small")
    for _ in range(3):
        same(kernel(X, 1), np.float32(X.sum() + X.size))
        with pytest.raises(OverflowError):
            kernel(X, 1000)
        with pytest.raises(AxisError):
            kernel(X, 1, axis=2)
        with pytest.raises(ArgumentTypeError):
            kernel(X, 1, where=X)
    (plans,) = plans_of(kernel)
    assert len(plans) == 1


def test_a_writable_array_does_not_stand_for_a_read_only_one() -> None:
    y = np.empty(4, np.float32)
    SUM(X, axis=0, out=y)
    y.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        SUM(2 * X, axis=0, out=y)
    same(y, X.sum(0))


def test_addresses_are_read_at_every_call() -> None:
    for k in range(20):
        x, y = np.full((2, 25), k, np.float32), np.empty(2, np.float32)
        assert SUM(x, axis=1, out=y) is y
        assert (y == 25 * k).all()
        same(SUM(x, where=x == k), np.float32(50 * k))


def test_inputs_that_are_read_as_arrays_may_lie_anywhere() -> None:
    kernel = ReductionKernel(
        "T x, raw T w", "T y", "_raw_x[_in_ind.get()] * w[_J]", "a + b", "y = a", "0", "viewed"
    )
    odd = np.frombuffer(bytearray(49), np.uint8)[1:].view(np.float32).reshape(3, 4)
    odd[...] = X
    for x in (X, odd):
        for w in (X, odd):
            same(kernel(x, w), np.float32(np.sum(X * X)))


# -- lifetime --------------------------------------------------------------------------------------


def test_a_call_keeps_no_arrays() -> None:
    class Named(np.ndarray):
        pass

    x, mask, y = (np.array(a).view(Named) for a in (X, MASK, np.empty(4, np.float32)))
    counts = [sys.getrefcount(a) for a in (x, mask, y)]
    alive = weakref.ref(x)
    for _ in range(3):
        SUM(x, axis=0, out=y)
        SUM(x, axis=0, out=y, where=mask)
        SUM(x.view(np.ndarray))
        with pytest.raises(ArgumentTypeError):
            SUM(x, mask)
    gc.collect()
    assert [sys.getrefcount(a) for a in (x, mask, y)] == counts
    del x
    assert alive() is None


def test_a_kernel_that_nobody_has_is_freed() -> None:
    own = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "freed")
    own(X)
    own(X, where=MASK)
    alive = weakref.ref(own)
    del own
    gc.collect()
    assert alive() is None


# -- threads ---------------------------------------------------------------------------------------


def in_threads(count: int, work: Callable[[int], None]) -> None:
    barrier = threading.Barrier(count)

    def run(number: int) -> None:
        barrier.wait()
        work(number)

    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(run, number) for number in range(count)]:
            future.result()


def test_threads_share_a_kernel(kernel: ReductionKernel) -> None:
    def work(number: int) -> None:
        y = np.empty(3, np.float32)
        for k in range(60):
            x = np.full((3, number * 7 + k % 5 + 1), number, np.float32)
            wanted = x.shape[1] * number * k
            assert (kernel(x, k, axis=1) == wanted).all()
            assert kernel(x, k) == 3 * wanted
            assert kernel(x, k, y, axis=1) is y
            assert (y == wanted).all()
            assert (kernel(x, k, axis=1, where=x[:1] == number) == wanted).all()

    in_threads(8, work)


def test_threads_share_the_parts_of_a_long_reduction() -> None:
    """Each call's totals lie in memory of its own."""
    x = np.ones(300_000, np.float32)

    def work(number: int) -> None:
        own = x * number
        for _ in range(10):
            assert SUM(own) == number * x.size

    in_threads(6, work)


@pytest.mark.parametrize("masked", [False, True])
def test_threads_compile_once(monkeypatch: pytest.MonkeyPatch, masked: bool) -> None:
    own = ReductionKernel("T x", "T y", f"x * 17 + {int(masked)}", "a + b", "y = a", "0", "once")
    compiled = counted(monkeypatch, HostBackend, "compile")
    how = {"where": MASK} if masked else {}
    in_threads(8, lambda _: same(own(X, **how), np.sum(X * 17 + int(masked), **how)))
    assert len(compiled) == 1


# -- pickling --------------------------------------------------------------------------------------


@pytest.mark.parametrize("called", [False, True])
@pytest.mark.parametrize("how", ["pickle", "copy", "deepcopy"])
def test_copies_work(how: str, called: bool) -> None:
    kernel = ReductionKernel(
        "T x, T c, float32 d = 0.5", "T y, int64 k", "{x * c + d + offset, _J}",
        "a.v > b.v ? a : b", "y = a.v; k = a.k", "{-INFINITY, -1}", "copied", "T v, int64 k", False,
        "__device__ const float offset = 1;", ("-DUNUSED",),
    )  # fmt: skip
    if called:
        kernel(X, 2)
        kernel(X, 2, where=MASK)
    made: Callable[[Any], Any] = {
        "pickle": lambda k: pickle.loads(pickle.dumps(k)),
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
    }[how]
    twin = made(kernel)
    assert repr(twin) == repr(kernel)
    for name in ("identity", "reduce_type", "reduce_dims", "preamble", "options", "__name__"):
        assert getattr(twin, name) == getattr(kernel, name)
    assert [p.default is NO_DEFAULT for p in twin.in_params] == [True, True, False]
    y, k = twin(X, 2)
    same(y, np.float32(23.5))
    same(k, np.int64(11))
    same(twin(X, 2, where=MASK)[1], np.int64(9))
    with pytest.raises(TypeError, match="Parameter 'c' is missing"):
        twin(X)


def test_an_axis_error_can_be_pickled_and_copied() -> None:
    with pytest.raises(AxisError) as caught:
        SUM(X, axis=7)
    for twin in (pickle.loads(pickle.dumps(caught.value)), copy.deepcopy(caught.value)):
        assert type(twin) is AxisError
        assert str(twin) == str(caught.value)


# -- generated texts -------------------------------------------------------------------------------


def test_cached_codes(kernel: ReductionKernel) -> None:
    assert not hasattr(kernel, "cached_code")
    with pytest.raises(KernelToolkitError, match="has not been called"):
        _ = kernel.cached_code
    with pytest.warns(UserWarning, match="nothing is compiled before the first call"):
        assert kernel.cached_codes == {}
    kernel(X, 2)
    assert "c * x" in kernel.cached_code
    kernel(X, 3, axis=0)
    kernel(X.astype(np.int8), 2)
    codes = kernel.cached_codes
    assert [tuple(map(str, key)) for key in codes] == [("float32",) * 2, ("int8",) * 2]
    with pytest.warns(UserWarning, match="Several sources"):
        assert kernel.cached_code == next(iter(codes.values()))


def test_cached_codes_of_masked_calls(kernel: ReductionKernel) -> None:
    kernel(X, 2, where=MASK)
    assert "c * x" in kernel.cached_code
    assert [tuple(map(str, key)) for key in kernel.cached_codes] == [("float32", "bool", "float32")]


SPEC = make("float32", X.shape)
OUT = make("float32", (4,))
FORMS: dict[str, tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...], dict[str, Any]]] = {
    "spec and array": ((SPEC, 2.0), {}, (X, 2.0), {}),
    "type of a number": ((X, float), {}, (X, 2.0), {}),
    "dtype of a number": ((X, np.dtype("f4")), {"axis": 0}, (X, np.float32(2)), {"axis": 0}),
    "by name": ((), {"c": 1, "x": SPEC}, (X, 1), {}),
    "list of axes": ((SPEC, 1), {"axis": [1, 0]}, (X, 1), {"axis": (0, 1)}),
    "axis from behind": ((SPEC, 1), {"axis": -1}, (X, 1), {"axis": 1}),
    "NumPy's integer": ((SPEC, 1), {"axis": np.int32(1)}, (X, 1), {"axis": 1}),
    "kept": ((SPEC, 1), {"axis": 0, "keepdims": True}, (X, 1), {"axis": 0, "keepdims": True}),
    "out": ((SPEC, 1), {"axis": 0, "out": OUT}, (X, 1, np.empty(4, "f4")), {"axis": 0}),
    "outs": ((SPEC, 1), {"axis": 0, "out": (OUT,)}, (X, 1), {"axis": 0, "y": np.empty(4, "f4")}),
    "mask": ((SPEC, 1), {"where": make("?", X.shape)}, (X, 1), {"where": MASK}),
    "array for a mask": ((SPEC, 1), {"where": MASK, "axis": 1}, (X, 1), {"where": MASK, "axis": 1}),
    "one mask for all": ((SPEC, 1), {"where": np.False_}, (X, 1), {"where": False}),
    "all": ((SPEC, 1), {"where": True}, (X, 1), {}),
    "two arrays": ((SPEC, make("f4", (3, 1))), {}, (X, X[:, :1].copy()), {}),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_text_is_known_without_memory_or_gpu(kernel: ReductionKernel, name: str) -> None:
    """A description's text is that of the call, and compiles for a GPU."""
    args, named, call_args, call_named = FORMS[name]
    unit = kernel.translation_unit(*args, **named, backend="host")
    assert unit == kernel.translation_unit(*call_args, **call_named, backend="host")
    codes: list[str] = []
    for dispatcher in (kernel._dispatcher, kernel._masked):
        dispatcher.codes.clear()
    kernel(*call_args, **call_named)
    codes += kernel.cached_codes.values()
    assert codes == [unit.source]
    cuda = kernel.translation_unit(*args, **named)
    assert (cuda.backend, cuda.entry, unit.entry) == ("cuda", "scaled", "_kt_entry_scaled")
    assert ("map_expr", "c * x") in cuda.origins
    assert kernel.compile(*args, **named, target="sm_90").kind == "cubin"


def test_a_size_ahead_of_time() -> None:
    unit = RAW.translation_unit(make("f4", 100), size=50, backend="host")
    assert unit == RAW.translation_unit(X.ravel(), size=12, c=2.5, backend="host")
    assert RAW.compile(make("f4", 100), size=50, target="sm_90").code


def test_compiling_ahead_serves_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    own = ReductionKernel("T x", "T y", "x * 23", "a + b", "y = a", "0", "ahead")
    for how in ({"axis": 1}, {"where": make("?", (20, 2000))}):
        code = own.compile(make("float32", (20, 2000)), target="host", **how)
        assert (code.kind, code.target.backend, code.entry) == (
            "shared-library",
            "host",
            "_kt_entry_ahead",
        )
    compiled = counted(monkeypatch, HostBackend, "compile")
    ones = np.ones((20, 2000), np.float32)
    same(own(ones, axis=1), np.full(20, 46_000, np.float32))
    same(own(ones, where=ones == 1), np.float32(23 * ones.size))
    assert compiled == []


@pytest.mark.parametrize(
    ("target", "kind"), [("sm_90", "cubin"), ("compute_80", "ptx"), ("sm_999", "ptx")]
)
def test_targets(target: str, kind: str) -> None:
    assert SUM.compile(X, axis=0, target=target).kind == kind


@pytest.mark.parametrize("name", ["max", "min", "norm", "T", "threadIdx", "a"])
def test_a_kernel_may_have_any_name(name: str) -> None:
    own = ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", "0", name)
    assert own.name == name
    same(own(X), X.max())
    assert own.compile(make("float32", (4,)), target="sm_90").entry.startswith(name)


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a"), ("where", "axis"), ("n", "out")])
def test_inputs_may_have_the_names_of_totals_and_of_options(names: tuple[str, str]) -> None:
    x, c = names
    own = ReductionKernel(f"T {x}, T {c}", "T y", f"{x} * {c}", "a + b", "y = a", "0", "named")
    same(own(X, 2), 2 * X.sum())
    same(own(X, 2, axis=0, where=MASK), 2 * X.sum(0, where=MASK))
    assert own.compile(SPEC, 2, target="sm_90").code


# -- arrays of other libraries ---------------------------------------------------------------------


class ByInterface:
    """Has ``__array_interface__``, as PIL's images do."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def __array_interface__(self) -> Any:
        return self.array.__array_interface__


class ByDlpack:
    """Has the DLPack protocol, as torch's and JAX's arrays do."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.dtype = f"other.{array.dtype}"

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = fake_torch.module()
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


@pytest.mark.parametrize("kind", [ByInterface, ByDlpack])
def test_inputs_and_outputs_share_memory(kind: Any) -> None:
    x, y = X.copy(), np.empty(4, np.float32)
    given = kind(y)
    for _ in range(2):
        assert SUM(kind(x), given, axis=0) is given
        assert SUM(kind(x), axis=0, out=given) is given
        same(y, x.sum(0))
        x += 1
    same(SUM(kind(x[:, ::-2]), axis=1), x[:, ::-2].sum(1))
    u, z = np.empty((), np.float32), np.empty(())
    pair = (u, kind(z))
    result = TWO(kind(x), out=pair)
    assert [a is b for a, b in zip(result, pair, strict=True)] == [True, True]
    same(z, 6 * x.sum(dtype="f8"))


def test_results_are_of_the_callers_kind(torch: ModuleType) -> None:
    result = SUM(Tensor(X), axis=1)
    assert type(result) is Tensor
    same(result.array, X.sum(1))
    assert [type(part) for part in TWO(Tensor(X))] == [Tensor, Tensor]


@pytest.mark.parametrize("kind", [ByInterface, ByDlpack, Tensor])
def test_masks_of_other_libraries(torch: ModuleType, kind: Any) -> None:
    same(SUM(X, where=kind(MASK), out=np.empty((), np.float32)), X.sum(where=MASK))
    with pytest.raises(ArgumentTypeError, match="'where' must be an array of dtype 'bool'"):
        SUM(X, where=kind(X), out=np.empty((), np.float32))
