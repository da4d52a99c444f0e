"""What any file of a kit discloses: a processor, a setting by its name, the version of what is measured or that none is
fixed, the system that a program of somebody's own wrote beside its figures, where the load came from, and what is not
there: empty results, pictures and files that are linked.

Rules say that something is not disclosed only where none of all files does, so every text is looked through.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from acidtest import settings
from acidtest.audit.bench import Statement, StatementKind
from acidtest.audit.compared import OTHERS, PRODUCTS_BY_WORD
from acidtest.audit.importers import prose
from acidtest.audit.importers.file import File, Importer
from acidtest.audit.texts import PROSE, WRITTEN
from acidtest.families import PRODUCTS
from acidtest.formats import linear

PRODUCT_WORD = linear.compile(r"[A-Za-z]+")
# What else people call products, behind a shorter name of which their version stands.
CALLED = {"mongo": "mongodb", "postgresql": "postgresql", "cockroach": "cockroachdb", "scylladb": "scylla"}
BYTES_MAX = 4 << 20
LINES_MAX = 20_000
LINE_MAX = 1_000
OF_A_KIND = 20  # statements of one kind that are kept of a file
# Lists of packages, licences and the like are of no machine and of no run.
ASIDE = linear.compile(
    r"(?:package-lock|composer|cargo|poetry|yarn|pnpm-lock|go)[\w.-]*\.(?:json|lock|sum|yaml)|licen[sc]e.*"
)
RESULT = linear.compile(r".*\.(?:txt|log|out|csv|tsv|json|res|result|dat|jtl|md)")
NO_RESULT = linear.compile(
    r"(?:requirements|constraints|robots|cmakelists|todo|license|changelog|contributing|index|package).*"
)
COMMENT = linear.compile(r"\s*(?:#|//|--|;|rem\s)", linear.I)

# Names of products are written as their makers do; what else tells of a machine in any case.
MACHINE = linear.compile(
    r"\b(?:Snapdragon|Neoverse|POWER\d|Apple M\d|M\d (?:Pro|Max|Ultra)|i[3579]-\d{3,5}[A-Z]{0,2}|"
    r"Core ?(?:\(TM\) ?|Ultra |2 )?(?:i[3579]|Duo|Quad)|MacBook|Mac ?[Mm]ini|iMac|ThinkPad|Raspberry ?Pi|NUC\d{0,2}|"
    r"PowerEdge|ProLiant)\b"
)
CORES = linear.compile(
    r"(?:^|[^\w.,:-])\d{1,4}[ -]?x? ?(?:(?:physical|logical|virtual|CPU|processor|hyper|hardware|ARM|AMD|Intel) ?)?"
    r"(?:cores?|v?CPUs|vCPU|CPU cores?|processors|hardware threads|Kerne|c[oœ]eurs|núcleos)\b|\bvCPUs?\b"
    r"|\b(?:Xeon|Ryzen|EPYC|Threadripper|Opteron|Celeron|Pentium|Graviton ?\d?|Ampere Altra)\b"
    r"|\d\s?(?:核|コア|코어|яд[её]?р)|\b\d{1,3}C\d{1,4}G\b"
    r"|\bmodel name\s{0,9}:|\bCPU\(s\):\s{0,20}\d|(?:^|\n)cpu: \S|\b(?:processor|cpu)[\"*]{0,3} ?: [\"*]{0,3}[A-Z]",
    linear.I,
)
INSTANCE = linear.compile(
    r"\b(?:db\.)?[a-z]{1,3}\d[a-z]{0,3}(?:-[a-z]{1,6})?\.(?:\d{0,2}x?large|medium|small|micro|nano|metal(?:-\d+xl)?)\b"
    r"|\bstandard_[a-z]{1,2}\d+[a-z]{0,5}_v\d\b|\b[a-z]\d[a-z]?-(?:standard|highmem|highcpu|micro|small|medium)(?:-\d+)?\b",
    linear.I,
)
PRODUCT = "|".join(
    sorted(
        {*PRODUCTS, *OTHERS, *PRODUCTS_BY_WORD, "mongo", "scylladb", "clickhouse", "mssql", "sqlite3"},
        key=lambda name: (-len(name), name),  # the longer name first: the 3 of "sqlite3" is no version
    )
)
VERSION = linear.compile(
    rf"\b(?:{PRODUCT})(?:ql|db|[-_ ]?server|[-_ ]?sql)?(?:[ :/_=@^~\"'-]|\s*\(|ver(?:sion)?){{0,6}}"
    r"v?\d{1,4}(?:\.\d{1,6})*"
    r"|\b(?:server[ _]?)?version[\"']?\s*[:=]?\s*[\"'v]{0,2}\d{1,3}\.\d",
    linear.I,
)
PRE = linear.compile(
    rf"\b(?:{PRODUCT})[a-z]{{0,6}}(?:[ :/_=-]|version){{0,4}}v?\d{{1,3}}(?:\.\d{{1,3}}){{0,3}}"
    r"[ _.-]?(?:alpha|beta|rc|milestone|m)[ _.-]?\d{0,3}\b"
    r"|\bversion\W{1,4}\d{1,3}(?:\.\d{1,3}){1,3}[ _.-]?(?:alpha|beta|rc|m\d)[\w.-]{0,12}",
    linear.I,
)
# An engine's own name for a setting, or a word that tells of one whichever the engine is, with a value.
TELLS = 7  # letters, from which on a setting's name is no other word
NAMES = sorted(
    {
        name.replace("-", "_").replace("_", "[-_ ]?")
        for engine in ("firebird", "postgresql", "mysql", "mariadb")
        for name in settings.of(engine).known
        if len(name) >= TELLS
    }
)
SETTING = linear.compile(
    rf"\b(?:{'|'.join(NAMES)}|journal[-_ ]mode|cache[-_ ]size|page[-_ ]size|(?:page )?buffers|fsync|max[-_]connections|"
    r"write[-_ ]?concern|appendonly|block[-_]cache|block-cache|forced[-_ ]writes|synchronous)\b"
    r"[\"'`*|]{0,3}\s?(?:[=:|]|to|of|is|was|at)?\s?[\"'`*|]{0,3}\s?"
    r"(?:\d|on\b|off\b|true\b|false\b|yes\b|no\b|full\b|normal\b|wal\b|delete\b|memory\b|local\b)"
    r"|\b(?-i:PRAGMA) \w{4,30}"
    r"|\b(?:\w{2,30}[-_](?:cache|memory|buffers?)(?:[-_]\w{1,20})?|(?:cache|buffers?)[-_]\w{1,20})[\"']?\s{0,3}[=:]\s{0,3}[\"']?\d",
    linear.I,
)
# Images of programs that show or steer, and are not measured.
ASIDE_IMAGE = linear.compile(
    r"grafana|prometheus|exporter|adminer|pgadmin|phpmyadmin|nginx|traefik|portainer|jaeger|kibana|loki|telegraf|"
    r"cadvisor|influx|busybox|registry",
    linear.I,
)
LATEST = linear.compile(r"(?:^|[\s\"'=])([\w.-]+(?:/[\w.-]+){0,4}):latest\b")
IMAGE = linear.compile(r"\s*-?\s*image:\s*[\"']?([a-z\d][\w.-]*(?::\d+/[\w.-]+)?(?:/[\w.-]+){0,4})[\"']?\s*(?:#.*)?")
FROM = linear.compile(r"\s*FROM\s+(?:--platform=\S+\s+)?([\w./-]+)(?:\s+AS\s+([\w.-]+))?\s*", linear.I)
BY_DEFAULT = linear.compile(r"\s*(?:export\s+)?\w*VERSION\w*\s*(?:\?=|:=|=)\s*[\"']?(?:\$\{\w+:-)?latest\b", linear.I)
PIPED = linear.compile(
    r"\b(?:curl|wget)\b[^|\n]{0,300}\|\s*(?:sudo\s+(?:-\w+\s+)*)?(?:env\s+\S+\s+)?(?:ba|z|da)?sh\b", linear.I
)
INSTALLS = linear.compile(r"install|setup|get\.|rustup|nvm|brew|sdkman|repo\b|helm|k3s|keys?\b|packagecloud", linear.I)
LOCAL = linear.compile(
    r"\b(?:on|from|within) (?:the |a |one )?(?:same|single|one) "
    r"(?:(?:physical|virtual|database|db|cloud|bare[- ]metal) )?"
    r"(?:machine|host|server|box|vm|node|instance|computer|laptop)\b"
    r"|\b(?:over|via|through|by) (?:the |a |local )?(?:unix|local)(?: domain)? sockets?\b|\blocal unix socket\b",
    linear.I,
)
GENERATOR = linear.compile(
    r"\b(?:pgbench|sysbench|hammerdb|mysqlslap|ycsb|benchbase|go-tpc|k6|jmeter|client|clients|load generator|driver|"
    r"benchmark|benchmarks|generator)\b",
    linear.I,
)
# A client that is told to connect to its own machine, or is started within the database's container.
HERE = linear.compile(
    r"\b(?:postgres(?:ql)?|mysql|mariadb|mongodb|redis|firebirdsql)(?:\+\w{1,20})?://(?:[^\s\"'@/]{0,80}@)?"
    r"(?:localhost|127\.0\.0\.1)\b"
    r"|\bjdbc:[a-z:]{4,24}//(?:localhost|127\.0\.0\.1)\b|@tcp\((?:localhost|127\.0\.0\.1)[:)]"
    r"|\b(?:host|Server|Data Source)=(?:localhost|127\.0\.0\.1)[ ;][^\n]{0,80}"
    r"\b(?:port|user|uid|dbname|database|initial catalog)\b"
    r"|--(?:mysql-|pgsql-|db-)?host[= ][\"']?(?:localhost|127\.0\.0\.1)\b|--mysql-socket[= ]"
    r"|\b(?:PG|MYSQL_|POSTGRES_|DB_|DATABASE_|MONGO_|REDIS_)HOST[\"']?\s{0,3}[=:]\s{0,3}[\"']?(?:localhost|127\.0\.0\.1)\b"
    r"|\bhost[\"']?\s{0,3}[=:]\s{0,3}[\"'](?:localhost|127\.0\.0\.1)[\"']"
    r"|\b(?:pgbench|mysqlslap|redis-benchmark)\b[^\n]{0,200}\s-h\s?(?:localhost\b|127\.0\.0\.1\b|/)"
    r"|\bdocker(?:[ -]compose)? exec\b[^\n]{0,200}\b(?:pgbench|sysbench|mysqlslap|redis-benchmark|tpcc_start)\b"
)
PLATFORM = linear.compile(
    r'"(platform|os|operating[ _]?system|system|arch|architecture|kernel|cpu|processor)"\s*:\s*"([^"\n]{2,80})"',
    linear.I,
)
# What tools print of their machine: sysstat's heading, `go test -bench`, `uname -a`, PostgreSQL's version.
SYSSTAT = linear.compile(
    r"(Linux|FreeBSD|Darwin) (\d+\.\d+)\S{0,60} \(([^()\s]{1,80})\)\s+\S{6,14}\s+_?(\w{3,12}?)_?\s+\((\d{1,4}) CPU\)\s*"
)
GO_ENVIRONMENT = linear.compile(r"(goos|goarch|cpu): (\S.{0,80})")
GO_NAMES = {"goos": "platform", "goarch": "arch", "cpu": "cpu"}
UNAME = linear.compile(
    r"(Linux|Darwin|FreeBSD) \S{1,80} (\d+\.\d+)\S{0,60} .{0,200}\b(x86_64|aarch64|arm64|ppc64le|s390x)\b.{0,40}"
)
BUILT_ON = linear.compile(
    r".{0,60}\bPostgreSQL \d\S{0,20}.{0,80}? on (x86_64|aarch64|arm\w*|i686|ppc64le|s390x)-([\w-]{3,40}),.{0,200}"
)
PICTURE = linear.compile(
    r"!\[[^\[\]]{0,200}\]\(\s*(https?://[^()\s]{1,400})|<img [^<>]{0,300}?src=[\"'](https?://[^\"'\s]{1,400})", linear.I
)
# A picture of figures in the kit, as its name or the words in its place say.
CHART = linear.compile(
    r"!\[([^\[\]]{0,200})\]\(\s*<?([^()\s<>:]{1,300}\.(?:png|svg|jpe?g|gif|webp))"
    r"|<img ([^<>]{0,300}?)src=[\"']([^\"'\s:]{1,300}\.(?:png|svg|jpe?g|gif|webp))",
    linear.I,
)
CHARTED = linear.compile(
    r"bench|result|throughput|latenc|\b[tq]ps\b|\bops\b|iops|chart|graph|plot|compar|perf|speed|duration|time[sd]?\b",
    linear.I,
)
# One of these is in whatever line takes something in a version that nobody fixed.
UNFIXED = linear.compile(r"latest\b|image:|\b(?:curl|wget)\b", linear.I)
# Without one of these no line of a file that is no text has to be looked at.
HINT = linear.compile(
    r":latest|image:|\?=\s?latest|\bcurl\b|\bwget\b|\bVERSION|socket|same (?:machine|host|server)|localhost|"
    r"127\.0\.0\.1|docker(?:[ -]compose)? exec|\s-h ?/",
    linear.I,
)
DOCKERFILE = linear.compile(r"(?:dockerfile|containerfile)(?:\..*)?|.*\.dockerfile")
MADE = linear.compile(r"(?:build\b[^\n]{0,200}(?:-t|--tag)[ =]|\bAS )([\w./-]+)", linear.I)
BADGE = linear.compile(r"badge|shields\.io|travis|codecov|actions/workflows|logo|avatar|star-history|license", linear.I)
STARTED = linear.compile(
    rf"^\s*(?:-\s+)?image:\s*[\"']?(?:[\w.-]+/){{0,3}}((?:{PRODUCT})(?:ql|db)?)(?::[\w.-]+)?[\"']?\s*(?:#.*)?$"
    rf"|\bdocker run(?:[^\n\\]|\\\n|\\){{0,400}}\s(?:[\w.-]+/){{0,3}}((?:{PRODUCT})(?:ql|db)?)(?::[\w.-]+)?\s*$"
    r"|^[^\n#]{0,80}\b(tiup playground)\b",
    linear.I | linear.M,
)
# The first version that is no alpha, beta or candidate, as the vendors' release notes have it.
FIRST_STABLE = {
    "mysql": {"5.1": 30, "5.5": 8, "5.6": 10, "5.7": 9, "8.0": 11},
    "mariadb": {"5.1": 42, "5.2": 3, "5.3": 5, "5.5": 23, "10.0": 10, "10.1": 8, "10.2": 6, "10.3": 7, "10.4": 6,
                "10.5": 4, "10.6": 3},
}  # fmt: skip
OF_SERIES = linear.compile(
    r"\b(mysql|mariadb)(?:[-_ ]server)?[ :/_-]{1,3}(\d{1,2}\.\d)\.(\d{1,3})(?:[^\d.]|$)", linear.I
)
SUITABLE: tuple[tuple[StatementKind, linear.Pattern[str]], ...] = (
    ("machine", MACHINE),
    ("machine", CORES),
    ("machine", INSTANCE),
    ("version", VERSION),
    ("setting", SETTING),
    ("engine", linear.compile(rf"\b(?:{PRODUCT})(?:ql|db)?\b", linear.I)),
    ("pre-release", PRE),
    ("server", STARTED),
)
ONE_IS_ENOUGH = frozenset(("machine", "setting", "engine"))
# Of these the text alone counts, not the line: of each product one, and a machine that its line describes.
OF_PRODUCTS = frozenset(("version",))
VERSIONS_SEEN = 300  # mentions of a file that are looked at
# Drivers and shells that are called so, whatever their version; a version that is asked for, or one and all later ones.
NO_VERSION = linear.compile(r"sqlite3|mysql2|pg8000|mariadb2|pg2|redis[34]", linear.I)
OR_LATER = linear.compile(
    r"^(?:\.\d+)*(?:\.x)?(?:\+|\s?(?:or|and|and/or) (?:newer|later|higher|above|greater|up|over)\b|\s?以上|\s?or any)",
    linear.I,
)
AT_LEAST = linear.compile(
    r"(?:>=?|≥|at least|minimum|requires?|prerequisites?:?|needs?|supports?|compatible with|tested (?:with|on) any)"
    r"[^\w]{0,6}$",
    linear.I,
)
# Lists of what a program is built with: the version of a driver is not that of the engine, unless it holds the engine.
DEPENDENCIES = linear.compile(
    r"package\.json|requirements[\w.-]*\.(?:txt|in)|go\.mod|cargo\.toml|pom\.xml|build\.gradle(?:\.kts)?|gemfile|"
    r"composer\.json|pyproject\.toml|pipfile|setup\.(?:py|cfg)|mix\.exs|.*\.csproj|directory\.packages\.props"
)
HIDDEN = linear.compile(r"(?:^|/)\.[a-z]")
# No maker counts so far: what has four digits is a year's version, or none.
NOT_OF_VERSION = linear.compile(r"\D(?:[013-9]\d{3}|2[1-9]\d{2})$|\D\d{3}\.\d{1,3}\.")
PRE_LETTERS = linear.compile(r"(?i:a|alpha|b|beta|rc|m|dev|devel|x)\d{0,2}(?:\W|$)")
HOLDS_ITSELF = linear.compile(r"^(?:better-)?(?:sqlite|duckdb|rocksdb)", linear.I)
# What is no machine: any of its kind, and the share of one that a container may use.
ANY_OF_KIND = linear.compile(
    r"\b(?:any|modern|standard|typical|generic|recent|multi-?core|varies|unknown|n/?a|tbd|depends|usage|utili[sz]ation|"
    r"your)\b",
    linear.I,
)
CONTAINER = linear.compile(
    r"\b(?:limits?|limited to|quota|cgroups?|per container|containers? (?:with|have|has|gets?|limited)|each container|"
    r"docker containers?|--cpus|cpus:|reservations?|requests:)",
    linear.I,
)
SOURCE = linear.compile(
    r".*\.(?:c|h|cc|cpp|cxx|hpp|cs|java|kt|scala|go|rs|swift|m|vb|pas|dpr|php|rb|py|js|mjs|cjs|ts|tsx|jsx)"
)
OF_SERIES_LINES = 50
OUTPUT_MAX = 1 << 14
TEXT_MAX = 1 << 20  # characters of a file that are searched as a whole


def _read(file: File) -> Sequence[Statement] | None:
    if not file.size:
        empty = RESULT.fullmatch(file.base) and not NO_RESULT.fullmatch(file.base)
        return [Statement(file.at(), "empty", "an empty file")] if empty else None
    if ASIDE.fullmatch(file.base) or file.size > BYTES_MAX or b"\0" in file.head:
        return None
    return [*_anywhere(file), *_by_line(file)] or None


def _anywhere(file: File) -> Iterator[Statement]:
    """What may be said in a word or two in whatever file it is."""
    text = file.text[:TEXT_MAX]
    known: set[StatementKind] = set()
    for kind, pattern in SUITABLE:
        seen: dict[str, int] = {}
        products: set[str] = set()
        looked = 0
        for match in pattern.finditer(text) if kind not in known else ():
            begin = text.rfind("\n", 0, match.start()) + 1
            line = text[begin:].partition("\n")[0][:LINE_MAX] if kind in ONE_IS_ENOUGH else _line(text, begin)
            comment = COMMENT.match(line) is not None
            at = match.start() - begin
            looked += 1
            if kind in OF_PRODUCTS and looked > VERSIONS_SEEN:
                break
            if prose.denied(line, at, at + len(match[0])) or (comment and kind not in (*ONE_IS_ENOUGH, *OF_PRODUCTS)):
                continue
            if _tells_nothing(kind, file, line, at, at + len(match[0])):
                continue
            said = " ".join(next((group for group in match.groups() if group), match[0]).split())
            if kind in OF_PRODUCTS and product_of(said) in products:
                continue
            products.add(product_of(said) if kind in OF_PRODUCTS else "")
            seen.setdefault(said[:120], begin)
            if kind in ONE_IS_ENOUGH or len(seen) >= OF_A_KIND:
                break
        for said, begin in seen.items():
            product = product_of(said) if kind in OF_PRODUCTS else ""
            yield Statement(file.at(text.count("\n", 0, begin) + 1), kind, said, machine=product)
            if kind in ONE_IS_ENOUGH:
                known.add(kind)
    named = file.name.replace("_", " ").replace("-", " ")
    of_name = CORES.search(named) or INSTANCE.search(file.name)
    if "machine" not in known and of_name:
        yield Statement(file.at(), "machine", of_name[0])
    for number, whole in enumerate(file.first_lines[:OF_SERIES_LINES], start=1):
        for told in _of_tool(whole[:LINE_MAX]):
            yield Statement(file.at(number), "platform", told)
    if not WRITTEN.fullmatch(file.base):
        yield from _early(file)


def product_of(text: str) -> str:
    """The product that a version is said to be of, by its usual name; "" of one that names none."""
    word = PRODUCT_WORD.match(text)
    name = word[0].lower() if word else ""
    return "" if name in ("server", "version") else PRODUCTS_BY_WORD.get(name, CALLED.get(name, name))


def _tells_nothing(kind: StatementKind, file: File, line: str, begin: int, end: int) -> bool:
    """Whether what is found discloses nothing of what was measured."""
    said = line[begin:end]
    if kind == "version":
        if NO_VERSION.fullmatch(said) or OR_LATER.search(line[end : end + 40]) or AT_LEAST.search(line[:begin][-40:]):
            return True
        if DEPENDENCIES.fullmatch(file.base) and not HOLDS_ITSELF.search(said):
            return True
        of_server = said.lower().startswith("server")
        if not (product_of(said) or of_server or (RESULT.fullmatch(file.base) and not HIDDEN.search(file.name))):
            return True
        if NOT_OF_VERSION.search(said) or (
            line[end : end + 1].isalpha() and not PRE_LETTERS.match(line[end : end + 6])
        ):
            return True  # a colour, a port, another product's name
        if "://" in line[:begin].rpartition(" ")[2]:
            return True  # within an address
        return PROSE.fullmatch(file.base) is not None and prose.supposed(line, begin)
    if kind == "machine":
        around = line[max(0, begin - 60) : end + 60]
        return (ANY_OF_KIND.search(line[begin : end + 30]) or CONTAINER.search(around)) is not None
    if kind == "setting" and SOURCE.fullmatch(file.base):
        return not any(quote in line[:begin] for quote in "\"'`")  # a variable of the program's own
    return False


def _early(file: File) -> Iterator[Statement]:
    for number, line in enumerate(file.first_lines[:OF_SERIES_LINES], start=1):
        for match in OF_SERIES.finditer(line[:LINE_MAX]) if not COMMENT.match(line) else ():
            first = FIRST_STABLE[match[1].lower()].get(match[2])
            if first is not None and int(match[3]) < first:
                yield Statement(file.at(number), "pre-release", f"{match[1]} {match[2]}.{match[3]}")


def _of_tool(line: str) -> Iterator[str]:
    """What a tool prints of the machine that it runs on."""
    if match := SYSSTAT.fullmatch(line):
        yield f"system {match[1]} {match[2]}"
        yield f"arch {match[4]}"
        yield f"host {match[3]}"
        yield f"processors {match[5]}"
    elif match := GO_ENVIRONMENT.fullmatch(line):
        yield f"{GO_NAMES[match[1]]} {match[2]}"
    elif match := UNAME.fullmatch(line):
        yield f"system {match[1]} {match[2]}"
        yield f"arch {match[3]}"
    elif match := BUILT_ON.fullmatch(line):
        yield f"arch {match[1]}"


def _line(text: str, begin: int) -> str:
    end = text.find("\n", begin)
    return text[begin : end if end >= 0 else len(text)][:LINE_MAX]


def _by_line(file: File) -> Iterator[Statement]:
    """What is a line, or stands in one with something else."""
    written = WRITTEN.fullmatch(file.base) is not None
    # Nobody writes that much into an output of a tool.
    text = file.text[: OUTPUT_MAX if file.base.endswith(".txt") else TEXT_MAX]
    dockerfile = DOCKERFILE.fullmatch(file.base) is not None
    json = file.base.endswith(".json") or text[:80].lstrip().startswith(("{", "["))
    json = json and not NO_RESULT.fullmatch(file.base)
    if not (written or dockerfile or json or HINT.search(text)):
        return
    asked = _Asked(
        platform=json and PLATFORM.search(text) is not None,
        picture=written and (PICTURE.search(text) is not None or CHART.search(text) is not None),
        local=LOCAL.search(text) is not None,
        here=not written and HERE.search(text) is not None,
        unfixed=not written and (dockerfile or UNFIXED.search(text) is not None),
    )
    if asked == NOTHING:
        return
    made: set[str] = {match[1].lower() for match in MADE.finditer(text)}  # images of the kit's own, and stages
    kept: dict[StatementKind, int] = {}
    for number, whole in enumerate(text.split("\n")[:LINES_MAX], start=1):
        line = whole[:LINE_MAX]
        for kind, said in _of_line(line, made, written, dockerfile, asked) if line else ():
            kept[kind] = kept.get(kind, 0) + 1
            if kept[kind] <= OF_A_KIND:
                yield Statement(file.at(number), kind, said)


@dataclass(frozen=True)
class _Asked:
    """What is looked for in each line, as the text has it somewhere."""

    platform: bool = False
    picture: bool = False
    local: bool = False
    here: bool = False
    unfixed: bool = False


NOTHING = _Asked()


def _of_line(
    line: str, made: set[str], written: bool, dockerfile: bool, asked: _Asked
) -> Iterator[tuple[StatementKind, str]]:
    if asked.platform:
        for match in PLATFORM.finditer(line):
            yield "platform", f"{match[1].lower()} {match[2]}"
    if asked.picture:
        for match in PICTURE.finditer(line):
            if not BADGE.search(match[0]):
                yield "picture elsewhere", (match[1] or match[2])[:120]
        for match in CHART.finditer(line):
            if CHARTED.search(" ".join(filter(None, match.groups()))) and not BADGE.search(match[0]):
                yield "picture", (match[2] or match[4])[-120:]
    if not (asked.local or asked.here or asked.unfixed):
        return
    comment = not written and COMMENT.match(line) is not None
    where = LOCAL.search(line) if asked.local and (written or comment) else None
    unsaid = where and (prose.denied(line, *where.span()) or prose.supposed(line, where.start()))
    if where and GENERATOR.search(line) and not unsaid:
        yield "local client", " ".join(line.split())[:160]
    if asked.here and not comment and HERE.search(line):
        yield "local client", " ".join(line.split())[:160]
    if asked.unfixed and not comment:
        for said in _unfixed(line, made, dockerfile):
            yield "unfixed version", said


def _unfixed(line: str, made: set[str], dockerfile: bool) -> Iterator[str]:
    """What is taken in whatever version is the newest on that day."""
    if dockerfile and (staged := FROM.fullmatch(line)):
        name = staged[1].lower()
        if ":" not in name and name != "scratch" and name not in made and not ASIDE_IMAGE.search(name):
            yield f"{staged[1]} without a version"
    for match in LATEST.finditer(line):
        if match[1].lower() not in made and not ASIDE_IMAGE.search(match[1]):
            yield f"{match[1]}:latest"
    named = IMAGE.fullmatch(line)
    if named and named[1].lower() not in made and not ASIDE_IMAGE.search(named[1]):
        yield f"{named[1]} without a version"
    if newest := BY_DEFAULT.match(line):
        yield " ".join(newest[0].split())
    piped = PIPED.search(line)
    if piped and not INSTALLS.search(piped[0]):
        yield " ".join(piped[0].split())[:120]


IMPORTER = Importer("", _read, beside=True)
