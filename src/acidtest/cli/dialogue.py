"""A dialogue in the terminal: what may be answered, the answer, and again what was wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from acidtest.errors import BadInput

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Choice:
    """One answer that is offered: the word for it, and what it means."""

    word: str
    about: str


class Asker:
    """Asks on a terminal. Raises EOFError where there is no more input."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def ask(
        self,
        heading: str,
        read: Callable[[list[str]], Answer],
        *,
        choices: Sequence[Choice] = (),
        default: str = "",
        hint: str = "",
    ) -> Answer:
        """What ``read`` makes of the words of the answer, asked again as long as it raises BadInput.

        Words are separated by commas; a number stands for the choice with that number. Without an answer it is
        ``default``.
        """
        self._console.print(f"\n[bold]{heading}[/]")
        self._offer(choices)
        if hint:
            self._console.print(f"  {hint}", style="dim", markup=False)
        while True:
            given = self._console.input(f"[bold]>[/] [dim]({escape(default)})[/] " if default else "[bold]>[/] ")
            words = [word.strip() for word in (given.strip() or default).split(",") if word.strip()]
            try:
                if not words:
                    raise BadInput("there is no answer yet", "Ctrl-C leaves")
                return read([self._meant(word, choices) for word in words])
            except BadInput as problem:
                self._console.print(f"  {problem.message}", style="red", markup=False)
                if problem.remedy:
                    self._console.print(f"  {problem.remedy}", markup=False, soft_wrap=True)

    def _offer(self, choices: Sequence[Choice]) -> None:
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(justify="right")
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for number, choice in enumerate(choices, start=1):
            table.add_row(f"  {number}", choice.word, choice.about)
        if choices:
            self._console.print(table)

    @staticmethod
    def _meant(word: str, choices: Sequence[Choice]) -> str:
        if not word.isdecimal() or not choices:
            return word
        if not 1 <= int(word) <= len(choices):
            raise BadInput(f"{word}: there is no such choice", f"give a number from 1 to {len(choices):,}, or a name")
        return choices[int(word) - 1].word
