"""Inputs of the linker beside a user's source: object code for GPUs, as bytes or from files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kerneltk.core.artifacts import LinkInput, LinkKind, ObjectCode, kind_of_code
from kerneltk.errors import ArgumentTypeError, ArgumentValueError


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
        try:
            code = path.read_bytes()
        except OSError as error:
            raise ArgumentValueError(f"'{path}' cannot be read: {error.strerror}.") from error
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
