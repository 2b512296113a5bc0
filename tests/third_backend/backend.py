"""The backend itself: the host's, but for what is its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kerneltk.backends.base import (
    ArrayAccess,
    Bound,
    Function,
    LaunchCall,
    LaunchMode,
    Module,
    backend_named,
)
from kerneltk.core.artifacts import ObjectCode, Target, TranslationUnit

from . import REGISTRATION, Array


class SingleBackend:
    """Arrays of the class `Array` on one core; implements `kerneltk.backends.base.Backend`."""

    capabilities = REGISTRATION.capabilities
    name = capabilities.name
    array_type: type = Array
    array_library = None

    def __init__(self) -> None:
        self._host = backend_named("host")
        self._options = (f"-DKERNELTK_WARP_SIZE={self.capabilities.warp_size}",)
        self.compiled: list[TranslationUnit] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    # -- compiling -----------------------------------------------------------------------------

    def target(self, unit: TranslationUnit | None = None) -> Target:
        return replace(self._host.target(), backend=self.name)

    def backend_options(self, unit: TranslationUnit) -> tuple[str, ...]:
        return (*self._host.backend_options(unit), *self._options)

    def compile(self, unit: TranslationUnit, target: Target) -> ObjectCode:
        self.compiled.append(unit)
        options = (*unit.options, *self._options)
        code = self._host.compile(replace(unit, options=options), self._host.target())
        return replace(code, target=target)

    def load(self, code: ObjectCode) -> Function:
        return self._host.load(replace(code, target=self._host.target()))

    def load_module(self, code: ObjectCode, is_private: bool = True) -> Module:
        return self._host.load_module(replace(code, target=self._host.target()), is_private)

    # -- arrays --------------------------------------------------------------------------------

    def empty(self, shape: Any, dtype: Any, order: str) -> Any:
        return self._host.empty(shape, dtype, order).view(Array)

    def variable_array(self, *arguments: Any) -> Any:
        return self._host.variable_array(*arguments).view(Array)

    # -- launching -----------------------------------------------------------------------------

    @property
    def arrays(self) -> ArrayAccess:
        return replace(self._host.arrays, allocate=self.empty)

    @property
    def loop_call(self) -> LaunchCall:
        return on_one_thread(self._host.loop_call)

    def grid_call(self, mode: LaunchMode, kernel: str) -> LaunchCall:
        call = self._host.grid_call(mode, kernel)
        return call if mode.cooperative else on_one_thread(call)


def on_one_thread(call: LaunchCall) -> LaunchCall:
    """The host's launch, whose last argument is the number of threads."""
    return replace(call, arguments=(*call.arguments[:-1], Bound(1)))
