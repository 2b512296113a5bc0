"""Arrays of other libraries: which backend takes them, how they are given back, and on which
device and stream they are launched with.

torch's tensors, and anything with ``__cuda_array_interface__``, ``__array_interface__`` or
``__dlpack__``, are taken without a copy. Results for such arguments are given back as the caller's
kind of array, on the arguments' device: a call runs where its arrays of other libraries are, which
is one device. With CuPy's arrays alone it runs on the current device, as CuPy does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from kerneltk.backends.base import Backend, DeviceBackend
from kerneltk.backends.base import backend_named as backend_named
from kerneltk.backends.base import backend_of as backend_of
from kerneltk.backends.base import default_backend as default_backend
from kerneltk.core.recorders import current_recorder, recorders
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    KernelToolkitError,
    Snippet,
    render_message,
)
from kerneltk.interop import exchange, torch_tensors
from kerneltk.interop.exchange import GPUS
from kerneltk.interop.protocols import (
    MISSING,
    attempt,
    cuda_memory,
    dlpack_device,
    dlpack_memory,
    host_array,
    member,
)
from kerneltk.interop.streams import Home

Caller = Callable[[Any], Any]
"""Turns one of the backend's arrays into the caller's kind."""

_HOST_DEVICES = (1, 3)  # kDLCPU, kDLCUDAHost
_CUDA = "__cuda_array_interface__"
_LEGACY = 1  # the name of the default stream in the protocols, where 0 has no meaning


def _cuda_backend() -> DeviceBackend:
    """Return the backend of arrays on GPUs. Raises as `backend_named`."""
    return cast(DeviceBackend, backend_named("cuda"))


def _host_backend() -> Backend:
    return backend_named("host")


def _root(value: object) -> str:
    return type(value).__module__.partition(".")[0]


MOVE_HINT = "move one of them: 'cupy.asarray(x)' or 'cupy.asnumpy(x)'."


def different_locations(
    kernel: str,
    first: tuple[str, Backend],
    second: tuple[str, Backend],
    snippet: Snippet | None,
    hint: str = MOVE_HINT,
) -> ArgumentTypeError:
    """Return the error for the arrays of two parameters, which are named as messages show them; the
    second is declared at `snippet`.
    """
    return ArgumentTypeError(
        render_message(
            f"The array for parameter {first[0]} of kernel '{kernel}' is in "
            f"{first[1].capabilities.location}, and the one for {second[0]} is in "
            f"{second[1].capabilities.location}.",
            *([snippet] if snippet else []),
            hint=hint,
        )
    )


K = TypeVar("K")


def common_backend(
    owners: Mapping[K, Backend], refused: Callable[[K, K], Exception]
) -> Backend | None:
    """The backend of all arrays of a call, by their keys; None where there are none. Raises what
    `refused` returns for two arrays in different locations.
    """
    found: tuple[K, Backend] | None = None
    for key, own in owners.items():
        if found is None:
            found = key, own
        elif own.name != found[1].name:
            raise refused(found[0], key)
    return None if found is None else found[1]


Lock = tuple[str, str]
"""Why no kernel must write to an array, and a hint."""


def _unchanged(array: Any) -> Any:
    return array


class Imported(NamedTuple):
    """Another library's array as one of a backend's own, which shares its memory.

    `converter` takes an array of the backend. `home` is where the library's work is queued, None in
    host memory. `lock` says why no kernel must write to it, with a hint. `note_write` tells the
    library that it was written to. `device` is the GPU whose memory it is in; None for memory that
    every GPU reaches.
    """

    array: Any
    converter: Caller
    home: Home | None = None
    lock: Lock | None = None
    note_write: Callable[[], None] | None = None
    device: int | None = None


_READ_ONLY = ("it is read-only", "pass a copy.")


def import_array(value: Any) -> Imported | None:
    """A foreign array as one of ours, without a copy; None if `value` is no array.

    Raises ArgumentTypeError for an array that cannot be taken (on a device of another kind, masked,
    or against its own protocol), ArgumentValueError where there is no memory where it says.
    """
    known = _importers.get(type(value))
    if known is not None:
        return known(value)
    if isinstance(value, type):
        return None
    if isinstance(value, np.generic | bool | int | float | complex | str | bytes | list | tuple):
        return None
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentTypeError(
            "A masked array has no place for its mask in a kernel.\n"
            "  Hint: pass 'x.filled(value)', or data and mask as two arguments."
        )
    if isinstance(value, np.ndarray):
        return Imported(np.asarray(value), _unchanged)
    if torch_tensors.is_tensor(value):
        return _import_tensor(value)
    if _root(value) in _JAX:
        _importers[type(value)] = _import_jax
        return _import_jax(value)
    interface = member(value, _CUDA, MISSING)
    if interface is not MISSING and _root(value) == "numba":
        _importers[type(value)] = _import_numba
        return _import_numba(value)
    # Without a word on streams in the one protocol, the other orders them.
    says_stream = not isinstance(interface, dict) or "stream" in interface
    if interface is not MISSING and says_stream:
        return _import_cuda(value, interface)
    device = dlpack_device(value)
    if device is not None and device[0] in GPUS:
        return _import_dlpack(value, *device)
    if device is not None and device[0] in _HOST_DEVICES:
        array = attempt(value, "__dlpack__", lambda: np.from_dlpack(value))
        return Imported(array, _unchanged)
    if interface is not MISSING:
        return _import_cuda(value, interface)
    if device is not None:
        raise _out_of_reach(value)
    if member(value, "__array_interface__", MISSING) is not MISSING:
        return Imported(host_array(value), _unchanged)
    return None


# What takes the arrays of classes that have been seen, of libraries that programs import once.
_importers: dict[type, Callable[[Any], Imported | None]] = {}


def _out_of_reach(value: Any) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"An array of type '{type(value).__name__}' is on a device that kernels do not reach."
    )


def _import_tensor(tensor: Any) -> Imported:
    kind, device = attempt(tensor, "device", lambda: torch_tensors.device_of(tensor))
    if kind not in ("cpu", "cuda"):
        raise _out_of_reach(tensor)
    memory = torch_tensors.memory_of(tensor)
    lock = torch_tensors.lock_of(tensor)
    note = partial(torch_tensors.note_write, tensor)
    if kind == "cpu":
        return Imported(_host_backend().wrap(memory), _to_torch, None, lock, note)
    array = _cuda_backend().wrap(memory, device)
    # What stands for a lazy view was computed in torch's order, and has no owner afterwards.
    is_copy = memory.owner is not tensor
    home = Home(_TORCH.current_stream(device), device, _TORCH, asked=is_copy, copied=is_copy)
    return Imported(array, _to_torch, home, lock, note, device)


_TORCH = torch_tensors.TorchLibrary()


def _import_numba(value: Any) -> Imported:
    return _import_cuda(value, attempt(value, _CUDA, lambda: value.__cuda_array_interface__), True)


def _import_cuda(value: Any, interface: Any, is_numbas: bool = False) -> Imported:
    """An array by its interface. Work of numba's that names no stream goes to the default one."""
    backend = _cuda_backend()
    if is_numbas and type(value).__name__ == "DeviceNDArray":
        _register_importer(type(value), backend, 0, _to_numba)
    memory, stream = cuda_memory(value, interface)
    device, is_its_own = backend.place_of(memory)
    array = backend.wrap(memory, device)
    if stream is not None:
        home = Home(0 if stream == 1 else stream, device, asked=True)
    elif is_numbas:
        home = _numbas_home(device)
    else:
        home = Home(backend.home(array).stream, device, kept=value)
    lock = _READ_ONLY if memory.read_only else None
    converter = _to_numba if is_numbas else _unchanged
    return Imported(array, converter, home, lock, None, device if is_its_own else None)


def _register_importer(kind: type, backend: Backend, device_type: int, converter: Caller) -> None:
    """Have the extension module import arrays of a type at repeated calls."""
    own = backend.array_type
    if exchange.is_imported(kind, own) or device_type not in (0, 1, GPUS[0]):
        return
    keep: Any = None
    functions: exchange.ImportFunctions = (0, 0, None, 0, 0)
    if not backend.capabilities.in_host_memory:
        keep, functions = cast(DeviceBackend, backend).import_functions()
        if not functions[0] or not functions[1]:
            return
    exchange.register(
        exchange.Importer(
            kind, own, device_type, lambda value: own_array(value)[1], converter,
            keep if device_type else None,
            exchange.DTYPES, exchange.dtype_of, *functions,
        )
    )  # fmt: skip


_numbas_home = cache(partial(Home, 0))  # by the device


def _import_dlpack(
    value: Any, kind: int, device: int, converter: Caller = _unchanged, lock: Lock | None = None
) -> Imported:
    backend = _cuda_backend()
    with backend.on_device(device):
        stream = backend.importing_stream(device)
        memory = dlpack_memory(value, stream or _LEGACY)
        array = backend.wrap(memory, device)
        lock = lock or (_READ_ONLY if memory.read_only else None)
    home = Home(stream, device, asked=True, kept=array)
    is_its_own = kind == GPUS[0] and array.size
    return Imported(array, converter, home, lock, None, device if is_its_own else None)


def _import_jax(value: Any) -> Imported | None:
    """An array of JAX, or a buffer that JAX's FFI gives to a callback, which alone may be written
    to and is one of no other library's.
    """
    tracer = getattr(getattr(sys.modules.get("jax"), "core", None), "Tracer", ())
    if isinstance(value, tracer):
        raise ArgumentTypeError(
            "An array that JAX traces has no elements yet.\n"
            "  Hint: make the kernel a function of JAX: 'kerneltk.jax_op(kernel)'."
        )
    if attempt(value, "is_deleted", getattr(value, "is_deleted", bool)):
        raise ArgumentValueError(
            "An array of JAX's has no memory: it was deleted, or given away ('donate_argnums')."
        )
    place = dlpack_device(value)
    if place is None:
        return None
    kind = place[0]
    is_buffer = isinstance(getattr(value, "writeable", None), bool)
    converter = _unchanged if is_buffer else _to_jax
    lock = None
    if not is_buffer:
        copied = "numpy" if kind in _HOST_DEVICES else "cupy"
        lock = "it is JAX's, whose arrays never change", f"pass a copy: '{copied}.array(y)'."
    elif not value.writeable:
        lock = "it is an input of JAX's", "write to an output."
    if kind in _HOST_DEVICES:
        if not is_buffer:
            _register_importer(type(value), _host_backend(), kind, converter)
        # NumPy's own conversion knows JAX's dtypes.
        array = attempt(value, "__array__", lambda: np.asarray(value))
        return Imported(array, converter, lock=lock)
    if kind not in GPUS:
        raise _out_of_reach(value)
    found = _import_dlpack(value, *place, converter, lock)
    if not is_buffer:
        _register_importer(type(value), _cuda_backend(), kind, converter)
    if not is_buffer or found.home is None:
        return found
    home = Home(
        found.home.stream,
        found.home.device,
        unknown=f"The stream of an object of type '{type(value).__name__}' is not known.\n"
        "  Hint: pass 'stream=ctx.stream', of the callback's first argument.",
    )
    return found._replace(home=home, lock=lock)


NameOf = Callable[[Any], tuple[str, Snippet | None]]
"""The name of the parameter that an argument is for, and where it is declared."""


def named_error(
    error: ArgumentTypeError | ArgumentValueError, name: str, snippet: Snippet | None
) -> ArgumentTypeError | ArgumentValueError:
    """The same error with the parameter's name, which who reads an array or a dtype does not
    know.
    """
    sentence, _, hint = str(error).partition("\n  Hint: ")
    sentence = f"The argument for '{name}' cannot be taken: {sentence[:1].lower()}{sentence[1:]}"
    return type(error)(render_message(sentence, *([snippet] if snippet else []), hint=hint))


def own_array(value: Any) -> tuple[Backend | None, Any]:
    """Return the backend that takes a value as an array, and the array as its own, without a copy;
    None and the value itself if it is no array. Raises as :func:`import_array`.

    What is launched with is taken by an `Adoption`, which orders streams.
    """
    return Adoption().take(value, None)


def host_scalars_as_numbers(args: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments of a call with torch's rule: beside tensors on a GPU, a tensor in host memory
    without dimensions is the number in it, whose dtype decides nothing. Raises ArgumentTypeError
    where the number cannot be read.
    """
    if "torch" not in sys.modules:
        return tuple(args)
    tensors = [k for k, value in enumerate(args) if torch_tensors.is_tensor(value)]
    found = list(args)
    if len(tensors) > 1 and "cuda" in (kinds := [_kind_of_device(args[k]) for k in tensors]):
        for k, kind in zip(tensors, kinds, strict=True):
            if kind == "cpu":
                found[k] = attempt(args[k], "item", partial(_number_of, args[k]))
    return tuple(found)


def _kind_of_device(tensor: Any) -> str:
    return attempt(tensor, "device", lambda: torch_tensors.device_of(tensor))[0]


def _number_of(tensor: Any) -> Any:
    """The number in a tensor without dimensions; others as they are."""
    return tensor if len(tensor.shape) else tensor.detach().item()


class _Located(NamedTuple):
    """An array in one device's memory, and what names it in messages."""

    device: int
    key: Any
    name_of: NameOf | None

    def named(self) -> tuple[str, Snippet | None]:
        if self.name_of is not None:
            name, snippet = self.name_of(self.key)
            return f"parameter '{name}'", snippet
        return (f"argument {self.key + 1}" if isinstance(self.key, int) else "an argument"), None


def _on_two_devices(first: _Located, second: _Located) -> ArgumentValueError:
    name, snippet = second.named()
    return ArgumentValueError(
        render_message(
            f"The array for {first.named()[0]} is on device {first.device}, and the one for "
            f"{name} is on device {second.device}.",
            *([snippet] if snippet else []),
            hint="copy one of them to the other's device.",
        )
    )


class Adoption:
    """The arrays of a call, turned into those of backends, and what is owed to their libraries."""

    __slots__ = ("_checks", "_given", "_homes", "_imports", "_located", "_notes", "_own_on_gpu")

    def __init__(self) -> None:
        self._given: list[tuple[Any, Any]] = []
        self._checks: list[Callable[[], None]] = []
        self._imports: list[tuple[Any, Any, Imported, NameOf | None]] = []
        self._homes: list[Home] = []
        self._notes: list[Callable[[], None]] = []
        self._located: list[_Located] = []
        self._own_on_gpu: list[tuple[Any, Any, NameOf | None]] = []

    def take(
        self,
        value: Any,
        key: Any,
        name_of: NameOf | None = None,
        *,
        keep_subclasses: bool = False,
    ) -> tuple[Backend | None, Any]:
        """Return the backend that takes a value as an array, and the array as its own; None and the
        value itself if it is no array. Raises as :func:`import_array`.

        `key` is what the array is called in :meth:`check_writes`; `name_of` is that of messages.
        With `keep_subclasses` an instance of a subclass of NumPy's class stays one.
        """
        own = None if type(value) in _importers else backend_of(value)
        if own is not None and (
            not own.capabilities.is_fallback
            or type(value) is np.ndarray
            or (keep_subclasses and not isinstance(value, np.ma.MaskedArray))
        ):
            if not own.capabilities.in_host_memory:
                self._own_on_gpu.append((value, key, name_of))
            self._given.append((value, value))
            return own, value
        try:
            imported = import_array(value)
        except (ArgumentTypeError, ArgumentValueError) as error:
            if name_of is None:
                raise
            raise named_error(error, *name_of(key)) from error.__cause__
        if imported is None:
            return None, value
        self._imports.append((key, value, imported, name_of))
        self._given.append((imported.array, value))
        if imported.home is not None:
            self._homes.append(imported.home)
        if imported.device is not None:
            self._located.append(_Located(imported.device, key, name_of))
        return backend_of(imported.array), imported.array

    def check_writes(
        self, is_written: Callable[[Any], bool], name_of: NameOf | None = None
    ) -> None:
        """Raise ArgumentValueError for an array that is written to and must not be. Both functions
        take an array's key; `name_of` is by default what :meth:`take` was given.
        """
        for key, value, imported, taken_as in self._imports:
            if not is_written(key):
                continue
            named = partial(cast(NameOf, name_of or taken_as), key)
            lock = imported.lock or _shared_by_elements(imported.array)
            if lock is not None:
                raise _locked(lock, *named())
            if imported.note_write is not None:
                self._notes.append(imported.note_write)
            if recorders:
                self._checks.append(partial(_check_write, value, named))

    @property
    def locked(self) -> set[Any]:
        """The keys of arrays that must not be written to."""
        return {key for key, _, imported, _ in self._imports if imported.lock is not None}

    @property
    def streams(self) -> set[int]:
        """The handles of the streams on which the arrays' work is queued."""
        return {home.stream for home in self._homes}

    @property
    def device(self) -> int | None:
        """The number of the device that the call runs on: that of its arrays of other libraries.
        None, the current one, where there are none in one device's memory.

        Raises
        ------
        ArgumentValueError
            These arrays, and those of CuPy's beside them, are on several devices.
        """
        if not self._located:
            return None
        first = self._located[0]
        backend = _cuda_backend()
        for other in self._located:
            if other.device != first.device:
                raise _on_two_devices(first, other)
        for array, key, name_of in self._own_on_gpu:
            device = backend.device_of(array)
            if device is not None and device != first.device:
                raise _on_two_devices(first, _Located(device, key, name_of))
        return first.device

    def on_device(self) -> AbstractContextManager[Any]:
        """A context in which the call's device is the current one; raises as `device`. What
        depends on the device is done in it, once all arrays are taken.
        """
        device = self.device
        return nullcontext() if device is None else _cuda_backend().on_device(device)

    @contextmanager
    def launching(self, stream: int | None) -> Iterator[int | None]:
        """A context for a launch on the call's device, with the handle of the stream that it goes
        to. Raises as `device`.

        Where the call names none, it is the current stream of the library whose arrays they are; of
        several libraries' all are ordered before and after the launch. A thread that records keeps
        what the arrays were made into: nothing is written to them yet.
        """
        recorder = current_recorder() if recorders else None
        if not self._homes:
            yield stream
        else:
            backend = _cuda_backend()
            homes = list(self._homes)
            homes += (backend.home(array) for array, _, _ in self._own_on_gpu[-1:])
            with self.on_device(), backend.ordered(homes, stream) as handle:
                yield handle
        if recorder is not None:
            arrays = [imported.array for _, _, imported, _ in self._imports]
            recorder.adopted(arrays, self._notes, self._checks)
            return
        for note in self._notes:
            note()

    def give_back(self, result: Any) -> Any:
        """Return results as the caller's kind, and the caller's own outputs as they were given."""
        if not self._imports or result is None:
            return result
        converters = (imported.converter for _, _, imported, _ in self._imports)
        converter = next((found for found in converters if found is not _unchanged), _unchanged)
        with self.on_device():  # JAX and numba take an array by the current device's stream
            if isinstance(result, tuple):
                return tuple(self._one(output, converter) for output in result)
            return self._one(result, converter)

    def _one(self, output: Any, converter: Caller) -> Any:
        for array, given in self._given:
            if output is array:
                return given
        return converter(output)


def adopted(
    args: Sequence[Any], is_written: Callable[[Any], bool]
) -> tuple[tuple[Any, ...], Adoption] | None:
    """The arguments as backends' own, taken with their numbers as keys, and what took them; None
    where one cannot be taken: who describes the call raises that with the parameter's name.
    """
    adoption = Adoption()
    try:
        values = tuple([adoption.take(value, k)[1] for k, value in enumerate(args)])
        adoption.check_writes(is_written, lambda key: ("", None))
    except KernelToolkitError:
        return None
    return values, adoption


def _locked(lock: tuple[str, str], name: str, snippet: Snippet | None) -> ArgumentValueError:
    """The error for an array that a kernel must not write to."""
    sentence = f"The array for parameter '{name}' is written, but {lock[0]}."
    return ArgumentValueError(
        render_message(sentence, *([snippet] if snippet else []), hint=lock[1])
    )


def _shared_by_elements(array: Any) -> tuple[str, str] | None:
    """Why a kernel must not write to an array of which some elements are the same memory, as
    'expand' and 'broadcast_to' make them: which of the values it had in the end would be chance.
    """
    strides = array.strides
    if 0 not in strides or not array.size:
        return None
    if all(step or extent == 1 for step, extent in zip(strides, array.shape, strict=True)):
        return None
    return "several of its elements are one location in memory", "pass a copy, as 'y.clone()'."


def _check_write(value: Any, named: Callable[[], tuple[str, Snippet | None]]) -> None:
    """Raise ArgumentValueError if a kernel must not write to an array of another library now."""
    if torch_tensors.is_tensor(value):
        lock = torch_tensors.lock_of(value)
    elif isinstance(value, np.ndarray):  # of a subclass
        lock = None if value.flags.writeable else _READ_ONLY
    else:
        imported = import_array(value)
        lock = None if imported is None else imported.lock
        if imported is not None and isinstance(imported.array, np.ndarray):
            lock = lock or (None if imported.array.flags.writeable else _READ_ONLY)
    if lock is not None:
        raise _locked(lock, *named())


_JAX = ("jax", "jaxlib")


def _to_torch(array: Any) -> Any:
    reversed_axes = [axis for axis, step in enumerate(array.strides) if step < 0]
    if reversed_axes:  # torch has no such views: its own 'flip' copies
        index = tuple(slice(None, None, -1 if step < 0 else 1) for step in array.strides)
        return _to_torch(array[index]).flip(reversed_axes)
    if isinstance(array, np.ndarray):
        return torch_tensors.on_host(array)
    # What is allocated for tensors is torch's own memory; a view may be of another one's.
    block = _cuda_backend().owner_of(array)
    if not torch_tensors.is_tensor(block):
        return attempt(array, "__dlpack__", lambda: sys.modules["torch"].from_dlpack(array))
    address = array.data.ptr if array.size else None
    return torch_tensors.new_tensor(block, address, array.dtype, array.shape, array.strides)


def _to_jax(array: Any) -> Any:
    import jax  # type: ignore[import-not-found,unused-ignore]

    if jax.dtypes.canonicalize_dtype(array.dtype) != array.dtype:  # JAX would change the numbers
        raise ArgumentTypeError(
            f"A result of dtype '{array.dtype}' cannot be given back as JAX's array: JAX has that "
            "only with its option 'jax_enable_x64'.\n"
            "  Hint: declare a dtype of 32 bits, or set the option."
        )
    if isinstance(array, np.ndarray) and array.dtype.kind == "V":  # one that NumPy has not
        return jax.device_put(array, jax.devices("cpu")[0])
    flags = array.flags
    if not (flags.c_contiguous or flags.f_contiguous) or not getattr(flags, "writeable", True):
        array = array.copy()  # JAX takes no such views
    return attempt(array, "__dlpack__", lambda: jax.dlpack.from_dlpack(array))


def _to_numba(array: Any) -> Any:
    from numba import cuda  # type: ignore[import-untyped,import-not-found,unused-ignore]

    # The array is bound to the launch's stream; by default numba would wait for the work as well.
    return attempt(
        array,
        _CUDA,
        lambda: cuda.as_cuda_array(array, sync=False),  # type: ignore[no-untyped-call,unused-ignore]
    )
