"""What is said where a compiler's files cannot be written, and where a compiler is ended."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from kerneltk.backends import temporary
from kerneltk.backends.host import toolchain
from kerneltk.errors import BackendUnavailableError

SOURCE = 'extern "C" void k(const void*, long long, long long) {}\n'
OPTIONS = ("-shared", "-fPIC", "-nostdlib")


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    toolchain.find_compiler()
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def message(reason: str, place: Any) -> str:
    return (
        f"A compiler's temporary files cannot be written: {reason}.\n"
        f"  Hint: free space in '{place}' or allow writing there; or name another directory by the "
        "environment variable TMPDIR."
    )


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EFBIG, errno.EDQUOT])
def test_what_cannot_be_written(monkeypatch: pytest.MonkeyPatch, place: Path, number: int) -> None:
    def refuse(*args: Any, **named: Any) -> None:
        raise OSError(number, os.strerror(number), "file")

    monkeypatch.setattr(Path, "write_text", refuse)
    with pytest.raises(BackendUnavailableError) as caught:
        toolchain.build("unit.cpp", SOURCE, OPTIONS)
    assert str(caught.value) == message(os.strerror(number), place)
    assert list(place.iterdir()) == []


def test_a_directory_that_is_missing(place: Path) -> None:
    place.rmdir()
    with pytest.raises(BackendUnavailableError) as caught:
        toolchain.build("unit.cpp", SOURCE, OPTIONS)
    assert str(caught.value) == message("No such file or directory", place)
    place.mkdir()


def test_no_directory_at_all(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    def refuse() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(tempfile, "gettempdir", refuse)
    monkeypatch.setenv("TMPDIR", "/nowhere")
    with pytest.raises(BackendUnavailableError, match="No usable temporary directory") as caught:
        toolchain.build("unit.cpp", SOURCE, OPTIONS)
    assert "free space in '/nowhere'" in str(caught.value)


def compiler_that(monkeypatch: pytest.MonkeyPatch, path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    compiler = toolchain.Compiler((str(path),), "gcc", "12.2.0")
    monkeypatch.setattr(toolchain, "find_compiler", lambda: compiler)


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ("cc1plus: error: error writing to /tmp/x.s: No space left on device",
         "No space left on device"),
        ("/usr/bin/ld: final link failed: No space left on device", "No space left on device"),
        ("{standard input}: Fatal error: can't close unit.o: Disk quota exceeded",
         "Disk quota exceeded"),
        ("LLVM ERROR: IO failure on output stream: File too large", "File too large"),
        ("error: unable to open output file 'unit.so': 'Read-only file system'",
         "Read-only file system"),
        ("g++: fatal error: File size limit exceeded signal terminated program as",
         "file size limit exceeded"),
    ],
)  # fmt: skip
def test_compilers_that_cannot_write(
    monkeypatch: pytest.MonkeyPatch, place: Path, tmp_path: Path, log: str, reason: str
) -> None:
    compiler_that(monkeypatch, tmp_path / "compiler", f"cat << 'END' >&2\n{log}\nEND\nexit 1")
    with pytest.raises(BackendUnavailableError) as caught:
        toolchain.build("unit.cpp", SOURCE, OPTIONS)
    assert str(caught.value) == message(reason, place)


@pytest.mark.parametrize(("text", "why"), [
    ("echo 'collect2: fatal error: ld terminated with signal 9 [Killed]'; exit 1", "Killed"),
    ("kill -9 $$", "Killed"),
    ("kill -11 $$", "Segmentation fault"),
    ("echo 'g++: fatal error: Killed signal terminated program cc1plus'; exit 1", "Killed"),
])  # fmt: skip
def test_compilers_that_are_ended(
    monkeypatch: pytest.MonkeyPatch, place: Path, tmp_path: Path, text: str, why: str
) -> None:
    path = tmp_path / "compiler"
    compiler_that(monkeypatch, path, text)
    with pytest.raises(BackendUnavailableError) as caught:
        toolchain.build("unit.cpp", SOURCE, OPTIONS)
    assert str(caught.value) == (
        f"The compiler '{path}' was ended by a signal: {why}.\n"
        "  Hint: machines and containers that are short of memory do this: free some, or compile "
        "less at a time."
    )


def test_a_users_text_that_speaks_of_full_disks(place: Path) -> None:
    """A message that quotes it is no message of a disk."""
    text = 'const int x =\n  "No space left on device"\n;'
    code, log = toolchain.build("unit.cpp", text, OPTIONS)
    assert code is None
    assert "No space left on device" in log
    temporary.check_finished("it", 0, "No space left on device")
    temporary.check_finished("it", 1, '    2 |   "No space left on device"\n')


def test_too_many_open_files(place: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(4)]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(held) + 2, limits[1]))
        with pytest.raises(BackendUnavailableError, match="Too many open files"):
            toolchain.build("unit.cpp", SOURCE, OPTIONS)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for descriptor in held:
            os.close(descriptor)


def test_a_probe_that_cannot_write_is_no_missing_compiler(
    monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    def refuse(*args: Any, **named: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "TemporaryDirectory", refuse)
    with pytest.raises(BackendUnavailableError) as caught:
        toolchain._ask(("/usr/bin/g++",))
    assert str(caught.value) == message("No space left on device", place)


def test_directories_of_killed_processes_are_removed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(temporary, "_cleaned", set())
    prefix = f"kerneltk-compile-{os.getuid()}-"
    abandoned = place / f"{prefix}abandoned"
    abandoned.mkdir()
    (abandoned / "unit.cpp").write_text("what a killed process left")
    others = [place / f"kerneltk-compile-{os.getuid() + 1}-x", place / "kerneltk-results"]
    for other in others:
        other.mkdir()
    target = place / "target"
    target.mkdir()
    (place / f"{prefix}link").symlink_to(target)
    with temporary.directory() as own:
        assert not abandoned.exists()
        temporary.remove_abandoned(str(place))  # as another process does meanwhile
        assert own.is_dir()
    assert not own.exists()
    left = {path.name for path in place.iterdir()}
    assert left == {*(other.name for other in others), "target", f"{prefix}link"}


@pytest.mark.exhaustive
def test_a_directory_of_a_process_that_was_killed(place: Path) -> None:
    program = (
        "import sys\nfrom kerneltk.backends import temporary\n"
        "with temporary.directory() as path:\n    print(path, flush=True); sys.stdin.read()\n"
    )
    environment = {**os.environ, "TMPDIR": str(place)}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().strip())
        temporary.remove_abandoned(str(place))
        assert path.is_dir()
        process.kill()
        process.wait()
        temporary.remove_abandoned(str(place))
        assert not path.exists()


def test_a_directory_that_is_taken_for_abandoned_while_it_is_made(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has locked it before its owner does, and removes it then."""
    taken: list[str] = []
    flock = fcntl.flock

    def lock(descriptor: int, operation: int) -> None:
        if not taken and operation == fcntl.LOCK_EX:
            path = os.readlink(f"/proc/self/fd/{descriptor}")
            taken.append(path)
            other = temporary._locked(path, waits=False)
            assert other is not None
            with pytest.raises(BlockingIOError):
                flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove = threading.Thread(target=lambda: (os.rmdir(path), os.close(other)))
            remove.start()
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", lock)
    with temporary.directory() as path:
        assert str(path) not in taken
        assert path.is_dir()
        temporary.remove_abandoned(str(place))
        assert path.is_dir()
    assert len(taken) == 1
