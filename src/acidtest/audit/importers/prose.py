"""How texts say things: what a sentence denies or only supposes, and which of several machines a line is about."""

from __future__ import annotations

from collections.abc import Sequence

from acidtest.formats import linear

BEFORE_MAX = 160  # characters before a word in which its clause begins
AFTER_MAX = 60
WORDS_MAX = 8  # between a negation and what it denies
LABEL_MAX = 60
ROWS_MAX = 200  # of a table or list, that a line's place is looked for in
CELLS_MAX = 100

CLAUSE = linear.compile(
    r"[.;:!?] |[.;!?]$|\s[-–—]\s|[()|]|,? \b(?:but|and|although|though|whereas|while|because|since|so|yet|however|und|"
    r"aber|et|mais|y|pero)\b |, (?:we|it|they|then|which|only|all|both|each)\b",
    linear.I,
)
NEGATION = linear.compile(
    r"\b(?:not|no|never|without|neither|nor|none|cannot|lacks?|lacking|instead of|rather than|unlike|except|excluding|"
    r"other than|absence of|kein\w{0,2}|nicht|ohne|sans|pas de|sin|sem)\b|"
    r"n['’]t\b|(?:без|не|нет|没有|沒有|不是|未|無)\s?",
    linear.I,
)
# "Not only an SSD", "no less than".
NO_NEGATION = linear.compile(
    r"^(?:not (?:only|just|merely|to mention|least)|no (?:less|fewer|more|doubt|matter|longer than|later|other than)|"
    r"without (?:doubt|question)|nicht nur)\b",
    linear.I,
)
OR = linear.compile(r"^, (?:n?or|oder|ou|o|not)\b", linear.I)
DENIED_AFTER = linear.compile(
    r"^[^.;:!?,]{0,25}?\b(?:(?:was|were|is|are|am|has been|have been|had been|did|does|do|could|can) (?:not|never)|"
    r"(?:was|were|is|are|did|does|do|could|has|have)n['’]t|cannot)(?: been| be)? "
    r"(?:used|involved|present|available|installed|tested|measured|enabled|disabled|set|changed|taken|reported|given|"
    r"told|included|part|here|there|shown|computed)",
    linear.I,
)
SUPPOSED = linear.compile(
    r"\b(?:if|unless|should|would|could|might|recommend\w*|requires?|required|requirements?|prerequisites?|minimum|"
    r"prefer\w*|planned|plan to|todo|future|ideally|suggest\w*|optional\w*|supports?|supported|compatible)\b",
    linear.I,
)
HEADING = linear.compile(r"^\s{0,3}#{1,6}\s+(.+?)\s*#*\s*$|^\s{0,3}\*\*([^*]{2,80})\*\*:?\s*$")
ITEM = linear.compile(r"^(\s*)(?:[-*+•]|\d{1,2}[.)])\s+(.*)$")
FIRST_OF_ITEM = linear.compile(r"^(?:\*\*|__|`)?([^:*_`|]{2,60})(?:\*\*|__|`)?\s*(?::|—|–|->|\s-\s)")
TABLE_RULE = linear.compile(r"^[\s|:+=-]*-[\s|:+=-]*$")
MACHINES = (
    r"clients?|load generators?|load drivers?|benchmark drivers?|drivers?|(?:application|app|web|database|db|data|sql)?"
    r" ?(?:servers?|hosts?)|laptops?|notebooks?|desktops?|workstations?|macbook(?: air| pro)?|mac mini|imac|"
    r"raspberry pi(?: \d)?|nas|vms?|virtual machines?|instances?|nodes?|machines?|computers?|pcs?|box(?:es)?|rig"
)
NAMED = r"environment|system|setup|configuration|config|platform|testbed|cluster|site|region"
MACHINE = linear.compile(
    rf"\b(?:({MACHINES})\b(?:[ #_-]{{0,2}}\b(\d{{1,3}}|[a-d]|one|two|three|first|second|third|primary|replica)\b)?"
    rf"|({NAMED})[ #_-]{{1,2}}(\d{{1,3}}|[a-d]|one|two|three)\b"
    r"|((?:[a-z]{1,3}\d[a-z]{0,3}(?:-[a-z]{1,6})?\.(?:\d{0,2}x?large|medium|small|micro|nano|metal(?:-\d+xl)?))|"
    r"standard_[a-z]{1,2}\d+[a-z]{0,5}_v\d|(?:n|e|c|m|t)\d[a-z]?-(?:standard|highmem|highcpu|micro|small|medium)(?:-\d+)?))",
    linear.I,
)
# "SQL Server", "server version": no machine.
NO_MACHINE = linear.compile(
    r"\b(?:sql|windows|x|language) server\b|\b(?:jdbc|odbc|database|python|go|node) drivers?\b|\bnode(?:\.js|js)\b|"
    r"\bserver (?:version|settings?|config\w*|parameters?|process\w*|side|mode)\b|\b(?:super|classic|my)server\b",
    linear.I,
)


def denied(text: str, begin: int, end: int) -> bool:
    """Whether a sentence says that what stands at ``begin`` to ``end`` is not so: "not an NVMe drive"."""
    clause = _clause(text, begin)
    last = clause.rfind(", ")
    if last >= 0 and not OR.search(clause[last:]):
        clause = clause[last:]  # "no swap, NVMe"
    for match in NEGATION.finditer(clause):
        between = clause[match.end() :].split()
        if len(between) <= WORDS_MAX and not NO_NEGATION.search(clause[match.start() :]):
            return True
    return DENIED_AFTER.search(text[end : end + AFTER_MAX]) is not None


def supposed(text: str, begin: int) -> bool:
    """Whether it is only wished for, asked for or thought of: "an SSD is recommended", "if you have"."""
    after = text[begin : begin + AFTER_MAX]
    stop = CLAUSE.search(after)
    return SUPPOSED.search(_clause(text, begin) + (after[: stop.start()] if stop else after)) is not None


def _clause(text: str, begin: int) -> str:
    """What stands before ``begin`` in the same clause."""
    head = text[max(0, begin - BEFORE_MAX) : begin]
    last = 0
    for match in CLAUSE.finditer(head):
        last = match.end()
    return head[last:]


def cells(line: str) -> list[tuple[int, str]]:
    """The cells of a row of a table in Markdown, each with where it begins; none of any other line."""
    if line.count("|") < 2:
        return []
    at, found = 0, []
    for part in line.split("|")[:CELLS_MAX]:
        found.append((at, part.strip()))
        at += len(part) + 1
    return found


def machine(text: str) -> str:
    """The machine that a few words name, by its kind and number; "" where they name none. Of several the last."""
    names = list(MACHINE.finditer(NO_MACHINE.sub(lambda m: "-" * len(m[0]), text)))
    if not names:
        return ""
    kind, number, named, its, instance = names[-1].groups()
    if instance:
        return instance.lower()
    return " ".join(
        word for word in ((kind or named).lower().strip().removesuffix("s"), (number or its or "").lower()) if word
    )


class Machines:
    """Which machine each line of a text is about: by its own words, by its place in a list or table, by the heading.
    Lines are asked of in order."""

    def __init__(self, of: Sequence[str], longest: int) -> None:
        self._lines = of
        self._longest = longest
        self._heading, self._headed = "", 0  # and up to which line it is known
        self._table: tuple[int, list[str]] = (-1, [])  # the last row that was asked of, and its columns' heads

    def heads(self, number: int) -> list[str]:
        """The heads of the columns of the table that line ``number``, from 1, is a row of; none of any other line."""
        if self._table[0] in (number, number - 1) and cells(self._line(number)):
            self._table = (number, self._table[1])
        else:
            at = number
            while number - at < ROWS_MAX and cells(self._line(at)) and not TABLE_RULE.search(self._line(at)):
                at -= 1
            ruled = TABLE_RULE.search(self._line(at)) and "|" in self._line(at)
            self._table = (number, [text for _, text in cells(self._line(at - 1))] if ruled else [])
        return self._table[1]

    def of(self, number: int, begin: int) -> str:
        """The machine that is spoken of at ``begin`` of line ``number``, from 1; "" where nothing names one."""
        line = self._line(number)
        row = cells(line)
        if row:
            at, heads = sum(start <= begin for start, _ in row) - 1, self.heads(number)
            column = machine(heads[at]) if at < len(heads) else ""
            first = next((text for _, text in row if text), "")
            return column or machine(first) or self._headed_by(number)
        return machine(_clause(line, begin)) or self._listed(number) or self._headed_by(number)

    def _line(self, number: int) -> str:
        return self._lines[number - 1][: self._longest] if 0 < number <= len(self._lines) else ""

    def _headed_by(self, number: int) -> str:
        for at in range(self._headed, number):
            if heading := HEADING.search(self._line(at)):
                self._heading = machine(heading[1] or heading[2])
        self._headed = max(self._headed, number)
        return self._heading

    def _listed(self, number: int) -> str:
        """The machine of the item, or of one that the item's list is within."""
        depth = LABEL_MAX
        for at in range(number, max(number - ROWS_MAX, 0), -1):
            line = self._line(at)
            item = ITEM.search(line)
            if item and len(item[1]) < depth:
                depth = len(item[1])
                first = FIRST_OF_ITEM.search(item[2])
                if name := machine((first[1] if first else item[2])[:LABEL_MAX]):
                    return name
            elif not item and line.strip() and not line.startswith((" ", "\t")):
                return ""
        return ""
