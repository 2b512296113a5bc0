"""The shortcut of a fused function serves calls like the last one, and leaves the others alone."""

from __future__ import annotations

import ctypes
import dataclasses
import fractions
import tracemalloc
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import ArgumentValueError
from kerneltk.fusion.programs import Programs
from kerneltk.launch import shortcuts

X = np.arange(6, dtype=np.float32)


def test_calls_like_the_last_one_go_the_short_way() -> None:
    fused = kerneltk.fuse(lambda x, a: a * x + 1)
    first = fused._shortcut
    fused(X, 2.0)
    short = fused._shortcut
    assert short is not first
    for x, a in ((X, 3.0), (X[:4], 0.5), (X[::2], -1.0)):
        assert fused(x, a).tolist() == (np.float32(a) * x + 1).tolist()
    assert fused._shortcut is short


@pytest.mark.parametrize(
    "other",
    [X.astype(np.int64), X.reshape(2, 3), np.float32(3), X.astype(">f4"), X[:0], 2.5],
    ids=["dtype", "dimensions", "scalar", "byte order", "empty", "number"],
)
def test_other_calls_are_what_they_are_without_it(other: Any) -> None:
    def program(x: Any) -> Any:
        return x * 2 + 1

    fused = kerneltk.fuse(program)
    fused(X)
    try:
        expected: Any = kerneltk.fuse(program)(other)
    except kerneltk.KernelToolkitError as error:
        with pytest.raises(type(error)):
            fused(other)
        return
    for _ in range(2):
        found = fused(other)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        assert np.asarray(found).tolist() == np.asarray(expected).tolist()


def test_calls_of_several_kernels_have_a_shortcut_for_their_shapes() -> None:
    def program(x: Any, a: Any) -> Any:
        return a * x - x.sum() + (x.shape[0] if x.ndim else 0)

    fused = kerneltk.fuse(program)
    first = fused._shortcut
    long = np.arange(1 << 15, dtype=np.float32)
    shorts = set()
    for x, a in (
        (long, 2.0),
        (long[::-1], 3.0),
        (long[:7], 2.0),
        (long, 4.0),
        (long[:7], np.float32(2)),
        (long[:7], np.float64(2)),
        (long.astype(np.float64), 2.0),
        (long[:7], 2),
        (long[:0], 2.0),
        (long[:8].reshape(2, 4), 1.0),
        (long[:8].reshape(4, 2).T, 1.0),
        (long[:8].reshape(2, 4), 2.0),
    ):
        for _ in range(3):
            found, expected = fused(x, a), program(x, a)
            assert found.dtype == expected.dtype
            assert found.strides == expected.strides
            np.testing.assert_allclose(found, expected, rtol=1e-6)
            shorts.add(fused._shortcut)
    assert len(shorts - {first}) > 5


def test_shortcuts_ask_what_the_trace_has_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x: Any) -> Any:
        return np.exp(x - x.max()) * abs(-2)

    fused = kerneltk.fuse(program)
    for _ in range(3):
        np.testing.assert_allclose(fused(X), program(X), rtol=1e-6)
    assert fused._shortcut is not kerneltk.fuse(program)._shortcut
    monkeypatch.setitem(globals(), "abs", lambda x: 7)
    np.testing.assert_allclose(fused(X), program(X), rtol=1e-6)
    program.__code__ = (lambda x: x * 5).__code__
    assert fused(X).tolist() == (5 * X).tolist()


def _stepped(u: Any, v: Any, rate: Any) -> Any:
    u[1:-1] += rate * (v[2:] + v[:-2])
    v *= 2
    return u.sum()


def test_calls_that_write_go_the_short_way() -> None:
    fused = kerneltk.fuse(_stepped)
    first = fused._shortcut
    for n in (6, 6, 9, 6, 9):
        u, v = (np.arange(n, dtype=np.float32) + k for k in range(2))
        own = u.copy(), v.copy()
        assert fused(u, v, 0.5) == _stepped(*own, np.float32(0.5))
        np.testing.assert_array_equal(u, own[0])
        np.testing.assert_array_equal(v, own[1])
    assert fused._shortcut is not first
    calls = []
    fused._call = lambda *given: calls.append(given)  # type: ignore[method-assign]
    for n in (6, 9):
        fused(np.ones(n, "f4"), np.ones(n, "f4"), 0.5)
    assert calls == []


def _both(x: Any, y: Any, z: Any) -> None:
    z[...] = x + 2 * y[::-1]


def test_calls_that_write_ask_which_arrays_overlap(backend: Any) -> None:
    fused = kerneltk.fuse(_both)
    whole = np.arange(40, dtype=np.float32)
    apart = (slice(0, 8), slice(8, 16), slice(16, 24))
    overlapping = [
        (slice(0, 8), slice(8, 16), slice(4, 12)),
        (slice(0, 8), slice(8, 16), slice(0, 8)),
        (slice(0, 8), slice(8, 16), slice(15, 23)),
        (slice(7, 15), slice(20, 28), slice(0, 8)),
    ]
    for parts in [apart, apart, *(p for o in overlapping for p in (o, apart))]:
        found, wanted = backend.asarray(whole), whole.copy()
        fused(*(found[part] for part in parts))
        _both(*(wanted[part] for part in parts))
        np.testing.assert_array_equal(backend.asnumpy(found), wanted, str(parts))
    assert fused._shortcut is not kerneltk.fuse(_both)._shortcut


def _added(x: Any, y: Any) -> None:
    x += y


def _counted(fused: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Which calls of a fused function look for their program, from now on."""
    calls: list[Any] = []
    programs = fused._known
    find = programs.call
    monkeypatch.setattr(programs, "call", lambda *given: (calls.append(given), find(*given))[1])
    return calls


STRIDED: list[Any] = [
    lambda a: a[:16:2],
    lambda a: a[15:7:-1],
    lambda a: a[:36].reshape(6, 6)[1:-1, 1:-1],
    lambda a: a[:20].reshape(4, 5).T,
    lambda a: a[:36].reshape(6, 6)[::-1, ::2],
]


@pytest.mark.parametrize("part", STRIDED, ids=["step", "reversed", "inner", "F", "steps"])
def test_calls_that_write_to_strided_arrays_go_the_short_way(
    part: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fused = kerneltk.fuse(_added)
    whole, other = np.arange(36, dtype=np.float32), np.ones(36, np.float32)
    wanted = whole.copy()
    fused(part(whole), part(other))
    _added(part(wanted), part(other))
    calls = _counted(fused, monkeypatch)
    for _ in range(2):
        fused(part(whole), part(other))
        _added(part(wanted), part(other))
        np.testing.assert_array_equal(whole, wanted)
    assert calls == []
    # Other steps are another layout, which may lie on itself.
    strides = [0] * part(whole).ndim
    once, like = (
        np.lib.stride_tricks.as_strided(a, part(a).shape, strides) for a in (whole, wanted)
    )
    fused(once, part(other))
    _added(like, part(other))
    np.testing.assert_array_equal(whole, wanted)
    assert calls


def test_calls_with_strided_arrays_go_the_short_way() -> None:
    fused = kerneltk.fuse(lambda x: x * 2)
    first = fused._shortcut
    whole = np.arange(36, dtype=np.float32).reshape(6, 6)
    for x in (whole[1:-1, 1:-1], whole[1:-1, 1:-1], whole[:4, :4].T, whole[:4, :4]):
        found = fused(x)
        assert found.strides == (x * 2).strides
        np.testing.assert_array_equal(found, x * 2)
        assert fused._shortcut is not first


def test_calls_with_strings_and_none_go_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x: Any, how: Any, mask: Any) -> None:
        x *= 2 if how == "twice" else 3
        if mask is not None:
            x += mask

    fused = kerneltk.fuse(program)
    x, mask = np.ones(5, "f4"), np.arange(5, dtype=np.float32)
    kinds: list[Any] = [("twice", None), ("else", None), ("twice", mask)]
    wanted = x.copy()
    for kind in kinds:
        fused(x, *kind)
        program(wanted, *kind)
    calls = _counted(fused, monkeypatch)
    for kind in [*kinds, *kinds]:
        fused(x, *kind)
        program(wanted, *kind)
        np.testing.assert_array_equal(x, wanted)
    assert calls == []


@dataclasses.dataclass(frozen=True)
class Options:
    rate: float
    name: str = dataclasses.field(default="", compare=False)


class Scale:
    def scaled(self, x: Any) -> Any:
        return x * 2


SCALE = Scale()
CONSTANTS: list[tuple[Any, Any]] = [
    (lambda: np.sin, np.cos),
    (lambda: np.dtype("f4"), np.dtype("f8")),
    (lambda: Options(0.5), Options(1.5)),
    (lambda: SCALE.scaled, Scale().scaled),
    (lambda: frozenset({1, 2}), frozenset({1, 2.0})),
    (lambda: range(4), range(5)),
    (lambda: (1, (2.0, "a")), (1, (2, "a"))),
    (lambda: fractions.Fraction(1, 2), fractions.Fraction(2, 1)),
]


@pytest.mark.parametrize("number", range(len(CONSTANTS)))
def test_calls_with_constants_search_no_program(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, other = CONSTANTS[number]
    fused = kerneltk.fuse(lambda x, constant: x * (1 + (repr(constant) == repr(make()))))
    for _ in range(2):
        assert fused(X, make()).tolist() == (2 * X).tolist()
        assert fused(X, other).tolist() == X.tolist()
    monkeypatch.setattr(Programs, "call", None)
    for _ in range(2):
        assert fused(X, make()).tolist() == (2 * X).tolist()
        assert fused(X, other).tolist() == X.tolist()


def test_a_tuple_is_the_same_object_where_blocks_were_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with kerneltk.fuse() as block:
        y = block(X) + 1
    assert np.asarray(y).tolist() == (X + 1).tolist()
    fused = kerneltk.fuse(lambda x, pair: x * pair[0])
    pair = (2, "a")
    fused(X, pair)
    fused._programs.by_shape.clear()
    monkeypatch.setattr(Programs, "call", None)  # nothing but the shortcut is left
    assert fused(X, pair).tolist() == (X * 2).tolist()


def test_calls_that_write_refuse_arrays_that_become_read_only() -> None:
    fused = kerneltk.fuse(_both)
    x, y, z = (np.ones(5, "f4") for _ in range(3))
    for _ in range(2):
        fused(x, y, z)
    z.flags.writeable = False
    with pytest.raises(ArgumentValueError, match=r"argument 3.*read-only"):
        fused(x, y, z)


def test_calls_that_write_ask_for_closed_over_arrays() -> None:
    table = np.arange(20, dtype=np.float32)

    def program(x: Any, z: Any) -> None:
        z[...] = x + table[:5][::-1]

    fused = kerneltk.fuse(program)
    x, z = np.ones(5, "f4"), np.zeros(5, "f4")
    for _ in range(2):
        fused(x, z)
        np.testing.assert_array_equal(z, 1 + np.arange(5)[::-1])
    fused(x, table[2:7])  # which it reads, too
    np.testing.assert_array_equal(table[:8], [0, 1, 5, 4, 3, 2, 1, 7])


@pytest.mark.filterwarnings("ignore:Setting the strides")
def test_calls_that_write_ask_for_the_layout_of_closed_over_arrays() -> None:
    whole = np.zeros(16, np.float32)
    table = whole[:4]

    def program(z: Any) -> None:
        z[...] = 2 * table + 1

    fused = kerneltk.fuse(program)
    for step in (1, 3, 1):
        table.strides = (4 * step,)
        for _ in range(2):
            whole[:] = np.arange(16)
            fused(whole[6:10])
            wanted = np.arange(16, dtype=np.float32)
            wanted[6:10] = 2 * wanted[: 4 * step : step] + 1
            np.testing.assert_array_equal(whole, wanted)


def test_one_launch_returns_what_the_function_returns() -> None:
    def changed(x: Any, y: Any, a: Any) -> Any:
        x += a * y
        return x

    def swapped(x: Any, y: Any) -> Any:
        x[...], y[...] = y + 1, x + 1

    fused, both = kerneltk.fuse(changed), kerneltk.fuse(swapped)
    x, y = np.ones(5, "f4"), np.arange(5, dtype=np.float32)
    wanted = x.copy(), y.copy()
    for _ in range(3):
        assert fused(x, y, 2.5) is x
        changed(*wanted, np.float32(2.5))
        assert both(x, y) is None
        swapped(*wanted)
        np.testing.assert_array_equal([x, y], wanted)


def test_a_method_takes_its_object_by_keyword() -> None:
    @kerneltk.fuse
    def scaled(self: float, x: Any) -> Any:
        return self * x

    np.testing.assert_array_equal(scaled(x=X, self=2.0), 2 * X)


def test_keywords_that_have_positions_are_positions() -> None:
    def program(x: Any, y: Any = 2.0, out: Any = None, *, more: Any = 0.0) -> Any:
        return np.add(x, 10 * y + more, out=out)

    fused = kerneltk.fuse(program)
    y, out = X + 1, np.zeros_like(X)
    for _ in range(3):
        assert fused(X, y, out=out) is not None
        np.testing.assert_array_equal(out, X + 10 * y)
        np.testing.assert_array_equal(fused(X, out=out), X + 20)  # `y` stands before it
        np.testing.assert_array_equal(fused(y=y, x=X), X + 10 * y)
        np.testing.assert_array_equal(fused(out=out, y=X, x=y), y + 10 * X)
        np.testing.assert_array_equal(fused(X, y, more=1.0), X + 10 * y + 1)
    with pytest.raises(TypeError, match="multiple values for argument 'x'"):
        fused(X, x=y)
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        fused(X, z=y)
    calls = []
    fused._call = lambda *given: calls.append(given)  # type: ignore[method-assign]
    fused(X, y, out=out)
    fused(X, y=y)
    assert calls == []


@pytest.mark.gpu
def test_orders_of_axes_are_asked_for_on_a_gpu() -> None:
    cupy = pytest.importorskip("cupy")
    fused = kerneltk.fuse(lambda x, y: x - 2 * y)

    def views(xp: Any) -> list[Any]:
        x = xp.arange(12, dtype=np.float32).reshape(3, 4)
        return [x, x, x.T, xp.asfortranarray(x), x[:, ::2], x[:0]]

    for array, like in zip(views(cupy), views(np), strict=True):
        found, wanted = fused(array, array), like - 2 * like
        # NumPy's order: CuPy's own operators return arrays in the order of C.
        assert found.flags.f_contiguous == wanted.flags.f_contiguous
        assert found.tolist() == wanted.tolist()


def test_large_arrays_are_freed_before_others_are_made() -> None:
    def program(x: Any, y: Any, v: Any) -> Any:
        return 2 * x @ v + 3 * y @ v

    fused = kerneltk.fuse(program)
    x, v = np.ones((400, 400)), np.ones(400)
    np.testing.assert_allclose(fused(x, x + 1, v), program(x, x + 1, v))
    if isinstance(fused._shortcut, shortcuts.Shortcut):
        return  # without the extension module
    tracemalloc.start()
    fused(x, x, v)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1.5 * x.nbytes


def test_memory_of_arrays_is_kept_for_later_calls() -> None:
    def program(x: Any, k: Any) -> Any:
        total = np.zeros(x.shape)
        total[1:] += np.roll(x, 1, 0)[1:] + k
        return total, np.roll(x, -1, 1) @ total

    fused, x = kerneltk.fuse(program), np.arange(90_000.0).reshape(300, 300)
    fused(x, 0.5)
    results = [fused(x, k + 0.5) for k in range(12)]
    handler: Any = getattr(np, "_core").multiarray.get_handler_name  # noqa: B009
    if not isinstance(fused._shortcut, shortcuts.Shortcut):  # with the extension module
        assert handler(results[0][0]) == "kerneltk"
    singular = kerneltk.fuse(lambda x: np.linalg.inv(0 * x) + x)
    for _ in range(3):
        with pytest.raises(np.linalg.LinAlgError):
            singular(x)
    assert handler(np.empty(3)) != "kerneltk"
    for k, (total, product) in enumerate(results):
        wanted = program(x, k + 0.5)
        np.testing.assert_array_equal(total, wanted[0])
        np.testing.assert_array_equal(product, wanted[1])
    results[3][0].resize((1200, 300), refcheck=False)
    np.testing.assert_array_equal(results[3][0][:300], results[3][1] * 0 + program(x, 3.5)[0])
    del results
    total, _ = fused(x, 1.5)  # of memory that is not zero
    np.testing.assert_array_equal(total[0], 0)


def test_another_allocator_of_numpys_is_left_in_place() -> None:
    module: Any = getattr(np, "_core").multiarray  # noqa: B009
    of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    made = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    set_type = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)
    address = of(("PyCapsule_GetPointer", ctypes.pythonapi))
    capsule = made(("PyCapsule_New", ctypes.pythonapi))
    functions = (ctypes.c_void_p * 306).from_address(
        address(module._multiarray_umath._ARRAY_API, None)
    )
    set_handler = set_type(functions[304])
    default = ctypes.PYFUNCTYPE(ctypes.py_object)(functions[305])()
    name, size = b"mem_handler", 127 + 1 + 5 * ctypes.sizeof(ctypes.c_void_p)
    fused, x = kerneltk.fuse(lambda x: np.roll(x, 1, 0) @ x), np.ones((300, 300))
    results = [fused(x) for _ in range(3)]
    copy = ctypes.create_string_buffer(ctypes.string_at(address(default, name), size), size)
    before = set_handler(capsule(ctypes.addressof(copy), name, None))
    try:
        results += [fused(x) for _ in range(3)]
        assert module.get_handler_name(results[-1]) == "default_allocator"  # of the same name
    finally:
        set_handler(before)
    results.append(fused(x))
    if not isinstance(fused._shortcut, shortcuts.Shortcut):  # with the extension module
        assert module.get_handler_name(results[-1]) == "kerneltk"
    for result in results:
        np.testing.assert_array_equal(result, 300)
    del result, results  # before the copy of the handler, which has freed some


def test_a_call_of_many_operands_leaves_the_others_to_the_module() -> None:
    def program(x: Any) -> Any:
        found = 0 * x
        for k in range(70):
            x = x * (x[k:] @ x[: len(x) - k])
            found += x
        return found

    fused, x = kerneltk.fuse(program), np.full(80, 0.1)
    for _ in range(2):
        np.testing.assert_allclose(fused(x), program(x), rtol=1e-12)
