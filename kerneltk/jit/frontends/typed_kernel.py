"""Kernels on whole arrays that are made of functions of one element, and what the compile cache has
of them: their definitions, which a process that knows them needs not make of source again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kerneltk.codegen.body_facts import BodyFacts
from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.core.dtypes import as_dtype
from kerneltk.core.records import record
from kerneltk.elementwise import ElementwiseKernel
from kerneltk.errors import Snippet
from kerneltk.jit.frontends.analyses import Known
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.ir.types import Tuple, Type
from kerneltk.jit.source.function_source import origin_of
from kerneltk.launch.called import common_calls
from kerneltk.signature.parameters import Signature, parse_signature


@record
class UserSignature(Signature):
    """A signature whose messages show the user's function, and not the parameters made of it:
    one snippet an input, then one for all outputs.
    """

    snippets: tuple[Snippet, ...] = ()

    def snippet(self, index: int, label: str = "") -> Snippet:
        """Return the location of a parameter, or of the function's head for an output."""
        snippet = self.snippets[min(index, len(self.inputs))]
        return replace(snippet, label=label)


def user_signature(in_text: str, out_text: str, snippets: Sequence[Snippet]) -> UserSignature:
    """Return the signature of parameter strings, whose messages show the user's function."""
    parsed = parse_signature(in_text, out_text)
    return UserSignature(
        parsed.inputs,
        parsed.outputs,
        parsed.constraints,
        parsed.in_text,
        parsed.out_text,
        tuple(snippets),
    )


@common_calls("by count")
class TypedKernel(ElementwiseKernel):
    """A kernel whose function returns numbers."""

    def __init__(self, definition: ElementwiseDefinition) -> None:
        self._begin(definition)

    def arrays(self, *args: Any, **options: Any) -> Any:
        """Evaluate the function for every element, and return the arrays of its results."""
        return ElementwiseKernel.__call__(self, *args, **options)

    def made(self, arrays: Any) -> Any:
        """Return the result of a call, of the arrays that hold it."""
        return arrays


class _MakingKernel(TypedKernel):
    """One whose function returns a named tuple or a dataclass, which becomes one of arrays."""

    def __init__(self, definition: ElementwiseDefinition, make: Callable[..., Any]) -> None:
        super().__init__(definition)
        self._make = make

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate the function for every element."""
        return self.made(self.arrays(*args, **kwargs))

    def made(self, arrays: Any) -> Any:
        """Return the result of a call, of the arrays that hold it."""
        return self._make(*arrays)


def typed_kernel(definition: ElementwiseDefinition, result: Type) -> TypedKernel:
    """Return the kernel of a definition whose function returns values of type `result`."""
    if isinstance(result, Tuple) and result.maker is not None:
        return _MakingKernel(definition, result.maker)
    return TypedKernel(definition)


# -- their cached records --------------------------------------------------------------------------


_OF_DEFINITION = ("name", "preamble", "operation", "no_return", "return_tuple")
_OF_FACTS = ("by_reference", "loops", "traps", "local_memory")


def outcome_of(
    definition: ElementwiseDefinition,
    result: Type,
    stored: Sequence[np.dtype[Any]],
    index_ndim: int,
) -> Any:
    """Return a definition as a record has it, the dtypes of its outputs, and of how many dimensions
    the index is that the function asks for. None where that does not fit into a record.
    """
    signature, facts = definition.signature, definition.known_facts
    assert isinstance(signature, UserSignature)
    assert facts is not None
    names = [dtype.name for dtype in stored]
    has_class = isinstance(result, Tuple) and result.maker is not None
    if has_class or any(d.names is not None or as_dtype(d.name) != d for d in stored):
        return None
    return (
        signature.in_text,
        signature.out_text,
        [(snippet.start, snippet.end) for snippet in signature.snippets],
        {name: getattr(definition, name) for name in _OF_DEFINITION},
        [path for path, _ in definition.user_sources],
        [sorted(facts.observed), sorted(facts.overwritten)],
        {name: getattr(facts, name) for name in _OF_FACTS},
        names,
        index_ndim,
    )


def kernel_of_outcome(
    known: Known, own: Definition
) -> tuple[TypedKernel, tuple[np.dtype[Any], ...], int]:
    """Return the kernel, and what else `outcome_of` was given."""
    in_text, out_text, spans, defined, paths, (observed, overwritten), facts, names, index_ndim = (
        known.outcome
    )
    path, text = own.text
    origin = origin_of(path)
    definition = ElementwiseDefinition(
        user_signature(in_text, out_text, [Snippet(origin, text, *span) for span in spans]),
        options=own.all_options(),
        reduce_dims=False,
        known_facts=BodyFacts(frozenset(observed), overwritten=frozenset(overwritten), **facts),
        user_sources=known.origins(paths),
        **defined,
    )
    return TypedKernel(definition), tuple(map(as_dtype, names)), index_ndim
