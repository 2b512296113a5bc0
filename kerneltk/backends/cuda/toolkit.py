"""Finds the programs and headers of the CUDA toolkit, and loads its libraries."""

from __future__ import annotations

import glob
import importlib
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from kerneltk.backends import processes
from kerneltk.core.settings import get_settings
from kerneltk.errors import BackendUnavailableError

_PACKAGES = ("cu13", "cuda_{name}", "cuda_nvcc")
# A header of each part of the toolkit, and NVIDIA's package for Python that has the part. `mma.h`
# is in one package and what it includes in another.
_HEADERS = {
    "cuda_runtime.h": "cuda_runtime",
    "cuda/std/version": "cuda_cccl",
    "fatbinary_section.h": "cuda_nvcc",
    "curand.h": "curand",
}


@cache
def load_library(module: str, version: str, what: str) -> Any:
    """Load a library of the toolkit, which needs neither a GPU nor a driver. Raises
    BackendUnavailableError where it is not installed.

    Parameters
    ----------
    module : str
        Of ``cuda.bindings``.
    version : str
        Its function that says the version, which shows that the library itself is there.
    what : str
        What messages call it.
    """
    try:
        library = importlib.import_module(f"cuda.bindings.{module}")
        getattr(library, version)()
    except Exception as error:  # a missing package or library, by many exception types
        raise BackendUnavailableError(
            f"{what} cannot be loaded: {error}.\n"
            "  Hint: install 'kerneltk[cuda12]' or 'kerneltk[cuda13]'."
        ) from error
    return library


def find_program(name: str) -> Path | None:
    """Return where a program of the toolkit is: on ``PATH``, where a toolkit is installed
    (`Settings.cuda_home`), or in one of NVIDIA's packages for Python; None if it is nowhere.
    """
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    directories = [Path(home, "bin") for home in get_settings().cuda_home]
    for directory in (*directories, *_of_packages(name)):
        if os.access(directory / name, os.X_OK):
            return directory / name
    return None


def _package_roots() -> list[str]:
    """Return where NVIDIA's packages for Python are. Some of them have an ``__init__.py``, which
    hides from imports those that are installed elsewhere.
    """
    return [root for path in sys.path if path and os.path.isdir(root := f"{path}/nvidia")]


def _of_packages(name: str) -> Iterator[Path]:
    for root in _package_roots():
        for directory in _PACKAGES:
            yield Path(root, directory.format(name=name), "bin")


def include_directories() -> tuple[str, ...]:
    """Return where CUDA's headers are: in NVIDIA's packages for Python, or where a toolkit is
    installed (`Settings.cuda_home`), the first of these for each part of it.
    """
    packages, toolkits = _package_roots(), get_settings().cuda_home
    found: dict[str, None] = {}
    for header, package in _HEADERS.items():
        directories = [
            f"{root}/{part}/include{inner}"
            for part, inner in (("cu13", ""), ("cu13", "/cccl"), (package, ""))
            for root in packages
        ]
        for home in toolkits:
            includes = [f"{home}/include", *glob.glob(f"{glob.escape(home)}/targets/*/include")]
            directories += [f"{path}{inner}" for path in includes for inner in ("/cccl", "")]
        first = (path for path in directories if os.path.isfile(f"{path}/{header}"))
        found |= dict.fromkeys(islice(first, 1))
    return tuple(found)


@cache
def device_runtime() -> Path | None:
    """Return where CUDA's library for kernels that launch kernels is; None if it is nowhere."""
    homes, name = get_settings().cuda_home, "libcudadevrt.a"
    directories = [
        *(f"{root}/{part}/lib" for root in _package_roots() for part in ("cu13", "cuda_runtime")),
        *(f"{home}/{part}" for home in homes for part in ("lib64", "lib")),
    ]
    paths = (Path(directory, name) for directory in directories)
    return next(filter(Path.is_file, paths), None)


def run_program(command: Sequence[str], directory: str, time_limit: float) -> tuple[int, str, str]:
    """Run a program in `directory`, for so many seconds; as
    :func:`kerneltk.backends.processes.run`.
    """
    try:
        return processes.run(command, directory, time_limit)
    except TimeoutError as error:
        raise TimeoutError(f"'{command[0]}' did not end after {time_limit:g} s.") from error
