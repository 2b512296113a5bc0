"""The backends that a test runs on, and the probe for a GPU."""

from __future__ import annotations

import ctypes
import fcntl
import gc
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import hypothesis
import numpy as np
import pytest
from _pytest.doctest import DoctestModule

from kerneltk.backends.cuda import nvrtc
from kerneltk.backends.host import toolchain
from kerneltk.core.arrays import byte_extent

from .sampling import part_of

# Which kind of launcher a test has does not depend on how long the other takes to compile.
os.environ.setdefault("KERNELTK_LAUNCHER", "compiled")
# Each process of JAX would take most of the GPU's memory, and say on stderr that it could not.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

# Times say nothing of an example: compilers and other test processes share the machine.
hypothesis.settings.register_profile("kerneltk", deadline=None)
hypothesis.settings.load_profile("kerneltk")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-gpu",
        action="store_const",
        const=1,
        default=0,
        dest="required_gpus",
        help="fail, instead of skipping, the tests that need a GPU where there is none",
    )
    parser.addoption(
        "--require-gpus",
        type=int,
        metavar="N",
        dest="required_gpus",
        help="the same for the tests that need up to N GPUs",
    )
    parser.addoption(
        "--part",
        metavar="K/N",
        help="run the Kth of N parts of the tests: of each test, neighbouring cases",
    )


_cases: defaultdict[str, dict[str, int]] = defaultdict(dict)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Have all but each `n`-th case of a test that is marked `one_in(n)` be exhaustive.

    A case that the command line names is the first one, so it runs.
    """
    if (marker := item.get_closest_marker("one_in")) is None:
        return
    function, _, case = item.nodeid.partition("[")
    numbers = _cases[function]
    # A case is the same one on each backend.
    number = numbers.setdefault(re.sub(r"\b(host|cuda)\b", "", case), len(numbers))
    if number % marker.args[0]:
        item.add_marker("exhaustive")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of other parts than the chosen one."""
    if not (chosen := config.getoption("part")):
        return
    number, parts = map(int, chosen.split("/"))
    if not 1 <= number <= parts:
        raise pytest.UsageError(f"--part {chosen}: there is no such part")
    names = part_of([item.nodeid for item in items], number, parts)
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in names])
    items[:] = [item for item in items if item.nodeid in names]


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, Any, Any]:
    """Look for no doctests in tests."""
    return [found for found in (yield) if not isinstance(found, DoctestModule)]


@cache
def why_no_gpu(count: int = 1) -> str | None:
    """Return the reason why a CUDA test cannot run on this machine, or None."""
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CuPy warns at import of a toolkit that it did not find
        import cupy
    try:
        devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return str(error)
    if devices < count:
        return f"the driver knows {devices or 'no'} CUDA device{'s' * (devices > 1)}"
    return None


def pytest_runtest_setup(item: pytest.Item) -> None:
    _choose_levels(item)
    marker = item.get_closest_marker("gpu")
    if marker is None:
        return
    count: int = marker.args[0] if marker.args else 1
    reason = why_no_gpu(count)
    if reason is None:
        return
    wanted = "a GPU" if count == 1 else f"{count} GPUs"
    if item.config.getoption("required_gpus") >= count:
        pytest.fail(f"needs {wanted}: {reason}", pytrace=False)
    pytest.skip(f"needs {wanted}: {reason}")


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Let no work of a test on a GPU reach into the next one's memory."""
    if item.get_closest_marker("gpu") is not None and why_no_gpu() is None:
        import cupy

        for device in range(cupy.cuda.runtime.getDeviceCount()):
            with cupy.cuda.Device(device) as one:
                one.synchronize()


def _root(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array that owns the memory that `array` is a view of."""
    root, owner = array, array.base
    while owner is not None:
        if isinstance(owner, np.ndarray):
            root = owner
        owner = getattr(owner, "base", None)
    return root


@dataclass(frozen=True)
class Backend:
    """A backend under test: `name`, and `xp`, the array library whose arrays it takes."""

    name: Literal["host", "cuda"]
    xp: ModuleType

    def asarrays(self, *arrays: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        """Return copies of `arrays` on this backend, laid out in memory as the originals are.

        The memory that an array is a view of is copied whole, and once for all the arrays that
        share it: strides (bytes), offset from the base, broadcast axes and overlaps are kept.
        """
        buffers: dict[int, tuple[int, Any]] = {}
        copies = []
        for array in arrays:
            if array.size == 0:
                copies.append(self.xp.empty(array.shape, array.dtype))
                continue
            root = _root(array)
            if id(root) not in buffers:
                low, high = np.lib.array_utils.byte_bounds(root)
                memory = (ctypes.c_ubyte * (high - low)).from_address(low)
                buffers[id(root)] = low, self.xp.array(np.frombuffer(memory, np.uint8))
            low, buffer = buffers[id(root)]
            copies.append(self._view(array, buffer, array.ctypes.data - low))
        return tuple(copies)

    def asarray(self, array: np.ndarray[Any, Any]) -> Any:
        """Return a copy of `array` on this backend with the original's strides and offset."""
        return self.asarrays(array)[0]

    def asnumpy(self, array: Any) -> np.ndarray[Any, Any]:
        """Return `array`, which lies on this backend, as a NumPy array.

        Its memory is copied as bytes: CuPy's own kernels cannot copy every layout.
        """
        if self.name == "host":
            return array  # type: ignore[no-any-return]
        low, high = byte_extent(array.shape, array.strides, array.dtype.itemsize)
        memory = self.xp.ndarray((high - low,), np.uint8, memptr=array.data + low)
        return np.ndarray(array.shape, array.dtype, memory.get(), -low, array.strides)

    def _view(self, like: np.ndarray[Any, Any], buffer: Any, offset: int) -> Any:
        if self.name == "host":
            view = np.ndarray(like.shape, like.dtype, buffer, offset, like.strides)
            view.flags.writeable = like.flags.writeable
            return view
        return self.xp.ndarray(
            like.shape, like.dtype, memptr=buffer.data + offset, strides=like.strides
        )


@pytest.fixture(params=["host", pytest.param("cuda", marks=pytest.mark.gpu)])
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each backend in turn; the CUDA one where there is a GPU."""
    if request.param == "host":
        return Backend("host", np)
    import cupy

    return Backend("cuda", cupy)


def reread_environment() -> None:
    """Have the settings, and the host's compiler that they name, found anew at their next use."""
    from kerneltk.backends.host import toolchain
    from kerneltk.core.settings import get_settings

    for known in (get_settings, toolchain.find_compiler, toolchain.target):
        known.cache_clear()


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """What sets variables of the environment, which is read anew here and after the test.

    A test that sets one after its first use of the settings calls `reread_environment`.
    """
    reread_environment()
    yield monkeypatch
    monkeypatch.undo()
    reread_environment()


class Once:
    """What takes a compiler long, made by the first process of a run that asks for it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def __call__(self, what: object, make: Callable[[], bytes]) -> bytes:
        """Return the result of `make`, now or for another test of the run; `what` is its key."""
        return self.file(what, make).read_bytes()

    def file(self, what: object, make: Callable[[], bytes]) -> Path:
        """Return the same as a file, which nobody changes."""
        path = self._directory / hashlib.sha256(repr(what).encode()).hexdigest()
        with open(path.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                content = make()
                path.with_suffix(".new").write_bytes(content)
                path.with_suffix(".new").rename(path)
        return path


# Before a test changes it; scripts import this module without pytest, which sets it.
_RUN_DIRECTORY = Path(os.environ.get("KERNELTK_CACHE_DIR", "")).parent


@pytest.fixture(scope="session")
def once() -> Once:
    return Once(_RUN_DIRECTORY / "once")


@pytest.fixture
def new_cache(tmp_path: Path, once: Once) -> Path:
    """The directory of a compile cache that has what the host backend compiles for every kernel.

    For programs that begin without their own entries: the runtime takes 3 s to compile.
    """
    path = tmp_path / "cache"

    def make() -> bytes:
        program = (
            "import numpy as np, kerneltk\n"
            "kerneltk.ElementwiseKernel('T x', 'T y', 'y = x', 'first')(np.zeros(1))\n"
            "kerneltk.RawKernel('__global__ void first(float* x) { __syncthreads(); }', 'first')("
            "1, 1, (np.zeros(1, np.float32),))\n"
        )
        environment = {**os.environ, "KERNELTK_CACHE_DIR": str(path), "KERNELTK_LAUNCHER": "python"}
        subprocess.run([sys.executable, "-c", program], env=environment, check=True)
        shutil.make_archive(str(tmp_path / "made"), "tar", path)
        shutil.rmtree(path)
        return (tmp_path / "made.tar").read_bytes()

    changed = {name: os.environ[name] for name in os.environ if name.startswith("KERNELTK_")}
    changed.pop("KERNELTK_CACHE_DIR", None)
    shutil.unpack_archive(once.file(("new cache", changed), make), path, "tar", filter="data")
    return path


@pytest.fixture
def large_arrays() -> Iterator[None]:
    """For a test whose arrays take a good part of a GPU's memory: one such test at a time."""
    import cupy

    _RUN_DIRECTORY.mkdir(parents=True, exist_ok=True)
    with open(_RUN_DIRECTORY / "large_arrays.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
        gc.collect()
        cupy.get_default_memory_pool().free_all_blocks()


# How g++ optimizes kernels on the host, by a test's name or the longest path that fits. Exhaustive
# tests have the users' options. Libraries' templates take most of their time in the optimizer;
# loops over 2**31 elements need it.
_LEVELS = {
    "": "-O3",
    "diagnostics": "-O0",
    "differential": "-O0",
    "differential/test_elementwise.py": "-O1",
    "differential/test_large.py": "-O3",
    "differential/test_numbers_table.py::test_vector_functions_at_special_values": "-O3",
    "differential/test_reduction.py": "-O1",
    "differential/test_reduction_host.py": "-O3",
    "differential/test_vectorize.py": "-O3",
    "property": "-O1",
    "random_fused": "-O0",
    "test_examples.py": "-O0",
    "unit": "-O0",
    "unit/backends/host": "-O1",
    "unit/backends/host/test_compiler_workarounds.py": "-O3",
    "unit/backends/host/test_toolchain.py": "-O3",
    "unit/backends/host/test_volatile.py": "-O3",
    "unit/backends/host/test_volatile_calls.py": "-O3",
    "unit/jit/intrinsics": "-O1",
    "unit/jit/launch/test_hard_cases.py": "-O3",
    "unit/jit/passes": "-O1",
    "unit/templates": "-O1",
    "unit/test_reduction_hard_cases.py": "-O3",
    "unit/templates/test_cupy_names.py": "-O0",
}
# Where NVRTC's options, or instructions of what it makes, are the subject.
_FULL_NVRTC = (
    "unit/backends/cuda/test_nvrtc.py",
    "unit/cuda_cpp/syntax/preprocessor/test_pushed_macros.py",
    "unit/cuda_cpp/test_ends_of_processes.py",
)
_level = {"nvrtc": "-O3", "host": "-O3"}


def _choose_levels(item: pytest.Item) -> None:
    """Choose how compilers optimize for a test."""
    top = Path(__file__).parent
    path = item.path.relative_to(top).as_posix() if item.path.is_relative_to(top) else ""
    _level["nvrtc"] = "-O3" if path in _FULL_NVRTC else "-O0"
    if (function := f"{path}::{getattr(item, 'originalname', '')}") in _LEVELS:
        path = function
    while path not in _LEVELS:
        path = path.rpartition("/")[0]
    _level["host"] = "-O3" if item.get_closest_marker("exhaustive") else _LEVELS[path]


def _has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.fixture(autouse=True, scope="session")
def quick_compilers() -> Iterator[None]:
    """Let compilers optimize only where it matters.

    What they accept is the same. NVRTC then takes an eighth of the time, and optimizes wherever
    there is a driver, since kernels run there; g++ takes half of it, or a fifth for CUB's sorts.
    """
    nvrtc_options, host_options = nvrtc.backend_options, toolchain._backend_options

    def quick_nvrtc(unit: Any) -> tuple[str, ...]:
        options = nvrtc_options(unit)
        if _level["nvrtc"] == "-O3":
            return options
        slower = (option for option in options if "Ofast-compile" not in option)
        return (*slower, "--Ofast-compile=max")

    def quick_host(*arguments: Any) -> tuple[str, ...]:
        options = host_options(*arguments)
        quick = (_level["host"] if option == "-O3" else option for option in options)
        # Without optimization zig checks for undefined behaviour, by a runtime that is not linked.
        return (*quick, *(["-fno-sanitize=undefined"] if arguments[1].family == "zig" else []))

    with pytest.MonkeyPatch.context() as patch:
        if not _has_driver():
            patch.setattr(nvrtc, "backend_options", quick_nvrtc)
        patch.setattr(toolchain, "_backend_options", quick_host)
        yield


@pytest.fixture(autouse=True, scope="session")
def verified_passes() -> Iterator[None]:
    """Verify the IR after each pass."""
    from kerneltk.jit import compile as middle
    from tests.ir_verifier import verifying

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(middle, "PASSES", tuple(map(verifying, middle.PASSES)))
        yield
