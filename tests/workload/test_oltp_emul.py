"""What is read of a checkout of OLTP-EMUL, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

import small_kit
from acidtest.errors import BadInput
from acidtest.workload import Runner
from acidtest.workload.oltp_emul import OltpEmul


def spec(path: Path, **given: object) -> OltpEmul:
    return OltpEmul.model_validate(OltpEmul.completed({"path": str(path), "count": 1, **given}, Path()))


def test_its_operations_and_settings_are_those_of_its_files(tmp_path: Path) -> None:
    one = spec(small_kit.write(tmp_path / "kit"), terminals=3, warmup_s=120)
    assert one.transaction_kinds() == ("sp_write_document", "sp_do_nothing", "sp_conflict", "sp_halt")
    message = one.message()
    told = {setting.code: setting for setting in message.settings}
    assert (told["WORKING_MODE"].value, told["WORKING_MODE"].mode) == ("SMALL_03", "INIT")
    assert (told["WORKERS_COUNT"].value, told["WARM_TIME"].value) == ("3", "2")
    assert [script.path.rpartition("/")[2] for script in message.split] == ["oltp_split_heavy_tabs_1.sql"]
    assert (message.init_docs, message.no_auto_undo, message.measured_ms) == (7, True, None)
    assert len(told) == len(message.settings)
    changed = spec(tmp_path / "kit", working_mode="medium_01", init_docs=9).message()
    assert changed.init_docs == 9
    assert "MEDIUM_01" in {setting.value for setting in changed.settings}


def test_a_session_runs_the_script_that_the_kits_own_function_makes(tmp_path: Path) -> None:
    one = spec(small_kit.write(tmp_path / "kit"))
    own = one.message().as_kit
    assert own is not None
    assert (own.actions, own.script.path) == (10, str(tmp_path / "kit" / "src" / "1run_oltp_emul.sh"))
    assert own.script.text.startswith("commit;\nset transaction snapshot no wait; -- run_test\n")
    assert "'1 of 1'" in own.script.text
    assert one.run_phase().connect == "as_recorded"
    prepared = one.varied({"sessions": "prepared"})
    assert (prepared.message().as_kit, prepared.run_phase().connect) == (None, "once")
    assert prepared.loaded_text() == one.loaded_text()
    assert "1run_oltp_emul.sh" in one.files


@pytest.mark.parametrize(
    ("shell", "said"),
    [
        ("echo nothing", "has no function gen_working_sql"),
        ("gen_working_sql() {\n exit 3\n} # end of gen_working_sql()\n", "function gen_working_sql wrote no script"),
        ("gen_working_sql() {\n (\n} # end of gen_working_sql()\n", "wrote no script: .*syntax error"),
    ],
)
def test_a_kit_whose_function_makes_no_script_is_refused(tmp_path: Path, shell: str, said: str) -> None:
    kit = small_kit.write(tmp_path / "kit")
    (kit / "src" / "1run_oltp_emul.sh").write_text(shell)
    with pytest.raises(BadInput, match=said):
        spec(kit)


def test_what_the_database_is_filled_with_makes_it_another_one(tmp_path: Path) -> None:
    one = spec(small_kit.write(tmp_path / "kit"))
    assert one.loaded_text() == spec(tmp_path / "kit", terminals=9, warmup_s=3).loaded_text()
    assert one.loaded_text() != spec(tmp_path / "kit", init_docs=8).loaded_text()
    assert one.loaded_text() != spec(tmp_path / "kit", working_mode="large_01").loaded_text()
    script = tmp_path / "kit" / "src" / "oltp30_sp.sql"
    script.write_text(script.read_text() + "\n-- changed\n")
    assert one.loaded_text() != spec(tmp_path / "kit").loaded_text()
    assert one.varied({"init_docs": 8}).loaded_text() != one.loaded_text()


@pytest.mark.parametrize(
    ("line", "other", "said"),
    [
        ("use_es = 0", "use_es = 2", "use_es = 2: its calls through another connection"),
        ("mon_unit_perf = 0", "mon_unit_perf = 1", "acidtest asks for the engine's counters itself"),
        ("used_in_replication = 0", "used_in_replication = 1", "acidtest sets up no replica"),
        ("sleep_max = 0", "sleep_max = 3", "a pause between operations is think_ms"),
        ("unit_selection_method = random", "unit_selection_method = predictable", "debugging"),
        ("init_docs = 7", "init_docs = many", "init_docs = many is no whole number"),
        ("actions_todo_before_reconnect = 10", "actions_todo_before_reconnect = 0", "= 0 is none of 1 to 9999999"),
        ("no_auto_undo = 1", "no_auto_undo = yes", "no_auto_undo = yes is neither 0 nor 1"),
        ("most_selective_first", "any", "create_with_compound_columns_order = any is none of"),
        ("working_mode = small_03", "", "has no working_mode"),
        ("/CK/", "$HALT", "cannot be taken as it stands"),
        ("fbc = /opt/firebird/bin", "use_external_to_stop = /tmp/x", "acidtest ends a run itself"),
    ],
)
def test_what_a_configuration_asks_and_acidtest_cannot_is_refused(
    tmp_path: Path, line: str, other: str, said: str
) -> None:
    kit = small_kit.write(tmp_path / "kit")
    file = kit / "src" / "oltp40_config.nix"
    file.write_text(file.read_text().replace(line, other))
    with pytest.raises(BadInput, match=said) as refused:
        spec(kit)
    assert str(file) in str(refused.value)


def test_a_folder_that_is_no_whole_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is no checkout of OLTP-EMUL"):
        spec(tmp_path)
    kit = small_kit.write(tmp_path / "kit")
    (kit / "src" / "oltp_adjust_DDL.sql").unlink()
    with pytest.raises(BadInput, match=r"oltp_adjust_DDL\.sql"):
        spec(kit)
    filling = kit / "src" / "oltp_main_filling.sql"
    filling.write_text("commit;\n")
    with pytest.raises(BadInput, match="fills business_ops with 0 operations"):
        spec(kit)


def test_a_configuration_of_ones_own_is_read_in_place_of_the_kits(tmp_path: Path) -> None:
    kit = small_kit.write(tmp_path / "kit")
    own = tmp_path / "own.nix"
    own.write_text(small_kit.CONFIG.replace("init_docs = 7", "init_docs = 70"))
    assert spec(kit, config=str(own)).message().init_docs == 70


def test_it_runs_on_firebird_of_our_own_alone(tmp_path: Path) -> None:
    one = spec(small_kit.write(tmp_path / "kit"))
    assert one.refused(Runner("firebird", (3, 0), private=True, raw=False)) is None
    for family, private, why in (("mysql", True, "are Firebird's"), ("firebird", False, "server by URL")):
        refused = one.refused(Runner(family, (5, 0), private=private, raw=False))
        assert refused is not None
        assert why in refused.why


def test_a_session_stays_what_the_kit_has_made_of_it(tmp_path: Path) -> None:
    kit = small_kit.write(tmp_path / "kit")
    with pytest.raises(ValidationError, match='must be "once"'):
        spec(kit, connect="per_transaction")


@pytest.mark.parametrize("wrong", [{"path": 5}, {"path": ""}, {"path": ["kit"]}, {"config": 5}, {"config": True}])
def test_a_path_that_is_no_text_is_refused_by_its_key(tmp_path: Path, wrong: dict[str, object]) -> None:
    table = OltpEmul.completed({"path": str(small_kit.write(tmp_path / "kit")), "count": 1, **wrong}, Path())
    with pytest.raises(ValidationError) as refused:
        OltpEmul.model_validate(table)
    assert [error["loc"] for error in refused.value.errors()] == [(key,) for key in wrong]
