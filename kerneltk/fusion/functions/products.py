"""Products of whole arrays, and linear algebra: calls of the arrays' library between kernels."""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneltk.fusion.functions.arrangement import ARRANGEMENT, reshaped_copy, settled
from kerneltk.fusion.trace.creation import along
from kerneltk.fusion.trace.functions import FUNCTIONS, finished
from kerneltk.fusion.trace.graph import Call, Shape
from kerneltk.fusion.trace.lazy import LazyArray, plain_number, size_of, symbol_of
from kerneltk.fusion.trace.operations import (
    array_of,
    arrays_of,
    as_array,
    into,
    new_array,
    of_list,
    promoted,
    resolved_loop,
    trace_of,
)
from kerneltk.fusion.trace.state import unsupported, wrong_type, wrong_value
from kerneltk.fusion.trace.symbols import Symbol, applied, constant

_ravel, _reshape = ARRANGEMENT["ravel"], ARRANGEMENT["reshape"]


def called(
    function: str,
    operands: Sequence[LazyArray],
    shape: Shape,
    dtype: np.dtype[Any],
    **options: Any,
) -> LazyArray:
    """The result of a function of the library, of operands that have the dtypes of its loop."""
    trace = operands[0].trace
    trace.count()
    nodes = tuple(settled(operand).node for operand in operands)
    return new_array(trace, Call(dtype, shape, function, nodes, tuple(options.items())))


def _result(made: LazyArray, out: Any) -> LazyArray:
    return made if out is None else into(out, made, True, "same_kind")


def _check_inner(function: str, a: LazyArray, one: Symbol, other: Symbol) -> None:
    if not a.trace.same_shape((one,), (other,)):
        raise wrong_value(
            f"The axes that '{function}' sums over have {one.value} and {other.value} elements."
        )


def _cast(array: LazyArray, dtype: np.dtype[Any]) -> LazyArray:
    if array.dtype == dtype:
        return array
    return new_array(array.trace, array.trace.cast(array.node, dtype))


def matmul(
    a: Any, b: Any, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    """``a @ b``."""
    one, other = arrays_of(a, b)
    if not one.ndim or not other.ndim:
        raise wrong_value("'matmul' takes no numbers.", "write 'a * b'.")
    kinds = [one.dtype, other.dtype]
    try:
        (left, right), (result,) = resolved_loop(
            np.matmul, kinds, None if dtype is None else np.dtype(dtype), casting
        )
    except TypeError:
        raise wrong_type(
            f"'matmul' cannot be computed for '{kinds[0]}' and '{kinds[1]}'.",
            "convert one of them: 'x.astype(dtype)'.",
        ) from None
    rows, columns = one.extents[-2:-1], other.extents[-1:] if other.ndim > 1 else ()
    _check_inner("matmul", one, one.extents[-1], other.extents[-2 if other.ndim > 1 else -1])
    shape = (*one.trace.broadcast(one.extents[:-2], other.extents[:-2]), *rows, *columns)
    made = called("matmul", [_cast(one, left), _cast(other, right)], shape, result)
    return made if out is None else into(out[0] if isinstance(out, tuple) else out, made, True,
                                         casting)  # fmt: skip


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    one, other = arrays_of(a, b)
    if not one.ndim or not other.ndim:
        return np.multiply(one, other, out=out)
    if max(one.ndim, other.ndim) <= 2 or other.ndim == 1:
        return matmul(a, b, out)
    kind = promoted([one, other])
    _check_inner("dot", one, one.extents[-1], other.extents[-2])
    shape = (*one.extents[:-1], *other.extents[:-2], other.extents[-1])
    made = called("dot", [_cast(one, kind), _cast(other, kind)], shape, kind)
    return finished(one, made.node, out)


def _inner(a: Any, b: Any) -> Any:
    one, other = arrays_of(a, b)
    if not one.ndim or not other.ndim:
        return np.multiply(one, other)
    kind = promoted([one, other])
    _check_inner("inner", one, one.extents[-1], other.extents[-1])
    shape = (*one.extents[:-1], *other.extents[:-1])
    return called("inner", [_cast(one, kind), _cast(other, kind)], shape, kind)


def _vdot(a: Any, b: Any) -> Any:
    one, other = map(_ravel, arrays_of(a, b))
    return _dot(np.conjugate(one) if one.dtype.kind == "c" else one, other)


def outer(function: np.ufunc, a: Any, b: Any, **options: Any) -> Any:
    """``function.outer(a, b)``: each element of the one with each of the other."""
    one, other = arrays_of(a, b)
    if other.ndim:
        one = one[(..., *[None] * other.ndim)]
    return function(one, other, **options)


def _einsum(subscripts: Any, *operands: Any, out: Any = None, optimize: Any = False) -> Any:
    arrays = arrays_of(*operands)
    if not isinstance(subscripts, str) or "." in subscripts:
        raise unsupported(
            "'einsum' is fused with a string of letters alone.",
            "write a letter for each axis: 'einsum(\"bij,bjk->bik\", a, b)'.",
        )
    text = subscripts.replace(" ", "")
    inputs, arrow, result = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(arrays) or any(
        len(term) != array.ndim for term, array in zip(terms, arrays, strict=True)
    ):
        raise wrong_value(f"The subscripts '{subscripts}' do not name the axes of the operands.")
    if not arrow:
        letters = inputs.replace(",", "")
        result = "".join(sorted(one for one in set(letters) if letters.count(one) == 1))
    extents: dict[str, Symbol] = {}
    for term, array in zip(terms, arrays, strict=True):
        for letter, extent in zip(term, array.extents, strict=True):
            known = extents.get(letter)
            if known is None or (known.value == 1 != extent.value):
                extents[letter] = extent
            elif known.expression != extent.expression and not (
                array.trace.same_shape((known,), (extent,)) or array.trace.is_one(extent)
            ):
                raise wrong_value(
                    f"The axis '{letter}' has {known.value} and {extent.value} elements."
                )
    if not set(result) <= extents.keys() or len(set(result)) != len(result):
        raise wrong_value(f"The subscripts '{subscripts}' have no such result.")
    kind = promoted(list(arrays))
    shape = tuple(extents[letter] for letter in result)
    made = called("einsum", [_cast(array, kind) for array in arrays], shape, kind,
                  subscripts=f"{inputs}->{result}", optimize=bool(optimize))  # fmt: skip
    return _result(made, out)


# -- linear algebra --------------------------------------------------------------------------------


def _squares(array: LazyArray) -> Any:
    if array.dtype.kind == "c":
        return np.square(np.real(array)) + np.square(np.imag(array))
    return np.square(array)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    array = array_of(x)
    if array.dtype.kind not in "fc":
        array = array.astype(np.float64)
    axes = tuple(range(array.ndim)) if axis is None else array.axes(axis)
    if ord is None or (len(axes) == 1 and ord == 2) or (len(axes) == 2 and ord in ("fro", "f")):
        return np.sqrt(np.sum(_squares(array), axis=axes, keepdims=keepdims))
    sizes = np.absolute(array)
    if len(axes) == 1:
        if ord == 0:
            return np.sum((array != 0).astype(sizes.dtype), axis=axes, keepdims=keepdims)
        if ord in (np.inf, -np.inf):
            function = np.max if ord > 0 else np.min
            return function(sizes, axis=axes, keepdims=keepdims)
        if ord == 1:
            return np.sum(sizes, axis=axes, keepdims=keepdims)
        if isinstance(ord, int | float):
            power = np.sum(sizes**ord, axis=axes, keepdims=keepdims)
            return power ** (1 / ord)
    if len(axes) == 2 and ord in (1, -1, np.inf, -np.inf):
        first, second = axis if axis is not None else (0, 1)
        along, over = (first, second) if abs(ord) == 1 else (second, first)
        totals = np.sum(sizes, axis=array.axis(along), keepdims=True)
        function = np.max if ord > 0 else np.min
        found = function(totals, axis=array.axis(over), keepdims=True)
        return found if keepdims else FUNCTIONS["squeeze"](found, axes)
    raise unsupported(
        f"The norm of order {ord!r} along {len(axes)} axes is not fused.",
        "write 'ord=None' for the root of the sum of squares; or call 'np.linalg.norm' between two "
        "fused functions.",
    )


def _square_extents(name: str, array: LazyArray) -> None:
    if array.ndim < 2 or not array.trace.same_shape(array.extents[-1:], array.extents[-2:-1]):
        raise wrong_value(f"'{name}' takes square matrices.")


@functools.cache
def _dtype_of(name: str, ndim: int, *kinds: np.dtype[Any], **options: Any) -> np.dtype[Any]:
    samples = (np.eye(2, dtype=kind) for kind in kinds)
    function = operator.attrgetter(name)(np)
    found = function(*(sample if ndim == 2 else sample[0] for sample in samples), **options)
    return np.asarray(found).dtype


def dtype_called(
    name: str, operands: Sequence[LazyArray], ndim: int, **options: Any
) -> np.dtype[Any]:
    """The dtype of a library's result for vectors or matrices of the operands' dtypes."""
    try:
        return _dtype_of(name, ndim, *(operand.dtype for operand in operands), **options)
    except TypeError:
        kinds = " and ".join(f"'{operand.dtype}'" for operand in operands)
        raise wrong_type(f"'{name}' cannot be computed for {kinds}.") from None


def _solve(a: Any, b: Any) -> Any:
    one, other = arrays_of(a, b)
    _square_extents("linalg.solve", one)
    if not other.ndim:
        raise wrong_value("'linalg.solve' takes a vector or matrices.")
    _check_inner("linalg.solve", one, one.extents[-1],
                   other.extents[-1 if other.ndim == 1 else -2])  # fmt: skip
    kind = dtype_called("linalg.solve", [one, other], 2)
    if other.ndim == 1:
        shape = one.extents[:-1]
    else:
        lead = one.trace.broadcast(one.extents[:-2], other.extents[:-2])
        shape = (*lead, *other.extents[-2:])
    return called("linalg.solve", [one, other], shape, kind)


def _decomposed(
    name: str, array: LazyArray, shapes: Sequence[Shape], dtypes: Sequence[Any],
    args: tuple[Any, ...], options: dict[str, Any],
) -> list[Any]:  # fmt: skip
    """The results of a function of the library that has several: of one call, behind each other."""
    trace = array.trace
    ends = [constant(0)]
    for shape in shapes:
        ends.append(applied(operator.add, ends[-1], size_of(shape)))
    packed = called("packed", [array], (ends[-1],), np.result_type(*dtypes),
                    name=name, args=args, given=tuple(options.items()))  # fmt: skip
    found = []
    for (begin, end), shape, kind in zip(itertools.pairwise(ends), shapes, dtypes, strict=True):
        part = packed[plain_number(trace, begin) : plain_number(trace, end)]
        part = part if kind.kind == "c" or packed.dtype.kind != "c" else np.real(part)
        found.append(_cast(reshaped_copy(part, shape), kind))
    return found


def _of_matrix(name: str) -> Any:
    """A function of a matrix, or of stacks of them. NumPy's results for a small matrix show which
    of their extents are the rows', and which the columns'.
    """
    function = operator.attrgetter(name)(np)

    def run(a: Any, *args: Any, **kwargs: Any) -> Any:
        array = array_of(a)
        if array.ndim < 2:
            raise wrong_value(f"'{name}' takes matrices.")
        *lead, rows, columns = array.extents
        trace, sizes = array.trace, (2, 2)
        if not trace.same_shape((rows,), (columns,)):
            sizes = (2, 3) if trace.guards.decide(operator.lt, rows, columns) else (3, 2)
        extents = dict(zip(sizes, (rows, columns), strict=True))
        options = inspect.signature(function).bind(array, *args, **kwargs).arguments
        options.pop("a")
        try:
            sample = function(np.eye(*sizes, dtype=array.dtype), **options)
        except np.linalg.LinAlgError:
            raise wrong_value(f"'{name}' takes square matrices.") from None
        except TypeError:
            raise wrong_type(f"'{name}' cannot be computed for '{array.dtype}'.") from None
        parts = sample if isinstance(sample, tuple) else (sample,)
        shapes = [(*lead, *(extents[count] for count in part.shape)) for part in parts]
        if len(parts) == 1:
            return called(name, [array], shapes[0], sample.dtype, **options)
        kinds = [part.dtype for part in parts]
        return type(sample)(*_decomposed(name, array, shapes, kinds, (), options))

    return run


def _unravel_index(indices: Any, shape: Any, order: Any = "C") -> Any:
    array = array_of(indices, *(shape if isinstance(shape, tuple) else ()))
    given = tuple(map(int, shape)) if isinstance(shape, tuple | list) else (int(shape),)
    kinds = [np.dtype(np.intp)] * len(given)
    return tuple(_decomposed("unravel_index", array, [array.extents] * len(given), kinds,
                             (given, order), {}))  # fmt: skip


# -- Fourier transforms ----------------------------------------------------------------------------


def _fourier(name: str) -> Any:
    """A transform of ``np.fft``: along one axis, or, where its name ends so, along two or more."""
    kind, is_one = name.rstrip("2n"), name[-1] not in "2n"

    def transformed(a: Any, s: Any, axes: Any, norm: Any) -> Any:
        array = array_of(a)
        counts = None if s is None else tuple(map(int, s))
        if axes is None:
            axes = range(-array.ndim if counts is None else -len(counts), 0)
        axes, extents, last = tuple(map(operator.index, axes)), list(array.extents), -1
        given = counts or (None,) * len(axes)
        for count, axis in zip(given, axes, strict=True):
            last = array.axis(axis)
            if count is not None and count < 1:
                raise wrong_value(f"'{name}' of {count} elements is not defined.")
            extents[last] = extents[last] if count is None else constant(count)
        if kind in ("rfft", "ihfft"):
            extents[last] = applied(_half, extents[last])
        elif kind in ("irfft", "hfft") and given[-1] is None:
            extents[last] = applied(_twice, extents[last])
        dtype = dtype_called(f"fft.{kind}", [array], 2, norm=norm)
        options = {"n": given[0], "axis": axes[0]} if is_one else {"s": counts, "axes": axes}
        return called(f"fft.{name}", [array], tuple(extents), dtype,
                      norm=norm, **options)  # fmt: skip

    if is_one:
        return lambda a, n=None, axis=-1, norm=None: transformed(
            a, None if n is None else (n,), (axis,), norm
        )
    usual = (-2, -1) if name[-1] == "2" else None
    return lambda a, s=None, axes=usual, norm=None: transformed(a, s, axes, norm)


def _half(count: int) -> int:
    return count // 2 + 1


def _twice(count: int) -> int:
    return 2 * (count - 1)


def _shifted(x: Any, axes: Any, sign: int) -> Any:
    array = array_of(x)
    found = array.axes(axes)
    return np.roll(array, [sign * (len(array.swapaxes(0, axis)) // 2) for axis in found], found)


_OF_A_MATRIX = ("inv", "pinv", "cholesky", "det", "slogdet", "eigh", "eigvalsh", "svd", "qr")
_TRANSFORMS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2",
               "fftn", "ifftn", "rfftn", "irfftn")  # fmt: skip


# -- statistics ------------------------------------------------------------------------------------


def _average(a: Any, axis: Any = None, weights: Any = None, returned: Any = False, *,
             keepdims: Any = False) -> Any:  # fmt: skip
    array = array_of(a, weights)
    if returned:
        raise unsupported("'average' with 'returned=True' is not fused.",
                          "write 'np.sum(weights)' beside it.")  # fmt: skip
    if weights is None:
        return np.mean(array, axis=axis, keepdims=keepdims)
    trace = array.trace
    given = as_array(trace, weights)
    kind = promoted([array, given])
    if array.dtype.kind in "iub":
        kind = np.result_type(kind, np.float64)
    if given.ndim != array.ndim:
        if axis is None or isinstance(axis, tuple | list) or given.ndim != 1:
            raise wrong_type("'average' takes weights of the array's shape, or of one axis.")
        at = array.axis(axis)
        given = along(given, at, array.ndim)
        _check_inner("average", array, array.extents[at], given.extents[at])
        given = given.broadcast_to(array.extents)
    elif not trace.same_shape(given.extents, array.extents):
        raise wrong_type("'average' takes weights of the array's shape, or of one axis.")
    scale = np.sum(given, axis=axis, dtype=kind, keepdims=keepdims)
    total = np.sum(np.multiply(array, given, dtype=kind), axis=axis, keepdims=keepdims)
    return np.true_divide(total, scale)


def _cov(m: Any, y: Any = None, rowvar: Any = True, bias: Any = False, ddof: Any = None,
         fweights: Any = None, aweights: Any = None, *, dtype: Any = None) -> Any:  # fmt: skip
    array = array_of(m)
    if y is not None or fweights is not None or aweights is not None:
        raise unsupported("'cov' of one array without weights is fused alone.",
                          "stack the variables: 'np.cov(np.vstack((x, y)))'.")  # fmt: skip
    if array.ndim not in (1, 2):
        raise wrong_value("'cov' takes arrays of one or two dimensions.")
    kind = np.result_type(array.dtype, np.float64) if dtype is None else np.dtype(dtype)
    x = array[None] if array.ndim == 1 else array if rowvar else array.T
    x = _cast(x, kind)
    less = (0 if bias else 1) if ddof is None else ddof
    x = x - np.mean(x, axis=1, keepdims=True)
    turned = np.conjugate(x).T if kind.kind == "c" else x.T
    factor = plain_number(array.trace, x.extents[1]) - less
    found = matmul(x, turned) * np.true_divide(1, factor)
    return FUNCTIONS["squeeze"](found)


def _histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None,
               weights: Any = None) -> Any:  # fmt: skip
    trace = trace_of(a, bins, weights)
    array = _ravel(as_array(trace, a))
    operands = [array]
    limits = [symbol_of(end) for end in (() if range is None else range)]
    if isinstance(bins, str) or None in limits:
        raise unsupported("'histogram' takes a range, and bins, that are known in the trace.",
                          "pass edges as an array: 'np.linspace(low, high, n + 1)'.")  # fmt: skip
    ends: Any = tuple(trace.guards.value(end) for end in limits if end is not None) or None
    count = None
    if isinstance(bins, list | tuple) or np.ndim(bins):
        given = of_list(trace, bins)
        if given.ndim != 1:
            raise wrong_value("'histogram' takes edges of one dimension.")
        operands.append(given)
        edges, extent = given, applied(operator.sub, given.extents[0], constant(1))
    else:
        count = operator.index(bins)
        kind = np.histogram_bin_edges(np.zeros(2, array.dtype), 1, ends).dtype
        extent = constant(count)
        edges = called("histogram", operands, _lengths(count + 1), kind, bins=count, part=1,
                       ends=ends)  # fmt: skip
    dtype = np.dtype(np.int64)
    if weights is not None:
        given = _ravel(as_array(trace, weights))
        _check_inner("histogram", array, array.extents[0], given.extents[0])
        operands.append(given)
        dtype = given.dtype
    counts: Any = called("histogram", operands, (extent,), dtype, bins=count, part=0,
                         ends=ends)  # fmt: skip
    if density:
        counts = counts / np.diff(edges).astype(np.float64) / np.sum(counts)
    return counts, edges


def _lengths(count: int) -> Shape:
    return (constant(count),)


# -- running totals --------------------------------------------------------------------------------


def _running(name: str, function: np.ufunc) -> Any:
    def run(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        array = array_of(a)
        if axis is None:
            array, axis = (_ravel(array) if array.ndim != 1 else array), 0
        kind = getattr(np, name)(np.zeros(1, array.dtype)).dtype if dtype is None else dtype
        return accumulate(function, array, axis, kind, out)

    return run


def accumulate(
    function: np.ufunc, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """``function.accumulate``: running totals along an axis."""
    array = array_of(a)
    if not array.ndim:
        raise wrong_type("Running totals are of arrays with dimensions.")
    at = array.axis(axis)
    if function not in _ACCUMULATED:
        raise unsupported(
            f"'np.{function.__name__}.accumulate' is not fused.",
            "write a loop in a kernel: 'kerneltk.vectorize(signature=\"(n)->(n)\")'.",
        )
    kind = np.dtype(dtype)
    if dtype is None:
        kind = function.accumulate(np.zeros(1, array.dtype)).dtype
    made = called("accumulate", [_cast(array, kind)], array.extents, kind,
                  ufunc=function.__name__, axis=at)  # fmt: skip
    if isinstance(out, tuple):
        (out,) = out
    return _result(made, out)


def _sorted(name: str) -> Any:
    def run(
        a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> Any:
        array = array_of(a)
        is_stable = stable or kind in ("stable", "mergesort")
        if order is not None or not (is_stable or kind in (None, "quicksort")):
            raise unsupported(f"'{name}' with this 'kind=' or 'order=' is not fused.",
                              "leave it out, or write 'kind=\"stable\"'.")  # fmt: skip
        if axis is None:
            array, axis = _ravel(array), 0
        if not array.ndim:
            raise wrong_value(f"'{name}' takes arrays with dimensions.")
        dtype = array.dtype if name == "sort" else np.dtype(np.intp)
        options = {"kind": "stable"} if is_stable else {}
        return called(name, [array], array.extents, dtype, axis=array.axis(axis),
                      **options)  # fmt: skip

    return run


def _parted(name: str) -> Any:
    def run(a: Any, kth: Any, axis: Any = -1) -> Any:
        array = array_of(a)
        if axis is None:
            array, axis = _ravel(array), 0
        dtype = array.dtype if name == "partition" else np.dtype(np.intp)
        at = tuple(map(int, kth)) if isinstance(kth, tuple | list) else int(kth)
        return called(name, [array], array.extents, dtype, kth=at,
                      axis=array.axis(axis))  # fmt: skip

    return run


_ACCUMULATED = (np.add, np.multiply, np.maximum, np.minimum)
PRODUCTS: dict[str, Any] = {
    "matmul": matmul, "dot": _dot, "inner": _inner, "vdot": _vdot, "einsum": _einsum,
    "average": _average, "cov": _cov,
    "cumsum": _running("cumsum", np.add), "cumprod": _running("cumprod", np.multiply),
    "histogram": _histogram, "sort": _sorted("sort"), "argsort": _sorted("argsort"),
    "partition": _parted("partition"), "argpartition": _parted("argpartition"),
    "linalg.norm": _norm, "linalg.solve": _solve, "linalg.matmul": matmul,
    **{f"linalg.{name}": _of_matrix(f"linalg.{name}") for name in _OF_A_MATRIX},
    "unravel_index": _unravel_index,
    **{f"fft.{name}": _fourier(name) for name in _TRANSFORMS},
    "fft.fftshift": lambda x, axes=None: _shifted(x, axes, 1),
    "fft.ifftshift": lambda x, axes=None: _shifted(x, axes, -1),
}  # fmt: skip
PRODUCT_METHODS: dict[str, Any] = {
    "dot": _dot, "cumsum": PRODUCTS["cumsum"], "cumprod": PRODUCTS["cumprod"],
    "argsort": PRODUCTS["argsort"],
}  # fmt: skip
