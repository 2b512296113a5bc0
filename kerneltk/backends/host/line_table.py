"""Tells which source line an instruction of a library belongs to: DWARF's line tables, 2 to 4."""

from __future__ import annotations

import bisect
import struct

_Row = tuple[int, str, int]  # address, file, line (0 behind the last of a sequence)


class _Reader:
    """Numbers and strings, one after the other."""

    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data = data
        self.position = position

    def number(self, letter: str) -> int:
        (value,) = struct.unpack_from("<" + letter, self.data, self.position)
        self.position += struct.calcsize("<" + letter)
        return int(value)

    def uleb(self) -> int:
        value = shift = 0
        while True:
            byte = self.number("B")
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def sleb(self) -> int:
        start = self.position
        value = self.uleb()
        bits = 7 * (self.position - start)
        return value - (1 << bits) if value >> (bits - 1) else value

    def string(self) -> str:
        end = self.data.index(b"\0", self.position)
        text = self.data[self.position : end].decode(errors="replace")
        self.position = end + 1
        return text


class _Program:
    """One unit's line-number program, which is run row by row (DWARF 4, section 6.2)."""

    def __init__(self, reader: _Reader, version: int) -> None:
        length = reader.number("I")
        self.start = reader.position + length
        self.unit = reader.number("B")
        if version >= 4:
            reader.number("B")  # operations of a long instruction word: one
        reader.number("B")  # whether rows begin as statements
        self.line_base = reader.number("b")
        self.line_range = reader.number("B")
        self.first_special = reader.number("B")
        self.operands = [0, *(reader.number("B") for _ in range(self.first_special - 1))]
        directories = [""]
        while directory := reader.string():
            directories.append(directory)
        self.files = [""]
        while name := reader.string():
            directory = directories[reader.uleb()]
            reader.uleb()  # when it was changed
            reader.uleb()  # how long it is
            self.files.append(f"{directory}/{name}" if directory and name[0] != "/" else name)

    def run(self, reader: _Reader, end: int) -> list[_Row]:
        rows: list[_Row] = []
        reader.position = self.start
        address, file, line = 0, 1, 1
        while reader.position < end:
            code = reader.number("B")
            if code >= self.first_special:
                code -= self.first_special
                address += code // self.line_range * self.unit
                line += self.line_base + code % self.line_range
                rows.append((address, self.files[file], line))
            elif code == 0:
                size = reader.uleb()
                following = reader.position + size
                extended = reader.number("B")
                if extended == 1:  # the sequence ends
                    rows.append((address, "", 0))
                    address, file, line = 0, 1, 1
                elif extended == 2:
                    address = reader.number("Q")
                reader.position = following
            elif code == 1:
                rows.append((address, self.files[file], line))
            elif code == 2:
                address += reader.uleb() * self.unit
            elif code == 3:
                line += reader.sleb()
            elif code == 4:
                file = reader.uleb()
            elif code == 8:
                address += (255 - self.first_special) // self.line_range * self.unit
            elif code == 9:
                address += reader.number("H")
            else:  # columns, blocks, and what a later version may add
                for _ in range(self.operands[code]):
                    reader.uleb()
        return rows


class LineTable:
    """The source lines of a library, by its section ``.debug_line``, whose versions after 4 are
    passed over.
    """

    def __init__(self, data: bytes) -> None:
        rows: list[_Row] = []
        reader = _Reader(data)
        while reader.position < len(data):
            length = reader.number("I")
            end = reader.position + length
            version = reader.number("H")
            if 2 <= version <= 4:
                rows += _Program(reader, version).run(reader, end)
            reader.position = end
        # Where one sequence ends another may begin.
        self._rows = sorted(rows, key=lambda row: (row[0], row[2] != 0))
        self._addresses = [row[0] for row in self._rows]

    def place(self, address: int) -> tuple[str, int] | None:
        """Return file and line (from 1) of an instruction; None if it belongs to none."""
        index = bisect.bisect_right(self._addresses, address) - 1
        if index < 0 or not self._rows[index][2]:
            return None
        _, file, line = self._rows[index]
        return file, line
