"""The type of a reduction's totals: ``reduce_type`` read, and what is known of it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from kerneltk.core.artifacts import WORD_BYTES
from kerneltk.core.dtypes import as_dtype, describe, dtype_names
from kerneltk.core.identifiers import variable_problem
from kerneltk.core.lexer import comma_spans, lex
from kerneltk.core.records import pattern, record
from kerneltk.errors import SignatureError, Snippet, render_message
from kerneltk.signature.parameters import Signature
from kerneltk.signature.resolve import Binding

MOST_BYTES = 128
"""The largest accumulator: a block's totals pass through its shared memory."""

# How many bytes types take on Linux.
_C_SIZES = {
    "bool": 1, "char": 1, "signed char": 1, "unsigned char": 1, "short": 2, "unsigned short": 2,
    "int": 4, "unsigned": 4, "unsigned int": 4, "long": 8, "unsigned long": 8, "long long": 8,
    "unsigned long long": 8, "float": 4, "double": 8, "size_t": 8, "ptrdiff_t": 8,
    **{f"{u}int{bits}_t": bits // 8 for u in ("", "u") for bits in (8, 16, 32, 64)},
    "complex<float>": 8, "complex<double>": 16, "float16": 2, "bfloat16": 2,
}  # fmt: skip
_VECTOR_TYPE = pattern(r"(u?(char|short|int|long|longlong)|float|double)[1-4]")
_NARROW = ("float16", "bfloat16")


@record
class Accumulator:
    """What ``_type_reduce`` is.

    Parameters
    ----------
    text : str
        What the user wrote; empty for the default.
    ctype : str
        A C type or a type variable; empty where there are fields.
    fields : tuple of (str, str)
        C type and name of each member, where the user listed them.
    """

    text: str
    ctype: str
    fields: tuple[tuple[str, str], ...] = ()

    def declared(self, binding: Binding) -> str:
        """The C type that ``_type_reduce`` names, where there are no fields.

        By default a 16-bit float is summed in float32.
        """
        dtype = dict(binding.variables).get(self.ctype)
        own = self.ctype if dtype is None else describe(dtype).ctype
        return "float" if own in _NARROW and not self.text else self.ctype

    def dtype(self, binding: Binding, output: np.dtype[Any]) -> np.dtype[Any] | None:
        """Return the dtype of ``_type_reduce`` where the first output has one; None for fields and
        for C types.
        """
        if not self.text:
            return output
        name = self.text.strip()
        own = dict(binding.variables).get(self.ctype)
        return as_dtype(name) if own is None and name in dtype_names() else own

    def size(self, binding: Binding) -> int:
        """How many bytes ``_type_reduce`` takes, or at most takes."""
        if not self.fields:
            return _size_of(self.declared(binding), binding) or MOST_BYTES
        sizes = [_size_of(ctype, binding) or MOST_BYTES for ctype, _ in self.fields]
        return min(len(sizes) * max(sizes), MOST_BYTES)


def _size_of(ctype: str, binding: Binding) -> int | None:
    dtype = dict(binding.variables).get(ctype)
    return _C_SIZES.get(" ".join(ctype.split())) if dtype is None else dtype.itemsize


def _ctype_of(word: str, signature: Signature) -> str | None:
    """Return the C type of a dtype's or a type variable's name, or None for another name."""
    if any(word == parameter.type_variable for parameter in signature.parameters):
        return word
    # NumPy's codes of one letter are names that a struct may well have.
    return describe(as_dtype(word)).ctype if word in dtype_names() else None


def parse_accumulator(text: str | None, signature: Signature, preamble: str = "") -> Accumulator:
    """Read a ``reduce_type``. Raises SignatureError where a field is not valid.

    Parameters
    ----------
    text : str or None
        A C type, a type variable, a dtype's name, or ``TYPE name`` fields separated by commas.
    signature : Signature
    preamble : str
        C++ source, which may declare types.
    """
    if text is None:
        return Accumulator("", signature.outputs[0].c_type())
    spans = comma_spans(text, "<>()[]{}")
    words = text.split()
    known_type = len(words) == 2 and (words[0] in _C_SIZES or _ctype_of(words[0], signature))
    one_field = known_type and " ".join(words) not in _C_SIZES
    if len(spans) == 1 and not one_field:
        word = text.strip()
        known = _ctype_of(word, signature) if word not in _C_SIZES else word
        return Accumulator(text, known or word)
    fields: list[tuple[str, str]] = []
    for start, end in spans:
        words = text[start:end].split()
        place = Snippet(
            "reduce_type",
            text,
            start + len(text[start:end]) - len(text[start:end].lstrip()),
            start + len(text[start:end].rstrip()),
        )
        if len(words) < 2:
            raise SignatureError(
                render_message("A field needs a type and a name.", place, hint="'T value'.")
            )
        kind, name = " ".join(words[:-1]), words[-1]
        problem = variable_problem(name)
        if problem or any(name == other for _, other in fields):
            raise SignatureError(
                render_message(f"The field '{name}' {problem or 'is there twice'}.", place)
            )
        ctype = kind if kind in _C_SIZES else _ctype_of(kind, signature)
        if ctype is None:
            if not re.fullmatch(r"[A-Za-z_][\w: <>,*]*", kind):
                raise SignatureError(render_message(f"'{kind}' is no type.", place))
            import difflib  # only who has an error needs it

            close = difflib.get_close_matches(kind, dtype_names(), n=1, cutoff=0.8)
            if close and kind not in lex(preamble).names and not _VECTOR_TYPE.fullmatch(kind):
                raise SignatureError(
                    render_message(
                        f"Unknown dtype '{kind}'.", place, hint=f"did you mean '{close[0]}'?"
                    )
                )
            ctype = kind
        fields.append((ctype, name))
    return Accumulator(text, "", tuple(fields))


def limit_of(dtype: np.dtype[Any], greatest: bool) -> str:
    """The greatest or the least value of a dtype, as C++."""
    ctype = describe(dtype).ctype
    if dtype.kind == "b":
        return "true" if greatest else "false"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        value = int(limits.max if greatest else limits.min)
        if value == -(2**63):
            return "(-9223372036854775807LL - 1)"
        suffix = "ULL" if dtype.kind == "u" else "LL"
        return f"{ctype_cast(ctype)}({value}{suffix})"
    infinity = f"{'' if greatest else '-'}__int_as_float(0x7f800000)"  # NVRTC has no math.h
    return f"{ctype}({infinity}, {infinity})" if dtype.kind == "c" else infinity


def ctype_cast(ctype: str) -> str:
    """A cast to a C type."""
    return f"static_cast<{ctype}>"


class HeldTotal(NamedTuple):
    """How a thread of a GPU holds totals of a known reduction.

    Parameters
    ----------
    ctype : str
        A word's type, where ``_type_reduce`` is a smaller integer, to which each step would have to
        be narrowed. Empty elsewhere.
    identity : str
        A value that changes no total, as C++; empty if none is known.
    is_modular : bool
        Whether the lower parts of words need only those of others, so that words may be of elements
        that were not narrowed.
    """

    ctype: str = ""
    identity: str = ""
    is_modular: bool = False


_MODULAR = {"a+b": "0", "a*b": "1", "a|b": "0", "a^b": "0", "a&b": "-1"}
_NEUTRAL = {"a+b": "-0.0", "a*b": "1"}  # of floats
_EXTREMES = {"min(a,b)": True, "max(a,b)": False}  # and whether they are the least
_OWN_EXTREMES = {f"kerneltk::{name}er(a,b)": name == "less" for name in ("less", "great")}
_TYPES = {describe(np.dtype(name)).ctype: np.dtype(name)
          for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                       "float32", "float64")}  # fmt: skip
# C's fmin and fmax take the number, where one of two is none.
_NO_NUMBER = {4: "__int_as_float(0x7fffffff)", 8: "__longlong_as_double(0x7fffffffffffffffLL)"}


def held_total(
    accumulator: Accumulator, binding: Binding, reduce_expr: str, has_names: bool
) -> HeldTotal:
    """Return how totals of numbers are held; `has_names` says that a preamble or options may give
    `max` and `min` another meaning.
    """
    ctype = "" if accumulator.fields else accumulator.declared(binding)
    own = dict(binding.variables).get(ctype)
    dtype = _TYPES.get(ctype if own is None else describe(own).ctype)
    expression = "".join(reduce_expr.split())
    if dtype is None:
        return HeldTotal()
    is_small = dtype.itemsize < WORD_BYTES
    if dtype.kind == "f" and expression in _NEUTRAL:
        return HeldTotal("", _NEUTRAL[expression])
    if dtype.kind != "f" and expression in _MODULAR:
        return HeldTotal("unsigned int" if is_small else "", _MODULAR[expression], is_small)
    extremes = _OWN_EXTREMES if has_names else {**_OWN_EXTREMES, **_EXTREMES}
    least = extremes.get(expression)
    if least is None:
        return HeldTotal()
    if dtype.kind == "f":
        return HeldTotal("", _NO_NUMBER[dtype.itemsize] if expression in _EXTREMES else "")
    return HeldTotal("int" if is_small else "", limit_of(dtype, least))
