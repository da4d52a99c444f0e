"""acidtest init: by options, in a dialogue, and the experiment that it writes, run."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from acidtest import conductor, experiment
from acidtest.cli import app
from acidtest.cli.dialogue import Asker
from acidtest.cli.init_answers import Given, answers, without_password
from acidtest.cli.spans import seconds_of
from acidtest.errors import BadInput
from acidtest.place.making import check_machine
from acidtest.plan.search import typical_seconds
from acidtest.question import QUESTIONS
from support import ACIDTEST, Run, journal_lines


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty directory to work in."""
    monkeypatch.chdir(tmp_path)


def init(*arguments: str) -> Result:
    """In this process, where nobody can be asked."""
    return CliRunner().invoke(app, ["init", *arguments])


def refusal(*arguments: str) -> BadInput:
    error = init(*arguments).exception
    assert isinstance(error, BadInput)
    return error


# ------------------------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_and_defaults_are_enough(question: str) -> None:
    engines = ["--engine", "firebird-4.0,firebird-5.0"] if QUESTIONS[question].compares_engines else []
    done = init("--question", question, *engines, "--yes", "--json")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    planned = conductor.described(conductor.plan_of(experiment.read(Path(answer["file"]))))
    conductor.verify(planned, Path(answer["file"]))
    assert answer["file"] == f"{question}.toml"
    assert (answer["cells"], answer["seconds_asked"]) == (len(planned.cells), 600)
    assumed = typical_seconds(planned) if planned.experiment.search else conductor.assumed_seconds(planned)
    assert answer["seconds_assumed"] == round(assumed, 1) <= 600
    assert answer["next"][0] == f"acidtest plan {question}.toml"
    if "sudo" not in answer["next"][1]:
        assert f" {question}.toml --out results/{question}" in answer["next"][1]


def test_what_nobody_can_be_asked_for_is_named() -> None:
    error = refusal()
    assert all(option in error.message for option in ("--question", "--engine or --server", "--storage", "--time"))
    assert "--yes" in error.remedy
    assert "--question" not in refusal("--question", "build", "--time", "1m").message
    assert refusal("--yes").message.endswith("does not say --question")
    assert refusal("--yes", "--question", "build").message.endswith("does not say --engine or --server")
    assert refusal("--question", "build", "--server", "mysql://me@h/t").message.endswith("does not say --time")
    assert list(Path().iterdir()) == []


def test_a_file_that_is_there_is_kept_unless_it_is_forced() -> None:
    file = Path("durability.toml")
    file.write_text("mine")
    assert "--force" in refusal("--question", "durability", "--yes").remedy
    assert "--force" in refusal("durability.toml", "--question", "power-cut", "--yes").remedy
    assert file.read_text() == "mine"
    assert init("--question", "durability", "--yes", "--force").exit_code == 0
    assert experiment.read(file).name == "durability"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--question", "buid"], 'did you mean "build"'),
        (["--question", "durability", "--engine", "sqlit"], 'did you mean "sqlite"'),
        (["--question", "durability", "--storage", "nowhere"], "is no directory"),
        (["--question", "durability", "--storage", "/dev/null"], "is not a block device"),
        (["--question", "durability", "--storage", "loop,disk"], "only one can be the answer"),
        (["--question", "durability", "--time", "soon"], "is not a time"),
        (["--question", "durability", "--time", "1s"], "takes at least"),
        (["--question", "build", "--engine", "sqlite", "--server", "http://x"], "scheme"),
        (["nowhere/my.toml", "--question", "durability"], "is no directory"),
        ([".", "--question", "durability"], "is a directory"),
        (["_.toml", "--question", "durability"], "no name"),
        (["--question", "durability", "--sql", "shop"], "has a workload of its own"),
        (["--sql", "missing.sql"], "there is no such file"),
        (["--sql", "a/b"], "a is no directory"),
        (["--sql", "a", "--sql", "b"], "name one folder"),
        (["--sql", "my-sql", "--time", "1s"], "takes at least"),
        (["--sql", "my-sql", "--engine", "sqlit"], 'did you mean "sqlite"'),
    ],
)
def test_a_wrong_answer_is_refused_before_anything_is_written(arguments: list[str], said: str) -> None:
    error = refusal(*arguments, "--yes")
    assert said in error.message + error.remedy
    assert list(Path().iterdir()) == []


def test_a_password_stands_nowhere() -> None:
    url = "postgresql://me:s3cr3t@db.example:5433/test"
    done = init("--question", "build", "--server", url, "--server", "mysql://you@other/t", "--time", "5m")
    assert done.exit_code == 0, done.output
    written = Path("build.toml").read_text()
    assert "s3cr3t" not in done.output + written
    assert 'url = "postgresql://me@db.example:5433/test"' in written
    assert "ACIDTEST_PASSWORD_MINE_2" in written
    assert without_password("mysql://a:b@c@h:1/d?host=/x@y") == "mysql://a@h:1/d?host=/x@y"
    assert without_password("mysql://h/d@e") == "mysql://h/d@e"


def test_what_the_machine_lacks_is_told_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path / "empty"))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    done = init("--question", "power-cut", "--engine", "firebird-5.0", "--yes", "--json")
    answer = json.loads(done.stdout)
    lacks = {lack["what"]: lack["remedy"] for lack in answer["lacks"]}
    assert lacks["firebird-5.0"] == "acidtest engines install firebird-5.0"
    assert "simulated disk" in lacks
    assert answer["next"][1].startswith(f"sudo ACIDTEST_HOME={tmp_path / 'empty'} ")
    assert " powercut power-cut.toml --out results/power-cut" in answer["next"][1]
    shown = init("--question", "power-cut", "--engine", "firebird-5.0", "--yes", "--force").stdout
    assert "Not yet here: firebird-5.0: is not installed\n  → acidtest engines install firebird-5.0" in shown


def test_directories_are_compared_without_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    Path("a").mkdir()
    Path("b").mkdir()
    done = init("--question", "file-system", "--engine", "sqlite", "--storage", "a,b", "--time", "3m", "--json")
    assert json.loads(done.stdout)["lacks"] == []
    cells = conductor.plan_of(experiment.read(Path("file-system.toml"))).cells
    assert {cell.place.path for cell in cells} == {str(Path("a").resolve()), str(Path("b").resolve())}
    for cell in cells:
        check_machine(cell.place)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("10 min", 600), ("1h30m", 5400), ("2H", 7200)]
)
def test_a_time_is_read_as_people_write_it(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "m", "-5m", "1.5h", "10m5", "0s", "200h", "9999h"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        seconds_of(text)


# ------------------------------------------------------------------------------------------------------------ dialogue


def test_what_is_wrong_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = iter([
        "", "99", "wat", "1, 2", "page-and-cache",  # the question
        "sqlite, firebird-5.0", "firebird-5.0",  # engines of two families have settings of their own
        "/nowhere", "a, b", "disk",
        "soon", "2s", "2m",
        "there.toml", "new.toml",
    ])  # fmt: skip
    monkeypatch.setattr("builtins.input", lambda *prompt: next(typed))
    Path("there.toml").touch()
    Path("a").mkdir()
    Path("b").mkdir()

    def fits(question: Any, answered: Any, found: Any) -> None:
        if answered.seconds < 60:
            raise BadInput("too short", "--time 1m")

    console = Console(record=True, width=100, file=io.StringIO())
    question, answered, _ = answers(Given(None, None, (), (), (), None, False), Asker(console), fits)
    assert next(typed, None) is None
    assert (question.name, answered.storage.kind, answered.time, answered.file) == (
        "page-and-cache",
        "disk",
        "2m",
        "new.toml",
    )
    assert [engine.id for engine in answered.engines] == ["firebird-5.0"]
    shown = console.export_text()
    for said in ("no answer yet", f"from 1 to {len(QUESTIONS)}", '"wat" is not known', "only one can be the answer", "settings of their own",
                 "is no directory", "lie in one directory", "is not a time", "too short", "is there already"):  # fmt: skip
        assert said in shown, said


class Terminal:
    """The command in a terminal of its own."""

    def __init__(self, *arguments: str) -> None:
        self.master, slave = pty.openpty()
        # With a terminal that is its own, so that Ctrl-C is a signal.
        command = ["setsid", "--ctty", ACIDTEST, "init", *arguments]
        environment = {**os.environ, "COLUMNS": "100", "TERM": "dumb"}
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment)
        os.close(slave)
        self.shown = ""

    def answer(self, prompt: str, typed: bytes) -> None:
        """Type as soon as the prompt is shown and read for: Python overlooks a signal on the way from one to the other."""
        while not re.search(prompt + r"[^\n]*\n(?:.*\n)*> (?:\(.*\) )?$", self.shown.replace("\r", "")):
            self._read()
        while not self._reads():
            time.sleep(0.01)
        self.shown = ""
        os.write(self.master, typed)

    def _reads(self) -> bool:
        """Whether it waits in a system call for standard input: in read(0, …), or in select(1, …)."""
        call = Path(f"/proc/{self.process.pid}/syscall").read_text().split()
        return call[0] != "running" and call[1] in ("0x0", "0x1")

    def _read(self) -> None:
        self.shown += os.read(self.master, 65_536).decode()

    def end(self) -> int:
        """Its exit code."""
        try:
            while True:
                self._read()
        except OSError:  # EIO: the other side is closed
            pass
        os.close(self.master)
        return self.process.wait(60)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(*arguments: str) -> Terminal:
        opened.append(Terminal(*arguments))
        return opened[-1]

    yield start
    for one in opened:
        one.process.kill()
        one.process.wait()


def test_a_dialogue_in_a_terminal_ends_with_a_file(terminal: Callable[..., Terminal]) -> None:
    asked = terminal("--engine", "sqlite")
    asked.answer("What is to be found out", b"durability\n")
    asked.answer("Also levels at which a power cut may break the database", b"no\n")
    asked.answer("On which storage", b"\n")
    asked.answer("How long may it take", b"1m\n")
    asked.answer("Into which file", b"mine.toml\n")
    assert asked.end() == 0, asked.shown
    assert "acidtest run mine.toml --out results/mine" in asked.shown
    read = experiment.read(Path("mine.toml"))
    assert (read.name, read.title) == ("mine", "What a durability level costs on sqlite")
    assert {cell.durability for cell in conductor.plan_of(read).cells} == {"os", "drive"}


@pytest.mark.parametrize("key", [b"\x03", b"\x04"], ids=["Ctrl-C", "Ctrl-D"])
def test_who_leaves_the_dialogue_finds_nothing_written(terminal: Callable[..., Terminal], key: bytes) -> None:
    asked = terminal("--question", "growth", "--engine", "sqlite")
    asked.answer("On which storage", key)
    assert asked.end() == 130, asked.shown
    name = {b"\x03": "Ctrl-C", b"\x04": "Ctrl-D"}[key]
    text = f"acidtest: stopped by {name}; nothing was written, and the same command begins anew: acidtest init --question growth"
    assert text in asked.shown
    assert "Traceback" not in asked.shown
    assert list(Path().iterdir()) == []


# ------------------------------------------------------------------------------------------------------------ own SQL


def told_of(*arguments: str) -> dict[str, Any]:
    done = init(*arguments, "--yes", "--json")
    assert done.exit_code == 0, (done.output, done.exception)
    return dict(json.loads(done.stdout))


def test_a_folder_that_is_not_there_is_written_and_one_that_is_stays_as_it_is() -> None:
    told = told_of("first.toml", "--sql", "app", "--engine", "sqlite", "--time", "1m")
    written = {Path(file): Path(file).read_text() for file in told["files"]}
    assert {file.name for file in written} == {
        "conditions.sql", "indexes.sql", "look.sql", "pay.sql", "schema.sql", "workload.toml",
    }  # fmt: skip
    assert {file.parent for file in written} == {Path("app")}
    Path("app/pay.sql").write_text("select 7;\n")
    again = told_of("second.toml", "--sql", "app/", "--engine", "sqlite", "--time", "1m")
    forced = told_of("second.toml", "--sql", "app", "--engine", "sqlite", "--time", "1m", "--force")
    assert again["files"] == forced["files"] == []
    assert Path("app/pay.sql").read_text() == "select 7;\n"
    assert Path("app/schema.sql").read_text() == written[Path("app/schema.sql")]
    assert [experiment.read(Path(file)).name for file in ("first.toml", "second.toml")] == ["first", "second"]


def test_scripts_run_over_the_tables_of_a_folder_or_over_pgbenchs() -> None:
    for name in ("one", "two"):
        Path(f"{name}.sql").write_text(
            f"\\set id random(1, {len(name)} * :scale)\nselect * from pgbench_accounts where aid = :id;\n"
        )
    told = told_of("own.toml", "--sql", "one.sql", "--sql", "two.sql", "--engine", "postgresql-17", "--time", "3m")
    assert {Path(file).parent.name for file in told["files"]} == {"pgbench-tables"}
    planned = conductor.plan_of(experiment.read(Path("own.toml")))
    assert {cell.workload_name for cell in planned.cells} == {"one", "two"}
    assert told_of("more.toml", "--sql", "one.sql", "--engine", "postgresql-17", "--time", "1m")["files"] == []
    told_of("app.toml", "--sql", "app", "--engine", "sqlite", "--time", "1m")
    Path("look.sql").write_text("select name from account where id = 1;\n")
    told_of("over.toml", "--sql", "look.sql", "--sql", "app", "--engine", "sqlite", "--time", "1m")
    assert 'database = "app"' in Path("over.toml").read_text()


def test_what_is_wrong_in_sql_that_is_there_is_told_and_nothing_is_written() -> None:
    Path("app").mkdir()
    Path("app/schema.sql").write_text("create table t (id integer);\n")
    assert "has no transaction" in refusal("--sql", "app", "--yes").message
    Path("app/pay.sql").write_text("\\set x randm(1, 2)\nselect :x;\n")
    assert "app/pay.sql:1" in refusal("--sql", "app", "--yes").message
    Path("app/notes.doc").touch()
    assert "has no meaning" in refusal("--sql", "app", "--yes").message
    assert sorted(path.name for path in Path().rglob("*")) == ["app", "notes.doc", "pay.sql", "schema.sql"]


def test_an_experiment_elsewhere_names_the_folder_from_there() -> None:
    Path("experiments").mkdir()
    told_of("experiments/mine.toml", "--sql", "app", "--engine", "sqlite", "--time", "1m")
    assert 'path = "../app"' in Path("experiments/mine.toml").read_text()
    assert experiment.read(Path("experiments/mine.toml")).name == "mine"


def test_the_dialogue_asks_which_sql(terminal: Callable[..., Terminal]) -> None:
    asked = terminal("--question", "own-sql", "--engine", "sqlite", "--time", "1m")
    asked.answer("Which SQL", b"\n")
    asked.answer("On which storage", b"\n")
    asked.answer("Into which file", b"\n")
    assert asked.end() == 0, asked.shown
    assert "They run as they are" in asked.shown
    assert Path("my-sql/pay.sql").exists()


# ------------------------------------------------------------------------------------------------------- and it is run


@pytest.mark.parametrize(("whole", "levels"), [((), {"none", "os", "drive"}), (("--whole",), {"os", "drive"})])
def test_levels_at_which_the_database_may_break_are_left_out_if_asked(whole: tuple[str, ...], levels: set[str]) -> None:
    assert init("--question", "durability", "--engine", "sqlite", "--yes", "--force", *whole).exit_code == 0
    assert {cell.durability for cell in conductor.plan_of(experiment.read(Path("durability.toml"))).cells} == levels


def test_what_was_written_runs_as_planned(acidtest: Run) -> None:
    done = init("--question", "durability", "--engine", "sqlite", "--storage", ".", "--time", "12s", "--json")
    answer = json.loads(done.stdout)
    assert answer["doubts"]
    assert answer["next"][1] == "acidtest run durability.toml --out results/durability"
    ran = acidtest(*answer["next"][1].split()[1:], code=0)
    recordings = journal_lines(Path("results/durability"))
    assert len(recordings) == answer["cells"]
    assert {recording["status"] for recording in recordings} == {"done"}
    assert "What a durability level costs on sqlite" in ran.stdout


def runs_once(acidtest: Run, told: dict[str, Any]) -> list[dict[str, Any]]:
    """The recordings of what was written, with one short repetition in place of as many as there is time for."""
    file = Path(told["file"])
    short, lengths = re.subn(r"(?m)^(warmup_s|duration_s) = .*", r"\1 = 0.3", file.read_text())
    once, repetitions = re.subn(r"(?m)^repetitions = .*", "repetitions = 1", short)
    assert (lengths, repetitions) == (2, 1)
    file.write_text(once)
    acidtest(*told["next"][1].split()[1:], code=0)
    recordings = journal_lines(Path("results/own-sql"))
    assert {recording["status"] for recording in recordings} == {"done"}
    return recordings


@pytest.mark.parametrize("engine", ["sqlite", "firebird-5.0", "postgresql-17", "mariadb-11.8"])
def test_sql_that_was_written_runs_on_every_family_and_its_conditions_hold(acidtest: Run, engine: str) -> None:
    (recording,) = runs_once(acidtest, told_of("--sql", "app", "--engine", engine, "--time", "20s"))
    assert len(recording["checks_after"]["conditions"]) == 2


def test_pgbench_tables_that_were_written_run(acidtest: Run) -> None:
    Path("mine.sql").write_text(
        "\\set id random(1, 100000 * :scale)\nselect abalance from pgbench_accounts where aid = :id;\n"
    )
    runs_once(acidtest, told_of("--sql", "mine.sql", "--engine", "sqlite", "--time", "40s"))
