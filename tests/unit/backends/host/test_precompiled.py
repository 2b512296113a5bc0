"""Precompiled headers: the same code with and without, whatever happens to them or meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import pipeline
from kerneltk.backends.host import precompiled, toolchain
from kerneltk.cache import store
from kerneltk.core.artifacts import TranslationUnit
from kerneltk.object_code.elf import ElfFile
from tests.sampling import one_in

from ....conftest import reread_environment

pytestmark = pytest.mark.usefixtures("fresh")
needs_gxx = pytest.mark.skipif(shutil.which("g++") is None, reason="only g++ takes them")

PRELUDE = "#include <kerneltk/core.hpp>\n"
ENTRY = """
#ifndef NUMBER
#define NUMBER 2
#endif
extern "C" void add(const void* args, long long begin, long long end) {
    double* p = *static_cast<double* const*>(args);
    for (long long i = begin; i < end; ++i) p[i] += NUMBER;
}
"""
PCH = ("-include", "prelude.hpp")


@pytest.fixture
def fresh(environment: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A cache and a process that know nothing yet; nothing is left in the temporary directory."""
    environment.setenv("KERNELTK_CACHE_DIR", str(tmp_path / "cache"))
    environment.setenv("KERNELTK_CXX", "g++")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment.setattr(tempfile, "tempdir", str(temporary))
    forget()
    yield
    for job in precompiled._jobs.values():
        os.killpg(job.process, signal.SIGKILL)
        os.waitpid(job.process, 0)
        os.close(job.output)
    assert os.listdir(temporary) == []
    environment.undo()
    forget()


def forget() -> None:
    reread_environment()
    store.get_cache.cache_clear()
    precompiled._seen.clear()
    precompiled._jobs.clear()
    precompiled._refused.clear()


def options(*more: str) -> tuple[str, ...]:
    return (*toolchain.backend_options(), f"-I{toolchain.INCLUDE_DIRECTORY}", *more)


def ask(
    directory: Path, *more: str, command: tuple[str, ...] | None = None, prelude: str = PRELUDE
) -> tuple[str, ...]:
    """Ask once for the precompiled prelude."""
    command = command or toolchain.find_compiler().command
    return precompiled.options_for(
        prelude, command, options(*more), toolchain.target(), directory, ()
    )


def wait() -> None:
    """Wait until what was started has ended, without collecting it."""
    for job in precompiled._jobs.values():
        os.waitid(os.P_PID, job.process, os.WEXITED | os.WNOWAIT)


def key_of(*more: str, prelude: str = PRELUDE) -> str:
    unit = precompiled._unit_of(prelude, options(*more))
    return precompiled.trace(unit, toolchain.target()).key


def make(directory: Path, *more: str, prelude: str = PRELUDE) -> bytes:
    """Have it precompiled, and return what is in the cache then."""
    for _ in range(precompiled.AFTER):
        assert ask(directory, *more, prelude=prelude) == ()
    wait()
    assert ask(directory, *more, prelude=prelude) == PCH
    data = precompiled._entry_of(key_of(*more, prelude=prelude)).get()
    assert data is not None
    return data


def build(*more: str, prelude: str = "") -> bytes:
    code, log = toolchain.build("unit.cpp", PRELUDE + ENTRY, options(*more), prelude=prelude)
    assert code is not None, log
    return code


def forged_header(directory: Path) -> bytes:
    """Return another header's precompiled form, under the same options."""
    (directory / "forged.hpp").write_text("#define NUMBER 666\n")
    output = directory / "forged.gch"
    arguments = [option for option in options() if not option.startswith("-Wl,")]
    command = [*toolchain.find_compiler().command, *arguments, "-x", "c++-header"]
    subprocess.run([*command, str(directory / "forged.hpp"), "-o", str(output)], check=True)
    return output.read_bytes()


def code_of(library: bytes) -> bytes:
    """Return the machine code of a library."""
    return ElfFile(library).section(".text")


def recorded_builds(
    monkeypatch: pytest.MonkeyPatch,
) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    calls = []
    real = toolchain.build

    def recorded(*args: Any, **keywords: Any) -> tuple[bytes | None, str]:
        calls.append((args, keywords))
        return real(*args, **keywords)

    monkeypatch.setattr(toolchain, "build", recorded)
    return calls


def double(x: Any, n: int) -> None:
    i = kerneltk.jit.grid(1)
    if i < n:
        x[i] *= 2


RAW = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'


def elements() -> None:
    x = np.ones(4, np.float32)
    assert (kerneltk.ElementwiseKernel("T x", "T y", "y = sin(x) * 0 + 2")(x) == 2).all()


def reduction() -> None:
    sums = kerneltk.ReductionKernel("T x", "T y", "x * 2", "a + b", "y = a", "0")
    assert sums(np.ones(5)) == 10


def raw() -> None:
    x = np.ones(4, np.float32)
    kerneltk.RawKernel(RAW, "twice")(1, 4, (x,))
    assert (x == 2).all()


def python() -> None:
    x = np.ones(4)
    kerneltk.jit.rawkernel(double)[1, 4](x, 4)
    assert (x == 2).all()


@pytest.mark.one_in(3)
@needs_gxx
@pytest.mark.parametrize(
    ("launch", "variables"),
    [
        (elements, {}),
        (raw, {"KERNELTK_HOST_DEBUG": "memory"}),
        (elements, {"KERNELTK_HOST_SANITIZE": "address"}),
        *(
            pytest.param(*rest, marks=pytest.mark.exhaustive)
            for rest in (
                (reduction, {}),
                (raw, {}),
                (python, {}),
                (raw, {"KERNELTK_HOST_DEBUG": "memory,symbols"}),
                (python, {"KERNELTK_HOST_DEBUG": "symbols"}),
                (elements, {"KERNELTK_HOST_SANITIZE": "undefined"}),
            )
        ),
    ],
)
def test_units_are_the_same_with_and_without(
    launch: Callable[[], None],
    variables: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    builds = recorded_builds(monkeypatch)
    monkeypatch.setattr(pipeline, "_functions", {})
    monkeypatch.setattr(pipeline, "_modules", {})
    launch()
    ((args, keywords),) = ((a, k) for a, k in builds if k.get("prelude"))
    name, source, given = args
    if "KERNELTK_HOST_SANITIZE" in variables:
        monkeypatch.setenv(*next(iter(variables.items())))
        reread_environment()
        given = (*toolchain.backend_options(), *given[-1:])
    elif variables:
        monkeypatch.setenv(*next(iter(variables.items())))
        reread_environment()
        unit = TranslationUnit("host", source, "", raw=True)
        given = (*toolchain.backend_options(unit), *given[-1:])
        keywords = {**keywords, "has_gaps": "memory" in variables["KERNELTK_HOST_DEBUG"]}
    prelude = keywords.pop("prelude")
    assert prelude.count("\n") > 1
    without, log = toolchain.build(name, source, given, **keywords)
    assert without is not None, log
    command, target = toolchain.find_compiler().command, toolchain.target()
    unset = toolchain._unset()
    while precompiled.options_for(prelude, command, given, target, tmp_path, unset) != PCH:
        wait()
    with_it, log = toolchain.build(name, source, given, prelude=prelude, **keywords)
    assert with_it is not None, log
    assert code_of(with_it) == code_of(without) != b""
    if not variables:  # debug information names the directory
        assert with_it == without
    assert not precompiled._refused


@needs_gxx
def test_the_third_unit_has_it_made_and_later_ones_take_it(tmp_path: Path) -> None:
    data = make(tmp_path)
    assert (tmp_path / "prelude.hpp.gch").read_bytes() == data
    # A new process takes it at once.
    forget()
    assert ask(tmp_path) == PCH
    # A directory of a user's headers changes nothing, unless it has some of the package's names.
    assert ask(tmp_path, f"-I{tmp_path}") == PCH
    assert build(f"-I{tmp_path}", prelude=PRELUDE) == build(f"-I{tmp_path}")
    assert not precompiled._refused
    (tmp_path / "other/kerneltk").mkdir(parents=True)
    assert ask(tmp_path, f"-I{tmp_path / 'other'}") == ()
    # Other options, other headers.
    assert ask(tmp_path, "-DX") == ()
    assert ask(tmp_path, prelude=PRELUDE + "#include <kerneltk/memory.hpp>\n") == ()
    # What an option includes comes before it.
    assert ask(tmp_path, "-include", "x.hpp") == ()


@pytest.mark.exhaustive
@needs_gxx
@pytest.mark.parametrize("damage", ["noise", "nothing", "cut", "cut short", "zeros", "another's"])
def test_damaged_content_changes_no_result(damage: str, tmp_path: Path) -> None:
    right, data = build(), make(tmp_path)
    wrong = {
        "nothing": b"",
        "noise": os.urandom(len(data)),
        "cut": data[: len(data) // 2],
        "cut short": data[:100],
        "zeros": data[:5000] + bytes(len(data) - 5000),
        # As of a g++ of the same version that is another build: its checksum is another.
        "another's": data[:8] + bytes(16) + data[24:],
    }[damage]
    precompiled._entry_of(key_of()).put(wrong)
    assert build(prelude=PRELUDE) == right
    # One unit may have been compiled twice for it, the next ones are not.
    began = len(precompiled._refused)
    assert build(prelude=PRELUDE) == right
    assert len(precompiled._refused) == began


@pytest.mark.exhaustive
@needs_gxx
@pytest.mark.parametrize("whose", ["everybody may write", "another's file", "a group may write"])
def test_what_others_may_have_written_is_not_taken(
    whose: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = build()
    precompiled._entry_of(key_of()).put(forged_header(tmp_path))
    assert build(prelude=PRELUDE) != right  # it does decide machine code
    path = next((tmp_path / "cache").glob(f"*/{precompiled._entry_of(key_of()).key}.ktk"))
    if whose == "everybody may write":
        path.parent.parent.chmod(0o777)
    elif whose == "a group may write":
        path.chmod(0o660)
    elif os.geteuid() == 0:
        os.chown(path, 12345, 12345)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    forget()
    assert build(prelude=PRELUDE) == right
    assert ask(tmp_path) == ()


@needs_gxx
@pytest.mark.parametrize("directory", one_in(3, ["", "/proc/none", "file/cache"]))
def test_without_a_cache_on_disk_it_stays_in_memory(
    directory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    if directory.startswith("file"):
        directory = str(tmp_path / directory)
    monkeypatch.setenv("KERNELTK_CACHE_DIR", directory)
    forget()
    make(tmp_path)
    assert build(prelude=PRELUDE) == build()
    assert store.get_cache().info().entries == 0


@pytest.mark.parametrize("compiler", ["zig", "clang++"])
def test_other_compilers_are_not_asked(
    compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(precompiled, "options_for", lambda *args: asked.append(args))
    found = toolchain.Compiler(("/bin/false",), "zig" if compiler == "zig" else "clang", "15.0")
    monkeypatch.setattr(toolchain, "find_compiler", lambda: found)
    assert toolchain.build("unit.cpp", ENTRY, prelude=PRELUDE)[0] is None
    assert asked == []


@needs_gxx
@pytest.mark.parametrize(
    "why", ["refuses", "is missing", "writes nothing", "no memory", "no start"]
)
def test_a_failure_is_no_units(why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no(*args: object, **keywords: object) -> int:
        raise OSError(38, "not here")

    command = ("/bin/false",) if why == "refuses" else ("/no/compiler",)
    if why == "writes nothing":
        command = ("/bin/true",)
    elif why == "no memory":
        monkeypatch.setattr(os, "memfd_create", no)
    elif why == "no start":
        monkeypatch.setattr(os, "posix_spawn", no)
    files = set(os.listdir("/proc/self/fd"))
    for _ in range(2 * precompiled.AFTER):
        assert ask(tmp_path, command=command) == ()
        wait()
    assert not precompiled._jobs
    assert set(os.listdir("/proc/self/fd")) == files
    assert build(prelude=PRELUDE) == build()


@needs_gxx
def test_headers_that_change_meanwhile_are_not_kept(tmp_path: Path) -> None:
    header = tmp_path / "kerneltk" / "own.hpp"
    header.parent.mkdir()
    header.write_text("#pragma once\n#define NUMBER 2\n")
    prelude, more = PRELUDE + "#include <kerneltk/own.hpp>\n", f"-I{tmp_path}"
    for _ in range(precompiled.AFTER):
        ask(tmp_path, more, prelude=prelude)
    (old,) = precompiled._jobs
    wait()
    header.write_text("#pragma once\n#define NUMBER 666\n")
    precompiled._at_exit()
    assert not precompiled._jobs
    assert precompiled._entry_of(old).get() is None


@needs_gxx
def test_one_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompiled, "_TIME_LIMIT", 0.0)
    for _ in range(precompiled.AFTER):
        assert ask(tmp_path, command=("sh", "-c", "sleep 60 & wait; exit 1")) == ()
    (job,) = precompiled._jobs.values()
    assert ask(tmp_path) == ()
    wait()
    assert ask(tmp_path) == ()
    assert not precompiled._jobs
    assert not is_running(job.process)


@pytest.mark.exhaustive
@needs_gxx
@pytest.mark.filterwarnings("ignore:.*os.fork")  # of libraries that another test has imported
def test_a_fork_leaves_its_parents_alone(tmp_path: Path) -> None:
    for _ in range(precompiled.AFTER):
        ask(tmp_path)
    child = os.fork()
    if child == 0:
        try:
            quiet = not precompiled._jobs
            precompiled._at_exit()
            status = 0 if quiet and ask(tmp_path) == () and build() else 1
        except BaseException:
            status = 2
        os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    wait()
    assert ask(tmp_path) == PCH


SCRIPT = """
import sys
import numpy as np
from kerneltk import ElementwiseKernel
from kerneltk.backends.host import precompiled
import os
x = np.ones(4)
for k in range(int(sys.argv[1])):
    assert (ElementwiseKernel("T x", "T y", "y = x + %d" % k)(x) == 1 + k).all()
"""


def run(path: Path, count: int, more: str = "", **variables: str) -> subprocess.Popen[str]:
    (path / "files").mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT + more, str(count)],
        env={**os.environ, "TMPDIR": str(path / "files"), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, messages = process.communicate(timeout=600)
    assert (process.returncode, messages) == (0, "")
    return out


def slow_gxx(path: Path) -> str:
    """Return a compiler that never ends where it has a header to precompile."""
    script = path / "slow-g++"
    script.write_text(
        '#!/bin/sh\ncase "$*" in *c++-header*) exec sleep 1000;; esac\nexec g++ "$@"\n'
    )
    script.chmod(0o755)
    return str(script)


def is_running(number: int) -> bool:
    try:
        status = Path(f"/proc/{number}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@needs_gxx
@pytest.mark.parametrize("end", one_in(2, ["", "sys.stdout.flush(); os._exit(0)"]))
def test_the_end_of_a_process_does_not_wait(end: str, tmp_path: Path) -> None:
    more = "import time\n(job,) = precompiled._jobs.values()\nprint(job.process, time.time())\n"
    slow = slow_gxx(tmp_path)
    number, begun = finish(run(tmp_path, 3, more + end, KERNELTK_CXX=slow)).split()
    assert time.time() - float(begun) < 500  # the compiler takes 1000 s
    if end:  # nobody ends it then; g++ does not take that long, and leaves nothing
        os.killpg(int(number), signal.SIGKILL)
    limit = time.monotonic() + 500
    while is_running(int(number)):
        assert time.monotonic() < limit
        time.sleep(0.01)
    assert list((tmp_path / "files").iterdir()) == []


@pytest.mark.exhaustive
@needs_gxx
def test_what_is_ready_at_the_end_is_kept(tmp_path: Path) -> None:
    more = (
        "(job,) = precompiled._jobs.values()\n"
        "os.waitid(os.P_PID, job.process, os.WEXITED | os.WNOWAIT)\n"
    )
    finish(run(tmp_path, 3, more))
    ask_once = "print(len(precompiled._seen))"
    assert finish(run(tmp_path, 4, ask_once)) == "0\n"
    assert list((tmp_path / "files").iterdir()) == []
