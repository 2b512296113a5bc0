"""The values that flow from a front-end to a launch, and the properties of what runs them.

source -> Signature -> Specialization -> TranslationUnit -> ObjectCode -> Module -> Function -> plan
"""

from __future__ import annotations

import functools
import importlib.util
import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, field
from functools import cache
from pathlib import Path
from typing import Literal

from kerneltk.core.records import record
from kerneltk.errors import ArgumentTypeError, SignatureError

INCLUDE_DIRECTORY = Path(__file__).parents[1] / "templates" / "include"
"""Where the device-side headers of this package lie: ``#include <kerneltk/...>``."""


@cache
def cupy_include_directory() -> tuple[Path, ...]:
    """Return where CuPy's headers are, without importing it: none if it is not installed."""
    package = importlib.util.find_spec("cupy")
    directories = (package.submodule_search_locations or ()) if package else ()
    return tuple(Path(directory, "_core", "include") for directory in directories)


BOUNDS_SUFFIX = "_threads"
"""What the symbol of a kernel's launch bounds has behind that of its entry, on the host."""

TEMPLATE = "_kt_template_"
"""What the functions begin with by whose values NVRTC finds the symbols of templates' kernels."""

BackendName = str
"""``"cuda"``, ``"host"`` or the name of another backend that is registered."""


@record
class Target:
    """Backend, architecture and compiler version: what object code is made for.

    Parameters
    ----------
    backend : str
    architecture : str
        ``"sm_90"`` for CUDA; for the host a name of the CPU and its features.
    compiler : str
        Name and version of the compiler, for example ``"nvrtc 12.9"`` or ``"g++ 12.2.0"``.
    """

    backend: BackendName
    architecture: str
    compiler: str


LinkKind = Literal["cubin", "ptx", "ltoir", "fatbin", "object", "library"]
_ELF_MACHINE_CUDA = 190


def kind_of_code(code: bytes) -> LinkKind | None:
    """Return the kind of object code by its first bytes; None for other bytes."""
    if code[:4] == b"\xed\x43\x4e\x7f":
        return "ltoir"
    if code[:4] == b"\x50\xed\x55\xba":
        return "fatbin"
    if code[:8] == b"!<arch>\n":
        return "library"
    if code[:4] == b"\x7fELF" and len(code) >= 20:
        (machine,) = struct.unpack_from("<H", code, 18)
        return "cubin" if machine == _ELF_MACHINE_CUDA else "object"
    if b".version" in code and b".target" in code and b"\0" not in code.rstrip(b"\0"):
        return "ptx"
    return None


@record
class LinkInput:
    """Object code that a unit's own is linked with.

    Parameters
    ----------
    name : str
        What messages call it.
    kind : {"cubin", "ptx", "ltoir", "fatbin", "object", "library"}
        ``"object"`` and ``"library"`` are the host's files (``.o``, ``.a``) with device code in
        them.
    code : bytes
    """

    name: str
    kind: LinkKind
    code: bytes = field(repr=False)


@record
class TranslationUnit:
    """C++ source with its entry point and the options it is compiled with.

    Parameters
    ----------
    backend : str
        The backend that the source is written for.
    source : str
        Package headers are included by ``#include <kerneltk/...>``.
    entry : str
        The ``extern "C"`` name of the entry point.
    options : tuple of str
        Compile options on top of the backend's own.
    origins : tuple of (str, str)
        The user's own sources by the file name that ``#line`` gives them in `source`, for messages:
        ``(("operation", "y = a * x"), ...)``.
    name : str
        The kernel's name in messages; the entry point's where it is empty.
    fast_compile : bool
        Whether the source is so plain that the compiler may leave out what costs it most time.
    exports : tuple of (str, str)
        Of a user's own source: what the object code must offer, as pairs of a C++ name expression
        (``"saxpy"``, ``"ns::f<float>"``) and the symbol of its host entry point or, on CUDA, its
        own symbol if that is known: else an empty string, and NVRTC chooses it.
    reflected : tuple of (str, str)
        Pairs of a name expression and the symbol under which the object code describes it (see
        `kerneltk.object_code.reflection`).
    raw : bool
        Whether the source is a user's own, with `exports`, instead of generated, with `entry`.
    compiler : {"nvrtc", "nvcc"}
        The compiler for GPUs. For nvcc, a symbol in `exports` that begins with ``_kt_``, and for
        NVRTC one that begins with `TEMPLATE`, is that of a constant or a function whose value is
        the address.
    links : tuple of LinkInput
        What the compiled source is linked with.
    plain : str
        `source` without the points where lanes of a warp meet, which errors are read from; empty
        where it has none.
    warnings : tuple of str
        What the source's user is to be warned of when the unit is made.
    """

    backend: BackendName
    source: str
    entry: str
    options: tuple[str, ...] = ()
    origins: tuple[tuple[str, str], ...] = ()
    name: str = ""
    fast_compile: bool = False
    exports: tuple[tuple[str, str], ...] = ()
    reflected: tuple[tuple[str, str], ...] = ()
    raw: bool = False
    compiler: Literal["nvrtc", "nvcc"] = "nvrtc"
    links: tuple[LinkInput, ...] = ()
    plain: str = field(default="", repr=False)
    warnings: tuple[str, ...] = ()


@record
class ObjectCode:
    """Compiled bytes.

    Parameters
    ----------
    target : Target
    kind : {"cubin", "ptx", "ltoir", "shared-library"}
    code : bytes
    entry : str
        Name of the entry point in `code`; empty if there are `symbols`.
    symbols : tuple of (str, str)
        C++ name expressions and the symbols that they have in `code`.
    reflection : tuple of (str, bytes)
        Name expressions and what the compiler knew of their parameters' types.
    log : str
        The compiler's messages: warnings, and what options make it print.
    """

    target: Target
    kind: Literal["cubin", "ptx", "ltoir", "shared-library"]
    code: bytes = field(repr=False)
    entry: str
    symbols: tuple[tuple[str, str], ...] = ()
    reflection: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    log: str = field(default="", repr=False)

    def to_bytes(self) -> bytes:
        """Return one byte string that :meth:`from_bytes` reads back."""
        head = json.dumps(
            {
                "target": [self.target.backend, self.target.architecture, self.target.compiler],
                "kind": self.kind,
                "entry": self.entry,
                "symbols": self.symbols,
                "reflection": [(name, data.hex()) for name, data in self.reflection],
                "log": self.log,
            }
        ).encode()
        return struct.pack("<I", len(head)) + head + self.code

    @classmethod
    def from_bytes(cls, data: bytes) -> ObjectCode:
        """Read what :meth:`to_bytes` wrote.

        Raises
        ------
        ValueError
            The bytes are not an object code.
        """
        try:
            (length,) = struct.unpack_from("<I", data)
            head = json.loads(data[4 : 4 + length])
            return cls(
                Target(*head["target"]),
                head["kind"],
                data[4 + length :],
                head["entry"],
                tuple((name, symbol) for name, symbol in head.get("symbols", ())),
                tuple((name, bytes.fromhex(digits)) for name, digits in head.get("reflection", ())),
                str(head.get("log", "")),
            )
        except (struct.error, KeyError, TypeError, ValueError) as error:
            raise ValueError("These bytes are not an object code.") from error


def checked_text(name: str, text: object, errors: str = "strict") -> str:
    """A text that can be a part of a translation unit, with `errors` as of `str.encode`: a plain
    string, which keys of the cache can tell from any other by its representation. Raises
    ArgumentTypeError for what is no string, and SignatureError for what no unit can hold.
    """
    if not isinstance(text, str):
        raise ArgumentTypeError(f"'{name}' must be a string, not '{type(text).__name__}'.")
    if "\0" in text:
        raise SignatureError(f"'{name}' holds a null character, which would end the text there.")
    try:
        text.encode(errors=errors)
    except UnicodeEncodeError:
        raise SignatureError(f"'{name}' holds a lone surrogate, which is no character.") from None
    return str.__str__(text)


def checked_texts(**texts: object) -> Iterator[str]:
    """Each text as of :func:`checked_text`, by its name."""
    return (checked_text(name, text) for name, text in texts.items())


def checked_options(options: object) -> tuple[str, ...]:
    """Compile options as a tuple, without blanks in front of them, which NVRTC skips. Raises
    ArgumentTypeError for what is no sequence of strings, and otherwise as :func:`checked_text`.
    """
    given = () if isinstance(options, str) or not isinstance(options, Sequence) else options
    if given is not options or not all(isinstance(option, str) for option in given):
        raise ArgumentTypeError(f"'options' must be a sequence of str, not {options!r}.")
    # A path may be any bytes.
    return tuple(checked_text("options", o, "surrogateescape").lstrip() for o in given)


def named_options(
    options: Iterable[str], names: Sequence[str], glued: Sequence[str] = ("-D", "-I", "-U")
) -> Iterator[tuple[str, str, list[str]]]:
    """Yield for each compile option which of `names` it is, its value, and its own words; an empty
    name for another option. The value of one that is in `glued` may follow at once.
    """
    rest = iter(options)
    for option in rest:
        own = [name for name in names if option.startswith(name)]
        name = next((n for n in own if n in glued or option[len(n) :][:1] in ("", "=")), "")
        value = option[len(name) :].removeprefix("=") if name else ""
        following = next(rest, None) if name and option == name else None
        words = [option] if following is None else [option, following]
        yield name, value or following or "", words


def names_standard(options: Iterable[str]) -> bool:
    """Return whether options name a version of C++."""
    return any(option.startswith(("-std", "--std")) for option in options)


# -- properties of a backend -----------------------------------------------------------------------

# Schedules, templates and front-ends read them; none compares a backend's name.

COUNTERS = 16384
"""Arrival counters (32 bits each) in front of a launch's scratch memory: one for each output, or
group of them, that several blocks share. They are zero before and after each launch, so that
launches on one stream share them.
"""

WARP = 32
"""Threads of a warp."""

VECTOR_BYTES = 16
"""The widest access of one thread (bytes)."""

WORD_BYTES = 4
"""A register, or what a lane of a warp reads at once (bytes)."""

SECTOR_BYTES = 32
"""What memory is read and written by (bytes)."""

SHARED_BYTES = 48 << 10
"""Shared memory (bytes) that a block of every GPU has without asking for more."""


@record
class Capabilities:
    """The properties of one backend.

    Parameters
    ----------
    name : str
        The backend's, in translation units, cache keys and calls.
    location : str
        What messages call the memory of its arrays.
    template_suffix : str
        Which templates it takes: those that end in ``.{template_suffix}.j2``.
    warp_size : int
        Threads of a warp.
    is_fallback : bool
        Whether kernels without arrays run there until the library of another backend is imported.
        Its arrays are NumPy's, which may also stand for structures that are passed by value.
    in_host_memory : bool
        Whether kernels reach this process's own memory, and Python reaches that of kernels.
    emulates_cuda : bool
        Whether its compiler knows plain C++ alone: threads, barriers and CUDA's functions are
        headers of this package, and symbols share one namespace with the process's libraries.
    walks_chunks : bool
        Whether a launch hands chunks of the loop to a few cores, which walk them in nested loops.
        Otherwise each thread computes its indices from its number.
    short_indices : bool
        Whether 32-bit index arithmetic, and shapes that are known to be equal, pay for
        specializations of their own.
    aligns_complex_whole : bool
        Whether a complex number is moved by one access and aligned for that; otherwise as each of
        its parts is.
    streaming_stores : bool
        Whether results that no cache would hold can bypass the caches.
    is_interruptible : bool
        Whether a long launch has to be one that can be interrupted: the caller waits for it.
    takes_launch_bounds : bool
        Whether ``__launch_bounds__`` means something to its compiler.
    takes_fast_math : bool
        Whether ``fastmath`` of decorated kernels is asked of its compiler.
    loads_binaries : bool
        Whether it runs PTX and cubins that were compiled elsewhere.
    has_architectures : bool
        Whether it is compiled for by the name of an architecture, such as ``"sm_90"``, instead of
        its own.
    """

    name: BackendName
    location: str
    template_suffix: str
    warp_size: int
    is_fallback: bool
    in_host_memory: bool
    emulates_cuda: bool
    walks_chunks: bool
    short_indices: bool
    aligns_complex_whole: bool
    streaming_stores: bool
    is_interruptible: bool
    takes_launch_bounds: bool
    takes_fast_math: bool
    loads_binaries: bool
    has_architectures: bool


@functools.lru_cache(maxsize=16)
def described_backend(backend: Capabilities) -> str:
    """Describe what a backend can do, for keys of the cache."""
    return repr(astuple(backend))
