"""Records: copies that are assigned to, references that would outlive what they refer to."""

from __future__ import annotations

import numpy as np

from kerneltk import jit

from .jit_refused_programs_support import Table

TABLE = Table()
refused = TABLE.refused

INNER = np.dtype([("n", "i4"), ("w", "f4", 3)], align=True)
RECORDS = np.zeros(
    4, np.dtype([("g", "f8", 2), ("h", "f8"), ("i", INNER), ("q", INNER, 2)], align=True)
)


def changed(r):
    r.h = 4


def of_its_own():
    own = jit.local_memory(RECORDS.dtype, 2)
    return own[1]


def either(x, c):
    if c:
        return x[0]
    return x[1].copy()


TABLE.read("jit_records", globals())
