"""Files that another user could have written are not run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kerneltk.cache import store
from kerneltk.cache.store import check_directory, is_ours


def test_a_directory_of_our_own(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    check_directory(tmp_path)
    check_directory(str(tmp_path), by_path=True)


def test_what_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        check_directory(tmp_path / "file")
    with pytest.raises(FileNotFoundError):
        check_directory(tmp_path / "nothing")


@pytest.mark.parametrize("mode", [0o702, 0o707, 0o1777])
def test_everybody_may_write(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(PermissionError, match="everybody may write"):
        check_directory(tmp_path)


def test_a_group_may_write_what_is_read_once(tmp_path: Path) -> None:
    tmp_path.chmod(0o770)
    check_directory(tmp_path)
    with pytest.raises(PermissionError, match="a group may write"):
        check_directory(tmp_path, by_path=True)


def test_a_directory_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr(store.os, "geteuid", lambda: owner + 1)
    if owner == 0:  # what root owns, all may load
        check_directory(tmp_path)
        os.chown(tmp_path, 12345, -1)
    with pytest.raises(PermissionError, match=f"it belongs to user {owner or 12345}, whose code"):
        check_directory(tmp_path)


@pytest.mark.parametrize(
    ("mode", "ours"), [(0o600, True), (0o644, True), (0o620, False), (0o602, False)]
)
def test_files(tmp_path: Path, mode: int, ours: bool) -> None:
    path = tmp_path / "code"
    path.touch()
    path.chmod(mode)
    assert is_ours(path.stat()) is ours


def test_other_than_plain_files_are_not_ours(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert not is_ours((tmp_path / "pipe").stat())
    assert not is_ours(tmp_path.stat())
