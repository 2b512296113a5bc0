"""What a function of one element may do, and which of its parameters are whole arrays."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneltk.errors import ArgumentTypeError, UnsupportedError, render_message
from kerneltk.jit import ir
from kerneltk.jit.ir.types import VOID, Array, Number, Tuple, Type

__all__ = ["check_operations", "is_array", "raw_parameters", "result_types"]

# What a function of one element has no threads for.
_OF_THREADS = frozenset(("barrier", "waits", "thread"))
_OF_ARRAYS = ("shape", "size", "ndim", "strides", "nbytes")


def raw_parameters(node: ast.FunctionDef | ast.Lambda, names: Sequence[str]) -> frozenset[str]:
    """Return the parameters that a function uses as arrays: indexes, loops over, or asks for what
    only an array has.
    """
    found: set[str] = set()

    def note(item: ast.AST) -> None:
        if isinstance(item, ast.Name) and item.id in names:
            found.add(item.id)

    for item in ast.walk(node):
        if isinstance(item, ast.Subscript):
            key = item.slice
            if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                note(item.value)  # a name is a record's field
        elif isinstance(item, ast.Attribute) and item.attr in _OF_ARRAYS:
            note(item.value)
        elif isinstance(item, ast.For):
            note(item.iter)
        elif isinstance(item, ast.Call):
            name = getattr(item.func, "attr", getattr(item.func, "id", ""))
            if (name == "len" or name.startswith("atomic_")) and item.args:
                note(item.args[0])
    return frozenset(found)


def check_operations(program: ir.Program) -> None:
    """Raise UnsupportedError for what needs a block or its threads."""
    for function in program.functions:
        for node in ir.walk(*function.body):
            if isinstance(node, ir.Declare) and _is_shared(node):
                raise UnsupportedError(
                    render_message(
                        "A '@jit.kernel' has no shared memory: its elements have no block.",
                        function.source.snippet(node.span),
                        hint="use 'jit.local_memory', or '@jit.rawkernel'.",
                    )
                )
            if not isinstance(node, ir.Call):
                continue
            effects = node.operation.effects
            if effects & _OF_THREADS and not node.operation.by_reference:
                raise UnsupportedError(
                    render_message(
                        f"'{node.operation.name}' cannot be used in a '@jit.kernel': its "
                        "threads are not the function's affair.",
                        function.source.snippet(node.span),
                        hint="use 'jit.index(ndim)' for the element's place, or '@jit.rawkernel'.",
                    )
                )


def _is_shared(node: ir.Declare) -> bool:
    kind = node.type
    return kind.space == "shared" if isinstance(kind, Array) else node.data == b"shared"


def is_array(value: Any) -> bool:
    """Return whether an argument is an array, of any library."""
    if isinstance(value, np.generic):  # a number, for all its attributes
        return False
    return hasattr(value, "strides") or hasattr(value, "__dlpack__")


def result_types(kind: Type) -> tuple[Number, ...]:
    """Return the types of what a function returns."""
    if kind == VOID:
        return ()
    items = kind.items if isinstance(kind, Tuple) else (kind,)
    for item in items:
        if not isinstance(item, Number):
            raise ArgumentTypeError(
                f"A kernel's results must be numbers, and one is '{item}'.\n"
                "  Hint: return its parts; store records with '@jit.rawkernel'."
            )
    return tuple(items)  # type: ignore[arg-type]
