"""A call's arguments: put in the parameters' order, and turned into one backend's arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import Backend
from kerneltk.backends.registry import capabilities_of
from kerneltk.core.arrays import ArraySpec
from kerneltk.core.artifacts import BackendName
from kerneltk.core.records import record
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, Snippet, render_message
from kerneltk.interop.streams import stream_handle
from kerneltk.interop.texture_objects import ObjectClass, class_of
from kerneltk.launch.launch_config import is_size
from kerneltk.signature.parameters import NO_DEFAULT, Signature
from kerneltk.signature.resolve import scalar_default

_MAX_BLOCK = 1024
_MOST_ELEMENTS = 2**63 - 1


@record
class CallDescription:
    """A call's results and effects.

    Parameters
    ----------
    outputs : tuple of ArraySpec
        Those that are given, and those that the call allocates.
    written : frozenset of str
        The inputs that the body may write to.
    is_batchable : bool
        Whether a call with stacked arguments gives the stacked results.
    """

    outputs: tuple[ArraySpec, ...]
    written: frozenset[str]
    is_batchable: bool


class CallOptions(NamedTuple):
    """What a call says beside its arguments: the number of elements, the stream's handle, the
    threads of a block, and where a call without any array runs. None is what it does not say.
    """

    size: int | None
    stream: int | None
    block_size: int | None
    backend: BackendName | None

    @property
    def plan_key(self) -> tuple[int | None, int | None] | None:
        """What a plan depends on: size and block size; None where neither is given."""
        if self.size is None and self.block_size is None:
            return None
        return self.size, self.block_size


def read_options(named: dict[str, Any]) -> CallOptions:
    """Take the options out of a call's keyword arguments, in place; raises ArgumentValueError for a
    value that an option cannot have, and for the stream as `stream_handle`.
    """
    size = named.pop("size", None)
    if size is not None:
        if not is_size(size) or size < -1:
            raise ArgumentValueError(f"'size' must be a non-negative integer, not {size!r}.")
        if size > _MOST_ELEMENTS:
            raise ArgumentValueError(f"'size' must be less than 2**63, not {size}.")
        size = None if size == -1 else int(size)  # as CuPy: -1 says that none is given
    block_size = named.pop("block_size", None)
    if block_size is not None:
        if not is_size(block_size) or block_size <= 0:
            raise ArgumentValueError("'block_size' must be greater than zero.")
        if block_size > _MAX_BLOCK:
            raise ArgumentValueError(
                f"'block_size' must be at most {_MAX_BLOCK}, not {block_size}."
            )
        block_size = int(block_size)
    backend = named.pop("backend", None)
    if backend is not None:
        capabilities_of(backend)
    stream = named.pop("stream", None)
    handle = None if stream is None else stream_handle(stream)
    return CallOptions(size, handle, block_size, backend)


def wrong_number(name: str, signature: Signature, given: int, missing: str = "") -> Exception:
    """The error for a wrong number of arguments."""
    nin, nout = len(signature.inputs), len(signature.outputs)
    what = f" Parameter '{missing}' is missing." if missing else ""
    return ArgumentTypeError(
        f"Wrong number of arguments for '{name}'. It must be either {nin} or {nin + nout} "
        f"(with outputs), but given {given}.{what}"
    )


def arrange(
    name: str,
    signature: Signature,
    args: tuple[Any, ...],
    named: dict[str, Any],
    options: Sequence[str] = ("size", "stream", "block_size", "backend"),
) -> tuple[Any, ...]:
    """The arguments in the parameters' order: inputs, or inputs and outputs. `options` is what a
    call takes beside, for messages.

    Raises ArgumentTypeError for too many or too few arguments, an unknown name, and two values for
    one parameter.
    """
    parameters = signature.parameters
    nin = len(signature.inputs)
    if not named and len(args) in (nin, len(parameters)):
        return args
    if len(args) > len(parameters):
        raise wrong_number(name, signature, len(args))
    known = [parameter.name for parameter in parameters]
    for key in named:
        if key not in known:
            raise ArgumentTypeError(
                f"Kernel '{name}' has no parameter '{key}'.\n"
                f"  Hint: its parameters are {', '.join(sorted(known)) or 'none'}; a call also "
                f"takes {', '.join(map(repr, options[:-1]))} and {options[-1]!r}."
            )
        if known.index(key) < len(args):
            raise ArgumentTypeError(f"Kernel '{name}' got two values for parameter '{key}'.")
    outputs_named = any(parameter.name in named for parameter in signature.outputs)
    values = list(args)
    for index in range(len(args), len(parameters)):
        parameter = parameters[index]
        if parameter.name in named:
            values.append(named[parameter.name])
        elif index < nin and parameter.default is not NO_DEFAULT:
            values.append(parameter.default)
        elif index >= nin and not outputs_named and len(args) <= nin:
            break
        else:
            raise wrong_number(name, signature, len(args), parameter.name)
    return tuple(values)


def override_of(args: Sequence[Any], name: str) -> Callable[..., Any] | None:
    """The method of that name of the first argument that has one: it takes the call over. An empty
    name is no method's.
    """
    if not name:
        return None
    methods = (getattr(argument, name, None) for argument in args)
    return next((method for method in methods if method is not None), None)


def _check_number(signature: Signature, index: int, value: Any) -> None:
    """Raise for an argument that is neither an array nor, where one may be, a scalar."""
    parameter = signature.parameters[index]
    kind = type(value).__name__
    if index >= len(signature.inputs):
        sentence = f"Output '{parameter.name}' must be an array, not an object of type '{kind}'."
    elif scalar_default(value) is None or isinstance(value, type | np.dtype):
        sentence = (
            f"The argument for '{parameter.name}' is of type '{kind}', which is neither an array "
            "nor a number."
        )
    else:
        return
    raise ArgumentTypeError(signature.message(sentence, index))


def import_arrays(
    signature: Signature, args: Sequence[Any], backend: BackendName | None
) -> tuple[tuple[Any, ...], Backend, foreign_arrays.Adoption]:
    """The arguments with every array as one of a backend's own, without a copy; that backend; and
    what orders the launch and gives results back.

    A call without arrays runs on `backend`, or where `registry.default_backend` says.

    Raises ArgumentTypeError for an argument that is neither an array nor a number and for arrays in
    different locations, and ArgumentValueError for another library's array that must not be
    written to.
    """
    values: list[Any] = []
    adoption = foreign_arrays.Adoption()
    parameters = signature.parameters
    owners: dict[int, Backend] = {}
    objects: dict[int, ObjectClass] = {}

    def named(index: int) -> tuple[str, Snippet | None]:
        name = parameters[index].name
        if name.startswith("_kt_"):  # a mask's, which is the call's word
            return name.removeprefix("_kt_"), None
        return name, signature.snippet(index)

    def in_two_locations(first: int, second: int) -> ArgumentTypeError:
        name, snippet = named(second)
        return ArgumentTypeError(
            render_message(
                f"'{named(first)[0]}' is in {owners[first].capabilities.location}, "
                f"but '{name}' is in {owners[second].capabilities.location}.",
                *([snippet] if snippet else []),
                hint=foreign_arrays.MOVE_HINT,
            )
        )

    inputs = len(signature.inputs)
    args = (*foreign_arrays.host_scalars_as_numbers(args[:inputs]), *args[inputs:])
    for index, argument in enumerate(args):
        handled = class_of(type(argument))
        if handled is not None and index < inputs:
            objects[index] = handled
            values.append(argument)
            continue
        own, value = adoption.take(argument, index, named)
        if own is None:
            _check_number(signature, index, value)
        else:
            owners[index] = own
        values.append(value)
    chosen = foreign_arrays.common_backend(owners, in_two_locations)
    first = next(iter(owners), 0)
    for index, found in objects.items():
        if chosen is None:
            chosen, first = foreign_arrays.backend_named(found.backend), index
        elif chosen.name != found.backend:
            other = parameters[first].name
            place = capabilities_of(found.backend).location
            sentence = (
                f"'{parameters[index].name}' is a {found.what} in {place}, but '{other}' is in "
                f"{chosen.capabilities.location}."
            )
            hint = f"make the {found.what} of an array that is there, too."
            raise ArgumentTypeError(signature.message(sentence, index, hint=hint))
    adoption.check_writes(lambda index: not parameters[index].is_const)
    if chosen is None:
        chosen = foreign_arrays.backend_named(backend)
    return tuple(values), chosen, adoption


def spec_of(argument: Any) -> ArraySpec | None:
    """The layout of an array, None of a scalar; raises ArgumentTypeError for what is neither."""
    if isinstance(argument, ArraySpec):
        return argument
    backend, array = foreign_arrays.own_array(argument)
    if backend is not None:
        return backend.describe(array)[0]
    if scalar_default(argument) is None:
        raise ArgumentTypeError(
            f"'{argument!r}' describes no argument.\n"
            "  Hint: use 'ArraySpec.make(dtype, shape)' for an array, a dtype for a scalar."
        )
    return None
