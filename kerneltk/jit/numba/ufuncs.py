"""``cuda.vectorize`` and ``cuda.guvectorize``: functions of elements as functions of arrays."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kerneltk.errors import ArgumentTypeError, SignatureError
from kerneltk.jit.frontends.rawkernel import checked_function
from kerneltk.jit.numba import host_arrays
from kerneltk.jit.numba.options import Parsed, parse_signature, signatures_of, type_text
from kerneltk.jit.numba.reduction import Reduce

_TAKEN = ("cache", "identity", "nopython", "target")  # the device is that of the arrays
_TARGETS = ("cuda", "gpu")  # numba's words


class _Loop(NamedTuple):
    """The function for one signature; `columns` are the inputs that it sees as arrays of one."""

    inputs: tuple[np.dtype[Any], ...]
    call: Any
    columns: tuple[int, ...]


class Ufunc:
    """A function of elements, called with arrays; made by :func:`vectorize` or :func:`guvectorize`.

    With signatures, arguments are converted to the types of the one that has the arrays' dtypes,
    else of the first one that takes them without loss, and results to its types. Python's numbers
    have the type of what they are given with.
    """

    def __init__(
        self, function: Callable[..., Any], layout: str | None, given: Any, fastmath: bool
    ) -> None:
        # Importing numba's names does not load it.
        from kerneltk.jit.frontends.vectorize import vectorize

        def vectorized(layout: str | None, otypes: Any = None) -> Any:
            made = vectorize(function, otypes=otypes, signature=layout, fastmath=fastmath)
            made._definition = replace(made._definition, mode="numba")
            return made

        functools.update_wrapper(self, function)
        self.jit_function = self.py_func = function
        self._inputs = layout.partition("->")[0].count("(") if layout else 0
        self._loops: list[_Loop] = []
        for types, outputs in _types_of(given, self._inputs):
            inputs = tuple(_dtype_of(item, item.text) for item in types)
            core, columns = _with_columns(layout, types)
            made = vectorized(core, [np.dtype(one) for one in outputs])
            self._loops.append(_Loop(inputs, made, columns))
        self._dynamic = vectorized(layout)

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """Call the function with an element of each array.

        Parameters
        ----------
        *args : array_like
            Of :func:`guvectorize`, outputs may follow.
        out : array, optional
            Of the results' dtype: where they are stored to; it is returned.
        stream : optional

        Raises
        ------
        ArgumentTypeError
            No signature takes these dtypes, or an output has another dtype than the results.
        """
        inputs = args[: self._inputs or len(args)]
        outputs = args[len(inputs) :] or (out if isinstance(out, tuple) else (out,))
        library = host_arrays.library()
        with library.order(stream):
            if outputs[0] is not None:
                self._loop(inputs, {"out": outputs})
                return outputs[0] if len(outputs) == 1 else outputs
            found = self._loop(inputs, {})
        if hasattr(found, "get") and not any(map(_is_on_device, inputs)):
            found = found.get()  # numbers alone are computed where kernels run by default
        on_device = any(map(library.is_array, inputs))
        if isinstance(found, tuple):
            return tuple(map(library.adopted, found)) if on_device else found
        is_number = isinstance(found, np.ndarray) and not found.ndim
        return library.adopted(found) if on_device else found[()] if is_number else found

    def reduce(self, arg: Any, stream: Any = 0) -> Any:
        """Combine the elements of an array of one dimension, which has at least one."""
        if not arg.size:
            raise ArgumentTypeError("An array without elements cannot be reduced.")
        return self._reduction.combined(arg, None, stream)

    @functools.cached_property
    def _reduction(self) -> Reduce:
        return Reduce(self.jit_function)

    def _loop(self, args: Sequence[Any], options: dict[str, Any]) -> Any:
        if not self._loops:
            return self._dynamic(*args, **options)
        arrays = [arg if hasattr(arg, "dtype") else np.asarray(arg) for arg in args]
        weak = [type(arg) in (bool, int, float, complex) for arg in args]
        if all(weak):
            weak = [False] * len(args)
        fitting = [
            loop
            for loop in self._loops
            if len(loop.inputs) == len(args) and all(map(_takes, arrays, weak, loop.inputs))
        ]
        if not fitting:
            shown = ", ".join(str(array.dtype) for array in arrays)
            known = "; ".join(", ".join(map(str, loop.inputs)) for loop in self._loops)
            raise ArgumentTypeError(
                f"No signature of '{self.py_func.__name__}' takes {shown}.\n"
                f"  Hint: there are ({known})."
            )

        def is_exact(loop: _Loop) -> bool:
            triples = zip(arrays, weak, loop.inputs, strict=True)
            return all(is_weak or array.dtype == dtype for array, is_weak, dtype in triples)

        inputs, call, columns = next(filter(is_exact, fitting), fitting[0])
        for output, dtype in zip(options.get("out", ()), call.otypes, strict=False):
            if output.dtype != dtype:
                raise ArgumentTypeError(
                    f"The results of '{self.py_func.__name__}' have dtype '{dtype}', and an output "
                    f"has '{output.dtype}'."
                )
        pairs = zip(arrays, inputs, strict=True)
        converted = [a if a.dtype == dtype else a.astype(dtype) for a, dtype in pairs]
        for k in columns:
            converted[k] = converted[k][..., np.newaxis]
        # Numbers go with arrays of any device, NumPy's arrays without dimensions do not.
        return call(*(a if a.ndim else a[()] for a in converted), **options)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.py_func.__name__}>"


def _is_on_device(value: Any) -> bool:
    return hasattr(value, "__cuda_array_interface__")


def _takes(array: Any, weak: bool, dtype: np.dtype[Any]) -> bool:
    """Return whether a signature's type holds all values of an argument; a weak one is a number."""
    if weak:
        value = array.item()
        is_integer = type(value) is int and dtype.kind in "iu"
        if is_integer and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
            return False
        return bool(np.result_type(value, dtype) == dtype)
    return bool(np.can_cast(array.dtype, dtype, "safe"))


def _with_columns(
    layout: str | None, types: Sequence[Parsed]
) -> tuple[str | None, tuple[int, ...]]:
    """Return the layout of the cores, and the inputs without core dimensions whose type is an
    array: numba passes these as arrays of one element.
    """
    if layout is None:
        return None, ()
    cores, arrow, results = layout.partition("->")
    found = re.findall(r"\([^()]*\)", cores)
    columns = tuple(
        k
        for k, (core, item) in enumerate(zip(found, types, strict=False))
        if item.ndim == 1 and not core.strip("() ")
    )
    cores = ",".join("(1)" if k in columns else core for k, core in enumerate(found))
    return f"{cores}{arrow}{results}", columns


def _types_of(given: Any, inputs: int) -> list[tuple[tuple[Parsed, ...], tuple[Any, ...]]]:
    """Return the types of inputs and the dtypes of outputs of each signature. Of `inputs`, the
    parameters that follow are the outputs.
    """
    found = []
    for one in given if isinstance(given, list) else [] if given is None else [given]:
        text = (signatures_of(one) or ("",))[0]
        if one and not isinstance(one, str) and hasattr(one, "return_type"):
            text = f"{type_text(one.return_type)}{text}"
        types = parse_signature(text)
        dtypes = tuple(_dtype_of(item, text) for item in types)
        result = text[: text.index("(")].strip()
        if inputs:
            found.append((types[:inputs], dtypes[inputs:]))
        elif result in ("", "void", "none"):
            raise SignatureError(
                f"The signature {text!r} has no result.\n  Hint: 'float32(float32, float32)'."
            )
        else:
            found.append((types, (_dtype_of(parse_signature(f"({result},)")[0], text),)))
    return found


def _dtype_of(item: Parsed, text: str) -> np.dtype[Any]:
    if item.dtype is None:
        raise SignatureError(f"The signature {text!r} has a tuple; there are numbers and arrays.")
    return item.dtype


def _decorator(layout: str | None, given: Any, options: dict[str, Any]) -> Any:
    name = "vectorize" if layout is None else "guvectorize"
    for option, value in options.items():
        if option not in (*_TAKEN, "fastmath"):
            known = ", ".join(sorted((*_TAKEN, "fastmath")))
            raise ArgumentTypeError(
                f"'cuda.{name}' has no option '{option}'.\n  Hint: known are {known}."
            )
        if option == "target" and value not in _TARGETS:
            raise ArgumentTypeError(
                f"The target of 'cuda.{name}' is 'cuda', not {value!r}: arrays of NumPy run on the "
                "CPU cores."
            )

    def decorate(function: Any) -> Ufunc:
        plain = checked_function(function, f"cuda.{name}")
        return Ufunc(plain, layout, given, bool(options.get("fastmath", False)))

    return decorate


def vectorize(ftylist_or_function: Any = None, **options: Any) -> Any:
    """Make a function of numbers one of whole arrays, as numba's.

    Parameters
    ----------
    ftylist_or_function : function, str, numba's signature, or list of these, optional
        The function; or what its parameters and its result are converted to.
    target, cache, identity, nopython
        Accepted, and without effect.
    fastmath : bool
        Whether GPUs may use their fast, less exact functions.

    Returns
    -------
    Ufunc
        Called with NumPy's arrays (CPU cores) or CuPy's, and with ``out=`` and ``stream=``.

    Examples
    --------
    >>> import numpy as np
    >>> from kerneltk.jit import cuda
    >>> @cuda.vectorize(["float32(float32, float32)", "float64(float64, float64)"])
    ... def add(a, b):
    ...     return a + b
    >>> add(np.arange(3, dtype=np.float32), 2)
    array([2., 3., 4.], dtype=float32)
    """
    is_function = callable(ftylist_or_function) and not hasattr(ftylist_or_function, "return_type")
    decorate = _decorator(None, None if is_function else ftylist_or_function, options)
    return decorate(ftylist_or_function) if is_function else decorate


def guvectorize(ftylist: Any, signature: str | None = None, **options: Any) -> Any:
    """Make a function of arrays one that loops over the other dimensions, as numba's.

    Parameters
    ----------
    ftylist : str, numba's signature, list of these, or the layout alone
        The types of inputs and outputs; an output ``()`` is written as ``out[0]``.
    signature : str
        The layout: ``"(m,n),(n)->(m)"``.
    target, cache, identity, nopython, fastmath
        As for :func:`vectorize`.
    """
    if signature is None:
        ftylist, signature = None, ftylist
    return _decorator(signature, ftylist, options)
