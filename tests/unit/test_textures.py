"""Textures and surfaces of arrays: what they are made of, and what is refused."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import ArgumentTypeError, ArgumentValueError
from kerneltk.textures import contents, surface, texture

from .dry_gpu import DryGpu, gpu

__all__ = ["gpu"]

F = np.zeros((3, 8), np.float32)
U = np.zeros((3, 8), np.uint8)

REFUSED: dict[str, Callable[[], object]] = {
    "A texture or a surface is made of an array, not of an object of type 'int'.": (
        lambda: texture(3)
    ),
    "Textures and surfaces have no elements of dtype 'float64'.": lambda: texture(np.zeros(4)),
    "'channels' must be 1, 2 or 4, not 3.": lambda: surface(np.zeros((4, 3), np.uint8), channels=3),
    "The last axis of an array of shape (3, 8) has not the 4 channels.": (
        lambda: texture(F, channels=4)
    ),
    "Texels have 1 to 3 axes, none of them empty, and the array has the shape () of them.": (
        lambda: texture(np.zeros((), np.float32))
    ),
    "Texels have layers and 1 or 2 axes, none of them empty, and the array has the shape (4,) of "
    "them.": lambda: texture(np.zeros(4, np.float32), layered=True),
    "'filter' must be 'point' or 'linear', not 'cubic'.": (
        lambda: texture(F, filter="cubic")  # type: ignore[arg-type]
    ),
    "'address' must be 'wrap', 'clamp', 'mirror' or 'border', not 'repeat'.": (
        lambda: texture(F, address="repeat")  # type: ignore[arg-type]
    ),
    "'address' has 1 to 3 modes, not 4.": lambda: texture(F, address=("clamp",) * 4),
    "'read' must be 'element' or 'normalized', not 'float'.": (
        lambda: texture(U, read="float")  # type: ignore[arg-type]
    ),
    "'memory' must be 'array', 'linear' or 'pitch2D', not 'global'.": (
        lambda: texture(F, memory="global")  # type: ignore[arg-type]
    ),
    "The address modes 'wrap' and 'mirror' are for normalized coordinates.": (
        lambda: texture(F, address=("clamp", "mirror"))
    ),
    "A texture that gives integers has no linear filter.": lambda: texture(U, filter="linear"),
    "Only integers of 8 and 16 bits are read as normalized floats.": (
        lambda: texture(F, read="normalized")
    ),
    "The border of a texture that gives integers is zero.": (
        lambda: texture(U, address="border", border=1)
    ),
    "'border' is for the address mode 'border'.": lambda: texture(F, border=1),
    "'address' is a string, or a sequence of strings, not an object of type 'int'.": (
        lambda: texture(F, address=1)  # type: ignore[arg-type]
    ),
    "'address' has 2 modes, and the texture 3 dimensions.": (
        lambda: texture(np.zeros((2, 3, 4), np.float32), address=("clamp", "border"))
    ),
    "'border' is a number, or a sequence of numbers, not an object of type 'str'.": (
        lambda: texture(F, address="border", border="red")  # type: ignore[arg-type]
    ),
    "'border' has at most 4 channels, not the shape (1, 2).": (
        lambda: texture(F, address="border", border=[[1, 2]])  # type: ignore[list-item]
    ),
    "'border' is too large for a float32.": lambda: texture(F, address="border", border=1e39),
    "'normalized' is True or False, not an object of type 'NoneType'.": (
        lambda: texture(F, normalized=None)  # type: ignore[arg-type]
    ),
    "'border' has at most 4 channels, not 5.": (
        lambda: texture(F, address="border", border=(1, 2, 3, 4, 5))
    ),
    "A cubemap has the shape (6, n, n) of texels, or (6 * layers, n, n), and not (3, 8).": (
        lambda: texture(F, cubemap=True, normalized=True)
    ),
    "A cubemap has six square faces, layers of it six each, and not 4 x 4 x 5 texels.": (
        lambda: surface(np.zeros((5, 4, 4), np.float32), cubemap=True)
    ),
    "The coordinates of a cubemap are normalized: pass 'normalized=True'.": (
        lambda: texture(np.zeros((6, 4, 4), np.float32), cubemap=True)
    ),
    "'gather' is for textures of two dimensions, in an array.": (
        lambda: texture(np.zeros(4, np.float32), gather=True)
    ),
    "Layers are in an array: 'memory' must be \"array\".": (
        lambda: texture(F, layered=True, memory="linear")
    ),
    "A texture of linear memory is read by 'tex1Dfetch' and its index alone: it has no filter, no "
    "address mode and no normalized coordinates.": (
        lambda: texture(np.zeros(4, np.float32), memory="linear", filter="linear")
    ),
    "A texture of 'linear' memory has one axis of texels, and the array has 2.": (
        lambda: texture(F, memory="linear")
    ),
    "A texture refers to an array's memory, and this one is not C-contiguous.": (
        lambda: texture(F.T, memory="pitch2D")
    ),
    "'memory' is for arrays: a texture of a texture object has its memory.": (
        lambda: texture(texture(F), memory="pitch2D")
    ),
    "The rows of 'pitch2D' memory begin at multiples of 32 bytes, and these have 8 bytes.": (
        lambda: texture(U, memory="pitch2D")
    ),
    "There is no array of 131073 texels: there are 1 to 131072.": (
        lambda: texture(np.zeros(131073, np.uint8))
    ),
    "A surface is made of an array, not of a texture object.": lambda: surface(texture(F)),
    "The elements of a texture or a surface in an array can be copied, not those of an object of "
    "type 'ndarray'.": lambda: contents(F),
    "The texture refers to an array's memory: its elements are those of the array.": (
        lambda: contents(texture(F, memory="pitch2D"))
    ),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_is_refused(sentence: str) -> None:
    with pytest.raises((ArgumentTypeError, ArgumentValueError)) as error:
        REFUSED[sentence]()
    assert str(error.value).splitlines()[0] == sentence


def test_contents_are_copies_of_the_same_shape() -> None:
    for words, shape in (
        ({}, (5,)),
        ({}, (2, 5)),
        ({}, (3, 2, 5)),
        ({"channels": 4}, (2, 5, 4)),
        ({"layered": True}, (3, 5)),
        ({"layered": True, "channels": 2}, (3, 2, 5, 2)),
    ):
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        for make in (texture, surface):
            got = contents(make(x[...], **words))
            np.testing.assert_array_equal(got, x)
            assert got.shape == shape
        np.testing.assert_array_equal(contents(texture(x.astype(np.int16), **words)), x)


def test_a_texture_of_a_texture_has_its_memory() -> None:
    x = np.arange(4, dtype=np.float32)
    linear = texture(x, memory="linear")
    assert texture(linear).ResDesc is linear.ResDesc
    with pytest.raises(ArgumentValueError, match="A texture of linear memory is read by"):
        texture(linear, filter="linear")
    copied = texture(x)
    np.testing.assert_array_equal(contents(texture(copied, filter="linear")), x)


def test_arrays_of_other_layouts_are_copied() -> None:
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view in (x.T, x[::2, 1:], x[::-1]):
        np.testing.assert_array_equal(contents(texture(view)), view)


def test_a_tensor_of_torch() -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    np.testing.assert_array_equal(contents(texture(x)), x.numpy())


# -- on a GPU that runs nothing ------------------------------------------------------------------


class Memory:
    """Stands for CuPy's CUDAarray, which takes a device."""

    def __init__(
        self, desc: Any, width: int, height: int = 0, depth: int = 0, flags: int = 0
    ) -> None:
        if height == 0 and depth > 0:
            raise ValueError("To create a 2D CUDA array, height must be nonzero.")
        self.desc, self.extents, self.flags = desc, (width, height, depth), flags
        self.width, self.height, self.depth = self.extents
        self.given: Any = None

    def copy_from(self, in_arr: Any, stream: Any = None) -> None:
        self.given = in_arr


def object_class(name: str) -> Any:
    """A class that is taken for CuPy's."""

    def made(self: Any, *descriptions: Any) -> None:
        self.ptr, self.descriptions = 0x1234567890, descriptions
        self.ResDesc = descriptions[0] if descriptions else None

    space = {"__module__": "cupy.cuda.texture", "__qualname__": name, "__init__": made}
    return type(name, (), space)


@pytest.fixture
def classes(gpu: DryGpu, monkeypatch: pytest.MonkeyPatch) -> Any:
    """CuPy's classes, and stand-ins for those that take a device."""
    import cupy

    real = cupy.cuda.texture

    def resource(kind: int, **words: Any) -> Any:
        if kind:
            return real.ResourceDescriptor(kind, **words)
        return SimpleNamespace(
            chDesc=None, get_resource_desc=lambda: {"resType": kind, "array": {}}, **words
        )

    made = SimpleNamespace(
        ChannelFormatDescriptor=real.ChannelFormatDescriptor,
        TextureDescriptor=real.TextureDescriptor,
        ResourceDescriptor=resource,
        CUDAarray=Memory,
        TextureObject=object_class("TextureObject"),
        SurfaceObject=object_class("SurfaceObject"),
    )
    backend = sys.modules["kerneltk.backends.cuda.backend"].CudaBackend
    monkeypatch.setattr(backend, "texture_classes", lambda own: made)
    return made


def test_objects_of_cupys_arrays(gpu: DryGpu, classes: Any) -> None:
    made = texture(
        gpu.array(3, 8, 4), channels=4, filter="linear", address=("wrap", "border"),
        normalized=True, border=(1, 2, 3, 4), gather=True,
    )  # fmt: skip
    resource, modes = made.descriptions
    assert resource.cuArr.extents == (8, 3, 0)
    assert resource.cuArr.flags == 8
    assert resource.cuArr.given.shape == (3, 32)
    assert resource.cuArr.desc.get_channel_format() == {"x": 32, "y": 32, "z": 32, "w": 32, "f": 2}
    assert modes.get_texture_desc() == {
        "addressMode": (0, 3, 0), "filterMode": 1, "readMode": 0, "sRGB": 0,
        "borderColor": (1.0, 2.0, 3.0, 4.0), "normalizedCoords": 1, "maxAnisotropy": 0,
    }  # fmt: skip
    layered = surface(gpu.array(2, 3, 8, dtype=np.int16), layered=True)
    assert layered.descriptions[0].cuArr.extents == (8, 3, 2)
    assert layered.descriptions[0].cuArr.flags == 3
    cube = texture(gpu.array(6, 4, 4), cubemap=True, normalized=True).descriptions[0].cuArr
    assert (cube.extents, cube.flags, cube.given.shape) == ((4, 4, 6), 4, (6, 4, 4))
    cubes = surface(gpu.array(12, 4, 4), cubemap=True, layered=True).descriptions[0].cuArr
    assert (cubes.extents, cubes.flags) == ((4, 4, 12), 7)
    other = texture(layered, address="border")
    assert other.descriptions[0] is layered.ResDesc
    x = gpu.array(3, 8, dtype=np.uint8)
    linear = texture(x.reshape(-1), memory="linear", read="normalized").descriptions[0]
    shown = linear.get_resource_desc()["linear"]
    assert (shown["devPtr"], shown["sizeInBytes"]) == (x.data.ptr, 24)
    pitched = texture(gpu.array(3, 8), memory="pitch2D").descriptions[0].get_resource_desc()
    assert [pitched["pitch2D"][name] for name in ("width", "height", "pitchInBytes")] == [8, 3, 32]
    with pytest.raises(ArgumentValueError) as error:
        texture(gpu.array(3, 8), layered=True)
    assert str(error.value) == (
        "There is no such array in a GPU: To create a 2D CUDA array, height must be nonzero."
    )


READ = r"""
extern "C" __global__ void read(cudaTextureObject_t t, cudaSurfaceObject_t s, float* y) {
    y[threadIdx.x] = tex1D<float>(t, 0.5f) + surf1Dread<float>(s, 0);
}
"""


def test_handles_are_passed_to_gpus(gpu: DryGpu, classes: Any) -> None:
    image, canvas, y = texture(gpu.array(8)), surface(gpu.array(8)), gpu.array(8)
    image.ptr, canvas.ptr = 0x1234567890, 7
    given: list[Any] = []

    def note(launch: tuple[Any, ...]) -> None:
        addresses = (ctypes.c_void_p * 3).from_address(launch[9])
        given.append([struct.unpack("Q", ctypes.string_at(a or 0, 8))[0] for a in addresses])

    gpu.at_launch = note
    kernel = kerneltk.RawKernel(READ, "read")
    for arguments in ((image, canvas, y), (image.ptr, 7, y), (image, canvas, y)):
        kernel((1,), (8,), arguments)
        assert given.pop() == [image.ptr, 7, y.data.ptr]
    for arguments, hint in (((canvas, canvas, y), "texture"), ((image, image, y), "surface")):
        with pytest.raises(ArgumentTypeError, match=f"pass a {hint} object"):
            kernel((1,), (8,), arguments)
    with pytest.raises(ArgumentTypeError, match="'t' of kernel 'read' is in host memory, and the"):
        kernel((1,), (8,), (texture(F), canvas, y))
    with pytest.raises(ArgumentTypeError, match=r"pass the object that 'kerneltk.texture\(x\)'"):
        kernel((1,), (8,), (y, canvas, y))


def test_handles_are_passed_to_kernels_from_expressions(gpu: DryGpu, classes: Any) -> None:
    image, x = texture(gpu.array(8)), gpu.array(8)
    blocks: list[bytes] = []

    def note(launch: tuple[Any, ...]) -> None:
        address = ctypes.c_void_p.from_address(launch[9]).value or 0
        blocks.append(ctypes.string_at(address, 24))

    gpu.at_launch = note
    kernel = kerneltk.ElementwiseKernel("U image, T x", "T y", "y = tex1D<T>(image, x)", "sampled")
    for handle in (0x1234567890, 0x42):
        image.ptr = handle
        y = kernel(image, x)
        assert struct.unpack("3Q", blocks.pop()) == (x.data.ptr, y.data.ptr, handle)
    without_arrays = kerneltk.ElementwiseKernel(
        "U image", "T y", "y = tex1D<T>(image, i)", "indexed"
    )
    without_arrays(image, gpu.array(8))
    with pytest.raises(ArgumentTypeError) as error:
        kernel(texture(F), x)
    assert str(error.value) == (
        "'image' is a texture in host memory, but 'x' is in a GPU.\n"
        "  in_params: U image, T x\n"
        "             ^^^^^^^\n"
        "  Hint: make the texture of an array that is there, too."
    )


# -- parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "problem", "hint"),
    [
        ("T image, T x", "has the type of 'x'",
         "give it a type variable of its own, as in 'U image'."),
        ("float32 image, T x", "is declared 'float32'",
         "give it a type variable of its own, as in 'U image'."),
        ("raw U image, T x", "is raw", "declare it without 'raw': its body names the object."),
    ],
)  # fmt: skip
def test_parameters_that_take_no_object(parameters: str, problem: str, hint: str) -> None:
    kernel = kerneltk.ElementwiseKernel(parameters, "T y", "y = x", "takes_none")
    with pytest.raises(ArgumentTypeError) as error:
        kernel(texture(F), np.zeros(3, np.float32))
    lines = str(error.value).splitlines()
    assert lines[0] == f"Parameter 'image' {problem}, and a texture object was given."
    assert lines[-1] == f"  Hint: {hint}"


def test_an_object_is_no_output() -> None:
    kernel = kerneltk.ElementwiseKernel("T x", "T y", "y = x", "copies")
    with pytest.raises(ArgumentTypeError, match="Output 'y' must be an array, not an object of"):
        kernel(np.zeros(3, np.float32), texture(F))


def test_several_objects_of_one_type() -> None:
    kernel = kerneltk.ElementwiseKernel(
        "U a, U b, uint64 c, T x", "T y",
        "y = tex2D<T>(a, x, 0) + tex2D<T>(b, x, 0) + tex2D<T>(c, x, 0)", "three",
    )  # fmt: skip
    images = [texture(np.full((2, 2), 10.0**k, np.float32)) for k in range(3)]
    x = np.zeros(3, np.float32)
    np.testing.assert_array_equal(kernel(*images, x), [111] * 3)
    np.testing.assert_array_equal(kernel(images[0], images[1], images[0].ptr, x), [12] * 3)


@pytest.mark.parametrize("border", [np.float32(0.5), np.array(0.5), [0.5], np.array([0.5])])
def test_borders_of_numpys_numbers(border: Any) -> None:
    image = texture(F, address="border", border=border)
    assert image.TexDesc.get_texture_desc()["borderColor"][0] == 0.5
