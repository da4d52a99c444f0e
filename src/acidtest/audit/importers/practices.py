"""What texts and scripts of a kit say of how its figures came about: whether there was a warm-up, what was done with
percentiles, and which of several runs was taken. How often runs were repeated is for ``repeats``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidtest.audit.bench import Statement, StatementKind
from acidtest.audit.importers import headings, prose
from acidtest.audit.importers.file import File, Importer
from acidtest.audit.texts import WRITTEN
from acidtest.formats import linear

BYTES_MAX = 1 << 20
LINE_MAX = 500
SCRIPT = linear.compile(
    r".*\.(?:sh|bash|zsh|ps1|bat|cmd|py|js|ts|go|rb|pl|lua|tcl|ya?ml|json|toml|cfg|conf|ini|properties|env|"
    r"xml|tmpl|j2)"
    r"|(?:run|bench)[\w.-]*|makefile|justfile|taskfile"
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
    (
        "renewed",
        linear.compile(
            r"\b(?:fresh|new|clean|empty|identical|pristine|re-?(?:created|loaded|initiali[sz]ed|built|"
            r"stored|set))\b[^.\n]{0,60}"
            r"\b(?:before|for|between|after|on|at) (?:each|every|all|the next|runs)\b"
            r"|\b(?:each|every) (?:run|test|benchmark|repetition|iteration|scenario|"
            r"measurement)\b[^.\n]{0,60}\b(?:fresh|from scratch|clean|"
            r"anew|re-?(?:created|creates|loaded|loads|initiali[sz]ed|initiali[sz]es|stored|stores|built|"
            r"builds|set|sets)|drops?|truncates?|snapshot)\b"
            r"|\bclean slate\b",
            linear.I,
        ),
    ),
    ("timeline", linear.compile(r"\btime ?lines?\b|\bthroughput variation\b|\btime series\b", linear.I)),
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
TIME = r"(\d{1,5}(?:\.\d)?)[ -]?(s|secs?|seconds?|min|minutes?|h|hours?)"
ONE_RUN = (
    r"(?:runs?|tests?|test runs?|benchmarks?|benchmark runs?|trials?|iterations?|measurements?|rounds?|cells?|"
    r"repetitions?|scenarios?|workloads?|configurations?|tests? cases?)"
)
# "Duration: 30 seconds", "each test runs for 10 s", "30-second runs", "10 seconds per run".
LASTS = (
    linear.compile(
        rf"\b(?:durations?|run ?time|test ?time|(?:run|test|measurement|benchmark) (?:length|period))\b"
        rf"[*_`\"'|:=() ]{{1,8}}(?:(?:is|was|of|per {ONE_RUN})[*_`|:= ]{{1,4}})?~?{TIME}\b",
        linear.I,
    ),
    linear.compile(
        rf"\b{ONE_RUN} (?:\w+ ){{0,3}}?(?:lasts?|lasted|took|takes|ran|runs?|were run|was run|is run|are run|execut\w+)"
        rf" (?:\w+ )?(?:for )?{TIME}\b",
        linear.I,
    ),
    linear.compile(rf"\b{TIME}(?: long)? (?:{ONE_RUN})\b", linear.I),
    linear.compile(rf"\b{TIME} (?:per|each|a|for each|for every) {ONE_RUN}\b", linear.I),
)
UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0}
# What else has a duration: a warm-up, a pause, a limit.
NO_RUN = linear.compile(
    r"warm|ramp|cool|\bsleep|\bpaus|\bwait|timeout|interval|\bevery \d|delay|\bbetween\b|"
    r"\btotal|overall|whole suite|altogether|latenc|response",
    linear.I,
)
OUTPUT = linear.compile(r".*\.txt")  # in which tools tell their own durations
OF_TOOL = linear.compile(r"\s*duration: \d+ s\s*")  # pgbench's own line, that a text quotes
WARMS = linear.compile(r"(?: of)? (?:\w+ )?(?:warm|ramp)", linear.I)
NEAR = 40  # characters on either side in which such a word stands
TPM = linear.compile(r"\b\d[\d,.]{0,14} ?(?:k|K|M)? ?(TPM|tpm|NOPM|nopm)\b")
COMPARES = linear.compile(
    r"\b(?:than|vs\.?|versus|against|compared|beats?|faster|slower|ahead|behind|times|while|whereas|only)\b", linear.I
)


# What stands under such a heading has not been done.
WISHED = linear.compile(
    r"\b(?:future|to-?do|roadmap|next steps|enhancements?|ideas|wish ?list|not (?:yet )?(?:done|implemented|covered)|"
    r"possible improvements|planned)\b",
    linear.I,
)
ANY = linear.Set([*LASTS, *(pattern for _, pattern in SAID), TPM])


def _read(file: File) -> Sequence[Statement] | None:
    text = WRITTEN.fullmatch(file.base) is not None
    if not (text or SCRIPT.fullmatch(file.base)) or file.size > BYTES_MAX or b"\0" in file.head:
        return None
    return list(_statements(file, text)) or None


def _statements(file: File, text: bool) -> Iterator[Statement]:
    above = headings.of_lines(file.prose) if text else []
    for number, line in enumerate(file.prose, start=1):
        bare = line[:LINE_MAX]
        if not ANY.within(bare) or (text and WISHED.search(above[number - 1])):
            continue
        if text and not OUTPUT.fullmatch(file.base) and (lasts := _lasts(bare)):
            yield Statement(file.at(number), "lasts", *lasts)
        for kind, pattern in SAID:
            match = pattern.search(bare) if text or kind in IN_SCRIPTS else None
            if match and not prose.denied(bare, match.start(), match.end()):
                yield Statement(file.at(number), kind, match[0].strip())
        if text and "|" not in bare:
            units = {found.upper() for found in TPM.findall(bare)}
            if len(units) > 1 and COMPARES.search(bare):
                yield Statement(file.at(number), "tpm-against-nopm", " ".join(bare.split())[:200])


def _lasts(line: str) -> tuple[str, float] | None:
    """How long a run lasts, as a line has it, and in seconds."""
    for pattern in LASTS if not OF_TOOL.fullmatch(line) else ():
        for match in pattern.finditer(line):
            near = line[max(match.start() - NEAR, 0) : match.start()].rpartition(", ")[2] + match[0]
            warms = WARMS.match(line[match.end() : match.end() + NEAR])
            if not warms and not NO_RUN.search(near) and not prose.denied(line, match.start(), match.end()):
                return match[0].strip(), float(match[1]) * UNITS_S[match[2][0].lower()]
    return None


IMPORTER = Importer("text", _read, beside=True)
