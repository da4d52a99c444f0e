"""What every session must do with SQL that is not ours: any type, any text, a transaction of one statement."""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from asking import Asked, Refused
from typed import octets, text, types_of, whole

from acidtest.engine import Engine, Instance
from support import FIREBIRDS, MYSQLS, POSTGRESES

RETURNING = ("sqlite", *FIREBIRDS, *POSTGRESES)  # MySQL has no such statements, nor has MariaDB before 10.5


@pytest.fixture
def session(instance: Instance) -> Iterator[Asked]:
    with Asked(instance) as session:
        yield session


def table(session: Asked, name: str, column: str) -> None:
    session.batch(f"create table {name} (id integer not null primary key, v {column})")


def test_a_value_of_every_type_goes_in_and_comes_back(engine: Engine, session: Asked) -> None:
    if engine.family == "postgresql":
        session.batch("create type mood as enum ('sad', 'happy')")
    wrong = []
    for number, (column, pairs) in enumerate(types_of(engine.id, engine.family)):
        table(session, f"t{number}", column)
        insert, _ = session.prepare(f"insert into t{number} (id, v) values (", ", ", ")")
        select, names = session.prepare(f"select v, id as i from t{number} where id = ", "")
        assert names == ["v", "i"]
        given_and_wanted = [(None, None), *pairs]
        session.begin()
        for id_, (given, _) in enumerate(given_and_wanted):
            assert session.run(insert, whole(id_), given) == (1, [])
        session.commit()
        rows = [[whole(100 + id_), given] for id_, (given, _) in enumerate(given_and_wanted)]
        assert session.bulk(f"t{number}", ["id", "v"], rows) == len(rows)
        for id_, (given, wanted) in enumerate(given_and_wanted):
            for way in (0, 100):
                _, found = session.alone(select, whole(way + id_))
                if found != [[wanted, whole(way + id_)]]:
                    wrong.append((column, "in bulk" if way else "one by one", given, found))
    assert wrong == []


def test_a_statement_alone_is_committed_and_none_is_one_inside_a_transaction(instance: Instance) -> None:
    with Asked(instance) as session:
        table(session, "t", "integer")
        insert, _ = session.prepare("insert into t (id, v) values (", ", ", ")")
        update, _ = session.prepare("update t set v = v + ", "")
        assert session.alone(insert, whole(1), whole(5)) == (1, [])
        assert session.alone(insert, whole(2), whole(6)) == (1, [])
        assert session.alone(update, whole(10)) == (2, [])
        # A refusal leaves nothing open, and the session can be used.
        with pytest.raises(Refused) as refused:
            session.alone(insert, whole(1), whole(7))
        assert refused.value.kind == "constraint"
        session.begin()
        session.run(update, whole(1))
        with pytest.raises(Refused, match="a transaction is open, and the statement was to be one of its own"):
            session.alone(update, whole(1))
    # What was not committed is gone with its session.
    with Asked(instance) as session:
        select, names = session.prepare("select id, v from t order by id")
        assert names == ["id", "v"]
        assert session.alone(select)[1] == [[whole(1), whole(15)], [whole(2), whole(16)]]


def test_a_table_made_alone_is_there_for_the_next_statement(session: Asked) -> None:
    create, names = session.prepare("create table made (id integer not null primary key)")
    assert names == []
    session.alone(create)
    session.begin()
    # Prepared inside the transaction, which goes on.
    insert, names = session.prepare("insert into made (id) values (", ")")
    assert names == []
    session.run(insert, whole(3))
    count, names = session.prepare("select count(*) as many from made")
    assert (names, session.run(count)[1]) == (["many"], [[whole(1)]])
    session.rollback()
    assert session.alone(count)[1] == [[whole(0)]]


def test_a_session_waits_for_a_lock_that_another_process_keeps_for_a_moment(instance: Instance) -> None:
    """As the lab does, each time it gives an access hint on a descriptor of the engine's."""
    with ExitStack() as kept:
        for path in instance.database_files():
            if path.is_file():
                fcntl.flock(kept.enter_context(path.open("rb")), fcntl.LOCK_EX)
        released = threading.Timer(0.2, kept.close)
        released.start()
        with Asked(instance) as session:
            table(session, "t", "integer")
        released.join()


def test_a_question_mark_of_the_users_is_no_parameter(engine: Engine, session: Asked) -> None:
    table(session, "t", "varchar(20)")
    insert, _ = session.prepare("insert into t (id, v) values (", ", 'a ? b $1') /* why? */")
    session.alone(insert, whole(1))
    select, names = session.prepare("select v as \"Mixed\" from t where v = 'a ? b $1' and id = ", " -- ?")
    if engine.family == "mysql":
        select, names = session.prepare("select v as `Mixed` from t where v = 'a ? b $1' and id = ", " -- ?")
    assert (names, session.alone(select, whole(1))[1]) == (["Mixed"], [[text("a ? b $1")]])
    if engine.family == "postgresql":
        select, _ = session.prepare("select '{\"a\": 1}'::jsonb ? ", "")
        assert session.alone(select, text("a"))[1] == [[text("t")]]
    else:
        with pytest.raises(Refused, match="the engine finds 2 parameters in a statement that has 1"):
            session.prepare("select v from t where id = ? and id = ", "")


@pytest.mark.parametrize("engine", RETURNING, indirect=True)
def test_what_a_statement_returns_is_a_row(session: Asked) -> None:
    table(session, "t", "varchar(8)")
    insert, names = session.prepare("insert into t (id, v) values (", ", 'x') returning id, v as w")
    assert names == ["id", "w"]
    assert session.alone(insert, whole(4))[1] == [[whole(4), text("x")]]
    assert session.alone(session.prepare("select v, id from t")[0])[1] == [[text("x"), whole(4)]]


def test_an_error_names_the_place_in_the_statement(engine: Engine, session: Asked) -> None:
    place = {
        "postgresql": "at character 13 ",
        "mysql": "at line 2",
        "firebird": "line 2, column 3",
        "sqlite": 'near "from"',
    }
    with pytest.raises(Refused) as refused:
        session.prepare("select 1,\n  from nowhere")
    assert place[engine.family] in refused.value.message


@pytest.mark.parametrize("engine", MYSQLS, indirect=True)
def test_what_the_server_would_not_take_is_refused_in_one_line(session: Asked) -> None:
    table(session, "t", "longblob")
    insert, _ = session.prepare("insert into t (id, v) values (", ", ", ")")
    with pytest.raises(Refused, match=r"and the server takes at most \d+ at once \(max_allowed_packet"):
        session.alone(insert, whole(1), {"pattern": 1 << 24})
    assert session.alone(insert, whole(1), octets("00")) == (1, [])


@pytest.mark.parametrize("engine", POSTGRESES, indirect=True)
def test_a_load_goes_on_where_a_value_is_written_in_another_way(session: Asked) -> None:
    table(session, "t", "timestamp")
    rows = [[whole(1), text("2024-02-29 12:34:56")], [text("2"), text("epoch")], [whole(3), None]]
    assert session.bulk("t", ["id", "v"], rows) == 3
    wanted = [text("2024-02-29 12:34:56"), text("1970-01-01 00:00:00"), None]
    assert session.alone(session.prepare("select v from t order by id")[0])[1] == [[value] for value in wanted]
    with pytest.raises(Refused, match="invalid input syntax for type timestamp"):
        session.bulk("t", ["id", "v"], [[whole(4), text("never")]])
