"""One session of the rig, asked directly: what no workload of ours asks is asked through `rig/session/examples/ask.rs`."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from acidtest.engine import Instance

CHECKOUT = Path(__file__).parents[2]

Value = Any  # None, or one of {"int": 1}, {"real": 0.5}, {"text": "a"}, {"bytes": "00ff"}; see the program


@cache
def program() -> str:
    """Where the program is, which is built when it is not."""
    asked = ["cargo", "build", "--locked", "--workspace", "--example", "ask", "--message-format", "json"]
    built = subprocess.run(asked, cwd=CHECKOUT, capture_output=True, text=True, check=True, timeout=800).stdout
    (found,) = (line["executable"] for line in map(json.loads, built.splitlines()) if line.get("executable"))
    return str(found)


class Refused(Exception):
    """The session answered with an error: its class, and its message."""

    def __init__(self, answer: dict[str, str]) -> None:
        super().__init__(f"{answer['class']}: {answer['message']}")
        self.kind, self.message = answer["class"], answer["message"]


class Asked:
    """A session on the database of ``instance``, until the end of a ``with``."""

    def __init__(self, instance: Instance) -> None:
        self._process = subprocess.Popen(
            [program()], env={**os.environ, **instance.environment()}, text=True, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self._ask(instance.target().model_dump(mode="json", by_alias=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, at: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=60)
        assert kind is not None or self._process.returncode == 0

    def _ask(self, command: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the program has ended"
        answer: dict[str, Any] = json.loads(line)
        if "class" in answer:
            raise Refused(answer)
        return answer

    def batch(self, sql: str) -> None:
        self._ask({"do": "batch", "sql": sql})

    def rows(self, sql: str) -> list[list[Value]]:
        return self._ask({"do": "rows", "sql": sql})["rows"]

    def prepare(self, *parts: str) -> tuple[int, list[str]]:
        """A statement whose parameters stand between ``parts``: its number, and the names of its columns."""
        answer = self._ask({"do": "prepare", "parts": list(parts)})
        return answer["statement"], answer["columns"]

    def run(self, statement: int, *parameters: Value) -> tuple[int, list[list[Value]]]:
        """Inside the open transaction: how many rows it changed, and those that it answered."""
        answer = self._ask({"do": "run", "statement": statement, "parameters": list(parameters)})
        return answer["changed"], answer["rows"]

    def alone(self, statement: int, *parameters: Value) -> tuple[int, list[list[Value]]]:
        """As `run`, in a transaction of its own."""
        answer = self._ask({"do": "alone", "statement": statement, "parameters": list(parameters)})
        return answer["changed"], answer["rows"]

    def begin(self) -> None:
        self._ask({"do": "begin"})

    def commit(self) -> None:
        self._ask({"do": "commit"})

    def rollback(self) -> None:
        self._ask({"do": "rollback"})

    def bulk(self, table: str, columns: list[str], rows: list[list[Value]]) -> int:
        return self._ask({"do": "bulk", "table": table, "columns": columns, "rows": rows})["taken"]
