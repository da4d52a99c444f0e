"""Everything that is wrong with an experiment is said at once; nothing that only follows from something else is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acidtest import conductor, experiment
from acidtest.cli.planning import planned
from acidtest.errors import BadInput, MachineLacks, Problems

HEAD = 'name = "t"\nrepetitions = 1\n'
COMMITS = "[workload.commits]\ncount = 5\n"


def refused(text: str, directory: Path, *, quick: bool = False) -> tuple[list[str], list[str]]:
    """What is said of each error, and what is to be done about it."""
    file = directory / "t.toml"
    file.write_text(text)
    with pytest.raises(BadInput) as caught:
        planned(file, quick=quick)
    problems = caught.value.problems
    assert all(problem.message.startswith(f"{file}: ") for problem in problems), caught.value.message
    assert all("\n" not in problem.message + problem.remedy for problem in problems)
    lines = caught.value.message.splitlines()
    assert len(lines) == 1 if len(problems) == 1 else lines[-1] == f"{len(problems)} errors"
    return [problem.message.removeprefix(f"{file}: ") for problem in problems], [problem.remedy for problem in problems]


def test_errors_of_every_stage_are_said_together(tmp_path: Path) -> None:
    """The reader's, the engines', the levels', the settings' and the waivers'."""
    said, _ = refused(
        HEAD + 'sed = 3\n[factors]\nengine = ["sqlit", "firebird-5.0"]\ndurability = ["drive", "none", "disc"]\n'
        'terminals = [1, 0]\n"place.mount" = ["noatime"]\n[workload.tpcb]\ncuont = 5\n[settings.firebird]\npage_sise = 4096\n'
        "page_buffers = -1\n[place]\nscheduler = 5\n[[exclude]]\nengin = 'sqlite'\n[base]\ndurability = 'os'\n"
        "[waive]\nold-bild = 'x'\nold-build = ''\n",
        tmp_path,
    )
    expected = [
        r'key "sed" is not known \(did you mean "seed"\?\)',
        r'workload\.tpcb: key "cuont" is not known \(did you mean "count"\?\)',
        r'exclude 1: factor "engin" is not known \(did you mean "engine"\?\)',
        r'base: durability "os" is not known; allowed: drive, none, disc',
        r"place\.scheduler: found 5",
        r"factors\.terminals, with workload tpcb: found 0, must be at least 1",
        r'engine "sqlit" is not known \(did you mean "sqlite"\?\)',
        r'durability "disc" is not known',
        r'firebird-5\.0: setting "page_sise" is not known \(did you mean "page_size"\?\)',
        r"firebird-5\.0: firebird\.page_buffers: found -1, must be a whole number",
        r"firebird-5\.0: has no durability level none",
        r'waive: rule "old-bild" is not known',
        r"waive: old-build: gives no reason",
    ]
    assert [pattern for pattern in expected if not any(re.match(pattern, one) for one in said)] == []
    assert len(said) == len(expected), said


@pytest.mark.parametrize(
    ("text", "only"),
    [
        # What is missing because it stands under a key that is not known.
        ('nmae = "t"\nengine = "sqlite"\ndurability = "os"\n' + COMMITS, ['key "nmae"']),
        (HEAD + 'engin = "sqlite"\ndurability = "os"\n' + COMMITS, ['key "engin"']),
        (HEAD + 'engine = "sqlite"\ndurability = "os"\n[workload.commits]\nduration = 5\n', ["workload.commits: key"]),
        (HEAD + 'engine = "mine"\ndurability = "os"\n[servers.mine]\nurll = "postgresql://me@db/test"\n' + COMMITS,
         ["servers.mine: key"]),
        (HEAD + 'engine = "sqlite"\ndurability = "os"\n[growth]\nsize = ["1 GB"]\n[workload.tpcc]\nduration_s = 1\n', ["growth: key"]),
        (HEAD + 'engine = "sqlite"\ndurability = "os"\n[place]\ndisk_nonsense = 1\n' + COMMITS, ["place: key"]),
        (HEAD + 'engine = "sqlite"\ndurability = "os"\n[load]\nmachine = 2\n' + COMMITS, ["load: key"]),
        # What names a factor of which something is amiss.
        (HEAD + 'durability = "os"\n[factors]\nengine = ["sqlite", 5.5, []]\n[base]\nengine = "sqlite"\n[[exclude]]\nengine = "x"\n' + COMMITS,
         ["factors.engine, level 3", 'engine "5.5" is not known']),
        (HEAD + 'engine = "sqlite"\ndurability = "os"\n[factors]\nterminal = [1, 2]\n[base]\nterminal = 1\n' + COMMITS, ["factors.terminal: no such"]),
        # What a server that is not understood would be asked for.
        (HEAD + 'durability = "os"\n[factors]\nengine = ["sqlite", "mine"]\n[servers.mine]\nurl = "oracle://a@b/c"\n' + COMMITS,
         ["servers.mine.url: scheme"]),
        # What has no effect because the engine is misspelt.
        (HEAD + 'engine = "firebrd-5.0"\ndurability = "os"\n[settings.firebird]\npage_size = 8192\n' + COMMITS, ['engine "firebrd-5.0"']),
        # A level that its workload cannot take, in every combination with others.
        (HEAD + 'engine = "sqlite"\n[factors]\ndurability = ["os", "drive"]\nterminals = [0, 1, 2]\nrow_bytes = [10, 20]\n' + COMMITS,
         ["factors.terminals, with workload commits: found 0"]),
    ],
)  # fmt: skip
def test_what_only_follows_is_not_said(text: str, only: list[str], tmp_path: Path) -> None:
    said, _ = refused(text, tmp_path)
    assert len(said) == len(only), said
    assert all(one.startswith(begins) for one, begins in zip(said, only, strict=True)), said


def test_a_level_with_a_name_of_its_own_is_named_where_it_stands(tmp_path: Path) -> None:
    said, _ = refused(
        HEAD + 'engine = "sqlite"\ndurability = "os"\n' + COMMITS + '[factors]\nload = [{ name = "much", set = { terminals = 0 } }, '
        '{ name = "paced", set = { rate_per_s = 5, think_ms = 5 } }]\n',
        tmp_path,
    )  # fmt: skip
    assert said[0] == 'factors.load, level "much": terminals, with workload commits: found 0, must be at least 1'
    assert said[1].startswith('factors, with workload commits: "think_ms" belongs to a closed loop and "rate_per_s"')


def test_quick_without_a_small_size_is_said_beside_the_rest(tmp_path: Path) -> None:
    said, _ = refused("nam = 1\n" + HEAD + 'engine = "sqlite"\ndurability = "os"\n' + COMMITS, tmp_path, quick=True)
    assert [one.partition(";")[0] for one in said] == [
        'key "nam" is not known (did you mean "name"?)',
        "has no small size",
    ]


def test_what_the_machine_lacks_is_told_together_and_is_no_bad_input() -> None:
    problems = Problems()
    for engine in ("postgresql-12", "firebird-4.0", "postgresql-12"):
        with problems.gather():
            raise MachineLacks(f"{engine} is not installed", f"acidtest engines install {engine}")
    both = problems.together()
    assert isinstance(both, MachineLacks)
    assert both.exit_code == 4
    assert both.message.splitlines()[-1] == "2 errors"
    problems.add(BadInput("and this is wrong"))
    assert problems.together().exit_code == 2
    assert len(problems.together().problems) == 3


# ------------------------------------------------------------------------------------------------ what to leave out

SUGGESTED = re.compile(r"\[\[exclude\]\] (.*)$")


def verified(text: str) -> list[str]:
    """The entries of [[exclude]] that errors suggest, as TOML; none where nothing is wrong."""
    asked = experiment.parse(text, "t.toml")
    try:
        conductor.verify(conductor.plan_of(asked), Path("t.toml"))
    except BadInput as error:
        found = [match[1] for problem in error.problems if (match := SUGGESTED.search(problem.remedy))]
        assert found or all(problem.remedy for problem in error.problems)
        return ["[[exclude]]\n" + entry.replace(", ", "\n") + "\n" for entry in found] or ["nothing"]
    return []


@pytest.mark.parametrize(
    "text",
    [
        '[factors]\nengine = ["sqlite", "firebird-5.0"]\ndurability = ["none", "drive"]\n' + COMMITS,
        # Levels with names of their own: the entry has these names, not the engines'.
        '[factors]\nengine = [{ name = "old", value = "firebird-3.0" }, { name = "new", value = "firebird-5.0" }, "sqlite"]\n'
        'durability = [{ name = "weak", value = "none" }, "drive"]\n' + COMMITS,
        'durability = "drive"\n[factors]\nengine = ["sqlite", "firebird-5.0"]\n[place]\nkind = "raw"\n' + COMMITS,
        'durability = "drive"\n[factors]\nengine = ["postgresql-15", "sqlite"]\n[place]\nkind = "guest"\nfilesystem = "ext4"\n' + COMMITS,
        'durability = "drive"\n[factors]\nengine = ["sqlite", "firebird-5.0"]\n[workload.tpcc]\ncount = 1\nprocedures = true\n',
        # The journal mode is the mistake, not the engine at this level.
        'engine = "sqlite"\ndurability = "drive"\n[factors]\n"sqlite.journal_mode" = ["wal", "memory", "off"]\n' + COMMITS,
        # Only one of the versions has the setting.
        'durability = "drive"\n[factors]\nengine = ["mariadb-11.4", "mariadb-10.11"]\n[settings.mysql]\ninnodb_flush_method = "fsync"\n' + COMMITS,
    ],
)  # fmt: skip
def test_what_is_suggested_to_be_left_out_leaves_the_rest(text: str) -> None:
    suggested = verified(HEAD + text)
    assert suggested
    assert suggested != ["nothing"]
    assert verified(HEAD + text + "".join(suggested)) == []


@pytest.mark.parametrize(
    "text",
    [
        'engine = "firebird-5.0"\ndurability = "none"\n' + COMMITS,
        'durability = "none"\n[factors]\nengine = ["firebird-5.0", "firebird-4.0"]\n' + COMMITS,
        'engine = "sqlite"\ndurability = "drive"\n[place]\nkind = "raw"\n' + COMMITS,
        'durability = "drive"\n[factors]\nengine = ["sqlite", "postgresql-15"]\n[place]\nkind = "raw"\n' + COMMITS,
        'engine = "sqlite"\ndurability = "drive"\n[workload.tpcc]\ncount = 1\nprocedures = true\n',
        'engine = "sqlite"\ndurability = "drive"\n[settings.sqlite]\njournal_mode = "off"\n' + COMMITS,
        # Of two mistakes each could be left out, but not both.
        '[factors]\nengine = ["firebird-5.0", "sqlite"]\ndurability = ["none"]\n[settings.sqlite]\nsynchronous = "full"\n' + COMMITS,
        'engine = "sqlite"\ndurability = "drive"\n[settings.sqlite]\ncache_sise_kb = 5\n' + COMMITS,
    ],
)  # fmt: skip
def test_leaving_everything_out_is_not_suggested(text: str) -> None:
    assert verified(HEAD + text) == ["nothing"]
