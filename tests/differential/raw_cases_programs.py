"""Cases of ``program.cu``, which has a host's part as programs have it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .raw_support import RawCase, ints

FILE = "program.cu"
ELEMENT = np.dtype([("key", "i4"), ("weight", "f4")], align=True)
QUEUE = np.dtype([("first", "i4"), ("waiting", "u8"), ("last", "i4")], align=True)
PITCHED = np.dtype([("ptr", "u8"), ("pitch", "u8"), ("xsize", "u8"), ("ysize", "u8")])


def cases() -> Iterator[RawCase]:
    elements = np.zeros(70, ELEMENT)
    elements["key"], elements["weight"] = ints(70, -3, 3), ints(70, -9, 9)
    weights = np.array([(2, 0.5)], [("near", "f4"), ("far", "f4")])
    scaled = elements.copy()
    scaled["weight"] *= np.where(elements["key"] > 0, 2, 0.5)
    yield RawCase("program-base-class", FILE, "scale_elements", 2, 64,
        lambda: (elements.copy(), weights[0], 70),
        lambda e, w, n: {0: scaled})  # fmt: skip
    queue = np.zeros(1, QUEUE)
    queue["first"], queue["last"] = 3, 40
    yield RawCase("program-member-of-the-host", FILE, "queue_lengths", 1, 32,
        lambda: (ints(32, 0, 9), queue[0]),
        lambda x, q: {0: x + 37})  # fmt: skip
    lifting = np.float32(-1.586134342)
    yield RawCase("program-computed-constants", FILE, "lift", 1, 40,
        lambda: (ints(40, -9, 9, "f4"),),
        lambda x: {0: x * -lifting + lifting}, rtol=1e-6,
        why="one rounding of a fused multiply-add")  # fmt: skip
    yield RawCase("program-64-bit-types", FILE, "count_up", 1, 40,
        lambda: (ints(33, 0, 9, "u8"), 33),
        lambda x, n: {0: np.maximum(x, 5)})  # fmt: skip
    yield RawCase("program-statement-expressions", FILE, "largest", 1, 32,
        lambda: (ints(33, -9, 9), np.zeros(32, "i4")),
        lambda x, y: {1: np.maximum(np.maximum(x[:-1], x[1:]), 3) + 2})  # fmt: skip
    yield RawCase("program-types-of-libraries", FILE, "conjugate", 1, 16,
        lambda: (ints(16, -9, 9, "f4") + 1j * ints(16, -9, 9, "f4"), ints(16, -9, 9, "f2"),
                 ints(16, -9, 9, "f8") + 1j * ints(16, -9, 9, "f8")),
        lambda x, h, z: {0: x.conj(), 1: 2 * h, 2: z.conj()})  # fmt: skip
    pitched = np.zeros(1, PITCHED)
    pitched["pitch"], pitched["xsize"], pitched["ysize"] = 512, 3, 20
    yield RawCase("program-pitched-memory", FILE, "offsets_of_rows", 1, 32,
        lambda: (pitched[0], np.zeros(32, "u8")),
        lambda p, x: {1: np.where(np.arange(32) < 20, 512 * np.arange(32) + 3, 0)})  # fmt: skip
    yield RawCase("program-std-size", FILE, "add_size<7>", 1, 16,
        lambda: (ints(16, -9, 9),),
        lambda x: {0: x + 7})  # fmt: skip
    yield RawCase("program-functor-of-the-host", FILE, "apply<Squares>", 1, 16,
        lambda: (np.void(b"\0"), ints(16, -9, 9)),
        lambda f, x: {1: x * x})  # fmt: skip
