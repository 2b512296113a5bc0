"""Extension modules of Python, compiled by the host's toolchain and cached."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

from kerneltk.backends import temporary
from kerneltk.backends.host import toolchain
from kerneltk.cache.derived import Entry
from kerneltk.errors import BackendUnavailableError


def load(
    name: str, source: Path, headers: Sequence[Path], only_made: bool = False
) -> ModuleType | None:
    """Load an extension module from its C source; None if `only_made` and it is not in the cache.

    Parameters
    ----------
    name : str
        With the packages that it is in.
    source : Path
    headers : sequence of Path
        What it includes, from its own directory.
    only_made : bool
        Whether nothing is to be compiled.

    Raises
    ------
    BackendUnavailableError
        There is no compiler, there are no headers of Python, or the module cannot be loaded.
    CompileError
        The compiler takes too long.
    """
    # With -O2 it takes twice as long to compile, and calls take as long.
    options = (*toolchain.runtime_options(), "-fno-strict-aliasing", "-O1")
    sources = [path.read_text(encoding="utf-8") for path in (source, *headers)]
    target = toolchain.target()
    compiler = target.architecture, target.compiler, *options
    entry = Entry("host compiler", "module", *sources, *compiler, sys.version, sys.abiflags)
    code = entry.get()
    if code is not None:
        # Another machine that shares the cache may have linked it to a newer C library.
        with suppress(ImportError):
            return _loaded(name, code)
    if only_made:
        return None
    code = _build(source, sources[0], options)
    entry.put(code)
    try:
        return _loaded(name, code)
    except ImportError as error:
        raise BackendUnavailableError(f"The module '{name}' cannot be loaded: {error}") from error


def _build(path: Path, source: str, options: tuple[str, ...]) -> bytes:
    import sysconfig  # slow, and only who compiles needs it

    headers = Path(sysconfig.get_path("include"))
    if not (headers / "Python.h").is_file():
        raise BackendUnavailableError(f"There are no headers of Python in '{headers}'.")
    own = (*options, f"-I{headers}", f"-I{path.parent}")
    exported = (f"PyInit_{path.stem}",)
    code, log = toolchain.build(path.name, source, own, language="c", exported=exported)
    if code is None:
        raise BackendUnavailableError(f"The module '{path.name}' does not compile:\n{log}")
    return code


def _loaded(name: str, code: bytes) -> ModuleType:
    with temporary.directory() as directory:
        path = os.fspath(directory / f"{name.rpartition('.')[2]}.so")
        Path(path).write_bytes(code)
        loader = ExtensionFileLoader(name, path)
        module = module_from_spec(ModuleSpec(name, loader, origin=path))
        loader.exec_module(module)
    return module
