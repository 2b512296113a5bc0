"""Programs about named tuples and dataclasses whose classes have methods of their own."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from kerneltk import jit

from .jit_programs_support import N, Table, floats, out

TABLE = Table()


class Vector(NamedTuple):
    x: Any
    y: Any

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, other):
        if isinstance(other, Vector):
            return self.x * other.x + self.y * other.y
        return Vector(self.x * other, self.y * other)

    def __rmul__(self, other):
        return Vector(other * self.x, other * self.y)

    def __iadd__(self, other):
        return Vector(self.x + 2 * other.x, self.y)

    def __matmul__(self, other):
        return self.x * other.y - self.y * other.x

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __abs__(self):
        return self.x * self.x + self.y

    def __bool__(self):
        return bool(self.x > 0)

    def __contains__(self, value):
        return value < self.x

    def __call__(self, t):
        return self.x + t * self.y

    def __getitem__(self, k):
        return self.x * k

    @property
    def total(self):
        return self.x + self.y

    @classmethod
    def polar(cls, radius, angle):
        return cls(radius * angle, radius - angle)

    @staticmethod
    def unit():
        return Vector(1.0, 0.0)

    def scaled(self, by=2.0):
        return self._replace(x=self.x * by)


class Longer(Vector):
    def __radd__(self, other):
        return Longer(self.x + other.x + 1000, self.y)

    def scaled(self, by=3.0):
        return Vector.scaled(self, by)


@dataclass(order=True)
class Ordered:
    major: Any
    minor: Any
    label: Any = field(default=0, compare=False)


@dataclass(frozen=True)
class Money:
    amount: Any

    def __add__(self, other):
        if not isinstance(other, Money):
            return NotImplemented
        return Money(self.amount + other.amount)

    def __eq__(self, other):
        return self.amount == other.amount

    def __lt__(self, other):
        return self.amount < other.amount


@functools.total_ordering
@dataclass
class Rank:
    value: Any

    def __lt__(self, other):
        return self.value < other.value

    def __eq__(self, other):
        return self.value == other.value


@dataclass
class Fee:
    amount: Any

    def __radd__(self, other):
        return Money(other.amount + self.amount * 100)


@dataclass(slots=True)
class Window:
    values: Any
    limit: Any

    def __getitem__(self, k):
        return self.values[k] if k < self.limit else 0.0

    def __len__(self):
        return self.limit - 1

    def put(self, k, value):
        self.values[k] = value


UNIT = Vector(2.0, 3.0)


@TABLE.program(floats(), out((4, N), "?"))
def total_ordering(x, y):
    i = jit.grid(1)
    a, b = Rank(x[i]), Rank(x[i // 2])
    y[0, i] = a <= b
    y[1, i] = a > b
    y[2, i] = a >= b
    y[3, i] = np.dtype("float32").type(x[i]) < b.value


@TABLE.program(floats(), out((9, N), "f8"))
def operators_of_a_named_tuple(x, y):
    i = jit.grid(1)
    a = Vector(x[i], 10.0)
    y[0, i] = (a + a).x
    y[1, i] = (2 * a * 3.0 + -a).x
    y[2, i] = a * a
    y[3, i] = a @ Vector(1.0, x[i])
    y[4, i] = abs(a) + operator.abs(-a)
    a += Vector(1.0, 2.0)
    y[5, i] = a.x
    y[6, i] = (UNIT * x[i]).y + (2.0 * UNIT).x
    y[7, i] = (a + Longer(x[i], 0.0)).x
    y[8, i] = operator.iadd(a, a).x - operator.add(a, a).x


@TABLE.program(floats(), out((8, N), "f8"))
def other_methods_of_a_named_tuple(x, y):
    i = jit.grid(1)
    a = Vector(x[i], 10.0)
    y[0, i] = 1.0 if a else 2.0
    y[1, i] = (0.0 in a) + 2 * (0.0 not in a)
    y[2, i] = a(3.0)
    y[3, i] = a[i] + a[2]
    y[4, i] = len(a)
    y[5, i] = a.total + Vector.polar(x[i], 0.5).y + a.polar(x[i], 1.0).x + a.unit().x
    y[6, i] = a.scaled().x + a.scaled(by=5.0).x + Longer(x[i], 1.0).scaled().x
    take = a.scaled
    y[7, i] = take(x[i]).x


@TABLE.program(floats(), out((6, N), "f8"))
def comparisons_of_dataclasses(x, y):
    i = jit.grid(1)
    a, b = Ordered(1.0, x[i], 1), Ordered(1.0, 0.5, 2)
    y[0, i] = (a == b) + 2 * (a != b) + 4 * (a == Ordered(1.0, x[i], 9))
    y[1, i] = (a < b) + 2 * (a <= b) + 4 * (a > b) + 8 * (a >= b)
    y[2, i] = Ordered(x[i], 2.0) < Ordered(x[i], 1.0)
    y[3, i] = (a == (1.0, x[i], 1)) + 2 * (a != Fee(1.0)) + 4 * (a == None)  # noqa: E711
    y[4, i] = (Money(x[i]) == Money(0.5)) + 2 * (Money(x[i]) < Money(0.0))
    y[5, i] = (Money(x[i]) != Money(0.5)) + 2 * (Money(x[i]) > Money(0.0)) + 4 * (b in (a, b))


@TABLE.program(floats(), out((3, N), "f8"))
def operands_that_are_asked_in_turn(x, y):
    i = jit.grid(1)
    y[0, i] = (Money(x[i]) + Money(1.0)).amount
    y[1, i] = (Money(x[i]) + Fee(1.0)).amount
    y[2, i] = replace(Money(x[i]), amount=x[i] * 2).amount


@TABLE.program(floats(), out((2, N), "f8"))
def orders_of_tuples(x, y):
    i = jit.grid(1)
    y[0, i] = ((x[i], 1) < (0.5, 2)) + 2 * ((0.5, x[i], 1) >= (0.5, 0.0)) + 4 * ((1, x[i]) < (1,))
    y[1, i] = ((1, (x[i], 2)) <= (1, (0.0, 3))) + 2 * ((x[i], x[i]) > (x[i], 0.0))


@TABLE.program(lambda rng: Window(rng.normal(size=N), 20), out(N, "f8"))
def instances_as_arguments(table, y):
    i = jit.grid(1)
    y[i] = table[i] + len(table)
    table.put(i, y[i] + 1)


@TABLE.program(floats(), out((2, N), "f8"))
def a_tuple_of_equal_types_by_an_index(x, y):
    i = jit.grid(1)
    rows = (y[0], y[1])
    for j in range(2):
        rows[j][i] = (Vector(x[i], 1.0), Vector(2.0, x[i]))[j].total + len(rows[j])


@TABLE.program(floats(), out((3, N), "f8"))
def the_else_of_a_loop_that_returns(x, y):
    def first(value):
        for k in range(4):
            if k > value:
                return k
        else:
            return 99

    def last(value):
        while value < 3:
            if value > 2:
                return value
            value += 1.0
        else:
            return -value

    def constant(value):
        for k in (1, 2):
            if k > value:
                return k
        else:
            return 7

    i = jit.grid(1)
    y[0, i] = first(3 * x[i])
    y[1, i] = last(x[i])
    y[2, i] = constant(2 * x[i])


@TABLE.program(floats(), out((2, N), "f8"))
def assertions_that_are_not_reached(x, y):
    def positive(value):
        if value > -1000:
            return value
        else:
            assert False, "not positive"  # noqa: B011, PT015

    i = jit.grid(1)
    y[0, i] = positive(x[i])
    if x[i] > -1000:
        y[1, i] = 1
    else:
        raise ValueError(f"{x[i]} is small")


@TABLE.program(floats(), out((4, N), "f8"))
def quoted_annotations(x, y):
    i = jit.grid(1)
    a: "float" = x[i]  # noqa: UP037
    b: "np.float32" = x[i]  # noqa: UP037
    c: "Vector | None" = x[i]  # noqa: UP037
    d: "not an expression" = x[i]  # noqa: F722
    y[0, i] = a
    y[1, i] = b
    y[2, i] = c
    y[3, i] = d


@TABLE.program(floats(), out((6, N), "f8"))
def methods_of_numbers(x, y):
    i = jit.grid(1)
    y[0, i] = x[i].is_integer() + 2 * np.floor(x[i]).is_integer()
    y[1, i] = x[i].item() + x[i].conj() + x[i].conjugate() + x[i].T
    y[2, i] = x[i].astype(np.int32) + x[i].clip(-1, 1) + x[i].round(1)
    y[3, i] = (x[i] * 10).astype(np.int64).bit_count() + x[i].astype(np.int8).numerator
    y[4, i] = x[i].itemsize + x[i].ndim + x[i].size + len(x[i].shape)
    z = complex(x[i], 2.0)
    y[5, i] = z.conjugate().imag + (1 + 2j).conjugate().imag + (1.5).is_integer()


@TABLE.program(
    lambda rng: rng.choice(np.array([0, 1, 2, 128, 255], np.uint8), N).view(bool), out((3, N), "?")
)
def bools_of_any_byte(x, y):
    i = jit.grid(1)
    y[0, i] = x[i]
    y[1, i] = not x[i]
    y[2, i] = x[i]
    y[2, i] ^= x[31 - i]
