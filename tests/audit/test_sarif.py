"""SARIF of any kit: what the JSON schema of 2.1.0 demands of what we write, its formats included; and what no viewer
may be made to obey."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidtest.audit.sarif import uri
from acidtest.words import harmless
from support import command

# RFC 3986: the characters of a reference, "%" only before two digits; no ":" before the first "/", which is a scheme's.
REFERENCE = re.compile(
    r"(?:[A-Za-z0-9._~!$&'()*+,;=@-]|%[0-9A-Fa-f]{2})*(?:/(?:[A-Za-z0-9._~!$&'()*+,;=@:-]|%[0-9A-Fa-f]{2})*)*"
)
NAMES = [b"50 % faster.md", b"caf\xe9.txt", "Größe.md".encode(), b"a:b.md", b"a#b?c.md", b"new\nline.md", b"\x1b[2Jclear.md",
         b"back\\slash.md", b"<b>.md", b"[a].md", "\u202emd.exe".encode(), b'"quoted".md']  # fmt: skip
SAYS = b"| a\x1b]0;title\x07 |\xe2\x80\xae tps |\n|---|---|\n| b\x1b[2J | 100 |\n| c | 130 |\n"


def strings(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    for name, one in value.items() if isinstance(value, dict) else ():
        yield from strings(one, name)
    for one in value if isinstance(value, list) else ():
        yield from strings(one, key)


@pytest.fixture
def log(tmp_path: Path) -> dict[str, Any]:
    kit = tmp_path / "kit"
    kit.mkdir()
    for name in NAMES:
        (kit / os.fsdecode(name)).write_bytes(SAYS)
    (kit / "unknown\x1b[1m").write_bytes(b"x")
    (kit / "link\u202e").symlink_to("nowhere\x1b[2J")
    os.mkfifo(kit / "pipe.log")
    (kit / "firebird.conf").write_bytes(b"\0")
    command("audit", kit, "--sarif", tmp_path / "found.sarif", "--except", "few-repetitions=it's \x1b[1m fine")
    read: dict[str, Any] = json.loads((tmp_path / "found.sarif").read_text())
    return read


def test_every_name_is_a_relative_reference_that_leads_to_the_file(log: dict[str, Any]) -> None:
    uris = {text for key, text in strings(log) if key == "uri"}
    assert uris
    assert all(REFERENCE.fullmatch(text) for text in uris)
    assert {"50%20%25%20faster.md", "caf%E9.txt", "a%3Ab.md", "a%23b%3Fc.md", "new%0Aline.md", "pipe.log"} <= uris


def test_no_text_holds_what_a_viewer_or_a_terminal_obeys(log: dict[str, Any]) -> None:
    assert all(text.isprintable() for _, text in strings(log))


def test_it_is_as_the_schema_demands(log: dict[str, Any]) -> None:
    """sarif-schema-2.1.0.json: no property that it has not, the required ones, the enumerations, minima, unique items."""
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    assert re.fullmatch(r"https://[\w./-]+", log["$schema"])
    (run,) = log["runs"]
    assert set(run) == {"tool", "results", "invocations"}
    assert set(run["tool"]) == {"driver"}
    driver = run["tool"]["driver"]
    assert set(driver) <= {"name", "version", "rules", "informationUri"}
    assert driver["name"]
    names = [rule["id"] for rule in driver["rules"]]
    assert len(names) == len(set(names))
    for rule in driver["rules"]:
        assert set(rule) <= {"id", "shortDescription", "help", "defaultConfiguration"}
        assert rule["defaultConfiguration"]["level"] in ("note", "warning", "error")
    for result in run["results"]:
        assert set(result) <= {"ruleId", "level", "message", "locations", "suppressions", "properties", "rank"}
        assert result["message"]["text"]
        assert result["level"] in ("note", "warning", "error")
        assert result["ruleId"] in names
        for of in result.get("suppressions", ()):
            assert set(of) <= {"kind", "justification"}
            assert of["kind"] in ("inSource", "external")
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is True
    assert set(invocation) <= {"executionSuccessful", "toolExecutionNotifications"}
    notifications = invocation["toolExecutionNotifications"]
    assert all(
        set(notification) <= {"level", "message", "locations"} and notification["message"]["text"]
        for notification in notifications
    )
    for result in (*run["results"], *notifications):
        for location in result.get("locations", ()):
            assert set(location) <= {"physicalLocation", "message"}
            assert set(location["physicalLocation"]) <= {"artifactLocation", "region"}
            assert location["physicalLocation"].get("region", {"startLine": 1})["startLine"] >= 1


@given(st.binary(min_size=1, max_size=40).filter(lambda raw: b"\0" not in raw and raw.strip(b"/")))
def test_any_name_is_a_reference(raw: bytes) -> None:
    assert REFERENCE.fullmatch(uri(os.fsdecode(raw)).removeprefix("./"))


@given(st.text(st.characters(codec=None), max_size=80))
def test_any_text_is_harmless_and_stays_itself_where_it_is(text: str) -> None:
    shown = harmless(text)
    assert shown.isprintable()
    assert harmless(shown) == shown
    if text.isprintable():
        assert shown == text


def test_nothing_of_a_kit_is_obeyed_by_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in NAMES:
        (tmp_path / os.fsdecode(name)).write_bytes(SAYS)
    (tmp_path / "odd\x1b[2J\u202e").write_bytes(b"x")
    (tmp_path / "link\x07").symlink_to("nowhere\x1b[2J")
    command("audit", tmp_path)
    output = capsys.readouterr()
    assert "\\x1b[2Jclear.md" in output.out
    assert "odd\\x1b[2J\\u202e" in output.out
    assert all(line.isprintable() for line in (output.out + output.err).split("\n"))
    (tmp_path / "odd\x1b[2J\u202e").rename(tmp_path / "postgresql.conf")
    (tmp_path / "postgresql.conf").write_bytes(b"\0")
    for path in tmp_path.iterdir():
        if path.name != "postgresql.conf":
            path.unlink()
    (tmp_path / "gone\x1b]0;x\x07").symlink_to("nowhere\x1b[2J")
    assert command("audit", tmp_path) == 2
    output = capsys.readouterr()
    assert all(line.isprintable() for line in (output.out + output.err).split("\n"))
