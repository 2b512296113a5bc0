"""Template input -> text. The only user of Jinja; templates compute no types."""

from __future__ import annotations

from functools import cache

import jinja2

from kerneltk.codegen.template_input import TemplateInput

__all__ = ["render"]

_GENERATED = "generated code"


@cache
def _environment() -> jinja2.Environment:
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

    The line `back` stands behind each of the user's texts.
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
    """Return the text of a unit."""
    template = _environment().get_template(given.template)
    text = template.render(u={**given.context, "back": given.back})
    return _compact(given.prefix + text, given.back)
