"""OLTP-EMUL by the rig and by the kit's own sessions, in turn: isql running the script that the kit's shell function
generates, on copies of one database, for as long, with as many sessions. The rig drives it twice: with sessions as the
kit's own are, and with prepared ones. What counts is what the kit's own report says of each: operations that succeeded,
and how long they took. Beside it stand the processor time of the server and of the clients, and which operations were
begun: that the kit's choice is the same for all is tested (chi-squared).

The kit's shell script is not run whole, for it starts services and looks for programs of its own: its function
``gen_working_sql`` is taken from the user's checkout as it stands. A ratio is of two runs of one round, shown as
median and range of all rounds.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from scipy import stats

from acidtest.conductor.rig import converse
from acidtest.engine import Instance, catalogue, debian
from acidtest.engine.firebird.engine import FirebirdTarget
from acidtest.engine.firebird.server import FirebirdServer, ServerInstance
from acidtest.errors import BadInput, CellFailed
from acidtest.journal.models import Scalar
from acidtest.journal.protocol import (
    Answered,
    AskPhase,
    Checked,
    CheckPhase,
    Event,
    Hello,
    Job,
    LoadPhase,
    Phase,
    Progress,
    Result,
)  # fmt: skip
from acidtest.place import Ledger
from acidtest.workload import checkout as kits
from acidtest.workload.oltp_emul import OltpEmul

ENGINES = ("firebird-4.0-server", "firebird-3.0-server")
# The kit's reports ask for such transactions of the session that they are asked in.
SETTINGS: Mapping[str, Scalar] = {"isolation": "snapshot", "lock_resolution": "no_wait"}
WARMUP_S = 10
AS_KIT, PREPARED, KIT = "rig as the kit", "rig prepared", "kit"
SIDES = (AS_KIT, PREPARED, KIT)
# "2026-11-24 06:20:01.1230 tra_663  att_61  sp_supplier_order  30 start  TEST_TIME, minute N 1", as isql prints it.
BEGUN = re.compile(rb"^\S+ \S+ +tra_\d+ +att_\d+ +(\S+) +\d+ +start +TEST_TIME", re.MULTILINE)
TOTAL = "select business_action, avg_elapsed_ms, successful_times_done from report_perf_total"
FAILED = "select count(*) from perf_log where exc_unit = '#' and unit is not null"
WATCH = """\
execute block as
  declare was bigint;
begin
  was = gen_id(g_stop_test, -gen_id(g_stop_test, 0));
  delete from v_perf_agg;
  delete from perf_log where unit in ('perf_watch_interval', 'sp_halt_on_error');
  insert into perf_log (unit, info, exc_info, dts_beg, dts_end, elapsed_ms) values
    ('perf_watch_interval', 'active', 'bench',
    dateadd({warmup} second to cast('now' as timestamp)), dateadd(1 day to cast('now' as timestamp)), -1);
end"""
# As the kit's own script that stops a test early: of one shorter than two minutes it would log nothing at all.
STOP = "select gen_id(g_stop_test, -abs(gen_id(g_stop_test, 0)) - 1) from rdb$database"
CLOSE = "update perf_log set dts_end = cast('now' as timestamp) where unit = 'perf_watch_interval'"


@dataclass(frozen=True)
class Told:
    """What the kit's own report says of one run."""

    done: int
    each_ms: Mapping[str, float]  # by operation, of those that were done
    each_done: Mapping[str, int]
    failed: int  # operations that its log has as failed, whenever
    begun: Mapping[str, int]  # by operation, of those that sessions asked for
    server_ms: float  # processor time for each operation done
    client_ms: float


def main(engine: str | None, checkout: Path | None, rounds: int, seconds: int, terminals: int) -> None:
    """Print what the kit's report says of each side, and the ratios."""
    if checkout is None:
        raise BadInput("oltp-emul: no checkout is named", "add --checkout DIR, a clone of FirebirdSQL/oltp-emul")
    given = OltpEmul.completed({"path": str(checkout.resolve()), "init_docs": 300}, Path())
    spec = OltpEmul.model_validate({**given, "terminals": terminals, "warmup_s": WARMUP_S, "duration_s": seconds})
    for name in (engine,) if engine else ENGINES:
        found = catalogue.find(name)
        if not isinstance(found, FirebirdServer):
            raise BadInput(
                f"{name}: the kit's sessions need a server of acidtest's", f"choose one of {', '.join(ENGINES)}"
            )
        with closing(Ledger()) as ledger, tempfile.TemporaryDirectory(prefix="acidtest-bench-") as work:
            template = _loaded(found, spec, Path(work), ledger)
            all_rounds: list[dict[str, Told]] = []
            for turn in range(rounds):
                told: dict[str, Told] = {}
                for side in (*SIDES[turn % len(SIDES) :], *SIDES[: turn % len(SIDES)]):
                    with _adopted(found, template, Path(work), ledger) as instance:
                        if side == KIT:
                            told[side] = _by_kit(spec, found, instance, Path(work), ledger)
                        else:
                            sessions = "as_kit" if side == AS_KIT else "prepared"
                            told[side] = _by_rig(spec.varied({"sessions": sessions}), instance, ledger)
                all_rounds.append(told)
                print(f"  round {turn + 1}: " + ", ".join(f"{told[s].done:,} {s}" for s in SIDES), flush=True)
        _show(name, all_rounds, seconds, terminals)


def _loaded(engine: FirebirdServer, spec: OltpEmul, work: Path, ledger: Ledger) -> list[Path]:
    directory = work / "template"
    directory.mkdir()
    instance = engine.create(directory, SETTINGS)
    try:
        instance.start(ledger)
        _perform(spec, instance, [LoadPhase(sessions=1)], ledger)
        instance.seal()
        return list(instance.database_files())
    finally:
        instance.release()


@contextmanager
def _adopted(engine: FirebirdServer, template: list[Path], work: Path, ledger: Ledger) -> Iterator[Instance]:
    """A server over a copy, which is gone afterwards."""
    with tempfile.TemporaryDirectory(dir=work) as name:
        for file in template:
            shutil.copy(file, Path(name) / file.name)
        os.sync()
        instance = engine.adopt(Path(name), SETTINGS, "os")
        try:
            instance.start(ledger)
            yield instance
        finally:
            instance.release()


def _of_process(pid: int) -> float:
    """Seconds of processor time that it has had."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0  # it has ended
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Moment:
    """Seconds of processor time up to now."""

    server: float
    clients: float
    at: float

    @classmethod
    def now(cls, server: int, clients: list[int]) -> Moment:
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        of_clients = ended.ru_utime + ended.ru_stime + sum(_of_process(pid) for pid in clients)
        return cls(_of_process(server), of_clients, time.monotonic())


def _perform(
    spec: OltpEmul,
    instance: Instance,
    phases: list[Phase],
    ledger: Ledger,
    hear: Callable[[Event], None] = lambda _: None,
) -> list[Answered]:
    job = Job(seed=time.time_ns() % 2**31, target=instance.target(), workload=spec.message(), inspect=[], phases=phases)
    events = []
    for event in converse(job, ledger, instance.environment()):
        hear(event)
        events.append(event)
    for checked in (event for event in events if isinstance(event, Checked)):
        if broken := [condition for condition in checked.conditions if not condition.holds]:
            raise CellFailed(f"a condition does not hold: {broken[0].name}: {broken[0].detail}")
    return [event for event in events if isinstance(event, Answered)]


def _server(spec: OltpEmul, instance: Instance, ledger: Ledger) -> int:
    """The process that serves all sessions."""
    question = "select mon$server_pid from mon$attachments where mon$attachment_id = current_connection"
    (answer,) = _perform(spec, instance, [AskPhase(questions=[question])], ledger)
    return int(answer.rows[0][0] or 0)


def _by_rig(spec: OltpEmul, instance: Instance, ledger: Ledger) -> Told:
    server, rig = _server(spec, instance, ledger), [0]
    moments: list[Moment] = []
    begun: dict[str, int] = {}

    def hear(event: Event) -> None:
        nonlocal begun
        if isinstance(event, Hello):
            rig[0] = event.pid
        elif isinstance(event, Progress) and event.phase == "run":
            moments.append(Moment.now(server, rig))
        elif isinstance(event, Result):
            begun = {
                kind.name: kind.committed + kind.rolled_back + kind.conflicts + kind.errors for kind in event.kinds
            }

    phases: list[Phase] = [spec.run_phase(), AskPhase(questions=[TOTAL, FAILED]), CheckPhase()]
    answers = _perform(spec, instance, phases, ledger, hear)
    return _told(answers, begun, (moments[0], moments[-1]), spec.duration_s or 0)


def _by_kit(spec: OltpEmul, engine: FirebirdServer, instance: Instance, work: Path, ledger: Ledger) -> Told:
    """The database is prepared by a run of one operation, then the kit's sessions work until it is told to stop."""
    assert isinstance(instance, ServerInstance)
    server = _server(spec, instance, ledger)
    alone = spec.varied({"sessions": "prepared"}).model_copy(update={"duration_s": None, "count": 1, "warmup_s": 0.0})
    one = alone.run_phase().model_copy(update={"terminals": 1})
    isql = _isql(engine)
    seconds = WARMUP_S + int(spec.duration_s or 0)
    with tempfile.TemporaryDirectory(dir=work) as name, ExitStack() as stack:
        target = instance.target()
        environment = {**os.environ, "FIREBIRD": str(instance.directory / "server")}
        watch = WATCH.format(warmup=WARMUP_S)
        _perform(alone, instance, [one], ledger)
        script = Path(name) / "session.sql"
        script.write_text(_generated(spec, isql, target, environment), encoding="utf-8")
        _perform(spec, instance, [AskPhase(questions=[watch])], ledger)
        ends = time.monotonic() + seconds
        first: Moment | None = None
        running: dict[int, subprocess.Popen[bytes]] = {}

        def now() -> Moment:
            at_work = [session.pid for session in running.values() if session.poll() is None]
            return Moment.now(server, at_work)

        while time.monotonic() < ends:
            for sid in range(1, spec.terminals + 1):
                if sid in running and running[sid].poll() is None:
                    continue
                # One that has done its so many operations is started again.
                starter = Path(name) / f"starter-{sid}.sql"
                starter.write_text(_starter(target, sid, script), encoding="utf-8")
                running[sid] = subprocess.Popen(
                    [*isql, "-now", "-q", "-n", "-pag", "9999", "-i", str(starter)],
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=stack.enter_context(starter.with_suffix(".log").open("ab")),
                    stderr=subprocess.STDOUT,
                )
            if first is None and time.monotonic() > ends - seconds + WARMUP_S:
                first = now()
            time.sleep(0.1)
        assert first is not None
        moments = (first, now())
        _perform(spec, instance, [AskPhase(questions=[STOP])], ledger)
        for session in running.values():
            try:
                session.wait(60)
            except subprocess.TimeoutExpired:
                session.kill()
                session.wait()
                raise CellFailed("a session of the kit did not end when it was told to stop") from None
        _refuse_errors(Path(name))
        logs = [log.read_bytes() for log in Path(name).glob("starter-*.log")]
        begun = Counter(unit.decode() for log in logs for unit in BEGUN.findall(log))
        aggregate = "select msg from srv_aggregate_perf_data(1)"
        asked: list[Phase] = [AskPhase(questions=[CLOSE, aggregate]), AskPhase(questions=[TOTAL, FAILED]), CheckPhase()]
        answers = _perform(spec, instance, asked, ledger)
        return _told(answers, begun, moments, spec.duration_s or 0)


def _refuse_errors(directory: Path) -> None:
    """Whether an isql could not do its work: what the kit itself watches for in its sessions' errors."""
    wrong = re.compile(rb"Dynamic SQL Error|SQLSTATE = (42S02|42S22|28000|08\d{3}|39000)|Unable to open")
    for log in directory.glob("starter-*.log"):
        if found := wrong.search(text := log.read_bytes()):
            raise CellFailed(
                f"isql: {text[max(0, found.start() - 200) : found.start() + 300].decode(errors='replace')}"
            )


def _isql(engine: FirebirdServer) -> list[str]:
    program = engine.folder / "usr" / "lib" / "firebird" / engine.version.release / "bin" / "isql-fb"
    return debian.command(engine.folder, program)


def _at(target: FirebirdTarget) -> str:
    assert target.remote
    return f"{target.remote.host}/{target.remote.port}:{target.database}"


def _generated(spec: OltpEmul, isql: list[str], target: FirebirdTarget, environment: Mapping[str, str]) -> str:
    """The kit's own script for a session, by its own function, which asks the database by isql."""
    assert target.remote and spec.kit
    shell = Path(spec.kit.session.path)
    variables = {
        "fb": str(_release(target)), "isql_name": " ".join(isql), "dbconn": _at(target), "usr": target.user,
        "dbauth": f"-user {target.user} -pas {target.remote.password}",
    }  # fmt: skip
    text = shell.read_text(encoding="utf-8", errors="replace")
    actions = int(spec.kit.config[kits.ACTIONS])
    return kits.working_script(
        shell, text, spec.kit.config, actions=actions, variables=variables, environment=environment
    )


def _release(target: FirebirdTarget) -> int:
    """As the kit writes it: 40."""
    found = re.search(r"firebird-(\d)\.(\d)", target.library)
    return int(found[1] + found[2]) if found else 40


def _starter(target: FirebirdTarget, sid: int, script: Path) -> str:
    """What the kit's worker does before its script."""
    assert target.remote
    return (
        f"set bail on;\nconnect '{_at(target)}' user '{target.user}' password '{target.remote.password}';\n"
        "set term ^;\nexecute block as begin\n"
        f"  rdb$set_context('USER_SESSION', 'WORKER_SEQUENTIAL_NUMBER', '{sid}');\n"
        f"  rdb$set_context('USER_SESSION', 'WORKER_SEQ_NUMB_4RESTORE', '{sid}');\nend^\n"
        f"set term ;^\nset bail off;\nin {script};\n"
    )


def _told(answers: list[Answered], begun: Mapping[str, int], moments: tuple[Moment, Moment], seconds: float) -> Told:
    rows = next(answer.rows for answer in answers if answer.question == TOTAL)
    failed = next(answer.rows for answer in answers if answer.question == FAILED)
    each = {str(row[0]): row for row in rows[1:] if row[2]}
    done = sum(int(row[2] or 0) for row in each.values())
    first, last = moments
    each_ms = 1000 / (done * (last.at - first.at) / seconds)
    return Told(
        done=done,
        each_ms={name: float(row[1] or 0) for name, row in each.items()},
        each_done={name: int(row[2] or 0) for name, row in each.items()},
        failed=int(failed[0][0] or 0),
        begun=begun,
        server_ms=(last.server - first.server) * each_ms,
        client_ms=(last.clients - first.clients) * each_ms,
    )


def _show(engine: str, rounds: list[dict[str, Told]], seconds: int, terminals: int) -> None:
    def spread(values: list[float], form: str) -> str:
        return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"

    print(f"{engine}, {terminals} sessions, {len(rounds)} rounds of {seconds} s: what the kit's own report says")
    for side in SIDES:
        of = [told[side] for told in rounds]
        rate = spread([told.done * 60 / seconds for told in of], ",.0f")
        server, clients = (spread([getattr(told, ms) for told in of], ".2f") for ms in ("server_ms", "client_ms"))
        print(f"  {side}: {rate} operations a minute; failed, of all that its log has: {[told.failed for told in of]}")
        print(f"    processor time of one in ms: server {server}, clients {clients}")
    for side in (AS_KIT, PREPARED):
        rates = [told[side].done / told[KIT].done for told in rounds]
        costs = [_cost(told[KIT]) / _cost(told[side]) for told in rounds]
        print(f"  {side} / kit: {spread(rates, '.2f')}; by processor time alone {spread(costs, '.2f')}")
    _show_choice(rounds)
    print("  " + "ms and share of all in %".ljust(40) + "".join(f"{side:>24}" for side in SIDES))
    for name in rounds[0][KIT].each_ms:
        if all(name in told[side].each_ms for told in rounds for side in SIDES):
            cells = []
            for side in SIDES:
                ms = statistics.median(told[side].each_ms[name] for told in rounds)
                share = statistics.median(100 * told[side].each_done[name] / told[side].done for told in rounds)
                cells.append(f"{ms:.0f} ms {share:.1f} %".rjust(24))
            print(f"  {name:<40}{''.join(cells)}")


def _cost(told: Told) -> float:
    return told.server_ms + told.client_ms


def _show_choice(rounds: list[dict[str, Told]]) -> None:
    """Which operations sessions asked for, of all rounds, and whether all sides have the same choice."""
    begun = {side: sum((Counter(told[side].begun) for told in rounds), Counter[str]()) for side in SIDES}
    units = [unit for unit in begun[KIT] if all(begun[side][unit] for side in SIDES)]
    for side in (AS_KIT, PREPARED):
        table = [[begun[of][unit] for unit in units] for of in (side, KIT)]
        p = stats.chi2_contingency(table).pvalue
        print(f"  the same choice of operations, {side} and kit: p = {p:.2f} ({sum(table[0]):,} and {sum(table[1]):,})")
