"""What kernels on CPU cores ask of textures and surfaces that those are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import LaunchError

# Objects by name, and accesses by what is wrong with them.
OBJECTS: dict[str, Any] = {
    "floats": lambda: kerneltk.texture(np.zeros((3, 4), np.float32)),
    "bytes": lambda: kerneltk.texture(np.zeros((3, 4), np.uint8)),
    "ints": lambda: kerneltk.texture(np.zeros((3, 4), np.int32)),
    "pair": lambda: kerneltk.texture(np.zeros((3, 4, 2), np.float32), channels=2),
    "layers": lambda: kerneltk.texture(np.zeros((2, 3, 4), np.float32), layered=True),
    "linear": lambda: kerneltk.texture(np.zeros(4, np.float32), memory="linear"),
    "cube": lambda: kerneltk.texture(
        np.zeros((6, 4, 4), np.float32), cubemap=True, normalized=True
    ),
    "cubes": lambda: kerneltk.texture(
        np.zeros((12, 4, 4), np.float32), cubemap=True, layered=True, normalized=True
    ),
    "canvas": lambda: kerneltk.surface(np.zeros((3, 4), np.float32)),
}
FAULTS = [
    ("floats", "tex1D<float>(t, 0)", "tex1D: the texture has 2 dimensions"),
    ("floats", "tex3DLod<float>(t, 0, 0, 0, 0)", "tex3DLod: the texture has 2 dimensions"),
    ("floats", "tex1Dfetch<float>(t, 0)",
     "tex1Dfetch: the texture is in an array or in pitched memory, and it reads linear memory"),
    ("linear", "tex1D<float>(t, 0)",
     "tex1D: the texture is in linear memory, which tex1Dfetch reads alone"),
    ("floats", "tex2D<int>(t, 0, 0)",
     "tex2D: this texture gives floats, and an integer type is asked for"),
    ("bytes", "tex2D<float>(t, 0, 0)",
     "tex2D: this texture gives integers, and a float type is asked for"),
    ("bytes", "tex2D<char>(t, 0, 0)",
     "tex2D: the type that is asked for and the texture's elements differ in their sign"),
    ("ints", "tex2D<short>(t, 0, 0)",
     "tex2D: the texture's elements are larger than the type that is asked for"),
    ("pair", "tex2D<float4>(t, 0, 0).w",
     "tex2D: the texture's elements have fewer channels than the type that is asked for"),
    ("layers", "tex2D<float>(t, 0, 0)", "tex2D: the texture is layered"),
    ("floats", "tex2DLayered<float>(t, 0, 0, 0)", "tex2DLayered: the texture has no layers"),
    ("layers", "tex2DLayered<float>(t, 0, 0, 2)", "tex2DLayered: the texture has no such layer"),
    ("layers", "tex2DLayered<float>(t, 0, 0, -1)", "tex2DLayered: the texture has no such layer"),
    ("floats", "tex2Dgather<float4>(t, 0, 0).x",
     "tex2Dgather: the texture's array was made without cudaArrayTextureGather"),
    ("floats", "texCubemap<float>(t, 0, 0, 1)", "texCubemap: the texture is no cubemap"),
    ("cube", "tex2D<float>(t, 0, 0)", "tex2D: the texture is a cubemap without layers"),
    ("cube", "texCubemapLayered<float>(t, 0, 0, 1, 0)",
     "texCubemapLayered: the texture is a cubemap without layers"),
    ("cubes", "tex2DLayered<float>(t, 0, 0, 0)",
     "tex2DLayered: the texture is a cubemap with layers"),
    ("cubes", "texCubemapLayered<float>(t, 0, 0, 1, 2)",
     "texCubemapLayered: the texture has no such layer"),
    ("cubes", "texCubemapLayered<float>(t, 0, 0, 1, -1)",
     "texCubemapLayered: the texture has no such layer"),
    ("canvas", "tex2D<float>(t, 0, 0)", "tex2D: the object is a surface"),
    ("floats", "surf2Dread<float>(t, 0, 0)", "surf2Dread: the object is a texture"),
    ("floats", "tex2D<float>(t + 1, 0, 0)",
     "tex2D: there is no texture object with this handle, or not any more"),
    ("floats", "tex2D<float>(0xffffffffffffffff, 0, 0)",
     "tex2D: there is no texture object with this handle, or not any more"),
    ("canvas", "surf2Dread<float>(t & 0xffff, 0, 0)",
     "surf2Dread: there is no surface object with this handle, or not any more"),
    ("canvas", "surf1Dread<float>(t, 0)", "surf1Dread: the texture has 2 dimensions"),
    ("canvas", "surf2Dread<float>(t, 2, 0)",
     "surf2Dread: x, in bytes, is no multiple of the size of the type"),
    ("canvas", "surf2Dread<float>(t, 16, 0)",
     "surf2Dread: its coordinates are outside of the surface (x counts bytes)"),
    ("canvas", "(surf2Dwrite(1.0f, t, 0, -1), 0)",
     "surf2Dwrite: its coordinates are outside of the surface (x counts bytes)"),
]  # fmt: skip


def source() -> str:
    """One kernel with every access."""
    lines = (f"case {k}: y[0] = {access}; break;" for k, (_, access, _) in enumerate(FAULTS))
    head = 'extern "C" __global__ void fail(unsigned long long t, int which, float* y) {'
    return "\n".join([head, "switch (which) {", *lines, "}", "}"])


@pytest.mark.exhaustive
def test_wrong_accesses_are_errors_with_a_reason() -> None:
    kernel = kerneltk.RawKernel(source(), "fail")
    y = np.zeros(1, np.float32)
    for which, (name, access, reason) in enumerate(FAULTS):
        made = OBJECTS[name]()
        with pytest.raises(LaunchError) as error:
            kernel((1,), (1,), (made, which, y))
        first = "In kernel 'fail', block (0, 0, 0), thread (0, 0, 0): "
        assert str(error.value) == f"{first}{reason}.", access


def test_wrong_accesses_of_kernels_from_expressions() -> None:
    kernel = kerneltk.ElementwiseKernel("U t, T x", "T y", "y = tex1D<T>(t, x)", "wrong")
    x = np.zeros(5, np.float32)
    for _ in range(2):
        with pytest.raises(LaunchError) as error:
            kernel(OBJECTS["floats"](), x)
        assert str(error.value) == (
            "The kernel failed in tex1D: the texture has 2 dimensions; not all of its results were "
            "written."
        )
    trap = kerneltk.ElementwiseKernel("T x", "T y", "if (x == 0) __trap(); y = x", "trapped")
    with pytest.raises(LaunchError, match="The kernel trapped"):
        trap(x)


def test_a_number_that_is_no_handle_in_a_kernel_from_expressions() -> None:
    kernel = kerneltk.ElementwiseKernel("uint64 t, T x", "T y", "y = tex2D<T>(t, x, 0)", "handles")
    for number in (0, 1, 1 << 40, (1 << 64) - 1):
        with pytest.raises(LaunchError, match="tex2D: there is no texture object with this handle"):
            kernel(number, np.zeros(5, np.float32))


@pytest.mark.exhaustive
def test_a_source_may_include_the_headers_by_name() -> None:
    code = """
    #include <texture_types.h>
    #include <surface_types.h>
    #include <texture_fetch_functions.h>
    #include <texture_indirect_functions.h>
    #include <surface_functions.h>
    #include <surface_indirect_functions.h>
    extern "C" __global__ void k(cudaTextureObject_t t, float* y) { tex2D(y, t, 0.5f, 0.5f); }
    """
    y = np.zeros(1, np.float32)
    image = kerneltk.texture(np.full((1, 1), 7, np.float32))
    kerneltk.RawKernel(code, "k")((1,), (1,), (image, y))
    assert y[0] == 7
    assert kerneltk.RawKernel(code, "k").compile_for("sm_90").code


@pytest.mark.exhaustive
def test_coordinates_that_are_no_numbers() -> None:
    """They read some texel, or the border: nothing beyond the memory."""
    x = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e10, -1e10, 0.5], np.float32)
    for filter_ in ("point", "linear"):
        for address, normalized in (("clamp", 0), ("border", 0), ("wrap", 1), ("mirror", 1)):
            image = kerneltk.texture(
                np.array([1, 2, 4, 8], np.float32),
                filter=filter_,  # type: ignore[arg-type]
                address=address,  # type: ignore[arg-type]
                normalized=bool(normalized),
            )
            y = _sampled(image, x)
            assert ((y >= 0) & (y <= 8)).all()
    image = kerneltk.texture(np.array([1, 2, 4, 8], np.float32), filter="linear")
    np.testing.assert_array_equal(_sampled(image, x)[1:], [8, 1, 8, 1, 8, 1, 1])


def _sampled(image: Any, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    kernel = kerneltk.ElementwiseKernel("U image, T x", "T y", "y = tex1D<T>(image, x)", "sampled")
    found: np.ndarray[Any, Any] = kernel(image, x)
    return found


def test_texels_with_a_weight_of_zero_do_not_count() -> None:
    image = kerneltk.texture(np.array([1, np.nan, 3, np.inf], np.float32), filter="linear")
    y = _sampled(image, np.array([0.5, 2.5], np.float32))
    np.testing.assert_array_equal(y, [1, 3])


def test_halves_of_every_bit_pattern() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    image = kerneltk.texture(halves)
    y = _sampled(image, np.arange(1 << 16, dtype=np.float32) + 0.5)
    np.testing.assert_array_equal(y, halves.astype(np.float32))
    assert (np.signbit(y) == np.signbit(halves)).all()
