"""Loads host object code, and launches it over the thread pool of ``runtime.c``.

Kernels that are written for threads of a grid run on the same pool (``launches.c``), their threads
on stacks of their own where they wait for each other (``fibers.c``), and what they read and write
is checked if the environment asks for it (``memory.c``). All are one library,
compiled by the toolchain when it is first needed, or ahead of that by :func:`prepare`.
Nothing that was loaded is ever unloaded: a worker may still be on its way out of it.
"""

from __future__ import annotations

import _ctypes
import ctypes
import itertools
import os
import threading
import weakref
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from kerneltk.backends import temporary
from kerneltk.backends.host import toolchain
from kerneltk.cache import debug_files
from kerneltk.cache.derived import Entry
from kerneltk.core.artifacts import INCLUDE_DIRECTORY, ObjectCode
from kerneltk.core.settings import get_settings
from kerneltk.errors import BackendUnavailableError, LaunchError, render_message
from kerneltk.object_code import elf

launch: Callable[[int, int, int, int, int], int]
"""``launch(function_address, args_address, total, grain, threads)``: run a function over items
``[0, total)`` and return 0 when all are done, 1 if it divided an integer by zero, 2 if it trapped.

With :data:`kerneltk.backends.base.QUIET` added to the grain, handlers of signals that others have
replaced are not looked at: it must raise none. With a negative grain, whose absolute value then
counts, an interrupt of the process ends the launch if its handler in Python raises: it returns 5,
and :func:`raise_interrupt` raises that.

A foreign function, which releases the GIL. Chunks have a multiple of `grain` items; a launch of no
more than `grain` items, or of one thread, runs in the caller. Launches from several threads, nested
launches and launches after a fork are right; the pool serves one of them at a time, and the others
run in their callers alone.
"""

launch_grid: Callable[[int, int, int, int, int], int]
"""``launch_grid(entry_address, block_address, total_blocks, grain, threads)``: run a kernel's entry
over all blocks of a grid, as :data:`launch` does, and return 0, or 1 (an integer divided by zero),
2 (an assertion or a trap) or 3 (another fault); :func:`last_fault` then tells more.

The block begins with a launch head, whose member ``runtime`` is :func:`grid_table`; the kernel's
arguments follow.
"""

launch_cooperative: Callable[[int, int, int], int]
"""``launch_cooperative(entry_address, block_address, total_blocks)``: as :data:`launch_grid`, with
an OS thread a block, so that blocks may wait for each other; 4 if the grid has more than
:func:`cooperative_limit` blocks.
"""


_SOURCES = (
    INCLUDE_DIRECTORY / "kerneltk" / "host_protocol.h",
    *(
        Path(__file__).with_name(f"{name}.c")
        for name in ("runtime", "fibers", "grid", "watchdog", "launches", "memory", "exchanges")
    ),
)
_MOST_THREADS = 512  # MAX_THREADS in runtime.c
_loads = itertools.count()
_lock = threading.Lock()
_library: _Pool | None = None


def num_threads() -> int:
    """How many threads a launch may use: ``KERNELTK_NUM_THREADS``, else one for each core that this
    process may run on; 512 at most.
    """
    return min(get_settings().num_threads or len(os.sched_getaffinity(0)), _MOST_THREADS)


def _open_library(code: bytes) -> int:
    """Load a shared library from memory; return its handle."""
    mode = os.RTLD_NOW | os.RTLD_LOCAL
    if "symbols" in get_settings().host_debug:  # a debugger reads the file later, and by its name
        return _open_path(debug_files.keep(code, ".so"), mode)
    try:
        descriptor = os.memfd_create("kerneltk", os.MFD_CLOEXEC)
    except (AttributeError, OSError):  # forbidden here: sandboxes, vm.memfd_noexec
        return _open_from_file(code, mode)
    try:
        try:
            rest = memoryview(code)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        except OSError as error:
            raise _not_loaded(error) from error
        # The loader takes an equal path for the same library, and descriptors are used again:
        # spell the number of this load into the path.
        bits = f"{next(_loads):b}".replace("1", "./").replace("0", "/")
        try:
            return int(_ctypes.dlopen(f"/proc/self/fd/{bits}{descriptor}", mode))
        except OSError as error:
            if os.path.exists(f"/proc/self/fd/{descriptor}"):
                raise _not_loaded(error) from error
    finally:
        os.close(descriptor)
    return _open_from_file(code, mode)  # no /proc


def _open_from_file(code: bytes, mode: int) -> int:
    with temporary.directory() as directory:
        path = directory / "kernel.so"
        path.write_bytes(code)
        return _open_path(str(path), mode)


def _not_loaded(error: OSError) -> LaunchError:
    # The loader's own sentence begins with a path that means nothing to anybody else.
    reason = str(error).partition(": ")[2] or str(error)
    hint = ""
    if "__cxa_guard_" in reason:
        hint = "give a function's static variable a constant value, as a GPU needs, too."
    elif "undefined symbol" in reason:
        hint = (
            "what is declared 'extern' needs a definition in the same source: include the file "
            "that has it."
        )
    return LaunchError(
        render_message(f"The compiled kernel cannot be loaded: {reason}.", hint=hint)
    )


def _open_path(path: str, mode: int) -> int:
    try:
        return int(_ctypes.dlopen(path, mode))
    except OSError as error:
        raise _not_loaded(error) from error


def _symbol(handle: int, name: str) -> int:
    try:
        return int(_ctypes.dlsym(handle, name))
    except OSError as error:
        raise LaunchError(f"The object code has no entry point '{name}'.") from error


class HostLibrary:
    """A loaded library, by the dynamic loader's handle."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def address(self, symbol: str) -> int:
        """Return where a symbol is; raises LaunchError if there is none of that name."""
        return _symbol(self.handle, symbol)

    def find(self, symbol: str) -> int | None:
        """Return where a symbol is; None if there is none of that name."""
        try:
            return int(_ctypes.dlsym(self.handle, symbol))
        except OSError:
            return None

    def find_in(self, code: bytes, symbol: str) -> int | None:
        """As `find`, in the library's own code: most have no symbol of the name in any way."""
        return self.find(symbol) if symbol.encode() in code else None


def load(code: ObjectCode) -> int:
    """Load host object code into this process; return the address of its entry point. Raises as
    :func:`load_library`; LaunchError also where the entry point is missing.
    """
    return load_library(code).address(code.entry)


def load_library(code: ObjectCode) -> HostLibrary:
    """Load host object code into this process, for as long as the process lives. Raises
    BackendUnavailableError for code of another CPU or C library, LaunchError if the loader refuses
    it.
    """
    here = toolchain.target()
    if code.target.backend != "host" or code.target.architecture != here.architecture:
        raise BackendUnavailableError(
            f"Object code for '{code.target.architecture}' cannot run here: this machine is "
            f"'{here.architecture}'."
        )
    toolchain.check_sanitizers_loaded()
    library = HostLibrary(_open_library(code.code))
    table = library.find_in(code.code, "_kt_textures")
    if table is not None:
        from kerneltk.backends.host import textures  # only kernels with textures need it

        ctypes.c_void_p.from_address(table).value = textures.table.address
    lines = library.find_in(code.code, "_kt_lines")
    if lines is not None:
        from kerneltk.backends.host import memory_check  # only kernels that may end need it

        memory_check.register_lines(code.code, "_kt_lines", lines)
    if not (code.symbols and get_settings().host_debug):
        return library
    from kerneltk.backends.host import memory_check  # only who looks for faults needs it

    if "memory" in get_settings().host_debug:
        memory_check.register(code.code, library.address(memory_check.unit_symbol))
    else:
        symbol = next((symbol for _, symbol in code.symbols if symbol), None)
        if symbol is not None:
            memory_check.register_lines(code.code, symbol, library.address(symbol))
    return library


def _compile_pool() -> bytes:
    options = toolchain.runtime_options()
    target = toolchain.target()
    parts = (b'#line 1 "%s"\n%s' % (path.name.encode(), path.read_bytes()) for path in _SOURCES)
    source = b"".join(parts)
    compiler = target.architecture, target.compiler, *options
    entry = Entry("host compiler", "pool", source.decode(), *compiler)
    known = entry.get()
    if known is not None:
        return known
    code, log = toolchain.build(_SOURCES[1].name, source.decode(), options, language="c")
    if code is None:
        raise BackendUnavailableError(f"The host runtime does not compile:\n{log}")
    entry.put(code)
    return code


class _Pool:
    """The library of the pool, which a thread may still be compiling.

    A future would do; importing concurrent.futures costs more than loading the library.
    """

    def __init__(self) -> None:
        self._done = threading.Event()
        self._handle = 0
        self._error: BaseException | None = None

    @property
    def done(self) -> bool:
        return self._done.is_set()

    @property
    def failed(self) -> bool:
        return self._error is not None

    def load(self) -> None:
        try:
            toolchain.check_sanitizers_loaded()
            self._handle = _open_library(_compile_pool())
        except BaseException as error:  # raised where the handle is asked for
            self._error = error
        self._done.set()

    def handle(self) -> int:
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._handle


def _request_pool(in_background: bool) -> _Pool:
    global _library
    with _lock:
        if _library is not None and not _library.failed:
            return _library
        pool = _library = _Pool()
    if in_background:
        threading.Thread(target=pool.load, name="kerneltk-runtime").start()
    else:
        pool.load()
    return pool


def prepare() -> None:
    """Start to compile and load the pool in the background, unless that has been done.

    A failure is raised by the first use of :data:`launch`.
    """
    _request_pool(in_background=True)


def _after_fork() -> None:
    global _lock, _library
    _lock = threading.Lock()
    if _library is not None and not _library.done:  # the thread that worked on it is gone
        _library = None


os.register_at_fork(after_in_child=_after_fork)


def _foreign(handle: int, name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.CFUNCTYPE(result, *arguments)(_symbol(handle, name))


def worker_count() -> int:
    """Return how many threads the pool has started in this process."""
    if _library is None or not _library.done:
        return 0
    return int(_foreign(_library.handle(), "kt_workers", ctypes.c_int)())


def last_fault() -> str:
    """Return why this thread's last launch of a grid failed: in one line, or with a hint in the
    next.
    """
    fault: bytes = _foreign(_ready(), "kt_fault", ctypes.c_char_p)()
    message = fault.decode(errors="replace")
    finding = _foreign(_ready(), "kt_finding", ctypes.c_void_p)()
    if not finding:
        return message
    from kerneltk.backends.host import memory_check

    return memory_check.describe(finding, message)


def raise_interrupt() -> None:
    """Raise what a signal's handler in Python raised during this thread's last launch."""
    # A function that keeps the GIL, and after which exceptions are looked for.
    ctypes.PYFUNCTYPE(ctypes.c_int)(_symbol(_ready(), "kt_raise"))()


@cache
def note_arrays() -> Callable[[int, int], None]:
    """Return the function that says what the arguments of this thread's next launch are."""
    function: Callable[[int, int], None] = _foreign(
        _ready(), "kt_note_arrays", None, ctypes.c_void_p, ctypes.c_int
    )
    return function


@cache
def grid_table() -> int:
    """Return the address of the functions that kernels of a grid call."""
    return int(_foreign(_ready(), "kt_runtime", ctypes.c_void_p)())


def set_time_limit(milliseconds: int) -> None:
    """Limit how long one launch of a grid may take; 0 is no limit.

    A launch that takes longer is ended within an eighth of the limit, and returns 3.
    """
    _time_limit()(milliseconds)


@cache
def _time_limit() -> Callable[[int], None]:
    function: Callable[[int], None] = _foreign(
        _ready(), "kt_set_time_limit", None, ctypes.c_longlong
    )
    return function


@cache
def cooperative_limit() -> int:
    """Return how many blocks a cooperative launch can have."""
    return int(_foreign(_ready(), "kt_cooperative_limit", ctypes.c_int)())


def _ready() -> int:
    return _request_pool(in_background=False).handle()


_LAUNCHES = {
    "launch": ("kt_launch", 5),
    "launch_grid": ("kt_launch_grid", 5),
    "launch_cooperative": ("kt_launch_cooperative", 3),
}
_LAUNCH_ARGUMENTS = (
    *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_longlong, ctypes.c_longlong, ctypes.c_int),
)


@cache
def launch_recorded() -> Callable[[int, int, int, int], int]:
    """Return ``launch(entries_address, first, count, failure_address)``, which makes a graph's
    launches from the first on; `kerneltk.backends.host.graphs` has the entries. It returns `count`,
    or less where it ended early: the index of the one that failed, if what is at `failure_address`
    is not 0, or of the next.
    """
    arguments = (ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
    return _foreign(_ready(), "kt_launch_recorded", ctypes.c_int, *arguments)  # type: ignore[no-any-return]


def __getattr__(name: str) -> Any:
    # They become ordinary globals when they are first asked for: a call then costs no lookup.
    if name not in _LAUNCHES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    symbol, count = _LAUNCHES[name]
    function = _foreign(_ready(), symbol, ctypes.c_int, *_LAUNCH_ARGUMENTS[:count])
    globals()[name] = function
    return function


# -- libraries whose variables are no other module's -----------------------------------------------

# A library is never unloaded. One whose module is gone is given to the next module of the same
# object code, with the values that its variables had at first.

_PIECE = 64 << 10
_ZEROS = bytes(_PIECE)

# By their object code. Modules are collected at any point of any thread, which may hold any lock:
# lists change by single operations only.
_free: dict[bytes, list[_Reusable]] = {}


class _Reusable:
    """A library, and what its writable memory has in it when it is loaded."""

    def __init__(self, code: ObjectCode) -> None:
        self.library = load_library(code)
        self._pieces: list[tuple[int, bytes]] = []
        # The first member of a loader's handle is where the library lies, of glibc's and musl's.
        base = ctypes.c_size_t.from_address(self.library.handle).value
        for begin, end in elf.writable(code.code):
            for start in range(begin, end, _PIECE):
                content = ctypes.string_at(base + start, min(_PIECE, end - start))
                if content == _ZEROS:
                    content = _ZEROS
                self._pieces.append((base + start, content))

    def reset(self) -> None:
        """Give all variables their first values."""
        for address, content in self._pieces:
            # What was not written to takes no memory, and is to take none.
            if ctypes.string_at(address, len(content)) != content:
                ctypes.memmove(address, content, len(content))


def load_private(code: ObjectCode, owner: object) -> HostLibrary:
    """Return a library that is the owner's alone, as long as that lives. Raises as
    `load_library`.
    """
    settings = get_settings()
    # By a path that others have, too, or with checks of its memory: sanitizers have zones in it.
    if settings.host_debug or settings.host_sanitizers:
        return load_library(code)
    free = _free.setdefault(code.code, [])
    try:
        found = free.pop()
    except IndexError:
        found = _Reusable(code)
    else:
        found.reset()
    weakref.finalize(owner, free.append, found).atexit = False
    return found.library
