"""``fuse``: the decorator."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import Backend
from kerneltk.core.arrays import ArraySpec
from kerneltk.core.artifacts import BackendName, TranslationUnit
from kerneltk.core.identifiers import identifier_problem
from kerneltk.core.recorders import current_recorder, recorders
from kerneltk.errors import (
    ArgumentTypeError,
    SignatureError,
    UnsupportedError,
)
from kerneltk.fusion.results import with_parts
from kerneltk.fusion.subclasses import computes_otherwise
from kerneltk.launch.called import Called, common_calls
from kerneltk.launch.launchers import is_outdated

# A call loads what traces the function: decorating it takes none of that.

_NUMBERS = (int, float, complex)  # of which each call has others; anything else is constant
_MOST_PROGRAMS = 256  # for arguments of the same kinds: values decide between them
_MOST_KINDS = 4096  # of arguments, which constants decide, too
_MOST_SHAPES = 4096  # that one function remembers; past that it forgets them all


@common_calls("shortcut")
class Fused(Called):
    """A function of NumPy or CuPy expressions that runs as few kernels.

    Made by :func:`fuse`. It is traced once for each combination of the arguments' kinds (dtypes,
    numbers of dimensions, which extents are equal or one), and then launched.

    Attributes
    ----------
    name : str
        The kernels' name in profilers.
    """

    def __init__(
        self, function: Callable[..., Any], name: str | None = None, fallback: bool = False
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self.name = name or _kernel_name(function)
        self._is_lenient = fallback
        self._programs: dict[Any, list[Any]] = {}
        self._by_shape: dict[Any, Callable[..., Any]] = {}
        self._unfused: dict[Any, str] = {}
        self._shortcut: Callable[..., Any] = self._first

    def __repr__(self) -> str:
        return f"<Fused {self.name}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return functools.partial(self, instance)

    def __reduce__(self) -> Any:
        return Fused, (self._function, self.name, self._is_lenient)

    # -- calls ---------------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function, fused.

        Parameters
        ----------
        *args, **kwargs : array, number or anything else
            Arrays and numbers are traced; anything else is constant, and must be hashable.

        Returns
        -------
        Any
            What the function returns, with arrays of the arguments' kind.

        Raises
        ------
        UnsupportedError
            The function does what cannot be traced, at its line.
        ArgumentTypeError, ArgumentValueError
            Operands whose dtypes or shapes do not go together, at their line.
        """
        if recorders and current_recorder() is not None:
            return self._recorded(args, kwargs)
        if kwargs:
            bound = _by_position(self._function, args, kwargs)
            if bound is None:
                return self._call(args, kwargs)
            args = bound
        return self._shortcut(*args)

    def _recorded(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make the launches of a call part of the graph that this thread records."""
        args, kwargs = _computed(args, kwargs)
        values = (*args, *kwargs.values())
        if _traced_value(values) is not None:
            return self._call(args, kwargs)
        for value in values:
            _check_meaning(value, self.name)
        owners = [foreign_arrays.backend_of(value) for value in values]
        if any(_is_foreign(v) for v, owner in zip(values, owners, strict=True) if owner is None):
            raise UnsupportedError(
                f"'{self.name}' is recorded with arrays of NumPy and CuPy alone.\n"
                "  Hint: pass 'numpy.asarray(x)' or 'cupy.asarray(x)'."
            )
        backend = next((owner for owner in owners if owner is not None), None)
        keywords = tuple(kwargs)
        run, program = self._found(values, keywords, backend or foreign_arrays.default_backend())
        if program is None or run is not program.run:
            raise UnsupportedError(
                f"'{self.name}' runs unfused with these arguments, and graphs record kernels.\n"
                "  Hint: pass arrays that do not overlap, and leave 'fallback' out."
            )
        return program.record(*values)

    def _first(self, *args: Any) -> Any:
        run = self._by_shape.get(_shape_key(args))
        if run is not None and not is_outdated(self._shortcut):
            return run(*args)
        return self._call(args, {})

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args, kwargs = _computed(args, kwargs)
        values = (*args, *kwargs.values())
        for value in values:
            _check_meaning(value, self.name)
            if isinstance(value, list | tuple | dict) and _has_arrays(value):
                raise ArgumentTypeError(
                    f"An argument of '{self.name}' is a {type(value).__name__} of arrays.\n"
                    "  Hint: pass the arrays one by one."
                )
        lazy = _traced_value(values)
        if lazy is not None:  # within another fused function, or a block
            rebuilt = lazy.trace.rebuilt
            function = self._function if rebuilt is None else rebuilt(self._function)
            return function(*args, **kwargs)
        values = foreign_arrays.host_scalars_as_numbers(values)
        adoption = foreign_arrays.Adoption()
        taken = [adoption.take(value, k) for k, value in enumerate(values)]
        own = tuple(value for _, value in taken)
        owners = {id(backend): backend for backend, _ in taken if backend is not None}
        if len(owners) > 1:
            first, second = list(owners.values())[:2]
            raise ArgumentTypeError(
                f"'{self.name}' was given arrays in {first.capabilities.location} and in "
                f"{second.capabilities.location}.\n  Hint: {foreign_arrays.MOVE_HINT}"
            )
        backend = next(iter(owners.values()), None) or foreign_arrays.default_backend()
        keywords = tuple(kwargs)
        run, program = self._found(own, keywords, backend, _library_kinds(values, own))
        if program is not None:
            written = {program.argument(array) for array in program.written}
            adoption.check_writes(
                lambda key: key in written, lambda key: (f"argument {key + 1}", None)
            )
        elif adoption.locked:
            own = tuple(
                _read_only(value) if k in adoption.locked else value for k, value in enumerate(own)
            )
        with adoption.launching(None) as handle:
            if handle is None:
                result = run(*own)
            else:
                with backend.stream_context(handle):
                    result = run(*own)
        if any(given is not value for given, value in zip(values, own, strict=True)):
            return _mapped(result, adoption.give_back)
        is_fused = program is not None and run is program.run
        if is_fused and not program.depends_on_numbers and not kwargs:
            self._remember(args, run, program, backend)
        return result

    def _found(
        self,
        own: tuple[Any, ...],
        keywords: tuple[str, ...],
        backend: Backend,
        kinds: tuple[type | None, ...] = (),
    ) -> tuple[Callable[..., Any], Any]:
        """What runs a call, and its program; None for a function that is not fused."""
        from kerneltk.fusion.trace.symbols import Environment

        key = (keywords, tuple(_kind(value) for value in own), backend.capabilities.name, kinds)
        try:
            programs = self._programs.get(key)
        except (TypeError, ValueError):  # ValueError of views of memory that can be written to
            raise ArgumentTypeError(
                f"An argument of '{self.name}' is neither an array nor a number, and cannot be "
                "hashed.\n  Hint: pass arrays, numbers, strings, tuples of these, or None."
            ) from None
        if programs is None:
            programs = self._new_programs(key)
        unfused = functools.partial(
            _unfused, self._function, keywords, backend.capabilities.in_host_memory
        )
        if key in self._unfused:
            return unfused, None
        environment = Environment(own, _shapes(own))
        program = next((p for p in programs if p.fits(environment)), None)
        if program is None:  # what was traced with other globals is not asked for again
            programs[:] = [p for p in programs if p.trace.is_current()]
        if program is None:
            from kerneltk.fusion.start import traced

            try:
                program = traced(self._function, self.name, own, keywords, backend, kinds=kinds)
            except UnsupportedError as error:
                if not self._is_lenient:
                    raise
                self._unfused[key] = str(error)
                return unfused, None
            if len(programs) >= _MOST_PROGRAMS:
                del programs[0]
            programs.append(program)
        if program.written:
            from kerneltk.fusion.memory import overlaps

            if overlaps(program, own, backend):
                if not program.trace.uses_cupy:
                    unfused = functools.partial(_unfused, self._function, keywords, False)
                return unfused, program
            _check_writable(program, own, backend)
        return program.run, program

    def _new_programs(self, key: Any) -> list[Any]:
        """Where the programs of some kinds of arguments are; they end with any of these objects."""
        from kerneltk.fusion.trace.constants import objects_in

        if len(self._programs) >= _MOST_KINDS:
            del self._programs[next(iter(self._programs))]
        programs: list[Any] = []
        self._programs[key] = programs
        for value in objects_in(key):
            ending = weakref.finalize(value, _forget, weakref.ref(self), key)
            ending.atexit = False
        return programs

    def forget(self, key: Any) -> None:
        """Forget what was traced for arguments of some kinds."""
        self._programs.pop(key, None)
        self._unfused.pop(key, None)
        ended = [shape for shape in list(self._by_shape) if _has_ended(shape)]
        for shape in ended:
            self._by_shape.pop(shape, None)

    def _remember(
        self, args: tuple[Any, ...], run: Callable[..., Any], program: Any, backend: Backend
    ) -> None:
        """Have the next equal call find its program at once."""
        from kerneltk.fusion.shortcuts import make_shortcut

        made = make_shortcut(program, args, backend, self._first)
        if made is not None:
            self._shortcut = made
        key = _shape_key(args)
        if program.written:  # which arrays overlap is asked at each call
            searched = make_shortcut(program, args, backend, self._searched)
            if searched is None:
                return
            run = searched
        elif program.trace.reads.tests:
            run = self._watching(run, program)
        if key is not None:
            if len(self._by_shape) >= _MOST_SHAPES:
                self._by_shape.clear()
            self._by_shape[key] = run

    def _searched(self, *args: Any) -> Any:
        return self._call(args, {})

    def _watching(self, run: Callable[..., Any], program: Any) -> Callable[..., Any]:
        """What runs a program while the globals are those that were traced."""

        def checked(*args: Any) -> Any:
            if program.trace.is_current(args):
                return run(*args)
            return self._call(args, {})

        return checked

    def clear_cache(self) -> None:
        """Forget all traces: the next calls trace the function again."""
        self._programs, self._by_shape, self._unfused = {}, {}, {}
        self._shortcut = self._first

    # -- what was made -------------------------------------------------------------------------

    def explain(self, *args: Any, **kwargs: Any) -> Any:
        """What a call with such arguments launches, and what that reads and writes.

        Parameters
        ----------
        *args, **kwargs : array or number
            As in a call. Nothing is launched.

        Returns
        -------
        Explanation
            Its ``str`` is a table: kernels with the bytes that each reads and writes, the floor
            (each input once, each output once), and what was not fused, with the user's line.

        Raises
        ------
        UnsupportedError, ArgumentTypeError, ArgumentValueError
            As a call does.
        """
        from kerneltk.fusion.explain import explanation

        args, kwargs = _computed(args, kwargs)
        values = (*args, *kwargs.values())
        taken = [foreign_arrays.own_array(value) for value in values]
        own = tuple(value for _, value in taken)
        owners = [backend for backend, _ in taken if backend is not None]
        backend = owners[0] if owners else foreign_arrays.default_backend()
        from kerneltk.fusion.start import traced

        try:
            program = traced(
                self._function, self.name, own, tuple(kwargs), backend,
                kinds=_library_kinds(values, own),
            )  # fmt: skip
        except UnsupportedError as error:
            if not self._is_lenient:
                raise
            return explanation(self.name, None, own, str(error))
        return explanation(self.name, program, own)

    def translation_units(
        self, *args: Any, backend: BackendName = "cuda", **kwargs: Any
    ) -> tuple[TranslationUnit, ...]:
        """The sources that a call with such arguments compiles, without a GPU or any memory.

        Parameters
        ----------
        *args, **kwargs : ArraySpec, array or number
            As in a call.
        backend : {"cuda", "host"}

        Returns
        -------
        tuple of TranslationUnit
            One a launch, in their order.

        Raises
        ------
        UnsupportedError, ArgumentTypeError, ArgumentValueError
            As a call does; also where a loop has no elements, which compiles nothing.

        Examples
        --------
        >>> from kerneltk import ArraySpec, fuse
        >>> @fuse
        ... def normed(x):
        ...     return x / x.sum(axis=-1, keepdims=True)
        >>> [unit.entry for unit in normed.translation_units(ArraySpec.make("f4", (512, 1024)))]
        ['normed']
        """
        from kerneltk.fusion.inspection import translation_units

        values = (*args, *kwargs.values())
        own = tuple(
            value if isinstance(value, ArraySpec) else foreign_arrays.own_array(value)[1]
            for value in values
        )
        return translation_units(self._function, self.name, own, tuple(kwargs), backend)


def _by_position(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...] | None:
    """Arguments without keywords, which mean the same to a function in Python; None where it has
    no such parameters, or others stand before them.
    """
    if type(function) is not FunctionType:
        return None
    code = function.__code__
    names = code.co_varnames[len(args) : code.co_argcount][: len(kwargs)]
    if code.co_posonlyargcount > len(args) or kwargs.keys() != set(names):
        return None
    return (*args, *[kwargs[name] for name in names])


def _library_kinds(values: Sequence[Any], own: Sequence[Any]) -> tuple[type | None, ...]:
    """The classes of arguments that are other libraries' arrays; nothing where there is none."""
    found = tuple(
        None if given is value else type(given) for given, value in zip(values, own, strict=True)
    )
    return found if any(found) else ()


def _is_foreign(value: Any) -> bool:
    """Whether a value that no backend owns is an array."""
    return foreign_arrays.import_array(value) is not None


def _kernel_name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", "fused")

    return "fused" if identifier_problem(name) else name


def _kind(value: Any) -> Any:
    """The part of a key that an argument decides."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None and hasattr(value, "strides") and not isinstance(value, np.generic | type):
        return type(value), dtype, len(value.shape), _layout_of(value)
    if type(value) in _NUMBERS or isinstance(value, np.number | np.bool_):
        return type(value)
    from kerneltk.fusion.trace.constants import constant_kind

    return constant_kind(value)


def _shapes(own: Sequence[Any]) -> list[Any]:
    return [
        value.shape for value in own if isinstance(_kind(value), tuple) and hasattr(value, "shape")
    ]


def _layout_of(array: Any) -> Any:
    """The order of an array's axes, which results have, too; None for C order."""
    if len(array.shape) < 2 or array.flags.c_contiguous:
        return None
    from kerneltk.fusion.trace.layout import layout_of

    return layout_of(array)


def _shape_key(args: Sequence[Any]) -> Any:
    """What decides the program of a call; None where it is looked for each time."""
    key: list[Any] = []
    for value in args:
        kind = type(value)
        if kind in _NUMBERS or issubclass(kind, np.number | np.bool_):
            key.append(kind)
            continue
        is_array = hasattr(kind, "flags") and hasattr(kind, "strides")
        if is_array and not issubclass(kind, np.generic):
            key.append((kind, value.dtype, value.shape, _layout_of(value)))
        else:
            if value is None or kind is str or kind is bool:
                key.append((kind, value))
                continue
            from kerneltk.fusion.trace.constants import constant_kind

            key.append(constant_kind(value))
    try:
        hash(made := tuple(key))
    except (TypeError, ValueError):  # as in `_found`
        return None
    return made


def _has_ended(key: Any) -> bool:
    """Whether an object of a key of shapes is no more."""
    from kerneltk.fusion.trace.constants import objects_in

    return any(found is None for found in objects_in(key))


def _forget(fused: weakref.ref[Fused], key: Any) -> None:
    known = fused()
    if known is not None:
        known.forget(key)


def _check_meaning(value: Any, name: str) -> None:
    """Refuse arrays whose class computes otherwise than NumPy's arrays do."""
    kind = type(value)
    if kind is not np.ndarray and computes_otherwise(kind):
        raise ArgumentTypeError(
            f"An argument of '{name}' is of type '{kind.__name__}', which computes otherwise than "
            "NumPy's arrays.\n  Hint: pass 'numpy.asarray(x)'."
        )


def _traced_value(values: Sequence[Any]) -> Any:
    """One of some values that belongs to a trace; None if none does."""
    module = sys.modules.get("kerneltk.fusion.trace.lazy")
    if module is None:
        return None
    return next((value for value in values if isinstance(value, module.Lazy)), None)


def _computed(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments with arrays in place of those that blocks have computed."""
    module = sys.modules.get("kerneltk.fusion.trace.computed")
    if module is None:
        return args, kwargs
    named = {name: module.computed(value) for name, value in kwargs.items()}
    return tuple(map(module.computed, args)), named


def _has_arrays(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return any(
        hasattr(item, "dtype") and hasattr(item, "strides") and not isinstance(item, np.generic)
        for item in items
    )


def _unfused(
    function: Callable[..., Any], keywords: Sequence[str], with_numpys: bool, *own: Any
) -> Any:
    first = len(own) - len(keywords)
    named = dict(zip(keywords, own[first:], strict=True))
    if not with_numpys:  # else CuPy's functions are NumPy's
        return function(*own[:first], **named)
    from kerneltk.fusion.cupy_functions import called_on_host

    return called_on_host(function, *own[:first], **named)


def _read_only(value: Any) -> Any:
    """A view that what runs unfused cannot write to; a GPU's arrays have none."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def _check_writable(program: Any, own: Sequence[Any], backend: Backend) -> None:
    arrays = program.array_arguments(own)
    for number in program.written:
        backend.check_usable(arrays[number], f"argument {number + 1}", True)


def _mapped(result: Any, give_back: Callable[[Any], Any]) -> Any:
    def given(value: Any) -> Any:
        is_array = hasattr(value, "strides") and not isinstance(value, np.generic)
        return give_back(value) if is_array else value

    return with_parts(result, given)


def fuse(
    function: Callable[..., Any] | None = None,
    /,
    *,
    kernel_name: str | None = None,
    fallback: bool = False,
) -> Any:
    """Make few kernels of a function of NumPy or CuPy expressions.

    The function is executed once for each combination of the arguments' kinds, with arrays that
    have no elements; what it does to them is compiled. Chains of operations on elements are one
    kernel; reductions take what stands before and behind them along.

    Parameters
    ----------
    kernel_name : str, optional
        The kernels' name in profilers; by default the function's.
    fallback : bool
        Whether a function that cannot be traced runs as it is, instead of being an error.

    Returns
    -------
    Fused
        Called as the function is. Without a function, a decorator that is also a block: ``with
        fuse() as fused:`` records what is done to the arrays that ``fused(x, y)`` returns for `x`
        and `y`, and computes it when the block ends.

    Raises
    ------
    SignatureError
        The name is no identifier.
    ArgumentTypeError
        What is decorated is no function.

    Examples
    --------
    >>> import numpy as np
    >>> import kerneltk
    >>> @kerneltk.fuse
    ... def distance(x, y):
    ...     return np.sqrt(np.sum((x - y) ** 2, axis=-1))
    >>> distance(np.zeros((2, 2)), np.array([3.0, 4.0]))
    array([5., 5.])
    """
    if kernel_name is not None:
        from kerneltk.codegen.definition import check_name

        if not isinstance(kernel_name, str):
            raise SignatureError(f"'kernel_name' must be a str, not {kernel_name!r}.")
        check_name(kernel_name)

    maker = _Maker(kernel_name, bool(fallback))
    return maker if function is None else maker(function)


class _Maker:
    """``fuse`` with its options: a decorator, and a block of its own."""

    def __init__(self, name: str | None, fallback: bool) -> None:
        self._name = name
        self._fallback = fallback
        self._blocks: list[Any] = []

    def __call__(self, decorated: Callable[..., Any]) -> Fused:
        """Decorate a function."""
        if not callable(decorated):
            raise ArgumentTypeError(
                f"'fuse' decorates a function, not an object of type '{type(decorated).__name__}'."
            )
        return Fused(decorated, self._name, self._fallback)

    def __enter__(self) -> Any:
        from kerneltk.fusion.block import Block

        self._blocks.append(Block(self._name or "fused"))
        return self._blocks[-1]

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        block = self._blocks.pop()
        if kind is None:
            block.end()
        else:
            block.abandon()
