"""One table as a value, and how it is written: in a terminal, which leaves out columns where it is too narrow, and on a
page. What a table shows is made from analysed data by one function of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal

from markupsafe import Markup
from rich.console import Console, JustifyMethod
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text

from acidtest.finding import Unchecked, in_words
from acidtest.report.numbers import number

GAP = 2  # between columns
FOLDED = 8  # characters to which a column of words may be narrowed
NOTHING = "–"
COUNT = "{:,}".format  # of a whole number
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
# What a cell means, a class of the page's style sheet -> how a terminal shows it.
STYLES = {
    "faster": "green", "slower": "red", "survived": "green", "lost": "bold red", "lost announced": "red",
    "unknown": "yellow", "bad": "red", "soft": "dim", "strong": "bold",
}  # fmt: skip
TAGS = ("strong", "code")  # tones that are elements of a page


@dataclass(frozen=True)
class Cell:
    """What stands in one place of a table."""

    text: str
    tone: str = ""  # of STYLES
    why: str = ""  # why there is no number, or what it rests on; a page tells it where somebody points
    marks: Mapping[int, str] = field(default_factory=dict)  # the warnings that concern it, by number
    more: Sequence[str] = ()  # lines beneath it, on a page
    tint: str = ""  # its background there


@dataclass(frozen=True)
class Column:
    head: str
    cell: Callable[[Any], Cell | str]  # of a row
    right: bool = True
    drop: int = 0  # where the terminal is too narrow, the highest goes first; 0 stays
    typed: bool = False  # a name that a user has to type, or that differs from another by its end
    narrow: bool = False  # at most a quarter of a terminal, so that there is room for the words beside it
    only: Literal["", "page", "terminal"] = ""  # where it stands; "" in both

    @property
    def unbroken(self) -> bool:
        """Whether what it shows stays on one line."""
        return self.right or self.typed

    def shown(self, row: Any) -> Cell:
        cell = self.cell(row)
        return cell if isinstance(cell, Cell) else Cell(cell)


@dataclass(frozen=True)
class Table:
    """Rows of anything, and columns that tell of them."""

    columns: Sequence[Column]
    rows: Sequence[Any]
    name: str = ""  # its class on a page
    title: str = ""
    aside: str = ""  # behind the title in a terminal
    page_title: str = ""  # of one that has none in a terminal
    caption: str = ""  # on a page
    conclusions: Sequence[str] = ()  # sentences beneath it
    explained: str = ""  # what its columns mean
    page_explained: str = ""  # the same on a page, where that has room for more
    notes: Sequence[str] = ()  # what its rows lack
    headed: bool = True  # in a terminal

    def on(self, where: str) -> list[Column]:
        return [column for column in self.columns if column.only in ("", where)]

    @property
    def heads(self) -> list[str]:
        return [column.head for column in self.on("page")]

    @property
    def texts(self) -> list[list[str]]:
        return [[column.shown(row).text for column in self.on("page")] for row in self.rows]


def figure(path: str, text: Callable[[Any], str] = number) -> Callable[[Any], str]:
    """What a row has at ``path`` (``device.reads.share``), as ``text`` writes it; a dash where it has none."""

    def cell(row: Any) -> str:
        for name in path.split("."):
            if (row := getattr(row, name)) is None:
                return NOTHING
        return text(row)

    return cell


def short(factor: str) -> str:
    """A factor's name without its family."""
    return factor.rpartition(".")[2]


def headings(factors: Sequence[str], beside: Collection[str] = ()) -> list[str]:
    """A heading for each factor: its name without its family, where nothing else is called so.

    ``beside`` are the headings of the table's other columns.
    """
    count = Counter([*map(short, factors), *beside])
    whole = [short(factor) if count[short(factor)] == 1 else factor for factor in factors]
    return [f"factor {name}" if name in beside else name for name in whole]


def of_levels(
    factors: Sequence[str],
    beside: Iterable[Column] = (),
    levels: Callable[[Any], Mapping[str, str]] = attrgetter("levels"),
) -> list[Column]:
    """A column for each factor, before those ``beside`` it."""
    beside = list(beside)
    return [
        *(
            Column(head, lambda row, factor=factor: levels(row).get(factor, ""), right=False)  # type: ignore[misc]
            for head, factor in zip(headings(factors, [column.head for column in beside]), factors, strict=True)
        ),
        *beside,
    ]


def known(columns: Iterable[Column], rows: Sequence[Any], nothing: Collection[str] = (NOTHING,)) -> list[Column]:
    """The columns that have something for some row."""
    return [column for column in columns if any(column.shown(row).text not in nothing for row in rows)]


# -------------------------------------------------------------------------------------------------------- in a terminal


def print_table(table: Table, console: Console, whole: str = "the page has all") -> None:
    """The table with what is said of it; nothing where it has no rows."""
    if not table.rows:
        return
    if table.title or table.page_title:
        console.print()
    if table.title:
        aside = f" ({table.aside})" if table.aside else ""
        console.print(Text(table.title, style="bold").append(aside, style="not bold dim"))
    _print_rows(table, console, whole)
    for sentence in table.conclusions:
        console.print(Text(sentence))
    for sentence in (table.explained, *table.notes):
        if sentence:
            console.print(Text(sentence, style="dim"))


def _print_rows(table: Table, console: Console, whole: str) -> None:
    """As many columns as fit; those left out are named, and ``whole`` says where they are.

    Figures and names that have to be typed are never cut: a terminal that is too narrow for those alone breaks lines.
    """
    shown = _shown(table)
    left_out: list[str] = []
    while (widest := _width(shown, console)) > console.width:
        least = max(shown, key=lambda one: one[0].drop)
        if not least[0].drop:
            break
        shown.remove(least)
        left_out.append(least[0].head)
    grid = _grid(shown, console.width)
    grid.show_header = table.headed
    folded = _width([one for one in shown if one[0].unbroken], console) + sum(
        GAP + FOLDED for column, _ in shown if not column.unbroken
    )
    if widest > console.width < folded:
        grid.width = folded
    console.print(grid, crop=False)
    if left_out:
        console.print(
            f"A wider terminal also shows {', '.join(sorted(left_out))}{whole and f'; {whole}'}.", style="dim"
        )


def fits(table: Table, console: Console) -> bool:
    """Whether a terminal is wide enough for all of its columns."""
    return _width(_shown(table), console) <= console.width


def _shown(table: Table) -> list[tuple[Column, list[Text]]]:
    return [(column, [_styled(column.shown(row)) for row in table.rows]) for column in table.on("terminal")]


def _width(shown: Sequence[tuple[Column, list[Text]]], console: Console) -> int:
    return Measurement.get(console, console.options.update_width(10_000), _grid(shown, console.width)).maximum


def _grid(shown: Sequence[tuple[Column, list[Text]]], width: int) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for column, _ in shown:
        justify: JustifyMethod = "right" if column.right else "left"
        most = max(width // 4, 16) if column.narrow else None
        grid.add_column(column.head, justify=justify, no_wrap=column.unbroken, overflow="fold", max_width=most)
    for row in zip(*(cells for _, cells in shown), strict=True):
        grid.add_row(*row)
    return grid


def _styled(cell: Cell) -> Text:
    return Text(cell.text, style=STYLES.get(cell.tone, "")).append(marked(cell.marks), style="yellow")


def marked(numbers: Iterable[int]) -> str:
    """Numbers of warnings, small."""
    return "‧".join(str(n).translate(SUPERSCRIPTS) for n in numbers)


def note(position: int, text: str) -> Grid:
    """A warning behind its number, its further lines under its first."""
    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_row(Text(marked([position]), style="yellow"), Text(text))
    return grid


def print_unchecked(unchecked: Sequence[Unchecked], console: Console) -> None:
    """What was not checked, as one paragraph; nothing where nothing is known to be missing."""
    if unchecked:
        console.print(Text("Not checked: ", style="bold").append(f"{in_words(unchecked)}.", style="not bold dim"))


# ------------------------------------------------------------------------------------------------------------ on a page


def on_page(table: Table) -> Markup:
    """The table under its title with what is said of it; nothing where it has no rows."""
    if not table.rows:
        return Markup("")
    title = Markup("<h3>{}</h3>\n").format(table.title or table.page_title) if table.title or table.page_title else ""
    return Markup("{}{}{}").format(title, page_rows(table), _beneath(table))


def page_section(table: Table) -> Markup:
    """The same as a section of the page."""
    if not table.rows:
        return Markup("")
    return Markup('<section aria-labelledby="{0}"><h2 id="{0}">{1}</h2>\n{2}{3}</section>\n').format(
        table.name, table.title, page_rows(table), _beneath(table)
    )


def page_rows(table: Table) -> Markup:
    """The table alone. The first column names the row."""
    columns = table.on("page")
    heads = [_element("th", column.head, "n" if column.right else "", ' scope="col"') for column in columns]
    rows = [_row([(column, column.shown(row)) for column in columns]) for row in table.rows]
    caption = _element("caption", table.caption) if table.caption else Markup("")
    of_class = Markup(' class="{}"').format(table.name) if table.name else ""
    return Markup(
        '<div class="wide"><table{}>{}<thead><tr>{}</tr></thead><tbody>\n{}\n</tbody></table></div>\n'
    ).format(of_class, caption, Markup("").join(heads), Markup("\n").join(rows))


def _row(cells: Sequence[tuple[Column, Cell]]) -> Markup:
    made = []
    for place, (column, cell) in enumerate(cells):
        is_name = not column.right and (place == 0 or column.typed)
        tones = cell.tone.split()
        tag = "span" if is_name else next((tone for tone in tones if tone in TAGS), "")
        inside = Markup("<br>").join(cell.text.split("\n"))
        inside = _element(tag, inside, "name" if is_name else "") if tag else inside
        inside += Markup("").join(Markup('<br><span class="soft">{}</span>').format(line) for line in cell.more)
        inside += Markup("").join(
            Markup('<sup><a href="#note-{0}" title="{1}" aria-label="warning {0}">{0}</a></sup>').format(n, warning)
            for n, warning in cell.marks.items()
        )
        classes = " ".join([*(["n"] if column.right else []), *(tone for tone in tones if tone not in TAGS)])
        more = Markup("") if place else Markup(' scope="row"')
        more += Markup(' title="{}"').format(cell.why) if cell.why else ""
        more += Markup(' style="background: {}"').format(cell.tint) if cell.tint else ""
        made.append(_element("td" if place else "th", inside, classes, more))
    return Markup("<tr>{}</tr>").format(Markup("").join(made))


def _element(name: str, inside: str, of_class: str = "", more: str = "") -> Markup:
    named = Markup(' class="{}"').format(of_class) if of_class else Markup("")
    return Markup("<{0}{1}{2}>{3}</{0}>").format(Markup(name), Markup(more), named, inside)


def _beneath(table: Table) -> Markup:
    soft = (table.page_explained or table.explained, *table.notes)
    return Markup("").join(
        [
            *(Markup("<p>{}</p>\n").format(conclusion) for conclusion in table.conclusions),
            *(Markup('<p class="soft">{}</p>\n').format(one) for one in soft if one),
        ]
    )
