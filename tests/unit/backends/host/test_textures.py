"""CuPy's classes of textures, on NumPy arrays."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kerneltk import textures as t
from kerneltk.backends.host.textures import _MOST, is_live, table
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, LaunchError

FLOAT = t.ChannelFormatDescriptor(32, 0, 0, 0, t.cudaChannelFormatKindFloat)
FOUR_BYTES = t.ChannelFormatDescriptor(8, 8, 8, 8, t.cudaChannelFormatKindUnsigned)


def memory(*extents: int, desc: t.ChannelFormatDescriptor = FLOAT, flags: int = 0) -> t.CUDAarray:
    return t.CUDAarray(desc, *extents, flags=flags)


def resource(*extents: int, **words: Any) -> t.ResourceDescriptor:
    return t.ResourceDescriptor(t.cudaResourceTypeArray, cuArr=memory(*extents, **words))


def test_descriptors_show_what_cupys_do() -> None:
    assert FOUR_BYTES.get_channel_format() == {"x": 8, "y": 8, "z": 8, "w": 8, "f": 1}
    modes = t.TextureDescriptor((0, 1), 1, 0, borderColors=(0.5,), normalizedCoords=1)
    assert modes.get_texture_desc() == {
        "addressMode": (0, 1, 0),
        "filterMode": 1,
        "readMode": 0,
        "sRGB": 0,
        "borderColor": (0.5, 0.0, 0.0, 0.0),
        "normalizedCoords": 1,
        "maxAnisotropy": 0,
    }
    x = np.zeros((3, 8), np.float32)
    linear = t.ResourceDescriptor(2, arr=x, chDesc=FLOAT, sizeInBytes=96)
    shown = {"devPtr": x.ctypes.data, "desc": FLOAT.get_channel_format(), "sizeInBytes": 96}
    assert linear.get_resource_desc() == {"resType": 2, "linear": shown}
    pitched = t.ResourceDescriptor(3, arr=x, chDesc=FLOAT, width=7, height=3, pitchInBytes=32)
    assert pitched.get_resource_desc()["pitch2D"]["pitchInBytes"] == 32
    array = resource(5)
    assert array.cuArr is not None
    assert array.get_resource_desc() == {"resType": 0, "array": {"array": array.cuArr.ptr}}


def test_the_same_constants_as_cupys() -> None:
    runtime = pytest.importorskip("cupy").cuda.runtime
    names = [name for name in t.__all__ if name.startswith("cuda") and hasattr(runtime, name)]
    assert len(names) == 15
    assert {name: getattr(runtime, name) for name in names} == {
        name: getattr(t, name) for name in names
    }


def test_the_same_parameters_as_cupys() -> None:
    """CuPy's classes that need no device take the same arguments by the same names."""
    own = pytest.importorskip("cupy").cuda.texture
    words = {
        "addressModes": (1, 2), "filterMode": 1, "readMode": 1, "sRGB": 0,
        "borderColors": (0.5, 1.0), "normalizedCoords": 1, "maxAnisotropy": 1,
    }  # fmt: skip
    shown = own.TextureDescriptor(**words).get_texture_desc()
    assert t.TextureDescriptor(**words).get_texture_desc() == shown  # type: ignore[arg-type]


@pytest.mark.parametrize("extents", [(67,), (67, 19), (67, 19, 5)])
@pytest.mark.parametrize("channels", [1, 2, 4])
def test_arrays_are_copied_both_ways(extents: tuple[int, ...], channels: int) -> None:
    for kind, dtype in ((2, "f2"), (2, "f4"), (0, "i1"), (0, "i2"), (1, "u4")):
        bits = [int(dtype[1]) * 8] * channels + [0] * (4 - channels)
        made = memory(*extents, desc=t.ChannelFormatDescriptor(*bits, kind))
        shape = (*extents[:0:-1], channels * extents[0])
        x = (np.arange(np.prod(shape)) % 100).astype(dtype).reshape(shape)
        made.copy_from(x)
        y = np.zeros_like(x)
        made.copy_to(y, stream=None)
        np.testing.assert_array_equal(x, y)
    assert made.ndim == len(extents)
    assert made.ptr % 16 == 0


REFUSED: dict[str, Callable[[], object]] = {
    "No element has channels of (24, 0, 0, 0) bits and kind 0.": lambda: t.ChannelFormatDescriptor(
        24, 0, 0, 0, 0
    ),
    "No element has channels of (8, 8, 8, 0) bits and kind 1.": lambda: t.ChannelFormatDescriptor(
        8, 8, 8, 0, 1
    ),
    "No element has channels of (8, 0, 0, 0) bits and kind 2.": lambda: t.ChannelFormatDescriptor(
        8, 0, 0, 0, 2
    ),
    "'desc' must be a ChannelFormatDescriptor of kerneltk.textures, not an object of type 'int'.": (
        lambda: t.CUDAarray(3, 4)  # type: ignore[arg-type]
    ),
    "There is no array of 0 texels: there are 1 to 131072.": lambda: memory(0),
    "There is no array of 2 x 0 x 3 texels: there are 1 to 16384 x 16384 x 16384.": (
        lambda: memory(2, 0, 3)
    ),
    "There is no array of 2 x 3 x 0 texels and layers: there are 1 to 32768 x 32768 x 2048.": (
        lambda: memory(2, 3, flags=1)
    ),
    "A cubemap has six square faces, layers of it six each, and not 4 x 5 x 6 texels.": (
        lambda: memory(4, 5, 6, flags=4)
    ),
    "A cubemap has six square faces, layers of it six each, and not 4 x 4 x 12 texels.": (
        lambda: memory(4, 4, 12, flags=4)
    ),
    "There is no array of 4 x 6 texels and layers: there are 1 to 32768 x 32768 x 2046.": (
        lambda: memory(4, 0, 6, flags=4)
    ),
    "The coordinates of a cubemap are normalized.": lambda: t.TextureObject(
        resource(4, 4, 6, flags=4), t.TextureDescriptor()
    ),
    "An array in host memory has no flags 0x40.": lambda: memory(4, 4, flags=64),
    "Only textures of two dimensions can be gathered from.": lambda: memory(4, flags=8),
    "The array has shape (3,), and (4,) is wanted: rows hold the channels of all their elements.": (
        lambda: memory(4).copy_from(np.zeros(3, np.float32))
    ),
    "The array has dtype 'float64', and the elements are 'float32'.": (
        lambda: memory(4).copy_to(np.zeros(4))
    ),
    "There is no resource type 1 in host memory.": lambda: t.ResourceDescriptor(1),
    "'cuArr' must be a CUDAarray of kerneltk.textures, not an object of type 'NoneType'.": (
        lambda: t.ResourceDescriptor(0)
    ),
    "'arr' must be a NumPy array of numbers, not an object of type 'list'.": (
        lambda: t.ResourceDescriptor(2, arr=[1], chDesc=FLOAT, sizeInBytes=4)
    ),
    "'arr' is not C-contiguous.": lambda: t.ResourceDescriptor(
        2, arr=np.zeros(8, "f4")[::2], chDesc=FLOAT, sizeInBytes=4
    ),
    "'arr' has dtype 'float64', and the elements are 'float32'.": lambda: t.ResourceDescriptor(
        2, arr=np.zeros(8), chDesc=FLOAT, sizeInBytes=4
    ),
    "'arr' has 16 bytes, and the texture would read 20.": lambda: t.ResourceDescriptor(
        2, arr=np.zeros(4, "f4"), chDesc=FLOAT, sizeInBytes=20
    ),
    "Linear memory of 3 bytes has 0 elements: it must have 1 to 268435456.": lambda: (
        t.ResourceDescriptor(2, arr=np.zeros(4, "f4"), chDesc=FLOAT, sizeInBytes=3)
    ),
    "'pitchInBytes' is 20: it must be a multiple of 32, and at least the 20 bytes of a row.": (
        lambda: t.ResourceDescriptor(
            3, arr=np.zeros((2, 5), "f4"), chDesc=FLOAT, width=5, height=2, pitchInBytes=20
        )
    ),
    "There are no address modes (4,).": lambda: t.TextureDescriptor((4,)),
    "There is no filter mode 2.": lambda: t.TextureDescriptor(filterMode=2),
    "There is no read mode 2.": lambda: t.TextureDescriptor(readMode=2),
    "A border has four channels, and 5 were given.": lambda: t.TextureDescriptor(
        borderColors=(0,) * 5
    ),
    "Textures in host memory are not converted from sRGB.": lambda: t.TextureDescriptor(sRGB=1),
    "Textures in host memory have no anisotropic filter.": lambda: t.TextureDescriptor(
        maxAnisotropy=4
    ),
    "'TexDesc' must be a TextureDescriptor of kerneltk.textures, not an object of type 'int'.": (
        lambda: t.TextureObject(resource(4), 1)  # type: ignore[arg-type]
    ),
    "A texture that gives integers has no linear filter.": lambda: t.TextureObject(
        resource(4, desc=FOUR_BYTES), t.TextureDescriptor(filterMode=1)
    ),
    "The border of a texture that gives integers is zero.": lambda: t.TextureObject(
        resource(4, desc=FOUR_BYTES), t.TextureDescriptor((3,), borderColors=(1.0,))
    ),
    "A surface is of a CUDAarray that was made with 'flags' of cudaArraySurfaceLoadStore (2).": (
        lambda: t.SurfaceObject(resource(4))
    ),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_is_refused(sentence: str) -> None:
    with pytest.raises((ArgumentTypeError, ArgumentValueError)) as error:
        REFUSED[sentence]()
    assert str(error.value).splitlines()[0] == sentence


def test_other_modes_are_clamped_as_the_runtime_does() -> None:
    """Wrapping and mirroring are for normalized coordinates; the runtime changes them."""
    made = t.TextureObject(resource(4, 4), t.TextureDescriptor((0, 2, 3)))
    assert list(table.entries[made.ptr & 0xFFFFFFFF].address) == [1, 1, 3]


def test_objects_are_not_copied() -> None:
    made = t.TextureObject(resource(4), t.TextureDescriptor())
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(ArgumentTypeError, match="'TextureObject' cannot be copied or pickled"):
            way(made)


def test_handles_are_good_as_long_as_the_object() -> None:
    made = t.TextureObject(resource(4), t.TextureDescriptor())
    canvas = t.SurfaceObject(resource(4, flags=2))
    handles = made.ptr, canvas.ptr
    assert [is_live(handle, "texture") for handle in handles] == [True, False]
    assert [is_live(handle, "surface") for handle in handles] == [False, True]
    del made, canvas
    gc.collect()
    assert not any(is_live(handle, what) for handle in handles for what in ("texture", "surface"))
    assert not is_live(0, "texture")
    assert not is_live(5, "texture")
    assert not is_live((1 << 64) - 1, "texture")


def test_entries_are_used_again_with_other_handles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_used", _MOST)
    monkeypatch.setattr(table, "_free", type(table._free)())
    with pytest.raises(LaunchError, match="There are 65535 texture and surface objects already"):
        t.TextureObject(resource(4), t.TextureDescriptor())
    monkeypatch.undo()
    used = table._used
    for _ in range(5000):
        t.TextureObject(resource(4), t.TextureDescriptor())
    assert table._used <= used + 1025
    first = t.TextureObject(resource(4), t.TextureDescriptor())
    handle = first.ptr
    del first
    gc.collect()
    monkeypatch.setattr(table, "_used", _MOST)
    again = [t.TextureObject(resource(4), t.TextureDescriptor()) for _ in table._free.copy()]
    same = [made.ptr for made in again if made.ptr & 0xFFFFFFFF == handle & 0xFFFFFFFF]
    assert len(same) == 1
    assert same != [handle]
    assert not is_live(handle, "texture")
