"""How often runs are made: as scripts loop, and as frameworks for benchmarks do by themselves (JMH, BenchmarkDotNet,
criterion, hyperfine, pytest-benchmark and their like)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from acidtest.audit.bench import Statement, StatementKind
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 1 << 20
LINE_MAX = 500
REPETITIONS_MAX = 100  # of a whole run; what a script does more often is a part of one
SEVERAL = 3  # as how many those count whose number is not said
OWN_REPETITIONS = 5  # the fewest that a framework makes by itself
BODY_LINES = 15  # of a loop, in which it may start a run
SCRIPTS = linear.compile(
    r".*\.(?:sh|bash|zsh|ps1|bat|cmd|py|js|mjs|ts|go|rb|pl|lua|tcl|ya?ml|json|toml|cfg|conf|ini|properties|env|"
    r"xml|tmpl|j2|mk|just)"
    r"|(?:run|bench)[\w.-]*|makefile|justfile|taskfile"
)
PROGRAMS = linear.compile(r".*\.(?:java|kt|scala|cs|csproj|rs|exs?|cc|cpp|cxx|php|swift|jl)|cargo\.toml|build\.sbt")
DATA = linear.compile(r".*(?:\.lock|package-lock\.json|\.(?:out|log)\.json)")

COUNTERS = (
    r"(?:num_?|n_?)?(?:repetitions|repetition_?count|repeats?|repeat_?count|num_?runs|runs|n_?runs|run_?count|trials|reps|"
    r"rounds|jobiterations)"
)
LOOPS = r"(?:run|rep|repeat|iter|iteration|try|trial|round|pass|attempt)\w*"
NAMED = rf"(?:[ijkn]|_|{LOOPS})"
DECLARED = (
    linear.compile(rf"\b{COUNTERS}[\"']?\s*(?::|=|:=|\?=)\s*[\"']?(?:\$\{{\w{{1,40}}:-)?(\d{{1,5}})\b", linear.I),
    linear.compile(r"--(?:iterations|repeat|repeats|repetitions|runs|count|rounds)[= ](\d{1,5})\b", linear.I),
    linear.compile(
        r"--(?:iterations|repeats?|repetitions|runs|rounds)[\"'],[^\n]{0,80}\bdefault\s?=\s?(\d{1,5})", linear.I
    ),
    linear.compile(r"(?:^|\s)\S{0,40}bench\S{0,40}(?:\s\S{1,40}){0,6}?\s-r[ =]?(\d{1,3})(?:\s|$)"),
    linear.compile(r"\bgo test [^\n]{0,200}-(?:test\.)?count[= ](\d{1,5})\b|@Measurement\(iterations ?= ?(\d{1,5})"),
    linear.compile(r"\bhyperfine [^\n]{0,200}(?:-r|-m|--(?:min-)?runs)[= ](\d{1,5})\b"),
    linear.compile(r"@Iterations\((\d{1,5})\)|->Repetitions\((\d{1,5})\)|\brepeat ?= ?(\d{1,5})\b"),
)
# How often one operation is measured within a run.
ITERATIONS = linear.compile(
    r"\b(?:num_?|n_?|bench\w{0,10}_?|measure\w{0,10}_?|test_?)?(?:iterations?|iters|samples)(?:_?count)?[\"']?"
    r"\s*(?::|=|:=|\?=)\s*[\"']?(\d{1,7})\b",
    linear.I,
)
# A loop that counts, by its variable; how often, if a number says so, and the name of what says so otherwise.
NUMBER_OF = r"(?:runs|rep\w{0,12}|rounds|trials)"
COUNTED = (
    linear.compile(
        rf"^\s*for ({NAMED}) in (?:\$\$?\(|`)seq (?:-w )?(?:[01] )?\"?(\d{{1,5}}|\$\$?[{{(]?\w{{0,30}}{NUMBER_OF}\b)",
        linear.I,
    ),
    linear.compile(rf"^\s*for ({NAMED}) in \{{[01]\.\.(\d{{1,5}})", linear.I),
    linear.compile(rf"^\s*for ({NAMED}) in range\((?:[01], ?)?(\d{{1,5}}|[a-z_.]{{0,40}}{NUMBER_OF})", linear.I),
    linear.compile(
        rf"^\s*for ?\(\(? ?(?:(?:let|var|int|auto|long|size_t|final|my) )?\$?({NAMED}) ?:?= ?[01] ?; ?\$?\w{{1,30}} ?"
        rf"(?:<=?|-l[te]) ?\$?\{{?(\d{{1,5}}|\w{{0,30}}{NUMBER_OF})",
        linear.I,
    ),
    linear.compile(rf"^\s*for ({NAMED}) := [01]; \w{{1,30}} <=? (\d{{1,5}}|\w{{0,30}}{NUMBER_OF})", linear.I),
    linear.compile(r"^\s*for /L %%?(\w) in \([01], ?1, ?(\d{1,5})\)", linear.I),
    linear.compile(r"^\s*while \[+ ?\"?\$\{?(\w{1,20})\}?\"? -(?:lt|le) \"?(\d{1,5})"),
    linear.compile(r"^\s*()repeat (\d{1,5})\b"),
    linear.compile(r"^\s*()seq (?:1 )?(\d{1,5}) ?\|"),
    linear.compile(r"^\s*()[01]\.\.(\d{1,5}) ?\| ?(?:ForEach-Object|foreach|%)", linear.I),
)  # fmt: skip
LISTED = linear.compile(
    rf"(?:^\s*|[;&] ?(?:do )?)for ({NAMED}) in 0?1 0?2 (?:0?3 (?:\d{{1,2}} ){{0,20}})?(\d{{1,2}})\s*(?:;|$)"
)
# What a loop must do to be one of runs; in a script of a shell also any program of the kit's.
RUNS = linear.compile(
    r"bench|sysbench|\bfio\b|ycsb|hammerdb|\bwrk\b|\bk6\b|\bvegeta\b|measure|mysqlslap|run_?(?:test|once|query|all|case)|"
    r"\btimeit\b|\bdd if=|ioping|\btime \S",
    linear.I,
)
# A loop that waits for a server.
ENDS = linear.compile(r"\bbreak\b|\bexit 0\b")
WAITS = linear.compile(
    r"pg_isready|\bis_?ready|health|\bwait(?:ing)?[ _-]?for|\bping\b|\bcurl\b.*&&\s*break|&&\s*break|/dev/tcp|\bnc -z"
)
STARTS = linear.compile(r"(?:^|[\s;|&])\.?/[\w./-]|\b(?:python3?|java|node|go run|psql|mysql|docker|cargo|\w+\.exe)\b")
SHELL = linear.compile(r".*\.(?:sh|bash|zsh|ps1|bat|cmd|mk)|(?:run|bench)[\w-]*|makefile|justfile")
# Its variable as how many clients, rows or bytes there are: then it is no repetition.
VARIED = (
    r"(?:-[cjstTwq]|--?(?:clients?|jobs|threads|num-threads|concurrency|scale|users?|vus|connections|rows|size|table-size|"
    r"warehouses|iodepth|numjobs|bs|rate)) ?[= ]? ?[\"']?\$?[{%]{0,2}"
)
# Those that start a process for each repetition make runs; others sample one operation within a run.
FRAMEWORKS: tuple[tuple[linear.Pattern[str], StatementKind, int], ...] = (
    (
        linear.compile(r"\borg\.openjdk\.jmh\b|\bpl\.project13\.scala\.sbt-jmh|\bjmh[-:{(]|^# JMH version"),
        "repeated",
        OWN_REPETITIONS,
    ),
    (linear.compile(r"\bBenchmarkDotNet\b"), "repeated", 10),
    (
        linear.compile(r"\bcriterion_group!|\bcriterion::|^criterion\s?=|\bcriterion\.dev\b|\bdivan::"),
        "sampled",
        OWN_REPETITIONS,
    ),
    (linear.compile(r"(?:^|[\s$`])hyperfine\s+(?:[-'\"./\w])"), "repeated", 10),
    (
        linear.compile(r"\bdef test_\w{0,60}\([^)\n]{0,100}\bbenchmark\b|\bpytest-benchmark\b|\bpyperf\b"),
        "sampled",
        OWN_REPETITIONS,
    ),
    (
        linear.compile(
            r"\bBenchmark\.Suite\(|from ['\"](?:mitata|tinybench|benny)['\"]|"
            r"require\(['\"](?:benchmark|mitata|tinybench|benny)['\"]\)|\bbenchmark/ips\b|\bBenchmark\.ips\b|\bBenchee\.run\b|\bBenchmarkTools\b|@btime\b|@benchmark\b"
        ),
        "sampled",
        OWN_REPETITIONS,
    ),
)
COMMENTS = ("#", "//", "--", ";", "REM", "*", "/*")
IN_SCRIPTS = linear.Set([ITERATIONS, *DECLARED, *COUNTED, LISTED, *(pattern for pattern, _, _ in FRAMEWORKS)])


def _read(file: File) -> Sequence[Statement] | None:
    if file.size > BYTES_MAX or b"\0" in file.head or DATA.fullmatch(file.base):
        return None
    if SCRIPTS.fullmatch(file.base) or PROGRAMS.fullmatch(file.base):
        return list(_looped(file)) or None
    return None


def _looped(file: File) -> Iterator[Statement]:
    """What a script repeats."""
    lines = [line[:LINE_MAX] for line in file.prose]
    shell = SHELL.fullmatch(file.base) is not None
    for at, bare in enumerate(lines):
        if not IN_SCRIPTS.within(bare) or (bare.lstrip().startswith(COMMENTS) and "@" not in bare):
            continue
        for pattern in DECLARED:
            if (match := pattern.search(bare)) and 0 < (times := _value(match)) <= REPETITIONS_MAX:
                yield Statement(file.at(at + 1), "repeated", match[0].strip(), float(times))
        if (match := ITERATIONS.search(bare)) and int(match[1]) >= SEVERAL:
            yield Statement(file.at(at + 1), "sampled", match[0].strip(), float(match[1]))
        loop = next((found for pattern in (*COUNTED, LISTED) if (found := pattern.search(bare))), None)
        if loop and _runs(lines[at : at + BODY_LINES], loop, shell):
            times = int(loop[2]) if loop[2].isdigit() else SEVERAL
            if 1 < times <= REPETITIONS_MAX:
                # In a program it may be of one experiment, or of one operation of many.
                of_loop: StatementKind = "repeated" if shell else "sampled"
                yield Statement(file.at(at + 1), of_loop, loop[0].strip(), float(times))
        for framework, kind, least in FRAMEWORKS:
            if match := framework.search(bare):
                yield Statement(file.at(at + 1), kind, match[0].strip(), float(least))


def _runs(body: Sequence[str], loop: re.Match[str], shell: bool) -> bool:
    """Whether a loop repeats a run, and does not count rows, clients or the like."""
    name = loop[1]
    waits = any(WAITS.search(line) for line in body[:6]) or (shell and any(ENDS.search(line) for line in body[:6]))
    if waits or (shell and len(name) > 1):
        return not waits
    if not any(RUNS.search(line) or (shell and STARTS.search(line)) for line in body):
        return False
    if not name or len(name) > 1:
        return True
    varied = linear.compile(rf"{VARIED}{re.escape(name)}\b")
    return not any(varied.search(line) for line in body[1:])


def _value(match: re.Match[str]) -> int:
    """The count that it says; 0 where it has none."""
    word = next((group for group in match.groups() if group), "")
    return int(word) if word.isdigit() else 0


IMPORTER = Importer("text", _read, beside=True)
