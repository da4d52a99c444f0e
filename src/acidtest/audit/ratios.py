"""Sentences that tell how far apart two sides are, held against every table of their text that holds both.

A number that somebody tells may be a quotient or a difference, of either of the two, of one row or of the mean of all.
Only what is none of these is spoken of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from acidtest.audit.bench import Sentence, TableRow
from acidtest.audit.changes import HIGHER, LOWER, Cell, figure
from acidtest.audit.compared import PRODUCTS_BY_WORD
from acidtest.finding import Evidence
from acidtest.formats import linear

Contradicted = tuple[str, tuple[Evidence, ...]]

NEAR_LINES = 40  # between a sentence that names no row and the table that it is about
COLUMNS_MAX, ROWS_MAX = 12, 40  # of a table whose sides are told apart
POINTS, SHARE = 2.0, 0.12  # by which a told percentage may be off
SLACK, ROUGH = 1.15, 1.35  # times that a factor may be off, with and without decimals
ROWS_LEAST = 2  # figures of both, where the sentence names no row
NUMBER = r"(\d{1,5}(?:\.\d{1,3})?)(?:\s?(?:%|x|×)?\s?(?:[-–—~]|to)\s?(\d{1,5}(?:\.\d{1,3})?))?"
PERCENT = linear.Pattern(
    rf"{NUMBER}\s?(?:%|percent) (?:performance |throughput |latency )?"
    r"(faster|slower|higher|lower|more|less|better|worse|improvement|gain|boost|speed-?up|increase|decrease|reduction|"
    r"quicker|fewer)\b",
    linear.IGNORECASE,
)
FACTOR = linear.Pattern(
    rf"{NUMBER}\s?(?:x|×|times)[ -](?:faster|slower|quicker|higher|lower|more|less|better|worse|the|as|improvement|"
    r"speed-?up|gain|fewer)\b",
    linear.IGNORECASE,
)
SPOKEN = linear.Pattern(
    r"\b(twice|double|half|three times|triple|thrice|four times|five times|ten times|an order of magnitude)\b"
    r"[ -](?:as |the )?(?:fast|slow|quick|high|low|much|many|throughput|rate|latency|time|faster|slower|tps|qps|more)",
    linear.IGNORECASE,
)
WORDS = {
    "twice": 2.0, "double": 2.0, "half": 2.0, "three times": 3.0, "triple": 3.0, "thrice": 3.0, "four times": 4.0,
    "five times": 5.0, "ten times": 10.0, "an order of magnitude": 10.0,
}  # fmt: skip
# What makes another figure of it, or none.
OPEN = linear.Pattern(
    r"\b(?:not|no|never|hardly|neither|nor|theor\w{2,8}|expect\w{0,3}|should|would|could|can|may|might|if|claims?|claimed|"
    r"advertis\w{2,5}|estimat\w{1,4}|previous\w{0,2}|earlier|elsewhere|others?|blog|post|projected|combined|both|memory|"
    r"cpu|disk|storage|size|space|cost|price|cheaper|smaller|larger|compress\w{0,4}|lines|code|ram|energy|power)\b|n['’]t\b",
    linear.IGNORECASE,
)
BEST = linear.Pattern(r"\b(?:up to|as much as|at most|max(?:imum)?(?: of)?)\b", linear.IGNORECASE)  # of some case
BOUND = linear.Pattern(
    r"\b(?:almost|nearly|close to|over|more than|at least|exceed\w{0,3}|above)\b|>", linear.IGNORECASE
)
OPERATION = linear.Pattern(
    r"\b(?:insert\w{0,4}|select\w{0,4}|updat\w{1,4}|delet\w{1,4}|read\w{0,3}|writ\w{1,4}|scan\w{0,4}|quer\w{1,4}|"
    r"commit\w{0,3}|fetch\w{0,3}|bulk|batch\w{0,3}|random|sequential|join\w{0,3}|aggregat\w{1,5}|search\w{0,3}|lookups?|"
    r"load\w{0,3}|import\w{0,3}|ingest\w{0,4}|index\w{0,4}|warm|cold|cach\w{1,4}|startup|p\d{2,4}|median|tail|single|"
    r"multi|concurren\w{1,3}|parallel|large|small|complex|simple|full|range|point|mixed|\d{1,6})\b",
    linear.IGNORECASE,
)
WORD = linear.Pattern(r"[A-Za-z][A-Za-z]{1,30}|\d+(?:\.\d+)*")
SAME = {**PRODUCTS_BY_WORD, "mongo": "mongodb", "psql": "postgresql"}
# Words of headings that name no side.
IDLE = frozenset(
    "tps qps rps ops iops nopm tpm ms us ns sec secs second seconds per avg average mean median rate throughput "  # noqa: SIM905
    "latency time times p50 p95 p99 min max total the of in and for with vs on to is are was be by at go org com www "
    "result results value test mb gb kb db driver database server version req requests transactions operations faster "
    "slower than performance higher lower better".split()
)


@dataclass(frozen=True)
class _Told:
    low: float
    high: float
    factor: bool
    slack: float
    bound: bool  # whether it is told as the most or the least

    def may_be(self, ratios: Sequence[float]) -> bool:
        """Whether the number may be told of figures that are these times apart, each at least 1."""
        if self.factor:
            forms = [list(ratios)]
            low, high = self.low / self.slack, (self.high + 1) * self.slack
        else:
            # Of the slower or of the faster one; or a ratio that is told as a gain, of which another finding speaks.
            forms = [[100 * (one - 1) for one in ratios], [100 * (1 - 1 / one) for one in ratios]]
            forms.append([100 * one for one in ratios])
            low = self.low - max(POINTS, SHARE * self.low)
            high = self.high + max(POINTS, SHARE * self.high)
        # Between the least and the most of all rows it may be the mean of them; "more than" is true of anything beyond.
        return any(max(of) >= low and (self.bound or min(of) <= high) for of in forms)


def contradicted(said: Sentence, near: Sequence[list[TableRow]]) -> Contradicted | None:
    told = _told(said.text)
    if told is None:
        return None
    text = _words(said.text)
    pairs = [pair for table in near for pair in _pairs(table, text)]
    named = [pair for pair in pairs if pair.named]
    general = not OPERATION.search(_without_number(said.text))
    about = named or (pairs if general else [])
    if not about or (not named and len(about) < ROWS_LEAST):
        return None
    if not named and not any(_is_near(said, pair.one.row) for pair in about):
        return None
    if told.may_be([pair.ratio for pair in about]):
        return None
    ranked = sorted(about, key=lambda pair: pair.ratio)
    least, most = ranked[0].ratio, ranked[-1].ratio
    span = f"{most:.2f}" if most - least < 0.005 else f"{least:.2f} to {most:.2f}"
    evidence = dict.fromkeys(cell.says() for pair in about for cell in (pair.one, pair.other))
    return f"its figures of both differ {span}-fold", tuple(evidence)


def _told(text: str) -> _Told | None:
    """The only number of its kind in the sentence."""
    percents, factors = list(PERCENT.finditer(text)), list(FACTOR.finditer(text))
    spoken = list(SPOKEN.finditer(text)) if not factors else []
    if len(percents) + len(factors) + len(spoken) != 1 or OPEN.search(text) or BEST.search(text):
        return None
    if spoken:
        value = WORDS[spoken[0][1].lower()]
        at = spoken[0].start()
        return _Told(value, value, True, ROUGH, _is_bound(text, at))
    match = (percents or factors)[0]
    low = float(match[1])
    high = float(match[2]) if match[2] else low
    if high < low or (factors and low < 1):
        return None
    return _Told(low, high, bool(factors), SLACK if "." in match[1] else ROUGH, _is_bound(text, match.start()))


def _is_bound(text: str, at: int) -> bool:
    return BOUND.search(text[max(0, at - 30) : at]) is not None


def _without_number(text: str) -> str:
    for pattern in (PERCENT, FACTOR, SPOKEN):
        text = pattern.sub(" ", text)
    return text


def _words(text: str) -> frozenset[str]:
    found = (word.lower() for word in WORD.findall(text))
    return frozenset(SAME.get(word, word) for word in found)


@dataclass(frozen=True)
class _Pair:
    one: Cell
    other: Cell
    named: bool  # whether the sentence names the row or column that both are of

    @property
    def ratio(self) -> float:
        return max(self.one.value / self.other.value, self.other.value / self.one.value)


def _pairs(table: Sequence[TableRow], text: frozenset[str]) -> Iterator[_Pair]:
    """Two figures of one row, or of one column, whose sides the sentence names both."""
    head = table[0].head
    if len(head) <= COLUMNS_MAX:
        heads = {n: _words(cell) - IDLE for n, cell in enumerate(head) if n}
        sides = [pair for pair in combinations(heads, 2) if _both(heads[pair[0]], heads[pair[1]], text)]
        for row in table if sides else ():
            cells = _cells(row)
            named = bool((_words(row.cells[0]) - IDLE) & (text - _all(heads, sides)))
            for one, other in sides:
                if one in cells and other in cells and _comparable(row, one, other):
                    yield _Pair(cells[one], cells[other], named)
    if 1 < len(table) <= ROWS_MAX:
        labels = {n: _words(row.cells[0]) - IDLE for n, row in enumerate(table)}
        for first, second in combinations(labels, 2):
            if not _both(labels[first], labels[second], text):
                continue
            cells, others = _cells(table[first]), _cells(table[second])
            for n, cell in cells.items():
                if n in others and _is_measured(table[first], n):
                    named = bool((_words(head[n]) - IDLE) & (text - labels[first] - labels[second]))
                    yield _Pair(cell, others[n], named)


def _all(heads: dict[int, frozenset[str]], sides: Sequence[tuple[int, int]]) -> frozenset[str]:
    return frozenset(word for pair in sides for n in pair for word in heads[n])


def _both(one: frozenset[str], other: frozenset[str], text: frozenset[str]) -> bool:
    """Whether the sentence has a word that only the one has, and one that only the other has; of those that have
    numbers alone all of them."""
    return _is_named(one - other, text) and _is_named(other - one, text)


def _is_named(own: frozenset[str], text: frozenset[str]) -> bool:
    letters = {word for word in own if word[0].isalpha()}
    return bool(letters & text) if letters else bool(own) and own <= text


def _cells(row: TableRow) -> dict[int, Cell]:
    found = ((n, figure(cell)) for n, cell in enumerate(row.cells) if 0 < n < len(row.head))
    return {n: Cell(row, n, value) for n, value in found if value}


def _comparable(row: TableRow, one: int, other: int) -> bool:
    """Whether both are figures of one kind: rates, or times in one unit."""
    heads = [row.head[one], row.head[other]]
    kinds = [(HIGHER.search(head) is not None, LOWER.search(head) is not None) for head in heads]
    units = [row.cells[n].rpartition(" ")[2].lstrip("0123456789.,'") for n in (one, other)]
    return kinds[0] == kinds[1] and units[0] == units[1]


def _is_measured(row: TableRow, n: int) -> bool:
    said = f"{row.head[n]} {row.cells[n]} {row.caption} {row.under}"
    return (HIGHER.search(said) or LOWER.search(said)) is not None


def _is_near(said: Sentence, row: TableRow) -> bool:
    return said.under == row.under or abs((said.where.line or 0) - (row.where.line or 0)) <= NEAR_LINES
