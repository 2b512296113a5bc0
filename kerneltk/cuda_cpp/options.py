"""What a caller gives beside a source: options, the compiler, name expressions, template arguments,
paths, and inputs of the linker, which are object code for GPUs, as bytes or from files.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kerneltk.core.artifacts import (
    LinkInput,
    LinkKind,
    ObjectCode,
    checked_options,
    checked_text,
    kind_of_code,
    named_options,
)
from kerneltk.core.dtypes import describe
from kerneltk.core.records import pattern
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, SourceNotFoundError

STATE_WORDS = ("__device__", "__constant__", "__managed__", "static")
"""What variables that last from one launch to the next are declared with."""

OTHER_STATE = pattern(
    r"\b__attribute__\s*\(\s*\(\s*_*(?:device|constant|managed)|\bmutable\b"
    r"|(?<!\w)__[a-z]*\s*##|##\s*[a-z]*__(?!\w)"
)
"""Other spellings: the attributes as GNU's, members that `const` leaves writable, pasted words."""

# Everything is then device code, plain variables included.
_DEFAULT_DEVICE = ("-default-device", "--device-as-default-execution-space")
_DIRECTORIES = ("-I", "--include-path", "-isystem", "--system-include", "-iquote")
_MACROS = {
    "-D": "define",
    "--define-macro": "define",
    "-U": "undef",
    "--undefine-macro": "undef",
    "-include": "include",
    "--pre-include": "include",
}


def lasting_options(options: Any) -> tuple[str, ...]:
    """Return compile options with directories that mean the same from another working directory.

    Raises as `checked_options`.
    """
    result: list[str] = []
    for name, value, words in named_options(checked_options(options), _DIRECTORIES):
        if not name or not value or os.path.isabs(value):
            result += words
        elif len(words) == 2:
            result += [name, os.path.abspath(value)]
        else:
            result.append(words[0][: -len(value)] + os.path.abspath(value))
    return tuple(result)


def without_directives(options: Sequence[str]) -> tuple[Sequence[str], tuple[str, ...]]:
    """Return the directives that options for macros and included files stand for, and the others.

    As directives they come behind the package's own headers, in which the names may mean something
    else.

    Examples
    --------
    >>> without_directives(["-DN=4", "-w", "-U", "X"])
    (['#define N 4', '#undef X'], ('-w',))
    """
    lines: list[str] = []
    others: list[str] = []
    for name, value, words in named_options(options, tuple(_MACROS)):
        directive = _MACROS.get(name, "")
        if not value.strip():
            others += words
        elif directive == "define":
            macro, equals, replacement = value.strip().partition("=")
            lines.append(f"#define {macro} {replacement if equals else '1'}")
        elif directive == "undef":
            lines.append(f"#undef {value.strip()}")
        else:
            path = os.path.abspath(value) if os.path.exists(value) else value
            lines.append(f'#include "{path}"')
    return lines, tuple(others)


def may_declare_state(options: Sequence[str]) -> bool:
    """Return whether options may make a variable of a source last from one launch to the next."""
    return any(
        option.startswith(_DEFAULT_DEVICE)
        or any(word in option for word in STATE_WORDS)
        or OTHER_STATE.search(option)
        for option in options
    )


def checked_compiler(backend: Any) -> Literal["nvrtc", "nvcc"]:
    """Return the compiler for GPUs; raises ArgumentValueError for another."""
    if backend not in ("nvrtc", "nvcc"):
        raise ArgumentValueError(f"'backend' must be 'nvrtc' or 'nvcc', not {backend!r}.")
    return "nvcc" if backend == "nvcc" else "nvrtc"


def bytes_of(path: Path) -> bytes:
    """The bytes of a file. Raises SourceNotFoundError if it does not exist, and ArgumentValueError
    if it cannot be read.
    """
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        reason = getattr(error, "strerror", None) or error
        kind = SourceNotFoundError if isinstance(error, FileNotFoundError) else ArgumentValueError
        raise kind(f"'{path}' cannot be read: {reason}.") from error


def checked_names(names: Any) -> tuple[str, ...] | None:
    """Return name expressions as a tuple; raises ArgumentTypeError where they are none, and as
    `checked_text`.
    """
    if names is None:
        return None
    given = () if isinstance(names, str) or not isinstance(names, Sequence) else names
    if given is not names or not all(isinstance(name, str) for name in given):
        raise ArgumentTypeError(f"'name_expressions' must be a sequence of str, not {names!r}.")
    return tuple(checked_text("name_expressions", name) for name in given)


def template_argument(argument: Any) -> str:
    """Return a template argument as C++ has it; raises ArgumentTypeError for what is none."""
    if isinstance(argument, bool | np.bool_):
        return "true" if argument else "false"
    if isinstance(argument, str | int | np.integer):
        return str(argument)
    if not isinstance(argument, type | np.dtype):
        raise ArgumentTypeError(
            f"A template argument must be a dtype, an integer or a string, not {argument!r}."
        )
    dtype = np.dtype(argument)
    names = {"float16": "__half", "bfloat16": "__nv_bfloat16"}
    return names.get(dtype.name) or describe(dtype).ctype


def checked_links(links: Any, compiler: str) -> tuple[LinkInput, ...]:
    """Return the object codes that a caller gives to be linked. Raises ArgumentTypeError where one
    is of another type, and ArgumentValueError where a file cannot be read, an object code is not
    for GPUs, bytes are of no known kind, or the source is compiled by nvcc.
    """
    if isinstance(links, str | bytes | os.PathLike | ObjectCode) or not isinstance(links, Sequence):
        raise ArgumentTypeError(
            f"'link' must be a sequence, not an object of type '{type(links).__name__}'."
        )
    if links and compiler != "nvrtc":
        raise ArgumentValueError(
            "'link' needs backend='nvrtc': nvcc's LTO-IR is for the linker of its own toolkit."
        )
    return tuple(_input(link, f"link[{number}]") for number, link in enumerate(links))


def _input(link: Any, name: str) -> LinkInput:
    if isinstance(link, ObjectCode):
        if link.kind == "shared-library":
            raise ArgumentValueError(f"'{name}' is object code for the host, not for GPUs.")
        return LinkInput(name, link.kind, link.code)
    if isinstance(link, bytes | bytearray | memoryview):
        return LinkInput(name, _kind_of(bytes(link), name), bytes(link))
    if isinstance(link, str | os.PathLike):
        path = Path(link)
        code = bytes_of(path)
        return LinkInput(path.name, _kind_of(code, str(path)), code)
    raise ArgumentTypeError(
        f"'{name}' must be an ObjectCode, bytes or a path, not an object of type "
        f"'{type(link).__name__}'.\n"
        "  Hint: a function of numba-cuda is linked by what 'numba.cuda.compile(f, signature, "
        'device=True, abi="c", output="ltoir")[0]\' returns.'
    )


def _kind_of(code: bytes, name: str) -> LinkKind:
    kind = kind_of_code(code)
    if kind is None:
        raise ArgumentValueError(
            f"'{name}' is no object code for GPUs: neither LTO-IR, PTX, a cubin, a fatbin, an "
            "object file nor a library."
        )
    return kind
