"""Calls of an operator of torch: with tensors, and with tensors that have no memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneltk.core.arrays import ArraySpec
from kerneltk.errors import ArgumentTypeError, ArgumentValueError
from kerneltk.interop import torch_tensors
from kerneltk.launch.dispatch import CallDescription
from kerneltk.operators.kernels import Operand, Operator, check_known, check_written
from kerneltk.operators.launches import LaunchOperator
from kerneltk.signature.parameters import NO_DEFAULT

_DECLARE = "name it in 'mutates_args'."


class TorchCalls:
    """What torch calls an operator for.

    Parameters
    ----------
    torch : module
    operator : Operator or LaunchOperator
    mutates, scalars : sequence of str
        As for `torch_op`.

    Attributes
    ----------
    mutated : frozenset of str
        The arguments that are written to.
    is_number : tuple of bool
        Which inputs are numbers.
    results : int
        The number of tensors that a call returns.
    schema : str
        Without the operator's name.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        As `torch_op`.
    """

    def __init__(
        self,
        torch: Any,
        operator: Operator | LaunchOperator,
        mutates: Sequence[str],
        scalars: Sequence[str],
    ) -> None:
        self.torch, self.operator = torch, operator
        operands = (*operator.inputs, *operator.outputs)
        can_be_given = operator.inputs if isinstance(operator, LaunchOperator) else operands
        names = [operand.name for operand in can_be_given]
        check_known("mutates_args", operator.name, mutates, names)
        for operand in can_be_given:
            known = operator.has_known_effects and not operand.is_written
            if known and operand.name in mutates:
                raise ArgumentValueError(
                    operand.message(
                        f"'mutates_args' names '{operand.name}', which kernel '{operator.name}' "
                        "does not write to."
                    )
                )
        given = operator.outputs if self._gives_outputs(mutates) else ()
        self.results = 0 if given else len(operator.outputs)
        self._operands = (*operator.inputs, *given)
        written = (operand.name for operand in self._operands if operand.is_written)
        self.mutated = frozenset((*written, *mutates))
        numbers = self._numbers(scalars)
        self._check_dtypes([operand for operand in operands if operand.name not in numbers])
        self.is_number = tuple(operand.name in numbers for operand in operator.inputs)
        self._is_tensor = tuple(operand.name not in numbers for operand in self._operands)
        self._check_effects()
        self._arguments = arguments_of(self._operands, numbers, self.mutated)
        pairs = zip(self._operands, self._is_tensor, strict=True)
        all_raw = all(operand.is_raw for operand, is_tensor in pairs if is_tensor)
        self._arguments += AXES * operator.has_axes + (SIZE,) * (operator.has_size and all_raw)
        self._has_defaults = any(argument.default for argument in self._arguments)
        self.schema = schema_of(self._arguments, self.results)
        self._checked: set[tuple[Any, ...]] = set()

    def _gives_outputs(self, mutates: Sequence[str]) -> bool:
        """Whether the caller gives the outputs."""
        named = [operand.name for operand in self.operator.outputs if operand.name in mutates]
        left = [operand for operand in self.operator.outputs if operand.name not in mutates]
        if named and left:
            raise ArgumentValueError(
                left[0].message(
                    f"'mutates_args' names output '{named[0]}' and not '{left[0].name}': the "
                    "outputs of a kernel are given together."
                )
            )
        return bool(named)

    def _check_dtypes(self, tensors: Sequence[Operand]) -> None:
        for operand in tensors:
            dtype = operand.dtype
            if dtype is not None and torch_tensors.torch_dtype_or_none(self.torch, dtype) is None:
                raise ArgumentTypeError(
                    operand.message(
                        f"Parameter '{operand.name}' is declared '{dtype}', and torch has no such "
                        "dtype."
                    )
                )

    def _numbers(self, scalars: Sequence[str]) -> frozenset[str]:
        """The names of the inputs that are numbers."""
        inputs = {operand.name: operand for operand in self.operator.inputs}
        check_known("scalars", self.operator.name, scalars, inputs)
        for name in scalars:
            operand = inputs[name]
            if (operand.is_raw and not operand.is_number) or name in self.mutated:
                raise ArgumentValueError(
                    operand.message(f"'scalars' names '{name}', which is an array to the kernel.")
                )
        found = {
            name
            for name, operand in inputs.items()
            if operand.is_number or operand.default is not NO_DEFAULT
        }
        return frozenset((found - self.mutated).union(scalars))

    def _check_effects(self) -> None:
        operator = self.operator
        if not self.results and not self.mutated:
            hint = "name what it writes to in 'mutates_args'"
            if isinstance(operator, LaunchOperator):
                hint += ", or what it allocates in 'outputs'"
            raise ArgumentValueError(
                f"Kernel '{operator.name}' has no outputs, so its operator would do nothing.\n"
                f"  Hint: {hint}."
            )
        if self.results and not operator.returns:
            raise ArgumentValueError(
                f"Kernel '{operator.name}' has 'no_return', so its operator would do nothing.\n"
                "  Hint: name its outputs in 'mutates_args'."
            )
        if not any(self._is_tensor):
            raise ArgumentValueError(
                f"The operator of kernel '{operator.name}' takes no tensor, which would tell on "
                "which device it runs."
            )

    # -- calls ---------------------------------------------------------------------------------

    def complete(self, args: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the kernel's arguments and options, with what torch has left out since it is equal
        to a default.
        """
        if not self._has_defaults:
            return list(args), {}
        arguments, count = self._arguments, len(self._operands)
        values = [
            argument.value if value is None else value
            for argument, value in zip(arguments, args, strict=False)
        ]
        values += (argument.value for argument in arguments[len(args) :])
        named = zip(arguments[count:], values[count:], strict=True)
        options = {argument.name: value for argument, value in named if value is not None}
        if "axis" in options:
            options["axis"] = tuple(options["axis"])
        return values[:count], options

    def listed(self, options: dict[str, Any]) -> list[Any]:
        """Options as the arguments that stand behind the kernel's."""
        return [options.get(argument.name) for argument in self._arguments[len(self._operands) :]]

    def run(self, *args: Any) -> Any:
        """Run the kernel."""
        values, options = self.complete(args)
        self._device_of(values)
        operator = self.operator
        if isinstance(operator, LaunchOperator):
            results = self._made(operator, values)
            self._check_new(operator, values, results)
            if not operator.has_known_effects:
                self._check_written(values, results)
            operator.launch(values, results)
        else:
            if not operator.has_known_effects:
                self._check_written(values, ())
            results = operator.call(values, options)
        return self._returned(results)

    def fake(self, *args: Any) -> Any:
        """Return results of the right shape, dtype and device without memory."""
        values, options = self.complete(args)
        device = self._device_of(values)
        if isinstance(self.operator, LaunchOperator):
            return self._returned(self._made(self.operator, values))
        found = self.describe(values, options).outputs
        return self._returned([self._empty(spec, device) for spec in found])

    def describe(self, values: Sequence[Any], options: dict[str, Any]) -> CallDescription:
        """Describe a call; raises ArgumentValueError where it writes to what is not declared."""
        operator = self.operator
        assert not isinstance(operator, LaunchOperator)
        described = operator.describe(self.specs(values), options)
        check_written(operator.name, described.written, self.mutated, operator.inputs, _DECLARE)
        return described

    def specs(self, values: Sequence[Any]) -> list[Any]:
        """The arguments without memory: tensors as `ArraySpec`, numbers as their types."""
        pairs = zip(values, self._is_tensor, strict=True)
        return [_spec_of(value) if tensor else self._type_of(value) for value, tensor in pairs]

    def _returned(self, results: Sequence[Any]) -> Any:
        if not self.results:
            return None
        return results[0] if self.results == 1 else tuple(results)

    def _empty(self, spec: ArraySpec, device: Any) -> Any:
        dtype = torch_tensors.torch_dtype(self.torch, spec.dtype)
        strides = tuple(step // spec.dtype.itemsize for step in spec.strides)
        return self.torch.empty_strided(spec.shape, strides, dtype=dtype, device=device)

    def _device_of(self, values: Sequence[Any]) -> Any:
        """The device of all tensors; raises ArgumentTypeError where they are on several."""
        first, *others = (
            (operand, value.device)
            for operand, value, tensor in zip(self._operands, values, self._is_tensor, strict=True)
            if tensor
        )
        for operand, device in others:
            if device != first[1]:
                raise ArgumentTypeError(
                    operand.message(
                        f"'{first[0].name}' is on device '{first[1]}', but '{operand.name}' is on "
                        f"'{device}'."
                    )
                )
        return first[1]

    def _type_of(self, number: Any) -> type:
        torch = self.torch
        symbolic = ((torch.SymBool, bool), (torch.SymInt, int), (torch.SymFloat, float))
        return next((plain for kind, plain in symbolic if isinstance(number, kind)), type(number))

    def _made(self, operator: LaunchOperator, values: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs that the user's functions make."""
        results = operator.make_outputs(values)
        for result in results:
            if not isinstance(result, self.torch.Tensor):
                raise ArgumentTypeError(
                    f"A function in 'outputs' of kernel '{operator.name}' must return a tensor, "
                    f"and returned an object of type '{type(result).__name__}'."
                )
        return results

    def _check_new(
        self, operator: LaunchOperator, values: Sequence[Any], results: Sequence[Any]
    ) -> None:
        """Raise ArgumentValueError for an output in the memory of an input: no schema says that."""
        owners = {
            value.untyped_storage().data_ptr(): operand.name
            for operand, value, tensor in zip(self._operands, values, self._is_tensor, strict=True)
            if tensor
        }
        for operand, result in zip(operator.outputs, results, strict=True):
            owner = owners.get(result.untyped_storage().data_ptr())
            if owner is not None and result.numel():
                raise ArgumentValueError(
                    operand.message(
                        f"The function in 'outputs' for '{operand.name}' returned memory of "
                        f"'{owner}'.",
                        "return a new tensor, or name what is written to in 'mutates_args'.",
                    )
                )

    def _check_written(self, values: Sequence[Any], results: Sequence[Any]) -> None:
        """Raise where a function in Python writes to what the schema does not declare; the types of
        its arguments decide that.
        """
        key = tuple(
            (value.dtype, value.ndim) if isinstance(value, self.torch.Tensor) else type(value)
            for value in (*values, *results)
        )
        if key in self._checked:
            return
        operator = self.operator
        if isinstance(operator, LaunchOperator):
            written = operator.written(self.specs(values), [_spec_of(r) for r in results])
            check_written(operator.name, written, self.mutated, operator.inputs, _DECLARE)
        else:
            self.describe(values, {})
        self._checked.add(key)


def _spec_of(tensor: Any) -> ArraySpec:
    """A tensor without its memory; extents and strides may be torch's symbolic integers."""
    dtype = torch_tensors.dtype_of(tensor)
    strides = tuple(step * dtype.itemsize for step in tensor.stride())
    return ArraySpec(dtype, tuple(tensor.shape), strides)


# -- the schema of an operator: types, names and defaults ------------------------------------------


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
            declared: Any = bool if kind == "bool" else int
            default = "None" if is_open else repr(declared(value))
            kind += "?" * is_open
        arguments.append(TorchArgument(operand.name, kind, default, value))
    return tuple(arguments)


def _number_type(dtype: np.dtype[Any] | None) -> str:
    if dtype is None or dtype.kind == "c":
        return "Scalar"
    names = {"b": "bool", "i": "SymInt", "u": "SymInt"}
    return names.get(dtype.kind, "float")


def schema_of(arguments: Sequence[TorchArgument], results: int) -> str:
    """The schema, without the operator's name."""
    returned = "Tensor" if results == 1 else f"({', '.join(['Tensor'] * results)})"
    return f"({', '.join(map(str, arguments))}) -> {returned}"
