"""What a refused program is, and how its message is written down."""

from __future__ import annotations

import linecache
import math
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Literal

import ml_dtypes
import numpy as np

from kerneltk import jit

from .tables import entries

# One array of each kind that the programs ask for. Nothing is ever launched on them.
F32 = np.zeros(8, np.float32)
F64 = np.zeros(8)
F16 = np.zeros(8, np.float16)
BF16 = np.zeros(8, ml_dtypes.bfloat16)
I8 = np.zeros(8, np.int8)
I32 = np.zeros(8, np.int32)
U8 = np.zeros(8, np.uint8)
U32 = np.zeros(8, np.uint32)
U64 = np.zeros(8, np.uint64)
C64 = np.zeros(8, np.complex64)
BOOLS = np.zeros(8, np.bool_)
GRID = np.zeros((4, 4), np.float32)
POINTS = np.zeros(8, [("x", np.float32), ("y", np.float32)])


@dataclass(frozen=True)
class Refused:
    """A program that no kernel can be made of, for arguments of these types.

    The message begins with the name of the exception; for its lines see `whole`.
    """

    function: FunctionType
    message: str
    arguments: tuple[Any, ...]
    mode: Literal["cuda", "numpy"]

    @property
    def expected(self) -> str:
        """The whole message as it is rendered."""
        return whole(self.message, self.function)


_PLACE = re.compile(r"  (\w*)\+(\d+): ")


def whole(message: str, function: Any) -> str:
    """Return a message with the names of files and the numbers of lines.

    In it `+2` stands for the second line below that of the function's name, and `other+1` for the
    first line below that of another function of the file. Carets stand under what they mark.
    """
    lines = textwrap.dedent(message).strip("\n").split("\n")
    moved = 0
    for index, line in enumerate(lines):
        match = _PLACE.match(line)
        if match:
            named = function.__globals__[match[1]] if match[1] else function
            head = f"  {_place(named, int(match[2]))}: "
            lines[index] = head + line[match.end() :]
            moved = len(head) - match.end()
        elif line.strip().startswith("^"):
            lines[index] = " " * moved + line
    return "\n".join(lines)


def made(source: str, name: str, path: str, names: Mapping[str, Any]) -> Any:
    """Return the function `name` of a source that messages can show."""
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    scope = {"jit": jit, "np": np, "math": math, **names}
    exec(compile(source, path, "exec"), scope)
    return scope[name]


def _place(function: Any, offset: int) -> str:
    code = getattr(function, "jit_function", function).__code__
    path = code.co_filename
    number = code.co_firstlineno
    while not linecache.getline(path, number).lstrip().startswith(("def ", "async def ")):
        number += 1  # a decorator's
    return f"{path.rpartition('/')[2]}:{number + offset}"


def programs_of(name: str, names: Mapping[str, Any]) -> Iterator[Refused]:
    """Yield the programs of a file of `refused`, which use these names.

    Each has the function, with its arguments behind the first line, and the message. Carets under
    what a message shows stand in the function; a message of several locations is whole.
    """
    for lines in entries(name):
        lines[0], _, given = lines[0].partition("  # ")
        given, _, mode = given.partition("; ")
        head = next(k for k, line in enumerate(lines) if re.match(r"\w+: ", line))
        code, message = lines[:head], lines[head:]
        marked = [k for k, line in enumerate(code) if re.fullmatch(r" *\^[ ^]*", line)]
        for k in marked:
            place = f"  +{k - 1}: "
            shown = [place + code[k - 1], " " * len(place) + code.pop(k)]
            tail = next((k for k, line in enumerate(message) if line[0] == " "), len(message))
            message[tail:tail] = shown
        function = re.search(r"def (\w+)", lines[0])[1]  # type: ignore[index]
        arguments = eval(f"({given},)" if given else "()", globals(), dict(names))
        program = made("\n".join([*code, ""]), function, f"<{function}>", names)
        yield Refused(program, "\n".join(message), arguments, mode or "cuda")  # type: ignore[arg-type]
