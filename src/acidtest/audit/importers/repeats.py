"""How often runs were made: as texts say it in several languages, as scripts loop, and as frameworks for benchmarks do
by themselves (JMH, BenchmarkDotNet, criterion, hyperfine, pytest-benchmark and their like)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from acidtest.audit.bench import Statement, StatementKind
from acidtest.audit.importers import headings, prose
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 1 << 20
LINE_MAX = 500
REPETITIONS_MAX = 100  # of a whole run; what a script does more often is a part of one
SEVERAL = 3  # as how many those count whose number is not said
OWN_REPETITIONS = 5  # the fewest that a framework makes by itself
BODY_LINES = 15  # of a loop, in which it may start a run
TEXTS = linear.compile(r"readme(?:\.\w+)?|.*\.(?:md|markdown|rst|adoc|txt|org)")
SCRIPTS = linear.compile(
    r".*\.(?:sh|bash|zsh|ps1|bat|cmd|py|js|mjs|ts|go|rb|pl|lua|tcl|ya?ml|json|toml|cfg|conf|ini|properties|env|"
    r"xml|tmpl|j2|mk|just)"
    r"|(?:run|bench)[\w.-]*|makefile|justfile|taskfile"
)
PROGRAMS = linear.compile(r".*\.(?:java|kt|scala|cs|csproj|rs|exs?|cc|cpp|cxx|php|swift|jl)|cargo\.toml|build\.sbt")
DATA = linear.compile(r".*(?:\.lock|package-lock\.json|\.(?:out|log)\.json)")

NUMBERS: Mapping[str, int] = {
    # Beside digits; how many of a thing there are, in the languages in which people publish benchmarks.
    "twice": 2, "thrice": 3,
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twenty": 20,
    "several": 3, "multiple": 3,
    "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10, "mehrere": 3,
    "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "sept": 7, "huit": 8, "neuf": 9, "dix": 10, "plusieurs": 3,
    "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "siete": 7, "ocho": 8, "nueve": 9, "diez": 10, "varias": 3,
    "duas": 2, "dois": 2, "três": 3, "quatro": 4, "seis": 6, "sete": 7, "oito": 8, "nove": 9, "dez": 10, "várias": 3,
    "due": 2, "tre": 3, "quattro": 4, "cinque": 5, "sei": 6, "otto": 8, "dieci": 10,
    "twee": 2, "drie": 3, "vijf": 5, "zes": 6, "zeven": 7, "tien": 10,
    "dwa": 2, "trzy": 3, "trzech": 3, "cztery": 4, "pięć": 5, "pięciu": 5, "dziesięć": 10, "dziesięciu": 10,
    "dva": 2, "tři": 3, "čtyři": 4, "pět": 5, "deset": 10,
    "два": 2, "две": 2, "три": 3, "трёх": 3, "трех": 3, "четыре": 4, "пять": 5, "пяти": 5, "семь": 7, "десять": 10,
    "десяти": 10, "несколько": 3,
    "п'ять": 5, "п’ять": 5, "кілька": 3,
    "iki": 2, "üç": 3, "dört": 4, "beş": 5, "altı": 6, "yedi": 7, "on": 10, "birkaç": 3,
    "dua": 2, "tiga": 3, "empat": 4, "lima": 5, "enam": 6, "tujuh": 7, "sepuluh": 10, "beberapa": 3,
    "hai": 2, "ba": 3, "năm": 5, "mười": 10,
    "两": 2, "兩": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10, "多": 3,
    "두": 2, "세": 3, "네": 4, "다섯": 5, "열": 10,
}  # fmt: skip
EAST = frozenset("两兩二三四五六七八九十多두세네") | {"다섯", "열"}


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


COUNT = rf"(\d{{1,5}}|{_any(word for word in NUMBERS if word not in EAST and word not in ('twice', 'thrice'))})"
COUNT_EAST = rf"(\d{{1,5}}|{_any(EAST)})"
BEGIN, END, GAP = r"(?:^|[\s(\[,;:\"'*_|>~/-])", r"(?:[\s)\].,;:!\"'*_|</-]|$)", r"[ \x{a0}]"
FILL = r"(?:[^\s\d.,;:|]+ ){0,2}"  # words between a number and what is counted
NEAR = 45  # characters around a count, in which something says what is counted
# In each language: "times", what is done so often, of what there are so many, and what is made of them.
TIMES = r"times|mal|male|fois|veces|vezes|volte|keer|maal|razy|раза?|раз[иі]в?|kez|defa|kere|kali|lần"
DONE = (
    r"ran|runs?|executed|repeated|measured|performed|tested|carried out|"
    r"durchgeführt|wiederholt|ausgeführt|gemessen|getestet|gelaufen|"
    r"exécut|répét|lancé|mesur|effectu|réalis|ejecut|repiti|repet|realiz|corri|executad|rodad|medid|"
    r"esegui|ripet|misurat|uitgevoerd|herhaald|gemeten|gedraaid|powt|uruch|wykon|zmierz|przeprow|"
    r"spuš|opakov|měřen|proved|"
    r"запуск|запущ|повтор|выполн|прогон|замер|измер|провод|проведен|викон|вимір|"
    r"çalıştır|tekrar|ölç|koşul|dijalankan|diulang|diukur|dilakukan|dieksekusi|chạy|lặp|đo|thực hiện"
)
MADE = (
    r"runs|repetitions|repeats|iterations|trials|passes|rounds|executions|samples|measurements|"
    r"durchläufen?|durchgängen?|läufen?|messungen|wiederholungen|versuchen?|"
    r"exécutions|mesures|répétitions|essais|passages|lancements|itérations|"
    r"ejecuciones|corridas|mediciones|repeticiones|iteraciones|execuções|rodadas|medições|repetições|iterações|"
    r"esecuzioni|misurazioni|ripetizioni|iterazioni|metingen|herhalingen|uitvoeringen|"
    r"pomiar[óo]w|pomiary|uruchomień|przebiegów|powtórzeń|prób|měření|běhů|"
    r"прогон\pL*|запуск\pL*|замер\pL*|измерени\pL*|повтор\pL*|итераци\pL*|"
    r"çalıştırma\pL*|ölçüm\pL*|tekrar\pL*|deneme\pL*|koşu\pL*|"
    r"percobaan|pengujian|eksekusi|iterasi|pengukuran|lần"
)
MEANS = (
    r"averages?|averaged|avg\.?|means?|medians?|geomean|best|minimum|"
    r"mittelwerte?n?|durchschnitt\pL*|gemittelt|mittel|median\pL*|moyennes?|médianes?|promedios?|mediana|media|"
    r"média|gemiddelden?|mediaan|średni\pL*|průměr\pL*|средн\pL*|медиан\pL*|усредн\pL*|"
    r"ortalama\pL*|medyan\pL*|dirata-rata|rata-rata|trung bình|trung vị"
)
TIMES_EAST, DONE_EAST = (
    r"次|遍|轮|輪|趟|回|회|번",
    (r"运行|運行|执行|執行|测试|測試|测量|重复|重複|跑|压测|实验|実行|計測|測定|繰り返|試行|실행|반복|측정|수행|取"),
)
MEANS_EAST = r"平均|中位|中央値|均值|평균|중앙"
# Counts of something, and what must stand near to them.
NEARBY: tuple[tuple[linear.Pattern[str], linear.Pattern[str]], ...] = (
    (
        linear.compile(rf"{BEGIN}{COUNT}{GAP}(?:{TIMES}){END}", linear.I),
        linear.compile(rf"{BEGIN}(?:{DONE})", linear.I),
    ),
    (
        linear.compile(rf"{BEGIN}{COUNT}{GAP}{FILL}(?:{MADE}){END}", linear.I),
        linear.compile(rf"{BEGIN}(?:{MEANS}){END}", linear.I),
    ),
    (
        linear.compile(r"(?:^|[\s(,;])n ?= ?(\d{1,3})(?:[\s),;.]|$)", linear.I),
        linear.compile(rf"{BEGIN}(?:{MEANS}){END}|±", linear.I),
    ),
    (
        linear.compile(rf"{COUNT_EAST}\s?(?:{TIMES_EAST})"),
        linear.compile(rf"{DONE_EAST}|{MEANS_EAST}"),
    ),
)
REPEATED = (
    linear.compile(
        rf"{BEGIN}{COUNT}{GAP}{FILL}(?:repetitions|repeats|trials|independent runs|"
        r"(?:runs|iterations|executions) (?:each|per|of each|for each|for every|a))\b",
        linear.I,
    ),
    linear.compile(
        rf"{BEGIN}{COUNT}{GAP}(?:durchläufen?|wiederholungen|läufen?|exécutions|rodadas|execuções|ejecuciones|"
        rf"repetições|repeticiones|répétitions|ripetizioni|прогон\pL*|замер\pL*){END}",
        linear.I,
    ),
    linear.compile(
        r"\b(?:average|averaged|avg\.?|mean|median|best|min)(?: of| over| across) (?:at least )?(\d{1,3})\b|"
        r"\b(?:ran|run|executed|repeated|measured)\b[^.\n]{0,30}?\b(\d{1,3}) ?[x×](?:[\s.,;)]|$)|"
        r"^\W{0,6}(?:number of )?(?:runs?|repetitions|repeats|trials|iterations|samples)\b(?: per \w{1,20})?"
        r"[*_`]{0,3}\s{0,3}[:=|]\s{0,3}[*_`]{0,3}(\d{1,3})\b",
        linear.I,
    ),
    linear.compile(r"\beach (?:\w+ ){0,4}?(twice|thrice)\b|\b(twice|thrice) each\b", linear.I),
    linear.compile(
        rf"{BEGIN}(zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|\d{{1,3}})[- ]?mal(?:ig\pL*)?(?:[ .,;)]|$)", linear.I
    ),
    linear.compile(r"(dva|tři|čtyři|pět|deset|\d{1,3})[- ]?krát", linear.I),
    linear.compile(r"(\d{1,3})\s?회씩"),
)
TRIPLICATE = linear.compile(r"\bin triplicate\b", linear.I)
# "10 times faster" counts no runs.
COMPARED = linear.compile(
    r"^[\s(~]{0,3}(?:as |faster|slower|more|less|higher|lower|better|worse|larger|smaller|the |schneller|langsamer|"
    r"plus|moins|más|menos|mais|più|meno|быстр|медлен|больш|sneller|szybc|daha|lebih|更)",
    linear.I,
)
ONCE = linear.compile(
    r"\b(?:single|one|a) (?:[\w-]{1,12} ){0,3}?run (?:each|per|of each|for each|a (?:cell|setting|"
    r"machine|configuration))\b"
    r"|\bsingle (?:(?:benchmark|test|measurement|timed|\d{1,3}|two|three|five|ten|thirty|minute|hour|"
    r"second)[ -]){0,3}runs?\b|\b(?:was|were|been|is|are) (?:only )?(?:run|measured|executed|tested|repeated) "
    r"(?:only |just )?once\b|\b(?:ran|run|executed|measured) (?:only |just |each \w+ )?once (?:each|per|"
    r"for each)\b"
    r"|\b(?:ran|run|executed|measured|tested|repeated|benchmarked) only once\b|\bonly (?:one|a single) run\b"
    r"|\bp=\d\.\d{1,4} n=1\b",
    linear.I,
)

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
OF_FRAMEWORKS = linear.compile(
    r"\bBenchmarkDotNet[= ]v\d|^# JMH version|\bJMH\b|\bcargo bench\b[^\n]{0,60}\bcriterion\b|\bcriterion\.rs\b|"
    r"\bcriterion\b[^\n]{0,40}\bbench|^\$? ?hyperfine |\bhyperfine\b|\bpytest-benchmark\b"
)
# What stands under such a heading has not been done.
WISHED = linear.compile(
    r"\b(?:future|to-?do|roadmap|next steps|enhancements?|ideas|wish ?list|not (?:yet )?(?:done|implemented|covered)|"
    r"possible improvements|planned)\b",
    linear.I,
)
COMMENTS = ("#", "//", "--", ";", "REM", "*", "/*")
IN_TEXTS = linear.Set(
    [*(counts for counts, _ in NEARBY), *REPEATED, TRIPLICATE, ONCE, OF_FRAMEWORKS, *DECLARED, *COUNTED, LISTED]
)
IN_SCRIPTS = linear.Set([ITERATIONS, *DECLARED, *COUNTED, LISTED, *(pattern for pattern, _, _ in FRAMEWORKS)])


def _read(file: File) -> Sequence[Statement] | None:
    if file.size > BYTES_MAX or b"\0" in file.head or DATA.fullmatch(file.base):
        return None
    if TEXTS.fullmatch(file.base):
        return [*_told(file), *_looped(file, text=True)] or None
    if SCRIPTS.fullmatch(file.base) or PROGRAMS.fullmatch(file.base):
        return list(_looped(file, text=False)) or None
    return None


def _told(file: File) -> Iterator[Statement]:
    above = headings.of_lines(file.prose)
    for number, line in enumerate(file.prose, start=1):
        bare = line[:LINE_MAX]
        if not IN_TEXTS.within(bare) or WISHED.search(above[number - 1]):
            continue
        for count in _counts(bare):
            if not COMPARED.search(bare[count.end() :]) and (times := _value(count)):
                yield Statement(file.at(number), "repeated", count[0].strip(), float(min(times, REPETITIONS_MAX)))
        if match := TRIPLICATE.search(bare):
            yield Statement(file.at(number), "repeated", match[0], float(SEVERAL))
        if (match := ONCE.search(bare)) and not prose.denied(bare, match.start(), match.end()):
            yield Statement(file.at(number), "repeated", match[0].strip(), 1.0)
        if (match := OF_FRAMEWORKS.search(bare)) and not prose.denied(bare, match.start(), match.end()):
            yield Statement(file.at(number), "repeated", match[0].strip(), float(OWN_REPETITIONS))


def _counts(line: str) -> Iterator[re.Match[str]]:
    """What may count runs."""
    for counts, beside in NEARBY:
        for found in counts.finditer(line):
            around = line[max(0, found.start() - NEAR) : found.start() + 1], line[found.end() - 1 : found.end() + NEAR]
            if any(beside.search(text) for text in around):
                yield found
                break
    for pattern in REPEATED:
        if match := pattern.search(line):
            yield match


def _looped(file: File, *, text: bool) -> Iterator[Statement]:
    """What a script repeats; in a text its blocks are scripts as well."""
    lines = [line[:LINE_MAX] for line in file.prose]
    shell = text or SHELL.fullmatch(file.base) is not None
    for at, bare in enumerate(lines):
        if not IN_SCRIPTS.within(bare) or (bare.lstrip().startswith(COMMENTS) and not text and "@" not in bare):
            continue
        for pattern in DECLARED:
            if (match := pattern.search(bare)) and 0 < (times := _value(match)) <= REPETITIONS_MAX:
                yield Statement(file.at(at + 1), "repeated", match[0].strip(), float(times))
        if (match := ITERATIONS.search(bare)) and int(match[1]) >= SEVERAL and not text:
            yield Statement(file.at(at + 1), "sampled", match[0].strip(), float(match[1]))
        loop = next((found for pattern in (*COUNTED, LISTED) if (found := pattern.search(bare))), None)
        if loop and _runs(lines[at : at + BODY_LINES], loop, shell):
            times = int(loop[2]) if loop[2].isdigit() else SEVERAL
            if 1 < times <= REPETITIONS_MAX:
                # In a program it may be of one experiment, or of one operation of many.
                of_loop: StatementKind = "repeated" if shell else "sampled"
                yield Statement(file.at(at + 1), of_loop, loop[0].strip(), float(times))
        if not text:
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
    word = next((group for group in match.groups() if group), "").lower()
    return int(word) if word.isdigit() else NUMBERS.get(word, 0)


IMPORTER = Importer("text", _read, beside=True)
