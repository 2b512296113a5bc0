"""What the public modules give out: pickles and copies of it, and what importing them loads."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.errors import UnsupportedError
from kerneltk.jit import cg, cub, cuda
from kerneltk.jit.intrinsics.execution import threads, warp
from kerneltk.jit.intrinsics.numbers import bits


def given_out() -> dict[str, Any]:
    """The objects of the public modules by their names, with those behind them."""
    found: dict[str, Any] = {}
    for module in (jit, cg, cub, cuda):
        prefix = module.__name__.removeprefix("kerneltk.")
        for name in module.__all__:
            value = getattr(module, name)
            found[f"{prefix}.{name}"] = value
            if isinstance(value, SimpleNamespace):
                behind = vars(value).items()
                found |= {f"{prefix}.{name}.{k}": v for k, v in behind if not k.startswith("_")}
            elif hasattr(value, "z"):
                found |= {f"{prefix}.{name}.{axis}": getattr(value, axis) for axis in "xyz"}
    return found


PUBLIC = given_out()


def test_namespaces_are_looked_into() -> None:
    assert {"jit.cuda.shared.array", "jit.threadIdx.x", "jit.cuda.atomic.cas"} <= set(PUBLIC)


def test_pickles_and_copies_are_the_object_itself() -> None:
    for name, value in PUBLIC.items():
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(value, protocol)) is value, name
        assert copy.copy(value) is value, name
        assert copy.deepcopy(value) is value, name


def test_names_of_numba_are_the_same_objects() -> None:
    """Programs of the one spelling show what the other means."""
    for name in (*warp.INTRINSICS, *bits.INTRINSICS, *threads.INTRINSICS):
        assert name == "laneid" or getattr(cuda, name) is getattr(jit, name)


def test_messages_name_them_as_users_do() -> None:
    with pytest.raises(UnsupportedError, match=r"'cuda\.shared\.array' can only be called"):
        cuda.shared.array(32, np.int64)


# More modules, and these, are only needed where a kernel is compiled.
@pytest.mark.parametrize(
    ("statement", "most"), [("import kerneltk", 1), ("from kerneltk import jit", 64)]
)
def test_importing_loads_few_modules(statement: str, most: int) -> None:
    code = f"import sys; {statement}; print(*(name for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    own = {name for name in done.stdout.split() if name.partition(".")[0] == "kerneltk"}
    assert len(own) <= most, sorted(own)
    compiler = ("kerneltk.codegen", "kerneltk.jit.lowering", "kerneltk.jit.passes")
    assert not own.intersection((*compiler, "kerneltk.pipeline", "kerneltk.elementwise"))
    assert not {"ml_dtypes", "symtable", "jinja2"}.intersection(done.stdout.split())
