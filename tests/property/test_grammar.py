"""The parameter grammar, for any text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kerneltk.backends.base import capabilities_of
from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.codegen.render import render
from kerneltk.codegen.template_input import template_input
from kerneltk.core.arrays import ArraySpec
from kerneltk.core.dtypes import dtype_names
from kerneltk.core.identifiers import CXX_KEYWORDS
from kerneltk.errors import SignatureError
from kerneltk.signature.parameters import CONSTRAINTS, NO_DEFAULT, Signature, parse_signature
from kerneltk.signature.resolve import Resolved, bind_types

from .examples import drawn

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
KNOWN_TYPES = frozenset(
    ["bool", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int",
     "long long", "unsigned long long", "float16", "bfloat16", "float", "double",
     "complex<float>", "complex<double>"]
)  # fmt: skip

pieces = st.sampled_from(
    ["raw", "_non_const", "T", "U", "x", "y", "i", "n", "_ind", "_raw_x", "float32", "int8", "<f4",
     ">i8", "U5", "O", "object", "datetime64", "Real", "any", "floating", ",", "=", ":", " ", "  ",
     "\n", "\t", "1", "-2.5", "1j", "0x1f", "1e999", "True", "inf", "(", ")", "[", "]", "'", '"',
     "*", ";", "}", "{{", "}}", "{%", "//", "/*", "#", "\\", "\0", "é", "\U0001d431",
     "operator", "__x"]
)  # fmt: skip
grammar_like = st.lists(pieces, max_size=14).map("".join) | st.lists(pieces, max_size=14).map(
    " ".join
)


def parsed(in_params: str, out_params: str) -> Signature | None:
    try:
        return parse_signature(in_params, out_params)
    except SignatureError as error:
        message = str(error)
        assert message.endswith((".", "^", "?")) or "\n" in message
        return None


@drawn(st.text(max_size=60), st.text(max_size=20), few=80, many=300)
def test_any_text_is_a_signature_or_a_signature_error(in_params: str, out_params: str) -> None:
    parsed(in_params, out_params)


@drawn(grammar_like, grammar_like, few=150, many=700)
def test_nearly_valid_text_is_a_signature_or_a_signature_error(first: str, second: str) -> None:
    signature = parsed(first, second)
    if signature is None:
        return
    names = [parameter.name for parameter in signature.parameters]
    assert len(set(names)) == len(names)
    for parameter in signature.parameters:
        assert IDENTIFIER.fullmatch(parameter.name)
        assert parameter.name not in CXX_KEYWORDS
        assert parameter.ctype is not None
        if parameter.dtype is None:
            assert IDENTIFIER.fullmatch(parameter.ctype)
            assert parameter.ctype not in CXX_KEYWORDS
        else:
            assert parameter.ctype in KNOWN_TYPES


names = st.from_regex(r"[a-zA-Z][a-zA-Z0-9_]{1,7}", fullmatch=True).filter(
    lambda name: name not in CXX_KEYWORDS
)
spaces = st.sampled_from([" ", "  ", "\t", "\n "])
optional = st.sampled_from(["", " ", "\n"])


@st.composite
def valid(draw: Any) -> tuple[str, list[tuple[Any, ...]]]:
    """Return a parameter string, and what each parameter must be parsed as."""
    found = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    parts, meant = [], []
    with_default = False
    for name in found:
        gap = draw(spaces)
        raw = draw(st.booleans()) and not with_default
        const = draw(st.booleans())
        words = ["raw"] * raw + ["_non_const"] * (not const)
        words = draw(st.permutations(words))
        dtype = draw(st.sampled_from([*dtype_names(), "T", "U", "Real", "Count"]))
        kind = {"Real": "floating", "Count": "any"}.get(dtype)
        text = dtype if kind is None else f"{dtype}{draw(optional)}:{draw(optional)}{kind}"
        default: Any = NO_DEFAULT
        with_default = with_default or (not raw and draw(st.booleans()))
        tail = ""
        if with_default:
            default = draw(
                st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.booleans()
            )
            tail = f"{draw(optional)}={draw(optional)}{default!r}"
        parts.append(draw(optional) + gap.join([*words, text, name]) + tail + draw(optional))
        variable = dtype in ("T", "U", "Real", "Count")
        meant.append((name, None if variable else dtype, raw, const, default))
    return ",".join(parts), meant


@drawn(valid(), few=50, many=200)
def test_a_valid_text_is_parsed_as_it_was_meant(
    generated: tuple[str, list[tuple[Any, ...]]],
) -> None:
    text, meant = generated
    signature = parse_signature(text, "")
    assert len(signature.inputs) == len(meant)
    for parameter, (name, dtype, raw, const, default) in zip(signature.inputs, meant, strict=True):
        assert parameter.name == name
        assert (parameter.dtype and parameter.dtype.name) == dtype
        assert (parameter.raw, parameter.is_const) == (raw, const)
        assert parameter.default == default
        assert text[slice(*parameter.span)].endswith(name)


def rendered(signature: Signature, backend: Any) -> str:
    """Return the text for float32 arrays and, for parameters with a default, numbers."""
    specs = [
        None
        if parameter.default is not NO_DEFAULT
        else ArraySpec.make(parameter.dtype or np.float32, (40, 36), order="F" if k % 2 else "C")
        for k, parameter in enumerate(signature.parameters)
    ]
    values = [parameter.default for parameter in signature.inputs]
    dtypes = [None if spec is None else spec.dtype for spec in specs]
    binding = bind_types(signature, dtypes, [1.0] * len(values))
    definition = ElementwiseDefinition(signature, "kernel", "", (), "")
    resolved = Resolved(binding, (40, 36), (40, 36), tuple(specs), "C")
    lowered = definition.schedule(resolved, capabilities_of(backend), None, None)
    assert lowered is not None
    return render(template_input(lowered.specialization))


def renamed(text: str, names: dict[str, str]) -> str:
    """Replace whole identifiers, and the generated names that end in them."""
    pattern = re.compile(rf"\b(_kt_[a-z]_|_kt_tile_)?({'|'.join(map(re.escape, names))})\b")
    return pattern.sub(lambda match: (match[1] or "") + names[match[2]], text)


@drawn(valid(), st.sampled_from(["cuda", "host"]), few=20, many=60)
def test_names_reach_the_text_as_whole_identifiers_only(
    generated: tuple[str, list[tuple[Any, ...]]], backend: str
) -> None:
    signature = parse_signature(generated[0], "")
    neutral = {f"placeholder{k}": p.name for k, p in enumerate(signature.parameters)}
    back = {name: placeholder for placeholder, name in neutral.items()}
    text = generated[0]
    for parameter in reversed(signature.inputs):
        end = parameter.span[1]
        text = text[: end - len(parameter.name)] + back[parameter.name] + text[end:]
    other = parse_signature(text, "")
    assert rendered(signature, backend) == renamed(rendered(other, backend), neutral)


@given(st.sampled_from(sorted(CONSTRAINTS)), st.sampled_from(dtype_names()))
def test_a_constraint_admits_what_numpy_says(constraint: str, name: str) -> None:
    from kerneltk.core.dtypes import as_dtype
    from kerneltk.signature.parameters import satisfies

    dtype = as_dtype(name)
    if name == "bfloat16":
        dtype = np.dtype(np.float32)  # NumPy's hierarchy does not know it as a number
    abstract = {"any": np.generic, "bool": np.bool_, "integral": np.integer}.get(constraint)
    if constraint == "real":
        meant = not np.issubdtype(dtype, np.complexfloating)
    else:
        meant = np.issubdtype(dtype, abstract or getattr(np, constraint))
    assert satisfies(as_dtype(name), constraint) == meant
