"""Tensors of torch itself in host memory, where it is installed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from kerneltk import (
    ArgumentValueError,
    ElementwiseKernel,
    KernelToolkitError,
    ReductionKernel,
    fuse,
    jit,
)
from kerneltk.interop.torch_tensors import TorchLibrary, new_tensor

from ..front_ends import each_front_end, size_of_output

TWICE = ElementwiseKernel("T x", "T y", "y = x + x", "twice")
TOTAL = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")


@pytest.fixture(scope="module")
def torch() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what torch's own modules do at import
        return pytest.importorskip("torch")


def test_reversed_results_are_copies(torch: Any) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    for axes in ((0,), (1,), (0, 1)):
        reverse = fuse(lambda x, axes=axes: (np.flip(x, axes), x[1:]))
        reversed_, rest = reverse(x)
        assert torch.equal(reversed_, x.flip(axes))
        assert torch.equal(rest, x[1:])
    with fuse() as fused:
        y = fused(x)[::-1]
    assert torch.equal(y * 1, x.flip(0))


def test_tensors_in_the_memory_of_others(torch: Any) -> None:
    """As results on a GPU are: in host memory here."""
    block = torch.arange(48, dtype=torch.uint8)
    made = new_tensor(block, block.data_ptr(), np.dtype("f4"), (3, 4), (16, 4))
    assert torch.equal(made, block.view(torch.float32).reshape(3, 4))
    x = torch.arange(12.0, requires_grad=True).reshape(3, 4)
    for part in (x[1:], x[:, 2:], x.T[1:], x[1:][:, 1]):
        steps = tuple(4 * step for step in part.stride())
        view = new_tensor(x, part.data_ptr(), np.dtype("f4"), tuple(part.shape), steps)
        assert torch.equal(view, part)
        assert view.data_ptr() == part.data_ptr()
        assert not view.requires_grad
    z = torch.arange(6).to(torch.complex64).reshape(2, 3).T
    real = new_tensor(z, z[1:].data_ptr(), np.dtype("f4"), (2, 2), (8, 24))
    assert torch.equal(real, z[1:].real)
    assert new_tensor(x, None, np.dtype("f4"), (0, 4), (16, 4)).shape == (0, 4)


DTYPES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_of_inputs_and_results(torch: Any, name: str) -> None:
    x = torch.tensor([0, 1, 1]).to(getattr(torch, name))
    y = TWICE(x)
    assert isinstance(y, torch.Tensor)
    assert y.dtype == x.dtype
    assert y.to(torch.complex64).real.tolist() == ([0, 1, 1] if name == "bool" else [0, 2, 2])


def test_strides_and_results_of_several_kinds(torch: Any) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(TWICE(x.T), 2 * x.T)
    assert torch.equal(TWICE(x[:, ::2]), 2 * x[:, ::2])
    assert TWICE(torch.empty(0, 3)).shape == (0, 3)
    y = torch.zeros(3)
    y[:1].copy_(TOTAL(x))
    assert y.tolist() == [15, 0, 0]
    assert TOTAL(x, where=x > 2).item() == 12
    assert TOTAL(x, axis=0, out=y) is y

    @jit.kernel
    def shifted(x):
        return x[jit.index(1)]

    assert torch.equal(shifted(x[0]), x[0])
    # A NumPy array beside it, and the tensor's kind comes back.
    both = ElementwiseKernel("T x, T w", "T y", "y = x + w", "both")
    assert isinstance(both(np.ones(3, np.float32), x), torch.Tensor)


@each_front_end
def test_expanded_outputs_are_refused(make: Any, torch: Any) -> None:
    """Several of their elements are one location: also where the launcher is known by then."""
    launch, size = make(), size_of_output(make)
    side = 3 if make.__name__ == "reduction" else 0  # of a second axis, which it keeps
    x = torch.ones(4, side) if side else torch.ones(4)
    y = torch.zeros(size, side) if side else torch.zeros(4)
    wide = torch.zeros(1, 1).expand(1, 3) if side else torch.zeros(1).expand(4)
    for given in (wide, y, wide, wide):
        if given is y:
            launch(x, y)
            assert y.flatten()[0] != 0
            continue
        with pytest.raises(
            ArgumentValueError, match=r"'(y|out)'(.|\n)*one location(.|\n)*y\.clone"
        ):
            launch(x, given)
    assert wide.flatten()[0] == 0
    if not side:  # one element is no several
        launch(torch.ones(1), torch.zeros(()).expand(1))


def test_a_write_is_counted(torch: Any) -> None:
    weight, x = torch.ones(3), torch.ones(3, requires_grad=True)
    loss = (weight * x).sum()  # its gradient is computed from the weight as it is now
    TWICE(torch.ones(3), weight)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@each_front_end
def test_tensors_that_cannot_be_taken(make: Any, torch: Any) -> None:
    from torch._subclasses import FakeTensorMode

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantized = torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.quint8)
        with FakeTensorMode():
            fake = torch.ones(4)
        freed = torch.ones(4)
        freed.untyped_storage().resize_(0)
        given = {
            "sparse": torch.ones(4).to_sparse(),
            "sparse rows": torch.ones(4, 4).to_sparse_csr(),
            "mkldnn": torch.ones(4).to_mkldnn(),
            "quantized": quantized,
            "on meta": torch.ones(4, device="meta"),
            "fake": fake,
            "freed": freed,
            "of no dtype": torch.ones(4).to(torch.complex32),
        }
        y = torch.zeros(size_of_output(make))
        launch = make()
        for tensor in given.values():
            with pytest.raises(KernelToolkitError):
                launch(tensor, y)

        def mapped(row: Any) -> Any:
            launch(row, y)
            return row

        with pytest.raises(KernelToolkitError):
            torch.func.vmap(mapped)(torch.ones(2, 4))


@pytest.mark.parametrize("left", [0, 16])
@each_front_end
def test_a_storage_that_was_shrunk_is_not_read(make: Any, torch: Any, left: int) -> None:
    x, y = torch.zeros(1000)[2:], torch.zeros(size_of_output(make))
    x.untyped_storage().resize_(left)
    with pytest.raises(ArgumentValueError, match=f"its storage has {max(left - 8, 0)} from"):
        make()(x, y)


def test_a_view_may_end_with_its_storage(torch: Any) -> None:
    base = torch.arange(12.0).reshape(3, 4)
    assert torch.equal(TWICE(base[1:, ::3]), 2 * base[1:, ::3])
    assert TWICE(base[3:]).shape == (0, 4)


def test_memory_is_not_taken_of_fake_tensors(torch: Any) -> None:
    fake = pytest.importorskip("torch._subclasses.fake_tensor")
    with (
        fake.FakeTensorMode(),
        pytest.raises(ArgumentValueError, match="Memory for a result cannot be allocated"),
    ):
        TorchLibrary().allocate(8, 0)
