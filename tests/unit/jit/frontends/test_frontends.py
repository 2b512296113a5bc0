"""The objects that ``@rawkernel`` and ``@kernel`` make, apart from what they compute."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import copy
import html
import pickle
import re
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec, jit
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    NotCompiledError,
    SignatureError,
    SourceError,
)
from kerneltk.jit import ElementKernel, JitKernel, cuda
from kerneltk.jit.frontends.rawkernel import DeviceFunction

FACTOR = 2


@jit.rawkernel()
def scale(x, y, a=3):
    """Multiply.

    And store.
    """
    i = jit.grid(1)
    if i < y.size:
        y[i] = a * x[i]


@jit.rawkernel
def bare(x):
    x[jit.grid(1)] = 1


@jit.rawkernel(device=True)
def half(x):
    return x / 2


@jit.kernel
def axpb(x, a=2, b=1):
    """Return a line."""
    return a * x + b


@jit.kernel
def halves(x):
    return half(x)


@cuda.jit
def increased(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@cuda.jit("void(float32[:])")
def increased_floats(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


def plain(x):
    return x + 1


from_plain = jit.kernel(plain, mode="cuda", fastmath=True)
raw_from_plain = jit.rawkernel(launch_bounds=64, options=("--fmad=false",))(plain)


class Holder:
    @jit.kernel
    def twice(x):  # noqa: N805
        return x * 2

    @jit.rawkernel()
    def store(x):  # noqa: N805
        x[jit.grid(1)] = 7


def floats(count: int = 8) -> np.ndarray[Any, Any]:
    return np.arange(count, dtype=np.float32)


# -- what they look like --------------------------------------------------------------------------


def test_they_look_like_their_functions() -> None:
    assert (repr(scale), repr(axpb)) == ("<JitKernel scale>", "<ElementKernel axpb>")
    assert repr(half) == "<DeviceFunction half>"
    assert repr(increased) == "<CudaKernel increased>"
    for kernel, name in ((scale, "scale"), (axpb, "axpb"), (half, "half")):
        assert kernel.__name__ == name
        assert kernel.__qualname__ == name
        assert kernel.__module__ == __name__
    assert scale.__doc__ is not None
    assert scale.__doc__.startswith("Multiply.")
    assert axpb.__doc__ == "Return a line."
    assert scale.__wrapped__.__name__ == "scale"
    assert axpb.jit_function is axpb.__wrapped__


def test_the_decorators_forms() -> None:
    for kernel in (bare, scale, raw_from_plain, jit.rawkernel(mode="numpy")(plain)):
        assert type(kernel) is JitKernel
    for kernel in (axpb, from_plain, jit.kernel()(plain), jit.kernel(axpb)):
        assert type(kernel) is ElementKernel
    assert type(half) is DeviceFunction


@pytest.mark.parametrize("raw", [3, iter(["x"])])
def test_raw_parameters_are_a_sequence(raw: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="'raw' must be a sequence of str, not"):
        jit.kernel(raw=raw)


@pytest.mark.parametrize("decorator", [jit.rawkernel, jit.kernel])
@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"mode": "c"}, ArgumentValueError, "'mode' must be 'cuda' or 'numpy', not 'c'."),
        ({"options": "-G"}, ArgumentTypeError, "'options' must be a sequence of str, not '-G'."),
        ({"options": (1,)}, ArgumentTypeError, "'options' must be a sequence of str, not (1,)."),
        (
            {"options": ("-DN=\0",)},
            SignatureError,
            "'options' holds a null character, which would end the text there.",
        ),
    ],
)
def test_options_that_are_refused(
    decorator: Any, options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as raised:
        decorator(**options)
    assert str(raised.value) == text


@pytest.mark.parametrize("bounds", [0, 2000, (1, 2, 3), "64", (64, 0)])
def test_launch_bounds_that_are_refused(bounds: Any) -> None:
    with pytest.raises(ArgumentValueError, match="'launch_bounds' is the most threads of a block"):
        jit.rawkernel(launch_bounds=bounds)


def test_only_functions_are_decorated() -> None:
    with pytest.raises(
        ArgumentTypeError, match="'kernel' decorates Python functions, not an object"
    ):
        jit.kernel(3)  # type: ignore[call-overload]
    with pytest.raises(ArgumentTypeError, match="'rawkernel' decorates Python functions"):
        jit.rawkernel()(max)


def test_device_functions_are_not_launched() -> None:
    with pytest.raises(RuntimeError, match="'half' can only be called inside of a kernel"):
        half(1)


# -- launches -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "launch",
    [
        lambda x, y: scale[1, 8](x, y),
        lambda x, y: scale[(1,), (8,)](x, y),
        lambda x, y: scale[(1, 1, 1), (8, 1, 1)](x, y),
        lambda x, y: scale[1, 8, 0](x, y),
        lambda x, y: scale[1, 8, 256, None](x, y),
        lambda x, y: scale[1, 8, None, 256](x, y),
        lambda x, y: scale[np.int64(1), np.int32(8)](x, y),
        lambda x, y: scale[[1], [8]](x, y),
        lambda x, y: scale(1, 8, (x, y)),
        lambda x, y: scale((1,), (8,), [x, y]),
        lambda x, y: scale(1, 8, (x, y, 3), shared_mem=16),
        lambda x, y: scale(1, 8, args=(x, y), stream=None),
        lambda x, y: scale[1, 8](x, y=y, a=3),
        lambda x, y: scale[1, 8](y=y, x=x),
    ],
)
def test_forms_of_a_launch(launch: Any) -> None:
    x, y = floats(), np.zeros(8, np.float32)
    launch(x, y)
    np.testing.assert_array_equal(y, 3 * x)


@pytest.mark.parametrize("configuration", [3, (1,), (1, 2, 3, 4, 5), None])
def test_configurations_that_are_refused(configuration: Any) -> None:
    with pytest.raises(ArgumentValueError, match=r"is launched as 'scale\[grid, block\]"):
        scale[configuration]


def test_arguments_that_are_no_tuple() -> None:
    with pytest.raises(ArgumentTypeError) as error:
        bare(1, 8, floats())  # type: ignore[arg-type]
    assert str(error.value) == (
        "The arguments of kernel 'bare' must be a tuple, not an object of type 'ndarray'.\n"
        "  Hint: a tuple of one is written '(x,)'."
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (((), {}), "missing a required argument: 'x'"),
        (((1, 2, 3, 4), {}), "too many positional arguments"),
        (((1, 2), {"b": 3}), "got an unexpected keyword argument 'b'"),
        (((1, 2), {"x": 3}), "multiple values for argument 'x'"),
    ],
)
def test_arguments_that_do_not_fit(arguments: Any, text: str) -> None:
    args, named = arguments
    with pytest.raises(ArgumentTypeError, match=text):
        scale[1, 8](*args, **named)
    element_args = args if len(args) != 4 else (*args, 5)
    with pytest.raises(ArgumentTypeError, match=text.replace("'b'", "'c'")):
        axpb(*element_args, **{("c" if key == "b" else key): v for key, v in named.items()})


def test_kernels_in_a_class_are_not_bound() -> None:
    x = floats()
    np.testing.assert_array_equal(Holder().twice(x), x * 2)
    np.testing.assert_array_equal(Holder.twice(x), x * 2)
    Holder().store[1, 8](x)
    assert (x == 7).all()


# -- what is compiled -----------------------------------------------------------------------------


def test_cached_codes() -> None:
    kernel = jit.rawkernel(scale.__wrapped__)
    assert kernel.cached_codes == {}
    with pytest.raises(NotCompiledError, match="is compiled for 0 combinations"):
        _ = kernel.cached_code
    kernel[1, 8](floats(), floats())
    assert "scale(" in kernel.cached_code
    assert list(kernel.cached_codes.values()) == [kernel.cached_code]
    kernel[1, 8](floats(), floats().astype(np.float64))
    with pytest.raises(NotCompiledError, match="is compiled for 2 combinations"):
        _ = kernel.cached_code
    assert len(kernel.cached_codes) == 2


def test_cached_codes_of_functions_of_elements() -> None:
    kernel = jit.kernel(axpb.__wrapped__)
    assert kernel.cached_codes == {}
    with pytest.raises(NotCompiledError, match="is compiled for 0 combinations"):
        _ = kernel.cached_code
    kernel(floats())
    assert "axpb(" in kernel.cached_code
    kernel(floats(), np.float64(3))
    assert len(kernel.cached_codes) == 2


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ([np.zeros(4), np.zeros(9), np.zeros(0), np.zeros((3, 4))[1]], 1),
        ([np.zeros(4), np.zeros(4, np.float32), np.zeros(4, np.int8)], 3),
        ([np.zeros(4), np.zeros((4, 4)), np.zeros((4, 4, 4))], 3),
        ([np.zeros((4, 4)), np.zeros((4, 4)).T, np.zeros((8, 8))[::2, ::2]], 2),
        ([np.zeros((8, 8))[::2], np.zeros((8, 8))[:, 1:], np.zeros((8, 8))[::-1]], 1),
    ],
)
def test_what_compiles_anew(arguments: list[np.ndarray[Any, Any]], count: int) -> None:
    @jit.rawkernel()
    def kernel(x):
        if jit.grid(1) < x.shape[0]:
            pass

    for argument in arguments:
        kernel[1, 8](argument)
    assert len(kernel.cached_codes) == count


def test_numbers_compile_anew_by_type_alone() -> None:
    @jit.rawkernel()
    def kernel(x, a):
        x[0] = a

    x = floats()
    for number in (1, -5, 2**40, 1.5, float("inf"), True, np.int32(1), np.int32(7), None):
        if number is not None:
            kernel[1, 1](x, number)
    assert len(kernel.cached_codes) == 4


def test_constants_are_read_when_it_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    @jit.kernel
    def kernel(x):
        return x * FACTOR

    x = floats()
    np.testing.assert_array_equal(kernel(x), x * 2)
    monkeypatch.setitem(globals(), "FACTOR", 5)
    np.testing.assert_array_equal(kernel(x), x * 2)
    wide = x.astype(np.float64)
    np.testing.assert_array_equal(kernel(wide), wide * 5)
    np.testing.assert_array_equal(jit.kernel(kernel.__wrapped__)(x), x * 5)


def test_threads_that_compile_the_same_at_once() -> None:
    for decorate, call in (
        (jit.rawkernel, lambda kernel, x, y: kernel[1, 8](x, y)),
        (jit.kernel, lambda kernel, x, y: kernel(x, out=y)),
    ):
        function = scale.__wrapped__ if decorate is jit.rawkernel else axpb.__wrapped__
        kernel = decorate(function)
        wall = threading.Barrier(4)
        results: list[Any] = []

        def work(
            kernel: Any = kernel, call: Any = call, wall: Any = wall, results: Any = results
        ) -> None:
            x, y = floats(), np.zeros(8, np.float32)
            wall.wait()
            call(kernel, x, y)
            results.append(y)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = 3 * floats() if decorate is jit.rawkernel else 2 * floats() + 1
        assert len(results) == 4
        for result in results:
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("decorate", [jit.rawkernel, jit.kernel])
def test_functions_without_a_text(decorate: Any) -> None:
    names: dict[str, Any] = {}
    exec("def made(x):\n    return x", names)
    kernel = decorate(names["made"])
    with pytest.raises(SourceError, match="made"):
        kernel(floats()) if decorate is jit.kernel else kernel[1, 8](floats())


# -- copies and pickles ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel",
    [scale, axpb, half, halves, increased, increased_floats, Holder.twice, Holder.store],
    ids=repr,
)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_kernels_with_a_name_are_pickled_by_it(kernel: Any, protocol: int) -> None:
    assert pickle.loads(pickle.dumps(kernel, protocol)) is kernel
    assert copy.copy(kernel) is kernel
    assert copy.deepcopy({"a": kernel})["a"] is kernel


def test_kernels_of_other_names_are_pickled_with_their_function() -> None:
    for kernel in (from_plain, raw_from_plain):
        found = pickle.loads(pickle.dumps(kernel))
        assert found is not kernel
        assert type(found) is type(kernel)
        assert found._definition == kernel._definition
        assert found.__wrapped__ is plain
    x = floats()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(from_plain))(x), x + 1)


def test_copies_of_kernels_without_a_name() -> None:
    @jit.kernel(raw=("x",))
    def local(x):
        return x[jit.index(1)] * 2

    for made in (copy.copy(local), copy.deepcopy(local)):
        assert made is not local
        assert made.raw == {"x"}
        np.testing.assert_array_equal(made(floats()), floats() * 2)
    with pytest.raises((pickle.PicklingError, AttributeError), match="local"):
        pickle.dumps(local)


def test_pickles_are_read_in_another_process() -> None:
    command = (
        "import sys, pickle, numpy as np\n"
        "sys.path[:0] = sys.argv[2:]\n"
        "kernel = pickle.loads(bytes.fromhex(sys.argv[1]))\n"
        "print(kernel(np.arange(3, dtype=np.float32)))"
    )
    text = pickle.dumps(axpb).hex()
    done = subprocess.run(
        [sys.executable, "-c", command, text, *sys.path],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[1. 3. 5.]\n"


# -- what they show -------------------------------------------------------------------------------

F32 = ArraySpec.make("float32", 100)


def test_inspect_shows_the_text() -> None:
    kernel = jit.rawkernel(scale.__wrapped__)
    on_host = kernel.inspect(floats(), floats())
    assert "host_grid.hpp" in on_host
    assert kernel.inspect(floats(), floats(), 3, target="host") == on_host
    text = kernel.inspect(F32, F32, int, target="cuda")
    assert 'extern "C" __global__ void scale(' in text
    assert kernel.inspect(floats(), floats(), target="cuda") == text
    assert kernel.cached_codes == {}
    kernel[1, 8](floats(), floats())
    assert kernel.cached_code == on_host


def test_inspect_shows_functions_of_elements() -> None:
    kernel = jit.kernel(axpb.__wrapped__)
    on_host = kernel.inspect(floats())
    assert "axpb(" in on_host
    assert "__global__" in kernel.inspect(F32, target="cuda")
    assert kernel.cached_codes == {}
    kernel(floats())
    for smooth_kernel, arguments in (
        (jit.kernel(lambda x: x[jit.index(1)] + 1), (F32,)),
        (jit.kernel(lambda n: jit.index(1) * n), (float,)),
        (jit.kernel(lambda x, k: x[jit.index(1)] + k), (F32, ArraySpec.make("float32", ()))),
    ):
        assert "__global__" in smooth_kernel.inspect(*arguments, target="cuda")


def test_inspect_shows_ptx() -> None:
    assert ".visible .entry scale(" in scale.inspect(F32, F32, target="compute_90")
    assert ".target sm_90" in axpb.inspect(F32, np.float64, target="compute_90")


@pytest.mark.parametrize(
    ("described", "given"),
    [
        (np.float32, np.float32(1)),
        (np.dtype("int16"), np.int16(1)),
        (int, 1),
        (float, 1.0),
        (complex, 1j),
        (bool, True),
        (ArraySpec.make("float32", (3, 4)), np.zeros((3, 4), np.float32)),
        (ArraySpec.make("float32", (3, 4), order="F"), np.zeros((4, 3), np.float32).T),
    ],
)
def test_descriptions_stand_for_arguments(described: Any, given: Any) -> None:
    @jit.rawkernel()
    def kernel(x, y):
        x[0] = 1

    assert kernel.inspect(F32, described, target="cuda") == kernel.inspect(
        F32, given, target="cuda"
    )


def test_descriptions_are_no_arguments() -> None:
    with pytest.raises(ArgumentTypeError):
        scale[1, 1](floats(), np.float32)
    with pytest.raises(ArgumentTypeError):
        axpb(floats(), np.float32)


def test_inspect_refuses_what_a_launch_refuses() -> None:
    with pytest.raises(ArgumentTypeError, match="missing a required argument"):
        scale.inspect()
    with pytest.raises(ArgumentTypeError, match="cannot take an object of type 'str'"):
        scale.inspect(F32, F32, "a")
    with pytest.raises(ArgumentTypeError, match="missing a required argument"):
        axpb.inspect()
    with pytest.raises(ArgumentTypeError, match="cannot take an object of type 'str'"):
        axpb.inspect("a")
    with pytest.raises(ValueError, match="sm_none"):
        scale.inspect(F32, F32, target="sm_none")


def test_notebooks_show_the_text_that_was_compiled_last() -> None:
    for kernel, call in (
        (jit.rawkernel(scale.__wrapped__), lambda kernel, x: kernel[1, 8](x, x)),
        (jit.kernel(axpb.__wrapped__), lambda kernel, x: kernel(x)),
    ):
        name = html.escape(repr(kernel))
        assert kernel._repr_html_() == f"<pre>{name}: nothing is compiled yet</pre>"
        call(kernel, floats())
        page = kernel._repr_html_()
        assert f"{name}: compiled for 1 combination of argument types</summary>" in page
        text = re.search(r"<pre>(.*)</pre>", page, re.DOTALL)
        assert text is not None
        assert html.unescape(text[1]) == kernel.cached_code
        assert "#include &lt;" in page
        call(kernel, floats().astype(np.float64))
        page = kernel._repr_html_()
        assert "compiled for 2 combinations of argument types, the last</summary>" in page
        assert html.escape(list(kernel.cached_codes.values())[-1]) in page
