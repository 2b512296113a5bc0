"""Textures and surfaces on both backends, against NumPy."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import ArgumentTypeError, ArgumentValueError

from .texture_support import (
    INTEGERS,
    SHAPES,
    Texture,
    check,
    coordinates,
    module,
    sampled,
)

UNNORMALIZED = ("clamp", "border")
MODES = ("wrap", "clamp", "mirror", "border")


def cases() -> list[Texture]:
    """Every dtype and number of channels; every filter and address mode along each axis."""
    found = [Texture(dtype, shape, channels) for dtype, shape, channels in INTEGERS]
    found += [Texture("float16", shape, 1) for shape in SHAPES]
    for shape in SHAPES:
        for k in range(4):
            along = tuple(MODES[(k + axis) % 4] for axis in range(3))
            for filter_ in ("point", "linear"):
                border = (0.5, -1.5, 2.5, 3.5)[: 1 + k % 2]
                found.append(
                    Texture("float32", shape, 1 + k % 2, filter_, along, True, border=border)
                )
        for mode in UNNORMALIZED:
            found.append(Texture("float32", shape, 4, "linear", (mode,) * 3, border=(0.25,)))
            found.append(Texture("float16", shape, 1, "linear", (mode,) * 3))
    for dtype in ("int8", "int16", "uint8", "uint16"):
        for filter_ in ("point", "linear"):
            found.append(
                Texture(dtype, (5, 7), 2, filter_, ("border", "clamp", "clamp"), read="normalized")
            )
    found += [Texture("float32", (4, 5, 6), 1, "linear", layered=True)]
    found += [Texture("uint8", (4, 5, 6), 4, "point", layered=True)]
    return found


@pytest.mark.parametrize("texture", cases(), ids=lambda t: "-".join(map(str, t)))
def test_what_is_sampled(backend: Any, texture: Texture) -> None:
    is_row = len(texture.shape) == 1 and texture.filter == "linear"
    if backend.name == "cuda" and is_row and texture.address[0] == "border":
        pytest.skip("GPUs put half of the border's colour into filtered rows (docs/textures.md)")
    check(backend, texture)


def test_weights_on_the_host_have_eight_bits() -> None:
    """Round to nearest, as the example of ``tex2Dgather`` in CUDA's guide says."""
    for shape in SHAPES:
        texture = Texture("float32", shape, 2, "linear", ("border", "clamp", "border"))
        elements, at = texture.elements(1), coordinates(texture, 500, 2)
        got = np.empty((500, 2), np.float32)
        module().get_function(texture.kernel)((8,), (64,), (texture.made(elements), at, got, 500))
        np.testing.assert_allclose(got, sampled(texture, elements, at, 256), rtol=0, atol=4e-6)


# -- other reads --------------------------------------------------------------------------------


def test_linear_memory_is_referred_to(backend: Any) -> None:
    x = backend.asarray(np.arange(8, dtype=np.float32).reshape(4, 2))
    texture = kerneltk.texture(x, memory="linear", channels=2)
    at = backend.asarray(np.array([0, 3, 4, -1], np.int32))
    y = backend.xp.empty((4, 2), np.float32)
    kernel = module().get_function("fetch1<float2>")
    kernel((1,), (4,), (texture, at, y, 4))
    np.testing.assert_array_equal(backend.asnumpy(y), [[0, 1], [6, 7], [0, 0], [0, 0]])
    x[...] = 5
    kernel((1,), (4,), (texture, at, y, 4))
    np.testing.assert_array_equal(backend.asnumpy(y)[:2], np.full((2, 2), 5))


def test_linear_memory_read_as_normalized_floats(backend: Any) -> None:
    x = backend.asarray(np.array([-32768, -32767, 0, 32767], np.int16))
    texture = kerneltk.texture(x, memory="linear", read="normalized")
    y = backend.xp.empty(4, np.float32)
    at = backend.xp.arange(4, dtype=np.int32)
    module().get_function("fetch1<float1>")((1,), (4,), (texture, at, y, 4))
    np.testing.assert_array_equal(backend.asnumpy(y), np.array([-1, -1, 0, 1], np.float32))


def test_pitched_memory(backend: Any) -> None:
    elements = np.arange(3 * 16, dtype=np.float32).reshape(3, 16)
    x = backend.asarray(elements)
    texture = kerneltk.texture(x, memory="pitch2D", filter="linear")
    at = np.array([[2, 1.5, 0], [15.5, 2.5, 0]], np.float32)
    y = backend.xp.empty(2, np.float32)
    module().get_function("sample2<float1>")((1,), (2,), (texture, backend.asarray(at), y, 2))
    np.testing.assert_allclose(backend.asnumpy(y), [17.5, 47], atol=1e-5)
    y = backend.xp.empty((2, 2), np.float32)  # there is one level
    module().get_function("levels2<float1>")((1,), (2,), (texture, backend.asarray(at), y, 2))
    np.testing.assert_allclose(backend.asnumpy(y), [[17.5] * 2, [47] * 2], atol=1e-5)


def test_gathered_texels(backend: Any) -> None:
    """CUDA's guide: the coordinate 2.49805 is rounded to where the weight would be 1."""
    elements = np.arange(5 * 6 * 4, dtype=np.float32).reshape(5, 6, 4)
    texture = kerneltk.texture(backend.asarray(elements), channels=4, gather=True)
    at = np.array([[2.0, 2.0, 0], [2.49805, 2.0, 0], [0.25, 4.75, 0]], np.float32)
    y = backend.xp.empty((3, 4), np.float32)
    kernel = module().get_function("gather<float4>")
    for channel in (0, 2):
        kernel((1,), (3,), (texture, backend.asarray(at), y, channel, 3))
        plane = elements[..., channel]
        corners = [(1, 1), (2, 1), (-1, 4)]
        expected = [
            [plane[min(max(j, 0), 4), min(max(i, 0), 5)] for i, j in _corner(*corner)]
            for corner in corners
        ]
        np.testing.assert_array_equal(backend.asnumpy(y), expected)


def _corner(i: int, j: int) -> list[tuple[int, int]]:
    return [(i, j + 1), (i + 1, j + 1), (i + 1, j), (i, j)]


CUBES = r"""
extern "C" __global__ void look(cudaTextureObject_t one, cudaTextureObject_t many, const float3* at,
                                const int* layer, float* y, float* z, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = texCubemap<float>(one, at[i].x, at[i].y, at[i].z);
    texCubemapLayered(&z[i], many, at[i].x, at[i].y, at[i].z, layer[i]);
}
extern "C" __global__ void number_faces(cudaSurfaceObject_t s) {
    surfCubemapwrite(100.0f * threadIdx.z + 10 * threadIdx.y + threadIdx.x, s, threadIdx.x * 4,
                     threadIdx.y, threadIdx.z);
}
"""


def looked_up(faces: np.ndarray[Any, Any], at: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The nearest texel of a cubemap, by the table of "Cubemap Textures" in CUDA's guide."""
    found = []
    for x, y, z in at.astype(np.float64):
        most = max(abs(x), abs(y), abs(z))
        table = {
            (0, True): (0, -z, -y), (0, False): (1, z, -y), (1, True): (2, x, z),
            (1, False): (3, x, -z), (2, True): (4, x, -y), (2, False): (5, -x, -y),
        }  # fmt: skip
        axis = [abs(x), abs(y), abs(z)].index(most)
        face, s, t = table[axis, (x, y, z)[axis] >= 0]
        extent = faces.shape[-1]
        column, row = (int((v / most + 1) / 2 * extent) for v in (s, t))
        found.append(faces[face, row, column])
    return np.array(found)


@pytest.mark.exhaustive
def test_cubemaps(backend: Any) -> None:
    random = np.random.default_rng(5)
    faces = random.random((18, 5, 5)).astype(np.float32)
    at = random.uniform(-1, 1, (500, 3)).astype(np.float32)
    # Where the nearest texel and the face are certain.
    most = np.sort(np.abs(at), axis=1)
    scaled = (at / most[:, 2:] + 1) / 2 * 5
    edge = np.abs(scaled - np.round(scaled)).min(axis=1, where=np.abs(at) < most[:, 2:], initial=1)
    at = at[(edge > 0.02) & (most[:, 2] - most[:, 1] > 0.01)]
    layer = random.integers(0, 3, len(at)).astype(np.int32)
    words: Any = {"cubemap": True, "normalized": True}
    one = kerneltk.texture(backend.asarray(faces[:6]), **words)
    many = kerneltk.texture(backend.asarray(faces), layered=True, **words)
    program = kerneltk.RawModule(code=CUBES)
    y, z = (backend.xp.empty(len(at), np.float32) for _ in range(2))
    program.get_function("look")(
        (-(-len(at) // 64),), (64,),
        (one, many, backend.asarray(at), backend.asarray(layer), y, z, len(at)),
    )  # fmt: skip
    np.testing.assert_array_equal(backend.asnumpy(y), looked_up(faces[:6], at))
    for k in range(3):
        chosen = layer == k
        expected = looked_up(faces[6 * k : 6 * k + 6], at[chosen])
        np.testing.assert_array_equal(backend.asnumpy(z)[chosen], expected)

    cube = kerneltk.surface(backend.asarray(np.zeros((6, 4, 4), np.float32)), cubemap=True)
    program.get_function("number_faces")((1,), (4, 4, 6), (cube,))
    face, row, column = np.mgrid[:6, :4, :4]
    got = backend.asnumpy(kerneltk.textures.contents(cube))
    np.testing.assert_array_equal(got, 100 * face + 10 * row + column)


# -- surfaces -----------------------------------------------------------------------------------

SURFACES = r"""
#define S cudaSurfaceObject_t
extern "C" __global__ void write1(S s, int n, cudaSurfaceBoundaryMode mode) {
    int x = int(threadIdx.x) - 1;
    surf1Dwrite(make_short2(x, -x), s, x * 4, mode);
}
extern "C" __global__ void twice2(S s, int width, int height) {
    int x = threadIdx.x, y = threadIdx.y;
    if (x >= width || y >= height) return;
    float4 v = surf2Dread<float4>(s, x * 16, y);
    v.x *= 2; v.y += y; v.z += x; v.w = 0;
    surf2Dwrite(v, s, x * 16, y);
}
extern "C" __global__ void read3(S s, int* y, cudaSurfaceBoundaryMode mode) {
    int v;
    surf3Dread(&v, s, (int(threadIdx.x) - 1) * 4, threadIdx.y, threadIdx.z, mode);
    y[threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)] = v;
}
extern "C" __global__ void layers(S s) {
    unsigned char v = surf2DLayeredread<unsigned char>(s, threadIdx.x, threadIdx.y, threadIdx.z);
    surf2DLayeredwrite((unsigned char)(v + threadIdx.z), s, threadIdx.x, threadIdx.y, threadIdx.z);
}
"""


@pytest.mark.exhaustive
def test_surfaces(backend: Any) -> None:
    program = kerneltk.RawModule(code=SURFACES)
    zero, clamp = 0, 1
    row = kerneltk.surface(backend.asarray(np.zeros((4, 2), np.int16)), channels=2)
    program.get_function("write1")((1,), (6,), (row, 4, zero))
    expected = np.array([[0, 0], [1, -1], [2, -2], [3, -3]])
    np.testing.assert_array_equal(backend.asnumpy(kerneltk.textures.contents(row)), expected)

    elements = np.arange(3 * 2 * 4, dtype=np.float32).reshape(2, 3, 4)
    image = kerneltk.surface(backend.asarray(elements), channels=4)
    program.get_function("twice2")((1,), (4, 4), (image, 3, 2))
    y, x = np.mgrid[:2, :3]
    expected = np.stack(
        [elements[..., 0] * 2, elements[..., 1] + y, elements[..., 2] + x, 0 * x], axis=-1
    )
    np.testing.assert_array_equal(backend.asnumpy(kerneltk.textures.contents(image)), expected)

    elements = np.arange(1, 13, dtype=np.int32).reshape(2, 2, 3)
    volume = kerneltk.surface(backend.asarray(elements))
    for mode in (zero, clamp):
        got = backend.xp.empty((2, 2, 5), np.int32)
        program.get_function("read3")((1,), (5, 2, 2), (volume, got, mode))
        padded = np.pad(elements, ((0, 0), (0, 0), (1, 1)), "constant" if mode == zero else "edge")
        np.testing.assert_array_equal(backend.asnumpy(got), padded)

    elements = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    layers = kerneltk.surface(backend.asarray(elements), layered=True)
    program.get_function("layers")((1,), (4, 3, 2), (layers,))
    expected = elements + np.arange(2, dtype=np.uint8)[:, None, None]
    np.testing.assert_array_equal(backend.asnumpy(kerneltk.textures.contents(layers)), expected)


def test_compiles_for_gpus() -> None:
    for program in (kerneltk.RawModule(code=SURFACES), kerneltk.RawModule(code=CUBES), module()):
        assert program.compile_for("sm_90").code


def test_a_texture_of_a_surface_sees_what_is_written(backend: Any) -> None:
    elements = np.zeros((2, 3, 4), np.float32)
    image = kerneltk.surface(backend.asarray(elements), channels=4)
    texture = kerneltk.texture(image, filter="linear")
    kerneltk.RawModule(code=SURFACES).get_function("twice2")((1,), (4, 4), (image, 3, 2))
    y = backend.xp.empty((1, 4), np.float32)
    at = backend.asarray(np.array([[1.5, 1.5, 0]], np.float32))
    module().get_function("sample2<float4>")((1,), (1,), (texture, at, y, 1))
    np.testing.assert_allclose(backend.asnumpy(y), [[0, 1, 1, 0]])


# -- arguments ----------------------------------------------------------------------------------


def ramp(backend: Any, **words: Any) -> Any:
    """A texture of 0, 1, 2, 3 in two rows."""
    elements = np.arange(8, dtype=np.float32).reshape(2, 4)
    return kerneltk.texture(backend.asarray(elements), **words)


def test_kernels_from_expressions(backend: Any) -> None:
    image = ramp(backend, filter="linear")
    x = backend.asarray(np.array([0.5, 1.0, 2.5], np.float32))
    kernel = kerneltk.ElementwiseKernel(
        "U image, T x, T height", "T y", "y = tex2D<T>(image, x, height)", "sampled"
    )
    for _ in range(3):
        y = kernel(image, x, 0.5)
        np.testing.assert_allclose(backend.asnumpy(y), [0, 0.5, 2])
    total = kerneltk.ReductionKernel(
        "U image, T x", "T y", "tex2D<T>(image, x, 1.5f)", "a + b", "y = a", "0", "total"
    )
    np.testing.assert_allclose(backend.asnumpy(total(image, x)), 14.5)
    index = kerneltk.ElementwiseKernel(
        "U image, raw float32 m", "T y", "y = tex2D<T>(image, i % 4 + m[0], i / 4 + m[0])"
    )
    y = backend.xp.empty((2, 4), np.float32)
    index(image, backend.asarray(np.array([0.5], np.float32)), y)
    np.testing.assert_array_equal(backend.asnumpy(y), np.arange(8).reshape(2, 4))


def test_a_handle_is_a_number(backend: Any) -> None:
    image = ramp(backend)
    y = backend.xp.empty(1, np.float32)
    at = backend.asarray(np.array([[2.5, 1.5, 0]], np.float32))
    for handle in (image.ptr, np.uint64(image.ptr)):
        y[...] = 0
        module().get_function("sample2<float1>")((1,), (1,), (handle, at, y, 1))
        assert backend.asnumpy(y)[0] == 6


def test_a_graph_keeps_textures(backend: Any) -> None:
    x = backend.asarray(np.array([0.5, 2.5], np.float32))
    kernel = kerneltk.ElementwiseKernel("U image, T x", "T y", "y = tex2D<T>(image, x, 1.5f)")
    at = backend.asarray(np.array([[2.5, 1.5, 0]], np.float32))
    z = backend.xp.zeros(1, np.float32)
    images = [ramp(backend), ramp(backend)]
    with kerneltk.graph() as graph:
        y = kernel(images[0], x)
        module().get_function("sample2<float1>")((1,), (1,), (images[1], at, z, 1))
    del images
    gc.collect()
    for _ in range(2):
        y[...], z[...] = 0, 0
        graph.launch()
        np.testing.assert_array_equal(backend.asnumpy(y), [4, 6])
        np.testing.assert_array_equal(backend.asnumpy(z), [6])
    other = kerneltk.texture(backend.asarray(np.full((2, 4), 9, np.float32)))
    graph.launch(image=other)
    np.testing.assert_array_equal(backend.asnumpy(y), [9, 9])


def test_both_backends_objects_do_not_mix() -> None:
    class Elsewhere:
        ptr = 1 << 40

    Elsewhere.__module__, Elsewhere.__qualname__ = "cupy.cuda.texture", "TextureObject"
    at, y = np.zeros((1, 3), np.float32), np.zeros(1, np.float32)
    with pytest.raises(ArgumentTypeError) as raw:
        module().get_function("sample2<float1>")((1,), (1,), (Elsewhere(), at, y, 1))
    assert str(raw.value).splitlines()[0] == (
        "The texture for parameter 't' of kernel 'sample2<float1>' is in a GPU, and the kernel "
        "runs on arrays in host memory."
    )
    kernel = kerneltk.ElementwiseKernel("U image, T x", "T y", "y = tex2D<T>(image, x, 0)")
    with pytest.raises(
        ArgumentTypeError, match="'image' is a texture in a GPU, but 'x' is in host"
    ):
        kernel(Elsewhere(), y)


def test_an_array_lives_as_long_as_the_texture_that_refers_to_it() -> None:
    x = np.arange(4, dtype=np.float32)
    kept = weakref.ref(x)
    texture = kerneltk.texture(x, memory="linear")
    del x
    gc.collect()
    assert kept() is not None
    del texture
    gc.collect()
    assert kept() is None


def test_a_handle_of_an_object_that_is_gone() -> None:
    image = kerneltk.texture(np.zeros((2, 4), np.float32))
    handle = image.ptr
    del image
    gc.collect()
    other = kerneltk.texture(np.zeros((2, 4), np.float32))
    assert other.ptr != handle
    at, y = np.zeros((1, 3), np.float32), np.zeros(1, np.float32)
    with pytest.raises(ArgumentValueError, match="there is none with the handle"):
        module().get_function("sample2<float1>")((1,), (1,), (handle, at, y, 1))
