"""Calls of operators of torch, where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kerneltk import (
    ArgumentTypeError,
    ArgumentValueError,
    ElementwiseKernel,
    ScalarOverflowError,
    jit,
)

from . import samples

pytestmark = pytest.mark.filterwarnings("ignore")  # what torch's compilers do

GRID: dict[str, Any] = {"grid": lambda n: -(-n // 64), "block": 64}
Case = tuple[Any, dict[str, Any], Callable[[Any], tuple[Any, ...]], Callable[..., Any]]


def on(device: str) -> Callable[[Any], Any]:
    return lambda tensor: tensor.to(device)


def like(x: Any) -> Any:
    return x.new_empty(x.shape)


# A kernel, the options of its operator, arguments of a call, and what it computes.
CASES: dict[str, Case] = {
    "elementwise": (samples.SQUARE, {}, lambda x: (x,), lambda x: x * x),
    "Fortran": (samples.SQUARE, {}, lambda x: (x.T,), lambda x: x * x),
    "strided": (samples.SQUARE, {}, lambda x: (x[:, ::2],), lambda x: x * x),
    "broadcast": (samples.AXPB, {}, lambda x: (x, x[0]), lambda x, a: a * x + 1),
    "numbers": (samples.AXPB, {"scalars": "a"}, lambda x: (x, 2.5, 3), lambda x, a, b: a * x + b),
    "extent": (
        samples.AXPB, {"scalars": "a"}, lambda x: (x, x.shape[0]), lambda x, a: a * x + 1,
    ),
    "no elements": (samples.SQUARE, {}, lambda x: (x[:, :0],), lambda x: x * x),
    "reduction": (samples.NORM2, {}, lambda x: (x,), lambda x: (x * x).sum()),
    "one axis": (samples.NORM2, {}, lambda x: (x, 1), lambda x, k: (x * x).sum(k)),
    "kept": (
        samples.NORM2, {}, lambda x: (x, (0, -1), True),
        lambda x, k, keep: (x * x).sum(k, keep),
    ),
    "no axis": (samples.NORM2, {}, lambda x: (x, ()), lambda x, k: x * x),
    "function": (samples.axpb, {"scalars": ["a"]}, lambda x: (x, 2), lambda x, a: a * x + 1),
    "index": (
        samples.smooth, {}, lambda x: (x[0],),
        lambda x: (x[[0, *range(len(x) - 1)]] + x + x[[*range(1, len(x)), -1]]) / 3,
    ),
    "several": (
        samples.sum_and_difference, {}, lambda x: (x, x[0]), lambda x, y: (x + y, x - y),
    ),
    "raw": (
        samples.SQUARES, {"outputs": {"y": like}, **GRID}, lambda x: (x.shape[0], x[:, 0].clone()),
        lambda n, x: x * x,
    ),
    "grid": (
        samples.add_one, {"outputs": {"y": like}, "scalars": "n", **GRID},
        lambda x: (x[0], x.shape[1]), lambda x, n: x + 1,
    ),
}  # fmt: skip
# The same where the operator writes to its last argument.
WRITING: dict[str, Case] = {
    "output": (samples.SQUARE, {"mutates_args": "y"}, lambda x: (x,), lambda x: x * x),
    "function": (
        samples.axpb, {"mutates_args": ["out"]}, lambda x: (x, x, 1), lambda x, a, b: x * x + 1,
    ),
    "stored": (samples.store, {"mutates_args": ["y"]}, lambda x: (x[0],), lambda x: x),
    "raw": (samples.SQUARES, GRID, lambda x: (4, x[:4, 0].clone()), lambda n, x: x * x),
}  # fmt: skip
DTYPES = (
    "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_calls(case: str, register: Any, torch: Any) -> None:
    kernel, options, arguments, expected = CASES[case]
    op = register(kernel, **options)
    args = arguments(torch.arange(20, dtype=torch.float32).reshape(4, 5))
    result = op(*args)
    torch.testing.assert_close(result, expected(*args))
    on_meta = op(*(arg.to("meta") if isinstance(arg, torch.Tensor) else arg for arg in args))
    torch.testing.assert_close(
        on_meta, torch.utils._pytree.tree_map(on("meta"), result), check_stride=True
    )
    checks = torch.library.opcheck(op, args)
    assert set(checks.values()) == {"SUCCESS"}


@pytest.mark.parametrize("case", WRITING)
def test_writing_calls(case: str, register: Any, torch: Any) -> None:
    kernel, options, arguments, expected = WRITING[case]
    op = register(kernel, **options)
    args = arguments(torch.arange(20, dtype=torch.float32).reshape(4, 5))
    wanted = expected(*args)
    y = torch.zeros_like(wanted)
    version = y._version
    assert op(*args, y) is None
    torch.testing.assert_close(y, wanted)
    assert y._version > version
    assert set(torch.library.opcheck(op, (*args, y)).values()) == {"SUCCESS"}


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_for_extents_that_are_not_known(backend: str, register: Any, torch: Any) -> None:
    names = list(CASES) if backend == "aot_eager" else ["Fortran", "extent", "one axis", "raw"]
    made = [(register(CASES[name][0], **CASES[name][1]), *CASES[name][2:]) for name in names]

    def call(x: Any) -> list[Any]:
        return [op(*arguments(x)) for op, arguments, _ in made]

    torch._dynamo.reset()
    compiled = torch.compile(call, fullgraph=True, dynamic=True, backend=backend)
    for shape in ((4, 5), (6, 9), (7, 8)):
        x = torch.randn(shape)
        with torch._dynamo.config.patch(error_on_recompile=shape != (4, 5)):
            found = compiled(x)
        for result, (_, arguments, expected) in zip(found, made, strict=True):
            torch.testing.assert_close(result, expected(*arguments(x)))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_writes(backend: str, register: Any, torch: Any) -> None:
    square, double = (
        register(kernel, mutates_args="y")
        for kernel in (samples.SQUARE, ElementwiseKernel("T x", "T y", "y = y + x + x"))
    )

    def call(x: Any) -> Any:
        y = torch.zeros(2 * len(x))
        square(x, y[::2])
        square(x + 1, y[1::2])
        double(x, y[: len(x)])
        return y

    torch._dynamo.reset()
    compiled = torch.compile(call, fullgraph=True, backend=backend)
    for n in (3, 4):
        x = torch.arange(float(n))
        torch.testing.assert_close(compiled(x), call(x))
    assert call(torch.arange(2.0)).tolist() == [0, 3, 1, 4]


def test_extents_that_depend_on_data(register: Any, torch: Any) -> None:
    square, norm2 = register(samples.SQUARE), register(samples.NORM2)
    axpb = register(samples.AXPB)

    def call(x: Any) -> Any:
        positive = x[x > 0]
        rows = x[:, None].expand(-1, 3)[x > 0]
        return norm2(positive), axpb(square(positive), positive), norm2(rows, 1)

    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
        for values in ([1.0, -1, 2], [-1.0, 3], [1.0, 2, 3, 4]):
            torch.testing.assert_close(compiled(torch.tensor(values)), call(torch.tensor(values)))


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes(name: str, register: Any, torch: Any) -> None:
    x = torch.tensor([0, 1, 2]).to(getattr(torch, name))
    for op in (register(samples.SQUARE), register(samples.NORM2)):
        assert op(x).dtype == x.dtype
        torch.library.opcheck(op, (x,), test_utils=("test_faketensor",))
    op = register(samples.axpb)
    for b in (True, 2, 2.5):
        torch.library.opcheck(op, (x, x, b), test_utils=("test_faketensor",))


def test_lazy_views(register: Any, torch: Any) -> None:
    x = torch.tensor([1 + 2j])
    op = register(samples.SQUARE)
    assert op(x.conj()).tolist() == [(1 - 2j) ** 2]
    assert op(x.conj().imag).tolist() == [4]


def test_numbers_keep_type_and_sign(register: Any, torch: Any) -> None:
    kernel = ElementwiseKernel(
        "float64 x, float64 a = 0.0, T b = 2", "float64 y, T z", "y = copysign(x, a); z = b"
    )
    op, one = register(kernel), torch.ones(1, dtype=torch.float64)
    for call in (op, torch.compile(op, fullgraph=True, backend="aot_eager")):
        assert call(one)[0].item() == 1
        assert call(one, -0.0)[0].item() == -1
        for b in (2, 2.0, True):
            z = call(one, 0.0, b)[1]
            assert (type(z.item()), z.item()) == (type(b), b)
    assert op(one, b=2.0)[1].dtype == torch.float64


def test_only_shapes_on_meta(register: Any, torch: Any) -> None:
    x = torch.empty(4, 5, device="meta")
    assert register(samples.NORM2)(x, 1).shape == (4,)
    with pytest.raises(ArgumentTypeError, match="'x' is on device 'meta', but 'a' is on 'cpu'"):
        register(samples.AXPB)(x, torch.ones(5))


def test_errors_are_those_of_the_kernel(register: Any, torch: Any) -> None:
    op = register(ElementwiseKernel("float32 x, int8 a", "float32 y", "y = x + a"), scalars="a")
    x = torch.ones(3)
    for given in (x.double(), torch.ones(3, device="meta", dtype=torch.float64)):
        with pytest.raises(ArgumentTypeError, match="Parameter 'x' is declared 'float32'"):
            op(given, 1)
    with pytest.raises(ScalarOverflowError, match="The value 300 is out of range"):
        op(x, 300)
    with pytest.raises(ArgumentTypeError, match=r"layout 'torch\.sparse_coo'"):
        op(x.to_sparse(), 1)
    for given in (torch.ones(3), torch.ones(3, device="meta")):
        with pytest.raises(ArgumentValueError, match="cannot be broadcast together"):
            register(samples.AXPB)(given, given[:2])
    with pytest.raises(Exception, match="Parameter 'x' is declared 'float32'"):
        torch.compile(op, fullgraph=True, backend="aot_eager")(x.double(), 1)


@jit.kernel
def store_or_add(x, y):
    i = jit.index(1)
    y[i] = x[i]
    return x[i]


def test_writes_that_are_not_declared(register: Any, torch: Any) -> None:
    x, y = torch.ones(3), torch.zeros(3)
    message = (
        r"(?s)Kernel '\w+' writes to 'y', which its operator does not declare.*Hint: name it in"
    )
    with pytest.raises(ArgumentValueError, match=message):
        register(store_or_add)(x, y)
    with pytest.raises(ArgumentValueError, match=message):
        register(samples.add_one, grid=1, block=8, mutates_args="x", scalars="n")(x, y, 3)
    assert y.tolist() == [0, 0, 0]
    op = register(store_or_add, mutates_args="y")
    assert op(x, y).tolist() == y.tolist() == [1, 1, 1]
    assert set(torch.library.opcheck(op, (x, y)).values()) == {"SUCCESS"}


def test_outputs_that_are_no_tensors(register: Any, torch: Any) -> None:
    op = register(samples.SQUARES, outputs={"y": lambda x: x.numpy()}, **GRID)
    with pytest.raises(ArgumentTypeError, match="must return a tensor, and returned an object of"):
        op(3, torch.ones(3))


def test_outputs_in_the_memory_of_inputs(register: Any, torch: Any) -> None:
    op = register(samples.SQUARES, outputs={"y": lambda x: x[1:]}, **GRID)
    x = torch.arange(3.0)
    with pytest.raises(ArgumentValueError, match=r"for 'y' returned memory of 'x'"):
        op(2, x)
    assert x.tolist() == [0, 1, 2]
