"""Records as arguments of kernels.

A kernel is lowered with references to them: what it writes goes into the caller's record. Those
that it does not write to are passed by value, with the other arguments.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kerneltk.jit import ir
from kerneltk.jit.ir.types import Reference, Tuple, Type, Void, value_type
from kerneltk.jit.lowering.context import identifier
from kerneltk.jit.lowering.values.references import ADDRESS
from kerneltk.jit.passes.effects import written_parameters
from kerneltk.jit.passes.uniformity import assignments


def pass_by_value(program: ir.Program) -> ir.Program:
    """Return a program whose kernel takes by value the records that it does not write to.

    It is the same object if there is nothing to change.
    """
    kernel = program.kernel
    records = [p for p in kernel.parameters if value_type(p.type) != p.type]
    if records:
        written = written_parameters(program)
        for parameter in records:
            if parameter.name not in written:
                kernel = _by_value(kernel, parameter)
    return ir.Program((*program.functions[:-1], kernel)) if records else program


def _by_value(kernel: ir.Function, parameter: ir.Parameter) -> ir.Function:
    name, kind = parameter.name, value_type(parameter.type)
    body = kernel.body
    if name not in set(assignments(*body)):
        body = ir.rebuilt(body, lambda node: _read(node, name))
    passed = replace(parameter, type=kind)
    parameters = tuple(passed if p is parameter else p for p in kernel.parameters)
    nodes = ir.walk(*body)
    if any(isinstance(node, ir.Local) and _is_reference(node, passed) for node in nodes):
        # It is passed on, or stored: there has to be a reference.
        taken = {node.name for node in nodes if isinstance(node, ir.Local | ir.Declare)}
        taken |= {p.name for p in parameters} | {local for local, _ in kernel.locals}
        own = identifier(f"{name}_at", taken.__contains__)
        body = ir.rebuilt(
            body,
            lambda node: (
                replace(node, name=own)
                if isinstance(node, ir.Local) and _is_reference(node, passed)
                else node
            ),
        )
        target = ir.Local(own, parameter.type, parameter.span)
        value = _referred(ir.Local(name, kind, parameter.span), parameter.type)
        body = (ir.Store(target, value, parameter.span), *body)
        kernel = replace(kernel, locals=((own, parameter.type), *kernel.locals))
    return replace(kernel, parameters=parameters, body=body)


def _is_reference(node: ir.Local, passed: ir.Parameter) -> bool:
    return node.name == passed.name and node.type != passed.type


def _read(node: Any, name: str) -> Any:
    """Return an expression with a parameter's records, and items without any, by value."""
    if isinstance(node, ir.Element) and isinstance(node.array.type, Reference):
        return _value(node.array, name) or node
    if isinstance(node, ir.Field) and value_type(node.type) == node.type:
        return _value(node, name) or node
    return node


def _value(node: Any, name: str) -> Any:
    """Return a parameter, or an item of it, as it is passed; None for anything else."""
    if isinstance(node, ir.Local) and node.name == name:
        return replace(node, type=value_type(node.type))
    if isinstance(node, ir.Field) and isinstance(node.key, int):
        inner = _value(node.value, name)
        return inner and replace(node, value=inner, type=value_type(node.type))
    return None


def _referred(value: ir.Expression, kind: Type) -> ir.Expression:
    """Return references to the records of a value."""
    if isinstance(kind, Reference):
        return ir.Call(ADDRESS, (value,), kind, value.span)
    if not isinstance(kind, Tuple):
        return ir.Nothing(value.span) if isinstance(kind, Void) else value
    items = tuple(
        _referred(ir.Field(value, k, value_type(item), value.span), item)
        for k, item in enumerate(kind.items)
    )
    return ir.Construct(items, kind, value.span)
