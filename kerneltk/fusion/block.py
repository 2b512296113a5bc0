"""``with fuse() as fused:`` records what is done to arrays, and computes it when the block ends."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import Backend
from kerneltk.core.recorders import current_recorder
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, UnsupportedError, render_message
from kerneltk.fusion.start import HANDLERS, NUMBERS, finished
from kerneltk.fusion.trace.graph import viewed
from kerneltk.fusion.trace.lazy import NUMPYS_PROTOCOLS, LazyArray, LazyNumber
from kerneltk.fusion.trace.operations import computed
from kerneltk.fusion.trace.state import Storage, Trace
from kerneltk.fusion.trace.symbols import Symbol
from kerneltk.fusion.trace.users import user_snippet


class Block:
    """What is recorded between the beginning and the end of a block.

    Called with arrays and numbers, it returns lazy ones in their place. What is computed of these
    is computed when the block ends, or when a value is asked for: by ``float(x)``, ``bool(x)``,
    ``np.asarray(x)`` or ``x.item()``.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lazy: list[weakref.ref[LazyArray]] = []
        self._numbers: list[weakref.ref[LazyNumber]] = []
        self._adoption = foreign_arrays.Adoption()
        self._backend: Backend | None = None
        self._begin()

    def _begin(self) -> None:
        self._trace = Trace(HANDLERS, self)
        self._given: list[Any] = []

    def __call__(self, *values: Any) -> Any:
        """Return lazy arrays and numbers for some.

        Parameters
        ----------
        *values : array or number

        Returns
        -------
        lazy array or number, or a tuple of them
            As many as were given.

        Raises
        ------
        ArgumentTypeError
            What is neither an array nor a number, or arrays in two kinds of memory.
        UnsupportedError
            The block has ended.
        """
        if self._trace.is_over:
            raise UnsupportedError("This block has ended: it records nothing any more.")
        given = foreign_arrays.host_scalars_as_numbers(values)
        found = tuple(self._recorded(value) for value in given)
        return found[0] if len(found) == 1 else found

    def _recorded(self, value: Any) -> Any:
        if isinstance(value, LazyArray | LazyNumber):
            return value
        backend, own = self._adoption.take(value, len(self._given))
        if backend is None:
            if not isinstance(value, NUMBERS):
                raise ArgumentTypeError(
                    f"A block records arrays and numbers, not an object of type "
                    f"'{type(value).__name__}'."
                )
            self._given.append(value)
            return LazyNumber(self._trace, Symbol(("argument", len(self._given) - 1), value))
        if self._backend is not None and backend is not self._backend:
            raise ArgumentTypeError(
                "A block was given arrays in host memory and in GPU memory.\n"
                f"  Hint: {foreign_arrays.MOVE_HINT}"
            )
        self._backend = backend
        return LazyArray(self._trace, self._source(own))

    def _source(self, own: Any) -> Storage:
        self._given.append(own)
        name = f"array {len(self._trace.sources) + 1}"
        return self._trace.add_argument(own, name, len(self._given) - 1)

    def note(self, array: LazyArray) -> None:
        """Remember a lazy array for as long as somebody else does."""
        self._lazy.append(weakref.ref(array))

    def note_number(self, number: LazyNumber) -> None:
        """Remember a lazy number for as long as somebody else does."""
        self._numbers.append(weakref.ref(number))

    # -- values --------------------------------------------------------------------------------

    def value(self, array: LazyArray) -> Any:
        """What a lazy array holds: everything that was recorded is computed now."""
        alive = self._alive()
        # Whole values, of which arrays that are views stay views.
        storages = {id(a.storage): a.storage for a in alive if not a.storage.is_part}
        wanted = [LazyArray(self._trace, storage) for storage in storages.values()]
        if array.storage.is_part:
            wanted.append(array)
        values = self._computed(wanted)
        bases = dict(zip(storages, values, strict=False))
        if array.storage.is_part:
            found = values[-1]
        else:
            found = viewed(
                bases[id(array.storage)],
                array.steps,
                lambda shape: tuple(extent.value for extent in shape),
            )
        self._go_on(alive, bases)
        return self._adoption.give_back(found)

    def _alive(self) -> list[LazyArray]:
        """All lazy arrays that are still referred to."""
        return [array for ref in self._lazy if (array := ref()) is not None]

    def _computed(self, wanted: list[LazyArray]) -> list[Any]:
        """Compute some lazy arrays, and what is written to arrays."""
        if current_recorder() is not None:
            raise UnsupportedError(
                "A block of 'fuse' cannot be recorded into a graph.\n"
                "  Hint: decorate a function with 'fuse', and call it in the recording."
            )
        trace = self._trace
        trace.finish()
        backend = self._backend or foreign_arrays.default_backend()
        program = finished(trace, self._name, wanted, len(self._given), backend)
        if program.written and program.overlaps(self._given):
            raise ArgumentValueError(
                "An array that is written to in a block shares memory with another one of it.\n"
                "  Hint: give the block one of them, and index that; or give it copies."
            )
        written = {program.argument(array) for array in program.written}
        self._adoption.check_writes(
            lambda key: key in written, lambda key: (f"array {key + 1}", None)
        )
        for number in program.written:
            own = self._given[program.argument(number)]
            backend.check_usable(own, f"array {number + 1}", True)
        with self._adoption.launching(None):
            results: list[Any] = program.run(*self._given)
        return results

    def _go_on(self, alive: list[LazyArray], bases: dict[int, Any]) -> None:
        """Record from here on, on top of the values of storages."""
        numbers = [number for ref in self._numbers if (number := ref()) is not None]
        self._begin()
        self._lazy, self._numbers = [], []
        for number in numbers:
            value = number.symbol.value
            number.trace = self._trace
            number.symbol = Symbol(("argument", len(self._given)), value)
            self._given.append(value)
            self.note_number(number)
        made: dict[int, Storage] = {}
        for array in alive:
            if not array.storage.is_part and id(array.storage) not in made:
                storage = self._source(bases[id(array.storage)])
                storage.is_scalar = array.storage.is_scalar
                made[id(array.storage)] = storage
        for array in sorted(alive, key=lambda array: array.storage.is_part):
            array.rebase(self._trace, made.get(id(array.storage), array.storage))
            self.note(array)

    def end(self) -> None:
        """Compute what was recorded; lazy arrays are arrays from now on."""
        if not self._given:
            snippet = user_snippet()
            raise UnsupportedError(
                render_message(
                    "Nothing was recorded in this block: it has no arrays.",
                    *([snippet] if snippet else []),
                    hint="write 'with kerneltk.fuse() as fused:' and, in the block, "
                    "'x, y = fused(x, y)'.",
                )
            )
        alive = self._alive()
        for array, found in zip(alive, self._computed(alive), strict=True):
            become(array, self._adoption.give_back(found))

    def abandon(self) -> None:
        """Forget what was recorded: the block ended by an exception."""
        self._trace.is_over = True


# -- what stands for a lazy array once its block has ended -----------------------------------------


def become(array: LazyArray, value: Any) -> None:
    """Have a lazy array be an array from now on."""
    array._value = value
    array.__class__ = ComputedArray


_OF_COMPUTED = (
    "__array__", "__class__", "__torch_function__", "__cupy_override_elementwise_kernel__",
    "__cupy_override_reduction_kernel__", "_value",
)  # fmt: skip


def _with_values(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    return function(*map(computed, args), **{name: computed(kwargs[name]) for name in kwargs})


class ComputedArray(LazyArray):
    """A lazy array whose block has ended: it stands for the array that it became."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._value, name, value)

    def __getattribute__(self, name: str) -> Any:
        if name in _OF_COMPUTED:
            return object.__getattribute__(self, name)
        if name in NUMPYS_PROTOCOLS:
            raise AttributeError(name)
        return getattr(object.__getattribute__(self, "_value"), name)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return _with_values(getattr(ufunc, method), inputs, kwargs)

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return _with_values(function, args, kwargs)

    def __cupy_override_elementwise_kernel__(self, kernel: Any, *args: Any, **kwargs: Any) -> Any:
        return _with_values(kernel, args, kwargs)

    __cupy_override_reduction_kernel__ = __cupy_override_elementwise_kernel__

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return _with_values(function, args, kwargs or {})

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self._value, dtype, copy=copy, order="K")


def _delegated(name: str) -> Any:
    return lambda self, *args: getattr(self._value, name)(*map(computed, args))


for _name in (
    "bool", "iter", "float", "int", "index", "complex", "len", "getitem", "setitem", "repr",
    "str", "round", "copy", "deepcopy", "reduce", "reduce_ex",
):  # fmt: skip
    setattr(ComputedArray, f"__{_name}__", _delegated(f"__{_name}__"))


def _applied_to_values(function: Callable[..., Any], swapped: bool = False) -> Any:
    if swapped:
        return lambda self, other: function(computed(other), computed(self))
    return lambda *operands: function(*map(computed, operands))


# As the arrays' own operators: other libraries' do not go through NumPy's ufuncs.
for _name in (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_",
    "xor", "matmul",
):  # fmt: skip
    _plain = _name.rstrip("_")
    setattr(ComputedArray, f"__{_plain}__", _applied_to_values(getattr(operator, _name)))
    setattr(ComputedArray, f"__r{_plain}__", _applied_to_values(getattr(operator, _name), True))
    setattr(ComputedArray, f"__i{_plain}__", _applied_to_values(getattr(operator, f"i{_plain}")))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "invert"):
    setattr(ComputedArray, f"__{_name}__", _applied_to_values(getattr(operator, _name)))
