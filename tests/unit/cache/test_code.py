"""The digest of code is another one whenever a file of it is."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from kerneltk.cache import code


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    inner = tmp_path / "own_package" / "inner"
    inner.mkdir(parents=True)
    for directory in (inner.parent, inner):
        (directory / "__init__.py").write_text("")
        (directory / "part.py").write_text("x = 1")
        (directory / "text.txt").write_text("1")
    (inner / "__pycache__").mkdir()
    (inner / "__pycache__" / "part.py").write_text("")
    (tmp_path / "own_module.py").write_text("x = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(code, "_LOADED_NS", time.time_ns() + 3600 * 10**9)
    return inner.parent


def digest() -> str:
    return code.code_digest.__wrapped__(("own_package", "own_module"))


def test_all_files_are_named(package: Path) -> None:
    found = [os.path.relpath(path, package.parent) for path in code.code_files(("own_package",))]
    assert found == [
        "own_package/__init__.py", "own_package/inner/__init__.py", "own_package/inner/part.py",
        "own_package/part.py",
    ]  # fmt: skip
    (only,) = code.code_files(("own_module",))
    assert only == str(package.parent / "own_module.py")


def test_changes_give_another_digest(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {digest()}
    assert digest() in known
    (package / "text.txt").write_text("2")
    assert digest() in known
    for path in (package / "part.py", package / "inner" / "part.py"):
        status = path.stat()
        path.write_text("x = 2")  # as long, and of the same time
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert digest() not in known
        known.add(digest())
    (package / "inner" / "more.py").write_text("")
    assert digest() not in known
    known.add(digest())
    (package.parent / "own_module.py").unlink()
    (package.parent / "own_module.py").write_text("x = 2")
    assert digest() not in known
    known.add(digest())
    monkeypatch.setattr("numpy.__version__", "0")
    assert digest() not in known
    known.add(digest())
    monkeypatch.setattr("kerneltk.__version__", "0")
    assert digest() not in known


def test_code_that_changes_behind_a_process_has_a_digest_of_its_own(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else what old code made would be kept as what the new code makes."""
    time.sleep(0.05)
    monkeypatch.setattr(code, "_LOADED_NS", time.time_ns())
    assert len({digest() for _ in range(3)}) < 3  # files may settle meanwhile
    (package / "part.py").write_text("x = 2")
    assert len({digest() for _ in range(3)}) == 3
    os.utime(package / "part.py", (1, 1))  # as installers do: the file is new all the same
    assert len({digest() for _ in range(3)}) == 3
