"""OLTP-EMUL by the rig and by the kit's own sessions, in turn: isql running the script that the kit's shell function
generates, on copies of one database, for as long, with as many sessions. What counts is what the kit's own report says
of each: operations that succeeded, and how long they took.

The kit's shell script is not run whole, for it starts services and looks for programs of its own: its function
``gen_working_sql`` is taken from the user's checkout as it stands. A ratio is of two runs one after the other, shown as
median and range of all such pairs.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from acidtest.conductor.rig import converse
from acidtest.engine import Instance, catalogue, debian
from acidtest.engine.firebird.server import FirebirdServer, ServerInstance
from acidtest.engine.firebird.target import FirebirdTarget
from acidtest.errors import BadInput, CellFailed
from acidtest.journal.models import Scalar
from acidtest.journal.protocol import Answered, AskPhase, Checked, CheckPhase, Job, LoadPhase, Phase
from acidtest.place import Ledger
from acidtest.workload.oltp_emul import OltpEmul

ENGINES = ("firebird-4.0-server", "firebird-3.0-server")
# The kit's reports ask for such transactions of the session that they are asked in.
SETTINGS: Mapping[str, Scalar] = {"isolation": "snapshot", "lock_resolution": "no_wait"}
WARMUP_S = 10
ACTIONS = 300  # the kit's actions_todo_before_reconnect
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
            pairs = []
            for turn in range(rounds):
                ours, theirs = None, None
                for rig in (True, False) if turn % 2 else (False, True):
                    with _adopted(found, template, Path(work), ledger) as instance:
                        if rig:
                            ours = _by_rig(spec, instance, ledger)
                        else:
                            theirs = _by_kit(checkout.resolve(), spec, found, instance, Path(work), ledger)
                assert ours and theirs
                pairs.append((ours, theirs))
                print(f"  round {turn + 1}: {ours.done:,} by the rig, {theirs.done:,} by the kit", flush=True)
        _show(name, pairs, seconds, terminals)


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


def _perform(spec: OltpEmul, instance: Instance, phases: list[Phase], ledger: Ledger) -> list[Answered]:
    job = Job(seed=time.time_ns() % 2**31, target=instance.target(), workload=spec.message(), inspect=[], phases=phases)
    events = list(converse(job, ledger, instance.environment()))
    for checked in (event for event in events if isinstance(event, Checked)):
        if broken := [condition for condition in checked.conditions if not condition.holds]:
            raise CellFailed(f"a condition does not hold: {broken[0].name}: {broken[0].detail}")
    return [event for event in events if isinstance(event, Answered)]


def _by_rig(spec: OltpEmul, instance: Instance, ledger: Ledger) -> Told:
    phases: list[Phase] = [spec.run_phase(), AskPhase(questions=[TOTAL, FAILED]), CheckPhase()]
    return _told(_perform(spec, instance, phases, ledger))


def _by_kit(
    checkout: Path, spec: OltpEmul, engine: FirebirdServer, instance: Instance, work: Path, ledger: Ledger
) -> Told:
    """The database is prepared by a run of one operation, then the kit's sessions work until it is told to stop."""
    one = spec.model_copy(update={"duration_s": None, "count": 1, "warmup_s": 0.0}).run_phase()
    isql = _isql(engine)
    seconds = WARMUP_S + int(spec.duration_s or 0)
    with tempfile.TemporaryDirectory(dir=work) as name, ExitStack() as stack:
        assert isinstance(instance, ServerInstance)
        target = instance.target()
        environment = {**os.environ, "FIREBIRD": str(instance.directory / "server")}
        watch = WATCH.format(warmup=WARMUP_S)
        _perform(spec, instance, [one.model_copy(update={"terminals": 1})], ledger)
        script = _generated(checkout, isql, target, Path(name), environment)
        _perform(spec, instance, [AskPhase(questions=[watch])], ledger)
        ends = time.monotonic() + seconds
        running: dict[int, subprocess.Popen[bytes]] = {}
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
            time.sleep(0.1)
        _perform(spec, instance, [AskPhase(questions=[STOP])], ledger)
        for session in running.values():
            try:
                session.wait(60)
            except subprocess.TimeoutExpired:
                session.kill()
                session.wait()
                raise CellFailed("a session of the kit did not end when it was told to stop") from None
        _refuse_errors(Path(name))
        aggregate = "select msg from srv_aggregate_perf_data(1)"
        asked: list[Phase] = [AskPhase(questions=[CLOSE, aggregate]), AskPhase(questions=[TOTAL, FAILED]), CheckPhase()]
        answers = _perform(spec, instance, asked, ledger)
        return _told(answers)


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


def _generated(
    checkout: Path, isql: list[str], target: FirebirdTarget, directory: Path, environment: Mapping[str, str]
) -> Path:
    """The kit's own script for a session, by its own function, as its default configuration has it."""
    kit = (checkout / "src" / "1run_oltp_emul.sh").read_text(encoding="utf-8", errors="replace").replace("\r", "")
    function = re.search(r"^gen_working_sql\(\) \{$.*?^\} # end of gen_working_sql\(\)$", kit, re.MULTILINE | re.DOTALL)
    if function is None:
        raise BadInput(f"{checkout}: 1run_oltp_emul.sh has no function gen_working_sql", "name another checkout")
    assert target.remote
    script = directory / "tmp_random_run.sql"
    release = str(_release(target))
    values = {
        "tmpdir": directory, "log4all": "/dev/null", "shname": "acidtest", "cfg": "the kit's own", "fb": release,
        "isql_name": " ".join(isql), "dbconn": _at(target), "usr": target.user, "pwd": "none",
        "dbauth": f"-user {target.user} -pas {target.remote.password}",
        "separate_workers": 1, "update_conflict_percent": 0, "mon_unit_perf": 0, "warm_time": 0, "test_time": 1,
        "expected_workers": 100, "mon_query_interval": 60,
    }  # fmt: skip
    told = "\n".join(f"export {name}={shlex.quote(str(value))}" for name, value in values.items())
    stubs = "sho() { :; }\ncatch_err() { :; }\n"
    shell = (
        f'{told}\n{stubs}{function[0]}\ngen_working_sql run_test {shlex.quote(str(script))} {ACTIONS} 1 0 0 0 "" ""\n'
    )
    ended = subprocess.run(["bash"], input=shell.encode(), env=environment, capture_output=True, check=False)
    if ended.returncode or not script.exists():
        raise CellFailed(f"the kit's gen_working_sql: {ended.stderr.decode(errors='replace').strip()[-300:]}")
    return script


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


def _told(answers: list[Answered]) -> Told:
    rows = next(answer.rows for answer in answers if answer.question == TOTAL)
    failed = next(answer.rows for answer in answers if answer.question == FAILED)
    each = {str(row[0]): row for row in rows[1:] if row[2]}
    return Told(
        done=sum(int(row[2] or 0) for row in each.values()),
        each_ms={name: float(row[1] or 0) for name, row in each.items()},
        each_done={name: int(row[2] or 0) for name, row in each.items()},
        failed=int(failed[0][0] or 0),
    )


def _show(engine: str, pairs: list[tuple[Told, Told]], seconds: int, terminals: int) -> None:
    def spread(values: list[float], form: str) -> str:
        return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"

    print(f"{engine}, {terminals} sessions, {len(pairs)} rounds of {seconds} s: what the kit's own report says")
    per_minute = [[told.done * 60 / seconds for told in side] for side in zip(*pairs, strict=True)]
    print(f"  operations a minute, rig: {spread(per_minute[0], ',.0f')}; kit: {spread(per_minute[1], ',.0f')}")
    print(f"  rig / kit: {spread([ours.done / theirs.done for ours, theirs in pairs], '.2f')}")
    print(f"  failed operations in the kit's log, rig: {[ours.failed for ours, _ in pairs]}; "
          f"kit: {[theirs.failed for _, theirs in pairs]}")  # fmt: skip
    print(f"  {'operation':<40}{'ms, rig':>10}{'ms, kit':>10}{'share %, rig':>14}{'share %, kit':>14}")
    for name in pairs[0][0].each_ms:
        if all(name in told.each_ms for pair in pairs for told in pair):
            figures = [
                *(statistics.median(told.each_ms[name] for told in side) for side in zip(*pairs, strict=True)),
                *(statistics.median(100 * told.each_done[name] / told.done for told in side)
                  for side in zip(*pairs, strict=True)),
            ]  # fmt: skip
            print(f"  {name:<40}{figures[0]:>10.0f}{figures[1]:>10.0f}{figures[2]:>14.1f}{figures[3]:>14.1f}")
