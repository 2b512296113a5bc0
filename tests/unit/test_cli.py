"""The command line: what it prints, and its exit status."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import kerneltk
from kerneltk import cli
from kerneltk.cache.store import Cache
from kerneltk.demo import measure

ROOT = Path(__file__).parents[2]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.main, [str(argument) for argument in arguments])


def message(result: Result, status: int) -> str:
    """Return the error line, having seen that it is one line and no traceback."""
    assert result.exit_code == status, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    lines = result.stderr.strip().splitlines()
    errors = [line for line in lines if line.startswith("Error: ")]
    assert len(errors) == 1
    assert lines[-1] == errors[0]
    return errors[0].removeprefix("Error: ")


@pytest.fixture
def cache_directory(tmp_path: Path, environment: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "cache"
    environment.setenv("KERNELTK_CACHE_DIR", str(directory))
    return directory


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_version() -> None:
    result = run("--version")
    assert result.exit_code == 0
    assert result.output == f"kerneltk, version {kerneltk.__version__}\n"


def test_the_module_runs_as_the_command_does() -> None:
    done = python("-m", "kerneltk", "--version")
    assert done.returncode == 0
    assert done.stdout == run("--version").output


def test_importing_the_package_loads_neither_the_command_line_nor_cupy() -> None:
    code = "import sys, kerneltk; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = python("-c", code).stdout.split()
    assert "kerneltk" in loaded
    assert not {"click", "rich", "cupy", "matplotlib", "PIL", "numba"}.intersection(loaded)


def test_a_setting_that_is_not_valid_is_one_line(
    monkeypatch: pytest.MonkeyPatch, cache_directory: Path
) -> None:
    monkeypatch.setenv("KERNELTK_NUM_THREADS", "many")
    assert "KERNELTK_NUM_THREADS" in message(run("cache", "info"), 2)


# demo


def demo(tmp_path: Path, *arguments: str | Path) -> Result:
    picture = tmp_path / "picture.png"
    return run("demo", "--megapixels", "0.02", "--output", picture, *arguments)


@pytest.mark.gpu
def test_demo_on_a_gpu(tmp_path: Path) -> None:
    result = demo(tmp_path, "--backend", "cuda")
    assert result.exit_code == 0, result.output
    assert "× CuPy" in result.output


def test_a_wrong_result_fails_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import dataclasses

    first, *others = measure.STEPS
    lying = dataclasses.replace(
        first, reference=lambda stored, scale, offset: (stored.astype(np.float32) + 1,)
    )
    monkeypatch.setattr(measure, "STEPS", (lying, *others))
    result = demo(tmp_path, "--backend", "host")
    assert first.name in message(result, 1)
    assert "wrong" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--output", "picture.bmpx"], ".png, .jpg"),
        (["--output", "no/such/directory/picture.png"], "not a directory"),
        (["--megapixels", "-1"], "--megapixels"),
        (["--megapixels", "nan"], "--megapixels"),
        (["--backend", "tpu"], "--backend"),
    ],
)
def test_a_wrong_option_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in message(run("demo", *arguments), 2)


# cache


def test_cache_commands(cache_directory: Path) -> None:
    assert "entries    0" in run("cache", "info").output
    assert run("cache", "list").output == ""
    cache = Cache(cache_directory)
    cache.put("a" * 64, b"x" * 5000)
    cache.put("b" * 64, b"y")

    info = run("cache", "info").output
    assert str(cache_directory) in info
    assert "entries    2" in info
    assert "KiB" in info
    listed = run("cache", "list").output.splitlines()
    assert sorted(line.split()[-1] for line in listed) == ["a" * 64, "b" * 64]

    assert run("cache", "prune").output == "Removed 0 entries.\n"
    assert run("cache", "prune", "--size", "0").output == "Removed 2 entries.\n"
    Cache(cache_directory).put("c" * 64, b"z")
    assert run("cache", "clear").output == "Removed 1 entry.\n"
    assert Cache(cache_directory).get("c" * 64) is None


def test_cache_in_memory_only(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("KERNELTK_CACHE_DIR", "")
    result = run("cache", "info")
    assert result.exit_code == 0
    assert "memory only" in result.output


def test_a_cache_directory_that_is_a_file_is_one_line(cache_directory: Path) -> None:
    cache_directory.write_text("in the way")
    assert str(cache_directory) in message(run("cache", "info"), 1)
    assert "no" in run("cache", "info").stdout


@pytest.mark.parametrize(
    ("count", "text"), [(1023, "1023 bytes"), (1024, "1.0 KiB"), (5 << 30, "5.0 GiB")]
)
def test_sizes_are_printed_in_binary_units(count: int, text: str) -> None:
    assert cli._bytes(count) == text


# doctor


def test_doctor_finds_the_host_backend(cache_directory: Path) -> None:
    result = run("doctor")
    assert result.exit_code == 0, result.output
    assert "host backend" in result.output.splitlines()[-1]
    assert "compiled a kernel for sm_90" in " ".join(result.output.split())


@pytest.mark.gpu
def test_doctor_finds_the_gpu(cache_directory: Path) -> None:
    result = run("doctor")
    assert result.exit_code == 0, result.output
    assert "cuda backend" in result.output.splitlines()[-1]


def test_doctor_without_compiler_or_gpu_fails_and_says_what_to_install(tmp_path: Path) -> None:
    done = python(
        *("-m", "kerneltk", "doctor"),
        KERNELTK_CXX=str(tmp_path / "no-compiler"),
        KERNELTK_CACHE_DIR=str(tmp_path / "cache"),
        CUDA_VISIBLE_DEVICES="",
        COLUMNS="200",
    )
    assert done.returncode == 1
    assert "kerneltk[compiler]" in done.stdout
    assert done.stderr == "Error: No backend works on this machine.\n"
