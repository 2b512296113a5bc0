"""The kernel of one combination of argument types, and what it makes of its arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.elementwise import ElementwiseKernel
from kerneltk.jit.ir.types import Tuple, Type

__all__ = ["TypedKernel", "typed_kernel"]


class TypedKernel(ElementwiseKernel):
    """A kernel whose function returns numbers."""

    def __init__(self, definition: ElementwiseDefinition) -> None:
        self._begin(definition)

    def arrays(self, *args: Any, **options: Any) -> Any:
        """Evaluate the function for every element, and return the arrays of its results."""
        return ElementwiseKernel.__call__(self, *args, **options)

    def made(self, arrays: Any) -> Any:
        """Return what a call returns for the arrays of its results."""
        return arrays


class _MakingKernel(TypedKernel):
    """One whose function returns a named tuple or a dataclass, which becomes one of arrays."""

    def __init__(self, definition: ElementwiseDefinition, make: Callable[..., Any]) -> None:
        super().__init__(definition)
        self._make = make

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate the function for every element."""
        return self.made(self.arrays(*args, **kwargs))

    def made(self, arrays: Any) -> Any:
        """Return what a call returns for the arrays of its results."""
        return self._make(*arrays)


def typed_kernel(definition: ElementwiseDefinition, result: Type) -> TypedKernel:
    """Return the kernel of a definition whose function returns values of type `result`."""
    if isinstance(result, Tuple) and result.maker is not None:
        return _MakingKernel(definition, result.maker)
    return TypedKernel(definition)
