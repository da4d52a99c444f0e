"""Builds of the user's: what is taken for what, what is refused in one line, and what is kept of one that was added."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from acidtest import conductor, experiment, registered_builds
from acidtest.cli import app
from acidtest.cli.plan import _notes as plan_notes
from acidtest.engine import catalogue
from acidtest.engine.base import Engine
from acidtest.engine.builds import Wanted, product_at
from acidtest.errors import BadInput, CellFailed
from acidtest.formats import elf
from builds import sqlite_library

Say = Callable[[Path, str], Path]


def build(product: str, path: Path, mode: str = "") -> Engine:
    return catalogue.build(Wanted("mine", product, path, mode, "my.toml: engines.mine"))


def refused(product: str, path: Path, mode: str = "") -> str:
    """The message and the remedy, which are one line each."""
    with pytest.raises(BadInput) as caught:
        build(product, path, mode)
    assert "\n" not in caught.value.message + caught.value.remedy
    assert caught.value.remedy
    return f"{caught.value.message}: {caught.value.remedy}"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Say:
    """Makes a program for this machine that prints a text, and ends with 1 where that begins with "error"."""

    def made(path: Path, says: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        source = tmp_path_factory.mktemp("source") / "says.c"
        stream, code = ("stderr", 1) if says.startswith("error") else ("stdout", 0)
        source.write_text(f'#include <stdio.h>\nint main(void) {{ fputs("{says}\\n", {stream}); return {code}; }}\n')
        subprocess.run(["cc", "-o", path, source], check=True)
        return path

    return made


@pytest.fixture
def postgres(program: Say, tmp_path: Path) -> Callable[[str], Path]:
    """A prefix whose programs say that they are of a release."""

    def made(release: str) -> Path:
        prefix = tmp_path / "postgres"
        program(prefix / "bin" / "postgres", f"postgres (PostgreSQL) {release}")
        program(prefix / "bin" / "initdb", f"initdb (PostgreSQL) {release}")
        (prefix / "share").mkdir(exist_ok=True)
        (prefix / "share" / "postgres.bki").touch()
        return prefix

    return made


@pytest.fixture
def mysql(program: Say, tmp_path: Path) -> Callable[[str], Path]:
    def made(says: str) -> Path:
        base = tmp_path / "mysql"
        program(base / "bin" / "mysqld", says)
        for name in ("english/errmsg.sys", "charsets/Index.xml", "mariadb_system_tables.sql"):
            (base / "share" / name).parent.mkdir(parents=True, exist_ok=True)
            (base / "share" / name).touch()
        return base

    return made


def test_what_is_not_there_is_refused_by_its_key(tmp_path: Path) -> None:
    text = refused("postgresql", tmp_path / "absent")
    assert text == (
        f"my.toml: engines.mine.path: {tmp_path}/absent: there is no such path: "
        "correct the path, which begins at the working directory"
    )
    for product, lacks in [
        ("postgresql", "bin/postgres"), ("mysql", "bin/mysqld"), ("mariadb", "bin/mariadbd"),
        ("firebird", "lib/libfbclient.so.2"), ("sqlite", "libsqlite3.so"),
    ]:  # fmt: skip
        text = refused(product, tmp_path)
        assert text.startswith(f"my.toml: engines.mine.path: {tmp_path} holds no ")
        assert f"there is no {lacks}: name " in text


def test_another_family_is_told_by_name(postgres: Callable[[str], Path], mysql: Callable[[str], Path]) -> None:
    text = refused("mysql", postgres("18.6"))
    assert text.endswith('holds PostgreSQL, not MySQL: write family = "postgresql"')
    assert text.startswith("my.toml: engines.mine.family: ")
    base = mysql("mysqld  Ver 11.4.5-MariaDB for linux-systemd on x86_64")
    assert refused("mysql", base).endswith('is MariaDB 11.4.5, not MySQL: write family = "mariadb"')
    assert refused("firebird", base).endswith('holds MySQL, not Firebird: write family = "mysql"')
    assert product_at(base) == "mysql"
    text = refused("sqlite", base / "bin" / "mysqld")
    assert text.endswith('holds MySQL, not SQLite: write family = "mysql"')


@pytest.mark.parametrize("below", ["", "opt/firebird", "buildroot/opt/firebird", "gen/Release/firebird"])
def test_a_firebird_is_found_where_archives_and_build_trees_have_it(tmp_path: Path, below: str) -> None:
    (tmp_path / below / "bin").mkdir(parents=True)
    (tmp_path / below / "bin" / "firebird").touch()
    assert product_at(tmp_path) == "firebird"


def test_a_path_in_place_of_a_name_is_told_what_to_do() -> None:
    with pytest.raises(BadInput, match='"/opt/pg 17" is a path') as caught:
        catalogue.describe("/opt/pg 17")
    assert caught.value.remedy.endswith("acidtest engines add my-build '/opt/pg 17'")


@pytest.mark.parametrize("kept_bytes", [100, 4096, -1])
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, kept_bytes: int) -> None:
    file = tmp_path / "libsqlite3.so"
    file.write_bytes(sqlite_library().read_bytes()[:kept_bytes])
    text = refused("sqlite", tmp_path)
    assert f"{file} is damaged: " in text or f"{file} is no program or library of Linux: cut off" in text


def test_missing_bytes_are_counted_at_any_length(tmp_path: Path) -> None:
    whole = sqlite_library().read_bytes()
    file = tmp_path / "cut"
    for missing in (1, 63, 64, 4096, len(whole) // 2):
        file.write_bytes(whole[:-missing])
        assert elf.missing_bytes(file) == missing
    file.write_bytes(whole + b"more")
    assert elf.missing_bytes(file) == 0
    for length in (0, 3, 20, 60):
        file.write_bytes(whole[:length])
        with pytest.raises(elf.NotElf):
            elf.missing_bytes(file)


def test_a_build_for_another_machine_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "libsqlite3.so"
    content = bytearray(sqlite_library().read_bytes())
    content[18:20] = (183).to_bytes(2, "little")  # e_machine: EM_AARCH64
    file.write_bytes(content)
    assert refused("sqlite", file) == (
        f"my.toml: engines.mine.path: {file} is built for aarch64 (64-bit), and this machine is x86-64: "
        "name a build for this machine"
    )


def test_what_is_no_program_or_does_not_run_is_refused(program: Say, tmp_path: Path) -> None:
    script = tmp_path / "bin" / "postgres"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 17.1'\n")
    assert f"{script} is no program or library of Linux: no ELF header" in refused("postgresql", tmp_path)
    program(script, "error while loading shared libraries: libfoo.so.1: cannot open shared object file")
    assert "bin has no initdb" in refused("postgresql", tmp_path)
    program(script.with_name("initdb"), "initdb")
    text = refused("postgresql", tmp_path)
    assert f"{script} cannot be used: error while loading shared libraries: libfoo.so.1" in text
    assert "install the system's package with libfoo.so.1" in text
    program(script, "pgbouncer 1.2")
    assert 'says "pgbouncer 1.2", and no version of PostgreSQL' in refused("postgresql", tmp_path)
    other = Path("/lib/x86_64-linux-gnu/libm.so.6")
    assert f"{other} cannot be used: it has no sqlite3_initialize, which SQLite 3.20 and newer have" in refused(
        "sqlite", other
    )


def test_a_key_of_firebird_means_nothing_elsewhere(tmp_path: Path) -> None:
    assert refused("sqlite", sqlite_library(), "server").startswith(
        "my.toml: engines.mine.mode: SQLite runs in one way only"
    )
    with pytest.raises(BadInput, match='family "oracle" is not known'):
        build("oracle", tmp_path)


def test_a_newer_postgresql_is_run_as_the_newest_that_is_known(postgres: Callable[[str], Path]) -> None:
    engine = build("postgresql", postgres("19devel"))
    facts = engine.facts()
    assert (facts.id, facts.version, facts.architecture, facts.mode) == ("mine", "19devel", "x86-64", "server")
    assert facts.known_as == engine.known_as == "postgresql-18"
    assert facts.build is not None
    assert len(facts.build.sha256) == 64
    assert facts.build.options == ["not known: the build does not tell it"]
    (note,) = engine.notes()
    assert note.startswith("mine: PostgreSQL 19devel is newer than any that acidtest knows (up to 18): ")
    assert "io_method" in engine.setting_specs()
    assert engine.durability("drive", {}).means
    assert build("postgresql", postgres("16.1")).notes() == []


def test_a_plan_tells_builds_that_are_one_file(postgres: Callable[[str], Path]) -> None:
    path = postgres("16.1")
    text = 'name = "t"\nrepetitions = 1\ndurability = "os"\n[workload.commits]\ncount = 1\n'
    text += '[factors]\nengine = ["one", "two"]\n'
    for name in ("one", "two"):
        text += f'[engines.{name}]\nfamily = "postgresql"\npath = "{path}"\n'
    (said,) = conductor.same_builds(conductor.plan_of(experiment.parse(text, "t.toml")))
    assert said.startswith("one and two are the same file (")
    other = text.replace(f'two]\nfamily = "postgresql"\npath = "{path}"', 'two]\nfamily = "sqlite"\npath = "LIBRARY"')
    other = other.replace("LIBRARY", str(sqlite_library()))
    assert conductor.same_builds(conductor.plan_of(experiment.parse(other, "t.toml"))) == []


def test_an_older_one_than_any_known_is_refused(postgres: Callable[[str], Path], mysql: Callable[[str], Path]) -> None:
    assert "PostgreSQL 11.22 is older than any that acidtest can run (12)" in refused("postgresql", postgres("11.22"))
    base = mysql("mysqld  Ver 5.1.73 for linux on x86_64 (Source)")
    assert "MySQL 5.1.73 is older than any that acidtest can run (5.5)" in refused("mysql", base)


def test_how_it_was_built_is_read_from_pg_config(postgres: Callable[[str], Path], program: Say) -> None:
    prefix = postgres("18.6")
    program(prefix / "bin" / "pg_config", "'--enable-cassert' 'CFLAGS=-O2'")
    engine = build("postgresql", prefix)
    facts = engine.facts()
    assert facts.build is not None
    assert facts.build.options[0] == "configure: '--enable-cassert' 'CFLAGS=-O2'"
    assert engine.notes() == ["mine: it was built with --enable-cassert, which makes it slower than what people use."]


def test_a_build_tree_from_which_nothing_was_installed_is_refused(program: Say, tmp_path: Path) -> None:
    program(tmp_path / "src" / "backend" / "postgres", "postgres (PostgreSQL) 19devel")
    assert "is a build tree from which nothing was installed: make install there" in refused("postgresql", tmp_path)
    prefix = tmp_path / "tmp_install" / "usr" / "local" / "pgsql"
    for name in ("postgres", "initdb"):
        program(prefix / "bin" / name, f"{name} (PostgreSQL) 19devel")
    assert "has no share/postgres.bki" in refused("postgresql", tmp_path)
    (prefix / "share").mkdir()
    (prefix / "share" / "postgres.bki").touch()
    facts = build("postgresql", tmp_path).facts()
    assert facts.build is not None
    assert facts.build.file == str(prefix / "bin" / "postgres")


@pytest.mark.parametrize(
    ("product", "says", "series", "note"),
    [
        ("mysql", "mysqld  Ver 8.4.5 for Linux on x86_64 (MySQL)", "mysql-9.7", "is of none of the series"),
        ("mysql", "mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL)", "mysql-8.0", ""),
        ("mysql", "mysqld  Ver 9.9.0 for Linux on x86_64 (MySQL)", "mysql-9.7", "is newer than any"),
        ("mysql", "mysqld  Ver 9.7.4-debug for Linux on x86_64 (MySQL)", "mysql-9.7", "it was built with -DWITH_DEBUG"),
        ("mariadb", "mariadbd  Ver 10.6.21-MariaDB for Linux on x86_64", "mariadb-10.2", "is of none of the series"),
        ("mariadb", "mariadbd  Ver 11.4.9-MariaDB for Linux on x86_64", "mariadb-11.4", ""),
        ("mariadb", "mariadbd  Ver 12.3.1-MariaDB for Linux on x86_64", "mariadb-11.8", "is newer than any"),
    ],
)
def test_a_server_is_run_as_the_nearest_series(
    mysql: Callable[[str], Path], product: str, says: str, series: str, note: str
) -> None:
    base = mysql(says)
    (base / "docs").mkdir()
    (base / "docs" / "INFO_BIN").write_text("= Flags =\nCXX_FLAGS = -O2 -g\nnonsense\nCXX_FLAGS = -O2 -g\n")
    engine = build(product, base)
    assert engine.known_as == series
    assert [note in one for one in engine.notes()] == ([True] if note else [])
    facts = engine.facts()
    assert facts.build is not None
    assert facts.build.options == [says.partition("  ")[2], "CXX_FLAGS = -O2 -g"]


def test_a_build_tree_of_cmake_has_its_charsets_in_the_sources(program: Say, tmp_path: Path) -> None:
    base, sources = tmp_path / "build", tmp_path / "sources"
    program(base / "sql" / "mariadbd", "mariadbd  Ver 11.8.2-MariaDB-debug for Linux on x86_64")
    for file in (
        base / "sql" / "share" / "english" / "errmsg.sys", base / "scripts" / "mariadb_system_tables.sql",
        base / "scripts" / "mariadb_performance_tables.sql", sources / "sql" / "share" / "charsets" / "Index.xml",
    ):  # fmt: skip
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (base / "CMakeCache.txt").write_text("CMAKE_BUILD_TYPE:STRING=Debug\n")
    assert "has no charsets/Index.xml" in refused("mariadb", base)
    (base / "CMakeCache.txt").write_text(
        f"CMAKE_BUILD_TYPE:STRING=Debug\nCMAKE_HOME_DIRECTORY:INTERNAL={sources}\nWITH_X:BOOL=ON\n"
    )
    engine = build("mariadb", base)
    facts = engine.facts()
    assert facts.build is not None
    assert facts.version == "11.8.2-MariaDB-debug"
    assert facts.build.options[1:] == ["CMAKE_BUILD_TYPE:STRING=Debug"]
    assert "slower" in engine.notes()[0]


def test_the_archive_of_firebird_is_to_be_unpacked_whole(tmp_path: Path) -> None:
    (tmp_path / "buildroot.tar.gz").touch()
    assert f"tar -C {tmp_path} -xf {tmp_path}/buildroot.tar.gz" in refused("firebird", tmp_path)


def test_a_library_says_how_it_was_built() -> None:
    engine = build("sqlite", sqlite_library())
    facts = engine.facts()
    assert facts.build is not None
    assert facts.build.options[0].startswith("source id: 20")
    assert {"ENABLE_DBSTAT_VTAB", "THREADSAFE=1"} <= set(facts.build.options)
    assert (facts.mode, facts.known_as, engine.embedded) == ("embedded", "sqlite", True)
    assert engine.files() == [Path(facts.build.file)]


def test_a_library_that_is_not_for_threads_is_refused() -> None:
    text = refused("sqlite", sqlite_library("-DSQLITE_THREADSAFE=0"))
    assert "it was built with SQLITE_THREADSAFE=0, and terminals are threads" in text


def test_a_build_that_changes_while_it_is_used_is_noticed(postgres: Callable[[str], Path], program: Say) -> None:
    prefix = postgres("18.6")
    engine = build("postgresql", prefix)
    before = engine.last_facts()
    assert engine.gone() is None
    program(prefix / "bin" / "postgres", "postgres (PostgreSQL) 18.6 (patched)")
    with pytest.raises(CellFailed, match="was changed while it was in use"):
        engine.facts()
    assert "was changed while it was in use" in (engine.gone() or "")
    assert engine.last_facts() == before
    (prefix / "bin" / "postgres").unlink()
    assert "was removed or changed while the run went on" in (engine.gone() or "")


def engines_at(width: int) -> str:
    """What ``acidtest engines`` prints in a terminal of this width."""
    return CliRunner().invoke(app, ["engines"], env={"COLUMNS": str(width)}).stdout


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_an_added_build_is_found_by_name_and_told_when_it_has_changed(
    home: Path, postgres: Callable[[str], Path], program: Say
) -> None:
    prefix = postgres("18.6")
    engine = catalogue.keep("patched", prefix, "", "")
    assert engine.known_as == "postgresql-18"
    assert registered_builds.names() == ["patched"]
    assert catalogue.describe("patched").notes() == []
    offer = catalogue.offers()[-1]
    assert (offer.id, offer.version, offer.path, offer.lack()) == ("patched", "18.6", str(prefix), None)
    program(prefix / "bin" / "postgres", "postgres (PostgreSQL) 18.7")
    (note,) = catalogue.describe("patched").notes()
    assert "is another one" in note
    assert "version 18.7" in note
    assert catalogue.offers()[-1].doubts == note
    assert note.endswith(f"accept it: acidtest engines add patched {prefix}")
    text = 'name = "t"\nengine = "patched"\ndurability = "os"\n[workload.commits]\ncount = 1\n'
    assert note in plan_notes(conductor.plan_of(experiment.parse(text, "t.toml")))
    listed = " ".join(engines_at(80).split())
    assert "patched 18.7 x86-64 ready, but see below" in listed and "sqlite 3." in listed
    assert f"is another one (sha256 {note.partition('(sha256 ')[2][:16]}, version 18.7) than" in listed
    catalogue.keep("patched", prefix, "postgresql", "")  # looked at anew
    assert catalogue.describe("patched").notes() == []
    (prefix / "bin" / "postgres").unlink()
    gone = catalogue.offers()[-1]
    assert gone.damage.startswith(f"{prefix} holds no PostgreSQL")
    assert gone.remedy.endswith("acidtest engines remove patched")
    assert gone.damage in " ".join(engines_at(2000).split()) and gone.version == ""
    with pytest.raises(BadInput, match="holds no PostgreSQL"):
        catalogue.find("patched")
    assert catalogue.is_kept("patched")
    catalogue.forget("patched")
    assert registered_builds.names() == []
    assert prefix.is_dir()


def test_names_of_added_builds(home: Path, postgres: Callable[[str], Path], tmp_path: Path) -> None:
    prefix = postgres("18.6")
    for name, words in [
        ("sqlite", "sqlite: acidtest has an engine of this name"),
        ("My build", "must be lower-case letters"),
        ("../x", "must be lower-case letters"),
    ]:
        with pytest.raises(BadInput, match=words):
            catalogue.keep(name, prefix, "", "")
    with pytest.raises(BadInput, match="no engine was found there by the names of its files"):
        catalogue.keep("mine", tmp_path / "postgres" / "share", "", "")
    for path in (tmp_path / "absent" / "libsqlite3.so", tmp_path / "absent"):
        with pytest.raises(BadInput, match=f"mine.path: {path}: there is no such path") as caught:
            catalogue.keep("mine", path, "", "")
        assert caught.value.remedy == "name a path that is there"
    catalogue.keep("mine", prefix, "", "")
    output = CliRunner().invoke(app, ["engines", "settings", "mine"]).stdout
    assert "mine is a build of yours, and its keys are those of its family: postgresql.KEY" in " ".join(output.split())
    prefix.rename(tmp_path / "elsewhere")
    text = 'name = "t"\nengine = "mine"\ndurability = "os"\n[workload.commits]\ncount = 1\n'
    with pytest.raises(BadInput, match="there is no such path") as caught:
        conductor.plan_of(experiment.parse(text, "t.toml"))
    assert "put it there again, or acidtest engines remove mine" in f"{caught.value}{caught.value.remedy}"
    with pytest.raises(BadInput, match=f"mine: is kept already, at {prefix}"):
        catalogue.keep("mine", tmp_path / "elsewhere", "", "")
    with pytest.raises(BadInput, match=r"write --family postgresql"):
        try:
            catalogue.keep("other", tmp_path / "elsewhere", "mysql", "")
        except BadInput as error:
            raise BadInput(error.remedy) from None


def test_a_broken_entry_is_told_and_can_be_removed(home: Path) -> None:
    (home / "builds").mkdir(parents=True)
    (home / "builds" / "mine.json").write_text("{")
    assert registered_builds.names() == ["mine"]
    with pytest.raises(BadInput, match=r"mine\.json: is broken"):
        registered_builds.find("mine")
    assert "is broken" in catalogue.offers()[-1].damage
    assert registered_builds.drop("mine")
    assert not registered_builds.drop("mine")
    (home / "builds" / "mine.json").write_text('{"name": 1}')
    with pytest.raises(BadInput, match="it holds no texts"):
        registered_builds.find("mine")
