"""Typed IR -> text that people read, and that is the same in every run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.ir.types import Array, Number, Opaque, Record, Reference, Tuple, Type, Void

_MOST_VALUES = 16  # of constant memory that are written out


def show(program: ir.Program) -> str:
    """Return a program as text, callees first: one statement a line, each ended by a line feed.

    Notes
    -----
    It looks like Python in which nothing is left to guess:

    - ``int``, ``float`` and ``complex`` are Python's own numbers; ``float32`` and the like are
      dtypes. ``float32[:, :]`` is an array that is dense in C order, ``strided float32[:]`` has
      steps of its own, ``shared float32[8, 4]`` is memory of a known shape.
    - ``0.5:float32`` is a literal of a dtype; ``2`` and ``0.5`` are Python's.
    - ``float32(i)`` converts. There is no other conversion: what stands beside an operator has one
      type, which is that of the operation.
    - ``i: int = 0`` stores to a variable and says its type, at each store.
    - ``x[wrap i]`` counts from the end where ``i`` is negative; ``x[i]`` does not look.
    - ``x[1:, i] -> float32[:]`` is a view and its type.
    - ``y[i] as place = place + 1`` evaluates the place once.
    - ``a div b`` and ``a rem b`` are C's quotient and remainder; ``//`` and ``%`` are Python's.
    - ``for i: int in range(0, n, s) either way`` has a step whose sign is not known.
    - ``threads:`` is what the threads of a block do one after the other; behind the head of such a
      function stand the variables of which each thread has its own.
    - ``shfl_sync<32>(...)`` is an intrinsic, with the facts that its text depends on.

    Examples
    --------
    >>> import numpy as np
    >>> from kerneltk.backends.base import capabilities_of
    >>> from kerneltk.jit.compile import PassContext
    >>> from kerneltk.jit.frontends.rawkernel import Definition
    >>> from kerneltk.jit.ir.types import PY_INT, Array, number
    >>> def scale(x, i, y):
    ...     y[i] = i * x[-1]
    >>> kind = Array(number("float32"), 1)
    >>> context = PassContext(capabilities_of("cuda"))
    >>> print(show(Definition(scale).program([kind, PY_INT, kind], context)), end="")
    kernel scale(x: float32[:], i: int, y: float32[:])
        y[wrap i] = float32(i) * x[x.shape[0] + -1]
    """
    return "\n".join(_Shower(function).text() for function in program.functions)


def show_type(kind: Type) -> str:
    """Return a type in the notation of `show`."""
    if isinstance(kind, Record):
        return _show_dtype(kind.dtype)
    if isinstance(kind, Reference):
        return f"{kind.space} &{show_type(kind.element)}".removeprefix("global ")
    if isinstance(kind, Array):
        words = [] if kind.writable or kind.space == "constant" else ["read-only"]
        words += [kind.space] if kind.space != "global" else []
        words += ["strided"] if kind.layout == "strided" else []
        extents = map(str, kind.shape) if kind.layout == "fixed" else ":" * kind.ndim
        return " ".join([*words, f"{show_type(kind.element)}[{', '.join(extents) or '()'}]"])
    if isinstance(kind, Tuple):
        items = [show_type(item) for item in kind.items]
        if kind.maker is not None:
            pairs = zip(kind.names, items, strict=True)
            return f"{kind.maker.__name__}({', '.join(f'{name}: {item}' for name, item in pairs)})"
        return _tuple(items)
    assert isinstance(kind, Number | Opaque | Void)
    return str(kind)


def _show_dtype(dtype: np.dtype[Any]) -> str:
    if dtype.shape:
        return f"{_show_dtype(dtype.base)}[{', '.join(map(str, dtype.shape))}]"
    if dtype.names is None:
        return dtype.name
    fields = (f"{name}: {_show_dtype(dtype[name])}" for name in dtype.names)
    return f"{{{', '.join(fields)}}}"


def _tuple(items: Iterable[str]) -> str:
    texts = list(items)
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


class _Shower:
    """Writes a function."""

    def __init__(self, function: ir.Function) -> None:
        self._function = function
        self._lines: list[str] = []
        self._depth = 1
        self._expressions: dict[type, Callable[[Any], str]] = {
            ir.Literal_: self._literal,
            ir.Local: lambda node: str(node.name),
            ir.Cast: lambda node: f"{node.type}({self._text(node.operand)})",
            ir.Unary: lambda node: f"{node.op}{self._operand(node.operand)}",
            ir.Not: lambda node: f"not {self._operand(node.operand)}",
            ir.Binary: self._infix,
            ir.Compare: self._infix,
            ir.Logical: lambda node: f" {node.op} ".join(map(self._operand, node.operands)),
            ir.Select: lambda node: (
                f"{self._operand(node.then)} if {self._operand(node.condition)} "
                f"else {self._operand(node.orelse)}"
            ),
            ir.Element: self._element,
            ir.Section: self._section,
            ir.Extent: lambda node: f"{self._operand(node.array)}.shape[{node.axis}]",
            ir.Field: self._field,
            ir.Construct: self._construct,
            ir.Nothing: lambda node: "None",
            ir.Call: self._call,
            ir.Invoke: lambda node: f"{node.function}({self._list(node.arguments)})",
        }
        self._statements: dict[type, Callable[[Any], None]] = {
            ir.Declare: self._declare,
            ir.Store: self._store,
            ir.Update: lambda node: self._line(
                f"{self._text(node.target)} as {node.name} = {self._text(node.value)}"
            ),
            ir.Evaluate: lambda node: self._line(self._text(node.value)),
            ir.If: self._if,
            ir.While: lambda node: self._block(f"while {self._text(node.condition)}", node.body),
            ir.For: self._for,
            ir.Break: lambda node: self._line("break"),
            ir.Continue: lambda node: self._line("continue"),
            ir.Return: lambda node: self._line(
                "return" if node.value is None else f"return {self._text(node.value)}"
            ),
            ir.Assert: lambda node: self._line(
                f"{'debug ' * node.is_debug}assert {self._text(node.condition)}, {node.message!r}"
            ),
            ir.Print: self._print,
            ir.ThreadLoop: lambda node: self._block("threads", node.body),
        }

    def text(self) -> str:
        """Return the function's lines."""
        function = self._function
        parameters = ", ".join(f"{p.name}: {show_type(p.type)}" for p in function.parameters)
        head = f"{'kernel' if function.is_kernel else 'function'} {function.name}({parameters})"
        if not isinstance(function.result, Void):
            head += f" -> {show_type(function.result)}"
        if function.is_split:
            own = [name for name, _ in function.locals if name in function.per_thread]
            head += f" by blocks, each thread has {', '.join(own)}" if own else " by blocks"
        self._lines = [head]
        self._body(function.body)
        return "\n".join([*self._lines, ""])

    # -- expressions ---------------------------------------------------------------------------

    def _text(self, node: Any) -> str:
        return self._expressions[type(node)](node)

    def _operand(self, node: Any) -> str:
        """Return an expression beside an operator: in parentheses if it has one itself."""
        text = self._text(node)
        has_operator = isinstance(
            node, ir.Binary | ir.Compare | ir.Logical | ir.Not | ir.Select | ir.Unary | ir.Section
        )
        return f"({text})" if has_operator else text

    def _list(self, nodes: Iterable[Any]) -> str:
        return ", ".join(map(self._text, nodes))

    def _literal(self, node: ir.Literal_) -> str:
        kind = node.type
        if kind.weak or kind.dtype.kind == "b":
            return repr(node.value) if kind.weak else str(bool(node.value))
        return f"{node.value!s}:{kind}"

    def _infix(self, node: ir.Binary | ir.Compare) -> str:
        return f"{self._operand(node.left)} {node.op} {self._operand(node.right)}"

    def _element(self, node: ir.Element) -> str:
        indices = [
            f"wrap {self._operand(index)}" if wrap else self._text(index)
            for index, wrap in zip(node.indices, node.wrap, strict=True)
        ]
        return f"{self._operand(node.array)}[{', '.join(indices) or '()'}]"

    def _section(self, node: ir.Section) -> str:
        parts = [
            self._slice(part) if isinstance(part, ir.Slice) else self._text(part)
            for part in node.parts
        ]
        return f"{self._operand(node.array)}[{', '.join(parts)}] -> {show_type(node.type)}"

    def _slice(self, part: ir.Slice) -> str:
        start, stop, step = (
            "" if bound is None else self._operand(bound)
            for bound in (part.start, part.stop, part.step)
        )
        return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"

    def _field(self, node: ir.Field) -> str:
        value = self._operand(node.value)
        return f"{value}[{node.key}]" if isinstance(node.key, int) else f"{value}.{node.key}"

    def _construct(self, node: ir.Construct) -> str:
        if isinstance(node.type, Tuple) and node.type.maker is not None:
            return f"{node.type.maker.__name__}({self._list(node.items)})"
        return _tuple(map(self._text, node.items))

    def _call(self, node: ir.Call) -> str:
        static = f"<{', '.join(map(_fact, node.static))}>" if node.static else ""
        texts = [
            f"&{self._operand(argument)}"
            if k in node.operation.by_reference
            else self._text(argument)
            for k, argument in enumerate(node.arguments)
        ]
        return f"{node.operation.name}{static}({', '.join(texts)})"

    # -- statements ----------------------------------------------------------------------------

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def _body(self, statements: Iterable[ir.Statement]) -> None:
        before = len(self._lines)
        for statement in statements:
            self._statements[type(statement)](statement)
        if len(self._lines) == before:
            self._line("pass")

    def _block(self, head: str, statements: Iterable[ir.Statement]) -> None:
        self._line(f"{head}:")
        self._depth += 1
        self._body(statements)
        self._depth -= 1

    def _declare(self, node: ir.Declare) -> None:
        kind = node.type
        text = f"declare {node.name}: {show_type(kind)}"
        if isinstance(kind, Opaque):
            text += ", shared"
        elif isinstance(kind, Array) and node.data and isinstance(kind.element, Number):
            values = np.frombuffer(node.data, kind.element.dtype)
            shown = [str(value) for value in values[:_MOST_VALUES]]
            more = ["..."] if len(values) > _MOST_VALUES else []
            text += f" = [{', '.join([*shown, *more])}]"
        text += f", aligned to {node.alignment}" if node.alignment else ""
        self._line(text + (", dynamic" if node.dynamic else ""))

    def _store(self, node: ir.Store) -> None:
        target = self._text(node.target)
        if isinstance(node.target, ir.Local):
            target += f": {show_type(node.target.type)}"
        self._line(f"{target} = {self._text(node.value)}")

    def _if(self, node: ir.If) -> None:
        self._block(f"if {self._text(node.condition)}", node.body)
        if node.orelse:
            self._block("else", node.orelse)

    def _for(self, node: ir.For) -> None:
        variable = f"{node.variable.name}: {node.variable.type}"
        head = f"for {variable} in range({self._list((node.start, node.stop, node.step))})"
        head += " either way" if node.ascending is None else ""
        if node.unroll is not None:
            head += f" unrolled {node.unroll}" if node.unroll is not True else " unrolled"
        self._block(head, node.body)

    def _print(self, node: ir.Print) -> None:
        parts = [
            repr(part) if isinstance(part, str) else f"{part[0]!r} of {self._text(part[1])}"
            for part in node.parts
        ]
        self._line(f"print({', '.join(parts)})")


def _fact(value: Any) -> str:
    """Return a fact about a call; an object by its name, since its address is another each time."""
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, Number | Record | Array | Tuple | Opaque | Void):
        return show_type(value)
    if value is None or isinstance(value, str | bool | int | float | complex | np.generic):
        return str(value)
    if isinstance(value, tuple):
        return _tuple(map(_fact, value))
    return str(getattr(value, "name", None) or getattr(value, "__name__", type(value).__name__))
