"""torch.compile as an entrant: whether it works here, and a limit to its warm-ups."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from common import Call, first_line
from device import Device
from reduction_cases import Case

_WARM_UP, _WARM_UPS = 60.0, 75.0  # seconds: for one function, for all of them


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block when the time is up, as soon as Python runs again."""

    def expired(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"took longer than {seconds:.0f} s")

    previous = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@dataclass(slots=True)
class TorchCompile:
    """torch.compile, for as long as there is time for its warm-ups.

    `missing` says why it is not to be used; None: not known before the first use.
    """

    torch: Any
    left: float = _WARM_UPS
    missing: str | None = None

    def probe(self) -> str:
        """Return why functions cannot be compiled here, or nothing."""
        if self.missing is None:
            self.missing = ""
            try:
                one = self.torch.ones(8, device="cuda")
                self._warm(self.torch.compile(lambda t: t + 1, dynamic=False), one)
            except Exception as error:  # no compiler, no Triton: whatever it raises
                self.missing = f"{type(error).__name__}: {first_line(error)}"
        return self.missing

    def _warm(self, function: Callable[[Any], Any], tensor: Any) -> None:
        limit = min(self.left, _WARM_UP)
        begin = time.perf_counter()
        try:
            with _time_limit(limit):
                function(tensor)
                self.torch.cuda.synchronize()
        except TimeoutError as error:
            self.missing = f"a warm-up {error}"
            raise
        finally:
            self.left -= time.perf_counter() - begin
        if self.left <= 1:
            self.missing = f"the {_WARM_UPS:.0f} s for its warm-ups are used up"

    def build(self, device: Device, case: Case) -> Call:
        """Return a call of the compiled sum of squares, which keeps its result in the case."""
        torch = self.torch
        widths = {"int8": torch.int32, "int32": torch.int64, "float16": torch.float32}
        tensor, output = device.view(case.x), device.view(case.y)
        wide = widths.get(case.x.dtype.name, tensor.dtype)
        total = torch.int64 if output.dtype == torch.int64 else wide
        axes, result = case.axes, output.dtype

        def sum_of_squares(t: Any) -> Any:
            elements = t.to(wide)
            return torch.sum(elements * elements, dim=axes, dtype=total).to(result)

        torch.compiler.reset()  # it gives up on a function that was compiled for many shapes
        function = torch.compile(sum_of_squares, dynamic=False)
        self._warm(function, tensor)

        def call() -> None:
            case.produced = function(tensor)

        return call
