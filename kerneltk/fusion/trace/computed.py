"""What stands for a lazy array once its block has ended: the array that it became."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from kerneltk.fusion.trace.lazy import NUMPYS_PROTOCOLS, LazyArray


def become(array: LazyArray, value: Any) -> None:
    """Have a lazy array be an array from now on."""
    array._value = value
    array.__class__ = ComputedArray


def computed(value: Any) -> Any:
    """A value with arrays in place of those that a block has computed."""
    if type(value) is ComputedArray:
        return object.__getattribute__(value, "_value")
    if type(value) in (tuple, list):
        items = [computed(item) for item in value]
        if any(new is not old for new, old in zip(items, value, strict=True)):
            return type(value)(items)
    return value  # the same object, by which the next call finds its program


_OF_COMPUTED = (
    "__array__", "__class__", "__torch_function__", "__cupy_override_elementwise_kernel__",
    "__cupy_override_reduction_kernel__", "_value",
)  # fmt: skip


class ComputedArray(LazyArray):
    """A lazy array whose block has ended: it stands for the array that it became."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._value, name, value)

    def __getattribute__(self, name: str) -> Any:
        if name in _OF_COMPUTED:
            return object.__getattribute__(self, name)
        if name in NUMPYS_PROTOCOLS:
            raise AttributeError(name)
        return getattr(object.__getattribute__(self, "_value"), name)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        options = {name: computed(value) for name, value in kwargs.items()}
        return getattr(ufunc, method)(*map(computed, inputs), **options)

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        options = {name: computed(value) for name, value in kwargs.items()}
        return function(*map(computed, args), **options)

    def __cupy_override_elementwise_kernel__(self, kernel: Any, *args: Any, **kwargs: Any) -> Any:
        options = {name: computed(value) for name, value in kwargs.items()}
        return kernel(*map(computed, args), **options)

    __cupy_override_reduction_kernel__ = __cupy_override_elementwise_kernel__

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        options = {name: computed(value) for name, value in (kwargs or {}).items()}
        return function(*map(computed, args), **options)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self._value, dtype, copy=copy, order="K")


def _delegated(name: str) -> Any:
    def method(self: ComputedArray, *args: Any) -> Any:
        return getattr(self._value, name)(*map(computed, args))

    return method


for _name in (
    "bool", "iter", "float", "int", "index", "complex", "len", "getitem", "setitem", "repr",
    "str", "round", "copy", "deepcopy", "reduce", "reduce_ex",
):  # fmt: skip
    setattr(ComputedArray, f"__{_name}__", _delegated(f"__{_name}__"))


def _applied_to_values(function: Callable[..., Any], swapped: bool = False) -> Any:
    if swapped:
        return lambda self, other: function(computed(other), computed(self))
    return lambda *operands: function(*map(computed, operands))


# As the arrays' own operators: other libraries' do not go through NumPy's ufuncs.
for _name in (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_",
    "xor", "matmul",
):  # fmt: skip
    _plain = _name.rstrip("_")
    setattr(ComputedArray, f"__{_plain}__", _applied_to_values(getattr(operator, _name)))
    setattr(ComputedArray, f"__r{_plain}__", _applied_to_values(getattr(operator, _name), True))
    setattr(ComputedArray, f"__i{_plain}__", _applied_to_values(getattr(operator, f"i{_plain}")))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "invert"):
    setattr(ComputedArray, f"__{_name}__", _applied_to_values(getattr(operator, _name)))
