"""What a backward kernel takes and gives: read from its parameters' names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kerneltk.errors import ArgumentTypeError, SignatureError
from kerneltk.operators.kernels import Operand, Operator

PREFIX = "grad_"


@dataclass(frozen=True, slots=True)
class Gradients:
    """How the gradients of an operator's inputs are computed.

    Parameters
    ----------
    takes : tuple of (kind, int)
        For each parameter of the backward kernel the value that it is given: an input, a result or
        the gradient of a result of the forward kernel, by its number.
    gives : tuple of int
        For each output of the backward kernel the input that it is the gradient of.
    """

    takes: tuple[tuple[Literal["input", "result", "gradient"], int], ...]
    gives: tuple[int, ...]

    @property
    def saved_inputs(self) -> tuple[int, ...]:
        """The inputs that the backward kernel reads."""
        return tuple(index for kind, index in self.takes if kind == "input")

    @property
    def saved_results(self) -> tuple[int, ...]:
        """The results that the backward kernel reads."""
        return tuple(index for kind, index in self.takes if kind == "result")


def gradients_of(
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    is_number: Sequence[bool],
    backward: Operator,
) -> Gradients:
    """Match a backward kernel's parameters with those of the forward kernel.

    Parameters
    ----------
    inputs, outputs : sequence of Operand
        The forward kernel's.
    is_number : sequence of bool
        Which inputs are numbers.
    backward : Operator

    Raises
    ------
    ArgumentTypeError
        The backward kernel reduces, or has not one output an array among the inputs where its
        outputs have no names.
    SignatureError
        A parameter of the backward kernel has a name that means nothing here, or none of them is a
        gradient.
    """  # fmt: skip
    if backward.has_axes:
        raise ArgumentTypeError(
            f"Backward kernel '{backward.name}' is a reduction, and must be an elementwise "
            "kernel.\n  Hint: gradients of inputs that were broadcast are summed without it; for "
            "all else give a function."
        )
    known: dict[str, tuple[Literal["input", "result", "gradient"], int]] = {}
    known.update({operand.name: ("input", k) for k, operand in enumerate(inputs)})
    known.update({operand.name: ("result", k) for k, operand in enumerate(outputs)})
    known.update({f"{PREFIX}{o.name}": ("gradient", k) for k, o in enumerate(outputs)})
    for operand in backward.inputs:
        if operand.name not in known:
            raise SignatureError(
                operand.message(
                    f"Parameter '{operand.name}' of backward kernel '{backward.name}' is nothing "
                    "that the forward kernel has.",
                    hint=f"it can be one of {', '.join(map(repr, known))}.",
                )
            )
        if operand.is_written:
            raise SignatureError(
                operand.message(f"Backward kernel '{backward.name}' writes to '{operand.name}'.")
            )
    takes = tuple(known[operand.name] for operand in backward.inputs)
    if not any(kind == "gradient" for kind, _ in takes):
        wanted = " or ".join(f"'{PREFIX}{operand.name}'" for operand in outputs)
        raise SignatureError(
            f"Backward kernel '{backward.name}' has no parameter {wanted}: it does not take the "
            "gradient of the results."
        )
    return Gradients(takes, _given(inputs, is_number, backward))


def _given(
    inputs: Sequence[Operand], is_number: Sequence[bool], backward: Operator
) -> tuple[int, ...]:
    arrays = [k for k, number in enumerate(is_number) if not number]
    if backward.outputs and backward.outputs[0].snippet is None:  # of a function: without names
        if len(backward.outputs) != len(arrays):
            shown = ", ".join(f"'{inputs[k].name}'" for k in arrays)
            raise ArgumentTypeError(
                f"Backward kernel '{backward.name}' returns {len(backward.outputs)} values, not "
                f"one gradient for each of {shown}, in this order."
            )
        return tuple(arrays)
    known = {f"{PREFIX}{inputs[k].name}": k for k in arrays}
    for operand in backward.outputs:
        if operand.name not in known:
            raise SignatureError(
                operand.message(
                    f"Output '{operand.name}' of backward kernel '{backward.name}' is the gradient "
                    "of no array that the forward kernel takes.",
                    hint=f"it can be one of {', '.join(map(repr, known))}.",
                )
            )
    return tuple(known[operand.name] for operand in backward.outputs)
