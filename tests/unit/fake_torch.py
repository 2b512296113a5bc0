"""A module that stands for torch: its tensors have NumPy's memory, and a device of any name."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

from kerneltk.core.arrays import byte_extent


@dataclass(frozen=True)
class Dtype:
    """torch's dtypes are no NumPy dtypes."""

    name: str

    def __str__(self) -> str:
        return f"torch.{self.name}"


class Tensor:
    """A tensor around an array, by the attributes of torch's that are public."""

    layout = "torch.strided"

    def __init__(
        self, array: Any, dtype: str = "", device: str = "cpu", requires_grad: bool = False
    ) -> None:
        self.array = np.asarray(array)
        self.dtype = Dtype(dtype or self.array.dtype.name)
        kind, _, number = device.partition(":")
        self.device = SimpleNamespace(type=kind, index=int(number) if number else None)
        self.device_name = device
        self.requires_grad = requires_grad
        self.version = 0
        self.is_lazy = False

    shape = property(lambda self: self.array.shape)

    def item(self) -> Any:
        return self.array.item()

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def data_ptr(self) -> int:
        return int(self.array.__array_interface__["data"][0])

    def storage_offset(self) -> int:
        return 0

    def untyped_storage(self) -> Any:
        _, end = byte_extent(self.array.shape, self.array.strides, self.array.itemsize)
        return SimpleNamespace(nbytes=lambda: end)  # as if it ended with the tensor

    def is_conj(self) -> bool:
        return self.is_lazy

    def is_neg(self) -> bool:
        return False

    def is_inference(self) -> bool:
        return False

    def detach(self) -> Tensor:
        return self

    def resolve_conj(self) -> Tensor:
        return Tensor(self.array.conj())

    def resolve_neg(self) -> Tensor:
        return self

    def view(self, dtype: Dtype) -> Tensor:
        wanted = np.dtype(getattr(ml_dtypes, dtype.name, dtype.name))
        return Tensor(self.array.view(wanted), device=self.device_name)

    def as_strided(self, shape: tuple[int, ...], steps: list[int]) -> Tensor:
        strides = [step * self.array.itemsize for step in steps]
        view = np.lib.stride_tricks.as_strided(self.array, shape, strides)
        return Tensor(view, device=self.device_name)

    # The protocols, as torch has them: they say less.

    @property
    def __cuda_array_interface__(self) -> Any:
        if self.device.type != "cuda":
            raise AttributeError("no CUDA tensor")
        if self.requires_grad:
            raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad.")
        return {
            "version": 2,
            "shape": self.shape,
            "typestr": {"float32": "<f4"}[self.dtype.name],
            "data": (self.data_ptr(), False),
        }

    def __dlpack__(self, **options: Any) -> Any:
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return {"cpu": 1, "cuda": 2}[self.device.type], self.device.index or 0


def module() -> ModuleType:
    """Return the module."""
    made: Any = ModuleType("torch")
    made.Tensor, made.dtype = Tensor, Dtype
    names = ["bool", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64"]
    for name in (*names, "bfloat16", "float8_e4m3fn"):
        setattr(made, name, Dtype(name))
    made.from_numpy, made.strided = Tensor, Tensor.layout
    made.is_grad_enabled = lambda: True

    def increment_version(tensor: Tensor) -> None:
        tensor.version += 1

    made.autograd = SimpleNamespace(graph=SimpleNamespace(increment_version=increment_version))
    return made  # type: ignore[no-any-return]
