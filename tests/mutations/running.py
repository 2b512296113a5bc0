"""Runs tests over a copy of the checkout, without and with a fault.

The compile cache is that of the run without faults: every mutant gets links to its entries, which
are immutable files, and writes its own beside them, so that no mutant finds what another made. Keys
of derived entries have the stamps of the package's files, and those of object code the content of
headers. What makes the bytes from the unit, and the keys themselves, is in no key: faults there
begin with an empty cache. What tests of one run make once for all processes lies beside the compile
cache, under keys that have neither code nor headers: no mutant gets it.
"""

from __future__ import annotations

import math
import os
import resource
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

# Loaded for the processes that are forked.
import hypothesis.extra.numpy  # noqa: F401
import pytest

from .mutants import Mutant

TOP = Path(__file__).parents[2]
_IN_NO_KEY = ("backends/host/", "backends/cuda/", "cache/", "core/", "object_code/", "pipeline.py")
# For tests that take a few seconds of a processor. A run that waits for ever uses none.
_PROCESSOR_SECONDS, _SECONDS = 120, 1200
_CONFTEST = """
import os

import kerneltk

assert os.path.dirname(os.path.dirname(kerneltk.__file__)) == os.path.dirname(__file__)
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run of tests: `status` is pytest's, -1 where there was no end to it."""

    status: int
    output: str
    seconds: float

    @property
    def is_failure(self) -> bool:
        """Whether tests ran, and one failed: an import that fails counts, and no end."""
        return self.status in (-1, 1, 2, 3) or self.status < -1

    @property
    def failed(self) -> str:
        """The first test that failed."""
        for line in self.output.split("\n"):
            if line.startswith(("FAILED ", "ERROR ")):
                return line.split(" ")[1].removeprefix("tests/")
        return "no end" if self.status == -1 else f"status {self.status}"


class Overlay:
    """A copy of the checkout below a directory."""

    def __init__(self, directory: Path, cache: Path) -> None:
        self.root = directory / "checkout"
        self._cache = cache
        self._own_cache = directory / "run"
        for path in TOP.iterdir():
            if path.name.startswith(".") or path.name in ("build", "dist", "conftest.py"):
                continue
            if path.is_dir():
                ignored = shutil.ignore_patterns(".*", "__pycache__", "output", "*.tmp")
                shutil.copytree(path, self.root / path.name, symlinks=True, ignore=ignored)
            else:
                self.root.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, self.root)
        (self.root / "conftest.py").write_text(_CONFTEST)

    def start(
        self,
        tests: Iterable[str],
        cache: Path,
        *options: str,
        seconds: int = resource.RLIM_INFINITY,
    ) -> Run:
        """Start to run tests, for some seconds of a processor. `cache` is the directory of a run
        of tests: the compile cache is in it.
        """
        changes = {
            "PYTHONPATH": str(self.root),
            "KERNELTK_CACHE_DIR": str(cache / "cache"),
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self.root.parent / "hypothesis"),
        }
        arguments = ["-q", "-p", "no:cacheprovider", "-p", "no:benchmark", "--tb=short"]
        arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what is imported here
        arguments += [*options, *(f"tests/{test}" for test in tests)]
        output = self.root.parent / "output"
        begin = time.monotonic()
        sys.stdout.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that NumPy has threads: they are the BLAS's
            process = os.fork()
        if not process:
            _run_tests(self.root, changes, arguments, output, seconds)
        return Run(process, output, begin)

    def without_faults(self, tests: Iterable[str]) -> Outcome:
        """Run tests, and fill the cache that mutants begin with."""
        self._cache.mkdir(parents=True, exist_ok=True)
        return self.start(tests, self._cache).wait()

    def plant(self, mutant: Mutant) -> Run:
        """Start to run a mutant's tests with the fault. Raises DoesNotApplyError."""
        path = self.root / "kerneltk" / mutant.file
        changed = mutant.applied_to(path.read_text(encoding="utf-8"))
        self._renew_cache(is_empty=mutant.file.startswith(_IN_NO_KEY))
        original = path.with_name(f"{path.name}.original")
        path.rename(original)
        path.write_text(changed, encoding="utf-8")
        return self.start(mutant.tests, self._own_cache, "-x", seconds=_PROCESSOR_SECONDS)

    def _renew_cache(self, is_empty: bool) -> None:
        """Have the own cache be what mutants begin with: links, all others removed."""
        made = {} if is_empty else _files_of(self._cache)
        wanted = {name: made[name] for name in made if name.startswith("cache/")}
        there = _files_of(self._own_cache)
        for name, inode in there.items():
            if wanted.get(name) != inode:
                (self._own_cache / name).unlink()
        for name in wanted:
            if there.get(name) != wanted[name]:
                (self._own_cache / name).parent.mkdir(parents=True, exist_ok=True)
                _link(self._cache / name, self._own_cache / name)

    def restore(self, mutant: Mutant) -> None:
        """Take a fault out again."""
        path = self.root / "kerneltk" / mutant.file
        path.with_name(f"{path.name}.original").replace(path)
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
            compiled.unlink()


def _run_tests(
    root: Path, environment: dict[str, str], arguments: list[str], output: Path, seconds: int
) -> NoReturn:
    """Be a process of pytest in a copy; what takes it long to import is there already."""
    status = 4
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for target in (1, 2):
            os.dup2(descriptor, target)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ.update(environment)
        os.chdir(root)
        sys.path[:] = [str(root), *(path for path in sys.path if Path(path or ".") != TOP)]
        for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
            del sys.modules[name]
        assert "kerneltk" not in sys.modules
        status = int(pytest.main(arguments))
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


@dataclass(slots=True)
class Run:
    """A process of pytest; `wait` ends it after a while."""

    process: int
    path: Path
    begin: float

    def poll(self, limit: float = _SECONDS) -> Outcome | None:
        """Return the outcome; None where there is none yet."""
        seconds = time.monotonic() - self.begin
        found, status = os.waitpid(self.process, os.WNOHANG)
        if not found:
            if seconds < limit:
                return None
            os.killpg(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
            return Outcome(-1, self.path.read_text(errors="replace"), seconds)
        code = os.waitstatus_to_exitcode(status)
        return Outcome(code, self.path.read_text(errors="replace"), seconds)

    def wait(self, limit: float = math.inf) -> Outcome:
        """Return the outcome."""
        while (outcome := self.poll(limit)) is None:
            time.sleep(0.05)
        return outcome


def _files_of(directory: Path) -> dict[str, int]:
    """The files below a directory, with their inodes."""
    found = {}
    for root, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(root, name)
            found[os.path.relpath(path, directory)] = os.stat(path).st_ino
    return found


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:  # another file system, or an entry that was removed meanwhile
        shutil.copy2(source, target)


def all_tests(mutants: Sequence[Mutant]) -> list[str]:
    """Return all tests of mutants once; where a whole file is one of them, no part of it."""
    names = dict.fromkeys(test for mutant in mutants for test in mutant.tests)
    return [name for name in names if "::" not in name or name.partition("::")[0] not in names]
