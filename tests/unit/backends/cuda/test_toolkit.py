"""Where programs of the CUDA toolkit are looked for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kerneltk.backends.cuda.toolkit import (
    device_runtime,
    find_program,
    include_directories,
    run_program,
)


@pytest.fixture
def home(tmp_path: Path, environment: pytest.MonkeyPatch) -> Path:
    """A toolkit's directory, where ``PATH`` is empty."""
    (tmp_path / "bin").mkdir()
    environment.setenv("PATH", str(tmp_path / "path"))
    environment.setenv("CUDA_HOME", str(tmp_path))
    environment.delenv("CUDA_PATH", raising=False)
    environment.delenv("CONDA_PREFIX", raising=False)
    return tmp_path


def make(program: Path) -> Path:
    program.parent.mkdir(exist_ok=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    return program


def test_nowhere(home: Path) -> None:
    assert find_program("no_such_program") is None
    (home / "bin" / "no_such_program").write_text("not executable")
    assert find_program("no_such_program") is None


def test_path_comes_before_the_toolkit(home: Path) -> None:
    own = make(home / "bin" / "tool")
    assert find_program("tool") == own
    first = make(home / "path" / "tool")
    assert find_program("tool") == first


def test_headers_in_packages_come_before_a_toolkits(
    home: Path, monkeypatch: pytest.MonkeyPatch, environment: pytest.MonkeyPatch
) -> None:
    def add(directory: Path, header: str) -> str:
        (directory / header).parent.mkdir(parents=True, exist_ok=True)
        (directory / header).touch()
        return str(directory)

    def found() -> tuple[str, ...]:  # this machine may have a toolkit of its own
        return tuple(path for path in include_directories() if path.startswith(str(home)))

    conda, packages = home / "conda", home / "packages"
    environment.setenv("CONDA_PREFIX", str(conda))
    monkeypatch.setattr("kerneltk.backends.cuda.toolkit._package_roots", lambda: [str(packages)])
    assert found() == ()
    curand = add(conda / "targets" / "sbsa-linux" / "include", "curand.h")
    cccl = add(home / "include" / "cccl", "cuda/std/version")
    runtime = add(home / "include", "cuda_runtime.h")
    assert found() == (runtime, cccl, curand)
    runtime = add(packages / "cuda_runtime" / "include", "cuda_runtime.h")
    assert found() == (runtime, cccl, curand)
    everything = add(packages / "cu13" / "include", "cuda_runtime.h")
    add(packages / "cu13" / "include", "curand.h")
    assert found() == (everything, cccl)


def test_the_library_for_kernels_that_launch_kernels(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = home / "packages"
    monkeypatch.setattr("kerneltk.backends.cuda.toolkit._package_roots", lambda: [str(packages)])
    for directory in (home / "lib64", packages / "cuda_runtime/lib", packages / "cu13/lib"):
        directory.mkdir(parents=True)
        (directory / "libcudadevrt.a").touch()
        device_runtime.cache_clear()
        assert device_runtime() == directory / "libcudadevrt.a"
    device_runtime.cache_clear()


def test_packages_that_are_in_several_places(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headers = ("a/nvidia/cuda_runtime/include/cuda_runtime.h", "b/nvidia/curand/include/curand.h")
    for header in headers:
        (home / header).parent.mkdir(parents=True)
        (home / header).touch()
    (home / "a" / "nvidia" / "__init__.py").touch()  # it hides those in `b` from imports
    monkeypatch.setattr(sys, "path", ["", str(home / "a"), str(home / "b")])
    assert include_directories()[:1] == (str(home / "a/nvidia/cuda_runtime/include"),)
    assert str(home / "b/nvidia/curand/include") in include_directories()


def test_what_a_program_prints(tmp_path: Path) -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    status, out, err = run_program([sys.executable, "-c", code], str(tmp_path), 60)
    assert (status, out.strip(), err.strip()) == (3, "out", "err")


def test_programs_that_do_not_end_or_begin(tmp_path: Path) -> None:
    wait = [sys.executable, "-c", "import time; time.sleep(60)"]
    with pytest.raises(TimeoutError, match=r"did not end after 0\.2 s"):
        run_program(wait, str(tmp_path), 0.2)
    with pytest.raises(OSError, match="no_such_program"):
        run_program([str(tmp_path / "no_such_program")], str(tmp_path), 1)
