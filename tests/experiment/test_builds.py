"""``[engines.NAME]``: builds of the user's, in a file and kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest import registered_builds
from acidtest.errors import BadInput
from acidtest.experiment import Experiment, parse
from acidtest.plan import family_of, make

TEXT = 'name = "t"\nengine = "mine"\ndurability = "os"\n[workload.commits]\ncount = 5\n'
BUILD = '[engines.mine]\nfamily = "mariadb"\npath = "/opt/maria"\n'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACIDTEST_HOME", str(tmp_path / "home"))


def read(text: str) -> Experiment:
    return parse(text, "t.toml")


def test_a_table_is_an_engine_of_its_family() -> None:
    experiment = read(TEXT + BUILD)
    build = experiment.engines["mine"]
    assert (build.family, build.path, build.mode) == ("mariadb", "/opt/maria", None)
    assert family_of(experiment, "mine") == "mysql"
    (cell, *_) = make(read(TEXT + BUILD + "[settings.mysql]\ninnodb_buffer_pool_mb = 64\n")).cells
    assert (cell.engine, cell.settings) == ("mine", {"innodb_buffer_pool_mb": 64})
    assert Experiment.recorded(experiment.model_dump(mode="json")).engines == experiment.engines


def test_the_digest_of_an_experiment_without_builds_is_as_it_was() -> None:
    plain = read(TEXT.replace("mine", "sqlite"))
    assert "engines" not in plain.model_dump(mode="json")
    assert read(TEXT + BUILD).digest() != read(TEXT + BUILD.replace("/opt/maria", "/opt/other")).digest()


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ('[engines]\nmine = "x"\n', 'engines.mine: found "x", must be a table'),
        ('[engines.mine]\npath = "/opt"\n', "engines.mine: has no family"),
        ('[engines.mine]\nfamily = "mysql"\n', "engines.mine: has no path"),
        ('[engines.mine]\nfamily = "mysql"\npath = 1\n', "engines.mine: path: found 1, must be a text"),
        ('[engines.mine]\nfamily = "mysq"\npath = "/opt"\n', 'engines.mine: family "mysq" is not known (did you mean'),
        (BUILD + 'mode = "fast"\n', 'engines.mine.mode: found "fast", must be embedded or server'),
        (BUILD + "paths = 1\n", 'engines.mine: key "paths" is not known (did you mean "path"?)'),
        (BUILD.replace("mine", '"My own"'), 'engines.My own: found "My own", must be lower-case letters'),
        (BUILD + '[servers.mine]\nurl = "mysql://a@b/c"\n', "engines.mine: servers.mine has this name too"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_by_its_key(table: str, error: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(TEXT + table)
    assert refused.value.problems[0].message.startswith(f"t.toml: {error}"), refused.value.message


def test_a_kept_build_is_taken_as_if_its_table_stood_in_the_file() -> None:
    registered_builds.keep(
        registered_builds.Kept(
            "mine", "firebird", "/opt/firebird", "00", "5.0.4", "2026-01-01T00:00:00+00:00", "server"
        )
    )
    build = read(TEXT).engines["mine"]
    assert (build.family, build.path, build.mode) == ("firebird", "/opt/firebird", "server")
    own = read(TEXT + BUILD).engines["mine"]
    assert own.path == "/opt/maria"  # the file's own table goes first
    assert read(TEXT.replace("mine", "sqlite")).engines == {}
    varied = 'name = "t"\ndurability = "os"\n[workload.commits]\ncount = 5\n[factors]\n'
    several = read(varied + 'engine = ["sqlite", { name = "patched", value = "mine" }]\n')
    assert list(several.engines) == ["mine"]
