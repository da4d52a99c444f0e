"""Settings in other places than the engines' own files: each in several shapes, by what a file holds and not by its name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from acidtest.audit.bench import Configuration, Database, Mount
from acidtest.audit.importers import (
    containers,
    dumps,
    known,
    markdown,
    server_commands,
    shell,
    statements,
    values,
)
from acidtest.audit.importers.file import File, Importer, Part
from tables import rows

Told = tuple[str, str, str, int | None]  # engine, name, value, line


def parts(tmp_path: Path, importer: Importer, text: str | bytes, name: str = "some.thing") -> Sequence[Part]:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return importer.read(File(path, name)) or []


def told(found: Sequence[Part]) -> set[Told]:
    return {
        (part.engine, s.name, s.value, s.where.line)
        for part in found
        if isinstance(part, Configuration)
        for s in part.settings
    }


def only(found: Sequence[Part]) -> Configuration:
    (one,) = (part for part in found if isinstance(part, Configuration))
    return one


# Dumps: what it is, its text, what it says.
VARIABLES = {("mysql", "innodb_flush_log_at_trx_commit", "2"), ("mysql", "sync_binlog", "0")}
ALL = {("postgresql", "shared_buffers", "4GB"), ("postgresql", "fsync", "off")}
DUMPS = [
    ("mysql's table", "mysql> SHOW GLOBAL VARIABLES;\n+---+---+\n| Variable_name | Value |\n+---+---+\n| innodb_flush_log_at_trx_commit | 2 |\n"
     "| sync_binlog | 0 |\n+---+---+\n2 rows in set (0.00 sec)\n", VARIABLES),
    ("batch form", "Variable_name\tValue\ninnodb_flush_log_at_trx_commit\t2\nsync_binlog\t0\n", VARIABLES),
    ("batch form amid a log", "starting\n\nVariable_name\tValue\ninnodb_flush_log_at_trx_commit\t2\nsync_binlog\t0\nThreads: 4\n", VARIABLES),
    ("a schema's table", "| VARIABLE_NAME | VARIABLE_VALUE |\n+---+---+\n| INNODB_FLUSH_LOG_AT_TRX_COMMIT | 2 |\n| SYNC_BINLOG | 0 |\n", VARIABLES),
    ("columns of @@", "+---+---+\n| @@innodb_flush_log_at_trx_commit | @@global.sync_binlog |\n+---+---+\n| 2 | 0 |\n+---+---+\n", VARIABLES),
    ("columns of @@ in batch form", "@@innodb_flush_log_at_trx_commit\t@@sync_binlog\n2\t0\n", VARIABLES),
    ("CSV of a client", '"Variable_name","Value"\n"innodb_flush_log_at_trx_commit","2"\n"sync_binlog","0"\n', VARIABLES),

    ("psql's SHOW ALL", "      name      | setting | description\n----------------+---------+-------------\n fsync          | off     | Forces\n"
     " shared_buffers | 4GB     | Sets\n(2 rows)\n", ALL),
    ("unaligned", "name|setting|description\nfsync|off|Forces\nshared_buffers|4GB|Sets\n(2 rows)\n", ALL),
    ("CSV", 'name,setting,unit\nfsync,off,\nshared_buffers,524288,8kB\n', ALL),
    ("CSV with quoted lines", 'name,setting,description\nfsync,off,"Forces\nit"\nshared_buffers,4GB,"Sets, it"\n', ALL),

    ("one SHOW each", " shared_buffers \n----------------\n 4GB\n(1 row)\n\n fsync \n-------\n off\n(1 row)\n", ALL - {("postgresql", "fsync", "off")}),
    ("several settings in a row", " shared_buffers | fsync\n---+---\n 4GB | off\n(1 row)\n", ALL),


    ("SQLite's shell", "sqlite> PRAGMA journal_mode;\nwal\nsqlite> pragma main.synchronous;\n1\n",
     {("sqlite", "journal_mode", "wal"), ("sqlite", "synchronous", "1")}),
]  # fmt: skip


@rows(*DUMPS)
def test_what_an_engine_says_of_itself(_: str, text: str, wanted: set[tuple[str, str, str]], tmp_path: Path) -> None:
    found = parts(tmp_path, dumps.IMPORTER, text)
    assert {one[:3] for one in told(found)} == wanted
    lines = text.split("\n")
    for _, name, value, line in told(found):
        near = " ".join(lines[max(0, (line or 1) - 2) : line]).lower().replace("-", "_")
        assert name in near or value.lower() in near or name in ("debug_assertions", "block_size")


NO_DUMPS = [
    "Variable_name\tValue\nInnodb_rows_read\t20\nThreads_running\t3\n",  # SHOW STATUS
    "name | value\n---+---\ntps | 100\nlatency | 3\n",
    "setting|name\n",
    "name,setting\n",
    "a\tb\nc\td\n" * 20,
    '[{"name": "x", "value": "y"}]',
    '{"name": [[[[',
    "BINDIR = /usr/bin\n",
]


@rows(*NO_DUMPS)
def test_other_tables_are_no_dumps(text: str, tmp_path: Path) -> None:
    assert list(parts(tmp_path, dumps.IMPORTER, text)) == []


@rows(
    ("8.0.36", "mysql", "8.0.36"), ("10.11.6-MariaDB-log", "mariadb", "10.11.6"), ("8.0.36-28", "mysql", "8.0.36"),
)  # fmt: skip
def test_a_dump_says_which_product_it_is_of(said: str, engine: str, version: str, tmp_path: Path) -> None:
    one = only(parts(tmp_path, dumps.IMPORTER, f"Variable_name\tValue\nsync_binlog\t1\nversion\t{said}\n"))
    assert (one.engine, one.version, one.source) == (engine, version, "dump")


@rows(
    ("16384", "8kB", "128MB"), ("1000", "8kB", "8000kB"), ("300", "s", "5min"), ("200", "ms", "200ms"),
    ("0", "kB", "0"), ("-1", "8kB", "-1"), ("on", "", "on"), ("1", "GB", "1GB"), ("1024", "MB", "1GB"),
)  # fmt: skip
def test_an_amount_is_told_as_show_tells_it(number: str, unit: str, shown: str) -> None:
    assert dumps.shown(number, unit) == shown


# Commands: a line or several, what they set.
COMMANDS = [
    ("mysqld --innodb-flush-log-at-trx-commit=2 --skip-log-bin", {("mysql", "innodb_flush_log_at_trx_commit", "2", 1), ("mysql", "skip_log_bin", "ON", 1)}),
    ("sudo -u mysql nohup /usr/sbin/mysqld --loose-innodb_x=1 --sync-binlog 0 --port 3307 &", {("mysql", "innodb_x", "1", 1), ("mysql", "sync_binlog", "0", 1), ("mysql", "port", "3307", 1)}),
    ("mariadbd-safe --skip-innodb-doublewrite", {("mariadb", "innodb_doublewrite", "OFF", 1)}),
    ("postgres -D data -c shared_buffers=4GB --work-mem=64MB -F", {("postgresql", "shared_buffers", "4GB", 1), ("postgresql", "work_mem", "64MB", 1), ("postgresql", "fsync", "off", 1)}),
    ("sudo -u postgres /usr/lib/postgresql/16/bin/postgres -B 16384 -cfsync=off", {("postgresql", "shared_buffers", "16384", 1), ("postgresql", "fsync", "off", 1)}),
    ('su - postgres -c "pg_ctl -D x -o \'-c jit=off -N 20\' start"', {("postgresql", "jit", "off", 1), ("postgresql", "max_connections", "20", 1)}),
    ("pg_ctl --options='-c jit=off' restart", {("postgresql", "jit", "off", 1)}),
    ("initdb -k --wal-segsize=64 -c fsync=off -D x", {("postgresql", "data_checksums", "on", 1), ("postgresql", "wal_segment_size", "64MB", 1), ("postgresql", "fsync", "off", 1)}),
    ("PGOPTIONS='-c synchronous_commit=off' pgbench -c 8", {("postgresql", "synchronous_commit", "off", 1)}),
    ("export PGOPTIONS='-c synchronous_commit=off'", {("postgresql", "synchronous_commit", "off", 1)}),
    ("SIZE=8G\nmysqld --innodb-buffer-pool-size=${SIZE} --sync-binlog=${N:-1}", {("mysql", "innodb_buffer_pool_size", "8G", 2), ("mysql", "sync_binlog", "1", 2)}),
    ("for n in 1 2; do\nmysqld --sync-binlog=$n --innodb-io-capacity=200\ndone", {("mysql", "innodb_io_capacity", "200", 2)}),
    ("SIZE=$(free -m)\nmysqld --innodb-buffer-pool-size=$SIZE", set()),
    ("mysqld --sync-binlog=0 \\\n  --innodb-doublewrite=OFF \\\n  --skip-log-bin", {("mysql", "sync_binlog", "0", 1), ("mysql", "innodb_doublewrite", "OFF", 2), ("mysql", "skip_log_bin", "ON", 3)}),
    ("ExecStart=/usr/sbin/mysqld --sync-binlog=0 $MYSQLD_OPTS", {("mysql", "sync_binlog", "0", 1)}),
    ("+ exec mysqld --sync-binlog=0", {("mysql", "sync_binlog", "0", 1)}),
    ("root@db1:~# mysqld --sync-binlog=0", {("mysql", "sync_binlog", "0", 1)}),
    ("mysql  1234  0.5  2.0 1800000 400000 ?  Sl  10:00  0:12 /usr/sbin/mysqld --sync-binlog=0", {("mysql", "sync_binlog", "0", 1)}),
    ("cat <<EOF > /etc/my.cnf\n[mysqld]\nsync_binlog = 0\nskip-log-bin\nEOF", {("mysql", "sync_binlog", "0", 3), ("mysql", "skip_log_bin", "ON", 4)}),
    ("cat >> $PGDATA/postgresql.conf <<'X'\nfsync = off # fast\nwal_level minimal\nX", {("postgresql", "fsync", "off", 2), ("postgresql", "wal_level", "minimal", 3)}),
    ("ssh db <<EOF\nmysqld --sync-binlog=0\nEOF", {("mysql", "sync_binlog", "0", 2)}),
    ('echo "synchronous_commit = off" >> postgresql.conf', {("postgresql", "synchronous_commit", "off", 1)}),
    ('echo "fsync=off" | sudo tee -a /etc/postgresql/16/main/postgresql.conf', {("postgresql", "fsync", "off", 1)}),
    ("sed -i 's/#shared_buffers = 128MB/shared_buffers = 40GB/' postgresql.conf", {("postgresql", "shared_buffers", "40GB", 1)}),
    ("sudo -u postgres sed -i -e 's|^#*wal_level.*|wal_level = minimal|' postgresql.conf", {("postgresql", "wal_level", "minimal", 1)}),

    ("# mysqld --sync-binlog=0", set()),
    ("echo 'mysqld does not start'", set()),
    ("systemctl stop mysqld --no-block", set()),
    ("pgrep postgres -c", set()),
]  # fmt: skip


@rows(*COMMANDS)
def test_what_command_lines_set(text: str, wanted: set[Told], tmp_path: Path) -> None:
    found = parts(tmp_path, shell.IMPORTER, text)
    assert told(found) == wanted
    assert all(one.source in ("command line", "environment") for one in found if isinstance(one, Configuration))


def test_what_gfix_writes_into_a_header(tmp_path: Path) -> None:
    (one,) = parts(tmp_path, shell.IMPORTER, "gfix -user sysdba -write async -buffers 5000 host:/data/a.fdb\n")
    assert isinstance(one, Database)
    assert (one.name, one.forced_writes, one.page_buffers) == ("a.fdb", False, 5000)


def test_a_mounted_file_system_of_a_script(tmp_path: Path) -> None:
    text = "mount -t tmpfs -o size=4G none /var/lib/mysql\nmount /dev/sdb1 /x\nmount -o nobarrier /dev/sdc1 /data\n"
    assert {
        (part.point, part.filesystem) for part in parts(tmp_path, shell.IMPORTER, text) if isinstance(part, Mount)
    } == {
        ("/var/lib/mysql", "tmpfs"),
        ("/data", ""),
    }


RUNS = [
    ("docker run -d --name db -e MYSQL_ROOT_PASSWORD=x --tmpfs /var/lib/mysql:rw mysql:8.0.36 --sync-binlog=0", "mysql", "8.0.36", "db", {"sync_binlog": "0"}, {"/var/lib/mysql": "tmpfs"}),
    ("podman run -it --rm -v data:/var/lib/postgresql/data docker.io/library/postgres:16-alpine postgres -c fsync=off", "postgresql", "16", "postgres:16-alpine", {"fsync": "off"}, {"/var/lib/postgresql/data": "volume"}),
    ("docker run -v /srv/x:/var/lib/mysql --mount type=tmpfs,target=/tmp quay.io/mariadb/mariadb:10.11 --innodb-doublewrite=0", "mariadb", "10.11", "mariadb:10.11", {"innodb_doublewrite": "0"}, {"/var/lib/mysql": "bind", "/tmp": "tmpfs"}),
    ("docker run -e POSTGRES_INITDB_ARGS=--data-checksums --name=p timescale/timescaledb:2.14.2-pg16", "postgresql", "16", "p", {"data_checksums": "on"}, {}),
    ("docker run --name own my-own-image --innodb_buffer_pool_size=1G --innodb_log_file_size=1G", "mysql", "", "own", {"innodb_buffer_pool_size": "1G", "innodb_log_file_size": "1G"}, {}),
    ("docker run -e POSTGRESQL_SHARED_BUFFERS=1GB -e POSTGRESQL_PORT=1 --name b bitnami/postgresql:15.4.0", "postgresql", "15.4.0", "b", {"shared_buffers": "1GB"}, {}),
    ("start:\n\t@docker run --name mk \\\n\t\tmysql:8 --sync-binlog=0", "mysql", "8", "mk", {"sync_binlog": "0"}, {}),
    ("docker run -e FIREBIRD_CONF_TempCacheLimit=1G --name f firebirdsql/firebird:5.0.1", "firebird", "5.0.1", "f", {"tempcachelimit": "1G"}, {}),
    ("docker run -e POSTGRES_SHARED_BUFFERS=1GB --name o postgres:17", "postgresql", "17", "o", {}, {}),  # which the official image does not know
]  # fmt: skip


@rows(*RUNS)
def test_a_container_of_a_command(
    line: str, engine: str, version: str, side: str, settings: dict[str, str], mounts: dict[str, str], tmp_path: Path
) -> None:
    found = parts(tmp_path, shell.IMPORTER, line)
    configurations = [one for one in found if isinstance(one, Configuration)]
    assert {(configuration.engine, configuration.version, configuration.side) for configuration in configurations} == {
        (engine, version, side)
    }
    assert {
        setting.name: setting.value for configuration in configurations for setting in configuration.settings
    } == settings
    assert {one.point: one.filesystem for one in found if isinstance(one, Mount)} == mounts


IMAGES = [("mysql", "mysql", ""), ("mysql/mysql-server:8.0", "mysql", "8.0"), ("percona/percona-server:8.4.0-1", "mysql", "8.4.0"),
          ("bitnami/postgresql:16.2.0-debian-11", "postgresql", "16.2.0"), ("postgres@sha256:00", "postgresql", ""),
          ("pgvector/pgvector:pg16", "postgresql", ""), ("localhost:5000/library/postgres:15", "postgresql", "15"),
          ("jacobalberty/firebird:v4.0", "firebird", "4.0"), ("mariadb:lts", "mariadb", "")]  # fmt: skip


@rows(*IMAGES)
def test_images_of_engines(name: str, engine: str, version: str) -> None:
    image = server_commands.image(name)
    assert image is not None
    assert (image.engine, image.version) == (engine, version)


@rows("phpmyadmin", "prom/mysqld-exporter", "postgres-exporter:1", "redis:7", "pgadmin4", "dpage/pgadmin4", "")
def test_images_of_others(name: str) -> None:
    assert server_commands.image(name) is None


COMPOSE = """
x-all: &all
  tmpfs: /var/lib/mysql
services:
  my:
    <<: *all
    image: mysql:${MYSQL:-8.0.36}
    command: >
      --sync-binlog=0
      --innodb-doublewrite=OFF
  pg:
    image: postgres:${PG}
    command: ["postgres", "-c", "fsync=off",
              "-c", "work_mem=8MB"]
    environment:
      - POSTGRES_INITDB_ARGS=--data-checksums
    volumes:
      - {type: tmpfs, target: /var/lib/postgresql/data}
      - ./conf/pg.conf:/etc/postgresql/postgresql.conf:ro
  maria:
    image: mariadb:11.4
    volumes: ["ram:/var/lib/mysql"]
  app: {image: "redis:7"}
volumes:
  ram: {driver_opts: {type: tmpfs}}
"""


def test_services_of_a_compose_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PG=16.2\n")
    found = parts(tmp_path, containers.IMPORTER, COMPOSE, "anything.txt")
    assert told(found) == {
        ("mysql", "sync_binlog", "0", 9),
        ("mysql", "innodb_doublewrite", "OFF", 10),
        ("postgresql", "fsync", "off", 13),
        ("postgresql", "work_mem", "8MB", 14),
        ("postgresql", "data_checksums", "on", 16),
    }
    configurations = [one for one in found if isinstance(one, Configuration)]
    assert {(configuration.side, configuration.version) for configuration in configurations} == {
        ("my", "8.0.36"),
        ("pg", "16.2"),
        ("maria", "11.4"),
    }
    assert {path for configuration in configurations for path in configuration.reads} == {"conf/pg.conf"}
    assert {(one.side, one.point, one.filesystem) for one in found if isinstance(one, Mount)} == {
        ("my", "/var/lib/mysql", "tmpfs"),
        ("pg", "/var/lib/postgresql/data", "tmpfs"),
        ("maria", "/var/lib/mysql", "tmpfs"),
    }


def test_an_image_that_is_made_of_an_engines(tmp_path: Path) -> None:
    text = 'FROM golang AS build\nRUN go build\nFROM mysql:8.4.0\nCOPY my.cnf /etc/mysql/conf.d/\nCMD ["mysqld", "--sync-binlog=0"]\n'
    found = parts(tmp_path, containers.IMPORTER, text, "a/Dockerfile")
    assert {(one.side, one.version, one.source) for one in found if isinstance(one, Configuration)} == {
        ("", "8.4.0", "environment"),
        ("", "8.4.0", "command line"),
    }
    assert told(found) == {("mysql", "sync_binlog", "0", 5)}


@rows(
    "services:\n  web: {image: redis}\n", "image: [mysql\n", "services: mysql\n", "kind: Pod\nimage: mysql\n",
    "&a [*a, mysql]\nimage:",
    "services:\n  x: {image: mysql, command: {a: b}, volumes: {a: b}, tmpfs: {a: b}}\n",
    "services: {a: {image: 'mysql', environment: [[]], volumes: [[], {}], configs: [a, {b: c}]}}",
)  # fmt: skip
def test_what_is_no_such_file_sets_nothing(text: str, tmp_path: Path) -> None:
    assert told(parts(tmp_path, containers.IMPORTER, text)) == set()


STATEMENTS = [
    ("SET GLOBAL innodb_flush_log_at_trx_commit = 2, GLOBAL sync_binlog=0;", {("mysql", "innodb_flush_log_at_trx_commit", "2", 1), ("mysql", "sync_binlog", "0", 1)}),
    ('mysql -e "set @@global.sync_binlog = 0; SET PERSIST innodb_buffer_pool_size=8*1024*1024"', {("mysql", "sync_binlog", "0", 1), ("mysql", "innodb_buffer_pool_size", "8388608", 1)}),
    ("psql -c \"ALTER SYSTEM SET shared_buffers = '4GB'\"", {("postgresql", "shared_buffers", "4GB", 1)}),
    ("\nalter system set synchronous_commit to off;", {("postgresql", "synchronous_commit", "off", 2)}),
    ("ALTER DATABASE bench SET synchronous_commit = 'off';", {("postgresql", "synchronous_commit", "off", 1)}),
    ('ALTER ROLE "the tester" SET work_mem TO 64;', {("postgresql", "work_mem", "64", 1)}),
    ('cur.execute("SET synchronous_commit = off")', {("postgresql", "synchronous_commit", "off", 1)}),
    ('db.Exec("PRAGMA journal_mode=WAL; PRAGMA main.synchronous = 1")', {("sqlite", "journal_mode", "WAL", 1), ("sqlite", "synchronous", "NORMAL", 1)}),
    ('conn.pragma_update(None, "journal_mode", "WAL")', {("sqlite", "journal_mode", "WAL", 1)}),
    ("db.pragma('journal_mode = TRUNCATE');", {("sqlite", "journal_mode", "TRUNCATE", 1)}),
    ('sql.Open("sqlite3", "file:x.db?_journal=WAL&_sync=0&_pragma=mmap_size(1000)")', {("sqlite", "journal_mode", "WAL", 1), ("sqlite", "synchronous", "OFF", 1), ("sqlite", "mmap_size", "1000", 1)}),
    ("url: jdbc:mysql://h/db?x=1&sessionVariables=transaction_isolation='READ-COMMITTED',sync_binlog=0", {("mysql", "transaction_isolation", "READ-COMMITTED", 1), ("mysql", "sync_binlog", "0", 1)}),
    ("postgresql://h/db?options=-c%20synchronous_commit%3Doff", {("postgresql", "synchronous_commit", "off", 1)}),
    ("-- ALTER SYSTEM SET fsync = off", set()),
    ("# SET GLOBAL sync_binlog = 0", set()),
    ("ALTER SYSTEM SET fsync TO DEFAULT", set()),
    ("#pragma once\n#pragma omp parallel", set()),
    ("SET GLOBAL", set()),
]  # fmt: skip


@rows(*STATEMENTS)
def test_what_statements_set(text: str, wanted: set[Told], tmp_path: Path) -> None:
    found = parts(tmp_path, statements.IMPORTER, text)
    assert told(found) == wanted
    assert all(one.source == "statement" for one in found if isinstance(one, Configuration))


def test_a_name_stays_as_it_was_written(tmp_path: Path) -> None:
    (setting,) = only(parts(tmp_path, statements.IMPORTER, "SET GLOBAL Sync_Binlog = 0;")).settings
    assert setting.says().text == "Sync_Binlog = 0"


def test_the_pages_of_a_database_that_a_script_creates(tmp_path: Path) -> None:
    (one,) = parts(
        tmp_path, statements.IMPORTER, "CREATE DATABASE 'localhost:/data/a.fdb' USER 'SYSDBA' PAGE_SIZE = 16384;\n"
    )
    assert isinstance(one, Database)
    assert (one.name, one.page_bytes) == ("a.fdb", 16384)


VALUES = [
    ("Ansible variables", "group.yml", "postgresql_config:\n  shared_buffers: 8GB\n  fsync: 'off'\n", {("postgresql", "shared_buffers", "8GB", 2), ("postgresql", "fsync", "off", 3)}),
    ("variables with prefix and unit", "all.yml", "postgres_max_wal_size_gb: 96\npostgres_checkpoint_timeout: 6min\napp_port: 1\n", {("postgresql", "max_wal_size", "96GB", 1), ("postgresql", "checkpoint_timeout", "6min", 2)}),
    ("a list of options", "x.yml", "postgresql_global_config_options:\n  - option: shared_buffers\n    value: 8GB\n  - {option: jit, value: 'off'}\n", {("postgresql", "shared_buffers", "8GB", 3), ("postgresql", "jit", "off", 4)}),
    ("a module's arguments", "x.yml", "- name: tune\n  mysql_variables:\n    variable: innodb_io_capacity\n    value: 2000\n", {("mysql", "innodb_io_capacity", "2000", 4)}),
    ("a task's lines", "x.yml", "- ini_file: {path: /etc/my.cnf, section: mysqld, option: sync_binlog, value: '0'}\n", {("mysql", "sync_binlog", "0", 1)}),
    ("a task's command", "x.yml", "- hosts: db\n  tasks:\n    - shell: |\n        mysqld --sync-binlog=0 --innodb-doublewrite=0\n", {("mysql", "sync_binlog", "0", 4), ("mysql", "innodb_doublewrite", "0", 4)}),
    ("Helm values", "values.yaml", "primary:\n  extendedConfiguration: |-\n    shared_buffers = 2GB\n    work_mem = 8MB\n", {("postgresql", "shared_buffers", "2GB", 3), ("postgresql", "work_mem", "8MB", 4)}),
    ("a my.cnf in a value", "values.yaml", "mysql:\n  configuration: |\n    [mysqld]\n    sync_binlog=0\n", {("mysql", "sync_binlog", "0", 4)}),
    ("an operator's parameters", "x.yaml", "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: c1}\nspec:\n  postgresql:\n    parameters:\n      shared_buffers: 1GB\n      fsync: 'off'\n", {("postgresql", "shared_buffers", "1GB", 7), ("postgresql", "fsync", "off", 8)}),
    ("JSON", "x.json", '{"db": {"innodb_buffer_pool_size": "8G",\n "innodb_io_capacity": 2000}}', {("mysql", "innodb_buffer_pool_size", "8G", 1), ("mysql", "innodb_io_capacity", "2000", 2)}),
    ("TOML", "x.toml", '[database]\ninnodb_buffer_pool_size = "8G"\nsync_binlog = 0\n', {("mysql", "innodb_buffer_pool_size", "8G", 2), ("mysql", "sync_binlog", "0", 3)}),
    ("an object of a program", "x.js", "const c = {\n  journal_mode: 'WAL',\n  synchronous: 'NORMAL',\n};\n", {("sqlite", "journal_mode", "WAL", 2), ("sqlite", "synchronous", "NORMAL", 3)}),
    ("a program's strings", "x.py", 'lines = ["checkpoint_timeout = 7200"]\nmore("max_connections = 1000")\n', {("postgresql", "checkpoint_timeout", "7200", 1), ("postgresql", "max_connections", "1000", 2)}),
    ("a program's arguments", "X.java", '.withCommand("postgres", "-c", "fsync=off", "-c", "shared_buffers=1GB")\n', {("postgresql", "fsync", "off", 1), ("postgresql", "shared_buffers", "1GB", 1)}),
    ("a template is filled in later", "x.yml", "innodb_buffer_pool_size: '{{ size }}'\nsync_binlog: 0\n", {("mysql", "sync_binlog", "0", 2)}),
    ("what several cases set differently", "x.yml", "a: {sync_binlog: 0, innodb_io_capacity: 200}\nb: {sync_binlog: 1, innodb_io_capacity: 200}\n", {("mysql", "innodb_io_capacity", "200", 1)}),
    ("what is computed", "x.py", "innodb_buffer_pool_size = compute(8)\n", set()),
    ("names of others", "x.yml", "port: 1\nuser: x\nsynchronous: true\ntimeout: 3\n", set()),
    ("no YAML at all", "x.yml", "shared_buffers: [\n", set()),
]  # fmt: skip


@rows(*VALUES)
def test_settings_as_values_of_something_else(_: str, name: str, text: str, wanted: set[Told], tmp_path: Path) -> None:
    assert told(parts(tmp_path, values.IMPORTER, text, name)) == wanted


def test_an_operators_cluster_is_a_side(tmp_path: Path) -> None:
    text = "apiVersion: acid.zalan.do/v1\nkind: postgresql\nmetadata: {name: bench}\nspec:\n  postgresql:\n    version: '15'\n    parameters: {shared_buffers: 1GB}\n"
    one = only(parts(tmp_path, values.IMPORTER, text))
    assert (one.side, one.version, one.engine) == ("bench", "15", "postgresql")


TEXTS = [
    ("a block", "# Setup\n\n```conf\nshared_buffers = 4GB\nfsync = off\n```\n", {("postgresql", "shared_buffers", "4GB", 4), ("postgresql", "fsync", "off", 5)}),
    ("an indented block", "x:\n\n    [mysqld]\n    sync_binlog = 0\n", {("mysql", "sync_binlog", "0", 4)}),
    ("a command", "```sh\n$ mysqld --sync-binlog=0\n```\n", {("mysql", "sync_binlog", "0", 2)}),
    ("statements", "```sql\nPRAGMA journal_mode = WAL;\n```\n", {("sqlite", "journal_mode", "WAL", 2)}),
    ("a dump", "```\nname|setting\nshared_buffers|4GB\nfsync|off\n```\n", {("postgresql", "shared_buffers", "4GB", 3), ("postgresql", "fsync", "off", 4)}),
    ("a table", "| Setting | Value | Default |\n|---|---|---|\n| `shared_buffers` | 4 GB | 128MB |\n| fsync | **off** | on |\n", {("postgresql", "shared_buffers", "4GB", 3), ("postgresql", "fsync", "off", 4)}),
    ("a table turned around", "| run | sync_binlog |\n|---|---|\n| durable | 1 |\n", {("mysql", "sync_binlog", "1", 3)}),
    ("numbers of another language", "| Parameter | Wert |\n|---|---|\n| innodb_io_capacity | 2.000.000 |\n| checkpoint_completion_target | 0,9 |\n", {("mysql", "innodb_io_capacity", "2000000", 3)}),
    ("what is asked or denied", "What does synchronous_commit=off cost us here?\n\nWe did not run with innodb_doublewrite=OFF on any of the servers.\n", set()),
    ("what is said of a setting", "The meaning of shared_buffers is explained in the manual; see wal_level for more.\n", set()),
    ("another table", "| run | tps |\n|---|---|\n| fsync | 100 |\n", set()),
]  # fmt: skip


@rows(*TEXTS)
def test_what_a_text_says_of_settings(_: str, text: str, wanted: set[Told], tmp_path: Path) -> None:
    found = parts(tmp_path, markdown.IMPORTER, text, "README.md")
    assert told(found) == wanted
    assert all(one.prose for one in found if isinstance(one, Configuration))


def test_columns_of_a_table_are_sides(tmp_path: Path) -> None:
    text = "| Setting | small | large |\n|---|---|---|\n| shared_buffers | 1GB | 8GB |\n"
    found = [part for part in parts(tmp_path, markdown.IMPORTER, text, "a.md") if isinstance(part, Configuration)]
    assert [(part.side, part.settings[0].value) for part in found] == [("small", "1GB"), ("large", "8GB")]


@rows(("a.rst", "::"), ("a.adoc", "----"))
def test_texts_that_are_no_markdown(name: str, marker: str, tmp_path: Path) -> None:
    found = parts(tmp_path, markdown.IMPORTER, f"Settings {marker}\n\n   postgres -c shared_buffers=4GB\n", name)
    assert told(found) == {("postgresql", "shared_buffers", "4GB", 3)}
    assert told(parts(tmp_path, markdown.IMPORTER, "We set shared_buffers = 4GB.\n", name)) == set()


WRITTEN = [ ("1.024 MB", "1024MB"), ("0,9", "0.9"), ("0.9", "0.9"), ("16 384", "16384"), ("1,024", "1024"),
            ("1.100", "1.100"), ("4.0", "4.0"), ("1.000.000", "1000000"), ("128MB", "128MB"), ("`on`", "on"),
           ("1,5G", "1.5G"), ("10min", "10min"), ("it is 3", "it is 3"), ("", "")]  # fmt: skip


@rows(*WRITTEN)
def test_numbers_as_people_write_them(written: str, value: str) -> None:
    assert known.value(written) == value


@rows(
    ("innodb-buffer-pool-size", "mysql"), ("loose_innodb_x", "mysql"), ("Shared_Buffers", "postgresql"),
    ("journal_mode", "sqlite"), ("TempCacheLimit", "firebird"), ("port", None), ("x" * 200, None),
)  # fmt: skip
def test_whose_setting_a_name_is(name: str, engine: str | None) -> None:
    assert known.owner(name) == engine
