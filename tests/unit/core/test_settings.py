"""The environment's variables, their defaults, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kerneltk.core.settings import Settings, get_settings


@pytest.fixture
def environment(environment: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment without any of our variables."""
    for name in ("CACHE_DIR", "CXX", "NUM_THREADS", "HOST_SANITIZE", "HOST_DEBUG", "LAUNCHER"):
        environment.delenv(f"KERNELTK_{name}", raising=False)
    for name in ("KERNELTK_HOST_TIME_LIMIT", "KERNELTK_CUDA_INCLUDE", "CUDA_HOME", "CUDA_PATH"):
        environment.delenv(name, raising=False)
    return environment


def test_defaults(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("XDG_CACHE_HOME", "/somewhere")
    for name in ("NVCC_CCBIN", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"):
        environment.delenv(name, raising=False)
    assert get_settings() == Settings(
        Path("/somewhere/kerneltk"), None, None, (), (), 600.0, (), ("/usr/local/cuda",), ""
    )


_LIMIT, _DEBUG = "KERNELTK_HOST_TIME_LIMIT", "KERNELTK_HOST_DEBUG"


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        ({"KERNELTK_CACHE_DIR": ""}, "cache_directory", None),
        ({"KERNELTK_CACHE_DIR": "~/x"}, "cache_directory", Path.home() / "x"),
        ({"KERNELTK_CACHE_DIR": "x y"}, "cache_directory", Path("x y")),
        ({"KERNELTK_HOST_SANITIZE": "address,,undefined,"}, "host_sanitizers",
         ("address", "undefined")),
        ({"KERNELTK_CUDA_INCLUDE": ":/a::/b"}, "cuda_include", ("/a", "/b")),
        ({"CUDA_HOME": "/cuda"}, "cuda_home", ("/cuda", "/usr/local/cuda")),
        ({"NVCC_CCBIN": "", "NVCC_PREPEND_FLAGS": "-O2", "NVCC_APPEND_FLAGS": "-G -lineinfo"},
         "nvcc_environment", "NVCC_PREPEND_FLAGS=-O2 NVCC_APPEND_FLAGS=-G -lineinfo"),
        ({_DEBUG: "symbols"}, "host_time_limit", 0.0),
        ({_DEBUG: "symbols", _LIMIT: ".5"}, "host_time_limit", 0.5),
        ({_DEBUG: "memory", _LIMIT: "3."}, "host_time_limit", 3.0),
        ({_DEBUG: " symbols , memory,symbols,"}, "host_debug", ("memory", "symbols")),
        ({"KERNELTK_LAUNCHER": "compiled"}, "launcher", "compiled"),
        ({"KERNELTK_HOST_EXITED_THREADS": "arrive"}, "host_exited_threads", "arrive"),
    ],
)  # fmt: skip
def test_what_variables_say(
    environment: pytest.MonkeyPatch, words: dict[str, str], field: str, value: Any
) -> None:
    for name, word in {"XDG_CACHE_HOME": "/elsewhere", **words}.items():
        environment.setenv(name, word)
    assert getattr(get_settings(), field) == value


def test_without_a_home_kernels_stay_in_memory(environment: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    environment.delenv("XDG_CACHE_HOME", raising=False)
    environment.setattr(Path, "home", homeless)
    assert get_settings().cache_directory is None


@pytest.mark.parametrize(
    ("name", "word", "message"),
    [
        *(("KERNELTK_NUM_THREADS", n, f"a positive integer, not '{n}'")
          for n in ("0", "-1", "two", "1.5", "", " 2")),
        *((_LIMIT, n, "must be a number of seconds")
          for n in ("-1", "1e3", "inf", "nan", "1 s", ".")),
        ("KERNELTK_LAUNCHER", "rust", "must be 'python' or 'compiled', not 'rust'"),
        ("KERNELTK_HOST_EXITED_THREADS", "wait", "must be 'error' or 'arrive', not 'wait'"),
        (_DEBUG, "memory,speed", r"takes 'memory' and 'symbols', .* not 'speed'\.$"),
    ],
)  # fmt: skip
def test_words_that_are_refused(
    environment: pytest.MonkeyPatch, name: str, word: str, message: str
) -> None:
    environment.setenv(name, word)
    with pytest.raises(ValueError, match=message):
        get_settings()
