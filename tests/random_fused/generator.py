"""Fused functions made at random, from what docs/fuse.md says can be fused.

A program is made statement by statement, and each statement is executed by NumPy as it is made: so
shapes, dtypes and values are known, and what NumPy refuses is left out. Values are small multiples
of a quarter: sums, differences and products of a few are exact, and may be compared bit by bit.
What functions have rounded is compared with a tolerance, and decides nothing (no `floor`, no
comparison), because NumPy's last bit may be another one.
"""

from __future__ import annotations

import functools
import random
import types
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tests.random_fused import arrangements

DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip
Pair = namedtuple("Pair", "first second")
_ELEMENTS = ("exp", "sin", "cos", "tanh", "arctan", "sinh", "log1p", "expm1", "cbrt", "sinc")
_EXACT = ("square", "sign", "floor", "ceil", "rint", "trunc", "fix", "negative", "abs", "positive")
_PAIRS = ("add", "subtract", "multiply", "maximum", "minimum", "copysign", "logical_and",
          "logical_or", "less", "greater_equal", "not_equal", "fmax", "heaviside")  # fmt: skip
_TOTALS = ("sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "mean", "var", "std",
           "ptp", "count_nonzero", "nansum")  # fmt: skip
_ROUNDED = ("sum", "prod", "mean", "var", "std", "nansum")
FUNCTIONS = (*_ELEMENTS, *_EXACT, *_PAIRS, *_TOTALS, "where", "clip", "round")
"""Those that programs call by all of the ways of `_spelled`."""
_NUMPYS = (
    TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError, AttributeError,
)  # fmt: skip


@dataclass(slots=True)
class Value:
    """A variable of a program."""

    name: str
    is_exact: bool
    scale: float  # the largest absolute value on its way
    depth: int = 0  # how many functions have rounded it, one after the other
    error: float = 0.0  # the coarsest rounding on its way
    is_new: bool = True  # whether writing to it writes to no argument


@dataclass(slots=True)
class Argument:
    """How an argument is made: of a shape of named extents."""

    name: str
    dtype: str
    shape: tuple[str, ...]
    layout: str  # 'C', 'F', 'reversed', 'strided'
    number: Any = None  # in place of an array


@dataclass(slots=True)
class Program:
    """A function, the extents that it is called with, and how exactly its results are known."""

    seed: int
    arguments: list[Argument]
    lines: list[str]
    result: str
    results: list[Value]  # the arrays in the result, in order
    values: dict[str, Value] = field(default_factory=dict)
    extents: list[dict[str, int]] = field(default_factory=list)

    def source(self) -> str:
        """The function as Python."""
        names = ", ".join([*(a.name for a in self.arguments), "default=exp_by_default"])
        return "\n".join(
            [f"def program({names}):", *(f"    {line}" for line in self.lines),
             f"    return {self.result}", ""]
        )  # fmt: skip

    def made(self, extents: dict[str, int], xp: Any = np) -> list[Any]:
        """Arguments of such extents, arrays of `xp`: the same ones each time."""
        dice = np.random.default_rng([self.seed, *extents.values()])
        return [_made(argument, extents, dice, xp) for argument in self.arguments]


def _made(argument: Argument, extents: dict[str, int], dice: np.random.Generator, xp: Any) -> Any:
    if argument.number is not None:
        return argument.number
    shape = tuple(extents[name] for name in argument.shape)
    dtype = np.dtype(argument.dtype)
    if argument.layout == "strided" and shape:
        whole = xp.asarray(_filled((*shape[:-1], 2 * shape[-1]), dtype, dice))
        return whole[..., ::2]
    array = xp.asarray(_filled(shape, dtype, dice))
    if argument.layout == "F":
        return xp.asfortranarray(array)
    if argument.layout == "reversed" and shape:
        return array[::-1]
    return array


def _filled(shape: tuple[int, ...], dtype: np.dtype[Any], dice: np.random.Generator) -> Any:
    low = 0 if dtype.kind in "ub" else -12
    whole = dice.integers(low, 13, shape)
    if dtype.kind in "iu":
        return np.asarray(whole // 2).astype(dtype)
    if dtype.kind == "b":
        return np.asarray(whole % 2).astype(dtype)
    if dtype.kind == "c":
        return np.asarray(whole / 4 + 1j * dice.integers(low, 13, shape) / 4).astype(dtype)
    return np.asarray(whole / 4).astype(dtype)


def namespace(xp: Any) -> dict[str, Any]:
    """The globals of a program whose `cp` is CuPy, or NumPy in its place."""

    class Model:
        def __init__(self) -> None:
            self.xp = xp

    class Functions:
        pass

    for name in FUNCTIONS:
        setattr(Functions, name, staticmethod(getattr(xp, name)))
    found: dict[str, Any] = {
        "np": np, "cp": xp, "model": Model(), "Functions": Functions, "Pair": Pair,
        "OrderedDict": OrderedDict, "exp_by_default": xp.exp,
        "table": {name: getattr(xp, name) for name in FUNCTIONS},
        "partials": types.SimpleNamespace(
            **{name: functools.partial(getattr(xp, name)) for name in FUNCTIONS}
        ),
    }  # fmt: skip
    found.update({f"{name}_": getattr(xp, name) for name in FUNCTIONS})
    return found


_LAST_DIGITS = {"e": 4e-3, "f": 2e-6, "F": 2e-6, "d": 1e-13, "D": 1e-13}  # a rounding, amplified


def _digits(value: Any) -> float:
    return _LAST_DIGITS.get(np.asarray(value).dtype.char, 0.0)


class Undefined(NamedTuple):
    """Why NumPy's own result says nothing."""

    reason: str


def executed(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """What a function makes of arguments, or `Undefined`."""
    with warnings.catch_warnings(record=True) as found, np.errstate(all="warn"):
        warnings.simplefilter("always")
        result = function(*args)
    if any("in cast" in str(one.message) for one in found):
        return Undefined("a conversion that C does not define")
    return result


class Generator:
    """Makes one program."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self._program = Program(seed, [], [], "", [])
        self._plain = namespace(np)
        self._values = self._program.values
        self._count = 0

    # -- choices -----------------------------------------------------------------------------------

    def _one(self, items: Sequence[Any]) -> Any:
        return self._dice.choice(list(items))

    def _chance(self, part: float) -> bool:
        return self._dice.random() < part

    def _actual(self, value: Value) -> Any:
        return self._plain[value.name]

    def _value(self, *, exact: bool = False, arrays: bool = False, depth: int = 3) -> Value:
        found = [
            v
            for v in self._values.values()
            if (v.is_exact or not exact)
            and v.depth < depth
            and (not arrays or np.ndim(self._actual(v)) > 0)
        ]
        if not found:
            raise _AgainError
        return self._one(found[-6:] if self._chance(0.7) else found)  # type: ignore[no-any-return]

    def _spelled(self, name: str) -> str:
        ways = [f"np.{name}", f"np.{name}", f"cp.{name}", f"{name}_", f"model.xp.{name}",
                f"table['{name}']", f"partials.{name}", f"Functions.{name}"]  # fmt: skip
        return self._one(ways if name in FUNCTIONS else ways[:3])  # type: ignore[no-any-return]

    # -- the program -------------------------------------------------------------------------------

    def program(self) -> Program:
        """A program of arguments, statements and results."""
        self._arguments()
        wanted = self._dice.randint(2, 9)
        for _ in range(60):
            if len(self._program.lines) >= wanted:
                break
            try:
                self._statement()
            except _AgainError:
                continue
        self._results()
        return self._program

    def _arguments(self) -> None:
        dice, program = self._dice, self._program
        first = {
            "a": dice.randint(2, 5),
            "b": dice.randint(2, 5),
            "c": dice.randint(1, 4),
            "one": 1,
        }
        ndim = dice.choice((1, 1, 2, 2, 3))
        names = ("a", "b", "c")[:ndim]
        if self._chance(0.3):  # as many rows, and as long, as one kernel of them is planned for
            first |= {"a": dice.randint(8, 9), names[-1]: dice.randint(16, 18)}
        program.extents = [first, {**first, "a": first["a"] + 2}, {**first, "b": 1},
                           {**first, "a": 0}]  # fmt: skip
        for k in range(dice.randint(1, 3)):
            shape = tuple(n if self._chance(0.8) else "one" for n in names[dice.randint(0, 1) :])
            layout = dice.choice(("C", "C", "C", "F", "reversed", "strided"))
            self._add_argument(Argument(f"x{k}", self._one(DTYPES), shape, layout))
        if self._chance(0.4):
            numbers = (2, 3, 0, 0.5, -1.25, True, np.int16(2), np.float32(1.5), 1 + 0.5j)
            self._add_argument(Argument("n", "", (), "C", self._one(numbers)))
        for argument, made in zip(program.arguments, program.made(first), strict=True):
            self._plain[argument.name] = made
            scale = float(np.abs(made).max()) if np.size(made) else 0.0
            self._values[argument.name] = Value(argument.name, True, max(1.0, scale), is_new=False)

    def _add_argument(self, argument: Argument) -> None:
        self._program.arguments.append(argument)

    def _statement(self) -> None:
        kinds = (
            (self._operator, 5), (self._element_and_view, 4), (self._view, 4), (self._elements, 3),
            (self._pair, 2), (self._total, 4), (self._choice, 2), (self._conversion, 2),
            (self._new, 1), (self._write, 3), (self._into, 1), (self._repeated, 1),
            (self._arranged, 4), (self._masked, 1),
        )  # fmt: skip
        make = self._dice.choices([k for k, _ in kinds], [w for _, w in kinds])[0]
        make()

    def _assign(
        self, text: str, operands: Sequence[Value], *, exact: bool = True, is_view: bool = False
    ) -> None:
        """Add ``v = text``, if NumPy takes it."""
        name = f"v{self._count}"
        result = self._tried(text)
        if np.size(result) > 4000 or getattr(result, "dtype", np.dtype(bool)).kind not in "biufc":
            raise _AgainError
        with np.errstate(all="ignore"):
            peak = float(np.nan_to_num(np.abs(result)).max()) if np.size(result) else 0.0
        if peak > 1e6:
            raise _AgainError
        self._count += 1
        scale = max([peak, *(v.scale for v in operands)])
        is_exact = exact and all(v.is_exact for v in operands)
        if not is_exact and np.asarray(result).dtype.kind in "biu":
            raise _AgainError  # a rounded value would decide
        depth = max([0, *(v.depth for v in operands)]) + (not exact)
        self._program.lines.append(f"{name} = {text}")
        self._plain[name] = result
        is_new = not is_view or all(v.is_new for v in operands)
        error = max([0.0, *(v.error for v in operands)])
        if not exact:
            error = max([error, _digits(result), *(_digits(self._actual(v)) for v in operands)])
        self._values[name] = Value(name, is_exact, scale, depth, error, is_new)

    def _tried(self, text: str) -> Any:
        try:
            result = executed(lambda: eval(text, self._plain), ())
        except _NUMPYS:
            raise _AgainError from None
        if isinstance(result, Undefined):
            raise _AgainError
        return result

    # -- statements --------------------------------------------------------------------------------

    def _constant(self) -> str:
        return str(self._one(("1", "2", "0.5", "-1", "3", "0.25", "True", "np.float32(0.5)")))

    def _operand(self, **options: bool) -> tuple[str, list[Value]]:
        if self._chance(0.2):
            return self._constant(), []
        value = self._value(**options)
        return value.name, [value]

    def _operator(self) -> None:
        sign = self._one(("+", "-", "*", "+", "-", "*", "/", "//", "%", "&", "|", "^", "<", ">=",
                          "==", "!=", "<<", "**"))  # fmt: skip
        decides = sign in ("//", "%", "<", ">=", "==", "!=", "&", "|", "^")
        x = self._value(exact=decides or sign in ("/", "**"))
        if sign == "<<":
            return self._assign(f"{x.name} << {self._dice.randint(0, 3)}", [x])
        if sign == "**":
            return self._assign(f"{x.name} ** {self._dice.choice((2, 3))}", [x], exact=False)
        y, used = self._operand(exact=decides or sign == "/")
        left, right = (x.name, y) if self._chance(0.7) else (y, x.name)
        is_complex = any(np.iscomplexobj(self._actual(v)) for v in (x, *used))
        return self._assign(
            f"{left} {sign} {right}", [x, *used], exact=not (is_complex and sign in ("/", "*"))
        )

    def _element_and_view(self) -> None:
        """An element, or a row, joined with the whole, and a view of that."""
        x = self._value(arrays=True)
        array = self._actual(x)
        axis = self._dice.randrange(array.ndim)
        if not array.shape[axis]:
            raise _AgainError
        at = self._dice.randrange(-array.shape[axis], array.shape[axis])
        element = "[" + ":, " * axis + self._one((f"{at}", f"{at}:{at + 1 or None}", "0:1")) + "]"
        if array.ndim == 1 and self._chance(0.3):
            element = "[0]"
        if self._chance(0.2):
            element = "[" + ", ".join("0" for _ in range(array.ndim)) + "]"
        sign = self._one(("-", "+", "*"))
        joined = f"({x.name} {sign} {x.name}{element})"
        self._tried(joined)
        is_exact = not np.iscomplexobj(array) or sign != "*"
        self._assign(self._seen(joined, np.ndim(self._tried(joined))), [x], exact=is_exact)

    def _seen(self, text: str, ndim: int) -> str:
        """A view of an expression."""
        cuts = ("1:", ":-1", "::2", "::-1", "None", "...", "0", "-1", ":1", "1:3", ":0")
        ways = [f"{text}[{self._one(cuts)}]", f"{text}[{self._one(cuts)}]", f"{text}.T",
                f"np.transpose({text})", f"np.flip({text})", f"np.expand_dims({text}, 0)",
                f"np.squeeze({text})", f"{text}[..., None]", f"{text}[...]"]  # fmt: skip
        if ndim > 1:
            order = self._dice.sample(range(ndim), ndim)
            cut = ", ".join(self._one(cuts) for _ in range(self._dice.randint(1, ndim)))
            ways += [f"{text}.transpose({tuple(order)})", f"np.swapaxes({text}, 0, -1)",
                     f"{text}[{cut}]", f"{text}[{cut}]", f"np.moveaxis({text}, 0, -1)",
                     f"np.flip({text}, axis=-1)", f"{text}.mT"]  # fmt: skip
        else:
            ways += [f"np.broadcast_to({text}, (3, *{text}.shape))", f"{text}[()]"]
        return str(self._one(ways))

    def _view(self) -> None:
        x = self._value()
        self._assign(self._seen(x.name, np.ndim(self._actual(x))), [x], is_view=True)

    def _elements(self) -> None:
        if self._chance(0.5):
            x = self._value(exact=True)
            text = f"{self._spelled(self._one(_EXACT))}({x.name})"
            return self._assign(text, [x], exact=not np.iscomplexobj(self._actual(x)))
        x = self._value(depth=2)
        if x.scale > 20:
            raise _AgainError
        name = self._one(_ELEMENTS)
        function = "default" if self._chance(0.1) else self._spelled(name)
        if function == "default":
            self._plain["default"] = np.exp
        return self._assign(f"{function}({x.name})", [x], exact=False)

    def _pair(self) -> None:
        x = self._value(exact=True)
        y, used = self._operand(exact=True)
        is_complex = any(np.iscomplexobj(self._actual(v)) for v in (x, *used))
        self._assign(
            f"{self._spelled(self._one(_PAIRS))}({x.name}, {y})", [x, *used], exact=not is_complex
        )

    def _axis(self, ndim: int) -> str:
        if not ndim or self._chance(0.3):
            return "None"
        if ndim > 1 and self._chance(0.2):
            return str(tuple(sorted(self._dice.sample(range(ndim), 2))))
        return str(self._dice.randrange(-ndim, ndim))

    def _total(self) -> None:
        name = self._one(_TOTALS)
        is_rounded = name in _ROUNDED
        x = self._value(exact=not is_rounded)
        array = self._actual(x)
        axis = self._axis(np.ndim(array))
        options = f"axis={axis}"
        if self._chance(0.4) and name != "nansum":
            options += ", keepdims=True"
        method = name not in ("count_nonzero", "nansum", "ptp") and self._chance(0.4)
        if method:
            text = f"{x.name}.{name}({options})"
        else:
            text = f"{self._spelled(name)}({x.name}, {options})"
        kind = np.asarray(array).dtype.kind
        exact = not is_rounded or (kind in "biu" and name not in ("mean", "var", "std"))
        self._assign(text, [x], exact=exact and (kind in "biuf" or name not in ("min", "max")))

    def _choice(self) -> None:
        x = self._value()
        if self._chance(0.5):
            mask, y = self._value(exact=True), self._value()
            text = f"{self._spelled('where')}({mask.name} > 0, {x.name}, {y.name})"
            return self._assign(text, [mask, x, y])
        low, high = sorted(self._dice.sample((-2, -1, 0, 1, 2, 3), 2))
        return self._assign(f"{self._spelled('clip')}({x.name}, {low}, {high})", [x])

    def _conversion(self) -> None:
        x = self._value(exact=True)
        ways = [f"{x.name}.astype(np.{self._one(DTYPES)})", f"{x.name}.copy()",
                f"np.copy({x.name})", f"{x.name}.real", f"{x.name}.imag",
                f"{self._spelled('round')}({x.name})", f"np.nan_to_num({x.name})",
                f"np.isclose({x.name}, {x.name})"]  # fmt: skip
        text = self._one(ways)
        self._assign(text, [x], is_view=text.endswith((".real", ".imag")))

    def _new(self) -> None:
        x = self._value(arrays=True)
        dtype = self._one(("float64", "int32", "float32", "complex64"))
        ways = (f"np.zeros({x.name}.shape)", f"np.ones_like({x.name})",
                f"np.full({x.name}.shape, 2, np.{dtype})", f"np.arange({x.name}.shape[0])",
                f"np.full_like({x.name}, 1)", f"np.zeros_like({x.name}, np.{dtype})",
                f"{x.name}.shape[0] * 0.5", f"{x.name}.size + 1")  # fmt: skip
        self._assign(self._one(ways), [])

    def _target(self) -> tuple[Value, str]:
        x = self._value(arrays=True)
        array = self._actual(x)
        if not isinstance(array, np.ndarray) or not array.flags.writeable:
            raise _AgainError
        cut = self._one(("", "[1:]", "[...]", "[0]", "[::2]", "[:-1]", "[::-1]"))
        return x, f"{x.name}{cut}"

    def _write(self) -> None:
        x, target = self._target()
        y, used = self._operand()
        sign = self._one(("=", "+=", "-=", "*="))
        if sign == "=" and target == x.name:
            target += "[...]"
        self._written(f"{target} {sign} {y}", x, used)

    def _into(self) -> None:
        x, _ = self._target()
        y, z = self._value(exact=True), self._value(exact=True)
        self._written(
            self._one((f"np.add({y.name}, {z.name}, out={x.name})",
                       f"np.copyto({x.name}, {y.name}, where={z.name} > 0)")),
            x, [y, z],
        )  # fmt: skip

    def _written(self, line: str, x: Value, used: Sequence[Value]) -> None:
        is_complex = any(np.iscomplexobj(self._actual(v)) for v in (x, *used))
        exact = all(v.is_exact for v in used) and not (is_complex and "*=" in line)
        if np.asarray(self._actual(x)).dtype.kind in "biu" and not exact:
            raise _AgainError
        before = {name: np.copy(self._plain[name]) for name in self._values}
        arrays = {name: self._plain[name] for name in self._values}
        try:
            found = executed(lambda: exec(line, self._plain), ())
        except _NUMPYS:
            found = Undefined("refused")
        with np.errstate(all="ignore"):
            peak = max(
                [0.0, *(float(np.nan_to_num(np.abs(self._plain[n])).max())
                        for n in self._values if np.size(self._plain[n]))]
            )  # fmt: skip
        if isinstance(found, Undefined) or peak > 1e6:
            for name, content in before.items():
                self._plain[name] = arrays[name]
                array = self._plain[name]
                if isinstance(array, np.ndarray) and array.flags.writeable:
                    array[...] = content
            raise _AgainError
        self._program.lines.append(line)
        depth = max([x.depth, *(v.depth for v in used)])
        scale = max([x.scale, peak, *(v.scale for v in used)])
        for name, value in self._values.items():  # those that are views of it, too
            array = self._plain[name]
            if name == x.name or (
                isinstance(array, np.ndarray) and np.may_share_memory(array, self._plain[x.name])
            ):
                value.is_exact = value.is_exact and exact
                value.depth, value.scale = max(value.depth, depth), max(value.scale, scale)
                used_error = max([value.error, *(v.error for v in used)])
                value.error = used_error if exact else max(used_error, _digits(array))

    def _repeated(self) -> None:
        """A loop over a number, or a decision by one."""
        x = self._value(depth=2)
        number = "n" if "n" in self._values and self._chance(0.5) else "2"
        if number == "n" and not isinstance(self._plain["n"], int):
            raise _AgainError
        self._assign(f"sum([{x.name} * k for k in range({number})], {x.name})", [x])

    def _arranged(self) -> None:
        """Elements arranged otherwise, products of matrices, running totals."""
        exact = self._chance(0.75)
        template = self._one(arrangements.EXACT if exact else arrangements.ROUNDED)
        v, w = self._value(exact=True, arrays=True), self._value(exact=True, arrays=True)
        axis = self._dice.randrange(np.ndim(self._actual(v)))
        text = template.format(v=v.name, w=w.name, k=self._dice.randint(1, 3), a=axis)
        is_view = any(name in text for name in arrangements.VIEWS)
        used = [v, w] if "{w}" in template else [v]
        self._assign(text, used, exact=exact, is_view=is_view)

    def _masked(self) -> None:
        x, _ = self._target()
        v = self._value(exact=True, arrays=True)
        if not x.is_exact:
            raise _AgainError
        line = self._one(arrangements.WRITES).format(
            x=x.name, v=v.name, k=self._dice.randint(-1, 2)
        )
        self._written(line, x, [v])

    def _results(self) -> None:
        arrays = [v for v in self._values.values() if v.name.startswith("v")]
        chosen = arrays[-3:] or list(self._values.values())[:1]
        program = self._program
        if self._chance(0.5):
            program.results = chosen
            program.result = "(" + ", ".join(v.name for v in chosen) + ",)"
            return
        ways = ("({0},)", "[{0}]", "({0}, {0}.shape)", "{{'r': {0}, 'list': [{1}]}}",
                "({0}, ({1}, 'text', None))", "Pair({0}, {1})",
                "OrderedDict(first={0}, second={1})")  # fmt: skip
        way = self._one(ways)
        both = [*chosen, *chosen][:2]
        program.result = way.format(*(v.name for v in both))
        program.results = both if "{1}" in way else both[:1]


class _AgainError(Exception):
    """NumPy does not take a statement, or its result says nothing: another one is made."""
