"""A short way to write the IR of a kernel, and to show what passes make of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Operation
from kerneltk.jit.ir.types import BOOL, PY_INT, VOID, Array, Type
from kerneltk.jit.passes.barrier_fission import NotSplit

AT = ir.Span(1, 0, 1, 1)
BARRIER = Operation("syncthreads", "__syncthreads()", frozenset({ir.Effect.BARRIER}))
SHUFFLE = Operation("shfl_sync", "", frozenset({ir.Effect.WAITS}))
COORDINATES = {
    f"{found.variable}.x": Operation(f"{found.variable}.x", "", effects, coordinate=found)
    for found, effects in (
        (ir.Coordinate("threadIdx", "x"), frozenset({ir.Effect.THREAD})),
        (ir.Coordinate("blockIdx", "x"), frozenset[ir.Effect]()),
        (ir.Coordinate("blockDim", "x"), frozenset[ir.Effect]()),
    )
}
ATOMIC = frozenset({ir.Effect.ATOMIC, ir.Effect.MEMORY, ir.Effect.THREAD})
ADD = Operation("atomic_add", "", ATOMIC, by_reference=(0,), writes=(0,))
SINE = Operation("sin", "")


# -- a short way to write IR ----------------------------------------------------------------------


@dataclass(frozen=True)
class E:
    """An expression with operators."""

    node: Any

    def _binary(self, op: str, other: Any, swapped: bool = False) -> E:
        left, right = (node_of(other), self.node) if swapped else (self.node, node_of(other))
        if op in ("<", "<=", "==", ">", ">=", "!="):
            return E(ir.Compare(op, left, right, AT))
        return E(ir.Binary(op, left, right, PY_INT, AT))

    def __add__(self, other: Any) -> E:
        return self._binary("+", other)

    def __mul__(self, other: Any) -> E:
        return self._binary("*", other)

    def __sub__(self, other: Any) -> E:
        return self._binary("-", other)

    def __floordiv__(self, other: Any) -> E:
        return self._binary("//", other)

    def __rmod__(self, other: Any) -> E:
        return self._binary("%", other, True)

    def __mod__(self, other: Any) -> E:
        return self._binary("%", other)

    def __lt__(self, other: Any) -> E:
        return self._binary("<", other)

    def __ge__(self, other: Any) -> E:
        return self._binary(">=", other)

    def __gt__(self, other: Any) -> E:
        return self._binary(">", other)

    def eq(self, other: Any) -> E:
        return self._binary("==", other)

    def __getitem__(self, index: Any) -> E:
        indices = index if isinstance(index, tuple) else (index,)
        array = self.node.type
        return E(
            ir.Element(
                self.node, tuple(map(node_of, indices)), (False,) * len(indices), array.element, AT
            )
        )


def node_of(value: Any) -> Any:
    if isinstance(value, E):
        return value.node
    if isinstance(value, bool):
        return ir.Literal_(value, BOOL, AT)
    return ir.Literal_(value, PY_INT, AT) if isinstance(value, int) else value


def call(operation: Operation, *arguments: Any, kind: Type = PY_INT) -> E:
    return E(ir.Call(operation, tuple(map(node_of, arguments)), kind, AT))


tx, bx, width = (call(operation) for operation in COORDINATES.values())


def local(name: str, kind: Type = PY_INT) -> E:
    return E(ir.Local(name, kind, AT))


def array(name: str, space: Any = "global", shape: tuple[int, ...] = ()) -> E:
    layout: Any = "fixed" if shape else "C"
    return local(name, Array(PY_INT, max(1, len(shape)), layout, shape, space))


def let(target: E, value: Any) -> ir.Store:
    return ir.Store(target.node, node_of(value), AT)


def if_(condition: E, *body: Any, orelse: tuple[Any, ...] = ()) -> ir.If:
    return ir.If(condition.node, body, orelse, AT)


def while_(condition: Any, *body: Any) -> ir.While:
    return ir.While(node_of(condition), body, AT)


def for_(variable: E, stop: Any, *body: Any, start: Any = 0, private: bool = True) -> ir.For:
    one = ir.Literal_(1, PY_INT, AT)
    start, stop = node_of(start), node_of(stop)
    return ir.For(variable.node, start, stop, one, True, private, None, body, AT)


sync = ir.Evaluate(call(BARRIER, kind=VOID).node, AT)
leave, stop, again = ir.Return(None, AT), ir.Break(AT), ir.Continue(AT)
shared = ir.Declare("s", Array(PY_INT, 1, "fixed", (8,), "shared"), AT)
s = array("s", "shared", (8,))
x, out, n = array("x"), array("out"), local("n")
PARAMETERS = ("x", "out", "n")
a, b, c, i, j, k = (local(name) for name in "abcijk")


def kernel(*body: Any) -> ir.Function:
    """Make a kernel of x, out and n; its locals are those that are assigned."""
    found: dict[str, Type] = {}
    private = {
        node.variable.name for node in ir.walk(*body) if isinstance(node, ir.For) and node.private
    }
    for node in ir.walk(*body):
        target = node.variable if isinstance(node, ir.For) else getattr(node, "target", None)
        if isinstance(target, ir.Local) and target.name not in private | set(PARAMETERS):
            found.setdefault(target.name, target.type)
    parameters = tuple(ir.Parameter(e.node.name, e.node.type, AT) for e in (x, out, n))
    source: Any = None
    return ir.Function("k", parameters, VOID, body, tuple(found.items()), source, True)


# -- how results are shown ------------------------------------------------------------------------


def text(node: Any) -> str:
    """Show an expression."""
    match node:
        case ir.Literal_(value=value):
            return str(value)
        case ir.Local(name=name):
            return name
        case ir.Binary(op=op, left=left, right=right) | ir.Compare(op=op, left=left, right=right):
            parts = [f"({text(p)})" if isinstance(p, ir.Binary) else text(p) for p in (left, right)]
            return f"{parts[0]} {op} {parts[1]}"
        case ir.Not(operand=operand):
            return f"not {text(operand)}"
        case ir.Cast(operand=operand):
            return text(operand)
        case ir.Element(array=base, indices=indices):
            return f"{text(base)}[{', '.join(map(text, indices))}]"
        case ir.Call(operation=operation, arguments=arguments):
            if operation.name in COORDINATES:
                return operation.name
            return f"{operation.name}({', '.join(map(text, arguments))})"
    raise AssertionError(node)


def lines(body: Any, depth: int = 0) -> Iterator[str]:
    """Show statements."""
    pad = "  " * depth
    for node in body:
        match node:
            case ir.Store(target=target, value=value):
                yield f"{pad}{text(target)} = {text(value)}"
            case ir.If(condition=condition, body=inner, orelse=orelse):
                yield f"{pad}if {text(condition)}:"
                yield from lines(inner, depth + 1)
                if orelse:
                    yield f"{pad}else:"
                    yield from lines(orelse, depth + 1)
            case ir.While(condition=condition, body=inner):
                yield f"{pad}while {text(condition)}:"
                yield from lines(inner, depth + 1)
            case ir.For(variable=variable, start=start, stop=end, body=inner):
                yield f"{pad}for {text(variable)} in {text(start)}..{text(end)}:"
                yield from lines(inner, depth + 1)
            case ir.ThreadLoop(body=inner):
                yield f"{pad}threads:"
                yield from lines(inner, depth + 1)
            case ir.Declare(name=name):
                yield f"{pad}memory {name}"
            case ir.Evaluate(value=value):
                yield f"{pad}{text(value)}"
            case _:
                yield f"{pad}{type(node).__name__.lower()}"


def shown(function: ir.Function | NotSplit) -> str:
    assert isinstance(function, ir.Function), function
    kept = f"each: {', '.join(sorted(function.per_thread))}\n" if function.per_thread else ""
    return kept + "\n".join(lines(function.body)) + "\n"
