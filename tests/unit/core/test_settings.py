"""The environment's variables, their defaults, and what they refuse."""

from __future__ import annotations

from pathlib import Path

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


@pytest.mark.parametrize(
    ("chosen", "directory"),
    [("", None), ("/x", Path("/x")), ("~/x", Path.home() / "x"), ("x y", Path("x y"))],
)
def test_the_cache_directory(
    environment: pytest.MonkeyPatch, chosen: str, directory: Path | None
) -> None:
    environment.setenv("KERNELTK_CACHE_DIR", chosen)
    environment.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert get_settings().cache_directory == directory


def test_without_a_home_kernels_stay_in_memory(environment: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    environment.delenv("XDG_CACHE_HOME", raising=False)
    environment.setattr(Path, "home", homeless)
    assert get_settings().cache_directory is None


def test_lists_have_no_empty_items(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("KERNELTK_HOST_SANITIZE", "address,,undefined,")
    environment.setenv("KERNELTK_CUDA_INCLUDE", ":/a::/b")
    environment.setenv("CUDA_HOME", "/cuda")
    settings = get_settings()
    assert settings.host_sanitizers == ("address", "undefined")
    assert settings.cuda_include == ("/a", "/b")
    assert settings.cuda_home == ("/cuda", "/usr/local/cuda")


def test_what_nvcc_reads_is_one_string(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("NVCC_CCBIN", "")
    environment.setenv("NVCC_PREPEND_FLAGS", "-O2")
    environment.setenv("NVCC_APPEND_FLAGS", "-G -lineinfo")
    assert get_settings().nvcc_environment == (
        "NVCC_PREPEND_FLAGS=-O2 NVCC_APPEND_FLAGS=-G -lineinfo"
    )


@pytest.mark.parametrize("threads", ["0", "-1", "two", "1.5", "", " 2"])
def test_a_number_of_threads_that_is_none(environment: pytest.MonkeyPatch, threads: str) -> None:
    environment.setenv("KERNELTK_NUM_THREADS", threads)
    with pytest.raises(ValueError, match=f"a positive integer, not '{threads}'"):
        get_settings()


@pytest.mark.parametrize("limit", ["-1", "1e3", "inf", "nan", "1 s", "."])
def test_a_time_limit_that_is_none(environment: pytest.MonkeyPatch, limit: str) -> None:
    environment.setenv("KERNELTK_HOST_TIME_LIMIT", limit)
    with pytest.raises(ValueError, match="must be a number of seconds"):
        get_settings()


@pytest.mark.parametrize(
    ("debug", "limit", "seconds"),
    [("", "", 600.0), ("symbols", "", 0.0), ("symbols", ".5", 0.5), ("memory", "3.", 3.0)],
)
def test_time_limits(
    environment: pytest.MonkeyPatch, debug: str, limit: str, seconds: float
) -> None:
    environment.setenv("KERNELTK_HOST_DEBUG", debug)
    environment.setenv("KERNELTK_HOST_TIME_LIMIT", limit)
    assert get_settings().host_time_limit == seconds


@pytest.mark.parametrize(
    ("text", "words", "limit"),
    [
        ("", (), 600),
        ("memory", ("memory",), 600),
        (" symbols , memory,", ("memory", "symbols"), 0),
        ("symbols,symbols", ("symbols",), 0),
    ],
)
def test_debug_words(
    environment: pytest.MonkeyPatch, text: str, words: tuple[str, ...], limit: float
) -> None:
    environment.setenv("KERNELTK_HOST_DEBUG", text)
    assert get_settings().host_debug == words
    assert get_settings().host_time_limit == limit


def test_what_launches(environment: pytest.MonkeyPatch) -> None:
    assert get_settings().launcher == ""
    for word in ("python", "compiled"):
        environment.setenv("KERNELTK_LAUNCHER", word)
        get_settings.cache_clear()
        assert get_settings().launcher == word
    environment.setenv("KERNELTK_LAUNCHER", "rust")
    get_settings.cache_clear()
    with pytest.raises(ValueError, match="must be 'python' or 'compiled', not 'rust'"):
        get_settings()


def test_threads_that_have_left(environment: pytest.MonkeyPatch) -> None:
    assert get_settings().host_exited_threads == "error"
    for word in ("arrive", "error"):
        environment.setenv("KERNELTK_HOST_EXITED_THREADS", word)
        get_settings.cache_clear()
        assert get_settings().host_exited_threads == word
    environment.setenv("KERNELTK_HOST_EXITED_THREADS", "wait")
    get_settings.cache_clear()
    with pytest.raises(ValueError, match="must be 'error' or 'arrive', not 'wait'"):
        get_settings()


def test_an_unknown_debug_word(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("KERNELTK_HOST_DEBUG", "memory,speed")
    with pytest.raises(ValueError, match=r"takes 'memory' and 'symbols', .* not 'speed'\.$"):
        get_settings()
