"""What a PostgreSQL server's log says beyond routine; pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from acidtest.words import counted

LINE_PREFIX = "%m [%p] %e "  # time, process, SQLSTATE
# What may coincide with a second without commits is logged with its time: checkpoints, as by default from 15 on, and
# each run of the autovacuum.
LOGGED = {"log_timezone": "UTC", "log_checkpoints": "on", "log_autovacuum_min_duration": "0"}
LINE = re.compile(r"\S+ \S+ \S+ \[\d+\] (?P<state>[0-9A-Z]{5} )?(?P<severity>[A-Z]+):  (?P<message>.*)")
ROUTINE = re.compile(
    "starting PostgreSQL|listening on|database system (was shut down|is ready|is shut down)|"
    "received (fast|immediate) shutdown request|aborting any active transactions|shutting down|"
    "(checkpoint|restartpoint) (starting|complete)|automatic (aggressive )?(vacuum|analyze) |"
    "background worker .* exited with exit code [01]$"
)
CONFLICTS = ("40001 ", "40P01 ")  # serialization failures and deadlocks: the rig counts each as a conflict


def worth_reading(lines: Iterable[str]) -> list[str]:
    """What a server's log says beyond routine and the conflicts of transactions: each message once, with its count."""
    counts: Counter[str] = Counter()
    for line in lines:
        match = LINE.match(line)
        if match is None:
            if line.strip() and not line.startswith("\t"):  # a message goes on after a tab
                counts[line.strip()] += 1
        elif match["state"] not in CONFLICTS and not (match["severity"] == "LOG" and ROUTINE.match(match["message"])):
            counts[f"{match['severity']}: {match['message'].strip()}"] += 1
    return [f"{line} ({counted(count, 'time')})" if count > 1 else line for line, count in counts.items()]
