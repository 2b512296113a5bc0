"""The programs behind one module of the user's: of source, of ``.cu`` files, and compiled ones that
the user brings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kerneltk.backends.base import Backend, Module
from kerneltk.core.artifacts import LinkInput, ObjectCode, Target, kind_of_code
from kerneltk.core.records import Memo
from kerneltk.cuda_cpp.options import bytes_of
from kerneltk.cuda_cpp.program import RawProgram, Variable
from kerneltk.cuda_cpp.signature import LoadedKernel, RawParameter, signature_of_sizes
from kerneltk.cuda_cpp.source import plain_name, read_file
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    BackendUnavailableError,
    NoSuchKernelError,
)
from kerneltk.object_code.symbols import demangled

if TYPE_CHECKING:
    from kerneltk.cuda_cpp.syntax.declarations import DeclaredKernel


class BinaryProgram:
    """A module that was compiled elsewhere, for GPUs. Raises ArgumentValueError for another file,
    or none.

    Parameters
    ----------
    path : Path
        PTX, or a cubin or fatbin.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        data = bytes_of(path)
        kind = kind_of_code(data)
        if kind not in ("ptx", "cubin", "fatbin", "object"):
            raise ArgumentValueError(f"'{path}' is neither PTX nor a cubin.")
        self._code = ObjectCode(
            Target("cuda", "given", "given"),
            "ptx" if kind == "ptx" else "cubin",
            data.rstrip(b"\0") + b"\0" if kind == "ptx" else data,
            "",
        )
        self._made = Memo()  # by device modules, with a symbol kernels

    def module(self, backend: Backend) -> tuple[Module, ObjectCode]:
        """Return the module on the current device. Raises BackendUnavailableError where `backend`
        is the host, and LaunchError where the driver refuses the file.
        """
        if not backend.capabilities.loads_binaries:
            raise BackendUnavailableError(
                f"'{self.path.name}' is compiled for GPUs and cannot run on CPU cores.\n"
                "  Hint: load its source instead."
            )
        load = partial(backend.load_module, self._code)
        return self._made.of(backend.device_key(), load), self._code

    def load(self, backend: Backend) -> str:
        """Load the module on the current device; return no log. Raises as :meth:`module`."""
        self.module(backend)
        return ""

    def kernel(self, backend: Backend, symbol: str) -> LoadedKernel:
        """Return a kernel on the current device. Raises as :meth:`module`."""
        module, _ = self.module(backend)
        device = backend.device_key()

        def make() -> LoadedKernel:
            function = module.function(symbol)
            layout = backend.parameter_places(function)
            signature = signature_of_sizes(symbol, layout or (), types=demangled(symbol)[1])
            return LoadedKernel(backend, device, function, signature, backend.limits(function))

        found: LoadedKernel = self._made.of((device, symbol), make)
        return found

    def build(self, target: str) -> ObjectCode:
        """Raise ArgumentValueError: nothing can be compiled for another target."""
        raise ArgumentValueError(
            f"'compile_for' and 'explain' need a source, and '{self.path.name}' is compiled."
        )

    def declared_parameters(self, symbol: str) -> tuple[RawParameter, ...]:
        """Return nothing: there is no source."""
        return ()

    def __reduce__(self) -> tuple[object, ...]:
        """A module is pickled as its path."""
        return BinaryProgram, (self.path,)

    def variable(self, backend: Backend, name: str) -> Variable:
        """Return a variable; only its size is known. Raises as :meth:`module`."""
        module, _ = self.module(backend)
        address, size = module.variable(name)
        return Variable(address, size, None, ())


class ModulePrograms:
    """The programs that offer a module's kernels: one a file, and one for each kernel that is asked
    for after its file is loaded.
    """

    def __init__(self, programs: Sequence[RawProgram | BinaryProgram]) -> None:
        self.all = list(programs)

    def owner(self, name: str) -> RawProgram | BinaryProgram:
        """Return the program that offers a kernel, or a new one where none does."""
        programs = self.from_source
        if not programs:
            return self.all[0]
        offering = [program for program in programs if program.offers(name)]
        if not offering:
            declaring = [program for program in programs if program.source.declares(name)]
            program = (declaring or programs)[0].offering(name)
            if program not in self.all:
                self.all.append(program)
            return program
        sources = {program.source.directory + program.source.name for program in offering}
        if len(sources) > 1:
            files = ", ".join(repr(program.source.name) for program in offering)
            raise ArgumentValueError(
                f"Several files have a kernel '{name}': {files}.\n  Hint: load them one by one."
            )
        return offering[0]

    def whole_name(self, name: str) -> str:
        """Return the whole name of a kernel, as `RawSource.whole_name` does."""
        found = (program.source.whole_name(name) for program in self.from_source)
        return next((whole for whole in found if whole != name), name)

    @property
    def from_source(self) -> list[RawProgram]:
        """Those that are not compiled yet; none for a compiled module."""
        return [program for program in self.all if isinstance(program, RawProgram)]

    @property
    def offered(self) -> tuple[str, ...]:
        """Name expressions of the kernels."""
        return tuple(
            dict.fromkeys(name for program in self.from_source for name in program.offered)
        )

    @property
    def last_names(self) -> dict[str, dict[str, DeclaredKernel]]:
        """The declared kernels by their names without namespaces, then by their whole names."""
        found: dict[str, dict[str, DeclaredKernel]] = {}
        for program in self.from_source:
            for kernel in program.source.kernels:
                found.setdefault(kernel.name.rpartition("::")[2], {})[kernel.name] = kernel
        return found

    @property
    def title(self) -> str:
        """The name of the first file."""
        return self.from_source[0].source.name

    def declared(self, name: str) -> DeclaredKernel:
        """Return the kernel that the files declare by a name without its namespaces. Raises
        NoSuchKernelError where there is none, or there are several.
        """
        known = self.last_names
        found = known.get(name, {})
        if len(found) > 1:
            raise NoSuchKernelError(
                f"Several kernels are called '{name}': {', '.join(map(repr, found))}.\n"
                "  Hint: use 'get_function' with the whole name."
            )
        if not found:
            import difflib  # only who has an error needs it

            close = difflib.get_close_matches(name, list(known), n=1)
            hint = f"\n  Hint: did you mean '{close[0]}'?" if close else ""
            function = re.compile(rf"\bvoid\s+{re.escape(name)}\s*\(")
            if any(function.search(program.source.code) for program in self.from_source):
                hint = f"\n  Hint: '{name}' is declared without '__global__'."
            raise NoSuchKernelError(f"'{self.title}' has no kernel '{name}'.{hint}")
        (kernel,) = found.values()
        return kernel

    def variable(self, backend: Backend, name: str) -> Variable:
        """Return a variable on the current device. Raises as `RawProgram.variable`."""
        owners = [program for program in self.from_source if name in program.variables]
        return (owners or self.all)[0].variable(backend, name)

    def build(self, target: str) -> ObjectCode:
        """Return object code for a target. Raises as the program's `build`, and ArgumentValueError
        for several files.
        """
        files = {program.source.directory + program.source.name for program in self.from_source}
        if len(files) > 1:
            raise ArgumentValueError(
                "'compile_for' makes one object code, and there are several files.\n"
                "  Hint: load them one by one."
            )
        return self.all[0].build(target)


def read_programs(
    paths: Sequence[str | os.PathLike[str]],
    options: tuple[str, ...],
    compiler: str,
    links: tuple[LinkInput, ...],
    names: tuple[str, ...],
) -> list[RawProgram]:
    """Return a program for each file; each template in `names` is asked of the file that has it.
    Raises ArgumentTypeError or ArgumentValueError where a path is none, a file cannot be read, or
    no file declares one of `names`.
    """
    programs = []
    for path in paths:
        if not isinstance(path, str | os.PathLike):
            raise ArgumentTypeError(f"'load' needs the path of a file, not {path!r}.")
        source = read_file(Path(path), options, compiler=compiler, links=links)
        whole = RawProgram(source, None)
        declared = {k.name for k in source.kernels}
        has_computed = any("(" in name for name in declared)  # by a macro: FN(sq)
        wanted = [name for name in names if has_computed or plain_name(name) in declared]
        for name in wanted:
            whole.offering(name)
        programs.append(whole)
        names = tuple(name for name in names if name not in wanted)
    if names:
        raise ArgumentValueError(
            f"No kernel is called '{names[0]}' in {', '.join(map(str, paths))}."
        )
    return programs
