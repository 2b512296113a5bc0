"""Compiled launchers take arrays of other libraries by their exchange tables, as the launch in
Python does, or they leave them to it.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import jit
from kerneltk.backends import foreign_arrays
from kerneltk.core.settings import get_settings
from kerneltk.fusion.programs import Programs
from kerneltk.fusion.trace.users import with_parts
from kerneltk.interop import exchange
from kerneltk.interop.torch_tensors import _interceptions
from kerneltk.launch import compiled


@pytest.fixture(autouse=True)
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launchers are compiled, and the library is known."""
    monkeypatch.setenv("KERNELTK_LAUNCHER", "compiled")
    get_settings.cache_clear()
    if compiled.launcher_class() is None:
        pytest.skip("no compiled launchers here")
    lent_library()


# -- a library that is made here -------------------------------------------------------------------


class DlTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


class Table(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
        ("older", ctypes.c_void_p), ("allocate", ctypes.c_void_p), ("take", ctypes.c_void_p),
        ("give", ctypes.c_void_p), ("read", ctypes.c_void_p), ("stream", ctypes.c_void_p),
    )  # fmt: skip


_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class Lent:
    """NumPy's memory as another library's array."""

    refused = is_lazy = requires_grad = locked = has_no_memory = False
    device_type, lanes, owned, first = 1, 1, 1 << 40, 0

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)
        self.written = 0
        steps = [step // self.array.itemsize for step in self.array.strides]
        self.shape = (ctypes.c_int64 * (self.array.ndim + 1))(*self.array.shape)
        self.steps = (ctypes.c_int64 * (self.array.ndim + 1))(*steps)

    def __dlpack__(self, **words: Any) -> Any:
        return self.array.__dlpack__(**words)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DlTensor))
def read_lent(lent: Lent, tensor: Any) -> int:
    if lent.refused:
        return -1
    array, out = lent.array, tensor.contents
    out.data, out.device_type, out.device = array.ctypes.data - 8, lent.device_type, 0
    out.byte_offset, out.ndim, out.lanes = 8, array.ndim, lent.lanes
    if lent.has_no_memory:
        out.data = out.byte_offset = 0
    out.code, out.bits = _CODES[array.dtype.kind], 8 * array.itemsize
    out.shape, out.strides = ctypes.addressof(lent.shape), ctypes.addressof(lent.steps)
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.c_void_p)
def no_stream(*_: Any) -> int:
    return 1


def note(written: list[Lent]) -> None:
    for lent in written:
        lent.written += 1


spoilt_outputs: dict[str, Any] = {}
intercepting: list[str] = []
makers_used: list[str] = []


def maker(shape: tuple[int, ...], dtype: Any, order: str, device: Any) -> Any:
    assert device is None

    def make(*args: Any, order: str, how: str = "public") -> Lent:
        makers_used.append(how)
        made = Lent(np.empty(*args, order=order))  # type: ignore[call-overload]
        for name, value in spoilt_outputs.items():
            setattr(made, name, value)
        return made

    def quick(*args: Any) -> Lent:
        return make(*args[:-1], order=args[-1], how="quick")

    return exchange.Maker(make, (shape, dtype), {"order": order}, quick, (shape, dtype, order))


def view(shape: tuple[int, ...], steps: tuple[int, ...], first: int) -> Any:
    def call(lent: Lent) -> Lent:
        array = lent.array
        whole = np.lib.stride_tricks.as_strided(
            array, array.size and (first + 1,), (array.itemsize,)
        )
        strides = [step * array.itemsize for step in steps]
        made = Lent(np.lib.stride_tricks.as_strided(whole[first:], shape, strides))
        made.base = lent
        return made

    return call


class Unknown(Lent):
    """A type of the library's that nobody was told of."""


class Leased(Lent):
    """An array of a second library's."""


@cache
def lent_library(kind: type[Lent] = Lent) -> Any:
    """Make a library known, for good."""

    table = Table(1, 0, None, None, None, None)
    table.read = ctypes.cast(read_lent, ctypes.c_void_p)
    table.stream = ctypes.cast(no_stream, ctypes.c_void_p)
    newer = Table(2, 0, ctypes.addressof(table))  # of a version that is not known here
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = (
        ctypes.py_object,
        (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p),
    )
    capsule = new(ctypes.addressof(newer), b"dlpack_exchange_api", None)
    exchange.register(
        exchange.ExchangeLibrary(
            (kind,),
            capsule,
            exchange.dtype_of,
            (lambda lent: lent.is_lazy,),
            lambda lent: SimpleNamespace(nbytes=lambda: lent.owned),
            lambda lent: lent.first,
            "requires_grad",
            lambda lent: not lent.locked,
            note,
            maker,
            (lambda: "first" in intercepting, lambda: intercepting.count("second")),
            kind_of=lambda lent: (lent.array.dtype, lent.array.shape, lent.array.strides),
            view=view,
        )
    )
    return table, newer, capsule


def is_fast(result: Any) -> bool:
    """Whether a compiled launcher has allocated a result: other launches give NumPy's arrays."""
    return isinstance(result, Lent)


def test_a_plan_is_shared_with_the_backends_own_arrays() -> None:
    kernel = kerneltk.ElementwiseKernel("T x", "T y", "y = x + 1", "shared_plan")
    x = np.arange(6, dtype=np.int16)
    for array in (x, x.reshape(2, 3), x.reshape(2, 3).T, x[::-1], x[::2]):
        kernel(array)
        assert is_fast(kernel(Lent(array)))
        assert kernel(Lent(array)).array.tolist() == (array + 1).tolist()
    assert not is_fast(kernel(Lent(x[1:])))  # of another shape
    assert is_fast(kernel(Lent(x[1:])))


@pytest.mark.parametrize(
    "spoilt",
    [
        {"is_lazy": True}, {"owned": 47}, {"first": 1 << 40}, {"lanes": 2}, {"device_type": 99},
    ],
)  # fmt: skip
def test_what_the_table_does_not_say_is_asked(spoilt: dict[str, Any]) -> None:
    kernel = kerneltk.ElementwiseKernel("T x", "T y", "y = -x", "negated_lent")
    x = Lent(np.arange(12, dtype=np.float32))
    kernel(x)
    assert is_fast(kernel(x))
    for name, value in spoilt.items():
        setattr(x, name, value)
    assert not is_fast(kernel(x))


def test_writes() -> None:
    kernel = kerneltk.ElementwiseKernel("T x", "T y", "y = 2 * x", "doubled_lent")
    x, y = Lent(np.arange(5.0)), Lent(np.zeros(5))
    kernel(x, y)
    assert kernel(x, y) is y
    assert (y.written, x.written) == (1, 0)  # the first call is Python's, which knows no such note
    assert y.array.tolist() == [0, 2, 4, 6, 8]
    y.requires_grad = True
    kernel(x, y)
    assert y.written == 2
    y.locked = True
    kernel(x, y)  # by Python, which takes the array by another protocol
    assert y.written == 2


def test_raw_kernels() -> None:
    code = """extern "C" __global__ void twice(const float* x, float* y, int n) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }"""
    kernel = kerneltk.RawKernel(code, "twice")
    x, y = Lent(np.arange(64, dtype=np.float32)), Lent(np.zeros(64, np.float32))
    for times in range(3):
        kernel((1,), (64,), (x, y, 64))
        assert y.written == times
        assert y.array.tolist() == (2 * x.array).tolist()
        y.array[:] = 0
    for wrong in (np.zeros(64), np.zeros(128, np.float32)[::2], np.zeros(3, np.uint8)):
        with pytest.raises(kerneltk.KernelToolkitError, match="'y'"):
            kernel((1,), (64,), (x, Lent(wrong), 64))


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What takes arrays in Python from now on: a call that enters there is no launcher's."""
    entered: list[str] = []
    for owner, name in ((foreign_arrays, "import_array"), (Programs, "call")):
        own = getattr(owner, name)
        monkeypatch.setattr(
            owner, name, lambda *a, own=own, name=name: (entered.append(name), own(*a))[1]
        )
    return entered


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _moved_rows(x: Any, y: Any) -> None:
    x[1:, 1:] += y[:-1, :-1] - y[:-1, :-1].mean()


def _moved(x: Any, y: Any) -> Any:
    x += y
    return x


FUSED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "chain": (lambda x, y, k: np.exp(x) * y + k, (X := np.ones((4, 6), np.float32), X + 1, 2.5)),
    "column": (lambda x, y: x - 2 * y, (X, X[:, :1].copy())),
    "transposed": (lambda x: x * 2, (X.T,)),
    "rows": (_softmax, (X,)),
    "sum": (lambda x: (x * x).sum(), (X,)),
    "kernels": (lambda x, k: (x - x.mean(axis=0)) * k, (X, 3.0)),
    "several axes": (lambda x: x[None].sum(axis=(0, 2)), (X,)),
    "views": (lambda x: x[1:, ::2] * 2 + x[:-1, 1::2], (X,)),
    "views of results": (lambda x: (x.T, x[1:].sum(axis=1)[2], x + x.mean(axis=0)), (X,)),
    "results": (lambda x: {"a": x + 1, "b": [x.sum(axis=1), None, (x,)], "n": x.shape[0]}, (X,)),
    "writes": (_moved, (X, X * 3)),
    "writes a part": (_moved_rows, (X, X * 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUSED)
def test_repeated_calls_of_fused_functions_are_the_launchers(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, given = FUSED[name]
    fused = kerneltk.fuse(program)
    args = [Lent(one.copy(order="A")) if isinstance(one, np.ndarray) else one for one in given]
    own = [one.copy(order="A") if isinstance(one, np.ndarray) else one for one in given]
    fused(*args), program(*own)
    entered = counted(monkeypatch)
    for _ in range(300 if name in ("chain", "rows") else 3):
        found, wanted = fused(*args), program(*own)
    assert entered == []
    parts: tuple[list[Any], list[Any]] = [], []
    with_parts(found, parts[0].append), with_parts(wanted, parts[1].append)
    for one, other in zip(*parts, strict=True):
        assert isinstance(one, Lent) is isinstance(other, np.ndarray | np.float32)
        np.testing.assert_allclose(one.array, other, rtol=1e-5) if is_fast(one) else None
    for one, other in zip(args, own, strict=True):
        np.testing.assert_allclose(one.array, other, rtol=1e-5) if is_fast(one) else None
    if name == "writes":
        assert (found is args[0], args[0].written, args[1].written) == (True, 3, 0)


TABLE = np.arange(24, dtype=np.float32).reshape(4, 6)
MIXED: dict[str, Callable[..., Any]] = {
    "chain": lambda x, y: np.exp(x) * y + 1,
    "rows": lambda x, y: _softmax(x) + y,
    "kernels": lambda x, y: (x - y.mean(axis=0)) * 3,
    "views": lambda x, y: x[1:, ::2] * 2 + y[:-1, 1::2] - TABLE[1:, ::2],
    "writes": _moved,
}


def test_results_of_numpys_arrays_beside_a_librarys_are_the_same_kind_each_time() -> None:
    for program in (lambda x, y: (x + 1, y * 2), lambda x, y: (x[1:], y * 2), lambda x, y: (x, -y)):
        fused = kerneltk.fuse(program)
        kinds = {type(fused(X, Lent(X))[0]) for _ in range(3)}
        assert kinds == {np.ndarray}  # what this library's converter leaves them


def test_arrays_of_two_libraries_have_no_shortcut() -> None:
    lent_library(Leased)
    for program in (lambda x, y: np.exp(x) * y, lambda x, y: x - y.mean(axis=0)):
        fused = kerneltk.fuse(program)
        for _ in range(3):
            np.testing.assert_allclose(fused(Lent(X), Leased(X)), program(X, X), rtol=1e-5)


@pytest.mark.parametrize("name", MIXED)
def test_arrays_of_a_library_and_of_numpys_together(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fused = kerneltk.fuse(MIXED[name])
    kinds: list[tuple[Any, Any]] = [(Lent, np.array), (np.array, Lent)]
    for first, second in kinds:
        x, y, own = first(X.copy()), second(X * 3), X.copy()
        fused(x, y), MIXED[name](own, X * 3)
        with monkeypatch.context() as patch:
            entered = counted(patch)
            for _ in range(3):
                found, wanted = fused(x, y), MIXED[name](own, X * 3)
            assert entered == []
        assert is_fast(found) or (name == "writes" and found is x)
        np.testing.assert_allclose(found.array if is_fast(found) else found, wanted, rtol=1e-5)


@pytest.mark.parametrize(
    ("spoilt", "program"),
    [
        ({"is_lazy": True}, "kernels"), ({"device_type": 99}, "rows"), ({"refused": True}, "chain"),
        ({"owned": 47}, "views"),
        ({"requires_grad": True, "locked": True}, "writes"),
    ],
)  # fmt: skip
def test_shortcuts_ask_what_the_table_does_not_say(
    spoilt: dict[str, Any], program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, given = FUSED[program]
    fused = kerneltk.fuse(function)
    args = [Lent(one.copy()) if isinstance(one, np.ndarray) else one for one in given]
    fused(*args), fused(*args)
    entered = counted(monkeypatch)
    for name, value in spoilt.items():
        setattr(args[0], name, value)
    fused(*args)
    assert "call" in entered


def test_vectorized_functions_take_libraries_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    added = kerneltk.vectorize(lambda x, y: x * y + 1)
    kernel = jit.kernel(lambda x, y: x * y + 1)
    x, y = np.arange(6.0), np.arange(6.0) + 1
    for function in (added, kernel):
        pairs = [(Lent(x), Lent(y)), (Lent(x), y), (x, Lent(y))]
        for pair in pairs:
            function(*pair)
        with monkeypatch.context() as patch:
            entered = counted(patch)
            for pair in (*pairs, *pairs):
                assert function(*pair).array.tolist() == (x * y + 1).tolist()
            assert entered == []


@pytest.mark.parametrize("name", ["refused", "__class__", "has_no_memory"])
def test_outputs_without_memory_are_pythons(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kerneltk.ElementwiseKernel("T x", "T y", "y = 7 * x", "no_memory_lent")
    x = Lent(np.arange(5.0))
    kernel(x)
    assert is_fast(kernel(x))
    spoilt = {"refused": True, "__class__": Unknown, "has_no_memory": True}
    monkeypatch.setitem(spoilt_outputs, name, spoilt[name])
    result = kernel(x)
    assert not is_fast(result)
    assert result.tolist() == (7 * x.array).tolist()


def test_an_interrupt_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kerneltk.ElementwiseKernel("T x", "T y", "y = 9 * x", "interrupted_lent")
    x, y = Lent(np.arange(5.0)), Lent(np.zeros(5))
    kernel(x, y), kernel(x, y)
    y.array[:] = 0
    y.requires_grad = True

    def interrupt(lent: Lent) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(Lent, "locked", property(interrupt))
    with pytest.raises(KeyboardInterrupt):
        kernel(x, y)
    assert not y.array.any()


def test_what_a_library_changes_while_it_is_asked_is_read_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = kerneltk.ElementwiseKernel("T x", "T y", "y = 4 * x", "changed_lent")
    x, y = Lent(np.arange(5.0)), Lent(np.zeros(5))
    kernel(x, y), kernel(x, y)
    y.requires_grad = True

    def change(asked: Lent) -> bool:
        x.array = np.arange(10.0, 15.0)
        return False

    monkeypatch.setattr(Lent, "locked", property(change))
    kernel(x, y)
    assert y.array.tolist() == [40, 44, 48, 52, 56]


def test_nothing_leaks() -> None:
    kernel = kerneltk.ElementwiseKernel("T x", "T y", "y = 3 * x", "counted_lent")
    x, y = Lent(np.arange(5.0)), Lent(np.zeros(5))
    wrong = Lent(np.arange(5.0))
    wrong.is_lazy = True
    for _ in range(3):
        kernel(x, y), kernel(x), kernel(wrong)
    gc.collect()  # other tests' garbage has dtypes, too
    objects = (x, y, x.array, y.array, np.dtype(np.float64), wrong)
    before = [sys.getrefcount(one) for one in objects]
    for _ in range(500):
        kernel(x, y), kernel(x), kernel(wrong)
    after = [sys.getrefcount(one) for one in objects]
    assert all(abs(a - b) < 50 for a, b in zip(after, before, strict=True))


def test_bad_tables_are_not_taken() -> None:
    module = compiled._loader.module()
    assert module is not None
    nothing = (None,) * 2
    with pytest.raises(ValueError, match="PyCapsule"):
        module.add_library((Lent,), object(), None, (), *nothing, "", None, None, None, (), None)
    with pytest.raises(TypeError):
        module.add_library((Lent,))


# -- torch's tensors -------------------------------------------------------------------------------


def tensor_programs(torch: Any) -> list[Callable[[], Any]]:
    """Calls of every front-end with tensors of all sorts."""
    scaled = kerneltk.ElementwiseKernel("T x, T a", "T y", "y = x * a", "scaled_tensor")
    summed = kerneltk.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "summed_tensor")
    shifted = kerneltk.ElementwiseKernel("raw T x, int64 n", "T y", "y = x[i % n]", "raw_tensor")
    code = """extern "C" __global__ void plus(const float* x, float* y, int n) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] + 1; }"""
    plus = kerneltk.RawKernel(code, "plus")
    x = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    z = torch.view_as_complex(x.reshape(4, 3, 2).clone())
    freed, shrunk = torch.ones(8), torch.ones(8)
    view = freed[4:]
    freed.untyped_storage().resize_(0)
    shrunk.untyped_storage().resize_(8)
    with torch.inference_mode():
        inferred = torch.ones(3)
    inputs = [
        x, x.T, x[::2], x[1:, 1:], x[:0], x[:, 0], x[0, 0], x.double(), x.half(), x.int(), x > 3,
        x.to(torch.uint8), x.expand(2, 4, 6), x.clone().requires_grad_(), torch.nn.Parameter(x),
        z, z.conj(), z.mH, z.conj().imag, z.imag, inferred, freed, view, shrunk,
        x.to_sparse(), x.to("meta"), torch.zeros(2, 0, 3), torch.ones(1, 5, 1).expand(3, 5, 2),
    ]  # fmt: skip

    def into(y: Any) -> Callable[[], Any]:
        def call() -> Any:
            before = y._version
            scaled(x, 2.0, y)
            return y.detach().clone(), y._version - before

        return call

    outputs = [
        torch.empty(4, 6), torch.empty(6, 4).T, torch.empty(4, 6, requires_grad=True),
        torch.empty(4, 12)[:, ::2], torch.empty(4, 6, dtype=torch.float64), torch.empty(3),
        torch.empty(4, 6).expand(2, 4, 6)[0], torch.empty(1, 6).expand(4, 6),
    ]  # fmt: skip
    programs: list[Callable[[], Any]] = [lambda t=t: scaled(t, 2) for t in inputs]
    programs += [lambda t=t: summed(t) for t in inputs]
    programs += [lambda t=t: summed(t, axis=0) for t in (x, x.T, x[1:], z, z.conj())]
    programs += [lambda t=t: shifted(t, 3, size=7) for t in (x[0], z[0], z[0].conj())]
    programs += [into(y) for y in outputs]

    def raw(source: Any, target: Any) -> Callable[[], Any]:
        def call() -> Any:
            plus((1,), (32,), (source, target, 24))
            return target.clone()

        return call

    targets = [torch.zeros(24), torch.zeros(4, 6), torch.zeros(48)[::2], torch.zeros(24).double()]
    programs += [raw(x, y) for y in targets]
    programs += [raw(x.T, torch.zeros(24)), raw(x.clone().requires_grad_(), torch.zeros(24))]
    programs.append(raw(x, torch.zeros(24, requires_grad=True)))

    def unrecorded() -> Any:
        y = torch.zeros(24, requires_grad=True)
        with torch.no_grad():
            plus((1,), (32,), (x, y, 24))
        return y.detach().clone(), y._version

    def transformed() -> Any:
        return torch.vmap(lambda row: scaled(row, 2))(x)

    return [*programs, unrecorded, transformed]


def outcome(call: Callable[[], Any]) -> Any:
    try:
        result = call()
    except Exception as error:
        return type(error).__name__, str(error)
    results = result if isinstance(result, tuple) else (result,)
    return [
        (type(r).__name__, str(r.dtype), tuple(r.shape), r.stride(), repr(r.tolist()))
        if hasattr(r, "stride")
        else r
        for r in results
    ]


def test_tensors_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    outcomes = []
    for mode in ("python", "compiled"):
        monkeypatch.setenv("KERNELTK_LAUNCHER", mode)
        get_settings.cache_clear()
        programs = tensor_programs(torch)
        outcomes.append([[outcome(call) for _ in range(3)] for call in programs])
    for k, (in_python, by_launcher) in enumerate(zip(*outcomes, strict=True)):
        assert by_launcher == in_python, k


def test_results_are_made_in_the_quick_way_where_nothing_intercepts_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = kerneltk.ElementwiseKernel("T x", "T y", "y = 7 * x", "made_quickly")
    x = Lent(np.arange(5.0))
    kernel(x), kernel(x)
    for given, wanted in (([], "quick"), (["first"], "public"), (["second"], "public")):
        monkeypatch.setattr(f"{__name__}.intercepting", intercepting)
        intercepting[:] = given
        makers_used.clear()
        try:
            result = kernel(x)
        finally:
            intercepting.clear()
        assert makers_used == [wanted]
        assert result.array.tolist() == [0, 7, 14, 21, 28]


def test_torch_modes_and_settings_are_seen() -> None:
    torch = pytest.importorskip("torch")
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    tells = _interceptions(torch)
    assert tells
    assert not any(tell() for tell in tells)
    for mode in (TorchDispatchMode, TorchFunctionMode):
        with mode():
            assert any(tell() for tell in tells)
    torch.use_deterministic_algorithms(True)  # new memory is filled then
    try:
        assert any(tell() for tell in tells)
    finally:
        torch.use_deterministic_algorithms(False)
    total = kerneltk.ElementwiseKernel("T x", "T y", "y = x + 1", "seen_by_modes")
    x = torch.arange(3.0)
    total(x), total(x)
    with torch.inference_mode():
        assert total(x).is_inference()
    assert not total(x).is_inference()


@pytest.mark.parametrize("name", ["fake", "grad", "functionalize"])
def test_results_where_torch_makes_tensors_without_memory(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    fake = pytest.importorskip("torch._subclasses.fake_tensor")
    x, one = torch.arange(5.0), torch.tensor(1.0)
    seen: list[Any] = []
    for mode in ("python", "compiled"):
        monkeypatch.setenv("KERNELTK_LAUNCHER", mode)
        get_settings.cache_clear()
        kernel = kerneltk.ElementwiseKernel("T x", "T y", "y = 5 * x", f"{mode}_{name}")
        kernel(x), kernel(x)

        def call(value: Any, kernel: Any = kernel) -> Any:
            result = kernel(x)
            seen.append((type(result), tuple(result.shape)))
            return result.sum() * value

        if name == "fake":
            with fake.FakeTensorMode(allow_non_fake_inputs=True):
                call(2)
        else:
            assert getattr(torch.func, name)(call)(one).item() == 50
        assert kernel(x).tolist() == (5 * x).tolist()
    assert seen[0] == seen[1]


# -- a library without a table ---------------------------------------------------------------------


class Fixed(Lent):
    """An array that never changes, as JAX's."""


def import_fixed(value: Any) -> foreign_arrays.Imported:
    return foreign_arrays.Imported(np.from_dlpack(value), Fixed, lock=("it is fixed", "copy it."))


def both_ways(x: Any, y: Any) -> Any:
    return x[1:] + y[:-1], x, (x * y).T, x.shape[0]


def test_arrays_without_a_table_are_imported_once_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[Any] = []
    monkeypatch.setitem(
        foreign_arrays._importers, Fixed, lambda value: imported.append(0) or import_fixed(value)
    )
    words = exchange.DTYPES, exchange.dtype_of, 0, 0, None
    exchange.register(exchange.Importer(Fixed, np.ndarray, 1, np.from_dlpack, Fixed, None, *words))
    own, copied = np.arange(12.0).reshape(4, 3), jit.kernel(lambda x, y: x * y + 1)
    twice = kerneltk.ElementwiseKernel("T x", "T y", "y = 2 * x")
    total = kerneltk.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0")
    fused, out = kerneltk.fuse(both_ways), np.zeros_like(own)
    for k in range(4):
        del imported[:]
        x = Fixed(own + k)
        first, again, turned, number = fused(x, Fixed(own))
        assert again is x
        assert number == 4
        np.testing.assert_array_equal(first.array, own[1:] + k + own[:-1])
        np.testing.assert_array_equal(turned.array, ((own + k) * own).T)
        np.testing.assert_array_equal(copied(x, own).array, (own + k) * own + 1)
        np.testing.assert_array_equal(twice(x).array, 2 * own + 2 * k)
        assert twice(x, out) is out
        assert total(x).array == (own + k).sum()
        for write in (lambda: twice(own, x), lambda: copied(own, own, out=x)):  # noqa: B023
            with pytest.raises(kerneltk.ArgumentValueError, match="it is fixed"):
                write()
        turned = Fixed(own.T[::-1])
        np.testing.assert_array_equal(twice(turned).array, 2 * turned.array)
    assert len(imported) == 2  # by Python, for the errors


current_device = [0]


def address_of(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_void_p))
def read_context(context: Any) -> int:
    context[0] = 8 + current_device[0]
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
def make_current(context: int) -> int:
    current_device[0] = context - 8
    return 0


class Freed(np.ndarray[Any, Any]):
    """Makes another device current where it is freed."""

    def __del__(self) -> None:
        current_device[0] = 6


class Moving(Lent):
    """Makes other devices current where it is read, made or freed, as JAX's arrays."""

    def __init__(self, array: Any) -> None:
        super().__init__(array)
        current_device[0] = 7

    def __dlpack__(self, **words: Any) -> Any:
        current_device[0] = 5
        return self.array.view(Freed).__dlpack__(**words)


@pytest.mark.parametrize("device", [0, 1])
def test_the_current_device_stays_with_libraries_that_change_it(
    device: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported: list[Any] = []

    class Own(Moving):
        pass

    def by_python(value: Any) -> foreign_arrays.Imported:
        imported.append(value)
        return foreign_arrays.Imported(value.array, lambda array: array)

    monkeypatch.setitem(foreign_arrays._importers, Own, by_python)
    functions = 0, 0, lambda: current_device[0], address_of(read_context), address_of(make_current)
    words = exchange.DTYPES, exchange.dtype_of, *functions
    exchange.register(
        exchange.Importer(Own, np.ndarray, 1, lambda one: one.array, Own, None, *words)
    )
    twice = kerneltk.ElementwiseKernel("T x", "T y", "y = 2 * x", "twice_where_it_is")
    fused = kerneltk.fuse(lambda x: x[1:] + x[:-1])
    own = np.arange(6.0)
    for k in range(4):
        x = Own(own)
        current_device[0] = device
        del imported[:]
        for call in (twice, fused):
            call(x)
            assert current_device[0] == device
        assert bool(imported) == (k == 0 or device == 1)  # by Python, which launches there
