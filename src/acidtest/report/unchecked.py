"""What was not checked, as one paragraph of a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from acidtest.finding import Unchecked, in_words


def print_unchecked(unchecked: Sequence[Unchecked], console: Console) -> None:
    """Nothing where nothing is known to be missing."""
    if unchecked:
        console.print(Text("Not checked: ", style="bold").append(f"{in_words(unchecked)}.", style="not bold dim"))
