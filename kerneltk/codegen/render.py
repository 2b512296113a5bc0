"""Specialization -> TranslationUnit. The only user of Jinja; templates compute no types.

To render a source costs more than to read it. So it is cached under a hash of
its template and input, and a process whose kernels are all cached loads neither Jinja
nor the templates.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from kerneltk.cache.derived import derive
from kerneltk.codegen.specialization import Specialization
from kerneltk.codegen.template_input import TemplateInput, template_input
from kerneltk.core.artifacts import TranslationUnit

if TYPE_CHECKING:
    import jinja2

_GENERATED = "generated code"


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("kerneltk", "templates"),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=False,
        lstrip_blocks=False,
        keep_trailing_newline=True,
    )


def _compact(text: str, back: str) -> str:
    """Drop empty lines that control statements leave, and number the generated lines.

    The line `back` stands behind each of the user's sources.
    """
    lines: list[str] = []
    user_text = False
    for line in text.split("\n"):
        if line == back:
            user_text = False
            lines.append(f'#line {len(lines) + 2} "{_GENERATED}"')
        elif line.startswith('#line 1 "'):
            user_text = True
            lines.append(line)
        elif user_text or line.strip():
            lines.append(line.rstrip() if not user_text else line)
    return "\n".join(lines) + "\n"


def render(given: TemplateInput) -> str:
    """Return the source of a unit."""
    template = _environment().get_template(given.template)
    back = given.back
    return _compact(given.prefix + template.render(u={**given.context, "back": back}), back)


def _source(record: object) -> str:
    if not isinstance(record, str):
        raise TypeError("This is no source.")
    return record


def translation_unit_of(specialization: Specialization) -> TranslationUnit:
    """Return the translation unit of a specialization, rendered or read from the cache."""
    given = template_input(specialization)
    source = derive("source", (given.digest(),), lambda: render(given), _source)
    definition = specialization.definition
    return TranslationUnit(
        specialization.backend.name,
        source,
        definition.entry(specialization.backend),
        definition.options,
        definition.origins,
        definition.name,
        specialization.fast_compile,
    )
