"""Who notices what storage does wrong: the same in the terminal, on the page and for programs."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

import factory
from acidtest.analysis.survival import survivals
from acidtest.doubts import judge
from acidtest.journal.models import Journal, StorageFailure
from acidtest.report.survival_page import write_survival_page
from acidtest.report.survival_table import as_json, print_survival

DID_NOT_STRIKE = "the fault did not strike: no request came after it"


SPOILED = {
    "on": [factory.storage("noticed", "refused", "session", "log"), factory.storage("by check", "right", "check")],
    "off": [factory.storage("silent", "wrong"), factory.storage("unknown", "right", why=DID_NOT_STRIKE)],
}


def journal(of: dict[str, list[StorageFailure]]) -> Journal:
    recordings = []
    for checksums, trials in of.items():
        levels = {"workload": "numbered", "engine": "postgresql-15", "durability": "drive", "checksums": checksums}
        for repetition, one in enumerate(trials, start=1):
            verdict = {"unnoticed": "survived", "unknown": "unknown"}.get(one.outcome, "lost")
            cut = factory.cut(verdict, failure="rot", storage=one, lost=int(verdict == "lost"))  # type: ignore[arg-type]
            recordings.append(factory.recording(levels, repetition, cut=cut).model_copy(update={"result": None}))
    return factory.journal(recordings)


def shown(made: Journal) -> str:
    out = io.StringIO()
    print_survival(made, Console(file=out, width=200))
    return out.getvalue()


def test_every_output_says_who_notices(tmp_path: Any) -> None:
    made = journal(SPOILED)
    terminal = shown(made)
    table = terminal[terminal.index("Who notices") :].splitlines()
    on, off = (next(line.split() for line in table if line.startswith(name + " ")) for name in ("on", "off"))
    assert on[1:8] == ["2", "2", "1", "1", "–", "–", "–"]
    assert off[1:8] == ["2", "1", "–", "–", "1", "–", "1"]
    assert "session 1, log 1, check 1" in terminal
    assert f"Unknown: {DID_NOT_STRIKE}." in terminal
    write_survival_page(made, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert 'id="noticing"' in page and "session 1, log 1, check 1" in page and DID_NOT_STRIKE in page
    first, second = as_json(made)["storage_failures"]
    assert (first["outcomes"]["noticed"], first["outcomes"]["by check"], first["by"]["log"]) == (1, 1, 1)
    assert (second["outcomes"]["silent"], second["struck"], second["whys"]) == (1, 1, [DID_NOT_STRIKE])
    assert [one["lost_silently"] for one in as_json(made)["combinations"]] == [0, 1]


def test_the_auditor_tells_of_wrong_data_that_nobody_noticed() -> None:
    on, off = survivals(journal(SPOILED).recordings)
    found = {one.rule.name: one for one in judge.of(off)}
    assert "served-wrong-silently" in found
    assert "in 1 of 2 trials in which bits of a block of the database had turned" in found["served-wrong-silently"].text
    assert "served-wrong-silently" not in {one.rule.name for one in judge.of(on)}


def test_what_a_drive_has_spoiled_is_announced_by_it() -> None:
    for row in survivals(journal(SPOILED).recordings):
        assert row.losses_unannounced == 0


def test_where_power_failed_nothing_is_said_of_it(tmp_path: Any) -> None:
    made = factory.cut_off()
    assert "Who notices" not in shown(made)
    write_survival_page(made, tmp_path / "page.html")
    assert 'id="noticing"' not in (tmp_path / "page.html").read_text()
    assert as_json(made)["storage_failures"] == []
