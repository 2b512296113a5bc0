"""Kernels that use named tuples and dataclasses with random subsets of special methods, against
plain Python: right or refused.
"""

from __future__ import annotations

import importlib.util
import itertools
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np

from kerneltk import jit
from kerneltk.errors import KernelToolkitError

VALUES = np.array([0.0, 1.0, 2.5, -1.0, 3.0])
_numbers = itertools.count()
_SPELLINGS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "matmul": "@",
}  # fmt: skip
_ORDERS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_HEAD = """from __future__ import annotations

import functools
import math
from collections import namedtuple
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple


"""


def _of(rng: random.Random, other: str) -> str:
    """Return a number of an instance and another operand."""
    return rng.choice(
        ("self.x + 1.5", "self.x * 2.0 - self.y", "self.y", f"self.x + 3.0 * {other}", "7.0")
    )


def _methods(rng: random.Random, name: str, is_tuple: bool) -> list[str]:
    """Return some special methods and others as source."""
    found: list[str] = []

    def add(parameters: str, *body: str, decorator: str = "") -> None:
        lines = [f"    @{decorator}"] if decorator else []
        found.append("\n".join([*lines, f"    def {parameters}:", *(f"        {b}" for b in body)]))

    for operator in _SPELLINGS:
        for prefix in ("", "r", "i"):
            if rng.random() > (0.55 if prefix != "i" else 0.15):
                continue
            other = "other.x" if rng.random() < 0.5 else "1.0"
            value = _of(rng, other)
            body = [f"return {name}({value}, self.y)" if rng.random() < 0.4 else f"return {value}"]
            if rng.random() < 0.3:
                body.insert(0, f"if not isinstance(other, {name}): return NotImplemented")
            elif other == "other.x" and rng.random() < 0.6:
                body.insert(0, f"if not isinstance(other, {name}): return self.y * 4.0")
            add(f"__{prefix}{operator}__(self, other)", *body)
    for order in _ORDERS:
        if rng.random() < 0.2:
            body = (
                ["return self.x < 2.0"]
                if rng.random() < 0.5
                else [
                    f"if not isinstance(other, {name}): return NotImplemented",
                    f"return self.y {_ORDERS[order]} other.x",
                ]
            )
            add(f"__{order}__(self, other)", *body)
    if rng.random() < 0.3:
        add("__bool__(self)", rng.choice(("return self.x > 1.0", "return self.x", "return True")))
    if rng.random() < 0.3:
        add("__len__(self)", rng.choice(("return 3", "return 0", "return 2 if self.x > 0 else 0")))
    if rng.random() < 0.3:
        add("__getitem__(self, key)", rng.choice(("return self.x * key", "return self.y")))
    if rng.random() < 0.2:
        add("__iter__(self)", "return iter((self.y, self.x, 9.0))")
    if rng.random() < 0.3:
        add("__contains__(self, value)", rng.choice(("return value == self.x", "return self.x")))
    if rng.random() < 0.3:
        add("__call__(self, value, k=2.0)", "return self.x * value + k")
    for unary in ("abs", "neg", "pos", "invert", "float", "int", "round", "floor"):
        if rng.random() < 0.25:
            rest = ", digits=0" if unary == "round" else ""
            value = "int(self.x) + 2" if unary in ("int", "floor") else "self.x + 2.0"
            add(f"__{unary}__(self{rest})", f"return {value}")
    if rng.random() < 0.1 and not is_tuple:
        add("__post_init__(self)", "self.x = self.x + 1.0")
    if rng.random() < 0.1 and is_tuple:
        found.append("    def __hash__(self):\n        return 1")
    add("method(self, k=1.0)", rng.choice(("return self.x + k", "return self.other() * k")))
    add("other(self)", "return self.y - self.x")
    add("prop(self)", "return self.x * 3.0", decorator="property")
    add("static(value)", f"return {name}(value, 2.0)", decorator="staticmethod")
    add("made(cls, value)", "return cls(value, 1.0)", decorator="classmethod")
    return found


def class_source(rng: random.Random, name: str) -> str:
    """Return a class of two or three fields."""
    form = rng.choice(("tuple", "dataclass", "derived tuple", "derived dataclass", "plain"))
    is_tuple = "tuple" in form
    methods = [] if form == "plain" else _methods(rng, name, is_tuple)
    fields = ["    x: Any", f"    y: Any = {rng.choice(('1.0', '2'))}"]
    options = []
    if not is_tuple:
        if rng.random() < 0.4:
            fields.append(
                "    tag: Any = field(default=0.5, compare=False)"
                if rng.random() < 0.5
                else "    tag: Any = field(default=0.5, init=False)"
            )
        for option in ("order=True", "eq=False", "frozen=True", "slots=True", "repr=False"):
            if rng.random() < 0.15:
                options.append(option)
        if {"order=True", "eq=False"} <= set(options) or any("__lt__" in m for m in methods):
            options = [option for option in options if option != "order=True"]
        if any(f"__{o}__" in m for m in methods for o in ("le", "gt", "ge")):
            options = [option for option in options if option != "order=True"]
    rng.shuffle(methods)
    head = f"@dataclass({', '.join(options)})\n" if not is_tuple else ""
    base = "(NamedTuple)" if is_tuple else ""
    if form.startswith("derived"):
        inner = methods[: len(methods) // 2]
        outer = methods[len(methods) // 2 :]
        again = head if not is_tuple and rng.random() < 0.5 else ""
        body = "\n\n".join([*fields, *inner])
        text = "\n\n".join(outer) or "    pass"
        return (
            f"{head}class Base{name}{base}:\n{body}\n\n\n{again}class {name}(Base{name}):\n{text}\n"
        )
    return f"{head}class {name}{base}:\n" + "\n\n".join(["\n".join(fields), *methods]) + "\n"


def expression(rng: random.Random) -> str:
    """Return an expression of instances of two classes and a number."""
    a, b = rng.choice(("A(x, 2.0)", "a", "A(1.0)")), rng.choice(("B(x, 3.0)", "b", "a", "x", "two"))
    if rng.random() < 0.4:
        a, b = b, a
    operator = rng.choice(list(_SPELLINGS.values()))
    order = rng.choice(list(_ORDERS.values()))
    return rng.choice(
        (
            f"{a} {operator} {b}", f"{a} {operator} {b}", f"{a} {operator} {b}", f"{a} {order} {b}",
            f"{a} {order} {b}", f"{a} {order} {b}", f"{a} {order} (x, 2.0)", f"-{a}", f"+{a}",
            f"~{a}", f"abs({a})", f"len({a})", f"float({a})", f"int({a})", f"round({a})",
            f"math.floor({a})", f"1.0 if {a} else 2.0", f"not {a}", f"{a}[0]", f"{a}[1]", f"{a}[x]",
            f"{a}(x)", f"{a}(x, k=1.0)", f"x in {a}", f"2.0 not in {a}", f"{a}.method()",
            f"{a}.method(k=x)", f"{a}.prop", "A.static(x).y", "a.static(x).x", "A.made(x).x",
            "a.made(x).y", f"{a}.x", f"{a}.tag", f"sum({a})", f"max({a})", f"tuple({a})[0]",
            f"a in ({a}, {b})", "A.method(a, 2.0)", f"{a}.missing", "replace(a, y=x).y",
            "a._replace(y=x).y", f"(lambda p, q: q)(*{a})", f"{a} is None", f"{a} == None",
            f"[v for v in {a}][0]", f"type({a})(x).x", f"isinstance({a}, A)",
        )
    )  # fmt: skip


def program_source(rng: random.Random) -> str:
    """Return a function of a number, and the classes that it uses."""
    lines = ["    two = 2", "    a = A(x, 1.0)", "    b = B(2.0, x)"]
    if rng.random() < 0.2:
        lines.append("    r = 0.0\n    for v in a:\n        r = r + v")
    elif rng.random() < 0.2:
        lines.append("    r, s = a" if rng.random() < 0.5 else "    r, s, t = a")
    elif rng.random() < 0.3:
        operator = rng.choice(list(_SPELLINGS.values()))
        lines.append(f"    a {operator}= {rng.choice(('b', 'x', '2', 'a'))}\n    r = a")
    else:
        lines.append(f"    r = {expression(rng)}")
    if rng.random() < 0.4:
        lines.append("    r = r.x")
    lines.append("    return r")
    body = "\n".join(lines)
    second = "B = A\n" if rng.random() < 0.2 else class_source(rng, "B")
    if rng.random() < 0.15:
        second = "class B(A):\n    def __radd__(self, other):\n        return 5.0\n"
    called = "def g(x):\n    return f(float(x))\n"
    return f"{_HEAD}{class_source(rng, 'A')}\n\n{second}\n\ndef f(x):\n{body}\n\n\n{called}"


def run(seed: int, directory: Path) -> str:
    """Run one program; return ``"right"`` or ``"refused"``. Raises for any other end."""
    rng = random.Random(seed)
    source = program_source(rng)
    name = f"class_program_{next(_numbers)}"
    path = directory / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for it
    try:
        spec.loader.exec_module(module)
    except TypeError:  # Python has no such class
        return "no program"
    wanted: list[Any] | Exception
    try:
        wanted = [module.f(float(value)) for value in VALUES]
    except Exception as error:
        wanted = error
    try:
        # Elements are NumPy's numbers, which make arrays of tuples: the function has Python's.
        found = jit.kernel(module.g)(VALUES)
    except KernelToolkitError:
        return "refused"
    except Exception as error:
        raise AssertionError(f"{source}\n{type(error).__name__}: {error}") from error
    if isinstance(wanted, Exception):
        # Numbers divide by zero in kernels, and floats have no bits.
        assert isinstance(wanted, ZeroDivisionError), f"{source}\n{found}, but {wanted!r}"
        return "right"
    results = found if isinstance(found, tuple) else (found,)
    items = [tuple(w) if isinstance(w, tuple) else (w,) for w in wanted]
    if not isinstance(found, np.ndarray):  # an instance
        results = tuple(getattr(found, n) for n in module_fields(found))
        items = [tuple(getattr(w, n) for n in module_fields(found)) for w in wanted]
    for k, one in enumerate(results):
        column = np.array([item[k] for item in items])
        same = np.allclose(np.asarray(one, float), column.astype(float), equal_nan=True)
        assert same, f"{source}\n{one}, not {column}"
    return "right"


def module_fields(value: Any) -> tuple[str, ...]:
    """Return the names of the fields of an instance."""
    names = getattr(type(value), "_fields", None)
    return names if names is not None else tuple(type(value).__dataclass_fields__)


def test_programs(tmp_path: Path) -> None:
    ends = {run(seed, tmp_path) for seed in range(30)}
    assert {"right", "refused"} <= ends <= {"right", "refused", "no program"}
