"""Kernels that read textures, and the same reads in NumPy after CUDA's documentation.

The reference computes in float64 with exact weights. CUDA's have 8 bits behind the point: a fetch
is off by at most half a unit of those for each axis, times what neighbours differ by. A GPU may
round otherwise, and is given a whole unit.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import kerneltk

TYPES = {
    "int8": "char", "int16": "short", "int32": "int",
    "uint8": "uchar", "uint16": "ushort", "uint32": "uint", "float32": "float",
}  # fmt: skip
SHAPES: list[tuple[int, ...]] = [(13,), (5, 7), (3, 4, 6)]
INTEGERS = [
    ("int8", SHAPES[0], 1), ("int16", SHAPES[1], 2), ("int32", SHAPES[2], 4),
    ("uint8", SHAPES[1], 4), ("uint16", SHAPES[2], 1), ("uint32", SHAPES[0], 2),
]  # fmt: skip
"""Textures that give integers: dtype, shape of texels, channels."""

CODE = r"""
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
template <class T>
__global__ void fetch1(cudaTextureObject_t t, const int* x, T* y, int n) {
    if (AT < n) y[AT] = tex1Dfetch<T>(t, x[AT]);
}
template <class T>
__global__ void sample1(cudaTextureObject_t t, const float3* x, T* y, int n) {
    if (AT < n) y[AT] = tex1D<T>(t, x[AT].x);
}
template <class T>
__global__ void sample2(cudaTextureObject_t t, const float3* x, T* y, int n) {
    if (AT < n) tex2D(&y[AT], t, x[AT].x, x[AT].y);
}
template <class T>
__global__ void levels2(cudaTextureObject_t t, const float3* x, T* y, int n) {
    if (AT < n) y[2 * AT] = tex2DLod<T>(t, x[AT].x, x[AT].y, 0.0f);
    if (AT < n) y[2 * AT + 1] = tex2DGrad<T>(t, x[AT].x, x[AT].y, float2(), float2());
}
template <class T>
__global__ void sample3(cudaTextureObject_t t, const float3* x, T* y, int n) {
    if (AT < n) y[AT] = tex3D<T>(t, x[AT].x, x[AT].y, x[AT].z);
}
template <class T>
__global__ void layered1(cudaTextureObject_t t, const float3* x, T* y, int n) {
    if (AT < n) y[AT] = tex1DLayered<T>(t, x[AT].x, int(x[AT].z));
}
template <class T>
__global__ void layered2(cudaTextureObject_t t, const float3* x, T* y, int n) {
    if (AT < n) y[AT] = tex2DLayered<T>(t, x[AT].x, x[AT].y, int(x[AT].z));
}
template <class T>
__global__ void gather(cudaTextureObject_t t, const float3* x, T* y, int channel, int n) {
    if (AT < n) y[AT] = tex2Dgather<T>(t, x[AT].x, x[AT].y, channel);
}
"""
NAMES = [
    *(f"sample{len(shape)}<{TYPES[dtype]}{channels}>" for dtype, shape, channels in INTEGERS),
    *(f"sample{axes}<float{channels}>" for axes in (1, 2, 3) for channels in (1, 2, 4)),
    *("fetch1<float1>", "fetch1<float2>", "fetch1<uint1>", "gather<float4>", "levels2<float1>"),
    *("layered1<float2>", "layered2<float1>", "layered2<uchar4>"),
]


@cache
def module() -> kerneltk.RawModule:
    """The kernels, compiled once."""
    return kerneltk.RawModule(code=CODE, name_expressions=NAMES)


class Texture(NamedTuple):
    """A texture and how it is read.

    Parameters
    ----------
    dtype : str
    shape : tuple of int
        Of texels; the first extent is that of layers if it is layered.
    channels : int
    filter, address, normalized, read, layered
        See `kerneltk.texture`; `address` has a mode for each axis, along x first.
    border : tuple of float
    """

    dtype: str
    shape: tuple[int, ...]
    channels: int = 1
    filter: str = "point"
    address: tuple[str, ...] = ("clamp", "clamp", "clamp")
    normalized: bool = False
    read: str = "element"
    layered: bool = False
    border: tuple[float, ...] = (0.0,)

    @property
    def extents(self) -> tuple[int, ...]:
        """The texels along x, y and z."""
        return self.shape[:0:-1] if self.layered else self.shape[::-1]

    @property
    def component(self) -> str:
        """The dtype that is read."""
        is_float = self.dtype == "float16" or self.read == "normalized"
        return "float32" if is_float else self.dtype

    @property
    def kernel(self) -> str:
        """The name of the kernel that reads it."""
        kind = "layered" if self.layered else "sample"
        return f"{kind}{len(self.extents)}<{TYPES[self.component]}{self.channels}>"

    def elements(self, seed: int) -> np.ndarray[Any, Any]:
        """Elements at random."""
        random = np.random.default_rng(seed)
        shape = (*self.shape, self.channels)
        if self.dtype.startswith("float"):
            return random.uniform(-4, 4, shape).astype(self.dtype)
        limits = np.iinfo(self.dtype)
        return random.integers(limits.min, limits.max, shape, self.dtype, endpoint=True)

    def made(self, array: Any) -> Any:
        """The texture object of an array with these elements."""
        plain = array[..., 0] if self.channels == 1 else array
        border: Any = self.border if len(self.border) > 1 else self.border[0]
        return kerneltk.texture(
            plain.copy(),
            filter=self.filter,  # type: ignore[arg-type]
            address=self.address[: len(self.extents)],  # type: ignore[arg-type]
            normalized=self.normalized,
            read=self.read,  # type: ignore[arg-type]
            border=border if self.has_border else 0.0,
            channels=self.channels if self.channels > 1 else None,
            layered=self.layered,
        )

    @property
    def has_border(self) -> bool:
        """Whether the border's colour counts."""
        modes = self.address[: len(self.extents)]
        return self.component == "float32" and "border" in modes


def as_read(texture: Texture, elements: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements as a fetch gives them."""
    if texture.read == "normalized":
        most = float(np.iinfo(elements.dtype).max)
        return np.maximum(elements / most, -1.0)
    return elements.astype(np.float64)


def _texel(mode: str, index: np.ndarray[Any, Any], extent: int) -> np.ndarray[Any, Any]:
    """The number of a texel beyond the others; -1 is the border."""
    if mode == "border":
        return np.where((index >= 0) & (index < extent), index, -1)
    if mode == "wrap":
        return index % extent
    if mode == "mirror":
        index = index % (2 * extent)
        return np.where(index < extent, index, 2 * extent - 1 - index)
    return np.clip(index, 0, extent - 1)


def sampled(
    texture: Texture,
    elements: np.ndarray[Any, Any],
    at: np.ndarray[Any, Any],
    units: int = 0,
) -> np.ndarray[Any, Any]:
    """What fetches at coordinates give, of shape (n, 3): x, y, and z or the layer. Returns float64
    of shape (n, channels). Weights are rounded to multiples of one `units`-th, if that is not 0.

    Texels are numbered before an address mode is applied: that is the same as applying it to the
    coordinates first, since those modes go by whole texels.
    """
    values = as_read(texture, elements)
    colours = (*texture.border, 0.0, 0.0, 0.0, 0.0)[: texture.channels]
    if len(texture.border) == 1:
        colours = texture.border * texture.channels
    border = np.array(colours if texture.has_border else (0.0,) * texture.channels)
    extents, corners = texture.extents, []
    for axis, extent in enumerate(extents):
        x = at[:, axis].astype(np.float64) * (extent if texture.normalized else 1)
        if texture.filter == "point":
            corners.append([(np.floor(x).astype(int), np.ones(len(x)))])
            continue
        low = np.floor(x - 0.5)
        rest = x - 0.5 - low
        if units:
            rest = np.floor(rest * units + 0.5) / units
        corners.append([(low.astype(int), 1 - rest), (low.astype(int) + 1, rest)])
    result = np.zeros((len(at), texture.channels))
    for choice in itertools.product(*corners):
        weight = np.prod([w for _, w in choice], axis=0)
        places = [_texel(texture.address[k], i, extents[k]) for k, (i, _) in enumerate(choice)]
        outside = np.any([place < 0 for place in places], axis=0)
        index = [np.maximum(place, 0) for place in reversed(places)]
        if texture.layered:
            index.insert(0, at[:, 2].astype(int))
        texels = np.where(outside[:, None], border, values[tuple(index)])
        result += weight[:, None] * texels
    return result


def coordinates(texture: Texture, count: int, seed: int) -> np.ndarray[Any, Any]:
    """Coordinates within and beyond the texels, of shape (count, 3).

    They are half a 32nd of a texel away from where the nearest one changes, at least.
    """
    random = np.random.default_rng(seed)
    at = np.zeros((count, 3), np.float32)
    for axis, extent in enumerate(texture.extents):
        texels = random.integers(-2 * extent - 3, 3 * extent + 3, count)
        texels = np.where(random.random(count) < 0.6, texels % extent, texels)
        x = texels + (random.integers(0, 32, count) + 0.5) / 32
        if texture.filter == "linear":
            x = texels + random.random(count)
        at[:, axis] = x / extent if texture.normalized else x
    if texture.layered:
        at[:, 2] = random.integers(0, texture.shape[0], count)
    return at


def check(backend: Any, texture: Texture, seed: int = 0, count: int = 200) -> None:
    """Read a texture on a backend, and compare."""
    elements = texture.elements(seed)
    at = coordinates(texture, count, seed + 1)
    object_ = texture.made(backend.asarray(elements))
    y = backend.xp.empty((count, texture.channels), texture.component)
    module().get_function(texture.kernel)(
        (-(-count // 64),), (64,), (object_, backend.asarray(at), y, count)
    )
    expected = sampled(texture, elements, at)
    got = backend.asnumpy(y).astype(np.float64)
    if texture.component != "float32":
        np.testing.assert_array_equal(got, expected)
        return
    values = as_read(texture, elements)
    spread = np.ptp(np.append(values, texture.border)) + 1e-6
    tolerance = 2e-6 * max(1.0, np.abs(values).max())
    if texture.filter == "linear":
        unit = 1 / 512 if backend.name == "host" else 1 / 256
        # Coordinates are float32, which a normalized one is multiplied as.
        rounded = max(texture.extents) * 2.0**-20 if texture.normalized else 2.0**-18
        tolerance += len(texture.extents) * (unit + rounded) * spread
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)
