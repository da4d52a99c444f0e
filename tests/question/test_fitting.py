"""Whatever is answered becomes an experiment that is accepted and fits into the time, or is refused with the remedy."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import factory
from acidtest import conductor, experiment
from acidtest.analysis.compare import comparisons
from acidtest.analysis.samples import rows
from acidtest.cli.spans import seconds_of
from acidtest.engine import catalogue
from acidtest.errors import BadInput
from acidtest.plan import Plan
from acidtest.plan.verdicts import repetitions_for_verdicts, shown_nothing
from acidtest.question import ENOUGH, QUESTIONS, Answers, Fitted, Question, fit, parts
from acidtest.question.rates import LIMIT
from questions import FILESYSTEMS, ONE_OF_FAMILY, SERVER, SHOP, STORAGES, answers, assess
from support import times

# Where each can be answered, and with which engines beside the family's.
FITTING = {
    "engine": ("directory", "a path", "loop", "disk", "device"),
    "file-system": ("two paths", "loop", "loop at a path", "disk", "device"),
    "durability": ("directory", "a path", "loop", "disk", "device"),
    "page-and-cache": ("directory", "loop", "disk", "device"),
    "build": ("directory", "a path", "loop", "disk", "device"),
    "growth": ("directory", "loop", "disk", "device"),
    "highest-rate": ("directory", "a path", "loop", "disk", "device"),
    "own-sql": ("directory", "a path", "loop", "disk", "device"),
    "power-cut": ("disk",),
}
SQL = {name: {"sql": SHOP} if question.of_sql else {} for name, question in QUESTIONS.items()}
OTHER = {"sqlite": "firebird-5.0", "firebird": "firebird-4.0", "postgresql": "postgresql-16", "mysql": "mysql-5.5"}
RUN = factory.result(rate=50.0)


def fitted(question: str, answered: Answers) -> Fitted:
    return fit(QUESTIONS[question], answered, assess)


def check(question: Question, answered: Answers, found: Fitted) -> None:
    """What holds of every experiment that is written."""
    conductor.verify(found.plan, Path("my.toml"))
    assert found.seconds <= answered.seconds
    assert found.plan.experiment == experiment.parse(found.text, "my.toml")
    assert {cell.engine for cell in found.plan.cells} == {engine.id for engine in answered.engines}
    assert all(f"#   {command}\n" in found.text for command in question.commands(answered))
    uncommented = [line for line in found.text.splitlines() if not line.startswith("#")]
    assert max(map(len, uncommented)) <= 160
    few = found.plan.experiment.repetitions < ENOUGH
    said = "The time that was asked for allows no more" in found.text.replace("\n# ", " ")
    assert said <= bool(question.shortcomings(found.plan))
    assert said >= (few and question.command == "run")
    if question.command == "run" and shown_nothing(found.plan):
        assert question.shortcomings(found.plan)


@pytest.mark.slow
@pytest.mark.parametrize("family", ONE_OF_FAMILY)
@pytest.mark.parametrize(("question", "storage"), [(name, at) for name, fits in FITTING.items() for at in fits])
def test_every_question_is_answered_for_every_family_on_every_storage(question: str, storage: str, family: str) -> None:
    words = (family, OTHER[family]) if QUESTIONS[question].compares_engines else (family,)
    answered = answers(*words, storage=storage, **SQL[question])
    found = fitted(question, answered)
    check(QUESTIONS[question], answered, found)
    assert found.plan.experiment.repetitions >= ENOUGH
    # Power cuts are made no more often than tells anything; all else takes the time that it is given.
    assert found.seconds > 0.8 * answered.seconds or found.plan.experiment.repetitions >= 30
    kinds = {cell.place.kind for cell in found.plan.cells}
    assert STORAGES[storage].kind in kinds
    assert kinds <= {STORAGES[storage].kind, "raw"}


@pytest.mark.slow
@settings(max_examples=times(10, 25))
@given(st.data())
def test_whatever_the_time_it_is_kept_or_the_least_is_named(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(FITTING)))
    families = (
        sorted(ONE_OF_FAMILY) if name != "page-and-cache" else [data.draw(st.sampled_from(sorted(ONE_OF_FAMILY)))]
    )
    words = data.draw(st.lists(st.sampled_from(families), unique=True, min_size=1, max_size=3))
    words += [OTHER[words[0]]] if QUESTIONS[name].compares_engines else []
    answered = answers(
        *dict.fromkeys(ONE_OF_FAMILY.get(word, word) for word in words),
        storage=data.draw(st.sampled_from(FITTING[name])),
        **SQL[name],
        seconds=data.draw(st.sampled_from([1, 5, 20, 45, 60, 90, 240, 900, 3600, 36_000])),
        filesystems=tuple(data.draw(st.lists(st.sampled_from(FILESYSTEMS), unique=True, min_size=2))),
        memory_bytes=data.draw(st.sampled_from([1 << 30, 8 << 30, 1 << 38])),
        free_bytes=data.draw(st.sampled_from([1 << 30, 1 << 36, 1 << 42])),
    )
    try:
        found = fitted(name, answered)
    except BadInput as short:
        event("too short")
        least = re.fullmatch(r"--time (\w+), or fewer engines", short.remedy)
        assert least
        assert "takes at least" in short.message
        longer = Answers(**{**vars(answered), "seconds": seconds_of(least[1]), "time": least[1]})
        check(QUESTIONS[name], longer, fitted(name, longer))
        return
    event("few repetitions" if found.plan.experiment.repetitions < ENOUGH else "enough repetitions")
    check(QUESTIONS[name], answered, found)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [600, 3600])
@pytest.mark.parametrize(
    ("question", "words", "storage"),
    [
        ("engine", ("sqlite", "firebird", "postgresql", "mysql"), "directory"),
        ("durability", ("sqlite", "firebird", "postgresql", "mysql"), "directory"),
        ("file-system", ("firebird", "postgresql"), "loop"),
        ("page-and-cache", ("sqlite",), "directory"),
        ("page-and-cache", ("firebird",), "directory"),
        ("build", ("postgresql-15", "postgresql-16", "postgresql-17"), "directory"),
    ],
)
def test_every_comparison_can_come_to_a_verdict(
    question: str, words: tuple[str, ...], storage: str, seconds: float
) -> None:
    """Rates that differ clearly are distinguished by as many repetitions as were planned, and were needed."""
    plan = fitted(question, answers(*words, storage=storage, seconds=seconds)).plan
    assert "cannot tell" not in verdicts(plan, plan.experiment.repetitions)
    needed = repetitions_for_verdicts(plan)
    assert "cannot tell" not in verdicts(plan, needed)
    assert needed == ENOUGH or "cannot tell" in verdicts(plan, needed - 1)


def verdicts(plan: Plan, repetitions: int) -> set[str]:
    found = [
        factory.recording(dict(cell.levels), n, found=RUN.model_copy(update={"goodput_per_s": 100.0 * position + n}))
        for position, cell in enumerate(plan.combinations(), start=1)
        for n in range(1, repetitions + 1)
    ]
    return {
        comparison.verdict
        for comparison in comparisons(rows(factory.journal(found).header, found), plan.experiment.base)
    }


def test_more_time_is_spent_on_levels_first_then_on_repetitions_that_a_verdict_needs() -> None:
    plans = [fitted("file-system", answers("firebird", storage="loop", seconds=s)).plan for s in (60, 240, 900, 7200)]
    levels = [len(plan.combinations()) for plan in plans]
    assert (levels, [plan.experiment.repetitions for plan in plans]) == ([2, 3, 6, 6], [5, 5, 5, 10])
    lengths = [plan.cells[0].workload.duration_s or 0 for plan in plans]
    assert lengths[-1] == 60
    assert all(length >= 8 for length in lengths[1:])


def test_engines_are_read_against_the_first_one_at_each_level_that_two_of_them_have() -> None:
    plan = fitted("engine", answers("firebird", "sqlite", "postgresql", seconds=3600)).plan
    assert dict(plan.experiment.base) == {"engine": "firebird-5.0"}
    engines = {level: {c.engine for c in plan.cells if c.durability == level} for level in ("none", "os", "drive")}
    assert engines["drive"] == engines["os"] == {"firebird-5.0", "sqlite", "postgresql-17"}
    assert engines["none"] == {"sqlite", "postgresql-17"}


def test_too_little_time_for_so_many_comparisons_is_said_and_never_planned_in_silence() -> None:
    """Repetitions that have an interval, and can show nothing among so many rows."""
    words = ("sqlite", "firebird-4.0", "firebird-5.0", "postgresql-16", "postgresql-17", "mariadb-10.11", "mysql-5.5")
    found = [fitted("durability", answers(*words, seconds=seconds)) for seconds in (100, 180, 2400)]
    told = [QUESTIONS["durability"].shortcomings(one.plan) for one in found]
    assert [bool(one) for one in told] == [shown_nothing(one.plan) is not None for one in found]
    assert any("can show no difference of any size among" in " ".join(one) for one in told)
    assert told[-1] == []


@pytest.mark.parametrize("question", [name for name, question in QUESTIONS.items() if question.takes_sql])
def test_sql_of_the_users_own_takes_the_place_of_our_workload(question: str) -> None:
    words = ("sqlite", "firebird") if QUESTIONS[question].compares_engines else ("sqlite",)
    storage = "two paths" if question == "file-system" else "directory"
    found = fitted(question, answers(*words, storage=storage, sql=SHOP, seconds=1800))
    assert {cell.workload.kind for cell in found.plan.cells} == {"sql"}


@pytest.mark.parametrize("seconds", [30, 180, 3600])
def test_builds_are_compared_where_their_own_work_shows_too_however_short_the_time(seconds: float) -> None:
    found = fitted("build", answers("sqlite", "firebird", seconds=seconds))
    assert {cell.durability for cell in found.plan.cells} == {"os", "drive"}
    assert found.plan.experiment.repetitions >= ENOUGH or seconds < 60
    assert "a slower build hardly shows" in " ".join(found.text.replace("#", " ").split())


def test_servers_are_compared_at_the_one_level_that_they_have() -> None:
    answered = answers(SERVER, "mysql://me@other.example/test", seconds=300)
    found = fitted("build", answered)
    check(QUESTIONS["build"], answered, found)
    assert {cell.durability for cell in found.plan.cells} == {"drive"}
    assert list(found.plan.experiment.servers) == ["mine", "mine_2"]
    assert "[place]" not in found.text
    beside = answers("postgresql", SERVER)
    assert {cell.engine for cell in fitted("build", beside).plan.cells} == {"postgresql-17", "mine"}


def test_on_a_simulated_disk_the_same_file_tells_what_a_level_loses() -> None:
    answered = answers("postgresql", storage="disk")
    plan = fitted("durability", answered).plan
    assert [command.split()[1] for command in QUESTIONS["durability"].commands(answered)] == ["run", "powercut"]
    assert {cell.workload.kind for cell in plan.cells} == {"commits", "numbered"}
    assert {cell.workload.kind for cell in conductor.plan_of(plan.experiment.to_cut(), cuts=True).cells} == {"numbered"}


@pytest.mark.parametrize("seconds", [90, 3600])
def test_drives_for_which_there_was_no_time_can_be_taken_from_a_comment(seconds: float) -> None:
    text = fitted("power-cut", answers("sqlite", storage="disk", seconds=seconds)).text
    written, comment, offered = re.split(r"(# More drives.*?\n)(?=# drive)", text, flags=re.DOTALL)
    written, rest = written.rpartition("drive = ")[0], offered.partition("# ]\n")
    whole = re.sub("^# ", "", f"{rest[0]}{rest[1]}", flags=re.MULTILINE)
    # The comment over what was written tells of nothing else.
    assert ("lying:" in written) == ("lying:" not in comment) == (seconds == 3600)
    drives = experiment.parse(f"{written}{whole}{rest[2]}", "my.toml").factors["drive"]
    assert [level.name for level in drives] == ["honest", "lying", "tearing", "reordering"]


@pytest.mark.parametrize("question", ["durability", "power-cut"])
def test_postgresql_does_not_wait_as_it_does_in_production(question: str) -> None:
    plan = fitted(question, answers("postgresql", "sqlite", storage="disk", seconds=1200)).plan
    meant = {
        cell.engine: catalogue.describe(cell.engine).durability("none", cell.settings).means
        for cell in plan.cells
        if cell.durability == "none"
    }
    assert "fsync=on" in meant["postgresql-17"] and "stays whole" in meant["postgresql-17"]
    text = fitted(question, answers("postgresql", "sqlite", storage="disk", seconds=1200)).text
    text = " ".join(text.replace("#", " ").split())
    assert "At none the database of sqlite may break" in text and "At os the database of postgresql-17 may" in text


def test_levels_at_which_the_database_may_break_can_be_left_out() -> None:
    asked = answers("postgresql", "sqlite", storage="disk", seconds=1200)
    assert parts.breaking(asked.engines) == {"none": ["sqlite"], "os": ["postgresql-17"]}
    plan = fitted("durability", replace(asked, engines=tuple(map(parts.whole, asked.engines)))).plan
    assert {(cell.engine, cell.durability) for cell in plan.cells} == {
        ("postgresql-17", "none"), ("postgresql-17", "drive"), ("sqlite", "os"), ("sqlite", "drive"),
    }  # fmt: skip


def test_a_cache_is_as_large_on_every_page_size() -> None:
    for family, page_key, cache in (("firebird", "page_size", "page_buffers"), ("mysql", "innodb_page_size", "")):
        cells = fitted("page-and-cache", answers(family, seconds=1200)).plan.combinations()
        pages = {int(str(cell.settings[page_key])) for cell in cells}
        assert pages == {4096, 8192, 16384}
        if cache:
            sizes = {int(str(cell.settings[cache])) * int(str(cell.settings[page_key])) >> 20 for cell in cells}
            assert sizes == {8, 64, 256}
        assert len(cells) == 9


def test_the_smallest_database_that_grows_fits_into_memory_and_the_largest_onto_the_drive() -> None:
    roomy = fitted("growth", answers("sqlite", seconds=36_000)).plan.cells
    cramped = fitted("growth", answers("sqlite", seconds=36_000, free_bytes=4 << 30)).plan.cells
    small = fitted("growth", answers("sqlite", seconds=36_000, memory_bytes=1 << 30)).plan.cells
    limits = [cells[0].place.memory_mb or 0 for cells in (roomy, cramped, small)]
    assert limits[0] > limits[1] >= 48
    assert limits[0] > limits[2] >= 48
    assert max(cell.size.bytes or 0 for cell in cramped if cell.size) < 4 << 30


@pytest.mark.parametrize(
    ("question", "words", "storage", "said"),
    [
        ("durability", (SERVER,), "directory", "changes nothing on a server"),
        ("power-cut", (SERVER,), "disk", "not acidtest's to cut"),
        ("growth", (SERVER,), "directory", "in files that acidtest makes"),
        ("file-system", (SERVER,), "loop", "where it has them"),
        ("page-and-cache", (SERVER,), "directory", "settings of it"),
        ("page-and-cache", ("sqlite", "firebird"), "directory", "sqlite and firebird have settings of their own"),
        ("build", ("sqlite",), "directory", "sqlite alone compares nothing"),
        ("engine", ("sqlite",), "directory", "sqlite alone compares nothing"),
        ("build", (SERVER,), "directory", "mine alone compares nothing"),
        ("build", (SERVER, "mysql://me@h/t"), "loop", "where it has them"),
        ("file-system", ("sqlite",), "a path", "/mnt/data alone compares nothing"),
        ("power-cut", ("sqlite",), "device", "a device cannot answer it"),
        ("power-cut", ("sqlite",), "directory", "directory cannot answer it"),
        ("durability", ("sqlite",), "two paths", "databases lie in one directory"),
    ],
)
def test_answers_that_make_no_experiment_are_refused_with_a_remedy(
    question: str, words: tuple[str, ...], storage: str, said: str
) -> None:
    with pytest.raises(BadInput) as refused:
        fitted(question, answers(*words, storage=storage))
    assert refused.value.message.startswith(f"{question}: ")
    assert said in refused.value.message
    assert refused.value.remedy


def test_a_machine_that_can_make_no_file_system_is_told_so() -> None:
    with pytest.raises(BadInput, match="no file system can be made"):
        fitted("file-system", answers("sqlite", storage="loop", filesystems=()))
    with pytest.raises(BadInput, match="alone compares nothing"):
        fitted("file-system", answers("sqlite", storage="loop", filesystems=("ext4",)))


def test_the_limit_that_is_written_is_that_of_the_documentation() -> None:
    root = Path(__file__).parents[2]
    for page in ("docs/COMMANDS.md", "docs/SEARCH.md"):
        commands = re.findall(r'acidtest search \S+ --limit "([^"]+)"', (root / page).read_text(encoding="utf-8"))
        assert set(commands) == {LIMIT}
