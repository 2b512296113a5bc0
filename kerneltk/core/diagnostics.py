"""Reads what compilers print, and says it about the user's own source.

The logs of g++, clang (also zig's) and NVRTC are understood. A unit names the user's sources by
``#line``, so a log gives a name, a line and mostly a column of them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kerneltk.core.lexer import blanked, lex
from kerneltk.errors import Snippet, render_message

_MAX_SNIPPETS = 3
_MAX_LOG_LINES = 12

# g++, clang: `file:3:7: error: message`
_GNU = re.compile(
    r"(?P<file>.+?):(?P<line>\d+):(?:(?P<column>\d+):)? "
    r"(?P<kind>fatal error|error|warning|note|sorry, unimplemented): (?P<message>.*)"
)
# NVRTC: `file(3): error #20-D: message`
_EDG = re.compile(
    r"(?P<file>.+)\((?P<line>\d+)\): "
    r"(?P<kind>catastrophic error|internal error|error|warning|remark|note)"
    r"(?: #[\w-]+)?: (?P<message>.*)"
)
# g++ prints how it came to a location before the error itself.
_GNU_CONTEXT = re.compile(
    r"(?:(?P<file>.+?):(?P<line>\d+):(?:(?P<column>\d+):)?   (?:recursively )?required .*"
    r"|(?:In file included from| {10,}from) (?P<file2>.+?):(?P<line2>\d+)(?::(?P<column2>\d+))?[,:]"
    r"| +inlined from .+ at (?P<file3>.+?):(?P<line3>\d+):(?:(?P<column3>\d+):?)?[,:]?)"
)
_EDG_CONTEXT = re.compile(r" .*\bat line (?P<line>\d+)(?: of (?P<file>.+))?")
_EDG_EXTRA = re.compile(r" {4,}\S")
_CARET = re.compile(r"[ \t]*\^[ \t]*")
_GNU_SOURCE = re.compile(r" *(\d+ )?\| ?(?P<source>.*)")
_LEADING_NOTES = ("requested here", "in expansion of macro", "expanded from", "to match this")

_UNDEFINED = re.compile(
    r"""['"](?P<name>[A-Za-z_]\w*)['"] (?:was not declared|has not been declared|is undefined"""
    r"""|does not name a type)|(?:undeclared identifier|unknown type name) '(?P<name2>\w+)'"""
)
_SUGGESTION = re.compile(r"; did you mean ['\"](?P<name>[^'\"]+)['\"]\?$")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Location:
    """Where something is.

    Parameters
    ----------
    file : str
        As the compiler names it.
    line : int
        One-based.
    column : int or None
        One-based, in bytes of the line as the compiler saw it.
    shown : str or None
        That line, if the compiler printed it.
    """

    file: str
    line: int
    column: int | None = None
    shown: str | None = None


@dataclass(slots=True)
class Diagnostic:
    """An error that a compiler reports.

    Parameters
    ----------
    message : str
        The compiler's message, without its last period.
    locations : list of Location
        Where the error is, then the locations that led there.
    """

    message: str
    locations: list[Location] = field(default_factory=list)


def read_log(log: str) -> list[Diagnostic]:
    """Return the errors in a compiler's log, in its order."""
    return list(_read(log.replace("\0", "").split("\n")))


def _read(lines: Sequence[str]) -> Iterator[Diagnostic]:
    current: Diagnostic | None = None
    context: list[Location] = []
    is_error = False  # whether the last headline was one; warnings have contexts, too
    for index, line in enumerate(lines):
        if match := _GNU_CONTEXT.fullmatch(line):
            groups = match.groupdict()
            file, number, column = next(
                (groups[f"file{n}"], groups[f"line{n}"], groups[f"column{n}"])
                for n in ("", "2", "3")
                if groups[f"file{n}"]
            )
            context.append(Location(file, int(number), int(column) if column else None))
        elif match := _GNU.fullmatch(line):
            column = match["column"]
            shown = _gnu_source(lines, index)
            location = Location(
                match["file"], int(match["line"]), int(column) if column else None, shown
            )
            if match["kind"] == "note":
                if current and any(part in match["message"] for part in _LEADING_NOTES):
                    current.locations.append(location)
                continue
            is_error = match["kind"] != "warning"
            if is_error:
                if current:
                    yield current
                current = Diagnostic(_tidy(match["message"]), [location, *context])
            context = []
        elif match := _EDG.fullmatch(line):
            if match["kind"] == "note":
                continue
            is_error = match["kind"].endswith("error")
            if is_error:
                if current:
                    yield current
                extra, column_, shown = _edg_source(lines, index)
                message = _tidy(match["message"]) + (f" ({'; '.join(extra)})" if extra else "")
                current = Diagnostic(
                    message, [Location(match["file"], int(match["line"]), column_, shown)]
                )
        elif is_error and current and (match := _EDG_CONTEXT.fullmatch(line)):
            file = match["file"] or current.locations[0].file
            current.locations.append(Location(file, int(match["line"])))
    if current:
        yield current


def _gnu_source(lines: Sequence[str], index: int) -> str | None:
    """Return the source line that g++ or clang prints under a headline."""
    if index + 2 >= len(lines):
        return None
    if match := _GNU_SOURCE.fullmatch(lines[index + 1]):
        return match["source"]
    # Clang before 17 prints no line numbers.
    return lines[index + 1] if re.fullmatch(r"[ \t~]*\^[ \t~]*", lines[index + 2]) else None


def _edg_source(lines: Sequence[str], index: int) -> tuple[list[str], int | None, str | None]:
    """Return the message's further lines, the column and the source line that NVRTC prints."""
    extra: list[str] = []
    for number in range(index + 1, min(index + 12, len(lines) - 1)):
        line = lines[number]
        if _CARET.fullmatch(lines[number + 1]):  # both lines are indented by two spaces
            return extra, lines[number + 1].index("^") - 1, line[2:]
        if not _EDG_EXTRA.match(line):
            break
        extra.append(line.strip())
    return extra, None, None


def _tidy(message: str) -> str:
    for curly, plain in (("\u2018", "'"), ("\u2019", "'"), ("\u201c", '"'), ("\u201d", '"')):
        message = message.replace(curly, plain)
    return re.sub(r" \[-[fW][\w=+-]*\]$", "", message.strip()).removesuffix(".")


def _line_of(source: str, number: int) -> str:
    lines = source.split("\n")
    return lines[min(max(number, 1), len(lines)) - 1]


def _bytes(source: str) -> bytes:
    """The bytes of a source, which may come from a file that is not UTF-8."""
    return source.encode("utf-8", "surrogateescape")


def _column(location: Location, line: str) -> int | None:
    """Return the one-based column (characters) of a location in the user's own line."""
    if location.column is None:
        return None
    offset = location.column - 1
    seen = location.shown
    # The template puts a blank for each brace around an expression.
    for own in (line, line.expandtabs(8)):
        if (
            seen is not None
            and len(seen) <= len(own)
            and all(
                s == c or (s == " " and c in "{}")
                for s, c in zip(seen.ljust(len(own)), own, strict=True)
            )
        ):
            seen = line
    if seen is not None and seen.rstrip() not in (line.rstrip(), line.expandtabs(8).rstrip()):
        # A template may put source around the user's line, or indent it differently.
        content = line.strip()
        if content not in seen or not content:
            return None
        before = seen.partition(content)[0]
        indent = len(line) - len(line.lstrip())
        offset += len(_bytes(line[:indent])) - len(_bytes(before))
    data = _bytes(line)
    if not 0 <= offset <= len(data):
        return None
    return len(data[:offset].decode(errors="ignore")) + 1


def _user_location(error: Diagnostic, sources: Mapping[str, str]) -> tuple[Location, bool] | None:
    """Return the location in the user's sources, and whether it is the error's own."""
    for index, location in enumerate(error.locations):
        if location.file in sources:
            return location, index == 0
    return None


def _snippet(location: Location, sources: Mapping[str, str], label: str) -> Snippet:
    source = sources[location.file]
    # Behind the source is what the template puts there: a column of that is none of the source's.
    behind = location.line > source.count("\n") + 1
    column = None if behind else _column(location, _line_of(source, location.line))
    return Snippet.at_line(location.file, source, location.line, column, label)


def _is_error(line: str) -> bool:
    found = _GNU.fullmatch(line) or _EDG.fullmatch(line)
    return found is not None and found["kind"].endswith("error")


def _lone_bracket(sources: Mapping[str, str]) -> Snippet | None:
    """Return the first bracket in the user's sources that is never closed, or never opened."""
    pairs = {")": "(", "]": "[", "}": "{"}
    for name, source in sources.items():
        if lex(source).has_directives:
            continue  # what is left out may be half of a pair
        stack: list[tuple[str, int]] = []
        for match in re.finditer(r"[()\[\]{}]", blanked(source)):
            bracket = match[0]
            if bracket in "([{":
                stack.append((bracket, match.start()))
            elif bracket in pairs and stack and stack[-1][0] == pairs[bracket]:
                stack.pop()
            elif bracket in pairs and not stack:
                return Snippet(name, source, match.start(), match.end(), "this was never opened")
        if stack:
            return Snippet(name, source, stack[-1][1], stack[-1][1] + 1, "this is never closed")
    return None


_ONLY_ON_GPUS = frozenset(
    (
        *("threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "__syncthreads"),
        *("__syncwarp", "__shfl_sync", "__shfl_down_sync", "__shfl_up_sync", "__shfl_xor_sync"),
        *("clock", "clock64"),
    )
)
# What g++, clang and NVRTC say of writing to what is const.
_CONST = re.compile(
    r"read-only|modifiable lvalue|const-qualified|uninitialized .?const|discards qualifiers"
    r'|function "atomic\w+" matches .*: \(const '
)


# No one means one of these by a name; directives count as words of a source as well.
_KEYWORDS = (
    "class", "const", "define", "defined", "double", "else", "endif", "enum", "extern", "float",
    "ifdef", "ifndef", "include", "inline", "namespace", "pragma", "public", "register", "return",
    "signed", "static", "struct", "switch", "template", "this", "typedef", "typename", "undef",
    "union", "unsigned", "using", "virtual", "void", "while",
)  # fmt: skip
_OF_REDUCTIONS = ("_type_reduce", "_in_ind", "_out_ind", "_J", "_i", "_j")


def _undefined(message: str) -> str | None:
    match = _UNDEFINED.search(message)
    return (match["name"] or match["name2"]) if match else None


def _hint(
    error: Diagnostic,
    errors: Sequence[Diagnostic],
    sources: Mapping[str, str],
    names: Sequence[str],
) -> str:
    wrong = _undefined(error.message)
    if wrong is not None:
        known = dict.fromkeys((*names, *(_OF_REDUCTIONS if "map_expr" in sources else ())))
        for source in sources.values():
            known.update(dict.fromkeys(_IDENTIFIER.findall(source)))
        for word in _KEYWORDS:
            known.pop(word, None)
        for other in errors:
            known.pop(_undefined(other.message) or "", None)
        close = difflib.get_close_matches(wrong, known, n=1, cutoff=0.65)
        if close:
            return f"did you mean '{close[0]}'?"
    reduces = "map_expr" in sources
    if wrong in _ONLY_ON_GPUS:
        kind = "a reduction" if reduces else "an elementwise kernel"
        return f"'{wrong}' is there on GPUs only; a CPU runs {kind} without threads."
    if _CONST.search(error.message) and (reduces or "operation" in sources):
        if reduces:
            return "a reduction only reads its inputs; it writes its outputs, in 'post_map_expr'."
        return "an input is const: declare it as an output, or as '_non_const'."
    suggestion = _SUGGESTION.search(error.message)
    if suggestion and not suggestion["name"].startswith("_"):
        return f"did you mean '{suggestion['name']}'?"
    return ""


def compile_error_message(
    log: str, origins: Sequence[tuple[str, str]], kernel: str, names: Sequence[str] = ()
) -> str:
    """Return a message about the first errors in a compiler's log.

    Parameters
    ----------
    log : str
        What g++, clang, zig or NVRTC printed.
    origins : sequence of (str, str)
        The user's sources by the names that ``#line`` gives them.
    kernel : str
        The kernel's name.
    names : sequence of str
        Names that the user may have meant where one is undeclared; those in the user's own sources
        count anyway.

    Returns
    -------
    str
        A sentence, the user's lines with a caret, and a hint. An error that lies in generated
        code is shown with the first lines of the log.

    Examples
    --------
    >>> print(compile_error_message('operation:1:5: error: use of undeclared identifier "foo"',
    ...                             [("operation", "y = foo;")], "axpb"))
    The operation of kernel 'axpb' does not compile: use of undeclared identifier "foo".
      operation: y = foo;
                     ^^^
    """
    sources = dict(origins)
    errors = read_log(log)
    found: dict[tuple[Location, str], tuple[Diagnostic, bool]] = {}
    for error in errors:
        if user := _user_location(error, sources):
            found.setdefault((user[0], error.message), (error, user[1]))
    if not found:
        return _generated_code_message(log, errors, sources, kernel)

    snippets: list[Snippet] = []
    for (location, message), (_, is_own) in list(found.items())[:_MAX_SNIPPETS]:
        label = "" if is_own else "from here"
        if snippets:
            label = _SUGGESTION.sub("", message) + (f" ({label})" if label else "")
        if len(snippets) == _MAX_SNIPPETS - 1 and len(found) > _MAX_SNIPPETS:
            label = f"{label} (and {len(found) - _MAX_SNIPPETS} more)"
        snippet = _snippet(location, sources, label)
        if not snippets and message.startswith(("expected", "extraneous")):
            snippet = _lone_bracket({location.file: sources[location.file]}) or snippet
        snippets.append(snippet)
    first = next(iter(found.values()))[0]
    origin = snippets[0].origin
    subject = f"The {origin} of kernel" if origin.isidentifier() else "Kernel"
    return render_message(
        f"{subject} '{kernel}' does not compile: {_SUGGESTION.sub('', first.message)}.",
        *snippets,
        hint=_hint(first, errors, sources, names),
    )


def _generated_code_message(
    log: str, errors: Sequence[Diagnostic], sources: Mapping[str, str], kernel: str
) -> str:
    bracket = _lone_bracket(sources)
    snippets = [bracket] if bracket else []
    if errors and bracket and bracket.origin.isidentifier():
        sentence = (
            f"The {bracket.origin} of kernel '{kernel}' does not compile: {errors[0].message}."
        )
    elif errors:
        location = errors[0].locations[0]
        sentence = (
            f"Kernel '{kernel}' does not compile, in generated or included code "
            f"({location.file}:{location.line}): {errors[0].message}."
        )
    else:
        sentence = f"Kernel '{kernel}' does not compile, and the compiler names no location."
    lines = [line.rstrip() for line in log.replace("\0", "").strip("\n").split("\n")]
    # Warnings of headers come before what is wrong.
    first = next((n for n, line in enumerate(lines) if _is_error(line)), 0)
    lines = lines[first:]
    shown = [f"    {line}" for line in lines[:_MAX_LOG_LINES]]
    if len(lines) > _MAX_LOG_LINES:
        shown.append(f"    ... ({len(lines) - _MAX_LOG_LINES} more lines)")
    return "\n".join(
        [render_message(sentence, *snippets), "  The compiler's log:", *shown]
    ).rstrip()
