"""Parameters, signatures, and the grammar of parameter strings.

::

    parameters := [ parameter { "," parameter } ]
    parameter  := { "raw" | "_non_const" } type name [ "=" literal ]
    type       := dtype name | type variable [ ":" constraint ]

A type variable is one letter, or a longer name that carries a constraint at least once
(``Real:floating x, Real y``; ``any`` admits every dtype). Everything else is a dtype's name.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Container
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Never

import numpy as np

from kerneltk.core.dtypes import as_dtype, describe, dtype_names, type_category
from kerneltk.core.identifiers import identifier_problem, is_library_name, variable_problem
from kerneltk.core.lexer import comma_spans
from kerneltk.core.records import pattern, record
from kerneltk.errors import ArgumentTypeError, SignatureError, Snippet, render_message

_ALL = ("bool", "signedinteger", "unsignedinteger", "floating", "complexfloating", "structured")

CONSTRAINTS: dict[str, tuple[str, ...]] = {
    "any": _ALL,
    "bool": ("bool",),
    "complexfloating": ("complexfloating",),
    "floating": ("floating",),
    "inexact": ("floating", "complexfloating"),
    "integer": ("signedinteger", "unsignedinteger"),
    "integral": ("signedinteger", "unsignedinteger"),
    "number": ("signedinteger", "unsignedinteger", "floating", "complexfloating"),
    "real": ("bool", "signedinteger", "unsignedinteger", "floating"),
    "signedinteger": ("signedinteger",),
    "unsignedinteger": ("unsignedinteger",),
}
"""What a type variable may be bound to, by the constraint's name: NumPy's abstract types."""


class _NoDefault:
    def __repr__(self) -> str:
        return "NO_DEFAULT"

    def __reduce__(self) -> str:
        return "NO_DEFAULT"  # pickled by name: there is one, and it is compared by identity


NO_DEFAULT = _NoDefault()


@record
class Parameter:
    """One declared parameter.

    Parameters
    ----------
    name : str
    dtype : np.dtype or None
        None where the type is a type variable.
    ctype : str or None
        The type variable's name, or the dtype's C type.
    raw : bool
        The body indexes the array itself.
    is_const : bool
        The body may not write to it.
    default : object
        The value of an argument that is not given, or ``NO_DEFAULT``.
    span : tuple of int
        Where it stands in the parameter string: start and end (characters).
    """

    name: str
    dtype: np.dtype[Any] | None
    ctype: str | None
    raw: bool = False
    is_const: bool = True
    default: object = NO_DEFAULT
    span: tuple[int, int] = (0, 0)

    @property
    def type_variable(self) -> str | None:
        """The type variable's name, or None for a fixed dtype."""
        return self.ctype if self.dtype is None else None

    def c_type(self) -> str:
        """The name that the body uses for this parameter's type; ``_ind`` has none."""
        assert self.ctype is not None
        return self.ctype


@record
class Signature:
    """Declared parameters with their type variables unbound.

    Parameters
    ----------
    inputs, outputs : tuple of Parameter
    constraints : tuple of (str, str)
        Constraint by type variable.
    in_text, out_text : str
        The parameter strings, for messages.
    """

    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    constraints: tuple[tuple[str, str], ...]
    in_text: str
    out_text: str

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Inputs, then outputs."""
        return self.inputs + self.outputs

    def snippet(self, index: int, label: str = "") -> Snippet:
        """The location of parameter `index` (inputs first) in its parameter string."""
        parameter = self.parameters[index]
        if index < len(self.inputs):
            return Snippet("in_params", self.in_text, *parameter.span, label)
        return Snippet("out_params", self.out_text, *parameter.span, label)

    def message(self, sentence: str, index: int, label: str = "", hint: str = "") -> str:
        """A sentence about parameter `index`, shown in its parameter string."""
        return render_message(sentence, self.snippet(index, label), hint=hint)


def satisfies(dtype: np.dtype[Any], constraint: str) -> bool:
    """Whether `dtype` is one that `constraint` admits."""
    return type_category(dtype) in CONSTRAINTS[constraint]


# -- the grammar -----------------------------------------------------------------------------------


class UnknownDtypeError(SignatureError, TypeError):
    """A parameter string names a type that is neither a dtype nor a type variable."""


_TOKEN = pattern(r"\s*(?:([<>|]?[A-Za-z_]\w*)|([:,=])|(\S))", re.ASCII)
_QUALIFIERS = ("raw", "_non_const")
Body = Literal["elementwise", "reduction"]

# Names that the texts of each kind of kernel have already, and those that no type may have.
_ALWAYS_TAKEN = {
    "threadIdx": "the index of a thread",
    "blockIdx": "the index of a block",
    "blockDim": "the size of a block",
    "gridDim": "the size of the grid",
    "warpSize": "the size of a warp",
    "ptrdiff_t": "the type of indices",
}
_TAKEN: dict[Body, dict[str, str]] = {
    "elementwise": {**_ALWAYS_TAKEN, "i": "the element's index", "_ind": "the index space"},
    "reduction": {
        **_ALWAYS_TAKEN,
        "_i": "the number of an output",
        "_j": "the number of an element",
        "_J": "the number of an element within its reduction",
        "_in_ind": "the index of an element",
        "_out_ind": "the index of an output",
        "_type_reduce": "the type of the totals",
    },
}
_TAKEN_BY_TYPES: dict[Body, dict[str, str]] = {
    "elementwise": {**_TAKEN["elementwise"], "n": "the number of elements"},
    "reduction": {**_TAKEN["reduction"], "a": "a total", "b": "a total"},
}


_POINTER = "write 'T x' for an element, and 'raw T x' for an array that is indexed: 'x[i]'."


class _Token(NamedTuple):
    text: str
    start: int
    end: int


class _Parser:
    def __init__(self, origin: str, text: str) -> None:
        self.origin = origin
        self.text = text

    def fail(
        self,
        sentence: str,
        start: int,
        end: int,
        *,
        label: str = "",
        hint: str = "",
        error: type[SignatureError] = SignatureError,
    ) -> Never:
        snippet = Snippet(self.origin, self.text, start, max(end, start + 1), label)
        raise error(render_message(sentence, snippet, hint=hint))

    def tokens(self, start: int, end: int) -> tuple[list[_Token], tuple[int, int] | None]:
        """Return the tokens before an ``=``, and the span of the literal behind it."""
        found: list[_Token] = []
        position = start
        while position < end:
            match = _TOKEN.match(self.text, position, end)
            if match is None:  # only white space is left
                break
            group = match.lastindex or 0
            token = _Token(match.group(group), match.start(group), match.end(group))
            if token.text == "=":
                return found, (token.end, end)
            if group == 3:
                hint = _POINTER if token.text in "*&" else ""
                self.fail(f"Unexpected '{token.text}'.", token.start, token.end, hint=hint)
            found.append(token)
            position = match.end()
        return found, None

    def default(self, start: int, end: int) -> object:
        literal = self.text[start:end].strip()
        begin = start + len(self.text[start:end]) - len(self.text[start:end].lstrip())
        if not literal:
            self.fail("A default value is missing after '='.", start - 1, start)
        special = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
        if literal in special:
            return special[literal]
        try:
            value = ast.literal_eval(literal)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            value = None
        if not isinstance(value, bool | int | float | complex):
            self.fail(
                f"The default '{literal}' is not a number.",
                begin,
                begin + len(literal),
                hint="write a Python number, 'True', 'False', 'inf' or 'nan'.",
            )
        return value


def _parse_one(
    parser: _Parser,
    start: int,
    end: int,
    is_const: bool,
    constraints: dict[str, str],
    body: Body,
) -> tuple[Parameter, _Token]:
    tokens, default_span = parser.tokens(start, end)
    if not tokens:
        parser.fail(
            "A parameter is missing.", start, end, hint="remove the comma that nothing follows."
        )
    raw, const = False, is_const
    while len(tokens) > 1 and tokens[0].text in _QUALIFIERS:
        if tokens.pop(0).text == "raw":
            raw = True
        else:
            const = False
    type_token = tokens.pop(0)
    first, last = type_token.start, type_token.end
    if tokens and tokens[0].text == ":":
        colon = tokens.pop(0)
        if not tokens:
            parser.fail("A constraint is missing after ':'.", colon.start, colon.end)
        constraint = tokens.pop(0)
        if constraint.text not in CONSTRAINTS:
            parser.fail(
                f"Unknown constraint '{constraint.text}'.",
                constraint.start,
                constraint.end,
                hint=f"use one of {', '.join(sorted(CONSTRAINTS))}.",
            )
        problem = identifier_problem(type_token.text)
        if not problem and is_library_name(type_token.text):
            problem = "is a name of C++'s, CUDA's or this package's headers"
        if problem:
            parser.fail(f"The type variable '{type_token.text}' {problem}.", first, last)
        if constraints.setdefault(type_token.text, constraint.text) != constraint.text:
            parser.fail(
                f"Type variable '{type_token.text}' has two constraints, "
                f"'{constraints[type_token.text]}' and '{constraint.text}'.",
                constraint.start,
                constraint.end,
            )
    if not tokens:
        parser.fail(
            f"Parameter '{type_token.text}' has a type or a name, but not both.",
            first,
            last,
            hint="write the type, a space and the name, as in 'float32 x'.",
        )
    name = tokens.pop(0)
    if tokens:
        is_colon = tokens[0].text == ":"
        wrong = tokens[0] if is_colon else type_token
        parser.fail(
            "Unexpected ':'." if is_colon else f"Unknown keyword '{wrong.text}'.",
            wrong.start,
            wrong.end,
            hint="a parameter is 'raw', '_non_const', a type and a name, in this order; "
            "parameters are separated by commas.",
        )
    problem = variable_problem(name.text)
    if name.text in _TAKEN[body]:
        problem = f"is {_TAKEN[body][name.text]} in the body"
    elif name.text.startswith("_raw_"):
        problem = "is reserved for generated code"
    if problem:
        parser.fail(
            f"Cannot use '{name.text}' as a parameter name: it {problem}.", name.start, name.end
        )
    default: object = NO_DEFAULT
    if default_span is not None:
        if raw or not is_const:
            parser.fail(
                "Only an input that is not raw can have a default.",
                default_span[0] - 1,
                default_span[1],
            )
        default = parser.default(*default_span)
    span = first, name.end
    return Parameter(name.text, None, type_token.text, raw, const, default, span), type_token


def _dtype_of(parser: _Parser, token: _Token, variables: Container[str]) -> np.dtype[Any] | None:
    """The dtype that a type is; None for a type variable."""
    text = token.text
    if text in variables or (len(text) == 1 and text.isalpha()):
        return None
    try:
        dtype = as_dtype(text)
        describe(dtype)
    except ArgumentTypeError as error:
        parser.fail(str(error.args[0]).split("\n")[0], token.start, token.end)
    except (TypeError, ValueError, SyntaxError):
        import difflib  # only who has an error needs it

        close = difflib.get_close_matches(text, dtype_names(), n=1)
        hint = f"did you mean '{close[0]}'?" if close else ""
        hint = hint or (
            f"a type variable with a long name is declared with a constraint, as '{text}:any'."
        )
        parser.fail(
            f"Unknown dtype '{text}'.", token.start, token.end, hint=hint, error=UnknownDtypeError
        )
    return dtype


@lru_cache(maxsize=1024)
def parse_signature(in_params: str, out_params: str, body: Body = "elementwise") -> Signature:
    """Parse two parameter strings.

    Parameters
    ----------
    in_params, out_params : str
        Comma-separated parameters; see the module's grammar.
    body : {"elementwise", "reduction"}
        What the parameters are for: its expressions have names of their own.

    Returns
    -------
    Signature

    Raises
    ------
    SignatureError
        The string does not follow the grammar, or a name is taken or used twice.
    UnknownDtypeError
        A type is neither a dtype nor a type variable. Also a ``TypeError``.

    Examples
    --------
    >>> signature = parse_signature("T x, raw float32 table, T a = 2", "T y")
    >>> [(p.name, p.ctype, p.raw) for p in signature.parameters]
    [('x', 'T', False), ('table', 'float', True), ('a', 'T', False), ('y', 'T', False)]
    """
    constraints: dict[str, str] = {}
    parsers = _Parser("in_params", in_params), _Parser("out_params", out_params)
    groups = [
        [
            _parse_one(parser, start, end, parser is parsers[0], constraints, body)
            for start, end in (comma_spans(parser.text, "()[]") if parser.text.strip() else ())
        ]
        for parser in parsers
    ]
    seen: set[str] = set()
    resolved: list[tuple[Parameter, ...]] = []
    for parser, group in zip(parsers, groups, strict=True):
        done: list[Parameter] = []
        for parameter, token in group:
            if parameter.name in seen:
                parser.fail(f"Parameter name '{parameter.name}' is used twice.", *parameter.span)
            seen.add(parameter.name)
            if (
                done
                and done[-1].default is not NO_DEFAULT
                and parameter.default is NO_DEFAULT
                and parameter.is_const
            ):
                parser.fail(
                    f"Parameter '{parameter.name}' has no default, but one before it has.",
                    *parameter.span,
                )
            dtype = _dtype_of(parser, token, constraints)
            if dtype is None and token.text in _TAKEN_BY_TYPES[body]:
                parser.fail(
                    f"Cannot use '{token.text}' as a type variable: it is "
                    f"{_TAKEN_BY_TYPES[body][token.text]} in the body.",
                    token.start,
                    token.end,
                )
            ctype = parameter.ctype if dtype is None else describe(dtype).ctype
            done.append(replace(parameter, dtype=dtype, ctype=ctype))
        resolved.append(tuple(done))
    for parameter in (*resolved[0], *resolved[1]):
        if parameter.dtype is None and parameter.ctype in seen:
            raise SignatureError(
                f"'{parameter.ctype}' is both a type variable and a parameter's name."
            )
    inputs, outputs = resolved
    return Signature(inputs, outputs, tuple(sorted(constraints.items())), in_params, out_params)
