"""Loading object code, and the thread pool."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from kerneltk import ElementwiseKernel, LaunchError
from kerneltk.backends.host import runtime, toolchain
from kerneltk.core.artifacts import ObjectCode, TranslationUnit
from kerneltk.errors import BackendUnavailableError

from ....conftest import reread_environment
from ....processes import python

COUNT = """
struct Args { int* visits; long long grain; int* bad; };
extern "C" void count(const void* args, long long begin, long long end) {
    Args p = *static_cast<const Args*>(args);
    if (begin % p.grain || begin >= end) __atomic_fetch_add(p.bad, 1, __ATOMIC_RELAXED);
    for (long long i = begin; i < end; ++i) __atomic_fetch_add(p.visits + i, 1, __ATOMIC_RELAXED);
}
"""

NESTED = """
typedef void (*Function)(const void*, long long, long long);
struct Args {
    void (*launch)(Function, const void*, long long, long long, int);
    Function function;
    const void* args;
    long long inner;
};
extern "C" void nested(const void* args, long long begin, long long end) {
    const Args& p = *static_cast<const Args*>(args);
    for (long long i = begin; i < end; ++i) p.launch(p.function, p.args, p.inner, 1, 4);
}
"""

# Each element waits until two have begun, or for a minute; their number is behind the threads.
MEETING = """
extern "C" int usleep(unsigned int);
extern "C" int gettid();
extern "C" void meet(const void* args, long long begin, long long end) {
    int* ids = *static_cast<int* const*>(args);
    for (long long i = begin; i < end; ++i) {
        ids[i] = gettid();
        __atomic_add_fetch(&ids[2], 1, __ATOMIC_SEQ_CST);
        for (int k = 0; k < 60000 && __atomic_load_n(&ids[2], __ATOMIC_SEQ_CST) < 2; ++k)
            usleep(1000);
    }
}
"""


def compile_text(source: str, entry: str) -> ObjectCode:
    return toolchain.compile_unit(TranslationUnit("host", source, entry))


@pytest.fixture(scope="module")
def code() -> ObjectCode:
    return compile_text(COUNT, "count")


@pytest.fixture(scope="module")
def count(code: ObjectCode) -> int:
    return runtime.load(code)


class Counter:
    """Counts how often each item is done."""

    def __init__(self, total: int, grain: int = 1) -> None:
        self.visits = np.zeros(max(total, 1), np.int32)
        self.bad = np.zeros(1, np.int32)
        self.packed = ctypes.create_string_buffer(
            struct.pack("PqP", self.visits.ctypes.data, grain, self.bad.ctypes.data)
        )
        self.address = ctypes.addressof(self.packed)

    def check(self, times: int = 1) -> None:
        assert (self.visits == times).all()
        assert self.bad[0] == 0


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 64])
def test_each_item_is_done_once(count: int, threads: int) -> None:
    for total in (1, 2, 3, 7, 8, 9, 63, 64, 65, 1000, 4096, 99_991):
        for grain in (1, 2, 3, 16, 100, 1000, 200_000):
            counter = Counter(total, grain)
            runtime.launch(count, counter.address, total, grain, threads)
            counter.check()


def test_nothing_to_do(count: int) -> None:
    counter = Counter(1)
    runtime.launch(count, counter.address, 0, 1, 4)
    runtime.launch(count, counter.address, -5, 1, 4)
    counter.check(times=0)


def test_odd_numbers_are_taken_sensibly(count: int) -> None:
    counter = Counter(1000)
    runtime.launch(count, counter.address, 1000, 0, 4)
    runtime.launch(count, counter.address, 1000, -1, 100_000)
    runtime.launch(count, counter.address, 1000, 1, 0)
    runtime.launch(count, counter.address, 1000, 1, -3)
    runtime.launch(count, counter.address, 1000, 2**62, 4)
    counter.check(times=5)


def test_huge_ranges_do_not_overflow() -> None:
    source = """extern "C" void add(const void* args, long long begin, long long end) {
        __atomic_fetch_add(*static_cast<long long* const*>(args), end - begin, __ATOMIC_RELAXED);
    }"""
    function = runtime.load(compile_text(source, "add"))
    for total in (2**40 + 1, 2**62 + 12345, 2**63 - 1):
        for grain in (1, 1000, 2**40, 2**62):
            done = np.zeros(1, np.int64)
            address = ctypes.c_void_p(done.ctypes.data)
            runtime.launch(function, ctypes.addressof(address), total, grain, 7)
            assert done[0] == total


def test_concurrent_python_threads(count: int) -> None:
    counters = [Counter(5000, grain=7) for _ in range(6)]

    def launch_often(counter: Counter) -> None:
        for _ in range(500):
            runtime.launch(count, counter.address, 5000, 7, 4)

    threads = [threading.Thread(target=launch_often, args=(counter,)) for counter in counters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for counter in counters:
        counter.check(times=500)


def test_nested_launches(count: int) -> None:
    nested = runtime.load(compile_text(NESTED, "nested"))
    counter = Counter(100)
    launch = ctypes.cast(cast(Any, runtime.launch), ctypes.c_void_p).value
    packed = ctypes.create_string_buffer(struct.pack("PPPq", launch, count, counter.address, 100))
    runtime.launch(nested, ctypes.addressof(packed), 50, 1, 4)
    counter.check(times=50)


def meet(count: int, threads: int, ids: np.ndarray) -> None:
    kernel = runtime.load(compile_text(MEETING, "meet"))
    address = ctypes.c_void_p(ids.ctypes.data)
    runtime.launch(kernel, ctypes.addressof(address), count, 1, threads)


def test_several_threads_take_part(count: int) -> None:
    ids = np.zeros(3, np.int32)
    meet(2, 2, ids)
    assert len(set(ids[:2].tolist())) == 2
    assert threading.get_native_id() in ids[:2]
    counter = Counter(64)
    runtime.launch(count, counter.address, 64, 1, 4)
    assert runtime.worker_count() >= 3


def test_the_gil_is_released() -> None:
    ids = np.zeros(3, np.int32)
    thread = threading.Thread(target=meet, args=(1, 1, ids))
    thread.start()
    while thread.is_alive() and not ids[2]:
        time.sleep(0.001)
    assert thread.is_alive()  # it waits for what this thread does now
    ids[2] += 1
    thread.join()


FORK = """
import ctypes, os, signal, struct, sys, threading
import numpy as np
from kerneltk.backends.host import runtime, toolchain
from kerneltk.core.artifacts import TranslationUnit

function = runtime.load(toolchain.compile_unit(TranslationUnit("host", sys.argv[1], "count")))
visits = np.zeros(10_000, np.int32)
bad = np.zeros(1, np.int32)
packed = ctypes.create_string_buffer(struct.pack("PqP", visits.ctypes.data, 1, bad.ctypes.data))

def launch(times):
    for _ in range(times):
        runtime.launch(function, ctypes.addressof(packed), len(visits), 1, 4)

def fork_and_launch(depth):
    child = os.fork()
    if child == 0:
        signal.alarm(300)  # a child that hangs ends
        visits[:] = 0
        assert runtime.worker_count() == 0
        launch(50)
        assert runtime.worker_count() == 3
        assert (visits == 50).all() and bad[0] == 0
        if depth:
            fork_and_launch(depth - 1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

fork_and_launch(0)  # before the pool has started
launch(1)
fork_and_launch(1)
stop = threading.Event()
def keep_busy():
    while not stop.is_set():
        launch(1)
thread = threading.Thread(target=keep_busy)
thread.start()
for _ in range(20):  # while another thread launches
    fork_and_launch(0)
stop.set()
thread.join()
visits[:] = 0
launch(5)
assert (visits == 5).all()
print("done")
"""


def test_fork() -> None:
    done = python("-W", "ignore::DeprecationWarning", "-c", FORK, COUNT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


EXIT = """
import sys, threading
from kerneltk.backends.host import runtime
runtime.prepare()
runtime.prepare()
if sys.argv[1] == "wait":
    runtime.launch
"""


@pytest.mark.parametrize("how", ["wait", "leave"])
def test_exit_with_a_pool_under_way_is_clean(how: str, tmp_path: Path) -> None:
    done = python("-c", EXIT, how, TMPDIR=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_in_the_background_is_raised_at_first_use(tmp_path: Path) -> None:
    text = """
from kerneltk.backends.host import runtime
from kerneltk.errors import BackendUnavailableError
runtime.prepare()
for _ in range(2):
    try:
        runtime.launch
    except BackendUnavailableError as error:
        print(error)
"""
    done = python("-c", text, KERNELTK_CXX=str(tmp_path / "none"))
    assert done.stderr == ""
    assert done.stdout.count("No C++ compiler for the host backend") == 2


def test_loads_are_separate_and_leak_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    codes = [
        compile_text(
            f"""extern "C" void f(const void* args, long long, long long) {{
                **static_cast<int* const*>(args) = {value};
            }}""",
            "f",
        )
        for value in (1, 2)
    ]
    result = ctypes.c_int()
    pointer = ctypes.pointer(result)
    before = sorted(os.listdir("/proc/self/fd"))
    for _ in range(20):
        for value, code in enumerate(codes, 1):
            function = runtime.load(code)
            runtime.launch(function, ctypes.addressof(pointer), 1, 1, 1)
            assert result.value == value
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert list(tmp_path.iterdir()) == []


def test_loading_without_memfd(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: ObjectCode
) -> None:
    def forbidden(name: str, flags: int) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "memfd_create", forbidden)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    counter = Counter(1000)
    runtime.launch(runtime.load(code), counter.address, 1000, 1, 4)
    counter.check()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(LaunchError, match="cannot be loaded"):
        runtime.load(replace(code, code=b"nonsense"))
    assert list(tmp_path.iterdir()) == []


def test_bad_object_code_is_refused(code: ObjectCode) -> None:
    for content in (b"", b"nonsense"):
        with pytest.raises(LaunchError, match="cannot be loaded: "):
            runtime.load(replace(code, code=content))
    with pytest.raises(LaunchError, match="has no entry point 'other'"):
        runtime.load(replace(code, entry="other"))


def test_object_code_for_another_cpu_is_refused(code: ObjectCode) -> None:
    target = replace(code.target, architecture="x86_64-glibc2.36-0123456789abcdef")
    with pytest.raises(BackendUnavailableError, match="cannot run here"):
        runtime.load(replace(code, target=target))


def test_num_threads(environment: pytest.MonkeyPatch) -> None:
    environment.delenv("KERNELTK_NUM_THREADS", raising=False)
    assert runtime.num_threads() == len(os.sched_getaffinity(0))
    environment.setenv("KERNELTK_NUM_THREADS", "5")
    reread_environment()
    assert runtime.num_threads() == 5


N = 20_000
X = np.where(np.arange(N) % 3 == 0, -1, np.arange(N)).astype(np.float32)


def test_a_trap_is_an_error_and_the_process_lives() -> None:
    kernel = ElementwiseKernel("T x", "T y", "if (x < 0) __builtin_trap(); y = x", "trap")
    for size in (6, N):
        with pytest.raises(LaunchError, match="trapped"):
            kernel(X[:size])
    np.testing.assert_array_equal(kernel(np.abs(X)), np.abs(X))


SIGNALS = """
import faulthandler, signal, numpy as np
from kerneltk import DivisionError, ElementwiseKernel
divide = ElementwiseKernel("T x, T z", "T y", "y = x / z")
ones, zeros = np.ones(9, "i4"), np.zeros(9, "i4")
divide(ones, ones)
faulthandler.enable()
for handler in (None, lambda number, frame: None, signal.SIG_IGN):
    if handler is not None:
        signal.signal(signal.SIGFPE, handler)
    try:
        divide(ones, zeros)
    except DivisionError:
        print("caught")
"""


def test_others_may_handle_the_same_signals() -> None:
    done = python("-c", SIGNALS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "caught\n" * 3, "")


CHAIN = """
import faulthandler, os, signal, numpy as np
from kerneltk import ElementwiseKernel
kernel = ElementwiseKernel("T x", "T y", "y = x")
kernel(np.ones(3, "f4"))
faulthandler.enable()
kernel(np.ones(3, "f4"))
os.kill(os.getpid(), signal.SIGFPE)
"""


def test_a_signal_from_outside_reaches_who_handled_it_before() -> None:
    done = python("-c", CHAIN)
    assert done.returncode == -signal.SIGFPE
    assert done.stderr.count("Fatal Python error") == 1
