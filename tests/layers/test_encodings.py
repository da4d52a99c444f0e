"""Files are read and written in UTF-8, whatever the locale says: no call leaves the encoding to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = ("run", "Popen", "check_output", "check_call")
FILES = ("open", "TemporaryFile", "NamedTemporaryFile", "SpooledTemporaryFile", "fdopen")
NO_FILES = ("os", "jar", "outer", "port", "urllib.request", "tarfile", "self.budget")  # whose open() has no text


def left_to_the_locale(source: str) -> Iterator[tuple[int, str]]:
    """Lines and calls of a module that read or write text without an encoding."""
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        keywords = {keyword.arg for keyword in call.keywords}
        if "encoding" in keywords:
            continue
        is_text = (
            name in ("read_text", "write_text")
            or (name in PROGRAMS and keywords & {"text", "universal_newlines"})
            or (name in FILES and _opens_text(call, name))
        )
        if is_text:
            yield call.lineno, ast.unparse(call)


def _opens_text(call: ast.Call, name: str) -> bool:
    if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in NO_FILES:
        return False
    words = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    modes = [word.value for word in words if isinstance(word, ast.Constant) and isinstance(word.value, str)]
    return not any("b" in mode for mode in modes) if name in ("open", "fdopen") else bool(modes)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("path.read_text()", True),
        ("path.read_text(errors='replace')", True),
        ("path.read_text(encoding='utf-8')", False),
        ("path.open()", True),
        ("path.open('w')", True),
        ("path.open('rb')", False),
        ("open(path, mode='ab')", False),
        ("os.open(path, os.O_RDONLY)", False),
        ("tempfile.TemporaryFile()", False),
        ("tempfile.TemporaryFile('w+')", True),
        ("subprocess.run(command, text=True)", True),
        ("subprocess.run(command, capture_output=True)", False),
    ],
)
def test_the_rule_knows_text_from_bytes(source: str, found: bool) -> None:
    assert bool(list(left_to_the_locale(source))) is found


def test_no_call_leaves_an_encoding_to_the_locale() -> None:
    modules = [file for top in ("src", "bench", "acidtest.data") for file in sorted((ROOT / top).rglob("*.py"))]
    assert len(modules) > 100
    found = [
        f"{file.relative_to(ROOT)}:{line}: {call}"
        for file in modules
        for line, call in left_to_the_locale(file.read_text(encoding="utf-8"))
    ]
    assert found == []
