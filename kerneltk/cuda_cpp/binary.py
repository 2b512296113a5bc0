"""Compiled modules that the user brings: PTX and cubins. They run on GPUs only."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from kerneltk.backends.base import Backend, Module
from kerneltk.core.artifacts import ObjectCode, Target, kind_of_code
from kerneltk.core.records import Memo
from kerneltk.cuda_cpp.options import bytes_of
from kerneltk.cuda_cpp.program import Variable
from kerneltk.cuda_cpp.signature import LoadedKernel, RawParameter, signature_of_sizes
from kerneltk.errors import ArgumentValueError, BackendUnavailableError
from kerneltk.object_code.symbols import demangled


class BinaryProgram:
    """A module that was compiled elsewhere. Raises ArgumentValueError for another file, or none.

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
