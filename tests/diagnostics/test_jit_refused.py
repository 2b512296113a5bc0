"""What is said of programs that no kernel can be made of, and of launches that cannot be: the
whole text.
"""

# ruff: noqa: E501

from __future__ import annotations

import ast
import functools
import linecache
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    KernelToolkitError,
    SourceError,
    UnsupportedError,
)
from kerneltk.jit.lowering.unsupported import REFUSED, REFUSED_CALLS

from .jit_refused_programs import PROGRAMS
from .jit_refused_programs_support import F32, Refused, whole


def test_every_program_has_its_own_name() -> None:
    counted = Counter(program.function.__name__ for program in PROGRAMS)
    assert len(PROGRAMS) >= 250
    assert [name for name, times in counted.items() if times > 1] == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.function.__name__)
def test_program(program: Refused) -> None:
    kernel = jit.rawkernel(mode=program.mode)(program.function)
    with pytest.raises(KernelToolkitError) as caught:
        kernel[1, 1](*program.arguments)
    assert f"{type(caught.value).__name__}: {caught.value}" == program.expected


def test_every_refused_construct_has_a_program() -> None:
    # These stand in async functions only, which are refused as a whole.
    beneath = {ast.AsyncFor, ast.AsyncWith, ast.Await}
    texts = [program.message for program in PROGRAMS]
    missing = [
        kind.__name__
        for kind, (words, hint) in REFUSED.items()
        if kind not in beneath
        and not any(f"{words} cannot" in text and hint in text for text in texts)
    ]
    assert missing == []


@pytest.mark.parametrize("name", REFUSED_CALLS)
def test_refused_call(name: str) -> None:
    kernel = jit.rawkernel()(made(f"def kernel(x):\n    x[0] = {name}(x)\n", f"<{name}>"))
    with pytest.raises(UnsupportedError) as caught:
        kernel[1, 1](F32)
    head = f"  <{name}>:2:     x[0] = "
    assert str(caught.value).split("\n") == [
        f"'{name}' cannot be used in a kernel.",
        f"{head}{name}(x)",
        f"{' ' * len(head)}{'^' * len(name)}^^^",
        f"  Hint: {REFUSED_CALLS[name]}",
    ]


def made(text: str, name: str) -> Any:
    """Return the function `kernel` of a text that messages can show."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"jit": jit, "np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["kernel"]


def test_tabs_and_wide_characters_move_no_caret() -> None:
    text = "def kernel(x):\n\tgröße = 1; x[0] = größe @ 2\n"
    with pytest.raises(UnsupportedError) as caught:
        jit.rawkernel()(made(text, "<wide>"))[1, 1](F32)
    assert str(caught.value).split("\n")[1:3] == [
        "  <wide>:2:  größe = 1; x[0] = größe @ 2",
        "                               ^^^^^^^^^",
    ]


def test_chain_of_calls_is_as_long_as_it_is() -> None:
    functions = [f"def f{k}(v):\n    return f{k + 1}(v)\n" for k in range(4)]
    text = "".join(functions) + "def f4(v):\n    return v.y\ndef kernel(x):\n    x[0] = f0(x[1])\n"
    with pytest.raises(KernelToolkitError) as caught:
        jit.rawkernel()(made(text, "<chain>"))[1, 1](F32)
    places = [line.split(":")[1] for line in str(caught.value).split("\n") if "<chain>" in line]
    assert places == ["10", "8", "6", "4", "2", "12"]
    assert str(caught.value).count("called here") == 5


def test_what_is_nested_too_deep() -> None:
    text = f"def kernel(x):\n    x[0] = {' + '.join(['x[1]'] * 1500)}\n"
    kernel = jit.rawkernel()(made(text, "<deep>"))
    with pytest.raises(UnsupportedError, match=r"nested too deep.\n  <deep>:1: def kernel"):
        kernel[1, 1](F32)


# -- launches -------------------------------------------------------------------------------------


class Pair(NamedTuple):
    array: Any
    factor: Any


class Thing:
    def method(self, x: Any) -> None:
        x[0] = 1

    def __call__(self, x: Any) -> None:
        x[0] = 1


@jit.rawkernel()
def scale(x: Any, factor: Any = 2) -> None:
    i = jit.grid(1)
    if i < x.size:
        x[i] *= factor


@jit.rawkernel()
def put(pair: Any) -> None:
    pair[0][0] = pair[1]


@jit.rawkernel(device=True)
def twice(value: Any) -> Any:
    return 2 * value


without_text: dict[str, Any] = {}
exec("def kernel(x):\n    x[0] = 1\n", without_text)
frozen = F32.copy()
frozen.flags.writeable = False
odd = np.frombuffer(bytearray(41), np.uint8)[1:33].view(np.float32)


CASES: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "a list": (
        lambda: scale[1, 1]([1.0, 2.0]),
        ArgumentTypeError,
        """
        Parameter 'x' of kernel 'scale' cannot take an object of type 'list'.
          scale+0: def scale(x: Any, factor: Any = 2) -> None:
                             ^^^^^^
          Hint: pass an array, or a tuple: its length and its types are compiled into the kernel.
        """,
    ),
    "a string": (
        lambda: scale[1, 1]("abc"),
        ArgumentTypeError,
        """
        Parameter 'x' of kernel 'scale' cannot take an object of type 'str'.
          scale+0: def scale(x: Any, factor: Any = 2) -> None:
                             ^^^^^^
          Hint: pass its characters as an array: 'np.frombuffer(text, np.uint8)'.
        """,
    ),
    "a dict": (
        lambda: scale[1, 1]({"a": 1}),
        ArgumentTypeError,
        """
        Parameter 'x' of kernel 'scale' cannot take an object of type 'dict'.
          scale+0: def scale(x: Any, factor: Any = 2) -> None:
                             ^^^^^^
          Hint: pass a named tuple or a dataclass instance, whose fields have names, too.
        """,
    ),
    "an object": (
        lambda: scale[1, 1](Thing()),
        ArgumentTypeError,
        """
        Parameter 'x' of kernel 'scale' cannot take an object of type 'Thing'.
          scale+0: def scale(x: Any, factor: Any = 2) -> None:
                             ^^^^^^
          Hint: pass an array, a number, None, or a tuple, a named tuple or a dataclass instance of them.
        """,
    ),
    "a function": (
        lambda: scale[1, 1](F32, abs),
        ArgumentTypeError,
        """
        Parameter 'factor' of kernel 'scale' cannot take an object of type 'builtin_function_or_method'.
          scale+0: def scale(x: Any, factor: Any = 2) -> None:
                                     ^^^^^^^^^^^
          Hint: call it by its name in the kernel: a global function, or one of an enclosing function.
        """,
    ),
    "a dtype": (
        lambda: scale[1, 1](F32, np.float32),
        ArgumentTypeError,
        """
        Parameter 'factor' of kernel 'scale' cannot take the class 'float32'.
          scale+0: def scale(x: Any, factor: Any = 2) -> None:
                                     ^^^^^^^^^^^
          Hint: name it in the kernel itself, as 'np.float32' or a global variable.
        """,
    ),
    "a list in a tuple": (
        lambda: put[1, 1]((F32, [1])),
        ArgumentTypeError,
        """
        Parameter 'pair[1]' of kernel 'put' cannot take an object of type 'list'.
          put+0: def put(pair: Any) -> None:
                         ^^^^^^^^^
          Hint: pass an array, or a tuple: its length and its types are compiled into the kernel.
        """,
    ),
    "a dict in a named tuple": (
        lambda: put[1, 1](Pair(F32, {})),
        ArgumentTypeError,
        """
        Parameter 'pair.factor' of kernel 'put' cannot take an object of type 'dict'.
          put+0: def put(pair: Any) -> None:
                         ^^^^^^^^^
          Hint: pass a named tuple or a dataclass instance, whose fields have names, too.
        """,
    ),
    "an array of objects": (
        lambda: scale[1, 1](np.array([None])),
        ArgumentTypeError,
        """
        Parameter 'x' of kernel 'scale' cannot take the array: the dtype 'object' has no C type that kernels can use.
          scale+0: def scale(x: Any, factor: Any = 2) -> None:
                             ^^^^^^
        """,
    ),
    "an int of 71 bits": (
        lambda: scale[1, 1](F32.copy(), 2**70),
        KernelToolkitError,
        """
        Parameter 'factor' of kernel 'scale' is given 1180591620717411303424, which does not fit: a Python int has 64 bits in a kernel, -9223372036854775808 to 9223372036854775807.
          scale+0: def scale(x: Any, factor: Any = 2) -> None:
                                     ^^^^^^^^^^^
        """,
    ),
    "a read-only array": (
        lambda: scale[1, 1](frozen),
        ArgumentValueError,
        """
        The array for parameter 'x' of kernel 'scale' is read-only, and the kernel writes to it.
          scale+0: def scale(x: Any, factor: Any = 2) -> None:
                             ^^^^^^
          Hint: pass a copy, or set 'array.flags.writeable = True' if you own it.
        """,
    ),
    "a misaligned array": (
        lambda: scale[1, 1](odd),
        ArgumentValueError,
        """
        The array for parameter 'x' of kernel 'scale' begins 1 byte beyond a multiple of 4, and elements of dtype 'float32' lie at multiples of that.
          scale+0: def scale(x: Any, factor: Any = 2) -> None:
                             ^^^^^^
          Hint: pass a copy.
        """,
    ),
    "None for an array": (
        lambda: scale[1, 1](None),
        KernelToolkitError,
        """
        None has no attribute 'size'.
          scale+2:     if i < x.size:
                              ^^^^^^
        """,
    ),
    "no arguments": (
        lambda: scale[1, 1](),
        ArgumentTypeError,
        """
        These arguments do not fit kernel 'scale': missing a required argument: 'x'.
          scale+0: def scale(x: Any, factor: Any = 2) -> None:
                             ^^^^^^^^^^^^^^^^^^^
        """,
    ),
    "too many arguments": (
        lambda: scale[1, 1](F32, 1, 2),
        ArgumentTypeError,
        """
        These arguments do not fit kernel 'scale': too many positional arguments.
          scale+0: def scale(x: Any, factor: Any = 2) -> None:
                             ^^^^^^^^^^^^^^^^^^^
        """,
    ),
    "a keyword that there is not": (
        lambda: scale[1, 1](F32, by=3),
        ArgumentTypeError,
        """
        These arguments do not fit kernel 'scale': got an unexpected keyword argument 'by'.
          scale+0: def scale(x: Any, factor: Any = 2) -> None:
                             ^^^^^^^^^^^^^^^^^^^
        """,
    ),
    "two values for a parameter": (
        lambda: scale[1, 1](F32, x=3),
        ArgumentTypeError,
        """
        These arguments do not fit kernel 'scale': multiple values for argument 'x'.
          scale+0: def scale(x: Any, factor: Any = 2) -> None:
                             ^^^^^^^^^^^^^^^^^^^
        """,
    ),
    "no grid": (
        lambda: scale(F32, 2),
        ArgumentTypeError,
        """
        Kernel 'scale' is launched on a grid.
          Hint: call 'scale[grid, block](...)' or 'scale(grid, block, (...))'.
        """,
    ),
    "no grid and one argument": (
        lambda: scale(F32),
        ArgumentTypeError,
        """
        Kernel 'scale' is launched on a grid.
          Hint: call 'scale[grid, block](...)' or 'scale(grid, block, (...))'.
        """,
    ),
    "arguments that are no tuple": (
        lambda: scale(1, 1, F32),
        ArgumentTypeError,
        """
        The arguments of kernel 'scale' must be a tuple, not an object of type 'ndarray'.
          Hint: a tuple of one is written '(x,)'.
        """,
    ),
    "a grid alone": (
        lambda: scale[1],
        ArgumentValueError,
        """
        Kernel 'scale' is launched as 'scale[grid, block](...)'; dynamic shared memory (bytes) and a stream may follow.
        """,
    ),
    "five values for a launch": (
        lambda: scale[1, 1, 0, None, 0],
        ArgumentValueError,
        """
        Kernel 'scale' is launched as 'scale[grid, block](...)'; dynamic shared memory (bytes) and a stream may follow.
        """,
    ),
    "half a block": (
        lambda: scale[1.5, 1](F32.copy()),
        ArgumentTypeError,
        "The grid of kernel 'scale' must be an int or a tuple of up to three ints, not 1.5.",
    ),
    "a negative grid": (
        lambda: scale[-1, 1](F32.copy()),
        ArgumentValueError,
        "The grid of kernel 'scale' has a negative extent: -1.",
    ),
    "four dimensions": (
        lambda: scale[(1, 1, 1, 1), 1](F32.copy()),
        ArgumentValueError,
        "The grid of kernel 'scale' has one to three extents, not 4.",
    ),
    "2048 threads": (
        lambda: scale[1, 2048](F32.copy()),
        ArgumentValueError,
        """
        A block of kernel 'scale' can have 1024 threads, and (2048, 1, 1) is 2048.
          Hint: use a smaller block and a larger grid.
        """,
    ),
    "128 threads along z": (
        lambda: scale[1, (1, 1, 128)](F32.copy()),
        ArgumentValueError,
        "The block of kernel 'scale' can have 64 along z, not 128.",
    ),
    "70000 blocks along y": (
        lambda: scale[(1, 70000), 1](F32.copy()),
        ArgumentValueError,
        "The grid of kernel 'scale' can have 65535 along y, not 70000.",
    ),
    "negative shared memory": (
        lambda: scale[1, 1, -1](F32.copy()),
        ArgumentValueError,
        "'shared_mem' of kernel 'scale' must be a number of bytes, not -1.",
    ),
    "too much shared memory": (
        lambda: scale[1, 1, 1 << 30](F32.copy()),
        ArgumentValueError,
        """
        Kernel 'scale' can have 232448 bytes of dynamic shared memory, and 1073741824 were asked for.
        """,
    ),
    "a stream that is none": (
        lambda: scale[1, 1, 0, "a"],
        ArgumentTypeError,
        """
        'stream' must be a stream, not an object of type 'str'.
          Hint: pass a stream of CuPy, torch, numba or cuda.core, an object with '__cuda_stream__', or a stream's handle.
        """,
    ),
    "a class decorated": (
        lambda: jit.rawkernel()(Thing),
        ArgumentTypeError,
        """
        'rawkernel' decorates Python functions, not the class 'Thing'.
          Hint: decorate a function, or one of the class's methods.
        """,
    ),
    "an object decorated": (
        lambda: jit.rawkernel()(Thing()),
        ArgumentTypeError,
        """
        'rawkernel' decorates Python functions, not an object of class 'Thing'.
          Hint: decorate a function; 'Thing.__call__' is one.
        """,
    ),
    "a partial decorated": (
        lambda: jit.rawkernel()(functools.partial(max, 1)),
        ArgumentTypeError,
        """
        'rawkernel' decorates Python functions, not a functools.partial.
          Hint: decorate the function itself; take the values that are bound from around it.
        """,
    ),
    "a builtin decorated": (
        lambda: jit.rawkernel()(len),
        ArgumentTypeError,
        """
        'rawkernel' decorates Python functions, not 'len', which is not written in Python.
          Hint: call it from a Python function.
        """,
    ),
    "a bound method decorated": (
        lambda: jit.rawkernel()(Thing().method),
        ArgumentTypeError,
        """
        'rawkernel' decorates Python functions, not 'Thing.method' bound to an object.
          Hint: take the method from its class; its first argument is passed as the others are.
        """,
    ),
    "an unknown mode": (
        lambda: jit.rawkernel(mode="c"),
        ArgumentValueError,
        "'mode' must be 'cuda' or 'numpy', not 'c'.",
    ),
    "options in one string": (
        lambda: jit.rawkernel(options="-O3"),
        ArgumentTypeError,
        "'options' must be a sequence of str, not '-O3'.",
    ),
    "options that are a number": (
        lambda: jit.rawkernel(options=3),
        ArgumentTypeError,
        "'options' must be a sequence of str, not 3.",
    ),
    "too many threads promised": (
        lambda: jit.rawkernel(launch_bounds=2048),
        ArgumentValueError,
        """
        'launch_bounds' is the most threads of a block, up to 1024, or a tuple of that and the fewest resident blocks, not 2048.
        """,
    ),
    "a function without text": (
        lambda: jit.rawkernel()(without_text["kernel"])[1, 1](F32),
        SourceError,
        """
        The text of 'kernel' cannot be had: exec() and python -c do not keep it.
          Hint: write the text to a file, or register it in linecache.cache under the name that compile() is given
        """,
    ),
    "an intrinsic outside of a kernel": (
        lambda: jit.grid(1),
        UnsupportedError,
        "'grid' can only be called inside of a kernel.",
    ),
    "a barrier outside of a kernel": (
        lambda: jit.syncthreads(),
        UnsupportedError,
        "'syncthreads' can only be called inside of a kernel.",
    ),
    "a coordinate outside of a kernel": (
        lambda: 2 - jit.threadIdx.x,
        UnsupportedError,
        "'threadIdx.x' can only be used inside of a kernel.",
    ),
    "a comparison outside of a kernel": (
        lambda: jit.blockIdx.y < 3,
        UnsupportedError,
        "'blockIdx.y' can only be used inside of a kernel.",
    ),
    "a device function outside of a kernel": (
        lambda: twice(3),
        UnsupportedError,
        "'twice' can only be called inside of a kernel.",
    ),
    "a device function on a grid": (
        lambda: twice[1, 1](3),
        UnsupportedError,
        """
        'twice' is a device function, which has no grid.
          Hint: call it inside of a kernel.
        """,
    ),
    "the code of what was never launched": (
        lambda: put.cached_code,
        KernelToolkitError,
        """
        Kernel 'put' is compiled for 0 combinations of argument types and shapes.
          Hint: launch it first; with several, take one of 'cached_codes'.
        """,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_launch(case: str) -> None:
    launch, kind, message = CASES[case]
    with pytest.raises(kind) as caught:
        launch()
    assert isinstance(caught.value, KernelToolkitError)
    assert str(caught.value) == whole(message, test_launch)


# -- what looks like one of these and is none -----------------------------------------------------

TABLE = (10, 20, 30)


def near(y: Any) -> None:
    i = jit.threadIdx.x
    y[0, i] = (jit.threadIdx.x, jit.threadIdx.y) == (1, 0)
    y[1, i] = jit.threadIdx.x in (0, 2)
    y[2, i] = TABLE[jit.threadIdx.x]
    y[3, i] = sum((1, jit.threadIdx.x)) + max((jit.threadIdx.x, 1))
    for k in range(2):
        y[4, i] += k + 1
    for k in (4, 5):
        y[4, i] += k
    work = jit.local_memory(np.int32, (2, 2))
    pair = (work, 3)
    pair[0][1, 1] = i
    y[5, i] = work[1, 1] + pair[1]


def test_coordinates_and_memory_in_tuples() -> None:
    y = np.zeros((6, 3), np.int32)
    jit.rawkernel()(near)[1, 3](y)
    assert y.tolist() == [
        [0, 1, 0],
        [1, 0, 1],
        [10, 20, 30],
        [2, 3, 5],
        [12, 12, 12],
        [3, 4, 5],
    ]


def unrolled(x: Any, y: Any) -> None:
    i = jit.grid(1)
    last = 0
    for a in (1, 2, 3):
        if x[i] > a:
            last = a
    y[0, i] = last
    for b in (1, 2, 3):
        tens = b * 10
        if x[i] < b:
            break
    y[1, i] = b
    y[2, i] = tens
    for c, d in ((1, 2), (2, 4)):
        if x[i] < c + 1:
            continue
        if x[i] > 3:
            break
        e = d
        y[3, i] += e


def test_names_that_repeated_bodies_assign() -> None:
    """What is left of a loop over a tuple depends on where each thread leaves it."""
    x = np.array([1.5, 2.5, 3.5], np.float32)
    y = np.zeros((4, 3), np.int32)
    jit.rawkernel()(unrolled)[1, 3](x, y)
    assert y.tolist() == [[1, 2, 3], [2, 3, 3], [20, 30, 30], [0, 2, 0]]


def star(x: Any) -> None:
    print(*x.shape, *(1, 2.5), sep=",")


def test_starred_values_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    jit.rawkernel()(star)[1, 1](np.zeros((2, 3)))
    assert capfd.readouterr().out == "2,3,1,2.5\n"
