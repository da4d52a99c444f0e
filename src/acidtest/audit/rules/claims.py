"""Published sentences and changes, held against the figures that stand beside them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from acidtest import settings
from acidtest.audit import parameters, ratios, superlatives
from acidtest.audit.bench import Bench, Sentence, Setting, TableRow
from acidtest.audit.changes import HIGHER, LOWER, Change, columns, figure, tables
from acidtest.audit.said import and_more
from acidtest.finding import Evidence, Found, rule
from acidtest.formats import linear
from acidtest.words import counted

DISCLOSE = "B. Schwartz et al., High Performance MySQL, chapter 2: what a benchmark has to document"
SOURCE = "G. Heiser, Systems Benchmarking Crimes; G. Fleming, J. Wallace: How not to lie with statistics (CACM 1986)"
POINTS = 2.0  # per cent that a sentence may be off: it rounds
SHARE = 0.05  # of a large one
ALIKE_MOST = 1.5  # times, up to which two figures are similar to somebody
BELOW_LINES = 30  # from a table to a sentence that is about it
SAME_CLAIM = 3.0  # times that two statements of one thing may differ
NEGATED = linear.Pattern(r"\b(?:not|no|never|hardly|neither|nor)\b|n['’]t\b", linear.IGNORECASE)
BETTER = linear.Pattern(
    r"\b(?:improve(?:s|d|ments?)?|better|faster|outperforms?|gains?|speed-?ups?|superior)\b", linear.IGNORECASE
)
WORSE = linear.Pattern(
    r"\b(?:slower|worse|degrad\w{1,6}|regress\w{1,6}|drops?|dropped|lower|overhead|except|mixed|but|however|although)\b",
    linear.IGNORECASE,
)
SIMILAR = linear.Pattern(
    r"\b(?:similar|comparable|identical|the same) (?:results?|throughput|latenc(?:y|ies)|performance|rates?|figures?|"
    r"numbers?|tps|qps)\b",
    linear.IGNORECASE,
)
PERCENT = linear.Pattern(
    r"[~≈]?\s?(\d{1,4}(?:\.\d{1,3})?)(?:\s?%?\s?[-–—]\s?(\d{1,4}(?:\.\d{1,3})?))?\s?%[ -]{1,2}"
    r"(?:performance |throughput )?"
    r"(faster|slower|higher|lower|more|less|better|worse|improvement|gain|boost|speed-?up|increase|overhead|decrease|"
    r"reduction|drop|degradation)",
    linear.IGNORECASE,
)
BETWEEN = linear.Pattern(
    r"\b(?:from )?(\d[\d,]{0,15}(?:\.\d{1,6})?) ?([a-zA-Zµμ/]{0,12}) ?(?:to|vs\.?|versus|→|->|against) "
    r"?(\d[\d,]{0,15}(?:\.\d{1,6})?) ?([a-zA-Zµμ/]{0,12})[^.;%\d]{0,40}?"
    r"\(?([-+−–~]{0,2}\d{1,5}(?:\.\d{1,3})?) ?%"
)
GAINED = linear.Pattern(r"^ ?(?:improvement|increase|gain|faster|higher|more|speed-?up|better)\b", linear.IGNORECASE)
OPERATION = linear.Pattern(
    r"\b(?:inserts?|selects?|updates?|deletes?|reads?|writes?|scans?|quer(?:y|ies)|commits?|fetch\w{0,3}|bulk|random|"
    r"sequential|latency|throughput|p9\d)\b",
    linear.IGNORECASE,
)
COST = frozenset(("slower", "worse", "overhead", "lower", "less", "degradation", "drop", "decrease", "reduction"))
TOKEN = linear.Pattern(r"\b[A-Za-z][A-Za-z_]{0,30}\d[\w]{0,20}\b|\b[A-Z]?[a-z]{1,20}[A-Z]\w{1,30}\b|\b[A-Z]{3,12}\b")
COMMON = frozenset(("TPS", "QPS", "SQL", "CPU", "RAM", "SSD", "IOPS", "API", "LTS", "README", "NVMe", "README"))
WORD = linear.Pattern(r"[A-Za-z][A-Za-z_-]{1,40}|\d+(?:\.\d+)*")
UNITS = frozenset(
    "tps qps rps ops iops nopm tpm ms s us ns sec per second avg mean rate throughput latency p95 p99".split()  # noqa: SIM905
)
NOISE = linear.Pattern(
    r"\b(?:noise|variance|run-to-run|fluctuat\w{1,5}|within (?:the )?(?:error|margin)|not significant|"
    r"statistically insignificant|jitter)\b",
    linear.IGNORECASE,
)


LINEAR = linear.Pattern(r"\blin(?:ear|eal|éaire|eare)\w{0,6}\b|線性|线性|线形|線形|선형|линейн", linear.IGNORECASE)
NOT_LINEAR = linear.Pattern(
    r"\b(?:not|no|non|sub|never|isn.t|hardly|regression|interpolation|algebra)\b|sub-?linear|非線性|非线性|нелинейн",
    linear.IGNORECASE,
)
LEVELS_LEAST = 3  # of load, of which a table is
LEVELS_APART = 4  # times, from the least to the most
GROWN = 1.3  # times, from which on a rate has grown


@rule(
    "arithmetic",
    severity="doubtful",
    over=Bench,
    says="A change is printed that does not follow from the two figures beside it.",
    remedy="Let a script compute changes from the results.",
    disproved_by="figures of these two runs of which it is the change",
    source=SOURCE,
)
def arithmetic(bench: Bench) -> Iterator[Found]:
    by_file: dict[str, list[tuple[str, Evidence]]] = defaultdict(list)
    for table in tables(bench):
        for column in columns(table):
            for one in column:
                if not one.follows:
                    by_file[one.row.where.file].append((_wrong(one), _says(one)))
    for said in bench.sentences:
        for text in _miscounted(said.text):
            by_file[said.where.file].append((text, said.where.says(said.text)))
    for found in by_file.values():
        more = and_more(len(found) - 1, "change")
        yield Found(f"{found[0][0]}{more}.", tuple(dict.fromkeys(evidence for _, evidence in found)))


def _wrong(one: Change) -> str:
    first, second = one.row.cells[one.first], one.row.cells[one.second]
    ratio = one.figures[1] / one.figures[0]
    if one.factor:
        return f"{one.label}: {first} and {second} are told as {one.cell}, and are {max(ratio, 1 / ratio):.3g}x"
    right = f"{100 * one.rise:+.1f}%"
    return f"{one.label}: {first} and {second} are told as {one.cell}; from the first to the second it is {right}"


def _says(one: Change) -> Evidence:
    row = one.row
    return row.where.says(f"{one.label}: {row.cells[one.first]}, {row.cells[one.second]}, {one.cell}")


def _miscounted(text: str) -> Iterator[str]:
    for match in BETWEEN.finditer(text):
        first, second = (float(match[n].replace(",", "")) for n in (1, 3))
        told = float(match[5].lstrip("-+−–~") or 0)
        units = {match[2].lower(), match[4].lower()} - {""}
        if not first or not second or len(units) > 1 or 1900 <= first <= 2100 or not units:
            continue
        changes = [100 * abs(second / first - 1), 100 * abs(first / second - 1)]
        if not GAINED.search(text[match.end() : match.end() + 30]):
            changes += [100 * second / first, 100 * first / second]
        if all(abs(told - one) > max(POINTS, SHARE * one) for one in changes):
            yield f"From {match[1]} to {match[3]} is {100 * (second / first - 1):+.1f}%, and the text says {match[5]}%"


@rule(
    "claim-against-figures",
    severity="doubtful",
    over=Bench,
    says="A published sentence says something else than the figures that it is about, or how they were made.",
    remedy="Write the sentence from the figures, and again whenever they change.",
    disproved_by="the figures that the sentence is about, if these are others",
    source=SOURCE,
)
def claim_against_figures(bench: Bench) -> Iterator[Found]:
    yield from parameters.against_results(bench)
    yield from _not_linear(bench)
    by_file: dict[str, list[list[TableRow]]] = defaultdict(list)
    for table in tables(bench):
        by_file[table[0].where.file].append(table)
    for said in bench.sentences:
        near = by_file.get(said.where.file, [])
        found = (
            _not_similar(said, near)
            or _no_gain(said, near)
            or _other_share(said, near)
            or superlatives.contradicted(said, near, named)
            or ratios.contradicted(said, near)
        )
        if found:
            text, evidence = found
            own = said.where.says(said.text)
            yield Found(f"The text says “{said.text}”; {text}.", (own, *evidence), certainty="read from prose")


def _not_linear(bench: Bench) -> Iterator[Found]:
    """Tables under a heading that calls growth linear, of which no rate grows with the levels of its first column."""
    for table in tables(bench):
        first, last = table[0], table[-1]
        if not LINEAR.search(first.under) or NOT_LINEAR.search(first.under) or len(table) < LEVELS_LEAST:
            continue
        levels = [figure(row.cells[0]) for row in table]
        known = [level for level in levels if level]
        if len(known) < len(table) or known != sorted(known) or known[-1] < LEVELS_APART * known[0]:
            continue
        columns_ = [
            (one, most)
            for n, head in enumerate(first.head)
            if 0 < n < min(len(first.cells), len(last.cells)) and HIGHER.search(head)
            if (one := figure(first.cells[n]))
            if (most := max((figure(row.cells[n]) or 0 for row in table if n < len(row.cells)), default=0))
        ]
        if columns_ and all(most < GROWN * one for one, most in columns_):
            times = max(most / one for one, most in columns_)
            heading = first.under.strip("*")
            text = (
                f"The heading says “{heading}”; from {first.cells[0]} to {last.cells[0]} {first.head[0]} no rate "
                f"of its table grows more than {times:.2f}-fold."
            )
            evidence = (row.where.says(" | ".join(row.cells)) for row in table)
            yield Found(text, tuple(evidence), certainty="read from prose")


Contradicted = tuple[str, tuple[Evidence, ...]]


def _not_similar(said: Sentence, near: Sequence[list[TableRow]]) -> Contradicted | None:
    """The sentence calls the rows of the table above it similar, and its two rows are far apart in what is measured."""
    if not SIMILAR.search(said.text) or NEGATED.search(said.text):
        return None
    line = said.where.line or 0
    above = [table for table in near if 0 < line - (table[-1].where.line or 0) <= BELOW_LINES]
    if not above or len(above[-1]) != 2:
        return None
    table = above[-1]
    for n, head in enumerate(table[0].head):
        values = [figure(row.cells[n]) for row in table if n < len(row.cells)]
        known = [value for value in values if value]
        if len(known) == 2 and _measured(head) and max(known) > ALIKE_MOST * min(known):
            text = f"the table above has {table[0].cells[n]} and {table[1].cells[n]} {head}"
            return text, tuple(row.where.says(f"{row.cells[0]}: {row.cells[n]} {head}") for row in table)
    return None


def _measured(head: str) -> bool:
    return (HIGHER.search(head) or LOWER.search(head)) is not None


def _no_gain(said: Sentence, near: Sequence[list[TableRow]]) -> Contradicted | None:
    """The sentence says that one side improves, and in every table that compares it, it is behind throughout."""
    text = said.text
    if not BETTER.search(text) or WORSE.search(text) or NEGATED.search(text) or PERCENT.search(text):
        return None
    behind: list[Change] = []
    for table in near:
        for column in columns(table):
            one = column[0]
            mine = named(one.row.head[one.second])
            if not _names(text, mine) or _names(text, named(one.row.head[one.first])):
                continue
            if any(change.gains is not False for change in column):
                return None
            behind += column
    if len(behind) < 2:
        return None
    one = behind[0]
    side = one.row.head[one.second]
    return f"{side} is behind in each of {counted(len(behind), 'row')} that hold it", tuple(map(_says, behind))


def named(head: str) -> frozenset[str]:
    """What tells a side in a heading, without units."""
    return frozenset(word.lower() for word in WORD.findall(head)) - UNITS


def _names(text: str, side: frozenset[str]) -> bool:
    return bool(side) and side <= {word.lower() for word in WORD.findall(text)}


def _other_share(said: Sentence, near: Sequence[list[TableRow]]) -> Contradicted | None:
    """The sentence tells by how much one column is ahead of another, and no row is ahead by about as much."""
    matches = list(PERCENT.finditer(said.text))
    if len(matches) != 1 or NEGATED.search(said.text) or OPERATION.search(said.text):
        return None
    low = float(matches[0][1])
    high = float(matches[0][2] or low)
    compared: list[tuple[float, Evidence]] = []
    for table in near:
        for first, second in _pairs(said.text, table):
            for row in table:
                one, other = (figure(row.cells[n]) if n < len(row.cells) else None for n in (first, second))
                if one and other:
                    evidence = row.where.says(f"{row.cells[0]}: {row.cells[first]} and {row.cells[second]}")
                    compared += [(100 * abs(a / b - 1), evidence) for a, b in ((one, other), (other, one))]
    if len(compared) < 2:
        return None
    shares = [share for share, _ in compared]
    slack = max(POINTS, SHARE * high)
    if min(shares) - slack <= high and low <= max(shares) + slack:
        return None
    least, most = min(shares), max(shares)
    text = f"the figures beside it are {least:.0f} to {most:.0f}% apart, half of them below {median(shares):.0f}%"
    return text, tuple(dict.fromkeys(evidence for _, evidence in compared))


def _pairs(text: str, table: Sequence[TableRow]) -> Iterator[tuple[int, int]]:
    """Two columns of one unit that the sentence names both."""
    head = table[0].head
    by_unit: dict[frozenset[str], list[int]] = defaultdict(list)
    called = [n for n in range(1, len(head)) if _names(text, named(head[n]))]
    for n in called:
        by_unit[frozenset(word.lower() for word in WORD.findall(head[n])) & UNITS].append(n)
    for of in by_unit.values():
        if len(of) == 2 and named(head[of[0]]) != named(head[of[1]]):
            yield of[0], of[1]


@dataclass(frozen=True)
class _Share:
    """How much something costs or gains, as a sentence says it."""

    said: Sentence
    low: float
    high: float
    costs: bool
    general: bool  # not of one kind of operation


@rule(
    "claim-against-claim",
    severity="doubtful",
    over=Bench,
    says="Two places of the kit say different things of the same.",
    remedy="Say what each figure was measured on and with, and let both come from one place.",
    disproved_by="two measurements that the two statements are about",
    source=SOURCE,
)
def claim_against_claim(bench: Bench) -> Iterator[Found]:
    yield from parameters.contradicted(bench)
    by_subject: dict[str, list[_Share]] = defaultdict(list)
    for said in bench.sentences:
        matches = list(PERCENT.finditer(said.text))
        if len(matches) == 1 and not NEGATED.search(said.text):
            match = matches[0]
            low = float(match[1])
            share = _Share(said, low, float(match[2] or low), match[3].lower() in COST, not OPERATION.search(said.text))
            for token in set(TOKEN.findall(said.text)) - COMMON:
                by_subject[token].append(share)
    told: set[Sentence] = set()
    for subject, shares in by_subject.items():
        wholes: list[_Share] = []
        parts: list[_Share] = []
        for costs in dict.fromkeys(one.costs for one in shares):
            of = [one for one in shares if not one.general and one.costs == costs]
            if len(of) < 2:
                continue
            least, most = min(one.low for one in of), max(one.high for one in of)
            found = [
                one
                for one in shares
                if one.general
                and one.low > 0
                and one.costs == costs
                and one.said not in told
                and (one.high * SAME_CLAIM <= least or one.low >= SAME_CLAIM * most)
            ]
            if found:
                wholes += found
                parts += of
        if wholes:
            told |= {one.said for one in wholes}
            text = (
                f"Of {subject} the text says “{wholes[0].said.text}”, and “{parts[0].said.text}” elsewhere: no part of "
                "it is near the whole."
            )
            evidence = dict.fromkeys(one.said.where.says(one.said.text) for one in (*wholes, *parts))
            yield Found(text, tuple(evidence), certainty="read from prose")


@rule(
    "noise-as-gain",
    severity="doubtful",
    over=Bench,
    says="A change is called a gain that is no larger than what is called noise of the same measurement.",
    remedy="Repeat both, and call a gain what is larger than the spread of the repetitions.",
    disproved_by="repetitions of both, with intervals that do not touch",
    source="T. Kalibera, R. Jones: Rigorous benchmarking in reasonable time (ISMM 2013)",
)
def noise_as_gain(bench: Bench) -> Iterator[Found]:
    noise: dict[tuple[str, str], list[Change]] = defaultdict(list)
    gains: dict[tuple[str, str], list[Change]] = defaultdict(list)
    for table in tables(bench):
        for column in columns(table):
            for one in column:
                notes = " ".join(cell for cell in one.row.cells[one.at + 1 :] if figure(cell) is None)
                key = (one.row.where.file, one.label)
                if NOISE.search(notes):
                    noise[key].append(one)
                elif notes.strip() and abs(one.rise) > 0:
                    gains[key].append(one)
    by_file: dict[str, list[tuple[Change, Change]]] = defaultdict(list)
    for key, found in gains.items():
        loud = max(noise[key], key=lambda one: abs(one.rise), default=None) if key in noise else None
        if loud is not None:
            by_file[key[0]] += [(one, loud) for one in found if abs(one.rise) < abs(loud.rise)]
    for pairs in filter(None, by_file.values()):
        one, loud = pairs[0]
        text = f"{one.label}: {one.cell} is told as an effect, and {loud.cell} of the same measurement as noise"
        more = and_more(len(pairs) - 1, "change", before="the like of ")
        evidence = dict.fromkeys(
            change.row.where.says(f"{change.label}: {' '.join(change.row.cells[change.at :])}")
            for pair in pairs
            for change in pair
        )
        yield Found(f"{text}{more}.", tuple(evidence))


@rule(
    "settings-told-differ",
    severity="doubtful",
    over=Bench,
    says="A text tells another value of a setting than the one with which the server is started.",
    remedy="Let the text show what the server itself says was in force.",
    disproved_by="a dump of the settings in force while it was measured, with the value that the text tells",
    source=DISCLOSE,
    about="settings",
)
def settings_told_differ(bench: Bench) -> Iterator[Found]:
    for side in bench.sides:
        told: dict[str, list[Setting]] = defaultdict(list)
        for one in side.configurations:
            for setting in one.settings if one.prose else ():
                told[setting.name].append(setting)
        found: list[tuple[Setting, Setting]] = []
        for name, of in told.items():
            holds = side.in_force(name)
            known = settings.of(side.engine).known.get(name)
            if holds is None or holds.contested or known is None or name in bench.factors:
                continue
            set_ = [holds.setting, *(one for one in holds.overridden if one not in of)]
            values = {_value(one) for one in of}
            real = holds.setting not in of
            # Who tells several values has varied it.
            if real and len(values) == 1 and not values & {_value(one) for one in set_}:
                found.append((of[0], holds.setting))
        if found:
            text, holds_ = found[0]
            more = and_more(len(found) - 1, "setting")
            evidence = dict.fromkeys(said for pair in found for said in (one.says() for one in pair))
            yield Found(
                f"{side.name}: the text has {text.written or text.name} = {text.value}, and it is started with "
                f"{holds_.value}{more}.",
                tuple(evidence),
                certainty="read from prose",
            )


def _value(one: Setting) -> str | int | float:
    """The value without what a text says behind it."""
    return settings.alike(one.value.split(" (")[0].split(" *")[0].strip())
