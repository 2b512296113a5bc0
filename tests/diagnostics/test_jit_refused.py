"""What is said of programs that no kernel can be made of, and of launches that cannot be: the
whole text.
"""

# ruff: noqa: F401

from __future__ import annotations

import ast
import functools
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.errors import KernelToolkitError, UnsupportedError
from kerneltk.jit.lowering.unsupported import REFUSED, REFUSED_CALLS

from . import jit_refused_programs_support as support
from .jit_refused_programs import PROGRAMS
from .jit_refused_programs_support import F32, Refused, whole
from .tables import check_message, messages


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


def made(text: str, path: str) -> Any:
    """Return the function `kernel` of a source that messages can show."""
    return support.made(text, "kernel", path, {})


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
exec(compile(ast.parse("def kernel(x):\n    x[0] = 1\n"), "<string>", "exec"), without_text)
frozen = F32.copy()
frozen.flags.writeable = False
odd = np.frombuffer(bytearray(41), np.uint8)[1:33].view(np.float32)


CASES = messages("jit_launches")


@pytest.mark.parametrize(("launch", "kind", "message"), CASES, ids=[call for call, *_ in CASES])
def test_launch(launch: str, kind: str, message: str) -> None:
    check_message(lambda: eval(launch), kind, whole(message, test_launch))


# -- what looks like one of these and is none -----------------------------------------------------


def star(x: Any) -> None:
    print(*x.shape, *(1, 2.5), sep=",")


def test_starred_values_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    jit.rawkernel()(star)[1, 1](np.zeros((2, 3)))
    assert capfd.readouterr().out == "2,3,1,2.5\n"
