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
FILES = linear.compile(
    r".*\.(?:sh|bash|zsh|ps1|bat|cmd|py|js|mjs|ts|go|rb|pl|lua|tcl|ya?ml|json|toml|cfg|conf|ini|properties|env|xml|tmpl|j2|"
    r"mk|just|java|kt|scala|cs|csproj|rs|exs?|cc|cpp|cxx|php|swift|jl)|(?:run|bench)[\w.-]*|makefile|justfile|taskfile"
    r"|build\.sbt"
)
DATA = linear.compile(r".*(?:\.lock|package-lock\.json|\.(?:out|log)\.json)")

COUNTERS = (
    r"(?:num_?|n_?)?(?:repetitions|repetition_?count|repeats?|repeat_?count|num_?runs|runs|n_?runs|run_?count|trials|reps|"
    r"rounds|jobiterations)"
)
NAMED = r"(?:[ijkn]|_|(?:run|rep|repeat|iter|iteration|try|trial|round|pass|attempt)\w*)"
DECLARED = linear.compile(
    rf"\b{COUNTERS}[\"']?\s*(?::|=|:=|\?=)\s*[\"']?(?:\$\{{\w{{1,40}}:-)?(\d{{1,5}})\b"
    r"|--(?:iterations|repeats?|repetitions|runs|count|rounds)(?:[= ]|[\"'],[^\n]{0,80}\bdefault\s?=\s?)(\d{1,5})\b"
    r"|(?:^|\s)\S{0,40}bench\S{0,40}(?:\s\S{1,40}){0,6}?\s-r[ =]?(\d{1,3})(?:\s|$)"
    r"|\bgo test [^\n]{0,200}-(?:test\.)?count[= ](\d{1,5})\b|@Measurement\(iterations ?= ?(\d{1,5})"
    r"|\bhyperfine [^\n]{0,200}(?:-r|-m|--(?:min-)?runs)[= ](\d{1,5})\b",
    linear.I,
)
# How often one operation is measured within a run.
ITERATIONS = linear.compile(
    r"\b(?:num_?|n_?|bench\w{0,10}_?|measure\w{0,10}_?|test_?)?(?:iterations?|iters|samples)(?:_?count)?[\"']?"
    r"\s*(?::|=|:=|\?=)\s*[\"']?(\d{1,7})\b",
    linear.I,
)
# A loop that counts, by its variable; how often, if a number says so, and the name of what says so otherwise.
TIMES = r"(\d{1,5}|[\w.$({]{0,40}(?:runs|rep\w{0,12}|rounds|trials))"
LOOPS = tuple(
    linear.compile(rf"^\s*{text}", linear.I)
    for text in (
        rf"for ({NAMED}) in (?:(?:\$\$?\(|`)seq (?:-w )?(?:[01] )?\"?|\{{[01]\.\.|range\((?:[01], ?)?){TIMES}",
        rf"for ?\(?\(? ?(?:(?:let|var|int|auto|long|size_t|final|my) )?\$?({NAMED}) ?:?= ?[01] ?; ?\$?\w{{1,30}} ?"
        rf"(?:<=?|-l[te]) ?\$?\{{?{TIMES}",
        r"for /L %%?(\w) in \([01], ?1, ?(\d{1,5})\)",
        r"while \[+ ?\"?\$\{?(\w{1,20})\}?\"? -(?:lt|le) \"?(\d{1,5})",
        r"()(?:repeat |seq (?:1 )?|[01]\.\.)(\d{1,5})\b(?: ?\| ?(?:ForEach-Object|foreach|%|while|xargs)|[^|]*$)",
        rf"(?:.*[;&] ?(?:do )?)?for ({NAMED}) in 0?1 0?2 (?:0?3 (?:\d{{1,2}} ){{0,20}})?(\d{{1,2}})\s*(?:;|$)",
    )
)
# What a loop must do to be one of runs; in a script of a shell also any program of the kit's.
RUNS = linear.compile(
    r"bench|sysbench|\bfio\b|ycsb|hammerdb|\bwrk\b|\bk6\b|\bvegeta\b|measure|mysqlslap|run_?(?:test|once|query|all|case)|"
    r"\btimeit\b|\bdd if=|ioping|\btime \S",
    linear.I,
)
STARTS = linear.compile(r"(?:^|[\s;|&])\.?/[\w./-]|\b(?:python3?|java|node|go run|psql|mysql|docker|cargo|\w+\.exe)\b")
# A loop that waits for a server.
WAITS = linear.compile(
    r"pg_isready|\bis_?ready|health|\bwait(?:ing)?[ _-]?for|\bping\b|&&\s*break|/dev/tcp|\bnc -z|^\s*break\b|\bexit 0\b"
)
SHELL = linear.compile(r".*\.(?:sh|bash|zsh|ps1|bat|cmd|mk)|(?:run|bench)[\w-]*|makefile|justfile")
# Its variable as how many clients, rows or bytes there are: then it is no repetition.
VARIED = (
    r"(?:-[cjstTwq]|--?(?:clients?|jobs|threads|num-threads|concurrency|scale|users?|vus|connections|rows|size|table-size|"
    r"warehouses|iodepth|numjobs|bs|rate)) ?[= ]? ?[\"']?\$?[{%]{0,2}"
)
# Those that start a process for each repetition make runs; others sample one operation within a run.
FRAMEWORKS: dict[StatementKind, linear.Pattern[str]] = {
    "repeated": linear.compile(
        r"\borg\.openjdk\.jmh\b|\bpl\.project13\.scala\.sbt-jmh|\bjmh[-:{(]|^# JMH version|\bBenchmarkDotNet\b"
        r"|(?:^|[\s$`])hyperfine\s+[-'\"./\w]"
    ),
    "sampled": linear.compile(
        r"\bcriterion_group!|\bcriterion::|^criterion\s?=|\bdivan::|\bdef test_\w{0,60}\([^)\n]{0,100}\bbenchmark\b"
        r"|\bpytest-benchmark\b|\bpyperf\b|\bBenchmark\.(?:Suite\(|ips\b)|\bBenchee\.run\b|\bBenchmarkTools\b|@btime\b"
        r"|(?:from |require\()['\"](?:benchmark|mitata|tinybench|benny)['\"]|\bbenchmark/ips\b|@benchmark\b"
    ),
}
COMMENTS = ("#", "//", "--", ";", "REM", "*", "/*")
IN_SCRIPTS = linear.Set([ITERATIONS, DECLARED, *LOOPS, *FRAMEWORKS.values()])


def _read(file: File) -> Sequence[Statement] | None:
    if file.size > BYTES_MAX or b"\0" in file.head or not FILES.fullmatch(file.base) or DATA.fullmatch(file.base):
        return None
    return list(_repeated(file)) or None


def _repeated(file: File) -> Iterator[Statement]:
    lines = [line[:LINE_MAX] for line in file.prose]
    shell = SHELL.fullmatch(file.base) is not None
    for at, bare in enumerate(lines):
        if not IN_SCRIPTS.within(bare) or (bare.lstrip().startswith(COMMENTS) and "@" not in bare):
            continue
        for declared in DECLARED.finditer(bare):
            times = int(next(group for group in declared.groups() if group))
            if 0 < times <= REPETITIONS_MAX:
                yield Statement(file.at(at + 1), "repeated", declared[0].strip(), float(times))
        if (match := ITERATIONS.search(bare)) and int(match[1]) >= SEVERAL:
            yield Statement(file.at(at + 1), "sampled", match[0].strip(), float(match[1]))
        loop = next((found for pattern in LOOPS if (found := pattern.search(bare))), None)
        if loop and _runs(lines[at : at + BODY_LINES], loop, shell):
            times = int(loop[2]) if loop[2].isdigit() else SEVERAL
            if 1 < times <= REPETITIONS_MAX:
                # In a program it may be of one experiment, or of one operation of many.
                yield Statement(file.at(at + 1), "repeated" if shell else "sampled", loop[0].strip(), float(times))
        for kind, framework in FRAMEWORKS.items():
            if match := framework.search(bare):
                yield Statement(file.at(at + 1), kind, match[0].strip(), float(OWN_REPETITIONS))


def _runs(body: Sequence[str], loop: re.Match[str], shell: bool) -> bool:
    """Whether a loop repeats a run, and does not count rows, clients or the like."""
    name = loop[1]
    if any(WAITS.search(line) for line in body[:6]):
        return False
    if shell and len(name) > 1:
        return True
    if not any(RUNS.search(line) or (shell and STARTS.search(line)) for line in body):
        return False
    varied = linear.compile(rf"{VARIED}{re.escape(name)}\b")
    return len(name) != 1 or not any(varied.search(line) for line in body[1:])


IMPORTER = Importer("text", _read, beside=True)
