"""The type of a reduction's totals: ``reduce_type`` read, and what is known of it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

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
