"""Memory that is used beyond the block where it is declared.

Python has no blocks: an array that is declared in a loop or a branch can be read after it, and so
can a view of it that a variable keeps. C++ ends it with its block. Such memory is declared at the
function's beginning; any other stays where it is, so that branches can share the same bytes of a
stack.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from kerneltk.jit import ir
from kerneltk.jit.ir.types import Array, Tuple, Type


def with_lasting_memory(function: ir.Function) -> ir.Function:
    """Return a function with the memory first that lasts for longer than a block of it."""
    body = function.body
    blocks = [part for node in ir.statements(body) for part in ir.bodies(node)]
    inner = [
        (node.name, part)
        for part in blocks
        for node in part
        if isinstance(node, ir.Declare) and isinstance(node.type, Array)
    ]
    if not inner:
        return function
    everywhere, lasting = _mentions(body), set[str]()
    for node in ir.statements(body):
        if isinstance(node, ir.Store) and has_view(node.target.type):
            lasting |= _mentions((node.value,)).keys()
    lasting |= {name for name, part in inner if _mentions(part)[name] != everywhere[name]}
    lasting &= {name for name, _ in inner}
    memory, rest = ir.taken_out(
        body, lambda node: isinstance(node, ir.Declare) and node.name in lasting
    )
    return replace(function, body=(*memory, *rest)) if memory else function


def _mentions(nodes: tuple[ir.Statement | ir.Expression, ...]) -> Counter[str]:
    return Counter(node.name for node in ir.walk(*nodes) if isinstance(node, ir.Local))


def has_view(kind: Type) -> bool:
    """Whether values of a type may refer to memory."""
    if isinstance(kind, Tuple):
        return any(map(has_view, kind.items))
    return isinstance(kind, Array)
