"""Options and signatures of ``@cuda.jit``; signatures are strings, or made of numba's types.

A signature says what a kernel's arguments are turned into: an argument that it calls ``int32``
becomes an ``np.int32`` before the launch. Elsewhere types follow from the arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kerneltk.backends import foreign_arrays
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, SignatureError
from kerneltk.jit.launch.marshalling import number_as

_SPELLINGS = {
    "bool": "boolean bool_ b1",
    "int8": "char i1",
    "int16": "short i2",
    "int32": "intc i4",
    "int64": "long_ longlong intp ssize_t int_ i8",
    "uint8": "byte u1",
    "uint16": "ushort u2",
    "uint32": "uintc u4",
    "uint64": "ulong ulonglong uintp size_t uint u8",
    "float16": "f2",
    "float32": "float_ f4",
    "float64": "double f8",
    "complex64": "c8",
    "complex128": "c16",
    "void": "record",  # a structured dtype, whichever the argument has
}
_NAMES = {name: dtype for dtype, names in _SPELLINGS.items() for name in (dtype, *names.split())}


# -- signatures -----------------------------------------------------------------------------------


class Parsed(NamedTuple):
    """A type in a signature, with its text: of a number, which has no dimensions, of an array, or
    of a tuple, which has items and no dtype.
    """

    text: str
    dtype: np.dtype[Any] | None
    ndim: int = 0
    items: tuple[Parsed, ...] = ()

    def adapted(self, value: Any, refuse: Callable[[str], ArgumentTypeError]) -> Any:
        """Return an argument as this type; what `refuse` makes is raised if it is none of it."""
        if self.dtype is None:
            if not isinstance(value, tuple) or len(value) != len(self.items):
                raise refuse(self.text)
            items = [item.adapted(v, refuse) for item, v in zip(self.items, value, strict=True)]
            return value._make(items) if hasattr(value, "_make") else tuple(items)
        if self.ndim:
            owner, own = foreign_arrays.own_array(value)
            is_known = owner is not None or isinstance(value, np.generic)
            if is_known and not (own.ndim == self.ndim and self._is_of(own.dtype)):
                raise refuse(self.text)
            return value
        if self.dtype.kind == "V" and isinstance(value, np.void) and self._is_of(value.dtype):
            return value
        if isinstance(value, bool | int | float | complex | np.number | np.bool_):
            is_complex = isinstance(value, complex | np.complexfloating)
            if self.dtype.kind != "V" and (self.dtype.kind == "c" or not is_complex):
                return number_as(value, self.dtype)
        raise refuse(self.text)

    def _is_of(self, dtype: np.dtype[Any]) -> bool:
        """Whether elements of a dtype are what this type says."""
        return dtype == self.dtype or (self.text.startswith("record") and dtype.names is not None)


def parse_signature(text: str) -> tuple[Parsed, ...]:
    """Return the types of the parameters in a signature, which is an expression of Python's.

    Raises
    ------
    SignatureError
        It cannot be read.

    Examples
    --------
    >>> [str(found.dtype) for found in parse_signature("void(float32[:, ::1], int32)")]
    ['float32', 'int32']
    """

    def wrong(why: str) -> SignatureError:
        return SignatureError(
            f"The signature {text!r} cannot be read: {why}.\n"
            "  Hint: write it as 'void(float32[:], int32)', or leave it out: types follow from the "
            "arguments."
        )

    def parsed(node: ast.expr) -> Parsed:
        match node:
            case ast.Name(id=name) if name in _NAMES:
                return Parsed(name, np.dtype(_NAMES[name]))
            case ast.Subscript(value=ast.Name(id=name), slice=axes) if name in _NAMES:
                shown = ast.unparse(axes).strip("()").split(", ")
                if all(axis in (":", "::1") for axis in shown):
                    found = f"{name}[{', '.join(shown)}]"
                    return Parsed(found, np.dtype(_NAMES[name]), len(shown))
            case ast.Call(func=ast.Name(id="UniTuple"), args=[one, ast.Constant(value=int(count))]):
                item = parsed(one)
                return Parsed(f"UniTuple({item.text}, {count})", None, 0, (item,) * count)
            case ast.Call(
                func=ast.Name(id="Tuple"), args=[ast.Tuple(elts=nodes) | ast.List(elts=nodes)]
            ):
                items = tuple(map(parsed, nodes))
                return Parsed(f"Tuple(({', '.join(item.text for item in items)}))", None, 0, items)
        raise wrong(f"'{ast.unparse(node)}' is no type")

    try:
        whole = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise wrong("its brackets and commas do not fit together") from None
    match whole:
        case ast.Call(func=result, args=nodes, keywords=[], col_offset=0):
            if not (isinstance(result, ast.Name) and result.id in ("void", "none")):
                parsed(result)
        case _ if text.strip().startswith("(") and text.rstrip().endswith(")"):
            nodes = whole.elts if isinstance(whole, ast.Tuple) else [whole]
        case _:
            raise wrong("the types of its parameters are not in parentheses")
    return tuple(map(parsed, nodes))


def converted_types(
    given: Any, parameters: Sequence[Parsed]
) -> tuple[tuple[np.dtype[Any] | None, ...], np.dtype[Any] | None]:
    """Return the dtypes that calls of a device function convert numbers to, by its only signature:
    of the parameters and of the result; None for what is no number.
    """
    one = given[0] if isinstance(given, list) else given
    text = one if isinstance(one, str) else str(getattr(one, "return_type", ""))
    result = _NAMES.get(text.partition("(")[0].strip(), "void")
    kinds = (None if item.ndim or item.text == "record" else item.dtype for item in parameters)
    return tuple(kinds), None if result == "void" else np.dtype(result)


# -- options --------------------------------------------------------------------------------------


class Options(NamedTuple):
    """What numba's options come to; `compile` are compile options."""

    device: bool
    fastmath: bool
    compile: tuple[str, ...]
    launch_bounds: Any


# Compiled code is cached and optimized anyway; what is inlined the compiler decides. There is
# nothing to link with: a kernel and what it calls are one translation unit.
_TAKEN = ("cache", "inline", "forceinline", "lto", "opt")
_KNOWN = ("debug", "device", "extensions", "fastmath", "launch_bounds", "lineinfo", "max_registers")
_HINTS = {
    "link": "C++ is linked by 'kerneltk.RawModule'.",
    "argtypes": "give the signature first: @cuda.jit('void(float32[:], int32)').",
    "restype": "give the signature first: @cuda.jit('void(float32[:], int32)').",
    "bind": "kernels are compiled when they are first launched.",
    "boundscheck": "run it on NumPy arrays with KERNELTK_HOST_DEBUG=memory to find such mistakes.",
    "abi": "kernels are not called from C.",
    "shared_memory_carveout": "leave it out: the driver chooses it.",
}


def checked_options(given: Mapping[str, Any]) -> Options:
    """Return the options of ``@cuda.jit``.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        There is no such option, or its value cannot be taken.
    """
    for name in given:
        if name not in _KNOWN and name not in _TAKEN:
            hint = _HINTS.get(name, f"known are {', '.join(sorted((*_KNOWN, *_TAKEN)))}.")
            raise ArgumentTypeError(f"'cuda.jit' has no option '{name}'.\n  Hint: {hint}")
    options: list[str] = []
    registers = given.get("max_registers")
    if registers is not None:
        if not isinstance(registers, int) or isinstance(registers, bool) or registers < 1:
            raise ArgumentValueError(
                f"'max_registers' is the most registers of a thread, not {registers!r}."
            )
        options.append(f"--maxrregcount={registers}")
    if given.get("debug"):
        options.append("--device-debug")
    elif given.get("lineinfo"):
        options.append("--generate-line-info")
    return Options(
        bool(given.get("device", False)),
        bool(given.get("fastmath", False)),
        tuple(options),
        given.get("launch_bounds"),
    )


def signatures_of(given: Any) -> tuple[str, ...] | None:
    """Return the signatures that ``@cuda.jit`` is given, as text; None if it is something else.

    A tuple of numba's types is one signature, as in numba; other sequences hold signatures.

    Raises
    ------
    ArgumentTypeError
        An item of a sequence is no signature.
    """
    own = _signature_text(given)
    if own is not None or not isinstance(given, Sequence):
        return None if own is None else (own,)
    texts = tuple(map(_signature_text, given))
    if None in texts:
        raise ArgumentTypeError(
            "A signature is text, or made of numba's types.\n"
            "  Hint: 'void(float32[:], int32)', or leave it out."
        )
    return texts  # type: ignore[return-value]  # none of them is None


def _signature_text(given: Any) -> str | None:
    if isinstance(given, str):
        return given
    types = getattr(given, "args", given)  # numba's Signature has `args`
    if isinstance(types, tuple) and types and all(hasattr(t, "mangling_args") for t in types):
        return f"({', '.join(map(type_text, types))})"
    return "()" if types == () and hasattr(given, "return_type") else None


def type_text(given: Any) -> str:
    """Return one of numba's types as signatures have it: recognized by attributes, since numba
    need not be there.
    """
    if hasattr(given, "types"):
        return f"Tuple(({''.join(type_text(one) + ', ' for one in given.types)}))"
    if getattr(given, "ndim", 0):
        return f"{type_text(given.dtype)}[{', '.join(':' * given.ndim)}]"
    return "record" if hasattr(given, "fields") else str(given)
