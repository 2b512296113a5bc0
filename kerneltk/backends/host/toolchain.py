"""Finds a C++ compiler of this machine and turns host translation units into shared libraries.

The compiler is ``KERNELTK_CXX`` where that is set, else the first of ``g++``, ``c++`` and
``clang++`` on ``PATH`` that is new enough, else the PyPI package ``ziglang``.

With ``KERNELTK_HOST_SANITIZE`` the units are built for AddressSanitizer (``address``), for
UndefinedBehaviorSanitizer (``undefined``) or for both. AddressSanitizer has to be the first library
of a process: start Python with ``LD_PRELOAD=$(g++ -print-file-name=libasan.so)``.

With ``KERNELTK_HOST_DEBUG`` a user's own kernels are built so that every access to memory is
checked (``memory``), for a debugger (``symbols``), or both.
"""

from __future__ import annotations

import _ctypes
import ctypes
import hashlib
import importlib.util
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, Literal

from kerneltk.backends import processes, temporary
from kerneltk.cache import stand_ins
from kerneltk.cache.derived import Entry
from kerneltk.core.artifacts import (
    INCLUDE_DIRECTORY,
    ObjectCode,
    Target,
    TranslationUnit,
    cupy_include_directory,
    named_options,
)
from kerneltk.core.lexer import foreign_headers, includes_by_option, joined_lines
from kerneltk.core.records import pattern, record
from kerneltk.core.settings import Settings, get_settings
from kerneltk.errors import BackendUnavailableError, CompileError, render_message
from kerneltk.object_code import elf

Family = Literal["gcc", "clang", "zig"]

COMPILE_TIME_LIMIT = 60.0
"""Seconds after which a compiler process is ended."""

_PROBE_TIME_LIMIT = 20.0
_LARGEST_GAP = 16 << 10  # bytes
_LEADING_GAP = 4096
# Names of files; a kernel's own could be too long for one.
_FILE, _EXPORTED = "unit.cpp", "exported.map"

# Older ones lack _Float16 in C++ or vectorise the package's loops badly.
_OLDEST: dict[Family, tuple[int, ...]] = {"gcc": (12,), "clang": (15,), "zig": (0, 13)}
_COMMANDS = ("g++", "c++", "clang++")
_DIRECTORIES = ("TMPDIR", "ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")
_SANITIZERS = ("address", "undefined")
_HINT = "install g++ 12 or newer, or the extra 'kerneltk[compiler]', which brings its own compiler."


@record
class Compiler:
    """A C++ compiler: how it is started (``("/usr/bin/g++",)``), whose options and messages it has,
    and its version (``"12.2.0"``).
    """

    command: tuple[str, ...]
    family: Family
    version: str


def _check_machine() -> None:
    machine = os.uname().machine if hasattr(os, "uname") else sys.platform
    if sys.platform == "linux" and machine in ("x86_64", "aarch64") and sys.maxsize > 2**32:
        return
    raise BackendUnavailableError(
        f"The host backend runs on 64-bit Linux on x86-64 and aarch64, not on {sys.platform} "
        f"({machine})."
    )


def _run(command: Sequence[str], directory: str, time_limit: float) -> tuple[int, str]:
    """Run a compiler in `directory`; return its exit status and its messages.

    Raises as :func:`kerneltk.backends.processes.run`.
    """
    status, output, _ = processes.run(
        command,
        directory,
        time_limit,
        unset=_unset(),
        # Zig writes its caches into the home directory, which may be missing or read-only, and
        # would never clean them up; nor does g++ clean up TMPDIR where it is ended.
        variables=[f"{name}={directory}" for name in _DIRECTORIES],
        merged=True,
    )
    return status, output


def _unset() -> tuple[str, ...]:
    """Return the variables that a compiler must not see."""
    # LeakSanitizer would make the compiler itself fail.
    return ("LD_PRELOAD",) if get_settings().host_sanitizers else ()


def _parse_version(text: str) -> tuple[Family, str] | None:
    first = text.partition("\n")[0]
    if match := re.search(r"clang version (\d+(?:\.\d+)*)", text):
        return "clang", match[1]
    if match := re.search(r"(?:\)|^\S+) +(\d+(?:\.\d+)*)", first):
        if "Free Software Foundation" in text:
            return "gcc", match[1]
    elif match := re.fullmatch(r"(\d+\.\d+\.\d+)\S*", first):
        return "zig", match[0]
    return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _probe(command: Sequence[str]) -> Compiler | str:
    """Return the compiler behind a command, or why it cannot be used."""
    shown = " ".join(command)
    path = shutil.which(command[0])
    if path is None:
        return f"'{command[0]}' is not there"
    command = (os.path.abspath(path), *command[1:])
    # Asking costs a process; the answer is cached for as long as the file stays the same.
    status = os.stat(path)
    facts = (command, os.path.realpath(path), status.st_mtime_ns, status.st_size, status.st_ino)
    entry = Entry("host compiler", "version", repr(facts))
    known = entry.read(_known_compiler)
    if known is None:
        found = _ask(command)
        if isinstance(found, str):
            return f"'{shown}' {found}"
        entry.write(found)
        known = found
    family, version = known
    if _numbers(version) < _OLDEST[family]:
        oldest = ".".join(map(str, _OLDEST[family]))
        return f"'{shown}' is {family} {version}, older than {oldest}"
    return Compiler(command, family, version)


def _known_compiler(record: Any) -> tuple[Family, str] | None:
    """Return the family and version that a record names; None for another record."""
    family, version = record
    return (family, version) if family in _OLDEST and isinstance(version, str) else None


def _ask(command: tuple[str, ...]) -> tuple[Family, str] | str:
    """Return a compiler's family and version, or why it is none."""
    is_zig = command[-1] == "c++" and len(command) > 1
    question = (*command[:-1], "version") if is_zig else (*command, "--version")
    with temporary.directory() as directory:
        try:
            status, text = _run(question, str(directory), _PROBE_TIME_LIMIT)
        except OSError as error:  # TimeoutError is one
            return f"cannot be started ({error})"
    found = _parse_version(text) if status == 0 else None
    return found or "does not say that it is g++, clang or zig"


def _zig_commands() -> Iterator[tuple[str, ...]]:
    package = importlib.util.find_spec("ziglang")
    if package is not None:
        for location in package.submodule_search_locations or ():
            yield (os.path.join(location, "zig"), "c++")
    yield ("zig", "c++")


def _candidates() -> Iterator[tuple[str, ...]]:
    asked = get_settings().cxx
    if asked is None:
        for command in _COMMANDS:
            yield (command,)
        yield from _zig_commands()
    elif asked == "zig":
        yield from _zig_commands()
    else:
        import shlex

        words = tuple(shlex.split(asked))
        yield (*words, "c++") if os.path.basename(words[-1]) == "zig" else words


@cache
def find_compiler() -> Compiler:
    """The compiler that host kernels are built with, found once.

    Raises BackendUnavailableError if this machine is not supported, or has no compiler that can be
    used.
    """
    _check_machine()
    refused = []
    for command in _candidates():
        found = _probe(command)
        if isinstance(found, Compiler):
            return found
        refused.append(found)
    raise BackendUnavailableError(
        render_message(f"No C++ compiler for the host backend: {'; '.join(refused)}.", hint=_HINT)
    )


@cache
def _library_path(name: str) -> str | None:
    """Return where the dynamic loader finds a system library, or None if there is none."""
    try:
        library = _ctypes.dlopen(name, os.RTLD_NOW)
        dlinfo = ctypes.pythonapi.dlinfo
    except (OSError, AttributeError):
        return None
    link_map = ctypes.POINTER(ctypes.c_char_p)()  # an address, and behind it the name
    dlinfo.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    if dlinfo(library, 2, ctypes.byref(link_map)):  # RTLD_DI_LINKMAP
        return None
    path = link_map[1] or b""
    return os.fsdecode(path) if os.path.isabs(path) else None


@cache
def _cpu_digest() -> str:
    """Return a short name that two CPUs share if code for one is right and fast on the other."""
    wanted = (
        *("vendor_id", "cpu family", "model", "flags"),
        *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features"),
    )
    fields = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if not value:  # a blank line ends the first CPU
                    break
                fields[name.strip()] = " ".join(sorted(value.split()))
    except OSError as error:
        raise BackendUnavailableError(
            "The host backend cannot tell this CPU's features: '/proc/cpuinfo' cannot be read."
        ) from error
    text = "\n".join(f"{name}={fields[name]}" for name in wanted if name in fields)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def target() -> Target:
    """What host units are compiled for: this CPU, this C library, this compiler. Raises
    BackendUnavailableError if there is no compiler, or the CPU's features are unknown.
    """
    compiler = find_compiler()
    # The objects bind to versioned symbols, which an older library does not have.
    libc = ".".join(map(str, _glibc_version()))
    return Target(
        backend="host",
        architecture=f"{os.uname().machine}-glibc{libc}-{_cpu_digest()}",
        # The words behind the command are options too.
        compiler=" ".join((compiler.family, compiler.version, *compiler.command[1:])),
    )


def _glibc_version() -> tuple[int, ...]:
    try:
        text = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):  # not glibc
        text = ""
    return _numbers(text)


# Calls of functions that host_memory.hpp defines, before every access.
_MEMORY_CHECKS: dict[Family, tuple[str, ...]] = {
    "gcc": (
        *("--param", "asan-instrumentation-with-call-threshold=0"),
        *("--param", "asan-stack=0", "--param", "asan-globals=1"),
        # As builtins they would be expanded in place, unseen.
        *("-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-memset"),
        "-fno-aggressive-loop-optimizations",
    ),
    "clang": (
        *("-mllvm", "-asan-instrumentation-with-call-threshold=0"),
        *("-mllvm", "-asan-stack=0", "-mllvm", "-asan-globals=1"),
        *("-mllvm", "-asan-kernel-mem-intrinsic-prefix=1"),
    ),
}
_MEMORY_CHECKS["zig"] = _MEMORY_CHECKS["clang"]


def _debug_options(compiler: Compiler, debug: Sequence[str]) -> tuple[str, ...]:
    """Return the options of a user's own kernels instead of those for speed."""
    options = ["-O0" if "symbols" in debug else "-O1", "-g", "-gdwarf-4", "-nostdlib"]
    options += ["-fno-omit-frame-pointer", "-fno-stack-protector", "-DKERNELTK_EXACT_THREADS"]
    if compiler.family != "gcc":  # which zig turns on by itself
        options.append("-fno-sanitize=undefined")
    if "memory" in debug:
        # A call keeps its own frame, so that its location can be reported.
        options += [
            "-fno-inline",
            "-fno-optimize-sibling-calls",
            f"-DKERNELTK_CHECK_MEMORY={_LEADING_GAP}",
        ]
        options += ["-fsanitize=kernel-address", "-fsanitize=alignment"]
        options += ["-fsanitize-recover=alignment", *_MEMORY_CHECKS[compiler.family]]
    return tuple(options)


def _code_options(compiler: Compiler, raw: bool = False) -> tuple[str, ...]:
    """Return the options for C and C++ alike."""
    sanitizers = get_settings().host_sanitizers
    debug = get_settings().host_debug if raw else ()
    if "memory" in debug and sanitizers:
        raise BackendUnavailableError(
            "Kernels are built either for KERNELTK_HOST_SANITIZE or with KERNELTK_HOST_DEBUG's "
            "checks of memory, not for both."
        )
    unknown = [name for name in sanitizers if name not in _SANITIZERS]
    if unknown:
        raise BackendUnavailableError(
            f"Host kernels cannot be built with the sanitizer '{unknown[0]}': choose 'address' "
            "or 'undefined'."
        )
    if sanitizers and compiler.family == "zig":
        raise BackendUnavailableError("Sanitizers need g++ or clang, and the compiler is zig.")
    x86 = os.uname().machine == "x86_64"
    options = [
        "-march=native" if x86 else "-mcpu=native",
        *("-fPIC", "-shared", "-fvisibility=hidden", "-fno-plt"),
        # NVRTC has no arrays whose length the run decides; `-w` would hide the error, too.
        "-Werror=vla" if raw else "-w",
        # Some systems' compilers define it: then a jump from one stack to another ends the process.
        "-U_FORTIFY_SOURCE",
    ]
    if sanitizers:
        options += ["-O1", "-g1", "-fno-omit-frame-pointer"]  # lines are all that reports show
        options += [f"-fsanitize={name}" for name in sanitizers]
        options += ["-fno-sanitize-recover=undefined"] if "undefined" in sanitizers else []
    elif debug:
        options += _debug_options(compiler, debug)
    else:
        # No start files and no default libraries: they cost time, zig would build its own, and
        # GCC's start file for -ffast-math would switch the process to flush-to-zero.
        options += ["-O3", "-nostdlib", "-fomit-frame-pointer", "-fno-stack-protector"]
        options += ["-g0"] if compiler.family == "zig" else ["-s", "-Wl,-z,noseparate-code"]
    if compiler.family == "gcc":
        options += ["-pipe", "-fdiagnostics-color=never", "-fdiagnostics-column-unit=byte"]
        # What the compiler knows by itself it takes for visible, and then for replaceable.
        options += ["-fno-semantic-interposition"]
    else:
        options += ["-fno-color-diagnostics", "-fno-spell-checking"]
    # `int at[] = {i, 0.5}` of a wider i: a warning to nvcc and NVRTC.
    options += ["-Wno-narrowing" if compiler.family == "gcc" else "-Wno-c++11-narrowing"]
    return tuple(options)


def backend_options(unit: TranslationUnit | None = None) -> tuple[str, ...]:
    """Return every option that the toolchain itself gives to the compiler for a unit; without one,
    those that every unit gets.

    ``a * b + c`` contracts to one fused operation wherever the CPU has it, across statements too,
    since that is what NVRTC does by default; ``--fmad=false`` turns it off on both backends.
    Otherwise results are IEEE's: no fast-math. What ``-fno-math-errno`` and ``-fno-trapping-math``
    give up are ``errno`` and the flags of exceptions, which no kernel can read; without the latter
    GCC vectorises no loop that has arithmetic under a condition. The results that g++ changes all
    the same are the subject of :mod:`kerneltk.backends.host.compiler_workarounds`. Raises
    BackendUnavailableError where there is no compiler, or it cannot build with the sanitizers asked
    for.
    """
    is_raw, own = (False, ()) if unit is None else (unit.raw, unit.options)
    return _backend_options(get_settings(), find_compiler(), is_raw, own)


@lru_cache(maxsize=64)
def _backend_options(
    settings: Settings, compiler: Compiler, is_raw: bool, own: tuple[str, ...]
) -> tuple[str, ...]:
    """As `backend_options`; `own` are the unit's."""
    options = [
        *_code_options(compiler, is_raw),
        *("-std=c++17", "-fno-exceptions", "-fno-rtti", "-fsigned-char"),
        # Device code puns types through pointers, and device compilers let it.
        *("-fno-strict-aliasing", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"),
        # A loop that only reads and never ends stays, for the time limit to end it.
        "-fno-finite-loops",
    ]
    x86 = os.uname().machine == "x86_64"
    if x86 and _library_path("libmvec.so.1"):
        options += ["-fveclib=libmvec"] if compiler.family != "gcc" else []
        # The vector functions that came later: atan, tan, tanh, log2, erf and others.
        options += ["-DKERNELTK_LIBMVEC_235"] if _glibc_version() >= (2, 35) else []
    if x86 and compiler.family == "gcc" and not _is_fused(own):
        # g++ fuses products with sums that alternate with differences under -ffp-contract=off, too.
        options += ["-mno-fma", "-mno-fma4", "-mno-avx512f"]
    if is_raw and compiler.family != "gcc":
        # Zig defines it where it optimises; assertions of device code are there unless it is asked
        # for.
        options += ["-UNDEBUG"]
    if is_raw:
        # A frame larger than a guard would begin beyond it.
        options += ["-fstack-clash-protection"]
    if is_raw and compiler.family == "gcc":
        # Dynamic shared memory is `extern thread_local`, and nothing initialises it.
        options += ["-fno-extern-tls-init"]
    return tuple(options)


def runtime_options() -> tuple[str, ...]:
    """The options of the thread pool, whose language is C. Raises as :func:`backend_options`."""
    options = _code_options(find_compiler())
    if get_settings().host_debug:  # the lines of kernels are found by the frames around its own
        options = (*options, "-fno-omit-frame-pointer")
    if "symbols" in get_settings().host_debug:  # what the threads of a block wait for is in it
        options = (*(option for option in options if option not in ("-s", "-g0")), "-g")
    return (*options, "-std=gnu11")


def check_sanitizers_loaded() -> None:
    """Raise BackendUnavailableError if ``KERNELTK_HOST_SANITIZE`` names ``address`` and libasan was
    not preloaded: loading a unit without it would end the process.
    """
    if "address" not in get_settings().host_sanitizers:
        return
    if not hasattr(ctypes.CDLL(None), "__asan_init"):
        raise BackendUnavailableError(
            render_message(
                "Host kernels are built for AddressSanitizer, which this process lacks.",
                hint="start Python with LD_PRELOAD set to the compiler's 'libasan.so'.",
            )
        )


def _link_inputs(compiler: Compiler) -> tuple[str, ...]:
    """Return the libraries a unit is linked with, as paths.

    A path needs no development package, and binds to the newest version of each symbol; left
    unbound, ``expf`` and others would get their oldest version, which is slower.
    """
    names = ["libm.so.6", "libmvec.so.1", "libc.so.6"]
    if compiler.family == "zig":  # has no libgcc, and would build its own replacement
        names.append("libgcc_s.so.1")
    paths = [path for name in names if (path := _library_path(name))]
    return ("-Wl,--as-needed", *paths, *(() if compiler.family == "zig" else ("-lgcc",)))


_STANDARDS = {"98": "17", "03": "17", "11": "17", "14": "17", "17": "17", "20": "20", "23": "2b"}
_TAKES_VALUE = {
    "-D": "-D",
    "--define-macro": "-D",
    "-U": "-U",
    "--undefine-macro": "-U",
    "-I": "-I",
    "--include-path": "-I",
    "-std": "-std",
    "--std": "-std",
    "-include": "-include",
    "--pre-include": "-include",
    "-fmad": "-fmad",
    "--fmad": "-fmad",
}
_FLAGS = {
    "-use_fast_math": ("-ffast-math",),
    "--use_fast_math": ("-ffast-math",),
    "-w": (),  # warnings of the host's compiler are not shown
    "--disable-warnings": (),
}
# They allow less precision or guide the device's code generator: right to ignore here.
_WITHOUT_EFFECT = (
    r"--?(default-device|device-as-default-execution-space|extra-device-vectorization|restrict"
    r"|device-int128|device-float128|lineinfo|generate-line-info|G|device-debug|(ftz|prec-div|prec-sqrt)=(true|false)"
    r"|maxrregcount=\d+)"
)
# They are for ptxas, the linker of device code, nvcc's own host compiler and the time and messages
# of NVRTC and nvcc.
_DROPPED = re.compile(
    r"--?(?:(?P<valued>Xptxas|ptxas-options|rdc|relocatable-device-code|diag-(?:suppress|error|warn)"
    r"|Xcompiler|compiler-options|split-compile|threads|time|optimize|Ofast-compile|dopt)"
    r"|dc|device-c|dlto|dlink-time-opt|(?:no-)?display-error-number|err-no|brief-diagnostics|Werror"
    r"|O[1-3]|W[a-z-]+|minimal|expt-relaxed-constexpr|expt-extended-lambda|extended-lambda)"
    r"(?P<value>=.*)?"
)


def without_dropped(options: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the compile options that the host has a use for, and those for compilers of device
    code that it drops, each with its value.

    Examples
    --------
    >>> without_dropped(["-DN=4", "-rdc=true", "-Xptxas", "-v"])
    (['-DN=4'], ['-rdc=true', '-Xptxas -v'])
    """
    remaining: list[str] = []
    dropped: list[str] = []
    rest = iter(options)
    for option in rest:
        found = _DROPPED.fullmatch(option)
        if found is None:
            remaining.append(option)
        elif found["valued"] and not found["value"]:
            dropped.append(f"{option} {next(rest, '')}".rstrip())
        else:
            dropped.append(option)
    return remaining, dropped


def host_options(options: Sequence[str]) -> tuple[str, ...]:
    """NVRTC options (``"-DN=4"``, ``"-D", "N=4"``, ``"--std=c++20"``) as a host compiler has them.

    Macros, include directories, the language standard, ``--fmad`` and ``--use_fast_math`` are
    translated. A standard older than C++17 becomes C++17, which the package's headers need. Options
    that only allow less precision or that guide the device's code generator do nothing, nor do
    those for ptxas, the linker of device code and NVRTC's messages (:func:`without_dropped`).
    Raises CompileError for an option without a meaning on the host, or without its value.
    """
    result: list[str] = []
    for name, value, words in named_options(without_dropped(options)[0], tuple(_TAKES_VALUE)):
        option = words[0]
        if name and not value.strip():
            raise CompileError(f"The compile option '{option}' lacks its value.")
        if name:
            result += _with_value(_TAKES_VALUE[name], value.strip(), option)
        elif option in _FLAGS:
            result += _FLAGS[option]
        elif not re.fullmatch(_WITHOUT_EFFECT, option):
            raise _unknown_option(option)
    return tuple(result)


def _is_fused(options: Sequence[str]) -> bool:
    """Return whether a product and a sum may become one operation."""
    chosen = [o for o in host_options(options) if o.startswith("-ffp-contract=")]
    return not chosen or chosen[-1] != "-ffp-contract=off"


def _with_value(name: str, value: str, option: str) -> tuple[str, ...]:
    if name == "-I":
        return ("-I" + os.path.abspath(value),)
    if name == "-include":
        return ("-include", os.path.abspath(value) if os.path.exists(value) else value)
    if name == "-std":
        standard = value.removeprefix("c++")
        if standard == value or standard not in _STANDARDS:
            raise _unknown_option(option)
        return (f"-std=c++{_STANDARDS[standard]}",)
    if name == "-fmad":
        if value not in ("true", "false"):
            raise _unknown_option(option)
        return (f"-ffp-contract={'fast' if value == 'true' else 'off'}",)
    return (name + value,)


def _unknown_option(option: str) -> CompileError:
    return CompileError(
        render_message(
            f"The host backend does not know the compile option '{option}'.",
            hint="it knows -D, -U, -I, -include, -std=c++NN, --fmad and --use_fast_math.",
        )
    )


def build(
    name: str,
    source: str,
    options: Sequence[str] = (),
    *,
    language: Literal["c++", "c"] = "c++",
    has_gaps: bool = False,
    exported: Sequence[str] = (),
    wrapped: Sequence[str] = (),
    prelude: str = "",
) -> tuple[bytes | None, str]:
    """Compile a source to a shared library: its bytes, None if it is refused, and the messages.

    g++ builds it a second time where it may have miscompiled it
    (:mod:`kerneltk.backends.host.compiler_workarounds`).

    `name` is the file that messages name. `has_gaps` leaves memory free around each shared
    variable. `exported` are patterns of the only symbols that the library offers, by default those
    that the source makes visible; all others are its own, so that they neither hide the process's
    functions nor are hidden by them. Symbols `wrapped`, where others define them, mean the source's
    own ones of that name behind ``__wrap_``. `prelude` are the includes at the begin of the source,
    which g++ may take precompiled.

    Raises BackendUnavailableError if there is no compiler, it cannot be started or is ended, or its
    files cannot be written, and CompileError after :data:`COMPILE_TIME_LIMIT` seconds.
    """
    # Only who compiles needs them.
    from kerneltk.backends.host import compiler_workarounds, precompiled

    compiler = find_compiler()
    with temporary.directory() as directory:
        # The compiler runs inside this otherwise empty directory, so that a name given by #line
        # never matches a file and shows a wrong text.
        (directory / name).write_text(source, encoding="utf-8", errors="surrogateescape")
        output = directory / "unit.so"
        source_of = ("-x", language, name, "-x", "none")
        to_library = ("-o", str(output), *_link_inputs(compiler))
        if exported:
            script = f"{{ global: {' '.join(f'{symbol};' for symbol in exported)} local: *; }};\n"
            (directory / _EXPORTED).write_text(script)
            to_library += (f"-Wl,--version-script={_EXPORTED}",)
        to_library += tuple(f"-Wl,--wrap={symbol}" for symbol in wrapped)
        commands: list[tuple[str, ...]]
        own = options
        included: tuple[str, ...] = ()
        if compiler.family == "gcc":
            if prelude:
                included = precompiled.options_for(
                    prelude, compiler.command, own, target(), directory, _unset()
                )
            options = (*own, *included, *compiler_workarounds.dump_options(own))
        # Told that nothing of the standard library is linked, zig hides its headers.
        compile_only = tuple(o for o in options if o not in ("-nostdlib", "-shared"))
        assembly = directory / "unit.s"
        if has_gaps:
            commands = [
                (*compiler.command, *compile_only, "-S", *source_of, "-o", assembly.name),
                (*compiler.command, *options, assembly.name, *to_library),
            ]
        elif compiler.family == "zig" and (foreign_headers(source) or includes_by_option(options)):
            commands = [
                (*compiler.command, *compile_only, "-c", *source_of, "-o", "unit.o"),
                (*compiler.command, *options, "unit.o", *to_library),
            ]
        else:
            commands = [(*compiler.command, *options, *source_of, *to_library)]
        status, log = _run_all(compiler, commands, directory, name, source, assembly)
        exact = own
        if status == 0 and compiler.family == "gcc":
            exact = compiler_workarounds.options_without_miscompilation(own, directory)
        elif compiler.family == "gcc":
            exact = compiler_workarounds.options_after_internal_error(own, log) or own
        if exact != own or (status != 0 and included):  # messages are those of the whole text
            again = partial(build, language=language, has_gaps=has_gaps, exported=exported)
            prelude_again = prelude if status == 0 else ""
            code, log = again(name, source, exact, wrapped=wrapped, prelude=prelude_again)
            if status != 0 and code is not None:
                precompiled.refuse(prelude, own, target())
            return code, log
        if status == 0:
            library = output.read_bytes()
            # The loader does not ask, and a library that was cut short would end the process.
            if not elf.is_whole(library):
                return None, f"{compiler.family} {compiler.version} wrote no whole library."
            return elf.without_start_functions(library), log
        temporary.check_finished(f"The compiler '{compiler.command[0]}'", status, log)
        return None, log or f"{compiler.family} {compiler.version} ended with status {status}."


def _run_all(
    compiler: Compiler,
    commands: Sequence[Sequence[str]],
    directory: Path,
    name: str,
    source: str,
    assembly: Path,
) -> tuple[int, str]:
    """Run commands up to the first that fails; return the last one's exit status and messages.

    Between the first and the second, assembly text gets its gaps if there is any.
    """
    status, log = 0, ""
    for command in commands:
        if assembly.exists():
            # Strings in it may be in any encoding.
            text = _with_gaps(assembly.read_text(encoding="latin-1"))
            assembly.write_text(text, encoding="latin-1")
        try:
            status, log = _run(command, str(directory), COMPILE_TIME_LIMIT)
        except TimeoutError as error:
            raise CompileError(
                f"The compiler did not finish '{name}' in {COMPILE_TIME_LIMIT:g} s.", source
            ) from error
        except OSError as error:
            raise BackendUnavailableError(
                f"The compiler '{compiler.command[0]}' cannot be started: {error}."
            ) from error
        if status != 0:
            break
    return status, log


def _with_gaps(assembly: str) -> str:
    """Return assembly text with free memory around each thread-local variable.

    A kernel's shared variables are thread-local, and compilers leave no memory free behind those.
    """
    lines = ['\t.section\t.tbss,"awT",%nobits', f"\t.zero\t{_LEADING_GAP}", "\t.text"]
    is_thread_local = False
    for line in assembly.split("\n"):
        lines.append(line)
        word, _, rest = line.strip().partition("\t")
        if not rest:
            word, _, rest = word.partition(" ")
        if word in (".section", ".pushsection"):
            is_thread_local = rest.lstrip().startswith((".tbss", ".tdata"))
        elif word in (".text", ".data", ".bss", ".popsection", ".previous"):
            is_thread_local = False
        elif word == ".zero" and is_thread_local:
            size = int(rest.partition(",")[0])
            lines.append(f"\t.zero\t{min(max(-size % 64 + size, 64), _LARGEST_GAP)}")
    return "\n".join(lines) + "\n"


# Only such a kernel gains from a loop for blocks of one column; a long one takes long to compile
# twice.
_ROWS = pattern(r"\bthreadIdx\s*\.\s*y\b")
_LONGEST_TWICE = 16 << 10
_VERY_LONG = 96 << 10

# Where compilers look for headers that are not theirs.
SYSTEM_DIRECTORIES = (Path("/usr/local/include"), Path("/usr/include"))


# An include of other headers than this package's; two of these include CUDA's.
_OTHER_INCLUDE = pattern(r"include(?![ \t]*<kerneltk/(?!host_ptx_(?:half|bytes|matrix)))")


def cuda_directories(unit: TranslationUnit) -> tuple[Path, ...]:
    """Return where CuPy's names and the stand-ins for CUDA's headers are, for units that may
    include any, and with expressions CuPy's special functions.
    """
    if unit.raw:
        is_needed = (
            includes_by_option(unit.options)
            or _OTHER_INCLUDE.search(joined_lines(unit.source)) is not None
        )
    else:
        is_needed = bool(foreign_headers(unit.source))
    if not is_needed:
        return ()
    own = stand_ins.directory("cupy"), stand_ins.directory("host")
    return own if unit.raw else (*own, *cupy_include_directory())


_ENDS_NAMES = pattern(r"(?m)\bone\((\w+)\)|^KERNELTK_ENDS\((\w+), ")
_ENDS_HEADER = "<kerneltk/host_ends.hpp>"
_PLAIN_ENDS = "-DKERNELTK_PLAIN_ENDS"  # includes it where functions are over elements
# What mentions these is built with its lines; traps and assertions tell theirs by themselves.
_MAY_END = pattern(
    r"\b(?:_?exit|_Exit|quick_exit|abort|terminate|at(?:_quick_)?exit|pthread_(?:exit|kill)|raise"
    r"|killp?g?|tgkill|sigqueue|f?exec[lv]p?e?|v?fork|v?errx?|error(?:_at_line)?"
    r"|__builtin_(?:trap|abort|exit)"
    r"|syscall|system|popen|posix_spawnp?|clone|daemon|u?alarm|setitimer|setrlimit|signal|sigaction"
    r"|sigprocmask|pthread_(?:sigmask|cancel)|thrd_exit|(?:sig|_)?longjmp|(?<=\.)(?:at|value))\b"
    r"(?=\s*[(;,)])"
)

# What stands before a kernel of C linkage.
_C_LINKAGE = pattern(r'\bextern\s+"C"(?=(?:\s+\w+(?:\s*\([^()"]*\))?)*?\s+__global__\b)')


@cache
def _ends() -> tuple[str, ...]:
    """Return the symbols of what ends a process, which the header defines."""
    header = (INCLUDE_DIRECTORY / _ENDS_HEADER.strip("<>")).read_text()
    return tuple(name or symbol for name, symbol in _ENDS_NAMES.findall(header))


def _build_unit(
    unit: TranslationUnit, source: str, options: Sequence[str], prelude: str = ""
) -> tuple[bytes | None, str]:
    """Compile a unit's source, in a form that the compiler takes. Returns as :func:`build`."""
    has_gaps = unit.raw and "memory" in get_settings().host_debug
    # By a pattern: lld refuses a name that is not there.
    exported = ("_kt_*",) if unit.raw else (unit.entry, "_kt_textures*")
    wrapped: tuple[str, ...] = _ends() if _ENDS_HEADER in source or _PLAIN_ENDS in options else ()
    wrapped += ("printf",)  # which host.hpp defines
    parts = partial(build, _FILE, has_gaps=has_gaps, exported=exported, wrapped=wrapped)
    code, log = parts(source, options, prelude=prelude)
    if code is None and unit.raw and "different language linkage" in log:
        # To clang a variable that is declared inside of such a kernel has C linkage, too, and is
        # another one than what device functions declare: g++ and NVRTC take the two for one.
        code, log = parts(_C_LINKAGE.sub('extern "C++"', source), options)
    return code, log


def compile_unit(unit: TranslationUnit) -> ObjectCode:
    """Compile a host unit for this machine, to a shared library.

    It defines ``extern "C" void ENTRY(const void* args, long long begin, long long end)``. Raises
    CompileError if the compiler refuses it or an option means nothing on the host, and
    BackendUnavailableError.
    """
    search = cuda_directories(unit)
    # In front of what a user's own options name: a real cuda_runtime.h is none for CPU cores.
    first = tuple(f"-I{directory}" for directory in search[:2])
    last = tuple(f"-idirafter{directory}" for directory in search[2:])  # CuPy's
    own = (*first, *host_options(unit.options), f"-I{INCLUDE_DIRECTORY}", *last)
    options = (*backend_options(unit), *own)
    may_end = _MAY_END.search(unit.source) is not None
    if unit.raw:
        declaration = ""
        if may_end and _ENDS_HEADER in unit.source and not get_settings().host_debug:
            options = tuple(option for option in options if option not in ("-s", "-g0"))
            options += ("-DKERNELTK_LINES", "-g1", "-gdwarf-4")
        if len(unit.source) < _LONGEST_TWICE and _ROWS.search(unit.source):
            options += ("-DKERNELTK_COLUMNS",)
        if len(unit.source) > _VERY_LONG and find_compiler().family == "gcc":
            # Most of the time would go there: it grows faster than the text.
            options += ("-fno-tree-pre", "-fno-code-hoisting")
    else:
        # Everything is hidden but the entry; a first declaration decides, and checks the signature.
        declaration = (
            f'extern "C" __attribute__((__visibility__("default"))) '
            f'void {unit.entry}(const void*, long long, long long);\n#line 1 "{_FILE}"\n'
        )
        if may_end:
            options += (_PLAIN_ENDS,)
    from kerneltk.backends.host import precompiled  # only who compiles needs it

    prelude = precompiled.prelude_of(unit.source)
    code, log = _build_unit(unit, declaration + unit.source, options, prelude)
    if code is None and unit.plain:
        # Columns in the messages are then the user's.
        code, plain_log = _build_unit(unit, unit.plain, options)
        if code is None:
            log = plain_log
        else:
            warnings.warn(
                f"'{unit.name}' is compiled without points where the lanes of a warp meet before "
                "accesses to volatile memory, since it does not compile with them: lanes do not "
                "run in step.",
                RuntimeWarning,
                stacklevel=2,
            )
    if code is None:
        from kerneltk.core import diagnostics  # only who has an error needs its reader

        message = diagnostics.compile_error_message(log, unit.origins, unit.name or unit.entry)
        raise CompileError(message, unit.source, log)
    reflection: tuple[tuple[str, bytes], ...] = ()
    exports = unit.exports
    if unit.reflected:
        from kerneltk.object_code.reflection import read_contents  # raw kernels only

        found = read_contents(code, (symbol for _, symbol in unit.reflected), "library")
        reflection = tuple((name, found[s]) for name, s in unit.reflected if s in found)
        # What stands under a condition that does not hold is not there.
        absent = {name for name, symbol in unit.reflected if symbol not in found}
        exports = tuple(pair for pair in exports if pair[0].removeprefix("&") not in absent)
    dropped = [
        f"debug: the option '{option}' does nothing on CPU cores"
        for option in without_dropped(unit.options)[1]
    ]
    return ObjectCode(
        target(), "shared-library", code, unit.entry, exports, reflection, "\n".join(dropped)
    )
