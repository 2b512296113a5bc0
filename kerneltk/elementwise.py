"""ElementwiseKernel: a kernel from an expression that is evaluated for every element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kerneltk.backends.base import capabilities_of
from kerneltk.codegen.definition import check_name
from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.codegen.specialization import LaunchGeometry
from kerneltk.core.artifacts import BackendName, TranslationUnit, checked_options, checked_texts
from kerneltk.core.recorders import Recordable, current_recorder, recorders
from kerneltk.errors import ArgumentValueError
from kerneltk.launch import dispatch
from kerneltk.launch.called import common_calls
from kerneltk.launch.expression_kernel import ExpressionKernel, given
from kerneltk.signature.parameters import Parameter, parse_signature
from kerneltk.signature.resolve import Resolved

__all__ = ["ElementwiseKernel"]


@common_calls("by count")
class ElementwiseKernel(ExpressionKernel[ElementwiseDefinition]):
    """A kernel that evaluates C++ statements for every element of its arguments.

    Arguments are broadcast against each other as NumPy does. NumPy arrays run on all cores of
    this machine, CuPy arrays on their GPU, from the same source.

    Parameters
    ----------
    in_params, out_params : str
        Parameters: ``[raw] [_non_const] TYPE name [= default]``, separated by commas. TYPE is a
        dtype's name, one letter (a type variable), or ``NAME:constraint`` for a type variable
        with a longer name or a constraint: ``Real:floating x, Real y``. A ``raw`` argument is
        indexed by the body itself: ``x[i]`` with a flat C-order index, ``x[idx]`` with an array
        of as many indices as it has dimensions, ``x.size()``, ``x.shape()``, ``x.strides()``.
    operation : str
        C++ statements. A parameter's name is its element; outputs hold what the array held.
        ``i`` is the element's C-order index (signed 64-bit), ``n`` their number, ``_ind.get()``
        the coordinates; type variables are type names.
    name : str
        The entry point's name, as profilers show it.
    reduce_dims : bool
        Whether neighbouring dimensions may be merged before ``_ind`` shows them.
    preamble : str
        C++ source before the kernel; type variables are declared already.
    no_return : bool
        Whether a call returns None.
    return_tuple : bool
        Whether a call returns a tuple even for one output.
    options : tuple of str
        Compile options, as NVRTC takes them.
    loop_prep, after_loop : str
        C++ source in the kernel's scope before and after the elements of one thread.

    Attributes
    ----------
    in_params, out_params, params : tuple of Parameter
    nin, nout, nargs : int

    Raises
    ------
    SignatureError
        A parameter string or the name is not valid.

    Examples
    --------
    >>> import numpy as np
    >>> axpb = ElementwiseKernel("T x, T a, T b", "T y", "y = a * x + b", "axpb")
    >>> axpb(np.arange(4, dtype=np.float32), 2, 1)
    array([1., 3., 5., 7.], dtype=float32)
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        reduce_dims: bool = True,
        preamble: str = "",
        no_return: bool = False,
        return_tuple: bool = False,
        *,
        options: Sequence[str] = (),
        loop_prep: str = "",
        after_loop: str = "",
    ) -> None:
        in_params, out_params, operation, name, preamble, loop_prep, after_loop = checked_texts(
            in_params=in_params, out_params=out_params, operation=operation, name=name,
            preamble=preamble, loop_prep=loop_prep, after_loop=after_loop,
        )  # fmt: skip
        check_name(name)
        compile_options = checked_options(options)
        signature = parse_signature(in_params, out_params)
        self._begin(
            ElementwiseDefinition(
                signature,
                name,
                preamble,
                compile_options,
                operation,
                bool(reduce_dims),
                loop_prep,
                after_loop,
                bool(no_return),
                bool(return_tuple),
            )
        )

    # -- what was given ------------------------------------------------------------------------

    @property
    def params(self) -> tuple[Parameter, ...]:
        """Inputs, outputs and ``_ind``."""
        index = Parameter("_ind", None, None, is_const=False)
        return (*self._definition.signature.parameters, index)

    operation: str = given("operation", "The operation's source.")
    reduce_dims: bool = given(
        "reduce_dims", "Whether neighbouring dimensions may be merged before ``_ind`` shows them."
    )
    no_return: bool = given("no_return", "Whether a call returns None.")
    return_tuple: bool = given(
        "return_tuple", "Whether a call returns a tuple even for one output."
    )

    @property
    def kwargs(self) -> dict[str, Any]:
        """The options and sources beyond the first eight parameters, where they were given."""
        definition = self._definition
        values = {
            "options": definition.options,
            "loop_prep": definition.loop_prep,
            "after_loop": definition.after_loop,
        }
        return {key: value for key, value in values.items() if value}

    # -- calls ------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate the operation for every element.

        Parameters
        ----------
        *args : array or number
            The inputs, or the inputs and the outputs, in the parameters' order. Inputs may be
            given by keyword; those with a default may be left out.
        size : int, optional
            Number of elements, if and only if every array is raw.
        stream : optional
            A stream of any library, or a handle; if not given, the current one of the library
            whose arrays they are. The host has none.
        block_size : int, optional
            Threads of a block on a GPU; chosen if not given.
        backend : {"host", "cuda"}, optional
            Where a call without any array runs; if not given, on the GPU in a program that has
            imported CuPy and has one, and on the host otherwise.

        Returns
        -------
        array, tuple of arrays or None
            The outputs, of the arguments' kind.

        Raises
        ------
        ArgumentTypeError
            Wrong number, kind or dtype of arguments.
        ArgumentValueError
            Shapes that do not go together, a size that is missing or too much, a read-only output.
        ScalarOverflowError
            An integer that its parameter's dtype cannot hold.
        CompileError
            The compiler refused the kernel's source.
        BackendUnavailableError
            There is no compiler or driver for the arrays' backend.
        DivisionError
            On the host, the operation divided an integer by zero.
        """
        if recorders and (recorder := current_recorder()) is not None:
            return recorder.call(self._recordable(args, kwargs))
        if kwargs:
            return self._call(args, kwargs)
        try:
            run = self._inline_cache[len(args)]
        except IndexError:  # too many
            return self._call(args, kwargs)
        return run(*args)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        override = dispatch.override_of(args, self._definition.override_method)
        if override is not None:
            return override(self, *args, **kwargs)
        options = dispatch.read_options(kwargs)
        args = dispatch.arrange(self.name, self._definition.signature, args, kwargs)
        return self._dispatcher.dispatch(args, options.stream, options.plan_key, options.backend)

    def _recordable(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Recordable:
        options = dispatch.read_options(kwargs)
        values = dispatch.arrange(self.name, self._definition.signature, args, kwargs)
        of_results = options._replace(size=None)  # they have it
        return self._dispatcher.recordable(
            values, options.plan_key, options.backend, of_results.plan_key
        )

    # -- what was made ------------------------------------------------------------------------

    def translation_unit(
        self,
        *args: Any,
        backend: BackendName = "cuda",
        size: int | None = None,
        block_size: int | None = None,
        **named: Any,
    ) -> TranslationUnit:
        """Return the source that a call with such arguments compiles, without a GPU or any memory.

        Parameters
        ----------
        *args : ArraySpec, array, number, number type or dtype
            One an input, or one an input and an output; also by keyword, and left out where there
            is a default. A dtype or a type stands for a scalar.
        backend : {"cuda", "host"}
        size, block_size : int, optional
            As in a call.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            As a call does; also where the loop has no elements, which compiles nothing, and for a
            backend that there is not.

        Examples
        --------
        >>> from kerneltk import ArraySpec
        >>> kernel = ElementwiseKernel("T x, T a", "T y", "y = a * x", "scale")
        >>> unit = kernel.translation_unit(ArraySpec.make("float32", (1024,)), float)
        >>> unit.entry, "blockIdx" in unit.source
        ('scale', True)
        """
        own = {"size": size, "block_size": block_size}
        return self._unit(*args, backend=backend, **own, **named)

    def _geometry(
        self, *args: Any, backend: BackendName = "cuda", size: int | None = None,
        block_size: int | None = None, **named: Any,
    ) -> tuple[Resolved, LaunchGeometry]:  # fmt: skip
        capabilities = capabilities_of(backend)
        options = dispatch.read_options({"size": size, "block_size": block_size})
        args = dispatch.arrange(self.name, self._definition.signature, args, named)
        resolved, found = self._described(self._definition, args, capabilities, options.plan_key)
        if found is None:
            raise ArgumentValueError(f"A loop of shape {resolved.shape} compiles nothing.")
        return resolved, found
