"""Specialization -> TranslationUnit, remembered: rendering again costs more than reading.

The text of a unit is kept in the compile cache under a hash of everything that it is rendered
from, so that a process whose kernels are all cached loads neither Jinja nor the templates.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from kerneltk.cache import get_cache
from kerneltk.dtypes import describe
from kerneltk.lowered import Specialization
from kerneltk.units import TranslationUnit

__all__ = ["translation_unit_of"]

_PACKAGE = Path(__file__).parent
# What decides the text of a unit, beside the specialization itself.
_RENDERERS = (
    "render.py", "context.py", "context_elementwise.py", "context_reduction.py",
    "accumulator.py", "specialize.py", "specialize_reduction.py", "lowered.py",
    "definition.py", "arguments.py", "bodytext.py", "layout.py", "strategy.py", "dtypes.py",
    "types.py",
)  # fmt: skip


@cache
def _renderer_digest() -> bytes:
    digest = hashlib.sha256()
    paths = [_PACKAGE / name for name in _RENDERERS]
    paths += sorted((_PACKAGE / "templates").glob("*.j2"))
    for path in paths:
        data = path.read_bytes()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()


def _key(specialization: Specialization) -> str:
    definition = specialization.definition
    facts = (
        specialization.template,
        specialization.backend,
        tuple((p.name, p.ctype, p.raw, p.is_const) for p in definition.signature.parameters),
        definition.name,
        definition.preamble,
        definition.options,
        definition.texts,
        tuple(describe(dtype).ctype for dtype in specialization.binding.dtypes),
        tuple((name, describe(dtype).ctype) for name, dtype in specialization.binding.variables),
        specialization.facts,
    )
    return hashlib.sha256(_renderer_digest() + repr(facts).encode()).hexdigest()


def translation_unit_of(specialization: Specialization) -> TranslationUnit:
    """Return the translation unit of a specialization, rendered or read from the cache."""
    key = _key(specialization)
    data = get_cache().get(key)
    definition = specialization.definition
    if data is None:
        from kerneltk.render import render

        unit = render(specialization)
        get_cache().put(key, unit.source.encode("utf-8", "surrogatepass"))
        return unit
    return TranslationUnit(
        specialization.backend,
        data.decode("utf-8", "surrogatepass"),
        definition.entry,
        definition.options,
        definition.origins,
        definition.name,
        specialization.quick,
    )
