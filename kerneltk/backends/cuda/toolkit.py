"""Finds and runs the programs of the CUDA toolkit."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from kerneltk.backends import processes
from kerneltk.core.settings import get_settings

__all__ = ["find_program", "run_program"]

_PACKAGES = ("cu13", "cuda_{name}", "cuda_nvcc")


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
