"""The schema of an operator of torch: the types, names and defaults of its arguments."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneltk.operators.operands import Operand
from kerneltk.signature.parameters import NO_DEFAULT


@dataclass(frozen=True, slots=True)
class TorchArgument:
    """An argument of an operator of torch.

    Parameters
    ----------
    name : str
    type : str
        In the schema's language.
    default : str
        As the schema has it; empty if there is none.
    value : object
        The default.
    """

    name: str
    type: str
    default: str = ""
    value: Any = NO_DEFAULT

    def __str__(self) -> str:
        return f"{self.type} {self.name}" + (f"={self.default}" if self.default else "")


AXES = (
    TorchArgument("axis", "int[1]?", "None", None),
    TorchArgument("keepdims", "bool", "False", False),
)
SIZE = TorchArgument("size", "SymInt?", "None", None)


def arguments_of(
    operands: Sequence[Operand], numbers: Collection[str], mutated: Collection[str]
) -> tuple[TorchArgument, ...]:
    """The arguments for an operator's inputs, and for the outputs that are given.

    A default is left out where an argument behind it has none. For torch a number that is equal to
    the default is the default, whatever its type or the sign of a zero. So None stands for a
    default where that matters.
    """
    arguments: list[TorchArgument] = []
    for position, operand in enumerate(operands):
        if operand.name not in numbers:
            mark = f"(a{position}!)" if operand.name in mutated else ""
            arguments.append(TorchArgument(operand.name, f"Tensor{mark}"))
            continue
        kind = _number_type(operand.dtype)
        value, default = operand.default, ""
        if value is not NO_DEFAULT and all(
            o.default is not NO_DEFAULT for o in operands[position:]
        ):
            is_open = kind in ("Scalar", "float")
            default = "None" if is_open else repr(_as_declared(kind, value))
            kind += "?" * is_open
        arguments.append(TorchArgument(operand.name, kind, default, value))
    return tuple(arguments)


def _number_type(dtype: np.dtype[Any] | None) -> str:
    if dtype is None or dtype.kind == "c":
        return "Scalar"
    names = {"b": "bool", "i": "SymInt", "u": "SymInt"}
    return names.get(dtype.kind, "float")


def _as_declared(kind: str, value: Any) -> Any:
    return bool(value) if kind == "bool" else int(value)


def schema_of(arguments: Sequence[TorchArgument], results: int) -> str:
    """The schema, without the operator's name."""
    returned = "Tensor" if results == 1 else f"({', '.join(['Tensor'] * results)})"
    return f"({', '.join(map(str, arguments))}) -> {returned}"
