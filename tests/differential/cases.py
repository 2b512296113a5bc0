"""The case table of ElementwiseKernel: arguments, and what NumPy makes of them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from kerneltk import ElementwiseKernel

from .support import (
    BFLOAT16,
    COMPLEX,
    DTYPES,
    FLOATS,
    INTEGERS,
    LAYOUTS,
    TOLERANCE,
    Array,
    Case,
    backwards,
    c_order,
    f_order,
    grid,
    misaligned,
    pitched,
    place,
    values,
)

F32, F64, I32, I64 = (np.dtype(name) for name in ("f4", "f8", "i4", "i8"))

AXPB = ElementwiseKernel("T x, T a, T b", "T y", "y = a * x + b", "axpb")
TWICE = ElementwiseKernel("T x", "T y", "y = x + x", "twice")
DIFFERENCE = ElementwiseKernel("T x, T w", "T y", "y = x - w", "difference")
SUM3 = ElementwiseKernel("T x, T w, T v", "T y", "y = x + w + v", "sum3")
ADD_TO = ElementwiseKernel("T x", "T y", "y += x", "add_to")
WITH_INDEX = ElementwiseKernel("T x", "T y", "y = x * n + i", "with_index")


def _wrapped(x: Array, *others: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(x.dtype.type(others[0]) * x + x.dtype.type(others[1])).astype(x.dtype)


def dtype_cases() -> Iterator[Case]:
    """Every dtype, on dense arrays and at odd addresses."""
    for dtype in DTYPES:
        a, b = (1, 0) if dtype.kind == "b" else (2, 1)

        def expected(x: Array, a: int, b: int) -> Array:
            return _wrapped(x, np.array(a), np.array(b))

        yield Case(f"axpb-{dtype}", AXPB,
            lambda d=dtype, a=a, b=b: (values(d, 1003), a, b), expected)  # fmt: skip
        yield Case(f"add-to-transposed-{dtype}", ADD_TO,
            lambda d=dtype: (values(d, (35, 33)).T, c_order(values(d, (33, 35), 1))),
            lambda x, y: (x + y).astype(x.dtype))  # fmt: skip
    for offset in (1, 2, 4, 8, 12):
        yield Case(f"only-output-misaligned-{offset}", TWICE,
            lambda o=offset: (c_order(values(F32, 301)), misaligned(values(F32, 301, 1), o)),
            lambda x, y: x + x)  # fmt: skip


# At random: kernels, what NumPy makes of them, and their dtypes.
RANDOM: tuple[tuple[ElementwiseKernel, Callable[..., Any], Sequence[Any]], ...] = (
    (TWICE, lambda x, y: x + x, DTYPES), (ADD_TO, lambda x, y: y + x, DTYPES),
    (DIFFERENCE, lambda x, w, y: x - w, DTYPES[1:]), (SUM3, lambda x, w, v, y: x + w + v, (F32,)),
    (WITH_INDEX, lambda x, y: x * y.size + np.arange(y.size).reshape(y.shape), (I64,)),
)  # fmt: skip


def random_case(name: str, pick: random.Random) -> Case:
    """Return a case with any shape, dtype, layouts and broadcast inputs."""
    kernel, expected, dtypes = pick.choice(RANDOM)
    dtype = pick.choice(dtypes)
    ndim = pick.choice((0, 1, 2, 2, 2, 3, 3, 3, 4, 6, 8))
    shape = [pick.choice((1, 2, 3, 5, 8, 16, 33, 41)) for _ in range(ndim)]
    if ndim and pick.random() < 0.3:
        shape[pick.randrange(ndim)] = pick.choice((300, 1003, 4096))
    while math.prod(shape) > 80_000:
        shape[shape.index(max(shape))] //= 2
    is_given, made = pick.random() < 0.5 or kernel is ADD_TO, []
    for seed in range(kernel.nin + is_given):
        extents = shape
        if 0 < seed < kernel.nin:
            extents = [n if pick.random() < 0.6 else 1 for n in shape][pick.randint(0, ndim) :]
        order = pick.choice((list(range(ndim)), pick.sample(range(ndim), ndim)))
        axes = np.argsort(order) if len(extents) == ndim else range(len(extents))
        layout = pick.choice([*LAYOUTS.values(), partial(misaligned, offset=pick.randint(1, 15))])
        made.append((layout, extents, axes, seed))

    def make() -> tuple[Array, ...]:
        return tuple(
            layout(values(dtype, [extents[k] for k in np.argsort(axes)], seed)).transpose(axes)
            for layout, extents, axes, seed in made
        )

    def wanted(*arguments: Array) -> Array:
        y = arguments[-1] if is_given else np.empty(shape)
        inputs = np.broadcast_arrays(*arguments[: kernel.nin], y)[: kernel.nin]
        return np.asarray(expected(*inputs, y)).astype(dtype)

    return Case(name, kernel, make, wanted)


def random_cases() -> Iterator[Case]:
    for seed in range(400):
        yield random_case(f"random-{seed}", random.Random(seed))


def allocation_cases() -> Iterator[Case]:
    """Outputs that are allocated: order and shape."""
    for shape in ((0,), (0, 3), (3, 0, 2), (1, 0)):
        yield Case(f"empty-{shape}", DIFFERENCE,
            lambda s=shape: (values(F32, s), values(F32, 1)),
            lambda x, w: x - w)  # fmt: skip
    yield Case("0-d", DIFFERENCE, lambda: (np.array(5.0), np.array(3.0)), lambda x, w: x - w)
    yield Case("0-d-and-number", AXPB, lambda: (np.array(5, F32), 2, 1), lambda x, a, b: x * 2 + 1)


def broadcast_cases() -> Iterator[Case]:
    yield Case("broadcast-to-output", TWICE,
        lambda: (values(F32, (3, 1)), pitched(values(F32, (4, 3, 5)))),
        lambda x, y: np.broadcast_to(x + x, y.shape))  # fmt: skip
    yield Case("zero-strides", SUM3,
        lambda: (np.broadcast_to(values(F32, 5), (4, 5)),
                 np.broadcast_to(values(F32, (4, 1)), (4, 5)),
                 np.broadcast_to(values(F32, ()), (4, 5)), c_order(values(F32, (4, 5)))),
        lambda x, w, v, y: x + w + v)  # fmt: skip


def _shared(make: Callable[[Array], tuple[Array, ...]], dtype: Any, size: int) -> Any:
    return lambda: make(place(values(dtype, size), [np.dtype(dtype).itemsize]))


def overlap_cases() -> Iterator[Case]:
    """An output that shares memory with inputs: as if every input had been read before."""
    for dtype in (np.dtype("u1"), F32, F64):
        for size in (50, 70_001):  # the larger one is divided among threads
            name = f"{dtype}-{size}"
            views: dict[str, Callable[[Array], tuple[Array, ...]]] = {
                "itself": lambda m: (m, m),
                "shifted-up": lambda m: (m[:-1], m[1:]),
                "shifted-down": lambda m: (m[1:], m[:-1]),
                "shifted-far": lambda m: (m[: -len(m) // 3], m[len(m) - len(m[: -len(m) // 3]) :]),
                "reversed": lambda m: (m[::-1], m),
                "reversed-output": lambda m: (m, m[::-1]),
                "interleaved": lambda m: (m[: len(m) // 2 * 2 : 2], m[1::2][: len(m) // 2]),
                "first-to-all": lambda m: (m[:1], m),
                "middle-to-all": lambda m: (m[len(m) // 2 : len(m) // 2 + 1], m),
            }
            for label, view in views.items():
                yield Case(f"overlap-{label}-{name}", TWICE, _shared(view, dtype, size),
                    lambda x, y: np.broadcast_to(x + x, y.shape))  # fmt: skip
            yield Case(f"overlap-neighbours-{name}", SUM3,
                _shared(lambda m: (m[:-2], m[1:-1], m[2:], m[1:-1]), dtype, size),
                lambda x, w, v, y: x + w + v)  # fmt: skip
    for size in (12, 210):
        for label, view in {
            "transposed": lambda m: (m.T, m),
            "transposed-output": lambda m: (m, m.T),
            "flipped": lambda m: (m[::-1, ::-1], m),
            "window": lambda m: (m[1:, 1:], m[:-1, :-1]),
            "window-transposed": lambda m: (m[2:, :-2].T, m[:-2, 2:]),
            "row-to-all": lambda m: (m[3], m),
            "column-to-row": lambda m: (m[:, 2], m[4]),
        }.items():
            yield Case(f"overlap-2d-{label}-{size}", TWICE,
                lambda v=view, s=size: v(c_order(values(F32, (s, s)))),
                lambda x, y: np.broadcast_to(x + x, y.shape))  # fmt: skip
    to_int = ElementwiseKernel("T x", "int32 y", "y = (int)x", "to_int")
    # Pairs of these float32 numbers, read as float64, fit an int32 too.
    for label, cast in {
        "same-size": lambda m: (m, m.view(I32)),
        "narrower": lambda m: (m.view(F64), m.view(I32)[: m.size // 2]),
        "shifted": lambda m: (m[:-1], m.view(I32)[1:]),
    }.items():
        yield Case(f"overlap-reinterpreted-{label}", to_int, _shared(cast, F32, 1024),
            lambda x, y: x.astype(np.int32))  # fmt: skip


def mixed_cases() -> Iterator[Case]:
    """Several dtypes in one kernel."""
    convert = {
        ("i1", "f4"): "y = x * 2.0f", ("i1", "f8"): "y = x * 2.0", ("u1", "i8"): "y = x * 2",
        ("f8", "f4"): "y = x * 2", ("f4", "f2"): "y = x * 2", ("i4", "bool"): "y = x * 2",
        ("bool", "i8"): "y = x * 2", ("f4", "c8"): "y = x * 2", ("f2", "f8"): "y = x * 2",
        ("u4", "u1"): "y = x * 2", ("i8", "i2"): "y = x * 2",
    }  # fmt: skip
    for (source, target), operation in convert.items():
        kernel = ElementwiseKernel(f"{np.dtype(source)} x", f"{np.dtype(target)} y", operation)
        for layout in ("c", "sliced"):
            yield Case(f"convert-{source}-{target}-{layout}", kernel,
                lambda s=source, t=target, a=layout: (LAYOUTS[a](values(s, 261)),
                                                      LAYOUTS[a](values(t, 261))),
                lambda x, y: (x.astype(np.result_type(x, np.int64) if x.dtype.kind in "iub"
                                       else x.dtype) * 2).astype(y.dtype))  # fmt: skip
    where = ElementwiseKernel("bool c, A x, B w", "C y", "y = c ? x : (C)w", "pick")
    yield Case("mixed-four", where,
        lambda: (values("bool", (5, 1)), values("f4", (5, 33)), values("i2", 33),
                 c_order(values("f8", (5, 33)))),
        lambda c, x, w, y: np.asarray(np.where(c, x, w), y.dtype))  # fmt: skip
    yield Case("bfloat16-times-float",
        ElementwiseKernel("T x, float32 w", "float32 y", "y = (float)x * w"),
        lambda: (values(BFLOAT16, 77), values(F32, 77)),
        lambda x, w: x.astype(np.float32) * w)  # fmt: skip


def raw_cases() -> Iterator[Case]:
    gather = ElementwiseKernel("raw T x, int32 k", "T y", "y = x[k]", "gather")
    stencil = ElementwiseKernel(
        "raw T x, int32 rows, int32 columns", "T y",
        """
        int r = i / columns, c = i % columns;
        int up[] = {r ? r - 1 : 0, c};
        ptrdiff_t down[2] = {r + 1 < rows ? r + 1 : r, c};
        y = x[up] + x[down] - x[{r, c}];
        """,
        "stencil",
    )  # fmt: skip
    scatter = ElementwiseKernel("T x, int32 k", "raw T y", "y[k] = x", "scatter")
    permutation = (np.arange(60, dtype=np.int32) * 7) % 60
    for layout in LAYOUTS:
        if layout == "misaligned":
            continue
        yield Case(f"gather-{layout}", gather,
            lambda a=layout: (LAYOUTS[a](values(F32, (3, 4, 5))), permutation),
            lambda x, k: x.reshape(-1)[k])  # fmt: skip
        yield Case(f"stencil-{layout}", stencil,
            lambda a=layout: (LAYOUTS[a](values(F64, (7, 9))), 7, 9, c_order(values(F64, 63))),
            lambda x, r, c, y: (
                x[np.maximum(np.arange(7) - 1, 0)] + x[np.minimum(np.arange(7) + 1, 6)] - x
            ).reshape(-1))  # fmt: skip
        yield Case(f"scatter-{layout}", scatter,
            lambda a=layout: (values(F32, 60), permutation, LAYOUTS[a](values(F32, (3, 4, 5), 1))),
            lambda x, k, y: x[np.argsort(k)].reshape(y.shape))  # fmt: skip
    yield Case(
        "raw-0-d", ElementwiseKernel("raw T x, T w", "T y", "y = x[0] + w + x.size()", "zero"),
        lambda: (np.array(4.0), values(F64, 9)), lambda x, w: x + w + 1,
    )  # fmt: skip
    yield Case("raw-only-output",
        ElementwiseKernel("", "raw int64 y", "y[n - 1 - i] = i", "count"),
        lambda: (backwards(values(I64, 40)),),
        lambda y: np.arange(40)[::-1].copy(), size=40)  # fmt: skip
    yield Case("size-allocates",
        ElementwiseKernel("int32 k", "int64 y, float32 z", "y = i * k; z = n", "allocate"),
        lambda: (3,),
        lambda k: (np.arange(17) * 3, np.full(17, 17, np.float32)), size=17)  # fmt: skip
    yield Case("size-zero", ElementwiseKernel("raw T x", "T y", "y = x[i]", "nothing"),
        lambda: (values(F32, 5),),
        lambda x: np.empty(0, np.float32), size=0)  # fmt: skip


ALIGNED = np.dtype([("flag", "i1"), ("weight", "f4"), ("id", "u8")], align=True)
PACKED = np.dtype([("flag", "i1"), ("weight", "f4"), ("id", "u8")])
NESTED = np.dtype([("head", ALIGNED), ("tail", "f8", (2, 3))], align=True)


def records(dtype: np.dtype[Any], count: int) -> Array:
    found = np.zeros(count, dtype)
    for name in dtype.names or ():
        part = found[name]
        if part.dtype.names is not None:
            for inner in part.dtype.names:
                part[inner] = values(part[inner].dtype, part[inner].shape)
        elif part.dtype.kind == "S":
            part[...] = np.resize(np.array([b"ab", b"c", b""], part.dtype), part.shape)
        else:
            part[...] = values(part.dtype, part.shape)
    return found


def _numbered(p: Array) -> Array:
    first, second, third = p.dtype.names[:3]
    result = p.copy()
    result[first] += len(p.dtype.names)
    result[second] = p[second] + p[third]
    return result


def structure_cases() -> Iterator[Case]:
    raw = ElementwiseKernel(
        "raw P p, float32 a", "float32 y", "const P q = p[i]; y = a * q.weight + q.flag", "weights"
    )
    ordinary = ElementwiseKernel("P p", "float64 y", "y = p.weight + (double)p.id", "field")
    assign = ElementwiseKernel("P p, float32 a", "P q", "q = p; q.weight = a; q.id += 1", "assign")
    for name, dtype in {"aligned": ALIGNED, "packed": PACKED}.items():
        for count in (1, 100):
            yield Case(f"raw-{name}-{count}", raw,
                lambda d=dtype, c=count: (records(d, c), 2.0),
                lambda p, a: (a * p["weight"] + p["flag"]).astype(np.float32), size=count
            )  # fmt: skip
        yield Case(f"record-{name}", ordinary,
            lambda d=dtype: (records(d, 41),),
            lambda p: p["weight"] + p["id"].astype(np.float64))  # fmt: skip

        def assigned(p: Array, a: float, q: Array) -> Array:
            result = p.copy()
            result["weight"] = a
            result["id"] += 1
            return result

        for layout in ("c", "stepped", "misaligned"):
            yield Case(f"record-{name}-to-{layout}", assign,
                lambda d=dtype, a=layout: (records(d, 37), 0.5, LAYOUTS[a](records(d, 37))),
                assigned)  # fmt: skip
    yield Case("record-numbered",
        ElementwiseKernel(
            "P p",
            "P q",
            "q = p; q.at<0>() += P::field_count; q.at<1>() = p.at<1>() + p.at<2>()",
            "numbered",
        ),
        lambda: (records(ALIGNED, 23),), _numbered)  # fmt: skip
    yield Case("record-nested",
        ElementwiseKernel("P p", "float64 y", "y = p.head.weight + p.tail[1][2]", "nested"),
        lambda: (records(NESTED, 29),),
        lambda p: p["head"]["weight"] + p["tail"][:, 1, 2])  # fmt: skip


def body_cases() -> Iterator[Case]:
    """What an operation may be."""

    def arguments() -> tuple[Array, Array]:
        return values(F32, (7, 33)), c_order(values(F32, (7, 33), 5))

    bodies: dict[str, tuple[str, Callable[..., Any]]] = {
        "add-to": ("y += x", lambda x, y: x + y),
        "conditional": ("if (x > 0) y = x;", lambda x, y: np.where(x > 0, x, y)),
        "nothing": ("", lambda x, y: y),
        "continue": ("if (x < 0) continue; y = x;", lambda x, y: np.where(x < 0, y, x)),
        "return": ("if (x < 0) return; y = x;", lambda x, y: np.where(x < 0, y, x)),
        "break": ("y = 1; if (x < 0) break; y = x;", lambda x, y: np.where(x < 0, 1, x)),
        "loop": (
            "for (int k = 0; k < 3; ++k) { if (k == 1) continue; y += x; }",
            lambda x, y: y + x + x,
        ),
        "continued": ("y = x \\", lambda x, y: x),
        "comment": ("y = x // i, &x, atomicAdd", lambda x, y: x),
        "lines": ("const T t = x;\n\ny = t\n  + t;\n", lambda x, y: x + x),
        "lambda": ("auto f = [&](T v) { return v + 1; }; y = f(x)", lambda x, y: x + 1),
        "separators": ("y = x + 1'000 + i * 2'0", lambda x, y: x + 1000
                       + 20 * np.arange(x.size).reshape(x.shape)),
        "char": ("y = x + 'a'", lambda x, y: x + 97),
        "pointer": ("const T* p = &x; y = *p + 1", lambda x, y: x + 1),
        "sincos": ("T s, c; sincosf(x, &s, &c); y = s * s + c * c", lambda x, y: np.ones_like(x)),
        "index": ("y = i", lambda x, y: np.arange(x.size).reshape(x.shape)),
        "count": ("y = n", lambda x, y: np.full_like(x, x.size)),
        "macro": ("y = F(x)", lambda x, y: x * 2 + np.arange(x.size).reshape(x.shape)),
        "preamble": ("y = twice(x) + Box<T>::one()", lambda x, y: x * 2 + 1),
    }  # fmt: skip
    preambles = {
        "macro": "#define F(v) ((v) * 2 + i)",
        "preamble": "template <class U> struct Box { __device__ static U one() { return 1; } };\n"
        "__device__ T twice(T v) { return v + v; }",
    }
    for name, (operation, expected) in bodies.items():
        kernel = ElementwiseKernel(
            "T x", "T y", operation, f"body_{name.replace('-', '_')}",
            preamble=preambles.get(name, ""),
        )  # fmt: skip

        def wanted(x: Array, y: Array, f: Callable[..., Any] = expected) -> Array:
            return np.asarray(f(x, y)).astype(np.float32)

        yield Case(f"body-{name}", kernel, arguments, wanted,
            tolerance=1e-6 if name == "sincos" else None)  # fmt: skip
    atomic = ElementwiseKernel("T x, int32 k", "raw T y", "atomicAdd(&y[k], x)", "atomic")
    for layout in LAYOUTS:
        yield Case(f"atomic-{layout}", atomic,
            lambda a=layout: (LAYOUTS[a](values(F32, (20, 36))), values(I32, (20, 36)) % 3,
                              c_order(values(F32, 3))),
            lambda x, k, y: y + [x[k == place].sum() for place in range(3)])  # fmt: skip
    yield Case("atomic-to-one-element",
        ElementwiseKernel("T x", "T y", "atomicAdd(&y, x)", "total"),
        lambda: (values(I32, 1000), place(np.full(1000, 5, np.int32), [0])),
        lambda x, y: np.full(1000, 5 + x.sum(), np.int32))  # fmt: skip
    yield Case("loop-prep",
        ElementwiseKernel(
            "T x, T a", "T y", "y = x * b + n", "prepared", loop_prep="const T b = a * 2;",
            after_loop="(void)b;",
        ),
        lambda: (values(F32, (3, 50)), 3),
        lambda x, a: x * 6 + x.size)  # fmt: skip
    yield Case("own-n",
        ElementwiseKernel("T x, int32 n", "T y", "y = x + n", "own_n"),
        lambda: (values(F32, 50), 3),
        lambda x, n: x + 3)  # fmt: skip


def _coordinates(x: Array) -> Array:
    places = np.indices(x.shape).reshape(x.ndim, -1)
    weights = 10 ** np.arange(x.ndim)[::-1]
    return (weights @ places).reshape(x.shape).astype(np.int64)


def index_cases() -> Iterator[Case]:
    operation = """
        y = 0;
        for (int d = 0; d < _ind.ndim; ++d) y = y * 10 + _ind.get()[d];
        y += x * 0 + _ind.size() - n;
    """
    whole = ElementwiseKernel("T x", "int64 y", operation, "coordinates", False)
    merged = ElementwiseKernel(
        "T x", "int64 y", operation + " y += _ind.ndim * 1000000;", "merged", True
    )
    for name in ("c", "f", "rotated", "pitched", "backwards"):
        yield Case(f"coordinates-{name}", whole,
            lambda n=name: (LAYOUTS[n](values(F32, (4, 6, 5))),), _coordinates)  # fmt: skip
        yield Case(f"coordinates-tiled-{name}", whole,
            lambda n=name: (LAYOUTS[n](values(F32, (9, 40, 8))), c_order(values(I64, (9, 40, 8)))),
            lambda x, y: (
                np.add.outer(np.arange(9) * 100, np.arange(40) * 10)[..., None] + np.arange(8)
            ))  # fmt: skip
    yield Case("coordinates-broadcast", whole,
        lambda: (values(F32, (4, 1)), c_order(values(I64, (3, 4, 5)))),
        lambda x, y: _coordinates(y))  # fmt: skip
    yield Case("coordinates-0-d", whole, lambda: (np.array(3.0),), lambda x: np.zeros((), np.int64))
    yield Case("merged-c", merged,
        lambda: (c_order(values(F32, (4, 6))),),
        lambda x: (np.arange(24) + 1_000_000).reshape(4, 6))  # fmt: skip
    yield Case("merged-f", merged,
        lambda: (f_order(values(F32, (4, 6))), c_order(values(I64, (4, 6)))),
        lambda x, y: _coordinates(x) + 2_000_000)  # fmt: skip


def result_cases() -> Iterator[Case]:
    two = ElementwiseKernel("T x", "T y, int32 z", "y = x + 1; z = i", "two")
    yield Case("two-outputs", two,
        lambda: (values(F32, (3, 5)),),
        lambda x: (x + 1, np.arange(15, dtype=np.int32).reshape(3, 5)))  # fmt: skip
    yield Case("two-outputs-given", two,
        lambda: (values(F32, (3, 33)), f_order(values(F32, (3, 33), 1)),
                 backwards(values(I32, (3, 33)))),
        lambda x, y, z: (x + 1, np.arange(99, dtype=np.int32).reshape(3, 33)))  # fmt: skip
    yield Case("no-return",
        ElementwiseKernel("T x", "T y", "y = x", "silent", no_return=True),
        lambda: (values(F32, 9), c_order(values(F32, 9, 3))),
        lambda x, y: x)  # fmt: skip
    yield Case("tuple",
        ElementwiseKernel("T x", "T y", "y = x", "one_tuple", return_tuple=True),
        lambda: (values(F32, 9),),
        lambda x: x)  # fmt: skip


def number_cases() -> Iterator[Case]:
    """Special values, wrap-around, division, conversions of numbers."""
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5, -2.25, 65504.0], np.float64)
    for dtype in FLOATS:
        yield Case(f"special-{dtype}", AXPB,
            lambda d=dtype: (special.astype(d), -1, 0),
            lambda x, a, b: (-x + x.dtype.type(0)).astype(x.dtype))  # fmt: skip
        yield Case(f"classes-{dtype}",
            ElementwiseKernel(
                "T x", "int32 y", "y = isnan(x) + 2 * isinf(x) + 4 * (x == x) + 8 * (x < 0)"
            ),
            lambda d=dtype: (special.astype(d),),
            lambda x: (
                np.isnan(x) + 2 * np.isinf(x) + 4 * ~np.isnan(x) + 8 * (x.astype(np.float64) < 0)
            ).astype(np.int32))  # fmt: skip
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        edges = [info.min, info.max, 0, 1, info.max // 2 + 1]

        def wrapped(x: Array) -> Array:
            unsigned = x.astype(f"u{x.itemsize}")
            return np.asarray(unsigned * unsigned.dtype.type(3)).astype(x.dtype)

        yield Case(f"wraps-{dtype}",
            ElementwiseKernel("T x", "T y", "y = (T)(x * 3ull)", "wraps"),
            lambda d=dtype, e=edges: (np.array(e * 9, d),), wrapped)  # fmt: skip
        yield Case(f"divides-{dtype}",
            ElementwiseKernel("T x, T w", "T y, T z", "y = x / w; z = x % w", "divides"),
            lambda d=dtype: (values(d, 90),
                             np.where(values(d, 90, 2) == 0, 3, values(d, 90, 2)) .astype(d)),
            lambda x, w: (np.trunc(x / w.astype(np.float64)).astype(x.dtype),
                          np.fmod(x, w).astype(x.dtype)))  # fmt: skip
        yield Case(f"floor-divides-{dtype}",
            ElementwiseKernel("T x, T w", "T y", "y = _floor_divide(x, w)", "floor_divides"),
            lambda d=dtype: (values(d, 90),
                             np.where(values(d, 90, 2) == 0, 3, values(d, 90, 2)) .astype(d)),
            lambda x, w: x // w)  # fmt: skip
    scale = ElementwiseKernel("T x, T a", "T y", "y = x * a", "scale")
    numbers: list[tuple[Any, Any]] = [
        (F32, 3), (F32, 0.1), (F32, True), (F32, np.float64(0.1)), (F32, np.int8(3)),
        (F32, 1e300), (F32, np.float16(0.5)), (F32, BFLOAT16.type(2)), (I32, np.int64(7)),
        (I32, 2.0), (I32, np.float32(-3)), (I32, True), (np.dtype("i8"), np.bool_(True)),
        (np.dtype("u8"), 2**63), (np.dtype("i1"), -1), (np.dtype("f2"), 1e6),
        (BFLOAT16, 0.3), (np.dtype("c8"), 2), (np.dtype("c8"), 1 + 2j),
        (np.dtype("c16"), np.complex64(1 - 1j)), (np.dtype("c16"), 0.25), (np.dtype("?"), 1),
    ]  # fmt: skip
    for dtype, number in numbers:

        def scaled(x: Array, a: Any) -> Array:
            with np.errstate(over="ignore", invalid="ignore"):
                return np.asarray(x * np.asarray(a).astype(x.dtype), x.dtype)

        yield Case(f"number-{dtype}-{type(number).__name__}-{number}", scale,
            lambda d=dtype, a=number: (values(d, 40), a), scaled)  # fmt: skip


def complex_cases() -> Iterator[Case]:
    for dtype in COMPLEX:
        limit = 8 * TOLERANCE[dtype]
        for function in ("exp", "sqrt", "sin", "conj", "tanh"):
            yield Case(f"{function}-{dtype}",
                ElementwiseKernel("T x", "T y", f"y = {function}(x)", f"c_{function}"),
                lambda d=dtype: ((values(d, 60) / d.type(7)).astype(d),),
                lambda x, f=function: getattr(np, f)(x), tolerance=limit)  # fmt: skip
        order = "y = (x < w) + 2 * (x <= w) + 4 * (x > w) + 8 * (x >= w)"
        grid = [complex(a, b) for a in (1, 2, np.nan) for b in (1, 2, np.nan)]
        yield Case(f"order-{dtype}", ElementwiseKernel("T x, T w", "int64 y", order, "c_order"),
            lambda d=dtype, grid=grid: (np.array(grid, d), np.array(grid, d)[:, None]),
            np.errstate(invalid="ignore")(
                lambda x, w: (x < w) + 2 * (x <= w) + 4 * (x > w) + 8 * (x >= w)
            ))  # fmt: skip
        yield Case(f"extremes-{dtype}",
            ElementwiseKernel("T x, T w", "T y, T z", "y = min(x, w); z = max(x, w)", "extremes"),
            lambda d=dtype, grid=grid: (np.array(grid, d), np.array(grid, d)[:, None]),
            lambda x, w: (np.minimum(x, w), np.maximum(x, w)), tolerance=0.0)  # fmt: skip
        yield Case(f"interleaved-{dtype}", DIFFERENCE,
            lambda d=dtype: (misaligned(values(d, 77), d.itemsize // 2),
                             backwards(values(d, 77, 1)), pitched(values(d, (3, 77)))),
            lambda x, w, y: np.broadcast_to(x - w, y.shape))  # fmt: skip


def signature_cases() -> Iterator[Case]:
    yield Case("keywords",
        ElementwiseKernel("T x, T a = 2, float32 b = 0.5", "T y", "y = a * x + b", "keywords"),
        lambda: (values(F32, 20),),
        lambda x: 5 * x + 0.5, options={"a": 5})  # fmt: skip
    yield Case("defaults",
        ElementwiseKernel(
            "T x, T a = 2, complex64 b = 1+2j, bool c = True", "T y", "y = a * x + b.imag() * c"
        ),
        lambda: (values(F32, 20),),
        lambda x: 2 * x + 2)  # fmt: skip
    yield Case("block-size", TWICE,
        lambda: (values(F32, (40, 41)).T,),
        lambda x: x + x, options={"block_size": 128})  # fmt: skip


def order_cases() -> Iterator[Case]:
    """Inputs along short dimensions or several ones; small elements of rows at odd addresses."""
    orders = [(2, 1, 0), (1, 0, 2), (0, 1, 2)]
    for shape, dtype in grid(((7, 90, 16), (10, 11, 40), (70, 33, 17)), ("i1", "f4")):
        yield Case(f"orders-{shape}-{dtype}", DIFFERENCE,
            lambda s=shape, d=dtype: tuple(
                values(d, [s[k] for k in order], number).transpose(np.argsort(order))
                for number, order in enumerate(orders)
            ),
            lambda x, w, y: x - w)  # fmt: skip
    rows: dict[str, Callable[[Array], Array]] = {
        "cut": lambda m: m[:, 3:147], "reversed": lambda m: m[:, 143::-1],
        "halved": lambda m: m[:, 1:289:2], "both": lambda m: m[:, 288:0:-2],
        "odd": lambda m: m.ravel()[5 : 5 + 90 * 144].reshape(90, 144),
    }  # fmt: skip
    for name, dtype in grid(rows, ("i1", "f2")):
        yield Case(f"small-{name}-{dtype}", TWICE,
            lambda n=name, d=dtype: (rows[n](values(d, (90, 293))),),
            lambda x: x + x)  # fmt: skip


CASES: tuple[Case, ...] = tuple(
    case
    for group in (
        dtype_cases, random_cases, allocation_cases, broadcast_cases, overlap_cases, mixed_cases,
        raw_cases, structure_cases, body_cases, index_cases, result_cases, number_cases,
        complex_cases, signature_cases, order_cases,
    )
    for case in group()
)  # fmt: skip
