"""Shell scripts that measure: what they do, in which order, and within which loops.

Functions are put where they are called, and variables have their plain value. A command is known by its tool, one of
the kit's own by what it is called.
"""

from __future__ import annotations

from collections.abc import Sequence

from acidtest.audit.bench import Harness, Step, StepKind
from acidtest.audit.importers.commands import joined
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 1 << 19
LINES_MAX = 5_000
LINE_MAX = 1_000
STEPS_MAX = 400
DEPTH_MAX = 5  # of functions that call each other
NESTED_MAX = 40  # loops within loops
TEXT_MAX = 160
SHELL = linear.compile(r".*\.(?:sh|bash|zsh|ksh)|(?:run|bench)[\w-]*")
SHEBANG = linear.compile(rb"#![^\n]{0,80}\b(?:ba|z|k|da)?sh\b")
FUNCTION = linear.compile(
    r"\s*(?:function\s+([\w-]{1,60})\s*(?:\(\s*\))?|([\w-]{1,60})\s*\(\s*\))\s*(?:\{\s*)?(?:#.*)?"
)
LOOP = linear.compile(r"\s*(?:for|while|until|select)\b.*")
DONE = linear.compile(r"\s*done\b.*")
ONE_LINE_LOOP = linear.compile(r".*;\s*do\b.*\bdone\b.*")
HEREDOC = linear.compile(r"<<-?\s{0,3}[\"']?(\w{1,40})[\"']?")
SPOKEN = linear.compile(
    r"\s*(?:#|(?:echo|printf|print|log\w{0,12}|info|warn|error|die|usage|banner|logger\.\w+)\b).*", linear.I
)
ASSIGNED = linear.compile(
    r"\s*(?:export\s+|readonly\s+|local\s+|declare\s+(?:-\w+\s+)?)?([A-Za-z_]\w{0,60})=[\"']?([^\"'\n]{0,200})[\"']?\s*;?\s*(?:#.*)?"
)
VARIABLE = linear.compile(r"\$\{?([A-Za-z_]\w{0,60})(?:[:\[][^{}\n]{0,60})?\}?")
WARM = linear.compile(r"warm(?:ed|ing|s)?[-_ ]?up|\bwarm[-_]|pre-?warm|pre-?heat|ramp[-_ ]?up|rampup", linear.I)
TOOL = linear.compile(
    r"(?:^|[\s/(=`])pgbench(?:\.exe)?\s+-|\bsysbench\b.*\brun\b|\bycsb(?:\.sh|\.bat)?\s+run\b|"
    r"\bgo-ycsb\s+run\b|--execute[= ]true|\bk6\s+run\b|\bhammerdbcli\b|\b(?:mysqlslap|mariadb-slap)\b|"
    r"\bgo-tpc\b.*\brun\b|\btpcc_start\b|\brunBenchmark\.sh\b|\bjmeter\b.*\s-n\b|\bgo\s+test\b.*-bench\b|\bhyperfine\b",
    linear.I,
)
PROGRAM = linear.compile(
    r"\s*(?:time\s+|sudo\s+|nohup\s+|numactl\s+\S+\s+|taskset\s+(?:-c\s+)?\S+\s+|exec\s+|\w{1,30}=\S{0,60}\s+){0,4}"
    r"(?:(?:bash|sh|source|\.|python3?|node|java\s+-jar|go\s+run|npm\s+run|make)\s+(?:-\w+\s+)*)?([\w./-]{1,120})"
)
OWN_RUN = linear.compile(
    r"bench|stress|tpc-?c|workload|ycsb|run[-_]?(?:tests?|loads?|quer|all|one|single|case)", linear.I
)
OWN_LOAD = linear.compile(
    r"(?:^|[-_./])(?:load|prepare|init|seed|populate|re(?:store|set|create|build|fresh|vert)|re-create|set-?up|truncate|"
    r"drop|fill|import|gen|clean|clear|wipe|create|fresh|snapshot|rollback|teardown|destroy)|"
    r"(?:load|prepare|init|seed|populate|restore|reset|setup|cleanup|fresh)(?:[-_](?:data\w*|db|tables?|schema|all))?"
    r"(?:\.\w{1,4})?$",
    linear.I,
)
# Programs of the kit that prepare nothing and measure nothing, whatever else is in their names.
ASIDE = linear.compile(
    r"report|plot|parse|collect|analy|result|summar|install|build|monitor|stats?\b|graph|chart|format|aggregat|compare|"
    r"print|help|usage|check|wait|log|info|verify|validat|average|median|extract|save|convert|version|config|deploy|"
    r"provision|status|sleep|total",
    linear.I,
)
LOAD = linear.compile(
    r"\bpgbench\b.*\s(?:-\w{0,6}i\w{0,6}|--initialize)(?:\s|$)|\bsysbench\b.*\bprepare\b|"
    r"\bycsb(?:\.sh|\.bat)?\s+load\b|--(?:load|create)[= ]true|\bgo-tpc\b.*\bprepare\b|\btpcc_load\b|"
    r"\brunDatabase(?:Build|Destroy)\.sh\b|\b(?:createdb|dropdb|pg_restore|mysqlimport|initdb|mysql_install_db|"
    r"mariadb-install-db|pgloader|mongorestore)\b|\b(?:drop|truncate)\s+(?:table|database|schema|collection)\b|"
    r"\btruncate\s+\w|\bcreate\s+(?:database|table)\b|\brm\s+-\w*r\w*\s+\S*(?:data|pgdata|mysql|db|sqlite|store)|"
    r"\brm\s+(?:-f\s+)?\S*\.(?:db|sqlite3?|fdb)\b|\bdocker(?:-|\s+)compose\b.*\b(?:down|rm)\b|"
    r"\bdocker\s+(?:rm|volume\s+rm|kill)\b|\bzfs\s+(?:rollback|destroy|clone)\b|\blv(?:convert|remove)\b|"
    r"\bbtrfs\s+subvolume\b|\bmkfs\b|\b(?:rsync|cp\s+-\w*[ar]\w*)\s.*(?:data|db|backup)|\bkubectl\s+delete\b|"
    r"\bhelm\s+(?:uninstall|delete)\b|\b(?:terraform|vagrant)\s+(?:destroy|apply|up)\b|\bcleanup\b|"
    r"\bgbak\b.*\s-(?:c|r|rep)\w*\b|\bflush(?:all|db)\b",
    linear.I,
)
SETTLES = linear.compile(r"\bcheckpoint\b|\bvacuum\b|\bflush\s+logs\b|max_dirty_pages_pct", linear.I)
READS = linear.compile(
    r"pgbench.*\s-\w{0,6}S\w{0,6}(?:\s|$)|select[-_ ]?only|read[-_ ]?only(?:[= ](?:on|true|1|yes)\b|[^=\w]|$)|\bro\b|"
    r"point_select|select_random|workload_?c\b|oltp_ro"
)
# What asks a server, or decides: whatever words are in it.
ASKS = linear.compile(
    r"\s*(?:\w{1,30}=\S{0,60}\s+){0,3}(?:sudo\s+(?:-\w+\s+\w+\s+)?)?(?:\S{0,80}/)?"
    r"(?:psql|mysql|mariadb|mongo|mongosh|redis-cli|sqlite3|isql|isql-fb|iostat|vmstat|tail|head|grep|awk|"
    r"sed|tee|cat|scp)\b.*"
)
DECIDES = linear.compile(
    r"\s*(?:if|elif|case|test|trap|exit|return|\[|\[\[|else|fi|shift)\b.*|\s*\[.*|\s*-{1,2}[\w|-]{1,40}\).*"
)
INSTALLS = linear.compile(
    r"\b(?:apt(?:-get)?|yum|dnf|brew|pip3?|npm|cargo|go)\s+(?:install|get|add|ci)\b|\bchmod\b|\bmkdir\b|"
    r"\bwhich\b|\bcommand\s+-v\b|--version|--help|\bgit\s|\bcurl\b|\bwget\b"
)
OUTPUT = linear.compile(r"(?:^|\s)(?:\d?>{1,2}|\|)\s?.*")

Command = tuple[int, str, tuple[int, ...]]  # its line, its text, the lines of the loops that it is within


def _bodies(lines: Sequence[str]) -> dict[str, list[Command]]:
    """The commands of the script, under "", and those of each of its functions."""
    bodies: dict[str, list[Command]] = {"": []}
    name, indent, ends = "", 0, ""
    loops: list[int] = []
    outside: list[int] = []  # the loops around a function
    for number, line in joined(lines):
        bare = line.strip()
        if ends or not bare:
            ends = "" if bare == ends else ends
            continue
        if match := HEREDOC.search(line):
            ends = match[1]
        if match := FUNCTION.fullmatch(line):
            name, indent = match[1] or match[2], len(line) - len(line.lstrip())
            bodies.setdefault(name, [])
            outside, loops = loops, []
        elif name and bare[0] == "}" and len(line) - len(line.lstrip()) <= indent:
            name, loops = "", outside
        elif LOOP.fullmatch(line) and not ONE_LINE_LOOP.fullmatch(line):
            loops = [*loops, number][-NESTED_MAX:]
        elif DONE.fullmatch(line):
            loops = loops[:-1]
        else:
            bodies[name].append((number, bare[:LINE_MAX], tuple(loops)))
    return bodies


class _Reader:
    """Puts functions where they are called, and says what each command does."""

    def __init__(self, bodies: dict[str, list[Command]], file: File) -> None:
        self._bodies = bodies
        self._file = file
        self._held: dict[str, str] = {}
        self.called: set[str] = set()
        self.steps: list[Step] = []

    def of(self, body: Sequence[Command], around: tuple[int, ...] = (), depth: int = 0) -> None:
        for number, written, within in body:
            if len(self.steps) >= STEPS_MAX:
                return
            if SPOKEN.fullmatch(written):
                continue
            if (match := ASSIGNED.fullmatch(written)) and "$(" not in written and "`" not in written:
                self._held.setdefault(match[1], match[2].strip())
                continue
            if DECIDES.fullmatch(written):
                continue
            line = VARIABLE.sub(lambda match: self._held.get(match[1]) or match[1].lower(), written)[:LINE_MAX]
            own = line.split()[0] if line.split()[:1] and line.split()[0] in self._bodies else ""
            kind = self._kind(line, own)
            loops = (*around, *within)
            if own and depth < DEPTH_MAX and kind not in ("load", "warm-up"):
                self.called.add(own)
                self.of(self._bodies[own], loops, depth + 1)
            elif kind:
                tool = TOOL.search(line)
                named = tool[0].strip(" /(=`").partition(" ")[0].lower() if tool else ""
                text = " ".join(line.split())[:TEXT_MAX]
                self.steps.append(Step(self._file.at(number), kind, text, loops, named, READS.search(line) is not None))

    def _kind(self, line: str, own: str) -> StepKind | None:
        command = OUTPUT.sub("", line)
        if INSTALLS.search(command):
            return None
        match = PROGRAM.match(command)
        name = (match[1] if match else "").rpartition("/")[2]
        asks = ASKS.fullmatch(command) is not None
        of_kit = bool(name) and not asks and not ASIDE.search(name)
        if LOAD.search(command) or (of_kit and OWN_LOAD.search(name)):
            return "load"
        if (TOOL.search(command) and not asks) or (of_kit and OWN_RUN.search(name)):
            return "warm-up" if WARM.search(line) else "run"
        if match and WARM.search(command):
            return "warm-up"
        if SETTLES.search(command):
            return "settle"
        return "call" if not own and name.endswith((".sh", ".bash", ".py")) else None


def _read(file: File) -> Sequence[Harness] | None:
    if file.size > BYTES_MAX or b"\0" in file.head:
        return None
    # "run-all-configs.sh" runs, whatever it runs with.
    named = file.base.replace("config", "") if file.base.startswith(("run", "bench")) else file.base
    if ASIDE.search(named) or not (SHELL.fullmatch(file.base) or SHEBANG.match(file.head[:120])):
        return None
    bodies = _bodies([line[:LINE_MAX] for line in file.lines[:LINES_MAX]])
    reader = _Reader(bodies, file)
    reader.of(bodies[""])
    if not reader.steps:  # it is called by others
        for name, body in bodies.items():
            if name not in reader.called:
                reader.of(body)
    return [Harness(file.at(), tuple(reader.steps))] if reader.steps else None


IMPORTER = Importer("", _read, beside=True)
