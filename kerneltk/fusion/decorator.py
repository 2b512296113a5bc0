"""``fuse``: the decorator."""

from __future__ import annotations

import contextlib
import functools
import operator
import sys
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from kerneltk.core.artifacts import BackendName, TranslationUnit
from kerneltk.core.identifiers import identifier_problem
from kerneltk.core.recorders import current_recorder, recorders
from kerneltk.errors import ArgumentTypeError, SignatureError
from kerneltk.launch.called import Called, common_calls

if TYPE_CHECKING:
    from kerneltk.fusion.programs import Programs


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
        self._programs: Programs | None = None  # which the first call makes
        self._shortcut: Callable[..., Any] = self._first

    def __repr__(self) -> str:
        return f"<Fused {self.name}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return functools.partial(self, instance)

    def __reduce__(self) -> Any:
        name = getattr(self, "__qualname__", "")
        with contextlib.suppress(AttributeError, KeyError):
            if operator.attrgetter(name)(sys.modules[self.__module__]) is self:
                return name  # as functions are pickled: by it
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
            return self._known.record(args, kwargs)
        if kwargs:
            bound = _by_position(self._function, args, kwargs)
            if bound is None:
                return self._known.call(args, kwargs)
            args = bound
        return self._shortcut(*args)

    def _first(self, *args: Any) -> Any:
        return self._known.call_again(args)

    @property
    def _known(self) -> Programs:
        if self._programs is None:
            from kerneltk.fusion.programs import Programs  # decorating loads nothing that traces

            self._programs = Programs(self)
        return self._programs

    def clear_cache(self) -> None:
        """Forget all traces: the next calls trace the function again."""
        self._programs, self._shortcut = None, self._first

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
        return self._known.explanation(args, kwargs)

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
        return self._known.translation_units(args, kwargs, backend)


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


def _kernel_name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", "fused")

    return "fused" if identifier_problem(name) else name


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
