"""Texture and surface objects of arrays, for kernels in CUDA C++ and from expressions.

:func:`texture` and :func:`surface` make CuPy's own objects of CuPy's arrays
(``cupy.cuda.texture``), and of NumPy's arrays objects in host memory, for kernels that run on CPU
cores. The classes of the latter have the names, parameters and attributes of CuPy's: what is
written with those runs on the host with ``from kerneltk import textures`` in the place of ``from
cupy.cuda import texture``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, get_args

import numpy as np

from kerneltk.backends.base import Backend, array_library, backend_named
from kerneltk.backends.foreign_arrays import Adoption
from kerneltk.backends.host.textures import (
    ChannelFormatDescriptor,
    CUDAarray,
    ResourceDescriptor,
    SurfaceObject,
    TextureDescriptor,
    TextureObject,
)
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, KernelToolkitError
from kerneltk.interop import texture_objects as numbers
from kerneltk.interop.texture_objects import ObjectClass, class_of

__all__ = [
    "CUDAarray",
    "ChannelFormatDescriptor",
    "ResourceDescriptor",
    "SurfaceObject",
    "TextureDescriptor",
    "TextureObject",
    "contents",
    "cudaAddressModeBorder",
    "cudaAddressModeClamp",
    "cudaAddressModeMirror",
    "cudaAddressModeWrap",
    "cudaArrayCubemap",
    "cudaArrayLayered",
    "cudaArraySurfaceLoadStore",
    "cudaArrayTextureGather",
    "cudaChannelFormatKindFloat",
    "cudaChannelFormatKindSigned",
    "cudaChannelFormatKindUnsigned",
    "cudaFilterModeLinear",
    "cudaFilterModePoint",
    "cudaReadModeElementType",
    "cudaReadModeNormalizedFloat",
    "cudaResourceTypeArray",
    "cudaResourceTypeLinear",
    "cudaResourceTypePitch2D",
    "surface",
    "texture",
]

# The constants of CUDA's runtime, by its names.
cudaAddressModeWrap = numbers.ADDRESS_WRAP
cudaAddressModeClamp = numbers.ADDRESS_CLAMP
cudaAddressModeMirror = numbers.ADDRESS_MIRROR
cudaAddressModeBorder = numbers.ADDRESS_BORDER
cudaFilterModePoint = numbers.FILTER_POINT
cudaFilterModeLinear = numbers.FILTER_LINEAR
cudaReadModeElementType = numbers.READ_ELEMENT
cudaReadModeNormalizedFloat = numbers.READ_NORMALIZED
cudaChannelFormatKindSigned = numbers.KIND_SIGNED
cudaChannelFormatKindUnsigned = numbers.KIND_UNSIGNED
cudaChannelFormatKindFloat = numbers.KIND_FLOAT
cudaResourceTypeArray = numbers.RESOURCE_ARRAY
cudaResourceTypeLinear = numbers.RESOURCE_LINEAR
cudaResourceTypePitch2D = numbers.RESOURCE_PITCH2D
cudaArrayCubemap = numbers.ARRAY_CUBEMAP
cudaArrayLayered = numbers.ARRAY_LAYERED
cudaArraySurfaceLoadStore = numbers.ARRAY_SURFACE
cudaArrayTextureGather = numbers.ARRAY_GATHER

Filter = Literal["point", "linear"]
Address = Literal["wrap", "clamp", "mirror", "border"]
Read = Literal["element", "normalized"]
Resource = Literal["array", "linear", "pitch2D"]

_ADDRESSES: dict[str, int] = {name: number for number, name in enumerate(get_args(Address))}
_RESOURCES: dict[str, int] = {
    "array": numbers.RESOURCE_ARRAY,
    "linear": numbers.RESOURCE_LINEAR,
    "pitch2D": numbers.RESOURCE_PITCH2D,
}
_KINDS = {"i": numbers.KIND_SIGNED, "u": numbers.KIND_UNSIGNED, "f": numbers.KIND_FLOAT}
_DTYPES = ("int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32")


def _one_of(name: str, value: object, kind: Any) -> None:
    choices = get_args(kind)
    if value not in choices:
        *others, last = map(repr, choices)
        raise ArgumentValueError(f"'{name}' must be {', '.join(others)} or {last}, not {value!r}.")


def _modes(address: Any) -> tuple[str, ...]:
    """The address modes, as they were given. Raises ArgumentValueError where one is none."""
    try:
        modes = (address,) if isinstance(address, str) else tuple(address)
    except TypeError:
        raise ArgumentTypeError(
            "'address' is a string, or a sequence of strings, not an object of type "
            f"'{type(address).__name__}'."
        ) from None
    for mode in modes:
        _one_of("address", mode, Address)
    if not 1 <= len(modes) <= 3:
        raise ArgumentValueError(f"'address' has 1 to 3 modes, not {len(modes)}.")
    return modes


def _colors(border: Any) -> tuple[float, ...]:
    """The channels of a border. Raises ArgumentTypeError, ArgumentValueError where it is none."""
    try:
        colors = np.asarray(border)
    except (TypeError, ValueError):  # sequences of several lengths; arrays of a GPU
        colors = np.array(None)
    if colors.dtype.kind == "O" and all(isinstance(color, int) for color in colors.flat):
        raise ArgumentValueError("'border' is too large for a float32.")
    if colors.dtype.kind not in "biuf":
        raise ArgumentTypeError(
            "'border' is a number, or a sequence of numbers, not an object of type "
            f"'{type(border).__name__}'."
        )
    if colors.ndim > 1 or colors.size > 4:
        given = f"the shape {colors.shape}" if colors.ndim > 1 else f"{colors.size}"
        raise ArgumentValueError(f"'border' has at most 4 channels, not {given}.")
    with np.errstate(over="ignore"):
        is_too_large = np.isinf(colors.astype(np.float32)) & np.isfinite(colors)
    if is_too_large.any():
        raise ArgumentValueError("'border' is too large for a float32.")
    return tuple(map(float, np.broadcast_to(colors, 4) if colors.ndim == 0 else colors))


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | int | np.bool_):
        raise ArgumentTypeError(
            f"'{name}' is True or False, not an object of type '{type(value).__name__}'."
        )
    return bool(value)


class _Texels:
    """An array as texels: its backend, its extents, and the description of one element."""

    def __init__(self, data: Any, channels: int | None, layered: bool, cubemap: bool) -> None:
        self.adoption = Adoption()
        backend, self.array = self.adoption.take(data, "data")
        if backend is None:
            raise ArgumentTypeError(
                f"A texture or a surface is made of an array, not of an object of type "
                f"'{type(data).__name__}'."
            )
        self.backend: Backend = backend
        self.dtype = np.dtype(self.array.dtype)
        if self.dtype.name not in _DTYPES or not self.dtype.isnative:
            raise ArgumentTypeError(
                f"Textures and surfaces have no elements of dtype '{self.dtype}'.\n"
                f"  Hint: convert the array to one of {', '.join(_DTYPES)}."
            )
        shape = tuple(self.array.shape)
        if channels is not None:
            if isinstance(channels, bool | float) or channels not in (1, 2, 4):
                raise ArgumentValueError(f"'channels' must be 1, 2 or 4, not {channels!r}.")
            if not shape or shape[-1] != channels:
                raise ArgumentValueError(
                    f"The last axis of an array of shape {shape} has not the {channels} channels."
                )
            shape = shape[:-1]
        self.channels = channels or 1
        if cubemap and len(shape) != 3:
            raise ArgumentValueError(
                f"A cubemap has the shape (6, n, n) of texels, or (6 * layers, n, n), and not "
                f"{shape}."
            )
        if not 1 + layered <= len(shape) <= 3 or 0 in shape:
            axes = "layers and 1 or 2 axes" if layered else "1 to 3 axes"
            raise ArgumentValueError(
                f"Texels have {axes}, none of them empty, and the array has the shape {shape} of "
                "them.\n  Hint: 'channels=' says that the last axis has an element's channels."
            )
        self.shape, self.layered, self.cubemap = shape, layered, cubemap

    @property
    def dimensions(self) -> int:
        """The number of coordinates of a texel, without its layer."""
        return len(self.shape) - (self.layered or self.cubemap)

    def channel_format(self) -> Any:
        """The description of an element."""
        bits = [8 * self.dtype.itemsize] * self.channels + [0] * (4 - self.channels)
        classes = self.backend.texture_classes()
        return classes.ChannelFormatDescriptor(*bits, _KINDS[self.dtype.kind])

    def copied(self, flags: int) -> Any:
        """A resource with a copy of the elements, made in the order of the array's stream."""
        classes = self.backend.texture_classes()
        extents = [*reversed(self.shape), 0, 0][:3]
        flags |= numbers.ARRAY_CUBEMAP if self.cubemap else 0
        flags |= numbers.ARRAY_LAYERED if self.layered else 0
        if self.layered and not self.cubemap:
            extents = [self.shape[-1], 0 if len(self.shape) == 2 else self.shape[1], self.shape[0]]
        try:
            memory = classes.CUDAarray(self.channel_format(), *extents, flags)
        except KernelToolkitError:
            raise
        except ValueError as error:
            raise ArgumentValueError(
                f"There is no such array in {self.backend.capabilities.location}: {error}"
            ) from error
        rows = (*self.shape[:-1], self.shape[-1] * self.channels)
        with self.adoption.launching(None) as stream, self.backend.stream_context(stream):
            memory.copy_from(self.array.reshape(rows))
        return classes.ResourceDescriptor(numbers.RESOURCE_ARRAY, cuArr=memory)

    def referenced(self, resource: Resource) -> Any:
        """A resource that is the array's own memory."""
        classes, array = self.backend.texture_classes(), self.array
        dimensions = 1 if resource == "linear" else 2
        if len(self.shape) != dimensions:
            axis = "one axis" if resource == "linear" else "two axes"
            raise ArgumentValueError(
                f"A texture of '{resource}' memory has {axis} of texels, and the array has "
                f"{len(self.shape)}."
            )
        if not array.flags.c_contiguous:
            raise ArgumentValueError(
                "A texture refers to an array's memory, and this one is not C-contiguous.\n"
                "  Hint: pass 'xp.ascontiguousarray(x)', or copy the elements: 'memory=\"array\"'."
            )
        kind, format_ = _RESOURCES[resource], self.channel_format()
        if resource == "linear":
            return classes.ResourceDescriptor(
                kind, arr=array, chDesc=format_, sizeInBytes=array.nbytes
            )
        height, width = self.shape
        pitch = array.nbytes // height
        if pitch % 32:
            raise ArgumentValueError(
                "The rows of 'pitch2D' memory begin at multiples of 32 bytes, and these have "
                f"{pitch} bytes.\n  Hint: pad them, or copy the elements: 'memory=\"array\"'."
            )
        return classes.ResourceDescriptor(
            kind, arr=array, chDesc=format_, width=width, height=height, pitchInBytes=pitch
        )


def _resource_of(value: Any, found: ObjectClass, given: dict[str, bool]) -> tuple[Backend, Any]:
    """The resource of a texture or a surface object, for another object of the same memory."""
    wrong = next((name for name, is_given in given.items() if is_given), None)
    if wrong is not None:
        raise ArgumentTypeError(
            f"'{wrong}' is for arrays: a texture of a {found.what} object has its memory."
        )
    return backend_named(found.backend), value.ResDesc


def _element_of(resource: Any) -> dict[str, int]:
    """The format of a resource's elements, as ``get_channel_format`` shows it."""
    description = resource.chDesc if resource.cuArr is None else resource.cuArr.desc
    found: dict[str, int] = description.get_channel_format()
    return found


def _dimensions_of(resource: Any) -> int:
    """The number of coordinates of a texel, without its layer."""
    if resource.cuArr is None:
        kind = resource.get_resource_desc()["resType"]
        return 1 if kind == numbers.RESOURCE_LINEAR else 2
    memory = resource.cuArr
    is_stack = memory.flags & (numbers.ARRAY_LAYERED | numbers.ARRAY_CUBEMAP)
    extents = (memory.width, memory.height, memory.depth)
    return sum(map(bool, extents)) - bool(is_stack)


def texture(
    data: Any,
    *,
    filter: Filter = "point",
    address: Address | Sequence[Address] = "clamp",
    normalized: bool = False,
    read: Read = "element",
    border: float | Sequence[float] = 0.0,
    channels: int | None = None,
    layered: bool = False,
    cubemap: bool = False,
    gather: bool = False,
    memory: Resource = "array",
) -> Any:
    """Make a texture object of an array.

    Parameters
    ----------
    data : array, SurfaceObject or TextureObject
        An array has the shape (width,), (height, width) or (depth, height, width), of dtype int8 to
        int32, uint8 to uint32, float16 or float32. Of an object, the texture has the same memory,
        and sees what kernels write there before its own kernel begins.
    filter : {"point", "linear"}
        Whether a fetch returns the nearest texel, or interpolates; the latter is for textures that
        give floats.
    address : {"clamp", "border", "wrap", "mirror"} or a sequence of them
        What is beyond the texels; of several, along x, y and z, one for each. ``"wrap"`` and
        ``"mirror"`` are for normalized coordinates.
    normalized : bool
        Whether coordinates go from 0 to 1, and not to the extent.
    read : {"element", "normalized"}
        ``"normalized"`` gives floats from 0 to 1 for unsigned integers of 8 and 16 bits, from -1 to
        1 for signed ones.
    border : float or sequence of float
        What is beyond texels with the address mode ``"border"``; one for each channel.
    channels : {1, 2, 4}, optional
        The extent of the last axis, which has the channels of an element.
    layered : bool
        Whether the first axis has layers: shape (layers, width) or (layers, height, width).
    cubemap : bool
        Whether the first axis has the faces of a cube: shape (6, n, n), or (6 * layers, n, n) if it
        is layered as well. Coordinates have to be normalized.
    gather : bool
        Whether ``tex2Dgather`` may read it.
    memory : {"array", "linear", "pitch2D"}
        ``"array"`` copies the elements; later changes of `data` do not show. The others refer to
        the memory of `data`, which lives as long as the texture does: ``"linear"`` of one axis, for
        ``tex1Dfetch`` alone; ``"pitch2D"`` of rows of a multiple of 32 bytes.

    Returns
    -------
    TextureObject
        CuPy's for arrays on a GPU, that of :mod:`kerneltk.textures` for those in host memory. It
        has to live until no kernel uses it.

    Raises
    ------
    ArgumentTypeError
        `data` is neither an array nor such an object, or its dtype is none of a texture.
    ArgumentValueError
        The shape or the modes are none of a texture, or they contradict each other.

    Examples
    --------
    >>> import numpy as np
    >>> import kerneltk
    >>> image = kerneltk.texture(np.array([1, 3, 7], np.float32), filter="linear")
    >>> sample = kerneltk.ElementwiseKernel("U image, T x", "T y", "y = tex1D<T>(image, x)")
    >>> sample(image, np.array([0, 1, 1.5, 2], np.float32))
    array([1., 2., 3., 5.], dtype=float32)
    """
    _one_of("filter", filter, Filter)
    _one_of("read", read, Read)
    _one_of("memory", memory, Resource)
    modes, colors = _modes(address), _colors(border)
    normalized, layered = _flag("normalized", normalized), _flag("layered", layered)
    cubemap, gather = _flag("cubemap", cubemap), _flag("gather", gather)
    if not normalized and not {"wrap", "mirror"}.isdisjoint(modes):
        raise ArgumentValueError(
            "The address modes 'wrap' and 'mirror' are for normalized coordinates.\n"
            "  Hint: pass 'normalized=True', and divide coordinates by the extents."
        )
    found = class_of(type(data))
    on_device: Callable[[], AbstractContextManager[Any]] = nullcontext
    if found is not None:
        given = {"channels": channels is not None, "layered": layered, "cubemap": cubemap}
        given |= {"gather": gather, "memory": memory != "array"}
        backend, resource = _resource_of(data, found, given)
        is_linear = resource.get_resource_desc()["resType"] == numbers.RESOURCE_LINEAR
    else:
        texels = _Texels(data, channels, layered, cubemap)
        is_stack = layered or cubemap
        if gather and (texels.dimensions != 2 or is_stack or memory != "array"):
            raise ArgumentValueError("'gather' is for textures of two dimensions, in an array.")
        if is_stack and memory != "array":
            raise ArgumentValueError("Layers are in an array: 'memory' must be \"array\".")
        if cubemap and not normalized:
            raise ArgumentValueError(
                "The coordinates of a cubemap are normalized: pass 'normalized=True'."
            )
        is_linear = memory == "linear"
        backend = texels.backend
        on_device = texels.adoption.on_device
        with on_device():
            if memory == "array":
                resource = texels.copied(numbers.ARRAY_GATHER if gather else 0)
            else:
                resource = texels.referenced(memory)
    if is_linear and (filter, modes, normalized) != ("point", ("clamp",), False):
        raise ArgumentValueError(
            "A texture of linear memory is read by 'tex1Dfetch' and its index alone: it has no "
            "filter, no address mode and no normalized coordinates."
        )
    element = _element_of(resource)
    is_float = element["f"] == numbers.KIND_FLOAT
    if read == "normalized" and (is_float or element["x"] == 32):
        raise ArgumentValueError("Only integers of 8 and 16 bits are read as normalized floats.")
    gives_floats = is_float or read == "normalized"
    if filter == "linear" and not gives_floats:
        raise ArgumentValueError(
            "A texture that gives integers has no linear filter.\n"
            "  Hint: pass 'read=\"normalized\"' for integers of 8 or 16 bits, or an array of "
            "floats."
        )
    if any(colors) and not gives_floats:
        raise ArgumentValueError("The border of a texture that gives integers is zero.")
    if any(colors) and "border" not in modes:
        raise ArgumentValueError("'border' is for the address mode 'border'.")
    if len(modes) > 1 and len(modes) < (dimensions := _dimensions_of(resource)):
        raise ArgumentValueError(
            f"'address' has {len(modes)} modes, and the texture {dimensions} dimensions.\n"
            "  Hint: pass one for all of them, or one for each."
        )
    along = modes * 3 if len(modes) == 1 else modes
    classes = backend.texture_classes()
    description = classes.TextureDescriptor(
        [_ADDRESSES[mode] for mode in along],
        numbers.FILTER_LINEAR if filter == "linear" else numbers.FILTER_POINT,
        numbers.READ_NORMALIZED if read == "normalized" else numbers.READ_ELEMENT,
        borderColors=colors,
        normalizedCoords=int(normalized),
    )
    with on_device():
        return classes.TextureObject(resource, description)


def surface(
    data: Any, *, channels: int | None = None, layered: bool = False, cubemap: bool = False
) -> Any:
    """Make a surface object of a copy of an array. Kernels read and write it; :func:`contents`
    gives the elements back, and :func:`texture` makes a texture of the same memory.

    Parameters
    ----------
    data : array
        See :func:`texture`.
    channels : {1, 2, 4}, optional
        The extent of the last axis, which has the channels of an element.
    layered : bool
        Whether the first axis has layers.
    cubemap : bool
        Whether it has the faces of a cube.

    Returns
    -------
    SurfaceObject
        CuPy's for arrays on a GPU, that of :mod:`kerneltk.textures` for those in host memory. It
        has to live until no kernel uses it.

    Raises
    ------
    ArgumentTypeError
        `data` is no array, or its dtype is none of a surface.
    ArgumentValueError
        The shape is none of a surface.

    Examples
    --------
    >>> import numpy as np
    >>> import kerneltk
    >>> image = kerneltk.surface(np.zeros((2, 3), np.float32))
    >>> paint = kerneltk.RawKernel(r'''
    ... extern "C" __global__ void paint(cudaSurfaceObject_t image) {
    ...     surf2Dwrite(10.0f * threadIdx.y + threadIdx.x, image, threadIdx.x * 4, threadIdx.y);
    ... }''', "paint")
    >>> paint((1,), (3, 2), (image,))
    >>> kerneltk.textures.contents(image)
    array([[ 0.,  1.,  2.],
           [10., 11., 12.]], dtype=float32)
    """
    layered, cubemap = _flag("layered", layered), _flag("cubemap", cubemap)
    if (found := class_of(type(data))) is not None:
        raise ArgumentTypeError(f"A surface is made of an array, not of a {found.what} object.")
    texels = _Texels(data, channels, layered, cubemap)
    with texels.adoption.on_device():
        resource = texels.copied(numbers.ARRAY_SURFACE)
        return texels.backend.texture_classes().SurfaceObject(resource)


def contents(value: Any) -> Any:
    """Return a copy of the elements of a texture or a surface, as an array.

    Parameters
    ----------
    value : TextureObject or SurfaceObject
        Of an array: one of linear or pitched memory has the elements of its own array.

    Returns
    -------
    array
        NumPy's or CuPy's, of the shape that it was made of; on a GPU, the copy is made on CuPy's
        current stream. Channels are the last axis, if there are several.

    Raises
    ------
    ArgumentTypeError
        It is no such object.
    """
    found = class_of(type(value))
    if found is None or value.ResDesc.cuArr is None:
        raise ArgumentTypeError(
            "The elements of a texture or a surface in an array can be copied, not those of an "
            f"object of type '{type(value).__name__}'."
            if found is None
            else "The texture refers to an array's memory: its elements are those of the array."
        )
    memory = value.ResDesc.cuArr
    element = _element_of(value.ResDesc)
    channels = sum(element[name] > 0 for name in "xyzw")
    dtype = np.dtype(f"{'iuf'[element['f']]}{element['x'] // 8}")
    extents = [extent for extent in (memory.depth, memory.height, memory.width) if extent]
    library = array_library(found.backend)
    made = library.empty((*extents[:-1], extents[-1] * channels), dtype)
    memory.copy_to(made)
    return made.reshape((*extents, channels)) if channels > 1 else made
