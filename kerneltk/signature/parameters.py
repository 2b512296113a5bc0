"""Parameters, signatures and the type variables' constraints. Pure data."""

from __future__ import annotations

from typing import Any

import numpy as np

from kerneltk.core.dtypes import type_category
from kerneltk.core.records import record
from kerneltk.errors import Snippet, render_message

_ALL = ("bool", "signedinteger", "unsignedinteger", "floating", "complexfloating", "structured")

CONSTRAINTS: dict[str, tuple[str, ...]] = {
    "any": _ALL,
    "bool": ("bool",),
    "complexfloating": ("complexfloating",),
    "floating": ("floating",),
    "inexact": ("floating", "complexfloating"),
    "integer": ("signedinteger", "unsignedinteger"),
    "integral": ("signedinteger", "unsignedinteger"),
    "number": ("signedinteger", "unsignedinteger", "floating", "complexfloating"),
    "real": ("bool", "signedinteger", "unsignedinteger", "floating"),
    "signedinteger": ("signedinteger",),
    "unsignedinteger": ("unsignedinteger",),
}
"""What a type variable may be bound to, by the constraint's name: NumPy's abstract types."""


class _NoDefault:
    def __repr__(self) -> str:
        return "NO_DEFAULT"

    def __reduce__(self) -> str:
        return "NO_DEFAULT"  # pickled by name: there is one, and it is compared by identity


NO_DEFAULT = _NoDefault()


@record
class Parameter:
    """One declared parameter.

    Parameters
    ----------
    name : str
    dtype : np.dtype or None
        None where the type is a type variable.
    ctype : str or None
        The type variable's name, or the dtype's C type.
    raw : bool
        The body indexes the array itself.
    is_const : bool
        The body may not write to it.
    default : object
        The value of an argument that is not given, or ``NO_DEFAULT``.
    span : tuple of int
        Where it stands in the parameter string: start and end (characters).
    """

    name: str
    dtype: np.dtype[Any] | None
    ctype: str | None
    raw: bool = False
    is_const: bool = True
    default: object = NO_DEFAULT
    span: tuple[int, int] = (0, 0)

    @property
    def type_variable(self) -> str | None:
        """The type variable's name, or None for a fixed dtype."""
        return self.ctype if self.dtype is None else None

    def c_type(self) -> str:
        """The name that the body uses for this parameter's type; ``_ind`` has none."""
        assert self.ctype is not None
        return self.ctype


@record
class Signature:
    """Declared parameters with their type variables unbound.

    Parameters
    ----------
    inputs, outputs : tuple of Parameter
    constraints : tuple of (str, str)
        Constraint by type variable.
    in_text, out_text : str
        The parameter strings, for messages.
    """

    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    constraints: tuple[tuple[str, str], ...]
    in_text: str
    out_text: str

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Inputs, then outputs."""
        return self.inputs + self.outputs

    def snippet(self, index: int, label: str = "") -> Snippet:
        """The location of parameter `index` (inputs first) in its parameter string."""
        parameter = self.parameters[index]
        if index < len(self.inputs):
            return Snippet("in_params", self.in_text, *parameter.span, label)
        return Snippet("out_params", self.out_text, *parameter.span, label)

    def message(self, sentence: str, index: int, label: str = "", hint: str = "") -> str:
        """A sentence about parameter `index`, shown in its parameter string."""
        return render_message(sentence, self.snippet(index, label), hint=hint)


def satisfies(dtype: np.dtype[Any], constraint: str) -> bool:
    """Whether `dtype` is one that `constraint` admits."""
    return type_category(dtype) in CONSTRAINTS[constraint]
