"""A trace session of a Firebird instance of ours, read by a process of its own: see library_client.py."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping
from datetime import datetime, timedelta

from acidtest.engine.firebird import services
from acidtest.engine.firebird.engine import FirebirdTarget
from acidtest.engine.instruments import StatementTrace
from acidtest.formats.firebird_trace import COMMIT, Figures, Reader
from acidtest.journal.models import TracedStatement, TracedStatements
from acidtest.journal.protocol import Begins

SOURCE = "Firebird's trace API"
ANSWER_S = 60
SQL_BYTES_MAX = 1000
RECORDS = ("seq_reads", "idx_reads", "updates", "inserts", "deletes", "backouts", "purges", "expunges")
# Parameters are not wanted, and no number of them means all: one stands for the rest, cut short.
CONFIGURATION = """database = %[\\\\/]{file}
{{
enabled = true
log_statement_finish = true
log_transactions = true
log_initfini = false
print_perf = true
time_threshold = 0
max_sql_length = {sql}
max_arg_count = 1
max_arg_length = 8
}}"""
# The engine's clock and ours are the machine's; it tells tenths of milliseconds, rounded down.
ROUNDED = timedelta(milliseconds=1)


class FirebirdTrace(StatementTrace):
    def __init__(self, target: FirebirdTarget, file: str, environment: Mapping[str, str]) -> None:
        """Of the database in ``file``, a name without its path. ``target`` is where sessions are opened."""
        self._target, self._file, self._environment = target, file, environment
        self._process: subprocess.Popen[bytes] | None = None
        self._why = ""  # it does not trace
        self._reader: Reader | None = None
        self._reading: threading.Thread | None = None

    def begin(self) -> None:
        remote = self._target.remote
        service = f"{remote.host}/{remote.port}:service_mgr" if remote else "service_mgr"
        configuration = CONFIGURATION.format(file=self._file, sql=SQL_BYTES_MAX)
        password = remote.password if remote else ""
        command = [*services.LIBRARY_CLIENT, "trace", self._target.library, service, self._target.user]
        self._process = subprocess.Popen(
            command,
            env={**os.environ, **self._environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._tell(f"{password}\n{configuration.replace(chr(10), chr(31))}\n")
        if (said := self._answer()) != "started":
            self._why = said

    def terminals_begin(self, event: Begins) -> None:
        if self._why or self._reader is not None:
            return
        # Local time, as the engine's own; a day of two hours alike is not worth more.
        since = datetime.fromtimestamp(event.began_us / 1e6) - ROUNDED
        self._reader = Reader(frozenset(event.numbers) or None, since)
        # What was traced until now waits in the engine's log and in the pipe.
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        assert self._reader is not None
        while data := os.read(self._process.stdout.fileno(), 1 << 16):
            self._reader.feed(data)

    def finish(self, committed: int) -> TracedStatements:
        if not self._why and self._reading is None:
            self._why = "the terminals did not begin"
        if not self._why:
            assert self._reading is not None
            self._tell("stop\n")
            if (said := self._answer()) != "stopped":
                self._why = said
            else:
                self._reading.join(ANSWER_S)
        reader = self._reader
        if self._why or reader is None:
            return TracedStatements(
                source=SOURCE, not_traced=self._why, records=0, not_understood=0, left_out=0, suspended=0, commits=0,
                committed=committed, statements=[],
            )  # fmt: skip
        reader.close()
        found = [_statement(kind, text, figures) for (kind, text), figures in reader.statements.items()]
        return TracedStatements(
            source=SOURCE,
            not_traced=None,
            records=reader.records,
            not_understood=reader.not_understood,
            left_out=reader.left_out,
            suspended=reader.suspended,
            commits=sum(one.count - one.failed for one in found if one.kind == COMMIT),
            committed=committed,
            statements=sorted(found, key=lambda one: (one.ms, one.fetches), reverse=True),
        )

    def end(self) -> None:
        if (process := self._process) is not None:
            process.kill()
            process.wait()
            if self._reading is not None:
                self._reading.join(ANSWER_S)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        self._process = None

    def _tell(self, words: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(words.encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            return  # its last words say why

    def _answer(self) -> str:
        """Its next line, or why there is none."""
        assert self._process is not None
        assert self._process.stderr is not None
        try:
            line = services.read_line(self._process.stderr, ANSWER_S)
        except TimeoutError:
            return f"the engine's services did not answer in {ANSWER_S} s"
        return services.last_line(line) or "the process that reads the trace ended"


def _statement(kind: str, text: str, figures: Figures) -> TracedStatement:
    records = {f"record_{name}": count for name, count in zip(RECORDS, figures.records, strict=True)}
    counts = {name: value for name, value in vars(figures).items() if name != "records"}
    return TracedStatement(kind=kind, text=text, **counts, **records)
