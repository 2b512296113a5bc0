"""Functions of the host that end a process end a launch on CPU cores, with their line."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.backends.host import toolchain
from kerneltk.errors import LaunchError

HEAD = """#include <array>
#include <cassert>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <err.h>
#include <error.h>
#include <exception>
#include <functional>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>
__global__ void plain(int* x) { x[0] = 9; }
"""
HINT = (
    "\n  Hint: leave the kernel by 'return', or end it by '__trap()' or by an assertion that fails."
)


@cache
def module_of(*bodies: str) -> kerneltk.RawModule:
    """A module with a kernel of each body, which the second thread of a block runs."""
    code = HEAD
    for number, body in enumerate(bodies):
        code += f"__global__ void ends{number}(int* x) {{\n"
        code += f"    if (threadIdx.x != 1) return;\n    {body}\n}}\n"
    return kerneltk.RawModule(code=code)


def line_of(number: int) -> int:
    """The line of a body."""
    return HEAD.count("\n") + 4 * number + 3


def run(body: str, *others: str) -> tuple[int, str]:
    """Return what a kernel of a module has stored, and why it has failed."""
    module = module_of(*(others or (body,)))
    x = np.zeros(2, np.int32)
    module.get_function("plain")(1, 1, (x,))
    assert x[0] == 9
    try:
        module.get_function(f"ends{others.index(body) if others else 0}")(1, 2, (x,))
    except LaunchError as error:
        return int(x[1]), str(error)
    return int(x[1]), ""


ENDS = {
    "exit(3);": "exit",
    "::exit(0);": "exit",
    "std::exit(3);": "exit",
    "void (*const f)(int) = exit; f(3);": "exit",
    "x[0] == 9 ? exit(1) : abort();": "exit",
    "_exit(3);": "_exit",
    "_Exit(3);": "_Exit",
    "std::quick_exit(3);": "quick_exit",
    "abort();": "abort",
    "std::abort();": "abort",
    "__builtin_abort();": "abort",
    "std::terminate();": "std::terminate",
    "atexit(nullptr);": "atexit",
    "raise(SIGABRT);": "raise",
    "kill(getpid(), SIGKILL);": "kill",
    'execl("/bin/true", "true", nullptr);': "execl",
    "tgkill(getpid(), getpid(), SIGKILL);": "tgkill",
    "pthread_kill(pthread_self(), SIGKILL);": "pthread_kill",
    "x[0] = fork();": "fork",
    'err(1, "%d", x[0]);': "err",
    'errx(1, "bad");': "errx",
    "syscall(SYS_exit_group, 3);": "syscall",
    'x[1] = system("kill -9 $PPID");': "system",
    "alarm(1);": "alarm",
    "signal(SIGSEGV, SIG_DFL);": "signal",
    "pthread_cancel(pthread_self());": "pthread_cancel",
    "thrd_exit(0);": "thrd_exit",
    "jmp_buf b; longjmp(b, 1);": "longjmp",
    'void (*const volatile f)(int, const char*, ...) = errx; f(1, "bad");': "errx",
}


@pytest.mark.parametrize("body", ENDS)
def test_a_call_ends_the_launch(body: str) -> None:
    number = [*ENDS].index(body)
    assert run(body, *ENDS) == (
        0,
        f"In kernel 'ends{number}', block (0, 0, 0), thread (1, 0, 0), code:{line_of(number)}: "
        f"'{ENDS[body]}' is called, which only the host has.{HINT}",
    )


def test_units_are_linked_for_what_the_header_has() -> None:
    assert {"exit", "popen", "__cxa_throw", "_ZSt9terminatev"} <= {*toolchain._ends()}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["kill", "raise", "execv", "killpg"])
def test_a_kernel_may_have_such_a_name(name: str) -> None:
    code = f'extern "C" __global__ void {name}(int* x) {{ x[0] = 5; }}\n'
    x = np.zeros(1, np.int32)
    kerneltk.RawKernel(code, name)(1, 1, (x,))
    assert x[0] == 5


FILE = """#include <cstdio>
#define CHECK(condition) \\
    if (!(condition)) failed(__LINE__)
__host__ __device__ inline void failed(int line) {
    printf("line %d\\n", line);
    exit(line);
}
void only_on_the_host(int code) {
    printf("bye");
    std::exit(code);
}
struct Range {
    int first, last;
    __host__ __device__ int size() const {
        if (last < first) std::abort();
        return last - first;
    }
    void close() { exit(first); }
};
template <class T> __device__ auto quit(T code) -> decltype(exit(code)) { return exit(code); }
__global__ void checked(int* x) {
    CHECK(x[0] >= 0);
    x[0] += 1;
}
__global__ void sized(Range r, int* x) { x[0] = r.size(); }
__global__ void quits(int* x) { quit(x[0]); }
int main() {
    only_on_the_host(0);
}
"""


@pytest.fixture
def module(tmp_path: Path) -> Any:
    path = tmp_path / "ends.cu"
    path.write_text(FILE)
    return kerneltk.load(path)


def test_functions_for_both_sides(module: Any) -> None:
    x = np.zeros(1, np.int32)
    bounds = np.dtype([("first", "i4"), ("last", "i4")])
    module.checked(1, 1, (x,))
    assert x[0] == 1
    module.sized(1, 1, (np.array((3, 8), bounds)[()], x))
    assert x[0] == 5
    with pytest.raises(LaunchError, match=r"ends\.cu:15: 'abort' is called"):
        module.sized(1, 1, (np.array((8, 3), bounds)[()], x))
    with pytest.raises(LaunchError, match=r"ends\.cu:20: 'exit' is called"):
        module.quits(1, 1, (x,))
    x[0] = -1
    with pytest.raises(LaunchError, match=r"ends\.cu:6: 'exit' is called"):
        module.checked(1, 1, (x,))
    assert x[0] == -1


def test_they_are_traps_on_gpus(module: Any) -> None:
    code = module.compile_for("compute_90").code
    assert code.count(b"trap;") >= 3


@pytest.mark.parametrize("call", ["exit(1)", "std::abort()", "std::quick_exit(2)"])
def test_functions_over_elements(call: str) -> None:
    kernel = kerneltk.ElementwiseKernel(
        "T x", "T y", f"if (x == 3) {call}; y = x", "ends", preamble="#include <cstdlib>"
    )
    with pytest.raises(LaunchError, match="or a function that ends a process"):
        kernel(np.arange(5))
    assert kernel(np.arange(3)).tolist() == [0, 1, 2]
