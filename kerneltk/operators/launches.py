"""Kernels that are launched on a grid, as operators: the caller says grid, block and outputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kerneltk.core.arrays import ArraySpec
from kerneltk.errors import ArgumentTypeError, ArgumentValueError
from kerneltk.jit.frontends.rawkernel import JitKernel
from kerneltk.operators.kernels import Operand, check_known, operands_of
from kerneltk.raw import RawKernel


class LaunchOperator:
    """A kernel with its grid as an operator, which returns what it allocates.

    Parameters
    ----------
    kernel : RawKernel or JitKernel
    grid, block, shared_mem : as in a launch, or functions
    outputs : mapping of str to function
        What makes each array that is allocated, by the parameter's name.

    Attributes
    ----------
    name : str
        The kernel's.
    inputs, outputs : tuple of Operand
        The parameters that the caller gives, and those that are allocated.
    has_known_effects : bool
        Whether the operands say which inputs are written to.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Grid or block is missing; an option names a parameter that there is not, or is no function.

    Notes
    -----
    A function takes some of the operator's inputs, by their names.
    """

    has_axes = has_size = False
    returns = True

    def __init__(
        self,
        kernel: RawKernel | JitKernel,
        grid: Any,
        block: Any,
        shared_mem: Any,
        outputs: Mapping[str, Callable[..., Any]],
    ) -> None:
        self._kernel = kernel
        self.name = kernel.name
        for option, value in (("grid", grid), ("block", block)):
            if value is None:
                raise ArgumentTypeError(
                    f"Kernel '{self.name}' is launched on a grid, and '{option}' is missing.\n"
                    "  Hint: give 'grid=' and 'block=', each a number, a tuple, or a function of "
                    "the operator's arguments."
                )
        self._parameters = _parameters(kernel)
        known = [operand.name for operand in self._parameters]
        check_known("outputs", self.name, outputs, known)
        for operand in self._parameters:
            if operand.name in outputs and operand.is_number:
                raise ArgumentValueError(
                    operand.message(f"Output '{operand.name}' is no pointer in the source.")
                )
        self.inputs = tuple(p for p in self._parameters if p.name not in outputs)
        self.outputs = tuple(p for p in self._parameters if p.name in outputs)
        self.has_known_effects = isinstance(kernel, RawKernel)
        names = [operand.name for operand in self.inputs]
        self._shape = {
            option: _Rule(option, self.name, value, names) if callable(value) else value
            for option, value in (("grid", grid), ("block", block), ("shared_mem", shared_mem))
        }
        for name, maker in outputs.items():
            if not callable(maker):
                raise ArgumentTypeError(
                    f"Output '{name}' of kernel '{self.name}' needs a function that makes it, not "
                    f"{maker!r}.\n  Hint: for example 'lambda x: torch.empty_like(x)', where 'x' "
                    "is a parameter's name."
                )
        self._makers = {
            name: _Rule("outputs", self.name, maker, names) for name, maker in outputs.items()
        }

    def make_outputs(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """What the functions of the outputs return for such inputs, in the parameters' order."""
        values = self._named(args)
        return tuple(self._makers[operand.name](values) for operand in self.outputs)

    def launch(self, args: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Launch the kernel on inputs and outputs."""
        values = self._named(args)
        shape = {
            option: rule(values) if isinstance(rule, _Rule) else rule
            for option, rule in self._shape.items()
        }
        arguments = tuple(self._arguments(values, outputs))
        self._kernel(shape["grid"], shape["block"], arguments, shared_mem=shape["shared_mem"])

    def written(
        self, args: Sequence[ArraySpec | Any], outputs: Sequence[ArraySpec]
    ) -> frozenset[str]:
        """The inputs that a launch may write to; `args` are of `ArraySpec` and types of numbers."""
        if isinstance(self._kernel, RawKernel):
            return frozenset(operand.name for operand in self.inputs if operand.is_written)
        arguments = self._arguments(self._named(args), outputs)
        return self._kernel.written_by(arguments) - self._makers.keys()

    def _arguments(self, values: dict[str, Any], outputs: Sequence[Any]) -> list[Any]:
        left = iter(outputs)
        return [next(left) if p.name in self._makers else values[p.name] for p in self._parameters]

    def _named(self, args: Sequence[Any]) -> dict[str, Any]:
        return {operand.name: arg for operand, arg in zip(self.inputs, args, strict=True)}


class _Rule:
    """A function of some of an operator's inputs, by their names."""

    def __init__(
        self, option: str, kernel: str, function: Callable[..., Any], known: Sequence[str]
    ) -> None:
        self._function = function
        wanted = inspect.signature(function).parameters.values()
        kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        required = [p.name for p in wanted if p.default is p.empty and p.kind not in kinds]
        check_known(option, kernel, required, known)
        self._takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in wanted)
        self._names = [p.name for p in wanted if p.name in known]

    def __call__(self, values: dict[str, Any]) -> Any:
        if self._takes_all:
            return self._function(**values)
        return self._function(**{name: values[name] for name in self._names})


def _parameters(kernel: RawKernel | JitKernel) -> tuple[Operand, ...]:
    """The parameters of a kernel. Those of CUDA C++ are arrays where they are declared with a star,
    and written to unless what they point to is const.
    """
    if not isinstance(kernel, RawKernel):
        return operands_of(kernel._definition)
    declared = kernel._program.declared_parameters(kernel.name)
    if not declared or not all(parameter.name for parameter in declared):
        raise ArgumentTypeError(
            f"The parameters of kernel '{kernel.name}' have no names that its source shows.\n"
            "  Hint: an operator needs CUDA C++ source in which every parameter has a name."
        )
    found = []
    for parameter in declared:
        before, star, _ = parameter.declared.partition("*")
        name, snippet = parameter.name, parameter.snippet
        written = bool(star) and "const" not in before.split()
        found.append(
            Operand(name, is_raw=True, is_number=not star, is_written=written, snippet=snippet)
        )
    return tuple(found)
