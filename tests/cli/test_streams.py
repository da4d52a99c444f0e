"""Standard output on any terminal: what it cannot show is replaced, and what it does not take is an error of ours."""

from __future__ import annotations

import ast
import errno
import io
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table

from acidtest.cli.streams import fitted, guarded
from acidtest.errors import OutputLost

SOURCE = Path(__file__).parents[2] / "src" / "acidtest"
ENCODINGS = ("ascii", "iso8859-1", "iso8859-15", "cp1252", "koi8-r", "euc_jp", "utf-8")


@pytest.mark.parametrize(
    ("text", "encoding", "shown"),
    [
        ("– … → µ × ± ≥ ≤ “a” ▲ ▼ ━", "ascii", '- ... -> u x +- >= <= "a" ^ v -'),
        ("µ × ± ² kept, – … not", "iso8859-1", "µ × ± ² kept, - ... not"),
        ("größer, Ærø, naïve", "ascii", "grosser, AEro, naive"),
        ("größer", "iso8859-1", "größer"),
        ("¹ The rate", "ascii", "[1] The rate"),
        ("1,300²‧¹⁰", "ascii", "1,300[2,10]"),
        ("1,300¹‧²", "iso8859-1", "1,300[1,2]"),  # it has the digits, but not what is between them
        ("1,300²", "iso8859-1", "1,300²"),
        ("日本", "ascii", "????"),  # each as wide as two
        ("a\udce9b", "utf-8", "a\\xe9b"),  # a byte of a file's name
        ("→ ▲ ‧", "utf-8", "→ ▲ ‧"),
    ],
)
def test_what_cannot_be_shown_is_replaced(text: str, encoding: str, shown: str) -> None:
    assert fitted(text, encoding) == shown


@given(text=st.text(st.characters(), max_size=40), encoding=st.sampled_from(ENCODINGS))
def test_any_text_can_be_shown_in_any_encoding(text: str, encoding: str) -> None:
    shown = fitted(text, encoding)
    shown.encode(encoding)
    assert fitted(shown, encoding) == shown


def constants(file: Path) -> Iterator[str]:
    """Its texts; of the auditor only those in functions: its tables and patterns are for what others write."""
    tree: ast.AST = ast.parse(file.read_text(encoding="utf-8"))
    if SOURCE / "audit" in file.parents:
        functions = (ast.FunctionDef, ast.ClassDef)
        tree = ast.Module([node for node in ast.iter_child_nodes(tree) if isinstance(node, functions)], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_whatever_acidtest_itself_says_has_words_in_ascii() -> None:
    own = {character for file in SOURCE.rglob("*.py") for text in constants(file) for character in text}
    own -= set("".join(constants(SOURCE / "cli" / "streams.py"))) - set("–…→×µ▲▼‧¹")
    shown = {character: fitted(character, "ascii") for character in own if not character.isascii()}
    assert {"–", "…", "→", "×", "µ", "▲", "▼", "‧", "¹"} <= shown.keys()
    assert [character for character, words in shown.items() if "?" in words] == []


def test_columns_stand_where_they_stood_with_colours_and_without() -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for head in ("engine", "commits/s", "against", "ms"):
        table.add_column(head, justify="right" if head == "commits/s" else "left")
    table.add_row("größer…", "[yellow]12,700¹‧²[/]", "faster", "–")
    table.add_row("sqlite, with words", "196 ", "slower", "0.1")
    for colours in (False, True):
        said = io.StringIO()
        Console(file=said, force_terminal=colours, width=80, highlight=False).print(table)
        for line in said.getvalue().splitlines():
            plain = fitted(line, "ascii")
            assert plain.isascii()
            assert len(plain) == len(line)
            assert len(plain.rstrip()) == len(line.rstrip())  # the end of the last column


class Lost(io.RawIOBase):
    """A file that takes nothing."""

    def __init__(self, number: int) -> None:
        self.number = number

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        raise OSError(self.number, "lost")


def lost(number: int) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedWriter(Lost(number)), encoding="utf-8", write_through=True)


@pytest.mark.parametrize(("number", "code"), [(errno.EPIPE, 141), (errno.ENOSPC, 4), (errno.EIO, 4), (errno.EDQUOT, 4)])
def test_what_a_stream_does_not_take_is_an_error_with_a_code(
    number: int, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = lost(number)
    monkeypatch.setattr(sys, "stdout", stream)
    with guarded(), pytest.raises(OutputLost, match="standard output cannot be written: lost") as raised:
        print("figures", flush=True)
    assert raised.value.exit_code == code
    assert sys.stdout is stream
    stream.buffer.raw.number = 0  # type: ignore[attr-defined]
    monkeypatch.setattr(Lost, "write", lambda self, data: len(data))


def test_a_thread_beside_the_main_one_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", lost(errno.EPIPE))
    ended: list[bool] = []

    def say() -> None:
        print("progress", flush=True)
        ended.append(True)

    with guarded():
        thread = threading.Thread(target=say)
        thread.start()
        thread.join()
    assert ended == [True]
    monkeypatch.setattr(Lost, "write", lambda self, data: len(data))


def test_a_stream_that_was_closed_before_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr("acidtest.cli.streams.open", lambda *a, **k: io.StringIO(), raising=False)
    with guarded():
        print("figures", flush=True)
