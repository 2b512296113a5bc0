"""Compiled launchers do what those in Python do: results, errors, plans, memory."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import kerneltk
from kerneltk import jit
from kerneltk.backends.base import ArrayAccess, Bound, LaunchCall
from kerneltk.core.settings import get_settings
from kerneltk.launch import compiled, interpreter
from kerneltk.launch.called import by_methods
from kerneltk.launch.launcher_spec import Argument, LauncherSpec

from ..dry_gpu import DryGpu
from ..dry_gpu import gpu as gpu

Calls = list[Callable[[], Any]]


@pytest.fixture(scope="module")
def launcher_class() -> Any:
    """The class, which is waited for."""
    patch = pytest.MonkeyPatch()
    patch.setenv("KERNELTK_LAUNCHER", "compiled")
    get_settings.cache_clear()
    found = compiled.launcher_class()
    patch.undo()
    get_settings.cache_clear()
    return found


def outcome(call: Callable[[], Any]) -> Any:
    try:
        result = call()
    except Exception as error:
        return type(error).__name__, str(error)
    results = result if isinstance(result, tuple) else (result,)
    results = tuple(p for r in results for p in (r if isinstance(r, tuple) else (r,)))
    return type(result).__name__, [
        (r.dtype.str, r.shape, r.strides, repr(r.tolist())) if isinstance(r, np.ndarray) else r
        for r in results
    ]


# -- one program, both ways ------------------------------------------------------------------------


def frozen(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


def elementwise() -> Calls:
    kernel = kerneltk.ElementwiseKernel("T x, T a", "T y", "y = x * a", "scaled")
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    odd = np.frombuffer(bytearray(4 * 24 + 1), np.float32, 24, 1).reshape(4, 6)
    odd[:] = x
    y = np.empty_like(x)
    line = np.arange(40, dtype=np.float32)
    inputs = [
        x, x.T, x[::2, ::-1], x[1:, 1:], odd, x[:0], x.astype(np.float64), x.astype(">f4"),
        x.astype(np.int16), x[0, 0], x.astype("?"), x.astype("O"), np.float32(3), [1.0], None,
    ]  # fmt: skip
    calls: Calls = [lambda x=x: kernel(x, 2) for x in inputs]
    calls += [lambda a=a: kernel(x, a) for a in (2.5, True, 1e300, 2**70, 1j, np.float32(2), "a")]
    calls += [lambda a=a: kernel(x.astype("i1"), a) for a in (1, 127, 128, -129, 1.5, np.int8(3))]
    calls += [
        lambda: kernel(x, 2.0, y),
        lambda: kernel(x, 2.0, y.T),
        lambda: kernel(line[:30], 2.0, line[5:35].copy()),
        lambda: (kernel(line[:30], 0.5, line[5:35]), line.copy())[1],
        lambda: (kernel(line, 0.5, line), line.copy())[1],
        lambda: kernel(x, 2.0, frozen(np.empty_like(x))),
        lambda: kernel(x, 2.0, np.empty(3, np.float32)),
        lambda: kernel(x, 2.0, y, y),
        lambda: kernel(x),
        lambda: kernel(x, 2.0, stream=None),
        lambda: kernel(x, 2.0, block_size=64),
        lambda: kernel(x=x, a=2.0),
        lambda: kernel(x, a=4),
        lambda: kernel(x, 2.0, size=3),
        lambda: kernel(x, 2.0, out=y),
        lambda: kernel(*[x] * 9),
        lambda: kernel(),
    ]
    divide = kerneltk.ElementwiseKernel(
        "int32 x, int32 a", "int32 y, float64 z", "y = x / a; z = y"
    )
    whole = np.arange(5, dtype=np.int32)
    divisors = (2, 3) if get_settings().host_sanitizers else (2, 0)  # they tell of it themselves
    return [*calls, *(lambda x=x, a=a: divide(x, a) for x in (whole, whole[1:]) for a in divisors)]


def reduction() -> Calls:
    kernel = kerneltk.ReductionKernel("T x, T a", "T y", "x * a", "a + b", "y = a", "0", "total")
    x = np.arange(24, dtype=np.float64).reshape(2, 3, 4)
    many, one = np.ones(100_000, np.float32), np.zeros(())
    pair = kerneltk.ReductionKernel(
        "T x, T a = 1", "T y, T z", "x * a", "a + b", "y = a; z = -a", "0", "pair"
    )
    outs: list[Any] = [one, None, (one,), [one], 3, many, (one, one.copy()), (one, one, one)]
    calls: Calls = [
        lambda axis=axis, keep=keep: kernel(x, 2.0, axis=axis, keepdims=keep)
        for axis in (None, 0, 1, (0, 2), (), -1, 3, 1.0, True)
        for keep in (False, True)
    ]
    return [
        *calls,
        lambda: kernel(x[::-1, :, ::2], 1),
        lambda: kernel(many, 1.0),
        lambda: kernel(x, 2.0, out=np.empty((2, 4)), axis=1),
        lambda: kernel(x, 2.0, out=frozen(np.empty((2, 4))), axis=1),
        lambda: kernel(x[:, :0], 2.0, axis=1),
        *(lambda k=k, a=a: k(*a) for k in (kernel, pair)
          for a in ((), (x,), (x, 2, one), (x, 2, one, one.copy()), (x, 2, one, one, one))),
        *(lambda k=k, a=a, o=o: (k(*a, out=o), one.copy()) for k in (kernel, pair)
          for a in ((x,), (x, 2), (x, 2, one)) for o in outs),
        lambda: kernel(x, 2.0, other=3),
    ]  # fmt: skip


_ADD = """
struct Pair { float a; int b; };
extern "C" __global__ void add(const float* x, const float2* v, float a, Pair p, unsigned char c,
                               float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * a + p.a * p.b + c + (v ? v[0].x : 0);
}
"""


def raw() -> Calls:
    kernel = kerneltk.RawKernel(_ADD, "add")
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    v = np.ones(8, np.float32)
    pair = np.array((1.5, 2), [("a", "f4"), ("b", "i4")])[()]

    def call(*args: Any, grid: Any = (4,), block: Any = (8,), **words: Any) -> Any:
        y[:] = 0
        kernel(grid, block, args, **words)
        return y.copy()

    arguments: list[tuple[Any, ...]] = [
        (x, v, 2.0, pair, 3, y, 32), (x, None, 2, pair, 255, y, 5), (x, v, 2.0, pair, 256, y, 32),
        (x, v, 2.0, pair, -1, y, 32), (x, v[:3], 2.0, pair, 3, y, 32),
        (x, v, 1e300, pair, 3, y, 32),
        (x[::2], v, 2.0, pair, 3, y, 8), (x.astype("f8"), v, 2.0, pair, 3, y, 8),
        (frozen(x.copy()), v, 2.0, pair, 3, y, 32), (x, v, 2.0, pair, 3, frozen(y.copy()), 32),
        (x, v, 2.0, pair, 3, y), (x, v, np.float32(2), pair, np.uint8(3), y, np.int64(32)),
        (x.reshape(4, 8).T, v, 2.0, pair, 3, y, 32), (x.view("S4"), v, 2.0, pair, 3, y, 32),
        (x.astype(np.dtype("f4", metadata={"unit": "m"})), v, 2.0, pair, 3, y, 32), ([1.0],), (),
    ]  # fmt: skip
    shapes: list[tuple[Any, Any]] = [
        (4, 8), ((4, 1, 1), (8, 1)), (0, 8), (4, 0), (4, 2048), (4.0, 8), (True, 8),
        ((4, 1, 1, 1), 8), ([4], [8]), (np.int64(4), 8), (-1, 8), (2**40, 8), (2**70, 8), ((), 8),
        (1, 4), (2, 4), (3, 4), (4, 4), (5, 4), (6, 4), (1, 4),
    ]  # fmt: skip
    good = arguments[0]
    calls: Calls = [lambda args=args: call(*args) for args in arguments]
    calls += [lambda g=g, b=b: call(*good, grid=g, block=b) for g, b in shapes]
    calls += [lambda s=s: call(*good, shared_mem=s) for s in (0, 64, -1, 2**20, 1.0, True, None)]
    calls += [lambda w=w: kernel((4,), (8,), good, **w) for w in ({"wrong": 1}, {"shared_mem": 8})]
    calls += [lambda args=args: kernel(4, 8, args) for args in (list(good), x, 5)]
    calls += [lambda: kernel(4, 8), lambda: kernel(4, 8, good, 3)]
    return [*calls, lambda: kernel(grid=4, block=8, args=good)]


class Span(NamedTuple):
    low: Any
    high: Any


@dataclass
class Config:
    """What is passed as a structure."""

    scale: Any
    span: Span


def in_python() -> Calls:
    @jit.rawkernel
    def fill(x, config, pair, y):
        i = jit.grid(1)
        if i < x.size:
            y[i] = x[i] * config.scale + config.span.low[i] - pair[0] + pair[1].real

    x, y = np.arange(16, dtype=np.float32), np.zeros(16)
    low = np.ones(16, np.int32)

    def call(x: Any, config: Any, pair: Any, grid: Any = 2) -> Any:
        y[:] = 0
        fill[grid, 8](x, config, pair, y)
        return y.copy()

    def given(scale: Any = 2.0, low: Any = low) -> Config:
        return Config(scale, Span(low, 3))

    pairs: list[Any] = [
        (1, 2j), (1.5, 2j), (True, 1j), (2**63, 1j), (2**70, 1j), (1,), (1, 2), [1, 2j],
    ]  # fmt: skip
    return [
        *(lambda pair=pair: call(x, given(), pair) for pair in pairs),
        *(
            lambda s=s: call(x, given(s), (1, 1j))
            for s in (2, 2.5, 1e300, np.float32(3), None, "a")
        ),
        *(lambda x=x: call(x, given(), (1, 1j)) for x in (x[::2], x[::-1], x[:0], x.astype("i8"))),
        lambda: call(x, given(low=low[::-1]), (1, 1j)),
        lambda: call(x, given(low=low.astype(">i4")), (1, 1j)),
        lambda: call(x, Span(1, 2), (1, 1j)),
        *(lambda g=g: call(x, given(), (1, 1j), g) for g in (0, 1, (2, 1), 2.0, True, -1, 2**31)),
        lambda: fill[2, 8](x, given(), (1, 1j)),
        lambda: fill[2, 8](x, given(), (1, 1j), y, y),
        lambda: (fill[2, 8](x, given(), pair=(1, 1j), y=y), y.copy())[1],
    ]


def element_kernel() -> Calls:
    @jit.kernel
    def mixed(x, y):
        return x * y + 1, x > y

    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    values: list[Any] = [x, x.T, x[::2], 2, 2.5, 2**40, True, np.int8(1), x.astype("f4"), "a", 1j]
    calls: Calls = []
    for value in values:
        calls += [lambda v=value: mixed(x, v), lambda v=value: mixed(v, x)]
    added, z = jit.kernel(lambda x, y: x + y), np.zeros_like(x)
    words: list[Any] = [{"out": o} for o in (z, (z,), [z], None, 3)] + [{"other": 3}]
    calls += [lambda w=w: (added(x, x, **w), z.copy()) for w in words]
    return [*calls, lambda: added(x), lambda: added(x, y=x), lambda: added(x, x, x)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("make", [elementwise, reduction, raw, in_python, element_kernel])
def test_all_ways_do_the_same(
    monkeypatch: pytest.MonkeyPatch, launcher_class: Any, make: Callable[[], Calls]
) -> None:
    assert launcher_class is not None
    found = []
    for kind, way in (
        (None, nullcontext), (launcher_class, nullcontext), (launcher_class, by_methods),
    ):  # fmt: skip
        monkeypatch.setattr(compiled, "launcher_class", lambda kind=kind: kind)
        with way():
            calls = make()
            found.append([[outcome(call) for call in calls] for _ in range(3)])
    for first, *others in zip(*found, strict=True):
        for k, outcomes in enumerate(zip(first, *others, strict=True)):
            assert outcomes[0] == outcomes[1] == outcomes[2], k


# -- what is not seen from outside -----------------------------------------------------------------


@pytest.fixture
def only_compiled(monkeypatch: pytest.MonkeyPatch, launcher_class: Any) -> Iterator[None]:
    monkeypatch.setattr(compiled, "launcher_class", lambda: launcher_class)
    monkeypatch.setenv("KERNELTK_LAUNCHER", "compiled")  # for backends that are made here
    get_settings.cache_clear()
    yield
    get_settings.cache_clear()


def made(kernel: Any) -> Any:
    """The only launcher of a kernel."""
    (launcher,) = kernel._dispatcher._launchers.values()
    return launcher.run


def called(calls: Callable[[], object]) -> set[str]:
    """The names of our functions that are called."""
    names = set()

    def profile(frame: Any, event: str, argument: object) -> None:
        if event == "call" and "/kerneltk/" in frame.f_code.co_filename:
            names.add(frame.f_code.co_name)
        if event == "call" and frame.f_code.co_filename == interpreter.__file__:
            names.add("a launcher in Python")

    sys.setprofile(profile)
    try:
        calls()
    finally:
        sys.setprofile(None)
    return names


@pytest.mark.usefixtures("only_compiled")
def test_repeated_calls_need_no_python() -> None:
    """Not those of other shapes, alignments, options and numbers that were seen once."""
    kernel = kerneltk.ElementwiseKernel("T x, T a", "T y", "y = x * a", "quick")
    total = kerneltk.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "quick_sum")
    x = np.arange(64, dtype=np.float32).reshape(8, 8)

    def calls() -> None:
        for array in (x, x[1:], x.T, x[:, 1:], x[3], x.astype("f4")):
            kernel(array, 2.0)
        for axis in (None, 0, 1):
            total(x, axis=axis)

    calls()
    names = called(calls)
    assert "__call__" in names
    assert not names & {"a launcher in Python", "_launch", "dispatch", "_plan", "in_python"}


@pytest.mark.usefixtures("only_compiled")
def test_equal_dtypes_share_a_plan() -> None:
    kernel = kerneltk.RawKernel(
        "struct P { int a; }; __global__ void f(P* p) { p[threadIdx.x].a += 1; }", "f"
    )
    for _ in range(3):
        p = np.zeros(4, [("a", "i4")])  # a new dtype each time
        for _ in range(2):
            kernel(1, 4, (p,))
        assert p["a"].tolist() == [2] * 4

    add = kerneltk.ElementwiseKernel("T x", "T y", "y = x + 1", "one_more")
    for _ in range(3):
        assert add(np.zeros(3, np.dtype("f4", metadata={"n": object()}))).tolist() == [1] * 3
    (launcher,) = add._dispatcher._launchers.values()
    assert len(launcher.plans) == 1


@pytest.mark.usefixtures("only_compiled")
def test_kernels_are_collected_with_their_launchers() -> None:
    kernel = kerneltk.ElementwiseKernel("T x", "T y", "y = x + 1", "short_lived")
    kernel(np.ones(3))
    kernel(np.ones((3, 3))[:, ::2])
    kept, launcher = weakref.ref(kernel), made(kernel)
    del kernel
    gc.collect()
    del launcher
    gc.collect()
    assert kept() is None


@pytest.mark.usefixtures("only_compiled")
def test_a_launch_inside_of_a_launch() -> None:
    """Numbers convert themselves by code that launches the same kernel."""
    kernel = kerneltk.ElementwiseKernel("float64 x, float64 a", "float64 y", "y = x * a", "inner")
    x = np.arange(4.0)

    class Number(float):
        def __float__(self) -> float:
            kernel(x, 3.0)
            return 2.0

    for _ in range(3):
        assert kernel(x, Number(2.0)).tolist() == [0, 2, 4, 6]


# -- on a GPU that runs nothing --------------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.usefixtures("only_compiled")
def test_arrays_of_cupy_are_read_by_their_attributes(gpu: DryGpu) -> None:
    """A repeated call launches the same as the first, from no function in Python."""
    scaled = kerneltk.ElementwiseKernel("T x, float32 a", "T y", "y = a * x", "scaled")
    total = kerneltk.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    add = kerneltk.RawKernel(
        "__global__ void add(const float* x, float* y, int n) { y[threadIdx.x] = x[n]; }", "add"
    )

    @jit.rawkernel()
    def fill(x, pair):  # type: ignore[no-untyped-def]
        x[jit.threadIdx.x, 0] = pair[0] * pair[1]

    x, y = gpu.array(100, 10), gpu.array(100, 10)
    seen: list[list[bytes]] = []

    def calls() -> None:
        gpu.launches.clear()
        blocks: list[bytes] = []
        gpu.at_launch = lambda launch: blocks.append(first_bytes(launch, 40))
        for array in (x, x[::2], x.T, x[1:]):
            scaled(array, 2.5, y[: len(array)] if array.shape[1] == 10 else y.T)
            total(array, axis=0)
            scaled(array, 2.5)
        add((2,), (32,), (x, y, 7), shared_mem=16)
        fill[3, (4, 2)](x, (2, 3.5))
        fill[3, (4, 2)](x[::3], (2, 3.5))
        seen.append([block[:8] for block in blocks])

    calls()
    before = list(gpu.launches)
    names = called(calls)
    assert [launch[:9] for launch in before] == [launch[:9] for launch in gpu.launches]
    assert [len(blocks) for blocks in seen] == [15, 15]
    assert "a launcher in Python" not in names


def first_bytes(launch: tuple[Any, ...], size: int) -> bytes:
    return ctypes.string_at(ctypes.c_void_p.from_address(launch[9]).value or 0, size)


# -- what can be described, and what there is -----------------------------------------------------


def nothing(*values: Any) -> Any:
    pass


def spec_of(*arguments: Argument, **options: Any) -> LauncherSpec:
    call = options.pop("call", None)
    call = call or LaunchCall(nothing, ("function", "parameters"), nothing, native=lambda _: 0)
    access = ArrayAccess("ptr", "f", nothing, nothing, nothing)
    return LauncherSpec("loop", arguments, access, call, **options)


@pytest.mark.parametrize(
    "spec",
    [
        spec_of(Argument(np.void, "lent", extents=1)),
        spec_of(*[Argument(int, "number")] * 65),
        spec_of(call=LaunchCall(int, (Bound("text"),), nothing, native=nothing)),
        spec_of(call=LaunchCall(int, ("function",) * 17, nothing, native=nothing)),
        spec_of(call=LaunchCall(int, (), nothing, native=nothing, note=lambda *a: nothing)),
        spec_of(call=LaunchCall(int, (), nothing)),
    ],
    ids=["a record", "65 arguments", "text", "17 values", "notes", "no C function"],
)
def test_what_is_not_described_is_launched_in_python(spec: LauncherSpec) -> None:
    assert compiled.description_of(spec) is None
    bound = compiled.LauncherTemplate(spec).bind(plans={})
    assert isinstance(bound.run, interpreter.LoopInterpreter)


PROGRAM = """
import numpy as np, kerneltk
from kerneltk.launch import compiled
kernel = kerneltk.ElementwiseKernel("T x", "T y", "y = x + 1", "chosen")
print(kernel(np.ones(2)), compiled.launcher_class() is not None)
"""


@pytest.mark.parametrize(("word", "is_compiled"), [("python", False), ("compiled", True)])
def test_the_environment_chooses(
    monkeypatch: pytest.MonkeyPatch, word: str, is_compiled: bool
) -> None:
    monkeypatch.setenv("KERNELTK_LAUNCHER", word)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"[2. 2.] {is_compiled}\n"


# -- conversions that raise ------------------------------------------------------------------------


class Whole:
    """An integer whose conversion may do anything."""

    def __init__(self, convert: Callable[[], int]) -> None:
        self.convert, self.calls = convert, 0

    def __index__(self) -> int:
        self.calls += 1
        return self.convert()


@pytest.mark.usefixtures("only_compiled")
@pytest.mark.parametrize("error", [KeyError, ValueError, RecursionError])
def test_a_conversion_that_raises_is_called_once(error: type[Exception]) -> None:
    def convert() -> int:
        raise error("stop")

    kernel = kerneltk.RawKernel("__global__ void f(int a, float* x) { x[0] = a; }", "f")
    x = np.zeros(1, np.float32)
    kernel(1, 1, (Whole(lambda: 3), x))
    for _ in range(2):
        number = Whole(convert)
        with pytest.raises(error, match="stop"):
            kernel(1, 1, (number, x))
        assert number.calls == 1
    assert x[0] == 3


@pytest.mark.usefixtures("only_compiled")
def test_launches_that_never_end_to_nest() -> None:
    """Each of them raises once, not two inside of each."""
    kernel = kerneltk.RawKernel("__global__ void f(int a, float* x) { x[0] = a; }", "f")
    x = np.zeros(1, np.float32)

    def launch() -> int:
        if number.calls > 5000:
            raise KeyboardInterrupt  # ends what would not end
        kernel(1, 1, (number, x))
        return 1

    number = Whole(launch)
    with pytest.raises(RecursionError):
        kernel(1, 1, (number, x))


# -- loading ---------------------------------------------------------------------------------------


def loading(cache: str, program: str, **environment: str) -> str:
    """What a program prints that launches a kernel by a loader of a cache of its own."""
    setup = (
        "import numpy as np, kerneltk\n"
        "from kerneltk.backends.host import extension\n"
        "from kerneltk.cache.store import get_cache\n"
        "from kerneltk.launch import compiled\n"
        "kernel = kerneltk.ElementwiseKernel('T x', 'T y', 'y = x + 1', 'loads')\n"
    )
    call = "\nprint(kernel(np.zeros(2)).tolist(), compiled.launcher_class() is not None)\n"
    variables = {**os.environ, "KERNELTK_CACHE_DIR": cache, **environment}
    code = setup + program + call
    done = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


NOT_LOADED = """
compiled._built = lambda: None
whole = extension._loaded
def loaded(name, code):
    if {condition}:
        raise ImportError("version `GLIBC_2.99' not found")
    return whole(name, code)
extension._loaded = loaded
"""


_OTHER = "\nextension._build = lambda *a: b'other'"
_NO_THREAD = """
import threading
compiled._built = lambda: None
def start(thread):
    if thread.name == 'kerneltk-launcher':
        raise RuntimeError("can't start new thread")
    return begin(thread)
begin, threading.Thread.start = threading.Thread.start, start
"""


@pytest.mark.parametrize(
    "program", [_OTHER + NOT_LOADED.format(condition="True"), _NO_THREAD], ids=["module", "thread"]
)
def test_what_cannot_be_had(new_cache: Path, program: str) -> None:
    """Launchers are in Python then, and nobody waits."""
    assert loading(str(new_cache), program, KERNELTK_LAUNCHER="") == "[1.0, 1.0] False\n"


@pytest.mark.exhaustive
def test_a_module_of_another_machine_is_made_again(new_cache: Path) -> None:
    program = NOT_LOADED.format(condition="code == b'other'")
    for built, is_compiled in ((_OTHER, False), ("", True)):
        found = loading(str(new_cache), built + program, KERNELTK_LAUNCHER="compiled")
        assert found == f"[1.0, 1.0] {is_compiled}\n"


@pytest.mark.exhaustive
def test_nothing_is_compiled_for_one_process_alone() -> None:
    """Without a directory for the cache, each process would."""
    program = (
        "import threading\n"
        "compiled._built = lambda: None\n"
        "extension._build = lambda *given: print('compiles')\n"
        "kernel(np.zeros(2))\n"
        "assert compiled._loader.is_done\n"
    )
    assert loading("", program, KERNELTK_LAUNCHER="") == "[1.0, 1.0] False\n"


# -- blocks that are too large for the stack -------------------------------------------------------


@pytest.mark.usefixtures("only_compiled")
def test_large_blocks_are_used_again() -> None:
    total = kerneltk.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "many_sums")
    x = np.arange(500 * 2000, dtype=np.float32).reshape(500, 2000) % 7
    for _ in range(4):  # the memory is zeroed once
        assert total(x, axis=0).tolist() == x.sum(axis=0).tolist()
    (launcher,) = total._dispatcher._launchers.values()
    assert max(row[10] for row in launcher.plans.values()) > 1 << 16  # bytes of scratch memory
