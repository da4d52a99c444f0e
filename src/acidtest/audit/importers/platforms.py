"""What programs print of the machine that they run on, and what scripts and images take in no fixed version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidtest.audit.bench import Statement
from acidtest.audit.importers import known
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 4 << 20
LINES_MAX = 20_000
LINE_MAX = 1_000
OF_A_KIND = 20  # statements of one kind that are kept of a file
ASIDE = linear.compile(
    r"(?:package-lock|composer|cargo|poetry|yarn|pnpm-lock|go)[\w.-]*\.(?:json|lock|sum|yaml)|licen[sc]e.*"
)
NO_RESULT = linear.compile(
    r"(?:requirements|constraints|robots|cmakelists|todo|license|changelog|contributing|index|package).*"
)
COMMENT = linear.compile(r"\s*(?:#|//|--|;|rem\s)", linear.I)
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
PLATFORM = linear.compile(
    r'"(platform|os|operating[ _]?system|system|arch|architecture|kernel|cpu|processor)"\s*:\s*"([^"\n]{2,80})"',
    linear.I,
)
SYSSTAT = linear.compile(
    r"(Linux|FreeBSD|Darwin) (\d+\.\d+)\S{0,60} \(([^()\s]{1,80})\)\s+\S{6,14}\s+_?(\w{3,12}?)_?\s+\((\d{1,4}) CPU\)\s*"
)
GO_ENVIRONMENT = linear.compile(r"(goos|goarch|cpu): (\S.{0,80})")
UNAME = linear.compile(
    r"(Linux|Darwin|FreeBSD) \S{1,80} (\d+\.\d+)\S{0,60} .{0,200}\b(x86_64|aarch64|arm64|ppc64le|s390x)\b.{0,40}"
)
BUILT_ON = linear.compile(
    r".{0,60}\bPostgreSQL \d\S{0,20}.{0,80}? on (x86_64|aarch64|arm\w*|i686|ppc64le|s390x)-[\w-]{3,40},.{0,200}"
)
SERVER = linear.compile(r"Server version:\s{1,20}(MySQL|MariaDB|PostgreSQL) (\d\S{1,40}(?: MariaDB)?).{0,80}")
# What a tool prints of the machine that it runs on, and what its groups are.
TOOLS = (
    (SYSSTAT, ("system {} {}", "host {2}", "arch {3}", "processors {4}")),
    (UNAME, ("system {} {}", "arch {2}")),
    (BUILT_ON, ("arch {}",)),
    (SERVER, ("server {} {}",)),
)
GO_NAMES = {"goos": "platform", "goarch": "arch", "cpu": "cpu"}
UNFIXED = linear.compile(r"latest\b|image:|\b(?:curl|wget)\b", linear.I)
DOCKERFILE = linear.compile(r"(?:dockerfile|containerfile)(?:\..*)?|.*\.dockerfile")
MADE = linear.compile(r"(?:build\b[^\n]{0,200}(?:-t|--tag)[ =]|\bAS )([\w./-]+)", linear.I)
TEXT_MAX = 1 << 20  # characters of a file that are searched as a whole
FIRST_LINES = 50


def _read(file: File) -> Sequence[Statement] | None:
    if not file.size or ASIDE.fullmatch(file.base) or file.size > BYTES_MAX or b"\0" in file.head:
        return None
    found = [
        Statement(file.at(number), "platform", fact)
        for number, line in enumerate(file.first_lines[:FIRST_LINES], start=1)
        for fact in _of_tool(line[:LINE_MAX])
    ]
    return [*found, *_by_line(file)] or None


def _of_tool(line: str) -> Iterator[str]:
    for pattern, facts in TOOLS:
        if match := pattern.fullmatch(line):
            yield from (fact.format(*match.groups()) for fact in facts)
            return
    if match := GO_ENVIRONMENT.fullmatch(line):
        yield f"{GO_NAMES[match[1]]} {match[2]}"


def _by_line(file: File) -> Iterator[Statement]:
    text = file.text[:TEXT_MAX]
    dockerfile = DOCKERFILE.fullmatch(file.base) is not None
    json = file.base.endswith(".json") or text[:80].lstrip().startswith(("{", "["))
    platform = json and not NO_RESULT.fullmatch(file.base) and PLATFORM.search(text) is not None
    unfixed = not known.is_prose(file.base) and (dockerfile or UNFIXED.search(text) is not None)
    if not (platform or unfixed):
        return
    made: set[str] = {match[1].lower() for match in MADE.finditer(text)}  # images of the kit's own, and stages
    left = OF_A_KIND
    for number, whole in enumerate(text.split("\n")[:LINES_MAX], start=1):
        line = whole[:LINE_MAX]
        for match in PLATFORM.finditer(line) if platform and number <= OF_A_KIND * FIRST_LINES else ():
            yield Statement(file.at(number), "platform", f"{match[1].lower()} {match[2]}")
        for taken in _unfixed(line, made, dockerfile) if unfixed and left and not COMMENT.match(line) else ():
            left = max(left - 1, 0)
            yield Statement(file.at(number), "unfixed version", taken)


def _unfixed(line: str, made: set[str], dockerfile: bool) -> Iterator[str]:
    """What is taken in whatever version is the newest on that day."""
    images = [(match[1], f"{match[1]}:latest") for match in LATEST.finditer(line)]
    for named in (IMAGE.fullmatch(line), FROM.fullmatch(line) if dockerfile else None):
        if named and ":" not in named[1] and named[1].lower() != "scratch":
            images.append((named[1], f"{named[1]} without a version"))
    for image, taken in images:
        if image.lower() not in made and not ASIDE_IMAGE.search(image):
            yield taken
    if newest := BY_DEFAULT.match(line):
        yield " ".join(newest[0].split())
    piped = PIPED.search(line)
    if piped and not INSTALLS.search(piped[0]):
        yield " ".join(piped[0].split())[:120]


IMPORTER = Importer("", _read, beside=True)
