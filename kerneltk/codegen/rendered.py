"""Specialization -> TranslationUnit, remembered: rendering again costs more than reading.

The text of a unit is kept in the compile cache under a hash of everything that it is rendered
from, so that a process whose kernels are all cached loads neither Jinja nor the templates.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from kerneltk.cache.store import get_cache
from kerneltk.codegen.specialization import Specialization
from kerneltk.codegen.template_input import template_input
from kerneltk.core.artifacts import TranslationUnit

__all__ = ["translation_unit_of"]

_PACKAGE = Path(__file__).parents[1]


@cache
def _renderer_digest() -> bytes:
    """Return a hash of what makes a text of a template's input."""
    digest = hashlib.sha256()
    paths = [Path(__file__).with_name("render.py"), *sorted((_PACKAGE / "templates").glob("*.j2"))]
    for path in paths:
        data = path.read_bytes()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()


def translation_unit_of(specialization: Specialization) -> TranslationUnit:
    """Return the translation unit of a specialization, rendered or read from the cache."""
    given = template_input(specialization)
    key = hashlib.sha256(_renderer_digest() + given.digest().encode()).hexdigest()
    data = get_cache().get(key)
    if data is None:
        from kerneltk.codegen.render import render

        text = render(given)
        get_cache().put(key, text.encode("utf-8", "surrogatepass"))
    else:
        text = data.decode("utf-8", "surrogatepass")
    definition = specialization.definition
    return TranslationUnit(
        specialization.backend.name,
        text,
        definition.entry(specialization.backend),
        definition.options,
        definition.origins,
        definition.name,
        specialization.quick,
    )
