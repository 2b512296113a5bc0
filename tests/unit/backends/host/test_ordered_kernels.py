"""Checks of memory on kernels whose threads exchange values: right ones are quiet."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

import kerneltk

from ....processes import python
from . import ordered_kernels_worker as worker

HERE = Path(__file__).parent
ZIG = pytest.param("zig", marks=pytest.mark.exhaustive)
COMPILERS = ["", *([ZIG] if importlib.util.find_spec("ziglang") else [])]
RIGHT = [*worker.CUDA, *worker.PYTHON, "elements"]
WRONG = [f"wrong_{name}" for name in (*worker.WRONG_CUDA, *worker.WRONG_PYTHON)]
ALWAYS_FOUND = {"wrong_barrier", "wrong_numba_barrier"}


def run_worker(part: str, debug: str, compiler: str = "") -> dict[str, str]:
    """Return what each launch of a part of the worker said."""
    command = "-m", worker.__name__, part
    variables = {"KERNELTK_HOST_DEBUG": debug, "KERNELTK_CXX": compiler}
    done = python(*command, cwd=HERE.parents[3], **variables)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module", params=COMPILERS, ids=lambda compiler: compiler or "default")
def messages(request: pytest.FixtureRequest, once: Any) -> dict[str, str]:
    def make() -> bytes:
        parts = (run_worker(p, "memory", request.param) for p in ("cuda", "python"))
        return json.dumps({name: said for part in parts for name, said in part.items()}).encode()

    found: dict[str, str] = json.loads(once((worker.__file__, request.param), make))
    return found


@pytest.mark.exhaustive
def test_every_kernel_is_judged(messages: dict[str, str]) -> None:
    assert len(RIGHT) > 15
    assert set(messages) == {*RIGHT, *WRONG}


@pytest.mark.exhaustive
def test_right_kernels_are_quiet(messages: dict[str, str]) -> None:
    assert {name: messages[name] for name in RIGHT} == dict.fromkeys(RIGHT, "")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", WRONG)
def test_wrong_kernels_are_reported(messages: dict[str, str], name: str) -> None:
    said = messages[name]
    if name.endswith("barrier"):
        assert "thread (40, 0, 0) has left the kernel, while 40 threads wait at " in said
    elif name.endswith("dynamic"):
        assert "of the 256 bytes of dynamic shared memory: right beyond its end" in said
    elif name.endswith("same_address"):
        assert "of the same warp writes at" in said
        assert "with another value, and nothing orders the two.\n  Hint: let one lane write" in said
    else:
        assert "of the same warp" in said
        assert "and nothing orders the two.\n  Hint: put '__syncwarp()' between them (in" in said
    assert "ordered_kernels" in said


@pytest.mark.exhaustive
@pytest.mark.parametrize("debug", ["", "symbols", "memory,symbols"])
@pytest.mark.parametrize("part", ["cuda", "python"])
def test_other_modes(debug: str, part: str) -> None:
    found = run_worker(part, debug)
    reported = {name for name, said in found.items() if said and name.startswith("wrong_")}
    assert not [name for name, said in found.items() if said and name not in reported]
    wrong = {name for name in found if name.startswith("wrong_")}
    if "memory" in debug:
        assert reported == wrong
    else:
        assert reported & ALWAYS_FOUND == wrong & ALWAYS_FOUND


@pytest.mark.exhaustive
def test_kernels_compile_for_gpus() -> None:
    kerneltk.load(HERE / "ordered_kernels.cu").compile_for("sm_90")
