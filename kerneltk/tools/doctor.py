"""What works on this machine, found by trying it, and what to install for the rest."""

from __future__ import annotations

import platform
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Literal

import numpy as np

import kerneltk
from kerneltk.backends.base import array_library, compiler_for
from kerneltk.backends.host.toolchain import find_compiler
from kerneltk.cache.store import Cache
from kerneltk.core.artifacts import BackendName, TranslationUnit
from kerneltk.core.settings import get_settings
from kerneltk.errors import BackendUnavailableError

# Each package by the names that it is distributed under, the likeliest first.
_CUDA_PACKAGES = {
    "CuPy": ("cupy-cuda12x", "cupy-cuda13x", "cupy"),
    "cuda-bindings": ("cuda-bindings",),
    "NVRTC": ("nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc"),
    "CUDA headers": ("nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime"),
    "numba-cuda": ("numba-cuda",),
}
_INSTALL_CUDA = "python -m pip install 'kerneltk[cuda12]'  (for a CUDA 13 driver: cuda13)"
_INSTALL_COMPILER = "python -m pip install 'kerneltk[compiler]'"
_NEEDS_GPU = "the packages are here; it needs an NVIDIA GPU and its driver"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Parameters
    ----------
    subject, detail : str
        What it is; what was found.
    state : {"ok", "absent", "broken"}
        ``"absent"`` is what this machine can do without.
    advice : str
        What to do about it: a command, or nothing.
    is_backend : bool
        Whether it is the trial of a backend; one that is ok makes kerneltk usable.
    """

    subject: str
    state: Literal["ok", "absent", "broken"]
    detail: str
    advice: str = ""
    is_backend: bool = False


def examine() -> Iterator[Finding]:
    """Look at the machine, one finding after the other; the last ones compile and launch."""
    yield Finding("kerneltk", "ok", kerneltk.__version__)
    yield Finding("Python", "ok", f"{platform.python_version()}, {platform.machine()}")
    yield Finding("NumPy", "ok", np.__version__)
    yield Finding("Jinja2", "ok", metadata.version("jinja2"))
    yield _compiler()
    packages = [_package(subject, names) for subject, names in _CUDA_PACKAGES.items()]
    yield from packages
    yield _cache()
    yield _cuda_compiler()
    yield _backend("host", _INSTALL_COMPILER)
    complete = all(package.state == "ok" for package in packages)
    yield _backend("cuda", _NEEDS_GPU if complete else _INSTALL_CUDA)


def _package(subject: str, names: tuple[str, ...]) -> Finding:
    for name in names:
        try:
            return Finding(subject, "ok", f"{metadata.version(name)} ({name})")
        except metadata.PackageNotFoundError:
            continue
    return Finding(subject, "absent", "not installed", _INSTALL_CUDA)


def _compiler() -> Finding:
    try:
        found = find_compiler()
    except BackendUnavailableError as error:
        return Finding("C++ compiler", "absent", _sentence(error), _INSTALL_COMPILER)
    command = " ".join(found.command)
    return Finding("C++ compiler", "ok", f"{found.family} {found.version} ({command})")


def _sentence(error: BackendUnavailableError) -> str:
    """Return the error's first line; the hints behind it are `advice`'s."""
    return str(error).partition("\n")[0]


def _cache() -> Finding:
    found = Cache(get_settings().cache_directory).info()
    if found.directory is None:
        return Finding("compile cache", "ok", "in memory only (KERNELTK_CACHE_DIR is empty)")
    held = f"{found.directory}: {found.entries} entries, {found.size / 2**20:.1f} MiB"
    if found.problem is None:
        return Finding("compile cache", "ok", held)
    return Finding(
        "compile cache",
        "broken",
        f"{held}. {found.problem} Kernels are compiled anew in each process.",
        "set KERNELTK_CACHE_DIR to a directory that you own and can write",
    )


def _cuda_compiler() -> Finding:
    subject = "CUDA compiler"
    source = 'extern "C" __global__ void doctor(float* x) { x[threadIdx.x] *= 2.0f; }'
    try:
        unit = TranslationUnit("cuda", source, "doctor")
        compiler, target = compiler_for(unit, "sm_90")
        code = compiler.compile(unit, target)
    except BackendUnavailableError as error:
        return Finding(subject, "absent", _sentence(error), _INSTALL_CUDA)
    except Exception as error:  # whatever a broken installation raises is what is reported
        return Finding(subject, "broken", f"{type(error).__name__}: {error}")
    detail = f"{target.compiler}, compiled a kernel for {target.architecture}"
    return Finding(subject, "ok", f"{detail} ({len(code.code)} bytes)")


def _backend(backend: BackendName, advice: str) -> Finding:
    """Compile a kernel with a constant that makes it new to every cache, launch and check it."""
    subject = f"{backend} backend"
    try:
        xp: Any = array_library(backend)
        constant = secrets.randbelow(2**20)
        kernel = kerneltk.ElementwiseKernel(
            "float32 x, float32 a", "float32 y", f"y = a * x + i + {constant}", name="doctor"
        )
        count = 1000
        result = kernel(xp.ones(count, np.float32), 2.0)
        wrong = int((result != xp.arange(count) + 2 + constant).sum())
    except BackendUnavailableError as error:
        return Finding(subject, "absent", _sentence(error), advice, is_backend=True)
    except Exception as error:  # whatever a broken installation raises is what is reported
        return Finding(subject, "broken", f"{type(error).__name__}: {error}", is_backend=True)
    if wrong:
        detail = f"{wrong} of {count} elements are wrong"
        return Finding(subject, "broken", detail, is_backend=True)
    return Finding(subject, "ok", "compiled a kernel, launched it, results right", is_backend=True)
