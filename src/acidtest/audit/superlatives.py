"""Sentences that say a factor between two sides, or something of one throughout, held against tables of their text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from acidtest.audit.bench import Sentence, TableRow
from acidtest.audit.changes import HIGHER, LOWER, Cell, figure
from acidtest.finding import Evidence
from acidtest.formats import linear

Contradicted = tuple[str, tuple[Evidence, ...]]
Words = Callable[[str], frozenset[str]]  # what tells a side in a heading, without units

SLACK = 1.3  # times that a told factor may be off: it rounds, and may be of a mean
TIE = 1.03  # times, up to which two figures are alike
SIDES_LEAST = 2
FACTOR = linear.Pattern(
    r"(?:^|[\s(~≈])(\d{1,4}(?:\.\d{1,2})?)(?:\s?[-–]\s?(\d{1,4}(?:\.\d{1,2})?))?\s?(?:x|×|times)[ -]"
    r"(?:faster|slower|quicker|higher|lower|more|less|better|worse)\b",
    linear.IGNORECASE,
)
EVERY_OTHER = linear.Pattern(
    r"\bthan (?:every|all|any)(?: of)?(?: the)? other|\bthan (?:all|any) the rest\b", linear.IGNORECASE
)
# "The improvement was 180%", "180% improvement": what is above 100 may be a ratio that is told as a gain.
GAIN = linear.Pattern(
    r"\b(?:improvement|increase|gain|speed-?up)s? (?:is|was|of|by) (?:about |around |over |~)?(\d{3})(?:\.\d{1,2})?\s?%"
    r"|\b(\d{3})(?:\.\d{1,2})?\s?% (?:improvement|increase|gain|speed-?up|faster|higher|more)\b",
    linear.IGNORECASE,
)
RATIO_OFF = 0.015
THROUGHOUT = linear.Pattern(
    r"\b(?:in|across|for|on|at|over) (?:all|every|each|any)\b|\bconsistently\b|\balways\b|\bacross the board\b"
    r"|\bthroughout\b|\bevery (?:single )?(?:test|workload|case|scenario|mode|level)\b",
    linear.IGNORECASE,
)
DOMINATES = linear.Pattern(r"\bdominates?\b", linear.IGNORECASE)
AHEAD = linear.Pattern(
    r"\b(?:outperform(?:s|ed)?|beats?|(?:is|are|was|were) (?:consistently |always )?(?:faster|quicker|better) than)\b",
    linear.IGNORECASE,
)
# A part of what is compared, or what is no measurement.
PARTLY = linear.Pattern(
    r"\b(?:except|almost|nearly|most(?:ly)?|some|many|but|however|although|usually|often|up to|at least|about half|"
    r"theor\w{2,8}|not|never|no|only|average|overall|total)\b|n['’]t\b",
    linear.IGNORECASE,
)
WORD = linear.Pattern(r"[A-Za-z][A-Za-z_-]{1,40}|\d+(?:\.\d+)*")


def contradicted(said: Sentence, near: Sequence[list[TableRow]], words: Words) -> Contradicted | None:
    text = frozenset(word.lower() for word in WORD.findall(said.text))
    return (
        _every_other(said, near, text, words)
        or _factor(said, near, text, words)
        or _ratio_as_gain(said, near, text)
        or _not_dominant(said, near, text, words)
        or _not_always(said, near, text, words)
    )


def _cells(row: TableRow) -> dict[int, Cell]:
    found = ((n, figure(cell)) for n, cell in enumerate(row.cells) if 0 < n < len(row.head))
    return {n: Cell(row, n, value) for n, value in found if value}


def _named(text: frozenset[str], label: str, words: Words) -> bool:
    of = words(label)
    return bool(of) and of <= text and any(word[0].isalpha() for word in of)


def _of_case(table: Sequence[TableRow], text: frozenset[str], words: Words) -> list[TableRow]:
    """The rows that the sentence names; none where it names none."""
    return [row for row in table if _named(text, row.cells[0], words)]


def _columns(table: Sequence[TableRow], text: frozenset[str], words: Words) -> list[int]:
    head = table[0].head
    return [n for n in range(1, len(head)) if _named(text, head[n], words)]


def _ratio(one: float, other: float) -> float:
    return max(one / other, other / one)


def _told(said: Sentence) -> tuple[float, float] | None:
    matches = list(FACTOR.finditer(said.text))
    if len(matches) != 1:
        return None
    low = float(matches[0][1])
    return low, float(matches[0][2] or low)


def _every_other(
    said: Sentence, near: Sequence[list[TableRow]], text: frozenset[str], words: Words
) -> Contradicted | None:
    """The sentence tells by how much a side differs from every other one in the rows that it names."""
    told = _told(said)
    if told is None or not EVERY_OTHER.search(said.text):
        return None
    off: list[tuple[Cell, Cell]] = []
    for table in near:
        columns = _columns(table, text, words)
        for row in _of_case(table, text, words) if len(columns) == 1 else ():
            cells = _cells(row)
            mine = cells.pop(columns[0], None)
            if mine and len(cells) >= SIDES_LEAST:
                off += [(mine, one) for one in cells.values() if not _within(_ratio(mine.value, one.value), *told)]
    if not off:
        return None
    off.sort(key=lambda pair: _ratio(pair[0].value, pair[1].value), reverse=True)
    mine, other = off[0] if _ratio(off[0][0].value, off[0][1].value) > told[1] else off[-1]
    ratio = _ratio(mine.value, other.value)
    text_ = f"{mine.row.cells[0]}: {mine.row.cells[mine.at]} and {other.row.cells[other.at]} differ {ratio:.1f}-fold"
    return text_, tuple(dict.fromkeys(one.says() for pair in off for one in pair))


def _within(ratio: float, low: float, high: float) -> bool:
    # "Three times faster" is taken for four times as fast by some.
    return low / SLACK <= ratio <= (high + 1) * SLACK


def _factor(said: Sentence, near: Sequence[list[TableRow]], text: frozenset[str], words: Words) -> Contradicted | None:
    """The sentence tells a factor between two sides, and nowhere in the tables that hold both are they so far apart."""
    told = _told(said)
    if told is None or told[0] < 1 or PARTLY.search(said.text) or EVERY_OTHER.search(said.text):
        return None
    pairs: list[tuple[Cell, Cell]] = []
    for table in near:
        columns = _columns(table, text, words)
        rows = _of_case(table, text, words)
        if len(columns) == 2 and words(table[0].head[columns[0]]) != words(table[0].head[columns[1]]):
            for row in rows or table:
                cells = _cells(row)
                if columns[0] in cells and columns[1] in cells:
                    pairs.append((cells[columns[0]], cells[columns[1]]))
        elif len(rows) == 2 and words(rows[0].cells[0]) != words(rows[1].cells[0]):
            one, other = map(_cells, rows)
            pairs += [(one[n], other[n]) for n in one if n in other and _is_measured(rows[0], n)]
    if len(pairs) < 2 or any(_within(_ratio(one.value, other.value), *told) for one, other in pairs):
        return None
    ratios = sorted(_ratio(one.value, other.value) for one, other in pairs)
    text_ = f"the figures of both differ between {ratios[0]:.2g} and {ratios[-1]:.2g}-fold"
    return text_, tuple(dict.fromkeys(one.says() for pair in pairs for one in pair))


def _ratio_as_gain(said: Sentence, near: Sequence[list[TableRow]], text: frozenset[str]) -> Contradicted | None:
    """What is told as a gain in per cent is the ratio of the two rows or columns that the sentence names."""
    match = GAIN.search(said.text)
    if match is None:
        return None
    told = float(match[1] or match[2])
    pairs = [pair for table in near for pair in _both(table, text)]
    gains = [100 * (_ratio(one.value, other.value) - 1) for one, other in pairs]
    ratios = [pair for pair, gain in zip(pairs, gains, strict=True) if abs(gain + 100 - told) <= RATIO_OFF * told]
    if not ratios or any(abs(gain - told) <= 3 * RATIO_OFF * told for gain in gains):
        return None
    one, other = ratios[0]
    gain = 100 * (_ratio(one.value, other.value) - 1)
    return f"{one.row.cells[one.at]} and {other.row.cells[other.at]} are {gain:.0f}% apart", (one.says(), other.says())


def _both(table: Sequence[TableRow], text: frozenset[str]) -> Iterator[tuple[Cell, Cell]]:
    """The figures of the two rows, or else the two columns, that the sentence names by all of their words, which may be
    numbers."""

    def all_words(label: str) -> frozenset[str]:
        return frozenset(word.lower() for word in WORD.findall(label))

    rows = [row for row in table if (of := all_words(row.cells[0])) and of <= text]
    columns = [n for n, head in enumerate(table[0].head) if n and (of := all_words(head)) and of <= text]
    if len(rows) == 2:
        one, other = map(_cells, rows)
        yield from ((one[n], other[n]) for n in one if n in other)
    elif len(columns) == 2:
        for row in table:
            cells = _cells(row)
            if columns[0] in cells and columns[1] in cells:
                yield cells[columns[0]], cells[columns[1]]


def _is_measured(row: TableRow, n: int) -> bool:
    said = f"{row.head[n]} {row.caption} {row.under}"
    return (HIGHER.search(said) or LOWER.search(said)) is not None


def _not_dominant(
    said: Sentence, near: Sequence[list[TableRow]], text: frozenset[str], words: Words
) -> Contradicted | None:
    """The sentence says that one row dominates throughout, and in some table another row is larger in every column."""
    if (
        not DOMINATES.search(said.text)
        or not THROUGHOUT.search(said.text)
        or PARTLY.search(said.text.replace("total", ""))
    ):
        return None
    small: list[tuple[Cell, Cell]] = []
    for table in near:
        rows = _of_case(table, text, words)
        if len(rows) != 1 or len(table) <= SIDES_LEAST:
            continue
        mine = _cells(rows[0])
        larger = [
            (mine[n], max((cells[n] for row in table if n in (cells := _cells(row))), key=lambda one: one.value))
            for n in mine
        ]
        if larger and all(other.value > TIE * one.value for one, other in larger):
            small += larger[:1]
    if not small:
        return None
    one, other = small[0]
    text_ = f"in the table of line {one.row.table:,}, {other.row.cells[0]} has {other.row.cells[other.at]} and "
    return f"{text_}{one.row.cells[0]} {one.row.cells[one.at]}", tuple(cell.says() for pair in small for cell in pair)


def _not_always(
    said: Sentence, near: Sequence[list[TableRow]], text: frozenset[str], words: Words
) -> Contradicted | None:
    """The sentence says that one side is ahead of another throughout, and in some row of a table it is behind."""
    verb = AHEAD.search(said.text)
    if verb is None or not THROUGHOUT.search(said.text) or PARTLY.search(said.text):
        return None
    first = frozenset(word.lower() for word in WORD.findall(said.text[: verb.start()]))
    second = frozenset(word.lower() for word in WORD.findall(said.text[verb.end() :]))
    behind: list[tuple[Cell, Cell]] = []
    for table in near:
        mine, others = _columns(table, first, words), _columns(table, second, words)
        if len(mine) != 1 or len(others) != 1 or mine == others:
            continue
        for row in _of_case(table, text, words) or table:
            cells = _cells(row)
            if mine[0] in cells and others[0] in cells:
                behind += list(_lost(cells[mine[0]], cells[others[0]]))
    if not behind:
        return None
    one, other = behind[0]
    more = f", and in {len(behind) - 1:,} more" if len(behind) > 1 else ""
    text_ = f"{one.row.cells[0]}: {one.row.cells[one.at]} against {other.row.cells[other.at]}{more}"
    return text_, tuple(dict.fromkeys(cell.says() for pair in behind for cell in pair))


def _lost(mine: Cell, other: Cell) -> Iterator[tuple[Cell, Cell]]:
    said = (
        f"{mine.row.head[mine.at]} {other.row.head[other.at]} {mine.row.cells[0]} {mine.row.caption} {mine.row.under}"
    )
    higher, lower = HIGHER.search(said) is not None, LOWER.search(said) is not None
    if higher == lower:
        return
    least, most = (mine.value, other.value) if higher else (other.value, mine.value)
    if most > TIE * least:
        yield mine, other
