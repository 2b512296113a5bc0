"""ElementwiseKernel as an object: plans, threads, pickling, cached texts, overriding arguments."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from kerneltk import (
    ArgumentValueError,
    ArraySpec,
    CompileError,
    DivisionError,
    ElementwiseKernel,
    ReductionKernel,
)
from kerneltk.backends.host.backend import HostBackend
from kerneltk.errors import NotCompiledError
from kerneltk.signature.parameters import NO_DEFAULT

X = np.arange(6, dtype=np.float32)


@pytest.fixture
def kernel() -> ElementwiseKernel:
    return ElementwiseKernel("T x, T a", "T y", "y = a * x", "scale")


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[int]:
    """Count the calls of a function from now on."""
    calls: list[int] = []
    original = getattr(owner, name)

    def count(*args: Any, **kwargs: Any) -> Any:
        calls.append(threading.get_ident())
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, count)
    return calls


# -- attributes ------------------------------------------------------------------------------------


def test_attributes_are_those_of_the_constructor() -> None:
    kernel = ElementwiseKernel(
        "T x, raw _non_const float32 w", "T y, int64 z", "y = x", "name_", False, "// text", True,
        True, options=["-DX=1"], loop_prep="int a;", after_loop="a = 1;",
    )  # fmt: skip
    assert (kernel.nin, kernel.nout, kernel.nargs) == (2, 2, 4)
    assert (kernel.operation, kernel.name, kernel.__name__) == ("y = x", "name_", "name_")
    assert (kernel.reduce_dims, kernel.no_return, kernel.return_tuple) == (False, True, True)
    assert kernel.preamble == "// text"
    assert kernel.kwargs == {
        "options": ("-DX=1",), "loop_prep": "int a;", "after_loop": "a = 1;",
    }  # fmt: skip
    assert [p.name for p in kernel.params] == ["x", "w", "y", "z", "_ind"]
    assert [p.name for p in kernel.in_params] == ["x", "w"]
    assert [p.name for p in kernel.out_params] == ["y", "z"]
    assert [(p.raw, p.is_const) for p in kernel.params[:3]] == [
        (False, True), (True, False), (False, False),
    ]  # fmt: skip
    assert repr(kernel) == (
        "<ElementwiseKernel name_(T x, raw _non_const float32 w) -> (T y, int64 z)>"
    )


# -- plans -----------------------------------------------------------------------------------------


def test_other_extents_compile_nothing(
    kernel: ElementwiseKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel(X, 2)
    compiled = counted(monkeypatch, HostBackend, "compile")
    for size in (2, 100, 40_000):
        np.testing.assert_array_equal(kernel(np.ones(size, np.float32), 2), np.full(size, 2))
    assert compiled == []


def test_a_refused_number_leaves_the_plan_usable() -> None:
    kernel = ElementwiseKernel("T x, int8 a", "T y", "y = x + a", "small")
    for _ in range(3):
        np.testing.assert_array_equal(kernel(X, 1), X + 1)
        with pytest.raises(OverflowError):
            kernel(X, 1000)
    (launcher,) = kernel._dispatcher._launchers.values()
    assert len(launcher.plans) == 1


def test_a_writable_array_does_not_stand_for_a_read_only_one(kernel: ElementwiseKernel) -> None:
    y = np.empty_like(X)
    kernel(X, 2, y)
    y.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        kernel(X, 3, y)
    np.testing.assert_array_equal(y, 2 * X)


# -- results ---------------------------------------------------------------------------------------


def test_outputs_by_keyword() -> None:
    kernel = ElementwiseKernel("T x, T a = 3", "T y, T z", "y = x; z = a", "two")
    y, z = np.empty_like(X), np.empty_like(X)
    result = kernel(X, z=z, y=y)
    assert result[0] is y
    assert result[1] is z
    assert z.tolist() == [3.0] * 6
    np.testing.assert_array_equal(kernel(a=1, x=X)[0], X)


def test_kernels_without_outputs_return_what_cupy_returns() -> None:
    kernel = ElementwiseKernel("T x, raw _non_const T y", "", "y[i] = x", "no_output")
    y = np.empty_like(X)
    assert kernel(X, y) == ()
    np.testing.assert_array_equal(y, X)


def test_a_non_const_input_is_written() -> None:
    kernel = ElementwiseKernel("_non_const T x, _non_const T a", "T y", "y = x; x = a; a = 0", "w")
    x = X.copy()
    np.testing.assert_array_equal(kernel(x, X + 1), X)
    np.testing.assert_array_equal(x, X + 1)


def test_size_minus_one_is_no_size(kernel: ElementwiseKernel) -> None:
    np.testing.assert_array_equal(kernel(X, 2, size=-1), 2 * X)


def test_an_empty_loop_compiles_nothing(
    kernel: ElementwiseKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = counted(monkeypatch, HostBackend, "compile")
    assert kernel(np.ones((0, 3), np.uint16), 2).shape == (0, 3)
    assert compiled == []


# -- arguments that take over ----------------------------------------------------------------------


class Lazy:
    def __cupy_override_elementwise_kernel__(self, kernel: Any, *args: Any, **kwargs: Any) -> Any:
        return kernel, args, kwargs


@pytest.mark.parametrize("before", [0, 1, 3])
def test_an_argument_may_take_over(kernel: ElementwiseKernel, before: int) -> None:
    for _ in range(before):
        kernel(X, 2)
    lazy = Lazy()
    assert kernel(lazy, 2) == (kernel, (lazy, 2), {})
    assert kernel(X, lazy, size=3) == (kernel, (X, lazy), {"size": 3})


# -- threads ---------------------------------------------------------------------------------------


def in_threads(count: int, work: Callable[[int], None]) -> None:
    barrier = threading.Barrier(count)

    def run(number: int) -> None:
        barrier.wait()
        work(number)

    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(run, number) for number in range(count)]:
            future.result()


def test_threads_compile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One kernel, or one of the same text for each thread."""
    compiled = counted(monkeypatch, HostBackend, "compile")
    shared = ElementwiseKernel("T x", "T y", "y = x * 17 + 4", "compiled_once")
    in_threads(8, lambda _: np.testing.assert_array_equal(shared(X), X * 17 + 4))
    assert len(compiled) == 1

    def work(_: int) -> None:
        own = ElementwiseKernel("T x", "T y", "y = x * 19 + 4", "own")
        np.testing.assert_array_equal(own(X), X * 19 + 4)

    in_threads(6, work)
    assert len(compiled) == 2


# -- pickling --------------------------------------------------------------------------------------


COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda kernel: pickle.loads(pickle.dumps(kernel)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("how", COPIES)
def test_copies_work(how: str) -> None:
    kernel = ElementwiseKernel(
        "T x, T a, float32 b = 0.5", "T y", "y = a * x + b + c", "copied", loop_prep="T c = 1;"
    )
    kernel(X, 2)
    twin = COPIES[how](kernel)
    assert repr(twin) == repr(kernel)
    assert twin.kwargs == kernel.kwargs
    assert [p.default is NO_DEFAULT for p in twin.in_params] == [True, True, False]
    np.testing.assert_array_equal(twin(X, 2), 2 * X + np.float32(1.5))
    with pytest.raises(TypeError, match="Parameter 'a' is missing"):
        twin(X)


# -- generated texts -------------------------------------------------------------------------------


def test_cached_codes(kernel: ElementwiseKernel) -> None:
    with pytest.raises(NotCompiledError, match="has not been called"):
        _ = kernel.cached_code
    with pytest.warns(UserWarning, match="nothing is compiled before the first call"):
        assert kernel.cached_codes == {}
    kernel(X, 2)
    assert "y = a * x" in kernel.cached_code
    kernel(X.astype(np.int8), 2)
    codes = kernel.cached_codes
    assert [tuple(map(str, key)) for key in codes] == [("float32",) * 2, ("int8",) * 2]
    with pytest.warns(UserWarning, match="Several sources"):
        assert kernel.cached_code == next(iter(codes.values()))
    codes.clear()  # a copy
    assert kernel.cached_codes


def test_the_text_is_known_without_memory_or_gpu(kernel: ElementwiseKernel) -> None:
    spec = ArraySpec.make("float32", 6)
    unit = kernel.translation_unit(spec, float, backend="host")
    assert unit.source == kernel.translation_unit(X, 2.0, backend="host").source
    kernel(X, 2.0)
    assert unit.source == kernel.cached_code
    assert (
        kernel.translation_unit(spec, np.dtype("f8")).source
        == kernel.translation_unit(spec, 1).source
    )
    assert ("operation", "y = a * x") in unit.origins


def test_compiling_ahead_serves_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x * 23", "ahead")
    code = kernel.compile(ArraySpec.make("float32", 1000), target="host")
    assert (code.kind, code.target.backend, code.entry) == (
        "shared-library",
        "host",
        "_kt_entry_ahead",
    )
    compiled = counted(monkeypatch, HostBackend, "compile")
    np.testing.assert_array_equal(kernel(X), X * 23)
    assert compiled == []


@pytest.mark.parametrize(
    ("target", "kind"), [("sm_90", "cubin"), ("compute_80", "ptx"), ("sm_999", "ptx")]
)
def test_targets(kernel: ElementwiseKernel, target: str, kind: str) -> None:
    assert kernel.compile(X, 2, target=target).kind == kind


def test_a_division_by_zero_is_an_error_and_the_process_lives() -> None:
    divide = ElementwiseKernel("T x, T z", "T y", "y = x / z", "divide")
    for size in (9, 200_000):
        top = np.full(size, np.iinfo(np.int32).min, np.int32)
        for bottom in (0, -1):
            with pytest.raises(DivisionError, match="divided an integer by zero"):
                divide(top, np.full(size, bottom, np.int32))
        np.testing.assert_array_equal(divide(top, np.full(size, 2, np.int32)), top // 2)


def test_a_call_without_arrays_runs_where_it_is_told_to() -> None:
    count = ElementwiseKernel("float32 a", "float32 y", "y = a * i", "count")
    result = count(2, size=4, backend="host")
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, [0, 2, 4, 6])


def test_ahead_of_time_takes_defaults_and_keywords() -> None:
    scale = ElementwiseKernel("T x, T a = 2", "T y", "y = a * x", "scale")
    spec = ArraySpec.make("float32", (16,))
    assert scale.translation_unit(spec) == scale.translation_unit(x=spec, a=float)


@pytest.mark.exhaustive
@pytest.mark.parametrize("align", [False, True])
def test_bools_of_records_are_true_whatever_their_byte(align: bool) -> None:
    x = np.zeros(20, np.dtype([("n", "i4"), ("f", [("b", "?"), ("c", "u1")], 2)], align=align))
    raw = x.view(np.uint8).reshape(20, -1)
    raw[:, x.dtype.fields["f"][1] + 2] = given = np.array([0, 1, 2, 255] * 5)
    double, copy = (
        ElementwiseKernel("T x", out, body)
        for out, body in (("int32 y", "y = x.f[1].b + x.f[1].b"), ("T y", "y = x"))
    )
    total = ReductionKernel("T x", "int32 y", "x.f[1].b + x.f[1].b", "a + b", "y = a", "0")
    for view, wanted in ((x, given), (x[::-3], given[::-3])):
        assert double(view).tolist() == (2 * (wanted != 0)).tolist()
        assert copy(view)["f"]["b"][:, 1].tobytes() == (wanted != 0).tobytes()
        assert total(view) == 2 * np.count_nonzero(wanted)
    assert raw.max() == 255
    for kernel in (double, total):
        kernel.compile(ArraySpec.make(x.dtype, (20,)), target="sm_90")


def test_the_address_of_an_element_of_a_raw_bool_array() -> None:
    expr = "const unsigned char* d = (const unsigned char*)&x[0]; y = d[i] + 1000 * (x[i] == true)"
    kernel = ElementwiseKernel("raw T x", "int32 y", expr)
    x = np.array([0, 1, 2, 255], np.uint8)
    assert kernel(x.view(bool), np.empty(4, np.int32)).tolist() == [0, 1001, 1002, 1255]
    flags, out = ArraySpec.make("bool", (4,)), ArraySpec.make("int32", (4,))
    assert kernel.compile(flags, out, target="sm_90").code
    const = ElementwiseKernel("raw T x", "int32 y", "const bool* p = &x[{i}]; y = *p + x[0];")
    assert const(x[:2].view(bool), np.empty(2, np.int32)).tolist() == [0, 1]


def test_an_output_that_nothing_writes_is_not_allocated() -> None:
    kernel = ElementwiseKernel("T x", "T y, T z", "y = x", "half_done")
    with pytest.raises(ArgumentValueError, match="Nothing in kernel 'half_done' writes output 'z'"):
        kernel(np.ones(3))
    y, z = kernel(np.ones(3), np.empty(3), np.full(3, 2.0))
    assert (y == 1).all()
    assert (z == 2).all()
    by_macro = ElementwiseKernel("T x", "T y", "SET(2)", options=("-DSET(v)=y=v*x",))
    assert (by_macro(np.ones(3)) == 2).all()
    joined = ElementwiseKernel("T x", "T long_name", "long_\\\nname = x", "joined")
    assert (joined(np.ones(3)) == 1).all()
    total = ReductionKernel("T x", "T y, T z", "x", "a + b", "y = a", "0", "half_total")
    with pytest.raises(
        ArgumentValueError, match="Nothing in kernel 'half_total' writes output 'z'"
    ):
        total(np.ones(3))


def test_what_nvrtc_takes_of_extensions_is_taken_on_the_host() -> None:
    code = "struct P { T a, b; };\nP p = {.a = x, .b = -1};\ny = __builtin_copysignf(p.a, p.b)"
    options = ("--std=c++20",)
    kernel = ElementwiseKernel("T x", "T y", code, "negative", options=options)
    np.testing.assert_array_equal(kernel(np.float32([1, -2])), [-1, -2])
    kernel = ElementwiseKernel("T x", "T y", code, "negative")
    with pytest.raises(CompileError, match="NVRTC has no"):
        kernel(np.float32([1, -2]))
