"""Which stream a launch goes to, what is ordered with it, and what ``stream=`` takes.

On a device that only writes down what it is asked (`dry_gpu`); `tests/differential` has the same on
a real one.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kerneltk import (
    ArgumentTypeError,
    ArgumentValueError,
    ElementwiseKernel,
    KernelToolkitError,
    LaunchError,
    RawKernel,
    ReductionKernel,
    jit,
)
from kerneltk.backends import foreign_arrays
from kerneltk.backends.cuda.backend import CudaBackend
from kerneltk.interop.streams import stream_handle, stream_in_brackets

from ..dry_gpu import CUPY, TORCH, DryGpu, gpu  # noqa: F401 (a fixture)
from ..fake_torch import Tensor
from ..front_ends import each_front_end, elementwise, raw, rawkernel, size_of_output

# -- what a stream may be ------------------------------------------------------------------------


class Protocol:
    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def __cuda_stream__(self) -> Any:
        return 0, self._handle


class Raising:
    @property
    def ptr(self) -> int:
        raise ZeroDivisionError("here")


MAPPED = ctypes.create_string_buffer(64)
NAMED = ctypes.addressof(MAPPED)
"""A handle that a call names: memory lies there, as behind a stream's."""


def test_streams_of_all_kinds_have_a_handle() -> None:
    assert stream_handle(SimpleNamespace(ptr=NAMED)) == NAMED
    assert stream_handle(SimpleNamespace(cuda_stream=NAMED)) == NAMED
    assert stream_handle(Protocol(NAMED)) == NAMED
    for handle in (0, 2, np.int64(2), NAMED):
        assert stream_handle(handle) == handle
    assert stream_handle(1) == 0  # both are CUDA's names of the default stream
    assert stream_handle(ctypes.c_void_p(NAMED)) == NAMED
    assert stream_handle(ctypes.c_void_p()) == 0
    # An attribute, as older versions of libraries have it.
    assert stream_handle(SimpleNamespace(__cuda_stream__=(0, NAMED))) == NAMED


def library_streams() -> dict[str, Callable[[], list[tuple[Any, int]]]]:
    """Streams of libraries that can be made without a GPU, with their handles."""

    def of_cupy() -> list[tuple[Any, int]]:
        cupy = pytest.importorskip("cupy")
        return [(cupy.cuda.Stream.null, 0), (cupy.cuda.Stream.ptds, 2)]

    def of_bindings() -> list[tuple[Any, int]]:
        driver = pytest.importorskip("cuda.bindings.driver")
        runtime = pytest.importorskip("cuda.bindings.runtime")
        return [(driver.CUstream(NAMED), NAMED), (runtime.cudaStream_t(NAMED), NAMED),
                (driver.CUstream(0), 0), (runtime.cudaStream_t(2), 2)]  # fmt: skip

    def of_core() -> list[tuple[Any, int]]:
        core = pytest.importorskip("cuda.core")
        if not hasattr(core, "LEGACY_DEFAULT_STREAM"):
            pytest.skip("this version of cuda.core has no names of the default streams")
        return [(core.Stream.from_handle(NAMED), NAMED), (core.LEGACY_DEFAULT_STREAM, 0),
                (core.PER_THREAD_DEFAULT_STREAM, 2)]  # fmt: skip

    def of_numba() -> list[tuple[Any, int]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what numba does at its import
            numba = pytest.importorskip("numba.cuda.cudadrv.driver")
        return [(numba.Stream(handle), handle) for handle in (NAMED, 0, 2)]

    return {"cupy": of_cupy, "bindings": of_bindings, "core": of_core, "numba": of_numba}


@pytest.mark.parametrize("library", library_streams())
def test_streams_of_libraries(library: str) -> None:
    for stream, handle in library_streams()[library]():
        assert stream_handle(stream) == handle


def test_a_stream_that_was_closed() -> None:
    core = pytest.importorskip("cuda.core")
    if not hasattr(core, "Stream"):
        pytest.skip("this version of cuda.core has no streams by this name")
    stream = core.Stream.from_handle(NAMED)
    stream.close()
    with pytest.raises(ArgumentTypeError, match="does not tell its handle"):
        stream_handle(stream)


def test_older_libraries_have_no_protocol() -> None:
    class CUstream:
        def __int__(self) -> int:
            return NAMED

    class Stream:
        handle = ctypes.c_void_p(NAMED)

    for kind, module in ((CUstream, "cuda.bindings.driver"), (Stream, "numba.cuda.cudadrv.driver")):
        with pytest.raises(ArgumentTypeError, match="not an object of type"):
            stream_handle(kind())
        kind.__module__ = module
        assert stream_handle(kind()) == NAMED


def test_each_way_to_launch_takes_a_stream(gpu: DryGpu) -> None:  # noqa: F811
    kernel = RawKernel(
        'extern "C" __global__ void copy(const float* x, float* y) { y[0] = x[0]; }', "copy"
    )
    stream, other = SimpleNamespace(ptr=NAMED), SimpleNamespace(ptr=2)
    x, y = gpu.array(1), gpu.array(1)
    kernel(1, 1, (x, y), stream=stream)
    kernel[1, 1, stream](x, y)
    kernel[1, 1](x, y, stream=stream)
    kernel[1, 1, other](x, y, stream=stream)  # what the call names decides
    kernel.over(1, 1)(x, y, stream=stream)
    assert launches(gpu) == [NAMED] * 5


def test_zero_in_brackets_is_the_current_stream() -> None:
    assert (
        stream_in_brackets(None) is stream_in_brackets(0) is stream_in_brackets(np.int64(0)) is None
    )
    assert stream_in_brackets(False) is False
    assert stream_in_brackets(1) == 1


NO_STREAMS = {
    "a text": ("s", ArgumentTypeError, "not an object of type 'str'"),
    "a bool": (True, ArgumentTypeError, "not an object of type 'bool'"),
    "a number": (1.5, ArgumentTypeError, "not an object of type 'float'"),
    "minus one": (-1, ArgumentValueError, "none has the handle -1"),
    "no address": (12345, ArgumentValueError, "none has the handle 12345"),
    "more than an address": (2**64, ArgumentValueError, "none has the handle"),
    "a handle of the wrong type": (Protocol("s"), ArgumentTypeError, "of type 'Protocol'"),
    "a pointer of another type": (
        SimpleNamespace(ptr="s"), ArgumentTypeError, "of type 'SimpleNamespace'",
    ),
    "a property that raises": (Raising(), ArgumentTypeError, "ZeroDivisionError: here"),
    "a protocol of something else": (
        SimpleNamespace(__cuda_stream__=lambda: 5), ArgumentTypeError, "does not tell its handle",
    ),
    "a protocol of the future": (
        SimpleNamespace(__cuda_stream__=lambda: (1, NAMED)), ArgumentTypeError,
        "version 1 of '__cuda_stream__' is not known",
    ),
    "a class": (Protocol, ArgumentTypeError, "not an object of type 'type'"),
    "an array": (
        SimpleNamespace(ptr=NAMED, __cuda_array_interface__={}), ArgumentTypeError,
        "not an object of type 'SimpleNamespace'",
    ),
    "a pointer to nowhere": (
        ctypes.c_void_p(12345), ArgumentValueError, "none has the handle 12345",
    ),
}  # fmt: skip


@each_front_end
def test_what_is_no_stream_is_refused_alike(make: Any) -> None:
    launch, x, y = make(), np.ones(1, np.float32), np.zeros(1, np.float32)
    for stream, kind, said in NO_STREAMS.values():
        with pytest.raises(kind, match=said):
            launch(x, y, stream=stream)
        assert y[0] == 0


@pytest.mark.parametrize("rest", [(True,), (False,), (0, True), (True, 0), (True, True)])
def test_a_bool_in_brackets_is_neither_stream_nor_size(rest: tuple[Any, ...]) -> None:
    @jit.rawkernel()
    def of_jit(x):  # type: ignore[no-untyped-def]
        x[0] = 1

    @jit.cuda.jit
    def of_numba(x):  # type: ignore[no-untyped-def]
        x[0] = 1

    of_source = RawKernel("__global__ void f(int* x) { x[0] = 1; }", "f")
    x = np.zeros(1, np.int32)
    for kernel in (of_jit, of_numba, of_source):
        for _ in range(2):
            with pytest.raises(KernelToolkitError, match=r"stream|shared"):
                kernel[(1, 4, *rest)](x)
    assert x[0] == 0


# -- where launches go ---------------------------------------------------------------------------


def launches(gpu: DryGpu) -> list[Any]:  # noqa: F811
    return [entry[1] for entry in gpu.log if entry[0] == "launch"]


def order(gpu: DryGpu) -> list[tuple[Any, ...]]:  # noqa: F811
    return [entry for entry in gpu.log if entry[0] in ("launch", "record", "wait")]


@each_front_end
def test_the_current_stream_of_the_arrays_library(make: Any, gpu: DryGpu) -> None:  # noqa: F811
    launch = make()
    for _ in range(2):  # before and after the launcher is made
        launch(gpu.array(4), gpu.array(size_of_output(make)))
        assert order(gpu) == [("launch", CUPY)]
        gpu.log.clear()
        given = gpu.tensor(4), gpu.tensor(size_of_output(make))
        launch(*given)
        assert order(gpu) == [("launch", TORCH)]
        gpu.log.clear()


@each_front_end
def test_the_stream_that_a_call_names(make: Any, gpu: DryGpu) -> None:  # noqa: F811
    size = size_of_output(make)
    launch = make()
    for stream in (SimpleNamespace(ptr=NAMED), SimpleNamespace(cuda_stream=NAMED), Protocol(NAMED)):
        launch(gpu.array(4), gpu.array(size), stream=stream)
        assert order(gpu) == [("launch", NAMED)]
        gpu.log.clear()
        launch(gpu.tensor(4), gpu.tensor(size), stream=stream)
        assert order(gpu) == [("launch", NAMED)]
        gpu.log.clear()


@each_front_end
def test_two_libraries_are_ordered_by_events(make: Any, gpu: DryGpu) -> None:  # noqa: F811
    size = size_of_output(make)
    launch = make()
    around = [
        ("record", CUPY), ("wait", TORCH), ("launch", TORCH), ("record", TORCH), ("wait", CUPY),
    ]  # fmt: skip
    for given in (
        (gpu.array(4), gpu.tensor(size)),
        (gpu.tensor(4), gpu.array(size)),
    ):
        gpu.log.clear()
        launch(*given)
        assert order(gpu) == around
    gpu.log.clear()
    gpu.current["cupy"] = TORCH  # one stream needs no order
    launch(*given)
    assert order(gpu) == [("launch", TORCH)]


class ByInterface:
    """Has ``__cuda_array_interface__``."""

    def __init__(self, *shape: int, read_only: bool = False, **words: Any) -> None:
        self._memory = np.zeros(shape, np.float32)
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": "<f4",
            "data": (self._memory.ctypes.data, read_only),
            **words,
        }


def make_elementwise() -> ElementwiseKernel:
    return ElementwiseKernel("T x", "T y", "y = 2 * x", "twice")


def test_a_stream_that_an_array_names(gpu: DryGpu) -> None:  # noqa: F811
    twice = make_elementwise()
    twice(ByInterface(4, stream=7), ByInterface(4, stream=7))
    assert order(gpu) == [("launch", 7)]
    gpu.log.clear()
    # CUDA's name of the default stream is its handle 0.
    twice(ByInterface(4, stream=1), ByInterface(4, stream=1))
    assert order(gpu) == [("launch", 0)]
    gpu.log.clear()
    # What the protocol asks for is done on any stream.
    twice(ByInterface(4, stream=7), ByInterface(4, stream=7), stream=SimpleNamespace(ptr=NAMED))
    assert order(gpu) == [
        ("record", 7), ("wait", NAMED), ("launch", NAMED), ("record", NAMED), ("wait", 7),
    ]  # fmt: skip
    gpu.log.clear()
    twice(ByInterface(4, stream=7), gpu.tensor(4))
    assert order(gpu) == [
        ("record", 7), ("wait", TORCH), ("launch", TORCH), ("record", TORCH), ("wait", 7),
    ]  # fmt: skip


@pytest.mark.parametrize("words", [{}, {"stream": None}, {"version": 2}])
def test_an_array_that_names_none(gpu: DryGpu, words: Any) -> None:  # noqa: F811
    make_elementwise()(ByInterface(4, **words), ByInterface(4, **words))
    # The launch, and the event until which the arrays are kept.
    assert order(gpu) == [("launch", CUPY), ("record", CUPY)]


class DeviceNDArray(ByInterface):
    """As numba's, whose work goes to the default stream."""

    __module__ = "numba.cuda.devicearray"


CURRENT = [CUPY]


@ctypes.CFUNCTYPE(ctypes.c_ssize_t)
def current_stream() -> int:
    return CURRENT[0]


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.c_int, ctypes.c_size_t)
def attribute(found: Any, number: int, address: int) -> int:
    found[0] = {2: 2, 9: 0}[number]  # on the device that is there
    return 0


def address_of(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@each_front_end
def test_numbas_arrays_go_to_numbas_stream(
    make: Any,
    gpu: DryGpu,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpu.stream_function = address_of(current_stream)
    functions = gpu.stream_function, address_of(attribute), None, 0, 0
    monkeypatch.setattr(CudaBackend, "import_functions", lambda self: (None, functions))
    launch, size, imported = make(), size_of_output(make), []
    known = foreign_arrays._import_numba

    def noted(value: Any) -> Any:
        imported[-1] += 1
        return known(value)

    monkeypatch.setitem(foreign_arrays._importers, DeviceNDArray, noted)
    for current, stream in ((CUPY, 0), (0, 0), (0, 0), (0, 0), (CUPY, 0)):
        CURRENT[0] = gpu.current["cupy"] = current
        imported.append(0)
        launch(DeviceNDArray(4, stream=None), DeviceNDArray(size, stream=None))
        assert launches(gpu) == [stream]
        gpu.log.clear()
    assert imported[2:] == [0, 0, 2]  # by Python, where another stream is the current one
    CURRENT[0] = 0
    launch(DeviceNDArray(4, stream=7), gpu.array(size))
    assert order(gpu)[-2:] == [("record", 7), ("wait", CUPY)]
    with pytest.raises(ArgumentValueError, match="is written, but it is read-only"):
        launch(DeviceNDArray(4, stream=None), DeviceNDArray(size, read_only=True, stream=None))


class Exporter:
    """Has DLPack, of NumPy's memory."""

    def __init__(self, has_versions: bool = True, read_only: bool = False) -> None:
        self.array, self.has_versions = np.zeros(4, np.float32), has_versions
        self.array.flags.writeable = not read_only
        self.streams: list[int] = []

    def __dlpack__(self, *, stream: int, **options: Any) -> Any:
        if options and not self.has_versions:
            raise TypeError("unexpected keyword")
        self.streams.append(stream)
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0  # kDLCUDA


def test_what_is_ordered_with_a_stream_that_a_call_names(gpu: DryGpu) -> None:  # noqa: F811
    lazy = gpu.tensor(4)
    lazy.is_lazy = True
    twice = make_elementwise()
    for x, own in ((lazy, TORCH), (Exporter(), CUPY), (ByInterface(4, stream=7), 7)):
        y = gpu.array(4)
        gpu.log.clear()
        twice(x, y, stream=NAMED)
        found = order(gpu)
        assert found[:5] == [
            ("record", own), ("wait", NAMED), ("launch", NAMED), ("record", NAMED), ("wait", own),
        ]  # fmt: skip
        assert found[5:] in ([], [("record", NAMED)])  # the event until which an array is kept
    gpu.log.clear()
    twice(gpu.tensor(4), y, stream=NAMED)  # the caller's work, as of all other arrays
    assert order(gpu) == [("launch", NAMED)]


def test_arrays_of_libraries_that_see_no_stream_are_kept_until_the_launch_is_done(
    gpu: DryGpu,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import cupy

    from kerneltk.backends.cuda import streams

    pending = SimpleNamespace(ptr=1, done=False)
    monkeypatch.setattr(cupy.cuda, "Event", lambda **options: pending)
    twice = make_elementwise()
    given = [ByInterface(4) for _ in range(4)]
    twice(given[0], given[1])
    twice(given[2], given[3])
    assert [values for _, values in streams._kept] == [given[:2], given[2:]]
    pending.done = True
    twice(given[0], given[1])
    assert [values for _, values in streams._kept] == [given[:2]]


def test_what_is_let_go_leaves_the_current_device(
    gpu: DryGpu,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Memory of JAX's makes its device the current one where it is freed."""
    from kerneltk.backends.cuda import streams

    class Freed:
        def __del__(self) -> None:
            gpu.device = 3

    monkeypatch.setattr(
        streams._runtime, "setDevice", lambda device: setattr(gpu, "device", device)
    )
    streams.keep([Freed()], 0)
    assert gpu.device == 0
    streams.keep([], 0)
    assert [values for _, values in streams._kept] == [[]]
    assert gpu.device == 0


def test_a_stream_of_another_device_is_refused_by_name(
    gpu: DryGpu,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import cupy

    from kerneltk.backends.cuda import streams

    class WrongContextError(cupy.cuda.driver.CUDADriverError):  # type: ignore[misc]
        def __init__(self) -> None:
            RuntimeError.__init__(self, "invalid resource handle")
            self.status = 400

        __str__ = RuntimeError.__str__

    def refuse(arguments: Any) -> None:
        raise WrongContextError

    gpu.at_launch = refuse
    for make in (elementwise, raw, rawkernel):
        launch = make()
        monkeypatch.setattr(streams, "device_of", lambda stream: 1 if stream == NAMED else None)
        with pytest.raises(
            ArgumentValueError,
            match=r"'stream' is a stream of device 1, and the kernel is launched on device 0\.",
        ) as caught:
            launch(gpu.array(4), gpu.array(size_of_output(make)), stream=NAMED)
        assert isinstance(caught.value.__cause__, WrongContextError)
        monkeypatch.setattr(streams, "device_of", lambda stream: 0)
        with pytest.raises(LaunchError, match="invalid resource handle"):
            launch(gpu.array(4), gpu.array(size_of_output(make)), stream=NAMED)


def test_copies_in_a_capture_are_kept_for_the_graph(
    gpu: DryGpu,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from kerneltk.backends.cuda import backend

    kept: list[Any] = []
    monkeypatch.setattr(backend, "_retained", kept)
    x = gpu.array(9)
    for capturing, stream, wanted in (
        (set(), None, 0), ({CUPY}, None, 1), ({CUPY}, NAMED, 1), ({NAMED}, NAMED, 2),
    ):  # fmt: skip
        gpu.capturing = capturing
        gpu.log.clear()
        make_elementwise()(x[:-1], x[1:], stream=stream)
        copying, launched = launches(gpu)
        assert copying == launched == (stream or CUPY)
        assert len(kept) == wanted


def test_a_record_by_its_address_is_not_captured(gpu: DryGpu) -> None:  # noqa: F811
    backend = CudaBackend()
    record = np.zeros(1, "i4,i4")[0]
    gpu.capturing = {CUPY, NAMED}
    for stream in (None, NAMED):
        with pytest.raises(LaunchError, match="cannot be captured into a graph"):
            backend.lend(record, 8, stream)
    with pytest.raises(LaunchError, match="by '__dlpack__' cannot be captured into a graph"):
        backend.importing_stream(0)


def test_arrays_by_dlpack(gpu: DryGpu) -> None:  # noqa: F811
    twice = make_elementwise()
    for exporter in (Exporter(), Exporter(has_versions=False)):
        twice(gpu.array(4), exporter)
        twice(exporter, gpu.array(4))
        gpu.current["cupy"] = 0  # which the protocol calls 1
        twice(exporter, gpu.array(4))
        gpu.current["cupy"] = CUPY
        assert exporter.streams == [CUPY, CUPY, 1]
    fixed = Exporter(read_only=True)
    twice(fixed, gpu.array(4))
    with pytest.raises(ArgumentValueError, match="'y' is written, but it is read-only"):
        twice(gpu.array(4), fixed)


# -- captures ------------------------------------------------------------------------------------


def test_a_capture_takes_the_launch_and_nothing_of_the_past(gpu: DryGpu) -> None:  # noqa: F811
    twice = make_elementwise()
    gpu.capturing = {TORCH}
    twice(gpu.tensor(4), gpu.tensor(4))
    twice(gpu.tensor(4), gpu.array(4))
    assert order(gpu)[-1] == ("launch", TORCH)
    assert {entry[1] for entry in order(gpu)} == {TORCH}
    gpu.log.clear()
    gpu.capturing = {CUPY}
    x, y = gpu.tensor(4), gpu.array(4)
    twice(x, y)
    assert order(gpu) == [("launch", CUPY)]
    gpu.capturing = {CUPY, TORCH}  # branches of one capture
    gpu.log.clear()
    twice(x, y)
    assert order(gpu) == [
        ("record", CUPY), ("wait", TORCH), ("launch", TORCH), ("record", TORCH), ("wait", CUPY),
    ]  # fmt: skip


def test_what_goes_wrong_with_streams_is_a_launch_error(
    gpu: DryGpu,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import cupy

    def fail(*arguments: Any) -> None:
        raise RuntimeError("the capture is invalid")

    twice, x, y = make_elementwise(), gpu.tensor(4), gpu.array(4)
    monkeypatch.setattr(cupy.cuda.runtime, "eventRecord", fail)
    with pytest.raises(
        LaunchError, match=r"could not be ordered: the capture is invalid\."
    ) as caught:
        twice(x, y)
    assert isinstance(caught.value.__cause__, RuntimeError)


# -- memory --------------------------------------------------------------------------------------


def allocations(gpu: DryGpu) -> list[tuple[Any, ...]]:  # noqa: F811
    return [entry[1:] for entry in gpu.log if entry[0] == "allocate"]


def results(gpu: DryGpu) -> Iterator[tuple[Any, Any]]:  # noqa: F811
    """Yield calls whose outputs are allocated, and their arguments."""
    yield make_elementwise(), (gpu.tensor(2, 3),)
    yield ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total"), (gpu.tensor(4),)

    @jit.kernel
    def twice(x):
        return 2 * x

    yield twice, (gpu.tensor(2, 3),)

    @jit.kernel
    def shifted(x):
        return x[jit.index(1)]

    yield shifted, (gpu.tensor(4),)


def test_results_for_tensors_are_torchs_memory(gpu: DryGpu) -> None:  # noqa: F811
    for call, args in results(gpu):
        for _ in range(2):
            gpu.log.clear()
            y = call(*args)
            assert type(y) is Tensor
            assert y.device.type == "cuda"
            assert y.shape in ((2, 3), (4,), ())
            assert y.dtype.name == "float32"
            assert allocations(gpu) == [("torch", TORCH)]
            assert launches(gpu) == [TORCH]
        gpu.log.clear()
        call(*args, stream=SimpleNamespace(ptr=NAMED))
        assert allocations(gpu) == [("torch", NAMED)]
        assert launches(gpu) == [NAMED]
        gpu.log.clear()
    assert gpu.current == {"cupy": CUPY, "torch": TORCH}


def test_results_for_cupys_arrays_are_cupys(gpu: DryGpu) -> None:  # noqa: F811
    import cupy

    y = make_elementwise()(gpu.array(4))
    assert type(y) is cupy.ndarray
    assert allocations(gpu) == [("cupy", CUPY)]
    gpu.log.clear()
    make_elementwise()(gpu.array(4), stream=NAMED)  # in the order of the current stream, as CuPy
    assert allocations(gpu) == [("cupy", CUPY)]
    assert launches(gpu) == [NAMED]
    gpu.log.clear()
    x = gpu.array(9)
    make_elementwise()(x[:-1], x[1:], stream=NAMED)  # the copy of what overlaps, in the launch's
    assert allocations(gpu) == [("cupy", NAMED)]


# -- arrays that must not be written -------------------------------------------------------------


@each_front_end
def test_outputs_that_must_not_be_written(make: Any, gpu: DryGpu) -> None:  # noqa: F811
    size = size_of_output(make)
    launch = make()
    with pytest.raises(ArgumentValueError, match="is written, but it is read-only"):
        launch(ByInterface(4), ByInterface(size, read_only=True))
    with pytest.raises(ArgumentValueError, match=r"requires a gradient(.|\n)*'y\.detach\(\)'"):
        launch(gpu.tensor(4), gpu.tensor(size, requires_grad=True))
    expanded = np.broadcast_to(np.zeros(1, np.float32), 4)
    with pytest.raises(ArgumentValueError, match=r"one location in memory(.|\n)*'y\.clone\(\)'"):
        launch(gpu.tensor(4), Tensor(expanded, device="cuda"))
    assert launches(gpu) == []
    y = gpu.tensor(size)
    launch(gpu.tensor(4, requires_grad=True), y)
    launch(ByInterface(4, read_only=True), ByInterface(size))
    assert launches(gpu) == [TORCH, CUPY]
    assert y.version == 1
