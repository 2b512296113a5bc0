"""Random textures, modes and coordinates: what kernels read is what CUDA's documentation says."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ..conftest import Backend
from ..differential.texture_support import Texture, check
from .examples import drawn

HOST = Backend("host", np)
MODES = {True: ("wrap", "clamp", "mirror", "border"), False: ("clamp", "border")}


@st.composite
def textures(draw: st.DrawFn) -> Texture:
    """A texture that gives floats."""
    normalized = draw(st.booleans())
    dtype = draw(st.sampled_from(["float32", "float16", "int8", "int16", "uint8", "uint16"]))
    channels = draw(st.sampled_from([1, 2, 4]))
    colours = st.floats(-4, 4, width=32)
    return Texture(
        dtype,
        tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))),
        channels,
        draw(st.sampled_from(["point", "linear"])),
        tuple(draw(st.sampled_from(MODES[normalized])) for _ in range(3)),
        normalized,
        "element" if dtype.startswith("float") else "normalized",
        border=tuple(draw(st.lists(colours, min_size=channels, max_size=channels))),
    )


@drawn(textures(), st.integers(0, 2**31), few=40, many=5000)
def test_every_texture_is_read_as_documented(texture: Texture, seed: int) -> None:
    check(HOST, texture, seed, count=50)
