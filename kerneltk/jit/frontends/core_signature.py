"""Signatures of functions of small arrays: ``(m,n),(n)->(m)``, as NumPy's gufuncs have them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kerneltk.core.arrays import broadcast_shapes
from kerneltk.core.records import record
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    SignatureError,
    Snippet,
    render_message,
)

Dimension = str | int
Core = tuple[Dimension, ...]

# As NumPy's: cores in parentheses, of names and numbers.
_DIMENSION = r"\s*(?:[^\W\d]\w*|[0-9]+)\s*"
_CORE = rf"\s*\((?:{_DIMENSION}(?:,{_DIMENSION})*|\s*)\)\s*"
_SIGNATURE = re.compile(rf"({_CORE}(?:,{_CORE})*)->({_CORE}(?:,{_CORE})*)")
_HINT = "a signature is written as '(m,n),(n)->(m)' or '(n)->(),()'."


@record
class CoreSignature:
    """The core dimensions of each input and each output; an int is an extent that is known."""

    text: str
    inputs: tuple[Core, ...]
    outputs: tuple[Core, ...]

    def resolve(
        self, name: str, names: Sequence[str], shapes: Sequence[tuple[int, ...]]
    ) -> tuple[dict[str, int], tuple[int, ...]]:
        """Return the extents of the named dimensions, and the shape of the loop around the core.

        Raises
        ------
        ArgumentValueError
            Shapes have too few dimensions, or do not go together.
        """
        sizes: dict[str, int] = {}
        of: dict[str, str] = {}
        loop: tuple[int, ...] = ()
        for parameter, core, shape in zip(names, self.inputs, shapes, strict=True):
            if len(shape) < len(core):
                raise ArgumentValueError(
                    f"The argument for '{parameter}' of '{name}' has {len(shape)} "
                    f"dimension{'s' * (len(shape) != 1)}, and '{self.text}' asks for "
                    f"{'at least ' if len(core) else ''}{len(core)}."
                )
            outer, inner = shape[: len(shape) - len(core)], shape[len(shape) - len(core) :]
            for dimension, extent in zip(core, inner, strict=True):
                if isinstance(dimension, int):
                    if extent != dimension:
                        raise ArgumentValueError(
                            f"The argument for '{parameter}' of '{name}' has {extent} elements "
                            f"where '{self.text}' asks for {dimension}."
                        )
                elif sizes.setdefault(dimension, extent) != extent:
                    raise ArgumentValueError(
                        f"Dimension '{dimension}' of '{self.text}' has {sizes[dimension]} elements "
                        f"in the argument for '{of[dimension]}' of '{name}', and {extent} in the "
                        f"one for '{parameter}'."
                    )
                else:
                    of.setdefault(dimension, parameter)
            try:
                loop = broadcast_shapes(loop, outer)
            except ValueError:
                raise ArgumentValueError(
                    f"The arguments of '{name}' cannot be broadcast: around their cores "
                    f"'{self.text}' they have the shapes "
                    + ", ".join(
                        str(s[: len(s) - len(c)])
                        for s, c in zip(shapes, self.inputs, strict=True)
                        if len(s) >= len(c)
                    )
                    + "."
                ) from None
        return sizes, loop


def parse_core_signature(text: object) -> CoreSignature:
    """Read a signature.

    Raises
    ------
    ArgumentTypeError, SignatureError
        It is no str, or no signature.

    Examples
    --------
    >>> parse_core_signature("(m, n), (3) -> (), (m)").outputs
    ((), ('m',))
    """
    if not isinstance(text, str):
        raise ArgumentTypeError(
            f"'signature' must be a str, not an object of type '{type(text).__name__}'.\n"
            f"  Hint: {_HINT}"
        )
    match = _SIGNATURE.fullmatch(text)
    if match is None:
        snippet = Snippet("signature", text, 0, max(len(text), 1))
        sentence = "This is no signature of a vectorized function."
        raise SignatureError(render_message(sentence, snippet, hint=_HINT))
    return CoreSignature(re.sub(r"\s+", "", text), *map(_cores, match.groups()))


def _cores(part: str) -> tuple[Core, ...]:
    """Return the dimensions of each core of a part that the grammar has."""
    cores = re.findall(r"\(([^)]*)\)", part)
    words = [[word.strip() for word in core.split(",") if word.strip()] for core in cores]
    return tuple(tuple(int(w) if w.isdecimal() else w for w in core) for core in words)
