"""Finds and runs the programs of the CUDA toolkit, and loads its libraries."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from kerneltk.backends import processes
from kerneltk.core.settings import get_settings
from kerneltk.errors import BackendUnavailableError

_PACKAGES = ("cu13", "cuda_{name}", "cuda_nvcc")


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


def _of_packages(name: str) -> Iterator[Path]:
    package = importlib.util.find_spec("nvidia")
    for root in (package.submodule_search_locations or ()) if package else ():
        for directory in _PACKAGES:
            yield Path(root, directory.format(name=name), "bin")


def run_program(command: Sequence[str], directory: str, time_limit: float) -> tuple[int, str, str]:
    """Run a program in `directory`, for so many seconds; as
    :func:`kerneltk.backends.processes.run`.
    """
    try:
        return processes.run(command, directory, time_limit)
    except TimeoutError as error:
        raise TimeoutError(f"'{command[0]}' did not end after {time_limit:g} s.") from error
