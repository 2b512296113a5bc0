"""What an operator takes: a kernel's parameters in one form for every front-end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneltk.errors import ArgumentTypeError, ArgumentValueError, Snippet, render_message
from kerneltk.signature.parameters import NO_DEFAULT


@dataclass(frozen=True, slots=True)
class Operand:
    """A parameter of an operator.

    Parameters
    ----------
    name : str
    dtype : np.dtype or None
        As it is declared; None where the argument decides.
    default : object
        The value of an argument that is not given, or ``NO_DEFAULT``.
    is_raw : bool
        Whether it is a whole array to the kernel.
    is_number : bool
        Whether it takes numbers only.
    is_written : bool
        Whether the kernel may write to it. What a function in Python writes to shows at its calls.
    snippet : Snippet, optional
        Where it is declared.
    """

    name: str
    dtype: np.dtype[Any] | None = None
    default: object = NO_DEFAULT
    is_raw: bool = False
    is_number: bool = False
    is_written: bool = False
    snippet: Snippet | None = None

    def message(self, sentence: str, hint: str = "") -> str:
        """A sentence about the operand, shown where it is declared."""
        return render_message(sentence, *([self.snippet] if self.snippet else []), hint=hint)


def names_in(option: str, given: str | Iterable[str]) -> tuple[str, ...]:
    """The names that an option lists; one name stands for itself. Raises ArgumentTypeError for what
    is not a name.
    """
    if isinstance(given, str):
        return (given,)
    try:
        names = tuple(given)
    except TypeError:
        names = (given,)  # type: ignore[assignment]
    for name in names:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"'{option}' must hold names of parameters, not {name!r}.")
    return names


def check_known(option: str, kernel: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise ArgumentValueError for a name in an option that the kernel has not."""
    for name in given:
        if name not in known:
            shown = ", ".join(map(repr, known)) or "none"
            raise ArgumentValueError(
                f"'{option}' names '{name}', which kernel '{kernel}' has not.\n"
                f"  Hint: what it could name here: {shown}."
            )


def check_written(
    kernel: str,
    written: Iterable[str],
    declared: Collection[str],
    operands: Sequence[Operand],
    hint: str,
) -> None:
    """Raise ArgumentValueError for an input that a kernel writes to, unless it is declared."""
    by_name: Mapping[str, Operand] = {operand.name: operand for operand in operands}
    for name in sorted(written):
        if name not in declared:
            raise ArgumentValueError(
                by_name[name].message(
                    f"Kernel '{kernel}' writes to '{name}', which its operator does not declare.",
                    hint,
                )
            )
