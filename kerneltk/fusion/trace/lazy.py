"""What a traced function sees in place of its arguments: arrays and numbers without values."""

from __future__ import annotations

import functools
import operator
import types
import weakref
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from kerneltk.errors import AxisError, ScalarOverflowError
from kerneltk.fusion.cupy_functions import counterpart
from kerneltk.fusion.trace.graph import (
    WHOLE,
    Broadcast,
    Cast,
    Index,
    Item,
    Node,
    Shape,
    Slice,
    Transpose,
    View,
    ViewStep,
    viewed_again,
)
from kerneltk.fusion.trace.state import (
    InvalidIndexError,
    Storage,
    Trace,
    at_line,
    unsupported,
    wrong_type,
    wrong_value,
)
from kerneltk.fusion.trace.symbols import (
    Exponent,
    NumberFunction,
    Symbol,
    applied,
    constant,
    has_argument,
    operands_change_type,
    product,
)
from kerneltk.fusion.trace.users import is_asked_inside, kind_of_results, user_location

Binary = Callable[[Any, Any], Any]


class Lazy:
    """The base of what stands for arguments and results in a trace."""

    __slots__ = ()
    __array_priority__ = 1000.0
    trace: Trace

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self.trace.handlers.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return self.trace.handlers.function(function, args, kwargs)

    def __cupy_override_elementwise_kernel__(self, kernel: Any, *args: Any, **kwargs: Any) -> Any:
        own = counterpart(kernel)
        if own is None:
            raise _kernel_of_cupys(kernel)
        return own(*args, **kwargs)

    def __cupy_override_reduction_kernel__(self, kernel: Any, *args: Any, **kwargs: Any) -> Any:
        raise _kernel_of_cupys(kernel)

    def __cupy_get_ndarray__(self) -> NoReturn:
        # CuPy's own reduction kernels ask for this alone, and only where there is a GPU.
        raise _kernel_of_cupys(None)

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name = getattr(function, "__name__", "?")
        raise unsupported(f"torch's '{name}' is not fused.", hint_for_torchs(name))

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise unsupported(
            "A traced value cannot become a NumPy array: it has no elements before the function "
            "has ended.",
            "use NumPy's functions on it, on 'np.stack(items)' of a list; or compute this outside.",
        )

    def __hash__(self) -> int:
        return id(self)


_NUMPYS = {  # for what torch has by other names
    "clamp": "np.clip(x, low, high)", "dim": "x.ndim", "double": "x.astype(np.float64)",
    "float": "x.astype(np.float32)", "half": "x.astype(np.float16)", "numel": "x.size",
    "permute": "x.transpose(axes)", "relu": "np.maximum(x, 0)", "sigmoid": "1 / (1 + np.exp(-x))",
    "to": "x.astype(dtype)", "unsqueeze": "np.expand_dims(x, axis)",
}  # fmt: skip
FIELD_HINT = "pass the fields of records as arguments of their own: 'f(x[\"name\"])'."


def hint_for_torchs(name: str) -> str:
    """What to write for a function or a method of torch's."""
    found = _NUMPYS.get(name) or (f"np.{name}(x)" if callable(getattr(np, name, None)) else None)
    if found is not None:
        return f"write '{found}', which takes what stands for a tensor."
    return (
        "use NumPy's functions, which take what stands for a tensor; or compute this outside, and "
        "pass the result."
    )


def _kernel_of_cupys(kernel: Any) -> Exception:
    name = getattr(kernel, "name", None)
    return unsupported(
        f"Kernel '{name}' is not fused." if name else "A kernel of CuPy's is not fused.",
        "compute it outside of the function, and pass the result.",
    )


def _operator(ufunc: np.ufunc) -> tuple[Binary, Binary]:
    def forward(self: Any, other: Any) -> Any:
        if _defers(other) or _repeats(self, other, ufunc):
            return NotImplemented
        return ufunc(self, other)

    def backward(self: Any, other: Any) -> Any:
        if _repeats(self, other, ufunc):
            return NotImplemented
        return ufunc(other, self)

    return forward, backward


def _defers(other: Any) -> bool:
    return isinstance(other, str | bytes | dict) or other is None


def _repeats(self: Any, other: Any, ufunc: np.ufunc) -> bool:
    """Whether a list or a string is a sequence for an operator of a number, and no array."""
    if not isinstance(other, list | tuple | range | str | bytes):
        return False
    if type(self) is LazyNumber and not isinstance(self.symbol.value, np.generic):
        return True
    return ufunc is np.multiply and (type(self) is LazyNumber or getattr(self, "is_scalar", False))


def _comparison(ufunc: np.ufunc) -> Binary:
    def compare(self: Any, other: Any) -> Any:
        if _repeats(self, other, ufunc):
            return NotImplemented
        if not _defers(other):
            return ufunc(self, other)
        if isinstance(self, LazyNumber):
            return NotImplemented
        raise unsupported(
            f"An array is compared with an object of type '{type(other).__name__}'.",
            "write 'x is None' to ask whether there is an array.",
        )

    return compare


def _in_place(ufunc: np.ufunc) -> Binary:
    def change(self: Any, other: Any) -> Any:
        if self.is_scalar:
            return ufunc(self, other)
        return ufunc(self, other, out=(self,))

    return change


def _stands_for(of_what: Callable[[Any], type]) -> Any:
    """``__class__``: in a function, `isinstance` answers as for what a value stands for."""

    def get(self: Any) -> type:
        trace = self.trace
        return type(self) if trace.block is not None or trace.is_over else of_what(self)

    def put(self: Any, kind: type) -> None:
        object.__dict__["__class__"].__set__(self, kind)

    return property(get, put)


class Operators(Lazy):
    """Python's operators, as NumPy's ufuncs."""

    __slots__ = ()
    __hash__ = Lazy.__hash__

    __add__, __radd__ = _operator(np.add)
    __sub__, __rsub__ = _operator(np.subtract)
    __mul__, __rmul__ = _operator(np.multiply)
    __truediv__, __rtruediv__ = _operator(np.true_divide)
    __floordiv__, __rfloordiv__ = _operator(np.floor_divide)
    __mod__, __rmod__ = _operator(np.remainder)
    __divmod__, __rdivmod__ = _operator(np.divmod)
    __and__, __rand__ = _operator(np.bitwise_and)
    __or__, __ror__ = _operator(np.bitwise_or)
    __xor__, __rxor__ = _operator(np.bitwise_xor)
    __lshift__, __rlshift__ = _operator(np.left_shift)
    __rshift__, __rrshift__ = _operator(np.right_shift)
    __lt__ = _operator(np.less)[0]
    __le__ = _operator(np.less_equal)[0]
    __gt__ = _operator(np.greater)[0]
    __ge__ = _operator(np.greater_equal)[0]
    __eq__ = _comparison(np.equal)
    __ne__ = _comparison(np.not_equal)

    def __pow__(self, other: Any) -> Any:
        return np.power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return np.power(other, self)

    def __neg__(self) -> Any:
        return np.negative(self)

    def __pos__(self) -> Any:
        return np.positive(self)

    def __abs__(self) -> Any:
        return np.absolute(self)

    def __invert__(self) -> Any:
        return np.invert(self)

    __matmul__, __rmatmul__ = _operator(np.matmul)


class LazyNumber(Operators):
    """A number that a call knows: an argument of Python's or NumPy's, an extent, or what is
    computed from such. Each call computes it in Python.
    """

    __slots__ = ("__weakref__", "symbol", "trace")

    __class__ = _stands_for(lambda self: type(self.symbol.value))

    def __init__(self, trace: Trace, symbol: Symbol) -> None:
        self.trace = trace
        self.symbol = symbol
        if operands_change_type(symbol.expression):
            trace.guards.decide(type, symbol)
        trace.values.append(weakref.ref(self)) if trace.block is None else trace.block.note_number(
            self
        )

    # Python's numbers stay Python's: NumPy's functions would make dtypes of them.
    def _by(self, function: Any, *others: Any, swapped: bool = False) -> Any:
        symbols = [self.symbol]
        for other in others:
            symbol = symbol_of(other)
            if symbol is None:
                return NotImplemented
            symbols.append(symbol)
        if swapped:
            symbols.reverse()
        return LazyNumber(self.trace, applied(function, *symbols))

    def __bool__(self) -> bool:
        return bool(self.trace.guards.decide(operator.truth, self.symbol))

    def __index__(self) -> int:
        if not isinstance(self.symbol.value, int | np.integer):
            raise TypeError(f"'{type(self.symbol.value).__name__}' object is no integer")
        return int(self)

    def __int__(self) -> int:
        guards, symbol = self.trace.guards, self.symbol
        return int(
            guards.value(symbol) if type(symbol.value) is int else guards.decide(int, symbol)
        )

    __trunc__ = __int__

    def __float__(self) -> float:
        # What comes from integers and extents alone may be constant: it rarely changes.
        value = self.symbol.value
        if (
            self._is_known
            or isinstance(value, int | np.integer)
            or not has_argument(self.symbol.expression)
        ):
            return float(self.trace.guards.decide(float, self.symbol))
        raise unsupported(
            "A number that is an argument has no value while the function is traced.",
            "use NumPy's function of that name, such as 'np.sqrt' for 'math.sqrt'.",
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self._is_known or isinstance(self.symbol.value, bool | np.bool_ | int | np.integer):
            value = self.trace.guards.value(self.symbol)
            try:  # 'np.uint8(n)' asks with a dtype, which refuses what it does not hold
                return np.asarray(value, dtype)
            except OverflowError as error:
                raise at_line(ScalarOverflowError, f"{error}.") from None
        raise unsupported(
            "A number that is an argument has no value while the function is traced.",
            "write 'np.asarray(k, np.float32)' for 'np.float32(k)'.",
        )

    def __complex__(self) -> complex:
        if self._is_known:
            return complex(self.trace.guards.value(self.symbol))
        is_complex = isinstance(self.symbol.value, complex | np.complexfloating)
        if not is_complex and (
            isinstance(self.symbol.value, int) or not has_argument(self.symbol.expression)
        ):
            return complex(float(self))
        raise unsupported(
            "A number that is an argument has no complex value while the function is traced.",
            "write 'a + 1j * b' for 'complex(a, b)'; use a complex number as it is.",
        )

    def __iter__(self) -> Any:
        raise TypeError(f"'{type(self.symbol.value).__name__}' object is not iterable")

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return self._by(pow, other, modulus)
        found = self._by(operator.pow, other)
        return super().__pow__(other) if found is NotImplemented else found

    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:  # Python 3.14 asks the exponent, too
            return self._by(_power_of, other, modulus)
        found = self._by(operator.pow, other, swapped=True)
        return super().__rpow__(other) if found is NotImplemented else found

    def __reduce_ex__(self, protocol: Any) -> Any:
        value, kind = self.trace.guards.value(self.symbol), type(self.symbol.value)
        return value.__reduce__() if isinstance(value, np.generic) else (kind, (value,))

    @property
    def _is_known(self) -> bool:
        """Whether it has one value for good: blocks record once."""
        return self.trace.block is not None

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(self.symbol.value, np.generic):
            raise TypeError(f"'{type(self.symbol.value).__name__}' object is not subscriptable")
        return self._array[key]

    def __copy__(self, *memo: Any) -> LazyNumber:
        return self

    __deepcopy__ = __copy__

    def __round__(self, digits: Any = None) -> Any:
        return LazyNumber(self.trace, applied(round, self.symbol, constant(digits)))

    def __divmod__(self, other: Any) -> Any:
        if symbol_of(other) is None:
            return super().__divmod__(other)
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        if symbol_of(other) is None:
            return super().__rdivmod__(other)
        return other // self, other % self

    def __hash__(self) -> int:
        if self.trace.block is not None:
            return id(self)
        if self.trace.is_over:  # a key of a result
            return hash(self.symbol.value)
        return hash(self.trace.guards.value(self.symbol))

    def __str__(self) -> str:
        if self.trace.block is not None or self.trace.is_over:
            return repr(self)
        return str(self.trace.guards.value(self.symbol))

    def __format__(self, text: str) -> str:
        if self.trace.block is not None or self.trace.is_over:
            return format(repr(self), text)
        return format(self.trace.guards.value(self.symbol), text)

    def __repr__(self) -> str:
        if self.trace.block is not None or self.trace.is_over:
            return f"<traced number of type {type(self.symbol.value).__name__}>"
        return repr(self.trace.guards.value(self.symbol))

    def __getattr__(self, name: str) -> Any:
        value = self.symbol.value
        if name in NUMPYS_PROTOCOLS:
            raise AttributeError(name)
        found = getattr(value, name)  # raises as the number does
        if name in ("dtype", "shape", "ndim", "size", "itemsize", "nbytes"):
            return found
        if name.startswith("__") or not callable(found):
            raise unsupported(f"'{name}' of a number is not fused.")
        return functools.partial(self._called, name)

    def _called(self, name: str, *args: Any, **options: Any) -> Any:
        """A method of the number, with arguments."""
        if any(isinstance(value, Lazy) for value in (*args, *options.values())):
            return getattr(self._array, name)(*args, **options)
        method = _Method(name, args, options)
        if isinstance(method(self.symbol.value), np.ndarray):
            return getattr(self._array, name)(*args, **options)
        if name in _OF_NUMBERS:
            return LazyNumber(self.trace, applied(method, self.symbol))
        return self.trace.guards.decide(method, self.symbol)

    @property
    def _array(self) -> LazyArray:
        """The number as an array without dimensions."""
        dtype = np.asarray(self.symbol.value).dtype
        return LazyArray(self.trace, Storage(self.trace.scalar(self.symbol, dtype)))

    @property
    def real(self) -> Any:
        """The real part."""
        return self._by(_REAL)

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return self._by(_IMAGINARY)


# NumPy asks for these before ``__array__``, and does not get the array itself by them.
NUMPYS_PROTOCOLS = frozenset(("__array_struct__", "__array_interface__", "__buffer__"))


def _power_of(exponent: Any, base: Any, modulus: Any) -> Any:
    return pow(base, exponent, modulus)


_REAL, _IMAGINARY = operator.attrgetter("real"), operator.attrgetter("imag")
_OF_NUMBERS = ("conj", "conjugate", "astype", "item")  # each call computes them


class _Method(NumberFunction):
    """A method of a number, with arguments that are constants."""

    __slots__ = ()

    def __init__(self, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        super().__init__(name, args, tuple(options.items()))

    def __call__(self, value: Any) -> Any:
        name, args, options = self.parts
        return getattr(value, name)(*args, **dict(options))

    def __hash__(self) -> int:
        return hash(self.parts[0])


def _number_operator(function: Callable[..., Any], own: Binary, swapped: bool) -> Binary:
    def apply(self: LazyNumber, other: Any) -> Any:
        found = self._by(function, other, swapped=swapped)
        return own(self, other) if found is NotImplemented else found

    return apply


for _name in (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "lshift", "rshift", "and_", "or_", "xor",
):  # fmt: skip
    _plain = _name.rstrip("_")
    for _prefix, _swapped in (("", False), ("r", True)):
        _attribute = f"__{_prefix}{_plain}__"
        _own = getattr(Operators, _attribute)
        setattr(LazyNumber, _attribute, _number_operator(getattr(operator, _name), _own, _swapped))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    _own = getattr(Operators, f"__{_name}__")
    setattr(LazyNumber, f"__{_name}__", _number_operator(getattr(operator, _name), _own, False))
for _name in ("neg", "pos", "abs", "invert"):
    _unary = functools.partialmethod(LazyNumber._by, getattr(operator, _name))
    setattr(LazyNumber, f"__{_name}__", _unary)


_ASSIGNED = {  # what NumPy's arrays have that can be assigned
    "shape": "write 'y = x.reshape(shape)', or index with 'None' for a new axis.",
    "strides": "write a slice, or 'np.broadcast_to(x, shape)'.",
    "dtype": "convert it: 'x.astype(dtype)'.",
    "real": "write whole numbers: 'x[...] = real + 1j * imaginary'.",
    "imag": "write whole numbers: 'x[...] = real + 1j * imaginary'.",
    "flat": "write 'x[...] = value'.",
}


class LazyArray(Operators):
    """An array without elements: a value of the traced function, or a view of one."""

    __slots__ = ("__weakref__", "_nodes", "_shape", "_value", "steps", "storage", "trace")
    __hash__ = Lazy.__hash__

    __class__ = _stands_for(lambda self: self._class_for_c())

    def __init__(self, trace: Trace, storage: Storage, steps: tuple[ViewStep, ...] = ()) -> None:
        self.trace = trace
        self.storage = storage
        self.steps = steps
        shape = storage.node.shape
        for step in steps:
            shape = trace.step_shape(shape, step)
        self._shape = shape
        self._nodes: tuple[Node, Node] | None = None
        if trace.block is None:
            trace.values.append(weakref.ref(self))
        else:
            trace.block.note(self)

    def __pow__(self, other: Any) -> Any:
        # Operators have functions of their own for some exponents; their dtypes and infinities
        # are others than the power's.
        symbol = symbol_of(other)
        is_special = self.dtype.kind in "bc" and not self.is_scalar
        if is_special and symbol is not None and type(symbol.value) in (int, float):
            function = self.trace.guards.decide(Exponent(self.dtype.kind), symbol)
            if function is not None:
                return function(self)
        return np.power(self, other)

    @property
    def is_scalar(self) -> bool:
        """Whether NumPy has a scalar here, and no array without dimensions."""
        return self.storage.is_scalar and not self.steps

    @property
    def kind_for_python(self) -> type:
        """The type that plain code sees: of an array, or of one of NumPy's scalars."""
        kind = self.library_kind
        if kind is not None:
            return kind
        kind = self.trace.array_type
        if kind is np.ndarray and self.is_scalar:
            return self.dtype.type
        return kind

    @property
    def library_kind(self) -> type | None:
        """The class that plain code sees where it is no class of the backend's arrays."""
        kinds = self.trace.library_kinds
        number = self.storage.array
        if not kinds or number in kinds:
            kind = kinds.get(number)
            return kind_of_results(kind) if self.steps else kind
        is_captured = number is not None and self.trace.sources[number].captured is not None
        return None if is_captured else kinds.get(None)

    def _class_for_c(self) -> type:
        """What `isinstance` of other code than the function's asks for. torch would take anything
        that is an instance of its class for one of its objects, and read its memory.
        """
        kind = self.library_kind
        if kind is None or issubclass(kind, np.ndarray):
            return self.kind_for_python
        if is_asked_inside(3):  # above the property and its function
            return self.trace.array_type
        raise unsupported(
            f"The class of an argument is asked for, which is '{kind.__module__}.{kind.__name__}'.",
            "write 'isinstance' in the fused function itself, or in one that it calls by name, and "
            "use NumPy's functions.",
        )

    # -- in a block: a value is computed when it is asked for ------------------------------------

    def rebase(self, trace: Trace, storage: Storage) -> None:
        """Go on as the same view of a storage of another trace, whose extents are constants."""
        self.trace, self.storage, self._nodes = trace, storage, None
        self.steps = tuple(
            Broadcast(tuple(constant(extent.value) for extent in step.shape))
            if isinstance(step, Broadcast)
            else step
            for step in self.steps
        )
        self._shape = storage.node.shape
        for step in self.steps:
            self._shape = trace.step_shape(self._shape, step)

    def _asked(self) -> Any:
        """The array, where there is a value to ask for; None while a function is traced."""
        block = self.trace.block
        if block is None or self.trace.is_over:
            return None
        return block.value(self)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        found = self._asked()
        if found is None:
            return super().__array__()
        return np.array(found, dtype, copy=copy, order="K")

    __imatmul__ = _in_place(np.matmul)

    # -- what it is ----------------------------------------------------------------------------

    @property
    def node(self) -> Node:
        """Its value as it is now."""
        own = self.storage.node
        if self._nodes is not None and self._nodes[0] is own:
            return self._nodes[1]
        node = own
        for step in self.steps:
            node = View(node.dtype, self.trace.step_shape(node.shape, step), node, step)
        self._nodes = own, node
        return node

    @property
    def extents(self) -> Shape:
        """Its shape, as symbols."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Its dtype."""
        return self.storage.node.dtype

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self._shape)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Its extents: numbers that each call knows."""
        return tuple(plain_number(self.trace, extent) for extent in self._shape)

    @property
    def size(self) -> Any:
        """How many elements it has: a number that each call knows."""
        return plain_number(self.trace, size_of(self._shape))

    @property
    def itemsize(self) -> int:
        """The size of an element (bytes)."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> Any:
        """The size of all elements (bytes)."""
        return self.size * self.itemsize

    def __len__(self) -> int:
        if not self._shape:
            raise wrong_type("An array without dimensions has no length.")
        return int(self.trace.guards.value(self._shape[0]))

    def __repr__(self) -> str:
        shape = ", ".join(str(extent.value) for extent in self._shape)
        return f"<traced array of {self.dtype}, shape ({shape})>"

    # -- what it is not ------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _ASSIGNED:
            raise unsupported(
                f"'{name}' of an array is not assigned in a fused function.", _ASSIGNED[name]
            )
        object.__setattr__(self, name, value)

    def __copy__(self, *memo: Any) -> Any:
        return np.copy(self, order="K")

    def __reduce__(self, *protocol: Any) -> NoReturn:
        raise unsupported("A traced array cannot be pickled.", "return it from the function.")

    __deepcopy__, __reduce_ex__ = __copy__, __reduce__

    def __round__(self, digits: Any = None) -> Any:
        if digits is not None and self.is_scalar:
            return np.round(self, digits)
        found = self._asked()
        if found is None:
            raise unsupported(
                "'round' of an array is not fused.", "write 'np.round(x, digits)', or 'np.rint(x)'."
            )
        return round(found.item() if self.is_scalar else found)

    def __bool__(self) -> bool:
        found = self._asked()
        if found is not None:
            return bool(found)
        hint = "write 'np.where(condition, x, y)' for 'if', and '&', '|', '~' for 'and', 'or', "
        hint += "'not'."
        if (location := user_location()) is not None and location.is_while:
            hint = "fuse what one round does, and call that in the 'while'; or write a 'for'."
        sentence = "The truth of an array is not known while the function is traced."
        raise unsupported(sentence, hint)

    def __iter__(self) -> Any:
        found = self._asked()
        if found is not None:
            return iter(found)
        return iter([self[place] for place in range(len(self))])

    def _converted(self, kind: str, function: Any) -> Any:
        found = self._asked()
        if found is not None:
            return function(found)
        raise unsupported(
            f"An array has no value that '{kind}' could return while the function is traced.",
            "leave it an array: 'x.astype(dtype)' converts one.",
        )

    def __float__(self) -> float:
        return float(self._converted("float", float))

    def __int__(self) -> int:
        return int(self._converted("int", int))

    def __index__(self) -> int:
        return int(self._converted("int", operator.index))

    def __complex__(self) -> complex:
        return complex(self._converted("complex", complex))

    def item(self, *_: Any) -> Any:
        """The value, in a block; refused in a function."""
        return self._converted("item", operator.methodcaller("item"))

    def tolist(self) -> Any:
        """The value, in a block; refused in a function."""
        return self._converted("tolist", operator.methodcaller("tolist"))

    @property
    def get(self) -> Any:
        """The value, in a block; refused in a function. NumPy's arrays have no such method."""
        if self.trace.block is None and not hasattr(self.trace.array_type, "get"):
            raise AttributeError("'numpy.ndarray' object has no attribute 'get'")
        return lambda: self._converted("get", operator.methodcaller("get"))

    # -- methods that are functions ------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if name in ("__dlpack__", "__dlpack_device__", "__array_namespace__"):
            raise unsupported(f"'{name}' of an array is not fused.", "use NumPy's functions.")
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "flags" and is_asked_inside(1):  # by NumPy's own code, for the order of a result
            order = self.trace.layouts.order(self.node)
            is_reversed = self.ndim > 1 and order == (*reversed(range(self.ndim)),)
            return types.SimpleNamespace(fnc=is_reversed, contiguous=not is_reversed)
        return self.trace.handlers.method(self, name)

    @property
    def real(self) -> Any:
        """The real parts."""
        return self if self.dtype.kind != "c" else np.real(self)

    @property
    def imag(self) -> Any:
        """The imaginary parts."""
        return np.imag(self)

    # -- views ---------------------------------------------------------------------------------

    def view_of(self, *steps: ViewStep) -> LazyArray:
        """A view of this array; of NumPy's scalars, it is an array of its own."""
        storage = self._elements() if self.is_scalar and steps else self.storage
        return LazyArray(self.trace, storage, viewed_again(self.steps, steps))

    def _elements(self) -> Storage:
        """The storage of a new array that holds what a scalar is."""
        node = self.node
        storage = Storage(Cast(node.dtype, node.shape, node))
        storage.is_scalar = False
        return storage

    def __getitem__(self, key: Any) -> Any:
        if has_arrays(key):
            return self.trace.handlers.chosen(self, key)
        found = self.view_of(*_index_steps(self, key))
        if any(item is Ellipsis for item in (key if isinstance(key, tuple) else (key,))):
            return LazyArray(self.trace, self._elements()) if found.is_scalar else found
        if found.ndim:
            return found
        node = found.node  # a scalar, which is no view
        return LazyArray(self.trace, Storage(Cast(node.dtype, node.shape, node)))

    def __setitem__(self, key: Any, value: Any) -> None:
        if has_arrays(key):
            self.trace.handlers.choose(self, key, value)
            return
        steps = _index_steps(self, key)
        self.trace.handlers.assign(self.view_of(*steps) if steps else self, value)

    @property
    def T(self) -> LazyArray:  # noqa: N802 (NumPy's name)
        """The axes in reverse order."""
        return self.transpose()

    @property
    def mT(self) -> LazyArray:  # noqa: N802 (NumPy's name)
        """The last two axes exchanged."""
        if self.ndim < 2:
            raise wrong_value("'mT' needs an array of at least two dimensions.")
        return self.swapaxes(-1, -2)

    def transpose(self, *axes: Any) -> LazyArray:
        """The axes in another order."""
        if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], tuple | list | np.ndarray)):
            axes = () if axes[0] is None else tuple(axes[0])
        if not axes:
            order = tuple(reversed(range(self.ndim)))
        else:
            order = tuple(self.axis(axis) for axis in axes)
            if sorted(order) != list(range(self.ndim)):
                raise wrong_value("The axes don't match the array.")
        if order == tuple(range(self.ndim)):
            return self
        return self.view_of(Transpose(order))

    def swapaxes(self, first: Any, second: Any) -> LazyArray:
        """Two axes exchanged."""
        order = list(range(self.ndim))
        a, b = self.axis(first), self.axis(second)
        order[a], order[b] = order[b], order[a]
        return self.transpose(*order)

    def squeeze(self, axis: Any = None) -> LazyArray:
        """Without the axes that have one element."""
        if axis is None:
            chosen = {k for k, extent in enumerate(self._shape) if self.trace.is_one(extent)}
        else:
            chosen = set(self.axes(axis))
            for k in chosen:
                if not self.trace.is_one(self._shape[k]):
                    raise wrong_value("An axis that is squeezed must have one element.")
        if not chosen:
            return self
        items = tuple(0 if k in chosen else WHOLE for k in range(self.ndim))
        return self.view_of(Index(items))

    def axis(self, axis: Any) -> int:
        """An axis, counted from the front; raises for one that there is not."""
        number = operator.index(axis)
        if not -self.ndim <= number < self.ndim:
            raise at_line(
                AxisError,
                f"Axis {number} is out of bounds for an array of {self.ndim} dimensions.",
            )
        return number % self.ndim

    def axes(self, axis: Any) -> tuple[int, ...]:
        """Axes, counted from the front: all of them for None."""
        if axis is None:
            return tuple(range(self.ndim))
        if isinstance(axis, list | bool | np.bool_):
            raise wrong_type(
                f"An axis cannot be of type '{type(axis).__name__}'.",
                "give an integer, or a tuple of integers.",
            )
        if isinstance(axis, tuple):
            found = tuple(self.axis(item) for item in axis)
            if len(set(found)) != len(found):
                raise wrong_value("An axis is given twice.")
            return tuple(sorted(found))
        return (self.axis(axis),)

    def broadcast_to(self, shape: Shape) -> LazyArray:
        """The elements repeated to a shape."""
        if not self.trace.same_shape(self.trace.broadcast(self._shape, shape), shape):
            raise wrong_value(
                f"Shape {tuple(e.value for e in self._shape)} cannot be broadcast to "
                f"{tuple(e.value for e in shape)}."
            )
        if self.trace.same_shape(self._shape, shape):
            return self
        return self.view_of(Broadcast(shape))


def add_in_place(kind: type, change: Callable[[np.ufunc], Binary]) -> None:
    """Give a class Python's operators that change a value in place."""
    for name, ufunc in _IN_PLACE.items():
        setattr(kind, f"__i{name}__", change(ufunc))


_IN_PLACE = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift,
    "rshift": np.right_shift,
}  # fmt: skip
add_in_place(LazyArray, _in_place)


class PartStorage(Storage):
    """The real or imaginary parts of an array, as they are now: NumPy has a view there."""

    __slots__ = ("_function", "_kind", "_known", "whole")

    def __init__(self, whole: LazyArray, function: Any, kind: np.dtype[Any]) -> None:
        self.whole = whole
        self._function = function
        self._kind = kind
        self._known: tuple[Node, Node] | None = None
        self.array = None
        self.is_taken = False
        self.is_scalar = whole.is_scalar
        self.writes = 0

    @property
    def is_part(self) -> bool:
        """Yes."""
        return True

    def check_writable(self) -> None:
        """Refuse it."""
        raise unsupported(
            "Writing to the real or imaginary parts of an array is not fused.",
            "write whole numbers: 'x[...] = real + 1j * imaginary'.",
        )

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The parts of the value that the array has now."""
        own = self.whole.node
        if self._known is None or self._known[0] is not own:
            self._known = own, self.whole.trace.apply(self._function, [own], self._kind)
        return self._known[1]


def size_of(shape: Shape) -> Symbol:
    """How many elements a shape has."""
    return applied(product, *shape) if shape else constant(1)


def plain_number(trace: Trace, symbol: Symbol) -> Any:
    """A number that each call knows, as functions see it."""
    return symbol.value if symbol.is_constant else LazyNumber(trace, symbol)


def _index_steps(array: LazyArray, key: Any) -> tuple[ViewStep, ...]:
    items = list(key) if isinstance(key, tuple) else [key]
    found: list[Item] = []
    taken = sum(item is not None and item is not Ellipsis for item in items)
    if sum(item is Ellipsis for item in items) > 1:
        raise at_line(InvalidIndexError, "An index can only have one ellipsis.")
    if not any(item is Ellipsis for item in items):
        items.append(Ellipsis)
    for item in items:
        if item is Ellipsis:
            found += [WHOLE] * (array.ndim - taken)
        elif item is None:
            found.append(None)
        elif isinstance(item, slice):
            start, stop = (None if b is None else _index(b) for b in (item.start, item.stop))
            step = None if item.step is None else operator.index(item.step)
            found.append(Slice(start, stop, step))
        else:
            try:
                found.append(_index(item))
            except TypeError:
                sentence = f"An index cannot be of type '{type(item).__name__}'."
                hint = FIELD_HINT if isinstance(item, str) else ""
                raise at_line(InvalidIndexError, sentence, hint) from None
    if taken > array.ndim:
        sentence = f"Too many indices: the array has {array.ndim} dimensions."
        raise at_line(InvalidIndexError, sentence)
    if all(item == WHOLE for item in found):
        return ()
    return (Index(tuple(found)),)


def _index(value: Any) -> int | Symbol:
    """An index or a slice's bound: a number of each call, where the trace has not decided it."""
    if type(value) is LazyNumber and value.trace.block is None:
        number = value.symbol.value
        if isinstance(number, int | np.integer) and type(number) is not bool:
            return value.trace.guards.index(value.symbol)
    return operator.index(value)


def has_arrays(key: Any) -> bool:
    """Whether an index has masks or arrays of indices."""
    items = key if isinstance(key, tuple) else (key,)
    return any(
        (type(item) is LazyArray and item.trace.block is None)  # its class may be an integer's
        or (
            isinstance(item, Lazy | np.ndarray | list | tuple | range | bool | np.generic)
            and not isinstance(item, np.integer | LazyNumber)
        )
        or (hasattr(item, "dtype") and not isinstance(item, np.generic | LazyNumber))
        for item in items
    )


def symbol_of(value: Any) -> Symbol | None:
    """A number as a symbol; None for what is no number."""
    if isinstance(value, LazyNumber):
        return value.symbol
    is_number = isinstance(value, bool | int | float | complex | np.generic)
    return constant(value) if is_number and not isinstance(value, Lazy) else None
