"""What every engine must do, and does on this machine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

from acidtest.engine import Engine, Instance
from acidtest.engine.base import DURABILITY_LEVELS
from acidtest.errors import BadInput
from acidtest.journal.models import Scalar
from acidtest.journal.protocol import Checked, CheckPhase, Event, LoadPhase, Result, Settings
from acidtest.place import Ledger
from acidtest.place.trees import copy_tree
from families import FAMILIES
from rig_jobs import of, run, talk

Make = Callable[..., Instance]
RUN = (CheckPhase(), run(2, 20), CheckPhase())


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., list[Path]]]:
    """The files of a template, loaded and sealed; those without settings serve all tests of an engine."""
    found: dict[str, list[Path]] = {}
    ledger = Ledger()

    def files(engine: Engine, settings: dict[str, Scalar]) -> list[Path]:
        about = f"{engine.id} {settings}"
        if about not in found:
            base = tmp_path_factory.mktemp("templates")
            (base / "made").mkdir()
            instance = engine.create(base / "made", settings)
            try:
                instance.start(ledger)
                talk(instance, ledger, LoadPhase())
                instance.seal()
                names = [path.name for path in instance.database_files()]
            finally:
                instance.release()
            (base / "made").rename(base / "elsewhere")  # a copy must not need what it was copied from
            found[about] = [base / "elsewhere" / name for name in names]
        return found[about]

    yield files
    ledger.close()


@pytest.fixture
def make(engine: Engine, templates: Callable[..., list[Path]], tmp_path: Path, ledger: Ledger) -> Iterator[Make]:
    """A started instance over a copy of a template."""
    instances = []

    def made(durability: str, settings: dict[str, Scalar] | None = None) -> Instance:
        copy = tmp_path / f"copy-{durability}"
        copy.mkdir()
        for path in templates(engine, settings or {}):
            copy_tree(path, copy / path.name)
        instance = engine.adopt(copy, settings or {}, durability)
        instances.append(instance)
        instance.start(ledger)
        return instance

    yield made
    for instance in instances:
        instance.release()


def in_force(instance: Instance, events: list[Event], unverifiable: Collection[str] = ()) -> dict[str, str | None]:
    found = instance.settings_in_force(of(Settings, events))
    assert not any(setting.is_wrong for setting in found), [s for s in found if s.is_wrong]
    assert [setting.name for setting in found if not setting.is_verifiable] == [*unverifiable]
    return {setting.name: setting.in_force for setting in found}


def runs_with_everything_in_force(engine: Engine, instance: Instance, ledger: Ledger, level: str) -> list[Event]:
    events = talk(instance, ledger, *RUN, inspect=instance.inspections())
    assert all(condition.holds for checked in of(Checked, events) for condition in checked.conditions)
    assert [result.counts.committed for result in of(Result, events)] == [20]
    assert in_force(instance, events)
    assert instance.log() == ""
    assert instance.died() is None
    log = instance.log_files()
    assert bool(log) is (engine.family != "firebird")
    assert engine.embedded or all(path.exists() for path in log)
    instance.release()
    assert engine.durability(level, {}).means
    return events


@pytest.mark.every_engine
def test_a_copy_of_a_sealed_template_runs_with_everything_in_force_and_a_wrong_answer_does_not_agree(
    engine: Engine, make: Make, ledger: Ledger
) -> None:
    instance = make("drive")
    events = runs_with_everything_in_force(engine, instance, ledger, "drive")
    answers = of(Settings, events)
    name, value = FAMILIES[engine.family].lie
    values = [v.model_copy(update={"value": value}) if v.name == name else v for v in answers[0].values]
    assert values != answers[0].values
    lied = [answers[0].model_copy(update={"values": values})]
    assert [s.name for s in instance.settings_in_force(lied) if not s.agrees]
    one_terminal = [answers[0], lied[0].model_copy(update={"terminal": 1})]
    wrong = [s.in_force for s in instance.settings_in_force(one_terminal) if not s.agrees]
    assert wrong
    assert all(value.endswith("on terminal 1") for value in wrong)


@pytest.mark.parametrize("level", [level for level in DURABILITY_LEVELS if level != "drive"])
def test_so_it_does_at_each_weaker_level(engine: Engine, make: Make, ledger: Ledger, level: str) -> None:
    if level not in engine.durability_levels():
        with pytest.raises(BadInput, match=f"{engine.id}: has no durability level {level}"):
            engine.durability(level, {})
        return
    runs_with_everything_in_force(engine, make(level), ledger, level)


def test_settings_reach_the_engine(engine: Engine, make: Make, ledger: Ledger) -> None:
    family = FAMILIES[engine.family]
    asked = dict(family.asked)
    for name, newer in family.asked_of_newer.items():
        asked |= newer if name in engine.setting_specs() else {}
    instance = make("drive", asked)
    if family.asked_once:
        asked = {name: value for name, value in asked.items() if name not in family.asked_once}
        instance = engine.adopt(instance.directory, asked, "drive")
    # One terminal: an exclusive lock admits no second.
    events = talk(instance, ledger, run(1, 3), inspect=instance.inspections())
    found = in_force(instance, events, family.shown_nowhere.get(engine.id, ()))
    assert set(asked) <= set(found)
    first = next(iter(asked))
    assert found[first] == str(asked[first])
    answers = of(Settings, events)[0]
    answered = {
        setting_in_force.name
        for setting_in_force in instance.settings_in_force([answers])
        if setting_in_force.source != "the rig's job"
    }
    noticed = set()
    for value, lie in product(answers.values, ("7777", "")):
        values = [value.model_copy(update={"value": lie}) if one == value else one for one in answers.values]
        with suppress(ValueError):  # nothing is no number
            lied = instance.settings_in_force([answers.model_copy(update={"values": values})])
            noticed |= {setting_in_force.name for setting_in_force in lied if setting_in_force.is_wrong}
    assert set(asked) & answered <= noticed


def test_settings_that_the_engine_does_not_have_are_refused_by_name(engine: Engine) -> None:
    name = next(iter(engine.setting_specs()))
    with pytest.raises(BadInput, match=f'setting "{name}x" is not known .did you mean "{name}"'):
        engine.check_settings({f"{name}x": 4096})
    name, spec = next((name, spec) for name, spec in engine.setting_specs().items() if spec.allowed)
    with pytest.raises(BadInput, match=f"{name}: found 5000, must be one of "):
        engine.check_settings({name: 5000})
    engine.check_settings({name: spec.allowed[0]})
    for name, spec in engine.setting_specs().items():
        if spec.allowed is None:
            assert spec.minimum is not None
            with pytest.raises(BadInput, match=f"must be a whole number from {spec.minimum} to"):
                engine.check_settings({name: spec.minimum - 1})
            engine.check_settings({name: spec.minimum})


def test_a_setting_that_contradicts_the_level_is_refused(engine: Engine) -> None:
    with pytest.raises(BadInput, match="contradicts durability drive"):
        engine.durability("drive", dict(FAMILIES[engine.family].contradiction))


@pytest.mark.every_engine
def test_facts_come_from_the_installed_files(engine: Engine) -> None:
    facts = engine.facts()
    assert facts.id == engine.id
    assert facts.architecture == FAMILIES[engine.family].architectures.get(engine.id, "x86-64")
