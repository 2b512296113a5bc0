"""The cache key: a hash of everything that decides the bytes a compiler writes.

Headers count by their content, found by looking for include directives, not by preprocessing.
The search errs on one side: directives in comments, in strings and under false conditions count,
and where a name exists in several directories all of them count, so that neither a condition nor
the order in which a compiler searches can hide a change. What a macro stands for counts where that
is the name of a file: an include may name the macro, in any other file. A source whose macros
compute a name otherwise, there or in a header, has a key of its own each time.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from kerneltk.cache import stand_ins
from kerneltk.core.artifacts import INCLUDE_DIRECTORY, Target, TranslationUnit, named_options
from kerneltk.core.lexer import blanked
from kerneltk.core.records import BoundedTable, pattern, record

_FORMAT = "kerneltk object code 2"
"""Changes when equal inputs give other bytes: the key's own layout, the records under it."""

# Atomic groups: a source of many comments must not be split in all possible ways.
_GAP = rb"(?>(?:[ \t\v\f]+|/\*(?s:.*?)\*/)*)"
_NAMED = _GAP + rb'(?:<([^>\n]+)>|"([^"\n]+)")'
_INCLUDE = _GAP + rb"(?:include_next|include|import|embed)" + _NAMED
# By what they begin with: a search for that is fast, and one for all of them at once is not.
_DIRECTIVES = {
    b"#": rb"\#" + _INCLUDE,
    b"%:": rb"%:" + _INCLUDE,
    b"??=": rb"\?\?=" + _INCLUDE,
    b"__has_include": rb"__has_(?:include_next|include)" + _GAP + rb"\(" + _NAMED,
    b"__has_embed": rb"__has_embed" + _GAP + rb"\(" + _NAMED,
    # An assembler's, in a literal of `asm`.
    b".incbin": rb"\.incbin(?:[ \t]|\\t)*\\?()\"([^\"\\\n]+)",
    b"define": rb"(?:\#|%:|\?\?=)"
    + _GAP
    + rb"define"
    + _GAP
    + rb"[^\W\d]\w*(?![\w(])"
    + _GAP
    + rb"(?:<([\w./+-]+)>|\"([\w./+-]+)\")"  # as _PLAIN_NAME
    + _GAP
    + rb"(?=[\r\n]|//|\Z)",
}
_PLAIN_NAME = pattern(rb"[\w./+-]+")
_SPLICE = pattern(rb"\\[ \t]*\r?\n")
_COMPUTED = pattern(
    rb"(?:(?:\#|%%:|\?\?=)%(gap)b(?:include_next|include|import|embed)(?!\w)"
    rb"|__has_(?:include_next|include|embed)%(gap)b\()%(gap)b([^\W\d]\w*)" % {b"gap": _GAP}
)
_DEFINED = pattern(
    rb"(?:\#|%%:|\?\?=)%(gap)bdefine%(gap)b([^\W\d]\w*)(?![\w(])([^\n]*)" % {b"gap": _GAP}
)
_FUNCTION = pattern(rb"(?:\#|%%:|\?\?=)%(gap)bdefine%(gap)b([^\W\d]\w*)\(" % {b"gap": _GAP})
_REPLACEMENT = pattern(rb"%(gap)b(?:<([^>\n]+)>|\"([^\"\n]+)\"|([^\W\d]\w*))" % {b"gap": _GAP})

_DIRECTORY_OPTIONS = (
    "--include-path",
    "--system-include",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-I",
)
_FILE_OPTIONS = (
    "--pre-include",
    "--include",
    "-include-pch",
    "-include",
    "-imacros",
    "--options-file",
    "-optf",
)

# A file changed this shortly before it was read may change again within one tick of its times.
_SETTLED_NS = 2_000_000_000

_Directive = tuple[bool, str, bytes]  # whether in quotes, the name, both as bytes of the key
_Directives = tuple[_Directive, ...]
_Stamp = tuple[int, int, int, int, int]


@record
class _Header:
    """A header's content, for as long as the file's stamp stays the same."""

    stamp: _Stamp
    digest: bytes
    directives: _Directives
    is_computing: bool  # whether an include names a macro


_headers: dict[str, _Header] = {}

# Of this package, as they were when it was asked for them; like its modules, they are looked at
# once by a process that makes nothing of them.
_own_headers: set[tuple[str, _Stamp | None]] = set()


def trace(
    unit: TranslationUnit,
    target: Target,
    *,
    include_directories: Sequence[Path] = (),
    backend_options: Sequence[str] = (),
) -> Trace:
    """Return the cache key of the object code of `unit` for `target`, with what was looked for.

    Parameters
    ----------
    unit : TranslationUnit
        Its `origins` do not count: they serve messages only.
    target : Target
        The compiler's version stands for the content of the compiler's own headers.
    include_directories : sequence of Path
        Directories that are searched for headers besides the package's own, those that the
        unit's options name, and for names in quotes the including file's (the working directory
        for the unit itself). Leave out the compiler's own. A header that is not found counts by
        its name.
    backend_options : sequence of str
        Options that the backend adds. Directories and files named in them are not searched.
    """
    source = _encode(unit.source)
    parts, directives, search = _looked_for(
        unit, source, target, include_directories, backend_options
    )
    tree = _tree_of(directives, search)
    parts.append(tree.data)
    is_lasting = not _computes_names(_written(unit.source, source), tree, unit.options)
    if not is_lasting:
        _add(parts, os.urandom(16))
    key = hashlib.sha256(b"".join(parts)).hexdigest()
    names = tuple((is_quoted, name) for is_quoted, name, _ in directives)
    digest = hashlib.sha256(tree.data).hexdigest()
    return Trace(key, is_lasting, names, tuple(search), digest, *tree.stamps())


def searched_directories(options: Sequence[str], include_directories: Sequence[Path]) -> list[str]:
    """Return where headers of a unit with these options are looked for."""
    named, _ = named_in_options(options)
    search = [str(INCLUDE_DIRECTORY), *named, *map(os.fspath, include_directories)]
    return list(dict.fromkeys(directory or "." for directory in search))


def _looked_for(
    unit: TranslationUnit,
    source: bytes,
    target: Target,
    include_directories: Sequence[Path],
    backend_options: Sequence[str],
) -> tuple[list[bytes], _Directives, list[str]]:
    """Return the parts of a key but for headers, which headers are looked for, and where."""
    _, files = named_in_options(unit.options)
    parts = [
        _framed(_FORMAT, unit.backend, unit.entry),
        _framed(*unit.options),
        _framed(*backend_options),
        _framed(target.backend, target.architecture, target.compiler),
    ]
    if unit.raw:
        parts.append(_framed(*(name for pair in (*unit.exports, *unit.reflected) for name in pair)))
    for link in unit.links:
        parts.append(_framed(link.kind, link.name))
        _add(parts, hashlib.sha256(link.code).digest())
    _add(parts, source)
    forced = [_directive(True, os.fsencode(name)) for name in files]
    for _, replacement in _defined_by(unit.options):  # an include may name the macro
        found = _REPLACEMENT.match(replacement)
        if found is not None and found[3] is None:
            forced.append(_directive(found[1] is None, found[1] or found[2]))
    search = searched_directories(unit.options, include_directories)
    return parts, (*forced, *_find_directives(_written(unit.source, source))), search


def _encode(string: str) -> bytes:
    # Lone surrogates come from files that are not UTF-8; each keeps bytes of its own.
    return string.encode("utf-8", "surrogatepass")


def _written(source: str, encoded: bytes) -> bytes:
    """Return a source as compilers read it, in which names of files may be any bytes."""
    if b"\xed" not in encoded:  # with which every surrogate begins
        return encoded
    try:
        return source.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # no bytes stand for it
        return encoded


def _add(parts: list[bytes], data: bytes) -> None:
    parts.append(struct.pack("<Q", len(data)))
    parts.append(data)


def _joined(strings: Sequence[str]) -> bytes:
    """Strings as bytes that no others give."""
    parts = [struct.pack("<Q", len(strings))]
    for string in strings:
        _add(parts, _encode(string))
    return b"".join(parts)


@lru_cache
def _framed(*strings: str) -> bytes:
    """As `_joined`: most units have the same strings, but for the source."""
    return _joined(strings)


def string_key(*strings: str) -> str:
    """The key, in the compile cache, of what depends on these strings and on nothing else."""
    return hashlib.sha256(_joined(strings)).hexdigest()


def named_in_options(options: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the include directories and the files that compile options name."""
    directories: list[str] = []
    files: list[str] = []
    names = (*_DIRECTORY_OPTIONS, *_FILE_OPTIONS)
    for name, value, words in named_options(options, names, glued=names):
        if words[0].startswith("@"):
            files.append(words[0][1:])
        elif value:
            (files if name in _FILE_OPTIONS else directories).append(value)
    return directories, files


def _find_directives(source: bytes) -> _Directives:
    """Return each include directive of a source once: by its kind, and then in order."""
    if b"\\" in source:
        source = _SPLICE.sub(b"", source)
    # One byte is found at once, and is mostly not there.
    marks = [mark for mark in _DIRECTIVES if mark[:1] in source and mark in source]
    patterns = map(_DIRECTIVES.__getitem__, marks)
    found = chain.from_iterable(re.findall(pattern, source) for pattern in patterns)
    names = dict.fromkeys((not angle, angle or quoted) for angle, quoted in found)
    return tuple(_directive(*name) for name in names)


def _defined_by(options: Sequence[str]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the macros that options define, with what they stand for."""
    for _, value, _ in named_options(options, ("-D", "--define-macro")):
        name, is_given, replacement = value.strip().partition("=")
        if is_given:
            yield name.encode(), _encode(replacement)


class _Macros(NamedTuple):
    """Macros of some sources."""

    included: list[bytes]  # those that are included, outside of comments
    definitions: list[tuple[bytes, bytes]]  # without parameters
    functions: set[bytes]  # those with parameters


def _macros_in(sources: Iterable[bytes]) -> _Macros:
    found = _Macros([], [], set())
    for written in sources:
        source = _SPLICE.sub(b"", written) if b"\\" in written else written
        if _COMPUTED.search(source) is not None:
            plain = blanked(source.decode("utf-8", "surrogateescape"))
            found.included.extend(_COMPUTED.findall(plain.encode("utf-8", "surrogateescape")))
        found.definitions.extend(_DEFINED.findall(source))
        found.functions.update(_FUNCTION.findall(source))
    return found


@lru_cache(maxsize=8)
def _macros_of(files: tuple[tuple[str, _Stamp | None], ...]) -> _Macros:
    """Return the macros of files. One that changes meanwhile changes the key by its content."""
    sources = []
    for path, stamp in files:
        if stamp is not None:
            with suppress(OSError), open(path, "rb") as file:
                sources.append(file.read())
    return _macros_in(sources)


def _computes_names(source: bytes, tree: _Tree, options: Sequence[str]) -> bool:
    """Return whether a source or a header of it may include a name that macros put together, or
    that directives do not show. A macro that a header includes and that is not defined does not:
    what includes it is behind a condition.
    """
    own = _macros_in([source])
    if not own.included and not tree.is_computing:
        return False
    headers = _macros_of(tree.files)
    definitions = [*own.definitions, *headers.definitions, *_defined_by(options)]
    functions = own.functions | headers.functions
    wanted = set(own.included)
    pending, known = [*own.included, *headers.included], set[bytes]()
    for macro in pending:  # which grows on the way
        if macro in functions:
            return True
        if macro in known:
            continue
        known.add(macro)
        replacements = [_REPLACEMENT.match(by) for name, by in definitions if name == macro]
        if not replacements and macro in wanted:
            return True
        for found in replacements:
            if found is None:
                return True
            if found[3] is None and _PLAIN_NAME.fullmatch(found[1] or found[2]) is None:
                return True
            if found[3] is not None:
                pending.append(found[3])
                wanted |= {found[3]} if macro in wanted else set()
    return False


@lru_cache
def _directive(is_quoted: bool, name: bytes) -> _Directive:
    parts = [b'"' if is_quoted else b"<"]
    _add(parts, name)
    return is_quoted, os.fsdecode(name), b"".join(parts)


class Trace(NamedTuple):
    """A unit's key, and what tells without the unit that its headers are what they were."""

    key: str  # SHA-256, as 64 hexadecimal digits
    is_lasting: bool  # whether the unit would have this key again
    directives: tuple[tuple[bool, str], ...]  # of each header, whether in quotes, and its name
    search: tuple[str, ...]  # the directories, in order
    digest: str  # of what the headers added to the key
    # As `_Tree` has them; no files where a change of one may not show in its stamp.
    files: tuple[tuple[str, _Stamp | None], ...]
    absent: tuple[str, ...]

    def current(self) -> Trace | None:
        """Return this trace where all headers are what they were, by their stamps or else by their
        content, with the stamps that they have now; None where they are not.
        """
        pending = tuple(own for own in self.files if own not in _own_headers)
        if self.files and _Tree(b"", pending, self.absent, True).is_current():
            own = f"{INCLUDE_DIRECTORY}{os.sep}"
            _own_headers.update(
                one for one in pending if one[0].startswith(own) or stand_ins.is_stand_in(one[0])
            )
            return self
        directives = tuple(
            _directive(quoted, os.fsencode(name)) for quoted, name in self.directives
        )
        tree = _tree_of(directives, list(self.search))
        if hashlib.sha256(tree.data).hexdigest() != self.digest:
            return None
        files, absent = tree.stamps()
        return self._replace(files=files, absent=absent)


class _Tree(NamedTuple):
    """What the headers reached from some directives add to a key, for as long as each file that was
    looked for is what it was: `files` by their stamps, None where there was none; `absent` are
    directories that there were not, and in which nothing was looked for. `is_settled` says whether
    a change of any of them will show in its stamp.
    """

    data: bytes
    files: tuple[tuple[str, _Stamp | None], ...]
    absent: tuple[str, ...]
    is_settled: bool
    is_computing: bool = False  # whether a header includes a macro

    def stamps(self) -> tuple[tuple[tuple[str, _Stamp | None], ...], tuple[str, ...]]:
        """Return `files` and `absent`, if they can be relied on."""
        return (self.files, self.absent) if self.is_settled else ((), ())

    def is_current(self) -> bool:
        """Whether all of it is as it was."""
        for path, stamp in self.files:
            try:
                # Half of them are not there; an exception takes longer than the question.
                if stamp is None and not os.access(path, os.F_OK, effective_ids=_BY_EFFECTIVE_IDS):
                    continue
                status = os.stat(path)
            except (OSError, ValueError):
                if stamp is not None:
                    return False
            else:
                if _stamp(status) != stamp:
                    return False
        return not any(map(os.path.isdir, self.absent))


_BY_EFFECTIVE_IDS = os.access in os.supports_effective_ids

_trees: BoundedTable[tuple[_Directives, tuple[str, ...]], _Tree] = BoundedTable(256)


def _tree_of(directives: _Directives, search: list[str]) -> _Tree:
    """Return name and content of every header that is reached from `directives`.

    Most sources include the same, so the result is cached.
    """
    key = directives, tuple(search)
    tree = _trees.get(key)
    if tree is None or not tree.is_current():
        _trees.pop(key, None)
        files = _Files()
        added = _headers_of(directives, search, files)
        tree = _Tree(b"".join(added), *files.asked(), files.is_settled, files.is_computing)
        if files.is_settled:
            _trees[key] = tree
    return tree


def _headers_of(directives: _Directives, search: list[str], files: _Files) -> list[bytes]:
    """Each directive gives its name, a mark and content for every file it can mean, and an end
    mark; files met again give their number, so that no two trees of headers give the same bytes.
    """
    parts: list[bytes] = []
    numbers: dict[tuple[int, int, str], int] = {}
    identities: dict[str, tuple[int, int]] = {}
    searched: dict[str, list[tuple[str, str, _Header]]] = {}  # by name: many include the same
    queue: list[tuple[str, _Directives]] = [(".", directives)]
    # A header that includes a macro may mean one of the source's, by its own directory.
    of_source = tuple(directive for directive in directives if directive[0])
    computing: set[str] = set()
    for own_directory, pending in queue:  # which grows on the way
        for quoted, name, framed in pending:
            parts.append(framed)
            found = searched.get(name)
            if found is None:
                found = searched[name] = files.named(search, name)
            if quoted and not os.path.isabs(name):
                found = files.named([own_directory], name) + found
            for directory, base, header in found:
                # Not the path: "../d/x.h" in d/x.h would give a new one each time round.
                identity = identities.get(directory)
                if identity is None:
                    identity = identities[directory] = _identify(directory)
                number = numbers.get((*identity, base))
                if number is not None:
                    parts.append(b"=" + struct.pack("<Q", number))
                    continue
                numbers[(*identity, base)] = len(numbers)
                parts.append(b"+" + header.digest)
                queue.append((directory, header.directives))
                if header.is_computing and directory not in computing:
                    computing.add(directory)
                    queue.append((directory, of_source))
            parts.append(b".")
    return parts


class _Files:
    """What lies in directories while one key is made."""

    def __init__(self) -> None:
        # Most names have a directory in front, which most directories do not have: that is asked
        # once, and not for each name.
        self._exists: dict[str, bool] = {}
        self._headers: dict[str, _Header | None] = {}
        self.is_settled = True  # whether a change of any of them will show in its stamp

    def asked(self) -> tuple[tuple[tuple[str, _Stamp | None], ...], tuple[str, ...]]:
        """Return the files that were asked for, with their stamps, and the missing directories."""
        files = tuple(
            (path, None if header is None else header.stamp)
            for path, header in self._headers.items()
        )
        return files, tuple(path for path, exists in self._exists.items() if not exists)

    @property
    def is_computing(self) -> bool:
        """Whether one of the files includes a macro."""
        return any(header is not None and header.is_computing for header in self._headers.values())

    def named(self, directories: Iterable[str], name: str) -> list[tuple[str, str, _Header]]:
        """Return directory, base name and content of each file that a name means in directories."""
        if os.path.isabs(name):
            header = self._read(name)
            return [] if header is None else [(*os.path.split(name), header)]
        found = []
        inner, _, base = name.rpartition("/")
        for around in directories:
            directory = f"{around}/{inner}" if inner else around
            exists = not inner or self._exists.get(directory)
            if exists is None:
                exists = self._exists[directory] = os.path.isdir(directory)
            path = f"{directory}/{base}"
            header = self._read(path) if exists else None
            if around in stand_ins.given and stand_ins.restore(
                around, name, header.digest if header else None
            ):
                self._exists[directory] = True
                self._headers.pop(path, None)
                header = self._read(path)
            if header is not None:
                found.append((directory, base, header))
        return found

    def _read(self, path: str) -> _Header | None:
        if path in self._headers:
            return self._headers[path]
        header = self._headers[path] = _read_header(path)
        # A file that is there and cannot be read has no stamp of ours.
        is_kept = _headers.get(path) is header if header else _stamp_of(path) is None
        self.is_settled = self.is_settled and is_kept
        return header


def file_stamp(path: str | os.PathLike[str]) -> tuple[Any, ...]:
    """What is another whenever a file's content is, mostly without reading it: for files of which a
    key covers many. Raises OSError where there is no such file.
    """
    status = os.stat(path)
    times = status.st_mtime_ns, status.st_ctime_ns
    stamp = (os.fspath(path), *times, status.st_size, status.st_ino)
    if _is_settled(status):
        return stamp
    with open(path, "rb") as file:
        return (*stamp, hashlib.sha256(file.read()).hexdigest())


def _is_settled(status: os.stat_result) -> bool:
    """Return whether another change of the file would show in its times."""
    return time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLED_NS


def _identify(directory: str) -> tuple[int, int]:
    """Return the identity of a directory, whatever path leads to it."""
    try:
        status = os.stat(directory or ".")
    except OSError:  # removed since its file was read: the header counts, on its own
        return -1, hash(directory)
    return status.st_dev, status.st_ino


def _stamp(status: os.stat_result) -> _Stamp | None:
    """Return a value that changes with a regular file; None for anything else."""
    if not stat.S_ISREG(status.st_mode):
        return None
    return (
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_size,
        status.st_ino,
        status.st_dev,
    )


def _stamp_of(path: str) -> _Stamp | None:
    """Return the stamp of the regular file at a path, or None where there is none."""
    try:
        return _stamp(os.stat(path))
    except (OSError, ValueError):  # ValueError: a name with a null character
        return None


def content_digest(path: str) -> str:
    """Return the digest of a file's content; an empty string where there is no readable regular
    file.
    """
    header = _read_header(path)
    return "" if header is None else header.digest.hex()


def _read_header(path: str) -> _Header | None:
    """Return a file's content, or None where there is no readable regular file."""
    try:
        status = os.stat(path)
        stamp = _stamp(status)
        if stamp is None:
            return None
        known = _headers.get(path)
        if known is not None and known.stamp == stamp:
            return known
        with open(path, "rb") as file:
            source = file.read()
    except (OSError, ValueError):  # ValueError: a name with a null character
        return None
    directives, is_computing = _find_directives(source), _COMPUTED.search(source) is not None
    header = _Header(stamp, hashlib.sha256(source).digest(), directives, is_computing)
    # Nothing but damage changes a stand-in, and that is found by its content.
    if _is_settled(status) or stand_ins.is_stand_in(path):
        _headers[path] = header
    else:
        _headers.pop(path, None)
    return header
