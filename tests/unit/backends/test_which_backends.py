"""Which backends there are: whose arrays they take, and what is loaded when."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from kerneltk import BackendUnavailableError, ElementwiseKernel
from kerneltk.backends import base
from kerneltk.backends.base import Registration, backend_named, capabilities_of
from kerneltk.core.artifacts import Target, TranslationUnit
from kerneltk.errors import ArgumentValueError


class Mine(np.ndarray):
    pass


class Loaded:
    """A backend that was loaded."""

    def __init__(self, name: str) -> None:
        self.name = name


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it, and nothing of it is loaded."""
    monkeypatch.setattr(base, "_registered", list(base._registered))
    monkeypatch.setattr(base, "_loaded", dict(base._loaded))


def add(monkeypatch: pytest.MonkeyPatch, name: str, load: Any = None, **facts: Any) -> ModuleType:
    """Register a backend; return the library of its arrays, which is imported."""
    library: Any = ModuleType(f"library_of_{name}")
    library.Array = Mine
    monkeypatch.setitem(sys.modules, library.__name__, library)
    made: Any = load or (lambda: Loaded(name))
    base.register(
        Registration(
            replace(capabilities_of("host"), name=name, **({"is_fallback": False} | facts)),
            library.__name__,
            "Array",
            made,
            lambda unit, target: (backend_named(unit.backend), Target(name, target, "none")),
            lambda: library,
        )
    )
    return library  # type: ignore[no-any-return]


def test_backends_of_this_package() -> None:
    assert base.names() == ("host", "cuda")
    assert capabilities_of("host").is_fallback
    assert not capabilities_of("cuda").is_fallback
    assert [capabilities_of(name).warp_size for name in base.names()] == [32, 32]


def test_who_registers_later_gets_the_array(monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.zeros(3).view(Mine)
    assert base.backend_of(array) is backend_named("host")
    add(monkeypatch, "first")
    add(monkeypatch, "second")
    assert base.backend_of(array) is backend_named("second")
    assert base.backend_of(np.zeros(3)) is backend_named("host")
    assert base.backend_of([1.0]) is None
    assert base.names() == ("host", "cuda", "first", "second")


def test_nothing_is_an_array_of_a_library_that_is_not_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library = add(monkeypatch, "own", load=lambda: pytest.fail("nobody asked for it"))
    monkeypatch.delitem(sys.modules, library.__name__)
    assert base.backend_of(np.zeros(3).view(Mine)) is backend_named("host")
    assert base.default_backend() is not None


def test_who_was_imported_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    assert base.default_backend() is backend_named("host")
    library = add(monkeypatch, "own")
    assert base.default_backend() is backend_named("own")
    assert backend_named(None) is backend_named("own")
    monkeypatch.delitem(sys.modules, library.__name__)
    assert base.default_backend() is backend_named("host")


def test_a_default_that_cannot_be_loaded_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> Any:
        raise BackendUnavailableError("There is no such device.")

    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    add(monkeypatch, "own", load=absent)
    assert base.default_backend() is backend_named("host")
    with pytest.raises(BackendUnavailableError, match="no such device"):
        backend_named("own")


@pytest.mark.parametrize("name", ["gpu", "", 3, [], None])
def test_names_that_none_has(name: Any) -> None:
    with pytest.raises(ArgumentValueError) as caught:
        capabilities_of(name)
    assert str(caught.value) == f"'backend' must be 'host' or 'cuda', not {name!r}."


def test_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    add(monkeypatch, "own")
    targets = {"host": "host", "cuda": "cuda", "own": "own", "sm_90": "cuda", "": "cuda"}
    found = {target: base.capabilities_of_target(target).name for target in targets}
    assert found == targets


def test_what_compiles_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    add(monkeypatch, "own")
    compiler, target = base.compiler_for(TranslationUnit("own", "", "k"), "mk1")
    assert compiler is backend_named("own")
    assert target == Target("own", "mk1", "none")
    compiler, target = base.compiler_for(TranslationUnit("host", "", "k"), "host")
    assert compiler is backend_named("host")
    assert target.backend == "host"
    target = base.compiler_for(TranslationUnit("cuda", "", "k"), "sm_90")[1]
    assert (target.backend, target.architecture) == ("cuda", "sm_90")
    with pytest.raises(ValueError, match="not a CUDA architecture"):
        base.compiler_for(TranslationUnit("cuda", "", "k"), "sm90")


LAZY = """
import sys
import kerneltk
assert not any(name.startswith("kerneltk.") for name in sys.modules)
import numpy as np
kernel = kerneltk.ElementwiseKernel("T x", "T y", "y = x + 1", "k")
kernel(np.arange(4.0))
of_gpus = ("kerneltk.backends.cuda.", "cupy", "cuda.")
loaded = [name for name in sys.modules if name.startswith(of_gpus)]
assert not loaded, loaded
assert "kerneltk.backends.host.memory_check" not in sys.modules
"""


def test_a_numpy_call_loads_nothing_of_a_gpu() -> None:
    subprocess.run([sys.executable, "-c", LAZY], check=True)


@pytest.mark.parametrize("contents", [{}, {"ndarray": None}])
def test_a_library_without_its_class_of_arrays_owns_nothing(
    monkeypatch: pytest.MonkeyPatch, contents: dict[str, Any]
) -> None:
    """As CuPy is while another thread imports it."""
    half = ModuleType("cupy")
    vars(half).update(contents)
    monkeypatch.setitem(sys.modules, "cupy", half)
    x = np.arange(3.0)
    assert base.backend_of(x) is backend_named("host")
    assert ElementwiseKernel("T x", "T y", "y = 2 * x", "twice")(x).tolist() == [0, 2, 4]
