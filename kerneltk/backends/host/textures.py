"""Texture and surface objects on NumPy arrays: the classes of ``cupy.cuda.texture``.

Kernels find an object's descriptor by its handle, in one table for the process
(`templates/include/kerneltk/host_textures.hpp`). An entry that is free has the handle 0, and one
that is used again another handle than before: so a handle of an object that is gone is an error.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any, Never

import numpy as np

from kerneltk.core.arrays import pinned
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, LaunchError
from kerneltk.interop.texture_objects import (
    ADDRESS_BORDER,
    ADDRESS_CLAMP,
    ARRAY_CUBEMAP,
    ARRAY_GATHER,
    ARRAY_LAYERED,
    ARRAY_SURFACE,
    FILTER_LINEAR,
    FILTER_POINT,
    KIND_FLOAT,
    KIND_SIGNED,
    KIND_UNSIGNED,
    READ_ELEMENT,
    READ_NORMALIZED,
    RESOURCE_ARRAY,
    RESOURCE_LINEAR,
    RESOURCE_PITCH2D,
    register,
)

_MOST = 1 << 16  # entries of the table, as the header has it
_REST = 1024  # free entries that are not used again
_ROW = 16  # bytes of which rows are multiples: no element of a surface is larger
_PITCH = 32  # bytes: GPUs' alignment of pitched memory
_LINEAR_LIMIT = 1 << 28
_PITCH_LIMITS = (131072, 65000)
_TEXTURE, _SURFACE = 1, 2


class _Descriptor(ctypes.Structure):
    _fields_ = (
        ("handle", ctypes.c_uint64),
        ("data", ctypes.c_uint64),
        ("row", ctypes.c_int64),
        ("slice", ctypes.c_int64),
        ("extent", ctypes.c_int32 * 3),
        ("layers", ctypes.c_int32),
        ("what", ctypes.c_uint8),
        ("dimensions", ctypes.c_uint8),
        ("source", ctypes.c_uint8),
        ("format", ctypes.c_uint8),
        ("bytes", ctypes.c_uint8),
        ("channels", ctypes.c_uint8),
        ("filter", ctypes.c_uint8),
        ("normalized", ctypes.c_uint8),
        ("address", ctypes.c_uint8 * 3),
        ("as_float", ctypes.c_uint8),
        ("gathers", ctypes.c_uint8),
        ("cube", ctypes.c_uint8),
        ("unused", ctypes.c_uint8 * 2),
        ("border", ctypes.c_float * 4),
        ("function", ctypes.c_char_p),
        ("reason", ctypes.c_char_p),
    )


class _Table:
    """The descriptors of all objects; the first one is of none."""

    def __init__(self) -> None:
        size = _MOST * ctypes.sizeof(_Descriptor)
        # Memory that was never written to takes none.
        self._memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.entries = (_Descriptor * _MOST).from_buffer(self._memory)
        self.address = ctypes.addressof(self.entries)
        self._lock = threading.Lock()
        self._used = 1
        self._free: deque[int] = deque()
        self._generations: dict[int, int] = {}

    def add(self, descriptor: _Descriptor) -> int:
        """Put a descriptor into the table; returns its handle. Raises LaunchError if it is full."""
        with self._lock:
            if self._free and (len(self._free) > _REST or self._used == _MOST):
                index = self._free.popleft()  # the one that has been free for longest
            elif self._used < _MOST:
                index, self._used = self._used, self._used + 1
            else:
                raise LaunchError(f"There are {_MOST - 1} texture and surface objects already.")
            generation = self._generations.get(index, 0) + 1
            self._generations[index] = generation
            handle = descriptor.handle = generation << 32 | index
            self.entries[index] = descriptor
        return handle

    def remove(self, handle: int) -> None:
        """Take a descriptor out of the table."""
        # No lock: a finalizer may run while this thread holds it.
        index = handle & 0xFFFFFFFF
        self.entries[index].handle = 0
        self._free.append(index)

    def what(self, handle: int) -> int:
        """What a handle is of: a texture, a surface, or 0."""
        index = handle & 0xFFFFFFFF
        if not 0 < index < _MOST or self.entries[index].handle != handle:
            return 0
        return int(self.entries[index].what)

    def take_fault(self) -> str:
        """Why a kernel that is none of a grid failed last; empty if no texture was the reason."""
        first = self.entries[0]
        function, reason = first.function, first.reason
        first.function = first.reason = None
        return f"{function.decode()}: {reason.decode()}" if function and reason else ""


table = _Table()


def is_live(handle: int, what: str) -> bool:
    """Whether a handle is of an object that there is: a ``"texture"`` or a ``"surface"``."""
    return table.what(handle) == (_TEXTURE if what == "texture" else _SURFACE)


def _check_kind(name: str, value: object, kind: type) -> None:
    """Raise ArgumentTypeError for an argument of another class of descriptors."""
    if not isinstance(value, kind):
        raise ArgumentTypeError(
            f"'{name}' must be a {kind.__name__} of kerneltk.textures, not an object of type "
            f"'{type(value).__name__}'."
        )


def _no_copies(self: object, *_: object) -> Never:
    raise ArgumentTypeError(
        f"An object of type '{type(self).__name__}' cannot be copied or pickled: make another one."
    )


class ChannelFormatDescriptor:
    """The channels of an element: bits of each, and what they hold (``cudaChannelFormatDesc``).

    Parameters
    ----------
    x, y, z, w : int
        Bits of each channel: 8, 16 or 32, and 0 of those that there are not. One, two or four
        channels, of equal size.
    f : int
        ``cudaChannelFormatKindSigned``, ``...Unsigned`` or ``...Float``.

    Raises
    ------
    ArgumentValueError
        There is no such element.
    """

    def __init__(self, x: int, y: int, z: int, w: int, f: int) -> None:
        bits = [int(part) for part in (x, y, z, w)]
        count = 4 - bits.count(0)
        sizes = (16, 32) if f == KIND_FLOAT else (8, 16, 32)
        known = f in (KIND_SIGNED, KIND_UNSIGNED, KIND_FLOAT) and count in (1, 2, 4)
        if not known or bits != [bits[0]] * count + [0] * (4 - count) or bits[0] not in sizes:
            raise ArgumentValueError(
                f"No element has channels of {tuple(bits)} bits and kind {f}.\n"
                "  Hint: it has 1, 2 or 4 channels of equal size: integers of 8, 16 or 32 bits, "
                "floats of 16 or 32."
            )
        self._format = dict(zip("xyzwf", (*bits, int(f)), strict=True))
        self.channels = count
        self.kind = int(f)
        self.dtype: np.dtype[Any] = np.dtype(f"{'iuf'[f]}{bits[0] // 8}")

    def get_channel_format(self) -> dict[str, int]:
        """The bits of the channels, and their kind."""
        return dict(self._format)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.channels * self.dtype.itemsize


def _most_extents(ndim: int, flags: int) -> tuple[int, ...]:
    """GPUs' limits of an array (texels; layers), "Compute Capabilities" of CUDA's guide."""
    if flags & ARRAY_CUBEMAP:
        return (32768, 32768, 2046)
    if flags & ARRAY_LAYERED:
        return (32768, 2048) if ndim == 1 else (32768, 32768, 2048)
    if flags & ARRAY_SURFACE:
        return {1: (32768,), 2: (131072, 65536), 3: (16384,) * 3}[ndim]
    return {1: (131072,), 2: (131072, 65536), 3: (16384,) * 3}[ndim]


class CUDAarray:
    """Memory of textures and surfaces (``cudaArray_t``) on the host. Its elements are zero at
    first.

    Parameters
    ----------
    desc : ChannelFormatDescriptor
    width, height, depth : int
        Texels along x, y and z; 0 where there is no such axis. The depth of a layered array is the
        number of its layers, that of a cubemap the number of its faces; one of rows has a height of
        0.
    flags : int
        ``cudaArrayLayered`` (1), ``cudaArraySurfaceLoadStore`` (2), ``cudaArrayCubemap`` (4) and
        ``cudaArrayTextureGather`` (8), added.

    Attributes
    ----------
    ndim : int
        Number of extents that are not 0.

    Raises
    ------
    ArgumentValueError
        There is no array of these extents.
    """

    def __init__(
        self,
        desc: ChannelFormatDescriptor,
        width: int,
        height: int = 0,
        depth: int = 0,
        flags: int = 0,
    ) -> None:
        _check_kind("desc", desc, ChannelFormatDescriptor)
        if flags & ~(ARRAY_LAYERED | ARRAY_SURFACE | ARRAY_CUBEMAP | ARRAY_GATHER):
            raise ArgumentValueError(f"An array in host memory has no flags {flags:#x}.")
        self.desc, self.flags = desc, int(flags)
        self.width, self.height, self.depth = int(width), int(height), int(depth)
        self.ndim = sum(extent != 0 for extent in (self.width, self.height, self.depth))
        is_layered = bool(flags & (ARRAY_LAYERED | ARRAY_CUBEMAP))
        self.layers = self.depth if is_layered else 0
        self.dimensions = 3 if self.depth and not is_layered else 2 if self.height else 1
        extents = [self.width, self.height, self.depth][: self.dimensions]
        extents += [self.depth] if is_layered else []
        limits = _most_extents(self.dimensions, self.flags)
        shown = " x ".join(map(str, extents))
        fits = len(extents) == len(limits) and all(
            0 < own <= most for own, most in zip(extents, limits, strict=True)
        )
        if not fits:
            raise ArgumentValueError(
                f"There is no array of {shown} {'texels and layers' if is_layered else 'texels'}: "
                f"there are 1 to {' x '.join(map(str, limits))}."
            )
        if flags & ARRAY_CUBEMAP and (
            self.width != self.height
            or self.depth % 6
            or (self.depth != 6 and not flags & ARRAY_LAYERED)
        ):
            raise ArgumentValueError(
                f"A cubemap has six square faces, layers of it six each, and not {shown} texels."
            )
        if flags & ARRAY_GATHER and (self.dimensions != 2 or is_layered):
            raise ArgumentValueError("Only textures of two dimensions can be gathered from.")
        row = -(-self.width * desc.itemsize // _ROW) * _ROW
        self.row, self.slice = row, row * max(self.height, 1)
        size = self.slice * max(self.depth, 1)
        memory = np.zeros(size + _ROW, np.uint8)
        begin = -memory.ctypes.data % _ROW
        self._memory = memory[begin : begin + size]
        axes = [(self.depth, self.slice), (self.height, row)]
        axes = [(extent, step) for extent, step in axes if extent]
        self._elements: np.ndarray[Any, Any] = np.ndarray(
            (*(extent for extent, _ in axes), self.width * desc.channels),
            desc.dtype,
            self._memory.data,
            0,
            (*(step for _, step in axes), desc.dtype.itemsize),
        )

    @property
    def ptr(self) -> int:
        """The address of the first element."""
        return int(self._memory.ctypes.data)

    def _check(self, array: Any) -> None:
        if not isinstance(array, np.ndarray):
            raise ArgumentTypeError(
                "An array in host memory is copied from and to NumPy's arrays, not an object of "
                f"type '{type(array).__name__}'."
            )
        if array.shape != self._elements.shape:
            raise ArgumentValueError(
                f"The array has shape {array.shape}, and {self._elements.shape} is wanted: rows "
                "hold the channels of all their elements."
            )
        if array.dtype != self.desc.dtype:
            raise ArgumentValueError(
                f"The array has dtype '{array.dtype}', and the elements are '{self.desc.dtype}'."
            )

    def copy_from(self, in_arr: Any, stream: Any = None) -> None:
        """Copy a NumPy array's elements into it.

        Parameters
        ----------
        in_arr : numpy.ndarray
            Of the channels' dtype and the shape (channels * width,), (height, channels * width) or
            (depth or layers, height, channels * width).
        stream : object, optional
            Is not looked at: the copy is done on return.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            It is no such array.
        """
        self._check(in_arr)
        self._elements[...] = in_arr

    def copy_to(self, out_arr: Any, stream: Any = None) -> None:
        """Copy its elements into a NumPy array; see :meth:`copy_from`."""
        self._check(out_arr)
        out_arr[...] = self._elements

    __copy__ = __deepcopy__ = __reduce__ = _no_copies


class ResourceDescriptor:
    """What a texture or a surface is of (``cudaResourceDesc``).

    Parameters
    ----------
    restype : int
        ``cudaResourceTypeArray``, ``cudaResourceTypeLinear`` or ``cudaResourceTypePitch2D``.
    cuArr : CUDAarray, optional
    arr : numpy.ndarray, optional
        Of linear or pitched memory: C-contiguous, of the channels' dtype or of bytes. It is not
        copied.
    chDesc : ChannelFormatDescriptor, optional
    sizeInBytes : int, optional
        Of linear memory.
    width, height : int, optional
        Texels of pitched memory.
    pitchInBytes : int, optional
        Bytes from one row to the next: a multiple of 32.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Something is missing, or the array has not so many bytes.
    """

    def __init__(
        self,
        restype: int,
        cuArr: CUDAarray | None = None,
        arr: Any = None,
        chDesc: ChannelFormatDescriptor | None = None,
        sizeInBytes: int = 0,
        width: int = 0,
        height: int = 0,
        pitchInBytes: int = 0,
    ) -> None:
        if restype not in (RESOURCE_ARRAY, RESOURCE_LINEAR, RESOURCE_PITCH2D):
            raise ArgumentValueError(f"There is no resource type {restype} in host memory.")
        self.restype = int(restype)
        self.cuArr, self.arr, self.chDesc = cuArr, arr, chDesc
        self.width, self.height, self.pitch = int(width), int(height), int(pitchInBytes)
        self.size = int(sizeInBytes)
        if restype == RESOURCE_ARRAY:
            _check_kind("cuArr", cuArr, CUDAarray)
            return
        _check_kind("chDesc", chDesc, ChannelFormatDescriptor)
        assert chDesc is not None
        self._check_memory(arr, chDesc)
        self._pinned = pinned((arr,))

    def _check_memory(self, arr: Any, desc: ChannelFormatDescriptor) -> None:
        if not isinstance(arr, np.ndarray) or arr.dtype.hasobject:
            raise ArgumentTypeError(
                f"'arr' must be a NumPy array of numbers, not an object of type "
                f"'{type(arr).__name__}'."
            )
        if not arr.flags.c_contiguous:
            raise ArgumentValueError(
                "'arr' is not C-contiguous.\n  Hint: pass 'numpy.ascontiguousarray(x)'."
            )
        if arr.dtype != desc.dtype and arr.dtype.itemsize not in (1, desc.itemsize):
            raise ArgumentValueError(
                f"'arr' has dtype '{arr.dtype}', and the elements are '{desc.dtype}'."
            )
        if arr.ctypes.data % desc.itemsize:
            raise ArgumentValueError(
                f"'arr' does not begin at a multiple of {desc.itemsize} bytes.\n"
                "  Hint: pass a copy."
            )
        if self.restype == RESOURCE_LINEAR:
            count = self.size // desc.itemsize
            if not 0 < count <= _LINEAR_LIMIT:
                raise ArgumentValueError(
                    f"Linear memory of {self.size} bytes has {count} elements: it must have 1 to "
                    f"{_LINEAR_LIMIT}."
                )
            needed = self.size
        else:
            pair = (self.width, self.height)
            if not all(0 < own <= most for own, most in zip(pair, _PITCH_LIMITS, strict=True)):
                raise ArgumentValueError(
                    f"Pitched memory of {self.width} x {self.height} elements: it must have 1 to "
                    f"{_PITCH_LIMITS[0]} x {_PITCH_LIMITS[1]}."
                )
            if self.pitch % _PITCH or self.pitch < self.width * desc.itemsize:
                raise ArgumentValueError(
                    f"'pitchInBytes' is {self.pitch}: it must be a multiple of {_PITCH}, and at "
                    f"least the {self.width * desc.itemsize} bytes of a row."
                )
            needed = (self.height - 1) * self.pitch + self.width * desc.itemsize
        if needed > arr.nbytes:
            raise ArgumentValueError(
                f"'arr' has {arr.nbytes} bytes, and the texture would read {needed}."
            )

    def get_resource_desc(self) -> dict[str, Any]:
        """The resource, as CuPy's class shows it."""
        found: dict[str, Any] = {"resType": self.restype}
        if self.cuArr is not None and self.restype == RESOURCE_ARRAY:
            found["array"] = {"array": self.cuArr.ptr}
            return found
        assert self.chDesc is not None
        shown = {"devPtr": self.arr.ctypes.data, "desc": self.chDesc.get_channel_format()}
        if self.restype == RESOURCE_LINEAR:
            found["linear"] = {**shown, "sizeInBytes": self.size}
        else:
            sizes = {"width": self.width, "height": self.height, "pitchInBytes": self.pitch}
            found["pitch2D"] = {**shown, **sizes}
        return found

    __copy__ = __deepcopy__ = __reduce__ = _no_copies


class TextureDescriptor:
    """How a texture is read (``cudaTextureDesc``).

    Parameters
    ----------
    addressModes : sequence of int, optional
        Up to three of ``cudaAddressMode*``, along x, y and z; ``cudaAddressModeWrap`` where there
        is none.
    filterMode : int
        ``cudaFilterModePoint`` or ``cudaFilterModeLinear``.
    readMode : int
        ``cudaReadModeElementType`` or ``cudaReadModeNormalizedFloat``.
    sRGB : int, optional
        Must not be set.
    borderColors : sequence of float, optional
        Up to four channels.
    normalizedCoords : int, optional
        Whether coordinates go from 0 to 1.
    maxAnisotropy : int, optional
        1 at most.

    Raises
    ------
    ArgumentValueError
        There is no such mode.
    """

    def __init__(
        self,
        addressModes: Sequence[int] | None = None,
        filterMode: int = 0,
        readMode: int = 0,
        sRGB: int | None = None,
        borderColors: Sequence[float] | None = None,
        normalizedCoords: int | None = None,
        maxAnisotropy: int | None = None,
    ) -> None:
        modes = tuple(map(int, addressModes or ()))
        colors = tuple(map(float, borderColors or ()))
        if len(modes) > 3 or not all(0 <= mode <= ADDRESS_BORDER for mode in modes):
            raise ArgumentValueError(f"There are no address modes {modes}.")
        if filterMode not in (FILTER_POINT, FILTER_LINEAR):
            raise ArgumentValueError(f"There is no filter mode {filterMode}.")
        if readMode not in (READ_ELEMENT, READ_NORMALIZED):
            raise ArgumentValueError(f"There is no read mode {readMode}.")
        if len(colors) > 4:
            raise ArgumentValueError(f"A border has four channels, and {len(colors)} were given.")
        if sRGB:
            raise ArgumentValueError("Textures in host memory are not converted from sRGB.")
        if maxAnisotropy is not None and maxAnisotropy > 1:
            raise ArgumentValueError("Textures in host memory have no anisotropic filter.")
        self.address = modes + (0,) * (3 - len(modes))
        self.filter, self.read = int(filterMode), int(readMode)
        self.border = colors + (0.0,) * (4 - len(colors))
        self.normalized = bool(normalizedCoords)
        self._anisotropy = int(maxAnisotropy or 0)

    def get_texture_desc(self) -> dict[str, Any]:
        """The modes, as CuPy's class shows them."""
        return {
            "addressMode": self.address,
            "filterMode": self.filter,
            "readMode": self.read,
            "sRGB": 0,
            "borderColor": self.border,
            "normalizedCoords": int(self.normalized),
            "maxAnisotropy": self._anisotropy,
        }


def _described(resource: ResourceDescriptor, what: int) -> _Descriptor:
    """A descriptor of a resource."""
    made = _Descriptor(what=what, source=resource.restype)
    if resource.restype == RESOURCE_ARRAY:
        array = resource.cuArr
        assert array is not None
        desc, made.data = array.desc, array.ptr
        made.row, made.slice = array.row, array.slice
        made.dimensions, made.layers = array.dimensions, array.layers
        made.gathers = bool(array.flags & ARRAY_GATHER)
        if array.flags & ARRAY_CUBEMAP:
            made.cube = 2 if array.flags & ARRAY_LAYERED else 1
        extents = [array.width, array.height, 0 if array.layers else array.depth]
    else:
        assert resource.chDesc is not None
        desc, made.data = resource.chDesc, resource.arr.ctypes.data
        if resource.restype == RESOURCE_LINEAR:
            extents, made.dimensions = [resource.size // desc.itemsize, 0, 0], 1
        else:
            extents, made.dimensions = [resource.width, resource.height, 0], 2
            made.row = resource.pitch
    made.extent[:] = [max(extent, 1) for extent in extents]
    made.format, made.bytes, made.channels = desc.kind, desc.dtype.itemsize, desc.channels
    return made


class TextureObject:
    """A texture in host memory, for kernels that run on CPU cores (``cudaTextureObject_t``).

    Parameters
    ----------
    ResDesc : ResourceDescriptor
    TexDesc : TextureDescriptor

    Attributes
    ----------
    ptr : int
        Its handle, which is good as long as there is the object.

    Raises
    ------
    ArgumentTypeError
        An argument is no descriptor of this module.
    ArgumentValueError
        The elements cannot be read so: integers are not filtered, and have no border but zero.
    """

    def __init__(self, ResDesc: ResourceDescriptor, TexDesc: TextureDescriptor) -> None:
        _check_kind("ResDesc", ResDesc, ResourceDescriptor)
        _check_kind("TexDesc", TexDesc, TextureDescriptor)
        made = _described(ResDesc, _TEXTURE)
        is_float = made.format == KIND_FLOAT
        # Integers of 32 bits are never normalized.
        made.as_float = is_float or (TexDesc.read == READ_NORMALIZED and made.bytes <= 2)
        if not made.as_float and TexDesc.filter == FILTER_LINEAR and made.source != RESOURCE_LINEAR:
            raise ArgumentValueError(
                "A texture that gives integers has no linear filter.\n"
                "  Hint: read integers of 8 or 16 bits as normalized floats, or floats."
            )
        if not made.as_float and any(TexDesc.border) and ADDRESS_BORDER in TexDesc.address:
            raise ArgumentValueError("The border of a texture that gives integers is zero.")
        if made.cube and not TexDesc.normalized:
            raise ArgumentValueError("The coordinates of a cubemap are normalized.")
        made.filter, made.normalized = TexDesc.filter, TexDesc.normalized
        for axis, mode in enumerate(TexDesc.address):
            # The runtime's documentation: other modes are for normalized coordinates alone.
            as_given = TexDesc.normalized or mode == ADDRESS_BORDER
            made.address[axis] = mode if as_given else ADDRESS_CLAMP
        made.border[:] = TexDesc.border
        self.ResDesc, self.TexDesc = ResDesc, TexDesc
        self.ptr = table.add(made)
        weakref.finalize(self, table.remove, self.ptr).atexit = False

    __copy__ = __deepcopy__ = __reduce__ = _no_copies


class SurfaceObject:
    """A surface in host memory, for kernels that run on CPU cores (``cudaSurfaceObject_t``).

    Parameters
    ----------
    ResDesc : ResourceDescriptor
        Of an array with the flag ``cudaArraySurfaceLoadStore``.

    Attributes
    ----------
    ptr : int
        Its handle, which is good as long as there is the object.

    Raises
    ------
    ArgumentTypeError
        The argument is no descriptor of this module.
    ArgumentValueError
        The resource is no such array.
    """

    def __init__(self, ResDesc: ResourceDescriptor) -> None:
        _check_kind("ResDesc", ResDesc, ResourceDescriptor)
        if ResDesc.cuArr is None or not ResDesc.cuArr.flags & ARRAY_SURFACE:
            raise ArgumentValueError(
                "A surface is of a CUDAarray that was made with 'flags' of "
                "cudaArraySurfaceLoadStore (2)."
            )
        self.ResDesc = ResDesc
        self.ptr = table.add(_described(ResDesc, _SURFACE))
        weakref.finalize(self, table.remove, self.ptr).atexit = False

    __copy__ = __deepcopy__ = __reduce__ = _no_copies


register(TextureObject, "texture", "host")
register(SurfaceObject, "surface", "host")
