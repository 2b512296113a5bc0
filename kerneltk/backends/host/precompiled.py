"""Precompiled headers: g++ reads the package's headers once instead of once for each unit.

A short unit spends a quarter to a third of its compilation in the headers that it begins with. The
:data:`AFTER`-th unit of a process that begins with the same ones, under the same options, has them
compiled on a thread of its own, so that no call waits for it; the result is an entry of the compile
cache like any other, keyed by the headers' content. Units give the same code with and without it:
g++ checks that compiler and options fit and reads the headers themselves where they do not ("Using
Precompiled Headers" in its manual).
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from kerneltk.backends import temporary
from kerneltk.cache.fingerprint import fingerprint
from kerneltk.cache.store import Cache, get_cache
from kerneltk.core.artifacts import Target, TranslationUnit
from kerneltk.core.lexer import includes_by_option
from kerneltk.errors import KernelToolkitError

__all__ = ["AFTER", "options_for", "prelude_of"]

AFTER = 3
"""The number of units without it after which a header is precompiled."""

_PRELUDE = re.compile(r"(?:#include <kerneltk/[\w.]+>\n)+")
_HEADER = "prelude.hpp"
_PRECOMPILED = _HEADER + ".gch"
# Handed on to the linker, such an option would be linked, and nothing else.
_FOR_LINKER = "-Wl,"

_Run = Callable[[Sequence[str], str], tuple[int, str]]

_seen: Counter[str] = Counter()


def prelude_of(source: str) -> str:
    """Return the lines that include this package's headers before anything else is said."""
    match = _PRELUDE.match(source)
    return match[0] if match else ""


def options_for(
    prelude: str,
    command: Sequence[str],
    options: Sequence[str],
    target: Target,
    directory: Path,
    run: _Run,
) -> tuple[str, ...]:
    """Return the options by which g++ takes a prelude precompiled; none as long as it is not.

    Parameters
    ----------
    prelude : str
        As :func:`prelude_of` returns it.
    command : sequence of str
        How g++ is started.
    options : sequence of str
        What the unit is compiled with.
    target : Target
        What it is compiled for.
    directory : Path
        Where g++ will run; the header is put there.
    run : callable
        Runs a command in a directory; returns its exit status and its messages.
    """
    if not prelude or includes_by_option(options):  # what is included first could change the rest
        return ()
    key = fingerprint(TranslationUnit("host", prelude, _PRECOMPILED, tuple(options)), target)
    cache = get_cache()
    data = cache.get(key)
    if data is None:
        _seen[key] += 1
        if _seen[key] == AFTER:
            arguments = [option for option in options if not option.startswith(_FOR_LINKER)]
            whole = (*command, *arguments, "-x", "c++-header", _HEADER, "-o", _PRECOMPILED)
            threading.Thread(target=_precompile, args=(key, prelude, whole, cache, run)).start()
        return ()
    (directory / _HEADER).write_text(prelude)
    (directory / _PRECOMPILED).write_bytes(data)
    return ("-include", _HEADER)


def _precompile(key: str, prelude: str, command: Sequence[str], cache: Cache, run: _Run) -> None:
    # Units compile without it: what goes wrong here is reported when it goes wrong there.
    with suppress(KernelToolkitError, OSError), temporary.directory() as directory:
        (directory / _HEADER).write_text(prelude)
        status, _ = run(command, str(directory))
        if status == 0:
            cache.put(key, (directory / _PRECOMPILED).read_bytes())
