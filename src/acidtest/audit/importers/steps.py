"""Scripts that measure: what they do, in which order, and within which loops.

Shell and Python are understood as far as their lines say it: loops, functions (which are put where they are called),
variables with a plain value. A command is known by its tool, one of the kit's own by what it is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from acidtest.audit.bench import Harness, Step, StepKind
from acidtest.audit.importers.file import File, Importer
from acidtest.formats import linear

BYTES_MAX = 1 << 19
LINES_MAX = 5_000
LINE_MAX = 1_000
STEPS_MAX = 400
DEPTH_MAX = 5  # of functions that call each other
NESTED_MAX = 40  # blocks within blocks
TEXT_MAX = 160
SHELL = linear.compile(r".*\.(?:sh|bash|zsh|ksh)|(?:run|bench)[\w-]*")
PYTHON = linear.compile(r".*\.py")
SHEBANG = linear.compile(rb"#![^\n]{0,80}\b(?:ba|z|k|da)?sh\b")
FUNCTION = linear.compile(
    r"\s*(?:function\s+([\w-]{1,60})\s*(?:\(\s*\))?|([\w-]{1,60})\s*\(\s*\))\s*(?:\{\s*)?(?:#.*)?"
)
ONE_LINE_LOOP = linear.compile(r"\s*(?:for|while|until)\b.*;\s*do\b.*\bdone\b.*")
LOOP = linear.compile(r"\s*(?:for|while|until|select)\b.*")
DONE = linear.compile(r"\s*done\b.*")
HEREDOC = linear.compile(r"<<-?\s{0,3}[\"']?(\w{1,40})[\"']?")
SPOKEN = linear.compile(
    r"\s*(?:echo|printf|print|log\w{0,12}|info|warn|error|die|usage|banner|logger\.\w+)\b.*", linear.I
)
ASSIGNED = linear.compile(
    r"\s*(?:export\s+|readonly\s+|local\s+|declare\s+(?:-\w+\s+)?)?([A-Za-z_]\w{0,60})\s?=\s?[\"']?([^\"'\n]{0,200})[\"']?\s*;?\s*(?:#.*)?"
)
VARIABLE = linear.compile(r"\$\{?([A-Za-z_]\w{0,60})(?:[:\[][^{}\n]{0,60})?\}?")
DEFINED = linear.compile(r"(?:async\s+)?def\s+(\w{1,60})\s*\(.*")
PY_LOOP = linear.compile(r"(?:async\s+)?(?:for|while)\b.*")
CALLED = linear.compile(r"([A-Za-z_]\w{0,60})\s*\(")
WARM = linear.compile(r"warm(?:ed|ing|s)?[-_ ]?up|\bwarm[-_]|pre-?warm|pre-?heat|ramp[-_ ]?up|rampup", linear.I)

TOOL = linear.compile(
    r"(?:^|[\s/(=`])pgbench(?:\.exe)?\s+-|\bsysbench\b.*\brun\b|\bycsb(?:\.sh|\.bat)?\s+run\b|"
    r"\bgo-ycsb\s+run\b|--execute[= ]true|"
    r"\bk6\s+run\b|\bhammerdbcli\b|\b(?:mysqlslap|mariadb-slap)\b|\bgo-tpc\b.*\brun\b|\btpcc_start\b|"
    r"\brunBenchmark\.sh\b|"
    r"\bjmeter\b.*\s-n\b|\bmemtier_benchmark\b|\bredis-benchmark\b|\bcassandra-stress\s+(?:write|mixed|user|read)\b|"
    r"\bgo\s+test\b.*-bench\b|\bhyperfine\b",
    linear.I,
)
PROGRAM = linear.compile(
    r"\s*(?:time\s+|sudo\s+|nohup\s+|numactl\s+\S+\s+|taskset\s+(?:-c\s+)?\S+\s+|exec\s+|\w{1,30}=\S{0,60}\s+){0,4}"
    r"(?:(?:bash|sh|source|\.|python3?|node|ts-node|npx|bun|ruby|perl|java\s+-jar|go\s+run|npm\s+run|"
    r"make)\s+(?:-\w+\s+)*)?"
    r"([\w./-]{1,120})"
)
OWN_RUN = linear.compile(
    r"bench|stress|tpc-?c|workload|sysbench|pgbench|ycsb|run[-_]?(?:tests?|loads?|quer|all|one|single|case)", linear.I
)
OWN_LOAD = linear.compile(
    r"(?:^|[-_./])(?:load|prepare|init|seed|populate|restore|reset|recreate|re-?create|set-?up|truncate|"
    r"drop|fill|import|"
    r"generate|gen|clean|clear|wipe|create|fresh|snapshot|rollback|revert|refresh|rebuild|teardown|destroy)|"
    r"(?:load|prepare|init|seed|populate|restore|reset|setup|truncate|drop|cleanup|teardown|"
    r"fresh)(?:[-_](?:data\w*|db|tables?|schema|all))?(?:\.\w{1,4})?$",
    linear.I,
)
ASIDE = linear.compile(
    r"report|plot|parse|collect|analy|result|summar|install|build|monitor|stats?\b|graph|chart|format|"
    r"aggregat|compare|"
    r"print|help|usage|check|wait|log|info|verify|validat|average|median|percentile|extract|save|write_|convert|"
    r"version|config|deploy|provision|status|sleep|total",
    linear.I,
)
LOAD = linear.compile(
    r"\bpgbench\b.*\s(?:-\w{0,6}i\w{0,6}|--initialize)(?:\s|$)|\bsysbench\b.*\bprepare\b|\bycsb(?:\.sh|"
    r"\.bat)?\s+load\b|"
    r"--(?:load|create)[= ]true|\bgo-tpc\b.*\bprepare\b|\btpcc_load\b|\brunDatabase(?:Build|Destroy)\.sh\b|"
    r"\b(?:createdb|dropdb|pg_restore|mongorestore|mysqlimport|initdb|mysql_install_db|mariadb-install-db|"
    r"pgloader)\b|"
    r"\b(?:drop|truncate)\s+(?:table|database|schema|collection)\b|\btruncate\s+\w|\bcreate\s+(?:database|table)\b|"
    r"\bdropDatabase\b|\bdrop_all\b|\bcreate_all\b|\bflush(?:all|db)\b|\bdelete_many\(|\bdeleteMany\(|"
    r"\brm\s+-\w*r\w*\s+\S*(?:data|pgdata|mysql|db|sqlite|store)|\brm\s+(?:-f\s+)?\S*\.(?:db|sqlite3?|fdb)\b|"
    r"\b(?:os\.remove|unlink|rmtree)\b|\bdocker(?:-|\s+)compose\b.*\b(?:down|rm)\b|\bdocker\s+(?:rm|"
    r"volume\s+rm|kill)\b|"
    r"\bzfs\s+(?:rollback|destroy|clone)\b|\blvconvert\b|\blvremove\b|\bbtrfs\s+subvolume\b|\bmkfs\b|"
    r"\b(?:rsync|cp\s+-\w*[ar]\w*)\s.*(?:data|db|backup)|\bkubectl\s+delete\b|\bhelm\s+(?:uninstall|delete)\b|"
    r"\bterraform\s+(?:destroy|apply)\b|\bvagrant\s+(?:destroy|up)\b|\bcleanup\b|\bgbak\b.*\s-(?:c|r|rep)\w*\b",
    linear.I,
)
RESTART = linear.compile(
    r"\bpg_ctl\w*\b.*\b(?:re)?start\b|\b(?:systemctl|service|rc-service|/etc/init\.d/\w+)\b.*\b(?:re)?start\b|"
    r"\bdocker(?:-|\s+)(?:compose\s+)?(?:re)?start\b|\bmysqld_safe\b|\bpg_ctlcluster\b.*\b(?:re)?start\b",
    linear.I,
)
CACHES = linear.compile(r"drop_caches|\bsync\s*&&\s*purge\b|\bsudo\s+purge\b", linear.I)
SETTLES = linear.compile(r"\bcheckpoint\b|\bvacuum\b|\bflush\s+logs\b|max_dirty_pages_pct", linear.I)
READS = linear.compile(
    r"pgbench.*\s-\w{0,6}S\w{0,6}(?:\s|$)|select[-_ ]?only|read[-_ ]?only(?:[= ](?:on|true|1|yes)\b|[^=\w]|"
    r"$)|\bro\b|point_select|"
    r"select_random|workload_?c\b|oltp_ro",
)
# What asks a server, or decides: whatever words are in it.
ASKS = linear.compile(
    r"\s*(?:\w{1,30}=\S{0,60}\s+){0,3}(?:sudo\s+(?:-\w+\s+\w+\s+)?)?(?:\S{0,80}/)?"
    r"(?:psql|mysql|mariadb|mongo|mongosh|redis-cli|sqlite3|isql|isql-fb|iostat|vmstat|tail|head|grep|awk|"
    r"sed|tee|cat|scp)\b.*"
)
DECIDES = linear.compile(
    r"\s*(?:if|elif|case|test|trap|exit|return|\[|\[\[|else|fi|shift|assert|raise|import|from|class)\b.*|"
    r"\s*\[.*|\s*-{1,2}[\w|-]{1,40}\).*"
)
PY_LOAD = linear.compile(
    r"(?:re)?(?:load|init|initialize|prepare|seed|populate|restore|reset|create|recreate|truncate|drop|"
    r"setup|set_up|clear|clean|cleanup|fill|insert_initial)"
    r"(?:_?(?:test|bench\w*|initial|sample))?(?:_?(?:data|dataset|db|database|databases|tables?|schema|"
    r"collections?|all|rows|records|up|env\w*))?",
    linear.I,
)
PY_RUN = linear.compile(
    r"(?:run|measure|execute|do|start)_?\w{0,20}(?:bench\w*|test|workload|load|quer\w+|stress)\w{0,20}|"
    r"bench\w{0,30}|stress_?test\w{0,10}",
    linear.I,
)
INSTALLS = linear.compile(
    r"\b(?:apt(?:-get)?|yum|dnf|brew|pip3?|npm|cargo|go)\s+(?:install|get|add|ci)\b|\bchmod\b|\bmkdir\b|"
    r"\bwhich\b|\bcommand\s+-v\b|--version|--help|\bgit\s|\bcurl\b|\bwget\b"
)
OUTPUT = linear.compile(r"(?:^|\s)(?:\d?>{1,2}|\|)\s?.*")


@dataclass
class _Block:
    """A loop, a function or a whole script."""

    line: int
    kind: str  # "loop", "function", "script"
    text: str = ""
    indent: int = -1
    parts: list[_Block | tuple[int, str]] = field(default_factory=list)


def _shell(lines: Sequence[str], functions: dict[str, _Block]) -> _Block:
    root = _Block(1, "script")
    stack = [root]
    ends = ""
    for number, line in _joined(lines):
        if ends:
            ends = "" if line.strip() == ends else ends
            continue
        bare = line.strip()
        if not bare or bare.startswith("#"):
            if WARM.search(bare) and not bare.startswith("#!"):
                stack[-1].parts.append((number, bare))
            continue
        if match := HEREDOC.search(line):
            ends = match[1]
        indent = len(line) - len(line.lstrip())
        if match := FUNCTION.fullmatch(line):
            block = _Block(number, "function", match[1] or match[2], indent)
            functions.setdefault(block.text, block)
            _pushed(stack, block)
        elif LOOP.fullmatch(line) and not ONE_LINE_LOOP.fullmatch(line):
            block = _Block(number, "loop", bare[:TEXT_MAX], indent)
            stack[-1].parts.append(block)
            _pushed(stack, block)
        elif DONE.fullmatch(line):
            if stack[-1].kind == "loop":
                stack.pop()
        elif bare[0] == "}" and stack[-1].kind == "function" and indent <= stack[-1].indent:
            stack.pop()
        else:
            stack[-1].parts.append((number, bare))
    return root


def _pushed(stack: list[_Block], block: _Block) -> None:
    if len(stack) < NESTED_MAX:
        stack.append(block)


def _python(lines: Sequence[str], functions: dict[str, _Block]) -> _Block:
    root = _Block(1, "script")
    stack = [root]
    for number, line in enumerate(lines, start=1):
        bare = line.strip()
        if not bare or (bare[0] == "#" and not WARM.search(bare)):
            continue
        indent = len(line) - len(line.lstrip())
        while len(stack) > 1 and indent <= stack[-1].indent and bare[0] not in ")]}":
            stack.pop()
        if match := DEFINED.fullmatch(bare):
            block = _Block(number, "function", match[1], indent)
            functions.setdefault(block.text, block)
            _pushed(stack, block)
        elif PY_LOOP.fullmatch(bare):
            block = _Block(number, "loop", bare[:TEXT_MAX], indent)
            stack[-1].parts.append(block)
            _pushed(stack, block)
        else:
            stack[-1].parts.append((number, bare))
    return root


def _joined(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Lines with those that they are continued in, and where each begins."""
    begun, held = 0, ""
    for at, line in enumerate(lines, start=1):
        ends = line.rstrip()
        if ends.endswith("\\") and len(held) < LINE_MAX and not line.lstrip().startswith("#"):
            begun = begun or at
            held += ends[:-1] + " "
            continue
        yield begun or at, (held + line)[:LINE_MAX]
        begun, held = 0, ""
    if held:
        yield begun, held[:LINE_MAX]


class _Reader:
    """Puts functions where they are called, and says what each command does."""

    def __init__(self, functions: Mapping[str, _Block], python: bool) -> None:
        self._functions = functions
        self._python = python
        self._held: dict[str, str] = {}
        self._warm = -10  # the line in which a warm-up was last spoken of
        self._supposed = 0  # how many conditions it is within
        self.called: set[str] = set()
        self.steps: list[Step] = []

    def of(self, block: _Block, file: File, loops: tuple[int, ...] = (), depth: int = 0) -> None:
        for part in block.parts:
            if len(self.steps) >= STEPS_MAX:
                return
            if isinstance(part, _Block):
                self.of(part, file, (*loops, part.line), depth)
                continue
            number, line = part
            if line.startswith("#") or (SPOKEN.fullmatch(line) and not CACHES.search(line)):
                self._warm = number if WARM.search(line) else self._warm
                continue
            if not self._python and (match := ASSIGNED.fullmatch(line)):
                if "$(" not in line and "`" not in line:
                    if not self._supposed or match[1] not in self._held:
                        self._held[match[1]] = match[2].strip()
                    continue
                if not TOOL.search(self._resolved(line)):
                    continue
            if not self._python and (match := CONDITION.match(line)):
                self._supposed = max(self._supposed + (1 if match[1] == "if" else -1), 0)
            if (self._python and not ("(" in line or line[0] in "\"'f[")) or DECIDES.fullmatch(line) or '"""' in line:
                continue
            self._command(number, self._resolved(line), file, loops, depth)

    def _resolved(self, line: str) -> str:
        if self._python:
            return " ".join(line.translate(QUOTES).split())
        return VARIABLE.sub(lambda match: self._held.get(match[1]) or match[1].lower(), line)[:LINE_MAX]

    def _command(self, number: int, line: str, file: File, loops: tuple[int, ...], depth: int) -> None:
        names = [match[1] for match in CALLED.finditer(line)] if self._python else line.split()[:1]
        own = [name for name in names if name in self._functions]
        kind = self._kind(line, number, bool(own))
        if own and depth < DEPTH_MAX and kind not in ("load", "warm-up"):
            for name in own:
                self.called.add(name)
                self.of(self._functions[name], file, loops, depth + 1)
            return
        if kind:
            text = " ".join(line.split())[:TEXT_MAX]
            match = TOOL.search(line)
            tool = match[0].strip(" /(=`").partition(" ")[0].lower() if match else ""
            self.steps.append(Step(file.at(number), kind, text, loops, tool, READS.search(line) is not None))

    def _kind(self, line: str, number: int, own: bool) -> StepKind | None:
        command = OUTPUT.sub("", line) if not self._python else line
        if INSTALLS.search(command):
            return None
        if CACHES.search(line):
            return "caches"
        match = PROGRAM.match(command)
        name = (match[1] if match else "").rpartition("/")[2]
        asks = ASKS.fullmatch(command) is not None
        if self._python:
            called = [one[1] for one in CALLED.finditer(command)]
            name = next((one for one in called if PY_RUN.fullmatch(one) or PY_LOAD.fullmatch(one)), "")
            loads, runs = bool(name and PY_LOAD.fullmatch(name)), bool(name and PY_RUN.fullmatch(name))
        else:
            known = bool(name) and not asks and not ASIDE.search(name)
            loads, runs = known and OWN_LOAD.search(name) is not None, known and OWN_RUN.search(name) is not None
        if LOAD.search(command) or loads:
            return "load"
        if (TOOL.search(command) and not asks) or runs:
            warm = WARM.search(line) or 0 <= number - self._warm <= 2
            return "warm-up" if warm else "run"
        if WARM.search(command) and (own or match):
            return "warm-up"
        if RESTART.search(command):
            return "restart"
        if SETTLES.search(command):
            return "settle"
        if not own and not self._python and name.endswith((".sh", ".bash", ".py")):
            return "call"
        return None


CONDITION = linear.compile(r"(if|fi)\b")
QUOTES = str.maketrans("\"'[],", "     ")


def _read(file: File) -> Sequence[Harness] | None:
    if file.size > BYTES_MAX or b"\0" in file.head:
        return None
    # "run-all-configs.sh" runs, whatever it runs with.
    named = file.base.replace("config", "") if file.base.startswith(("run", "bench")) else file.base
    if ASIDE.search(named):
        return None
    python = PYTHON.fullmatch(file.base) is not None
    if not python and not (SHELL.fullmatch(file.base) or SHEBANG.match(file.head[:120])):
        return None
    functions: dict[str, _Block] = {}
    lines = [line[:LINE_MAX] for line in file.lines[:LINES_MAX]]
    root = _python(lines, functions) if python else _shell(lines, functions)
    reader = _Reader(functions, python)
    reader.of(root, file)
    if not reader.steps:  # it is called by others
        for name, block in functions.items():
            if name not in reader.called:
                reader.of(block, file)
    return [Harness(file.at(), tuple(reader.steps))] if reader.steps else None


IMPORTER = Importer("", _read, beside=True)
