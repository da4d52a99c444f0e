"""What columns of every type answer for what they are given: by family, the type, then pairs of a parameter and its answer."""

from __future__ import annotations

from typing import Any

Value = Any  # as in asking.py
Typed = tuple[str, list[tuple[Value, Value]]]


def text(letters: str) -> Value:
    return {"text": letters}


def whole(number: int) -> Value:
    return {"int": number}


def real(number: float) -> Value:
    return {"real": number}


def octets(digits: str) -> Value:
    return {"bytes": digits}


def same(*values: Value) -> list[tuple[Value, Value]]:
    return [(value, value) for value in values]


WHOLE = [(whole(-5), whole(-5)), (text("6"), whole(6)), (real(2.0), whole(2))]
EXACT = [
    (text("12345678901234.5678"), text("12345678901234.5678")), (whole(3), text("3.0000")), (real(0.25), text("0.2500")),
    (text("-0.05"), text("-0.0500")),
]  # fmt: skip
REAL = [(real(0.1), real(0.1)), (text("0.25"), real(0.25)), (whole(2), real(2.0))]
LETTERS = [(text("grün ? $1"), text("grün ? $1")), (whole(7), text("7")), (real(0.5), text("0.5")), *same(text(""))]
FIXED = [(text("ab"), text("ab   ")), (whole(7), text("7    "))]
DATE = same(text("2024-02-29"))
MOMENT = same(text("2024-02-29 12:34:56"))
# More than a segment of Firebird's, than a packet of MySQL's file, and than what is sent at once.
LONG = same(*({"pattern": many} for many in (1 << 16, (1 << 20) + 5, 1 << 23)))
HUGE = same({"pattern": 1 << 24})
BYTES = [*same(octets("00ff"), octets("")), (text("x"), octets("78"))]

SQLITE: list[Typed] = [
    ("integer", WHOLE), ("real", REAL), ("text", LETTERS), ("numeric(10,2)", [(text("12.50"), real(12.5))]),
    ("blob", [*same(octets("00ff"), octets(""), text("x")), *LONG, *HUGE]),
]  # fmt: skip
POSTGRESQL: list[Typed] = [
    ("smallint", WHOLE), ("integer", WHOLE), ("bigint", [*WHOLE, *same(whole(1 << 62))]), ("numeric(20,4)", EXACT),
    ("numeric", same(text("100"), text("1234567890.12345678901234567890"))), ("real", REAL), ("double precision", REAL),
    ("boolean", [(text("true"), text("t")), (whole(0), text("f"))]), ("date", DATE), ("time", same(text("12:34:56.789"))),
    ("timestamp", [*MOMENT, *same(text("2024-02-29 12:34:56.789"))]),
    ("timestamptz", [(text("epoch"), text("1970-01-01 00:00:00+00"))]), ("interval", same(text("1 day"))), ("char(5)", FIXED),
    ("varchar(20)", LETTERS), ("text", [*LETTERS, *same({"letters": 300_000})]),
    ("uuid", same(text("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"))), ("json", same(text('{"a": "\\\\ \\n"}'))),
    ("jsonb", same(text('{"a": 1}'))), ("integer[]", same(text("{1,2,3}"))), ("text[]", same(text('{a,"b c"}'))),
    ("mood", same(text("happy"))), ("inet", same(text("10.0.0.1"))),
    ("bytea", [*same(octets("00ff"), octets("")), (text("\\x00ff"), octets("00ff")), *LONG, *HUGE]),
]  # fmt: skip
MYSQL: list[Typed] = [
    ("tinyint", WHOLE), ("integer", WHOLE), ("bigint", [*WHOLE, *same(whole(1 << 62))]),
    ("bigint unsigned", same(text("18446744073709551615"), whole(4))), ("decimal(20,4)", EXACT), ("float", REAL),
    ("double", REAL), ("boolean", [(text("1"), whole(1))]), ("bit(10)", same(whole(513), whole(5))), ("date", DATE),
    ("time", same(text("12:34:56"))), ("datetime", MOMENT), ("timestamp null", MOMENT), ("year", same(whole(2024))),
    ("char(5)", [(text("ab"), text("ab"))]), ("varchar(20) character set utf8", LETTERS),
    ("longtext character set utf8", [*LETTERS, *same({"letters": 300_000})]), ("enum('a', 'b')", same(text("b"))),
    ("set('a', 'b')", same(text("a,b"))), ("binary(3)", [(octets("00ff"), octets("00ff00"))]), ("varbinary(8)", BYTES),
    ("blob", BYTES), ("longblob", [*BYTES, *LONG]),
]  # fmt: skip
FIREBIRD: list[Typed] = [
    ("smallint", WHOLE), ("integer", WHOLE), ("bigint", [*WHOLE, *same(whole(1 << 62))]), ("numeric(18,4)", EXACT),
    ("numeric(9,2)", [(text("1.25"), text("1.25"))]), ("decimal(4,1)", [(real(2.5), text("2.5"))]), ("float", REAL),
    ("double precision", REAL), ("boolean", same(text("true"), text("false"))), ("date", DATE),
    ("time", same(text("12:34:56"))), ("timestamp", [*MOMENT, *same(text("2024-02-29 12:34:56.789"))]),
    ("char(5)", FIXED), ("varchar(20)", LETTERS), ("varchar(20) character set utf8", LETTERS),
    ("varchar(8) character set octets", BYTES), ("char(3) character set octets", [(octets("00ff"), octets("00ff00"))]),
    ("blob sub_type text character set utf8", [*LETTERS, (octets("61"), text("a")), *same({"letters": 300_000})]),
    ("blob sub_type binary", [*BYTES, (whole(7), octets("37")), *LONG, *HUGE]),
]  # fmt: skip
FIREBIRD_4: list[Typed] = [
    ("int128", [(text("7"), whole(7)), (whole(5), whole(5)), *same(text("170141183460469231731687303715884105727"))]),
    ("numeric(38,6)", [*same(text("123456789012345678901234567890.123456")), (whole(2), text("2.000000"))]),
    ("decfloat(16)", [(text("1.5"), text("1.5")), (whole(3), text("3"))]),
    ("decfloat(34)", same(text("1.234567890123456789012345678901234"))),
    ("timestamp with time zone", same(text("2024-02-29 12:34:56.7000 Europe/Berlin"))),
    ("time with time zone", same(text("12:34:56.0000 +02:00"))),
]  # fmt: skip


def types_of(engine: str, family: str) -> list[Typed]:
    """The types of an engine, by its id and its family."""
    newer = FIREBIRD_4 if family == "firebird" and "3.0" not in engine else []
    return {"sqlite": SQLITE, "postgresql": POSTGRESQL, "mysql": MYSQL, "firebird": FIREBIRD}[family] + newer
