"""Machine code of GPUs as text."""

from __future__ import annotations

from kerneltk.backends import temporary
from kerneltk.backends.cuda.toolkit import find_program, run_program
from kerneltk.core.artifacts import ObjectCode, kind_of_code
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, BackendUnavailableError

_TIME_LIMIT = 120.0


def disassemble(code: ObjectCode | bytes) -> str:
    r"""Return the machine instructions (SASS) of a cubin, or PTX as it is.

    Parameters
    ----------
    code : ObjectCode or bytes
        A cubin or PTX, for example what ``compile_for("sm_90")`` returns.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        It is neither.
    BackendUnavailableError
        It is a cubin, and ``nvdisasm`` is missing or older than its architecture.

    Examples
    --------
    >>> disassemble(b".version 8.8\n.target sm_90\n")
    '.version 8.8\n.target sm_90\n'
    """
    data = code.code if isinstance(code, ObjectCode) else code
    if not isinstance(data, bytes):
        raise ArgumentTypeError(
            f"'code' must be an ObjectCode or bytes, not an object of type '{type(code).__name__}'."
        )
    kind = kind_of_code(data)
    if kind == "ptx":
        return data.rstrip(b"\0").decode(errors="replace")
    if kind != "cubin":
        raise ArgumentValueError(
            "Only a cubin and PTX can be shown.\n  Hint: compile for 'sm_XX' or 'compute_XX'."
        )
    program = find_program("nvdisasm")
    if program is None:
        raise BackendUnavailableError(
            "nvdisasm, the disassembler of the CUDA toolkit, is neither on PATH nor in CUDA_HOME.\n"
            "  Hint: install the CUDA toolkit; PTX needs nothing: target 'compute_90', not 'sm_90'."
        )
    with temporary.directory() as directory:
        (directory / "code.cubin").write_bytes(data)
        try:
            status, output, messages = run_program(
                [str(program), "-c", "code.cubin"], str(directory), _TIME_LIMIT
            )
        except (OSError, TimeoutError) as error:
            raise BackendUnavailableError(f"'{program}' cannot be run: {error}.") from error
    if status:
        raise BackendUnavailableError(f"'{program}' fails: {(messages or output).strip()}")
    return output
