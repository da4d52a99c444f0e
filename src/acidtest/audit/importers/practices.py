"""What texts and scripts of a kit say of how its figures came about: how often runs were repeated, whether there was a
warm-up, what was done with percentiles, and which of several runs was taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidtest.audit.bench import Statement, StatementKind
from acidtest.audit.importers import prose
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 1 << 20
LINE_MAX = 500
REPETITIONS_MAX = 100  # of a whole run; what a script does more often is a part of one
PROSE = linear.compile(r"readme(?:\.\w+)?|.*\.(?:md|markdown|rst|adoc|txt)")
SCRIPT = linear.compile(
    r".*\.(?:sh|bash|zsh|ps1|bat|cmd|py|js|ts|go|rb|pl|lua|tcl|ya?ml|toml|cfg|conf|ini|properties|env|xml|tmpl|j2)"
    r"|(?:run|bench)[\w.-]*|makefile|justfile|taskfile"
)
WORDS = {
    "twice": 2, "two": 2, "three": 3, "thrice": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "several": 3, "multiple": 3,
}  # fmt: skip
COUNT = r"(\d{1,5}|two|three|four|five|six|seven|eight|nine|ten|several|multiple)"
RUNS = r"(?:runs|repetitions|repeats|iterations|trials|passes|rounds|executions|samples)"
MEANS = r"(?:averages?|averaged|mean|median)"
REPEATED_PROSE = (
    linear.compile(
        r"\b(?:repeated|ran|run|executed|measured|performed|tested|done|carried out) (?:\w+ ){0,4}?"
        + COUNT
        + r" times\b",
        linear.I,
    ),
    linear.compile(
        rf"\b{MEANS} (?:\w+ ){{0,3}}?(?:of|over|from|across) (?:the |all |these )?{COUNT} (?:\w+ )?{RUNS}\b", linear.I
    ),
    linear.compile(
        rf"\b{COUNT} (?:\w+ )?(?:repetitions|repeats|trials|independent runs|runs (?:each|per|of each|for each|a))\b",
        linear.I,
    ),
    linear.compile(r"\beach (?:\w+ ){0,4}?(twice|thrice)\b", linear.I),
    linear.compile(rf"\b{COUNT} times each\b", linear.I),
)
COUNTERS = (
    r"(?:num_?)?(?:repetitions|repeats|repeat_?count|num_?runs|runs|n_?runs|trials|reps|rounds"
    r"|jobiterations)"
)
LOOPS = r"(?:run|rep|repeat|iter|iteration|try|trial|round|pass|attempt)\w*"
REPEATED_SCRIPT = (
    linear.compile(rf"\b{COUNTERS}\s*(?::|=|:=)\s*[\"']?(?:\$\{{\w{{1,40}}:-)?(\d{{1,5}})\b", linear.I),
    linear.compile(r"--(?:iterations|repeat|repetitions|runs)[= ](\d{1,5})\b", linear.I),
    linear.compile(rf"^\s*for {LOOPS} in (?:\$\(seq (?:1 )?|\{{1\.\.|range\()(\d{{1,5}})", linear.I),
)
RUN = r"(?:runs?|results?|tries|attempts|repetitions|iterations|executions|passes|trials)"
SAID: tuple[tuple[StatementKind, linear.Pattern[str]], ...] = (
    (
        "warm-up",
        linear.compile(
            r"\bwarm(?:ed|ing|s)?[ _-]?up|\bwarmup|\bramp[ _-]?up|\bpre-?warm|pg_prewarm|\bpre-?heat|buffer_pool_load"
            r"|\bdiscard(?:ed|ing|s)? (?:the )?(?:first|initial)",
            linear.I,
        ),
    ),
    ("checkpoints", linear.compile(r"\bcheckpoints?\b|контрольн\S{1,4} точ|чекпо[ий]нт|检查点|檢查點", linear.I)),
    (
        "percentiles-averaged",
        linear.compile(
            r"\b(?:average|averaged|averaging|avg|mean|geomean|geometric mean|arithmetic mean)(?: of)?(?: the| all)? "
            r"(?:\w+ )?(?:p-?9\d(?:\.\d+)?s?|9\d(?:\.\d+)?(?:th|%)|percentiles?|quantiles?)\b"
            r"|\b(?:p9\d(?:\.\d+)?s?|9\d(?:\.\d+)?th percentiles?|percentiles) (?:\w+ )?(?:is|are|was|were) "
            r"(?:\w+ )?averaged\b",
            linear.I,
        ),
    ),
    (
        "best-of",
        linear.compile(
            r"\b(?:largest|max(?:imum)?|better|fastest|best|highest) (?:value |result |figure |number |one )?"
            rf"(?:out )?of (?:the )?(?:\d{{1,3}}|two|three|four|five|six|seven|eight|nine|ten) (?:\w+ )?{RUN}\b"
            r"|\b(?:recorded|record|kept|keep|took|take|reported|report|published|chose|picked) (?:only )?the "
            r"(?:better|best|fastest|highest|largest)(?: of (?:the )?\w{1,12})? "
            r"(?:runs?|results?|figures?|numbers?|values?|times?|ones?)\b",
            linear.I,
        ),
    ),
)
IN_SCRIPTS = ("warm-up",)
TPM = linear.compile(r"\b\d[\d,.]{0,14} ?(?:k|K|M)? ?(TPM|tpm|NOPM|nopm)\b")
COMPARES = linear.compile(
    r"\b(?:than|vs\.?|versus|against|compared|beats?|faster|slower|ahead|behind|times|while|whereas|only)\b", linear.I
)


ANY = linear.Set([*REPEATED_PROSE, *REPEATED_SCRIPT, *(pattern for _, pattern in SAID), TPM])


def _read(file: File) -> Sequence[Statement] | None:
    text = PROSE.fullmatch(file.base) is not None
    if not (text or SCRIPT.fullmatch(file.base)) or file.size > BYTES_MAX or b"\0" in file.head:
        return None
    return list(_statements(file, text)) or None


def _statements(file: File, text: bool) -> Iterator[Statement]:
    for number, line in enumerate(file.prose, start=1):
        bare = line[:LINE_MAX]
        if not ANY.within(bare):
            continue
        for pattern in REPEATED_PROSE if text else ():
            if match := pattern.search(bare):
                yield Statement(file.at(number), "repeated", match[0].strip(), float(_count(match[1])))
        if not bare.lstrip().startswith(("#", "//", "--", ";", "REM")) or text:
            for pattern in REPEATED_SCRIPT:
                if (match := pattern.search(bare)) and int(match[1]) <= REPETITIONS_MAX:
                    yield Statement(file.at(number), "repeated", match[0].strip(), float(match[1]))
        for kind, pattern in SAID:
            match = pattern.search(bare) if text or kind in IN_SCRIPTS else None
            if match and not prose.denied(bare, match.start(), match.end()):
                yield Statement(file.at(number), kind, match[0].strip())
        if text and "|" not in bare:
            units = {found.upper() for found in TPM.findall(bare)}
            if len(units) > 1 and COMPARES.search(bare):
                yield Statement(file.at(number), "tpm-against-nopm", " ".join(bare.split())[:200])


def _count(word: str) -> int:
    return int(word) if word.isdigit() else WORDS[word.lower()]


IMPORTER = Importer("text", _read, beside=True)
