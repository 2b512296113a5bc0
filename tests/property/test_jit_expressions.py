"""Expressions of restricted Python on the host against NumPy, number by number.

An example is a batch of expressions that are compiled together. They are made by a generator of
random numbers, since a batch is not to be shrunk: a failure names the expressions that are wrong.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from kerneltk import jit
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.launch.marshalling import type_of

from ..random_programs.reference import defined
from .examples import drawn

THREADS = 32
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
DTYPES = ("bool", *INTEGERS, "float32", "float64")
NAMES = {dtype: f"x_{dtype}" for dtype in DTYPES}
seeds = st.integers(0, 2**32 - 1)


def values_of(dtype: str, rng: random.Random, special: bool) -> np.ndarray[Any, Any]:
    """Return numbers of a dtype, with those at which functions change."""
    if dtype == "bool":
        return np.array([rng.random() < 0.5 for _ in range(THREADS)])
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        edges = [limits.min, limits.max, limits.min + 1, limits.max - 1, 0, 1, 2, limits.max // 2]
        small = [max(limits.min, rng.randint(-20, 20)) for _ in range(12)]
        rest = [rng.randint(limits.min, limits.max) for _ in range(12)]
        found: list[Any] = edges + small + rest
    else:
        edges = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -1.5, 3.0]
        if special:
            edges += [math.inf, -math.inf, math.nan, 1e30, -1e-30]
        found = edges + [rng.uniform(-8, 8) for _ in range(THREADS - len(edges))]
    rng.shuffle(found)
    return np.array(found, dtype)


# -- what Python's functions mean to numbers of two dtypes ----------------------------------------


def joined(value: Any, *others: Any) -> Any:
    """Return a value in the type that all of them meet in."""
    values = [value, *others]
    strong = [v for v in values if isinstance(v, np.generic)]
    if not strong:
        if all(isinstance(v, bool) for v in values):
            return value
        return float(value) if any(isinstance(v, float) for v in values) else int(value)
    if all(isinstance(v, bool | np.bool_) for v in values):
        return np.bool_(value)
    weak = [type(v)(0) for v in values if not isinstance(v, np.generic)]
    kind = np.result_type(*(v.dtype for v in strong), *weak)
    return np.asarray(value).astype(kind)[()]


def _pick(condition: Any, then: Any, orelse: Any) -> Any:
    return joined(then if condition else orelse, then, orelse)


def _extreme(function: Any) -> Callable[..., Any]:
    def extreme(*values: Any) -> Any:
        found = values[0]
        for value in values[1:]:
            found = joined(function(found, value), found, value)
        return found

    return extreme


def _cast(dtype: str, value: Any) -> Any:
    return np.asarray(value).astype(dtype)[()]


REFERENCE = {
    "np": np, "math": math, "_pick": _pick, "_cast": _cast,
    "_min": _extreme(min), "_max": _extreme(max),
}  # fmt: skip


@dataclass(frozen=True)
class Expr:
    """An expression: as users write it, as Python computes it, and one value of it.

    `is_literal` says that it can stand beside any number, `is_known` that Python computes it.
    """

    text: str
    reference: str
    sample: Any
    is_literal: bool = False
    is_known: bool = False

    @property
    def kind(self) -> str:
        """A dtype; of Python's own numbers ``"int"`` or ``"float"``."""
        if isinstance(self.sample, bool | np.bool_):
            return "bool"
        if isinstance(self.sample, np.generic):
            return self.sample.dtype.name
        return type(self.sample).__name__

    @property
    def is_integer(self) -> bool:
        return self.kind in (*INTEGERS, "int")

    @property
    def is_strong_integer(self) -> bool:
        return self.kind in INTEGERS

    @property
    def is_floating(self) -> bool:
        return self.kind.startswith("float")

    @property
    def is_weak(self) -> bool:
        return self.kind in ("int", "float")


class Generator:
    """Makes expressions."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.environment = {NAMES[dtype]: np.dtype(dtype).type(1) for dtype in DTYPES}
        self.environment |= {"n": 3, "t": 1, "w": 0.5}
        self.makers: list[Callable[[int], Expr | None]] = [
            self.arithmetic, self.arithmetic, self.arithmetic, self.division, self.bitwise,
            self.shift, self.power, self.sign, self.extreme, self.ternary, self.cast,
            self.condition, self.number_or, self.function, self.python_number,
        ]  # fmt: skip

    def expr(self, template: str, *parts: Expr, reference: str = "") -> Expr:
        text = template.format(*(part.text for part in parts))
        computed = (reference or template).format(*(part.reference for part in parts))
        with np.errstate(all="ignore"):
            sample = eval(computed, dict(REFERENCE), dict(self.environment))
        is_known = bool(parts) and all(part.is_known for part in parts)
        return Expr(text, computed, sample, is_known=is_known)

    def leaf(self) -> Expr:
        if self.rng.random() < 0.12:
            return self.expr(self.rng.choice(["n", "t", "w"]))
        return self.expr(NAMES[self.rng.choice(DTYPES[1:])])

    def literal(self, kind: str) -> Expr:
        """Return a Python number that fits a type."""
        if "float" in kind and self.rng.random() < 0.6:
            value: Any = self.rng.choice([0.5, 2.0, -1.25, 0.1, 3.0, 7.5])
        else:
            value = self.rng.randint(0 if kind.startswith("u") else -9, 9)
        text = repr(value) if value >= 0 else f"({value!r})"
        return Expr(text, text, value, is_literal=True, is_known=True)

    def any(self, depth: int) -> Expr:
        if depth <= 0:
            return self.leaf()
        for _ in range(20):
            found = self.rng.choice(self.makers)(depth - 1)
            if found is not None:
                return found
        return self.leaf()

    def number(self, depth: int) -> Expr:
        found = self.any(depth)
        return self.leaf() if found.kind == "bool" else found

    def pair(self, depth: int) -> tuple[Expr, Expr]:
        """Return two numbers that may meet."""
        left = self.number(depth)
        right = self.literal(left.kind) if self.rng.random() < 0.3 else self.number(depth)
        for one, two in ((left, right), (right, left)):
            # A Python int that is not known need not fit.
            if one.kind == "int" and not one.is_literal and two.is_strong_integer:
                return left, self.literal(left.kind) if two is right else left
        if self.rng.random() < 0.5:
            left, right = right, left
        return left, right

    # -- kinds of expressions ----------------------------------------------------------------------

    def arithmetic(self, depth: int) -> Expr | None:
        left, right = self.pair(depth)
        op = self.rng.choice("+-*")
        if op == "*" and left.kind == right.kind == "int" and not right.is_literal:
            op = "+"  # which Python would compute exactly
        return self.expr(f"({{}} {op} {{}})", left, right)

    def division(self, depth: int) -> Expr | None:
        left, right = self.pair(depth)
        op = self.rng.choice(["/", "//", "%"])
        if left.is_weak and right.is_weak:
            right = Expr("7", "7", 7, is_literal=True, is_known=True)
        elif left.is_integer and right.is_integer:
            if right.is_weak and not right.is_literal:
                return None
            right = self.expr("({} | 1)", right)
        elif right.is_floating:  # the sign of an infinity would be that of a zero
            right = self.expr("({0} or 0.5)", right, reference="_pick({0}, {0}, 0.5)")
        elif not right.is_literal:
            right = self.expr("({} | 1)", right)
        return self.expr(f"({{}} {op} {{}})", left, right)

    def bitwise(self, depth: int) -> Expr | None:
        left, right = self.pair(depth)
        if not (left.is_integer and right.is_integer):
            return None
        if {left.kind, right.kind} == {"int64", "uint64"} or "uint64" in (left.kind, right.kind):
            right = left  # other integers would meet it as floats
        if self.rng.random() < 0.2:
            return self.expr("(~{})", left)
        return self.expr(f"({{}} {self.rng.choice('&|^')} {{}})", left, right)

    def shift(self, depth: int) -> Expr | None:
        left = self.number(depth)
        if not left.is_strong_integer:
            return None
        places = str(self.rng.randint(0, 70))
        if self.rng.random() < 0.4:
            return self.expr(f"({{0}} {self.rng.choice(['<<', '>>'])} ({{0}} & 15))", left)
        return self.expr(f"({{}} {self.rng.choice(['<<', '>>'])} {places})", left)

    def power(self, depth: int) -> Expr | None:
        left = self.number(depth)
        if not left.is_strong_integer:
            return None
        if self.rng.random() < 0.5:
            return self.expr("({0} ** ({0} & 3))", left)
        return self.expr(f"({{}} ** {self.rng.randint(0, 5)})", left)

    def sign(self, depth: int) -> Expr | None:
        return self.expr(self.rng.choice(["(-{})", "abs({})", "(+{})"]), self.number(depth))

    def extreme(self, depth: int) -> Expr | None:
        name = self.rng.choice(["min", "max"])
        left, right = self.pair(depth)
        if not self.joins(left, right):
            return None
        return self.expr(f"{name}({{}}, {{}})", left, right, reference=f"_{name}({{}}, {{}})")

    def truth(self, depth: int) -> Expr:
        """Return a condition that is not known: else only one branch would be looked at."""
        found = self.comparison(depth)
        return self.expr(NAMES["bool"]) if found.is_known else found

    def comparison(self, depth: int) -> Expr:
        choice = self.rng.random()
        if depth > 0 and choice < 0.25:
            word = self.rng.choice(["and", "or"])
            return self.expr(f"({{}} {word} {{}})", self.truth(depth - 1), self.truth(depth - 1))
        if depth > 0 and choice < 0.35:
            return self.expr("(not {})", self.truth(depth - 1))
        if choice < 0.45:
            return self.expr(NAMES["bool"])
        if choice < 0.55:
            return self.expr("bool({})", self.number(depth - 1))
        if choice < 0.6:
            low, high = sorted((self.rng.randint(0, 9), self.rng.randint(0, 9)))
            return self.expr(f"({low} <= {{}} < {high})", self.number(depth - 1))
        if choice < 0.65:
            return self.expr("({} in (1, 2, 5))", self.number(depth - 1))
        left, right = self.pair(depth - 1)
        op = self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
        return self.expr(f"({{}} {op} {{}})", left, right)

    def condition(self, depth: int) -> Expr | None:
        return self.truth(depth)

    def joins(self, first: Expr, second: Expr) -> bool:
        """Return whether two numbers join to the type that they are computed in."""
        if first.is_weak != second.is_weak:
            return (first if first.is_weak else second).is_literal
        kinds = {first.kind, second.kind}
        return "uint64" not in kinds or not kinds & {"int8", "int16", "int32", "int64"}

    def ternary(self, depth: int) -> Expr | None:
        then, orelse = self.pair(depth)
        if not self.joins(then, orelse):
            return None
        return self.expr(
            "({1} if {0} else {2})", self.truth(depth), then, orelse,
            reference="_pick({0}, {1}, {2})",
        )  # fmt: skip

    def number_or(self, depth: int) -> Expr | None:
        left, right = self.pair(depth)
        if left.is_known:  # which Python chooses, or not, without a look at the other
            return None
        if not self.joins(left, right):
            return None
        if self.rng.random() < 0.5:
            return self.expr("({0} or {1})", left, right, reference="_pick({0}, {0}, {1})")
        return self.expr("({0} and {1})", left, right, reference="_pick({0}, {1}, {0})")

    def cast(self, depth: int) -> Expr | None:
        value = self.any(depth)
        target = self.rng.choice(DTYPES[1:])
        if value.is_floating and target in INTEGERS:
            low = 0 if target.startswith("u") else -100  # beyond the range it may be anything
            value = self.expr(
                f"max({low}, min(100, {{}}))", value, reference=f"_max({low}, _min(100, {{}}))"
            )
        return self.expr(f"np.{target}({{}})", value, reference=f"_cast('{target}', {{}})")

    def python_number(self, depth: int) -> Expr | None:
        value = self.any(depth)
        if value.kind in ("int8", "uint8", "int16", "uint16", "bool"):
            return self.expr("int({})", value)
        return self.expr("float({})", value) if value.kind != "int" else None

    def function(self, depth: int) -> Expr | None:
        value = self.number(depth)
        if not value.is_floating or value.is_weak:
            return None
        name = self.rng.choice(["floor", "ceil", "trunc", "rint", "fabs", "sqrt"])
        if self.rng.random() < 0.3:
            name = self.rng.choice(["copysign", "maximum", "minimum", "fmax"])
            return self.expr(f"np.{name}({{}}, {{}})", value, self.literal(value.kind))
        if name == "sqrt":
            return self.expr("np.sqrt(abs({}))", value)
        return self.expr(f"np.{name}({{}})", value)


# -- the kernel -----------------------------------------------------------------------------------


class Batch:
    """A kernel that computes expressions, one after the other."""

    def __init__(self, expressions: list[Expr], arrays: dict[str, Any], **options: Any) -> None:
        self.expressions = expressions
        self.inputs = arrays
        outputs = {}
        lines = [f"def kernel({', '.join(arrays)}, n, w, OUTPUTS):", "    t = jit.grid(1)"]
        lines += [f"    {name} = {name}_[t]" for name in NAMES.values()]
        for k, expression in enumerate(expressions):
            dtype = {"int": "int64", "float": "float64"}.get(expression.kind, expression.kind)
            outputs[f"y{k}"] = np.zeros(THREADS, dtype)
            lines += [f"    v{k} = {expression.text}", f"    y{k}[t] = v{k}"]
        lines[0] = lines[0].replace("OUTPUTS", ", ".join(outputs))
        self.outputs = outputs
        names = {"jit": jit, "np": np, "math": math}
        function = defined("\n".join([*lines, ""]), names, "kernel")
        self.definition = Definition(function, "numpy", **options)
        self.kernel = jit.rawkernel(mode="numpy", **options)(function)
        self.arguments = (*arrays.values(), 3, 0.5, *outputs.values())

    def check_types(self) -> None:
        """Check that each variable has the type that Python gives it."""
        kinds = [type_of(argument, np.ndarray) for argument in self.arguments]
        types = dict(self.definition.lowered(kinds).kernel.locals)
        for k, expression in enumerate(self.expressions):
            found = types.get(f"v{k}")
            assert found is None or str(found) == expression.kind, f"{expression.text}: {found}"

    def run(self) -> None:
        self.kernel[1, THREADS](*self.arguments)

    def wanted(self, k: int, reference: str = "") -> np.ndarray[Any, Any]:
        code = compile(reference or self.expressions[k].reference, "<reference>", "eval")
        results = []
        for t in range(THREADS):
            own = {name: self.inputs[f"{name}_"][t] for name in NAMES.values()}
            with np.errstate(all="ignore"):
                results.append(eval(code, dict(REFERENCE), {**own, "n": 3, "w": 0.5, "t": t}))
        return np.array(results).astype(self.outputs[f"y{k}"].dtype)

    def complain(self, k: int, wrong: Any, wanted: Any) -> str:
        t = int(np.flatnonzero(wrong)[0])
        text = self.expressions[k].text
        values = {name: self.inputs[f"{name}_"][t] for name in NAMES.values() if name in text}
        return f"{text}\n  {self.outputs[f'y{k}'][t]!r}, not {wanted[t]!r}, with t={t}, {values}"


def inputs(rng: random.Random, special: bool) -> dict[str, Any]:
    return {f"{name}_": values_of(dtype, rng, special) for dtype, name in NAMES.items()}


def complaints_of(batch: Batch) -> list[str]:
    """Return which expressions differ from NumPy's numbers."""
    complaints = []
    for k in range(len(batch.expressions)):
        found, wanted = batch.outputs[f"y{k}"], batch.wanted(k)
        is_same = found == wanted
        if wanted.dtype.kind == "f":
            # Which of two zeros is the greater one is NumPy's own affair on each machine.
            if not re.search("maximum|minimum|fmax", batch.expressions[k].text):
                is_same &= np.signbit(found) == np.signbit(wanted)
            is_same |= np.isnan(found) & np.isnan(wanted)
        if not is_same.all():
            complaints.append(batch.complain(k, ~is_same, wanted))
    return complaints


@drawn(seeds, few=4, many=10)
def test_expressions_have_the_bits_of_numpy(seed: int) -> None:
    rng = random.Random(seed)
    generator = Generator(rng)
    expressions = [generator.any(rng.randint(1, 4)) for _ in range(40)]
    batch = Batch(expressions, inputs(rng, True), options=("--fmad=false",))
    batch.check_types()
    batch.run()
    assert not (found := complaints_of(batch)), "\n".join(found)


def test_differences_from_zero_keep_their_sign() -> None:
    """Compilers that fold what is zero take 0.0 - x for -x where they see that x is no -0.0."""
    zeros = ["(x_uint64 - x_uint64)", "(x_uint64 & 0)", "(x_uint64 * 0)", "(x_uint32 - x_uint32)"]
    others = ["(x_int32 or x_int32)", "(x_int32 if x_bool else 0)", "x_int32", "abs(x_int64)"]
    generator = Generator(random.Random(0))
    batch = Batch(
        [generator.expr(f"{zero} - {other}") for zero in zeros for other in others],
        inputs(random.Random(1), False),
    )
    batch.check_types()
    batch.run()
    assert not (found := complaints_of(batch)), "\n".join(found)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_around(dtype: str) -> None:
    """What compilers take for granted of integers that may not overflow does not hold."""
    templates = [
        "{} + 1 > {}", "{} - 1 < {}", "{} * 4 // 4 == {}", "({} << 3) >> 3 == {}", "-{} < 0",
        "abs({}) >= 0", "{} * {} >= 0", "{} + {} > {}", "{} * 2 // 2", "-{} == {}", "({} - 5) // 2",
        "({} * 3 if {} > 0 else {}) // 4", "-(-{})", "1 - {} > 0", "{} ** 3 // ({} ** 2 | 1)",
    ]  # fmt: skip
    generator = Generator(random.Random(0))
    name = NAMES[dtype]
    expressions = [generator.expr(template.replace("{}", name)) for template in templates]
    batch = Batch(expressions, inputs(random.Random(1), False))
    batch.check_types()
    batch.run()
    assert not (found := complaints_of(batch)), "\n".join(found)


# -- as kernels are compiled unless they are told otherwise ---------------------------------------


class Sums(Generator):
    """Makes sums and products, whose error is bounded whichever of them are fused."""

    FUNCTIONS = ("sin", "cos", "exp", "tanh", "log1p", "sqrt", "cbrt", "arctan", "expm1")

    def __init__(self, rng: random.Random, dtype: str) -> None:
        super().__init__(rng)
        self.name = NAMES[dtype]
        self.operations = 0

    def term(self, depth: int) -> Expr:
        choice = self.rng.random()
        if depth == 0 or choice < 0.1:
            return self.operand()
        op = self.rng.choice("+-*")
        return self.expr(f"({{}} {op} {{}})", self.term(depth - 1), self.term(depth - 1))

    def operand(self) -> Expr:
        choice = self.rng.random()
        if choice < 0.2:
            value = repr(self.rng.uniform(0, 4))
            return Expr(value, value, float(value), is_literal=True)
        if choice < 0.6:
            return self.expr(self.name)
        function = self.rng.choice(self.FUNCTIONS)
        return self.expr(f"np.{function}(abs({self.name}))")


def without_signs(text: str) -> str:
    """Return an expression with the sizes of its operands, added up."""
    return re.sub(r"(np\.\w+\(abs\(\w+\)\)|\bx_\w+)", r"abs(\1)", text.replace(" - ", " + "))


@drawn(seeds, st.sampled_from(["float32", "float64"]), few=2, many=6)
def test_fused_sums_and_products_are_near_numpys(seed: int, dtype: str) -> None:
    """Each rounding is an error of half a unit of some intermediate result, whose size is at most
    what the expression has without signs; fused ones only leave some out.
    """
    rng = random.Random(seed)
    generator = Sums(rng, dtype)
    expressions = [generator.term(rng.randint(1, 4)) for _ in range(40)]
    arrays = inputs(rng, False)
    batch = Batch(expressions, arrays)
    batch.check_types()
    batch.run()
    complaints = []
    for k, expression in enumerate(expressions):
        found, wanted = batch.outputs[f"y{k}"], batch.wanted(k)
        size = batch.wanted(k, without_signs(expression.reference))
        steps = expression.reference.count(" ") // 2 + 2 * expression.reference.count("np.") + 1
        bound = 2 * steps * np.finfo(dtype).eps * np.abs(size).astype(np.float64)
        wrong = ~(np.abs(found.astype(np.float64) - wanted) <= bound)
        if wrong.any():
            complaints.append(batch.complain(k, wrong, wanted))
    assert not complaints, "\n".join(complaints)
