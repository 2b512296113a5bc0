"""From a call of a fused function to its program.

A call has one key: the kinds of its arguments, and then what the traces of such arguments decided
by extents and numbers, one decision after the other. Traces that have decided the same are the
same, so the next thing to decide is known, too.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import Backend
from kerneltk.core.arrays import ArraySpec
from kerneltk.core.artifacts import BackendName, TranslationUnit
from kerneltk.core.recorders import current_recorder
from kerneltk.core.records import MAX_PLANS, BoundedTable
from kerneltk.errors import ArgumentTypeError, UnsupportedError
from kerneltk.fusion import start
from kerneltk.fusion.cupy_functions import called_on_host
from kerneltk.fusion.plan.program import Program, Result, extent_in_memory
from kerneltk.fusion.trace.graph import Apply, Cast, Load, Scalar, layout_of, reachable
from kerneltk.fusion.trace.lazy import Lazy
from kerneltk.fusion.trace.operations import computed
from kerneltk.fusion.trace.symbols import Environment, Expression, decided, decision
from kerneltk.fusion.trace.users import (
    computes_otherwise,
    constant_kind,
    is_array,
    objects_in,
    with_parts,
)
from kerneltk.interop import exchange
from kerneltk.interop.protocols import member
from kerneltk.launch import compiled
from kerneltk.launch.compiled import is_outdated
from kerneltk.launch.dispatch import ImportedCall, launched, refuse_others
from kerneltk.launch.shortcuts import MISSING, Distance, Kind, Steps, shortcut_of

if TYPE_CHECKING:
    from kerneltk.fusion.decorator import Fused


_NUMBERS = (int, float, complex)  # of which each call has others; anything else is constant
_MOST_PROGRAMS = 1024  # for arguments of the same kinds: values decide between them
_MOST_KINDS = 4096  # of arguments, which constants decide, too


class _Decision:
    """What traces decide next, and by what it is where they go on."""

    __slots__ = ("branches", "expression")

    def __init__(self, expression: Expression) -> None:
        self.expression = expression
        self.branches: dict[Any, _Decision | list[Program]] = {}


class Kinds:
    """The programs for arguments of some kinds.

    Attributes
    ----------
    is_unfused : bool
        Whether the function runs as it is, since it cannot be traced.
    """

    def __init__(self) -> None:
        self.is_unfused = False
        self._holder: dict[Any, Any] = {None: []}  # of the root
        self._programs: list[Program] = []  # the oldest first

    def __iter__(self) -> Iterator[Program]:
        return iter(self._programs)

    def program(self, environment: Environment) -> Program | None:
        """The program of a call; None where it has to be traced."""
        found: _Decision | list[Program] | None = self._holder[None]
        while isinstance(found, _Decision):
            found = found.branches.get(decided(found.expression, environment))
        for program in found or ():  # of other attributes of the arguments
            if program.trace.is_current(environment.arguments):
                return program
        return None

    def add(self, program: Program) -> None:
        """Add what was traced for a call; beyond the limit, the oldest ones are forgotten."""
        self._programs.append(program)
        if len(self._programs) <= _MOST_PROGRAMS:
            self._insert(program)
            return
        self._holder, known = {None: []}, self._programs[max(_MOST_PROGRAMS // 8, 1) :]
        self._programs = [*known]
        for one in known:
            self._insert(one)

    def _insert(self, program: Program) -> None:
        branches, key = self._holder, None
        for expression, value in program.trace.guards.conditions.items():
            known = branches.get(key)
            if not isinstance(known, _Decision) or known.expression != expression:
                self._forget(known)  # other globals, another way
                known = branches[key] = _Decision(expression)
            branches, key = known.branches, decision(value)
        known = branches.get(key)
        # What was traced with other globals is not asked for again.
        others = [p for p in known if p.trace.is_current()] if isinstance(known, list) else []
        self._forget(known, others)
        branches[key] = [*others, program]

    def _forget(self, found: Any, others: Sequence[Program] = ()) -> None:
        """Forget the programs that some decisions lead to, but the others."""
        if isinstance(found, _Decision):
            for below in found.branches.values():
                self._forget(below)
        elif found:
            self._programs = [p for p in self._programs if p in others or p not in found]


class Programs:
    """The programs of a fused function."""

    def __init__(self, fused: Fused) -> None:
        self._fused = fused
        self.by_kinds: BoundedTable[Any, Kinds] = BoundedTable(_MOST_KINDS)
        # What runs a call; where numbers decide which of several programs does, all of these.
        self.by_shape: BoundedTable[Any, Any] = BoundedTable(MAX_PLANS)
        # Keys of numbers from outside that have changed; None where they have to be constants.
        self._varying: set[Any] | None = set()

    # -- calls ---------------------------------------------------------------------------------

    def call_again(self, args: tuple[Any, ...]) -> Any:
        """A call that the last shortcut is not for."""
        key = _shape_key(args)
        run = self.by_shape.get(key)
        if type(run) is Kinds:
            program = run.program(Environment(args, [v.shape for v in args if is_array(v)]))
            run = None if program is None else program.by_shape.get(key)
        if run is not None and not is_outdated(self._fused._shortcut):
            return run(*args)
        return self.call(args, {})

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call whose program is looked for."""
        args, kwargs, values = _computed(args, kwargs)
        function, name = self._fused._function, self._fused.name
        for value in values:
            _check_meaning(value, name)
            if isinstance(value, list | tuple | dict) and _has_arrays(value):
                raise ArgumentTypeError(
                    f"An argument of '{name}' is a {type(value).__name__} of arrays.\n"
                    "  Hint: pass the arrays one by one."
                )
        lazy = _traced_value(values)
        if lazy is not None:  # within another fused function, or a block
            rebuilt = lazy.trace.rebuilt
            return (function if rebuilt is None else rebuilt(function))(*args, **kwargs)
        values = foreign_arrays.host_scalars_as_numbers(values)
        adoption = foreign_arrays.Adoption()
        taken = [adoption.take(value, k) for k, value in enumerate(values)]
        own = tuple(value for _, value in taken)
        owners = {id(backend): backend for backend, _ in taken if backend is not None}
        if len(owners) > 1:
            first, second = list(owners.values())[:2]
            raise ArgumentTypeError(
                f"'{name}' was given arrays in {first.capabilities.location} and in "
                f"{second.capabilities.location}.\n  Hint: {foreign_arrays.MOVE_HINT}"
            )
        backend = next(iter(owners.values()), None) or foreign_arrays.default_backend()
        library_kinds = _library_kinds(values, own)
        is_own = not library_kinds
        run, program, kinds = self._found(own, tuple(kwargs), backend, library_kinds)
        if program is not None:
            written = {program.argument(array) for array in program.written}
            adoption.check_writes(
                lambda key: key in written, lambda key: (f"argument {key + 1}", None)
            )
        elif adoption.locked:
            own = tuple(
                _read_only(value) if k in adoption.locked else value for k, value in enumerate(own)
            )

        def launch(handle: int | None) -> Any:
            return run(*own)

        result = launched(adoption, None, launch, (lambda found, _: found) if is_own else _mapped)
        if (
            program is not None
            and run is program.run
            and not kwargs
            and (is_own or not program.depends_on_numbers)
        ):
            self._remember(args, own, program, kinds, backend)
        return result

    def record(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make the launches of a call part of the graph that this thread records."""
        args, kwargs, values = _computed(args, kwargs)
        if _traced_value(values) is not None:
            return self.call(args, kwargs)
        name = self._fused.name
        for value in values:
            _check_meaning(value, name)
        owners = [foreign_arrays.backend_of(value) for value in values]
        for value, owner in zip(values, owners, strict=True):
            if owner is None and foreign_arrays.import_array(value) is not None:
                raise UnsupportedError(
                    f"'{name}' is recorded with arrays of NumPy and CuPy alone.\n"
                    "  Hint: pass 'numpy.asarray(x)' or 'cupy.asarray(x)'."
                )
        backend = next((owner for owner in owners if owner is not None), None)
        run, program, _ = self._found(
            values, tuple(kwargs), backend or foreign_arrays.default_backend()
        )
        if program is None or run is not program.run:
            raise UnsupportedError(
                f"'{name}' runs unfused with these arguments, and graphs record kernels.\n"
                "  Hint: pass arrays that do not overlap, and leave 'fallback' out."
            )
        recorder = current_recorder()
        assert recorder is not None
        written = [values[program.argument(array)] for array in program.written]
        return recorder.together(functools.partial(program.record, *values), written)

    # -- programs ------------------------------------------------------------------------------

    def _found(
        self,
        own: tuple[Any, ...],
        keywords: tuple[str, ...],
        backend: Backend,
        library_kinds: tuple[type | None, ...] = (),
    ) -> tuple[Callable[..., Any], Program | None, Kinds]:
        """What runs a call, and its program, which is None for a function that is not fused; and
        all programs for arguments of these kinds.
        """
        fused = self._fused
        kinds = self._kinds((keywords, (*map(_kind, own),), backend.capabilities.name,
                             library_kinds))  # fmt: skip
        on_host = backend.capabilities.in_host_memory
        unfused = functools.partial(_unfused, fused._function, keywords, on_host)
        if kinds.is_unfused:
            return unfused, None, kinds
        program = kinds.program(Environment(own, [v.shape for v in own if is_array(v)]))
        if program is None:
            try:
                program = self._traced(own, keywords, backend, library_kinds, kinds)
            except UnsupportedError as error:
                if not fused._is_lenient or error.has_effects:
                    raise
                kinds.is_unfused = True
                return unfused, None, kinds
            kinds.add(program)
        if program.written:
            if program.overlaps(own):
                is_numpys = on_host and program.trace.uses_cupy
                run = functools.partial(_unfused, fused._function, keywords, is_numpys)
                return run, program, kinds
            arrays = program.array_arguments(own)
            for number in program.written:
                backend.check_usable(arrays[number], f"argument {number + 1}", True)
        return program.run, program, kinds

    def _traced(
        self,
        own: tuple[Any, ...],
        keywords: tuple[str, ...],
        backend: Backend,
        library_kinds: tuple[type | None, ...],
        kinds: Kinds,
    ) -> Program:
        """Trace a call. Numbers from outside that have changed become numbers of each call, unless
        the function needs their values.
        """
        fused = self._fused
        trace = functools.partial(
            start.traced, fused._function, fused.name, own, keywords, backend, kinds=library_kinds
        )
        if self._varying is not None:
            for program in kinds:
                self._varying |= program.trace.reads.changed_numbers(own)
            if self._varying:
                try:
                    return trace(varying=self._varying)
                except Exception as error:  # also a TypeError of what takes plain numbers alone
                    if getattr(error, "has_effects", False):
                        raise
                    program = trace()
                    self._varying = None
                    return program
        return trace()

    def _kinds(self, key: Any) -> Kinds:
        """The programs for some kinds of arguments; they end with any of these objects."""
        try:
            known = self.by_kinds.get(key)
        except (TypeError, ValueError):  # ValueError of views of memory that can be written to
            raise ArgumentTypeError(
                f"An argument of '{self._fused.name}' is neither an array nor a number, and cannot "
                "be hashed.\n  Hint: pass arrays, numbers, strings, tuples of these, or None."
            ) from None
        if known is None:
            known = self.by_kinds[key] = Kinds()
            for value in objects_in(key):
                weakref.finalize(value, _forget, weakref.ref(self), key).atexit = False
        return known

    def forget(self, key: Any) -> None:
        """Forget what was traced for arguments of some kinds, one of which is no more."""
        self.by_kinds.pop(key, None)
        for shape in list(self.by_shape):
            if any(found is None for found in objects_in(shape)):
                self.by_shape.pop(shape, None)

    def _remember(
        self,
        args: tuple[Any, ...],
        own: tuple[Any, ...],
        program: Program,
        kinds: Kinds,
        backend: Backend,
    ) -> None:
        """Have the next equal call find its program at once: as the last one, or by its shapes."""
        make = shortcut_maker(program, args, own, backend)
        if make is None:
            make = shortcut_maker(program, own, own, backend)
            key = _shape_key(args)
            if make is not None and key is not None:
                written = {program.argument(array) for array in program.written}
                call = ImportedCall(args, make(refuse_others), written, self._searched, _mapped)
                self.by_shape[key] = call
            return
        self._fused._shortcut = make(self._fused._first)
        key = _shape_key(args)
        if key is None:
            return
        if program.depends_on_numbers:
            self.by_shape[key] = kinds
            program.by_shape[key] = make(self._searched)
        else:
            self.by_shape[key] = make(self._searched)

    def _searched(self, *args: Any) -> Any:
        return self.call(args, {})

    # -- what would be launched ----------------------------------------------------------------

    def explanation(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call launches, and what that reads and writes."""
        from kerneltk.fusion.explain import explanation  # calls need none

        args, kwargs, values = _computed(args, kwargs)
        taken = [foreign_arrays.own_array(value) for value in values]
        own = tuple(value for _, value in taken)
        owners = [backend for backend, _ in taken if backend is not None]
        backend = owners[0] if owners else foreign_arrays.default_backend()
        fused = self._fused
        try:
            program = start.traced(
                fused._function, fused.name, own, tuple(kwargs), backend,
                kinds=_library_kinds(values, own),
            )  # fmt: skip
        except UnsupportedError as error:
            if not fused._is_lenient:
                raise
            return explanation(fused.name, None, own, str(error))
        return explanation(fused.name, program, own)

    def translation_units(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], backend: BackendName
    ) -> tuple[TranslationUnit, ...]:
        """The sources that a call compiles."""
        from kerneltk.fusion.inspection import translation_units  # calls need none

        own = tuple(
            value if isinstance(value, ArraySpec) else foreign_arrays.own_array(value)[1]
            for value in (*args, *kwargs.values())
        )
        return translation_units(
            self._fused._function, self._fused.name, own, tuple(kwargs), backend
        )


def _library_kinds(values: Sequence[Any], own: Sequence[Any]) -> tuple[type | None, ...]:
    """The classes of arguments that are other libraries' arrays; nothing where there is none."""
    found = tuple(
        None if given is value else type(given) for given, value in zip(values, own, strict=True)
    )
    return found if any(found) else ()


def _kind(value: Any) -> Any:
    """The part of a key that an argument decides."""
    if is_array(value):
        return type(value), value.dtype, len(value.shape), _layout_of(value)
    if start.is_traced_number(value):
        return type(value)
    return constant_kind(value)


def _layout_of(array: Any) -> Any:
    """The order of an array's axes, which results have, too; None for C order."""
    return None if len(array.shape) < 2 or array.flags.c_contiguous else layout_of(array)


def _shape_key(args: Sequence[Any]) -> Any:
    """What decides the program of a call; None where it is looked for each time."""
    key: list[Any] = []
    for value in args:
        kind = type(value)
        if kind in _NUMBERS or issubclass(kind, np.number | np.bool_):
            key.append(kind)
        elif (
            hasattr(kind, "flags") and hasattr(kind, "strides") and not issubclass(kind, np.generic)
        ):
            key.append((kind, value.dtype, value.shape, _layout_of(value)))
        elif (library := exchange.library_of(kind)) is not None and library.kind_of is not None:
            key.append((kind, library.kind_of(value)))
        elif hasattr(kind, "__dlpack__") or hasattr(kind, "__cuda_array_interface__"):
            key.append((kind, *(member(value, name) for name in ("dtype", "shape", "strides"))))
        elif issubclass(kind, Lazy):
            return None  # a key would decide by its value
        else:
            is_plain = value is None or kind is str or kind is bool
            key.append((kind, value) if is_plain else constant_kind(value))
    try:
        hash(made := tuple(key))
    except (TypeError, ValueError):  # as in `_kinds`
        return None
    return made


def _forget(programs: weakref.ref[Programs], key: Any) -> None:
    known = programs()
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
    return next((value for value in values if isinstance(value, Lazy)), None)


def _computed(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...]]:
    """Arguments with arrays in place of those that blocks have computed, and all their values."""
    if any(isinstance(value, Lazy | tuple | list) for value in (*args, *kwargs.values())):
        args = tuple(map(computed, args))
        kwargs = {name: computed(value) for name, value in kwargs.items()}
    return args, kwargs, (*args, *kwargs.values())


def _has_arrays(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return any(map(is_array, items))


def _unfused(
    function: Callable[..., Any], keywords: Sequence[str], with_numpys: bool, *own: Any
) -> Any:
    first = len(own) - len(keywords)
    named = dict(zip(keywords, own[first:], strict=True))
    if not with_numpys:  # else CuPy's functions are NumPy's
        return function(*own[:first], **named)
    return called_on_host(function, *own[:first], **named)


def _read_only(value: Any) -> Any:
    """A view that what runs unfused cannot write to; a GPU's arrays have none."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def _mapped(result: Any, give_back: Callable[[Any], Any]) -> Any:
    def given(value: Any) -> Any:
        return give_back(value) if is_array(value) else value

    return with_parts(result, given)


# -- what repeated calls touch ---------------------------------------------------------------------


_OF_ONE_DTYPE = (np.number, np.bool_)  # NumPy's numbers whose types are dtypes
_Test = Callable[..., object]  # of a call's arguments


def shortcut_maker(
    program: Program, given: Sequence[Any], args: Sequence[Any], backend: Backend
) -> Callable[[Callable[..., Any]], Callable[..., Any]] | None:
    """Makes ``call(*arguments)`` for arguments of these types and numbers of dimensions, which
    launches; it takes what is called with all others. Where the program is one kernel of its
    arguments as they are, it calls the launcher of that, and shapes may be any; otherwise they are
    these. None where it takes long to ask whether arrays overlap, and where arrays that are given
    are other libraries', but not such that launchers take them as they are, or several libraries';
    `args` are those as the backend's own.

    Arrays that the program writes to are those that can be written, and overlap no others.
    """
    memory: dict[int, tuple[int, int]] = {}  # of other libraries' arrays
    library: exchange.ExchangeLibrary | type | None = None
    for k, (value, own) in enumerate(zip(given, args, strict=True)):
        if value is not own and type(own) is backend.array_type:
            found = compiled.dlpack_device(value, backend.array_type)
            of = exchange.library_of(type(value)) or type(value)
            if found is None or (memory and of is not library):
                return None
            memory[k], library = found, of
    if isinstance(library, type) and not _is_flat(program.result):
        return None
    arrays: list[Any] = [value for value in args if type(value) is backend.array_type]
    is_direct = _is_direct(program) and all(
        value.ndim < 2 or _is_contiguous(value, backend) for value in arrays
    )
    reads = program.trace.reads
    written = {program.argument(array) for array in program.written}
    kinds: list[Kind] = []
    tests: list[_Test] = []
    for k, value in enumerate(args):
        if type(value) is backend.array_type:
            array: Any = value
            # Transposing, and the user's own decisions, may do nothing for these dimensions alone.
            shape = ("ndim", array.ndim) if is_direct else ("shape", array.shape)
            layout = None
            if array.ndim > 1 or written or (k in memory and not is_direct):
                layout = _layout(array, backend)  # as results
            if k in memory:
                kinds.append(Kind(type(given[k]), array.dtype, foreign=(
                    *memory[k], k in written, array.ndim, None if is_direct else array.shape,
                    _foreign_layout(layout, 1 if isinstance(library, type) else array.itemsize),
                )))  # fmt: skip
                continue
            asked = [shape] if layout is None else [shape, layout]
            if k in written and backend.arrays.writable:
                asked.append((backend.arrays.writable, True))
            kinds.append(Kind(type(value), array.dtype, tuple(asked)))
            continue
        if value is not given[k]:
            return None  # a number, as tensors of the host are beside those on a GPU
        is_number = type(value) in (int, float, complex) or isinstance(value, _OF_ONE_DTYPE)
        is_itself = value is None or type(value) is bool
        kinds.append(Kind(type(value), None, (), value if is_itself else MISSING))
        if not is_number and not is_itself:
            tests.append(_constant_test(k, value))
    apart = _distances(program, args, backend)
    if apart is None:
        return None
    if program.depends_on_numbers:
        tests.append(program.numbers_test(args))
    if reads.has_others:
        tests.append(lambda *args: reads.others_hold(args))
    typed: Any
    passed: Sequence[int] = range(len(args))
    if is_direct:
        (step,) = program.plan.steps
        passed = [program.argument(leaf.array) for leaf in step.leaves()]
        passed += [symbol.expression[1] for symbol in step.operands.scalars.values()]
        typed = step.kernel._inline_cache  # type: ignore[union-attr]
    else:
        table = library if isinstance(library, exchange.ExchangeLibrary) else None
        typed = program.steps_for(args, table, [*memory])
        if table is not None and not (isinstance(typed, Steps) and typed.fits):
            return None
    guard = tests[0] if len(tests) == 1 else _all_of(tests) if tests else None
    return lambda otherwise: shortcut_of(
        kinds, passed, typed, otherwise, backend.arrays, guard, names=reads.names, apart=apart
    )


def _is_flat(result: Any) -> bool:
    """Whether a function returns one thing, or a tuple of some."""
    parts = result if type(result) is tuple else (result,)
    return not any(isinstance(part, tuple | list | dict) for part in parts)


def _all_of(tests: Sequence[_Test]) -> _Test:
    return lambda *args: all(test(*args) for test in tests)


def _contiguous(backend: Backend) -> str:
    return backend.arrays.contiguous or "flags.c_contiguous"


def _is_contiguous(array: Any, backend: Backend) -> bool:
    return bool(attrgetter(_contiguous(backend))(array))


def _foreign_layout(layout: tuple[str, Any] | None, itemsize: int) -> Any:
    """What `_layout` asks of an array, asked of another library's: see `Kind`. Strides are in units
    of `itemsize` bytes.
    """
    if layout is None or layout[0] != "strides":
        return None if layout is None else True
    return tuple(step // itemsize for step in layout[1])


def _layout(array: Any, backend: Backend) -> tuple[str, Any]:
    """What is asked of arrays of one shape, so that their elements lie as in this one."""
    if _is_contiguous(array, backend):
        return _contiguous(backend), True
    return "strides", array.strides


def _distances(program: Program, args: Sequence[Any], backend: Backend) -> list[Distance] | None:
    """What is asked of arrays that a program writes to, of these shapes and strides: they share no
    memory with others; None where that takes longer to ask.
    """
    if not program.written:
        return []
    values = program.array_arguments(args)
    places: dict[int, Any] = {}
    for number, value in values.items():
        captured = program.trace.sources[number].captured is not None
        if type(value) is not backend.array_type or (captured and number in program.written):
            return None
        places[number] = value if captured else program.argument(number)
    found = []
    for position, k in enumerate(program.written):
        begin, end = _extent(values[k], backend)
        for other in places:
            if other != k and other not in program.written[:position]:
                low, high = _extent(values[other], backend)
                found.append(Distance(places[k], places[other], low - end, high - begin))
    return found


def _constant_test(index: int, value: Any) -> _Test:
    """How to ask whether an argument is a constant. Other objects that are equal to it have other
    ways.
    """
    if type(value) is str:
        return lambda *args: args[index] == value
    key = constant_kind(value)
    if len(key) == 2 and type(key[1]) is weakref.ref:
        referred = key[1]
        return lambda *args: referred() is args[index]
    if any(True for _ in objects_in(key)):
        return lambda *args: constant_kind(args[index]) == key  # the value would keep them alive
    return lambda *args: args[index] is value or constant_kind(args[index]) == key


def _extent(array: Any, backend: Backend) -> tuple[int, int]:
    """Where an array's memory begins and ends, from its first element on (bytes)."""
    _, address = backend.describe(array)
    begin, end = extent_in_memory(array, backend)
    return begin - address, end - address


def _is_result(result: Any, array: int) -> bool:
    return (
        isinstance(result, Result)
        and result.leaf is not None
        and (result.leaf.array, result.leaf.steps) == (array, ())
    )


def _is_direct(program: Program) -> bool:
    """Whether all shapes have this program: one kernel, each of whose results depends on all
    arrays, and is broadcast as the kernel broadcasts.
    """
    plan, trace = program.plan, program.trace
    if not trace.guards.only_broadcast:
        return False
    if len(plan.steps) != 1 or plan.steps[0].kind != "elementwise":
        return False
    step = plan.steps[0]
    if not step.allocates or any(leaf.steps for leaf in step.leaves()):
        return False
    if any(source.captured is not None or source.is_local for source in trace.sources):
        return False
    if any(symbol.expression[0] != "argument" for symbol in step.operands.scalars.values()):
        return False
    arrays = {leaf.array for leaf in step.leaves()}
    for node in step.nodes:
        below = reachable([node])
        if not all(isinstance(n, Apply | Cast | Load | Scalar) for n in below):
            return False
        if {n.array for n in below if isinstance(n, Load)} != arrays:
            return False
    result = program.result if len(step.nodes) > 1 else (program.result,)
    if type(result) is not tuple or len(result) != len(step.targets):
        return False
    targets = [target.array for target in step.targets]
    return all(map(_is_result, result, targets))
