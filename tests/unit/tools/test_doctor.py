"""What the examination of a machine finds where something is missing or broken."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from kerneltk.backends.host.toolchain import find_compiler
from kerneltk.errors import BackendUnavailableError
from kerneltk.tools import doctor
from kerneltk.tools.doctor import Finding

MISSING = BackendUnavailableError("It is not here.\n  Hint: install it.")


def raising(error: Exception) -> Any:
    def fail(*args: Any) -> Any:
        raise error

    return fail


def test_each_subject_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "array_library", raising(MISSING))
    monkeypatch.setattr(doctor, "compiler_for", raising(MISSING))
    monkeypatch.setattr(metadata, "version", lambda name: "1.0")
    findings = list(doctor.examine())
    subjects = [finding.subject for finding in findings]
    assert len(set(subjects)) == len(subjects)
    assert subjects[-2:] == ["host backend", "cuda backend"]
    assert [finding.is_backend for finding in findings[-3:]] == [False, True, True]
    assert not any(finding.is_backend for finding in findings[:-2])
    for finding in findings[-3:]:
        assert (finding.state, finding.detail) == ("absent", "It is not here.")
        assert finding.advice
    assert "needs an NVIDIA GPU" in findings[-1].advice

    def absent(name: str) -> str:
        if "cupy" in name:
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(metadata, "version", absent)
    findings = list(doctor.examine())
    assert "pip install" in findings[-1].advice
    (cupy,) = (finding for finding in findings if finding.subject == "CuPy")
    assert (cupy.state, cupy.detail) == ("absent", "not installed")
    # The likeliest name of a package is told.
    assert doctor._package("X", ("cupy", "second")) == Finding("X", "ok", "1.0 (second)")


def test_compilers_also_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    found, compiler = doctor._compiler(), find_compiler()
    assert found.state == "ok"
    assert compiler.command[0] in found.detail
    assert str(compiler.version) in found.detail
    found = doctor._cuda_compiler()  # it is tried without a GPU
    assert found.state == "ok"
    assert "compiled a kernel for sm_90" in found.detail
    monkeypatch.setattr(doctor, "find_compiler", raising(MISSING))
    found = doctor._compiler()
    assert (found.state, found.detail) == ("absent", "It is not here.")
    assert "kerneltk[compiler]" in found.advice


@pytest.mark.parametrize(("path", "state", "detail", "advice"), [
    ("cache", "ok", "cache: 0 entries, 0.0 MiB", ""), ("", "ok", "in memory only", ""),
    ("file", "broken", "", "KERNELTK_CACHE_DIR"),
])  # fmt: skip
def test_caches(
    tmp_path: Path, environment: pytest.MonkeyPatch, path: str, state: str, detail: str, advice: str
) -> None:
    (tmp_path / "file").touch()
    environment.setenv("KERNELTK_CACHE_DIR", path and str(tmp_path / path))
    found = doctor._cache()
    if path:
        assert found.state == state
    assert detail in found.detail
    assert advice in found.advice


class Array:
    """Stands in for an array whose elements are all different from what they should be."""

    def __init__(self, wrong: int) -> None:
        self.wrong = wrong

    def __ne__(self, other: object) -> Any:
        return self

    __hash__ = None  # type: ignore[assignment]

    def sum(self) -> int:
        return self.wrong


@pytest.mark.parametrize(("wrong", "state"), [(0, "ok"), (3, "broken")])
def test_results_are_checked(monkeypatch: pytest.MonkeyPatch, wrong: int, state: str) -> None:
    monkeypatch.setattr(
        doctor.kerneltk, "ElementwiseKernel", lambda *args, **words: lambda *values: Array(wrong)
    )
    found = doctor._backend("host", "advice")
    assert (found.state, found.is_backend) == (state, True)
    assert ("3 of 1000 elements are wrong" in found.detail) is (wrong == 3)


def test_whatever_is_raised_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = OSError("libcuda.so.1: file too short")
    monkeypatch.setattr(doctor, "array_library", raising(broken))
    monkeypatch.setattr(doctor, "compiler_for", raising(broken))
    for found in (doctor._backend("host", ""), doctor._cuda_compiler()):
        assert (found.state, found.detail) == ("broken", "OSError: libcuda.so.1: file too short")
