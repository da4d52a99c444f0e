"""What is kept of how long tests take (tests/durations.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import durations

CARGO = """\
   Compiling disk v0.1.0 (/checkout/rig/disk)
    Finished `test` profile [optimized + debuginfo] target(s) in 3m 11s
     Running unittests src/lib.rs (target/debug/deps/disk-1f0c9e5b5c1d7a3e)

running 1 test
test faults::tests::a_fault_is_read_back ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 4.02s

     Running tests/fuzz_faults.rs (/elsewhere/debug/deps/fuzz_faults-aa0c9e5b5c1d7a3e)

running 1 test
test a_changed_fault_is_read_or_refused ... FAILED

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 12.50s
"""


@pytest.fixture
def tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with two files of tests, and what is kept of an older run: of one of them, and of one that is gone."""
    tests = tmp_path / "tests"
    (tests / "place").mkdir(parents=True)
    for name in ("test_a.py", "test_b.py"):
        (tests / "place" / name).touch()
    monkeypatch.setattr(durations, "TESTS", tests)
    monkeypatch.setattr(durations, "KEPT", tests / "durations.json")
    kept = {"tests": 1, "s": 7.0, "extents": {"test": {"tests": 1, "s": 7.0, "costs": {}}}, "slow": {"test_old": 7.0}}
    files = {f"tests/place/{name}": kept for name in ("test_b.py", "test_gone.py")}
    (tests / "durations.json").write_text(json.dumps({"files": files}))
    return tests


def test_a_run_is_folded_into_what_is_kept_and_into_the_page(tests: Path, tmp_path: Path) -> None:
    lines = [
        {"test": "tests/place/test_a.py::test_kill[loop]", "s": 3.0, "extent": "test", "costs": {"places": 1.0}},
        {"test": "tests/place/test_a.py::test_kill[disk]", "s": 20.0, "extent": "long", "costs": {}},
        {
            "test": "tests/place/test_a.py::test_small",
            "s": 0.1,
            "extent": "test",
            "costs": {},
            "fixtures": {"guest": 5.0},
        },
    ]
    run, page = tmp_path / "run", tmp_path / "CONTRIBUTING.md"
    run.mkdir()
    (run / "beside.durations").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (run / "rust").write_text(CARGO)
    page.write_text(f"before\n\n{durations.BEGIN}\n\nan older table\n\n{durations.END}\n\nafter\n")
    durations.main(run)
    kept = durations.Kept()
    assert (set(kept.files), kept.rig) == (
        {"tests/place/test_a.py", "tests/place/test_b.py"}, {"disk": 4.02, "fuzz_faults": 12.5}
    )  # fmt: skip
    assert kept.fixtures == {"guest": {"times": 1, "s": 5.0}}
    assert [kept.seconds(f"tests/place/{test}") for test in ("test_a.py::test_kill[disk]", "test_b.py::test_old")] == [
        20,
        7,
    ]
    assert kept.seconds("tests/place/test_a.py::test_new") == pytest.approx(0.1)
    before, table = page.read_text().split(f"{durations.BEGIN}\n\n")
    rows = {line.split("|")[1].strip(): line.split("|")[2:-1] for line in table.partition("\n\n")[0].splitlines()}
    assert [figure.strip() for figure in rows["place"]] == ["3", "10", "0", "0", "1", "0", "0", "9", "0", "1", "20"]
    assert (before, table.partition(durations.END)[2], "older" in table) == ("before\n\n", "\n\nafter\n", False)


@pytest.mark.parametrize(
    ("reported", "test"),
    [
        ("tests/x.py::test_a@place test_a.py", "tests/x.py::test_a"),
        ("tests/x.py::test_a[user@host]@guest", "tests/x.py::test_a[user@host]"),
        ("tests/x.py::test_a[user@host]", "tests/x.py::test_a[user@host]"),
    ],
)
def test_a_group_is_no_part_of_a_tests_name(reported: str, test: str) -> None:
    assert durations.GROUP.sub("", reported) == test
