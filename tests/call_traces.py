"""Calls as they go through the package's modules: traced here, or as a process's first call.

``python -m tests.call_traces NAME`` prints what a front-end's first call in this process does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Entry = tuple[str, str]
_FOUND = find_spec("kerneltk")
assert _FOUND is not None
assert _FOUND.origin is not None
ROOT = Path(_FOUND.origin).parent
EXECUTING = {"launch.interpreter", "launch.shortcuts"}


class Call(NamedTuple):
    """A call: the module that it is made in, the module and the function that it enters, and
    whether that module waits for the one that calls.
    """

    caller: str
    entry: Entry
    is_waiting: bool


@cache
def module_of(file: str) -> str | None:
    path = Path(file)
    if ROOT not in path.parents or ROOT / "templates" in path.parents:
        return None
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def calls_of(call: Callable[[], object]) -> list[Call]:
    """The calls of kerneltk's functions in order; what imports do is left out."""
    calls: list[Call] = []
    stack = [("", False)]  # the module that a frame belongs to, and whether it is imported

    def profile(frame: Any, event: str, argument: object) -> None:
        if event == "call":
            code, (caller, importing) = frame.f_code, stack[-1]
            importing = importing or code.co_filename.startswith("<frozen importlib")
            module = None if importing else module_of(code.co_filename)
            # A launcher and a shortcut do what their descriptions say, step by step.
            if module is not None and not (module == caller and module in EXECUTING):
                waits = module != caller and any(module == active for active, _ in stack)
                calls.append(Call(caller, (module, code.co_qualname), waits))
            stack.append((module or caller, importing))
        elif event == "return" and len(stack) > 1:
            stack.pop()

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return calls


# -- first calls in new processes ------------------------------------------------------------------

X = np.ones(1000, np.float32)


def elementwise() -> Callable[[], object]:
    import kerneltk

    kernel = kerneltk.ElementwiseKernel("T x, T y", "T z", "z = x + y", "first_call")
    return lambda: kernel(X, X)


def reduction() -> Callable[[], object]:
    import kerneltk

    kernel = kerneltk.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "first_call")
    return lambda: kernel(X)


def raw() -> Callable[[], object]:
    import kerneltk

    code = 'extern "C" __global__ void first_call(float* x) { x[threadIdx.x] = 1; }'
    kernel, out = kerneltk.RawKernel(code, "first_call"), np.empty(32, np.float32)
    return lambda: kernel((1,), (32,), (out,))


def load() -> Callable[[], object]:
    import kerneltk

    path, y = Path(__file__).parent / "kernels" / "grid_stride.cu", np.ones(1000, np.float32)
    return lambda: kerneltk.load(path).saxpy[4, 256](1000, 2.0, X, y)


def rawkernel() -> Callable[[], object]:
    from kerneltk import jit

    @jit.rawkernel
    def first_call(x, factor):
        i = jit.grid(1)
        if i < x.size:
            x[i] = x[i] * factor

    out, factor = np.ones(1000, np.float32), np.float32(2)
    return lambda: first_call[4, 256](out, factor)


def element_kernel() -> Callable[[], object]:
    from kerneltk import jit

    @jit.kernel
    def first_call(x, y):
        return x + y

    return lambda: first_call(X, X)


def vectorize() -> Callable[[], object]:
    import kerneltk

    @kerneltk.vectorize
    def first_call(x, y):
        return x + y

    return lambda: first_call(X, X)


def fuse() -> Callable[[], object]:
    import kerneltk

    @kerneltk.fuse
    def first_call(x, y):
        return x * y + x.sum()

    return lambda: first_call(X, X)


def graph() -> Callable[[], object]:
    import kerneltk

    kernel = kerneltk.ElementwiseKernel("T x, T y", "T z", "z = x + y", "first_call")

    def record_and_launch() -> None:
        with kerneltk.graph(x=X) as recorded:
            kernel(X, X)
        recorded.launch()

    return record_and_launch


FRONT_ENDS = {
    make.__name__: make
    for make in (
        elementwise, reduction, raw, load, rawkernel, element_kernel, vectorize, fuse, graph
    )
}  # fmt: skip


class FirstCall(NamedTuple):
    """The first call of a process: its calls, and the package's modules that are loaded then."""

    calls: list[Call]
    loaded: list[str]

    @property
    def modules(self) -> dict[str, str]:
        """The modules that take part, in their order, each with the function that is entered
        first.
        """
        found: dict[str, str] = {}
        for call in self.calls:
            found.setdefault(*call.entry)
        return found


def first_call(name: str, cache: Path) -> FirstCall:
    """Trace a front-end's first call in a new process, with launchers in Python. What it needs is
    in the compile cache if it ran before.
    """
    changes = {"KERNELTK_CACHE_DIR": str(cache), "KERNELTK_LAUNCHER": "python"}
    changes["PYTHONPATH"] = os.pathsep.join([str(ROOT.parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "tests.call_traces", name],
        cwd=Path(__file__).parents[1],
        env={**os.environ, **changes},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    calls, loaded = json.loads(done.stdout)
    return FirstCall(
        [Call(caller, tuple(entry), waits) for caller, entry, waits in calls],
        loaded,
    )


def _main() -> None:
    from kerneltk.launch.called import by_methods

    call = FRONT_ENDS[sys.argv[1]]()
    with by_methods():  # a class's own call is Python's wherever the extension module was built
        calls = calls_of(call)
    loaded = sorted(name for name in sys.modules if name.partition(".")[0] == "kerneltk")
    json.dump((calls, loaded), sys.stdout)


if __name__ == "__main__":
    _main()
