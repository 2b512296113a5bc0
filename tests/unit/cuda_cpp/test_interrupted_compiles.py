"""What a compilation that fails or is interrupted leaves behind does no harm to later ones."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import pipeline
from kerneltk.cuda_cpp.program import errors_of_log
from kerneltk.errors import BackendUnavailableError, CompileError

# The compiler finds an error of the host's code and one of what CPU cores lack, in several tries.
SOURCE = """#include <cooperative_groups.h>
namespace lib {}
struct Pair { int a, b; int sum() { return lib::sum(a, b); } };
struct Other { int a; int twice() { return lib::twice(a); } };
__global__ void clustered(int* x) { x[0] = cooperative_groups::this_cluster().block_rank(); }
__global__ void also(int* x) { x[0] = cooperative_groups::cluster_group::block_rank(); }
__global__ void pairs(Pair p, Other o, int* x) { x[threadIdx.x] = p.a * p.b + o.a; }
"""


def run(module: Any) -> list[int]:
    x = np.zeros(2, np.int32)
    pair = np.array([(4, 5)], [("a", "i4"), ("b", "i4")])[0]
    other = np.array([(1,)], [("a", "i4")])[0]
    module.pairs(1, 2, (pair, other, x))
    for name in ("clustered", "also"):
        with pytest.raises(CompileError, match=f"'{name}' cannot run on CPU cores, .* clusters"):
            module.get_function(name)(1, 1, (x,))
    return x.tolist()


@pytest.mark.exhaustive
@pytest.mark.parametrize("error", [KeyboardInterrupt, BackendUnavailableError, CompileError])
def test_any_try_may_be_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    path = tmp_path / "k.cu"
    make = pipeline.OnDevice.make
    for last in itertools.count(1):
        path.write_text(f"{SOURCE}// {error.__name__} {last}\n")
        tries = 0

        def failing(*arguments: Any, last: int = last) -> Any:
            nonlocal tries
            tries += 1
            if tries == last:
                raise error("the end")
            return make(*arguments)

        monkeypatch.setattr(pipeline.OnDevice, "make", failing)
        module = kerneltk.load(path)
        x = np.zeros(1, np.int32)
        try:
            module.clustered(1, 1, (x,))
        except (error, CompileError) as caught:
            if "the end" not in str(caught):  # it is refused, and nothing has failed
                assert last > 2
                break
        # The same module goes on, and so does another process.
        assert run(kerneltk.load(path)) == [21, 21]
        assert run(module) == [21, 21]
        tries = last
        assert run(kerneltk.load(path)) == [21, 21]
        assert tries == last  # all is known by now


def test_a_compiler_that_says_nothing_refuses_nothing() -> None:
    log = "g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n"
    for text in ("", log, "/usr/bin/ld: final link failed: No space left on device\n"):
        assert not errors_of_log(text, {}).has_unlocated
    assert errors_of_log(
        "u.s: Assembler messages:\nu.s:4: Error: no such thing\n", {}
    ).has_unlocated


def test_assembly_of_the_cpu_is_not_refused_when_compiling_takes_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = '__global__ void f(int* x) { asm volatile("nop"); x[0] = 7; }\n'

    def slow(*arguments: Any) -> Any:
        raise CompileError("The compiler did not finish 'code' in 1 s.")

    make = pipeline.OnDevice.make
    monkeypatch.setattr(pipeline.OnDevice, "make", slow)
    x = np.zeros(1, np.int32)
    with pytest.raises(CompileError, match="did not finish"):
        kerneltk.RawKernel(code, "f")(1, 1, (x,))
    monkeypatch.setattr(pipeline.OnDevice, "make", make)
    kerneltk.RawKernel(code, "f")(1, 1, (x,))
    assert x[0] == 7
