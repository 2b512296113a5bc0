"""On which device a call runs: that of its arrays of other libraries, on two dry devices."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kerneltk import ElementwiseKernel, ReductionKernel, fuse, jit, vectorize
from kerneltk.errors import ArgumentTypeError, ArgumentValueError

from ..dry_gpu import CUPY, ON_OTHER, TORCH, DryGpu, two_gpus  # noqa: F401 (a fixture)
from ..fake_torch import Tensor
from ..front_ends import each_front_end, size_of_output


@pytest.mark.one_in(4)
@each_front_end
def test_a_launch_goes_where_the_tensors_are(make: Any, two_gpus: DryGpu) -> None:  # noqa: F811
    launch, size = make(), size_of_output(make)
    for current, device in ((0, 1), (0, 1), (1, 0), (0, 0), (1, 1)):
        two_gpus.device = current
        x, y = two_gpus.tensor(4, device=device), two_gpus.tensor(size, device=device)
        two_gpus.launches.clear()
        two_gpus.used.clear()
        launch(x, y)
        assert {where for _, where in two_gpus.used} == {device}
        assert [values[8] for values in two_gpus.launches] == [TORCH + ON_OTHER * device]
        assert two_gpus.device == current


@each_front_end
def test_tensors_of_two_devices_are_refused(make: Any, two_gpus: DryGpu) -> None:  # noqa: F811
    launch, size = make(), size_of_output(make)
    x, y = two_gpus.tensor(4), two_gpus.tensor(size, device=1)
    said = r"is on device 0, and the one for .* is on device 1\."
    for array in (y, two_gpus.array(size, device=1)):
        for current in (0, 1):
            two_gpus.device = current
            with pytest.raises(ArgumentValueError, match=said):
                launch(x, array)
            assert two_gpus.device == current
    assert two_gpus.launches == []


def results() -> dict[str, Any]:
    total = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    return {
        "elementwise": ElementwiseKernel("T x", "T y", "y = 2 * x", "twice"),
        "reduction": lambda x: total(x, axis=0),
        "element kernel": jit.kernel(lambda x: 2 * x),
        "vectorized": vectorize(lambda x: 2 * x),
        "fused": fuse(lambda x: x * x + 1),
    }


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", results())
def test_results_are_where_the_tensors_are(name: str, two_gpus: DryGpu) -> None:  # noqa: F811
    call = results()[name]
    for device in (1, 0, 1):
        two_gpus.used.clear()
        found = call(two_gpus.tensor(4, device=device))
        assert isinstance(found, Tensor)
        assert (found.device.index or 0) == device
        assert {where for _, where in two_gpus.used} == {device}
        assert two_gpus.device == 0
    for device in (1, 0):  # CuPy's follow the current device
        two_gpus.used.clear()
        two_gpus.device = device
        found = call(two_gpus.array(4, device=device))
        assert found.data.device_id == device
        assert {where for _, where in two_gpus.used} == {device}


def test_lists_become_arrays_where_the_tensors_are(
    two_gpus: DryGpu,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import cupy

    made: list[int] = []

    def asarray(given: Any) -> Any:
        made.append(two_gpus.device)
        return two_gpus.array(len(given), device=two_gpus.device)

    monkeypatch.setattr(cupy, "asarray", asarray)
    added = vectorize(lambda x, w: x + w)
    found = added(two_gpus.tensor(4, device=1), [1.0, 2.0, 3.0, 4.0])
    assert found.device.index == 1
    assert made == [1]


def sum_kernel() -> ElementwiseKernel:
    """A kernel whose launchers are for this test's devices."""
    return ElementwiseKernel("T x, T w", "T y", "y = x + w", "sum_of")


def test_the_device_is_restored_after_an_error(two_gpus: DryGpu) -> None:  # noqa: F811
    total = sum_kernel()

    def fails(arguments: Any) -> None:
        assert two_gpus.device == 1
        raise ZeroDivisionError

    two_gpus.at_launch = fails
    with pytest.raises(ZeroDivisionError):
        total(two_gpus.tensor(4, device=1), 2.0)
    assert two_gpus.device == 0
    assert two_gpus.current["cupy"] == CUPY
    assert two_gpus.current["cupy", 1] == CUPY + ON_OTHER


def test_cupys_arrays_beside_tensors(two_gpus: DryGpu) -> None:  # noqa: F811
    total = sum_kernel()
    found = total(two_gpus.array(4, device=1), two_gpus.tensor(4, device=1))
    assert isinstance(found, Tensor)
    assert found.device.index == 1
    assert two_gpus.used == [("launch", 1)]


def test_memory_of_all_devices_decides_none(
    two_gpus: DryGpu,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import cupy

    total = sum_kernel()
    managed = two_gpus.array(4)
    kinds = {managed.data.ptr: 3}  # cudaMemoryTypeManaged
    monkeypatch.setattr(
        cupy.cuda.runtime,
        "pointerGetAttributes",
        lambda address: SimpleNamespace(type=kinds.get(address, 2), device=0),
    )
    found = total(two_gpus.tensor(4, device=1), managed)
    assert found.device.index == 1
    assert two_gpus.used == [("launch", 1)]
    # It is nobody's other device either.
    two_gpus.device = 1
    assert total(managed, managed).data.device_id == 1


class ByInterface:
    """Has ``__cuda_array_interface__``, and names no stream."""

    def __init__(self, tensor: Tensor) -> None:
        self.__cuda_array_interface__ = tensor.__cuda_array_interface__


def test_the_driver_says_where_an_interface_is(
    two_gpus: DryGpu,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import cupy

    total = sum_kernel()
    where = SimpleNamespace(type=2, device=1)
    monkeypatch.setattr(cupy.cuda.runtime, "pointerGetAttributes", lambda address: where)
    found = total(ByInterface(two_gpus.tensor(4)), 1)
    assert found.data.device_id == 1
    assert two_gpus.used == [("launch", 1)]


def test_a_host_scalar_is_a_number(two_gpus: DryGpu) -> None:  # noqa: F811
    total = sum_kernel()
    x = two_gpus.tensor(4, device=1)
    for dtype in (np.float64, np.int64, np.float32):  # it decides no dtype
        number = Tensor(np.array(2, dtype))
        for found in (
            total(x, number),
            total(number, x),
            total(x, number, two_gpus.tensor(4, device=1)),
        ):
            assert found.device.index == 1
            assert str(found.dtype) == "torch.float32"
    with pytest.raises(ArgumentTypeError, match="is in a GPU, but 'w' is in host memory"):
        total(x, Tensor(np.ones(1, np.float32)))
    with pytest.raises(ArgumentTypeError, match="is in host memory"):
        total(x, x, Tensor(np.array(2.0, np.float32)))
    # Alone it is an array, and beside those of CuPy, whose rule is another.
    number = Tensor(np.array(2.0, np.float32))
    assert total(number, number).array == 4
    with pytest.raises(ArgumentTypeError, match="is in host memory"):
        total(two_gpus.array(4), number)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["element kernel", "vectorized", "fused"])
def test_a_host_scalar_in_python_kernels(name: str, two_gpus: DryGpu) -> None:  # noqa: F811
    call = {
        "element kernel": jit.kernel(lambda x, a: a * x),
        "vectorized": vectorize(lambda x, a: a * x),
        "fused": fuse(lambda x, a: a * x + 1),
    }[name]
    x = two_gpus.tensor(4, device=1)
    for number in (Tensor(np.array(2.0)), Tensor(np.array(3.0))):
        found = call(x, number)
        wanted = "float64" if name == "vectorized" else "float32"  # as of a Python number
        assert (found.device.index, str(found.dtype)) == (1, f"torch.{wanted}")
