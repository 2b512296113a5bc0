"""``vectorize``: a function of numbers, or of small arrays, as one of whole arrays, called as by
NumPy's ``vectorize``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneltk.backends import foreign_arrays
from kerneltk.core.artifacts import Capabilities, checked_options
from kerneltk.core.recorders import Recordable, current_recorder, recorders
from kerneltk.core.records import BoundedTable, cached_property
from kerneltk.errors import ArgumentTypeError, ArgumentValueError
from kerneltk.interop.streams import stream_handle
from kerneltk.jit.frontends.kernel import OfElements, TypedCall
from kerneltk.jit.frontends.rawkernel import Definition, checked_function
from kerneltk.jit.frontends.vectorized_kernel import DTypes, VectorizedKernel, result_dtypes
from kerneltk.jit.launch.marshalling import is_array

# A call loads what compiles the function: decorating it takes none of that.
if TYPE_CHECKING:
    from kerneltk.jit.frontends.core_kernel import CoreKernel
    from kerneltk.jit.frontends.core_signature import CoreSignature

_OPTIONS = ("out", "stream", "block_size", "backend")
_MOST_KERNELS = 256  # of one function, for the values of what is passed whole
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_NUMBERS = (int, float, complex, np.number)


class Vectorized(OfElements):
    """A function that is called for every element of its arguments, or for every core.

    Made by :func:`vectorize`. NumPy arrays run on the cores of this machine, CuPy arrays on their
    GPU. It is compiled for each combination of dtypes when it is first called with it.

    Attributes
    ----------
    pyfunc, __wrapped__ : function
        The function itself.
    excluded : frozenset of int or str
        The positions and the keywords that are passed whole.
    signature : str or None
    otypes : tuple of np.dtype or None
    cache : bool
        As it was given; the function is compiled, and never called to find its results' dtypes.
    """

    _distinguished, _verb = "argument types", "call"

    def __init__(
        self,
        definition: Definition,
        otypes: DTypes | None = None,
        doc: str | None = None,
        excluded: frozenset[int | str] = frozenset(),
        cache: bool = False,
        signature: str | None = None,
    ) -> None:
        functools.update_wrapper(self, definition.function)
        self._definition = definition
        if doc is not None:
            self.__doc__ = doc
        self._doc = doc
        self.pyfunc = definition.function
        self._otypes = otypes
        self._excluded = excluded
        self._cache = cache
        self._signature = signature
        self._core: CoreSignature | None = None
        if signature is not None:
            from kerneltk.jit.frontends.core_signature import parse_core_signature

            self._core = parse_core_signature(signature)
            count = len(self._core.outputs)
            if otypes is not None and len(otypes) != count:
                raise ArgumentValueError(
                    f"'otypes' names {len(otypes)} dtype{'s' * (len(otypes) != 1)}, and the "
                    f"signature '{self._core.text}' has {count} output{'s' * (count != 1)}."
                )
        self._kernels: BoundedTable[Any, VectorizedKernel | CoreKernel]
        self._kernels = BoundedTable(_MOST_KERNELS)
        self._plain: Callable[..., Any] = self._first
        self._plain_count = -1

    # Kernels are made by them: what is set later would be for some calls alone.

    otypes = property(attrgetter("_otypes"), doc="The results' dtypes, if they are given.")
    excluded = property(attrgetter("_excluded"), doc="What is passed whole.")
    cache = property(attrgetter("_cache"), doc="As it was given.")
    signature = property(attrgetter("_signature"), doc="The signature, if one is given.")

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function for every element, or for every core.

        Parameters
        ----------
        *args, **named : array, number or list
            One a parameter of the function; defaults are its own. What is excluded may be anything
            that a kernel takes or that is known when it is compiled.
        out : array or tuple of arrays, optional
            Where results go, instead of new arrays.
        stream, block_size, backend : optional
            As for `ElementwiseKernel`.

        Returns
        -------
        array or tuple of arrays
            One array a value that the function returns; without dimensions for numbers.

        Raises
        ------
        TypingError, UnsupportedError
            The function does not fit these arguments, at its line.
        ArgumentTypeError, ArgumentValueError
            Arguments of other kinds, or shapes that do not go together.
        """
        if not named and len(args) == self._plain_count and not (recorders and self._core):
            return self._plain(*args)
        return self._call(args, named)

    def _first(self, *args: Any) -> Any:
        return self._call(args, {})

    # -- which kernel --------------------------------------------------------------------------

    @cached_property
    def _parameters(self) -> dict[str, inspect.Parameter]:
        return dict(self._definition.signature.parameters)

    @cached_property
    def _positional(self) -> tuple[str, ...]:
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return tuple(name for name, p in self._parameters.items() if p.kind in kinds)

    @cached_property
    def _option_names(self) -> tuple[str, ...]:
        inputs = [name for name in self._parameters if name not in self._output_parameters]
        return tuple(name for name in _OPTIONS if name not in inputs)

    @cached_property
    def _assigned(self) -> Collection[str]:
        from kerneltk.jit.source.scope import scope_of

        return scope_of(self._definition.source.node).assigned

    @cached_property
    def _output_parameters(self) -> tuple[str, ...]:
        """The parameters that the function of a signature writes its results to."""
        core = self._core
        if core is None:
            return ()
        left = [
            name
            for k, name in enumerate(self._positional)
            if k not in self.excluded and name not in self.excluded
        ]
        inputs, outputs = len(core.inputs), len(core.outputs)
        required = [n for n in left if self._parameters[n].default is inspect.Parameter.empty]
        for names in (required, left):
            if len(names) == inputs:
                return ()
            if len(names) == inputs + outputs:
                return tuple(names[inputs:])
        raise ArgumentValueError(
            f"'{self.name}' has {len(left)} parameter{'s' * (len(left) != 1)} that "
            f"{'are' if len(left) != 1 else 'is'} not excluded, and its signature '{core.text}' "
            f"has {inputs} input{'s' * (inputs != 1)} and {outputs} output{'s' * (outputs != 1)}.\n"
            "  Hint: a function takes its inputs and returns results, or takes the outputs behind "
            "them and writes."
        )

    def _check_excluded(self) -> None:
        for item in self.excluded:
            if isinstance(item, str):
                is_known = item in self._parameters
            else:
                is_known = 0 <= item < len(self._positional)
            if not is_known:
                what = f"parameter '{item}'" if isinstance(item, str) else f"position {item}"
                raise ArgumentValueError(
                    f"'excluded' names {what}, which '{self.name}' does not have."
                )

    def _call(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        options = {key: named.pop(key) for key in self._option_names if key in named}
        kernel, values, outputs = self._bound(args, named, options)
        if isinstance(kernel, VectorizedKernel):
            if not named and not options and kernel.is_plain(len(args)):
                self._plain, self._plain_count = kernel, len(args)
            return kernel(*values, **options)
        options.pop("out", None)
        if recorders and (recorder := current_recorder()) is not None:
            return recorder.call(self._recordable(kernel, values, outputs, options))
        if not (named or options or outputs or self.excluded) and kernel.is_plain(len(args)):
            self._plain, self._plain_count = kernel.plain, len(args)
            return kernel.plain(*args)
        return kernel(values, outputs, options)

    def _bound(
        self, args: tuple[Any, ...], named: dict[str, Any], options: dict[str, Any]
    ) -> tuple[VectorizedKernel | CoreKernel, tuple[Any, ...], tuple[Any, ...]]:
        """Return the kernel of a call, what it is given for each parameter, and the outputs."""
        core, behind = self._core, self._output_parameters
        outputs: tuple[Any, ...] = ()
        if core is not None:
            out = options.get("out")
            outputs = () if out is None else out if isinstance(out, tuple) else (out,)
            wanted = len(self._positional) - len(behind)
            if behind and len(args) == len(self._positional):
                if out is not None:
                    raise ArgumentTypeError(
                        f"'{self.name}' is given its outputs twice.\n"
                        "  Hint: pass them behind the inputs, or as 'out'."
                    )
                outputs, args = args[wanted:], args[:wanted]
        try:
            bound = self._definition.signature.bind_partial(*args, **named).arguments
        except TypeError as error:
            raise ArgumentTypeError(f"'{self.name}': {error}.") from None
        roles: list[str] = []
        values: list[Any] = []
        constants: list[tuple[str, Any]] = []
        for index, (name, parameter) in enumerate(self._parameters.items()):
            if parameter.kind in _VARIADIC:
                continue  # which kernels refuse, at its line
            if name in behind:
                if name in bound:
                    raise ArgumentTypeError(
                        f"'{self.name}' is given '{name}', one of its outputs, by name.\n"
                        "  Hint: pass it as 'out'."
                    )
                role, value = "output", None
            elif name not in bound:
                value = parameter.default
                if value is inspect.Parameter.empty:
                    raise ArgumentTypeError(
                        f"'{self.name}' is called without an argument for '{name}'."
                    )
                role = "constant"
            else:
                value = bound[name]
                is_positional = index < len(args)
                is_whole = (index if is_positional else name) in self.excluded
                role, value = _role(value) if is_whole else ("input", value)
                if value is None:
                    role = "constant"
            if role == "constant" and isinstance(value, bool | int | float | complex | np.number):
                # A name that the function assigns to is a variable, and has no value of its own.
                role = "number" if name in self._assigned else role
            if role == "constant":
                constants.append((name, _constant(value)))
                value = None
            roles.append(role)
            values.append(value)
        return self._kernel(tuple(roles), tuple(constants)), tuple(values), outputs

    def _kernel(
        self, roles: tuple[str, ...], constants: tuple[tuple[str, Any], ...]
    ) -> VectorizedKernel | CoreKernel:
        key = roles, tuple((name, _constant_key(value)) for name, value in constants)
        found: VectorizedKernel | CoreKernel | None
        try:
            found = self._kernels.get(key)
        except TypeError:
            name = next(name for name, value in constants if not _is_hashable(value))
            raise ArgumentTypeError(
                f"The argument for '{name}' of '{self.name}' is neither an array nor a number, and "
                "cannot be hashed.\n"
                "  Hint: pass an array, a number, a str, or a tuple or list of these."
            ) from None
        if found is not None:
            return found
        self._check_excluded()
        names = self._definition.parameters
        definition = replace(self._definition, constants=constants)
        if self._core is None:
            elements = [role == "input" for role in roles]
            whole = [name for name, role in zip(names, roles, strict=True) if role == "whole"]
            found = VectorizedKernel(definition, elements, whole, self.otypes)
        else:
            from kerneltk.jit.frontends.core_kernel import CoreKernel

            count = roles.count("input")
            if count != len(self._core.inputs):
                raise ArgumentValueError(
                    f"'{self.name}' is given {count} argument{'s' * (count != 1)} that "
                    f"{'are' if count != 1 else 'is'} not excluded, and its signature "
                    f"'{self._core.text}' has {len(self._core.inputs)}."
                )
            found = CoreKernel(definition, self._core, roles, self.otypes)  # type: ignore[arg-type]
        self._kernels[key] = found
        return found

    def _recordable(
        self,
        kernel: CoreKernel,
        values: tuple[Any, ...],
        outputs: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Recordable:
        options = dict(options)
        stream = options.pop("stream", None)
        if stream is not None:
            stream_handle(stream)
        # Outputs and constants among the parameters are no arguments.
        given = [k for k, value in enumerate(values) if value is not None]
        count = len(given)

        def run(recorded: tuple[Any, ...]) -> Any:
            inputs: list[Any] = [None] * len(values)
            for k, value in zip(given, recorded, strict=False):
                inputs[k] = value
            return kernel(tuple(inputs), recorded[count:], options)

        names = tuple(self._definition.parameters[k] for k in given)
        own = tuple(values[k] for k in given)
        as_numbers = foreign_arrays.host_scalars_as_numbers
        return Recordable(self.name, names, (*own, *outputs), count, run, as_numbers)

    # -- what was made -------------------------------------------------------------------------

    def element_kernel(self) -> VectorizedKernel:
        """The kernel of operators: every parameter is an element of its argument. Python's numbers
        are weak there, as they are to torch and JAX.

        Raises
        ------
        ArgumentTypeError
            The function has a signature, or arguments that are passed whole.
        """
        if self._core is not None or self.excluded:
            what = "a signature" if self._core is not None else "excluded arguments"
            raise ArgumentTypeError(
                f"'{self.name}' has {what}, and only functions of elements become operators."
            )
        kernel = self._kernel(("number",) * len(self._definition.parameters), ())
        assert isinstance(kernel, VectorizedKernel)
        return kernel

    def _made_of(self) -> tuple[Any, ...]:
        return (
            self._definition, self.otypes, self._doc, self.excluded, self.cache, self.signature
        )  # fmt: skip

    @property
    def cached_codes(self) -> dict[Any, str]:
        """The generated sources, by the roles and the dtypes of the arguments."""
        return {
            (key, *own): source
            for key, kernel in self._kernels.items()
            for own, source in kernel.cached_codes.items()
        }

    def _typed_call(
        self, args: Sequence[Any], out: Any, backend: Capabilities, named: dict[str, Any]
    ) -> TypedCall:
        options = {key: named.pop(key) for key in self._option_names if key in named}
        kernel, values, _ = self._bound(tuple(args), named, {})
        if isinstance(kernel, VectorizedKernel):
            return kernel._typed_call(values, out, backend, options)
        return kernel.typed_call(values, backend)


def _role(value: Any) -> tuple[str, Any]:
    """Return how an argument is passed that is not taken by element, and as what."""
    if isinstance(value, bool | np.bool_):
        return "constant", bool(value)
    if isinstance(value, _NUMBERS):
        return "number", value
    if is_array(value):
        if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.names is None:
            return _role(value[()])
        return "whole", value
    return "constant", value


def _constant(value: Any) -> Any:
    """A value as kernels know it: of a list they know the items."""
    if type(value) in (list, tuple):
        return tuple(map(_constant, value))
    return value


def _constant_key(value: Any) -> Any:
    """What a constant is known by. ``(1,) == (1.0,)``, and ``0.0 == -0.0``, but they are other
    constants.
    """
    if isinstance(value, tuple):
        return type(value), tuple(map(_constant_key, value))
    if isinstance(value, float | complex | np.inexact):
        return type(value), repr(value)
    return type(value), value


def _is_hashable(value: Any) -> bool:
    try:
        hash(_constant_key(value))
    except TypeError:
        return False
    return True


def _excluded(excluded: Any) -> frozenset[int | str]:
    if excluded is None:
        return frozenset()
    if isinstance(excluded, int | str):
        excluded = (excluded,)
    if not isinstance(excluded, Iterable):
        raise ArgumentTypeError(
            f"'excluded' must be a set of positions and names, not {excluded!r}."
        )
    found = list(excluded)
    for item in found:
        if not isinstance(item, str | int | np.integer) or isinstance(item, bool):
            raise ArgumentTypeError(
                f"'excluded' has positions and names of parameters, and {item!r} is neither."
            )
    return frozenset(item if isinstance(item, str) else int(item) for item in found)


def vectorize(
    pyfunc: Callable[..., Any] | None = None,
    otypes: Any = None,
    doc: str | None = None,
    excluded: Any = None,
    cache: bool = False,
    signature: str | None = None,
    *,
    options: Sequence[str] = (),
    fastmath: bool = False,
) -> Any:
    """Make a function of numbers one of whole arrays, as NumPy's and CuPy's ``vectorize``.

    The function is written in restricted Python and compiled for the dtypes of its arguments, at
    the first call with them. Arguments are broadcast against each other. NumPy arrays run on all
    cores of this machine, CuPy arrays on their GPU.

    Parameters
    ----------
    pyfunc : function, optional
        Takes one element of each argument, and returns one of the result, or a tuple of several.
        Without it a decorator is returned.
    otypes : str or list of dtypes, optional
        Dtypes of the results, to which values are cast; by default those of the values.
    doc : str, optional
        The docstring; by default the function's.
    excluded : set of int or str, optional
        Arguments that are passed whole: positions of positional ones, names of keywords. Numbers
        stay numbers, arrays are whole arrays, anything else is known when it is compiled.
    cache : bool
        Taken as NumPy takes it, and has no effect: the function is never called to look at what it
        returns.
    signature : str, optional
        Core dimensions, as ``"(m,n),(n)->(m)"``: parameters are arrays of these dimensions, and the
        loop is over the others. The function returns a number for ``()`` and a tuple of numbers
        for ``(n)``; or it takes the outputs as parameters behind the inputs, and writes to them.
        A number is an extent that is known.
    options : tuple of str
        Compile options, as NVRTC takes them.
    fastmath : bool
        Whether GPUs may use their fast, less exact functions.

    Returns
    -------
    Vectorized
        Called with arrays, numbers and lists.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, SignatureError
        An option is not valid, or what is decorated is no function.

    Examples
    --------
    >>> import numpy as np
    >>> import kerneltk
    >>> @kerneltk.vectorize
    ... def bounded(x, low, high):
    ...     if x < low:
    ...         return low
    ...     return min(x, high)
    >>> bounded(np.array([0.5, 2.5, 9.5]), 1.0, [3.0, 2.0, 4.0])
    array([1., 2., 4.])

    >>> @kerneltk.vectorize(signature="(n),(n)->()")
    ... def distance(x, y):
    ...     total = 0.0
    ...     for k in range(x.size):
    ...         total += (x[k] - y[k]) ** 2
    ...     return np.sqrt(total)
    >>> distance(np.zeros((2, 2)), np.array([3.0, 4.0]))
    array([5., 5.])
    """
    if isinstance(pyfunc, list | tuple | str):
        raise ArgumentTypeError(
            "'vectorize' takes no types of arguments: it is compiled for those of each call.\n"
            "  Hint: write '@kerneltk.vectorize'; 'otypes' names the results' dtypes."
        )
    if doc is not None and not isinstance(doc, str):
        raise ArgumentTypeError(f"'doc' must be a str, not {doc!r}.")
    given, left_out, checked = result_dtypes(otypes), _excluded(excluded), checked_options(options)
    kind: type[Definition] = Definition
    if signature is not None:
        from kerneltk.jit.frontends.core_signature import parse_core_signature
        from kerneltk.jit.frontends.core_source import CoreFunction

        parse_core_signature(signature)
        kind = CoreFunction

    def decorate(decorated: Callable[..., Any]) -> Vectorized:
        function = checked_function(decorated, "vectorize")
        definition = kind(function, "numpy", checked, (), bool(fastmath))
        return Vectorized(definition, given, doc, left_out, bool(cache), signature)

    return decorate if pyfunc is None else decorate(pyfunc)
