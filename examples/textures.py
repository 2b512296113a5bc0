"""Textures: an image is rotated by bilinear sampling, and painted by a surface.

Run with ``python examples/textures.py``, or ``python examples/textures.py cupy`` on a GPU.
"""

import importlib
import math
import sys

import kerneltk

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")

# A texture is an argument with a type variable of its own. Beyond the image it gives the border.
rotated = kerneltk.ElementwiseKernel(
    "U image, int32 width, int32 height, float32 cosine, float32 sine",
    "float32 y",
    """
    const float dx = i % width + 0.5f - 0.5f * width, dy = i / width + 0.5f - 0.5f * height;
    y = tex2D<float>(image, cosine * dx + sine * dy + 0.5f * width,
                     cosine * dy - sine * dx + 0.5f * height);
    """,
    name="rotated",
)

height = width = 256
rows, columns = xp.mgrid[:height, :width].astype(xp.float32)
image = xp.sin(columns / 9) * xp.cos(rows / 7)
texture = kerneltk.texture(image, filter="linear", address="border")


def rotate(degrees):
    """The image, rotated about its centre."""
    angle = math.radians(degrees)
    result = xp.empty((height, width), xp.float32)
    return rotated(texture, width, height, math.cos(angle), math.sin(angle), result)


# By a right angle texels fall on texels.
xp.testing.assert_allclose(rotate(0), image, atol=1e-6)
xp.testing.assert_allclose(rotate(90), xp.rot90(image, -1), atol=0.01)
# Elsewhere weights have 8 bits: within the image, the result is that of bilinear interpolation.
angle = math.radians(30)
dx, dy = columns + 0.5 - width / 2, rows + 0.5 - height / 2
u = math.cos(angle) * dx + math.sin(angle) * dy + width / 2 - 0.5
v = math.cos(angle) * dy - math.sin(angle) * dx + height / 2 - 0.5
i, j = xp.floor(u).astype(int), xp.floor(v).astype(int)
inside = (i >= 0) & (i < width - 1) & (j >= 0) & (j < height - 1)
i, j, a, b = i[inside], j[inside], (u - i)[inside], (v - j)[inside]
expected = (1 - b) * ((1 - a) * image[j, i] + a * image[j, i + 1]) + b * (
    (1 - a) * image[j + 1, i] + a * image[j + 1, i + 1]
)
xp.testing.assert_allclose(rotate(30)[inside], expected, atol=0.01)

# Kernels in CUDA C++ write to a surface; its first coordinate counts bytes.
invert = kerneltk.RawKernel(
    r"""
    extern "C" __global__ void invert(cudaSurfaceObject_t canvas, int width, int height) {
        const int x = blockIdx.x * blockDim.x + threadIdx.x;
        const int y = blockIdx.y * blockDim.y + threadIdx.y;
        if (x >= width || y >= height) return;
        const float value = surf2Dread<float>(canvas, x * 4, y);
        surf2Dwrite(1 - value, canvas, x * 4, y);
    }
    """,
    "invert",
)
canvas = kerneltk.surface(image)
invert((16, 16), (16, 16), (canvas, width, height))
xp.testing.assert_allclose(kerneltk.textures.contents(canvas), 1 - image, atol=1e-6)

print(f"textures: {int(inside.sum())} pixels agree")
