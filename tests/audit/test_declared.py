"""What a study says of itself: read, applied, held against the kit, and written for the first time."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from acidtest.audit import claims, findings_output, importers, judge
from acidtest.audit.declared import VARIES
from acidtest.audit.rules import rules
from acidtest.cli import app, audit_init
from acidtest.errors import BadInput
from tables import rows, write

FILES = {
    "loose/my.cnf": "[mysqld]\ninnodb_flush_log_at_trx_commit = 2\ninnodb_buffer_pool_size = 8G\n",
    "strict/postgresql.conf": "shared_buffers = 8GB\nfsync = on\nautovacuum = off\n",
    "strict/run.txt": "transaction type: <builtin: TPC-B (sort of)>\nscaling factor: 100\nnumber of clients: 8\n"
    "number of threads: 8\nduration: 600 s\nnumber of transactions actually processed: 600000\n"
    "latency average = 8.0 ms\ntps = 1000.0 (without initial connection time)\n",
}
FILES["loose/run.txt"] = (
    "sysbench 1.0.20 (using bundled LuaJIT 2.1.0)\n\nRunning the test with following options:\nNumber of threads: 8\n\n"
    "SQL statistics:\n    transactions:                        600000 (1000.00 per sec.)\n\n"
    "General statistics:\n    total time:                          600.0 s\n"
)
SIDES = """
[sides.one]
engine = "mysql 8.0.36"
files = ["loose"]
[sides.other]
engine = "postgresql 16.2"
files = ["strict"]
"""


def kit(path: Path, declared: str = "", readme: str = "", **more: str) -> Path:
    files = FILES | {"README.md": readme or "Two engines on one drive.\n"} | more
    write(path, files | ({"benchmark.toml": declared} if declared else {}))
    return path


def found(path: Path) -> set[str]:
    return {finding.rule.name for finding in judge.of_bench(importers.read(path))}


def test_what_varies_on_purpose_is_no_finding_and_all_else_is(tmp_path: Path) -> None:
    assert {"durability-differs", "autovacuum-off"} <= found(kit(tmp_path / "a"))
    declared = found(kit(tmp_path / "b", 'varies = ["engine", "durability"]\n' + SIDES))
    assert "durability-differs" not in declared
    assert "autovacuum-off" in declared


def test_a_setting_varies_on_purpose(tmp_path: Path) -> None:
    one, other = "shared_buffers = 1GB\nwork_mem = 4MB\n", "shared_buffers = 1GB\nwork_mem = 64MB\n"
    files = {"a/postgresql.conf": one, "b/postgresql.conf": other}
    assert "setting-differs" in found(kit(tmp_path / "a", **files))
    sides = '[sides.a]\nfiles = ["a"]\n[sides.b]\nfiles = ["b"]\n'
    assert "setting-differs" in found(kit(tmp_path / "b", f'varies = ["version"]\n{sides}', **files))
    assert "setting-differs" not in found(kit(tmp_path / "c", f'varies = ["work_mem"]\n{sides}', **files))


@rows(
    ("", "on", "off", "note"),
    ("varies = []\n", "on", "off", "invalid"),
    ('varies = ["durability"]\n', "on", "off", None),
    ("varies = []\n", "on", "on", None),
)
def test_a_name_of_a_side_decides_nothing(
    varies: str, one: str, other: str, severity: str | None, tmp_path: Path
) -> None:
    sides = "".join(
        f'[sides.{name}]\nengine = "postgresql 16.2"\nfiles = ["{name}"]\n' for name in ("sync-on", "sync-off")
    )
    claim = '[[claim]]\nsides = ["sync-off", "sync-on"]\nis = "faster"\n'
    files = {"benchmark.toml": f"{varies}{sides}{claim}"}
    for name, value, rate in (("sync-on", one, 1000), ("sync-off", other, 1400)):
        files[f"{name}/postgresql.conf"] = f"shared_buffers = 8GB\nfsync = on\nsynchronous_commit = {value}\n"
        for n in range(1, 7):
            files[f"{name}/run{n}.txt"] = FILES["strict/run.txt"].replace("tps = 1000.0", f"tps = {rate + n}.0")
    write(tmp_path, files)
    bench = importers.read(tmp_path)
    findings = judge.of_bench(bench)
    told = [finding for finding in findings if finding.rule.name == "durability-differs"]
    assert [finding.severity for finding in told] == [severity] * (severity is not None)
    (answer,) = claims.answers(bench, findings)
    assert answer.verdict == ("cannot tell" if told else "follows")
    for found_ in told:
        assert ("because the sides are named" in found_.text) == (severity == "note")
        assert [one.text for one in found_.evidence] == ["synchronous_commit = off", "synchronous_commit = on"]


def test_sides_are_what_is_declared(tmp_path: Path) -> None:
    bench = importers.read(kit(tmp_path, SIDES))
    assert [(side.name, side.engine, side.version, len(side.configurations)) for side in bench.sides] == [
        ("one", "mysql", "8.0.36", 1),
        ("other", "postgresql", "16.2", 1),
    ]


MACHINES = """
[machines.large]
memory_gb = 64
drive = "NVMe"
[machines.small]
memory_gb = 32
drive = "NVMe"
"""
EACH = SIDES.replace('files = ["loose"]', 'files = ["loose"]\nmachine = "large"').replace(
    'files = ["strict"]', 'files = ["strict"]\nmachine = "small"'
)


@rows(("engine", True), ("drive", True), ("memory", False), ("machine", False))
def test_machines_differ(varies: str, spoken: bool, tmp_path: Path) -> None:
    bench = importers.read(kit(tmp_path, f'varies = ["{varies}"]\n{EACH}{MACHINES}'))
    told = [finding for finding in judge.of_bench(bench) if finding.rule.name == "machine-differs"]
    assert bool(told) == spoken
    for one in told:
        assert one.severe
        assert [(e.file, e.line, e.text) for e in one.evidence] == [
            ("benchmark.toml", 13, "memory_gb = 64"),
            ("benchmark.toml", 16, "memory_gb = 32"),
        ]


@rows(("16", False), ("16.2", False), ("15.4", True))
def test_another_version_than_declared(version: str, spoken: bool, tmp_path: Path) -> None:
    dump = "server_version = 16.2\n" + "".join(f"setting_{n} = {n}\n" for n in range(3))
    compose = "services:\n  db:\n    image: postgres:16.2\n    command: postgres -c shared_buffers=1GB\n"
    files = {"strict/docker-compose.yml": compose, "strict/note.md": dump}
    bench = importers.read(kit(tmp_path, SIDES.replace("16.2", version), **files))
    versions = {conf.version for side in bench.sides for conf in side.configurations if conf.version}
    told = "declared-otherwise" in {finding.rule.name for finding in judge.of_bench(bench)}
    assert told == (spoken and bool(versions))


BAD = [
    ('varies = ["durabilty"]', r'benchmark.toml: varies: "durabilty" is not known \(did you mean "durability"\?\)'),
    ('varies = "engine"', r'benchmark.toml: varies: found "engine", must be a list of texts'),
    ("sides = 1", "benchmark.toml: sides: found 1, must be a table"),
    ('[sides.a]\nengin = "mysql"', r'benchmark.toml: sides.a: key "engin" is not known \(did you mean "engine"\?\)'),
    ('[sides.a]\nengine = "mysq 8"', r'benchmark.toml: sides.a.engine: "mysq" is not known'),
    ('[sides.a]\nfiles = ["../b"]', r'benchmark.toml: sides.a.files: "../b" is not below the kit'),
    ('[sides.a]\nmachine = "m"', "benchmark.toml: sides.a.machine: m is described nowhere"),
    ("[machines.a]\nmemory_gb = true", "benchmark.toml: machines.a.memory_gb: found true, must be a number"),
    ("[machines.a]\ndrive = 1", "benchmark.toml: machines.a.drive: found 1, must be a text"),
    ('[[claim]]\nis = "faster"', "benchmark.toml: claim.0.sides: must name two sides"),
    ('[[claim]]\nsides = ["a", "b"]', "benchmark.toml: claim.0.is: is missing"),
    ('[[claim]]\nsides = ["a", "b"]\nis = "fast"', r'claim.0.is: word "fast" is not known'),
    ('[[claim]]\nsides = ["a", "b"]\nis = "faster"\nby = 0.5', "claim.0.by: found 0.5, must be a number above 1"),
    ('[[claim]]\nsides = ["a", "b"]\nis = "faster"\nmetric = "tps"', "claim.0.metric: tps is not known"),
    ("claim = 1", r"benchmark.toml: claim: found 1, must be \[\[claim\]\] tables"),
    ("database_mb = 0", "benchmark.toml: database_mb: found 0, must be a number above 0"),
    ('measures = "drives"', r'benchmark.toml: measures: word "drives" is not known'),
    ('[[claim]]\nsides = ["a", "b"]\nis = "faster"\npublished = "NONE.md"', "published: NONE.md is not in the kit"),
    (
        '[[claim]]\nsides = ["a", "b"]\nis = "faster"\npublished = "README.md:99"',
        "published: README.md:99 is not there",
    ),
    ("[sides.a\n", "benchmark.toml: not TOML"),
    ("[machines.a]\nmemory_gb = inf", "benchmark.toml: machines.a.memory_gb: found inf, must be a number"),
    (f"[machines.a]\nmemory_gb = 1{'0' * 5000}", "benchmark.toml: not TOML"),
    (f"[machines.a]\ncores = 1{'0' * 400}", "benchmark.toml: machines.a.cores: found 1000"),
    ("sides = " + "[" * 5000 + "]" * 5000, "benchmark.toml: not TOML"),
    ('"\\u001b[2J" = 1\nsides = {}', r'key "\\x1b\[2J" is not known'),
]


@rows(*BAD)
def test_what_is_wrong_is_told(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=told):
        importers.read(kit(tmp_path, text))


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="2 errors") as error:
        importers.read(kit(tmp_path, '[sides.a]\nengin = "mysql"\n[machines.a]\nmemory_gb = "x"\n'))
    assert all(problem.remedy for problem in error.value.problems)


@rows('[profile]\nname = "x"\n', 'title = "x"\n')
def test_a_file_of_another_program_is_none(text: str, tmp_path: Path) -> None:
    assert importers.read(kit(tmp_path, text)).declared is None


def test_each_rule_of_a_factor_is_a_rule() -> None:
    named = {name for factor in VARIES.values() for name in factor.rules}
    assert named <= {rule.name for rule in rules()}


def test_a_first_one_is_written(tmp_path: Path) -> None:
    root = kit(tmp_path)
    before = found(root)
    ran = CliRunner().invoke(app, ["audit", str(root), "--init"])
    assert ran.exit_code == 0, ran.output
    text = (root / "benchmark.toml").read_text(encoding="utf-8")
    written = tomllib.loads(text)
    assert written["varies"] == ["engine"]
    assert {tuple(side["files"]) for side in written["sides"].values()} == {("loose",), ("strict",)}
    assert found(root) == before
    with pytest.raises(BadInput, match="is there already"):
        audit_init.write(root, importers.read(root), [])


def test_a_first_one_offers_the_ratio_of_each_pair(tmp_path: Path) -> None:
    slower = FILES["strict/run.txt"].replace("tps = 1000.0", "tps = 500.0")
    files = {"strict/postgresql.conf": "fsync = on\n", "new/postgresql.conf": "fsync = on\nwork_mem = 8MB\n"}
    root = kit(tmp_path, **files, **{"new/run.txt": slower})
    file = audit_init.write(root, importers.read(root), [])
    offered = file.read_text(encoding="utf-8").partition("# [[claim]]")
    assert '# sides = ["strict", "new"]' in offered[2] and "# by = 2" in offered[2]
    assert importers.read(root).declared is not None


def test_what_it_drafts_follows_from_the_results_of_each_side(tmp_path: Path) -> None:
    files = {f"{name}/postgresql.conf": "fsync = on\n" for name in ("one", "two", "three")}
    for name, rate in (("one", 1000), ("two", 1400), ("three", 1400)):
        for n in range(1, 7):
            files[f"results/{name}/run-{n}.txt"] = FILES["strict/run.txt"].replace(
                "tps = 1000.0", f"tps = {rate + n}.0"
            )
    table = "system,run,clients,tps\n" + "".join(
        f"{name},{n},8,{rate + n}\n" for name, rate in (("old", 100), ("new", 140)) for n in range(1, 7)
    )
    for at, its, pairs in (
        (tmp_path / "folders", files, [["two", "one"], ["three", "one"]]),
        (
            tmp_path / "rows",
            {
                "a/postgresql.conf": "fsync = on\n",
                "b/postgresql.conf": "fsync = on\n",
                "runs.csv": table,
                "README.md": "x\n",
            },
            [["new", "old"]],
        ),
    ):
        write(at, its | {"README.md": "A claim.\n"})
        file = audit_init.write(at, importers.read(at), [])
        head, _, drafts = file.read_text(encoding="utf-8").partition("# [[claim]]")
        drafts = "\n".join(line for line in drafts.replace("# [[claim]]", "[[claim]]").splitlines())
        lines = [line.removeprefix("# ") for line in f"[[claim]]{drafts}".splitlines() if "By the results" not in line]
        file.write_text(head + "\n".join(line for line in lines if line[:1] == "[" or " = " in line), encoding="utf-8")
        answers = claims.answers(importers.read(at))
        assert sorted(list(answer.claim.sides) for answer in answers) == sorted(pairs)
        assert {answer.verdict for answer in answers} == {"follows"}


def test_what_it_offers_may_be_taken(tmp_path: Path) -> None:
    root = kit(tmp_path)
    file = audit_init.write(root, importers.read(root), [])
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("# memory_gb", "memory_gb"), encoding="utf-8")
    assert importers.read(root).declared is not None


def test_names_that_need_quotes(tmp_path: Path) -> None:
    root = kit(tmp_path, **{"a b.c/postgresql.conf": "work_mem = 1MB\n", "a b.c/d/postgresql.conf": "work_mem = 2MB\n"})
    audit_init.write(root, importers.read(root), [])
    bench = importers.read(root)
    assert len(bench.sides) == len({side.name for side in bench.sides})


def test_the_console_is_told_of_it(tmp_path: Path) -> None:
    bench = importers.read(kit(tmp_path, 'varies = ["durability"]\n' + SIDES))
    with Console(record=True, width=200) as console:
        findings_output.print_findings(bench, judge.of_bench(bench), [], console)
    assert "2 sides" in console.export_text()


def test_the_documented_one_is_read(tmp_path: Path) -> None:
    docs = (Path(__file__).parents[2] / "docs" / "AUDIT.md").read_text(encoding="utf-8")
    example = docs.partition("```toml\n")[2].partition("```")[0]
    declared = importers.read(kit(tmp_path, example, readme="A line.\n" * 12)).declared
    assert declared is not None
    assert (len(declared.sides), len(declared.machines), len(declared.claims)) == (2, 1, 1)
    listed = docs.partition("- Words of `varies`:")[2].partition("; or the name")[0]
    assert [word.strip(" `\n") for word in listed.split(",")] == list(VARIES)
