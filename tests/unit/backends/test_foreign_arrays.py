"""Arrays of other libraries, by classes that have their protocols around NumPy's memory."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from kerneltk import ArgumentTypeError, ArgumentValueError, ElementwiseKernel, fuse, jit
from kerneltk.backends import foreign_arrays
from kerneltk.fusion.decorator import Fused
from kerneltk.fusion.programs import Programs
from kerneltk.launch.dispatch import ArrayFunction

from ...differential.interop_cases import ByDlpack, ByInterface
from .. import fake_torch
from ..fake_torch import Tensor

TWICE = ElementwiseKernel("T x", "T y", "y = x + x", "twice")
SUM = ElementwiseKernel("T x, T w", "T y, T z", "y = x + w; z = x - w", "sum")


@pytest.mark.parametrize("kind", [ByInterface, ByDlpack])
def test_mixed_with_numpy(kind: Any) -> None:
    x, w = np.arange(8.0), np.ones(8)
    y, z = np.empty(8), np.empty(8)
    given = kind(z)
    result = SUM(kind(x), w, y, given)
    assert result[0] is y
    assert result[1] is given
    np.testing.assert_array_equal(y, x + w)
    np.testing.assert_array_equal(z, x - w)


def test_memory_that_is_read_only() -> None:
    y = np.zeros(8)
    y.flags.writeable = False
    np.testing.assert_array_equal(TWICE(ByInterface(y)), y)
    with pytest.raises(ValueError, match="read-only"):
        TWICE(np.ones(8), ByInterface(y))


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = fake_torch.module()
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def test_results_are_of_the_callers_kind(torch: ModuleType) -> None:
    x = np.arange(4.0)
    result = TWICE(Tensor(x))
    assert type(result) is Tensor
    np.testing.assert_array_equal(result.array, 2 * x)
    pair = SUM(x, Tensor(x))
    assert [type(part) for part in pair] == [Tensor, Tensor]


def test_given_outputs_are_given_back_themselves(torch: ModuleType) -> None:
    x, y = Tensor(np.arange(4.0)), Tensor(np.empty(4))
    assert TWICE(x, y) is y
    np.testing.assert_array_equal(y.array, [0, 2, 4, 6])


def test_writes_to_tensors_are_counted_or_refused(torch: ModuleType) -> None:
    x, y = Tensor(np.arange(4.0)), Tensor(np.empty(4))
    TWICE(x, y)
    assert (x.version, y.version) == (0, 1)
    with pytest.raises(ArgumentValueError, match="'y' is written, but it requires a gradient"):
        TWICE(x, Tensor(np.empty(4), requires_grad=True))
    with pytest.raises(ArgumentValueError, match="'y' is written, but several of its elements"):
        TWICE(x, Tensor(np.broadcast_to(np.empty(1), 4)))


def test_numbers_are_no_arrays() -> None:
    for value in (1, 2.0, 1j, True, np.float32(1), "a", b"a", [1], (1,), None, object()):
        assert foreign_arrays.import_array(value) is None


def test_devices_that_kernels_do_not_reach() -> None:
    elsewhere = ByDlpack(np.ones(3))
    elsewhere.__dlpack_device__ = lambda: (10, 0)  # type: ignore[method-assign]
    with pytest.raises(TypeError, match="device that kernels do not reach"):
        TWICE(elsewhere)


def test_subclasses_become_plain_arrays() -> None:
    class Named(np.ndarray):
        pass

    result = TWICE(np.arange(3.0).view(Named))
    assert type(result) is np.ndarray


def test_masks_are_refused() -> None:
    masked = np.ma.masked_greater(np.arange(3.0), 1)
    for keep in (False, True):
        with pytest.raises(ArgumentTypeError, match="'x' cannot be taken: a masked array has no"):
            foreign_arrays.Adoption().take(masked, 0, lambda key: ("x", None), keep_subclasses=keep)


def test_tensors_without_dimensions_are_numbers_beside_a_gpus(torch: ModuleType) -> None:
    there, here = Tensor(np.ones(2, np.float32), device="cuda:0"), Tensor(np.array(2.5))
    assert foreign_arrays.host_scalars_as_numbers((there, here, 3)) == (there, 2.5, 3)
    more = Tensor(np.ones(3))
    assert foreign_arrays.host_scalars_as_numbers((there, more)) == (there, more)
    assert foreign_arrays.host_scalars_as_numbers((more, here)) == (more, here)


def test_the_first_converter_that_does_something(torch: ModuleType) -> None:
    for x, w in ((ByDlpack(np.ones(3)), Tensor(np.ones(3))), (Tensor(np.ones(3)), np.ones(3))):
        assert [type(part) for part in SUM(x, w)] == [Tensor, Tensor]


# -- repeated calls ------------------------------------------------------------------------------


def doubled(x: Any, n: Any) -> Any:
    return x - x.mean() + n


@jit.kernel
def shifted(x, n):
    return x - 1.5 + n


@pytest.mark.parametrize("make", [lambda: fuse(doubled), lambda: shifted])
def test_repeated_calls_import_and_describe_nothing(
    make: Any, torch: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, described = make(), []
    for kind, name in ((Programs, "call"), (ArrayFunction, "_dispatch")):
        known = getattr(kind, name)
        monkeypatch.setattr(
            kind, name, lambda *args, known=known: described.append(0) or known(*args)
        )
    for size, count in ((4, 1), (4, 1), (4, 1), (2, 2), (4, 2), (2, 2)):
        x = np.linspace(0.0, 3.0, size)
        result = function(Tensor(x), 2.0)
        assert type(result) is Tensor
        np.testing.assert_allclose(result.array, x + 0.5)
        # Kernels of elements take all sizes.
        assert len(described) == (count if isinstance(function, Fused) else 1)
    if isinstance(function, Fused):
        function(np.ones(2), 2.0)
        shortcut = function._shortcut
        function(Tensor(np.ones(2)), 2.0)
        assert function._shortcut is shortcut
    sparse = Tensor(np.ones(2))
    sparse.layout = "sparse"
    with pytest.raises(ArgumentTypeError, match="layout 'sparse' cannot be passed"):
        function(sparse, 2.0)


def test_repeated_calls_ask_whether_to_write(torch: ModuleType) -> None:
    @fuse
    def increased(x: Any, y: Any) -> None:
        y += x

    x, y = np.ones(3), Tensor(np.zeros(3))
    for _ in range(3):
        increased(x, y)
    assert (y.array.tolist(), y.version) == ([3, 3, 3], 3)
    y.requires_grad = True
    with pytest.raises(ArgumentValueError, match=r"argument 2.* requires a gradient"):
        increased(x, y)
    whole = Tensor(np.arange(4.0))
    for _ in range(2):
        increased(Tensor(whole.array[:-1]), Tensor(whole.array[1:]))
    assert whole.array.tolist() == [0, 1, 4, 8]
