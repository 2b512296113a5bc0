"""Texture and surface objects: which classes' instances are, on which backend; CUDA's numbers for
their modes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from kerneltk.core.artifacts import BackendName

What = Literal["texture", "surface"]

# The runtime's constants, by its enumerations.
ADDRESS_WRAP, ADDRESS_CLAMP, ADDRESS_MIRROR, ADDRESS_BORDER = range(4)  # cudaTextureAddressMode
FILTER_POINT, FILTER_LINEAR = range(2)  # cudaTextureFilterMode
READ_ELEMENT, READ_NORMALIZED = range(2)  # cudaTextureReadMode
KIND_SIGNED, KIND_UNSIGNED, KIND_FLOAT = range(3)  # cudaChannelFormatKind
RESOURCE_ARRAY, RESOURCE_LINEAR, RESOURCE_PITCH2D = 0, 2, 3  # cudaResourceType
ARRAY_LAYERED, ARRAY_SURFACE, ARRAY_CUBEMAP, ARRAY_GATHER = 1, 2, 4, 8  # flags of an array


class ObjectClass(NamedTuple):
    """What the instances of a class are.

    Parameters
    ----------
    what : {"texture", "surface"}
    backend : str
        The name of the backend on which kernels can use them.
    """

    what: What
    backend: BackendName


_CLASSES: dict[str, ObjectClass] = {
    "cupy.cuda.texture.TextureObject": ObjectClass("texture", "cuda"),
    "cupy.cuda.texture.SurfaceObject": ObjectClass("surface", "cuda"),
}


def register(kind: type, what: What, backend: BackendName) -> None:
    """Say what a class's instances are; ``ptr`` is the handle of each."""
    _CLASSES[f"{kind.__module__}.{kind.__qualname__}"] = ObjectClass(what, backend)


def class_of(kind: Any) -> ObjectClass | None:
    """What the instances of a class are; None if they are no texture or surface objects."""
    return _class_of(kind)


@lru_cache
def _class_of(kind: Any) -> ObjectClass | None:
    names = (f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__)
    return next((_CLASSES[name] for name in names if name in _CLASSES), None)


class ObjectHandle(np.uint64):
    """An object's handle, in the object's place among a call's arguments."""

    what: What


class TextureHandle(ObjectHandle):
    """The handle of a texture."""

    what = "texture"


class SurfaceHandle(ObjectHandle):
    """The handle of a surface."""

    what = "surface"


_HANDLES: dict[What, type[ObjectHandle]] = {"texture": TextureHandle, "surface": SurfaceHandle}


def handle_of(value: Any) -> tuple[int]:
    """The handle of an object, as what is packed for a launch."""
    return (int(value.ptr),)


def as_number(value: Any) -> Any:
    """The handle of a texture or a surface object, as a number that knows what it is of; any other
    value as it is.
    """
    found = class_of(type(value))
    return value if found is None else _HANDLES[found.what](value.ptr)
