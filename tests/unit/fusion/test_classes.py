"""What plain code asks of the classes of arrays is answered as for its arrays, or refused."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sized
from typing import Any

import numpy as np
import pytest

import kerneltk

X = np.arange(4.0)


class Tensor:
    """An array of a library that is not NumPy."""

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)

    def detach(self) -> Any:
        return self

    def clamp(self, *_: Any) -> Any:
        return self

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Parameter(Tensor):
    pass


class Asked(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return True


class Any_(metaclass=Asked):  # noqa: N801
    pass


def helper(x: Any) -> bool:
    return isinstance(x, Tensor)


RIGHT: list[Callable[[Any], bool]] = [
    lambda x: isinstance(x, Tensor),
    lambda x: isinstance(x, np.ndarray),
    lambda x: isinstance(x, np.ndarray | list),
    lambda x: isinstance(x, (list, (Parameter, str))),
    lambda x: isinstance(x, Iterable),
    lambda x: type(x) is Tensor,
    lambda x: issubclass(type(x), Tensor),
    lambda x: type(x) in (np.ndarray, Parameter),
    lambda x: isinstance(x[1:] if isinstance(x, np.ndarray) else x, Parameter),
    lambda x: np.isscalar(x),
    lambda x: hasattr(x, "unknown"),
    lambda x: hasattr(x, "detach"),
    lambda x: hasattr(x, "__dlpack__"),
    lambda x: hasattr(x, "flags"),
    lambda x: hasattr(x, "__call__"),  # noqa: B004
    lambda x: hasattr(x, "storage") or hasattr(x, "node"),
    lambda x: isinstance(x, Hashable),
    lambda x: isinstance(X, np.ndarray),
    helper,
]


@pytest.mark.parametrize("number", range(len(RIGHT)))
def test_classes_are_those_of_plain_code(number: int) -> None:
    asks = RIGHT[number]
    fused = kerneltk.fuse(lambda x: np.add(x, 1 if asks(x) else 2))
    for _ in range(2):
        for x in (X, Tensor(X), Parameter(X), X):
            wanted = X + (1 if asks(x) else 2)
            np.testing.assert_array_equal(np.from_dlpack(fused(x)), wanted)


def test_numbers_and_scalars() -> None:
    def asked(x: Any, n: Any) -> Any:
        values = n, x[0], x.sum(), x.shape[0], n * 2
        return [
            [isinstance(value, Sized), hasattr(value, "__len__"), hasattr(value, "is_integer")]
            for value in values
        ]

    fused = kerneltk.fuse(asked)
    for n in (2, 2.5, np.float32(1)):
        assert fused(X, n) == asked(X, n)


def test_classes_of_results() -> None:
    def classes(x: Any, y: Any) -> Any:
        values = x, x + 1, x[1:], x.sum(), y, y[1:], np.exp(y), X
        return [isinstance(value, Tensor) for value in values], [
            isinstance(value, Parameter) for value in values
        ]

    fused = kerneltk.fuse(classes)
    tensors, parameters = fused(Parameter(X), X)
    assert tensors == [True, True, True, True, False, False, True, False]
    assert parameters == [True, True, True, True, False, False, True, False]
    assert fused(X, X) == ([False] * 8, [False] * 8)


def matched(x: Any) -> Any:
    match x:
        case np.ndarray():
            return x * 2
        case _:
            return x


@functools.singledispatch
def dispatched(x: Any) -> Any:
    return x


class Asking:
    def ask(self, x: Any) -> Any:
        return np.add(x, isinstance(x, Tensor))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: np.add(x, x.__class__ is Tensor), "The class of an argument is asked for"),
        (lambda x: dispatched(x), "The class of an argument is asked for"),
        (lambda x: Asking().ask(x), "The class of an argument is asked for"),
        (matched, "The class of an argument is asked for"),
        (lambda x: np.add(x, isinstance(x, Any_)), "Whether an argument is an instance of"),
        (lambda x: x.detach(), "'detach' of a tensor is not fused"),
        (lambda x: x.clamp(0, 1), r"write 'np.clip\(x, low, high\)'"),
        (lambda x: x.__dlpack__(), "'__dlpack__' of an array is not fused"),
    ],
)
def test_what_is_refused(function: Any, message: str) -> None:
    with pytest.raises(kerneltk.UnsupportedError, match=message) as caught:
        kerneltk.fuse(function)(Tensor(X))
    assert "test_classes.py" in str(caught.value)


def test_operations_of_two_tensors() -> None:
    fused = kerneltk.fuse(lambda x, y: (x - x.mean()) * y[::-1] / np.exp(x) == y)
    assert not np.from_dlpack(fused(Tensor(X), Tensor(X))).any()


def test_subclasses_of_numpys_arrays() -> None:
    class Own(np.ndarray):
        pass

    fused = kerneltk.fuse(lambda x: [isinstance(x, Own), isinstance(x + 1, np.ndarray), type(x)])
    assert fused(X.view(Own)) == [True, True, Own]
    assert fused(X) == [False, True, np.ndarray]


def test_attributes_that_numpys_arrays_have_not() -> None:
    fused = kerneltk.fuse(lambda x: x.flip(0))
    with pytest.raises(
        AttributeError, match=r"no attribute 'flip'(.|\n)*write 'np.flip\(x\)'"
    ) as e:
        fused(X)
    assert isinstance(e.value, kerneltk.NoSuchAttributeError)
    assert "x.flip(0)" in str(e.value)

    def lenient(x: Any) -> Any:
        try:
            return x.unsqueeze(0)
        except AttributeError:
            return x[None]

    np.testing.assert_array_equal(kerneltk.fuse(lenient)(X), X[None])


def test_real_tensors() -> None:
    torch = pytest.importorskip("torch")
    functions: list[Any] = [
        lambda x: x * 2 if isinstance(x, torch.Tensor) else x,
        lambda x: x * 2 if isinstance(x.sum(), torch.Tensor) else x,
        lambda x: x * 2 if type(x[1:]) is torch.Tensor else x,
    ]
    for function in functions:
        for x in (torch.arange(4.0), np.arange(4.0)):
            found, wanted = kerneltk.fuse(function)(x), function(x)
            assert type(found) is type(wanted)
            np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))
    refused: list[Any] = [
        torch.is_tensor, torch.tensor, torch.nn.functional.relu, torch.nn.functional.softmax,
        torch.nn.GELU(), torch.exp,
    ]  # fmt: skip
    for function in refused:
        with pytest.raises(kerneltk.UnsupportedError, match=r"test_classes\.py"):
            kerneltk.fuse(lambda x, f=function: x * 2 if f(x) else x)(torch.arange(4.0))
