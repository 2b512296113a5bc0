"""Random expressions of kernels in Python; what they leave out is in `exclusions`."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .numbers import COMPLEXES, EXTREMES, FLOATS, INTEGERS, WEAK, Semantics, kind_of, sample
from .tree import Expr

__all__ = [
    "CUTS",
    "THREADS",
    "ArrayVariable",
    "Callee",
    "Expressions",
    "Scope",
    "Variable",
    "sliced",
]

THREADS = 24
BIG = float(2**40)

# Slices that leave something of two elements or more.
CUTS = ("1:", ":-1", "::2", "::-1", "1::2", "-1:0:-2", ":1", "-2:", "1:1000", "-1000:")


def sliced(cut: str) -> slice:
    """Return the slice that stands in brackets."""
    parts = [int(part) if part else None for part in cut.split(":")]
    return slice(*parts)


@dataclass(frozen=True)
class Variable:
    name: str
    kind: str
    bound: float = 0.0
    is_mutable: bool = True
    is_known: bool = False


@dataclass(frozen=True)
class ArrayVariable:
    """An array that can be read, and at the thread's own index written, where `is_own`.

    `shape` is the least that it has; of a view with a known one, the shape itself.
    `own_axis` says that the first index has to be the thread's.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    is_output: bool = False
    own_axis: bool = False
    is_record: bool = False  # a view of one record
    is_fixed: bool = False  # whether its shape is known when the kernel is compiled


@dataclass(frozen=True)
class Callee:
    """A function that a program has: the kinds of its parameters and of its results."""

    name: str
    parameters: tuple[str, ...]
    results: tuple[str, ...]
    names: tuple[str, ...] = ()
    vector: Any = None  # the dtype of the vector, or the record, that is a last parameter
    writes: bool = False  # whether the function writes to that


@dataclass
class Scope:
    """What has a name at some place of a program."""

    variables: list[Variable] = field(default_factory=list)
    arrays: list[ArrayVariable] = field(default_factory=list)
    callees: list[Callee] = field(default_factory=list)
    index: str = ""  # the name of the thread's index
    is_in_loop: bool = False
    loops: int = 0
    block: int = 0  # threads of a block, where all of them come by

    def inner(self, **changes: Any) -> Scope:
        return replace(
            self,
            variables=list(self.variables),
            arrays=list(self.arrays),
            callees=list(self.callees),
            **changes,
        )


class Expressions:
    """Makes expressions of what a scope has."""

    def __init__(self, rng: random.Random, semantics: Semantics, is_raw: bool) -> None:
        self.rng = rng
        self.semantics = semantics
        self.is_raw = is_raw
        self.scope = Scope()
        self.needs_inside = False
        self.can_assign = True
        self.names: dict[str, int] = {}
        self.makers: list[Callable[[int], Expr | None]] = [
            self.arithmetic, self.arithmetic, self.arithmetic, self.division, self.bitwise,
            self.shift, self.power, self.sign, self.extreme, self.ternary, self.cast, self.cast,
            self.condition, self.either, self.numpys, self.numpys, self.numpys, self.maths,
            self.python_number, self.parts, self.called, self.called, self.bits, self.reassigned,
        ]  # fmt: skip

    def fresh(self, stem: str) -> str:
        """Return a name that no variable has."""
        number = self.names.get(stem, 0)
        self.names[stem] = number + 1
        return f"{stem}{number}"

    # -- helpers -------------------------------------------------------------------------------

    def expr(
        self, text: str, reference: str, kind: str, *parts: Expr, bound: float = 0.0
    ) -> Expr | None:
        """Return an expression; None if it is made of constants alone."""
        if parts and all(part.is_known for part in parts):
            return None
        return Expr(text, reference, kind, parts, bound=bound)

    def common(self, *kinds: str) -> str:
        found = kinds[0]
        for kind in kinds[1:]:
            found = self.semantics.common(found, kind)
        return found

    def join(self, *values: Expr) -> str | None:
        """Return the kind of a variable that values are assigned to, or of a choice of them."""
        return self.semantics.join(*((value.kind, value.is_known) for value in values))

    def chosen(self, *values: Expr) -> str | None:
        """Return the kind of NumPy's functions that give one of their arguments; None if none."""
        kind = self.common(*(value.kind for value in values))
        has_int = any(value.kind == "int" and not value.is_known for value in values)
        if kind not in INTEGERS or not has_int:
            return kind
        return None if kind == "uint64" else "int64"

    # -- leaves --------------------------------------------------------------------------------

    def extent(self) -> Expr | None:
        """Return a number of elements, which is a Python int."""
        arrays = [a for a in self.scope.arrays if a.shape and not a.is_fixed]
        if not arrays:
            return None
        array = self.rng.choice(arrays)
        text = self.rng.choice(["{}.size", "len({})", "{}.shape[0]", "{}.shape[-1]"])
        text = text.format(array.name)
        return Expr(text, text, "int", bound=THREADS * 4)

    def leaf(self) -> Expr:
        """Return a variable or an element, which is no constant."""
        if self.rng.random() < 0.04 and (found := self.extent()) is not None:
            return found
        variables = [v for v in self.scope.variables if not v.is_known]
        if self.scope.arrays and (not variables or self.rng.random() < 0.4):
            return self.element(self.rng.choice(self.scope.arrays))
        if self.rng.random() < 0.6:
            variables = variables[-4:]
        return self.variable(self.rng.choice(variables))

    def variable(self, variable: Variable) -> Expr:
        return Expr(
            variable.name,
            variable.name,
            variable.kind,
            is_known=variable.is_known,
            bound=variable.bound,
        )

    def literal(self, kind: str, *, fits: bool = True) -> Expr:
        """Return one of Python's numbers that may stand beside a kind."""
        rng = self.rng
        known = [v for v in self.scope.variables if v.is_known and v.kind == "int"]
        if known and rng.random() < 0.2:
            return self.variable(rng.choice(known))
        if kind in (*FLOATS, "float", *COMPLEXES, "complex") and rng.random() < 0.6:
            if kind in (*COMPLEXES, "complex") and rng.random() < 0.5:
                text = rng.choice(["1j", "(0.5 + 2j)", "2.0j", "(-3j)"])
                return Expr(text, text, "complex", is_known=True)
            text = rng.choice(
                ["0.5", "2.0", "(-1.25)", "0.1", "3.0", "7.5", "0.0", "(-0.0)", "math.inf",
                 "np.pi", "math.nan", "(-np.inf)", "6e4" if kind == "float16" else "1e30", "1e-9"]
            )  # fmt: skip
            return Expr(text, text, "float", is_known=True)
        if "SIZE" in [v.name for v in known] and rng.random() < 0.1:
            text = rng.choice(["(SIZE // 2)", "(SIZE % 7)", "(100 - SIZE)", "(SIZE >> 1)"])
            return Expr(text, text, "int", is_known=True, bound=100)
        if kind in INTEGERS and rng.random() < 0.2:
            limits = np.iinfo(kind)
            value = int(rng.choice([limits.max, limits.min, limits.max - 1, limits.max // 2]))
        else:
            value = rng.randint(0 if kind.startswith("u") or kind == "bool" else -9, 9)
        text = repr(value) if value >= 0 else f"({value!r})"
        return Expr(text, text, "int", is_known=True, bound=abs(value))

    def small(self, depth: int) -> Expr:
        """Return an integer, of any kind, which is no constant."""
        for _ in range(3):
            found = self.any(depth)
            if found.kind in INTEGERS or (found.kind == "int" and not found.is_known):
                return found
        names = [v for v in self.scope.variables if v.kind == "int" and not v.is_known]
        if names:
            return self.variable(self.rng.choice(names))
        leaf = self.leaf()
        return Expr("int({0} != {0})", "int(_cmp('!=', {0}, {0}))", "int", (leaf,), bound=1)

    def plain_int(self) -> Expr:
        """Return an integer variable, or an extent; a constant where there is none."""
        kinds = ("int", *INTEGERS)
        found = [v for v in self.scope.variables if v.kind in kinds and not v.is_known]
        if found:
            return self.variable(self.rng.choice(found))
        return self.extent() or Expr("5", "5", "int", is_known=True, bound=5)

    def index(self, extent: int, name: str = "") -> Expr:
        """Return an index along an axis of at least so many elements."""
        rng = self.rng
        at = self.scope.index
        choice = rng.random()
        if at and extent >= THREADS and choice < 0.6:
            templates = ["{}", "{}", "{}", "{} - 1", "-1 - {}", "{} - 3", f"({{}} + 5) % {extent}"]
            text = rng.choice(templates).format(at)
            return Expr(text, text, "index", bound=THREADS + 5)
        if choice < 0.75:
            text = repr(rng.randint(-extent, extent - 1))
            return Expr(text, text, "index", is_known=True, bound=extent)
        found = self.small(0) if rng.random() < 0.3 else self.plain_int()
        text, reference = f"{{0}} % {extent}", f"_op('%', {{0}}, {extent})"
        if name and choice > 0.9:
            text, reference = f"{{0}} % len({name})", f"_op('%', {{0}}, len({name}))"
        return Expr(text, reference, "index", (found,), bound=extent)

    def element(self, array: ArrayVariable) -> Expr:
        """Return an element of an array, or a number of a record in it."""
        text, reference, kind, parts = self.place(array)
        bound = self.bound_of(kind)
        return Expr(text, f"_load({reference})", kind, parts, bound=bound)

    def bound_of(self, kind: str) -> float:
        return float(np.iinfo(kind).max) if kind in INTEGERS else 0.0

    def place(self, array: ArrayVariable) -> tuple[str, str, str, tuple[Expr, ...]]:
        """Return an element as users write it, in the reference, its kind, and the indices."""
        rng = self.rng
        parts: list[Expr] = []

        def indices(shape: Sequence[int], own: bool, name: str = "") -> tuple[str, str]:
            names = []
            for axis, extent in enumerate(shape):
                if own and axis == 0:
                    names.append(self.scope.index)
                    continue
                found = self.index(extent, name if axis == 0 else "")
                names.append(f"{{{len(parts)}}}")
                parts.append(found)
            tuple_ = f"[{', '.join(names)}]"
            chain = "".join(f"[{name}]" for name in names)
            return (chain if rng.random() < 0.3 else tuple_), tuple_

        name = array.name
        if array.dtype.names is None:
            if not array.own_axis and array.shape[0] > 1 and rng.random() < 0.1:
                cut = rng.choice(CUTS)
                length = len(range(array.shape[0])[sliced(cut)])
                written, computed = indices((length, *array.shape[1:]), False)
                text = f"{name}[{cut}]{computed}"
                return text, text, array.dtype.name, tuple(parts)
            written, computed = indices(array.shape, array.own_axis, array.name)
            return name + written, name + computed, array.dtype.name, tuple(parts)
        path: list[str] = []
        dtype = array.dtype
        while dtype.names is not None:
            path.append(rng.choice(dtype.names))
            dtype = dtype[path[-1]]
        by_item = rng.random() < 0.4
        fields = "".join(f'["{step}"]' if by_item else f".{step}" for step in path)
        items = "".join(f'["{step}"]' for step in path)
        if array.is_record:
            outer_written = outer_computed = ""
        else:
            outer_written, outer_computed = indices(array.shape, array.own_axis, array.name)
        inner_written, inner_computed = indices(dtype.shape, False) if dtype.shape else ("", "")
        is_of_all = not (array.is_record or dtype.shape) and len(path) == 1
        if is_of_all and rng.random() < 0.25:
            text = f"{name}{items}{outer_computed}"
            return text, text, dtype.base.name, tuple(parts)
        text = f"{name}{outer_written}{fields}{inner_written}"
        reference = f"{name}{items}{outer_computed}{inner_computed}"
        if array.is_record:
            reference = f"{name}{items}{inner_computed}"
        elif dtype.shape:
            reference = f"{name}{items}{outer_computed[:-1]}, {inner_computed[1:]}"
        return text, reference, dtype.base.name, tuple(parts)

    # -- expressions ---------------------------------------------------------------------------

    def any(self, depth: int) -> Expr:
        if depth <= 0:
            return self.leaf()
        for _ in range(20):
            found = self.rng.choice(self.makers)(depth - 1)
            if found is not None:
                return self.kept_small(found)
        return self.leaf()

    def kept_small(self, found: Expr) -> Expr:
        """Return a Python int that has far from 64 bits, if it is one."""
        if found.kind == "int" and found.bound > BIG:
            return Expr("({0} % 1009)", "_op('%', {0}, 1009)", "int", (found,), bound=1009)
        return found

    def number(self, depth: int) -> Expr:
        found = self.any(depth)
        return self.leaf() if found.kind == "bool" and self.rng.random() < 0.7 else found

    def real(self, depth: int) -> Expr:
        found = self.number(depth)
        return self.parts_of(found) if "complex" in found.kind else found

    def parts_of(self, found: Expr) -> Expr:
        kind = {"complex64": "float32", "complex128": "float64", "complex": "float"}[found.kind]
        name = self.rng.choice(["real", "imag"])
        return Expr(f"({{0}}).{name}", f"_load(({{0}}).{name})", kind, (found,))

    def pair(self, depth: int, *, is_real: bool = False) -> tuple[Expr, Expr]:
        make = self.real if is_real else self.number
        left = make(depth)
        if self.rng.random() < 0.3:
            right = self.literal(left.kind)
            if self.rng.random() < 0.2:  # a number of NumPy's
                kind = self.rng.choice((*INTEGERS, *FLOATS))
                text = f"np.{kind}({self.rng.choice(['3', '100', '0', '1'])})"
                right = Expr(text, text, kind, is_known=True, bound=100)
            if is_real and "complex" in right.kind:
                right = make(depth)
        else:
            right = make(depth)
        return (left, right) if self.rng.random() < 0.5 else (right, left)

    def binary(self, op: str, left: Expr, right: Expr, bound: float = 0.0) -> Expr | None:
        kind = kind_of(self.semantics.binary(op, sample(left.kind), sample(right.kind)))
        return self.expr(
            f"({{0}} {op} {{1}})", f"_op('{op}', {{0}}, {{1}})", kind, left, right, bound=bound
        )

    def bounded(self, kind: str, *bounds: float) -> float:
        return bounds[0] if kind == "int" else self.bound_of(kind)

    def arithmetic(self, depth: int) -> Expr | None:
        left, right = self.pair(depth)
        op = self.rng.choice("+-*")
        kind = self.common(left.kind, right.kind)
        if kind in ("int", "bool"):
            bound = left.bound * right.bound if op == "*" else left.bound + right.bound + 2
            if bound > 2.0**62:
                return None
            return self.binary(op, left, right, bound + 1)
        if op == "*" and "complex" in kind and "complex" not in (left.kind + right.kind):
            return None
        return self.binary(op, left, right)

    def divisor(self, right: Expr) -> Expr | None:
        """Return an integer that is not zero."""
        if right.is_known:
            return Expr("7", "7", "int", is_known=True, bound=7)
        if right.kind == "bool":
            return None
        if self.rng.random() < 0.5:
            return self.expr(
                "({0} | 1)", "_op('|', {0}, 1)", right.kind, right, bound=right.bound + 1
            )
        return self.expr(
            "({0} or 3)",
            self.either_text("or", "{0}", "3", right.kind),
            right.kind,
            right,
            bound=max(right.bound, 3),
        )

    def either_text(self, word: str, left: str, right: str, kind: str) -> str:
        """Return how the reference computes ``left or right``, or ``left and right``."""
        name = self.fresh("_s")
        first, second = f"_to({name}, '{kind}')", f"_to({right}, '{kind}')"
        if word == "and":
            first, second = second, first
        return f"({first} if ({name} := {left}) else {second})"

    def division(self, depth: int) -> Expr | None:
        left, right = self.pair(depth)
        kind = self.common(left.kind, right.kind)
        op = self.rng.choice(["/", "//", "%"])
        if "complex" in kind:
            return None
        if kind in ("bool", "int", *INTEGERS):
            guarded = self.divisor(right)
            if guarded is None or (
                # A Python int that wraps around may become zero.
                guarded.kind == "int" and not guarded.is_known and kind != "int"
            ):
                return None
            return self.binary(op, left, guarded, max(left.bound, guarded.bound))
        return self.binary(op, left, right)

    def bitwise(self, depth: int) -> Expr | None:
        left, right = self.pair(depth)
        kind = self.common(left.kind, right.kind)
        if kind not in ("bool", "int", *INTEGERS):
            return None
        if self.rng.random() < 0.2 and not left.is_known:
            return self.expr("(~{0})", "_inv({0})", left.kind, left, bound=left.bound + 1)
        bound = 2 * max(left.bound, right.bound) + 2
        return self.binary(self.rng.choice("&|^"), left, right, bound)

    def shift(self, depth: int) -> Expr | None:
        left, right = self.pair(depth)
        if left.is_known or left.kind not in ("int", *INTEGERS):
            return None
        op = self.rng.choice(["<<", ">>"])
        if left.kind == "int":
            count = str(self.rng.randint(0, 6))
            return self.expr(
                f"({{0}} {op} {count})",
                f"_shift('{op}', {{0}}, {count})",
                "int",
                left,
                bound=left.bound * 64,
            )
        if right.kind not in INTEGERS or self.rng.random() < 0.5:
            count = str(self.rng.randint(0, 70))
            return self.expr(
                f"({{0}} {op} {count})", f"_shift('{op}', {{0}}, {count})", left.kind, left
            )
        return self.expr(
            f"({{0}} {op} ({{1}} & 15))",
            f"_shift('{op}', {{0}}, _op('&', {{1}}, 15))",
            left.kind,
            left,
            right,
        )

    def power(self, depth: int) -> Expr | None:
        left = self.number(depth)
        if left.is_known or left.kind not in ("int", *INTEGERS):
            return None
        if self.rng.random() < 0.5:
            count = self.rng.randint(0, 4)
            bound = left.bound**count if left.kind == "int" else 0
            if bound > BIG:
                return None
            return self.expr(
                f"({{0}} ** {count})",
                f"_op('**', {{0}}, {count})",
                left.kind,
                left,
                bound=bound + 1,
            )
        if left.kind == "int":
            return None
        return self.expr("({0} ** ({0} & 3))", "_op('**', {0}, _op('&', {0}, 3))", left.kind, left)

    def sign(self, depth: int) -> Expr | None:
        value = self.number(depth)
        kind = "int" if value.kind == "bool" else value.kind
        choice = self.rng.choice("-+a")
        if choice == "a":
            if "complex" in value.kind:
                return None
            return self.expr("abs({0})", "_abs({0})", kind, value, bound=value.bound + 1)
        if choice == "+":
            reference = "int({0})" if value.kind == "bool" else "(+{0})"
            return self.expr("(+{0})", reference, kind, value, bound=value.bound + 1)
        return self.expr("(-{0})", "_neg({0})", kind, value, bound=value.bound + 1)

    def extreme(self, depth: int) -> Expr | None:
        name = self.rng.choice(["min", "max"])
        left, right = self.pair(depth, is_real=True)
        kind = self.join(left, right)
        if kind is None or "bool" in (left.kind, right.kind):
            return None
        return self.expr(
            f"{name}({{0}}, {{1}})",
            f"_{name}({{0}}, {{1}}, '{kind}')",
            kind,
            left,
            right,
            bound=max(left.bound, right.bound),
        )

    # -- conditions ----------------------------------------------------------------------------

    def truth(self, depth: int) -> Expr:
        """Return a condition that is no constant."""
        for _ in range(10):
            found = self.condition(depth)
            if found is not None:
                return found
        leaf = self.leaf()
        return Expr("bool({0})", "bool({0})", "bool", (leaf,))

    def condition(self, depth: int) -> Expr | None:
        rng = self.rng
        choice = rng.random()
        if depth > 0 and choice < 0.2:
            word = rng.choice(["and", "or"])
            left, right = self.truth(depth - 1), self.truth(depth - 1)
            return self.expr(f"({{0}} {word} {{1}})", f"({{0}} {word} {{1}})", "bool", left, right)
        if depth > 0 and choice < 0.3:
            return self.expr("(not {0})", "(not {0})", "bool", self.any(depth - 1))
        if choice < 0.4:
            return self.expr("bool({0})", "bool({0})", "bool", self.any(depth - 1))
        left, right = self.pair(depth - 1)
        kind = self.common(left.kind, right.kind)
        if "complex" in kind:
            op = rng.choice(["==", "!="])
        else:
            op = rng.choice(["<", "<=", ">", ">=", "==", "!="])
            if choice < 0.55:
                third = self.real(depth - 1)
                second = rng.choice(["<", "<=", ">", ">=", "==", "!="])
                if "complex" not in left.kind + right.kind:
                    between = self.fresh("_s")
                    first = f"_cmp('{op}', {{0}}, ({between} := {{1}}))"
                    return self.expr(
                        f"({{0}} {op} {{1}} {second} {{2}})",
                        f"({first} and _cmp('{second}', {between}, {{2}}))",
                        "bool", left, right, third,
                    )  # fmt: skip
        return self.expr(f"({{0}} {op} {{1}})", f"_cmp('{op}', {{0}}, {{1}})", "bool", left, right)

    def ternary(self, depth: int) -> Expr | None:
        then, orelse = self.pair(depth)
        kind = self.join(then, orelse)
        if kind is None:
            return None
        return self.expr(
            "({1} if {0} else {2})",
            f"(_to({{1}}, '{kind}') if {{0}} else _to({{2}}, '{kind}'))",
            kind, self.truth(depth), then, orelse, bound=max(then.bound, orelse.bound),
        )  # fmt: skip

    def either(self, depth: int) -> Expr | None:
        left, right = self.pair(depth)
        if left.is_known:
            return None
        kind = self.join(left, right)
        if kind is None:
            return None
        word = self.rng.choice(["and", "or"])
        return self.expr(
            f"({{0}} {word} {{1}})",
            self.either_text(word, "{0}", "{1}", kind),
            kind, left, right, bound=max(left.bound, right.bound),
        )  # fmt: skip

    # -- conversions ---------------------------------------------------------------------------

    def inside(self, value: Expr, low: int, high: int) -> Expr:
        """Return a real number that an integer type has."""
        self.needs_inside = True
        return Expr(
            f"inside({{0}}, {float(low)!r}, {float(high)!r})",
            f"_inside({{0}}, {float(low)!r}, {float(high)!r})",
            value.kind,
            (value,),
        )

    def to_kind(self, value: Expr, kind: str) -> Expr:
        """Return a value, which is no constant, as one of a kind."""
        if value.kind == kind and not value.is_known:
            return value
        if value.is_known:
            value = self.leaf()
        if "complex" in value.kind and "complex" not in kind and kind != "bool":
            value = self.parts_of(value)
        if kind in ("int", *INTEGERS):
            if value.kind in (*FLOATS, "float"):
                low = 0 if kind.startswith("u") else -100
                value = self.inside(value, low, 100)
            elif kind == "int" and value.kind == "uint64":
                value = Expr("({0} >> 1)", "_shift('>>', {0}, 1)", "uint64", (value,), bound=2**63)
        bound = min(value.bound or 100, self.bound_of(kind) or 2.0**63)
        name = kind if kind in ("bool", *WEAK) else f"np.{kind}"
        arrays = [a for a in self.scope.arrays if a.dtype.name == kind and kind != "bool"]
        if arrays and self.rng.random() < 0.2:
            name = f"{self.rng.choice(arrays).name}.dtype.type"
        return Expr(f"{name}({{0}})", f"_to({{0}}, '{kind}')", kind, (value,), bound=bound)

    def of_kind(self, kind: str, depth: int) -> Expr:
        for _ in range(4):
            found = self.any(depth)
            if found.kind == kind and not found.is_known:
                return found
        return self.to_kind(found, kind)

    def joining(self, kind: str, depth: int) -> Expr:
        """Return a value that can be assigned to a variable of a kind without changing that."""
        for _ in range(4):
            found = self.literal(kind) if self.rng.random() < 0.2 else self.any(depth)
            if self.semantics.join((kind, False), (found.kind, found.is_known)) == kind:
                return found
        return self.of_kind(kind, depth)

    def cast(self, depth: int) -> Expr | None:
        value = self.any(depth)
        kind = self.rng.choice((*INTEGERS, *FLOATS, *COMPLEXES))
        if value.kind == kind:
            return None
        if kind in COMPLEXES and self.rng.random() < 0.6:
            left, right = self.real(depth), self.real(depth)
            return self.expr(
                f"np.{kind}(complex({{0}}, {{1}}))",
                f"np.{kind}(complex({{0}}, {{1}}))",
                kind, left, right,
            )  # fmt: skip
        return self.to_kind(value, kind)

    def python_number(self, depth: int) -> Expr | None:
        value = self.real(depth)
        kind = self.rng.choice(["int", "float"])
        return self.to_kind(value, kind) if value.kind != kind and not value.is_known else None

    def parts(self, depth: int) -> Expr | None:
        value = self.any(depth)
        if value.kind not in COMPLEXES or value.is_known:
            return None
        if self.rng.random() < 0.4:
            return self.expr(
                "np.conjugate({0})", f"_call('conjugate', '{value.kind}', {{0}})", value.kind, value
            )
        return self.parts_of(value)

    # -- functions -----------------------------------------------------------------------------

    # Name, number of arguments, and what they may be: I integers, F floats, C complex numbers.
    # A star: integers are computed in float64. A question mark: the result is a bool.
    NUMPYS: tuple[tuple[str, int, str], ...] = (
        ("minimum", 2, "IF"), ("maximum", 2, "IF"), ("fmin", 2, "IF"), ("fmax", 2, "IF"),
        ("sign", 1, "IF"), ("clip", 3, "IF"), ("square", 1, "IF"),
        ("floor", 1, "IF"), ("ceil", 1, "IF"), ("trunc", 1, "IF"), ("rint", 1, "IF*"),
        ("fabs", 1, "IF*"), ("sqrt", 1, "IF*"), ("copysign", 2, "IF*"), ("fmod", 2, "IF"),
        ("isnan", 1, "IFC?"), ("isinf", 1, "IF?"), ("isfinite", 1, "IF?"), ("signbit", 1, "IF?"),
        ("reciprocal", 1, "F"), ("heaviside", 2, "F"), ("gcd", 2, "I"), ("lcm", 2, "I"),
        ("absolute", 1, "IF"), ("nextafter", 2, "F"), ("spacing", 1, "F"),
        ("bitwise_count", 1, "I"), ("negative", 1, "IFC"), ("positive", 1, "IFC"),
        ("round", 1, "IF"),
    )  # fmt: skip
    OPERATORS = (
        ("add", "+"), ("subtract", "-"), ("multiply", "*"), ("divide", "/"),
        ("floor_divide", "//"), ("remainder", "%"), ("bitwise_and", "&"), ("bitwise_or", "|"),
        ("bitwise_xor", "^"), ("less", "<"), ("less_equal", "<="), ("greater", ">"),
        ("greater_equal", ">="), ("equal", "=="), ("not_equal", "!="),
    )  # fmt: skip

    def numpys(self, depth: int) -> Expr | None:
        choice = self.rng.random()
        if choice < 0.15:
            return self.as_function(depth)
        if choice < 0.25:
            return self.logical(depth)
        if choice < 0.33:
            return self.where(depth)
        name, count, takes = self.rng.choice(self.NUMPYS)
        values = [self.number(depth) for _ in range(count)]
        if count > 1 and self.rng.random() < 0.3:
            values[-1] = self.literal(self.common(*(value.kind for value in values[:-1])))
        kinds = [value.kind for value in values]
        kind = self.chosen(*values) if name in EXTREMES else self.common(*kinds)
        if kind is None or "bool" in kinds:
            return None
        if kind in WEAK:  # NumPy's results have dtypes
            kind = np.dtype(WEAK[kind]).name
        group = "I" if kind in INTEGERS else "F" if kind in FLOATS else "C"
        if group not in takes:
            return None
        computed = "float64" if "*" in takes and group == "I" else kind
        if name == "clip" and len({value.kind for value in values} - set(WEAK)) > 1:
            return None  # pairwise, NumPy's promotion depends on the order
        text = ", ".join(f"{{{k}}}" for k in range(count))
        result = "bool" if "?" in takes else "uint8" if name == "bitwise_count" else computed
        return self.expr(
            f"np.{name}({text})", f"_call('{name}', '{computed}', {text})", result, *values
        )

    def as_function(self, depth: int) -> Expr | None:
        name, op = self.rng.choice(self.OPERATORS)
        if op in ("/", "//", "%"):
            found = self.division(depth)
        elif op in "&|^":
            found = self.bitwise(depth)
        elif op in ("+", "-", "*"):
            found = self.arithmetic(depth)
        else:
            left, right = self.pair(depth, is_real=True)
            found = self.expr(
                f"({{0}} {op} {{1}})", f"_cmp('{op}', {{0}}, {{1}})", "bool", left, right
            )
        if found is None or len(found.parts) != 2 or f" {op} " not in found.text:
            return None
        kinds = [part.kind for part in found.parts]
        if self.common(*kinds) in ("bool", *WEAK) or "bool" in kinds:
            return None
        return replace(found, text=f"np.{name}({{0}}, {{1}})")

    def logical(self, depth: int) -> Expr | None:
        name = self.rng.choice(["and", "or", "xor", "not"])
        left, right = self.any(depth), self.any(depth)
        if name == "not":
            return self.expr("np.logical_not({0})", "(not {0})", "bool", left)
        op = {"and": "&", "or": "|", "xor": "^"}[name]
        return self.expr(
            f"np.logical_{name}({{0}}, {{1}})",
            f"(bool({{0}}) {op} bool({{1}}))",
            "bool",
            left,
            right,
        )

    def where(self, depth: int) -> Expr | None:
        then, orelse = self.pair(depth)
        kind = self.chosen(then, orelse)
        if kind is None or kind in WEAK:
            return None
        return self.expr(
            "np.where({0}, {1}, {2})",
            f"_where({{0}}, {{1}}, {{2}}, '{kind}')",
            kind, self.truth(depth), then, orelse,
        )  # fmt: skip

    def maths(self, depth: int) -> Expr | None:
        rng = self.rng
        value = self.real(depth)
        if value.is_known or value.kind == "bool":
            return None
        is_float = value.kind in (*FLOATS, "float")
        name = rng.choice(
            ["fabs", "copysign", "isnan", "isinf", "isfinite", "sqrt", "floor", "round", "isqrt",
             "gcd", "fmod", "digits"]
        )  # fmt: skip
        if name in ("floor", "round"):
            whole = self.inside(value, -1000, 1000) if is_float else value
            if value.kind == "uint64":
                return None
            if name == "round":
                return self.expr(
                    "round({0})", "_round({0})", "int", whole, bound=value.bound + 1001
                )
            name = rng.choice(["floor", "ceil", "trunc"])
            reference = f"_to(_call('{name}', '{value.kind}', {{0}}), 'int')"
            return self.expr(
                f"math.{name}({{0}})", reference, "int", whole, bound=max(value.bound, 1001)
            )
        if name == "digits":
            if not is_float:
                return None
            digits = rng.randint(-2, 3)
            return self.expr(
                f"round({{0}}, {digits})", f"_digits({{0}}, {digits})", value.kind, value
            )
        if name == "isqrt":
            if value.kind not in INTEGERS:
                return None
            return self.expr(
                "math.isqrt({0} & 127)", "math.isqrt(int(_op('&', {0}, 127)))", "int", value,
                bound=12,
            )  # fmt: skip
        if name == "gcd":
            other = self.number(depth)
            if any(v.kind not in INTEGERS or v.kind == "uint64" for v in (value, other)):
                return None
            reference = "_round(math.gcd(int({0}), int({1})))"
            return self.expr("math.gcd({0}, {1})", reference, "int", value, other)
        computed = value.kind if is_float else "float64" if value.kind in INTEGERS else "float"
        if name in ("copysign", "fmod"):
            other = self.real(depth)
            if other.kind not in (*FLOATS, "float") or not is_float:
                return None
            computed = self.common(value.kind, other.kind)
            return self.expr(
                f"math.{name}({{0}}, {{1}})", f"_call('{name}', '{computed}', {{0}}, {{1}})",
                computed, value, other,
            )  # fmt: skip
        kind = "bool" if name.startswith("is") else computed
        return self.expr(
            f"math.{name}({{0}})", f"_call('{name}', '{computed}', {{0}})", kind, value
        )

    def bits(self, depth: int) -> Expr | None:
        value = self.number(depth)
        if not self.is_raw or value.kind not in INTEGERS:
            return None
        name = self.rng.choice(["popc", "clz", "ffs", "brev"])
        kind = value.kind if name == "brev" else "int"
        return self.expr(f"jit.{name}({{0}})", f"jit.{name}({{0}})", kind, value, bound=64)

    def reassigned(self, depth: int) -> Expr | None:
        """Return the assignment to a variable that there is, within an expression."""
        variables = [v for v in self.scope.variables if v.is_mutable and v.kind != "int"]
        if not variables or not self.can_assign:
            return None
        variable = self.rng.choice(variables)
        text = f"({variable.name} := {{0}})"
        return Expr(text, text, variable.kind, (self.of_kind(variable.kind, depth),))

    def called(self, depth: int) -> Expr | None:
        callees = [c for c in self.callable() if len(c.results) == 1]
        if not callees:
            return None
        callee = self.rng.choice(callees)
        return self.call_of(callee, depth, callee.results[0])

    def callable(self) -> list[Callee]:
        return [c for c in self.scope.callees if c.vector is None or self.vectors(c)]

    def vectors(self, callee: Callee) -> list[ArrayVariable]:
        """Return the arrays that have vectors of two elements, or records, for a function."""
        if callee.vector.names is not None:
            return [
                a for a in self.scope.arrays
                if a.dtype == callee.vector and (a.is_output or not callee.writes)
            ]  # fmt: skip
        return [
            a for a in self.scope.arrays
            if a.dtype == callee.vector and not a.own_axis and a.shape[-1] > 1
            and (a.is_output or not callee.writes)
        ]  # fmt: skip

    def vector(self, callee: Callee) -> Expr:
        """Return a vector, as an argument of a function."""
        array = self.rng.choice(self.vectors(callee))
        if array.dtype.names is not None:
            if array.is_record:
                return Expr(array.name, array.name, "")
            if array.own_axis:
                text = f"{array.name}[{self.scope.index}]"
                return Expr(text, text, "")
            text = f"{array.name}[{{0}}]"
            return Expr(text, text, "", (self.index(array.shape[0]),))
        if len(array.shape) == 2:
            text, parts = f"{array.name}[{{0}}]", (self.index(array.shape[0]),)
            return Expr(text, text, "", parts)
        text = array.name
        if array.shape[0] > 3:
            text += self.rng.choice(["", "[1:]", "[::-1]", "[::2]"])
        return Expr(text, text, "")

    def call_of(self, callee: Callee, depth: int, kind: str) -> Expr:
        arguments = [self.of_kind(parameter, min(depth, 1)) for parameter in callee.parameters]
        given = [f"{{{k}}}" for k in range(len(arguments))]
        if callee.names and callee.vector is None and self.rng.random() < 0.2:  # the last by name
            given[-1] = f"{callee.names[-1]}={given[-1]}"
        elif callee.vector is not None:
            given.append(f"{{{len(arguments)}}}")
            arguments.append(self.vector(callee))
        call = f"{callee.name}({', '.join(given)})"
        return Expr(call, call, kind, tuple(arguments), bound=2.0**62 if kind == "int" else 0)
