"""What is read of tensors' memory is what their methods say, or nothing is read."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from kerneltk.interop import torch_tensors
from kerneltk.interop.torch_tensors import TensorLayout, tensor_layout

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def layout() -> TensorLayout:
    found = tensor_layout(torch)
    if found is None:
        pytest.skip("this torch keeps tensors in another way")
    return found


def word(address: int) -> int:
    return int(ctypes.c_uint64.from_address(address).value)


def read(layout: TensorLayout, tensor: Any) -> tuple[int, int, bool]:
    """The bytes of the storage, the number of elements in front, and whether it is a lazy view."""
    own = word(id(tensor) + layout.implementation)
    size = word(word(own + layout.storage) + layout.size)
    return size, word(own + layout.first), bool(word(own + layout.keys) & layout.lazy)


def tensors() -> list[Any]:
    z = torch.ones(6, 5, dtype=torch.complex64)
    x = torch.ones(3, 4, requires_grad=True)
    with torch.inference_mode():
        inferred = torch.ones(4)
    resized = torch.ones(64)
    rest = resized[8:]
    resized.untyped_storage().resize_(0)
    return [
        z, z[2:, 1:], z.conj(), z.mH, z.conj().imag, z.imag, torch.view_as_real(z), x, x[1:],
        (x * 2)[2:], torch.tensor(1.5), torch.empty(0, 3), torch.ones(9, dtype=torch.bool)[4:],
        torch.nn.Parameter(x), inferred, resized, rest, z.conj().resolve_conj(),
        torch.ones(2, 1, 2, 1, 2, 1, 2)[1:], torch.ones(7, dtype=torch.bfloat16)[3:],
        z.conj()[1:].real,
    ]  # fmt: skip


@pytest.mark.parametrize("k", range(len(tensors())))
def test_memory_says_what_methods_say(layout: TensorLayout, k: int) -> None:
    tensor = tensors()[k]
    expected = (
        tensor.untyped_storage().nbytes(),
        tensor.storage_offset(),
        tensor.is_conj() or tensor.is_neg(),
    )
    assert read(layout, tensor) == expected


def test_nothing_is_read_where_a_word_cannot_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_tensors, "_IMPLEMENTATION_WORDS", 4)
    assert tensor_layout(torch) is None
