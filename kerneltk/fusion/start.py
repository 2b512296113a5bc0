"""From a function and the arguments of a call to a program."""

from __future__ import annotations

import abc
import builtins
import contextlib
import functools
import importlib
import inspect
import operator
import random as _random
import sys
import types
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any, NoReturn

import numpy as np

from kerneltk.backends.base import Backend
from kerneltk.core.artifacts import Capabilities
from kerneltk.errors import UnsupportedError
from kerneltk.fusion.cupy_functions import Handler, handled_by, learn_imported, named
from kerneltk.fusion.plan.program import (
    CHANGEABLE,
    Copied,
    Program,
    Result,
    extent_in_memory,
)
from kerneltk.fusion.plan.steps import Plan, planned
from kerneltk.fusion.trace.creation import CREATION, GRIDS, Grid
from kerneltk.fusion.trace.functions import (
    FUNCTIONS,
    METHODS,
    by_function,
    checked_call,
    is_selected,
    reduce_by_ufunc,
)
from kerneltk.fusion.trace.graph import Apply, Node, Scalar, all_effects, reachable
from kerneltk.fusion.trace.lazy import Lazy, LazyArray, LazyNumber
from kerneltk.fusion.trace.operations import assign, call_ufunc, has_lazy, of_list
from kerneltk.fusion.trace.outside import Outside, changed_error, content_of, watching
from kerneltk.fusion.trace.reads import MISSING, Name, of_global
from kerneltk.fusion.trace.state import (
    Handlers,
    ManyOperationsError,
    NotRolledError,
    Rolling,
    StandIn,
    Trace,
    Way,
    refusals_are_final,
    unsupported,
    wrong_type,
)
from kerneltk.fusion.trace.symbols import Environment, Expression, Guards, Symbol, broadcast_shapes
from kerneltk.fusion.trace.users import (
    attribute_of,
    is_array,
    is_called,
    is_library,
    is_library_function,
    kind_of_results,
    with_parts,
)
from kerneltk.schedule.rows import OLDER, Device

NUMBERS = (bool, int, float, complex, np.generic)

_MOST_UNROLLED = 8  # loops that are found one by one
_MOST_TRIES = 40  # ways of rolling them


def _further() -> Any:
    from kerneltk.fusion.functions import dispatch  # few fused functions call any of these

    return dispatch


def _call_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    is_known = method == "reduce" or (method == "__call__" and ufunc is not np.matmul)
    if not is_known or is_selected(*inputs, *kwargs.values()):
        return _further().call_ufunc(ufunc, method, inputs, kwargs)
    if method == "reduce":
        return reduce_by_ufunc(ufunc, inputs, kwargs)
    return call_ufunc(ufunc, method, inputs, kwargs)


_FUNCTIONS = by_function(FUNCTIONS)


def _call_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    own = _FUNCTIONS.get(function)
    if own is None or is_selected(*args, *kwargs.values()):
        return _further().call_function(function, args, kwargs)
    return checked_call(own, function.__name__, args, kwargs)


def _method_of(array: LazyArray, name: str) -> Any:
    if name == "flat":
        return _further().Flat(array)
    own = METHODS.get(name) or _further().method_of(array, name)
    return lambda *args, **kwargs: checked_call(own, name, (array, *args), kwargs)


HANDLERS = Handlers(
    _call_ufunc, _call_function, _method_of, assign,
    lambda array, key: _further().chosen(array, key),
    lambda array, key, value: _further().choose(array, key, value),
)  # fmt: skip


def is_traced_number(value: Any) -> bool:
    """Whether an argument is a number that calls of one trace may have others of."""
    return type(value) in (int, float, complex) or isinstance(value, np.number | np.bool_)


def traced(
    function: Callable[..., Any],
    name: str,
    args: Sequence[Any],
    keywords: Sequence[str],
    backend: Backend,
    target: Capabilities | None = None,
    device: Device = OLDER,
    kinds: Sequence[type | None] = (),
    varying: Set[Any] = frozenset(),
) -> Program:
    """The program of a function for such arguments, the last of which have keywords; planned for
    another backend than that of the arrays, if `target` is given, on such a device. `kinds` are the
    classes of arguments that are other libraries' arrays, `varying` what `Reads` takes.
    """
    unrolled: set[Any] = set()
    ways: dict[Any, Any] = {}
    is_counting, tries = True, 0
    given = (function, name, args, keywords, backend, target, device, kinds, varying)
    while True:
        environment = Environment(args, [v.shape for v in args if is_array(v)])
        rolling = Rolling(unrolled, environment, _is_executed, is_counting, ways)
        try:
            return _traced(*given, rolling)
        except NotRolledError as error:
            if error.way is None:
                unrolled.add(error.key)
            else:
                ways[error.key] = error.way
                unrolled.discard(error.key)
        except ManyOperationsError:
            if not is_counting:
                ways = dict.fromkeys(unrolled, Way()) | ways
                unrolled.clear()
            is_counting = False
        except Exception as error:
            is_full = isinstance(rolling.refused, ManyOperationsError)
            if not rolling.families or is_full or getattr(error, "has_effects", False):
                raise
            if is_counting and rolling.refused is None:
                raise
            return _traced(*given, None)  # to raise what the function itself does
        tries += 1
        if len(unrolled) > _MOST_UNROLLED or tries > _MOST_TRIES:
            return _traced(*given, None)


def _is_executed(frame: types.FrameType) -> bool | None:
    """Whether a frame is one of the functions that are traced; None for what traces them."""
    if frame.f_code is _traced.__code__:
        return None
    return isinstance(frame.f_globals, _Globals)


def _traced(
    function: Callable[..., Any],
    name: str,
    args: Sequence[Any],
    keywords: Sequence[str],
    backend: Backend,
    target: Capabilities | None,
    device: Device,
    kinds: Sequence[type | None],
    varying: Set[Any],
    rolling: Rolling | None,
) -> Program:
    """As `traced`, with loops rolled or not."""
    trace = Trace(HANDLERS, array_type=backend.array_type, varying=varying)
    trace.rolling = rolling
    rebuilding = _Rebuilding(trace)
    given: list[Any] = []
    rebuilding.outside.look(function, args)
    for index, value in enumerate(args):
        if is_array(value):
            number = len(trace.sources)
            storage = trace.add_argument(value, f"argument {index + 1}", index)
            given.append(LazyArray(trace, storage))
            if kinds:
                trace.library_kinds[number] = kinds[index]
                trace.library_kinds.setdefault(None, kind_of_results(kinds[index]))
        elif is_traced_number(value):
            given.append(LazyNumber(trace, Symbol(("argument", index), value)))
        else:
            given.append(rebuilding.seen(value))
    first = len(given) - len(keywords)
    named = dict(zip(keywords, given[first:], strict=True))
    made = rebuilding.whole(function)
    handler = cupys(trace)
    with (
        handled_by(handler),
        watching(rebuilding.outside.watch),
        refusals_are_final(),
        trace.guards.noting_exceptions(),
    ):
        try:
            result = made(*given[:first], **named)
        except Exception as error:
            found = _late_errors().explained(error)
            if found is None:
                raise
            raise found from error
    if rolling is not None and rolling.refused is not None:
        raise rolling.refused
    trace.uses_cupy = handler.is_used
    trace.finish()
    trace.rebuilt = None
    sources = {effect.array: trace.sources[effect.array] for effect in all_effects(trace.effects)}
    written = [args[own.argument] for own in sources.values() if own.argument is not None]
    _check_arrays(trace, rebuilding.outside.arrays, written, backend)
    program = finished(trace, name, result, len(args), backend, target, device)
    changed = rebuilding.outside.changed()
    trace.seen.clear()
    del given, named, made, rebuilding, result
    try:
        if any(ref() is not None for ref in trace.values):
            _late_errors().check_escaped(trace.values, function)
    except UnsupportedError as error:
        error.has_effects = bool(changed)
        raise
    trace.values.clear()
    if changed:
        raise changed_error(changed[0])
    return program


def _of_loops() -> Any:
    from kerneltk.fusion.trace import rolling  # most functions have none

    return rolling


def _new_plan(
    trace: Trace, name: str, target: Capabilities, device: Device, values: Sequence[Node],
    outputs: Sequence[Node],
) -> Plan:  # fmt: skip
    # A cached plan needs neither: they load 65 modules, and a first call 92 without them.
    from kerneltk.fusion.plan import body, planner

    body.check_operations(trace, values)
    return planner.Planner(trace, name, target, device).plan(outputs)


def _late_errors() -> Any:
    from kerneltk.fusion import late_errors  # most functions have none

    return late_errors


def finished(
    trace: Trace,
    name: str,
    result: Any,
    count: int,
    backend: Backend,
    target: Capabilities | None = None,
    device: Device = OLDER,
) -> Program:
    """The program of a trace that has ended."""
    outputs: list[LazyArray] = []
    numbers: list[Expression] = []

    def collect(value: Any) -> Any:
        if isinstance(value, LazyArray):
            outputs.append(value)
            return _Output(len(outputs) - 1)
        if isinstance(value, LazyNumber):
            numbers.append(value.symbol.expression)
            return Result(None, value.symbol.expression)
        if is_selected(value):
            value.refuse(is_over=True)
        if isinstance(value, (*CHANGEABLE, trace.array_type)) and not trace.reads.is_named(value):
            return Copied(value)
        return value

    shape = with_parts(result, collect)
    nodes = [output.node for output in outputs]
    values = reachable([*nodes, *(effect.value for effect in all_effects(trace.effects))])
    if trace.rolling is not None and (trace.rolling.loops or trace.rolling.begun):
        _of_loops().check_rolled(trace, nodes, numbers)
    _note_unneeded(trace, values, numbers)
    if target is None:
        device = Device(backend.largest_cluster(), backend.waiting_multiprocessors())
    able = target or backend.capabilities
    with trace.guards.planning():
        trace.name_equals(values)
        plan = planned(trace, name, able, device, values, nodes, _new_plan)
    trace.applied.clear()
    trace.rolling = None  # it has the arguments

    def placed(value: Any) -> Any:
        return Result(plan.results[value.index]) if isinstance(value, _Output) else value

    placed_results = with_parts(shape, placed)
    return Program(trace, plan, count, backend, placed_results)


def _note_unneeded(trace: Trace, values: Sequence[Node], numbers: Sequence[Expression]) -> None:
    """Have later calls share what shapes and numbers decided that no kernel decides again."""
    decided = Guards()
    needed = [*numbers]
    for node in values:
        needed += [extent.expression for extent in node.shape]
        if isinstance(node, Scalar):
            needed.append(node.symbol.expression)
        elif isinstance(node, Apply):
            broadcast_shapes(decided, *(operand.shape for operand in node.operands))
    guards = trace.guards
    guards.note_unneeded(needed)
    if not guards.conditions.keys() <= decided.conditions.keys():
        guards.only_broadcast = False


def _check_arrays(
    trace: Trace, found: Sequence[Any], written: Sequence[Any], backend: Backend
) -> None:
    """Refuse what makes an array another one than the function has read: writes to it, by what is
    not traced, and as an argument. What kernels read by a name is asked at each call.
    """
    captured = [one for several in trace.captured.values() for one in several]
    trace.captured.clear()
    changed = [one for one in captured if one.is_named and not one.is_unchanged()]
    if changed:
        for one in changed:
            if one.array.shape == one.copy.shape:
                np.copyto(one.array, one.copy)
        raise unsupported(
            "An array from outside of the fused function is written to.", "pass it as an argument."
        )
    asked = {id(one.given) for one in captured if one.is_named}
    read = [one.array for one in captured if not one.is_named]
    read += [value for value in found if id(value) not in asked and type(value) is trace.array_type]
    extents = [extent_in_memory(value, backend) for value in written]
    for begin, end in (extent_in_memory(value, backend) for value in read if written):
        if any(begin < high and low < end for low, high in extents):
            raise unsupported(
                "An array that the function reads by an object is written to as an argument.",
                "pass it as another argument.",
            )


class _Output:
    def __init__(self, index: int) -> None:
        self.index = index


# -- the names that the function sees --------------------------------------------------------


class Module:
    """A module in a traced function.

    Parameters
    ----------
    seen : callable
        Takes an attribute, or `MISSING`, and its name, and returns what the function gets.
    """

    def __init__(self, module: types.ModuleType, seen: Callable[[Any, str], Any]) -> None:
        vars(self).update(_module=module, _seen=seen)

    def __getattr__(self, name: str) -> Any:
        try:
            found = getattr(self._module, name)
        except AttributeError:
            self._seen(MISSING, name)
            raise
        return self._seen(found, name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise unsupported("A fused function assigns no attributes of modules.")


def namespace(module: Any, trace: Trace) -> Module:
    """A module of NumPy's as a trace sees it: what makes arrays of numbers makes traced ones. It is
    the same object each time.
    """
    if id(module) not in trace.seen:
        made = Module(module, lambda found, name: replacement(found, name, trace, module.__name__))
        trace.seen[id(module)] = module, made
    return trace.seen[id(module)][1]  # type: ignore[no-any-return]


def replacement(found: Any, name: str, trace: Trace, module: str) -> Any:
    """What a traced function sees in place of an object of NumPy or CuPy."""
    if found is MISSING:
        return found
    if module in _RANDOM:
        return functools.partial(_seeded, found) if name in _SEEDED else _Random()
    if isinstance(found, types.ModuleType) and found.__name__ in _RANDOM:
        return namespace(found, trace)
    if name in ("errstate", "seterr"):
        return _checked_errstate
    if name in GRIDS:
        return Grid(trace, GRIDS[name])
    if name in ("r_", "c_"):
        from kerneltk.fusion.functions.sources import Joining  # only who has one

        return Joining(found, name, trace)
    if name == "ndarray" and is_called(sys._getframe(3)):
        name = "empty"
    if name in CREATION:
        return lambda *args, **kwargs: CREATION[name](trace, found, args, kwargs)
    takes_list = isinstance(found, np.ufunc) or name in METHODS
    if takes_list and trace.array_type is np.ndarray and is_called(sys._getframe(3)):
        return functools.partial(_of_lists, trace, found)
    return found


def _of_lists(trace: Trace, function: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of a function that takes lists as arrays: NumPy asks lists for no traced values."""
    count = len(args) if isinstance(function, np.ufunc) else 1
    arrays = (of_list(trace, item) if has_lazy(item) else item for item in args[:count])
    return function(*arrays, *args[count:], **kwargs)


def cupys(trace: Trace) -> Handler:
    """What calls of CuPy's functions do while a function is traced: they are NumPy's."""
    on_host = trace.array_type is np.ndarray

    def call(
        module: str, name: str, own: Callable[..., Any], args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:  # fmt: skip
        if module == "cupy.random":
            if name not in _SEEDED:
                _Random()()
            seeds = args[1:] if name == "RandomState" else args  # the first one is the object
            _check_seed(seeds, kwargs)
            return own(*args, **kwargs)
        if module == "cupy" and name == "get_array_module":
            return namespace(np, trace) if on_host else sys.modules[module]
        if module == "cupy" and name in CREATION:
            return CREATION[name](trace, own, args, kwargs)
        if not any(map(_is_traced, (*args, *kwargs.values()))):
            return own(*args, **kwargs)
        numpys = named(module, name)
        if numpys is None:
            raise unsupported(
                f"'{module}.{name}' is not fused.",
                "compute it outside of the function, and pass the result.",
            )
        return numpys(*args, **kwargs)

    return Handler(call, on_host)


def _is_traced(value: Any) -> bool:
    items = value if isinstance(value, list | tuple) else (value,)
    return any(isinstance(item, Lazy) for item in items)


class _Rebuilding:
    """Functions as they are traced, each made once: NumPy is a namespace of the trace to a
    function, and to those that it calls by their names or as functions of the user's modules.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.outside = Outside(
            trace.reads,
            lambda value: is_array(value) or is_traced_number(value),
            lambda number: LazyNumber(trace, number),
        )
        trace.rebuilt = self.late

    def whole(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """What was decorated, as it is traced: a function, a method, or an object."""
        if type(function) is types.FunctionType:
            return self.function(function)
        if isinstance(function, functools.partial):
            given = (self.seen(value) for value in function.args)
            named = {name: self.seen(value) for name, value in function.keywords.items()}
            return functools.partial(self.whole(function.func), *given, **named)
        own = inspect.getattr_static(type(function), "__call__", None)
        if isinstance(own, types.FunctionType):
            return types.MethodType(self.function(own), function)
        return self.function(function)

    def late(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that is found while another one is traced."""
        self.outside.follow(function)
        return self.function(function)

    def function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function as it is traced."""
        if isinstance(function, types.MethodType):
            return types.MethodType(self.function(function.__func__), function.__self__)
        if not isinstance(function, types.FunctionType) or is_library_function(function):
            return function
        known = self._trace.seen.get(id(function))
        if known is not None:
            return known[1]  # type: ignore[no-any-return]
        cells = function.__closure__
        empty = None if cells is None else tuple(types.CellType() for _ in cells)
        made = types.FunctionType(
            function.__code__,
            self._globals_of(function),
            function.__name__,
            function.__defaults__,
            empty,
        )
        self._trace.seen[id(function)] = function, made
        self.outside.originals[id(made)] = function
        made.__kwdefaults__ = function.__kwdefaults__
        for name in ("__doc__", "__qualname__", "__module__", "__annotations__"):
            setattr(made, name, getattr(function, name))
        made.__dict__.update(function.__dict__)
        self._replace_names(function)
        for index, (new, old) in enumerate(zip(empty or (), cells or (), strict=True)):
            value = content_of(old)
            if value is not old:  # else it is assigned later
                new.cell_contents = self._named(self._trace.reads.of_cell(function, index))
        return made

    def _globals_of(self, function: types.FunctionType) -> dict[str, Any]:
        names = function.__globals__
        if id(names) not in self._trace.seen:
            seen = _Globals({**names, "__builtins__": builtins})
            seen.original = names
            self._trace.seen[id(names)] = names, seen
        return self._trace.seen[id(names)][1]  # type: ignore[no-any-return]

    def _replace_names(self, function: types.FunctionType) -> None:
        """Have the names that a function reads stand for what is traced."""
        names, seen = self._trace.seen[id(function.__globals__)]
        _import_cupy(names_of(function.__code__) - names.keys())
        for name in names_of(function.__code__):
            if name in names and seen[name] is names[name]:
                seen.put(name, self._named(of_global(names, name)))
            elif name == "hasattr":
                seen.put(name, functools.partial(_has_attribute, self.outside))
            elif name == "range" and name not in names and self._trace.rolling is not None:
                seen.put(name, _of_loops().range_of(self._trace))
            elif name in _ASKING:
                seen.put(name, _ASKING[name])

    def _named(self, name: Name) -> Any:
        """What a traced function sees in place of what has a name: it may be a number of a call."""
        reads = self._trace.reads
        if type(name.value) in (self._trace.array_type, np.ndarray):
            reads.add(name)
        number = reads.number(name)
        return self.seen(name.value) if number is None else LazyNumber(self._trace, number)

    def _of_module(self, module: types.ModuleType, found: Any, name: str) -> Any:
        """What a traced function sees in place of an attribute of one of the user's modules."""
        self.outside.attribute(self.outside.follow(module), name)
        return self.late(found) if isinstance(found, types.FunctionType) else self.seen(found)

    def seen(self, value: Any) -> Any:
        """What a traced function sees in place of an object."""
        trace = self._trace
        if isinstance(value, types.FunctionType):
            return _refused_randomness(value) or self.function(value)
        if type(value) is trace.array_type:
            return LazyArray(trace, trace.capture(value, is_hidden=True))
        if isinstance(value, types.ModuleType):
            if not is_library(value.__name__):
                return Module(value, functools.partial(self._of_module, value))
            return namespace(value, trace) if value.__name__ in ("numpy", *_RANDOM) else value
        refused = _refused_randomness(value)
        if refused is not None:
            return refused
        if isinstance(value, functools._lru_cache_wrapper):
            return _Memoised(value)
        module = attribute_of(value, "__module__")
        if isinstance(module, str) and callable(value) and not isinstance(value, type):
            root = module.partition(".")[0]
            name = attribute_of(value, "__name__", "")
            if root == "numpy" and isinstance(name, str) and vars(np).get(name) is value:
                return replacement(value, name, trace, root)
        if value is np.errstate:
            return _checked_errstate
        return value


def _import_cupy(names: Iterable[str]) -> None:
    """Import what a function imports of CuPy when it is executed, so that its functions are known
    by then.
    """
    wanted = [name for name in names if name.partition(".")[0] in ("cupy", "cupyx")]
    for name in wanted:
        with contextlib.suppress(ImportError):  # which the function gets where it imports it
            importlib.import_module(name)
    if wanted:
        learn_imported()


class _Globals(dict[str, Any]):
    """The globals of a traced function: what is assigned to them would be lost."""

    original: dict[str, Any]
    put = dict.__setitem__

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise unsupported(
            "A global is assigned in a fused function.",
            "return the new value, and assign it outside of the function.",
        )

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse


@functools.lru_cache(maxsize=4096)
def names_of(code: types.CodeType) -> frozenset[str]:
    """The names that a function, and those within it, may read."""
    inner = [names_of(item) for item in code.co_consts if isinstance(item, types.CodeType)]
    return frozenset(code.co_names).union(*inner)


class _TypeOfTypes(StandIn):
    """Python's ``type``, but for traced values."""

    own = type

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        if len(args) == 1 and isinstance(args[0], Lazy):
            return _plain_kind(args[0])
        return type(*args, **kwargs)


class _Type(type, metaclass=_TypeOfTypes):
    """What the name ``type`` stands for in a traced function."""


def _plain_kind(value: Any) -> type:
    """The class that plain code sees."""
    return value.kind_for_python if type(value) is LazyArray else value.__class__


def _has_attribute(outside: Outside, value: Any, name: str) -> bool:
    """Python's ``hasattr``, but for traced values."""
    if not isinstance(value, Lazy):
        outside.read_attribute(value, name)  # here it is no read of the user's
        outside.attribute(outside.follow(outside.originals.get(id(value), value)), name)
        return hasattr(value, name)
    return any(name in vars(base) for base in _plain_kind(value).__mro__)


def _is_instance(value: Any, kinds: Any) -> bool:
    """Python's ``isinstance``, but for traced values."""
    if not isinstance(value, Lazy):
        return isinstance(value, kinds)
    kind = _plain_kind(value)
    if isinstance(kinds, tuple | types.UnionType):
        items = kinds if isinstance(kinds, tuple) else kinds.__args__
        return any(_is_instance(value, item) for item in items)
    asked = getattr(type(kinds), "__instancecheck__", None)
    if kinds in kind.__mro__ or asked in (type.__instancecheck__, abc.ABCMeta.__instancecheck__):
        return issubclass(kind, kinds)
    if type(value) is not LazyArray or value.library_kind is None:
        return isinstance(value, kinds)
    raise unsupported(
        f"Whether an argument is an instance of {kinds!r} is not known.",
        "ask outside of the function, and pass the answer.",
    )


def _extreme(own: Callable[..., Any], is_beyond: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Python's ``max`` or ``min``, also of elements of arrays, which have no dimensions."""

    def extreme(*args: Any, **options: Any) -> Any:
        values = args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args
        if options or not any(type(value) is LazyArray and not value.ndim for value in values):
            return own(*args, **options)
        found: Any
        found, *others = values
        for value in others:
            found = np.where(is_beyond(value, found), value, found)[()]
        return found

    return extreme


_ASKING: dict[str, Any] = {
    "type": _Type, "isinstance": _is_instance,
    "max": _extreme(max, operator.gt), "min": _extreme(min, operator.lt),
}  # fmt: skip


def _refused_randomness(value: Any) -> Any:
    """What refuses to be used in place of a source of random numbers; None for other objects."""
    owner = attribute_of(value, "__self__", value)
    if isinstance(owner, _random.Random | np.random.Generator | np.random.RandomState):
        return _Random()
    module = type(owner).__module__
    if module.startswith("cupy.random") and not isinstance(owner, type):
        return _Random()
    return None


_RANDOM = ("random", "numpy.random")
_SEEDED = ("Random", "RandomState", "default_rng", "Generator", "PCG64", "Philox", "SeedSequence")


def _seeded(maker: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A generator whose numbers are the same each time."""
    _check_seed(args, kwargs)
    return maker(*map(_known, args), **{name: _known(value) for name, value in kwargs.items()})


def _check_seed(args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    if not (args or kwargs) or any(value is None for value in (*args, *kwargs.values())):
        _Random()()


def _known(value: Any) -> Any:
    """A number that decides, in which later calls must agree."""
    return value.trace.guards.value(value.symbol) if isinstance(value, LazyNumber) else value


class _Memoised:
    """A function with a cache: it is called with numbers by value, and keeps no traced ones."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(
            *map(_hashed, args), **{name: _hashed(value) for name, value in kwargs.items()}
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


def _hashed(value: Any) -> Any:
    """An argument of a cache; arrays have no hash, as NumPy's have none."""
    if isinstance(value, LazyArray):
        raise wrong_type(
            "An array is an argument of a function with a cache: it is unhashable.",
            "call the function without its cache, such as 'function.__wrapped__(x)'.",
        )
    return tuple(map(_hashed, value)) if type(value) is tuple else _known(value)


class _Random:
    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise unsupported(
            "Random numbers would be drawn once, while the function is traced.",
            "draw them outside of the function, and pass them.",
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def _checked_errstate(*args: Any, **kwargs: Any) -> Any:
    """``np.errstate`` and ``np.seterr``, where what they ask for is no error and no call: kernels
    note no floating-point exceptions.
    """
    for name, wanted in [*zip(("all",), args, strict=False), *kwargs.items()]:
        if wanted in ("raise", "call", "print", "log"):
            raise unsupported(
                f"A fused function notes no floating-point errors: '{name}={wanted!r}' has no "
                "effect in it.",
                "check the results outside of the function, such as by 'np.isfinite'.",
            )
    return np.errstate(*args, **kwargs)
