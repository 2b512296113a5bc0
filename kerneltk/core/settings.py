"""What the environment decides. The only module that reads ``os.environ``."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Any, Literal

from kerneltk.core.records import record


@record
class Settings:
    """The settings of this process, read once.

    Attributes
    ----------
    cache_directory : Path or None
        The directory of compiled kernels (``KERNELTK_CACHE_DIR``); None holds them in memory only
        (``KERNELTK_CACHE_DIR`` set to the empty string).
    cxx : str or None
        The host compiler to use (``KERNELTK_CXX``): a path, a command, or ``"zig"``.
    num_threads : int or None
        Host threads (``KERNELTK_NUM_THREADS``); None takes every core this process may use.
    host_sanitizers : tuple of str
        Sanitizers that host kernels are built with (``KERNELTK_HOST_SANITIZE``, comma separated:
        ``address``, ``undefined``).
    host_debug : tuple of str
        How raw kernels on the host are built for looking into them (``KERNELTK_HOST_DEBUG``, comma
        separated): ``memory`` checks every access to memory, ``symbols`` is for a debugger.
    host_time_limit : float
        Seconds after which a raw kernel on the host is ended (``KERNELTK_HOST_TIME_LIMIT``,
        default 600, with ``symbols`` 0); 0 is no limit.
    host_exited_threads : str
        What a thread that has left a raw kernel means on the host at a barrier that others wait at
        (``KERNELTK_HOST_EXITED_THREADS``): ``error`` (the default), or ``arrive`` as on GPUs.
    cuda_include : tuple of str
        Directories to look in for the CUDA headers before the installed packages
        (``KERNELTK_CUDA_INCLUDE``, separated like ``PATH``).
    cuda_home : tuple of str
        Where CUDA toolkits may be installed (``CUDA_HOME``, ``CUDA_PATH``, ``CONDA_PREFIX``,
        ``/usr/local/cuda``).
    launcher : str
        What launches kernels (``KERNELTK_LAUNCHER``): ``python`` for functions in Python that are
        written for each kind of call, ``compiled`` for those of the extension module, which is
        waited for; empty for the extension module where it is there.
    raw_checks : str
        What launches of raw kernels do with arguments that do not fit (``KERNELTK_RAW_CHECKS``):
        ``error`` (the default), ``warn`` or ``off``.
    nvcc_environment : str
        What nvcc takes from the environment by itself (``NVCC_CCBIN``, ``NVCC_PREPEND_FLAGS``,
        ``NVCC_APPEND_FLAGS``), as one string; empty where that is nothing.
    """

    cache_directory: Path | None
    cxx: str | None
    num_threads: int | None
    host_sanitizers: tuple[str, ...]
    host_debug: tuple[str, ...]
    host_time_limit: float
    cuda_include: tuple[str, ...]
    cuda_home: tuple[str, ...] = ()
    nvcc_environment: str = ""
    launcher: str = ""
    raw_checks: Literal["error", "warn", "off"] = "error"
    host_exited_threads: Literal["error", "arrive"] = "error"


_HOST_DEBUG = ("memory", "symbols")
_TOOLKITS = ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX")
_NVCC = ("NVCC_CCBIN", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")


def _cache_directory() -> Path | None:
    chosen = os.environ.get("KERNELTK_CACHE_DIR")
    root = os.environ.get("XDG_CACHE_HOME")
    try:
        if chosen is not None:
            return Path(chosen).expanduser() if chosen else None
        return Path(root) / "kerneltk" if root else Path.home() / ".cache" / "kerneltk"
    except RuntimeError:  # no home directory is known for this user: keep kernels in memory
        return None


def _chosen(name: str, *words: str) -> Any:
    """One of some words, the first where the environment has none. Raises ValueError for others."""
    chosen = os.environ.get(name) or words[0]
    if chosen not in words:
        *others, last = (f"'{word}'" for word in words if word)
        raise ValueError(f"{name} must be {', '.join(others)} or {last}, not '{chosen}'.")
    return chosen


@cache
def get_settings() -> Settings:
    """Return the settings; ``get_settings.cache_clear()`` reads the environment again. Raises
    ValueError where ``KERNELTK_NUM_THREADS`` is not a positive integer,
    ``KERNELTK_HOST_TIME_LIMIT`` not a number of seconds, or ``KERNELTK_HOST_DEBUG``,
    ``KERNELTK_LAUNCHER``, ``KERNELTK_RAW_CHECKS`` or ``KERNELTK_HOST_EXITED_THREADS`` has a word
    that is unknown.
    """
    env = os.environ
    threads = env.get("KERNELTK_NUM_THREADS")
    if threads is not None and (not threads.isdecimal() or int(threads) < 1):
        raise ValueError(f"KERNELTK_NUM_THREADS must be a positive integer, not '{threads}'.")
    debug = {word.strip() for word in env.get("KERNELTK_HOST_DEBUG", "").split(",")} - {""}
    if unknown := sorted(debug.difference(_HOST_DEBUG)):
        raise ValueError(
            f"KERNELTK_HOST_DEBUG takes 'memory' and 'symbols', comma separated, not "
            f"'{unknown[0]}'."
        )
    limit = env.get("KERNELTK_HOST_TIME_LIMIT")
    if limit and not re.fullmatch(r"\d+(\.\d*)?|\.\d+", limit):
        raise ValueError(f"KERNELTK_HOST_TIME_LIMIT must be a number of seconds, not '{limit}'.")
    return Settings(
        cache_directory=_cache_directory(),
        cxx=env.get("KERNELTK_CXX") or None,
        num_threads=int(threads) if threads else None,
        host_sanitizers=tuple(filter(None, env.get("KERNELTK_HOST_SANITIZE", "").split(","))),
        host_debug=tuple(sorted(debug)),
        # Who steps through a kernel takes time.
        host_time_limit=float(limit or (0 if "symbols" in debug else 600)),
        cuda_include=tuple(filter(None, env.get("KERNELTK_CUDA_INCLUDE", "").split(os.pathsep))),
        cuda_home=(*filter(None, map(env.get, _TOOLKITS)), "/usr/local/cuda"),
        nvcc_environment=" ".join(f"{name}={env[name]}" for name in _NVCC if env.get(name)),
        launcher=_chosen("KERNELTK_LAUNCHER", "", "python", "compiled"),
        raw_checks=_chosen("KERNELTK_RAW_CHECKS", "error", "warn", "off"),
        host_exited_threads=_chosen("KERNELTK_HOST_EXITED_THREADS", "error", "arrive"),
    )
