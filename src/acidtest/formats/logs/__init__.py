"""Logs in which an engine says what it was asked: read as a stream, with bounded memory, in time linear in the bytes.

Each format is a module with one generator, from the lines of a file to entries (``entries.py``). None of them raises
for what is in a file: what cannot be used is an entry that says so.
"""

from acidtest.formats.logs.entries import Entry
from acidtest.formats.logs.formats import FORMATS, Format, recognised
from acidtest.formats.logs.lines import LINE_BYTES_MAX, Line, lines

__all__ = ["FORMATS", "LINE_BYTES_MAX", "Entry", "Format", "Line", "lines", "recognised"]
