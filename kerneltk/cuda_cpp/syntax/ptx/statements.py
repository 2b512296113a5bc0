"""Inline PTX of a source as C++ for CPU cores.

An ``asm`` statement whose instructions are PTX becomes a block of C++ on its first line: operands
are copied into variables, instructions are calls of ``kerneltk/host_ptx.hpp``
(:mod:`instructions`), and results are copied back. A statement in a macro stays in the macro.
An instruction that CPU cores do not have becomes an error of the thread that reaches it; what is no
PTX, or is put together by macros, stays as it is.

PTX is described in NVIDIA's *Parallel Thread Execution ISA*, the statement in *Inline PTX Assembly
in CUDA*.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from kerneltk.core.lexer import CHARACTER, COMMENT, NUMBER, RAW_STRING, STRING, with_edits
from kerneltk.cuda_cpp.syntax.ptx.instructions import (
    REGISTER_TYPES,
    Headers,
    Instruction,
    NotPtxError,
    Operand,
    RefusedError,
    call_of,
    first_instruction,
    number_of,
)

_SCAN = re.compile(
    rf"{COMMENT}|{RAW_STRING}|{STRING}|{NUMBER}|{CHARACTER}"
    r"|(?<!\w)(?P<asm>asm|__asm__|__asm)(?!\w)"
)
_QUALIFIERS = re.compile(rf"(?:\s|\\\n|{COMMENT}|(?:volatile|__volatile__|__volatile)(?!\w))*\(")
_PIECE = re.compile(
    rf"(?P<noise>\s+|\\\n|{COMMENT})|(?P<raw>{RAW_STRING})|(?P<literal>{STRING})|{CHARACTER}"
    r"|::|[^\W\d]\w*|."
)
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]+)|\n|(.))")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f", "a": "\a", "b": "\b"}
_CONSTRAINTS = {
    "r": "unsigned int",
    "l": "unsigned long long",
    "h": "unsigned short",
    "f": "float",
    "d": "double",
    "n": "long long",
    "i": "long long",
}


class _Argument(NamedTuple):
    """An operand of the statement."""

    name: str  # of ``%[name]``, or empty
    constraint: str
    expression: str  # C++


@dataclass(slots=True)
class _Statement:
    """An ``asm`` statement."""

    end: int  # behind its closing parenthesis
    text: str  # its instructions
    outputs: list[_Argument]
    inputs: list[_Argument]
    breaks: str  # the ends of lines in it, so that lines behind it keep their numbers


def _decoded(literal: str) -> str:
    """Return the value of a string literal."""

    def value(found: re.Match[str]) -> str:
        if found[1]:
            return chr(int(found[1], 8))
        if found[2]:
            return chr(int(found[2], 16))
        return _ESCAPED.get(found[3], found[3]) if found[3] else ""

    return _ESCAPE.sub(value, literal[1:-1])


def _read_statement(source: str, start: int) -> _Statement | None:
    """Return the statement whose arguments begin at `start`, behind its parenthesis; None where it
    is none that can be read.
    """
    sections: list[list[list[tuple[str, str]]]] = [[[]]]
    depth, braces = 1, 0
    position = start
    while depth:
        found = _PIECE.match(source, position)
        if found is None or found[0] == "#":
            return None
        position = found.end()
        piece = found[0]
        # An operand may be `unsigned{x}` or call a lambda.
        braces += piece == "{"
        braces -= piece == "}"
        if braces < 0 or (piece == ";" and braces == 0) or (piece in "{}" and depth == 1):
            return None
        kind = found.lastgroup if found.lastgroup in ("noise", "literal", "raw") else ""
        if found["raw"]:
            kind = "raw"
        depth += piece == "("
        depth -= piece == ")"
        if depth == 0:
            break
        if depth == 1 and piece in (":", "::"):
            sections += [[[]] for _ in piece]
        elif depth == 1 and piece == ",":
            sections[-1].append([])
        else:
            sections[-1][-1].append((kind or "", piece))
    pieces = [p for p in (item for part in sections[0] for item in part) if p[0] != "noise"]
    if len(sections[0]) != 1 or not pieces or any(not kind for kind, _ in pieces):
        return None
    text = "".join(
        p[p.index("(") + 1 : p.rindex(")")] if kind == "raw" else _decoded(p) for kind, p in pieces
    )
    operands = []
    for section in sections[1:3]:
        read = [_read_argument(part) for part in section if any(k != "noise" for k, _ in part)]
        if None in read:
            return None
        operands.append([argument for argument in read if argument is not None])
    outputs, inputs = [*operands, [], []][:2]
    breaks = "".join(re.findall(r"\\\n|\n", source[start:position]))
    return _Statement(position, text, outputs, inputs, breaks)


def _read_argument(pieces: list[tuple[str, str]]) -> _Argument | None:
    rest = [piece for kind, piece in pieces if kind != "noise"]
    name = ""
    if rest[:1] == ["["] and len(rest) > 3 and rest[2] == "]":
        name, rest = rest[1], rest[3:]
    if len(rest) < 4 or rest[0][0] != '"' or rest[1] != "(" or rest[-1] != ")":
        return None
    opening = next(k for k, (_, piece) in enumerate(pieces) if piece == "(")
    expression = "".join(" " if kind == "noise" else piece for kind, piece in pieces[opening:])
    return _Argument(name, _decoded(rest[0]), expression.strip())


_PTX_NOISE = re.compile(COMMENT)
_PTX_TOKEN = re.compile(
    r"%\[\w+\]|%%?[A-Za-z_$][\w$.]*|%\d+|0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}"
    r"|(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d\w*|\.[A-Za-z]\w*|[A-Za-z_$](?:[\w$.]|::)*|[^\s\w]"
)


_STATE_SPACES = (".shared", ".local", ".global", ".const", ".param", ".tex")
# What constant expressions are made of, beside numbers and operands.
_OPERATORS = re.compile(r"[-+*/%&|^~!()<>]")


@dataclass(slots=True)
class _Translation:
    """A statement's instructions as C++."""

    statement: _Statement
    headers: Headers = field(default_factory=set)
    scopes: list[dict[str, str]] = field(default_factory=lambda: [{}])
    code: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    # Where in the code the declarations of a block's registers are: at its beginning, because a
    # branch may lead over a declaration, which C++ allows for none that initialises.
    declarations: list[int] = field(default_factory=lambda: [0])
    declared: set[str] = field(default_factory=set)

    def words(self) -> list[str]:
        """Return the words of its instructions."""
        # `%=` is a number that each statement has for itself, as labels here are anyway.
        text = _PTX_NOISE.sub(" ", self.statement.text).replace("%=", "_")
        return _PTX_TOKEN.findall(text)

    def operand_number(self, name: str) -> int:
        everything = [*self.statement.outputs, *self.statement.inputs]
        if name.startswith("["):
            for number, argument in enumerate(everything):
                if argument.name == name[1:-1]:
                    return number
        elif int(name) < len(everything):
            return int(name)
        raise NotPtxError

    def translate(self) -> str:
        """Return the instructions in C++. Raises NotPtxError."""
        self.tokens = self.words()
        # A label is behind the beginning, the end of another statement or a brace.
        starts = ["", *self.tokens]
        labels = [
            word
            for before, word, colon in zip(starts, self.tokens, self.tokens[1:], strict=False)
            if colon == ":" and before in ("", ";", "{", "}", ":")
        ]
        if labels:
            names = ", ".join(f"_kt_l_{label.replace('$', '_')}" for label in labels)
            self.code.append(f"__label__ {names};")
            self.declarations[0] = 1
        position = 0
        while position < len(self.tokens):
            position = self._translate_next(position)
        if len(self.scopes) != 1:
            raise NotPtxError
        return " ".join(self.code)

    def _translate_next(self, position: int) -> int:
        """Translate what begins at a token, and return where the next thing begins."""
        tokens = self.tokens
        token = tokens[position]
        if token == ";":
            return position + 1
        if token == "{":
            self.scopes.append({})
            self.code.append("{")
            self.declarations.append(len(self.code))
            return position + 1
        if token == "}":
            if len(self.scopes) == 1:
                raise NotPtxError
            self.scopes.pop()
            self.declarations.pop()
            self.code.append("}")
            return position + 1
        if tokens[position + 1 : position + 2] == [":"]:
            self.code.append(f"_kt_l_{token.replace('$', '_')}:;")
            return position + 2
        end = position
        while end < len(tokens) and tokens[end] != ";":
            end += 1
        words = tokens[position:end]
        if words[0] == ".reg":
            self._declare(words[1:])
        elif words[0] in _STATE_SPACES:
            raise RefusedError(words[0])
        elif words[0] not in (".pragma", ".loc"):  # these are hints
            self._instruction(words)
        return end + 1

    def _declare(self, words: list[str]) -> None:
        kind = words[0].removeprefix(".") if words else ""
        if kind not in REGISTER_TYPES:
            raise RefusedError(f".reg {' '.join(words[:1])}")
        names = [word for word in words[1:] if word != ","]
        while len(names) >= 4 and names[1] == "<" and names[3] == ">":
            stem, count = names[0], int(names[2])
            names = [*(f"{stem}{k}" for k in range(count)), *names[4:]]
        for name in names:
            plain = name.lstrip("%").replace("$", "_").replace(".", "_")
            if not re.fullmatch(r"\w+", plain):
                raise NotPtxError
            variable = f"_kt_r_{plain}"
            if variable in self.declared:  # in another block: each has its own
                variable = f"_kt_r{len(self.declared)}_{plain}"
            self.declared.add(variable)
            self.scopes[-1][name.lstrip("%")] = variable
            self.code.insert(
                self.declarations[-1], f"[[maybe_unused]] {REGISTER_TYPES[kind]} {variable}{{}};"
            )

    def _instruction(self, words: list[str]) -> None:
        guard = ""
        if words[0] == "@":
            negated = words[1] == "!"
            name = words[2 if negated else 1]
            words = words[3 if negated else 2 :]
            guard = f"if ({'!' if negated else ''}{self._register(name)}) "
        if not words:
            raise NotPtxError
        opcode, *modifiers = words[0].split(".")
        operands = [self._operand(part) for part in _split(words[1:])]
        made = call_of(Instruction(words[0], opcode, tuple(modifiers), tuple(operands)))
        self.headers |= made.headers
        self.code.append(f"{guard}{{ {made.code} }}" if guard else made.code)

    def _register(self, name: str) -> str:
        if re.fullmatch(r"%(?:\d+|\[\w+\])", name):
            return f"_kt_p{self.operand_number(name[1:])}"
        for scope in reversed(self.scopes):
            if name.lstrip("%") in scope:
                return scope[name.lstrip("%")]
        return ""

    def _operand(self, words: list[str]) -> Operand:
        if words[:1] == ["["] and words[-1:] == ["]"]:
            base = self._operand(words[1:2])
            offset = self._constant(words[3:-1] if words[2:3] == ["+"] else words[2:-1])
            return Operand("address", base.code, offset or "0", words[1])
        if words[:1] == ["{"] and words[-1:] == ["}"]:
            return Operand("vector", parts=tuple(self._operand(p) for p in _split(words[1:-1])))
        if words[:1] == ["!"]:
            inner = self._operand(words[1:])
            return Operand("register", f"(!{inner.code})")
        if len(words) == 3 and words[1] == "|":
            return Operand("pair", parts=(self._operand(words[:1]), self._operand(words[2:])))
        sign = "-" if words[:1] == ["-"] else ""
        rest = words[1:] if words[:1] in (["-"], ["+"]) else words
        if len(rest) != 1:
            return Operand("constant", self._constant(words))
        word = rest[0]
        if word == "_":
            return Operand("sink")
        register = self._register(word)
        if register:
            return Operand("register", register)
        if word[0].isdigit() or word[0] == ".":
            return Operand("immediate", f"{sign}{word}")
        return Operand("name", word.lstrip("%"))

    def _constant(self, words: list[str]) -> str:
        """Return a constant expression in C++. Raises NotPtxError where it is none."""
        parts = []
        for word in words:
            if _OPERATORS.fullmatch(word):
                parts.append(word)
            elif word[0].isdigit():
                parts.append(number_of(word))
            elif register := self._register(word):
                parts.append(f"static_cast<long long>({register})")
            else:
                raise NotPtxError
        return " ".join(parts).replace("< <", "<<").replace("> >", ">>")


def _split(words: list[str]) -> list[list[str]]:
    """Return operands between commas."""
    parts: list[list[str]] = [[]] if words else []
    depth = 0
    for word in words:
        depth += word in ("[", "{")
        depth -= word in ("]", "}")
        if word == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _translated(statement: _Statement) -> tuple[str, Headers] | None:
    """Return a statement as C++ and the headers that it needs, or None where it is no PTX."""
    if not _PTX_NOISE.sub("", statement.text).strip():
        return None  # keeps compilers from moving memory accesses, here as well
    translation = _Translation(statement)
    lines = []
    count = len(statement.outputs)
    try:
        for number, argument in enumerate([*statement.outputs, *statement.inputs]):
            letters = argument.constraint.strip("=+&% ")
            name = f"_kt_p{number}"
            if number >= count and letters.isdigit() and int(letters) < count:
                tied = f"_kt_p{int(letters)}"
                lines.append(f"kerneltk::ptx::in({tied}, {argument.expression});")
                lines.append(f"auto& {name} = {tied};")
                continue
            kind = _CONSTRAINTS.get(letters)
            if kind is None:
                word = first_instruction(translation.words())
                if word:
                    raise RefusedError(word)
                return None
            lines.append(f"[[maybe_unused]] {kind} {name}{{}};")
            value = argument.expression
            if number < count:  # what it is, before any result changes that; and once
                value = f"_kt_o{number}"
                lines.append(f"auto& {value} = {argument.expression};")
            if number >= count or "+" in argument.constraint:
                lines.append(f"kerneltk::ptx::in({name}, {value});")
        lines.append(f"{{ {translation.translate()} }}")
    except NotPtxError:
        return None
    except RefusedError as refused:
        escaped = str(refused).replace("\\", "\\\\").replace('"', '\\"')
        refusal = f"kerneltk::ptx::refused(\" the PTX instruction '{escaped}' runs on GPUs only\");"
        # Operands are used, so that no compiler warns of them.
        return f"do {{ {refusal} }} while (0)", set()
    for number in range(count):
        lines.append(f"kerneltk::ptx::out(_kt_o{number}, _kt_p{number});")
    return f"do {{ {' '.join(lines)} }} while (0)", translation.headers


def translate_at(source: str, start: int) -> tuple[int, str, Headers] | None:
    """Return where an ``asm`` statement ends, it in C++, and the headers that this needs.

    Parameters
    ----------
    start : int
        Where its first word begins.

    Returns
    -------
    tuple or None
        None where it is no PTX, or not made of literals.
    """
    opening = _QUALIFIERS.match(source, re.compile(r"\w+").match(source, start).end())  # type: ignore[union-attr]
    if opening is None:
        return None
    statement = _read_statement(source, opening.end())
    if statement is None:
        return None
    made = _translated(statement)
    if made is None:
        return None
    before = "".join(re.findall(r"\\\n|\n", source[start : opening.end()]))
    return statement.end, f"{made[0]}{before}{statement.breaks}", made[1]


def with_inline_ptx(source: str) -> tuple[str, Headers]:
    """Return a source with C++ instead of inline PTX, and the headers that this needs.

    Lines keep their numbers.
    """
    if "asm" not in source:
        return source, set()
    edits: list[tuple[int, int, str]] = []
    headers: Headers = set()
    position = 0
    while found := _SCAN.search(source, position):
        position = found.end()
        if found["asm"]:
            made = translate_at(source, found.start())
            if made is not None:
                edits.append((found.start(), made[0], made[1]))
                position = made[0]
                headers |= made[2] | {"host_ptx.hpp"}
    return with_edits(source, edits), headers
