"""The kernels that a plan launches: definitions for the pipelines of the other front-ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneltk.codegen.accumulator import ctype_cast, limit_of, parse_accumulator
from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.codegen.reduction import ReductionDefinition
from kerneltk.core.dtypes import describe
from kerneltk.core.records import BoundedTable, record
from kerneltk.fusion.plan.body import (
    Body,
    InMemory,
    Preamble,
    Structure,
    facts_of,
    restores,
    squeezes,
)
from kerneltk.fusion.plan.steps import OPTIONS, Operands
from kerneltk.fusion.trace.graph import Apply, Cast, Node, Reduce, Scalar, Shape, View
from kerneltk.fusion.trace.symbols import applied, product
from kerneltk.signature.parameters import parse_signature


def elementwise_definition(
    name: str,
    nodes: Sequence[Node],
    shape: Shape,
    in_memory: InMemory,
    operands: Operands,
    backwards: bool = False,
) -> ElementwiseDefinition:
    """One loop that computes some values of a shape."""
    structure = Structure(operands, in_memory).of(nodes)
    key = name, structure, operands.windows, backwards
    known = None if structure is None else _definitions.get(key)
    if known is None:
        operands.clear()
        known = _elementwise_definition(name, nodes, shape, in_memory, operands, backwards)
        if structure is not None:
            _definitions[key] = known
    return known


_definitions: BoundedTable[Any, ElementwiseDefinition] = BoundedTable(1024)  # by structures


def _elementwise_definition(
    name: str,
    nodes: Sequence[Node],
    shape: Shape,
    in_memory: InMemory,
    operands: Operands,
    backwards: bool,
) -> ElementwiseDefinition:
    body = Body("_kt_fused", operands, in_memory, shape)
    function = body.finished([body.value(node) for node in nodes])
    preamble = Preamble()
    fields = preamble.add(function)
    ndim = function.index_ndim
    index = ["i"] if ndim == 1 else [f"_ind.get()[{axis}]" for axis in range(ndim)]
    call = function.call(index if ndim else ())
    outputs, operation = _stored(call, fields)
    signature = parse_signature(
        ", ".join(operands.declarations),
        ", ".join(f"{n.dtype.name} {y}" for n, y in zip(nodes, outputs, strict=True)),
    )
    return ElementwiseDefinition(
        signature,
        name,
        preamble.text,
        OPTIONS,
        operation,
        reduce_dims=not ndim,
        windows=operands.windows,
        backwards=backwards,
        known_facts=facts_of(("i", "_ind")[:ndim], outputs, preamble.traps),
    )


def _stored(call: str, fields: Sequence[str]) -> tuple[list[str], str]:
    """The outputs that a call's result is stored to, of so many fields if it has any; and how."""
    if not fields:
        return ["y0"], f"y0 = {call};"
    outputs = [f"y{k}" for k in range(len(fields))]
    lines = [f"{y} = _kt_result.{f};" for y, f in zip(outputs, fields, strict=True)]
    return outputs, "\n".join([f"const auto _kt_result = {call};", *lines])


@record
class Total:
    """What a reduction is for one value: fields of the accumulator, by C type and name; how an
    element becomes them, two become one, and nothing; and the result.
    """

    fields: tuple[tuple[str, str], ...]
    mapped: tuple[str, ...]
    combined: tuple[str, ...]
    neutral: tuple[str, ...]
    result: str
    headers: tuple[str, ...] = ()
    numbered: bool = False


def total_of(
    node: Reduce, name: str, mapped: str, alone: bool, in_lanes: bool = False, short: bool = False
) -> Total:
    """How a reduction is computed; `mapped` is an element's value, `alone` says that it is the
    accumulator itself, `in_lanes` that loops over accumulators are to become vectors, `short` that
    an int counts the elements.
    """
    dtype = node.operand.dtype
    ctype = describe(dtype).ctype
    accumulated = "float" if ctype in ("float16", "bfloat16") else ctype
    a, b = ("a", "b") if alone else (f"a.{name}", f"b.{name}")
    given = describe(node.dtype).ctype
    kind = node.kind
    if kind in ("argmin", "argmax"):
        place = f"{name}_at"
        sign = "<" if kind == "argmin" else ">"
        ia, ib = f"a.{place}", f"b.{place}"
        first = f"{a} {sign} {b}"
        tie = f"{a} == {b} && {ia} < {ib}"
        if dtype.kind in "fc" or dtype.name == "bfloat16":
            tie = f"{tie} || {a} != {a} && ({b} == {b} || {ia} < {ib})"
            first = f"!({b} != {b} && {a} == {a}) && ({first}"
            tie = f"{tie})"
        better = f"({first} || {tie})"
        combined: tuple[str, ...] = (f"{better} ? {a} : {b}", f"{better} ? {ia} : {ib}")
        headers: tuple[str, ...] = ()
        index, last = ("int", "2147483647") if short else ("long long", "9223372036854775807LL")
        if in_lanes and dtype.kind == "f":
            is_least = "true" if kind == "argmin" else "false"
            stays = f"kerneltk::stays<{is_least}>({a}, {ia}, {b}, {ib})"
            pairs = ((a, b), (ia, ib))
            combined = tuple([f"kerneltk::chosen({stays}, {x}, {y})" for x, y in pairs])
            headers = ("host_index_extremes.hpp",)
        neutral = limit_of(dtype, kind == "argmin")
        return Total(
            ((accumulated, name), (index, place)),
            (mapped, f"{ctype_cast(index)}(_J)" if short else "_J"),
            combined,
            (neutral, last),
            f"{ctype_cast(given)}({ia})",
            headers,
            numbered=True,
        )
    if kind in ("sum", "prod"):
        op, zero = ("+", 0) if kind == "sum" else ("*", 1)
        return Total(
            ((accumulated, name),), (mapped,), (f"{a} {op} {b}",),
            (f"{ctype_cast(accumulated)}({zero})",),
            f"{ctype_cast(given)}({a})",
        )  # fmt: skip
    if kind in ("any", "all"):
        op, neutral = ("|", "false") if kind == "any" else ("&", "true")
        return Total(
            (("bool", name),), (mapped,), (f"{ctype_cast('bool')}({a} {op} {b})",), (neutral,), a
        )
    function = "lesser" if kind == "min" else "greater"
    return Total(
        ((accumulated, name),),
        (mapped,),
        (f"kerneltk::{function}({a}, {b})",),
        (limit_of(dtype, kind == "min"),),
        f"{ctype_cast(given)}({a})",
        ("extremes.hpp",),
    )


def keyed_total(node: Reduce, name: str, mapped: str, alone: bool) -> Total:
    """The place of the largest or the least of fewer than 2**32 values, each of at most 4 bytes:
    the largest of numbers that have the value in front and the place behind it.
    """
    a, b = ("a", "b") if alone else (f"a.{name}", f"b.{name}")
    kind = node.operand.dtype.kind
    wide = "float" if node.operand.dtype.name in ("float16", "bfloat16", "float32") else (
        "unsigned" if kind in "ub" else "int"
    )  # fmt: skip
    is_least = "true" if node.kind == "argmin" else "false"
    given = describe(node.dtype).ctype
    return Total(
        (("unsigned long long", name),),
        (f"kerneltk::index_key<{is_least}>({ctype_cast(wide)}({mapped}), _J)",),
        (f"{a} > {b} ? {a} : {b}",),
        ("0ULL",),
        f"{ctype_cast(given)}(kerneltk::index_of({a}))",
        ("index_keys.hpp",),
        numbered=True,
    )


def has_index_key(node: Reduce) -> bool:
    """Whether a reduction finds a place among values of at most 4 bytes."""
    dtype = node.operand.dtype
    is_known = dtype.kind in "biuf" or dtype.name == "bfloat16"
    return node.kind in ("argmin", "argmax") and dtype.itemsize <= 4 and is_known


def online_total(node: Reduce, name: str, largest: str) -> Total:
    """The sum of exponentials relative to the largest value, which field `largest` has: both in one
    read, by what is known so far (Milakov, Gimelshein: Online normalizer calculation for softmax,
    2018).
    """
    ctype = describe(node.dtype).ctype
    a, b, top_a, top_b = f"a.{name}", f"b.{name}", f"a.{largest}", f"b.{largest}"
    return Total(
        ((ctype, name),),
        (f"{ctype_cast(ctype)}(1)",),
        (f"kerneltk::joined_sum({top_a}, {a}, {top_b}, {b})",),
        (f"{ctype_cast(ctype)}(0)",),
        # An infinity less an infinity is no number, and then the sum is none.
        f"({a} + ({top_a} - {top_a}))",
        ("online.hpp",),
    )


def total_size(node: Reduce, online: bool) -> int:
    """How many bytes of an accumulator a reduction has at most."""
    spread = spread_of(node) if online else None
    if spread is None:
        return 16
    return 32 if node.dtype.itemsize == 8 else 24 if spread.is_half else 16


def spread_total(name: str, ctype: str, mapped: str, count: str, is_half: bool = False) -> Total:
    """The sum of squares about the mean, in one read.

    Of float32 and less it is had from the sums of elements and of their squares as doubles, which
    has more digits than two reads of float32 have: each square is exact. Of doubles both are about
    an element, the first of each thread, which is no further from the mean than the squares allow:
    a mean of what came before would be a division for each element.

    `is_half`: of float16, about the mean as rounded to float16. The squares are not rounded, but
    infinite where float16 does not hold one, as the least and the largest element tell.
    """
    if is_half:
        value = f"{ctype_cast('float')}({mapped})"
        wide = f"{ctype_cast('double')}({value})"
        total, squares = f"{name}_sum", f"{name}_squares"
        least, most = f"{name}_least", f"{name}_most"
        return Total(
            (("double", total), ("double", squares), ("float", least), ("float", most)),
            (wide, f"kerneltk::squared({wide})", value, value),
            (
                f"a.{total} + b.{total}", f"a.{squares} + b.{squares}",
                f"fminf(a.{least}, b.{least})", f"fmaxf(a.{most}, b.{most})",
            ),
            ("0.0", "0.0", "INFINITY", "-INFINITY"),
            f"kerneltk::half_spread<{describe(np.dtype(np.float16)).ctype}>"
            f"(a.{total}, a.{squares}, a.{least}, a.{most}, {count})",
            ("spread.hpp",),
        )  # fmt: skip
    if ctype == "float":
        total, squares = f"{name}_sum", f"{name}_squares"
        wide = f"{ctype_cast('double')}({mapped})"
        return Total(
            (("double", total), ("double", squares)),
            (wide, f"kerneltk::squared({wide})"),
            (f"a.{total} + b.{total}", f"a.{squares} + b.{squares}"),
            ("0.0", "0.0"),
            f"{ctype_cast('float')}(kerneltk::spread(a.{total}, "
            f"kerneltk::finite(a.{squares}), {count}))",
            ("spread.hpp",),
        )
    own = f"{name}_count", f"{name}_shift", f"{name}_sum", f"{name}_squares"
    count, shift, total, squares = own
    parts = ", ".join(f"{x}.{field}" for x in "ab" for field in own)
    return Total(
        tuple(("double", field) for field in own),
        ("1.0", mapped, "0.0", f"({mapped}) - ({mapped})"),
        (
            f"a.{count} + b.{count}",
            f"(a.{count} > 0 ? a.{shift} : b.{shift})",
            f"kerneltk::shifted_sum({parts})",
            f"kerneltk::shifted_squares({parts})",
        ),
        ("0.0", "0.0", "0.0", "0.0"),
        f"kerneltk::spread(a.{total}, a.{squares}, a.{count})",
        ("spread.hpp",),
    )


@record
class Spread:
    """What a sum of squares about a mean is made of: the elements, and the mean's reduction;
    `is_half`: elements, mean and squares are float16, their sums float32.
    """

    value: Node
    total: Reduce
    count: Scalar
    is_half: bool


def spread_of(node: Reduce) -> Spread | None:
    """What is needed, if a reduction is the sum of squares about the mean of the same elements:
    ``((x - x.mean()) ** 2).sum()``.
    """
    square, of_halves = node.operand, _as_halves(node.operand)
    is_half = of_halves is not None
    square = square if of_halves is None else of_halves
    if node.kind != "sum" or not isinstance(square, Apply) or square.part:
        return None
    if square.function is np.square or (
        square.function is np.multiply and square.operands[0] is square.operands[1]
    ):
        apart = square.operands[0]
    else:
        return None
    if not isinstance(apart, Apply) or apart.function is not np.subtract:
        return None
    if node.dtype != node.operand.dtype or node.dtype.name not in ("float32", "float64"):
        return None
    value, mean = apart.operands
    mean = _of_totals(mean, node.axes)
    if is_half:
        mean = mean.operand if isinstance(mean, Cast) else mean
    if not isinstance(mean, Apply) or mean.function is not np.true_divide:
        return None
    total, count = mean.operands
    if not isinstance(total, Reduce) or not isinstance(count, Scalar):
        return None
    elements = _as_halves(total.operand) if is_half else total.operand
    is_it = (
        total.kind == "sum"
        and total.axes == node.axes
        and elements is not None
        and _is_same(elements, value)
        and total.dtype == node.dtype
        and _counts(count, value.shape, node.axes)
    )
    return Spread(value, total, count, is_half) if is_it else None


def _as_halves(node: Node) -> Node | None:
    """The value of float16 that a value of float32 is; None for others."""
    if not isinstance(node, Cast) or node.dtype.name != "float32":
        return None
    return node.operand if node.operand.dtype.name == "float16" else None


def _is_same(left: Node, right: Node) -> bool:
    """Whether two values are one; conversions are made anew at each use."""
    while isinstance(left, Cast) and isinstance(right, Cast) and left.dtype == right.dtype:
        left, right = left.operand, right.operand
    return left is right


def _of_totals(node: Node, axes: tuple[int, ...]) -> Node:
    """A value of totals, without the views that take its dimensions away and bring them back."""
    while isinstance(node, View) and isinstance(node.operand, View):
        if not (restores(node, axes) and squeezes(node.operand, axes)):
            return node
        node = node.operand.operand
    # Without the first axes it is broadcast as with them.
    if isinstance(node, View) and axes == tuple(range(len(axes))) and squeezes(node, axes):
        node = node.operand
    return node


def _counts(count: Scalar, shape: Shape, axes: tuple[int, ...]) -> bool:
    """Whether a number is that of the elements of a total."""
    elements = applied(product, *(shape[axis] for axis in axes))
    return count.symbol.expression == applied(float, elements).expression


def largest_of(node: Reduce) -> Reduce | None:
    """The reduction that gives the largest value, if a reduction is the sum of exponentials
    relative to it: ``exp(x - x.max()).sum()``.
    """
    power = node.operand
    if node.kind != "sum" or not isinstance(power, Apply) or power.function is not np.exp:
        return None
    apart = power.operands[0]
    if not isinstance(apart, Apply) or apart.function is not np.subtract:
        return None
    value, top = apart.operands
    top = _of_totals(top, node.axes)
    is_it = (
        isinstance(top, Reduce)
        and top.kind == "max"
        and top.axes == node.axes
        and top.operand is value
        and node.dtype == top.dtype
        and node.dtype.kind == "f"
        and node.dtype.itemsize >= 4
    )
    return top if is_it and isinstance(top, Reduce) else None


def has_equal_total(left: Reduce, right: Reduce) -> bool:
    """Whether two reductions, along the same axis, have the same totals."""
    return (left.kind, left.dtype) == (right.kind, right.dtype) and _is_same(
        left.operand, right.operand
    )


def reduction_definition(
    name: str,
    reduces: Sequence[Reduce],
    results: Sequence[Node],
    in_memory: InMemory,
    operands: Operands,
    online: bool,
    short: bool = False,
) -> ReductionDefinition:
    """One reduction of some values, and what is computed of the totals alone; `online` lets sums
    of exponentials be totalled with the largest value that they are relative to, and squares about
    a mean with the mean; `short` says that fewer than 2**32 elements are one total, and without
    `online` fewer than 2**31.
    """
    preamble = Preamble()
    totals: list[Total] = []
    shape = reduces[0].operand.shape
    axes = reduces[0].axes
    order = [*axes, *(k for k in range(len(shape)) if k not in axes)]
    keyed = {id(node) for node in reduces if short and online and has_index_key(node)}
    alone = len(reduces) == 1 and (
        reduces[0].kind not in ("argmin", "argmax") or id(reduces[0]) in keyed
    )
    alone = alone and not (online and spread_of(reduces[0]) is not None)
    # Sums of elements as doubles, beside those of their squares.
    sums = {
        id(spread.total): f"t{k}_sum"
        for k, node in enumerate(reduces)
        if online and (spread := spread_of(node)) is not None and node.dtype.name == "float32"
    }
    index_ndim = 0
    for k, node in enumerate(reduces):
        if id(node) in sums:
            totals.append(Total((), (), (), (), f"{ctype_cast('float')}(a.{sums[id(node)]})"))
            continue
        largest = largest_of(node) if online else None
        if largest is not None and any(largest is other for other in reduces):
            place = next(j for j, other in enumerate(reduces) if other is largest)
            total = online_total(node, f"t{k}", f"t{place}")
            preamble.include("online.hpp")
            totals.append(total)
            continue
        spread = spread_of(node) if online else None
        body = Body(f"_kt_map{k}", operands, in_memory, shape)
        function = body.finished([body.value(node.operand if spread is None else spread.value)])
        preamble.add(function)
        index_ndim = max(index_ndim, function.index_ndim)
        index = [f"_in_ind.get()[{order.index(axis)}]" for axis in range(function.index_ndim)]
        mapped = function.call(index)
        if id(node) in keyed:
            total = keyed_total(node, f"t{k}", mapped, alone)
        elif spread is None:
            total = total_of(node, f"t{k}", mapped, alone, not online, short and not online)
        else:
            count = operands.scalar(spread.count.symbol, np.dtype(np.float64))
            ctype = describe(node.dtype).ctype
            total = spread_total(f"t{k}", ctype, mapped, count, spread.is_half)
        for header in total.headers:
            preamble.include(header)
        totals.append(total)
    post = Body("_kt_post", operands, in_memory, ())
    for k, node in enumerate(reduces):
        post.totals[id(node)] = f"t{k}"
    function = post.finished([post.value(node) for node in results])
    fields = preamble.add(function)
    numbers = {f"t{k}": total.result for k, total in enumerate(totals)}
    arguments = ", ".join(numbers.get(argument, argument) for argument in function.arguments)
    call = f"::{function.name}({arguments})"
    outputs, finish = _stored(call, fields)
    signature = parse_signature(
        ", ".join(operands.declarations),
        ", ".join(f"{n.dtype.name} {y}" for n, y in zip(results, outputs, strict=True)),
        "reduction",
    )
    first, *others = reduces
    extreme = 0
    if first.operand.dtype.kind in "biuf" and not (online or others):
        extreme = {"argmax": 1, "argmin": -1}.get(first.kind, 0)
        extreme *= 2 if in_memory(first.operand) is None else 1
    if extreme:
        preamble.include("host_index_extremes.hpp")
    text = preamble.text
    members = [item for total in totals for item in total.fields]
    if alone:
        reduce_type = members[0][0]
        parts = [totals[0].mapped[0], totals[0].combined[0], totals[0].neutral[0]]
    else:
        reduce_type = ", ".join(f"{ctype} {field}" for ctype, field in members)
        parts = [
            "{" + ", ".join(piece for total in totals for piece in getattr(total, pieces)) + "}"
            for pieces in ("mapped", "combined", "neutral")
        ]
    observed = ["_J"] if any(total.numbered for total in totals) else []
    observed += ["_in_ind"] if index_ndim else []
    return ReductionDefinition(
        signature,
        name,
        text,
        OPTIONS,
        parts[0],
        parts[1],
        finish,
        parts[2],
        parse_accumulator(reduce_type, signature, text),
        reduce_dims=not index_ndim,
        known_facts=facts_of(observed, outputs, preamble.traps),
        extreme=extreme,
    )
