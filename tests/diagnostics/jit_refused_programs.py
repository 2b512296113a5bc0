"""All programs that are refused, each with its message."""

from __future__ import annotations

from . import (
    jit_refused_programs_names,
    jit_refused_programs_records,
    jit_refused_programs_syntax,
    jit_refused_programs_threads,
)
from .jit_refused_programs_support import Refused, Table

TYPES = Table()
TYPES.read("jit_types", {})

PROGRAMS: list[Refused] = [
    *jit_refused_programs_syntax.TABLE,
    *jit_refused_programs_names.TABLE,
    *TYPES,
    *jit_refused_programs_records.TABLE,
    *jit_refused_programs_threads.TABLE,
]
