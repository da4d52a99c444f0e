"""What a shell completes, asked for as the script asks that ``acidtest --install-completion`` installs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from acidtest import registered_builds
from acidtest.audit.rules import rules
from acidtest.cli import COMMANDS, app
from acidtest.cli import complete as completion
from acidtest.engine import catalogue
from acidtest.question import QUESTIONS

SHELLS = ("bash", "zsh", "fish")
Complete = Callable[[str, str], list[str]]


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Complete:
    """The words that a shell is offered for the last one of a line."""

    def words(shell: str, line: str) -> list[str]:
        monkeypatch.setenv("_ACIDTEST_COMPLETE", f"complete_{shell}")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
        capsys.readouterr()
        with pytest.raises(SystemExit):
            app(prog_name="acidtest")
        printed = capsys.readouterr().out
        if shell == "zsh":  # _arguments '*: :(("firebird-5.0":"help"
            return [
                line.strip("\"')(").partition('"')[0]
                for line in printed.removeprefix("_arguments '*: :").split("\n")
                if line
            ]
        return [line.partition("\t")[0] for line in printed.splitlines() if line]

    return words


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("acidtest engines install firebird-5", ["firebird-5.0"]),
        ("acidtest engines settings mysql-5", ["mysql-5.5", "mysql-5.7"]),
        ("acidtest trace x.toml --engine mariadb-10.1", ["mariadb-10.11"]),
        ("acidtest help place.memo", ["place.memory_mb"]),
        ("acidtest help warehouses", ["warehouses"]),
        ("acidtest help settings.fire", ["settings.firebird"]),
        ("acidtest help powerc", ["powercut"]),
        ("acidtest audit . --except old-b", ["old-build="]),
        ("acidtest powerc", ["powercut"]),
        ("acidtest help docs/PL", ["docs/PLACES.md", "docs/PLUG.md"]),
        ("acidtest run @key", ["@key-value"]),
        ("acidtest plug serve @shell", ["@shell-file"]),
        ("acidtest experiments copy ste", ["steady"]),
    ],
)  # fmt: skip
def test_words_of_ours(complete: Complete, shell: str, line: str, words: list[str]) -> None:
    assert complete(shell, line) == words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("acidtest powercut @ key", ["@key-value"]),
        ("acidtest trace @ quick --engine mariadb-10.1", ["mariadb-10.11"]),
    ],
)
def test_bash_breaks_a_word_after_the_mark(complete: Complete, line: str, words: list[str]) -> None:
    assert complete("bash", line) == words


def test_all_engines_rules_and_commands_are_offered(complete: Complete) -> None:
    assert complete("bash", "acidtest engines install ") == list(catalogue.known())
    assert complete("bash", "acidtest audit --except ") == [
        f"{name}=" for name in sorted({rule.name for rule in rules()})
    ]
    assert set(COMMANDS) <= set(complete("bash", "acidtest help "))


def test_only_what_acidtest_installed_can_be_removed(complete: Complete, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path))
    assert complete("bash", "acidtest engines remove ") == []
    (tmp_path / "engines" / "mysql-5.5").mkdir(parents=True)
    assert complete("bash", "acidtest engines remove ") == ["mysql-5.5"]


def test_builds_that_were_added_are_known(complete: Complete, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path))
    registered_builds.keep(
        registered_builds.Kept("patched", "postgresql", "/opt/pg", "00", "18.6", "2026-01-01T00:00:00+00:00")
    )
    assert complete("bash", "acidtest engines remove ") == ["patched"]
    assert complete("bash", "acidtest engines settings patch") == ["patched"]
    assert complete("bash", "acidtest engines install patch") == []
    assert complete("bash", "acidtest engines add x /opt --family m") == ["mysql", "mariadb"]


@pytest.mark.parametrize("shell", SHELLS)
def test_experiments_and_no_other_files(complete: Complete, tmp_path: Path, monkeypatch, shell: str) -> None:
    monkeypatch.chdir(tmp_path)
    experiment = 'durability = "os"\n[workload.commits]\ncount = 1\n'
    for name in ("mine.toml", "more/other.toml", "more/deeper/third.toml", ".hidden/fourth.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(experiment)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n')
    (tmp_path / "more" / "empty.toml").touch()
    (tmp_path / "more" / "gone.toml").symlink_to(tmp_path / "nowhere")
    assert complete(shell, "acidtest run ") == ["mine.toml", "more/other.toml"]
    assert complete(shell, "acidtest run more/") == ["more/other.toml", "more/deeper/third.toml"]
    assert complete(shell, "acidtest run ./mi") == ["./mine.toml"]
    assert complete(shell, f"acidtest run {tmp_path}/mi") == [f"{tmp_path}/mine.toml"]
    for command in ("plan", "powercut", "trace"):
        assert complete("bash", f"acidtest {command} m") == ["mine.toml", "more/other.toml"]
    # Then the shell completes what files there are.
    assert complete(shell, "acidtest run nowhere/") in ([], ["_files"])


def test_the_questions_of_init() -> None:
    assert tuple(QUESTIONS) == completion.QUESTIONS
    assert completion.questions("p") == ["page-and-cache", "power-cut"]


def test_no_model_and_no_engine_is_imported_for_it() -> None:
    """Which a shell would wait for at each tab. In a process of its own, as this one has them."""
    program = """
import sys, typer
from acidtest.cli import COMMANDS, app, complete
root = typer.main.get_command(app)
for name in COMMANDS:
    root.get_command(typer.Context(root), name)
complete.engines(""), complete.rules(""), complete.asked(""), complete.experiments("")
ours = [name for name in sys.modules if name.startswith("acidtest.")]
heavy = ("audit", "analysis", "conductor", "engine", "experiment", "journal", "place", "plan", "powercut", "workload")
print([name for name in ours if name.split(".")[1] in heavy] + [name for name in ("numpy", "altair") if name in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("words", [["engines"], ["plan", "experiments/quick.toml"]])
def test_commands_that_measure_nothing_import_nothing_heavy(words: list[str]) -> None:
    program = """
import sys
from acidtest.cli import main
try:
    main()
except SystemExit as ended:
    assert not ended.code
heavy = ("numpy", "scipy", "http.client", "ssl", "cryptography", "jinja2", "vl_convert", "pyarrow", "distributed", "yaml",
         "acidtest.audit", "acidtest.doubts", "acidtest.conductor.cell", "acidtest.powercut", "acidtest.fleet")
print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", program, *words]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=root, check=True, timeout=300)
    assert ran.stderr.strip() == "[]"
