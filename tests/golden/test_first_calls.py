"""The modules that take part in a first call of a new process whose cache knows the kernel."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.call_traces import FRONT_ENDS, FirstCall, first_call
from tests.conftest import Once
from tests.sampling import but_for
from tests.unit.test_call_paths import is_back, is_listed

# Which of them take part depends on the compiler.
OF_COMPILERS = {"backends.host.compiler_workarounds"}
# Most of their modules are those of the others.
LIKE_OTHERS = ("reduction", "load", "element_kernel", "vectorize", "graph")


def shown(found: FirstCall) -> str:
    """The modules in order, each with the function that is entered first, and the steps back."""
    modules = [
        f"{module} {function}"
        for module, function in found.modules.items()
        if module not in OF_COMPILERS
    ]
    back = dict.fromkeys(
        f"{call.caller} -> {' '.join(call.entry)}"
        for call in found.calls
        if is_back(call) and is_listed(call.caller, call.entry)
    )
    return "\n".join(
        [
            f"{len(modules)} modules take part:",
            *modules,
            "",
            f"{len(back)} steps back:",
            *back,
            "",
        ]
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", but_for(FRONT_ENDS, *LIKE_OTHERS))
def test_a_first_call_goes_through_known_modules(
    name: str, once: Once, golden: Callable[[str, str], None]
) -> None:
    cache = once.file("first calls", lambda: b"").parent / "first calls"
    once((name, "compiled"), lambda: json.dumps(len(first_call(name, cache).calls)).encode())
    golden(f"first-call-{name}.txt", shown(first_call(name, cache)))
