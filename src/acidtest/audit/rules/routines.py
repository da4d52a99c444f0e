"""Stored procedures: whether they can be repeated, which rows they meet on, how much they do in one call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from acidtest.audit.bench import Bench, Draw, LogEntry, Routine, Write
from acidtest.audit.rules.builds import INVESTIGATION
from acidtest.finding import Evidence, Found, rule
from acidtest.words import counted

TRIGGERS_MAX = 20  # of one table
LOOP_MAX = 20  # repetitions of work in one call; TPC-C's largest transactions have fifteen lines and ten districts


@dataclass(frozen=True)
class Moved:
    """Rows that a routine changes, and that are others when it is called again in the same way."""

    routine: Routine
    table: str
    draws: tuple[Draw, ...]
    steps: tuple[Evidence, ...]  # from the draw to the rows
    trigger: str = ""  # that changes them


Actions = Mapping[str, Sequence[tuple[Routine, Write]]]


def _actions(bench: Bench) -> Actions:
    """By the table that they are for: what triggers do to rows that are there already, in them or in the functions
    that they call."""
    functions: dict[str, list[Routine]] = defaultdict(list)
    for routine in bench.routines:
        if routine.kind == "function":
            functions[routine.name].append(routine)
    actions: dict[str, list[tuple[Routine, Write]]] = defaultdict(list)
    for trigger in bench.routines:
        if trigger.kind == "trigger":
            done = [trigger, *functions.get(trigger.calls, ())]
            actions[trigger.table] += [
                (trigger, write) for one in done for write in one.writes if write.verb != "insert"
            ]
    return actions


def moved(bench: Bench) -> Iterator[Moved]:
    """Every table of whose rows a routine chooses some by what it draws, itself or through a trigger.

    Of many triggers on one table, which no benchmark has, the first ones are followed.
    """
    actions = {table: of[:TRIGGERS_MAX] for table, of in _actions(bench).items()}
    for routine in bench.routines:
        if routine.kind == "trigger":
            continue
        tables = set()
        for write in routine.writes:
            for choice in (*_directly(routine, write), *_by_triggers(actions, routine, write)):
                if choice.table not in tables:
                    tables.add(choice.table)
                    yield choice


def _directly(routine: Routine, write: Write) -> Iterator[Moved]:
    draws = tuple(key for key in write.keys if key.sort != "column")
    if draws:
        yield Moved(routine, write.table, draws, (*map(_drawn, draws), _written(write)))


def _by_triggers(actions: Actions, routine: Routine, write: Write) -> Iterator[Moved]:
    # What is inserted under a number that nobody else gets meets no other row: only what is chosen at random counts.
    drawn = {name: [draw for draw in draws if draw.sort == "random"] for name, draws in write.columns}
    if write.verb != "insert" or not any(drawn.values()):
        return
    for trigger, action in actions.get(write.table, ()):
        if action.of_row and action.table == write.table:
            continue  # the row that was inserted
        columns = [key.what for key in action.keys if key.sort == "column"]
        draws = tuple(one for name in columns for one in drawn.get(name, []) + drawn.get("*", []))
        if draws:
            steps = (*map(_drawn, draws), _written(write), _written(action, f"the trigger {trigger.name} "))
            yield Moved(routine, action.table, draws, steps, trigger.name)


def _drawn(draw: Draw) -> Evidence:
    return draw.where.says(f"{draw.what} answers differently each time")


def _written(write: Write, who: str = "") -> Evidence:
    verbs = {"insert": "inserts into", "update": "updates", "delete": "deletes from", "lock": "locks rows of"}
    return write.where.says(f"{who}{verbs[write.verb]} {write.table}")


def _says(choice: Moved) -> str:
    through = f", through the trigger {choice.trigger}" if choice.trigger else ""
    draws = " and ".join(sorted({draw.what for draw in choice.draws}))
    return f"{choice.routine.name} chooses rows of {choice.table} by {draws}{through}"


@rule(
    "routine-not-repeatable",
    severity="doubtful",
    says="A procedure draws the keys of the rows that it changes itself: called again, or restarted by the engine "
    "after an update conflict, it changes other rows and locks more of them each time.",
    remedy="Draw the keys in the driver and pass them in, so that a repetition does the same work.",
    disproved_by="a caller that gives the keys, or a source of the procedure that is not this one",
    source=INVESTIGATION,
)
def routine_not_repeatable(bench: Bench) -> Iterator[Found]:
    for choice in moved(bench):
        definition = choice.routine.where.says(f"{choice.routine.kind} {choice.routine.name}")
        yield Found(f"{_says(choice)}.", (definition, *choice.steps))


@rule(
    "restarts-not-repeatable",
    severity="invalid",
    says="The log shows that a procedure was restarted after update conflicts, and it does other work each time: what "
    "is measured is locks that pile up, not the engine.",
    remedy="Draw the keys in the driver, create fewer rows in one call, or compare with ReadConsistency as a factor.",
    disproved_by="a log of the measured time without restarts of this procedure",
    source=INVESTIGATION,
)
def restarts_not_repeatable(bench: Bench) -> Iterator[Found]:
    entries = [entry for side in bench.sides for entry in side.log if entry.kind == "update-conflict"]
    for choice in moved(bench):
        named = next((entry for entry in entries if _names_it(entry, choice.routine)), None)
        if named:
            entries_of_it = counted(named.count, "such entry", "such entries")
            text = f"{_says(choice)}, and the log shows it restarted in vain ({entries_of_it})."
            yield Found(text, (named.where.says(named.text), *choice.steps))


def _names_it(entry: LogEntry, routine: Routine) -> bool:
    words = entry.text.upper().replace('"', " ").replace("(", " ").replace(".", " ").split()
    return routine.name in words


@rule(
    "work-in-one-call",
    severity="doubtful",
    says="One call repeats its work many times in one transaction: locks are kept for all of it, and a conflict at its "
    "end undoes everything.",
    remedy="One business operation a transaction.",
    disproved_by="a commit within the call",
    source=INVESTIGATION,
)
def work_in_one_call(bench: Bench) -> Iterator[Found]:
    actions = _actions(bench)
    for routine in bench.routines:
        if routine.kind == "trigger" or (routine.loop or 0) < LOOP_MAX:
            continue
        changed = _changed(actions, routine)
        if changed:
            where, times = routine.loop_where or routine.where, counted(routine.loop or 0, "time")
            evidence = (where.says(times), changed)
            yield Found(f"{routine.name} repeats its work {times} in one call.", evidence)


def _changed(actions: Actions, routine: Routine) -> Evidence | None:
    """The first change of rows that others may want; a procedure that only inserts is a load."""
    for write in routine.writes:
        if write.verb in ("update", "delete"):
            return _written(write)
        for trigger, action in actions.get(write.table, ()):
            if action.of_row and action.table == write.table:
                continue
            return action.where.says(f"the trigger {trigger.name} changes {action.table}")
    return None
