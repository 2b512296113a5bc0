"""A front-end that has C++ in place of a function, and types of arguments that it takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kerneltk import pipeline
from kerneltk.backends.base import LaunchMode
from kerneltk.core.artifacts import BackendName, TranslationUnit
from kerneltk.errors import Snippet
from kerneltk.jit.ir.types import Type
from kerneltk.jit.launch.launcher import Arguments, CompiledKernel
from kerneltk.jit.launch.marshalling import ArgumentPath

PARTICLE = np.dtype([("id", np.int8), ("mass", np.float64), ("at", np.float32, 3)], align=True)

PACKED = np.dtype([("tag", np.int8), ("value", np.float32)])

WAVE = np.dtype({"names": ["z", "k"], "formats": [np.complex128, np.int32], "itemsize": 32})

VIEWS = """
#include <kerneltk/complex.hpp>
#include <kerneltk/float16.hpp>
#include <kerneltk/bfloat16.hpp>
template <class T, int N> struct dense { T* data; long long extent[N]; };
template <class T> struct dense<T, 0> { T* data; };
template <class T, int N> struct strided { T* data; long long extent[N]; long long stride[N]; };
struct particle { signed char id; double mass; float at[3]; };
struct __attribute__((packed)) packed { signed char tag; float value; };
struct wave { complex<double> z; int k; unsigned char rest[12]; };
template <class T> struct tail { T rest; };
"""


@dataclass
class Text:
    """A front-end whose kernel is CUDA C++: the parameters' C++ types, and what is done.

    `parameters` and `body` may be functions of the types of the arguments.
    """

    parameters: Any
    body: Any
    written: Any = ()
    mode: LaunchMode = field(default_factory=LaunchMode)
    name: str = "probe"
    source: str = "def probe(x, y, z, n): pass"
    head: str = ""
    asked: list[tuple[Type, ...]] = field(default_factory=list)

    def unit(self, backend: BackendName, types: tuple[Type, ...]) -> TranslationUnit:
        parameters, body = (
            made(types) if callable(made) else made for made in (self.parameters, self.body)
        )
        kernel = f'extern "C" __global__ void probe({parameters}) {{ {body} }}\n'
        text = f"{VIEWS}{self.head}\n{kernel}"
        symbol = "probe"
        if backend == "host":
            includes = "#include <kerneltk/host_grid.hpp>\n#include <kerneltk/host_device.hpp>\n"
            text = f"{includes}{text}KERNELTK_ENTRY(_kt_entry_0, (probe))\n"
            symbol = "_kt_entry_0"
        return TranslationUnit(
            backend, text, "", name="probe", exports=(("probe", symbol),), raw=True
        )

    def compiled(self, arguments: Arguments) -> CompiledKernel:
        backend, types = arguments.backend, arguments.types
        assert arguments.shapes.is_32bit_indexable
        self.asked.append(types)
        unit = self.unit(backend.name, types)
        function = pipeline.get_module(unit, backend)[0].function(unit.exports[0][1])
        written = (*self.written, *([True] * len(types)))[: len(types)]
        return CompiledKernel(function, backend.limits(function), written, self.mode)

    def path(self, index: int) -> ArgumentPath:
        if index > 3:
            return ArgumentPath(self.name, f"more{index}")
        start = self.source.index("xyzn"[index], 9)
        snippet = Snippet("probe.py", self.source, start, start + 1)
        return ArgumentPath(self.name, "xyzn"[index], snippet)


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass(frozen=True)
class Config:
    scale: Any
    count: Any


@dataclass(slots=True)
class Nested:
    pair: Any
    config: Any
